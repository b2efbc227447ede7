"""Answer every question that the data of a store allow, with default options."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from evalstats import options as opt
from evalstats.analysis.arena.arena import arena
from evalstats.analysis.audit.audit import audit
from evalstats.analysis.audit.result import Audit
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.contamination.contamination import contamination
from evalstats.analysis.frontier.frontier import frontier
from evalstats.analysis.gap.gap import gap
from evalstats.analysis.judges.judges import judges
from evalstats.analysis.leaderboard.leaderboard import leaderboard
from evalstats.analysis.leaderboard.published import keep_published
from evalstats.analysis.overview.changes import changes, no_changes
from evalstats.analysis.overview.result import Answer, Held, Holding, Overview, Refusal
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin, Result
from evalstats.analysis.scenarios.scenarios import scenarios
from evalstats.analysis.score.score import score
from evalstats.analysis.settings import asked_of_part, recorded
from evalstats.errors import CannotAnswerError, EvalStatsError, InputError
from evalstats.grammar import plural
from evalstats.questions import QUESTIONS
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.schema.plan import Plan
from evalstats.table.systems import only_two

OnStep = Callable[[str], None]
# More benchmarks than these are not asked one by one: nobody reads so many cards, and each has questions of its own.
MOST_BENCHMARKS = 6
# Beyond these, a question takes minutes: it is left to its own command, which shows how far it is.
MOST_SYSTEMS = 40
MOST_CELLS = 400
_DEFAULT_LEVEL = 0.95
_CHANGES = "changes"
_ORDER = (*QUESTIONS, _CHANGES)


@record
class _Question:
    """A question of all the data, or of one benchmark: how it is asked, or why the data do not allow it."""

    name: str
    benchmark: str = ""
    ask: Callable[[], Result] | None = None
    reason: str = ""


@record
class _Asked:
    """What every question is given."""

    conf_level: float | None
    seed: int
    plan: Plan | None
    watched: Mapping[str, Any]

    @property
    def planned(self) -> dict[str, Any]:
        """Options of questions that a plan may settle."""
        return {"conf_level": self.conf_level, "plan": self.plan}

    @property
    def level(self) -> float:
        """The level for questions that take no plan."""
        return _DEFAULT_LEVEL if self.conf_level is None else self.conf_level


@recorded
def overview(
    data: EvalData | object,
    *,
    metric: opt.Metric = None,
    models: opt.Models = None,
    cluster: opt.RunCluster = None,
    since: opt.Since = None,
    accept: opt.Accept = (),
    conf_level: opt.PlannedLevel = None,
    plan: Plan | None = None,
    seed: opt.Seed = 0,
    on_step: OnStep | None = None,
) -> Overview:
    """Answer every question that the data allow, with default options, and say why the others have no answer.

    Parameters
    ----------
    data
        What `evalstats.read`, `from_frame` or a store gave; or any table of outcomes with the glossary's columns.
    metric, models
        Of changes from run to run: the score to watch, by itself the headline of each benchmark, and the models to keep.
    cluster
        Of changes: a column whose levels move together within a run, such as an environment or a session. Items that merely
        share a passage do not: it is the same on both sides.
    since
        Of changes: a day, as 2026-01-31; later runs are compared with all runs up to it. By default every day is tried.
    accept
        Of changes: settings in which the runs differ on purpose, so that days before and after are compared all the same.
    conf_level
        Level of all intervals; 0.95 where neither it nor a plan says otherwise.
    plan
        What was declared before looking; questions that take a plan obey it.
    seed
        For all that is drawn.
    on_step
        Called with the name of each question before it is asked.

    Returns
    -------
    Overview
        What the data hold, the result of every allowed question, and the reason for each that is not.

    Raises
    ------
    CannotAnswerError
        If the data hold nothing.

    Notes
    -----
    Of each benchmark: `compare` of two systems (the baseline is the one called so, else the first by name),
    `leaderboard` of more, `score` of one and of published numbers; `scenarios` where there are two or more, `frontier` where
    costs are known, `contamination` where there is a column `split`, and `audit`. Of all the data: `arena` for votes, `gap`
    where lab and live share models, `judges` for ratings, and where a system has runs on several days what has changed: if
    nothing has, the probability that any model is ever flagged is at most
    1 - conf_level, over all looks. At most six benchmarks are asked, those with the most rows.

    Examples
    --------
    >>> from evalstats import datasets
    >>> found = overview(datasets.tenacious_held_out())
    >>> [answer.question for answer in found.answers]
    ['compare', 'scenarios', 'audit']
    """
    data = as_data(data)
    data.need_rows("an overview")
    watched = {"metric": metric, "models": models, "cluster": cluster, "since": since, "accept": accept}
    asked = _Asked(conf_level=conf_level, seed=seed, plan=plan, watched=watched)
    holdings = tuple(_holdings(data))
    if not holdings:
        raise CannotAnswerError(
            "the data hold no scores, votes, ratings or published numbers, so there is nothing to look over; add results "
            "with `evalstats ingest`"
        )
    answers: list[Answer] = []
    refusals: list[Refusal] = []
    for question in sorted(_questions(data, asked), key=lambda each: _ORDER.index(each.name)):
        place = {"question": question.name, "benchmark": question.benchmark}
        if question.ask is None:
            refusals.append(Refusal(**place, reason=question.reason))
            continue
        if on_step is not None:
            on_step(f"{question.name} {question.benchmark}".strip())
        try:
            found = question.ask()
            answers.append(Answer(**place, result=_of_part(data, found, question.benchmark)))
        except EvalStatsError as error:
            if question.name == _CHANGES and isinstance(error, InputError):
                raise  # its options were given by somebody
            refusals.append(Refusal(**place, reason=str(error)))
    # Of the audits, those that change a conclusion come first.
    answers.sort(
        key=lambda each: (_ORDER.index(each.question), isinstance(each.result, Audit) and not each.result.n_flipping)
    )
    return Overview(
        holdings=holdings,
        answers=tuple(answers),
        refusals=tuple(refusals),
        origin=Origin(version=toolkit_version(), seed=seed),
    )


def _of_part(data: EvalData, result: Result, benchmark: str) -> Result:
    """Say of a result that it saw one benchmark of several."""
    table = data.outcomes if data.outcomes.height else data.aggregates
    several = benchmark and table["benchmark"].n_unique() > 1
    return asked_of_part(result, "benchmark", benchmark) if several else result


# --- what there is ---


def _holdings(data: EvalData) -> Iterator[Holding]:
    """Count the rows of every system on every benchmark by state, then those of the other tables by source."""
    days = data.runs.select("run", day=pl.col("timestamp").dt.date())
    states = {f"n_{state}": (pl.col("status") == state).sum() for state in ("scored", "error", "unscored")}
    rows = data.outcomes.join(days, on="run", how="left")
    counted = rows.group_by("benchmark", "system").agg(
        day=pl.coalesce("day", pl.col("timestamp").dt.date()).max(), n_runs=pl.col("run").n_unique(), **states
    )
    for row in counted.sort("benchmark", "system").iter_rows(named=True):
        yield Holding(
            kind="scores",
            model=row["system"],
            benchmark=row["benchmark"],
            date=_written(row["day"]),
            **{name: row[name] for name in ("n_runs", *states)},
        )
    yield from _votes_held(data, days)
    yield from _ratings_held(data)
    published = data.aggregates.group_by("benchmark").agg(
        pl.len(), day=pl.col("date").cast(pl.String).str.head(10).max(), n=pl.col("model").n_unique()
    )
    for row in published.sort("benchmark").iter_rows(named=True):
        yield _source("published numbers", row["benchmark"], plural(row["n"], "model"), row["len"], row["day"] or "")


def _votes_held(data: EvalData, days: pl.DataFrame) -> Iterator[Holding]:
    votes = data.comparisons
    if not votes.height:
        return
    arenas = data.runs.select("run", "benchmark").unique("run")
    named = votes.join(days, on="run", how="left").join(arenas, on="run", how="left")
    for (name,), own in named.group_by(pl.col("benchmark").fill_null("")):
        models = pl.concat([own["model_a"], own["model_b"].rename("model_a")]).n_unique()
        day = own.select(pl.coalesce("day", pl.col("timestamp").dt.date()).max()).item()
        yield _source("votes", str(name), plural(models, "model"), own.height, _written(day))


def _ratings_held(data: EvalData) -> Iterator[Holding]:
    if data.ratings.height:
        raters = f"{data.ratings['rater'].n_unique():,} raters"
        day = data.ratings.select(pl.col("timestamp").dt.date().max()).item()
        yield _source("ratings", "", raters, data.ratings.height, _written(day))


def _source(kind: Held, benchmark: str, who: str, n: int, date: str) -> Holding:
    return Holding(kind=kind, model=who, benchmark=benchmark, n_runs=1, n_scored=n, date=date)


def _written(day: Any) -> str:
    return "" if day is None else day.isoformat()


# --- what they allow ---


def _questions(data: EvalData, asked: _Asked) -> Iterator[_Question]:
    """Yield every question, those of benchmarks for each of the largest ones."""
    yield from _of_benchmarks(data, asked)
    why_not = "" if any(asked.watched.values()) else no_changes(data)
    watched = None if why_not else lambda: changes(data, **asked.watched, **asked.planned)
    yield _Question(name=_CHANGES, reason=why_not, ask=watched)
    given: dict[str, Any] = asked.planned | {"seed": asked.seed}
    if data.comparisons.height:
        yield _Question(name="arena", ask=lambda: arena(data, **given))
    else:
        yield _Question(name="arena", reason="no votes")
    why_not = _no_gap(data)
    yield _Question(name="gap", reason=why_not, ask=None if why_not else lambda: gap(data, **given))
    if data.ratings.height:
        yield _Question(name="judges", ask=lambda: judges(data, conf_level=asked.level, seed=asked.seed))
    else:
        yield _Question(name="judges", reason="no ratings")


def _of_benchmarks(data: EvalData, asked: _Asked) -> Iterator[_Question]:
    table = data.outcomes if data.outcomes.height else data.aggregates
    sizes = table.group_by("benchmark").len().sort(pl.col("len"), "benchmark", descending=[True, False])
    names: list[str] = sizes["benchmark"].to_list()
    for name in sorted(names[:MOST_BENCHMARKS]):
        if data.outcomes.height:
            own = data.where(benchmark=name) if len(names) > 1 else data
            yield from _of_one(own, name, asked)
        else:
            kept = keep_published(data, {"benchmark": [name]}) if len(names) > 1 else data
            yield _standings(kept, name, asked)
            yield _scores(kept, name, asked)
    for name in names[MOST_BENCHMARKS:]:
        yield _Question(
            name="leaderboard",
            benchmark=name,
            reason=f"only the {MOST_BENCHMARKS} largest benchmarks are asked; ask by itself",
        )


def _of_one(data: EvalData, name: str, asked: _Asked) -> Iterator[_Question]:
    """Yield what can be asked of one benchmark."""
    rows, given = data.outcomes, asked.planned
    systems: list[str] = rows["system"].unique().sort().to_list()
    too_many = f"{len(systems):,} systems take long; ask by itself" if len(systems) > MOST_SYSTEMS else ""
    if len(systems) > 2:
        yield _standings(data, name, asked)
    elif len(systems) == 2:
        first, second = only_two(data, (None, None))
        yield _Question(
            name="compare",
            benchmark=name,
            ask=lambda: compare(data, first, second, seed=asked.seed, **given),
        )
    else:
        yield _scores(data, name, asked)
    why_not = _no_scenarios(rows, len(systems))
    yield _Question(
        name="scenarios",
        benchmark=name,
        reason=why_not,
        ask=None if why_not else lambda: scenarios(data, seed=asked.seed, **given),
    )
    costs = rows.filter(pl.col("cost_usd").is_not_null())["system"].n_unique()
    yield _Question(
        name="frontier",
        benchmark=name,
        reason="" if costs > 1 else "no costs of two systems",
        ask=None if costs < 2 else lambda: frontier(data, conf_level=asked.level, seed=asked.seed),
    )
    split = "split" in rows.columns and rows["split"].drop_nulls().n_unique() > 1
    yield _Question(
        name="contamination",
        benchmark=name,
        reason="" if split else "no column named split",
        ask=(lambda: contamination(data, split="split", seed=asked.seed, **given)) if split else None,
    )
    yield _Question(
        name="audit", benchmark=name, reason=too_many, ask=None if too_many else lambda: audit(data, **given)
    )


def _standings(data: EvalData, name: str, asked: _Asked) -> _Question:
    return _Question(
        name="leaderboard", benchmark=name, ask=lambda: leaderboard(data, seed=asked.seed, **asked.planned)
    )


def _scores(data: EvalData, name: str, asked: _Asked) -> _Question:
    return _Question(name="score", benchmark=name, ask=lambda: score(data, conf_level=asked.level))


def _no_scenarios(rows: pl.DataFrame, n_systems: int) -> str:
    """Say why scenarios are not asked; "" where they are."""
    levels = rows["scenario"].drop_nulls().n_unique()
    if levels < 2:
        return "one scenario alone" if levels else "no scenarios named"
    cells = n_systems * levels
    return f"{cells:,} cells of system and scenario take long; ask by itself" if cells > MOST_CELLS else ""


def _no_gap(data: EvalData) -> str:
    """Say why lab and live cannot be set against each other; "" where they share models."""
    sides: dict[str, set[str]] = {"lab": set(), "live": set()}
    tables = ((data.outcomes, ("system",)), (data.comparisons, ("model_a", "model_b")), (data.aggregates, ("model",)))
    for table, columns in tables:
        for setting, names in sides.items():
            own = table.filter(pl.col("setting") == setting)
            names |= {name for column in columns for name in own[column].drop_nulls().unique()}
    if not sides["lab"] or not sides["live"]:
        return f"no {'live' if sides['lab'] else 'lab'} results"
    return "" if sides["lab"] & sides["live"] else "lab and live share no model"
