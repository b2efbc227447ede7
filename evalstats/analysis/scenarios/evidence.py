"""The evidence on scenarios in the order a sceptic asks: changes, order, models, what is missing, variation, reliability."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from evalstats.analysis.result import frame_of
from evalstats.analysis.scenarios import figures
from evalstats.analysis.scenarios.result import (
    EFFECT_COLUMNS,
    CellRow,
    ChangeRow,
    DesignPoint,
    EffectRow,
    ScenarioMean,
    ScenarioModel,
    ScenarioReliability,
    TermTest,
    VarianceRow,
)
from evalstats.document.model import (
    Block,
    Column,
    Items,
    LateColumns,
    Section,
    Table,
    Text,
    Tone,
    Value,
    interval_column,
    number_column,
    sentence,
)
from evalstats.document.numbers import declared, number, scaled
from evalstats.grammar import and_list, conjugate, is_are, plural

AVERAGE = "average"
VERDICTS: dict[str, Tone] = {"drop": "bad", "gain": "good", "invalid": "caution"}
_SHOWN = 20
_WORST = 8
_FEW_MODELS = 20
_POINTS = 8
_RELIABLE = 0.8
_LACKING = 0.05


def name_columns(*titles: str) -> tuple[Column, ...]:
    """Return columns of names."""
    return tuple(Column(title=title, kind="name") for title in titles)


def change_column(result: ScenarioModel, title: str, *, spare: bool = False) -> Column:
    """Return a column of changes or differences, in the metric's unit unless they are said to stand beside others."""
    return number_column(result, title, "" if spare else None, digits=result.digits, sign=True, spare=spare)


def score_column(result: ScenarioModel, title: str, *, spare: bool = False) -> Column:
    """Return a column of scores."""
    return number_column(result, title, "" if spare else result.about.score_unit, digits=result.digits, spare=spare)


def ends_column(result: ScenarioModel, *, scale: float | None = None, digits: int | None = None) -> Column:
    """Return the column of their intervals."""
    return interval_column(result, scale=scale, digits=result.digits if digits is None else digits)


def evidence_sections(result: ScenarioModel) -> list[Section]:
    """Return the parts of the evidence that have news."""
    return [
        *_changes(result),
        *_within(result),
        *_order(result),
        *_models(result),
        *_missing(result),
        *_levels(result),
        *_spread(result),
        *_reliability(result),
    ]


def _changes(result: ScenarioModel) -> list[Section]:
    """Return the changes one by one, the largest of many."""
    rows = worst_first(result.drops, result)
    drops = sum(row.verdict == "drop" for row in rows)
    gains = sum(row.verdict == "gain" for row in rows)
    # Of many sampled scenarios in which nothing is shown no list says more than the headline.
    if result.n_models == 1 or len(rows) < 2 or (result.scenario_as == "random" and not drops + gains):
        return []
    n = plural(len(rows), "change")
    heading = f"{drops:,} of {n} {'is a drop' if drops == 1 else 'are drops'} beyond chance"
    heading += f", {gains:,} {'is a gain' if gains == 1 else 'are gains'}" if gains else ""
    said = "One change shown and another not does not mean that the two differ."
    if rows[0].pooled is not None and drops > 1:
        unit = f" {result.unit}".rstrip()
        pooled = f"{scaled(rows[0].pooled, result.scale, result.digits, sign=True)}{unit}"
        said = f"The largest of many estimates are inflated by selection; shrunk, {drop_name(rows[0])} is {pooled}."
    blocks = (Text(text=said), _drops_table(result, rows))
    return [Section(id="changes", heading=heading, blocks=blocks, news=drops + gains > 0)]


def _drops_table(result: ScenarioModel, rows: Sequence[ChangeRow]) -> Table:
    shown = rows[:_SHOWN]
    most = f"The {len(shown)} largest of {len(rows):,} changes" if len(shown) < len(rows) else "Every change"
    base = "the model's mean over its other scenarios" if result.reference == AVERAGE else result.reference
    return Table(
        id="changes",
        columns=(
            *name_columns("Model", result.scenario),
            change_column(result, "Change"),
            ends_column(result),
            Column(title="p adjusted", kind="p", spare=True),
            change_column(result, "Within items", spare=True),
            change_column(result, "Pooled", spare=True),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (
                *(row.model, row.scenario, row.estimate, row.ends, row.p_adjusted),
                *(row.paired, row.pooled, row.verdict),
            )
            for row in shown
        ),
        caption=f"{most} from {base}; intervals and p are adjusted for all of them",
        tones=VERDICTS,
        most=_WORST,  # the figure has all
        frame=result.drops_frame().to_dict(as_series=False),
    )


def _order(result: ScenarioModel) -> list[Section]:
    """Return the pairs of models that swap order, where some are shown to."""
    ranking = result.ranking
    shown = [each for each in ranking.crossings if each.shown] if ranking is not None and ranking.shown else []
    if not shown:
        return []
    one = shown[0]
    table = Table(
        id="order",
        columns=(
            *name_columns("Model", "Other", "Ahead in"),
            change_column(result, "By"),
            *name_columns("Behind in"),
            change_column(result, "By"),
            Column(title="p adjusted", kind="p", spare=True),
        ),
        rows=tuple(
            (
                *(each.first, each.second, each.ahead_in, each.ahead_by),
                *(each.behind_in, -each.behind_by, each.p_adjusted),
            )
            for each in shown
        ),
        caption="Pairs of models that swap order: both leads are shown, adjusted for all pairs",
        most=_SHOWN,
    )
    heading = f"{one.first} leads {one.second} in {one.ahead_in} and trails in {one.behind_in}"
    return [Section(id="order", heading=heading, blocks=(table,))]


def _within(result: ScenarioModel) -> list[Section]:
    """Return the differences between models within each scenario, where they were compared there."""
    pairs = [pair for pair in result.pairs if pair.scenario]
    if not pairs:
        return []
    apart = sum(pair.separated for pair in pairs)
    table = Table(
        id="within",
        columns=(
            *name_columns(result.scenario, "Model", "Other"),
            change_column(result, "Difference"),
            ends_column(result),
            Column(title="p adjusted", kind="p"),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (
                *(pair.scenario, pair.first, pair.second, pair.estimate, pair.ends, pair.p_adjusted),
                pair.reason or ("separated" if pair.separated else "not separated"),
            )
            for pair in pairs
        ),
        caption=f"Models against each other within each level of {result.scenario}, as one family",
        most=_SHOWN,
    )
    heading = (
        f"{apart:,} of {plural(len(pairs), 'difference')} between models within {result.scenario} {is_are(apart)} shown"
    )
    return [Section(id="within", heading=heading, blocks=(table,))]


def _models(result: ScenarioModel) -> list[Section]:
    ordered = [row for row in best_first(result.models, result) if row.estimate is not None]
    if len(ordered) < 2:
        return []
    top = ordered[0]
    pairs = [pair for pair in result.pairs if not pair.scenario and top.name in (pair.first, pair.second)]
    beside = [pair.second if pair.first == top.name else pair.first for pair in pairs if not pair.separated]
    heading = f"{top.name} has the best mean over all scenarios"
    level = [row.name for row in ordered if round(row.estimate or 0.0, 12) == round(top.estimate or 0.0, 12)]
    if len(level) > 1:
        heading = f"{and_list(level)} have the same best mean over all scenarios"
    elif pairs:
        ahead = ", ahead of every other model" if len(ordered) > 2 else ""
        heading += f", not separated from {and_list(beside, 2)}" if beside else ahead
    judged: dict[str, list[ChangeRow]] = {}
    for change in result.judged:
        judged.setdefault(change.model, []).append(change)
    rows: list[tuple[Value, ...]] = []
    for row in ordered:
        own = judged.get(row.name, [])
        shown = worst_first((each for each in own if each.verdict == "drop"), result)
        worse = f"{len(shown)} of {len(own)}" if own else None
        rows.append((row.name, row.estimate, row.ends, worse, shown[0].scenario if shown else None, row.n_items))
    table = Table(
        id="models",
        columns=(
            *name_columns("Model"),
            score_column(result, "Mean"),
            ends_column(result),
            Column(title="Worse in", kind="amount"),
            Column(title="Most in", kind="name"),
            Column(title="Items", kind="count", spare=True),
        ),
        rows=tuple(rows),
        caption=f"Models over all scenarios ({result.weights}); each interval for its own mean",
        most=_FEW_MODELS,
        frame=result.means_frame().to_dict(as_series=False),
    )
    return [Section(id="models", heading=heading, blocks=(table,))]


def _missing(result: ScenarioModel) -> list[Section]:
    lacking = sorted((row for row in result.cells if row.n_missing), key=lambda row: -row.n_missing)
    # A few items are told by the caution on trials without a score.
    if not any(row.n_missing > _LACKING * (row.n_items + row.n_missing) for row in lacking):
        return []
    worst = and_list([f"{drop_name(row)} ({row.n_missing:,} of {row.n_items + row.n_missing:,})" for row in lacking], 3)
    lacks = conjugate(len(lacking), "lack")
    what = "scores" if result.different else "items that others have"
    heading = f"{len(lacking)} of {plural(len(result.cells), 'cell')} {lacks} {what}"
    said = f"Most are missing from {worst}. They are assumed missing for reasons unrelated to the score."
    return [Section(id="missing", heading=heading, blocks=(Text(text=said),))]


def _levels(result: ScenarioModel) -> list[Section]:
    """Return the levels of sampled scenarios, from the lowest to the highest."""
    drawn = figures.caterpillar(result) if result.scenario_as == "random" else None
    if drawn is None:
        return []
    rows = figures.scenario_effects(result, alone=True)
    apart = [row for row in rows if row.excludes_zero]
    ordered = sorted(apart, key=lambda row: row.estimate)
    table = Table(
        id="effects",
        columns=(
            Column(title=result.scenario, kind="name"),
            Column(title="Effect", kind="number", digits=2, sign=True),
            ends_column(result, scale=1.0, digits=2),
        ),
        rows=tuple((row.level, row.estimate, row.ends) for row in ordered),
        caption=f"The {plural(len(apart), 'level')} whose interval excludes 0, from the lowest",
        most=_SHOWN,
        # Those that are drawn: of the items' effects there may be thousands, and the saved result has them.
        frame=frame_of(figures.scenario_effects(result), EffectRow, EFFECT_COLUMNS).to_dict(as_series=False),
    )
    heading = f"{len(apart):,} of {plural(len(rows), 'level')} of {result.scenario} stand apart from the mean"
    return [Section(id="levels", heading=heading, blocks=(replace(drawn, table=table),))]


def _spread(result: ScenarioModel) -> list[Section]:
    """Return what scores vary by."""
    known = [row for row in result.variances if row.share is not None]
    if not known:
        return []
    scale, unit = figures.deviation_unit(result)
    digits = 2 if scale == 1 else 1
    table = Table(
        id="variation",
        columns=(
            Column(title="Source"),
            Column(title="Share (%)", kind="number", scale=100.0),
            Column(title="SD", kind="number", scale=scale, digits=digits),
            ends_column(result, scale=scale, digits=digits),
            Column(title="Levels", kind="count", spare=True),
        ),
        rows=tuple(
            (
                *(row.label or row.term, row.share, row.std_dev),
                *(None if row.conf_low is None else (row.conf_low, row.conf_high), row.n_levels),
            )
            for row in result.variances
        ),
        caption=f"What scores vary by: shares of the variance, and standard deviations{unit and f' in {unit}'}",
        frame=result.variances_frame().to_dict(as_series=False),
    )
    heading = _spread_heading([row for row in known if not row.singular], result)
    return [Section(id="variation", heading=heading, blocks=(replace(figures.variance_shares(result), table=table),))]


def _spread_heading(rows: Sequence[VarianceRow], result: ScenarioModel) -> str:
    """Say what the largest source is, and what it makes of the whole."""
    first = max((row for row in rows if row.term != "residual"), key=lambda row: row.share or 0.0, default=None)
    if first is None:
        return f"{result.metric} varies by nothing beyond chance"
    label, share = first.label or first.term, 100 * (first.share or 0.0)
    return f"{label[:1].upper()}{label[1:]}: {'under 1' if share < 1 else f'{share:.0f}'}% of the variance of scores"


def _reliability(result: ScenarioModel) -> list[Section]:
    found = result.reliability
    if found is None or found.relative is None:
        return []
    order = reliability_words(found.relative)
    if found.relative_low is not None and found.relative_high is not None:
        order += f" ({reliability_words(found.relative_low)} to {reliability_words(found.relative_high)})"
    level = f", of their scores {reliability_words(found.absolute)}" if found.absolute is not None else ""
    rough = "" if found.relative >= _RELIABLE else " only"
    said = f"1 would be a benchmark without noise{f'; this one has {found.design}' if found.design else ''}."
    items = needed_items(found)
    return [
        Section(
            id="reliability",
            heading=f"The reliability of the order of models is{rough} {order}{level}",
            blocks=(Text(text=said), *((Items(items=items),) if items else ())),
            news=(found.relative if found.relative_low is None else found.relative_low) < _RELIABLE,
        )
    ]


def long_tables(result: ScenarioModel) -> list[Section]:
    """Return what is folded away: scores of all cells, pairs of models, tests of whole terms, the D-study."""
    if not result.answered:
        return []
    return [*_cells(result), *_pairs(result), *_tests(result), *_study(result)]


def _cells(result: ScenarioModel) -> list[Section]:
    shrunk = ", shrunk towards each model's mean" if result.scenario_as == "random" else ""
    some = f" (the first {_SHOWN} of {len(result.cells):,} cells)" if len(result.cells) > _SHOWN else ""
    table = Table(
        id="cells",
        columns=(
            *name_columns("Model", result.scenario),
            score_column(result, "Score"),
            ends_column(result),
            score_column(result, "Pooled", spare=True),
            Column(title="Items", kind="count"),
        ),
        rows=tuple(
            (row.model, row.scenario, row.estimate, row.ends, row.pooled, row.n_items) for row in result.cells[:_SHOWN]
        ),
        caption=f"Scores{shrunk}{some}",
        frame=result.to_frame().to_dict(as_series=False),
    )
    return [Section(id="cells", heading="The score in every cell", blocks=(table,))]


def _pairs(result: ScenarioModel) -> list[Section]:
    pairs = [pair for pair in result.pairs if not pair.scenario]
    if len(pairs) < 2:
        return []
    apart = sum(pair.separated for pair in pairs)
    some = f", the first {_SHOWN}" if len(pairs) > _SHOWN else ""
    table = Table(
        id="pairs",
        columns=(
            *name_columns("Model", "Other"),
            change_column(result, "Difference"),
            ends_column(result),
            Column(title="p adjusted", kind="p"),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (
                *(pair.first, pair.second, pair.estimate, pair.ends, pair.p_adjusted),
                pair.reason or ("separated" if pair.separated else "not separated"),
            )
            for pair in pairs[:_SHOWN]
        ),
        caption=f"Models against each other over all scenarios, as one family{some}",
        frame=LateColumns(lambda: result.pairs_frame().to_dict(as_series=False)),
    )
    return [
        Section(
            id="pairs",
            heading=f"{apart:,} of {len(pairs):,} pairs of models {is_are(apart)} separated",
            blocks=(table,),
        )
    ]


def _tests(result: ScenarioModel) -> list[Section]:
    if not result.tests:
        return []

    def df(test: TermTest) -> str | None:
        if test.df is None:
            return None
        first = f"{test.df:g}" if test.df == round(test.df) else number(test.df, 1)
        return first if test.df_denominator is None else f"{first}, {number(test.df_denominator, 1)}"

    table = Table(
        id="tests",
        columns=(
            Column(title="Term"),
            Column(title="Test"),
            Column(title="Statistic", kind="number", spare=True),
            Column(title="df", kind="amount", spare=True),
            Column(title="p", kind="p"),
            Column(title="Role"),
        ),
        rows=tuple(
            (test.term, test.method, test.statistic, df(test), test.p_value, test.role) for test in result.tests
        ),
        caption="Tests of whole terms; the first decides",
        lead=True,
    )
    said = tuple(sentence(f"{test.method} of {test.term}: {test.note}") for test in result.tests if test.note)
    blocks: tuple[Block, ...] = (table, *((Items(items=said),) if said else ()))
    return [Section(id="tests", heading="Tests of whole terms", blocks=blocks)]


def _study(result: ScenarioModel) -> list[Section]:
    found = result.reliability
    if found is None or not found.curve:
        return []
    # Some points of every facet, the ends among them.
    points: list[DesignPoint] = []
    for facet in dict.fromkeys(point.facet for point in found.curve):
        own = [point for point in found.curve if point.facet == facet]
        step = max(1, -(-(len(own) - 1) // (_POINTS - 1)))
        points += [point for i, point in enumerate(own) if i % step == 0 or i == len(own) - 1]
    table = Table(
        id="reliability",
        columns=(
            Column(title="Of", kind="text"),
            Column(title="Number", kind="count"),
            Column(title="Order (Eρ²)", kind="amount"),
            Column(title="Scores (Φ)", kind="amount"),
        ),
        rows=tuple(
            (
                facet_words(point.facet, found),
                point.n,
                reliability_words(point.relative),
                reliability_words(point.absolute),
            )
            for point in points
        ),
        caption="Reliability by the number of one facet, all else equal (D-study)",
    )
    drawn = figures.reliability(result)
    block = table if drawn is None else replace(drawn, table=table)
    return [Section(id="d-study", heading="How many items it takes", blocks=(block,))]


# --- small words ---


def reliability_words(value: float | None) -> str:
    """Write a reliability; one below 1 is not rounded to 1, which would say that there is no noise."""
    text = number(value)
    return ">0.99" if text == "1.00" and value is not None and value < 1 else text


def facet_words(name: str, found: ScenarioReliability) -> str:
    """Return what a number of a facet counts: items may be nested in scenarios."""
    return "item in each scenario" if name == "item" and "in each scenario" in found.design else name


def needed_items(found: ScenarioReliability) -> tuple[str, ...]:
    """Return how many of each facet reach the target."""
    said: list[str] = []
    for each in found.needed:
        what = "the order of models" if each.kind == "relative" else "the scores themselves"
        goal = f"A reliability of {declared(each.target)} for {what}"
        if each.n is None:
            why = each.reason or "the data do not show it"
            said.append(f"{goal} is out of reach by more {each.facet}s alone: {why}")
            continue
        counted, _, where = facet_words(each.facet, found).partition(" ")
        takes = f"{goal} takes {plural(each.n, counted)} {where}".rstrip()
        said.append(takes + (f" ({each.reason})" if each.reason else ""))
    return tuple(sentence(text) for text in said)


def worst_first(rows: Iterable[ChangeRow], result: ScenarioModel) -> list[ChangeRow]:
    """Order changes, the largest one to the worse first; rows without an estimate come last."""
    sign = 1.0 if result.higher_is_better else -1.0
    return sorted(rows, key=lambda row: math.inf if row.estimate is None else round(sign * row.estimate, 9))


def best_first(rows: Iterable[ScenarioMean], result: ScenarioModel) -> list[ScenarioMean]:
    """Order means, the best first; rows without an estimate come last."""
    sign = -1.0 if result.higher_is_better else 1.0
    return sorted(rows, key=lambda row: math.inf if row.estimate is None else round(sign * row.estimate, 9))


def drop_name(row: ChangeRow | CellRow) -> str:
    """Name a change or a cell."""
    return f"{row.model} in {row.scenario}"
