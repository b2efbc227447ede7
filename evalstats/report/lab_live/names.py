"""Names that the page of lab and live can carry: long ones are shortened alike everywhere, and stay different."""

from collections.abc import Mapping

from evalstats.analysis.gap.result import LabLiveGap
from evalstats.report.names import different_short_names, with_names_everywhere


def lab_live_page_names(found: LabLiveGap) -> dict[str, str]:
    """Return what the page calls each name that is too long for it: of models, sides, scenarios."""
    names = [found.lab.name, found.live.name, found.lab.metric, found.live.metric]
    for row in found.rows:
        names += [row.name, row.lab_name]
    names += [*found.lab.only_here, *found.live.only_here]
    if found.decomposition is not None:
        names += [cell.cell for cell in found.decomposition.cells]
    if found.scenario_gaps is not None:
        names += [row.scenario for row in found.scenario_gaps.means]
    return different_short_names(names)


def with_lab_live_names(found: LabLiveGap, names: Mapping[str, str]) -> LabLiveGap:
    """Return the result with names replaced wherever they stand, in its sentences as well."""
    return with_names_everywhere(found, names)
