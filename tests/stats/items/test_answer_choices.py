"""Answers of multiple choice: luck, rivals of the key, positions, shared errors; against definitions and simulation."""

from collections import Counter

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import InputError
from evalstats.stats.answer_choices import (
    RivalOptions,
    _quadratic_p,
    chance_level,
    position_bias,
    rival_options,
    shared_errors,
    unread_answers,
)
from evalstats.stats.item_quality import strength_ranks
from evalstats.stats.one_sample import wilson


def answers(seed: int, n: int = 300, m: int = 12, k: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Draw answers of models of different strength; every wrong option draws alike."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, k, n)
    knows = rng.random((n, m)) < 1 / (1 + np.exp(-(np.linspace(-1.5, 1.5, m) + rng.normal(size=(n, 1)))))
    wrong = (keys[:, None] + rng.integers(1, k, (n, m))) % k
    return np.where(knows, keys[:, None], wrong), keys


def test_luck_is_the_mean_of_guesses_that_are_drawn():
    rng = np.random.default_rng(0)
    n = 500
    options = rng.integers(2, 11, n)
    unread = rng.random(n) < 0.2
    right = ~unread & (rng.random(n) < 0.5)
    found = unread_answers(right, unread, options)
    drawn = [(right | (unread & (rng.random(n) < 1 / options))).mean() for _ in range(4000)]
    assert found.as_luck == pytest.approx(np.mean(drawn), abs=4 * np.std(drawn) / np.sqrt(4000))
    assert found.luck_sd == pytest.approx(np.std(drawn), rel=0.05)
    assert found.share == unread.mean()
    assert found.as_wrong.estimate == right.mean()
    assert found.left_out == wilson(int(right.sum()), int((~unread).sum()))


def test_no_answer_read_leaves_no_score_of_those_read():
    found = unread_answers([False] * 4, [True] * 4)
    assert (found.left_out, found.as_luck, found.as_wrong.estimate) == (None, None, 0.0)
    with pytest.raises(InputError, match="count as right"):
        unread_answers([True], [True])
    with pytest.raises(InputError, match="from 0"):
        unread_answers([True, False], [False, True], [4, 0])


def test_chance_level_is_near_the_binomial_and_rejects_as_often_as_it_says():
    right = np.zeros(200, dtype=bool)
    right[:65] = True
    exact = stats.binom(200, 0.25).sf(64)
    assert chance_level(right, np.full(200, 4)).p_value == pytest.approx(exact, rel=0.15)
    rng = np.random.default_rng(1)
    options = rng.integers(2, 11, 300)
    p = [chance_level(rng.random(300) < 1 / options, options).p_value for _ in range(2000)]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.045, abs=0.015)


def test_rivals_are_those_of_the_definition():
    choices, keys = answers(2)
    choices = np.where(np.random.default_rng(0).random(choices.shape) < 0.1, -1, choices)
    found = rival_options(choices, keys)
    seen = choices >= 0
    ranks = strength_ranks((choices == keys[:, None]).astype(float), seen)
    for i in range(0, 300, 9):
        counts = Counter(int(c) for c in choices[i] if c >= 0 and c != keys[i])
        most = max(counts.values(), default=0)
        option = min((c for c, n in counts.items() if n == most), default=-1)
        assert (found.option[i], found.n_chosen[i]) == (option, most)
        assert found.n_right[i] == (choices[i] == keys[i]).sum()
        chose = choices[i] == option
        strong = seen[i] & (ranks[i] > seen[i].sum() / 2)
        assert found.strong_share[i] == pytest.approx(chose[strong].mean())
        if 0 < most < seen[i].sum() and seen[i].sum() >= 8:
            others = ranks[i][seen[i] & ~chose]
            outside = stats.mannwhitneyu(others, ranks[i][chose], alternative="less", method="exact").pvalue
            assert found.p_value[i] == pytest.approx(outside)


def test_wrong_keys_are_found_where_no_model_meets_them():
    choices, keys = answers(3, 400, 24)
    moved = [5, 50, 300]
    wrong = keys.copy()
    wrong[moved] = (keys[moved] + 1) % 5
    choices[moved] = np.where(choices[moved] == wrong[moved][:, None], (wrong[moved][:, None] + 1) % 5, choices[moved])
    choices[moved, 12:] = keys[moved][:, None]
    found = rival_options(choices, wrong)
    assert set(moved) <= set(np.flatnonzero(found.p_adjusted <= 0.05))
    assert (found.n_right[moved] == 0).all()
    np.testing.assert_array_equal(found.option[moved], keys[moved])
    columns = np.random.default_rng(0).permutation(24)
    np.testing.assert_allclose(rival_options(choices[:, columns], wrong).p_value, found.p_value)


def test_good_keys_have_no_rivals():
    """No false alarm where wrong options draw weak models; rare where answers have nothing to do with strength."""
    assert not any((rival_options(*answers(seed)).p_adjusted <= 0.05).any() for seed in range(15))
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(80):
        choices, keys = answers(int(rng.integers(1 << 30)), 200, 14)
        choices[:100] = rng.integers(0, 5, (100, 14))
        alarms += bool((rival_options(choices, keys).p_adjusted <= 0.05).any())
    assert alarms / 80 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 80)


def test_positions_are_counted_against_an_even_choice():
    rng = np.random.default_rng(5)
    n = 600
    options, keys = rng.integers(3, 6, n), rng.integers(0, 3, n)
    chosen = np.where(rng.random(n) < 0.1, -1, rng.integers(0, options))
    found = position_bias(chosen, keys, options)
    assert found is not None
    wrong = [i for i in range(n) if chosen[i] >= 0 and chosen[i] != keys[i]]
    expected = np.zeros(5)
    for i in wrong:
        for place in range(options[i]):
            expected[place] += place != keys[i] and 1 / (options[i] - 1)
    assert found.n_wrong == len(wrong)
    np.testing.assert_allclose(found.expected * len(wrong), expected)
    np.testing.assert_allclose(found.share, np.bincount(chosen[wrong], minlength=5) / len(wrong))
    assert found.excess.estimate == pytest.approx((found.share - found.expected).max())


def test_positions_have_pearsons_test_where_all_keys_are_one_and_keep_their_level():
    rng = np.random.default_rng(6)
    chosen = rng.integers(0, 4, 400)
    found = position_bias(chosen, np.zeros(400, dtype=int), np.full(400, 4))
    assert found is not None
    counts = np.bincount(chosen, minlength=4)[1:]
    assert found.p_value == pytest.approx(stats.chisquare(counts).pvalue)
    p, missed = [], []
    for _ in range(1000):
        keys, options = rng.integers(0, 3, 150), rng.integers(3, 7, 150)
        one = position_bias(rng.integers(0, options), keys, options)
        assert one is not None
        p.append(one.p_value)
        missed.append(one.excess.conf_low > 0)
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.02)
    assert np.mean(missed) <= 0.05
    assert position_bias(np.zeros(20, dtype=int), np.ones(20, dtype=int), np.full(20, 4)) is None


def slow_shared(choices: np.ndarray, keys: np.ndarray, a: int, b: int) -> tuple[float, float, float, float]:
    """Same wrong answers and their chance item by item, with the standard error of the ratio."""
    same, chance = [], []
    for row, key in zip(choices, keys, strict=True):
        wrong = [j for j in range(len(row)) if row[j] >= 0 and row[j] != key]
        others = [row[j] for j in wrong if j not in (a, b)]
        if a in wrong and b in wrong and len(others) >= 2:
            s = len(others)
            same.append(float(row[a] == row[b]))
            chance.append(sum(c * (c - 1) for c in Counter(others).values()) / (s * (s - 1)))
    o, e = np.array(same), np.array(chance)
    kappa = (o.sum() - e.sum()) / (1 - e).sum()
    errors = (o - e) - kappa * (1 - e)
    n = o.size
    return n, o.mean(), kappa, float(np.sqrt((errors**2).sum() * n / (n - 1)) / (1 - e).sum())


def test_shared_errors_are_those_of_a_loop_over_items():
    choices, keys = answers(7, 500, 7)
    choices = np.where(np.random.default_rng(0).random(choices.shape) < 0.1, -1, choices)
    found = shared_errors(choices, keys)
    assert found is not None
    assert found.first.size == 21
    for k in range(21):
        n, agreement, kappa, error = slow_shared(choices, keys, int(found.first[k]), int(found.second[k]))
        assert found.n_both_wrong[k] == n
        assert found.agreement[k] == pytest.approx(agreement)
        assert found.kappa[k] == pytest.approx(kappa)
        assert found.std_error[k] == pytest.approx(error)
        reach = stats.t(n - 1).ppf(1 - 0.025 / 21) * error  # jointly over 21 pairs
        assert found.conf_low[k] == pytest.approx(kappa - reach)
        assert found.conf_high[k] == pytest.approx(min(1.0, kappa + reach))
        assert (agreement - found.expected[k]) / (1 - found.expected[k]) == pytest.approx(kappa)


def test_errors_of_four_models_are_told_where_all_four_are_wrong():
    rng = np.random.default_rng(1)
    choices, keys = rng.integers(0, 4, (400, 4)), np.zeros(400, dtype=int)
    found = shared_errors(choices, keys)
    assert found is not None
    for k in range(6):
        n, agreement, kappa, error = slow_shared(choices, keys, int(found.first[k]), int(found.second[k]))
        assert (found.n_both_wrong[k], found.agreement[k]) == (n, pytest.approx(agreement))
        assert (found.kappa[k], found.std_error[k]) == (pytest.approx(kappa), pytest.approx(error))


def test_a_pair_whose_agreement_is_certain_by_chance_is_left_out_and_not_counted_among_the_pairs():
    # The three others always agree, so the first two would too: nothing is left of their agreement beyond chance.
    rng = np.random.default_rng(4)
    choices = np.column_stack([rng.integers(1, 4, (60, 2)), np.ones((60, 3), dtype=int)])
    keys = np.zeros(60, dtype=int)
    found = shared_errors(choices, keys)
    assert found is not None
    pairs = list(zip(found.first.tolist(), found.second.tolist(), strict=True))
    assert pairs == [(a, b) for a in range(5) for b in range(a + 1, 5) if (a, b) != (0, 1)]
    _, _, kappa, error = slow_shared(choices, keys, 0, 2)
    assert found.conf_low[0] == pytest.approx(kappa - stats.t(59).ppf(1 - 0.025 / 9) * error)


def test_a_copy_stands_out_and_independent_models_do_not():
    choices, keys = answers(8, 400, 10)
    choices[:, 9] = np.where(np.random.default_rng(0).random(400) < 0.9, choices[:, 3], choices[:, 9])
    found = shared_errors(choices, keys)
    assert found is not None
    top = int(found.kappa.argmax())
    assert (found.first[top], found.second[top]) == (3, 9)
    assert found.conf_low[top] > 0.5
    again = shared_errors(choices, keys, conf_level=0.5)
    assert again is not None
    assert again.conf_low[top] > found.conf_low[top]
    assert shared_errors(choices[:, :3], keys) is None
    assert shared_errors(np.tile(keys[:, None], 5), keys) is None


def test_intervals_hold_for_all_pairs_of_independent_models():
    """Items differ in which wrong option draws most, so models agree often, and no pair more than others."""
    rng = np.random.default_rng(9)
    held = 0
    for _ in range(200):
        n, m, k = 250, 6, 5
        cumulative = np.cumsum(rng.dirichlet(np.full(k, 0.5), n), axis=1)
        choices = (rng.random((n, m))[:, :, None] > cumulative[:, None, :]).sum(axis=2).clip(0, k - 1)
        found = shared_errors(choices, np.full(n, k))
        assert found is not None
        held += bool(((found.conf_low <= 0) & (found.conf_high >= 0)).all())
    assert held / 200 >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 200)


def test_answers_that_are_no_codes_are_refused():
    with pytest.raises(InputError, match="integer codes"):
        rival_options(np.full((3, 9), 0.5), np.zeros(3, dtype=int))
    with pytest.raises(InputError, match="hold -2"):
        shared_errors(np.full((3, 9), -2), np.zeros(3, dtype=int))
    with pytest.raises(InputError, match="hold -3"):
        shared_errors(np.array([[0, -3, 4]]), np.zeros(1, dtype=int))
    with pytest.raises(InputError, match="keys have shape"):
        shared_errors(np.zeros((3, 9), dtype=int), np.zeros(2, dtype=int))


def test_a_suspect_has_more_models_than_the_key_and_a_test_or_the_strong_half_behind_it():
    cases = [  # chosen by, right, models, share of the strong half, adjusted p; suspect
        (6, 5, 12, 0.5, 0.05, True),
        (6, 5, 12, 0.5, 0.06, False),
        (6, 6, 12, 1.0, 0.01, False),
        (8, 0, 8, 0.9, np.nan, True),
        (8, 0, 8, 0.89, np.nan, False),
        (7, 0, 7, 1.0, np.nan, False),
        (7, 0, 7, 1.0, 0.01, True),
    ]
    chosen, right, models, share, p, expected = (np.array(column) for column in zip(*cases, strict=True))
    found = RivalOptions(
        option=np.zeros(len(cases), dtype=np.int64),
        n_chosen=chosen,
        n_right=right,
        n_models=models,
        strong_share=share,
        p_value=p,
        p_adjusted=p,
        least_p=0.0,
    )
    np.testing.assert_array_equal(found.suspect, expected)


def test_where_every_model_takes_the_rival_nobody_is_left_to_test():
    choices, keys = answers(5)
    rival = (keys + 1) % 5
    choices[[3, 40]] = rival[[3, 40], None]
    found = rival_options(choices, keys)
    assert found.option[[3, 40]].tolist() == rival[[3, 40]].tolist()
    assert (found.n_chosen == found.n_models)[[3, 40]].all()
    assert np.isnan(found.p_value[[3, 40]]).all()
    assert np.isnan(found.p_adjusted[[3, 40]]).all()
    assert found.suspect[[3, 40]].all()
    assert np.isfinite(found.p_value[found.n_chosen < found.n_models]).sum() == (found.n_chosen > 0).sum() - 2


def test_thirty_wrong_answers_are_enough():
    for n, enough in ((29, False), (30, True)):
        found = position_bias(np.arange(n) % 2 + 1, np.zeros(n, dtype=int), np.full(n, 3))
        assert (found is not None) == enough


def test_a_form_in_the_directions_that_vary_is_chi_squared():
    p = np.array([0.2, 0.3, 0.5])
    apart = np.array([7.0, -4.0, -3.0])
    wanted = stats.chi2.sf((apart**2 / (100 * p)).sum(), 2)
    assert _quadratic_p(apart, 100 * (np.diag(p) - np.outer(p, p))) == pytest.approx(wanted)
    assert _quadratic_p(np.zeros(2), np.zeros((2, 2))) == 1.0
    assert _quadratic_p(np.array([2.0]), np.array([[1.0]])) == pytest.approx(stats.chi2.sf(4.0, 1))
