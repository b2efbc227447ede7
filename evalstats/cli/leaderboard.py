"""`evalstats leaderboard`: how do all models stand, and which ranks are certain?"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.analysis.leaderboard.options import LeaderboardOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import CANNOT_ANSWER, Planned, Reading, Showing, add_command, noted, with_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Planned):
    """What the shell gives as a file or a text: the plan, weights, the k of the top-k sets."""

    weights: Annotated[Path | None, Option("Share of each level, instead of --average: CSV (level,share) or TOML.")] = (
        None
    )
    top: Annotated[str, Option("Say who may be among the K best.", metavar="K,K,...")] = "1,3,5"


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "leaderboard", leaderboard, Reading, LeaderboardOptions, Declared, Showing)


def leaderboard(reading: Reading, asked: LeaderboardOptions, beside: Declared, showing: Showing) -> None:
    """How do all models stand, and which ranks are certain?"""
    from evalstats.analysis.leaderboard.leaderboard import leaderboard as leaderboard_of
    from evalstats.cli.load import Narrow, averages
    from evalstats.cli.output import step_line

    top = whole_numbers(beside.top)
    plan = beside.declared(quiet=showing.quiet)
    narrow = Narrow(
        question="leaderboard", asked=(asked, beside.weights, reading.where, plan), single=reading.trials_from_runs
    )
    data = reading.load(plan, quiet=showing.quiet, asked=asked, narrow=narrow)
    given: dict[str, Any] = {
        **asdict(with_names(asked, data)),
        **averages(asked.average, asked.over, beside.weights),
        "top": top,
        "plan": plan.plan if plan else None,
    }
    with step_line(quiet=showing.quiet) as on_step:
        on_step("comparing all pairs of models")
        result = leaderboard_of(data, **given)
    showing.present(noted(result, reading, beside))
    if not any(row.rank_low for row in result.rows):
        raise typer.Exit(CANNOT_ANSWER)


def whole_numbers(text: str) -> list[int]:
    """Read whole numbers with commas between them; anything else is an InputError."""
    from evalstats.errors import InputError

    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and part.isascii() for part in parts):
        raise InputError(f"--top is {text!r}; give whole numbers from 1, such as 1,3,5")
    return [int(part) for part in parts]
