"""Both sides of the question, each from whatever its data hold, cut to the models that both have."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.arenas.preparing import comparisons_of
from evalstats.analysis.gaps.material import RankSets, Side
from evalstats.analysis.gaps.outcome_side import outcome_side
from evalstats.analysis.gaps.published_side import published_side
from evalstats.analysis.gaps.units import Units
from evalstats.analysis.gaps.vote_side import vote_side
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.tables import as_polars
from evalstats.stats.checks import FloatArray

_VOTE_COLUMNS = {"model_a", "model_b"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """One side over all of its models, before it is known which of them the other side has."""

    side: Side
    ranks: RankSets
    units: Units | None = None


def table_of(given: EvalData | object) -> EvalData:
    """Return whatever was given as data: a frame of votes, of published numbers, or of outcomes, in glossary names.

    Raises
    ------
    InputError
        If it is none of them.
    """
    if isinstance(given, EvalData):
        return given
    frame = as_polars(given)
    if set(frame.columns) >= _VOTE_COLUMNS:
        return EvalData(comparisons=comparisons_of(frame))
    if "model" in frame.columns and "system" not in frame.columns:
        frame = frame.with_columns(system=pl.col("model"))
    return as_data(frame)


def by_setting(data: EvalData) -> tuple[EvalData, EvalData]:
    """Split one set of data by its column `setting` into lab and live.

    Raises
    ------
    InputError
        If it holds one setting only.
    """
    lab, live = (_of_setting(data, setting) for setting in ("lab", "live"))
    for setting, part in (("lab", lab), ("live", live)):
        if not (part.outcomes.height or part.comparisons.height or part.aggregates.height):
            raise InputError(
                f"one set of data was given, and none of its rows has the setting {setting!r}: name the two sides apart "
                "(--lab and --live; gap(lab, live)), or fill the column `setting`"
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
    """Score every model of one side from its outcomes, else its votes, else its published numbers.

    Raises
    ------
    InputError
        If a name is unknown or ambiguous.
    CannotAnswerError
        If there is nothing to score.
    """
    where = "live" if live else "lab"
    if data.outcomes.height and not (metric is None and data.comparisons.height and live):
        least = min_cell if live else 1
        side, ranks, units = outcome_side(data, live=live, metric=metric, cluster=cluster, factors=factors, least=least)
        return Prepared(side=_noted(side, data, where), ranks=ranks, units=units)
    if data.comparisons.height:
        side, ranks = vote_side(data, cluster=cluster, conf_level=conf_level)
        return Prepared(side=_noted(side, data, where), ranks=ranks)
    if data.aggregates.height:
        side, ranks = published_side(data, live=live, metric=metric)
        return Prepared(side=side, ranks=ranks)
    raise CannotAnswerError(f"the {where} data hold no outcomes, no votes and no published numbers")


def cut(prepared: Prepared, names: Sequence[str]) -> Side:
    """Keep the models named, in this order, with their rank sets among themselves; the others stand in `only_here`.

    Errors are kept where each of these models has one.
    """
    side = prepared.side
    at = [side.models.index(name) for name in names]
    errors = side.std_error()
    known = errors is not None and bool(np.isfinite(errors[at]).all())
    none = np.zeros(len(at), dtype=np.int64)
    low, high = prepared.ranks(at) if known else (none, none)
    rest = [j for j in range(len(side.models)) if j not in set(at)]
    return replace(
        side,
        models=tuple(names),
        estimate=side.estimate[at],
        covariance=side.covariance[np.ix_(at, at)] if known and side.covariance is not None else None,
        n=side.n[at],
        n_clusters=side.n_clusters[at],
        rank_low=low,
        rank_high=high,
        only_here=tuple((side.models[j], float(side.estimate[j]), _known(errors, j)) for j in rest),
    )


def oriented(side: Side) -> tuple[FloatArray, FloatArray | None]:
    """Return the estimates turned so that more is better, and their covariance."""
    return (-side.estimate if side.turned else side.estimate), side.covariance


def on_one_scale(lab: Side, live: Side) -> tuple[bool, str]:
    """Tell whether live less lab means something, and why not."""
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
    note = f"the {where} data also hold {' and '.join(unused)}, which are not used; {words[side.kind]} are"
    return replace(side, notes=(*side.notes, note))


def _of_setting(data: EvalData, setting: str) -> EvalData:
    def kept(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(pl.col("setting") == setting)

    return replace(
        data, outcomes=kept(data.outcomes), comparisons=kept(data.comparisons), aggregates=kept(data.aggregates)
    )
