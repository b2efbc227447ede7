"""What the comparison page is about: the data it was given, the comparison, and the same question asked otherwise."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from evalstats import datasets
from evalstats.analysis.compare import compare
from evalstats.analysis.results import Comparison
from evalstats.errors import EvalStatsError, InputError
from evalstats.report.handover import read_data
from evalstats.schema.data import EvalData

MOST_SCENARIOS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonPage:
    """A comparison and what the page says around it.

    `alternatives` are the same comparison with clusters that the data hint at and nobody declared, by name of the factor.
    `reproduce` is the call that gives the same result.
    """

    comparison: Comparison
    alternatives: tuple[tuple[str, Comparison], ...] = ()
    engine: str = ""
    rendered: date
    reproduce: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    data: EvalData
    baseline: str
    candidate: str
    metric: str | None
    margin: float | None
    conf_level: float
    contrast: str
    seed: int

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
    margin: float | None = None,
    conf_level: float = 0.95,
    contrast: str = "model",
    seed: int = 0,
    engine: str = "",
    rendered: str = "",
) -> ComparisonPage:
    """Read the data and compare.

    Parameters
    ----------
    store
        Folder of a store or of tables; empty for the shipped data set, so that the page can be rendered as it stands.
    by
        A factor to split by; by itself the scenario, where it has 2 to 20 levels; "none" not to split.
    cluster
        One or several columns.
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.

    Raises
    ------
    EvalStatsError
        Whatever `evalstats.compare` raises.
    """
    data = read_data(store) if store else datasets.tenacious_held_out()
    if not store:
        baseline, candidate = baseline or "baseline", candidate or "trained"
    if not baseline or not candidate:
        message = "the comparison page needs both a baseline and a candidate: a run, a system or a model of the data"
        raise InputError(message)
    clusters = _named(cluster)
    question = _Question(
        data=data,
        baseline=baseline,
        candidate=candidate,
        metric=metric,
        margin=margin,
        conf_level=conf_level,
        contrast=contrast,
        seed=seed,
    )
    comparison = _compared(question, by, clusters)
    return ComparisonPage(
        comparison=comparison,
        alternatives=tuple(_asked_again(question, comparison, clusters)),
        engine=engine,
        rendered=date.fromisoformat(rendered) if rendered else today(),
        reproduce=_call(question, comparison.by, clusters),
    )


def today() -> date:
    """Return the date in UTC, or that of SOURCE_DATE_EPOCH, so that a build can be repeated byte for byte."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return (datetime.fromtimestamp(int(epoch), tz=UTC) if epoch.isdecimal() else datetime.now(tz=UTC)).date()


def _named(cluster: str | Sequence[str] | None) -> tuple[str, ...] | None:
    if not cluster:
        return None
    return (cluster,) if isinstance(cluster, str) else tuple(cluster)


def _compared(question: _Question, by: str | None, clusters: tuple[str, ...] | None) -> Comparison:
    if by == "none":
        return question.answer(cluster=clusters)
    if by:
        return question.answer(by=by, cluster=clusters)
    if 2 <= question.data.outcomes["scenario"].drop_nulls().n_unique() <= MOST_SCENARIOS:
        try:
            return question.answer(by="scenario", cluster=clusters)
        except EvalStatsError:  # the scenario does not describe these items: nobody asked for the split
            return question.answer(cluster=clusters)
    return question.answer(cluster=clusters)


def _asked_again(
    question: _Question, comparison: Comparison, clusters: tuple[str, ...] | None
) -> list[tuple[str, Comparison]]:
    """Repeat the comparison with every factor that was flagged as undeclared dependence taken for clusters."""
    found: list[tuple[str, Comparison]] = []
    for row in comparison.dependence:
        if row.flag == "warn":
            try:
                found.append((row.factor, question.answer(cluster=[*(clusters or ()), row.factor])))
            except EvalStatsError:  # it cannot serve as clusters; the warning itself stands on the page
                continue
    return found


def _call(question: _Question, by: str | None, clusters: tuple[str, ...] | None) -> str:
    options: list[tuple[str, object, object]] = [
        ("metric", question.metric, None),
        ("by", by, None),
        ("cluster", list(clusters) if clusters else None, None),
        ("margin", question.margin, None),
        ("conf_level", question.conf_level, 0.95),
        ("contrast", question.contrast, "model"),
        ("seed", question.seed, 0),
    ]
    given = "".join(f", {name}={value!r}" for name, value, default in options if value != default)
    return f"es.compare(data, {question.baseline!r}, {question.candidate!r}{given})"
