"""How a plan is computed, what it assumes, and where its methods come from."""

from collections.abc import Mapping

from evalstats.analysis.power.phrases import percent, power_words, shown
from evalstats.analysis.power.result import PowerMethod, PowerPlan
from evalstats.document.model import Items, Section, Text, sentence

METHOD_WORDS: Mapping[PowerMethod, str] = {
    "exact": "exact sums over every outcome",
    "formula": "the formula for the width",
    "miller": "Miller's formula",
    "t": "Student's t",
    "clusters": "CR2's t and the cluster sign-flip",
    "simulation": "simulation of the whole rule",
}
HOW: Mapping[PowerMethod, str] = {
    "exact": (
        "Every outcome that the items could show is weighted with its chance, and the chances of those that lead to the claim "
        "are added up. The power itself is exact; the size is searched for."
    ),
    "formula": (
        "The width of an interval shrinks with the square root of the number of items. The formula is solved for the number "
        "of items."
    ),
    "miller": (
        "The variance of an item's difference has a part from items and a part from trials, which more trials shrink. The "
        "formula for two normal curves is solved for the number of items."
    ),
    "t": (
        "The difference over its standard error follows a t law, shifted by the true difference. The size is searched for at "
        "which it exceeds the critical value as often as asked."
    ),
    "clusters": (
        "Clusters are the pieces of evidence, so their number and the spread between them decide. The size is searched for at "
        "which the cluster-robust t test and the sign-flip that must agree with it both succeed as often as asked."
    ),
    "simulation": (
        "Thousands of whole comparisons are simulated with the true difference and sent through the rule that decides a "
        "comparison. The power is the share that lead to the claim."
    ),
}
SOURCES: Mapping[PowerMethod, tuple[str, ...]] = {
    "exact": ("Connor 1987, Biometrics 43:207", "Tango 1998, Statistics in Medicine 17:891"),
    "formula": ("Miller 2024, arXiv:2411.00640",),
    "miller": ("Miller 2024, arXiv:2411.00640",),
    "t": ("Student 1908, Biometrika 6:1",),
    "clusters": ("Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004", "Miller 2024, arXiv:2411.00640"),
    "simulation": (),
}


def method_sections(plan: PowerPlan) -> tuple[Section, ...]:
    """Return how it is computed, what it means and assumes, and the references."""
    why = sentence(f"{METHOD_WORDS[plan.method]}, because {plan.method_reason}")
    sources = SOURCES[plan.method]
    return (
        Section(
            id="method",
            heading="How it is computed",
            blocks=(Text(text=f"{why} {HOW[plan.method]}"), Items(items=(*_meaning(plan), *_others(plan)))),
        ),
        Section(
            id="assumptions",
            heading="What this assumes",
            blocks=(Items(items=tuple(sentence(text) for text in plan.assumptions)),),
        ),
        *((Section(id="references", heading="References", blocks=(Items(items=sources),)),) if sources else ()),
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
