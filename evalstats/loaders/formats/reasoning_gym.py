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
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import Struct, convert

from evalstats.loaders.base import Source, plain_name, readable_name
from evalstats.loaders.format import FAILED, Format, FormatFile, Sign
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_count, as_dict, as_number, as_text, as_time, first_line, json_text
from evalstats.schema.data import Problem

_SUMMARY: Final = "summary.json"
_WHOLE: Final = "results.json"
_RUN_FOLDER: Final = re.compile(r"(?P<model>.+?)_\d{8}_\d{6}")
_NO_ANSWER: Final = "no answer stood between the tags, which the benchmark scores itself"
_SILENT: Final = (
    "{n} of {rows} completions give no answer between the tags; they keep the score that the benchmark gave them"
)
_AGAIN: Final = "{n} questions appear in the file more than once; each is an item of its own, numbered #2, #3, ..."
_FEWER: Final = "{n} questions have fewer completions than were asked for, since requests failed; those are missing"
_OF_DATASET: Final = ("name", "category", "config", "system_prompt", "completions_per_prompt")


class _Completion(Struct):
    score: Any = None
    error: Any = None
    model_answer: Any = ""


class _Result(Struct):
    """A question; run, task and category are its dataset's."""

    question: Any = None
    completions: list[_Completion | Plain] | Plain = None
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
    results: list[_Result | Plain] | Plain = None


class _Record(_Result):
    """A question of a dataset, or a category of a whole run with its datasets."""

    datasets: list[_Dataset | Plain] | None = None


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Put each dataset together with the summary of its run; `--full-results` writes all datasets once more."""
    summaries = {path.parent: path for path in files if plain_name(path) == _SUMMARY}
    results = [path for path in files if plain_name(path) != _SUMMARY]
    used: set[Path] = set()
    for path in results:
        if plain_name(path) == _WHOLE and any(path.parent in other.parents for other in results if other != path):
            continue
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
    about = convert({name: file.members[name] for name in _OF_DATASET if name in file.members}, _Dataset)
    asked: list[tuple[_Dataset, str, _Result, str]] = []
    for record, place in zip(records, file.locators, strict=True):
        if record.datasets is None:
            asked.append((about, "", record, place))
        for at, dataset in enumerate(record.datasets or ()):
            where = f"{place}.datasets[{at}]"
            if not isinstance(dataset, _Dataset) or not isinstance(dataset.results, list) or not dataset.results:
                file.leave_out("a dataset without results", where)
                continue
            results = [each if isinstance(each, _Result) else _Result() for each in dataset.results]
            part = as_text(dataset.name) or file.source.stem
            asked += [(dataset, part, each, f"{where}.results[{n}]") for n, each in enumerate(results)]
    runs = {
        part: _run(dataset, file, part) for part, dataset in {part: dataset for dataset, part, _, _ in asked}.items()
    }
    for dataset, part, result, _ in asked:
        result.run, wanted = runs[part]
        result.task, result.category = as_text(dataset.name) or file.source.stem, as_text(dataset.category)
        completions = result.completions if isinstance(result.completions, list) else []
        file.count(_FEWER, bool(completions) and wanted is not None and len(completions) < wanted)
        failed = first_line(result.error) or "the question has no completion"
        result.completions = completions or [_Completion(error=failed)]
    return [result for _, _, result, _ in asked], [place for *_, place in asked]


def _arranged(frame: pl.DataFrame, file: FormatFile[_Record]) -> pl.DataFrame:
    again = file.trials(frame.select("run", "item", "trial"))
    file.count(_AGAIN, int(((again > 0) & (frame["trial"] == 0)).sum()))
    return frame.with_columns(
        item=pl.when(again > 0).then(pl.format("{}#{}", "item", again + 1)).otherwise("item"),
        status_reason=pl.when(pl.col("_answer").is_null()).then(pl.lit(_NO_ANSWER)),
    )


_FAILURES: Final = (
    "{n} completions could not be scored; they are harness errors here, and the benchmark's own mean counts them as 0"
)
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
    fields={
        "run": "run",
        "item": lambda result: _item(result.question),
        "task": "task",
        "scenario": "category",
        "error": "completions[].error",
        "_answer": "completions[].model_answer",
    },
    scores={"score": "completions[].score"},
    arranged=_arranged,
    at=("results", "categories"),
    keep=("metadata", *_OF_DATASET, _SUMMARY),
    called="questions",
    grouped=_grouped,
    metrics={"score": {"kind": "bounded", "low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
    counts={
        _SILENT: pl.col("status_reason") == _NO_ANSWER,
        _FAILURES: FAILED,
    },
    naming="The model stands in summary.json or in the name of a folder (<model>_<date>_<time>) only",
    expected="A dataset with results, or a whole run, was expected; of a dataset that failed, its `error` says why",
)
