"""What was asked of `gap()`, made ready: factors, the mix of the live world, clusters, the margin; each checked and said."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evalstats.analysis.arms import Metric, margin_in_unit
from evalstats.analysis.gap.sides import Prepared, prepared_side
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.live_mix import LiveMix

_SLACK = 1e-6
_NO_FACTORS = (
    "run",
    "model",
    "system",
    "benchmark",
    "item",
    "trial",
    "metric",
    "score",
    "user",
    "session",
    "timestamp",
)
_MOST_KNOWN = 0.5  # of the votes must have a label that the lab has too, or the labels mean other things


def score_side(data: EvalData, *, live: bool, **options: Any) -> Prepared:
    """Score one side; what is wrong with it is said with its name and its own options.

    Raises
    ------
    InputError, CannotAnswerError
        As `prepared_side`.
    """
    where = "live" if live else "lab"
    try:
        return prepared_side(data, live=live, **options)
    except (InputError, CannotAnswerError) as error:
        text = str(error).replace("--metric", f"--{where}-metric").replace("--where", f"--{where}-where")
        text = text.replace("metric=", f"{where}_metric=").replace("data.where", f"{where}.where")
        said = (
            text if text.startswith((f"the {where}", f"{where} ", "no model of the")) else f"the {where} side: {text}"
        )
        if said == str(error):
            raise
        raise type(error)(said) from error


def named_once(by: str | Sequence[str] | None) -> list[str] | None:
    """Return the factors as a list; None where none is named.

    Raises
    ------
    InputError
        If one is named twice, or is no factor.
    """
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
    """Return the margin in the live metric's own unit.

    Raises
    ------
    InputError
        If it is no positive difference of that metric.
    """
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
    mix: LiveMix | Mapping[str, float] | None, by: str | Sequence[str] | None
) -> tuple[str | None, dict[str, float], str]:
    """Return the factor, the shares and their source; None and nothing where no mix is given.

    Raises
    ------
    InputError
        If a share is negative, or they do not sum to 1.
    """
    if mix is None:
        return None, {}, ""
    named = [by] if isinstance(by, str) else list(by or ["scenario"])
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
        f"live rows hold their own mix of {factor}, which is used instead of the one given ({most}: "
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
    lab: EvalData, live: EvalData, by: str | Sequence[str] | None, mixed: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the factors to sum the lab and the live outcomes by.

    Raises
    ------
    InputError
        If a factor that was named is not there.
    """
    named = [by] if isinstance(by, str) else list(by or ())
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
