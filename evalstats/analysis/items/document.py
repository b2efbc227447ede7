"""What is said of the items of a benchmark: whether fewer would do, which, and which tell models apart the wrong way."""

from dataclasses import replace

from evalstats.analysis.items.new_scores import BY_FORM, NewScore
from evalstats.analysis.items.result import ItemReport, ItemRow, SizeRow
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
    sentence,
    works_section,
)
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number, with_unit
from evalstats.grammar import and_list, conjugate, plural

_SHOWN, _DRAWN = 8, 3
BY_BEND = "score test of a bend in an item's curve"
BY_FAMILY = "score test of a family beside an item's curve"


def document(result: ItemReport) -> Document:
    """Return what is said of the items of a benchmark."""
    form, turned = result.form, [row for row in result.rows if row.reversed]
    gains = _gains(form)
    if result.new:
        return _of_new(result, turned)
    return Document(
        kind="items",
        title=f"Which items tell models apart{placed(result.benchmark)}, and would fewer do?",
        label="too few models" if form is None else "short form" if gains else "no gain",
        tone="good" if gains else "caution",
        headline=_headline(result),
        number="" if form is None else with_unit(number(form.estimate * result.scale, 1), result.unit),
        number_words="" if form is None else _against_random(form, result),
        interval=None if form is None else _drawn(form, result),
        scope=_scope(result),
        answer=_answer(result),
        notes=result.notes,
        actions=tuple(_actions(result, turned)),
        evidence=_evidence(result, turned),
        method=_method(result),
    )


def _scope(result: ItemReport) -> str:
    n = sum(row.share in (0.0, 1.0) for row in result.rows)
    alike = f"; {plural(n, 'item')} on which all score alike {conjugate(n, 'tell')} none apart" if n else ""
    return (
        f"{plural(result.n_items, 'item')} that all {plural(result.n_models, 'model')} answered; {result.metric}{alike}"
    )


def _of_new(result: ItemReport, turned: list[ItemRow]) -> Document:
    """Return what is said where new models answered some of the items: their scores first."""
    known = [row for row in result.new if row.estimate is not None]
    one = known[0] if len(result.new) == len(known) == 1 else None
    what = plural(result.n_items, "item")
    if one is not None:
        headline = (
            f"{named(one.name)} scores {_score(result, one.estimate)} on all {what}, estimated from {one.n_items:,}"
        )
    elif known:
        headline = f"Scores of {plural(len(known), 'model')} on all {what}, estimated from a part of them"
    else:
        headline = f"Too few answers to estimate a score on all {what}"
    return Document(
        kind="items",
        title=f"How does a new model score{placed(result.benchmark)}, estimated from a part of the items?",
        label="score from few items" if known else "too few answers",
        tone="neutral" if known else "caution",
        headline=headline,
        number="" if one is None else _score(result, one.estimate),
        number_words=_new_words(result, one) if one is not None else "",
        interval=None
        if one is None or one.estimate is None
        else drawn_interval(one.estimate, one.ends, scale=result.scale),
        scope=f"{what} that all {plural(result.n_models, 'model')} of the archive answered; {result.metric}",
        answer=(_taken_as(one),) if one is not None else (_new_table(result),),
        notes=result.notes,
        actions=("Compare two models on the items that both answered: for a difference the archive gains nothing.",),
        evidence=(
            *([Section(id="sizes", heading=_headline(result), blocks=_answer(result))] if result.sizes else []),
            *_evidence(result, turned),
        ),
        method=_method(result),
    )


def _score(result: ItemReport, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{number(value * result.scale, 1)}{'%' if result.scale > 1 else ''}"


def _new_words(result: ItemReport, row: NewScore) -> str:
    if row.conf_low is None or row.conf_high is None:
        return row.reason or ""
    ends = interval_words(row.conf_low, row.conf_high, result.scale, 1)
    worth = f"; worth {round(row.effective_items):,} random items alone" if row.effective_items else ""
    return f"{level(result)} CI {ends}{worth}"


def _taken_as(row: NewScore) -> Text:
    if row.method == BY_FORM:
        return Text(text="It answered the short form; the interval is that of errors for models left out.")
    if not row.ends:
        return Text(text="It answered all items.")
    return Text(
        text=f"Its {row.n_items:,} items are taken as drawn at random; had they been chosen, the score could be wrong."
    )


def _new_table(result: ItemReport) -> Table:
    return Table(
        id="new",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Items answered", kind="count"),
            number_column(result, "Score", "%" if result.scale > 1 else ""),
            interval_column(result),
            Column(title="Worth random items", kind="count"),
            Column(title="How"),
        ),
        rows=tuple(
            (row.name, row.n_items, row.estimate, row.ends, row.effective_items, row.reason or row.method)
            for row in result.new
        ),
        caption="Scores on all items of the archive; worth: random items that alone would be as precise",
    )


def _headline(result: ItemReport) -> str:
    form = result.form
    if form is None:
        return result.sizes_reason or ""
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
    families = (Text(text=f"{_families_headline(result)}."),) if result.families else ()
    if not result.sizes:
        slopes = "The steeper the curve of an item, the better it tells models apart; the CSV has all slopes with their errors."
        return (*families, Text(text=slopes))
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
        caption=f"Error of the score by a short form (root mean square over {plural(result.n_models, 'model')} left out)",
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
    return (*families, figure)


def _actions(result: ItemReport, turned: list[ItemRow]) -> list[str]:
    found: list[str] = []
    if _gains(result.form):
        found.append(
            f"Run the {result.size:,} chosen items (marked in the CSV) on a new model; predicted() in Python gives its score."
        )
        found.append(_on_differences(result))
    if turned:
        found.append(
            f"Read the {plural(len(turned), 'item')} that weaker models solve more often: a wrong key is likely."
        )
    misfits = sum(row.misfit for row in result.rows)
    if misfits:
        found.append(
            f"Read the {plural(misfits, 'item')} that no curve fits: the key, the prompt, or a guess that pays."
        )
    more = [named(row.name) for row in result.families if row.n_more]
    if more:
        found.append(
            f"Ask evalstats contamination about {and_list(more)}: items that a family knows may have been in its training."
        )
    return found


def _on_differences(result: ItemReport) -> str:
    form = result.form
    if form is None or form.difference_error is None or form.difference_size is None:
        return "Compare two models on all items: a short form's error is of the size of most differences."
    error, size = with_unit(number(form.difference_error * result.scale, 1), result.unit), form.difference_size
    return (
        f"Compare two models on all items: the form's error of a difference, {error}, is that of {size:,} random items."
    )


def _evidence(result: ItemReport, turned: list[ItemRow]) -> tuple[Section, ...]:
    misfits = sorted(
        (row for row in result.rows if row.misfit), key=lambda row: (row.p_value or 0.0, -abs(row.bend or 0.0))
    )
    worst = [*misfits[:_DRAWN], *sorted(turned, key=lambda row: row.slope)]
    drawn = list({row.key: row for row in worst}.values())[:_DRAWN]
    figure = [result.curve_figure(drawn)] if drawn and result.groups else []
    slopes = (
        Column(title="Slope", kind="number", digits=2, plain=True),
        Column(title="SE", kind="number", digits=2, plain=True),
    )

    def table(name: str, rows: list[ItemRow], caption: str, own: tuple[Column, ...], fields: tuple[str, ...]) -> Table:
        score = number_column(result, "Mean score", "%" if result.scale > 1 else "")
        return Table(
            id=name,
            columns=(Column(title="Item", kind="name"), score, *own),
            rows=tuple((row.label, row.share, *(getattr(row, each) for each in fields)) for row in rows),
            caption=caption,
            most=_SHOWN,
        )

    found: list[Section] = []
    if misfits:
        few = sum((row.bend or 0.0) < 0 for row in misfits)
        parts = [
            *([f"{few:,} that the strongest or weakest models solve too rarely"] if few else []),
            *([f"{len(misfits) - few:,} that they solve too often"] if len(misfits) > few else []),
        ]
        words = f"Items whose answers bend away from their curve, the clearest first: {and_list(parts)}"
        columns = (Column(title="Bend (z)", kind="number", digits=1, plain=True), Column(title="p, adjusted", kind="p"))
        rows = table("misfit", misfits, words, columns, ("bend", "p_adjusted"))
        heading = f"{plural(len(misfits), 'item')} that no curve fits"
        whole = figure and len(misfits) <= _DRAWN  # the figure then shows all that the table says
        blocks = (replace(figure[0], table=rows),) if whole else (*figure, rows)
        found.append(Section(id="misfit", heading=heading, blocks=blocks))
    if result.families:
        found.append(_families(result))
    if turned:
        words = "Items that weaker models solve more often, the lowest slope first"
        rows = table("reversed", sorted(turned, key=lambda row: row.slope), words, slopes, ("slope", "slope_error"))
        blocks = (*([] if misfits else figure), rows)
        found.append(Section(id="reversed", heading="Items that point the wrong way", blocks=blocks))
    if result.sizes:
        form = sorted(
            (row for row in result.rows if row.chosen),
            key=lambda row: -row.share if result.higher_is_better else row.share,
        )
        rows = table("form", form, "Chosen items, the easiest first", slopes, ("slope", "slope_error"))
        found.append(Section(id="form", heading="The short form", blocks=(rows,), news=False))
    return tuple(found)


def _families_headline(result: ItemReport) -> str:
    """Name the families that differ from other models of the same ability on some item."""
    shown = [row for row in result.families if row.n_more or row.n_fewer]
    if not shown:
        return "No family is shown to differ from other models of the same ability on any item"
    if len(shown) == 1 and not shown[0].n_fewer:
        return f"{named(shown[0].name)} solves {plural(shown[0].n_more, 'item')} more often than its ability explains"
    names = and_list([f"{named(row.name)} ({plural(row.n_more + row.n_fewer, 'item')})" for row in shown])
    return f"{names} {conjugate(len(shown), 'differ')} from other models of the same ability"


def _families(result: ItemReport) -> Section:
    """Say on how many items each family differs from other models of the same ability, and on which."""
    rows = sorted(result.families, key=lambda row: (-row.n_more - row.n_fewer, row.name))
    shown = [row for row in rows if row.n_more or row.n_fewer]
    heading = _families_headline(result)
    counts = Table(
        id="families",
        columns=(
            Column(title="Family", kind="name"),
            Column(title="Models", kind="count"),
            Column(title="Solves more often", kind="count"),
            Column(title="Solves less often", kind="count"),
            Column(title="Items tested", kind="count"),
        ),
        rows=tuple((row.name, row.models, row.n_more, row.n_fewer, row.n_tested) for row in rows),
        caption="Items on which a family differs from other models of the same ability (false discovery rate 5%)",
    )
    items = Table(
        id="family-items",
        columns=(
            Column(title="Item", kind="name"),
            Column(title="Family", kind="name"),
            Column(title="Solved by, %", kind="number", scale=100, digits=0, plain=True),
            Column(title="Expected, %", kind="number", scale=100, digits=0, plain=True),
            Column(title="p, adjusted", kind="p"),
        ),
        rows=tuple((row.label, row.family, row.share, row.expected, row.p_adjusted) for row in result.family_items),
        caption="Share of the family's models that solve the item, and the share expected of their ability",
        most=_SHOWN,
    )
    why = Text(
        text="Models of one family err alike on what they learned alike, so these items are a sign of shared training, "
        "contamination included."
    )
    return Section(
        id="families", heading=heading, blocks=(counts, items, why) if shown else (counts,), news=bool(shown)
    )


def _method(result: ItemReport) -> tuple[Section, ...]:
    by = [row.method for row in result.new if row.ends]
    names = [
        result.method,
        *dict.fromkeys(by or [BY_FORM]),
        *([] if result.fit_reason else [BY_BEND]),
        *([BY_FAMILY] if result.families else []),
    ]
    texts = [known_methods()[name] for name in names]
    tested = sum(row.p_value is not None for row in result.rows)
    fit = (
        result.fit_reason
        or f"the curves of {plural(tested, 'item')} were tested for their fit, false discovery rate 5%"
    )
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
                        sentence(fit[0].upper() + fit[1:]),
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
