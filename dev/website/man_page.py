"""Make the man page of the command line from what `--help` prints; `make man` runs this.

An option that several commands share stands once, in a section of its own, and each of these commands names it.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command

from evalstats.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "dev" / "man" / "evalstats.1"
# An option of as many commands stands once for all of them.
_SHARED_FROM = 3
_FLAG = re.compile(r"(?<![\w-])(-{1,2}[A-Za-z][\w-]*)")
_BEGINNINGS = (".", "'")


@dataclass(frozen=True, slots=True)
class Entry:
    """A parameter as `--help` prints it, and the longest of its flags ("" for an argument)."""

    written: str
    told: str
    flag: str


@dataclass(frozen=True, slots=True)
class Described:
    """A command as `--help` prints it."""

    name: str
    usage: str
    paragraphs: tuple[str, ...]
    arguments: tuple[Entry, ...]
    options: tuple[Entry, ...]


def roff(text: str) -> str:
    r"""Return text as roff shows it: no letter of it is a request, a quote or an escape.

    >>> roff(".x -- a\\\\b"), roff("é")
    ('\\\\&.x \\\\-\\\\- a\\\\eb', '\\\\[u00E9]')
    """
    signs = {"\\": "\\e", "-": "\\-", "^": "\\(ha", "~": "\\(ti", "`": "\\(ga", "'": "\\(aq"}
    line = "".join(signs.get(sign, sign if sign.isascii() else f"\\[u{ord(sign):04X}]") for sign in text)
    return f"\\&{line}" if line.startswith(_BEGINNINGS) else line


def entries(command: Any, context: Any) -> Iterator[Entry]:
    """Yield the parameters of a command in the order of its help."""
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            is_option = parameter.param_type_name == "option"
            flag = max((each for each in parameter.opts if is_option), key=len, default="")
            yield Entry(record[0], " ".join(record[1].split()), flag)


def described() -> tuple[Described, list[Described]]:
    """Return the program and its commands."""
    program: Any = get_command(app)
    above = program.make_context("evalstats", [next(iter(program.commands))], resilient_parsing=True)

    def one(command: Any, context: Any, name: str) -> Described:
        found = list(entries(command, context))
        return Described(
            name=name,
            usage=" ".join(command.collect_usage_pieces(context)),
            paragraphs=tuple(" ".join(each.split()) for each in (command.help or "").split("\n\n")),
            arguments=tuple(each for each in found if not each.flag),
            options=tuple(each for each in found if each.flag),
        )

    commands = [
        one(command, command.context_class(command, info_name=name, parent=above), name)
        for name, command in program.commands.items()
    ]
    return one(program, above, "evalstats"), commands


def tagged(found: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines of a list of parameters."""
    for each in found:
        yield from (".TP", _FLAG.sub(lambda flag: f"\\fB{roff(flag[1])}\\fR", each.written.replace("\\", "\\e")))
        yield roff(each.told)


def shared_options(commands: Sequence[Described]) -> list[Entry]:
    """Return the options that many commands have, each flag in the words in which most of them describe it."""
    counts = Counter(option for command in commands for option in command.options)
    most = {option.flag: option for option, _ in reversed(counts.most_common())}
    return [option for option, n in counts.items() if n >= _SHARED_FROM and most[option.flag] == option]


def page(version: str) -> str:
    """Return the man page."""
    program, commands = described()
    shared = shared_options(commands)
    first, *others = program.paragraphs
    lines = [
        '.\\" Made from the help of the commands by `make man`; do not edit.',
        f'.TH EVALSTATS 1 "" "evalstats {version}" "User Commands"',
        ".ad l",
        ".nh",
        *(".SH NAME", f"evalstats \\- {roff(first[0].lower() + first[1:].rstrip('.'))}"),
        *(".SH SYNOPSIS", ".B evalstats", ".I COMMAND", "[PATHS] [OPTIONS]"),
        *(part for paragraph in others for part in (".PP", roff(paragraph))),
        *(".SH OPTIONS", *tagged(program.options)),
        ".SH COMMANDS",
    ]
    for command in commands:
        lines += [f".SS {roff(f'{command.name} {command.usage}')}"]
        lines += [part for paragraph in command.paragraphs for part in (roff(paragraph), ".PP")][:-1]
        lines += tagged([*command.arguments, *(each for each in command.options if each not in shared)])
        also = [each.flag for each in command.options if each in shared]
        if also:
            lines += [".PP", f"Shared options, described below: {', '.join(map(roff, also))}."]
    lines += [".SH SHARED OPTIONS", *tagged(shared)]
    epilog = str(get_command(app).epilog)
    heading, _, told = epilog.partition(": ")
    lines += [f".SH {heading.upper()}", roff(told)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(page(project["version"]), encoding="utf-8")


if __name__ == "__main__":
    main()
