"""What a Parquet footer says of the size of its rows, against pyarrow's reading of the same footer."""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.parquet_sizes import check_whole, row_groups, rows_at_once
from evalstats.schema.memory import LIMIT


def odd_frame(rows: int) -> pl.DataFrame:
    """Columns of every kind that a footer describes in its own way."""
    return pl.DataFrame({f"c{k}": np.arange(rows, dtype=np.float64) for k in range(20)}).with_columns(
        pl.lit("é").alias("text"),
        pl.lit([1, 2]).alias("list"),
        pl.struct(a=1, b=pl.lit("x" * 300)).alias("struct"),
        pl.lit(None, dtype=pl.Boolean).alias("null"),
        pl.lit(b"\x00").alias("bytes"),
    )


@pytest.mark.parametrize("writer", ["polars", "pyarrow"])
def test_sizes_are_those_that_pyarrow_reads(tmp_path: Path, writer: str) -> None:
    path = tmp_path / "odd.parquet"
    if writer == "polars":
        odd_frame(500).write_parquet(path, row_group_size=90)
    else:
        pq.write_table(odd_frame(500).to_arrow(), path, row_group_size=90, compression="gzip")
    told = pq.ParquetFile(path).metadata
    found = row_groups(path)
    assert len(found) == told.num_row_groups > 5
    for k, group in enumerate(found):
        own = told.row_group(k)
        sizes: dict[str, int] = {}
        for j in range(own.num_columns):
            name = own.column(j).path_in_schema.partition(".")[0]
            sizes[name] = sizes.get(name, 0) + own.column(j).total_uncompressed_size
        assert (group.n_rows, group.unpacked) == (own.num_rows, sizes)
        assert group.of(None) == sum(sizes.values())
        assert group.of(["list", "c3"]) == sizes["list"] + sizes["c3"]


def test_long_rows_are_read_few_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.parquet"
    monkeypatch.setattr("evalstats.loaders.parquet_sizes.BLOCK_BYTES", 1 << 20)
    texts = pa.array(["x" * (1 << 14)] * 100, pa.large_string())
    pq.write_table(pa.table({"a": range(100), "text": texts}), path, use_dictionary=False, compression="zstd")
    assert path.stat().st_size < 100_000
    assert 60 <= rows_at_once(path, row_groups(path), 5_000) <= 64  # of 16 KiB, in a block of 1 MiB
    assert rows_at_once(path, row_groups(path), 5_000, ["a"]) == 5_000
    assert rows_at_once(path, row_groups(path), 10) == 10


def test_a_row_group_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "long.parquet"
    texts = pa.array(["x" * (1 << 20)] * 20, pa.large_string())
    pq.write_table(pa.table({"a": range(20), "text": texts}), path, use_dictionary=False, compression="zstd")
    monkeypatch.setenv(LIMIT, "16M")
    with pytest.raises(UnreadableFileError, match=r"row groups takes more in memory than 16 MiB; .*smaller.*=64M$"):
        rows_at_once(path, row_groups(path), 5_000)
    assert rows_at_once(path, row_groups(path), 5_000, ["a"]) == 5_000
    monkeypatch.setenv(LIMIT, "64M")
    assert rows_at_once(path, row_groups(path), 5_000) < 64
    check_whole(path)


def test_rows_of_one_value_count_for_what_they_take_once_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "alike.parquet"
    pl.DataFrame({"a": np.zeros(3_000_000), "b": np.zeros(3_000_000)}).write_parquet(path)
    assert path.stat().st_size < 100_000
    check_whole(path)
    monkeypatch.setenv(LIMIT, "40M")  # 46 MiB are needed
    with pytest.raises(UnreadableFileError, match=r"its rows take more in memory than 40 MiB; "):
        check_whole(path)


def test_a_damaged_footer_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "odd.parquet"
    odd_frame(50).write_parquet(path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(400):
        data = bytearray(whole)
        data[len(whole) - 8 - length + int(rng.integers(length))] = int(rng.integers(256))
        path.write_bytes(bytes(data))
        try:
            row_groups(path)
        except UnreadableFileError as error:
            assert str(error).startswith(f"{path}: is not a Parquet file that can be read (")  # noqa: PT017 - many damages
            refused += 1
    assert refused > 30
    for cut in (b"", whole[:7], whole[:-1], whole[-200:], b"PAR1" * 3):
        path.write_bytes(cut)
        with pytest.raises(UnreadableFileError, match="is not a Parquet file that can be read"):
            row_groups(path)
