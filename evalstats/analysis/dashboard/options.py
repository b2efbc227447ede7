"""What can be asked of results that are watched over time."""

from dataclasses import dataclass
from typing import Annotated

from evalstats.analysis.options import Accept, MetricName, Models, Option, PlannedLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardOptions:
    """Options of `evalstats.dashboard` and of `evalstats dashboard`, which reads `plan` from a file."""

    metric: MetricName = None
    models: Models = None
    cluster: Annotated[
        str | None,
        Option("Column whose levels move together within a run (an environment, a session).", ("--cluster", "-c")),
    ] = None
    reference: Annotated[
        str | None,
        Option("Compare with all runs up to this day, and look for no other.", metavar="YYYY-MM-DD"),
    ] = None
    accept: Accept = ()
    conf_level: PlannedLevel = None
