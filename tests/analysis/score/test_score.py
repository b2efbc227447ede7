"""One score at a time."""

import numpy as np
import polars as pl
import pytest

from evalstats import datasets
from evalstats.analysis.score.result import Score, Scores
from evalstats.analysis.score.score import score
from evalstats.document.model import Text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.frames import from_frame
from evalstats.schema.data import EvalData
from tests.analysis.builders import data_of, rows_of, told


def one(data: EvalData, name: str, **options: object) -> Score:
    found = score(data, name, **options)  # type: ignore[arg-type]
    assert isinstance(found, Score)
    return found


def test_a_clean_sweep_has_an_interval_and_says_what_it_shows() -> None:
    found = one(datasets.tenacious_held_out(), "trained")
    # Wilson at 43 of 43: 43 / (43 + z^2) with z^2 = 3.841459 (golden: wilson_trained 91.799).
    assert found.conf_low == pytest.approx(43 / (43 + 3.841458820694124))
    assert found.conf_high == 1.0
    # 1 - .05^(1/43) = 6.73%
    assert any("43 of 43" in note and "below 6.7%" in note for note in told(found))


def test_published_pass_hat_of_the_airline_run() -> None:
    found = one(datasets.tau_airline(), "gpt-4o")
    # README of sierra-research/tau-bench, airline, TC (gpt-4o): .420 .273 .220 .200
    assert found.reliability is not None
    assert [round(row.estimate or 0, 4) for row in found.reliability.of("hat")] == [0.42, 0.2733, 0.22, 0.2]
    assert found.n_items == 50
    assert found.n_trials == 200
    for row in found.reliability.rows:
        assert row.estimate is not None
        assert row.conf_low is not None
        assert row.conf_high is not None
        assert 0 <= row.conf_low < row.estimate < row.conf_high <= 1


def test_every_system_when_none_is_named() -> None:
    found = score(data_of(rows_of("b", [1.0] * 9), rows_of("a", [0.0, 1.0, 1.0])))
    assert isinstance(found, Scores)
    assert [each.name for each in found] == ["a", "b"]


def test_errors_are_left_out_and_counted() -> None:
    found = one(data_of(rows_of("a", [1.0] * 10 + [None] * 5, status="error")), "a")
    assert found.estimate == 1.0
    assert found.n_items == 10
    assert found.n_error == 5


def test_clusters_widen_the_interval() -> None:
    # Ten passages, all right or all wrong: the passages carry the information.
    levels = [f"p{i // 6}" for i in range(60)]
    scores = [float((i // 6) % 2) for i in range(60)]
    data = data_of(rows_of("a", scores, factors={"passage": levels}))
    plain, clustered = one(data, "a", cluster="none"), one(data, "a", cluster="passage")
    assert clustered.rows == one(data, "a").rows  # as compare would find by itself
    assert clustered.estimate == plain.estimate
    assert (clustered.conf_high or 0) - (clustered.conf_low or 0) > 2 * ((plain.conf_high or 0) - (plain.conf_low or 0))
    assert clustered.n_clusters == 10
    assert clustered.clusters == ("passage",)


def test_too_few_clusters_give_no_interval_but_a_reason() -> None:
    levels = [f"p{i % 3}" for i in range(30)]
    found = one(data_of(rows_of("a", [1.0, 0.0, 0.0] * 10, factors={"passage": levels})), "a", cluster="passage")
    assert found.conf_low is None
    assert found.reason is not None
    assert "no interval" in found.summary()


def test_an_unbounded_score_gets_t() -> None:
    values = np.random.default_rng(2).normal(5, 2, 40)
    found = one(data_of(rows_of("a", values.tolist()), kind="continuous"), "a")
    assert found.method == "t"
    assert found.estimate == pytest.approx(values.mean())


def test_a_rubric_is_kept_within_its_bounds() -> None:
    values = [4.0] * 28 + [3.0, 2.0]
    found = one(data_of(rows_of("a", values), kind="bounded", low=0, high=4), "a")
    assert found.conf_high is not None
    assert found.conf_low is not None
    assert found.conf_low < found.estimate < found.conf_high <= 4  # type: ignore[operator]


def test_nothing_scored_cannot_be_answered() -> None:
    with pytest.raises(CannotAnswerError, match="has no scored row"):
        score(data_of(rows_of("a", [None] * 4, status="error")), "a")


def test_no_outcomes_at_all() -> None:
    with pytest.raises(CannotAnswerError, match="no outcomes"):
        score(EvalData(), "a")


def test_unknown_system_lists_what_there_is() -> None:
    with pytest.raises(InputError, match="no model, system or run"):
        score(data_of(rows_of("a", [1.0])), "z")


def test_every_benchmark_and_every_undeclared_metric_is_listed() -> None:
    found = score(
        data_of(
            rows_of("a", [1.0, 0.0], metric="acc"),
            rows_of("a", [0.5, 0.7], metric="f1"),
            rows_of("b", [1.0, 1.0, 0.0], benchmark="other"),
        )
    )
    assert isinstance(found, Scores)
    assert [(each.benchmark, each.metric, each.name) for each in found] == [
        ("bench", "acc", "a"),
        ("bench", "f1", "a"),
        ("other", "correct", "b"),
    ]


def test_a_limit_for_independent_items_is_not_given_for_clusters() -> None:
    found = one(datasets.tenacious_held_out(), "trained", cluster="dimension")
    assert not any("failure rate is below" in note for note in told(found))


def test_two_judges_that_disagree_make_halves_not_wrong_answers() -> None:
    parts = [rows_of("a", scores) for scores in ([0.0] * 21, [1.0] * 21)]
    for judge, part in zip(("j1", "j2"), parts, strict=True):
        for row in part:
            row["judge"] = judge
    found = one(data_of(*parts), "a")
    assert found.estimate == pytest.approx(0.5)


def test_crossed_clusters_are_never_narrower_than_either() -> None:
    rng = np.random.default_rng(3)
    effect = rng.normal(0, 1.5, 10)
    p = 1 / (1 + np.exp(-effect[np.arange(100) % 10]))
    factors = {"user": [f"u{i // 10}" for i in range(100)], "template": [f"t{i % 10}" for i in range(100)]}
    data = data_of(rows_of("a", (rng.random(100) < p).astype(float).tolist(), factors=factors))
    both = one(data, "a", cluster=["user", "template"])
    for name in factors:
        alone = one(data, "a", cluster=name)
        assert (both.conf_low or 1) <= (alone.conf_low or 0)
        assert (both.conf_high or 0) >= (alone.conf_high or 1)


def test_a_clean_sweep_of_a_bad_thing_is_not_called_success() -> None:
    data = data_of(rows_of("a", [0.0] * 43), kind="binary", higher_is_better=False)
    (note,) = told(one(data, "a"))
    assert "share of items with correct is below 6.7%" in note


def test_benchmarks_of_few_items_are_named_in_one_line() -> None:
    rows = [("A", 1), ("B", 3), ("C", 12)]
    frame = [{"item": str(k), "model": "m", "benchmark": name, "score": k % 2} for name, n in rows for k in range(n)]
    found = score(from_frame(pl.DataFrame(frame), item="item", score="score", model="model", benchmark="benchmark"))
    few = [note.text for note in found.document().notes if "reliable" in note.text]
    assert few == ["Fewer than 10 items, where no method is reliable: A (1) and B (3)"]


def test_of_several_systems_each_method_and_note_is_told_of_those_it_is_of() -> None:
    data = data_of(rows_of("a", [1.0] * 43), rows_of("b", [1.0] * 20 + [0.0] * 20))
    shares = data_of(rows_of("c", [1.0, 0.5] * 20), kind="proportion")
    rows = (one(data, "a"), one(data, "b"), one(shares, "c"))
    page = Scores(rows=rows).document()
    how = [
        block.text for part in page.method if part.id == "method" for block in part.blocks if isinstance(block, Text)
    ]
    assert [text.partition(".")[0] for text in how] == ["a and b: Wilson", "c: variance-matched Wilson"]
    (note,) = (note.text for note in page.notes if "43 of 43" in note.text)
    assert note.endswith(" (a)")


def test_a_table_whose_scores_are_all_empty_says_so() -> None:
    rows = pl.DataFrame(
        {"item": ["a", "b"], "model": ["m", "m"], "score": [None, None]}, schema_overrides={"score": pl.Float64}
    )
    with pytest.raises(CannotAnswerError, match="no row of 'score' has a score, of 2"):
        score(from_frame(rows, item="item", model="model", score="score"))


def test_which_way_is_better_is_asked_only_where_it_decides() -> None:
    """A score alone reads the same; above or below a claim is good or bad."""
    data = data_of(rows_of("bot", [0.0] * 50, metric="harmful"))
    assert "lower better" not in one(data, "bot").document().headline
    assert "is lower better?" in one(data, "bot", against=0.2).document().headline


def test_what_holds_for_one_metric_of_a_system_names_the_metric() -> None:
    rows = [{"id": f"q{k}", "em": k % 2, "f1": k % 3 / 2 if k < 6 else None} for k in range(40)]
    found = score(from_frame(rows, item="id", score=["em", "f1"], model="@m"))
    assert isinstance(found, Scores)
    notes = [note.text for note in found.document().notes if "reliable" in note.text]
    assert notes == ["Only 6 items: no method is reliable below 10 (f1)"]
