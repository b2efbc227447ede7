"""Votes between two models reduced to cells of equal votes: as many rows as there are different votes, not as there are votes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.errors import InputError
from evalstats.record import record
from evalstats.schema.in_memory import as_polars
from evalstats.stats.arena.votes import OUTCOMES, VoteRows
from evalstats.table.items import HELPER

# The winner's labels in public dumps of live arenas, in lower case.
ARENA_LABELS: Mapping[str, str] = {
    "model_a": "a",
    "model_b": "b",
    "tie": "tie",
    "tie (bothbad)": "both_bad",
    "both_bad": "both_bad",
}
_SHARE = {0: 1.0, 1: 0.0, 2: 0.5, 3: 0.5}
_BATCH = 500_000  # rows
_NO_LABEL = ("", "nan", "none", "null")

# Columns of the counted table.
N, W, W2, LOW = (f"{HELPER}{name}" for name in ("count", "weight", "weight squares", "lowest weight"))
# Columns that are read from it.
A, B, LABEL, OUTCOME, SHARE, WHY = (f"{HELPER}{name}" for name in ("a", "b", "label", "outcome", "share", "why"))


def lazy_votes(frame: object) -> "nw.LazyFrame[Any]":
    """Return any table as a lazy frame that stays where its rows are."""
    wrapped = nw.from_native(cast("Any", frame), pass_through=True)
    if isinstance(wrapped, nw.LazyFrame):
        return cast("nw.LazyFrame[Any]", wrapped)
    return cast("nw.LazyFrame[Any]", nw.from_native(as_polars(frame).lazy()))


def collected(frame: "nw.LazyFrame[Any]") -> pl.DataFrame:
    """Return the rows of a lazy frame; Polars streams them."""
    native = frame.to_native()
    return native.collect(engine="streaming") if isinstance(native, pl.LazyFrame) else as_polars(native)


def winner_column(names: Sequence[str]) -> tuple[str, Mapping[str, str]]:
    """Return the winner's column, and what its labels stand for, in lower case: the glossary's words, or public arenas'."""
    if "outcome" in names:
        return "outcome", {name: name for name in OUTCOMES}
    return "winner", ARENA_LABELS


def counted(source: "nw.LazyFrame[Any]", group: list[str], *, weighted: bool) -> pl.DataFrame:
    """Count votes, and sum their weights, by the columns of `group`."""
    if not weighted:
        table = collected(source.group_by(group).agg(nw.len().alias(N)))
        one = pl.col(N).cast(pl.Float64)
        return table.with_columns(pl.col(N).cast(pl.Int64), one.alias(W), one.alias(W2), pl.lit(1.0).alias(LOW))
    mass = nw.col("weight").cast(nw.Float64).fill_null(1.0)
    summed = source.with_columns(mass.alias(W), (mass * mass).alias(W2), mass.alias(LOW))
    parts = [nw.len().alias(N), nw.col(W).sum(), nw.col(W2).sum()]
    table = collected(summed.group_by(group).agg(*parts, nw.col(LOW).min()))
    return table.with_columns(pl.col(N).cast(pl.Int64))


def read_votes(table: pl.DataFrame, column: str, known: Mapping[str, str]) -> pl.DataFrame:
    """Decode the names of a counted table, read the outcomes, and say of every row why it does not count."""
    a, b, raw = (table[name].cast(pl.String) for name in ("model_a", "model_b", column))
    said = raw.str.strip_chars().str.to_lowercase()
    code = {label: OUTCOMES.index(outcome) for label, outcome in known.items()}
    outcome = said.replace_strict(code, default=None, return_dtype=pl.Int64)
    read = table.with_columns(a.alias(A), b.alias(B), raw.alias(LABEL), outcome.alias(OUTCOME))
    if column != "outcome":
        # A label may be the name of the model that won; one that is also the label of the other side could mean either.
        named = pl.when(pl.col(LABEL) == pl.col(A)).then(0).when(pl.col(LABEL) == pl.col(B)).then(1).cast(pl.Int64)
        either = named.is_not_null() & pl.col(OUTCOME).is_in([0, 1]) & (pl.col(OUTCOME) != named)
        read = read.with_columns(
            pl.when(~either.fill_null(value=False)).then(pl.coalesce(OUTCOME, named)).alias(OUTCOME)
        )
    plain = pl.col(OUTCOME).replace_strict(_SHARE, default=None, return_dtype=pl.Float64)
    graded = "preference" in table.columns
    share = pl.coalesce(pl.col("preference").cast(pl.Float64), plain) if graded else plain
    # "counts", or the first reason why the votes of a row do not.
    first, second = pl.col(A), pl.col(B)
    unnamed = first.is_null() | second.is_null() | (first == "") | (second == "")
    empty = pl.lit(said.is_null() | said.is_in(_NO_LABEL))
    lost = pl.col("status").cast(pl.String).ne_missing("scored") if "status" in table.columns else pl.lit(value=False)
    reasons = {"unnamed": unnamed, "self": first == second, "unscored": empty | lost}
    why = pl.when(pl.col(OUTCOME).is_null()).then(pl.lit("unknown")).otherwise(pl.lit("counts"))
    for reason, holds in reversed(reasons.items()):
        why = pl.when(holds).then(pl.lit(reason)).otherwise(why)
    return read.with_columns(share.alias(SHARE), why.alias(WHY))


def check_numbers(kept: pl.DataFrame) -> None:
    """Raise InputError where a preference or a weight of a vote that counts is not what it must be."""
    outside = int(kept.filter(~pl.col(SHARE).is_between(0.0, 1.0))[N].sum())
    if outside:
        raise InputError(f"{outside:,} votes have a preference outside [0, 1]; it is the share for model_a")
    low, total = cast("float | None", kept[LOW].min()), float(kept[W2].sum())
    if not math.isfinite(total) or (low is not None and low < 0):
        raise InputError("some weights are negative, NaN or infinite; give every vote a finite weight of at least 0")


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CELL, GROUP = (f"{HELPER}{name}" for name in ("cell", "group"))


@record
class VoteCells:
    """Votes between two different models, equal ones merged, and how many were left out and why.

    `models` are names, sorted, of those with a vote that counts; `rows` holds a row for each cell.

    `n_rows` counts the rows of the frame. Left out are votes without the name of a model (`n_unnamed`), of a model against
    itself (`n_self`), without an outcome (`n_unscored`), with a label that is not known (`unknown`, by label, the most frequent
    first); each is counted once, for the first of these that holds. `keys` tells `cluster_chunks` the cell of a vote.
    """

    models: tuple[str, ...]
    rows: VoteRows
    n_rows: int
    n_unnamed: int
    n_self: int
    n_unscored: int
    unknown: tuple[tuple[str, int], ...]
    keys: pl.DataFrame


def vote_cells(frame: object) -> VoteCells:
    """Merge equal votes, and count those that cannot be used.

    `frame` has one row per vote, in any table that narwhals knows, lazy or not: `model_a`, `model_b`, the winner, and
    `preference`, `weight` and `status` where there are such columns; a lazy Polars frame is streamed. The winner stands in
    `outcome` in the glossary's words, or else in `winner` in those of public arenas or as the name of either model; a name that
    is also the label of the other side is unknown.

    A label that is missing or not known is never a tie. A vote whose `status` is not "scored" has no outcome. Which row
    comes first has no effect, but for the rounding of sums of weights.
    """
    source = lazy_votes(frame)
    names = source.collect_schema().names()
    column, known = winner_column(names)
    extra = [name for name in ("preference", "status") if name in names]
    basic = ["model_a", "model_b", column, *extra]
    source, weighted = _needed(source, basic)
    grouped = counted(source, basic, weighted=weighted)
    read = read_votes(grouped, column, known)
    kept = read.filter(pl.col(WHY) == "counts")
    check_numbers(kept)
    return _cells(read, kept, basic)


def _needed(
    source: "nw.LazyFrame[Any]", basic: Sequence[str], cluster: str | None = None
) -> "tuple[nw.LazyFrame[Any], bool]":
    """Return the columns that matter, that of the clusters under our own name, and whether votes have weights."""
    names = source.collect_schema().names()
    missing = [name for name in (*basic, cluster) if name is not None and name not in names]
    if missing:
        raise InputError(f"column {missing[0]!r} is not among the votes; have {', '.join(names)}")
    if cluster in (*basic, "weight"):
        raise InputError(f"column {cluster!r} is asked for in two roles; give a copy of it another name")
    renamed = {} if cluster is None else {cluster: GROUP}
    weight = ["weight"] if "weight" in names else []
    if source.implementation.is_pyspark() or source.implementation.is_pyspark_connect():
        # Renamed are the columns needed alone: Spark takes a name with a dot in it for a field.
        return source.select([*basic, *renamed, *weight]).rename(renamed), bool(weight)
    # Renamed first: Polars takes "^a$" for a pattern.
    return source.rename(renamed).select([*basic, *renamed.values(), *weight]), bool(weight)


def _cells(read: pl.DataFrame, kept: pl.DataFrame, key: list[str]) -> VoteCells:
    models = tuple(pl.concat([kept[A], kept[B]]).unique().sort().to_list())
    place = {name: code for code, name in enumerate(models)}
    coded = kept.with_columns(pl.col(A, B).replace_strict(place, return_dtype=pl.Int64, default=None))
    alike = [A, B, OUTCOME, SHARE]
    cells = coded.group_by(alike, maintain_order=True).agg(pl.col(W, W2, N).sum()).sort(alike)
    cells = cells.with_columns(pl.int_range(pl.len()).alias(CELL))
    left = dict(read.group_by(WHY).agg(pl.col(N).sum()).iter_rows())
    unknown = read.filter(pl.col(WHY) == "unknown").group_by(LABEL).agg(pl.col(N).sum())
    first, second, outcome, share, weight, squares, count = (cells[name].to_numpy() for name in (*alike, W, W2, N))
    return VoteCells(
        models=models,
        rows=VoteRows(
            n_models=len(models),
            first=first,
            second=second,
            outcome=outcome,
            share=share,
            weight=weight,
            weight_squares=squares,
            count=count,
            covariates=np.zeros((cells.height, 0)),
        ),
        n_rows=int(read[N].sum()),
        n_unnamed=int(left.get("unnamed", 0)),
        n_self=int(left.get("self", 0)),
        n_unscored=int(left.get("unscored", 0)),
        unknown=tuple(unknown.sort(N, LABEL, descending=[True, False]).iter_rows()),
        # Two labels may stand for one outcome: several keys lead to one cell.
        keys=coded.join(cells, on=alike, maintain_order="left").select(*key, CELL),
    )


CHUNK_VOTES = 1_000_000

_PACKED, _ALONE, _MASS = (f"{HELPER}{name}" for name in ("packed", "alone", "mass"))
_BITS = 64
_HASHED = 5_000_000  # votes, beyond which text is told apart by hashes: a table of all levels takes five times as long

Packed = npt.NDArray[np.uint64]


def cluster_chunks(
    frame: object, cells: VoteCells, cluster: str, *, chunk_votes: int = CHUNK_VOTES
) -> Iterator[VoteRows]:
    """Yield the votes of `cells` cluster by cluster, many clusters at a time; equal votes of one cluster are one row.

    `frame` is the table that the cells were made of; a lazy Polars frame is streamed, and any other engine counts cells by
    cluster itself, which come in one chunk. `cluster` is a column; a vote without a level is a cluster of its own. A chunk has
    about `chunk_votes` votes; clusters are whole, so that it is as large as its largest one at least.

    Texts of more than 5 million votes are told apart by a hash of the bits that cells leave free, 47 for 100 models: of a
    million raters some two are then taken for one with a chance of less than 1%, which moves no standard error that is shown.
    Memory: 8 bytes for each vote (24 where votes have weights), and about 100 bytes for each vote of a chunk.
    """
    key = [name for name in cells.keys.columns if name != CELL]
    lazy, weighted = _needed(lazy_votes(frame), key, cluster)
    source = lazy.to_native()
    if not isinstance(source, pl.LazyFrame):
        yield from _engine_chunks(lazy, key, cells, weighted=weighted)
        return
    bits = max(1, (cells.rows.n_rows - 1).bit_length())
    packed, mass = _pack(source, cells, cluster, bits, weighted=weighted)
    if mass is None:
        packed.sort()
        order = None
    else:
        order = np.argsort(packed)
    done, begin = 0, 0
    while begin < packed.size:
        end = _end(packed, order, begin + chunk_votes, bits)
        some = packed[begin:end] if order is None else packed[order[begin:end]]
        own = None if mass is None or order is None else mass[order[begin:end]]
        chunk = _merged(cells, some, own, bits, done)
        yield chunk
        done, begin = int(chunk.clusters[0][-1]) + 1, end


def _engine_chunks(
    source: "nw.LazyFrame[Any]", key: list[str], cells: VoteCells, *, weighted: bool
) -> Iterator[VoteRows]:
    """Yield the votes of cells by cluster, counted by the engine that holds them: all clusters at once, then votes alone.

    Memory: about 100 bytes for each combination of cell and cluster.
    """
    known = ~nw.col(GROUP).is_null()
    shared = _placed(counted(source.filter(known), [*key, GROUP], weighted=weighted), cells, key)
    code = (shared[GROUP].rank("dense") - 1).cast(pl.Int64)
    table = shared.with_columns(code.alias(_PACKED)).group_by(_PACKED, CELL).agg(pl.col(N, W, W2).sum())
    done = 0
    if table.height:
        table = table.sort(_PACKED, CELL)
        cell, cluster, count, weight, squares = (table[name].to_numpy() for name in (CELL, _PACKED, N, W, W2))
        yield _chunk(cells, cell, cluster, count=count, weight=weight, weight_squares=squares)
        done = int(code.max() or 0) + 1  # pyright: ignore[reportArgumentType] - a whole number
    # Votes of one weight each: then every one of them is its row's share.
    alike = [*key, *(["weight"] if weighted else [])]
    single = _placed(counted(source.filter(~known), alike, weighted=weighted), cells, key)
    single = single.sort(CELL, W)
    cell, each, ends = single[CELL].to_numpy(), (single[W] / single[N]).to_numpy(), np.cumsum(single[N].to_numpy())
    total = int(ends[-1]) if ends.size else 0
    for begin in range(0, total, CHUNK_VOTES):
        votes = np.arange(begin, min(begin + CHUNK_VOTES, total), dtype=np.int64)
        row = np.searchsorted(ends, votes, side="right")
        weight, one = each[row], np.ones(votes.size, dtype=np.int64)
        yield _chunk(cells, cell[row], done + votes, count=one, weight=weight, weight_squares=weight * weight)


def _placed(table: pl.DataFrame, cells: VoteCells, key: list[str]) -> pl.DataFrame:
    """Put the place of its cell beside every row of a counted table; votes that do not count are in no cell."""
    return table.join(cells.keys, on=key, how="inner", nulls_equal=True)


def _chunk(
    cells: VoteCells, cell: Ints, cluster: Ints, *, count: Ints, weight: Floats, weight_squares: Floats
) -> VoteRows:
    rows = cells.rows.take(cell)
    return replace(rows, clusters=(cluster,), count=count, weight=weight, weight_squares=weight_squares)


def _pack(
    source: pl.LazyFrame, cells: VoteCells, cluster: str, bits: int, *, weighted: bool
) -> tuple[Packed, Floats | None]:
    """Return for every vote its cluster and its cell in one number, and its weight."""
    n = cells.rows.n_votes
    code, n_codes = _code(source, n, bits)
    if (n_codes + n).bit_length() + bits > _BITS:
        raise InputError(f"{cluster} has up to {n_codes:,} levels, too many; number them from 0 first")
    coded = source.with_columns(code.alias(_PACKED))
    key = [name for name in cells.keys.columns if name != CELL]
    numbers = cells.keys.with_columns(pl.col(CELL).cast(pl.UInt64)).lazy()
    joined = coded.join(numbers, on=key, how="inner", nulls_equal=True, maintain_order="left" if weighted else None)
    both = pl.col(_PACKED) * 2**bits + pl.col(CELL)
    wanted = [both.alias(_PACKED), pl.col(_PACKED).is_null().alias(_ALONE), pl.col(CELL)]
    wanted += [pl.col("weight").cast(pl.Float64).fill_null(1.0).alias(_MASS)] if weighted else []
    packed = np.empty(n, dtype=np.uint64)
    mass = np.empty(n) if weighted else None
    at, alone = 0, n_codes
    for batch in joined.select(wanted).collect_batches(chunk_size=_BATCH, maintain_order=weighted):
        to = at + batch.height
        if to > n:
            break
        packed[at:to] = batch[_PACKED].fill_null(0).to_numpy()
        lonely = batch[_ALONE].to_numpy()
        if lonely.any():
            fresh = np.arange(alone, alone + np.count_nonzero(lonely), dtype=np.uint64)
            packed[at:to][lonely] = (fresh << np.uint64(bits)) | batch[CELL].to_numpy()[lonely]
            alone += fresh.size
        if mass is not None:
            mass[at:to] = batch[_MASS].to_numpy()
        at = to
    if at != n:
        raise InputError(f"the cells hold {n:,} votes, but the frame does not; make the cells from the same frame")
    return packed, mass


def _code(source: pl.LazyFrame, n: int, bits: int) -> tuple[pl.Expr, int]:
    """Return codes 0..k-1 of the clusters, null where a vote has no level, and k, which may be too many.

    Whole numbers less their smallest, codes of categories, places among the levels of a text, or hashes of very many.
    """
    column, dtype = pl.col(GROUP), source.collect_schema()[GROUP]
    if dtype.is_integer():
        low, high = cast(
            "tuple[int | None, int | None]", source.select(low=column.min(), high=column.max()).collect().row(0)
        )
        span = 1 if low is None or high is None else high - low + 1
        if math.log2(span) < 44 and (high or 0) < 2**63:  # else the levels lie far apart: number them
            return (column.cast(pl.Int64) - (low or 0)).cast(pl.UInt64), span
    if isinstance(dtype, pl.Categorical | pl.Enum) and hasattr(pl, "Categories"):
        # Codes of the categories that all parts of the column share.
        return column.to_physical().cast(pl.UInt64), 2**32
    if n > _HASHED and dtype == pl.String:
        free = _BITS - 1 - bits
        return pl.when(column.is_not_null()).then(column.hash() // 2 ** (_BITS - free)), 2**free
    text = column.cast(pl.String)
    levels = collected(lazy_votes(source.select(text.unique()))).to_series().drop_nulls().sort()
    return text.cast(pl.Enum(levels)).to_physical().cast(pl.UInt64), max(1, levels.len())


def _end(packed: Packed, order: npt.NDArray[np.intp] | None, wanted: int, bits: int) -> int:
    """Return where the cluster ends that holds the vote before place `wanted`."""
    if wanted >= packed.size:
        return packed.size
    last = packed[wanted - 1] if order is None else packed[order[wanted - 1]]
    beyond = ((int(last) >> bits) + 1) << bits
    if beyond >= 2**_BITS:
        return packed.size
    return int(np.searchsorted(packed, np.uint64(beyond), side="left", sorter=order))


def _merged(cells: VoteCells, packed: Packed, mass: Floats | None, bits: int, done: int) -> VoteRows:
    """Merge equal votes of one cluster, and number the clusters from `done` on."""
    start = np.flatnonzero(np.concatenate([[True], packed[1:] != packed[:-1]]))
    count = np.diff(start, append=packed.size).astype(np.int64)
    kept = packed[start]
    cluster = kept >> np.uint64(bits)
    number = done + np.cumsum(np.concatenate([[False], cluster[1:] != cluster[:-1]]), dtype=np.int64)
    weight = count.astype(np.float64) if mass is None else np.add.reduceat(mass, start)
    squares = weight if mass is None else np.add.reduceat(mass * mass, start)
    cell = (kept & np.uint64(2**bits - 1)).astype(np.int64)
    return _chunk(cells, cell, number, count=count, weight=weight, weight_squares=squares)
