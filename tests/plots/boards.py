"""Small leaderboards for the tests of figures and pages, with names that a careless page would run."""

from dataclasses import replace

import numpy as np

from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of

HOSTILE_MODELS = (
    "<script>|$x$",
    "a|b\n\n# heading",
    "=cmd() `code` #eval @ref",
    "{{< env HOME >}}",
    "::: {.callout-note}",
    f"{'long-name-' * 9}one",
    f"{'long-name-' * 9}two",
)


def right_or_wrong(n_items: int, skills: list[float], seed: int = 0) -> np.ndarray:
    """Right-or-wrong scores on items of different difficulty, shape (n_items, n_models)."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 1, n_items)[:, np.newaxis]
    return (rng.logistic(size=(n_items, len(skills))) < ease + np.array(skills)).astype(float)


def data_from(scores: np.ndarray, names: tuple[str, ...], **options: object) -> EvalData:
    """Rows of every model; NaN is an item that it never saw."""
    parts = []
    for name, column in zip(names, scores.T, strict=True):
        seen = np.flatnonzero(~np.isnan(column))
        parts.append(rows_of(name, column[seen].tolist(), items=[f"q{i:04d}" for i in seen]))
    return data_of(*parts, **options)


def plain_data() -> EvalData:
    """Four models on 220 items: one shown to be better than the last two, none certain to be the best."""
    return data_from(right_or_wrong(220, [1.4, 1.1, 0.3, -1.0], seed=6), ("north", "east", "south", "west"))


def parts_data() -> EvalData:
    """Two parts that share no item, and a model that saw five: three in one, two in the other, one alone."""
    scores = right_or_wrong(205, [1.2, 0.2, 0.3, 1.6, -0.6, 0.0], seed=2)
    for place, (start, stop) in enumerate([(0, 100), (0, 100), (40, 100), (100, 200), (100, 200), (200, 205)]):
        unseen = np.ones(len(scores), dtype=np.bool_)
        unseen[start:stop] = False
        scores[unseen, place] = np.nan
    return data_from(scores, ("alpha", "beta", "gamma", "delta", "epsilon", "lone"))


def hostile_data() -> EvalData:
    """Seven models with hostile names on 120 items of a hostile benchmark; one failed on all of them."""
    scores = right_or_wrong(120, [1.2, 0.9, 0.3, 0.2, 0.1, 0.5, 0.0], seed=1)
    rows = []
    for place, (name, column) in enumerate(zip(HOSTILE_MODELS, scores.T, strict=True)):
        values = [None if place == 4 or (place == 1 and i < 7) else float(value) for i, value in enumerate(column)]
        rows.append(rows_of(name, values, metric="co|rrect_$x$", benchmark="b $y$ <b>", status="error"))
    return data_of(*rows, note="a note with <i> and $z$")


def plain(**options: object) -> Leaderboard:
    return leaderboard(plain_data(), **options)


def parts() -> Leaderboard:
    return leaderboard(parts_data())


def hostile(**options: object) -> Leaderboard:
    return leaderboard(hostile_data(), **options)


def many(n_models: int, found: Leaderboard) -> Leaderboard:
    """Return a board with more lines, made by hand after `found`; names differ in their middles only."""
    first = found.rows[0]
    rows = tuple(
        replace(
            first,
            name=f"provider/one-rather-long-model-name-{place:02d}-with-its-version-and-date",
            estimate=0.9 - place / 100,
            conf_low=0.85 - place / 100,
            conf_high=0.94 - place / 100,
            rank_low=max(1, place - 2),
            rank_high=min(n_models, place + 4),
            may_be_best=place < 4,
        )
        for place in range(n_models)
    )
    return replace(found, rows=rows, n_models=n_models)


def grouped_data() -> EvalData:
    """Three models on 240 items of 24 templates: who leads hangs on the template, which nobody declared."""
    scores = right_or_wrong(240, [0.0, 0.2, -1.5], seed=5)
    template = np.arange(240) // 10
    rng = np.random.default_rng(9)
    good = rng.random(24) < 0.7
    scores[:, 0] = np.where(good[template], 1.0, 0.0)
    factors = {"template": [f"t{number:02d}" for number in template]}
    names = ("lead", "second", "third")
    return data_of(
        *[rows_of(name, column.tolist(), factors=factors) for name, column in zip(names, scores.T, strict=True)]
    )
