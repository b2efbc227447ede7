"""Errors speak of arguments in Python and of options on the shell."""

import pytest

import evalstats as es
from evalstats import datasets
from evalstats.errors import InputError, as_arguments, on_the_shell


@pytest.mark.parametrize(
    ("shell", "python"),
    [
        ("choose one with --metric, before", "choose one with metric=, before"),
        ("models of the same items (--models)", "models of the same items (models=)"),
        ("add --shared-trials", "add shared_trials=True"),
        ("--lower-is-better or --higher-is-better says so", "higher_is_better=False or higher_is_better=True says so"),
        ("with --where task=LEVEL", "with data.where(task=LEVEL)"),
        ("add --accept n_shots --accept judge", "add accept=['n_shots', 'judge']"),
        ('say --map scale=percent (in from_frame: scale="percent"), or', 'say scale="percent", or'),
        ('apart: --map variant=x, or --map trial=y (in from_frame: trial="y")', 'apart: variant=x, or trial="y"'),
        ("--reference MODEL (references= in Python)", "references="),
        ("make one with `evalstats ingest FILES --store x`", "make one with `evalstats ingest FILES --store x`"),
        ("a model called x--metric", "a model called x--metric"),
    ],
)
def test_an_option_becomes_its_argument(shell: str, python: str) -> None:
    assert as_arguments(shell) == python
    assert as_arguments(python) == python


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
