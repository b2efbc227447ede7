"""lighteval's details: a Parquet file for each task with a row for each example, as the first Open LLM Leaderboard keeps them.

Format: `details_<task>_<time>.parquet` of huggingface/lighteval (`logging/info_loggers.py: DetailsLogger.Detail`), with the
columns example, full_prompt, choices, gold_index and metrics, or since 2025 doc, model_response and metric. The results beside
them are read by the lm-eval loader.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.base import plain_name, readable_name
from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.lm_eval_results import day_of_stamp, parse_key
from evalstats.loaders.open_llm_scores import V1_METRICS
from evalstats.loaders.rows import Row, Said, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, json_text

_HASH_CHARS: Final = 16
_STAMP: Final = r"\d{4}-\d{2}-\d{2}T\d{2}[-:]\d{2}[-:]\d{2}(?:\.\d+)?"
_NAME: Final = re.compile(rf"details_(?P<task>.+?)(?:_(?P<stamp>{_STAMP}))?\.parquet")
_DATED: Final = re.compile(_STAMP)
_PREFIX: Final = "details_"
_SUITES: Final = frozenset({
    "bigbench", "community", "custom", "extended", "harness", "helm", "leaderboard", "lighteval", "multilingual", "original",
})  # fmt: skip

_AGAIN: Final = "{n} examples appear in the file more than once; each is an item of its own, numbered #2, #3, ..."
_NO_SCORE: Final = "{n} values of metrics are no single numbers and are unscored"


class _Example(Struct):
    example: Any = None
    choices: Any = None
    metrics: Any = None
    doc: Any = None
    metric: Any = None


def _rows(record: _Example, file: FormatFile[_Example]) -> Iterator[Sample]:
    """Read an example. Its item is a digest of the question and its options, so that it is the same for every model."""
    if not file.kept:
        file.kept.update(_about(file))
    doc = as_dict(record.doc)
    question, choices = (doc.get("query"), doc.get("choices")) if doc else (record.example, record.choices)
    text = json.dumps([as_text(question), [as_text(choice) for choice in as_list(choices)]], default=str)
    item = hashlib.sha256(text.encode()).hexdigest()[:_HASH_CHARS]
    number = file.trial(item)
    file.count(_AGAIN, number > 0)
    outcomes: list[tuple[str, Said]] = []
    for metric, value in as_dict(record.metric if doc else record.metrics).items():
        outcomes.append((metric, _outcome(value)))
        file.count(_NO_SCORE, not isinstance(outcomes[-1][1], float))
    yield {**file.kept, "item": f"{item}#{number + 1}" if number else item}, outcomes


def _about(file: FormatFile[_Example]) -> Row:
    """Return run and task of a file: model, task and number of examples in the prompt are in the names of folder and file."""
    named = _NAME.fullmatch(plain_name(file.path))
    task = readable_name(named["task"]) if named else file.source.stem
    benchmark, part, n_shots = _task_of(task)
    if benchmark in V1_METRICS:
        file.metric(V1_METRICS[benchmark], primary=True)
    day = day_of_stamp(named["stamp"] or "") if named else None
    config = json_text({"task": task, "day": day.isoformat() if day else None})
    run = file.run(_model_of(file.path), "", benchmark=benchmark, n_shots=n_shots, config=config)
    return {"run": run, "task": part}


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


def _outcome(value: object) -> Said:
    inner = as_list(value)
    number = as_number(inner[0] if len(inner) == 1 else value)
    if number is not None:
        return number
    raw = str(value)[:200] if value is not None else None  # a date in a damaged file has no JSON
    return unscored("there is no score" if value is None else "the value is no single number", raw)


FORMAT: Final = Format(
    name="lighteval",
    title="lighteval and Open LLM Leaderboard v1 details (details_*.parquet)",
    version="1",
    upstream="huggingface/lighteval, src/lighteval/logging/info_loggers.py: DetailsLogger.Detail",
    benchmark="lighteval",
    harness="lighteval",
    signs=(
        Sign("example full_prompt metrics", 0.9, shapes=("parquet",)),
        Sign("doc model_response metric", 0.9, shapes=("parquet",)),
    ),
    record=_Example,
    rows=_rows,
    called="examples",
    expected="A row for each example with its metrics was expected; the file may be of a run that was cut off",
    naming=("The model is named only by a folder: details_<org>__<model>/<time>/, or <org>/<model>/<time>/"),
)
