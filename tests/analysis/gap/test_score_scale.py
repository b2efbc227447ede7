"""Shares near their bounds against ratings: on which scale they are compared, and what that does to every number."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import special

import evalstats as es
from evalstats.analysis.gap.calibration import BENT
from evalstats.analysis.settings import shell_command
from evalstats.errors import InputError
from evalstats.schema.plan import Plan
from evalstats.simulate.lab_live import simulate_lab_live

ROUNDS = 100
CEILING = {"live": "comparisons", "mean": 3.2, "spread": 0.8, "n_items": 280, "n_users": 200}


@pytest.fixture(scope="module")
def ceiling():
    return simulate_lab_live(20, seed=5, **CEILING)


@pytest.fixture(scope="module")
def found(ceiling):
    return es.gap(ceiling.lab, ceiling.live, n_resamples=ROUNDS)


@pytest.fixture(scope="module")
def plain(ceiling):
    return es.gap(ceiling.lab, ceiling.live, n_resamples=ROUNDS, scale="identity")


def test_shares_are_logits_against_ratings_and_no_model_near_the_ceiling_is_called_a_gap(found):
    assert (found.lab.link, found.live.link) == ("logit", "identity")
    assert found.flagged() == ()
    assert not found.line.bent
    assert "ratings" in found.scale_reason
    rows = found.rows
    # The line is straight in logits of the shares that are shown.
    shown = special.logit([row.lab for row in rows])
    assert found.line.slope == pytest.approx(400 / np.log(10), rel=0.15)
    assert np.corrcoef(shown, [row.live for row in rows])[0, 1] > 0.95


def test_as_they_are_the_bend_shows_and_no_model_is_called(plain):
    assert plain.lab.link == "identity"
    assert plain.line.bent
    assert plain.flagged() == ()
    assert (plain.verdict, plain.verdict_reason) == ("inconclusive", BENT)
    said = next(note for note in plain.notes if "bend away from a straight line" in note.text)
    assert said.caution
    assert said.remedy == ("Compare log-odds of the shares: ", es.errors.Option("scale", "logit"))


def test_a_gap_that_is_there_is_found(ceiling):
    apart = simulate_lab_live(15, seed=2, gaps={"model-08": -1.5}, **{**CEILING, "mean": 1.0})
    assert es.gap(apart.lab, apart.live, n_resamples=ROUNDS).flagged() == ("model-08",)


def test_intervals_of_shares_come_from_logits_and_stay_inside(found):
    top = max(found.rows, key=lambda row: row.lab)
    assert 0.0 < top.lab_low < top.lab < top.lab_high < 1.0
    assert top.lab - top.lab_low > top.lab_high - top.lab


def test_the_figure_has_an_axis_of_logits_with_percent(found):
    options = found.document().figures["scores"].options
    assert (options["logit_x"], options["logit_y"]) == ((0.0, 100.0), None)
    axes = found.figure("scores").axes[0].child_axes[0]
    ticks = axes.get_xticks()
    assert all(0.0 < tick < 100.0 for tick in ticks)
    pixels = axes.transData.transform(np.column_stack([[80.0, 90.0, 95.0], [0.0] * 3]))[:, 0]
    logits = special.logit([0.8, 0.9, 0.95])
    assert np.diff(pixels)[1] / np.diff(pixels)[0] == pytest.approx(np.diff(logits)[1] / np.diff(logits)[0], rel=1e-3)


def test_shares_of_one_get_a_finite_logit_and_a_wide_error():
    both = simulate_lab_live(12, seed=1, live="aggregates", mean=2.0)
    best = both.lab.aggregates.sort("estimate")["model"][-1]
    one = pl.when(pl.col("model") == best).then(1.0).otherwise(pl.col("estimate"))
    lab = replace(both.lab, aggregates=both.lab.aggregates.with_columns(estimate=one))
    result = es.gap(lab, both.live, n_resamples=ROUNDS, scale="logit")
    row = result.row(best)
    assert row.lab == row.lab_high == 1.0
    assert row.lab_low > 0.9
    assert all(np.isfinite(each.estimate) for each in result.rows)
    # In logits its error is that of half a failure more, about 1.4.
    assert row.conf_high - row.conf_low > 0.01


def test_with_shares_on_both_sides_gaps_are_told_in_points_and_the_level_does_not_change():
    both = simulate_lab_live(12, seed=1, mean=2.5, spread=0.8, n_items=280, n_users=200)
    plain, logit = (es.gap(both.lab, both.live, n_resamples=ROUNDS, scale=scale) for scale in ("identity", "logit"))
    assert (logit.lab.link, logit.live.link, logit.scale_reason) == ("logit", "logit", "asked for")
    assert logit.level == plain.level
    for one, other in zip(logit.rows, plain.rows, strict=True):
        assert one.estimate == pytest.approx(one.live - one.expected, abs=0.01)
        assert one.difference == other.difference
        assert one.estimate == pytest.approx(other.estimate, abs=0.06)
        assert one.conf_low < one.estimate < one.conf_high
        assert 0.0 < one.expected < 1.0


def test_an_error_rate_says_the_same_as_the_share_of_right_answers(ceiling, found):
    wrong = replace(
        ceiling.lab,
        outcomes=ceiling.lab.outcomes.with_columns(score=1.0 - pl.col("score")),
        metrics=ceiling.lab.metrics.with_columns(higher_is_better=pl.lit(value=False)),
    )
    turned = es.gap(wrong, ceiling.live, n_resamples=ROUNDS)
    for one, other in zip(turned.rows, found.rows, strict=True):
        assert (one.estimate, one.conf_low, one.p_adjusted) == pytest.approx(
            (other.estimate, other.conf_low, other.p_adjusted), rel=1e-6, abs=1e-9
        )
        assert (one.lab, one.lab_high) == pytest.approx((1.0 - other.lab, 1.0 - other.lab_low), abs=1e-9)
    assert turned.line.slope == pytest.approx(-found.line.slope)


def test_models_of_the_lab_alone_are_forecast_on_the_line_of_logits():
    both = simulate_lab_live(15, seed=3, n_lab_only=3, **CEILING)
    result = es.gap(both.lab, both.live, n_resamples=ROUNDS)
    true = dict(zip(both.truth.lab_names, both.truth.live * 400 / np.log(10), strict=True))
    known = np.mean([row.live - true[row.name] for row in result.rows])
    assert len(result.hierarchy.forecasts) == 3
    for new in result.hierarchy.forecasts:
        assert new.pred_low - known < true[new.name] < new.pred_high - known


def test_what_cannot_be_asked_is_refused_and_a_plan_declares_it(ceiling, plain):
    few = simulate_lab_live(8, seed=1, live="aggregates", mean=2.0)
    grades = replace(
        ceiling.lab,
        outcomes=ceiling.lab.outcomes.with_columns(score=7.0 * pl.col("score")),
        metrics=ceiling.lab.metrics.with_columns(
            kind=pl.lit("continuous"), low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64)
        ),
    )
    with pytest.raises(InputError, match="is a share of right answers; use scale='identity'"):
        es.gap(grades, ceiling.live, scale="logit")
    planned = es.gap(few.lab, few.live, n_resamples=ROUNDS, plan=Plan(scale="identity"))
    assert planned.lab.link == "identity"
    other = es.gap(few.lab, few.live, n_resamples=ROUNDS, plan=Plan(scale="identity"), scale="logit")
    assert any("eparts from the plan: scale logit given" in note.text for note in other.notes)
    assert "--scale identity" in shell_command(replace(plain.settings, files={"lab": ("a",), "live": ("b",)}))


def test_advice_never_leads_in_a_circle():
    """Scores that bend on either scale: neither answer sends the reader to the other, and none claims power for a gap."""
    bent = simulate_lab_live(12, seed=5, n_users=300, n_items=200)
    for scale in ("auto", "identity", "logit"):
        answer = es.gap(bent.lab, bent.live, n_resamples=ROUNDS, scale=scale)
        assert answer.line.bent
        said = next(note for note in answer.notes if "bend away from a straight line" in note.text)
        assert said.remedy == ""
        assert "would have been found" not in answer.summary()
