"""A plan in phrases: its question and size, how it is computed, what it assumes, and where its methods come from."""

import math
from collections.abc import Mapping

from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.power.result import PowerPlan, Solved
from evalstats.document.model import Items, Section, Text, sentence
from evalstats.document.numbers import number, plural, scaled

_NONE: Mapping[Solved, str] = {
    "n_items": "number of items",
    "n_clusters": "number of clusters",
    "delta": "difference",
    "margin": "margin",
    "half_width": "interval",
}


def count_words(value: float) -> str:
    """Write a mean count, without a decimal where it is whole.

    Examples
    --------
    >>> count_words(4.0), count_words(2.55)
    ('4', '2.5')
    """
    return number(value, 1).removesuffix(".0")


def digits_of(plan: PowerPlan) -> int:
    """Return the decimals that differences are written with: more where the plan is about small ones."""
    sizes = [plan.delta, plan.margin, plan.half_width, *(point.mde for point in plan.curve)]
    known = [abs(size) * plan.scale for size in sizes if size]
    if known and min(known) < 0.1:
        return min(8, max(2, 2 - math.floor(math.log10(min(known)))))
    return 1 if known and min(known) >= 1.0 and plan.unit else 2


def bare(plan: PowerPlan, value: float | None) -> str:
    """Write a difference without its unit."""
    text = scaled(value, plan.scale, max(2, digits_of(plan)))
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown(plan: PowerPlan, value: float | None) -> str:
    """Write a difference with its unit."""
    return f"{bare(plan, value)} {plan.unit}".rstrip()


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


def question_of(plan: PowerPlan) -> str:
    """Return the question in words."""
    goal, size = percent(plan.power_goal), size_words(plan)
    units = "clusters" if plan.solved == "n_clusters" else "items"
    if plan.test == "precision":
        level = percent(plan.conf_level)
        if plan.solved == "half_width":
            return f"how wide is the {level} CI of the difference with {size}?"
        return f"how many {units} bring the {level} CI of the difference to ±{shown(plan, plan.half_width)}?"
    if plan.solved == "delta":
        return f"which true difference do {size} find with {goal} power?"
    if plan.solved == "margin":
        return f"which margin can {size} show with {goal} power, {_truth(plan)}?"
    if plan.solved == "power":
        return f"with which power do {size} {aim_words(plan)}?"
    clusters = f" in {plural(plan.n_clusters, 'cluster')}" if plan.solved == "n_items" and plan.n_clusters else ""
    return f"how many {units}{clusters} {aim_words(plan)} with {goal} power?"


def aim_words(plan: PowerPlan) -> str:
    """Say what is to be shown, as a verb with its object."""
    if plan.test == "difference":
        return f"find a true difference of {shown(plan, plan.delta)}"
    claim = "the candidate is worse by" if plan.test == "noninferiority" else "the two differ by"
    return f"show that {claim} less than {shown(plan, plan.margin)}"


def size_words(plan: PowerPlan) -> str:
    """Return how large the evaluation is."""
    if plan.n_items is None:
        return "such an evaluation"
    clusters = f" in {plural(plan.n_clusters, 'cluster')}" if plan.n_clusters else ""
    return f"{plural(plan.n_items, 'item')}{clusters}{trial_words(plan)}"


def trial_words(plan: PowerPlan) -> str:
    """Return how often each item is answered, where that is more than once."""
    if max(plan.n_trials) <= 1.0:
        return ""
    counts = [count_words(k) for k in dict.fromkeys(plan.n_trials)]
    return f" with {' and '.join(counts)} trials each"


def headline(plan: PowerPlan) -> str:
    """Say the answer in one sentence, without its full stop."""
    size, goal = size_words(plan), percent(plan.power_goal)
    if plan.answer is None:
        if plan.solved in ("n_items", "n_clusters"):
            return f"No {_NONE[plan.solved]} is enough to {aim_words(plan)} with {goal} power"
        return f"{size} can show no {_NONE.get(plan.solved, 'answer')} with {goal} power"
    if plan.solved == "half_width":
        return f"{size} give a {percent(plan.conf_level)} CI of ±{shown(plan, plan.half_width)}"
    if plan.solved == "delta":
        return f"{size} find a true difference of {shown(plan, plan.delta)} or more with {goal} power"
    if plan.solved == "margin":
        return f"{size} can show a margin of {shown(plan, plan.margin)} with {goal} power"
    if plan.solved == "power":
        return f"{size} {aim_words(plan)} with a power of {power_words(plan.power)}"
    if plan.solved == "n_clusters":
        size = f"{plural(plan.n_clusters or 0, 'cluster')} ({plural(plan.n_items or 0, 'item')}){trial_words(plan)}"
    if plan.test == "precision":
        return f"{size} bring the {percent(plan.conf_level)} CI of the difference to ±{shown(plan, plan.half_width)}"
    return f"{size} {aim_words(plan)} with {goal} power"


def truth_words(plan: PowerPlan) -> str:
    """Say what is taken to be true in a test at a margin; "" elsewhere."""
    return _truth(plan) if plan.test in ("noninferiority", "equivalence") else ""


def _truth(plan: PowerPlan) -> str:
    return f"if the true difference is {shown(plan, plan.delta)}" if plan.delta else "if the two are equal"


def range_words(plan: PowerPlan) -> str:
    """Say how far the answer hangs on what a pilot left open; "" without a pilot."""
    if not plan.answer_range:
        return ""
    low, high = (_end(plan, value) for value in (plan.answer_low, plan.answer_high))
    what = {"n_items": " items", "n_clusters": " clusters", "power": ""}.get(plan.solved, f" {plan.unit}".rstrip())
    return f"The pilot leaves open {low} to {high}{what}: {plan.answer_range}."


def _end(plan: PowerPlan, value: float | None) -> str:
    if value is None:
        return "none that is enough" if plan.solved in ("n_items", "n_clusters") else "none at all"
    if plan.solved in ("n_items", "n_clusters"):
        return f"{round(value):,}"
    return power_words(value) if plan.solved == "power" else bare(plan, value)


def floor_words(plan: PowerPlan) -> str:
    """Say what the clusters cannot go below, however many items they hold; "" where nothing does."""
    if plan.smallest_delta is None or plan.n_clusters is None:
        return ""
    floor = shown(plan, plan.smallest_delta)
    return f"However many items they hold, {plural(plan.n_clusters, 'cluster')} find no less than {floor}."


def method_sections(plan: PowerPlan) -> tuple[Section, ...]:
    """Return how it is computed, what it means and assumes, and the references."""
    text = known_methods()[f"power: {plan.method}"]
    why = sentence(f"{text.what}, because {plan.method_reason}")
    return (
        Section(
            id="method",
            heading="How it is computed",
            blocks=(Text(text=f"{why} {text.how}"), Items(items=(*_meaning(plan), *_others(plan)))),
        ),
        Section(
            id="assumptions",
            heading="What this assumes",
            blocks=(Items(items=tuple(sentence(text) for text in plan.assumptions)),),
        ),
        *(
            (Section(id="references", heading="References", blocks=(Items(items=text.sources),)),)
            if text.sources
            else ()
        ),
    )


def _others(plan: PowerPlan) -> list[str]:
    """Say what the other methods are."""
    return [sentence(f"{row.method}: {row.note}") for row in plan.beside if row.note]


def _meaning(plan: PowerPlan) -> list[str]:
    if plan.answer is None:
        return [sentence(plan.reason or "there is no answer")]
    if plan.test == "precision":
        half = f"±{shown(plan, plan.half_width)}"
        return [
            f"About half of such runs give an interval within {half}; how wide it is says nothing of where it lies."
        ]
    power = plan.power if plan.power is not None else plan.power_goal
    missed = f"{100 * (1 - power):.0f}" if power < 0.995 else "less than 1"
    what = {
        "difference": f"miss a true difference of {shown(plan, plan.delta)}",
        "noninferiority": "fail to show that the candidate is not worse by the margin",
        "equivalence": "fail to show that the two differ by less than the margin",
    }[plan.test]
    found = [f"Of 100 runs of that size, {missed} would {what}."]
    if plan.test == "difference":
        found.append(
            "Power is for a difference named beforehand; planning for one that a pilot showed makes runs too small."
        )
    if plan.n_resamples is not None:
        ends = f"{power_words(plan.conf_low)} to {power_words(plan.conf_high)}"
        found.append(
            f"Simulated power {power_words(plan.power)}: Monte Carlo interval {ends} from {plan.n_resamples:,} comparisons, "
            f"seed {plan.seed}."
        )
    if plan.solved == "n_items" and not plan.n_clusters and plan.test == "difference":
        found.append(f"Items grow with the square of 1/difference; the answer has {percent(plan.power)} power.")
    return found
