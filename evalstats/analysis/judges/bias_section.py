"""What is said of a judge's biases: place, length, own family, and what could not be checked."""

from evalstats.analysis.judges.result import Bias, BiasCheck, JudgeReport
from evalstats.document.model import Block, Column, Items, Section, Table
from evalstats.document.numbers import interval_words, number

_SHOWN = 20
_PLACE = (
    "Place: over pairs that were judged in both orders, where either answer stands first once; else at fixed strengths of "
    "models. Intervals are over questions."
)
_LENGTH = (
    "Length: a logit of the preference on the doublings of length, among pairs with the same verdict of people. Without "
    "people it is at fixed strengths of models, and an association: longer answers may be better."
)
_FAMILY = (
    "Own family: the judge's preference for models of its own family less people's, on the same pairs or answers; families "
    "are told by names."
)
_HOW = (_PLACE, _LENGTH, _FAMILY)
_CHECKS: dict[Bias, str] = {
    "place": "Verdicts for the first place",
    "inconsistent": "Pairs whose verdict turns with the order",
    "length": "Twice as long",
    "own family": "Own family",
}


def biases_section(result: JudgeReport) -> Section | None:
    """Show what judges go by besides the answers: place, length, family; and what could not be checked."""
    if not result.biases and not result.not_checked:
        return None
    blocks: list[Block] = []
    if result.biases:
        blocks.append(
            Table(
                id="biases",
                columns=(
                    Column(title="Judge", kind="name"),
                    Column(title="What it goes by", kind="text"),
                    Column(title="Found", kind="amount"),
                    Column(title=f"{100 * result.conf_level:g}% CI", kind="amount"),
                    Column(title="None", kind="amount", spare=True),
                    Column(title=f"{result.unit.capitalize()}s", kind="count", spare=True),
                ),
                rows=tuple(
                    (row.judge, _check_words(row), *_amounts(row, result), row.n_units) for row in result.biases
                ),
                caption=_caption(result),
                most=_SHOWN,
                frame=_bias_frame(result),
            )
        )
    if result.by_place:
        blocks.append(
            Table(
                id="by-place",
                columns=(
                    Column(title="Judge", kind="name"),
                    Column(title="Model", kind="name"),
                    Column(title="Shown first (%)", kind="number", scale=100),
                    Column(title="Shown second (%)", kind="number", scale=100),
                    Column(title="Turning pairs as ties (%)", kind="number", scale=100),
                    Column(title="Pairs", kind="count", spare=True),
                ),
                rows=tuple(
                    (row.judge, row.name, row.when_first, row.when_second, row.tied, row.n_pairs)
                    for row in result.by_place
                ),
                caption="How often a model is preferred by its place, and with pairs as ties whose verdict turns with the order",
                most=_SHOWN,
            )
        )
    if result.not_checked:
        blocks.append(Items(items=tuple(f"Not checked: {reason}." for reason in result.not_checked)))
    return Section(id="biases", heading=_bias_heading(result), blocks=tuple(blocks))


def _caption(result: JudgeReport) -> str:
    fixed = [row for row in result.biases if row.check == "length"]
    if not fixed:
        return "What judges go by besides the answers"
    held = "models of equal strength" if fixed[0].association else "the same verdict of people"
    if fixed[0].null == 0.0:
        return "What judges go by besides the answers; twice as long: points above people"
    return f"What judges go by besides the answers; twice as long: odds of being preferred, at {held}"


def _check_words(row: BiasCheck) -> str:
    if row.check == "own family":
        return f"Own family ({row.family})"
    return _CHECKS[row.check]


def _amounts(row: BiasCheck, result: JudgeReport) -> tuple[str, str, str]:
    """Return what was found, its interval, and what there would be without a bias."""
    if row.check in ("place", "inconsistent"):
        return f"{number(_hundred(row.estimate), 1)}%", _ends(row, 100, 1), "" if row.null is None else "50%"
    if row.check == "length" and row.null == 1.0:
        return f"odds × {number(row.estimate, 2)}", _ends(row), "odds × 1"
    scale = 100.0 if result.rows and result.rows[0].sensitivity is not None else 1.0
    digits, unit = (1, " pp") if scale > 1 else (2, "")
    value = None if row.estimate is None else row.estimate * scale
    return f"{number(value, digits, sign=True)}{unit}", _ends(row, scale, digits), "0"


def _hundred(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _bias_heading(result: JudgeReport) -> str:
    judge = result.rows[0].name if result.rows else next((row.judge for row in result.biases), "")
    own = [row for row in result.biases if row.judge == judge]
    if not own:
        return "Place, length and family could not be checked"
    shown = [row for row in own if row.shown]
    if not any(map(_phrase, shown)):
        names = " or ".join(dict.fromkeys(row.check for row in own if row.check != "inconsistent"))
        return f"{judge} is not shown to go by {names}"
    liked = [_phrase(row) for row in shown if row.check == "place" or (row.check == "length" and not row.association)]
    found = [f"prefers {' and '.join(liked)}"] if liked else []
    found += [_phrase(row) for row in shown if row.check == "own family" or (row.check == "length" and row.association)]
    return f"{judge} {' and '.join(found)}"


def _phrase(row: BiasCheck) -> str:
    """Say what a judge goes by, to stand behind "prefers" where it is its place or length."""
    above = (row.estimate or 0.0) > (row.null or 0.0)
    if row.check == "place":
        return f"the {'first' if above else 'second'} place"
    if row.check == "length":
        more = "longer" if above else "shorter"
        return f"goes with {more} answers, which may be better" if row.association else f"{more} answers"
    return f"{'favours' if above else 'is harder on'} its own family" if row.check == "own family" else ""


def _bias_frame(result: JudgeReport) -> dict[str, list[object]]:
    names = (
        "judge",
        "check",
        "estimate",
        "conf_low",
        "conf_high",
        "p_value",
        "n_units",
        "null",
        "association",
        "method",
    )
    return {name: [getattr(row, name) for row in result.biases] for name in names}


def bias_method() -> Section:
    """Say how place, length and family were checked."""
    return Section(id="bias-method", heading="How place, length and family were checked", blocks=(Items(items=_HOW),))


def _ends(row: BiasCheck, scale: float = 1.0, digits: int = 2) -> str:
    return "no interval" if row.ends is None else interval_words(row.conf_low, row.conf_high, scale, digits)
