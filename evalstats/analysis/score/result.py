"""One system's score, the test of a published number, and the gate by it: the frozen results of `score()`."""

from collections.abc import Iterator
from dataclasses import field
from typing import Literal

import polars as pl

from evalstats.analysis.design.labels import LabelAccount
from evalstats.analysis.design.metric import open_direction
from evalstats.analysis.design.reliability import PassesByK
from evalstats.analysis.result import Estimate, MethodRow, OfMetric, Origin, Result, estimated, row_named, rows_frame
from evalstats.analysis.settings import Settings
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.document.numbers import interval, scaled
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.checks import FEW_ITEMS
from evalstats.table.metric import MetricFacts


@record
class ClaimTest(Estimate):
    """Does a system's score differ from a published number?

    `claim` is that number, with the items (`n`) or the standard error behind it where these are known; `estimate` is the score
    minus it. The interval excludes 0 exactly where p is below 1 - `conf_level`; the verdict needs more where over 5% of the
    scores are missing.
    """

    claim: float
    estimate: float
    verdict: Literal["above", "below", "not shown to differ", "no answer"]
    n: int | None = None


@record
class TaskScore(Estimate):
    """The score on one task of a suite, or on one level of what is averaged over, with an interval of its own."""

    level: str
    n_items: int
    n_clusters: int | None = None


@record
class OtherAverageScore(Estimate):
    """The score by another average that is usual, over levels of unlike sizes; `kind` is "macro" or "micro".

    `agrees` says whether it lies within the interval of the score.

    Attributes
    ----------
    words
        The average in words.
    """

    factor: str
    kind: Literal["micro", "macro"]
    words: str
    agrees: bool


@record(repr=False)
class Score(OfMetric, Result, Estimate):
    """One system's score on its own: the estimate, its interval, and what it rests on.

    Attributes
    ----------
    name
        The system.
    item_sd
        Standard deviation of the items' values; None of bounded scores, which need none, and of a single item.
    average
        Which average over the levels of a factor the score is; "" where levels of equal size make it none in particular.
    runs
        The runs behind it.
    rows
        The headline row first, then other methods and other averages.
    reliability
        pass^k and pass@k by k, the chances that all and that any of k independent trials of an item succeed, where there are
        trials of a right-or-wrong score.
    extrapolated_from
        Trials of an item, where the score is pass^k or pass@k of more; None where nothing is extrapolated.
    against
        The test of a claimed score, where one was given.
    by, tasks
        The factor that was averaged over (or the tasks of a suite), and a row for each of its levels.
    other_averages
        Other usual averages over levels of unlike sizes.
    labels
        What the judge and people's labels say by themselves, where labels correct the score.
    """

    about: MetricFacts
    name: str
    estimand: str = ""
    average: str = ""
    n_items: int = 0
    item_sd: float | None = None
    n_trials: int = 0
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    n_error: int = 0
    n_unscored: int = 0
    runs: tuple[str, ...] = ()
    rows: tuple[MethodRow, ...] = ()
    reliability: PassesByK | None = None
    extrapolated_from: int | None = None
    against: ClaimTest | None = None
    by: str | None = None
    tasks: tuple[TaskScore, ...] = ()
    other_averages: tuple[OtherAverageScore, ...] = ()
    labels: LabelAccount | None = None
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    @property
    def unit(self) -> str:
        """Unit of a score as shown: "%" for shares."""
        return self.about.score_unit

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        ends = interval(self.conf_low, self.conf_high, self.scale)
        return f"<Score: {self.name} on {self.benchmark}: {scaled(self.estimate, self.scale)}{self.unit} {ends}>"

    def to_frame(self) -> pl.DataFrame:
        """Tidy rows: the headline interval and every further one, then one row for every task."""
        tasks = (
            MethodRow(
                **estimated(row),
                term=f"{self.by}={row.level}",
                role="headline",
                n_items=row.n_items,
                n_clusters=row.n_clusters,
            )
            for row in self.tasks
        )
        return ShownFrame(rows_frame((*self.rows, *tasks)))


@record(repr=False)
class Scores(Result):
    """The scores of several systems, each on its own; a sequence of `Score`.

    Attributes
    ----------
    rows
        The score of each system, for each metric asked for.
    notes
        Cautions that concern them together.
    """

    rows: tuple[Score, ...]
    notes: tuple[Note, ...] = ()
    settings: Settings | None = field(default=None, compare=False)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return f"<Scores: {', '.join(row.name for row in self.rows)}>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Score]:
        return iter(self.rows)

    def __getitem__(self, place: int) -> Score:
        return self.rows[place]

    def row(self, name: str) -> Score:
        """Return one system's score.

        InputError if there is no such system; the message names the closest.
        """
        return row_named(self.rows, name, what="system")

    def to_frame(self) -> pl.DataFrame:
        """One row for each system and metric."""
        columns = ("benchmark", "metric", "estimate", "std_error", "conf_low", "conf_high", "conf_level", "method")
        counts = ("n_items", "n_trials", "n_clusters")
        return ShownFrame(
            [{"system": row.name, **{name: getattr(row, name) for name in (*columns, *counts)}} for row in self.rows],
            schema_overrides={**dict.fromkeys(columns[2:7], pl.Float64), **dict.fromkeys(counts, pl.Int64)},
        )


def score_gate(result: Score | Scores, *fail_on: str) -> tuple[bool | None, str]:
    """Return whether scores pass the rules against the number they are held to, and why; None where the data cannot answer.

    "worse" fails where the interval of the difference shows a score to be worse than the number, also where missing scores
    forbid to say so; "inconclusive" unless a score is shown to be better. One score that fails is a failure.

    >>> from evalstats import datasets, score
    >>> score_gate(score(datasets.tenacious_held_out(), "trained", against=0.9), "inconclusive")[0]
    True
    """
    found = [_passes(row, row.against, fail_on) for row in ((result,) if isinstance(result, Score) else result.rows)]
    for passed in (False, None):
        reasons = [reason for each, reason in found if each is passed]
        if reasons:
            return passed, "; ".join(reasons)
    return True, "; ".join(reason for _, reason in found)


def _passes(row: Score, test: ClaimTest | None, fail_on: tuple[str, ...]) -> tuple[bool | None, str]:
    if row.direction == "asked":
        return None, f"which way is better is not known: {open_direction(row.metric)}"
    if test is None or test.conf_low is None or test.conf_high is None:
        return None, f"{row.name} cannot be held to a number"
    ends = (test.conf_low, test.conf_high) if row.higher_is_better else (-test.conf_high, -test.conf_low)
    if ends[1] < 0:
        return False, f"{row.name} is worse than the number it is held to"
    if test.verdict in ("above", "below"):
        return True, f"{row.name} is better than the number it is held to"
    if "inconclusive" in fail_on:
        return False, f"{row.name} is not shown to be better than the number it is held to"
    if row.n_items < FEW_ITEMS:
        return None, f"{row.name} has {plural(row.n_items, 'item')}, and no method is reliable below {FEW_ITEMS}"
    return True, f"{row.name} is not shown to be worse, which is no proof of being as good"
