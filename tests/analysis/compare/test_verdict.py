"""The order in which verdicts are decided, and that each needs its own evidence."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats import datasets
from evalstats.analysis.compare.compare import _invalid, compare
from evalstats.analysis.compare.difference import Difference
from evalstats.analysis.compare.result import Verdict
from evalstats.analysis.compare.verdict import decide
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.document.model import Note, NoteKind
from evalstats.document.terminal import headline
from evalstats.stats.estimate import IntervalEstimate
from tests.analysis.builders import data_of, rows_of

SHARE = Metric(benchmark="b", name="s", kind="binary", low=0.0, high=1.0, higher_is_better=True, unit="")


def decided(
    low: float | None = 0.01,
    high: float | None = 0.05,
    *,
    reason: str | None = None,
    smallest_p: float = 1e-6,
    mde: float | None = 0.02,
    margin: float | None = None,
    equivalence: tuple[float | None, float | None] = (None, None),
    higher: bool = True,
    doubts: tuple[str, ...] = (),
    no_equivalence: tuple[str, ...] = (),
) -> tuple[Verdict, str]:
    estimate = IntervalEstimate(
        estimate=0.02, method="Tango", conf_level=0.95, n=100, conf_low=low, conf_high=high, reason=reason
    )
    found = Difference(
        headline=estimate,
        method_reason="",
        smallest_p=smallest_p,
        mde=mde,
        doubts=doubts,
        no_equivalence=no_equivalence,
    )
    metric = replace(SHARE, higher_is_better=higher)
    return decide(found, metric, margin=margin, equivalence=equivalence)


AROUND_0: dict[str, Any] = {"low": -0.03, "high": 0.02}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ({}, "better"),
        ({"higher": False}, "worse"),
        ({"low": -0.05, "high": -0.01}, "worse"),
        (AROUND_0, "inconclusive"),
        ({"doubts": ("only 4 discordant items",)}, "inconclusive"),
        ({"low": None, "high": None, "reason": "3 clusters"}, "invalid"),
        # A design that could never show anything is powerless even when its interval excludes 0.
        ({"smallest_p": 0.0625}, "powerless"),
        ({"smallest_p": 0.0625, "low": None, "high": None, "reason": "4 clusters"}, "invalid"),
        # A margin, an interval around 0, and too little power for the margin.
        ({**AROUND_0, "margin": 0.01, "equivalence": (-0.025, 0.015)}, "powerless"),
        # Enough power, but the data lie astride the margin.
        ({**AROUND_0, "margin": 0.025, "equivalence": (-0.027, 0.015)}, "inconclusive"),
        ({**AROUND_0, "margin": 0.04, "equivalence": (-0.025, 0.015)}, "equivalent"),
        # Equivalence comes before a direction: a difference that is sure and does not matter.
        ({"margin": 0.1, "equivalence": (0.015, 0.045)}, "equivalent"),
        ({"margin": 0.01, "equivalence": (0.015, 0.045)}, "better"),
        # Too few clusters for equivalence, whatever the interval.
        (
            {
                **AROUND_0,
                "margin": 0.04,
                "equivalence": (-0.025, 0.015),
                "no_equivalence": ("effectively 2.7 clusters",),
            },
            "inconclusive",
        ),
        # No difference at all could be found: the margin is out of reach.
        ({**AROUND_0, "mde": None, "margin": 0.01, "equivalence": (-0.025, 0.015)}, "powerless"),
    ],
)
def test_verdicts(evidence: dict[str, Any], verdict: str) -> None:
    assert decided(**evidence)[0] == verdict


def test_reasons_carry_the_numbers() -> None:
    assert "the p of the test could not go below 0.062" in decided(smallest_p=0.0625)[1]
    assert decided(smallest_p=1.0) == ("powerless", "whatever the outcome, fewer than 6 items decide nothing")
    powerless = decided(**AROUND_0, margin=0.01, equivalence=(-0.025, 0.015))[1]
    assert "margin of 1 pp" in powerless
    assert "only 2.0 pp" in powerless
    assert decided(**AROUND_0, margin=0.04, equivalence=(-0.025, 0.015))[1].startswith("the 90% interval")


@given(
    low=st.floats(-1, 1),
    width=st.floats(1e-6, 1),
    higher=st.booleans(),
    doubts=st.sampled_from([(), ("a doubt",)]),
)
def test_a_direction_is_claimed_only_by_an_interval_that_excludes_0(
    low: float, width: float, *, higher: bool, doubts: tuple[str, ...]
) -> None:
    verdict, _ = decided(low, low + width, higher=higher, doubts=doubts)
    excludes = low > 0 or low + width < 0
    assert (verdict in ("better", "worse")) == (excludes and not doubts)
    swapped, _ = decided(-low - width, -low, higher=higher, doubts=doubts)
    assert {verdict, swapped} in ({"better", "worse"}, {"inconclusive"})


@pytest.mark.parametrize(
    ("kind", "said"), [("missing", "missing scores could undo it"), ("few", "rare failures could undo it")]
)
def test_what_limits_the_verdict_stands_on_the_first_line_of_every_output(kind: NoteKind, said: str) -> None:
    limit = Note(kind=kind, text="only on Mondays")
    found = compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="none")
    result = replace(found, qualifiers=(limit,))
    document = result.document()
    assert said in document.headline
    assert said in headline(document)
    assert document.cautions[-1].text == "only on Mondays" or limit in document.cautions
    assert "better; only on Mondays," in repr(result)
    assert _invalid(result, "nothing to go by").qualifiers == ()


def test_what_limits_a_leaderboard_stands_on_its_first_line() -> None:
    board = replace(leaderboard(datasets.tenacious_held_out()), qualifiers=("only on Mondays",))
    for text in (board.document().headline, board.summary().partition(". ")[0] + ".", repr(board)):
        assert "; only on Mondays" in text


@pytest.mark.parametrize("n", [5, 6, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4, 7, 8))])
@pytest.mark.parametrize("levels", [(0.0, 1.0), (0.0, 0.5, 1.0), (1.0, 2.0, 3.0, 4.0, 5.0)])
@pytest.mark.parametrize("unlike", [False, True])
def test_whether_a_design_could_show_anything_does_not_depend_on_the_draw(
    n: int, levels: tuple[float, ...], *, unlike: bool
) -> None:
    """Draws of one design: those with few values, all at the ends, all alike, or all apart among them."""
    rng = np.random.default_rng(n)
    shares = np.full(len(levels), 0.1 / (len(levels) - 1))
    shares[-1] = 0.9
    found: set[bool] = set()
    kind = "binary" if levels == (0.0, 1.0) else "bounded"
    for _ in range(6):
        sides = rng.choice(levels, (2, n), p=None if unlike else shares).tolist()
        data = data_of(rows_of("a", sides[0]), rows_of("b", sides[1]), kind=kind, low=levels[0], high=levels[-1])
        result = compare(data, "a", "b", cluster="none")
        found.add(result.verdict == "powerless")
        assert result.smallest_p is not None
        assert (result.verdict == "powerless") == (result.smallest_p > 0.05)
    assert len(found) == 1
    assert found == {n < 6}


@pytest.mark.parametrize("n_clusters", [5, 6, 8])
def test_clusters_that_do_not_differ_count_as_well(n_clusters: int) -> None:
    rng = np.random.default_rng(n_clusters)
    factors = {"passage": [f"p{i % n_clusters}" for i in range(6 * n_clusters)]}
    for share in (0.5, 0.97):
        sides = (rng.random((2, 6 * n_clusters)) < share).astype(float).tolist()
        data = data_of(*(rows_of(name, side, factors=factors) for name, side in zip("ab", sides, strict=True)))
        result = compare(data, "a", "b", cluster="passage")
        assert result.smallest_p == 2.0 ** (1 - n_clusters)
        assert (result.verdict == "powerless") == (n_clusters < 6)


def test_the_first_of_many_is_not_claimed_without_a_word() -> None:
    """30 equal systems: the best is ahead of another by luck, p < .05, and .05 / 29 is what it would take."""
    draws = np.random.default_rng(13).random((30, 200)) < 0.6
    order = [int(place) for place in np.argsort(draws.mean(axis=1), kind="stable")]
    rows = [rows_of(f"s{j}", own.astype(float).tolist()) for j, own in enumerate(draws)]
    low, middle, best = (f"s{order[place]}" for place in (2, 15, 29))
    result = compare(data_of(*rows), low, best)
    (note,) = [note for note in result.notes if note.kind == "selection"]
    assert (result.verdict, note.caution) == ("better", True)
    assert result.p_value is not None
    assert f"{best} scores highest of 30 systems" in note.text
    assert f"p = {29 * result.p_value:.2f} adjusted for 29 comparisons" in note.text  # Bonferroni
    alone = compare(data_of(rows[order[2]], rows[order[29]]), low, best)
    assert (alone.p_value, [note for note in alone.notes if note.kind == "selection"]) == (result.p_value, [])
    assert not [note for note in compare(data_of(*rows), low, middle).notes if note.kind == "selection"]
