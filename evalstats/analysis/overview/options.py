"""What can be asked of an overview."""

from dataclasses import dataclass

from evalstats.analysis.options import PlannedLevel, Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewOptions:
    """Options of `evalstats.overview` and of `evalstats overview`; all else is the default of each question."""

    conf_level: PlannedLevel = None
    seed: Seed = 0
