"""What is said of a leaderboard is true of it: who could be best, families, tiers, what was refused, names as text."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.leaderboard.figures import short_letters
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.result import Leaderboard, PairRow, TopScore, snapped_pairs
from evalstats.document.terminal import headline
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.schema.tables import frame_from_rows
from evalstats.stats.many.multiplicity import compact_letters
from tests.analysis.builders import data_of, printed, rows_of, told
from tests.plots import boards


def board(scores: np.ndarray) -> EvalData:
    return boards.data_from(scores, tuple("abcdefghijklmnopqrstuvwxyz"[: scores.shape[1]]))


def binary(n: int, shares: list[float]) -> np.ndarray:
    return (np.random.default_rng(7).random((n, len(shares))) < np.array(shares)).astype(float)


@pytest.fixture(scope="module")
def in_parts() -> EvalData:
    """Four models; the first and the second share no item."""
    scores = binary(220, [0.8, 0.7, 0.5, 0.3])
    scores[:110, 0] = scores[110:, 1] = np.nan
    return board(scores)


# --- the answer ----------------------------------------------------------------------------------------------------


def test_who_could_be_best_is_said_once() -> None:
    found = boards.plain()
    document, n = found.document(), len(found.best())
    assert document.headline.startswith(f"{n} of 4 models could be best; {found.rows[0].name} leads")
    assert printed(found, full=False).count("could be best") == 1
    assert document.number_words.startswith(f"{found.rows[0].name}, 95% CI ")
    assert len(headline(document).splitlines()) == 1


def test_one_best_is_named_with_its_score() -> None:
    document = leaderboard(board(binary(300, [0.9, 0.5, 0.4]))).document()
    assert (document.label, document.tone) == ("one best", "good")
    assert document.headline == "a is better than each of the other 2 models"
    assert document.number_words.startswith("a, 95% CI ")


@pytest.mark.parametrize(
    ("kind", "baseline"), [("right or wrong", None), ("right or wrong", "b"), ("graded", "a"), ("clustered", "b")]
)
def test_a_board_of_two_says_what_the_comparison_says(kind: str, baseline: str | None) -> None:
    rng = np.random.default_rng(3)
    values = binary(96, [0.9, 0.5]) if kind != "graded" else rng.normal([0.62, 0.6], 0.04, (96, 2)).clip(0, 1)
    passages = {"passage": [f"p{i // 8}" for i in range(96)]}
    data = data_of(*(rows_of(name, values[:, j].tolist(), factors=passages) for j, name in enumerate("ab")))
    cluster = "passage" if kind == "clustered" else "none"
    one, board_of_two = compare(data, "b", "a", cluster=cluster), leaderboard(data, cluster=cluster, baseline=baseline)
    said, document = board_of_two.document(), one.document()
    assert said.number == document.number
    assert said.number_words == document.number_words


def test_each_thing_is_told_once_and_of_columns_that_are_there() -> None:
    alike = leaderboard(board(binary(300, [0.5, 0.5, 0.5])))
    assert printed(alike, full=True).count("Cochran's Q over all models") == 1
    apart = leaderboard(board(binary(300, [0.9, 0.5, 0.4])))
    assert printed(apart, full=True).count("Cochran's Q over all models") == 1
    assert "Shrunken: " in apart.document().tables["further"].caption
    rows = tuple(replace(row, shrunken=None) for row in apart.rows)
    assert "Shrunken" not in replace(apart, rows=rows).document().tables["further"].caption


def test_no_rank_and_no_rank_over_all_are_said_with_the_way_out() -> None:
    apart = boards.parts().document()
    assert (apart.label, apart.number) == ("no overall rank", "")
    assert "common items" in " ".join(apart.actions)
    assert apart.section("comparability") is not None
    few = leaderboard(board(binary(20, [0.8, 0.5])), cluster="none")
    assert few.document().label in ("one best", "no clear winner")


def test_simulated_data_are_a_banner_and_a_name_is_none() -> None:
    scores = binary(60, [0.9, 0.4])
    plain = data_of(rows_of("x", scores[:, 0].tolist()), rows_of("y", scores[:, 1].tolist()), note="simulated: a name")
    assert leaderboard(plain).document().banners == ()
    made_up = replace(plain, runs=plain.runs.with_columns(simulated=pl.lit("by hand")))
    assert [note.kind for note in leaderboard(made_up).document().banners] == ["simulated"]
    named = data_of(rows_of("simulated: x", scores[:, 0].tolist()), rows_of("y", scores[:, 1].tolist()))
    assert leaderboard(named).document().banners == ()


def test_a_dependence_says_what_would_be_left() -> None:
    found = leaderboard(boards.grouped_data())
    other = found.these_items
    assert other is not None
    assert other.factor == "template"
    assert found.clusters == ("template",)
    assert other.n_kept <= other.n_separated
    section = found.document().section("dependence")
    assert section is not None
    assert section.heading == "Items of one template behave alike"
    clustered, independent = (leaderboard(boards.grouped_data(), cluster=name) for name in ("template", "none"))
    assert clustered.best() == found.best()
    assert independent.best() == other.best
    assert clustered.these_items is independent.these_items is None


# --- pairs, tiers, ranks -------------------------------------------------------------------------------------------


def test_every_pair_is_in_the_data_of_the_table() -> None:
    found = leaderboard(board(binary(100, [0.8, 0.7, 0.6, 0.5, 0.4, 0.3])))
    table = found.document().tables["pairs"]
    assert len(table.rows) == 5
    assert len(table.frame["first"]) == len(found.pairs) == 15


def test_a_shared_tier_letter_may_be_of_models_not_compared(in_parts: EvalData) -> None:
    assert leaderboard(board(binary(100, [0.8, 0.5]))).document().tables["models"].caption.endswith("not separated")
    assert leaderboard(in_parts).document().tables["models"].caption.endswith("not separated, or not compared")


@pytest.mark.parametrize(
    ("adjust", "words"),
    [("max-t", "even one separation is false is at most 5%"), ("by", "intervals are for each pair alone")],
)
def test_the_promise_of_an_adjustment_is_its_own(adjust: str, words: str) -> None:
    found = leaderboard(board(binary(100, [0.8, 0.7, 0.5])), adjust=adjust)  # pyright: ignore[reportArgumentType]
    assert words in " ".join(printed(found).split())
    assert "so p and interval never contradict" not in " ".join(found.explain().split())


def test_the_weakest_separation_and_the_nearest_miss_are_named() -> None:
    found = leaderboard(board(binary(120, [0.8, 0.7, 0.6, 0.5, 0.4, 0.3])))
    apart = [pair for pair in found.pairs if pair.separated]
    missed = [pair for pair in found.pairs if not pair.separated]
    weakest = max(apart, key=lambda pair: pair.p_adjusted or 0)
    nearest = min(missed, key=lambda pair: pair.p_adjusted or 1)
    text = " ".join(printed(found).split())
    assert f"The weakest of them: {weakest.first} against {weakest.second}" in text
    assert f"The nearest miss: {nearest.first} against {nearest.second}" in text


def test_a_board_without_a_difference_claims_none() -> None:
    rng = np.random.default_rng(3)
    found = leaderboard(board((rng.random((120, 3)) < 0.5).astype(float)))
    text = printed(found)
    assert "No rank is certain" in text
    assert "0 of 3 pairs are separated" in text
    assert "The weakest" not in text
    for wrong in ("None", "nan", "..", "—"):
        assert wrong not in text


def test_with_a_baseline_the_answer_says_who_beats_it(in_parts: EvalData) -> None:
    found = leaderboard(board(binary(300, [0.9, 0.5, 0.48, 0.1])), baseline="b")
    document = found.document()
    assert (document.title, document.label) == ("Which models are better than b on bench?", "1 of 3 better")
    assert document.headline == "a is better than b; d is worse"
    assert document.scope.endswith(f"b scores {100 * (found.row('b').estimate or 0):.1f}%")
    assert list(document.figures)[:2] == ["against-baseline", "ranks"]
    best = leaderboard(board(binary(300, [0.9, 0.5, 0.48])), baseline="a").document()
    assert (best.label, best.headline) == (
        "none of 2 better",
        "No model is shown to be better than a; c and b are worse",
    )
    assert leaderboard(in_parts, baseline="d").document().label == "3 of 3 better"


# --- the score at the top ------------------------------------------------------------------------------------------


def test_a_correction_of_nothing_is_no_news() -> None:
    found = leaderboard(board(binary(300, [0.8, 0.3])))
    winner = TopScore(
        name="a", estimate=0.8, conf_level=0.95, method="conditional", corrected=0.8, conf_low=0.7, conf_high=0.9
    )
    assert replace(found, winner=winner).document().section("winner") is None
    section = replace(found, winner=replace(winner, corrected=0.76)).document().section("winner")
    assert section is not None
    assert "Corrected for that, a scores 76.0% (95% CI 70.0 to 90.0) instead of 80.0%." in printed(
        replace(found, winner=replace(winner, corrected=0.76))
    ).replace("\n", " ")


# --- what is told -------------------------------------------------------------------------------------------------


def test_models_measured_differently_are_refused_with_the_way_out() -> None:
    data = board(binary(100, [0.8, 0.5]))
    runs = [{"run": f"{m}-run", "model": m, "benchmark": "bench", "n_shots": n} for m, n in (("a", 0), ("b", 5))]
    data = replace(data, runs=frame_from_rows(runs, "runs"))
    with pytest.raises(CannotAnswerError, match=r"no two of the 2 models can be compared.*accept=\['n_shots'\]"):
        leaderboard(data)
    assert leaderboard(data, accept=["n_shots"]).best() == ("a",)


def test_a_plan_may_declare_an_adjustment_that_leaderboards_do_not_have() -> None:
    data = board(binary(100, [0.8, 0.5]))
    found = leaderboard(data, plan=Plan(source="evalstats.toml", adjust="bonferroni"))
    assert found.adjust == "holm"
    assert any(text.startswith('adjust = "bonferroni" in evalstats.toml is answered by Holm') for text in told(found))
    none = Plan(source="evalstats.toml", adjust="none")
    with pytest.raises(InputError, match=r'adjust = "none" in evalstats.toml does not fit a leaderboard'):
        leaderboard(data, plan=none)
    assert leaderboard(data, plan=none, adjust="bh").adjust == "bh"


def test_a_baseline_that_nobody_is_compared_with_is_a_caution() -> None:
    scores = binary(100, [0.8, 0.5, 0.3])
    scores[:50, 0] = scores[50:, 1:] = np.nan
    found = leaderboard(board(scores), baseline="a")
    assert "no model is compared with the baseline a (0 shared items; at least 10 are needed)" in told(found)


def test_one_separated_pair_is_called_the_one() -> None:
    scores = binary(200, [0.9, 0.5])
    scores[:120, 0] = np.nan
    (note,) = [note for note in leaderboard(board(scores)).notes if note.kind == "missing"]
    assert note.caution
    assert note.text.endswith("reverse the one separated pair")


def test_ends_that_are_0_but_for_rounding_are_0() -> None:
    pair = PairRow(first="a", second="b", estimate=0.1, conf_low=1.6e-10, conf_high=0.2)
    assert snapped_pairs([pair], 1.0)[0].conf_low == 0
    assert snapped_pairs([pair], None) == (pair,)
    assert snapped_pairs([replace(pair, conf_low=1e-6)], 1.0)[0].conf_low == 1e-6


# --- every form of it ----------------------------------------------------------------------------------------------


def planned() -> Leaderboard:
    return boards.plain(plan=Plan(source="evalstats.toml", adjust="holm"), adjust="bh", baseline="south")


def test_code_of_the_answer_gives_the_answer_again() -> None:
    found = boards.plain(baseline="south", adjust="holm", conf_level=0.9)
    assert found.settings is not None
    assert boards.plain(**found.settings.options) == found
    assert "es.leaderboard(data, baseline='south', adjust='holm', conf_level=0.9)" in printed(found)


def test_hostile_names_stay_text_and_apart_in_every_form() -> None:
    found = boards.hostile(baseline=boards.HOSTILE_MODELS[0])
    assert "<script" not in found.to_html()
    assert "<i>" not in found.to_html()
    assert "$x$" not in found.to_latex()
    lines = printed(found, full=False).splitlines()
    assert all(len(line) <= 80 or line.rstrip(",") in boards.HOSTILE_MODELS for line in lines)
    assert len({line.split("  ")[0] for line in lines if line.endswith(("one", "two")) or "…" in line}) >= 2
    assert found.to_markdown().count("\n# heading") == 0


def test_tiers_of_many_models_are_shortened() -> None:
    """All pairs apart: as many letters as models, past z, Z and the first numbered alphabets."""
    n = 160
    letters = compact_letters(~np.eye(n, dtype=bool), range(n))
    assert len(set(letters)) == n
    assert short_letters("".join(letters)) == f"a-{letters[-1]}"
    assert [short_letters(letter) for letter in letters] == list(letters)


def test_scores_missing_for_one_reason_have_one_column() -> None:
    sides = (rows_of("a", [1.0] * 20 + [0.0] * 20), rows_of("b", [None] * 3 + [1.0] * 17 + [0.0] * 20, status="error"))

    def titles(*rows: list[dict[str, object]]) -> list[str]:
        table = leaderboard(data_of(*rows, kind="binary")).document().tables["missing"]
        return [column.title for column in table.without_empty_columns().columns][1:-2]

    assert titles(*sides) == ["Errors"]
    assert titles(sides[0], sides[1][:-1]) == ["Missing", "Errors"]
