"""Entry point of `evalstats`: the commands, and what each kind of error becomes.

Exit status: 0 success, 1 a gate failed, 2 bad usage or bad input, 3 the data cannot answer the question, 70 a fault of ours.
"""

import io
import os
import signal
import sys
import warnings
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from traceback import format_exception
from typing import Annotated, Any, NoReturn, cast

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from evalstats.cli.advice import on_the_shell
from evalstats.cli.options import read_here
from evalstats.document.escape import wrapped
from evalstats.errors import OUR_FAULT, EvalStatsError, EvalStatsWarning
from evalstats.questions import QUESTIONS

_SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 80},
}
# The sections of the help: the questions, then modules of which each registers a command of its name.
_SECTIONS: dict[str, tuple[str, ...]] = {
    "Questions": tuple(QUESTIONS),
    "Items and runs": ("evalstats.cli.flips", "evalstats.cli.run", "evalstats.cli.label"),
    "Data": (
        "evalstats.cli.ingest",
        "evalstats.cli.store",
        "evalstats.cli.formats",
        "evalstats.cli.export",
        "evalstats.cli.simulate",
    ),
    "Pages": ("evalstats.cli.report", "evalstats.cli.show", "evalstats.cli.schema"),
    "First steps": ("evalstats.cli.demo", "evalstats.cli.doctor"),
    "Agents": ("evalstats.cli.mcp",),
}
_PLACES = {place.rpartition(".")[2]: place for places in _SECTIONS.values() for place in places}
COMMANDS = tuple(_PLACES)


class _Commands(Mapping[str, TyperCommand]):
    """The commands by name, each made when it is asked for: all of them are a tenth of a short answer."""

    def __getitem__(self, name: str) -> TyperCommand:
        if name not in COMMANDS:
            raise KeyError(name)
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


@cache
def _command(name: str) -> TyperCommand:
    alone = typer.Typer(add_completion=False, **_SETTINGS)
    if name in QUESTIONS:
        from evalstats.cli.question import register

        register(QUESTIONS[name], alone)
    else:
        import_module(_PLACES[name]).register(alone)
    return cast("TyperCommand", get_command(alone))


class _Group(TyperGroup):
    """All commands, none of them imported yet."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, read as those of the commands are."""
        return read_here(super().get_params(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the names are known without it
        """Write the commands section by section."""
        width = max(map(len, COMMANDS))
        for section, places in _SECTIONS.items():
            names = [place.rpartition(".")[2] for place in places]
            with formatter.section(section):
                formatter.write_dl(
                    [
                        (f"{name:{width}}", _command(name).get_short_help_str(formatter.width - 6 - width))
                        for name in names
                    ]
                )


app = typer.Typer(
    cls=_Group,
    name="evalstats",
    no_args_is_help=True,
    epilog=(
        "Exit status: 0 success, 1 a gate (--fail-on) failed, 2 bad usage or bad input, 3 the data cannot answer, "
        "70 a bug in evalstats."
    ),
    **_SETTINGS,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"evalstats {version('evalstats-toolkit')}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - its callback does the work
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and stop.")
    ] = False,
) -> None:
    """Turn LLM-evaluation results into defensible conclusions."""
    context.with_resource(on_the_shell())


_SIGNALS = ("SIGTERM", "SIGHUP")


def main() -> None:
    """Run the command line and exit with its status."""
    _end_well_when_told_to()
    for stream in (sys.stdout, sys.stderr):  # a letter that a narrow encoding lacks is shown as an escape
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        with _warned_in_words():
            app()
    except SystemExit:
        # typer takes a closed pipe for a failure; it leaves this wrapper behind.
        if type(sys.stdout).__name__ == "PacifyFlushWrapper":
            _leave_quietly()
        raise
    except EvalStatsError as error:
        print("\n".join(wrapped(f"error: {error}", 80)), file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except BrokenPipeError:
        _leave_quietly()
    except OSError as error:
        print(
            "\n".join(wrapped(f"error: {error.filename or 'output'}: {error.strerror or error}", 80)), file=sys.stderr
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None
    except BaseException as error:  # noqa: BLE001 - a panic of polars is no Exception; none may end with a status of an answer
        _admit(error)


def _admit(error: BaseException) -> NoReturn:
    """Show a fault of ours with its traceback, and end with a status of its own."""
    if isinstance(error, MemoryError):
        told = "error: not enough memory for these data; give fewer files at once, or ingest them into a store first"
    else:
        print("".join(format_exception(error)), end="", file=sys.stderr)
        told = (
            f"error: a fault of evalstats ({type(error).__name__}); nothing was answered. "
            "Please report it with the lines above, and with the file that it fails on"
        )
    print("\n".join(wrapped(told, 80)), file=sys.stderr)
    raise SystemExit(OUR_FAULT) from None


def _end_well_when_told_to() -> None:
    """Let `kill` and a closed terminal unwind what runs, so that nothing half written stays behind."""

    def stop(number: int, _frame: object) -> NoReturn:
        print("stopped", file=sys.stderr)
        raise SystemExit(128 + number)

    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)


@contextmanager
def _warned_in_words() -> Generator[None]:
    """Show warnings of ours as notes; Python would put our own file and line before them, and our code behind."""
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            if issubclass(category, EvalStatsWarning):
                print("\n".join(wrapped(f"note: {message}", 80)), file=sys.stderr)
            else:
                others(message, category, *where, **more)

        warnings.showwarning = show
        yield


def _leave_quietly() -> NoReturn:
    """End well where the reader has gone (`evalstats ... | head`), and keep Python from complaining when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    raise SystemExit(0) from None


if __name__ == "__main__":
    main()
