"""Marginal means and contrasts: the frozen result of `means()`."""

from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from evalstats.analysis.result import json_safe
from evalstats.document.blocks import Block
from evalstats.document.markup import to_html
from evalstats.document.numbers import plural


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRow:
    """One marginal mean; `levels` holds (factor, level). `df` is None where the normal law is used."""

    name: str
    levels: tuple[tuple[str, str], ...]
    estimate: float | None
    std_error: float | None
    df: float | None
    conf_low: float | None
    conf_high: float | None
    reason: str | None = None

    def at(self, levels: tuple[tuple[str, str], ...]) -> "MeanRow":
        """Return the same mean with its levels."""
        return replace(self, levels=levels)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContrastRow:
    """One contrast of marginal means.

    `p_value` is for the contrast alone; `p_adjusted` and the interval for all contrasts of its `family` together.
    """

    name: str
    family: str
    estimate: float | None
    std_error: float | None
    df: float | None
    statistic: float | None
    p_value: float | None
    p_adjusted: float | None
    conf_low: float | None
    conf_high: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Means:
    """Marginal means of a fitted model, and their contrasts: what `means` returns.

    Attributes
    ----------
    specs, by
        Factors whose levels are told apart; those within whose levels contrasts are made.
    scale
        What the means are, in words.
    averaging
        What they are averaged over, and how.
    adjust
        How p and intervals of the contrasts are adjusted within each family.
    df_method
        As in `MixedModel`; "z" for averaged probabilities.
    """

    specs: tuple[str, ...]
    by: tuple[str, ...]
    response: str
    scale: str
    averaging: str
    adjust: str
    conf_level: float
    df_method: str
    rows: tuple[MeanRow, ...]
    contrasts: tuple[ContrastRow, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        counts = f"{plural(len(self.rows), 'mean')} and {plural(len(self.contrasts), 'contrast')}"
        return f"<Means: {self.response} for {', '.join(self.specs)}{by}: {counts}, {self.adjust}>"

    def to_frame(self) -> pl.DataFrame:
        """Return the means, one row each, with a column for each factor."""
        rows = [
            {
                **dict(row.levels),
                "estimate": row.estimate,
                "std_error": row.std_error,
                "df": row.df,
                "conf_low": row.conf_low,
                "conf_high": row.conf_high,
                "conf_level": self.conf_level,
                "reason": row.reason,
            }
            for row in self.rows
        ]
        return pl.DataFrame(rows, schema_overrides=_TYPES, infer_schema_length=None)

    def contrasts_frame(self) -> pl.DataFrame:
        """Return the contrasts, one row each."""
        fields = ContrastRow.__dataclass_fields__
        types = {name: pl.String() if name in ("name", "family", "reason") else pl.Float64() for name in fields}
        return pl.DataFrame([{name: getattr(row, name) for name in fields} for row in self.contrasts], schema=types)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values."""
        return json_safe(self)

    def summary(self) -> str:
        """Sentences for a person."""
        from evalstats.analysis.mixing.mean_wording import means_sentences

        return " ".join(means_sentences(self))

    def blocks(self) -> list[Block]:
        """Return the result as neutral blocks."""
        from evalstats.analysis.mixing.mean_wording import means_blocks

        return means_blocks(self)

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


_TYPES: dict[str, pl.DataType] = {
    **{name: pl.Float64() for name in ("estimate", "std_error", "df", "conf_low", "conf_high", "conf_level")},
    "reason": pl.String(),
}
