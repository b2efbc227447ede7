"""pass^k and pass@k of more trials than were run: called extrapolated everywhere, refused where the data cannot say."""

from functools import cache

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.beta_binomial import BetaBinomial, any_law_intervals
from tests.analysis.builders import data_of, rows_of


def system(
    name: str, rates: list[float], n: int = 4, seed: int = 0, first: int = 0, **factors: list[str]
) -> list[dict[str, object]]:
    """Rows of a system with n trials of an item for each success rate."""
    scores = (np.random.default_rng(seed).random((len(rates), n)) < np.array(rates)[:, None]).astype(float)
    items = [f"q{first + place}" for place in range(len(rates))]
    return rows_of(name, scores.ravel().tolist(), items=items, trials=n, factors=factors)


@cache
def airline() -> es.Score:
    return es.score(datasets.tau_airline(), "gpt-4o")


@cache
def of_three_trials() -> tuple[es.EvalData, es.Score]:
    data = data_of(system("a", [0.9, 0.8, 0.6, 0.3] * 12, n=3))
    return data, es.score(data, "a")


def test_it_is_the_laws_value_and_the_interval_holds_both() -> None:
    data = datasets.tau_airline()
    found = es.score(data, "gpt-4o", pass_hat=8)
    right = np.array(data.outcomes.filter(status="scored").group_by("item").agg(score=pl.col("score").sum())["score"])
    law = BetaBinomial.of(np.full(50, 4), right).interval(8, "hat")
    [(low, high)] = any_law_intervals(np.full(50, 4), right, [("hat", 8)])
    assert found.estimate == pytest.approx(law.estimate)
    assert (found.conf_low, found.conf_high) == pytest.approx(
        (min(low, law.conf_low or 1), max(high, law.conf_high or 0)), abs=1e-3
    )
    assert (found.metric, found.extrapolated_from, found.n_trials) == ("reward pass^8", 4, 200)
    headline, by_law, any_law = found.rows
    assert (headline.role, by_law.estimate, any_law.estimate) == ("headline", headline.estimate, None)


@pytest.mark.parametrize("kind", ["hat", "at"])
def test_the_curve_says_what_the_answer_says(kind: str) -> None:
    """Each k asked for alone has the interval of its row, and the mean score that of k = 1."""
    data, plain = of_three_trials()
    assert plain.reliability is not None
    rows = {row.k: (row.estimate, row.conf_low, row.conf_high) for row in plain.reliability.of(kind)}  # pyright: ignore[reportArgumentType]
    assert sorted(rows) == [1, 2, 3]
    assert rows[1] == (plain.estimate, plain.conf_low, plain.conf_high)
    for k in (1, 3):
        alone = es.score(data, "a", **{f"pass_{kind}": k})
        assert (alone.estimate, alone.conf_low, alone.conf_high) == rows[k]


@pytest.mark.parametrize("third", [0.0, 1.0])
@pytest.mark.parametrize("kind", ["hat", "at"])
def test_one_trial_is_the_mean_whose_trials_count(kind: str, third: float) -> None:
    """24 items vary so little that their 72 trials are the cap, or all of their trials succeed."""
    data = data_of(rows_of("a", [*[1.0, 1.0, third] * 23, 1.0, 1.0, 1.0], items=[f"q{i}" for i in range(24)], trials=3))
    plain, alone = es.score(data, "a"), es.score(data, "a", **{f"pass_{kind}": 1})
    [row] = [row for row in plain.reliability.of(kind) if row.k == 1]  # pyright: ignore[reportArgumentType, reportOptionalMemberAccess]
    for found in (alone, row):
        assert (found.conf_low, found.conf_high) == pytest.approx((plain.conf_low, plain.conf_high), abs=1e-12)


def test_it_is_called_extrapolated() -> None:
    found = es.score(datasets.tau_airline(), "gpt-4o", pass_at=6)
    assert "extrapolated from 4 trials" in found.document().headline
    [note] = [note for note in found.notes if note.kind == "fit"]
    assert note.caution
    assert "Extrapolated from 4 trials an item by a beta-binomial model" in note.text
    assert "Run 6 trials" in note.line


def test_the_curve_holds_what_was_run() -> None:
    """Beyond it a law speaks, whose pass^5 was above the pass^4 that was run; that is asked for by its k."""
    curve = airline().reliability
    assert curve is not None
    for kind, way in (("hat", -1), ("at", 1)):
        rows = curve.of(kind)
        assert [row.k for row in rows] == [1, 2, 3, 4]
        assert [row.estimate for row in rows] == sorted((row.estimate or 0 for row in rows), reverse=way < 0)


def test_a_k_that_some_items_have_is_no_extrapolation() -> None:
    data = data_of([*system("a", [0.5] * 20), *system("a", [0.5] * 20, n=6, first=20)])
    found = es.score(data, "a", pass_hat=6)
    assert found.extrapolated_from is None
    assert found.n_items == 20


def test_what_cannot_be_extrapolated() -> None:
    airline = datasets.tau_airline()
    with pytest.raises(
        CannotAnswerError, match=r"k = 17 is more than 4 times the 4 trials of an item.*at least 5 trials"
    ):
        es.score(airline, "gpt-4o", pass_hat=17)
    with pytest.raises(InputError, match="a claim is held against trials that were run"):
        es.score(airline, "gpt-4o", pass_hat=8, against=0.2)
    with pytest.raises(CannotAnswerError, match="no item has 2 scored trials; the most that any has is 1"):
        es.score(data_of(rows_of("a", [1.0, 0.0, 1.0])), "a", pass_hat=2)
    with pytest.raises(CannotAnswerError, match="every trial succeeds"):
        es.score(data_of(system("a", [1.0] * 12)), "a", pass_hat=8)
    one_in_five_never = data_of(system("a", [0.0, 0.9, 0.9, 0.9, 0.9] * 40, n=8))
    with pytest.raises(CannotAnswerError, match="do not fit a beta-binomial model"):
        es.score(one_in_five_never, "a", pass_hat=16)


def test_clusters_are_refused() -> None:
    passages = [f"p{place // 4}" for place in range(40)]
    data = data_of(system("a", [0.2, 0.5, 0.8, 0.9] * 10, passage=passages))
    with pytest.raises(CannotAnswerError, match="items are clustered"):
        es.score(data, "a", cluster="passage", pass_hat=8)


def test_others_say_where_it_is_extrapolated() -> None:
    data = data_of(system("a", [0.5] * 20), system("b", [0.6] * 20, seed=1))
    with pytest.raises(CannotAnswerError, match="to extrapolate, use score"):
        es.compare(data, "a", "b", pass_hat=8)
    with pytest.raises(CannotAnswerError, match="to extrapolate, use score"):
        es.leaderboard(data, pass_hat=8)


def test_a_comparison_shows_both_systems_for_the_trials_run() -> None:
    data = data_of(system("a", [0.5] * 20), system("b", [0.6] * 20, seed=1))
    found = es.compare(data, "a", "b")
    alone = [es.score(data, name).reliability for name in ("a", "b")]
    for of_pair, own in zip(found.reliability, alone, strict=True):
        assert own is not None
        assert of_pair == own
    section = next(each for each in found.document().evidence if each.id == "reliability")
    assert "All of 4 trials of an item succeed for" in section.heading
    once = data_of(rows_of("a", [1.0, 0.0] * 10), rows_of("b", [1.0] * 15 + [0.0] * 5))
    assert es.compare(once, "a", "b").reliability == ()
