"""A frame of votes that is already in memory as `EvalData`."""

import hashlib
from collections.abc import Mapping

import polars as pl

from evalstats.errors import InputError
from evalstats.loaders.arena_cells import winner_of
from evalstats.schema.columns import column_names
from evalstats.schema.data import EvalData, Problem, with_distinct_names
from evalstats.schema.tables import as_polars, check_table, frame_from_rows

_SHOWN = 5
_FIRST, _SECOND = "\x00a", "\x00b"  # stand for the two models where a label is read apart from its row
_BOTH = "\x00?"
_MARK = "\x00"
_AMBIGUOUS = "labels of the winner are also names of its models"


def from_votes(
    frame: object,
    *,
    winner: str = "winner",
    model_a: str = "model_a",
    model_b: str = "model_b",
    arena: str = "votes",
    setting: str = "live",
    labels: Mapping[str, str] | None = None,
    **columns: str,
) -> EvalData:
    """Make `EvalData` of a table with one row for each vote between two models.

    Parameters
    ----------
    frame
        A pandas, Polars, pyarrow or DuckDB table, lazy or not, or a dict of columns.
    winner, model_a, model_b
        Names of the columns that hold who won and the models on the two sides. A winner may be given as "model_a",
        "left", "tie", "tie (bothbad)", "both_bad", "A>>B", ..., or as the name of one of the two models.
    arena
        What to call the votes.
    setting
        "live", or "lab" for votes of hired raters and judge models.
    labels
        What further labels stand for: `{"1": "a", "2": "b", "neither": "both_bad"}`.
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
    >>> data.comparisons["outcome"].to_list(), data.problems[0].message
    (['a', 'tie', None], "1 vote has a winner's label that is not known and counts for nobody: '?' (1)")
    """
    table = as_polars(frame)
    if not table.height:
        raise InputError("the frame holds no rows")
    renamed = _named(table, {"model_a": model_a, "model_b": model_b, "winner": winner, **columns})
    read, problems = _outcomes(renamed, {str(key).strip().lower(): value for key, value in (labels or {}).items()})
    digest = hashlib.sha256(table.hash_rows(seed=0).to_numpy().tobytes()).hexdigest()
    run = f"{arena}~{digest[:8]}"
    filled = read.with_columns(pl.lit(run).alias("run"))
    if "battle" not in filled.columns:
        filled = filled.with_columns(pl.int_range(pl.len()).cast(pl.String).alias("battle"))
    if "setting" not in filled.columns:
        filled = filled.with_columns(pl.lit(setting).alias("setting"))
    comparisons = check_table(filled, "comparisons", source="frame")
    scored = int((comparisons["status"] == "scored").sum())
    about = {
        "run": run,
        "benchmark": arena,
        "source": "frame",
        "source_digest": digest,
        "loader": "votes-frame",
        "loader_version": "1",
        "n_scored": scored,
        "n_error": 0,
        "n_unscored": comparisons.height - scored,
    }
    data = EvalData(comparisons=comparisons, runs=frame_from_rows([about], "runs"), problems=tuple(problems))
    return with_distinct_names(data)


def _named(table: pl.DataFrame, wanted: Mapping[str, str]) -> pl.DataFrame:
    """Give columns their standard names; a column that stands in the way of one becomes `source_<name>`."""
    standard = {*column_names("comparisons"), "winner"}
    for name, source in wanted.items():
        if name not in standard:
            raise InputError(f"{name!r} is no column of comparisons; use one of {', '.join(sorted(standard))}")
        if source not in table.columns:
            raise InputError(f"there is no column {source!r} for {name}; the table has {', '.join(table.columns)}")
    away = {name: f"source_{name}" for name in wanted if name in table.columns and wanted[name] != name}
    taken = {source: name for name, source in wanted.items()}
    if len(taken) < len(wanted):
        twice = [source for source in taken if list(wanted.values()).count(source) > 1]
        raise InputError(f"column {twice[0]!r} is named for two things; give each its own")
    return table.rename({name: new for name, new in away.items() if name not in taken} | taken)


def _outcomes(table: pl.DataFrame, labels: Mapping[str, str]) -> tuple[pl.DataFrame, list[Problem]]:
    """Read the labels, each distinct one once."""
    text = pl.col("winner").cast(pl.String)
    names_a = (text == pl.col("model_a").cast(pl.String)) & (pl.col("model_a") != pl.col("model_b"))
    names_b = (text == pl.col("model_b").cast(pl.String)) & (pl.col("model_a") != pl.col("model_b"))
    by_name = pl.when(names_a).then(pl.lit("a")).when(names_b).then(pl.lit("b"))
    both, names_count = _doubtful(table, text, by_name, labels)
    names_a, names_b = names_a & names_count, names_b & names_count
    label = (
        pl.when(both)
        .then(pl.lit(_BOTH))
        .when(names_a)
        .then(pl.lit(_FIRST))
        .when(names_b)
        .then(pl.lit(_SECOND))
        .otherwise(text)
    )
    itself = pl.col("model_a").cast(pl.String) == pl.col("model_b").cast(pl.String)
    marked = table.with_columns(label.alias(_MARK))
    read: list[dict[str, str | None]] = []
    for value in marked[_MARK].unique().to_list():
        outcome, strength, reason = _label(value, labels)
        read.append({_MARK: value, "outcome": outcome, "strength": strength, "status_reason": reason})
    schema = {_MARK: pl.String, "outcome": pl.String, "strength": pl.String, "status_reason": pl.String}
    kept = marked.drop([name for name in ("outcome", "status_reason", "status", "value_raw") if name in table.columns])
    own_strength = "strength" in kept.columns
    told = pl.DataFrame(read, schema=schema)
    joined = kept.join(
        told.drop("strength") if own_strength else told, on=_MARK, how="left", nulls_equal=True, maintain_order="left"
    )
    filled = joined.with_columns(
        pl.when(itself).then(None).otherwise(pl.col("outcome")).alias("outcome"),
        pl.when(itself)
        .then(pl.lit("a model against itself"))
        .otherwise(pl.col("status_reason"))
        .alias("status_reason"),
        text.alias("value_raw"),
    )
    scored = pl.when(pl.col("outcome").is_null()).then(pl.lit("unscored")).otherwise(pl.lit("scored"))
    done = filled.with_columns(scored.alias("status")).drop("winner", _MARK)
    return done, _problems(done)


def _doubtful(
    table: pl.DataFrame, text: pl.Expr, by_name: pl.Expr, labels: Mapping[str, str]
) -> tuple[pl.Expr, pl.Expr]:
    """Return which votes nobody gets, and whether a label may be a model's name.

    A model may be called "tie" or "b". Where its name and the label say different things, the other votes of the table tell
    which is meant; where they do not, every vote of that model is left out: those of one reading alone would be its wins.
    """
    own = _own_labels(table, labels)
    nobody, yes = pl.lit(value=False), pl.lit(value=True)
    if not own:
        return nobody, yes
    read = {**{value: _label(value, labels)[0] for value in table.select(text.unique())["winner"].drop_nulls()}}
    by_label = text.replace_strict({k: v for k, v in read.items() if v}, default=None, return_dtype=pl.String)
    said = table.select(label=by_label, name=by_name)
    if not (said["label"] != said["name"]).fill_null(value=False).any():
        return nobody, yes
    as_label = int((said["label"].is_not_null() & said["name"].is_null()).sum())
    as_name = int((said["label"].is_null() & said["name"].is_not_null()).sum())
    if as_label and not as_name:
        return nobody, nobody
    if as_name and not as_label:
        return nobody, yes
    called = [pl.col(side).cast(pl.String).is_in(list(own)) for side in ("model_a", "model_b")]
    return called[0] | called[1], yes


def _own_labels(table: pl.DataFrame, labels: Mapping[str, str]) -> dict[str, str]:
    """Return the names of models that would be read as labels too, with what they would say."""
    names = (
        pl.concat([table["model_a"].cast(pl.String), table["model_b"].cast(pl.String)]).drop_nulls().unique().to_list()
    )
    read = {name: _label(name, labels)[0] for name in names}
    return {name: outcome for name, outcome in read.items() if outcome is not None}


def _label(value: str | None, labels: Mapping[str, str]) -> tuple[str | None, str | None, str | None]:
    if value == _BOTH:
        return None, None, _AMBIGUOUS
    if value in {_FIRST, _SECOND}:
        return ("a" if value == _FIRST else "b"), None, None
    own = labels.get(value.strip().lower()) if value is not None else None
    found = winner_of({"winner": own or value}, _FIRST, _SECOND)
    return found.outcome, found.strength, found.reason


def _problems(table: pl.DataFrame) -> list[Problem]:
    """Tell of votes without an outcome, by label."""
    problems: list[Problem] = []
    lost = table.filter(pl.col("outcome").is_null())
    words = {
        "the winner's label is not known": "a winner's label that is not known",
        "there is no winner's label": "no winner's label",
        "a model against itself": "a model against itself",
        _AMBIGUOUS: "a model whose name is also a label of the winner",
    }
    for reason, told in words.items():
        rows = lost.filter(pl.col("status_reason") == reason)
        if not rows.height:
            continue
        shown = ""
        if reason.endswith("not known") or reason == _AMBIGUOUS:
            counted = rows["value_raw"].value_counts(sort=True)
            shown = ": " + ", ".join(f"{label[:40]!r} ({n})" for label, n in counted.head(_SHOWN).iter_rows())
        many, ends = (f"{rows.height:,} votes have", "") if rows.height > 1 else ("1 vote has", "s")
        message = f"{many} {told} and count{ends} for nobody{shown}"
        problems.append(Problem(path="frame", message=message, severity="note"))
    return problems
