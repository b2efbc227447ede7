"""EQ-Bench: how well a model rates the emotions of a dialogue, question by question.

Read are `results/*_eqbench_*_results.json`, one run a file, and `raw_results.json`, an object of runs by their index. Metrics are
`fullscale` (version 2) and `normalised` (version 1, ratings scaled to a sum of 10), each as far as the file has it: the pass that
the harness takes, and `/first_pass` and `/revised` by themselves. Published files hold the latter for each question and the
former only as a total, which is among the aggregates. 10 is the best score, 0 that of random answers, and there is no lowest. The
task is the version, the variant a language other than English, a trial an iteration. A question whose answer could never be read
is not in the file: it is missing.
"""

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final, cast

import polars as pl
from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.format import Format, FormatFile, Scalar, Sign
from evalstats.loaders.format_columns import numbers, texts
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_count, as_dict, as_text, as_time, as_whole

_BENCHMARK: Final = "EQ-Bench"
_HIGH: Final = 10.0
_SCALES: Final = ("fullscale", "normalised")
_PASSES: Final = ("first_pass", "revised")
# The harness takes the revised scores only where nearly as many of them could be read (lib/scoring.py).
_ENOUGH: Final = 0.95
_QUESTIONS: Final = {"v1": 60, "v2": 171}
_OTHER_BENCHMARKS: Final = frozenset({"creative-writing", "judgemark"})
_CONFIG: Final = (
    "index_string",
    "run_id",
    "lora_path",
    "bitsandbytes_quant",
    "instruction_template",
    "inference_engine",
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


class _Meta(Struct):
    """What is said of a run; in a file of one run it stands beside the results."""

    model_path: Any = None
    lora_path: Any = None
    bitsandbytes_quant: Any = None
    index_string: Any = None
    eqbench_version: Any = None
    eq_bench_version: Any = None
    language: Any = None
    run_id: Any = None
    run_completed: Any = None
    instruction_template: Any = None
    inference_engine: Any = None
    benchmark_score: Any = None
    benchmark_success: Any = None
    errors: Any = None
    n_questions_parseable: Any = None
    n_questions_total: Any = None


_Iterations = dict[str, _Iteration | Scalar]


class _Flat(_Meta):
    raw_results: _Iterations | Scalar = None


class _Run(Struct):
    run_metadata: _Meta | Scalar = None
    iterations: _Iterations | Scalar = None


class _Keyed(Struct):
    key: str
    value: _Run | list[Any] | Scalar


def _keyed(records: list[_Keyed], file: FormatFile[_Keyed]) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for record, place in zip(records, file.locators, strict=True):
        meta = record.value.run_metadata if isinstance(record.value, _Run) else None
        kind = as_text(meta.eq_bench_version) if isinstance(meta, _Meta) else None
        if not isinstance(record.value, _Run) or not isinstance(meta, _Meta) or kind in _OTHER_BENCHMARKS:
            file.leave_out(f"of {kind}, not of EQ-Bench" if kind else "no run_metadata", place)
            continue
        meta.index_string = record.key
        frames += _frames(meta, record.value.iterations, place, file)
    return pl.concat(frames) if frames else pl.DataFrame()


def _flat(records: list[_Flat], file: FormatFile[_Flat]) -> pl.DataFrame:
    frames = [frame for record in records for frame in _frames(record, record.raw_results, "", file)]
    return pl.concat(frames) if frames else pl.DataFrame()


def _frames(
    about: _Meta, iterations: _Iterations | Scalar, place: str, file: FormatFile[Any]
) -> Iterator[pl.DataFrame]:
    """Yield the outcomes of a run: of each iteration and scale the pass that counts, and both by themselves."""
    model, lora, quant = (as_text(value) for value in (about.model_path, about.lora_path, about.bitsandbytes_quant))
    if not model:
        file.leave_out("no model_path", place)
        return
    index = (as_text(about.index_string) or "").split("--")
    task = as_text(about.eqbench_version) or next((part for part in index[1:2] if part in _QUESTIONS), "")
    language, number = as_text(about.language) or "en", len(file.runs)
    added = ", ".join(part for part in (lora, quant) if part and part.lower() != "none")
    run = file.run(
        model,
        model,
        f"{number}" if number else "",
        system=f"{model} ({added})" if added else model,
        task_version=task,
        status="error" if about.benchmark_success is False else None,
        note=(as_text(about.errors) or "")[:200] or None,
        timestamp=as_time(about.run_completed),
        config={name: getattr(about, name) for name in _CONFIG},
    )
    found = iterations if isinstance(iterations, dict) else {}
    n, metrics = 0, set[str]()
    for name, iteration in found.items():
        trial, items = max((as_whole(name) or 1) - 1, 0), set[str]()
        for scale in _SCALES:
            by_item = as_dict(getattr(iteration, scale, None))
            if not by_item:
                continue
            read = {part: numbers(_scores(by_item, part), -inf, _HIGH) for part in _PASSES}
            given = [part for part in _PASSES if read[part]["score"].count()]
            taken = _taken(read) if len(given) > 1 else next(iter(given), "")
            asked = texts([*by_item])
            shared = pl.DataFrame({"item": asked}).with_columns(
                run=pl.lit(run),
                task=pl.lit(task),
                variant=pl.lit("" if language == "en" else language),
                trial=pl.lit(trial),
                locator=f"{name}." + asked,
            )
            for metric, part in ((scale, taken), *((f"{scale}/{part}", part) for part in given)) if given else ():
                yield shared.hstack([pl.Series("metric", [metric]).new_from_index(0, len(asked)), *read[part]])
                items |= {*asked}
                metrics.add(metric)
        n += len(items)
    if about.benchmark_score is not None:
        count = as_count(about.n_questions_parseable)
        file.publish(about.benchmark_score, run, "benchmark_score", task=task, n=count, unit="points")
    expected = (as_count(about.n_questions_total) or _QUESTIONS.get(task) or 0) * len(found)
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
    """Return the pass that the harness counts: the better on average, unless far fewer of its answers could be read."""
    first, revised = (read[part]["score"].drop_nulls() for part in _PASSES)
    better = revised.sum() / len(revised) >= first.sum() / len(first)
    return "revised" if better and len(revised) >= _ENOUGH * len(first) else "first_pass"


def _finish(file: FormatFile[Any]) -> None:
    if headline := next((name for name in _SCALES if name in file.metrics), None):
        file.metric(headline, primary=True)
    if not file.runs:
        why = next((f" ({problem.message})" for problem in file.left_out()), "")
        raise UnreadableFileError(
            f"{file.source.path}: holds no run of EQ-Bench with its iterations{why}; give the harness's raw_results.json"
        )


_SCALE: Final[Row] = {"kind": "continuous", "low": None, "high": _HIGH, "unit": "points"}
_METRICS: Final = {f"{scale}{part}": _SCALE for scale in _SCALES for part in ("", *(f"/{part}" for part in _PASSES))}
FORMAT: Final = Format(
    name="eq-bench",
    title="EQ-Bench results (*_eqbench_*_results.json)",
    version="2",
    upstream="EQ-bench/EQ-Bench at b88a93e, lib/run_bench.py and lib/scoring.py",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(Sign("benchmark_score index_string eqbench_version model_path", 0.95, shapes=_OBJECT),),
    record=_Flat,
    columns=_flat,
    alone=True,
    called="runs",
    metrics=_METRICS,
    finish=_finish,
)
RAW: Final = Format(
    name="eq-bench-raw",
    title="EQ-Bench results of several runs (raw_results.json)",
    version="2",
    upstream="EQ-bench/EQ-Bench at b88a93e, lib/run_bench.py and lib/scoring.py",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(Sign(text=('"run_metadata"', '"eq_bench_version"'), shapes=_OBJECT),),
    record=_Keyed,
    columns=_keyed,
    keyed=True,
    called="runs",
    metrics=_METRICS,
    finish=_finish,
)
