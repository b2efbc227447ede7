"""Flipped items: on which the one side mostly succeeds and the other mostly fails, and where their rows stand in the files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, cast, overload

import numpy as np
import polars as pl

from evalstats.grammar import plural
from evalstats.schema.tables import is_constant
from evalstats.stats.unpaired import TwoProportions, fisher_exact
from evalstats.table.items import FIRST_TRIAL, HELPER, ITEM_KEY, Bools, Floats
from evalstats.table.score_table import ScoreTable

# A mean of this much is a success: more trials right than wrong, or as many.
MIDDLE = 0.5
# Kinds of metrics by which an item succeeds or fails.
MAY_FLIP = ("binary", "proportion")
_PLACE, _FITS = f"{HELPER}place", f"{HELPER}fits"


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemTexts:
    """What was asked in a flipped item, what was expected, and what both sides answered; None where the file does not say.

    Texts are read from the source files only where somebody asks for them, and cut.
    """

    task: str
    item: str
    variant: str
    question: str | None = None
    expected: str | None = None
    baseline: str | None = None
    candidate: str | None = None


class Flips(Sequence[Flip]):
    """Flipped items, held in columns: each is made when it is looked at, since of many thousands a dozen are."""

    __slots__ = ("_frame",)

    def __init__(self, frame: pl.DataFrame | None = None) -> None:
        self._frame = pl.DataFrame(schema=_FLIPPED) if frame is None else frame.select(_FLIPPED.keys())

    @classmethod
    def of_saved(cls, values: object) -> "Flips":
        """Return the flipped items that saved values hold."""
        import msgspec

        rows = [
            {name: getattr(flip, name) for name in _OF_FLIP}
            | {
                f"{side}_{name}": getattr(source, name, None)
                for side, source in (("baseline", flip.baseline_source), ("candidate", flip.candidate_source))
                for name in _OF_SOURCE
            }
            for flip in msgspec.convert(values, list[Flip])
        ]
        return cls(pl.DataFrame(rows, schema=_FLIPPED))

    @overload
    def __getitem__(self, index: int) -> Flip: ...
    @overload
    def __getitem__(self, index: slice) -> "Flips": ...
    def __getitem__(self, index: int | slice) -> "Flip | Flips":
        if isinstance(index, slice):
            return Flips(self._frame[index])
        return _flip(self._frame.row(index, named=True))

    def __len__(self) -> int:
        return self._frame.height

    def __iter__(self) -> Iterator[Flip]:
        return map(_flip, self._frame.iter_rows(named=True))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Flips):
            return self._frame.equals(other._frame)
        return isinstance(other, Sequence) and tuple(self) == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<Flips: {plural(len(self), 'item')}>"

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
        links = [f"{side}_link" for side in _SIDES if self._frame[f"{side}_link"].null_count() < self._frame.height]
        return self._frame.select(*_OF_FLIP, *sources, *links).to_dict(as_series=False)

    def worst_first(self, *, higher_is_better: bool) -> "Flips":
        """Return them as they are read: what got worse first, the largest and surest change first, items in natural order."""
        change = (pl.col("candidate") - pl.col("baseline")) * (1 if higher_is_better else -1)
        digits = r"(\d+)\D*$"
        order = (
            change > 0,
            -change.abs(),
            pl.col("p_value").fill_null(0.0),
            "task",
            pl.col("item").str.replace(digits, ""),
            pl.col("item").str.extract(digits).cast(pl.Int64, strict=False),
            "item",
            "variant",
        )
        return Flips(self._frame.sort(*order, nulls_last=True, maintain_order=True))

    def frame(self) -> pl.DataFrame:
        """Return all of them as a table, with the place and the address of the row that shows each."""
        return pl.DataFrame(self.columns())


_SIDES = ("baseline", "candidate")
_OF_FLIP = ("task", "item", "variant", "scenario", "baseline", "candidate", "p_value")
_OF_SOURCE = ("run", "file", "locator", "link")
_FLIPPED = {
    **dict.fromkeys(_OF_FLIP[:4], pl.String),
    **dict.fromkeys(_OF_FLIP[4:], pl.Float64),
    **dict.fromkeys([f"{side}_{name}" for side in _SIDES for name in _OF_SOURCE], pl.String),
}


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
    changed = _changed(paired)
    items, values = paired.items.filter(pl.Series(changed)), paired.values()[changed]
    columns: dict[str, Any] = {
        name: items[name] if name in items.columns else [None] * items.height for name in _OF_FLIP[:4]
    }
    columns |= dict(zip(_SIDES, values.T, strict=True))
    columns["p_value"] = pl.Series(_by_trials(paired, changed), dtype=pl.Float64)
    for name, system, means in zip(_SIDES, paired.systems, values.T, strict=True):
        found = _sources(system.rows, items, means >= MIDDLE, runs)
        columns |= {f"{name}_{part.name}": part for part in found}
    return Flips(pl.DataFrame(columns, schema=_FLIPPED).with_columns(pl.col("task", "variant").fill_null("")))


def flip_signs(paired: ScoreTable) -> Floats:
    """Return 1 for each item that flipped for the better, -1 for the worse, else 0; all 0 where the metric knows no success."""
    if paired.metric.kind not in MAY_FLIP:
        return np.zeros(len(paired))
    better = 1.0 if paired.metric.higher_is_better else -1.0
    return better * np.sign(paired.column(1) - paired.column(0)) * _changed(paired)


def _by_trials(paired: ScoreTable, changed: Bools) -> list[float | None]:
    """Return the exact p of changed items that both sides succeed equally often; None where both have one trial, or shares."""
    n_scored, total = paired.n_scored[changed], paired.total[changed]
    if paired.passes is not None or bool((n_scored <= 1).all()) or not np.allclose(total, np.rint(total)):
        return [None] * len(n_scored)
    successes = np.rint(total).astype(np.int64)
    cells = np.stack([successes[:, 0], n_scored[:, 0], successes[:, 1], n_scored[:, 1]], axis=1)
    tables, place = np.unique(cells, axis=0, return_inverse=True)
    p = [
        fisher_exact(TwoProportions(baseline=a, n_baseline=m, candidate=b, n_candidate=n)) if m > 1 or n > 1 else None
        for a, m, b, n in tables.tolist()
    ]
    return [p[k] for k in place.ravel()]


def _changed(paired: ScoreTable) -> Bools:
    first, second = paired.values().T
    return (first >= MIDDLE) != (second >= MIDDLE)


def _sources(rows: pl.DataFrame, items: pl.DataFrame, succeeds: Bools, runs: pl.DataFrame) -> pl.DataFrame:
    """Return, for every item, the first row whose own score says what the mean says; any scored row where none does."""
    # Every item is among the rows, so that a part of its key which all rows share tells nothing.
    key = [name for name in ITEM_KEY if name in items.columns and (name == "item" or not is_constant(rows[name]))]
    wanted = items.select(key).with_columns(pl.Series(_FITS, succeeds)).with_row_index(_PLACE)
    # Of merged rows the first trial that they stand for, whose place they name.
    trial = pl.col(FIRST_TRIAL if FIRST_TRIAL in rows.columns else "trial").alias("trial")
    link = pl.col("link") if "link" in rows.columns else pl.lit(None, dtype=pl.String).alias("link")
    scored = rows.select(*key, "status", "score", trial, "run", "locator", link).filter(pl.col("status") == "scored")
    found = wanted.join(scored, on=key, how="left", maintain_order="left_right")
    if found.height > items.height:
        fits = (pl.col("score") >= MIDDLE) == pl.col(_FITS)
        found = found.sort(_PLACE, ~fits, "trial", "run", nulls_last=True, maintain_order=True)
        found = found.unique(_PLACE, keep="first", maintain_order=True)
    named = runs.select("run", "source").unique("run", keep="last")
    files = [None if source is None else PurePath(source).name for source in named["source"]]
    file_of = pl.col("run").replace_strict(
        named["run"], pl.Series(files, dtype=pl.String), default=None, return_dtype=pl.String
    )
    return found.select("run", file_of.alias("file"), "locator", "link")
