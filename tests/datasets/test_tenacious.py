"""The shipped figures of Tenacious-Bench's three runs: against the published accuracies and the files they were taken from."""

from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from dev.tenacious_files import read_tenacious, to_csv
from evalstats.datasets.tables import tenacious_counts
from evalstats.datasets.tenacious import load_tenacious, outcome_of
from evalstats.errors import InputError


def shipped(name: str) -> str:
    return files("evalstats.datasets").joinpath(name).read_text(encoding="utf-8")


def test_the_files_are_written_back_as_they_stand() -> None:
    for name, text in to_csv(load_tenacious()).items():
        assert shipped(name) == text


def test_they_are_what_the_published_files_give(shared_data: Path) -> None:
    read = read_tenacious(shared_data / "tenacious")
    assert read.origin == "the published files"
    assert to_csv(read) == to_csv(load_tenacious())


def test_no_text_of_the_source_is_carried() -> None:
    """Beside numbers there are only names: of dimensions, outcomes, facts, commits."""
    for name in to_csv(load_tenacious()):
        rows = [line for line in shipped(name).splitlines() if not line.startswith("#")]
        assert all(len(cell.split()) == 1 for row in rows for cell in row.split(","))


def test_published_accuracies_are_shares_of_right_pairs() -> None:
    for run in load_tenacious().runs:
        for critic in ("baseline", "trained"):
            right = sum(getattr(pair, critic) == "right" for pair in run.pairs)
            assert round(right / len(run.pairs), 4) == getattr(run, f"{critic}_accuracy")
        assert run.gain == pytest.approx(100 * (run.trained_accuracy - run.baseline_accuracy), abs=0.011)


def test_the_last_run_has_the_counts_that_ship_as_the_held_out_set() -> None:
    """Two files hold the same 43 pairs; they were made apart."""
    found = Counter(
        (pair.dimension, pair.baseline == "right", pair.trained == "right") for pair in load_tenacious().last.pairs
    )
    expected = Counter({(each.dimension, True, True): each.both_right for each in tenacious_counts()})
    expected.update({(each.dimension, False, True): each.only_trained for each in tenacious_counts()})
    assert found == +expected


def test_equal_rows_are_of_one_dimension_and_one_outcome() -> None:
    for run, n in zip(load_tenacious().runs, (33, 35, 25), strict=True):
        assert len(run.distinct()) == n
        assert len({(pair.scores, pair.dimension, pair.baseline, pair.trained) for pair in run.pairs}) == n
        assert [pair.scores for pair in run.distinct()] == sorted({pair.scores for pair in run.pairs})


def test_a_tie_is_wrong_in_one_metric_and_half_right_in_the_other() -> None:
    run = load_tenacious().last
    pair = replace(run.pairs[0], baseline="tie", trained="wrong")
    scores = run.to_data([pair]).outcomes.sort("model", "metric").select("model", "metric", "score").rows()
    assert scores == [
        ("baseline", "correct", 0.0),
        ("baseline", "half_credit", 0.5),
        ("trained", "correct", 0.0),
        ("trained", "half_credit", 0.0),
    ]


def test_an_unknown_outcome_is_refused() -> None:
    with pytest.raises(InputError, match="'draw' is no outcome of a pair; expected right, tie, wrong"):
        outcome_of("draw")
