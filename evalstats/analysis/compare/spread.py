"""How graded item differences lie: on how many items either side is ahead, and by how much."""

import numpy as np

from evalstats.analysis.compare.flips import MAY_FLIP
from evalstats.analysis.compare.result import ItemSpread
from evalstats.table.score_table import ScoreTable

_FEWEST_ITEMS, _FEWEST_VALUES = 20, 3
_MOST_VALUES = 200  # of more distinct differences neighbours are counted together


def item_spread(paired: ScoreTable) -> ItemSpread | None:
    """Return how the differences of items lie; None of right-or-wrong scores, of few items, and where they hardly vary."""
    differences = paired.column(1) - paired.column(0)
    values, counts = np.unique(differences.round(9), return_counts=True)
    if paired.metric.kind in MAY_FLIP or differences.size < _FEWEST_ITEMS or values.size < _FEWEST_VALUES:
        return None
    higher, lower = (int(counts[part].sum()) for part in (values > 0, values < 0))
    if values.size > _MOST_VALUES:
        inner = _MOST_VALUES - 2  # the least and the largest stay as they are
        bins = 1 + np.minimum((values - values[0]) / (values[-1] - values[0]) * inner, inner - 1).astype(int)
        bins[0], bins[-1] = 0, inner + 1
        sizes = np.bincount(bins, weights=counts)
        sums = np.bincount(bins, weights=counts * values)
        values, counts = sums[sizes > 0] / sizes[sizes > 0], sizes[sizes > 0]
    return ItemSpread(values=tuple(map(float, values)), counts=tuple(map(int, counts)), n_higher=higher, n_lower=lower)
