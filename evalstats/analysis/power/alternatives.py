"""What stands beside a plan: other tests and formulas, simulation, how far it hangs on the pilot, and what to buy next."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import special

from evalstats.analysis.power.basis import Basis
from evalstats.analysis.power.result import NextStep, PlanRow, Resource, TrialRow, VariancePart
from evalstats.analysis.power.sample_size import (
    MOST_SIMULATED,
    Aim,
    BinaryDesign,
    CountAxis,
    Design,
    PartsDesign,
    SimulatedDesign,
    Size,
    Task,
    detectable,
    simulated,
    solve,
)
from evalstats.document.numbers import scaled
from evalstats.errors import InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.planning.clusters import design_effect
from evalstats.stats.planning.mean import MOST, DifferenceParts, cheapest_trials, smallest_count
from evalstats.stats.planning.power import PairedTest, connor_n

_LEAST = 1e-12
_WHOLE = 100  # degrees of freedom that are shown as a whole number
_MOST_DRAWN = 40_000_000  # items drawn in one check by simulation


def row_of(design: Design, task: Task, size: Size | None, *, method: str, role: str) -> PlanRow:
    """Return what a design answers, and its power at the size of the plan."""
    answer = solve(design, task)
    found: dict[str, Any] = {task.solved: answer}
    if task.counts and answer is not None:
        sized = task.axis.at(int(answer))
        found = {"n_items": sized.n_items, "n_clusters": sized.n_clusters if task.solved == "n_clusters" else None}
    if size is not None and task.aim.test != "precision" and task.solved not in ("delta", "margin", "power"):
        found["power"] = design.power(size, task.aim)
    return PlanRow(method=method, role=role, **found)


def beside(design: Design, basis: Basis, task: Task, size: Size | None) -> list[PlanRow]:
    """Return the rows that stand beside the headline."""
    if isinstance(design, BinaryDesign):
        return _beside_binary(design, task, size)
    base = design.base if isinstance(design, SimulatedDesign) else design
    if basis.clustered:
        return _beside_clusters(base, task, size)
    if basis.different:
        return []
    name = "Student's t" if base.normal else "Miller's formula"
    return [row_of(replace(base, normal=not base.normal), task, size, method=name, role="formula")]


def _beside_binary(design: BinaryDesign, task: Task, size: Size | None) -> list[PlanRow]:
    aim = task.aim
    if aim.test == "precision":
        return _tango_width(design, task, size)
    if aim.test != "difference":
        variance = max(design.discordance, abs(aim.delta)) - aim.delta**2
        plain = PartsDesign(parts=DifferenceParts(item=max(variance, _LEAST)), normal=True)
        return [row_of(plain, task, size, method="normal formula", role="formula")]
    tests: tuple[tuple[PairedTest, str], ...] = (("midp", "McNemar mid-p"), ("exact", "McNemar exact"))
    rows = [
        row_of(replace(design, paired_test=test), task, size, method=name, role="other test") for test, name in tests
    ]
    if task.solved == "n_items":
        discordance = max(design.discordance, abs(aim.delta))
        quick = connor_n(aim.delta, discordance, conf_level=aim.conf_level, power=task.goal)
        rows.append(PlanRow(method="Connor 1987", role="formula", n_items=math.ceil(quick) if quick < MOST else None))
    return rows


def _tango_width(design: BinaryDesign, task: Task, size: Size | None) -> list[PlanRow]:
    """Return half the width of the score interval on the table that is expected."""
    if size is None:
        return []
    n, (p10, p01) = size.n_items, design.shares(task.aim.delta)
    b, c = round(n * p10), round(n * p01)
    if b + c > n:
        return []
    found = tango(PairedCounts(n - b - c, b, c, 0), conf_level=task.aim.conf_level)
    if found.conf_low is None or found.conf_high is None:
        return []
    half_width = 0.5 * (found.conf_high - found.conf_low)
    return [PlanRow(method="Tango score interval", role="other test", half_width=half_width)]


def _beside_clusters(base: PartsDesign, task: Task, size: Size | None) -> list[PlanRow]:
    """Return what the items would need if they were independent, and Miller's formula times the design effect."""
    if size is None or size.n_clusters is None or task.solved == "n_clusters":
        cluster_size = task.axis.cluster_size
    else:
        cluster_size = size.n_items / size.n_clusters
    parts = base.at(task.aim.delta).parts
    within = parts.per_item(task.axis.n_trials)
    total = within + (parts.cluster or 0.0)
    alone = PartsDesign(parts=DifferenceParts(item=max(total, _LEAST)), normal=True)
    flat = replace(
        task,
        axis=replace(task.axis, n_clusters=None, cluster_size=None),
        solved="n_items" if task.solved == "n_clusters" else task.solved,
        size=_unclustered(size or task.size),
    )
    as_independent = row_of(alone, flat, _unclustered(size), method="items taken as independent", role="formula")
    rows = [as_independent]
    if task.counts and cluster_size and as_independent.n_items is not None:
        sizes = np.array(parts.sizes, dtype=np.float64)
        size_cv = float(sizes.std() / sizes.mean()) if sizes.size else 0.0
        effect = design_effect(cluster_size, (parts.cluster or 0.0) / total, size_cv=size_cv)
        items = math.ceil(effect * as_independent.n_items)
        rows.append(
            PlanRow(
                method="Miller times design effect",
                role="formula",
                n_items=items,
                n_clusters=math.ceil(items / cluster_size),
            )
        )
    return rows


def _unclustered(size: Size | None) -> Size | None:
    return None if size is None else replace(size, n_clusters=None)


def simulated_row(design: SimulatedDesign, aim: Aim, size: Size) -> PlanRow:
    """Return the power at the plan's size as simulated."""
    found = design.simulate(size, aim)
    return PlanRow(
        method="simulation",
        role="simulation",
        power=found.power,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        n_resamples=found.n_resamples,
        n_items=size.n_items,
        n_clusters=size.n_clusters,
    )


def simulated_check(
    base: PartsDesign, basis: Basis, aim: Aim, size: Size, *, n_resamples: int, seed: int
) -> SimulatedDesign | None:
    """Return the design that simulates a plan with the rule of `compare`; None where that says nothing more.

    Clusters are always checked, since their formula approximates; independent items where there is a pilot, whose ties and
    skewness the formula does not know.
    """
    if basis.different or base.parts.run or aim.test == "precision" or (aim.test == "difference" and aim.delta == 0.0):
        return None
    if not basis.clustered and (basis.pool is None or size.n_items > MOST_SIMULATED):
        return None
    if size.n_clusters is not None and not 2 <= size.n_clusters * n_resamples <= _MOST_DRAWN:
        return None
    small = size.n_items * n_resamples <= _MOST_DRAWN
    return simulated(base, basis, pool=small or not basis.clustered, n_resamples=n_resamples, seed=seed)


def answer_range(design: Design, basis: Basis, task: Task) -> tuple[float | None, float | None, str] | None:
    """Return the answers at either end of the interval of the pilot's variance or discordant share, and what was varied."""
    level, df = task.aim.conf_level, basis.df
    percent = f"{100 * level:.4g}%"
    if not basis.is_pilot or basis.accuracy is not None:
        return None
    if isinstance(design, BinaryDesign):
        if basis.discordant is None:
            return None
        n = basis.parts.n_items
        ends = wilson_ends(basis.discordant / n, n, normal_quantile(level))
        answers = [solve(replace(design, discordance=end), task) for end in ends]
        words = f"with {100 * ends[0]:.1f}% to {100 * ends[1]:.1f}% of items discordant ({percent} CI)"
    elif df is not None and df > 0.0:
        tail = 0.5 * (1.0 - level)
        factors = [df / float(special.chdtri(df, tail)), df / float(special.chdtri(df, 1.0 - tail))]
        quick = _quick(design, task.size, basis)
        answers = [solve(quick.scaled(factor), task) for factor in factors]
        times = f"{factors[0]:.2g} to {factors[1]:.2g} times its variance"
        words = f"with {times} ({percent} CI, {f'{df:,.0f}' if df >= _WHOLE else f'{df:.3g}'} degrees of freedom)"
    else:
        return None
    if None not in answers:
        answers.sort(key=lambda answer: answer or 0.0)
    return answers[0], answers[1], words


ANSWERS = "answers"
_COSTS = ("item", "trial", "cluster")
_MOST_TRIALS = 10_000
_TRIALS_SHOWN = (1, 2, 3, 4, 6, 8, 10)
_SMALL = 0.005
_SINGLE = "no cluster of the pilot holds two items, so what more items in a cluster would do cannot be told"


@record
class Costs:
    """What one item, one answer of one system to it ("trial"), and one cluster cost."""

    item: float = 0.0
    trial: float = 1.0
    cluster: float = 0.0
    given: bool = False

    def of(self, size: Size) -> float:
        """Return what a design costs."""
        answers = size.n_items * sum(size.n_trials)
        return self.item * size.n_items + self.trial * answers + self.cluster * (size.n_clusters or 0)


def read_costs(costs: Mapping[str, float] | None) -> Costs:
    """Return the costs; without any, an answer costs 1 and everything else nothing."""
    if not costs:
        return Costs()
    unknown = set(costs) - set(_COSTS)
    if unknown:
        raise InputError(f"costs has no {min(unknown)!r}; name what an item, a trial or a cluster costs")
    wrong = [name for name, cost in costs.items() if not (math.isfinite(cost) and cost >= 0.0)]
    if wrong or not any(cost > 0.0 for cost in costs.values()):
        raise InputError(f"the cost of {wrong[0] if wrong else 'everything is 0: one'} must be a number above 0")
    return Costs(
        item=costs.get("item", 0.0), trial=costs.get("trial", 0.0), cluster=costs.get("cluster", 0.0), given=True
    )


def variance_parts(basis: Basis) -> tuple[VariancePart, ...]:
    """Return the parts of the pilot's squared standard error, largest first."""
    parts, n = basis.parts, basis.parts.n_items
    total = parts.variance()
    if not total > 0.0:
        return ()
    shares = parts.shares()
    found: list[tuple[str, float, float]] = []
    if parts.cluster is not None and shares is not None:
        found.append(("clusters", parts.cluster, parts.cluster * float((shares**2).sum())))
    found.append(("items and trials" if None in parts.trials else "items", parts.item, parts.item / n))
    for name, noise, k in zip(("baseline", "candidate"), parts.trials, parts.n_trials, strict=True):
        if noise is not None:
            found.append((f"trials of the {name}", noise, noise / k / n))
    if parts.run:
        found.append(("runs", parts.run, parts.run * sum(1.0 / k for k in parts.n_trials)))
    rows = [VariancePart(part=name, variance=variance, share=part / total) for name, variance, part in found]
    return tuple(sorted(rows, key=lambda row: -row.share))


def next_steps(
    basis: Basis, aim: Aim, goal: float, costs: Costs, *, plan: SimulatedDesign | None = None
) -> tuple[NextStep, ...]:
    """Return the pilot as it is, and what it would be with twice the items, trials or clusters.

    With a difference to find, also how many of each alone would find it. `plan` is the design of a plan that is simulated.
    """
    parts = basis.parts
    now = Size(n_items=parts.n_items, n_clusters=len(parts.sizes) or None, n_trials=parts.n_trials)
    design: Design = plan or PartsDesign(parts=parts, lattice=basis.lattice)
    if basis.discordance is not None and not basis.clustered and not parts.run:
        design = BinaryDesign(discordance=basis.discordance)
    first, second = now.n_trials
    no_trials = ""
    if None in parts.trials:
        no_trials = "the trials of one side or both are not known one by one"
        if max(parts.n_trials) <= 1.0:
            no_trials = "with one trial an item, trial noise cannot be told from differences between items"
    doubled: list[tuple[Resource, Size, str]] = [
        ("as it is", now, ""),
        ("items", replace(now, n_items=2 * now.n_items), _SINGLE if basis.single else ""),
        ("trials", replace(now, n_trials=(2 * first, 2 * second)), no_trials),
    ]
    if now.n_clusters is not None:
        double = replace(now, n_items=2 * now.n_items, n_clusters=2 * now.n_clusters)
        doubled.append(("clusters", double, ""))
    look, steps = replace(aim, test="difference", margin=None), list[NextStep]()
    for buy, size, reason in doubled:
        step = NextStep(
            buy=buy, n_items=size.n_items, n_clusters=size.n_clusters, n_trials=size.n_trials, cost=costs.of(size)
        )
        if reason:
            steps.append(replace(step, reason=reason))
            continue
        variance, axis = _variance(basis, size), CountAxis(n_trials=size.n_trials)
        task = Task(solved="delta", aim=look, goal=goal, axis=axis, size=size, span=basis.span)
        efficiency = (_variance(basis, now) * costs.of(now)) / (variance * costs.of(size)) if variance > 0.0 else None
        needed, why = (None, "") if aim.delta == 0.0 else _needed(basis, design, look, goal, buy=buy, now=now)
        steps.append(
            replace(
                step,
                std_error=math.sqrt(variance) if variance > 0.0 else None,
                mde=detectable(_quick(design, size, basis), task, size),
                precision_per_cost=efficiency,
                needed=needed,
                reason=why,
            )
        )
    return tuple(steps)


def _quick(design: Design, size: Size | None, basis: Basis) -> Design:
    """Return the formula where a simulation takes long: of large sizes, and of how many clusters there should be."""
    if not isinstance(design, SimulatedDesign):
        return design
    if size is None:
        return design.base if basis.clustered else design
    return design.for_size(size)


def _variance(basis: Basis, size: Size) -> float:
    return basis.parts.variance(n_items=size.n_items, n_clusters=size.n_clusters, n_trials=size.n_trials)


def _needed(basis: Basis, design: Design, aim: Aim, goal: float, *, buy: Resource, now: Size) -> tuple[int | None, str]:
    """Return how many items, trials or clusters alone find the difference, or why no number does."""
    if buy == "as it is":
        return None, ""
    if buy == "trials":
        least, design = max(1, math.ceil(min(now.n_trials))), _quick(design, None, basis)

        def power_at(k: int) -> float:
            grown = (max(now.n_trials[0], float(k)), max(now.n_trials[1], float(k)))
            return design.power(replace(now, n_trials=grown), aim)

        found = smallest_count(power_at, goal, start=least, least=least, most=_MOST_TRIALS)
        return found, "" if found is not None else "no number of trials on these items is enough"
    by_clusters = buy == "clusters"
    axis = CountAxis(
        n_trials=now.n_trials,
        n_clusters=None if by_clusters else now.n_clusters,
        cluster_size=basis.cluster_size if by_clusters else None,
    )
    solved = "n_clusters" if by_clusters else "n_items"
    answer = solve(_quick(design, None, basis), Task(solved=solved, aim=aim, goal=goal, axis=axis))
    if answer is not None:
        return int(answer), ""
    return None, "no number of items in these clusters is enough" if now.n_clusters else "no number is enough"


def recommendation(basis: Basis, steps: tuple[NextStep, ...], costs: Costs) -> tuple[str, ...]:
    """Say in sentences which to buy: what lowers the standard error most for what it costs, and why."""
    known = [step for step in steps if step.std_error is not None]
    bought = [step for step in known if step.buy != "as it is"]
    best = best_step(steps)
    if len(known) < 2 or best is None:
        return ()
    now = known[0]
    change = (
        f"doubling them lowers the standard error from {scaled(now.std_error, basis.scale)} to "
        f"{basis.words(best.std_error)}"
    )
    words = [f"Buy {best.buy}: {change}."]
    if len(bought) > 1:
        others = ", ".join(
            f"{step.buy} to {scaled(step.std_error, basis.scale)}" for step in bought if step.buy != best.buy
        )
        price = "at the costs given" if costs.given else "for as many answers"
        words = [f"Buy {best.buy} first: {change} (doubling {others}), the most precision {price}."]
    first, second = basis.parts.trials
    if first is not None and second is not None and costs.given and costs.trial > 0.0:
        k = cheapest_trials(basis.parts.item, first + second, cost_item=costs.item, cost_trial=2.0 * costs.trial)
        words.append(
            "Items do not differ beyond their trials, so every answer counts the same wherever it is bought."
            if math.isinf(k)
            else f"At these costs about {plural(max(1, round(k)), 'trial')} an item make the most of a budget."
        )
    return tuple(words)


def best_step(steps: Sequence[NextStep]) -> NextStep | None:
    """Return what buys the most precision for its cost; None where nothing is known to buy any."""
    bought = [step for step in steps if step.std_error is not None and step.buy != "as it is"]
    return max(
        bought,
        key=lambda step: ((step.precision_per_cost or 0.0) + _SMALL * (step.buy == "items"), step.buy),
        default=None,
    )


def trials_table(design: Design, task: Task, basis: Basis) -> tuple[TrialRow, ...]:
    """Return the items needed with 1 to 10 trials of each; empty where trial noise or a number of items is not the matter."""
    if None in basis.parts.trials or task.solved != "n_items" or basis.clustered:
        return ()
    rows: list[TrialRow] = []
    for k in _TRIALS_SHOWN:
        found = solve(design, replace(task, axis=replace(task.axis, n_trials=(float(k), float(k)))))
        items = None if found is None else int(found)
        rows.append(TrialRow(n_trials=k, n_items=items, n_answers=None if items is None else 2 * k * items))
    return tuple(rows)
