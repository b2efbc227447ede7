"""Notes of runs: whose they are, and once."""

from dataclasses import replace

import polars as pl

from evalstats.analysis.compare.result import Comparison
from evalstats.report.comparison import open_page
from evalstats.report.notes import with_attributed_notes


def noted(*notes: tuple[str, str | None], baseline: tuple[str, ...] = ("a",)) -> tuple[str, ...]:
    """Return what stands on the page for runs with these notes; those of `baseline` are its, the rest the candidate's."""
    plain = open_page().comparison
    others = tuple(run for run, _ in notes if run not in baseline)
    result: Comparison = replace(
        plain,
        baseline=replace(plain.baseline, runs=baseline),
        candidate=replace(plain.candidate, runs=others),
        notes=("clusters were declared", *sorted({note for _, note in notes if note})),
    )
    runs = pl.DataFrame(notes, schema={"run": pl.String, "note": pl.String}, orient="row")
    return with_attributed_notes(result, runs).notes


def test_a_note_of_all_stands_once_and_alone() -> None:
    assert noted(("a", "27 of its 27 errors"), ("b", "27 of its 27 errors")) == (
        "clusters were declared",
        "27 of its 27 errors",
    )


def test_different_notes_begin_with_the_side() -> None:
    # In the order of the text of the notes.
    assert noted(("a", "27 of its errors"), ("b", "3 of its errors"))[1:] == (
        "baseline: 27 of its errors",
        "trained: 3 of its errors",
    )


def test_a_note_of_one_side_is_its() -> None:
    assert noted(("a", None), ("b", "cut short"))[1:] == ("trained: cut short",)


def test_a_note_of_some_runs_names_them() -> None:
    assert noted(("a", "cut"), ("b", "cut"), ("c", None), ("d", "cut"), baseline=("a", "b"))[1:] == ("a, b, d: cut",)


def test_a_note_that_says_simulated_stands_at_the_top_alone() -> None:
    from evalstats.report import method, opening

    page = open_page()
    said = replace(page, comparison=replace(page.comparison, notes=("simulated by us", "another")))
    assert "Simulated by us" in opening.simulated(said)
    assert "Simulated by us" not in method.notes(said)
    assert "Another" in method.notes(said)
