"""Tenacious-Bench: judged sales conversations and its critics, as first published; and evaluations of any of its authors.

Held-out traces are pairs of answers scored by two critics: two runs, `baseline` and `trained`. A critic is right about a pair
when it scores the chosen answer above the rejected one. The file counts an exact tie as wrong; factor `tie` marks them, so that
they can be counted otherwise. `margin` is the chosen answer's score less the rejected one's, in the critic's own units.

Evaluations are the answers of one model: `passed` (the headline), `score` and `score/<rubric dimension>`. The scenario is the
benchmark's `dimension` (or `category`), the task its split; factor `scenario_base` is the task without its version, since
versions of one scenario are near copies. Task files, checks and summaries are passed over.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.grammar import comma_list
from evalstats.loaders.format import HEADLINE, SHARE, Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.rows import Row, Said, as_row, held, scored, unscored
from evalstats.loaders.values import as_number, as_text, as_whole

BENCHMARK: Final = "Tenacious-Bench"
CRITICS: Final = ("baseline", "trained")
ABOUT: Final[Row] = {"factor_names": ["dimension=scenario"], "dependence": []}

_VERSION: Final = re.compile(r"-v\d+$")
_SHOWN: Final = 3
_DIFFERENT_SCALES: Final = "Margins of the two critics are on different scales and cannot be compared"
_TIES: Final = (
    "{ties} of the {wrong} errors of {critic!r} are exact ties of the chosen and the rejected answer, which the file counts as "
    "wrong (factor `tie`)"
)


def base_scenario(task_id: str) -> str:
    """Return a task's id without its version.

    >>> base_scenario("tb-p-001-v02"), base_scenario("tb-hand-004")
    ('tb-p-001', 'tb-hand-004')
    """
    return _VERSION.sub("", task_id)


def flag(value: object, name: str) -> Said:
    """Return the part of an outcome that says whether it was right, from true, false, 1 or 0."""
    found = as_number(value)
    return found if found in (0.0, 1.0) else unscored(f"{name} is {held(value) or 'absent'}", held(value))


class _Pair(Struct):
    task_id: Any = None
    split: Any = None
    dimension: Any = None
    task_type: Any = None
    source_mode: Any = None
    baseline_chosen_score: Any = None
    baseline_rejected_score: Any = None
    baseline_correct: Any = None
    trained_chosen_score: Any = None
    trained_rejected_score: Any = None
    trained_correct: Any = None
    delta_correct: Any = None


class _Pairs:
    """The pairs of one file: per critic how often it was wrong, and how often by an exact tie."""

    def __init__(self, file: FormatFile[_Pair]) -> None:
        self._file, self._wrong, self._ties = file, Counter[str](), Counter[str]()
        self._odd: list[str] = []
        self._runs = {critic: file.run(critic, **ABOUT) for critic in CRITICS}

    def rows(self, record: _Pair) -> Iterator[Sample]:
        """Return what both critics say of a pair."""
        item, split = as_text(record.task_id), as_text(record.split) or ""
        before, after = as_number(record.baseline_correct), as_number(record.trained_correct)
        delta = as_number(record.delta_correct)
        contradicts = delta is not None and before is not None and after is not None and delta != after - before
        if not item or contradicts or self._file.again(split, item):
            why = "delta_correct contradicts the verdicts" if contradicts else "a task of its split before"
            self._file.leave_out(why if item else "no task_id")
            return
        shared: Row = {
            "task": split,
            "item": item,
            "scenario": as_text(record.dimension),
            "scenario_base": base_scenario(item),
            "task_type": as_text(record.task_type),
            "source_mode": as_text(record.source_mode),
        }
        for critic, verdict, chosen, rejected in (
            ("baseline", record.baseline_correct, record.baseline_chosen_score, record.baseline_rejected_score),
            ("trained", record.trained_correct, record.trained_chosen_score, record.trained_rejected_score),
        ):
            margin, tie = self._margin(critic, verdict, as_number(chosen), as_number(rejected))
            right = {"tie": tie, **as_row(flag(verdict, f"{critic}_correct"))}
            yield (
                {**shared, "run": self._runs[critic]},
                [("correct", right), ("margin", {"tie": tie, **as_row(margin)})],
            )

    def _margin(
        self, critic: str, verdict: object, chosen: float | None, rejected: float | None
    ) -> tuple[Row, bool | None]:
        """Return the margin and whether it is a tie, and take note of what the verdict says of it."""
        correct = as_number(verdict)
        margin = None if chosen is None or rejected is None else chosen - rejected
        self._wrong[critic] += correct == 0
        self._ties[critic] += correct == 0 and margin == 0
        if margin is None:
            return unscored("one of the two scores is absent"), None
        if correct is not None and bool(correct) != (margin > 0):
            self._odd.append(self._file.locator.removeprefix("line "))
        # Scores have six decimals: what a subtraction leaves beyond nine would set equal margins apart.
        return scored(round(margin, 9)), margin == 0

    def finish(self) -> Iterable[Sample]:
        """Say how many errors are ties, and which verdicts are not what their scores say."""
        for critic, run in self._runs.items():
            ties, wrong = self._ties[critic], self._wrong[critic]
            tied = f"; {ties} of the {wrong} errors of {critic} are exact ties, counted as wrong" if ties else ""
            self._file.runs[run]["note"] = _DIFFERENT_SCALES + tied
            if ties:
                self._file.note(_TIES.format(ties=ties, wrong=wrong, critic=critic))
        if self._odd:
            places = ", ".join(self._odd[:_SHOWN])
            self._file.note(
                f"{len(self._odd)} verdicts are not what their scores say (lines {places}); the verdicts are used"
            )
        return ()


PAIRS: Final = Format(
    name="tenacious",
    title="Tenacious-Bench held-out traces: pairs scored by two critics",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806, ablations/held_out_traces.jsonl",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_id baseline_correct trained_correct"),
        *(
            Sign(keys, text=text, skip=skip)
            for keys, text, skip in (
                ("candidate_output scoring_rubric", (), "task definitions"),
                ("task_id dimension prompt chosen rejected", (), "training preferences"),
                ("split rows access public_rows_included", (), "a note on sealed preferences"),
                ("run_name vector_size epoch_history", (), "a training log"),
                ("total_tasks splits source_modes", (), "a summary of the tasks"),
                ("total_tasks partition_actuals", (), "a summary of the tasks"),
                ("path shared_interface delta_a", (), "a digest of the ablation"),
                ("dimension_agreement subset_task_ids", (), "agreement of two passes"),
                ("task_id source_mode split dimension_results", (), "one pass of a rater"),
                ("ngram_overlap_threshold findings", (), "a contamination check"),
                # Keys too common to go by; these words stand near the beginning.
                ("held_out_vs_train", ('"ngram_overlap_threshold"',), "a contamination check"),
                ("claims", ('"bench_total_tasks_v0_1"',), "a list of claims"),
                ("programmatic", ('"candidate_output"',), "worked examples"),
                ("title", ('"Tenacious-Bench',), "the schema of a task"),
            )
        ),
    ),
    record=_Pair,
    reader=_Pairs,
    called="pairs",
    metrics={
        "correct": HEADLINE,
        "margin": {"kind": "continuous", "low": None, "high": None, "unit": "points of the critic"},
    },
)

_NAME: Final = re.compile(r"(?P<model>.+)_(?P<split>train|dev|held_out)_eval")
_NAMELESS: Final = "bench"
_CANDIDATE: Final = "candidate"


class _Part(Struct):
    name: Any = None
    score: Any = None
    max_score: Any = None


class _Result(Struct):
    task_id: Any = None
    dimension: Any = None
    category: Any = None
    difficulty: Any = None
    task_type: Any = None
    score: Any = None
    total_score: Any = None
    pass_threshold: Any = None
    passed: Any = None
    dimension_results: list[_Part | Scalar] | Scalar = None
    dimension_scores: dict[str, Any] | Scalar = None


class _Evaluation:
    """The answers of one model, with what the file counts of them."""

    def __init__(self, file: FormatFile[_Result]) -> None:
        self._file, self._n_passed, self._n, self._odd = file, 0, 0, list[str]()
        stem = file.source.stem
        named = _NAME.fullmatch(stem)
        self._split = "" if named is None else named["split"]
        self._model = (
            file.source.called if named is None else _CANDIDATE if named["model"] == _NAMELESS else named["model"]
        )
        self._run = ""

    def _named(self) -> str:
        scorer, stem = as_text(self._file.members.get("scorer")), self._file.source.stem
        if scorer is None and self._model == _CANDIDATE:
            self._file.note(
                "does not say whose answers were scored (each task carries one candidate_output); the model is called "
                f"{self._model!r}. Name the file <model>_<split>_eval.json to say otherwise"
            )
        elif scorer is None:
            self._file.note(f"names its model only in the file name {stem!r}; the model is called {self._model!r}")
        return self._file.run(scorer or self._model, "", **ABOUT)

    def rows(self, record: _Result) -> Iterator[Sample]:
        """Return the outcomes of a task: passed or not, the score, and those of its rubric."""
        item = as_text(record.task_id)
        if not item or self._file.again(item):
            self._file.leave_out("a task before" if item else "no task_id")
            return
        self._run = self._run or self._named()
        total = record.score if record.total_score is None else record.total_score
        passed, score, threshold = (as_number(value) for value in (record.passed, total, record.pass_threshold))
        self._n += 1
        self._n_passed += passed == 1.0
        if passed is not None and score is not None and threshold is not None and passed != (score >= threshold):
            self._odd.append(item)
        shared: Row = {
            "run": self._run,
            "task": self._split,
            "item": item,
            "scenario": as_text(record.dimension) or as_text(record.category),
            "scenario_base": base_scenario(item),
            "task_type": as_text(record.task_type),
            "difficulty": as_text(record.difficulty),
            "pass_threshold": threshold,
        }
        parts = [
            (as_text(part.name) or "unnamed", part.score, as_number(part.max_score) or 1.0)
            for part in (record.dimension_results if isinstance(record.dimension_results, list) else ())
            if isinstance(part, _Part)
        ]
        if isinstance(record.dimension_scores, dict):
            parts += [(as_text(name) or "unnamed", value, 1.0) for name, value in record.dimension_scores.items()]
        rows: list[tuple[str, Said]] = [
            ("passed", flag(record.passed, "passed")),
            ("score", number(total, 0.0, 1.0)),
        ]
        for name, value, high in parts:
            metric = f"score/{name}"
            highest = max(high, as_number(self._file.metrics.get(metric, {}).get("high")) or 0.0)
            self._file.metric(metric, kind="bounded", low=0.0, high=highest, unit="points", higher_is_better=True)
            rows.append((metric, number(value, 0.0, high)))
        yield shared, rows

    def finish(self) -> Iterable[Sample]:
        """Say where counts and verdicts contradict the results."""
        members, n_failed = self._file.members, self._n - self._n_passed
        for key, n in (
            ("task_count", self._n),
            ("total_tasks", self._n),
            ("passed", self._n_passed),
            ("failed", n_failed),
        ):
            stated = as_whole(members.get(key))
            if stated is not None and stated != n:
                self._file.note(f"its {key} is {stated}, but its results give {n}; the results are used")
        if self._odd:
            shown = comma_list(self._odd, _SHOWN)
            self._file.note(f"{len(self._odd):,} tasks say passed against their score and pass_threshold ({shown})")
        return ()


EVALUATION: Final = Format(
    name="tenacious-evaluation",
    title="Tenacious-Bench evaluations (<model>_<split>_eval.json, *_scores.json)",
    version="3",
    upstream="nebiyuephrata/SignalForge at 7d1a806; IbnuEyni/tenacious-sales-bench at 5b537e1, ablations/score_baseline.py",
    benchmark=BENCHMARK,
    harness=BENCHMARK,
    signs=(
        Sign("task_count passed failed results", text=('"dimension_results"',)),
        Sign("scorer total_tasks passed task_results", text=('"dimension_scores"',)),
    ),
    record=_Result,
    reader=_Evaluation,
    lists=("results", "task_results"),
    keep=("task_count", "total_tasks", "passed", "failed", "scorer"),
    called="results",
    metrics={"passed": HEADLINE, "score": {**SHARE, "kind": "bounded"}},
    expected="The evaluation of a set of tasks was expected",
)
