"""Do models score higher on items they may have seen? Old against new items, a break at a date, rephrased twins."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, cast, get_args

from evalstats import options as opt
from evalstats.analysis.contamination.cutoff import date_cases
from evalstats.analysis.contamination.items import (
    SOURCE,
    ItemTable,
    Levels,
    SuspectCase,
    as_levels,
    item_table,
    joined,
    split_cases,
)
from evalstats.analysis.contamination.latent_scale import gaps_of
from evalstats.analysis.contamination.result import (
    LATENT,
    METHODS,
    ContaminationCheck,
    ContaminationRow,
    Design,
    Verdict,
)
from evalstats.analysis.contamination.twins import twin_cases, twin_rows
from evalstats.analysis.design.clusters import label_of
from evalstats.analysis.design.metric import margin_in_unit
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Estimate, Origin
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import answered_by_plan, recorded
from evalstats.document.model import Note
from evalstats.document.numbers import number
from evalstats.errors import InputError, Option
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan, scale_given, settled, with_plan
from evalstats.stats.clusters import Dependence, undeclared_dependence
from evalstats.stats.contamination import ReferenceGap
from evalstats.stats.estimate import t_quantile
from evalstats.stats.many.multiplicity import holm
from evalstats.table.systems import require_outcomes

# What a line takes of the gap to the references as it is.
_TAKEN = (
    "estimate", "conf_low", "conf_high", "std_error", "df", "own", "reference", "item_std_error", "item_p_value", "between_sd",
)  # fmt: skip


@record
class DecisionRules:
    """What decides a verdict. `bound` is the largest difference of differences that there can be."""

    conf_level: float
    margin: float | None
    alternative: opt.Alternative
    bound: float | None

    def p(self, found: ReferenceGap) -> float | None:
        """Return the p that decides."""
        return found.p_greater if self.alternative == "greater" else found.p_value


def case_rows(cases: Sequence[SuspectCase], rules: DecisionRules) -> tuple[ContaminationRow, ...]:
    """Return a line for every suspect, p adjusted by Holm over those that have one."""
    lines = [_line(each, rules) for each in cases]
    tested = [place for place, row in enumerate(lines) if row.p_value is not None]
    adjusted = _holm([lines[place] for place in tested])
    in_points = _holm([lines[place].points for place in tested])
    for place, p, by_points in zip(tested, adjusted, in_points, strict=True):
        row = lines[place]
        points = None if row.points is None else replace(row.points, p_adjusted=by_points)
        row = replace(row, p_adjusted=p, points=points)
        verdict, reason = _verdict(row, rules, len(tested))
        lines[place] = replace(row, verdict=verdict, reason=reason)
    return tuple(lines)


def _holm(rows: Sequence[Estimate | None]) -> list[float]:
    p = [1.0 if row is None or row.p_value is None else row.p_value for row in rows]
    return holm(p).tolist() if p else []


def overall(rows: Sequence[ContaminationRow]) -> tuple[Verdict, str]:
    """Return the verdict on all suspects together."""
    if not rows:
        return "invalid", "there is no suspect to judge"
    inflated = [row.model for row in rows if row.verdict == "inflated"]
    if inflated:
        return (
            "inflated",
            f"{len(inflated)} of {len(rows)} suspects score more on old items than clean models would",
        )
    if all(row.verdict == "invalid" for row in rows):
        return "invalid", rows[0].reason
    if all(row.verdict == "clean within the margin" for row in rows):
        return "clean within the margin", "the largest inflation that the data leave possible is below the margin"
    if len(rows) == 1:
        return rows[0].verdict, rows[0].reason
    return "inconclusive", "no inflation is shown, and not every suspect is shown to be clean"


def _line(case: SuspectCase, rules: DecisionRules) -> ContaminationRow:
    row = ContaminationRow(
        model=case.suspect,
        verdict="invalid",
        reason=case.invalid or "",
        estimate=None,
        conf_level=rules.conf_level,
        references=case.references,
        n_old=case.n_old,
        n_new=case.n_new,
        n_left_out=case.n_left_out,
        old_score=case.old_score,
        new_score=case.new_score,
        in_range=case.latent is None or case.latent.in_range,
    )
    if case.contrast is None or case.invalid:
        return row
    gaps = gaps_of(case.scores, case.latent, case.contrast, conf_level=rules.conf_level, bound=rules.bound)
    found = gaps.answer
    # The suspect's own advantage, from items.
    low, high = case.own_ends or (None, None)
    if case.own_ends is None and found.own_std_error is not None:
        reach = t_quantile(rules.conf_level, case.contrast.df) * found.own_std_error
        edge = rules.bound / 2 if rules.bound is not None else float("inf")
        low, high = max(-edge, found.own - reach), min(edge, found.own + reach)
    taken: dict[str, Any] = {name: getattr(found, name) for name in _TAKEN}
    if case.dated is not None:
        taken |= {each.name: getattr(case.dated, each.name) for each in fields(case.dated)}
    return replace(
        row,
        **taken,
        verdict="inconclusive",
        reason=found.reason or "",
        n_clusters=found.n_clusters if case.clustered else None,
        largest=found.conf_high,
        p_value=rules.p(found),
        logits=None if gaps.logits is None else _on_scale(gaps.logits, rules),
        points=_on_scale(gaps.points, rules),
        outside=None if case.latent is None else case.latent.outside,
        own_low=low,
        own_high=high,
    )


def _on_scale(found: ReferenceGap, rules: DecisionRules) -> Estimate:
    taken: dict[str, Any] = {
        name: getattr(found, name)
        for name in ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "df", "reason")
    }
    return Estimate(**taken, p_value=rules.p(found))


def _verdict(row: ContaminationRow, rules: DecisionRules, n_tests: int) -> tuple[Verdict, str]:
    """Judge one line; the margin goes first, since it says what does not matter."""
    if row.estimate is None or row.largest is None or row.p_adjusted is None or row.p_value is None:
        return row.verdict, row.reason
    alpha = 1.0 - rules.conf_level
    shown = row.estimate > 0 and row.p_adjusted <= alpha
    if row.outside is not None:
        return "inconclusive", row.outside
    against = _against(row, alpha, shown=shown)
    if against:
        return "inconclusive", against
    if rules.margin is not None and row.largest < rules.margin:
        return "clean within the margin", "the largest inflation that the data leave possible is below the margin"
    if shown:
        family = f", adjusted for {n_tests} suspects" if n_tests > 1 else ""
        return "inflated", f"its advantage on old items exceeds that of clean models{family}"
    if row.estimate > 0 and row.p_value <= alpha:
        return "inconclusive", f"more than chance alone, but not after adjustment for {n_tests} suspects"
    rest = "no margin is declared" if rules.margin is None else "one beyond the margin is not excluded"
    return "inconclusive", f"no inflation is shown, and {rest}"


def _against(row: ContaminationRow, alpha: float, *, shown: bool) -> str:
    """Return how the answer in points speaks against the one on the scale of abilities; "" where it does not."""
    points = row.points
    if row.logits is None or points is None or points.estimate is None or points.p_adjusted is None:
        return ""
    if not shown and points.estimate > 0 and points.p_adjusted <= alpha:
        return "it gains more points than clean models, and no more than its ability explains: the two scales disagree"
    if shown and row.in_range and points.conf_high is not None and points.conf_high < 0:
        return "it gains more in ability and less in points than clean models that are as good: the two scales disagree"
    return ""


_FEW_REFERENCES = 5
_MUCH_LOST = 0.05
_WORST_FEW_DF = 4.0


def suspicions(cases: Sequence[SuspectCase], table: ItemTable, seed: int) -> tuple[Dependence, ...]:
    """Test whether what is left of the first suspect's differences runs in groups that were not declared."""
    first = next((each for each in cases if each.contrast is not None), None)
    if first is None or table.clusters or not first.groups:
        return ()
    found = undeclared_dependence(first.residuals(), first.groups, seed=seed)
    names = table.board.data.factor_names()
    return tuple(replace(row, factor=label_of(row.factor, names)) for row in found)


def cautions(
    rows: Sequence[ContaminationRow],
    cases: Sequence[SuspectCase],
    table: ItemTable,
    suspected: Sequence[Dependence],
    rules: DecisionRules,
) -> tuple[Note, ...]:
    """Return what a reader must know before using the numbers."""
    lost = [row for row in rows if row.n_left_out > _MUCH_LOST * (row.n_left_out + row.n_old + row.n_new)]
    found: list[Note] = []
    if lost:
        worst = max(lost, key=lambda row: row.n_left_out)
        items = plural(worst.n_left_out, "item")
        text = f"{items} dropped for {worst.model}, since it or a reference has no score there"
        remedy = "The answer is for the others, which may be easier or harder"
        found.append(Note(kind="missing", text=text, remedy=remedy))
    for row in rows:
        if row.df is not None and row.df < min(_WORST_FEW_DF, len(row.references) - 1):
            text = f"The clusters are worth {row.df:.1f} degrees of freedom for {row.model}, so its interval is rough"
            found.append(Note(kind="few", text=text))
    # Of factors by which items behave alike the one with the most levels: coarser ones that it lies within show up as well.
    flagged = [row for row in suspected if row.flag == "warn"]
    main = max(flagged, key=lambda row: (row.n_levels, row.factor), default=None)
    groups: list[Note] = []
    if main is not None:
        text = f"Items of one {main.factor} behave alike (design effect {number(main.design_effect, 1)})"
        groups.append(Note(kind="dependence", text=text, remedy=("Add ", Option("cluster", main.factor))))
    return (
        *_of_references(rows, table),
        *found,
        *_of_scale(rows, table),
        *(note for each in cases for note in each.notes if note.caution),
        *table.board.kinds.refusal(),
        *table.board.kinds.notes("weakens"),
        *groups,
        *(
            [Note(kind="plan", text="The test is one-sided, which holds only if that was declared before looking")]
            if rules.alternative == "greater"
            else []
        ),
    )


def _of_references(rows: Sequence[ContaminationRow], table: ItemTable) -> list[Note]:
    found: list[Note] = []
    if table.references is None:
        text = "No model is named as clean, so exposure that several models share is not detected"
        remedy = ("Name models trained before the items were public: ", Option("references", blank="MODEL"))
        found.append(Note(kind="choice", text=text, remedy=remedy))
    counts = {len(row.references) for row in rows if row.p_value is not None}
    if counts and min(counts) < _FEW_REFERENCES:
        text = f"{min(counts)} references show little of how clean models differ, so intervals are wide"
        found.append(Note(kind="few", text=text, remedy="A further reference helps more than further items"))
    return found


def _of_scale(rows: Sequence[ContaminationRow], table: ItemTable) -> list[Note]:
    """Warn of comparisons that rest on the form of a scale."""
    if table.compared == "points":
        text = f"Models are compared in points, where weak and strong ones gain different amounts ({table.compared_reason})"
        return [Note(kind="scale", text=text, remedy="Take references that score about as well")]
    beyond = [row.model for row in rows if not row.in_range and row.outside is None and row.p_value is not None]
    if not beyond:
        return []
    who, their = ("scores", "its") if len(beyond) == 1 else ("score", "their")
    text = f"{and_list(beyond)} {who} outside the range of {their} references, so the answer rests on the logit scale"
    return [Note(kind="scale", text=text, remedy="Take references that score about as well")]


DEFAULT_LEVEL = 0.95


@recorded
def contamination(
    data: EvalData | object,
    *,
    split: opt.Split = None,
    old: opt.Old = None,
    new: opt.New = None,
    date: opt.Date = None,
    twin: opt.Twin = None,
    suspects: opt.Suspects = None,
    references: opt.References = None,
    cutoffs: opt.Cutoffs = None,
    metric: opt.Metric = None,
    higher_is_better: opt.HigherIsBetter = None,
    cluster: opt.Cluster = None,
    margin: opt.InflationMargin = None,
    conf_level: opt.PlannedLevel = None,
    alternative: opt.AlternativeIs = "two-sided",
    scale: opt.InflationOn = "auto",
    accept: opt.Accept = (),
    plan: Plan | None = None,
    seed: opt.Seed = 0,
) -> ContaminationCheck:
    """Test whether models score higher on items they may have seen, beyond differences in difficulty.

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
    scale
        On what models are compared. "latent": abilities on the logit scale, which models of unlike strength need; "points":
        plain differences. By default abilities, where scores are right or wrong or shares of trials, else points.
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
    rephrased, of a model's ability (Rasch, from pairs of models on the items that one of them solves) or of its score. A
    suspect's inflation is D less the mean D of R references, with variance Var_items + s^2 (1 + 1/R), s the spread between
    references beyond item noise, and Student's t with R - 1 degrees of freedom, or more where most of the error is the suspect's
    own item noise. Ability is told in points at the suspect's own score on old items, with the plain difference in points beside
    it. With fewer than three references it is described and not judged. Items alone would find an inflation in up to 40% of
    the clean models; points alone in 40 to 97% of those that are much stronger or weaker than their references.

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
    >>> found.verdict, round(found.row("suspect").df, 1)
    ('inflated', 16.3)
    """
    designs: dict[Design, str | None] = {"split": split, "date": date, "twins": twin}
    named: list[tuple[Design, str]] = [(name, each) for name, each in designs.items() if each is not None]
    if len(named) != 1:
        have = " and ".join(name for name, _ in named) or "none of them"
        one = f"{Option('split')}, {Option('date')} and {Option('twin')}"
        raise InputError(f"give exactly one of {one}; found {have}")
    design, column = named[0]
    _check_options(design, cutoffs=cutoffs, sides=(old, new))
    data = as_data(data)
    data.need_rows("a check for contamination")
    data = data if plan is None else with_plan(data, plan)
    data = data.with_metric(metric, higher_is_better=higher_is_better)
    require_outcomes(data)
    place = data.factor(column)
    if design == "split" and place == "benchmark" and data.outcomes["benchmark"].n_unique() > 1:
        data, place = joined(data, old, new), SOURCE
    benchmarks = data.outcomes["benchmark"].unique().to_list()
    benchmark = str(benchmarks[0]) if len(benchmarks) == 1 else ""
    asked_metric = metric or (plan.primary_for(benchmark) if plan is not None else None)
    given = {"margin": margin, "conf_level": conf_level, "clusters": [cluster] if isinstance(cluster, str) else cluster}
    given |= scale_given(plan, scale, get_args(opt.InflationScale))
    found = settled(plan, benchmark=benchmark, metric=asked_metric or "", accept=list(accept) or None, **given)
    level = DEFAULT_LEVEL if found["conf_level"] is None else cast("float", found["conf_level"])
    wanted: dict[str, Any] = {
        "metric": asked_metric,
        "suspects": as_levels(suspects),
        "references": as_levels(references),
        "cluster": found["clusters"],
        "accept": found["accept"] or (),
        "scale": found.get("scale") or scale,
    }
    if design == "twins":
        rows, sides, notes = twin_rows(data, place, column, old, new)
        table = item_table(rows, place, **wanted, paired=True)
        cases, more = twin_cases(rows, table, level, seed)
        notes = (*notes, *more)
    else:
        table = item_table(data, place, **wanted)
        cases, sides, notes = (
            split_cases(table, place, column, old, new)
            if design == "split"
            else date_cases(table, place, column, cutoffs or {}, level)
        )
    span = table.metric.span
    rules = DecisionRules(
        conf_level=level,
        margin=margin_in_unit(cast("float | str | None", found["margin"]), table.metric),
        alternative=alternative,
        bound=None if span is None else 2.0 * span,
    )
    lines, suspected = case_rows(cases, rules), suspicions(cases, table, seed)
    result = _result(table, lines, rules, design=design, column=column, sides=sides, suspected=suspected)
    result = replace(
        result,
        origin=Origin(sources=sources_of(data, table.board.runs), version=toolkit_version(), seed=seed),
        notes=(
            *run_notes(data, table.board.runs),
            *table.metric.cautions,
            *cautions(lines, cases, table, suspected, rules),
            *as_notes("choice", (*notes, *table.notes), caution=False),
            *table.board.kinds.notes("note"),
            *(note for each in cases for note in each.notes if not note.caution),
        ),
    )
    if plan is None:
        return result
    return answered_by_plan(result, plan, benchmark=result.benchmark, metric=result.metric, span=span, **given)


def _check_options(design: Design, *, cutoffs: object, sides: tuple[Levels, Levels]) -> None:
    if design == "date" and not (cutoffs and isinstance(cutoffs, Mapping)):
        raise InputError(
            f"a break at a date needs the suspects' cut-offs: {Option('cutoffs', str(cutoffs or '2024-03-01'), of='MODEL')}"
        )
    if design != "date" and cutoffs:
        raise InputError("cut-offs go with date; old and new levels go with split and twin")
    if design == "date" and any(each is not None for each in sides):
        raise InputError("old and new go with split and twin; with date the cut-off divides the items")


def _result(
    table: ItemTable,
    rows: tuple[ContaminationRow, ...],
    rules: DecisionRules,
    *,
    design: Design,
    column: str,
    sides: tuple[str, str],
    suspected: tuple[Dependence, ...],
) -> ContaminationCheck:
    (verdict, reason), metric = overall(rows), table.metric
    units = " and ".join(table.labels) or "items"
    what = {
        "split": f"mean score on {sides[0]} minus {sides[1]} items of {column}",
        "date": f"jump of the mean score at the model's cut-off, before minus after, by {column}",
        "twins": f"mean score on {sides[0]} items minus their {sides[1]} twins",
    }[design]
    return ContaminationCheck(
        design=design,
        column=column,
        old=sides[0],
        new=sides[1],
        verdict=verdict,
        reason=reason,
        about=metric.facts,
        conf_level=rules.conf_level,
        margin=rules.margin,
        alternative=rules.alternative,
        compared=table.compared,
        compared_reason=table.compared_reason,
        rows=rows,
        suspects=table.suspects if table.named else (),
        references=table.references or (),
        method=METHODS[design] if table.compared == "points" else f"{METHODS[design]}; {LATENT}",
        estimand=f"{what}, beyond the mean of clean models, for new {units} and models like these",
        clusters=table.labels,
        dependence=suspected,
    )
