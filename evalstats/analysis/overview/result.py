"""What a store holds and what it answers: the frozen result of `overview()`."""

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec
import polars as pl

from evalstats.analysis.provenance import placed
from evalstats.analysis.result import OfOrigin, Origin, Result, json_safe
from evalstats.analysis.saved import result_of
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.errors import InputError
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.document.model import Document

Held = Literal["scores", "votes", "ratings", "published numbers"]


@record
class Holding:
    """What a store holds of one system on one benchmark, or the votes, ratings or published numbers of one source.

    Rows are counted by state; those that are missing have no row. `n_scored` counts votes, ratings and published numbers too.
    `date` is the day of the last run (2026-01-31), "" where no file says.

    Attributes
    ----------
    kind
        What is held: scores, votes, ratings or published numbers.
    model
        The system, or the source.
    n_runs
        Runs.
    """

    kind: Held
    model: str
    benchmark: str
    n_runs: int
    n_scored: int
    n_error: int = 0
    n_unscored: int = 0
    date: str = ""


@record
class Answer:
    """One question with its answer. `benchmark` is "" where the question takes all the data.

    Attributes
    ----------
    question, result
        The question by its command, and its result.
    """

    question: str
    benchmark: str
    result: Result

    @property
    def where(self) -> str:
        """Name the question and what it is asked of, in short."""
        return _where(self.question, self.benchmark)


@record
class Refusal:
    """A question that the data do not allow, or that refused them, and why.

    Attributes
    ----------
    question
        The question by its command.
    """

    question: str
    benchmark: str
    reason: str

    @property
    def where(self) -> str:
        """Name the question and what it was asked of, in short."""
        return _where(self.question, self.benchmark)


def _where(question: str, benchmark: str) -> str:
    return f"{question}{placed(benchmark)}" if benchmark else question


@record(repr=False)
class Overview(OfOrigin, Result):
    """All that a store answers: what it holds, the result of every question that its data allow, and why others are not.

    Attributes
    ----------
    holdings
        What the store holds of each system on each benchmark.
    answers
        Each question with its result.
    refusals
        Questions that the data do not allow, and why.
    """

    holdings: tuple[Holding, ...]
    answers: tuple[Answer, ...]
    refusals: tuple[Refusal, ...]
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        asked = ", ".join(dict.fromkeys(answer.question for answer in self.answers))
        return f"<Overview: {len(self.answers)} answers{f' ({asked})' if asked else ''}>"

    @property
    def answered(self) -> bool:
        """Whether any question was answered."""
        return bool(self.answers)

    @property
    def results(self) -> tuple[Result, ...]:
        """The results alone, in the order of the answers."""
        return tuple(answer.result for answer in self.answers)

    def documents(self) -> "tuple[Document, ...]":
        """Return what is said of each answer."""
        return tuple(answer.result.document() for answer in self.answers)

    def to_frame(self) -> pl.DataFrame:
        """One row for each answer: question, benchmark, verdict in words, headline, number."""
        rows = [
            {
                "question": answer.question,
                "benchmark": answer.benchmark,
                "label": said.label,
                "headline": said.headline,
                "number": said.number,
                "number_words": said.number_words,
            }
            for answer, said in zip(self.answers, self.documents(), strict=True)
        ]
        columns = ("question", "benchmark", "label", "headline", "number", "number_words")
        return ShownFrame(rows, schema=dict.fromkeys(columns, pl.String))

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-safe values; every answer holds its result as that result's own file has it."""
        answers = [
            {"question": each.question, "benchmark": each.benchmark, "result": each.result.to_dict()}
            for each in self.answers
        ]
        return {
            "result": type(self).__name__,
            "holdings": json_safe(self.holdings),
            "answers": answers,
            "refusals": json_safe(self.refusals),
            "origin": json_safe(self.origin),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Return the overview that `to_dict` was made of.

        InputError if the values are of another kind of result, or of another version of it.
        """
        if values.get("result", cls.__name__) != cls.__name__:
            raise InputError(f"this is a {values['result']}, not a {cls.__name__}")
        try:
            read = msgspec.convert({name: value for name, value in values.items() if name != "result"}, _Saved)
        except msgspec.ValidationError as error:
            raise InputError(f"not a {cls.__name__} of this version of evalstats: {error}") from error
        if any(each.result.get("result") == cls.__name__ for each in read.answers):
            raise InputError(f"not a {cls.__name__}: one of its answers is an overview")
        return cls(
            holdings=read.holdings,
            answers=tuple(
                Answer(question=each.question, benchmark=each.benchmark, result=result_of(each.result, each.question))
                for each in read.answers
            ),
            refusals=read.refusals,
            origin=read.origin,
        )


@record
class _SavedAnswer:
    question: str
    benchmark: str
    result: dict[str, Any]


@record
class _Saved:
    holdings: tuple[Holding, ...]
    answers: tuple[_SavedAnswer, ...]
    refusals: tuple[Refusal, ...]
    origin: Origin
