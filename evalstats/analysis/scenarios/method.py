"""How scenarios are estimated, what that assumes, what would change the answer, and what is known of the benchmark."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.analysis.scenarios.result import Needed, Reliability, ScenarioModel
from evalstats.document.model import Items, Section, Text, sentence
from evalstats.document.numbers import number, p_words, plural, several

_MOST_MODELS = 6


def method_sections(result: ScenarioModel) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, what would change it, the benchmark, and the references."""
    changing = _what_would_change(result) if result.answered else ()
    return (
        Section(
            id="method",
            heading="How models and scenarios are estimated",
            blocks=(Text(text=" ".join(text.how for text in texts_for(result.method))), Items(items=_facts(result))),
        ),
        Section(id="assumptions", heading="What this assumes", blocks=(Items(items=_assumptions(result)),)),
        *(
            (Section(id="changing", heading="What would change the answer", blocks=(Items(items=changing),)),)
            * bool(changing)
        ),
        *_about(result.benchmark, result.scenario_names),
        Section(id="references", heading="References", blocks=(Items(items=_references(result)),)),
    )


def code_options(result: ScenarioModel) -> dict[str, object]:
    """Return the arguments that give the same result again."""
    shares = dict(result.weight_shares)
    few = result.n_models <= _MOST_MODELS
    return {
        "formula": result.formula if result.formula_given else None,
        "metric": result.metric,
        "scenario": None if result.scenario == "scenario" else result.scenario,
        "reference": result.reference,
        "weights": None if len(set(shares.values())) <= 1 else shares,
        "as_": None if result.formula_given else result.scenario_as,
        "cluster": [name for name in result.clusters if name != "item"] or None,
        "models": list(result.model_names) if few else None,
        "contrast": None if result.contrast == "model" else result.contrast,
        "conf_level": None if result.conf_level == 0.95 else result.conf_level,
        "seed": result.seed or None,
    }


# --- how ---


def _facts(result: ScenarioModel) -> tuple[str, ...]:
    base = "the model's mean over its other scenarios" if result.reference == "average" else result.reference
    tested = sum(row.p_value is not None for row in result.drops)
    share = f"{100 * (1 - result.conf_level):.3g}%"
    family = (
        f"All {tested:,} changes are judged together (Benjamini-Hochberg). Were there none, the chance that any is shown "
        f"would be at most {share}; of those shown, at most {share} are expected to be false"
    )
    pooled = texts_for("partial pooling")[0]
    covariance = " ".join(text.how for text in _texts(result.covariance_method))
    said = [
        f"Model: {result.formula}, by {result.method}, because {result.method_reason}",
        f"Scenarios are {result.scenario_as}: {result.scenario_reason}",
        f"What is estimated: {result.estimand}",
        f"Changes are counted from {base}" if result.drops else "",
        family if tested > 1 else "",
        f"Standard errors: {result.covariance_method}. {covariance}" if covariance else "",
        f"Pooled: {pooled.what}. {pooled.how}" if any(row.pooled is not None for row in result.drops) else "",
        f"In the means of models {result.weights}" if result.n_models > 1 else "",
        f"{_named_method('Whether models differ in where they break', result.interaction.method)}"
        if result.interaction is not None and ":" in result.interaction.term
        else "",
        _named_method("Whether models change places", result.ranking.method) if result.ranking is not None else "",
        f"Penalty: {result.penalty}" if result.penalty else "",
        f"The fit: {result.convergence}{_criteria(result)}" if result.convergence else "",
    ]
    return tuple(sentence(text) for text in said if text)


def _named_method(question: str, method: str) -> str:
    how = texts_for(method)[0].how if method and texts_for(method) else ""
    return f"{question}: {method}. {how}" if method else ""


def _texts(method: str) -> tuple[MethodText, ...]:
    return texts_for(method) if method and method != "none" else ()


def _criteria(result: ScenarioModel) -> str:
    known = (("log-likelihood", result.log_likelihood), ("AIC", result.aic), ("BIC", result.bic))
    return "".join(f", {name} {number(value, 1)}" for name, value in known if value is not None)


def _assumptions(result: ScenarioModel) -> tuple[str, ...]:
    whole = result.clusters == ("item",)
    unit, n = ("groups", result.n_clusters) if result.clusters and not whole else ("items", result.n_items)
    of = f" ({' and '.join(result.clusters)})" if result.clusters and not whole else ""
    n = result.n_clusters if whole else n
    advice = "" if of else "; if they share passages or environments, name those with --cluster"
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
            "What is missing is like the rest; failures that come more often in one scenario would pass for a drop, or hide one"
        )
    if result.singular:
        found.append(f"{several(result.singular)}, and taken for 0, which is not shown")
    if not result.converged:
        found.append("The fit ends at an optimum, which it did not")
    return tuple(sentence(text) for text in found)


def _what_would_change(result: ScenarioModel) -> tuple[str, ...]:
    known = [row for row in result.judged if row.p_adjusted is not None]
    shown = [row for row in known if row.verdict == "drop"]
    found: list[str] = []
    if len(shown) > 1:
        row = max(shown, key=lambda each: each.p_adjusted or 0.0)
        found.append(
            f"Other items: the first drop to fall would be {row.model} in {row.scenario} (adjusted {p_words(row.p_adjusted)})"
        )
    missed = [row for row in known if row.verdict == "not shown"]
    if missed and len(known) > 1:
        row = min(missed, key=lambda each: each.p_adjusted or 1.0)
        found.append(
            f"More items: the next to be shown would be {row.model} in {row.scenario} (adjusted {p_words(row.p_adjusted)})"
        )
    if result.n_models > 1 and len({share for _, share in result.weight_shares}) == 1:
        found.append(
            "Other weights: users may meet one scenario far more often, and the order of models may differ then; changes stay"
        )
    if result.drops and result.reference != "average":
        found.append(f"Another reference: every change shares the luck of {result.reference}")
    if result.family == "binomial" and result.variances:
        found.append(
            "Shares of the variation are on the log-odds scale, and no shares of differences in percentage points"
        )
    return tuple(sentence(text) for text in found)


def _references(result: ScenarioModel) -> tuple[str, ...]:
    ranking = [result.ranking.method] if result.ranking is not None else []
    names = [result.method, result.covariance_method, result.penalty, *(test.method for test in result.tests), *ranking]
    families = ("Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x (adjusted for all changes)",)
    return tuple(sorted({source for text in _described(names) for source in text.sources} | set(families)))


def _described(names: Iterable[str]) -> list[MethodText]:
    return [text for name in names for text in _texts(name)]


# --- reliability ---


def reliability_words(value: float | None) -> str:
    """Write a reliability; one below 1 is not rounded to 1, which would say that there is no noise."""
    text = number(value)
    return ">0.99" if text == "1.00" and value is not None and value < 1 else text


def facet_words(name: str, found: Reliability) -> str:
    """Return what a number of a facet counts: items may be nested in scenarios."""
    return "item in each scenario" if name == "item" and "in each scenario" in found.design else name


def needed_items(found: Reliability) -> tuple[str, ...]:
    """Return how many of each facet reach the target."""
    return tuple(sentence(_needed(each, found)) for each in found.needed)


def _needed(each: Needed, found: Reliability) -> str:
    what = "the order of models" if each.kind == "relative" else "the scores themselves"
    goal = f"{number(each.target, 1 if each.target * 10 % 1 == 0 else 2)} for {what}"
    if each.n is None:
        return f"{goal} is out of reach by more {each.facet}s alone: {each.reason or 'the data do not show it'}"
    counted, _, where = facet_words(each.facet, found).partition(" ")
    return f"{goal} takes {plural(each.n, counted)} {where}".rstrip() + (f" ({each.reason})" if each.reason else "")


# --- benchmarks that are known ---


@dataclass(frozen=True, slots=True, kw_only=True)
class _Benchmark:
    """A benchmark in words. `levels` are its scenarios with what they mean, as far as its source says it."""

    what: str
    points: tuple[str, ...]
    levels: Mapping[str, str]


_ASSUMED = "The columns read here are those that evalstats assumes; a column map puts others in their place."
_COOPERATIVE = "the cooperative user, who says what is needed: the reference"
_BENCHMARKS: Mapping[str, _Benchmark] = {
    "RUT-Bench": _Benchmark(
        what=(
            "RUT-Bench plays each base task once with a cooperative user and once with each of six kinds of user who is not "
            "(Yang et al. 2026, arXiv:2606.03318). Task and solution stay the same, so a drop is a difference within tasks."
        ),
        points=(
            "A sample whose judge failed is missing here; the benchmark's own summary counts it as 0.",
            "A sample that crashed is an error in every metric, though an empty conversation may pass a task without assertions.",
            "Success is the relaxed one, recomputed from the final state.",
            "Tasks lie in environments, about four in each; for new environments name them with --cluster.",
        ),
        levels={
            "stable": _COOPERATIVE,
            "ideal": _COOPERATIVE,
            "underspecification": "leaves out what the task needs",
            "information_overload": "buries the request in what does not matter",
            "fabricated_parameters": "gives values that do not exist",
            "goal_switching": "changes the goal on the way",
            "contradictory_constraints": "asks for what cannot be had together",
            "impatience_and_hostility": "presses and insults",
        },
    ),
    "HarmAmp": _Benchmark(
        what=(
            "HarmAmp asks whether a model amplifies harm over several turns (Guo, Xu & Ritter 2026, arXiv:2606.02423): on 132 "
            "malicious plans harm is counted, on 147 benign ones refusal; of both less is better."
        ),
        points=(
            _ASSUMED,
            "Several plans may be made from one seed: name seeds with --cluster where the data have them.",
            "Little harm and many refusals often come together: read the two side by side.",
        ),
        levels={},
    ),
    "device-repair": _Benchmark(
        what=(
            "991 questions by owners of phones and computers, asked in English and in Bangla, with answers scored on "
            "correctness, completeness, practicality and safety (Rahman et al. 2026, arXiv:2606.03331)."
        ),
        points=(
            _ASSUMED,
            "The two languages of a question are two versions of one item: a change with language is within questions.",
            "A question belongs to one domain: a change with domain is between questions, with wider intervals.",
            "Each criterion is a metric of its own; nothing is adjusted across the four.",
        ),
        levels={},
    ),
}


def _about(benchmark: str, scenarios: tuple[str, ...]) -> tuple[Section, ...]:
    known = _BENCHMARKS.get(benchmark)
    if known is None:
        return ()
    levels = tuple(f"{name}: {meaning}" for name, meaning in known.levels.items() if name in scenarios)
    blocks = (Text(text=known.what), *((Items(items=levels),) if levels else ()), Items(items=known.points))
    return (Section(id="benchmark", heading=f"About {benchmark}", blocks=blocks),)
