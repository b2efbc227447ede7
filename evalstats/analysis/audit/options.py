"""What can be asked of an audit."""

from dataclasses import dataclass
from typing import Annotated

from evalstats.analysis.options import Accept, Cluster, MetricName, Models, Option, PlannedLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of `evalstats.audit` and of `evalstats audit`."""

    metric: MetricName = None
    models: Models = None
    cluster: Cluster = None
    all_metrics: Annotated[bool, Option("Look at every metric, not the headline alone.", ("--all-metrics",))] = False
    accept: Accept = ()
    conf_level: PlannedLevel = None
