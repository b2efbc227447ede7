"""The same question by other tests, formulas and by simulation, and how far the answer hangs on the pilot."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from evalstats.analysis.power.basis import Basis
from evalstats.analysis.power.design import Aim, BinaryDesign, Design, PartsDesign, SimulatedDesign, Size, simulated
from evalstats.analysis.power.result import PlanRow, Solved
from evalstats.analysis.power.sample_size import MOST_SIMULATED, Task, solve
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.planning.clusters import design_effect
from evalstats.stats.planning.mean import MOST
from evalstats.stats.planning.power import connor_n
from evalstats.stats.planning.variance_components import DifferenceParts

_MOST_DRAWN = 40_000_000  # items drawn in one check by simulation


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """The answer at either end of the interval of what a pilot estimates."""

    low: float | None
    high: float | None
    words: str


def row_of(design: Design, task: Task, size: Size | None, *, method: str, role: str, note: str = "") -> PlanRow:
    """Return what a design answers, and its power at the size of the plan."""
    answer = solve(design, task)
    row = PlanRow(method=method, role=role, note=note)
    if task.solved == "n_items":
        row = replace(row, n_items=None if answer is None else int(answer))
    elif task.solved == "n_clusters":
        sized = None if answer is None else task.axis.at(int(answer))
        row = replace(
            row,
            n_clusters=None if sized is None else sized.n_clusters,
            n_items=None if sized is None else sized.n_items,
        )
    elif task.solved == "delta":
        row = replace(row, delta=answer)
    elif task.solved == "margin":
        row = replace(row, margin=answer)
    elif task.solved == "half_width":
        row = replace(row, half_width=answer)
    if task.solved == "power":
        return replace(row, power=answer)
    if size is None or task.aim.test == "precision" or task.solved in ("delta", "margin"):
        return row
    return replace(row, power=design.power(size, task.aim))


def beside(design: Design, basis: Basis, task: Task, size: Size | None) -> list[PlanRow]:
    """Return the rows that stand beside the headline."""
    if isinstance(design, BinaryDesign):
        return _beside_binary(design, task, size)
    base = design.base if isinstance(design, SimulatedDesign) else design
    if not isinstance(base, PartsDesign):
        return []
    return _beside_clusters(base, task, size) if basis.clustered else _beside_mean(base, task, size)


def _beside_binary(design: BinaryDesign, task: Task, size: Size | None) -> list[PlanRow]:
    aim = task.aim
    if aim.test == "precision":
        return _tango_width(design, task, size)
    plain = PartsDesign(parts=plain_parts(max(design.discordance, abs(aim.delta)) - aim.delta**2), normal=True)
    if aim.test != "difference":
        return [row_of(plain, task, size, method="normal formula", role="formula", note="variance psi − delta²")]
    rows = [
        row_of(
            replace(design, paired_test="midp"), task, size, method="McNemar mid-p", role="other test", note="exact sum"
        ),
        row_of(
            replace(design, paired_test="exact"),
            task,
            size,
            method="McNemar exact",
            role="other test",
            note="exact sum; the test is conservative",
        ),
    ]
    if task.solved == "n_items":
        discordance = max(design.discordance, abs(aim.delta))
        quick = connor_n(aim.delta, discordance, conf_level=aim.conf_level, power=task.goal)
        rows.append(
            PlanRow(
                method="Connor 1987",
                role="formula",
                n_items=math.ceil(quick) if quick < MOST else None,
                note="normal approximation of the same test",
            )
        )
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
    return [
        PlanRow(
            method="Tango score interval",
            role="other test",
            half_width=0.5 * (found.conf_high - found.conf_low),
            note=f"on the expected table of {n:,} items",
        )
    ]


def plain_parts(variance: float) -> DifferenceParts:
    """Return the parts of a variance that is all the items'."""
    return DifferenceParts(
        cluster=None,
        item=max(variance, 1e-12),
        trials=(None, None),
        cluster_raw=None,
        item_raw=variance,
        sizes=(),
        n_items=1,
        n_trials=(1.0, 1.0),
    )


def _beside_mean(base: PartsDesign, task: Task, size: Size | None) -> list[PlanRow]:
    other = replace(base, normal=not base.normal)
    name = "Student's t" if base.normal else "Miller's formula"
    note = "n − 1 degrees of freedom for the normal law" if base.normal else "the normal law for Student's t"
    return [row_of(other, task, size, method=name, role="formula", note=note)]


def _beside_clusters(base: PartsDesign, task: Task, size: Size | None) -> list[PlanRow]:
    """Return what the items would need if they were independent, and Miller's formula times the design effect."""
    if size is None or size.n_clusters is None or task.solved == "n_clusters":
        cluster_size = task.axis.cluster_size
    else:
        cluster_size = size.n_items / size.n_clusters
    parts = base.at(task.aim.delta).parts
    within = parts.per_item(task.axis.n_trials)
    total = within + (parts.cluster or 0.0)
    alone = PartsDesign(parts=plain_parts(total), normal=True)
    there = _unclustered(size or task.size)
    flat = replace(task, axis=replace(task.axis, n_clusters=None, cluster_size=None), solved=_flat(task), size=there)
    as_independent = row_of(alone, flat, _unclustered(size), method="items taken as independent", role="formula")
    rows = [replace(as_independent, note="too few: what items of a cluster share is left out")]
    if task.counts and cluster_size and as_independent.n_items is not None:
        effect = design_effect(cluster_size, (parts.cluster or 0.0) / total, size_cv=_size_cv(parts))
        items = math.ceil(effect * as_independent.n_items)
        rows.append(
            PlanRow(
                method="Miller times design effect",
                role="formula",
                n_items=items,
                n_clusters=math.ceil(items / cluster_size),
                note=f"design effect {effect:.2f}; normal law, no sign-flip",
            )
        )
    return rows


def _flat(task: Task) -> Solved:
    return "n_items" if task.solved == "n_clusters" else task.solved


def _unclustered(size: Size | None) -> Size | None:
    return None if size is None else replace(size, n_clusters=None)


def _size_cv(parts: DifferenceParts) -> float:
    sizes = np.array(parts.sizes, dtype=np.float64)
    return float(sizes.std() / sizes.mean()) if sizes.size else 0.0


def check_by_simulation(
    base: PartsDesign, basis: Basis, aim: Aim, size: Size, *, n_resamples: int, seed: int
) -> PlanRow | None:
    """Return the power at the plan's size, simulated with the rule of `compare`; None where that says nothing more.

    Clusters are always checked, since their formula approximates; independent items where there is a pilot, whose ties and
    skewness the formula does not know.
    """
    if aim.test == "precision" or (aim.test == "difference" and aim.delta == 0.0):
        return None
    if not basis.clustered and (basis.pool is None or size.n_items > MOST_SIMULATED):
        return None
    if size.n_clusters is not None and not 2 <= size.n_clusters * n_resamples <= _MOST_DRAWN:
        return None
    small = size.n_items * n_resamples <= _MOST_DRAWN
    design = simulated(base, basis, pool=small or not basis.clustered, n_resamples=n_resamples, seed=seed)
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
        note=(
            f"{_RULES[design.rule]} on {found.n_resamples:,} draws, seed {found.seed}, "
            f"{'noise of the pilot' if design.pool is not None else 'normal noise'}"
        ),
    )


_RULES = {
    "t": "t",
    "augmented-t": "augmented t",
    "cr2": "CR2 and the cluster sign-flip",
}


def answer_range(design: Design, basis: Basis, task: Task) -> Range | None:
    """Return the answers at either end of the interval of the pilot's variance (or share of discordant items)."""
    if not basis.is_pilot:
        return None
    level = task.aim.conf_level
    percent = f"{100 * level:.4g}%"
    if isinstance(design, BinaryDesign):
        if basis.discordant is None:
            return None
        n = basis.parts.n_items
        ends = wilson_ends(basis.discordant / n, n, normal_quantile(level))
        answers = [solve(replace(design, discordance=end), task) for end in ends]
        words = f"with {100 * ends[0]:.1f}% to {100 * ends[1]:.1f}% of items discordant ({percent} CI)"
        return _range(answers, words)
    df = basis.df
    if df is None or not df > 0.0:
        return None
    tail = 0.5 * (1.0 - level)
    factors = [df / float(special.chdtri(df, tail)), df / float(special.chdtri(df, 1.0 - tail))]
    answers = [solve(design.scaled(factor), task) for factor in factors]
    times = f"{factors[0]:.2g} to {factors[1]:.2g} times its variance"
    words = f"with {times} ({percent} CI, {df:.3g} degrees of freedom)"
    return _range(answers, words)


def _range(answers: list[float | None], words: str) -> Range:
    first, second = answers
    if first is not None and second is not None:
        first, second = min(first, second), max(first, second)
    return Range(low=first, high=second, words=words)
