"""The posterior of a result: which model, that it is saved and read back, what is refused, and what is said."""

import dataclasses
import json
import math
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.posterior import (
    ClusterMoments,
    ClustersLikelihood,
    PairsLikelihood,
    Prior,
    TLikelihood,
    posteriors,
)


def rows(seed: int = 0, n: int = 60, lead: float = 0.1, **more: Any) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    ease = rng.random(n)
    return pl.DataFrame([
        {
            "item": f"q{i}",
            "model": model,
            "score": int(rng.random() < 0.3 + 0.4 * ease[i] + lead * place),
            "passage": f"p{i // 5}",
        }
        for place, model in enumerate(("old", "new", *more.get("others", ())))
        for i in range(n)
    ])  # fmt: skip


@pytest.fixture(scope="module")
def pair() -> es.Comparison:
    return es.compare(rows(), "old", "new", cluster="none", margin=0.02)


def test_one_answer_an_item_is_multinomial(pair: es.Comparison) -> None:
    table = pair.table
    assert table is not None
    seen = PairsLikelihood(wins=table.only_candidate, losses=table.only_baseline, agreeing=table.n - table.discordant)
    (usual,) = posteriors(seen, [Prior(scale=0.1)], bound=1.0, margin=0.02)
    found = pair.posterior()
    (row,) = found.usual
    assert found.method == "multinomial posterior of pairs"
    assert (row.p_better, row.p_better_by_margin, row.conf_low) == pytest.approx(
        (usual.p_above, usual.p_above_margin, usual.low), abs=1e-9
    )
    assert (row.loss_if_chosen, row.loss_if_kept) == pytest.approx((usual.loss_if_above, usual.loss_if_below), abs=1e-9)
    assert [prior.name for prior in found.priors] == ["usual", "half as wide", "twice as wide", "sceptical"]


def test_clusters_are_hierarchical_and_read_back(tmp_path: Any) -> None:
    result = es.compare(rows(), "old", "new", cluster="passage")
    frame = rows().pivot("model", index=["item", "passage"], values="score", maintain_order=True)
    d, codes = (frame["new"] - frame["old"]).to_numpy(), frame["passage"].rank("dense").to_numpy().astype(int)
    (usual,) = posteriors(ClustersLikelihood(moments=ClusterMoments.of(d, codes)), [Prior(scale=0.1)], bound=1.0)
    found = result.posterior()
    assert found.method == "hierarchical posterior of clusters"
    assert found.usual[0].p_better == pytest.approx(usual.p_above, abs=1e-9)
    result.save(tmp_path / "r.json")
    again = es.load_result(tmp_path / "r.json")
    assert isinstance(again, es.Comparison)
    assert again.posterior().to_dict() == found.to_dict()
    older = dataclasses.replace(result, cluster_moments=None)
    with pytest.raises(CannotAnswerError, match="compare the data again"):
        older.posterior()


def test_large_clusters_that_differ_are_said() -> None:
    sizes = [40, *[2] * 12]
    codes = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(1)
    frame = pl.DataFrame([
        {"item": f"q{i}", "model": model, "passage": f"p{g}", "score": int(rng.random() < (0.9 if win and g == 0 else 0.5))}
        for i, g in enumerate(codes)
        for model, win in (("old", False), ("new", True))
    ])  # fmt: skip
    result = es.compare(frame, "old", "new", cluster="passage")
    found = result.posterior()
    assert result.cluster_moments is not None
    far = abs(ClustersLikelihood(moments=result.cluster_moments).centre - (result.estimate or 0)) > (
        result.std_error or 0
    )
    assert any("about clusters" in note.text for note in found.notes) is far


def test_graded_scores_are_t_and_turn_with_the_direction() -> None:
    frame = rows().with_columns(score=pl.col("score") + pl.int_range(pl.len()) % 7 / 10)
    up, down = (es.compare(frame, "old", "new", cluster="none", higher_is_better=way) for way in (True, False))
    with_scale = up.posterior(prior_scale=0.2)
    assert up.statistic is not None
    assert up.std_error is not None
    seen = TLikelihood(centre=up.statistic * up.std_error, spread=up.std_error, df=up.df or math.inf)
    (usual,) = posteriors(seen, [Prior(scale=0.2)], bound=up.about.span)
    assert with_scale.usual[0].p_better == pytest.approx(usual.p_above, abs=1e-9)
    turned = down.posterior(prior_scale=0.2).usual[0]
    assert turned.p_better == pytest.approx(1 - usual.p_above, abs=1e-9)
    assert turned.loss_if_chosen == pytest.approx(usual.loss_if_below, abs=1e-9)
    assert turned.estimate == pytest.approx(usual.mean, abs=1e-9)


def test_what_hangs_on_the_prior_is_the_headline() -> None:
    found = es.compare(rows(seed=2, n=80, lead=0.2), "old", "new", cluster="none").posterior()
    p = [row.p_better or 0.0 for row in found.rows]
    assert min(p) < 0.975 <= max(p), "the case is no longer one that depends on the prior"
    assert found.answer() == "depends on the prior"
    assert "under other priors" in found.document().headline
    assert any("depends on the prior" in note.text for note in found.document().cautions)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 12))])
def test_it_never_claims_more_than_the_interval(seed: int) -> None:
    """Where the interval includes 0 no prior centred there makes the answer "better" or "worse"."""
    found = es.compare(rows(seed=seed, n=80, lead=0.15), "old", "new", cluster="none")
    if found.posterior().answer() != "open":
        assert found.verdict in ("better", "worse")


def test_the_headline_names_the_side_that_is_more_probable() -> None:
    frame = rows(seed=3, n=80, lead=0.05)
    ahead, behind = (
        es.compare(frame, *sides, cluster="none").posterior() for sides in (("old", "new"), ("new", "old"))
    )
    first, second = ahead.document().headline, behind.document().headline
    assert ahead.usual[0].p_better == pytest.approx(1 - (behind.usual[0].p_better or 0.0))
    assert first.split(" (")[1] == second.split(" (")[1]
    assert {"better" in first, "better" in second} == {True, False}
    same = frame.filter(pl.col("model") == "old")
    twins = pl.concat([same, same.with_columns(model=pl.lit("new"))])
    assert (
        es.compare(twins, "old", "new", cluster="none")
        .posterior()
        .document()
        .headline.startswith("Neither new nor old")
    )


def test_it_stands_beside_the_verdict(pair: es.Comparison) -> None:
    asked = es.compare(rows(), "old", "new", cluster="none", margin=0.02, posterior=True)
    assert asked.verdict == pair.verdict
    assert asked.posterior_beside is not None
    assert asked.posterior_beside.to_dict() == pair.posterior().to_dict()
    section = asked.document().section("posterior")
    assert section is not None
    assert {"posterior-intervals", "priors"} <= {*asked.document().figures, *asked.document().tables}
    assert f"says {pair.verdict}" in pair.posterior().document().scope
    assert es.Comparison.from_dict(json.loads(json.dumps(asked.to_dict()))) == asked


def test_each_of_several_metrics_has_a_line() -> None:
    data = es.datasets.load_published_claims()["score-or-pass"].to_data()
    result = es.compare(data, "baseline", "candidate", metric=["passed", "score"], posterior=True)
    said = result.to_markdown()
    for row in result.rows:
        assert row.posterior_beside is not None
        assert f"{row.metric}: {row.posterior_beside.document().headline}." in said


def test_what_withholds_the_verdict_is_said() -> None:
    """A quarter of the new scores missing: the interval excludes 0, and the worst case does not."""
    frame = rows(n=200, lead=0.2).with_columns(
        score=pl.when(pl.col("model") == "new", pl.int_range(pl.len()) % 4 == 0).then(None).otherwise(pl.col("score"))
    )
    result = es.compare(frame, "old", "new", cluster="none")
    assert (result.verdict, (result.conf_low or 0) > 0) == ("inconclusive", True)
    said = result.posterior().document().cautions[0].text
    assert said.startswith(
        "The comparison claims no difference (the 95% interval excludes 0, but 25% of the scores of new"
    )


def test_without_an_interval_there_is_none() -> None:
    few = es.compare(rows(n=20), "old", "new", cluster="passage")
    with pytest.raises(CannotAnswerError, match="no posterior"):
        few.posterior()
    asked = es.compare(rows(n=20), "old", "new", cluster="passage", posterior=True)
    assert any("No posterior was added" in note.text for note in asked.notes)


@pytest.mark.parametrize("options", [{"margin": -0.1}, {"margin": 2.0}, {"prior_scale": 0.0}, {"conf_level": 95}])
def test_what_is_out_of_range_is_refused(pair: es.Comparison, options: dict[str, float]) -> None:
    with pytest.raises(InputError):
        pair.posterior(**options)


@pytest.mark.parametrize("cluster", ["none", "passage"])
def test_scores_without_bounds_take_the_spread_of_their_items(cluster: str) -> None:
    """Whatever else their standard errors carry."""
    easier = pl.col("passage").str.slice(1).cast(pl.Int64) * 100
    frame = rows().with_columns(score=pl.col("score") * 300.0 + easier + pl.int_range(pl.len()) % 13)
    found = es.compare(frame, "old", "new", cluster=cluster).posterior()
    ranks = es.leaderboard(frame, cluster=cluster).posterior()
    assert ranks.priors[0].scale == pytest.approx(found.priors[0].scale, rel=1e-9)
    sd = max(each[0] for each in frame.group_by("model").agg(pl.col("score").std()).select("score").iter_rows())
    assert found.priors[0].scale == pytest.approx(0.2 * sd, rel=1e-6)


# --- ranks ---


@pytest.fixture(scope="module")
def board() -> es.Leaderboard:
    return es.leaderboard(rows(n=120, lead=0.05, others=("c", "d", "e")), cluster="none")


def test_ranks_of_a_board(board: es.Leaderboard, tmp_path: Any) -> None:
    found = board.posterior()
    assert [row.expected_rank for row in found.usual] == sorted(row.expected_rank for row in found.usual)
    assert sum(row.p_first for row in found.usual) == pytest.approx(1)
    ranks = found.ranks_frame()
    assert ranks.group_by("rank").agg(pl.col("estimate").sum())["estimate"].to_list() == pytest.approx([1.0] * 5)
    assert found.pairs_frame().height == 10
    board.save(tmp_path / "b.json")
    again = es.load_result(tmp_path / "b.json")
    assert isinstance(again, es.Leaderboard)
    assert again.posterior().to_dict() == found.to_dict()
    assert found.figure_frame("rank-probabilities").height == 25
    assert found.figure() is not None


def test_a_board_without_all_pairs_is_refused(board: es.Leaderboard) -> None:
    against = es.leaderboard(rows(n=120, lead=0.05, others=("c", "d", "e")), cluster="none", baseline="old")
    with pytest.raises(CannotAnswerError, match="leave out the baseline"):
        against.posterior()
    twins = pl.concat([rows(), rows().filter(pl.col("model") == "old").with_columns(model=pl.lit("twin"))])
    with pytest.raises(CannotAnswerError, match=r"alike on every item|no standard error"):
        es.leaderboard(twins, cluster="none").posterior()


def test_the_margin_that_was_declared_is_answered_beside() -> None:
    data = es.from_frame(rows(), item="item", model="model", score="score")
    for first, second, side in (("old", "new", "better"), ("new", "old", "worse")):
        found = es.compare(data, first, second, margin=0.025, posterior=True)
        assert f"; {side} by more than 2.5 pp with probability " in found.summary()


def test_a_board_shows_it_beside(board: es.Leaderboard) -> None:
    asked = es.leaderboard(rows(n=120, lead=0.05, others=("c", "d", "e")), cluster="none", posterior=True)
    assert asked.posterior_beside is not None
    assert [row.ranks for row in asked.rows] == [row.ranks for row in board.rows]
    assert "Posterior" in asked.to_markdown()
