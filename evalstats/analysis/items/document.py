"""What is said of the items of a benchmark: whether fewer would do, which, and which tell models apart the wrong way."""

from evalstats.analysis.items.result import BY_FORM, ItemReport, ItemRow, SizeRow
from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level, shown_numbers
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Interval,
    Items,
    Section,
    Table,
    Text,
    drawn_interval,
    interval_column,
    listed,
    number_column,
    works_section,
)
from evalstats.document.numbers import interval_words, number, with_unit
from evalstats.grammar import conjugate, plural

_SHOWN = 20


def document(result: ItemReport) -> Document:
    """Return what is said of the items of a benchmark."""
    form, turned = result.form, [row for row in result.rows if row.reversed]
    gains = _gains(form)
    return Document(
        kind="items",
        title=f"Which items tell models apart{placed(result.benchmark)}, and would fewer do?",
        label="curves only" if form is None else "short form" if gains else "no gain",
        tone="good" if gains else "caution",
        headline=_headline(result),
        number="" if form is None else with_unit(number(form.estimate * result.scale, 1), result.unit),
        number_words="" if form is None else _against_random(form, result),
        interval=None if form is None else _drawn(form, result),
        scope=f"{plural(result.n_items, 'item')} that all {plural(result.n_models, 'model')} answered; {result.metric}",
        answer=_answer(result),
        notes=result.notes,
        actions=tuple(_actions(result, turned)),
        evidence=_evidence(result, turned),
        method=_method(result),
    )


def _headline(result: ItemReport) -> str:
    form = result.form
    if form is None:
        return f"Whether fewer items would do is not known: {result.sizes_reason}"
    chosen = plural(form.size, "chosen item")
    if not _gains(form):
        return f"{chosen} {conjugate(form.size, 'tell')} a new model's score no better than random ones"
    return f"{chosen} {conjugate(form.size, 'tell')} a new model's score as well as {form.random_size:,} random ones"


def _gains(form: SizeRow | None) -> bool:
    return form is not None and form.random_size > form.size


def _drawn(form: SizeRow, result: ItemReport) -> Interval | None:
    """Return the error of the short form as it is drawn, beside that of random items."""
    others, words = (form.random_error,), "dot: random items"
    return drawn_interval(form.estimate, form.ends, scale=result.scale, others=others, others_words=words)


def _against_random(form: SizeRow, result: ItemReport) -> str:
    ends = interval_words(form.conf_low, form.conf_high, result.scale, 1)
    random = with_unit(number(form.random_error * result.scale, 1), result.unit)
    return f"typical error, {level(result)} CI {ends}; of as many random items {random}"


def _answer(result: ItemReport) -> tuple[Block, ...]:
    if not result.sizes:
        return ()
    table = Table(
        id="sizes",
        columns=(
            Column(title="Items", kind="count"),
            number_column(result, "Error"),
            interval_column(result, spare=True),
            number_column(result, "Largest"),
            number_column(result, "Random items"),
            Column(title="As good as random", kind="count"),
            Column(title="Ranks off by", kind="number", digits=1),
        ),
        rows=tuple(
            (row.size, row.estimate, row.ends, row.largest_error, row.random_error, row.random_size, row.rank_error)
            for row in result.sizes
        ),
        caption=f"Error of the score told by a short form (root mean square over {plural(result.n_models, 'model')} left out)",
    )
    chosen = shown_numbers(result.sizes, result.scale)
    random = [row.random_error * result.scale for row in result.sizes]
    sizes, n = [row.size for row in result.sizes], len(result.sizes)
    figure = Figure(
        id="curve",
        plot="curves",
        rows={
            "x": [*sizes, *sizes],
            "estimate": [*chosen["estimate"], *random],
            "conf_low": [*chosen["conf_low"], *[None] * n],
            "conf_high": [*chosen["conf_high"], *[None] * n],
            "line": [*["chosen items"] * n, *["random items"] * n],
        },
        options={"x_title": "Items"},
        alt=f"Error of the score by size of the short form: {_headline(result)}.",
        caption=f"Typical error of the score ({result.unit}) by size, for models left out",
        table=table,
    )
    return (figure,)


def _actions(result: ItemReport, turned: list[ItemRow]) -> list[str]:
    found: list[str] = []
    if _gains(result.form):
        found.append(
            f"Run the {result.size:,} chosen items (marked in the CSV) on a new model; predicted() in Python gives its score."
        )
        found.append("Compare two models on all items: a short form's error is of the size of most differences.")
    if turned:
        found.append(
            f"Read the {plural(len(turned), 'item')} that weaker models solve more often: a wrong key is likely."
        )
    return found


def _evidence(result: ItemReport, turned: list[ItemRow]) -> tuple[Section, ...]:
    columns = (
        Column(title="Item", kind="name"),
        number_column(result, "Mean score", "%" if result.scale > 1 else ""),
        Column(title="Slope", kind="number", digits=2, plain=True),
        Column(title="SE", kind="number", digits=2, plain=True),
    )

    def table(name: str, rows: list[ItemRow], caption: str) -> Table:
        return Table(
            id=name,
            columns=columns,
            rows=tuple(
                ("/".join(part for part in row.key if part), row.share, row.slope, row.slope_error) for row in rows
            ),
            caption=caption,
            most=_SHOWN,
        )

    found: list[Section] = []
    if turned:
        worst = sorted(turned, key=lambda row: row.slope)
        words = "Items that weaker models solve more often, the lowest slope first"
        found.append(
            Section(id="reversed", heading="Items that point the wrong way", blocks=(table("reversed", worst, words),))
        )
    if result.sizes:
        form = sorted(
            (row for row in result.rows if row.chosen),
            key=lambda row: -row.share if result.higher_is_better else row.share,
        )
        found.append(
            Section(
                id="form", heading="The short form", blocks=(table("form", form, "Chosen items, the easiest first"),)
            )
        )
    return tuple(found)


def _method(result: ItemReport) -> tuple[Section, ...]:
    texts = [known_methods()[name] for name in (result.method, BY_FORM)]
    left_out = (
        f"Models were dealt into {result.folds} parts; curves and choice come from the others alone."
        if result.folds
        else "No models were left out."
    )
    return (
        Section(
            id="method",
            heading="How items are chosen and tried",
            blocks=(
                *(Text(text=each.how) for each in texts),
                Text(text="A short form takes the item with the steepest curve of every stratum of difficulty."),
                Items(
                    items=(
                        "Items that point the wrong way: rank-sum test of the models that solve them, false discovery rate 5%.",
                        f"Marginal log-likelihood: {number(result.log_likelihood, 1)}.",
                        left_out,
                        "Random items: standard error of their mean, from its formula.",
                    )
                ),
            ),
        ),
        listed(
            "assumptions",
            "What this assumes",
            tuple(each.takes for each in texts),
        ),
        works_section(source for each in texts for source in each.sources),
        result.origin.section(),
    )
