"""`evalstats arena`: whom do live users prefer, and which ranks are certain?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.analysis.arena.options import ArenaOptions
from evalstats.analysis.options import Option
from evalstats.cli.command import (
    CANNOT_ANSWER,
    ColumnMaps,
    Engine,
    InputFormat,
    Planned,
    Showing,
    Where,
    add_command,
    noted,
)

if TYPE_CHECKING:
    import polars as pl

    from evalstats.loaders.column_map import ColumnMap
    from evalstats.schema.data import EvalData


@dataclass(frozen=True, slots=True, kw_only=True)
class Votes(Planned):
    """Where the votes come from, what of them counts, and what was declared before looking."""

    paths: Annotated[tuple[Path, ...], Option("Votes: files, folders, or a store.", metavar="PATHS")] = ()
    store: Annotated[Path | None, Option("Folder of ingested results to read from.", metavar="DIR")] = None
    where: Where = ()
    style: Annotated[
        bool, Option("Hold length, headers, lists and bold equal, where the votes have them.", ("--style",))
    ] = False
    map: ColumnMaps = ()
    input_format: InputFormat = None
    engine: Engine = None


def register(app: typer.Typer) -> None:
    """Add the command."""
    add_command(app, "arena", arena, Votes, ArenaOptions, Showing)


def arena(reading: Votes, asked: ArenaOptions, showing: Showing) -> None:
    """Whom do live users prefer, and which ranks are certain?"""
    from evalstats.analysis.arena.arena import arena as arena_of
    from evalstats.cli.load import column_map, columns_for
    from evalstats.cli.output import step_line

    declared = reading.declared(quiet=showing.quiet)
    columns = column_map(reading.map) or columns_for(declared, reading.paths)
    votes = None
    merged = None
    single = reading.where or columns or reading.input_format
    if reading.engine is not None:
        merged = votes_on_engine(reading, single=bool(single or reading.store or reading.style))
    elif not (
        single or reading.style or asked.covariates or asked.by or asked.models or asked.side or asked.without_suspects
    ):
        merged = large_votes([*([reading.store] if reading.store else []), *reading.paths], quiet=showing.quiet)
    if merged is None:
        votes = load_votes(
            reading.paths,
            store=reading.store,
            where=reading.where,
            columns=columns,
            input_format=reading.input_format,
            quiet=showing.quiet,
        )
    options: dict[str, Any] = asdict(asked) | {
        "cluster": cluster_of(asked.cluster),
        "covariates": style_of(asked.covariates, held=reading.style),
        "models": None if votes is None else names_of(asked.models, votes),
    }
    with step_line(quiet=showing.quiet) as on_step:
        on_step("rating the models and checking the votes" if asked.checks else "rating the models")
        result = arena_of(merged if votes is None else votes, **options, plan=declared.plan if declared else None)
    showing.present(noted(result, reading))
    if not result.has_ranks:
        raise typer.Exit(CANNOT_ANSWER)


def votes_on_engine(reading: Votes, *, single: bool) -> object:
    """Return the votes of one table as a lazy frame of the engine that counts them."""
    from evalstats.errors import InputError
    from evalstats.loaders.engines import lazy_table

    if single or len(reading.paths) != 1:
        raise InputError(
            "an engine merges the votes of one table with the columns model_a, model_b and winner (or outcome): give one Parquet "
            "file, folder or table, and leave out --store, --where, --map, --input-format and --style"
        )
    return lazy_table(str(reading.paths[0]), reading.engine)


def large_votes(paths: Sequence[Path], *, quiet: bool) -> "pl.LazyFrame | None":
    """Return the votes of one large Parquet file or store, to be merged without being held; None for anything else."""
    from evalstats.cli.output import say
    from evalstats.loaders.frames import scan_votes
    from evalstats.store.manifest import is_store

    stored = len(paths) == 1 and is_store(paths[0])
    found = _stored_votes(paths[0], quiet=quiet) if stored else scan_votes(paths)
    if found is not None:
        say(
            f"{paths[0]}: large, so votes are merged as they are read; checks of single votes are left out", quiet=quiet
        )
    return found


def _stored_votes(path: Path, *, quiet: bool) -> "pl.LazyFrame | None":
    """Return the votes of a large store; None where judges or simulated votes are among them, which are looked at singly."""
    from evalstats.cli.output import say
    from evalstats.loaders.frames import FROM_ROWS
    from evalstats.store.read import open_store

    store = open_store(path)
    if store.n_rows("comparisons") < FROM_ROWS:
        return None
    votes = store.votes()
    if {"judge", "simulated"} & set(votes.collect_schema().names()):
        return None
    holders = [source for source in store.sources() if source.manifest.rows().get("comparisons")]
    for problem in (problem for source in holders for problem in source.manifest.problems):
        if problem.severity == "error":
            say(f"not read: {problem}", quiet=quiet)
    if len(holders) > 1:
        say(f"{path}: whether its {len(holders)} files repeat each other's votes is not checked", quiet=quiet)
    return votes


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
    from evalstats.cli.load import load, with_votes_of

    data = load(paths, store=store, columns=columns, input_format=input_format, quiet=quiet)
    return with_votes_of(data, where)


def cluster_of(names: Sequence[str] | None) -> str | list[str] | None:
    """Return what --cluster means: nothing given is left to the plan, "auto" and "none" stand alone.

    InputError if "auto" or "none" stands beside a column.

    >>> cluster_of(None), cluster_of(["none"]), cluster_of(["rater", "item"])
    (None, 'none', ['rater', 'item'])
    """
    from evalstats.errors import InputError

    if not names:
        return None
    alone = [name for name in names if name in ("auto", "none")]
    if alone and len(names) > 1:
        raise InputError(f"--cluster {alone[0]} stands beside other columns; give {alone[0]} alone, or columns")
    return alone[0] if alone else list(names)


def style_of(covariates: Sequence[str] | None, *, held: bool) -> str | list[str] | None:
    """Return what --covariate and --style mean.

    InputError if both are given.

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
