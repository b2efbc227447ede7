"""What can be asked of scenarios."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evalstats.analysis.options import (
    Accept,
    Cluster,
    Contrast,
    HigherIsBetter,
    MetricName,
    Models,
    Option,
    PlannedLevel,
    Seed,
)

As = Literal["fixed", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOptions:
    """Options of `evalstats.scenarios` and of `evalstats scenarios`, which reads `weights` and `plan` from texts."""

    formula: Annotated[
        str | None,
        Option("The model in lme4's notation, such as 'score ~ model * scenario + (1|item)'; default: by the data."),
    ] = None
    metric: MetricName = None
    scenario: Annotated[str | None, Option("Column that names the scenarios; default: scenario.", metavar="COLUMN")] = (
        None
    )
    reference: Annotated[
        str | None,
        Option(
            "Scenario that changes are counted from, or average; default: that of ideal users, else average.",
            metavar="LEVEL",
        ),
    ] = None
    weights: Annotated[str | Mapping[str, float], Option(hidden=True)] = "equal"
    as_: Annotated[
        As | None, Option("Scenarios are these very ones, or a sample of more; default: fixed up to 8.", ("--as",))
    ] = None
    cluster: Cluster = None
    models: Models = None
    contrast: Contrast = "model"
    higher_is_better: HigherIsBetter = None
    conf_level: PlannedLevel = None
    n_resamples: Annotated[
        int | None, Option("Draws of the parametric bootstrap; 0: none; default: by the data.", ("--bootstrap",))
    ] = None
    accept: Accept = ()
    plan: Annotated[Any, Option(hidden=True)] = None
    seed: Seed = 0
