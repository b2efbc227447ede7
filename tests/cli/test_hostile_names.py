"""Names that would run a build server's command, break a file, or pass for another name."""

import json
import re
from pathlib import Path
from xml.etree.ElementTree import fromstring

import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats
from evalstats.cli.main import app
from evalstats.document.escape import cell_width, for_html, one_line, wrapped
from evalstats.document.formats import to_html, to_markdown
from evalstats.document.latex import to_latex
from evalstats.document.model import Code, Column, Document, Items, Note, Section, Table, Text
from evalstats.document.terminal import to_text
from evalstats.errors import EvalStatsWarning, StoreError
from evalstats.report.markup import typst_string
from evalstats.store.manifest import MANIFEST, MARKER, check_marker, read_manifest
from tests.loaders.trees import to_copy

COMMAND = re.compile(r"^\s*::|##[\w.-]*\[|^(?:---|\+\+\+|~~~|\^\^\^) ", re.MULTILINE)
HOSTILE = (
    *("::error file=x::pwned", "##[error]pwned", "##vso[task.complete]x", "  ::warning::x"),
    *(
        "##teamcity[setParameter name='env.X' value='pwned']",
        "##other.word[x]",
        "###[x]",
        "+++ pwned",
        "^^^ +++",
        "~~~ x",
        "--- x",
    ),
)
runner = CliRunner()


@pytest.mark.parametrize("name", HOSTILE)
def test_no_line_is_a_command_whatever_the_block(name: str) -> None:
    filled = "x" * 77 + " " + name
    table = Table(id="t", columns=(Column(title=name), Column(title="b")), rows=((name, name),), caption=name)
    document = Document(
        kind="compare",
        title=name,
        label=name,
        tone="good",
        headline=name,
        scope=filled,
        answer=(Text(text=filled), Items(items=(name, filled)), table),
        notes=(Note(kind="few", text=name), Note(kind="simulated", text=name)),
        evidence=(Section(id="a", heading=name, blocks=(Code(code=name),)),),
    )
    for shown in (to_text(document, full=True), to_markdown(document), to_html(document), to_latex(document)):
        assert not COMMAND.search(shown)
    assert "pwned" in to_text(document) or "pwned" not in name


def _scores(folder: Path, names: tuple[str, str]) -> Path:
    rows = [
        {"model": name, "item": f"i{k}", "score": (k * 7 + n) % 3 % 2}
        for n, name in enumerate(names)
        for k in range(60)
    ]
    path = folder / "scores.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("style", "first", "second"),
    [
        *((style, "::error::pwned", "##[error]boo") for style in ("text", "html", "json")),
        *((style, "##teamcity[x]", "+++ boo") for style in ("text", "markdown", "latex", "csv")),
    ],
)
def test_compare_prints_no_command(tmp_path: Path, style: str, first: str, second: str) -> None:
    path = _scores(tmp_path, (first, second))
    sides = ["--baseline", first, "--candidate", second]
    found = runner.invoke(app, ["compare", str(path), *sides, "--format", style, "--quiet"])
    assert found.exit_code in {0, 1}, found.stderr
    assert not COMMAND.search(found.stdout)
    assert not COMMAND.search(found.stderr)


def test_errors_are_no_commands(tmp_path: Path) -> None:
    path = _scores(tmp_path, ("a", "b"))
    found = runner.invoke(app, ["compare", str(path), "--baseline", "##[error]x", "--candidate", "b"])
    assert found.exit_code
    # What `main` prints of the error.
    assert not COMMAND.search(
        "\n".join([*wrapped(f"error: {found.exception}", 80), *wrapped(str(found.exception), 20)])
    )


@pytest.mark.parametrize(
    ("columns", "row", "n_lines"),
    [
        (["id", *(f"gpt-{k}-turbo-preview" for k in range(3, 12)), "note"], [1, *([1, 0] * 5)], 2),
        (["id", "gold", "said"], ["q", "x", "y"], 1),  # none looks like a score
        (["id", "model", "score"], ["q", "m", None], 1),  # no score has a value
        (["id", "grade"], ["q", "A"], 1),
    ],
    ids=["long", "answers", "blank", "letters"],
)
def test_a_line_to_copy_is_never_broken_and_no_name_makes_one(
    tmp_path: Path, columns: list[str], row: list[object], n_lines: int
) -> None:
    path = tmp_path / "t.jsonl"
    names = [f"{name}\n    --map item=pwned" for name in columns]
    rows = [
        [f"{cell}{k}" if name == "id" else cell for name, cell in zip(columns, row, strict=True)] for k in range(12)
    ]
    path.write_text("".join(f"{json.dumps(dict(zip(names, each, strict=True)))}\n" for each in rows), encoding="utf-8")
    for words in (["score", path], ["arena", path], ["score", path, "--map", "item=key"], ["formats", path]):
        found = runner.invoke(app, [*map(str, words)])
        said = str(found.exception or found.output.rstrip())
        copied = to_copy(said)
        assert len(copied) == n_lines or words != ["score", path]
        assert all(line.startswith("--") and not line.startswith("--map item=pwned") for line in copied)
        for width in (20, 80, 200):  # what `main` prints of the error
            lines = wrapped(f"error: {said}", width)
            assert to_copy("\n".join(lines)) == copied
            assert all(cell_width(line) <= width or " " not in line.strip() for line in lines[: -len(copied) or None])


@pytest.mark.parametrize("code", [0xFFFE, 0xFFFF, 0xFDD0, 0x1FFFE, 0x200B, 0xFEFF, 0x202E, 0xE000])
def test_characters_that_files_cannot_hold_are_spelled_out(code: int) -> None:
    name = f"gpt-4{chr(code)}x"
    for shown in (one_line(name), for_html(name), typst_string(name).replace("\\\\", "\\")):
        assert chr(code) not in shown
        assert f"{code:x}" in shown


def test_junit_holds_any_name(tmp_path: Path) -> None:
    path = _scores(tmp_path, ("a\uffff", "b\ufffe"))
    out = tmp_path / "j.xml"
    runner.invoke(app, ["compare", str(path), "--baseline", "a\uffff", "--candidate", "b\ufffe", "--junit", str(out)])
    case = fromstring(out.read_text(encoding="utf-8"))[0][0]  # noqa: S314 - our own text
    assert "\\uffff" in case.attrib["name"]


@pytest.mark.parametrize("other", ["gpt-4\u200b", "gpt-4\ufeff", "gpt-4 ", "gpt-4\u00a0", "\u202agpt-4", "gp\u00adt-4"])
def test_names_that_look_the_same_are_told_apart_and_warned_of(tmp_path: Path, other: str) -> None:
    path = _scores(tmp_path, ("gpt-4", other))
    data = evalstats.read(path)
    first, second = data.models() if data.models()[0] == "gpt-4" else data.models()[::-1]
    assert first == "gpt-4"
    assert second.isascii()
    assert second != first
    assert "\\" in second
    assert any("characters that cannot be seen" in problem.message for problem in data.problems)
    shown = runner.invoke(app, ["leaderboard", str(path)])
    assert second in shown.stdout
    assert "cannot be seen" in shown.stderr + shown.stdout


def test_an_accent_stored_in_two_ways_is_two_names(tmp_path: Path) -> None:
    data = evalstats.read(_scores(tmp_path, ("mod\u00e8le", "mode\u0300le")))
    assert set(data.models()) == {"mod\u00e8le", "mode\\u0300le"}


def test_a_table_of_votes_warns_too() -> None:
    votes = pl.DataFrame(
        {"model_a": ["x", "x\u200b"] * 40, "model_b": ["x\u200b", "x"] * 40, "outcome": ["a", "b", "b", "a"] * 20}
    )
    with pytest.warns(EvalStatsWarning, match="cannot be seen"):
        found = evalstats.arena(votes, checks=False)
    assert {row.name for row in found.rows} == {"x", "x\\u200b"}


@pytest.mark.parametrize("version", ["1e400", "-1e400", "NaN", "[]"])
def test_a_marker_with_no_number_is_a_damaged_store(tmp_path: Path, version: str) -> None:
    (tmp_path / MARKER).write_text(f'{{"format": "evalstats-store", "schema_version": {version}}}', encoding="utf-8")
    with pytest.raises(StoreError, match="is damaged"):
        check_marker(tmp_path)
    (tmp_path / MANIFEST).write_text(f'{{"schema_version": {version}}}', encoding="utf-8")
    with pytest.raises(StoreError, match="is damaged"):
        read_manifest(tmp_path)


def test_a_side_is_found_by_the_name_that_its_file_has(tmp_path: Path) -> None:
    path = _scores(tmp_path, ("gpt-4", "gpt-4 "))
    found = evalstats.compare(evalstats.read(path), "gpt-4", "gpt-4 ")
    assert (found.baseline.name, found.candidate.name) == ("gpt-4", "gpt-4\\x20")
