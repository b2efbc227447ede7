"""`evalstats run`: when it stops, what it keeps, how it goes on, and what it refuses."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

import evalstats as es
from evalstats.cli.run import JOURNAL, Asker, Limits, command_asker, drive, read_items
from evalstats.errors import InputError
from tests.typed import typed

ITEMS = {f"q{i}": {"id": f"q{i}"} for i in range(300)}
SETTINGS = {"baseline": "old", "candidate": "new"}


def model(rate: float, seed: int = 0, fails: float = 0.0) -> Asker:
    """A model of known truth: right with a probability, failing with another."""

    def ask(item: dict[str, Any]) -> dict[str, Any]:
        chance = random.Random(f"{seed}/{rate}/{item['id']}")  # noqa: S311 - draws, and no secrets
        if chance.random() < fails:
            return {"error": "overloaded"}
        return {"score": float(chance.random() < rate)}

    return ask


def test_it_stops_when_the_difference_is_decided_and_keeps_what_was_answered(tmp_path: Path) -> None:
    looks = list(drive(ITEMS, [model(0.3), model(0.8)], tmp_path, Limits(budget=300), settings=SETTINGS))
    assert [each.verdict for each in looks[:-1]] == ["inconclusive"] * (len(looks) - 1)
    assert looks[-1].verdict == "better"
    assert looks[-1].n_items < 150
    assert looks[-1].sequential is not None
    kept = es.read(tmp_path / JOURNAL)
    assert kept.outcomes.height == 2 * looks[-1].n_items


def test_it_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    askers = [model(0.5), model(0.55)]
    limits = Limits(budget=60, batch=20)
    whole = list(drive(ITEMS, askers, tmp_path / "whole", limits, settings=SETTINGS))
    first = drive(ITEMS, askers, tmp_path / "killed", limits, settings=SETTINGS)
    next(first)
    next(first)
    first.close()
    journal = tmp_path / "killed" / JOURNAL
    lines = journal.read_text().splitlines()
    journal.write_text(
        "\n".join(lines[:-3]) + '\n{"item": "q9", "model": "base'
    )  # one item has a side alone, one line is cut
    again = list(drive(ITEMS, askers, tmp_path / "killed", limits, settings=SETTINGS))
    assert again[0].n_items == 38
    assert (
        (again[-1].n_items, again[-1].estimate) == (whole[-1].n_items, whole[-1].estimate) == (60, whole[-1].estimate)
    )
    assert sorted(json.loads(line)["item"] for line in journal.read_text().splitlines()) == sorted(
        json.loads(line)["item"] for line in (tmp_path / "whole" / JOURNAL).read_text().splitlines()
    )


def test_another_run_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    next(drive(ITEMS, [model(0.5), model(0.5)], tmp_path, Limits(budget=40), settings=SETTINGS))
    with pytest.raises(InputError, match="holds a run of another candidate"):
        next(drive(ITEMS, [model(0.5)] * 2, tmp_path, Limits(budget=40), settings={**SETTINGS, "candidate": "newer"}))


def test_failures_are_errors_and_no_wrong_answers(tmp_path: Path) -> None:
    (*_, result) = drive(
        ITEMS, [model(0.5), model(0.5, fails=0.2)], tmp_path, Limits(budget=60, batch=60), settings=SETTINGS
    )
    assert result.candidate.n_error > 0
    assert result.n_items + result.candidate.n_error == 60
    with pytest.raises(InputError, match="the candidate failed on all 20 items so far \\(overloaded\\)"):
        next(drive(ITEMS, [model(0.5), model(0.5, fails=1.0)], tmp_path / "b", Limits(budget=60), settings=SETTINGS))


@pytest.mark.parametrize(
    ("program", "answer"),
    [
        ("print(0.25)", {"score": 0.25}),
        ("print('thinking'); print('true')", {"score": 1.0}),
        ("import json,sys; print(json.dumps({'score': len(json.load(sys.stdin)), 'n_turns': 5}))", {"score": 2.0, "n_turns": 5}),
        ("print('nothing')", {"error": "printed no score as its last line: 'nothing'"}),
        ("print('NaN')", {"error": "printed no score as its last line: 'NaN'"}),
        ("print('{\"error\": \"refused\"}')", {"error": "refused"}),
        ("raise SystemExit('broken')", {"error": "exit status 1: broken"}),
        ("import time; time.sleep(20)", {"error": "no answer within 1 s"}),
    ],
)  # fmt: skip
def test_what_a_command_says(program: str, answer: dict[str, Any]) -> None:
    ask = command_asker(f'{sys.executable} -c "{program.replace(chr(34), chr(92) + chr(34))}"', timeout=1)
    assert ask({"id": 1, "question": "$(touch /tmp/no)"}) == answer


def test_items_of_files(tmp_path: Path) -> None:
    path = tmp_path / "items"
    path.write_text('{"id": "a", "q": 1}\n{"id": "b", "q": 2}\n')
    assert list(read_items(path)) == ["a", "b"]
    path.write_text("question,answer\n1+1,2\n2+2,4\n")
    assert read_items(path) == {"1": {"question": "1+1", "answer": "2"}, "2": {"question": "2+2", "answer": "4"}}
    assert list(read_items(path, "question")) == ["1+1", "2+2"]
    for text, why in (("id\na\na\n", "appears twice"), ("", "holds 0 items"), ('{"a": ', "neither JSON Lines")):
        path.write_text(text)
        with pytest.raises(InputError, match=why):
            read_items(path)


def test_the_command_from_items_to_a_gate(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("id\n" + "\n".join(f"q{i}" for i in range(60)))
    (tmp_path / "ask.py").write_text(
        "import json,sys\nprint(int(hash(json.load(sys.stdin)['id']) % 7 < int(sys.argv[1])))"
    )
    ask = f"{sys.executable} -I -S {tmp_path / 'ask.py'}"
    answer = typed(
        "run", "--baseline", f"{ask} 0", "--candidate", f"{ask} 7", "--items", "items.csv", "--out", "ab",
        "--batch", "15", "--jobs", "2", "--fail-on", "worse", folder=tmp_path,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    assert "candidate is better than baseline" in answer.stdout
    assert "items to spare" in answer.stderr
    assert (tmp_path / "ab" / "store").is_dir()
    assert "looked at" not in answer.stdout
    # Later, the store still knows that somebody looked, and how many items were planned: the answer is that of the run.
    sides = ("compare", "baseline", "candidate", "--store", "ab/store")
    assert typed(*sides, folder=tmp_path).stdout == answer.stdout
    once = typed(*sides, "--method", "tango", folder=tmp_path).stdout
    assert "The run was looked at after every batch" in once
    assert "looked at" in typed("score", "--store", "ab/store", folder=tmp_path).stdout


@pytest.mark.slow
def test_equal_sides_are_seldom_told_apart_and_unlike_ones_save_items(tmp_path: Path) -> None:
    """100 runs of equal sides, looked at four times: at most 9% decide (5%, Monte Carlo error 2.2%)."""
    limits, wrong, asked = Limits(budget=200, batch=50), 0, list[int]()
    for seed in range(100):
        alike = [model(0.6, seed), model(0.6001, seed)]
        (*_, result) = drive(ITEMS, alike, tmp_path / str(seed), limits, settings=SETTINGS)
        wrong += result.verdict in ("better", "worse")
    assert wrong / 100 <= 0.09
    for seed in range(20):
        apart = [model(0.4, seed), model(0.75, seed)]
        (*_, result) = drive(ITEMS, apart, tmp_path / f"apart{seed}", limits, settings=SETTINGS)
        asked.append(result.n_items)
    assert sum(asked) / 20 < 120
