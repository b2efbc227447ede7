"""Rows of votes counted where they are, and the words in them read afterwards: names, labels, and why a vote does not count."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.aggregate.items import HELPER
from evalstats.errors import InputError
from evalstats.schema.tables import as_polars

OUTCOMES = ("a", "b", "tie", "both_bad")
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
_MOST_CODES = 5_000_000  # cells of the table in which codes are counted
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


def beside_names(covariates: Sequence[str]) -> list[str]:
    """Our own names of the covariates' columns: those of a file may look like a pattern to Polars ("*", "^a$")."""
    return [f"{HELPER}x{k}" for k in range(len(covariates))]


def group_names(clusters: Sequence[str]) -> list[str]:
    """Our own names of the clusters' columns."""
    return [f"{HELPER}g{k}" for k in range(len(clusters))]


def own_names(clusters: Sequence[str], covariates: Sequence[str], *, taken: Sequence[str]) -> dict[str, str]:
    """Return how to rename the columns of clusters and covariates.

    Raises
    ------
    InputError
        If a column is named twice, or is one of `taken`.
    """
    given = [*covariates, *clusters]
    twice = [name for k, name in enumerate(given) if name in given[:k] or name in taken]
    if twice:
        raise InputError(f"column {twice[0]!r} is asked for in two roles; give a copy of it another name")
    return dict(zip(given, [*beside_names(covariates), *group_names(clusters)], strict=True))


def winner_column(
    names: Sequence[str], winner: str | None, labels: Mapping[str, str] | None
) -> tuple[str, dict[str, str]]:
    """Return the winner's column, and what its labels stand for, in lower case.

    Raises
    ------
    InputError
        If a label stands for something that is no outcome.
    """
    column = winner or ("outcome" if "outcome" in names else "winner")
    glossary = {name: name for name in OUTCOMES}
    known = labels if labels is not None else glossary if column == "outcome" else ARENA_LABELS
    wrong = sorted(set(known.values()) - set(OUTCOMES))
    if wrong:
        raise InputError(f"labels stand for {wrong[0]!r}, which is no outcome; use {', '.join(OUTCOMES)}")
    return column, {label.strip().lower(): outcome for label, outcome in known.items()}


def counted(source: "nw.LazyFrame[Any]", group: list[str], *, weighted: bool, by_weight: bool) -> pl.DataFrame:
    """Count votes, and sum their weights, by the columns of `group`, and by weight where asked."""
    if not weighted:
        table = counted_by_code(source.to_native(), group)
        table = collected(source.group_by(group).agg(nw.len().alias(N))) if table is None else table
        one = pl.col(N).cast(pl.Float64)
        return table.with_columns(pl.col(N).cast(pl.Int64), one.alias(W), one.alias(W2), pl.lit(1.0).alias(LOW))
    mass = nw.col("weight").cast(nw.Float64).fill_null(1.0)
    summed = source.with_columns(mass.alias(W), (mass * mass).alias(W2), mass.alias(LOW))
    parts = [nw.len().alias(N), nw.col(W).sum(), nw.col(W2).sum()]
    if by_weight:
        table = collected(summed.group_by([*group, LOW]).agg(*parts))
    else:
        table = collected(summed.group_by(group).agg(*parts, nw.col(LOW).min()))
    return table.with_columns(pl.col(N).cast(pl.Int64))


def counted_by_code(frame: object, group: Sequence[str]) -> pl.DataFrame | None:
    """Count the rows of a lazy Polars frame by columns that are all categorical, faster than grouping does.

    None where some column is not, or where there are too many combinations. Codes are those of the categories that all
    columns of one type share; the name of each is read from a row in which it stands.
    """
    if not isinstance(frame, pl.LazyFrame) or not hasattr(pl, "Categories"):
        return None
    schema = frame.collect_schema()
    if not all(isinstance(schema[name], pl.Categorical | pl.Enum) for name in group):
        return None
    total = np.zeros([0] * len(group), dtype=np.int64)
    names: list[dict[int, str]] = [{} for _ in group]
    rest: list[pl.DataFrame] = []
    for batch in frame.select(group).collect_batches(chunk_size=_BATCH, maintain_order=False):
        whole = batch.drop_nulls()
        if whole.height < batch.height:
            some = batch.filter(pl.any_horizontal(pl.all().is_null()))
            rest.append(some.group_by(group).agg(pl.len().cast(pl.Int64).alias(N)))
        codes = [series.to_physical().to_numpy() for series in whole]
        shape = tuple(max(size, int(code.max(initial=0)) + 1) for size, code in zip(total.shape, codes, strict=True))
        if math.prod(shape) > _MOST_CODES:
            return None
        total = np.pad(total, [(0, new - old) for new, old in zip(shape, total.shape, strict=True)])
        label = codes[0].astype(np.int64)
        for code, size in zip(codes[1:], shape[1:], strict=True):
            label *= size
            label += code
        total += np.bincount(label, minlength=total.size).reshape(shape)
        _learn(names, total, whole, codes)
    found = np.nonzero(total)
    columns = {
        name: pl.Series([known[code] for code in place.tolist()], dtype=pl.String).cast(schema[name])
        for name, place, known in zip(group, found, names, strict=True)
    }
    table = pl.concat([pl.DataFrame({**columns, N: total[found]}), *rest])
    return table.group_by(group).agg(pl.col(N).sum()) if rest else table


def _learn(
    names: list[dict[int, str]], total: npt.NDArray[np.int64], batch: pl.DataFrame, codes: list[npt.NDArray[np.uint32]]
) -> None:
    """Add to `names` what the codes stand for that were first met in this batch."""
    axes = range(total.ndim)
    for k, known in enumerate(names):
        met = np.flatnonzero(total.any(axis=tuple(axis for axis in axes if axis != k)))
        if met.size > len(known):
            levels, rows = np.unique(codes[k], return_index=True)
            text = batch.to_series(k).gather(rows).cast(pl.String).to_list()
            known.update(zip(levels.tolist(), text, strict=True))


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
    return read.with_columns(share.alias(SHARE), _why(said, status="status" in table.columns).alias(WHY))


def _why(said: pl.Series, *, status: bool) -> pl.Expr:
    """Return "counts", or the first reason why the votes of a row do not."""
    first, second = pl.col(A), pl.col(B)
    unnamed = first.is_null() | second.is_null() | (first == "") | (second == "")
    empty = pl.lit(said.is_null() | said.is_in(_NO_LABEL))
    lost = pl.col("status").cast(pl.String).ne_missing("scored") if status else pl.lit(value=False)
    reasons = {"unnamed": unnamed, "self": first == second, "unscored": empty | lost}
    why = pl.when(pl.col(OUTCOME).is_null()).then(pl.lit("unknown")).otherwise(pl.lit("counts"))
    for reason, holds in reversed(reasons.items()):
        why = pl.when(holds).then(pl.lit(reason)).otherwise(why)
    return why


def check_numbers(kept: pl.DataFrame, covariates: Sequence[str]) -> None:
    """Raise InputError where a preference, a weight or a covariate of a vote that counts is not what it must be."""
    outside = int(kept.filter(~pl.col(SHARE).is_between(0.0, 1.0))[N].sum())
    if outside:
        raise InputError(f"{outside} votes have a preference outside [0, 1]; it is the share for model_a")
    low, total = cast("float | None", kept[LOW].min()), float(kept[W2].sum())
    if not math.isfinite(total) or (low is not None and low < 0):
        raise InputError("some weights are negative, NaN or infinite; give every vote a finite weight of at least 0")
    for own, name in zip(beside_names(covariates), covariates, strict=True):
        finite = pl.col(own).cast(pl.Float64).is_finite().fill_null(value=False)
        wrong = int(kept.filter(~finite)[N].sum())
        if wrong:
            raise InputError(f"covariate {name!r} is null or not finite in {wrong} votes; fill it, or leave them out")
