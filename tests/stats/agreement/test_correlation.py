"""Three coefficients, for many draws at once."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.agreement import correlation
from evalstats.stats.agreement.correlation import (
    NAMES,
    CoefficientName,
    _drawn_hits,
    correlate,
    kendall,
    mean_ranks,
    spearman,
)
from tests.stats.agreement.lablive import NAMES as BENCHMARKS
from tests.stats.agreement.lablive import published

ROUNDING = 1e-12  # sums of a few hundred terms of size one
SCIPY = {
    "pearson": lambda x, z: stats.pearsonr(x, z).statistic,
    "spearman": lambda x, z: stats.spearmanr(x, z).statistic,
    "kendall": lambda x, z: stats.kendalltau(x, z).statistic,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ties", [False, True])
def test_every_draw_equals_scipy(name: CoefficientName, ties: bool) -> None:
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 40, 23))
    z += x
    if ties:
        x, z = np.round(x), np.round(2 * z)
    expected = [SCIPY[name](a, b) for a, b in zip(x, z, strict=True)]
    np.testing.assert_allclose(correlate(name, x, z), expected, atol=ROUNDING)


def test_kendall_by_its_definition() -> None:
    x, z = np.array([1.0, 2.0, 2.0, 5.0, 3.0]), np.array([2.0, 1.0, 3.0, 3.0, 3.0])
    pairs = list(itertools.combinations(range(5), 2))
    signs = [(np.sign(x[i] - x[j]), np.sign(z[i] - z[j])) for i, j in pairs]
    same = sum(a * b for a, b in signs)
    untied = [sum(bool(pair[side]) for pair in signs) for side in (0, 1)]
    assert float(kendall(x, z)) == pytest.approx(same / np.sqrt(untied[0] * untied[1]), abs=ROUNDING)


def test_one_side_is_held_while_the_other_is_drawn() -> None:
    rng = np.random.default_rng(0)
    held, drawn = rng.normal(size=9), rng.normal(size=(2, 7, 9))
    for name in NAMES:
        full = correlate(name, np.broadcast_to(held, drawn.shape), drawn)
        assert full.shape == (2, 7)
        np.testing.assert_allclose(correlate(name, held, drawn), full, atol=ROUNDING)
        np.testing.assert_allclose(correlate(name, drawn, held[None]), full, atol=ROUNDING)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 31, 33, 5000])
def test_kendall_of_any_size_equals_scipy(n: int) -> None:
    """Halves that are merged are filled up to a power of two, which must count for nothing."""
    x, z = np.random.default_rng(n).integers(0, n, size=(2, n)).astype(float)
    assert float(kendall(x, z)) == pytest.approx(stats.kendalltau(x, z).statistic, abs=ROUNDING, nan_ok=True)


def test_sides_models_and_scales_change_nothing() -> None:
    rng = np.random.default_rng(5)
    x, z = rng.normal(size=(2, 30))
    order = rng.permutation(30)
    for name in NAMES:
        value = float(correlate(name, x, z))
        assert float(correlate(name, z, x)) == pytest.approx(value, abs=ROUNDING)
        assert float(correlate(name, x[order], z[order])) == pytest.approx(value, abs=ROUNDING)
        assert float(correlate(name, 1e9 + 3e4 * x, -z)) == pytest.approx(-value, abs=1e-9)  # 1e9 + x loses five digits
        if name != "pearson":
            assert float(correlate(name, np.exp(x), z**3)) == pytest.approx(value, abs=ROUNDING)


def test_a_constant_side_has_no_coefficient() -> None:
    for name in NAMES:
        # A tenth cannot be written in binary: the mean of three is not the number itself.
        assert np.isnan(correlate(name, [0.1, 0.1, 0.1], [1.0, 2.0, 3.0]))


def test_ranks_share_their_mean() -> None:
    values = np.random.default_rng(2).integers(0, 5, (6, 12)).astype(float)
    np.testing.assert_array_equal(mean_ranks(values), stats.rankdata(values, axis=-1))


def test_other_models_on_each_side_are_refused() -> None:
    with pytest.raises(InputError, match="0 models"):
        spearman([], [])


@pytest.mark.parametrize("benchmark_name", BENCHMARKS)
def test_published_benchmarks(golden: Path, benchmark_name: str) -> None:
    scores, known = published(golden)[benchmark_name]
    for name, key in (("pearson", "pearson"), ("spearman", "spearman"), ("kendall", "kendall_b")):
        assert float(correlate(name, scores.lab, scores.live)) == pytest.approx(known[key], abs=ROUNDING)
    top = scores.subset(np.argsort(-scores.live, kind="stable")[:10])
    assert float(kendall(top.lab, top.live)) == pytest.approx(known["kendall_top10_live"], abs=ROUNDING)
    assert float(spearman(top.lab, top.live)) == pytest.approx(known["spearman_top10"], abs=ROUNDING)


@pytest.mark.parametrize("at_once", [1_000_000, 35])
def test_drawn_orders_count_those_with_a_coefficient_as_far_from_0(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(correlation, "_DRAWN_AT_ONCE", at_once)
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=5), rng.normal(size=5)
    estimate = stats.kendalltau(a, b).statistic
    orders = np.argsort(np.random.default_rng(8).random((60, 5)), axis=-1)
    wanted = sum(abs(stats.kendalltau(a, b[order]).statistic) >= abs(estimate) - 1e-9 for order in orders)
    assert 0 < wanted < 60
    assert _drawn_hits("kendall", (a, b), estimate, n_resamples=60, seed=8) == wanted
