"""What a comparison answers, and how it was reached: the frozen results of `compare()`, by one metric or by several."""

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import ClassVar, Literal

import polars as pl

from evalstats.analysis.by_metric import ByMetric
from evalstats.analysis.compare.flips import Flips, ItemSpread, ItemTexts, LossSlice
from evalstats.analysis.costs import CostRow
from evalstats.analysis.design.clusters import ItemFactor
from evalstats.analysis.design.comparability import RunDifference
from evalstats.analysis.design.labels import LabelAccount
from evalstats.analysis.design.reliability import PassesByK
from evalstats.analysis.posterior.result import Posterior
from evalstats.analysis.result import Estimate, MethodRow, OfMetric, Origin, Result, finite, rows_frame
from evalstats.analysis.score.result import Score
from evalstats.analysis.settings import Settings
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.document.numbers import interval, interval_words, scaled, with_unit
from evalstats.errors import CannotAnswerError
from evalstats.grammar import plural_of
from evalstats.record import record
from evalstats.stats.many.multiplicity import holm
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.posterior import (
    ClusterMoments,
    ClustersLikelihood,
    GroupsLikelihood,
    Likelihood,
    PairsLikelihood,
    TLikelihood,
)
from evalstats.table.metric import MetricFacts

Unit = Literal["item", "cluster"]
Order = Literal["timestamp", "file order"]


@record
class SequentialAccount(Estimate):
    """A difference watched while the run goes on: an interval and a p that hold at every look.

    Numbers are in the metric's own unit; `scale` and `unit_shown` say how they are shown (100 and "pp" for proportions).

    The interval is the intersection of the confidence sequence so far, over `n_units` independent units (items or clusters) in
    the order in which they were finished, on which the numbers depend. `e_value` is the evidence against "no difference" now: 1
    is none, 20 rejects at 5%, None is above 1e300 (`log_e` always holds its log); `p_anytime` is 1 over the largest so far.
    `path` holds (n, estimate, low, high) at up to 200 n, `first_crossing` the n at which 0 was first excluded, `mde` the true
    difference that a look at this n would find with about 80% power. The equivalence interval is at twice the error;
    `noninferior_p` and `equivalence_p` are one-sided anytime p. `wide_low` and `wide_high` are the normal-mixture sequence:
    simple, and wider; `mcnemar_e` and `mcnemar_p` the sequential McNemar test, for right-or-wrong items with one trial.

    Attributes
    ----------
    order
        How the items are ordered: by time, or as the file has them.
    planned_n
        Units planned beforehand; the interval is shortest there.
    higher_is_better
        Whether more is better.
    bound
        Largest possible difference of one unit, where the method needs it.
    margin
        The margin declared.
    equivalence_low, equivalence_high
        The interval at twice the error.
    warnings
        What limits the account.
    unit
        What the units are: items or clusters.
    """

    estimate: float
    n_units: int
    unit: Unit
    order: Order
    e_value: float | None
    log_e: float
    p_anytime: float | None
    planned_n: int | None
    path: tuple[tuple[int, float, float, float], ...]
    first_crossing: int | None
    n_items: int
    metric: str
    scale: float = 1.0
    unit_shown: str = ""
    higher_is_better: bool = True
    bound: float | None = None
    mde: float | None = None
    margin: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    noninferior_p: float | None = None
    equivalence_p: float | None = None
    wide_low: float | None = None
    wide_high: float | None = None
    mcnemar_e: float | None = None
    mcnemar_p: float | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@record
class UnevenOrder:
    """A difference that adds up unevenly over the units in their order, more so than 99% of random orders do.

    Numbers are in the metric's own unit. Units `first` to `last`, counted from 1, stray most from the mean difference: theirs is
    `inside`, that of the others `outside`. They are picked for that, so `inside` is exaggerated.

    Attributes
    ----------
    unit, order
        What the units are, and how they are ordered: by time, or as the files have them.
    n_units
        Number of units.
    p_value
        Of the CUSUM test with ordinary residuals, against an order that has nothing to do with the differences.
    path
        (n, sum of the differences of the first n units over the number of all, low, high) at up to 200 n; low and high are the
        ends of the band of 99% of random orders.
    """

    unit: Unit
    order: Order
    n_units: int
    first: int
    last: int
    inside: float
    outside: float
    p_value: float
    path: tuple[tuple[int, float, float, float], ...]


Verdict = Literal["invalid", "powerless", "equivalent", "better", "worse", "inconclusive"]
# Verdicts that claim something.
DECIDED: tuple[Verdict, ...] = ("better", "worse", "equivalent")


@record
class AtMargin:
    """Is the candidate at most the declared margin worse? And do the two differ by less than it?

    `limit` is the one-sided end of the interval on the side of a loss, at `conf_level`; with `noninferior_p` it comes from one
    test, so that the two agree. `equivalence_p` is that of two one-sided tests (TOST) at either margin.

    Attributes
    ----------
    margin
        The margin declared, in the metric's own unit.
    noninferior
        Whether the candidate is shown to be at most the margin worse.
    limit
        One-sided end of the interval on the side of a loss, at `conf_level`.
    noninferior_p, equivalence_p
        One-sided p at the margin, and that of two one-sided tests (TOST).
    """

    margin: float
    noninferior: bool
    reason: str
    method: str
    conf_level: float
    limit: float | None = None
    noninferior_p: float | None = None
    equivalence_p: float | None = None


@record
class Missing:
    """What could not be paired, and how far it could move the answer.

    `only_baseline` and `only_candidate` are items scored on one side alone. `rows` repeat the headline analysis with every
    missing score put at the metric's lowest and highest value, and with the two extreme assignments. `share_baseline` and
    `share_candidate` are the shares of all scores that are missing: every item that either side has counts once, and an item
    with some of its trials scored counts in part. `open_below` and `open_above` say that the metric has no bound that would limit
    how low or how high the missing scores could bring the difference. `least` and `most` are how low and how high the one-sided
    limits go over these assignments, where a margin is declared. `withheld` is the verdict that the paired items would give,
    where what is missing forbids it; `ignorable` that the user declared the reason for it harmless.

    Attributes
    ----------
    n_both, n_only_baseline, n_only_candidate, n_neither
        Items scored on both sides, on one alone, or on neither.
    explanation
        What the missing scores could change, in words.
    """

    n_both: int
    n_only_baseline: int
    n_only_candidate: int
    n_neither: int
    only_baseline: tuple[str, ...] = ()
    only_candidate: tuple[str, ...] = ()
    rows: tuple[MethodRow, ...] = ()
    explanation: str = ""
    share_baseline: float = 0.0
    share_candidate: float = 0.0
    open_below: bool = False
    open_above: bool = False
    least: float | None = None
    most: float | None = None
    withheld: Verdict | None = None
    ignorable: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is missing."""
        return bool(self.n_only_baseline or self.n_only_candidate or self.n_neither or self.rows)


@record
class TheseItems(Estimate):
    """What would be answered if items were independent, where they may go by a factor that nobody declared.

    Attributes
    ----------
    factor, n_levels
        The factor that decides in its stead, as the clusters; or, with `too_few` levels for that, forbids any verdict.
    clear
        Whether the items clearly go by it (adjusted p up to .05, design effect from 1.5).
    verdict, turned
        The verdict of independent items, and whether the factor turns it into another.
    too_few
        Whether the levels are too few for an interval.
    """

    factor: str
    n_levels: int
    too_few: bool
    clear: bool
    verdict: Verdict
    turned: bool


@record
class LevelDifferences:
    """A difference that varies over the levels of a partition of the items, which are all that is asked about.

    `levels` are name, items and difference, the largest difference first. Where they are `copies`, every level is all or
    nothing, and the levels are the units of the comparison: no p-value tells them apart.

    Attributes
    ----------
    factor
        The column of the partition.
    p_value
        p of one difference for all levels; None where no test tells them apart.
    """

    factor: str
    levels: tuple[tuple[str, int, float], ...]
    copies: bool
    p_value: float | None


@record
class OtherAverage(Estimate):
    """The difference by another average that is usual or declared, over levels of unlike sizes, and its verdict.

    `kind` is "macro" (every level alike) or "micro" (every item alike), `words` name it with the levels; `agrees` says whether
    sign and verdict are those of the answer.

    Attributes
    ----------
    factor
        The factor whose levels are averaged.
    verdict
        The verdict by this average.
    """

    factor: str
    kind: Literal["micro", "macro"]
    words: str
    verdict: Verdict
    agrees: bool


@record
class GroupRow(Estimate):
    """The comparison within one level of the factor named by `by`.

    `p_adjusted` and the interval (at `conf_level`) are Bonferroni's over the levels, so that they agree and the intervals
    hold together; `p_holm` is Holm's p, which is never larger. `qualifiers` limit the verdict
    as those of the whole do, and `withheld` is what missing scores forbid.

    Attributes
    ----------
    level
        The level of the factor.
    baseline, candidate
        The two scores within it.
    verdict, verdict_reason
        The verdict within it, and why.
    """

    level: str
    n_items: int
    baseline: float | None
    candidate: float | None
    p_holm: float | None
    verdict: Verdict
    verdict_reason: str
    qualifiers: tuple[Note, ...] = ()
    withheld: Verdict | None = None
    n_clusters: int | None = None


@record(repr=False)
class Comparison(OfMetric, Result, Estimate):
    """Is the candidate better than the baseline? The answer, and how it was reached.

    All numbers are in the metric's own unit; `scale` and `unit` say how they are shown (100 and "pp" for proportions).
    `estimate` is candidate minus baseline on the items both answered. The interval decides the verdict.

    Attributes
    ----------
    verdict
        What the interval decides.
    different
        What the sides do not share ("users", "items"), where nothing is paired; "" where both answered the same items.
    average
        Which average over the levels of a factor the estimate is; "" where levels of equal size make it none in particular.
    runs_counted
        Whether the interval counts the variation from run to run (or from one shared trial to another).
    run_std_error
        What that variation alone adds to the standard error, at the median of what the runs leave open; None: nothing.
    mde
        Smallest true difference that this design would detect with 80% power (same unit as `estimate`).
    rows
        The headline row first, then the checks and second intervals of the same difference.
    qualifiers
        What limits the verdict, such as scores that are missing; the first line of every output says so.
    labels
        Where people's labels correct the judge: what the judge and the labels say by themselves. The two scores are corrected,
        with the judge weighted as in the difference.
    loss_slices
        Slices of the items (levels of factors, tags) in which losses concentrate, the surest first.
    texts
        What was asked and answered in flipped items; empty unless somebody asked for it.
    these_items
        Where a factor that nobody declared decides: what would be answered if items were independent.
    findings
        Partitions of the items over which the difference varies.
    baseline, candidate
        The two scores on these items.
    verdict_reason
        Why the verdict is what it is, in words.
    statistic
        Test statistic behind `p_value`.
    table
        Of one right-or-wrong answer an item: how many both got right, either alone, and neither.
    n_items
        Items that both answered.
    design_effect, effective_clusters
        How many times the variance is that of independent items, and how many equal clusters carry as much; None where
        nothing is clustered.
    smallest_p
        Smallest p that this many items or clusters could show under any outcome.
    margin, at_margin
        The largest difference that does not matter, as declared, and the one-sided tests at it.
    equivalence_low, equivalence_high
        The interval at level 1 - 2(1 - `conf_level`), which decides equivalence.
    missing
        Scores that could not be paired, and what they could change.
    flipped
        Items on which the two differ.
    effects
        Effect sizes beside the difference: probability of superiority, d_z, odds ratio.
    costs
        Cost, time and tokens of both sides, and their ratio.
    reliability
        pass^k and pass@k by k of the baseline and of the candidate, where there are trials of a right-or-wrong score.
    sequential
        The interval and p that hold at every look, where they were asked for.
    uneven
        How the difference adds up over the items in their order, where that is uneven; None where nothing speaks for it.
    spread
        How the differences of items lie, of graded scores.
    other_averages
        Other averages over the levels of a factor, each with its verdict.
    by, groups
        The factor within whose levels the comparison is repeated, and each level's answer, as one family.
    cluster_moments
        Of items in clusters, one way: what a posterior of their difference needs.
    posterior_beside
        The posterior, where it was asked for with the comparison.
    """

    about: MetricFacts
    baseline: Score
    candidate: Score
    contrast: str
    tasks: tuple[str, ...]
    different: str = ""
    method_reason: str
    estimand: str
    verdict: Verdict
    verdict_reason: str
    qualifiers: tuple[Note, ...] = ()
    average: str = ""
    statistic: float | None = None
    rows: tuple[MethodRow, ...] = ()
    table: PairedCounts | None = None
    n_items: int = 0
    n_trials: int = 0
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    runs_counted: bool = False
    run_std_error: float | None = None
    design_effect: float | None = None
    effective_clusters: float | None = None
    mde: float | None = None
    smallest_p: float | None = None
    margin: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    at_margin: AtMargin | None = None
    missing: Missing
    labels: LabelAccount | None = None
    flipped: Flips = field(default_factory=Flips)
    loss_slices: tuple[LossSlice, ...] = ()
    texts: tuple[ItemTexts, ...] = ()
    effects: tuple[MethodRow, ...] = ()
    costs: tuple[CostRow, ...] = ()
    reliability: tuple[PassesByK, ...] = ()
    run_differences: tuple[RunDifference, ...] = ()
    sequential: SequentialAccount | None = None
    uneven: UnevenOrder | None = None
    spread: ItemSpread | None = None
    dependence: tuple[ItemFactor, ...] = ()
    these_items: TheseItems | None = None
    findings: tuple[LevelDifferences, ...] = ()
    other_averages: tuple[OtherAverage, ...] = ()
    by: str | None = None
    groups: tuple[GroupRow, ...] = ()
    cluster_moments: ClusterMoments | None = None
    posterior_beside: Posterior | None = None
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    @property
    def counted_as(self) -> str:
        """What `n_items` counts, in the plural: items; of different users these, or rows, where they come in clusters."""
        return "items" if not self.different else "rows" if self.clusters else self.different

    @property
    def open_for_others(self) -> TheseItems | None:
        """What holds on these very items, where the verdict is left open since they clearly go by a factor."""
        these = self.these_items
        claims = these is not None and these.clear and these.turned and these.verdict in DECIDED
        is_open = self.verdict in ("inconclusive", "powerless") and not self.missing.withheld
        return these if claims and is_open else None

    @property
    def higher_known(self) -> bool | None:
        """Whether the candidate scores higher, where that is shown and only the metric's direction is open; else None."""
        known = self.verdict == "inconclusive" and self.direction == "asked" and self.excludes_zero
        return (self.conf_low or 0.0) > 0 if known else None

    @property
    def verdict_word(self) -> str:
        """The verdict, and where only the metric's direction is open, "higher" or "lower", which is what is shown."""
        return self.verdict if self.higher_known is None else "higher" if self.higher_known else "lower"

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        shown = f"{scaled(self.estimate, self.scale, sign=True)} {self.unit}".rstrip()
        ends = interval(self.conf_low, self.conf_high, self.scale)
        these, answer = self.open_for_others, qualified(self.verdict, [note.text for note in self.qualifiers])
        if these is not None:
            on, others = f"on these {self.n_items:,} items", f"open on other {plural_of(these.factor)}"
            answer = f"{self.verdict} ({these.verdict} {on}, {others})"
        sides = f"{self.candidate.name} against {self.baseline.name} on {self.benchmark}"
        return f"<Comparison: {sides}: {answer}, {shown} {ends}>"

    def flips(self) -> pl.DataFrame:
        """Items that flipped, those that got worse first, each with the place of a row that shows it."""
        return self.flipped.worst_first(higher_is_better=self.higher_is_better).frame()

    def posterior(
        self, *, margin: float | None = None, prior_scale: float | None = None, conf_level: float | None = None
    ) -> Posterior:
        """Return how probable it is that the candidate is better, and what a wrong choice costs: beside the interval.

        Parameters
        ----------
        margin
            The largest difference that does not matter, in the metric's own unit; None: the declared one, if any.
        prior_scale
            Scale of the usual prior of the difference, in the metric's own unit. None: a tenth of the score's range; of a score
            without bounds a fifth of the standard deviation of its items.
        conf_level
            How much of the posterior the credible interval holds; None: the level of the comparison.

        Raises
        ------
        CannotAnswerError
            If the sides cannot be compared, there is no interval, or the result was saved without what its clusters tell.
        InputError
            If an option is out of its range, or which way is better is not known.

        Notes
        -----
        The usual prior is a t law with 3 degrees of freedom, centred at no difference; half and double its scale, and a
        sceptic's quarter of it, always stand beside. `evalstats.stats.posterior` has the models.

        Examples
        --------
        >>> import evalstats as es
        >>> found = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained").posterior()
        >>> found.answer(), [round(row.p_better, 2) for row in found.rows]
        ('open', [0.79, 0.68, 0.89, 0.6])
        """
        from evalstats.analysis.posterior.difference import difference_posterior, need_direction, notes_of_data
        from evalstats.analysis.posterior.difference import prior_scale as usual_scale

        need_direction(self.about)
        spreads = [side.item_sd for side in (self.baseline, self.candidate) if side.item_sd is not None]
        ends = with_unit(interval_words(self.conf_low, self.conf_high, self.scale), self.unit)
        likelihood = self._likelihood()
        unlike: tuple[Note, ...] = ()
        if isinstance(likelihood, ClustersLikelihood) and abs(likelihood.centre - (self.estimate or 0.0)) > (
            self.std_error or math.inf
        ):
            alike, items = (
                with_unit(scaled(each, self.scale, 1, sign=True), self.unit)
                for each in (likelihood.centre, self.estimate)
            )
            text = (
                f"Large clusters differ from small ones: clusters average {alike}, items {items}; the posterior is about "
                "clusters, the interval about items"
            )
            unlike = (Note(kind="dependence", text=text),)
        beyond = self.conf_low is not None and self.conf_high is not None and not self.conf_low <= 0.0 <= self.conf_high
        if beyond and self.verdict not in ("better", "worse", "equivalent"):
            # Missing scores, or methods that disagree: a probability from the same numbers knows nothing of these.
            text = f"The comparison claims no difference ({self.verdict_reason}), and the posterior makes no allowance for that"
            unlike = (Note(kind="gate", text=text), *unlike)
        return difference_posterior(
            {f"{self.candidate.name} minus {self.baseline.name}": likelihood},
            self.about,
            of="compare",
            baseline=self.baseline.name,
            candidate=self.candidate.name,
            scale=usual_scale(self.about, prior_scale, max(spreads, default=None)),
            margin=self.margin if margin is None else margin,
            conf_level=self.conf_level if conf_level is None else conf_level,
            beside=f"{self.verdict} ({100 * self.conf_level:.5g}% CI {ends})",
            origin=replace(self.origin, settings=None),
            notes=(*unlike, *notes_of_data(self.notes)),
        )

    def _likelihood(self) -> Likelihood:
        """Return what the data say of the difference alone."""
        if self.verdict == "invalid":
            raise CannotAnswerError(f"there is no posterior: {self.verdict_reason}")
        if self.sequential is not None:
            raise CannotAnswerError(
                "a posterior takes the items as one sample, and these were looked at while the run went on; compare them at the "
                "end, without looks"
            )
        if self.conf_low is None:
            why = self.reason or next((row.note for row in self.rows if row.role == "headline"), "")
            raise CannotAnswerError(f"there is no interval, and so no posterior{f': {why}' if why else ''}")
        if self.table is not None and self.method == "Tango score":
            counts = self.table
            agreeing = counts.n - counts.discordant
            return PairsLikelihood(wins=counts.only_candidate, losses=counts.only_baseline, agreeing=agreeing)
        if self.method == "Miettinen-Nurminen score":
            first, second = self.baseline, self.candidate
            return GroupsLikelihood(
                first_right=round((first.estimate or 0.0) * first.n_items),
                first_n=first.n_items,
                second_right=round((second.estimate or 0.0) * second.n_items),
                second_n=second.n_items,
            )
        if self.cluster_moments is not None:
            return ClustersLikelihood(moments=self.cluster_moments)
        if self.method == "CR2, Satterthwaite df":
            raise CannotAnswerError(
                "this result was saved without what its clusters tell, by an older version; compare the data again"
            )
        if not self.std_error:
            raise CannotAnswerError(
                "all items differ by the same amount, so nothing says how far others would; there is no posterior"
            )
        centre = (self.estimate or 0.0) if self.statistic is None else self.statistic * self.std_error
        return TLikelihood(centre=centre, spread=self.std_error, df=math.inf if self.df is None else self.df)

    def to_frame(self) -> pl.DataFrame:
        """Tidy rows in glossary names: every method's row, then one for every group; that which answers has the verdict."""
        frame = rows_frame((*self.rows, *self.missing.rows))
        answers = pl.col("role") == "headline"
        scores = {"baseline": self.baseline.estimate, "candidate": self.candidate.estimate}
        frame = frame.with_columns(
            *(pl.when(answers).then(pl.lit(score, pl.Float64)).alias(name) for name, score in scores.items()),
            pl.when(answers).then(pl.lit(self.verdict)).alias("verdict"),
        )
        if not self.groups:
            return ShownFrame(frame)
        groups = [
            {
                "term": f"{self.by}={group.level}",
                "role": "headline",
                **{name: getattr(group, name) for name in _OF_GROUP},
                "note": f"{qualified(group.verdict, [note.text for note in group.qualifiers])}: {group.verdict_reason}",
            }
            for group in self.groups
        ]
        return ShownFrame(pl.concat([frame, pl.DataFrame(groups, infer_schema_length=None)], how="diagonal_relaxed"))


def qualified(answer: str, qualifiers: Sequence[str]) -> str:
    """Return the answer with everything that limits it behind, as it stands on the first line.

    >>> qualified("B is better than A", ("missing scores could undo it",))
    'B is better than A; missing scores could undo it'
    """
    return "; ".join((answer, *qualifiers))


@record(repr=False)
class Comparisons(ByMetric[Comparison], Result):
    """Is the candidate better than the baseline, by each of several metrics? One answer for each, and none of all together.

    Every metric keeps its unit and its direction; nothing is averaged over them. The metrics are one family: each interval is
    at Bonferroni's level, so that all hold together at `conf_level`, and each `p_adjusted` belongs to its interval.

    Attributes
    ----------
    rows
        The comparison by each metric, in the order asked for; the `conf_level` of each is the adjusted one.
    conf_level
        Level at which all intervals hold together.
    """

    told_by: ClassVar[str] = "evalstats.analysis.compare.several_metrics"
    rows: tuple[Comparison, ...]
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()
    settings: Settings | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        first = self.rows[0]
        told = ", ".join(f"{row.metric} {row.verdict}" for row in self.rows)
        return f"<Comparisons: {first.candidate.name} against {first.baseline.name}: {told}>"

    def to_frame(self) -> pl.DataFrame:
        """One row for each metric, in the metric's own unit (proportions, not percentage points)."""
        return ShownFrame(
            [
                {
                    "benchmark": row.benchmark,
                    "metric": row.metric,
                    "higher_is_better": row.higher_is_better,
                    "baseline": row.baseline.estimate,
                    "candidate": row.candidate.estimate,
                    **{name: getattr(row, name) for name in _NUMBERS},
                    "p_holm": p_holm,
                    "n_items": row.n_items,
                    "n_clusters": row.n_clusters,
                    "method": row.method,
                    "verdict": row.verdict,
                    "note": qualified(row.verdict_reason, [note.text for note in row.qualifiers]),
                }
                for row, p_holm in zip(self.rows, holm_of(self.rows), strict=True)
            ],
            schema_overrides={
                **dict.fromkeys(("baseline", "candidate", *_NUMBERS, "p_holm"), pl.Float64),
                **dict.fromkeys(("n_items", "n_clusters"), pl.Int64),
            },
        )


_NUMBERS = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "p_value", "p_adjusted")
_OF_GROUP = ("method", *_NUMBERS, "p_holm", "n_items", "n_clusters", "baseline", "candidate", "verdict")


def holm_of(rows: Sequence[Estimate]) -> list[float | None]:
    """Return Holm's p of every row of a family, which is never above Bonferroni's; None where there is no p."""
    known = [row.p_value for row in rows if row.p_value is not None]
    stepped = iter(holm(known).tolist() if known else ())
    return [None if row.p_value is None else finite(next(stepped)) for row in rows]
