"""Which rows a name stands for: a run, a system, a model or a level of another column, with the rows of one metric."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import field
from difflib import get_close_matches
from itertools import permutations

import polars as pl

from evalstats.errors import CannotAnswerError, InputError, Option, may_fit, together
from evalstats.grammar import and_list, comma_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.columns import TRIAL_LABEL
from evalstats.schema.data import EvalData
from evalstats.schema.names import unknown_name
from evalstats.schema.tables import factor_columns, is_constant, levels_of
from evalstats.table.items import row_counts, seen_trials
from evalstats.table.metric import MetricFacts


@record
class System:
    """One system: its name, its rows of one metric (one for each trial, or merged ones), and their runs.

    `remarks` say what was done to the rows, or what in them is not used. `by_run` tells that several runs answered the
    same items, so that a run is one of its full runs; else its k-th trials are. `several_trials`: there is more than one
    trial that could be a full run.
    """

    name: str
    rows: pl.DataFrame
    runs: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    by_run: bool = False
    several_trials: bool = field(init=False)

    def __post_init__(self) -> None:
        """Look once for several trials: the levels of a split ask thousands of times."""
        counted = "trial" in self.rows.columns and not is_constant(self.rows["trial"])
        several = self.by_run or counted or len(seen_trials(self.rows)) > 1
        object.__setattr__(self, "several_trials", several)

    def count(self, *statuses: str) -> int:
        """Return how many trials ended so; a row without a trial of its own stands for its `n_trials`."""
        status = self.rows["status"]
        counts = [int((status == each).sum()) for each in statuses]
        if not self.rows["trial"].null_count():
            return sum(counts)
        ended, merged = status.is_in(statuses), self.rows["trial"].is_null()
        return int(self.rows["n_trials"].zip_with(merged, pl.Series([1])).fill_null(1).filter(ended).sum())


def remarks_of(systems: Iterable[System]) -> list[str]:
    """Return what was done to the rows of single systems, each thing said once."""
    by_text: dict[str, list[str]] = {}
    for system in systems:
        for remark in system.remarks:
            by_text.setdefault(remark.removeprefix(f"{system.name}: "), []).append(system.name)
    return [f"{and_list(names, 3)}: {text}" for text, names in by_text.items()]


def system_of(rows: pl.DataFrame, name: str, metric: MetricFacts, *, role: str) -> System:
    """Return a system: the rows of the metric among those that the name stands for."""
    own = rows_among(rows, (rows["benchmark"] == metric.benchmark) & (rows["metric"] == metric.name))
    if not own.height:
        raise InputError(f"the {role} {name!r} has no {metric.name!r}; it has {quoted_list(rows['metric'])}")
    by_run = _runs_are_trials(own, name, role)
    own, remarks = _one_row_per_trial(own, name)
    if by_run:
        remarks.append(f"{name}: its {own['run'].n_unique()} runs are treated as trials ({quoted_list(own['run'])})")
    runs = tuple(levels_of(own["run"]))
    return System(name=name, rows=own, runs=runs, remarks=tuple(remarks), by_run=by_run)


class SeveralRunsError(InputError):
    """A system whose runs answered the same trials, so that it has no one score; `n_runs` and `n_items` say how many."""

    def __init__(self, message: str, *, n_runs: int, n_items: int) -> None:
        super().__init__(message)
        self.n_runs, self.n_items = n_runs, n_items


def _runs_are_trials(rows: pl.DataFrame, name: str, role: str) -> bool:
    """Tell whether any item was answered by several runs; two runs of the same trial of it cannot both be the system."""
    runs, key = levels_of(rows["run"]), ["task", "item", "variant"]
    if len(runs) < 2:
        return False
    shared = rows.group_by(*key, "trial").agg(pl.col("run").n_unique().alias("n")).filter(pl.col("n") > 1)
    if shared.height:
        # Of a suite each task is a run of its own: only those that share items are alternatives.
        alike = rows.join(shared.sort(-pl.col("n").cast(pl.Int64), *key).head(1), on=[*key, "trial"], nulls_equal=True)
        runs, judges = levels_of(alike["run"]), levels_of(rows["judge"])
        judged = len(judges) == len(runs) == rows["run", "judge"].n_unique()
        one = (
            f"keep one judge: {Option('where', judges[0], of='judge')}"
            if judged
            else f"name one of {quoted_list(runs)}"
        )
        raise SeveralRunsError(
            f"the {role} {name!r} is ambiguous: {len(runs)} runs answered the same {plural(shared.height, 'item')}; {one}. "
            f"If they are repetitions (other seeds), take them as its trials: {Option('trials_from_runs')}; "
            f"if their files are tasks: {Option('map', '{model}/{benchmark}', of='files')}",
            n_runs=len(runs),
            n_items=shared.height,
        )
    counted = rows.group_by(key).agg(pl.col("run").n_unique().alias("n"))
    return bool((counted["n"] > 1).any())


def _one_row_per_trial(rows: pl.DataFrame, name: str) -> tuple[pl.DataFrame, list[str]]:
    """Average the scores of several judges within each trial: two opinions on one answer are not two answers."""
    trial = ["run", "task", "item", "variant", "trial"]
    if rows["judge"].n_unique() < 2 or not rows.select(trial).is_duplicated().any():
        return rows, []
    judges = rows["judge"].drop_nulls().n_unique()
    # A judge that failed on one side only would leave the other's mean to a milder mix of judges: such a trial is missing.
    scored = pl.col("status") == "scored"
    averaged = rows.group_by(trial, maintain_order=True).agg(
        pl.when(scored.all()).then(pl.col("score").mean()).first().alias("score"),
        pl.when(scored.all()).then(pl.lit("scored")).otherwise(pl.lit("unscored")).first().alias("status"),
        pl.all().exclude(*trial, "score", "status", "judge").first(),
        pl.lit(None, dtype=pl.String).alias("judge"),
    )
    lost = int((rows["status"] != "scored").sum())
    gone = f"; {lost:,} of {rows.height:,} judgements are missing" if lost else ""
    remark = f"{name}: the scores of {judges} judges are averaged within each trial{gone}"
    return averaged.select(rows.columns), [remark]


def rows_named(outcomes: pl.DataFrame, name: str, *, contrast: str, role: str) -> pl.DataFrame:
    """Return all outcome rows that `name` stands for.

    With `contrast="model"` a name is matched against runs (whole, or the part before "~"), then systems, then models; if none is
    called so, against what stands behind the last "/" of the latter. Otherwise against the levels of the contrast's column.
    """
    found = [(column, among) for column, among in _readings(outcomes, name, contrast) if among.any()]
    if found:
        column, among = found[0]
        rows, run = rows_among(outcomes, among), outcomes["run"]
        own = levels_of(rows["run"])
        others = [other for other, also in found[1:] if not set(levels_of(run.filter(also))).issubset(own)]
        if others:
            raise InputError(
                f"the {role} {name!r} is ambiguous: it is a {column} and also a {others[0]} of other runs; "
                f"name one of the runs {quoted_list(pl.concat([run.filter(each) for _, each in found]))}"
            )
        return rows
    columns = ("model", "system") if contrast == "model" else (contrast,)
    levels = [level for column in columns for level in _levels(outcomes, column)]
    # A number is the same however it is written (1, 1.0), and a model whose maker is left out.
    alike = {level for level in levels if _WHOLE.sub(r"\1", level) == _WHOLE.sub(r"\1", name)}
    alike |= {level for level in levels if level.endswith(f"/{name}") and contrast == "model"}
    if len(alike) == 1:
        return rows_named(outcomes, alike.pop(), contrast=contrast, role=role)
    if contrast == "model":
        levels += get_close_matches(name, _levels(outcomes, "run"), n=2)
    what = "model, system or run" if contrast == "model" else contrast
    raise InputError(unknown_name(name, list(dict.fromkeys(levels)), what=what))


def _levels(outcomes: pl.DataFrame, column: str) -> list[str]:
    return levels_of(outcomes[column].cast(pl.String))


def _readings(outcomes: pl.DataFrame, name: str, contrast: str) -> list[tuple[str, pl.Series]]:
    """Return for each thing that the name could be which rows are its."""
    if contrast != "model":
        return [(contrast, outcomes[contrast].cast(pl.String) == name)]
    run = outcomes["run"]
    short = re.compile(r"~[0-9a-f]{8}$")
    names = levels_of(run)
    runs = [name] if name in names else [each for each in names if short.sub("", each) == name]
    return [("run", run.is_in(runs)), *((column, outcomes[column] == name) for column in ("system", "model"))]


def only_arm(rows: pl.DataFrame, *, role: str) -> str:
    """Return the name of the only system in the rows (for `compare A B` with two files)."""
    for column in ("system", "model", "run"):
        levels = rows[column].unique().to_list()
        if len(levels) == 1:
            return str(levels[0])
    raise InputError(
        f"the {role}'s file holds several systems: {quoted_list(rows['system'])}; name one with {Option(role)}. If its files "
        f"are runs of one system (seeds), add {Option('trials_from_runs')}; if tasks, "
        f"{Option('map', '{model}/{benchmark}', of='files')}; if these are judges of one system, "
        f"{Option('map', 'model', of='judge')}"
    )


_BASELINE = re.compile(
    r"(?<![a-z])(baseline|base|control|old|before|reference|original|current|prod|production)(?![a-z])"
)
_WHOLE = re.compile(r"^(-?\d+)\.0+$")
_DIGITS = re.compile(r"(\d+)")


def only_two(
    data: EvalData,
    names: tuple[str | None, str | None],
    *,
    contrast: str = "model",
    where: str = "the data",
    declared: str | None = None,
    gated: bool = False,
) -> tuple[str, str]:
    """Name the two systems that data hold, unless they are named.

    The baseline is the one that a plan declares, else the one called so, else the first by name: which stands first in the data
    says nothing, since rows of an A/B test come in any order. `gated`: a build passes or fails by the answer, so that the first
    by name is not enough.
    """
    first, second = names
    if first is not None and second is not None:
        return first, second
    column = "system" if contrast == "model" else data.factor(contrast)
    held = [str(name) for name in data.outcomes[column].drop_nulls().unique(maintain_order=True)]
    # A model may be named without its organisation.
    others = [name for name in held if not {name, name.rpartition("/")[2]} & {*names}]
    if len(held) != 2 or len(others) != 2 - sum(name is not None for name in names):
        advice = f"name two of them: {together(Option('baseline', blank='NAME'), Option('candidate', blank='NAME'))}"
        if len(held) == 1:
            advice = "give the results of the other side too"
        if not held and data.comparisons.height:
            raise InputError(f"{where} holds votes and no scores: they rank models, which the question arena answers")
        if not held and data.aggregates.height:
            rows = Option("map", blank="COLUMN", of="item")
            raise InputError(
                f"{where} holds published numbers and no scores of single items, which leaderboard ranks; to compare systems by "
                f"parts that each of them has, such as data sets, say which column names these: {rows}"
            )
        if len(held) == 1 and column == "system" and (told_apart := _told_apart_by(data)):
            sides = together(
                Option("contrast", told_apart[0]), Option("baseline", blank="NAME"), Option("candidate", blank="NAME")
            )
            advice = (
                f"compare levels of a column in which answers to one item differ ({comma_list(told_apart, 5)}): {sides}"
            )
        shown = f" ({comma_list(held, 5)})" if held else ""
        raise InputError(f"two sides are needed, and {where} holds {plural(len(held), 'system')}{shown}; {advice}")
    if gated:
        refuse_guess(others, declared)
    others.sort(
        key=lambda name: (
            name != declared,
            not _called_baseline(name),
            [*map(_natural, _DIGITS.split(name.lower()))],
        )
    )
    first = others.pop(0) if first is None else first
    return first, others.pop(0) if second is None else second


def _called_baseline(name: str) -> bool:
    return _BASELINE.search(name.lower()) is not None


def refuse_guess(names: Sequence[str], declared: str | None) -> None:
    """Refuse two sides of which neither a plan nor a name says which is the baseline: the wrong way round, a loss is a gain."""
    if len(names) == 2 and declared not in names and len({*map(_called_baseline, names)}) == 1:
        lines = [
            together(Option("baseline", first), Option("candidate", second))
            for first, second in permutations(sorted(names))
        ]
        raise InputError(
            f"a gate needs to know which side is the baseline, and {and_list(sorted(names))} do not say so by their names. "
            f"{may_fit(lines)}"
        )


def _told_apart_by(data: EvalData) -> list[str]:
    """Name the columns whose levels some item has all of: what was varied, where one system answered all.

    Repetitions vary nothing, and what is counted or measured in each row has more levels than any item.
    """
    names = {standard: own for own, standard in data.factor_names().items()}
    columns = [
        name
        for name in ("variant", *factor_columns(data.outcomes))
        if name != TRIAL_LABEL
        and not data.outcomes[name].dtype.is_nested()
        and not data.outcomes[name].dtype.is_float()
    ]
    levels = data.outcomes.group_by("benchmark", "task", "item").agg(pl.col(columns).n_unique())
    every = data.outcomes.select(pl.col(columns).n_unique())
    return [names.get(name, name) for name in columns if 1 < every[name].item() == levels[name].max()]


def _natural(part: str) -> tuple[int, str]:
    """Order the parts of a name so that v2 stands before v10."""
    return (int(part), "") if part.isdecimal() else (-1, part)


def refuse_same_rows(first: pl.DataFrame, second: pl.DataFrame, names: tuple[str, str]) -> None:
    """Refuse two sides that share rows: the difference would partly be one of a run with itself."""
    key = ["run", "benchmark", "task", "item", "variant", "trial", "metric", "judge"]
    runs = {*levels_of(first["run"])} & {*levels_of(second["run"])}
    if not runs:
        return
    counted = first.select(*key, pl.Series("n", row_counts(first)))
    first, second = (rows.filter(pl.col("run").is_in(runs)) for rows in (counted, second.select(key)))
    both = first.join(second, on=key, how="semi", nulls_equal=True)
    n = int(both["n"].sum())
    if n:
        raise InputError(
            f"{names[0]!r} and {names[1]!r} share {n:,} rows, of the runs {quoted_list(both['run'])}; "
            "name two runs, or two models without a run in common"
        )


def shared_benchmarks(first: pl.DataFrame, second: pl.DataFrame, names: tuple[str, str]) -> list[str]:
    """Benchmarks on which both sides have rows."""
    shared = sorted({*levels_of(first["benchmark"])} & {*levels_of(second["benchmark"])})
    if not shared:
        raise CannotAnswerError(
            f"{names[0]!r} and {names[1]!r} have no benchmark in common: the first has {quoted_list(first['benchmark'])}, "
            f"the second {quoted_list(second['benchmark'])}"
        )
    return shared


def require_outcomes(data: EvalData, *names: str) -> None:
    """Refuse data that hold no scores of single items, or none of the named systems, and say what they hold instead."""
    if not data.outcomes.height:
        what = "no file held scores of single items"
        if data.comparisons.height:
            what = f"the files hold {data.comparisons.height:,} votes between models; rate them with `evalstats arena`"
        elif data.ratings.height:
            what = f"the files hold {data.ratings.height:,} ratings; ask how well raters agree with `evalstats judges`"
        elif data.aggregates.height:
            what = f"the files hold {data.aggregates.height:,} published numbers and no scores of single items"
            what += "; `evalstats leaderboard` ranks those that have standard errors"
            several = data.aggregates.select("model", "benchmark", "metric").is_duplicated().any()
            if several and set(data.runs["loader"]) == {"score-table"}:
                named = together(*(Option("map", blank="COLUMN", of=name) for name in ("item", "score", "model")))
                what += f"; if each of a model's numbers is an item (a task), name the columns: {named}"
        raise CannotAnswerError(f"there are no outcomes to work on: {what}")
    published = {*levels_of(data.aggregates["model"])}.intersection(names)
    have = levels_of(data.outcomes["model"]) + levels_of(data.outcomes["system"]) if published else []
    for name in names:
        if name not in have and name in published:
            raise CannotAnswerError(
                f"{name!r} has published numbers only and no scores of single items, so nothing can be paired"
            )


def rows_among(rows: pl.DataFrame, among: pl.Series) -> pl.DataFrame:
    """Return the rows that are marked; where they stand together, as a part of the same table, of which no copy is made.

    Elsewhere the columns of one value throughout, which are most, are not copied either.
    """
    first, n = among.arg_max() or 0, int(among.sum())
    if among.slice(first, n).all(ignore_nulls=False):
        return rows.slice(first, n)
    return pl.DataFrame(
        [column.head(n) if is_constant(column) else column.filter(among) for column in rows.iter_columns()]
    )
