"""What a leaderboard says of itself is true of it: families, tiers, intervals beside p, and what was refused."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard, PairRow, Winner, snapped_pairs
from evalstats.analysis.leaderboard.wording import leaderboard_sentences, models_table, pairs_table
from evalstats.document.text import to_text
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.schema.tables import frame_from_rows
from tests.analysis.builders import data_of, rows_of


def board(scores: np.ndarray) -> EvalData:
    parts: list[list[dict[str, object]]] = []
    for name, column in zip("abcdef", scores.T, strict=False):
        seen = np.flatnonzero(~np.isnan(column))
        parts.append(rows_of(name, column[seen].tolist(), items=[f"q{i:04d}" for i in seen]))
    return data_of(*parts)


def binary(n: int, shares: list[float]) -> np.ndarray:
    return (np.random.default_rng(7).random((n, len(shares))) < np.array(shares)).astype(float)


@pytest.fixture(scope="module")
def in_parts() -> EvalData:
    """Four models; the first and the second share no item."""
    scores = binary(220, [0.8, 0.7, 0.5, 0.3])
    scores[:110, 0] = scores[110:, 1] = np.nan
    return board(scores)


def text_of(found: Leaderboard) -> str:
    return " ".join(to_text(found.blocks()).split())


def test_the_family_is_of_the_pairs_that_were_tested(in_parts: EvalData) -> None:
    found = leaderboard(in_parts)
    caption = pairs_table(found).caption or ""
    assert "hold for the family of 5 pairs" in caption
    assert "1 further pair was not compared" in caption
    assert "Next" in text_of(found)


def test_a_shared_tier_letter_may_be_of_models_not_compared(in_parts: EvalData) -> None:
    plain = models_table(leaderboard(board(binary(100, [0.8, 0.5])))).caption or ""
    assert plain.endswith("not separated")
    caption = models_table(leaderboard(in_parts, baseline="c")).caption or ""
    assert "are not separated, or not compared; tiers and ranks rest on all pairs, not only on those with c" in caption


def test_intervals_beside_a_false_discovery_rate_are_said_to_be_unadjusted(in_parts: EvalData) -> None:
    assert "the intervals beside are unadjusted" in (pairs_table(leaderboard(in_parts, adjust="by")).caption or "")
    assert "unadjusted" not in (pairs_table(leaderboard(in_parts)).caption or "")


def test_directions_are_protected_only_in_sets_that_protect_them(in_parts: EvalData) -> None:
    assert "the direction is protected too" in text_of(leaderboard(board(binary(100, [0.8, 0.7, 0.5]))))
    assert "the direction is protected too" not in text_of(leaderboard(in_parts))


def test_models_measured_differently_are_refused_with_the_way_out() -> None:
    data = board(binary(100, [0.8, 0.5]))
    runs = [{**row, "n_shots": n} for row, n in zip(data.runs.to_dicts(), (0, 5), strict=False)]
    if not runs:
        runs = [{"run": f"{m}-run", "model": m, "benchmark": "bench", "n_shots": n} for m, n in (("a", 0), ("b", 5))]
    data = replace(data, runs=frame_from_rows(runs, "runs"))
    with pytest.raises(CannotAnswerError, match=r"no two of the 2 models can be compared.*accept=\['n_shots'\]"):
        leaderboard(data)
    assert leaderboard(data, accept=["n_shots"]).best() == ("a",)


def test_a_plan_may_declare_an_adjustment_that_leaderboards_do_not_have() -> None:
    data = board(binary(100, [0.8, 0.5]))
    found = leaderboard(data, plan=Plan(source="evalstats.toml", adjust="bonferroni"))
    assert found.adjust == "holm"
    assert found.notes[0].startswith('adjust = "bonferroni" in evalstats.toml is answered by Holm')
    none = Plan(source="evalstats.toml", adjust="none")
    with pytest.raises(InputError, match=r'adjust = "none" in evalstats.toml does not fit a leaderboard'):
        leaderboard(data, plan=none)
    assert leaderboard(data, plan=none, adjust="bh").adjust == "bh"


def test_a_baseline_that_nobody_is_compared_with_is_a_warning() -> None:
    scores = binary(100, [0.8, 0.5, 0.3])
    scores[:50, 0] = scores[50:, 1:] = np.nan
    found = leaderboard(board(scores), baseline="a")
    assert "no model is compared with the baseline a (0 shared items; at least 10 are needed)" in found.warnings


def test_p_and_interval_may_part_in_a_family_and_the_explanation_says_so() -> None:
    data = board(binary(100, [0.8, 0.7, 0.5]))
    for adjust, told in (("max-t", "though its simultaneous interval includes 0"), ("bh", "intervals are unadjusted")):
        text = " ".join(leaderboard(data, adjust=adjust).explain().split())  # pyright: ignore[reportArgumentType]
        assert "never contradict" not in text
        assert told in text


def test_a_correction_of_nothing_is_called_nil() -> None:
    found = leaderboard(board(binary(300, [0.8, 0.3])))
    winner = Winner(
        name="a", estimate=0.8, conf_level=0.95, method="conditional", corrected=0.8, conf_low=0.7, conf_high=0.9
    )
    told = replace(found, winner=winner)
    assert any("the correction for that is nil" in text for text in leaderboard_sentences(told))
    assert "the correction for that is nil" in " ".join(told.explain().split())
    near = replace(found, winner=replace(winner, method="simultaneous (projection): the lead is too narrow"))
    assert not any("is nil" in text for text in leaderboard_sentences(near))


def test_one_separated_pair_is_called_the_one() -> None:
    scores = binary(200, [0.9, 0.5])
    scores[:120, 0] = np.nan
    found = leaderboard(board(scores))
    assert any(text.startswith("the one separated pair could turn round") for text in found.warnings)


def test_ends_that_are_0_but_for_rounding_are_0() -> None:
    pair = PairRow(first="a", second="b", estimate=0.1, conf_low=1.6e-10, conf_high=0.2)
    assert snapped_pairs([pair], 1.0)[0].conf_low == 0
    assert snapped_pairs([pair], None) == (pair,)
    assert snapped_pairs([replace(pair, conf_low=1e-6)], 1.0)[0].conf_low == 1e-6
