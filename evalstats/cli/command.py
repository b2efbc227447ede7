"""Commands made of the options of a question: declared once, in the analysis, they become flags here."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

import typer

from evalstats.analysis.options import Offered, Option, offered
from evalstats.cli.options import Command, Format

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.cli.load import Declared, Narrow
    from evalstats.schema.data import EvalData


Asked = TypeVar("Asked")
Told = TypeVar("Told")
_METAVARS: Mapping[Any, str] = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}
Where = Annotated[tuple[str, ...], Option("Keep rows with COLUMN=LEVEL; may be repeated.", metavar="COLUMN=LEVEL")]
ColumnMaps = Annotated[
    tuple[str, ...],
    Option(
        "For a table or votes of your own: STANDARD=COLUMN, score=COLUMN:lower, scale=1..5, unscored=-1, rows=PATH inside "
        "JSON, or a TOML file; may be repeated."
    ),
]
Engine = Annotated[
    str | None,
    Option(
        "For tables too large to hold: polars, duckdb or spark counts equal rows of a Parquet file (or a table of a database).",
        metavar="ENGINE",
    ),
]
InputFormat = Annotated[str | None, Option("Format of the files, if detection should be passed by.")]


# The status of a command whose data cannot answer the question.
CANNOT_ANSWER = 3


# Options that say what is asked: of two values, the last would be answered and the first dropped without a word.
_ASKED_ONCE = ("metric", "baseline", "candidate")


class AskedOnce(Command):
    """A command that refuses two metrics, baselines or candidates where it takes one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, after a count of the options that say what is asked."""
        if args and not ctx.resilient_parsing:
            given: list[Any] = self.make_parser(ctx).parse_args(list(args))[2]
            for each in given:
                once = each.name in _ASKED_ONCE and not getattr(each, "multiple", False)
                if once and (times := given.count(each)) > 1:
                    more = ", or name several with commas: A,B" if "A,B" in (getattr(each, "help", "") or "") else ""
                    raise typer.BadParameter(
                        f"given {times} times, and it takes one; run the command once for each{more}",
                        ctx=ctx,
                        param=each,
                    )
        return super().parse_args(ctx, args)


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What was declared before looking."""

    plan: Annotated[Path | None, Option("Declared plan; default: evalstats.toml in this folder.", metavar="FILE")] = (
        None
    )
    no_plan: Annotated[bool, Option("Do not look for evalstats.toml.", ("--no-plan",))] = False

    def declared(self, *, quiet: bool = False) -> "Declared | None":
        """Read the plan, where there is one."""
        from evalstats.cli.load import declared_plan

        return declared_plan(self.plan, wanted=not self.no_plan, quiet=quiet)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Where the data of a command come from."""

    paths: Annotated[tuple[Path, ...], Option("Result files, folders, or a store.", metavar="PATHS")] = ()
    store: Annotated[Path | None, Option("Folder of ingested results to read from.", metavar="DIR")] = None
    trials_from_runs: Annotated[
        bool, Option("Take several runs of one system (seeds) as trials of its items.", ("--trials-from-runs",))
    ] = False
    where: Where = ()
    map: ColumnMaps = ()
    input_format: InputFormat = None
    engine: Engine = None

    def load(
        self,
        declared: "Declared | None" = None,
        *,
        quiet: bool = False,
        asked: object = None,
        narrow: "Narrow | None" = None,
    ) -> "EvalData":
        """Read all of it, plain tables by the columns that a plan declares where none are given.

        On an engine, columns that `asked` names (clusters, scenarios) are kept beside those of the map. Of a store `narrow`
        says what is read.
        """
        from evalstats.cli.load import column_map, columns_for, load, scanned

        if self.engine is not None:
            self._refuse_beside_engine()
            columns = column_map(self.map) or (None if declared is None else declared.columns)
            return scanned(self.paths, self.engine, columns=columns, where=self.where, asked=asked, quiet=quiet)

        data = load(
            self.paths,
            store=self.store,
            where=self.where,
            columns=column_map(self.map) or columns_for(declared, self.paths),
            input_format=self.input_format,
            narrow=narrow,
            quiet=quiet,
        )
        return data.trials_from_runs() if self.trials_from_runs else data

    def _refuse_beside_engine(self) -> None:
        if self.store is not None or self.trials_from_runs or self.input_format is not None:
            raise typer.BadParameter(
                "an engine reads one Parquet file, folder or table; leave out --store, --trials-from-runs and --input-format",
                param_hint="--engine",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class RowReading(Reading):
    """Where the data of a command come from that looks at single rows, which an engine merges."""

    engine: Annotated[str | None, Option(unlisted=True)] = None

    def __post_init__(self) -> None:
        """Refuse an engine before it has counted anything."""
        if self.engine is not None:
            raise typer.BadParameter(
                "this command needs single rows, and an engine merges them into counts; leave it out, and read fewer rows",
                param_hint="--engine",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """How a result is shown."""

    format: Annotated[Format, Option("How to print the result.", ("--format", "-f"))] = Format.TEXT
    output: Annotated[Path | None, Option("Write to this file instead of the screen.", ("--output", "-o"))] = None
    report: Annotated[
        tuple[Path, ...],
        Option("Also render this very result as a page: FILE.html or FILE.pdf; may be repeated.", metavar="FILE"),
    ] = ()
    full: Annotated[bool, Option("Print all evidence, the method and every note.", ("--full",))] = False
    explain: Annotated[
        bool, Option("Also say in plain words how it was reached and what it assumes.", ("--explain",))
    ] = False
    quiet: Annotated[bool, Option("Print the answer alone.", ("--quiet", "-q"))] = False
    no_color: Annotated[bool, Option("Never colour the output.", ("--no-color",))] = False

    def __post_init__(self) -> None:
        """Refuse a page that cannot be made or put there before anything is computed."""
        if self.report:
            from evalstats.report.render import output_path

            for page in self.report:
                output_path(page, "page")

    def present(self, result: "Result", *, more: Mapping[str, object] | None = None) -> None:
        """Print or write the result, with `more` in JSON, and render it where pages are wanted."""
        from evalstats.cli.output import may_color, say, step_line, write_atomically, written

        to_screen = self.output is None
        text = written(
            result,
            style=self.format,
            full=self.full,
            explain=self.explain,
            quiet=self.quiet and to_screen,
            color=to_screen and may_color(no_color=self.no_color),
            more=more,
        )
        if self.output is None:
            print(text)
        else:
            write_atomically(self.output, text + "\n")
            say(f"written: {self.output}", quiet=self.quiet)
        if self.report:
            from evalstats.report.render import render_results

            with step_line(quiet=self.quiet) as on_step:
                made = render_results(result, self.report, on_step=on_step)
            for page in made:
                say(f"rendered: {page.path} ({page.engine} engine)", quiet=self.quiet)


def noted(result: "Told", *parts: object) -> "Told":
    """Let a result say how its command read the data; `parts` are its options but for those of the question."""
    from evalstats.analysis.settings import asked_on_shell

    return asked_on_shell(result, *(_by_store(part) for part in parts))


def _by_store(part: Any) -> Any:
    """Name a store that was given as a path by its option."""
    from evalstats.store.manifest import is_store

    name = next((name for name in ("paths", "targets") if getattr(part, name, ())), None)
    paths = getattr(part, name) if name else ()
    if name and len(paths) == 1 and getattr(part, "store", ...) is None and is_store(paths[0]):
        return replace(part, **{name: (), "store": Path(paths[0])})
    return part


def add_command(app: typer.Typer, name: str, run: Callable[..., None], *parts: type) -> None:
    """Add a command whose flags are the fields of several dataclasses; `run` is called with one object of each.

    The docstring of `run` is the help; a field called `paths` or `targets` is an argument, all others are options.
    """

    def command(**values: Any) -> None:
        _put_off("numpy.f2py", "numpy.testing")
        try:
            run(*(part(**{each.name: _back(each, values[each.name]) for each in _shown(part)}) for part in parts))
        except (
            EOFError
        ) as error:  # typer takes it for a user who leaves, and its status for that is 1: a gate that failed
            raise RuntimeError("a file ended where more was expected") from error

    parameters = [_parameter(each) for part in parts for each in _shown(part)]
    untyped: Any = command
    untyped.__signature__ = inspect.Signature(parameters)
    untyped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app.command(name, cls=AskedOnce, help=inspect.getdoc(run))(command)


def _put_off(*modules: str) -> None:
    """Import modules of a package only once something of them is used.

    scipy.special asks for all that numpy has, as far as its compiler of Fortran and its unittest: a twentieth of a short answer.
    """
    for name in modules:
        spec = find_spec(name)
        if name in sys.modules or spec is None or spec.loader is None:
            continue
        spec.loader = LazyLoader(spec.loader)
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[name] = module
        package, _, own = name.rpartition(".")
        setattr(sys.modules[package], own, module)


def with_names(asked: Asked, data: "EvalData") -> Asked:
    """Return options in which A,B,C is split at its commas, except where the whole is itself a name of the data."""
    from evalstats.cli.load import names_of

    split: Mapping[str, tuple[str, ...]] = {
        each.name: tuple(names_of(getattr(asked, each.name), data) or ())
        for each in offered(type(asked))
        if each.option.names and getattr(asked, each.name)
    }
    untyped: Any = asked
    return replace(untyped, **split)


def _shown(part: type) -> list[Offered]:
    return [each for each in offered(part) if not each.option.hidden]


def _parameter(each: Offered) -> inspect.Parameter:
    """Return a parameter as typer reads it: lists for tuples, None for what was not given."""
    kind, several = _plain(each.type)
    told: dict[str, Any] = {"help": each.option.help, "show_default": each.default not in (None, (), False)}
    metavar = each.option.metavar or _METAVARS.get(get_args(kind)[0] if several else kind)
    if metavar:
        told["metavar"] = metavar
    if each.name in ("paths", "targets"):
        info: Any = typer.Argument(**told)
    else:
        flags: Sequence[str] = each.option.flags or (f"--{each.name.strip('_').replace('_', '-')}",)
        info = typer.Option(*flags, hidden=each.option.unlisted, **told)
    default = None if several and not each.default else list(each.default) if several else each.default
    annotation = Annotated[kind if default is not None else kind | None, info]
    return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _plain(kind: Any) -> tuple[Any, bool]:
    """Return the type as typer knows it, without None, and whether it is a list."""
    if get_origin(kind) in (Union, UnionType):
        (kind,) = (part for part in get_args(kind) if part is not NoneType)
    if get_origin(kind) is tuple:
        return list[get_args(kind)[0]], True
    return kind, False


def _back(each: Offered, value: Any) -> Any:
    """Return what typer gave as the field has it."""
    _, several = _plain(each.type)
    if several:
        return tuple(value) if value else each.default
    return value
