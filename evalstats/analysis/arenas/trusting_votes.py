"""Votes that look odd whoever gave them: sides, duplicates, bursts, answers that name their model."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import polars as pl
from scipy.special import expit

from evalstats.analysis.arenas.check_results import Burst, CheckLine, CheckStatus, TrustChecks
from evalstats.analysis.arenas.table import VoteTable
from evalstats.analysis.arenas.voters import MERGED, Voters
from evalstats.display.numbers import interval, number, p_value, plural
from evalstats.errors import InputError
from evalstats.stats.arena.bursts import FEWEST_TIMES, BurstFound, model_bursts, rater_bursts
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.honest_votes import decided_line
from evalstats.stats.arena.sides import side_preference
from evalstats.stats.arena.votes import A_WINS, TIE
from evalstats.stats.checks import FloatArray
from evalstats.stats.tails import two_sided_normal_p

_MANY = 0.01  # of the votes
_NAMED = 3
_FEWEST_DECIDED = 6  # 2 x .5^6 is the first p below .05


def side_check(found: TrustChecks, table: VoteTable, conf_level: float) -> tuple[TrustChecks, CheckLine]:
    """Test that either side wins half of the decided votes."""
    title = "Preference for a side"
    try:
        sides = side_preference(table.rows, conf_level=conf_level)
    except InputError as problem:
        return found, CheckLine(check="sides", title=title, status="not run", finding=str(problem))
    if one_order(table):
        reason = "every pair of models stands in one order only, so that side and model cannot be told apart"
        return found, CheckLine(check="sides", title=title, status="not run", finding=reason)
    if sides.n < _FEWEST_DECIDED:
        reason = f"{plural(sides.n, 'decided vote')}: fewer than {_FEWEST_DECIDED} could show no preference, whatever they were"
        return found, CheckLine(check="sides", title=title, status="not run", finding=reason)
    told = f"side a won {number(100 * sides.estimate, 1)}% of {plural(sides.n, 'decided vote')}"
    kept = replace(
        found, side_share=sides.estimate, side_low=sides.conf_low, side_high=sides.conf_high, side_p=sides.p_value
    )
    if sides.p_value is None:
        finding = f"{told}; whether that is chance cannot be said: {sides.reason}"
        return kept, CheckLine(check="sides", title=title, status="not run", finding=finding)
    finding = f"{told}, {interval(sides.conf_low, sides.conf_high, 100, 1)}, p {p_value(sides.p_value)} if both sides are alike"
    status: CheckStatus = "warning" if sides.p_value <= 1.0 - conf_level else "ok"
    return kept, CheckLine(check="sides", title=title, status=status, finding=finding)


def one_order(table: VoteTable) -> bool:
    """Tell whether no two models were ever shown in both orders (a baseline that is always on side a)."""
    n = table.n_models
    there = np.unique(table.rows.first * n + table.rows.second)
    return not np.isin(there, np.unique(table.rows.second * n + table.rows.first)).any()


def duplicate_check(found: TrustChecks, table: VoteTable) -> tuple[TrustChecks, CheckLine]:
    """Count votes beyond the first by one rater on the same prompt and pair, and how often they agree with the first."""
    title = "The same vote again"
    names = {name for name in ("rater", "item") if table.votes is not None and name in table.votes.columns}
    if table.votes is None or len(names) < 2:
        reason = MERGED if table.votes is None else "needs the rater and the prompt of each vote"
        return found, CheckLine(check="duplicates", title=title, status="not run", finding=reason)
    turned = table.first > table.second
    share = np.where(turned, 1.0 - table.share, table.share)
    frame = table.votes.select("rater", "item").with_columns(
        low=pl.Series(np.minimum(table.first, table.second)),
        high=pl.Series(np.maximum(table.first, table.second)),
        share=pl.Series(share),
    )
    known = frame.drop_nulls()
    if not known.height:
        reason = "no vote names both its rater and its prompt"
        return found, CheckLine(check="duplicates", title=title, status="not run", finding=reason)
    key = ["rater", "item", "low", "high"]
    again = known.with_columns(
        place=pl.int_range(pl.len()).over(key), same=pl.col("share") == pl.col("share").first().over(key)
    ).filter(pl.col("place") > 0)
    n = again.height
    agree = float(again["same"].cast(pl.Float64).sum()) / n if n else None
    if agree is None:
        finding = f"none among {plural(known.height, 'vote')}: no rater judged a pair of answers to a prompt twice"
    else:
        finding = (
            f"{plural(n, 'vote')} of {known.height:,} repeat a pair of models that the rater had judged on the prompt before; "
            f"{number(100 * agree, 0)}% say the same as the first"
        )
    status: CheckStatus = "warning" if n >= _MANY * known.height else "ok"
    line = CheckLine(check="duplicates", title=title, status=status, finding=finding)
    return replace(found, n_duplicates=n, duplicates_agree=agree), line


def burst_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters, *, conf_level: float
) -> tuple[TrustChecks, CheckLine]:
    """Look for more votes for a model, or by a rater, in a short time than the usual pace explains."""
    title = "Bursts of votes"
    seconds = voters.seconds
    timed = np.zeros(0, dtype=np.int64) if seconds is None else np.flatnonzero(np.isfinite(seconds))
    if seconds is None or np.unique(seconds[timed]).size < FEWEST_TIMES:
        reason = MERGED if table.votes is None else f"votes have fewer than {FEWEST_TIMES} different times"
        return replace(found, bursts_reason=reason), CheckLine(
            check="bursts", title=title, status="not run", finding=reason
        )
    level = (1.0 - conf_level) / 2.0
    bursts = [_burst(one, "model", table.models[one.code]) for one in _of_models(table, fit, voters, timed, level)]
    if voters.n_raters:
        known = timed[voters.codes[timed] < voters.n_raters]
        by_rater = rater_bursts(voters.codes[known], seconds[known], level=level)
        bursts += [_burst(one, "rater", voters.names[one.code]) for one in by_rater]
    if not bursts:
        who = "for a model or by a rater" if voters.n_raters else "for a model"
        line = CheckLine(
            check="bursts", title=title, status="ok", finding=f"none {who} beyond what its usual pace explains"
        )
        return found, line
    told = "; ".join(
        f"{burst.n_votes:,} votes {'for' if burst.kind == 'model' else 'by'} {burst.name} from {burst.start:%Y-%m-%d %H:%M} "
        f"to {burst.end:%Y-%m-%d %H:%M} UTC, {number(burst.expected, 1)} expected"
        for burst in bursts[:_NAMED]
    )
    more = f"; and {len(bursts) - _NAMED} more" if len(bursts) > _NAMED else ""
    line = CheckLine(check="bursts", title=title, status="warning", finding=told + more)
    return replace(found, bursts=tuple(bursts)), line


def identity_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, *, conf_level: float
) -> tuple[TrustChecks, CheckLine]:
    """Compare votes in which just one answer names its model with what the ratings expect."""
    title = "Answers that name their model"
    names = ("names_itself_a", "names_itself_b")
    if table.votes is None or not set(names) <= set(table.votes.columns):
        reason = MERGED if table.votes is None else "the answers' texts are not known"
        return found, CheckLine(check="identity", title=title, status="not run", finding=reason)
    a, b = (table.votes[name].cast(pl.Boolean) for name in names)
    known = int((a.is_not_null() | b.is_not_null()).sum())
    if not known:
        reason = "the answers' texts are not known"
        return found, CheckLine(check="identity", title=title, status="not run", finding=reason)
    on_a = np.asarray(a.fill_null(value=False).to_numpy(), dtype=np.bool_)
    on_b = np.asarray(b.fill_null(value=False).to_numpy(), dtype=np.bool_)
    n = int(np.count_nonzero(on_a | on_b))
    told = f"in {plural(n, 'vote')} of {known:,} an answer names its own model"
    status: CheckStatus = "warning" if n >= _MANY * known else "ok"
    one = np.flatnonzero((on_a != on_b) & (table.outcome < TIE))
    if one.size:
        likely = decided_forecast(table, fit)[one]
        # Who won is side a just where the one that names itself is side a.
        won = ((table.outcome[one] == A_WINS) == on_a[one]).astype(np.float64)
        likely = np.where(on_a[one], likely, 1.0 - likely)
        z = float((won - likely).sum()) / math.sqrt(float((likely * (1.0 - likely)).sum()))
        p = two_sided_normal_p(z)
        told += (
            f"; of the {plural(one.size, 'decided vote')} where just one does, its side won {number(100 * won.mean(), 1)}%, "
            f"where the ratings expect {number(100 * likely.mean(), 1)}% (p {p_value(p)})"
        )
        status = "warning" if p <= 1.0 - conf_level else status
    line = CheckLine(check="identity", title=title, status=status, finding=told)
    return replace(found, identity_votes=n, identity_share=n / known), line


def decided_forecast(table: VoteTable, fit: PairFit) -> FloatArray:
    """Return the probability that a decided vote goes to side a, by the ratings, shape (n_votes,)."""
    eta = fit.strengths[table.first] - fit.strengths[table.second] + table.covariates @ fit.coefficients
    decided = table.outcome < TIE
    line = decided_line(eta[decided], table.outcome[decided] == A_WINS)
    return np.asarray(expit(line[0] + line[1] * eta), dtype=np.float64)


def _of_models(
    table: VoteTable, fit: PairFit, voters: Voters, timed: np.ndarray, level: float
) -> tuple[BurstFound, ...]:
    at = timed[table.outcome[timed] < TIE]
    if voters.seconds is None or not at.size:
        return ()
    won, likely = table.outcome[at] == A_WINS, decided_forecast(table, fit)[at]
    return model_bursts(
        np.concatenate([table.first[at], table.second[at]]),
        np.tile(voters.seconds[at], 2),
        np.concatenate([won, ~won]),
        np.concatenate([likely, 1.0 - likely]),
        np.tile(voters.codes[at], 2) if voters.n_raters else None,
        level=level,
    )


def _burst(one: BurstFound, kind: str, name: str) -> Burst:
    return Burst(
        name=name,
        kind="model" if kind == "model" else "rater",
        start=datetime.fromtimestamp(one.start, tz=UTC),
        end=datetime.fromtimestamp(one.end, tz=UTC),
        n_votes=one.n_votes,
        expected=one.expected,
        p_adjusted=one.p_adjusted,
    )
