"""Entry point of `evalstats`: the commands, and what each kind of error becomes.

Exit status: 0 done, 1 a gate failed, 2 bad usage or bad input, 3 the data cannot answer the question.
"""

import os
import sys
from typing import Annotated

import typer

from evalstats.cli import compare, demo, doctor, formats, ingest, report, score, simulate, store
from evalstats.errors import EvalStatsError

app = typer.Typer(
    name="evalstats",
    no_args_is_help=True,
    add_completion=False,
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
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and stop.")
    ] = False,
) -> None:
    """Turn LLM-evaluation results into conclusions one can defend."""


for command in (ingest, store, formats, compare, score, report, simulate, demo, doctor):
    command.register(app)


def main() -> None:
    """Run the command line and exit with its status."""
    try:
        app()
    except EvalStatsError as error:
        from evalstats.cli.text import wrapped

        print("\n".join(wrapped(f"error: {error}", 80)), file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except BrokenPipeError:
        # The reader has gone (`evalstats ... | head`); keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
