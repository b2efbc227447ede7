"""Of a large store equal rows are merged as they are read, and what is answered is what single rows answer."""

import json
import math
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.schema.tables import frame_from_rows
from evalstats.store import merged
from evalstats.store.manifest import SourceOrigin
from evalstats.store.read import Store
from evalstats.store.write import SourceWriter, make_store

RUNNER = CliRunner()
MODELS = ("ann", "bob", "cyd", "dee")
Row = dict[str, Any]
More = Callable[[np.random.Generator, Row], Row]


def plain(_: np.random.Generator, row: Row) -> Row:
    return row


def lost(rng: np.random.Generator, row: Row) -> Row:
    """Harness errors and empty scores, with their reasons."""
    if rng.random() < 0.1:
        status = ["error", "unscored"][int(rng.integers(2))]
        reason = [None, "timeout", "no answer found"][int(rng.integers(3))]
        return row | {"score": None, "status": status, "status_reason": reason}
    return row


def absent(rng: np.random.Generator, row: Row) -> Row:
    """Trials and whole items that are missing."""
    return {} if rng.random() < 0.1 or (row["model"] == "cyd" and row["item"] in {"q1", "q2"}) else row


def graded(rng: np.random.Generator, row: Row) -> Row:
    return row | {"score": [0.0, 0.25, 0.3, 1.0][int(rng.integers(4))]}


def coded(rng: np.random.Generator, row: Row) -> Row:
    """A code for no score among the scores."""
    return row | ({"score": -1.0} if rng.random() < 0.02 else {})


def unread(rng: np.random.Generator, row: Row) -> Row:
    """Raw values, some of which say that nothing was read."""
    raw = "could not parse" if not row["score"] and rng.random() < 0.3 else f"said {int(rng.integers(3))}"
    return row | {"value_raw": raw}


def dear(rng: np.random.Generator, row: Row) -> Row:
    """Costs, some unknown, and numbers of tokens."""
    cost = None if rng.random() < 0.1 else float(rng.gamma(2.0) * (1 + MODELS.index(row["model"])))
    return row | {"cost_usd": cost, "output_tokens": int(rng.integers(5, 500))}


def timed(_: np.random.Generator, row: Row) -> Row:
    place = row["trial"] * 60 + int(row["item"][1:])
    return row | {"timestamp": datetime(2026, 3, 1, tzinfo=UTC) + timedelta(minutes=place)}


def drifting(rng: np.random.Generator, row: Row) -> Row:
    """A model that fails from some item on."""
    late = row["model"] == "dee" and int(row["item"][1:]) > 25
    return row | ({"score": float(rng.random() < 0.05)} if late else {})


def seeds(_: np.random.Generator, row: Row) -> Row:
    return row | {"trial_label": f"seed {9 - row['trial']}"}


def chosen(rng: np.random.Generator, row: Row) -> Row:
    """Options beside a key, some unread."""
    key = "ABCD"[int(row["item"][1:]) % 4]
    wrong = [letter for letter in "ABCD" if letter != key]
    choice = key if row["score"] else wrong[int(rng.integers(3))]
    if rng.random() < 0.03:
        return row | {"choice": None, "answer": key, "n_options": 4, "score": None, "status": "unscored"}
    return row | {"choice": choice, "answer": key, "n_options": 4}


def worded(rng: np.random.Generator, row: Row) -> Row:
    """Answers in words, a column of items, one that differs within few items, one within most, and a float."""
    item = int(row["item"][1:])
    page = item // 4 + (item == 3 and row["trial"] == 1)
    mood = f"mood {int(rng.integers(3))}"
    return row | {"response": f"it is {rng.integers(10**9)}", "page": page, "mood": mood, "warmth": float(rng.random())}


def weighed(rng: np.random.Generator, row: Row) -> Row:
    return row | {
        "weight": [1.0, 2.0][int(row["item"][1:]) % 2],
        "prompt_hash": f"h{row['item']}{row['model'] == 'bob'}",
    }


def two_metrics(rng: np.random.Generator, row: Row) -> Row:
    return row | {"metric": "f1", "score": float(rng.integers(5)) / 4} if rng.random() < 0.5 else row


def systems(_: np.random.Generator, row: Row) -> Row:
    """Variants, tasks, and a system that is no model."""
    half = "easy" if int(row["item"][1:]) % 2 else "hard"
    return row | {"task": half, "variant": row["item"][-1], "system": f"{row['model']}+tools", "user_kind": "ideal"}


KINDS: dict[str, tuple[More, ...]] = {
    "plain": (plain,),
    "lost": (lost,),
    "lost and absent": (lost, absent),
    "graded": (graded,),
    "coded": (graded, coded),
    "unread": (unread,),
    "dear": (dear, lost),
    "timed": (timed, drifting),
    "drifting": (drifting,),
    "seeds": (seeds, absent),
    "chosen": (chosen,),
    "worded": (worded, lost),
    "weighed": (weighed,),
    "two metrics": (two_metrics,),
    "systems": (systems, absent),
}
COMMANDS = {
    "compare": "compare --baseline ann --candidate dee",
    "compare by scenario": "compare --baseline ann --candidate bob --by scenario --pass-hat 2",
    "compare, clustered": "compare --baseline bob --candidate dee --cluster chapter --margin 2pp",
    "compare shared trials": "compare --baseline ann --candidate dee --shared-trials",
    "leaderboard": "leaderboard",
    "leaderboard of some": "leaderboard --where 'chapter=chapter 1' --where 'chapter=chapter 2'",
    "audit": "audit",
    "audit of three": "audit --models ann,bob,dee --cluster chapter",
}


def put(folder: Path, kinds: tuple[More, ...], *, n_items: int = 45, n_trials: int = 6, seed: int = 0) -> Path:
    """Write a store of four models, a source for each, whose whole runs differ."""
    rng = np.random.default_rng(seed)
    easy = rng.random(n_items)
    shelf = make_store(folder)
    for number, model in enumerate(MODELS):
        moved = rng.normal(scale=0.1, size=n_trials)
        rows: list[Row] = []
        for item, trial in np.ndindex(n_items, n_trials):
            right = float(rng.random() < 0.2 + 0.5 * easy[item] + 0.06 * number + moved[trial])
            row: Row = {"run": f"run-{model}", "model": model, "system": model, "benchmark": "b", "item": f"q{item}"}
            row |= {"trial": int(trial), "metric": "acc", "score": right, "status": "scored"}
            row |= {
                "scenario": f"kind {item % 3}",
                "chapter": f"chapter {item // 5}",
                "locator": f"row {item * n_trials + trial}",
            }
            for each in kinds:
                row = each(rng, row) if row else row
            if row:
                rows.append(row)
        order = rng.permutation(len(rows)) if seed % 2 else np.arange(len(rows))
        origin = SourceOrigin(path=f"{model}.json", digest=f"{number:064x}", loader="fake", loader_version="1")
        with SourceWriter(shelf, origin) as writer:
            frame = frame_from_rows([rows[k] for k in order], "outcomes")
            writer.add("outcomes", frame)
            n_of = {f"n_{status}": int((frame["status"] == status).sum()) for status in ("scored", "error", "unscored")}
            run: Row = {"run": f"run-{model}", "model": model, "benchmark": "b", "source": f"{model}.json", **n_of}
            writer.add("runs", frame_from_rows([run], "runs"))
            writer.commit()
    return folder


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, int], Path]:
    """Return the store of a kind and a seed; each is written once."""
    return cache(lambda kind, seed: put(tmp_path_factory.mktemp("stores") / "store", KINDS[kind], seed=seed))


def apart(one: object, other: object, where: str = "") -> list[str]:
    """Where two results differ by more than rounding."""
    if isinstance(one, dict) and isinstance(other, dict):
        return [
            each
            for name in sorted({*one, *other})
            for each in (apart(one[name], other[name], f"{where}.{name}") if name in one and name in other else [name])
        ]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [each for k, (a, b) in enumerate(zip(one, other, strict=True)) for each in apart(a, b, f"{where}[{k}]")]
    if isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-11, abs_tol=1e-12):
        return []
    if (
        re.search(r"_locator(?:\[\d+\])?$", where) and other is None
    ):  # of trials that the other side lacks the place is left out
        return []
    return [] if one == other else [f"{where}: {one!r} is not {other!r}"]


def both(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[Any, Any, list[object]]:
    """What a command says of single rows and of merged ones, and what came of merging."""
    came: list[object] = []
    read = Store.read_merged

    def watched(self: Store, **given: Any) -> Any:
        try:
            found = read(self, **given)
        except merged.CannotMergeError as error:
            came.append(str(error))
            raise
        came.append(found.outcomes)
        return found

    command = [*arguments, "--format", "json", "--no-plan"]
    single = RUNNER.invoke(app, command)
    with monkeypatch.context() as patch:
        patch.setattr(merged, "FROM_ROWS", 1)
        patch.setattr(merged, "_FEWEST_ITEMS", 1_000_000)  # all items are looked at, since there are few
        patch.setattr(merged, "_FEWEST_DIFFERING", 20)
        patch.setattr("evalstats.store.read.MERGED_AT_A_TIME", 800)
        patch.setattr(Store, "read_merged", watched)
        found = RUNNER.invoke(app, command)
    assert found.exit_code == single.exit_code, (single.output, found.output, found.exception)
    return single, found, came


# What only an audit looks at, and what is part of another kind; an audit is asked of every kind.
SEEN_BY_AUDIT = {"lost", "timed", "drifting", "unread", "chosen"}


def _is_quick(kind: str, command: str, seed: int) -> bool:
    asked = ("compare", "leaderboard")[[*KINDS].index(kind) % 2]  # of every other kind
    return seed == 1 and (command == "audit" or (command == asked and kind not in SEEN_BY_AUDIT))


@pytest.mark.parametrize(
    ("kind", "command", "seed"),
    [
        pytest.param(kind, command, seed, marks=() if _is_quick(kind, command, seed) else pytest.mark.slow)
        for kind in KINDS
        for command in COMMANDS
        for seed in (0, 1)
    ],
)
def test_answers_are_those_of_single_rows(
    kind: str, command: str, seed: int, stores: Callable[[str, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores(kind, seed)
    name, *more = shlex.split(COMMANDS[command])
    single, found, came = both(monkeypatch, name, str(store), *more)
    assert found.stderr == single.stderr
    if "shared" not in command and kind != "seeds":
        assert '"locator": null' not in found.stdout
    if single.stdout.startswith("{"):
        assert not apart(json.loads(single.stdout), json.loads(found.stdout))
    else:
        assert found.stdout == single.stdout
    [outcomes] = came
    if not isinstance(outcomes, str):
        assert 2 * outcomes.height < outcomes["n_trials"].sum()
    elif kind not in {"graded", "coded", "two metrics", "unread", "chosen", "dear", "systems"}:
        pytest.fail(outcomes)


def test_single_rows_are_read_where_a_question_looks_at_them(
    stores: Callable[[str, int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stores("timed", 1)
    for more in (
        ("compare", "--baseline", "ann", "--candidate", "bob", "--sequential", "--planned-n", "200"),
        ("compare", "--baseline", "ann", "--candidate", "bob", "--contrast", "trial"),
        ("leaderboard", "--where", "trial=0"),
        ("leaderboard", "--trials-from-runs"),
    ):
        single, found, came = both(monkeypatch, more[0], str(store), *more[1:])
        assert all(isinstance(each, str) for each in came), more
        assert found.stdout == single.stdout


def test_small_stores_are_read_as_they_are(stores: Callable[[str, int], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    store = stores("plain", 1)
    monkeypatch.setattr(Store, "read_merged", lambda *_, **__: pytest.fail("merged"))
    assert RUNNER.invoke(app, ["leaderboard", str(store), "--no-plan"]).exit_code == 0


def test_an_engine_merges_a_store_and_says_what_it_left_out(stores: Callable[[str, int], Path]) -> None:
    store = stores("worded", 1)
    command = ["compare", str(store), "--baseline", "ann", "--candidate", "bob", "--engine", "polars", "--no-plan"]
    found = RUNNER.invoke(app, command)
    assert found.exit_code == 0
    assert "1,080 rows were merged into" in " ".join(found.stderr.split())
    assert "columns left out: mood" not in found.stderr  # few items are no sample
    for more, said in ((("--map", "item=item"), "leave out --map"), (("--engine", "duckdb"), "which Polars counts")):
        engine = () if "--engine" in more else ("--engine", "polars")
        refused = RUNNER.invoke(app, ["leaderboard", str(store), *engine, *more, "--no-plan"])
        assert said in str(refused.exception)


def test_two_sides_that_answer_every_item_both_ways_are_not_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def even(_: np.random.Generator, row: Row) -> Row:
        k = MODELS.index(row["model"]) + 2
        return row | {"score": float((row["trial"] * k + int(row["item"][1:])) % (k + 1) > 0)}

    store = put(tmp_path / "store", (even,), n_items=12, n_trials=20)
    single, found, [outcomes] = both(monkeypatch, "compare", str(store), "--baseline", "ann", "--candidate", "dee")
    assert not isinstance(outcomes, str)
    assert outcomes.height == 4 * 12 * 2
    assert not apart(json.loads(single.stdout), json.loads(found.stdout))
    assert json.loads(found.stdout)["verdict"] != "invalid"


@pytest.mark.parametrize(
    "source",
    # Rows of inspect_logs and tenacious cannot be merged.
    [
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("inspect_logs", "tau_bench")),
        "tenacious",
        "reasoning_gym",
    ],
)
def test_answers_of_real_results_are_those_of_single_rows(
    source: str, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = RUNNER.invoke(app, ["ingest", str(shared_data / source), "--store", str(tmp_path / "s")])
    assert done.exit_code in {0, 2}, done.output
    monkeypatch.setattr(merged, "_PAYS", 0.5)  # however few rows agree
    single, found, _ = both(monkeypatch, "audit", str(tmp_path / "s"))
    assert found.stderr == single.stderr
    assert not apart(json.loads(single.stdout), json.loads(found.stdout))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put(tmp_path_factory.mktemp("small") / "store", (plain,), n_items=20, n_trials=2)


@pytest.mark.parametrize(
    "command",
    [
        ("compare", "--baseline", "ann", "--candidate", "dee", "--no-plan"),
        ("leaderboard", "--no-plan"),
        ("leaderboard", "--no-plan", "--trials-from-runs"),
        ("scenarios", "--no-plan", "--bootstrap", "0"),
        ("score",),
    ],
    ids=lambda command: command[0],
)
def test_a_metric_of_a_store_can_be_declared(command: tuple[str, ...], small: Path) -> None:
    answers = []
    for way in ("--higher-is-better", "--lower-is-better"):
        found = RUNNER.invoke(app, [command[0], str(small), *command[1:], way, "--format", "json"])
        assert found.exit_code == 0, (found.output, found.exception)
        answers.append(json.loads(found.stdout))
    assert answers[0] != answers[1]
