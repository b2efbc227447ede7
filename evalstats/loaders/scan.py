"""Outcomes of a table that is too large to hold: equal rows are merged where the table lies, and only those are read."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from polars.selectors import by_name

from evalstats.errors import CannotAnswerError, InputError, Option, together
from evalstats.loaders.column_map import ORDER, STANDARD, ColumnMap, column_named
from evalstats.loaders.engines import open_table
from evalstats.loaders.frames import frame_map, tidy_frame
from evalstats.loaders.rows import GroupCounter
from evalstats.schema.columns import KEYS, MAX_TRIALS
from evalstats.schema.data import EvalData, Problem
from evalstats.store.manifest import is_store
from evalstats.store.merged import COSTS, CannotMergeError
from evalstats.store.read import open_store
from evalstats.table.items import TRIAL_LABELS, TRIALS, trial_sets
from evalstats.table.merged import (
    MOST_ROWS,
    N,
    RemoteTable,
    Trials,
    merged_rows,
    repeated_rows,
    trial_structs,
    trials_of,
)

# Standard columns that belong to single rows; to keep one would keep the rows apart.
_OF_ROWS = frozenset(
    {"trial", "n_trials", "value_raw", "status", "status_reason", "weight", "tags", "timestamp", "locator"}
    | {"n_turns", "cost_usd", "latency_s", "input_tokens", "output_tokens"}
)
_KEPT = frozenset({*STANDARD, "passage", "template"}) - _OF_ROWS
_KEY = tuple(name for name in KEYS["outcomes"] if name != "trial")
# What says, with the trial, which answer a row is; it cannot be two.
_IDENTITY = (*_KEY, "model", "system")
_SHOWN = 3


def scan(
    source: object,
    *,
    item: str | None = None,
    score: str | None = None,
    model: str | None = None,
    engine: str | None = None,
    trial: str | None = None,
    run: str | None = None,
    benchmark: str | None = None,
    system: str | None = None,
    variant: str | None = None,
    metric: str | None = None,
    values: Mapping[str, Mapping[str, str | float]] | None = None,
    metrics: Mapping[str, Mapping[str, object]] | None = None,
    scale: str | None = None,
    unscored: float | str | Iterable[float | str] = (),
    higher_is_better: bool | None = None,
    dependence: Iterable[str] = (),
    **columns: str,
) -> EvalData:
    """Make `EvalData` of a table too large to hold, by counting equal rows where it lies.

    Rows with the same item, model, score and other named columns become one, with their number. No score is added up on the
    way, so that every engine gives the same data. `compare`, `leaderboard`, `scenarios` and `score` answer as from all rows.
    Questions about single rows are refused.

    Parameters
    ----------
    source
        A Parquet file or a folder of them; with DuckDB also `"FILE.duckdb::TABLE"`, with Spark the name of a table; or a lazy
        Polars frame, a DuckDB relation or a Spark frame, whose own library does the work. Or a store, whose columns have names
        already: then nothing else is given but further columns to keep.
    item, score, model, run, benchmark, system, variant, metric, values, metrics, scale, unscored, higher_is_better, dependence
        As in `from_frame`, with one column of scores.
    engine
        What reads a path: "polars" (default), "duckdb" or "spark".
    trial
        Column that tells the trials of an item apart, which must differ. Which of them a row stands for is kept, so that
        intervals count what differs between whole runs. `"#order"` takes repeated items for trials: then nothing is checked,
        and no interval holds that. Left out, a repeated item is an error.
    **columns
        Further columns to keep (`scenario="dimension"`, `passage="source_text"`): clusters and factors. Others are left out,
        but for standard names such as scenario, user and session.

    Returns
    -------
    EvalData
        Outcomes: a row for every different one, `trial` null and `n_trials` its number where an item has several trials.

    Raises
    ------
    InputError
        If a column or the engine is not there, or an item stands twice.
    CannotAnswerError
        If more than 20 million rows differ: the merged table would be too large as well.

    Examples
    --------
    >>> import polars as pl
    >>> rows = {"question": ["q", "q", "q"], "right": [True, True, False], "llm": ["a"] * 3}
    >>> data = scan(pl.LazyFrame(rows), item="question", score="right", model="llm", trial="#order")
    >>> data.outcomes.select("model", "item", "score", "n_trials").rows()
    [('a', 'q', 0.0, 1), ('a', 'q', 1.0, 2)]
    """
    named = {"item": item, "model": model, "run": run, "benchmark": benchmark, "system": system, "variant": variant}
    if isinstance(source, str | Path) and is_store(source):
        given: dict[str, object] = {**named, "score": score, "trial": trial, "metric": metric}
        given |= {"values": values, "metrics": metrics, "scale": scale, "higher_is_better": higher_is_better}
        given |= {"unscored": unscored or None, "dependence": dependence or None}
        if told := [name for name, value in given.items() if value is not None]:
            raise InputError(f"{source} is a store, whose columns have names already; leave out {', '.join(told)}")
        return scan_store(source, engine, keep=columns.values())
    if item is None or score is None:
        raise InputError("a table needs the names of two columns: item=COLUMN and score=COLUMN")
    table = open_table(source, engine)
    facts = {"values": values, "metrics": metrics, "scale": scale, "dependence": dependence, "unscored": unscored}
    named |= {"trial": trial, "metric": metric, **columns}
    map_ = frame_map(named, [score], table.names, facts, higher_is_better=higher_is_better)
    return scan_mapped(table, map_, called=str(source) if isinstance(source, str | Path) else "table")


def scan_store(source: str | Path, engine: str | None = None, *, keep: Iterable[str] = ()) -> EvalData:
    """Merge the rows of a store, with every column that describes items and those of `keep`."""
    if engine not in (None, "polars"):
        raise InputError(f"{source} is a store, which Polars counts; leave out {Option('engine', engine)}")
    store = open_store(source)
    known = store.scan("outcomes").collect_schema()
    if lacking := [name for name in keep if name not in known]:
        raise InputError(f"there is no column {lacking[0]!r}; {source} has {', '.join(known)}")
    try:
        return store.read_merged(named=frozenset(keep), without=COSTS, always=True)
    except CannotMergeError as error:
        raise CannotAnswerError(
            f"{source} cannot be merged: {error}; its rows can be read one by one, without an engine"
        ) from error


def scan_mapped(
    table: RemoteTable, map_: ColumnMap, *, called: str, keep: Sequence[str] = (), most: int = MOST_ROWS
) -> EvalData:
    """Merge the rows of a table by the columns that a map names, those of standard names, and those of `keep`."""
    sources = {
        name: [column for source in found if (column := column_named(source)) is not None]
        for name, found in map_.columns.items()
    }
    _refuse(table, map_, sources)
    trial = sources.pop("trial", [])
    held = [column for found in sources.values() for column in found]
    further = {*map_.dependence, *keep}
    own = [name for name in table.names if name in held or name in further or (name in _KEPT and name not in trial)]
    trials = trials_of(table, trial[0]) if len(trial) == 1 and "trial" not in map_.values else None
    rows = merged_rows(table, list(dict.fromkeys([*own, *held])), trials=trials, most=most)
    if not rows.height:
        raise InputError(f"{called} holds no rows")
    if int(rows[N].max() or 0) > MAX_TRIALS:  # pyright: ignore[reportArgumentType] - a whole number
        raise InputError(
            f"a row is repeated {rows[N].max():,} times, more than the {MAX_TRIALS:,} trials that can be counted"
        )
    _refuse_judges(rows, sources)
    words = [] if trials is None else trials.words
    same = [name for name in rows.columns if name not in {N, *words, *sources.get("score", ("score",))}]
    naming = {column for name in _IDENTITY for column in sources.get(name, [name])}
    identity = [name for name in same if name in naming]
    sets = None if trials is None else trial_structs(rows, trials, identity)
    if trial and sets is None:
        _refuse_repeats(table, list(dict.fromkeys([*identity, *trial])))
    rows = rows.drop(words)
    # Numbers that tell the rows of one item apart until they are outcomes.
    places = GroupCounter().next(rows.select(by_name(same))).alias("trial")
    once = rows[N].max() == 1 and not (places > 0).any()
    counted = rows.with_columns(places).rename({N: "n_trials"})
    without = replace(map_, columns={name: found for name, found in map_.columns.items() if name != "trial"})
    data = tidy_frame(counted, without, called=called, merged=True)
    merged = _merged(_with_sets(data.outcomes, trials, sets), once=once)
    if not trial and map_.columns.get("trial") != (ORDER,):
        _refuse_trials(merged)
    left = [name for name in table.names if name not in {*rows.columns, *trial, "trial"}]
    runs = data.runs if once else _recounted(data.runs, merged)
    if sets is not None and trial != ["trial"]:
        own = pl.concat_list(pl.col("factor_names").fill_null([]), pl.lit(f"{trial[0]}=trial"))
        runs = runs.with_columns(own.alias("factor_names"))
    return replace(
        data,
        outcomes=merged,
        runs=runs,
        merged=bool(merged["trial"].null_count()),
        problems=(*data.problems, *_notes(called, merged, left)),
    )


def _refuse(table: RemoteTable, map_: ColumnMap, sources: Mapping[str, list[str]]) -> None:
    """Refuse what merged rows cannot tell."""
    if map_.columns.get("item") and not sources.get("item"):
        raise InputError(
            "rows of a table on an engine have no order, so items cannot be numbered; name a column: "
            f"{Option('map', blank='COLUMN', of='item')}"
        )
    if len(sources.get("score", ())) > 1 or (map_.columns.get("model", ()) and not sources.get("model")):
        raise InputError(
            "one column of scores is merged at a time; name one, with that of the model: "
            f"{together(Option('map', blank='COLUMN', of='score'), Option('map', blank='COLUMN', of='model'))}"
        )
    if "n_trials" in (*table.names, *map_.columns):
        raise InputError(
            "the rows name their n_trials, so they are averages already and not to be counted; read them as they are, without an "
            "engine"
        )
    lacking = [name for name in ("item", "score") if not sources.get(name) and name not in table.names]
    if lacking:
        raise InputError(
            f"no column is called {lacking[0]}; the table has {', '.join(table.names)}: name one, "
            f"{Option('map', blank='COLUMN', of=lacking[0])}"
        )
    for name, found in sources.items():
        if name != "trial" and (taken := [column for column in found if column in {"trial", "n_trials"}]):
            raise InputError(f"column {taken[0]!r} is named for the {name}; give it another name first")


def _refuse_judges(rows: pl.DataFrame, sources: Mapping[str, list[str]]) -> None:
    """Refuse the scores of several judges: they are averaged within a trial, and trials are not kept apart."""
    column = next(iter(sources.get("judge", ())), "judge")
    if column not in rows.columns or (n := rows[column].n_unique()) < 2:
        return
    raise InputError(
        f"the scores are those of {n} judges, which are averaged within a trial, and merged rows keep none apart: filter the "
        "table to one judge first"
    )


def _refuse_repeats(table: RemoteTable, columns: Sequence[str]) -> None:
    found = repeated_rows(table, columns, shown=_SHOWN)
    if not found.height:
        return
    first = found.sort(pl.nth(range(found.width)).cast(pl.String)).row(0, named=True)
    told = ", ".join(f"{name} {value!r}" for name, value in first.items() if name != N and value is not None)
    raise InputError(
        f"a row stands {first[N]:,} times with the same trial ({told}); drop the copies, or, to count all of them as trials: "
        f"{Option('map', '#order', of='trial')}"
    )


def _refuse_trials(merged: pl.DataFrame) -> None:
    several = merged.filter(pl.col("trial").is_null())
    if not several.height:
        return
    items = several.select(_KEY).n_unique()
    row = several.sort(_KEY).row(0, named=True)
    raise InputError(
        f"{items:,} items of a model stand in several rows (first: model {row['model']!r}, item {row['item']!r}); say what tells "
        f"repetitions apart: {Option('map', blank='COLUMN', of='trial')}, or, to count them all as trials: "
        f"{Option('map', '#order', of='trial')}"
    )


def _merged(outcomes: pl.DataFrame, *, once: bool) -> pl.DataFrame:
    """Return outcomes whose trials are numbers of equal rows: an item with one trial is as it would be in a table of rows.

    `once` says that each has one.
    """
    several = pl.lit(value=False) if once else pl.col("n_trials").sum().over(_KEY) > 1
    trial = pl.when(several).then(None).otherwise(0).cast(pl.Int64)
    return outcomes.with_columns(trial.alias("trial"), pl.lit(None, dtype=pl.String).alias("locator"))


def _with_sets(outcomes: pl.DataFrame, trials: Trials | None, sets: pl.Series | None) -> pl.DataFrame:
    """Put beside outcomes which trials they stand for."""
    if trials is None or sets is None:
        return outcomes
    place = outcomes["locator"].str.extract(r"(\d+)$").cast(pl.Int64)
    return outcomes.with_columns(sets.gather(place).alias(TRIAL_LABELS if trials.labelled else TRIALS))


def _recounted(runs: pl.DataFrame, outcomes: pl.DataFrame) -> pl.DataFrame:
    counts = outcomes.group_by("run").agg(
        pl.col("n_trials").filter(pl.col("status") == status).sum().alias(f"n_{status}")
        for status in ("scored", "error", "unscored")
    )
    names = [name for name in counts.columns if name != "run"]
    order = runs.columns
    return runs.drop(names).join(counts, on="run", how="left", maintain_order="left").select(order)


def _notes(called: str, outcomes: pl.DataFrame, left: Sequence[str]) -> list[Problem]:
    """Say what of the table is in the data and what is not."""
    total = int(outcomes["n_trials"].sum())
    said: list[str] = []
    if outcomes["trial"].null_count():
        unknown = trial_sets(outcomes) is None
        lost = "; which trials made up one run is not known, so no interval includes what differs between runs"
        said.append(f"{total:,} rows were merged into {outcomes.height:,}{lost if unknown else ''}")
    if left:
        more = ", ..." if len(left) > _SHOWN * 2 else ""
        said.append(
            f"columns dropped: {', '.join(left[: _SHOWN * 2])}{more}; to keep one, {Option('map', left[0], of=left[0])}"
        )
    return [Problem(path=called, message=each, severity="note") for each in said]
