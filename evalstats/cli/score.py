"""`evalstats score`: every system's score with its interval."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.analysis.options import Option
from evalstats.analysis.score.options import ScoreOptions
from evalstats.cli.command import Reading, Showing, add_command, noted


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which system, and a file of weights."""

    system: Annotated[str | None, Option("Run, system or model; default: all.")] = None
    weights: Annotated[
        Path | None, Option("Share of each level, instead of --average: CSV (level,share) or TOML.", metavar="FILE")
    ] = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "score", score, Reading, Which, ScoreOptions, Showing)


def score(reading: Reading, which: Which, asked: ScoreOptions, showing: Showing) -> None:
    """Each system's score, with an interval that fits it."""
    from evalstats.analysis.score.result import Score, Scores
    from evalstats.analysis.score.score import score as score_data
    from evalstats.cli.load import averages

    system = which.system
    if reading.store is not None and system is None and len(reading.paths) == 1 and not reading.paths[0].exists():
        # `score NAME --store DIR`, as `compare A B --store DIR`
        system, reading = str(reading.paths[0]), replace(reading, paths=())
    options: dict[str, Any] = {**asdict(asked), **averages(asked.average, asked.over, which.weights)}
    found = score_data(reading.load(quiet=showing.quiet, asked=asked), system, **options)
    scores = (found,) if isinstance(found, Score) else found
    result = scores[0] if len(scores) == 1 else Scores(rows=scores, settings=scores[0].settings)
    showing.present(noted(result, reading, replace(which, system=None)))
