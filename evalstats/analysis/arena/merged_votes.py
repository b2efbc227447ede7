"""Votes too many to be held: merged where they are, and read again cluster by cluster for standard errors."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import narwhals as nw
import numpy as np

from evalstats.aggregate.votes import VoteCells, cluster_chunks, vote_cells
from evalstats.analysis.arena.votes import VoteCounts, VoteTable
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.votes import BOTH_BAD, TIE, VoteRows

_SOURCES = ("rater", "user", "judge", "session", "event", "item")
_MERGED = Note(
    kind="choice",
    text="votes were merged without being held: covariates, categories and checks of single votes are left out",
    caution=False,
)
_SHOWN = 4


def merged_votes(
    frame: object, *, arena: str, cluster: str | Sequence[str], models: Sequence[str] | None, keep_both_bad: bool
) -> tuple[VoteTable, VoteCounts]:
    """Merge the votes of a lazy frame.

    Standard errors are clustered by one column at most (or by what several agree in): "auto" takes the first of rater, user,
    judge, session, event and item that the frame has.

    Raises
    ------
    InputError
        If a column is missing, or models are to be kept only in part.
    CannotAnswerError
        If no vote has an outcome between two models.
    """
    if models is not None:
        raise InputError("models cannot be chosen from a lazy frame; filter the frame first")
    cells = vote_cells(frame)
    if cells.first.size == 0:
        raise CannotAnswerError(f"none of {cells.n_rows:,} votes has an outcome between two different models")
    names, unused = _clusters(frame, cluster)
    rows = _rows(cells)
    kept = np.ones(rows.n_rows, dtype=np.bool_) if keep_both_bad else rows.outcome != BOTH_BAD

    def chunks() -> Iterator[VoteRows]:
        for chunk in cluster_chunks(frame, cells, names):
            part = replace(
                rows.take(chunk.cell),
                weight=chunk.weight,
                weight_squares=chunk.weight_squares,
                count=chunk.count,
                clusters=(chunk.cluster,),
            )
            yield part if keep_both_bad else part.take(kept[chunk.cell])

    none = np.zeros(0, dtype=np.int64)
    counts = _counts(cells)
    table = VoteTable(
        arena=arena,
        models=cells.models,
        votes=None,
        first=none,
        second=none,
        outcome=none,
        share=np.zeros(0),
        weight=np.zeros(0),
        rows=rows if keep_both_bad else rows.take(kept),
        cluster_names=(" and ".join(names),) if names else (),
        covariates=np.zeros((0, 0)),
        chunks=chunks if names else None,
        notes=(*_left_out(cells, counts), *_unused(names, unused), _MERGED),
    )
    return table, counts


def _rows(cells: VoteCells) -> VoteRows:
    return VoteRows(
        n_models=len(cells.models),
        first=cells.first,
        second=cells.second,
        outcome=cells.outcome,
        share=cells.share,
        weight=cells.weight,
        weight_squares=cells.weight_squares,
        count=cells.count,
        covariates=cells.covariates,
    )


def _clusters(frame: object, cluster: str | Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the column to cluster by, and those that an analysis of held votes would also take."""
    if cluster == "none":
        return (), ()
    columns = nw.from_native(frame).collect_schema().names()  # pyright: ignore - any frame that narwhals knows
    if cluster == "auto":
        found = tuple(name for name in _SOURCES if name in columns)
        return found[:1], found[1:]
    wanted = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if len(wanted) > 1:
        raise InputError(
            f"a lazy frame is clustered by one column, and {len(wanted)} were named ({', '.join(wanted)}); collect the frame, "
            "or name the one that matters most (the rater, as a rule)"
        )
    return wanted, ()


def _counts(cells: VoteCells) -> VoteCounts:
    by = np.bincount(cells.outcome, weights=cells.count, minlength=4).astype(np.int64)
    unknown = sum(count for _, count in cells.unknown)
    reasons = {
        "the winner's label is not known": unknown,
        "there is no winner's label": cells.n_unscored,
        "a model against itself": cells.n_self,
        "a model without a name": cells.n_unnamed,
    }
    return VoteCounts(
        n_votes=cells.n_votes,
        n_decided=int(by[:TIE].sum()),
        n_ties=int(by[TIE]),
        n_both_bad=int(by[BOTH_BAD]),
        n_unscored=sum(reasons.values()),
        reasons=tuple(sorted(((why, n) for why, n in reasons.items() if n), key=lambda pair: -pair[1])),
        n_events=None,
    )


def _left_out(cells: VoteCells, counts: VoteCounts) -> tuple[Note, ...]:
    if not counts.n_unscored:
        return ()
    told = ", ".join(f"{n:,} {why}" for why, n in counts.reasons)
    labels = ", ".join(f"{label[:40]!r} ({n:,})" for label, n in cells.unknown[:_SHOWN])
    text = (
        f"{counts.n_unscored:,} of {cells.n_rows:,} votes have no outcome and are left out, not taken for ties: {told}"
    )
    return (Note(kind="missing", text=text + (f"; labels: {labels}" if labels else "")),)


def _unused(names: tuple[str, ...], unused: tuple[str, ...]) -> tuple[Note, ...]:
    if not unused:
        return ()
    text = f"merged votes are clustered by {names[0]} alone; those of one {' or '.join(unused)} count as independent"
    return (Note(kind="dependence", text=text, remedy="read the votes in full where that matters"),)
