"""`evalstats simulate`: result files whose truth is known, in real formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class What(StrEnum):
    """What can be simulated."""

    RUTBENCH = "rutbench"
    HARMAMP = "harmamp"
    DEVICEREPAIR = "devicerepair"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    what: Annotated[What, typer.Argument(help="Benchmark whose format is written.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the files.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", help="Model that the simulation knows; may be repeated. Default: all.", show_default=False
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the benchmark and of everything drawn.")] = 0,
) -> None:
    """Write simulated result files with a known truth."""
    from evalstats.cli.show import say

    paths, invented = _written(what, output, model, seed)
    for path in paths:
        say(f"written: {path}")
    say(f"These results are simulated: {invented}.")


def _written(what: What, output: Path, models: list[str] | None, seed: int) -> tuple[list[Path], str]:
    """Write the files, and return them with what in them is invented."""
    if what is What.HARMAMP:
        from evalstats.simulate.harmamp import write_harmamp

        invented = "all but the numbers of plans and two rates of harm is invented, and the format is assumed"
        return write_harmamp(output, models, seed=seed), invented
    if what is What.DEVICEREPAIR:
        from evalstats.simulate.devicerepair import write_devicerepair

        invented = "all scores are invented, and the format is assumed"
        return write_devicerepair(output, models, seed=seed), invented
    from evalstats.simulate.rutbench import write_rutbench

    return write_rutbench(output, models=models, seed=seed), "the rates by user behaviour are invented"
