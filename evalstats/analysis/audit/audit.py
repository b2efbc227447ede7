"""Can these numbers be trusted? All checks, with findings ranked by the conclusions that depend on them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from evalstats import options as opt
from evalstats.analysis.audit.answers import multiple_choice
from evalstats.analysis.audit.conclusions import conclusions, ranked
from evalstats.analysis.audit.items import groups_and_drift, near_duplicates, uninformative_items, unlike_levels
from evalstats.analysis.audit.panel import NotChecked, Observation, Panel, panels_of, rows_of_models
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
from evalstats.analysis.provenance import plan_notes, run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.settings import from_here, recorded
from evalstats.document.model import Note
from evalstats.grammar import plural
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, check_settings, settled, with_plan, with_primary
from evalstats.schema.tables import levels_of
from evalstats.stats.computation import one_thread
from evalstats.table.items import FIRST
from evalstats.table.systems import require_outcomes

Check: TypeAlias = Callable[[Panel], Iterable[Observation | NotChecked]]

# The checks, in the order in which they look. To add one, write a function that takes a `Panel` (the rows of one metric, and
# where each stands in the table of items by models) and yields an `Observation` for each thing it sees: its kind (listed in
# `result.KINDS`), a clause on what was found with its number, a clause on what to do, and, where the same rows could defensibly
# be handled otherwise, `Treatment`s: rows to keep (`panel.of_items(items)` makes rows of items), other scores, or other
# clusters. Where the data do not allow the check, it yields `NotChecked` with the reason; where nothing is wrong, nothing.
# What a treatment does to the conclusions is worked out by `conclusions.ranked`, never by the check.
CHECKS: dict[Check, tuple[Kind, ...]] = {
    repeated_rows: ("repeated rows",),
    repeated_runs: ("repeated runs",),
    identical_models: ("identical models",),
    versions: ("versions",),
    scale_oddities: ("scale",),
    failure_codes: ("failure codes",),
    too_small: ("too small",),
    harness_errors: ("harness errors",),
    missing_scores: ("missing scores",),
    judge_failures: ("judge failures",),
    item_sets: ("item sets",),
    run_item_sets: ("item sets",),
    near_duplicates: ("near-duplicate items",),
    unlike_levels: ("average",),
    uninformative_items: ("saturated items", "unsolvable items"),
    multiple_choice: ("wrong keys", "guessed answers", "answer position", "agreement"),
    groups_and_drift: ("dependence", "drift"),
}
# What says more of the same rows, and what it then stands for.
_SAYS_MORE: Mapping[Kind, Kind] = {"guessed answers": "missing scores"}
DEFAULT_LEVEL = 0.95


@one_thread
@recorded
def audit(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    models: opt.Models = None,
    cluster: opt.Cluster = None,
    all_metrics: opt.AllMetrics = False,
    accept: opt.Accept = (),
    conf_level: opt.PlannedLevel = None,
    plan: Plan | None = None,
) -> Audit:
    """Check scores before comparing them, and rank the findings by whether they change a conclusion.

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
    level = DEFAULT_LEVEL if found["conf_level"] is None else found["conf_level"]
    accepted = check_settings(found["accept"] or ())
    rows = rows_of_models(given, models)
    panels = panels_of(
        with_primary(given, plan), rows, metric, found["clusters"], all_metrics=all_metrics, conf_level=level
    )
    looked = [_looked(replace(panel, accept=accepted)) for panel in panels]
    findings = sorted((finding for _, of_metric, _ in looked for finding in of_metric), key=_weight)
    unchecked = [each for *_, of_metric in looked for each in of_metric]
    runs = levels_of(rows["run"])
    n_votes = 0 if given is asked else asked.comparisons.height - given.outcomes.height
    paths = from_here(each.path for each in given.problems)
    lost = f"{plural(n_votes, 'vote')} between models without a common opponent, or without an item, left out"
    return Audit(
        findings=tuple(findings),
        metrics=tuple(audited for audited, *_ in looked),
        passed=_passed(findings, unchecked, len(looked)),
        unchecked=tuple(unchecked),
        conf_level=level,
        origin=Origin(sources=sources_of(given, runs), version=toolkit_version()),
        notes=(
            *run_notes(given, runs),
            *plan_notes(plan),
            *([Note(kind="left_out", text=lost, caution=False)] if n_votes else []),
            # What was met while the files were read, beside what was not.
            *(
                Note(kind="source", text=f"{path}: {each.message}", caution=False)
                for path, each in zip(paths, given.problems, strict=True)
                if each.severity != "error"
            ),
        ),
    )


def _looked(panel: Panel) -> tuple[Audited, list[Finding], list[Unchecked]]:
    """Run all checks on one metric, and draw its conclusions anew under every treatment of what they saw."""
    before = conclusions(panel)
    seen = [each for check in CHECKS for each in check(panel)]
    observed = [each for each in seen if isinstance(each, Observation)]
    # Of two that speak of the same rows, the one that says more stands.
    said = {(_SAYS_MORE[each.kind], each.n_rows) for each in observed if each.kind in _SAYS_MORE}
    findings: list[Finding] = []
    depends = np.zeros(before.verdict.size, dtype=np.bool_)
    for each in observed:
        if (each.kind, each.n_rows) in said:
            continue
        finding, changes = ranked(panel, before, each)
        leads = any(shift.leader_before != shift.leader_after for shift in finding.shifts)
        # That levels differ in size is no fault: it is said where another average answers otherwise.
        if each.kind == "average" and finding.effect != "flips" and not leads:
            continue
        findings.append(finding)
        depends |= changes
    metric = panel.metric
    audited = Audited(
        benchmark=metric.benchmark,
        metric=metric.name,
        n_rows=panel.n_rows,
        n_items=panel.items.height,
        n_models=len(panel.models),
        n_pairs=int(before.compared.sum()),
        n_depend=int(depends.sum()),
        scale=metric.scale,
        unit=metric.shown_unit,
        units=panel.different if panel.different not in {"", "rows"} else "items",
        clusters=panel.clusters,
    )
    not_checked = [each for each in seen if isinstance(each, NotChecked)]
    unchecked = [Unchecked(kind=each.kind, metric=metric.name, reason=each.reason) for each in not_checked]
    return audited, findings, unchecked


def _passed(findings: Sequence[Finding], unchecked: Sequence[Unchecked], n_metrics: int) -> tuple[Kind, ...]:
    """Return what was looked for in some metric, and found in none."""
    kinds: list[Kind] = list(dict.fromkeys(kind for of_check in CHECKS.values() for kind in of_check))
    times = Counter(each.kind for each in unchecked)
    found: set[Kind] = {each.kind for each in findings}
    found |= {_SAYS_MORE[kind] for kind in found if kind in _SAYS_MORE}
    return tuple(kind for kind in kinds if kind not in found and times[kind] < n_metrics)


def _weight(finding: Finding) -> tuple[int, bool, float, float]:
    """Sort flips first: those that turn a verdict round, then those of most comparisons; then what moves most."""
    flips = [flip for each in finding.shifts for flip in each.flips[:1]]
    turned = any({flip.verdict_before, flip.verdict_after} == {"better", "worse"} for flip in flips)
    largest = max((each.largest or 0.0 for each in finding.shifts), default=0.0)
    return EFFECTS.index(finding.effect), not turned, -finding.n_depend, -largest
