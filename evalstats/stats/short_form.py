"""Short forms: the few items that tell a model's score on all of them, chosen on other models and tried on models left out.

References: Polo et al. 2024, arXiv:2402.14992 (a hundred anchor items, predictions by item response models); Lord 1980,
Applications of Item Response Theory (true-score prediction); Cochran 1977, Sampling Techniques (means of random items).
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, check_count
from evalstats.stats.computation import one_thread
from evalstats.stats.item_response import ItemCurves, two_parameter

FEWEST_MODELS = 10
_FLATTEST = 0.3
_NEWTON_STEPS = 60
_LONGEST_STEP = 1.0


@record
class SizeError:
    """How far a form of this many items is from the score on all items, over models that had no part in its choice.

    Attributes
    ----------
    size
        Items of the form.
    score_error, largest_error
        Root mean square and largest error of the predicted score, on the scale of a share.
    rank_error
        Places, on average, between a model's rank by the form and its rank on all items, among all other models.
    random_error
        Root mean square error of the mean of as many items drawn at random, from its formula.
    difference_error, random_difference_error
        The same of the difference of two models that answer the same items: by the form, for models left out together (NaN where
        each was left out alone), and by as many random items.
    """

    size: int
    score_error: float
    largest_error: float
    rank_error: float
    random_error: float
    difference_error: float
    random_difference_error: float


def chosen_items(curves: ItemCurves, size: int) -> IntArray:
    """Return which items make a form of this size: of every stratum of difficulty the item with the steepest curve.

    Strata are of equal numbers of items. The order is of difficulty, so that the form is spread as the benchmark is. Where all
    items share a slope, the item in the middle of each stratum is taken.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> right = (rng.random((40, 60)) < special.expit(rng.normal(size=60) + np.linspace(-2, 2, 40)[:, None])).astype(
    ...     float
    ... )
    >>> len(set(chosen_items(two_parameter(right), 8).tolist()))
    8
    """
    size = check_count(size, "the size of a short form", least=1)
    if size > len(curves.slope):
        raise InputError(f"a short form of {size} items of {len(curves.slope)}; give fewer")
    # Of an item with a flat curve the difficulty is anywhere; it is placed by how many solve it.
    difficulty = -curves.intercept / np.maximum(curves.slope, _FLATTEST)
    strata = np.array_split(np.argsort(difficulty, kind="stable"), size)
    if np.ptp(curves.slope) == 0:
        return np.array([part[len(part) // 2] for part in strata], dtype=np.int64)
    return np.array([part[np.argmax(curves.slope[part])] for part in strata], dtype=np.int64)


def probable_abilities(
    curves: ItemCurves, form: IntArray, right: ArrayLike, trials: ArrayLike | None = None
) -> FloatArray:
    """Return the most probable ability of models that answered some of the items; shape (n_models,).

    `form`: places of the items. `right`, `trials`: float64, shape (n_form, n_models), as in `two_parameter`, for these items.
    Abilities are taken to be spread as those of the models that the curves were fitted on.
    """
    y, n = _counts(right, trials)
    slope, intercept = curves.slope[form, None], curves.intercept[form, None]
    centre, spread = float(curves.ability.mean()), max(float(curves.ability.std(ddof=1)), 0.1)
    ability = np.full(y.shape[1], centre)
    for _ in range(_NEWTON_STEPS):
        chance = special.expit(slope * ability + intercept)
        gradient = (slope * (y - n * chance)).sum(axis=0) - (ability - centre) / spread**2
        told = (slope**2 * n * chance * (1.0 - chance)).sum(axis=0) + spread**-2.0
        ability = ability + np.clip(gradient / told, -_LONGEST_STEP, _LONGEST_STEP)
    return np.asarray(ability, dtype=np.float64)


def predicted_scores(
    curves: ItemCurves, form: IntArray, right: ArrayLike, trials: ArrayLike | None = None
) -> FloatArray:
    """Predict the score on all items of models that answered the items of a form; shape (n_models,), shares from 0 to 1.

    Arguments are those of `probable_abilities`. Items of the form count as answered, all others as their curves expect.
    """
    y, n = _counts(right, trials)
    expected = curves.chances(probable_abilities(curves, form, right, trials))
    shares = np.divide(y, n, out=expected[form], where=n > 0)
    return np.asarray((expected.sum(axis=0) - expected[form].sum(axis=0) + shares.sum(axis=0)) / len(expected))


def _counts(right: ArrayLike, trials: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return right trials and trials of every cell, 0 where it has none."""
    y = np.asarray(right, dtype=np.float64)
    known = ~np.isnan(y)
    n = known.astype(np.float64) if trials is None else np.where(known, np.asarray(trials, dtype=np.float64), 0.0)
    return np.where(known, y, 0.0), n


@one_thread
def form_errors(
    right: ArrayLike,
    sizes: Sequence[int],
    *,
    trials: ArrayLike | None = None,
    curves: ItemCurves | None = None,
    same_slope: bool = False,
    folds: int = 5,
    seed: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> tuple[SizeError, ...]:
    """Tell for each size how far a short form is from all items, for models that had no part in its choice.

    `right`, `trials`: shape (n_items, n_models), without gaps. `curves`: those of all models, from which each fit starts;
    `same_slope` as in `two_parameter`. Models are dealt at random into `folds` parts; for each part curves and form come from
    the other parts alone.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 10 models: each fit would rest on fewer than eight.
    """
    y = np.asarray(right, dtype=np.float64)
    n = np.ones_like(y) if trials is None else np.asarray(trials, dtype=np.float64)
    n_items, n_models = y.shape
    if n_models < FEWEST_MODELS:
        raise CannotAnswerError(
            f"whether fewer items would do is told by models left out, which needs at least {FEWEST_MODELS}; found {n_models}"
        )
    shares = y / n
    scores = shares.mean(axis=0)
    found = np.empty((len(sizes), n_models))
    every = np.arange(n_models, dtype=np.int64)
    parts = np.array_split(np.random.default_rng(seed).permutation(every), folds)
    for done, out in enumerate(parts):
        kept = np.flatnonzero(~np.isin(every, out))
        fitted = two_parameter(y[:, kept], n[:, kept], same_slope=same_slope, start=curves)
        for at, size in enumerate(sizes):
            form = chosen_items(fitted, size)
            found[at, out] = predicted_scores(fitted, form, y[np.ix_(form, out)], n[np.ix_(form, out)])
        if on_fold:
            on_fold(done + 1, folds)
    spread = shares.var(axis=0, ddof=1).mean()
    # Of two models on one item the mean variance of the difference, over all pairs.
    together = (shares.sum(axis=1).var(ddof=1) - n_models * spread) / (n_models * (n_models - 1))
    apart = max(2.0 * float(spread - together), 0.0)
    # A part of one model has no pair.
    freedom = n_models - len(parts) or math.nan
    others = ~np.eye(n_models, dtype=bool)
    above = (scores[:, None] > scores) & others
    return tuple(
        SizeError(
            size=size,
            score_error=math.sqrt(float(((each - scores) ** 2).mean())),
            largest_error=float(np.abs(each - scores).max()),
            rank_error=float(np.abs(((scores[:, None] > each) & others).sum(axis=0) - above.sum(axis=0)).mean()),
            random_error=math.sqrt(float(spread) / size * (1.0 - size / n_items)),
            # Over pairs the mean squared difference of two errors is twice their variance.
            difference_error=math.sqrt(
                2.0
                * sum(float(np.square((each - scores)[out] - (each - scores)[out].mean()).sum()) for out in parts)
                / freedom
            ),
            random_difference_error=math.sqrt(apart / size * (1.0 - size / n_items)),
        )
        for size, each in zip(sizes, found, strict=True)
    )


def worth_of_form(error: float, random_error: float, size: int, n_items: int) -> int:
    """Return how many random items err as little as a form of `size`, given the error of as many random ones.

    By the formula of a mean of random items; where all items say the same of every model, one of them is enough.

    >>> worth_of_form(0.02, 0.04, 100, 1000)
    308
    """
    ratio = error / max(random_error, 1e-9)
    return max(1, round(1.0 / (ratio**2 * (1.0 / size - 1.0 / n_items) + 1.0 / n_items)))
