"""A frame that is already in memory as `EvalData`: outcomes, or votes between two models."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import msgspec
import polars as pl

from evalstats.errors import InputError, Option, may_fit
from evalstats.grammar import and_list
from evalstats.loaders.arena_cells import labelled, sides_of
from evalstats.loaders.arena_records import Tally
from evalstats.loaders.arena_rows import winners_of
from evalstats.loaders.base import Source, count_statuses, counted_runs, read_head, with_digest
from evalstats.loaders.binder import NOTHING_FITS, thinned
from evalstats.loaders.blocks import BLOCK_ROWS, column_list, flat, frame_block
from evalstats.loaders.bound_columns import Binding, Survey, no_column
from evalstats.loaders.column_map import COLUMNS, FILE, FOLDER, OF_LEVELS, OF_VOTES, WAYS, ColumnMap
from evalstats.loaders.expressions import computed
from evalstats.loaders.look import Look, metric_offered
from evalstats.loaders.registry import read_source, sniffed
from evalstats.loaders.roles import has_role_by_name, is_known_benchmark, words_of
from evalstats.loaders.sampled_column import NOTHING_ASKED, AskedNames
from evalstats.loaders.score_table import LOADER as PUBLISHED
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.table import fitted, named_otherwise, watched
from evalstats.loaders.tidy import MOST_KEYS, Tidier
from evalstats.loaders.values import as_dict
from evalstats.schema.columns import TableName, column_names
from evalstats.schema.data import EvalData, Problem, with_distinct_names
from evalstats.schema.in_memory import as_polars, as_table
from evalstats.schema.names import name_of, names_of
from evalstats.schema.tables import check_table, frame_from_rows, levels_of

_NAME = "frame"
# What rows and the model are called where nothing else names them.
_CALLED = "table"
# Fewer are no sample of items.
_FEW_ITEMS: Final = 5


def from_frame(
    frame: object,
    *,
    item: str | None = None,
    score: str | Iterable[str] | None = None,
    model: str | None = None,
    models: Iterable[str] | None = None,
    trials: Iterable[str] | None = None,
    judges: Iterable[str] | None = None,
    items: Iterable[str] | None = None,
    run: str | None = None,
    benchmark: str | None = None,
    system: str | None = None,
    variant: str | None = None,
    trial: str | None = None,
    metric: str | None = None,
    values: Mapping[str, Mapping[str, str | float]] | None = None,
    metrics: Mapping[str, Mapping[str, object]] | None = None,
    scale: str | None = None,
    unscored: float | str | Iterable[float | str] = (),
    higher_is_better: bool | None = None,
    dependence: str | Iterable[str] = (),
    repeats: str | None = None,
    **columns: str,
) -> EvalData:
    """Make `EvalData` of a table with one row for each item and model.

    Parameters
    ----------
    frame
        A pandas, Polars, pyarrow or DuckDB table, lazy or not, or a dict of columns.
    item, score, model, run, benchmark, system, variant, trial, metric
        Name of the column that holds it. `"@text"` stands for one value on every row (`benchmark="@gsm8k"`);
        `item="#row"` numbers items by their place within each run, `trial="#order"` numbers repetitions. `score` may
        be a list of columns: each is then a metric of its own name. A column left out here is found by its standard
        name, if there is one of that name. Where item or score is left out, all three are found as in a file, by names
        and cells; a note in `problems` says which they are.
    models, trials, judges, items
        Columns that hold the scores of a model each, in place of `score` and `model`; or those of a repetition, a judge or an
        item each.
    values
        What labels stand for: `{"score": {"pass": 1, "fail": 0, "-1": "unscored"}}`.
    metrics
        What is known of metrics: `{"wer": {"higher_is_better": False, "low": 0}}`.
    scale
        Range of all scores: "percent", "proportion", or "1..5"; "0.." for a metric without a top.
    unscored
        Value that stands for no score, such as -1, or several; such rows are unscored and in no mean.
    higher_is_better
        Which way all scores are better; of one among several, `score="wer:lower"` says it, or `metrics`.
    dependence
        Columns whose levels make rows dependent, beside those given as passage, template, user or session.
    repeats
        Which of several rows of one item and model is kept: "first", "last", or "drop" for copies of whole rows.
    **columns
        Any other standard column (`scenario="dimension"`, `user="user_id"`, `error="exception"`), or a factor's new
        name. Columns that are not named at all are kept as factors, but for texts.

    Returns
    -------
    EvalData
        Outcomes, runs (one for each model, system and benchmark) and metrics; `problems` holds notes.

    Raises
    ------
    InputError
        If a column is not there, a score is not known, a row stands twice, or the frame is no table; or if it is not sure
        which columns are item and score: the message shows the calls that may fit.

    Examples
    --------
    >>> data = from_frame(
    ...     {"question_id": [1, 2, 1, 2], "correct": [True, False, True, None], "system": ["a", "a", "b", "b"]},
    ...     item="question_id",
    ...     score="correct",
    ...     model="system",
    ... )
    >>> data.models(), data.outcomes["score"].to_list(), data.outcomes["status"].to_list()[-1]
    (('a', 'b'), [1.0, 0.0, 1.0, None], 'unscored')
    """
    given = {"score": score, "models": models, "trials": trials, "judges": judges, "items": items}
    several = {name: names_of(found) for name, found in given.items() if found is not None}
    across = [OF_LEVELS[name] for name in several if name != "score"]
    named_so = {"item": item, "model": model, "trial": trial, **columns}
    if len(several) > 1 or any(named_so.get(name) is not None for name in across):
        raise InputError(
            "say score=COLUMN, and model=COLUMN where one names the model; or models=[...] for a column a model, trials=[...] "
            "for a column a repetition, judges=[...] for a column a judge, items=[...] for a column an item"
        )
    scores = next(iter(several.values()), ())
    named: dict[str, str | None] = {"item": item, "model": model, "run": run, "benchmark": benchmark, "system": system}
    named |= {"variant": variant, "trial": trial, "metric": metric, **columns, **dict.fromkeys(across, COLUMNS)}
    named = {role: None if name is None else name_of(name) for role, name in named.items()}
    of_file = next((role for role, name in named.items() if name in (FILE, FOLDER)), None)
    if of_file is not None:
        raise InputError(
            f"{of_file}={named[of_file]!r} is for files; a frame has none: give {of_file}='@NAME', or a column"
        )
    table = as_polars(as_table(frame))
    facts = {"values": values, "metrics": metrics, "scale": scale, "repeats": repeats}
    facts |= {"dependence": dependence, "unscored": unscored}
    map_ = frame_map(named, scores, table.columns, facts, higher_is_better=higher_is_better)
    if item is not None and scores:
        return tidy_frame(table, map_)
    data, _ = _completed(table, map_, NOTHING_ASKED)
    return data


def found_columns(frame: object, names: Mapping[str, Collection[str]]) -> tuple[EvalData, str] | None:
    """Make `EvalData` of a table whose columns nobody named, and say which were taken for what.

    A dict that holds dicts is what a file of a known format holds; None for any other. A table of a known format, such as votes
    or a published leaderboard, is read as its file is, which needs no word. `names` are those that a question uses, of "sides",
    "metrics" and "factors", and its own ("question"). Raises an `InputError` with the calls that may fit where it is not sure
    which columns are item and score.
    """
    document = cast("dict[str, object]", frame) if isinstance(frame, dict) else {}
    table = (
        document if any(isinstance(each, Mapping) for each in document.values()) else plain_table(cast("object", frame))
    )
    if (known := of_known_format(table)) is not None:
        return known, ""
    if isinstance(table, dict):
        return None
    sides, metrics, factors = (frozenset(names.get(name, ())) for name in ("sides", "metrics", "factors"))
    # Scores alone in a dict, under names that say nothing else, are those of systems.
    scores = isinstance(frame, dict) and all(dtype.is_numeric() for dtype in table.dtypes)
    if scores and not sides and not any(map(has_role_by_name, map(words_of, table.columns))):
        sides = frozenset(table.columns)
    asked = AskedNames(sides=sides, metrics=metrics, factors=factors, question=str(names.get("question", "")))
    return _completed(table, ColumnMap(), asked)


def plain_table(frame: object) -> pl.DataFrame:
    """Return a table as Polars holds it, without columns that are no results."""
    table = as_polars(frame)
    if not table.height:
        raise InputError("the table holds no rows")
    # Bytes and objects of Python are no results, and no JSON.
    return table.drop(name for name, dtype in table.schema.items() if _is_opaque(dtype))


def of_known_format(table: pl.DataFrame | dict[str, object]) -> EvalData | None:
    """Read a table or an object as a file that holds it, if that is of a known format; None where it is a table of one's own."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"{_CALLED}.{'json' if isinstance(table, dict) else 'jsonl'}")
        if isinstance(table, dict):
            try:
                path.write_bytes(msgspec.json.encode(table, enc_hook=lambda value: value.tolist()))
            except (TypeError, ValueError, AttributeError, RecursionError):
                return None  # no file of JSON holds it
        else:
            table[thinned(range(table.height))].write_ndjson(path)
        match, _ = sniffed(read_head(path))
        by_item = isinstance(table, dict) and not _sums_up(table)
        if match is None or match[0] is TABLE or (by_item and match[0] is PUBLISHED):
            return None
        if not isinstance(table, dict):
            table.write_ndjson(path)
        data = read_source(match[0], with_digest(Source(path=path)))
    told = tuple(replace(problem, path=_NAME) for problem in data.problems)
    return replace(data, runs=data.runs.with_columns(source=pl.lit(_NAME)), problems=told)


def _sums_up(document: Mapping[str, object]) -> bool:
    """Whether dicts of numbers hold metrics or benchmarks, by their names or since they are few, and no scores by item."""
    names = {name for inside in document.values() for name in as_dict(inside)}
    return len(names) < _FEW_ITEMS or any(
        has_role_by_name(words_of(name)) or is_known_benchmark(name) for name in names
    )


def _is_opaque(dtype: pl.DataType) -> bool:
    """Whether a column holds bytes or objects, also inside of lists and structs."""
    if isinstance(dtype, pl.Struct):
        return any(_is_opaque(cast("pl.DataType", each.dtype)) for each in dtype.fields)
    if isinstance(dtype, pl.List | pl.Array):
        return _is_opaque(cast("pl.DataType", dtype.inner))
    return isinstance(dtype, pl.Binary | pl.Object)


def _completed(table: pl.DataFrame, map_: ColumnMap, asked: AskedNames) -> tuple[EvalData, str]:
    """Read a table by the columns that are named and those that are found, and say which these are."""
    records = [flat(row) for row in table[thinned(range(table.height))].to_dicts()]
    columns = tuple(dict.fromkeys(name for row in records for name in row))
    look = Look(columns=columns, records=records)
    found = map_ if {"model_a", "model_b"} <= {*map_.columns} else look.completed(map_, asked)
    if found is None:
        fits = look.assigned(asked, None if map_ == ColumnMap() else map_)
        best = [[*named_otherwise(map_), *each.options] for each in fits if not (each.lacks or each.published)]
        calls = [_as_call([*options, *_one_model(ColumnMap.from_options(options), columns)]) for options in best]
        open_ = fits[0] if fits[0].lacks else NOTHING_FITS
        shown = may_fit(calls[:2]) if calls else f"Name them: {_as_call(open_.options)}"
        if "score=COLUMN" in fits[0].options and (offer := metric_offered(look, asked)):
            shown = f"No column looks like a score; {offer}"
        roles = OF_VOTES if asked.question == "arena" else ("item", "score")
        raise InputError(
            f"it is not sure which columns of this table are {and_list(roles)}; it has {column_list(columns)}. {shown}"
        )
    taken = [option for option in named_otherwise(found) if option not in named_otherwise(map_)]
    alone = _one_model(found, columns)
    found, taken = found.overlaid(ColumnMap.from_options(alone)), [*taken, *alone]
    said = f"the table is read as {_as_call(taken)}; give others if its columns mean something else"
    if {*OF_VOTES} & {*found.columns}:
        named: dict[str, Any] = {name: sources[0] for name, sources in found.columns.items()}
        named |= {name: f"@{value}" for name, value in found.constants.items()}
        data = from_votes(table, **named)
    else:
        apart = _CALLED if found.makes("item") and not map_.makes("item") else ""
        data = tidy_frame(table, found, rows_apart=apart, named=asked.factors)
    note = Problem(path=_NAME, message=said, severity="note")
    return (replace(data, problems=(note, *data.problems)), said) if taken else (data, "")


def _one_model(map_: ColumnMap, columns: Iterable[str]) -> list[str]:
    """Return what names the model of a table where no column does, as the option of a map."""
    named = {"model", "system", "model_a"} & {*columns, *map_.columns, *map_.constants} or "winner" in map_.columns
    return [] if named else [f"model=@{_CALLED}"]


def _as_call(options: Iterable[str]) -> str:
    """Write the options of a map as the call of `from_frame` that they are.

    >>> _as_call(["item=qid", "score=f1,em"])
    "evalstats.from_frame(table, item='qid', score=['f1', 'em'])"
    """
    pairs = [option.partition("=")[::2] for option in options]
    several = {"score", "dependence", *OF_LEVELS}
    given = [
        f"{name}={column}"
        if column == "COLUMN"
        else f"{name}={column.split(',') if name in several and ',' in column else column!r}"
        for name, column in pairs
    ]
    maker = "from_votes" if any(name == "winner" for name, _ in pairs) else "from_frame"
    return f"evalstats.{maker}({', '.join(['table', *given])})"


def frame_map(
    named: Mapping[str, str | None],
    scores: Iterable[str],
    columns: Iterable[str],
    facts: Mapping[str, object],
    *,
    higher_is_better: bool | None,
) -> ColumnMap:
    """Return the column map that the arguments of `from_frame` make for a table with these columns; `facts` are parts of it."""
    map_ = ColumnMap.from_pairs((name, source) for name, source in named.items() if source is not None)
    have, names = {*columns}, list[str]()
    directions = {} if higher_is_better is None else {"": higher_is_better}
    for score in scores:  # "wer:lower" says two things, unless there is a column of that name
        column, _, way = score.rpartition(":")
        is_directed = score not in have and column in have and way in WAYS
        names.append(column if is_directed else score)
        directions |= {column: WAYS[way]} if is_directed else {}
    tables = {**facts, **{name: [*names_of(facts[name])] for name in ("dependence", "unscored")}}
    tables["columns"] = {"score": names} if names else {}
    told = ColumnMap.from_tables(
        {name: part for name, part in tables.items() if part not in (None, [], {})}, where="from_frame"
    )
    return map_.overlaid(replace(told, directions=directions))


def tidy_frame(
    table: pl.DataFrame,
    map_: ColumnMap,
    *,
    called: str = _NAME,
    merged: bool = False,
    rows_apart: str = "",
    named: Iterable[str] = (),
) -> EvalData:
    """Make `EvalData` of a Polars frame and a column map.

    `called` is what the source is called; `merged` says that a row stands for `n_trials` equal ones, `rows_apart` what stands
    before the numbers of rows that are items of this table alone; `named` are columns that the question names.
    """
    if not table.height:
        raise InputError("the frame holds no rows")
    block = frame_block(table)
    said = map_
    map_, add = computed(map_, block.frame.columns, called)
    (block,) = add([block])
    survey = Survey(watched=watched(map_), named=map_.named.union(named))
    survey.add(block)
    binding = fitted(map_, survey, merged=merged)
    digest = _digest(block.frame, binding, survey)

    def name_run(parts: Iterable[str]) -> str:
        readable = ".".join(parts) or binding.constants["model"]
        return readable if "run" in binding.columns or "run" in binding.constants else f"{readable}~{digest[:8]}"

    tidier = Tidier(
        map_,
        binding,
        survey,
        "merged row" if merged else "row",
        name_run,
        merged=merged,
        reread=lambda: [block],
        rows_apart=rows_apart,
        said=said,
    )
    tidied = tidier.outcomes(block)
    tidier.check_unique()
    outcomes = check_table(tidied, "outcomes", source=called, keyed=tidied.height > MOST_KEYS)
    counts = dict[str, dict[str, int]]()
    count_statuses(outcomes, counts)
    if unknown := tidier.unknown_metrics():
        raise InputError(unknown)
    about = {"source": called, "source_digest": digest, "loader": _NAME, "loader_version": "2"}
    data = EvalData(
        outcomes=outcomes,
        runs=counted_runs(tidier.runs(), about, counts),
        metrics=frame_from_rows(tidier.metrics(), "metrics"),
        problems=(
            *(Problem(path=called, message=note, severity="note") for note in tidier.notes()),
            *(Problem(path=called, message=note, severity="detail") for note in tidier.details()),
        ),
    )
    return with_distinct_names(data)


def _digest(frame: pl.DataFrame, binding: Binding, survey: Survey) -> str:
    """Tell frames with different results apart, whatever library they came from: a model may have been run twice."""
    names = dict.fromkeys((*binding.columns.values(), *binding.scores.values()))
    held, digest, before = frame[[name for name in names if name not in survey.nested]], hashlib.sha256(), ""
    for part in held.iter_slices(BLOCK_ROWS):
        cells = pl.DataFrame(
            [
                column.cast(pl.String).fill_null("\x00").alias(f"{place}")
                for place, column in enumerate(part.iter_columns())
            ]
        )
        rows = cells.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()
        digest.update((before + rows.str.join("\x1e").item()).encode())
        before = "\x1e"
    return digest.hexdigest()


def in_standard_columns(
    table: pl.DataFrame, named: Mapping[str, str], kind: TableName, more: Sequence[str] = ()
) -> pl.DataFrame:
    """Give columns their standard names, or one of `more`; a column that stands in the way of one becomes `source_<name>`."""
    standard = {*column_names(kind), *more}
    for name, source in named.items():
        if name not in standard:
            raise InputError(f"{name!r} is no column of {kind}; use one of {', '.join(sorted(standard))}")
        if source not in table.columns:
            named_so = f"; name another: {Option('map', blank='COLUMN', of=name)}" if source == name else ""
            raise no_column(source, name, table.columns, named_so)
    names = {source: name for name, source in named.items()}
    if len(names) < len(named):
        twice = next(source for source in names if list(named.values()).count(source) > 1)
        raise InputError(f"column {twice!r} is named for two things; give each its own")
    away = {name: f"source_{name}" for name in named if name in table.columns and named[name] != name}
    return table.rename({name: new for name, new in away.items() if name not in names} | names)


def digest_of_rows(table: pl.DataFrame) -> str:
    """Tell tables apart that are not the same, by all of their cells."""
    return hashlib.sha256(table.hash_rows(seed=0).to_numpy().tobytes()).hexdigest()


def runs_of_frame(benchmark: str, digest: str, kind: str, counts: Mapping[str, Mapping[str, int]]) -> pl.DataFrame:
    """Make the runs of a frame of votes or ratings, of which `counts` says how many rows they have of each status."""
    about = {"benchmark": benchmark, "source": _NAME, "source_digest": digest}
    about |= {"loader": f"{kind}-{_NAME}", "loader_version": "1"}
    return counted_runs([{"run": name} for name in counts], about, counts)


_SAME: Final = "{n} votes have a model whose name is also a label of the winner; they count for nobody"


def from_votes(
    frame: object,
    *,
    winner: str = "winner",
    model_a: str = "model_a",
    model_b: str = "model_b",
    arena: str = "votes",
    setting: str = "live",
    labels: Mapping[str, str] | None = None,
    loser: str | None = None,
    **columns: str,
) -> EvalData:
    """Make `EvalData` of a table with one row for each vote between two models.

    Parameters
    ----------
    frame
        A pandas, Polars, pyarrow or DuckDB table, lazy or not, or a dict of columns.
    winner, model_a, model_b
        Names of the columns that hold who won and the models on the two sides. A winner may be given as "model_a",
        "left", "tie", "tie (bothbad)", "both_bad", "A>>B", ..., or as the name of one of the two models. `"@NAME"` is one
        model on that side in all votes.
    arena
        What to call the votes.
    setting
        "live", or "lab" for votes of hired raters and judge models.
    labels
        What further labels stand for: `{"1": "a", "2": "b", "neither": "both_bad"}`.
    loser
        In place of `model_a` and `model_b`: the column with the model that lost, where `winner` holds the one that won.
    **columns
        Any other standard column of `comparisons` and the column that holds it (`rater="user_id"`, `item="prompt_id"`,
        `session="conversation"`, `timestamp="tstamp"`). Columns that are not named are kept as factors.

    Returns
    -------
    EvalData
        One row of `comparisons` for each vote. A label that is missing or not known leaves the vote unscored, with a note;
        it is never taken for a tie. So does a model against itself.

    Raises
    ------
    InputError
        If a column is not there or named twice, or a name is no standard column.

    Examples
    --------
    >>> data = from_votes(
    ...     {"left": ["x", "x", "y"], "right": ["y", "z", "z"], "won": ["left", "tie", "?"], "user": [1, 1, 2]},
    ...     model_a="left",
    ...     model_b="right",
    ...     winner="won",
    ...     rater="user",
    ... )
    >>> data.comparisons["outcome"].to_list(), data.problems[0].message.partition(";")[0]
    (['a', 'tie', None], "1 of 3 votes have no outcome and are kept as unscored, not as ties ('?': 1)")
    """
    table = as_polars(frame)
    if not table.height:
        raise InputError("the frame holds no rows")
    if loser is not None:
        in_standard_columns(table, {"model_a": loser, "model_b": winner}, "comparisons")
        table = table.with_columns(**sides_of(table[winner], table[loser])).drop(loser)
        model_a, model_b = "model_a", "model_b"
    one = [side for side in (model_a, model_b) if side.startswith("@") and side not in table.columns]
    table = table.with_columns(pl.lit(side[1:]).alias(side) for side in one)
    labels = {model_a: "a", model_b: "b", **(labels or {})}  # a side may be called as its column
    renamed = in_standard_columns(
        table, {"model_a": model_a, "model_b": model_b, "winner": winner, **columns}, "comparisons", ("winner",)
    )
    tally = Tally()
    read = _with_outcomes(renamed, {str(key).strip().lower(): value for key, value in labels.items()}, tally)
    digest = digest_of_rows(table)
    run = f"{arena}~{digest[:8]}"
    filled = read.with_columns(pl.lit(run).alias("run"))
    if "battle" not in filled.columns:
        filled = filled.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("battle"))
    if "setting" not in filled.columns:
        filled = filled.with_columns(pl.lit(setting).alias("setting"))
    comparisons = check_table(filled, "comparisons", source="frame")
    counts = dict[str, dict[str, int]]()
    count_statuses(comparisons, counts)
    runs = runs_of_frame(arena, digest, "votes", counts)
    data = EvalData(comparisons=comparisons, runs=runs, problems=tuple(tally.problems(Source(path=Path(_NAME)), "row")))
    return with_distinct_names(data)


def _with_outcomes(table: pl.DataFrame, labels: dict[str, str], tally: Tally) -> pl.DataFrame:
    """Read the labels of the winner as those of a file are read.

    A model may be called "tie" or "b". Where its name and the label say different things, the other votes of the table tell
    which is meant; where they do not, every vote of that model is left out: those of one reading alone would be its wins.
    """
    text, *sides = (table[name].cast(pl.String) for name in ("winner", "model_a", "model_b"))

    def read(words: list[str]) -> dict[str, str]:
        found = {word: labelled(labels.get(word.strip().lower(), word), "", "").outcome for word in words}
        return {word: outcome for word, outcome in found.items() if outcome}

    by_label = text.replace_strict(read(levels_of(text)), default=None, return_dtype=pl.String)
    named = [
        pl.when((text == side) & (sides[0] != sides[1])).then(pl.lit(letter))
        for side, letter in zip(sides, "ab", strict=True)
    ]
    by_name = pl.select(pl.coalesce(*named)).to_series()
    meant = text
    if (by_label != by_name).any():
        as_label = (by_label.is_not_null() & by_name.is_null()).any()
        as_name = (by_label.is_null() & by_name.is_not_null()).any()
        chosen = by_label if as_label else by_name
        meant = chosen.set(~chosen.is_in(["a", "b"]).fill_null(value=False), None)
        meant = ("\x00" + meant).fill_null(text)
        if as_label == as_name:
            own = read(levels_of(pl.concat(sides)))
            doubtful = sides[0].is_in([*own]) | sides[1].is_in([*own])
            meant = text.set(doubtful, None)
            tally.counts[_SAME] += int(doubtful.sum())
    won = winners_of(meant, sides, {**labels, "\x00a": "a", "\x00b": "b"}, tally)
    kept = {name: cells for name, cells in won.items() if name != "strength" or name not in table.columns}
    return table.with_columns(**{**kept, "value_raw": text}).drop("winner")


FROM_ROWS = 2_000_000


def scan_votes(paths: Sequence[Path], *, at_least: int = FROM_ROWS) -> pl.LazyFrame | None:
    """Return the votes of one Parquet file as a lazy frame; None where it is not one, or has fewer rows than `at_least`.

    The file names its columns as arenas do: model_a, model_b, and `winner` or `outcome`.
    """
    if len(paths) != 1 or paths[0].suffix.lower() != ".parquet" or not paths[0].is_file():
        return None
    try:
        frame = pl.scan_parquet(paths[0])
        names = set(frame.collect_schema().names())
        if not names >= {"model_a", "model_b"} or not names & {"winner", "outcome"}:
            return None
        rows = int(frame.select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return None  # the usual loader says what is wrong with it
    return frame if rows >= at_least else None
