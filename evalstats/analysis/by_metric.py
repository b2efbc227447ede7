"""Answers by several metrics at once: one result for each, at a level at which all hold together, and none of all together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from evalstats.analysis.result import row_named
from evalstats.document.model import Note
from evalstats.grammar import and_list

_SHOWN = 3


class _OfMetric(Protocol):
    @property
    def metric(self) -> str: ...
    @property
    def answered(self) -> bool: ...


P = ParamSpec("P")
Row = TypeVar("Row", bound=_OfMetric)
One = TypeVar("One")
Many = TypeVar("Many")
One_co = TypeVar("One_co", covariant=True)
Many_co = TypeVar("Many_co", covariant=True)


class ByMetric(Generic[Row]):
    """What results by several metrics share: a row for each, in the order asked for."""

    __slots__ = ()
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        """Refuse a family without a member, which a saved file could hold."""
        if not self.rows:
            message = "no metric is compared"
            raise ValueError(message)

    @property
    def answered(self) -> bool:
        """Whether each metric has an answer."""
        return all(row.answered for row in self.rows)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in the order asked for."""
        return tuple(row.metric for row in self.rows)

    def row(self, metric: str) -> Row:
        """Return the answer by one metric, with its intervals at the adjusted level.

        InputError if there is no such metric; the message names the closest.
        """
        return row_named(self.rows, metric, what="metric", key="metric")


class _ByMetrics(Protocol[P, One_co, Many_co]):
    """A question as a type checker sees it: of a list of metrics it returns the answers by each.

    Where none is named and several have no headline, it does so too, which no type can tell.
    """

    @overload
    def __call__(
        self, data: object, *sides: str | None, metric: list[str] | tuple[str, ...], **options: Any
    ) -> Many_co: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> One_co: ...


def by_metrics(_one: type[One], _many: type[Many]) -> Callable[[Callable[P, One | Many]], _ByMetrics[P, One, Many]]:
    """Type a question whose function answers by one metric or by several; only type checkers look at the classes."""
    return lambda function: cast("_ByMetrics[P, One, Many]", function)


def notes_by_metric(notes: Mapping[str, Sequence[Note]]) -> list[Note]:
    """Return what is known by every metric once, and what is known by some with their names."""
    found: list[Note] = []
    for note in dict.fromkeys(note for own in notes.values() for note in own):
        names = [metric for metric, own in notes.items() if note in own]
        told = note.text if len(names) == len(notes) else f"In {and_list(names, _SHOWN)}: {note.text}"
        found.append(replace(note, text=told))
    return found
