"""Take out of tables who somebody is and what they wrote, keep which rows belong together, and count what was done."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Final

import polars as pl

from evalstats.errors import InputError, Option
from evalstats.record import record
from evalstats.schema.columns import TABLES, TableName, holds_ids, holds_labels, holds_text, is_measure, is_personal
from evalstats.schema.data import EvalData, Problem
from evalstats.schema.pseudonyms import (
    Pseudonyms,
    is_model_name,
    is_no_label,
    is_text,
    kept_note,
    kept_reason,
    mapped,
    matching,
    reason_class,
    settings_only,
)
from evalstats.schema.tables import factor_columns


@dataclass(slots=True, kw_only=True)
class Account:
    """What was taken out of which column.

    `hashed`, `dropped` and `telling` count values by column: those for which pseudonyms stand, those that are gone, and those
    that were texts or ids in a column of labels. `unknown` columns hold pseudonyms since nothing is known of them, `gone`
    factors are dropped whole, `days` says that times were cut. `kept` columns can be read as they were; `alone` counts their
    levels that one person (or item) alone has, and `singling` ones have nearly one level for each person.

    >>> Account(hashed=Counter(rater=3), dropped=Counter(text=0), days=True).lines()
    ('pseudonyms in place of rater (3)', 'times are cut to the day (UTC), since a moment can be looked up in a log')
    """

    hashed: Counter[str] = field(default_factory=Counter[str])
    dropped: Counter[str] = field(default_factory=Counter[str])
    telling: Counter[str] = field(default_factory=Counter[str])
    unknown: set[str] = field(default_factory=set[str])
    gone: set[str] = field(default_factory=set[str])
    days: bool = False
    kept: set[str] = field(default_factory=set[str])
    alone: Counter[str] = field(default_factory=Counter[str])
    singling: set[str] = field(default_factory=set[str])

    def lines(self) -> tuple[str, ...]:
        """Return it in words."""
        said = (
            ("pseudonyms in place of", self.hashed),
            ("dropped:", self.dropped),
            ("texts or ids where labels were expected, replaced or dropped (reasons cut to a class):", self.telling),
        )
        lines = [f"{words} {_listed(+counts)}" for words, counts in said if +counts]
        if self.unknown:
            named = ", ".join(sorted(self.unknown))
            lines.append(
                f"of unknown columns only which rows share a value is kept: {named} "
                f"({Option('keep', blank='COLUMN')} keeps it readable)"
            )
        if self.days:
            lines.append("times are cut to the day (UTC), since a moment can be looked up in a log")
        return (*lines, *self._readable())

    def _readable(self) -> list[str]:
        """Say what can still be read, and which of it may tell who somebody is."""
        lines: list[str] = []
        if self.kept:
            lines.append(f"kept as they are, besides models, metrics and results: {', '.join(sorted(self.kept))}")
        if self.singling:
            named = ", ".join(sorted(self.singling))
            lines.append(
                f"warning: nearly one value for each person, which may say who it is, in {named}; rename the column to end in "
                "_id and it is replaced"
            )
        if +self.alone:
            lines.append(
                f"warning: labels that one person or item alone has, in {_listed(+self.alone)}; a rare label may be a name, so "
                "look at them before the store or a report is handed on"
            )
        return lines


def together(accounts: Iterable[Account]) -> Account:
    """Add up the accounts of several sources.

    >>> together([Account(hashed=Counter(user=1)), Account(hashed=Counter(user=2))]).hashed["user"]
    3
    """
    total = Account()
    for each, entry in product(accounts, fields(Account)):
        own, more = getattr(total, entry.name), getattr(each, entry.name)
        setattr(total, entry.name, own + more if isinstance(own, Counter) else own | more)
    return total


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} ({n:,})" for name, n in counts.items())


# Raised whenever the rules change, so that what was read under older ones is read again.
RULES: Final = "2"
_REDACTED: Final = "not told (anonymised)"
# Ids and moments written as numbers.
_LARGEST: Final = 1e8
_ALWAYS: Mapping[TableName, tuple[str, ...]] = {
    "outcomes": ("user", "session"),
    "comparisons": ("battle", "event", "rater", "session"),
    "ratings": ("item",),
}
# Labels of ours; one that is a text after all becomes a pseudonym, so that cells stay apart.
_LABELS: Final = ("task", "variant", "scenario", "app", "language", "phase", "criterion", "label")
# Who has a column of these with something in it did the row.
_USERS: Final = ("user", "rater", "session")
# Tables with a row for each thing that somebody did; the others are about models.
_ROWS: Final = ("outcomes", "comparisons", "ratings")
# Numbers of the glossary that are what a row is about, and are not listed among what is kept.
_RESULTS: Final = ("score", "preference", "value", "label_prob")
_Rule = Callable[[pl.Series, pl.DataFrame], pl.Series]


class Anonymizer:
    """Anonymises tables batch by batch under a key of 32 secret bytes, and remembers what it did.

    The same key gives the same pseudonyms in every file. `keep` are factors whose labels may be read although their names
    tell nothing.
    """

    def __init__(self, key: bytes, *, keep: Iterable[str] = ()) -> None:
        self.names = Pseudonyms(key)
        self._keep = tuple(dict.fromkeys(keep))
        for name in self._keep:
            if holds_ids(name) or is_personal(name) or holds_text(name):
                raise InputError(f"{name!r} is not kept: by its name it holds ids or texts; rename it if it does not")
        self._account = Account()
        self._watch = Watch()
        self._looked = False  # whether something was looked at since the account was last told
        self._kept: list[ReadableColumn] = []
        self._rules: Mapping[str, _Rule] = {
            **dict.fromkeys(_LABELS, self._labels),
            "run": lambda series, _: mapped(series, self.names.of_run),
            "timestamp": self._to_day,
            "item": self._items,
            "judge": self._people,
            "rater": self._people,
            "tags": self._tags,
            "locator": self._null,
            "link": self._null,
            "value_raw": self._null,
            "status_reason": self._reasons,
            "source": lambda series, _: mapped(series, self.names.of_path),
            "config": lambda series, _: mapped(series, settings_only),
            "note": lambda series, _: mapped(series, lambda note: note if kept_note(note) else _REDACTED),
        }

    @property
    def options(self) -> dict[str, str]:
        """What a manifest records: that the source was anonymised, by which rules, and a fingerprint of the key."""
        found = {"anonymized": RULES, "key_fingerprint": self.names.fingerprint}
        return found | ({"keep": json.dumps(sorted(self._keep))} if self._keep else {})

    @property
    def account(self) -> Account:
        """What was done so far, and what the columns that stay readable could tell."""
        if self._looked:
            self._account.alone = Counter(self._watch.alone())
            self._account.singling = set(self._watch.matching())
            self._looked = False
        return self._account

    def table(self, name: TableName, frame: pl.DataFrame) -> pl.DataFrame:
        """Return a checked table without what identifies."""
        if not frame.height:
            return frame
        self._kept = []
        made = [self._standard(name, frame, column.name) for column in TABLES[name]]
        factors = [self._factor(name, frame[factor], frame) for factor in factor_columns(frame, name)]
        if name in _ROWS:
            self._account.kept.update(
                kept.series.name for kept in self._kept if kept.series.null_count() < frame.height
            )
            self._watch.look(name, frame, self._kept)
            self._looked = True
        if name == "runs":
            self._refuse_lost_clusters(frame)
        return pl.DataFrame([*made, *(series for series in factors if series is not None)])

    def _standard(self, table: TableName, frame: pl.DataFrame, name: str) -> pl.Series:
        series = frame[name]
        if series.null_count() == frame.height or (table == "aggregates" and name == "value_raw"):
            return series
        if name in _ALWAYS.get(table, ()):
            return self._hash(series, frame)
        if series.dtype.is_numeric() and name not in _RESULTS:
            self._kept.append(ReadableColumn(series=series, measure=True))
        rule = self._rules.get(name)
        return series if rule is None else rule(series, frame)

    def _factor(self, table: TableName, series: pl.Series, frame: pl.DataFrame) -> pl.Series | None:
        """Return a factor as it may be kept; None where nothing of it may."""
        name, is_text = series.name, series.dtype == pl.String
        if is_personal(name) or (holds_text(name) and is_text):
            return self._gone(series)
        if series.dtype == pl.Boolean:
            self._kept.append(ReadableColumn(series=series))
            return series
        if holds_ids(name) or holds_text(name):
            return self._hash(series, frame)
        known = name in self._keep or holds_labels(name)
        if is_text and known:
            return self._labels(series, frame)
        if not is_text and (known or is_measure(name) or table == "aggregates"):
            return self._small_numbers(series, measure=is_measure(name))
        self._account.unknown.add(name)
        return self._hash(series, frame) if not series.dtype.is_float() else self._whole_numbers(series, frame)

    def _gone(self, series: pl.Series) -> None:
        self._account.dropped[series.name] += len(series) - series.null_count()
        self._account.gone.add(series.name)

    def _whole_numbers(self, series: pl.Series, frame: pl.DataFrame) -> pl.Series | None:
        """Pseudonyms of whole numbers (ids that a reader widened); a fraction is an amount, a place or a moment, and goes."""
        whole = (series == series.round()) & series.is_finite()
        fractions = series.filter(~whole.fill_null(value=True))
        if len(fractions):
            self._gone(fractions)
        kept = series.set(~whole.fill_null(value=False), None)
        return None if len(fractions) and kept.null_count() == len(kept) else self._hash(kept, frame)

    def _hash(self, series: pl.Series, _: pl.DataFrame) -> pl.Series:
        self._account.hashed[series.name] += len(series) - series.null_count()
        return self.names.of_series(series)

    def _items(self, series: pl.Series, frame: pl.DataFrame) -> pl.Series:
        """Items of the lab are public ids and stay, as other files share them; those seen live are prompts of users."""
        hidden = (frame["setting"] == "live").fill_null(value=False) | matching(series, is_text)
        self._account.hashed[series.name] += int((hidden & series.is_not_null()).sum())
        return self._where(series, hidden)

    def _people(self, series: pl.Series, frame: pl.DataFrame) -> pl.Series:
        people = ~matching(series, is_model_name)
        if "rater_kind" in frame.columns:
            people |= (frame["rater_kind"] == "human").fill_null(value=False)
        self._account.hashed[series.name] += int((people & series.is_not_null()).sum())
        return self._where(series, people)

    def _labels(self, series: pl.Series, _: pl.DataFrame) -> pl.Series:
        hidden = matching(series, is_no_label)
        self._account.telling[series.name] += int(hidden.sum())
        readable = series.set(hidden, None)
        if (readable != "").any():  # absent parts and variants are ""
            self._kept.append(ReadableColumn(series=readable))
        return self._where(series, hidden)

    def _where(self, series: pl.Series, hidden: pl.Series) -> pl.Series:
        return self.names.of_series(series.set(~hidden, None)).zip_with(hidden, series)

    def _tags(self, series: pl.Series, _: pl.DataFrame) -> pl.Series:
        """Drop tags that are texts; the others of a row stay."""
        long = series.explode()
        told = long.filter(matching(long, is_no_label))
        self._account.telling["tags"] += len(told)
        readable = series.list.set_difference(pl.Series([told.unique().to_list()])) if len(told) else series
        self._kept.append(ReadableColumn(series=readable))
        return readable

    def _reasons(self, series: pl.Series, frame: pl.DataFrame) -> pl.Series:
        """Reasons of what people did become classes; those of a harness stay unless they quote the row."""
        about = frame.select(
            pl.col("setting") == "live", *(pl.col(name).is_not_null() for name in _USERS if name in frame)
        )
        of_people = about.select(pl.any_horizontal(pl.all().fill_null(value=False))).to_series()
        classes = mapped(series, reason_class)
        pairs = zip(series.to_list(), frame["value_raw"].to_list(), strict=True)
        harness = [reason if kept_reason(reason, raw) else _REDACTED for reason, raw in pairs]
        made = classes.zip_with(of_people, pl.Series(harness, dtype=pl.String))
        self._account.telling["status_reason"] += int((made != series).sum())
        return made

    def _to_day(self, series: pl.Series, _: pl.DataFrame) -> pl.Series:
        self._account.days = True
        return series.dt.truncate("1d")

    def _small_numbers(self, series: pl.Series, *, measure: bool) -> pl.Series:
        large = (series.abs() >= _LARGEST).fill_null(value=False)
        self._account.telling[series.name] += int(large.sum())
        small = series.set(large, None)
        self._kept.append(ReadableColumn(series=small, measure=measure or series.dtype.is_float()))
        return small

    def _null(self, series: pl.Series, _: pl.DataFrame) -> pl.Series:
        self._account.dropped[series.name] += len(series) - series.null_count()
        return pl.Series(series.name, [None], dtype=series.dtype).new_from_index(0, len(series))

    def _refuse_lost_clusters(self, runs: pl.DataFrame) -> None:
        lost = sorted(self._account.gone & set(runs["dependence"].explode().drop_nulls().to_list()))
        if lost:
            raise InputError(
                f"rows depend on column {lost[0]!r}, which is dropped since it holds texts, personal data or unknown "
                "numbers with a fraction; give the column a name that says what its levels are (passage, template, session)"
            )


# --- levels that tell people apart ---

# Rows of a source that are looked at: enough to see what a column holds, and little beside reading them.
MAX_ROWS: Final = 200_000
# A level of one among fewer is no rare level; a match with fewer people is chance.
_MIN_UNITS: Final = 10
_MIN_PEOPLE: Final = 5
_NEARLY: Final = 0.9
_PEOPLE: Final = ("user", "rater", "session")
_ITEMS: Final = ("item", "battle")


@record
class ReadableColumn:
    """A column as it may be read, null where a pseudonym stands; values of a `measure` that occur once are nothing special."""

    series: pl.Series
    measure: bool = False


@dataclass(slots=True)
class Watch:
    """Remembers, by digests, which levels of kept columns go with which people."""

    _rows: dict[TableName, int] = field(default_factory=dict[TableName, int])
    _parts: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])

    def look(self, table: TableName, frame: pl.DataFrame, columns: Sequence[ReadableColumn]) -> None:
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


def anonymized(data: EvalData, key: bytes, *, keep: Iterable[str] = ()) -> EvalData:
    """Return tables without what identifies people or holds what they wrote.

    Users, sessions, raters, judges who are people, ids of votes and events, and items seen live become pseudonyms; texts,
    raw values and places in the source are dropped; times are cut to the day. Factors of labels, and of counts and
    measures, that are known as such by their name stay readable; other words and whole numbers become pseudonyms, so that every
    grouping and clustering gives what it gave before; other numbers with a fraction are dropped. What was done stands in
    `problems`, in place of the notes of reading, which may quote rows, with the columns that stay readable.

    Parameters
    ----------
    data
        The tables.
    key
        32 secret bytes (`secrets.token_bytes(32)`); the same key gives the same pseudonyms.
    keep
        Further factors whose labels or numbers may be read.

    Raises
    ------
    InputError
        If the key is not 32 bytes, a factor to be kept holds ids or texts by its name, or rows depend on a dropped column.

    Examples
    --------
    >>> from evalstats.schema.tables import check_table
    >>> rows = {"run": ["r"] * 2, "model": ["m"] * 2, "benchmark": ["b"] * 2, "item": ["1", "2"], "metric": ["acc"] * 2}
    >>> rows |= {"system": ["m"] * 2, "score": [1.0, 0.0], "status": ["scored"] * 2, "user": ["ann", "ann"]}
    >>> hidden = anonymized(EvalData(outcomes=check_table(rows, "outcomes")), bytes(32)).outcomes
    >>> hidden["user"].n_unique(), "ann" in hidden["user"].to_list(), hidden["item"].to_list()
    (1, False, ['1', '2'])
    """
    anonymizer = Anonymizer(key, keep=keep)
    data.need_rows("making data anonymous")
    tables = {name: anonymizer.table(name, data.table(name)) for name in TABLES}
    notes = [Problem(path="anonymised", message=line, severity="note") for line in anonymizer.account.lines()]
    return EvalData(**tables, problems=tuple(notes), merged=False)
