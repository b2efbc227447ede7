"""Savings that runaway answers, which nobody saw, would undo: said by every question about costs."""

import numpy as np
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.frontier.frontier import frontier
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.score.score import score
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of, told

WORDS = "at 10 times the median on"


def costs(n: int, saving: float) -> EvalData:
    rng = np.random.default_rng(2)
    base = rng.lognormal(0.0, 0.2, n)
    sides = {"old": base, "new": base * (1 - saving) * rng.lognormal(0.0, 0.05, n)}
    rows = [rows_of(name, each.tolist()) for name, each in sides.items()]
    return data_of(*rows, kind="continuous", low=0.0, higher_is_better=False)


@pytest.mark.parametrize(("n", "saving", "said"), [(80, 0.15, True), (80, 0.6, False), (600, 0.15, False)])
def test_a_saving_that_unseen_runaways_would_undo_says_so(n: int, saving: float, *, said: bool) -> None:
    data = costs(n, saving)
    found = compare(data, "old", "new")
    assert found.verdict == "better"
    (words,) = [note.text for note in found.qualifiers if WORDS in note.text] or [""]
    assert bool(words) == said
    assert any(WORDS in text for text in told(leaderboard(data))) == said
    if said:
        assert words.startswith("Answers of the candidate at 10 times the median on 1.")
        assert "80 items without one cannot exclude 3.7%" in words


def test_a_mean_cost_says_what_its_items_cannot_exclude() -> None:
    lines = [text for text in told(score(costs(80, 0.1), "old")) if WORDS in text]
    assert len(lines) == 1
    assert "take the mean above its interval" in lines[0]
    assert not any(WORDS in text for text in told(score(data_of(rows_of("a", [1.0, 0.0] * 40)), "a")))


def test_the_table_of_costs_and_the_frontier_say_so() -> None:
    rng = np.random.default_rng(2)
    base = rng.lognormal(0.0, 0.2, 80)
    rows = []
    for name, saving in (("old", 1.0), ("new", 0.85)):
        price = base * saving * rng.lognormal(0.0, 0.05, 80)
        rows.extend(
            {**row, "cost_usd": float(c)}
            for row, c in zip(rows_of(name, [1.0, 0.0, 1.0, 1.0] * 20), price, strict=True)
        )
    data = data_of(rows)
    (row,) = [each for each in compare(data, "old", "new").costs if each.quantity == "cost_usd"]
    assert WORDS in row.note
    assert any(WORDS in text and "undo the lead in cost" in text for text in told(frontier(data)))
