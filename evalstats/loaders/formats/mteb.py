"""MTEB: one task's scores of one embedding model, for every split and subset, as published numbers.

`results/<model>/<revision>/<Task>.json`, in a folder with `model_meta.json`; results of several tasks or models in one document
(`ModelResult`, `BenchmarkResults`). Split and subset are the variant, their languages the factor `language`. There are no single
items and no standard errors. The layout before version 1.11 names no main score, and is not read: mteb writes it anew.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, day_of, dicts
from evalstats.schema.data import Problem

_META: Final = "model_meta.json"
_MAIN: Final = "main_score"
_EXPERIMENTS: Final = "experiments"
_NO_SCORES: Final = frozenset({"evaluation_time", "hf_subset", "languages", "mteb_version"})


class _Result(Struct):
    """Of one task; of one model, with `task_results`; or of several models, with `model_results`."""

    model_results: list["_Result"] = []
    task_results: list["_Result"] = []
    model_name: Any = None
    model_revision: Any = None
    task_name: Any = None
    mteb_dataset_name: Any = None
    dataset_revision: Any = None
    mteb_version: Any = None
    date: Any = None
    scores: Any = None


def _published(result: _Result, file: FormatFile[_Result]) -> Iterable[Sample]:
    name, revision = _model(file)
    for of_model in result.model_results or [result]:
        if of_model.model_name is not None:
            name, revision = as_text(of_model.model_name), as_text(of_model.model_revision)
        for of_task in of_model.task_results or [of_model]:
            _task(of_task, name, revision, file)
    return ()


def _task(result: _Result, model: str | None, revision: str | None, file: FormatFile[_Result]) -> None:
    task, splits = as_text(result.task_name), as_dict(result.scores)
    if not task or not splits:
        old = "of MTEB before version 1.11; load it with mteb and write it anew"
        file.leave_out(old if result.mteb_dataset_name else "no scores" if task else "no task")
        return
    about = {"harness_version": as_text(result.mteb_version), "task_version": as_text(result.dataset_revision)}
    run = file.run(model, *([model] if model else []), task, **about, revision=revision)
    for split, subsets in splits.items():
        for scores in dicts(subsets):
            subset = as_text(scores.get("hf_subset")) or "default"
            languages = [text for value in as_list(scores.get("languages")) if (text := as_text(value))]
            known: dict[str, Any] = {
                "variant": as_text(split if subset == "default" else f"{split}/{subset}"),
                "language": ",".join(languages) or None,
                "date": day_of(result.date),
            }
            for name, value in scores.items():
                number = None if isinstance(value, bool | str) else as_number(value)
                if name not in _NO_SCORES and number is not None:
                    file.publish(number, run, as_text(name) or "", task=task, **known)


def _model(file: FormatFile[_Result]) -> tuple[str | None, str | None]:
    """Return the model and its revision: by `model_meta.json`, else by the folders that MTEB names after them."""
    if file.facts:
        return as_text(file.facts.get("name")), as_text(file.facts.get("revision"))
    folders = file.source.path.absolute().parts[:-1]
    if len(folders) > 3 and folders[-2] == _EXPERIMENTS:
        folders = folders[:-2]
    if len(folders) > 1 and "__" in folders[-2]:
        return folders[-2].replace("__", "/"), folders[-1]
    return None, None


def _grouped(files: Sequence[Path]) -> Iterator[Source | Problem]:
    metas = {path.parent: path for path in files if plain_name(path) == _META}
    for path in files:
        if plain_name(path) != _META:
            meta = metas.get(path.parent)
            yield Source(path=path, companions=(meta,) if meta else ())


FORMAT: Final = Format(
    name="mteb",
    title="MTEB results (results/<model>/<revision>/<Task>.json)",
    version="1",
    upstream="embeddings-benchmark/mteb at a905523, mteb/results/task_result.py and mteb/cache/result_cache.py",
    benchmark="MTEB",
    harness="mteb",
    signs=(
        Sign("task_name dataset_revision scores", 0.95, some="mteb_version evaluation_time", shapes=OBJECT),
        Sign("mteb_dataset_name", 0.95, some="test dev validation train", shapes=OBJECT),
        Sign("model_results", 0.9, text=('"task_results"', '"task_name"'), shapes=OBJECT),
        Sign("model_name model_revision task_results", 0.9, shapes=OBJECT),
        Sign("name revision languages", 0.9, name=_META, shapes=OBJECT, some="framework loader"),
    ),
    record=_Result,
    rows=_published,
    alone=True,
    called="results",
    metrics={_MAIN: {"primary": True}},
    grouped=_grouped,
    facts=(_META,),
)
