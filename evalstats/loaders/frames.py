"""A frame that is already in memory as `EvalData`."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.binding import Binding
from evalstats.loaders.blocks import Survey, frame_block
from evalstats.loaders.mapping import WAYS, ColumnMap
from evalstats.loaders.table import fitted
from evalstats.loaders.tidy import Tidier
from evalstats.schema.data import EvalData, Problem, with_distinct_names
from evalstats.schema.tables import as_polars, check_table, frame_from_rows

_NAME = "frame"


def from_frame(
    frame: object,
    *,
    item: str,
    score: str | Iterable[str],
    model: str | None = None,
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
    dependence: Iterable[str] = (),
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
        name, if there is one of that name.
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
    **columns
        Any other standard column (`scenario="dimension"`, `user="user_id"`, `error="exception"`), or a factor's new
        name. Columns that are not named at all are kept as factors.

    Returns
    -------
    EvalData
        Outcomes, runs (one for each model, system and benchmark) and metrics; `problems` holds notes.

    Raises
    ------
    InputError
        If a column is not there, a score is not known, a row stands twice, or the frame is no table.

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
    named = {
        "item": item,
        "model": model,
        "run": run,
        "benchmark": benchmark,
        "system": system,
        "variant": variant,
        "trial": trial,
        "metric": metric,
        **columns,
    }
    map_ = ColumnMap.from_pairs((name, source) for name, source in named.items() if source is not None)
    table = _as_table(frame)
    scores, directions = _with_directions((score,) if isinstance(score, str) else tuple(score), table.columns)
    if higher_is_better is not None:
        directions[""] = higher_is_better
    codes = [unscored] if isinstance(unscored, float | int | str) else list(unscored)
    tables: dict[str, object] = {"columns": {"score": list(scores)}}
    extra = {
        "values": values,
        "metrics": metrics,
        "scale": scale,
        "dependence": list(dependence) or None,
        "unscored": codes or None,
    }
    tables.update({name: part for name, part in extra.items() if part is not None})
    told = ColumnMap.from_tables(tables, where="from_frame")
    return tidy_frame(table, map_.overlaid(replace(told, directions=directions)))


def _with_directions(scores: Iterable[str], columns: Iterable[str]) -> tuple[list[str], dict[str, bool]]:
    """Take "wer:lower" apart, unless there is a column of that name."""
    have, names, directions = set(columns), list[str](), dict[str, bool]()
    for score in scores:
        column, _, way = score.rpartition(":")
        if score not in have and column in have and way in WAYS:
            directions[column] = WAYS[way]
            names.append(column)
        else:
            names.append(score)
    return names, directions


def tidy_frame(table: pl.DataFrame, map_: ColumnMap) -> EvalData:
    """Make `EvalData` of a Polars frame and a column map.

    Raises
    ------
    InputError
        As `from_frame` does.
    """
    if not table.height:
        message = "the frame holds no rows"
        raise InputError(message)
    block = frame_block(table)
    survey = Survey()
    survey.add(block)
    binding = fitted(map_, survey)
    digest = _digest(block.frame, binding, survey)

    def name_run(parts: Iterable[str]) -> str:
        readable = ".".join(parts) or binding.constants["model"]
        return readable if "run" in binding.columns or "run" in binding.constants else f"{readable}~{digest[:8]}"

    tidier = Tidier(map_, binding, survey, "row", name_run)
    outcomes = check_table(tidier.outcomes(block), "outcomes", source=_NAME)
    counts = outcomes.group_by("run", "status").len()
    if unknown := tidier.unknown_metrics():
        raise InputError(unknown)
    runs = [
        {
            **row,
            "source": _NAME,
            "source_digest": digest,
            "loader": _NAME,
            "loader_version": "2",
            **{f"n_{status}": _count(counts, str(row["run"]), status) for status in ("scored", "error", "unscored")},
        }
        for row in tidier.runs()
    ]
    data = EvalData(
        outcomes=outcomes,
        runs=frame_from_rows(runs, "runs"),
        metrics=frame_from_rows(tidier.metrics(), "metrics"),
        problems=tuple(Problem(path=_NAME, message=note, severity="note") for note in tidier.notes()),
    )
    return with_distinct_names(data)


def _count(counts: pl.DataFrame, run: str, status: str) -> int:
    return int(counts.filter(run=run, status=status)["len"].sum())


def _as_table(frame: object) -> pl.DataFrame:
    try:
        return as_polars(frame)
    except InputError:
        raise
    except (TypeError, ValueError, ImportError, NotImplementedError, pl.exceptions.PolarsError) as error:
        message = f"the frame cannot be read ({error}); a column of mixed types must be made text first"
        raise InputError(message) from error


def _digest(frame: pl.DataFrame, binding: Binding, survey: Survey) -> str:
    """Tell frames with different results apart, whatever library they came from: a model may have been run twice."""
    names = dict.fromkeys((*binding.columns.values(), *binding.scores.values()))
    cells = pl.DataFrame(
        [
            frame[name].cast(pl.String).fill_null("\x00").alias(f"{place}")
            for place, name in enumerate(names)
            if name not in survey.nested
        ]
    )
    rows = cells.select(pl.concat_str(pl.all(), separator="\x1f")).to_series()
    return hashlib.sha256(rows.str.join("\x1e").item().encode()).hexdigest()
