"""One model of lab and live: against integration by brute force, against ordinary regression, and by its properties."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import linalg, optimize, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.errors_in_variables.hierarchy import (
    HierarchyFit,
    Predicted,
    Priors,
    _new_models,
    contrasts_of,
    fit_hierarchy,
    new_lab_of,
    new_lives,
    posterior_of,
    true_gaps,
    typical_new,
)
from evalstats.stats.errors_in_variables.scores import LabLiveScores
from evalstats.stats.errors_in_variables.true_gaps import _mixture_ends, _outside

# The lattice is cut off where the density has fallen by e^-9, so that about a thousandth of the posterior is missing, most of
# it far out: probabilities are good to 3 in a thousand, moments of the parameters to 2 in a hundred standard deviations.
CLOSE = 3e-3
FAR = 2e-2


def drawn(n: int, seed: int, *, tau: float = 0.5, lab: float = 0.4, live: float = 0.4) -> LabLiveScores:
    """Scores under the model itself: slope 1.2, full covariances in the lab, independent errors live."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=n)
    root = lab * (np.eye(n) + 0.3 * rng.normal(size=(n, n)) / np.sqrt(n))
    return LabLiveScores(
        lab=theta + root @ rng.normal(size=n) + 0.3 * rng.normal(),
        live=0.5 + 1.2 * theta + tau * rng.normal(size=n) + live * rng.normal(size=n),
        lab_covariance=root @ root.T + 0.09,
        live_covariance=live**2 * np.eye(n),
    )


class BruteForce:
    """The posterior by the plainest formula: Gauss-Legendre points in slope and spreads, whole covariances, kriging."""

    def __init__(self, scores: LabLiveScores, new: float | None = None, new_variance: float = 0.0) -> None:
        self.scores, n = scores, scores.n_models
        unit = scores.lab.std(ddof=1), scores.live.std(ddof=1)
        # 20 points a side; the ranges hold all of the posterior of `drawn`.
        at, weight = np.polynomial.legendre.leggauss(20)

        def between(low: float, high: float) -> np.ndarray:
            return low + (high - low) * (at + 1) / 2

        slope, sigma, tau = np.meshgrid(
            between(-1.0, 4.0), between(0.02, 4.0), between(0.0, 3.5), indexing="ij", copy=False
        )
        self.b, self.s, self.t = slope.ravel(), sigma.ravel(), tau.ravel()
        priors = Priors().log_density(self.b * unit[0] / unit[1], self.s / unit[0], self.t / unit[1])
        self.log_prior = priors + np.log(np.einsum("i,j,k->ijk", weight, weight, weight).ravel())
        self.x = scores.lab if new is None else np.append(scores.lab, new)
        self.k, self.n = len(self.x), n
        self.noise = np.zeros((self.k + n, self.k + n))
        self.noise[:n, :n] = scores.lab_covariance
        self.noise[self.k :, self.k :] = scores.live_covariance
        if scores.cross is not None:
            self.noise[:n, self.k :], self.noise[self.k :, :n] = scores.cross, scores.cross.T
        if new is not None:
            self.noise[n, n] = new_variance

    def covariance(self) -> np.ndarray:
        """Of lab and live scores at every point."""
        k, n = self.k, self.n
        link = np.eye(k, n)
        whole = np.broadcast_to(self.noise, (len(self.b), k + n, k + n)).copy()
        square = self.s**2
        whole[:, :k, :k] += square[:, None, None] * np.eye(k)
        whole[:, :k, k:] += (self.b * square)[:, None, None] * link
        whole[:, k:, :k] += (self.b * square)[:, None, None] * link.T
        whole[:, k:, k:] += (self.b**2 * square + self.t**2)[:, None, None] * np.eye(n)
        return whole

    def predict(self, known: np.ndarray, target: np.ndarray, own: np.ndarray, *, live: bool):
        """Weights of the points given the scores `known`, and mean and sd of a target, whose covariances are given."""
        k, n = self.k, self.n
        y = np.concatenate([self.x, self.scores.live])[known]
        means = np.column_stack([np.arange(k + n) < k, np.arange(k + n) >= k]).astype(float)[known]
        inverse = np.linalg.inv(self.covariance()[:, known][:, :, known])
        spread = np.linalg.inv(means.T @ inverse @ means)
        beta = np.einsum("pij,pj->pi", spread, inverse @ y @ means)
        rest = y - beta @ means.T
        height = 0.5 * (
            np.linalg.slogdet(inverse)[1]
            + np.linalg.slogdet(spread)[1]
            - np.einsum("pi,pij,pj->p", rest, inverse, rest)
        )
        height += self.log_prior
        weight = np.exp(height - height.max())
        along = np.array([0.0, 1.0]) if live else np.zeros(2)
        pull = np.einsum("pij,pj->pi", inverse, target)
        left = along - pull @ means
        mean = np.einsum("pi,pi->p", pull, rest) + beta @ along
        variance = own - np.einsum("pi,pi->p", pull, target) + np.einsum("pi,pij,pj->p", left, spread, left)
        return weight / weight.sum(), mean, np.sqrt(variance)


def below(weight: np.ndarray, mean: np.ndarray, sd: np.ndarray, value: float) -> float:
    return float(weight @ stats.norm.cdf((value - mean) / sd))


@pytest.fixture(scope="module")
def crossed() -> LabLiveScores:
    """Nine models whose lab and live errors are correlated."""
    scores = drawn(9, 4)
    rng = np.random.default_rng(0)
    return replace(scores, cross=0.03 * np.eye(9) + 0.01 * rng.normal(size=(9, 9)))


@pytest.fixture(scope="module", params=[False, True], ids=["apart", "crossed"])
def both_ways(request: pytest.FixtureRequest, crossed: LabLiveScores) -> tuple[LabLiveScores, HierarchyFit, BruteForce]:
    scores = crossed if request.param else replace(crossed, cross=None)
    return scores, fit_hierarchy(scores), BruteForce(scores)


def test_slope_tau_and_gaps_are_those_of_brute_force(both_ways: tuple[LabLiveScores, HierarchyFit, BruteForce]):
    scores, fit, brute = both_ways
    posterior = posterior_of(contrasts_of(scores), Priors())
    gaps, unit = true_gaps(posterior), posterior.data.unit
    every = np.arange(18)
    for model in (0, 5):
        target = np.zeros((len(brute.b), 18))
        target[:, 9 + model] = brute.t**2
        weight, mean, sd = brute.predict(every, target, brute.t**2, live=False)
        assert unit[1] * gaps.centre()[model] == pytest.approx(weight @ mean, abs=CLOSE)
        assert fit.probability_below[model] == pytest.approx(below(weight, mean, sd, 0.0), abs=CLOSE)
        assert below(weight, mean, sd, unit[1] * gaps.quantile(0.025)[model]) == pytest.approx(0.025, abs=CLOSE)
        assert below(weight, mean, sd, unit[1] * gaps.quantile(0.975)[model]) == pytest.approx(0.975, abs=CLOSE)
    # Quantiles of the points of the brute force jump from point to point, so moments stand in for them.
    own = posterior.lattice.weights()[:, 0]
    for mine, theirs in (
        (posterior.at.slope * unit[1] / unit[0], brute.b),
        (posterior.at.sigma * unit[0], brute.s),
        (posterior.at.tau * unit[1], brute.t),
    ):
        sd = np.sqrt(weight @ theirs**2 - (weight @ theirs) ** 2)
        assert own @ mine == pytest.approx(weight @ theirs, abs=FAR * sd)
        assert np.sqrt(own @ mine**2 - (own @ mine) ** 2) == pytest.approx(sd, rel=FAR)


def test_a_model_left_out_is_predicted_as_if_its_live_score_had_never_been(
    both_ways: tuple[LabLiveScores, HierarchyFit, BruteForce],
):
    _, fit, brute = both_ways
    model = 3
    known = np.delete(np.arange(18), 9 + model)
    whole = brute.covariance()
    weight, mean, sd = brute.predict(known, whole[:, known, 9 + model], whole[:, 9 + model, 9 + model], live=True)
    assert fit.left_out.expected[model] == pytest.approx(weight @ mean, abs=CLOSE)
    assert below(weight, mean, sd, fit.left_out.low[model]) == pytest.approx(0.025, abs=CLOSE)
    assert below(weight, mean, sd, fit.left_out.high[model]) == pytest.approx(0.975, abs=CLOSE)


def test_a_new_model_is_predicted_from_its_own_lab_score_and_all_others(crossed: LabLiveScores):
    scores = replace(crossed, cross=None)
    fit = fit_hierarchy(scores, new_lab=np.array([1.4]), new_lab_covariance=np.array([0.3]))
    brute = BruteForce(scores, 1.4, 0.3)
    target = np.zeros((len(brute.b), 19))
    target[:, 9] = brute.b * brute.s**2
    own = brute.b**2 * brute.s**2 + brute.t**2
    weight, mean, sd = brute.predict(np.arange(19), target, own, live=True)
    assert fit.new is not None
    assert fit.new.live.expected[0] == pytest.approx(weight @ mean, abs=CLOSE)
    assert below(weight, mean, sd, fit.new.live.low[0]) == pytest.approx(0.025, abs=CLOSE)
    assert below(weight, mean, sd, fit.new.live.high[0]) == pytest.approx(0.975, abs=CLOSE)


@pytest.mark.parametrize("n", [8, 15])
def test_without_noise_and_with_flat_priors_it_is_the_regression_prediction_interval(n: int):
    """With prior 1/tau and a flat slope the law is Student's t with n - 2 degrees of freedom about the fitted line."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    z = 1.0 + 2.0 * x + 0.7 * rng.normal(size=n)
    none = np.zeros((n, n))
    data = contrasts_of(LabLiveScores(lab=x, live=z, lab_covariance=none, live_covariance=none))
    posterior = posterior_of(data, Priors())
    at, lattice = posterior.at, posterior.lattice
    change = -np.log(at.tau + 1e-12) - posterior.priors.log_density(at.slope, at.sigma, at.tau)
    flat = replace(posterior, lattice=replace(lattice, log_density=lattice.log_density + change))
    away = np.array([x.mean(), x.mean() + 0.8])
    law = new_lives(flat, new_lab_of(data, away, np.zeros(2), None))
    slope, intercept, *_ = stats.linregress(x, z)
    rest = z - intercept - slope * x
    s = np.sqrt(rest @ rest / (n - 2))
    reach = s * np.sqrt(1 + 1 / n + (away - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()) * stats.t.ppf(0.975, n - 2)
    middle = intercept + slope * away
    assert data.centre[1] + data.unit[1] * law.centre() == pytest.approx(middle, abs=2e-3 * s)
    # Student's tails lie partly beyond the lattice: 1% of the width at 6 degrees of freedom.
    assert data.unit[1] * (law.quantile(0.975) - law.quantile(0.025)) == pytest.approx(2 * reach, rel=1e-2)


def numbers(fit: HierarchyFit) -> np.ndarray:
    """All that must not move, scale-free or in live units."""
    assert fit.new is not None
    models = np.concatenate([fit.probability_below, fit.left_out.low, fit.left_out.high])
    new = np.concatenate([fit.new.live.expected, fit.new.live.low, fit.new.live.high])
    return np.concatenate([[fit.slope, fit.slope_low, fit.slope_high, fit.tau, fit.tau_low, fit.tau_high], models, new])


def fitted(scores: LabLiveScores, shared: np.ndarray | None = None, variance: float = 0.2) -> HierarchyFit:
    cross = None if shared is None else np.tile(shared, (2, 1))
    return fit_hierarchy(
        scores, new_lab=np.array([0.3, 1.0]), new_lab_covariance=np.full(2, variance), new_cross_with_lab=cross
    )


def test_what_all_models_share_changes_nothing():
    """Easy items or a lenient crowd move all scores alike; a part h_i + h_j of a covariance is no more than that."""
    scores = drawn(10, 1)
    n = 10
    h = np.linspace(0.0, 0.3, n)
    lab = scores.lab_covariance + 0.5
    centring = np.eye(n) - 1.0 / n
    live = scores.live_covariance + h + h[:, None] + 1.0
    votes = centring @ scores.live_covariance @ centring
    base = numbers(fitted(scores))
    for moved in (
        fitted(replace(scores, lab_covariance=lab, live_covariance=live), np.full(n, 0.5), variance=0.7),
        fitted(replace(scores, live_covariance=votes, cross=np.tile(h, (n, 1)))),
    ):
        assert numbers(moved) == pytest.approx(base, abs=1e-6)


def test_units_zeros_and_directions_do_not_matter():
    scores = drawn(8, 2)
    base = fitted(scores)
    turned = replace(
        scores,
        lab=100 * scores.lab,
        live=3 - 7 * scores.live,
        lab_covariance=1e4 * scores.lab_covariance,
        live_covariance=49 * scores.live_covariance,
    )
    other = fit_hierarchy(turned, new_lab=np.array([30.0, 100.0]), new_lab_covariance=np.full(2, 2000.0))
    assert (other.slope, other.slope_low) == pytest.approx((-0.07 * base.slope, -0.07 * base.slope_high), abs=1e-6)
    assert other.tau == pytest.approx(7 * base.tau, abs=1e-6)
    assert other.probability_below == pytest.approx(1 - base.probability_below, abs=1e-6)
    assert other.left_out.high == pytest.approx(3 - 7 * base.left_out.low, abs=1e-5)
    assert base.new is not None
    assert other.new is not None
    assert other.new.live.low == pytest.approx(3 - 7 * base.new.live.high, abs=1e-5)
    assert other.sensitivity[0][1] == pytest.approx(base.sensitivity[0][1], abs=1e-6)


def test_the_order_of_models_does_not_matter():
    scores = drawn(8, 3)
    order = np.random.default_rng(0).permutation(8)
    base, other = fitted(scores), fitted(scores.subset(order))
    assert other.probability_below == pytest.approx(base.probability_below[order], abs=1e-6)
    assert other.left_out.low == pytest.approx(base.left_out.low[order], abs=1e-6)
    assert (other.tau, other.slope) == pytest.approx((base.tau, base.slope), abs=1e-6)


def test_it_is_the_same_every_time():
    scores = drawn(6, 3)
    assert (numbers(fitted(scores)) == numbers(fitted(scores))).all()


def test_a_new_model_is_alone_in_its_prediction():
    scores = drawn(8, 5)
    both = fit_hierarchy(scores, new_lab=np.array([0.2, 9.0]), new_lab_covariance=np.array([0.2, 0.2]))
    one = fit_hierarchy(scores, new_lab=np.array([0.2]), new_lab_covariance=np.array([[0.2]]))
    assert both.new is not None
    assert one.new is not None
    assert both.new.live.high[0] == pytest.approx(one.new.live.high[0], abs=1e-9)
    assert both.new.extrapolated.tolist() == [False, True]
    assert both.new.live.std_error[1] > both.new.live.std_error[0]


def test_noise_in_the_lab_widens_a_prediction_and_the_spread_of_gaps_stays():
    scores = drawn(40, 6, tau=0.6)
    fit = fit_hierarchy(scores, new_lab=np.zeros(3), new_lab_covariance=np.array([0.0, 0.1, 1.0]))
    assert fit.new is not None
    width = fit.new.live.high - fit.new.live.low
    assert (np.diff(width) > 0).all()
    assert width[0] > 2 * 1.9 * fit.tau_low


def test_wider_priors_give_wider_predictions():
    narrow, wide, flat = (ratio for _, ratio in fit_hierarchy(drawn(8, 7)).sensitivity)
    assert narrow < 1 < wide
    assert 0.9 < flat < 1.5


def test_ranks_of_a_prediction_hold_the_place_of_its_middle():
    scores = drawn(15, 8)
    fit = fit_hierarchy(scores, new_lab=np.array([-9.0, 0.0, 9.0]), new_lab_covariance=np.full(3, 0.1))
    assert fit.new is not None
    place = 1 + (scores.live[:, None] > fit.new.live.expected).sum(axis=0)
    assert ((fit.new.rank_low <= place) & (place <= fit.new.rank_high)).all()
    assert fit.new.rank_high[0] == 16
    assert fit.new.rank_low[2] == 1


def test_coverage_is_that_of_the_intervals():
    scores = drawn(12, 9)
    fit = fit_hierarchy(scores, conf_level=0.5)
    inside = (fit.left_out.low <= scores.live) & (scores.live <= fit.left_out.high)
    assert (fit.inside == inside).all()
    assert fit.coverage.estimate == pytest.approx(inside.mean())
    wide = fit_hierarchy(scores, conf_level=0.95)
    assert (wide.left_out.low < fit.left_out.low).all()


def test_a_lab_of_noise_alone_is_called_so():
    scores = drawn(8, 10, lab=2.0)
    assert any("noise makes up" in text for text in fit_hierarchy(scores).warnings)


def test_what_cannot_be_answered_is_refused():
    scores = drawn(8, 11)
    with pytest.raises(CannotAnswerError, match="at least 6"):
        fit_hierarchy(scores.subset(np.arange(5)))
    with pytest.raises(InputError, match="errors of both sides"):
        fit_hierarchy(replace(scores, live_covariance=None))
    with pytest.raises(InputError, match="all lab scores are the same"):
        fit_hierarchy(replace(scores, lab=np.ones(8)))
    with pytest.raises(InputError, match="no covariance"):
        fit_hierarchy(replace(scores, cross=5.0 * np.eye(8)))
    with pytest.raises(InputError, match="without new_lab_covariance"):
        fit_hierarchy(scores, new_lab=np.zeros(1))
    with pytest.raises(InputError, match="variance of a difference"):
        fit_hierarchy(
            scores, new_lab=np.zeros(1), new_lab_covariance=np.zeros(1), new_cross_with_lab=np.full((1, 8), 3.0)
        )
    none = np.zeros((8, 8))
    exact = LabLiveScores(lab=np.arange(8.0), live=2 * np.arange(8.0), lab_covariance=none, live_covariance=none)
    with pytest.raises(CannotAnswerError, match="on one line"):
        fit_hierarchy(exact)


@pytest.mark.parametrize("n", [15])
def test_prediction_intervals_hold_what_they_promise(n: int):
    """60 new models and 45 left out: 95% intervals hold at least 90% (a standard error and a half)."""
    new, left = zip(*(_held(n, seed, heavy=False) for seed in range(3)), strict=True)
    assert np.mean(new) > 0.90
    assert np.mean(left) > 0.90


@pytest.mark.slow
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize(("n", "n_worlds"), [(8, 150), (15, 150), (48, 40)])
def test_prediction_intervals_hold_what_they_promise_in_many_worlds(n: int, n_worlds: int, *, heavy: bool):
    """At least 93%, but for two standard errors of the simulation; worlds, not models, are independent."""
    new, left = zip(*(_held(n, seed, heavy=heavy) for seed in range(n_worlds)), strict=True)
    for shares in (new, left):
        assert np.mean(shares) > 0.93 - 2 * np.std(shares) / np.sqrt(n_worlds)


def _held(n: int, seed: int, *, heavy: bool) -> tuple[float, float]:
    """Share of 20 new models, and of those left out, whose score lies in its interval."""
    rng = np.random.default_rng([n, seed])
    theta = rng.normal(size=n + 20)
    gaps = 0.4 * (rng.standard_t(3, size=n + 20) / np.sqrt(3) if heavy else rng.normal(size=n + 20))
    lab_sd, live_sd = 0.4 * rng.uniform(0.6, 1.4, n + 20), 0.3 * rng.uniform(0.6, 1.4, n)
    lab = theta + lab_sd * rng.normal(size=n + 20) + 0.5 * rng.normal()
    true = 0.7 + theta + gaps
    live = true[:n] + live_sd * rng.normal(size=n)
    scores = LabLiveScores(
        lab=lab[:n], live=live, lab_covariance=np.diag(lab_sd[:n] ** 2) + 0.25, live_covariance=np.diag(live_sd**2)
    )
    fit = fit_hierarchy(
        scores, new_lab=lab[n:], new_lab_covariance=lab_sd[n:] ** 2 + 0.25, new_cross_with_lab=np.full((20, n), 0.25)
    )
    assert fit.new is not None
    inside = (fit.new.live.low <= true[n:]) & (true[n:] <= fit.new.live.high)
    return float(inside.mean()), fit.coverage.estimate


@pytest.mark.parametrize(("factor", "possible"), [(0.0, True), (0.95, True), (1.05, False), (-1.05, False)])
def test_a_new_lab_score_may_go_together_with_the_others_as_far_as_a_covariance_allows(factor: float, possible: bool):
    """Its difference from the mean of the shared models, and their contrasts: all errors together have a covariance."""
    rng = np.random.default_rng(2)
    n = 6
    root = rng.normal(size=(n, n)) * 0.1
    lab_covariance = root @ root.T + 0.01 * np.eye(n)
    scores = LabLiveScores(
        lab=rng.normal(size=n), live=rng.normal(size=n), lab_covariance=lab_covariance, live_covariance=0.01 * np.eye(n)
    )
    data = contrasts_of(scores)
    away = rng.normal(size=n)
    away -= away.mean()
    own = 0.03
    # The largest covariance of this direction: what the contrasts tell of the difference is all of its error.
    basis = linalg.helmert(n)

    def left(size: float) -> float:
        with_lab = size * away
        difference = own + lab_covariance.mean() - 2.0 * with_lab.mean()
        across = basis @ (with_lab - lab_covariance.mean(axis=1))
        return difference - across @ np.linalg.solve(basis @ lab_covariance @ basis.T, across)

    ends = [optimize.brentq(left, 0.0, s * 10.0) for s in (1.0, -1.0)]
    with_lab = (ends[0] if factor >= 0 else -ends[1]) * factor * away
    if possible:
        found = new_lab_of(data, np.array([0.5]), np.array([own]), with_lab[None])
        unit = data.unit[0]
        assert found.noise[0] == pytest.approx((own + lab_covariance.mean() - 2.0 * with_lab.mean()) / unit**2)
        assert found.away[0] == pytest.approx((0.5 - scores.lab.mean()) / unit)
        assert np.square(found.shared).sum() == pytest.approx(
            np.square(basis @ (with_lab - lab_covariance.mean(axis=1))).sum() / unit**4
        )
    else:
        with pytest.raises(InputError, match="would be negative"):
            new_lab_of(data, np.array([0.5]), np.array([own]), with_lab[None])


def test_a_typical_new_model_has_an_error_like_the_others_of_its_own():
    n = 5
    data = contrasts_of(
        LabLiveScores(
            lab=np.arange(5.0), live=np.arange(5.0) ** 2, lab_covariance=0.2 * np.eye(n), live_covariance=np.eye(n)
        )
    )
    found = typical_new(data)
    assert found.away.tolist() == [0.0]
    assert found.noise == pytest.approx([0.2 * (1 + 1 / n) / data.unit[0] ** 2])
    assert found.shared.tolist() == [[0.0]] * (n - 1)


def test_ranks_of_new_models_count_who_is_surely_and_who_may_be_better() -> None:
    scores = replace(drawn(6, 3), live=np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), live_covariance=0.04 * np.eye(6))
    live = Predicted(
        expected=np.array([2.4, 9.0, -9.0]), std_error=np.array([0.5, 0.1, 0.1]), low=np.zeros(3), high=np.zeros(3)
    )
    lab = np.array([scores.lab.mean(), scores.lab.max() + 0.1, scores.lab.min() - 0.1])
    found = _new_models(scores, lab, live, 0.95)
    reach = stats.norm.ppf(0.975) * np.sqrt(live.std_error**2 + 0.04)
    for k in range(3):
        better = [y for y in scores.live if y - live.expected[k] > reach[k]]
        perhaps = [y for y in scores.live if y - live.expected[k] >= -reach[k]]
        assert (found.rank_low[k], found.rank_high[k]) == (1 + len(better), 1 + len(perhaps))
    assert found.rank_low.tolist() == [3, 1, 7]
    assert found.extrapolated.tolist() == [False, True, True]


def test_ends_of_a_mixture_of_points_and_of_normal_laws() -> None:
    # The least point that has the level at or below it: of four a quarter lies at 0, three quarters up to 2.
    for points, wanted in (((0.0, 1.0, 2.0, 3.0), (0.0, 2.0)), ((0.0, 1.0, 2.0, 3.0, 4.0), (1.0, 3.0))):
        low, high = _mixture_ends(np.array(points)[:, None], np.zeros((len(points), 1)), 0.5)
        assert (low[0], high[0]) == pytest.approx(wanted, abs=1e-9)
    mean, sd = np.array([[0.0], [2.0]]), np.array([[0.5], [1.5]])
    for end, level in zip(_mixture_ends(mean, sd, 0.9), (0.05, 0.95), strict=True):
        assert stats.norm.cdf(end[0], mean, sd).mean() == pytest.approx(level, abs=1e-9)


def test_priors_are_a_normal_law_and_two_of_t() -> None:
    priors = Priors(slope=1.5, tau=0.7, sigma=1.3)
    slope, sigma, tau = (np.array(each) for each in ((0.0, 1.0, -2.0), (0.1, 0.9, 3.0), (2.0, 0.05, 0.4)))
    wanted = stats.norm.logpdf(slope / 1.5) + stats.t.logpdf(sigma / 1.3, 4) + stats.t.logpdf(tau / 0.7, 4)
    found = priors.log_density(slope, sigma, tau)
    assert found - found[0] == pytest.approx(wanted - wanted[0])


def test_a_score_is_outside_beyond_the_mean_space_of_the_others() -> None:
    # The other five lie from 0 to 8, 2 apart on average.
    for place, outside in ((10.1, True), (9.9, False), (-1.9, False), (-2.1, True)):
        assert _outside(np.array([0.0, 1.0, 5.0, 7.0, 8.0, place]))[-1] == outside


@pytest.mark.parametrize("other", [Priors(tau=0.5), Priors(tau=0.01), Priors(slope=0.05)])
def test_other_priors_give_the_posterior_that_they_give_from_the_start(other: Priors) -> None:
    """Near ones on the lattice that is there; of those that leave it, a lattice of their own."""
    data = contrasts_of(drawn(8, 5))
    moments = []
    for found in (posterior_of(data, Priors()).under(other), posterior_of(data, other)):
        weight, at = found.lattice.weights()[:, 0], found.at
        means = [float(weight @ each) for each in (at.slope, at.sigma, at.tau)]
        moments.append([*means, float(weight @ np.square(at.slope - means[0])) ** 0.5])
    assert moments[0] == pytest.approx(moments[1], abs=FAR)
