"""MTEB: one task's scores of one embedding model, for every split and subset, as published numbers.

`results/<model>/<revision>/<Task>.json`, in a folder with `model_meta.json`; results of several tasks or models in one document
(`ModelResult`, `BenchmarkResults`); and the layout before version 1.11, whose members are the splits. Split and subset are the
variant, their languages the factor `language`. There are no single items, and no standard errors: those that older versions
write are spreads over training samples.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
# Parts of scores, not subsets, in the layout before 1.11.
_NESTED: Final = frozenset({"v_measures", "cos_sim", "euclidean", "manhattan", "dot", "max", "similarity"})
_NO_MAIN: Final = "{n} subsets name no main_score, as before version 1.11; each metric has its own name"


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
    test: Any = None
    dev: Any = None
    validation: Any = None
    train: Any = None


def _published(result: _Result, file: FormatFile[_Result]) -> Iterable[Sample]:
    name, revision = _model(file)
    for of_model in result.model_results or [result]:
        if of_model.model_name is not None:
            name, revision = as_text(of_model.model_name), as_text(of_model.model_revision)
        for of_task in of_model.task_results or [of_model]:
            _task(of_task, name, revision, file)
    return ()


def _task(result: _Result, model: str | None, revision: str | None, file: FormatFile[_Result]) -> None:
    task = as_text(result.task_name) or as_text(result.mteb_dataset_name)
    splits = as_dict(result.scores) or {
        split: found for split in ("test", "dev", "validation", "train") if (found := as_dict(getattr(result, split)))
    }
    if not task or not splits:
        file.leave_out("no task" if not task else "no scores")
        return
    about = {"harness_version": as_text(result.mteb_version), "task_version": as_text(result.dataset_revision)}
    run = file.run(model, *([model] if model else []), task, **about, revision=revision)
    for split, subset, scores in _subsets(splits):
        languages = [text for value in as_list(scores.get("languages")) if (text := as_text(value))]
        variant = as_text(split if subset == "default" else f"{split}/{subset}")
        language, day = ",".join(languages) or None, day_of(result.date)
        file.count(_NO_MAIN, int(_MAIN not in scores))
        for metric, value in _numbers(scores):
            file.publish(value, run, metric, task=task, variant=variant, language=language, date=day)


def _subsets(splits: Mapping[str, object]) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Yield each subset's scores with its split and its name."""
    for split, found in splits.items():
        for scores in dicts(found):
            yield split, as_text(scores.get("hf_subset")) or "default", scores
        named = {name: as_dict(of) for name, of in as_dict(found).items() if name not in _NESTED}
        subsets = {name: of for name, of in named.items() if of} or {"default": as_dict(found)}
        yield from ((split, name, of) for name, of in subsets.items() if of)


def _numbers(scores: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    for name, value in scores.items():
        if name in _NO_SCORES or name.endswith("_stderr"):
            continue
        parts = {f"{name}_{part}": number for part, number in as_dict(value).items()} or {name: value}
        for metric, score in parts.items():
            number = None if isinstance(score, bool | str) else as_number(score)
            if number is not None:
                yield as_text(metric) or "", number


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
    at=(".",),
    called="results",
    metrics={_MAIN: {"primary": True}},
    grouped=_grouped,
    keep=(_META,),
)
