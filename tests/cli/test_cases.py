"""Reported situations, each with the right answer: what is typed, what must be said, and what must not."""

import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.typed import typed


@dataclass(frozen=True)
class Case:
    """A command, its exit status, what its answer must hold and what it must not; the blanks of lines do not count."""

    command: str
    status: int
    says: tuple[str, ...]
    never: tuple[str, ...] = ()


CASES = (
    Case("compare 02/subjects.csv --baseline A --candidate B", 0, ("+6.7", "−12.7", "macro")),
    Case("audit 02/subjects.csv", 0, ("macro", "−12.7"), ("HOLDS",)),
    Case(
        "leaderboard 03/subset_missing.csv",
        0,
        ("full is ahead on the 120 items that they share", "+4.2 pp, 95% CI −6.2 to 14.5, p = 0.42"),
        ("partial leads", "partial is best"),
    ),
    Case(
        "leaderboard 03/full.csv 03/dropper.csv",
        0,
        ("full is ahead on the 30 items that they share", "+0.007"),
        ("dropper leads", "dropper is best"),
    ),
    Case("leaderboard 03/tiers.csv", 0, ("full 70.0 61.3 to 77.5 1 a", "2 b", "3 c")),
    Case("compare 05/spaces.csv --baseline gpt-x --candidate gpt-y", 0, ("gpt-y is not shown to differ from gpt-x",)),
    Case("leaderboard 06/by_id.json", 2, ("--map model=response_model_name --map judge=eval_model_name",), ("model=eval",)),
    Case("compare 07/m_a 07/m_b", 0, ("+4.0 pp, 95% CI −12.2 to 19.8",)),
    Case("leaderboard 11/summary.csv", 3, ("3 metrics (accuracy, humaneval_pass@1", "none of them with a standard error")),
    Case("arena 14/votes.csv --prior 0.5", 0, ("142 to 670 4", "5 of 6 pairs are separated"), ("1–4",)),
    Case(
        "compare 15/full.csv 15/dropper.csv --fail-on not-noninferior --margin 0.05", 1, ("within 0.05",), ("within 0.1",)
    ),
    Case("compare 16/prompts.csv --baseline old --candidate new", 0, ("item=scenario_id", "model=prompt")),
    Case("leaderboard 16/prompts.csv", 0, ("item=scenario_id --map score=passed --map model=prompt --map trial=run",)),
    Case("leaderboard 17/scores.tsv", 0, ("item=seg_id --map score=mqm_avg_score --map model=system", "parted by blanks")),
    Case("arena 18/pairs.csv", 2, ("model_a=model_a --map model_b=model_b --map 'winner=score_a>score_b'",)),
    Case(
        "compare 19/ab.csv --map item=user_id --map model=group --map score=converted --baseline control "
        "--candidate treatment",
        0,
        ("treatment is better than control, on different users", "on 303 against 297 users"),
    ),
    Case("score 21/garak.x.report.jsonl", 0, ("of garak",), ("may fit",)),
    Case("leaderboard 22/m_8b_Bench_acc.csv 22/m_13b_Bench_acc.csv --metric accuracy", 2, ("published numbers of 'accuracy'",)),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[case.command[:60] for case in CASES])
def test_reported_situations_have_the_right_answer(shared: Path, case: Case) -> None:
    folder = shared / "cases"
    if not folder.is_dir():
        pytest.skip("the reported situations are not here")
    answer = typed(*shlex.split(case.command), folder=folder)
    said = " ".join((answer.stdout + " " + answer.stderr).split())
    assert answer.returncode == case.status, said
    assert [words for words in case.says if words not in said] == [], said
    assert [words for words in case.never if words in said] == [], said
