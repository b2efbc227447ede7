"""What is solved for: the designs to choose between, and the size, difference, power or margin that is left open."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import cast

import numpy.typing as npt
from numpy import float64
from scipy import special

from evalstats.analysis.power.basis import Basis
from evalstats.analysis.power.result import CurvePoint, PowerMethod, PowerTest, Solved
from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.planning.clusters import MIN_DF, Rule, SimulatedPower, cluster_power, simulated_power
from evalstats.stats.planning.mean import (
    MOST,
    DifferenceParts,
    MarginClaim,
    mean_margin_power,
    mean_power,
    miller_n,
    smallest_count,
    smallest_effect,
    wave_of,
)
from evalstats.stats.planning.power import (
    PairedTest,
    connor_n,
    discordant_shares,
    paired_binary_margin_power,
    paired_binary_power,
    precision_n,
    two_proportions_power,
)

_ROUNDING = 1e-9


@record
class Size:
    """How large an evaluation is; `n_clusters` is None where items are independent."""

    n_items: int
    n_clusters: int | None = None
    n_trials: tuple[float, float] = (1.0, 1.0)


@record
class Aim:
    """What is to be shown: a difference, that it is no worse or equal by a margin, or how wide the interval may be."""

    test: PowerTest
    conf_level: float
    delta: float = 0.0
    margin: float | None = None


@record
class BinaryDesign:
    """Independent right/wrong items with one trial: exact sums over every outcome.

    `discordance` is raised to the difference where that is larger. The score test is taken with the rule of `compare` that
    fewer than 6 discordant items decide nothing; McNemar's tests without.
    """

    discordance: float
    paired_test: PairedTest = "score"

    def shares(self, delta: float) -> tuple[float, float]:
        """Return the probabilities of the two discordant cells."""
        return discordant_shares(max(self.discordance, abs(delta)), delta)

    def std_error(self, size: Size) -> float:
        """Return the standard error of the difference, roughly: where the two are equal."""
        return math.sqrt(max(self.discordance, 1e-6) / size.n_items)

    def power(self, size: Size, aim: Aim) -> float:
        """Sum over every outcome: see `paired_binary_power` and `paired_binary_margin_power`."""
        p10, p01 = self.shares(aim.delta)
        if aim.margin is not None:
            return paired_binary_margin_power(
                size.n_items, p10, p01, aim.margin, test=margin_test(aim), conf_level=aim.conf_level
            )
        if self.paired_test == "score":
            return paired_binary_power(size.n_items, p10, p01, conf_level=aim.conf_level)
        return paired_binary_power(
            size.n_items, p10, p01, conf_level=aim.conf_level, min_discordant=1, test=self.paired_test
        )

    def half_width(self, size: Size, aim: Aim) -> float:
        """Return z sqrt((psi - delta^2)/n)."""
        variance = max(self.discordance, abs(aim.delta)) - aim.delta**2
        return normal_quantile(aim.conf_level) * math.sqrt(variance / size.n_items)

    def scaled(self, factor: float) -> "BinaryDesign":
        """Multiply the discordance, up to 1."""
        return replace(self, discordance=min(1.0, self.discordance * factor))


@record
class PartsDesign:
    """Differences whose variance has parts for clusters, items and trials; normal, t, or t and sign-flip by clusters.

    `parts.sizes` are the pattern that cluster sizes follow; empty for independent items. With a `discordance` the variance
    is that of right/wrong items, discordance − delta², whatever the difference. `lattice` marks trials that are right or wrong.
    """

    parts: DifferenceParts
    normal: bool = False
    discordance: float | None = None
    lattice: bool = False

    def at(self, delta: float) -> "PartsDesign":
        """Return the design with the variance that goes with a true difference."""
        if self.discordance is None:
            return self
        variance = max(self.discordance, abs(delta)) - delta**2
        total = self.parts.per_item() + (self.parts.cluster or 0.0)
        return replace(self.scaled(max(variance, _ROUNDING) / total), discordance=None)

    def std_error(self, size: Size) -> float:
        """Return the standard error of the difference."""
        variance = self.parts.variance(n_items=size.n_items, n_clusters=size.n_clusters, n_trials=size.n_trials)
        return math.sqrt(variance)

    def total(self, n_trials: tuple[float, float]) -> float:
        """Return the variance of one item's difference, clusters and trials included."""
        return self.parts.per_item(n_trials) + (self.parts.cluster or 0.0)

    def df(self, size: Size) -> float | None:
        """Return the degrees of freedom; None for a normal statistic."""
        return None if self.normal else self.parts.df(size.n_clusters, size.n_items)

    def step(self, size: Size) -> float:
        """Return the smallest amount by which an item's difference can change; 0 where there is none."""
        first, second = size.n_trials
        return 1.0 / first if self.lattice and first == second else 0.0

    def power(self, size: Size, aim: Aim) -> float:
        """Return the closed form: see `mean_power`, `mean_margin_power` and `cluster_power`."""
        if self.discordance is not None:
            return self.at(aim.delta).power(size, aim)
        std_error, df = self.std_error(size), self.df(size)
        if not std_error > 0.0:
            return 1.0
        if df is not None and df < _ROUNDING:
            return 0.0
        n_clusters = size.n_clusters if self.parts.sizes and df is not None else None
        if aim.margin is not None:
            # Too few clusters decide nothing, as in `compare`.
            if n_clusters is not None and (
                n_clusters < FEW_CLUSTERS or (aim.test == "equivalence" and (df or 0.0) < MIN_DF - _ROUNDING)
            ):
                return 0.0
            return mean_margin_power(
                aim.delta, aim.margin, std_error, df, test=margin_test(aim), conf_level=aim.conf_level
            )
        if n_clusters is None or df is None:
            return mean_power(aim.delta, std_error, df, conf_level=aim.conf_level)
        total, within = std_error**2, self.parts.per_item(size.n_trials) / size.n_items
        return cluster_power(
            aim.delta,
            std_error,
            df,
            n_clusters,
            conf_level=aim.conf_level,
            shares=self.parts.shares(n_clusters),
            between=round(min(1.0, max(0.0, 1.0 - within / total)), 2) if total > 0.0 else 0.5,
            step=self.step(size) / size.n_items,
        )

    def half_width(self, size: Size, aim: Aim) -> float:
        """Quantile times standard error; infinite where there is no interval."""
        if self.discordance is not None:
            return self.at(aim.delta).half_width(size, aim)
        df = self.df(size)
        if df is not None and df < _ROUNDING:
            return math.inf
        if self.parts.sizes and (size.n_clusters or 0) < FEW_CLUSTERS:
            return math.inf
        quantile = normal_quantile(aim.conf_level) if df is None else t_quantile(aim.conf_level, df)
        return quantile * self.std_error(size)

    def scaled(self, factor: float) -> "PartsDesign":
        """Multiply every part."""
        return replace(self, parts=self.parts.scaled(factor))


@record
class UnpairedDesign(PartsDesign):
    """Two groups of different users, as many on either side: sizes are those of a side, `parts` the variances of both together.

    With an `accuracy` of the baseline scores are right or wrong, and their variance follows the true difference; `loss` says that
    this is one.
    """

    accuracy: float | None = None
    loss: bool = False

    def rates(self, delta: float) -> tuple[float, float]:
        """Return the success rates of both sides; no difference takes one beyond 0 or 1."""
        baseline = self.accuracy or 0.0
        return baseline, min(1.0, max(0.0, baseline - delta if self.loss else baseline + delta))

    def at(self, delta: float) -> "UnpairedDesign":
        """Return the design with the variance that goes with a true difference."""
        if self.accuracy is None:
            return self
        variance = sum(p * (1.0 - p) for p in self.rates(delta))
        factor = max(variance, _ROUNDING) / (self.parts.item + (self.parts.cluster or 0.0))
        return replace(self, parts=self.parts.scaled(factor), accuracy=None)

    def df(self, size: Size) -> float | None:
        """Return the degrees of freedom of both sides together."""
        return 2.0 * self.parts.df(size.n_clusters, size.n_items)

    def power(self, size: Size, aim: Aim) -> float:
        """Return the power of the score test, of Welch's t, or of CR2's t where rows come in clusters."""
        if self.accuracy is not None and aim.margin is None and not self.parts.sizes:
            return two_proportions_power(size.n_items, *self.rates(aim.delta), conf_level=aim.conf_level)
        design = self.at(aim.delta)
        std_error, df = design.std_error(size), design.df(size)
        few = self.parts.sizes and (size.n_clusters or 0) < FEW_CLUSTERS
        if few or df is None or df < _ROUNDING:
            return 0.0
        if not std_error > 0.0:
            return 1.0
        if aim.margin is None:
            return mean_power(aim.delta, std_error, df, conf_level=aim.conf_level)
        return mean_margin_power(aim.delta, aim.margin, std_error, df, test=margin_test(aim), conf_level=aim.conf_level)


@record
class SimulatedDesign:
    """A design of parts, with its power simulated by the rule of a comparison.

    `pool` holds the differences of a pilot, whose shape the noise takes; None draws normal noise.
    """

    base: PartsDesign
    rule: Rule
    pool: npt.NDArray[float64] | None = None
    bound: float = 1.0
    n_resamples: int = 4000
    seed: int = 0

    def simulate(self, size: Size, aim: Aim) -> SimulatedPower:
        """Return the simulated power with its Monte Carlo interval."""
        if self.base.discordance is not None:
            return replace(self, base=self.base.at(aim.delta)).simulate(size, aim)
        clustered = self.rule == "cr2"
        return simulated_power(
            aim.delta,
            n_items=size.n_items,
            variance=self.base.parts.per_item(size.n_trials),
            pool=self.pool,
            shares=self.base.parts.shares(size.n_clusters) if clustered else None,
            cluster_variance=(self.base.parts.cluster or 0.0) if clustered else 0.0,
            rule=self.rule,
            bound=self.bound,
            # One value an item that is no single answer is a share of unknown many: no floor under its pseudo-items.
            step=self.base.step(size) if clustered else 0.0,
            claim="difference" if aim.margin is None else margin_test(aim),
            margin=aim.margin,
            conf_level=aim.conf_level,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )

    def std_error(self, size: Size) -> float:
        """As without simulation."""
        return self.base.std_error(size)

    def power(self, size: Size, aim: Aim) -> float:
        """Share of simulated comparisons that show it."""
        return self.simulate(size, aim).power

    def half_width(self, size: Size, aim: Aim) -> float:
        """As without simulation."""
        return self.base.half_width(size, aim)

    def scaled(self, factor: float) -> "SimulatedDesign":
        """Multiply every part of the variance."""
        return replace(self, base=self.base.scaled(factor))

    def for_size(self, size: Size) -> "PartsDesign | SimulatedDesign":
        """Return the formula for sizes at which a simulation takes long and shows the same."""
        many = size.n_items > _MANY if size.n_clusters is None else size.n_clusters > _MANY_CLUSTERS
        return self.base if many else self


# `std_error` is that of the difference, `power` the probability of showing what is aimed at, `half_width` half the width that
# the interval is expected to have.
Design = BinaryDesign | PartsDesign | SimulatedDesign


def parts_of(design: Design) -> PartsDesign | None:
    """Return the variance parts behind a design; None of right/wrong items, which have a discordance in their place."""
    return design.base if isinstance(design, SimulatedDesign) else design if isinstance(design, PartsDesign) else None


def margin_test(aim: Aim) -> MarginClaim:
    """Return which claim is made at the margin."""
    return "equivalence" if aim.test == "equivalence" else "noninferiority"


def simulated(
    base: PartsDesign, basis: Basis, *, pool: bool = True, n_resamples: int = 4000, seed: int = 0
) -> SimulatedDesign:
    """Return a design by simulation, with the rule of `compare` for such data."""
    return SimulatedDesign(
        base=replace(base, normal=False),
        rule="cr2" if basis.clustered else "t" if basis.rule == "cr2" else basis.rule,
        pool=basis.pool if pool else None,
        bound=basis.span or 1.0,
        n_resamples=n_resamples,
        seed=seed,
    )


_MANY, _MANY_CLUSTERS = 1_000, 40  # beyond, sizes other than the plan's go by formula
MOST_SIMULATED = 20_000  # items; beyond that a mean is normal, and a formula is as good
_MOST_CLUSTERS = 100_000
_SIMULATED_TOLERANCE = 0.002
_TOLERANCE = 1e-7
_SMALL = 300
_FAR = 1000.0  # standard errors
_CURVE = [2.0 ** (k / 4.0) for k in range(-8, 9)]


@record
class CountAxis:
    """The count that is varied: items (in `n_clusters` clusters, where items come in clusters), or clusters.

    `cluster_size` None marks independent items or a fixed number of clusters; else a cluster brings as many items. Of several
    tasks each has as many items, so that a number of all is made a multiple of them.
    """

    n_trials: tuple[float, float]
    n_clusters: int | None = None
    cluster_size: float | None = None
    n_tasks: int = 1

    @property
    def over_clusters(self) -> bool:
        """Whether clusters are counted."""
        return self.cluster_size is not None

    @property
    def least(self) -> int:
        """The smallest count that can be."""
        return 2 if self.over_clusters else max(2 * self.n_tasks, self.n_clusters or 0)

    @property
    def most(self) -> int:
        """The largest count looked at."""
        return _MOST_CLUSTERS if self.over_clusters else MOST

    def at(self, count: int) -> Size:
        """Return the size that a count makes."""
        if self.cluster_size is None:
            count = self.n_tasks * math.ceil(count / self.n_tasks)
            return Size(n_items=count, n_clusters=self.n_clusters, n_trials=self.n_trials)
        items = max(count, round(count * self.cluster_size))
        return Size(n_items=items, n_clusters=count, n_trials=self.n_trials)


@record
class Task:
    """What is left open, and everything that is given."""

    solved: Solved
    aim: Aim
    goal: float
    axis: CountAxis
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
        raise ValueError("a size is needed to solve for anything but a size")
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
    farthest, error = _highest(design, task, size), design.std_error(size)
    near = low + 4.0 * error * (normal_quantile(task.aim.conf_level) + float(special.ndtri(task.goal)))
    tolerance = _SIMULATED_TOLERANCE if isinstance(design, SimulatedDesign) else _TOLERANCE
    if low < near < farthest:
        found = smallest_effect(power_at, task.goal, low=low, high=near, tolerance=tolerance)
        if found is not None:
            return found
    if not low < farthest:
        return None
    return smallest_effect(power_at, task.goal, low=low, high=farthest, tolerance=tolerance)


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
    far = design.std_error(size) * (12.0 if isinstance(design, SimulatedDesign) else _FAR)
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
    wave = 0
    if isinstance(design, BinaryDesign):
        # The power may dip again far beyond where nearly all items are discordant, or where there are few.
        wave = wave_of(start) if start < _SMALL or design.discordance > 0.5 else 3
    return smallest_count(
        lambda count: design.power(axis.at(count), task.aim),
        task.goal,
        start=start,
        least=axis.least,
        most=most,
        wave=wave,
    )


def _simulates_items(design: Design, axis: CountAxis) -> bool:
    return isinstance(design, SimulatedDesign) and not axis.over_clusters


def _start(design: Design, task: Task) -> int:
    """Return a first guess of the count, from a normal formula."""
    aim, axis = task.aim, task.axis
    distance = abs(aim.delta)  # of the truth from what is to be excluded
    if aim.margin is not None:
        distance = aim.margin + aim.delta if aim.test == "noninferiority" else aim.margin - abs(aim.delta)
    distance = max(distance, 1e-9 * (task.span or 1.0))
    if isinstance(design, BinaryDesign):
        discordance = max(design.discordance, abs(aim.delta), 1e-9)
        if task.half_width is not None:
            return math.ceil(precision_n(task.half_width, discordance, conf_level=aim.conf_level))
        if aim.margin is None:
            return math.ceil(connor_n(aim.delta, discordance, conf_level=aim.conf_level, power=task.goal))
        return math.ceil(min(miller_n(distance, discordance, conf_level=aim.conf_level, power=task.goal), MOST))
    one = max(axis.least, 30)
    variance = design.std_error(axis.at(one)) ** 2 * one
    if not variance > 0.0:
        return axis.least
    if task.half_width is not None:
        guess = precision_n(task.half_width, variance, conf_level=aim.conf_level)
    else:
        guess = miller_n(distance, variance, conf_level=aim.conf_level, power=task.goal)
    return max(axis.least, math.ceil(min(guess, axis.most)))


def curve(design: Design, task: Task, middle: int, *, answer: float | None = None) -> tuple[CurvePoint, ...]:
    """Return power and what can be found at a quarter to four times the middle count; at the plan's size, its `answer`."""
    axis, test = task.axis, task.aim.test
    counts = sorted({max(axis.least, round(middle * factor)) for factor in _CURVE} | {max(axis.least, middle)})
    if _simulates_items(design, axis):
        counts = [count for count in counts if count <= MOST_SIMULATED]
    if isinstance(design, SimulatedDesign) or axis.over_clusters:
        counts = [count for place, count in enumerate(counts) if place % 2 == 0 or count == middle]
    points: list[CurvePoint] = []
    for count in counts:
        size = axis.at(count)
        width = None if test != "precision" else design.half_width(size, task.aim)
        effects = task.solved in ("delta", "margin")
        points.append(
            CurvePoint(
                n_items=size.n_items,
                n_clusters=size.n_clusters,
                power=None if effects or test == "precision" else design.power(size, task.aim),
                mde=_reach(design, task, size, answer) if test == "difference" else None,
                margin=_reach(design, task, size, answer) if test in _MARGINS else None,
                half_width=width if width is not None and math.isfinite(width) else None,
            )
        )
    return tuple(points)


def _reach(design: Design, task: Task, size: Size, answer: float | None) -> float | None:
    """Return the smallest difference, or margin, that can be shown at a size."""
    if task.solved in ("delta", "margin") and size == task.size:
        return answer
    if isinstance(design, SimulatedDesign):
        design = design.for_size(size)
    return detectable(design, task, size) if task.aim.test == "difference" else showable(design, task, size)


_MARGINS = ("noninferiority", "equivalence")
_FEW = 100  # below so many items Student's t differs from the normal law by more than a percent of the power


@record
class Request:
    """The options of a plan, checked and in the metric's own unit; None where nothing was said."""

    test: PowerTest
    goal: float
    conf_level: float
    method: str
    n_trials: tuple[float, float]
    delta: float | None = None
    margin: float | None = None
    half_width: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    cluster_size: float | None = None
    n_resamples: int = 4000
    seed: int = 0


@record
class Solution:
    """The answer, and the design and method that gave it; `size` is the plan's, None where there is no answer."""

    method: PowerMethod
    reason: str
    design: Design
    answer: float | None
    size: Size | None


def task_of(request: Request, basis: Basis) -> Task:
    """Return what is open."""
    if request.n_clusters is not None and not basis.clustered:
        raise InputError("n_clusters was given, and nothing says that items come in clusters; give cluster or icc")
    delta, margin = request.delta or 0.0, request.margin
    if request.test == "difference" and request.delta == 0.0:
        raise InputError("delta is 0: a zero difference cannot be detected; to show that there is none, use a margin")
    if margin is not None and margin <= 0.0:
        raise InputError(f"margin is {margin:g}; give a positive number, such as 2pp")
    if margin is not None and (delta <= -margin or (request.test == "equivalence" and delta >= margin)):
        raise InputError(
            f"with a true difference of {delta:g} and a margin of {margin:g} the claim would be false; lower delta or raise "
            "the margin"
        )
    grown = request.cluster_size is not None or (
        request.n_clusters is not None and request.n_items != request.n_clusters
    )
    if basis.single and grown:
        raise InputError(
            "no cluster of the pilot holds two items, so it cannot tell what more items in a cluster would do; plan in clusters "
            "of one item"
        )
    named = request.n_items is not None or request.n_clusters is not None
    effect = {"difference": request.delta, "precision": request.half_width}.get(request.test, request.margin)
    if effect is None and not named and not basis.is_pilot:
        raise InputError(_WANTED[request.test])
    # A difference or a margin with the clusters fixed asks for the items in them.
    over_items = request.n_clusters is not None and request.n_items is None and effect is not None
    counted = effect is not None and (not named or over_items)
    fixed = request.n_clusters if over_items else None
    each = (request.cluster_size or basis.cluster_size) if basis.clustered and fixed is None else None
    solved = {"difference": "delta", "precision": "half_width"}.get(request.test, "margin")
    if counted:
        solved = "n_items" if each is None else "n_clusters"
    elif effect is not None:
        if request.test == "precision":
            raise InputError("both a size and half_width were given, and a precision has no power; give one of them")
        solved = "power"
    return Task(
        solved=cast("Solved", solved),
        aim=Aim(
            test=request.test,
            conf_level=request.conf_level,
            delta=abs(delta) if request.test == "difference" else delta,
            margin=margin if margin is not None else 1.0 if request.test in _MARGINS else None,
        ),
        goal=request.goal,
        axis=CountAxis(n_trials=request.n_trials, n_clusters=fixed, cluster_size=each, n_tasks=basis.n_tasks or 1),
        size=None if counted else _size(request, basis),
        half_width=request.half_width if counted else None,
        span=basis.span,
    )


_WANTED_MARGIN = "say what to plan for: margin (the largest difference that does not matter), n_items, or a pilot"
_WANTED: Mapping[PowerTest, str] = {
    "difference": "say what to plan for: delta (a difference that matters), n_items (a size), or a pilot",
    "noninferiority": _WANTED_MARGIN,
    "equivalence": _WANTED_MARGIN,
    "precision": "say what to plan for: half_width (of the interval), n_items (a size), or a pilot",
}


def _size(request: Request, basis: Basis) -> Size:
    """Return the size that was named, or the pilot's."""
    items, clusters = request.n_items, request.n_clusters
    if not basis.clustered:
        n, tasks = items if items is not None else basis.parts.n_items, basis.n_tasks or 1
        if n < 2 * tasks and basis.n_tasks:
            raise InputError(f"{n} items are fewer than 2 of each of {tasks} tasks; give at least {2 * tasks}")
        return Size(n_items=n - n % tasks, n_trials=request.n_trials)
    each = request.cluster_size or basis.cluster_size
    if items is None and clusters is None:
        items, clusters = basis.parts.n_items, len(basis.parts.sizes)
    if clusters is None:
        clusters = max(1, round((items or 1) / each))
    if items is None:
        items = max(clusters, round(clusters * each))
    if items < clusters:
        raise InputError(f"{items} items cannot fill {clusters} clusters")
    return Size(n_items=items, n_clusters=clusters, n_trials=request.n_trials)


def solution(request: Request, basis: Basis, task: Task) -> Solution:
    """Choose the method, or check the one asked for, and solve."""
    found = _solved(request, basis, task, *_method(request, basis))
    if found.method == "miller" and request.method == "auto" and found.size is not None and found.size.n_items < _FEW:
        reason = f"with fewer than {_FEW} items the normal formula promises too much"
        return _solved(request, basis, task, "t", reason)
    return found


def _solved(request: Request, basis: Basis, task: Task, method: PowerMethod, reason: str) -> Solution:
    if method in ("exact", "formula"):
        return solved_by(BinaryDesign(discordance=basis.discordance or 0.0), task, method, reason)
    if method == "independent":
        loss = request.test == "difference" and (request.delta or 0.0) < 0.0
        return solved_by(UnpairedDesign(parts=basis.parts, accuracy=basis.accuracy, loss=loss), task, method, reason)
    assumed = basis.discordance if not basis.is_pilot else None
    design = PartsDesign(parts=basis.parts, normal=method == "miller", discordance=assumed, lattice=basis.lattice)
    if method == "simulation":
        design = simulated(design, basis, n_resamples=request.n_resamples, seed=request.seed)
    return solved_by(design, task, method, reason)


def solved_by(design: Design, task: Task, method: PowerMethod, reason: str) -> Solution:
    """Return the answer of a design."""
    answer = solve(design, task)
    size = None if answer is None else task.axis.at(int(answer)) if task.counts else task.size
    return Solution(method=method, reason=reason, design=design, answer=answer, size=size)


def _method(request: Request, basis: Basis) -> tuple[PowerMethod, str]:
    wanted = request.method
    if basis.different:
        if wanted != "auto":
            raise InputError(f"method {wanted!r} is of systems on the same items; leave it out")
        return "independent", f"each side has {basis.different} of its own"
    if (
        request.test == "precision"
        and wanted in ("auto", "exact")
        and basis.discordance is not None
        and not basis.clustered
        and not basis.parts.run
    ):
        return "formula", "the width of an interval follows from the spread of the differences"
    if wanted == "auto":
        if basis.clustered:
            return "clusters", "items come in clusters, so clusters are the unit that carries information"
        if basis.discordance is not None and not basis.parts.run:
            return "exact", "scores are right or wrong with one trial an item"
        return "miller", "the spread of the item differences is known, and items are independent"
    if wanted in ("exact", "simulation") and basis.parts.run:
        raise InputError(f"method {wanted!r} does not cover whole runs; leave it out")
    if wanted == "exact" and basis.discordance is None:
        raise InputError(
            "method 'exact' is for right-or-wrong scores with one trial an item: give discordance, accuracy or such a pilot"
        )
    if wanted == "simulation" and request.test == "precision":
        raise InputError("the width of an interval needs no simulation; leave method out")
    if wanted == "simulation" and basis.discordance is not None and not basis.clustered:
        raise InputError(
            "method 'simulation' is for trials, graded scores and clusters; right-or-wrong items with one trial are summed "
            "exactly: use method 'exact'"
        )
    if wanted == "clusters" and not basis.clustered:
        raise InputError("method 'clusters' needs clusters: name cluster with the pilot, or give icc and cluster_size")
    return cast("PowerMethod", wanted), "it was asked for"


def final_aim(task: Task, answer: float | None) -> Aim:
    """Return the aim with the answer in it."""
    if task.solved == "delta" and answer is not None:
        return replace(task.aim, delta=answer)
    if task.solved == "margin":
        return replace(task.aim, margin=answer)
    return task.aim
