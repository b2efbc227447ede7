"""Where the data of a question come from: the forms that its command takes, each with the options that say how to read it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstats.cli.command import given_of
from evalstats.cli.load import Narrow, column_map, columns_for, load, ratings, scanned, two_sides, with_votes_of
from evalstats.cli.options import HELP_OF_FORMAT, HELP_OF_MAP
from evalstats.errors import InputError
from evalstats.options import Flag
from evalstats.questions import Form, Question
from evalstats.record import record

if TYPE_CHECKING:
    import polars as pl

    from evalstats.cli.load import Declared
    from evalstats.loaders.column_map import ColumnMap
    from evalstats.schema.data import EvalData

Paths = Annotated[Sequence[Path], Flag("Result files, folders, or a store.", metavar="PATHS")]
Store = Annotated[Path | None, Flag("Folder of ingested results to read from.", metavar="DIR")]
TrialsFromRuns = Annotated[bool, Flag("Treat several runs of one system (seeds) as trials.")]
Where = Annotated[Sequence[str], Flag("Keep rows with COLUMN=LEVEL; may be repeated.", metavar="COLUMN=LEVEL")]
ColumnMaps = Annotated[Sequence[str], Flag(HELP_OF_MAP)]
Engine = Annotated[
    str | None,
    Flag(
        "For tables larger than memory: polars, duckdb or spark counts equal rows of a Parquet file (or a database table).",
        metavar="ENGINE",
    ),
]
InputFormat = Annotated[str | None, Flag(HELP_OF_FORMAT)]


@record
class Call:
    """What a command was asked, before its data are read: the options that were given, the plan, whether its status is a gate."""

    question: Question
    given: Mapping[str, Any]
    declared: "Declared | None" = None
    gated: bool = False
    single: bool = False
    full: bool = False
    quiet: bool = False

    def columns(self, maps: Sequence[str], paths: Sequence[str | Path]) -> "ColumnMap | None":
        """Return the column map that was given, else the plan's where the files are plain tables."""
        return column_map(maps) or columns_for(self.declared, paths)

    def narrow(self, where: Sequence[str], **more: Any) -> Narrow | None:
        """Say what of a store is read; None for all."""
        if self.question.keeps == "tables":
            return None
        # Tables beside the data name no column.
        named: list[Any] = [self.given[name] for name in self.given if name not in ("labels", "new")]
        asked = (named, where, self.declared)
        return Narrow(keeps=self.question.keeps, asked=asked, **more)


class DataForm:
    """The options that say where data are, in one of the forms that commands take."""

    __slots__ = ()

    def load(self, call: Call) -> dict[str, Any]:
        """Read the data, by the names of the arguments that take them."""
        raise NotImplementedError

    def typed(self, call: Call) -> dict[str, Any]:  # noqa: ARG002 - two sides look at it
        """Return how the data were read, for whoever repeats it; a store that was given as a path by its option."""
        from evalstats.store.manifest import is_store

        given = given_of(self)
        for name in ("paths", "targets"):
            if len(found := given.get(name, ())) == 1 and "store" not in given and is_store(found[0]):
                del given[name]
                given["store"] = Path(found[0])
        return given


@record
class Reading(DataForm):
    """Files, folders or a store; or a table that an engine counts."""

    paths: Paths = ()
    store: Store = None
    trials_from_runs: TrialsFromRuns = False
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None
    engine: Engine = None

    def load(self, call: Call) -> dict[str, Any]:
        """Read all of it: the data, and names that stand for no file."""
        if self.engine is not None:
            return {"data": self.counted(self.paths, call)}
        paths, named = self.paths, dict[str, Any]()
        if self.store is not None and len(paths) == 1 and call.given.get("name", "") is None and not paths[0].exists():
            # `score NAME --store DIR`, as `compare A B --store DIR`
            paths, named = (), {"name": str(paths[0])}
        data = load(
            paths,
            store=self.store,
            where=self.where,
            columns=call.columns(self.map, paths),
            input_format=self.input_format,
            narrow=call.narrow(self.where, single=self.trials_from_runs),
            asked=call.given,
            question=call.question.name,
            full=call.full,
            quiet=call.quiet,
        )
        return {"data": data.trials_from_runs() if self.trials_from_runs else data, **named}

    def counted(self, paths: Sequence[str | Path], call: Call) -> "EvalData":
        """Let an engine count equal rows; the columns that are asked for are kept beside those of the map."""
        if self.store is not None or self.trials_from_runs or self.input_format is not None:
            raise typer.BadParameter(
                "an engine reads one Parquet file, folder or table; leave out --store, --trials-from-runs and --input-format",
                param_hint="--engine",
            )
        columns = column_map(self.map) or (None if call.declared is None else call.declared.columns)
        engine = self.engine or ""
        return scanned(paths, engine, columns=columns, where=self.where, asked=call.given, quiet=call.quiet)


@record
class RowReading(Reading):
    """Data of which single rows are looked at, which an engine merges."""

    engine: Annotated[str | None, Flag("")] = None

    def __post_init__(self) -> None:
        """Refuse an engine before it has counted anything."""
        if self.engine is not None:
            raise typer.BadParameter(
                "this command needs single rows, and an engine merges them into counts; leave it out, and read fewer rows",
                param_hint="--engine",
            )


@record
class Raters(RowReading):
    """Ratings: of a store, or of a table of one's own."""

    raters: Annotated[Sequence[str], Flag("Column with one rater's ratings; may be repeated.", metavar="COLUMN")] = ()

    def load(self, call: Call) -> dict[str, Any]:
        """Read the ratings."""
        data = ratings(
            self.paths,
            store=self.store,
            pairs=self.map,
            raters=self.raters,
            humans=() if (humans := call.given["humans"]) == "human" else humans,
            where=self.where,
            quiet=call.quiet,
        )
        return {"data": data}


@record
class TwoSides(Reading):
    """Two files, two names in a store, or data that hold both sides."""

    paths: Annotated[Sequence[Path], Flag("")] = field(default=(), init=False)
    targets: Annotated[
        Sequence[str], Flag("Two files or folders; two names with --store; or both in one.", metavar="A B | DATA...")
    ] = ()

    def load(self, call: Call) -> dict[str, Any]:
        """Read both sides, under the names that a plan gives them."""
        names = call.given["baseline"], call.given["candidate"]
        if not self.targets and self.store is None:
            raise typer.BadParameter(
                "name two files or folders, two names with --store, or data", param_hint="A B | DATA..."
            )
        if self.engine is not None:
            if None in names:
                raise typer.BadParameter(
                    "an engine reads one table; name two models in it: --baseline A --candidate B",
                    param_hint="--engine",
                )
            # Not a path to Python: FILE.duckdb::TABLE and the name of a table go through as they are.
            data = self.counted(self.targets, call)
        else:
            data, names = two_sides(
                [Path(target) for target in self.targets],
                names,
                {
                    "where": self.where,
                    "columns": call.columns(self.map, self.targets),
                    "input_format": self.input_format,
                    "asked": call.given,
                    "full": call.full,
                    "quiet": call.quiet,
                },
                store=self.store,
                narrow=self._narrow(call),
                trials_from_runs=self.trials_from_runs,
                declared=call.declared,
                gated=call.gated,
            )
        aliases: Mapping[str, str] = call.declared.plan.aliases if call.declared else {}
        return {
            "data": data,
            **dict(zip(("baseline", "candidate"), [aliases.get(name, name) for name in names], strict=True)),
        }

    def _narrow(self, call: Call) -> Narrow | None:
        """Say what of a store is read; sides that a plan's aliases or a factor name are looked for in all of it."""
        given = call.given
        plain = given["contrast"] == "model" and not (call.declared and call.declared.plan.aliases)
        named = self.targets if given["baseline"] is None else (given["baseline"], given["candidate"] or "")
        return call.narrow(
            self.where,
            sides=tuple(named) if plain else (),
            single=given.get("labels") is not None or self.trials_from_runs or bool(given.get("sequential")),
            shared=bool(given["shared_trials"]),
        )

    def typed(self, call: Call) -> dict[str, Any]:
        """Leave two sides of a store to the options that name them."""
        named = call.given["baseline"] is not None
        typed = with_sides(DataForm.typed(self, call), named=named)
        if self.store is not None and not named:
            del typed["targets"]
        return typed


def with_sides(typed: Mapping[str, Any], *, named: bool) -> dict[str, Any]:
    """Tell data that hold both sides, which options name, from two targets that are the sides.

    >>> with_sides({"targets": ("b.csv", "a.csv")}, named=True)
    {'paths': ('b.csv', 'a.csv')}
    """
    return {"paths" if named and name == "targets" else name: value for name, value in typed.items()}


@record
class Ballots(DataForm):
    """Votes: files, folders or a store; a large one is merged as it is read."""

    paths: Annotated[Sequence[Path], Flag("Votes: files, folders, or a store.", metavar="PATHS")] = ()
    store: Store = None
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None
    engine: Engine = None

    def load(self, call: Call) -> dict[str, Any]:
        """Read the votes."""
        columns = call.columns(self.map, self.paths)
        single = bool(self.where or columns or self.input_format)
        merged = None
        if self.engine is not None:
            merged = self._on_engine(single=single or self.store is not None)
        elif not single and all(call.given[name] in (None, False, [], ()) for name in _OF_SINGLE_VOTES):
            merged = _large_votes([*([self.store] if self.store else []), *self.paths], quiet=call.quiet)
        if merged is not None:
            return {"battles": merged}
        data = load(
            self.paths,
            store=self.store,
            columns=columns,
            input_format=self.input_format,
            question=call.question.name,
            full=call.full,
            quiet=call.quiet,
        )
        return {"battles": with_votes_of(data, self.where)}

    def _on_engine(self, *, single: bool) -> object:
        """Return the votes of one table as a lazy frame of the engine that counts them."""
        from evalstats.loaders.engines import lazy_table

        if single or len(self.paths) != 1:
            raise InputError(
                "an engine merges the votes of one table with the columns model_a, model_b and winner (or outcome): give one "
                "Parquet file, folder or table, and leave out --store, --where, --map and --input-format"
            )
        return lazy_table(str(self.paths[0]), self.engine)


# What needs single votes, which are not merged then.
_OF_SINGLE_VOTES = ("covariates", "by", "models", "side", "labels", "without_suspects")


def _large_votes(paths: Sequence[Path], *, quiet: bool) -> "pl.LazyFrame | None":
    """Return the votes of one large Parquet file or store, to be merged without being held; None for anything else."""
    from evalstats.cli.output import say
    from evalstats.loaders.frames import scan_votes
    from evalstats.store.manifest import is_store

    stored = len(paths) == 1 and is_store(paths[0])
    found = _stored_votes(paths[0], quiet=quiet) if stored else scan_votes(paths)
    if found is not None:
        say(f"{paths[0]}: large, so votes are merged as they are read; checks of single votes are skipped", quiet=quiet)
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


@record
class TwoSettings(DataForm):
    """The lab and the live world: two sides, or data that say which is which."""

    paths: Annotated[
        Sequence[Path],
        Flag(
            "Results of both sides, with a column setting (lab, live); or use --lab and --live.",
            metavar="DATA",
        ),
    ] = ()
    lab: Annotated[Sequence[Path], Flag("Results of the lab; may be repeated.", metavar="PATH")] = ()
    live: Annotated[Sequence[Path], Flag("Live outcomes, votes or a table; may be repeated.", metavar="PATH")] = ()
    near_names: Annotated[
        Path | None,
        Flag("Write similar names to an alias file, to check and pass to --aliases.", metavar="FILE.toml"),
    ] = None
    lab_where: Annotated[
        Sequence[str], Flag("Keep lab rows with COLUMN=LEVEL; may be repeated.", metavar="COLUMN=LEVEL")
    ] = ()
    live_where: Annotated[Sequence[str], Flag("Keep such live rows; may be repeated.", metavar="COLUMN=LEVEL")] = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None

    def load(self, call: Call) -> dict[str, Any]:
        """Read both sides, or what holds both."""
        lab, live = self.lab, self.live
        if bool(self.paths) == bool(lab or live) or bool(lab) != bool(live):
            found = [name for name, given in (("DATA", self.paths), ("--lab", lab), ("--live", live)) if given]
            raise InputError(
                f"two sides are needed, found {' and '.join(found) or 'nothing'}; use one of: gap --lab PATH --live PATH; "
                "gap DATA, where its column setting says lab or live"
            )
        if self.near_names is not None and self.near_names.suffix != ".toml":
            raise InputError(f"--near-names {self.near_names}: aliases are written as TOML; end its name in .toml")
        if self.paths and (self.lab_where or self.live_where):
            raise InputError(
                "--lab-where and --live-where go with --lab and --live; DATA is split by its column setting"
            )
        sides = [(lab, self.lab_where), (live, self.live_where)] if lab else [(self.paths, ())]
        read = [
            load(
                files,
                where=where,
                columns=call.columns(self.map, files),
                input_format=self.input_format,
                full=call.full,
                quiet=call.quiet,
            )
            for files, where in sides
        ]
        if self.near_names is not None:
            _write_near_names(self.near_names, read, call.given["aliases"])
        return dict(zip(("lab", "live"), read, strict=False))

    def typed(self, call: Call) -> dict[str, Any]:
        """Leave out the file that was written."""
        return {name: value for name, value in DataForm.typed(self, call).items() if name != "near_names"}


def _write_near_names(path: Path, sides: "Sequence[EvalData]", aliases: Mapping[str, str] | None) -> None:
    """Write names of both sides that look alike as an alias file, for somebody to check and give with --aliases."""
    from evalstats.analysis.gap.model_names import ALIKE, match_models
    from evalstats.analysis.gap.side_scores import by_setting
    from evalstats.cli.output import write_atomically

    lab, live = by_setting(sides[0]) if len(sides) == 1 else sides
    found = match_models(_model_names(lab), _model_names(live), dict(aliases or {}))
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


def _model_names(data: "EvalData") -> list[str]:
    """Return the names of all models of one side."""
    if data.outcomes.height:
        found = data.outcomes["system"]
    elif data.comparisons.height:
        found = data.comparisons["model_a"].append(data.comparisons["model_b"].rename("model_a"))
    else:
        found = data.aggregates["model"]
    names: list[str] = found.drop_nulls().unique().sort().to_list()
    return names


@record
class Pilot(DataForm):
    """A pilot, where there is one."""

    from_: Annotated[
        Sequence[Path],
        Flag("Pilot: result files, folders or a store; may be repeated.", "--from", metavar="PATH"),
    ] = ()
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None

    def load(self, call: Call) -> dict[str, Any]:
        """Read the pilot; nothing where no file is named."""
        if self.from_:
            columns = column_map(self.map)
            options: dict[str, Any] = {"where": self.where, "input_format": self.input_format, "quiet": call.quiet}
            return {"pilot": load(self.from_, columns=columns, **options)}
        if self.where or self.map or self.input_format:
            raise InputError("--where, --map and --input-format read a pilot; name its files with --from")
        return {}


FORMS: Mapping[Form, type[DataForm]] = {
    "scores": Reading,
    "rows": RowReading,
    "sides": TwoSides,
    "votes": Ballots,
    "lab and live": TwoSettings,
    "ratings": Raters,
    "pilot": Pilot,
}
