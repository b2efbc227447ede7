"""What ratings hold equal: the side, and style by pairs of columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evalstats.document.model import Note
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray

SIDE = "side"
STYLE = ("assistant_tokens", "header_count", "list_count", "bold_count")
_STYLE_WORDS = ("token", "length", "char", "word", "header", "list", "bold", "emoji")


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariates:
    """Covariates of every kept vote.

    `values`: float64, shape (n_kept, n_covariates): relative differences (a - b)/(a + b) over their standard deviation; 1 (or
    -1 where b was shown first) for "side". `kept`: Boolean per vote given: those with every covariate; None where all are kept.
    `mean`, `sd`: of the relative difference over the kept votes; of a plain difference where a value is negative.
    """

    names: tuple[str, ...] = ()
    values: FloatArray
    kept: pl.Series | None = None
    mean: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()
    notes: tuple[Note, ...] = ()


def style_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return the pairs of columns that tell of style: length, headers, lists, bold.

    >>> style_pairs(
    ...     pl.DataFrame({"header_count_a": [1.0, 0.0], "header_count_b": [2.0, 0.0], "context_tokens_a": [1, 1]})
    ... )
    ('header_count',)
    """
    pairs = [name for name in numeric_pairs(votes) if name in STYLE]
    return tuple(pairs or [name for name in numeric_pairs(votes) if _is_style(name)])


def numeric_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return every name that has a numeric column `<name>_a` and `<name>_b`."""
    pairs: list[str] = []
    for column in votes.columns:
        name = column.removesuffix("_a")
        other = f"{name}_b"
        if name == column or other not in votes.columns or name in {"model", "rank"}:
            continue
        if all(votes[side].dtype.is_numeric() or votes[side].dtype == pl.Boolean for side in (column, other)):
            pairs.append(name)
    return tuple(pairs)


def relative_differences(votes: pl.DataFrame, asked: Sequence[str] | None, *, side: bool) -> Covariates:
    """Return covariates for the votes that have them all; `InputError` for a pair that is not there, or never differs."""
    known = numeric_pairs(votes)
    names = list(dict.fromkeys(name.removesuffix("_a").removesuffix("_b") for name in asked or ()))
    for name in names:
        if name not in known:
            have = ", ".join(known) or "none"
            raise InputError(
                f"there are no numeric columns {name}_a and {name}_b in the votes; pairs of numbers there are: {have}"
            )
    sides = [f"{name}_{end}" for name in names for end in "ab"]
    kept = votes.select(pl.all_horizontal(pl.col(sides).is_not_null()))[:, 0] if sides else None
    missing = 0 if kept is None else votes.height - int(kept.sum())
    chosen = votes if not missing or kept is None else votes.filter(kept)
    for side_name in sides:
        if not chosen[side_name].cast(pl.Float64).is_finite().all():
            raise InputError(f"{side_name} holds numbers that are NaN or infinite; put null where it is not known")
    columns: list[FloatArray] = []
    means: list[float] = []
    spreads: list[float] = []
    for name in names:
        difference = _relative(chosen[f"{name}_a"], chosen[f"{name}_b"])
        spread = float(difference.std()) if difference.size else 0.0
        if spread <= 1e-12:
            raise InputError(
                f"{name}_a and {name}_b differ by the same in every vote, so nothing can be said of {name}"
            )
        columns.append(difference / spread)
        means.append(float(difference.mean()))
        spreads.append(spread)
    if side:
        columns.insert(0, sides_of(chosen))
        means.insert(0, float(columns[0].mean()))
        spreads.insert(0, 1.0)
    lost = f"{plural(missing, 'vote')} without {' and '.join(names)} of both answers are left out"
    return Covariates(
        names=((SIDE, *names) if side else tuple(names)),
        values=np.stack(columns, axis=1) if columns else np.zeros((chosen.height, 0)),
        kept=kept if missing else None,
        mean=tuple(means),
        sd=tuple(spreads),
        notes=(Note(kind="left_out", text=lost),) if missing else (),
    )


def _relative(a: pl.Series, b: pl.Series) -> FloatArray:
    first, second = a.cast(pl.Float64).to_numpy(), b.cast(pl.Float64).to_numpy()
    if first.min(initial=0.0) < 0.0 or second.min(initial=0.0) < 0.0:
        return first - second  # a relative difference has no meaning where amounts may be negative
    total = first + second
    return np.divide(first - second, total, out=np.zeros_like(total), where=total > 0.0)


def sides_of(votes: pl.DataFrame) -> FloatArray:
    """Return 1 for a vote that showed side a first, or does not say, and -1 where side b was, shape (n_votes,)."""
    shown = votes["order"] if "order" in votes.columns else pl.Series([None] * votes.height, dtype=pl.String)
    return np.where((shown == "b_first").fill_null(value=False).to_numpy(), -1.0, 1.0)


def _is_style(name: str) -> bool:
    return any(word in name.lower() for word in _STYLE_WORDS) and "context" not in name and "user" not in name
