"""Items that flipped between the two sides, where their rows stand in the files, and the slices in which losses concentrate."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any, cast, overload

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.design.clusters import label_of
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.schema.columns import is_answer, plain
from evalstats.schema.tables import is_constant
from evalstats.stats.many.concentration import FEWEST_UNITS, low_slices
from evalstats.stats.paired.means import sign_flip
from evalstats.stats.unpaired import TwoProportions, fisher_exact
from evalstats.table.items import FIRST_TRIAL, HELPER, ITEM_KEY, Bools, Floats, Ints, taken
from evalstats.table.score_table import ScoreTable

# A mean of this much is a success: more trials right than wrong, or as many.
MIDDLE = 0.5
# Kinds of metrics by which an item succeeds or fails.
MAY_FLIP = ("binary", "proportion")
_PLACE, _ROW = f"{HELPER}place", f"{HELPER}row"


@record
class RowSource:
    """Where a row was read: its run, the name of the file (no folder: that is nobody's business), and the place in it.

    `run` leads to the file as it was named, in the column `source` of the runs. `locator` reads as the column of that name
    in the glossary says; None where the loader gives none. `link` is the sample's address in the harness's own viewer.
    """

    run: str
    file: str | None
    locator: str | None
    link: str | None = None

    def __str__(self) -> str:
        """File and place, as they are shown."""
        return ", ".join(part for part in (self.file or self.run, self.locator) if part)


@record
class Flip:
    """An item on which the two disagree; scores are means over trials, in the metric's unit.

    Each source is one row that shows it: the first trial of that side whose own score lies on the side of the middle that
    the mean lies on. Where a side has several trials, `p_value` is Fisher's exact p that both succeed equally often on this
    item: a large one is no more than the noise of trials.
    """

    task: str
    item: str
    variant: str
    scenario: str | None
    baseline: float
    candidate: float
    p_value: float | None = None
    baseline_source: RowSource | None = None
    candidate_source: RowSource | None = None

    @property
    def change(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


@record
class ItemTexts:
    """What was asked in a flipped item, what was expected, and what both sides answered; None where the file does not say.

    Texts are read from the source files only where somebody asks for them, and cut.

    Attributes
    ----------
    task, item, variant
        Which item it is.
    question, expected, baseline, candidate
        The texts; None where the file does not hold one.
    """

    task: str
    item: str
    variant: str
    question: str | None = None
    expected: str | None = None
    baseline: str | None = None
    candidate: str | None = None


class Flips(Sequence[Flip]):
    """Flipped items, held in columns: each is made when it is looked at, since of many thousands a dozen are.

    So are their names and the places of their rows, where `of` knows them and `frame` holds of each its place in the table.
    """

    __slots__ = ("_frame", "_of")

    def __init__(self, frame: pl.DataFrame | None = None, of: "FlipRows | None" = None) -> None:
        self._frame = pl.DataFrame(schema=_FLIPPED) if frame is None else frame
        self._of = of

    def to_saved(self) -> dict[str, object]:
        """Return them as columns for JSON, as `pandas.DataFrame` takes them; what is the same of all stands there once."""
        whole = self._whole()
        once = [name for name in _FLIPPED if name not in _ALWAYS_LISTED and is_constant(whole[name])]
        return {
            name: next(iter(values), None) if name in once else values
            for name, values in whole.select(*_FLIPPED).to_dict(as_series=False).items()
        }

    @classmethod
    def of_saved(cls, values: object) -> "Flips":
        """Return the flipped items that saved values hold."""
        import msgspec

        saved = msgspec.convert(values, dict[str, object])
        n = len(msgspec.convert(saved.get("item"), list[str]))
        columns: dict[str, list[Any]] = {}
        for name, dtype in _FLIPPED.items():
            part: Any = msgspec.convert(saved.get(name), _SAVED[dtype])
            columns[name] = cast("list[Any]", part) if isinstance(part, list) else [part] * n
        if unlike := [name for name, part in columns.items() if len(part) != n]:
            raise msgspec.ValidationError(f"{unlike[0]} has {len(columns[unlike[0]])} values for {n} flipped items")
        return cls(pl.DataFrame(columns, schema=_FLIPPED))

    @staticmethod
    def saved_schema() -> dict[str, object]:
        """Return the JSON Schema of what `to_saved` returns."""
        import msgspec

        columns = {name: msgspec.json.schema(_SAVED[dtype]) for name, dtype in _FLIPPED.items()}
        return {"type": "object", "properties": columns, "required": [*columns]}

    @overload
    def __getitem__(self, index: int) -> Flip: ...
    @overload
    def __getitem__(self, index: slice) -> "Flips": ...
    def __getitem__(self, index: int | slice) -> "Flip | Flips":
        if isinstance(index, slice):
            return Flips(self._frame[index], self._of)
        return _flip(self._whole().row(index, named=True))

    def __len__(self) -> int:
        return self._frame.height

    def __iter__(self) -> Iterator[Flip]:
        return map(_flip, self._whole().iter_rows(named=True))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flips):
            return self._whole().equals(other._whole())
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<Flips: {plural(len(self), 'item')}>"

    def __reduce__(self) -> tuple[type["Flips"], tuple[pl.DataFrame]]:
        return Flips, (self._whole(),)

    def _whole(self) -> pl.DataFrame:
        """Return all of them with their names and the places of their rows."""
        if self._of is not None:
            self._frame, self._of = self._of.placed(self._frame), None
        return self._frame

    def changes(self) -> Floats:
        """Return candidate minus baseline of each."""
        return (self._frame["candidate"] - self._frame["baseline"]).to_numpy()

    def p_values(self) -> list[float]:
        """Return the p of those whose trials can tell."""
        return self._frame["p_value"].drop_nulls().to_list()

    def columns(self) -> dict[str, list[object]]:
        """Return all of them with where their rows stand, for the CSV."""
        sources: list[pl.Expr] = []
        for side in _SIDES:
            # An empty part is left out, as in `RowSource`.
            run, file, place, _ = (
                pl.when(pl.col(f"{side}_{name}") != "").then(pl.col(f"{side}_{name}")) for name in _OF_SOURCE
            )
            source = pl.concat_str(pl.coalesce(file, run), place, separator=", ", ignore_nulls=True)
            known = pl.when(pl.col(f"{side}_run").is_null()).then(pl.lit("")).otherwise(source)
            sources.append(known.alias(f"{side}_source"))
        whole = self._whole()
        links = [f"{side}_link" for side in _SIDES if whole[f"{side}_link"].null_count() < whole.height]
        return whole.select(*_OF_FLIP, *sources, *links).to_dict(as_series=False)

    def worst_first(self, *, higher_is_better: bool, most: int | None = None) -> "Flips":
        """Return them as they are read: what got worse first, the largest and surest change first, items in natural order.

        Of more than `most`, so many.
        """
        sign, frame = 1 if higher_is_better else -1, self._frame
        if most is not None and frame.height > most:
            # Names take long to put in order: only those of items as bad as one of the first.
            change, p = sign * self.changes(), frame["p_value"].fill_null(0.0).to_numpy()
            frame = frame[_first_by((change > 0, -np.abs(change), p), most)]
        change = sign * (pl.col("candidate") - pl.col("baseline"))
        badness = (change > 0).alias("better"), (-change.abs()).alias("change"), pl.col("p_value").fill_null(0.0)
        frame = frame if self._of is None else self._of.named(frame)
        digits = r"(\d+)\D*$"
        natural = (
            "task",
            pl.col("item").str.replace(digits, ""),
            pl.col("item").str.extract(digits).cast(pl.Int64, strict=False),
            "item",
            "variant",
        )
        ordered = frame.sort(*badness, *natural, nulls_last=True, maintain_order=True)
        return Flips(ordered if most is None else ordered.head(most), self._of)

    def frame(self) -> pl.DataFrame:
        """Return all of them as a table, with the place and the address of the row that shows each."""
        return pl.DataFrame(self.columns())


def _first_by(keys: Sequence[Bools | Floats], most: int) -> Ints:
    """Return the rows that stand first by several keys, `most` of them and all that tie with the last."""
    tied = np.arange(len(keys[0]))
    found: list[Ints] = []
    for key in keys:
        values = key[tied]
        last = np.partition(values, most - 1)[most - 1]
        found.append(tied[values < last])
        most -= len(found[-1])
        tied = tied[values == last]
    return np.sort(np.concatenate([*found, tied]))


_SIDES = ("baseline", "candidate")
_OF_FLIP = ("task", "item", "variant", "scenario", "baseline", "candidate", "p_value")
_OF_SOURCE = ("run", "file", "locator", "link")
_FLIPPED = {
    **dict.fromkeys(_OF_FLIP[:4], pl.String),
    **dict.fromkeys(_OF_FLIP[4:], pl.Float64),
    **dict.fromkeys([f"{side}_{name}" for side in _SIDES for name in _OF_SOURCE], pl.String),
}
# What a column is saved as: a value each, or one for all.
_SAVED = {pl.String: list[str | None] | str | None, pl.Float64: list[float | None] | float | None}
_ALWAYS_LISTED = frozenset({"item", "baseline", "candidate"})


def _flip(row: dict[str, Any]) -> Flip:
    first, second = (
        None if row[f"{side}_run"] is None else RowSource(**{name: row[f"{side}_{name}"] for name in _OF_SOURCE})
        for side in _SIDES
    )
    return Flip(**{name: row[name] for name in _OF_FLIP}, baseline_source=first, candidate_source=second)


def flipped_items(paired: ScoreTable, runs: pl.DataFrame) -> Flips:
    """List the items on which one side mostly succeeds and the other mostly fails, each with its rows' places.

    None where the metric's items neither succeed nor fail.
    """
    if paired.metric.kind not in MAY_FLIP:
        return Flips()
    places = np.flatnonzero(_changed(paired))
    columns = {name: paired.column(place)[places] for place, name in enumerate(_SIDES)}
    frame = pl.DataFrame({_PLACE: places, **columns}).with_columns(_by_trials(paired, places))
    return Flips(frame, FlipRows(table=paired, runs=runs.select("run", "source").unique("run", keep="last")))


def _by_trials(paired: ScoreTable, places: Ints) -> pl.Expr | pl.Series:
    """Return the exact p of changed items that both sides succeed equally often; null where both have one trial, or shares."""
    nothing = pl.lit(None, dtype=pl.Float64).alias("p_value")
    n_scored = taken(paired.n_scored, places)
    if paired.passes is not None or (n_scored <= 1).all():
        return nothing
    total = paired.total[places]
    if not np.allclose(total, np.rint(total)):
        return nothing
    successes = np.rint(total).astype(np.int64)
    cells = np.stack([successes[:, 0], n_scored[:, 0], successes[:, 1], n_scored[:, 1]], axis=1)
    tables, place = np.unique(cells, axis=0, return_inverse=True)
    p = [
        fisher_exact(TwoProportions(baseline=a, n_baseline=m, candidate=b, n_candidate=n)) if m > 1 or n > 1 else None
        for a, m, b, n in tables.tolist()
    ]
    return pl.Series("p_value", [p[k] for k in place.ravel()], dtype=pl.Float64)


def _changed(paired: ScoreTable) -> Bools:
    return (paired.column(0) >= MIDDLE) != (paired.column(1) >= MIDDLE)


@record
class FlipRows:
    """Where the names of flipped items and their rows stand: in the table whose items they are, by their places in it.

    `runs` name the source of every run.
    """

    table: ScoreTable
    runs: pl.DataFrame

    def named(self, flips: pl.DataFrame) -> pl.DataFrame:
        """Return flipped items with their names."""
        if "item" in flips.columns:
            return flips
        items = self.table.items
        names = [
            items[name].gather(flips[_PLACE]) if name in items.columns else pl.lit(None).alias(name)
            for name in _OF_FLIP[:4]
        ]
        named = flips.with_columns(names).with_columns(pl.col(_OF_FLIP[:4]).cast(pl.String))
        return named.with_columns(pl.col("task", "variant").fill_null(""))

    def placed(self, flips: pl.DataFrame) -> pl.DataFrame:
        """Return flipped items, each with the first row of either side whose own score says what its mean says.

        Any scored row where none does.
        """
        files = [None if source is None else PurePath(source).name for source in self.runs["source"]]
        file_of = pl.col("run").replace_strict(
            self.runs["run"], pl.Series(files, dtype=pl.String), default=None, return_dtype=pl.String
        )
        parts = [self.named(flips).select(_OF_FLIP)]
        slots = np.full(len(self.table) + 1, -1, dtype=np.int32)  # the last is of rows of other items
        slots[flips[_PLACE].to_numpy()] = np.arange(flips.height, dtype=np.int32)
        for column, side in enumerate(_SIDES):
            rows, places = self.table.systems[column].rows, self.table.row_places(column)
            slot = slots[places]
            wanted = np.flatnonzero((slot >= 0) & (rows["status"] == "scored").to_numpy())
            # Of merged rows the first trial that they stand for, whose place they name.
            trial = pl.col(FIRST_TRIAL if FIRST_TRIAL in rows.columns else "trial").alias("trial")
            link = pl.col("link") if "link" in rows.columns else pl.lit(None, dtype=pl.String).alias("link")
            own = rows[wanted].select("score", trial, "run", "locator", link, pl.Series(_ROW, slot[wanted]))
            fits = (own["score"] >= MIDDLE) == (flips[side] >= MIDDLE).gather(own[_ROW])
            order = ("differs", "trial", "run") if own.height > flips.height else ()
            found = own.with_columns(differs=~fits).sort(_ROW, *order, nulls_last=True, maintain_order=True)
            found = found.unique(_ROW, keep="first", maintain_order=True) if order else found
            found = found.with_columns(file_of.alias("file"))
            parts.append(found.select(pl.col(name).cast(pl.String).alias(f"{side}_{name}") for name in _OF_SOURCE))
        return pl.concat(parts, how="horizontal")


# --- graded differences, which do not flip ---

_FEWEST_ITEMS, _FEWEST_VALUES = 20, 3
_DIGITS = 10
_MOST_VALUES = 200  # of more distinct differences neighbours are counted together


@record
class ItemSpread:
    """How graded differences of items lie: candidate minus baseline, in the metric's own unit.

    Attributes
    ----------
    values, counts
        Differences in rising order, and on how many items each occurs; of more than 200 neighbours are counted together, at
        their mean, but for the least and the largest.
    n_higher, n_lower
        Items on which the candidate scores higher, and lower.
    """

    values: tuple[float, ...]
    counts: tuple[int, ...]
    n_higher: int
    n_lower: int


def item_spread(paired: ScoreTable) -> ItemSpread | None:
    """Return how the differences of items lie; None of right-or-wrong scores, of few items, and where they hardly vary."""
    if paired.metric.kind in MAY_FLIP or len(paired) < _FEWEST_ITEMS:
        return None
    differences = paired.column(1) - paired.column(0)
    largest = float(np.abs(differences).max(initial=0.0))
    # Ten digits of the largest, whatever the unit: what differs by less is rounding.
    digits = _DIGITS - 1 - math.floor(math.log10(largest)) if largest else 0
    values, counts = np.unique(differences.round(digits), return_counts=True)
    if values.size < _FEWEST_VALUES:
        return None
    higher, lower = (int(counts[part].sum()) for part in (values > 0, values < 0))
    if values.size > _MOST_VALUES:
        inner = _MOST_VALUES - 2  # the least and the largest stay as they are
        bins = 1 + np.minimum((values - values[0]) / (values[-1] - values[0]) * inner, inner - 1).astype(int)
        bins[0], bins[-1] = 0, inner + 1
        sizes = np.bincount(bins, weights=counts)
        sums = np.bincount(bins, weights=counts * values)
        values, counts = sums[sizes > 0] / sizes[sizes > 0], sizes[sizes > 0]
    return ItemSpread(values=tuple(map(float, values)), counts=tuple(map(int, counts)), n_higher=higher, n_lower=lower)


# --- slices in which losses concentrate ---


TAGS = "tags"
_ASKED = frozenset({"question", "query", "prompt", "problem", "input", "instruction", "text"})
# A factor with more levels names items rather than kinds of them; of tags, the most frequent are looked at.
_MOST_LEVELS = 100


@record
class LossSlice:
    """A slice in which the candidate lost more against the baseline than elsewhere, of its paired items.

    `p_adjusted` belongs to a permutation test of all `n_slices` slices together (of all factors and tags); items that both
    sides got right, or both wrong, count in `n_items`.

    Attributes
    ----------
    factor, level
        Column and level that make the slice.
    gained, lost
        Its items on which the candidate did better, and worse, than the baseline.
    p_adjusted
        Of a permutation test over all slices.
    n_slices
        How many slices that test looked at.
    """

    factor: str
    level: str
    n_items: int
    gained: int
    lost: int
    p_adjusted: float
    n_slices: int

    @property
    def name(self) -> str:
        """Factor and level, as a condition is written."""
        return f"{self.factor}={self.level}"


def loss_slices(
    paired: ScoreTable,
    columns: Iterable[str],
    *,
    names: Mapping[str, str],
    clusters: Sequence[str] = (),
    conf_level: float = 0.95,
    seed: int = 0,
) -> tuple[LossSlice, ...]:
    """Return the slices in which losses concentrate, the surest first; none where nothing stands out.

    Such a slice lost more than the rest of the items did, by the permutation test of all slices, and more than it gained, by the
    exact sign-flip of its own items (McNemar's exact test): both are needed, so neither needs an adjustment for the other.
    With clusters (of several, the coarsest) the cluster is the unit, and only what is the same in all of its items makes a slice.
    `names` are sources' own names of standard columns.
    """
    if paired.metric.kind not in MAY_FLIP or not (slices := _slices(paired, columns, names)):
        return ()
    # 1 for each item that flipped for the better, -1 for the worse, else 0.
    better = 1.0 if paired.metric.higher_is_better else -1.0
    flips = better * np.sign(paired.column(1) - paired.column(0)) * _changed(paired)
    if not (flips < 0).any():
        return ()
    member = np.stack([held for _, _, held in slices], axis=1)
    d = flips
    if clusters:
        _, unit = np.unique(
            min((paired.codes(name) for name in clusters), key=lambda codes: len(np.unique(codes))), return_inverse=True
        )
        size = np.bincount(unit)
        shares = np.stack([np.bincount(unit, weights=held) / size for held in member.T], axis=1)
        whole = ((shares == 0) | (shares == 1)).all(axis=0)
        d, member = np.bincount(unit, weights=flips) / size, (shares == 1) & whole
    # Where gains concentrate elsewhere, a slice lies below the rest and has lost nothing.
    lost = [d[units].sum() < 0 and sign_flip(d[units]).p_value <= 1 - conf_level for units in member.T]
    if not any(lost):
        return ()
    found = low_slices(d, member, seed=seed)
    rows = [
        LossSlice(
            factor=factor,
            level=level,
            n_items=int(held.sum()),
            gained=int((flips[held] > 0).sum()),
            lost=int((flips[held] < 0).sum()),
            p_adjusted=p,
            n_slices=found.n_slices,
        )
        for (factor, level, held), has_lost, p in zip(slices, lost, found.p_adjusted, strict=True)
        if has_lost and p is not None and p <= 1 - conf_level
    ]
    return tuple(sorted(rows, key=lambda row: (row.p_adjusted, -row.lost)))


def _slices(
    paired: ScoreTable, columns: Iterable[str], names: Mapping[str, str]
) -> list[tuple[str, str, npt.NDArray[np.bool_]]]:
    """Return factor, level and items of every slice, once where several levels hold the same items."""
    found: dict[bytes, tuple[str, str, npt.NDArray[np.bool_]]] = {}
    # What was asked or answered names no kind of items, and is nobody's to print unasked.
    wanted = [
        name
        for name in dict.fromkeys(columns)
        if name in paired.items.columns and not (is_answer(name) or plain(name) in _ASKED)
        if not is_constant(paired.items[name])
    ]
    levels: list[tuple[str, pl.Series]] = [(label_of(name, names), paired.items[name]) for name in wanted]
    rows = paired.systems[1].rows
    if TAGS in rows.columns and rows[TAGS].null_count() < rows.height:
        key = [name for name in ITEM_KEY if name in paired.items.columns]
        rows = rows.select(*key, TAGS).drop_nulls(TAGS).unique(key, keep="first", maintain_order=True)
        tags = paired.items.select(key).join(rows, on=key, how="left", maintain_order="left")[TAGS]
        levels.append((TAGS, tags))
    for label, column in levels:
        exploded = pl.DataFrame({"place": np.arange(len(column)), "level": column})
        exploded = exploded.explode("level") if column.dtype.is_nested() else exploded
        exploded = exploded.with_columns(pl.col("level").cast(pl.String)).drop_nulls().unique(maintain_order=True)
        groups = exploded.group_by("level", maintain_order=True).agg("place").filter(pl.col("level") != "")
        if groups.height > _MOST_LEVELS:
            if label != TAGS:
                continue
            groups = groups.sort(pl.col("place").list.len(), descending=True, maintain_order=True).head(_MOST_LEVELS)
        for level, places in groups.iter_rows():
            if FEWEST_UNITS <= len(places) < len(column):
                held = np.zeros(len(column), dtype=np.bool_)
                held[places] = True
                found.setdefault(held.tobytes(), (label, level, held))
    return list(found.values())
