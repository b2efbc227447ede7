"""What can be asked of lab and live."""

from dataclasses import dataclass
from typing import Annotated, Literal

from evalstats.analysis.options import HigherIsBetter, MetricName, Option, PlannedLevel, Resamples, Seed

# What statistical offices ask for most often.
MIN_CELL = 10
Scale = Literal["auto", "logit", "identity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GapOptions:
    """Options of `evalstats.gap` and of `evalstats gap`; aliases, mix and plan are files on the command line."""

    metric: MetricName = None
    higher_is_better: HigherIsBetter = None
    lab_metric: Annotated[str | None, Option("Score to use in the lab.", metavar="METRIC")] = None
    live_metric: Annotated[str | None, Option("Score to use live.", metavar="METRIC")] = None
    same_scale: Annotated[
        bool | None,
        Option(
            "Whether live minus lab means something; default: where both measure one thing in one unit.",
            ("--same-scale/--other-scale",),
        ),
    ] = None
    scale: Annotated[
        Scale,
        Option(
            "logit: shares as logits; identity: as they are; default: logit against ratings, and where a line bends."
        ),
    ] = "auto"
    by: Annotated[
        tuple[str, ...] | None,
        Option("Factor that makes up the mix, such as scenario; may be repeated.", metavar="FACTOR"),
    ] = None
    margin: Annotated[
        str | None, Option("Largest gap that does not matter: 5pp, or a number in the live unit.", metavar="M")
    ] = None
    cluster: Annotated[
        tuple[str, ...] | None,
        Option(
            "Column whose levels share something, on the side that has it; may be repeated; default: auto.",
            ("--cluster", "-c"),
            metavar="COLUMN",
        ),
    ] = None
    lab_cluster: Annotated[tuple[str, ...] | None, Option("The same for the lab alone.", metavar="COLUMN")] = None
    live_cluster: Annotated[tuple[str, ...] | None, Option("The same for the live side.", metavar="COLUMN")] = None
    models: Annotated[tuple[str, ...] | None, Option("Models to keep: A,B,C; default: all.")] = None
    top: Annotated[
        tuple[int, ...], Option("Also tell agreement within the K best live; may be repeated.", metavar="K")
    ] = (5, 10)
    n_resamples: Resamples = 2000
    min_cell: Annotated[int, Option("Live cells with fewer users than this are withheld.")] = MIN_CELL
    conf_level: PlannedLevel = None
    seed: Seed = 0
