"""What can be asked of a comparison."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evalstats.analysis.options import (
    Accept,
    Cluster,
    Contrast,
    HigherIsBetter,
    Option,
    PlannedLevel,
    Runs,
    RunSpreadKnown,
    Seed,
)

PassHat = Annotated[int | None, Option("Ask for pass^K: all of K trials succeed.", metavar="K")]
PassAt = Annotated[int | None, Option("Ask for pass@K: any of K trials succeeds.", metavar="K")]
Average = Annotated[
    Literal["macro", "micro"] | None,
    Option("macro: every task (scenario, subject) counts alike; micro: every item."),
]
Over = Annotated[
    str | None,
    Option(
        "Factor to average over; default: task, scenario, subject or category, the first with several levels.",
        ("--average-over",),
        metavar="FACTOR",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """Options of `evalstats.compare` and of its command, which reads `weights` and `plan` from files."""

    metric: Annotated[
        str | None,
        Option("Score to compare, or several as one family: A,B; default: the headline.", ("--metric", "-m")),
    ] = None
    higher_is_better: HigherIsBetter = None
    by: Annotated[str | None, Option("Factor to split by (one family).")] = None
    cluster: Cluster = None
    margin: Annotated[str | None, Option("Largest difference that does not matter, such as 2pp.")] = None
    conf_level: PlannedLevel = None
    contrast: Contrast = "model"
    method: Annotated[str, Option("auto, tango, augmented-t, t or cr2.")] = "auto"
    pass_hat: PassHat = None
    pass_at: PassAt = None
    sequential: Annotated[
        bool, Option("An interval that holds at every look while the run goes on.", ("--sequential",))
    ] = False
    planned_n: Annotated[int | None, Option("With --sequential: items (or clusters) planned.")] = None
    shared_trials: Annotated[
        bool | None,
        Option(
            "Whether trial k is the same judge or seed on all sides; default: where judges or seeds have the same names.",
            ("--shared-trials/--independent-trials",),
        ),
    ] = None
    runs: Runs = None
    run_sd: RunSpreadKnown = None
    accept: Accept = ()
    average: Average = None
    over: Over = None
    missing: Annotated[
        str | None,
        Option(
            "ignorable: scores are missing for a reason that has nothing to do with the answers; default: they could be "
            "anything.",
            metavar="bounded|ignorable",
        ),
    ] = None
    weights: Annotated[Mapping[str, float] | None, Option(hidden=True)] = None
    plan: Annotated[Any, Option(hidden=True)] = None
    labels: Annotated[Any, Option(hidden=True)] = None
    seed: Seed = 0
