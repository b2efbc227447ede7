"""The drop from ideal to non-ideal users: by hand, from which shares, what it forecasts, and its slope."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.gap.user_drops import drop_forecast_of, drop_slope
from evalstats.errors import CannotAnswerError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import LiveMix
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.gap import Drops
from tests.analysis.gap.notes import texts
from tests.analysis.gap.worlds import made_of, names_of, outcomes_of, world

KINDS = {"stable": "ideal", "vague": "non_ideal", "rude": "non_ideal"}
SCENARIOS = tuple(KINDS)


def mix_of(shares: dict[str, float], factor: str = "scenario") -> LiveMix:
    return LiveMix(factor=factor, shares=shares, source="a survey")


SURVEY = mix_of({"ideal": 0.7, "vague": 0.2, "rude": 0.1})


def lab_of(
    rates: np.ndarray, *, seed: int = 0, clusters: int = 20, kinds: dict[str, str] | None = KINDS, spread: float = 0.1
) -> pl.DataFrame:
    """Every item is played with every behaviour."""
    rng = np.random.default_rng(seed)
    return world(
        rng,
        rates,
        models=names_of(rates.shape[0]),
        scenarios=SCENARIOS,
        n_clusters=clusters,
        per_cluster=4,
        kinds=kinds,
        spread=spread,
    )


def live_of(rates: np.ndarray, *, seed: int = 1, users: int = 900) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return world(
        rng,
        rates,
        models=names_of(rates.shape[0]),
        scenarios=SCENARIOS,
        n_clusters=users,
        per_cluster=3,
        kinds=KINDS,
        crossed=False,
    )


def votes(lab: pl.DataFrame, live: np.ndarray | None = None, mix: LiveMix | None = SURVEY) -> SharedModels:
    """Live users of whom only scores on another scale are known."""
    n = lab["model"].n_unique()
    estimate = np.linspace(0.0, 1.0, n) if live is None else live
    return made_of(lab, None, live_estimate=estimate, live_covariance=0.01 * np.eye(n), mix=mix)


def with_lab(made: SharedModels, data: EvalData | None) -> SharedModels:
    return replace(made, lab=replace(made.lab, data=data))


RATES = np.array([[0.8, 0.6, 0.5], [0.7, 0.6, 0.3], [0.6, 0.5, 0.5]])


@pytest.fixture(scope="module")
def lab() -> pl.DataFrame:
    return lab_of(RATES)


def test_drops_are_mean_differences_within_items_in_the_live_shares(lab: pl.DataFrame):
    found = drop_forecast_of(votes(lab))
    wide = lab.pivot(on="scenario", index=["model", "item", "cluster"], values="score")
    mixed = wide.with_columns(
        d=(2 * (pl.col("vague") - pl.col("stable")) + (pl.col("rude") - pl.col("stable"))) / 3.0,
    )
    assert found.share_non_ideal == pytest.approx(0.3)
    assert found.share_source == "a survey"
    for row in found.rows:
        own = mixed.filter(pl.col("model") == row.model)
        known = cluster_mean(own["d"], own["cluster"]).estimate
        assert row.drop.estimate == pytest.approx(known.estimate)
        assert row.drop.std_error == pytest.approx(known.std_error)
        assert row.drop.conf_high == pytest.approx(known.conf_high)
        ideal = cluster_mean(own["stable"], own["cluster"]).estimate
        assert row.ideal.estimate == pytest.approx(ideal.estimate)
        assert row.ideal.std_error == pytest.approx(ideal.std_error)
        assert row.forecast.estimate == pytest.approx((row.ideal.estimate or 0.0) + 0.3 * (row.pooled.estimate or 0.0))
        assert row.live is None
        assert row.miss is None
    everything = mixed.group_by("item", "cluster").agg(pl.col("d").mean())
    known = cluster_mean(everything["d"], everything["cluster"]).estimate
    assert found.mean_drop.estimate == pytest.approx(known.estimate)
    assert found.mean_drop.std_error == pytest.approx(known.std_error)


def test_with_two_models_the_error_of_the_forecast_is_that_of_the_mixed_score(lab: pl.DataFrame):
    two = lab.filter(pl.col("model") != "m02")
    found = drop_forecast_of(votes(two))
    wide = two.pivot(on="scenario", index=["model", "item", "cluster"], values="score")
    mixed = wide.with_columns(y=0.7 * pl.col("stable") + 0.2 * pl.col("vague") + 0.1 * pl.col("rude"))
    for row in found.rows:
        own = mixed.filter(pl.col("model") == row.model)
        known = cluster_mean(own["y"], own["cluster"]).estimate
        assert row.forecast.estimate == pytest.approx(known.estimate)
        assert row.forecast.std_error == pytest.approx(known.std_error)
    assert found.spread is None


def test_shuffled_rows_and_other_names_of_the_ideal_level_change_nothing(lab: pl.DataFrame):
    known = drop_forecast_of(votes(lab))
    shuffled = lab.sample(fraction=1.0, shuffle=True, seed=3)
    assert drop_forecast_of(votes(shuffled)).rows == known.rows
    unmarked = lab.with_columns(user_kind=pl.lit(None, dtype=pl.String))
    assert drop_forecast_of(votes(unmarked)).rows == known.rows


def test_other_items_for_other_users_are_compared_by_means(lab: pl.DataFrame):
    apart = lab.with_columns(item=pl.col("item") + pl.col("scenario"))
    found, paired = drop_forecast_of(votes(apart)), drop_forecast_of(votes(lab))
    for one, two in zip(found.rows, paired.rows, strict=True):
        assert one.drop.estimate == pytest.approx(two.drop.estimate)
    assert any("not the items of ideal users" in text for text in texts(found.notes))


def test_items_without_a_twin_are_left_out_and_counted(lab: pl.DataFrame):
    gone = (pl.col("scenario") == "stable") & pl.col("item").is_in(["i0", "i1"])
    found = drop_forecast_of(votes(lab.filter(~gone)))
    # Two items, three models, two behaviours.
    assert "12 scores with non-ideal users have no twin" in found.notes[0].text


def test_shares_are_counted_in_live_rows_and_the_miss_is_live_less_forecast(lab: pl.DataFrame):
    live = live_of(RATES)
    found = drop_forecast_of(made_of(lab, live))
    counted = live["scenario"].value_counts(normalize=True)
    shares = dict(counted.iter_rows())
    assert found.share_non_ideal == pytest.approx(1 - shares["stable"])
    assert found.share_source == "counted in 2,700 live rows, by scenario"
    for row in found.rows:
        assert row.live is not None
        assert row.miss is not None
        mean = live.filter(pl.col("model") == row.model)["score"].mean()
        assert row.live.estimate == pytest.approx(mean)
        assert row.miss.estimate == pytest.approx((row.live.estimate or 0.0) - (row.forecast.estimate or 0.0))
        assert (row.miss.std_error or 0.0) > (row.forecast.std_error or 0.0)
        assert row.miss.conf_low is not None
        assert row.miss.conf_high is not None
        assert row.miss.conf_low < 0.0 < row.miss.conf_high
    # Counting the users adds to the error of the forecast.
    outside = mix_of(shares)
    exact = drop_forecast_of(made_of(lab, live, mix=outside))
    assert (found.rows[0].forecast.std_error or 0.0) > (exact.rows[0].forecast.std_error or 0.0)


def test_live_votes_with_labels_give_the_shares(lab: pl.DataFrame):
    made = votes(lab, mix=None)
    with pytest.raises(CannotAnswerError, match="no mix is given from outside"):
        drop_forecast_of(made)
    labels = live_of(RATES, users=100).drop("score").with_columns(score=pl.lit(1.0))
    by_kind = labels.with_columns(scenario=pl.lit(None, dtype=pl.String))
    data = outcomes_of(by_kind, live=True)
    found = drop_forecast_of(replace(made, live=replace(made.live, data=data)))
    assert found.share_non_ideal == pytest.approx((labels["user_kind"] == "non_ideal").mean())
    assert any("weighted equally" in text for text in texts(found.notes))
    assert found.rows[0].live is None


def test_behaviours_that_the_lab_has_not_are_named(lab: pl.DataFrame):
    mix = {"stable": 0.5, "rude": 0.3, "absent": 0.2}
    found = drop_forecast_of(votes(lab, mix=mix_of(mix)))
    assert found.share_non_ideal == pytest.approx(0.5)
    assert "absent, 20.0% of live users" in found.notes[0].text


def test_a_lab_with_one_kind_of_users_cannot_answer(lab: pl.DataFrame):
    for kind in ("ideal", "non_ideal"):
        with pytest.raises(CannotAnswerError, match=f"of the kind '{kind}'"):
            drop_forecast_of(votes(lab.filter(pl.col("user_kind") == kind)))
    unmarked = lab.with_columns(
        user_kind=pl.lit(None, dtype=pl.String), scenario=pl.col("scenario").replace("stable", "calm")
    )
    with pytest.raises(CannotAnswerError, match="0 levels of scenario called ideal or stable"):
        drop_forecast_of(votes(unmarked))
    with pytest.raises(CannotAnswerError, match="no outcomes of single items"):
        drop_forecast_of(with_lab(votes(lab), None))
    with pytest.raises(CannotAnswerError, match="none of the lab's non-ideal behaviours"):
        drop_forecast_of(votes(lab, mix=mix_of({"stable": 0.5, "absent": 0.5})))


def test_models_with_few_clusters_are_left_out_by_name(lab: pl.DataFrame):
    few = lab.filter((pl.col("model") != "m01") | (pl.col("cluster") < 4))
    live = made_of(lab, None, live_estimate=np.zeros(3), live_covariance=np.eye(3), mix=SURVEY)
    found = drop_forecast_of(with_lab(live, outcomes_of(few)))
    assert [row.model for row in found.rows] == ["m00", "m02"]
    assert any(text.startswith("m01: fewer than 5 clusters") for text in texts(found.notes))
    none = lab.filter(pl.col("cluster") < 4)
    with pytest.raises(CannotAnswerError, match="no model has 5 clusters"):
        drop_forecast_of(with_lab(live, outcomes_of(none)))


def test_scenarios_crossed_with_kinds_leave_the_kinds(lab: pl.DataFrame):
    crossed = lab.with_columns(
        scenario=pl.when(pl.col("cluster") % 2 == 0).then(pl.lit("shop")).otherwise(pl.lit("bank"))
    ).unique(["model", "item", "user_kind"], maintain_order=True)
    tidy = outcomes_of(crossed.with_columns(scenario=pl.col("scenario") + pl.col("user_kind")))
    data = replace(
        tidy, outcomes=tidy.outcomes.with_columns(scenario=pl.col("scenario").str.replace("(non_)?ideal", ""))
    )
    mix = mix_of({"ideal": 0.6, "non_ideal": 0.4}, "user_kind")
    found = drop_forecast_of(with_lab(votes(lab, mix=mix), data))
    assert found.share_non_ideal == pytest.approx(0.4)


def test_few_models_have_no_slope(lab: pl.DataFrame):
    slope = drop_forecast_of(votes(lab)).slope
    assert slope.estimate is None
    assert "needs 6" in str(slope.reason)


def test_the_same_difference_everywhere_still_has_an_error(lab: pl.DataFrame):
    same = lab.with_columns(score=pl.when(pl.col("model") == "m00").then(pl.lit(1.0)).otherwise(pl.col("score")))
    row = drop_forecast_of(votes(same)).rows[0]
    assert row.drop.estimate == 0.0
    assert (row.drop.std_error or 0.0) > 0.0
    assert row.ideal.conf_high == 1.0
    assert (row.ideal.conf_low or 1.0) < 1.0


def test_flips_name_the_one_ahead_with_ideal_users_first():
    rates = np.array([[0.9, 0.2, 0.2], [0.6, 0.6, 0.6]])
    mix = mix_of({"stable": 0.2, "vague": 0.4, "rude": 0.4})
    found = drop_forecast_of(votes(lab_of(rates, clusters=40), mix=mix))
    assert found.flips == (("m00", "m01"),)


def planted(seed: int, carried: float, *, same: bool = True) -> SharedModels:
    """Twelve models whose live scores have the carried part of 0.6 times their drop."""
    rng = np.random.default_rng(seed)
    ideal, drop = rng.uniform(0.55, 0.85, (12, 1)), -rng.uniform(0.0, 0.4, (12, 1))
    lab = lab_of(np.hstack([ideal, ideal + drop, ideal + drop]), seed=seed, clusters=60)
    mix = mix_of({"stable": 0.4, "vague": 0.3, "rude": 0.3})
    if same:
        live = ideal + carried * drop
        return made_of(lab, live_of(np.hstack([live] * 3), seed=seed + 1, users=3000), mix=mix)
    z = 2.0 + 3.0 * (ideal + 0.6 * carried * drop).ravel() + 0.1 * rng.standard_normal(12)
    return votes(lab, z, mix)


@pytest.mark.parametrize("same", [True, False])
def test_a_drop_that_carries_over_gives_the_share_as_slope(same: bool):
    found = drop_forecast_of(planted(5, 0.6 if same else 1.0, same=same))
    assert found.slope.conf_low is not None
    assert found.slope.conf_high is not None
    assert found.slope.expected is not None
    truth = 0.6 if same else 1.8
    assert found.slope.conf_low < truth < found.slope.conf_high
    assert found.slope.conf_low > 0.0
    assert found.slope.p_value is not None
    assert found.slope.p_value < 0.01
    assert found.slope.explained is not None
    assert found.slope.explained > 0.5
    if same:
        assert found.slope.expected == pytest.approx(0.6)


@pytest.mark.parametrize("same", [True, False])
def test_a_drop_that_does_not_carry_over_gives_none(same: bool):
    found = drop_forecast_of(planted(6, 0.0, same=same))
    assert found.slope.conf_low is not None
    assert found.slope.conf_high is not None
    assert found.slope.conf_low < 0.0 < found.slope.conf_high
    assert found.slope.p_value is not None
    assert found.slope.p_value > 0.05


def test_drops_that_are_all_alike_have_no_slope():
    rates = np.tile([0.7, 0.5, 0.5], (8, 1))
    found = drop_forecast_of(votes(lab_of(rates, seed=4)))
    assert found.slope.estimate is None
    assert "more than noise" in str(found.slope.reason)
    assert found.spread_p is not None
    assert found.spread_p > 0.05


def slopes(n_models: int, carried: float, tau: float, draws: int, *, same: bool) -> tuple[float, float, float]:
    """Median slope over what is expected, coverage, and how often p is below .05; errors are known and shared."""
    rng = np.random.default_rng(23)
    unit = 1.0 if same else 3.0
    one = 0.7 * np.eye(n_models) + 0.3
    cross = -0.5 * 0.03 * 0.04 * one
    errors = np.block([[0.03**2 * one, cross], [cross, 0.04**2 * one]])
    root, noise = np.linalg.cholesky(errors), (0.03 * unit) ** 2 * np.eye(n_models)
    base = replace(votes(lab_of(np.full((n_models, 3), 0.5), clusters=5)), same_scale=same)
    truth = 0.6 * carried * unit
    found: list[tuple[float, bool, bool]] = []
    for _ in range(draws):
        ideal, drop = rng.uniform(0.5, 0.85, n_models), rng.normal(-0.15, 0.1, n_models)
        seen = root @ rng.standard_normal(2 * n_models) + np.concatenate([ideal, drop])
        live = unit * (ideal + 0.6 * carried * drop + rng.normal(0.0, tau, n_models))
        scores = LabLiveScores(
            lab=seen[:n_models],
            live=live + 0.03 * unit * rng.standard_normal(n_models),
            lab_covariance=errors[:n_models, :n_models],
            live_covariance=noise,
        )
        drops = Drops(ideal=seen[:n_models], drop=seen[n_models:], covariance=errors, df=np.full(n_models, 100.0))
        slope = drop_slope(replace(base, scores=scores), np.arange(n_models), drops, 0.6)
        if slope.estimate is None or slope.conf_low is None or slope.conf_high is None:
            continue
        inside = slope.conf_low <= truth <= slope.conf_high
        found.append((slope.estimate or 0.0, inside, (slope.p_value or 1.0) <= 0.05))
    estimate, inside, flagged = zip(*found, strict=True)
    return float(np.median(estimate)) / unit, float(np.mean(inside)), float(np.mean(flagged))


def test_slopes_are_right_in_the_middle_and_seldom_found_where_there_are_none():
    middle, inside, _ = slopes(10, 1.0, 0.03, 25, same=True)
    assert middle == pytest.approx(0.6, abs=0.12)
    assert inside >= 0.8
    # 25 draws of a 5% test: five or more have a probability of .007.
    assert slopes(10, 0.0, 0.03, 25, same=True)[2] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("same", "n_models", "tau"), [(True, 8, 0.05), (True, 20, 0.0), (False, 8, 0.05), (False, 20, 0.05)]
)
def test_slopes_over_many_draws(same: bool, n_models: int, tau: float):
    for carried in (0.0, 1.0):
        middle, inside, flagged = slopes(n_models, carried, tau, 150, same=same)
        # The standard error of a median of 150 slopes is about .04 at 8 models.
        assert middle == pytest.approx(0.6 * carried, abs=0.12)
        # 150 draws: three standard errors are .053.
        assert inside > 0.895
        if carried == 0.0:
            assert flagged < 0.105
