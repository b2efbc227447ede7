"""Berkeley Function Calling Leaderboard: which calls of a category were right, put together from two files.

`score/<model>/BFCL_v<n>_<category>_score.json` is JSON Lines: a first line of counts, and then the wrong answers only.
`result/<model>/BFCL_v<n>_<category>_result.json` has every answer. An answer that the scores do not list as wrong is right, which
holds only where the counts of both files agree; that is checked, and otherwise only the published accuracy is read. The task is
the category, the model the folder. An answer that is an error of the inference is a harness error.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from os.path import commonpath
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name, readable_name
from evalstats.loaders.format import FAILED, HEADLINE, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.values import as_count, as_number, as_text, first_line, json_text
from evalstats.schema.data import Problem

_NAME: Final = re.compile(r"BFCL_v(?P<version>\d+)_(?P<task>.+)_(?P<kind>score|result)\.json")
# Version 4 puts these between the model and its files.
_GROUPS: Final = frozenset({"live", "non_live", "multi_turn", "agentic", "format_sensitivity"})
_CRASH: Final = "Error during inference"
_METRIC: Final = "correct"
_ALONE: Final = "holds answers without their scores; give the folder of scores beside it"
_ONLY_WRONG: Final = (
    "lists the wrong answers only, so that the right ones are known by number and not by item; give the folder of results too, "
    "and models can be compared item by item"
)
_APART: Final = (
    "its counts ({correct} right of {total}) do not fit the {n_ids} answers and {n_wrong} wrong ones that the two files hold; "
    "only the published number is read"
)
_CRASHED: Final = "{n} answers are errors of the inference, which the leaderboard counts as wrong; errors here"


class _Line(Struct):
    """A line of either file: the counts, a wrong answer, or any answer."""

    accuracy: Any = None
    correct_count: Any = None
    total_count: Any = None
    id: Any = None
    valid: Any = None
    error_type: Any = None
    error: Any = None
    result: Any = None
    latency: Any = None
    input_token_count: Any = None
    output_token_count: Any = None


def _kind(path: Path) -> str:
    named = _NAME.fullmatch(plain_name(path))
    return named["kind"] if named else "score"


def _model_of(path: Path) -> str:
    folders = [readable_name(folder.name) for folder in path.absolute().parents]
    return next((name for name in folders if name and name not in _GROUPS), "unknown")


def _key(path: Path) -> tuple[str, str]:
    return _model_of(path), plain_name(path).rpartition("_")[0]


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Put each file of scores together with the nearest file of answers of the same model and category."""
    answers = [path for path in files if _kind(path) == "result"]
    taken: set[Path] = set()
    for path in files:
        if _kind(path) == "score":
            beside = [other for other in answers if _key(other) == _key(path)]
            near = max(beside, key=lambda other: len(commonpath((path.absolute(), other.absolute()))), default=None)
            taken |= {near} if near else set()
            yield Source(path=path, companions=(near,) if near else ())
    for path in answers:
        if path not in taken:
            yield Problem(path=str(path), message=_ALONE)


class _Reader:
    """The counts and the wrong answers of a category, then all answers, which wait until both are known."""

    def __init__(self, file: FormatFile[_Line]) -> None:
        self._file = file
        named = _NAME.fullmatch(plain_name(file.source.path))
        version, self._task = (named["version"], named["task"]) if named else ("", file.source.stem)
        benchmark = f"BFCL v{version}" if version else "BFCL"
        config = json_text({"task": self._task})
        model = _model_of(file.source.path)
        self._run = file.run(model, benchmark=benchmark, task_version=version or None, config=config)
        self._counts: _Line | None = None
        self._wrong: dict[str, str | None] = {}
        self._answers: list[tuple[Row, object]] = []

    def rows(self, record: _Line) -> Iterator[Sample]:
        """Take note of a line."""
        item = as_text(record.id)
        if self._file.path != self._file.source.path:
            if item is None:
                self._file.leave_out("no id")
                return
            about: Row = {
                "item": item,
                "latency_s": record.latency,
                "input_tokens": record.input_token_count,
                "output_tokens": record.output_token_count,
                "locator": self._file.locator,
            }
            self._answers.append((about, record.result))
        elif self._counts is None:
            self._counts = record
        elif item is None or record.valid is not False:
            self._file.leave_out("no wrong answer with an id")
        else:
            self._wrong[item] = as_text(record.error_type) or first_line(json_text(record.error)) or None
        yield from ()

    def finish(self) -> Iterator[Sample]:
        """Return the outcomes of all answers where the counts of both files agree."""
        accuracy = None if self._counts is None else as_number(self._counts.accuracy)
        if self._counts is None or accuracy is None or not 0 <= accuracy <= 1:
            raise UnreadableFileError(
                f"{self._file.source.path}: its first line has no accuracy from 0 to 1, as BFCL's scores have"
            )
        correct, total = as_count(self._counts.correct_count), as_count(self._counts.total_count)
        self._file.publish(accuracy, self._run, _METRIC, task=self._task, n=total, unit="proportion", setting="lab")
        items = {str(about["item"]) for about, _ in self._answers}
        n, n_wrong = len(self._answers), len(self._wrong)
        if not n:
            self._file.note(_ONLY_WRONG)
        elif not (len(items) == n == total and self._wrong.keys() <= items and correct == n - n_wrong):
            self._file.note(_APART.format(correct=correct, total=total, n_wrong=n_wrong, n_ids=n))
        else:
            shared: Row = {"run": self._run, "task": self._task}
            for about, answer in self._answers:
                yield {**shared, **about}, [(_METRIC, self._outcome(str(about["item"]), answer))]

    def _outcome(self, item: str, answer: object) -> Said:
        if isinstance(answer, str) and answer.startswith(_CRASH):
            return unscored(first_line(answer), held(answer), error=True)
        return scored(0.0, status_reason=self._wrong[item]) if item in self._wrong else 1.0


FORMAT: Final = Format(
    name="bfcl",
    title="Berkeley Function Calling Leaderboard (BFCL_v*_score.json with BFCL_v*_result.json)",
    version="3",
    upstream="ShishirPatil/gorilla, bfcl/eval_checker/eval_runner.py",
    benchmark="BFCL",
    harness="BFCL",
    signs=(
        Sign(
            "accuracy correct_count total_count", 0.95, path=r"/BFCL_v\d+_[^/]+_score\.json", shapes=("lines", "object")
        ),
        Sign("id result", 0.95, path=r"/BFCL_v\d+_[^/]+_result\.json", shapes=("lines", "object")),
    ),
    record=_Line,
    rows=lambda record, file: file.state(_Reader).rows(record),
    finish=lambda file: file.state(_Reader).finish(),
    at=(".",),
    called="lines",
    grouped=_grouped,
    metrics={_METRIC: HEADLINE},
    counts={_CRASHED: FAILED},
)
