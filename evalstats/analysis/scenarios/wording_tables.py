"""Tables of where models break: scenarios, models, every model in every scenario, single drops, pairs that change places."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.words import (
    AVERAGE,
    against,
    best_mean_first,
    change_text,
    digits_of,
    ends_text,
    level_text,
    of,
    short_codes,
    worst_first,
)
from evalstats.document.blocks import Table
from evalstats.document.numbers import number, p_value, plural, scaled

# Lines of a long list: those beyond it are in the frame and in the JSON.
LINES = 20
_WIDTH = 80
_NAME = 16
_MOST_PAIRS = 15
_SHOWN = "*"


def scenarios_table(result: ScenarioModel) -> Table:
    """One line for each scenario: its mean, who is shown to break in it, and its code in the tables of all cells."""
    codes = codes_of(result)
    rows = list(result.scenarios)
    if len(rows) > LINES:
        ordered = best_mean_first(rows, result)
        rows = [*ordered[: LINES // 2], *ordered[-LINES // 2 :]]
    columns = {
        result.scenario: [row.name for row in rows],
        "Code": [codes[row.name] for row in rows],
        of("Mean", result.score_unit): [scaled(row.estimate, result.scale, digits_of(result)) for row in rows],
        f"{level_text(result)} interval": [ends_text(row.conf_low, row.conf_high, result) for row in rows],
        "Break": [_count(result, "drop", scenario=row.name) for row in rows],
        "Gain": [_count(result, "gain", scenario=row.name) for row in rows],
        "Largest drop": [_largest(result, scenario=row.name) for row in rows],
        "Items": [f"{row.n_items:,}" for row in rows],
    }
    if all(code == name for name, code in codes.items()) or matrix(result) is None:
        del columns["Code"]
    if not result.drops:
        for name in ("Break", "Gain", "Largest drop"):
            del columns[name]
    kind = "the mean" if result.scenario_as == "fixed" else "the predicted mean, drawn towards that of all,"
    over = "over the models, each counting the same" if result.n_models > 1 else f"of {result.model_names[0]}"
    counted = (
        f"; Break and Gain count the models shown to do worse and better there than {against(result, several=True)}"
        if result.drops
        else ""
    )
    some_of = f"; the {len(rows)} at either end of {len(result.scenarios)}" if len(rows) < len(result.scenarios) else ""
    return _table(
        columns,
        caption=f"Scenarios: {kind} {over}{counted}{some_of}",
        left=(result.scenario, "Code", "Largest drop"),
        wide=("Largest drop", "Gain", "Items"),
    )


def models_table(result: ScenarioModel) -> Table:
    """One line for each model: its mean over scenarios, and in how many of them it is shown to break."""
    rows = result.models[: 2 * LINES]
    columns = {
        "Model": [row.name for row in rows],
        of("Mean", result.score_unit): [scaled(row.estimate, result.scale, digits_of(result)) for row in rows],
        f"{level_text(result)} interval": [ends_text(row.conf_low, row.conf_high, result) for row in rows],
        "Breaks in": [_count(result, "drop", model=row.name) for row in rows],
        "Gains in": [_count(result, "gain", model=row.name) for row in rows],
        "Largest drop": [_largest(result, model=row.name) for row in rows],
        "Items": [f"{row.n_items:,}" for row in rows],
    }
    if not result.drops:
        for name in ("Breaks in", "Gains in", "Largest drop"):
            del columns[name]
    more = f"; the first {len(rows)} of {len(result.models)}" if len(rows) < len(result.models) else ""
    own = "" if result.reference == AVERAGE else f", {result.reference} among them"
    return _table(
        columns,
        caption=f"Models over all scenarios{own} ({weights_words(result)}), each interval for its own mean{more}",
        left=("Model", "Largest drop"),
        wide=("Largest drop", "Gains in", "Items"),
    )


def weights_words(result: ScenarioModel) -> str:
    """Say how scenarios are weighed in the means of models."""
    words = result.weights.strip()
    return "every scenario counts the same" if words == "equal" else words


@dataclass(frozen=True, slots=True)
class _Layout:
    """How all cells are laid out: their texts, whether models stand in rows, and the headings of the columns."""

    cells: Mapping[tuple[str, str], str]
    models_down: bool
    headings: Mapping[str, str]


def matrix(result: ScenarioModel) -> Table | None:
    """Every model in every scenario, at 80 columns; None where no arrangement of them fits.

    With a scenario as the reference: its scores, and the changes from it; else the scores.
    """
    layout = _layout(result)
    if layout is None:
        return None
    names = result.model_names if layout.models_down else result.scenario_names
    first = "Model" if layout.models_down else result.scenario
    columns = {first: list(names)}
    for name, heading in layout.headings.items():
        keys = [(row, name) if layout.models_down else (name, row) for row in names]
        columns[heading] = [layout.cells.get(key, "–") for key in keys]
    legend = "" if layout.models_down else _legend(layout.headings)
    return _table(columns, caption=_matrix_caption(result) + legend, left=(first,), wide=())


def codes_of(result: ScenarioModel) -> Mapping[str, str]:
    """Return what the matrix calls each scenario: its name, where all names fit."""
    layout = _layout(result)
    if layout is None or not layout.models_down:
        return {name: name for name in result.scenario_names}
    return layout.headings


def _layout(result: ScenarioModel) -> _Layout | None:
    """Put models in rows, with the names of scenarios in short if they must; else scenarios in rows; else nothing."""
    cells = _cell_texts(result)
    wide = max((len(text) for text in cells.values()), default=1)
    models, scenarios = result.model_names, result.scenario_names
    for across, down, models_down in ((scenarios, models, True), (models, scenarios, False)):
        if len(down) > (2 * LINES if models_down else LINES):
            continue
        room = _WIDTH - min(max((len(name) for name in down), default=0), _NAME)
        for headings in (across, short_codes(across)):
            if sum(max(len(heading), wide) + 2 for heading in headings) <= room:
                return _Layout(cells, models_down, dict(zip(across, headings, strict=True)))
    return None


def _shows_changes(result: ScenarioModel) -> bool:
    return result.reference != AVERAGE and bool(result.drops)


def _legend(headings: Mapping[str, str]) -> str:
    codes = [f"{code} is {name}" for name, code in headings.items() if code != name]
    return f" {'; '.join(codes)}" if codes else ""


def _matrix_caption(result: ScenarioModel) -> str:
    if _shows_changes(result):
        score = of(f"{result.metric} in {result.reference}", result.score_unit)
        change = of("the change from it in every other scenario", result.unit)
        sense = "" if result.higher_is_better else "; more is worse"
        return f"{score}, and {change}{sense}. {_SHOWN} marks a change that is shown; one without it may be there all the same"
    score = of(f"{result.metric} of every model in every scenario", result.score_unit)
    if not result.drops:
        return score
    return (
        f"{score}. {_SHOWN} marks a score shown to differ from the model's mean over its other scenarios; one without it "
        "may differ all the same"
    )


def _cell_texts(result: ScenarioModel) -> dict[tuple[str, str], str]:
    """Write every cell: the score, or the change from the reference, with a mark where a change is shown."""
    digits = digits_of(result)
    shown = {(row.model, row.scenario) for row in result.drops if row.verdict in ("drop", "gain")}
    found: dict[tuple[str, str], str] = {}
    values = {(row.model, row.scenario): (row.estimate, False) for row in result.cells}
    if _shows_changes(result):
        values |= {(row.model, row.scenario): (row.estimate, True) for row in result.drops}
    for key, (value, sign) in values.items():
        mark = "" if not result.drops else _SHOWN if key in shown else " "
        found[key] = "–" if value is None else f"{scaled(value, result.scale, digits, sign=sign)}{mark}"
    return found


def drops_table(result: ScenarioModel) -> Table:
    """List changes one by one, the largest to the worse first: by the model, without it, and pooled."""
    rows = worst_first(result.drops, result)
    told, codes = rows[:LINES], codes_of(result)
    columns = {
        "Model": [row.model for row in told],
        "Scenario": [codes[row.scenario] for row in told],
        "Change": [change_text(row.estimate, result, unit=False) for row in told],
        "Interval": [ends_text(row.conf_low, row.conf_high, result, sign=True) for row in told],
        "p (adjusted)": [p_value(row.p_adjusted) for row in told],
        "Verdict": [row.verdict for row in told],
        "Paired": [change_text(row.paired, result, unit=False) for row in told],
        "Pooled": [change_text(row.pooled, result, unit=False) for row in told],
        "Interval, paired": [ends_text(row.paired_low, row.paired_high, result, sign=True) for row in told],
        "Interval, pooled": [ends_text(row.pooled_low, row.pooled_high, result, sign=True) for row in told],
        "Log odds": [number(row.log_odds, sign=True) for row in told],
        "Items": [f"{row.n_items:,}" for row in told],
    }
    for name in ("Log odds", "Paired", "Interval, paired", "Pooled", "Interval, pooled"):
        if all(text in ("–", "none") for text in columns[name]):
            del columns[name]
    more = f"; the first {len(told)} of {len(rows)} are shown" if len(told) < len(rows) else ""
    base = (
        "each model in a scenario minus its mean over the others"
        if result.reference == AVERAGE
        else f"each model in a scenario minus {result.reference}"
    )
    sense = "below 0" if result.higher_is_better else "above 0"
    return _table(
        columns,
        caption=(
            f"{of('Changes', result.unit)} one by one, the largest to the worse first ({sense} is worse): {base}. "
            f"Intervals and p are adjusted for all {len(rows):,} changes{more}"
        ),
        left=("Model", "Scenario", "Verdict"),
        wide=("Pooled", "Paired", "p (adjusted)", "Items", "Log odds", "Interval, paired", "Interval, pooled"),
    )


def pairs_table(result: ScenarioModel) -> Table | None:
    """List pairs of models over all scenarios; None where there are none, or more than a table should have."""
    pairs = [pair for pair in result.pairs if not pair.scenario]
    if not 0 < len(pairs) <= _MOST_PAIRS:
        return None
    unit = f", in {result.unit}" if result.unit else ""
    columns = {
        "Model": [pair.first for pair in pairs],
        "Other": [pair.second for pair in pairs],
        "Difference": [change_text(pair.estimate, result, unit=False) for pair in pairs],
        "Interval": [ends_text(pair.conf_low, pair.conf_high, result, sign=True) for pair in pairs],
        "p (adjusted)": [p_value(pair.p_adjusted) for pair in pairs],
        "Separated": [_separated(pair.reason, separated=pair.separated) for pair in pairs],
    }
    return _table(
        columns,
        caption=(
            f"Models against each other over all scenarios{unit} ({weights_words(result)}); {plural(len(pairs), 'pair')} as one "
            "family"
        ),
        left=("Model", "Other", "Separated"),
        wide=(),
    )


def _separated(reason: str | None, *, separated: bool) -> str:
    return "–" if reason else "yes" if separated else "not shown"


def crossings_table(result: ScenarioModel) -> Table | None:
    """List the pairs of models that are shown to change places; None where there are none."""
    crossings = [each for each in (result.ranking.crossings if result.ranking else ()) if each.shown][:LINES]
    if not crossings:
        return None
    codes = codes_of(result)
    columns = {
        "Model": [each.first for each in crossings],
        "Other": [each.second for each in crossings],
        "Ahead in": [codes[each.ahead_in] for each in crossings],
        "By": [change_text(each.ahead_by, result, unit=False) for each in crossings],
        "Behind in": [codes[each.behind_in] for each in crossings],
        "by": [change_text(-each.behind_by, result, unit=False) for each in crossings],
        "p (adjusted)": [p_value(each.p_adjusted) for each in crossings],
    }
    unit = f" ({result.unit})" if result.unit else ""
    toward = "" if result.higher_is_better else ", counted so that more is better"
    return _table(
        columns,
        caption=f"Pairs of models that are shown to change places, the most certain first: leads{unit}{toward}",
        left=("Model", "Other", "Ahead in", "Behind in"),
        wide=("p (adjusted)",),
    )


# --- parts ---


def _table(columns: Mapping[str, Sequence[str]], *, caption: str, left: Sequence[str], wide: Sequence[str]) -> Table:
    names = tuple(columns)
    return Table(
        columns=names,
        rows=tuple(zip(*columns.values(), strict=True)),
        align="".join("l" if name in left else "r" for name in names),
        caption=caption,
        wide=tuple(name for name in wide if name in columns),
    )


def _count(result: ScenarioModel, verdict: str, *, model: str | None = None, scenario: str | None = None) -> str:
    rows = [row for row in result.drops if row.model == model or row.scenario == scenario]
    rows = [row for row in rows if row.verdict != "invalid"]
    return f"{sum(row.verdict == verdict for row in rows)} of {len(rows)}" if rows else "–"


def _largest(result: ScenarioModel, *, model: str | None = None, scenario: str | None = None) -> str:
    """Name the largest drop that is shown."""
    rows = [row for row in result.drops if row.model == model or row.scenario == scenario]
    shown = worst_first([row for row in rows if row.verdict == "drop"], result)
    if not shown:
        return "–"
    other = shown[0].scenario if model is not None else shown[0].model
    return f"{change_text(shown[0].estimate, result, unit=False)} {other}"
