"""`evalstats gap`: does the lab predict the live world, and for which models not?"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    from evalstats.cli.plan import Declared
    from evalstats.schema.data import EvalData
    from evalstats.schema.live_mix import LiveMix

_CANNOT_ANSWER = 3
_SHIPPED_MIX = "rutbench"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("gap")(gap)


def gap(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DATA",
            help="Results of both sides, told apart by their column setting (lab, live); or give --lab and --live.",
            show_default=False,
        ),
    ] = None,
    lab: Annotated[
        list[Path] | None,
        typer.Option("--lab", metavar="PATH", help="Results of the lab; may be repeated.", show_default=False),
    ] = None,
    live: Annotated[
        list[Path] | None,
        typer.Option(
            "--live", metavar="PATH", help="Live outcomes, votes or a table; may be repeated.", show_default=False
        ),
    ] = None,
    near_names: Annotated[
        Path | None,
        typer.Option(
            "--near-names",
            metavar="FILE",
            help="Write names that look alike to an alias file, to be checked and given with --aliases.",
            show_default=False,
        ),
    ] = None,
    aliases: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Names that are one model: TOML, CSV of two columns, JSON.", show_default=False
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric", "-m", help="Score to use on both sides; default: each one's headline.", show_default=False
        ),
    ] = None,
    higher_is_better: options.HigherIsBetter = None,
    lab_metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Score to use in the lab.", show_default=False)
    ] = None,
    live_metric: Annotated[
        str | None, typer.Option(metavar="METRIC", help="Score to use live.", show_default=False)
    ] = None,
    same_scale: Annotated[
        bool | None,
        typer.Option(
            "--same-scale/--other-scale",
            help="Whether live less lab means something; default: where both measure one thing in one unit.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by",
            metavar="FACTOR",
            help="Factor that makes up the mix, such as scenario; may be repeated.",
            show_default=False,
        ),
    ] = None,
    mix: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|rutbench",
            help="Shares of the live world where live rows have no such labels; rutbench: those surveyed for it.",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        str | None,
        typer.Option(
            metavar="M", help="Largest gap that does not matter: 5pp, or a number in the live unit.", show_default=False
        ),
    ] = None,
    lab_where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LEVEL", help="Keep such rows of the lab; may be repeated.", show_default=False),
    ] = None,
    live_where: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LEVEL", help="Keep such live rows; may be repeated.", show_default=False),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            "-c",
            metavar="COLUMN",
            help="Column whose levels share something, on the side that has it; may be repeated; default: auto.",
            show_default=False,
        ),
    ] = None,
    lab_cluster: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="The same for the lab alone.", show_default=False)
    ] = None,
    live_cluster: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="The same for the live side.", show_default=False)
    ] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(help="Models to keep: A,B,C, or the option several times; default: all.", show_default=False),
    ] = None,
    top: Annotated[str, typer.Option(metavar="K,K,...", help="Also tell agreement within the K best live.")] = "5,10",
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Rounds of the bootstraps.")] = 2000,
    min_cell: Annotated[
        int, typer.Option("--min-cell", min=1, help="Live cells with fewer users than this are withheld.")
    ] = 10,
    conf_level: options.PlannedLevel = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    explain: options.Explain = False,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Tell whether the lab predicts the live world, and for which models it does not."""
    from evalstats.analysis.gap.gap import gap as gap_of
    from evalstats.cli.arena import cluster_of
    from evalstats.cli.leaderboard import whole_numbers
    from evalstats.cli.plan import declared_plan
    from evalstats.cli.show import show_result, step_line

    levels = whole_numbers(top)
    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    joined = aliases_of(aliases)
    shares = mix_of(mix, by)
    sides = load_sides(
        paths,
        lab=lab,
        live=live,
        wheres=(lab_where, live_where),
        map_=map_,
        declared=declared,
        input_format=input_format,
        quiet=quiet,
    )
    if near_names is not None:
        write_near_names(near_names, sides, joined)
    with step_line(quiet=quiet) as on_step:
        on_step("setting lab against live")
        result = gap_of(
            *sides,
            metric=metric,
            higher_is_better=higher_is_better,
            lab_metric=lab_metric,
            live_metric=live_metric,
            by=by or None,
            cluster=cluster_of(cluster) or "auto",
            lab_cluster=cluster_of(lab_cluster),
            live_cluster=cluster_of(live_cluster),
            aliases=joined,
            margin=margin,
            mix=shares,
            models=names_of(models, sides, joined),
            same_scale=same_scale,
            conf_level=conf_level,
            top=levels,
            n_resamples=resamples,
            min_cell=min_cell,
            plan=declared.plan if declared else None,
            seed=seed,
        )
    show_result(result, explain=explain, style=style, output=output, no_color=no_color, quiet=quiet)
    if result.verdict == "invalid":
        raise typer.Exit(_CANNOT_ANSWER)


def load_sides(
    paths: Sequence[Path] | None,
    *,
    lab: Sequence[Path] | None,
    live: Sequence[Path] | None,
    wheres: tuple[Sequence[str] | None, Sequence[str] | None],
    map_: Sequence[str] | None,
    declared: "Declared | None",
    input_format: str | None,
    quiet: bool,
) -> "tuple[EvalData, EvalData | None]":
    """Read both sides, or what holds both.

    Raises
    ------
    InputError
        If it is not clear which side is which.
    """
    from evalstats.cli.load import column_map, load
    from evalstats.cli.plan import columns_for
    from evalstats.errors import InputError

    if bool(paths) == bool(lab or live) or bool(lab) != bool(live):
        found = [name for name, given in (("DATA", paths), ("--lab", lab), ("--live", live)) if given]
        message = (
            f"two sides are needed, found {' and '.join(found) or 'nothing'}; use one of: gap --lab PATH --live PATH; gap DATA, "
            "where its column setting says lab or live"
        )
        raise InputError(message)
    if paths and any(wheres):
        message = "--lab-where and --live-where go with --lab and --live; DATA is split by its column setting"
        raise InputError(message)

    def read(files: Sequence[Path], where: Sequence[str] | None = None) -> "EvalData":
        columns = column_map(map_) or columns_for(declared, files)
        return load(files, where=where, columns=columns, input_format=input_format, quiet=quiet)

    if paths:
        return read(paths), None
    lab_where, live_where = wheres
    return kept(read(lab or (), lab_where), lab_where), kept(read(live or (), live_where), live_where)


def kept(data: "EvalData", conditions: Sequence[str] | None) -> "EvalData":
    """Keep the rows that every COLUMN=LEVEL names: outcomes, else votes, else published numbers.

    Raises
    ------
    InputError
        If a condition is none, or there is no such column or level.
    """
    from evalstats.analysis.leaderboard.published import keep_published
    from evalstats.cli.arena import with_votes_of
    from evalstats.cli.load import conditions as levels_of
    from evalstats.cli.load import filtered

    if not conditions or data.outcomes.height:
        return filtered(data, conditions)
    if data.comparisons.height:
        return with_votes_of(data, conditions)
    return keep_published(data, levels_of(conditions))


def write_near_names(path: Path, sides: "Sequence[EvalData | None]", aliases: Mapping[str, str] | None) -> None:
    """Write names of both sides that look alike as an alias file, for somebody to check and give with --aliases."""
    from evalstats.analysis.gap.aliases import ALIKE, match_models
    from evalstats.analysis.gap.sides import by_setting
    from evalstats.cli.show import write_atomically

    whole = [side for side in sides if side is not None]
    lab, live = by_setting(whole[0]) if len(whole) == 1 else whole
    found = match_models(model_names(lab), model_names(live), dict(aliases or {}))
    lines = [
        "# Names that look alike on both sides, the lab's first. Check each; give the file with --aliases.",
        "# Names that differ in more than spelling are behind a #: take it away where they are one model.",
        "[aliases]",
        *(f"{json.dumps(ours)} = {json.dumps(own)}" for ours, own in (aliases or {}).items()),
        *(
            f"{'' if why == ALIKE else '# '}{json.dumps(ours)} = {json.dumps(theirs)}  # {' '.join(why.split())}"
            for (ours, theirs), why in zip(found.near, found.near_why, strict=True)
        ),
    ]
    write_atomically(path, "\n".join(lines) + "\n")
    typer.echo(f"{len(found.near)} names that look alike were written to {path}: check each", err=True)


def model_names(data: "EvalData") -> list[str]:
    """Return the names of all models of one side."""
    if data.outcomes.height:
        found = data.outcomes["system"]
    elif data.comparisons.height:
        found = data.comparisons["model_a"].append(data.comparisons["model_b"].rename("model_a"))
    else:
        found = data.aggregates["model"]
    names: list[str] = found.drop_nulls().unique().sort().to_list()
    return names


def aliases_of(path: Path | None) -> dict[str, str] | None:
    """Read the table of aliases, where one is named."""
    if path is None:
        return None
    from evalstats.loaders.declarations import read_aliases

    return read_aliases(path)


def mix_of(given: str | None, by: Sequence[str] | None) -> "LiveMix | None":
    """Return the live mix that --mix names: the one that ships, or that of a file."""
    if given is None:
        return None
    if given == _SHIPPED_MIX:
        from evalstats.datasets.tables import rutbench_live_mix

        return rutbench_live_mix()
    from evalstats.loaders.declarations import read_live_mix

    return read_live_mix(given, factor=by[0]) if by and len(by) == 1 else read_live_mix(given)


def names_of(
    values: Sequence[str] | None, sides: "Sequence[EvalData | None]", aliases: Mapping[str, str] | None
) -> list[str] | None:
    """Split A,B,C at the commas, except where the whole is itself a name on either side."""
    if not values:
        return None
    have = {*(aliases or {}), *(aliases or {}).values()}
    for data in sides:
        if data is not None:
            frames = (data.outcomes, data.aggregates)
            have |= {name for frame in frames if "model" in frame.columns for name in frame["model"].unique()}
            have |= {name for column in ("model_a", "model_b") for name in data.comparisons[column].unique()}
    return [name for value in values for name in ([value] if value in have else value.split(",")) if name]
