"""The Dirichlet posterior of a paired difference: closed forms, numerical integration, the published audit."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from evalstats.stats.paired.binary import DifferenceLaw, PairedCounts, paired_posterior
from tests.stats.coverage import ends

CELL = st.integers(0, 60)
COUNTS = st.builds(PairedCounts, CELL, CELL, CELL, CELL.map(lambda k: k + 1))
PRIOR = st.sampled_from([0.5, 1.0])


def above_by_quadrature(law, point):
    """P(q (2 s - 1) > point), point > 0, by adaptive quadrature of the definition in pieces."""

    # The same as scipy.stats' beta laws, without their checks of every single number.
    whole = special.betaln(law.discordant, law.agreeing)

    def density(q):
        q = max(q, 1e-300)
        reached = special.betaincc(law.gains, law.losses, min(1.0, 0.5 * (1 + point / q)))
        log = special.xlogy(law.discordant - 1, q) + special.xlog1py(law.agreeing - 1, -q) - whole
        return math.exp(log) * reached

    cuts = stats.beta.ppf([1e-13, 1e-6, 0.01, 0.3, 0.7, 0.99, 1 - 1e-6, 1 - 1e-13], law.discordant, law.agreeing)
    cuts = np.unique(np.clip(np.concatenate([cuts, [point, 1]]), point, 1))
    return sum(integrate.quad(density, low, high, epsabs=1e-13, limit=200)[0] for low, high in itertools.pairwise(cuts))


@pytest.mark.parametrize("point", [1e-9, 0.01, 0.3, 0.7, 0.999])
def test_uniform_law_without_data_is_closed_form(point):
    """For the uniform law on the simplex P(p10 - p01 > t) = (1 - t)^3/2."""
    law = DifferenceLaw(gains=1, losses=1, agreeing=2)
    assert law.above(point) == pytest.approx((1 - point) ** 3 / 2, rel=1e-9, abs=0)
    assert law.above(-point) == pytest.approx(1 - (1 - point) ** 3 / 2, rel=1e-12)
    tail = (1 - point) ** 3 / 2
    assert law.quantile(tail, upper=True) == pytest.approx(point, abs=1e-10)


@pytest.mark.parametrize("cells", [(0, 0, 1), (1, 0, 0), (21, 0, 22), (3, 16, 1), (188, 10, 102), (2, 569, 9429)])
@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_tails_equal_adaptive_quadrature(cells, prior):
    b, c, rest = cells
    law = DifferenceLaw(gains=b + prior, losses=c + prior, agreeing=rest + 2 * prior)
    mean, sd = law.moments()
    for point in mean + sd * np.array([-3, -1, 0, 0.5, 2, 4]):
        if 0 < point < 1:
            assert law.above(point) == pytest.approx(above_by_quadrature(law, point), abs=1e-9)
        elif -1 < point < 0:
            expected = 1 - above_by_quadrature(law.mirrored(), -point)
            assert law.above(point) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("cells", [(21, 0, 22), (0, 0, 5), (40_000, 900, 59_100), (30, 20, 999_950)])
def test_moments_are_those_of_the_tails(cells):
    """E = integral of P(>t) - P(<-t); mean and variance of a Dirichlet difference are closed form."""
    b, c, rest = cells
    law = DifferenceLaw(gains=b + 0.5, losses=c + 0.5, agreeing=rest + 1.0)
    mean, sd = law.moments()
    total = b + c + rest + 2
    assert mean == pytest.approx((b - c) / total, rel=1e-12)
    start, end = max(-1, mean - 12 * sd), min(1, mean + 12 * sd)
    grid = np.linspace(start, end, 401)
    tails = np.array([law.above(t) for t in grid])
    assert start + integrate.simpson(tails, x=grid) == pytest.approx(mean, abs=1e-5 * sd)
    second = integrate.simpson(2 * (grid - mean) * tails, x=grid) + (start - mean) ** 2
    assert math.sqrt(second) == pytest.approx(sd, rel=1e-4)


def test_published_audit(golden):
    """Those values were drawn (a thousandth is their Monte Carlo error); these are computed."""
    audit = json.loads((golden / "py_golden.json").read_text())["tenacious"]
    for prior, name in ((0.5, "bayes_Dir_half"), (1.0, "bayes_Dir1111")):
        found = paired_posterior(PairedCounts(22, 21, 0, 0), prior=prior)
        assert [100 * end for end in ends(found)] == pytest.approx(audit[name][:2], abs=0.1)
        assert found.p_better > 1 - 1e-6


def test_a_large_draw_from_the_dirichlet_law_agrees():
    counts = PairedCounts(20, 9, 4, 10)
    found = paired_posterior(counts, margin=0.05)
    drawn = np.random.default_rng(1).dirichlet([20.5, 9.5, 4.5, 10.5], 400_000)
    d = drawn[:, 1] - drawn[:, 2]
    assert ends(found) == pytest.approx(np.quantile(d, [0.025, 0.975]), abs=1.5e-3)
    assert found.p_better == pytest.approx((d > 0).mean(), abs=3e-3)
    assert found.p_above_margin == pytest.approx((d > 0.05).mean(), abs=3e-3)
    assert found.p_below_margin == pytest.approx((d < -0.05).mean(), abs=3e-3)
    assert (found.mean, found.estimate.std_error) == pytest.approx((d.mean(), d.std()), abs=5e-4)


@settings(deadline=None, max_examples=50)
@given(COUNTS, PRIOR, st.floats(0.3, 0.9999), st.floats(0.01, 0.4))
def test_posterior_properties(counts, prior, conf_level, margin):
    found = paired_posterior(counts, prior=prior, margin=margin, conf_level=conf_level)
    low, high = ends(found)
    law = DifferenceLaw(
        gains=counts.only_candidate + prior,
        losses=counts.only_baseline + prior,
        agreeing=counts.both + counts.neither + 2 * prior,
    )
    tail = (1 - conf_level) / 2
    assert law.above(high) == pytest.approx(tail, rel=1e-6)
    assert 1 - law.above(low) == pytest.approx(tail, rel=1e-6, abs=1e-12)
    assert -1 < low < high < 1
    assert found.p_above_margin + found.p_below_margin <= 1 + 1e-12
    # Both can be 1 in floating point.
    assert found.p_above_margin <= found.p_better + 1e-12  # the two are sums of other terms, rounded
    assert found.p_better <= 1
    assert found.estimate.estimate == counts.estimate
    swapped = PairedCounts(counts.both, counts.only_baseline, counts.only_candidate, counts.neither)
    there = paired_posterior(swapped, prior=prior, margin=margin, conf_level=conf_level)
    assert ends(there) == pytest.approx((-high, -low), abs=1e-9)
    assert there.p_better == pytest.approx(1 - found.p_better, abs=1e-12)
    assert there.p_below_margin == pytest.approx(found.p_above_margin, rel=1e-9, abs=0)


@pytest.mark.parametrize("cells", [(0, 0, 60), (3, 40, 2), (200, 180, 620), (0, 900, 0), (12, 11, 10**6)])
def test_the_chance_to_be_better_is_the_tail_of_one_beta_law(cells):
    b, c, rest = cells
    law = DifferenceLaw(gains=b + 0.5, losses=c + 0.5, agreeing=rest + 1.0)
    assert law.above(0.0) == pytest.approx(float(special.betaincc(b + 0.5, c + 0.5, 0.5)), rel=2e-13, abs=0)


@pytest.mark.parametrize("cells", [(0, 0, 60), (3, 16, 1), (188, 10, 102), (0, 900, 0), (12, 11, 10**6)])
def test_a_quantile_takes_few_tails(cells, monkeypatch):
    """The secant adds digits with every step; halving alone would take forty."""
    b, c, rest = cells
    law = DifferenceLaw(gains=b + 0.5, losses=c + 0.5, agreeing=rest + 1.0)
    asked, above = [], DifferenceLaw.above

    def counted(self, point):
        if self is law:
            asked.append(point)
        return above(self, point)

    monkeypatch.setattr(DifferenceLaw, "above", counted)
    for tail in (0.3, 0.025, 1e-4):
        asked.clear()
        law.quantile(tail, upper=True)
        assert len(asked) <= 16, (tail, len(asked))


def test_many_items_are_the_normal_law():
    found = paired_posterior(PairedCounts(600_000, 80_000, 79_000, 241_000))
    wald = math.sqrt((159_000 / 1e6 - 0.001**2) / 1e6)
    z = stats.norm.ppf(0.975)
    assert ends(found) == pytest.approx((0.001 - z * wald, 0.001 + z * wald), abs=1e-7)


def test_items_that_all_agree_have_a_symmetric_interval_and_even_odds():
    found = paired_posterior(PairedCounts(30, 0, 0, 13))
    assert found.p_better == pytest.approx(0.5, rel=1e-12)
    assert found.estimate.conf_low == pytest.approx(-found.estimate.conf_high, rel=1e-9)
    assert found.estimate.conf_high > 0.01
    assert found.p_above_margin is None


def test_probabilities_are_never_zero():
    lost = paired_posterior(PairedCounts(0, 0, 5000, 0), margin=0.1)
    assert 0 < lost.p_better <= 1e-300
    assert lost.p_above_margin > 0
    assert lost.p_below_margin == pytest.approx(1)


@pytest.mark.parametrize("point", [1.0, 1.5, 7.0])
def test_nothing_lies_beyond_the_ends_of_the_scale(point):
    law = DifferenceLaw(gains=3.5, losses=2.5, agreeing=11.0)
    assert law.above(point) == 0.0
    assert law.above(-point) == 1.0
