"""Delimited text read as a whole, against Python's own reader of it."""

import csv
import io
from pathlib import Path

import numpy as np
import polars as pl

from evalstats.loaders.delimited import iter_frames
from tests.cli.running import run

_CELLS = ["1", "0.5", "q2", "", '""', '"a"', '" a"', " x", '"c,d"', '"say ""hi"""', '"x\ny"', '"\r\n"', "\t", "\u00a0é"]
_ODD = ['a"b', '"ab"c', '"open']


def expected(text: str, width: int) -> tuple[list[tuple[str | None, ...]], list[int], int] | None:
    """Return the rows with a value that fit the header, the line of each, and how many do not; None where it is no table."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    rows: list[tuple[str | None, ...]] = []
    places: list[int] = []
    n_bad, line = 0, 1
    try:
        for cells in reader:
            has_value = any(map(str.strip, cells))
            if has_value and len(cells) == width:
                rows.append((*(cell.strip() or None for cell in cells),))
                places.append(line)
            n_bad += has_value and len(cells) != width
            line = reader.line_num + 1
    except csv.Error:
        return None
    return rows[1:], places[1:], n_bad


def test_cells_and_their_lines_are_those_of_a_reader_row_by_row(tmp_path: Path) -> None:
    rng, path, n_read = np.random.default_rng(0), tmp_path / "t.csv", 0
    for _ in range(600):
        width, newline = int(rng.integers(2, 4)), str(rng.choice(["\n", "\r\n"]))
        cells = _CELLS + _ODD if rng.random() < 0.2 else _CELLS
        widths = [width if rng.random() < 0.95 else width + int(rng.choice([-1, 1])) for _ in range(rng.integers(1, 6))]
        rows = [",".join(["a", "b", "c"][:width]), *(",".join(rng.choice(cells, size=n)) for n in widths)]
        text = newline.join(rows) + str(rng.choice([newline, newline, ""]))
        wanted = expected(text, width)
        if wanted is None:
            continue
        path.write_text(text, encoding="utf-8", newline="")
        bad: list[str] = []
        frames = list(iter_frames(path, ",", n_columns=width, most_rows=9, most_chars=1_000, bad=bad.append))
        found = [row for frame, _ in frames for row in frame.rows()]
        places = [place for _, lines in frames for place in lines]
        assert (found, places, len(bad)) == wanted, text
        assert all(dtype == pl.String for frame, _ in frames for dtype in frame.dtypes)
        n_read += 1
    assert n_read > 350


def test_a_mark_of_the_byte_order_in_a_cell_hides_no_short_row(tmp_path: Path) -> None:
    path, bad = tmp_path / "t.csv", list[str]()
    path.write_text("a,b,c,d\n\ufeffx,1,2,3\ny\n", encoding="utf-8")
    ((frame, lines),) = iter_frames(path, ",", n_columns=4, most_rows=9, most_chars=1_000, bad=bad.append)
    assert (frame.rows(), [*lines], len(bad)) == ([("\ufeffx", "1", "2", "3")], [2], 1)


def test_a_row_of_blank_cells_is_no_row(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("id,correct\n" + "".join(f"{k},{k % 2}\n" for k in range(9)) + ",\n , \n")
    found = run("score", tmp_path / "t.csv")
    assert "On 9 items" in found.stdout
