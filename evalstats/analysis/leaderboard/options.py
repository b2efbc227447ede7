"""What can be asked of a leaderboard."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from evalstats.analysis.options import (
    Accept,
    AverageKind,
    Cluster,
    HigherIsBetter,
    MetricName,
    Models,
    Option,
    PlannedLevel,
    Runs,
    RunSpreadKnown,
    Seed,
)

# How p is adjusted for a family of pairs; leaving it out is no choice, since ranks are read as a family.
Adjustment = Literal["max-t", "holm", "bh", "by"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardOptions:
    """Options of `evalstats.leaderboard` and of its command, which reads `top`, `weights` and `plan` from texts and files."""

    metric: MetricName = None
    baseline: Annotated[str | None, Option("Compare all others with this model.")] = None
    cluster: Cluster = None
    adjust: Annotated[
        Adjustment | None,
        Option("How p is adjusted for all pairs; default: max-t, or the plan's.", metavar="max-t|holm|bh|by"),
    ] = None
    models: Models = None
    conf_level: PlannedLevel = None
    contrast: Annotated[str, Option("What names the entries: model, or another column (run).")] = "model"
    higher_is_better: HigherIsBetter = None
    pass_hat: Annotated[int | None, Option("Rank by pass^K: all of K trials succeed.", metavar="K")] = None
    pass_at: Annotated[int | None, Option("Rank by pass@K: any of K trials succeeds.", metavar="K")] = None
    top: Annotated[tuple[int, ...], Option(hidden=True)] = (1, 3, 5)
    shared_trials: Annotated[
        bool | None,
        Option(
            "Whether trial k is the same judge or seed for all models; default: where judges or seeds have the same names.",
            ("--shared-trials/--independent-trials",),
        ),
    ] = None
    runs: Runs = None
    run_sd: RunSpreadKnown = None
    accept: Accept = ()
    missing: Annotated[
        str | None,
        Option(
            "ignorable: scores are missing for a reason that has nothing to do with the answers; default: they could be "
            "anything.",
            metavar="bounded|ignorable",
        ),
    ] = None
    average: Annotated[
        AverageKind | None, Option("macro: every task (scenario, subject) counts alike; micro: every item.")
    ] = None
    over: Annotated[
        str | None,
        Option(
            "Factor to average over; default: task, scenario, subject or category, the first with several levels.",
            ("--average-over",),
            "FACTOR",
        ),
    ] = None
    weights: Annotated[Mapping[str, float] | None, Option(hidden=True)] = None
    plan: Annotated[Any, Option(hidden=True)] = None
    seed: Seed = 0
