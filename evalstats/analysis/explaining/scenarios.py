"""Where models break, explained to somebody who is no statistician, with the drops of this very result."""

from evalstats.analysis.explaining.words import (
    described,
    frequency,
    many,
    percent,
    rounded_up,
    section,
    sentence,
    sources_of,
    span,
    with_unit,
)
from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.analysis.scenarios.result import DropRow, ScenarioModel, VarianceRow
from evalstats.analysis.scenarios.wording_answer import answers, headline
from evalstats.analysis.scenarios.wording_spread import is_interaction
from evalstats.analysis.scenarios.wording_tables import weights_words
from evalstats.analysis.scenarios.words import AVERAGE, judged, some, worse_end, worst_first
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import number, p_value, plural

_MOST_TESTS = 3


def explain_scenarios(result: ScenarioModel) -> list[Block]:
    """Return the explanation: question, method, assumptions, drops, what varies, reliability, what would change it."""
    models = plural(result.n_models, "model")
    blocks: list[Block] = [
        Heading(
            text=f"Where {models} on {result.benchmark} break{'s' if result.n_models == 1 else ''}: what this says",
            level=1,
        ),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(result)),
        *section("What this takes for granted, and how it could fail here", _assumptions(result)),
        *section("What a change means", _changes_mean(result)),
        *section("Whether models break in different places", _different_places(result)),
        *section("Where the variation comes from", _variation(result)),
        *section("How well the benchmark tells the models apart", _reliability(result)),
        *section("What would change the conclusion", _what_would_change(result)),
    ]
    return [*blocks, *sources_of(_methods(result))]


def _methods(result: ScenarioModel) -> list[str]:
    ranking = [result.ranking.method] if result.ranking is not None else []
    tests = [test.method for test in result.tests]
    return [name for name in (result.method, result.covariance_method, result.penalty, *tests, *ranking) if name]


def _question(result: ScenarioModel) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    base = (
        "with the model's mean over its other scenarios" if result.reference == AVERAGE else f"with {result.reference}"
    )
    compared = f" A model's {result.metric} in each is compared {base}." if result.drops else ""
    does = "does" if result.n_models == 1 else "do"
    return [
        (
            f"Where {does} {plural(result.n_models, 'model')} on {result.benchmark} do worse, in {result.metric}, of which "
            f"{better} is better? The {plural(result.n_scenarios, 'scenario')} are the levels of {result.scenario}.{compared}"
        ),
        f"What is estimated: {result.estimand.rstrip('.')}.",
    ]


def _method(result: ScenarioModel) -> list[str]:
    fitted = " ".join(text.how for text in described(result.method))
    told = [f"The method: {result.method}, because {result.method_reason}. {fitted}"]
    sampled = "these very ones" if result.scenario_as == "fixed" else "a sample of more that could come"
    told.append(f"Scenarios count as {sampled}: {result.scenario_reason}.")
    if result.scenario_as == "random":
        told.append(
            "Numbers of single scenarios are predictions: each is drawn towards the mean, by as much as noise makes likely."
        )
    if result.covariance_method == "none":
        told.append("There are no standard errors: the data have too few independent units for any.")
    elif result.covariance_method:
        told.append(
            f"Standard errors: {result.covariance_method}. "
            + " ".join(text.how for text in described(result.covariance_method))
        )
    if result.penalty:
        told.append(f"Penalty: {result.penalty}. " + " ".join(text.how for text in _penalty(result)))
    return told


def _covariance(result: ScenarioModel) -> str:
    return "" if result.covariance_method == "none" else result.covariance_method


def _penalty(result: ScenarioModel) -> tuple[MethodText, ...]:
    """Return what is known of a penalty; there is one only where the data are separated."""
    return () if not result.penalty else texts_for(result.penalty) or described("log-F prior")


def _assumptions(result: ScenarioModel) -> list[str]:
    texts = [text for name in (result.method, _covariance(result)) if name for text in described(name)]
    takes = list({text.takes: None for text in (*texts, *_penalty(result)) if text.takes})
    found = [_independence(result), *takes, *_same_items(result)]
    lacking = [row for row in result.cells if row.n_missing]
    if lacking or result.n_error or result.n_unscored:
        found.append(
            f"What is missing ({plural(result.n_error, 'harness error')}, {plural(result.n_unscored, 'unscored row')}, and items "
            f"that {plural(len(lacking), 'cell')} of models and scenarios lack) is taken as like the rest; a failure that "
            "comes more often in one scenario than in another would pass for a drop, or hide one"
        )
    if result.singular:
        found.append(
            f"A variance came out as 0 ({some(result.singular)}): the model goes on as if it were nothing, which is not shown"
        )
    if not result.converged:
        found.append("The fit should have ended at an optimum, and did not: its numbers are not an answer")
    return found


def _independence(result: ScenarioModel) -> str:
    unit, n = ("groups", result.n_clusters) if result.clusters else ("items", result.n_items)
    of = f" ({' and '.join(result.clusters)})" if result.clusters else ""
    advice = "" if result.clusters else "; if they share passages, templates or environments, name those as clusters"
    if result.clusters == ("item",):
        unit, of = "items, each with all its versions,", ""
        advice = "; if they share passages, templates or environments, name those as clusters"
    return f"The {n or 0:,} {unit}{of} are taken as independent of each other{advice}"


def _same_items(result: ScenarioModel) -> list[str]:
    """Say what a drop is confounded with, where scenarios do not share their items."""
    rows = judged(result)
    if not rows:
        return []
    if result.reference != AVERAGE and all(row.paired is None for row in rows):
        return [
            (
                f"No item was scored in two scenarios, so a {result.scenario} with harder items looks like one in which models "
                "break: what is compared is the scenario with its items"
            )
        ]
    return [
        "A drop belongs to the scenario and to whatever else came with it: a judge or a time limit that is stricter there, say"
    ]


# --- what the numbers mean ---


def _changes_mean(result: ScenarioModel) -> list[str]:
    rows = judged(result)
    if not rows or not answers(result):
        return [headline(result)]
    shown = worst_first([row for row in rows if row.verdict == "drop"], result)
    open_rows = [row for row in rows if row.verdict == "not shown" and worse_end(row, result) is not None]
    found = [_one_change(shown[0], result)] if shown else []
    if open_rows:
        found.append(_open_change(open_rows[0], result))
    found.append(
        f"All {plural(len(rows), 'change')} of the table are judged together (Benjamini & Hochberg). Were there none at all, the "
        f"chance that any is shown would be at most {percent(1 - result.conf_level)}; of those that are shown, at most that "
        "share is expected to be false"
    )
    if any(row.pooled is not None for row in rows):
        text = described("partial pooling")[0]
        found.append(f"Pooled: {text.what}. {text.how}")
    if any(row.paired is not None for row in rows):
        found.append(
            "Paired: the mean difference on items scored in both, with no model at all. It should tell the same story; where it "
            "does not, trust neither before looking at the items"
        )
    return found


def _one_change(row: DropRow, result: ScenarioModel) -> str:
    size = with_unit(row.estimate, result.scale, result.unit, sign=True)
    ends = span(row.conf_low, row.conf_high, result.scale, result.unit)
    base = "its mean over the other scenarios" if row.reference == AVERAGE else row.reference
    p = f". A change so far from zero would turn up {frequency(row.p_value)} if there were none" if row.p_value else ""
    return (
        f"The change of {row.model} in {row.scenario} against {base} is {size}. The interval runs {ends}: the "
        f"true changes that these data do not contradict, with the whole table in view{p}"
    )


def _open_change(row: DropRow, result: ScenarioModel) -> str:
    ends = span(row.conf_low, row.conf_high, result.scale, result.unit)
    return (
        f"That {row.model} changes in {row.scenario} is not shown: the interval runs {ends}. That is not the finding that it "
        "does not; anything inside the interval could be true"
    )


def _different_places(result: ScenarioModel) -> list[str]:
    found: list[str] = []
    test = result.interaction
    if test is not None and is_interaction(test) and test.p_value is not None:
        how = " ".join(text.how for text in described(test.method))
        less = test.p_value <= 1 - result.conf_level
        found.append(
            f"Whether a scenario does the same to every model is asked in one test ({test.method}, p {p_value(test.p_value)}): "
            f"the data {'say that it does not' if less else 'do not say that it does not, nor that it does'}. {how}"
        )
        found.append(
            "That one model's drop is shown and another's is not is no answer to that: both may drop alike, and one interval may "
            "just reach zero"
        )
    ranking = result.ranking
    if ranking is not None:
        how = " ".join(text.how for text in described(ranking.method)) if ranking.method else ""
        found.append(f"{sentence(ranking.words)} {how}".strip())
    return found


def _variation(result: ScenarioModel) -> list[str]:
    rows = [row for row in result.variances if row.share is not None]
    found = [_share(row) for row in sorted(rows, key=lambda row: -(row.share or 0.0))[:_MOST_TESTS]]
    if found and result.family == "binomial":
        found.append(
            "These are shares on the log-odds scale, where chance of single right-or-wrong answers has a fixed size; they are "
            "no shares of the differences in percentage points"
        )
    return found


def _share(row: VarianceRow) -> str:
    name = row.label or row.term
    return f"{number(100 * (row.share or 0.0), 0)}% of the variance: {name}"


def _reliability(result: ScenarioModel) -> list[str]:
    known = result.reliability
    if known is None:
        return []
    if known.relative is None and known.absolute is None:
        return [f"It cannot be said: {known.reason or 'the data do not show it'}"]
    text = described("generalizability")[0]
    found = [text.how]
    if known.relative is not None:
        found.append(
            f"{number(known.relative)} for the order of the models: were they measured again with as many new items, the two "
            f"sets of scores would correlate by about that much. {text.takes}"
        )
    return found


# --- what would change it ---


def _what_would_change(result: ScenarioModel) -> list[str]:
    rows = [row for row in judged(result) if row.p_adjusted is not None]
    found: list[str] = []
    shown = [row for row in rows if row.verdict == "drop"]
    open_rows = [row for row in rows if row.verdict == "not shown"]
    if shown:
        weakest = max(shown, key=lambda row: row.p_adjusted or 0.0)
        found.append(
            f"The weakest claim is {_named(weakest, result)}: adjusted p {p_value(weakest.p_adjusted)}. It would be the first to "
            "fall with other items"
        )
    if open_rows:
        nearest = min(open_rows, key=lambda row: row.p_adjusted or 1.0)
        found.append(
            f"The nearest miss is {_named(nearest, result)}: adjusted p {p_value(nearest.p_adjusted)}.{_more_items(nearest)}"
        )
    if result.n_models > 1 and len({share for _, share in result.weight_shares}) <= 1 and result.weight_shares:
        found.append(
            f"Other weights: {weights_words(result)} in the means of models. Users may meet one scenario far more often than "
            "another; with their shares as weights the order over all scenarios may differ. Single changes stay as they are"
        )
    if result.drops and result.reference != AVERAGE:
        found.append(f"Another reference: every change is against {result.reference}, with its own luck of the draw")
    return found


def _named(row: DropRow, result: ScenarioModel) -> str:
    return f"{row.model} in {row.scenario} ({with_unit(row.estimate, result.scale, result.unit, sign=True)})"


def _more_items(row: DropRow) -> str:
    """Say how many items would make the interval of a row just exclude zero if its estimate were the truth."""
    if row.estimate is None or row.conf_low is None or row.conf_high is None or not row.n_items:
        return ""
    half = (row.conf_high - row.conf_low) / 2
    if not row.estimate or half / abs(row.estimate) > 30:
        return ""
    ratio = (half / abs(row.estimate)) ** 2
    if ratio <= 1:
        return ""
    return (
        f" If the true change is the one observed, {many(ratio)} items, some {rounded_up(row.n_items * ratio):,}, would make its "
        "interval just exclude zero, and that in half of all studies"
    )
