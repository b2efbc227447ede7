"""pass^k and pass@k, compared item by item."""

from itertools import combinations

import numpy as np
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from tests.analysis.builders import data_of, rows_of, told


def trials_data(n_items: int = 30, trials: int = 4, seed: int = 0):
    rng = np.random.default_rng(seed)
    sides = {name: rng.integers(0, 2, (n_items, trials)) for name in ("old", "new")}
    data = data_of(
        *[rows_of(name, scores.ravel().astype(float).tolist(), trials=trials) for name, scores in sides.items()]
    )
    return data, sides


def by_definition(scores, k: int, kind: str) -> np.ndarray:
    """The share of all sets of k trials in which all (hat) or any (at) succeed."""
    enough = all if kind == "hat" else any
    return np.array([np.mean([enough(chosen) for chosen in combinations(row.tolist(), k)]) for row in scores])


@pytest.mark.parametrize("kind", ["hat", "at"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_difference_is_the_mean_over_all_sets_of_k_trials(kind, k):
    data, sides = trials_data()
    found = es.compare(data, "old", "new", **{f"pass_{kind}": k})
    expected = by_definition(sides["new"], k, kind) - by_definition(sides["old"], k, kind)
    # Both are sums of a few hundred fractions.
    assert found.estimate == pytest.approx(expected.mean(), abs=1e-12)
    assert found.metric == f"correct pass{'^' if kind == 'hat' else '@'}{k}"
    assert found.method == "augmented t"
    assert found.n_trials == 2 * 30 * 4


def test_as_many_trials_as_k_leave_a_right_or_wrong_score():
    data, sides = trials_data()
    found = es.compare(data, "old", "new", pass_hat=4)
    expected = sides["new"].all(axis=1).mean() - sides["old"].all(axis=1).mean()
    assert found.method.startswith("Tango")
    assert found.estimate == pytest.approx(expected, abs=1e-12)


def test_swapping_the_sides_turns_the_sign():
    data, _ = trials_data()
    there, back = es.compare(data, "old", "new", pass_hat=2), es.compare(data, "new", "old", pass_hat=2)
    assert there.estimate == pytest.approx(-back.estimate)
    assert there.conf_low == pytest.approx(-back.conf_high)


def test_items_with_too_few_trials_are_left_out_by_name():
    data = data_of(
        [*rows_of("old", [1, 0, 1] * 8, trials=3), *rows_of("old", [1.0], items=["short"])],
        [*rows_of("new", [1, 1, 1] * 8, trials=3), *rows_of("new", [1.0], items=["short"])],
    )
    found = es.compare(data, "old", "new", pass_hat=2)
    assert found.n_items == 8
    assert any("short" in note for note in told(found))
    assert es.compare(data, "old", "new", pass_hat=1).n_items == 9


def test_what_cannot_be_asked_is_refused_in_words():
    data, _ = trials_data()
    with pytest.raises(CannotAnswerError, match="the most that any has is 4"):
        es.compare(data, "old", "new", pass_hat=5)
    with pytest.raises(InputError, match="ask one"):
        es.compare(data, "old", "new", pass_hat=2, pass_at=2)
    with pytest.raises(InputError, match="whole number from 1"):
        es.compare(data, "old", "new", pass_at=0)
    graded = data_of(rows_of("old", [0.2, 0.4, 0.9]), rows_of("new", [0.3, 0.4, 0.5]))
    with pytest.raises(InputError, match="right-or-wrong"):
        es.compare(graded, "old", "new", pass_hat=1)


def test_lost_trials_widen_the_bounds_of_pass_hat():
    """Old: 4 of 4 right. New: 2 of 4 right, two lost: pass^2 is 1, at worst C(2,2)/C(4,2) = 1/6, at best 1."""
    lost = [1.0, 1.0, None, None]
    data = data_of(rows_of("old", [1.0] * 80, trials=4), rows_of("new", lost * 20, trials=4, status="error"))
    found = es.compare(data, "old", "new", pass_hat=2)
    estimates = sorted(row.estimate for row in found.missing.rows)
    assert estimates[0] == pytest.approx(1 / 6 - 1)
    assert estimates[-1] == pytest.approx(0)
