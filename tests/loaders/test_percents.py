"""Right-or-wrong scores in percent, and scores that rounding puts outside 0 to 1."""

from pathlib import Path

import numpy as np
import pytest

import evalstats as es
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData


def pair(first: np.ndarray, second: np.ndarray) -> EvalData:
    n = len(first)
    rows = {"item": [*range(n)] * 2, "model": ["a"] * n + ["b"] * n, "score": [*first.tolist(), *second.tolist()]}
    return from_frame(rows, item="item", score="score", model="model")


def bounds(data: EvalData) -> tuple[object, ...]:
    (row,) = data.metrics.select("kind", "low", "high", "unit").rows()
    return row


@pytest.mark.parametrize(("wrong", "right"), [(0.0, 100.0), (100.0, 0.0)])
def test_nothing_but_0_and_100_is_right_or_wrong_in_percent(wrong: float, right: float) -> None:
    """A t on 39 equal differences and one of 100 would exclude a loss of 7 points; of 40 items it happens at 93% too."""
    every = np.full(40, right)
    one_less = every.copy()
    one_less[0] = wrong
    data = pair(every, one_less)
    assert bounds(data) == ("bounded", 0.0, 100.0, "percent")
    result = es.compare(data, "a", "b", margin=7)
    assert result.verdict != "equivalent"
    assert result.at_margin is not None
    assert result.at_margin.noninferior == (right < wrong)
    scores = es.score(data)
    assert isinstance(scores, es.Scores)
    assert all(0.0 <= (row.conf_low or 0.0) <= row.estimate <= (row.conf_high or 0.0) <= 100.0 for row in scores)
    assert any("0 or 100 and nothing else" in problem.message for problem in data.problems)


def test_the_unit_of_a_metric_that_nobody_asked_about_is_no_news(tmp_path: Path) -> None:
    rows = "".join(f"q{i},{m},{i % 2},{1 + i % 5}\n" for i in range(30) for m in "ab")
    (tmp_path / "t.csv").write_text(f"id,model,correct,helpfulness\n{rows}", encoding="utf-8")
    said = {
        metrics: [each.message for each in es.read(tmp_path / "t.csv", metrics=metrics).problems]
        for metrics in ((), ("correct",), ("helpfulness",))
    }
    told = {metrics: any("their scale is not known" in text for text in texts) for metrics, texts in said.items()}
    assert told == {(): True, ("correct",): False, ("helpfulness",): True}


@pytest.mark.parametrize("other", [50.0, 1.0])
def test_any_other_number_makes_it_a_score_without_known_bounds(other: float) -> None:
    scores = np.array([0.0, 100.0] * 20)
    assert bounds(pair(scores, np.where(np.arange(40) == 7, other, scores))) == ("continuous", None, None, None)


@pytest.mark.parametrize("end", [1.0000000000000002, -1e-17])
def test_rounding_does_not_change_the_scale_of_a_metric(end: float) -> None:
    scores = np.linspace(0.1, 0.9, 40)
    data = pair(scores, np.where(np.arange(40) == 7, end, scores))
    assert bounds(data) == ("bounded", 0.0, 1.0, "proportion")
    assert data.outcomes["score"].is_between(0.0, 1.0).all()


def test_what_is_more_than_rounding_is_kept() -> None:
    data = pair(np.linspace(0.1, 0.9, 40), np.linspace(0.1, 1.0001, 40))
    assert bounds(data)[:3] == ("continuous", None, None)
    assert data.outcomes["score"].max() == 1.0001
