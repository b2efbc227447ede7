"""Several hypotheses at once: adjusted p-values, an omnibus test before the pairs, and tiers as letters after them.

References: Holm 1979, Scandinavian Journal of Statistics 6:65; Benjamini & Hochberg 1995,
doi:10.1111/j.2517-6161.1995.tb02031.x; Benjamini & Yekutieli 2001, doi:10.1214/aos/1013699998; Piepho 2004,
doi:10.1198/1061860043515 (letters); Wang & Ramdas 2022, doi:10.1111/rssb.12489 (e-BH); Zhao, Small & Su
2019, doi:10.1080/01621459.2018.1497499 (conservative hypotheses); Cochran 1950, Biometrika 37:256; Friedman 1937,
doi:10.1080/01621459.1937.10503522.
"""

from string import ascii_letters
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import positive_p
from evalstats.stats.many.pair_table import as_scores


def holm(p_values: ArrayLike) -> FloatArray:
    """Holm's adjusted p-values: they control the chance of any false finding in the family.

    NaN is refused, since a family whose size is unknown cannot be adjusted for.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.06, 0.06]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1))
    return _restored(stepped, order)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini-Hochberg adjusted p-values: they control the expected share of false findings among the findings.

    For screens; valid for independent or positively dependent tests.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.03]).round(12).tolist()
    [0.03, 0.04, 0.04]
    """
    return _step_up(_checked(p_values), 1.0)


def conditional_benjamini_hochberg(p_values: ArrayLike, cuts: ArrayLike) -> FloatArray:
    """Benjamini-Hochberg among the p-values up to a cut, each divided by its cut; the others are 1.

    For one-sided tests of hypotheses most of which hold with room to spare: their p-values crowd near 1 and count in vain. Valid
    for independent tests wherever P(p <= a c) <= a P(p <= c), as for one-sided tests in families with a monotone likelihood
    ratio.

    Parameters
    ----------
    cuts
        One number for each p, fixed without a look at it. Of a discrete test it must be a value that p can take, else the
        quotient is too small; 0 takes a test out of the family.

    Examples
    --------
    >>> conditional_benjamini_hochberg([0.01, 0.3, 0.8, 0.9, 1.0], [0.5] * 5).tolist()
    [0.04, 0.6, 1.0, 1.0, 1.0]
    """
    p, cut = _checked(p_values), np.asarray(cuts, dtype=np.float64)
    inside = (p <= cut) & (cut > 0.0)
    adjusted = np.ones_like(p)
    adjusted[inside] = benjamini_hochberg(p[inside] / cut[inside])
    return adjusted


def benjamini_yekutieli(p_values: ArrayLike) -> FloatArray:
    """Benjamini-Yekutieli adjusted p-values: as Benjamini-Hochberg, valid under any dependence.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.03]).round(4).tolist()
    [0.055, 0.0733, 0.0733]
    """
    p = _checked(p_values)
    return _step_up(p, float((1.0 / np.arange(1, p.size + 1)).sum()))


Adjust: TypeAlias = Literal["max-t", "holm", "bh", "by", "none"]


def adjusted(p_values: FloatArray, adjust: str) -> FloatArray:
    """Adjust p-values as one family, "max-t" by the closed form that keeps its promise; a NaN is no test and of no family."""
    closed = {"max-t": holm, "holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli, "none": np.copy}
    found, tested = np.full(len(p_values), np.nan), ~np.isnan(p_values)
    if tested.any():
        found[tested] = closed[adjust](p_values[tested])
    return found


def e_bh(e_values: ArrayLike) -> FloatArray:
    """Return adjusted p-like numbers of the e-BH procedure: those at most a are rejected at a false discovery rate of a.

    It holds for any dependence between the models, and at any time of stopping when each e-value may be looked at at any
    time (`betting_log_e` at its last unit). For one model over several looks take its e-value as it is; e-values of one
    model are never multiplied unless each is of fresh items, and averaged otherwise. The number is the smallest over k from
    the rank of the e-value on of M / (k e_(k)), at most 1, e_(k) the k-th largest of M; e-values may be infinite.

    Examples
    --------
    >>> e_bh([100.0, 30.0, 2.0, 0.5]).tolist()
    [0.04, 0.06666666666666667, 0.6666666666666666, 1.0]
    """
    e = np.asarray(e_values, dtype=np.float64)
    order = np.argsort(-e, kind="stable")
    with np.errstate(divide="ignore"):
        steps = e.size / (np.arange(1, e.size + 1) * e[order])
    return _restored(np.minimum.accumulate(steps[::-1])[::-1], order)


def _checked(p_values: ArrayLike) -> FloatArray:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise InputError(f"p-values have {p.ndim} dimensions; give a flat list")
    wrong = ~((p >= 0.0) & (p <= 1.0))
    if wrong.any():
        where = int(np.flatnonzero(wrong)[0])
        raise InputError(f"p-value {where} is {p[where]:g}; give numbers from 0 to 1, and leave out tests not made")
    return p


def _step_up(p: FloatArray, factor: float) -> FloatArray:
    order = np.argsort(p, kind="stable")
    ranks = np.arange(1, p.size + 1)
    scaled = p[order] * (factor * p.size) / ranks
    return _restored(np.minimum.accumulate(scaled[::-1])[::-1], order)


def _restored(stepped: FloatArray, order: np.ndarray) -> FloatArray:
    adjusted = np.empty_like(stepped)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def compact_letters(separated: ArrayLike, order: ArrayLike) -> tuple[str, ...]:
    """Letters for every model, so that two models share a letter exactly when they are not separated.

    `separated` is bool, shape (n_models, n_models), symmetric; `order` ranks the models from the best, which gets `a`. After z
    come A to Z, then a1, b1, ...

    Notes
    -----
    Insert and absorb: start with one letter for all; for every model split each letter that it shares with models it is
    separated from in two, one without it and one without them; drop a letter whose models all share another one. A letter
    is a tier only in a loose sense: not being separated is not being equal, and models of one tier may have other tiers too.

    Examples
    --------
    >>> separated = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=bool)
    >>> compact_letters(separated, [0, 1, 2])
    ('a', 'ab', 'b')
    """
    apart = np.asarray(separated, dtype=np.bool_)
    ranked = np.asarray(order, dtype=np.int64)
    n = ranked.size
    held = [(1 << n) - 1] if n else []  # a letter is a number with a bit for each of its models
    for i, row in enumerate(np.triu(apart[np.ix_(ranked, ranked)])):
        one, others = 1 << i, sum(1 << j for j in np.flatnonzero(row).tolist())
        both = [letter for letter in held if letter & one and letter & others]
        held = [letter for letter in held if not (letter & one and letter & others)]
        for part in (letter & ~own for letter in both for own in (one, others)):
            if not any(part & letter == part for letter in held):
                held = [*(letter for letter in held if letter & part != letter), part]
    letters = [""] * n
    for number, members in enumerate(sorted([k for k in range(n) if letter >> k & 1] for letter in held)):
        for place in members:
            turn, letter = divmod(number, len(ascii_letters))
            letters[int(ranked[place])] += ascii_letters[letter] + (str(turn) if turn else "")
    return tuple(letters)


@record
class Omnibus:
    """One test of "all models are equal" on items that every model has.

    `statistic` is None with a reason where no item tells models apart, and p is then 1.
    """

    statistic: float | None
    df: int
    p_value: float
    n_items: int
    method: str
    reason: str | None


def cochran_q(scores: ArrayLike, times: IntArray | None = None) -> Omnibus:
    """Cochran's Q: do models differ in their share of right answers?

    For independent items with one right-or-wrong answer each, shape (n_items, n_models); items that some model lacks (NaN) are
    left out. It says that some models differ and not which, so it opens the comparison of pairs and closes nothing; with
    clusters it rejects too often. A row may stand for so many `times` of items.

    Notes
    -----
    Q = (k - 1) sum_j (C_j - C)^2 k / sum_i R_i (k - R_i), with C_j the right answers of model j, C their mean and R_i
    the models right on item i; chi-squared with k - 1 degrees of freedom. With two models it is the uncorrected McNemar test.

    Examples
    --------
    >>> found = cochran_q([[1, 1, 0], [1, 0, 0], [1, 1, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0]])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4)
    (5.2, 2, 0.0743)
    """
    y, each = _complete(scores, times)
    k = y.shape[1]
    right, of_item = each @ y, y.sum(axis=1)
    between = (k - 1) * k * float(np.square(right - right.mean()).sum())
    within = float(each @ (of_item * (k - of_item)))
    return _answer(between, within, (int(each.sum()), k), "Cochran's Q", "all models agree on every item")


def friedman(scores: ArrayLike) -> Omnibus:
    """Friedman's test: do models differ in how they rank within items?

    For graded scores of independent items, arranged as for `cochran_q`; ties within an item take mean ranks and the correction.
    It compares ranks, not means.

    Examples
    --------
    >>> found = friedman([[0.9, 0.5, 0.4], [0.8, 0.7, 0.1], [0.6, 0.9, 0.2], [0.7, 0.6, 0.6]])
    >>> round(found.statistic, 4), found.df, round(found.p_value, 4)
    (5.7333, 2, 0.0569)
    """
    y, _ = _complete(scores)
    n, k = y.shape
    ranks = np.full(y.shape, 0.5)
    for j in range(k):
        ranks += (y > y[:, [j]]) + 0.5 * (y == y[:, [j]])
    between = (k - 1) * float(np.square(ranks.sum(axis=0) - n * (k + 1) / 2.0).sum())
    within = float(np.square(ranks - (k + 1) / 2.0).sum())
    return _answer(between, within, y.shape, "Friedman", "all models tie on every item")


def _complete(scores: ArrayLike, times: IntArray | None = None) -> tuple[FloatArray, IntArray]:
    y = as_scores(scores)
    times = np.ones(len(y), dtype=np.int64) if times is None else times
    whole = ~np.isnan(y).any(axis=1)
    if not whole.any():
        raise InputError(f"none of {times.sum()} items has a score of every model; compare fewer models, or pairs")
    return (y, times) if whole.all() else (y[whole], times[whole])


def _answer(between: float, within: float, shape: tuple[int, int], method: str, flat: str) -> Omnibus:
    n, k = shape
    if within <= 0.0:
        return Omnibus(statistic=None, df=k - 1, p_value=1.0, n_items=n, method=method, reason=flat)
    statistic = between / within
    p = positive_p(float(np.asarray(special.gammaincc(0.5 * (k - 1), 0.5 * statistic), dtype=np.float64)))
    return Omnibus(statistic=statistic, df=k - 1, p_value=p, n_items=n, method=method, reason=None)
