"""Whether models met because of how they were rated, and what may then be claimed: the rule is replayed, or nothing is."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.analysis.arena.checks import MERGED, check_line, guarded
from evalstats.analysis.arena.ratings import RatedPart, RatingOptions, rate
from evalstats.analysis.arena.result import CheckLine, Pairing
from evalstats.document.model import Note
from evalstats.document.numbers import number, p_words
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.pairing import pairing_rule, pairing_test, replayed, widened
from evalstats.stats.arena.parametric_bootstrap import Tastes, tastes_of
from evalstats.stats.checks import IntArray
from evalstats.table.votes import VoteTable

LEVEL = 0.01
_TIMED = 0.9  # of the votes; else the order is that of the file
_WIDER = 1.005
_SCHEDULED = "proximity"
_WHY = "models were paired by similar ratings"
_REMEDY = "Draw some pairs at random; the report arena-sampling shows how many"


def pairing_of(table: VoteTable, options: RatingOptions) -> tuple[Pairing, CheckLine]:
    """Test whether pairs were chosen by the ratings so far; votes that say so are taken at their word."""
    declared = 0 if table.votes is None else int((table.votes["phase"] == _SCHEDULED).sum())
    return guarded(
        "pairing", lambda: _tested(table, options, declared), Pairing(adaptive=declared > 0, n_declared=declared)
    )


def _tested(table: VoteTable, options: RatingOptions, declared: int) -> tuple[Pairing, CheckLine]:
    order, by = _order(table)
    found = pairing_test(
        table.first[order], table.second[order], table.share[order], n_models=table.n_models, seed=options.seed
    )
    adaptive = declared > 0 or found.p_value <= LEVEL
    digits = 0 if options.scale == "elo" else 2
    near, later = (number(options.points * each, digits) for each in (found.distance, found.expected))
    finding = (
        f"models that met were {near} points of running rating apart, where pairs of later votes were {later} apart at the time "
        f"({p_words(found.p_value)}; {by})"
    )
    pairing = Pairing(
        adaptive=adaptive,
        n_declared=declared,
        n_votes=found.n_votes,
        distance=options.points * found.distance,
        expected=options.points * found.expected,
        p_value=found.p_value,
    )
    return pairing, check_line("pairing", "warning" if adaptive else "ok", finding, found.p_value)


def _order(table: VoteTable) -> tuple[IntArray, str]:
    """Return the places of votes in the order in which they were given, and what that is known by."""
    if table.votes is None:
        raise CannotAnswerError(MERGED)
    times = table.votes["timestamp"]
    if len(times) - times.null_count() < _TIMED * len(times):
        return np.arange(len(times)), "in the order of the file, since votes carry no times"
    known = np.flatnonzero(times.is_not_null().to_numpy())
    micros = times.dt.epoch("us").fill_null(pl.lit(0)).to_numpy()
    return known[np.argsort(micros[known], kind="stable")].astype(np.int64), "in the order of their times"


def with_pairing(parts: Sequence[RatedPart], pairing: Pairing) -> tuple[list[RatedPart], Pairing]:
    """Return parts with errors as wide as replays of the pairing make them, or without any and the reason."""
    found: list[RatedPart] = []
    for part in parts:
        again = part
        if pairing.adaptive and part.claims is not None:
            try:
                factor = _factor(part)
            except CannotAnswerError as error:
                reason = f"{_WHY}, which makes intervals too short, and the pairing cannot be replayed: {error}"
                again = rate(part.table, part.models, part.options, withheld=reason)
            else:
                again = rate(part.table, part.models, part.options, widening=factor)
                pairing = replace(pairing, factor=max(factor, pairing.factor or 1.0))
        found.append(again)
    return found, pairing


def _factor(part: RatedPart) -> float:
    """Return by what factor errors are too small, by votes replayed with equal strengths and with those estimated.

    Estimated strengths are drawn together by the noise in them. The factor that the largest of all contrasts needs is taken.
    """
    table, options, claims = part.table, part.options, part.claims
    if table.label_weight.any():
        raise CannotAnswerError("votes are corrected by labels")
    order, _ = _order(table)
    first, second, share = table.first[order], table.second[order], table.share[order]
    if claims is None or not np.isfinite(claims.ranks.critical):
        raise CannotAnswerError("no two models have a standard error")
    rule = pairing_rule((first, second, share), n_models=table.n_models, seed=options.seed)
    tastes = tastes_of(part.fit, table.rows)
    in_order = Tastes(codes=tuple(table.codes[way][order] for way in tastes.ways), sd=tastes.sd)
    strengths = part.fit.strengths
    noise = float(np.nansum(np.square(part.std_errors / options.points))) / max(float(strengths @ strengths), 1e-300)
    found = [1.0]
    for truth in (np.zeros(table.n_models), math.sqrt(max(0.0, 1.0 - noise)) * strengths):
        drawn = replayed(
            rule,
            tastes.sharper * truth,
            in_order,
            n_votes=order.size,
            tie_share=float(np.count_nonzero(share == 0.5)) / order.size,
            seed=options.seed,
        )
        error = claims.std_error / options.points
        found.append(widened(drawn - truth, error, claims.ranks.critical, level=options.conf_level))
    return max(found)


def pairing_notes(pairing: Pairing, parts: list[RatedPart]) -> tuple[Note, ...]:
    """Say what follows where pairs were chosen by the ratings so far."""
    if not pairing.adaptive:
        return ()
    declared = f"{pairing.n_declared:,} votes say so" if pairing.n_declared else ""
    shown = declared or ("" if pairing.p_value is None else p_words(pairing.p_value))
    why = f"{_WHY} ({shown})" if shown else _WHY
    withheld = next((part.reason for part in parts if part.reason is not None and part.reason.startswith(_WHY)), None)
    text = f"{why}; replayed, that makes intervals no shorter than they should be"
    if withheld is not None:
        text = why + withheld.removeprefix(_WHY)
    elif pairing.factor is None:
        text = f"{why}, which stretches ratings"
    elif pairing.factor > _WIDER:
        text = (
            f"{why}, which makes intervals too short; replays of it make them {number(pairing.factor, 2)} times wider"
        )
    return (Note(kind="selection", text=text[:1].upper() + text[1:], remedy=_REMEDY),)
