"""The six tidy tables, checked and held together: `EvalData`, what makes one of a table, and several into one."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

import polars as pl

from evalstats.errors import CannotAnswerError, InputError, warn
from evalstats.grammar import comma_list, plural
from evalstats.record import record
from evalstats.schema.columns import HELPER, KEYS, STATUSES, TABLES, Presumed, TableName, is_shared_by_name
from evalstats.schema.in_memory import are_tables, as_polars, as_table
from evalstats.schema.metrics import one_definition, with_facts
from evalstats.schema.names import lookalike_note, lookalikes, names_of, renamed, spelled_out
from evalstats.schema.tables import (
    check_table,
    combinations_in,
    concat_tables,
    empty_table,
    factor_columns,
    frame_from_rows,
    levels_of,
    parts_of,
)

# What tables are called that do not name their benchmark.
UNNAMED = "table"
# Columns with a level for every row, or for what is compared: no groups of items.
_NO_LEVELS: Final = pl.Series([], dtype=pl.String)
_NO_GROUPS = frozenset({"run", "model", "system", "score", "value_raw", "locator", "link", "trial", "status"})
# A table of published numbers has these, and a standard error or an interval where ranks are wanted.
_PUBLISHED = frozenset({"model", "estimate"})
_OUTCOMES = frozenset(column.name for column in TABLES["outcomes"] if column.required and column.fill is None)
_MODEL_COLUMNS: dict[TableName, tuple[str, ...]] = {
    "outcomes": ("model", "system"),
    "aggregates": ("model",),
    "ratings": ("model",),
    "comparisons": ("model_a", "model_b"),
}
# What a user may declare of a metric.
_FACTS = ("higher_is_better", "low", "high", "kind", "unit")
Level = str | float | bool
Severity = Literal["error", "note", "detail"]


@record
class Problem:
    """One thing that went wrong with one file and did not stop the rest.

    `severity` is "error" when nothing of the file (or row) was loaded, "note" when nothing was lost and the reader should
    know, "detail" when it changes no number.

    Attributes
    ----------
    path, message
        The file, and what is wrong with it.
    """

    path: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


@record(repr=False)
class EvalData:
    """Everything that was read: the tidy tables (Polars frames, glossary columns first) and the problems met.

    Attributes
    ----------
    outcomes
        Scores, one row for each run, item, variant, trial and metric.
    comparisons
        Votes, one row for each judged pair.
    ratings
        What raters gave to the same things.
    aggregates
        Published numbers with no items behind them.
    runs
        What each run was: source, settings, counts.
    metrics
        Kind, bounds and direction of each metric.
    problems
        What went wrong with a file and did not stop the rest.
    merged
        Whether equal rows of outcomes were counted and not kept apart, as `evalstats.scan` does.

    Examples
    --------
    >>> from evalstats import datasets
    >>> datasets.tenacious_held_out()
    EvalData
      models      baseline, trained
      benchmarks  Tenacious-Bench
      metrics     correct
      outcomes    86 rows: 43 items
      factors     task_type (2), source_mode (4)
      scenarios   7
    """

    outcomes: pl.DataFrame = field(default_factory=partial(empty_table, "outcomes"))
    comparisons: pl.DataFrame = field(default_factory=partial(empty_table, "comparisons"))
    ratings: pl.DataFrame = field(default_factory=partial(empty_table, "ratings"))
    aggregates: pl.DataFrame = field(default_factory=partial(empty_table, "aggregates"))
    runs: pl.DataFrame = field(default_factory=partial(empty_table, "runs"))
    metrics: pl.DataFrame = field(default_factory=partial(empty_table, "metrics"))
    problems: tuple[Problem, ...] = ()
    merged: bool = False

    def __repr__(self) -> str:
        """Show who, on what, and how many rows: some ten lines."""
        tables: dict[TableName, pl.DataFrame] = {name: self.table(name) for name in TABLES}
        lines = [*overview(tables), *problem_lines([str(each) for each in self.problems])]
        return "\n".join(["EvalData" if lines else "EvalData: empty", *lines])

    def table(self, name: TableName) -> pl.DataFrame:
        """Return one of the six tables by its name."""
        frame: pl.DataFrame = getattr(self, name)
        return frame

    def need_rows(self, what: str) -> None:
        """Raise `CannotAnswerError` where `what` needs single rows, and they were merged."""
        if self.merged:
            raise CannotAnswerError(
                f"{what} needs single rows, and an engine merged these into counts; read fewer in full, without an engine"
            )

    def models(self) -> tuple[str, ...]:
        """Names of the models with outcomes, sorted."""
        return tuple(levels_of(self.outcomes["model"]))

    def written(self, name: str) -> str:
        """Return the name of a model or system as these data write it: spelled out where it looks like another."""
        known = pl.concat([self.outcomes["system"], self.outcomes["model"], self.outcomes["run"]])
        spelled = spelled_out(name)
        return spelled if spelled != name and not (known == name).any() and (known == spelled).any() else name

    def where(self, /, **levels: Level | Sequence[Level]) -> "EvalData":
        """Keep the outcomes whose factors have the given level (or one of the given levels); a number means its level.

        Examples
        --------
        >>> EvalData().where(scenario="goal_switching").outcomes.height
        0
        """
        frame, asked = self.outcomes, list[str]()
        for name, level in levels.items():
            column = self.factor(name)
            text = self.outcomes[column].cast(pl.String)
            wanted = names_of(level, frame.schema[column])
            unknown = [value for value in wanted if not (text == value).any()]
            if unknown and text.len():
                levels_there = text.drop_nulls().unique().sort().head(12).to_list()
                have = ", ".join(repr(value) for value in levels_there) or "no value in any row"
                own = f"source_{name}"
                also = f"; a file's own column of that name is called {own}" if own in frame.columns else ""
                raise InputError(f"{name} has no level {unknown[0]!r}; it has {have}{also}")
            frame = frame.filter(frame[column].cast(pl.String).is_in(wanted))
            asked.append(f"{name}={','.join(wanted)}")
        if self.outcomes.height and not frame.height:
            raise InputError(f"no row has {', '.join(asked)}; leave one of the conditions out")
        return replace(self, outcomes=frame)

    def with_metric(self, metric: str | None = None, /, **facts: object) -> "EvalData":
        """Declare something of a metric (of every one, where none is named); it goes before what the files say.

        `facts` are `higher_is_better`, `low`, `high`, `kind` and `unit`; None leaves one as it is.

        Examples
        --------
        >>> from evalstats import datasets
        >>> data = datasets.tenacious_held_out().with_metric("correct", higher_is_better=True)
        >>> data.metrics["higher_is_better"].to_list()
        [True]
        """
        said = {name: value for name, value in facts.items() if value is not None}
        unknown = [name for name in said if name not in _FACTS]
        if unknown:
            raise InputError(f"{unknown[0]!r} cannot be declared of a metric; there are {', '.join(_FACTS)}")
        if not said:
            return self
        metrics = self.metrics
        for benchmark, name in self._metric_keys():
            if metric in (None, name):
                metrics = with_facts(metrics, (benchmark, name), said)
        return replace(self, metrics=metrics)

    def _metric_keys(self) -> list[tuple[str, str]]:
        """Name every (benchmark, metric) that has a score."""
        # Rows of a store are held as codes of their names, those of other tables as the names.
        names = [pl.col(name).cast(pl.String) for name in ("benchmark", "metric")]
        parts = [frame.select(names).unique() for frame in (self.outcomes, self.aggregates)]
        return sorted(pl.concat(parts).unique().iter_rows())

    def export(self, folder: str | Path, *, to: str = "parquet", **options: Any) -> Any:
        """Write the data to a folder, as `evalstats.export` does.

        Examples
        --------
        >>> import tempfile
        >>> from evalstats import datasets
        >>> datasets.tenacious_held_out().export(Path(tempfile.mkdtemp(), "new"), to="json").wrote
        'outcomes 86, runs 2, metrics 1 rows as JSON'
        """
        # By its public name: the writers stand above the tables, which know nothing of files.
        return import_module("evalstats").export(self, folder, to=to, **options)

    def trials_from_runs(self) -> "EvalData":
        """Take several runs of one system on one benchmark (seeds in folders of their own) as trials of its items.

        Trials are numbered on from run to run; the runs keep their names, and `compare` and the others count what they
        differ by.

        Examples
        --------
        >>> rows = {
        ...     "system": ["m"] * 2,
        ...     "model": ["m"] * 2,
        ...     "run": ["seed-1", "seed-2"],
        ...     "item": ["q"] * 2,
        ...     "trial": [0, 0],
        ... }
        >>> rest = {"benchmark": ["b"] * 2, "metric": ["acc"] * 2, "score": [1.0, 0.0], "status": ["scored"] * 2}
        >>> as_data({**rows, **rest}).trials_from_runs().outcomes["trial"].to_list()
        [0, 1]
        """
        self.need_rows("taking runs as trials")
        if not self.outcomes.height:
            return self
        system = ["model", "system", "benchmark"]
        # In the order of their files, so that seed-1 of one system meets seed-1 of another.
        known = self.runs.select("run", "source").unique("run", keep="first")
        runs = (
            self.outcomes.select("run").unique().cast(pl.String).join(known, on="run", how="left").sort("source", "run")
        )
        order = {run: place for place, run in enumerate(runs["run"].to_list())}
        run = pl.col("run").replace_strict(order, return_dtype=pl.Int64)
        # Within a system: first by run, then by trial; what is known only as an average of trials is one of its run.
        trial = pl.col("trial").fill_null(-1) + 1
        place = (run * (trial.max() + 1) + trial).rank("dense").over(system) - 1
        several = pl.col("run").n_unique().over(system) > 1
        numbered = pl.when(several).then(place).otherwise(pl.col("trial")).cast(pl.Int64)
        return replace(self, outcomes=self.outcomes.with_columns(numbered.alias("trial")))

    def rows_of_runs(self, runs: Iterable[str]) -> pl.DataFrame:
        """Return what is recorded of some runs: their rows of `runs`."""
        wanted = set(runs)
        kept = [place for place, run in enumerate(self.runs["run"].to_list()) if run in wanted]
        return self.runs if len(kept) == self.runs.height else self.runs[kept]

    def column_maps(self, runs: Iterable[str]) -> list[dict[str, Any]]:
        """Return the maps by which tables of one's own were read, of some runs: `columns` by role, `rows` where they lie."""
        configs = levels_of(self.rows_of_runs(runs)["config"])
        return [found for config in configs if isinstance((found := json.loads(config)).get("columns"), dict)]

    def factor_names(self, runs: pl.Series | None = None) -> dict[str, str]:
        """Map the sources' own names of standard columns to those columns (`dimension` to `scenario`), of some runs or all."""
        own = self.runs if runs is None else self.rows_of_runs(runs.unique())
        pairs = [pair.partition("=") for pair in parts_of(own["factor_names"])]
        return {own: standard for own, _, standard in pairs}

    def factor(self, name: str) -> str:
        """Return the column of `outcomes` that the user means by `name`.

        Raises
        ------
        InputError
            If there is no such column; the message lists what could be used.
        """
        if name == "model":  # which every table has, whatever a source calls its own columns
            return name
        own = self.factor_names()
        # A standard column without a value gives way to the source's own column of that name.
        is_empty = name in own and self.outcomes.get_column(name, default=_NO_LEVELS).is_null().all()
        if name in self.outcomes.columns and not is_empty:
            if isinstance(self.outcomes[name].dtype, pl.List):
                raise InputError(
                    f"{name!r} holds several labels a row, so it names no groups of items; choose another column"
                )
            return name
        for standard in (own.get(name), f"{name}_digest"):  # of a text its digest is kept
            if standard in self.outcomes.columns:
                return standard
        named = {standard: f"{standard} ({source})" for source, standard in own.items() if source != standard}
        usable = [
            named.get(column, column)
            for column in self.outcomes.columns
            if column not in _NO_GROUPS and not column.startswith(HELPER) and self.outcomes[column].n_unique() > 1
        ]
        known = {each.casefold(): each for each in (*self.outcomes.columns, *own)}
        near = f"; did you mean {known[name.casefold()]!r}?" if name.casefold() in known else ""
        raise InputError(
            f"there is no column {name!r} in the outcomes; columns with more than one level: {', '.join(usable)}{near}"
        )


def as_data(data: object, names: Mapping[str, Collection[str]] | None = None) -> EvalData:
    """Return `data` as it is; a table (pandas, Polars, pyarrow, DuckDB, a dict of columns, a list of dicts) as `EvalData`.

    A path is read, as a file, folder or store, and a warning holds what its reader has to say. A list of paths is all of them
    together, a dict of paths or tables one system each, which its names are; what `evalstats.read` gives may stand in a path's
    place. A list, an array or a series of numbers is the scores of one system.
    A table with the columns model and estimate, and without items or scores, holds published numbers; any other outcomes, of
    which item, score and model are enough. Where they are called otherwise, columns are found as those of a file are, with the
    help of the `names` that the question uses (`evalstats.options.asked_names`), and a warning says which.
    """
    if isinstance(data, EvalData):
        return data
    held: Any = data
    several: list[object] = [*held.values()] if isinstance(data, Mapping) else []
    may_be_document = any(isinstance(each, Mapping) for each in several)
    by_loaders = FIND_COLUMNS and (isinstance(data, str | Path) or may_be_document)
    if by_loaders and (found := FIND_COLUMNS[0](held, names or {})) is not None:
        return _told(found)
    if _are_of_files(several) or are_tables(several):
        return combine(_one_system(as_data(each, names), str(name)) for name, each in held.items())
    if isinstance(data, list | tuple):
        if not data:
            raise InputError("the list is empty; give paths of result files, folders or a store, or rows of a table")
        if _are_of_files([*held]):
            return combine(as_data(each, names) for each in held)
    frame = as_polars(as_table(held))
    if set(frame.columns) >= _PUBLISHED and not {"item", "score"} & set(frame.columns):
        named = {"benchmark": "published", "metric": "score"}
        keys = [pl.lit(word).alias(name) for name, word in named.items() if name not in frame.columns]
        return _told_apart(EvalData(aggregates=check_table(frame.with_columns(keys), "aggregates")))
    if {*frame.columns} >= _OUTCOMES:
        return _told_apart(EvalData(outcomes=check_table(frame, "outcomes")))
    complete = {"item", "score"} <= {*frame.columns} and {"model", "system"} & {*frame.columns} and _is_plain(frame)
    keys = [name for name in ("model", "system", *KEYS["outcomes"]) if name in frame.columns]
    is_tidy = complete and frame.select(keys).n_unique() == frame.height
    by_name = isinstance(data, dict) and not may_be_document
    table = held if by_name else frame  # the names in a dict may be systems
    if FIND_COLUMNS and not is_tidy and (found := FIND_COLUMNS[0](table, names or {})) is not None:
        return _told(found)
    outcomes = check_table(_completed(frame), "outcomes")
    presumed = Presumed(name for name in outcomes.columns if name in frame.columns and is_shared_by_name(name))
    presumed.add(outcomes)
    dependence = presumed.held()
    runs = [{"run": run, "benchmark": name, "dependence": dependence} for run, name in _runs(outcomes)]
    return _told_apart(EvalData(outcomes=outcomes, runs=frame_from_rows(runs, "runs")))


def as_two_sides(paths: Sequence[str | Path]) -> tuple[EvalData, tuple[str, str]]:
    """Read the baseline's path and the candidate's, and name the two."""
    return AS_SIDES[0]([*map(Path, paths)], [as_data(path) for path in paths])


def _are_of_files(values: Sequence[object]) -> bool:
    return bool(values) and all(isinstance(each, str | Path | EvalData) for each in values)


def _one_system(data: EvalData, name: str) -> EvalData:
    """Call the only system of data by another name."""
    if (n := data.outcomes["system"].n_unique()) != 1:
        raise InputError(
            f"{name!r} stands for {plural(n, 'system')}; give what is one system, or all of them in a list"
        )
    return replace(data, outcomes=data.outcomes.with_columns(system=pl.lit(name)))


def _told(found: tuple[EvalData, str]) -> EvalData:
    data, said = found
    if said:
        warn(said)
    return data


def _is_plain(frame: pl.DataFrame) -> bool:
    """Whether scores are no text and states are those of the glossary: other words are read as those of files are."""
    words = frame["status"].drop_nulls().cast(pl.String) if "status" in frame.columns else pl.Series(dtype=pl.String)
    return frame["score"].dtype != pl.String and bool(words.is_in(list(STATUSES)).all())


# What reads a path, or the object that a file of a known format holds (None for any other object), and finds the columns of a
# table whose names are not the glossary's; `evalstats` puts it here, since only loaders know how.
FIND_COLUMNS: list[Callable[[object, Mapping[str, Collection[str]]], tuple[EvalData, str] | None]] = []
# What makes one of the data of two paths, and names both sides; from there as well.
AS_SIDES: list[Callable[[Sequence[Path], Sequence[EvalData]], tuple[EvalData, tuple[str, str]]]] = []


def _runs(outcomes: pl.DataFrame) -> list[tuple[str, str]]:
    return outcomes.select("run", "benchmark").unique(maintain_order=True).rows()


def _completed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table of items, scores and models with what else outcomes need, named as `evalstats.from_frame` names it."""
    arm = next((name for name in ("model", "system") if name in frame.columns), None)
    lacking = [name for name in ("item", "score") if name not in frame.columns] + ([] if arm else ["model"])
    if lacking:
        columns = comma_list(frame.columns, 12)
        given = ", ".join(f"{name}=..." for name in dict.fromkeys((*lacking, "item", "score", "model")))
        raise InputError(
            f"this table has no column {lacking[0]}; it has {columns}. Name the columns: "
            f"evalstats.from_frame(frame, {given})"
        )
    # Numbers that name items or models, and truth values that are scores.
    whole = [pl.col(name).cast(pl.String) for name in ("item", str(arm)) if frame[name].dtype.is_integer()]
    frame = frame.with_columns(
        *whole, *([pl.col("score").cast(pl.Float64)] if frame["score"].dtype == pl.Boolean else [])
    )
    scored = pl.col("score").is_not_null() & (pl.col("score").is_not_nan() if frame["score"].dtype.is_float() else True)
    filled = {
        "run": pl.col(str(arm)),
        "model": pl.col(str(arm)),
        "system": pl.col(str(arm)),
        "benchmark": pl.lit(UNNAMED),
        "metric": pl.lit("score"),
        "status": pl.when(scored).then(pl.lit("scored")).otherwise(pl.lit("unscored")),
    }
    frame = frame.with_columns(**{name: made for name, made in filled.items() if name not in frame.columns})
    return frame.with_columns(pl.col("score").fill_nan(None)) if frame["score"].dtype.is_float() else frame


def _told_apart(data: EvalData) -> EvalData:
    """Warn of a table's names that look the same: no file's problems could carry it."""
    apart, said = _names_apart(data)
    if said is not None:
        warn(said)
    return apart


def _names_apart(data: EvalData) -> tuple[EvalData, str | None]:
    """Return the data with names of models told apart, and what to say of it; None where all differ to the eye."""
    names: list[str] = []
    for table, columns in _MODEL_COLUMNS.items():
        frame = data.table(table)
        if frame.is_empty():
            continue
        names += [name for column in columns for name in levels_of(frame[column])]
    changed = lookalikes(names)
    if not changed:
        return data, None
    tables = {table: renamed(data.table(table), columns, changed) for table, columns in _MODEL_COLUMNS.items()}
    return replace(data, **tables), lookalike_note(changed)


def combine(parts: Iterable[EvalData]) -> EvalData:
    """Put several `EvalData` together; factors that a part lacks are null there.

    A run that is present twice (the same bytes read twice) is kept once, and a problem says so.
    """
    parts = list(parts)
    kept: list[EvalData] = []
    seen: set[str] = set()
    problems: list[Problem] = []
    for part in parts:
        problems.extend(part.problems)
        again = [run for run in part.runs["run"].to_list() if run in seen]
        problems.extend(
            Problem(path=run, message="read twice; the second copy is ignored", severity="note") for run in again
        )
        seen.update(part.runs["run"].to_list())
        kept.append(_without_runs(part, again))
    tables = {name: concat_tables([part.table(name) for part in kept], name) for name in TABLES}
    tables["metrics"], contradictions = one_definition(tables["metrics"])
    problems.extend(Problem(path="metrics", message=message, severity="note") for message in contradictions)
    merged = any(part.merged for part in parts)
    data = EvalData(**tables, problems=tuple(problems), merged=merged)
    return data if len(parts) == 1 else with_distinct_names(data)


def with_distinct_names(data: EvalData) -> EvalData:
    """Return the data with models told apart whose names look the same, and a note where there are any."""
    apart, said = _names_apart(data)
    if said is None:
        return data
    return replace(apart, problems=(*data.problems, Problem(path="models", message=said, severity="note")))


def _without_runs(part: EvalData, runs: Sequence[str]) -> EvalData:
    if not runs:
        return part
    names: tuple[TableName, ...] = ("outcomes", "comparisons", "ratings", "aggregates", "runs")
    kept = {name: part.table(name).filter(~pl.col("run").is_in(list(runs)).fill_null(value=False)) for name in names}
    return replace(part, **kept)


# What names a vote and what it says; copies in another format agree in all of it.
_SAME: Final = ("battle", "item", "model_a", "model_b", "outcome", "rater", "judge", "session")
_SAME_SHARE: Final = 0.9
_SAME_FROM: Final = 20
# Comparing every file with every other would take long for a folder of thousands.
_MAX_RUNS: Final = 400


def same_votes(comparisons: pl.DataFrame) -> list[Problem]:
    """Return a note for every pair of runs of which one repeats at least nine tenths of the other's votes.

    A vote is the same if its id (or number), item, models, outcome, rater, judge and session are. Small runs (fewer than 20
    votes) may agree by chance and are passed over.
    """
    sizes = dict(combinations_in(comparisons, ["run"]).iter_rows()) if comparisons.height else {}
    large = [run for run, n in sizes.items() if n >= _SAME_FROM]
    if len(large) < 2:
        return []
    votes = comparisons.filter(pl.col("run").is_in(large)).select("run", *_SAME)
    hashes = votes.select(pl.col("run"), pl.struct(_SAME).hash(seed=0).alias("vote")).unique()
    shared = hashes.filter(pl.len().over("vote") > 1)
    of_run = {str(run): set(part["vote"].to_list()) for (run,), part in shared.group_by("run", maintain_order=True)}
    candidates = [run for run in large if run in of_run][:_MAX_RUNS]
    problems: list[Problem] = []
    for first, second in combinations(candidates, 2):
        n = len(of_run[first] & of_run[second])
        if n >= _SAME_SHARE * min(sizes[first], sizes[second]):
            message = (
                f"{n:,} of its {sizes[second]:,} votes also stand in {first} (same ids, models and outcomes); if "
                "both files hold the same votes, they count twice: read only one"
            )
            problems.append(Problem(path=second, message=message, severity="note"))
    return problems


# --- how `EvalData` shows itself ---

_WIDTH = 80
_LABEL = 12
_MOST_FACTORS = 6


def overview(tables: Mapping[TableName, pl.DataFrame]) -> Iterator[str]:
    """Yield one line for each thing that the tables hold."""
    outcomes, votes = tables["outcomes"], tables["comparisons"]
    models = [outcomes["model"], tables["aggregates"]["model"], votes["model_a"], votes["model_b"]]
    yield from _names("models", models)
    yield from _names("benchmarks", [outcomes["benchmark"], tables["aggregates"]["benchmark"]])
    yield from _names("metrics", [outcomes["metric"], tables["aggregates"]["metric"]])
    if outcomes.height:
        yield _line("outcomes", f"{outcomes.height:,} rows: {', '.join(_counts(outcomes))}")
        further = [name for name in factor_columns(outcomes, "outcomes") if not name.startswith(HELPER)]
        factors = [name for name in further if not outcomes[name].dtype.is_nested()]
        levels = [f"{_clean(name)} ({outcomes[name].n_unique():,})" for name in factors]
        if levels:
            yield _line("factors", _cut(levels[:_MOST_FACTORS], len(levels)))
        if outcomes["scenario"].drop_nulls().len():
            yield _line("scenarios", f"{outcomes['scenario'].drop_nulls().n_unique():,}")
    for name in ("comparisons", "ratings", "aggregates"):
        if tables[name].height:
            yield _line(name, f"{tables[name].height:,} rows")


def problem_lines(problems: Sequence[str]) -> Iterator[str]:
    """Yield a line on what went wrong while files were read, with the first of it."""
    if problems:
        more = f"; {len(problems) - 1:,} more in .problems" if len(problems) > 1 else ""
        first = _clean(problems[0])
        room = _WIDTH - _LABEL - 2 - len(more)
        yield _line("problems", (first if len(first) <= room else first[: room - 3] + "...") + more)


def _counts(outcomes: pl.DataFrame) -> Iterator[str]:
    for column, one, several in (
        ("item", "item", "items"),
        ("variant", "variant", "variants"),
        ("trial", "trial", "trials"),
    ):
        n = outcomes[column].drop_nulls().n_unique()
        if n > 1 or column == "item":
            yield f"{n:,} {one if n == 1 else several}"
    n = outcomes["score"].null_count()
    if n:
        yield f"{n:,} without a score"


def _names(label: str, columns: Iterable[pl.Series]) -> Iterator[str]:
    names = sorted({_clean(name) for column in columns for name in levels_of(column)})
    if names:
        yield _line(label, _cut(names, len(names)))


def _cut(words: Sequence[str], n: int) -> str:
    """Return as many words as fit on the line, and how many more there are."""
    shown, room = list(words[:1]), _WIDTH - _LABEL - 2 - len(" and 9,999 more")
    for word in words[1:]:
        if len(", ".join([*shown, word])) > room:
            break
        shown.append(word)
    return ", ".join(shown) + (f" and {n - len(shown):,} more" if n > len(shown) else "")


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _clean(text: str) -> str:
    """Text from a file without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
