"""A plan as blocks: the answer, its curve, other methods beside it, and what to buy next."""

from collections.abc import Mapping

from evalstats.analysis.planning.results import CurvePoint, NextStep, PlanRow, PowerPlan, Solved
from evalstats.analysis.planning.wording import (
    METHOD_WORDS,
    answer_label,
    answer_rest,
    bare,
    count_words,
    floor_sentence,
    monte_carlo,
    percent,
    power_words,
    range_sentence,
    shown,
    size_words,
)
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import number

_CURVE_ROWS = 9
_TITLES: Mapping[Solved, str] = {
    "n_items": "How many items?",
    "n_clusters": "How many clusters?",
    "delta": "What difference can be found?",
    "power": "Would it be found?",
    "margin": "What margin can be shown?",
    "half_width": "How precise?",
}


def plan_blocks(plan: PowerPlan) -> list[Block]:
    """Return the whole plan: the answer, then the curve, then other methods, then what to buy next."""
    rest = answer_rest(plan)
    tone = "neutral" if plan.answer is not None else "caution"
    blocks: list[Block] = [
        Heading(text=_TITLES[plan.solved], level=1),
        Banner(label=answer_label(plan), text=f"{rest[:1].upper()}{rest[1:]}", tone=tone),
    ]
    more = " ".join(text for text in (range_sentence(plan), floor_sentence(plan), monte_carlo(plan)) if text)
    if more:
        blocks.append(Paragraph(text=more))
    if plan.warnings:
        blocks.append(Bullets(title="Warnings", items=plan.warnings, tone="caution"))
    if plan.curve:
        blocks.append(curve_table(plan))
    if len(plan.beside) > 1:
        blocks.append(beside_table(plan))
        notes = tuple(f"{row.method}: {row.note}" for row in plan.beside if row.note)
        if notes:
            blocks.append(Bullets(items=notes))
    if plan.by_trials:
        blocks.append(trials_block(plan))
    blocks.extend(next_blocks(plan))
    method = f"{METHOD_WORDS[plan.method]}, because {plan.method_reason}"
    blocks.append(Bullets(title="Method and assumptions", items=(method, *plan.assumptions)))
    if plan.notes:
        blocks.append(Bullets(title="Notes", items=plan.notes))
    return blocks


def curve_table(plan: PowerPlan) -> Table:
    """Return some points of the curve, the plan's own among them."""
    unit = f" ({plan.unit})" if plan.unit else ""
    columns = ["Clusters", "Items"] if plan.curve_unit == "clusters" else ["Items"]
    wide: list[str] = []
    if any(point.power is not None for point in plan.curve):
        columns.append("Power")
    columns += [head for head, name in _FOUND if any(getattr(point, name) is not None for point in plan.curve)]
    columns = [f"{name}{unit}" if name in dict(_FOUND) else name for name in columns]
    return Table(
        columns=tuple(columns),
        rows=tuple(_curve_cells(plan, point, columns) for point in shown_points(plan)),
        align="r" * len(columns),
        caption=_curve_caption(plan),
        wide=tuple(wide),
    )


_FOUND = (("Detectable", "mde"), ("Margin shown", "margin"), ("Half width", "half_width"))


def shown_points(plan: PowerPlan) -> list[CurvePoint]:
    """Return every other point of the curve, from the smallest to the largest."""
    points = plan.curve
    if len(points) <= _CURVE_ROWS:
        return list(points)
    middle = next((i for i, point in enumerate(points) if _is_answer(plan, point)), len(points) // 2)
    return [point for i, point in enumerate(points) if (i - middle) % 2 == 0]


def _is_answer(plan: PowerPlan, point: CurvePoint) -> bool:
    return (point.n_items, point.n_clusters) == (plan.n_items, plan.n_clusters)


def _curve_cells(plan: PowerPlan, point: CurvePoint, columns: list[str]) -> tuple[str, ...]:
    cells: list[str] = []
    for column in columns:
        if column == "Clusters":
            cells.append(f"{point.n_clusters or 0:,}")
        elif column == "Items":
            cells.append(f"{point.n_items:,}")
        elif column == "Power":
            cells.append(power_words(point.power))
        else:
            name = next(name for head, name in _FOUND if column.startswith(head))
            cells.append(bare(plan, getattr(point, name)))
    return tuple(cells)


def _curve_caption(plan: PowerPlan) -> str:
    if plan.test == "precision":
        return "Half the expected width of the interval, by size"
    goal = percent(plan.power_goal)
    if plan.solved in ("delta", "margin"):
        return (
            f"What is found with {goal} power, by size" if plan.solved == "delta" else f"Margin shown with {goal} power"
        )
    what = f"a true difference of {shown(plan, plan.delta)}"
    if plan.test != "difference":
        return f"Power at the margin of {shown(plan, plan.margin)} for {what}, and the margin shown with {goal} power"
    return f"Power for {what}, and the difference found with {goal} power, by size"


def beside_table(plan: PowerPlan) -> Table:
    """Return the same question by other methods."""
    unit = f" ({plan.unit})" if plan.unit else ""
    kinds: list[tuple[str, str]] = []
    if plan.solved in ("n_items", "n_clusters"):
        kinds += [("Clusters needed", "n_clusters")] if plan.solved == "n_clusters" else []
        kinds.append(("Items needed", "n_items"))
    solved_effect = {"delta": "Detectable", "margin": "Margin shown", "half_width": "Half width"}.get(plan.solved)
    if solved_effect is not None or plan.test == "precision":
        name = plan.solved if solved_effect is not None else "half_width"
        kinds.append((f"{solved_effect or 'Half width'}{unit}", name))
    if plan.test != "precision":
        kinds.append(("Power there", "power"))
    return Table(
        columns=("Method", "Role", *[head for head, _ in kinds]),
        rows=tuple(
            (row.method, row.role, *[_beside_cell(plan, row, name) for _, name in kinds]) for row in plan.beside
        ),
        align="ll" + "r" * len(kinds),
        caption="The same by other methods" + (f", at {size_words(plan)}" if plan.answer is not None else ""),
        wide=("Role",),
    )


def _beside_cell(plan: PowerPlan, row: PlanRow, name: str) -> str:
    value = getattr(row, name)
    if name in ("n_items", "n_clusters"):
        return "" if value is None or row.role == "simulation" else f"{value:,}"
    if name == "power":
        if row.conf_low is not None and row.conf_high is not None:
            return f"{power_words(value)} [{power_words(row.conf_low)}, {power_words(row.conf_high)}]"
        return "" if value is None else power_words(value)
    return "" if value is None else bare(plan, value)


def trials_block(plan: PowerPlan) -> Table:
    """Return the items needed for several numbers of trials."""
    return Table(
        columns=("Trials of each item", "Items", "Answers of both systems"),
        rows=tuple(
            (
                str(row.n_trials),
                "–" if row.n_items is None else f"{row.n_items:,}",
                "–" if row.n_answers is None else f"{row.n_answers:,}",
            )
            for row in plan.by_trials
        ),
        align="rrr",
        caption="Trials instead of items",
    )


def next_blocks(plan: PowerPlan) -> list[Block]:
    """Return what to buy next: where the variance comes from, what doubling buys, and the advice."""
    if not plan.next_steps:
        return []
    blocks: list[Block] = [Heading(text="What to buy next: items, clusters or trials", level=2)]
    if plan.recommendation:
        blocks.append(Paragraph(text=plan.recommendation))
    if len(plan.parts) > 1:
        shares = "; ".join(f"{part.part} {percent(part.share)}" for part in plan.parts)
        blocks.append(Paragraph(text=f"Where the squared standard error of the pilot comes from: {shares}."))
    blocks.append(_next_table(plan))
    reasons = tuple(f"{step.buy}: {step.reason}" for step in plan.next_steps if step.reason)
    if reasons:
        blocks.append(Bullets(items=reasons))
    return blocks


def _next_table(plan: PowerPlan) -> Table:
    unit = f" ({plan.unit})" if plan.unit else ""
    clustered = any(step.n_clusters is not None for step in plan.next_steps)
    needed = any(step.needed is not None for step in plan.next_steps)
    columns = ["Doubled", "Items", *(["Clusters"] if clustered else []), "Trials", f"SE{unit}", f"Detectable{unit}"]
    columns += [*(["Alone enough"] if needed else []), "Cost", "Precision/cost"]
    found = f"; alone enough: how many of it find {shown(plan, plan.delta)}" if needed else ""
    unit_words = "each answer of a system costs 1" if plan.cost_unit == "answers" else "by the costs given"
    return Table(
        columns=tuple(columns),
        rows=tuple(_next_cells(plan, step, clustered=clustered, needed=needed) for step in plan.next_steps),
        align="l" + "r" * (len(columns) - 1),
        caption=(
            f"The pilot with one thing doubled: standard error (SE), what is found with {percent(plan.power_goal)} power, cost "
            f"({unit_words}), and 1/SE² for its cost as a multiple of the pilot's{found}"
        ),
        wide=("Cost", "Precision/cost"),
    )


def _next_cells(plan: PowerPlan, step: NextStep, *, clustered: bool, needed: bool) -> tuple[str, ...]:
    return (
        "nothing" if step.buy == "as it is" else step.buy,
        f"{step.n_items:,}",
        *([f"{step.n_clusters or 0:,}"] if clustered else []),
        "/".join(count_words(k) for k in dict.fromkeys(step.n_trials)),
        bare(plan, step.std_error),
        bare(plan, step.mde),
        *(["" if step.needed is None else f"{step.needed:,}"] if needed else []),
        "–" if step.cost is None else f"{step.cost:,.6g}",
        number(step.precision_per_cost),
    )
