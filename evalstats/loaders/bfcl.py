"""Berkeley Function Calling Leaderboard: which calls of a category were right, put together from two files.

Format: `score/<model>/BFCL_v<n>_<category>_score.json` of ShishirPatil/gorilla, JSON Lines with a first line of counts and then
the wrong answers only, and `result/<model>/BFCL_v<n>_<category>_result.json` with every answer
(`bfcl/eval_checker/eval_runner.py`).
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from os.path import commonpath
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_frames, plain_name, readable_name
from evalstats.loaders.files import iter_json_lines
from evalstats.loaders.rows import Row, held, metric_row, scored, unscored
from evalstats.loaders.values import as_amount, as_count, as_dict, as_number, as_text, first_line, json_text
from evalstats.schema.data import Problem

_NAME: Final = re.compile(r"BFCL_v(?P<version>\d+)_(?P<task>.+)_(?P<kind>score|result)\.json")
_COUNTS: Final = frozenset({"accuracy", "correct_count", "total_count"})
_ANSWER: Final = frozenset({"id", "result"})
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
_LEFT_OUT: Final = "{n} lines hold no answer with an id and are left out ({places})"


class BFCLLoader:
    """Loader of BFCL's scores: the published accuracy of each category, and its items where the answers are beside it.

    An answer that the scores do not list as wrong is right, which holds only where the counts of both files agree; that is
    checked. The task is the category, the model the folder.
    """

    name = "bfcl"
    title = "Berkeley Function Calling Leaderboard (BFCL_v*_score.json with BFCL_v*_result.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise both files by their names and first lines."""
        named = _NAME.fullmatch(head.name)
        if named is None or head.shape not in {"lines", "object"}:
            return None
        needed = _COUNTS if named["kind"] == "score" else _ANSWER
        return (
            Match(confidence=0.95, reason=f"a file {head.name} with {', '.join(sorted(needed))}")
            if head.keys >= needed
            else None
        )

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
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

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes where the answers are there, the published accuracy, the metric, the run and notes."""
        named = _NAME.fullmatch(plain_name(source.path))
        version, task = (named["version"], named["task"]) if named else ("", source.stem)
        model = _model_of(source.path)
        benchmark = f"BFCL v{version}" if version else "BFCL"
        run = source.run_id(model)
        common: Row = {"run": run, "model": model, "system": model, "benchmark": benchmark, "task": task}
        scores = _Scores(source.path)
        known = [row for path in source.companions for row in _answers(path, scores.left_out)]
        notes: list[str] = []
        if not known:
            notes.append(_ONLY_WRONG)
        elif not scores.fits([str(row["item"]) for row in known]):
            counts = {"correct": scores.correct, "total": scores.total, "n_wrong": len(scores.wrong)}
            notes.append(_APART.format(**counts, n_ids=len(known)))
        else:
            rows: list[Row] = [{**row, **scores.outcome(row)} for row in known]
            crashed = sum(row["status"] == "error" for row in rows)
            notes += [_CRASHED.format(n=crashed)] if crashed else []
            said = ({key: value for key, value in row.items() if key != "answer"} for row in rows)
            yield from in_frames(said, "outcomes", {**common, "metric": _METRIC, "trial": 0, "n_trials": 1})
        own = {name: common[name] for name in ("run", "model", "benchmark", "task")}
        published: Row = {**own, "metric": _METRIC, "estimate": scores.accuracy, "n": scores.total}
        yield Rows(
            table="aggregates", rows=[{**published, "unit": "proportion", "setting": "lab", "method": "published"}]
        )
        yield Rows(table="metrics", rows=[metric_row(benchmark, _METRIC, primary=True)])
        about = {name: common[name] for name in ("run", "model", "system", "benchmark")}
        yield Rows(
            table="runs",
            rows=[{**about, "harness": "BFCL", "task_version": version or None, "config": json_text({"task": task})}],
        )
        yield from source.notes(notes)
        if scores.left_out:
            places = comma_list(scores.left_out)
            yield from source.notes([_LEFT_OUT.format(n=len(scores.left_out), places=places)], "error")


class _Scores:
    """What a file of scores says: its counts, and why each wrong answer is wrong."""

    def __init__(self, path: Path) -> None:
        self.wrong: dict[str, str | None] = {}
        self.left_out: list[str] = []
        self.accuracy: float | None = None
        self.correct = self.total = None
        for number, value in iter_json_lines(path):
            record = as_dict(value)
            item = as_text(record.get("id"))
            if self.accuracy is None:
                self.accuracy = as_number(record.get("accuracy"))
                self.correct, self.total = as_count(record.get("correct_count")), as_count(record.get("total_count"))
                if self.accuracy is None or not 0 <= self.accuracy <= 1:
                    raise UnreadableFileError(
                        f"{path}: its first line has no accuracy from 0 to 1, as BFCL's scores have"
                    )
            elif item is None or record.get("valid") is not False:
                self.left_out.append(f"line {number}")
            else:
                self.wrong[item] = (
                    as_text(record.get("error_type")) or first_line(json_text(record.get("error"))) or None
                )
        if self.accuracy is None:
            raise UnreadableFileError(
                f"{path}: holds no line with the accuracy; the scores of a category were expected"
            )

    def fits(self, items: list[str]) -> bool:
        """Whether counts, wrong answers and all answers speak of the same items."""
        alike = len(set(items)) == len(items) == self.total and self.wrong.keys() <= set(items)
        return alike and self.correct == len(items) - len(self.wrong)

    def outcome(self, row: Row) -> Row:
        """Return the part of an outcome that says its score."""
        item, answer = str(row["item"]), row["answer"]
        if isinstance(answer, str) and answer.startswith(_CRASH):
            return unscored(first_line(answer), held(answer), error=True)
        return scored(0.0, status_reason=self.wrong[item]) if item in self.wrong else scored(1.0)


def _answers(path: Path, left_out: list[str]) -> Iterator[Row]:
    for number, value in iter_json_lines(path):
        record = as_dict(value)
        item = as_text(record.get("id"))
        if item is None:
            left_out.append(f"{readable_name(path.name)} line {number}")
            continue
        yield {
            "item": item,
            "answer": record.get("result"),
            "latency_s": as_amount(record.get("latency")),
            "input_tokens": as_count(record.get("input_token_count")),
            "output_tokens": as_count(record.get("output_token_count")),
            "locator": f"line {number}",
        }


def _kind(path: Path) -> str:
    named = _NAME.fullmatch(plain_name(path))
    return named["kind"] if named else "score"


def _key(path: Path) -> tuple[str, str]:
    return _model_of(path), plain_name(path).rpartition("_")[0]


def _model_of(path: Path) -> str:
    folders = [readable_name(folder.name) for folder in path.absolute().parents]
    return next((name for name in folders if name and name not in _GROUPS), "unknown")


LOADER: Final = BFCLLoader()
