"""The score of published numbers, which have no items: an interval where the source says how precise they are."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from evalstats.analysis.design.metric import Metric, choose_metric, metrics_to_show
from evalstats.analysis.design.published import bounds_of_published, published_rows, with_std_errors
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Origin, estimated, method_row
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.score.claim import check_claim, claim_of, tested_claim
from evalstats.analysis.score.result import Score, Scores
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, quoted_list
from evalstats.options import GivenOptions
from evalstats.schema.data import EvalData
from evalstats.stats.estimate import IntervalEstimate, normal_quantile
from evalstats.stats.one_sample import wilson_ends

_USED = ("metric", "conf_level", "contrast", "higher_is_better", "against", "against_n", "against_se")
_NO_WIDTH = "the source gives no number of items, standard error or interval"


def published_score(data: EvalData, name: str | None, asked: GivenOptions) -> Score | Scores:
    """Return each published number with its interval: normal from a standard error or an interval, Wilson from a share and its n.

    Of scores between 0 and 1 with a given mean, right-or-wrong ones vary most: Wilson's interval is never too short for them.

    Raises
    ------
    InputError
        If an option needs items, or a name is unknown.
    CannotAnswerError
        If a claim is given and no number says how precise it is.
    """
    if unused := sorted(asked.given().keys() - {*_USED}):
        options = and_list([str(Option(each)) for each in unused])
        raise InputError(f"published numbers have no items, so there is no use for {options}")
    contrast = asked.contrast
    rows, derived = with_std_errors(published_rows(data).with_columns(score=pl.col("estimate")))
    if name is not None and not (rows[contrast].cast(pl.String) == name).any():
        raise InputError(f"{name!r} has no published number; there are {quoted_list(rows[contrast].cast(pl.String))}")
    rows = rows if name is None else rows.filter(pl.col(contrast).cast(pl.String) == name)
    chosen = [
        (own, choose_metric(data, own, metric))
        for (benchmark,), of_benchmark in sorted(rows.group_by("benchmark"))
        for metric in metrics_to_show(data, of_benchmark, str(benchmark), asked.metric)
        for own in [of_benchmark.filter(pl.col("metric") == metric)]
    ]
    if not chosen:
        raise InputError(f"there is no metric {asked.metric!r}; the data have {quoted_list(rows['metric'])}")
    found = [score for own, metric in chosen for score in _scores(data, own, metric, asked, derived)]
    check_claim([row.about for row in found], asked.against, asked.against_n, asked.against_se)
    if asked.against is not None and all(row.conf_low is None for row in found):
        raise CannotAnswerError(
            f"{quoted_list(dict.fromkeys(row.name for row in found))}: {_NO_WIDTH}, so nothing can be tested; add a "
            "column n, std_error or conf_low and conf_high to the file, or give the scores of single items"
        )
    return found[0] if len(found) == 1 else Scores(rows=tuple(found))


def _scores(
    data: EvalData, rows: pl.DataFrame, metric: Metric, asked: GivenOptions, derived: Sequence[str]
) -> Iterator[Score]:
    for row in rows.sort(asked.contrast, "task", "scenario").iter_rows(named=True):
        facts, n = metric.facts, row["n"]
        low, high = bounds_of_published(facts, row["score"], n)
        share = (low, high) != (facts.low, facts.high)
        if share:
            facts = replace(facts, kind="proportion", low=low, high=high)
        interval_at = partial(_interval, row, (facts.low, facts.high))
        headline = interval_at(asked.conf_level)
        claim = None
        if asked.against is not None and headline.conf_low is not None:
            claim = claim_of(asked.against, facts, n=asked.against_n, std_error=asked.against_se)
        part = " ".join(filter(None, (row["task"], row["scenario"])))
        runs = (row["run"],) if row["run"] else ()
        yield Score(
            **estimated(headline, p_value=None),
            name=f"{row[asked.contrast]}{f' ({part})' if part else ''}",
            about=facts,
            estimand="what the published score estimates; the source says for which items",
            n_items=n or 0,
            runs=runs,
            rows=(method_row(headline, "headline", term="score"),),
            against=None if claim is None else tested_claim(claim, interval_at, asked.conf_level),
            origin=Origin(sources=sources_of(data, runs), version=toolkit_version()),
            notes=(
                *run_notes(data, runs),
                *metric.cautions,
                *(
                    (Note(kind="choice", text="The number is taken as a mean of scores from 0 to 1", caution=False),)
                    if share and headline.method.startswith("Wilson")
                    else ()
                ),
                *as_notes("source", derived, caution=False),
                *as_notes("few", [f"No interval: {_NO_WIDTH}"] if headline.conf_low is None else []),
            ),
        )


def _interval(row: dict[str, Any], bounds: tuple[float | None, float | None], conf_level: float) -> IntervalEstimate:
    score, n, std_error, z = row["score"], row["n"], row["std_error"], normal_quantile(conf_level)
    plain = IntervalEstimate(estimate=score, method="published", conf_level=conf_level, n=n or 0)
    low, high = bounds
    if std_error is not None and 0.0 < std_error < math.inf:
        below = above = z * std_error
        method, given, level = (
            "normal, from the published standard error",
            (row["conf_low"], row["conf_high"]),
            row["conf_level"],
        )
        if None not in (*given, level) and given[0] < score < given[1] and 0.5 <= level < 1.0:
            # What was published stands at its own level, lopsided as it may be.
            method, reach = "the published interval, by normal quantiles at other levels", z / normal_quantile(level)
            below, above = reach * (score - given[0]), reach * (given[1] - score)
        ends = (score - below, score + above)
        ends = (ends[0] if low is None else max(low, ends[0]), ends[1] if high is None else min(high, ends[1]))
        return replace(plain, method=method, std_error=std_error, conf_low=ends[0], conf_high=ends[1])
    if n and low is not None and high is not None:
        ends = wilson_ends((score - low) / (high - low), n, z)
        ends = (low + (high - low) * ends[0], low + (high - low) * ends[1])
        # So that a claim is tested as it is of right-or-wrong items.
        method = "Wilson" if (low, high) == (0.0, 1.0) else "Wilson, from the published number and its n"
        return replace(plain, method=method, conf_low=ends[0], conf_high=ends[1])
    return replace(plain, reason=_NO_WIDTH)
