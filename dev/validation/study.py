"""A question about error rates: its cases, the work that tallies them, and what is promised."""

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np

from evalstats.datasets.validation import Measure, Role
from evalstats.stats.estimate import IntervalEstimate

SEED = 2_718_281_828
TOUCHING = 1e-9  # an end that equals the truth covers it, whatever the rounding


class Tally(NamedTuple):
    """Errors among `total` data sets, and the sum of the widths of their intervals.

    For an enumeration `total` is 1 and `errors` a probability. Tallies of parts add up to the tally of the whole.
    """

    errors: float
    total: float
    width: float | None = None

    def plus(self, other: "Tally") -> "Tally":
        """Return both together."""
        width = None if self.width is None or other.width is None else self.width + other.width
        return Tally(self.errors + other.errors, self.total + other.total, width)


Tallies = Mapping[tuple[str, str], Tally]  # by case and method


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One situation in which every method is tried; `design` holds the numbers that describe it."""

    name: str
    group: str
    design: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What one process does at a time: a part of a cell, with the seed of that part."""

    study: str
    cell: str
    part: int
    work: Callable[[], Tallies]


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A limit on the rates of a method, in all cases or in those named.

    `up_to_chance` is for what is proved of the method: then a simulated rate may exceed the limit as far as its Monte
    Carlo interval reaches back.
    """

    text: str
    method: str
    cases: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    up_to_chance: bool = False


def no_notes(_tallies: Tallies) -> list[str]:
    """Say nothing further."""
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, what is simulated to answer it, and what is promised.

    Attributes
    ----------
    tasks
        Called with the share of the replicates that is wanted (1, or a tenth for a quick look).
    methods
        Methods with their roles, in the order in which they are shown; tallies of others are only for the notes.
    notes
        Called with all tallies.
    """

    name: str
    question: str
    design: str
    measure: Measure
    nominal: float
    methods: Mapping[str, Role]
    cases: Sequence[Case]
    tasks: Callable[[float], list[Task]]
    promises: Sequence[Promise]
    seeded: bool = True
    notes: Callable[[Tallies], list[str]] = field(default=no_notes)


def simulated(
    study: str,
    cell: str,
    work: Callable[[np.random.Generator, int], Mapping[str, Tally]],
    *,
    replicates: int,
    part: int,
    share: float = 1.0,
) -> list[Task]:
    """Cut the replicates of a cell into parts with seeds of their own.

    A share of the replicates is the first parts, so a quick run is the beginning of the full one.
    """
    count = max(1, round(share * replicates / part))
    return [
        Task(study=study, cell=cell, part=number, work=partial(_seeded, work, study, cell, number, part))
        for number in range(count)
    ]


class Named(Protocol):
    """A cell, by its name."""

    @property
    def name(self) -> str:
        """What it is called."""


def of_worlds(
    study: str,
    worlds: Iterable[Named],
    work: Callable[..., Mapping[str, Tally]],
    *,
    replicates: int,
    part: int,
    share: float = 1.0,
) -> list[Task]:
    """Cut the cells of all worlds into parts; `work` is given each as `world`."""
    return [
        task
        for world in worlds
        for task in simulated(
            study, world.name, partial(work, world=world), replicates=replicates, part=part, share=share
        )
    ]


def _seeded(
    work: Callable[[np.random.Generator, int], Mapping[str, Tally]], study: str, cell: str, number: int, part: int
) -> Tallies:
    entropy = [SEED, zlib.crc32(f"{study}/{cell}".encode())]
    rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(number,)))
    return {(cell, method): tally for method, tally in work(rng, part).items()}


def added(found: Iterable[Tallies]) -> dict[tuple[str, str], Tally]:
    """Add the tallies of all parts."""
    total: dict[tuple[str, str], Tally] = {}
    for tallies in found:
        for key, tally in tallies.items():
            total[key] = total[key].plus(tally) if key in total else tally
    return total


def of_intervals(found: Sequence[IntervalEstimate], truth: float) -> Tally:
    """Count the intervals that miss the truth; one that could not be given is a point, and misses all but itself."""
    ends = [
        (e.estimate, e.estimate) if e.conf_low is None or e.conf_high is None else (e.conf_low, e.conf_high)
        for e in found
    ]
    return of_ends(np.array([low for low, _ in ends]), np.array([high for _, high in ends]), truth)


def of_ends(low: np.ndarray, high: np.ndarray, truth: float) -> Tally:
    """Count the pairs of ends that miss the truth."""
    missed = (low > truth + TOUCHING) | (high < truth - TOUCHING)
    return Tally(float(np.count_nonzero(missed)), float(low.size), float((high - low).sum()))


def of_claims(claimed: Sequence[bool] | np.ndarray) -> Tally:
    """Count the data sets on which something was claimed."""
    return Tally(float(np.count_nonzero(claimed)), float(len(claimed)))
