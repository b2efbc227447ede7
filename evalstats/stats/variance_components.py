"""Variance components of crossed and nested random factors, from the cells of a design.

Balanced designs are solved by their mean squares, all others by restricted maximum likelihood. References: Brennan 2001,
Generalizability Theory, chapters 3, 5 and 6; Searle, Casella & McCulloch 1992, Variance Components; Weerahandi 1993,
doi:10.1080/01621459.1993.10476355 (generalized confidence intervals).
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsqr

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, is_constant
from evalstats.stats.mixed.design import MixedDesign, RandomTerm, nested_in
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.reliability import effects_of

# A component below this share of the total is an estimate on the boundary, which rounding keeps from being exactly 0.
_NOTHING = 1e-9


@record
class VarianceComponents:
    """Components of the variance of a single score, all factors random, with what their uncertainty is drawn from.

    Attributes
    ----------
    within
        What each nested factor is nested in.
    levels
        Levels of each factor: of the object of measurement, which comes first, all; of a facet, as many as each object meets
        (in each level that the facet is nested in), levels of unequal size counted by their shares, rounded.
    effects
        Combinations of factors, a component for each; the last is the residual.
    variances
        float64, shape (n_effects,): the estimates, none below 0.
    mean_squares, df
        float64, shape (n_effects,): mean squares and their degrees of freedom; where the design is not balanced, those
        expected of one with as many scores a level.
    weights
        float64, shape (n_effects, n_effects): expected mean squares are weights @ variances.
    zero
        Effects whose variance is estimated as 0: by mean squares at or below it, or at the boundary of the likelihood.
    balanced
        Whether every cell of the design is filled alike.
    warnings
        What a fit that did not end well says.
    """

    within: dict[str, tuple[str, ...]]
    levels: dict[str, int]
    effects: tuple[tuple[str, ...], ...]
    variances: FloatArray
    mean_squares: FloatArray
    df: FloatArray
    weights: FloatArray
    zero: tuple[tuple[str, ...], ...]
    balanced: bool
    warnings: tuple[str, ...] = ()

    def draws(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Draw components from their generalized (fiducial) distribution, shape (n, n_effects); some lie below 0.

        Mean squares are taken as independent, each its expectation times chi-squared over its degrees of freedom: exact for
        normal effects in a balanced design, an approximation elsewhere.
        """
        # Whatever the order in which the factors are named, an effect has the same draws.
        order = np.argsort([":".join(sorted(effect)) for effect in self.effects])
        squares = np.empty((n, len(self.df)))
        squares[:, order] = (self.mean_squares * self.df)[order] / rng.chisquare(self.df[order], size=(n, len(self.df)))
        return np.asarray(np.linalg.solve(self.weights, squares.T).T, dtype=np.float64)


def variance_components(
    factors: Mapping[str, ArrayLike],
    means: ArrayLike,
    *,
    counts: ArrayLike | None = None,
    within: float = 0.0,
    repetition: str | None = None,
) -> VarianceComponents:
    """Estimate a component of variance for every effect of a design of crossed and nested random factors.

    Parameters
    ----------
    factors
        Codes from 0 of each factor by name, shape (n_cells,); the first is the object of measurement (models), the others are
        its facets. A factor whose levels each occur with one level of another is nested in it.
    means
        Mean score of every cell, in the metric's own unit, shape (n_cells,).
    counts, within, repetition
        Scores of every cell, their sum of squares about the means of their cells, and what they are called ("trial"): a facet
        nested in all others. Without a name, every mean counts as one score.

    Raises
    ------
    InputError
        Two rows for one cell; values that are not finite.
    CannotAnswerError
        A factor with one level; two factors that change together, or groups of objects without a level of a facet in common,
        so that nothing separates them; too few cells to tell a component; scores that are all equal.

    Notes
    -----
    Mean squares where the design is balanced, estimates below 0 set to 0; else REML with a random intercept for every effect.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> model, item = (each.ravel() for each in np.indices((20, 50)))
    >>> score = rng.normal(size=20)[model] + 2 * rng.normal(size=50)[item] + rng.normal(size=1000)
    >>> found = variance_components({"model": model, "item": item}, score)
    >>> found.effects, found.balanced
    ((('model',), ('item',), ('model', 'item')), True)
    """
    values = as_values(means, "scores")
    coded = {name: as_codes(codes, len(values), name)[0] for name, codes in factors.items()}
    measured = next(iter(coded))
    _refuse_single_levels(coded, counts, repetition)
    inside = {
        name: tuple(other for other in coded if other != name and nested_in(codes, coded[other]))
        for name, codes in coded.items()
    }
    _refuse_confounded(inside, measured)
    _refuse_separate(coded, inside)
    n_scores = np.ones(len(values)) if counts is None or repetition is None else as_values(counts, "counts")
    names = [*coded, *([repetition] if repetition else [])]
    if repetition:
        inside[repetition] = tuple(coded)
    inside = {name: parents for name, parents in inside.items() if parents}
    effects = effects_of(names, inside)
    codes = {effect: _joint([coded[name] for name in effect if name in coded]) for effect in effects}
    full = codes[effects[-1]]
    if full.max() + 1 < len(values):
        raise InputError(
            f"{len(values) - int(full.max()) - 1} rows stand for a cell that another row has; average them first"
        )
    if is_constant(values) and not within:
        raise CannotAnswerError("all scores are equal, so they have no variance to split")
    df, weights = _layout(effects, codes, n_scores, repetition)
    levels = {measured: int(coded[measured].max()) + 1} | _effective_levels(coded, inside, n_scores)
    if repetition:
        levels[repetition] = max(1, round(len(values) / float((1.0 / n_scores).sum())))
    shape = _balanced_shape(coded, inside, n_scores)
    warnings: tuple[str, ...] = ()
    if shape is None:
        fit = fit_linear(
            MixedDesign(
                fixed=distinct_rows(np.ones((1, 1)), np.zeros(len(values), dtype=np.int64)),
                fixed_names=("(Intercept)",),
                terms=tuple(_intercept(effect, codes[effect]) for effect in effects[:-1]),
                count=n_scores,
                response=values,
                within=within,
            )
        )
        variances = np.append((fit.sigma * fit.theta) ** 2, fit.sigma**2)
        squares = weights @ variances
        if not fit.convergence.converged:
            warnings = (f"the fit of the variance components did not converge ({fit.convergence.message})",)
    else:
        squares = _mean_squares(effects, values, shape, df, n_scores[0])
        if repetition:
            squares[-1] = within / df[-1]
        variances = np.linalg.solve(weights, squares)
    least = _NOTHING * float(np.abs(variances).sum())
    return VarianceComponents(
        within=inside,
        levels=levels,
        effects=tuple(effects),
        variances=np.where(variances > least, variances, 0.0),
        mean_squares=squares,
        df=df,
        weights=weights,
        zero=tuple(effect for effect, value in zip(effects, variances, strict=True) if value <= least),
        balanced=shape is not None,
        warnings=warnings,
    )


def _refuse_single_levels(coded: Mapping[str, IntArray], counts: ArrayLike | None, repetition: str | None) -> None:
    if len(coded) < 2 and not repetition:
        raise InputError("a reliability needs a facet: items, trials, judges")
    for name, codes in coded.items():
        if codes.max() < 1:
            raise CannotAnswerError(
                f"{name} has one level, and what differs between its levels cannot be estimated from one; leave it out, or add "
                "results with another"
            )
    if repetition and (counts is None or float(np.max(np.asarray(counts))) < 2):
        raise CannotAnswerError(
            f"no cell has more than one {repetition}, so that {repetition}s cannot be told from the rest; leave {repetition} out"
        )


def _refuse_confounded(inside: Mapping[str, Sequence[str]], measured: str) -> None:
    """Refuse factors of which one tells the other."""
    if inside[measured]:
        other = inside[measured][0]
        each = "has its own" if measured in inside[other] else "occurs with one"
        raise CannotAnswerError(
            f"every {measured} {each} {other}: what the {measured} does and what the {other} does cannot be separated. Add "
            f"results of the same {measured} with another {other}, or leave {other} out and read {measured} as both together"
        )
    for name, parents in inside.items():
        for other in parents:
            if name in inside[other]:
                raise CannotAnswerError(f"{name} and {other} change together and cannot be separated; name one of them")


def _refuse_separate(coded: Mapping[str, IntArray], inside: Mapping[str, Sequence[str]]) -> None:
    """Refuse groups of objects that share no level of a facet, between which a difference may be the facet's as well."""
    measured, *facets = coded
    n = int(coded[measured].max()) + 1
    for name in facets:
        if measured in inside[name]:
            continue
        size = n + int(coded[name].max()) + 1
        links = csr_array((np.ones(len(coded[name])), (coded[measured], n + coded[name])), shape=(size, size))
        groups = int(connected_components(links, directed=False)[0])
        if groups > 1:
            raise CannotAnswerError(
                f"the levels of {measured} fall into {groups} groups without a {name} in common, so that between groups what "
                f"{measured} and {name} do cannot be separated. Add results that link them, keep one group, or leave {name} out"
            )


def _joint(columns: Sequence[IntArray]) -> IntArray:
    """Return codes of the combinations of several factors."""
    codes = columns[0]
    for other in columns[1:]:
        codes = np.unique(codes * (other.max() + 1) + other, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return codes


def _effective_levels(
    coded: Mapping[str, IntArray], inside: Mapping[str, Sequence[str]], n_scores: FloatArray
) -> dict[str, int]:
    """Return how many levels of each facet the mean of an object rests on, in each level of what it is nested in.

    The inverse of the sum of squared shares of its scores, averaged over objects: with a component of variance for these
    levels, its part in the variance of the mean is the component over this number (Brennan 2001, section 7.2).
    """
    measured, *facets = coded

    def number(names: Sequence[str]) -> float:
        return 1.0 / float(_held(coded[measured], _joint([coded[name] for name in names]), n_scores, share=True).mean())

    found: dict[str, int] = {}
    for name in facets:
        parents = [other for other in inside.get(name, ()) if other != measured]
        levels = number([measured, *parents, name])
        found[name] = max(1, round(levels / number([measured, *parents]) if parents else levels))
    return found


def _held(outer: IntArray, inner: IntArray, n_scores: FloatArray, *, share: bool = False) -> FloatArray:
    """Return the sum over inner levels of n^2/N in every outer level of N scores; with `share`, of (n/N)^2."""
    n, first = np.bincount(inner, weights=n_scores), np.unique(inner, return_index=True)[1]
    total = np.bincount(outer, weights=n_scores)
    return np.asarray(np.bincount(outer[first], weights=n**2) / total ** (2 if share else 1), dtype=np.float64)


def _layout(
    effects: Sequence[tuple[str, ...]],
    codes: Mapping[tuple[str, ...], IntArray],
    n_scores: FloatArray,
    repetition: str | None,
) -> tuple[FloatArray, FloatArray]:
    """Return degrees of freedom, and what of each component expected mean squares hold, from the levels that were met."""
    free: dict[tuple[str, ...], float] = {}
    for effect in effects:
        n = float(n_scores.sum()) if repetition in effect else float(codes[effect].max() + 1)
        free[effect] = n - 1.0 - sum(df for other, df in free.items() if set(other) < set(effect))
        if free[effect] < 1:
            raise CannotAnswerError(
                f"too few cells to estimate what is particular to a combination of {' and '.join(effect)}: "
                f"{round(n):,} of them were met. Name fewer facets, or add results that cross them"
            )
    weights = np.zeros((len(effects), len(effects)))
    for i, effect in enumerate(effects):
        for j, other in enumerate(effects):
            if repetition in other:
                weights[i, j] = 1.0
            elif set(effect) <= set(other):
                weights[i, j] = float(_held(codes[effect], codes[other], n_scores).mean())
    return np.array(list(free.values())), weights


def _balanced_shape(
    coded: Mapping[str, IntArray], inside: Mapping[str, Sequence[str]], n_scores: FloatArray
) -> dict[str, IntArray] | None:
    """Return the place of each factor's level within what it is nested in, if these fill a whole block; None if they do not."""
    if np.ptp(n_scores) > 0:
        return None
    places: dict[str, IntArray] = {}
    size = 1
    for name, codes in coded.items():
        parents = [coded[other] for other in inside.get(name, ())]
        if not parents:
            places[name] = codes
        else:
            first = np.unique(codes, return_index=True)[1]
            parent = _joint(parents)[first]
            order = np.argsort(parent, kind="stable")
            per_parent = np.bincount(parent)
            if np.ptp(per_parent) > 0:
                return None
            rank = np.empty(len(first), dtype=np.int64)
            rank[order] = np.arange(len(first)) % per_parent[0]
            places[name] = rank[codes]
        size *= int(places[name].max()) + 1
    return places if size == len(n_scores) else None


def _mean_squares(
    effects: Sequence[tuple[str, ...]],
    values: FloatArray,
    places: Mapping[str, IntArray],
    df: FloatArray,
    n_scores: float,
) -> FloatArray:
    """Return the mean squares of a balanced design; that of repetitions is left at 0."""
    names = list(places)
    block = np.zeros([int(places[name].max()) + 1 for name in names])
    block[tuple(places[name] for name in names)] = values
    estimates: dict[tuple[str, ...], FloatArray] = {(): block.mean(keepdims=True)}
    squares = np.zeros(len(effects))
    for at, effect in enumerate(effects):
        if not set(effect) <= set(names):
            continue
        others = tuple(axis for axis, name in enumerate(names) if name not in effect)
        own = block.mean(axis=others, keepdims=True)
        own = own - sum(part for other, part in estimates.items() if set(other) < set(effect))
        estimates[effect] = own
        squares[at] = n_scores * block.size / own.size * float((own**2).sum()) / df[at]
    return squares


def _intercept(effect: Sequence[str], codes: IntArray) -> RandomTerm:
    n = int(codes.max()) + 1
    return RandomTerm(
        group=":".join(effect),
        columns=("(Intercept)",),
        levels=tuple(map(str, range(n))),
        level=codes,
        values=np.ones((len(codes), 1)),
    )


def object_scores(factors: Mapping[str, ArrayLike], means: ArrayLike) -> FloatArray:
    """Return the mean score of each object of measurement, adjusted for which levels of the facets it met, shape (n_objects,).

    Least squares on the objects and the levels of all facets that are not nested in them, without interactions, at the average
    of the levels met. In a balanced design these are the raw means.

    Examples
    --------
    >>> model, item = [0, 0, 1], [0, 1, 1]
    >>> object_scores({"model": model, "item": item}, [0.2, 0.6, 0.7]).round(2).tolist()
    [0.47, 0.57]
    """
    values = as_values(means, "scores")
    coded = {name: as_codes(codes, len(values), name)[0] for name, codes in factors.items()}
    measured, *facets = coded
    used = [measured, *(name for name in facets if not nested_in(coded[name], coded[measured]))]
    rows = np.arange(len(values))
    columns = [csr_array((np.ones(len(values)), (rows, coded[name]))) for name in used]
    centre = float(values.mean())
    effects = np.asarray(
        lsqr(hstack(columns, format="csr"), values - centre, atol=1e-13, btol=1e-13)[0], dtype=np.float64
    )
    own = int(coded[measured].max()) + 1
    others = np.asarray(hstack(columns, format="csr")[:, own:] @ effects[own:], dtype=np.float64)
    # Solved to 13 digits: what differs less is equal, such as two scores that share the first place.
    scale = float(np.abs(values).max())
    return np.round((centre + effects[:own] + float(others.mean())) / scale, 10) * scale
