"""What can be asked of votes."""

from dataclasses import dataclass
from typing import Annotated, Literal

from evalstats.analysis.options import Option, PlannedLevel, Seed

# As the likelihood has them; named here too, so that the options load no numbers.
Ties = Literal["half", "davidson", "rao-kupper"]
Scale = Literal["elo", "log-odds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaOptions:
    """Options of `evalstats.arena` and of `evalstats arena`."""

    ties: Annotated[Ties, Option("A tie is half a win of either, or an outcome with a probability of its own.")] = (
        "half"
    )
    cluster: Annotated[
        tuple[str, ...] | None,
        Option(
            "Column whose levels share something, such as rater; may be repeated; auto: all that the votes have; none: every "
            "vote on its own; default: auto, or for these prompts alone where prompts are too few.",
            ("--cluster", "-c"),
        ),
    ] = None
    covariates: Annotated[
        tuple[str, ...] | None,
        Option("Hold the pair of columns NAME_a and NAME_b equal; may be repeated.", ("--covariate",), metavar="NAME"),
    ] = None
    side: Annotated[bool, Option("Hold the side, or the order shown, equal.", ("--side",))] = False
    by: Annotated[str | None, Option("Column whose levels get ratings of their own (scenario, tags).")] = None
    both_bad: Annotated[Literal["tie", "drop"], Option("What a vote that both are bad is in ratings.")] = "tie"
    prior: Annotated[
        float | None,
        Option("Wins and losses to add to each model, such as 0.5, where votes do not connect all.", metavar="WINS"),
    ] = None
    anchor: Annotated[
        str | None, Option("Count ratings from this model; default: the mean of all.", metavar="MODEL")
    ] = None
    scale: Annotated[Scale, Option("Scale of ratings.")] = "elo"
    models: Annotated[tuple[str, ...] | None, Option("Models to keep: A,B,C; default: all.")] = None
    conf_level: PlannedLevel = None
    n_resamples: Annotated[
        int | None, Option("Rounds of a bootstrap of clusters beside the intervals.", ("--resamples",))
    ] = None
    checks: Annotated[
        bool, Option("Whether to test fit, trust and drift, which takes longer.", ("--checks/--no-checks",))
    ] = True
    without_suspects: Annotated[
        bool, Option("Leave out the votes that the checks suspect, and say how many.", ("--without-suspects",))
    ] = False
    top: Annotated[tuple[int, ...], Option("Say who may be among the K best; may be repeated.", metavar="K")] = (
        1,
        3,
        5,
    )
    seed: Seed = 0
