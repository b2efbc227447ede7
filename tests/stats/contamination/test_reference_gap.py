"""A model against references known clean: by hand, by properties, and error rates by simulation."""

import math

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.contamination import _why_not, reference_gap, split_contrast, twin_contrast

CLOSE = 1e-9
N_OLD, N_ITEMS = 100, 200
OLD = np.arange(N_ITEMS) < N_OLD


def by_hand(y, others, old, level=0.95):
    """Difference in differences with the spread between references, as methods say it, one loop a model."""
    r = others.shape[1]
    d = [y[old].mean() - y[~old].mean()] + [others[old, j].mean() - others[~old, j].mean() for j in range(r)]

    def noise(z):
        return z[old].var(ddof=1) / old.sum() + z[~old].var(ddof=1) / (~old).sum()

    mean = others.mean(axis=1)
    beyond = np.var(d[1:], ddof=1) - sum(noise(others[:, j] - mean) for j in range(r)) / (r - 1)
    between = max(0.0, beyond)
    error = math.sqrt(noise(y - mean) + between * (1 + 1 / r))
    estimate = d[0] - np.mean(d[1:])
    # Satterthwaite: what r references tell has r - 1 degrees of freedom, the suspect's further noise those of the items.
    usual = sum(noise(others[:, j] - mean) for j in range(r)) / (r - 1)
    learnt, own = max(beyond + usual, usual) * (1 + 1 / r), max(0.0, noise(y - mean) - usual * (1 + 1 / r))
    df = (learnt + own) ** 2 / (learnt**2 / (r - 1) + own**2 / split_contrast(old).df)
    reach = stats.t.ppf((1 + level) / 2, df) * error
    p = 2 * stats.t.sf(abs(estimate / error), df)
    return estimate, error, (estimate - reach, estimate + reach), p, between, df


def drawn(rng, r, *, sd, inflation=0.0, n_items=N_ITEMS):
    """Right-or-wrong scores: clean models differ in their advantage on old items by `sd`; the first is inflated."""
    old = np.arange(n_items) < n_items // 2
    advantage = rng.normal(0.05, sd, r + 1)
    advantage[0] += inflation
    level = np.clip(rng.uniform(0.35, 0.6, r + 1) + rng.normal(0, 0.12, n_items)[:, np.newaxis], 0.02, 0.98)
    chance = np.clip(level + np.outer(old, advantage), 0, 1)
    return (rng.random(chance.shape) < chance).astype(float), old


@pytest.mark.parametrize(("r", "sd"), [(3, 0.0), (4, 0.3), (8, 0.1)])
def test_it_is_the_formula(r, sd):
    y, old = drawn(np.random.default_rng(r), r, sd=sd)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old))
    estimate, error, ends, p, between, df = by_hand(y[:, 0], y[:, 1:], old)
    assert found.estimate == pytest.approx(estimate, rel=CLOSE)
    assert found.std_error == pytest.approx(error, rel=CLOSE)
    assert (found.conf_low, found.conf_high) == pytest.approx(ends, rel=CLOSE)
    assert found.p_value == pytest.approx(p, rel=1e-7)
    assert found.between_sd == pytest.approx(math.sqrt(between), abs=CLOSE)
    assert found.df == pytest.approx(df)
    assert found.df >= r - 1
    assert found.own == pytest.approx(found.estimate + (found.reference or 0.0))


def test_without_item_noise_it_is_the_test_of_one_case_against_a_sample():
    # Crawford & Howell: t = (x - mean) / (s sqrt(1 + 1/R)); twins whose differences are nearly the same on all items.
    jumps = np.array([0.4, 0.1, 0.05, 0.2, 0.12])
    tiny = np.random.default_rng(0).normal(0, 1e-7, (50, 5))
    scores = jumps + tiny - tiny.mean(axis=0)
    found = reference_gap(scores[:, 0], scores[:, 1:], twin_contrast(50))
    t = (jumps[0] - jumps[1:].mean()) / (jumps[1:].std(ddof=1) * math.sqrt(1 + 1 / 4))
    # The items' noise of 1e-7 is what is left of the two.
    assert found.p_value == pytest.approx(2 * stats.t.sf(t, 3), rel=1e-5)


def test_one_sided_p_is_half_on_its_side():
    y, old = drawn(np.random.default_rng(5), 4, sd=0.05, inflation=0.3)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old))
    assert found.estimate > 0
    assert found.p_greater == pytest.approx((found.p_value or 0.0) / 2)
    turned = reference_gap(-y[:, 0], -y[:, 1:], split_contrast(old))
    assert turned.p_greater == pytest.approx(1 - (found.p_value or 0.0) / 2)


@pytest.mark.parametrize("r", [0, 1, 2])
def test_fewer_than_three_references_are_described_and_not_judged(r):
    y, old = drawn(np.random.default_rng(6), r, sd=0.0)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old))
    assert (found.conf_low, found.p_value, found.std_error, found.between_sd) == (None, None, None, None)
    assert found.reason is not None
    assert "described and not judged" in found.reason
    assert found.item_p_value is not None


def test_order_and_scale_do_not_matter_and_sides_turn_the_sign():
    y, old = drawn(np.random.default_rng(8), 5, sd=0.1, inflation=0.2)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old))
    shuffled = np.random.default_rng(9).permutation(len(y))
    again = reference_gap(y[shuffled, 0], y[shuffled][:, [3, 5, 1, 2, 4]], split_contrast(old[shuffled]))
    assert again.p_value == pytest.approx(found.p_value, rel=1e-7)
    scaled = reference_gap(100 * y[:, 0], 100 * y[:, 1:], split_contrast(old))
    assert scaled.conf_high == pytest.approx(100 * (found.conf_high or 0.0), rel=CLOSE)
    assert scaled.p_value == pytest.approx(found.p_value, rel=1e-7)
    other = reference_gap(y[:, 0], y[:, 1:], split_contrast(~old))
    assert other.estimate == pytest.approx(-found.estimate)
    # What makes all models find old items easier changes nothing.
    easier = y + 0.7 * old[:, np.newaxis]
    assert reference_gap(easier[:, 0], easier[:, 1:], split_contrast(old)).p_value == pytest.approx(
        found.p_value, rel=1e-7
    )


def test_the_interval_stays_within_what_is_possible():
    y, old = drawn(np.random.default_rng(3), 3, sd=0.5)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old), bound=0.2 + abs(drawn_gap(y, old)))
    assert found.conf_high is not None
    assert found.conf_high <= 0.2 + abs(drawn_gap(y, old))


def drawn_gap(y, old):
    return float(by_hand(y[:, 0], y[:, 1:], old)[0])


def test_a_model_that_differs_by_the_same_on_every_item_has_no_interval():
    others = np.random.default_rng(0).random((N_ITEMS, 3))
    found = reference_gap(others.mean(axis=1) + 0.5 * OLD, others, split_contrast(OLD))
    assert found.p_value is None
    assert "same amount" in str(found.reason)


def rates(r, sd, inflation, *, rounds, seed, n_items=N_ITEMS):
    """Share of rounds that reject, that reject by items alone, and whose interval holds the truth."""
    rng = np.random.default_rng(seed)
    asked = split_contrast(np.arange(n_items) < n_items // 2)
    hits = np.zeros(3)
    for _ in range(rounds):
        y, _old = drawn(rng, r, sd=sd, inflation=inflation, n_items=n_items)
        found = reference_gap(y[:, 0], y[:, 1:], asked)
        assert found.p_value is not None
        assert found.item_p_value is not None
        assert found.conf_low is not None
        assert found.conf_high is not None
        hits += [found.p_value <= 0.05, found.item_p_value <= 0.05, found.conf_low <= inflation <= found.conf_high]
    return hits / rounds


def test_clean_models_are_rarely_called_inflated_and_items_alone_do_it_often():
    rounds = 300
    reject, items, cover = rates(3, 0.1, 0.0, rounds=rounds, seed=1)
    slack = 3 * math.sqrt(0.05 * 0.95 / rounds)
    assert reject <= 0.05 + slack
    assert cover >= 0.95 - slack
    assert items > 0.2


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("r", [3, 5, 10])
def test_type_one_error_and_coverage(r, sd):
    rounds = 2000
    slack = 3 * math.sqrt(0.05 * 0.95 / rounds)
    reject, items, cover = rates(r, sd, 0.0, rounds=rounds, seed=r, n_items=400)
    assert reject <= 0.05 + slack
    assert cover >= 0.95 - slack
    if sd == 0.1:
        assert items > 0.3
    assert rates(r, sd, 0.2, rounds=rounds // 2, seed=r, n_items=400)[2] >= 0.95 - slack * math.sqrt(2)


@pytest.mark.slow
def test_a_planted_inflation_is_found():
    # With ten references the t law costs little: an inflation of 20 points over noise of 6 is nearly always found.
    assert rates(10, 0.03, 0.2, rounds=400, seed=2, n_items=400)[0] > 0.8
    assert (
        rates(10, 0.03, 0.2, rounds=400, seed=2, n_items=400)[0]
        > rates(3, 0.03, 0.2, rounds=400, seed=2, n_items=400)[0]
    )


@pytest.mark.parametrize(
    ("count", "says"), [(0, "no reference model:"), (1, "only 1 reference model:"), (2, "only 2 reference models:")]
)
def test_how_few_references_there_are_is_said(count, says):
    assert str(_why_not(count, 1.0)).startswith(says)
    assert _why_not(3, 1.0) is None
    assert "the noise is unknown" in str(_why_not(3, 0.0))


@pytest.mark.parametrize("r", [0, 2, 4])
def test_what_the_model_has_by_itself_and_by_items_alone_is_welchs(r):
    y, old = drawn(np.random.default_rng(12), r, sd=0.1)
    found = reference_gap(y[:, 0], y[:, 1:], split_contrast(old), conf_level=0.9)
    alone = stats.ttest_ind(y[old, 0], y[~old, 0], equal_var=False)
    assert found.own == pytest.approx(y[old, 0].mean() - y[~old, 0].mean())
    assert found.own_std_error == pytest.approx(found.own / alone.statistic)
    less = y[:, 0] - y[:, 1:].mean(axis=1) if r else y[:, 0]
    items = stats.ttest_ind(less[old], less[~old], equal_var=False)
    assert found.item_std_error == pytest.approx(found.estimate / items.statistic)
    # CR2's degrees of freedom come from a model of equal variances, Welch's from the two sample variances.
    df = split_contrast(old).df
    assert found.item_p_value == pytest.approx(2 * stats.t.sf(abs(items.statistic), df))
    advantages = [y[old, j].mean() - y[~old, j].mean() for j in range(1, r + 1)]
    assert found.reference == (pytest.approx(np.mean(advantages)) if r else None)
    assert (found.conf_level, found.n_references, found.n_items, found.n_clusters) == (0.9, r, N_ITEMS, N_ITEMS)


def test_a_model_that_scores_the_same_on_every_item_has_no_error_of_its_own():
    others = np.random.default_rng(1).random((N_ITEMS, 3))
    found = reference_gap(np.ones(N_ITEMS), others, split_contrast(OLD))
    assert (found.own, found.own_std_error) == (pytest.approx(0.0), None)
    assert found.std_error is not None


def test_few_clusters_cost_degrees_of_freedom_and_both_ends_stay_within_the_bound():
    y, old = drawn(np.random.default_rng(13), 12, sd=0.1)
    clusters = np.arange(N_ITEMS) // 50
    contrast = split_contrast(old, [clusters])
    assert contrast.df < 11
    found = reference_gap(y[:, 0], y[:, 1:], contrast)
    assert (found.df, found.n_clusters) == (contrast.df, 4)
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(found.estimate) / (found.std_error or 0.0), contrast.df))
    edge = abs(found.estimate) + 1e-3
    cut = reference_gap(y[:, 0], y[:, 1:], contrast, bound=edge)
    assert (cut.conf_low, cut.conf_high) == (max(-edge, found.conf_low or 0.0), min(edge, found.conf_high or 0.0))
    assert -edge in (cut.conf_low, -(cut.conf_high or 0.0))
