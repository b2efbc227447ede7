"""The posterior of a difference: an integrated likelihood, in which nothing but the difference is left, times a prior.

The nuisance parameters (what items, clusters and trials vary by) are integrated out once, under priors of their own, which gives
a function L(delta). Every prior of the difference then multiplies the same function, so that how far an answer depends on it
costs one more sum. Nothing is drawn: all integrals are Gauss-Legendre sums over panels, or trapezoid sums.

==============================  ===========================================  ==========================================
data                            model                                        nuisance parameters and their priors
==============================  ===========================================  ==========================================
items with one right-or-wrong   four cells of the 2x2 table, multinomial     the discordant share above |delta|:
answer a side                                                                u of 1 - |delta|, u ~ Beta(1/2, 1)
two groups, right or wrong      two binomials                                the first rate, uniform where it can lie
items in clusters, one way      d = delta + cluster + item (normal)          the items' variance 1/s^2, the intraclass
                                                                             correlation Beta(1/2, 1/2), which is half-
                                                                             Cauchy(1) on the ratio of both deviations
all others                      t of the estimate, its standard error and    the variance, 1/s^2
                                its degrees of freedom
==============================  ===========================================  ==========================================

Trials enter as item means: of items with equally many trials these are sufficient for the difference, and what trials vary by is
part of what items vary by. The last line is the posterior of a normal mean of unknown variance; with a flat prior its credible
interval is the confidence interval, so that its calibration is that interval's (the augmented t's, CR2's on several columns,
Welch's, of an average over levels, with runs counted). Of one-way clusters the model is kept whole instead: with eight clusters
of unlike sizes it covers as CR2 does, and is narrower where clusters tell much.

References: Box & Tiao 1973, Bayesian Inference in Statistical Analysis, ch. 2 and 5; Gelman 2006, doi:10.1214/06-BA117A
(half-Cauchy priors of standard deviations); Spiegelhalter, Freedman & Parmar 1994, doi:10.2307/2983527 (sceptical priors);
Berger, Liseo & Wolpert 1999, doi:10.1214/ss/1009211804 (integrated likelihoods).
"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, as_codes, as_values, check_bound, check_level
from evalstats.stats.estimate import legendre
from evalstats.stats.roots import bracketed_roots

_NODES = 16
# Ends of panels, in spreads of a likelihood or scales of a prior: tails of t laws need far ones.
_REACH = np.array([0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 25.0, 60.0, 200.0, 1e3, 1e4])
_FAR = 200.0
_NEAR = np.array([0.5, 1.0, 2.0, 3.0, 5.0, 9.0, 20.0, 100.0])  # the same for what is integrated out
# The logarithm of the ratio of cluster to item variance: beyond these its prior has less than 1e-9.
_RATIOS, _RATIO_STEP = 44.0, 0.25
# As a share of all squares: where items of a cluster differ by less, clusters are the units.
_NO_SPREAD = 1e-12


@record
class Prior:
    """What is thought of a difference before the data: a law centred at `centre`, in the unit of the scores.

    It is a t law with `df` degrees of freedom: its tails let data speak that lie far out. An infinite `df` is a normal law, which
    insists.
    """

    scale: float
    df: float = 3.0
    centre: float = 0.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.scale) and self.scale > 0.0):
            raise InputError(
                f"the scale of a prior is {self.scale:g}; give a positive number, in the unit of the scores"
            )
        if not (self.df > 0.0 and math.isfinite(self.centre)):
            raise InputError("a prior needs positive degrees of freedom and a finite centre")

    def log_density(self, delta: FloatArray) -> FloatArray:
        """Log of its density, up to a constant."""
        return _log_t((delta - self.centre) / self.scale, self.df)


def _log_t(z: FloatArray, df: float) -> FloatArray:
    """Log of the t density up to a constant; of the normal one for infinite `df`."""
    return -0.5 * np.square(z) if math.isinf(df) else -0.5 * (df + 1.0) * np.log1p(np.square(z) / df)


class Likelihood(Protocol):
    """A likelihood of the difference alone; `centre` and `spread` say about where it is of any size."""

    @property
    def centre(self) -> float: ...  # noqa: D102 (where it is about largest)
    @property
    def spread(self) -> float: ...  # noqa: D102 (about its standard deviation, above 0)

    def log(self, delta: FloatArray) -> FloatArray:
        """Log of the likelihood at each difference, up to a constant, shape (n,)."""
        ...


@record
class TLikelihood:
    """A normal estimate whose variance is known from `df` degrees of freedom; infinite `df` for one that is known."""

    centre: float
    spread: float
    df: float = math.inf

    def __post_init__(self) -> None:
        if not (math.isfinite(self.spread) and self.spread > 0.0 and self.df > 0.0 and math.isfinite(self.centre)):
            raise InputError(
                f"a standard error of {self.spread:g} on {self.df:g} degrees of freedom gives no posterior; both must be positive"
            )

    def log(self, delta: FloatArray) -> FloatArray:
        """Log of the t density of the estimate."""
        return _log_t((delta - self.centre) / self.spread, self.df)


@record
class PairsLikelihood:
    """Items that both sides answered once, right or wrong: `wins` and `losses` of the candidate, and items on which both agree.

    Notes
    -----
    With q the discordant share and q = |delta| + (1 - |delta|) u, the wins have probability (q + delta)/2, the losses
    (q - delta)/2 and the rest 1 - q. The prior of u is Beta(1/2, 1), with most of its mass at few discordant items.
    """

    wins: int
    losses: int
    agreeing: int

    def __post_init__(self) -> None:
        if min(self.wins, self.losses, self.agreeing) < 0 or self.wins + self.losses + self.agreeing < 1:
            raise InputError("a table of pairs needs counts of 0 or more, and an item")

    @property
    def n(self) -> int:
        """Items."""
        return self.wins + self.losses + self.agreeing

    @property
    def centre(self) -> float:
        """The observed difference."""
        return (self.wins - self.losses) / self.n

    @property
    def spread(self) -> float:
        """Its standard error with one item more of either kind."""
        return math.sqrt((self.wins + self.losses + 1.0) / self.n) / math.sqrt(self.n)

    def log(self, delta: FloatArray) -> FloatArray:
        """Log of the integral over the discordant share."""
        size = np.abs(delta)[:, np.newaxis]
        share = (self.wins + self.losses) / self.n
        step = math.sqrt((share * (1.0 - share) + 1.0 / self.n) / self.n)

        # In the root of u, in which the prior is flat.
        def root(q: FloatArray) -> FloatArray:
            return np.sqrt(np.clip((q - size) / np.maximum(1.0 - size, np.finfo(np.float64).tiny), 0.0, 1.0))

        steps = step * np.concatenate([-_NEAR[::-1], [0.0], _NEAR])[np.newaxis]
        w, log_width = _panels(
            np.sort(
                np.concatenate(
                    [
                        np.zeros_like(size),
                        root(share + steps),
                        root(size + step * _NEAR[np.newaxis]),
                        np.ones_like(size),
                    ],
                    axis=1,
                )
            )
        )
        rest = (1.0 - size) * (1.0 - np.square(w))
        q = 1.0 - rest
        with np.errstate(divide="ignore"):
            logs = (
                special.xlogy(self.wins, np.maximum(q + delta[:, np.newaxis], 0.0) / 2.0)
                + special.xlogy(self.losses, np.maximum(q - delta[:, np.newaxis], 0.0) / 2.0)
                + special.xlogy(self.agreeing, rest)
                + log_width
            )
        return _log_sum(logs)


@record
class GroupsLikelihood:
    """Two groups of different users or items, right or wrong: `right` of `n` in the first and in the second."""

    first_right: float
    first_n: int
    second_right: float
    second_n: int

    def __post_init__(self) -> None:
        for right, n in ((self.first_right, self.first_n), (self.second_right, self.second_n)):
            if n < 1 or not 0.0 <= right <= n:
                raise InputError(
                    f"{right:g} right of {n}: give two groups with an item each, and no more right than there are"
                )

    @property
    def centre(self) -> float:
        """The observed difference, second minus first."""
        return self.second_right / self.second_n - self.first_right / self.first_n

    @property
    def spread(self) -> float:
        """Its standard error with one answer more of either kind in each group."""
        rates = [
            ((right + 1.0) / (n + 2.0), n)
            for right, n in ((self.first_right, self.first_n), (self.second_right, self.second_n))
        ]
        return math.sqrt(sum(p * (1.0 - p) / n for p, n in rates))

    def log(self, delta: FloatArray) -> FloatArray:
        """Log of the integral over the first rate."""
        low, high = np.maximum(0.0, -delta)[:, np.newaxis], np.minimum(1.0, 1.0 - delta)[:, np.newaxis]
        steps = self.spread * np.concatenate([-_NEAR[::-1], [0.0], _NEAR])[np.newaxis]
        first, second = self.first_right / self.first_n, self.second_right / self.second_n
        near = [
            first + steps,
            second - delta[:, np.newaxis] + steps,
            low + self.spread * _NEAR,
            high - self.spread * _NEAR,
        ]
        p, log_width = _panels(
            np.sort(np.concatenate([low, *(np.clip(each, low, high) for each in near), high], axis=1))
        )
        other = p + delta[:, np.newaxis]
        with np.errstate(divide="ignore"):
            logs = log_width - np.log(high - low)
            for place, right, n in ((p, self.first_right, self.first_n), (other, self.second_right, self.second_n)):
                rate = np.clip(place, 0.0, 1.0)
                logs = logs + special.xlogy(right, rate) + special.xlogy(n - right, 1.0 - rate)
        return _log_sum(logs)


@record
class ClusterMoments:
    """What clustered item differences tell of their mean: for each size of cluster how many there are, and their means' moments.

    Attributes
    ----------
    sizes, counts
        Items of a cluster, and how many clusters have so many; shape (n_sizes,).
    means, squares
        Mean of the means of these clusters, and the sum of squares about it.
    within
        Sum of squares of the items about the means of their clusters.
    """

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    means: tuple[float, ...]
    squares: tuple[float, ...]
    within: float

    @classmethod
    def of(cls, differences: ArrayLike, clusters: ArrayLike) -> "ClusterMoments":
        """Reduce item differences, shape (n_items,), with whole-number codes of their clusters.

        >>> ClusterMoments.of([0.0, 1.0, 0.5, 0.5, 1.0], [0, 0, 1, 1, 2])
        ClusterMoments(sizes=(1, 2), counts=(1, 2), means=(1.0, 0.5), squares=(0.0, 0.0), within=0.5)
        """
        d = as_values(differences, "differences")
        codes, n = as_codes(clusters, d.size)
        size = np.bincount(codes, minlength=n)
        mean = np.bincount(codes, weights=d, minlength=n) / size
        within = float(np.square(d - mean[codes]).sum())
        sizes = np.unique(size)
        of_size = [mean[size == each] for each in sizes]
        means = [float(each.mean()) for each in of_size]
        return cls(
            sizes=tuple(sizes.tolist()),
            counts=tuple(each.size for each in of_size),
            means=tuple(means),
            squares=tuple(float(np.square(each - at).sum()) for each, at in zip(of_size, means, strict=True)),
            within=within,
        )


@record
class ClustersLikelihood:
    """Items in clusters: d_gi = delta + c_g + e_gi, both normal.

    Notes
    -----
    With the intraclass correlation r and u_g = 1/(r + (1 - r)/n_g), the items' variance integrates out in closed form:
    L(delta, r) = (1 - r)^(G/2) prod sqrt(u_g) [within + (1 - r) sum u_g (m_g - delta)^2]^(-N/2). Over r the sum is by the
    trapezoid rule in log r/(1 - r), in which prior and likelihood are smooth. Clusters weigh by u_g: equally where items of one
    are copies, by their size where they share nothing. So delta is the mean of new clusters, which is that of items only if the
    difference does not go by the size of the cluster.
    """

    moments: ClusterMoments

    def __post_init__(self) -> None:
        if sum(self.moments.counts) < 2:
            raise InputError("all items are in one cluster; a posterior for other clusters needs at least 2")
        if self._total <= 0.0:
            raise InputError("all items differ by the same amount, so nothing says how far others would")

    @property
    def _total(self) -> float:
        m = self.moments
        size, count, mean = (np.array(each, dtype=np.float64) for each in (m.sizes, m.counts, m.means))
        middle = float((size * count) @ mean / (size @ count))
        between = float(count @ np.square(mean - middle)) + sum(m.squares)
        return 0.0 if between + m.within <= _NO_SPREAD * (middle**2 or 1.0) else between + m.within

    def _nodes(self) -> tuple[FloatArray, FloatArray]:
        """Return 1 - r and what of the log-likelihood does not depend on delta, at each node, shape (n_nodes,)."""
        m = self.moments
        if m.within <= _NO_SPREAD * self._total:
            return np.zeros(1), np.zeros(1)
        groups = sum(m.counts)
        step = min(_RATIO_STEP, 1.0 / math.sqrt(groups))
        ratio = np.arange(-_RATIOS, _RATIOS + step / 2.0, step)
        log_rest = -np.logaddexp(0.0, ratio)
        precision = self._precision(np.exp(log_rest))
        constant = 0.5 * groups * log_rest + 0.5 * np.log(precision) @ np.array(m.counts, dtype=np.float64)
        # Beta(1/2, 1/2) of r, in its logit: sqrt(r (1 - r)).
        return np.exp(log_rest), constant + 0.5 * (ratio + 2.0 * log_rest)

    def _precision(self, rest: FloatArray) -> FloatArray:
        sizes = np.array(self.moments.sizes, dtype=np.float64)
        return 1.0 / (1.0 - rest[:, np.newaxis] * (1.0 - 1.0 / sizes))

    @property
    def centre(self) -> float:
        """The mean of the means of all clusters."""
        count = np.array(self.moments.counts, dtype=np.float64)
        return float(count @ np.array(self.moments.means) / count.sum())

    @property
    def spread(self) -> float:
        """The standard error of that mean."""
        m = self.moments
        count, mean = np.array(m.counts, dtype=np.float64), np.array(m.means)
        groups, items = float(count.sum()), float(count @ np.array(m.sizes, dtype=np.float64))
        between = float(count @ np.square(mean - self.centre)) + sum(m.squares)
        return math.sqrt((between / (groups - 1.0) + m.within / items / max(items - groups, 1.0)) / groups)

    def log(self, delta: FloatArray) -> FloatArray:
        """Log of the integral over the intraclass correlation and the variance."""
        m = self.moments
        rest, constant = self._nodes()
        precision = self._precision(rest)
        count, mean, squares = (np.array(each, dtype=np.float64) for each in (m.counts, m.means, m.squares))
        weight = precision @ count
        middle = precision @ (count * mean) / weight
        about = (precision * count * np.square(mean - middle[:, np.newaxis])).sum(axis=1) + precision @ squares
        reach = np.square(delta[np.newaxis] - middle[:, np.newaxis]) * weight[:, np.newaxis] + about[:, np.newaxis]
        if rest.size == 1:  # copies: clusters are the units
            return -0.5 * count.sum() * np.log(reach[0])
        items = float(count @ np.array(m.sizes, dtype=np.float64))
        logs = constant[:, np.newaxis] - 0.5 * items * np.log(m.within + rest[:, np.newaxis] * reach)
        return _log_sum(logs.T)


def _panels(cuts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nodes and the logs of their weights for the panels between ascending cuts, shape (n, n_cuts) each row apart."""
    nodes, weights = legendre(_NODES)
    half = 0.5 * np.diff(cuts, axis=1)[:, :, np.newaxis]
    places = cuts[:, :-1, np.newaxis] + half * (1.0 + nodes)
    with np.errstate(divide="ignore"):
        log_weight = np.log(half * weights)
    return places.reshape(len(cuts), -1), log_weight.reshape(len(cuts), -1)


def _log_sum(logs: FloatArray) -> FloatArray:
    """Return the log of the sum over the last axis."""
    return np.asarray(special.logsumexp(logs, axis=-1), dtype=np.float64)


# --- the posterior ---


@record
class DifferencePosterior:
    """What is to be thought of a difference, given data and prior; numbers in the unit of the scores.

    Attributes
    ----------
    mean, std_dev
        Of the posterior.
    low, high, conf_level
        The credible interval with equal tails, and how much of the posterior it holds.
    p_above
        P(the difference is above 0).
    p_above_margin, p_below_margin
        P(above the margin) and P(below minus the margin); None without a margin.
    loss_if_above, loss_if_below
        Expected loss of acting as if the difference were above 0, E max(-delta, 0), and as if below, E max(delta, 0).
    """

    prior: Prior
    mean: float
    std_dev: float
    low: float
    high: float
    conf_level: float
    p_above: float
    p_above_margin: float | None
    p_below_margin: float | None
    loss_if_above: float
    loss_if_below: float


def posteriors(
    likelihood: Likelihood,
    priors: Sequence[Prior],
    *,
    bound: float | None = None,
    margin: float | None = None,
    conf_level: float = 0.95,
) -> tuple[DifferencePosterior, ...]:
    """Posterior of a difference under each of several priors, from its one integrated likelihood.

    Parameters
    ----------
    likelihood
        One of this module's.
    priors
        What is thought before; `bound` cuts them off.
    bound
        The largest possible difference (1 for shares); None where there is none.
    margin
        Differences up to this size do not matter.

    Raises
    ------
    InputError
        If an option is out of its range.

    Notes
    -----
    Panels end at 0, at the margins, and at multiples of the likelihood's spread and the priors' scales about their centres; each
    has 16 Gauss-Legendre nodes. Probabilities are right to about 1e-9.

    Examples
    --------
    >>> seen = TLikelihood(centre=0.04, spread=0.02, df=200)
    >>> usual, sceptical = posteriors(seen, [Prior(scale=0.1), Prior(scale=0.025)], bound=1.0, margin=0.02)
    >>> round(usual.p_above, 3), round(sceptical.p_above, 3), round(usual.p_above_margin, 3)
    (0.974, 0.942, 0.822)
    """
    level = check_level(conf_level)
    bound = None if bound is None else check_bound(bound)
    if margin is not None and not (math.isfinite(margin) and margin > 0.0):
        raise InputError(f"margin is {margin:g}; give a positive number, in the unit of the scores")
    reach = np.concatenate([-_REACH[::-1], [0.0], _REACH])
    about = [likelihood.centre + likelihood.spread * reach, *(prior.centre + prior.scale * reach for prior in priors)]
    cuts = np.concatenate([*about, [0.0], *([] if margin is None else [[-margin, margin]])])
    cuts = np.unique(cuts if bound is None else np.clip(np.concatenate([cuts, [-bound, bound]]), -bound, bound))
    places, log_weight = _panels(cuts[np.newaxis])
    # Where there is nothing at either end of a panel, there is nothing in it: the ends lie close about the likelihood's centre.
    ends = likelihood.log(np.clip(cuts, *(cuts[[0, -1]] * (1.0 - 1e-12))))
    far = np.maximum(ends[1:], ends[:-1]) < ends.max() - _FAR
    delta, near = places[0], np.repeat(~far, _NODES)
    seen = np.full(delta.size, -np.inf)
    seen[near] = likelihood.log(delta[near])
    tails = np.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    found: list[DifferencePosterior] = []
    for prior in priors:
        density = seen + prior.log_density(delta)
        top = float(density.max())
        mass = np.exp(density + log_weight[0] - top)
        whole = float(mass.sum())
        mass = mass / whole
        mean = float(mass @ delta)
        ends = _quantiles(tails, cuts, mass, likelihood, prior, top + math.log(whole))
        each = DifferencePosterior(
            prior=prior,
            mean=mean,
            std_dev=math.sqrt(float(mass @ np.square(delta - mean))),
            low=float(ends[0]),
            high=float(ends[1]),
            conf_level=level,
            p_above=_share(mass, delta > 0.0),
            p_above_margin=None if margin is None else _share(mass, delta > margin),
            p_below_margin=None if margin is None else _share(mass, delta < -margin),
            loss_if_above=float(mass @ np.maximum(-delta, 0.0)),
            loss_if_below=float(mass @ np.maximum(delta, 0.0)),
        )
        found.append(each)
    return tuple(found)


def _share(mass: FloatArray, there: BoolArray) -> float:
    """Return a probability, never beyond 0 or 1 by rounding."""
    return min(1.0, max(0.0, float(mass @ there)))


def _quantiles(  # noqa: PLR0917 - what a posterior is made of
    tails: FloatArray, cuts: FloatArray, mass: FloatArray, likelihood: Likelihood, prior: Prior, log_whole: float
) -> FloatArray:
    """Return where so much of the posterior lies below; `mass` is that of the nodes of all panels."""
    below = np.concatenate([[0.0], np.cumsum(mass.reshape(-1, _NODES).sum(axis=1))])
    place = np.clip(np.searchsorted(below, tails) - 1, 0, len(cuts) - 2)
    low, high = cuts[place], cuts[place + 1]

    def excess(x: FloatArray) -> FloatArray:
        inner, log_weight = _panels(np.column_stack([low, x]))
        flat = inner.ravel()
        density = np.exp((likelihood.log(flat) + prior.log_density(flat)).reshape(inner.shape) + log_weight - log_whole)
        return np.asarray(below[place] + density.sum(axis=1) - tails, dtype=np.float64)

    return bracketed_roots(excess, low, high, at_low=below[place] - tails, at_high=below[place + 1] - tails)
