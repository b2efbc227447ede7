"""From paths to tables: every file finds its loader, and a file that cannot be read does not stop the rest."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import polars as pl
import pytest

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders import registry
from evalstats.loaders.base import Head, Loader, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import BUILT_IN, list_files, loader_named, loaders, plan, read, sniffed
from evalstats.loaders.score_table import ScoreTableLoader
from evalstats.loaders.table import LOADER, TableLoader
from evalstats.schema.data import Problem
from tests.loaders.seeds import SEEDS

TABLE = "item,model,score\n1,a,1\n2,a,0\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.csv").write_text(TABLE.replace("a", "b"))
    (tmp_path / "one.csv").write_text(TABLE)
    (tmp_path / ".hidden.csv").write_text(TABLE)
    (tmp_path / "__MACOSX").mkdir()
    (tmp_path / "__MACOSX" / "ghost.csv").write_text(TABLE)
    return tmp_path


def test_every_listed_loader_is_there_under_a_name_of_its_own() -> None:
    found = loaders()
    assert all(isinstance(loader, Loader) for loader in found)
    names = [loader.name for loader in found]
    assert len(names) == len(set(names)) >= len(BUILT_IN)
    assert all(loader.title and loader.version for loader in found)


@pytest.mark.parametrize("name", sorted(SEEDS))
def test_a_loader_that_is_not_asked_about_a_file_would_not_know_it(name: str, tmp_path: Path) -> None:
    """Each file as it is, and where it is JSON its members as columns, its text in an archive, and after a word."""
    for number, (file, content) in enumerate((file, content) for tree in SEEDS[name] for file, content in tree.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = content.decode(errors="replace")
        columns = ",".join(re.findall(r'"(\w+)":', text)) + "\n"
        for other in (content, columns.encode(), b"PK\x03\x04" + content, b"x " + content):
            path = folder / Path(file).name
            path.write_bytes(other)
            head = read_head(path)
            asked = {loader.name for loader in loaders(head.shape)}
            never = [loader for loader in loaders() if loader.name not in asked]
            assert not [loader.name for loader in never if loader.sniff(head) is not None]
            assert never


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[",
        b'{"a',
        b"\xff\xfe",
        b"\x00" * 100,
        b"PK\x03\x04",
        b"PAR1",
        b"a,b\r1,2\r",
        b'"',
        b"[" * 60_000,
        b"{" * 60_000,
    ],
)
@pytest.mark.parametrize("name", ["x", "x.json", "x.jsonl", "x.csv", "x.parquet", "x.eval"])
def test_no_loader_stumbles_over_a_strange_file(tmp_path: Path, data: bytes, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    head = read_head(path)
    for loader in loaders():
        match = loader.sniff(head)
        assert match is None or 0 < match.confidence <= 1


def test_the_surest_loader_wins() -> None:
    votes = "item,score,model,model_a,model_b,winner\n"
    head = Head(path=Path("x.csv"), size=len(votes), data=votes.encode())
    found = sniffed(head)[0]
    assert found is not None
    assert found[0].name == "arena-votes"


def test_an_unknown_format_lists_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"there is no format 'nope'; known are .*arena-votes.*table"):
        loader_named("nope")


def test_files_are_sorted_and_hidden_ones_are_passed_over(folder: Path) -> None:
    assert [(path.name, named) for path, named in list_files([folder])] == [("one.csv", False), ("two.csv", False)]


def test_a_file_counts_once_however_often_it_is_named(folder: Path) -> None:
    paths = [folder / "one.csv", folder, folder / "b" / ".." / "one.csv"]
    assert [path.name for path, _ in list_files(paths)] == ["one.csv", "two.csv"]


def test_nothing_outside_a_folder_is_reached_through_links(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.csv").write_text(TABLE)
    (folder / "link").symlink_to(outside)
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "loop").symlink_to(folder)
    assert [path.name for path, _ in list_files([folder])] == ["one.csv", "two.csv"]
    assert [path.name for path, _ in list_files([folder / "link.csv"])] == ["link.csv"]


def test_a_path_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none: there is no such file or folder"):
        read(tmp_path / "none")


def test_a_misspelt_path_is_told_what_it_may_have_meant(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "old.csv").write_text("item,score\n1,1\n")
    for path, meant in (("results/odl.csv", r"results/old\.csv"), ("reslts/old.csv", "results")):
        with pytest.raises(InputError, match=rf"no such file or folder; did you mean .*{meant}\?$"):
            read(tmp_path / path)
    with pytest.raises(InputError, match=r"no such file or folder$"):
        read(tmp_path / "zzzz" / "old.csv")


def test_a_folder_is_read_whole(folder: Path) -> None:
    data = read(folder)
    assert data.models() == ("a", "b")
    assert data.outcomes.height == 4


def test_what_cannot_be_read_is_told_and_the_rest_is_there(folder: Path) -> None:
    (folder / "image.png").write_bytes(b"\x89PNG\x00\x00")
    (folder / "empty.json").write_text("")
    (folder / "notes.txt").write_text("Dear reader,\n")
    (folder / "other.csv").write_text("x,y\n1,2\n")
    (folder / "bad.csv").write_text("item,model,score\n1,a\n")
    data = read(folder)
    assert data.outcomes.height == 4
    errors = {Path(problem.path).name: problem.message for problem in data.problems if problem.severity == "error"}
    assert set(errors) == {"empty.json", "other.csv", "bad.csv"}
    assert errors["empty.json"] == "is empty"
    assert errors["other.csv"].startswith("no known format (`evalstats formats` lists them). It has the columns x, y, ")
    assert errors["bad.csv"].startswith("line 2 has 2 cells, the header 3")


def test_a_table_in_memory_is_sent_to_from_frame() -> None:
    with pytest.raises(InputError, match=r"found list; several are given as read\(\*paths\)"):
        read(["a.csv", "b.csv"])  # pyright: ignore[reportArgumentType]
    with pytest.raises(InputError, match=r"found DataFrame; a table in memory is given to from_frame"):
        read(pl.DataFrame({"score": [1.0]}))  # type: ignore[arg-type] - what a user may try


def test_strict_reading_stops_at_the_first_fault(folder: Path) -> None:
    (folder / "other.csv").write_text("x,y\n1,2\n")
    with pytest.raises(UnreadableFileError, match=r"other\.csv: no known format"):
        read(folder, strict=True)
    (folder / "other.csv").unlink()
    (folder / "bad.csv").write_text("item,model,score\n1,a\n")
    with pytest.raises(UnreadableFileError, match=r"bad\.csv: line 2"):
        read(folder, strict=True)


def test_nothing_read_at_all_is_an_error_with_all_reasons(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing could be read: no files were found"):
        read(tmp_path)
    (tmp_path / "notes.txt").write_text("Dear reader,\n")
    with pytest.raises(InputError, match=r"nothing could be read: .*notes\.txt: no known format"):
        read(tmp_path / "notes.txt")


def test_a_manifest_is_passed_over_and_told_only_if_named(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(TABLE)
    models = tmp_path / "models.jsonl"
    models.write_text('{"id": 1, "api_id": "m", "name": "M", "api": "x", "type": "chat", "org": "o"}\n')
    assert [problem for problem in read(tmp_path).problems if "models" in problem.path] == []
    told = [problem for problem in read(models, tmp_path).problems if "models" in problem.path]
    assert [problem.severity for problem in told] == ["note"]
    assert "holds no results but LLMFAO's list of models or prompts; it belongs to arena votes" in told[0].message


def test_progress_is_told_before_every_source(folder: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    read(folder, progress=lambda done, total, source: seen.append((done, total, source.path.name)))
    assert seen == [(0, 2, "one.csv"), (1, 2, "two.csv")]


def test_equal_bytes_are_read_once(folder: Path) -> None:
    copy = folder / "b" / "one.csv"
    copy.write_text(TABLE)
    assert any("left out as an old copy" in problem.message for problem in read(folder).problems)
    data = read(folder, copy)
    assert data.outcomes.height == 4
    assert [problem.message for problem in data.problems if "twice" in problem.message] == [
        "read twice; the second copy is ignored"
    ]


def test_a_column_map_makes_every_file_a_table(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("question_id,llm,agent,correct\n1,a,x,1\n1,b,x,1\n1,a,y,1\n1,b,y,1\n")
    with pytest.raises(InputError, match=r"no known format.*\n    --map item"):
        read(tmp_path)
    map_ = ColumnMap.from_options(["item=question_id", "score=correct", "model=llm", "variant=agent"])
    planned, problems = plan([tmp_path], column_map=map_)
    assert [(part.loader.name, part.source.path.name) for part in planned] == [("table", "one.csv")]
    assert problems == []
    assert read(tmp_path, column_map=map_).models() == ("a", "b")
    assert read(tmp_path, column_map=map_, format="table").models() == ("a", "b")


def test_a_column_map_goes_with_no_other_format(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(TABLE)
    with pytest.raises(
        InputError,
        match=r"in the formats arena-votes, score-table, table, not in 'lm-eval'",
    ):
        plan([tmp_path], format="lm-eval", column_map=ColumnMap())


def test_a_named_format_passes_detection_by(tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("item,model,score,model_a,model_b,winner\n1,m,1,x,y,tie\n")
    assert read(tmp_path).comparisons.height == 1
    assert read(tmp_path, format="table").outcomes.height == 1


def test_a_loader_may_come_from_another_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class Point:
        @staticmethod
        def load() -> Loader:
            return LOADER

    monkeypatch.setattr(registry, "entry_points", lambda group: [Point()] if group == "evalstats.loaders" else [])
    loaders.cache_clear()
    try:
        assert loaders()[-1].name == "table"
        assert len(loaders()) == len(BUILT_IN) + 1
    finally:
        monkeypatch.undo()
        loaders.cache_clear()


def test_sources_carry_their_digest(folder: Path) -> None:
    planned, _ = plan([folder / "one.csv"])
    assert len(planned[0].source.digest) == 64
    assert isinstance(planned[0].source, Source)


class Broken(SingleFileLoader):
    """Knows CSV files, and fails where it is told to."""

    name, title, version = "broken", "broken", "1"

    def __init__(self, fails_in: str) -> None:
        self.fails_in = fails_in

    def sniff(self, head: Head) -> Match | None:
        if self.fails_in == "sniff":
            raise ZeroDivisionError("no head")
        return Match(confidence=1, reason="named so") if "broken" in head.name else None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        yield Source(path=files[0])
        raise LookupError("no plan")

    def read(self, source: Source) -> Iterator[Rows]:
        raise NotImplementedError(source)


@pytest.fixture
def with_broken(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def use(fails_in: str) -> None:
        monkeypatch.setattr(registry, "loaders", lambda _shape=None: (Broken(fails_in), LOADER))

    return use


def test_a_loader_that_fails_on_a_file_s_head_is_named_and_others_are_asked(
    folder: Path, with_broken: Callable[[str], None]
) -> None:
    with_broken("sniff")
    (folder / "other.csv").write_text("x,y\n1,2\n")
    data = read(folder)
    assert data.models() == ("a", "b")
    failed = "the broken loader failed to look at it (ZeroDivisionError: no head)"
    said = {(Path(problem.path).name, problem.severity, problem.message) for problem in data.problems}
    assert said >= {
        ("one.csv", "note", failed),
        ("two.csv", "note", failed),
        ("other.csv", "error", f"no known format, and {failed}"),
    }


def test_a_loader_that_fails_to_group_files_loses_only_its_own_and_names_each(
    folder: Path, with_broken: Callable[[str], None]
) -> None:
    with_broken("plan")
    for name in ("broken1.csv", "broken2.csv"):
        (folder / name).write_text(TABLE)
    planned, problems = plan([folder])
    assert [item.source.path.name for item in planned] == ["one.csv", "two.csv"]
    assert [Path(problem.path).name for problem in problems] == ["broken1.csv", "broken2.csv"]
    assert {(problem.severity, problem.message) for problem in problems} == {
        ("error", "the broken loader failed to group the files of its format (LookupError: no plan)")
    }


def test_a_file_whose_name_is_no_unicode_is_read(tmp_path: Path) -> None:
    try:
        (tmp_path / "caf\udce9.csv").write_text("item,score\nq1,1\n")
    except (OSError, UnicodeError):
        pytest.skip("this file system takes Unicode names only")
    pl.DataFrame({"item": ["q1"], "model": ["m"], "score": [1]}).write_parquet(tmp_path / "x.parquet")
    (tmp_path / "x.parquet").rename(tmp_path / "x\udce9.parquet")
    data = read(tmp_path)
    assert data.models() == ("caf\ufffd", "m")
    assert [Path(source).name for source in data.runs["source"].sort()] == ["caf\ufffd.csv", "x\ufffd.parquet"]


def test_closed_folder_is_a_problem_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shut").mkdir()
    text = "item,model,score\na,m,1\n"
    (tmp_path / "open.csv").write_text(text)
    (tmp_path / "shut" / "inside.csv").write_text(text)
    real_stat, real_open = Path.stat, Path.open

    def refused(path: Path) -> None:
        if path.parent.name == "shut":
            raise PermissionError(13, "Permission denied", str(path))

    def stat(path: Path, **options: Any) -> os.stat_result:
        refused(path)
        return real_stat(path, **options)

    def opened(path: Path, *args: Any, **options: Any) -> Any:
        refused(path)
        return real_open(path, *args, **options)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(Path, "open", opened)
    data = read(tmp_path)
    assert data.outcomes.height == 1
    closed = tmp_path / "shut" / "inside.csv"
    assert [(p.path, p.severity) for p in data.problems if "Permission denied" in p.message] == [(str(closed), "error")]
    with pytest.raises(InputError, match=r"inside\.csv: cannot be opened \(Permission denied\)"):
        read(closed)


def test_folder_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "shut"
    folder.mkdir()

    def scandir(path: object) -> NoReturn:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "scandir", scandir)
    assert list(list_files([folder])) == [(folder, True)]


def test_name_too_long_is_no_such_file() -> None:
    with pytest.raises(InputError, match=r"there is no such file or folder \(File name too long\)"):
        list(list_files(["x" * 300]))


def test_pipe_is_neither_file_nor_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"pipe: is neither a file nor a folder"):
        list(list_files([tmp_path / "pipe"]))


def test_a_saved_answer_is_no_table_of_results(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text(
        '{\n "result": "Comparison",\n "conf_level": 0.95,\n "flipped": [{"item": "q1", "baseline": 1, "candidate": 0}]}'
    )
    with pytest.raises(UnreadableFileError, match="is an answer that evalstats saved, without the rows behind it"):
        read(path, strict=True)


def test_files_of_a_known_format_are_not_looked_at_as_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes ten times as long as reading them: a suite of fifty files was compared in two seconds, now in 0.7."""
    for side in ("old", "new"):
        for name, data in SEEDS["lm-eval"][0].items():
            path = tmp_path / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    monkeypatch.setattr(registry, "contents_of", lambda *_: pytest.fail("looked at for a layout"))
    for loader in (TableLoader, ScoreTableLoader):
        monkeypatch.setattr(loader, "sniff", lambda *_: pytest.fail("asked"))
    found, problems = plan([tmp_path / "old"], alongside=[tmp_path / "new"])
    assert {item.loader.name for item in found} == {"lm-eval"}
    assert problems == []
