"""Drops without any model: differences within items that a model was scored on in both scenarios."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evalstats.analysis.compare.difference import PairedScores, headline_interval
from evalstats.analysis.scenarios.design import CellDesign
from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.errors import CannotAnswerError
from evalstats.stats.estimate import Estimate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedDrop:
    """The paired difference of one model between a scenario and the reference.

    `n_differ` counts items whose two values differ. `found` is None where no interval can be given, and `reason` says why.
    """

    n_items: int
    n_differ: int
    estimate: float
    found: Estimate | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemMeans:
    """Mean score of every item for each cell: NaN where there is none.

    Attributes
    ----------
    values
        float64, shape (n_items, n_cells).
    cluster
        Cluster of every item, None where items are independent.
    fewest
        The smallest number of trials behind a value.
    """

    values: Floats
    cluster: Ints | None
    fewest: int

    def drop(self, table: ScenarioTable, cell: int, reference: int, conf_level: float) -> PairedDrop | None:
        """Return the difference of two cells on the items of both; None where they share none."""
        both = ~np.isnan(self.values[:, cell]) & ~np.isnan(self.values[:, reference])
        n = int(both.sum())
        if not n:
            return None
        candidate, baseline = self.values[both, cell], self.values[both, reference]
        differ = int((np.abs(candidate - baseline) > 1e-12).sum())
        clusters = () if self.cluster is None else (self.cluster[both],)
        scores = PairedScores(baseline=baseline, candidate=candidate, n_trials=self.fewest, clusters=clusters)
        try:
            found, reason = headline_interval(scores, table.metric, conf_level=conf_level, method="auto"), ""
        except CannotAnswerError as error:
            found, reason = None, str(error)
        return PairedDrop(
            n_items=n, n_differ=differ, estimate=float((candidate - baseline).mean()), found=found, reason=reason
        )


def item_means(table: ScenarioTable, laid: CellDesign) -> ItemMeans:
    """Average the versions of every item within each cell."""
    item = table.codes("item")
    n_items, n_cells = int(item.max()) + 1, len(laid.cells)
    place = item * n_cells + laid.of_frame
    score = table.frame["score"].to_numpy().astype(np.float64)
    n = np.bincount(place, minlength=n_items * n_cells)
    total = np.bincount(place, weights=score, minlength=n_items * n_cells)
    values = np.divide(total, n, out=np.full(len(total), np.nan), where=n > 0).reshape(n_items, n_cells)
    own = np.zeros(n_items, dtype=np.int64)
    own[item] = table.cluster
    single = len(np.unique(own)) == n_items
    trials = np.bincount(place, weights=table.frame[COUNT].to_numpy(), minlength=n_items * n_cells)
    return ItemMeans(values=values, cluster=None if single else own, fewest=int(trials[n > 0].min()))
