"""EQ-Bench: how well a model rates the emotions of a dialogue, question by question.

Metrics are `fullscale` (version 2) and `normalised` (version 1, ratings scaled to a sum of 10), each as far as the file has it:
the pass that the harness takes, and `/first_pass` and `/revised` by themselves. 10 is the best score, 0 that of random answers,
and there is no lowest. A question whose answer could never be read is not in the file: it is missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import number
from evalstats.loaders.rows import Row, Said
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_count, as_dict, as_list, as_text, as_time, as_whole

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
_ABSENT: Final = "{n} questions are not in the file, since no answer to them could be read; they are missing, not 0"
_VERSION_1: Final = (
    "the questions have scores of version 1 only (normalised), which do not average to the published benchmark_score "
    "of version 2; that one is among the aggregates"
)


class _Scores(Struct):
    first_pass_score: Any = None
    revised_score: Any = None


_ByItem = dict[str, _Scores | Plain] | Plain


class _Iteration(Struct, rename={"fullscale": "individual_scores_fullscale", "normalised": "individual_scores"}):
    fullscale: _ByItem = None
    normalised: _ByItem = None


class _Keyed(Struct):
    """An iteration of the only run."""

    key: str
    value: _Iteration | list[Any] | Plain


class _Run(Struct):
    run_metadata: Any = None
    iterations: dict[str, _Iteration | Plain] | Plain = None


class _KeyedRun(Struct):
    key: str
    value: _Run | list[Any] | Plain


def _iteration(record: _Keyed, file: FormatFile[_Keyed]) -> Iterator[Sample]:
    if run := _run(file.members, "", file):
        yield from _samples(run, file.members, record.key, record.value, file)


def _iterations(record: _KeyedRun, file: FormatFile[_KeyedRun]) -> Iterator[Sample]:
    found = record.value if isinstance(record.value, _Run) else _Run()
    about = {**as_dict(found.run_metadata), "index_string": record.key}
    kind = as_text(about.get("eq_bench_version"))
    if kind in {"creative-writing", "judgemark"}:
        file.leave_out(f"of {kind}, not of EQ-Bench")
    elif run := _run(about, f"{len(file.runs) or ''}", file):
        for name, iteration in as_dict(found.iterations).items():
            yield from _samples(run, about, name, iteration, file)


def _run(about: Mapping[str, object], part: str, file: FormatFile[Any]) -> str | None:
    """Return the run that this is said of, whose score is published once; None where no model is named."""
    model = as_text(about.get("model_path"))
    if not model:
        file.leave_out("no model_path")
        return None
    index = (as_text(about.get("index_string")) or "").split("--")
    task = as_text(about.get("eqbench_version")) or next((part for part in index[1:2] if part in _QUESTIONS), "")
    parts = (as_text(about.get(name)) for name in _ADDED)
    added = ", ".join(part for part in parts if part and part.lower() != "none")
    run = file.run(
        model,
        model,
        part,
        system=f"{model} ({added})" if added else model,
        task_version=task,
        status="error" if about.get("benchmark_success") is False else None,
        note=(as_text(about.get("errors")) or "")[:200] or None,
        timestamp=as_time(about.get("run_completed")),
        config={name: about.get(name) for name in _CONFIG},
    )
    if not file.again(run):
        count = as_count(about.get("n_questions_parseable"))
        file.publish(about.get("benchmark_score"), run, "benchmark_score", task=task, n=count, unit="points")
    return run


def _samples(
    run: str, about: Mapping[str, object], name: str, iteration: object, file: FormatFile[Any]
) -> Iterator[Sample]:
    """Yield the questions of an iteration: of each scale the pass that counts, and both by themselves."""
    language, task, items = as_text(about.get("language")) or "en", file.runs[run]["task_version"], set[str]()
    shared: Row = {"run": run, "task": task, "variant": "" if language == "en" else language}
    shared["trial"] = max((as_whole(name) or 1) - 1, 0)
    for scale in _SCALES:
        by_item = as_dict(getattr(iteration, scale, None))
        read = {part: [_score(scores, part) for scores in by_item.values()] for part in _PASSES}
        read = {part: said for part, said in read.items() if any(isinstance(each, float) for each in said)}
        if not read:
            continue
        file.metric(scale)
        items |= by_item.keys()
        taken = _taken(read)
        for place, item in enumerate(by_item):
            each = [(f"{scale}/{part}", said[place]) for part, said in read.items()]
            yield {**shared, "item": item, "locator": f"{name}.{item}"}, [(scale, taken[place]), *each]
    expected = as_count(about.get("n_questions_total")) or _QUESTIONS.get(str(task)) or 0
    file.count(_ABSENT, max(expected - len(items), 0))


def _score(scores: object, part: str) -> Said:
    """Return the score of a pass; the harness now and then keeps one as a list of one."""
    value: object = getattr(scores, f"{part}_score", None)
    listed = as_list(value)
    return number(listed[0] if len(listed) == 1 else value, -inf, _HIGH)


def _taken(read: Mapping[str, Sequence[Said]]) -> Sequence[Said]:
    """Return the pass that the harness counts: the better on average, unless far fewer answers could be read (lib/scoring.py)."""
    if len(read) == 1:
        return next(iter(read.values()))
    first, revised = ([each for each in read[part] if isinstance(each, float)] for part in _PASSES)
    better = sum(revised) / len(revised) >= sum(first) / len(first)
    return read["revised" if better and len(revised) >= 0.95 * len(first) else "first_pass"]


def _finish(file: FormatFile[Any]) -> None:
    if headline := next((name for name in _SCALES if name in file.metrics), None):
        file.metric(headline, primary=True)
    if headline == "normalised" and any(run["task_version"] == "v2" for run in file.runs.values()):
        file.note(_VERSION_1)


_SCALE: Final[Row] = {"kind": "continuous", "low": None, "high": _HIGH, "unit": "points"}
FORMAT: Final[Format[Any]] = Format(
    name="eq-bench",
    title="EQ-Bench results (*_eqbench_*_results.json)",
    version="2",
    upstream="EQ-bench/EQ-Bench at b88a93e, lib/run_bench.py and lib/scoring.py",
    benchmark="EQ-Bench",
    harness="EQ-Bench",
    signs=(Sign("benchmark_score index_string eqbench_version model_path", 0.95, shapes=_OBJECT),),
    record=_Keyed,
    rows=_iteration,
    at=("raw_results.*",),
    keep=_KNOWN,
    called="iterations",
    metrics={f"{scale}{part}": _SCALE for scale in _SCALES for part in ("", *(f"/{part}" for part in _PASSES))},
    finish=_finish,
    expected="The harness's raw_results.json, or a run with its iterations, was expected",
)
RAW: Final[Format[Any]] = replace(
    FORMAT,
    name="eq-bench-raw",
    title="EQ-Bench results of several runs (raw_results.json)",
    signs=(Sign(text=('"run_metadata"', '"eq_bench_version"'), shapes=_OBJECT),),
    record=_KeyedRun,
    rows=_iterations,
    at=("*",),
    keep=(),
    called="runs",
)
