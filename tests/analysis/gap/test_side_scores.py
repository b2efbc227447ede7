"""Each side becomes scores with their covariance, from outcomes, votes or published numbers."""

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.arena.arena import arena
from evalstats.analysis.gap.shared_models import on_one_scale
from evalstats.analysis.gap.side_scores import by_setting, side_scores, table_of
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData, combine
from evalstats.schema.tables import frame_from_rows
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap.notes import lines_of

ROUNDING = 1e-10


def side(data: EvalData, *, live: bool, metric: str | None = None, cluster: str | None = None, factors=()):
    return side_scores(data, live=live, metric=metric, cluster=cluster, factors=factors, conf_level=0.95)


def published(estimates: list[float], errors: list[float | None], **columns: object) -> EvalData:
    rows = [
        {
            "model": f"m{j}",
            "benchmark": "bench",
            "metric": "score",
            "estimate": value,
            "std_error": error,
            "setting": "lab",
            **columns,
        }
        for j, (value, error) in enumerate(zip(estimates, errors, strict=True))
    ]
    return EvalData(aggregates=frame_from_rows(rows, "aggregates"))


@pytest.fixture(scope="module")
def both():
    return simulate_lab_live(8, n_items=70, n_users=120, seed=3)


def test_lab_scores_are_means_over_items_that_share_their_luck(both) -> None:
    found = side(both.lab, live=False)
    means = both.lab.outcomes.group_by("model").agg(pl.col("score").mean()).sort("model")
    np.testing.assert_allclose(found.estimate, means["score"].to_numpy(), atol=ROUNDING)
    assert found.covariance is not None
    off = found.covariance[~np.eye(8, dtype=bool)]
    assert off.mean() > 0  # hard items are hard for all


def test_the_covariance_of_the_lab_is_that_of_its_item_means(both) -> None:
    found = side(both.lab, live=False)
    wide = (
        both.lab.outcomes.with_columns(unit=pl.concat_str("item", "variant", separator="/"))
        .pivot("model", index=["item", "unit"], values="score")
        .sort("item")
    )
    values = wide.select(sorted(set(wide.columns) - {"item", "unit"})).to_numpy()
    assert wide["item"].n_unique() == wide.height  # items have no variants here
    np.testing.assert_allclose(
        found.covariance, np.cov(values, rowvar=False) / wide.height, rtol=1e-8, atol=ROUNDING**1.5
    )


def test_live_rows_are_clustered_by_user(both) -> None:
    found = side(both.live, live=True)
    assert found.clusters == ("user",)
    own = both.live.outcomes.filter(pl.col("model") == found.models[0])
    assert found.n[0] == own.height
    assert found.n_clusters[0] == own["user"].n_unique()
    alone = side(both.live, live=True, cluster="none")
    assert np.sqrt(np.diag(found.covariance)).mean() > np.sqrt(np.diag(alone.covariance)).mean()


def test_weights_of_live_rows_count(both) -> None:
    rows = both.live.outcomes
    twice = rows.with_columns(weight=pl.when(pl.col("score") == 1).then(2.0).otherwise(1.0))
    found = side(EvalData(outcomes=twice, runs=both.live.runs, metrics=both.live.metrics), live=True)
    own = twice.filter(pl.col("model") == found.models[0])
    assert found.estimate[0] == pytest.approx(np.average(own["score"], weights=own["weight"]))
    assert "weights" in lines_of(found.notes, "choice")


def test_a_model_of_few_users_is_not_scored(both) -> None:
    rows = both.live.outcomes
    users = rows.filter(pl.col("model") == "model-01")["user"].unique().sort()[:4]
    kept = rows.filter((pl.col("model") != "model-01") | pl.col("user").is_in(users.to_list()))
    found = side(EvalData(outcomes=kept, runs=both.live.runs, metrics=both.live.metrics), live=True)
    assert "model-01" not in found.models
    assert "odel-01 has fewer than 5 users" in lines_of(found.notes, "left_out", caution=True)


def test_a_perfect_score_is_not_known_exactly() -> None:
    rows = [
        {
            "run": f"r{j}", "model": f"m{j}", "system": f"m{j}", "benchmark": "b", "task": "", "item": f"i{k}", "variant": "",
            "metric": "success", "score": float(j == 0 or k % 2), "status": "scored",
        }
        for j in range(3)
        for k in range(20)
    ]  # fmt: skip
    found = side(EvalData(outcomes=frame_from_rows(rows, "outcomes")), live=False)
    # One success and one failure more: 21 of 22.
    assert found.covariance is not None
    assert found.covariance[0, 0] == pytest.approx(21 / 22 * 1 / 22 / 20)
    assert "one and the same score" in lines_of(found.notes, "few")


def test_votes_become_ratings_with_their_covariance() -> None:
    votes = simulate_lab_live(6, live="comparisons", n_items=40, seed=1).live
    found = side(votes, live=True)
    ranking = arena(votes, checks=False)
    assert found.kind == "comparisons"
    assert dict(zip(found.models, found.estimate, strict=True)) == {row.name: row.estimate for row in ranking.rows}
    np.testing.assert_allclose(np.diag(found.covariance), [row.std_error**2 for row in ranking.rows], rtol=1e-6)


def test_votes_in_parts_keep_the_largest() -> None:
    votes = {
        "model_a": ["x", "y", "y", "z"] * 20 + ["p", "q"] * 20,
        "model_b": ["y", "x", "z", "y"] * 20 + ["q", "p"] * 20,
        "outcome": ["a", "a", "b", "b"] * 20 + ["a", "a"] * 20,
    }
    found = side(table_of(pl.DataFrame(votes)), live=True)
    assert set(found.models) == {"x", "y", "z"}
    assert "do not connect all models" in lines_of(found.notes, "left_out", caution=True)


def test_published_numbers_keep_their_errors() -> None:
    found = side(published([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), live=False)
    assert found.marginal
    np.testing.assert_allclose(np.diag(found.covariance), [0.01, 0.04, 0.09])
    assert found.covariance[0, 1] == 0.0


def test_published_numbers_without_errors_have_none() -> None:
    assert side(published([1.0, 2.0, 3.0], [None, None, None]), live=False).covariance is None
    whole = side(published([1.0, 2.0, 3.0], [0.1, 0.2, None]), live=False)
    assert whole.only(["m0", "m1"]).covariance is not None
    assert whole.only(["m0", "m2"]).covariance is None
    assert whole.only(["m0", "m1"]).only_here == (("m2", 3.0, None),)


def test_a_model_with_two_numbers_is_left_out_and_many_are_refused() -> None:
    one = published([1.0] * 20, [0.1] * 20)
    twice = EvalData(aggregates=pl.concat([one.aggregates, one.aggregates[:1].with_columns(estimate=pl.lit(2.0))]))
    found = side(twice, live=False)
    assert "m0" not in found.models
    assert "0 has several published numbers" in lines_of(found.notes, "left_out", caution=True)
    with pytest.raises(InputError, match="2 published numbers"):
        side(EvalData(aggregates=pl.concat([one.aggregates, one.aggregates])), live=False)


def test_errors_come_from_published_intervals() -> None:
    data = published([1.0, 2.0], [None, None], conf_low=0.0, conf_high=3.92, conf_level=0.95)
    # A 95% interval is 2 x 1.96 standard errors wide.
    np.testing.assert_allclose(np.sqrt(np.diag(side(data, live=False).covariance)), 1.0, rtol=1e-4)


def test_errors_of_shares_come_from_their_n() -> None:
    found = side(published([0.5, 0.9], [None, None], n=400), live=False)
    # The textbook's p (1 - p) / n, but for what Wilson adds.
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), [0.025, 0.015], rtol=0.02)
    assert found.method == "published numbers, with errors from their n"
    assert any("Wilson's, from the published scores and their n" in note.text for note in found.notes)
    mixed = side(published([0.5, 0.9], [0.1, None], n=400), live=False)
    # What a source leaves out beside errors of others it leaves out for a reason.
    np.testing.assert_allclose(np.sqrt(np.diag(mixed.covariance)), [0.1, np.nan])
    assert mixed.method == "published numbers, with published errors"
    assert side(published([50.0, 90.0], [None, None], n=400), live=False).covariance is None


def test_cutting_keeps_what_belongs_together() -> None:
    whole = side(published([3.0, 1.0, 2.0], [0.01, 0.02, 0.03]), live=False)
    found = whole.only(["m2", "m0"])
    assert found.estimate.tolist() == [2.0, 3.0]
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), [0.03, 0.01])
    assert found.only_here == (("m1", 1.0, 0.02),)


def test_one_set_of_data_is_split_by_its_setting(both) -> None:
    renamed = EvalData(
        outcomes=both.live.outcomes.with_columns(run="live " + pl.col("run")),
        runs=both.live.runs.with_columns(run="live " + pl.col("run")),
    )
    lab, live = by_setting(combine([both.lab, renamed]))
    assert lab.outcomes.height == both.lab.outcomes.height
    assert live.outcomes.height == both.live.outcomes.height
    with pytest.raises(InputError, match="setting 'live'"):
        by_setting(both.lab)


def test_scales_are_one_only_for_one_metric_with_one_range(both) -> None:
    lab, live = side(both.lab, live=False), side(both.live, live=True)
    assert on_one_scale(lab, live) == (True, "")
    other = side(published([1.0, 2.0], [0.1, 0.1]), live=True)
    assert not on_one_scale(lab, other)[0]


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(CannotAnswerError, match="no outcomes, no votes and no published numbers"):
        side(EvalData(), live=True)
