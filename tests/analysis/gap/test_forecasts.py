"""Forecasts for models that only the lab has, from prepared sides: names, directions, ends of scales, and refusals."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.gap.forecasts import hierarchy_of
from evalstats.analysis.gap.result import Hierarchy
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.errors import CannotAnswerError
from evalstats.stats.errors_in_variables.hierarchy import fit_hierarchy
from tests.analysis.gap.worlds import about, shared_of, side

N = 8
LAB_ERROR, LIVE_ERROR = 0.02, 0.03


def one_side(estimate: np.ndarray, error: float, *, live: bool = False, **changes: object) -> SideScores:
    name = "live" if live else "lab"
    models = tuple(f"{name} {j}" for j in range(len(estimate)))
    return side(
        estimate, error**2 * (np.eye(len(estimate)) + 0.5), about=about(benchmark=name), models=models, **changes
    )


def made_up(n: int = N) -> SharedModels:
    """Models in no order, so that rows and models differ."""
    rng = np.random.default_rng(5)
    lab = rng.permutation(np.linspace(0.3, 0.8, n)) + 0.02 * rng.normal(size=n)
    live = 0.1 + 0.8 * lab + 0.05 * rng.normal(size=n)
    new = (("new", 0.55, LAB_ERROR), ("unknown error", 0.55, None), ("far", 0.99, LAB_ERROR))
    return of_sides(one_side(lab, LAB_ERROR, only_here=new), one_side(live, LIVE_ERROR, live=True))


def of_sides(lab: SideScores, live: SideScores) -> SharedModels:
    return shared_of(lab, live, models=tuple(f"m{j}" for j in range(len(lab.estimate))))


@pytest.fixture(scope="module")
def found() -> Hierarchy:
    return hierarchy_of(made_up())


def test_rows_are_the_best_live_first_under_the_shared_names(found: Hierarchy):
    made = made_up()
    fit = fit_hierarchy(made.scores)
    order = np.argsort(-made.live.estimate)
    assert found.probability_below == pytest.approx(fit.probability_below[order])
    assert (found.slope, found.tau, found.coverage) == (fit.slope, fit.tau, fit.coverage.estimate)
    assert found.coverage_low is not None
    assert found.coverage_low < 1
    assert "half-t" in found.priors
    assert len(found.sensitivity) == 3


def test_new_models_are_predicted_with_what_is_known_of_their_errors(found: Hierarchy):
    new, unknown, far = found.forecasts
    assert (new.name, new.lab, new.lab_std_error, new.extrapolated, new.reason) == ("new", 0.55, LAB_ERROR, False, None)
    assert new.expected is not None
    assert new.pred_low is not None
    assert new.pred_high is not None
    assert new.pred_low < new.expected < new.pred_high
    assert new.rank_low is not None
    assert new.rank_high is not None
    assert 1 <= new.rank_low <= new.rank_high <= N + 1
    assert unknown.lab_std_error is None
    assert "lab error is unknown" in str(unknown.reason)
    assert far.extrapolated
    assert "line goes on" in str(far.reason)
    assert far.std_error is not None
    assert new.std_error is not None
    assert far.std_error > new.std_error


def test_an_error_that_all_share_is_not_counted_twice(found: Hierarchy):
    """A harder set of items moves new models with the others: only the rest of a published error is noise of a difference."""
    made = made_up()
    more = 4 * LAB_ERROR**2
    assert made.lab.covariance is not None
    table = made.lab.covariance + more
    new = tuple(
        (name, at, None if error is None else float(np.hypot(error, more**0.5)))
        for name, at, error in made.lab.only_here
    )
    lab = replace(made.lab, covariance=table, only_here=new)
    other = hierarchy_of(of_sides(lab, made.live))
    base = hierarchy_of(made)
    for one, two in zip(base.forecasts, other.forecasts, strict=True):
        assert one.pred_low == pytest.approx(two.pred_low, abs=1e-6)
        assert one.pred_high == pytest.approx(two.pred_high, abs=1e-6)


def test_less_may_be_better_on_either_side(found: Hierarchy):
    made = made_up()
    new = tuple((name, 1 - at, error) for name, at, error in made.lab.only_here)
    less = about(higher_is_better=False)
    lab = replace(made.lab, estimate=1 - made.lab.estimate, about=less, only_here=new)
    both = hierarchy_of(of_sides(lab, replace(made.live, estimate=1 - made.live.estimate, about=less)))
    assert (both.slope, both.tau) == pytest.approx((found.slope, found.tau), abs=1e-6)
    assert both.probability_below == pytest.approx([1 - p for p in found.probability_below], abs=1e-6)
    assert both.coverage == found.coverage
    assert [new.pred_low for new in both.forecasts] == pytest.approx(
        [1 - float(new.pred_high or 0) for new in found.forecasts], abs=1e-6
    )
    assert [new.rank_low for new in both.forecasts] == [new.rank_low for new in found.forecasts]
    one = hierarchy_of(of_sides(lab, made.live))
    assert (one.slope_low, one.slope_high) == pytest.approx((-found.slope_high, -found.slope_low), abs=1e-6)


def test_predictions_end_where_the_live_scale_ends(found: Hierarchy):
    made = made_up()
    high = float(made.live.estimate.max()) + 0.001
    ended = hierarchy_of(replace(made, live=replace(made.live, about=about(low=0.0, high=high))))
    far, free = ended.forecasts[2], found.forecasts[2]
    assert far.pred_high == high
    assert free.pred_high is not None
    assert free.pred_high > high
    assert far.pred_low == min(float(free.pred_low or 0), high)


def test_published_errors_and_no_new_models():
    made = made_up(n=7)
    plain = [replace(each, covariance=LAB_ERROR**2 * np.eye(7), marginal=True) for each in (made.lab, made.live)]
    found = hierarchy_of(of_sides(replace(plain[0], only_here=()), plain[1]))
    assert found.forecasts == ()


def test_what_cannot_be_answered_is_refused():
    made = made_up()
    with pytest.raises(CannotAnswerError, match="5 shared models are too few"):
        hierarchy_of(made_up(n=5))
    with pytest.raises(CannotAnswerError, match="not every lab score has a standard error"):
        hierarchy_of(of_sides(replace(made.lab, covariance=None), made.live))
    with pytest.raises(CannotAnswerError, match="same live score"):
        hierarchy_of(of_sides(made.lab, replace(made.live, estimate=np.ones(N))))
    broken = replace(made.scores, cross=np.eye(N))
    with pytest.raises(CannotAnswerError, match="no covariance"):
        hierarchy_of(replace(made, scores=broken))
