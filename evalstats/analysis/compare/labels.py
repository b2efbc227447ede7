"""A comparison of judge-made scores corrected by people's labels of a part of the items."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evalstats.analysis.compare.difference import Difference
from evalstats.analysis.design.labels import Labels, label_account, one_cluster_column
from evalstats.analysis.result import method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, scaled
from evalstats.errors import CannotAnswerError
from evalstats.stats import estimate as numbers
from evalstats.stats.planning.power import mde_from_std_error
from evalstats.stats.raters.correction import (
    JudgedPair,
    PoweredMean,
    judged_pair,
    labels_needed,
    powered_difference,
    rogan_gladen_difference,
    std_error_for_power,
)
from evalstats.stats.runs import RunSpread, with_runs
from evalstats.table.items import Floats, Ints
from evalstats.table.metric import MetricFacts

_POWER = 0.8
_SURE = 0.05


def labelled_pair(labels: Labels, judged: tuple[Floats, Floats], clusters: Sequence[Ints]) -> JudgedPair:
    """Return the judge's scores and labels of both sides for the statistics."""
    codes = one_cluster_column(clusters)
    return judged_pair(np.column_stack(judged), labels.values, probabilities=labels.chances, clusters=codes)


def corrected_headline(
    pair: JudgedPair, metric: MetricFacts, *, conf_level: float, runs: RunSpread | None = None
) -> tuple[PoweredMean, numbers.IntervalEstimate]:
    """Return the prediction-powered difference, and the headline made of it: runs counted, kept within the metric's bounds."""
    found = powered_difference(pair, conf_level=conf_level)
    headline = with_runs(found.estimate, runs)
    span = metric.span
    if span is not None and headline.conf_low is not None and headline.conf_high is not None:
        headline = replace(headline, conf_low=max(headline.conf_low, -span), conf_high=min(headline.conf_high, span))
    return found, headline


def corrected(
    judged: Difference,
    pair: JudgedPair,
    metric: MetricFacts,
    *,
    labels: Labels,
    names: tuple[str, str],
    conf_level: float,
    margin: float | None,
    runs: RunSpread | None,
) -> Difference:
    """Put the corrected difference in the judge's place; the judge's and the labels' own stand below it."""
    found, headline = corrected_headline(pair, metric, conf_level=conf_level, runs=runs)
    by_errors = _by_errors(pair, metric, conf_level)
    words = "by the judge alone, whose errors no interval of its own scores counts"
    rows = [
        method_row(headline, "headline", f"labels of {found.n_labels:,} items, the judge on all"),
        method_row(found.labels_only, "second interval", "people's labels alone"),
        *([] if by_errors is None else [method_row(by_errors, "check", "the judge's error rates on each side undone")]),
        *(replace(row, role="sensitivity", note=words) for row in judged.rows[:1]),
    ]
    account = replace(
        label_account(found, judged.headline, [] if by_errors is None else [by_errors], labels.people),
        labels_for_margin=None if margin is None else _needed(pair, found, margin, conf_level),
    )
    mde = None
    if headline.std_error and headline.df:
        mde = mde_from_std_error(headline.std_error, headline.df, conf_level=conf_level, power=_POWER)
    return Difference(
        headline=headline,
        without_runs=None if runs is None else found.estimate,
        method_reason="people labelled a part of the items, and the judge's scores of all are corrected by it",
        rows=tuple(rows),
        mde=mde,
        labels=account,
        notes=(*_cautions(found, metric, names), *labels.notes),
    )


def _needed(pair: JudgedPair, found: PoweredMean, margin: float, conf_level: float) -> int | None:
    """Return how many items need labels to find a difference as large as the margin; clusters widen as they do now."""
    both = pair.both
    d, f = pair.labels[:, 1] - pair.labels[:, 0], pair.judged[:, 1] - pair.judged[:, 0]
    inflation = 1.0
    if pair.clusters is not None and found.labels_only.std_error:
        inflation = max(found.labels_only.std_error**2 * both.sum() / max(d[both].var(ddof=1), 1e-12), 1.0)
    wanted = std_error_for_power(margin, conf_level=conf_level, power=_POWER)
    try:
        return labels_needed(f[both], d[both], wanted, n_items=len(f), inflation=inflation).n
    except CannotAnswerError:
        return None


def _by_errors(pair: JudgedPair, metric: MetricFacts, conf_level: float) -> numbers.IntervalEstimate | None:
    if metric.kind != "binary" or not np.isin(pair.judged, (0, 1)).all():
        return None
    clear = np.isnan(pair.labels) | np.isin(pair.labels, (0, 1))
    # People who are divided on an answer give no yes or no to hold the judge against.
    settled = replace(pair, labels=np.where(clear, pair.labels, np.nan))
    try:
        return rogan_gladen_difference(settled, conf_level=conf_level)
    except CannotAnswerError:
        return None


def _cautions(found: PoweredMean, metric: MetricFacts, names: tuple[str, str]) -> tuple[Note, ...]:
    told: list[Note] = []
    bias = found.bias
    if bias.p_value is not None and bias.p_value < _SURE and bias.estimate:
        favoured = names[1] if (bias.estimate > 0) == metric.higher_is_better else names[0]
        reach = abs(bias.conf_low or 0.0), abs(bias.conf_high or 0.0)
        size = f"{scaled(abs(bias.estimate), metric.scale, 1)} {metric.shown_unit}".rstrip()
        ends = interval_words(min(reach), max(reach), metric.scale, 1)
        text = f"The judge favours {favoured} by {size} (CI {ends}) against people; the difference shown is corrected for it"
        told.append(Note(kind="trust", text=text))
    return (*told, *notes("few", found.estimate.warnings))
