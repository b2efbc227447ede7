"""EQ-Bench: how well a model rates the emotions of a dialogue, question by question.

Read are `results/*_eqbench_*_results.json`, one run a file, and `raw_results.json`, an object of runs by their index. Metrics are
`fullscale` (version 2) and `normalised` (version 1, ratings scaled to a sum of 10), each as far as the file has it: the pass that
the harness takes, and `/first_pass` and `/revised` by themselves. Published files hold the latter for each question and the
former only as a total, which is among the aggregates. 10 is the best score, 0 that of random answers, and there is no lowest. The
task is the version, the variant a language other than English, a trial an iteration. A question whose answer could never be read
is not in the file: it is missing.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from evalstats.errors import UnreadableFileError
from evalstats.loaders.format import Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.rows import Row, Said, held, score_of, scored, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, as_time, as_whole, json_text

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


def _keyed(record: _Keyed, file: FormatFile[_Keyed]) -> Iterator[Sample]:
    meta = record.value.run_metadata if isinstance(record.value, _Run) else None
    kind = as_text(meta.eq_bench_version) if isinstance(meta, _Meta) else None
    if not isinstance(record.value, _Run) or not isinstance(meta, _Meta) or kind in _OTHER_BENCHMARKS:
        file.leave_out(f"of {kind}, not of EQ-Bench" if kind else "no run_metadata")
        return
    meta.index_string = record.key
    yield from _rows(meta, record.value.iterations, file)


def _rows(about: _Meta, iterations: _Iterations | Scalar, file: FormatFile[Any]) -> Iterator[Sample]:
    model, lora, quant = (as_text(value) for value in (about.model_path, about.lora_path, about.bitsandbytes_quant))
    if not model:
        file.leave_out("no model_path")
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
        config=json_text({name: getattr(about, name) for name in _CONFIG}),
    )
    shared: Row = {"run": run, "task": task, "variant": "" if language == "en" else language}
    found = iterations if isinstance(iterations, dict) else {}
    n, metrics = 0, set[str]()
    for name, iteration in found.items():
        trial = max((as_whole(name) or 1) - 1, 0)
        for item, rows in _iteration(iteration).items():
            n += 1
            metrics |= {metric for metric, _ in rows}
            yield {**shared, "item": item, "trial": trial, "locator": f"{name}.{item}"}, rows
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


def _iteration(iteration: object) -> Mapping[str, list[tuple[str, Said]]]:
    """Return the outcomes of every question: on each scale the pass that counts, and both by themselves."""
    rows: dict[str, list[tuple[str, Said]]] = {}
    for scale in _SCALES:
        listed = getattr(iteration, scale, None)
        by_item = as_dict(listed)
        read = {part: [_score(getattr(found, f"{part}_score", None)) for found in by_item.values()] for part in _PASSES}
        given = [part for part in _PASSES if any(score_of(said) is not None for said in read[part])]
        taken = _taken(read) if len(given) > 1 else next(iter(given), "")
        for place, item in enumerate(by_item if given else ()):
            outcomes = [(scale, taken), *((f"{scale}/{part}", part) for part in given)]
            rows.setdefault(as_text(item) or "", []).extend((m, read[part][place]) for m, part in outcomes)
    return rows


def _taken(read: Mapping[str, list[Said]]) -> str:
    """Return the pass that the harness counts: the better on average, unless far fewer of its answers could be read."""
    first, revised = ([score for said in read[part] if (score := score_of(said)) is not None] for part in _PASSES)
    better = sum(revised) / len(revised) >= sum(first) / len(first)
    return "revised" if better and len(revised) >= _ENOUGH * len(first) else "first_pass"


def _score(value: object) -> Said:
    """Read a score; the harness now and then keeps it as a list of one."""
    inner = as_list(value)
    value = inner[0] if len(inner) == 1 else value
    number = None if isinstance(value, bool) else as_number(value)
    if number is None:
        return unscored("the answer could not be read", held(value))
    if number > _HIGH:
        return unscored("the score lies above 10", held(value))
    return scored(number, value_raw=value) if isinstance(value, str) else number


def _flat(record: _Flat, file: FormatFile[_Flat]) -> Iterator[Sample]:
    yield from _rows(record, record.raw_results, file)


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
    rows=_flat,
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
    rows=_keyed,
    keyed=True,
    called="runs",
    metrics=_METRICS,
    finish=_finish,
)
