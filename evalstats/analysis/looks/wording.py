"""A look while the run goes on, in words: the sentences and tables that every output shares."""

from evalstats.analysis.compare.result import SequentialAccount
from evalstats.analysis.compare.sequential import e_value_words
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import interval, number, p_value, plural, scaled

_ROWS = 8


def sequential_sentences(account: SequentialAccount) -> list[str]:
    """Say where the difference stands, whether the run could have stopped, and what the order was."""
    unit = f" {account.unit_shown}" if account.unit_shown else ""
    shown = f"{scaled(account.estimate, account.scale, sign=True)}{unit}"
    counted = f"{plural(account.n_units, account.unit)} in order of {_order(account)}"
    if account.conf_low is None:
        return [f"After {counted} the difference is {shown}; there is no interval ({account.reason})."]
    p_text = p_value(account.p_anytime)
    p_shown = f"p {p_text}" if p_text.startswith(("<", ">")) else f"p = {p_text}"
    ends = interval(account.conf_low, account.conf_high, account.scale, sign=True)
    first = (
        f"After {counted} the difference is {shown}; the {100 * account.conf_level:g}% interval {ends} and {p_shown} hold "
        f"at every look, however often one looks and whenever one stops ({account.method})."
    )
    return [first, _stopping(account)]


def sequential_blocks(account: SequentialAccount) -> list[Block]:
    """Return the account as neutral blocks: the sentences, how the interval narrowed, and the notes."""
    blocks: list[Block] = [
        Heading(text="Watched while the run goes on", level=2),
        Paragraph(text=" ".join(sequential_sentences(account))),
    ]
    if account.path:
        blocks.append(path_table(account))
    if account.warnings:
        blocks.append(Bullets(title="Warnings", items=account.warnings, tone="caution"))
    blocks.append(Bullets(items=account.notes))
    return blocks


def path_table(account: SequentialAccount) -> Table:
    """Show the interval at some of the looks, the last one included."""
    last = account.path[-1][0]
    wanted = [last * k / _ROWS for k in range(1, _ROWS + 1)]
    nearest = {min(range(len(account.path)), key=lambda i: abs(account.path[i][0] - n)) for n in wanted}
    unit = f" ({account.unit_shown})" if account.unit_shown else ""
    rows = tuple(
        (
            f"{n:,}",
            scaled(estimate, account.scale, sign=True),
            interval(low, high, account.scale, sign=True),
        )
        for n, estimate, low, high in (account.path[i] for i in sorted(nearest))
    )
    return Table(
        columns=(f"{account.unit.capitalize()}s", f"Difference{unit}", f"{100 * account.conf_level:g}% at every look"),
        rows=rows,
        align="rrr",
        caption="How the interval narrowed",
    )


def _stopping(account: SequentialAccount) -> str:
    evidence = f"the e-value against no difference is {e_value_words(account.e_value)} now"
    needed = number(1 / (1 - account.conf_level), 0)
    if account.first_crossing is None:
        return f"A difference of 0 is not excluded so far: {evidence}, and {needed} would exclude it."
    return (
        f"A difference of 0 was first excluded after {plural(account.first_crossing, account.unit)}, where the run could "
        f"have stopped; {evidence}."
    )


def _order(account: SequentialAccount) -> str:
    return "finishing (timestamps)" if account.order == "timestamp" else "the files"
