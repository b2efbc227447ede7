"""Small files of which a large table could be made: read within a bound, or refused with a sentence that says what to do.

Polars' memory is none of Python's, so each file is read by a child, whose peak the system tells.
"""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalstats.errors import InputError
from evalstats.loaders.registry import read
from evalstats.schema.memory import LIMIT, HeldOnce

resource = pytest.importorskip("resource", reason="peaks of memory are asked of POSIX")

_CHILD = """
import pathlib, resource, sys
import evalstats as es
from evalstats.errors import InputError
try:
    print(es.read(sys.argv[1]).outcomes.height)
except InputError as error:
    print(error)
status = pathlib.Path("/proc/self/status")  # of this program alone, where getrusage keeps the peak of who started it
if status.is_file():
    peak = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
else:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (10 if sys.platform == "darwin" else 0)
print(peak >> 10)
"""


def outcome_and_peak(path: Path, limit: str = "") -> tuple[str, int]:
    """What came of reading a file, and the peak in MiB."""
    child = subprocess.run(
        [sys.executable, "-c", _CHILD, str(path)],
        env={**os.environ, LIMIT: limit},
        capture_output=True,
        text=True,
        check=True,
    )
    said, peak = child.stdout.splitlines()
    return said, int(peak)


def short_cells(path: Path, *, rows: int, columns: int) -> Path:
    """Write texts of one letter, packed."""
    header = ",".join(["item", "model", "score", *(f"c{k}" for k in range(columns))])
    cells = ",a" * columns
    lines = (f"q{row // 2},{'ab'[row % 2]},{row % 2}{cells}" for row in range(rows))
    path.write_bytes(gzip.compress("\n".join([header, *lines]).encode()))
    return path


def long_labels(path: Path, rows: int, chars: int, *, typed: bool) -> Path:
    """Write one long label on every row; the file holds it once, in a dictionary."""
    labels = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * chars]))
    columns = {
        "item": [f"q{row // 2}" for row in range(rows)],
        "model": ["ab"[row % 2] for row in range(rows)],
        "score": [row % 2 for row in range(rows)],
        "label": labels,
    }
    pq.write_table(pa.table(columns), path, compression="zstd", store_schema=typed)
    return path


def test_short_cells_are_counted_by_the_room_that_they_take(tmp_path: Path) -> None:
    path = short_cells(tmp_path / "short.csv.gz", rows=15_000, columns=180)
    assert path.stat().st_size < 200_000
    said, peak = outcome_and_peak(path, "32M")
    assert said.endswith(
        "short.csv.gz: its results take more in memory than 32 MiB; read fewer rows or columns, put the results into a store "
        "(`evalstats ingest`), or raise the limit, as in EVALSTATS_MAX_MEMORY=128M"
    )
    assert peak < 420  # the import takes 70, a block of text 64


@pytest.mark.parametrize("typed", [False, True], ids=["texts", "labels"])
def test_one_long_label_on_every_row_is_never_written_out(tmp_path: Path, *, typed: bool) -> None:
    path = long_labels(tmp_path / "label.parquet", 12_000, 50_000, typed=typed)
    assert path.stat().st_size < 200_000
    said, peak = outcome_and_peak(path)
    assert said == "12000"
    assert peak < 500  # written out it would be 600 beside the import


def test_rows_of_a_parquet_file_are_the_same_however_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = long_labels(tmp_path / "label.parquet", 5_000, 900, typed=True)
    whole = read(path).outcomes
    monkeypatch.setattr("evalstats.schema.memory.BLOCK_BYTES", 100_000)
    assert read(path).outcomes.equals(whole)
    assert whole["item"].to_list() == [f"q{row // 2}" for row in range(5_000)]
    assert whole["label"].n_unique() == 1
    assert whole["locator"][4_999] == "row 4999"


def test_the_limit_is_that_of_all_sources_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.csv").write_text("item,score\n" + "".join(f"q{k},1\n" for k in range(2_000)))
    monkeypatch.setenv(LIMIT, "700K")
    assert read(tmp_path / "one.csv").outcomes.height == 2_000
    with pytest.raises(
        InputError, match=r"the results up to .*three\.csv take more in memory than 700 KiB; .*=2\.73M$"
    ):
        read(tmp_path)


def test_a_neighbour_of_a_file_that_takes_too_much_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short_cells(tmp_path / "large.csv.gz", rows=2_000, columns=100)
    (tmp_path / "small.csv").write_text("item,model,score\nq1,a,1\nq1,b,0\n")
    monkeypatch.setenv(LIMIT, "1M")
    data = read(tmp_path)
    assert data.outcomes.height == 2
    assert [problem.message[:39] for problem in data.problems] == ["its results take more in memory than 1 "]


@pytest.mark.parametrize("said", ["lots", "0G", "-1G", "8", "1e99G", "8 G B"])
def test_a_limit_that_is_no_size_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str) -> None:
    (tmp_path / "x.csv").write_text("item,model,score\nq1,a,1\n")
    monkeypatch.setenv(LIMIT, said)
    with pytest.raises(InputError, match=f"^{LIMIT} is '.*'; a size was expected, such as 8G or 512M$"):
        read(tmp_path / "x.csv")


def test_a_packed_table_takes_what_its_own_columns_take(tmp_path: Path) -> None:
    path = tmp_path / "narrow.csv.gz"
    rows = 600_000
    k = pl.int_range(rows)
    item, model, score = (
        pl.format("q{}", k // 2),
        pl.when(k % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b")),
        k % 3 % 2,
    )
    table = pl.select(item=item, model=model, score=score, domain=pl.lit("law")).write_csv()
    path.write_bytes(gzip.compress(table.encode(), compresslevel=1))
    said, peak = outcome_and_peak(path)
    assert said == str(rows)
    (tmp_path / "small.csv").write_text("item,model,score,domain\nq0,a,0,law\nq0,b,1,law\n")
    _, of_imports = outcome_and_peak(tmp_path / "small.csv")  # 90 to 125, by the kernel that the processor gets
    in_use = rows * (16 + 16 + 8 + 16) >> 20  # views of short texts, and a number
    assert peak < of_imports + 3 * in_use + 96  # a block of text as it is read, and what the allocator keeps back


def test_columns_of_one_value_are_held_once_and_stay_what_they_are() -> None:
    first = {"one": ["x" * 40] * 3, "none": [None] * 3, "many": ["a", None, "a"], "number": [1.0, -0.0, 0.0]}
    then = {"one": ["x" * 40] * 2, "none": [None, 1], "many": [None, None], "number": [0.0, 0.0]}
    other = {"one": ["y" * 40] * 4, "none": [None] * 4, "many": ["a"] * 4, "number": [None] * 4}
    once = HeldOnce()
    frames = [pl.DataFrame(part, schema_overrides={"none": pl.Int64}, strict=False) for part in (first, then, other)]
    for frame in frames:
        assert once.of(frame).equals(frame)
        assert once.of(frame).schema == frame.schema
        assert once.of(frame.head(0)).equals(frame.head(0))


def test_pages_that_unpack_to_more_than_the_limit_are_never_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    rows = 300
    columns = {
        "item": [f"q{row // 2}" for row in range(rows)],
        "model": ["ab"[row % 2] for row in range(rows)],
        "score": [row % 2 for row in range(rows)],
        "answer": pa.chunked_array([pa.array(["x" * 500_000] * 10, pa.large_string())] * (rows // 10)),
    }
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 100_000
    said, peak = outcome_and_peak(path, "100M")
    assert said.endswith(
        "pages.parquet: one of its row groups takes more in memory than 100 MiB; write the file again in smaller row groups, "
        "or, if you trust it, raise the limit, as in EVALSTATS_MAX_MEMORY=400M"
    )
    assert peak < 150  # unpacked, the answers take 143 beside the import, which takes 70 or more


def test_names_as_categories_and_nulls_for_what_is_not_wanted_change_no_score(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    lines = [f"q{row // 3},{'abc'[row % 3]},{row % 2}" for row in range(30)]
    path.write_text("\n".join(["item,model,score", *lines]))
    plain, narrow = read(path), read(path, coded=True, without=("locator",))
    assert [narrow.outcomes.schema[name] for name in ("run", "model", "system")] == [pl.Categorical] * 3
    assert narrow.outcomes["locator"].null_count() == narrow.outcomes.height
    assert plain.outcomes["locator"].null_count() == 0
    texts = narrow.outcomes.with_columns(pl.col(pl.Categorical).cast(pl.String)).drop("locator")
    assert texts.equals(plain.outcomes.drop("locator"))
    assert narrow.runs.equals(plain.runs)
