"""Outcomes of one side summed by cluster, model and factor, and the factors and the live mix that they are told by."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import chosen_clusters, group_columns, label_of, named_clusters
from evalstats.analysis.design.entries import ENTRY, entries_of, run_kinds
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import InputError, Option
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.plan import LiveMix
from evalstats.schema.tables import parts_of
from evalstats.stats.standardisation import CellTable, cell_table
from evalstats.table.items import HELPER
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import remarks_of

CLUSTER = f"{HELPER}cluster"
_N, _TOTAL = f"{HELPER}n", f"{HELPER}total"
# Whichever of these the live rows have is what they share errors by, the widest first.
LIVE_CLUSTERS = ("user", "session")
NO_LEVEL = "(none)"
_INDEPENDENT = Note(
    kind="dependence",
    text="No user or session has several live rows, so these count as independent; if people came back, intervals are too short",
    remedy=("Name what they share with ", Option("live_cluster")),
)
_SLACK = 1e-6
_NO_FACTORS = frozenset(
    ["run", "model", "system", "benchmark", "item", "trial", "metric", "score", "user", "session", "timestamp"]
)
_MOST_KNOWN = 0.5  # of the votes must have a label that the lab has too, or the labels mean other things

Level = tuple[str, ...]


@record
class OutcomeSums:
    """Outcomes of all models of one side.

    `frame` has one row for each cluster x model x combination of factors (as text, NO_LEVEL for none), with its sum of weights
    and of weighted scores; clusters are items of the lab, or groups of them, and live users. `rows` are the outcome rows
    behind them, with ENTRY; `n` counts the scored ones of each model.
    """

    metric: Metric
    frame: pl.DataFrame
    rows: pl.DataFrame
    n: dict[str, int]
    clusters: tuple[str, ...]
    runs: tuple[str, ...]
    notes: tuple[Note, ...]

    def of(self, models: Sequence[str]) -> pl.DataFrame:
        """Return the sums of some models."""
        return self.frame.filter(pl.col(ENTRY).is_in(list(models)))

    def cells(
        self,
        models: Sequence[str],
        factors: Sequence[str] = (),
        levels: Sequence[Level] = ((),),
        joined: Mapping[Level, Level] | None = None,
    ) -> CellTable:
        """Code the sums of some models by cell, a combination of levels; `joined` maps levels to the cell they are part of."""
        place = pl.DataFrame({ENTRY: list(models), "_model": range(len(models))}, schema_overrides={ENTRY: pl.String})
        frame = self.frame.join(place, on=ENTRY, maintain_order="left").with_columns(pl.lit(0).alias("_cell"))
        if factors:
            place_of = {cell: j for j, cell in enumerate(levels)}
            place_of |= {level: place_of[cell] for level, cell in (joined or {}).items()}
            known = pl.DataFrame(list(place_of), schema=dict.fromkeys(factors, pl.String), orient="row")
            codes = known.with_columns(pl.Series("_cell", list(place_of.values())))
            frame = frame.drop("_cell").join(codes, on=list(factors))
        cluster = frame[CLUSTER].rank("dense").to_numpy().astype(np.int64) - 1
        columns = (frame[name].to_numpy() for name in ("_model", "_cell", _N, _TOTAL))
        return cell_table(cluster, *columns, n_models=len(models), n_cells=len(levels))

    def levels(self, models: Sequence[str], factors: Sequence[str]) -> set[Level]:
        """Return the combinations of levels that some models have; a row without a level has none."""
        return {levels for levels in self.of(models).select(factors).unique().rows() if NO_LEVEL not in levels}

    def people(self, models: Sequence[str], factors: Sequence[str]) -> dict[Level, int]:
        """Return how many clusters (users) stand behind each combination of levels, over some models."""
        counts = self.of(models).group_by(*factors).agg(pl.col(CLUSTER).n_unique())
        return {row[:-1]: int(row[-1]) for row in counts.rows() if NO_LEVEL not in row[:-1]}

    def unlabelled(self, models: Sequence[str], factors: Sequence[str]) -> float:
        """Return the share of the outcomes of some models that lack a level of some factor."""
        frame = self.of(models)
        without = frame.filter(pl.any_horizontal(pl.col(name) == NO_LEVEL for name in factors))
        total = float(frame[_N].sum())
        return float(without[_N].sum()) / total if total else 0.0


def lab_sums(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> OutcomeSums:
    """Reduce lab outcomes to item means.

    Items are clustered as `leaderboard` clusters them: by what was named or declared, and variants of one item together.
    Of several ways the one with the fewest levels counts.
    """
    chosen, systems, notes = entries_of(data, metric=metric, models=None, contrast="model")
    columns = [data.factor(name) for name in factors]
    rows = pl.concat([system.rows.with_columns(pl.lit(system.name).alias(ENTRY)) for system in systems])
    groups = group_columns(rows)
    declared = [name for name in parts_of(data.runs["dependence"]) if name in groups]
    wanted = [*named_clusters(data, cluster), *columns, *declared]
    table = ScoreTable.of(systems, chosen, factors=wanted)
    counted = np.asarray(table.scored.any(axis=1), dtype=np.bool_)
    clusters, told = chosen_clusters(data, table, cluster, table.runs, contrast="model", counted=counted)
    coded = {name: np.unique(table.codes(name), return_inverse=True)[1] for name in clusters}
    codes, said = np.arange(len(table), dtype=np.int64), ()
    if coded:
        labels = {name: label_of(name, data.factor_names()) for name in coded}
        first = min(coded, key=lambda name: int(coded[name].max()))
        codes, said = coded[first].astype(np.int64), (labels[first],)
        others = [labels[name] for name in coded if name != first]
        if others:
            text = f"lab items also share {', '.join(others)}; errors are clustered by {said[0]}, which has the fewest levels"
            told = (*told, text)
    values = table.values()
    item, model = np.nonzero(~np.isnan(values))
    frame = pl.DataFrame(
        {
            CLUSTER: codes[item],
            ENTRY: np.array(table.names, dtype=object)[model],
            _N: np.ones(item.size),
            _TOTAL: values[item, model],
        },
        schema_overrides={ENTRY: pl.String},
    )
    levels = {
        own: table.items[name].cast(pl.String).fill_null(NO_LEVEL).gather(item)
        for own, name in zip(factors, columns, strict=True)
    }
    measured = run_kinds(data, systems, contrast="model", accept=())
    return OutcomeSums(
        metric=chosen,
        frame=_summed(frame.with_columns(**levels), factors),
        rows=rows,
        n=dict(zip(table.names, table.scored.sum(axis=0).tolist(), strict=True)),
        clusters=said,
        runs=table.runs,
        notes=(
            *measured.refusal(),
            *measured.notes("weakens"),
            *as_notes("dependence", told, caution=False),
            *as_notes("choice", (*notes, *remarks_of(systems)), caution=False),
            *measured.notes("note"),
            *_lost(rows, "lab"),
        ),
    )


def live_sums(
    data: EvalData, *, metric: str | None, cluster: str | Sequence[str] | None, factors: Sequence[str]
) -> OutcomeSums:
    """Sum live outcomes by user, model and factor.

    Rows are clustered by what was named; else by user, session or item, whichever they have, in this order. A row without
    a level is a cluster of its own. Sampling weights count.
    """
    chosen, arms, notes = entries_of(data, metric=metric, models=None, contrast="model", least=1)
    rows = pl.concat([arm.rows.with_columns(pl.lit(arm.name).alias(ENTRY)) for arm in arms])
    column, said, told = _live_cluster(data, rows, cluster)
    scored = rows.filter(pl.col("status") == "scored").with_row_index(f"{HELPER}row")
    alone = pl.concat_str(pl.lit("row \x1f"), pl.col(f"{HELPER}row").cast(pl.String))
    weight = pl.col("weight").fill_null(1.0)
    own = scored.with_columns(
        (alone if column is None else pl.coalesce(pl.col(column).cast(pl.String), alone)).alias(CLUSTER),
        weight.alias(_N),
        (weight * pl.col("score")).alias(_TOTAL),
        *[pl.col(data.factor(name)).cast(pl.String).fill_null(NO_LEVEL).alias(name) for name in factors],
    )
    without = 0 if column is None else int(scored[column].null_count())
    if without:
        text = f"{plural(without, 'live row')} without a {column} each count as a cluster of their own"
        told = (*told, Note(kind="dependence", text=text, caution=False))
    if scored["weight"].drop_nulls().n_unique() > 1:
        told = (*told, Note(kind="choice", text="Live rows carry sampling weights, which are used", caution=False))
    empty = own.group_by(ENTRY).agg(pl.col(_N).sum()).filter(pl.col(_N) <= 0)[ENTRY].sort().to_list()
    if empty:
        raise InputError(
            f"the weights of the live rows of {empty[0]!r} sum to 0; give at least one of them a weight above 0"
        )
    return OutcomeSums(
        metric=chosen,
        frame=_summed(own.select(CLUSTER, ENTRY, *factors, _N, _TOTAL), factors),
        rows=rows,
        n=dict(own.group_by(ENTRY).len().iter_rows()),
        clusters=said,
        runs=tuple(sorted({run for arm in arms for run in arm.runs})),
        notes=(
            *told,
            *as_notes("choice", (*notes, *remarks_of(arms)), caution=False),
            *_lost(rows, "live"),
        ),
    )


def _summed(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    # In a fixed order, so that sums do not hang on the order of the rows.
    return frame.group_by(CLUSTER, ENTRY, *factors).agg(pl.col(_N, _TOTAL).sum()).sort(CLUSTER, ENTRY, *factors)


def _lost(rows: pl.DataFrame, where: str) -> tuple[Note, ...]:
    lost = int((rows["status"] != "scored").sum())
    if not lost:
        return ()
    said = f"{lost:,} of {rows.height:,} {where} rows have no score and are dropped"
    return (Note(kind="missing", text=said, caution=False),)


def _live_cluster(
    data: EvalData, rows: pl.DataFrame, cluster: str | Sequence[str] | None
) -> tuple[str | None, tuple[str, ...], tuple[Note, ...]]:
    """Return the column by which live rows share their errors, its name for a reader, and a note."""
    named = () if cluster is None else (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if named == ("none",):
        said = "Live rows count as independent, as asked"
        return None, (), (Note(kind="dependence", text=said, caution=False),)
    if len(named) > 1:
        raise InputError(f"live rows take one cluster column, and {', '.join(named)} are named; name the widest")
    if named:
        return data.factor(named[0]), named, ()
    for name in (*LIVE_CLUSTERS, *parts_of(data.runs["dependence"]), "item"):
        if name in rows.columns and rows[name].null_count() < rows.height and rows[name].n_unique() < rows.height:
            return name, (label_of(name, data.factor_names()),), ()
    return None, (), (_INDEPENDENT,)


# --- factors and mix ---


def named_once(by: str | Sequence[str] | None) -> list[str] | None:
    """Return the factors as a list; None where none is named."""
    if by is None:
        return None
    names = [by] if isinstance(by, str) else list(by)
    if len(set(names)) < len(names):
        raise InputError(f"by names {', '.join(names)}; name every factor once")
    wrong = [name for name in names if name in _NO_FACTORS]
    if wrong:
        raise InputError(
            f"by names {wrong[0]}, which is no kind of situation; name a factor such as scenario or language"
        )
    return names or None


def mix_of(mix: LiveMix | Mapping[str, float] | None, by: Sequence[str] | None) -> LiveMix | None:
    """Return the mix given from outside, with the factor that it is of and in words where it comes from."""
    if mix is None:
        return None
    named = list(by or ["scenario"])
    if isinstance(mix, LiveMix):
        factor, shares, source = mix.factor, dict(mix.shares), "; ".join(filter(None, (mix.source, mix.note)))
    elif len(named) != 1:
        raise InputError(f"mix gives shares for one factor, and by names {', '.join(named)}; name one")
    else:
        factor, shares, source = named[0], dict(mix), "given"
    total = sum(shares.values())
    if not shares or not all(share >= 0 for share in shares.values()) or not abs(total - 1.0) <= _SLACK:
        raise InputError(
            f"the shares of the mix by {factor} sum to {total:g}; they must be 0 or more and sum to 1 (divide by their sum, "
            "and say so, where labels overlap)"
        )
    return LiveMix(factor=factor, shares=shares, source=source)


def mix_in_live_rows(live: EvalData, mix: LiveMix) -> tuple[Note, ...]:
    """Warn where live rows tell their own mix: it is the one that is used."""
    if not live.outcomes.height or not _has_levels(live, mix.factor):
        return ()
    said = f"Live rows hold their own mix of {mix.factor}, which is used instead of the one given"
    return (Note(kind="choice", text=said),)


def mix_of_votes(lab: EvalData, live: EvalData, factors: Sequence[str]) -> LiveMix | None:
    """Return the live mix that labelled votes tell of the lab's first factor, where the lab knows most of the labels."""
    votes = live.comparisons
    if live.outcomes.height or not factors or factors[0] not in votes.columns:
        return None
    counts = votes[factors[0]].cast(pl.String).drop_nulls().value_counts(name="n").sort(factors[0])
    total = int(counts["n"].sum())
    known = lab.outcomes[lab.factor(factors[0])].cast(pl.String).unique()
    if not total or counts.filter(pl.col(factors[0]).is_in(known.to_list()))["n"].sum() < _MOST_KNOWN * total:
        return None
    shares = {level: n / total for level, n in counts.iter_rows()}
    return LiveMix(factor=factors[0], shares=shares, source=f"counted in {total:,} votes")


def factors_of(
    lab: EvalData, live: EvalData, by: Sequence[str] | None, mix: LiveMix | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the factors to sum the lab and the live outcomes by."""
    named = list(by or ())
    if mix is not None and mix.factor not in named:
        named.append(mix.factor)
    if not named and _has_levels(lab, "scenario"):
        named = ["scenario"]
    if lab.outcomes.height:
        for name in named:
            lab.factor(name)
    in_lab = tuple(named) if lab.outcomes.height else ()
    in_live = tuple(name for name in named if _has_levels(live, name)) if live.outcomes.height else ()
    missing = [name for name in named if name not in in_live]
    if by is not None and mix is None and live.outcomes.height and missing:
        live.factor(missing[0])
        raise InputError(
            f"the live outcomes hold no level of {', '.join(missing)}; give its shares with mix, or leave it out of by"
        )
    return in_lab, in_live


def _has_levels(data: EvalData, name: str) -> bool:
    """Whether the outcomes have a column of that name with a level in it."""
    column, frame = data.factor_names().get(name, name), data.outcomes
    return (
        column in frame.columns
        and not isinstance(frame[column].dtype, pl.List)
        and frame[column].null_count() < frame.height
    )
