"""Designs that a plan chooses between: right/wrong items, means whose variance has parts, and either by simulation."""

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy.typing as npt
from numpy import float64

from evalstats.analysis.power.basis import Basis
from evalstats.analysis.power.result import PowerTest
from evalstats.stats.checks import FEW_CLUSTERS
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.planning.clusters import MIN_DF, Rule, SimulatedPower, cluster_power, simulated_power
from evalstats.stats.planning.mean import MarginTest, mean_margin_power, mean_power
from evalstats.stats.planning.power import (
    PairedTest,
    discordant_shares,
    paired_binary_margin_power,
    paired_binary_power,
)
from evalstats.stats.planning.variance_components import DifferenceParts

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large an evaluation is; `n_clusters` is None where items are independent."""

    n_items: int
    n_clusters: int | None = None
    n_trials: tuple[float, float] = (1.0, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is to be shown: a difference, that it is no worse or equal by a margin, or how wide the interval may be."""

    test: PowerTest
    conf_level: float
    delta: float = 0.0
    margin: float | None = None


class Design(Protocol):
    """What a plan asks of a design."""

    def power(self, size: Size, aim: Aim) -> float:
        """Return the probability of showing what is aimed at; 0 where no outcome of this size can."""
        ...

    def half_width(self, size: Size, aim: Aim) -> float:
        """Return half the width that the interval is expected to have."""
        ...

    def scaled(self, factor: float) -> "Design":
        """Return the design with the variance of its differences multiplied."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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
        total = self.parts.per_item() + (self.parts.cluster or 0.0)
        variance = max(self.discordance, abs(delta)) - delta**2
        return replace(self.scaled(max(variance, _ROUNDING) / total), discordance=None)

    def std_error(self, size: Size) -> float:
        """Return the standard error of the difference."""
        variance = self.parts.variance(n_items=size.n_items, n_clusters=size.n_clusters, n_trials=size.n_trials)
        return math.sqrt(variance)

    def df(self, size: Size) -> float | None:
        """Return the degrees of freedom; None for a normal statistic."""
        return None if self.normal else self.parts.df(size.n_clusters, size.n_items)

    def step(self, size: Size) -> float:
        """Return the smallest amount by which an item's difference can change; 0 where there is none."""
        first, second = size.n_trials
        return 1.0 / first if self.lattice and first == second else 0.0

    def between(self, size: Size) -> float:
        """Return the share of the squared standard error that lies between clusters."""
        within = self.parts.per_item(size.n_trials) / size.n_items
        total = self.std_error(size) ** 2
        return round(min(1.0, max(0.0, 1.0 - within / total)), 2) if total > 0.0 else 0.5

    def power(self, size: Size, aim: Aim) -> float:
        """Return the closed form: see `mean_power`, `mean_margin_power` and `cluster_power`."""
        if self.discordance is not None:
            return self.at(aim.delta).power(size, aim)
        std_error, df = self.std_error(size), self.df(size)
        if not std_error > 0.0:
            return 1.0
        if df is not None and df < _ROUNDING:
            return 0.0
        clustered = self.parts.sizes and size.n_clusters is not None and df is not None
        if aim.margin is not None:
            if clustered and (size.n_clusters or 0) < FEW_CLUSTERS:
                return 0.0
            if clustered and aim.test == "equivalence" and (df or 0.0) < MIN_DF - _ROUNDING:
                return 0.0
            return mean_margin_power(
                aim.delta, aim.margin, std_error, df, test=margin_test(aim), conf_level=aim.conf_level
            )
        if clustered and size.n_clusters is not None and df is not None:
            return cluster_power(
                aim.delta,
                std_error,
                df,
                size.n_clusters,
                conf_level=aim.conf_level,
                shares=self.parts.shares(size.n_clusters),
                between=self.between(size),
                step=self.step(size) / size.n_items,
            )
        return mean_power(aim.delta, std_error, df, conf_level=aim.conf_level)

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
        first, second = self.parts.trials
        cluster = self.parts.cluster
        return replace(
            self,
            parts=replace(
                self.parts,
                cluster=None if cluster is None else factor * cluster,
                item=factor * self.parts.item,
                trials=(None if first is None else factor * first, None if second is None else factor * second),
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
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
            n_trials=max(1, int(min(size.n_trials))) if max(self.base.parts.n_trials) > 1 else None,
            step=self.base.step(size) if clustered else 0.0,
            claim="difference" if aim.margin is None else margin_test(aim),
            margin=aim.margin,
            conf_level=aim.conf_level,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )

    def power(self, size: Size, aim: Aim) -> float:
        """Share of simulated comparisons that show it."""
        return self.simulate(size, aim).power

    def half_width(self, size: Size, aim: Aim) -> float:
        """As without simulation."""
        return self.base.half_width(size, aim)

    def scaled(self, factor: float) -> "SimulatedDesign":
        """Multiply every part."""
        return replace(self, base=self.base.scaled(factor))


def margin_test(aim: Aim) -> MarginTest:
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
        bound=basis.units.span or 1.0,
        n_resamples=n_resamples,
        seed=seed,
    )
