"""Covariance of strengths: published standard errors, definitions by loops, refits, properties, coverage."""

import csv
import re
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths, row_scores
from evalstats.stats.arena.covariance import (
    cluster_parts,
    clustered_meat,
    combination_variance,
    contrast_df,
    contrast_p,
    contrast_variance,
    covariance_of,
    covariance_of_meat,
    few_factor,
    jackknifed,
    nested_in,
    vote_meat,
)
from evalstats.stats.arena.votes import VoteRows, merged, vote_rows
from tests.stats.arena.simulated_votes import Arena, simulate

POINTS = 400.0 / np.log(10.0)
TIES = ("half", "davidson", "rao-kupper")


def votes(seed=0, *, n=240, models=4, ways=((9,), (7,)), covariates=0, weighted=False):
    rng = np.random.default_rng(seed)
    first = rng.integers(models, size=n)
    second = (first + rng.integers(1, models, size=n)) % models
    return vote_rows(
        first,
        second,
        rng.choice(4, size=n, p=[0.4, 0.3, 0.2, 0.1]),
        weight=rng.uniform(0.5, 2.0, size=n) if weighted else None,
        covariates=rng.normal(size=(n, covariates)) if covariates else None,
        clusters=tuple(rng.integers(*levels, size=n) for levels in ways),
    )


def single_scores(fit, rows: VoteRows) -> np.ndarray:
    """The score of every row by the definition, one row at a time."""
    found = row_scores(fit, rows)
    out = np.zeros((rows.n_rows, fit.n_parameters))
    for r in range(rows.n_rows):
        out[r, rows.first[r]] += found.slope[r]
        out[r, rows.second[r]] -= found.slope[r]
        for c in range(rows.n_covariates):
            out[r, rows.n_models + c] = found.slope[r] * rows.covariates[r, c]
        if found.tie_slope is not None:
            out[r, -1] = found.tie_slope[r]
    return out * rows.weight[:, np.newaxis]


def by_cluster(fit, rows, codes):
    """Sandwich with G/(G - 1), by the definition."""
    scores, levels = single_scores(fit, rows), np.unique(codes)
    meat = sum(np.outer(s, s) for g in levels for s in [scores[codes == g].sum(axis=0)])
    return levels.size / (levels.size - 1) * fit.bread @ meat @ fit.bread


def together(columns):
    return np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()


@pytest.fixture(scope="module")
def llmfao(shared_data, golden):
    """Real votes, with the table of reference values in the order of the models."""
    with (shared_data / "llmfao" / "crowd-comparisons.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    with (golden / "bt_llmfao.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    names = {line["model"]: place for place, line in enumerate(table)}
    rows = vote_rows(
        np.array([names[line["left"]] for line in lines]),
        np.array([names[line["right"]] for line in lines]),
        np.array([("left", "right", "tie").index(line["winner"]) for line in lines]),
        clusters=(np.array([int(v["prompt"]) for v in lines]), np.array([int(v["worker"]) for v in lines])),
    )
    return rows, table


def test_reference_standard_errors(llmfao):
    """Sandwich of votes without correction; by prompt, worker and both with each term's own G/(G - 1), no jackknife."""
    rows, table = llmfao
    fit = fit_strengths(rows)
    single = vote_meat(fit, rows)
    prompt, worker, both = (
        covariance_of_meat(fit, clustered_meat(fit, [replace(rows, clusters=(codes,))]), single)
        for codes in (*rows.clusters, together(rows.clusters))
    )
    # The file was made by another program, whose optimum is within 1e-9 of ours.
    for column, matrix in (
        ("se_model_based", fit.bread),
        ("se_sandwich", prompt.votes),
        ("se_cluster_prompt", prompt.covariance),
        ("se_cluster_worker", worker.covariance),
        ("se_twoway_prompt_worker", prompt.covariance + worker.covariance - both.covariance),
    ):
        ours = POINTS * np.sqrt(np.diagonal(matrix))
        np.testing.assert_allclose(ours, [float(line[column]) for line in table], rtol=1e-8)
    assert [each.ways[0].n_clusters for each in (prompt, worker)] == [13, 124]
    assert len(np.unique(together(rows.clusters))) == 1232


def test_of_real_votes_what_may_be_claimed(llmfao):
    rows, _ = llmfao
    found = covariance_of(fit_strengths(rows), rows, names=("prompt", "worker"))
    assert found.few_clusters
    assert found.repaired
    assert found.df == pytest.approx(min(way.effective for way in found.ways) - 1.0)
    assert [way.jackknife for way in found.ways] == [True, True]
    assert "13 clusters worth 13 equal ones, where 59 are needed" in found.warnings[0]
    assert np.linalg.eigvalsh(found.joint)[0] > -1e-12
    i, j = np.triu_indices(59, 1)
    assert (contrast_variance(found, i, j) > 0.0).all()


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("weighted", [False, True])
def test_single_votes_and_clusters_by_their_definitions(ties, weighted):
    rows = votes(3, n=600, covariates=2, weighted=weighted, ways=((300,), (280,), (310,)))
    fit = fit_strengths(rows, ties=ties)
    found = covariance_of(fit, rows)
    assert not any(way.jackknife for way in found.ways)
    scores = single_scores(fit, rows)
    np.testing.assert_allclose(found.votes, fit.bread @ scores.T @ scores @ fit.bread, rtol=1e-9, atol=1e-14)
    total = np.zeros_like(fit.bread)
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            part = by_cluster(fit, rows, together([rows.clusters[w] for w in chosen]))
            total += (-1) ** (size + 1) * part
            if size == 1:
                np.testing.assert_allclose(found.one_way[chosen[0]], part, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(found.covariance, total, rtol=1e-8, atol=1e-13)


def test_merged_votes_count_each_on_its_own():
    one = vote_rows([0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 2])
    fit = fit_strengths(one)
    alone = np.array([[s, -s] for s in row_scores(fit, one).slope])
    wanted = sum(c * np.outer(s, s) for c, s in zip(one.count, alone, strict=True))
    np.testing.assert_allclose(vote_meat(fit, one).matrix, wanted, rtol=1e-12)
    doubled = vote_rows([0], [1], [0], weight=[3.0], count=[2])
    assert vote_meat(fit, doubled).sum_k2 == pytest.approx(2 * 1.5**2)


@pytest.mark.parametrize("ties", TIES)
def test_jackknife_by_its_definition_and_by_refits(ties):
    rows = votes(5, n=900, covariates=1, ways=((8,),))
    fit, codes = fit_strengths(rows, ties=ties), rows.clusters[0]
    every = np.linalg.pinv(fit.bread, hermitian=True)
    total, n_whole = jackknifed(fit, rows, codes)
    scores = single_scores(fit, rows)
    wanted, refitted, longest = np.zeros_like(total), [], 0.0
    parameters = _parameters(fit)
    for g in range(8):
        rest = every - _information(fit, rows.take(codes == g))
        step = np.linalg.pinv(rest, rcond=1e-10, hermitian=True) @ scores[codes == g].sum(axis=0)
        wanted += np.outer(step, step)
        moved = parameters - _parameters(fit_strengths(rows.take(codes != g), ties=ties))
        refitted.append(np.abs(moved - step).max())
        longest = max(longest, np.abs(moved).max())
    np.testing.assert_allclose(total, wanted, rtol=1e-6, atol=1e-10)
    assert n_whole == 0
    # One Newton step leaves an error of second order in the step, which is up to .2 here.
    assert max(refitted) < 0.1 * longest


def _parameters(fit):
    return np.concatenate([fit.strengths, fit.coefficients, [] if fit.tie is None else [np.log(fit.tie)]])


def _information(fit, rows):
    """Information of some rows, centred over the models, from scores at two neighbouring fits."""
    n, size, step = fit.n_models, fit.n_parameters, 1e-5
    out = np.zeros((size, size))
    for p in range(size):
        ends = []
        for way in (step, -step):
            moved = _parameters(fit)
            moved[p] += way
            at = replace(
                fit,
                strengths=moved[:n],
                coefficients=moved[n : n + fit.coefficients.size],
                tie=None if fit.tie is None else float(np.exp(moved[-1])),
            )
            ends.append(single_scores(at, rows).sum(axis=0))
        out[:, p] = (ends[1] - ends[0]) / (2.0 * step)
    return (out + out.T) / 2.0


def test_a_cluster_with_all_votes_on_a_model_is_told():
    rng = np.random.default_rng(8)
    first, second = np.repeat([0, 1, 2], 60), np.repeat([1, 2, 3], 60)
    rater = np.concatenate([np.arange(120) % 10, np.full(60, 3)])
    rows = vote_rows(first, second, rng.integers(2, size=180), clusters=(rater,))
    found = covariance_of(fit_strengths(rows), rows, names=["rater"])
    assert found.ways[0].jackknife
    assert "1 cluster holds all votes on some model" in found.warnings[0]
    assert np.isfinite(found.covariance).all()


def test_order_merging_and_parts_change_nothing():
    rows = votes(11, n=600, ways=((40,),))
    fit = fit_strengths(rows)
    whole = clustered_meat(fit, [rows])
    shuffled = clustered_meat(fit, [rows.take(np.random.default_rng(0).permutation(rows.n_rows))])
    edges = [0, 7, 8, 30, 40]
    parts = [rows.take((rows.clusters[0] >= a) & (rows.clusters[0] < b)) for a, b in pairwise(edges)]
    apart = clustered_meat(fit, parts)
    for other in (shuffled, apart):
        np.testing.assert_allclose(other.matrix, whole.matrix, rtol=1e-10, atol=1e-12)
        assert (other.n_clusters, other.sum_k, other.sum_k2, other.largest) == (
            whole.n_clusters, whole.sum_k, whole.sum_k2, whole.largest,
        )  # fmt: skip
    streamed = covariance_of_meat(fit, apart, vote_meat(fit, merged(rows, keep_clusters=False)), name="rater")
    direct = covariance_of(fit, rows, names=["rater"])
    np.testing.assert_allclose(streamed.covariance, direct.covariance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(streamed.votes, direct.votes, rtol=1e-9, atol=1e-12)
    assert streamed.df == direct.df


def test_blocks_of_clusters_give_the_same(monkeypatch):
    rows = votes(12, n=600, ways=((6,),))
    fit = fit_strengths(rows)
    whole, steps = clustered_meat(fit, [rows]), jackknifed(fit, rows, rows.clusters[0])[0]
    monkeypatch.setattr("evalstats.stats.arena.covariance._HELD", 9)
    parts = clustered_meat(fit, [rows])
    np.testing.assert_allclose(parts.matrix, whole.matrix, rtol=1e-10, atol=1e-12)
    assert parts.n_clusters == whole.n_clusters == 6
    assert (parts.sum_k, parts.sum_k2, parts.largest) == (whole.sum_k, whole.sum_k2, whole.largest)
    np.testing.assert_allclose(jackknifed(fit, rows, rows.clusters[0])[0], steps, rtol=1e-10, atol=1e-12)


def test_numbering_of_models_and_sides_change_nothing():
    rows = votes(13, ways=((30,), (9,)))
    turn = np.array([2, 0, 3, 1])
    other = vote_rows(
        turn[rows.second], turn[rows.first], np.array([1, 0, 2, 3])[rows.outcome], count=rows.count, clusters=rows.clusters
    )  # fmt: skip
    one, two = covariance_of(fit_strengths(rows), rows), covariance_of(fit_strengths(other), other)
    np.testing.assert_allclose(two.covariance[np.ix_(turn, turn)], one.covariance, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(two.joint[np.ix_(turn, turn)], one.joint, rtol=1e-7, atol=1e-10)


def test_a_way_inside_another_is_left_out():
    rows = votes(14, ways=((10,),))
    session = rows.clusters[0] * 3 + np.arange(rows.n_rows) % 3
    fit = fit_strengths(rows)
    alone = covariance_of(fit, rows, names=["rater"])
    both = covariance_of(fit, replace(rows, clusters=(session, rows.clusters[0])), names=["session", "rater"])
    np.testing.assert_array_equal(both.covariance, alone.covariance)
    assert [way.nested_in for way in both.ways] == ["rater", None]
    assert both.ways[0].n_clusters == len(np.unique(session))
    assert nested_in([np.array([0, 0, 1]), np.array([5, 5, 2])]) == [None, 0]


def test_weight_of_nothing_makes_no_cluster():
    rows = votes(15, ways=((9,),))
    extra = rows.take(np.arange(3))
    nothing = replace(extra, weight=np.zeros(3), weight_squares=np.zeros(3), clusters=(np.array([50, 51, 52]),))
    joined = VoteRows(
        n_models=rows.n_models,
        **{
            name: np.concatenate([getattr(rows, name), getattr(nothing, name)])
            for name in ("first", "second", "outcome", "share", "weight", "weight_squares", "count", "covariates")
        },
        clusters=(np.concatenate([rows.clusters[0], nothing.clusters[0]]),),
    )
    fit = fit_strengths(rows)
    np.testing.assert_allclose(covariance_of(fit, joined).covariance, covariance_of(fit, rows).covariance, rtol=1e-12)
    assert covariance_of(fit, joined).ways[0].n_clusters == covariance_of(fit, rows).ways[0].n_clusters


def test_few_clusters_allow_no_interval():
    rows = votes(16, ways=((5,), (30,)))
    found = covariance_of(fit_strengths(rows), rows, names=["prompt", "rater"])
    assert found.reason == "prompt: 5 are too few for an interval; at least 6 are needed"
    assert covariance_of(fit_strengths(rows), replace(rows, clusters=rows.clusters[1:])).reason is None
    one = replace(rows, clusters=(np.zeros(rows.n_rows, dtype=np.int64),))
    assert "1 is too few" in covariance_of(fit_strengths(rows), one).reason


def test_contrasts_that_are_not_positive_take_the_larger_one_way():
    for seed in range(40):
        rows = votes(100 + seed, n=90, ways=((8,), (8,)))
        fit = fit_strengths(rows)
        found = covariance_of(fit, rows)
        i, j = np.triu_indices(4, 1)
        raw = np.array([_contrast(found.covariance, a, b) for a, b in zip(i, j, strict=True)])
        if (raw <= 0.0).any():
            break
    others = np.array(
        [
            max(_contrast(m, a, b) for m in (*found.one_way, found.votes))
            for a, b in zip(i, j, strict=True)
        ]
    )  # fmt: skip
    assert (raw <= 0.0).any()
    assert found.repaired
    np.testing.assert_allclose(contrast_variance(found, i, j), np.where(raw > 0.0, raw, others), rtol=1e-9)
    weights = np.zeros((6, 4))
    weights[np.arange(6), i], weights[np.arange(6), j] = 1.0, -1.0
    np.testing.assert_allclose(combination_variance(found, weights), contrast_variance(found, i, j), rtol=1e-9)


def _contrast(matrix, a, b):
    return matrix[a, a] + matrix[b, b] - 2 * matrix[a, b]


def test_clusters_behind_each_model_by_counting():
    rows = votes(21, models=5, ways=((12,), (6,)), weighted=True)
    fit = fit_strengths(rows)
    found = covariance_of(fit, rows)
    fewest = []
    for model in range(5):
        on = (rows.first == model) | (rows.second == model)
        per_way = []
        for codes in rows.clusters:
            k = [rows.weight[on & (codes == g)].sum() for g in np.unique(codes)]
            per_way.append(sum(k) ** 2 / sum(v**2 for v in k))
        fewest.append(min(per_way))
    np.testing.assert_allclose(found.model_effective, fewest)
    i, j = np.triu_indices(5, 1)
    wanted = [min(found.df, fewest[a] - 1, fewest[b] - 1) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(contrast_df(found, i, j), wanted)
    single = covariance_of(fit, replace(rows, clusters=()))
    total = [rows.weight[(rows.first == m) | (rows.second == m)].sum() for m in range(5)]
    squares = [rows.weight_squares[(rows.first == m) | (rows.second == m)].sum() for m in range(5)]
    np.testing.assert_allclose(single.model_effective, np.square(total) / squares)


def rare(rng, n_seen):
    """Ten equal models; 100 raters cast 20 votes each, and only the first `n_seen` of them ever see the last model."""
    rater = np.repeat(np.arange(100), 20)
    first = rng.integers(9, size=2000)
    second = (first + rng.integers(1, 9, size=2000)) % 9
    first = np.where((rater < n_seen) & (rng.random(2000) < 0.5), 9, first)
    liking = 0.8 * rng.normal(size=(100, 10))
    won = rng.random(2000) < 1.0 / (1.0 + np.exp(liking[rater, second] - liking[rater, first]))
    turn = rng.random(2000) < 0.5
    return vote_rows(
        np.where(turn, second, first), np.where(turn, first, second), won == turn, n_models=10, clusters=(rater,)
    )  # fmt: skip


def test_a_model_of_one_rater_has_no_interval_and_one_of_few_is_told():
    rng = np.random.default_rng(5)
    rows = rare(rng, 1)
    fit = fit_strengths(rows, prior=0.5)
    found = covariance_of(fit, rows, names=["rater"])
    assert np.isnan(contrast_df(found, 0, 9))
    assert np.isnan(contrast_p(fit, found, 0, 9))
    assert "the votes on 1 model come from clusters worth fewer than 6" in found.warnings[-1]
    assert np.isfinite(contrast_p(fit, found, 0, 8))


@pytest.mark.slow
@pytest.mark.parametrize("n_seen", [4, 8, 20])
def test_intervals_of_a_model_that_few_raters_saw_cover(n_seen):
    rng, inside = np.random.default_rng(n_seen), []
    while len(inside) < 400:
        rows = rare(rng, n_seen)
        try:
            fit = fit_strengths(rows)
        except CannotAnswerError:  # the rare model won or lost all its votes
            continue
        found = covariance_of(fit, rows)
        reach = stats.t.ppf(0.975, contrast_df(found, np.arange(9), 9)) * np.sqrt(
            contrast_variance(found, np.arange(9), np.full(9, 9))
        )
        inside.append(np.mean(np.abs(fit.strengths[:9] - fit.strengths[9]) <= reach))
    # The jackknife of four clusters is somewhat too wide.
    assert 0.93 <= np.mean(inside) <= 0.99


def test_what_does_not_belong_together_is_refused():
    rows = votes(17)
    fit = fit_strengths(rows)
    with pytest.raises(InputError, match="1 names for 2 ways"):
        covariance_of(fit, rows, names=["rater"])
    with pytest.raises(InputError, match="no votes of any weight"):
        clustered_meat(fit, [])
    with pytest.raises(InputError, match="no votes of any weight"):
        vote_meat(fit, rows.reweighted(np.zeros(rows.n_rows)))
    with pytest.raises(InputError, match=re.escape("7 ways; give at most 6")):
        covariance_of(fit, replace(rows, clusters=rows.clusters[:1] * 7))


def covered(arena: Arena, replicates: int, seed: int, *, clustered=True) -> float:
    """Share of all pairs' nominal 95% intervals that hold the truth; all models are equal, so the truth is 0."""
    rng = np.random.default_rng(seed)
    models = len(arena.strengths)
    i, j = np.triu_indices(models, 1)
    inside = []
    for _ in range(replicates):
        rows = simulate(arena, rng)
        if not clustered:
            rows = merged(rows, keep_clusters=False)
        fit = fit_strengths(rows)
        found = covariance_of(fit, rows)
        reach = stats.t.ppf(0.975, contrast_df(found, i, j)) * np.sqrt(contrast_variance(found, i, j))
        inside.append(np.mean(np.abs(fit.strengths[i] - fit.strengths[j]) <= reach))
    return float(np.mean(inside))


EQUAL = (0.0,) * 10
RATERS = Arena(strengths=EQUAL)
WORLDS = {
    "raters": RATERS,
    "uneven raters": replace(RATERS, zipf=True),
    "prompts": replace(RATERS, rater_sd=0.0, n_prompts=13, prompt_sd=0.6),
    "raters and prompts": replace(RATERS, n_prompts=13, prompt_sd=0.6),
    "uneven raters and prompts": replace(RATERS, zipf=True, n_prompts=13, prompt_sd=0.6),
}


@pytest.mark.parametrize("world", ["uneven raters", "raters and prompts"])
def test_intervals_cover(world):
    # 20 data sets of 45 dependent pairs: a standard error of about .015; two of them around what the long test allows.
    assert 0.91 <= covered(WORLDS[world], 20, seed=1) <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover_in_every_world(world):
    assert 0.93 <= covered(WORLDS[world], 600, seed=2) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_single_votes_do_not_cover(world):
    assert covered(WORLDS[world], 200, seed=3, clustered=False) < 0.92


def test_information_of_the_clusters_adds_up_to_that_of_the_fit():
    rows = votes(20, covariates=1, ways=((9,),))
    fit = fit_strengths(rows)
    total = sum(_information(fit, rows.take(rows.clusters[0] == g)) for g in range(9))
    centre = np.eye(fit.n_parameters)
    centre[:4, :4] -= 0.25
    # Differences of scores over 2e-5 leave about 1e-8 of the information.
    np.testing.assert_allclose(centre @ total @ centre @ fit.bread, centre, atol=1e-5)


@pytest.mark.parametrize("weight", [0.01, 1.0])
def test_sizes_of_clusters_are_sums_of_weights(weight: float) -> None:
    rng = np.random.default_rng(0)
    rater = rng.integers(0, 9, 80)
    rows = vote_rows(
        rng.integers(0, 2, 80), np.full(80, 2), rng.integers(0, 2, 80), weight=np.full(80, weight), clusters=(rater,)
    )
    found, k = clustered_meat(fit_strengths(rows), [rows]), weight * np.bincount(rater)
    assert (found.n_clusters, found.sum_k) == (k.size, pytest.approx(k.sum()))
    assert (found.sum_k2, found.largest) == pytest.approx((np.square(k).sum(), k.max()))
    assert found.effective == pytest.approx(k.sum() ** 2 / np.square(k).sum())
    assert found.largest_share == pytest.approx(k.max() / k.sum())


def test_parts_hold_whole_clusters_numbered_from_0():
    rows = votes(22, n=90, ways=((11,),))
    codes = 3 * rows.clusters[0]
    rows = rows.reweighted((codes != 12).astype(float))
    seen = []
    for part, local in cluster_parts(rows, codes, 4):
        own = np.unique(part.clusters[0])
        assert own.size <= 4
        assert np.array_equal(own[local], part.clusters[0])
        assert part.weight.sum() == rows.weight[np.isin(rows.clusters[0], own)].sum()
        seen += own.tolist()
    assert seen == [code for code in range(11) if code != 4]
    assert list(cluster_parts(rows.reweighted(np.zeros(rows.n_rows)), codes, 4)) == []


def test_six_ways_may_be_given():
    rows = votes(17)
    ways = tuple(rows.clusters[0] % k for k in (2, 3, 4, 5, 6, 7))
    assert len(covariance_of(fit_strengths(rows), replace(rows, clusters=ways)).ways) == 6


def test_sums_read_in_parts_have_no_jackknife():
    rows = votes(11, ways=((6,),))
    fit = fit_strengths(rows)
    found = covariance_of_meat(fit, clustered_meat(fit, [rows]), vote_meat(fit, rows), name="rater")
    assert found.method.startswith("sandwich clustered by rater, t with ")
    assert [way.jackknife for way in found.ways] == [False]


@pytest.mark.parametrize(("n_clusters", "taken"), [(1, False), (2, True)])
def test_two_clusters_can_be_left_out_one_cannot(n_clusters, taken):
    rows = votes(23, ways=((n_clusters,),))
    (way,) = covariance_of(fit_strengths(rows), rows).ways
    assert (way.n_clusters, way.jackknife) == (n_clusters, taken)


def test_what_one_cluster_alone_says_is_taken_out_of_its_step():
    """All votes on model 3 are of one cluster: without it nothing is known of that model, and no step is made along it."""
    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 3, 200), rng.integers(1, 3, 200)
    second = (first + second) % 3
    cluster = rng.integers(1, 9, 200)
    first, second = np.append(first, [3] * 12), np.append(second, [0, 1, 2] * 4)
    rows = vote_rows(
        first,
        second,
        np.append(rng.integers(0, 2, 200), [0, 1, 0, 1, 0, 1] * 2),
        clusters=(np.append(cluster, [0] * 12),),
    )
    fit, codes = fit_strengths(rows), rows.clusters[0]
    total, n_whole = jackknifed(fit, rows, codes)
    every = np.linalg.pinv(fit.bread, hermitian=True)
    scores = single_scores(fit, rows)
    wanted = np.zeros_like(total)
    for g in range(9):
        rest = every - _information(fit, rows.take(codes == g))
        step = np.linalg.pinv(rest, rcond=1e-7, hermitian=True) @ scores[codes == g].sum(axis=0)
        wanted += np.outer(step, step)
    assert n_whole == 1
    np.testing.assert_allclose(total, wanted, rtol=1e-4, atol=1e-6)


def test_what_makes_up_for_fitted_residuals_takes_two_clusters():
    assert [few_factor(n) for n in (1, 2, 5)] == [1.0, 2.0, 1.25]
