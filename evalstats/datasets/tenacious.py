"""Tenacious-Bench, published three times: how two critics did on every held-out pair, and counts of what the files hold.

Only figures ship: no licence was found in the repository, so none of its text is carried. `dev/tenacious_files.py` makes the
two files from the original ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, Final, Literal

from evalstats.datasets.tables import outcome, rows_of, shipped
from evalstats.errors import InputError
from evalstats.record import record
from evalstats.schema.data import EvalData

Outcome = Literal["right", "tie", "wrong"]
OUTCOMES: Final[tuple[Outcome, ...]] = ("right", "tie", "wrong")
CRITICS: Final = ("baseline", "trained")
SOURCE: Final = "github.com/nebiyuephrata/SignalForge"

_HERE = "evalstats.datasets"
RUNS, FACTS = "tenacious_runs.csv", "tenacious_facts.csv"
_CREDIT = {"right": 1.0, "tie": 0.5, "wrong": 0.0}


@record
class ScoredPair:
    """One pair: "right" where a critic scored the better draft higher, "tie" where it scored both alike.

    `scores` numbers the distinct rows of a run: two pairs with one number have the same dimension and the same four scores.
    """

    dimension: str
    baseline: Outcome
    trained: Outcome
    scores: int


@record
class TenaciousRun:
    """One published run: its pairs in the order of its file, and what it published.

    Gain and interval are in percentage points, trained minus baseline. `shared_ids` counts pairs whose task id is in the
    held-out set of the last run, too.
    """

    commit: str
    pairs: tuple[ScoredPair, ...]
    baseline_accuracy: float
    trained_accuracy: float
    gain: float
    conf_low: float
    conf_high: float
    p_value: float
    shared_ids: int

    @property
    def dimensions(self) -> tuple[str, ...]:
        """Names of the dimensions, in order of appearance."""
        return tuple(dict.fromkeys(pair.dimension for pair in self.pairs))

    def distinct(self) -> tuple[ScoredPair, ...]:
        """Return one pair of every distinct row."""
        return tuple({pair.scores: pair for pair in reversed(self.pairs)}.values())[::-1]

    def to_data(self, pairs: Sequence[ScoredPair] | None = None) -> EvalData:
        """Return the pairs of the run (or some of them) as outcomes of two models.

        Metric "correct" counts a tie as wrong, as the source does; "half_credit" counts it as half right. The dimension is the
        scenario; the item ids are made.

        Examples
        --------
        >>> data = load_tenacious().last.to_data()
        >>> data.outcomes.filter(model="baseline", metric="half_credit")["score"].sum()
        32.5
        """
        benchmark = "Tenacious-Bench"
        rows: list[dict[str, object]] = []
        for place, pair in enumerate(self.pairs if pairs is None else pairs, start=1):
            for critic in CRITICS:
                verdict: Outcome = getattr(pair, critic)
                for metric, score in (("correct", float(verdict == "right")), ("half_credit", _CREDIT[verdict])):
                    named = {"benchmark": benchmark, "item": f"pair-{place:02d}", "task": "held_out", "metric": metric}
                    run = f"{self.commit}.{critic}"
                    rows.append(outcome(run=run, model=critic, score=score, scenario=pair.dimension, **named))
        kinds = {"correct": "binary", "half_credit": "bounded"}
        about: dict[str, Any] = {"source": f"{SOURCE} @ {self.commit}", "harness": benchmark}
        return shipped(rows, benchmark, kinds, factor_names=["dimension=scenario"], **about)


@record
class TenaciousFiles:
    """Counts of what the files of the last run hold beside its scores.

    `tasks_*` count the tasks of a shipped split, `readme_*` what its README states, `run_*` those that the run's own
    evaluation lists. `pairs_in_*`: scored pairs that a shipped split holds. `other_split`: shipped tasks whose field `split`
    is not the split they are filed under; `held_out_trained_on`: tasks of the shipped held-out split on which the run was
    trained.
    `rated_scores` were given twice; `rated_alike` of them agree, and `rated_as_evaluated` are what the program printed.
    `checked` held-out tasks were checked for 8-word sequences shared with training; `check_violations` is what was published
    and `shared_ngrams` what is found again, by the same rule. `pairs_shared_ngrams` is found for the scored pairs against the
    tasks that the run was trained on, `pairs_shared_any` without sparing sequences that occur in more than three tasks.
    `cosines_again` of `cosines` word-count cosines are found again.
    """

    tasks_train: int
    tasks_dev: int
    tasks_held_out: int
    readme_train: int
    readme_dev: int
    readme_held_out: int
    run_train: int
    run_dev: int
    run_held_out: int
    pairs_in_train: int
    pairs_in_dev: int
    pairs_in_held_out: int
    other_split: int
    held_out_trained_on: int
    rated_tasks: int
    rated_scores: int
    rated_alike: int
    rated_as_evaluated: int
    checked: int
    check_violations: int
    shared_ngrams: int
    pairs_shared_ngrams: int
    pairs_shared_any: int
    cosines: int
    cosines_again: int


@record
class TenaciousStudy:
    """The three runs, the headline's last, and the files of the last; `origin` says what they were read from."""

    runs: tuple[TenaciousRun, ...]
    files: TenaciousFiles
    origin: str

    @property
    def last(self) -> TenaciousRun:
        """The run that the headline is of."""
        return self.runs[-1]


@cache
def load_tenacious() -> TenaciousStudy:
    """Return the study from the figures that ship with evalstats."""
    published: dict[str, dict[str, float]] = {}
    for row in rows_of(_HERE, FACTS):
        published.setdefault(row["run"], {})[row["fact"]] = float(row["value"])
    pairs: dict[str, list[ScoredPair]] = {run: [] for run in published}
    for row in rows_of(_HERE, RUNS):
        pair = ScoredPair(
            dimension=row["dimension"],
            baseline=outcome_of(row["baseline"]),
            trained=outcome_of(row["trained"]),
            scores=int(row["scores"]),
        )
        pairs[row["run"]] += [pair] * int(row["pairs"])
    runs = tuple(_run(commit, pairs[commit], facts) for commit, facts in published.items())
    counts = {field.name: int(published[runs[-1].commit][field.name]) for field in fields(TenaciousFiles)}
    return TenaciousStudy(runs=runs, files=TenaciousFiles(**counts), origin="counts that ship with evalstats")


def _run(commit: str, pairs: Sequence[ScoredPair], facts: Mapping[str, float]) -> TenaciousRun:
    numbers = {name: facts[name] for name in PUBLISHED}
    return TenaciousRun(commit=commit, pairs=tuple(pairs), shared_ids=int(facts["shared_ids"]), **numbers)


PUBLISHED: Final = ("baseline_accuracy", "trained_accuracy", "gain", "conf_low", "conf_high", "p_value")


def outcome_of(word: str) -> Outcome:
    """Return the word as an outcome; InputError if it is none."""
    if word not in OUTCOMES:
        raise InputError(f"{word!r} is no outcome of a pair; expected {', '.join(OUTCOMES)}")
    return word
