"""The facts of a metric: its kind, bounds, direction and unit, and how its numbers are shown."""

from dataclasses import fields, replace
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from evalstats.errors import InputError
from evalstats.record import record

Direction = Literal["declared", "assumed", "asked"]
PassKind = Literal["hat", "at"]
_PERCENT = ("percent", "%", "pct")


@record
class MetricFacts:
    """A metric of a benchmark: its kind, bounds, direction and unit. `low` and `high` are None where it has no bound.

    `direction` says where `higher_is_better` comes from: "declared", "assumed" (more is taken to be better), or "asked", where
    nothing declares it and the name suggests that lower is better.

    Attributes
    ----------
    benchmark, name
        The benchmark, and the name of the metric.
    kind
        binary, proportion, bounded, ordinal or continuous.
    low, high
        Lowest and highest possible score; None where there is no bound.
    higher_is_better
        Whether more is better.
    unit
        Unit of a score as the files have it.
    """

    benchmark: str
    name: str
    kind: str
    low: float | None
    high: float | None
    higher_is_better: bool
    unit: str
    direction: Direction = "declared"

    @property
    def facts(self) -> "MetricFacts":
        """These facts alone, without what is said of them."""
        return MetricFacts(**{each.name: getattr(self, each.name) for each in fields(MetricFacts)})

    @property
    def span(self) -> float | None:
        """Distance between its bounds."""
        return None if self.low is None or self.high is None else self.high - self.low

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Lowest and highest score, where there are both."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def is_graded(self, *scores: npt.NDArray[np.float64]) -> bool:
        """Whether a single answer can score between right and wrong; no, where `scores` lie at the two bounds alone."""
        if self.kind in ("binary", "proportion"):
            return False
        if self.span is None:
            return True
        return not all(((each == self.low) | (each == self.high) | np.isnan(each)).all() for each in scores)

    def bad_to_good(self) -> tuple[float | None, float | None]:
        """Return its bounds, the one of failures first; None where it has none."""
        return (self.low, self.high) if self.higher_is_better else (self.high, self.low)

    @property
    def worst(self) -> float | None:
        """The score of an outright failure, where the metric has a bound on that side."""
        return self.low if self.higher_is_better else self.high

    def is_cost(self, *scores: npt.NDArray[np.float64]) -> bool:
        """Whether scores are amounts without an upper bound of which less is better: dollars, tokens, seconds."""
        return not self.higher_is_better and self.high is None and all(bool((x >= 0).all() and x.any()) for x in scores)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of 1, shown in percentage points."""
        return (self.low, self.high) == (0.0, 1.0)

    @property
    def is_percent(self) -> bool:
        """Whether its numbers are percentages already."""
        return self.unit.lower() in _PERCENT

    @property
    def scale(self) -> float:
        """What to multiply by when showing it."""
        return 100.0 if self.is_share else 1.0

    @property
    def shown_unit(self) -> str:
        """Unit of a difference as shown."""
        return "pp" if self.is_share or self.is_percent else self.unit

    @property
    def score_unit(self) -> str:
        """Unit of a score as shown."""
        return "%" if self.is_share or self.is_percent else self.unit

    def passing(self, kind: PassKind, k: int) -> Self:
        """Return the metric whose score of an item is pass^k ("hat") or pass@k ("at") of it."""
        if self.kind not in ("binary", "proportion") or not self.higher_is_better:
            raise InputError(
                f"pass^k and pass@k count trials that succeed, and {self.name!r} is "
                f"{self.kind if self.higher_is_better else 'better when lower'}; they need a right-or-wrong metric"
            )
        return replace(self, name=f"{self.name} pass{'^' if kind == 'hat' else '@'}{k}", kind="proportion")
