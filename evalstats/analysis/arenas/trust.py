"""Can the votes be trusted? Every check of who voted, how, when, and what hangs on few of them."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from evalstats.analysis.arenas.check_results import CheckLine, FewVotesFlip, TrustChecks, check_line, guarded
from evalstats.analysis.arenas.table import VoteTable
from evalstats.analysis.arenas.trusting_raters import influence_check, rater_check
from evalstats.analysis.arenas.trusting_votes import burst_check, duplicate_check, identity_check, side_check
from evalstats.analysis.arenas.voters import voters_of
from evalstats.document.numbers import number, plural
from evalstats.errors import InputError
from evalstats.stats.arena.elo import selection_bias
from evalstats.stats.arena.influence import smallest_flip
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.checks import FloatArray, check_level

ELO_POINTS = 400.0 / math.log(10.0)
_FEW = 10  # votes that should not decide who is first


def trust_checks(
    table: VoteTable,
    fit: PairFit,
    *,
    std_errors: FloatArray | None,
    conf_level: float = 0.95,
    seed: int = 0,
    points: float = ELO_POINTS,
) -> tuple[TrustChecks, tuple[CheckLine, ...]]:
    """Check raters, sides, duplicates, bursts, identity leaks, single raters, few votes and private testing.

    Parameters
    ----------
    table, fit
        Votes between models on one scale, and their ratings.
    std_errors
        float64, shape (n_models,), of the ratings, in points; NaN where there is none. None: no standard errors at all.
    conf_level
        Raters are flagged at a false discovery rate of 1 - conf_level. Each other test warns of honest votes in at most .5%
        (`TEST_LEVEL`), so that all of them together do so in at most 7.5%, with change over time.
    seed
        For what is drawn where there are very many raters.
    points
        Rating points of one log-unit (Elo: 400/ln 10), in which moves and gaps are given.

    Returns
    -------
    TrustChecks, and a line for each check
        What could not be checked has a reason in its place. A warning says where to look; it proves nobody a cheat, and
        silence proves nobody honest (`validation.arena_manipulators` measures what is found).
    """
    level = check_level(conf_level)
    voters = voters_of(table)
    checks: dict[str, Callable[[TrustChecks], tuple[TrustChecks, CheckLine]]] = {
        "sides": lambda found: side_check(found, table, level),
        "raters": lambda found: rater_check(found, table, fit, voters, conf_level=level, seed=seed),
        "duplicates": lambda found: duplicate_check(found, table),
        "bursts": lambda found: burst_check(found, table, fit, voters),
        "identity": lambda found: identity_check(found, table, fit),
        "one rater": lambda found: influence_check(found, table, fit, voters, points=points),
        "few votes": lambda found: flip_check(found, table, fit, points=points),
        "selection": lambda found: selection_check(found, std_errors),
    }
    found, lines = TrustChecks(), list[CheckLine]()
    for check, run in checks.items():
        found, line = guarded(check, partial(run, found), found)
        lines.append(line)
    return found, tuple(lines)


def flip_check(found: TrustChecks, table: VoteTable, fit: PairFit, *, points: float) -> tuple[TrustChecks, CheckLine]:
    """Look for few votes without which the second model would be first."""
    try:
        flip = smallest_flip(fit, table.rows)
    except InputError as problem:
        return found, check_line("few votes", "not run", str(problem))
    first, second = table.models[flip.first], table.models[flip.second]
    told = FewVotesFlip(
        first=first,
        second=second,
        n_votes=flip.n_votes,
        share=None if flip.n_votes is None else flip.n_votes / table.n_votes,
        gap=flip.gap * points,
        gap_after=None if flip.gap_after is None else flip.gap_after * points,
        confirmed=flip.confirmed,
        reason=flip.reason,
    )
    if told.n_votes is None or told.share is None:
        finding = f"{told.reason} between {first} and {second}"
        return replace(found, flip=told), check_line("few votes", "not run", finding)
    finding = (
        f"without {plural(told.n_votes, 'vote')} ({number(100 * told.share, 2)}% of all) {second} would be rated above "
        f"{first}: the smallest set found, confirmed by a new fit; a smaller one may exist"
    )
    # Not by their share: what turns a clear order of honest votes is a share that falls with the root of their number.
    status = "warning" if told.n_votes <= _FEW else "ok"
    return replace(found, flip=told), check_line("few votes", status, finding)


def selection_check(found: TrustChecks, std_errors: FloatArray | None) -> tuple[TrustChecks, CheckLine]:
    """Say what private testing of several variants would add by luck."""
    known = np.zeros(0) if std_errors is None else std_errors[np.isfinite(std_errors) & (std_errors > 0.0)]
    if not known.size:
        finding = "what the best of several variants gains by luck needs standard errors, and there are none"
        return found, check_line("selection", "not run", finding)
    gains = selection_bias(float(np.median(known)))
    digits = 0 if gains[0][1] >= 1.0 else 2
    told = ", ".join(f"{number(gain, digits)} of {n}" for n, gain in gains)
    finding = (
        "votes cannot show how many variants of a model were tried before one was published; by luck alone the best of several "
        f"equally strong ones looks better than it is, on average by this many points: {told}"
    )
    return replace(found, selection=gains), check_line("selection", "not run", finding)
