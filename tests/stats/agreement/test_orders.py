"""Orders of true scores that the data leave open, and intervals of rank coefficients over them."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.agreement import orders
from evalstats.stats.agreement.orders import SideOrders, open_orders, rank_range, true_rank_interval
from evalstats.stats.errors_in_variables.scores import LabLiveScores

COEFFICIENTS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}
SE = 2.0

# True scores of both sides, in points, with a standard error of 2 for each.
WORLDS = {
    "5 models, two swapped": ([70, 66, 60, 56, 44], [70, 66, 56, 56.5, 44]),
    "5 close models": ([70, 68, 66, 64, 62], [70, 68, 66, 64, 62]),
    "5 spread models": ([80, 70, 60, 50, 40], [80, 60, 70, 50, 40]),
    "9 models in one order": (list(range(76, 40, -4)), list(range(76, 40, -4))),
    "9 close models": (list(range(76, 67, -1)), list(range(67, 76))),
    "9 models in three close groups": ([0, 1, 2, 14, 15, 16, 28, 29, 30], [2, 1, 0, 16, 15, 14, 30, 29, 28]),
    "20 models in one order": (list(range(80, 40, -2)), list(range(80, 40, -2))),
    "20 models in four close groups": (
        [14 * group + place for group in range(4) for place in range(5)],
        [14 * group - place for group in range(4) for place in range(5)],
    ),
}


def drawn(world: str, rng: np.random.Generator, shared: float = 0.0) -> LabLiveScores:
    """Scores with independent noise of one size, and noise that all models of a side share."""
    lab, live = (np.array(side, dtype=float) for side in WORLDS[world])
    n = lab.size
    covariance = SE**2 * np.eye(n) + shared**2
    common = shared * rng.normal(size=2)
    return LabLiveScores(
        lab=lab + rng.normal(0, SE, n) + common[0],
        live=live + rng.normal(0, SE, n) + common[1],
        lab_covariance=covariance,
        live_covariance=covariance,
    )


def covered(world: str, name: str, n_rounds: int, shared: float = 0.0) -> float:
    """Share of intervals that hold the rank coefficient of the true scores."""
    truth = float(COEFFICIENTS[name](*WORLDS[world]).statistic)
    rng = np.random.default_rng(20)
    ends = [true_rank_interval(drawn(world, rng, shared), name, "items and votes") for _ in range(n_rounds)]
    return float(np.mean([each.conf_low - 1e-9 <= truth <= each.conf_high + 1e-9 for each in ends]))


@pytest.mark.parametrize("world", WORLDS)
def test_coverage_in_short(world: str) -> None:
    # Of 10 tables with a coverage of .95 fewer than 8 are a case of one in 90; with .11 to .6 nearly all are.
    assert covered(world, "spearman", 10) >= 0.8
    assert covered(world, "kendall", 10) >= 0.8


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 3.0])
@pytest.mark.parametrize("name", ["spearman", "kendall"])
@pytest.mark.parametrize("world", WORLDS)
def test_coverage(world: str, name: str, shared: float) -> None:
    assert covered(world, name, 400, shared) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


def chance(seed: int, n: int = 5, ties: bool = False) -> tuple[SideOrders, SideOrders]:
    rng = np.random.default_rng(seed)
    x = np.arange(n) * rng.choice([2.0, 4.0, 8.0]) + rng.normal(0, 2, (2, n)) + rng.choice([0.0, 5.0], 2)[:, None]
    if ties:
        x = np.round(x / 6.0)
    errors = SE**2 * np.eye(n)
    s = LabLiveScores(lab=x[0], live=x[1][rng.permutation(n)] if seed % 3 == 0 else x[1],
                      lab_covariance=errors, live_covariance=errors)  # fmt: skip
    return open_orders(s, held="lab" if ties else None)


def listed(side: SideOrders) -> list[tuple[float, ...]]:
    if side.ranks is not None:
        return [tuple(side.ranks)]
    n = len(side.above)
    pairs = [(i, j) for i in range(n) for j in range(n) if side.above[i, j]]
    return [each for each in permutations(range(n)) if all(each[i] > each[j] for i, j in pairs)]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ties", [False, True])
def test_ends_over_every_pair_of_open_orders(seed: int, ties: bool) -> None:
    lab, live = chance(seed, 4, ties)
    pairs = list(product(listed(lab), listed(live)))
    for name, coefficient in COEFFICIENTS.items():
        values = [coefficient(*each).statistic for each in pairs]
        low, high = rank_range(name, lab, live)
        if name == "spearman":
            assert (low, high) == pytest.approx((min(values), max(values)))
        else:
            assert low <= min(values) + 1e-9
            assert high >= max(values) - 1e-9


def test_the_search_finds_nearly_what_all_orders_give(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = [rank_range("spearman", *chance(seed, 6)) for seed in range(40)]
    monkeypatch.setattr(orders, "LISTED", 1)
    found = [rank_range("spearman", *chance(seed, 6)) for seed in range(40)]
    short = np.abs(np.array(exact) - np.array(found)).max(axis=1)
    assert np.mean(short < 1e-9) >= 0.9
    assert short.max() < 0.2
    # What the search gives is of orders that are open: it never reaches beyond.
    assert all(f[0] >= e[0] - 1e-9 and f[1] <= e[1] + 1e-9 for e, f in zip(exact, found, strict=True))


def test_pairs_that_are_far_apart_on_both_sides_settle_all() -> None:
    x = np.array([0.0, 100.0, 300.0, 200.0, 400.0, 500.0, 600.0, 700.0, 800.0])
    z = np.array([0.0, 200.0, 100.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0])
    errors = np.eye(9)
    s = LabLiveScores(lab=x, live=z, lab_covariance=errors, live_covariance=errors)
    for name, coefficient in COEFFICIENTS.items():
        ends = true_rank_interval(s, name, "items and votes")
        assert (ends.conf_low, ends.conf_high) == pytest.approx((coefficient(x, z).statistic,) * 2)


def test_models_that_the_data_do_not_separate_may_stand_in_any_order() -> None:
    s = LabLiveScores(
        lab=np.arange(9.0), live=np.arange(9.0), lab_covariance=9 * np.eye(9), live_covariance=9 * np.eye(9)
    )
    for name in COEFFICIENTS:
        ends = true_rank_interval(s, name, "items and votes")
        assert (ends.conf_low, ends.conf_high) == (-1.0, 1.0)


def test_a_side_that_is_held_counts_as_it_is() -> None:
    x = np.array([1.0, 2.0, 3.0, 9.0])
    s = LabLiveScores(lab=x, live=x, lab_covariance=np.eye(4), live_covariance=0.001 * np.eye(4))
    by = {source: true_rank_interval(s, "spearman", source) for source in ("items", "votes", "items and votes")}
    assert (by["votes"].conf_low, by["votes"].conf_high) == pytest.approx((1.0, 1.0))
    assert by["items"].conf_low == pytest.approx(by["items and votes"].conf_low) == pytest.approx(0.2)
    half = LabLiveScores(lab=x, live=x, lab_covariance=np.eye(4))
    assert true_rank_interval(half, "spearman", "items") == by["items"]
    assert "live scores are unknown" in true_rank_interval(half, "spearman", "items and votes").reason
    flat = LabLiveScores(lab=x, live=np.ones(4), lab_covariance=np.eye(4), live_covariance=np.eye(4))
    assert "constant" in true_rank_interval(flat, "spearman", "items and votes").reason


def test_few_clusters_separate_fewer_pairs() -> None:
    x = np.arange(5) * 5.0
    s = LabLiveScores(lab=x, live=x, lab_covariance=np.eye(5), live_covariance=np.eye(5))
    normal, few = open_orders(s), open_orders(s, lab_df=4.0)
    assert few[0].above.sum() < normal[0].above.sum()
    assert few[1].above.sum() == normal[1].above.sum()
