"""The evidence beside the headline: flipped items and where they stand in the files, further methods, effect sizes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, cast, overload

import numpy as np
import polars as pl

from evalstats.analysis.design.metric import Metric
from evalstats.analysis.pairs import Bools, Floats, Ints, Pairs
from evalstats.analysis.result import MethodRow, method_row
from evalstats.document.numbers import declared, scaled, share_in_percent
from evalstats.grammar import plural
from evalstats.schema.tables import is_constant
from evalstats.stats.bootstrap import bca_law, bootstrap_t
from evalstats.stats.clusters import cluster_sign_flip
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.stats.one_sample import UnseenFailures
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, paired_posterior
from evalstats.stats.paired.effect_sizes import EffectSize, conditional_odds_ratio, standardised_difference, superiority
from evalstats.stats.paired.means import sign_flip, signed_rank
from evalstats.table.items import FIRST_TRIAL, HELPER, ITEM_KEY, level_places
from evalstats.table.systems import System

# A mean of this much is a success: more trials right than wrong, or as many.
MIDDLE = 0.5
_PLACE, _FITS = f"{HELPER}place", f"{HELPER}fits"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """Where a row was read: its run, the name of the file (no folder: that is nobody's business), and the place in it.

    `run` leads to the file as it was named, in the column `source` of the runs. `locator` reads as the column of that name
    in the glossary says; None where the loader gives none.
    """

    run: str
    file: str | None
    locator: str | None

    def __str__(self) -> str:
        """File and place, as they are shown."""
        return ", ".join(part for part in (self.file or self.run, self.locator) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """An item on which the two disagree; scores are means over trials, in the metric's unit.

    Each source is one row that shows it: the first trial of that side whose own score lies on the side of the middle that
    the mean lies on.
    """

    task: str
    item: str
    variant: str
    scenario: str | None
    baseline: float
    candidate: float
    baseline_source: RowSource | None = None
    candidate_source: RowSource | None = None

    @property
    def change(self) -> float:
        """Candidate minus baseline."""
        return self.candidate - self.baseline


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

    def columns(self) -> dict[str, list[object]]:
        """Return all of them with where their rows stand, for the CSV."""
        sources = [
            pl.when(pl.col(f"{side}_run").is_null())
            .then(pl.lit(""))
            .otherwise(
                pl.concat_str(
                    # An empty part is left out, as in `RowSource`.
                    pl.coalesce(_said(f"{side}_file"), _said(f"{side}_run")),
                    _said(f"{side}_locator"),
                    separator=", ",
                    ignore_nulls=True,
                )
            )
            .alias(f"{side}_source")
            for side in ("baseline", "candidate")
        ]
        return self._frame.select(*_OF_FLIP, *sources).to_dict(as_series=False)


_OF_FLIP = ("task", "item", "variant", "scenario", "baseline", "candidate")
_OF_SOURCE = ("run", "file", "locator")
_FLIPPED = {
    **dict.fromkeys(_OF_FLIP[:4], pl.String),
    **dict.fromkeys(_OF_FLIP[4:], pl.Float64),
    **dict.fromkeys([f"{side}_{name}" for side in ("baseline", "candidate") for name in _OF_SOURCE], pl.String),
}


def _said(name: str) -> pl.Expr:
    return pl.when(pl.col(name) != "").then(pl.col(name))


def _flip(row: dict[str, Any]) -> Flip:
    first, second = (
        None if row[f"{side}_run"] is None else RowSource(**{name: row[f"{side}_{name}"] for name in _OF_SOURCE})
        for side in ("baseline", "candidate")
    )
    return Flip(**{name: row[name] for name in _OF_FLIP}, baseline_source=first, candidate_source=second)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioFlips:
    """What was gained and lost in one scenario, of its paired items.

    `p_value` is the exact test that an item that flips is as likely gained as lost; `p_adjusted` is Benjamini and
    Hochberg's over the scenarios that could show anything, None for the others.
    """

    scenario: str | None
    n_items: int
    gained: int
    lost: int
    net: int
    p_value: float
    p_adjusted: float | None = None
    smallest_p: float = 1.0
    n_clusters: int | None = None


def flipped_items(pairs: Pairs, baseline: System, candidate: System, runs: pl.DataFrame) -> Flips:
    """List the items on which one side mostly succeeds and the other mostly fails, each with its rows' places."""
    changed = _changed(pairs)
    items = pairs.items.filter(pl.Series(changed))
    sides = {
        "baseline": (baseline, pairs.baseline.means()[changed]),
        "candidate": (candidate, pairs.candidate.means()[changed]),
    }
    columns = {name: items[name] if name in items.columns else [None] * items.height for name in _OF_FLIP[:4]}
    columns |= {name: means for name, (_, means) in sides.items()}
    for name, (arm, means) in sides.items():
        found = _sources(arm.rows, items, means >= MIDDLE, runs)
        columns |= {f"{name}_{part.name}": part for part in found}
    return Flips(pl.DataFrame(columns, schema=_FLIPPED).with_columns(pl.col("task", "variant").fill_null("")))


def flips_by_scenario(
    pairs: Pairs,
    *,
    higher_is_better: bool = True,
    clusters: Sequence[str] = (),
    conf_level: float = 0.95,
    factor: str = "scenario",
) -> tuple[ScenarioFlips, ...]:
    """Count what was gained and lost in every level of a factor, by name, as a screen for where to look.

    Exact sign-flip of gained and lost: McNemar's exact test for independent items, on the sums of clusters otherwise (of
    several, the coarsest). Which levels are screened follows from the number of flips alone, on which the test conditions
    (those that could reach a p of 1 - conf_level), so that leaving out the others costs nothing (Gilbert 2005, Applied
    Statistics 54:143). The score that decides is the comparison itself: a large scenario that is lost item by item is found
    here, a loss that is spread thinly is not. Items without a level come last and are not screened.

    >>> from evalstats.analysis.pairs import Side
    >>> def side(scores):
    ...     ones = np.ones(len(scores), dtype=np.int64)
    ...     return Side(n_scored=ones, present=ones, total=np.array(scores, dtype=float))
    >>> items = pl.DataFrame({"task": "", "item": list("abcdefgh"), "variant": "", "scenario": ["x"] * 7 + ["y"]})
    >>> pairs = Pairs(items=items, baseline=side([1] * 7 + [0]), candidate=side([0] * 7 + [1]))
    >>> [(row.scenario, row.gained, row.lost, row.p_value, row.p_adjusted) for row in flips_by_scenario(pairs)]
    [('x', 0, 7, 0.015625, 0.015625), ('y', 1, 0, 1.0, None)]
    """
    if factor not in pairs.items.columns:
        return ()
    better = 1.0 if higher_is_better else -1.0
    change = better * np.sign(pairs.candidate.means() - pairs.baseline.means()) * _changed(pairs)
    codes = [pairs.codes(name) for name in clusters]
    coarsest = min(codes, key=lambda each: len(np.unique(each))) if codes else None
    rows = [_of_level(level, change, coarsest, places) for level, places in level_places(pairs.items[factor])]
    screened = [
        place for place, row in enumerate(rows) if row.scenario is not None and row.smallest_p <= 1 - conf_level
    ]
    if screened:
        adjusted = benjamini_hochberg([rows[place].p_value for place in screened])
        for place, p in zip(screened, adjusted.tolist(), strict=True):
            rows[place] = replace(rows[place], p_adjusted=p)
    return tuple(rows)


def _changed(pairs: Pairs) -> Bools:
    return (pairs.baseline.means() >= MIDDLE) != (pairs.candidate.means() >= MIDDLE)


def _of_level(level: str | None, change: np.ndarray, coarsest: Ints | None, places: Ints) -> ScenarioFlips:
    d = change[places]
    gained, lost = int((d > 0).sum()), int((d < 0).sum())
    clusters = None if coarsest is None else coarsest[places]
    flip = sign_flip(d) if clusters is None else cluster_sign_flip(d, clusters)
    return ScenarioFlips(
        scenario=level,
        n_items=len(places),
        gained=gained,
        lost=lost,
        net=gained - lost,
        p_value=flip.p_value,
        smallest_p=flip.smallest_p,
        n_clusters=None if clusters is None else len(np.unique(clusters)),
    )


def _sources(rows: pl.DataFrame, items: pl.DataFrame, succeeds: Bools, runs: pl.DataFrame) -> pl.DataFrame:
    """Return, for every item, the first row whose own score says what the mean says; any scored row where none does."""
    # Every item is among the rows, so that a part of its key which all rows share tells nothing.
    key = [name for name in ITEM_KEY if name in items.columns and (name == "item" or not is_constant(rows[name]))]
    wanted = items.select(key).with_columns(pl.Series(_FITS, succeeds)).with_row_index(_PLACE)
    # Of merged rows the first trial that they stand for, whose place they name.
    trial = pl.col(FIRST_TRIAL if FIRST_TRIAL in rows.columns else "trial").alias("trial")
    scored = rows.select(*key, "status", "score", trial, "run", "locator").filter(pl.col("status") == "scored")
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
    return found.select("run", file_of.alias("file"), "locator")


# Above this many items the studentised bootstrap and t agree, and its draws take seconds.
MOST_STUDENTISED = 5000
# Above this many, ranking all pairwise averages takes seconds.
MOST_RANKED = 100_000


def further_rows(
    method: str,
    baseline: Floats,
    candidate: Floats,
    differences: Floats,
    metric: Metric,
    *,
    margin: float | None,
    conf_level: float,
    seed: int,
) -> tuple[MethodRow, ...]:
    """Return the rows that stand beside a headline by `method`, one of those of `paired_difference`.

    In `differences` those that are rounding alone are one number.
    """
    if method == "tango":
        counts = PairedCounts.from_scores(baseline, candidate)
        return (_bca(differences, conf_level), *_binary_rows(counts, metric, margin, conf_level))
    if method in ("cr2", "stratified"):
        return ()
    rows = [_bca(differences, conf_level)]
    if (metric.span is None or metric.kind == "ordinal") and len(differences) <= MOST_RANKED:
        words = "the centre of symmetric differences (Hodges and Lehmann), which is not the mean"
        rows.append(method_row(signed_rank(differences, conf_level=conf_level), "other estimand", words))
    if len(differences) <= MOST_STUDENTISED:
        rows.append(_studentised(differences, metric, conf_level, seed))
    return tuple(rows)


def _bca(differences: Floats, conf_level: float) -> MethodRow:
    words = "exact law, no seed; for comparison with published BCa intervals, and no cure near 0 and 1"
    return method_row(bca_law(differences, conf_level=conf_level), "second interval", words)


def _studentised(differences: Floats, metric: Metric, conf_level: float, seed: int) -> MethodRow:
    """Return the studentised bootstrap, with how far its ends may be off by the luck of the draws."""
    found = bootstrap_t(differences, conf_level=conf_level, seed=seed)
    words = [f"seed {seed}"]
    if found.error_low is not None and found.error_high is not None:
        ends = " and ".join(scaled(error, metric.scale) for error in (found.error_low, found.error_high))
        words.append(f"Monte Carlo error of its ends {ends}{f' {metric.shown_unit}' if metric.shown_unit else ''}")
    return method_row(found.estimate, "second interval", "; ".join(words))


def _binary_rows(
    counts: PairedCounts, metric: Metric, margin: float | None, conf_level: float
) -> tuple[MethodRow, ...]:
    """Closed-form intervals and the posterior of a right-or-wrong score with one trial."""
    posterior = paired_posterior(counts, margin=margin, conf_level=conf_level)
    words = [f"P(candidate above baseline) {_probability(posterior.p_better)}"]
    if margin is not None:
        shown = f"{declared(margin, metric.scale)}{f' {metric.shown_unit}' if metric.shown_unit else ''}"
        words.append(f"P(above by more than {shown}) {_probability(posterior.p_above_margin)}")
        words.append(f"P(below by more than {shown}) {_probability(posterior.p_below_margin)}")
    words.append("probabilities of the difference given the data and the prior, not p-values")
    return (
        method_row(
            newcombe(counts, conf_level=conf_level), "second interval", "square-and-add; closed form, a little wider"
        ),
        method_row(
            bonett_price(counts, conf_level=conf_level), "second interval", "one pseudo-item in each discordant cell"
        ),
        method_row(posterior.estimate, "second interval", "; ".join(words)),
    )


def _probability(p: float | None) -> str:
    """Write a probability that is no p-value: three digits, and never 0 or 1."""
    if p is None:
        return "unknown"
    return "below 0.001" if p < 0.001 else "above 0.999" if p > 0.999 else f"= {p:.3f}"


def effect_rows(
    differences: Floats,
    table: PairedCounts | None,
    clusters: Sequence[Ints],
    conf_level: float,
    *,
    failures: UnseenFailures | None = None,
) -> tuple[MethodRow, ...]:
    """Return the probability of superiority and, for independent items, d_z and the conditional odds ratio.

    For graded scores, the share of outright failures that would undo the result as well. Of several clusters the coarsest counts.
    """
    coarsest = min(clusters, key=lambda codes: len(np.unique(codes))) if clusters else None
    found = superiority(differences, clusters=coarsest, conf_level=conf_level)
    note = "chance that the candidate does better on an item, ties counted half"
    rows = [method_row(found, "other estimand", note, term="superiority")]
    risk = [] if failures is None or failures.undoing <= 0 else [_failures_row(failures)]
    if clusters:
        return (*rows, *risk)
    if table is not None:
        odds = conditional_odds_ratio(table, conf_level=conf_level)
        rows.append(_effect_row("odds ratio", odds, "odds that the candidate wins an item that one alone got right"))
    else:
        size = standardised_difference(differences, conf_level=conf_level)
        rows.append(_effect_row("d_z", size, "mean difference in standard deviations of the differences"))
    return (*rows, *risk)


def _failures_row(found: UnseenFailures) -> MethodRow:
    seen = f"; {plural(found.failures, 'such failure')} seen" if found.failures else ""
    more = " more" if found.failures else ""
    note = (
        f"share of items on which the side ahead would have to fall to the worst score for the difference to be gone{seen}; "
        f"{found.n:,} items cannot exclude {share_in_percent(found.possible)}{more}"
    )
    return MethodRow(
        term="failures to undo it",
        method="unseen-failure limit",
        role="other estimand",
        conf_level=found.conf_level,
        estimate=found.undoing,
        n_items=found.n,
        note=note,
    )


def _effect_row(term: str, found: EffectSize, note: str) -> MethodRow:
    return MethodRow(
        term=term,
        method=found.method,
        role="other estimand",
        conf_level=found.conf_level,
        estimate=found.estimate,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        n_items=found.n,
        note="; ".join(part for part in (note, found.reason) if part),
    )
