"""Marginal means: what a model predicts for a level of a factor, or plain means of cells where the model is saturated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray, too_few_clusters

Mix = Mapping[str, Mapping[str, float]]
Weights = Literal["equal", "observed"] | Mix

_ROUNDING = 1e-9
_LARGEST_SHARE = 1.0 - 1e-10


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGrid:
    """Combinations of factor levels, and the row of fixed effects that predicts each.

    Attributes
    ----------
    factors
        Names of the factors.
    levels
        Levels of each factor.
    codes
        int64, shape (n_rows, n_factors): the level of every factor in a row.
    rows
        float64, shape (n_rows, n_fixed): row @ beta is the prediction; covariates stand at values that the caller chose.
    count
        float64, shape (n_rows,): observations (rows of data, binomial trials) in that combination; None where not known.
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    codes: IntArray
    rows: FloatArray
    count: FloatArray | None = None

    def __post_init__(self) -> None:
        n = len(self.codes)
        if self.codes.shape != (n, len(self.factors)) or len(self.levels) != len(self.factors) or len(self.rows) != n:
            raise InputError(
                f"grid of {len(self.factors)} factors has codes {self.codes.shape} and rows {self.rows.shape}; "
                "expected one code a factor and one row each"
            )
        if len({tuple(code) for code in self.codes.tolist()}) < n:
            raise InputError("the grid holds a combination of levels twice; each must stand once")

    def labels(self) -> tuple[str, ...]:
        """Levels of every row, joined by commas."""
        codes: list[list[int]] = self.codes.tolist()
        return tuple(", ".join(self.levels[j][c] for j, c in enumerate(row)) for row in codes)


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalMeans:
    """Marginal means as weights over a grid.

    Attributes
    ----------
    names
        Levels of the factors that are kept, joined by commas; the last factor runs fastest.
    codes
        int64, shape (n_means, n_kept): levels of the factors that are kept.
    weights
        float64, shape (n_means, n_grid); each row adds up to 1, or is 0 where the mean is null.
    rows
        float64, shape (n_means, n_fixed): weights @ grid.rows, for `contrasts.linear_estimates`; NaN where the mean is null,
        so that no contrast takes it for 0: `contrast_rows` makes the rows of contrasts.
    reasons
        Why a mean is null; None where it is not.
    averaging
        What it is averaged over and how, in words.
    notes
        What a reader must know, such as a mix that did not add up to 1.
    """

    names: tuple[str, ...]
    codes: IntArray
    weights: FloatArray
    rows: FloatArray
    reasons: tuple[str | None, ...]
    averaging: str
    notes: tuple[str, ...] = ()


def marginal_means(grid: ReferenceGrid, over: Sequence[str], weights: Weights = "equal") -> MarginalMeans:
    """Average the rows of a grid over every factor that is not named.

    Parameters
    ----------
    over
        Factors whose levels are told apart; all others are averaged over.
    weights
        "equal": every combination of the other factors alike, an average over conditions. "observed": by how often a
        combination of the other factors occurs in the data, over all levels of `over` together, so that all means share one
        mix. Or a mix of the user's: for a factor, the share of each level, such as live traffic; factors without one count
        equally, and levels without one get 0.

    Returns
    -------
    MarginalMeans
        A mean that needs a combination which the grid does not have is null: averaged over what is there, it would be
        compared with means over another mix.

    Raises
    ------
    InputError
        Unknown factors or levels, negative shares, or "observed" without counts.

    References
    ----------
    Searle, Speed & Milliken 1980, doi:10.1080/00031305.1980.10483031; Lenth, emmeans, weights "equal" and "proportional".

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> grid = ReferenceGrid(
    ...     factors=("model", "scenario"),
    ...     levels=(("A", "B"), ("ideal", "rude")),
    ...     codes=codes,
    ...     rows=np.eye(4),
    ... )
    >>> found = marginal_means(grid, ["model"], {"scenario": {"ideal": 3, "rude": 1}})
    >>> found.names, found.weights.tolist()
    (('A', 'B'), [[0.75, 0.25, 0.0, 0.0], [0.0, 0.0, 0.75, 0.25]])
    >>> found.averaging
    'averaged over scenario (given mix)'
    """
    kept = _places(grid, over)
    others = [j for j in range(len(grid.factors)) if j not in kept]
    share, averaging, notes = _shares(grid, others, weights)
    means = [np.arange(len(grid.levels[j])) for j in kept]
    codes = np.array(list(product(*means)), dtype=np.int64).reshape(-1, len(kept))
    found = {tuple(code): i for i, code in enumerate(grid.codes.tolist())}
    weight_of, reasons = np.zeros((len(codes), len(grid.rows))), list[str | None]()
    for m, mean in enumerate(codes.tolist()):
        needed = {_whole(kept, mean, others, rest): weight for rest, weight in share.items() if weight > 0.0}
        missing = [code for code in needed if code not in found]
        if missing:
            levels = ", ".join(grid.levels[j][c] for j, c in enumerate(missing[0]))
            reasons.append(f"the grid has no row for {levels}" + (f" and {len(missing) - 1} more" * (len(missing) > 1)))
            continue
        for code, weight in needed.items():
            weight_of[m, found[code]] = weight
        reasons.append(None)
    return MarginalMeans(
        names=tuple(
            ", ".join(grid.levels[j][c] for j, c in zip(kept, mean, strict=True)) or "all" for mean in codes.tolist()
        ),
        codes=codes,
        weights=weight_of,
        rows=np.where([[reason is not None] for reason in reasons], np.nan, weight_of @ grid.rows),
        reasons=tuple(reasons),
        averaging=averaging,
        notes=notes,
    )


def null_basis(design: ArrayLike) -> FloatArray:
    """Directions of the coefficients that a design says nothing about, as orthonormal columns.

    A row L can be estimated exactly if it is orthogonal to all of them. The design is that of all columns, before any was
    dropped for collinearity.

    Parameters
    ----------
    design
        float64, shape (n_cells, n_coefficients); distinct rows are enough.

    Returns
    -------
    numpy.ndarray
        Shape (n_coefficients, n_missing), with no column where the design has full column rank.

    Examples
    --------
    >>> null_basis([[1, 1, 0], [1, 0, 1]]).shape
    (3, 1)
    """
    x = np.asarray(design, dtype=np.float64)
    if x.ndim != 2 or not np.isfinite(x).all():
        raise InputError(f"design has shape {x.shape} or holds NaN; give a finite matrix, one row a cell")
    scale = np.linalg.norm(x, axis=0)
    scale[scale == 0.0] = 1.0
    _, size, vectors = np.linalg.svd(x / scale, full_matrices=True)
    rank = int(np.count_nonzero(size > max(x.shape) * np.finfo(np.float64).eps * 16.0 * size.max(initial=0.0)))
    basis = vectors[rank:].T / scale[:, np.newaxis]
    return basis / np.maximum(np.linalg.norm(basis, axis=0), 1e-300)


def expanded(
    beta: ArrayLike, covariance: ArrayLike, kept: ArrayLike, n_coefficients: int
) -> tuple[FloatArray, FloatArray]:
    """Put estimates of the columns kept back among all columns; those dropped for collinearity get 0.

    With `null_basis` of the whole design, rows that need a dropped column are then null and all others are right,
    whichever columns were dropped.

    Parameters
    ----------
    kept
        Indices of the columns that were estimated, shape (n_kept,).

    Examples
    --------
    >>> expanded([2.0], [[0.25]], [1], 2)[0].tolist()
    [0.0, 2.0]
    """
    b, v, at = np.asarray(beta, dtype=np.float64), np.asarray(covariance, dtype=np.float64), np.asarray(kept)
    if b.shape != at.shape or v.shape != (b.size, b.size):
        raise InputError(f"beta has shape {b.shape}, covariance {v.shape} and kept {at.shape}; they must fit")
    whole, together = np.zeros(n_coefficients), np.zeros((n_coefficients, n_coefficients))
    whole[at], together[np.ix_(at, at)] = b, v
    return whole, together


def _places(grid: ReferenceGrid, over: Sequence[str]) -> list[int]:
    unknown = [name for name in over if name not in grid.factors]
    if unknown:
        raise InputError(f"factor {unknown[0]!r} is not in the grid, which has {', '.join(grid.factors)}")
    if len(set(over)) < len(over):
        raise InputError(f"factors {', '.join(over)} name one twice")
    return [grid.factors.index(name) for name in over]


def _whole(kept: Sequence[int], mean: Sequence[int], others: Sequence[int], rest: Sequence[int]) -> tuple[int, ...]:
    code = dict(zip([*kept, *others], [*mean, *rest], strict=True))
    return tuple(code[j] for j in range(len(code)))


def _shares(
    grid: ReferenceGrid, others: Sequence[int], weights: Weights
) -> tuple[dict[tuple[int, ...], float], str, tuple[str, ...]]:
    """Return the share of every combination of the other factors, how that is said, and notes."""
    names = [grid.factors[j] for j in others]
    if weights == "observed":
        if grid.count is None:
            raise InputError("weights are 'observed', but the grid has no counts; give count, or a mix")
        count: dict[tuple[int, ...], float] = {}
        for code, n in zip(grid.codes.tolist(), grid.count.tolist(), strict=True):
            rest = tuple(code[j] for j in others)
            count[rest] = count.get(rest, 0.0) + n
        total = sum(count.values())
        if not total > 0.0:
            raise InputError("weights are 'observed', but the grid's counts are all 0")
        shares = {rest: n / total for rest, n in count.items()}
        return shares, _words(names, dict.fromkeys(names, "as observed")), ()
    given: Mix = {} if weights == "equal" else _as_mix(weights)
    wrong = [name for name in given if name not in names]
    if wrong:
        why = "is not averaged over" if wrong[0] in grid.factors else "is not in the grid"
        raise InputError(f"a mix is given for {wrong[0]!r}, which {why}; give mixes for {', '.join(names) or 'none'}")
    notes: list[str] = []
    single = [_one_factor(grid.levels[j], grid.factors[j], given.get(grid.factors[j]), notes) for j in others]
    shares = {
        rest: float(np.prod([share[c] for share, c in zip(single, rest, strict=True)]))
        for rest in product(*(range(len(grid.levels[j])) for j in others))
    }
    how = {name: "given mix" if name in given else "equal weights" for name in names}
    return shares, _words(names, how), tuple(notes)


def _as_mix(weights: object) -> Mix:
    if not isinstance(weights, Mapping):
        raise InputError(f"weights are {weights!r}; use 'equal', 'observed' or a mix such as {{'scenario': {{...}}}}")
    return weights  # pyright: ignore[reportUnknownVariableType]


def _one_factor(
    levels: Sequence[str], factor: str, mix: Mapping[str, float] | None, notes: list[str]
) -> tuple[float, ...]:
    if mix is None:
        return (1.0 / len(levels),) * len(levels)
    unknown = [level for level in mix if level not in levels]
    if unknown:
        raise InputError(f"the mix of {factor} names {unknown[0]!r}; its levels are {', '.join(levels)}")
    share = np.array([float(mix.get(level, 0.0)) for level in levels])
    if not (np.isfinite(share).all() and (share >= 0.0).all() and share.sum() > 0.0):
        raise InputError(
            f"the mix of {factor} holds a share that is negative or no number, or all are 0; give shares from 0"
        )
    absent = [level for level in levels if level not in mix]
    if absent:
        notes.append(f"the mix of {factor} does not name {', '.join(absent)}: weight 0")
    total = float(share.sum())
    if abs(total - 1.0) > _ROUNDING:
        notes.append(f"the mix of {factor} adds up to {total:g} and is divided by that")
    return tuple((share / total).tolist())


def _words(names: Sequence[str], how: Mapping[str, str]) -> str:
    if not names:
        return "not averaged"
    return "averaged over " + ", ".join(f"{name} ({how[name]})" for name in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class CellMeans:
    """Means of cells, and how they vary together.

    Attributes
    ----------
    mean
        float64, shape (n_cells,).
    influence
        float64, shape (n_clusters, n_cells): what each cluster contributes to the means.
    covariance
        float64, shape (n_cells, n_cells): CR2, the sum of squared contributions.
    """

    mean: FloatArray
    influence: FloatArray = field(repr=False)
    covariance: FloatArray
    n_clusters: int
    _counts: FloatArray = field(repr=False)
    _enlarged: FloatArray = field(repr=False)
    _crossed: FloatArray = field(repr=False)

    def df(self, rows: FloatArray) -> FloatArray:
        """Satterthwaite's degrees of freedom of the t of contrasts of cells, shape (n_contrasts, n_cells)."""
        counts, total = self._counts, self._counts.sum(axis=0)
        square = (rows / total) ** 2
        spread = square @ (counts * self._enlarged**2).T
        moved = square @ (counts**2 * self._enlarged**2 / total).T
        # tr(P^2) of P = diag(spread) - moved moved'.
        whole = (square @ self._crossed * square).sum(axis=1)
        trace = (spread - moved).sum(axis=1)
        return np.asarray(trace**2 / ((spread**2).sum(axis=1) - 2 * (spread * moved).sum(axis=1) + whole))


def cell_means(scores: FloatArray, cell: IntArray, cluster: IntArray) -> CellMeans:
    """Return means of cells with CR2 standard errors.

    With a fixed effect for every cell and no score missing, weighted and plain least squares agree: whatever random effects
    items have, the estimates are the plain means, and a share of successes is already averaged over the population of
    items. So no model needs to be fitted.

    Parameters
    ----------
    scores
        float64, shape (n_rows,).
    cell, cluster
        int64, shape (n_rows,): codes from 0 without gaps; clusters are independent.

    Raises
    ------
    CannotAnswerError
        If there are fewer than 5 clusters.

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169 (in a saturated design the adjustment is a factor for each cluster and
    cell).

    Examples
    --------
    >>> found = cell_means(np.array([0.0, 1, 1, 1, 0, 1]), np.array([0, 0, 0, 1, 1, 1]), np.arange(6))
    >>> found.mean.round(3).tolist(), (np.diag(found.covariance) * 9).round(3).tolist()
    ([0.667, 0.667], [1.0, 1.0])
    >>> found.df(np.array([[-1.0, 1.0]])).round(6).tolist()
    [4.0]
    """
    n_clusters, n_cells = int(cluster.max()) + 1, int(cell.max()) + 1
    few = too_few_clusters(n_clusters)
    if few is not None:
        raise CannotAnswerError(few)
    place = cluster * n_cells + cell
    counts = np.bincount(place, minlength=n_clusters * n_cells).reshape(n_clusters, n_cells).astype(np.float64)
    total = counts.sum(axis=0)
    mean = np.bincount(cell, weights=scores, minlength=n_cells) / total
    pull = np.bincount(place, weights=scores - mean[cell], minlength=n_clusters * n_cells).reshape(n_clusters, n_cells)
    share = counts / total
    # A cell that lies in one cluster has no spread to judge by: its pulls sum to 0.
    enlarged = 1.0 / np.sqrt(1.0 - np.minimum(share, _LARGEST_SHARE))
    influence = pull / total * enlarged
    crossed = counts * enlarged / np.sqrt(total)
    return CellMeans(
        mean=mean,
        influence=influence,
        covariance=influence.T @ influence,
        n_clusters=n_clusters,
        _counts=counts,
        _enlarged=enlarged,
        _crossed=(crossed.T @ crossed) ** 2,
    )
