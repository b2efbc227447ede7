"""Pairs of models beyond plain items: crossed clusters, and the variation of full runs counted."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.design.metric import Metric
from evalstats.analysis.design.runs import ALONE, TrialDesign, size_words, usual_prior
from evalstats.analysis.pairs import Floats, Ints
from evalstats.document.model import Note
from evalstats.errors import InputError, Option
from evalstats.stats.clusters import multiway_mean
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.many.pairwise import Adjust, PairwiseDifferences
from evalstats.stats.runs import (
    RunEffects,
    RunSd,
    half_widths,
    mixture_p,
    pair_mixtures,
    run_effects,
    run_spread,
    t_quantiles,
)
from evalstats.table.systems import System


def crossed_pairs(
    values: Floats,
    clusters: Sequence[Ints],
    pairs: Sequence[tuple[int, int]],
    *,
    span: float | None,
    conf_level: float,
    adjust: Adjust,
) -> PairwiseDifferences:
    """Compare pairs of models on items that are clustered in several ways at once; intervals are clipped to the `span`.

    "max-t" is answered by Holm's method, and a warning says so: random signs need one way of clustering.
    """
    stepped = "holm" if adjust == "max-t" else adjust
    strict = stepped == "holm"
    level = 1.0 - (1.0 - conf_level) / (len(pairs) if strict else 1)
    rows: list[tuple[float, ...]] = []
    for i, j in pairs:
        d = values[:, i] - values[:, j]
        both = ~np.isnan(d)
        codes = [each[both] for each in clusters]
        low, high = (None, None) if span is None else (-span, span)
        found = multiway_mean(d[both], codes, conf_level=level, low=low, high=high)
        own = found.estimate
        p = own.p_value if d[both].any() else 1.0
        numbers = (own.estimate, own.std_error, own.df, p, own.conf_low, own.conf_high)
        rows.append((*(np.nan if x is None else x for x in numbers), int(both.sum()), found.n_clusters))
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 8)
    first, second = np.array(pairs, dtype=np.int64).reshape(len(pairs), 2).T
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=table[:, 0],
        std_error=table[:, 1],
        df=table[:, 2],
        p_value=table[:, 3],
        p_adjusted=adjusted(table[:, 3], stepped),
        conf_low=table[:, 4],
        conf_high=table[:, 5],
        n_items=table[:, 6].astype(np.int64),
        n_clusters=table[:, 7].astype(np.int64),
        critical=np.nan,
        conf_level=conf_level,
        method=f"CR2 on {len(clusters)} cluster columns, Satterthwaite df{', Bonferroni intervals' if strict else ''}",
        adjust=stepped,
        exact=True,
        n_resamples=None,
        seed=None,
        warnings=(
            ("max-T needs one way of clustering, and there are several: p is adjusted by Holm's method",)
            if adjust == "max-t"
            else ()
        ),
    )


def adjusted(p_values: Floats, adjust: str) -> Floats:
    """Adjust p-values as one family; a pair without a p is not of it."""
    found = np.full(len(p_values), np.nan)
    tested = ~np.isnan(p_values)
    if tested.any():
        by = {"holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}[adjust]
        found[tested] = by(p_values[tested])
    return found


_ADJUSTMENTS = {"max-t": holm, "holm": holm, "bh": benjamini_hochberg, "by": benjamini_yekutieli}


# Pairs are weighed so many at a time.
_AT_ONCE = 2_000
# A line is due where runs at their median are so much of the variance of half of the pairs: intervals are then some 1.25 times
# as wide for them, since what the runs leave open widens them further.
_MUCH = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRuns:
    """What tells how far whole runs differ: `sides` of every model or, where all share their trials, of every pair i < j."""

    prior: RunSd
    sides: tuple[RunEffects, ...] | dict[tuple[int, int], RunEffects]

    def of(self, members: npt.NDArray[np.bool_]) -> "BoardRuns":
        """Keep some models."""
        kept: list[int] = np.flatnonzero(members).tolist()
        if isinstance(self.sides, tuple):
            return replace(self, sides=tuple(self.sides[j] for j in kept))
        place = {j: k for k, j in enumerate(kept)}
        both = {(place[i], place[j]): each for (i, j), each in self.sides.items() if i in place and j in place}
        return replace(self, sides=both)

    def of_pair(self, first: int, second: int) -> tuple[RunEffects, ...]:
        """Return what tells of the runs of two models."""
        if isinstance(self.sides, tuple):
            return self.sides[first], self.sides[second]
        return (self.sides[min(first, second), max(first, second)],)

    def note(self, found: PairwiseDifferences, metric: Metric) -> Note:
        """Say how far scores vary from run to run: a caution where that is much of the standard error of pairs."""
        each = self.sides if isinstance(self.sides, tuple) else tuple(self.sides.values())
        spreads = [spread.median for side in each if (spread := run_spread(side, prior=self.prior)) is not None]
        middle = float(np.median(spreads))
        pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
        reach = np.array([sum(side.reach for side in self.of_pair(i, j)) for i, j in pairs])
        share = (
            np.nanmedian(middle**2 * reach / np.square(found.std_error)) if np.isfinite(found.std_error).any() else 0.0
        )
        what = (
            "Run to run"
            if isinstance(self.sides, tuple)
            else "Shared trial to shared trial, in the difference of a pair"
        )
        size = size_words(middle, metric)
        size = f"{size}, as declared" if self.prior.known else f"about {size} (median)"
        one = sum(side.n_runs < 2 for side in each)
        alone = f"; {one} of {len(each)} models have one run" if one and not self.prior.known else ""
        text = (
            f"{what}: {size}; pairs and rank sets count it, the corrected top score and the test over all models do not"
        )
        return Note(kind="choice", text=text + alone, caution=bool(share >= _MUCH))


def board_runs(
    items: pl.DataFrame, arms: Sequence[System], metric: Metric, trials: TrialDesign, *, weights: Floats | None = None
) -> BoardRuns | None:
    """Reduce every model's cells to what they tell of its runs; None where no interval counts them."""
    known = trials.run_sd is not None and trials.run_sd.known
    sides: tuple[RunEffects, ...] | dict[tuple[int, int], RunEffects]
    if trials.role != "sample" and not known:
        return None
    if trials.role == "sample" and trials.shared:
        scores = trials.matrix(items, arms)
        if scores is None:
            raise InputError(
                "shared trials need some that every model has, and there are none; leave out "
                f"{Option('shared_trials', value=True)}"
            )
        sides = {
            (i, j): run_effects(scores[i] - scores[j], weights=weights, difference=True)
            for i, j in combinations(range(len(arms)), 2)
        }
        each = tuple(sides.values())
    else:
        own = [trials.effects(items, [arm], weights=weights) if trials.role == "sample" else [] for arm in arms]
        sides = each = tuple(found[0] if found else ALONE for found in own)
    prior = trials.run_sd or usual_prior(metric, each)
    if prior is None or not (prior.known or any(side.squares.size for side in each)):
        return None
    return BoardRuns(prior=prior, sides=sides)


def counting_runs(
    found: PairwiseDifferences, runs: BoardRuns | None, *, span: float | None, conf_level: float
) -> PairwiseDifferences:
    """Widen pairs by the variation of their runs: p is the larger of both, intervals hold both.

    The joint law of sign flips knows nothing of runs. So the test with runs counted stands beside it, adjusted for the
    family in closed form (Holm where the family-wise rate is wanted), and a pair is separated where both find it so.
    """
    if runs is None:
        return found
    strict = found.adjust in ("max-t", "holm")
    level = 1.0 - (1.0 - conf_level) / (max(1, found.first.size) if strict else 1)
    df = np.where(np.isfinite(found.df), found.df, np.maximum(found.n_items - 1.0, 1.0))
    pairs = [runs.of_pair(i, j) for i, j in zip(found.first.tolist(), found.second.tolist(), strict=True)]
    informed = np.array([runs.prior.known or any(side.squares.size for side in pair) for pair in pairs], dtype=np.bool_)
    touched = np.isfinite(found.std_error) & informed
    p, reach, std_error = found.p_value.copy(), np.zeros(found.p_value.size), found.std_error.copy()
    for places in np.array_split(np.flatnonzero(touched), max(1, math.ceil(touched.sum() / _AT_ONCE))):
        if not places.size:
            continue
        held: list[int] = places.tolist()
        added, weights = pair_mixtures([pairs[k] for k in held], prior=runs.prior)
        own, nu = found.std_error[places], df[places]
        reach[places] = half_widths(added, weights, own, nu, level)
        # As the half-width of one pair alone tells it, whatever the family.
        std_error[places] = half_widths(added, weights, own, nu, conf_level) / t_quantiles(conf_level, nu)
        p[places] = np.fmax(p[places], mixture_p(found.estimate[places], added, weights, own, nu))
    p_adjusted, tested = found.p_adjusted.copy(), np.isfinite(p)
    if tested.any() and found.adjust in _ADJUSTMENTS:
        p_adjusted[tested] = np.fmax(p_adjusted[tested], _ADJUSTMENTS[found.adjust](p[tested]))
    ends = [np.fmin(found.conf_low, found.estimate - reach), np.fmax(found.conf_high, found.estimate + reach)]
    if span is not None:
        ends = [np.clip(each, -span, span) for each in ends]
    return replace(
        found,
        std_error=std_error,
        df=np.where(touched, df, found.df),
        p_value=p,
        p_adjusted=p_adjusted,
        conf_low=np.where(touched, ends[0], found.conf_low),
        conf_high=np.where(touched, ends[1], found.conf_high),
        method=f"{found.method}, runs counted",
    )
