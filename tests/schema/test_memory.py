"""What tables take in memory is counted as it is, not as the bytes of their texts."""

import polars as pl
import pyarrow as pa
import pytest

from evalstats.errors import InputError
from evalstats.schema.memory import LIMIT, HeldOnce, InStep, held_bytes, limit_of, most_bytes, pieces, too_much


@pytest.mark.parametrize(
    "values",
    [["a"] * 5_000, ["a word of 21 letters."] * 5_000, [None] * 5_000, list(range(5_000)), [1.5, None] * 2_500],
    ids=["short", "long", "nulls", "whole", "numbers"],
)
def test_no_column_takes_more_than_is_counted(values: list[object]) -> None:
    dtype = pl.String if values[0] is None else None
    frame = pl.DataFrame({"a": pl.Series(values, dtype=dtype)})
    # Arrow tells what the buffers take; views of texts are kept as they are.
    column = frame.to_arrow(compat_level=pl.CompatLevel.newest())["a"]
    taken = sum(buffer.size for chunk in column.chunks for buffer in chunk.buffers() if buffer is not None)
    assert isinstance(column, pa.ChunkedArray)
    assert taken <= held_bytes(frame) + 1_024
    assert held_bytes(frame) <= 2 * taken + 1_024


def test_labels_are_counted_as_the_texts_that_they_stand_for() -> None:
    labels = pl.Series(["x" * 1_000] * 100)
    for dtype in (pl.Categorical(), pl.Enum(["x" * 1_000])):
        assert held_bytes(labels.cast(dtype).to_frame()) >= held_bytes(labels.to_frame())
    nothing = pl.Series([None, None], dtype=pl.Categorical)
    assert held_bytes(nothing.to_frame()) < 100


def test_texts_in_lists_and_objects_are_counted() -> None:
    lists = pl.DataFrame({"a": [["x", "y"]] * 1_000})
    objects = pl.DataFrame({"a": [{"b": "x", "c": 1}] * 1_000})
    assert held_bytes(lists) >= 32_000
    assert held_bytes(objects) >= 24_000


def test_pieces_are_the_frame_and_each_fits() -> None:
    frame = pl.DataFrame({"a": ["x" * (10_000 if k % 97 == 0 else 1) for k in range(1_000)], "b": range(1_000)})
    cut = list(pieces(frame, 15_000))
    assert pl.concat(cut).equals(frame)
    assert all(held_bytes(piece) <= 15_000 for piece in cut)
    assert [piece.height for piece in pieces(frame.head(1), 10)] == [1]
    assert [piece.height for piece in pieces(frame.clear(), 10)] == [0]


@pytest.mark.parametrize(("said", "limit"), [("", 2 << 30), ("8G", 8 << 30), ("512 mib", 512 << 20), ("1.5T", 3 << 39)])
def test_the_limit_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch, said: str, limit: int) -> None:
    monkeypatch.setenv(LIMIT, said)
    assert most_bytes() == limit


def test_an_excess_names_the_limit_and_one_that_it_takes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT, "1K")
    assert too_much(1024, limit_of([])) == ""
    said = too_much(1025, limit_of([]))
    assert said.startswith("in memory than 1 KiB; ")
    monkeypatch.setenv(LIMIT, said.rpartition("=")[2])
    assert most_bytes() == 4 << 10
    monkeypatch.setenv(LIMIT, "G")
    with pytest.raises(InputError):
        limit_of([])


def test_large_files_may_take_a_hundred_times_their_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIMIT, raising=False)
    assert most_bytes(1000) == 2 << 30
    assert most_bytes(1 << 30) == 100 << 30
    monkeypatch.setenv(LIMIT, "4K")
    assert most_bytes(1 << 30) == 4 << 10


def test_parts_that_are_held_are_cut_alike() -> None:
    """Else Polars copies the whole table, of which most is shared, whenever rows of it are chosen."""
    once = HeldOnce()
    item, word = pl.Series("item", ["a", "b"]), pl.Series("word", ["x"])
    parts = [
        once.of(pl.DataFrame([item.append(item), word.new_from_index(0, 4)])),
        once.of(pl.DataFrame([pl.Series("item", ["c", "d"]), word.append(word.clone())])),
    ]
    table = pl.concat(parts, rechunk=False)
    assert table.n_chunks(strategy="all") == [2, 2]
    assert table["item"].to_list() == ["a", "b", "a", "b", "c", "d"]


def test_what_parts_share_counts_once() -> None:
    once = HeldOnce()
    shared = pl.DataFrame({"trial": [0] * 100, "judge": pl.Series([None] * 100, dtype=pl.String)})
    items = [pl.DataFrame({"item": [f"q{place}-{k}" for k in range(100)]}) for place in range(3)]
    for own in items:
        once.of(shared.hstack(own))
    assert once.n_bytes == held_bytes(shared) + sum(map(held_bytes, items))


def test_systems_that_answered_the_same_items_hold_their_names_once() -> None:
    names = [f"item number {k}" for k in range(1000)]
    rows = pl.DataFrame({"run": ["a"] * 1000 + ["b"] * 1000 + ["c"] * 999, "item": names + names + names[1:]})
    step = InStep(300)
    blocks = [rows.slice(first, 170) for first in range(0, rows.height, 170)]
    parts = [*(part for block in blocks for part in step.of(block)), step.rest()]
    assert [part.height for part in parts] == [300, 300, 300, 100, 300, 300, 300, 100, 300, 300, 300, 99]
    once, alone = HeldOnce(), HeldOnce()
    held = [once.of(part.select("item")) for part in parts]
    assert pl.concat(held)["item"].equals(rows["item"])
    for part in parts[:4] + parts[8:]:
        alone.of(part.select("item"))
    assert once.n_bytes == alone.n_bytes  # those of b take nothing


def test_rows_in_any_order_of_runs_stay_in_theirs() -> None:
    rows = pl.DataFrame({"run": list("ab" * 50 + "b" * 70), "item": [f"q{k}" for k in range(170)]})
    for size in (1, 7, 17, 40, 170):
        step = InStep(30)
        parts = [part for first in range(0, 170, size) for part in step.of(rows.slice(first, size))]
        parts += [rest for rest in (step.rest(),) if rest.height]
        assert pl.concat(parts).equals(rows)
