"""A command made from declared options: of a function's signature, and of dataclasses that say how to read and show."""

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from importlib.util import LazyLoader, find_spec, module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperArgument

from evalstats.cli.options import Command, OutputStyle
from evalstats.options import OF_FILES, Flag, Offered, offered
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.analysis.result import Result

_METAVARS: Mapping[Any, str] = {str: "TEXT", int: "N", float: "NUMBER", Path: "PATH"}


# Options that say what is asked: of two values, the last would be answered and the first dropped without a word.
_ASKED_ONCE = ("metric", "baseline", "candidate")


# The sections of the help, in this order.
_SECTIONS = ("Question", "Data", "Design", "Gate", "Output")


class DeclaredCommand(Command):
    """A command made of declared options: its help is in sections, and it takes one metric, baseline or candidate."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options section by section, in the order of use."""
        records: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            if record := each.get_help_record(ctx):
                argument = isinstance(each, TyperArgument)
                section = "Arguments" if argument else getattr(each, "rich_help_panel", None) or _SECTIONS[-1]
                records.setdefault(section, []).append(record)
        for section in ("Arguments", *_SECTIONS):
            if section in records:
                with formatter.section(section):
                    formatter.write_dl(records[section])

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


@record
class Showing:
    """How a result is shown."""

    format: Annotated[OutputStyle, Flag("How to print the result.", "--format -f")] = OutputStyle.TEXT
    output: Annotated[Path | None, Flag("Write to this file instead of the screen.", "--output -o")] = None
    report: Annotated[
        Sequence[Path],
        Flag("Also write the result as a page: FILE.html or FILE.pdf; may be repeated.", metavar="FILE"),
    ] = ()
    full: Annotated[bool, Flag("Print all evidence, the method and every note.")] = False
    explain: Annotated[bool, Flag("Also explain the method and its assumptions in plain words.")] = False
    quiet: Annotated[bool, Flag("Print the headline only.", "--quiet -q")] = False
    no_color: Annotated[bool, Flag("Never colour the output.")] = False
    comment_key: Annotated[str, Flag("With --format comment: what tells it from other comments.", metavar="KEY")] = ""

    def __post_init__(self) -> None:
        """Refuse a page that cannot be made or put there before anything is computed."""
        if self.report:
            from evalstats.report.render import output_path

            for page in self.report:
                output_path(page, "page")

    def present(
        self,
        result: "Result",
        *,
        page: "Result | None" = None,
        more: Mapping[str, object] | None = None,
        hint: str = "",
    ) -> None:
        """Print or write the result, with `more` in JSON, and render it, or `page` in its stead, where pages are wanted.

        `hint` says what else there is, if not the usual.
        """
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
            key=self.comment_key,
            **({"hint": hint} if hint else {}),
        )
        if self.output is None:
            print(text)
        else:
            write_atomically(self.output, text + "\n")
            say(f"written: {self.output}", quiet=self.quiet)
        if self.report:
            from evalstats.report.render import render_results

            with step_line(quiet=self.quiet) as on_step:
                made = render_results(page or result, self.report, on_step=on_step)
            for each in made:
                say(f"rendered: {each.path} ({each.engine} engine)", quiet=self.quiet)


def given_of(part: Any) -> dict[str, Any]:
    """Return the options of a dataclass that differ from their defaults."""
    return {each.name: value for each in fields(part) if (value := getattr(part, each.name)) != each.default}


def add_command(
    app: typer.Typer,
    name: str,
    run: Callable[..., None],
    *parts: type,
    options: Iterable[Offered] = (),
    help: str = "",
    gate: str = "",
) -> None:
    """Add a command whose flags are the fields of dataclasses, and options of a question after those of the first.

    `run` is called with one object of each, and with the options as they were typed, by name; its docstring is the help unless
    another is given. A field called `paths` or `targets` is an argument, all others are options.
    """
    own = {part: list(offered(inspect.signature(part))) for part in parts}
    asked = list(options)

    def command(**values: Any) -> None:
        _put_off("numpy.f2py", "numpy.testing", "numpy.ma", "numpy.polynomial")
        typed = {each.name: _back(each, values[each.name]) for each in asked}
        try:
            made = [part(**{each.name: _back(each, values[each.name]) for each in own[part]}) for part in parts]
            run(*made, **({"typed": typed} if asked else {}))
        except (
            EOFError
        ) as error:  # typer takes it for a user who leaves, and its status for that is 1: a gate that failed
            raise RuntimeError("a file ended where more was expected") from error

    if gate:
        own = {part: [_gated(each, gate) for each in each_own] for part, each_own in own.items()}
    first, *others = parts
    parameters = [
        *(_parameter(each, "Data") for each in own[first]),
        *(_parameter(each, "Question") for each in asked),
        *(_parameter(each, "Output") for part in others for each in own[part]),
    ]
    untyped: Any = command
    untyped.__signature__ = inspect.Signature(parameters)
    untyped.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app.command(name, cls=DeclaredCommand, help=help or inspect.getdoc(run))(command)


def _gated(each: Offered, gate: str) -> Offered:
    return replace(each, flag=replace(each.flag, help=gate)) if each.name == "fail_on" else each


def _put_off(*modules: str) -> None:
    """Import modules of a package only once something of them is used.

    scipy.special asks for all that numpy has, as far as its compiler of Fortran and its unittest: a tenth of a short answer.
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


def _parameter(each: Offered, section: str) -> inspect.Parameter:
    """Return a parameter as typer reads it, in a section of the help: lists for several values, None for what was not given."""
    kind = read_as(each)
    element: Any = next(iter(get_args(kind)), kind) if get_origin(kind) is list else kind
    told: dict[str, Any] = {"help": each.flag.help, "show_default": each.default not in (None, (), False)}
    if metavar := each.flag.metavar or _METAVARS.get(element):
        told["metavar"] = metavar
    if each.name in ("paths", "targets"):
        info: Any = typer.Argument(**told)
    else:
        info = typer.Option(
            *each.flags, hidden=not each.flag.help, rich_help_panel=each.flag.section or section, **told
        )
    default = each.default
    if element is not kind:
        default = [default] if isinstance(default, str) else [element(value) for value in default or ()] or None
    annotation = Annotated[kind if default is not None else kind | None, info]
    return inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def read_as(each: Offered) -> Any:
    """Return the type as typer reads it: text wherever more than one type is taken, or the text is read later."""
    if each.flag.reads in OF_FILES:
        return str if each.flag.reads == "mix" else Path
    if each.several:
        (element, *_) = [get_args(kind)[0] for kind in each.kinds if get_origin(kind) is Sequence] or [str]
        return list[str] if element is int else list[element]
    kind, *others = each.kinds
    return str if each.flag.reads or others else kind


def _back(each: Offered, value: Any) -> Any:
    """Return what typer gave, several values as a tuple; the default where none was given."""
    if get_origin(read_as(each)) is not list:
        return value
    untouched = [each.default] if isinstance(each.default, str) else [*map(str, each.default or ())]
    return each.default if not value or value == untouched else tuple(value)
