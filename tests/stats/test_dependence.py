"""Undeclared dependence: the definition in slow form, detection, and silence."""

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats import clusters
from evalstats.stats.clusters import undeclared_dependence


def slow_effect(values, codes):
    residuals = values - values.mean()
    return sum(residuals[codes == g].sum() ** 2 for g in np.unique(codes)) / (residuals**2).sum()


def slow_adjusted(effects):
    """Westfall and Young's step-down minimum p, factor by factor and draw by draw; row 0 is observed."""
    rows, n_factors = effects.shape
    smooth = np.empty_like(effects)
    for j in range(n_factors):
        mean, variance = effects[:, j].mean(), effects[:, j].var()
        smooth[:, j] = stats.gamma.sf(effects[:, j], mean**2 / variance, scale=variance / mean)
    order = sorted(range(n_factors), key=lambda j: smooth[0, j])
    adjusted, last = {}, 0.0
    for rank, j in enumerate(order):
        least = smooth[:, order[rank:]].min(axis=1)
        last = max(last, np.count_nonzero(least <= smooth[0, j] * (1 + 1e-6)) / rows)
        adjusted[j] = last
    raw = [np.count_nonzero(effects[:, j] >= effects[0, j] - 1e-9) / rows for j in range(n_factors)]
    return raw, [adjusted[j] for j in range(n_factors)]


def test_equals_the_definition_in_slow_form():
    rng = np.random.default_rng(10)
    passage, language = rng.integers(0, 8, 60), rng.integers(0, 3, 60)
    values = rng.normal(size=60) + 0.8 * rng.normal(size=8)[passage]
    found = undeclared_dependence(values, {"passage": passage, "language": language}, seed=5, n_permutations=99)
    stream, residuals = np.random.default_rng(5), values - values.mean()
    effects = []
    for _ in range(100):
        effects.append([slow_effect(residuals, passage), slow_effect(residuals, language)])
        stream.shuffle(residuals)
    effects = np.array(effects)
    raw, adjusted = slow_adjusted(effects)
    assert [d.factor for d in found] == ["passage", "language"]
    assert [d.design_effect for d in found] == pytest.approx(effects[0].tolist(), rel=1e-9)
    assert [d.p_value for d in found] == pytest.approx(raw, rel=1e-12)
    assert [d.p_adjusted for d in found] == pytest.approx(adjusted, rel=1e-12)
    assert [d.band_low for d in found] == pytest.approx(np.quantile(effects[1:], 0.025, axis=0).tolist(), rel=1e-9)
    assert [d.band_high for d in found] == pytest.approx(np.quantile(effects[1:], 0.975, axis=0).tolist(), rel=1e-9)


def test_tails_of_the_gamma_law_with_the_permutations_moments():
    effects = np.full((50, 3), 2.0)
    effects[:, :2] = np.random.default_rng(6).gamma(3.0, [0.2, 5.0], (50, 2))
    found = clusters._smooth_p(effects)
    for j in range(2):
        mean, variance = effects[:, j].mean(), effects[:, j].var()
        law = stats.gamma(mean**2 / variance, scale=variance / mean)
        assert found[:, j] == pytest.approx(law.sf(effects[:, j]))
    assert (found[:, 2] == 1.0).all()  # nothing varies: every draw reaches it


def test_the_published_audit_is_caught(reference):
    """The design effect without small-sample correction is 6.74 (19.787^2 over the variance with divisor n)."""
    items, gained = np.array(reference["tenacious"]["clusters"]).T
    scenario = np.repeat(np.arange(7), items)
    values = np.concatenate([np.repeat([1.0, 0.0], [g, m - g]) for m, g in zip(items, gained, strict=True)])
    rng = np.random.default_rng(0)
    factors = {"scenario": scenario} | {f"unrelated {k}": rng.integers(0, 6, 43) for k in range(9)}
    found = undeclared_dependence(values, factors)
    cr0 = 0.19787093697832987**2 / (values.var() / 43)
    assert found[0].design_effect == pytest.approx(cr0, rel=1e-9)
    assert found[0].flag == "warn"
    assert found[0].p_adjusted == pytest.approx(1 / 1000)
    assert all(d.flag != "warn" for d in found[1:])


def test_one_factor_that_matters_is_found_among_a_hundred():
    rng = np.random.default_rng(2)
    passage = rng.integers(0, 10, 200)
    values = rng.normal(size=200) + rng.normal(size=10)[passage]
    factors = {f"f{k}": rng.integers(0, 10, 200) for k in range(99)} | {"passage": passage}
    found = undeclared_dependence(values, factors)
    assert found[-1].flag == "warn"
    assert found[-1].p_adjusted == pytest.approx(1 / 1000)
    assert [d.factor for d in found if d.flag == "warn"] == ["passage"]


def test_raw_and_adjusted_p_decide_between_note_and_warning():
    rng = np.random.default_rng(1)
    values = rng.normal(size=80)
    factors = {f"f{k}": rng.integers(0, 8, 80) for k in range(40)}
    found = undeclared_dependence(values, factors, n_permutations=199)
    assert any(d.flag == "note" for d in found)
    for d in found:
        warned = d.p_adjusted <= 0.05 and d.design_effect >= 1.5
        assert d.flag == ("warn" if warned else "note" if d.p_value <= 0.05 else "none")
        assert d.p_adjusted >= d.p_value
        assert d.band_low <= d.band_high


def test_a_small_effect_is_a_note_and_not_a_warning():
    """Two levels, design effect below 1.5: with p_adjusted at its least it still does not warn."""
    residuals = np.concatenate([np.full(10, 0.36), np.full(10, -0.36)]) + np.tile([1.0, -1.0], 10)
    (found,) = undeclared_dependence(residuals, {"half": np.repeat([0, 1], 10)}, conf_level=0.5)
    assert found.design_effect == pytest.approx(2 * 3.6**2 / (20 * (1 + 0.36**2)), rel=1e-9)
    assert found.design_effect < 1.5
    assert found.p_adjusted <= 0.5
    assert found.flag == "note"


def test_only_factors_with_two_to_half_as_many_levels_as_items():
    values = np.random.default_rng(2).normal(size=12)
    factors = {
        "constant": np.zeros(12, dtype=int),
        "pairs": np.arange(12) // 2,
        "items": np.arange(12),
        "seven": np.minimum(np.arange(12), 6),
    }
    assert [d.factor for d in undeclared_dependence(values, factors)] == ["pairs"]


def test_differences_that_do_not_vary_say_nothing():
    assert undeclared_dependence(np.full(20, 0.1), {"half": np.arange(20) % 2}) == ()
    assert undeclared_dependence(np.arange(20.0), {}) == ()


def test_the_seed_decides_and_relabelling_does_not():
    rng = np.random.default_rng(3)
    values, codes = rng.normal(size=50), rng.integers(0, 7, 50)
    first = undeclared_dependence(values, {"f": codes}, seed=1)
    assert first == undeclared_dependence(values, {"f": 13 * codes + 4}, seed=1)
    assert first != undeclared_dependence(values, {"f": codes}, seed=2)


def test_codes_that_do_not_fit_name_their_factor():
    with pytest.raises(InputError, match="codes of 'passage' hold -1"):
        undeclared_dependence([1.0, 2.0], {"passage": np.array([0, -1])})


def test_values_dealt_out_follow_the_law_of_shuffles(monkeypatch):
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 12, 3_000), rng.integers(0, 5, 3_000)
    d = rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.5, 0.3], size=3_000)
    residuals, columns = d - d.mean(), [(first, 12), (second, 5)]
    shuffled = clusters._permuted_effects(residuals, columns, np.random.default_rng(4), 2_000)
    monkeypatch.setattr(clusters, "_SHUFFLED", 1_000)
    dealt = clusters._permuted_effects(residuals, columns, np.random.default_rng(5), 2_000)
    assert dealt[0] == pytest.approx(shuffled[0])
    assert dealt[0] == pytest.approx([slow_effect(d, first), slow_effect(d, second)])
    for j in range(2):
        assert stats.ks_2samp(dealt[1:, j], shuffled[1:, j]).pvalue > 0.001
    # Independent factors stay so, and one beside its own copy has the same effect in every draw.
    assert abs(np.corrcoef(dealt[1:].T)[0, 1]) < 0.1
    twice = clusters._permuted_effects(residuals, [columns[1]] * 2, np.random.default_rng(5), 20)
    assert twice[:, 0] == pytest.approx(twice[:, 1])


def test_many_different_values_are_shuffled(monkeypatch):
    monkeypatch.setattr(clusters, "_SHUFFLED", 10)
    rng = np.random.default_rng(1)
    assert clusters._counts_of_values(rng.normal(size=500), [(rng.integers(0, 5, 500), 5)]) is None
    assert clusters._counts_of_values(rng.integers(0, 2, 500) * 1.0, [(rng.integers(0, 5, 500), 5)]) is not None
    assert clusters._counts_of_values(rng.integers(0, 2, 500) * 1.0, [(np.arange(500) // 2, 250)]) is None


def test_dealing_keeps_how_often_each_value_and_each_level_occurs():
    """A factor of one level holds the sum of all values in every draw; equal values give levels the squares of their sizes."""
    rng = np.random.default_rng(9)
    counts = rng.integers(1, 6, (3, 8))
    levels = [np.zeros(8, dtype=np.int64), np.array([0, 0, 1, 1, 1, 2, 2, 3])]
    starts = np.array([0, 1, 5])
    values = np.array([-1.0, 0.5, 4.0])
    found = clusters._dealt_effects(values, counts, levels, 10.0, starts, np.random.default_rng(1), 30)
    assert found.shape == (31, 2)
    assert found[:, 0] == pytest.approx(np.full(31, (values @ counts).sum() ** 2 / 10.0))
    of_level = [(values @ counts)[levels[1] == level].sum() for level in range(4)]
    assert found[0, 1] == pytest.approx(np.square(of_level).sum() / 10.0)
    assert np.unique(found[:, 1]).size > 20
    same = clusters._dealt_effects(np.full(3, 2.0), counts, levels, 10.0, starts, np.random.default_rng(1), 30)
    sizes = [counts[:, levels[1] == level].sum() for level in range(4)]
    assert same[:, 1] == pytest.approx(np.full(31, 4.0 * np.square(sizes).sum() / 10.0))
