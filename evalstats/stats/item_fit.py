"""Whether one curve fits an item's answers, and whether it is the same curve for every family of models.

Both are score tests of a term added to an item's curve, with abilities from the other items: the square of the ability (misfit),
or membership of a family (differential item functioning).

References: Neyman 1959, in Grenander (ed.), Probability and Statistics (C(alpha) tests: what is estimated costs nothing of first
order); Swaminathan & Rogers 1990, doi:10.1111/j.1745-3984.1990.tb00754.x (differential functioning by logistic regression);
Besag & Clifford 1991, doi:10.1093/biomet/78.2.301 (simulated p-values, sequentially); Candell & Drasgow 1988,
doi:10.1177/014662168801200304 (purified anchors); Benjamini & Hochberg 1995, doi:10.1111/j.2517-6161.1995.tb02031.x.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.item_response import PRIOR_MEAN, ItemCurves
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.stats.short_form import probable_abilities

# With fewer models than this no curve can be seen to misfit, whatever the item does.
FEWEST_FOR_FIT = 20
# With four models of a family, a p that survives a hundred items takes forty others.
FEWEST_OF_FAMILY = 5
# An item needs so many models that solve it, and so many that do not.
_EITHER_WAY = 3
# Wide enough to let a slope be 0 or 3: the test asks for the shape of the curve, not for its slope.
_PRECISION = np.array([1.0, 3.0]) ** -2.0
_FIRST_STEPS, _STEPS, _LONGEST_STEP = 8, 2, 1.5
_DRAWS = (199, 1_999, 19_999, 99_999)
# So many draws as extreme settle that a p-value is not small.
_ENOUGH = 20
_CELLS_AT_ONCE, _MOST_CELLS = 50_000, 10_000_000
# Scores further than this from the middle of a family's do not count for its ability: 1 in 80 by chance.
_ROUNDS, _FAR = 8, 2.5
FALSE_DISCOVERIES = 0.05
_TIE = 1e-9


@record
class TermTests:
    """Score tests of terms added to the curves of items; arrays of shape (n_items, n_terms), NaN where an item is not tested.

    Attributes
    ----------
    z
        The standardised score: positive where models with more of the term solve the item more often than its curve says.
    excess
        Right answers of the models, weighted by the term, less those expected by the curve.
    p_value
        Two-sided, by simulation from the fitted curve; never 0.
    tested
        Whether enough models solve the item and enough do not, shape (n_items,).
    """

    z: FloatArray
    excess: FloatArray
    p_value: FloatArray
    tested: BoolArray


@record
class FamilyTests:
    """Of every item and family, whether the family solves it more or less often than others of the same ability.

    Attributes
    ----------
    z, p_value, p_adjusted
        Shape (n_items, n_families), NaN where an item is not tested; adjusted by Benjamini and Hochberg over all of them.
    excess
        Share of the family's models that solve the item, less the share that one curve for all expects.
    anchor
        The items that abilities rest on in the end: those that do not stand out. Shape (n_items,).
    settled
        Whether the anchor came to rest, up to one item in fifty.
    """

    z: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    excess: FloatArray
    anchor: BoolArray
    settled: bool


def one_answer(right: ArrayLike, trials: ArrayLike, *, seed: int = 0) -> FloatArray:
    """Draw one trial of every cell: the trials of one model on one item err together, and count as one answer here."""
    y, n = np.asarray(right, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    if (n <= 1).all():
        return y
    return (np.random.default_rng(seed).random(y.shape) * n < y).astype(np.float64)


def curvature_tests(answers: ArrayLike, curves: ItemCurves, *, seed: int = 0) -> TermTests:
    """Test of every item whether its answers bend away from its curve, by the square of the ability.

    `answers`: float64, shape (n_items, n_models), 0 or 1, without gaps. `curves`: fitted to them. A positive z says that the
    weakest and the strongest models solve the item more often than its curve allows (weak models that guess); a negative one
    that they do so less often (strong models that fail).

    Raises
    ------
    CannotAnswerError
        If there are fewer than 20 models.

    Notes
    -----
    Of fitting items, 4% have p up to 5% with 20 and 40 models, and some item of 30 is called unsound in 3% of tables (2,000
    tables each, `item-checks` of `make validate`); with 60 or 300 models and any slopes, 4 to 6% have p up to 5% and 0.6 to 1.3%
    up to 1%. Of items that the strongest models fail, 66 to 94% have p up to 5% with 20 models and nearly all with 60; of items
    that a quarter of the weakest guess, 5 to 13% with 20 models, 20 to 30% with 60 and 60 to 70% with 300. Mean squares of the
    residuals (outfit, infit) held their size in the same simulation (1 to 6%) and found less.

    Examples
    --------
    >>> from evalstats.stats.item_response import two_parameter
    >>> rng = np.random.default_rng(0)
    >>> ability = rng.normal(size=80)
    >>> logit = np.outer(np.full(60, 1.5), ability) + rng.normal(size=60)[:, None]
    >>> logit[7] = 2 - 3 * ability**2
    >>> answers = (rng.random(logit.shape) < special.expit(logit)).astype(float)
    >>> found = curvature_tests(answers, two_parameter(answers))
    >>> int(np.argmin(found.z[:, 0])), bool(found.p_value[7, 0] < 0.001)
    (7, True)
    """
    y = _checked(answers)
    if y.shape[1] < FEWEST_FOR_FIT:
        raise CannotAnswerError(
            f"whether curves fit takes at least {FEWEST_FOR_FIT} models; with the {y.shape[1]} found no misfit would show"
        )
    return added_terms(y, curves, curves.ability, curves.ability[None, :] ** 2, seed=seed)


@one_thread
def family_tests(answers: ArrayLike, curves: ItemCurves, families: ArrayLike, *, seed: int = 0) -> FamilyTests:
    """Test of every item and family whether its models solve the item as often as others of the same ability.

    `answers`: as in `curvature_tests`. `families`: int, shape (n_models,): the family of each model, from 0; each is set against
    all other models, and -1 is none that is tested.

    Raises
    ------
    CannotAnswerError
        If a family, or what is left beside it, has fewer than 5 models; if more than half of the items stand out, so that no
        anchor is left.

    Notes
    -----
    Abilities rest on the items that do not stand out for any family, found in up to eight rounds (a purified anchor): a family
    that knows a tenth of the items by heart looks able, and would otherwise seem to lag on all others. Most items are taken to
    be alike for all. Models of one family that share training err alike on many items, seen or not; a finding says that they do,
    not why.

    Without differences, 5.0% of the p-values are up to 5% with 6 models of 20, and 4.8% where the family is stronger by a
    standard deviation of ability; some item of 30 is found in 5.7 and 4.5% of tables (2,000 tables each, `item-checks` of
    `make validate`). With 12, 6 and 10 of 20, and 10 of 60, 4.5 to 5.5% are up to 5% and 0.6 to 1.1% up to 1% (60 to 200 tables).

    Examples
    --------
    >>> from evalstats.stats.item_response import two_parameter
    >>> rng = np.random.default_rng(0)
    >>> families = np.repeat([0, -1], [15, 45])
    >>> logit = 1.5 * rng.normal(size=60) + rng.normal(-1, 1, size=80)[:, None]
    >>> logit[7, families == 0] += 6
    >>> answers = (rng.random(logit.shape) < special.expit(logit)).astype(float)
    >>> found = family_tests(answers, two_parameter(answers), families)
    >>> np.flatnonzero(found.p_adjusted[:, 0] < 0.05).tolist(), bool(found.excess[7, 0] > 0.2)
    ([7], True)
    """
    y = _checked(answers)
    codes = np.asarray(families, dtype=np.int64)
    if codes.shape != (y.shape[1],):
        raise InputError(f"families have shape {codes.shape}; give one for each of {y.shape[1]} models")
    members = np.stack(
        [codes == code for code in range(codes.max(initial=-1) + 1)] or [np.zeros(codes.shape, np.bool_)]
    )
    if min(members.sum(axis=1).min(), (~members).sum(axis=1).min()) < FEWEST_OF_FAMILY:
        raise CannotAnswerError(
            f"a family is set against all other models, and either side needs at least {FEWEST_OF_FAMILY} models"
        )
    terms = members.astype(np.float64)
    ability, anchor, settled = curves.ability, np.ones(len(y), dtype=np.bool_), False
    for _ in range(_ROUNDS):
        z = _TermScores(y, curves, ability, terms).z
        # A wrong ability of a family moves all its scores alike: items that stand out are those far from the middle.
        away = np.abs(z - np.nanmedian(z, axis=0)) if len(z) else z
        kept = np.ones(len(y), dtype=np.bool_)
        kept[_tested(y)] = (away <= _FAR).all(axis=1)
        if 2 * kept.sum() < len(y):
            raise CannotAnswerError(
                f"families differ on {int((~kept).sum())} of {len(y)} items, which leaves no items to compare their abilities on"
            )
        # An item at the edge may come and go, which moves no ability.
        settled = int((kept != anchor).sum()) <= max(1, len(y) // 50) and not anchor.all()
        settled = settled or bool(kept.all() and anchor.all())
        if settled:
            break
        anchor, places = kept, np.flatnonzero(kept)
        ability = probable_abilities(curves, places, y[places])
    found = added_terms(y, curves, ability, terms, seed=seed)
    adjusted = np.full(found.p_value.shape, np.nan)
    if found.tested.any():
        adjusted[found.tested] = benjamini_hochberg(found.p_value[found.tested].ravel()).reshape(-1, len(members))
    return FamilyTests(
        z=found.z,
        p_value=found.p_value,
        p_adjusted=adjusted,
        excess=found.excess / members.sum(axis=1),
        anchor=anchor,
        settled=settled,
    )


@one_thread
def added_terms(
    answers: FloatArray, curves: ItemCurves, ability: FloatArray, terms: FloatArray, *, seed: int
) -> TermTests:
    """Test whether terms of the models, shape (n_terms, n_models), belong beside their abilities into the curve of each item.

    Every item's curve is fitted anew to the abilities. Of the term counts what the ability does not say (C(alpha)), and the score
    is held against that of answers drawn from the curve, whose own curves are fitted in turn; p-values that look small get up
    to 99,999 draws.
    """
    y = answers
    tested = _tested(y)
    places = np.flatnonzero(tested)
    observed = _TermScores(y, curves, ability, terms)
    design, items, z = observed.design, observed.items, observed.z
    extreme, draws = np.zeros(z.shape), np.zeros(len(places))
    rng = np.random.default_rng(seed)
    open_items = np.arange(len(places))
    for wanted in _DRAWS:
        if not open_items.size:
            break
        # All items of a stage have as many draws, as many as can be afforded.
        affordable = int(_MOST_CELLS / (open_items.size * y.shape[1]))
        more = min(wanted - int(draws[open_items[0]]), max(affordable, _DRAWS[0]))
        step = max(1, _CELLS_AT_ONCE // (more * y.shape[1]))
        for at in range(0, open_items.size, step):
            part = open_items[at : at + step]
            for size in _pieces(more, max(1, _CELLS_AT_ONCE // y.shape[1])):
                drawn = np.repeat(items[part], size, axis=0)
                chances = np.repeat(design.chances(items[part]), size, axis=0)
                simulated = (rng.random(chances.shape) < chances).astype(np.float64)
                refitted = design.fitted(simulated, drawn, chances, _STEPS)[1]
                beside = np.abs(design.scores(simulated, refitted)[0])
                beside = beside.reshape(len(part), size, -1)
                extreme[part] += (beside >= np.abs(z[part])[:, None, :] - _TIE).sum(axis=1)
            draws[part] += more
        open_items = open_items[(extreme[open_items] < _ENOUGH).any(axis=1)]
    shape = (len(y), len(terms))
    return TermTests(
        z=_at(places, z, shape),
        excess=_at(places, observed.excess, shape),
        p_value=_at(places, (extreme + 1.0) / (draws[:, None] + 1.0), shape),
        tested=tested,
    )


def _tested(y: FloatArray) -> BoolArray:
    return np.asarray((y.sum(axis=1) >= _EITHER_WAY) & ((1.0 - y).sum(axis=1) >= _EITHER_WAY), dtype=np.bool_)


def _pieces(total: int, most: int) -> list[int]:
    return [min(most, total - at) for at in range(0, total, most)]


def _at(places: IntArray, values: FloatArray, shape: tuple[int, int]) -> FloatArray:
    found = np.full(shape, np.nan)
    found[places] = values
    return found


def _checked(answers: ArrayLike) -> FloatArray:
    y = np.asarray(answers, dtype=np.float64)
    if y.ndim != 2 or not np.isin(y, (0.0, 1.0)).all():
        raise InputError(
            "tests of curves need one answer of every model to every item, 0 or 1; `one_answer` draws one of several trials"
        )
    return y


class _TermScores:
    """The items that can be tested: their curves on given abilities, and the scores of terms added to them."""

    def __init__(self, y: FloatArray, curves: ItemCurves, ability: FloatArray, terms: FloatArray) -> None:
        own = _tested(y)
        self.design = _Terms(ability, terms)
        start = np.stack([curves.slope, curves.intercept], axis=1)[own]
        self.items, chances = self.design.fitted(y[own], start, self.design.chances(start), _FIRST_STEPS)
        self.z, self.excess = self.design.scores(y[own], chances)


class _Terms:
    """Curves of many items on known abilities, and the score of terms that are added to them."""

    def __init__(self, ability: FloatArray, terms: FloatArray) -> None:
        self.ability = ability
        self.powers: FloatArray = np.stack([ability**2, ability, np.ones_like(ability)], axis=1)
        self.terms: FloatArray = terms.T
        # Products of the terms with the ability, themselves alone, and squared.
        self.products: FloatArray = np.concatenate([self.terms * ability[:, None], self.terms, self.terms**2], axis=1)

    def chances(self, items: FloatArray) -> FloatArray:
        """Return how probable it is that each model solves each item."""
        return np.asarray(special.expit(items[:, :1] * self.ability + items[:, 1:]), dtype=np.float64)

    def fitted(self, y: FloatArray, items: FloatArray, chance: FloatArray, steps: int) -> tuple[FloatArray, FloatArray]:
        """Return slope and intercept of each item after so many Newton steps, shape (n_items, 2), and their chances."""
        for _ in range(steps):
            gradient = (y - chance) @ self.powers[:, 1:] - (items - PRIOR_MEAN) * _PRECISION
            of_slope, of_both, of_intercept = (chance * (1.0 - chance) @ self.powers).T
            of_slope, of_intercept = of_slope + _PRECISION[0], of_intercept + _PRECISION[1]
            step = (
                np.stack(
                    [
                        of_intercept * gradient[:, 0] - of_both * gradient[:, 1],
                        of_slope * gradient[:, 1] - of_both * gradient[:, 0],
                    ],
                    axis=1,
                )
                / (of_slope * of_intercept - of_both**2)[:, None]
            )
            items = items + np.clip(step, -_LONGEST_STEP, _LONGEST_STEP)
            chance = self.chances(items)
        return items, chance

    def scores(self, y: FloatArray, chance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return standardised scores of the terms, and the raw ones: both of shape (n_items, n_terms)."""
        weight = chance * (1.0 - chance)
        of_slope, of_both, of_intercept = ((weight @ self.powers).T)[:, :, None]
        with_ability, alone, squared = np.split(weight @ self.products, 3, axis=1)
        rest = y - chance
        least = np.finfo(np.float64).tiny
        determinant = np.maximum(of_slope * of_intercept - of_both**2, least)
        # What ability and constant say of the term, by weighted least squares.
        slope = (of_intercept * with_ability - of_both * alone) / determinant
        constant = (of_slope * alone - of_both * with_ability) / determinant
        raw = rest @ self.terms
        score = raw - slope * (rest @ self.ability)[:, None] - constant * rest.sum(axis=1)[:, None]
        variance = squared - slope * with_ability - constant * alone
        return score / np.sqrt(np.maximum(variance, 1e-12)), raw
