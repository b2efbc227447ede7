"""What missing scores allow to be claimed: nothing that they could undo, unless few are missing or the reason is harmless."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.analysis.compare.gate import gate
from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import tango_margin_test
from evalstats.testing import assert_not_worse
from tests.analysis.builders import data_of, rows_of, told

N = 200
OLD = [1.0] * 110 + [0.0] * 90


def data(lost: int, *, gained: int = 20, dropped: int = 5, worse: bool = False, status: str = "error") -> EvalData:
    """The new side gains some items and loses a few; `lost` scores of it are missing, all of items that the old got right."""
    new = [None] * lost + [1.0] * (110 - lost - dropped) + [0.0] * dropped + [1.0] * gained + [0.0] * (90 - gained)
    sides = (rows_of("old", OLD), rows_of("new", new, status=status))
    return data_of(*(sides if not worse else (rows_of("new", OLD), rows_of("old", new, status=status))), kind="binary")


def test_above_five_percent_no_direction_is_claimed_that_the_missing_scores_could_undo() -> None:
    result = es.compare(data(11), "old", "new")
    assert result.missing.share_candidate == pytest.approx(11 / N)
    assert result.missing.share_baseline == 0
    assert (result.verdict, result.missing.withheld) == ("inconclusive", "better")
    assert "5.5% of the scores of new are harness errors and dropped" in result.verdict_reason
    assert any("missing='ignorable'" in action for action in result.document().actions)


def test_up_to_five_percent_the_first_line_says_so() -> None:
    result = es.compare(data(10), "old", "new")
    assert result.verdict == "better"
    (note,) = result.qualifiers
    assert note.text == (
        "5% of the scores of new are harness errors and dropped, and with every missing score at the lowest value the "
        "interval includes 0"
    )
    assert "missing scores could undo it" in result.document().headline
    assert sum("harness errors" in note.text for note in result.document().notes) == 1


def test_errors_and_other_missing_scores_are_told_apart() -> None:
    result = es.compare(data(10, status="unscored"), "old", "new")
    assert "5% of the scores of new are missing" in result.qualifiers[0].text
    assert not any("harness errors" in note.text for note in result.document().notes)


def test_what_the_missing_scores_cannot_undo_is_claimed_without_a_word() -> None:
    result = es.compare(data(12, gained=60), "old", "new")
    assert (result.verdict, result.qualifiers, result.missing.withheld) == ("better", (), None)


@pytest.mark.parametrize("given", [{"missing": "ignorable"}, {"plan": Plan(missing="ignorable")}])
def test_a_harmless_reason_is_declared(given: dict[str, object]) -> None:
    result = es.compare(data(30), "old", "new", **given)
    assert (result.verdict, result.qualifiers, result.missing.ignorable) == ("better", (), True)
    assert any(
        "of new), declared to have nothing to do with the answers" in note.text for note in result.notes if note.caution
    )
    assert "declared to be missing for a reason that has nothing to do with the answers" in result.missing.explanation
    assert result.missing.rows  # how far it could move the answer stands there all the same


def test_a_plan_is_departed_from() -> None:
    result = es.compare(data(30), "old", "new", plan=Plan(missing="bounded"), missing="ignorable")
    assert "Departs from the plan: missing ignorable given, bounded declared" in told(result)


def test_there_are_two_words() -> None:
    with pytest.raises(InputError, match="missing is 'random'; it must be one of bounded, ignorable"):
        Plan(missing="random")


def test_absent_unscored_and_error_are_missing_alike() -> None:
    absent = data(20).outcomes.filter(data(20).outcomes["score"].is_not_null())
    whole = data(20)
    tables = [data(20).outcomes, data(20, status="unscored").outcomes, absent]
    results = [
        es.compare(EvalData(outcomes=table, runs=whole.runs, metrics=whole.metrics), "old", "new") for table in tables
    ]
    assert {result.missing.share_candidate for result in results} == {0.1}
    assert {result.verdict for result in results} == {"inconclusive"}


def test_an_item_with_half_of_its_trials_is_half_missing() -> None:
    old = rows_of("old", [1.0, 0.0] * 50, trials=2)
    new = rows_of("new", [1.0, None] * 20 + [1.0, 1.0] * 30, trials=2)
    account = es.compare(data_of(old, new), "old", "new").missing
    assert account.share_candidate == pytest.approx(20 / 50 / 2)


def trials(lost: float, *, absent: bool, seed: int) -> EvalData:
    """Two models that succeed alike, five trials an item; a share of the second's failures is missing."""
    rng = np.random.default_rng(seed)
    rate = rng.beta(2, 1.5, 50)[:, None]
    old, new = ((rng.random((50, 5)) < rate).astype(float) for _ in range(2))
    gone = (new == 0) & (rng.random((50, 5)) < lost)
    gone[:, 0] = False  # an item without any trial is another matter
    scores = [None if empty else score for score, empty in zip(new.ravel().tolist(), gone.ravel(), strict=True)]
    lines = rows_of("new", scores, trials=5)
    return data_of(
        rows_of("old", old.ravel().tolist(), trials=5), [r for r in lines if r["score"] is not None or not absent]
    )


@pytest.mark.parametrize("seed", range(3))
def test_trials_without_a_row_are_missing_as_empty_ones_are(seed: int) -> None:
    absent, empty = (es.compare(trials(0.5, absent=each, seed=seed), "old", "new") for each in (True, False))
    assert absent.missing.share_candidate == empty.missing.share_candidate > 0.1
    assert absent.missing.rows == empty.missing.rows
    assert absent.verdict == empty.verdict
    boards = [es.leaderboard(trials(0.5, absent=each, seed=seed)) for each in (True, False)]
    assert [board.row("new").share_missing for board in boards] == [absent.missing.share_candidate] * 2
    rivals = ("old",) if boards[0].best() == ("new",) and absent.verdict != "better" else ()
    assert [board.best_if_missing for board in boards] == [rivals] * 2


def test_a_harness_that_drops_failed_trials_makes_no_model_better() -> None:
    """Of 24 pairs of equal models at most two may be called better by chance (binomial, 2.5%: 97.9%); it were a quarter."""
    found = [es.compare(trials(0.5, absent=True, seed=seed), "old", "new").verdict for seed in range(100, 124)]
    assert found.count("better") <= 2


def uneven(few: int, *, lost: int) -> EvalData:
    """Five trials of an item, one of the last `few`; the new side, which is right more often, lost trials of the first items."""
    rng = np.random.default_rng(3)
    meant = np.where(np.arange(80) < 80 - few, 5, 1)
    sides = [[(i, t, float(rng.random() < rate)) for i in range(80) for t in range(meant[i])] for rate in (0.5, 0.75)]
    sides[1] = [cell for cell in sides[1] if cell[0] >= lost or cell[1] != 4]
    rows = [
        row | {"item": f"i{i}", "trial": t}
        for side, cells in zip(("old", "new"), sides, strict=True)
        for (i, t, _), row in zip(cells, rows_of(side, [score for *_, score in cells]), strict=True)
    ]
    return data_of(rows)


def test_items_that_were_given_fewer_trials_are_whole() -> None:
    """A third of the items has one trial of both models: nobody lost 16% of anything."""
    found = es.compare(uneven(30, lost=0), "old", "new")
    assert (found.verdict, found.missing.share_baseline, found.missing.share_candidate) == ("better", 0.0, 0.0)
    assert es.leaderboard(uneven(30, lost=0)).best_if_missing == ()
    # And three trials that one model lost are missing beside them.
    assert es.compare(uneven(30, lost=3), "old", "new").missing.share_candidate == pytest.approx(3 / 5 / 80)


def test_trials_that_one_model_lost_are_missing_whatever_others_lost() -> None:
    assert es.compare(uneven(0, lost=20), "old", "new").missing.share_candidate == pytest.approx(20 / 5 / 80)


def test_ratings_without_bounds_are_told_how_to_declare_them() -> None:
    table = pl.DataFrame(
        {"who": range(140), "before": [2, 3, 3, 4] * 35, "after": [None] * 9 + [3, 4, 4, 5, 4] * 26 + [5]}
    )
    found = es.compare(es.from_frame(table, item="who", models=["before", "after"]), "before", "after")
    assert found.missing.withheld == "better"
    [note] = [note for note in found.document().notes if "bounds" in note.text]
    assert note.line.endswith("as ratings do: scale='1..5'.")
    rated = es.from_frame(table, item="who", models=["before", "after"], scale="1..5")
    assert es.compare(rated, "before", "after").verdict == "better"


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_nothing_bounds_what_is_missing_of_costs(scale: float) -> None:
    """Runs that take longest are those that are cut off, and a unit does not make that better or worse."""
    old = [scale * (20 + i % 5) for i in range(60)]
    new: list[float | None] = [None] * 12 + [scale * (10 + i % 4) for i in range(12, 60)]
    data = data_of(rows_of("old", old), rows_of("new", new), kind="continuous", low=0.0, higher_is_better=False)
    found = es.compare(data, "old", "new", margin=3 * scale)
    assert (found.verdict, found.missing.withheld) == ("inconclusive", "better")
    assert (found.missing.open_below, found.missing.open_above) == (False, True)
    assert "no bound that limits what they could be" in found.verdict_reason
    assert not gate(found, "not-noninferior").passed
    assert es.leaderboard(data).best_if_missing == ("old",)
    # Costs end at 0, so a candidate that is dearer on what there is may be called so where its missing runs cost nothing.
    dear = [None] * 6 + [scale * (90 + i % 4) for i in range(6, 60)]
    turned = data_of(rows_of("old", old), rows_of("new", dear), kind="continuous", low=0.0, higher_is_better=False)
    assert es.compare(turned, "old", "new").verdict == "worse"


def test_a_worse_candidate_that_also_lost_scores_passes_no_gate() -> None:
    found = es.compare(data(30, worse=True), "old", "new")
    assert (found.verdict, found.missing.withheld) == ("inconclusive", "worse")
    assert not gate(found, "worse").passed
    with pytest.raises(AssertionError, match="worse on the items that both have"):
        assert_not_worse(data(30, worse=True), "old", "new")


def pair(new: list[float | None]) -> EvalData:
    return data_of(rows_of("old", [1.0] * 100 + [0.0] * 100), rows_of("new", new, status="error"), kind="binary")


@pytest.mark.parametrize(("lost", "passes"), [(0, True), (10, True), (11, False)])
def test_a_margin_is_held_against_the_limit_with_what_is_missing_at_its_worst(lost: int, passes: bool) -> None:
    """The candidate gains 16 and loses 8; up to 5% missing the worst estimate decides, above the limit around it."""
    new = [None] * lost + [1.0] * (92 - lost) + [0.0] * 8 + [1.0] * 16 + [0.0] * 84
    found = es.compare(pair(new), "old", "new", margin="5pp")
    assert gate(found, "not-noninferior").passed is passes
    assert found.at_margin is not None
    if not passes:
        worst = tango_margin_test(PairedCounts(92 - lost, 16, 8 + lost, 84), margin=0.05).low_one_sided
        assert found.missing.least == pytest.approx(worst)
        assert (
            f"the lower limit of the difference on all items would be −{-100 * worst:.2f} pp" in found.at_margin.reason
        )
    assert gate(es.compare(pair(new), "old", "new", margin="5pp", missing="ignorable"), "not-noninferior").passed


def test_scores_that_are_missing_may_forbid_equivalence_by_a_gain_alone() -> None:
    new = [1.0] * 98 + [0.0] * 2 + [1.0] * 3 + [None] * 12 + [0.0] * 85
    found = es.compare(pair(new), "old", "new", margin="5pp")
    assert gate(found, "not-noninferior").passed
    assert found.verdict == "inconclusive"
    assert "with the missing scores for the candidate the upper limit" in found.verdict_reason
    assert es.compare(pair(new), "old", "new", margin="5pp", missing="ignorable").verdict == "equivalent"


def test_scores_without_bounds_are_bounded_by_those_seen() -> None:
    old = rows_of("old", [5.0 + (i % 7) for i in range(60)])
    new = rows_of("new", [None] * 12 + [5.4 + (i % 7) + 0.1 * (i % 3) for i in range(12, 60)])
    result = es.compare(data_of(old, new), "old", "new")
    seen = [5.4 + (i % 7) + 0.1 * (i % 3) for i in range(12, 60)]
    lowest = next(row for row in result.missing.rows if row.note.startswith("missing scores against the candidate"))
    assert lowest.estimate == pytest.approx((sum(seen) + 12 * 5.0 - sum(5.0 + (i % 7) for i in range(60))) / 60)
    assert (result.verdict, result.missing.withheld) == ("inconclusive", "better")
    assert "the lowest and the highest score seen stand for them" in result.missing.explanation


def test_a_level_is_judged_by_what_is_missing_in_it() -> None:
    part = {"part": ["first"] * 110 + ["second"] * 90}
    new = [None] * 20 + [1.0] * 40 + [0.0] * 50 + [1.0] * 40 + [0.0] * 50
    sides = (rows_of("old", [0.0] * 200, factors=part), rows_of("new", new, factors=part))
    old = rows_of("old", [1.0] * 20 + [0.0] * 20 + [1.0] * 25 + [0.0] * 135, factors=part)
    first, second = es.compare(data_of(old, sides[1], kind="binary"), "old", "new", by="part").groups
    assert (second.verdict, second.withheld, second.qualifiers) == ("better", None, ())
    assert (first.verdict, first.withheld) != ("better", None)


def test_while_a_run_is_watched_what_is_not_finished_is_not_missing() -> None:
    """Half of the items are not there yet; of the others two ended in an error."""
    old = rows_of("old", [0.0] * 40 + [1.0] * 60)
    new = rows_of("new", [1.0] * 48 + [None, None], status="error")
    result = es.compare(data_of(old, new), "old", "new", sequential=True)
    assert result.missing.share_candidate == pytest.approx(2 / 50)


def test_the_best_of_a_leaderboard_is_open_where_missing_scores_could_turn_it_round() -> None:
    third = rows_of("third", [0.0] * N)
    many, few = (
        data_of(rows_of("old", OLD), rows_of("new", [None] * lost + [1.0] * (170 - lost) + [0.0] * 30), third)
        for lost in (100, 9)
    )
    board = es.leaderboard(many)
    assert board.best() == ("new",)
    assert board.best_if_missing == ("old",)
    assert board.missing_share == pytest.approx(0.5)
    first = board.document()
    assert first.label == "best open"
    assert "50% of a model's scores are missing: old could be ahead" in first.headline
    declared = es.leaderboard(many, missing="ignorable")
    assert any("no verdict is withheld for them" in note.text for note in declared.notes if note.caution)
    assert declared.best_if_missing == ()
    assert declared.document().label == "one best"
    assert es.leaderboard(many, plan=Plan(missing="ignorable")).best_if_missing == ()
    assert es.leaderboard(few).best_if_missing == ()


def test_the_shell_takes_it(tmp_path: Path) -> None:
    scores = {"old": OLD, "new": [None] * 30 + [1.0] * 75 + [0.0] * 5 + [1.0] * 30 + [0.0] * 60}
    rows = [{"model": m, "item": i, "score": s} for m, side in scores.items() for i, s in enumerate(side)]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = ["compare", str(tmp_path / "r.jsonl"), "--baseline", "old", "--candidate", "new"]
    assert CliRunner().invoke(app, asked).stdout.count("INCONCLUSIVE") == 1
    assert CliRunner().invoke(app, [*asked, "--missing", "ignorable"]).stdout.count("BETTER") == 1


def test_a_page_computes_no_claim_that_missing_scores_or_an_open_direction_forbid() -> None:
    def counts(given: EvalData, **options: Any) -> tuple[int, ...]:
        interval = es.compare(given, "old", "new", **options).document().interval
        assert interval is not None
        return interval.counts

    assert counts(data(0), margin=0.1) == (N, 20, 5)
    assert counts(data(2), margin=0.1) == counts(data(2)) == ()
    assert counts(data(2), margin=0.1, missing="ignorable") == (N - 2, 20, 5)
    for last, known in ((0.0, (100, N, 110, N)), (None, ())):
        users = rows_of("new", [*[1.0] * 100, *[0.0] * 99, last], items=[f"u{i}" for i in range(N)])
        assert counts(data_of(rows_of("old", OLD), users, kind="binary"), paired=False, margin=0.1) == known
    assert counts(data(0), sequential=True) == ()
    # Two runs that are one: Python says that a difference of 0 is no evidence for equivalence.
    assert counts(data_of(rows_of("old", OLD), rows_of("new", OLD), kind="binary")) == ()
    columns = {"item": "item", "model": "model"}
    rows = data(0).outcomes.select("item", "model", open_to_question="score")
    for name, known in (("open_to_question", (N, 20, 5)), ("jailbroken", ())):
        table = rows.rename({"open_to_question": name})
        assert counts(es.from_frame(table, **columns, score=name), margin=0.1) == known


@pytest.mark.parametrize("limit", [None, 100, 120])
def test_items_that_a_run_with_a_limit_was_never_asked_are_not_missing(limit: int | None) -> None:
    whole = data_of(rows_of("old", OLD), rows_of("new", [1.0] * 95 + [0.0] * 5), kind="binary")
    runs = whole.runs.with_columns(
        item_limit=pl.when(pl.col("run").str.contains("new")).then(pl.lit(limit)).cast(pl.Int64)
    )
    limited = dataclasses.replace(whole, runs=runs)
    found, board = es.compare(limited, "old", "new"), es.leaderboard(limited)
    reached = limit == 100
    assert found.missing.share_candidate == (0.0 if reached else 0.5)
    assert found.n_items == 100
    assert ("not asked of new" in str(told(found))) == reached
    assert {row.name: row.share_missing for row in board.rows}["new"] == (0.0 if reached else 0.5)
    claim = es.score(limited, "new", against=0.8).against
    assert claim.verdict == ("above" if reached else "not shown to differ")
