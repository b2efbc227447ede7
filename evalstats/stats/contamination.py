"""Contamination: contrasts of old and new items, or before and after a date, and a model's contrast beyond the references'.

Errors are CR2 with Satterthwaite's degrees of freedom, clustered in any number of ways.

References: Bell & McCaffrey 2002, Survey Methodology 28:169; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004;
Cameron, Gelbach & Miller 2011, doi:10.1198/jbes.2010.07136 (several ways of clustering); Crawford & Howell 1998,
doi:10.1076/clin.12.4.482.7241 (one case against a small sample); Donald & Lang 2007, doi:10.1162/rest.89.2.221 (few groups);
Hahn, Todd & van der Klaauw 2001, doi:10.1111/1468-0262.00183; Imbens & Kalyanaraman 2012, doi:10.1093/restud/rdr043;
Calonico, Cattaneo & Titiunik 2014, doi:10.3982/ECTA11757 (regression discontinuity).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray, as_codes, as_values, check_level
from evalstats.stats.clusters import intersection
from evalstats.stats.estimate import positive_p, t_quantile, two_sided_t_p

_MOST_COLUMNS = 4
_ROUNDING = 1e-10


@record
class _Piece:
    """One way of clustering: scores that turn residuals into a cluster's share, its df, and its sign in the sum."""

    codes: IntArray
    n_clusters: int
    scores: FloatArray
    df: float
    sign: float
    one_way: bool


@record
class ItemContrast:
    """A coefficient of a weighted regression on items, ready for any scores of these items: `weights @ scores`.

    `back` (p, n_items) turns scores into all coefficients of `design`. `df` is Satterthwaite's, with several cluster columns
    the fewest of them; `n_clusters` counts those of the column that has the fewest (items where nothing is clustered).
    """

    weights: FloatArray
    design: FloatArray
    back: FloatArray
    df: float
    n_clusters: int
    pieces: tuple[_Piece, ...]

    def estimate(self, scores: FloatArray) -> FloatArray:
        """Return the contrast of every column of `scores`, shape (n_items, k)."""
        return np.asarray(self.weights @ scores, dtype=np.float64)

    def variance(self, scores: FloatArray) -> FloatArray:
        """Return the CR2 variance of the contrast of every column, shape (k,); 0 where rounding is all there is."""
        residuals = scores - self.design @ (self.back @ scores)
        total = np.zeros(scores.shape[1])
        largest = np.zeros(scores.shape[1])
        for piece in self.pieces:
            share = np.zeros((piece.n_clusters, scores.shape[1]))
            np.add.at(share, piece.codes, piece.scores[:, np.newaxis] * residuals)
            one = (share**2).sum(axis=0)
            total += piece.sign * one
            largest = np.maximum(largest, one) if piece.one_way else largest
        # Inclusion and exclusion can come out too small by chance; the largest one-way variance is a floor.
        found = np.maximum(total, largest) if len(self.pieces) > 1 else total
        tiny = _ROUNDING * np.abs(scores).max(axis=0, initial=0.0) * np.abs(self.weights).max()
        return np.where(found > tiny**2, found, 0.0)


def item_contrast(
    design: ArrayLike,
    coefficient: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    clusters: Sequence[ArrayLike] = (),
) -> ItemContrast:
    """Prepare a contrast of the coefficients of a weighted regression on items.

    `design`, shape (n_items, p), is of full rank; the contrast is the combination `coefficient` of the coefficients. `weights`
    are those of a kernel, above 0; None for 1 throughout. `clusters` are integer codes of the items, one array for each way of
    clustering; none: every item for itself.

    CR2 with an identity working model: within cluster g residuals are multiplied by the inverse root of
    [(I - H)(I - H)']_gg, H the hat matrix of the weighted regression. Degrees of freedom are Satterthwaite's under the
    working model, tr(G)^2 / tr(G^2), worked out from factors of low rank. For the mean of items it equals
    `evalstats.stats.one_sample.cr2_of_mean`; for a difference of two groups of single items it is Welch's variance.

    >>> found = item_contrast(np.ones((4, 1)), [1.0])
    >>> scores = np.array([[1.0], [2.0], [3.0], [6.0]])
    >>> found.estimate(scores).tolist(), found.variance(scores).round(6).tolist(), round(found.df, 6)
    ([3.0], [1.166667], 3.0)
    """
    x = np.asarray(design, dtype=np.float64)
    c = np.asarray(coefficient, dtype=np.float64)
    n, p = x.shape
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    if len(clusters) > _MOST_COLUMNS:
        raise InputError(f"{len(clusters)} cluster columns; give at most {_MOST_COLUMNS}")
    if n <= p or np.linalg.matrix_rank(x * np.sqrt(w)[:, np.newaxis]) < p:
        raise InputError(
            f"{n} items cannot tell {p} coefficients apart; more items, or more different dates, are needed"
        )
    weighted = x * w[:, np.newaxis]
    back = np.asarray(np.linalg.solve(x.T @ weighted, weighted.T), dtype=np.float64)
    # The columns and their intersections, each with the number of columns that it is made of.
    columns = [as_codes(column, n) for column in clusters]
    sizes = range(1, len(columns) + 1)
    ways = [(*intersection(chosen), k) for k in sizes for chosen in combinations(columns, k)]
    pieces = tuple(_piece(x, back, c @ back, way) for way in ways or [(np.arange(n), n, 1)])
    single = [piece for piece in pieces if piece.one_way]
    return ItemContrast(
        weights=c @ back,
        design=x,
        back=back,
        df=min(piece.df for piece in single),
        n_clusters=min(piece.n_clusters for piece in single),
        pieces=pieces,
    )


def _piece(x: FloatArray, back: FloatArray, line: FloatArray, way: tuple[IntArray, int, int]) -> _Piece:
    """Return the scores s_g = A_g z_g of one way of clustering, and its Satterthwaite df."""
    codes, count, n_columns = way
    b = np.ascontiguousarray(back.T)  # hat matrix H = x @ back, so H_ij = x_i . b_j
    inner = b.T @ b
    if count == len(x):  # every item for itself: the inverse root is a number
        left = 1.0 - 2.0 * (x * b).sum(axis=1) + np.einsum("ij,jk,ik->i", x, inner, x)
        scores = np.where(left > _ROUNDING, line / np.sqrt(np.maximum(left, _ROUNDING)), 0.0)
    else:
        scores = np.empty(len(x))
        order = np.argsort(codes, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
            scores[rows] = _adjusted(x[rows], b[rows], inner, line[rows])
    return _Piece(
        codes=codes,
        n_clusters=count,
        scores=scores,
        df=_df(x, b, scores, codes),
        sign=1.0 if n_columns % 2 else -1.0,
        one_way=n_columns == 1,
    )


def _adjusted(x: FloatArray, b: FloatArray, inner: FloatArray, line: FloatArray) -> FloatArray:
    """Return [(I - H)(I - H)']_gg ^ (-1/2) z, worked out in the few dimensions in which that is not the identity."""
    basis, sizes, _ = np.linalg.svd(
        np.hstack([x, b / np.abs(b).max(), line[:, np.newaxis] / np.abs(line).max()]), full_matrices=False
    )
    basis = basis[:, sizes > _ROUNDING * sizes[0]]
    px, pb = basis.T @ x, basis.T @ b
    block = np.eye(basis.shape[1]) - px @ pb.T - pb @ px.T + px @ inner @ px.T
    values, vectors = np.linalg.eigh(block)
    root = np.where(values > _ROUNDING, 1.0 / np.sqrt(np.maximum(values, _ROUNDING)), 0.0)
    return np.asarray(basis @ (vectors @ (root * (vectors.T @ (basis.T @ line)))), dtype=np.float64)


def _df(x: FloatArray, b: FloatArray, scores: FloatArray, codes: IntArray) -> float:
    """Return tr(G)^2 / tr(G^2), with G_gh = d_g (g = h) - q_g'p_h - p_g'q_h + p_g' K p_h."""
    count, inner = int(codes.max()) + 1, b.T @ b
    d = np.bincount(codes, weights=scores**2, minlength=count)
    p, q = np.zeros((count, x.shape[1])), np.zeros((count, x.shape[1]))
    np.add.at(p, codes, scores[:, np.newaxis] * x)
    np.add.at(q, codes, scores[:, np.newaxis] * b)
    low = -2.0 * (q * p).sum(axis=1) + np.einsum("gi,ij,gj->g", p, inner, p)
    both = np.hstack([q, p])
    k = x.shape[1]
    middle = np.block([[np.zeros((k, k)), -np.eye(k)], [-np.eye(k), inner]])
    cross = both.T @ both @ middle
    squares = float((d**2 + 2.0 * d * low).sum() + np.trace(cross @ cross))
    return float((d + low).sum()) ** 2 / squares


def split_contrast(old: ArrayLike, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean of old items (those that the model may have seen) less that of new ones.

    A cluster may hold items of both kinds.
    """
    is_old = np.asarray(old, dtype=np.bool_)
    if is_old.ndim != 1 or is_old.all() or not is_old.any():
        raise InputError("old and new items are both needed, one flag for every item")
    return item_contrast(np.column_stack([is_old, ~is_old]), [1.0, -1.0], clusters=clusters)


def twin_contrast(n_pairs: int, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean over pairs, for scores that are already original less rephrased."""
    if n_pairs < 2:
        raise InputError(f"{n_pairs} pairs of an original and a twin; at least 2 are needed")
    return item_contrast(np.ones((n_pairs, 1)), [1.0], clusters=clusters)


MIN_REFERENCES = 3


@record
class ReferenceGap:
    """What a suspect model has beyond the references, in the score's unit, and how sure that is.

    `estimate` is `own`, the suspect's contrast, less `reference`, the mean of the references' (None without any). `std_error`
    to `p_value` come from items and from the spread between references together, `p_greater` is one-sided; None where there
    are too few references to know that spread, and `reason` says so. `item_std_error` and `item_p_value` come from items
    alone: beside, never the answer, since with three references they find an inflation in up to 40% of the models that have
    none. `between_sd` is the standard deviation between references beyond item noise, 0.0 where noise explains their spread.
    """

    estimate: float
    own: float
    own_std_error: float | None
    reference: float | None
    conf_level: float
    n_references: int
    n_items: int
    n_clusters: int
    std_error: float | None = None
    df: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    p_greater: float | None = None
    item_std_error: float | None = None
    item_p_value: float | None = None
    between_sd: float | None = None
    reason: str | None = None


def reference_gap(
    suspect: ArrayLike,
    references: ArrayLike,
    contrast: ItemContrast,
    *,
    conf_level: float = 0.95,
    bound: float | None = None,
) -> ReferenceGap:
    """Compare one model's contrast with the references' on the same items.

    Scores are better where higher; `references`, shape (n_items, n_references), may have no column. `bound` is the largest
    difference there can be; the interval is clipped to it.

    Var = Var_items(D_m - mean D_ref) + s^2 (1 + 1/R), with R references and s^2 the variance between references beyond item
    noise: the sample variance of their D less the mean item variance of D_r - mean D_ref, not below 0. Student's t with
    Satterthwaite's degrees of freedom: R - 1 for what the spread of the references tells, those of the items for noise that
    the suspect has beyond theirs. Where the models have the same item noise this is the exact t test of one new model against
    R others; a variance cut at 0 makes it cautious. It assumes that a clean suspect is one more draw from the same law as the
    references.

    >>> rng = np.random.default_rng(0)
    >>> old = np.arange(200) < 100
    >>> scores = rng.random((200, 5)) + 0.5 * np.outer(old, [1, 0, 0, 0, 0])
    >>> found = reference_gap(scores[:, 0], scores[:, 1:], split_contrast(old))
    >>> round(found.estimate, 2), found.df, found.p_value < 0.05
    (0.5, 3.0, True)
    """
    level = check_level(conf_level)
    y, others = np.asarray(suspect, dtype=np.float64), np.asarray(references, dtype=np.float64)
    n = len(contrast.weights)
    count = others.shape[1]
    less = y - others.mean(axis=1) if count else y
    own, estimate = (float(contrast.weights @ each) for each in (y, less))
    own_variance, items = (float(contrast.variance(each[:, np.newaxis])[0]) for each in (y, less))
    found = ReferenceGap(
        estimate=estimate,
        own=own,
        own_std_error=math.sqrt(own_variance) if own_variance > 0 else None,
        reference=own - estimate if count else None,
        conf_level=level,
        n_references=count,
        n_items=n,
        n_clusters=contrast.n_clusters,
        reason=_why_not(count, items),
    )
    if items > 0:
        alone = math.sqrt(items)
        p = two_sided_t_p(estimate / alone, contrast.df)
        found = replace(found, item_std_error=alone, item_p_value=p)
    if found.reason is not None:
        return found
    # The variance of the references' contrasts, and how much of it is item noise.
    spread = float(np.var(contrast.estimate(others), ddof=1, dtype=np.float64))
    noise = float(contrast.variance(others - others.mean(axis=1)[:, np.newaxis]).sum()) / (count - 1)
    between, once_more = max(0.0, spread - noise), 1.0 + 1.0 / count
    error = math.sqrt(items + between * once_more)
    learnt, known = max(spread, noise) * once_more, max(0.0, items - noise * once_more)
    df: float = min((learnt + known) ** 2 / (learnt**2 / (count - 1.0) + known**2 / contrast.df), contrast.df)
    reach = t_quantile(level, df) * error
    edge = math.inf if bound is None else bound
    return replace(
        found,
        std_error=error,
        df=df,
        conf_low=max(-edge, estimate - reach),
        conf_high=min(edge, estimate + reach),
        p_value=two_sided_t_p(estimate / error, df),
        p_greater=positive_p(float(special.stdtr(df, -(estimate / error)))),
        between_sd=math.sqrt(between),
    )


def _why_not(count: int, variance: float) -> str | None:
    if count < MIN_REFERENCES:
        have = "no reference model" if not count else f"only {plural(count, 'reference model')}"
        return (
            f"{have}: at least {MIN_REFERENCES} known clean are needed to know how far clean models differ here, so this is "
            "described and not judged"
        )
    if variance <= 0:
        return "the model differs from the references by the same amount on every item, so the noise is unknown"
    return None


MIN_SIDE = 20
MIN_DATES = 5


@record
class DateWindow:
    """The items closer to the break than `width`, and the contrast "limit from before less limit from after" on them."""

    width: float
    inside: npt.NDArray[np.bool_]
    contrast: ItemContrast
    n_before: int
    n_after: int


@record
class DateDensity:
    """Items within half the bandwidth of the break on each side, and how near the nearest lies (`gap_before`, `gap_after`).

    `p_value` is the two-sided binomial p of equal chances; small where items were gathered on one side, or chosen by date.

    Attributes
    ----------
    n_before, n_after
        Items on either side.
    """

    n_before: int
    n_after: int
    p_value: float
    gap_before: float
    gap_after: float


def date_window(days: ArrayLike, width: float, *, order: int = 1, clusters: Sequence[ArrayLike] = ()) -> DateWindow:
    """Prepare the jump at 0 of a local regression, before less after.

    `days` are the date of every item less that of the break; 0 is before (the day itself was seen). `width` is the bandwidth,
    in the same unit. `order` 1: straight lines on both sides, the answer; 2: parabolas, which at the same width equal the
    straight lines with their bias taken out (Calonico, Cattaneo & Titiunik), the check of curvature. CannotAnswerError if
    either side has fewer than 20 items or fewer than 5 different dates within the bandwidth.

    >>> days = np.arange(-50.0, 50.0)
    >>> found = date_window(days, 40.0)
    >>> scores = 0.01 * days + 0.3 * (days <= 0)
    >>> found.contrast.estimate(scores[found.inside, np.newaxis]).round(6).tolist()
    [0.3]
    """
    x = as_values(days, "dates")
    inside = np.abs(x) < width
    near = x[inside]
    before = near <= 0
    for side, name in ((near[before], "before"), (near[~before], "after")):
        _different(side, f"{name} the break within {width:.0f} days of it")
    scaled = near / width
    powers = np.column_stack([scaled**k for k in range(order + 1)])
    design = np.hstack([powers * before[:, np.newaxis], powers * ~before[:, np.newaxis]])
    coefficient = np.zeros(2 * (order + 1))
    coefficient[0], coefficient[order + 1] = 1.0, -1.0
    contrast = item_contrast(
        design,
        coefficient,
        weights=1.0 - np.abs(scaled),
        clusters=[np.asarray(each, dtype=np.int64)[inside] for each in clusters],
    )
    return DateWindow(
        width=float(width),
        inside=inside,
        contrast=contrast,
        n_before=int(before.sum()),
        n_after=int((~before).sum()),
    )


def _different(side: FloatArray, where: str) -> FloatArray:
    """Return the different dates of one side, or raise CannotAnswerError where there are too few."""
    different = np.unique(side)
    if side.size < MIN_SIDE or different.size < MIN_DATES:
        raise CannotAnswerError(
            f"{side.size} items on {different.size} different dates lie {where}; at least {MIN_SIDE} items on "
            f"{MIN_DATES} dates are needed on each side: use a plain split into old and new items"
        )
    return different


def date_density(days: ArrayLike, width: float) -> DateDensity:
    """Count the items close to the break on both sides."""
    x = as_values(days, "dates")
    close = np.abs(x) <= width / 2
    counts: tuple[int, int] = (int((close & (x <= 0)).sum()), int((close & (x > 0)).sum()))
    n, least = sum(counts), min(counts)
    p = 1.0 if n == 0 or 2 * least >= n else min(1.0, 2.0 * float(special.bdtr(least, n, 0.5)))
    before, after = -x[x <= 0], x[x > 0]
    return DateDensity(
        n_before=counts[0],
        n_after=counts[1],
        p_value=p,
        gap_before=float(before.min(initial=math.inf)),
        gap_after=float(after.min(initial=math.inf)),
    )


_TRIANGULAR = 3.4375  # constant of the optimal bandwidth for the triangular kernel at a boundary
_CURVATURE = 3.56  # the same for the uniform kernel in the pilot estimate of a second derivative


@record
class Bandwidth:
    """How far from the break items count, in the unit of the dates, and why so far."""

    width: float
    reason: str


def break_bandwidth(days: ArrayLike, scores: ArrayLike) -> Bandwidth:
    """Choose the bandwidth by the rule of Imbens & Kalyanaraman, widened where it holds too few items.

    `days` as in `date_window`; `scores` of shape (n_items,) is what may break, the suspect's less the mean of the references'.
    Raises CannotAnswerError if either side has fewer than 20 items or fewer than 5 different dates in all.

    h = C [(s2- + s2+) / (f ((m''+ - m''-)^2 + r- + r+))]^(1/5) n^(-1/5), C = 3.4375 for the triangular kernel: f the density
    of items at the break, s2 the variance of scores on its sides, m'' pilot estimates of curvature, r what guards against
    curvature that is small by chance.
    """
    x, y = as_values(days, "dates"), as_values(scores, "scores")
    least, most = _least_width(x), float(np.abs(x).max()) * (1 + 1e-9)
    width = _optimal(x, y)
    rule = "the rule of Imbens & Kalyanaraman"
    if width is None:
        return Bandwidth(width=most, reason=f"{rule} finds neither noise nor curvature, so every item counts")
    if width < least:
        return Bandwidth(
            width=least, reason=f"{rule} gives {width:.0f} days, too few items; widened until both sides have enough"
        )
    if width > most:
        return Bandwidth(width=most, reason=f"{rule} gives {width:.0f} days, more than there are; every item counts")
    return Bandwidth(width=width, reason=rule)


def _least_width(x: FloatArray) -> float:
    """Return the least bandwidth at which both sides have enough items and dates."""
    needed = 0.0
    for side, name in ((-x[x <= 0], "before"), (x[x > 0], "after")):
        different = _different(side, f"{name} the break")
        needed = max(needed, float(np.sort(side)[MIN_SIDE - 1]), float(different[MIN_DATES - 1]))
    return needed * (1 + 1e-9) + 1e-9


def _optimal(x: FloatArray, y: FloatArray) -> float | None:
    """Return Imbens & Kalyanaraman's bandwidth; None where nothing can be told of noise and curvature."""
    n, left = x.size, x <= 0
    pilot = max(1.84 * float(x.std(ddof=1)) * n**-0.2, _least_width(x))
    near = [(np.abs(x) <= pilot) & side for side in (left, ~left)]
    density = sum(int(each.sum()) for each in near) / (2 * n * pilot)
    noise = [float(y[each].var(ddof=1)) for each in near]
    if sum(noise) <= 0:
        return None
    scale = float(np.abs(x).max())
    cubic = np.column_stack([np.ones(n), ~left, x / scale, (x / scale) ** 2, (x / scale) ** 3])
    third = 6.0 * float(np.linalg.lstsq(cubic, y, rcond=None)[0][4]) / scale**3
    # Where nothing is left of a third derivative, all of a side tells its curvature.
    parts = [s2 / (density * third**2) if third else math.inf for s2 in noise]
    bends = [_bend(x[side], y[side], s2, part) for side, s2, part in zip((left, ~left), noise, parts, strict=True)]
    curved = (bends[1][0] - bends[0][0]) ** 2 + bends[0][1] + bends[1][1]
    if not (curved > 0 and math.isfinite(curved)):
        return None
    return _TRIANGULAR * (sum(noise) / (density * curved)) ** 0.2 * n**-0.2


def _bend(x: FloatArray, y: FloatArray, noise: float, part: float) -> tuple[float, float]:
    """Return the second derivative on one side of the break, and the guard against its noise."""
    far = np.abs(x)
    least = float(np.sort(far)[min(MIN_SIDE, far.size) - 1])
    reach = min(max(least, _CURVATURE * (part / far.size) ** (1 / 7)), float(far.max()))
    kept = far <= reach
    scaled = far[kept] / reach
    square = np.column_stack([np.ones_like(scaled), scaled, scaled**2])
    bend = 2.0 * float(np.linalg.lstsq(square, y[kept], rcond=None)[0][2]) / reach**2
    return bend, 2160.0 * noise / (scaled.size * reach**4)
