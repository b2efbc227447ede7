"""One system's score, and the test of a published number: the frozen result of `score()`."""

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from evalstats.analysis.method_rows import MethodRow, rows_frame
from evalstats.analysis.result import json_safe
from evalstats.analysis.scales import Direction
from evalstats.document.blocks import Block
from evalstats.document.markup import to_html
from evalstats.document.numbers import interval, scaled


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
        from evalstats.analysis.notes import score_sentences

        return " ".join(score_sentences(self))

    def blocks(self) -> list[Block]:
        """Return the result as neutral blocks."""
        from evalstats.analysis.notes import score_blocks

        return score_blocks(self)

    def explain(self) -> str:
        """Explain in plain words: what was asked, how it was answered, what that assumes, what would change it."""
        from evalstats.analysis.explaining.explain import explain_text

        return explain_text(self)

    def _repr_html_(self) -> str:
        return to_html(self.blocks())
