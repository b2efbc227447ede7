"""How the ratings move under other choices: ties, both-bad votes, style, sides, pairs that met often."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.arenas.results import Alternative
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import PairFit, Ties
from evalstats.stats.arena.votes import BOTH_BAD, TIE, VoteRows, merged
from evalstats.stats.checks import FloatArray

_TITLES = {
    "half": "Ties as half wins",
    "davidson": "Davidson's ties",
    "rao-kupper": "Rao and Kupper's ties",
    "without both bad": "Without both-bad votes",
    "without covariates": "Without covariates",
    "with style": "With style held equal",
    "with side": "With the side held equal",
    "equal pairs": "All pairs weigh alike",
}
_WHY = {
    "half": "a tie counts as half a win for either",
    "davidson": "a tie is an outcome of its own, likeliest between equals; its points are odds among votes that decide",
    "rao-kupper": "a tie is a difference too small to see; its points spread differently",
    "without both bad": "votes that called both answers bad are left out",
    "without covariates": "nothing but the models explains a vote",
    "with style": "length, headers, lists and bold are held equal: an adjustment, not a cause",
    "with side": "an advantage of one side is taken out",
    "equal pairs": "each pair is weighted to the same number of votes, whatever the arena's schedule",
}

_TIES: tuple[Ties, ...] = ("half", "davidson", "rao-kupper")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The headline: its fit and votes, the model names in order of their numbers, and what makes ratings of strengths."""

    fit: PairFit
    rows: VoteRows
    names: tuple[str, ...]
    centre: Callable[[FloatArray], FloatArray]

    def ratings(self, fit: PairFit) -> FloatArray:
        """Return ratings on the result's scale."""
        return self.centre(fit.strengths)


def alternatives_of(
    choice: Choice, *, styled: VoteRows | None, sided: VoteRows | None, graded: bool
) -> tuple[Alternative, ...]:
    """Refit under every other choice that the votes allow.

    Parameters
    ----------
    styled, sided
        The same votes with style, or the side, as covariates; None where there are none or they are in the headline.
    graded
        Whether votes hold graded preferences, which models of ties cannot read.
    """
    rows = merged(choice.rows, keep_clusters=False)
    tied = bool(np.any(rows.outcome >= TIE))
    others: list[Ties] = [
        ties for ties in _TIES if tied and ties != choice.fit.ties and not (graded and ties != "half")
    ]
    found = [_alternative(choice, ties, rows, ties) for ties in others]
    bad = rows.outcome == BOTH_BAD
    if bad.any() and not bad.all():
        found.append(_alternative(choice, "without both bad", rows.take(~bad), choice.fit.ties))
    if rows.n_covariates:
        plain = merged(_without_covariates(rows), keep_clusters=False)
        found.append(_alternative(choice, "without covariates", plain, choice.fit.ties))
    if styled is not None:
        found.append(_alternative(choice, "with style", merged(styled, keep_clusters=False), choice.fit.ties))
    if sided is not None:
        found.append(_alternative(choice, "with side", merged(sided, keep_clusters=False), choice.fit.ties))
    found.append(_alternative(choice, "equal pairs", equal_pairs(rows), choice.fit.ties))
    return tuple(found)


def equal_pairs(rows: VoteRows) -> VoteRows:
    """Weight votes so that every pair of models that met has the same total, the overall one kept.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> equal_pairs(vote_rows([0, 0, 0, 1], [1, 1, 1, 2], [0, 0, 1, 0])).weight.tolist()
    [1.3333333333333333, 0.6666666666666666, 2.0]
    """
    low, high = np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second)
    _, place = np.unique(low * rows.n_models + high, return_inverse=True)
    total = np.bincount(place, weights=rows.weight)
    return rows.reweighted(rows.weight.sum() / total.size / total[place])


def _without_covariates(rows: VoteRows) -> VoteRows:
    return replace(rows, covariates=np.zeros((rows.n_rows, 0)))


def _alternative(choice: Choice, key: str, rows: VoteRows, ties: Ties) -> Alternative:
    none = tuple(None for _ in choice.names)
    try:
        fit = fit_strengths(rows, ties=ties, prior=choice.fit.prior)
    except (CannotAnswerError, InputError) as error:
        return Alternative(key=key, title=_TITLES[key], why=_WHY[key], ratings=none, reason=str(error))
    here, there = choice.ratings(choice.fit), choice.ratings(fit)
    move = there - here
    moved = int(np.argmax(np.abs(move)))
    before, after = np.sign(here[:, None] - here), np.sign(there[:, None] - there)
    top = int(np.argmax(there))
    # Ties take other amounts of the scale in each model of them: order can be compared then, points cannot.
    comparable = fit.ties == choice.fit.ties
    return Alternative(
        key=key,
        title=_TITLES[key],
        why=_WHY[key],
        ratings=tuple(float(value) for value in there),
        largest_move=float(move[moved]) if comparable else None,
        moved=choice.names[moved] if comparable else None,
        n_swaps=int(np.count_nonzero(before * after < 0.0)) // 2,
        new_first=choice.names[top] if top != int(np.argmax(here)) else None,
        log_lik=fit.log_lik if ties != "half" else None,
        tie=fit.tie,
    )
