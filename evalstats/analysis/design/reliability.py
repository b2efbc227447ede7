"""How reliable a system is over k trials of an item: pass^k and pass@k for the trials run, and extrapolated where asked."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.result import Estimate, MethodRow, estimated, method_row, shown_numbers
from evalstats.document.model import Column, Figure, Note, Table
from evalstats.document.numbers import p_words
from evalstats.errors import CannotAnswerError
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.stats.beta_binomial import FARTHEST, BetaBinomial, any_law_intervals
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.trials import suite_pass
from evalstats.table.items import Ints
from evalstats.table.metric import MetricFacts, PassKind
from evalstats.table.score_table import ScoreTable

# Of the check of the beta-binomial model: below it nothing is extrapolated.
LACK_OF_FIT = 0.05
_ANY_LAW = "any distribution of success rates"
_EVERY_K = 8
_KINDS: tuple[PassKind, ...] = ("hat", "at")


@record
class PassRow(Estimate):
    """pass^k or pass@k of one k, with an interval for it alone.

    Attributes
    ----------
    kind
        "hat": all of k trials succeed (pass^k). "at": any of k does (pass@k).
    k
        Trials of an item.
    """

    kind: PassKind
    k: int


@record
class PassesByK:
    """pass^k and pass@k by k, for the trials run.

    Attributes
    ----------
    n_trials
        Trials that every item was run.
    rows
        pass^k by k, then pass@k by k.
    """

    n_trials: int
    rows: tuple[PassRow, ...]

    def of(self, kind: PassKind) -> tuple[PassRow, ...]:
        """Return the rows of one kind, by k."""
        return tuple(row for row in self.rows if row.kind == kind)


def reliability(
    metric: MetricFacts,
    trials: Ints,
    successes: Ints | None,
    *,
    conf_level: float,
    clusters: Sequence[Ints] = (),
) -> PassesByK | None:
    """Return pass^k and pass@k of one system from the trials and successes of its items, shape (n_items,) each.

    None where a score is not right or wrong, or some item was run once. `clusters` are codes of what items have in common,
    one column at most.
    """
    counted = metric.higher_is_better and metric.kind in ("binary", "proportion")
    if not counted or successes is None or trials.min() < 2 or len(clusters) > 1:
        return None
    codes = next(iter(clusters), None)
    n = int(trials.min())
    some = sorted({*range(1, min(n, _EVERY_K) + 1), *(2**power for power in range(n.bit_length())), n})
    rows = [
        PassRow(
            **estimated(suite_pass(trials, successes, k, kind=kind, conf_level=conf_level, clusters=codes)),
            kind=kind,
            k=k,
        )
        for kind in _KINDS
        for k in some
    ]
    return PassesByK(n_trials=n, rows=tuple(rows))


def reliability_of_each(table: ScoreTable, *, clusters: Sequence[str], conf_level: float) -> tuple[PassesByK, ...]:
    """Return pass^k and pass@k of every system of a table for the trials run, in its order; empty where one has none."""
    if not table.metric.is_share or table.n_scored.min() < 2 or not np.allclose(table.total, np.rint(table.total)):
        return ()
    codes = [table.codes(name) for name in clusters]
    found = [
        reliability(
            table.metric,
            table.n_scored[:, j],
            np.rint(table.total[:, j]).astype(np.int64),
            conf_level=conf_level,
            clusters=[each for each in codes if len(np.unique(each)) < len(each)],
        )
        for j in range(len(table.names))
    ]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else ()


@record
class Extrapolation:
    """pass^k or pass@k of more trials than were run, by a law that was fitted and checked.

    Attributes
    ----------
    kind, k
        What is extrapolated.
    by_law
        By the beta-binomial model, with its profile-likelihood interval.
    any_law
        Ends of the interval without that law, over every distribution of success rates.
    n_trials
        Trials of a usual item.
    fit_p
        p of the law; None where two trials an item leave nothing to check it by.
    """

    kind: PassKind
    k: int
    by_law: IntervalEstimate
    any_law: tuple[float, float]
    n_trials: int
    fit_p: float | None

    @property
    def estimate(self) -> IntervalEstimate:
        """The law's value, with the interval that holds both intervals."""
        ends = [*self.any_law, *(end for end in (self.by_law.conf_low, self.by_law.conf_high) if end is not None)]
        method = f"{self.by_law.method}, widest of it and {_ANY_LAW}"
        return replace(self.by_law, conf_low=min(ends), conf_high=max(ends), method=method)

    def further_rows(self) -> tuple[MethodRow, MethodRow]:
        """Return the lines of either interval; without the law any value in it fits, so that one has no estimate."""
        row = method_row(self.by_law, "second interval", term="score")
        low, high = self.any_law
        return row, replace(row, estimate=None, conf_low=low, conf_high=high, method=_ANY_LAW)

    def note(self) -> Note:
        """Say that it is extrapolated, and what the law makes of it."""
        # Without its p, so that several systems share the line.
        fit = "2 trials cannot check" if self.fit_p is None else f"the counts do not contradict (p > {LACK_OF_FIT})"
        level = f"{100 * self.by_law.conf_level:g}% CI"
        text = (
            f"Extrapolated from {plural(self.n_trials, 'trial')} an item by a beta-binomial model, which {fit}. The {level} "
            "also allows for other distributions of success rates"
        )
        return Note(kind="fit", text=text, remedy=f"Run {self.k} trials of each item to measure it")


def extrapolated(
    trials: Ints,
    successes: Ints,
    wanted: Sequence[tuple[PassKind, int]],
    *,
    conf_level: float,
    clusters: Ints | None = None,
) -> list[Extrapolation]:
    """Return pass^k ("hat") or pass@k ("at") for k beyond the trials run, from one law.

    CannotAnswerError if items are clustered, the law does not fit, or a k is more than four times the trials of an item.
    """
    law, fit_p = _checked(trials, successes, clusters)
    n, most = law.usual_trials, max(k for _, k in wanted)
    if most > FARTHEST * n:
        raise CannotAnswerError(
            f"k = {most} is more than {FARTHEST} times the {plural(n, 'trial')} of an item, too far to extrapolate; run at "
            f"least {-(-most // FARTHEST)} trials of each"
        )
    free = any_law_intervals(trials, successes, wanted, conf_level=conf_level)
    return [
        Extrapolation(
            kind=kind,
            k=k,
            by_law=law.interval(k, kind, conf_level=conf_level),
            any_law=ends,
            n_trials=n,
            fit_p=fit_p,
        )
        for (kind, k), ends in zip(wanted, free, strict=True)
    ]


def _checked(trials: Ints, successes: Ints, clusters: Ints | None) -> tuple[BetaBinomial, float | None]:
    """Return the law with its check; CannotAnswerError where it does not hold."""
    most = int(trials.max())
    if clusters is not None and len(np.unique(clusters)) < len(clusters):
        raise CannotAnswerError(
            "items are clustered, and trials beyond those run are extrapolated for independent items only"
        )
    law = BetaBinomial.of(trials, successes)
    fit_p = law.check()
    if fit_p is not None and fit_p <= LACK_OF_FIT:
        raise CannotAnswerError(
            f"the successes of items do not fit a beta-binomial model ({p_words(fit_p)}), and {plural(most, 'trial')} an item "
            "are too few to choose another"
        )
    return law, fit_p


def reliability_figure(systems: Sequence[tuple[str, PassesByK | None]], conf_level: float) -> tuple[Figure, ...]:
    """Return the figure of pass^k and pass@k by k: of one system on one panel, of several a panel each; none without trials."""
    known = [(name, each) for name, each in systems if each is not None]
    if not known:
        return ()
    rows = [(name, row) for name, each in known for row in each.rows]
    several = len(known) > 1
    named = {"hat": "pass^k: all succeed", "at": "pass@k: any succeeds"}
    shown = shown_numbers([row for _, row in rows], 100)
    level = f"{100 * conf_level:g}% CI"
    by_k: dict[tuple[str, int], dict[PassKind, PassRow]] = {}
    for name, row in rows:
        by_k.setdefault((name, row.k), {})[row.kind] = row
    table = Table(
        id="reliability",
        columns=(
            *((Column(title="System", kind="name"),) if several else ()),
            Column(title="k", kind="count"),
            Column(title="pass^k (%)", kind="number", scale=100),
            Column(title=level, kind="interval", scale=100),
            Column(title="pass@k (%)", kind="number", scale=100),
            Column(title=level, kind="interval", scale=100),
        ),
        rows=tuple(
            (
                *((name,) if several else ()),
                k,
                own["hat"].estimate,
                own["hat"].ends,
                own["at"].estimate,
                own["at"].ends,
            )
            for (name, k), own in by_k.items()
            if len(own) == len(_KINDS)  # a damaged file may lack one
        ),
        caption="Chance that all, and any, of k trials of one item succeed; each interval is for its k alone",
    )
    figure = Figure(
        id="reliability",
        plot="curves",
        rows={
            "panel": [named.get(row.kind, "") if several else "" for _, row in rows],
            "line": [name if several else named.get(row.kind, "") for name, row in rows],
            "x": [row.k for _, row in rows],
            **{name: shown[name] for name in ("estimate", "conf_low", "conf_high")},
        },
        options={"x_title": "k, trials of an item", "limits": (0.0, 100.0), "percent": True},
        alt=f"pass^k and pass@k of {and_list([name for name, _ in known])} for k up to {max(row.k for _, row in rows)}.",
        caption=f"Chance that all, and that any, of k trials succeed, with {level} for each k alone",
        table=table,
    )
    return (figure,)
