"""Errors speak of arguments in Python and of options on the shell."""

import shlex
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalstats as es
from evalstats import datasets
from evalstats.cli.advice import as_typed, on_the_shell
from evalstats.document.model import Note
from evalstats.errors import EvalStatsError, InputError, Option, together, under_names


def test_the_same_error_on_the_shell_and_in_python() -> None:
    data = datasets.tenacious_held_out()
    with pytest.raises(InputError) as here:
        es.compare(data, "baseline", "trained", planned_n=100)
    with on_the_shell(), pytest.raises(InputError) as there:
        es.compare(data, "baseline", "trained", planned_n=100)
    assert "sequential=True" in str(here.value)
    assert "--sequential" in str(there.value)


def test_the_column_that_tells_repeats_apart_is_given_as_python_takes_it() -> None:
    frame = {"q": [1, 1], "model": ["m", "m"], "ok": [1, 0], "sample seed": [7, 8]}
    with pytest.raises(InputError, match=r"'sample seed' tells them apart: trial='sample seed'\. If"):
        es.from_frame(frame, item="q", score="ok", model="model")
    with on_the_shell(), pytest.raises(InputError, match=r"apart: --map 'trial=sample seed'\. If"):
        es.from_frame(frame, item="q", score="ok", model="model")


def test_a_message_with_an_endless_id_keeps_its_ends() -> None:
    error = InputError(f"item {'x' * 30_000_000!r} stands twice; keep one of the two")
    assert len(str(error)) < 5_000
    assert str(error).startswith("item 'xxx")
    assert str(error).endswith("stands twice; keep one of the two")


ODD = ("gpt --max-tokens 5", "--metric x", "a (b in Python)", "`x`", "it's", "o1")


@pytest.mark.parametrize("name", ODD)
def test_a_value_stays_one_word_whatever_stands_in_it(name: str) -> None:
    words = shlex.split(as_typed([Option("cluster", name), Option("where", name, of="task")]))
    cluster = [f"--cluster={name}"] if name.startswith("-") else ["--cluster", name]
    assert words == [*cluster, "--where", f"task={name}"]
    assert eval(f"dict({Option('cluster', name)})") == {"cluster": name}  # noqa: S307


@pytest.mark.parametrize(
    ("option", "shell", "python"),
    [
        (Option("metric"), "--metric", "metric="),
        (Option("metric", blank="NAME"), "--metric NAME", "metric=NAME"),
        (Option("cluster", "none"), "--cluster none", "cluster='none'"),
        (Option("higher_is_better", False), "--lower-is-better", "higher_is_better=False"),
        (Option("shared_trials", False), "--independent-trials", "shared_trials=False"),
        (Option("sequential", True), "--sequential", "sequential=True"),
        (Option("over", "task"), "--average-over task", "over='task'"),
        (Option("references", blank="MODEL"), "--reference MODEL", "references=MODEL"),
        (Option("accept", ("n_shots", "judge")), "--accept n_shots --accept judge", "accept=['n_shots', 'judge']"),
        (Option("cutoffs", "2024-03-01", of="m"), "--cutoff m=2024-03-01", "cutoffs={'m': '2024-03-01'}"),
        (Option("where", blank="LEVEL", of="task"), "--where task=LEVEL", "data.where(task=LEVEL)"),
        (Option("where", "x", of="a b"), "--where 'a b=x'", "data.where(**{'a b': 'x'})"),
        (Option("where"), "--where", "data.where(...)"),
        (Option("map", blank="COLUMN", of="item"), "--map item=COLUMN", "item=COLUMN"),
        (Option("map", ("a", "b"), of="models"), "--map models=a,b", "models=['a', 'b']"),
        (Option("map", -1, of="unscored"), "--map unscored=-1", "unscored=-1"),
        (
            Option("published", blank="LEVEL", of="unit"),
            "--where unit=LEVEL",
            "data.aggregates.filter(pl.col('unit') == LEVEL)",
        ),
        (Option("store", "a b"), "--store 'a b'", "open_store('a b')"),
        (Option("folder", blank="DIR"), "--output DIR", "folder=DIR"),
        (
            Option("values", ("good", 1), of="score"),
            '--map map.toml, a file with a line [values.score] and below it what each label stands for ("good" = 1)',
            "values={'score': {'good': 1}}",
        ),
        (Option("values", ("1", "model_a"), of="winner"), None, "labels={'1': 'model_a'}"),
        (Option("trials_from_runs"), "--trials-from-runs", "data.trials_from_runs()"),
        (Option("input_format", "inspect"), "--input-format inspect", "format='inspect'"),
    ],
)
def test_an_option_is_written_for_whoever_reads(option: Option, shell: str | None, python: str) -> None:
    assert str(option) == python
    with on_the_shell():
        assert shell is None or str(option) == shell


def test_a_saved_note_names_options_to_whoever_opens_it(tmp_path: Path) -> None:
    result = es.compare(datasets.tenacious_held_out(), "baseline", "trained")
    notes = (Note(kind="dependence", text="Items share a task.", remedy=("Add ", Option("cluster", "task"))),)
    replace(result, notes=notes).save(tmp_path / "r.json")
    loaded = es.load_result(tmp_path / "r.json")
    assert isinstance(loaded, es.Comparison)
    assert loaded.notes == notes
    assert loaded.notes[0].line == "Items share a task. Add cluster='task'."
    with on_the_shell():
        assert loaded.notes[0].line == "Items share a task. Add --cluster task."


def test_what_one_side_is_asked_with_has_its_own_name() -> None:
    with under_names({"metric": "lab_metric", "where": "lab_where"}):
        assert str(Option("metric", "ok")) == "lab_metric='ok'"
        assert str(Option("where", "x", of="task")) == "lab.where(task='x')"
    with on_the_shell(), under_names({"metric": "lab_metric", "where": "lab_where"}):
        assert together(Option("metric", "ok"), Option("where", "x", of="task")) == "--lab-metric ok --lab-where task=x"


def asked_wrongly(name: str) -> Iterator[Callable[[], object]]:
    """Yield questions about a model, metric and column of this name that are refused, and the name is in the words."""
    rows = [(i, model, (i + k) % 2) for i in range(12) for k, model in enumerate((name, "other"))]
    items, models, scores = (list(values) for values in zip(*rows, strict=True))
    data = es.from_frame({"id": items, "who": models, name: scores}, item="id", model="who", score=name)
    yield lambda: es.compare(data, name, "nobody")
    yield lambda: es.compare(data, name, name)
    yield lambda: es.compare(data, name, "other", metric="no such")
    yield lambda: es.score(data, "nobody")
    yield lambda: es.leaderboard(data, models=[name, "nobody"])
    yield lambda: es.compare(data, "other", "nobody", cluster=name)
    yield lambda: es.from_frame({"id": items, name: models}, item="id")
    yield lambda: es.from_frame({"id": items, "who": models, name: ["?"] * 24}, item="id", model="who", score=name)
    yield lambda: es.from_frame({"id": [1, 1], "who": [name, name], "ok": [1, 0]}, item="id", model="who", score="ok")


def refusals(name: str, *, shell: bool) -> list[str]:
    said: list[str] = []
    with on_the_shell() if shell else nullcontext():
        for ask in asked_wrongly(name):
            with pytest.raises(EvalStatsError) as caught:
                ask()
            said.append(str(caught.value))
    return said


def unquoted(text: str) -> str:
    return text.translate({ord(mark): None for mark in "'\""})


@pytest.mark.parametrize("shell", [False, True])
@pytest.mark.parametrize("name", ODD)
def test_an_error_says_names_as_they_are(name: str, shell: bool) -> None:
    """But for the quotes, which depend on what they hold, it says the same of a plain name."""
    plain, odd = refusals("Qodd", shell=shell), refusals(name, shell=shell)
    assert list(map(unquoted, odd)) == [unquoted(each).replace("Qodd", unquoted(name)) for each in plain]


@settings(max_examples=12, deadline=None, database=None, derandomize=True)
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12), min_size=2, max_size=2, unique=True
    )
)
def test_any_name_stands_in_an_answer_as_it_is(names: list[str]) -> None:
    rows = [(i, model, int((i * 7 + k) % 3 > 0)) for i in range(12) for k, model in enumerate(names)]
    items, models, scores = (list(values) for values in zip(*rows, strict=True))
    try:
        data = es.from_frame({"id": items, "who": models, "ok": scores}, item="id", model="who", score="ok")
    except InputError:  # blank, or one name for a reader
        return
    first, second = data.outcomes["model"].unique(maintain_order=True)
    for context in (nullcontext(), on_the_shell()):
        with context:
            said = " ".join(es.compare(data, first, second).summary().split())
        assert " ".join(first.split()) in said
        assert " ".join(second.split()) in said
