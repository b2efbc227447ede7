"""What can be asked of judges."""

from dataclasses import dataclass
from typing import Annotated, Literal

from evalstats.analysis.options import Cluster, ConfLevel, Option, Resamples, Seed

Scale = Literal["auto", "nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgesOptions:
    """Options of `evalstats.judges` and of `evalstats judges`."""

    reference: Annotated[
        tuple[str, ...], Option("Whose ratings are the truth: human, or raters by name; may be repeated.")
    ] = ("human",)
    criterion: Annotated[str | None, Option("What was rated; needed where there are several.")] = None
    scale: Annotated[Scale, Option("What kind of numbers ratings are.")] = "auto"
    cluster: Cluster = None
    conf_level: ConfLevel = 0.95
    n_resamples: Resamples = 4000
    seed: Seed = 0
