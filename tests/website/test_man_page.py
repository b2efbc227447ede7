"""The man page is what `--help` says: every command and option stands in it, and a reader of man pages can read it."""

import re
import shutil
import subprocess
import tomllib
from typing import Any

import pytest
from typer.main import get_command

from dev.website import man_page
from evalstats.cli.main import app

PAGE = man_page.TARGET.read_text(encoding="utf-8")


def plain(text: str) -> str:
    return (
        re.sub(r"\\f[BR]", "", text)
        .replace("\\-", "-")
        .replace("\\(aq", "'")
        .replace("\\(ha", "^")
        .replace("\\(ti", "~")
        .replace("\\&", "")
    )


def part(heading: str) -> str:
    """Return what stands between a heading and the next."""
    return plain(PAGE).split(f"\n{heading}", 1)[1].split("\n.S")[0]


def test_the_page_is_of_today_s_options() -> None:
    version = tomllib.loads((man_page.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert man_page.page(version) == PAGE, "run `make man`"


def test_every_command_and_option_stands_in_it() -> None:
    program: Any = get_command(app)
    shared = part(".SH SHARED OPTIONS")
    assert re.findall(r"^\.SS (\S+)", plain(PAGE), re.MULTILINE) == list(program.commands)
    n_options = 0
    for name, command in program.commands.items():
        told = part(f".SS {name} ")
        for parameter in command.params:
            if parameter.param_type_name == "option" and not parameter.hidden:
                n_options += 1
                flag = max(parameter.opts, key=len)
                assert re.search(rf"{flag}(?![\w-])", told), (name, flag)
                # Its help is beside it, or with the options that several commands share.
                words = " ".join((parameter.help or "").split())
                assert words in told or words in shared, (name, flag)
    assert n_options > 300


def test_no_option_is_shared_in_two_meanings() -> None:
    flags = re.findall(r"^(?:-\w, )?(--[\w-]+)", part(".SH SHARED OPTIONS"), re.MULTILINE)
    assert len(flags) > 15
    assert sorted(set(flags)) == sorted(flags)


@pytest.mark.parametrize(
    ("text", "safe"),
    [(".SH x", "\\&.SH x"), ("'s", "\\(aqs"), ("a\\nb", "a\\enb"), ("--x", "\\-\\-x"), ("é", "\\[u00E9]")],
)
def test_no_text_is_a_request(text: str, safe: str) -> None:
    assert man_page.roff(text) == safe


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not on this machine")
def test_groff_has_nothing_to_say_against_it() -> None:
    command = ["groff", "-man", "-ww", "-Tascii", "-P-c", str(man_page.TARGET)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stderr == ""
    said = re.sub(".\b", "", done.stdout)
    assert "compare [OPTIONS] [A B | DATA...]..." in said
    assert max(map(len, said.splitlines())) <= 80
