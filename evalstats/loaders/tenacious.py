"""Tenacious-Bench v0.1, as published in nebiyuephrata/SignalForge at 7d1a806: judged sales conversations, and its critics.

A critic is right about a pair when it scores the chosen answer above the rejected one. The file counts an exact tie as
wrong; factor `tie` marks them, so that they can be counted otherwise.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from evalstats.errors import InputError
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.files import JsonItem, iter_json, iter_json_lines, load_json
from evalstats.loaders.records import objects_in
from evalstats.loaders.rows import Once, Row, held, metric_row, scored, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, as_whole, dicts, get
from evalstats.schema.data import Problem

BENCHMARK: Final = "Tenacious-Bench"
CRITICS: Final = ("baseline", "trained")

_VERSION = re.compile(r"-v\d+$")
_MAX_CHARS = 4 << 20  # ablation results are a few kB
_CONF_LEVEL = 0.95  # the published script takes the 2.5% and 97.5% points of its resamples
_ROUNDING_PP = 0.02  # accuracies are rounded to 4 digits, differences to 2
_DIFFERENT_SCALES = "Margins of the two critics are on different scales and cannot be compared"


def base_scenario(task_id: str) -> str:
    """Return a task's id without its version.

    >>> base_scenario("tb-p-001-v02"), base_scenario("tb-hand-004")
    ('tb-p-001', 'tb-hand-004')
    """
    return _VERSION.sub("", task_id)


@dataclass(slots=True)
class _PairTally:
    """Per critic: how often wrong, how often wrong by an exact tie; and lines whose verdict is not their scores'."""

    seen: Once = field(default_factory=Once)
    wrong: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CRITICS, 0))
    ties: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CRITICS, 0))
    odd: list[int] = field(default_factory=list[int])


def read_traces(source: Source) -> Iterator[Rows | Problem]:
    """Yield two runs, `baseline` and `trained`, on the same pairs.

    Metric `correct` (the headline) is the file's own verdict; `margin` is the chosen answer's score minus the rejected
    one's, in the critic's own units. The pair is the item, its split the task.
    """
    tally = _PairTally()
    runs = {critic: source.run_id(critic) for critic in CRITICS}
    yield from in_batches(_pair_outcomes(source.path, runs, tally), "outcomes")
    margin = metric_row(BENCHMARK, "margin", "continuous", low=None, high=None, unit="points of the critic")
    yield Rows(table="metrics", rows=[metric_row(BENCHMARK, "correct", primary=True), margin])
    yield Rows(table="runs", rows=[_run_row(run, critic, critic, _note(critic, tally)) for critic, run in runs.items()])
    yield from source.notes(_trace_doubts(tally))


def _pair_outcomes(path: Path, runs: dict[str, str], tally: _PairTally) -> Iterator[Row]:
    for number, value in iter_json_lines(path):
        pair = as_dict(value)
        where = f"line {number}"
        item, split = as_text(pair.get("task_id")), as_text(pair.get("split")) or ""
        if item is None:
            raise InputError(f"{where}: has no task_id; expected one pair scored by two critics")
        tally.seen.add((split, item), f"task {item!r} of split {split!r}", where)
        _check_delta(pair, where)
        common = {
            "benchmark": BENCHMARK,
            "task": split,
            "item": item,
            "trial": 0,
            "n_trials": 1,
            "locator": where,
            "scenario": as_text(pair.get("dimension")),
            "scenario_base": base_scenario(item),
            "task_type": as_text(pair.get("task_type")),
            "source_mode": as_text(pair.get("source_mode")),
        }
        for critic, run in runs.items():
            named = {"run": run, "model": critic, "system": critic}
            yield from ({**common, **named, **row} for row in _pair_scores(pair, critic, number, tally))
    if not len(tally.seen):
        raise InputError("is empty; expected one pair a line")


def _check_delta(pair: Row, where: str) -> None:
    verdicts = [as_number(pair.get(f"{critic}_correct")) for critic in CRITICS]
    delta = as_number(pair.get("delta_correct"))
    before, after = verdicts
    if delta is not None and before is not None and after is not None and delta != after - before:
        raise InputError(
            f"{where}: delta_correct is {delta:g}, but trained_correct {after:g} minus baseline_correct {before:g} is "
            f"{after - before:g}; the line contradicts itself, fetch the file again"
        )


def _pair_scores(pair: Row, critic: str, number: int, tally: _PairTally) -> Iterator[Row]:
    verdict = pair.get(f"{critic}_correct")
    correct = as_number(verdict)
    chosen, rejected = (as_number(pair.get(f"{critic}_{side}_score")) for side in ("chosen", "rejected"))
    margin = None if chosen is None or rejected is None else chosen - rejected
    tie = None if margin is None else margin == 0
    if correct == 0:
        tally.wrong[critic] += 1
        tally.ties[critic] += bool(tie)
    if correct is not None and margin is not None and bool(correct) != (margin > 0):
        tally.odd.append(number)
    if correct in (0.0, 1.0):
        yield {"metric": "correct", "tie": tie, **scored(correct)}
    else:
        yield {"metric": "correct", "tie": tie, **_not_scored(f"{critic}_correct", verdict)}
    if margin is not None:
        # Scores have six decimals: what a subtraction leaves beyond nine would set equal margins apart.
        yield {"metric": "margin", "tie": tie, **scored(round(margin, 9))}
    else:
        yield {"metric": "margin", "tie": tie, **_not_scored("one of the two scores", None)}


def _not_scored(name: str, value: object) -> Row:
    return unscored(f"{name} is {held(value) or 'absent'}", held(value))


def _note(critic: str, tally: _PairTally) -> str:
    wrong, ties = tally.wrong[critic], tally.ties[critic]
    tied = f"; {ties} of the {wrong} errors of {critic} are exact ties, counted as wrong" if ties else ""
    return _DIFFERENT_SCALES + tied


def _trace_doubts(tally: _PairTally) -> Iterator[str]:
    for critic in CRITICS:
        if tally.ties[critic]:
            yield (
                f"{tally.ties[critic]} of the {tally.wrong[critic]} errors of {critic!r} are exact ties of the chosen and "
                "the rejected answer, which the file counts as wrong (factor `tie`)"
            )
    if tally.odd:
        shown = ", ".join(map(str, tally.odd[:3]))
        yield f"{len(tally.odd)} verdicts are not what their scores say (lines {shown}); the verdicts are used"


def read_ablation(source: Source) -> Iterator[Rows | Problem]:
    """Yield the published accuracy of both critics in every split, and their difference with its interval.

    The difference is a row of the trained critic, metric `delta_accuracy`, in percentage points, with the published
    p-value as a factor. `delta_a` and `delta_b` repeat the held-out split and are not read.
    """
    content = as_dict(load_json(source.path, max_chars=_MAX_CHARS))
    rows: list[Row] = []
    for split, numbers in as_dict(content.get("splits")).items():
        found = list(_published(as_dict(numbers)))
        if not found:
            raise InputError(f"splits.{split} holds no accuracy; expected the numbers of a split")
        for row in found:
            named = {"run": source.run_id(str(row["model"])), "benchmark": BENCHMARK, "task": split}
            rows.append({**named, **row, "n": as_whole(get(numbers, "pair_count"))})
    if not rows:
        raise InputError("holds no splits; expected train, dev or held_out with their accuracies")
    yield Rows(table="aggregates", rows=rows)
    yield Rows(table="metrics", rows=list({str(row["metric"]): _aggregate_metric(row) for row in rows}.values()))
    systems = (as_text(content.get("baseline")), as_text(content.get("trained_component")))
    yield Rows(
        table="runs",
        rows=[
            _run_row(source.run_id(critic), critic, system or critic, as_text(content.get("run_name")))
            for critic, system in zip(CRITICS, systems, strict=True)
        ],
    )
    yield from source.notes(_ablation_doubts(content))


def _published(numbers: Row) -> Iterator[Row]:
    for critic in CRITICS:
        for metric, key, unit in (
            ("accuracy", f"{critic}_accuracy", "proportion"),
            ("latency_ms", f"{critic}_latency_ms", "milliseconds"),
            ("cost_usd", f"cost_per_pair_usd_{critic}", "US dollars"),
        ):
            value = as_number(numbers.get(key))
            if value is not None:
                raw = json.dumps(numbers[key])
                found = {"metric": metric, "estimate": value, "unit": unit, "value_raw": raw, "method": "published"}
                yield {"model": critic, **found}
    difference = as_number(numbers.get("delta_accuracy_pp"))
    if difference is not None:
        low, high = (as_number(numbers.get(f"delta_accuracy_pp_ci_{end}")) for end in ("lower", "upper"))
        if low is not None and high is not None and not low < high:
            low = high = None  # an interval without a width says nothing
        bounded = low is not None and high is not None
        yield {
            "model": "trained",
            "metric": "delta_accuracy",
            "estimate": difference,
            "conf_low": low,
            "conf_high": high,
            "conf_level": _CONF_LEVEL if bounded else None,
            "unit": "points",
            "method": "published, trained minus baseline" + (", percentile bootstrap over pairs" if bounded else ""),
            "value_raw": json.dumps(numbers["delta_accuracy_pp"]),
            "p_value": as_number(numbers.get("paired_bootstrap_p_value")),
        }


def _aggregate_metric(row: Row) -> Row:
    metric = str(row["metric"])
    low, high = {"accuracy": (0.0, 1.0), "delta_accuracy": (-100.0, 100.0)}.get(metric, (0.0, None))
    return metric_row(
        BENCHMARK,
        metric,
        "continuous" if high is None else "bounded",
        low=low,
        high=high,
        higher_is_better="accuracy" in metric,
        unit=as_text(row["unit"]),
        primary=metric == "accuracy",
    )


def _ablation_doubts(content: Row) -> Iterator[str]:
    for split, numbers in as_dict(content.get("splits")).items():
        before, after = (as_number(get(numbers, f"{critic}_accuracy")) for critic in CRITICS)
        difference = as_number(get(numbers, "delta_accuracy_pp"))
        if before is not None and after is not None and difference is not None:
            computed = 100 * (after - before)
            if abs(computed - difference) > _ROUNDING_PP:
                yield f"split {split!r}: delta_accuracy_pp is {difference:g}, but its accuracies give {computed:.2f}"
        if as_number(get(numbers, "paired_bootstrap_p_value")) == 0:
            yield f"split {split!r}: a p-value of 0 is published; it says less than one in its number of resamples"
    held_out = get(content, "splits", "held_out")
    first, second = (as_number(get(content, name, "delta_accuracy_pp")) for name in ("delta_a", "delta_b"))
    if first is not None and first != as_number(get(held_out, "delta_accuracy_pp")):
        yield f"delta_a is {first:g} points, but the held-out split says otherwise; the split is read"
    if second is not None and second == first:
        yield "delta_b repeats delta_a: its prompt-engineered baseline is the same number as the heuristic one"


def _run_row(run: str, critic: str, system: str, note: str | None) -> Row:
    return {
        "run": run,
        "model": critic,
        "system": system,
        "benchmark": BENCHMARK,
        "harness": "Tenacious-Bench",
        "factor_names": ["dimension=scenario"],
        "dependence": [],
        "note": note,
    }


Kind = Literal["traces", "evaluation", "ablation", "no results"]

_KEYS: Final[tuple[tuple[Kind, frozenset[str], str], ...]] = (
    ("traces", frozenset({"task_id", "baseline_correct", "trained_correct"}), "pairs scored by two critics"),
    ("ablation", frozenset({"run_name", "baseline", "trained_component", "splits"}), "published accuracies"),
    ("no results", frozenset({"candidate_output", "scoring_rubric"}), "task definitions"),
    ("no results", frozenset({"task_id", "dimension", "prompt", "chosen", "rejected"}), "training preferences"),
    ("no results", frozenset({"split", "rows", "access", "public_rows_included"}), "a note on sealed preferences"),
    ("no results", frozenset({"run_name", "vector_size", "epoch_history"}), "a training log"),
    ("no results", frozenset({"total_tasks", "splits", "source_modes"}), "a summary of the tasks"),
    ("no results", frozenset({"total_tasks", "partition_actuals"}), "a summary of the tasks"),
    ("no results", frozenset({"path", "shared_interface", "delta_a"}), "a digest of the ablation"),
    ("no results", frozenset({"dimension_agreement", "subset_task_ids"}), "agreement of two passes"),
    ("no results", frozenset({"task_id", "source_mode", "split", "dimension_results"}), "one pass of a rater"),
    ("no results", frozenset({"ngram_overlap_threshold", "findings"}), "a contamination check"),
)
# Files whose keys are too common to go by; these words stand near their beginning.
_WORDS: Final = (
    ("held_out_vs_train", '"ngram_overlap_threshold"', "a contamination check"),
    ("claims", '"bench_total_tasks_v0_1"', "a list of claims"),
    ("programmatic", '"candidate_output"', "worked examples"),
    ("title", '"Tenacious-Bench', "the schema of a task"),
)
_NAME = re.compile(r"(?P<model>.+)_(?P<split>train|dev|held_out)_eval")
_NAMELESS = "bench"
_CANDIDATE: Final = "candidate"


def kind_of(head: Head) -> tuple[Kind, str] | None:
    """Say which file of the benchmark this is, and why; None where it is none."""
    if {"task_count", "passed", "failed", "results"} <= head.keys and '"dimension_results"' in head.text:
        return "evaluation", "task_count, passed, failed, and results with dimension_results"
    for kind, keys, reason in _KEYS:
        if keys <= head.keys:
            return kind, reason
    for key, word, reason in _WORDS:
        if key in head.keys and word in head.text:
            return "no results", reason
    return None


@dataclass(slots=True)
class _Tally:
    """What was seen on the way through the results of an evaluation."""

    seen: Once = field(default_factory=Once)
    highest: dict[str, float] = field(default_factory=dict[str, float])
    n_passed: int = 0
    contradictions: list[str] = field(default_factory=list[str])


class TenaciousLoader(SingleFileLoader):
    """Loader of Tenacious-Bench's evaluations, held-out traces and ablation results.

    The scenario is the benchmark's `dimension`, the task its split; factor `scenario_base` is the task without its
    version, since versions of one scenario are near copies. Evaluations have metrics `passed` (the headline), `score`
    and `score/<rubric dimension>`. Task files, checks and summaries are passed over.
    """

    name = "tenacious"
    title = "Tenacious-Bench evaluations, held-out traces, ablation results"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise any file of the benchmark by its keys."""
        found = kind_of(head)
        if found is None:
            return None
        return Match(confidence=0.9, reason=found[1], skip=found[0] == "no results")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes of an evaluation or of both critics, or the aggregates of an ablation."""
        kind, reason = kind_of(read_head(source.path)) or ("no results", "of no kind of Tenacious-Bench")
        if kind == "traces":
            yield from read_traces(source)
        elif kind == "ablation":
            yield from read_ablation(source)
        elif kind == "evaluation":
            yield from _read_evaluation(source)
        else:
            raise InputError(f"is {reason}; expected an evaluation, held-out traces or ablation results")


def _read_evaluation(source: Source) -> Iterator[Rows | Problem]:
    named = _NAME.fullmatch(source.stem)
    model = source.called if named is None else _CANDIDATE if named["model"] == _NAMELESS else named["model"]
    common: Row = {"run": source.run_id(), "model": model, "system": model, "benchmark": BENCHMARK}
    split = "" if named is None else named["split"]
    tally = _Tally()
    rows = ({**common, "task": split, **row} for row in _outcomes(source.path, tally))
    yield from in_batches(rows, "outcomes")
    yield Rows(table="metrics", rows=_metrics(tally))
    run = {**common, "harness": "Tenacious-Bench", "factor_names": ["dimension=scenario"], "dependence": []}
    yield Rows(table="runs", rows=[run])
    yield from source.notes((_whose(source.stem, model), *_doubts(source.path, tally)))


def _outcomes(path: Path, tally: _Tally) -> Iterator[Row]:
    for where, locator, result in objects_in(path, "results", word="result"):
        item = as_text(result.get("task_id"))
        if item is None:
            raise InputError(f"{where}: has no task_id; expected the evaluation of one task")
        tally.seen.add(item, f"task {item!r}", where)
        common = {
            "item": item,
            "trial": 0,
            "n_trials": 1,
            "locator": locator,
            "scenario": as_text(result.get("dimension")),
            "scenario_base": base_scenario(item),
            "task_type": as_text(result.get("task_type")),
            "pass_threshold": as_number(result.get("pass_threshold")),
        }
        yield from ({**common, **row} for row in _scores(result, item, tally))


def _scores(result: Row, item: str, tally: _Tally) -> Iterator[Row]:
    passed = as_number(result.get("passed"))
    score, threshold = as_number(result.get("score")), as_number(result.get("pass_threshold"))
    tally.n_passed += passed == 1.0
    if None not in (passed, score, threshold) and passed != float((score or 0.0) >= (threshold or 0.0)):
        tally.contradictions.append(item)
    yield {"metric": "passed", **_judged(result.get("passed"), binary=True, high=1.0)}
    yield {"metric": "score", **_judged(result.get("score"), high=1.0)}
    for part in dicts(result.get("dimension_results")):
        name = as_text(part.get("name")) or "unnamed"
        high = as_number(part.get("max_score")) or 1.0
        tally.highest[name] = max(high, tally.highest.get(name, 0.0))
        yield {"metric": f"score/{name}", **_judged(part.get("score"), high=high)}


def _judged(value: object, *, high: float, binary: bool = False) -> Row:
    number = as_number(value)
    if number is not None and (number in (0.0, 1.0) if binary else 0 <= number <= high):
        return scored(number)
    shown = json.dumps(value)[:200]
    return unscored(f"is {shown}, not within 0 to {high:g}", shown)


def _metrics(tally: _Tally) -> list[Row]:
    parts = [
        metric_row(BENCHMARK, f"score/{name}", "bounded", high=high, unit="points")
        for name, high in tally.highest.items()
    ]
    return [metric_row(BENCHMARK, "passed", primary=True), metric_row(BENCHMARK, "score", "bounded"), *parts]


def _whose(stem: str, model: str) -> str:
    if model == _CANDIDATE:
        return (
            "does not say whose answers were scored (each task carries one candidate_output); the model is called "
            f"{model!r}. Name the file <model>_<split>_eval.json to say otherwise"
        )
    return f"names its model only in the file name {stem!r}; the model is called {model!r}"


def _doubts(path: Path, tally: _Tally) -> Iterator[str]:
    members = {
        part.member: part.value for part in iter_json(path, arrays=("results",)) if not isinstance(part, JsonItem)
    }
    n = len(tally.seen)
    held = {"task_count": n, "passed": tally.n_passed, "failed": n - tally.n_passed}
    for key, count in held.items():
        stated = as_whole(members.get(key))
        if stated is not None and stated != count:
            yield f"its {key} is {stated}, but its results give {count}; the results are used"
    if tally.contradictions:
        shown = ", ".join(tally.contradictions[:3])
        yield f"{len(tally.contradictions):,} tasks say passed against their score and pass_threshold ({shown})"
    if not n:
        yield "holds no results"


LOADER: Final = TenaciousLoader()
