"""Agreement where the lab, or both sides, are cut to one scenario: which part of a benchmark orders models as users do?"""

import numpy as np

from evalstats.analysis.gaps.agreeing import slice_row
from evalstats.analysis.gaps.agreement_results import SliceRow
from evalstats.analysis.gaps.matching import Asked
from evalstats.analysis.gaps.material import CellSums, Material
from evalstats.analysis.gaps.small_cells import too_small
from evalstats.analysis.gaps.units import cell_sums, clusters_by_level, levels_of
from evalstats.stats.checks import FloatArray
from evalstats.stats.gap.cluster_means import cluster_means
from evalstats.stats.gap.scores import LabLiveScores

_MOST_LEVELS = 12


def slices_of(made: Material, asked: Asked) -> tuple[SliceRow, ...]:
    """Return the agreement by level of the first factor that the lab outcomes have; nothing where there is none."""
    units = asked.lab.units
    if units is None or not asked.lab_factors:
        return ()
    factor = asked.lab_factors[0]
    levels = sorted(level[0] for level in levels_of(units, made.lab.models, (factor,)))
    if not 2 <= len(levels) <= _MOST_LEVELS:
        return ()
    cells = [(level,) for level in levels]
    lab = cell_sums(units, made.lab.models, (factor,), cells)
    rows = [
        _row(made, _means(lab, cell, turned=made.lab.turned), None, factor, level) for cell, level in enumerate(levels)
    ]
    live_units = asked.live.units
    if live_units is None or factor not in asked.live_factors:
        return tuple(rows)
    live = cell_sums(live_units, made.live.models, (factor,), cells)
    people = clusters_by_level(live_units, made.live.models, (factor,))
    for cell, level in enumerate(levels):
        if too_small(people.get((level,), 0), max(1, asked.min_cell)):
            continue
        both = _means(lab, cell, turned=made.lab.turned), _means(live, cell, turned=made.live.turned)
        if not isinstance(both[1], str) or both[1] != _NOTHING:
            rows.append(_row(made, both[0], both[1], factor, level))
    return tuple(rows)


Means = tuple[FloatArray, FloatArray] | str
_NOTHING = "no live outcome in it"


def _means(sums: CellSums, cell: int, *, turned: bool) -> Means:
    """Return the means of all models in one cell with their covariance, or why there are none."""
    at = sums.cell == cell
    if not at.any():
        return _NOTHING
    found = cluster_means(
        sums.cluster[at], sums.model[at], sums.n[at], sums.total[at], n_clusters=sums.n_clusters, n_models=sums.n_models
    )
    if found.covariance is None or not np.isfinite(found.estimate).all():
        return found.reason or "a model has no outcome in it"
    return (-found.estimate if turned else found.estimate), found.covariance


def _row(made: Material, lab: Means, live: Means | None, factor: str, level: str) -> SliceRow:
    cut = "lab" if live is None else "both"
    wrong = next((each for each in (lab, live) if isinstance(each, str)), None)
    if wrong is not None or isinstance(lab, str) or isinstance(live, str):
        return SliceRow(factor=factor, level=level, cut=cut, n_models=made.n_models, reason=wrong)
    z, v_z = (made.scores.live, made.scores.live_covariance) if live is None else live
    scores = LabLiveScores(lab=lab[0], live=z, lab_covariance=lab[1], live_covariance=v_z)
    return slice_row(scores, factor=factor, level=level, cut=cut, options=made.options)
