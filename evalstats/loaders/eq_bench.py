"""EQ-Bench: how well a model rates the emotions of a dialogue, question by question.

Formats: `results/*_eqbench_*_results.json` of EQ-bench/EQ-Bench at b88a93e, one run a file, and `raw_results.json`, an object of
runs by their index (`lib/run_bench.py`, `lib/scoring.py`). Version 1 normalises a model's ratings to a sum of 10, version 2
takes them at full scale; published files hold the former for each question and the latter only as a total.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source, in_frames
from evalstats.loaders.files import JsonMember, iter_json
from evalstats.loaders.rows import Row, held, metric_row, scored, unscored
from evalstats.loaders.values import as_count, as_dict, as_list, as_number, as_text, as_time, as_whole, json_text
from evalstats.schema.data import Problem

_BENCHMARK: Final = "EQ-Bench"
_HIGH: Final = 10.0
_FLAT: Final = frozenset({"benchmark_score", "index_string", "eqbench_version", "model_path"})
_SCALES: Final = {"individual_scores_fullscale": "fullscale", "individual_scores": "normalised"}
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

_Scores = dict[str, dict[str, object]]


class EQBenchLoader(SingleFileLoader):
    """Loader of EQ-Bench results; one run for every run of the file, and its published total among the aggregates.

    Metrics are `fullscale` (version 2) and `normalised` (version 1), each as far as the file has it: the pass that the
    harness takes, and `/first_pass` and `/revised` by themselves. 10 is the best score, 0 that of random answers, and there
    is no lowest. The task is the version, the variant a language other than English, a trial an iteration. A question whose
    answer could never be read is not in the file: it is missing.
    """

    name = "eq-bench"
    title = "EQ-Bench results (*_eqbench_*_results.json, raw_results.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a published run, or an object of runs with their metadata."""
        if head.shape not in {"object", "lines"}:
            return None
        if head.keys >= _FLAT:
            return Match(confidence=0.95, reason="benchmark_score, index_string, eqbench_version and model_path")
        start = head.text[:8192]
        if '"run_metadata"' in start and '"eq_bench_version"' in start:
            return Match(confidence=0.9, reason="runs with run_metadata and eq_bench_version")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, aggregates, metrics, runs and notes."""
        later: list[Rows | Problem] = []
        kinds = dict[str, None]()
        yield from in_frames(_rows(source, later, kinds), "outcomes", {"benchmark": _BENCHMARK, "n_trials": 1})
        if not any(isinstance(part, Rows) for part in later):
            why = next((f" ({part.message})" for part in later if isinstance(part, Problem)), "")
            raise UnreadableFileError(
                f"{source.path}: holds no run of EQ-Bench with its iterations{why}; give the harness's raw_results.json"
            )
        yield from later
        yield Rows(table="metrics", rows=list(_metrics(kinds)))


def _rows(source: Source, later: list[Rows | Problem], kinds: dict[str, None]) -> Iterator[Row]:
    flat: Row = {}
    number = 0
    for part in iter_json(source.path):
        if not isinstance(part, JsonMember):
            raise UnreadableFileError(f"{source.path}: is a list; an object of EQ-Bench results was expected")
        run = as_dict(part.value)
        meta = as_dict(run.get("run_metadata"))
        kind = as_text(meta.get("eq_bench_version"))
        if not meta:
            flat[part.member] = part.value
        elif kind in _OTHER_BENCHMARKS:
            later.extend(source.notes([f"run {part.member!r} is of {kind}, not of EQ-Bench; it is left out"], "error"))
        else:
            about = {**meta, "index_string": part.member}
            yield from _run(source, about, as_dict(run.get("iterations")), number, later, kinds)
            number += 1
    if "raw_results" in flat:
        yield from _run(source, flat, as_dict(flat["raw_results"]), number, later, kinds)


def _metrics(kinds: Mapping[str, None]) -> Iterator[Row]:
    headline = next((name for name in _SCALES.values() if name in kinds), None)
    for name in kinds:
        about = metric_row(
            _BENCHMARK, name, "continuous", low=None, high=_HIGH, unit="points", primary=name == headline
        )
        yield about


def _run(  # noqa: PLR0917 - what is known of a run, and where what is made of it goes
    source: Source,
    about: Mapping[str, object],
    iterations: Row,
    number: int,
    later: list[Rows | Problem],
    kinds: dict[str, None],
) -> Iterator[Row]:
    model, lora, quant = (as_text(about.get(name)) for name in ("model_path", "lora_path", "bitsandbytes_quant"))
    index = (as_text(about.get("index_string")) or "").split("--")
    task = as_text(about.get("eqbench_version")) or next((part for part in index[1:2] if part in _QUESTIONS), "")
    language = as_text(about.get("language")) or "en"
    if not model:
        later.extend(source.notes([f"run {number} names no model (model_path); it is left out"], "error"))
        return
    added = ", ".join(part for part in (lora, quant) if part and part.lower() != "none")
    run = source.run_id(model, *([str(number)] if number else []))
    common: Row = {"run": run, "model": model, "system": f"{model} ({added})" if added else model}
    where = {**common, "task": task, "variant": "" if language == "en" else language}
    rows = [row for name in iterations for row in _iteration(name, as_dict(iterations[name]), where)]
    kinds |= dict.fromkeys(str(row["metric"]) for row in rows)
    yield from rows
    total = as_number(about.get("benchmark_score"))
    if total is not None:
        later.append(Rows(table="aggregates", rows=[_published(common, task, total, about)]))
    if rows or total is not None:
        later.append(Rows(table="runs", rows=[_run_row(common, task, about)]))
    later.extend(source.notes(_doubts(rows, iterations, about, task)))


def _iteration(name: str, iteration: Row, where: Row) -> Iterator[Row]:
    trial = (as_whole(name) or 1) - 1
    for member, scale in _SCALES.items():
        scores: _Scores = {item: as_dict(value) for item, value in as_dict(iteration.get(member)).items()}
        read = {part: [_score(found.get(f"{part}_score")) for found in scores.values()] for part in _PASSES}
        given = [part for part in _PASSES if any(row["status"] == "scored" for row in read[part])]
        if not given:
            continue
        taken = _taken(read) if len(given) > 1 else given[0]
        for place, item in enumerate(scores):
            row = {**where, "item": item, "trial": max(trial, 0), "locator": f"{name}.{item}"}
            yield {**row, "metric": scale, **read[taken][place]}
            yield from ({**row, "metric": f"{scale}/{part}", **read[part][place]} for part in given)


def _taken(read: Mapping[str, list[Row]]) -> str:
    """Return the pass that the harness counts: the better on average, unless far fewer of its answers could be read."""
    numbers = {part: [row["score"] for row in read[part] if row["status"] == "scored"] for part in _PASSES}
    first, revised = ([float(str(score)) for score in numbers[part]] for part in _PASSES)
    better = sum(revised) / len(revised) >= sum(first) / len(first)
    return "revised" if better and len(revised) >= _ENOUGH * len(first) else "first_pass"


def _score(value: object) -> Row:
    """Read a score; the harness now and then keeps it as a list of one."""
    inner = as_list(value)
    value = inner[0] if len(inner) == 1 else value
    number = None if isinstance(value, bool) else as_number(value)
    if number is None:
        return unscored("the answer could not be read", held(value))
    if number > _HIGH:
        return unscored("the score lies above 10", held(value))
    return scored(number, value_raw=value if isinstance(value, str) else None)


def _published(common: Row, task: str, total: float, about: Mapping[str, object]) -> Row:
    return {
        "run": common["run"],
        "model": common["model"],
        "benchmark": _BENCHMARK,
        "task": task,
        "metric": "benchmark_score",
        "estimate": total,
        "n": as_count(about.get("n_questions_parseable")),
        "unit": "points",
    }


def _run_row(common: Row, task: str, about: Mapping[str, object]) -> Row:
    failed = about.get("benchmark_success") is False
    return {
        **common,
        "benchmark": _BENCHMARK,
        "harness": _BENCHMARK,
        "task_version": task,
        "status": "error" if failed else None,
        "note": (as_text(about.get("errors")) or "")[:200] or None,
        "timestamp": as_time(about.get("run_completed")),
        "config": json_text({name: about.get(name) for name in _CONFIG}),
    }


def _doubts(rows: list[Row], iterations: Row, about: Mapping[str, object], task: str) -> Iterator[str]:
    expected = as_count(about.get("n_questions_total")) or _QUESTIONS.get(task)
    found = {(row["trial"], row["item"]) for row in rows}
    if expected and len(found) < expected * len(iterations):
        n, all_ = expected * len(iterations) - len(found), expected * len(iterations)
        yield f"{n} of {all_} questions are not in the file, since no answer to them could be read; they are missing, not 0"
    if task == "v2" and rows and not any(row["metric"] == "fullscale" for row in rows):
        yield (
            "the questions have scores of version 1 only (normalised), which do not average to the published benchmark_score "
            "of version 2; that one is among the aggregates"
        )


LOADER: Final = EQBenchLoader()
