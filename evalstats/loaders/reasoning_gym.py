"""Reasoning Gym: several completions of every generated question, each with a score from 0 to 1.

Format: `<model>_<time>/<category>/<dataset>.json` and `summary.json` beside the categories, as `eval/eval.py` of
open-thought/reasoning-gym at 0508141 writes them, and `results.json` with a whole run, as `training/evaluations` does. Questions
are generated from a seed, and not always alike: of datasets whose seed and size agree, some were published with other questions
for each model. Items are therefore hashes of the questions.
"""

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_frames, plain_name, read_head, readable_name
from evalstats.loaders.files import JsonItem, iter_json, load_json
from evalstats.loaders.records import Repeats
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import (
    as_count,
    as_dict,
    as_list,
    as_number,
    as_text,
    as_time,
    dicts,
    first_line,
    json_text,
)
from evalstats.schema.data import Problem

_BENCHMARK: Final = "Reasoning Gym"
_KEYS: Final = frozenset({"name", "category", "config", "completions_per_prompt"})
_WHOLE: Final = frozenset({"metadata", "categories"})
_SUMMARY: Final = "summary.json"
_RUN_FOLDER: Final = re.compile(r"(?P<model>.+?)_\d{8}_\d{6}")
_HASH_CHARS: Final = 12
_NO_ANSWER: Final = "no answer stood between the tags, which the benchmark scores itself"
_SILENT: Final = (
    "{n} of {all} completions give no answer between the tags; they keep the score that the benchmark gave them"
)
_FAILED: Final = (
    "{n} completions could not be scored; they are harness errors here, and the benchmark's own mean counts them as 0"
)
_AGAIN: Final = "{n} questions stand in the file more than once; each is an item of its own, numbered #2, #3, ..."
_FEWER: Final = "{n} questions have fewer completions than were asked for, since requests failed; those are missing"
_NO_MODEL: Final = (
    "the model stands in summary.json or in the name of a folder (<model>_<date>_<time>) only; neither was found, and it is "
    "called {name!r}"
)


class ReasoningGymLoader:
    """Loader of Reasoning Gym's results; one run for every dataset.

    The task is the dataset, the item a hash of the question, the trial the completion; metric `score`. `task_version` is a
    hash of the dataset's configuration, so that an easy and a hard one are told apart. Where files of one configuration hold
    different questions, a note says so.
    """

    name = "reasoning-gym"
    title = "Reasoning Gym results (<category>/<dataset>.json, summary.json, results.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a dataset's results, or the summary of a run."""
        if head.shape not in {"object", "lines"}:
            return None
        if head.keys >= _KEYS and head.keys & {"results", "average_mean_score"}:
            return Match(confidence=0.95, reason="name, category, config, completions_per_prompt and results")
        if head.keys >= _WHOLE and '"datasets"' in head.text and '"average_' in head.text:
            return Match(confidence=0.95, reason="metadata and categories of datasets with their averages")
        if head.keys >= {"total_datasets", "dataset_best_scores", "dataset_mean_scores"}:
            return Match(confidence=0.95, reason="total_datasets, dataset_best_scores and dataset_mean_scores")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
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

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the metric, the runs and notes."""
        counts, runs = Counter[str](), list[Row]()
        model, n = None, 0
        for about, summary, results in _datasets(source):
            model = as_text(summary.get("model")) or _model_of(source)
            dataset = as_text(about.get("name")) or source.stem
            name = model or source.stem
            parts = [*([name] if model else []), *([dataset] if _is_whole(source.path) else [])]
            common: Row = {"run": source.run_id(*parts), "model": name, "system": name, "benchmark": _BENCHMARK}
            wanted = as_count(about.get("completions_per_prompt", summary.get("eval_repeats")))
            alike = {
                **common,
                "task": dataset,
                "scenario": as_text(about.get("category")),
                "n_trials": 1,
                "metric": "score",
            }
            held_here = 0
            for batch in in_frames(_rows(results, wanted, counts), "outcomes", alike):
                held_here += batch.frame.height
                yield batch
            if not held_here:
                failed = first_line(about.get("error"))
                why = f"the harness failed on it: {failed}" if failed else "it has no results"
                message = f"holds no question of {dataset!r} ({why}); leave it out or run it again"
                if not _is_whole(source.path):
                    raise UnreadableFileError(f"{source.path}: {message}")
                yield from source.notes([message], "error")
                continue
            n += held_here
            runs.append(_run_row(common, about, summary))
        if not runs:
            raise UnreadableFileError(
                f"{source.path}: holds no dataset with results; the results of a run were expected"
            )
        yield Rows(table="metrics", rows=[metric_row(_BENCHMARK, "score", "bounded", primary=True)])
        yield Rows(table="runs", rows=runs)
        yield from source.notes(told(counts, all=n))
        if model is None:
            yield from source.notes([_NO_MODEL.format(name=source.stem)])


_Results = Iterable[tuple[str, object]]


def _is_whole(path: Path) -> bool:
    """Whether a file holds a whole run: its datasets by category."""
    try:
        return read_head(path).keys >= _WHOLE
    except UnreadableFileError:
        return False  # reading it says why


def _datasets(source: Source) -> Iterator[tuple[Row, Row, _Results]]:
    """Yield each dataset of a file: what it says of itself, what is said of the run, and its results with their places."""
    if not _is_whole(source.path):
        summary = as_dict(load_json(source.companions[0])) if source.companions else {}
        parts = iter_json(source.path, arrays=("results",))
        results = ((f"results[{part.index}]", part.value) for part in parts if isinstance(part, JsonItem))
        yield _members(source.path), summary, results
        return
    about: Row = {}
    for part in iter_json(source.path, arrays=("categories",)):
        if not isinstance(part, JsonItem):
            about |= as_dict(part.value) if part.member == "metadata" else {}
            continue
        for at, dataset in enumerate(dicts(as_dict(part.value).get("datasets"))):
            where = f"categories[{part.index}].datasets[{at}].results"
            results = ((f"{where}[{place}]", value) for place, value in enumerate(as_list(dataset.get("results"))))
            yield dataset, about, results


def _members(path: Path) -> Row:
    """Return what a file says besides its results."""
    about: Row = {}
    for part in iter_json(path, arrays=("results",)):
        if isinstance(part, JsonItem) and not part.member:
            raise UnreadableFileError(f"{path}: is a list; an object with results was expected")
        if not isinstance(part, JsonItem):
            about[part.member] = part.value
    return about


def _model_of(source: Source) -> str | None:
    """Read the model out of the folder of the run, or out of a name that was joined from folders by two underscores."""
    names = [*source.stem.split("__"), *(readable_name(folder.name) for folder in source.path.absolute().parents[:2])]
    return next((found["model"] for name in names if (found := _RUN_FOLDER.fullmatch(name))), None)


def _item(question: object) -> str:
    text = json_text(question) if not isinstance(question, str) else question
    return hashlib.sha1(text.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()[:_HASH_CHARS]


def _rows(results: _Results, wanted: int | None, counts: Counter[str]) -> Iterator[Row]:
    repeats = Repeats()
    for place, value in results:
        result = as_dict(value)
        question = result.get("question")
        item = _item(question if question is not None else place)
        number = repeats.next(item)
        counts[_AGAIN] += number > 0
        row: Row = {"item": f"{item}#{number + 1}" if number else item}
        completions = as_list(result.get("completions"))
        if not completions:
            reason = first_line(result.get("error")) or "the question has no completion"
            counts[_FAILED] += 1
            raw = held(result.get("mean_score"))
            yield {**row, "trial": 0, "locator": place, **unscored(reason, raw, error=True)}
        for trial, completion in enumerate(completions):
            outcome = _scored(as_dict(completion))
            counts[_FAILED] += outcome["status"] == "error"
            counts[_SILENT] += outcome.get("status_reason") == _NO_ANSWER
            locator = f"{place}.completions[{trial}]"
            yield {**row, "trial": trial, "locator": locator, **outcome}
        counts[_FEWER] += bool(completions) and wanted is not None and len(completions) < wanted


def _scored(completion: Row) -> Row:
    value = completion.get("score")
    if completion.get("error") is not None:
        return unscored(first_line(completion["error"]) or "an error without words", held(value), error=True)
    number = None if isinstance(value, bool) else as_number(value)
    if number is None or not 0 <= number <= 1:
        return unscored("there is no score" if number is None else "the score lies outside 0 to 1", held(value))
    silent = completion.get("model_answer", "") is None
    return scored(number, status_reason=_NO_ANSWER if silent else None)


def _configuration(about: Row) -> str:
    return hashlib.sha1(json_text(about.get("config")).encode(), usedforsecurity=False).hexdigest()[:8]


def _run_row(common: Row, about: Row, summary: Row) -> Row:
    prompt = as_text(about.get("system_prompt"))
    kept = {name: value for name, value in summary.items() if name in {"provider", "max_tokens", "top_p", "git_hash"}}
    return {
        **{name: value for name, value in common.items() if name != "task"},
        "harness": "reasoning-gym",
        "harness_version": as_text(summary.get("git_hash")),
        "task_version": _configuration(about),
        "prompt_hash": hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16] if prompt else None,
        "temperature": as_number(summary.get("temperature")),
        "timestamp": as_time(summary.get("timestamp")),
        "config": json_text(
            {**kept, "config": about.get("config"), "completions": about.get("completions_per_prompt")}
        ),
    }


def _misaligned(paths: Sequence[Path]) -> Iterator[Problem]:
    """Compare the questions of files whose dataset and configuration agree."""
    groups: dict[tuple[str, str], list[Path]] = defaultdict(list)
    for path in paths:
        try:
            head = read_head(path).members
        except UnreadableFileError:
            continue  # reading it says why
        groups[as_text(head.get("name")) or "", _configuration(head)].append(path)
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
        return tuple(
            _item(as_dict(part.value).get("question"))
            for part in iter_json(path, arrays=("results",))
            if isinstance(part, JsonItem)
        )
    except UnreadableFileError:
        return ()


LOADER: Final = ReasoningGymLoader()
