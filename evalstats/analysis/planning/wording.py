"""A plan in words: the question, the answer, what it assumes, what to beware of."""

import math
from collections.abc import Mapping

from evalstats.analysis.planning.basis import Basis
from evalstats.analysis.planning.results import PowerMethod, PowerPlan, Solved
from evalstats.analysis.planning.solve import MOST_SIMULATED, Task
from evalstats.document.numbers import number, plural, scaled
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS

_BEYOND = 4.0  # times the pilot
_FEW_PILOT_CLUSTERS = 20
_APART = 0.03  # of power, between formula and simulation
_SAME = 0.005  # as shown
_DISAGREE = 1.25  # of the standard error, between parts and CR2

METHOD_WORDS: Mapping[PowerMethod, str] = {
    "exact": "exact sums over every outcome",
    "formula": "the formula for the width",
    "miller": "Miller's formula",
    "t": "Student's t",
    "clusters": "CR2's t and the cluster sign-flip",
    "simulation": "simulation of the whole rule",
}


def count_words(value: float) -> str:
    """Write a mean count, without a decimal where it is whole.

    Examples
    --------
    >>> count_words(4.0), count_words(2.55)
    ('4', '2.5')
    """
    return number(value, 1).removesuffix(".0")


def bare(plan: PowerPlan, value: float | None) -> str:
    """Write a difference without its unit: two decimals, more where the plan is about smaller ones."""
    return scaled(value, plan.scale, _digits(plan))


def shown(plan: PowerPlan, value: float | None) -> str:
    """Write a difference with its unit."""
    unit = f" {plan.unit}" if plan.unit else ""
    return f"{bare(plan, value)}{unit}"


def _digits(plan: PowerPlan) -> int:
    sizes = [plan.delta, plan.margin, plan.half_width, *(point.mde for point in plan.curve)]
    known = [abs(size) * plan.scale for size in sizes if size]
    return min(8, max(2, 2 - math.floor(math.log10(min(known))))) if known and min(known) < 0.1 else 2


def percent(share: float | None, digits: int = 0) -> str:
    """Write a share in percent."""
    return "–" if share is None else f"{number(100 * share, digits)}%"


def power_words(value: float | None) -> str:
    """Write a power to two decimals, and never as 1 or 0 by rounding."""
    if value is None:
        return "–"
    if value > 0.995:
        return ">0.99"
    return "<0.01" if value < 0.005 else f"{value:.2f}"


def answer_label(plan: PowerPlan) -> str:
    """Return the answer in a word or two."""
    if plan.answer is None:
        return "no number of items" if plan.solved == "n_items" else f"no {_NONE.get(plan.solved, 'answer')}"
    if plan.solved == "n_items":
        return plural(plan.n_items or 0, "item")
    if plan.solved == "n_clusters":
        return plural(plan.n_clusters or 0, "cluster")
    if plan.solved == "power":
        return f"power {power_words(plan.power)}"
    if plan.solved == "half_width":
        return f"±{shown(plan, plan.half_width)}"
    return shown(plan, plan.delta if plan.solved == "delta" else plan.margin)


_NONE: Mapping[Solved, str] = {
    "n_clusters": "number of clusters",
    "delta": "difference",
    "margin": "margin",
    "half_width": "interval",
}


def question_of(plan: PowerPlan) -> str:
    """Return the question in words."""
    goal = percent(plan.power_goal)
    size = size_words(plan)
    if plan.test == "precision":
        if plan.solved == "half_width":
            return f"how wide is the {percent(plan.conf_level)} interval of the difference with {size}?"
        return (
            f"how many {_units(plan)} for a {percent(plan.conf_level)} interval of the difference within "
            f"±{shown(plan, plan.half_width)}?"
        )
    if plan.solved == "delta":
        return f"which true difference would {size} find with {goal} power?"
    if plan.solved == "margin":
        return f"which margin could {size} show with {goal} power, if the true difference is {shown(plan, plan.delta)}?"
    what = _aim_words(plan)
    if plan.solved == "power":
        return f"with which power would {size} {what.rstrip(',')}?"
    clusters = f" in {plural(plan.n_clusters, 'cluster')}" if plan.solved == "n_items" and plan.n_clusters else ""
    return f"how many {_units(plan)}{clusters} to {what} with {goal} power?"


def _units(plan: PowerPlan) -> str:
    return "clusters" if plan.solved == "n_clusters" else "items"


def _aim_words(plan: PowerPlan) -> str:
    if plan.test == "difference":
        return f"find a true difference of {shown(plan, plan.delta)}"
    claim = "the candidate is worse by" if plan.test == "noninferiority" else "the two differ by"
    return f"show that {claim} less than {shown(plan, plan.margin)}, {_truth(plan)},"


def size_words(plan: PowerPlan) -> str:
    """Return how large the evaluation is."""
    if plan.n_items is None:
        return "such an evaluation"
    clusters = f" in {plural(plan.n_clusters, 'cluster')}" if plan.n_clusters else ""
    return f"{plural(plan.n_items, 'item')}{clusters}{_trial_words(plan)}"


def _trial_words(plan: PowerPlan) -> str:
    if max(plan.n_trials) <= 1.0:
        return ""
    told = [count_words(k) for k in dict.fromkeys(plan.n_trials)]
    return f" with {' and '.join(told)} trials each"


def answer_sentence(plan: PowerPlan) -> str:
    """Say the answer in a sentence."""
    label = answer_label(plan)
    return f"{label[:1].upper()}{label[1:]}: {answer_rest(plan)}"


def answer_rest(plan: PowerPlan) -> str:
    """Say what the answer means; it stands behind the answer itself."""
    if plan.answer is None:
        return f"{plan.reason or 'there is none'}."
    size, goal = size_words(plan), percent(plan.power_goal)
    if plan.solved == "half_width":
        return f"what the {percent(plan.conf_level)} interval of the difference is expected to reach with {size}."
    if plan.solved == "delta":
        return f"the true difference that {size} find with {goal} power."
    if plan.solved == "margin":
        return f"the margin that {size} can show with {goal} power, {_truth(plan)}."
    if plan.solved == "power":
        return f"what {size} have to {_aim_words(plan).rstrip(',')}."
    more = [f"with {plural(plan.n_items or 0, 'item')}"] if plan.solved == "n_clusters" else []
    if plan.solved == "n_items" and plan.n_clusters:
        more.append(f"in {plural(plan.n_clusters, 'cluster')}")
    if _trial_words(plan):
        more.append(_trial_words(plan).strip())
    so_many = f"so many, {' and '.join(more)}," if more else "so many"
    if plan.test == "precision":
        level = percent(plan.conf_level)
        return f"{so_many} bring the {level} interval of the difference to ±{shown(plan, plan.half_width)}."
    return f"{so_many} {_aim_words(plan)} with {goal} power."


def _truth(plan: PowerPlan) -> str:
    if not plan.delta:
        return "if the two are equal"
    return f"if the true difference is {shown(plan, plan.delta)}"


def range_sentence(plan: PowerPlan) -> str:
    """Say how far the answer hangs on what a pilot left open."""
    if not plan.answer_range:
        return ""
    ends = [_end(plan, value) for value in (plan.answer_low, plan.answer_high)]
    return f"It would be {ends[0]} to {ends[1]} {plan.answer_range}."


def _end(plan: PowerPlan, value: float | None) -> str:
    if value is None:
        return "none that is enough" if plan.solved in ("n_items", "n_clusters") else "none at all"
    if plan.solved in ("n_items", "n_clusters"):
        return f"{round(value):,}"
    return power_words(value) if plan.solved == "power" else bare(plan, value)


def assumptions_of(plan: PowerPlan, basis: Basis) -> tuple[str, ...]:
    """Return what the answer rests on."""
    told = [*basis.assumptions]
    if basis.words:
        told.append(f"the spread of the differences is that of the pilot: {basis.words}")
    if plan.discordance is not None and basis.is_pilot:
        told.append(f"exactly one of the two gets an item right on {percent(plan.discordance, 1)} of the items")
    if basis.clustered:
        size = count_words(plan.cluster_size or 0.0)
        told.append(
            f"new clusters are like these, with {size} items on average; two items of one cluster have differences that "
            f"correlate by {number(plan.icc)}"
        )
    else:
        told.append("items are independent of each other")
    answers = "once" if max(plan.n_trials) <= 1.0 else _trial_words(plan).strip()
    told.append(f"both systems answer the same items, {answers}")
    told.append(_found_words(plan))
    return tuple(told)


def _found_words(plan: PowerPlan) -> str:
    level = percent(plan.conf_level)
    narrower = percent(2 * plan.conf_level - 1)
    if plan.test == "precision":
        return "the width is an expectation: half of all evaluations give a wider interval"
    if plan.test == "noninferiority":
        return f"shown means that the {narrower} interval lies above minus the margin"
    if plan.test == "equivalence":
        return f"shown means that the {narrower} interval lies within the margin on both sides"
    if plan.cluster_size is not None:
        return f"found means that the {level} interval excludes 0 and that a sign-flip test of the clusters agrees"
    if plan.method == "exact":
        return f"found means that the {level} interval excludes 0 with at least 6 discordant items"
    return f"found means that the {level} interval excludes 0"


def why_none(task: Task, basis: Basis, *, simulated: bool) -> str:
    """Say why there is no answer; it stands behind "no number of items" and the like."""
    axis = task.axis
    if task.counts and axis.n_clusters is not None:
        if axis.n_clusters < FEW_CLUSTERS:
            return f"nothing can be claimed from {axis.n_clusters} clusters; at least {FEW_CLUSTERS} are needed"
        return (
            f"none in {axis.n_clusters} clusters is enough, since what differs between clusters stays however many items "
            "each has"
        )
    if task.counts:
        most = MOST_SIMULATED if simulated and not axis.over_clusters else axis.most
        limit = f"{most:,} {'clusters' if axis.over_clusters else 'items'}{' of a simulation' if simulated else ''}"
        return f"not even {limit} are enough"
    clusters = None if task.size is None else task.size.n_clusters
    if clusters is not None and basis.clustered:
        return (
            f"with {plural(clusters, 'cluster')} none within the score's range can be claimed: the interval needs 5 clusters "
            "that are worth as many equal ones, and the sign-flip enough of them that can agree"
        )
    return "none within the score's range can be shown with that power"


def warnings_of(plan: PowerPlan, basis: Basis) -> list[str]:
    """Return what must be known before the plan is used."""
    told = [*basis.warnings]
    if plan.discordance is not None and plan.delta is not None and abs(plan.delta) > plan.discordance:
        told.append(
            f"a difference of {shown(plan, plan.delta)} is more than the {percent(plan.discordance, 1)} of items on which "
            "the two differ in the pilot; they are taken to differ on no more items than that difference needs"
        )
    if basis.is_pilot:
        told.extend(_pilot_warnings(plan, basis))
    simulated = next((row for row in plan.beside if row.role == "simulation" and row.conf_high is not None), None)
    headline = plan.beside[0]
    if simulated is not None and headline.power is not None and simulated.power is not None:
        outside = not (simulated.conf_low or 0.0) <= headline.power <= (simulated.conf_high or 1.0)
        if outside and simulated.power < headline.power - _APART:
            told.append(
                f"simulation gives a power of {power_words(simulated.power)} where the formula says "
                f"{power_words(headline.power)}; use method 'simulation'"
            )
    if plan.answer is not None and plan.n_items is not None and plan.n_items < FEW_ITEMS:
        told.append(f"fewer than {FEW_ITEMS} items: no method is reliable there")
    return told


def _pilot_warnings(plan: PowerPlan, basis: Basis) -> list[str]:
    told: list[str] = []
    seen, clusters = basis.parts.n_items, len(basis.parts.sizes)
    if plan.answer is not None and plan.n_items is not None and plan.n_items > _BEYOND * seen:
        told.append(
            f"the plan has {plan.n_items / seen:.1f} times the {seen:,} items of the pilot: it holds only if new items are "
            "like those of the pilot"
        )
    if plan.test == "difference" and plan.solved != "delta" and _is_seen(plan, basis):
        told.append(
            "delta is the difference that the pilot showed: power for an observed difference only says its p-value again; name "
            "the smallest difference that would matter"
        )
    if clusters and clusters < _FEW_PILOT_CLUSTERS:
        told.append(
            f"the pilot has {plural(clusters, 'cluster')}, which tell little about how much clusters differ: read the range "
            "of the answer, not the answer alone"
        )
    if basis.discordant == 0:
        told.append("the two never differ in the pilot, so the plan rests on the difference alone and is the best case")
    if clusters and basis.std_error is not None:
        ratio = basis.parts.variance() ** 0.5 / basis.std_error
        if not 1.0 / _DISAGREE <= ratio <= _DISAGREE:
            told.append(
                f"the parts of the variance add up to {ratio:.2f} times the standard error that the comparison gives: the "
                "clusters are uneven, and the parts uncertain"
            )
    return told


def _is_seen(plan: PowerPlan, basis: Basis) -> bool:
    if plan.delta is None or not basis.seen:
        return False
    return abs(abs(plan.delta) - abs(basis.seen)) < _SAME / plan.scale


def plan_sentences(plan: PowerPlan) -> list[str]:
    """Say the answer, the range, the method, what to buy next; then the warnings."""
    floor = floor_sentence(plan)
    return [
        answer_sentence(plan),
        *[text for text in (range_sentence(plan), floor) if text],
        f"Method: {METHOD_WORDS[plan.method]}, because {plan.method_reason}.",
        *([plan.recommendation] if plan.recommendation else []),
        *[f"Warning: {text}." for text in plan.warnings],
    ]


def floor_sentence(plan: PowerPlan) -> str:
    """Say what the clusters cannot go below, however many items they hold."""
    if plan.smallest_delta is None or plan.n_clusters is None:
        return ""
    return (
        f"However many items they hold, {plural(plan.n_clusters, 'cluster')} find no less than "
        f"{shown(plan, plan.smallest_delta)} with that power."
    )


def monte_carlo(plan: PowerPlan) -> str:
    """Say how exact a simulated power is."""
    if plan.n_resamples is None:
        return ""
    ends = f"[{power_words(plan.conf_low)}, {power_words(plan.conf_high)}]"
    return (
        f"Simulated power {power_words(plan.power)}, Monte Carlo interval {ends} from {plan.n_resamples:,} comparisons, seed "
        f"{plan.seed}."
    )
