"""Solve a plan for the number that was left open, and draw its curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from scipy import special

from evalstats.analysis.planning.designs import Aim, BinaryDesign, Design, PartsDesign, SimulatedDesign, Size
from evalstats.analysis.planning.results import CurvePoint, Solved
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.planning.mean import MOST, miller_n, smallest_count, smallest_effect, wave_of
from evalstats.stats.planning.power import connor_n, precision_n

MOST_SIMULATED = 20_000  # items; beyond that a mean is normal, and a formula is as good
_MOST_CLUSTERS = 100_000
_SIMULATED_TOLERANCE = 0.002
_TOLERANCE = 1e-7
_SMALL = 300
_FAR = 1000.0  # standard errors
_CURVE = [2.0 ** (k / 4.0) for k in range(-8, 9)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The count that is varied: items (in `n_clusters` clusters, where items come in clusters), or clusters.

    `cluster_size` None marks independent items or a fixed number of clusters; else a cluster brings as many items.
    """

    n_trials: tuple[float, float]
    n_clusters: int | None = None
    cluster_size: float | None = None

    @property
    def over_clusters(self) -> bool:
        """Whether clusters are counted."""
        return self.cluster_size is not None

    @property
    def least(self) -> int:
        """The smallest count that can be."""
        return 2 if self.over_clusters else max(2, self.n_clusters or 0)

    @property
    def most(self) -> int:
        """The largest count looked at."""
        return _MOST_CLUSTERS if self.over_clusters else MOST

    def at(self, count: int) -> Size:
        """Return the size that a count makes."""
        if self.cluster_size is None:
            return Size(n_items=count, n_clusters=self.n_clusters, n_trials=self.n_trials)
        items = max(count, round(count * self.cluster_size))
        return Size(n_items=items, n_clusters=count, n_trials=self.n_trials)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is left open, and everything that is given."""

    solved: Solved
    aim: Aim
    goal: float
    axis: Axis
    size: Size | None = None
    half_width: float | None = None
    span: float | None = None

    @property
    def counts(self) -> bool:
        """Whether a number of items or clusters is sought."""
        return self.solved in ("n_items", "n_clusters")


def solve(design: Design, task: Task) -> float | None:
    """Return what was left open; None where no value does."""
    if task.counts:
        return _count(design, task)
    if task.size is None:
        message = "a size is needed to solve for anything but a size"
        raise ValueError(message)
    if task.solved == "power":
        return design.power(task.size, task.aim)
    if task.solved == "half_width":
        width = design.half_width(task.size, task.aim)
        return width if math.isfinite(width) else None
    return detectable(design, task, task.size) if task.solved == "delta" else showable(design, task, task.size)


def detectable(design: Design, task: Task, size: Size) -> float | None:
    """Return the smallest difference that is found with the power asked for."""
    aim = replace(task.aim, margin=None, test="difference")
    return _least_effect(design, task, size, lambda delta: design.power(size, replace(aim, delta=delta)), low=0.0)


def _least_effect(
    design: Design, task: Task, size: Size, power_at: Callable[[float], float], *, low: float
) -> float | None:
    """Look within four times what a normal law would need, and only then as far as effects go."""
    farthest, error = _highest(design, task, size), _rough_error(design, size)
    near = low + 4.0 * error * (normal_quantile(task.aim.conf_level) + float(special.ndtri(task.goal)))
    tolerance = _SIMULATED_TOLERANCE if isinstance(design, SimulatedDesign) else _TOLERANCE
    if low < near < farthest:
        found = smallest_effect(power_at, task.goal, low=low, high=near, tolerance=tolerance)
        if found is not None:
            return found
    if not low < farthest:
        return None
    return smallest_effect(power_at, task.goal, low=low, high=farthest, tolerance=tolerance)


def _rough_error(design: Design, size: Size) -> float:
    if isinstance(design, BinaryDesign):
        return math.sqrt(max(design.discordance, 1e-6) / size.n_items)
    base = design.base if isinstance(design, SimulatedDesign) else design
    return base.std_error(size) if isinstance(base, PartsDesign) else 1.0


def showable(design: Design, task: Task, size: Size) -> float | None:
    """Return the smallest margin at which the claim is made with the power asked for."""
    aim = task.aim
    low = abs(aim.delta) if aim.test == "equivalence" else max(0.0, -aim.delta)

    def power_at(margin: float) -> float:
        return design.power(size, replace(aim, margin=max(margin, 1e-12)))

    return _least_effect(design, task, size, power_at, low=low)


def _highest(design: Design, task: Task, size: Size) -> float:
    """Return an effect beyond which none is looked for; a margin is below the whole range."""
    if isinstance(design, BinaryDesign):
        return 1.0 if task.aim.margin is None else 1.0 - 1e-9
    far = _rough_error(design, size) * (12.0 if isinstance(design, SimulatedDesign) else _FAR)
    return far if task.span is None else min(far, task.span)


def _count(design: Design, task: Task) -> int | None:
    axis = task.axis
    start = _start(design, task)
    most = min(axis.most, MOST_SIMULATED) if _simulates_items(design, axis) else axis.most
    if task.half_width is not None:
        wanted = task.half_width

        def narrow(count: int) -> float:
            return float(design.half_width(axis.at(count), task.aim) <= wanted)

        return smallest_count(narrow, 0.5, start=start, least=axis.least, most=most)
    wave = _wave(design, start) if isinstance(design, BinaryDesign) else 0
    return smallest_count(
        lambda count: design.power(axis.at(count), task.aim),
        task.goal,
        start=start,
        least=axis.least,
        most=most,
        wave=wave,
    )


def _wave(design: BinaryDesign, start: int) -> int:
    """Return how far the power may dip again: where nearly all items are discordant, or where there are few."""
    return wave_of(start) if start < _SMALL or design.discordance > 0.5 else 3


def _simulates_items(design: Design, axis: Axis) -> bool:
    return isinstance(design, SimulatedDesign) and not axis.over_clusters


def _start(design: Design, task: Task) -> int:
    """Return a first guess of the count, from a normal formula."""
    aim, axis = task.aim, task.axis
    distance = max(_distance(aim), 1e-9 * (task.span or 1.0))
    if isinstance(design, BinaryDesign):
        discordance = max(design.discordance, abs(aim.delta), 1e-9)
        if task.half_width is not None:
            return math.ceil(precision_n(task.half_width, discordance, conf_level=aim.conf_level))
        if aim.margin is None:
            return math.ceil(connor_n(aim.delta, discordance, conf_level=aim.conf_level, power=task.goal))
        return math.ceil(min(miller_n(distance, discordance, conf_level=aim.conf_level, power=task.goal), MOST))
    base = design.base if isinstance(design, SimulatedDesign) else design
    if not isinstance(base, PartsDesign):
        return axis.least
    one = max(axis.least, 30)
    variance = base.std_error(axis.at(one)) ** 2 * one
    if not variance > 0.0:
        return axis.least
    if task.half_width is not None:
        guess = precision_n(task.half_width, variance, conf_level=aim.conf_level)
    else:
        guess = miller_n(distance, variance, conf_level=aim.conf_level, power=task.goal)
    return max(axis.least, math.ceil(min(guess, axis.most)))


def _distance(aim: Aim) -> float:
    """Return how far the truth is from what is to be excluded."""
    if aim.margin is None:
        return abs(aim.delta)
    return aim.margin + aim.delta if aim.test == "noninferiority" else aim.margin - abs(aim.delta)


def curve(design: Design, task: Task, middle: int) -> tuple[CurvePoint, ...]:
    """Return power and what can be found at a quarter to four times the middle count.

    Powers are those of the design; where that is simulated, what can be found is by its formula.
    """
    formula = design.base if isinstance(design, SimulatedDesign) else design
    axis = task.axis
    counts = sorted({max(axis.least, round(middle * factor)) for factor in _CURVE} | {max(axis.least, middle)})
    if _simulates_items(design, axis):
        counts = [count for count in counts if count <= MOST_SIMULATED]
    if isinstance(design, SimulatedDesign) or axis.over_clusters:
        counts = [count for place, count in enumerate(counts) if place % 2 == 0 or count == middle]
    points: list[CurvePoint] = []
    for count in counts:
        size = axis.at(count)
        width = None if task.aim.test != "precision" else design.half_width(size, task.aim)
        points.append(
            CurvePoint(
                n_items=size.n_items,
                n_clusters=size.n_clusters,
                power=_power(design, task, size),
                mde=detectable(formula, task, size) if task.aim.test == "difference" else None,
                margin=showable(formula, task, size) if task.aim.test in ("noninferiority", "equivalence") else None,
                half_width=width if width is not None and math.isfinite(width) else None,
            )
        )
    return tuple(points)


def _power(design: Design, task: Task, size: Size) -> float | None:
    if task.aim.test == "precision" or task.solved in ("delta", "margin"):
        return None
    return design.power(size, task.aim)
