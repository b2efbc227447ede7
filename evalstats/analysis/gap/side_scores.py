"""The scores of one side: every model's estimate with the covariance of the errors, from outcomes, votes or published numbers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.arena.arena import arena
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.design.entries import ENTRY
from evalstats.analysis.design.metric import choose_metric
from evalstats.analysis.design.published import (
    FROM_COUNT,
    PUBLISHED_ENTRY,
    one_each,
    published_rows,
    with_errors_of_shares,
    with_std_errors,
)
from evalstats.analysis.gap.outcome_sums import CLUSTER, OutcomeSums, lab_sums, live_sums
from evalstats.analysis.gap.result import Link
from evalstats.analysis.provenance import UNWEIGHTED, run_notes, sources_of
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option, under_names
from evalstats.grammar import and_list, has_have, plural, plural_of
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.in_memory import as_polars
from evalstats.schema.tables import levels_of
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.errors_in_variables.scores import FEWEST_CLUSTERS, cluster_means
from evalstats.table.metric import MetricFacts
from evalstats.table.votes import VoteTable, comparisons_of

SideKind = Literal["outcomes", "comparisons", "aggregates"]
_STEADY = 20  # equal clusters, from which a standard error is known well enough
_VOTE_COLUMNS = {"model_a", "model_b"}
_WORDS: dict[SideKind, str] = {"outcomes": "outcomes", "comparisons": "votes", "aggregates": "published numbers"}


@record
class SideScores:
    """One side: estimates of its models, and what they rest on.

    Attributes
    ----------
    about, link
        The metric, in whose own direction and numbers `estimate` is; how it enters the line.
    covariance, marginal
        Of the errors of `estimate`, NaN on the diagonal of a model without one; None where none is known. Marginal: published
        variances alone, so that what models share is unknown: an upper bound of noise.
    df
        Degrees of freedom of the errors, where few clusters make them t; None for normal.
    n, n_clusters, n_distinct
        Items, sessions or votes behind each model; clusters behind each, and of the first kind behind all together (0 where
        unknown): one user may meet several models.
    only_here
        Models that the other side does not have, with their estimate and standard error (None where unknown).
    data, outcomes, factors
        What the scores were made from; of outcomes their sums and the factors of these.
    count
        Distinct clusters behind some models together; 0 of published numbers, which do not say what they rest on.
    """

    kind: SideKind
    about: MetricFacts
    link: Link = "identity"
    models: tuple[str, ...]
    estimate: FloatArray
    covariance: FloatArray | None
    marginal: bool = False
    df: float | None = None
    n: IntArray
    n_clusters: IntArray
    n_distinct: int = 0
    clusters: tuple[str, ...] = ()
    only_here: tuple[tuple[str, float, float | None], ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    method: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    notes: tuple[Note, ...] = ()
    data: EvalData | None = None
    outcomes: OutcomeSums | None = None
    factors: tuple[str, ...] = ()
    count: Callable[[Sequence[str]], int] = lambda _: 0

    @property
    def sign(self) -> float:
        """By what scores are multiplied so that more is better."""
        return 1.0 if self.about.higher_is_better else -1.0

    @property
    def span(self) -> float:
        """Width of the metric's range; 0 where it has none."""
        return self.about.span or 0.0

    @property
    def is_preference(self) -> bool:
        """Whether the scores are votes, or a published rating made of votes, which lie on a logit scale."""
        return self.kind == "comparisons" or self.about.unit == "rating"

    def std_error(self) -> FloatArray | None:
        """Return the marginal standard errors, or None."""
        return None if self.covariance is None else np.sqrt(np.diag(self.covariance))

    def only(self, names: Sequence[str]) -> "SideScores":
        """Keep the models named, in this order; the others stand in `only_here`.

        Errors are kept where each of these models has one.
        """
        at = [self.models.index(name) for name in names]
        errors = self.std_error()
        known = errors is not None and bool(np.isfinite(errors[at]).all())
        rest = [j for j in range(len(self.models)) if j not in set(at)]
        apart = [None if errors is None or not np.isfinite(errors[j]) else float(errors[j]) for j in rest]
        return replace(
            self,
            models=tuple(names),
            estimate=self.estimate[at],
            covariance=self.covariance[np.ix_(at, at)] if known and self.covariance is not None else None,
            n=self.n[at],
            n_clusters=self.n_clusters[at],
            n_distinct=self.count(names),
            only_here=tuple(
                (self.models[j], float(self.estimate[j]), error) for j, error in zip(rest, apart, strict=True)
            ),
        )


def table_of(given: EvalData | object) -> EvalData:
    """Return whatever was given as data: a frame of votes, of published numbers, or of outcomes, in glossary names."""
    if isinstance(given, EvalData):
        given.need_rows("a gap between lab and live")
        return given
    frame = as_polars(given)
    if set(frame.columns) >= _VOTE_COLUMNS:
        return EvalData(comparisons=comparisons_of(frame))
    return as_data(frame)


def by_setting(data: EvalData) -> tuple[EvalData, EvalData]:
    """Split one set of data by its column `setting` into lab and live."""
    parts: list[EvalData] = []
    for setting in ("lab", "live"):
        own = pl.col("setting") == setting
        tables = {name: data.table(name).filter(own) for name in ("outcomes", "comparisons", "aggregates")}
        if not any(frame.height for frame in tables.values()):
            raise InputError(
                f"one set of data was given, and none of its rows has the setting {setting!r}: name the two sides apart "
                f"with {Option('lab')} and {Option('live')}, or fill the column `setting`"
            )
        parts.append(replace(data, **tables))
    return parts[0], parts[1]


def cluster_columns(
    own: str | Sequence[str] | None, both: str | Sequence[str] | None, data: EvalData
) -> str | Sequence[str] | None:
    """Return the columns to cluster one side by; None for what the side has by itself."""
    chosen = both if own is None else own
    if chosen is None or chosen == "auto":
        return None
    if own is not None or chosen == "none":
        return chosen
    have = {*data.outcomes.columns, *data.comparisons.columns, *data.factor_names()}
    return [name for name in ([chosen] if isinstance(chosen, str) else chosen) if name in have] or None


def side_scores(
    data: EvalData,
    *,
    live: bool,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    factors: Sequence[str],
    conf_level: float,
    min_cell: int = 1,
) -> SideScores:
    """Score every model of one side from its outcomes, else its votes, else its published numbers.

    What is wrong with the side is said with its name and its own options.
    """
    where = "live" if live else "lab"
    has = {kind: data.table(kind).height > 0 for kind in _WORDS}
    if not any(has.values()):
        raise CannotAnswerError(f"the {where} data hold no outcomes, no votes and no published numbers")
    try:
        with under_names({"metric": f"{where}_metric", "where": f"{where}_where"}):
            if has["outcomes"] and not (metric is None and has["comparisons"] and live):
                sums = (live_sums if live else lab_sums)(data, metric=metric, cluster=cluster, factors=factors)
                least = max(FEWEST_CLUSTERS, min_cell if live else 1)
                side = replace(_of_outcomes(data, sums, live=live, least=least), factors=tuple(factors))
            elif has["comparisons"]:
                side = _of_votes(data, cluster="auto" if cluster is None else cluster, conf_level=conf_level)
            else:
                side = _of_published_numbers(data, where=where, metric=metric)
    except (InputError, CannotAnswerError) as error:
        text = str(error)
        if text.startswith((f"the {where}", f"{where} ", "no model of the")):
            raise
        error.args = (f"the {where} side: {text}",)
        raise
    unused = [words for kind, words in _WORDS.items() if has[kind] and kind != side.kind]
    if not unused:
        return side
    said = f"The {where} data also hold {' and '.join(unused)}, which are not used; {_WORDS[side.kind]} are"
    return replace(side, notes=(*side.notes, Note(kind="choice", text=said, caution=False)))


def _of_outcomes(data: EvalData, sums: OutcomeSums, *, live: bool, least: int) -> SideScores:
    """Score every model by its mean; one with fewer than `least` clusters has no error to believe, or may not be told of."""
    per_model = sums.frame.group_by(ENTRY).agg(pl.col(CLUSTER).n_unique()).sort(ENTRY)
    kept = per_model.filter(pl.col(CLUSTER) >= least)[ENTRY].to_list()
    few = per_model.filter(pl.col(CLUSTER) < least)[ENTRY].to_list()
    what = sums.clusters[0] if sums.clusters else ("row" if live else "item")
    where = "live" if live else "lab"
    if not kept:
        raise CannotAnswerError(
            f"no model of the {where} has {least} {what}s with a score; at least that many are needed"
        )
    table, metric = sums.cells(kept), sums.metric
    found = cluster_means(
        table.cluster, table.model, table.n, table.total, n_clusters=table.n_clusters, n_models=table.n_models
    )
    covariance, notes = found.covariance, list[Note]()
    if few:
        has, is_ = ("has", "is") if len(few) == 1 else ("have", "are")
        said = f"{and_list(few)} {has} fewer than {least} {plural_of(what)} in the {where} data and {is_} not scored"
        notes.append(Note(kind="left_out", text=said))
    smallest = int(found.n_clusters.min())
    worth = smallest if found.df is None else min(smallest, round(found.df) + 1)
    if worth < _STEADY:  # few clusters, or many of which a few hold most rows
        unequal = "" if worth >= smallest else f" (worth about {worth} equal ones)"
        said = f"A model of the {where} data rests on only {plural(smallest, what)}{unequal}, so tests reject too often"
        notes.append(Note(kind="few", text=said, remedy=f"Score more {plural_of(what)}"))
    if covariance is not None and metric.span is not None and metric.low is not None:
        # 100 of 100 is not known exactly, and would be the one point that every line has to pass through: a model whose scores
        # are all alike has the variance of a share with one success and one failure more.
        flat = np.flatnonzero(np.diag(covariance) <= 1e-12 * metric.span**2)
        n = found.n_clusters[flat].astype(np.float64)
        share = ((found.estimate[flat] - metric.low) / metric.span * n + 1.0) / (n + 2.0)
        covariance = covariance.copy()
        covariance[flat, flat] = share * (1.0 - share) / n * metric.span**2
        if flat.size:
            names = and_list([kept[int(j)] for j in flat])
            have = "has one and the same" if flat.size == 1 else "have one and the same"
            text = f"{names} {have} score on every {where} unit; the error is taken as if one success and one failure were added"
            notes.append(Note(kind="few", text=text, caution=False))
    unit = "rows" if live else "item means"
    shared = f"errors clustered by {sums.clusters[0]}" if sums.clusters else f"{unit} as independent"
    return SideScores(
        kind="outcomes",
        about=metric.facts,
        models=tuple(kept),
        estimate=found.estimate,
        covariance=covariance,
        df=found.df,
        n=np.array([sums.n[name] for name in kept], dtype=np.int64),
        n_clusters=found.n_clusters,
        clusters=sums.clusters,
        first_day=_day(sums.rows["timestamp"].min()),
        last_day=_day(sums.rows["timestamp"].max()),
        method=f"mean of {unit}, {shared} and shared between models",
        sources=sources_of(data, sums.runs),
        notes=(
            *(note for note in run_notes(data, sums.runs) if not live or note.text != UNWEIGHTED),
            *metric.cautions,
            *sums.notes,
            *notes,
        ),
        data=data,
        outcomes=sums,
        count=lambda names: sums.of(names)[CLUSTER].n_unique(),
    )


def _of_published_numbers(data: EvalData, *, where: str, metric: str | None) -> SideScores:
    """Take published numbers of one metric, one for each model.

    Errors are those published, or taken from the width of published intervals or, of shares, from their n. A model that has
    several numbers is left out, unless many have.
    """
    rows = published_rows(data).with_columns(pl.col("model").alias(PUBLISHED_ENTRY))
    if not rows.height:
        raise CannotAnswerError(f"the {where} data hold no published number")
    chosen = choose_metric(data, rows.with_columns(score=pl.col("estimate")), metric)
    rows = rows.filter((pl.col("metric") == chosen.name) & (pl.col("benchmark") == chosen.benchmark))
    rows, told = with_std_errors(rows)
    rows, of_counts = with_errors_of_shares(rows, chosen)
    rows, notes = one_each(rows, chosen, f" of the {where} side")
    rows = rows.sort(PUBLISHED_ENTRY)
    # No error can be taken from an interval whose level is not known.
    ends = rows["conf_low"].is_not_null() & rows["conf_high"].is_not_null()
    n = int((ends & rows["std_error"].is_null() & rows["conf_level"].is_null()).sum())
    if n:
        said = f"{plural(n, f'{where} number')} {has_have(n)} an interval of unknown level, so no standard error"
        notes = (*notes, Note(kind="missing", text=said, remedy="Fill the column conf_level (0.95, say)"))
    usable = ((rows["std_error"] > 0) & rows["std_error"].is_finite()).fill_null(value=False)
    errors = np.where(usable.to_numpy(), rows["std_error"].fill_null(np.nan).to_numpy().astype(np.float64), np.nan)
    covariance = np.diag(errors**2) if usable.any() else None
    from_count = rows[FROM_COUNT].filter(usable)
    of_errors = "with errors from their n" if from_count.all() else "with published errors"
    runs = levels_of(rows["run"])
    return SideScores(
        kind="aggregates",
        about=chosen.facts,
        models=tuple(rows[PUBLISHED_ENTRY].to_list()),
        estimate=rows["estimate"].to_numpy().astype(np.float64),
        covariance=covariance,
        marginal=True,
        n=rows["n"].fill_null(0).to_numpy().astype(np.int64),
        n_clusters=np.zeros(rows.height, dtype=np.int64),
        first_day=_day(rows["date"].min()),
        last_day=_day(rows["date"].max()),
        method=f"published numbers, {'without errors' if covariance is None else of_errors}",
        sources=sources_of(data, runs),
        notes=(*run_notes(data, runs), *notes, *as_notes("source", (*told, *of_counts), caution=False)),
        data=data,
    )


def _of_votes(data: EvalData, *, cluster: str | Sequence[str], conf_level: float) -> SideScores:
    """Rate every model by `arena`, in Elo points about the mean of all.

    Where votes do not put all models on one scale, those of the largest part are taken; the others are not scored.
    """
    found = arena(data, cluster=cluster, conf_level=conf_level, checks=False)
    parts = [row.component for row in found.rows if row.component is not None and row.estimate is not None]
    sizes = {part: parts.count(part) for part in parts}
    if max(sizes.values(), default=0) < 2:
        raise CannotAnswerError("the votes put no two models on one scale; collect votes between them")
    part = max(sizes, key=lambda number: (sizes[number], -number))
    at = [j for j, row in enumerate(found.rows) if row.component == part and row.estimate is not None]
    rows = [found.rows[j] for j in at]
    out = [row.name for row in found.rows if row.component != part or row.estimate is None]
    # What the arena chose for its ratings alone is none of this side's.
    notes = [note for note in found.notes if note.kind != "choice"]
    covariance = None if found.covariance is None else np.array(found.covariance, dtype=np.float64)[np.ix_(at, at)]
    if covariance is None or not np.isfinite(covariance).all():
        covariance = None
        reason = next((row.reason for row in rows if row.reason), "the votes give no standard error")
        notes.append(Note(kind="few", text=f"The ratings have no standard errors: {reason}"))
    if out and found.prior <= 0.0:
        said = f"The votes do not connect all models: {plural(len(out), 'model')} ({and_list(out)}) cannot be scored"
        notes.append(Note(kind="left_out", text=said, remedy="Collect votes between them and the others"))
    return SideScores(
        kind="comparisons",
        about=MetricFacts(
            benchmark=found.arena,
            name="rating",
            kind="rating",
            low=None,
            high=None,
            higher_is_better=True,
            unit="points",
        ),
        models=tuple(row.name for row in rows),
        estimate=np.array([row.estimate for row in rows], dtype=np.float64),
        covariance=covariance,
        df=found.df,
        n=np.array([row.n_votes for row in rows], dtype=np.int64),
        n_clusters=np.array([min(row.n_clusters, default=0) for row in rows], dtype=np.int64),
        clusters=tuple(each.name for each in found.clusters),
        first_day=_day(data.comparisons["timestamp"].min()),
        last_day=_day(data.comparisons["timestamp"].max()),
        method=found.method,
        sources=found.origin.sources,
        notes=tuple(notes),
        data=data,
        count=partial(_distinct_voters, data, found, cluster),
    )


def _distinct_voters(data: EvalData, found: ArenaRanking, cluster: str | Sequence[str], names: Sequence[str]) -> int:
    """Count who cast the votes that any of these models had part in (or what else votes are first clustered by)."""
    if not found.clusters:
        return 0
    first = found.clusters[0]
    if {row.name for row in found.rows} <= set(names):
        return first.n_levels
    table = VoteTable.of(data, cluster=cluster)
    at = [j for j, name in enumerate(table.models) if name in set(names)]
    theirs = np.isin(table.first, at) | np.isin(table.second, at)
    return len(np.unique(table.codes[table.cluster_names.index(first.name)][theirs]))


def _day(moment: object) -> str | None:
    return None if moment is None else str(moment)[:10]
