"""Two-parameter item response models: how steeply, and at which ability, each item tells models apart.

logit P(model m solves item i) = slope_i * ability_m + intercept_i, with abilities from a standard normal law; the difficulty
of an item is -intercept / slope.

References: Birnbaum 1968, in Lord & Novick; Bock & Aitkin 1981, doi:10.1007/BF02293801 (marginal maximum likelihood); Naylor &
Smith 1982, doi:10.2307/2347995 (adaptive quadrature); Liu, Rubin & Wu 1998, doi:10.1093/biomet/85.4.755 (parameter expansion);
Louis 1982, doi:10.1111/j.2517-6161.1982.tb01203.x (observed information); Mislevy 1986, doi:10.1007/BF02293979 (priors of
items); Varadhan & Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x (acceleration).
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray
from evalstats.stats.computation import one_thread
from evalstats.stats.roots import solved

FEWEST_MODELS = 5
_CELLS_AT_ONCE = 100_000
_MOST_ROUNDS = 500
_AT_REST = 1e-5
# Benchmarks' items, on abilities with a standard deviation of 1: slopes about 1, intercepts anywhere between all and none right.
PRIOR_MEAN, PRIOR_SD = (1.0, 0.0), (0.5, 3.0)
_LONGEST_STEP = 1.5
_LEAST_SPREAD = 1e-8


@record
class ItemCurves:
    """A fitted two-parameter model: arrays of shape (n_items,) and (n_models,), in logits per standard deviation of ability.

    Attributes
    ----------
    slope, intercept
        Of each item. A negative slope says that weaker models solve it more often.
    slope_error, intercept_error
        Standard errors from the observed information, abilities not taken as known; with a prior, posterior standard
        deviations.
    ability, ability_error
        Mean and standard deviation of each model's ability given its answers and the items.
    log_likelihood
        Marginal log-likelihood of the answers, abilities integrated out.
    converged
        Whether the search came to rest.
    """

    slope: FloatArray
    intercept: FloatArray
    slope_error: FloatArray
    intercept_error: FloatArray
    ability: FloatArray
    ability_error: FloatArray
    log_likelihood: float
    converged: bool

    def chances(self, ability: FloatArray) -> FloatArray:
        """Return how probable it is that models of these abilities solve each item; shape (n_items, n_abilities)."""
        return np.asarray(special.expit(np.outer(self.slope, ability) + self.intercept[:, None]), dtype=np.float64)


@one_thread
def two_parameter(
    right: ArrayLike,
    trials: ArrayLike | None = None,
    *,
    prior: bool = True,
    same_slope: bool = False,
    start: "ItemCurves | None" = None,
) -> ItemCurves:
    """Fit slopes and intercepts of all items by marginal maximum likelihood.

    `right`: float64, shape (n_items, n_models): trials that are right, NaN where a model never had the item. `trials`: how many
    trials each cell has; None for one. `prior`: slopes are held near 1 and intercepts near 0 by normal laws with standard
    deviations .5 and 3, without which some thirty models leave a slope open; False needs hundreds of models. `same_slope`: all
    items have one slope, estimated without a prior (the one-parameter model of Rasch). `start`: curves of the same items, near
    which the search begins.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 5 models, or no two items; without a prior, if every or no model solves an item, which
        then has no finite estimate.

    Notes
    -----
    An EM algorithm: abilities are integrated over nodes that follow each model's own posterior (of few items many nodes, of
    many items five: the posterior is then nearly normal), each item takes a Newton step on its expected log-likelihood, and
    mean and spread of the abilities are moved into the items after each round. Every third step is extrapolated (SQUAREM).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> ability, slope = rng.normal(size=400), np.array([0.5, 1.0, 2.0, -0.5] * 5)
    >>> right = (rng.random((20, 400)) < special.expit(np.outer(slope, ability))).astype(float)
    >>> found = two_parameter(right)
    >>> found.slope[:4].round(1).tolist(), found.converged
    ([0.4, 1.0, 1.8, -0.6], True)
    """
    y = np.asarray(right, dtype=np.float64)
    known = ~np.isnan(y)
    n = known.astype(np.float64) if trials is None else np.where(known, np.asarray(trials, dtype=np.float64), 0.0)
    y = np.where(known, y, 0.0)
    if ((y < 0) | (y > n)).any():
        raise InputError("item response models need right-or-wrong trials: 0 to the number of trials in every cell")
    _check(y, n, prior=prior)
    fit = _Fit(y, n, prior=prior, same_slope=same_slope, start=start)
    converged = any(fit.cycle() < _AT_REST for _ in range(_MOST_ROUNDS))
    return fit.curves(converged=converged)


def _check(y: FloatArray, n: FloatArray, *, prior: bool) -> None:
    n_models, n_items = int((n.sum(axis=0) > 0).sum()), int((n.sum(axis=1) > 0).sum())
    if n_models < FEWEST_MODELS or n_items < 2:
        raise CannotAnswerError(
            f"an item response model needs at least {FEWEST_MODELS} models and two items; found {n_models} and {n_items}"
        )
    flat = (y.sum(axis=1) == 0) | (y.sum(axis=1) == n.sum(axis=1))
    if not prior and flat.any():
        raise CannotAnswerError(
            f"every or no model solves {int(flat.sum())} of {len(flat)} items, which have no finite estimate alone"
        )


def _log_odds(right: FloatArray, trials: FloatArray) -> FloatArray:
    """Return log odds, finite where all or none are right: half a trial is added to each."""
    return np.asarray(np.log((right + 0.5) / (trials - right + 0.5)), dtype=np.float64)


class _Fit:
    """The state of the search: items, the posterior of every ability, and the law that items are drawn from."""

    def __init__(
        self, y: FloatArray, n: FloatArray, *, prior: bool, same_slope: bool, start: ItemCurves | None
    ) -> None:
        self.y, self.n, self.same_slope = y, n, same_slope
        n_items, n_models = y.shape
        n_nodes = 5 if n_items >= 200 else 11 if n_items >= 30 else 31
        self.z, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
        self.log_weight: FloatArray = np.log(weights) + 0.5 * self.z**2
        share = _log_odds(y.sum(axis=0), n.sum(axis=0))
        self.mean: FloatArray = (share - share.mean()) / max(float(share.std()), 0.1)
        self.spread: FloatArray = np.full(n_models, min(1.0, 2.0 / math.sqrt(n_items)))
        easy = _log_odds(y.sum(axis=1), n.sum(axis=1))
        self.items: FloatArray = np.stack([np.ones(n_items), easy], axis=1)
        if start is not None:
            slope = np.full(n_items, start.slope.mean()) if same_slope else start.slope
            self.items = np.stack([slope, start.intercept], axis=1)
        # A slope that all items share needs no prior.
        self.precision: FloatArray = np.array(PRIOR_SD) ** -2.0 * prior * np.array([not same_slope, True])
        self.nodes: FloatArray
        self.posterior: FloatArray
        self.log_likelihood = -math.inf
        self.integrate()
        self.integrate()

    def blocks(self) -> Iterator[slice]:
        """Yield the items in pieces whose cells, times nodes, fit in the cache of one pass."""
        step = max(1, _CELLS_AT_ONCE // (self.y.shape[1] * len(self.z)))
        return (slice(at, at + step) for at in range(0, len(self.y), step))

    def logits(self, part: slice) -> FloatArray:
        """Return the logit of every item of a part, for every model at each of its nodes."""
        slope, intercept = self.items[part, 0], self.items[part, 1]
        return np.asarray(slope[:, None, None] * self.nodes + intercept[:, None, None], dtype=np.float64)

    def integrate(self) -> None:
        """Renew each model's posterior over nodes that follow the posterior of the round before."""
        self.nodes = self.mean[:, None] + self.spread[:, None] * self.z
        told = (self.y.T @ self.items[:, 0])[:, None] * self.nodes + (self.y.T @ self.items[:, 1])[:, None]
        for part in self.blocks():
            logit = self.logits(part)
            # log(1 + e^x), which costs half of numpy's own.
            softplus = np.log1p(np.exp(-np.abs(logit))) + np.maximum(logit, 0.0)
            told -= np.einsum("im,imq->mq", self.n[part], softplus)
        joint = told + self.log_weight + np.log(self.spread)[:, None]
        joint -= 0.5 * self.nodes**2 + 0.5 * math.log(2.0 * math.pi)
        total = special.logsumexp(joint, axis=1)
        self.posterior = np.exp(joint - total[:, None])
        self.log_likelihood = float(total.sum())
        self.mean = (self.posterior * self.nodes).sum(axis=1)
        second = (self.posterior * (self.nodes - self.mean[:, None]) ** 2).sum(axis=1)
        self.spread = np.sqrt(np.maximum(second, _LEAST_SPREAD))

    def objective(self) -> float:
        """Return what is made as large as can be: the log-likelihood and the prior's."""
        return self.log_likelihood - 0.5 * float(((self.items - PRIOR_MEAN) ** 2 @ self.precision).sum())

    def derivatives(self) -> tuple[FloatArray, FloatArray]:
        """Return gradient (n_items, 2) and information (n_items, 2, 2) of the items' expected log-likelihood."""
        centre = (self.posterior * self.nodes).sum(axis=1)
        gradient = np.stack([self.y @ centre, self.y.sum(axis=1)], axis=1)
        information = np.empty((len(self.y), 2, 2))
        powers = np.stack([(self.posterior * self.nodes**k).ravel() for k in (2, 1, 0)], axis=1)
        for part in self.blocks():
            chance = special.expit(self.logits(part))
            wrong = 1.0 - chance
            chance *= self.n[part][:, :, None]
            gradient[part] -= chance.reshape(len(chance), -1) @ powers[:, 1:]
            chance *= wrong
            told = chance.reshape(len(chance), -1) @ powers
            information[part] = told[:, [0, 1, 1, 2]].reshape(-1, 2, 2)
        gradient -= (self.items - PRIOR_MEAN) * self.precision
        information += np.diag(self.precision)
        return gradient, information

    def round(self) -> None:
        """Move the items and the scale once."""
        gradient, information = self.derivatives()
        # An item that nearly all solve has a flat likelihood: its step must stay finite.
        information = information + 1e-9 * np.eye(2)
        own = _shared_step if self.same_slope else _own_steps
        step = own(information, gradient)
        self.items = self.items + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
        # With a prior on the items the scale is theirs too, and is found by the steps alone.
        if not self.precision.any():
            self.standardise()
        self.integrate()

    def cycle(self) -> float:
        """Take two rounds, and go on as far in their direction as pays; return the longest step of the second."""
        first = self.items
        self.round()
        second = self.items
        self.round()
        third, reached = self.items, self.objective()
        moved, bent = second - first, third - 2.0 * second + first
        far = math.sqrt(float((moved**2).sum()) / max(float((bent**2).sum()), 1e-300))
        if far > 1.0:
            self.items = first + 2.0 * far * moved + far**2 * bent
            self.integrate()
            if self.objective() < reached:
                self.items = third
                self.integrate()
        return float(np.abs(third - second).max())

    def standardise(self) -> None:
        """Give the abilities mean 0 and variance 1, and the items what that takes: the same curves on another scale."""
        shift = float(self.mean.mean())
        scale = math.sqrt(float(((self.mean - shift) ** 2 + self.spread**2).mean()))
        self.items = self.items @ np.array([[scale, shift], [0.0, 1.0]])
        self.mean, self.spread = (self.mean - shift) / scale, self.spread / scale

    def curves(self, *, converged: bool) -> ItemCurves:
        """Return what was found."""
        errors = np.sqrt(np.maximum(self.covariances(), 0.0))
        return ItemCurves(
            slope=self.items[:, 0],
            intercept=self.items[:, 1],
            slope_error=errors[:, 0],
            intercept_error=errors[:, 1],
            ability=self.mean,
            ability_error=self.spread,
            log_likelihood=self.log_likelihood,
            converged=converged,
        )

    def covariances(self) -> FloatArray:
        """Return the variances of all slopes and intercepts, shape (n_items, 2), by Louis' identity.

        The observed information is that of known abilities, item by item, less what not knowing them takes: for every model
        the covariance, over its nodes, of the scores of all items. That has low rank where models are few, and is small where
        items are.
        """
        information = self.derivatives()[1]
        own = np.linalg.inv(information)
        n_items, n_models = self.y.shape
        lost = np.empty((n_items, 2, n_models, len(self.z)))
        for part in self.blocks():
            rest = self.y[part][:, :, None] - self.n[part][:, :, None] * special.expit(self.logits(part))
            both = np.stack([rest * self.nodes, rest], axis=1)
            lost[part] = (both - (both * self.posterior).sum(axis=-1, keepdims=True)) * np.sqrt(self.posterior)
        if self.same_slope:
            return _shared_variances(information, lost.reshape(n_items, 2, -1))
        flat = lost.reshape(2 * n_items, -1)
        if 2 * n_items <= flat.shape[1]:
            information = -flat @ flat.T
            at = np.arange(n_items, dtype=np.int64)
            blocks = information.reshape(n_items, 2, n_items, 2)
            blocks[at, :, at, :] += np.linalg.inv(own)
            return np.asarray(np.diag(np.linalg.inv(information)).reshape(n_items, 2), dtype=np.float64)
        spread: FloatArray = np.einsum("iab,ibr->iar", own, lost.reshape(n_items, 2, -1)).reshape(2 * n_items, -1)
        inner = solved(np.eye(flat.shape[1]) - flat.T @ spread, spread.T)
        return np.diagonal(own, axis1=1, axis2=2) + np.einsum("ir,ri->i", spread, inner).reshape(n_items, 2)


def _own_steps(information: FloatArray, gradient: FloatArray) -> FloatArray:
    return solved(information, gradient[:, :, None])[:, :, 0]


def _shared_step(information: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's step, shape (n_items, 2), where all items share a slope: its row and column border a diagonal.

    `gradient` may have further axes behind those of items and parameters.
    """
    border, diagonal = (information[:, 0, 1], information[:, 1, 1])
    share = border / diagonal
    slope = (gradient[:, 0] - (share * gradient[:, 1].T).T).sum(axis=0) / (information[:, 0, 0] - border * share).sum()
    intercepts = ((gradient[:, 1] - np.multiply.outer(border, slope)).T / diagonal).T
    return np.stack([np.broadcast_to(slope, intercepts.shape), intercepts], axis=1)


def _shared_variances(information: FloatArray, lost: FloatArray) -> FloatArray:
    """Return what `_Fit.covariances` does where all items share a slope; `lost` has shape (n_items, 2, n_scores).

    By Woodbury's identity on the bordered diagonal where items are many, by the inverse of the whole where they are few.
    """
    n_items = len(information)
    border, diagonal = (information[:, 0, 1], information[:, 1, 1])
    flat = np.concatenate([lost[:, 0].sum(axis=0)[None, :], lost[:, 1]])
    if len(flat) <= flat.shape[1]:
        whole = np.zeros((n_items + 1, n_items + 1))
        whole[0, 0], whole[0, 1:], whole[1:, 0] = information[:, 0, 0].sum(), border, border
        whole[1:, 1:] = np.diag(diagonal)
        variances = np.diag(np.linalg.inv(whole - flat @ flat.T))
    else:
        share, left = border / diagonal, (information[:, 0, 0] - border**2 / diagonal).sum()
        step = _shared_step(information, lost)
        spread = np.concatenate([step[:1, 0], step[:, 1]])
        inner = solved(np.eye(flat.shape[1]) - flat.T @ spread, spread.T)
        known = np.concatenate([[1.0 / left], 1.0 / diagonal + share**2 / left])
        variances = known + np.einsum("ir,ri->i", spread, inner)
    return np.stack([np.full(n_items, variances[0]), variances[1:]], axis=1)
