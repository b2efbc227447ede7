"""A score as a gate: what fails, what passes, and what cannot be answered."""

import pytest

from evalstats.analysis.score.result import score_gate
from evalstats.analysis.score.score import score
from evalstats.errors import InputError
from tests.analysis.builders import data_of, rows_of
from tests.cli.running import run


def scores(n_right: int, n: int = 100, *, name: str = "a") -> list[dict[str, object]]:
    return rows_of(name, [1.0] * n_right + [0.0] * (n - n_right))


@pytest.mark.parametrize(
    ("n_right", "rule", "passed"),
    [
        (50, "worse", False),
        (80, "worse", True),
        (95, "worse", True),
        (50, "inconclusive", False),
        (80, "inconclusive", False),
        (95, "inconclusive", True),
    ],
)
def test_a_score_is_held_to_the_number_by_the_interval(n_right, rule, passed):
    assert score_gate(score(data_of(scores(n_right)), against=0.8), rule)[0] is passed


def test_of_a_cost_more_is_worse():
    found = score(data_of(scores(95)), against=0.8, higher_is_better=False)
    assert score_gate(found, "worse")[0] is False


def test_one_system_that_fails_is_a_failure():
    both = score(data_of(scores(50), scores(95, name="b")), against=0.8)
    passed, reason = score_gate(both, "worse")
    assert passed is False
    assert "a is worse" in reason
    assert "b" not in reason.split()


def test_few_items_give_no_answer():
    assert score_gate(score(data_of(scores(4, 5)), against=0.8), "worse")[0] is None


def test_missing_scores_do_not_hide_a_loss():
    found = score(data_of(rows_of("a", [1.0] * 40 + [0.0] * 40 + [None] * 20)), against=0.64)
    assert found.against.verdict == "not shown to differ"
    assert score_gate(found, "worse")[0] is False


def test_the_command_ends_with_the_status_of_the_gate(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("item,model,correct\n" + "".join(f"q{i},m,{int(i % 2)}\n" for i in range(100)))
    asked = ("score", path, "--against", "0.8", "--fail-on", "worse")
    assert run(*asked).exit_code == 1
    assert run("score", path, "--against", "0.5", "--fail-on", "worse").exit_code == 0
    with pytest.raises(InputError, match="against"):
        run("score", path, "--fail-on", "worse")
