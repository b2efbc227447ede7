"""What can be asked of a check for contamination."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from evalstats.analysis.options import Accept, Cluster, HigherIsBetter, MetricName, Option, PlannedLevel, Seed

Alternative = Literal["two-sided", "greater"]
Scale = Literal["auto", "latent", "points"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContaminationOptions:
    """Options of `evalstats.contamination` and of its command, which reads `cutoffs` and the plan from texts and files."""

    split: Annotated[str | None, Option("Column that tells old items from new ones.", metavar="COLUMN")] = None
    old: Annotated[
        tuple[str, ...] | None, Option("Level of old, public items; with --twin, of originals.", metavar="LEVEL")
    ] = None
    new: Annotated[
        tuple[str, ...] | None, Option("Level of new, held-out items; with --twin, of rephrased.", metavar="LEVEL")
    ] = None
    date: Annotated[str | None, Option("Column with the date of every item.", metavar="COLUMN")] = None
    twin: Annotated[
        str | None,
        Option("Column that tells rephrased items, or names on each the item it rephrases.", metavar="COLUMN"),
    ] = None
    suspects: Annotated[
        tuple[str, ...] | None,
        Option("Model in question; may be repeated; default: all.", ("--suspect",), metavar="MODEL", names=True),
    ] = None
    references: Annotated[
        tuple[str, ...] | None,
        Option(
            "Model known to be clean; may be repeated; default: all others.",
            ("--reference",),
            metavar="MODEL",
            names=True,
        ),
    ] = None
    cutoffs: Annotated[Mapping[str, str | dt.date] | None, Option(hidden=True)] = None
    metric: MetricName = None
    higher_is_better: HigherIsBetter = None
    cluster: Cluster = None
    margin: Annotated[str | None, Option("Largest inflation that does not matter: 5pp, or a number.", metavar="M")] = (
        None
    )
    conf_level: PlannedLevel = None
    scale: Annotated[
        Scale, Option("latent: abilities, for models of unlike strength; points; default: latent for right or wrong.")
    ] = "auto"
    alternative: Annotated[Alternative, Option("greater: one-sided, where declared before looking.")] = "two-sided"
    accept: Accept = ()
    seed: Seed = 0
