"""Effect sizes: how large the difference is in terms that do not hang on the metric's unit."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from evalstats.analysis.results import MethodRow, PairedTable
from evalstats.analysis.rows import method_row
from evalstats.document.blocks import Block, Bullets, Table
from evalstats.document.numbers import interval, number, plural, share_in_percent
from evalstats.stats.one_sample import UnseenFailures
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import EffectSize, conditional_odds_ratio, standardised_difference, superiority

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def effect_rows(
    differences: Floats,
    table: PairedTable | None,
    clusters: Sequence[Ints],
    conf_level: float,
    *,
    failures: UnseenFailures | None = None,
) -> tuple[MethodRow, ...]:
    """Return the probability of superiority and, for independent items, d_z and the conditional odds ratio.

    For graded scores, the share of outright failures that would undo the result as well.

    Parameters
    ----------
    differences
        Candidate minus baseline, item means, shape (n_items,).
    table
        Counts of pairs, for right-or-wrong scores with one trial.
    clusters
        Cluster codes in force; of several, the coarsest counts.
    failures
        What failures of the side ahead would do, for graded scores.
    """
    coarsest = min(clusters, key=lambda codes: len(np.unique(codes))) if clusters else None
    found = superiority(differences, clusters=coarsest, conf_level=conf_level)
    note = "chance that the candidate does better on an item, ties counted half"
    rows = [method_row(found, term="superiority", role="other estimand", note=note)]
    risk = [] if failures is None or failures.undoing <= 0 else [_failures_row(failures)]
    if clusters:
        return (*rows, *risk)
    if table is not None:
        counts = PairedCounts(table.both, table.only_candidate, table.only_baseline, table.neither)
        odds = conditional_odds_ratio(counts, conf_level=conf_level)
        rows.append(_row("odds ratio", odds, "odds that the candidate wins an item that one alone got right"))
    else:
        size = standardised_difference(differences, conf_level=conf_level)
        rows.append(_row("d_z", size, "mean difference in standard deviations of the differences"))
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


def effects_blocks(rows: Sequence[MethodRow], conf_level: float) -> list[Block]:
    """Return the effect sizes as a table, and what each is; nothing where there are none."""
    if not rows:
        return []
    return [
        Table(
            columns=("Effect size", "Value", f"{100 * conf_level:g}% interval"),
            rows=tuple((row.term, number(row.estimate), interval(row.conf_low, row.conf_high)) for row in rows),
            align="lrr",
            caption="Effect sizes",
        ),
        Bullets(items=tuple(f"{row.term}: {row.note}" for row in rows)),
    ]


def _row(term: str, found: EffectSize, note: str) -> MethodRow:
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
