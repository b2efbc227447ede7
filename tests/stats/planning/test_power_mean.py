"""Miller's formula against his numbers; powers of t tests against the noncentral t and against draws."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import integrate, stats

from evalstats.errors import InputError
from evalstats.stats.planning.mean import _cut_off, check_power, mean_margin_power, mean_power, miller_n


@pytest.fixture(scope="module")
def miller(golden):
    return json.loads((golden / "py_golden.json").read_text())["miller"]


def test_sample_size_of_miller(miller):
    assert miller_n(0.03, 1 / 9) == pytest.approx(miller["n_delta3pp_omega1/9_sigma0"], abs=1e-8)
    assert math.ceil(miller_n(0.03, 1 / 9)) == miller["published_n"]


@pytest.mark.parametrize(("n", "k"), [(198, 1), (198, 10), (200, 1), (200, 10)])
def test_detectable_difference_of_miller(miller, n, k):
    """omega^2 = 1/9 and sigma^2 = 1/6 on each side, as in his example of answers that are right with a uniform chance."""
    assert miller_n(miller[f"mde_n{n}_K{k}"], 1 / 9 + 2 / 6 / k) == pytest.approx(n, rel=1e-7)


@pytest.mark.parametrize("df", [2, 7.5, 40, 5000, 2e5, None])
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.5])
def test_power_is_the_tail_of_the_noncentral_t(df, shift):
    normal = stats.norm.sf(stats.norm.ppf(0.95) - shift)
    expected = normal if df is None else stats.nct.sf(stats.t.ppf(0.95, df), df, shift)
    assert mean_power(-2 * shift, 2.0, df, conf_level=0.9) == pytest.approx(expected, abs=2e-6)


def test_power_is_one_where_the_difference_is_overwhelming():
    """scipy's noncentral t is NaN at single points beyond a shift of 37."""
    assert all(mean_power(shift, 1.0, df) == 1.0 for df in (4, 9, 20, 50) for shift in np.arange(37, 62, 0.25))


@pytest.mark.parametrize(("df", "delta", "margin"), [(3, 0.0, 3.0), (3, -1.0, 3.5), (12, 0.8, 2.6), (200, 0.0, 3.0)])
def test_powers_at_a_margin_against_draws(df, delta, margin):
    """Both one-sided tests on a million drawn estimates and standard errors; the allowance is 4 standard errors."""
    rng = np.random.default_rng(int(df))
    estimate = delta + rng.standard_normal(1_000_000)
    reach = stats.t.ppf(0.95, df) * np.sqrt(rng.chisquare(df, estimate.size) / df)
    above, below = estimate - reach > -margin, estimate + reach < margin
    for test, hits in (("noninferiority", above), ("equivalence", above & below)):
        power = mean_margin_power(delta, margin, 1.0, df, test=test)
        assert power == pytest.approx(hits.mean(), abs=4 * math.sqrt(0.25 / estimate.size))


def test_normal_margin_powers_are_the_limit():
    for test in ("noninferiority", "equivalence"):
        limit = mean_margin_power(0.1, 2.5, 1.0, test=test)
        assert mean_margin_power(0.1, 2.5, 1.0, 99_000, test=test) == pytest.approx(limit, abs=1e-4)
    assert mean_margin_power(0.0, 0.5, 1.0, test="equivalence") == 0.0
    assert mean_margin_power(0.0, 0.01, 1.0, 9, test="equivalence") < 1e-4


def test_bad_arguments_are_refused():
    with pytest.raises(InputError, match="delta is 0"):
        miller_n(0.0, 1.0)
    with pytest.raises(InputError, match="power is 80"):
        miller_n(0.1, 1.0, power=80)
    with pytest.raises(InputError, match="variance is 0"):
        miller_n(0.1, 0.0)
    with pytest.raises(InputError, match=r"above 0\.5"):
        mean_margin_power(0.0, 1.0, 1.0, conf_level=0.5)
    with pytest.raises(InputError, match="df is nan"):
        mean_power(1.0, 1.0, math.nan)
    with pytest.raises(InputError, match="variance is inf"):
        miller_n(0.1, math.inf)
    assert mean_power(1.0, 1.0, math.inf) == mean_power(1.0, 1.0)
    for power in (0.25, 1.0):  # at a level of .5 a quarter is the size
        with pytest.raises(InputError, match="above the test's size"):
            check_power(power, 0.5)
    assert check_power(0.2501, 0.5) == 0.2501


@pytest.mark.parametrize(
    ("df", "margin", "delta"), [(3, 1.9, 0.2), (3, 8.0, 1.0), (20_000, 2.1, 0.1), (20_000, 5.0, 1.0)]
)
def test_equivalence_is_the_mean_over_the_law_of_the_standard_error(df, margin, delta):
    """Owen's integral, by quadrature where the interval has room: up to margin / t, and with the chi law's bulk cut out."""
    t, law = stats.t.ppf(0.95, df), stats.chi(df, scale=1 / math.sqrt(df))

    def inside(s: float) -> float:
        return float(law.pdf(s) * (stats.norm.cdf(margin - delta - t * s) - stats.norm.cdf(t * s - margin - delta)))

    ends = [0.0, *(law.ppf([1e-9, 0.1, 0.5, 0.9]) if margin / t > 1 else []), min(margin / t, law.isf(1e-14))]
    parts = sorted(min(end, margin / t) for end in ends)
    wanted = sum(integrate.quad(inside, *pair, epsabs=1e-13)[0] for pair in itertools.pairwise(parts))
    assert mean_margin_power(delta, margin, 1.0, df, test="equivalence") == pytest.approx(wanted, abs=1e-10)


def test_variances_taken_as_zero_are_told_and_zero_is_not():
    assert _cut_off(0.0, 0.0) == _cut_off(None, 0.0) == []
    assert [said.partition(" is estimated")[0] for said in _cut_off(-0.1, -0.2)] == [
        "The variance between clusters",
        "The variance of the items' true differences",
    ]
