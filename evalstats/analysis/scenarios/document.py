"""What is said of scenarios: which models break where, by how much, what is open, and how it was computed."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level
from evalstats.analysis.scenarios import figures
from evalstats.analysis.scenarios.evidence import (
    AVERAGE,
    VERDICTS,
    best_first,
    change_column,
    drop_name,
    ends_column,
    evidence_sections,
    long_tables,
    name_columns,
    score_column,
    worst_first,
)
from evalstats.analysis.scenarios.result import ChangeRow, ScenarioMean, ScenarioModel, VarianceRow, Verdict
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Interval,
    Items,
    Note,
    Section,
    Table,
    Text,
    Tone,
    Value,
    drawn_interval,
    listed,
    sentence,
)
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number, p_words, scaled
from evalstats.errors import Option
from evalstats.grammar import and_list, plural

_NAMED = 2
_MOST_TIMES = 25.0
_SCENARIOS = 8
_TONES: dict[Verdict, Tone] = {
    "breaks shown": "bad",
    "none shown": "caution",
    "scenarios sampled": "neutral",
    "scores only": "neutral",
    "no answer": "bad",
    "not converged": "bad",
}


def method_sections(result: ScenarioModel) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, and the references."""
    how = Text(text=" ".join(text.how for text in texts_for(result.method)))
    ranking = [result.ranking.method] if result.ranking is not None else []
    names = [result.method, result.covariance_method, result.penalty, *(test.method for test in result.tests), *ranking]
    sources = {source for name in names for text in _texts(name) for source in text.sources}
    sources |= {
        "Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x (adjusted for all changes)",
        "Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907 (intervals of those shown)",
    }
    return (
        Section(
            id="method",
            heading="How models and scenarios are estimated",
            blocks=(how, Items(items=_facts(result))),
        ),
        listed("assumptions", "What this assumes", _assumptions(result)),
        Section(id="references", heading="References", blocks=(Items(items=tuple(sorted(sources))),)),
    )


# --- how ---


def _facts(result: ScenarioModel) -> tuple[str, ...]:
    base = "the model's mean over its other scenarios" if result.reference == "average" else result.reference
    tested = sum(row.p_value is not None for row in result.drops)
    share = f"{100 * (1 - result.conf_level):.3g}%"
    family = (
        f"All {tested:,} changes are one family (Benjamini-Hochberg). If none is real, the chance that any is "
        f"shown is at most {share}; of those shown, at most {share} are expected to be false, and as few of their "
        "intervals to miss"
    )
    pooled = texts_for("partial pooling")[0]
    covariance = " ".join(text.how for text in _texts(result.covariance_method))
    tested_by: list[tuple[str, str]] = []
    if result.interaction is not None and ":" in result.interaction.term:
        tested_by.append(("Whether models differ in where they break", result.interaction.method))
    if result.ranking is not None and result.ranking.method:
        tested_by.append(("Whether models swap order", result.ranking.method))
    said = [
        f"Model: {result.formula}, by {result.method}, because {result.method_reason}",
        f"Scenarios are {result.scenario_as}: {result.scenario_reason}",
        f"What is estimated: {result.estimand}",
        f"Changes are relative to {base}" if result.drops else "",
        family if tested > 1 else "",
        f"Standard errors: {result.covariance_method}. {covariance}" if covariance else "",
        f"Pooled: {pooled.what}. {pooled.how}" if any(row.pooled is not None for row in result.drops) else "",
        f"In the means of models, {result.weights}" if result.n_models > 1 else "",
        *(
            f"{question}: {method}. {''.join(text.how for text in _texts(method)[:1])}"
            for question, method in tested_by
        ),
        f"Penalty: {result.penalty}" if result.penalty else "",
        f"The fit: {result.convergence}" if result.convergence else "",
    ]
    return tuple(sentence(text) for text in said if text)


def _texts(method: str) -> tuple[MethodText, ...]:
    return texts_for(method) if method and method != "none" else ()


def _assumptions(result: ScenarioModel) -> list[str]:
    whole = result.clusters == ("item",)
    unit, n = ("groups", result.n_clusters) if result.clusters and not whole else ("items", result.n_items)
    of = f" ({' and '.join(result.clusters)})" if result.clusters and not whole else ""
    n = result.n_clusters if whole else n
    advice = "" if of else f"; if they share passages or environments, name those with {named(Option('cluster'))}"
    found = [f"The {n or 0:,} {unit}{of} are independent of each other{advice}"]
    found += list(
        {text.takes: None for name in (result.method, result.covariance_method) for text in _texts(name) if text.takes}
    )
    if result.judged:
        found.append(
            "A drop belongs to the scenario and to whatever else came with it, such as a stricter judge or time limit"
        )
    if result.n_error or result.n_unscored or any(row.n_missing for row in result.cells):
        found.append(
            "Missing scores are like the rest; failures that are more frequent in one scenario would look like a "
            "drop, or hide one"
        )
    if result.singular:
        found.append(f"In the model {and_list(result.singular)}, and set to 0, which is not established")
    if not result.converged:
        found.append("The fit ends at an optimum, which it did not")
    return found


def document(result: ScenarioModel) -> Document:
    """Return what is said of models in scenarios."""
    asked = asked_direction(result.direction) if result.answered else []
    value, words, drawn = _number(result)
    users = f", on different {result.different}" if result.different and result.answered else ""
    one = result.n_models == 1 and result.models
    who = f"does {named(result.models[0].name)} break" if one else f"do {result.n_models} models break"
    return Document(
        kind="scenarios",
        title=f"Where {who}{placed(result.benchmark)}?",
        label=result.verdict,
        tone=_TONES[result.verdict],
        headline="; ".join((f"{_headline(result)}{users}", *asked)),
        number=value,
        number_words=words,
        interval=drawn,
        scope=_scope(result),
        answer=_answer(result),
        notes=(*result.notes, *_doubts(result)),
        actions=tuple(_actions(result)) if result.answered else (),
        evidence=tuple(evidence_sections(result)) if result.answered else (),
        method=(
            *method_sections(result),
            *long_tables(result),
            result.origin.section(),
        ),
    )


# --- the answer ---


def _everyone(result: ScenarioModel) -> str:
    return "Both models" if result.n_models == 2 else f"All {result.n_models} models"


def _elsewhere(result: ScenarioModel) -> str:
    return "" if result.reference == AVERAGE else f" than in {named(result.reference)}"


def _headline(result: ScenarioModel) -> str:
    match result.verdict:
        case "not converged":
            return (
                f"The fit did not converge, so its numbers answer nothing ({result.convergence or 'no reason given'})"
            )
        case "no answer":
            reasons = [row.verdict_reason for row in result.drops if row.verdict_reason]
            reasons += [row.reason for row in result.cells if row.reason]
            why = and_list(list(dict.fromkeys(reasons)), 2)
            return f"These data cannot say where models break{f': {why}' if reasons else ''}"
        case "breaks shown":
            return _breaks(result)
        case "scenarios sampled":
            return _sampled(result)
        case "none shown":
            who = named(result.models[0].name) if result.n_models == 1 else "No model"
            shown = "is not shown" if result.n_models == 1 else "is shown"
            return f"{who} {shown} to do worse in any scenario{_elsewhere(result)}"
        case "scores only":
            ordered = best_first(result.scenarios, result)
            low, high = ordered[-1], ordered[0]
            percent = "%" if result.about.score_unit == "%" else ""
            shown = [scaled(row.estimate, result.scale, result.digits) for row in (low, high)]
            known = [percent if row.estimate is not None else "" for row in (low, high)]
            ends = [
                f"{value}{unit} in {named(row.name)}"
                for value, unit, row in zip(shown, known, (low, high), strict=True)
            ]
            return f"Mean {named(result.metric)} runs from {ends[0]} to {ends[1]}"


def _breaks(result: ScenarioModel) -> str:
    """Say who does worse where, and what costs most."""
    rows = worst_first((row for row in result.drops if row.verdict == "drop"), result)
    who, where = named(rows[0].model), named(rows[0].scenario)
    if len(rows) == 1:
        return f"{who} does worse in {where}{_elsewhere(result)}"
    if len({row.model for row in rows}) == 1:
        names = [named(row.scenario) for row in rows]
        if len(names) > _NAMED:
            return f"{who} does worse in {len(rows)} scenarios{_elsewhere(result)}, most in {where}"
        return f"{who} does worse in {and_list(names)}{_elsewhere(result)}"
    most = "" if _as_large(rows) else f"; {where} costs {who} most"
    return f"{_who_and_where(rows, result)}{most}"


def _as_large(rows: Sequence[ChangeRow]) -> bool:
    """Whether the largest of several changes is no larger than the next."""
    first, second = (row.estimate or 0.0 for row in rows[:2])
    return math.isclose(first, second, rel_tol=1e-9)


def _who_and_where(rows: Sequence[ChangeRow], result: ScenarioModel) -> str:
    """Name the scenarios that cost all models; if there are none, say how many models break anywhere."""
    by_scenario = Counter(row.scenario for row in rows)
    n, than = result.n_models, _elsewhere(result)
    breaking = len({row.model for row in rows})
    if result.by_user and breaking == n:
        return f"{_everyone(result)} do worse with difficult users"
    for_all = [named(name) for name, breaks in by_scenario.items() if breaks == n]
    if for_all:
        n_set = len({row.scenario for row in result.drops})
        where = and_list(for_all) if len(for_all) <= _NAMED else f"{len(for_all)} of {n_set} scenarios"
        return f"{_everyone(result)} do worse in {where}{than}"
    who = _everyone(result) if breaking == n else f"{breaking} of {n} models"
    return f"{who} do worse in some scenario{than}"


def _sampled(result: ScenarioModel) -> str:
    """Say how unlike sampled scenarios are to each other, where no single change is shown."""
    own = scenario_variance(result)
    if own is None:
        return f"No single one of {plural(result.n_scenarios, 'scenario')} stands out"
    p = next((test.p_value for test in result.tests if test.term == own.term and test.p_value is not None), None)
    if p is not None and p > 1 - result.conf_level:
        return f"{plural(result.n_scenarios, 'scenario')} are not shown to differ ({p_words(p)})"
    return "Scenarios differ, and no single one stands out"


def scenario_variance(result: ScenarioModel) -> VarianceRow | None:
    """Return the row of the variation between scenarios."""
    return next((row for row in result.variances if row.term.strip("` ") in (result.scenario, "scenario")), None)


def _drawn(row: ChangeRow, result: ScenarioModel) -> Interval | None:
    unit = result.about.shown_unit
    return drawn_interval(
        row.estimate,
        row.ends,
        scale=result.scale,
        digits=result.digits,
        unit=unit,
        origin=0.0,
        conf_level=result.conf_level,
        p_value=row.p_adjusted,
    )


def _number(result: ScenarioModel) -> tuple[str, str, Interval | None]:
    """Return the largest drop with its interval, or what is left open."""
    if result.verdict == "breaks shown":
        row = worst_first((row for row in result.drops if row.verdict == "drop"), result)[0]
        ends = interval_words(row.conf_low, row.conf_high, result.scale, result.digits, sign=False)
        words = f"{row.model} in {row.scenario}, {level(result)} CI {ends}"
        return _change(row.estimate, result), words, _drawn(row, result)
    if result.verdict == "none shown":
        rows = [row for row in result.judged if row.verdict == "not shown"]
        # The end of each interval that lies farther to the worse.
        ends = [(row.conf_low if result.higher_is_better else row.conf_high, row) for row in rows]
        known = [(end, row) for end, row in ends if end is not None]
        if known:
            sign = 1.0 if result.higher_is_better else -1.0
            end, row = min(known, key=lambda each: sign * each[0])
            return (
                f"Up to {_change(end, result)}",
                f"not ruled out for {row.model} in {row.scenario}",
                _drawn(row, result),
            )
    own = scenario_variance(result) if result.verdict == "scenarios sampled" else None
    # A spread without an interval, as one estimated as 0, is no number to stand above everything.
    if own is not None and own.conf_high is not None:
        scale, unit = figures.deviation_unit(result)
        digits = 2 if scale == 1 else 1
        ends = interval_words(own.conf_low, own.conf_high, scale, digits=digits)
        return (
            f"SD {number(scale * own.std_dev, digits)} {unit}".rstrip(),
            f"{level(result)} CI {ends}, between scenarios",
            None,
        )
    return "", "", None


def _scope(result: ScenarioModel) -> str:
    """Say what the answer rests on, in one line."""
    items = plural(result.n_items, "item")
    if result.different:
        items = f"{result.n_items:,} {'rows' if result.clusters else result.different}"
    if result.clusters == ("item",) and result.n_clusters is not None:
        items = f"{result.n_items:,} versions of {plural(result.n_clusters, 'item')}"
    elif result.n_clusters is not None and result.clusters:
        items = f"{items} in {plural(result.n_clusters, 'cluster')} ({' and '.join(result.clusters)})"
    better = "" if result.higher_is_better else ", lower is better"
    who = "" if result.n_models == 1 else f" of {plural(result.n_models, 'model')}"
    tested = sum(row.p_value is not None for row in result.drops)
    family = f"; adjusted for {tested:,} changes" if tested > 1 else ""
    levels = plural(result.n_scenarios, "scenario" if result.scenario == "scenario" else "level")
    of = "" if result.scenario == "scenario" else f" of {result.scenario}"
    return f"Mean {result.metric}{who} in {levels}{of}, {items}{better}{family}"


def _answer(result: ScenarioModel) -> tuple[Block, ...]:
    if not result.answered:
        return ()
    goal = "the model's mean" if result.n_models == 1 else "each model's mean"
    shrunk = f"Scores are shrunk towards {goal}, since scenarios count as a sample."
    said = " ".join(text for text in (shrunk if result.scenario_as == "random" else "", _differ(result)) if text)
    table = replace(
        _one_model(result) if result.n_models == 1 and result.drops else _by_scenario(result),
        frame=(result.drops_frame() if result.drops else result.to_frame()).to_dict(as_series=False),
    )
    drawn = replace(figures.drop_map(result), table=table) if result.drops else table
    return (drawn, *([Text(text=said)] if said else []))


def _differ(result: ScenarioModel) -> str:
    """Say whether models are shown to differ in where they break, and whether their order changes."""
    test, said = result.interaction, ""
    if test is not None and ":" in test.term and test.p_value is not None:
        shown = test.p_value <= 1 - result.conf_level
        said = (
            f"Models {'differ' if shown else 'are not shown to differ'} in where they break ({p_words(test.p_value)})."
        )
    elif test is not None and ":" in test.term and test.note:
        said = f"Whether models differ in where they break is inconclusive: {test.note}."
    ranking = result.ranking
    if ranking is not None and ranking.p_value is not None:
        no_two = "The two are not shown" if result.n_models == 2 else "No two models are shown"
        said += " Their order changes between scenarios." if ranking.shown else f" {no_two} to swap order."
    return said.strip()


def _by_scenario(result: ScenarioModel) -> Table:
    """Return a line for each scenario, the reference first, then the weakest."""
    first = [row for row in result.scenarios if row.name == result.reference]
    rest = [row for row in best_first(result.scenarios, result)[::-1] if row.name != result.reference]
    counts = any(row.verdict == "drop" for row in result.drops)
    mean = score_column(result, "Shrunk" if result.scenario_as == "random" else "Mean")
    judged: dict[str, list[ChangeRow]] = {}
    for change in result.judged:
        judged.setdefault(change.scenario, []).append(change)

    def line(row: ScenarioMean) -> tuple[Value, ...]:
        if not counts:
            return (row.name, row.estimate, row.ends)
        own = worst_first(judged.get(row.name, ()), result)
        worse = f"{sum(each.verdict == 'drop' for each in own)} of {len(own)}" if own else None
        if not own or own[0].verdict != "drop":
            return (row.name, row.estimate, worse, None, None, None)
        return (row.name, row.estimate, worse, own[0].estimate, own[0].ends, own[0].model)

    columns = (Column(title="Worse", kind="amount", spare=True), change_column(result, "Largest"), ends_column(result))
    return Table(
        id="scenarios",
        columns=(
            *name_columns(result.scenario),
            mean,
            *((*columns, *name_columns("Model")) if counts else (ends_column(result),)),
        ),
        rows=tuple(map(line, (*first, *rest))),
        caption="Each scenario: mean over models, how many do worse there beyond chance, and the largest drop",
        most=_SCENARIOS,
    )


def _one_model(result: ScenarioModel) -> Table:
    cells = {row.scenario: row for row in result.cells}
    made = {row.scenario: row for row in result.drops}
    names = [result.reference] if result.reference in cells else []
    names += [row.scenario for row in worst_first(result.drops, result)]
    return Table(
        id="scenarios",
        columns=(
            *name_columns(result.scenario),
            score_column(result, "Shrunk" if result.scenario_as == "random" else "Mean"),
            change_column(result, "Change"),
            ends_column(result),
            Column(title="Verdict", kind="verdict"),
        ),
        rows=tuple(
            (name, cells[name].estimate, *((row.estimate, row.ends, row.verdict) if row else (None, None, "")))
            for name, row in ((name, made.get(name)) for name in names)
        ),
        caption=f"Every scenario, and its change from {figures.base_name(result)}",
        tones=VERDICTS,
        most=_SCENARIOS + 1,
    )


def _doubts(result: ScenarioModel) -> list[Note]:
    """Return what speaks against single changes that are shown, or keeps some from being shown or judged."""
    found: list[Note] = []
    if not result.answered:
        return found
    shown = [row for row in result.drops if row.verdict == "drop"]
    doubted = [row for row in shown if row.paired_low is not None and row.paired_high is not None]
    doubted = [row for row in doubted if (row.paired_low or 0.0) <= 0 <= (row.paired_high or 0.0)]
    if doubted:
        text = f"Within items alone the interval includes 0 for {and_list([drop_name(row) for row in doubted], 3)}"
        found.append(Note(kind="fit", text=text, remedy="Read these items before relying on it"))
    reasons = [(row.verdict_reason, drop_name(row)) for row in result.drops if row.verdict == "invalid"]
    reasons += [
        (row.verdict_reason, drop_name(row)) for row in result.drops if row.verdict == "not shown" and row.excludes_zero
    ]
    reasons += [(row.reason, row.name) for row in (*result.models, *result.scenarios) if row.reason]
    for reason in dict.fromkeys(reason for reason, _ in reasons):
        names = [name for other, name in reasons if other == reason]
        found.append(Note(kind="few", text=f"Not judged: {and_list(names, 3)} ({reason or 'no reason known'})"))
    return found


def _actions(result: ScenarioModel) -> list[str]:
    found: list[str] = []
    shown = worst_first((row for row in result.drops if row.verdict == "drop"), result)
    if shown:
        most = "" if len(shown) > 1 and _as_large(shown) else f": it costs {named(shown[0].model)} most"
        found.append(f"Read the failed items of {named(shown[0].scenario)} first{most}.")
    if result.ranking is not None and result.ranking.shown:
        found.append(
            f"Choose a model for the scenarios you expect, or weight them as your users meet them ({named(Option('weights'))})."
        )
    missed = [row for row in result.judged if row.verdict == "not shown" and row.p_adjusted is not None]
    if missed:
        nearest = min(missed, key=lambda row: row.p_adjusted or 1.0)
        n = items_to_settle(nearest)
        if n is not None:
            found.append(f"About {n:,} items instead of {nearest.n_items:,} would settle {drop_name(nearest)}.")
    return found


def items_to_settle(row: ChangeRow) -> int | None:
    """Return how many items would make an interval just exclude 0 if its estimate were the truth, to two digits.

    None where the interval does so already, or where it would take more than 25 times as many.

    >>> row = ChangeRow(
    ...     model="m", scenario="s", reference="r", estimate=-0.05, conf_low=-0.12, conf_high=0.02, n_items=300
    ... )
    >>> items_to_settle(row)
    590
    """
    if not row.estimate or row.conf_low is None or row.conf_high is None or not row.n_items:
        return None
    ratio = ((row.conf_high - row.conf_low) / 2 / row.estimate) ** 2
    if not 1 < ratio <= _MOST_TIMES:
        return None
    needed = row.n_items * ratio
    unit = 10 ** max(math.floor(math.log10(needed)) - 1, 0)
    return math.ceil(round(needed / unit, 9)) * unit


# --- numbers in their unit ---


def _change(value: float | None, result: ScenarioModel) -> str:
    return f"{scaled(value, result.scale, result.digits, sign=True)} {result.unit}".rstrip()
