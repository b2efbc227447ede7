"""Which systems a leaderboard lists: every one in the data or the ones named, each with its own rows."""

from collections.abc import Sequence

import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.analysis.arms import Arm, Metric, choose_metric, listed, make_arm, rows_named
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData

# The column that names the entry of a row.
ENTRY = f"{HELPER}entry"
_KEY = ("run", "benchmark", "task", "item", "variant", "trial", "metric", "judge")


def entries_of(
    data: EvalData, *, metric: str | None, models: Sequence[str] | None, contrast: str, least: int = 2
) -> tuple[Metric, tuple[Arm, ...], tuple[str, ...]]:
    """Find the systems to rank, and the metric that all of them have.

    With `contrast="model"` every distinct system is an entry (a system defaults to its model); a system name that stands
    for several models is one entry for each of them. With any other column, every level of it.

    Parameters
    ----------
    models
        Names to keep, as in `compare`: runs, systems, models, or levels of `contrast`. None keeps every entry.
    least
        How many systems the question needs: two to rank them, one to ask where it breaks.

    Returns
    -------
    tuple
        The metric, the entries sorted by name (as named, where they were), and notes on what was left out.

    Raises
    ------
    InputError
        If a name matches nothing, two names stand for the same rows, a metric or benchmark has to be chosen, or one entry
        has several runs of the same trials: repetitions count as trials only where their trial numbers differ.
    CannotAnswerError
        If fewer than two entries have rows of the metric.
    """
    if models is not None and len(models) < least:
        message = f"models names {plural(len(models), 'system')}; a leaderboard needs two, and `score` takes one"
        raise InputError(message)
    labelled, notes = _labelled(data.outcomes, contrast) if models is None else _named(data, models, contrast)
    chosen = choose_metric(data, labelled, metric, contrast=contrast)
    own = labelled.filter((pl.col("benchmark") == chosen.benchmark) & (pl.col("metric") == chosen.name))
    with_rows: list[str] = own[ENTRY].unique().sort().to_list()
    every = labelled[ENTRY].unique().sort().to_list() if models is None else list(models)
    absent = [name for name in every if name not in set(with_rows)]
    if absent and models is not None:
        message = f"{absent[0]!r} has no {chosen.name!r} on {chosen.benchmark}; those that do are {listed(with_rows)}"
        raise InputError(message)
    if absent:
        notes = (
            *notes,
            f"{len(absent)} of {len(every)} systems have no {chosen.name!r} and are not listed: {listed(absent)}",
        )
    if len(with_rows) < least:
        message = (
            f"a leaderboard needs two systems with {chosen.name!r}; there is {listed(with_rows)} alone: "
            "`score` gives a single system's score"
        )
        raise CannotAnswerError(message)
    parts = own.partition_by(ENTRY, as_dict=True, include_key=False)
    order = with_rows if models is None else every
    return chosen, tuple(_arm(parts[(name,)], name, chosen) for name in order), notes


def entry_of(arms: Sequence[Arm], name: str) -> str:
    """Return the entry that a name means: its own name, or that of the run or model that it alone holds.

    Raises
    ------
    InputError
        If it is none, or several entries hold it.
    """
    names = [arm.name for arm in arms]
    if name in names:
        return name
    held = [
        arm.name
        for arm in arms
        if any(name in arm.rows[column].unique().to_list() for column in ("run", "system", "model"))
    ]
    if len(held) == 1:
        return held[0]
    problem = f"stands for {len(held)} of the systems listed" if held else "is none of the systems listed"
    message = f"the baseline {name!r} {problem}: {listed(held or names)}"
    raise InputError(message)


def _labelled(outcomes: pl.DataFrame, contrast: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Name the entry of every row; rows without a level of the contrast have none and are left out."""
    if contrast == "model":
        several = (
            outcomes.select("system", "model").unique().group_by("system").len().filter(pl.col("len") > 1)["system"]
        )
        split = pl.col("system").is_in(several.to_list())
        both = pl.concat_str("model", pl.lit(" ("), "system", pl.lit(")"))
        notes = [f"{name!r} stands for several models, and each is an entry of its own" for name in several.sort()]
        return outcomes.with_columns(pl.when(split).then(both).otherwise(pl.col("system")).alias(ENTRY)), tuple(notes)
    found = outcomes.with_columns(outcomes[contrast].cast(pl.String).alias(ENTRY))
    without = found[ENTRY].null_count()
    left_out = (f"{without} of {found.height} rows have no level of {contrast} and are left out",) if without else ()
    return found.filter(pl.col(ENTRY).is_not_null()), left_out


def _named(data: EvalData, names: Sequence[str], contrast: str) -> tuple[pl.DataFrame, tuple[str, ...]]:
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        message = f"{twice!r} is named twice; name every system once"
        raise InputError(message)
    parts = [
        rows_named(data.outcomes, name, contrast=contrast, role="system").with_columns(pl.lit(name).alias(ENTRY))
        for name in names
    ]
    rows = pl.concat(parts) if parts else data.outcomes.with_columns(pl.lit("").alias(ENTRY)).clear()
    shared = rows.filter(rows.select(_KEY).is_duplicated()).sort(*_KEY, nulls_last=True)
    if shared.height:
        message = (
            f"{listed(shared[ENTRY].head(2))} share rows of the run {shared['run'][0]!r}: a system cannot stand in a leaderboard "
            "twice; name runs, systems or models without rows in common"
        )
        raise InputError(message)
    return rows, ()


def _arm(rows: pl.DataFrame, name: str, metric: Metric) -> Arm:
    try:
        return make_arm(rows, name, metric, role="system")
    except InputError as error:
        message = f"{error}; keep one of them, or make every run an entry of its own with contrast 'run'"
        raise InputError(message) from error
