"""What is said of a plan: how many items are needed or what so many can find, by other methods, and what to buy next."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.power.alternatives import best_step
from evalstats.analysis.power.result import PlanRow, PowerPlan, Solved
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Interval,
    Items,
    Section,
    Table,
    Text,
    Tone,
    Value,
    drawn_interval,
    listed,
    sentence,
)
from evalstats.document.numbers import as_precise, declared, number, scaled
from evalstats.grammar import plural

_NONE: Mapping[Solved, str] = {
    "n_items": "number of items",
    "n_clusters": "number of clusters",
    "delta": "difference",
    "margin": "margin",
    "half_width": "interval",
}


def count_words(value: float) -> str:
    """Write a mean count, without a decimal where it is whole.

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


def _margin_words(plan: PowerPlan) -> str:
    return f"{declared(plan.margin or 0.0, plan.scale)} {plan.unit}".rstrip()


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
    units = f"items of each of {plan.n_tasks} tasks" if plan.n_tasks else _counted(plan)
    if plan.test == "precision":
        level = percent(plan.conf_level)
        if plan.solved == "half_width":
            return f"how wide is the {level} CI of the difference with {size}?"
        return f"how many {units} bring the {level} CI of the difference to ±{shown(plan, plan.half_width)}?"
    if plan.solved == "delta":
        return f"which true difference can {size} detect with {goal} power?"
    if plan.solved == "margin":
        return f"which margin can {size} show with {goal} power, {_truth(plan)}?"
    if plan.solved == "power":
        return f"with which power do {size} {aim_words(plan)}?"
    clusters = f" in {plural(plan.n_clusters, 'cluster')}" if plan.solved == "n_items" and plan.n_clusters else ""
    return f"how many {units}{clusters} {aim_words(plan)} with {goal} power?"


def _counted(plan: PowerPlan) -> str:
    """Name what a plan counts."""
    if plan.different:
        return f"{plan.different} a side"
    return "clusters" if plan.solved == "n_clusters" else "items"


def aim_words(plan: PowerPlan) -> str:
    """Say what is to be shown, as a verb with its object."""
    if plan.test == "difference":
        return f"detect a true difference of {shown(plan, plan.delta)}"
    claim = "the candidate is worse by" if plan.test == "noninferiority" else "the two differ by"
    return f"show that {claim} less than {_margin_words(plan)}"


def size_words(plan: PowerPlan) -> str:
    """Return how large the evaluation is."""
    if plan.n_items is None:
        return "such an evaluation"
    if plan.different and plan.n_clusters:
        return f"{plan.n_clusters:,} {plan.different} a side ({plan.n_items:,} rows)"
    if plan.different:
        return f"{plan.n_items:,} {plan.different} a side"
    if plan.n_tasks:
        each = plural(plan.n_items // plan.n_tasks, "item")
        return f"{each} of each of {plan.n_tasks} tasks ({plan.n_items:,}){trial_words(plan)}"
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
        return f"{size} give {goal} power to detect a true difference of {shown(plan, plan.delta)} or more"
    if plan.solved == "margin":
        return f"{size} can show a margin of {_margin_words(plan)} with {goal} power"
    if plan.solved == "power":
        return f"{size} {aim_words(plan)} with a power of {power_words(plan.power)}"
    if plan.solved == "n_clusters" and not plan.different:
        size = f"{plural(plan.n_clusters or 0, 'cluster')} ({plural(plan.n_items or 0, 'item')}){trial_words(plan)}"
    if plan.test == "precision":
        return f"{size} bring the {percent(plan.conf_level)} CI of the difference to ±{shown(plan, plan.half_width)}"
    return f"{size} give {goal} power to {aim_words(plan)}"


def _truth(plan: PowerPlan) -> str:
    return f"if the true difference is {shown(plan, plan.delta)}" if plan.delta else "if the two are equal"


def range_words(plan: PowerPlan) -> str:
    """Say how far the answer hangs on what a pilot left open; "" without a pilot."""
    if not plan.answer_range:
        return ""
    counted = plan.solved in ("n_items", "n_clusters")

    def end(value: float | None) -> str:
        if value is None:
            return "none that is enough" if counted else "none at all"
        return f"{round(value):,}" if counted else power_words(value) if plan.solved == "power" else bare(plan, value)

    low, high = as_precise(end(plan.answer_low), end(plan.answer_high))
    what = f" {_counted(plan)}" if counted else "" if plan.solved == "power" else f" {plan.unit}".rstrip()
    return f"The pilot is consistent with {low} to {high}{what}: {plan.answer_range}."


def floor_words(plan: PowerPlan) -> str:
    """Say what clusters or runs cannot go below, however many items there are; "" where nothing does."""
    if plan.smallest_delta is None:
        return ""
    what = "runs" if plan.n_clusters is None else "clusters"
    return f"More items without more {what} cannot get below {shown(plan, plan.smallest_delta)}."


def method_sections(plan: PowerPlan) -> tuple[Section, ...]:
    """Return how it is computed, what it means and assumes, and the references."""
    text = known_methods()[f"power: {plan.method}"]
    why = sentence(f"By {text.what}, because {plan.method_reason}")
    return (
        Section(
            id="method",
            heading="How it is computed",
            blocks=(Text(text=f"{why} {text.how}"), Items(items=tuple(_meaning(plan)))),
        ),
        listed("assumptions", "What this assumes", plan.assumptions),
        *(
            (Section(id="references", heading="References", blocks=(Items(items=text.sources),)),)
            if text.sources
            else ()
        ),
    )


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
            f"seed {plan.origin.seed}."
        )
    return found


def curve(plan: PowerPlan, table: Table | None = None) -> Figure | None:
    """Return power by size, and the difference (or margin, or half width) that each size can find; None without a value."""
    rows: list[dict[str, Any]] = []
    goals: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    what = f"the margin of {_margin_words(plan)}" if plan.margin is not None else (
        f"a true difference of {shown(plan, plan.delta)}"
    )  # fmt: skip
    goal = percent(plan.power_goal)
    unit = f" ({plan.unit})" if plan.unit else ""
    free = plan.solved not in ("delta", "margin", "half_width")
    panels = (
        ("power", f"Power for {what}", 1.0, plan.power_goal, f"{goal} power"),
        ("mde", f"Difference detected with {goal} power{unit}", plan.scale, plan.delta, "asked for"),
        ("margin", f"Margin shown with {goal} power{unit}", plan.scale, plan.margin, "margin"),
        ("half_width", f"Half the width of the interval{unit}", plan.scale, plan.half_width, "asked for"),
    )
    by_clusters = plan.curve_unit == "clusters"
    size = plan.n_clusters if by_clusters else plan.n_items
    for name, title, scale, asked, words in panels:
        own = {(point.n_clusters or 0) if by_clusters else point.n_items: getattr(point, name) for point in plan.curve}
        known = {count: value * scale for count, value in own.items() if value is not None}
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
        if plan.answer is not None and size in known:
            said = plural(size, "cluster" if by_clusters else "item")
            full = f"{said}: {answer}" if answer else said
            marks.append({"panel": title, "x": size, "estimate": known[size], "words": full})
    if not rows:
        return None
    options: dict[str, Any] = {"x_title": "Clusters" if by_clusters else "Items"}
    options |= {name: _columns(found) for name, found in (("goals", goals), ("marks", marks)) if found}
    return Figure(
        id="curve",
        plot="curves",
        rows=_columns(rows),
        options=options,
        alt=f"Curve of a plan: {headline(plan)}.",
        caption="Power by size, and what each size can detect; the point is the plan",
        table=table,
    )


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


_FOUND: tuple[tuple[str, str], ...] = (("Detectable", "mde"), ("Margin shown", "margin"), ("Half width", "half_width"))
# Every fourth point of the curve: a quarter, half, once, twice and four times the size.
_STRIDE = 4
_ENOUGH = 0.005  # below the power asked for, by rounding


def document(plan: PowerPlan) -> Document:
    """Return what is said of a plan."""
    label, tone = _label(plan)
    asked = plan.question[:1].upper() + plan.question[1:]
    known = f"Pilot: {plan.pilot}" if plan.pilot else next(iter(plan.assumptions), "")
    truth = _truth(plan) if plan.test in ("noninferiority", "equivalence") else ""
    return Document(
        kind="power",
        title=asked,
        label=label,
        tone=tone,
        headline=headline(plan),
        interval=_interval(plan),
        scope=", ".join(part for part in (known, truth) if part),
        answer=_answer(plan),
        notes=plan.notes,
        actions=tuple(_actions(plan)),
        evidence=(*_methods(plan), *_trials(plan), *_next(plan)),
        method=(
            *method_sections(plan),
            plan.origin.section(seed=None if plan.n_resamples else ""),
        ),
    )


def _interval(plan: PowerPlan) -> Interval | None:
    """Return the answer with the range that a pilot is consistent with, to be drawn."""
    written: dict[str, Any] = {"digits": digits_of(plan), "scale": plan.scale, "unit": plan.unit}
    if plan.solved in ("n_items", "n_clusters", "power"):
        written = {"digits": 2} if plan.solved == "power" else {"digits": 0, "unit": _counted(plan)}
    return drawn_interval(plan.answer, (plan.answer_low, plan.answer_high), **written)


def _label(plan: PowerPlan) -> tuple[str, Tone]:
    if plan.answer is None:
        return "out of reach", "bad"
    if plan.solved == "power":
        enough = (plan.power or 0.0) >= plan.power_goal - _ENOUGH
        return ("enough power", "good") if enough else ("underpowered", "caution")
    return {"delta": "detectable", "half_width": "precision"}.get(plan.solved, "plan"), "neutral"


def _answer(plan: PowerPlan) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if plan.answer is None:
        blocks.append(Text(text=sentence(plan.reason or "there is no answer")))
    drawn = curve(plan, _curve(plan))
    if drawn is not None:
        blocks.append(drawn)
    more = " ".join(part for part in (range_words(plan), floor_words(plan)) if part)
    if more:
        blocks.append(Text(text=more))
    return tuple(blocks)


def _table(name: str, columns: Sequence[tuple[Column, Sequence[Value]]], caption: str, **more: Any) -> Table:
    """Return a table of columns with their values."""
    rows = tuple(zip(*(values for _, values in columns), strict=True))
    return Table(id=name, columns=tuple(column for column, _ in columns), rows=rows, caption=caption, **more)


def _difference(plan: PowerPlan, title: str, digits: int | None = None) -> Column:
    """Return a column of differences in the plan's unit."""
    titled = f"{title} ({plan.unit})" if plan.unit else title
    return Column(title=titled, kind="number", scale=plan.scale, digits=digits_of(plan) if digits is None else digits)


def _curve(plan: PowerPlan) -> Table:
    here = (plan.n_items, plan.n_clusters)
    middle = next((i for i, point in enumerate(plan.curve) if (point.n_items, point.n_clusters) == here), 0)
    points = [point for i, point in enumerate(plan.curve) if (i - middle) % _STRIDE == 0]
    columns: list[tuple[Column, Sequence[Value]]] = []
    by_clusters, items = plan.curve_unit == "clusters", "Items"
    if plan.different:
        items = "Rows a side" if by_clusters else f"{plan.different.capitalize()} a side"
    if by_clusters:
        title = f"{plan.different.capitalize()} a side" if plan.different else "Clusters"
        columns.append((Column(title=title, kind="count"), [point.n_clusters for point in points]))
    columns.append((Column(title=items, kind="count"), [point.n_items for point in points]))
    if any(point.power is not None for point in plan.curve):
        columns.append((Column(title="Power", kind="amount"), [power_words(point.power) for point in points]))
    for title, name in _FOUND:
        if any(getattr(point, name) is not None for point in plan.curve):
            columns.append((_difference(plan, title), [getattr(point, name) for point in points]))
    frame = plan.to_frame().filter(term="curve").to_dict(as_series=False)
    caption = f"By size: power for what is asked, and what is detected with {percent(plan.power_goal)} power"
    if plan.test == "precision":
        caption = "Half the expected width of the interval, by size"
    return _table("curve", columns, caption, frame=frame)


def _actions(plan: PowerPlan) -> list[str]:
    found: list[str] = []
    if plan.solved == "power" and (plan.power or 0.0) < plan.power_goal - _ENOUGH:
        enough = next((point for point in plan.curve if (point.power or 0.0) >= plan.power_goal), None)
        if enough is not None:
            clusters = f" in {plural(enough.n_clusters, 'cluster')}" if enough.n_clusters else ""
            found.append(
                f"Run {plural(enough.n_items, 'item')}{clusters}: the power is {power_words(enough.power)} there."
            )
    form = plan.short_form
    if form is not None:
        found.append(
            f"For one model's score, {form.size:,} chosen items do as well as {form.random_size:,} random ones (error "
            f"{shown(plan, form.score_error)} on {form.n_models} models left out), for a difference as {form.difference_size:,}; "
            "evalstats items chooses them."
        )
    return [*found, *plan.recommendation[:1]]


def _methods(plan: PowerPlan) -> list[Section]:
    """Return the same question by other tests and formulas."""
    others = [row for row in plan.beside if row.role != "headline"]
    if not others:
        return []
    counted = plan.solved in ("n_items", "n_clusters")
    name = {"n_items": "n_items", "n_clusters": "n_clusters", "delta": "delta", "margin": "margin"}.get(
        plan.solved, "power"
    )
    values = [value for row in others if (value := _of(row, name)) is not None]
    heading = "Other methods"
    if values:
        low, high = min(values), max(values)
        if counted:
            written = as_precise(f"{low:,.0f}", f"{high:,.0f}")
        elif name == "power":
            written = as_precise(power_words(low), power_words(high))
        else:
            written = as_precise(bare(plan, low), bare(plan, high))
        what = {"n_items": " items", "n_clusters": " clusters", "power": ""}.get(name, f" {plan.unit}".rstrip())
        ends = written[0] if written[0] == written[1] else f"{written[0]} to {written[1]}"
        verb = "need" if counted else "give a power of" if name == "power" else "detect"
        heading = f"Other methods {verb} {ends}{what}"
    return [Section(id="methods", heading=heading, blocks=(_beside(plan),))]


def _of(row: PlanRow, name: str) -> float | None:
    if name in ("n_items", "n_clusters") and row.role == "simulation":
        return None
    value = getattr(row, name)
    return None if value is None else float(value)


def _beside(plan: PowerPlan) -> Table:
    effects = {"delta": "Detectable", "margin": "Margin shown", "half_width": "Half width"}
    columns: list[tuple[Column, Sequence[Value]]] = [(Column(title="Method"), [row.method for row in plan.beside])]
    for name, title in (("n_clusters", "Clusters needed"), ("n_items", "Items needed")):
        if plan.solved in (name, "n_clusters"):
            columns.append((Column(title=title, kind="count"), [_of(row, name) for row in plan.beside]))
    effect = plan.solved if plan.solved in effects else "half_width" if plan.test == "precision" else ""
    if effect:
        columns.append((_difference(plan, effects[effect]), [_of(row, effect) for row in plan.beside]))
    if plan.test != "precision":
        powers = [
            f"{power_words(row.power)} ({power_words(row.conf_low)} to {power_words(row.conf_high)})"
            if row.conf_low is not None and row.conf_high is not None
            else power_words(row.power)
            if row.power is not None
            else ""
            for row in plan.beside
        ]
        columns.append((Column(title="Power there", kind="amount"), powers))
    at = f", at {size_words(plan)}" if plan.answer is not None else ""
    return _table("methods", columns, f"The same by other methods{at}", lead=True)


def _trials(plan: PowerPlan) -> list[Section]:
    """Return how many items are needed with more trials of each."""
    known = [row for row in plan.by_trials if row.n_items is not None]
    if len(known) < 2:
        return []
    first, last = known[0], known[-1]
    table = Table(
        id="trials",
        columns=(
            Column(title="Trials of each item", kind="count"),
            Column(title="Items", kind="count"),
            Column(title="Answers of both systems", kind="count"),
        ),
        rows=tuple((row.n_trials, row.n_items, row.n_answers) for row in plan.by_trials),
        caption="Items needed by the number of trials of each",
    )
    heading = (
        f"{plural(last.n_trials, 'trial')} of each item take {last.n_items:,} items, {plural(first.n_trials, 'trial')} "
        f"{first.n_items:,}"
    )
    return [Section(id="trials", heading=heading, blocks=(table,))]


def _next(plan: PowerPlan) -> list[Section]:
    """Return what doubling items, trials or clusters of the pilot would buy."""
    if not plan.next_steps:
        return []
    best = best_step(plan.next_steps)
    heading = "What to buy next is not known" if best is None else f"Twice the {best.buy} buys the most precision"
    blocks: list[Block] = [_next_table(plan)]
    if plan.recommendation[1:]:
        blocks.append(Text(text=" ".join(plan.recommendation[1:])))
    reasons = tuple(sentence(f"{step.buy}: {step.reason}") for step in plan.next_steps if step.reason)
    if reasons:
        blocks.append(Items(items=reasons))
    if len(plan.parts) > 1:
        shares = "; ".join(f"{part.part} {percent(part.share)}" for part in plan.parts)
        blocks.append(Text(text=f"The pilot's squared standard error by source: {shares}."))
    return [Section(id="next", heading=heading, blocks=tuple(blocks))]


def _next_table(plan: PowerPlan) -> Table:
    steps = plan.next_steps
    needed = any(step.needed is not None for step in steps)
    alone = f"; alone enough: how many of it detect {shown(plan, plan.delta)}" if needed else ""
    costs = "each answer of a system costs 1" if plan.cost_unit == "answers" else "by the costs given"
    trials = ["/".join(count_words(k) for k in dict.fromkeys(step.n_trials)) for step in steps]
    columns: list[tuple[Column, Sequence[Value]]] = [
        (Column(title="Doubled"), ["nothing" if step.buy == "as it is" else step.buy for step in steps]),
        (Column(title="Items", kind="count"), [step.n_items for step in steps]),
    ]
    if any(step.n_clusters is not None for step in steps):
        columns.append((Column(title="Clusters", kind="count"), [step.n_clusters for step in steps]))
    columns += [
        (Column(title="Trials", kind="amount"), trials),
        (_difference(plan, "SE", 2), [step.std_error for step in steps]),
        (_difference(plan, "Detectable"), [step.mde for step in steps]),
    ]
    if needed:
        columns.append((Column(title="Alone enough", kind="count"), [step.needed for step in steps]))
    spent = [None if step.cost is None else f"{step.cost:,.6g}" for step in steps]
    columns += [
        (Column(title="Cost", kind="amount", spare=True), spent),
        (
            Column(title="Precision/cost", kind="number", digits=2, spare=True),
            [step.precision_per_cost for step in steps],
        ),
    ]
    caption = (
        f"The pilot with one thing doubled: standard error, what is detected with {percent(plan.power_goal)} power, cost "
        f"({costs}), and 1/SE² for its cost as a multiple of the pilot's{alone}"
    )
    frame = plan.to_frame()
    return _table(
        "next", columns, caption, frame=frame.filter(frame["term"].str.starts_with("buy")).to_dict(as_series=False)
    )
