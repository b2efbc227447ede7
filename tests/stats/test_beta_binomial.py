"""More trials than were run: fits by scipy, scipy's law, the interval by its definition, truth by simulation."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special, stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.beta_binomial import BetaBinomial, any_law_intervals
from evalstats.stats.trials import pass_at_k, pass_hat_k

# Boys in 6,115 families of 12 children in Saxony, 1876 to 1885 (Geissler 1889, as in Lindsey & Altham 1998,
# doi:10.1111/1467-9876.00103).
BOYS = (3, 24, 104, 286, 670, 1033, 1343, 1112, 829, 478, 181, 45, 7)


def counts(seed: int, n_items: int = 60, n: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return np.full(n_items, n), rng.binomial(n, rng.beta(2, 1, n_items))


def by_scipy(trials: np.ndarray, right: np.ndarray, mean: float, correlation: float) -> float:
    total = 1 / correlation - 1
    return float(stats.betabinom.logpmf(right, trials, mean * total, (1 - mean) * total).sum())


def test_the_fit_of_boys_in_families() -> None:
    right = np.repeat(np.arange(13), BOYS)
    law = BetaBinomial.of(np.full(len(right), 12), right)
    total = 1 / law.correlation - 1

    def lack(x: np.ndarray) -> float:
        return -float(BOYS @ stats.betabinom.logpmf(np.arange(13), 12, *np.exp(x)))

    best = optimize.minimize(lack, [3.0, 3.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11})
    assert (law.mean * total, (1 - law.mean) * total) == pytest.approx(
        np.exp(best.x), rel=1e-5
    )  # the simplex's own digits
    assert law.log_likelihood + np.log(special.comb(12, right)).sum() == pytest.approx(-best.fun, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_the_greatest_likelihood(seed: int) -> None:
    trials, right = counts(seed)
    trials = np.where(np.arange(60) < 20, np.maximum(right, 3), trials)  # items may differ in their trials
    law = BetaBinomial.of(trials, right)

    def lack(x: np.ndarray) -> float:
        return -by_scipy(trials, right, *special.expit(x))

    best = optimize.minimize(lack, [0.5, -1.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12})
    assert special.logit([law.mean, law.correlation]) == pytest.approx(best.x, abs=1e-6)
    assert by_scipy(trials, right, law.mean, law.correlation) >= -best.fun - 1e-10


def test_pass_of_the_law_is_its_moment() -> None:
    law = BetaBinomial.of(*counts(1))
    total = 1 / law.correlation - 1
    beta = stats.beta(law.mean * total, (1 - law.mean) * total)
    assert law.expected(11, "hat") == pytest.approx(beta.expect(lambda p: p**11), rel=1e-6)
    assert law.expected(11, "at") == pytest.approx(1 - beta.expect(lambda p: (1 - p) ** 11), rel=1e-6)


@pytest.mark.parametrize("kind", ["hat", "at"])
def test_the_interval_by_its_definition(kind: str) -> None:
    """The least and the greatest value over a fine grid of laws within half the chi-squared quantile."""
    trials, right = counts(2)
    law = BetaBinomial.of(trials, right)
    found = law.interval(9, kind)  # pyright: ignore[reportArgumentType]
    cells, n = np.unique(right, return_counts=True)
    mean, r = np.meshgrid(np.linspace(0.4, 0.9, 501), special.expit(np.linspace(-6, 3, 601)))
    total = 1 / r - 1
    value = sum(
        k * stats.betabinom.logpmf(c, 4, mean * total, (1 - mean) * total) for c, k in zip(cells, n, strict=True)
    )
    inside = value >= value.max() - stats.chi2.ppf(0.95, 1) / 2
    own = mean if kind == "hat" else 1 - mean
    chance = np.prod([(own * total + j) / (total + j) for j in range(9)], axis=0)[inside]
    chance = chance if kind == "hat" else 1 - chance
    assert (found.conf_low, found.conf_high) == pytest.approx((chance.min(), chance.max()), abs=2e-3)


@given(st.lists(st.integers(0, 4), min_size=8, max_size=30).filter(lambda c: 0 < sum(c) < 4 * len(c)))
def test_properties(right: list[int]) -> None:
    """Failures are successes turned round, more trials are harder to succeed in, items have no order, intervals nest."""
    trials = [4] * len(right)
    law, turned = BetaBinomial.of(trials, right), BetaBinomial.of(trials, [4 - c for c in right])
    assert law.expected(6, "hat") == pytest.approx(1 - turned.expected(6, "at"), abs=1e-5)
    assert BetaBinomial.of(trials, right[::-1]).expected(6, "hat") == law.expected(6, "hat")
    assert law.expected(1, "hat") == pytest.approx(law.mean)
    found = [law.interval(k, "hat") for k in (5, 8, 16)]
    for before, after in pairwise(found):
        assert after.estimate <= before.estimate + 1e-9
        assert after.conf_low <= before.conf_low + 1e-6  # pyright: ignore[reportOperatorIssue]
    for each in found:
        assert each.conf_low <= each.estimate <= each.conf_high  # pyright: ignore[reportOperatorIssue]
    wider = law.interval(5, "hat", conf_level=0.99)
    assert wider.conf_low <= found[0].conf_low  # pyright: ignore[reportOperatorIssue]


def test_for_the_trials_run_law_and_unbiased_values_agree_where_the_law_holds() -> None:
    trials, right = counts(5, n_items=4_000)
    law = BetaBinomial.of(trials, right)
    for kind, of in (("hat", pass_hat_k), ("at", pass_at_k)):
        assert law.expected(3, kind) == pytest.approx(of(trials, right, 3).mean(), abs=0.01)  # pyright: ignore[reportArgumentType]


def test_any_law_is_wider_and_holds_what_two_points_give() -> None:
    """Half of the items succeed in .3 of trials, half in .95: the Beta law is far off for 16 of 4 trials, any law is not."""
    rng = np.random.default_rng(3)
    rates = np.where(np.arange(2_000) % 2, 0.3, 0.95)
    trials, right = np.full(2_000, 4), rng.binomial(4, rates)
    low, high = any_law_intervals(trials, right, [("hat", 16)])[0]
    assert low <= (0.3**16 + 0.95**16) / 2 <= high
    assert high - low > 0.03  # however many items


def test_any_law_by_its_definition() -> None:
    """The same by a general solver, over a coarser grid of rates."""
    right = np.array([0] * 8 + [1] * 3 + [2] * 5 + [3] * 9 + [4] * 15)
    rates = np.linspace(0, 1, 41)
    chance = stats.binom.pmf(np.arange(5)[:, None], 4, rates)
    counted = np.bincount(right)

    def log_likelihood(w: np.ndarray) -> float:
        return float(counted @ np.log(chance @ w + 1e-12))

    one = {"type": "eq", "fun": lambda w: w.sum() - 1}
    start, bounds = np.full(41, 1 / 41), [(0, 1)] * 41
    best = optimize.minimize(
        lambda w: -log_likelihood(w), start, constraints=[one], bounds=bounds, options={"maxiter": 500}
    )
    near = {"type": "ineq", "fun": lambda w: log_likelihood(w) + best.fun + stats.chi2.ppf(0.95, 1) / 2}
    ends = [
        float(sign * optimize.minimize(
            lambda w, sign=sign: sign * (w @ rates**8), best.x, constraints=[one, near], bounds=bounds, options={"maxiter": 500}
        ).fun)
        for sign in (1, -1)
    ]  # fmt: skip
    assert any_law_intervals(np.full(40, 4), right, [("hat", 8)])[0] == pytest.approx(ends, abs=0.01)


def test_a_law_that_does_not_fit_is_found() -> None:
    """A fifth of the items never succeeds, the others nine times of ten; and what follows the law is rarely refused."""
    rng = np.random.default_rng(4)
    rates = np.where(np.arange(200) % 5, 0.9, 0.0)
    assert BetaBinomial.of(np.full(200, 8), rng.binomial(8, rates)).check() <= 0.01  # pyright: ignore[reportOptionalOperand]
    rejected = [BetaBinomial.of(*counts(seed, n_items=100)).check() <= 0.05 for seed in range(60)]  # pyright: ignore[reportOptionalOperand]
    assert sum(rejected) <= 8  # 3 expected; more than 8 once in 100
    assert BetaBinomial.of([2, 2, 2, 2], [0, 1, 2, 2]).check() is None


def test_what_cannot_be_fitted() -> None:
    with pytest.raises(CannotAnswerError, match="run once"):
        BetaBinomial.of([1, 1, 1], [1, 0, 1])
    with pytest.raises(CannotAnswerError, match="every trial succeeds"):
        BetaBinomial.of([4, 4], [4, 4])
    with pytest.raises(CannotAnswerError, match="every trial fails"):
        BetaBinomial.of([4, 4], [0, 0])
    with pytest.raises(InputError, match="whole numbers"):
        BetaBinomial.of([4, 4], [1.5, 2])
    with pytest.raises(InputError, match="at least 1"):
        BetaBinomial.of([4, 4], [5, 2])


def test_coverage() -> None:
    """Of 60 tables where items are nearly all easy, or the law is another than the one fitted, at least 52.

    Of intervals that hold 95%, fewer are seen in one of 350 such tests; of 100 tables, fewer than 88 were in one of 700.
    """
    rng, held = np.random.default_rng(6), 0
    for law in (lambda rng, n: rng.beta(8, 1, n), lambda rng, n: special.expit(rng.normal(1, 1.5, n))):
        truth = float((law(np.random.default_rng(7), 500_000) ** 8).mean())
        for _ in range(30):
            edge = BetaBinomial.of(np.full(60, 4), rng.binomial(4, law(rng, 60))).interval(8, "hat")
            held += edge.conf_low <= truth <= edge.conf_high  # pyright: ignore[reportOptionalOperand]
    assert held >= 52
