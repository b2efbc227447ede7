"""Do models score more on items they may have seen? Old against new items, a break at a date, rephrased twins."""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from evalstats.analysis.arms import margin_in_unit, require_outcomes
from evalstats.analysis.contamination.cutoff import ask_of_date
from evalstats.analysis.contamination.items import Asked, ItemTable, Wanted, item_table
from evalstats.analysis.contamination.result import Alternative, ContaminationCheck, ContaminationRow, Design
from evalstats.analysis.contamination.sides import SOURCE, Levels, ask_of_split, ask_of_twins, joined, twin_rows
from evalstats.analysis.contamination.verdicts import (
    METHODS,
    Options,
    cautions,
    estimand_of,
    judged,
    overall,
    suspicions,
)
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import notes as as_notes
from evalstats.errors import InputError
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, plan_account, settled, with_plan
from evalstats.stats.checks import check_count, check_level

DEFAULT_LEVEL = 0.95
_REASON = (
    "old items may be easier or harder in themselves, so a model is held against models known clean, and how far clean models "
    "differ is part of the error"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a design gave: the items, the questions, what its sides are called, and notes."""

    table: ItemTable
    asked: tuple[Asked, ...]
    sides: tuple[str, str]
    notes: tuple[str, ...]


def contamination(
    data: EvalData | object,
    *,
    split: str | None = None,
    old: Levels = None,
    new: Levels = None,
    date: str | None = None,
    twin: str | None = None,
    suspects: Sequence[str] | str | None = None,
    references: Sequence[str] | str | None = None,
    cutoffs: Mapping[str, str | dt.date] | None = None,
    metric: str | None = None,
    higher_is_better: bool | None = None,
    cluster: str | Sequence[str] | None = None,
    margin: float | str | None = None,
    conf_level: float | None = None,
    alternative: Alternative = "two-sided",
    accept: Sequence[str] = (),
    plan: Plan | None = None,
    seed: int = 0,
) -> ContaminationCheck:
    """Test whether models score more on items they may have seen, beyond what difficulty explains.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    split, old, new
        A column that tells old (public) items from new (fresh, held-out) ones, and its levels for both sides; "benchmark"
        where the new items are a benchmark of their own, made to be like the old one.
    date, cutoffs
        A column with the date of every item (2024-03-01), and for each suspect the date at which its training data ends.
    twin
        A column that tells rephrased items: "variant" or another whose levels are named by `old` (original) and `new`
        (rephrased); or one that names, on each rephrased item, the item that it rephrases.
    suspects, references
        Models in question, and models known to be clean (trained before the items were public). Without references every
        suspect is held against all the other models.
    metric, higher_is_better, cluster, accept, plan
        As in `leaderboard`.
    margin
        The largest inflation that does not matter, declared before looking: "2pp", or a number in the metric's unit.
    conf_level
        Level of the intervals; 0.95 where neither it nor a plan says otherwise.
    alternative
        "greater" for a one-sided test for inflation, if that was declared before looking.
    seed
        For permutations that look for undeclared clusters; intervals do not depend on it.

    Returns
    -------
    ContaminationCheck
        For each suspect its advantage on old items beyond the references', the interval, the largest inflation that the data
        leave possible, and a verdict.

    Raises
    ------
    InputError
        If a name, column, level, date or option is unknown or ambiguous, or a suspect is also a reference.
    CannotAnswerError
        If a side has too few items, or a named model lacks one.

    Notes
    -----
    Exactly one of `split`, `date` and `twin` is given. D is old less new, or the jump at the cut-off, or original less
    rephrased. A suspect's inflation is D less the mean D of R references, with variance Var_items + s^2 (1 + 1/R), s the spread
    between references beyond item noise, and Student's t with R - 1 degrees of freedom. With fewer than three references
    it is described and not judged. Items alone would find an inflation in up to 40% of the clean models.

    References
    ----------
    Donald & Lang 2007, doi:10.1162/rest.89.2.221; Imbens & Kalyanaraman 2012, doi:10.1093/restud/rdr043; Zhang et al. 2024,
    A careful examination of LLM performance on grade school arithmetic, arXiv:2405.00332; Jain et al. 2024, LiveCodeBench,
    arXiv:2403.07974.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from evalstats import from_frame
    >>> rng = np.random.default_rng(0)
    >>> rows = [
    ...     {"item": i, "model": m, "source": "public" if i < 150 else "fresh"}
    ...     | {"score": int(rng.random() < 0.5 + 0.45 * (m == "suspect" and i < 150))}
    ...     for m in ("suspect", "r1", "r2", "r3", "r4", "r5")
    ...     for i in range(300)
    ... ]
    >>> results = from_frame(pl.DataFrame(rows), item="item", score="score", model="model")
    >>> found = contamination(results, split="source", suspects="suspect", references=["r1", "r2", "r3", "r4", "r5"])
    >>> found.verdict, found.row("suspect").df
    ('inflated', 4.0)
    """
    design, column = _design(split=split, date=date, twin=twin)
    _check_options(design, cutoffs=cutoffs, sides=(old, new), alternative=alternative)
    check_count(seed, "seed")
    data = as_data(data)
    data = data if plan is None else with_plan(data, plan)
    data = data.with_metric(metric, higher_is_better=higher_is_better)
    require_outcomes(data)
    place = data.factor(column)
    if design == "split" and place == "benchmark" and data.outcomes["benchmark"].n_unique() > 1:
        data, place = joined(data, old, new), SOURCE
    benchmark = _only(data)
    asked_metric = metric or (plan.primary_for(benchmark) if plan is not None else None)
    given = {"margin": margin, "conf_level": conf_level, "clusters": [cluster] if isinstance(cluster, str) else cluster}
    found = settled(plan, benchmark=benchmark, metric=asked_metric or "", accept=list(accept) or None, **given)
    level = check_level(DEFAULT_LEVEL if found["conf_level"] is None else cast("float", found["conf_level"]))
    wanted = Wanted(
        metric=asked_metric,
        suspects=_names(suspects),
        references=_names(references),
        cluster=cast("Sequence[str] | None", found["clusters"]),
        accept=tuple(cast("Sequence[str] | None", found["accept"]) or ()),
    )
    answers = _asked(data, wanted, design, place, column, (old, new), cutoffs, level, seed)
    options = Options(
        conf_level=level,
        margin=margin_in_unit(cast("float | str | None", found["margin"]), answers.table.metric),
        alternative=alternative,
        bound=None if answers.table.metric.span is None else 2.0 * answers.table.metric.span,
    )
    result = _result(data, answers, design, column, options, seed)
    if plan is None:
        return result
    account = plan_account(
        plan, benchmark=result.benchmark, metric=result.metric, span=answers.table.metric.span, **given
    )
    return replace(result, plan=account, notes=(*as_notes("plan", account.departures), *result.notes))


def _design(*, split: str | None, date: str | None, twin: str | None) -> tuple[Design, str]:
    designs: dict[Design, str | None] = {"split": split, "date": date, "twins": twin}
    given: list[tuple[Design, str]] = [(name, column) for name, column in designs.items() if column is not None]
    if len(given) != 1:
        have = " and ".join(name for name, _ in given) or "none of them"
        message = f"give exactly one of --split, --date and --twin; found {have}"
        raise InputError(message)
    return given[0]


def _check_options(
    design: Design, *, cutoffs: Mapping[str, str | dt.date] | None, sides: tuple[Levels, Levels], alternative: str
) -> None:
    if alternative not in ("two-sided", "greater"):
        raise InputError(
            f"alternative is {alternative!r}; give two-sided, or greater where that was declared before looking"
        )
    if design == "date" and not cutoffs:
        raise InputError(
            "a break at a date needs the suspects' cut-offs: --cutoff MODEL=2024-03-01 (cutoffs={...} in Python)"
        )
    if design != "date" and cutoffs:
        raise InputError("cut-offs go with date; old and new levels go with split and twin")
    if design == "date" and any(each is not None for each in sides):
        raise InputError("old and new go with split and twin; with date the cut-off divides the items")


def _names(given: Sequence[str] | str | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    return (given,) if isinstance(given, str) else tuple(given)


def _only(data: EvalData) -> str:
    names = data.outcomes["benchmark"].unique().to_list()
    return str(names[0]) if len(names) == 1 else ""


def _asked(  # noqa: PLR0917 - what the three designs need between them
    data: EvalData,
    wanted: Wanted,
    design: Design,
    column: str,
    label: str,
    sides: tuple[Levels, Levels],
    cutoffs: Mapping[str, str | dt.date] | None,
    level: float,
    seed: int,
) -> _Found:
    """Return the questions of a design."""
    if design == "split":
        table = item_table(data, wanted, column)
        asked, names, notes = ask_of_split(table, column, label, *sides)
    elif design == "date":
        table = item_table(data, wanted, column)
        asked, names, notes = ask_of_date(table, column, label, cutoffs or {}, level)
    else:
        rows, names, notes = twin_rows(data, column, label, *sides)
        table = item_table(rows, wanted, column, paired=True)
        asked, more = ask_of_twins(rows, table, level, seed)
        notes = (*notes, *more)
    return _Found(table=table, asked=tuple(asked), sides=names, notes=notes)


def _result(  # noqa: PLR0917 - what a result is made of
    data: EvalData, found: _Found, design: Design, column: str, options: Options, seed: int
) -> ContaminationCheck:
    rows: tuple[ContaminationRow, ...] = judged(found.asked, options)
    verdict, reason = overall(rows)
    table, metric = found.table, found.table.metric
    suspected = suspicions(found.asked, table, seed)
    return ContaminationCheck(
        design=design,
        column=column,
        old=found.sides[0],
        new=found.sides[1],
        verdict=verdict,
        reason=reason,
        benchmark=metric.benchmark,
        metric=metric.name,
        metric_kind=metric.kind,
        higher_is_better=metric.higher_is_better,
        direction=metric.direction,
        scale=metric.scale,
        unit=metric.shown_unit,
        score_unit=metric.score_unit,
        conf_level=options.conf_level,
        margin=options.margin,
        alternative=options.alternative,
        rows=rows,
        suspects=table.suspects if table.named else (),
        references=table.references or (),
        method=METHODS[design],
        method_reason=_REASON,
        estimand=estimand_of(design, column, found.sides, table.labels),
        clusters=table.labels,
        dependence=suspected,
        seed=seed,
        version=toolkit_version(),
        sources=sources_of(data, table.table.runs),
        notes=(
            *run_notes(data, table.table.runs),
            *as_notes("scale", metric.cautions),
            *cautions(rows, found.asked, table, suspected, options),
            *as_notes("choice", (*found.notes, *table.notes), caution=False),
            *as_notes("comparability", table.table.measured.of("note"), caution=False),
            *(note for each in found.asked for note in each.notes if not note.caution),
        ),
    )
