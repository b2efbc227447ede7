"""Both sides of the question, each from whatever its data hold, and what was asked of them made ready."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.arena.arena import arena
from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.design.metric import Metric, choose_metric, margin_in_unit
from evalstats.analysis.gap.material import CLUSTER, RankSets, Side, Units, day_of, no_ranks, normal_ranks, outcome_side
from evalstats.analysis.leaderboard.entries import ENTRY
from evalstats.analysis.leaderboard.published import PUBLISHED_ENTRY, one_each, with_std_errors
from evalstats.analysis.provenance import run_notes, sources_of
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import plural, several
from evalstats.errors import CannotAnswerError, InputError, Option, under_names
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import LiveMix
from evalstats.schema.tables import as_polars, levels_of
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.table.votes import VoteTable, comparisons_of

# Counts the clusters behind some models together, such as users.
Distinct = Callable[[Sequence[str]], int]


def no_clusters(_: Sequence[str]) -> int:
    """Return 0: published numbers do not say what they rest on."""
    return 0


def published_side(data: EvalData, *, live: bool, metric: str | None) -> tuple[Side, RankSets]:
    """Take published numbers of one metric, one for each model.

    Errors are those published, or taken from the width of published intervals; NaN on the diagonal of the covariance for a
    model without one. A model that has several numbers is left out, unless many have.
    """
    where = "live" if live else "lab"
    rows = data.aggregates.with_columns(pl.col("estimate", "std_error", "conf_low", "conf_high").fill_nan(None))
    rows = rows.filter(pl.col("estimate").is_not_null()).with_columns(pl.col("model").alias(PUBLISHED_ENTRY))
    if not rows.height:
        raise CannotAnswerError(f"the {where} data hold no published number")
    chosen = choose_metric(data, rows.with_columns(score=pl.col("estimate")), metric)
    rows = rows.filter((pl.col("metric") == chosen.name) & (pl.col("benchmark") == chosen.benchmark))
    rows, notes = with_std_errors(rows)
    rows, doubled = one_each(rows, chosen, f" of the {where} side")
    rows = rows.sort(PUBLISHED_ENTRY)
    covariance = _errors(rows)
    runs = levels_of(rows["run"])
    side = Side(
        kind="aggregates",
        name=chosen.benchmark,
        metric=chosen.name,
        unit=chosen.score_unit,
        scale=chosen.scale,
        metric_kind=chosen.kind,
        low=chosen.low,
        high=chosen.high,
        turned=not chosen.higher_is_better,
        direction=chosen.direction,
        models=tuple(rows[PUBLISHED_ENTRY].to_list()),
        estimate=rows["estimate"].to_numpy().astype(np.float64),
        covariance=covariance,
        marginal=True,
        n=rows["n"].fill_null(0).to_numpy().astype(np.int64),
        n_clusters=np.zeros(rows.height, dtype=np.int64),
        first_day=day_of(rows["date"].min()),
        last_day=day_of(rows["date"].max()),
        method="published numbers" + (", with published errors" if covariance is not None else ", without errors"),
        sources=sources_of(data, runs),
        notes=(
            *run_notes(data, runs),
            *doubled,
            *_without_level(rows, where),
            *as_notes("source", notes, caution=False),
        ),
    )
    return side, lambda places: normal_ranks(side, places)


def _without_level(rows: pl.DataFrame, where: str) -> tuple[Note, ...]:
    """Warn of intervals whose level is not known: no error can be taken from them."""
    ends = rows["conf_low"].is_not_null() & rows["conf_high"].is_not_null()
    n = int((ends & rows["std_error"].is_null() & rows["conf_level"].is_null()).sum())
    if not n:
        return ()
    said = f"{plural(n, f'{where} number')} {'has' if n == 1 else 'have'} an interval of unknown level, so no standard error"
    return (Note(kind="missing", text=said, remedy="Fill the column conf_level (0.95, say)"),)


def _errors(rows: pl.DataFrame) -> FloatArray | None:
    """Return the published variances; NaN for a model without one, None where no model has one."""
    usable = ((rows["std_error"] > 0) & rows["std_error"].is_finite()).fill_null(value=False)
    if not usable.any():
        return None
    errors = np.where(usable.to_numpy(), rows["std_error"].fill_null(np.nan).to_numpy().astype(np.float64), np.nan)
    return np.diag(errors**2)


def vote_side(
    data: EvalData, *, cluster: str | Sequence[str] | None, conf_level: float
) -> tuple[Side, RankSets, Distinct]:
    """Rate every model by `arena`, in Elo points about the mean of all.

    Where votes do not put all models on one scale, those of the largest part are taken; the others are not scored.
    """
    found = arena(data, cluster="auto" if cluster is None else cluster, conf_level=conf_level, checks=False)
    part, left = _largest_part(found)
    at = [j for j, row in enumerate(found.rows) if row.component == part and row.estimate is not None]
    rows = [found.rows[j] for j in at]
    covariance = None if found.covariance is None else np.array(found.covariance, dtype=np.float64)[np.ix_(at, at)]
    told: tuple[Note, ...] = ()
    if covariance is None or not np.isfinite(covariance).all():
        covariance = None
        reason = next((row.reason for row in rows if row.reason), "the votes give no standard error")
        told = (Note(kind="few", text=f"The ratings have no standard errors: {reason}"),)
    kept = data.comparisons
    side = Side(
        kind="comparisons",
        name=found.arena,
        metric="rating",
        unit="points",
        scale=1.0,
        metric_kind="rating",
        models=tuple(row.name for row in rows),
        estimate=np.array([row.estimate for row in rows], dtype=np.float64),
        covariance=covariance,
        df=found.df,
        n=np.array([row.n_votes for row in rows], dtype=np.int64),
        n_clusters=np.array([min(row.n_clusters, default=0) for row in rows], dtype=np.int64),
        clusters=tuple(each.name for each in found.clusters),
        first_day=day_of(kept["timestamp"].min()),
        last_day=day_of(kept["timestamp"].max()),
        method=found.method,
        sources=found.sources,
        # What the arena chose for its ratings alone is none of this side's.
        notes=(*(note for note in found.notes if note.kind != "choice"), *told, *left),
    )
    distinct = partial(_distinct_of_votes, data, found, cluster)
    return side, lambda places: _vote_ranks(found, [side.models[j] for j in places]), distinct


def _distinct_of_votes(
    data: EvalData, found: ArenaRanking, cluster: str | Sequence[str] | None, names: Sequence[str]
) -> int:
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


def _largest_part(found: ArenaRanking) -> tuple[int, tuple[Note, ...]]:
    """Return the number of the part with the most models, and a caution that names the others."""
    sizes: dict[int, int] = {}
    for row in found.rows:
        if row.component is not None and row.estimate is not None:
            sizes[row.component] = sizes.get(row.component, 0) + 1
    if not sizes or max(sizes.values()) < 2:
        raise CannotAnswerError("the votes put no two models on one scale; collect votes between them")
    part = max(sizes, key=lambda number: (sizes[number], -number))
    out = [row.name for row in found.rows if row.component != part or row.estimate is None]
    if not out or found.prior > 0.0:
        return part, ()
    said = f"The votes do not connect all models: {plural(len(out), 'model')} ({several(out)}) cannot be scored"
    return part, (Note(kind="left_out", text=said, remedy="Collect votes between them and the others"),)


def _vote_ranks(found: ArenaRanking, names: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Count among these models those shown to be better and worse, over all pairs of the arena at once."""
    place = {name: j for j, name in enumerate(names)}
    pairs = [pair for pair in found.pairs if {pair.first, pair.second} <= place.keys() and pair.p_adjusted is not None]
    if not pairs:
        return no_ranks(len(names))
    above, below = np.zeros(len(names), dtype=np.int64), np.zeros(len(names), dtype=np.int64)
    for pair in pairs:
        if pair.verdict in {"better", "worse"}:
            ends = (pair.first, pair.second) if pair.verdict == "better" else (pair.second, pair.first)
            below[place[ends[0]]] += 1
            above[place[ends[1]]] += 1
    return 1 + above, len(names) - below


_VOTE_COLUMNS = {"model_a", "model_b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One side over all of its models, before it is known which of them the other side has."""

    side: Side
    ranks: RankSets
    distinct: Distinct
    units: Units | None = None
    data: EvalData
    factors: tuple[str, ...]


def table_of(given: EvalData | object) -> EvalData:
    """Return whatever was given as data: a frame of votes, of published numbers, or of outcomes, in glossary names."""
    if isinstance(given, EvalData):
        given.need_rows("a gap between lab and live")
        return given
    frame = as_polars(given)
    if set(frame.columns) >= _VOTE_COLUMNS:
        return EvalData(comparisons=comparisons_of(frame))
    if "model" in frame.columns and "system" not in frame.columns:
        frame = frame.with_columns(system=pl.col("model"))
    return as_data(frame)


def by_setting(data: EvalData) -> tuple[EvalData, EvalData]:
    """Split one set of data by its column `setting` into lab and live."""
    lab, live = (_of_setting(data, setting) for setting in ("lab", "live"))
    for setting, part in (("lab", lab), ("live", live)):
        if not (part.outcomes.height or part.comparisons.height or part.aggregates.height):
            raise InputError(
                f"one set of data was given, and none of its rows has the setting {setting!r}: name the two sides apart "
                f"with {Option('lab')} and {Option('live')}, or fill the column `setting`"
            )
    return lab, live


def prepared_side(
    data: EvalData,
    *,
    live: bool,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    factors: Sequence[str],
    conf_level: float,
    min_cell: int = 1,
) -> Prepared:
    """Score every model of one side from its outcomes, else its votes, else its published numbers."""
    where = "live" if live else "lab"
    if data.outcomes.height and not (metric is None and data.comparisons.height and live):
        least = min_cell if live else 1
        side, ranks, units = outcome_side(data, live=live, metric=metric, cluster=cluster, factors=factors, least=least)
        of_rows = partial(_distinct_of_outcomes, units)
        noted = _noted(side, data, where)
        return Prepared(side=noted, ranks=ranks, distinct=of_rows, units=units, data=data, factors=tuple(factors))
    if data.comparisons.height:
        side, ranks, distinct = vote_side(data, cluster=cluster, conf_level=conf_level)
    elif data.aggregates.height:
        side, ranks = published_side(data, live=live, metric=metric)
        distinct = no_clusters
    else:
        raise CannotAnswerError(f"the {where} data hold no outcomes, no votes and no published numbers")
    return Prepared(side=_noted(side, data, where), ranks=ranks, distinct=distinct, data=data, factors=tuple(factors))


def _distinct_of_outcomes(units: Units, names: Sequence[str]) -> int:
    return units.frame.filter(pl.col(ENTRY).is_in(list(names)))[CLUSTER].n_unique()


def cut(prepared: Prepared, names: Sequence[str]) -> Side:
    """Keep the models named, in this order, with their rank sets among themselves; the others stand in `only_here`.

    Errors are kept where each of these models has one.
    """
    side = prepared.side
    at = [side.models.index(name) for name in names]
    errors = side.std_error()
    known = errors is not None and bool(np.isfinite(errors[at]).all())
    low, high = prepared.ranks(at) if known else no_ranks(len(at))
    rest = [j for j in range(len(side.models)) if j not in set(at)]
    return replace(
        side,
        models=tuple(names),
        estimate=side.estimate[at],
        covariance=side.covariance[np.ix_(at, at)] if known and side.covariance is not None else None,
        n=side.n[at],
        n_clusters=side.n_clusters[at],
        n_distinct=prepared.distinct(names),
        rank_low=low,
        rank_high=high,
        only_here=tuple((side.models[j], float(side.estimate[j]), _known(errors, j)) for j in rest),
    )


def oriented(side: Side) -> tuple[FloatArray, FloatArray | None]:
    """Return the estimates turned so that more is better, and their covariance."""
    return (-side.estimate if side.turned else side.estimate), side.covariance


def on_one_scale(lab: Side, live: Side) -> tuple[bool, str]:
    """Tell whether live minus lab means something, and why not."""
    if "comparisons" in {lab.kind, live.kind}:
        return False, "votes give ratings, which have a scale of their own"
    if lab.metric != live.metric:
        return False, f"the lab measures {lab.metric!r} and live {live.metric!r}"
    if (lab.low, lab.high, lab.turned) != (live.low, live.high, live.turned):
        ends = [f"[{_end(side.low)}, {_end(side.high)}]" for side in (lab, live)]
        return False, f"{lab.metric!r} runs over {ends[0]} in the lab and over {ends[1]} live"
    if lab.kind == "aggregates" and lab.low is None:
        return False, f"the range of {lab.metric!r} is not known, so one scale cannot be taken for granted"
    return True, ""


def _known(errors: FloatArray | None, j: int) -> float | None:
    return None if errors is None or not np.isfinite(errors[j]) else float(errors[j])


def _end(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


def _noted(side: Side, data: EvalData, where: str) -> Side:
    """Say which tables of a side were not used."""
    have = {
        "outcomes": data.outcomes.height,
        "comparisons": data.comparisons.height,
        "aggregates": data.aggregates.height,
    }
    words = {"outcomes": "outcomes", "comparisons": "votes", "aggregates": "published numbers"}
    unused = [words[kind] for kind, height in have.items() if height and kind != side.kind]
    if not unused:
        return side
    said = f"The {where} data also hold {' and '.join(unused)}, which are not used; {words[side.kind]} are"
    return replace(side, notes=(*side.notes, Note(kind="choice", text=said, caution=False)))


def _of_setting(data: EvalData, setting: str) -> EvalData:
    def kept(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("setting") == setting)

    return replace(
        data, outcomes=kept(data.outcomes), comparisons=kept(data.comparisons), aggregates=kept(data.aggregates)
    )


_SLACK = 1e-6
_NO_FACTORS = frozenset(
    ["run", "model", "system", "benchmark", "item", "trial", "metric", "score", "user", "session", "timestamp"]
)
_MOST_KNOWN = 0.5  # of the votes must have a label that the lab has too, or the labels mean other things


def score_side(data: EvalData, *, live: bool, **options: Any) -> Prepared:
    """Score one side; what is wrong with it is said with its name and its own options."""
    where = "live" if live else "lab"
    try:
        with under_names({"metric": f"{where}_metric", "where": f"{where}_where"}):
            return prepared_side(data, live=live, **options)
    except (InputError, CannotAnswerError) as error:
        text = str(error)
        said = (
            text if text.startswith((f"the {where}", f"{where} ", "no model of the")) else f"the {where} side: {text}"
        )
        if said == str(error):
            raise
        raise type(error)(said) from error


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


def benchmark_of(data: EvalData) -> str:
    """Return the only benchmark of the data; "" where there are several."""
    names = {name for frame in (data.outcomes, data.aggregates, data.runs) for name in frame["benchmark"].unique()}
    return str(next(iter(names))) if len(names) == 1 else ""


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
    kept = [name for name in ([chosen] if isinstance(chosen, str) else chosen) if name in have]
    return kept or None


def margin_of(margin: float | str | None, live: Prepared) -> float | None:
    """Return the margin in the live metric's own unit."""
    side = live.side
    about = Metric(
        benchmark=side.name,
        name=side.metric,
        kind=side.metric_kind,
        low=side.low,
        high=side.high,
        higher_is_better=not side.turned,
        unit=side.unit,
    )
    return margin_in_unit(margin, about)


def mix_of(
    mix: LiveMix | Mapping[str, float] | None, by: Sequence[str] | None
) -> tuple[str | None, dict[str, float], str]:
    """Return the factor, the shares and their source; None and nothing where no mix is given."""
    if mix is None:
        return None, {}, ""
    named = list(by or ["scenario"])
    if isinstance(mix, Mapping):
        if len(named) != 1:
            raise InputError(f"mix gives shares for one factor, and by names {', '.join(named)}; name one")
        factor, shares, source = named[0], dict(mix), "given"
    else:
        factor, shares, source = mix.factor, dict(mix.shares), "; ".join(filter(None, (mix.source, mix.note)))
    total = sum(shares.values())
    if not shares or not all(share >= 0 for share in shares.values()) or not abs(total - 1.0) <= _SLACK:
        raise InputError(
            f"the shares of the mix by {factor} sum to {total:g}; they must be 0 or more and sum to 1 (divide by their sum, "
            "and say so, where labels overlap)"
        )
    return factor, shares, source


def mix_set_aside(live: EvalData, factor: str, shares: Mapping[str, float]) -> tuple[Note, ...]:
    """Warn where live rows tell their own mix: it is the one that is used, and differs from the given one by so much."""
    if not live.outcomes.height or not has_levels(live, factor):
        return ()
    rows = live.outcomes[live.factor(factor)].cast(pl.String).drop_nulls()
    counted = dict(rows.value_counts(normalize=True).iter_rows())
    off = {level: abs(counted.get(level, 0.0) - shares.get(level, 0.0)) for level in counted.keys() | shares.keys()}
    most = max(sorted(off), key=lambda level: off[level])
    said = (
        f"Live rows hold their own mix of {factor}, which is used instead of the one given ({most}: "
        f"{100 * counted.get(most, 0.0):.1f}% counted, {100 * shares.get(most, 0.0):.1f}% given)"
    )
    return (Note(kind="choice", text=said),)


def counted_in_votes(
    lab: EvalData, live: EvalData, factors: tuple[str, ...]
) -> tuple[str | None, dict[str, float], str]:
    """Return the live mix that labelled votes tell of the lab's first factor, where the lab knows most of the labels."""
    votes = live.comparisons
    if live.outcomes.height or not factors or factors[0] not in votes.columns:
        return None, {}, ""
    counts = votes[factors[0]].cast(pl.String).drop_nulls().value_counts(name="n").sort(factors[0])
    total = int(counts["n"].sum())
    known = lab.outcomes[lab.factor(factors[0])].cast(pl.String).unique()
    if not total or counts.filter(pl.col(factors[0]).is_in(known.to_list()))["n"].sum() < _MOST_KNOWN * total:
        return None, {}, ""
    return factors[0], {level: n / total for level, n in counts.iter_rows()}, f"counted in {total:,} votes"


def factors_of(
    lab: EvalData, live: EvalData, by: Sequence[str] | None, mixed: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the factors to sum the lab and the live outcomes by."""
    named = list(by or ())
    if mixed is not None and mixed not in named:
        named.append(mixed)
    if not named and has_levels(lab, "scenario"):
        named = ["scenario"]
    if lab.outcomes.height:
        for name in named:
            lab.factor(name)
    in_lab = tuple(named) if lab.outcomes.height else ()
    in_live = tuple(name for name in named if has_levels(live, name)) if live.outcomes.height else ()
    if by is not None and mixed is None and live.outcomes.height and len(in_live) < len(named):
        live.factor(next(name for name in named if name not in in_live))
        missing = ", ".join(name for name in named if name not in in_live)
        raise InputError(
            f"the live outcomes hold no level of {missing}; give its shares with mix, or leave it out of by"
        )
    return in_lab, in_live


def has_levels(data: EvalData, name: str) -> bool:
    """Whether the outcomes have a column of that name with a level in it."""
    column = data.factor_names().get(name, name)
    frame = data.outcomes
    return (
        column in frame.columns
        and not isinstance(frame[column].dtype, pl.List)
        and frame[column].null_count() < frame.height
    )
