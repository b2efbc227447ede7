"""A plan of how many items to run, explained to somebody who is no statistician."""

from collections.abc import Mapping

from evalstats.analysis.explaining.words import percent, section, sentence, with_unit
from evalstats.analysis.planning.results import PlanRow, PowerMethod, PowerPlan
from evalstats.analysis.planning.wording import METHOD_WORDS
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph
from evalstats.document.numbers import number, plural

_HOW: Mapping[PowerMethod, str] = {
    "exact": (
        "Every outcome that the items could show is gone through with its chance, and the chances of those that "
        "would lead to the claim are added up. So there is no approximation in the power itself; the sizes are "
        "searched for until it is reached."
    ),
    "formula": (
        "The width of an interval shrinks with the square root of the number of items. The formula is turned "
        "round to give the number of items for the width wanted."
    ),
    "miller": (
        "The variance of an item's difference has a part from the items and a part from the trials, which more "
        "trials shrink. The usual formula for two normal curves is then turned round to give the number of items."
    ),
    "t": (
        "The difference over its standard error follows a t law, shifted by the true difference. The number of "
        "items is searched for at which that law goes beyond the critical value as often as asked."
    ),
    "clusters": (
        "The groups are the pieces of evidence, so the spread between groups and the number of groups decide. "
        "The size is searched for at which the cluster-robust t test and the sign-flip that must agree with it "
        "both succeed as often as asked."
    ),
    "simulation": (
        "Whole comparisons are made up with the true difference named, thousands of them, and sent through the "
        "very rule that decides a comparison. The power is the share that lead to the claim, give or take the "
        "luck of so many draws."
    ),
}
_SOURCES: Mapping[PowerMethod, tuple[str, ...]] = {
    "exact": ("Connor 1987, Biometrics 43:207", "Tango 1998, Statistics in Medicine 17:891"),
    "formula": ("Miller 2024, arXiv:2411.00640",),
    "miller": ("Miller 2024, arXiv:2411.00640",),
    "t": ("Student 1908, Biometrika 6:1",),
    "clusters": ("Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004", "Miller 2024, arXiv:2411.00640"),
    "simulation": (),
}


def explain_power(result: PowerPlan) -> list[Block]:
    """Return the explanation of a plan: question, method, assumptions, what the answer means and does not, what to buy."""
    sources = _SOURCES[result.method]
    return [
        Heading(text="How many items: what this plan says", level=1),
        Heading(text="What was asked", level=2),
        Paragraph(text=sentence(result.question).removesuffix("?.").removesuffix("?") + "?"),
        Heading(text="How it was answered", level=2),
        Paragraph(
            text=f"The answer comes from {METHOD_WORDS[result.method]}, because {result.method_reason}. {_HOW[result.method]}"
        ),
        *section("What this takes for granted", [*result.assumptions, *_pilot(result)]),
        *section("What the answer means", _meaning(result)),
        *section("What the other rows say", [_row(row, result) for row in result.beside if row.role != "headline"]),
        *section("What would change it", _changes(result)),
        *([Heading(text="Where the methods come from", level=2), Bullets(items=sources)] if sources else []),
    ]


def _pilot(result: PowerPlan) -> list[str]:
    if result.answer_low is None or result.answer_high is None:
        return []
    return [
        (
            f"The pilot's spread is itself an estimate: {result.answer_range}, the answer runs from "
            f"{_answer(result, result.answer_low)} to {_answer(result, result.answer_high)}"
        ),
    ]


def _answer(result: PowerPlan, value: float) -> str:
    if result.solved in ("n_items", "n_clusters"):
        return f"{round(value):,}"
    return number(value) if result.solved == "power" else with_unit(value, result.scale, result.unit)


def _meaning(result: PowerPlan) -> list[str]:
    if result.reason is not None or result.answer is None:
        return [result.reason or "There is no answer"]
    if result.test == "precision":
        return [
            (
                "About half of such runs give an interval within "
                f"±{with_unit(result.half_width, result.scale, result.unit)} of the difference. How wide it is "
                "says nothing of where it lies"
            ),
        ]
    goal = result.power if result.power is not None else result.power_goal
    missed = f"{100 * (1 - goal):.0f}" if goal < 0.995 else "less than 1"
    claims = {
        "difference": f"of 100 runs of that size, {missed} would miss a true difference of {_delta(result)}",
        "noninferiority": f"of 100 runs of that size, {missed} would fail to show that the candidate is not worse by the margin",
        "equivalence": f"of 100 runs of that size, {missed} would fail to show that the two differ by less than the margin",
    }
    found = [sentence(claims[result.test])]
    if result.test == "difference":
        found.append(
            f"It is no promise about what the run will show, and {_delta(result)} is the difference that somebody "
            "wants not to miss, not one that was observed: planning for what a small pilot happened to show "
            "makes runs too small"
        )
    if result.conf_low is not None and result.conf_high is not None:
        found.append(
            f"The power is from {result.n_resamples or 0:,} made-up runs, so it is known only to lie from "
            f"{percent(result.conf_low)} to {percent(result.conf_high)}"
        )
    return found


def _delta(result: PowerPlan) -> str:
    return with_unit(result.delta, result.scale, result.unit)


def _row(row: PlanRow, result: PowerPlan) -> str:
    parts: list[str] = []
    if row.n_items is not None:
        parts.append(f"{plural(row.n_items, 'item')}{f' in {row.n_clusters:,} groups' if row.n_clusters else ''}")
    if row.delta is not None and result.solved == "delta":
        parts.append(f"a difference of {with_unit(row.delta, result.scale, result.unit)}")
    if row.power is not None:
        parts.append(f"power {number(row.power)}")
    told = ", ".join(parts) or "no number"
    role = "" if row.role in row.method else f" ({row.role})"
    return f"{row.method}{role}: {told}{f'; {row.note}' if row.note else ''}"


def _changes(result: PowerPlan) -> list[str]:
    found = [result.recommendation] if result.recommendation else []
    if result.solved == "n_items" and result.test == "difference" and result.n_items:
        found.append(
            f"Half the difference takes about four times the items, some {4 * result.n_items:,}; twice the "
            f"difference about a quarter, some {max(1, result.n_items // 4):,}"
        )
    if result.smallest_delta is not None:
        found.append(
            "Not more items alone: with these groups no number of items finds less than "
            f"{with_unit(result.smallest_delta, result.scale, result.unit)}"
        )
    return found
