"""What can be asked of a score."""

from dataclasses import dataclass
from typing import Annotated

from evalstats.analysis.compare.options import Average, Over, PassAt, PassHat
from evalstats.analysis.options import Cluster, ConfLevel, HigherIsBetter, MetricName, Option, Runs, RunSpreadKnown


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """Options of `evalstats.score` and of `evalstats score`; weights are a file on the command line."""

    metric: MetricName = None
    higher_is_better: HigherIsBetter = None
    cluster: Cluster = None
    conf_level: ConfLevel = 0.95
    pass_hat: PassHat = None
    pass_at: PassAt = None
    runs: Runs = None
    run_sd: RunSpreadKnown = None
    average: Average = None
    over: Over = None
    against: Annotated[str | None, Option("Published number to hold the score against, such as 0.87 or 87%.")] = None
    against_n: Annotated[int | None, Option("Items behind the published number.")] = None
    against_se: Annotated[str | None, Option("Standard error of the published number.")] = None
