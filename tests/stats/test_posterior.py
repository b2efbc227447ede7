"""Posteriors of a difference: the slow integrals, closed forms, PyMC's numbers, symmetries, and calibration."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from evalstats.errors import InputError
from evalstats.stats.paired.means import paired_t
from evalstats.stats.posterior import (
    ClusterMoments,
    ClustersLikelihood,
    GroupsLikelihood,
    PairsLikelihood,
    Prior,
    TLikelihood,
    posteriors,
)
from tests.golden import make_posterior
from tests.stats.coverage import allowance

USUAL = Prior(scale=0.1)
FLAT = Prior(scale=1e6)
NUMBERS = ("mean", "std_dev", "low", "high", "p_above", "p_above_margin", "loss_if_above", "loss_if_below")


def one(likelihood, prior=USUAL, **options):
    return posteriors(likelihood, [prior], **options)[0]


def by_definition(log_density, low, high, margin=0.02):
    """Mean, P(above 0), P(above the margin) and E max(-delta, 0) by a plain sum over very many points."""
    x = np.linspace(low, high, 400_001)
    x = 0.5 * (x[1:] + x[:-1])
    logs = log_density(x)
    p = np.exp(logs - logs.max())
    p /= p.sum()
    return p @ x, p @ (x > 0), p @ (x > margin), p @ np.maximum(-x, 0)


def told(found):
    return found.mean, found.p_above, found.p_above_margin, found.loss_if_above


@pytest.mark.parametrize(
    ("centre", "spread", "df", "prior"),
    [
        (0.03, 0.02, 40, USUAL),
        (0.3, 0.05, 4.5, Prior(scale=0.05, df=1.0)),
        (-0.01, 0.004, math.inf, Prior(scale=0.025, df=math.inf)),
    ],
)
def test_is_the_normalised_product(centre, spread, df, prior):
    found = one(TLikelihood(centre=centre, spread=spread, df=df), prior, bound=1.0, margin=0.02)
    law = stats.t(df) if math.isfinite(df) else stats.norm()
    before = stats.t(prior.df, 0, prior.scale) if math.isfinite(prior.df) else stats.norm(0, prior.scale)
    wanted = by_definition(lambda x: law.logpdf((x - centre) / spread) + before.logpdf(x), -1, 1)
    assert told(found) == pytest.approx(wanted, abs=3e-6)


@pytest.mark.parametrize("counts", [(12, 5, 43), (0, 0, 20), (3, 0, 7), (0, 9, 0)])
def test_pairs_integrate_the_discordant_share(counts):
    wins, losses, agreeing = counts
    found = PairsLikelihood(wins=wins, losses=losses, agreeing=agreeing)
    deltas = np.array([-0.7, -0.2, -0.01, 0.0, 0.05, 0.3, 0.9])

    def slow(delta):
        def integrand(w):  # w^2 = u ~ Beta(1/2, 1)
            q = abs(delta) + (1 - abs(delta)) * w * w
            return ((q + delta) / 2) ** wins * ((q - delta) / 2) ** losses * (1 - q) ** agreeing

        return integrate.quad(integrand, 0, 1, epsabs=0, epsrel=1e-11, limit=400)[0]

    slows = np.array([slow(delta) for delta in deltas])
    logs = found.log(deltas)
    known = slows > 0
    assert np.exp(logs - logs.max())[known] == pytest.approx(slows[known] / slows.max(), rel=1e-7)
    assert (logs[~known] == -np.inf).all()


@pytest.mark.parametrize("n", [400, 1_000_000])
def test_pairs_of_many_items_are_normal(n):
    wins, losses = round(0.08 * n), round(0.06 * n)
    found = one(PairsLikelihood(wins=wins, losses=losses, agreeing=n - wins - losses), FLAT, bound=1.0)
    sd = math.sqrt((0.14 - 0.02**2) / n)
    assert found.std_dev == pytest.approx(sd, rel=0.03)  # a discordant item more
    assert found.mean == pytest.approx(0.02, abs=0.1 * sd)


@pytest.mark.parametrize("counts", [(18, 20, 20, 20), (48, 80, 56, 70), (0, 5, 0, 9)])
def test_groups_integrate_the_first_rate(counts):
    a, n, b, m = counts
    found = GroupsLikelihood(first_right=a, first_n=n, second_right=b, second_n=m)
    deltas = np.array([-0.6, -0.1, 0.0, 0.02, 0.15, 0.5])

    def slow(delta):
        low, high = max(0, -delta), min(1, 1 - delta)

        def f(p):
            return p**a * (1 - p) ** (n - a) * (p + delta) ** b * (1 - p - delta) ** (m - b)

        return integrate.quad(f, low, high, epsabs=0, epsrel=1e-11, limit=400)[0] / (high - low)

    slows = np.array([slow(delta) for delta in deltas])
    logs = found.log(deltas)
    assert np.exp(logs - logs.max()) == pytest.approx(slows / slows.max(), rel=1e-7)


def test_clusters_integrate_variance_and_correlation():
    """The normal density of all items at once, with its covariance written out, over both parameters by brute force."""
    d, codes = make_posterior.clustered()
    d, codes = d[codes < 5], codes[codes < 5]
    same = (codes[:, None] == codes).astype(float)
    deltas = np.array([-0.2, 0.0, 0.1, 0.25])
    theta = (np.arange(200) + 0.5) * math.pi / 400  # icc = sin^2: Beta(1/2, 1/2) is flat
    log_sigma = np.linspace(-4, 3, 400)
    logs = np.empty((deltas.size, theta.size))
    for k, angle in enumerate(theta):
        icc = math.sin(angle) ** 2
        shape = np.eye(d.size) + icc / (1 - icc) * same
        inverse, log_det = np.linalg.inv(shape), np.linalg.slogdet(shape)[1]
        for j, delta in enumerate(deltas):
            reach = (d - delta) @ inverse @ (d - delta)
            each = -0.5 * log_det - d.size * log_sigma - 0.5 * reach * np.exp(-2 * log_sigma)
            logs[j, k] = special.logsumexp(each)
    slow = special.logsumexp(logs, axis=1)
    fast = ClustersLikelihood(moments=ClusterMoments.of(d, codes)).log(deltas)
    assert fast - fast[0] == pytest.approx(slow - slow[0], abs=1e-4)


def test_clusters_of_one_item_and_copies_are_t():
    rng = np.random.default_rng(2)
    d = rng.normal(0.1, 0.3, 15)
    copies = np.repeat(np.arange(15), rng.integers(1, 6, 15))
    found = one(ClustersLikelihood(moments=ClusterMoments.of(d[copies], copies)), FLAT)
    t = paired_t(d)
    assert (found.low, found.high) == pytest.approx((t.conf_low, t.conf_high), abs=1e-7)


def test_flat_prior_gives_the_confidence_interval():
    t = paired_t(np.random.default_rng(4).normal(0.05, 0.2, 30))
    found = one(TLikelihood(centre=t.estimate, spread=t.std_error, df=t.df), FLAT)
    assert (found.low, found.high) == pytest.approx((t.conf_low, t.conf_high), abs=1e-8)
    assert 2 * (1 - found.p_above) == pytest.approx(t.p_value, abs=1e-8)


@pytest.fixture(scope="module")
def pymc(request):
    return json.loads((request.path.parents[1] / "golden/posterior.json").read_text())


def agrees(found, case):
    for name in NUMBERS:
        value, error = case[name]
        # What no draw of 16,000 showed has a probability of up to 3/16,000.
        assert getattr(found, name) == pytest.approx(value, abs=5 * error + 2e-4), name


@pytest.mark.parametrize("place", range(3))
def test_pairs_equal_pymc(pymc, place):
    case = pymc["pairs"][place]
    wins, losses, agreeing = case["counts"]
    agrees(one(PairsLikelihood(wins=wins, losses=losses, agreeing=agreeing), bound=1.0, margin=0.02), case)


@pytest.mark.parametrize("place", range(2))
def test_groups_equal_pymc(pymc, place):
    case = pymc["groups"][place]
    names = ("first_right", "first_n", "second_right", "second_n")
    agrees(one(GroupsLikelihood(**dict(zip(names, case["counts"], strict=True))), bound=1.0, margin=0.02), case)


def test_clusters_equal_pymc(pymc):
    found = ClustersLikelihood(moments=ClusterMoments.of(*make_posterior.clustered()))
    agrees(one(found, bound=1.0, margin=0.02), pymc["clusters"])


COUNT = st.integers(0, 40)


@settings(max_examples=4, deadline=None)
@given(COUNT, COUNT, COUNT.map(lambda k: k + 1), st.sampled_from([0.02, 0.1]))
def test_swapped_sides_mirror(wins, losses, agreeing, scale):
    there = one(
        PairsLikelihood(wins=wins, losses=losses, agreeing=agreeing), Prior(scale=scale), bound=1.0, margin=0.02
    )
    back = one(PairsLikelihood(wins=losses, losses=wins, agreeing=agreeing), Prior(scale=scale), bound=1.0, margin=0.02)
    assert there.mean == pytest.approx(-back.mean, abs=1e-8)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-7)
    assert there.p_above == pytest.approx(1 - back.p_above, abs=1e-8)
    assert there.p_above_margin == pytest.approx(back.p_below_margin, abs=1e-8)
    assert there.loss_if_above == pytest.approx(back.loss_if_below, abs=1e-8)
    assert -1 <= there.low < there.high <= 1
    assert there.loss_if_below - there.loss_if_above == pytest.approx(there.mean, abs=1e-9)


@settings(max_examples=4, deadline=None)
@given(st.floats(-0.4, 0.4), st.floats(0.001, 0.2), st.floats(4, 500), st.floats(0.01, 3))
def test_another_unit_changes_nothing(centre, spread, df, factor):
    small = one(TLikelihood(centre=centre, spread=spread, df=df), margin=0.03)
    seen = TLikelihood(centre=factor * centre, spread=factor * spread, df=df)
    large = one(seen, Prior(scale=0.1 * factor), margin=0.03 * factor)
    for name in ("mean", "low", "high", "loss_if_above"):
        assert getattr(large, name) == pytest.approx(factor * getattr(small, name), rel=1e-6, abs=1e-9)
    assert large.p_above_margin == pytest.approx(small.p_above_margin, abs=1e-7)


def test_narrower_priors_draw_nearer():
    seen = TLikelihood(centre=0.05, spread=0.03, df=60)
    found = posteriors(seen, [Prior(scale=scale) for scale in (0.2, 0.1, 0.05, 0.025)])
    assert sorted(each.p_above for each in found)[::-1] == [each.p_above for each in found]
    assert sorted(each.mean for each in found)[::-1] == [each.mean for each in found]


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: Prior(scale=0.0), "scale"),
        (lambda: TLikelihood(centre=0.1, spread=0.0), "standard error"),
        (lambda: PairsLikelihood(wins=0, losses=0, agreeing=0), "counts"),
        (lambda: GroupsLikelihood(first_right=3, first_n=2, second_right=0, second_n=1), "right"),
        (lambda: ClustersLikelihood(moments=ClusterMoments.of([0.1, 0.2], [0, 0])), "one cluster"),
        (lambda: ClustersLikelihood(moments=ClusterMoments.of([0.5, 0.5], [0, 1])), "same amount"),
        (lambda: one(TLikelihood(centre=0.1, spread=0.1), margin=0.0), "margin"),
        (lambda: one(TLikelihood(centre=0.1, spread=0.1), conf_level=95), "conf_level"),
    ],
)
def test_what_cannot_be_asked_is_refused(call, what):
    with pytest.raises(InputError, match=what):
        call()


# --- calibration ---


def calibration(seed, n, *, kind, clusters=0):
    """Draw effects from the prior and data given them; return P(above 0), whether it is, and whether the interval covers."""
    rng = np.random.default_rng(seed)
    p, above, covered = np.empty(n), np.empty(n, bool), np.empty(n, bool)
    for k in range(n):
        delta = 9.0
        while abs(delta) > 0.95:
            delta = 0.1 * rng.standard_t(3)
        if kind == "pairs":
            q = abs(delta) + (1 - abs(delta)) * rng.beta(0.5, 1)
            wins, losses, rest = rng.multinomial(60, [(q + delta) / 2, (q - delta) / 2, 1 - q])
            seen = PairsLikelihood(wins=wins, losses=losses, agreeing=rest)
        else:
            size = np.maximum(1, rng.lognormal(2, 0.8, clusters).astype(int))
            codes = np.repeat(np.arange(clusters), size)
            icc = rng.beta(0.5, 0.5)
            sd = 0.3 * np.sqrt([icc, 1 - icc])
            d = delta + sd[0] * rng.normal(size=clusters)[codes] + sd[1] * rng.normal(size=codes.size)
            seen = ClustersLikelihood(moments=ClusterMoments.of(d, codes))
        found = one(seen, bound=1.0 if kind == "pairs" else None)
        p[k], above[k], covered[k] = found.p_above, delta > 0, found.low <= delta <= found.high
    return p, above, covered


def assert_calibrated(p, above, covered):
    assert abs(covered.mean() - 0.95) <= allowance(covered.size)
    for low, high in ((0.0, 0.1), (0.1, 0.3), (0.3, 0.7), (0.7, 0.9), (0.9, 1.0)):
        here = (p >= low) & (p <= high)
        spread = math.sqrt(np.sum(p[here] * (1 - p[here])))
        assert abs(above[here].sum() - p[here].sum()) <= 4 * spread + 1, (low, high)


@pytest.mark.parametrize(("kind", "clusters"), [("pairs", 0), ("clusters", 8)])
def test_probabilities_are_right_that_often(kind, clusters):
    """Effects from the prior, 20 data sets; `posterior-claims` of the validation has 2,000."""
    assert_calibrated(*calibration(1, 20, kind=kind, clusters=clusters))
