"""The answer to "where do models break?" in sentences: what is shown, and what is left open beside it."""

from collections.abc import Sequence

from evalstats.analysis.compare.result import qualified
from evalstats.analysis.scales import direction_phrases
from evalstats.analysis.scenarios.result import DropRow, ScenarioModel, VarianceRow
from evalstats.analysis.scenarios.wording_spread import interaction_sentence, scale_words, spread_ends
from evalstats.analysis.scenarios.wording_tables import weights_words
from evalstats.analysis.scenarios.words import (
    AVERAGE,
    best_mean_first,
    capital,
    change_text,
    ends_text,
    judged,
    level_text,
    p_text,
    score_text,
    some,
    worse_end,
    worst_first,
)
from evalstats.document.blocks import Tone
from evalstats.document.numbers import number, plural

# So many scenarios are named in a headline.
_NAMED = 2
_NO_ANSWER, _NOT_CONVERGED, _SAMPLED = "no answer", "not converged", "scenarios sampled"


def answers(result: ScenarioModel) -> bool:
    """Whether the data answer the question at all: the fit ended well, and some number has an interval."""
    return answer_label(result) not in (_NO_ANSWER, _NOT_CONVERGED)


def answer_label(result: ScenarioModel) -> str:
    """Return the answer in two or three words."""
    if not result.converged:
        return _NOT_CONVERGED
    estimated = any(row.conf_low is not None for row in (*result.cells, *result.scenarios, *result.models))
    if result.scenario_as == "random" and estimated:
        return _SAMPLED
    if judged(result):
        return "breaks shown" if any(row.verdict == "drop" for row in result.drops) else "none shown"
    return "scores only" if not result.drops and estimated else _NO_ANSWER


def answer_tone(result: ScenarioModel) -> Tone:
    """Return the tone of the answer."""
    label = answer_label(result)
    if label in (_NO_ANSWER, _NOT_CONVERGED, "breaks shown"):
        return "bad"
    return "caution" if label == "none shown" else "neutral"


# --- the answer ---


def headline(result: ScenarioModel) -> str:
    """Return the answer in one sentence without its full stop."""
    return qualified(_headline(result), direction_phrases(result.direction))


def _headline(result: ScenarioModel) -> str:
    label = answer_label(result)
    if label == _NOT_CONVERGED:
        return (
            f"The fit did not converge, so nothing follows from its numbers ({result.convergence or 'no reason given'})"
        )
    if label == _NO_ANSWER:
        return _why_no_answer(result)
    shown = [row for row in result.drops if row.verdict == "drop"]
    if shown:
        return _drops_headline(result, shown)
    return _random_headline(result) if label == _SAMPLED else _open_headline(result)


def _why_no_answer(result: ScenarioModel) -> str:
    reasons = [row.verdict_reason for row in result.drops if row.verdict_reason]
    reasons += [row.reason for row in result.cells if row.reason]
    why = f": {some(list(dict.fromkeys(reasons)), 2)}" if reasons else ""
    return f"These data cannot say where models break{why}"


def _drops_headline(result: ScenarioModel, shown: Sequence[DropRow]) -> str:
    """Say who does worse where, then name the largest drop with its interval."""
    than = "" if result.reference == AVERAGE else f" than in {result.reference}"
    rows = worst_first(shown, result)
    worst = rows[0]
    size = _sized(worst, result)
    if len(rows) == 1:
        return f"{worst.model} does worse in {worst.scenario}{than}: {size}"
    if len({row.model for row in rows}) == 1:
        names = [row.scenario for row in rows]
        return f"{worst.model} does worse in {some(names, _NAMED)}{than}. {worst.scenario} costs most: {size}"
    return f"{_who_and_where(result, rows, than)}. {worst.scenario} costs {worst.model} most: {size}"


def _who_and_where(result: ScenarioModel, rows: Sequence[DropRow], than: str) -> str:
    """Name the scenarios that cost all models; if there are none, the one that costs most of them."""
    by_scenario = {row.scenario: [each.model for each in rows if each.scenario == row.scenario] for row in rows}
    n = result.n_models
    everyone = "Both models" if n == 2 else f"All {n} models"
    for_all = [name for name, models in by_scenario.items() if len(models) == n]
    if for_all:
        others = len({row.scenario for row in result.drops}) - len(for_all)
        where = some(for_all, _NAMED) if others else "every other scenario" if than else "every scenario"
        return f"{everyone} do worse in {where}{than}"
    name = max(by_scenario, key=lambda each: len(by_scenario[each]))
    models = by_scenario[name]
    if len(models) == 1:
        breaking = len({row.model for row in rows})
        return f"{everyone if breaking == n else f'{breaking} of {n} models'} do worse in some scenario{than}"
    most = ", the most in any scenario" if len(by_scenario) > 1 else ""
    return f"{len(models)} of {n} models do worse in {name}{than}{most}"


def _sized(row: DropRow, result: ScenarioModel) -> str:
    """Write a change with its interval, as in "-24.7 pp (95% CI -34.5 to -14.8)"."""
    ends = [change_text(end, result, unit=False) for end in (row.conf_low, row.conf_high)]
    return f"{change_text(row.estimate, result)} ({level_text(result)} CI {ends[0]} to {ends[1]})"


def _open_headline(result: ScenarioModel) -> str:
    """Say that nothing is shown, and how large a drop the data leave open."""
    rows = judged(result)
    if not rows:
        ordered = best_mean_first(result.scenarios, result)
        ends = [f"{score_text(row.estimate, result)} in {row.name}" for row in (ordered[-1], ordered[0])]
        return f"Mean {result.metric} runs from {ends[0]} to {ends[1]}; no drop was asked for"
    who = result.models[0].name if result.n_models == 1 else "No model"
    text = f"{who} is {'not ' if result.n_models == 1 else ''}shown to do worse in any scenario"
    text += "" if result.reference == AVERAGE else f" than in {result.reference}"
    gains = [row for row in rows if row.verdict == "gain"]
    if gains:
        text += f" ({plural(len(gains), 'gain')} {'is' if len(gains) == 1 else 'are'})"
    open_rows = [row for row in rows if row.verdict == "not shown" and worse_end(row, result) is not None]
    return f"{text}. {_left_open(result, open_rows)}" if open_rows else text


def _left_open(result: ScenarioModel, rows: Sequence[DropRow]) -> str:
    sign = 1.0 if result.higher_is_better else -1.0
    row = min(rows, key=lambda each: sign * (worse_end(each, result) or 0.0))
    end = change_text(worse_end(row, result), result)
    return f"These data leave changes of up to {end} open ({row.model} in {row.scenario})"


def _random_headline(result: ScenarioModel) -> str:
    """Say how unlike scenarios are to each other, and what a model has of its own in them."""
    own, crossed = _scenario_rows(result)
    n, scale = plural(result.n_scenarios, "scenario"), scale_words(result)
    if own is None:
        return f"{n} are taken as a sample of more; how far new ones would differ is not estimated"
    text = f"From scenario to scenario {result.metric} varies with an SD of {_spread(own)} ({scale}), judged by a sample of {n}"
    text += _not_shown(result, own)
    if crossed is None:
        return text
    if crossed.singular:
        return f"{text}; nothing is seen of models that break in places of their own, which is no proof that none does"
    own_places = f"what a model has of its own in a scenario varies with an SD of {_spread(crossed)}"
    return f"{text}; {own_places}{_not_shown(result, crossed)}"


def _not_shown(result: ScenarioModel, row: VarianceRow) -> str:
    """Say that a variance may be 0, where its test says so."""
    found = [test for test in result.tests if test.term == row.term and test.p_value is not None]
    p = found[0].p_value if found else row.p_value
    if p is None or p <= 1 - result.conf_level:
        return ""
    return f", not shown to be more than 0 ({p_text(p)})"


def _spread(row: VarianceRow) -> str:
    ends = spread_ends(row)
    return number(row.std_dev) if ends == "–" else f"{number(row.std_dev)} {ends}"


def _scenario_rows(result: ScenarioModel) -> tuple[VarianceRow | None, VarianceRow | None]:
    """Return the rows of the scenario's own variance, and of what a model has of its own in a scenario."""
    names, models = {result.scenario, "scenario"}, {result.contrast, "model"}
    found: dict[int, VarianceRow] = {}
    for row in result.variances:
        parts = {part.strip("` ") for part in row.term.split(":")}
        if parts & names and parts <= names | models:
            found.setdefault(len(parts), row)
    return found.get(1), found.get(2)


# --- what stands beside it ---


def standing_sentences(result: ScenarioModel) -> list[str]:
    """Say what stands beside the answer: verdicts, the interaction, the ranking, the best mean."""
    better = "higher" if result.higher_is_better else "lower"
    said = [
        (
            f"{plural(result.n_models, 'model')} in {plural(result.n_scenarios, 'scenario')} ({result.scenario}), "
            f"{_items(result)}; {result.metric}, {better} is better."
        )
    ]
    if not answers(result):
        return said
    said.extend(_verdict_sentences(result))
    interaction = interaction_sentence(result)
    if interaction:
        said.append(interaction)
    if result.ranking is not None:
        said.append(ranking_sentence(result))
    if result.n_models > 1:
        said.extend(_overall_sentences(result))
    return said


def _items(result: ScenarioModel) -> str:
    items = plural(result.n_items, "item")
    if result.n_clusters is None or not result.clusters:
        return items
    if result.clusters == ("item",):
        return f"{result.n_items:,} versions of {plural(result.n_clusters, 'item')}"
    return f"{items} in {plural(result.n_clusters, 'cluster')} ({' and '.join(result.clusters)})"


def _verdict_sentences(result: ScenarioModel) -> list[str]:
    rows = judged(result)
    if not rows:
        return []
    counts = {verdict: sum(row.verdict == verdict for row in result.drops) for verdict in ("drop", "gain", "not shown")}
    left = len(result.drops) - len(rows)
    text = (
        f"Of {plural(len(rows), 'change')} {counts['drop']} {'is' if counts['drop'] == 1 else 'are'} shown to be to the worse "
        f"and {counts['gain']} to the better, and {counts['not shown']} {'is' if counts['not shown'] == 1 else 'are'} left open"
    )
    open_rows = [row for row in rows if row.verdict == "not shown" and worse_end(row, result) is not None]
    if open_rows and answer_label(result) != "none shown":
        text += f". {_left_open(result, open_rows)}"
    said = [f"{text}.", *_adjusted(result)]
    if left:
        said.append(f"{plural(left, 'further one')} cannot be judged.")
    if counts["drop"] > 1 and all(row.pooled is not None for row in rows):
        said.append("The largest of many changes are too large on average, by luck; the pooled ones allow for that.")
    doubted = [row for row in result.drops if row.verdict == "drop" and _paired_doubts(row)]
    if doubted:
        names = some([f"{row.model} in {row.scenario}" for row in doubted], 3)
        said.append(f"Without a model the data are less sure: the paired interval includes 0 for {names}.")
    return said


def _adjusted(result: ScenarioModel) -> list[str]:
    """Say what changes are adjusted for, and at which rate."""
    n = sum(row.p_value is not None for row in result.drops)
    rate = f"{100 * (1 - result.conf_level):.3g}%"
    return [f"Adjusted for {n:,} comparisons (false discovery rate {rate})."] if n > 1 else []


def _paired_doubts(row: DropRow) -> bool:
    return row.paired_low is not None and row.paired_high is not None and row.paired_low <= 0 <= row.paired_high


def ranking_sentence(result: ScenarioModel) -> str:
    """Say whether the ranking of models is shown to change."""
    ranking = result.ranking
    if ranking is None:
        return ""
    text = capital(ranking.words.rstrip(" ."))
    least = f"smallest adjusted {p_text(ranking.p_value)}" if ranking.p_value is not None else ""
    if ranking.shown or not ranking.n_crossed:
        return f"{text}{f' ({least})' if least and '. ' not in text else ''}."
    noise = f"The estimates of {plural(ranking.n_crossed, 'pair')} cross, which noise alone can do"
    return f"{text}. {noise}{f' ({least})' if least else ''}."


def _overall_sentences(result: ScenarioModel) -> list[str]:
    ordered = [row for row in best_mean_first(result.models, result) if row.conf_low is not None]
    if not ordered:
        return []
    top = ordered[0]
    ends = ends_text(top.conf_low, top.conf_high, result)
    return [
        (
            f"Over all scenarios ({weights_words(result)}) {top.name} has the best mean, {score_text(top.estimate, result)}, "
            f"{level_text(result)} interval {ends}."
        )
    ]
