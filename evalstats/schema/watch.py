"""Looks at the columns that anonymising keeps readable: which of them could tell who somebody is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import polars as pl

from evalstats.schema.columns import TableName
from evalstats.schema.identifying import holds_ids

# Rows of a source that are looked at: enough to see what a column holds, and little beside reading them.
MAX_ROWS: Final = 200_000
# A level of one among fewer is no rare level; a match with fewer people is chance.
_MIN_UNITS: Final = 10
_MIN_PEOPLE: Final = 5
_NEARLY: Final = 0.9

_PEOPLE: Final = ("user", "rater", "session")
_ITEMS: Final = ("item", "battle")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A column as it may be read.

    Attributes
    ----------
    series
        Its values, null where a pseudonym stands.
    measure
        Whether it counts or measures, so that values which occur once are nothing special.
    """

    series: pl.Series
    measure: bool = False


@dataclass(slots=True)
class Watch:
    """Remembers, by digests, which levels of kept columns go with which people.

    Examples
    --------
    >>> frame = pl.DataFrame({"user": [f"u{i % 12}" for i in range(48)], "item": "q"})
    >>> watch = Watch()
    >>> watch.look("outcomes", frame, [Kept(series=pl.Series("tier", [i % 12 for i in range(48)]))])
    >>> watch.alone(), watch.matching()
    ({'tier': 12}, ('tier',))
    """

    _rows: dict[TableName, int] = field(default_factory=dict[TableName, int])
    _parts: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])

    def look(self, table: TableName, frame: pl.DataFrame, columns: Sequence[Kept]) -> None:
        """Look at kept columns of some more rows, beside the rows as they were read."""
        room = MAX_ROWS - self._rows.get(table, 0)
        if room <= 0:
            return
        self._rows[table] = self._rows.get(table, 0) + frame.height
        ids = [name for name in frame.columns if name not in (*_PEOPLE, *_ITEMS) and holds_ids(name)]
        person = _first_of(frame.head(room), (*_PEOPLE, *ids))
        unit = pl.select(pl.coalesce(person, _first_of(frame.head(room), _ITEMS))).to_series()
        for kept in columns:
            long = pl.DataFrame({"level": kept.series.head(room), "person": person, "unit": unit})
            if isinstance(kept.series.dtype, pl.List):
                long = long.explode("level")
            level = pl.col("level").cast(pl.String)
            self._parts.append(
                long.filter(level.is_not_null() & (level != "")).select(
                    pl.lit(kept.series.name).alias("column"),
                    pl.lit(kept.measure).alias("measure"),
                    level.hash().alias("level"),
                    pl.when(pl.col("person").is_not_null()).then(pl.col("person").hash()).alias("person"),
                    pl.col("unit").hash().alias("unit"),
                )
            )

    def alone(self) -> dict[str, int]:
        """Count the levels of each column of labels that one person alone has (or one item, where no people are known)."""
        if not self._parts:
            return {}
        labels = pl.concat(self._parts).filter(~pl.col("measure"))
        many = labels.group_by("column").agg(pl.col("unit").n_unique()).filter(pl.col("unit") >= _MIN_UNITS)
        levels = labels.join(many.select("column"), on="column").group_by("column", "level")
        single = levels.agg(pl.col("unit").n_unique()).filter(pl.col("unit") == 1)
        return dict(single.group_by("column").len().sort("column").iter_rows())

    def matching(self) -> tuple[str, ...]:
        """Name the columns that have nearly one level for each person, and one person for each level."""
        if not self._parts:
            return ()
        rows = pl.concat(self._parts).drop_nulls("person")
        shares = [
            rows.group_by("column", of)
            .agg(pl.col(to).n_unique())
            .group_by("column")
            .agg((pl.col(to) == 1).mean().alias(f"sure_{of}"), pl.len().alias(f"n_{of}"))
            for of, to in (("level", "person"), ("person", "level"))
        ]
        sizes = rows.group_by("column").agg(pl.len().alias("rows"), pl.col("measure").first())
        # Where everybody has one row, any measure has one value for each person.
        repeated = ~pl.col("measure") | (pl.col("rows") >= 2 * pl.col("n_person"))
        found = shares[0].join(shares[1], on="column").join(sizes, on="column")
        found = found.filter(
            pl.min_horizontal("sure_level", "sure_person") >= _NEARLY,
            pl.min_horizontal("n_level", "n_person") >= _MIN_PEOPLE,
            repeated,
        )
        return tuple(found["column"].sort())


def _first_of(frame: pl.DataFrame, names: Sequence[str]) -> pl.Series:
    """Return the first value of each row among some columns, as text."""
    here = [frame[name].cast(pl.String) for name in names if name in frame.columns]
    nothing = pl.Series([None], dtype=pl.String).new_from_index(0, frame.height)
    return pl.select(pl.coalesce(*here, nothing)).to_series() if here else nothing
