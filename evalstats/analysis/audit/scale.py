"""Scores that are no scores, or not of the scale they seem to be of: codes, two scales, fractions, one value alone."""

import re
from collections.abc import Iterator

import numpy as np
import polars as pl

from evalstats.aggregate.items import Bools
from evalstats.analysis.arms import spelled_code
from evalstats.analysis.audit.panel import Observation, Panel, Treatment
from evalstats.document.numbers import number, plural, several
from evalstats.stats.score_scales import lone_code

# What harnesses write where an answer, or a judge's verdict, could not be read.
_UNREAD = re.compile(
    r"\s*(?:\[?invalid\]?|n/?a|nan|null|none|error\b.*|time[d ]*-?out.*|no answer(?: found)?|unpars(?:e?able|ed).*|"
    r".*(?:could not|cannot|can't|couldn't|failed to|unable to) (?:be )?(?:parse|extract|read|find|match).*|"
    r".*(?:parse|parsing|extraction)[ _-](?:error|failed|failure).*)\s*",
    re.IGNORECASE | re.DOTALL,
)
_ENOUGH = 20
_MOST_TEXTS = 100_000


def failure_codes(panel: Panel) -> Iterator[Observation]:
    """Find a lone value far from all others (-1, 999), and worst scores whose raw value says that nothing could be read."""
    values, counts = np.unique(panel.score[panel.scored], return_counts=True)
    code = lone_code(values, counts) if panel.metric.low is None or panel.metric.is_share or panel.refusal else None
    if code is not None:
        rows = panel.score == code
        yield _coded(
            panel,
            rows,
            text=f"{plural(int(rows.sum()), 'score')} {'is' if rows.sum() == 1 else 'are'} {code:g}, far from all others "
            f"({_span(values[values != code])}), and counted in the mean",
            remedy=f"if {code:g} stands for no score, say {spelled_code(code)}",
        )
    unread = _unread(panel)
    if unread.any():
        worst = panel.metric.worst
        yield _coded(
            panel,
            unread,
            text=f"{plural(int(unread.sum()), 'score')} of {worst:g} stand beside a raw value that says nothing was read",
            remedy="say before looking whether an answer that could not be read counts as wrong",
            examples=tuple(
                panel.rows["value_raw"].filter(unread.tolist()).unique().sort().head(3).cast(pl.String).to_list()
            ),
        )


def scale_oddities(panel: Panel) -> Iterator[Observation]:
    """Find scores outside their range or of two scales, a binary metric with fractions, and models with one value alone."""
    if panel.refusal is not None:
        text, _, remedy = panel.refusal.partition(". ")
        text, _, more = text.partition("; declare") if not remedy else (text, "", "")
        yield Observation(
            kind="scale",
            text=text,
            remedy=remedy or (f"declare{more}" if more else "declare what the metric is in evalstats.toml"),
            treatments=_as_shares(panel),
        )
    else:
        codes = bool(list(failure_codes(panel)))
        for note in panel.metric.cautions:
            if not (codes and "stands for no score" in note.text):
                yield Observation(kind="scale", text=note.text, remedy=note.remedy)
    yield from _fractions(panel)
    yield from _one_value(panel)


def _coded(panel: Panel, rows: Bools, *, text: str, remedy: str, examples: tuple[str, ...] = ()) -> Observation:
    worst = panel.metric.worst
    without = Treatment(words="without them", score=np.where(rows, np.nan, panel.score))
    low = (
        Treatment(words=f"counted as {worst:g}", score=np.where(rows, worst, panel.score))
        if worst is not None
        else None
    )
    same = worst is not None and bool((panel.score[rows] == worst).all())
    return Observation(
        kind="failure codes",
        text=text,
        remedy=remedy,
        n_rows=int(rows.sum()),
        models=panel.models_of(rows),
        examples=examples,
        treatments=(without,) if low is None or same else (without, low),
    )


def _unread(panel: Panel) -> Bools:
    """Rows with the worst score whose raw value or reason says that nothing could be read."""
    worst = panel.metric.worst
    none = np.zeros(panel.rows.height, dtype=np.bool_)
    if worst is None:
        return none
    for column in ("value_raw", "status_reason"):
        texts = panel.rows[column]
        levels = texts.drop_nulls().unique()
        if levels.len() > _MOST_TEXTS:
            continue
        unread = [text for text in levels.to_list() if _UNREAD.fullmatch(text)]
        if unread:
            none |= texts.is_in(unread).fill_null(value=False).to_numpy() & (panel.score == worst)
    return none


def _as_shares(panel: Panel) -> tuple[Treatment, ...]:
    """Take the scores of models that go beyond 1 for percentages, where those of others are shares."""
    top = np.full(len(panel.models), -np.inf)
    np.maximum.at(top, panel.model[panel.scored], panel.score[panel.scored])
    beyond = top > 1.0
    if not beyond.any() or beyond.all() or top.max() > 100.0 or panel.score[panel.scored].min() < 0:
        return ()
    score = np.where(beyond[panel.model], panel.score / 100.0, panel.score)
    return (Treatment(words="with percentages written as shares", score=score),)


def _fractions(panel: Panel) -> Iterator[Observation]:
    declared = panel.data.metrics.filter(
        (pl.col("benchmark") == panel.metric.benchmark)
        & (pl.col("metric") == panel.metric.name)
        & (pl.col("kind") == "binary")
    )
    rows = panel.scored & ~np.isin(panel.score, (0.0, 1.0)) & (panel.trials == 1)
    if not declared.height or not rows.any() or panel.refusal is not None:
        return
    yield Observation(
        kind="scale",
        text=f"{plural(int(rows.sum()), 'score')} of a right-or-wrong metric lie between 0 and 1",
        remedy="see whether they are averages, or half credit that others do not give",
        n_rows=int(rows.sum()),
        models=panel.models_of(rows),
        treatments=(
            Treatment(
                words="with half credit and less as wrong",
                score=np.where(rows & (panel.score <= 0.5), 0.0, panel.score),
            ),
        ),
    )


def _one_value(panel: Panel) -> Iterator[Observation]:
    """Say when nothing varies: over all models, or for one that has the worst score throughout while others do not."""
    values = np.unique(panel.score[panel.scored])
    if len(values) == 1 and panel.scored.sum() >= _ENOUGH:
        text = f"every score is {values[0]:g}, so nothing can be told apart"
        yield Observation(kind="scale", text=text, remedy="see that the column is the score that is meant")
        return
    worst, scores = panel.metric.worst, panel.scores
    n = (~np.isnan(scores)).sum(axis=0)
    silent = [
        name
        for j, name in enumerate(panel.models)
        if n[j] >= _ENOUGH and bool((scores[~np.isnan(scores[:, j]), j] == worst).all())
    ]
    if silent and len(silent) < len(panel.models):
        yield Observation(
            kind="scale",
            text=f"every score of {several(silent, 3)} is {number(worst, 0)}, consistent with a run that broke",
            remedy="read some of the answers before comparing",
            models=tuple(silent[:5]),
        )


def _span(values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> str:
    return f"{values[0]:g} to {values[-1]:g}"
