"""The shipped counts behind published claims: they give the numbers that were stated, and what the study says of them."""

from importlib.resources import files

import pytest

from dev.published_claims import grouped, to_csv, two_points, zero_of_tau2
from evalstats.datasets.published_claims import load_published_claims

CLAIMS = load_published_claims()


def test_the_files_are_written_back_as_they_stand() -> None:
    sources = [claim.source for claim in CLAIMS.values()]
    counts = [row for claim in CLAIMS.values() for row in claim.counts]
    for name, text in to_csv(sources, counts).items():
        assert files("evalstats.datasets").joinpath(name).read_text(encoding="utf-8") == text


def mean(claim: str, model: str, metric: str) -> float:
    scores = CLAIMS[claim].to_data().outcomes.filter(model=model, metric=metric)["score"]
    return float(scores.to_numpy().mean())


def test_counts_give_what_was_stated_of_them() -> None:
    """Where the sources contradict themselves (a score of zero, two points), no count can."""
    for name, metric in (("score-or-pass", "score"), ("three-rates", "score"), ("against-nothing", "passed")):
        stated = CLAIMS[name].source.estimate
        assert mean(name, "candidate", metric) - mean(name, "baseline", metric) == pytest.approx(stated, abs=5e-5)
    assert mean("tau2-baseline", "candidate", "passed") == pytest.approx(0.7267, abs=5e-5)
    assert mean("zero-of-tau2", "candidate", "passed") == pytest.approx(77 / 150)
    assert [CLAIMS[name].n_tasks for name in CLAIMS] == [30, 30, 50, 20, 3, 61]


def test_every_source_is_named_with_commit_and_licence() -> None:
    for claim in CLAIMS.values():
        source = claim.source
        assert (source.repository.partition("/")[0], len(source.commit)) == ("github.com", 7)
        assert source.file.endswith(".json")
        assert source.licence in ("MIT", "CC BY 4.0", "none found")


def test_runs_in_files_of_their_own_become_trials() -> None:
    """Tasks with equal results are one row."""
    run = '{"simulations": [{"task_id": "7", "reward_info": {"reward": 1.0}}, {"task_id": "8", "reward_info": {"reward": 1.0}}]}'
    (row,) = grouped(zero_of_tau2(lambda _: run))
    assert (row.tasks, row.baseline, row.candidate) == (2, "", "11111")


def test_trials_are_taken_by_their_number_and_other_conditions_left() -> None:
    line = '{{"task_id": "t", "condition": "{}", "trial": {}, "pass": {}}}'
    text = "\n".join(
        line.format(*given)
        for given in (("baseline", 2, 0), ("baseline", 1, 1), ("your_method", 1, 1), ("soft_warning", 1, 0))
    )
    (row,) = two_points(lambda _: text)
    assert (row.baseline, row.candidate) == ("10", "1")
