"""Linearised errors against closed forms, the jackknife and simulated truths."""

import numpy as np
import pytest

from evalstats.errors import InputError
from evalstats.stats.estimate import t_quantile
from evalstats.stats.one_sample import cr2_of_mean
from evalstats.stats.standardisation import (
    PARTS,
    CellTable,
    GapStatistic,
    _row_variance,
    cell_table,
    derivatives,
    linearised,
)
from tests.stats.standardisation.cell_worlds import LAB_MIX, N_CELLS, N_MODELS, CellWorld

ALL = np.ones((N_MODELS, N_CELLS), dtype=np.bool_)
MODELS = np.arange(N_MODELS)


def without(table: CellTable, cluster: int) -> CellTable:
    kept = table.cluster != cluster
    return cell_table(
        table.cluster[kept],
        table.model[kept],
        table.cell[kept],
        table.n[kept],
        table.total[kept],
        n_models=table.n_models,
        n_cells=table.n_cells,
    )


def shuffled(table: CellTable, seed: int) -> CellTable:
    rng = np.random.default_rng(seed)
    names, at = rng.permutation(table.n_clusters), rng.permutation(table.n.size)
    return cell_table(
        names[table.cluster][at],
        table.model[at],
        table.cell[at],
        table.n[at],
        table.total[at],
        n_models=table.n_models,
        n_cells=table.n_cells,
    )


def test_in_one_cell_it_is_cr2_of_the_mean() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(9), rng.integers(1, 8, 9))
    y = rng.random(cluster.size)
    zeros = np.zeros(cluster.size, dtype=np.int64)
    table = cell_table(cluster, zeros, zeros, np.ones(y.size), y, n_models=1, n_cells=1)
    fit = linearised(
        lambda n_lab, t_lab, n_live, t_live: t_lab / n_lab + 0 * n_live * t_live, table, table, np.array([0])
    )
    assert fit.lab_variance[0, 0] == pytest.approx(cr2_of_mean(y, cluster, 9).variance, rel=1e-10)
    assert fit.live_variance[0, 0] == 0.0


def test_derivatives_are_those_of_small_steps() -> None:
    lab, live = CellWorld().draw(0)
    sums = (*lab.sums(), *live.sums())
    factors = (np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]))
    statistic = GapStatistic(common=ALL, factors=factors)
    exact = derivatives(statistic, sums)
    for which, model, cell in [(0, 0, 1), (1, 2, 0), (2, 1, 4), (3, 0, 3)]:
        up, down = ([array.copy() for array in sums] for _ in range(2))
        up[which][model, cell] += 1e-4
        down[which][model, cell] -= 1e-4
        slope = (statistic(*up) - statistic(*down))[model] / 2e-4
        assert exact[which, model, cell] == pytest.approx(slope, abs=1e-7)


def test_it_is_near_the_jackknife() -> None:
    lab, live = CellWorld(n_lab=150).draw(3)
    statistic = GapStatistic(common=ALL)
    fit = linearised(statistic, lab, live, MODELS)
    for side, variance in ((0, fit.lab_variance), (1, fit.live_variance)):
        count = (lab, live)[side].n_clusters
        values = []
        for cluster in range(count):
            left = without(lab, cluster) if side == 0 else lab, live if side == 0 else without(live, cluster)
            parts = statistic(*left[0].sums(), *left[1].sums())
            values.append(np.vstack([parts, parts.mean(0)])[:, :7])
        jackknife = (count - 1) ** 2 / count * np.var(values, axis=0, ddof=1)
        # They differ by a factor of about 1 + clusters of the thinnest cell ^ -1.
        rough = jackknife > 1e-12
        assert np.abs(np.log(variance[:, :7][rough] / jackknife[rough])).max() < 0.25


def test_names_and_order_of_clusters_do_not_matter() -> None:
    lab, live = CellWorld().draw(1)
    one = linearised(GapStatistic(common=ALL), lab, live, MODELS)
    other = linearised(GapStatistic(common=ALL), shuffled(lab, 5), shuffled(live, 6), MODELS)
    assert one.estimate == pytest.approx(other.estimate, abs=1e-12)
    assert one.variance == pytest.approx(other.variance, abs=1e-14)
    assert one.df == pytest.approx(other.df, rel=1e-9)


def test_swapping_the_sides_turns_signs_and_keeps_errors() -> None:
    lab, live = CellWorld().draw(2)
    there, back = (linearised(GapStatistic(common=ALL), a, b, MODELS) for a, b in ((lab, live), (live, lab)))
    for name in ("total", "mix", "behaviour"):
        column = PARTS.index(name)
        assert back.estimate[:, column] == pytest.approx(-there.estimate[:, column], abs=1e-12)
        assert back.variance[:, column] == pytest.approx(there.variance[:, column], rel=1e-9)


def test_the_mean_of_identical_models_has_the_error_of_one() -> None:
    lab, live = CellWorld().draw(4)
    at = [np.flatnonzero(table.model == 0) for table in (lab, live)]
    twice = [
        cell_table(
            np.tile(table.cluster[rows], 2),
            np.repeat([0, 1], rows.size),
            np.tile(table.cell[rows], 2),
            np.tile(table.n[rows], 2),
            np.tile(table.total[rows], 2),
            n_models=2,
            n_cells=N_CELLS,
        )
        for table, rows in zip((lab, live), at, strict=True)
    ]
    fit = linearised(GapStatistic(common=ALL[:2]), twice[0], twice[1], np.arange(2))
    assert fit.variance[2] == pytest.approx(fit.variance[0], rel=1e-9)


def test_a_cell_of_one_cluster_is_named_and_not_taken_as_certain() -> None:
    cluster, cell = np.arange(21), np.array([0] * 20 + [1])
    y = np.array([1.0, 0] * 10 + [1.0])
    table = cell_table(cluster, cluster * 0, cell, np.ones(21), y, n_models=1, n_cells=2)
    fit = linearised(GapStatistic(common=np.ones((1, 2), dtype=np.bool_)), table, table, np.array([0]))
    assert fit.lonely == (("lab", 0, 1), ("live", 0, 1))
    assert fit.variance[0, PARTS.index("behaviour")] > 2 * 0.25 / 20 * (20 / 21) ** 2


def test_bad_sums_are_named() -> None:
    with pytest.raises(InputError, match="all weights are 0"):
        cell_table([0], [0], [0], [0.0], [0.0], n_models=1, n_cells=1)


def coverage(world: CellWorld, n: int, *, chosen: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Share of simulated 95% intervals that hold the truth, and the mean estimate, by row and part.

    `chosen`: the truth is that of a lab with the shares that it happens to have.
    """
    truth, held, estimates = world.truth(), [], []
    for seed in range(n):
        lab, live = world.draw(seed)
        if chosen:
            truth = world.truth_given(lab.sums()[0][0] / lab.sums()[0][0].sum())
        common = (lab.sums()[0] > 0) & (live.sums()[0] > 0)
        if not common.all():
            continue
        fit = linearised(GapStatistic(common=common), lab, live, MODELS, fixed_lab_shares=chosen)
        reach = np.vectorize(lambda df: t_quantile(0.95, df))(np.maximum(fit.df, 1.0)) * np.sqrt(fit.variance)
        held.append(np.abs(fit.estimate - np.pad(truth, ((0, 0), (0, 15))))[:, :7] <= reach[:, :7] + 1e-12)
        estimates.append(fit.estimate[:, :7])
    return np.mean(held, axis=0), np.mean(estimates, axis=0)


def test_intervals_hold_the_truth() -> None:
    world = CellWorld(n_lab=80)
    held, mean = coverage(world, 30)
    # 30 tables of correlated parts: 0.95 less 4 binomial standard errors; the slow test is sharp.
    assert held.min() > 0.79
    assert held.mean() > 0.92
    assert mean == pytest.approx(world.truth(), abs=0.03)


def test_shares_that_were_chosen_have_no_error() -> None:
    world = CellWorld(n_lab=80, live_mix=tuple(LAB_MIX))
    lab, live = world.draw(1)
    common = np.ones((3, 5), dtype=np.bool_)
    drawn, chosen = (
        linearised(GapStatistic(common=common), lab, live, MODELS, fixed_lab_shares=fixed) for fixed in (False, True)
    )
    mix, weighted = PARTS.index("mix"), PARTS.index("poststratified")
    assert (chosen.lab_variance[:, mix] < 0.25 * drawn.lab_variance[:, mix]).all()
    # The post-stratified score does not hang on the lab's shares.
    np.testing.assert_allclose(chosen.lab_variance[:, weighted], drawn.lab_variance[:, weighted], rtol=1e-9)
    np.testing.assert_allclose(chosen.live_variance, drawn.live_variance)


def test_intervals_hold_the_truth_of_chosen_shares() -> None:
    held, _ = coverage(CellWorld(n_lab=80), 30, chosen=True)
    assert held.min() > 0.79  # as above
    assert held.mean() > 0.92


@pytest.mark.slow
@pytest.mark.parametrize(
    "world", [CellWorld(n_lab=100), CellWorld(n_lab=200, items=1)], ids=["100 clusters", "200 items"]
)
def test_intervals_hold_the_truth_of_chosen_shares_as_often_as_they_say(world: CellWorld) -> None:
    held, _ = coverage(world, 1500, chosen=True)
    told = [PARTS.index(name) for name in ("lab", "live", "total", "mix", "behaviour", "poststratified")]
    assert held[:, told].min() > 0.92
    assert held[:, told].max() < 0.975


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [CellWorld(n_lab=60), CellWorld(n_lab=200, items=1), CellWorld(n_lab=100, shift=0.0), CellWorld(n_users=100)],
    ids=["60 clusters", "200 items", "no behaviour gap", "100 users"],
)
def test_intervals_hold_the_truth_as_often_as_they_say(world: CellWorld) -> None:
    held, mean = coverage(world, 1500)
    told = [PARTS.index(name) for name in ("lab", "live", "total", "mix", "behaviour", "poststratified")]
    # Standard error of a share near 0.95 over 1500 tables: 0.0056; 93% to 97% is asked of the method.
    assert held[:, told].min() > 0.925
    assert held[:, told].max() < 0.975
    assert mean == pytest.approx(world.truth(), abs=0.01)


def test_clusters_of_each_model_are_counted_once() -> None:
    cluster, model = [0, 0, 1, 1, 2, 2, 2, 1], [0, 1, 0, 0, 0, 2, 2, 2]
    table = cell_table(cluster, model, [0, 0, 0, 1, 0, 0, 1, 1], n=[1.0] * 8, total=[0.5] * 8, n_models=3, n_cells=2)
    by_hand = [len({c for c, m in zip(cluster, model, strict=True) if m == k}) for k in range(3)]
    assert table.clusters_of_models().tolist() == by_hand == [3, 1, 2]


def test_degrees_of_freedom_are_those_of_what_each_cluster_would_add() -> None:
    """Rates at fixed weights: c_g = sum over cells of w^2 n_g s^2/N^2; s^2 from the clusters' means about the cell's."""
    rng = np.random.default_rng(9)
    cluster, cell = np.repeat(np.arange(8), 2), np.tile([0, 1], 8)
    n = rng.integers(1, 9, 16).astype(float)
    total = n * rng.random(16) * np.where(cell == 0, 1.0, 3.0)
    side = cell_table(cluster, np.zeros(16, dtype=int), cell, n, total, n_models=1, n_cells=2)
    weights = np.array([0.3, 0.7])
    fit = linearised(
        lambda n_lab, t_lab, n_live, t_live: (
            (weights * t_lab / n_lab).sum(-1)[..., None] + 0 * (n_live * t_live).sum(-1)[..., None]
        ),
        side,
        side,
        np.array([0]),
    )
    adds = np.zeros(8)
    for k in range(2):
        size, sums = n[cell == k], total[cell == k]
        rate = sums.sum() / size.sum()
        adds += weights[k] ** 2 * size / size.sum() ** 2 * (np.square(sums - rate * size) / size).sum() / 7
    assert fit.lab_df[0, 0] == pytest.approx(adds.sum() ** 2 / np.square(adds).sum() - 1, rel=1e-9)
    assert fit.df[0, 0] == pytest.approx(fit.lab_df[0, 0], rel=1e-9)


def test_every_statistic_of_a_gap_is_its_definition_with_cells_on_one_side_alone() -> None:
    n_lab, n_live = np.array([[40.0, 20, 30, 0, 10]]), np.array([[10.0, 30, 0, 20, 15]])
    r_lab, r_live = np.array([[0.9, 0.6, 0.5, 0, 0.2]]), np.array([[0.8, 0.3, 0, 0.7, 0.1]])
    common = (n_lab > 0) & (n_live > 0)
    factors = (np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1]))
    statistic = GapStatistic(common=common, factors=factors)
    found = dict(zip(statistic.names, statistic(n_lab, n_lab * r_lab, n_live, n_live * r_live)[0], strict=True))
    lab, live = (n_lab * r_lab).sum() / 100, (n_live * r_live).sum() / 75
    w_lab, w_live = (np.where(common, n, 0)[0] / np.where(common, n, 0).sum() for n in (n_lab, n_live))
    mix = ((w_live - w_lab) * (r_lab + r_live)[0] / 2).sum()
    behaviour = ((r_live - r_lab)[0] * (w_lab + w_live) / 2).sum()
    assert (found["lab"], found["live"], found["total"]) == pytest.approx((lab, live, live - lab))
    assert (found["mix"], found["behaviour"]) == pytest.approx((mix, behaviour))
    assert found["unexplained"] == pytest.approx(live - lab - mix - behaviour)
    assert abs(found["unexplained"]) > 0.01
    assert found["poststratified"] == pytest.approx((w_live * r_lab[0]).sum())
    assert found["factor 0"] + found["factor 1"] == pytest.approx(mix)
    assert [found[f"live share {k}"] for k in range(5)] == pytest.approx(list(n_live[0] / 75))
    assert sum(found[f"behaviour {k}"] for k in range(5)) == pytest.approx(behaviour)


def test_a_row_varies_within_its_cell_as_the_means_of_clusters_do():
    """With clusters of one row that is the variance of scores, n - 1 below; with larger ones sum n (mean - rate)^2 / (k - 1)."""
    rng = np.random.default_rng(0)
    clusters = {(0, 0): 9, (0, 1): 2, (1, 0): 1, (1, 1): 5}
    scores = {place: rng.normal(size=size) for place, size in clusters.items()}
    for weight in (1.0, 3.0):
        entries = [(k, *place, weight, weight * y) for place, found in scores.items() for k, y in enumerate(found)]
        table = cell_table(*map(list, zip(*entries, strict=True)), n_models=2, n_cells=2)
        n, total = table.sums()
        variance = _row_variance(table, total / n)
        for place, found in scores.items():
            wanted = weight * np.var(found, ddof=1) if found.size > 1 else 0.0
            assert variance[place] == pytest.approx(wanted)


def errors_by_loops(table: CellTable, by_n, by_total, average, *, fixed=False) -> tuple[np.ndarray, np.ndarray]:
    """Variances and degrees of freedom cluster by cluster, as `linearised` words them."""
    n, total = table.sums()
    rate = np.where(n > 0, total / np.maximum(n, 1e-300), 0.0)
    rows = _row_variance(table, rate)
    n_models, _, n_statistics = by_n.shape
    adds = np.zeros((table.n_clusters, n_models, n_statistics))
    law = np.zeros_like(adds)
    for g, m, c, size, score in zip(table.cluster, table.model, table.cell, table.n, table.total, strict=True):
        of_side = table.n[(table.cluster == g) & (table.model == m)].sum() / n[m].sum()
        part = size / n[m, c]
        alone = part > 1 - 1e-9
        within = (
            (score - size * total[m].sum() / n[m].sum()) if alone else (score - size * rate[m, c]) / np.sqrt(1 - part)
        )
        share = 0.0 if fixed else by_n[m, c] + by_total[m, c] * rate[m, c]
        adds[g, m] += by_total[m, c] * within + share * size / (1.0 if of_side > 1 - 1e-9 else np.sqrt(1 - of_side))
        law[g, m] += size * (share**2 + by_total[m, c] ** 2 * rows[m, c])
    pooled, of_pool = adds[:, average].sum(axis=1), law[:, average].sum(axis=1)
    variance = np.vstack([(adds**2).sum(axis=0), (pooled**2).sum(axis=0) / len(average) ** 2])

    def df(c):
        return np.maximum(np.divide(c.sum(0) ** 2, (c**2).sum(0), out=np.zeros(c.shape[1:]), where=c.any(0)) - 1, 1)

    return variance, np.vstack([df(law), df(of_pool)])


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("average", [[0, 1, 2], [0, 2]])
def test_variances_and_df_are_those_of_loops_over_clusters(fixed: bool, average: list[int]) -> None:
    lab, live = CellWorld(n_lab=14, n_users=25).draw(3)
    lab = cell_table(
        np.r_[lab.cluster, 99],
        np.r_[lab.model, 1],
        np.r_[lab.cell, 0],
        np.r_[lab.n, 2.0],
        np.r_[lab.total, 1.0],
        n_models=N_MODELS,
        n_cells=N_CELLS,
    )
    common = (lab.sums()[0] > 0) & (live.sums()[0] > 0)
    statistic = GapStatistic(common=common)
    fit = linearised(statistic, lab, live, np.array(average), fixed_lab_shares=fixed)
    slopes = derivatives(statistic, (*lab.sums(), *live.sums()))
    for found, (variance, df) in (
        ((fit.lab_variance, fit.lab_df), errors_by_loops(lab, slopes[0], slopes[1], average, fixed=fixed)),
        ((fit.live_variance, fit.live_df), errors_by_loops(live, slopes[2], slopes[3], average)),
    ):
        np.testing.assert_allclose(found[0], variance, rtol=1e-9, atol=1e-20)
        told = variance > 1e-12
        np.testing.assert_allclose(found[1][told], df[told], rtol=1e-7)


def test_one_cluster_alone_and_its_lonely_cells_are_told_by_side() -> None:
    many = cell_table(range(6), [0] * 6, [0, 0, 0, 1, 1, 1], [1] * 6, [1, 0, 1, 1, 0, 1], n_models=1, n_cells=2)
    one = cell_table([0, 0], [0, 0], [0, 1], [3, 5], [2, 1], n_models=1, n_cells=2)
    statistic = GapStatistic(common=np.ones((1, 2), dtype=np.bool_))
    there, back = linearised(statistic, many, one, np.array([0])), linearised(statistic, one, many, np.array([0]))
    assert there.lonely == (("live", 0, 0), ("live", 0, 1))
    assert back.lonely == (("lab", 0, 0), ("lab", 0, 1))
    slopes = derivatives(statistic, (*many.sums(), *one.sums()))
    np.testing.assert_allclose(there.live_variance, errors_by_loops(one, slopes[2], slopes[3], [0])[0], 1e-9, 1e-20)


def test_shares_from_outside_stand_for_the_live_ones() -> None:
    """The live rates stay; a cell without live answers has no share whatever is said."""
    n_lab, n_live = np.array([[40.0, 20, 30, 10]]), np.array([[10.0, 30, 0, 1]])
    r_lab, r_live = np.array([[0.9, 0.6, 0.5, 0.2]]), np.array([[0.8, 0.3, 0, 0.7]])
    outside = np.array([0.1, 0.5, 0.2, 0.2])
    common = n_live > 0
    given = GapStatistic(common=common, outside=outside)(n_lab, n_lab * r_lab, n_live, n_live * r_live)
    stands = np.where(common, outside, 0.0)
    direct = GapStatistic(common=common)(n_lab, n_lab * r_lab, stands, stands * r_live)
    np.testing.assert_allclose(given, direct, rtol=1e-12)
    names = dict(zip(GapStatistic(common=common).names, given[0], strict=True))
    assert names["live"] == pytest.approx((0.1 * 0.8 + 0.5 * 0.3 + 0.2 * 0.7) / 0.8)
