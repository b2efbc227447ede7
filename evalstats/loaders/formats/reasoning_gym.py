"""Reasoning Gym: several completions of every generated question, each with a score from 0 to 1.

Read is `<model>_<time>/<category>/<dataset>.json` with `summary.json` beside the categories, and `results.json` with a whole run
(`training/evaluations`); one run for every dataset. The task is the dataset, the trial the completion. Questions are generated
from a seed, and not always alike: of datasets whose seed and size agree, some were published with other questions for each model.
Items are therefore hashes of the questions. `task_version` is a hash of the configuration, so that an easy and a hard dataset are
told apart.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct, convert

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, plain_name, read_head, readable_name
from evalstats.loaders.format import Format, FormatFile, Scalar, Sign
from evalstats.loaders.values import as_count, as_dict, as_number, as_text, as_time, first_line, json_text
from evalstats.schema.data import Problem

_WHOLE: Final = frozenset({"metadata", "categories"})
_SUMMARY: Final = "summary.json"
_RUN_FOLDER: Final = re.compile(r"(?P<model>.+?)_\d{8}_\d{6}")
_NO_ANSWER: Final = "no answer stood between the tags, which the benchmark scores itself"
_SILENT: Final = (
    "{n} of {rows} completions give no answer between the tags; they keep the score that the benchmark gave them"
)
_AGAIN: Final = "{n} questions appear in the file more than once; each is an item of its own, numbered #2, #3, ..."
_FEWER: Final = "{n} questions have fewer completions than were asked for, since requests failed; those are missing"
_OF_DATASET: Final = ("name", "category", "config", "system_prompt", "completions_per_prompt", "error")


class _Completion(Struct):
    score: Any = None
    error: Any = None
    model_answer: Any = ""


class _Result(Struct):
    """A question; run, task and category are its dataset's."""

    question: Any = None
    completions: list[_Completion | Scalar] | Scalar = None
    error: Any = None
    run: str = ""
    task: str = ""
    category: str | None = None


class _Dataset(Struct):
    name: Any = None
    category: Any = None
    config: Any = None
    system_prompt: Any = None
    completions_per_prompt: Any = None
    error: Any = None
    results: list[_Result | Scalar] | Scalar = None


class _Record(_Result):
    """A question of a dataset, or a category of a whole run with its datasets."""

    datasets: list[_Dataset | Scalar] | None = None


def _is_whole(path: Path) -> bool:
    """Whether a file holds a whole run: its datasets by category."""
    try:
        return read_head(path).keys >= _WHOLE
    except UnreadableFileError:
        return False  # reading it says why


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Put each dataset together with the summary of its run; `--full-results` writes all datasets once more."""
    summaries = {path.parent: path for path in files if plain_name(path) == _SUMMARY}
    others = {path: _is_whole(path) for path in files if plain_name(path) != _SUMMARY}
    datasets = [path for path, whole in others.items() if not whole]
    used: set[Path] = set()
    for path, whole in others.items():
        if whole and not any(path.parent in dataset.parents for dataset in datasets):
            yield Source(path=path)
    for path in datasets:
        beside = [summaries[up] for up in path.parents[:2] if up in summaries][:1]
        used |= {*beside}
        yield Source(path=path, companions=(*beside,))
    for summary in summaries.values():
        if summary not in used:
            message = "holds only the averages of a run; give the folder that it lies in, with the datasets"
            yield Problem(path=str(summary), message=message)


def _item(question: object) -> str:
    text = question if isinstance(question, str) else json_text(question)
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:12]


def _nothing(dataset: _Dataset) -> str:
    failed = first_line(dataset.error)
    why = f"the harness failed on it: {failed}" if failed else "it has no results"
    return f"holds no question of {dataset.name!r} ({why}); leave it out or run it again"


def _run(dataset: _Dataset, file: FormatFile[_Record], part: str) -> tuple[str, int | None]:
    """Return the run of a dataset, and how many completions were asked for."""
    summary = as_dict(file.members.get("metadata")) or file.facts
    asked, prompt = dataset.completions_per_prompt, as_text(dataset.system_prompt)
    # Else the model is in the folder of the run, or in a name that was joined from folders by two underscores.
    folders = (readable_name(folder.name) for folder in file.source.path.absolute().parents[:2])
    names = map(_RUN_FOLDER.fullmatch, (*file.source.stem.split("__"), *folders))
    model = as_text(summary.get("model")) or next((found["model"] for found in names if found), None)
    run = file.run(
        model,
        model or "",
        part,
        harness_version=as_text(summary.get("git_hash")),
        task_version=hashlib.sha1(json_text(dataset.config).encode(), usedforsecurity=False).hexdigest()[:8],
        prompt_hash=hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16] if prompt else None,
        temperature=as_number(summary.get("temperature")),
        timestamp=as_time(summary.get("timestamp")),
        config={
            **{key: summary.get(key) for key in ("provider", "max_tokens", "top_p", "git_hash")},
            "config": dataset.config,
            "completions": asked,
        },
    )
    return run, as_count(summary.get("eval_repeats") if asked is None else asked)


def _questions(records: list[_Record], file: FormatFile[_Record]) -> tuple[list[_Result], list[str]]:
    """Return the questions of a dataset, or of all datasets of a run; one without a completion has one that failed."""
    found: list[_Result] = []
    places: list[str] = []
    about = convert({name: file.members[name] for name in _OF_DATASET if name in file.members}, _Dataset)
    own = [record.datasets is None for record in records]
    _take(about, compress(records, own), "", file, found)
    places += compress(file.locators, own)
    for record, place in zip(records, file.locators, strict=True):
        for at, dataset in enumerate(record.datasets or ()):
            results = dataset.results if isinstance(dataset, _Dataset) and isinstance(dataset.results, list) else []
            if isinstance(dataset, _Dataset) and results:
                _take(dataset, results, as_text(dataset.name) or file.source.stem, file, found)
                places += [f"{place}.datasets[{at}].results[{n}]" for n in range(len(results))]
            elif isinstance(dataset, _Dataset):
                file.problems += file.source.notes([_nothing(dataset)], "error")
    return found, places


def _take(
    dataset: _Dataset, results: Iterable[_Result | Scalar], part: str, file: FormatFile[_Record], found: list[_Result]
) -> None:
    run, wanted, task = "", None, as_text(dataset.name) or file.source.stem
    for each in results:
        if not run:
            run, wanted = _run(dataset, file, part)
        result = each if isinstance(each, _Result) else _Result()
        result.run, result.task, result.category = run, task, as_text(dataset.category)
        completions = result.completions if isinstance(result.completions, list) else []
        file.count(_FEWER, bool(completions) and wanted is not None and len(completions) < wanted)
        failed = first_line(result.error) or "the question has no completion"
        result.completions = completions or [_Completion(error=failed)]
        found.append(result)


def _arranged(frame: pl.DataFrame, file: FormatFile[_Record]) -> pl.DataFrame:
    again = file.trials(frame.select("run", "item", "trial"))
    file.count(_AGAIN, int(((again > 0) & (frame["trial"] == 0)).sum()))
    return frame.with_columns(
        item=pl.when(again > 0).then(pl.format("{}#{}", "item", again + 1)).otherwise("item"),
        status_reason=pl.when(pl.col("_answer").is_null()).then(pl.lit(_NO_ANSWER)),
    )


def _finish(file: FormatFile[_Record]) -> None:
    if not file.runs and file.head.shape == "object":
        about = {name: file.members[name] for name in _OF_DATASET if name in file.members}
        nothing = "holds no dataset with results; the results of a run were expected"
        message = nothing if file.head.keys >= _WHOLE else _nothing(convert(about, _Dataset))
        raise UnreadableFileError(f"{file.source.path}: {message}")


FORMAT: Final = Format(
    name="reasoning-gym",
    title="Reasoning Gym results (<category>/<dataset>.json, summary.json, results.json)",
    version="2",
    upstream="open-thought/reasoning-gym at 0508141, eval/eval.py and training/evaluations",
    benchmark="Reasoning Gym",
    harness="reasoning-gym",
    signs=(
        Sign(
            "name category config completions_per_prompt",
            0.95,
            some="results average_mean_score",
            shapes=("object", "lines"),
        ),
        Sign("metadata categories", 0.95, text=('"datasets"', '"average_'), shapes=("object", "lines")),
        Sign("total_datasets dataset_best_scores dataset_mean_scores", 0.95, shapes=("object", "lines")),
    ),
    record=_Record,
    inner=_questions,
    each="completions",
    fields={
        "run": "run",
        "task": "task",
        "scenario": "category",
        "error": "completions.error",
        "_answer": "completions.model_answer",
    },
    scores={"score": "completions.score"},
    asked=("question",),
    identity=_item,
    arranged=_arranged,
    lists=("results", "categories"),
    keep=("metadata", *_OF_DATASET),
    called="questions",
    facts=(_SUMMARY,),
    grouped=_grouped,
    metrics={"score": {"kind": "bounded", "low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
    failed=(
        "{n} completions could not be scored; they are harness errors here, and the benchmark's own mean counts them as 0"
    ),
    counts={_SILENT: pl.col("status_reason") == _NO_ANSWER},
    naming="The model stands in summary.json or in the name of a folder (<model>_<date>_<time>) only",
    finish=_finish,
)
