"""An estimate from `stats` as a row of a result."""

from evalstats.analysis.results import MethodRow, Role
from evalstats.stats.estimate import Estimate


def method_row(found: Estimate, *, term: str, role: Role, note: str = "") -> MethodRow:
    """Copy an estimate into a row; the reason for a missing interval joins the note."""
    parts = [part for part in (note, found.reason) if part]
    return MethodRow(
        term=term,
        method=found.method,
        role=role,
        conf_level=found.conf_level,
        estimate=found.estimate,
        std_error=found.std_error,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        statistic=found.statistic,
        df=found.df,
        p_value=found.p_value,
        n_items=found.n,
        n_clusters=found.n_clusters,
        n_resamples=found.n_resamples,
        note="; ".join(parts),
    )
