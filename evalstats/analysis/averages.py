"""What a mean over items is a mean of: items alike (micro), levels of a factor alike (macro), or in shares that were given."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.grouping import label_of
from evalstats.analysis.pairs import Pairs
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.stats.stratified import Strata, strata_of

# Factors whose levels a benchmark is usually averaged over, the first of them that has several.
_NATURAL = ("task", "scenario", "subject", "category", "domain", "subset", "topic", "discipline", "subtask")
# Sizes within this ratio make no difference that anybody would see.
_ALIKE = 1.2
_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Average:
    """A mean over the levels of one factor, which are fixed.

    Attributes
    ----------
    column, label
        The factor as the outcomes call it, and as the user does.
    kind
        "micro": every item alike, so that levels count by their items; "macro": every level alike; "weighted": by `shares`.
    shares
        Share of each level, above 0; empty unless weighted.
    """

    column: str
    label: str
    kind: Literal["micro", "macro", "weighted"]
    shares: Mapping[str, float]

    def strata(self, items: pl.DataFrame) -> Strata | None:
        """Return the stratum of every item and the shares; None where the items have one level.

        Raises
        ------
        InputError
            If an item has no level, or a level no share.
        """
        levels = self._levels(items)
        names: list[str] = levels.unique().sort().to_list()
        if len(names) < 2:
            return None
        codes = np.searchsorted(np.array(names, dtype=object), levels.to_numpy().astype(object))
        weights = None
        if self.kind == "macro":
            weights = [1.0] * len(names)
        elif self.kind == "weighted":
            without = [name for name in names if name not in self.shares]
            if without:
                message = (
                    f"{_listed(without)} of {self.label} {'has' if len(without) == 1 else 'have'} no share in the weights; give "
                    "every level one, or keep the levels that shall count with --where (data.where(...) in Python)"
                )
                raise InputError(message)
            weights = [self.shares[name] for name in names]
        return strata_of(codes.astype(np.int64), items.height, weights)

    def words(self, items: pl.DataFrame) -> str:
        """Name the average: "macro average over 57 subjects of 100 to 1,534 items"."""
        kind = "weighted average" if self.kind == "weighted" else f"{self.kind} average"
        return f"{kind} over {_sizes(self._levels(items), self.label)}"

    def how(self) -> str:
        """Say how levels count, for the estimand."""
        counts = {
            "micro": "every item counting alike",
            "macro": "every level counting alike",
            "weighted": "in the shares given",
        }
        return f"mean over the levels of {self.label}, {counts[self.kind]}"

    def check(self, items: pl.DataFrame) -> None:
        """Refuse shares of levels that no item has, which would silently go to the others.

        Raises
        ------
        InputError
            If there is such a level.
        """
        if self.kind == "weighted":
            here = set(self._levels(items).to_list())
            gone = [name for name in self.shares if name not in here]
            if gone:
                message = (
                    f"the weights give a share to {_listed(gone)}, and no item has that level of {self.label}; its levels are "
                    f"{_listed(sorted(here))}"
                )
                raise InputError(message)

    def _levels(self, items: pl.DataFrame) -> pl.Series:
        if self.column not in items.columns:
            message = f"{self.label!r} does not describe items, so nothing can be averaged over it"
            raise InputError(message)
        levels = items[self.column].cast(pl.String)
        lost = levels.null_count()
        if lost:
            message = (
                f"{lost} of {items.height} items have no single level of {self.label}, so they stand in no average over it; "
                "fill the column, or average over another one: --average-over (over= in Python)"
            )
            raise InputError(message)
        return levels


def wanted_average(
    data: EvalData,
    items: pl.DataFrame,
    *,
    average: str | None,
    over: str | None,
    weights: Mapping[str, float] | None,
) -> Average | None:
    """Return the average that was asked for; None where nothing was.

    Parameters
    ----------
    items
        Items with their factors, those of every side.

    Raises
    ------
    InputError
        If the options do not go together, a factor is not known, or there is none to average over.
    """
    if average is None and weights is None:
        if over is None:
            return None
        message = f"over={over!r} names what to average over; say how as well: average 'micro' or 'macro', or weights"
        raise InputError(message)
    if average is not None and weights is not None:
        message = (
            f"average={average!r} and weights are given; weights are an average of their own, so give one of the two"
        )
        raise InputError(message)
    if average not in (None, "micro", "macro"):
        message = f"average is {average!r}; it is 'micro' (every item alike) or 'macro' (every level alike)"
        raise InputError(message)
    column = natural_factor(items) if over is None else data.factor(over)
    if column is None:
        message = (
            "there is no task or scenario with several levels to average over; name the factor with --average-over "
            "(over= in Python)"
        )
        raise InputError(message)
    label = over or label_of(column, data.factor_names())
    if weights is not None:
        found = Average(column=column, label=label, kind="weighted", shares=_checked(weights))
    else:
        found = Average(column=column, label=label, kind="macro" if average == "macro" else "micro", shares={})
    found.check(items)
    return found


def natural_factor(items: pl.DataFrame) -> str | None:
    """Return what a benchmark is usually averaged over: task where there are several, else scenario, subject, ..."""
    for name in _NATURAL:
        if name in items.columns and items[name].null_count() == 0:
            n_levels = items[name].n_unique()
            if 2 <= n_levels <= items.height / 2:
                return name
    return None


def plain_average(data: EvalData, items: pl.DataFrame, clusters: Sequence[str]) -> str:
    """Say which average a plain mean is, where levels differ in size; "" where it makes no difference."""
    column = natural_factor(items)
    if column is None or column in clusters:
        return ""
    levels, label = items[column].cast(pl.String), label_of(column, data.factor_names())
    counts = levels.value_counts()["count"]
    if float(counts.max()) <= _ALIKE * float(counts.min()):  # type: ignore[arg-type] - counts of whole numbers
        return ""
    return f"micro average over {_sizes(levels, label)}; --average macro weighs them equally"


def fixed_by(average: Average | None, pairs: Pairs, column: str) -> bool:
    """Whether the levels averaged over, which are fixed, fix those of another column: each lies in one of its groups."""
    if average is None or average.column not in pairs.items.columns or column not in pairs.items.columns:
        return False
    codes, levels = pairs.codes(column), pairs.codes(average.column)
    return len(np.unique(np.stack([codes, levels], axis=1), axis=0)) == len(np.unique(levels))


def refuse_clusters(average: Average | None, clusters: Sequence[str], pairs: Pairs) -> None:
    """Refuse clusters that are the levels averaged over, or contain them: these cannot be both fixed and sampled.

    Raises
    ------
    InputError
        If there are such clusters.
    """
    for name in clusters:
        if average is not None and fixed_by(average, pairs, name):
            message = (
                f"{average.label} is averaged over, so its levels are fixed, and clusters of {name} would take them for a "
                "sample; leave out one of the two (--cluster none drops the clusters)"
            )
            raise InputError(message)


def _checked(weights: Mapping[str, float]) -> dict[str, float]:
    wrong = [name for name, share in weights.items() if not (math.isfinite(share) and share >= 0)]
    if wrong or not any(share > 0 for share in weights.values()):
        name = wrong[0] if wrong else next(iter(weights), "")
        message = f"the weight of {name!r} is {weights.get(name)}; weights are numbers of 0 or more, not all 0"
        raise InputError(message)
    if any(share == 0 for share in weights.values()):
        name = next(name for name, share in weights.items() if share == 0)
        message = f"the weight of {name!r} is 0; leave its items out with --where (data.where(...) in Python) instead"
        raise InputError(message)
    return {str(name): float(share) for name, share in weights.items()}


def _sizes(levels: pl.Series, label: str) -> str:
    counts: list[int] = levels.value_counts()["count"].to_list()
    few, many = min(counts), max(counts)
    sizes = f"{few:,} to {many:,}" if few != many else f"{few:,}"
    # A column may be called anything; a word takes an s.
    named = plural(len(counts), label, _many(label)) if label.isalpha() else f"{len(counts):,} levels of {label}"
    return f"{named} of {sizes} items"


def _many(word: str) -> str:
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
