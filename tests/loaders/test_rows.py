"""The kind of a metric as told from its scores, and keys that stand twice."""

from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.cli.ingest_run import ingest
from evalstats.errors import InputError
from evalstats.loaders import blocks, tidy
from evalstats.loaders.registry import read
from evalstats.loaders.rows import GroupCounter, Ranges, held
from evalstats.schema.tables import frame_from_rows


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, 1.0], ("binary", 0.0, 1.0)),
        ([1.0, 1.0], ("binary", 0.0, 1.0)),
        ([0.0, 0.5], ("bounded", 0.0, 1.0)),
        ([0.0, 1.5], ("continuous", None, None)),
        ([-0.1, 1.0], ("continuous", None, None)),
        ([None], ("binary", 0.0, 1.0)),
        ([None, 1.0], ("binary", 0.0, 1.0)),
    ],
)
def test_kind_of_scores(scores: list[float | None], expected: tuple[object, ...]) -> None:
    ranges = Ranges()
    for score in scores:
        ranges.add("b", "m", score)
    row = ranges.row("b", "m")
    assert (row["kind"], row["low"], row["high"]) == expected


def test_average_of_binary_parts_is_a_proportion_even_where_it_is_whole() -> None:
    ranges = Ranges()
    ranges.add("b", "m", 1.0, average=True)
    assert ranges.row("b", "m")["kind"] == "proportion"


def test_benchmarks_are_apart_and_rows_are_rows_of_metrics() -> None:
    ranges = Ranges()
    ranges.add("b", "m", 1.0)
    ranges.add("c", "m", 7.0)
    assert list(ranges) == [("b", "m"), ("c", "m")]
    frame = frame_from_rows([ranges.row(*key) for key in ranges], "metrics")
    assert frame["kind"].to_list() == ["binary", "continuous"]
    assert frame["higher_is_better"].to_list() == [None, None]


def test_a_date_or_bytes_of_a_parquet_file_are_held_as_text() -> None:
    assert held(date(2026, 1, 2)) == '"2026-01-02"'
    assert held([b"x"]) == "[\"b'x'\"]"


@pytest.mark.parametrize(
    ("metric", "scores", "kind"),
    [
        ("cost", (0.02, 0.3), "continuous"),
        ("latency_s", (0.5, 0.9), "continuous"),
        ("f1", (0.02, 0.3), "bounded"),
        ("cost_efficiency", (0.02, 0.3), "bounded"),
        ("on_time", (0.0, 1.0), "binary"),
    ],
)
def test_dollars_and_seconds_below_1_are_no_shares(metric: str, scores: tuple[float, ...], kind: str) -> None:
    seen = Ranges()
    for score in scores:
        seen.add("b", metric, score)
    row = seen.row("b", metric)
    assert row["kind"] == kind
    assert (row["low"], row["high"]) == ((None, None) if kind == "continuous" else (0.0, 1.0))


def test_a_1_among_0_and_100_is_no_percent() -> None:
    seen = Ranges()
    seen.add_frame(pl.DataFrame({"benchmark": "b", "metric": "m", "score": [0.0, 1.0, 100.0]}))
    assert not seen.in_percent("b", "m")
    assert seen.row("b", "m")["kind"] == "continuous"


def test_a_key_is_known_again_whichever_frame_it_stood_in() -> None:
    rng = np.random.default_rng(0)
    keys, seen = GroupCounter(), set[int]()
    for height in (5, 1, 40, 3, 3, 0, 80, 7):
        ids: list[int] = rng.integers(0, 150, height).tolist()
        before = [{*seen, *ids[:k]} for k in range(height)]
        again = keys.again(pl.DataFrame({"id": ids}, schema={"id": pl.Int64})).to_list()
        assert again == [one in known for one, known in zip(ids, before, strict=True)]
        seen.update(ids)


def test_a_late_repeat_of_a_long_file_is_refused_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tidy, "MOST_KEYS", 4)
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 4)
    path = tmp_path / "long.csv"
    path.write_text("item,model,score\n" + "".join(f"q{n},m,1\n" for n in (*range(20), 13)))
    with pytest.raises(InputError, match=r"share their key.*item='q13'"):
        read(path, strict=True)
    [report] = ingest([path], tmp_path / "store").sources
    assert report.status == "failed"
    assert "more than one row has the key" in report.reason
    assert "item='q13'" in report.reason


def test_a_repeat_in_a_later_block_is_named_with_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 4)
    path = tmp_path / "twice.csv"
    path.write_text("item,model,score\n" + "".join(f"q{n},m,1\n" for n in (*range(10), 5, 11)))
    with pytest.raises(InputError, match=r"1 id stands more than once .*\(line 12: model 'm', item 'q5'\)"):
        read(path, strict=True)


def test_rows_are_numbered_within_their_groups_as_if_all_frames_were_one() -> None:
    rng = np.random.default_rng(0)
    counter, met = GroupCounter(), Counter[tuple[str, int]]()
    for height in (50, 0, 1, 400, 200):
        keys = [("ab"[rng.integers(2)], int(rng.integers(40))) for _ in range(height)]
        expected: list[int] = []
        for key in keys:
            expected.append(met[key])
            met[key] += 1
        frame = pl.DataFrame(keys, schema={"run": pl.String, "item": pl.Int64}, orient="row")
        assert counter.next(frame).to_list() == expected
