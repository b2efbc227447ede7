"""LiveCodeBench: submissions with a verdict for every sample, and the site's averages by question and model.

Metric `pass@1`, as a proportion; the question is the item, and `contest_date` the day on which it was first asked. Submissions
(`<model>/Scenario.<scenario>_<n>_<temperature>_eval_all.json`) give every sample as a trial, and a failure of the runner of the
tests (error code -5) is an error. The site's files (`performances_<kind>.json`) give averages over some ten samples: `trial` is
null, -1 means that a model was not run and is unscored.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.files import cell_value
from evalstats.loaders.format import FAILED, HEADLINE, OBJECT, SHARE, UNSCORED, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, day_of, first_line, times_of

_BENCHMARK: Final = "LiveCodeBench"
_NAME: Final = r"(?P<model>[^/]+)/Scenario\.(?P<task>[a-z]+)(?:_\d+_(?P<temperature>\d+(?:\.\d+)?))?(?:_[^/]*)?"
# What the runner of the tests writes where it failed itself, and not the code under test.
_RUNNER_FAILED: Final = -5


class _Question(Struct):
    question_id: Any = None
    graded_list: list[Any] | Plain = None
    metadata: list[Any] | Plain = None
    difficulty: Any = None
    platform: Any = None
    contest_date: Any = None


def _samples(record: _Question, file: FormatFile[_Question]) -> Iterator[Sample]:
    item = as_text(record.question_id)
    if not item or file.again(item):
        file.leave_out("a question before" if item else "no question_id")
        return
    if not file.kept:
        # Folder and file say model, scenario and temperature.
        named = file.path_says(_NAME)
        temperature = as_number(named.get("temperature"))
        file.kept["run"] = file.run(named.get("model"), "", temperature=temperature)
        file.kept["task"] = named.get("task") or "codegeneration"
    shared: Row = {
        **file.kept,
        "item": item,
        "difficulty": as_text(record.difficulty),
        "platform": as_text(record.platform),
        "contest_date": _day(asked) if isinstance(asked := record.contest_date, str | int | float) else None,
    }
    verdicts: list[Any] = as_list(record.graded_list) or [None]
    details = record.metadata if isinstance(record.metadata, list) else []
    for trial, verdict in enumerate(verdicts):
        failure = _runner_failure(details[trial]) if verdict is not True and trial < len(details) else None
        outcome = float(verdict) if isinstance(verdict, bool) else unscored("no verdict", held(verdict))
        if failure is not None:
            outcome = unscored(f"the runner of the tests failed{failure}", held(verdict), error=True)
        yield {**shared, "trial": trial}, [("pass@1", outcome)]


@lru_cache(maxsize=4096)
def _day(value: str | float) -> str | None:
    day = day_of(value)
    return None if day is None else day.isoformat()


def _runner_failure(detail: object) -> str | None:
    """Return why the runner of the tests failed; None where it did not, or nothing says so."""
    # Few samples have the code, and only theirs is looked into.
    found = as_dict(cell_value(detail)) if isinstance(detail, str) and str(_RUNNER_FAILED) in detail else {}
    reason = first_line(found.get("error"))
    return (f": {reason}" if reason else "") if found.get("error_code") == _RUNNER_FAILED else None


FORMAT: Final = Format(
    name="livecodebench",
    title="LiveCodeBench submissions (Scenario.*_eval_all.json)",
    version="2",
    upstream="LiveCodeBench/submissions, <model>/Scenario.<scenario>_<n>_<temperature>_eval_all.json",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign("question_id contest_date output_list", shapes=("array",)),
        Sign("question_id graded_list", 0.85, shapes=("array",)),
    ),
    record=_Question,
    rows=_samples,
    called="questions",
    metrics={"pass@1": HEADLINE},
    counts={
        "{n} samples are errors of the runner of the tests, which the file counts as failed": FAILED,
        "{n} samples have no verdict (true or false) and are unscored": UNSCORED,
    },
    expected="Results that were graded were expected",
)

_TEST_OUTPUT: Final = "testoutputprediction"
_KINDS: Final = {"execution": "codeexecution", "repair": "selfrepair", "testgen": _TEST_OUTPUT}
_AVERAGES: Final = "scores are averages over some ten samples; how many is not in the file"


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    file.note(_AVERAGES)
    task = next((task for word, task in _KINDS.items() if word in file.source.stem), "codegeneration")
    frame = file.named(frame, item="question_id or sample_id", model="model")
    before = file.trials(frame.select("model", "item"))
    own = pl.col("_sample").is_not_null() & (pl.col("_sample").cast(pl.String) != "")
    day = times_of(frame["_date"])[0].dt.date().cast(pl.String)
    # Test outputs are asked for several tests of a question.
    trial = before if task == _TEST_OUTPUT else before.set(before == 0, None)
    question = pl.when(own).then(pl.col("question").cast(pl.String))
    return frame.with_columns(task=pl.lit(task), trial=trial, contest_date=day, question=question)


def _share(value: object) -> Said:
    found = None if isinstance(value, bool | str) else as_number(value)
    if found == -1:
        return unscored("-1: not run", held(value))
    if found is None or not 0 <= found <= 100:
        return unscored("no percentage", held(value))
    return scored(found / 100, value_raw=f"{found:g}%")


SITE: Final[Format[Any]] = Format(
    name="livecodebench-site",
    title="LiveCodeBench averages of the site (performances_*.json)",
    version="2",
    upstream="LiveCodeBench/livecodebench.github.io at f186ab5, performances_<kind>.json",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=tuple(
        Sign("performances", text=(f'"{name}"',), shapes=OBJECT) for name in ("pass@1", "Pass@1", "Pass@1-COT")
    ),
    fields={
        "item": "sample_id question_id",
        "model": "model",
        "difficulty": "difficulty",
        "platform": "platform",
        "question": "question_id",
        "_sample": "sample_id",
        "_date": "date",
    },
    scores={"pass@1": "pass@1 Pass@1?", "pass@1/cot": "Pass@1-COT?"},
    reads=_share,
    arranged=_arranged,
    counts={"{n} averages are -1 (the model was not run so) or no percentage; they are unscored": UNSCORED},
    at=("performances",),
    called="rows",
    metrics={"pass@1": {**HEADLINE, "kind": "proportion"}, "pass@1/cot": {**SHARE, "kind": "proportion"}},
    expected="Averages of the site were expected",
)
