"""Slices of the items in which the differences lie lower than elsewhere: one studentised permutation test for all of them."""

import numpy as np
import numpy.typing as npt

from evalstats.record import record
from evalstats.stats.checks import FloatArray

# A slice, or what is left of the items, with fewer units says nothing of the rest.
FEWEST_UNITS = 5
# So many numbers at most are summed for the draws; a table with more gets fewer draws.
_SUMMED, _FEWEST_DRAWS = 100_000_000, 199
_PLAINLY = 0.2
_ADDED = 10_000  # items of draws that are summed together


@record
class Concentration:
    """The p of each slice, adjusted for all of them, in the order given; None for a slice that is too small to be tested."""

    p_adjusted: tuple[float | None, ...]
    n_slices: int
    n_resamples: int


def low_slices(
    d: FloatArray, member: npt.NDArray[np.bool_], *, seed: int = 0, n_resamples: int = 1_999
) -> Concentration:
    """Test in which slices the differences are lower than in the rest of the items.

    H0: differences do not depend on what slices an item is in. The statistic of a slice is the rest's mean minus its own, over
    the standard error with variances that may differ; p is the share of permutations of the differences whose largest statistic
    is as large (the maximum over all slices, Westfall and Young 1993), so that slices may overlap. Studentised, the test stays
    near its level where slices have one mean and unlike variances (Janssen 1997, doi:10.1016/S0167-7152(97)00043-6; Chung and
    Romano 2013, doi:10.1214/13-AOS1090): two systems that are alike differ by chance more often on hard items. To either part of
    the items one difference of +1 and one of -1 are added for its variance, which is never 0 then.

    Parameters
    ----------
    d : float64 array, shape (n_units,)
        Differences in [-1, 1]; negative ones are losses.
    member : bool array, shape (n_units, n_slices)
        Which units each slice holds.

    Examples
    --------
    >>> d = np.zeros(60)
    >>> d[:8] = -1.0
    >>> member = np.zeros((60, 2), dtype=bool)
    >>> member[:12, 0] = member[40:, 1] = True
    >>> found = low_slices(d, member)
    >>> [p <= 0.001 for p in found.p_adjusted], found.n_slices
    ([True, False], 2)
    """
    n = len(d)
    sizes = member.sum(axis=0)
    tested = np.flatnonzero((sizes >= FEWEST_UNITS) & (n - sizes >= FEWEST_UNITS))
    moved = np.flatnonzero(d)
    none: tuple[float | None, ...] = (None,) * member.shape[1]
    if not len(tested) or not len(moved):
        return Concentration(p_adjusted=none, n_slices=len(tested), n_resamples=0)
    # Units that are in the same slices are one cell, and a draw is summed by cells.
    _, first, cell = np.unique(np.packbits(member[:, tested], axis=1), axis=0, return_index=True, return_inverse=True)
    cell, held, sizes = cell.reshape(-1), member[first][:, tested].astype(np.float64), sizes[tested].astype(np.float64)
    values = np.stack([d[moved], d[moved] ** 2])
    whole = values.sum(axis=1)

    def statistics(places: npt.NDArray[np.int64]) -> FloatArray:
        """Return the statistics of every row of places, shape (n_rows, n_slices)."""
        n_rows, n_cells = len(places), len(held)
        own = (cell[places] + n_cells * np.arange(n_rows)[:, np.newaxis]).ravel()
        sums = [np.bincount(own, np.tile(each, n_rows), minlength=n_rows * n_cells) for each in values]
        within = np.stack(sums).reshape(2, n_rows, n_cells) @ held
        means: list[FloatArray] = []
        variance = np.zeros((n_rows, len(tested)))
        for (total, squares), size in ((within, sizes), (whole[:, np.newaxis, np.newaxis] - within, n - sizes)):
            means.append(total / size)
            variance += ((squares + 2.0) / (size + 2.0) - (total / (size + 2.0)) ** 2) / size
        return (means[1] - means[0]) / np.sqrt(variance)

    (observed,) = statistics(moved[np.newaxis])
    least = min(_FEWEST_DRAWS, n_resamples)
    draws = int(np.clip(_SUMMED // (n + len(held) * len(tested)), least, n_resamples))
    generator, reached = np.random.default_rng(seed), np.zeros(len(tested), dtype=np.int64)
    done, at_once = 0, max(1, _ADDED // n)
    while done < draws:
        more = min(at_once, (least if done < least else draws) - done)
        places = np.stack([generator.permutation(n)[: len(moved)] for _ in range(more)])
        largest = statistics(places).max(axis=1)
        # What differs in its last digits is the same.
        reached += np.count_nonzero(largest[:, np.newaxis] >= observed - 1e-9, axis=0)
        done += more
        # A p that is plainly large needs no more digits; to stop there can make none smaller.
        if done == least and reached.min() > _PLAINLY * done:
            draws = done
    p: list[float | None] = [*none]
    for place, count in zip(tested.tolist(), reached.tolist(), strict=True):
        p[place] = (1 + count) / (1 + draws)
    return Concentration(p_adjusted=tuple(p), n_slices=len(tested), n_resamples=draws)
