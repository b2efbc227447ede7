"""What can be asked of a frontier."""

from dataclasses import dataclass
from typing import Annotated, Literal

from evalstats.analysis.options import (
    Accept,
    Cluster,
    ConfLevel,
    Contrast,
    HigherIsBetter,
    MetricName,
    Models,
    Option,
    Resamples,
    Seed,
)

Cost = Literal["cost_usd", "latency_s", "output_tokens", "input_tokens", "n_turns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierOptions:
    """Options of `evalstats.frontier` and of `evalstats frontier`."""

    metric: MetricName = None
    higher_is_better: HigherIsBetter = None
    cost: Annotated[
        str, Option("What is spent, the less the better: cost_usd, latency_s, output_tokens, input_tokens or n_turns.")
    ] = "cost_usd"
    cluster: Cluster = None
    models: Models = None
    accept: Accept = ()
    conf_level: ConfLevel = 0.95
    contrast: Contrast = "model"
    n_resamples: Resamples = 10_000
    seed: Seed = 0
