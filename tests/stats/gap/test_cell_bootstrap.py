"""The fast joint bootstrap against one that copies clusters, and its intervals beside the linearised ones."""

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.gap.cell_bootstrap import CellDraws, joint_bootstrap
from evalstats.stats.gap.cell_linear import Statistic, Sums, linearised
from evalstats.stats.gap.cell_table import CellTable, cell_table
from evalstats.stats.gap.parts import GapStatistic
from tests.stats.gap.cell_worlds import N_CELLS, N_MODELS, CellWorld

MAIN = 7


def statistic_of(lab: CellTable, live: CellTable) -> Statistic:
    """The main parts, with the rates of the data where a resample has none."""
    (n_lab, t_lab), (n_live, t_live) = lab.sums(), live.sums()
    whole = GapStatistic(
        common=(n_lab > 0) & (n_live > 0),
        lab_rate=t_lab / np.maximum(n_lab, 1),
        live_rate=t_live / np.maximum(n_live, 1),
    )

    def main(n_lab: Sums, total_lab: Sums, n_live: Sums, total_live: Sums) -> Sums:
        return whole(n_lab, total_lab, n_live, total_live)[..., :MAIN]

    return main


def copied(table: CellTable, drawn: np.ndarray) -> CellTable:
    """A resample made by copying the entries of each cluster drawn, under a name of its own."""
    rows = [np.flatnonzero(table.cluster == cluster) for cluster in drawn]
    names = np.repeat(np.arange(drawn.size), [part.size for part in rows])
    at = np.concatenate(rows)
    return cell_table(
        names, table.model[at], table.cell[at], table.n[at], table.total[at], n_models=N_MODELS, n_cells=N_CELLS
    )


def slow_bootstrap(lab: CellTable, live: CellTable, n: int) -> np.ndarray:
    rng, statistic = np.random.default_rng(9), statistic_of(lab, live)
    out = []
    for _ in range(n):
        sides = [copied(table, rng.integers(0, table.n_clusters, table.n_clusters)) for table in (lab, live)]
        parts = statistic(*sides[0].sums(), *sides[1].sums())
        out.append(np.vstack([parts, parts.mean(0)]))
    return np.array(out)


def test_it_has_the_law_of_a_bootstrap_that_copies_clusters() -> None:
    lab, live = CellWorld(n_lab=30, n_users=40).draw(0)
    slow = slow_bootstrap(lab, live, 500)
    fast = joint_bootstrap(statistic_of(lab, live), lab, live, n_resamples=5000, studentised=False).draws
    sd = fast.std(axis=0)
    told = sd > 1e-9
    # 5 Monte Carlo standard errors over 28 numbers: sd/sqrt(500) for means, about 1.6 of that for outer quantiles.
    assert (np.abs(slow.mean(0) - fast.mean(0))[told] < 5 * sd[told] / 500**0.5).all()
    assert (np.abs(slow.std(0) / np.maximum(sd, 1e-12) - 1)[told] < 5 / 1000**0.5).all()
    ends = [np.quantile(draws, [0.05, 0.95], axis=0) for draws in (slow, fast)]
    assert (np.abs(ends[0] - ends[1])[:, told] < 12 * sd[told] / 500**0.5).all()


def test_its_errors_are_linearised_errors_of_the_resample() -> None:
    # Without the small-sample factors, the linearised variance is the sum of squares that the bootstrap takes.
    lab, live = CellWorld(n_lab=400, items=1, n_users=2000, activity=0.0).draw(1)
    drawn = joint_bootstrap(statistic_of(lab, live), lab, live, n_resamples=100)
    fit = linearised(statistic_of(lab, live), lab, live, np.arange(N_MODELS))
    told = fit.variance > 1e-12
    assert drawn.std_error[told] == pytest.approx(np.sqrt(fit.variance[told]), rel=0.03)


def test_intervals_agree_with_the_linearised_ones_where_clusters_are_many() -> None:
    lab, live = CellWorld(n_lab=400, items=1, n_users=500, activity=0.0).draw(2)
    drawn = joint_bootstrap(statistic_of(lab, live), lab, live, n_resamples=500)
    fit = linearised(statistic_of(lab, live), lab, live, np.arange(N_MODELS))
    error = np.sqrt(fit.variance)
    told = error > 1e-6
    for kind in ("percentile-t", "basic", "percentile", "normal"):
        low, high = drawn.interval(0.95, kind)
        # Ends of 500 draws are known to about 0.12 standard errors.
        assert np.abs((low - (fit.estimate - 1.96 * error)) / error)[told].max() < 0.5
        assert np.abs((high - (fit.estimate + 1.96 * error)) / error)[told].max() < 0.5


def test_errors_of_factors_and_of_raking_are_those_of_resamples() -> None:
    lab, live = CellWorld(n_lab=400, items=1, n_users=600, activity=0.0).draw(5)
    factors = (np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1]))
    statistic = GapStatistic(common=np.ones((N_MODELS, N_CELLS), dtype=np.bool_), factors=factors)
    told = [statistic.names.index(name) for name in ("factor 0", "factor 1", "raked")]

    def chosen(n_lab: Sums, total_lab: Sums, n_live: Sums, total_live: Sums) -> Sums:
        return statistic(n_lab, total_lab, n_live, total_live)[..., told]

    draws = joint_bootstrap(chosen, lab, live, n_resamples=800, studentised=False).draws
    error = np.sqrt(linearised(chosen, lab, live, np.arange(N_MODELS)).variance)
    # A standard deviation of 800 draws is known to 2.5%; the rest is curvature, at about 40 items in the thinnest cell.
    assert error == pytest.approx(draws.std(axis=0), rel=0.15)


def test_cells_that_a_resample_empties_are_counted_and_do_no_harm() -> None:
    cluster, cell = np.arange(12), np.array([0] * 10 + [1] * 2)
    y = np.array([1.0, 0] * 6)
    table = cell_table(cluster, cluster * 0, cell, np.ones(12), y, n_models=1, n_cells=2)
    drawn = joint_bootstrap(statistic_of(table, table), table, table, n_resamples=1000)
    assert np.isfinite(drawn.draws).all()
    # A side lacks the cell with probability (10/12)^12, either side with 1 - (1 - that)^2.
    missing = (10 / 12) ** 12
    expected = 1000 * (1 - (1 - missing) ** 2)
    assert drawn.n_empty == pytest.approx(expected, abs=5 * expected**0.5)
    assert (
        np.abs(drawn.draws[:, 0, 3] + drawn.draws[:, 0, 4] + drawn.draws[:, 0, 5] - drawn.draws[:, 0, 2]).max() < 1e-12
    )


def test_the_seed_is_kept() -> None:
    lab, live = CellWorld(n_users=50).draw(3)
    one, other = (joint_bootstrap(statistic_of(lab, live), lab, live, n_resamples=100, seed=4) for _ in range(2))
    assert np.array_equal(one.draws, other.draws)


def test_few_clusters_and_bad_input_are_named() -> None:
    table = cell_table([0, 1, 2, 3], [0] * 4, [0] * 4, [1] * 4, [1, 0, 1, 0], n_models=1, n_cells=1)

    def difference(n_lab: Sums, total_lab: Sums, n_live: Sums, total_live: Sums) -> Sums:
        return total_live / n_live - total_lab / n_lab

    drawn: CellDraws = joint_bootstrap(difference, table, table, n_resamples=100, studentised=False)
    assert drawn.reason is not None
    assert drawn.reason.startswith("lab: 4 clusters are too few")
    with pytest.raises(InputError, match="studentised"):
        drawn.interval(0.95, "percentile-t")
    with pytest.raises(InputError, match="at least 100"):
        joint_bootstrap(difference, table, table, n_resamples=10)
