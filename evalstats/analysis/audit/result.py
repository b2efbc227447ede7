"""What an audit found, ranked by the conclusions that hang on it: the frozen result of `audit()`."""

from dataclasses import field
from typing import Literal, get_args

import polars as pl

from evalstats.analysis.result import Estimate, OfOrigin, Origin, Result
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document.model import Note
from evalstats.errors import Advice, written
from evalstats.grammar import plural
from evalstats.record import record

Kind = Literal[
    "repeated rows",  # the same trial of the same item twice
    "repeated runs",  # one system's runs that answered the same items
    "identical models",  # two names, one set of scores
    "item sets",  # models that were scored on other items, or on users whom no chance split so
    "missing scores",  # rows that ran and have no score, and rows that are not there
    "harness errors",
    "judge failures",
    "failure codes",  # -1, 999, a 0 that stands for "could not be read"
    "versions",  # tasks, harnesses, prompts, judges or dates that differ
    "scale",  # scores outside their range, two scales, one value alone
    "too small",  # comparisons that no outcome could decide
    "near-duplicate items",
    "average",  # levels of unlike sizes, which a mean of all items weighs by their size
    "saturated items",
    "unsolvable items",
    "wrong keys",
    "guessed answers",
    "dependence",
    "drift",
    "answer position",
    "agreement",  # wrong answers that two models share
]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Whether the conclusions hang on a finding; "open": nothing else could defensibly be done with its rows, so nothing was tried.
Effect = Literal["flips", "moves", "stands", "open"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
Verdict = Literal["better", "worse", "inconclusive"]


@record
class FlippedComparison:
    """One comparison before and after a treatment: first minus second, in the metric's own unit.

    Attributes
    ----------
    before, after
        The difference without and with the treatment.
    verdict_before, verdict_after
        The verdicts.
    """

    first: str
    second: str
    before: Estimate
    after: Estimate
    verdict_before: Verdict
    verdict_after: Verdict


@record
class Shift:
    """What one treatment of a finding's rows does to the conclusions.

    Attributes
    ----------
    treatment
        What was done, as the end of a sentence: "counted as 0".
    n_pairs, n_flips, n_lost
        Comparisons of two models, those whose verdict changes, and those with a verdict that can no longer be made.
    largest
        The largest change of a difference, in its standard error (or of that standard error, where only it changes).
    leader_before, leader_after
        The model with the highest mean score.
    flips
        The weightiest of the comparisons that flip; where none does, the one that moves most.
    """

    treatment: str
    n_pairs: int
    n_flips: int
    n_lost: int
    largest: float | None
    leader_before: str
    leader_after: str
    flips: tuple[FlippedComparison, ...] = ()


@record
class Finding:
    """One thing that was found.

    Attributes
    ----------
    text, remedy
        What was found, and what to do about it: clauses without a full stop.
    effect
        "flips": a treatment changes the verdict of some comparison, or takes it away; "moves": it changes a difference by more
        than a quarter of its standard error, or half a point; "stands": by less; "open": no treatment was tried.
    models, examples
        Whom it concerns, and some items (or rows) by name.
    shifts
        What each treatment does, the weightiest first.
    n_depend
        Comparisons whose verdict any of them changes or takes away.
    kind
        The check that found it.
    n_rows
        Rows concerned.
    """

    kind: Kind
    benchmark: str
    metric: str
    text: str
    remedy: Advice
    effect: Effect
    n_rows: int | None = None
    n_items: int | None = None
    models: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    shifts: tuple[Shift, ...] = ()
    n_depend: int = 0


@record
class Unchecked:
    """What could not be looked at, and why.

    Attributes
    ----------
    kind
        The check.
    """

    kind: Kind
    metric: str
    reason: str


@record
class Audited:
    """One metric that was looked at: how much there is of it, and in what unit its differences are shown.

    Attributes
    ----------
    n_rows
        Rows.
    n_pairs, n_depend
        Comparisons of two models, and those that depend on some finding.
    units
        What the items are where each model has its own: users, sessions.
    """

    benchmark: str
    metric: str
    n_rows: int
    n_items: int
    n_models: int
    n_pairs: int
    n_depend: int
    scale: float = 1.0
    unit: str = ""
    units: str = "items"
    clusters: tuple[str, ...] = ()


@record(repr=False)
class Audit(OfOrigin, Result):
    """Whether numbers can be trusted before anybody compares them.

    Attributes
    ----------
    findings
        Those that flip a conclusion first.
    metrics
        What was looked at, with the comparisons of each metric and how many of them depend on some finding.
    passed, unchecked
        Checks that found nothing, and those that these data do not allow.
    """

    findings: tuple[Finding, ...]
    metrics: tuple[Audited, ...]
    passed: tuple[Kind, ...] = ()
    unchecked: tuple[Unchecked, ...] = ()
    conf_level: float = 0.95
    notes: tuple[Note, ...] = ()
    origin: Origin = field(default_factory=Origin)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return (
            f"<Audit: {plural(len(self.findings), 'finding')}, {self.n_flipping} flip a conclusion; "
            f"{self.n_depend} of {self.n_pairs} comparisons depend on them>"
        )

    @property
    def n_flipping(self) -> int:
        """Findings that flip some comparison."""
        return sum(each.effect == "flips" for each in self.findings)

    @property
    def n_pairs(self) -> int:
        """Comparisons of two models, over all metrics."""
        return sum(each.n_pairs for each in self.metrics)

    @property
    def n_depend(self) -> int:
        """Comparisons whose verdict some treatment changes."""
        return sum(each.n_depend for each in self.metrics)

    def of(self, benchmark: str, metric: str) -> Audited:
        """Return what was looked at under this name."""
        return next(each for each in self.metrics if (each.benchmark, each.metric) == (benchmark, metric))

    def to_frame(self) -> pl.DataFrame:
        """One row for each finding, in glossary names; the comparison is the weightiest of its weightiest treatment."""
        rows = [_row(each) for each in self.findings]
        ends = ("before", "before_low", "before_high", "after", "after_low", "after_high")
        numbers = dict.fromkeys(("largest", *ends), pl.Float64)
        counts = dict.fromkeys(("n_rows", "n_items", "n_pairs", "n_depend"), pl.Int64)
        texts = dict.fromkeys(_TEXTS, pl.String)
        return ShownFrame(rows, schema={**texts, **counts, **numbers})


_TEXTS = ("kind", "benchmark", "metric", "effect", "finding", "remedy", "models", "treatment", "model_a", "model_b")


def _row(finding: Finding) -> dict[str, object]:
    shift = finding.shifts[0] if finding.shifts else None
    flip = shift.flips[0] if shift is not None and shift.flips else None
    return {
        "kind": finding.kind,
        "benchmark": finding.benchmark,
        "metric": finding.metric,
        "effect": finding.effect,
        "finding": finding.text,
        "remedy": written(finding.remedy),
        "models": ", ".join(finding.models),
        "treatment": None if shift is None else shift.treatment,
        "model_a": None if flip is None else flip.first,
        "model_b": None if flip is None else flip.second,
        "n_rows": finding.n_rows,
        "n_items": finding.n_items,
        "n_pairs": None if shift is None else shift.n_pairs,
        "n_depend": None if shift is None else finding.n_depend,
        "largest": None if shift is None else shift.largest,
        "before": None if flip is None else flip.before.estimate,
        "before_low": None if flip is None else flip.before.conf_low,
        "before_high": None if flip is None else flip.before.conf_high,
        "after": None if flip is None else flip.after.estimate,
        "after_low": None if flip is None else flip.after.conf_low,
        "after_high": None if flip is None else flip.after.conf_high,
    }
