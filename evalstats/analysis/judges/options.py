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
    half_width: Annotated[
        str | None,
        Option("How closely a score is wanted: says how many labels to buy (0.2, or 5pp).", metavar="AMOUNT"),
    ] = None
    margin: Annotated[
        str | None,
        Option("A difference of two models to find with 80% power: says how many labels to buy.", metavar="AMOUNT"),
    ] = None
    families: Annotated[
        tuple[str, ...],
        Option(
            "Who made a judge or model, where its name does not tell; may be repeated.", ("--family",), "NAME=FAMILY"
        ),
    ] = ()
    conf_level: ConfLevel = 0.95
    n_resamples: Resamples = 4000
    seed: Seed = 0
