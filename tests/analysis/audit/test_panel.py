"""The rows of one metric, where each stands, and for how many rows of the files."""

import numpy as np
import polars as pl

import evalstats as es
from evalstats.analysis.audit.panel import Panel, panels_of, rows_of_models


def panel_of(rows: pl.DataFrame) -> Panel:
    data = es.from_frame(rows, item="item", model="model", score="score", trial="trial")
    return next(panels_of(data, rows_of_models(data, None), None, None, all_metrics=False, conf_level=0.95))


def test_of_several_trials_the_first_row_counts_whatever_their_number() -> None:
    draw = np.random.default_rng(3)
    cells = [(f"q{i}", f"m{j}", k) for i in range(30) for j in range(3) for k in range(7) if draw.random() < 0.9]
    rows = pl.DataFrame(cells, schema=["item", "model", "trial"], orient="row").sample(
        fraction=1.0, shuffle=True, seed=1
    )
    panel = panel_of(rows.with_columns(pl.Series("score", draw.integers(0, 2, rows.height).astype(float))))
    place = np.arange(panel.rows.height, dtype=np.float64)
    wanted = np.full(panel.shape, np.nan)
    for row, (item, model) in enumerate(zip(panel.item, panel.model, strict=True)):
        wanted[item, model] = row if np.isnan(wanted[item, model]) else wanted[item, model]
    assert np.array_equal(panel.firsts(place, np.nan), wanted, equal_nan=True)
    assert panel.firsts(place.astype(np.int64), -1).max() == np.nanmax(wanted)


def test_rows_stand_for_one_row_of_the_files_each() -> None:
    rows = pl.DataFrame(
        {"item": ["a", "b", "c"], "model": ["m", "m", "n"], "score": [1.0, 0.0, 1.0], "trial": [0, 0, 0]}
    )
    panel = panel_of(rows)
    assert (panel.n_rows, panel.number(panel.score == 1)) == (3, 2)
    assert panel.each(panel.score == 1).tolist() == np.flatnonzero(panel.score == 1).tolist()
