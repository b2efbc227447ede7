"""The figure of a plan: power by size, and what each size can find."""

from typing import Any

from evalstats.analysis.power.phrases import bare, headline, percent, power_words, shown
from evalstats.analysis.power.result import CurvePoint, PowerPlan
from evalstats.document.model import Figure, Table
from evalstats.document.numbers import plural


def curve(plan: PowerPlan, table: Table | None = None) -> Figure | None:
    """Return power by size, and the difference (or margin, or half width) that each size can find; None without a value."""
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    what = f"the margin of {shown(plan, plan.margin)}" if plan.margin is not None else (
        f"a true difference of {shown(plan, plan.delta)}"
    )  # fmt: skip
    goal = percent(plan.power_goal)
    unit = f" ({plan.unit})" if plan.unit else ""
    free = plan.solved not in ("delta", "margin", "half_width")
    panels = (
        ("power", f"Power for {what}", 1.0, plan.power_goal, f"{goal} power"),
        ("mde", f"Difference found with {goal} power{unit}", plan.scale, plan.delta, "asked for"),
        ("margin", f"Margin shown with {goal} power{unit}", plan.scale, plan.margin, "margin"),
        ("half_width", f"Half the width of the interval{unit}", plan.scale, plan.half_width, "asked for"),
    )
    for name, title, scale, asked, words in panels:
        own = [(_count(plan, point), getattr(point, name)) for point in plan.curve]
        known = {count: value * scale for count, value in own if value is not None}
        rows += [{"panel": title, "x": count, "estimate": value} for count, value in known.items()]
        if not known:
            continue
        answer = power_words(plan.power) if name == "power" else ""
        if name == "power":
            goals.append({"panel": title, "estimate": plan.power_goal, "words": words})
        elif asked is not None and free:
            goals.append({"panel": title, "estimate": asked * scale, "words": f"{bare(plan, asked)} {words}"})
        elif asked is not None:
            answer = shown(plan, asked)
        size = plan.n_clusters if plan.curve_unit == "clusters" else plan.n_items
        if plan.answer is not None and size in known:
            said = plural(size, "cluster" if plan.curve_unit == "clusters" else "item")
            full = f"{said}: {answer}" if answer else said
            marks.append({"panel": title, "x": size, "estimate": known[size], "words": full})
    if not rows:
        return None
    options: dict[str, Any] = {"x_title": "Clusters" if plan.curve_unit == "clusters" else "Items"}
    options |= {name: _columns(found) for name, found in (("goals", goals), ("marks", marks)) if found}
    return Figure(
        id="curve",
        plot="curves",
        rows=_columns(rows),
        options=options,
        alt=f"Curve of a plan: {headline(plan)}.",
        caption="Power by size, and what each size can find; the point is the plan",
        table=table,
    )


def _count(plan: PowerPlan, point: CurvePoint) -> int:
    return point.n_clusters or 0 if plan.curve_unit == "clusters" else point.n_items


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}
