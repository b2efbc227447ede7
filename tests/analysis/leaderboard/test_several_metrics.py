"""A board for each of several metrics: as it is alone at Bonferroni's level, and one table of all."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.leaderboard.result import Leaderboards
from evalstats.document.model import Section
from evalstats.errors import InputError
from tests.analysis.builders import printed


def frame(models: str = "abc") -> pl.DataFrame:
    """Of each model the further one, the better it is in `graded` and the cheaper; which is right more often stays open."""
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        [
            {
                "item": f"q{i}",
                "model": model,
                "right": int(rng.random() < 0.6),
                "graded": float(np.clip(rng.normal(0.3 + 0.2 * place, 0.1), 0, 1)),
                "cost": float(rng.lognormal(-place, 0.2)),
            }
            for place, model in enumerate(models)
            for i in range(80)
        ]
    )


def data(table: pl.DataFrame | None = None) -> es.EvalData:
    return es.from_frame(
        frame() if table is None else table, item="item", model="model", score=["right", "graded", "cost:lower"]
    )


@pytest.fixture(scope="module")
def found() -> Leaderboards:
    return es.leaderboard(data(), metric=["right", "graded", "cost"])


def test_each_is_the_board_of_its_metric_at_the_adjusted_level(found: Leaderboards) -> None:
    assert (found.metrics, found.conf_level, found.answered) == (("right", "graded", "cost"), 0.95, True)
    for name in found.metrics:
        alone = es.leaderboard(data(), metric=name, conf_level=1 - 0.05 / 3)
        assert (found.row(name).rows, found.row(name).pairs) == (alone.rows, alone.pairs)


def test_all_are_answered_where_none_is_named_and_none_is_the_headline(found: Leaderboards) -> None:
    unnamed: Any = es.leaderboard(data())
    assert unnamed.rows == found.rows
    plan = es.Plan(primary={"table": "graded"}, conf_level=0.9)
    assert es.leaderboard(data(), plan=plan).metric == "graded"
    planned = es.leaderboard(data(), metric=("right", "graded"), plan=replace(plan, primary={}))
    assert (planned.conf_level, planned.row("right").conf_level) == (0.9, pytest.approx(0.95))
    assert not any("Departs" in note.text for note in planned.row("right").notes)


def test_one_table_names_who_leads_where_and_whether_it_is_clear(found: Leaderboards) -> None:
    document = found.document()
    assert document.label == "one best in 2 of 3"
    assert document.headline == "c leads in right, graded and cost; clear in graded and cost alone"
    table = document.tables["models"]
    assert [column.title for column in table.columns] == ["Model", "right", "graded", "cost (lower is better)"]
    of_c = next(row for row in table.rows if row[0] == "c")
    assert str(of_c[2]).endswith(" (1)")
    assert [section.heading.partition(":")[0] for section in document.evidence] == ["right", "graded", "cost"]
    figures = [block for section in document.evidence if isinstance(section, Section) for block in section.blocks]
    assert len({figure.id for figure in figures}) == 3
    assert max(map(len, printed(found, full=True).splitlines())) <= 80


def test_a_metric_that_some_model_lacks_is_left_out_by_name() -> None:
    whole = data()
    lacking = whole.outcomes.filter((pl.col("model") != "a") | (pl.col("metric") != "graded"))
    found: Any = es.leaderboard(replace(whole, outcomes=lacking))
    assert found.metrics == ("right", "cost")
    assert any(note.text.startswith("Not compared in graded") for note in found.notes)


def test_what_speaks_of_one_metric_is_refused() -> None:
    for option in ({"higher_is_better": True}, {"pass_hat": 2}):
        with pytest.raises(InputError, match="metric"):
            es.leaderboard(data(), metric=["right", "graded"], **option)
    with pytest.raises(InputError, match="'right' is named twice"):
        es.leaderboard(data(), metric=["right", "right"])


def test_boards_against_a_baseline_speak_for_themselves() -> None:
    found = es.leaderboard(data(), metric=["right", "graded"], baseline="a").document()
    assert found.label == "by 2 metrics"
    assert "graded: " in found.headline
    assert "better than" in found.headline
