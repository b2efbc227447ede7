"""Print or write a result: JSON to stdout alone, everything else that is said to stderr."""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from evalstats.atomic import write_whole
from evalstats.cli.options import OutputStyle
from evalstats.document.escape import SERVICE, as_json, clean, wrapped
from evalstats.errors import InputError

if TYPE_CHECKING:
    from evalstats.analysis.result import Result
    from evalstats.document.model import Table


_WIDTHS = (40, 80)  # cells of a line, however narrow or wide a terminal is
_HINT = "More: --full (all evidence), --explain (what it means), --report FILE (a page)."
# Characters that a terminal obeys instead of showing, or no file may hold, and what begins a build server's command: JSON
# strings may hold them as escapes.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]" + f"|{SERVICE}#")


def written(
    result: "Result",
    *,
    style: OutputStyle = OutputStyle.TEXT,
    full: bool = False,
    explain: bool = False,
    quiet: bool = False,
    color: bool = False,
    more: Mapping[str, Any] | None = None,
    hint: str = _HINT,
    key: str = "",
) -> str:
    """Return the text of a result in a style; of text, the answer alone, with its explanation, or all of it.

    `key` tells a comment from others.
    """
    from evalstats.document import formats, terminal

    match style:
        case OutputStyle.JSON:
            values = {**result.to_dict(), **(more or {}), **({"explanation": result.explain()} if explain else {})}
            return json_text(values)
        case OutputStyle.BRIEF:
            from evalstats.analysis.brief import brief

            return json_text(brief(result, (more or {}).get("gate")), indent=None)
        case OutputStyle.COMMENT:
            from evalstats.document.comment import to_comment

            return to_comment(result.document(), key)
        case OutputStyle.MARKDOWN:
            return result.to_markdown()
        case OutputStyle.HTML:
            return result.to_html()
        case OutputStyle.LATEX:
            return result.to_latex()
        case OutputStyle.CSV:
            return formats.csv_text(result.to_frame()).rstrip("\n")
        case OutputStyle.TEXT:
            hint = "" if full else hint if not explain else "More: --full, --report FILE."
            shown = partial(terminal.to_text, full=full, explain=explain, width=_width(), color=color, hint=hint)
            return (terminal.headline if quiet else shown)(result.document())


def table_written(table: "Table", values: Any, style: OutputStyle) -> str:
    """Return one table in a style; as JSON its values."""
    from evalstats.document import formats, latex, terminal

    match style:
        case OutputStyle.JSON | OutputStyle.BRIEF:
            return json_text(values)
        case OutputStyle.MARKDOWN | OutputStyle.COMMENT:
            return formats.markdown_table(table)
        case OutputStyle.HTML:
            return formats.html_table(table)
        case OutputStyle.LATEX:
            return latex.latex_table(table)
        case OutputStyle.TEXT | OutputStyle.CSV:
            return terminal.table_text(table, width=_width())


def _width() -> int:
    """Return how long a line may be: on a narrow terminal no longer than there is room, in a file as on a wide one."""
    least, most = _WIDTHS
    return min(max(shutil.get_terminal_size().columns, least), most) if is_terminal(sys.stdout) else most


def json_text(values: Any, *, indent: int | None = 2) -> str:
    """Return values as JSON in which no character is unseen."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False) if indent is None else as_json(values, indent=indent)
    return _UNSEEN.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"\\u{ord(char):04x}" for char in match[0])


def may_color(*, no_color: bool) -> bool:
    """Tell whether colour is wanted: a terminal, and neither --no-color nor NO_COLOR."""
    return is_terminal(sys.stdout) and not no_color and "NO_COLOR" not in os.environ


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a stream is a terminal; a closed one (`>&-`) is None and is not."""
    return stream is not None and stream.isatty()


def say(text: str, *, quiet: bool = False) -> None:
    """Tell the user something beside the result."""
    if not quiet:
        print("\n".join(wrapped(text, _width())), file=sys.stderr)


@contextmanager
def step_line(*, quiet: bool = False) -> Generator[Callable[[str], None]]:
    """Give a function that shows what is being done, on one line of a terminal that is wiped at the end; else nothing."""
    shown = is_terminal(sys.stderr) and not quiet

    def on_step(text: str) -> None:
        if shown:
            print(f"\r\x1b[K{clean(text)} ...", end="", file=sys.stderr, flush=True)

    try:
        yield on_step
    finally:
        if shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def write_atomically(path: Path, text: str) -> None:
    """Write a file whole or not at all.

    InputError if the folder does not exist or cannot be written.
    """
    try:
        write_whole(path, text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
