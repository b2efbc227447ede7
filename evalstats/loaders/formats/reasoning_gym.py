"""Reasoning Gym: several completions of every generated question, each with a score from 0 to 1.

Read is `<model>_<time>/<category>/<dataset>.json` with `summary.json` beside the categories, and `results.json` with a whole run
(`training/evaluations`); one run for every dataset. The task is the dataset, the trial the completion. Questions are generated
from a seed, and not always alike: of datasets whose seed and size agree, some were published with other questions for each model.
Items are therefore hashes of the questions, and a note says where files of one configuration hold different ones. `task_version`
is a hash of the configuration, so that an easy and a hard dataset are told apart.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, cast

from msgspec import UNSET, Struct, convert

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Source, plain_name, read_head, readable_name
from evalstats.loaders.files import JsonItem, iter_json
from evalstats.loaders.format import Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.rows import Row, Said, as_row, held, unscored
from evalstats.loaders.values import as_count, as_dict, as_number, as_text, as_time, first_line, json_text
from evalstats.schema.data import Problem

_WHOLE: Final = frozenset({"metadata", "categories"})
_SUMMARY: Final = "summary.json"
_RUN_FOLDER: Final = re.compile(r"(?P<model>.+?)_\d{8}_\d{6}")
_HASH_CHARS: Final = 12
_NO_ANSWER: Final = "no answer stood between the tags, which the benchmark scores itself"
_SILENT: Final = (
    "{n} of {rows} completions give no answer between the tags; they keep the score that the benchmark gave them"
)
_FAILED: Final = (
    "{n} completions could not be scored; they are harness errors here, and the benchmark's own mean counts them as 0"
)
_AGAIN: Final = "{n} questions appear in the file more than once; each is an item of its own, numbered #2, #3, ..."
_FEWER: Final = "{n} questions have fewer completions than were asked for, since requests failed; those are missing"
_NO_MODEL: Final = (
    "the model stands in summary.json or in the name of a folder (<model>_<date>_<time>) only; neither was found, and it is "
    "called {!r}"
)


class _Completion(Struct):
    score: Any = None
    error: Any = None
    model_answer: Any = UNSET


class _Result(Struct):
    question: Any = None
    completions: list[_Completion | Scalar] | Scalar = None
    error: Any = None
    mean_score: Any = None


class _Dataset(Struct):
    name: Any = None
    category: Any = None
    config: Any = None
    system_prompt: Any = None
    completions_per_prompt: Any = UNSET
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
    """Put each dataset together with the summary of its run, and tell where one configuration has several item lists."""
    summaries = {path.parent: path for path in files if plain_name(path) == _SUMMARY}
    whole = [path for path in files if plain_name(path) != _SUMMARY and _is_whole(path)]
    datasets = [path for path in files if plain_name(path) != _SUMMARY and path not in whole]
    for path in whole:
        # `--full-results` writes all datasets once more.
        if not any(path.parent in dataset.parents for dataset in datasets):
            yield Source(path=path)
    beside = {path: next((summaries[up] for up in path.parents[:2] if up in summaries), None) for path in datasets}
    yield from _misaligned(datasets)
    for path, summary in beside.items():
        yield Source(path=path, companions=(summary,) if summary else ())
    for summary in summaries.values():
        if summary not in beside.values():
            message = "holds only the averages of a run; give the folder that it lies in, with the datasets"
            yield Problem(path=str(summary), message=message)


def _misaligned(paths: Sequence[Path]) -> Iterator[Problem]:
    """Compare the questions of files whose dataset and configuration agree."""
    groups: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in paths:
        try:
            head = read_head(path).members
        except UnreadableFileError:
            continue  # reading it says why
        groups[as_text(head.get("name")) or "", _configuration(head.get("config"))].append(path)
    for (dataset, _), files in groups.items():
        lists = {path: found for path in files if len(files) > 1 and (found := _questions(path))}
        distinct = set(lists.values())
        if len(distinct) > 1:
            shared = set[str].intersection(*(set(found) for found in distinct))
            message = (
                f"{dataset}: {len(lists)} files with one configuration hold {len(distinct)} different lists of questions; only "
                f"the {len(shared)} that stand in all of them pair every model ({comma_list(map(plain_name, lists), 3)})"
            )
            yield from Source(path=files[0]).notes([message])


def _questions(path: Path) -> tuple[str, ...]:
    try:
        parts = [part.value for part in iter_json(path, arrays=("results",)) if isinstance(part, JsonItem)]
    except UnreadableFileError:
        return ()
    return tuple(_item(as_dict(result).get("question")) for result in parts)


def _item(question: object) -> str:
    text = question if isinstance(question, str) else json_text(question)
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:_HASH_CHARS]


def _configuration(config: object) -> str:
    return hashlib.sha1(json_text(config).encode(), usedforsecurity=False).hexdigest()[:8]


def _model_of(source: Source) -> str | None:
    """Read the model out of the folder of the run, or out of a name that was joined from folders by two underscores."""
    names = [*source.stem.split("__"), *(readable_name(folder.name) for folder in source.path.absolute().parents[:2])]
    return next((found["model"] for name in names if (found := _RUN_FOLDER.fullmatch(name))), None)


def _rows(record: _Record, file: FormatFile[_Record]) -> Iterator[Sample]:
    if record.datasets is None:
        if _RUN not in file.kept:
            file.kept[_RUN] = _run(_dataset(file), file, "")
        run, shared, wanted = cast("tuple[str, Row, int | None]", file.kept[_RUN])
        yield from _of_result(record, file.locator, file, run, shared, wanted)
        return
    for at, dataset in enumerate(record.datasets):
        if not isinstance(dataset, _Dataset):
            continue
        results = dataset.results if isinstance(dataset.results, list) else []
        if not results:
            file.problems += file.source.notes([_nothing(dataset)], "error")
            continue
        run, shared, wanted = _run(dataset, file, as_text(dataset.name) or file.source.stem)
        for place, result in enumerate(results):
            found = result if isinstance(result, _Result) else _Result()
            yield from _of_result(found, f"{file.locator}.datasets[{at}].results[{place}]", file, run, shared, wanted)


_RUN: Final = "run"
_OF_DATASET: Final = ("name", "category", "config", "system_prompt", "completions_per_prompt", "error")


def _dataset(file: FormatFile[_Record]) -> _Dataset:
    """Return what the file says of its dataset beside the results."""
    return convert({name: file.members[name] for name in _OF_DATASET if name in file.members}, _Dataset)


def _nothing(dataset: _Dataset) -> str:
    failed = first_line(dataset.error)
    why = f"the harness failed on it: {failed}" if failed else "it has no results"
    return f"holds no question of {dataset.name!r} ({why}); leave it out or run it again"


def _run(dataset: _Dataset, file: FormatFile[_Record], part: str) -> tuple[str, Row, int | None]:
    """Return the run of a dataset, what its outcomes share, and how many completions were asked for."""
    summary = as_dict(file.members.get("metadata")) or file.facts
    model = as_text(summary.get("model")) or _model_of(file.source)
    name = model or file.source.stem
    if model is None:
        file.note(_NO_MODEL.format(name))
    parts = [model or "", part]
    asked = dataset.completions_per_prompt
    wanted = as_count(summary.get("eval_repeats") if asked is UNSET else asked)
    shared: Row = {"task": as_text(dataset.name) or file.source.stem, "scenario": as_text(dataset.category)}
    prompt = as_text(dataset.system_prompt)
    kept = {key: value for key, value in summary.items() if key in {"provider", "max_tokens", "top_p", "git_hash"}}
    run = file.run(
        name,
        *parts,
        harness_version=as_text(summary.get("git_hash")),
        task_version=_configuration(dataset.config),
        prompt_hash=hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16] if prompt else None,
        temperature=as_number(summary.get("temperature")),
        timestamp=as_time(summary.get("timestamp")),
        config=json_text({**kept, "config": dataset.config, "completions": None if asked is UNSET else asked}),
    )
    return run, shared, wanted


def _of_result(  # noqa: PLR0917 - a question, where it stands, and what is known of its dataset
    result: _Result, place: str, file: FormatFile[_Record], run: str, shared: Row, wanted: int | None
) -> Iterator[Sample]:
    item = _item(result.question if result.question is not None else place)
    n = file.trial(run, item)
    file.count(_AGAIN, n > 0)
    about: Row = {"run": run, **shared, "item": f"{item}#{n + 1}" if n else item}
    completions = result.completions if isinstance(result.completions, list) else []
    if not completions:
        reason = first_line(result.error) or "the question has no completion"
        lost = unscored(reason, held(result.mean_score), error=True)
        yield {**about, "trial": 0, "locator": place}, [("score", lost)]
    for trial, completion in enumerate(completions):
        outcome = _scored(completion if isinstance(completion, _Completion) else _Completion())
        file.count(_SILENT, isinstance(outcome, dict) and outcome["status_reason"] == _NO_ANSWER)
        locator = f"{place}.completions[{trial}]"
        yield {**about, "trial": trial, "locator": locator}, [("score", outcome)]
    file.count(_FEWER, bool(completions) and wanted is not None and len(completions) < wanted)


def _scored(completion: _Completion) -> Said:
    if completion.error is not None:
        reason = first_line(completion.error) or "an error without words"
        return unscored(reason, held(completion.score), error=True)
    found = number(completion.score, 0.0, 1.0)
    said = as_row(found)
    silent = said["status"] == "scored" and completion.model_answer is None
    return {**said, "status_reason": _NO_ANSWER} if silent else found


def _finish(file: FormatFile[_Record]) -> None:
    if not file.runs and file.head.shape == "object":
        nothing = "holds no dataset with results; the results of a run were expected"
        message = nothing if file.head.keys >= _WHOLE else _nothing(_dataset(file))
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
    rows=_rows,
    lists=("results", "categories"),
    keep=("metadata", *_OF_DATASET),
    called="questions",
    facts=(_SUMMARY,),
    grouped=_grouped,
    metrics={"score": {"kind": "bounded", "low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
    failed=_FAILED,
    finish=_finish,
)
