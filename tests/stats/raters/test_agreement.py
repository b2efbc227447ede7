"""Agreement of raters against published tables, against the definitions written out, by properties and by simulation."""

import itertools
import json
import math
import tracemalloc

import numpy as np
import pytest
import scipy.stats

from evalstats.errors import InputError
from evalstats.stats.raters import agreement
from evalstats.stats.raters.agreement import (
    RatingTable,
    alpha_where_two_rated,
    gwet_ac1,
    judge_alpha,
    judge_equality,
    judge_minus_people,
    krippendorff_alpha,
    rating_table,
    raw_agreement,
)

METRICS = ("nominal", "ordinal", "interval", "ratio")


def table_of(ratings: np.ndarray) -> RatingTable:
    """Return the table of raters x units, NaN where nobody rated."""
    units = np.broadcast_to(np.arange(ratings.shape[1]), ratings.shape)
    known = ~np.isnan(ratings)
    return rating_table(units[known], ratings[known])


def gappy(seed: int, n_units: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n_units)
    ratings = np.where(rng.random((4, n_units)) < 0.7, truth, rng.integers(0, 4, (4, n_units))).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = np.nan
    return ratings


def slow_alpha(ratings: np.ndarray, metric: str) -> float:
    """Krippendorff's definition, pair by pair."""
    pairable = [[v for v in unit if not math.isnan(v)] for unit in ratings.T]
    pairable = [unit for unit in pairable if len(unit) > 1]
    values = [v for unit in pairable for v in unit]
    counts = {v: values.count(v) for v in sorted(set(values))}

    def apart(a: float, b: float) -> float:
        if metric == "nominal":
            return float(a != b)
        if metric == "interval":
            return (a - b) ** 2
        if metric == "ratio":
            return ((a - b) / (a + b)) ** 2 if a + b else 0.0
        between = [counts[v] for v in counts if min(a, b) <= v <= max(a, b)]
        return (sum(between) - (counts[a] + counts[b]) / 2) ** 2 if a != b else 0.0

    n = len(values)
    seen = sum(sum(apart(a, b) for a, b in itertools.permutations(unit, 2)) / (len(unit) - 1) for unit in pairable) / n
    chance = sum(apart(a, b) for a, b in itertools.permutations(values, 2)) / (n * (n - 1))
    return 1 - seen / chance


def test_krippendorffs_published_table(golden):
    stored = json.loads((golden / "py_golden.json").read_text())["krippendorff"]
    ratings = np.array([[np.nan if v is None else v for v in row] for row in stored["data"]])
    for metric in METRICS:
        found = krippendorff_alpha(table_of(ratings), metric).estimate
        assert found == pytest.approx(stored[metric], abs=1e-12)
        assert round(found, 3) == stored["published"][metric]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_alpha_is_its_definition_pair_by_pair(metric, seed):
    ratings = gappy(seed)
    assert krippendorff_alpha(table_of(ratings), metric).estimate == pytest.approx(
        slow_alpha(ratings, metric), abs=1e-12
    )


def cohen_kappa(one, other, q, weights="none", **over):
    """Return Cohen's kappa of two raters' codes."""
    return judge_equality(*(np.eye(q, dtype=np.int64)[codes] for codes in (one, other)), "kappa", weights, **over)


def test_cohens_and_weighted_kappa_of_published_tables(golden):
    stored = json.loads((golden / "py_golden.json").read_text())
    for name, key, weights in (
        ("cohen", "kappa", "none"),
        ("weighted_kappa", "linear", "linear"),
        ("weighted_kappa", "quadratic", "quadratic"),
    ):
        cells = np.array(stored[name]["table"])
        rows, columns = (np.repeat(side.ravel(), cells.ravel()) for side in np.indices(cells.shape))
        found = cohen_kappa(rows, columns, len(cells), weights)
        assert found.estimate == pytest.approx(stored[name][key], abs=1e-12)
    # The jackknife comes near the published asymptotic error of Cohen's table.
    rows, columns = np.repeat([0, 0, 1, 1], [20, 5, 10, 15]), np.repeat([0, 1, 0, 1], [20, 5, 10, 15])
    assert cohen_kappa(rows, columns, 2).std_error == pytest.approx(stored["cohen"]["se"], rel=0.04)


@pytest.mark.parametrize("measure", ["share", "AC1"])
def test_a_judge_equals_single_people_and_units_weigh_alike(measure):
    """The mean over units of the share of people whom the judge equals, whether one person rated a unit or three did."""
    rng = np.random.default_rng(5)
    judge = np.eye(3, dtype=np.int64)[rng.integers(0, 3, 50)]
    people = np.array([rng.multinomial(1 + k % 3, np.where(judge[k] == 1, 0.6, 0.2)) for k in range(50)])
    theirs = people / people.sum(axis=1)[:, None]
    same, share = float((judge * theirs).sum()) / 50, (judge + theirs).sum(axis=0) / 100
    chance = 0.0 if measure == "share" else float((share * (1 - share)).sum()) / 2
    found = judge_equality(judge, people, measure, n_resamples=200)
    assert found.estimate == pytest.approx((same - chance) / (1 - chance), abs=1e-12)
    assert found.conf_low < found.estimate < found.conf_high


def test_gwets_ac1_is_its_definition():
    ratings = gappy(3)
    seen, shares, n = 0.0, np.zeros(4), 0
    pairs = 0
    for unit in ratings.T:
        own = unit[~np.isnan(unit)].astype(int)
        if own.size:
            shares += np.bincount(own, minlength=4) / own.size
            n += 1
        if own.size > 1:
            seen += np.mean([a == b for a, b in itertools.permutations(own, 2)])
            pairs += 1
    chance = float((shares / n * (1 - shares / n)).sum()) / 3
    expected = (seen / pairs - chance) / (1 - chance)
    assert gwet_ac1(table_of(ratings)).estimate == pytest.approx(expected, abs=1e-12)
    assert raw_agreement(table_of(ratings)).estimate == pytest.approx(seen / pairs, abs=1e-12)


def test_names_order_and_scale_do_not_matter():
    ratings = gappy(4)
    one = krippendorff_alpha(table_of(ratings), seed=1)
    turned = krippendorff_alpha(table_of(ratings[::-1, ::-1]), seed=1)
    assert (one.estimate, one.conf_low, one.conf_high) == pytest.approx(
        (turned.estimate, turned.conf_low, turned.conf_high)
    )
    for metric in ("nominal", "ordinal", "interval"):
        stretched = krippendorff_alpha(table_of(3.0 * ratings + 7.0), metric).estimate
        assert stretched == pytest.approx(krippendorff_alpha(table_of(ratings), metric).estimate)


def test_clusters_of_one_unit_change_nothing_and_copies_widen():
    ratings = gappy(5)
    table = table_of(ratings)
    alone = krippendorff_alpha(table, seed=2)
    own = krippendorff_alpha(table, seed=2, clusters=np.arange(table.counts.shape[0]))
    assert (own.n_clusters, own.std_error) == (30, pytest.approx(alone.std_error))
    # Other draws: 4,000 resamples leave an end uncertain by about a hundredth.
    assert (own.conf_low, own.conf_high) == pytest.approx((alone.conf_low, alone.conf_high), abs=0.03)
    doubled = RatingTable(counts=np.vstack((table.counts, table.counts)), levels=table.levels)
    copied = krippendorff_alpha(doubled, clusters=np.tile(np.arange(30), 2), seed=2)
    narrow = krippendorff_alpha(doubled, seed=2)
    assert copied.std_error == pytest.approx(alone.std_error, rel=0.05)
    assert narrow.std_error < 0.75 * copied.std_error


def test_what_cannot_be_estimated_says_why():
    with pytest.raises(InputError, match="no unit has two ratings"):
        krippendorff_alpha(rating_table([0, 1], [1, 2]))
    with pytest.raises(InputError, match="all ratings are the same"):
        krippendorff_alpha(rating_table([0, 0, 1, 1], [1, 1, 1, 1]))
    with pytest.raises(InputError, match="from 0"):
        krippendorff_alpha(rating_table([0, 0, 1, 1], [-1, 1, 1, 1]), "ratio")
    with pytest.raises(InputError, match="201 different values"):
        rating_table(np.arange(201) // 2, np.arange(201))
    rare = krippendorff_alpha(rating_table(np.repeat(np.arange(40), 2), [1] * 74 + [0, 0, 0, 1, 1, 1]))
    assert rare.conf_low is None
    assert "other than the commonest" in str(rare.reason)
    perfect = krippendorff_alpha(rating_table(np.repeat(np.arange(20), 2), np.repeat([0, 1], 20)))
    assert perfect.estimate == 1.0
    assert (perfect.conf_low, perfect.conf_high) == (None, None)
    assert "no width" in str(perfect.reason)
    few = krippendorff_alpha(rating_table(np.repeat(np.arange(16), 2), np.arange(32) % 2), clusters=np.arange(16) % 4)
    assert "4 clusters" in str(few.reason)
    # Two raters who always agree: Wilson's interval of the agreement is no point.
    agreed = raw_agreement(rating_table(np.repeat(np.arange(20), 2), np.repeat([0, 1], 20)))
    assert agreed.conf_low is not None
    assert agreed.conf_low < 0.9


def drawn(rng: np.random.Generator, n: int, accuracy: float, shares: list[float]) -> np.ndarray:
    """Three raters who see the truth with a chance and else guess: alpha is that chance squared."""
    truth = rng.choice(len(shares), size=n, p=shares)
    return np.where(rng.random((3, n)) < accuracy, truth, rng.choice(len(shares), size=(3, n), p=shares)).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "accuracy", "shares"),
    [
        (30, 0.7, [0.5, 0.5]),
        (100, 0.7, [0.5, 0.5]),
        (100, 0.8, [0.9, 0.1]),
        (100, 0.9, [0.4, 0.4, 0.2]),
        (300, 0.8, [0.9, 0.1]),
    ],
)
def test_intervals_of_alpha_hold_the_truth(n, accuracy, shares):
    rng, repeats, held, made = np.random.default_rng(11), 1000, 0, 0
    for seed in range(repeats):
        found = krippendorff_alpha(table_of(drawn(rng, n, accuracy, shares)), n_resamples=1000, seed=seed)
        if found.conf_low is not None and found.conf_high is not None:
            made += 1
            held += found.conf_low <= accuracy**2 <= found.conf_high
    assert made > 0.9 * repeats
    # Four Monte Carlo errors, and 1.5 points for the bootstrap of few units.
    assert abs(held / made - 0.95) < 0.015 + 4 * math.sqrt(0.95 * 0.05 / made)


def test_alpha_of_many_fine_numbers_is_its_definition_and_takes_little_room():
    # 800 answers with 200 levels: all of their coincidences at once would be 256 MB.
    rng = np.random.default_rng(5)
    n, q = 800, 200
    levels = np.linspace(-3.0, 7.0, q)
    true = rng.integers(20, 180, n)
    codes = [np.clip(true + rng.integers(-20, 21, n), 0, q - 1) for _ in range(3)]
    one_hot = np.eye(q, dtype=np.int64)
    people = one_hot[codes[0]] + one_hot[codes[1]]
    tracemalloc.start()
    found = krippendorff_alpha(RatingTable(counts=people, levels=levels), "interval")
    judge_minus_people(one_hot[codes[2]], people, levels, "interval")
    kappa = cohen_kappa(codes[0], codes[2], q, "quadratic")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1.6e8
    x = [levels[each] for each in codes]
    # Two raters without gaps: alpha is 1 minus the mean squared difference over twice the variance of all ratings.
    pool = np.concatenate((x[0], x[1]))
    plain = 1.0 - np.mean((x[0] - x[1]) ** 2) / (2.0 * pool.var(ddof=1))
    assert found.estimate == pytest.approx(plain, abs=1e-10)
    a, b = codes[0], codes[2]
    expected = np.mean((a[:, None] - b[rng.integers(0, n, (n, 20))]) ** 2)
    assert kappa.estimate == pytest.approx(1.0 - np.mean((a - b) ** 2) / expected, abs=0.014)


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_with_clusters_and_in_blocks_is_that_of_all_at_once(metric, monkeypatch):
    rng = np.random.default_rng(6)
    counts = rng.multinomial(3, [0.1, 0.2, 0.3, 0.4], size=200)
    own = np.eye(4, dtype=np.int64)[rng.integers(0, 4, 200)]
    levels, codes = np.array([0.0, 1.0, 2.5, 4.0]), rng.integers(0, 30, 200)
    measures = (judge_alpha, judge_minus_people)
    whole = [each(own, counts, levels, metric, clusters=codes, n_resamples=300) for each in measures]
    monkeypatch.setattr(agreement, "_MOST_CELLS", 40 * 32)
    for each, expected in zip(measures, whole, strict=True):
        parts = each(own, counts, levels, metric, clusters=codes, n_resamples=300)
        assert parts.estimate == pytest.approx(expected.estimate, abs=1e-12)
        assert parts.std_error == pytest.approx(expected.std_error, rel=1e-9)
    monkeypatch.setattr(agreement, "_MOST_CELLS", 100)
    free = judge_alpha(own, counts, levels, metric)
    monkeypatch.undo()
    held = judge_alpha(own, counts, levels, metric)
    assert "influence" in free.method
    assert "BCa" in held.method
    assert free.std_error == pytest.approx(held.std_error, rel=1e-9)
    assert free.conf_low == pytest.approx(held.conf_low, abs=0.02)


def test_distinct_rows_are_those_of_numpy():
    rng = np.random.default_rng(1)
    for units in (
        rng.integers(0, 4, (200, 3)),
        rng.integers(0, 2**40, (50, 5)).repeat(2, axis=0),
        rng.integers(-2, 2, (60, 2)),
    ):
        for ours, theirs in zip(
            agreement._distinct_rows(units),
            np.unique(units, axis=0, return_inverse=True, return_counts=True),
            strict=True,
        ):
            np.testing.assert_array_equal(ours, theirs.reshape(ours.shape))


def test_one_person_a_unit_leaves_the_judge_with_people_alone():
    """Then it is alpha of the two of them, by its definition."""
    rng = np.random.default_rng(7)
    truth = rng.integers(0, 3, 60)
    rated = [np.where(rng.random(60) < 0.8, truth, rng.integers(0, 3, 60)) for _ in range(2)]
    own, theirs = (np.eye(3, dtype=np.int64)[each] for each in rated)
    for metric in METRICS:
        found = judge_alpha(own, theirs, np.arange(3.0), metric, n_resamples=200)
        assert found.estimate == pytest.approx(slow_alpha(np.array(rated, dtype=float), metric))
    for measure in (judge_minus_people, alpha_where_two_rated):
        with pytest.raises(InputError, match=r"by two people|all ratings are the same"):
            measure(own, theirs, np.arange(3.0))
    with pytest.raises(InputError, match="rated by the judge and by people"):
        judge_alpha(np.zeros_like(own), theirs, np.arange(3.0))
    with pytest.raises(InputError, match="rated by the judge and by people"):
        judge_alpha(own, np.zeros_like(theirs), np.arange(3.0))


def test_all_pairs_of_judge_and_person_count_and_the_difference_is_on_what_two_people_rated():
    """Against the definition, pair by pair: every unit has weight 1, every pair of it a share."""
    rng = np.random.default_rng(8)
    n, double = 70, 20
    judge = rng.integers(0, 3, n)
    one = np.where(rng.random(n) < 0.6, judge, rng.integers(0, 3, n))
    two = np.where(rng.random(double) < 0.9, one[:double], rng.integers(0, 3, double))
    own, people = np.eye(3, dtype=np.int64)[judge], np.eye(3, dtype=np.int64)[one]
    people[:double] += np.eye(3, dtype=np.int64)[two]

    def alpha(pairs: list[tuple[int, int, float]]) -> float:
        seen = sum(weight * (a != b) for a, b, weight in pairs)
        margin = np.zeros(3)
        for a, b, weight in pairs:
            margin[a] += weight
            margin[b] += weight
        total = margin.sum()
        chance = (total**2 - (margin**2).sum()) / (total * (total - 1))
        return 1 - seen / sum(weight for *_, weight in pairs) / chance

    with_one = [(judge[i], one[i], 1.0) for i in range(double, n)]
    with_both = [(judge[i], who[i], 0.5) for i in range(double) for who in (one, two)]
    found = judge_alpha(own, people, np.arange(3.0), n_resamples=200)
    assert found.estimate == pytest.approx(alpha(with_one + with_both), rel=1e-12)
    assert found.n == n
    among = alpha([(one[i], two[i], 1.0) for i in range(double)])
    minus = judge_minus_people(own, people, np.arange(3.0), n_resamples=200)
    assert minus.estimate == pytest.approx(alpha(with_both) - among, rel=1e-12)
    assert minus.n == double
    parts = alpha_where_two_rated(own, people, np.arange(3.0), n_resamples=200)
    assert parts.estimate == pytest.approx(alpha(with_both) - alpha(with_one), rel=1e-12)


@pytest.mark.parametrize("value", [0.1, 0.7, 1e6 + 0.1])
def test_ratings_that_are_all_the_same_have_no_alpha_whatever_rounding_leaves(value):
    n = np.arange(2.0, 60.0)
    total = np.column_stack((np.zeros(n.size), n, n * value, n * value * value))
    with np.errstate(invalid="ignore", divide="ignore"):
        assert np.isnan(agreement._alpha(total, np.array([0.0, value]), "interval")).all()


@pytest.mark.parametrize(("copies", "told"), [((4.0, 1.0), False), ((3.0, 2.0), True)])
def test_an_interval_needs_nine_tenths_of_the_resamples(copies, told):
    """Without a unit of the second kind the statistic has no value: (4/5)^5 = .33 of resamples, or (3/5)^5 = .08."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])

    def share(total):
        return np.where(total[:, 1] > 0, total[:, 0] / total.sum(axis=1), np.nan)

    held = np.array(copies)
    found = agreement._bca(held[0] / 5, rows, held, np.array([0.1, -0.2]), share, level=0.9, n_resamples=2000, seed=0)
    assert (found is not None) == told


def test_the_influence_of_a_unit_is_what_the_statistic_loses_without_it():
    rng = np.random.default_rng(9)
    rows, copies = rng.random((6, 2)) + 0.5, np.array([1.0, 3, 2, 1, 4, 1])
    total = copies @ rows
    found = agreement._influence(total[None], [(slice(None), rows)], copies, lambda sums: sums[:, 0] / sums[:, 1])
    without = np.array([(total - row)[0] / (total - row)[1] for row in rows])
    mean = copies @ without / 12
    assert found == pytest.approx((mean - without) * np.sqrt(11 / 12), rel=1e-9)
    none = agreement._influence(total[None], [(slice(None), rows)], copies, lambda sums: np.full(len(sums), np.nan))
    assert none.tolist() == [0.0] * 6


@pytest.mark.parametrize("weights", ["none", "linear", "quadratic"])
def test_kappa_is_its_definition_category_by_category(weights):
    """1 less the disagreement seen over that of the same shares put together at random."""
    rng = np.random.default_rng(10)
    one, other = rng.integers(0, 4, 60), rng.integers(0, 4, 60)
    other = np.where(rng.random(60) < 0.5, one, other)
    apart = {"none": lambda i, j: i != j, "linear": lambda i, j: abs(i - j), "quadratic": lambda i, j: (i - j) ** 2}
    cost = apart[weights]
    seen = sum(cost(i, j) for i, j in zip(one.tolist(), other.tolist(), strict=True)) / 60
    chance = sum(cost(i, j) * (one == i).mean() * (other == j).mean() for i in range(4) for j in range(4))
    found = cohen_kappa(one, other, 4, weights, n_resamples=200)
    assert found.method.startswith("Cohen's kappa;" if weights == "none" else f"Cohen's kappa, {weights} weights;")
    assert found.estimate == pytest.approx(1 - seen / chance, rel=1e-12)
    assert found.conf_low < found.estimate < found.conf_high
    without = [
        cohen_kappa(np.delete(one, k), np.delete(other, k), 4, weights, n_resamples=2).estimate for k in range(60)
    ]
    assert found.std_error == pytest.approx(np.sqrt(59 / 60 * np.square(without - np.mean(without)).sum()), rel=1e-9)
    swapped = cohen_kappa(other, one, 4, weights, n_resamples=200)
    assert swapped.estimate == pytest.approx(found.estimate, rel=1e-12)


@pytest.mark.parametrize(("n_other", "told"), [(7, False), (8, True)])
def test_kappa_needs_units_on_which_a_rater_left_the_commonest_category(n_other, told):
    one, other = np.zeros(60, dtype=int), np.zeros(60, dtype=int)
    one[: n_other // 2] = 1
    other[2:n_other] = 1
    found = cohen_kappa(one, other, 2, n_resamples=400)
    assert ("other than the commonest" in str(found.reason)) != told


@pytest.mark.parametrize("measure", [raw_agreement, gwet_ac1])
def test_units_of_one_rating_have_no_pairs_to_agree(measure):
    rng = np.random.default_rng(12)
    counts = rng.multinomial(3, [0.6, 0.4], size=40)
    longer = np.vstack((counts, np.tile([0, 1], (10, 1)), np.tile([1, 0], (15, 1))))
    levels = np.array([0.0, 1.0])
    agreed = (counts * (counts - 1)).sum() / 40 / 6
    share = (counts.sum(axis=0) / 3 + [15, 10]) / 65
    chance = (share * (1 - share)).sum()
    found = (
        measure(RatingTable(counts=longer, levels=levels), n_resamples=200)
        if measure is gwet_ac1
        else measure(RatingTable(counts=longer, levels=levels))
    )
    wanted = (agreed - chance) / (1 - chance) if measure is gwet_ac1 else agreed
    assert found.estimate == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("n_other", "told"), [(7, False), (8, True)])
def test_alpha_of_a_judge_needs_units_with_a_rating_other_than_the_commonest(n_other, told):
    """The commonest category of the judge and people together: here the second of three."""
    judge, people = np.zeros((60, 3), dtype=np.int64), np.zeros((60, 3), dtype=np.int64)
    judge[:, 1], people[:, 1] = 1, 2
    judge[: n_other // 2] = [1, 0, 0]
    people[2:n_other] = [0, 0, 2]
    found = judge_alpha(judge, people, np.arange(3.0), n_resamples=400)
    assert ("other than the commonest" in str(found.reason)) != told


def test_an_unknown_metric_is_refused_and_resamples_start_where_they_are_said_to():
    table = rating_table(np.repeat(np.arange(30), 2), [0, 1, 1, 1, 2, 2] * 10)
    with pytest.raises(InputError, match="metric 'cosine' is unknown"):
        krippendorff_alpha(table, "cosine")
    found = krippendorff_alpha(table)
    assert found == krippendorff_alpha(table, conf_level=0.95, n_resamples=4000, seed=0)
    assert found.conf_low is not None
    assert found.reason is None


def test_an_estimate_outside_its_resamples_has_percentiles_as_wide_as_few_units_ask_for():
    """The expanded percentiles of Hesterberg 2015: of twelve units 3.0% beyond each end instead of 5%."""
    rows = np.random.default_rng(1).normal(size=(12, 1))
    law = np.random.default_rng(5).multinomial(12, np.full(12, 1 / 12), size=150) @ rows
    found = agreement._bca(
        100.0, rows, np.ones(12), np.linspace(-1, 1, 12), lambda sums: sums[:, 0], level=0.9, n_resamples=150, seed=5
    )
    tail = scipy.stats.norm.cdf(-math.sqrt(12 / 11) * scipy.stats.t.ppf(0.95, 11))
    assert tail == pytest.approx(0.03, abs=0.001)
    assert found == pytest.approx(tuple(np.quantile(law, [tail, 1 - tail])), rel=1e-12)


def test_units_of_one_rating_are_not_pairable_and_tell_nothing():
    counts = np.array([[3, 0], [2, 1], [0, 2], [1, 0], [0, 1], [0, 0], [0, 1]])
    table = RatingTable(counts=counts, levels=np.array([0.0, 1.0]))
    assert (table.n_pairable, table.n_telling) == (3, 2)


def test_five_units_are_enough_for_an_interval():
    units, ratings = np.repeat(np.arange(5), 3), [1, 1, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1]
    assert raw_agreement(rating_table(units, ratings), n_resamples=200).conf_low is not None
    few = raw_agreement(rating_table(units[:12], ratings[:12]), n_resamples=200)
    assert few.conf_low is None
    assert "4 units are too few" in str(few.reason)
