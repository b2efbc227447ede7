"""lighteval's details: a Parquet file for each task with a row for each example, as the first Open LLM Leaderboard keeps them.

Format: `details_<task>_<time>.parquet` of huggingface/lighteval (`logging/info_loggers.py: DetailsLogger.Detail`), with the
columns example, full_prompt, choices, gold_index and metrics, or since 2025 doc, model_response and metric. The results beside
them are read by the lm-eval loader.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, plain_name, readable_name
from evalstats.loaders.lm_eval import day_of_stamp
from evalstats.loaders.lm_eval_results import parse_key
from evalstats.loaders.open_llm_scores import V1_METRICS
from evalstats.loaders.records import Repeats, parquet_records
from evalstats.loaders.rows import Ranges, Row, scored, told, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, json_text
from evalstats.schema.data import Problem

_OLD: Final = frozenset({"example", "full_prompt", "metrics"})
_NEW: Final = frozenset({"doc", "model_response", "metric"})
_KEPT: Final = ("example", "choices", "metrics", "doc", "metric")
_HASH_CHARS: Final = 16
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_NAME: Final = re.compile(rf"details_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.parquet")
_DATED: Final = re.compile(_STAMP)
_PREFIX: Final = "details_"
_SUITES: Final = frozenset(
    {
        "bigbench",
        "community",
        "custom",
        "extended",
        "harness",
        "helm",
        "leaderboard",
        "lighteval",
        "multilingual",
        "original",
    }
)

_AGAIN: Final = "{n} examples stand in the file more than once; each is an item of its own, numbered #2, #3, ..."
_NO_SCORE: Final = "{n} values of metrics are no single numbers and are unscored"
_NO_MODEL: Final = (
    "the model stands in the name of a folder only (details_<org>__<model>/<time>/, or <org>/<model>/<time>/), and the file lies "
    "in none such; it is called {model!r}"
)


class LightevalDetailsLoader(SingleFileLoader):
    """Loader of lighteval's details; one run for each file, which is one model on one task.

    The item is a digest of the question and its options, so that it is the same for every model. Model, task and number of
    examples in the prompt are in the names of folder and file.
    """

    name = "lighteval"
    title = "lighteval and Open LLM Leaderboard v1 details (details_*.parquet)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise the columns of a detail."""
        if head.shape != "parquet" or not (frozenset(head.columns) >= _OLD or frozenset(head.columns) >= _NEW):
            return None
        return Match(confidence=0.9, reason="a row for each example with its prompt and metrics")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes in batches, the metrics, the run and notes."""
        named = _NAME.fullmatch(plain_name(source.path))
        task = readable_name(named["task"]) if named else source.stem
        benchmark, part, n_shots = _task_of(task)
        model = _model_of(source.path)
        run = source.run_id()
        name = model or source.stem
        common: Row = {
            "run": run,
            "model": name,
            "system": name,
            "benchmark": benchmark,
            "task": part,
            "setting": "lab",
        }
        counts, ranges = Counter[str](), Ranges()
        yield from in_batches(_rows(source, common, ranges, counts), "outcomes")
        if not tuple(ranges):
            raise UnreadableFileError(
                f"{source.path}: holds no example with a metric; it may be of a run that was cut off"
            )
        headline = V1_METRICS.get(benchmark)
        yield Rows(table="metrics", rows=[ranges.row(of, metric, primary=metric == headline) for of, metric in ranges])
        about: Row = {**{k: common[k] for k in ("run", "model", "system", "benchmark")}, "n_shots": n_shots}
        day = day_of_stamp(named["stamp"] or "") if named else None
        config = json_text({"task": task, "day": day.isoformat() if day else None})
        yield Rows(table="runs", rows=[{**about, "harness": "lighteval", "config": config}])
        yield from source.notes(told(counts))
        if model is None:
            yield from source.notes([_NO_MODEL.format(model=name)])


def _task_of(name: str) -> tuple[str, str, int | None]:
    """Return benchmark, task and number of examples in the prompt; a suite before them says nothing.

    >>> _task_of("harness|arc:challenge|25"), _task_of("agieval__aqua-rat__0"), _task_of("mine")
    (('arc', 'challenge', 25), ('agieval', 'aqua-rat', 0), ('mine', '', None))
    """
    parts = name.split("|" if "|" in name else "__")  # where a file name takes no "|", both that and ":" became "__"
    n_shots = as_count(parts[-1]) if len(parts) > 1 else None
    parts = parts if n_shots is None else parts[:-1]
    parts = parts[1:] if len(parts) > 1 and parts[0] in _SUITES else parts
    key = parse_key(f"|{':'.join(parts)}|")
    return (key.benchmark, key.task, n_shots) if key else (name, "", n_shots)


def _model_of(path: Path) -> str | None:
    """Return the model that a folder above the file is named after."""
    folders = [readable_name(part.name) for part in path.absolute().parents[:3]]
    dated = bool(folders) and _DATED.fullmatch(folders[0]) is not None
    folders = folders[1:] if dated else folders
    if folders and folders[0].startswith(_PREFIX):
        return folders[0].removeprefix(_PREFIX).replace("__", "/", 1) or None
    return "/".join(reversed(folders[:2])) if dated and len(folders) > 1 else None


def _rows(source: Source, common: Row, ranges: Ranges, counts: Counter[str]) -> Iterator[Row]:
    repeats = Repeats()
    for place, record in parquet_records(source.path, _KEPT):
        doc = as_dict(record.get("doc"))
        question = doc.get("query") if doc else record.get("example")
        choices = doc.get("choices") if doc else record.get("choices")
        text = json.dumps([as_text(question), [as_text(choice) for choice in as_list(choices)]], default=str)
        item = hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARS]
        number = repeats.next(item)
        counts[_AGAIN] += number > 0
        row = {**common, "item": f"{item}#{number + 1}" if number else item, "trial": 0, "n_trials": 1}
        for metric, value in as_dict(record.get("metric") if doc else record.get("metrics")).items():
            outcome = _outcome(value)
            counts[_NO_SCORE] += outcome["status"] != "scored"
            ranges.add(str(common["benchmark"]), metric, as_number(outcome.get("score")))
            yield {**row, "metric": metric, "locator": f"row {place}", **outcome}


def _outcome(value: object) -> Row:
    inner = as_list(value)
    number = as_number(inner[0] if len(inner) == 1 else value)
    if number is not None:
        return scored(number)
    raw = str(value)[:200] if value is not None else None  # a date in a damaged file has no JSON
    return unscored("there is no score" if value is None else "the value is no single number", raw)


LOADER: Final = LightevalDetailsLoader()
