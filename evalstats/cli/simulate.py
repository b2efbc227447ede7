"""`evalstats simulate`: result files whose truth is known, in real formats."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evalstats.cli import options
from evalstats.errors import InputError


class What(StrEnum):
    """What can be simulated."""

    RUTBENCH = "rutbench"
    HARMAMP = "harmamp"
    DEVICEREPAIR = "devicerepair"
    ARENA = "arena"
    LAB_LIVE = "lab-live"


class Lived(StrEnum):
    """What the live side of a lab-live simulation holds."""

    OUTCOMES = "outcomes"
    VOTES = "votes"
    PUBLISHED = "published"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", cls=options.Command)(simulate)


def simulate(
    what: Annotated[What, typer.Argument(metavar="WHAT", help="Benchmark or arena to simulate.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder for the files.", show_default=False)
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Model to simulate; may be repeated. Default: all.",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[
        int | None,
        typer.Option(metavar="N", help="For an arena: number of votes; default: 50,000.", show_default=False),
    ] = None,
    event_size: Annotated[
        int | None,
        typer.Option(
            "--event-size", metavar="N", help="For an arena: models shown at once; default: 2.", show_default=False
        ),
    ] = None,
    live: Annotated[
        Lived | None,
        typer.Option("--live", help="For lab-live: what the live side holds; default: outcomes.", show_default=False),
    ] = None,
    gap: Annotated[
        list[str] | None,
        typer.Option(
            "--gap",
            metavar="MODEL=GAP",
            help="For lab-live: a planted gap, MODEL=-0.15: live minus lab success, or log-odds for votes; may be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    mix_shift: Annotated[
        bool,
        typer.Option("--mix-shift", help="For lab-live: give live users the mix of behaviours surveyed by RUT-Bench."),
    ] = False,
    models: Annotated[
        int | None, typer.Option("--models", metavar="N", help="For lab-live: models; default: 15.", show_default=False)
    ] = None,
    users: Annotated[
        int | None,
        typer.Option("--users", metavar="N", help="For lab-live: live users; default: 400.", show_default=False),
    ] = None,
    items: Annotated[
        int | None,
        typer.Option("--items", metavar="N", help="For lab-live: lab items; default: 420.", show_default=False),
    ] = None,
    aliases: Annotated[
        bool, typer.Option("--aliases", help="For lab-live: spell model names differently on the two sides.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Random seed.")] = 0,
    quiet: options.Quiet = False,
) -> None:
    """Write simulated result files with a known truth."""
    from evalstats.cli.output import say

    arena: dict[str, Any] = {"--votes": votes, "--event-size": event_size}
    lab_live: dict[str, Any] = {
        "--live": live, "--gap": gap, "--mix-shift": mix_shift or None, "--models": models, "--users": users,
        "--items": items, "--aliases": aliases or None,
    }  # fmt: skip
    given = [name for name, value in arena.items() if value is not None]
    _refuse_others(what, given, [name for name, value in lab_live.items() if value is not None], model)
    if output is None:
        raise InputError("no folder is named; say where the files go with --output FOLDER")
    if what is What.LAB_LIVE:
        paths, invented = _lab_live(output, lab_live, seed)
    elif what is What.ARENA:
        paths, invented = _arena(output, votes, event_size, seed)
    else:
        paths, invented = _written(what, output, model, seed)
    for path in paths:
        say(f"written: {path}")
    if not quiet:
        say(f"These results are simulated: {invented}.")


def _refuse_others(what: What, arena: list[str], lab_live: list[str], model: list[str] | None) -> None:
    if what is not What.ARENA and arena:
        raise InputError(f"{arena[0]} is for an arena; {what.value} has no such option")
    if what is not What.LAB_LIVE and lab_live:
        raise InputError(f"{lab_live[0]} is for lab-live; {what.value} has no such option")
    if what is What.ARENA and model:
        raise InputError("an arena is simulated with all its models; leave out --model")
    if what is What.LAB_LIVE and model:
        raise InputError("the models of lab-live are invented; say how many with --models, and leave out --model")


def _lab_live(output: Path, asked: dict[str, Any], seed: int) -> tuple[list[Path], str]:
    from evalstats.datasets.tables import rutbench_live_mix
    from evalstats.simulate.lab_live import write_lab_live

    held = {Lived.OUTCOMES: "outcomes", Lived.VOTES: "comparisons", Lived.PUBLISHED: "aggregates"}
    options: dict[str, Any] = {
        "live": held[asked["--live"] or Lived.OUTCOMES],
        "gaps": dict(_planted(each) for each in asked["--gap"] or ()),
        "live_mix": rutbench_live_mix().shares if asked["--mix-shift"] else None,
        "aliases": bool(asked["--aliases"]),
    }
    sizes = {"n_models": "--models", "n_users": "--users", "n_items": "--items"}
    options |= {name: asked[option] for name, option in sizes.items() if asked[option] is not None}
    mix = " but the live mix of behaviours, which RUT-Bench surveyed," if asked["--mix-shift"] else ""
    return write_lab_live(output, seed=seed, **options), f"all{mix} is invented; what is true stands in truth.json"


def _planted(text: str) -> tuple[str, float]:
    """Return model and gap of MODEL=GAP."""
    model, _, number = text.rpartition("=")
    try:
        return model, float(number)
    except ValueError as error:
        raise InputError(f"--gap {text!r} is no MODEL=GAP; write for example --gap model-03=-0.15") from error


def _written(what: What, output: Path, models: list[str] | None, seed: int) -> tuple[list[Path], str]:
    """Write the files, and return them with what in them is invented."""
    if what is What.HARMAMP:
        from evalstats.simulate.benchmark_files import write_harmamp

        invented = "all but the numbers of plans and two rates of harm is invented, and the format is assumed"
        return write_harmamp(output, models, seed=seed), invented
    if what is What.DEVICEREPAIR:
        from evalstats.simulate.benchmark_files import write_devicerepair

        invented = "all scores are invented, and the format is assumed"
        return write_devicerepair(output, models, seed=seed), invented
    from evalstats.simulate.rutbench import write_rutbench

    return write_rutbench(output, models=models, seed=seed), "the rates by user behaviour are invented"


def _arena(output: Path, votes: int | None, event_size: int | None, seed: int) -> tuple[list[Path], str]:
    from evalstats.simulate.arena import N_VOTES, write_arena
    from evalstats.simulate.arena_world import ArenaDesign

    design = ArenaDesign(event_size=event_size or 2)
    paths = write_arena(output, N_VOTES if votes is None else votes, seed=seed, design=design)
    invented = "all but the number of models, the two apps and the order of the first five is invented"
    return paths, f"{invented}, and the format is assumed"
