"""Can these numbers be trusted? Every check of the tuple, its findings ranked by the conclusions that hang on them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from evalstats.analysis.audit.answers import multiple_choice
from evalstats.analysis.audit.conclusions import Conclusions, conclusions, ranked
from evalstats.analysis.audit.items import groups_and_drift, near_duplicates, uninformative_items, unlike_levels
from evalstats.analysis.audit.panel import Check, NotChecked, Observation, Panel
from evalstats.analysis.audit.result import EFFECTS, Audit, Audited, Finding, Kind, Unchecked
from evalstats.analysis.audit.runs import identical_models, repeated_rows, repeated_runs, too_small, versions
from evalstats.analysis.audit.scores import (
    failure_codes,
    harness_errors,
    item_sets,
    judge_failures,
    missing_scores,
    run_item_sets,
    scale_oddities,
)
from evalstats.analysis.audit.votes import with_scores_of_votes
from evalstats.analysis.design.clusters import named_clusters
from evalstats.analysis.design.entries import ENTRY, with_entries
from evalstats.analysis.design.metric import Metric, choose_metric, direction_of
from evalstats.analysis.provenance import plan_notes, run_notes, sources_of, toolkit_version
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.names import unknown_name
from evalstats.schema.plan import Plan, check_settings, settled, with_plan, with_primary
from evalstats.schema.tables import levels_of, parts_of
from evalstats.stats.checks import check_level
from evalstats.stats.computation import one_thread
from evalstats.table.items import FIRST, ITEM_KEY, Ints, constant_factors, item_codes, level_codes
from evalstats.table.systems import require_outcomes, rows_among
from evalstats.table.trial_sets import row_counts

# The checks, in the order in which they look. To add one, write a function that takes a `Panel` (the rows of one metric, and
# where each stands in the table of items by models) and yields an `Observation` for each thing it sees: its kind (listed in
# `result.KINDS`), a clause on what was found with its number, a clause on what to do, and, where the same rows could defensibly
# be handled otherwise, `Treatment`s: rows to keep (`panel.of_items(items)` makes rows of items), other scores, or other
# clusters. Where the data do not allow the check, it yields `NotChecked` with the reason; where nothing is wrong, nothing.
# What a treatment does to the conclusions is worked out by `conclusions.ranked`, never by the check.
CHECKS: tuple[Check, ...] = (
    Check(kinds=("repeated rows",), look=repeated_rows),
    Check(kinds=("repeated runs",), look=repeated_runs),
    Check(kinds=("identical models",), look=identical_models),
    Check(kinds=("versions",), look=versions),
    Check(kinds=("scale",), look=scale_oddities),
    Check(kinds=("failure codes",), look=failure_codes),
    Check(kinds=("too small",), look=too_small),
    Check(kinds=("harness errors",), look=harness_errors),
    Check(kinds=("missing scores",), look=missing_scores),
    Check(kinds=("judge failures",), look=judge_failures),
    Check(kinds=("item sets",), look=item_sets),
    Check(kinds=("item sets",), look=run_item_sets),
    Check(kinds=("near-duplicate items",), look=near_duplicates),
    Check(kinds=("average",), look=unlike_levels),
    Check(kinds=("saturated items", "unsolvable items"), look=uninformative_items),
    Check(kinds=("wrong keys", "guessed answers", "answer position", "agreement"), look=multiple_choice),
    Check(kinds=("dependence", "drift"), look=groups_and_drift),
)


DEFAULT_LEVEL = 0.95


@one_thread
@recorded
def audit(
    data: EvalData | object,
    *,
    metric: str | None = None,
    models: Sequence[str] | None = None,
    cluster: str | Sequence[str] | None = None,
    all_metrics: bool = False,
    accept: Sequence[str] = (),
    conf_level: float | None = None,
    plan: Plan | None = None,
) -> Audit:
    """Say what is doubtful about scores before anybody compares them, ranked by whether it changes a conclusion.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns. Votes against
        one opponent count as scores.
    metric
        The score to look at; by itself every benchmark's headline, or all its metrics where it declares none.
    models
        Systems to keep; None for all.
    cluster
        Column whose levels make items dependent, in place of those that the data declare; "none" for none.
    all_metrics
        Look at every metric.
    accept
        Settings in which the runs differ on purpose, such as "judge".
    conf_level
        Level of the intervals; 0.95 where neither it nor a plan says otherwise.
    plan
        What was declared before looking: metrics, clusters, settings and the level, wherever they are not given here.

    Returns
    -------
    Audit
        The findings. The conclusions are the verdicts on all pairs of models, each by its own paired interval. Where the rows
        of a finding could defensibly be handled otherwise, the conclusions are drawn again, and what flips is named.

    Raises
    ------
    InputError
        If a name or column is unknown.
    CannotAnswerError
        If there are no scores of single items.

    Examples
    --------
    >>> import evalstats as es
    >>> rows = {"item": [*range(60)] * 2, "model": ["a"] * 60 + ["b"] * 60}
    >>> rows["score"] = [float(i % 3 > 0) for i in range(59)] + [None] + [float(i % 7 > 4) for i in range(60)]
    >>> found = es.audit(es.from_frame(rows, item="item", model="model", score="score"))
    >>> [(each.kind, each.effect) for each in found.findings]
    [('missing scores', 'moves')]
    """
    asked = as_data(data) if plan is None else with_plan(as_data(data), plan)
    if FIRST not in asked.outcomes.columns:  # a large store merges its rows so that nothing that is looked at is lost
        asked.need_rows("an audit")
    given = with_scores_of_votes(asked)
    require_outcomes(given, *(models or ()))
    found: dict[str, Any] = settled(
        plan,
        clusters=cluster,
        accept=list((accept,) if isinstance(accept, str) else accept) or None,
        conf_level=conf_level,
    )
    level = check_level(DEFAULT_LEVEL if found["conf_level"] is None else found["conf_level"])
    accepted = check_settings(found["accept"] or ())
    rows = _kept(given, models)
    declared = with_primary(given, plan)
    panels = _panels(declared, rows, metric, found["clusters"], all_metrics=all_metrics, conf_level=level)
    looked = [_looked(replace(panel, accept=accepted)) for panel in panels]
    findings = sorted((finding for each in looked for finding in each.findings), key=_weight)
    unchecked = [each for one in looked for each in one.unchecked]
    runs = levels_of(rows["run"])
    return Audit(
        findings=tuple(findings),
        metrics=tuple(each.audited for each in looked),
        passed=_passed(findings, unchecked, len(looked)),
        unchecked=tuple(unchecked),
        conf_level=level,
        version=toolkit_version(),
        sources=sources_of(given, runs),
        notes=(*run_notes(given, runs), *plan_notes(plan), *_votes_left_out(asked, given), *_of_the_files(given)),
    )


@dataclass(frozen=True, kw_only=True)
class _Looked:
    """What came of one metric."""

    audited: Audited
    findings: tuple[Finding, ...]
    unchecked: tuple[Unchecked, ...]


def _looked(panel: Panel) -> _Looked:
    before = conclusions(panel)
    seen = _observed(panel)
    judged = [ranked(panel, before, each) for each in seen if isinstance(each, Observation)]
    # That levels differ in size is no fault: it is said where another average answers otherwise.
    judged = [each for each in judged if each.finding.kind != "average" or _changes(each.finding)]
    depends = np.zeros(before.verdict.size, dtype=np.bool_)
    for each in judged:
        depends |= each.depends
    name = panel.metric.name
    return _Looked(
        audited=_audited(panel, before, int(depends.sum())),
        findings=tuple(each.finding for each in judged),
        unchecked=tuple(
            Unchecked(kind=each.kind, metric=name, reason=each.reason) for each in seen if isinstance(each, NotChecked)
        ),
    )


def _passed(findings: Sequence[Finding], unchecked: Sequence[Unchecked], n_metrics: int) -> tuple[Kind, ...]:
    """Return what was looked for in some metric, and found in none."""
    kinds: list[Kind] = list(dict.fromkeys(kind for check in CHECKS for kind in check.kinds))
    times = Counter(each.kind for each in unchecked)
    found: set[Kind] = {each.kind for each in findings}
    found |= {_SAYS_MORE[kind] for kind in found if kind in _SAYS_MORE}
    return tuple(kind for kind in kinds if kind not in found and times[kind] < n_metrics)


def _votes_left_out(asked: EvalData, given: EvalData) -> tuple[Note, ...]:
    n = 0 if given is asked else asked.comparisons.height - given.outcomes.height
    text = f"{plural(n, 'vote')} between models without a common opponent, or without an item, left out"
    return (Note(kind="left_out", text=text, caution=False),) if n else ()


def _of_the_files(data: EvalData) -> tuple[Note, ...]:
    """Return what was met while the files were read."""
    return tuple(Note(kind="source", text=str(each), caution=False) for each in data.problems)


# What says more of the same rows, and what it then stands for.
_SAYS_MORE: Mapping[Kind, Kind] = {"guessed answers": "missing scores"}


def _observed(panel: Panel) -> list[Observation | NotChecked]:
    """Run all checks; of two that speak of the same rows, the one that says more stands."""
    seen = [each for check in CHECKS for each in check.look(panel)]
    told = {
        (_SAYS_MORE[each.kind], each.n_rows)
        for each in seen
        if isinstance(each, Observation) and each.kind in _SAYS_MORE
    }
    return [each for each in seen if isinstance(each, NotChecked) or (each.kind, each.n_rows) not in told]


def _weight(finding: Finding) -> tuple[int, bool, float, float]:
    """Sort flips first: those that turn a verdict round, then those of most comparisons; then what moves most."""
    flips = [flip for each in finding.shifts for flip in each.flips[:1]]
    turned = any({flip.verdict_before, flip.verdict_after} == {"better", "worse"} for flip in flips)
    largest = max((each.largest or 0.0 for each in finding.shifts), default=0.0)
    return EFFECTS.index(finding.effect), not turned, -finding.n_depend, -largest


def _changes(finding: Finding) -> bool:
    """Whether a treatment changes a verdict or who leads."""
    return finding.effect == "flips" or any(each.leader_before != each.leader_after for each in finding.shifts)


def _audited(panel: Panel, before: Conclusions, n_depend: int) -> Audited:
    metric = panel.metric
    return Audited(
        benchmark=metric.benchmark,
        metric=metric.name,
        n_rows=panel.n_rows,
        n_items=panel.items.height,
        n_models=len(panel.models),
        n_pairs=int(before.compared.sum()),
        n_depend=n_depend,
        scale=metric.scale,
        unit=metric.shown_unit,
        clusters=panel.clusters,
    )


# --- the rows of every metric ---


def _kept(data: EvalData, models: Sequence[str] | None) -> pl.DataFrame:
    """Return the outcomes with the name of the system that each is of, of some systems or all."""
    rows = with_entries(data.outcomes, "model")[0]
    known = rows[ENTRY].unique().sort().to_list()
    for name in models or ():
        if name not in known:
            raise InputError(unknown_name(name, known))
    return rows if models is None else rows.filter(pl.col(ENTRY).is_in(list(models)))


def _panels(
    data: EvalData,
    rows: pl.DataFrame,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    *,
    all_metrics: bool,
    conf_level: float,
) -> Iterator[Panel]:
    chosen = _metrics(data, rows, metric, all_metrics=all_metrics)
    for benchmark, name in chosen:
        own = rows_among(rows, (rows["benchmark"] == benchmark) & (rows["metric"] == name))
        yield _panel(data, own, benchmark, name, cluster, conf_level)


def _metrics(data: EvalData, rows: pl.DataFrame, metric: str | None, *, all_metrics: bool) -> list[tuple[str, str]]:
    """Return the metrics to look at: the one that was named, else the headline of each benchmark, else all."""
    there = rows.select("benchmark", "metric").unique().cast(pl.String).sort("benchmark", "metric")
    if metric is not None:
        found = there.filter(pl.col("metric") == metric)
        if not found.height:
            raise InputError(unknown_name(metric, levels_of(there["metric"]), what="metric"))
        return found.rows()
    if all_metrics:
        return there.rows()
    primary = data.metrics.filter(pl.col("primary")).select("benchmark", "metric").unique()
    heads = there.join(primary, on=["benchmark", "metric"], how="semi")
    headless = there.join(heads.select("benchmark").unique(), on="benchmark", how="anti")
    return pl.concat([heads, headless]).sort("benchmark", "metric").rows()


def _panel(  # noqa: PLR0917 - what names the rows of a metric, and how they are looked at
    data: EvalData,
    rows: pl.DataFrame,
    benchmark: str,
    name: str,
    cluster: str | Sequence[str] | None,
    conf_level: float,
) -> Panel:
    described, refusal = _described(data, rows, benchmark, name)
    place, first = item_codes(rows)
    items = rows.select(ITEM_KEY)[first]
    models, model = level_codes(rows[ENTRY])
    names, codes = _clusters(data, rows, items, cluster)
    return Panel(
        data=data,
        metric=described,
        rows=rows,
        models=tuple(models),
        items=items,
        item=place.astype(np.int64),
        model=model.astype(np.int64),
        score=rows["score"].to_numpy(),
        trials=_trials(rows),
        counts=row_counts(rows),
        clusters=names,
        codes=codes,
        refusal=refusal,
        conf_level=conf_level,
    )


def _trials(rows: pl.DataFrame) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return how many trials a row stands for: more than one where only their average is known."""
    averaged = pl.when(pl.col("trial").is_null()).then(pl.col("n_trials").fill_null(1)).otherwise(1)
    return rows.select(averaged.cast(pl.Float64)).to_series().to_numpy()


def _described(data: EvalData, rows: pl.DataFrame, benchmark: str, name: str) -> tuple[Metric, str | None]:
    """Return the metric, and why a comparison would refuse it, if it would."""
    try:
        return choose_metric(data, rows, name), None
    except (InputError, CannotAnswerError) as error:
        found = data.metrics.filter((pl.col("benchmark") == benchmark) & (pl.col("metric") == name)).to_dicts()
        declared = found[0] if found else {}
        better, direction = direction_of(name, declared=declared.get("higher_is_better"))
        metric = Metric(
            benchmark=benchmark,
            name=name,
            kind=str(declared.get("kind") or "continuous"),
            low=declared.get("low"),
            high=declared.get("high"),
            higher_is_better=better,
            unit=str(declared.get("unit") or ""),
            direction=direction,
        )
        return metric, str(error)


def _clusters(
    data: EvalData, rows: pl.DataFrame, items: pl.DataFrame, cluster: str | Sequence[str] | None
) -> tuple[tuple[str, ...], Ints | None]:
    """Return the columns by which items are known to be dependent, and every item's cluster by the coarsest of them."""
    named = named_clusters(data, cluster)
    if not named and cluster is None:
        declared = parts_of(data.rows_of_runs(rows["run"].unique())["dependence"])
        named = [each for each in declared if each in rows.columns]
    found = constant_factors(rows, [each for each in named if each not in ITEM_KEY])
    levels = {name: found[name] for name in named if found[name].null_count() == 0}
    if not levels and cluster is None and items["item"].n_unique() < items.select("task", "item", "variant").height:
        # Versions of one item are dependent by what they are.
        whole = items.select(pl.concat_str("task", "item", separator="\x1f")).to_series()
        levels = {"item": whole} if whole.n_unique() < items.height else {}
    coarsest = min(levels, key=lambda name: levels[name].n_unique(), default=None)
    if coarsest is None:
        return (), None
    codes = levels[coarsest].rank("dense").cast(pl.Int64).to_numpy() - 1
    return (coarsest,), codes.astype(np.int64)
