"""pass^k and pass@k of more trials than were run, by a Beta-binomial law of the items' success rates; and what that rests on.

An item succeeds at each trial with a chance of its own, and these chances follow a Beta law over items: c of n trials of an
item succeed by the Beta-binomial law. With mean m and correlation r of two trials of an item,
pass^k = E[p^k] = prod_{j<k} (m (1 - r) + j r) / (1 - r + j r), for any k.

References: Skellam 1948, JRSS B 10:257 (the law); Griffiths 1973, doi:10.2307/2529131 (its likelihood); Chen et al. 2021,
arXiv:2107.03374 (pass@k); Yao et al. 2024, arXiv:2406.12045 (pass^k).
"""

from collections.abc import Sequence
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_values, check_count, check_level, few_items
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.roots import bracketed_roots

PassKind = Literal["hat", "at"]
FARTHEST = 4  # times the trials of a usual item
_EDGE = 1e-12  # of the mean
_LEAST, _MOST = -20.0, 20.0  # of the logit of the correlation: 2e-9 is a binomial law to a computer
_WIDE = 41
_CHECK_GRID, _CHECK_DRAWS = 25, 999
_REGION = 121  # places across the likelihood region
_CHECK_CUT = 12.5  # of log-likelihood: five standard errors to each side
_RATES = 201
_SETTLED = 0.05  # of log-likelihood; what is left makes the interval longer
_MOST_STEPS, _MOST_PLANES, _HALVINGS = 5_000, 200, 40


@record
class BetaBinomial:
    """A Beta-binomial law fitted to successes and trials of items by maximum likelihood.

    Attributes
    ----------
    trials, right
        Trials and successes of each item, shape (n_items,).
    mean
        Mean success rate over items.
    correlation
        Of two trials of one item: 0 where all items are alike, 1 where each always succeeds or always fails.
    log_likelihood
        Of the counts, without binomial coefficients.
    """

    trials: IntArray
    right: IntArray
    mean: float
    correlation: float
    log_likelihood: float

    @classmethod
    def of(cls, trials: ArrayLike, right: ArrayLike) -> Self:
        """Fit the law.

        Parameters
        ----------
        trials, right
            Trials and successes of each item, shape (n_items,); items may differ in their trials.

        Raises
        ------
        InputError
            If the counts are no whole numbers, or more succeed than were run.
        CannotAnswerError
            If no item has two trials, or all trials succeed, or none: then how items differ is unknown.

        Examples
        --------
        >>> law = BetaBinomial.of([4] * 6, [4, 4, 3, 2, 4, 0])
        >>> round(law.mean, 2), round(law.correlation, 2), round(law.expected(8, "hat"), 2)
        (0.7, 0.54, 0.43)
        """
        n, c = _whole(trials, "trials"), _whole(right, "successes")
        if n.shape != c.shape or (c > n).any() or (c < 0).any() or (n < 1).any():
            raise InputError("give the trials of every item, at least 1, and how many of them succeed")
        if n.max() < 2:
            raise CannotAnswerError("every item was run once, so how far items differ in their chances is unknown")
        if c.sum() in (0, n.sum()):
            ending = "succeeds" if c.sum() else "fails"
            raise CannotAnswerError(f"every trial {ending}, so how far items differ in their chances is unknown")
        profile = _Profile.of(n, c)
        r = profile.best_correlation()
        m = profile.best_mean(r)
        value = float(profile.log_likelihood(m, r)[0])
        return cls(trials=n, right=c, mean=float(m[0]), correlation=float(r[0]), log_likelihood=value)

    @property
    def usual_trials(self) -> int:
        """Trials that at least half of the items have."""
        return int(np.sort(self.trials)[(len(self.trials) - 1) // 2])

    def expected(self, k: int, kind: PassKind) -> float:
        """Return pass^k ("hat") or pass@k ("at") of the fitted law."""
        return float(
            _passed(np.array([self.mean]), np.array([self.correlation]), check_count(k, "k", least=1), kind)[0]
        )

    def interval(self, k: int, kind: PassKind, *, conf_level: float = 0.95) -> IntervalEstimate:
        """Return pass^k or pass@k of new items like these with its profile-likelihood interval.

        The interval holds every value that some law reaches whose log-likelihood is within half the chi-squared quantile of
        the best. Items are independent.

        Simulated at 95% with 30 to 300 items, 4 and 8 trials, k of twice and four times as many (2,000 tables each,
        `beyond-trials` of `make validate`): .94 to .96 where rates follow Beta(2, 1), Beta(.5, .25) or Beta(8, 1), .93 to .95
        where they are logit-normal(1, 1.5). Where half of the items succeed in .3 and half in .95 of trials, or 30% always and
        the rest in .6, .48 to .92, and with 30 items `check` refuses 12 to 61% of these tables: so a result takes
        `any_law_intervals` as well, and both together hold the truth in .94 and more of what is not refused.

        For k above the trials run it is an extrapolation: `usual_trials` and `check`
        say how far, and `any_law_intervals` how much of it is the Beta law's.

        Examples
        --------
        >>> found = BetaBinomial.of([4] * 20, [4, 4, 3, 2, 4, 0, 4, 4, 4, 1, 3, 4, 4, 4, 2, 4, 4, 0, 3, 4]).interval(
        ...     8, "hat"
        ... )
        >>> round(found.estimate, 2), round(found.conf_low, 2), round(found.conf_high, 2)
        (0.53, 0.28, 0.75)
        """
        k = check_count(k, "k", least=1)
        law = self.region(check_level(conf_level))
        reached = _passed(law[:, 0], law[:, 1], k, kind)
        return IntervalEstimate(
            estimate=self.expected(k, kind),
            method=f"beta-binomial model, pass{'^' if kind == 'hat' else '@'}{k}",
            conf_level=conf_level,
            n=len(self.trials),
            conf_low=float(reached.min()),
            conf_high=float(reached.max()),
            warnings=few_items(len(self.trials)),
        )

    def region(self, conf_level: float) -> FloatArray:
        """Return means and correlations along the edge of the profile-likelihood region of one number; shape (n, 2)."""
        profile = _Profile.of(self.trials, self.right)
        cut = self.log_likelihood - 0.5 * normal_quantile(conf_level) ** 2
        low, high = profile.places(cut, float(special.logit(self.correlation)))
        # Close together near the ends, where the edge turns back.
        r = special.expit(low + (high - low) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, _REGION))))
        return np.column_stack([np.concatenate(profile.means_at(r, cut)), np.tile(r, 2)])

    def check(self, *, seed: int = 0) -> float | None:
        """Return p of the Beta-binomial law for the counts at hand; None where two trials an item leave nothing to check.

        G^2 of the law against any law of counts, for every number of trials, its distribution from draws of the fitted law
        (parametric bootstrap, 999 draws), each fitted anew.
        """
        groups = [int(n) for n in np.unique(self.trials)]
        if sum(groups) <= 2:
            return None
        rng, profile = np.random.default_rng(seed), _Profile.of(self.trials, self.right)
        around = profile.places(self.log_likelihood - _CHECK_CUT, float(special.logit(self.correlation)))
        r = special.expit(np.linspace(*around, _CHECK_GRID))
        low, high = profile.means_at(r, self.log_likelihood - _CHECK_CUT)
        share = np.linspace(0.0, 1.0, _CHECK_GRID)[:, None]
        m, r = (low + share * (high - low)).ravel(), np.tile(r, _CHECK_GRID)
        # Counts of all draws, the observed ones last; their log-likelihood at every place of the grid.
        best = np.zeros((len(m), _CHECK_DRAWS + 1))
        free = np.zeros(_CHECK_DRAWS + 1)
        for n in groups:
            own = self.right[self.trials == n]
            seen = np.bincount(own, minlength=n + 1)
            fitted = np.exp(_log_law(n, np.array([self.mean]), np.array([self.correlation]))[0])
            drawn = rng.multinomial(len(own), fitted / fitted.sum(), size=_CHECK_DRAWS)
            counts = np.vstack([drawn, seen]).T.astype(np.float64)
            best += _log_law(n, m, r) @ counts
            free += special.xlogy(counts, counts / len(own)).sum(axis=0)
        lack = free - best.max(axis=0)
        return (1 + int(np.count_nonzero(lack[:-1] >= lack[-1] - 1e-9))) / (1 + _CHECK_DRAWS)


def any_law_intervals(
    trials: ArrayLike, right: ArrayLike, wanted: Sequence[tuple[PassKind, int]], *, conf_level: float = 0.95
) -> list[tuple[float, float]]:
    """Return the profile-likelihood intervals of several pass^k or pass@k over every law of the items' success rates.

    Of n trials, counts say n moments of the law; what is beyond stays open, so for k above n an interval does not shrink to
    a point however many items there are. The law is one on a grid of 201 rates; the ends are those of a linear function over
    a convex region, found by supporting hyperplanes.

    Parameters
    ----------
    trials, right
        Trials and successes of each item, shape (n_items,).
    wanted
        "hat" (pass^k) or "at" (pass@k), and k.

    References
    ----------
    Laird 1978, doi:10.1080/01621459.1978.10480103 (the likelihood over all laws); Veinott 1967, doi:10.1287/opre.15.1.147.

    Examples
    --------
    >>> right = [4, 4, 3, 2, 4, 0, 4, 4, 4, 1, 3, 4, 4, 4, 2, 4, 4, 0, 3, 4]
    >>> [(low, high)] = any_law_intervals([4] * 20, right, [("hat", 8)])
    >>> round(low, 2), round(high, 2)
    (0.2, 0.77)
    """
    from scipy import optimize  # slow to load, and every comparison imports this module

    n, c, rates = _whole(trials, "trials"), _whole(right, "successes"), np.linspace(0.0, 1.0, _RATES)
    cells, counts = np.unique(np.column_stack([n, c]), axis=0, return_counts=True)
    of, hit = cells[:, :1], cells[:, 1:]
    chance = special.binom(of, hit) * rates**hit * (1.0 - rates) ** (of - hit)

    def log_likelihood(law: FloatArray) -> float:
        return float(counts @ np.log(np.maximum(law, 1e-300)))

    weights = np.full(_RATES, 1.0 / _RATES)
    for _ in range(_MOST_STEPS):
        gain = chance.T @ (counts / (chance @ weights)) / len(n)
        if len(n) * (float(gain.max()) - 1.0) < _SETTLED:  # the most that the log-likelihood can still rise
            break
        weights = weights * gain
    best = chance @ weights
    cut = log_likelihood(best) - 0.5 * normal_quantile(check_level(conf_level)) ** 2

    def end(goal: FloatArray) -> float:
        # Planes that touch the region of laws that fit: no law beyond one fits as well.
        planes: list[FloatArray] = []
        value = 0.0
        for _ in range(_MOST_PLANES):
            rows = np.array(planes).reshape(-1, _RATES)
            one, level = np.ones((1, _RATES)), np.full(len(rows), -float(len(n)))
            found = optimize.linprog(goal, A_ub=rows, b_ub=level, A_eq=one, b_eq=[1.0], method="highs")
            at = np.asarray(found.x, dtype=np.float64)
            law, value = chance @ at, float(goal @ at)
            if log_likelihood(law) >= cut - _SETTLED:
                break
            inside, outside = 0.0, 1.0
            for _ in range(_HALVINGS):
                share = 0.5 * (inside + outside)
                fits = log_likelihood(best + share * (law - best)) >= cut
                inside, outside = (share, outside) if fits else (inside, share)
            planes.append(-(counts / (best + inside * (law - best))) @ chance)
        return value

    goals = [rates**k if kind == "hat" else 1.0 - (1.0 - rates) ** k for kind, k in wanted]
    return [(end(goal), -end(-goal)) for goal in goals]


@record
class _Profile:
    """Items with more than j successes, failures and trials, for j = 0, 1, ...: all that the likelihood needs."""

    right: FloatArray
    wrong: FloatArray
    trials: FloatArray

    @classmethod
    def of(cls, trials: IntArray, right: IntArray) -> Self:
        over = np.arange(int(trials.max()))

        def more(counts: IntArray) -> FloatArray:
            return (len(counts) - np.searchsorted(np.sort(counts), over, side="right")).astype(np.float64)

        return cls(right=more(right), wrong=more(trials - right), trials=more(trials))

    def log_likelihood(self, m: FloatArray, r: FloatArray) -> FloatArray:
        m, alone, tied = m[:, None], 1.0 - r[:, None], np.arange(len(self.trials)) * r[:, None]
        right = np.log(m * alone + tied) @ self.right
        wrong = np.log((1.0 - m) * alone + tied) @ self.wrong
        return right + wrong - np.log(alone + tied) @ self.trials

    def best_mean(self, r: FloatArray) -> FloatArray:
        """Return the mean that fits best for each correlation; the likelihood is concave in it."""
        alone, tied = 1.0 - r[:, None], np.arange(len(self.trials)) * r[:, None]

        def slope(m: FloatArray) -> FloatArray:
            m = m[:, None]
            return (alone / (m * alone + tied)) @ self.right - (alone / ((1.0 - m) * alone + tied)) @ self.wrong

        low, high = np.full_like(r, _EDGE), np.full_like(r, 1.0 - _EDGE)
        return bracketed_roots(slope, low, high, at_low=slope(low), at_high=slope(high))

    def best_correlation(self) -> FloatArray:
        """Return the correlation that fits best, with the best mean of each, shape (1,)."""
        j = np.arange(len(self.trials))

        def slope(place: FloatArray) -> FloatArray:
            r = special.expit(place)[:, None]
            m = self.best_mean(r[:, 0])[:, None]
            right = ((j - m) / (m * (1.0 - r) + j * r)) @ self.right
            wrong = ((j - 1.0 + m) / ((1.0 - m) * (1.0 - r) + j * r)) @ self.wrong
            return right + wrong - ((j - 1.0) / (1.0 - r + j * r)) @ self.trials

        at = np.linspace(_LEAST, _MOST, _WIDE)
        best = int(np.argmax(self.value(special.expit(at))))
        low, high = at[[max(best - 1, 0)]], at[[min(best + 1, _WIDE - 1)]]
        up, down = np.maximum(slope(low), 0.0), np.minimum(slope(high), 0.0)
        return np.asarray(special.expit(bracketed_roots(slope, low, high, at_low=up, at_high=down)), dtype=np.float64)

    def value(self, r: FloatArray) -> FloatArray:
        """Return the greatest log-likelihood for each correlation."""
        return self.log_likelihood(self.best_mean(r), r)

    def means_at(self, r: FloatArray, cut: float) -> list[FloatArray]:
        """Return the least and the greatest mean whose log-likelihood is `cut`; the best one where none reaches that."""
        best = self.best_mean(r)

        def above(m: FloatArray) -> FloatArray:
            return self.log_likelihood(m, r) - cut

        at_best, edges = np.maximum(above(best), 0.0), (np.full_like(r, edge) for edge in (_EDGE, 1.0 - _EDGE))
        return [bracketed_roots(above, best, x, at_low=at_best, at_high=np.minimum(above(x), 0.0)) for x in edges]

    def places(self, cut: float, best: float) -> tuple[float, float]:
        """Return the least and the greatest logit of the correlation with a log-likelihood of `cut`."""

        def above(place: FloatArray) -> FloatArray:
            return self.value(special.expit(place)) - cut

        inner, outer = np.full(2, best), np.array([_LEAST, _MOST])
        at_outer = above(outer)
        found = bracketed_roots(
            above, inner, outer, at_low=np.maximum(above(inner), 0.0), at_high=np.minimum(at_outer, 0.0)
        )
        low, high = np.where(at_outer >= 0.0, outer, found)
        return float(low), float(high)


def _passed(m: FloatArray, r: FloatArray, k: int, kind: PassKind) -> FloatArray:
    """Return pass^k or pass@k of Beta laws of these means and correlations."""
    j, r_ = np.arange(k), r[:, None]
    own = m[:, None] if kind == "hat" else 1.0 - m[:, None]
    chance = np.prod((own * (1.0 - r_) + j * r_) / (1.0 - r_ + j * r_), axis=1)
    return chance if kind == "hat" else 1.0 - chance


def _log_law(n: int, m: FloatArray, r: FloatArray) -> FloatArray:
    """Return the log-chance of 0 to n successes of n trials, shape (n_laws, n + 1)."""
    j, m, r = np.arange(n), m[:, None], r[:, None]
    none = np.zeros((len(m), 1))
    right, wrong = (np.log(own * (1.0 - r) + j * r) for own in (m, 1.0 - m))
    up = np.hstack([none, np.cumsum(right, axis=1)])
    down = np.hstack([none, np.cumsum(wrong, axis=1)])[:, ::-1]
    both = np.log(1.0 - r + j * r).sum(axis=1, keepdims=True)
    c = np.arange(n + 1)
    return np.log(special.comb(n, c)) + up + down - both


def _whole(values: ArrayLike, what: str) -> IntArray:
    array = as_values(values, what)
    if not np.array_equal(array, np.rint(array)):
        raise InputError(f"{what} hold shares; give whole numbers of trials")
    return array.astype(np.int64)
