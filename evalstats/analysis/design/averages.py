"""Averages over the levels of a factor, which are then fixed: macro, micro or weighted; and others that could have been meant."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.design.clusters import label_of, nested
from evalstats.errors import InputError, Option
from evalstats.grammar import has_have, plural, plural_of, quoted_list
from evalstats.options import GivenOptions
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats.stratified import Strata, strata_of
from evalstats.table.score_table import ScoreTable

# Factors whose levels a benchmark is usually averaged over, the first of them that has several.
_NATURAL = (
    "task", "scenario", "subject", "category", "domain", "subset", "topic", "discipline", "subtask", "language", "difficulty",
    "type",
)  # fmt: skip


# Sizes within this ratio make no difference that anybody would see.
_ALIKE = 1.2


_SHOWN = 5


@record
class Average:
    """A mean over the levels of one factor, which are fixed; `label` is what the user calls the column.

    "micro": every item alike, so that levels count by their items; "macro": every level alike; "weighted": by `shares`.
    """

    column: str
    label: str
    kind: Literal["micro", "macro", "weighted"]
    shares: Mapping[str, float]

    def strata(self, items: pl.DataFrame) -> Strata | None:
        """Return the stratum of every item and the shares; None where the items have one level."""
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
                raise InputError(
                    f"{quoted_list(without, _SHOWN)} of {self.label} {has_have(len(without))} no share in the weights; give "
                    f"every level one, or keep the levels that shall count with {Option('where')}"
                )
            weights = [self.shares[name] for name in names]
        return strata_of(codes.astype(np.int64), items.height, weights)

    def words(self, items: pl.DataFrame) -> str:
        """Name the average: "macro average over 57 subjects of 100 to 1,534 items"."""
        counts: list[int] = self._levels(items).value_counts()["count"].to_list()
        few, most = min(counts), max(counts)
        sizes = f"{few:,} to {most:,}" if few != most else f"{few:,}"
        # A column may be called anything; a word takes an s.
        levels = f"{len(counts):,} levels of {self.label}"
        if self.label.isalpha():
            levels = plural(len(counts), self.label, plural_of(self.label))
        return f"{self.kind} average over {levels} of {sizes} items"

    def how(self) -> str:
        """Say how levels count, for the estimand."""
        counts = {
            "micro": "all items weighted equally",
            "macro": "all levels weighted equally",
            "weighted": "weighted as given",
        }
        return f"mean over the levels of {self.label}, {counts[self.kind]}"

    def check(self, items: pl.DataFrame) -> None:
        """Refuse shares of levels that no item has, which would silently go to the others."""
        if self.kind == "weighted":
            here = set(self._levels(items).to_list())
            gone = [name for name in self.shares if name not in here]
            if gone:
                raise InputError(
                    f"the weights give a share to {quoted_list(gone, _SHOWN)}, and no item has that level of {self.label}; "
                    f"its levels are {quoted_list(here, _SHOWN)}"
                )

    def _levels(self, items: pl.DataFrame) -> pl.Series:
        if self.column not in items.columns:
            raise InputError(f"{self.label!r} does not describe items, so nothing can be averaged over it")
        levels = items[self.column].cast(pl.String)
        lost = levels.null_count()
        if lost:
            raise InputError(
                f"{lost:,} of {items.height:,} items have no single level of {self.label}, so they are in no average over it; "
                f"fill the column, or average over another one: {Option('over')}"
            )
        return levels


def wanted_average(data: EvalData, items: pl.DataFrame, asked: GivenOptions) -> Average | None:
    """Return the average that was asked for over the items of every side; None where nothing was."""
    average: str | None = asked.average
    over: str | None = asked.over
    weights: Mapping[str, float] | None = asked.weights
    if average is None and weights is None:
        if over is None:
            return None
        raise InputError(
            f"over={over!r} names what to average over; say how as well: average 'micro' or 'macro', or weights"
        )
    if average is not None and weights is not None:
        raise InputError(
            f"average={average!r} and weights are given; weights are an average of their own, so give one of the two"
        )
    column = natural_factor(items) if over is None else data.factor(over)
    if column is None:
        raise InputError(
            f"there is no task or scenario with several levels to average over; name the factor with {Option('over')}"
        )
    label = over or label_of(column, data.factor_names())
    if weights is not None:
        found = Average(column=column, label=label, kind="weighted", shares=_checked(weights))
    else:
        found = Average(column=column, label=label, kind="macro" if average == "macro" else "micro", shares={})
    found.check(items)
    return found


def natural_factor(items: pl.DataFrame) -> str | None:
    """Return what a benchmark is usually averaged over: task where there are several, else scenario, subject, ..."""
    return next((name for name in _NATURAL if _has_levels(items, name)), None)


def _has_levels(items: pl.DataFrame, name: str) -> bool:
    if name not in items.columns or items[name].null_count():
        return False
    return 2 <= items[name].n_unique() <= items.height / 2


def other_averages(
    data: EvalData, items: pl.DataFrame, *, but: Average | None = None, declared: Sequence[str] = ()
) -> tuple[Average, ...]:
    """Return the averages that somebody else could have meant: over a usual or `declared` factor with levels of unlike sizes.

    Every level alike where every item counts alike, or an average over another factor was taken; every item alike beside a
    macro or weighted average. Levels that group the items as an earlier factor does are given once.
    """
    found: list[Average] = []
    seen: list[str] = []
    taken = None if but is None or but.kind == "micro" else but
    if taken is not None and _unlike(items[taken.column]):
        found.append(replace(taken, kind="micro", shares={}))
        seen.append(taken.column)
    for name in dict.fromkeys((*declared, *_NATURAL)):
        if _has_levels(items, name) and _unlike(items[name]) and not any(_alike(items, name, other) for other in seen):
            seen.append(name)
            found.append(Average(column=name, label=label_of(name, data.factor_names()), kind="macro", shares={}))
    return tuple(found)


def _unlike(levels: pl.Series) -> bool:
    counts: list[int] = levels.value_counts()["count"].to_list()
    return max(counts) > _ALIKE * min(counts)


def _alike(items: pl.DataFrame, one: str, other: str) -> bool:
    """Whether two columns group the items alike."""
    return one == other or items.select(one, other).n_unique() == items[one].n_unique() == items[other].n_unique()


def plain_average(data: EvalData, items: pl.DataFrame, clusters: Sequence[str]) -> str:
    """Say which average a plain mean is, where levels differ in size; "" where it makes no difference."""
    found = [each for each in other_averages(data, items) if each.column not in clusters]
    return replace(found[0], kind="micro").words(items) if found else ""


def estimand(what: str, clusters: Sequence[str], average: Average | None, *, new: str = "") -> str:
    """Say over what the mean is taken, and what was sampled: items or clusters, and what else is `new` (runs, shared trials).

    >>> print(estimand("score", ("passage",), None))
    mean score over items, for new levels of passage like these (passage is the unit that was sampled)
    """
    also = f" and new {new}s" if new else ""
    if average is not None:
        units = f"levels of {' and '.join(clusters)}" if clusters else "items"
        return f"{average.how()}, for new {units} of these same levels of {average.label}{also}"
    variants = " and variants" if tuple(clusters) == ("item",) else ""
    names = "" if variants else " and ".join(clusters)
    over = f"for new levels of {names} like these" if names else "for new items like these"
    sampled = f"{names or 'the item'} and the {new} were" if new else f"{names or 'the item'} is the unit that was"
    return f"mean {what} over items{variants}, {over}{also} ({sampled} sampled)"


def weighted_words(kind: str, factor: str) -> str:
    """Say how an average weighs, to begin a sentence with.

    >>> weighted_words("macro", "subject"), weighted_words("micro", "subject")
    ('with subjects weighted equally', 'with every item weighted equally')
    """
    return "with every item weighted equally" if kind == "micro" else f"with {plural_of(factor)} weighted equally"


def fixed_by(average: Average | None, table: ScoreTable, column: str) -> bool:
    """Whether the levels averaged over, which are fixed, fix those of another column: each lies in one of its groups."""
    if average is None or not {average.column, column} <= set(table.items.columns):
        return False
    return nested(table.codes(average.column), table.codes(column))


def refuse_clusters(average: Average | None, clusters: Sequence[str], table: ScoreTable) -> None:
    """Refuse clusters that are the levels averaged over, or contain them: these cannot be both fixed and sampled."""
    for name in clusters:
        if average is not None and fixed_by(average, table, name):
            raise InputError(
                f"{average.label} is averaged over, so its levels are fixed, and clusters of {name} would take them for a "
                f"sample; leave out one of the two ({Option('cluster', 'none')} drops the clusters)"
            )


def _checked(weights: Mapping[str, float]) -> dict[str, float]:
    wrong = [name for name, share in weights.items() if not (math.isfinite(share) and share >= 0)]
    if wrong or not any(share > 0 for share in weights.values()):
        name = wrong[0] if wrong else next(iter(weights), "")
        raise InputError(f"the weight of {name!r} is {weights.get(name)}; weights are numbers of 0 or more, not all 0")
    if any(share == 0 for share in weights.values()):
        name = next(name for name, share in weights.items() if share == 0)
        raise InputError(f"the weight of {name!r} is 0; leave its items out with {Option('where')} instead")
    return {str(name): float(share) for name, share in weights.items()}
