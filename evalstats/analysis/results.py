"""What an analysis answers: frozen results that carry the answer and how it was reached."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from evalstats.analysis.costs import CostRow
from evalstats.analysis.flips import Flip, ScenarioFlips
from evalstats.analysis.looks.results import SequentialAccount
from evalstats.analysis.result import json_safe
from evalstats.analysis.runs.rules import RunDifference
from evalstats.analysis.scales import Direction
from evalstats.document.blocks import Block
from evalstats.document.markup import to_html
from evalstats.document.numbers import interval, scaled
from evalstats.schema.plan import PlanAccount
from evalstats.stats.clusters import Dependence

Verdict = Literal["invalid", "powerless", "equivalent", "better", "worse", "inconclusive"]
# Verdicts that claim something.
DECIDED: tuple[Verdict, ...] = ("better", "worse", "equivalent")
Role = Literal["headline", "check", "second interval", "other estimand", "sensitivity"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRow:
    """One way to compute one quantity. Numbers are in the metric's own unit (proportions, not percentage points).

    `term` is what is estimated: "difference", "baseline", "candidate", or a name of a further quantity.
    """

    term: str
    method: str
    role: Role
    conf_level: float
    estimate: float | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    n_items: int | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimTest:
    """Does a system's score differ from a published number?

    `claim` is that number, with the items (`n`) or the standard error behind it where these are known; `estimate` is the score
    minus it. The interval excludes 0 exactly where p is below 1 - `conf_level`.
    """

    claim: float
    estimate: float
    conf_level: float
    method: str
    verdict: Literal["above", "below", "not shown to differ", "no answer"]
    n: int | None = None
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Score:
    """One system's score on its own: the estimate, its interval, and what it rests on.

    `n_items` counts item x variant; `n_trials` counts scored rows. `pass_hat` holds (k, estimate, conf_low, conf_high) of
    pass^k, the chance that k independent trials of an item all succeed, where there are trials of a binary score.
    """

    name: str
    estimate: float | None
    conf_level: float
    method: str
    metric: str
    benchmark: str
    scale: float = 1.0
    unit: str = ""
    higher_is_better: bool = True
    direction: Direction = "declared"
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    df: float | None = None
    reason: str | None = None
    estimand: str = ""
    average: str = ""
    n_items: int = 0
    n_trials: int = 0
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    n_error: int = 0
    n_unscored: int = 0
    runs: tuple[str, ...] = ()
    rows: tuple[MethodRow, ...] = ()
    pass_hat: tuple[tuple[int, float, float | None, float | None], ...] = ()
    against: ClaimTest | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        ends = interval(self.conf_low, self.conf_high, self.scale)
        return f"<Score: {self.name} on {self.benchmark}: {scaled(self.estimate, self.scale)}{self.unit} {ends}>"

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values."""
        return json_safe(self)

    def to_frame(self) -> pl.DataFrame:
        """Tidy rows: the headline interval and every further one."""
        return rows_frame(self.rows)

    def summary(self) -> str:
        """Sentences for a person."""
        from evalstats.analysis.wording import score_sentences

        return " ".join(score_sentences(self))

    def blocks(self) -> list[Block]:
        """Return the result as neutral blocks."""
        from evalstats.analysis.wording import score_blocks

        return score_blocks(self)

    def explain(self) -> str:
        """Explain in plain words: what was asked, how it was answered, what that assumes, what would change it."""
        from evalstats.analysis.explaining.explain import explain_text

        return explain_text(self)

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTable:
    """Counts of item pairs for a binary score with one trial each."""

    both: int
    only_candidate: int
    only_baseline: int
    neither: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AtMargin:
    """Is the candidate at most the declared margin worse? And do the two differ by less than it?

    `limit` is the one-sided end of the interval on the side of a loss, at `conf_level`; with `noninferior_p` it comes from one
    test, so that the two agree. `equivalence_p` is that of two one-sided tests (TOST) at either margin.
    """

    margin: float
    noninferior: bool
    reason: str
    method: str
    conf_level: float
    limit: float | None = None
    noninferior_p: float | None = None
    equivalence_p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What could not be paired, and how far it could move the answer.

    `only_baseline` and `only_candidate` are items scored on one side alone. `rows` repeat the headline analysis with every
    missing score put at the metric's lowest and highest value, and with the two extreme assignments. `share_baseline` and
    `share_candidate` are the shares of all scores that are missing: every item that either side has counts once, and an item
    with some of its trials scored counts in part. `withheld` is the verdict that the paired items would give, where what is
    missing forbids it; `ignorable` that the user declared the reason for it harmless.
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
    withheld: Verdict | None = None
    ignorable: bool = False

    @property
    def any(self) -> bool:
        """Whether anything is missing."""
        return bool(self.n_only_baseline or self.n_only_candidate or self.n_neither or self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLevels:
    """Does the answer hold for other levels of a factor than these? The comparison with its levels as clusters.

    `verdict` and the interval are those that the factor would give if it were declared as the cluster; `holds` says whether
    the verdict is then the same, `noninferior` whether the candidate is then within the declared margin.
    """

    factor: str
    n_levels: int
    conf_level: float
    verdict: Verdict
    holds: bool
    noninferior: bool | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """The comparison within one level of the factor named by `by`.

    `p_adjusted` and the interval (at `conf_level`) are Bonferroni's over the levels, so that they agree and the intervals
    hold together; `p_holm` is Holm's p, which is never larger. `qualifiers` limit the verdict
    as those of the whole do, and `withheld` is what missing scores forbid.
    """

    level: str
    n_items: int
    baseline: float | None
    candidate: float | None
    estimate: float | None
    std_error: float | None
    conf_low: float | None
    conf_high: float | None
    conf_level: float
    p_value: float | None
    p_adjusted: float | None
    p_holm: float | None
    method: str
    verdict: Verdict
    verdict_reason: str
    qualifiers: tuple[str, ...] = ()
    withheld: Verdict | None = None
    n_clusters: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison:
    """Is the candidate better than the baseline? The answer, and how it was reached.

    All numbers are in the metric's own unit; `scale` and `unit` say how they are shown (100 and "pp" for proportions).
    `estimate` is candidate minus baseline on the items both answered. The interval decides the verdict.

    Attributes
    ----------
    verdict
        invalid, powerless, equivalent, better, worse or inconclusive; `verdict_reason` says why in words.
    method_reason
        Why this method was picked.
    average
        Which average over the levels of a factor the estimate is; "" where levels of equal size make it none in particular.
    runs_counted
        Whether the interval counts the variation from run to run (or from one shared trial to another).
    mde
        Smallest true difference that this design would detect with 80% power (same unit as `estimate`).
    rows
        The headline row first, then the checks and second intervals of the same difference.
    direction
        Where `higher_is_better` comes from: "declared", "assumed" (nothing declares it), or "asked" (nothing declares it, and the
        metric's name suggests that lower is better; then no side is called the better one).
    qualifiers
        Short phrases without which the verdict would mislead, such as "not established for other passages". They stand on
        the first line of every output, after the verdict.
    other_levels
        Where the differences run in groups of a factor that nobody declared: whether the answer holds for other groups.
    """

    baseline: Score
    candidate: Score
    contrast: str
    benchmark: str
    tasks: tuple[str, ...]
    metric: str
    metric_kind: str
    higher_is_better: bool
    direction: Direction = "declared"
    scale: float
    unit: str
    estimate: float | None
    conf_level: float
    method: str
    method_reason: str
    estimand: str
    verdict: Verdict
    verdict_reason: str
    qualifiers: tuple[str, ...] = ()
    average: str = ""
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    rows: tuple[MethodRow, ...] = ()
    table: PairedTable | None = None
    n_items: int = 0
    n_trials: int = 0
    n_clusters: int | None = None
    clusters: tuple[str, ...] = ()
    runs_counted: bool = False
    design_effect: float | None = None
    effective_clusters: float | None = None
    mde: float | None = None
    smallest_p: float | None = None
    margin: float | None = None
    equivalence_low: float | None = None
    equivalence_high: float | None = None
    at_margin: AtMargin | None = None
    missing: Missing
    flipped: tuple[Flip, ...] = ()
    flipped_by: tuple[ScenarioFlips, ...] = ()
    effects: tuple[MethodRow, ...] = ()
    costs: tuple[CostRow, ...] = ()
    run_differences: tuple[RunDifference, ...] = ()
    sequential: SequentialAccount | None = None
    plan: PlanAccount | None = None
    dependence: tuple[Dependence, ...] = ()
    other_levels: tuple[OtherLevels, ...] = ()
    by: str | None = None
    groups: tuple[GroupRow, ...] = ()
    seed: int = 0
    version: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def only_higher(self) -> str:
        """Say which side scores higher, where that is shown and only the metric's direction is open; else ""."""
        if (
            self.verdict != "inconclusive"
            or self.direction != "asked"
            or self.conf_low is None
            or self.conf_high is None
        ):
            return ""
        if self.conf_low <= 0 <= self.conf_high:
            return ""
        more = "higher" if self.conf_low > 0 else "lower"
        return f"{self.candidate.name} scores {more} than {self.baseline.name} in {self.metric} on {self.benchmark}"

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        shown = f"{scaled(self.estimate, self.scale, sign=True)} {self.unit}".rstrip()
        ends = interval(self.conf_low, self.conf_high, self.scale)
        sides = f"{self.candidate.name} against {self.baseline.name} on {self.benchmark}"
        return f"<Comparison: {sides}: {qualified(self.verdict, self.qualifiers)}, {shown} {ends}>"

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe values: what `evalstats compare --format json` prints."""
        return json_safe(self)

    def to_frame(self) -> pl.DataFrame:
        """Tidy rows in glossary names: every method's row, then one row for every group."""
        frame = rows_frame((*self.rows, *self.missing.rows))
        if not self.groups:
            return frame
        groups = [
            {
                "term": f"{self.by}={group.level}",
                "method": group.method,
                "role": "headline",
                "conf_level": group.conf_level,
                "estimate": group.estimate,
                "std_error": group.std_error,
                "conf_low": group.conf_low,
                "conf_high": group.conf_high,
                "p_value": group.p_value,
                "p_adjusted": group.p_adjusted,
                "p_holm": group.p_holm,
                "n_items": group.n_items,
                "n_clusters": group.n_clusters,
                "note": f"{qualified(group.verdict, group.qualifiers)}: {group.verdict_reason}",
            }
            for group in self.groups
        ]
        return pl.concat([frame, pl.DataFrame(groups, infer_schema_length=None)], how="diagonal_relaxed")

    def summary(self) -> str:
        """Sentences for a person: the verdict, the number, what it rests on, what to beware of."""
        from evalstats.analysis.wording import comparison_sentences

        return " ".join(comparison_sentences(self))

    def blocks(self) -> list[Block]:
        """Return the result as neutral blocks that `evalstats.document` turns into text, Markdown, HTML or LaTeX."""
        from evalstats.analysis.wording import comparison_blocks

        return comparison_blocks(self)

    def explain(self) -> str:
        """Explain in plain words: what was asked, how it was answered, what that assumes, what would change it."""
        from evalstats.analysis.explaining.explain import explain_text

        return explain_text(self)

    def _repr_html_(self) -> str:
        return to_html(self.blocks())


def rows_frame(rows: tuple[MethodRow, ...]) -> pl.DataFrame:
    """Return method rows as a frame with glossary names."""
    fields = {
        field.name: pl.String if field.type in (str, Role) else pl.Int64 if field.type == (int | None) else pl.Float64
        for field in dataclasses.fields(MethodRow)
    }
    return pl.DataFrame([dataclasses.asdict(row) for row in rows], schema=fields)


def qualified(answer: str, qualifiers: Sequence[str]) -> str:
    """Return the answer with everything that limits it behind, as it stands on the first line.

    Examples
    --------
    >>> qualified("B is better than A", ("not established for other passages",))
    'B is better than A; not established for other passages'
    """
    return "; ".join((answer, *qualifiers))
