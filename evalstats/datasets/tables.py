"""The shipped figures: as they stand in their files, and as tidy tables in the shape that the loaders give to their sources.

The files are CSV whose first lines, marked `#`, name source and licence.
"""

import csv
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import TypeVar

import msgspec

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.plan import LiveMix, live_mix_of
from evalstats.schema.tables import frame_from_rows

_HERE = "evalstats.datasets"
T = TypeVar("T")


@record
class DimensionCounts:
    """One judgment dimension of Tenacious-Bench's held-out split: how many pairs each of two critics got right."""

    dimension: str
    task_type: str
    source_mode: str
    both_right: int
    only_baseline: int
    only_trained: int
    neither: int

    def pairs(self) -> tuple[tuple[str, bool, bool], ...]:
        """Expand the counts to pairs: (made item id, baseline right, trained right).

        >>> counts = DimensionCounts(
        ...     dimension="d", task_type="t", source_mode="s", both_right=1, only_baseline=0, only_trained=1, neither=0
        ... )
        >>> counts.pairs()
        (('d-01', True, True), ('d-02', False, True))
        """
        cells = (
            (self.both_right, True, True),
            (self.only_baseline, True, False),
            (self.only_trained, False, True),
            (self.neither, False, False),
        )
        outcomes = [(baseline, trained) for count, baseline, trained in cells for _ in range(count)]
        return tuple((f"{self.dimension}-{place:02d}", *outcome) for place, outcome in enumerate(outcomes, start=1))


@cache
def tenacious_counts() -> tuple[DimensionCounts, ...]:
    """Return the counts of Tenacious-Bench's held-out split, one element a dimension."""
    return records("tenacious_held_out.csv", DimensionCounts)


@cache
def tau_airline_rewards() -> tuple[tuple[int, ...], ...]:
    """Return tau-bench airline rewards of gpt-4o: 50 tasks in order of their id, 4 trials each, 1 or 0."""
    return tuple(tuple(int(digit) for digit in row["rewards"]) for row in rows_of(_HERE, "tau_airline.csv"))


@record
class HarmRate:
    """How often one model behind one defence did harm on HarmAmp's malicious plans; `harmfulness` is as published, in percent."""

    model: str
    defense: str
    harmfulness: float
    n_harmful: int
    n_malicious: int


@cache
def harmamp_known() -> tuple[HarmRate, ...]:
    """Return the two rates of HarmAmp that are known, from a secondary source, as counts of its malicious plans."""
    return records("harmamp_known.csv", HarmRate)


def rows_of(package: str, name: str) -> list[dict[str, str]]:
    """Read a CSV file that ships inside a package, passing over the lines that begin with `#`."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def records(name: str, of: type[T]) -> tuple[T, ...]:
    """Return the rows of a shipped CSV file as records whose fields are its columns."""
    return tuple(msgspec.convert(row, of, strict=False) for row in rows_of(_HERE, name))


def outcome(*, run: str, model: str, score: float, **more: object) -> dict[str, object]:
    """Return one scored outcome of a single trial; `more` are benchmark, item, metric and further columns."""
    made = {"run": run, "model": model, "system": model, "trial": 0, "n_trials": 1, "score": score, "status": "scored"}
    return {**made, **more}


def shipped(
    rows: Sequence[Mapping[str, object]], benchmark: str, kinds: Mapping[str, str], **about: object
) -> EvalData:
    """Return outcomes with their runs, about all of which the same is known, and metrics from 0 to 1 by their kinds.

    The first metric is the headline.
    """
    counts = Counter((row["run"], row["model"]) for row in rows)
    runs = [
        {
            "run": run,
            "model": model,
            "system": model,
            "benchmark": benchmark,
            "n_scored": n,
            "n_error": 0,
            "n_unscored": 0,
        }
        | about
        for (run, model), n in counts.items()
    ]
    scale: dict[str, object] = {"low": 0.0, "high": 1.0, "higher_is_better": True, "unit": "proportion"}
    metrics = [
        {"benchmark": benchmark, "metric": metric, "kind": kind, "primary": metric == next(iter(kinds)), **scale}
        for metric, kind in kinds.items()
    ]
    return EvalData(
        outcomes=frame_from_rows(rows, "outcomes"),
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows(metrics, "metrics"),
    )


def tenacious_held_out() -> EvalData:
    """Two critics on Tenacious-Bench's held-out split: 43 pairs of drafts, baseline 22 right, trained 43.

    Each row says whether a critic scored the better of two drafts higher. Published are the outcomes by judgment
    dimension; the rows are expanded from those counts, and the item ids are made. Within each of the seven dimensions
    all pairs have the same outcome, so the pairs are far from independent.

    Returns
    -------
    EvalData
        Runs of the models "baseline" and "trained"; metric "correct"; `task` is the split and `scenario` the dimension;
        the factors `task_type` and `source_mode` are constant within it.

    Notes
    -----
    Source: github.com/nebiyuephrata/SignalForge @ 7d1a806, ablations/held_out_traces.jsonl. No licence was found there;
    the counts are carried as figures. All 21 errors of the baseline are exact ties of its two scores.

    Examples
    --------
    >>> data = tenacious_held_out()
    >>> data.outcomes["score"].sum(), data.where(model="trained").outcomes["score"].sum()
    (65.0, 43.0)
    >>> data.factor("dimension")
    'scenario'
    """
    rows = [
        outcome(
            run=f"tenacious_held_out.{model}",
            model=model,
            score=float(correct),
            benchmark="Tenacious-Bench",
            item=item,
            metric="correct",
            task="held_out",
            scenario=counts.dimension,
            task_type=counts.task_type,
            source_mode=counts.source_mode,
        )
        for counts in tenacious_counts()
        for item, *both in counts.pairs()
        for model, correct in zip(("baseline", "trained"), both, strict=True)
    ]
    return shipped(
        rows,
        "Tenacious-Bench",
        {"correct": "binary"},
        source="github.com/nebiyuephrata/SignalForge @ 7d1a806: ablations/held_out_traces.jsonl",
        factor_names=["dimension=scenario"],
        note="The published outcome, expanded from counts by dimension; the item ids are made; "
        "all 21 errors of the baseline are exact ties of its two scores, counted as wrong",
    )


def tau_airline() -> EvalData:
    """Rewards of gpt-4o on tau-bench's airline tasks: 50 tasks, 4 trials each.

    Returns
    -------
    EvalData
        One run of the model "gpt-4o"; metric "reward", 1 for a solved task and 0 otherwise; `task` is "airline".

    Notes
    -----
    Source: github.com/sierra-research/tau-bench @ 59a200c6d5, historical_trajectories/gpt-4o-airline.json, licence MIT.
    Its README gives pass^1 to pass^4 as 0.420, 0.273, 0.220, 0.200.

    Examples
    --------
    >>> data = tau_airline()
    >>> data.outcomes.height, data.outcomes["score"].mean()
    (200, 0.42)
    """
    rows = [
        outcome(
            run="gpt-4o-airline",
            model="gpt-4o",
            score=float(reward),
            benchmark="tau-bench",
            task="airline",
            item=str(task),
            metric="reward",
            trial=trial,
        )
        for task, rewards in enumerate(tau_airline_rewards())
        for trial, reward in enumerate(rewards)
    ]
    return shipped(
        rows,
        "tau-bench",
        {"reward": "binary"},
        source="github.com/sierra-research/tau-bench @ 59a200c6d5: historical_trajectories/gpt-4o-airline.json",
        harness="tau-bench",
        note="The published rewards, without the conversations",
    )


_ALL: Mapping[str, Callable[[], EvalData]] = MappingProxyType(
    {"tenacious_held_out": tenacious_held_out, "tau_airline": tau_airline}
)


def names() -> tuple[str, ...]:
    """Names of the data sets that ship with the package.

    Examples
    --------
    >>> names()
    ('tenacious_held_out', 'tau_airline')
    """
    return tuple(_ALL)


def load(name: str) -> EvalData:
    """Return a shipped data set by its name.

    Raises
    ------
    InputError
        If there is none of that name; the message lists all.

    Examples
    --------
    >>> load("tau_airline").models()
    ('gpt-4o',)
    """
    if name not in _ALL:
        raise InputError(f"there is no data set {name!r}; shipped are {', '.join(_ALL)}")
    return _ALL[name]()


__all__ = ["LiveMix", "rutbench_live_mix"]


@cache
def rutbench_live_mix() -> LiveMix:
    """Return the shares of user behaviours that RUT-Bench's authors found in surveyed real dialogues.

    The levels are those of `scenario` in RUT-Bench results ("stable" is the ideal user).

    Returns
    -------
    LiveMix
        Seven levels. The printed percentages sum to 101.2, since a dialogue may have several labels; they are divided by
        that sum, and `note` says so. `raw` holds them as printed.

    Notes
    -----
    Source: RUT-Bench, arXiv 2606.03318, figure of the taxonomy; github.com/Miaow-Lab/RUT-Bench @ d41a3fc, licence MIT. How
    many dialogues were surveyed, and where, is not printed with the figure, so the shares come without an error.

    Examples
    --------
    >>> mix = rutbench_live_mix()
    >>> mix.raw["stable"], round(mix.shares["stable"], 4), round(sum(mix.raw.values()), 2)
    (77.4, 0.7647, 101.21)
    """
    rows = rows_of("evalstats.datasets", "rutbench_live_mix.csv")
    return live_mix_of(
        {row["level"]: float(row["printed_percent"]) for row in rows},
        factor="scenario",
        source="RUT-Bench, arXiv 2606.03318, figure of the taxonomy of user behaviour",
        licence="MIT",
        note="surveyed real dialogues, several labels each",
    )
