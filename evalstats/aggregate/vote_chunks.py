"""Votes by cluster where nearly every vote has a cell of its own: raters of a large arena, a few at a time.

Every vote becomes one whole number: its cluster in the upper bits, its cell in the lower. 50 million of them take 400 MB;
sorted in place they are cut between clusters.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.aggregate.votes import (
    CELL,
    Floats,
    Ints,
    VoteCells,
    beside_names,
    collected,
    group_names,
    lazy_votes,
    own_names,
)
from evalstats.errors import InputError
from evalstats.schema.tables import as_polars

CHUNK_VOTES = 1_000_000

_BATCH = 500_000  # rows that are coded at once
_PACKED, _ALONE, _MASS = (f"{HELPER}{name}" for name in ("packed", "alone", "mass"))
_BITS = 64
_HASHED = 5_000_000  # votes, beyond which text is told apart by hashes: a table of all levels takes five times as long

Packed = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteChunk:
    """Votes of some whole clusters, equal votes of one cluster merged.

    Attributes
    ----------
    cell
        int64, shape (n,): places in the arrays of the `VoteCells`.
    cluster
        int64, shape (n,): codes, in rising order; those of the next chunk go on where these end.
    weight, weight_squares
        float64, shape (n,): sums of the votes' weights and of their squares.
    count
        int64, shape (n,): votes.
    """

    cell: Ints
    cluster: Ints
    weight: Floats
    weight_squares: Floats
    count: Ints


def cluster_chunks(
    frame: object, cells: VoteCells, cluster: str | Sequence[str], *, chunk_votes: int = CHUNK_VOTES
) -> Iterator[VoteChunk]:
    """Yield the votes of `cells` cluster by cluster, many clusters at a time.

    Parameters
    ----------
    frame
        The table that the cells were made of. A lazy Polars frame is streamed; of any other the few columns that matter
        are collected first.
    cells
        Made without clusters, with the covariates wanted.
    cluster
        A column, or several: then votes belong together that agree in all of them. A vote without a level is a cluster of
        its own.
    chunk_votes
        Votes to a chunk, about: clusters are whole, so that a chunk is as large as its largest cluster at least.

    Notes
    -----
    Texts of more than 5 million votes are told apart by a hash of the bits that cells leave free, 47 for 100 models: of a
    million raters some two are then taken for one with a chance of less than 1%, which moves no standard error that is shown.

    Memory: 8 bytes for each vote (24 where votes have weights), and about 100 bytes for each vote of a chunk.
    """
    names = (cluster,) if isinstance(cluster, str) else tuple(cluster)
    if cells.cluster_names:
        raise InputError("these cells are told apart by clusters already; make them without, and ask for chunks then")
    source, weighted = _source(frame, cells, names)
    bits = max(1, (cells.n_cells - 1).bit_length())
    packed, mass = _pack(source, cells, names, bits, weighted=weighted)
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
        chunk = _merged(some, own, bits, done)
        yield chunk
        done, begin = int(chunk.cluster[-1]) + 1, end


def _source(frame: object, cells: VoteCells, clusters: tuple[str, ...]) -> tuple[pl.LazyFrame, bool]:
    """Return the columns that matter, under our own names, as a lazy Polars frame."""
    source = lazy_votes(frame)
    names = source.collect_schema().names()
    basic = [name for name in cells.keys.columns if not name.startswith(HELPER)]
    missing = [name for name in (*basic, *cells.covariate_names, *clusters) if name not in names]
    if missing:
        raise InputError(f"column {missing[0]!r} is not among the votes; have {', '.join(names)}")
    source = source.rename(own_names(clusters, cells.covariate_names, taken=(*basic, "weight")))
    weighted = "weight" in names
    kept = [*basic, *beside_names(cells.covariate_names), *group_names(clusters), *(["weight"] if weighted else [])]
    native = source.select(kept).to_native()
    return native if isinstance(native, pl.LazyFrame) else as_polars(native).lazy(), weighted


def _pack(
    source: pl.LazyFrame, cells: VoteCells, clusters: tuple[str, ...], bits: int, *, weighted: bool
) -> tuple[Packed, Floats | None]:
    """Return for every vote its cluster and its cell in one number, and its weight."""
    n = cells.n_votes
    coded, n_codes = _codes(source, group_names(clusters), n, bits)
    if (n_codes + n).bit_length() + bits > _BITS:
        raise InputError(f"{' x '.join(clusters)} have up to {n_codes:,} levels, too many; number them from 0 first")
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


def _codes(source: pl.LazyFrame, groups: list[str], n: int, bits: int) -> tuple[pl.LazyFrame, int]:
    """Add a column of cluster codes, null where a vote has no level; return how many codes there may be."""
    schema = source.collect_schema()
    if n > _HASHED and [schema[own] for own in groups] == [pl.String]:
        text, free = pl.col(groups[0]), _BITS - 1 - bits
        hashed = pl.when(text.is_not_null()).then(text.hash() // 2 ** (_BITS - free))
        return source.with_columns(hashed.alias(_PACKED)), 2**free
    code, n_codes = pl.lit(0, pl.UInt64), 1
    for own in groups:
        number, levels = _code(source, own, schema[own], alone=len(groups) == 1)
        code, n_codes = code * levels + number, n_codes * levels
    return source.with_columns(code.alias(_PACKED)), n_codes


def _code(source: pl.LazyFrame, own: str, dtype: pl.DataType, *, alone: bool) -> tuple[pl.Expr, int]:
    """Return codes 0..n-1 of one column, and n: whole numbers less their smallest, else places among the levels."""
    if dtype.is_integer():
        ends = collected(lazy_votes(source.select(pl.col(own).min().alias("low"), pl.col(own).max().alias("high"))))
        low, high = cast("tuple[int | None, int | None]", ends.row(0))
        span = 1 if low is None or high is None else high - low + 1
        if math.log2(span) < 44 and (high or 0) < 2**63:  # else the levels lie far apart: number them
            return (pl.col(own).cast(pl.Int64) - (low or 0)).cast(pl.UInt64), span
    if alone and isinstance(dtype, pl.Categorical | pl.Enum) and hasattr(pl, "Categories"):
        # Codes of the categories that all parts of the column share.
        return pl.col(own).to_physical().cast(pl.UInt64), 2**32
    text = pl.col(own).cast(pl.String)
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


def _merged(packed: Packed, mass: Floats | None, bits: int, done: int) -> VoteChunk:
    """Merge equal votes of one cluster, and number the clusters from `done` on."""
    start = np.flatnonzero(np.concatenate([[True], packed[1:] != packed[:-1]]))
    count = np.diff(start, append=packed.size).astype(np.int64)
    kept = packed[start]
    cluster = kept >> np.uint64(bits)
    number = done + np.cumsum(np.concatenate([[False], cluster[1:] != cluster[:-1]]), dtype=np.int64)
    weight = count.astype(np.float64) if mass is None else np.add.reduceat(mass, start)
    return VoteChunk(
        cell=(kept & np.uint64(2**bits - 1)).astype(np.int64),
        cluster=number,
        weight=weight,
        weight_squares=count.astype(np.float64) if mass is None else np.add.reduceat(mass * mass, start),
        count=count,
    )
