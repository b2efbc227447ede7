"""EQ-Bench: how well a model rates the emotions of a dialogue, question by question.

Metrics are `fullscale` (version 2) and `normalised` (version 1, ratings scaled to a sum of 10), each as far as the file has it:
the pass that the harness takes, and `/first_pass` and `/revised` by themselves. 10 is the best score, 0 that of random answers,
and there is no lowest. A question whose answer could never be read is not in the file: it is missing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf
from typing import Any, Final, cast

import polars as pl
from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.format import Format, FormatFile, Scalar, Sign
from evalstats.loaders.format_columns import numbers, texts
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_count, as_dict, as_text, as_time, as_whole

_HIGH: Final = 10.0
_SCALES: Final = ("fullscale", "normalised")
_PASSES: Final = ("first_pass", "revised")
_QUESTIONS: Final = {"v1": 60, "v2": 171}
_ADDED: Final = ("lora_path", "bitsandbytes_quant")  # to a model
_CONFIG: Final = ("index_string", "run_id", *_ADDED, "instruction_template", "inference_engine")
_KNOWN: Final = (
    *("model_path", "eqbench_version", "language", "run_completed", "benchmark_score", "benchmark_success", "errors"),
    *("n_questions_parseable", "n_questions_total", *_CONFIG),
)
_OBJECT: Final = ("object", "lines")
_VERSION_1: Final = (
    "the questions have scores of version 1 only (normalised), which do not average to the published benchmark_score "
    "of version 2; that one is among the aggregates"
)


class _Scores(Struct):
    first_pass_score: Any = None
    revised_score: Any = None


_ByItem = dict[str, _Scores | Scalar] | Scalar


class _Iteration(Struct, rename={"fullscale": "individual_scores_fullscale", "normalised": "individual_scores"}):
    fullscale: _ByItem = None
    normalised: _ByItem = None


_Iterations = dict[str, _Iteration | Scalar]


class _Run(Struct):
    run_metadata: Any = None
    iterations: _Iterations | Scalar = None


class _Keyed(Struct):
    key: str
    value: _Run | list[Any] | Scalar


def _several(records: list[_Keyed], file: FormatFile[_Keyed]) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for record, place in zip(records, file.locators, strict=True):
        run = record.value if isinstance(record.value, _Run) else _Run()
        about = as_dict(run.run_metadata)
        kind = as_text(about.get("eq_bench_version"))
        if not about or kind in {"creative-writing", "judgemark"}:
            file.leave_out(f"of {kind}, not of EQ-Bench" if kind else "no run_metadata", place)
            continue
        frames += _frames({**about, "index_string": record.key}, as_dict(run.iterations), place, file)
    return pl.concat(frames) if frames else pl.DataFrame()


class _OfOne(Struct):
    key: str
    value: _Iteration | list[Any] | Scalar


def _one(records: list[_OfOne], file: FormatFile[_OfOne]) -> pl.DataFrame:
    iterations = {record.key: record.value for record in records}
    frames = [*_frames(dict(file.members), iterations, "", file)]
    return pl.concat(frames) if frames else pl.DataFrame()


def _frames(about: Row, iterations: Mapping[str, object], place: str, file: FormatFile[Any]) -> Iterator[pl.DataFrame]:
    """Yield the outcomes of a run: of each iteration and scale the pass that counts, and both by themselves."""
    model = as_text(about.get("model_path"))
    if not model:
        file.leave_out("no model_path", place)
        return
    index = (as_text(about.get("index_string")) or "").split("--")
    task = as_text(about.get("eqbench_version")) or next((part for part in index[1:2] if part in _QUESTIONS), "")
    language, number = as_text(about.get("language")) or "en", len(file.runs)
    parts = (as_text(about.get(name)) for name in _ADDED)
    added = ", ".join(part for part in parts if part and part.lower() != "none")
    run = file.run(
        model,
        model,
        f"{number}" if number else "",
        system=f"{model} ({added})" if added else model,
        task_version=task,
        status="error" if about.get("benchmark_success") is False else None,
        note=(as_text(about.get("errors")) or "")[:200] or None,
        timestamp=as_time(about.get("run_completed")),
        config={name: about.get(name) for name in _CONFIG},
    )
    n, metrics = 0, set[str]()
    for name, iteration in iterations.items():
        trial, items = max((as_whole(name) or 1) - 1, 0), set[str]()
        for scale in _SCALES:
            by_item = as_dict(getattr(iteration, scale, None))
            read = {part: numbers(_scores(by_item, part), -inf, _HIGH) for part in _PASSES if by_item}
            given = [part for part, each in read.items() if each["score"].count()]
            if not given:
                continue
            asked = texts([*by_item])
            shared = pl.DataFrame({"item": asked}).with_columns(
                run=pl.lit(run),
                task=pl.lit(task),
                variant=pl.lit("" if language == "en" else language),
                trial=pl.lit(trial),
                locator=f"{name}." + asked,
            )
            taken = _taken(read) if len(given) > 1 else given[0]
            for metric, part in ((scale, taken), *((f"{scale}/{part}", part) for part in given)):
                yield shared.hstack([pl.Series("metric", [metric]).new_from_index(0, len(asked)), *read[part]])
                metrics.add(metric)
            items |= {*asked}
        n += len(items)
    if about.get("benchmark_score") is not None:
        count = as_count(about.get("n_questions_parseable"))
        file.publish(about["benchmark_score"], run, "benchmark_score", task=task, n=count, unit="points")
    expected = (as_count(about.get("n_questions_total")) or _QUESTIONS.get(task) or 0) * len(iterations)
    if n < expected:
        file.note(
            f"{expected - n} of {expected} questions are not in the file, since no answer to them could be read; they are "
            "missing, not 0"
        )
    if task == "v2" and n and "fullscale" not in metrics:
        file.note(_VERSION_1)
    for metric in metrics:
        file.metric(metric)


def _scores(by_item: Mapping[str, object], part: str) -> list[object]:
    """Return the scores of a pass; the harness now and then keeps one as a list of one."""
    found = [getattr(scores, f"{part}_score", None) for scores in by_item.values()]
    return [value[0] if isinstance(value, list) and len(cast("list[object]", value)) == 1 else value for value in found]


def _taken(read: Mapping[str, pl.DataFrame]) -> str:
    """Return the pass that the harness counts: the better on average, unless far fewer answers could be read (lib/scoring.py)."""
    first, revised = (read[part]["score"].drop_nulls() for part in _PASSES)
    better = revised.sum() / len(revised) >= first.sum() / len(first)
    return "revised" if better and len(revised) >= 0.95 * len(first) else "first_pass"


def _finish(file: FormatFile[Any]) -> None:
    if headline := next((name for name in _SCALES if name in file.metrics), None):
        file.metric(headline, primary=True)
    if not file.runs:
        why = next((f" ({problem.message})" for problem in file.left_out()), "")
        raise UnreadableFileError(
            f"{file.source.path}: holds no run of EQ-Bench with its iterations{why}; give the harness's raw_results.json"
        )


_SCALE: Final[Row] = {"kind": "continuous", "low": None, "high": _HIGH, "unit": "points"}
FORMAT: Final[Format[Any]] = Format(
    name="eq-bench",
    title="EQ-Bench results (*_eqbench_*_results.json)",
    version="2",
    upstream="EQ-bench/EQ-Bench at b88a93e, lib/run_bench.py and lib/scoring.py",
    benchmark="EQ-Bench",
    harness="EQ-Bench",
    signs=(Sign("benchmark_score index_string eqbench_version model_path", 0.95, shapes=_OBJECT),),
    record=_OfOne,
    columns=_one,
    lists=("raw_results",),
    keyed=True,
    keep=_KNOWN,
    called="iterations",
    metrics={f"{scale}{part}": _SCALE for scale in _SCALES for part in ("", *(f"/{part}" for part in _PASSES))},
    finish=_finish,
)
RAW: Final[Format[Any]] = replace(
    FORMAT,
    name="eq-bench-raw",
    title="EQ-Bench results of several runs (raw_results.json)",
    signs=(Sign(text=('"run_metadata"', '"eq_bench_version"'), shapes=_OBJECT),),
    record=_Keyed,
    columns=_several,
    lists=(),
    keep=(),
    called="runs",
)
