"""Marginal means and contrasts against emmeans and against slow averages."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special, stats
from scipy.linalg import null_space

from evalstats.errors import InputError
from evalstats.stats.estimate import SMALLEST_P
from evalstats.stats.mixed.contrasts import (
    adjusted,
    against,
    against_mean,
    custom,
    joint_test,
    linear_estimates,
    pairwise,
    within_each,
)
from evalstats.stats.mixed.marginal_means import (
    ReferenceGrid,
    _one_factor,
    _quantiles,
    averaged_expit,
    expanded,
    marginal_means,
    population_means,
    probability_differences,
)

GOLDEN = json.loads((Path(__file__).resolve().parents[2] / "golden" / "mixed_means.json").read_text())
PRINTED = 1e-9  # R's numbers are stored with 12 decimals
LINEAR, EMPTY = GOLDEN["linear"], GOLDEN["empty_cell"]


def grid_of(stored):
    """The grid of emmeans, whose first factor runs fastest, in the order of ours."""
    factors = tuple(stored["levels"])
    order = np.lexsort([stored["codes"][f] for f in reversed(factors)])
    return ReferenceGrid(
        factors=factors,
        levels=tuple(tuple(stored["levels"][f]) for f in factors),
        rows=np.array(stored["rows"], dtype=float)[order],
        count=np.array(stored["count"], dtype=float)[order],
    )


def column(table, *names):
    return np.array([[row.get(name) for name in names] for row in table], dtype=float)


def compare(found, table, tolerance=PRINTED, estimate="emmean"):
    """Every number of a table of emmeans; its intervals and p are those of each row alone."""
    z = "t.ratio" if "t.ratio" in table[0] else "z.ratio"
    low, high = ("lower.CL", "upper.CL") if "lower.CL" in table[0] else ("asymp.LCL", "asymp.UCL")
    expected = column(table, estimate, "SE", low, high, z, "p.value")
    ours = np.stack(
        [found.estimate, found.std_error, found.conf_low, found.conf_high, found.statistic, found.p_value], 1
    )
    np.testing.assert_allclose(ours, expected, rtol=tolerance, atol=tolerance)


def estimates(means, of, df):
    return linear_estimates(means.rows, of["beta"], of["vcov"], df=df, names=means.names)


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("equal", "equal"),
        ("proportional", "observed"),
        ("mix", {"scenario": dict(zip(["ideal", "vague", "rude"], [0.6, 0.1, 0.3], strict=True))}),
    ],
)
def test_means_of_models_equal_emmeans(name, weights):
    table = LINEAR[name]
    means = marginal_means(grid_of(LINEAR["grid"]), ["model"], weights)
    compare(estimates(means, LINEAR, column(table, "df")[:, 0]), table)
    assert means.names == ("A", "B", "C", "D")


def test_cell_means_equal_emmeans():
    means = marginal_means(grid_of(LINEAR["grid"]), ["scenario", "model"])
    table = LINEAR["cells"]
    assert means.names == tuple(f"{row['scenario']}, {row['model']}" for row in table)
    compare(estimates(means, LINEAR, column(table, "df")[:, 0]), table)


@pytest.mark.parametrize(("name", "contrasts"), [("control_mvt", against("ABCD", "A")), ("eff", against_mean("ABCD"))])
def test_contrasts_equal_emmeans(name, contrasts):
    means, table = marginal_means(grid_of(LINEAR["grid"]), ["model"]), LINEAR[name]
    found = linear_estimates(
        contrasts.weights @ means.rows, LINEAR["beta"], LINEAR["vcov"], df=column(table, "df")[:, 0]
    )
    compare(found, table, estimate="estimate")


def test_drops_within_models_equal_emmeans_with_holm_in_families():
    means, table = marginal_means(grid_of(LINEAR["grid"]), ["model", "scenario"]), LINEAR["within"]
    contrasts = within_each("ABCD", against(["ideal", "vague", "rude"], "ideal"))
    found = linear_estimates(
        contrasts.weights @ means.rows,
        LINEAR["beta"],
        LINEAR["vcov"],
        df=column(table, "df")[:, 0],
        names=contrasts.names,
    )
    together = adjusted(found, "holm", family=contrasts.family)
    expected = column(table, "estimate", "SE", "p.value", "lower.CL", "upper.CL")
    ours = np.stack([found.estimate, found.std_error, together.p_adjusted, together.conf_low, together.conf_high], 1)
    np.testing.assert_allclose(ours, expected, rtol=PRINTED, atol=PRINTED)


@pytest.mark.parametrize("method", ["tukey", "holm"])
def test_families_of_pairs_equal_emmeans(method):
    means, table = marginal_means(grid_of(LINEAR["grid"]), ["model"]), LINEAR[f"pairs_{method}"]
    rows = pairwise("ABCD").weights @ means.rows
    found = adjusted(linear_estimates(rows, LINEAR["beta"], LINEAR["vcov"], df=column(table, "df")[:, 0]), method)
    ours = np.stack([found.p_adjusted, found.conf_low, found.conf_high], 1)
    # R's qtukey stops at 1e-4 of the quantile.
    np.testing.assert_allclose(ours[:, 0], column(table, "p.value")[:, 0], atol=1e-8)
    np.testing.assert_allclose(
        ours[:, 1:], column(table, "lower.CL", "upper.CL"), atol=2e-4 if method == "tukey" else PRINTED
    )


@pytest.mark.parametrize(("term", "columns"), [("lang", [6]), ("model:scenario", [7, 8, 9, 10, 11, 12])])
def test_joint_tests_equal_emmeans(term, columns):
    row = next(row for row in LINEAR["joint"] if row["model term"] == term)
    found = joint_test(np.eye(13)[columns], LINEAR["beta"], LINEAR["vcov"], df=row["df2"])
    assert found.df == row["df1"] == len(columns)
    assert found.statistic == pytest.approx(row["F.ratio"], abs=6e-4)  # printed with three decimals
    assert found.p_value == pytest.approx(row["p.value"], rel=5e-3)


def test_cells_without_data_are_null_as_in_emmeans():
    grid = grid_of(EMPTY["grid"])
    basis = null_space(np.array(EMPTY["design"], dtype=float))
    assert basis.shape == (12, 1)
    beta, covariance = expanded(np.array(EMPTY["beta"]), np.array(EMPTY["vcov"]), np.array(EMPTY["kept"]), 12)
    for factor in ("model", "scenario"):
        means = marginal_means(grid, [factor])
        found = linear_estimates(means.rows, beta, covariance, df=EMPTY["df"], null_basis=basis)
        compare(found, EMPTY[factor])
        null = [row["emmean"] is None for row in EMPTY[factor]]
        assert sum(null) == 1
        assert [reason is not None for reason in found.reasons] == null
    # Without the interaction the empty cell is predicted by the other rows, and nothing is null.
    additive = EMPTY["additive"]
    compare(
        estimates(marginal_means(grid_of(additive["grid"]), ["model"]), additive, additive["df"]), additive["model"]
    )


def test_means_equal_slow_averages():
    grid = grid_of(LINEAR["grid"])
    codes = np.array(list(np.ndindex(4, 3, 2)))
    for weights in ("equal", "observed", {"lang": {"en": 2, "de": 1}}):
        means = marginal_means(grid, ["scenario"], weights)
        for s in range(3):
            total, weight = np.zeros(13), 0.0
            for code, row in zip(codes.tolist(), grid.rows, strict=True):
                if code[1] != s:
                    continue
                same = (codes[:, 0] == code[0]) & (codes[:, 2] == code[2])
                w = {"equal": 1.0, "observed": float(np.asarray(grid.count)[same].sum())}.get(
                    weights if isinstance(weights, str) else "", [2.0, 1.0][code[2]]
                )
                total, weight = total + w * row, weight + w
            np.testing.assert_allclose(means.rows[s], total / weight, atol=1e-14)


def test_a_mix_is_normalised_and_said():
    means = marginal_means(grid_of(LINEAR["grid"]), ["model"], {"scenario": {"ideal": 3, "rude": 1}})
    assert means.averaging == "averaged over scenario (given mix), lang (equal weights)"
    assert means.notes == (
        "the mix of scenario does not name vague: weight 0",
        "the mix of scenario adds up to 4 and is divided by that",
    )
    np.testing.assert_allclose(means.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("over", "weights", "said"),
    [
        (["model"], "even", "use 'equal', 'observed' or a mix"),
        (["model"], {"scenario": {"ideal": 1, "odd": 1}}, "names 'odd'; its levels are ideal, vague, rude"),
        (["model"], {"scenario": {"ideal": -1, "rude": 2}}, "negative"),
        (["model"], {"scenario": {"ideal": 0}}, "all are 0"),
        (["model"], {"scenario": {"ideal": np.inf, "rude": 1}}, "no number"),
        (["model"], {"model": {"A": 1}}, "is not averaged over"),
        (["model"], {"users": {"A": 1}}, "is not in the grid"),
    ],
)
def test_bad_averages_are_refused(over, weights, said):
    with pytest.raises(InputError, match=said):
        marginal_means(grid_of(LINEAR["grid"]), over, weights)


def test_relabelling_turns_signs():
    one = pairwise(["a", "b", "c"]).weights
    other = pairwise(["c", "b", "a"]).weights[:, ::-1]
    np.testing.assert_array_equal(other, -one[[2, 1, 0]])
    for made in (pairwise("abcd"), against("abcd", "c"), against_mean("abcd")):
        np.testing.assert_allclose(made.weights.sum(axis=1), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"x": {"a": 1, "z": -1}}, "names 'z'"),
        ({"x": {"a": 1, "b": 1}}, "add up to 2"),
        ({"x": {"a": 0.0}}, "must differ from 0"),
        ({}, "no contrast"),
    ],
)
def test_bad_contrasts_are_refused(weights, said):
    with pytest.raises(InputError, match=said):
        custom(["a", "b", "c"], weights)


def test_what_has_no_standard_error_is_null():
    found = linear_estimates([[1, -1], [1, 0], [0, 0]], [0.5, 0.2], np.ones((2, 2)), df=[4, 0, 4])
    assert np.isnan(found.p_value).all()
    assert np.isnan(found.conf_low).all()
    assert "standard error is 0" in str(found.reasons[0])
    assert "0 degrees of freedom" in str(found.reasons[1])
    assert found.estimate.tolist() == [0.3, 0.5, 0.0]


@pytest.mark.parametrize(
    ("rows", "beta", "covariance", "said"),
    [
        ([[1, 0]], [1, np.nan], np.eye(2), "beta holds NaN"),
        ([[1, -1]], [1, 2], [[1, 2], [2, 1]], "negative"),
        ([[1, 0], [1, -1]], [1, 2], [[1, 2], [2, 1]], "variance of row 1 is negative"),
    ],
)
def test_bad_arrays_are_refused(rows, beta, covariance, said):
    with pytest.raises(InputError, match=said):
        linear_estimates(rows, beta, covariance)


@pytest.mark.parametrize(
    ("mix", "weights", "said"),
    [
        (None, [1 / 3] * 3, []),
        ({"a": 0.5, "b": 0.2, "c": 0.3}, [0.5, 0.2, 0.3], []),
        ({"a": 0.25, "b": 0.0, "c": 0.75}, [0.25, 0.0, 0.75], []),
        ({"a": 2.0, "c": 6.0}, [0.25, 0.0, 0.75], ["does not name b: weight 0", "adds up to 8"]),
        ({"a": 0.5, "b": 0.4, "c": 0.0}, [5 / 9, 4 / 9, 0.0], ["adds up to 0.9"]),
    ],
)
def test_a_mix_of_levels_becomes_shares_and_says_what_was_done(mix, weights, said):
    notes: list[str] = []
    assert _one_factor(("a", "b", "c"), "kind", mix, notes) == pytest.approx(weights)
    assert len(notes) == len(said)
    assert all(words in note for words, note in zip(said, notes, strict=True))


@pytest.mark.parametrize(
    ("eta", "s"),
    [([0.0, np.inf], [1.0, 1.0]), ([0.0, 1.0], [1.0, np.inf]), ([0.0, 1.0], [1.0, np.nan]), ([0.0, 1.0], [1.0, -0.1])],
)
def test_a_mean_of_what_was_not_estimated_is_refused(eta, s):
    with pytest.raises(InputError, match="eta and s must be finite"):
        averaged_expit(eta, s)
    assert averaged_expit([0.0, 2.0], [0.0, 0.0])[0] == pytest.approx([0.5, 1 / (1 + np.exp(-2.0))])


@pytest.mark.parametrize("seed", range(3))
def test_probabilities_that_move_as_one_have_quantiles(seed):
    """Of logits that are perfectly correlated, whose correlation may be rounded beyond 1."""
    rng = np.random.default_rng(seed)
    sd, logit = rng.uniform(0.1, 2.0, 2), rng.normal(size=2)
    u = np.linspace(-7.0, 7.0, 8001)
    for sign in (1.0, -1.0):
        spread = sd * [1.0, sign]
        low, high = _quantiles(logit, np.outer(spread, spread), 1.96)
        drawn = special.expit(logit[0] + sd[0] * u) - special.expit(logit[1] + sign * sd[1] * u)
        order = np.argsort(drawn)
        mass = np.cumsum(stats.norm.pdf(u)[order])
        ends = [drawn[order][np.searchsorted(mass / mass[-1], stats.norm.cdf(z))] for z in (-1.96, 1.96)]
        assert (low, high) == pytest.approx(ends, abs=2e-3)


def test_differences_of_probabilities_have_the_error_of_both_and_never_leave_their_bounds():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(3, 3))
    means = population_means(np.eye(3), [0.4, -0.8, 2.0], [0.3, 0.3, 0.3], 0.05 * root @ root.T)
    first, second = [0, 2, 1], [1, 0, 2]
    found = probability_differences(means, first, second)
    logit = means.logit
    for k, (i, j) in enumerate(zip(first, second, strict=True)):
        w = np.eye(3)[i] - np.eye(3)[j]
        assert found.estimate[k] == pytest.approx(means.estimate[i] - means.estimate[j])
        assert found.std_error[k] == pytest.approx(np.sqrt(w @ means.covariance @ w))
        assert found.statistic[k] == pytest.approx((logit[i] - logit[j]) / np.sqrt(w @ means.logit_covariance @ w))
        assert -1.0 < found.conf_low[k] < found.estimate[k] < found.conf_high[k] < 1.0
    drawn = special.expit(rng.multivariate_normal(logit, means.logit_covariance, 200_000))
    plain = probability_differences(means, first[:1], second[:1])
    ends = np.quantile(drawn[:, 0] - drawn[:, 1], [0.025, 0.975])
    assert (plain.conf_low[0], plain.conf_high[0]) == pytest.approx(ends, abs=0.005)


@pytest.mark.parametrize("weights", [{"a": 1.0, "b": -0.5}, {"a": 0.5, "b": -1.0}, {"a": 0.0}])
def test_weights_of_a_contrast_add_up_to_nothing_from_either_side(weights):
    with pytest.raises(InputError, match="add up to 0"):
        custom(("a", "b"), {"mine": weights})
    assert custom(("a", "b"), {"mine": {"a": 2.0, "b": -2.0}}).weights.tolist() == [[2.0, -2.0]]


@pytest.mark.parametrize("unit", [1e-8, 1.0, 1e8])
def test_a_variance_that_is_rounding_is_told_from_a_small_one_in_any_unit(unit):
    """0.1 x 3 and 0.3 differ in their last digit: models that move as one, but for that."""
    v = unit * np.array([[0.1 * 3, 0.3], [0.3, 0.1 * 3]])
    assert v[0, 0] + v[1, 1] - 2 * v[0, 1] > 0.0
    found = linear_estimates([[1, -1], [1, 1]], [2.0, 1.0], v)
    assert np.isnan(found.std_error[0])
    assert "standard error is 0" in str(found.reasons[0])
    assert found.std_error[1] == pytest.approx(np.sqrt(1.2 * unit))
    assert found.reasons[1] is None


def test_without_degrees_of_freedom_the_standard_error_stands_alone():
    found = linear_estimates(np.eye(3), [1.0, 2.0, 3.0], np.diag([4.0, 9.0, 16.0]), df=[0.5, 0.0, -1.0])
    assert found.std_error.tolist() == [2.0, 3.0, 4.0]
    assert np.isnan(found.conf_low).tolist() == np.isnan(found.df).tolist() == [False, True, True]
    assert found.p_value[0] == pytest.approx(2 * stats.t.sf(0.5, 0.5))
    assert found.conf_high[0] == pytest.approx(1.0 + 2.0 * stats.t.isf(0.025, 0.5))
    lost = linear_estimates(np.eye(2), [1.0, 2.0], np.eye(2), null_basis=np.array([[0.0], [1.0]]))
    assert np.isnan(lost.std_error).tolist() == [False, True]


def test_p_values_too_small_for_a_number_are_not_0():
    found = linear_estimates(np.eye(2), [100.0, 100.0], np.eye(2), df=[np.inf, 1e6])
    assert found.p_value.tolist() == [SMALLEST_P, SMALLEST_P]


def test_what_is_known_exactly_is_no_hypothesis_of_a_joint_test_unless_it_is_wrong():
    v = np.diag([4.0, 0.0, 0.0, 0.0])
    found = joint_test(np.eye(4), [3.0, 0.0, 0.0, 0.0], v)
    assert (found.df, found.statistic) == (1, pytest.approx(9.0 / 4.0))
    wrong = joint_test(np.eye(4), [3.0, 0.0, 5.0, 0.0], v)
    assert wrong.statistic is None
    assert "what it leaves out is not 0" in str(wrong.reason)


@pytest.mark.parametrize("means", [["a"], [], ["a", "b", "a"]])
def test_contrasts_need_two_means_with_different_names(means):
    for made in (pairwise, against_mean):
        with pytest.raises(InputError, match="at least 2 with different names"):
            made(means)


def test_means_of_all_factors_are_averaged_over_nothing():
    means = marginal_means(grid_of(LINEAR["grid"]), ["model", "scenario", "lang"])
    assert means.averaging == "not averaged"
    np.testing.assert_array_equal(means.weights, np.eye(24))


def test_a_spread_of_49_can_be_averaged_over_and_51_cannot():
    assert averaged_expit(0.0, 49.0)[0][0] == pytest.approx(0.5)
    with pytest.raises(InputError, match="too large to average over"):
        averaged_expit(0.0, 51.0)


def test_the_error_of_a_mean_has_the_slope_of_its_spread_by_every_parameter():
    """Delta method, by differences of the mean itself: s = 0.6 theta_1 + 0.3 theta_2 at these theta."""
    root = np.random.default_rng(4).normal(size=(4, 4))
    joint, jacobian, rows = 0.01 * root @ root.T, np.array([[0.6, 0.3]]), np.array([[1.0, -0.5]])
    beta, s, h = np.array([-1.2, 0.4]), 1.3, 1e-5

    def mean(x):
        return averaged_expit(rows @ (beta + x[2:]), s + jacobian[0] @ x[:2])[0][0]

    gradient = np.array([(mean(h * e) - mean(-h * e)) / (2 * h) for e in np.eye(4)])
    found = population_means(rows, beta, [s], joint, sd_jacobian=jacobian)
    assert found.covariance[0, 0] == pytest.approx(gradient @ joint @ gradient, rel=1e-6)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_an_interval_that_ends_at_0_holds_it(side):
    """Holm's p of the larger of two is its own, Bonferroni's interval is for both."""
    wide = adjusted(linear_estimates(np.eye(2), [0.0, 0.0], np.eye(2)), "holm").conf_high[0]
    found = adjusted(linear_estimates(np.eye(2), [side * wide, 9.0], np.eye(2)), "holm")
    assert 0.0 in (found.conf_low[0], found.conf_high[0])
    assert ["row 0" in note for note in found.warnings] == [True]


def test_a_reference_is_one_of_the_means():
    with pytest.raises(InputError, match="reference 'c' is not one of a, b"):
        against(("a", "b"), "c")


def test_a_probability_that_is_known_has_no_interval():
    found = population_means(np.eye(2), [0.4, -0.4], [0.0, 0.0], np.diag([0.0, 0.04]))
    assert found.estimate == pytest.approx(special.expit([0.4, -0.4]))
    assert np.isnan(found.std_error).tolist() == np.isnan(found.conf_low).tolist() == [True, False]
    assert "standard error is 0" in str(found.reasons[0])
    assert found.reasons[1] is None
