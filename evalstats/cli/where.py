"""`--where COLUMN=LEVEL`: the same rows of every table that a command may answer from."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evalstats.cli.output import say
from evalstats.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from evalstats.schema.columns import TableName
    from evalstats.schema.data import EvalData

_CALLED: Final[Mapping["TableName", str]] = {
    "outcomes": "scores of items",
    "comparisons": "votes",
    "ratings": "ratings",
    "aggregates": "published numbers",
}


def conditions(where: Sequence[str] | None) -> dict[str, list[str]]:
    """Return the levels that every column of --where is to have.

    InputError if a condition is none.

    >>> conditions(["split=test", "lang=de", "lang=en"])
    {'split': ['test'], 'lang': ['de', 'en']}
    """
    wanted: dict[str, list[str]] = {}
    for condition in where or ():
        name, equals, level = condition.partition("=")
        if not equals:
            raise InputError(f"--where {condition!r} is not COLUMN=LEVEL")
        wanted.setdefault(name, []).append(level)
    return wanted


def filtered(data: "EvalData", where: Sequence[str] | None, *, quiet: bool = False) -> "EvalData":
    """Keep the rows that every COLUMN=LEVEL names; the same column twice means either level.

    A table that lacks a column or a level is left out as a whole, and that is said: nothing is answered from rows that were
    not asked for. InputError if that would leave nothing.
    """
    wanted = conditions(where)
    if not wanted:
        return data
    left: dict[TableName, pl.DataFrame] = {}
    lacking: list[tuple[TableName, InputError]] = []
    for name in _CALLED:
        if data.table(name).height:
            try:
                left[name] = _kept(data, name, where or (), wanted)
            except InputError as error:
                left[name] = data.table(name).clear()
                lacking.append((name, error))
    if lacking and len(lacking) == len(left):
        raise lacking[0][1]
    for name, error in lacking:
        say(f"note: --where leaves out {data.table(name).height:,} {_CALLED[name]}: {error}", quiet=quiet)
    return replace(data, **left)


def _kept(
    data: "EvalData", name: "TableName", where: Sequence[str], wanted: Mapping[str, Sequence[str]]
) -> "pl.DataFrame":
    from evalstats.analysis.leaderboard.published import keep_published

    if name == "outcomes":
        return data.where(**wanted).outcomes
    if name == "comparisons":
        return with_votes_of(data, where).comparisons
    if name == "aggregates":
        return keep_published(data, wanted).aggregates
    frame = data.ratings
    for column, levels in wanted.items():
        if column not in frame.columns:
            raise InputError(f"ratings have no column {column!r}; they have {', '.join(frame.columns)}")
        keep = _among(frame[column], levels)
        if not keep.any():
            raise InputError(f"no rating has {column} {' or '.join(map(repr, levels))}; {_levels_of(frame[column])}")
        frame = frame.filter(keep.fill_null(value=False))
    return frame


def with_votes_of(data: "EvalData", where: Sequence[str] | None) -> "EvalData":
    """Keep the votes that every COLUMN=LEVEL names; the same column twice means either level.

    `model` means either side of a vote. InputError if a condition is none, or no vote has such a column or level.
    """
    frame = data.comparisons
    wanted = conditions(where)
    for name, levels in wanted.items():
        sides = ["model_a", "model_b"] if name == "model" else [name]
        if not set(sides) <= set(frame.columns):
            raise InputError(f"votes have no column {name!r}; they have {', '.join(frame.columns)}")
        among = [_among(frame[column], levels) for column in sides]
        keep = among[0] if len(among) == 1 else among[0] | among[1]
        if not keep.any():
            raise InputError(f"no vote has {name} {' or '.join(map(repr, levels))}; {_levels_of(frame[sides[0]])}")
        frame = frame.filter(keep.fill_null(value=False))
    return replace(data, comparisons=frame) if wanted else data


def _among(column: "pl.Series", levels: Sequence[str]) -> "pl.Series":
    """Return which votes have one of the levels; of a list (tags), which hold one."""
    import polars as pl

    if isinstance(column.dtype, pl.List):
        return column.list.set_intersection(pl.Series([list(levels)])).list.len() > 0
    return column.cast(pl.String).is_in(list(levels))


def _levels_of(column: "pl.Series") -> str:
    import polars as pl

    values = column.explode() if isinstance(column.dtype, pl.List) else column
    found = values.cast(pl.String).drop_nulls().unique().sort().head(12).to_list()
    return f"there is {', '.join(map(repr, found))}" if found else "it has no value in any row"
