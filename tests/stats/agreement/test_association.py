"""p-values of no association."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.agreement.correlation import NAMES, CoefficientName, association_test, correlate


@pytest.mark.parametrize("n", [4, 9, 20, 41])
def test_kendall_equals_the_exact_law_of_scipy(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        x, z = rng.normal(size=(2, n))
        result = association_test("kendall", x, z)
        assert result.exact
        assert result.p_value == pytest.approx(stats.kendalltau(x, z, method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_few_models_by_listing_every_order(name: CoefficientName) -> None:
    x, z = np.array([3.0, 1.0, 4.0, 1.0, 5.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.5])
    seen = abs(float(correlate(name, x, z)))
    values = [abs(float(correlate(name, x, z[list(order)]))) for order in permutations(range(5))]
    result = association_test(name, x, z)
    assert result.exact
    assert result.p_value == pytest.approx(np.mean([value >= seen - 1e-9 for value in values]), abs=1e-12)


def test_many_models_by_drawn_orders() -> None:
    x, z = np.random.default_rng(4).normal(size=(2, 30))
    z += 0.35 * x
    # 9999 orders: the standard error of a p near .05 is .002.
    assert association_test("pearson", x, z).p_value == pytest.approx(stats.pearsonr(x, z).pvalue, abs=0.01)
    assert association_test("spearman", x, z).p_value == pytest.approx(stats.spearmanr(x, z).pvalue, abs=0.01)


def test_a_p_is_never_zero() -> None:
    x = np.arange(200.0)
    assert association_test("pearson", x, x, n_resamples=999).p_value == 0.001
    assert 0.0 < association_test("kendall", x, x).p_value < 1e-200


def test_ties_are_not_counted_as_if_they_were_none() -> None:
    x = np.array([1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0])
    assert association_test("kendall", x, x).method == "9999 random permutations"


def test_no_test_without_variation() -> None:
    with pytest.raises(CannotAnswerError, match="two sides that vary"):
        association_test("spearman", [1.0, 2.0, 3.0], [1.0, 1.0, 1.0])


def test_size_at_eight_models() -> None:
    rng, n = np.random.default_rng(7), 400
    small = [association_test("spearman", *rng.normal(size=(2, 6))).p_value <= 0.05 for _ in range(n)]
    assert np.mean(small) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / n)


@pytest.mark.parametrize("name", NAMES)
def test_where_nothing_goes_together_every_drawn_order_is_as_far_from_0(name: CoefficientName) -> None:
    x = np.arange(-5.0, 6.0)
    assert float(correlate(name, x, x**2)) == pytest.approx(0.0, abs=1e-12)
    assert association_test(name, x, x**2, n_resamples=199).p_value == 1.0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_side_that_varies_by_rounding_alone_has_no_correlation(sign: float) -> None:
    rounded = sign * np.array([0.1 + 0.2, 0.3, 0.3, 0.1 + 0.2, 0.3]) * 1e6
    assert np.ptp(rounded) > 0.0
    assert np.isnan(correlate("pearson", rounded, np.arange(5.0)))
    plain = sign * np.array([5.0, 1.0, 4.0, 2.0, 2.5])
    assert correlate("pearson", plain, np.arange(5.0)) == pytest.approx(np.corrcoef(plain, np.arange(5.0))[0, 1])


def test_three_models_are_enough_for_a_test_of_association() -> None:
    found = association_test("pearson", [1.0, 2.0, 4.0], [1.0, 3.0, 4.0])
    assert found.p_value >= 1 / 6
    with pytest.raises(CannotAnswerError, match="needs 3 models"):
        association_test("pearson", [1.0, 2.0], [1.0, 3.0])
