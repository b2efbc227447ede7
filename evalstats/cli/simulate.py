"""`evalstats simulate`: result files whose truth is known, in real formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class What(StrEnum):
    """What can be simulated."""

    RUTBENCH = "rutbench"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    what: Annotated[What, typer.Argument(help="Benchmark whose format is written.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")],
    model: Annotated[
        list[str] | None,
        typer.Option("--model", help="Published model; may be repeated. Default: all.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the benchmark and of everything drawn.")] = 0,
) -> None:
    """Write simulated result files with a known truth."""
    from evalstats.cli.show import say
    from evalstats.simulate.rutbench import write_rutbench

    if what is What.RUTBENCH:
        for path in write_rutbench(output, models=model, seed=seed):
            say(f"written: {path}")
        say("These results are simulated: the rates by user behaviour are invented.")
