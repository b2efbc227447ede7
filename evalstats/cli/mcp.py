"""`evalstats mcp`: the questions as tools for an agent (Model Context Protocol), about the results in one folder.

A tool is a question; what it takes are the options of its function and those that say how its command reads data, less what
writes or opens a database. Nothing is written, and no path leaves the folder, not by a link either.
"""

import inspect
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from traceback import print_exc
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evalstats.cli.advice import on_the_shell
from evalstats.cli.command import Showing, read_as
from evalstats.cli.load import declared_plan, problem_lines
from evalstats.cli.options import Command
from evalstats.cli.output import json_text
from evalstats.cli.question import answer, noted
from evalstats.cli.reading import FORMS, Call, with_sides
from evalstats.cli.values import SHIPPED_MIX, read_values
from evalstats.errors import EvalStatsError, InputError
from evalstats.grammar import and_list, comma_list, is_are
from evalstats.options import OF_FILES, Offered, offered
from evalstats.questions import QUESTIONS, Question, signature_of

if TYPE_CHECKING:
    from mcp.server import Server
    from pydantic import BaseModel

# A store is given as a path; an engine opens databases, and similar names are written to a file.
_NOT_OFFERED = ("store", "engine", "near_names")
# Texts that may be paths.
_PATHS = ("map", "mix", "targets")
_PLAN = "evalstats.toml"
_LISTED = 30


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp", cls=Command)(serve)


def serve(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Results that may be read; nothing else is.")],
) -> None:
    """Let an agent ask about a folder (Model Context Protocol)."""
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError as error:
        raise InputError(f"the server needs the package mcp ({error}); install evalstats-toolkit[mcp]") from error
    server = server_of(folder)
    closed = [name for name in ("stdin", "stdout") if getattr(sys, name) is None]
    if closed:
        raise InputError(
            f"the server answers on standard input and output, and {and_list(closed)} {is_are(len(closed))} closed; let the "
            "agent's client start it"
        )

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        anyio.run(run)
    except ExceptionGroup as group:  # of the tasks that read and write; a pipe that closes is no fault of ours
        first: Exception = group
        while isinstance(first, ExceptionGroup):
            first = cast("Any", first).exceptions[0]
        raise first from None


def server_of(folder: Path) -> "Server[Any]":
    """Return the server of a folder, to be run on any transport.

    InputError if it is none.
    """
    from anyio import CapacityLimiter, to_thread
    from mcp import types
    from mcp.server import Server

    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; name the one whose results may be read")
    root = Path(os.path.realpath(folder))
    one_at_a_time = CapacityLimiter(1)
    read_only = types.ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    tools = [
        types.Tool(
            name=each.name,
            description=" ".join(filter(None, (each.asks, each.more))),
            input_schema=_schema(each),
            annotations=read_only,
        )
        for each in QUESTIONS.values()
    ]

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(_context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        def told() -> types.CallToolResult:
            failed, text = _told(root, params.name, params.arguments or {})
            # Where the folder lies is nothing that an agent could use.
            text = text.replace(f"{root}{os.sep}", "").replace(str(root), "the folder")
            return types.CallToolResult(content=[types.TextContent(text=text)], is_error=failed)

        return await to_thread.run_sync(told, limiter=one_at_a_time)

    return Server(
        "evalstats",
        instructions="Statistics of evaluation results. Paths are relative to a folder; a store is given as a path, too, "
        "and its systems as baseline and candidate. Where an answer names an option, such as --conf-level, give the argument "
        f"conf_level. The folder holds {_listed(root)}.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@cache
def arguments_of(name: str) -> "type[BaseModel]":
    """Return what the tool of a question takes."""
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {
        _key(each): (read_as(each), Field(... if each.needed else None, description=each.flag.help))
        for each in (*_of_data(QUESTIONS[name]), *offered(signature_of(name)))
    }
    return create_model(name, __config__=ConfigDict(extra="forbid", coerce_numbers_to_str=True), **fields)


@cache
def _schema(question: Question) -> dict[str, Any]:
    """Return what a tool takes as JSON Schema, without titles and defaults: an agent reads it before every task."""
    schema = arguments_of(question.name).model_json_schema()
    properties = {
        name: {key: value for key, value in each.items() if key not in ("title", "default")}
        for name, each in schema["properties"].items()
    }
    return {**schema, "properties": properties}


def _key(each: Offered) -> str:
    return each.name.strip("_")


def _of_data(question: Question) -> Iterator[Offered]:
    """Yield the options that say which data are read."""
    own = offered(inspect.signature(FORMS[question.form]))
    return (each for each in own if each.name not in _NOT_OFFERED and each.flag.help)


def _told(root: Path, name: str, arguments: Mapping[str, Any]) -> tuple[bool, str]:
    """Return whether a call failed, and what the agent is told."""
    from pydantic import ValidationError

    if name not in QUESTIONS:
        return True, f"there is no tool {name!r}; there are {', '.join(QUESTIONS)}"
    try:
        with on_the_shell():  # what is read here is given as to a command
            return False, _answer(root, QUESTIONS[name], arguments)
    except ValidationError as error:
        wrong = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        return True, f"{comma_list(wrong, 5, '; ')}. {name} takes {', '.join(arguments_of(name).model_fields)}"
    except typer.BadParameter as error:
        return True, error.format_message()
    except (EvalStatsError, OSError) as error:
        return True, str(error)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of polars is no Exception; the server goes on
        print_exc(file=sys.stderr)
        return True, f"a fault of evalstats ({type(error).__name__}); nothing was answered"


def _answer(root: Path, question: Question, arguments: Mapping[str, Any]) -> str:
    """Answer in short, with what was met while reading."""
    stated = {name: value for name, value in arguments.items() if value is not None}
    given = arguments_of(question.name)(**stated).model_dump(exclude_unset=True)
    options = list(offered(signature_of(question.name)))
    data_options = list(_of_data(question))
    values, reading = (
        {each.name: _confined(each, given[_key(each)], root) if _key(each) in given else each.default for each in some}
        for some in (options, data_options)
    )
    plan = root / _PLAN
    planned = "plan" in signature_of(question.name).parameters and plan.is_file()
    call = Call(
        question=question,
        given=read_values(options, values),
        declared=declared_plan(inside(root, plan), wanted=True, quiet=True) if planned else None,
        quiet=True,
    )
    result, data = answer(call, FORMS[question.form](**reading), options, Showing(quiet=True))
    # As they were given, since what to ask next names the files as the agent does.
    of_files = [*data_options, *(each for each in options if each.flag.reads in OF_FILES or each.needed)]
    as_given = {each.name: given[_key(each)] for each in of_files if _key(each) in given}
    result = noted(question, result, with_sides(as_given, named="baseline" in given))
    met = [line for each in data for line in problem_lines(each.problems)]
    return json_text({**result.brief(), **({"reading": met[:5]} if met else {})}, indent=None)


def _confined(option: Offered, value: Any, root: Path) -> Any:
    """Return a value as a command has it, its paths within the folder."""
    if isinstance(value, list):
        return tuple(_confined(option, each, root) for each in cast("list[object]", value))
    # NAME=COLUMN or a file of such; the mix that ships or a file.
    words = (option.name == "map" and "=" in str(value)) or (option.name == "mix" and value == SHIPPED_MIX)
    if words or not (option.name in _PATHS or read_as(option) in (Path, list[Path])):
        return value
    path = inside(root, value)
    if option.flag.reads == "labels":
        from evalstats.exporters.label_sheet import key_path

        if key_path(path).exists():
            inside(root, key_path(path))
    return path if isinstance(value, Path) else str(path)


def inside(root: Path, path: str | Path) -> Path:
    """Return a path within the folder, without links; a link in it, or in a folder that it names, may lead nowhere else.

    InputError if there is no such file, or it leaves the folder.
    """
    try:
        found = Path(os.path.realpath(root / path, strict=True))
    except (OSError, ValueError):
        found = None
    if found is None or not found.is_relative_to(root):
        # Whether there is such a file elsewhere is not told.
        raise InputError(f"{path}: there is no such file in this folder; it holds {_listed(root)}")
    waiting, seen = [found], set[Path]()
    while waiting:
        folder = Path(os.path.realpath(waiting.pop()))
        if not folder.is_relative_to(root):
            raise InputError(f"{path}: a link in it leads out of the folder; name files without it")
        if folder.is_dir() and folder not in seen:
            seen.add(folder)
            with os.scandir(folder) as entries:
                waiting += [Path(each) for each in entries if each.is_symlink() or each.is_dir(follow_symlinks=False)]
    return found


def _listed(root: Path) -> str:
    return comma_list(sorted(each.name for each in root.iterdir() if not each.name.startswith(".")), _LISTED)
