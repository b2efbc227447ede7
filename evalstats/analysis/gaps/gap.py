"""Does the lab predict the live world, and for which models not? `gap()`: five layers, each left out where data are missing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import polars as pl

from evalstats.analysis.arms import Metric, margin_in_unit
from evalstats.analysis.gaps.assembling import gap_of
from evalstats.analysis.gaps.matching import Asked, matched
from evalstats.analysis.gaps.material import Options
from evalstats.analysis.gaps.results import LabLiveGap
from evalstats.analysis.gaps.sides import Prepared, by_setting, prepared_side, table_of
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.live_mix import LiveMix
from evalstats.schema.plan import Plan, plan_account, settled
from evalstats.stats.checks import check_count, check_level

DEFAULT_LEVEL = 0.95
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


def gap(
    lab: EvalData | object,
    live: EvalData | object | None = None,
    *,
    metric: str | None = None,
    lab_metric: str | None = None,
    live_metric: str | None = None,
    by: str | Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = "auto",
    lab_cluster: str | Sequence[str] | None = None,
    live_cluster: str | Sequence[str] | None = None,
    aliases: Mapping[str, str] | None = None,
    margin: float | str | None = None,
    mix: LiveMix | Mapping[str, float] | None = None,
    models: Sequence[str] | None = None,
    same_scale: bool | None = None,
    conf_level: float | None = None,
    top: Sequence[int] = (5, 10),
    n_resamples: int = 2000,
    min_cell: int = 10,
    plan: Plan | None = None,
    seed: int = 0,
) -> LabLiveGap:
    """Set lab scores against live ones: how far they agree, for which models they do not, and why.

    Parameters
    ----------
    lab, live
        What `evalstats.read`, `from_frame`, `from_votes` or a store gave, or a table with the glossary's columns. Each side
        may hold outcomes, votes or published numbers. Without `live`, `lab` is split by its column `setting`.
    metric, lab_metric, live_metric
        The score to use, on both sides or on one; needed only where a benchmark declares no headline.
    by
        Factors (scenario, user kind, language) that make up the mix; by itself `scenario`, where both sides have it.
    cluster, lab_cluster, live_cluster
        By what rows share their errors. "auto": in the lab what is declared, and the item over its variants; live the user,
        else the session; of votes prompt, rater, session and event.
    aliases
        Name of a model on either side to the name it shall have. Names that merely look alike are proposed in the result and
        not joined.
    margin
        The largest gap that does not matter, in the live metric's unit ("5pp" for a share). Without one no model can be
        called aligned.
    mix
        Shares of the live world by level of a factor, where live rows have no such labels: a `LiveMix`, or a mapping for the
        factor named in `by` (else `scenario`).
    models
        Names to keep.
    same_scale
        Whether live less lab means something. None: where both sides have outcomes (or published shares) of one metric with
        one range.
    conf_level
        Level of all intervals; 0.95 where neither it nor a plan says otherwise.
    top
        For each k, agreement within the k best live.
    n_resamples
        Rounds of the bootstraps.
    min_cell
        Live cells with fewer users than this are withheld, and models with fewer live users are not scored; 1 shows all.
    plan
        What was declared before looking; options that are given go before it, and the result says where it departs.
    seed
        For everything that is drawn.

    Returns
    -------
    LabLiveGap
        A line for each shared model, agreement with intervals from three sources, the line with errors on both sides, the
        parts of the gap, forecasts, threats to validity, and what was left out and why.

    Raises
    ------
    InputError
        If a name, column or option is unknown, or no data are given.
    CannotAnswerError
        If the sides share fewer than three models; names that look alike are proposed.

    Notes
    -----
    Live on lab by ordinary regression calls up to half of all models gaps when there is none, since the lab is measured with
    error. Here the line has errors on both sides and a spread between models (York 2004), each model is judged by the line
    through the others, and models are adjusted for as one family. Fewer than six models get no line.

    References
    ----------
    York et al. 2004, doi:10.1119/1.1632486; Kitagawa 1955; Perlitz et al. 2024, arXiv:2407.13696; Benjamini & Yekutieli 2005.

    Examples
    --------
    >>> lab = {
    ...     "model": list("abcdefgh"),
    ...     "estimate": [0.9, 0.8, 0.75, 0.7, 0.6, 0.55, 0.5, 0.4],
    ...     "std_error": [0.02] * 8,
    ... }
    >>> live = {
    ...     "model": list("abcdefgh"),
    ...     "estimate": [1290, 1240, 1235, 1190, 1150, 1125, 1100, 1050],
    ...     "std_error": [8] * 8,
    ... }
    >>> found = gap(lab, live, n_resamples=200)
    >>> found.n_models, found.verdict, found.flagged()
    (8, 'inconclusive', ())
    """
    given: dict[str, Any] = {"margin": margin, "conf_level": conf_level}
    lab_data, live_data = by_setting(table_of(lab)) if live is None else (table_of(lab), table_of(live))
    joined = {**({} if plan is None else plan.aliases), **(aliases or {})}
    if plan is not None:
        name = _benchmark(live_data)
        found = settled(plan, benchmark=name, metric=live_metric or metric or "", **given)
        margin = cast("float | str | None", found["margin"])
        conf_level = cast("float | None", found["conf_level"])
    level = check_level(DEFAULT_LEVEL if conf_level is None else conf_level)
    by = _named_once(by)
    factor, shares, source = _mix_of(mix, by)
    set_aside = () if factor is None else _set_aside(live_data, factor, shares)
    if set_aside:
        factor, shares, source = None, {}, ""
    lab_factors, live_factors = _factors(lab_data, live_data, by, factor)
    if factor is None:
        factor, shares, source = _counted_in_votes(lab_data, live_data, lab_factors)
    sides = [
        _prepared(
            data,
            live=is_live,
            metric=own_metric or metric,
            cluster=_cluster(own_cluster, cluster, data),
            factors=factors,
            conf_level=level,
            min_cell=check_count(min_cell, "min_cell"),
        )
        for data, is_live, own_metric, own_cluster, factors in (
            (lab_data, False, lab_metric, lab_cluster, lab_factors),
            (live_data, True, live_metric, live_cluster, live_factors),
        )
    ]
    options = Options(
        conf_level=level,
        margin=_margin(margin, sides[1]),
        n_resamples=check_count(n_resamples, "n_resamples", least=100),
        top=tuple(sorted({check_count(k, "an entry of top", least=3) for k in top})),
        seed=check_count(seed, "seed"),
        mix_factor=factor,
        mix=shares,
        mix_source=source,
    )
    asked = Asked(
        lab=sides[0],
        live=sides[1],
        lab_data=lab_data,
        live_data=live_data,
        lab_factors=lab_factors,
        live_factors=live_factors,
        aliases=joined,
        models=models,
        same_scale=same_scale,
        options=options,
        min_cell=check_count(min_cell, "min_cell"),
    )
    result = gap_of(matched(asked), asked)
    result = replace(result, warnings=(*set_aside, *result.warnings))
    if plan is None:
        return result
    account = plan_account(plan, benchmark=result.live.name, metric=result.live.metric, span=None, **given)
    return replace(result, plan=account, warnings=(*account.departures, *result.warnings))


def _prepared(data: EvalData, *, live: bool, **options: Any) -> Prepared:
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
        said = (
            text if text.startswith((f"the {where}", f"{where} ", "no model of the")) else f"the {where} side: {text}"
        )
        if said == str(error):
            raise
        raise type(error)(said) from error


def _named_once(by: str | Sequence[str] | None) -> list[str] | None:
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


def _benchmark(data: EvalData) -> str:
    names = {name for frame in (data.outcomes, data.aggregates, data.runs) for name in frame["benchmark"].unique()}
    return str(next(iter(names))) if len(names) == 1 else ""


def _cluster(
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


def _margin(margin: float | str | None, live: Prepared) -> float | None:
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


def _mix_of(
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


def _set_aside(live: EvalData, factor: str, shares: Mapping[str, float]) -> tuple[str, ...]:
    """Warn where live rows tell their own mix: it is the one that is used, and differs from the given one by so much."""
    if not live.outcomes.height or not _has(live, factor):
        return ()
    rows = live.outcomes[live.factor(factor)].cast(pl.String).drop_nulls()
    counted = dict(rows.value_counts(normalize=True).iter_rows())
    off = {level: abs(counted.get(level, 0.0) - shares.get(level, 0.0)) for level in counted.keys() | shares.keys()}
    most = max(sorted(off), key=lambda level: off[level])
    said = (
        f"the live outcomes tell their own mix of {factor}, which is used; the given one is left aside (they differ most in "
        f"{most}: {100 * counted.get(most, 0.0):.1f}% counted, {100 * shares.get(most, 0.0):.1f}% given)"
    )
    return (said,)


def _counted_in_votes(
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


def _factors(
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
    if not named and _has(lab, "scenario"):
        named = ["scenario"]
    if lab.outcomes.height:
        for name in named:
            lab.factor(name)
    in_lab = tuple(named) if lab.outcomes.height else ()
    in_live = tuple(name for name in named if _has(live, name)) if live.outcomes.height else ()
    if by is not None and mixed is None and live.outcomes.height and len(in_live) < len(named):
        live.factor(next(name for name in named if name not in in_live))
        missing = ", ".join(name for name in named if name not in in_live)
        raise InputError(
            f"the live outcomes hold no level of {missing}; give its shares with mix, or leave it out of by"
        )
    return in_lab, in_live


def _has(data: EvalData, name: str) -> bool:
    """Whether the outcomes have a column of that name with a level in it."""
    column = data.factor_names().get(name, name)
    frame = data.outcomes
    return (
        column in frame.columns
        and not isinstance(frame[column].dtype, pl.List)
        and frame[column].null_count() < frame.height
    )
