"""EvalPlus and CRUXEval: a document of items, each with a list of tries that passed or failed.

Formats: `*_eval_results.json` of evalplus/evalplus at 26d6d00 (`evalplus/evaluate.py`), also as its first versions wrote
it; `sample_scored_<model>_temp<T>_{input,output}.json` of facebookresearch/cruxeval at 190faf1
(`evaluation/evaluate_generations.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, frame_of_shared
from evalstats.loaders.files import JsonMember, iter_json
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, json_text
from evalstats.schema.data import Problem

_EVAL: Final = "eval"
_SCORED: Final = "raw_scored_generations"
_STATUSES: Final = frozenset({"pass", "fail", "timeout"})
# Old results say "success" and "failed".
_OLD: Final = {"success": "pass", "failed": "fail", "timed out": "timeout"}
_EVALPLUS_NAME = re.compile(r"(?P<model>.+?)(?:_temp_(?P<temperature>\d+(?:\.\d+)?))?(?:[-_.]sanitized)?")
_CRUX_NAME = re.compile(
    r"(?:sample_scored_)?(?P<model>.+?)(?:_temp(?P<temperature>\d+(?:\.\d+)?))?_(?P<task>input|output)(?P<cot>_cot)?"
)
_ENDING = re.compile(r"(?:^|[-_.])(?:samples?[-_.])?eval_results$")
_GENERIC: Final = frozenset(
    {"", "sample", "samples", "humaneval", "mbpp", "results", "evalplus_results", "tmp", "output"}
)
_BACKENDS = re.compile(r"_(?:vllm|hf|openai|anthropic|google|bedrock|ollama|gptqmodel|mistral|deepseek)$")
_TASKS: Final = {"HumanEval": "humaneval", "Mbpp": "mbpp"}
_UNNAMED: Final = "the file names no model, so that {}, from its own name, stands for it"
_NO_LIST: Final = "{n} items hold no list of tries and are left out"
_TIMEOUTS: Final = "{n} tries ran out of time and count as failed, as in EvalPlus"
_NO_STATUS: Final = "{n} tries have no status of pass, fail or timeout and are unscored"
_NO_VERDICT: Final = "{n} tries have no verdict (true or false) and are unscored"


@dataclass(slots=True)
class _File:
    """One document: its run, its metrics, and what is worth telling of it."""

    source: Source
    counts: Counter[str] = field(default_factory=Counter[str])
    metrics: dict[str, None] = field(default_factory=dict[str, None])
    n: int = 0
    published: Row = field(default_factory=dict[str, object])

    def ends(self, about: Row, notes: list[str], **run: object) -> Iterator[Rows | Problem]:
        """Yield metrics, run and notes, or refuse a document without tries."""
        if not self.n:
            raise UnreadableFileError(f"{self.source.path}: holds no try of any item; give results that were evaluated")
        benchmark = str(about["benchmark"])
        primary = list(self.metrics)[-1]
        rows = [metric_row(benchmark, metric, primary=metric == primary) for metric in self.metrics]
        yield Rows(table="metrics", rows=rows)
        yield Rows(table="runs", rows=[{**about, **run}])
        yield from self.source.notes([*notes, *told(self.counts)])


class EvalPlusLoader(SingleFileLoader):
    """Loader of EvalPlus results: metrics `base` (the original tests) and `plus` (these and the further ones).

    One row for every try of a task and each metric; `trial` counts tries from 0. A timeout is a failure, as upstream counts
    it. Where only the original tests were run there is no `plus`. Model and temperature are taken from the file's name.
    """

    name = "evalplus"
    title = "EvalPlus results (HumanEval+, MBPP+: *_eval_results.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise tasks with statuses of the base tests."""
        if head.shape != "object" or _EVAL not in head.keys:
            return None
        if '"base_status"' in head.text or ('"nfiles"' in head.text and '"base"' in head.text):
            return Match(confidence=0.95, reason="eval with base_status of every try")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, metrics, the run, and notes."""
        model, temperature, named = _evalplus_name(source)
        notes = [] if named else [_UNNAMED.format(model)]
        about: Row = {"run": source.run_id(), "model": model, "system": model, "benchmark": "EvalPlus"}
        file = _File(source)
        yield _alike(_evalplus(file), about)
        yield from file.ends(
            about,
            notes,
            harness="EvalPlus",
            task_version=as_text(file.published.get("hash")),
            temperature=temperature,
            config=json_text(file.published),
        )


def _evalplus_name(source: Source) -> tuple[str, float | None, bool]:
    """Return the model, its temperature, and whether the file's name or a folder's says them."""
    for name in (source.stem, *(folder.name for folder in source.path.absolute().parents[:2])):
        found = _EVALPLUS_NAME.fullmatch(_ENDING.sub("", as_text(name) or ""))
        if found is not None and found["model"].lower() not in _GENERIC:
            return _BACKENDS.sub("", found["model"]).replace("--", "/"), as_number(found["temperature"]), True
    return source.called, None, False


def _alike(outcomes: Frame, common: Row) -> Frame:
    """Return outcomes with the columns that are alike in every row."""
    alike = [pl.lit(value).alias(name) for name, value in common.items()]
    return Frame(table="outcomes", frame=outcomes.frame.with_columns(alike))


def _evalplus(file: _File) -> Frame:
    tasks: Row = {}
    for part in iter_json(file.source.path):
        if not isinstance(part, JsonMember):
            raise UnreadableFileError(f"{file.source.path}: is a list; an object with eval was expected")
        if part.member == _EVAL:
            tasks = as_dict(part.value)
        elif part.member in {"date", "hash", "pass_at_k"}:
            file.published[part.member] = part.value
    by_task = {task: _tries(tries) for task, tries in tasks.items()}
    further = any(plus is not None for tries in by_task.values() for _, plus in tries or ())
    items, names, trials, rows = list[str](), list[str](), list[int](), list[Row]()
    known: dict[tuple[object, ...], tuple[Counter[str], list[Row]]] = {}
    for task, tries in by_task.items():
        item = as_text(task) or ""
        file.counts[_NO_LIST] += tries is None
        for trial, (base, plus) in enumerate(tries or ()):
            key = (base, plus) if _is_plain(base) and _is_plain(plus) else (held(base), held(plus), "")
            if key not in known:
                known[key] = _verdicts(base, plus, further=further)
            counts, found = known[key]
            file.counts.update(counts)
            items += [item] * len(found)
            trials += [trial] * len(found)
            rows += found
        names += [_TASKS.get(item.partition("/")[0], "")] * (len(items) - len(names))
    file.metrics |= dict.fromkeys(str(row["metric"]) for _, found in known.values() for row in found)
    file.n = len(rows)
    return frame_of_shared({"item": items, "task": names, "trial": trials}, rows, "outcomes")


def _is_plain(status: object) -> bool:
    """Whether a status is one, so that its verdict is that of all like it."""
    return status is None or isinstance(status, str)


def _tries(value: object) -> list[tuple[object, object]] | None:
    """Return the statuses of every try on the base tests and on the further ones; None where there is no list."""
    listed = as_list(value)
    if isinstance(value, list):
        return [(part.get("base_status"), part.get("plus_status")) for part in map(as_dict, listed)]
    found = as_dict(value)
    if not isinstance(found.get("base"), list):
        return None
    base, plus = ([next(iter(as_list(part)), part) for part in as_list(found.get(name))] for name in ("base", "plus"))
    return list(zip_longest(base, plus[: len(base)]))


def _verdicts(base: object, plus: object, *, further: bool) -> tuple[Counter[str], list[Row]]:
    """Return what to tell of a try, its outcome on the base tests, and on all tests unless the further ones were not run."""
    statuses = [_OLD.get(status, status) if isinstance(status, str) else status for status in (base, plus)]
    known = [status if isinstance(status, str) and status in _STATUSES else None for status in statuses]
    counts = Counter({_TIMEOUTS: int("timeout" in known)})
    counts[_NO_STATUS] = int(known[0] is None or (further and known[1] is None))
    rows: list[Row] = [{"metric": "base", **_outcome(known[0], base)}]
    if further:
        # What fails the base tests fails all tests, whatever the further ones say.
        worst = known[0] if known[0] != "pass" else known[1]
        rows.append({"metric": "plus", **_outcome(worst, plus if known[0] == "pass" else base)})
    return counts, rows


def _outcome(status: str | None, raw: object) -> Row:
    if status is None:
        return unscored("no status of the tests", held(raw))
    return scored(float(status == "pass"), value_raw=status)


class CRUXEvalLoader(SingleFileLoader):
    """Loader of CRUXEval's scored generations: metric `correct`, one row for every try, `trial` from 0.

    Task is what was predicted, input or output; it, the model and the temperature stand in the file's name alone.
    """

    name = "cruxeval"
    title = "CRUXEval scored generations (sample_scored_*.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise the scored generations, or the generations that stand before them."""
        if head.shape != "object":
            return None
        if head.keys & {_SCORED, "raw_generations"}:
            return Match(confidence=0.95, reason="raw_generations and their scores")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, the metric, the run, and notes."""
        found = _CRUX_NAME.fullmatch(source.stem)
        notes = (
            []
            if found
            else [_UNNAMED.format(source.stem), "its name does not tell whether input or output was predicted"]
        )
        model = found["model"] if found else source.called
        system = f"{model} (CoT)" if found and found["cot"] else model
        file = _File(source)
        about: Row = {"run": source.run_id(), "model": model, "system": system, "benchmark": "CRUXEval"}
        yield _alike(_cruxeval(file), {**about, "task": found["task"] if found else "", "metric": "correct"})
        file.metrics["correct"] = None
        yield from file.ends(
            about,
            notes,
            harness="CRUXEval",
            temperature=as_number(found["temperature"]) if found else None,
            config=json_text(file.published),
        )


def _cruxeval(file: _File) -> Frame:
    verdicts: Row = {}
    for part in iter_json(file.source.path):
        if not isinstance(part, JsonMember):
            raise UnreadableFileError(f"{file.source.path}: is a list; an object with {_SCORED} was expected")
        if part.member == _SCORED:
            verdicts = as_dict(part.value)
        elif part.member.startswith("pass_at_"):
            file.published[part.member] = as_number(part.value)
    right, wrong = scored(1.0), scored(0.0)
    items, trials, rows = list[str](), list[int](), list[Row]()
    for item, tries in verdicts.items():
        file.counts[_NO_LIST] += not isinstance(tries, list)
        listed = as_list(tries)
        items += [as_text(item) or ""] * len(listed)
        trials += range(len(listed))
        for verdict in listed:
            if isinstance(verdict, bool):
                rows.append(right if verdict else wrong)
            else:
                file.counts[_NO_VERDICT] += 1
                rows.append(unscored("no verdict", held(verdict)))
    file.n = len(rows)
    return frame_of_shared({"item": items, "trial": trials}, rows, "outcomes")


EVALPLUS = EvalPlusLoader()
CRUXEVAL = CRUXEvalLoader()
