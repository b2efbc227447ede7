"""Whether votes prefer a side whatever the models: the intercept of the ratings, estimated once and told once."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import expit

from evalstats.analysis.arena.adjustments import SIDE, Covariates, sides_of
from evalstats.analysis.arena.ratings import Part, covariate_rows, rate
from evalstats.analysis.arena.result import VoteCovariate
from evalstats.analysis.arena.votes import VoteTable
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows
from evalstats.stats.checks import FloatArray

_FEWEST_DECIDED = 6  # 2 x .5^6 is the first p below .05
_ONE_ORDER = "every pair of models stands in one order only, so that side and model cannot be told apart"


def side_effect(part: Part) -> VoteCovariate | str:
    """Return by how much side a (or the answer shown first, where that is known) is preferred, or why that cannot be said.

    It is the intercept of the ratings: log-odds of that side between equal models, with the errors of the ratings. Models
    that stand on one side more often do not bias it. Where every decided vote goes to one side, it has no finite estimate
    and the test is exact: each cluster, of the way with the fewest, went to that side with probability 1/2.
    """
    table = part.table
    decided = table.rows.take((table.rows.outcome == A_WINS) | (table.rows.outcome == B_WINS))
    sides = _sides(table)
    held = SIDE in table.covariate_names
    if not held and decided.n_votes < _FEWEST_DECIDED:
        n = plural(decided.n_votes, "decided vote")
        return f"{n}: fewer than {_FEWEST_DECIDED} could show no preference, whatever they were"
    if not held and _one_order(table, sides):
        return _ONE_ORDER
    mean = 1.0 if sides is None else float(sides.mean())
    about = Covariates(names=(SIDE,), values=np.zeros((0, 1)), mean=(mean,), sd=(1.0,))
    if held:
        return covariate_rows(part, about, held=True)[0]
    try:
        refit = rate(_with_side(table, sides), part.models, part.options, bare=True)
    except (CannotAnswerError, InputError) as error:
        return _all_one_side(part, decided, sides, mean) or str(error)
    return covariate_rows(refit, about, held=False)[0]


def _sides(table: VoteTable) -> FloatArray | None:
    """Return 1 where side a was shown first, else -1; None of merged votes, of which only the sides are known."""
    return None if table.votes is None else sides_of(table.votes)


def _one_order(table: VoteTable, sides: FloatArray | None) -> bool:
    """Tell whether no two models were ever shown in both orders (a baseline that is always on side a)."""
    n, first, second = table.n_models, table.rows.first, table.rows.second
    if sides is not None:
        first, second = table.first, table.second
        first, second = np.where(sides > 0.0, first, second), np.where(sides > 0.0, second, first)
    there = np.unique(first * n + second)
    return not np.isin(there, np.unique(second * n + first)).any()


def _with_side(table: VoteTable, sides: FloatArray | None) -> VoteTable:
    """Return the votes with the side as their first covariate."""
    names = (SIDE, *table.covariate_names)
    if sides is None:

        def sided(rows: VoteRows) -> VoteRows:
            return replace(rows, covariates=np.column_stack([np.ones(rows.n_rows), rows.covariates]))

        def chunks() -> Iterator[VoteRows]:
            return map(sided, () if table.chunks is None else table.chunks())

        merged = None if table.chunks is None else chunks
        return replace(table, rows=sided(table.rows), chunks=merged, covariate_names=names)
    covariates = np.column_stack([sides, table.covariates])
    rows = table.rows_at(np.ones(sides.size, dtype=np.bool_), covariates=covariates)
    return replace(table, rows=rows, covariates=covariates, covariate_names=names)


def _all_one_side(part: Part, decided: VoteRows, sides: FloatArray | None, mean: float) -> VoteCovariate | None:
    """Return the exact test of decided votes that all went to one side; None where they did not."""
    table = part.table
    if sides is None:
        to_first, ways = (decided.outcome == A_WINS) * 1.0, decided.clusters
    else:
        at = (table.outcome == A_WINS) | (table.outcome == B_WINS)
        to_first = np.where(table.outcome[at] == A_WINS, sides[at], -sides[at]) > 0.0
        ways = tuple(codes[at] for codes in table.codes)
    share = float(to_first.mean())
    if share not in {0.0, 1.0}:
        return None
    fewest = min((np.unique(codes).size for codes in ways), default=decided.n_votes)
    return VoteCovariate(
        name=SIDE,
        conf_level=part.options.conf_level,
        estimate=float("inf") if share == 1.0 else float("-inf"),
        held=False,
        mean=mean,
        p_value=min(1.0, 2.0 * 0.5**fewest),
        reason=f"all {decided.n_votes:,} decided votes went to it, so that it has no finite estimate",
    )


def side_words(side: VoteCovariate) -> str:
    """Name the side that is preferred: the one shown first or second, where the votes say which."""
    ahead = side.estimate > 0.0
    # Without a word on the order every vote counts side a as first.
    if side.mean is None or side.mean == 1.0:
        return "side a" if ahead else "side b"
    return f"the answer shown {'first' if ahead else 'second'}"


def side_share(side: VoteCovariate) -> tuple[float, float | None, float | None]:
    """Return how often the preferred side wins between equal models, with its interval.

    >>> side = VoteCovariate(name="side", estimate=-1.0, conf_low=-2.0, conf_high=0.0)
    >>> [round(share, 3) for share in side_share(side)]
    [0.731, 0.5, 0.881]
    """
    way = 1.0 if side.estimate >= 0.0 else -1.0
    ends = sorted(way * end for end in (side.conf_low, side.conf_high) if end is not None)
    low, high = (float(expit(end)) for end in ends) if len(ends) == 2 else (None, None)
    return float(expit(way * side.estimate)), low, high
