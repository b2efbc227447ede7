"""Entry point of `evalstats`: the commands, and what each kind of error becomes.

Exit status: 0 done, 1 a gate failed, 2 bad usage or bad input, 3 the data cannot answer the question.
"""

import io
import os
import sys
from typing import Annotated, NoReturn

import typer

from evalstats.cli import (
    arena,
    audit,
    compare,
    contamination,
    demo,
    doctor,
    export,
    formats,
    frontier,
    gap,
    ingest,
    judges,
    leaderboard,
    overview,
    power,
    report,
    scenarios,
    score,
    show,
    simulate,
    store,
)
from evalstats.document.width import wrapped
from evalstats.errors import EvalStatsError, on_the_shell

app = typer.Typer(
    name="evalstats",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
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
    """Turn LLM-evaluation results into conclusions one can defend."""
    context.with_resource(on_the_shell())


# In the order of their use: the questions, the data, the pages.
for command in (
    compare,
    leaderboard,
    scenarios,
    arena,
    gap,
    score,
    frontier,
    power,
    audit,
    judges,
    contamination,
    overview,
    ingest,
    store,
    formats,
    export,
    report,
    show,
    simulate,
    demo,
    doctor,
):
    command.register(app)


def main() -> None:
    """Run the command line and exit with its status."""
    _write_any_letter()
    try:
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


def _write_any_letter() -> None:
    """Let a stream of a narrow encoding show a letter that it lacks as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _leave_quietly() -> NoReturn:
    """End well where the reader has gone (`evalstats ... | head`), and keep Python from complaining when it flushes."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    raise SystemExit(0) from None


if __name__ == "__main__":
    main()
