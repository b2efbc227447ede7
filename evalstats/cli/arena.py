"""`evalstats arena`: whom do live users prefer, and which ranks are certain?"""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstats.cli import options

if TYPE_CHECKING:
    import polars as pl

    from evalstats.loaders.column_map import ColumnMap
    from evalstats.schema.data import EvalData

_CANNOT_ANSWER = 3


class TiesAs(StrEnum):
    """What a tie is."""

    HALF = "half"
    DAVIDSON = "davidson"
    RAO_KUPPER = "rao-kupper"


class BothBad(StrEnum):
    """What a vote that both are bad is."""

    TIE = "tie"
    DROP = "drop"


class ScaleOf(StrEnum):
    """The scale of ratings."""

    ELO = "elo"
    LOG_ODDS = "log-odds"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("arena")(arena)


def arena(
    paths: options.Paths = None,
    store: options.StoreDir = None,
    ties: Annotated[
        TiesAs, typer.Option(help="A tie is half a win of either, or an outcome with a probability of its own.")
    ] = TiesAs.HALF,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            "-c",
            help="Column whose levels share something, such as rater; may be repeated; auto (default): all that the votes "
            "have; none: every vote on its own.",
            show_default=False,
        ),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Hold the pair of columns NAME_a and NAME_b equal; may be repeated.",
            show_default=False,
        ),
    ] = None,
    held: Annotated[
        bool, typer.Option("--style", help="Hold length, headers, lists and bold equal, where the votes have them.")
    ] = False,
    side: Annotated[bool, typer.Option("--side", help="Hold the side, or the order shown, equal.")] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", help="Column whose levels get ratings of their own (scenario, tags).", show_default=False),
    ] = None,
    both_bad: Annotated[BothBad, typer.Option(help="What a vote that both are bad is in ratings.")] = BothBad.TIE,
    prior: Annotated[
        float | None,
        typer.Option(
            metavar="WINS",
            min=0.0,
            help="Wins and losses against an average model to add to each, such as 0.5, where votes do not connect all; "
            "default: none.",
            show_default=False,
        ),
    ] = None,
    anchor: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL", help="Count ratings from this model; default: the mean of all.", show_default=False
        ),
    ] = None,
    scale: Annotated[ScaleOf, typer.Option(help="Scale of ratings.")] = ScaleOf.ELO,
    models: Annotated[
        list[str] | None,
        typer.Option(help="Models to keep: A,B,C, or the option several times; default: all.", show_default=False),
    ] = None,
    resamples: Annotated[
        int | None,
        typer.Option(
            "--resamples", min=1, help="Rounds of a bootstrap of clusters beside the intervals.", show_default=False
        ),
    ] = None,
    online_elo: Annotated[
        bool,
        typer.Option("--online-elo", help="Also show ratings by one pass over the votes; they depend on the order."),
    ] = False,
    no_checks: Annotated[bool, typer.Option("--no-checks", help="Do not test fit, trust and drift (faster).")] = False,
    top: Annotated[str, typer.Option(metavar="K,K,...", help="Say who may be among the K best.")] = "1,3,5",
    conf_level: options.PlannedLevel = None,
    plan: options.PlanFile = None,
    no_plan: options.NoPlan = False,
    explain: options.Explain = False,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Keep votes with COLUMN=LEVEL; may be repeated.", show_default=False),
    ] = None,
    map_: options.Map = None,
    input_format: options.InputFormat = None,
    style: options.OutputFormat = options.Format.TEXT,
    output: options.Output = None,
    seed: Annotated[int, typer.Option(help="For everything that is drawn.")] = 0,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
) -> None:
    """Whom do live users prefer, and which ranks are certain?"""
    from evalstats.analysis.arena.arena import arena as arena_of
    from evalstats.analysis.arenas.words import has_ranks
    from evalstats.cli.leaderboard import whole_numbers
    from evalstats.cli.load import column_map
    from evalstats.cli.plan import columns_for, declared_plan
    from evalstats.cli.show import show_result, step_line

    levels = whole_numbers(top)
    covariates = style_of(covariate, held=held)
    declared = declared_plan(plan, wanted=not no_plan, quiet=quiet)
    columns = column_map(map_) or columns_for(declared, paths or [])
    plain = not (where or columns or input_format or store or covariates or by or models or side)
    merged = large_votes(paths or [], quiet=quiet) if plain else None
    votes = None
    if merged is None:
        votes = load_votes(
            paths or [], store=store, where=where, columns=columns, input_format=input_format, quiet=quiet
        )
    with step_line(quiet=quiet) as on_step:
        on_step("rating the models" if no_checks else "rating the models and checking the votes")
        result = arena_of(
            merged if votes is None else votes,
            ties=ties.value,
            cluster=cluster_of(cluster),
            covariates=covariates,
            side=side,
            by=by,
            both_bad=both_bad.value,
            prior=prior,
            anchor=anchor,
            scale=scale.value,
            models=None if votes is None else names_of(models, votes),
            conf_level=conf_level,
            n_resamples=resamples,
            online=online_elo,
            checks=not no_checks,
            top=levels,
            plan=declared.plan if declared else None,
            seed=seed,
        )
    show_result(result, explain=explain, style=style, output=output, no_color=no_color, quiet=quiet)
    if not has_ranks(result):
        raise typer.Exit(_CANNOT_ANSWER)


def large_votes(paths: Sequence[Path], *, quiet: bool) -> "pl.LazyFrame | None":
    """Return the votes of one large Parquet file, to be merged without being held; None for anything else."""
    from evalstats.loaders.frames import scan_votes

    found = scan_votes(paths)
    if found is not None and not quiet:
        typer.echo(
            f"{paths[0]}: large, so votes are merged as they are read; checks of single votes are left out", err=True
        )
    return found


def load_votes(
    paths: Sequence[Path],
    *,
    store: Path | None,
    where: Sequence[str] | None,
    columns: "ColumnMap | None",
    input_format: str | None,
    quiet: bool,
) -> "EvalData":
    """Read the votes of files, folders or a store, and keep those that --where names."""
    from evalstats.cli.load import load

    data = load(paths, store=store, columns=columns, input_format=input_format, quiet=quiet)
    return with_votes_of(data, where)


def with_votes_of(data: "EvalData", conditions: Sequence[str] | None) -> "EvalData":
    """Keep the votes that every COLUMN=LEVEL names; the same column twice means either level.

    `model` means either side of a vote.

    Raises
    ------
    InputError
        If a condition is none, or no vote has such a column or level.
    """
    from dataclasses import replace

    from evalstats.cli.load import conditions as levels_of
    from evalstats.errors import InputError

    frame = data.comparisons
    wanted = levels_of(conditions)
    for name, levels in wanted.items():
        sides = ["model_a", "model_b"] if name == "model" else [name]
        if not set(sides) <= set(frame.columns):
            message = f"votes have no column {name!r}; they have {', '.join(frame.columns)}"
            raise InputError(message)
        among = [_among(frame[column], levels) for column in sides]
        keep = among[0] if len(among) == 1 else among[0] | among[1]
        if not keep.any():
            message = f"no vote has {name} {' or '.join(map(repr, levels))}; {_levels_of(frame[sides[0]])}"
            raise InputError(message)
        frame = frame.filter(keep.fill_null(value=False))
    return replace(data, comparisons=frame) if wanted else data


def _among(column: "pl.Series", levels: Sequence[str]) -> "pl.Series":
    """Return which votes have one of the levels; of a list (tags), which hold one."""
    import polars as pl

    if isinstance(column.dtype, pl.List):
        return column.list.set_intersection(pl.Series([list(levels)])).list.len() > 0
    return column.cast(pl.String).is_in(list(levels))


def _levels_of(column: "pl.Series") -> str:
    import polars as pl

    values = column.explode() if isinstance(column.dtype, pl.List) else column
    found = values.cast(pl.String).drop_nulls().unique().sort().head(12).to_list()
    return f"there is {', '.join(map(repr, found))}" if found else "it has no value in any vote"


def cluster_of(names: Sequence[str] | None) -> str | list[str] | None:
    """Return what --cluster means: nothing given is left to the plan, "auto" and "none" stand alone.

    Raises
    ------
    InputError
        If "auto" or "none" stands beside a column.

    Examples
    --------
    >>> cluster_of(None), cluster_of(["none"]), cluster_of(["rater", "item"])
    (None, 'none', ['rater', 'item'])
    """
    from evalstats.errors import InputError

    if not names:
        return None
    alone = [name for name in names if name in ("auto", "none")]
    if alone and len(names) > 1:
        message = f"--cluster {alone[0]} stands beside other columns; give {alone[0]} alone, or columns"
        raise InputError(message)
    return alone[0] if alone else list(names)


def style_of(covariates: Sequence[str] | None, *, held: bool) -> str | list[str] | None:
    """Return what --covariate and --style mean.

    Raises
    ------
    InputError
        If both are given.

    Examples
    --------
    >>> style_of(None, held=True), style_of(["tokens"], held=False), style_of(None, held=False)
    ('auto', ['tokens'], None)
    """
    from evalstats.errors import InputError

    if held and covariates:
        raise InputError(
            "--style takes all columns of style that it knows; name columns with --covariate, or use --style"
        )
    return "auto" if held else list(covariates) if covariates else None


def names_of(values: Sequence[str] | None, data: "EvalData") -> list[str] | None:
    """Split A,B,C at the commas, except where the whole is itself a name."""
    if not values:
        return None
    have = {name for side in ("model_a", "model_b") for name in data.comparisons[side].unique().to_list()}
    return [name for value in values for name in ([value] if value in have else value.split(",")) if name]
