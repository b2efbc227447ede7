"""Files are opened in one place, which opens none but regular ones; whatever else lies there is refused in words, at once."""

import ast
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats
from evalstats.cli.ingest_run import ingest
from evalstats.cli.main import app
from evalstats.errors import EvalStatsError
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.declarations import read_aliases, read_plan
from evalstats.loaders.files import open_bytes
from evalstats.regular import MOST_BYTES, StrangeFileError, check_regular, open_regular, read_regular
from evalstats.report.render import own_page
from evalstats.store.key_file import read_or_make_key
from evalstats.store.manifest import MANIFEST, MARKER
from tests.test_threat_model import MODULES, ROOT

# What opens a file, by the name that is called.
OPENS = {
    "open",
    "read_text",
    "read_bytes",
    "fdopen",
    "memmap",
    "fromfile",
    "loadtxt",
    "ZipFile",
    "is_zipfile",
    "scan_parquet",
}
OPENS |= {
    "read_parquet",
    "read_parquet_schema",
    "read_csv",
    "scan_csv",
    "read_ndjson",
    "read_json",
    "read_excel",
    "read_ipc",
}
OPENS |= {"from_parquet", "copyfile", "copy2", "copytree"}
CALLED = re.compile(rf"\b(?:{'|'.join(OPENS)})\(")
# What is given an open file, a text, or a file of the package, and what writes.
HARMLESS = re.compile(
    r"\((?:stream|raw|text\.encode\(\))[,)]|\bfiles\(|\bfdopen\(|\.open\('(?:wb|x|w)'|O_WRONLY|(?:directory|AssumedTable)\.open\("
)
# Every other call: of files that this process made or that ship, or of paths that were looked at before.
ALLOWED = {
    "regular.py": {"os.open(path, flags)", "os.open(path, os.O_RDONLY | getattr(os, 'O_DIRECTORY', 0))"},
    "analysis/design/run_settings.py": {"_FILE.read_text(encoding='utf-8')"},
    "datasets/validation.py": {"path.read_text(encoding='utf-8')"},
    # A journal is gone on with at its end.
    "cli/run.py": {"(folder / JOURNAL).open('a', encoding='utf-8')"},
    # A book in memory.
    "loaders/sheets.py": {"zipfile.ZipFile(made, 'w')"},
    # check_regular before it, or is_file; where a path stands beside an open file, it is that file's.
    "store/manifest.py": {"pl.scan_parquet(paths, glob=False, hive_partitioning=False)"},
    "loaders/parquet_sizes.py": {"pl.scan_parquet(source, glob=False, hive_partitioning=False)"},
    "loaders/frames.py": {"pl.scan_parquet(paths[0])"},
    "loaders/engines.py": {
        "pl.scan_parquet(parquet_files(str(source)), glob=False)",
        "duckdb.connect().from_parquet(literal)",
    },
    # A rendering's own folders, and the extension and fonts that it is styled by.
    "report/kernel.py": {"(private / 'stderr').read_text(encoding='utf-8', errors='replace')"},
    "report/engine.py": {
        "path.read_text(encoding='utf-8')",
        "target.read_text(encoding='utf-8')",
        "path.read_bytes()",
        "(extension / name).read_text(encoding='utf-8')",
        "shutil.copytree(job.page.extension, copied)",
        "shutil.copytree(ran.folder, job.folder, dirs_exist_ok=True)",
    },
    "report/render.py": {
        "page.source.read_text('utf-8')",
        "shutil.copytree(page.extension, beside, dirs_exist_ok=True)",
    },
    # What Quarto tells those whom it runs, in a file that it names.
    "document/quarto.py": {"told.read_text(encoding='utf-8')"},
    # Pages and results that were written a moment before, for a tracker.
    "exporters/trackers.py": {"path.read_bytes()"},
    "report/typeset.py": {"pdf.read_bytes()", "shutil.copyfile(shipped / name, folder / name)"},
}


def opens(source: str) -> set[str]:
    """Return the calls of a module that open a file."""
    if not CALLED.search(source):
        return set()
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    names = {node: getattr(node.func, "id", getattr(node.func, "attr", "")) for node in nodes}
    return {text for node, name in names.items() if name in OPENS and not HARMLESS.search(text := ast.unparse(node))}


def test_files_are_opened_in_one_place() -> None:
    found = {
        path.relative_to(ROOT / "evalstats").as_posix(): opens(path.read_text(encoding="utf-8")) for path in MODULES
    }
    assert {module: calls for module, calls in found.items() if calls} == ALLOWED, "open it with evalstats.regular"


@pytest.mark.parametrize(
    "source", ["open(path)", "Path(p).read_text()", "p.open('rb')", "pl.read_csv(path)", "zipfile.ZipFile(p)"]
)
def test_an_opened_file_is_found(source: str) -> None:
    assert opens(source) == {source}


# --- what may lie where a file was expected ---


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's path is short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def _folder(path: Path) -> None:
    path.mkdir()


def _sparse(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


STRANGE: dict[str, Callable[[Path], None]] = {"pipe": _pipe, "zero": _zero, "socket": _socket, "folder": _folder}
pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no such files")


@pytest.fixture(autouse=True)
def _at_once() -> Iterator[None]:
    """Nothing here waits: whatever hangs is ended, and fails."""
    import faulthandler

    faulthandler.dump_traceback_later(60, exit=True)
    begun = time.monotonic()
    yield
    faulthandler.cancel_dump_traceback_later()
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("kind", STRANGE)
def test_none_but_regular_files_are_opened(kind: str, tmp_path: Path) -> None:
    STRANGE[kind](tmp_path / "x")
    (tmp_path / "link").symlink_to("x")
    for name in ("x", "link"):
        for opened in (check_regular, open_regular, read_regular):
            with pytest.raises((StrangeFileError, IsADirectoryError)) as error:
                opened(tmp_path / name)
            assert (error.value.strerror or "").startswith("it is a ")
    (tmp_path / "file").write_text("a\r\nb", encoding="utf-8")
    assert read_regular(tmp_path / "file") == "a\nb"


def test_what_is_read_whole_has_a_sane_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_BYTES < 1 << 30
    monkeypatch.setattr("evalstats.regular.MOST_BYTES", 2 << 20)
    _sparse(tmp_path / "x")
    with pytest.raises(StrangeFileError, match="larger than 2 MiB"):
        read_regular(tmp_path / "x")


TABLE = pl.DataFrame({"item": [f"q{k}" for k in range(20)], "model": ["m"] * 20, "score": [0, 1] * 10})


def _read(path: Path) -> object:
    return evalstats.read(path)


READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "results": ("r.csv", _read),
    "table": ("r.parquet", _read),
    "log": ("r.eval", _read),
    "any": ("r.json", lambda path: open_bytes(path).__enter__()),
    "saved": ("r.json", evalstats.load_result),
    "plan": ("evalstats.toml", read_plan),
    "aliases": ("a.toml", read_aliases),
    "map": ("m.toml", ColumnMap.from_toml),
    "key": ("key", read_or_make_key),
    "page": ("p.qmd", own_page),
}


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("what", READERS)
def test_strange_files_are_refused_wherever_one_is_read(what: str, kind: str, tmp_path: Path) -> None:
    name, reads = READERS[what]
    STRANGE[kind](tmp_path / name)
    with pytest.raises(EvalStatsError):
        reads(tmp_path / name)


# --- stores ---


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stored")
    TABLE.write_csv(folder / "t.csv")
    ingest([folder / "t.csv"], folder / "store")
    return folder / "store"


def _copied(store: Path, folder: Path) -> Path:
    import shutil

    return Path(shutil.copytree(store, folder / "store"))


@pytest.mark.parametrize("kind", STRANGE)
@pytest.mark.parametrize("what", [MARKER, MANIFEST, "*.parquet", "sources", "."])
def test_a_strange_store_is_refused_and_repaired(what: str, kind: str, stored: Path, tmp_path: Path) -> None:
    store = _copied(stored, tmp_path)
    (source,) = (store / "sources").iterdir()
    for path in {MARKER: [store / MARKER], "sources": [store / "sources"], ".": [source]}.get(what) or source.glob(
        what
    ):
        path.rename(tmp_path / path.name)
        STRANGE[kind](path)
    for command in (["store", str(store), "check"], ["score", "--store", str(store)], ["store", str(store), "repair"]):
        found = CliRunner().invoke(app, command)
        assert found.exception is None or isinstance(found.exception, EvalStatsError | SystemExit), command
        # An empty folder of sources is a store without results.
        assert found.exit_code or command[-1] == "repair" or (what, kind) == ("sources", "folder"), command


def test_a_folder_that_holds_only_links_says_so(tmp_path: Path) -> None:
    TABLE.write_csv(tmp_path / "t.csv")
    folder = tmp_path / "links"
    (folder / "more").mkdir(parents=True)
    (folder / "README.md").write_text("x", encoding="utf-8")
    (folder / "more" / "t.csv").symlink_to(tmp_path / "t.csv")
    with pytest.raises(EvalStatsError, match="holds only links"):
        evalstats.read(folder)
    TABLE.write_csv(folder / "u.csv")
    assert evalstats.read(folder).outcomes.height == TABLE.height
