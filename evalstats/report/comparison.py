"""What the comparison page is about: the data it was given, the comparison, and the same question asked otherwise."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from evalstats import datasets
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.grouping import without_clusters
from evalstats.errors import EvalStatsError, InputError
from evalstats.loaders.plan_file import read_plan
from evalstats.report.again import SHIPPED, code_again, plan_again
from evalstats.report.handover import read_data
from evalstats.report.names import page_names, with_names
from evalstats.report.notes import with_attributed_notes
from evalstats.report.opened import files_of, names_given, reading_of, shown_day
from evalstats.report.split import SCENARIO, lies_within_clusters, scenario_name, splits_by_itself
from evalstats.schema.data import EvalData
from evalstats.schema.plan import Plan, with_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """A comparison and what the page says around it.

    Attributes
    ----------
    comparison
        Names in it are as the page shows them: long ones shortened.
    alternatives
        The same comparison with clusters that the data hint at and nobody declared, by name of the factor.
    reproduce
        Code that gives the same result.
    full_names
        Shortened names of `comparison` (baseline, candidate, benchmark) with what they stand for.
    scenario
        The source's own name of the scenario.
    split_by_itself
        Whether nobody asked for the split by scenario.
    files
        Name of the file of every run.
    """

    comparison: Comparison
    alternatives: tuple[tuple[str, Comparison], ...] = ()
    engine: str = ""
    rendered: date
    reproduce: str = ""
    full_names: tuple[tuple[str, str], ...] = ()
    scenario: str = SCENARIO
    split_by_itself: bool = False
    files: tuple[tuple[str, str], ...] = ()

    @property
    def refused(self) -> bool:
        """Whether the runs differ in something that forbids a comparison."""
        return any(each.severity == "invalid" for each in self.comparison.run_differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    data: EvalData
    baseline: str
    candidate: str
    metric: str | None
    margin: float | str | None
    conf_level: float | None
    contrast: str
    pass_hat: int | None
    pass_at: int | None
    sequential: bool
    planned_n: int | None
    accept: tuple[str, ...]
    missing: str | None
    plan: Plan | None
    seed: int

    @property
    def splits_by_itself(self) -> bool:
        """Whether the page may split by scenario unasked: a plan says itself what is split, a watched run is not."""
        return self.plan is None and not self.sequential and splits_by_itself(self.data)

    def answer(self, *, by: str | None = None, cluster: Sequence[str] | None = None) -> Comparison:
        return compare(
            self.data,
            self.baseline,
            self.candidate,
            metric=self.metric,
            by=by,
            cluster=cluster,
            margin=self.margin,
            conf_level=self.conf_level,
            contrast=self.contrast,
            pass_hat=self.pass_hat,
            pass_at=self.pass_at,
            sequential=self.sequential,
            planned_n=self.planned_n,
            accept=self.accept,
            missing=self.missing,
            plan=self.plan,
            seed=self.seed,
        )


def open_page(
    *,
    store: str = "",
    baseline: str = "",
    candidate: str = "",
    metric: str | None = None,
    by: str | None = None,
    cluster: str | Sequence[str] | None = None,
    margin: float | str | None = None,
    conf_level: float | None = None,
    contrast: str = "model",
    pass_hat: int | None = None,
    pass_at: int | None = None,
    sequential: bool = False,
    planned_n: int | None = None,
    accept: str | Sequence[str] | None = None,
    missing: str | None = None,
    plan: str | Path | None = None,
    seed: int = 0,
    reading: str = "",
    engine: str = "",
    rendered: str = "",
) -> ComparisonPage:
    """Read the data and compare.

    Parameters
    ----------
    store
        Folder of a store or of tables; empty for the shipped data set, so that the page can be rendered as it stands.
    by
        A factor to split by; by itself what the plan declares, or, without a plan, the scenario, where it has 2 to 20 levels
        and does not lie within clusters; "none" not to split.
    cluster
        One or several columns.
    accept
        One or several settings in which the runs differ on purpose.
    plan
        Path of an `evalstats.toml`.
    reading
        Python expression that reads the data, for the code that repeats the comparison.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.compare` raises.
    """
    data = read_data(store) if store else datasets.tenacious_held_out()
    declared = read_plan(plan) if plan else None
    if declared is not None:
        data, baseline = with_plan(data, declared), baseline or declared.baseline or ""
    if not store:
        baseline, candidate = baseline or "baseline", candidate or "trained"
    if not baseline or not candidate:
        message = "the comparison page needs both a baseline and a candidate: a run, a system or a model of the data"
        raise InputError(message)
    clusters = names_given(cluster)
    question = _Question(
        data=data,
        baseline=baseline,
        candidate=candidate,
        metric=metric,
        margin=margin,
        conf_level=conf_level,
        contrast=contrast,
        pass_hat=pass_hat,
        pass_at=pass_at,
        sequential=sequential,
        planned_n=planned_n,
        accept=names_given(accept) or (),
        missing=missing,
        plan=declared,
        seed=seed,
    )
    result, split_by_itself = _compared(question, by, clusters)
    result = with_attributed_notes(result, data.runs)
    names = page_names(result)
    return ComparisonPage(
        comparison=with_names(result, names),
        alternatives=tuple(_asked_again(question, result, clusters)),
        engine=engine,
        rendered=shown_day(rendered),
        reproduce=code_again(
            data, result, _options(question, result.by, clusters, plan), reading=reading_of(store, reading) or SHIPPED
        ),
        full_names=tuple((short, name) for name, short in names.items()),
        scenario=scenario_name(data),
        split_by_itself=split_by_itself,
        files=files_of(data),
    )


def _compared(question: _Question, by: str | None, clusters: tuple[str, ...] | None) -> tuple[Comparison, bool]:
    """Compare; the second value says whether the page split by scenario without being asked."""
    if by == "none":
        # A plan's own family would be split by without being asked.
        return replace(question.answer(cluster=clusters), by=None, groups=()), False
    if by:
        return question.answer(by=by, cluster=clusters), False
    if not question.splits_by_itself:
        return question.answer(cluster=clusters), False
    try:
        result = question.answer(by=scenario_name(question.data), cluster=clusters)
    except EvalStatsError:  # the scenario does not describe these items: nobody asked for the split
        return question.answer(cluster=clusters), False
    if lies_within_clusters(question.data, result):
        return replace(result, by=None, groups=()), False
    return result, True


def _asked_again(
    question: _Question, comparison: Comparison, clusters: tuple[str, ...] | None
) -> list[tuple[str, Comparison]]:
    """Repeat the comparison with every factor that was flagged as undeclared dependence taken for clusters."""
    if without_clusters(clusters):
        return []
    found: list[tuple[str, Comparison]] = []
    for row in comparison.dependence:
        if row.flag == "warn":
            try:
                found.append((row.factor, question.answer(cluster=[*(clusters or ()), row.factor])))
            except EvalStatsError:  # it cannot serve as clusters; the warning itself stands on the page
                continue
    return found


def _options(
    question: _Question, by: str | None, clusters: tuple[str, ...] | None, plan: str | Path | None
) -> tuple[tuple[str, object, object], ...]:
    """Return the further arguments of the comparison: name, value, default."""
    # What the plan declares by itself is not said again: then it would be given, and not declared.
    declared = () if question.plan is None else question.plan.families
    return (
        ("metric", question.metric, None),
        ("by", None if declared == (by,) else by, None),
        ("cluster", list(clusters) if clusters else None, None),
        ("margin", question.margin, None),
        ("conf_level", question.conf_level, None),
        ("contrast", question.contrast, "model"),
        ("pass_hat", question.pass_hat, None),
        ("pass_at", question.pass_at, None),
        ("sequential", question.sequential, False),
        ("planned_n", question.planned_n, None),
        ("accept", list(question.accept), []),
        ("missing", question.missing, None),
        ("plan", plan_again(plan), None),
        ("seed", question.seed, 0),
    )
