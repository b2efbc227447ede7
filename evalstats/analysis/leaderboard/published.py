"""A leaderboard of published numbers: scores with standard errors and no items behind them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from evalstats.analysis.design.entries import RunKinds, run_kinds
from evalstats.analysis.design.metric import Metric, choose_metric, metrics_to_show
from evalstats.analysis.design.published import (
    FROM_COUNT,
    PUBLISHED_ENTRY,
    one_each,
    published_rows,
    with_errors_of_shares,
    with_std_errors,
)
from evalstats.analysis.leaderboard.board import corrected_estimates, family_rows, ranked, with_ties
from evalstats.analysis.leaderboard.ranks import (
    OpenRanks,
    RankingOptions,
    best_from_pairs,
    counted_ranks,
    known,
    shown_better,
    stepwise_ends,
)
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow, snapped_pairs, snapped_rows
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, comma_list, has_have, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings
from evalstats.schema.tables import frame_from_rows, levels_of
from evalstats.stats.estimate import normal_quantile, two_sided_normal_p
from evalstats.stats.many.multiplicity import adjusted, compact_letters
from evalstats.stats.many.pairwise import Adjust, PairwiseDifferences
from evalstats.stats.many.ranks import RankSets, rank_sets_normal
from evalstats.stats.many.reference_laws import normal_known
from evalstats.stats.many.step_down import TwoSided, collect
from evalstats.table.items import Floats
from evalstats.table.systems import System

_N_DRAWS = 29_999
_SHOWN = 5
_METHOD = "z of published scores, taken as independent"
_INDEPENDENT = "The scores are treated as independent, so fewer ranks look certain than on shared items"


def _needed() -> str:
    errors, behind, score = (Option("map", blank="COLUMN", of=name) for name in ("std_error", "n", "score"))
    return (
        f"Ranks need two or more: name the column of standard errors ({errors}), or of how many answers stand behind each share "
        f"({behind}), with {score} where there are several scores; or give the scores of single items"
    )


@record
class _Published:
    """Models with a published score and its standard error, the best first; `without` have no standard error."""

    metric: Metric
    rows: pl.DataFrame
    without: pl.DataFrame
    notes: tuple[str, ...]
    kinds: RunKinds | None
    doubled: tuple[Note, ...]

    @property
    def names(self) -> list[str]:
        """The models."""
        names: list[str] = self.rows[PUBLISHED_ENTRY].to_list()
        return names

    def numbers(self, column: str) -> Floats:
        """Their scores or standard errors."""
        return self.rows[column].to_numpy().astype(np.float64)


def published_leaderboard(
    data: EvalData,
    *,
    metric: str | None,
    baseline: str | None,
    adjust: Adjust,
    models: Sequence[str] | None,
    conf_level: float,
    contrast: str,
    top: tuple[int, ...],
    seed: int,
    accept: Collection[str] = (),
    clusters: Sequence[str] = (),
) -> Leaderboard:
    """Rank models by published scores with standard errors, taken as independent and normal.

    Parameters are those of `leaderboard`.
    """
    found = _published(data, metric, models, contrast, accept)
    names, chosen = found.names, found.metric
    unused = f"clusters have no effect here ({', '.join(clusters)}): published numbers have no items to group"
    if baseline is not None and baseline not in names:
        raise InputError(f"the baseline {baseline!r} is none of the models with a standard error: {quoted_list(names)}")
    head = None if baseline is None else names.index(baseline)
    asked = RankingOptions(metric=chosen, conf_level=conf_level, adjust=adjust, baseline=head, top=top, seed=seed)
    every = _pairs(found, asked, list(combinations(range(len(names)), 2)))
    shown = every
    if head is not None:
        shown = _pairs(found, asked, [(j, head) for j in range(len(names)) if j != head])
    errors = "their n" if found.rows[FROM_COUNT].all() else "their standard errors"
    estimates, covariance = found.numbers("estimate"), np.diag(found.numbers("std_error") ** 2)
    alone = rank_sets_normal(asked.turned(estimates), covariance, conf_level=conf_level, seed=seed)
    winner, shrunken = corrected_estimates(estimates, covariance, asked, names)
    strict = every
    if not asked.family_wise:
        strict = _pairs(found, replace(asked, adjust="holm"), list(combinations(range(len(names)), 2)))
    lines = with_ties(_rows(found, asked, (every, strict), alone, shrunken))
    runs = pl.concat([found.rows["run"], found.without["run"]]).drop_nulls().unique().sort().to_list()
    return Leaderboard(
        about=chosen.facts,
        contrast=contrast,
        baseline=baseline,
        adjust=adjust,
        conf_level=conf_level,
        method=_METHOD,
        method_reason=f"there are published scores with {errors.removeprefix('their ')}, and no items",
        rank_method=f"counted from the separated pairs ({strict.method})",
        estimand="what each published score estimates; the source says for which items",
        basis=f"published scores and {errors}, each model's on its own",
        rows=(
            *snapped_rows(lines, chosen.span),
            *(_without(row, chosen) for row in found.without.iter_rows(named=True)),
        ),
        pairs=snapped_pairs(family_rows(names, shown, asked), chosen.span),
        critical=None if np.isnan(shown.critical) else shown.critical,
        exact=shown.exact,
        n_resamples=shown.n_resamples,
        n_models=len(names) + found.without.height,
        winner=winner,
        origin=Origin(sources=sources_of(data, runs), version=toolkit_version(), seed=seed),
        run_differences=() if found.kinds is None else found.kinds.differences,
        notes=(
            *run_notes(data, runs),
            *found.doubled,
            *as_notes("left_out", _left_out(found)),
            Note(kind="dependence", text=_INDEPENDENT, remedy="Give item scores if you have them"),
            *(() if found.kinds is None else found.kinds.notes("weakens")),
            *as_notes("comparability", [unused] if clusters else ()),
            *as_notes("choice", found.notes, caution=False),
            *(() if found.kinds is None else found.kinds.notes("note")),
        ),
    )


def keep_published(data: EvalData, levels: Mapping[str, Sequence[str]]) -> EvalData:
    """Keep the published numbers whose columns have one of the given levels, as `EvalData.where` does with outcomes."""
    rows = data.aggregates
    for name, wanted in levels.items():
        if name not in rows.columns:
            raise InputError(f"the published numbers have no column {name!r}; they have {quoted_list(rows.columns)}")
        text = rows[name].cast(pl.String)
        unknown = [level for level in wanted if not (text == level).any()]
        if unknown:
            raise InputError(f"{name} has no level {unknown[0]!r} in the published numbers; it has {quoted_list(text)}")
        rows = rows.filter(text.is_in(list(wanted)))
    return replace(data, aggregates=rows)


def _published(
    data: EvalData, metric: str | None, models: Sequence[str] | None, contrast: str, accept: Collection[str]
) -> _Published:
    rows = published_rows(data)
    if contrast not in rows.columns:
        raise InputError(f"the published numbers have no column {contrast!r}; they have {quoted_list(rows.columns)}")
    rows = rows.with_columns(rows[contrast].cast(pl.String).alias(PUBLISHED_ENTRY)).filter(
        pl.col(PUBLISHED_ENTRY).is_not_null()
    )
    if models is not None:
        unknown = [name for name in models if not (rows[PUBLISHED_ENTRY] == name).any()]
        if unknown:
            raise InputError(f"{unknown[0]!r} has no published number; there are {quoted_list(rows[PUBLISHED_ENTRY])}")
        rows = rows.filter(pl.col(PUBLISHED_ENTRY).is_in(list(models)))
    if metric is None:
        rows = _that_can_be_ranked(data, rows)
    chosen = choose_metric(data, rows.with_columns(score=pl.col("estimate")), metric)
    rows = rows.filter((pl.col("metric") == chosen.name) & (pl.col("benchmark") == chosen.benchmark))
    rows, from_ends = with_std_errors(rows)
    rows, from_counts = with_errors_of_shares(rows, chosen)
    notes = (*from_ends, *from_counts)
    if from_counts and chosen.bounds is None:  # then they are taken as shares
        chosen = replace(chosen, kind="proportion", low=0.0, high=1.0)
    whole = rows.filter(pl.col("task") == "")
    if (
        contrast != "task"
        and whole.height < rows.height
        and whole[PUBLISHED_ENTRY].n_unique() == rows[PUBLISHED_ENTRY].n_unique()
    ):
        rows, notes = (
            whole,
            (*notes, f"the number of {chosen.benchmark} as a whole stands for each model, not those of its tasks"),
        )
    rows, doubled = one_each(rows, chosen)
    usable = ((rows["std_error"] > 0) & rows["std_error"].is_finite()).fill_null(value=False)
    if rows.filter(usable)[PUBLISHED_ENTRY].n_unique() < 2:
        raise CannotAnswerError(_without_noise(rows, usable, chosen))
    intended = _check_one_quantity(rows, chosen, contrast, accept)
    kinds = _run_kinds(data, rows, contrast, accept)
    order = pl.col("estimate").round(12)
    ordered = rows.filter(usable).sort(order, PUBLISHED_ENTRY, descending=[chosen.higher_is_better, False])
    return _Published(
        metric=chosen,
        rows=ordered,
        without=rows.filter(~usable).sort(PUBLISHED_ENTRY),
        notes=(*notes, *intended),
        kinds=kinds,
        doubled=doubled,
    )


def _that_can_be_ranked(data: EvalData, rows: pl.DataFrame) -> pl.DataFrame:
    """Keep the metrics that have any uncertainty, so that none is offered that has no answer; refuse where none has."""
    parts = {str(name): rows.filter(benchmark=name) for name in levels_of(rows["benchmark"])}
    names = {metric for name, own in parts.items() for metric in metrics_to_show(data, own, name, None)}
    if len(names) < 2:
        return rows
    known = rows.filter(
        pl.col("metric").is_in(names) & pl.any_horizontal(pl.col("std_error", "conf_low", "n").is_not_null())
    )
    if not known.height:
        raise CannotAnswerError(
            f"{plural(n := rows[PUBLISHED_ENTRY].n_unique(), 'model')} {has_have(n)} published numbers of {len(names)} metrics "
            f"({comma_list(sorted(names), _SHOWN)}), none of them with a standard error or an interval. {_needed()}"
        )
    return rows.filter(pl.col("metric").is_in(known["metric"].implode()))


def _without_noise(rows: pl.DataFrame, usable: pl.Series, metric: Metric) -> str:
    n_models, n_known = rows[PUBLISHED_ENTRY].n_unique(), rows.filter(usable)[PUBLISHED_ENTRY].n_unique()
    ordered = rows.sort("estimate", PUBLISHED_ENTRY, descending=[metric.higher_is_better, False])
    shown = comma_list(
        (f"{name} {score:g}" for name, score in ordered[PUBLISHED_ENTRY, "estimate"].iter_rows()), _SHOWN
    )
    return (
        f"{plural(n_models, 'model')} {has_have(n_models)} a published {metric.name!r} on {metric.benchmark} "
        f"({shown}), {n_known or 'none'} of them with a standard error or an interval. {_needed()}"
    )


def _rows(
    found: _Published,
    asked: RankingOptions,
    families: tuple[PairwiseDifferences, PairwiseDifferences],
    alone: RankSets,
    shrunken: Sequence[float | None],
) -> list[LeaderboardRow]:
    m, estimates, std_errors = len(found.names), found.numbers("estimate"), found.numbers("std_error")
    above, surely = (shown_better(each, asked, m) for each in families)
    letters = compact_letters(above | above.T, np.arange(m))
    low, high = counted_ranks(surely & above)
    ends = best_from_pairs(m, asked, families[1], np.ones(m, dtype=np.bool_))
    best_low, best_high = map(known, stepwise_ends(*ends, low, high))
    reach = normal_quantile(asked.conf_level) * std_errors
    ends = np.clip(np.stack([estimates - reach, estimates + reach]), found.metric.low, found.metric.high)
    counts: list[int | None] = found.rows["n"].to_list()
    errors = ["n" if of_n else "standard error" for of_n in found.rows[FROM_COUNT]]
    runs: list[tuple[str, ...]] = [(run,) if run else () for run in found.rows["run"].to_list()]
    return [
        LeaderboardRow(
            **ranked(
                OpenRanks(
                    part=1,
                    low=int(low[j]),
                    high=int(high[j]),
                    marginal_low=int(max(alone.marginal_low[j], low[j])),
                    marginal_high=int(min(alone.marginal_high[j], high[j])),
                    top=tuple((k, bool(low[j] <= k)) for k in asked.top),
                )
            ),
            name=found.names[j],
            estimate=float(estimates[j]),
            std_error=float(std_errors[j]),
            conf_low=float(ends[0, j]),
            conf_high=float(ends[1, j]),
            conf_level=asked.conf_level,
            method=f"normal, from the published {errors[j]}",
            n_items=counts[j],
            tier=letters[j],
            best_low=best_low[j],
            best_high=best_high[j],
            shrunken=shrunken[j],
            runs=runs[j],
        )
        for j in range(m)
    ]


def _without(row: dict[str, object], metric: Metric) -> LeaderboardRow:
    estimate, run, std_error = row["estimate"], row["run"], row["std_error"]
    lack = "its standard error is not a finite number"
    if not isinstance(std_error, float):
        lack = "no standard error is published"
    elif not std_error:
        lack = "its standard error is published as 0, which says that nothing was left to chance and cannot be believed"
    why = f"{lack}, so no rank in {metric.name} is known"
    return LeaderboardRow(
        name=str(row[PUBLISHED_ENTRY]),
        estimate=float(estimate) if isinstance(estimate, float) else None,
        reason=why,
        rank_reason=why,
        runs=(str(run),) if run else (),
    )


def _left_out(found: _Published) -> list[str]:
    """Name the models without a rank, first those whose score is above all that are ranked."""
    without = found.without
    if not without.height:
        return []
    sign = 1.0 if found.metric.higher_is_better else -1.0
    above = without.filter(sign * pl.col("estimate") > float((sign * found.numbers("estimate")).max()))[
        PUBLISHED_ENTRY
    ].to_list()
    lead = "highest" if found.metric.higher_is_better else "lowest"
    beyond = f"; {and_list(above, 3)} {'has' if len(above) == 1 else 'have'} the {lead} of all scores" if above else ""
    return [f"no usable standard error, and so no rank: {and_list(without[PUBLISHED_ENTRY].to_list(), 3)}{beyond}"]


def _pairs(found: _Published, asked: RankingOptions, pairs: Sequence[tuple[int, int]]) -> PairwiseDifferences:
    """Compare independent normal scores as one family."""
    first, second = np.array(pairs, dtype=np.int64).T
    scores, variances = found.numbers("estimate"), found.numbers("std_error") ** 2
    estimate = scores[first] - scores[second]
    std_error = np.sqrt(variances[first] + variances[second])
    p = np.array([two_sided_normal_p(z) for z in (estimate / std_error).tolist()])
    critical = np.nan
    reach = normal_quantile(1.0 - (1.0 - asked.conf_level) / (len(pairs) if asked.family_wise else 1))
    if asked.adjust == "max-t":
        law = normal_known(scores, np.diag(variances), first, second, seed=asked.seed, n_resamples=_N_DRAWS)
        largest = TwoSided(law.observed)
        collect(law, [largest])
        p_adjusted, critical = largest.p_adjusted(), largest.critical(asked.conf_level)[0]
        reach = critical
    else:
        p_adjusted = adjusted(p, asked.adjust)
    span = np.inf if asked.metric.span is None else asked.metric.span
    return PairwiseDifferences(
        first=first,
        second=second,
        estimate=estimate,
        std_error=std_error,
        df=np.full(len(pairs), np.nan),
        p_value=p,
        p_adjusted=p_adjusted,
        conf_low=np.clip(estimate - reach * std_error, -span, span),
        conf_high=np.clip(estimate + reach * std_error, -span, span),
        n_items=np.zeros(len(pairs), dtype=np.int64),
        n_clusters=None,
        critical=critical,
        conf_level=asked.conf_level,
        method=_METHOD,
        adjust=asked.adjust,
        exact=asked.adjust != "max-t",
        n_resamples=_N_DRAWS if asked.adjust == "max-t" else None,
        seed=asked.seed if asked.adjust == "max-t" else None,
        warnings=(),
    )


# --- one quantity, measured alike ---

# Columns that say what a number is of, and the setting that declares a difference in them as intended.
_OF = {"task": "items", "scenario": "items", "variant": "items", "setting": "lab_or_live"}
_SAME_UNIT = {"%": "percent", "pct": "percent"}


def _check_one_quantity(rows: pl.DataFrame, metric: Metric, contrast: str, accept: Collection[str]) -> tuple[str, ...]:
    """Refuse published numbers of different tasks, scenarios, variants, settings or units; return what was accepted.

    The column of `contrast` may differ. A unit cannot be accepted: a percentage and a proportion are not ordered by their
    numbers.
    """
    accepted = check_settings(accept)
    intended: list[str] = []
    for column in (*_OF, "unit"):
        models: dict[str, list[str]] = {}
        for level, name in rows.select(column, PUBLISHED_ENTRY).iter_rows():
            # A number that does not say its level is of a level of its own.
            text = "not given" if level in (None, "") else str(level)
            models.setdefault(_SAME_UNIT.get(text.lower(), text.lower()) if column == "unit" else text, []).append(name)
        if column == contrast or len(models) < 2:
            continue
        named = (
            f"{level}: {quoted_list(names[:3])}" + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            for level, names in sorted(models.items())
        )
        differ = (
            f"the published {metric.name!r} on {metric.benchmark} differ in {column} ({comma_list(named, 3, '; ')})"
        )
        if column == "unit":
            raise CannotAnswerError(
                f"{differ}: numbers in different units have no order; bring them to one unit, or keep one with "
                f"{Option('published', blank='LEVEL', of='unit')}"
            )
        if _OF[column] not in accepted:
            raise CannotAnswerError(
                f"{differ}, so they are not one quantity and are not ranked; keep one with "
                f"{Option('published', blank='LEVEL', of=column)}, or where the difference is intended, declare it: "
                f"{Option('accept', (_OF[column],))}"
            )
        intended.append(f"{differ}; declared as intended")
    return tuple(intended)


def _run_kinds(data: EvalData, rows: pl.DataFrame, contrast: str, accept: Collection[str]) -> RunKinds | None:
    """Compare what is recorded of the runs behind published numbers, refusing grave differences; None where none is known."""
    if not rows["run"].is_in(data.runs["run"].to_list()).fill_null(value=False).any():
        return None
    systems: list[System] = []
    for row in rows.to_dicts():
        # A published number is the one row of a side, which is what runs are compared by.
        run, name = str(row["run"] or ""), str(row[PUBLISHED_ENTRY])
        shared = {each: row[each] for each in ("model", "benchmark", "task", "variant", "metric", "setting")}
        outcome = {**shared, "run": run, "system": name, "item": "published", "status": "scored"}
        outcomes = frame_from_rows([{**outcome, "score": row["estimate"]}], "outcomes")
        systems.append(System(name=name, rows=outcomes, runs=(run,) if run else ()))
    found = run_kinds(data, systems, contrast=contrast, accept=accept)
    if found.apart:
        raise CannotAnswerError(found.why_apart())
    return found
