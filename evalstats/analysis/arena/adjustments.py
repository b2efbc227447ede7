"""What ratings hold equal (side, style), and the same votes under other choices (ties, both bad, weights)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evalstats.analysis.arena.result import Alternative
from evalstats.document.model import Note
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.likelihood import PairFit, Ties
from evalstats.stats.arena.votes import BOTH_BAD, TIE, VoteRows, merged
from evalstats.stats.checks import FloatArray

SIDE = "side"
STYLE = ("assistant_tokens", "header_count", "list_count", "bold_count")
_STYLE_WORDS = ("token", "length", "char", "word", "header", "list", "bold", "emoji")


@dataclass(frozen=True, slots=True, kw_only=True)
class Covariates:
    """Covariates of every kept vote.

    Attributes
    ----------
    values
        float64, shape (n_kept, n_covariates): relative differences (a - b)/(a + b) over their standard deviation; 1 (or -1
        where b was shown first) for "side".
    kept
        Boolean per vote given: those with every covariate; None where all are kept.
    mean, sd
        Of the relative difference over the kept votes; of a plain difference where a value is negative.
    """

    names: tuple[str, ...]
    values: FloatArray
    kept: pl.Series | None = None
    mean: tuple[float, ...] = ()
    sd: tuple[float, ...] = ()
    notes: tuple[Note, ...] = ()


def no_covariates(n: int) -> Covariates:
    """Return no covariates of `n` votes."""
    return Covariates(names=(), values=np.zeros((n, 0)))


def style_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return the pairs of columns that tell of style: length, headers, lists, bold.

    Examples
    --------
    >>> style_pairs(
    ...     pl.DataFrame({"header_count_a": [1.0, 0.0], "header_count_b": [2.0, 0.0], "context_tokens_a": [1, 1]})
    ... )
    ('header_count',)
    """
    pairs = [name for name in numeric_pairs(votes) if name in STYLE]
    return tuple(pairs or [name for name in numeric_pairs(votes) if _is_style(name)])


def numeric_pairs(votes: pl.DataFrame) -> tuple[str, ...]:
    """Return every name that has a numeric column `<name>_a` and `<name>_b` with different values somewhere."""
    pairs: list[str] = []
    for column in votes.columns:
        name = column.removesuffix("_a")
        other = f"{name}_b"
        if name == column or other not in votes.columns or name in {"model", "rank"}:
            continue
        if all(votes[side].dtype.is_numeric() or votes[side].dtype == pl.Boolean for side in (column, other)):
            pairs.append(name)
    return tuple(pairs)


def relative_differences(votes: pl.DataFrame, asked: Sequence[str] | None, *, side: bool) -> Covariates:
    """Return covariates for the votes that have them all.

    Raises
    ------
    InputError
        If a pair of columns is not there or not numeric, or does not differ in any vote.
    """
    known = numeric_pairs(votes)
    names = list(dict.fromkeys(name.removesuffix("_a").removesuffix("_b") for name in asked or ()))
    for name in names:
        if name not in known:
            have = ", ".join(known) or "none"
            message = (
                f"there are no numeric columns {name}_a and {name}_b in the votes; pairs of numbers there are: {have}"
            )
            raise InputError(message)
    sides = [f"{name}_{end}" for name in names for end in "ab"]
    kept = votes.select(pl.all_horizontal(pl.col(sides).is_not_null()))[:, 0] if sides else None
    missing = 0 if kept is None else votes.height - int(kept.sum())
    chosen = votes if not missing or kept is None else votes.filter(kept)
    for side_name in sides:
        if not chosen[side_name].cast(pl.Float64).is_finite().all():
            raise InputError(f"{side_name} holds numbers that are NaN or infinite; put null where it is not known")
    columns: list[FloatArray] = []
    means: list[float] = []
    spreads: list[float] = []
    for name in names:
        difference = _relative(chosen[f"{name}_a"], chosen[f"{name}_b"])
        spread = float(difference.std()) if difference.size else 0.0
        if spread <= 1e-12:
            raise InputError(
                f"{name}_a and {name}_b differ by the same in every vote, so nothing can be said of {name}"
            )
        columns.append(difference / spread)
        means.append(float(difference.mean()))
        spreads.append(spread)
    if side:
        columns.insert(0, _sides(chosen))
        means.insert(0, float(columns[0].mean()))
        spreads.insert(0, 1.0)
    lost = f"{plural(missing, 'vote')} without {' and '.join(names)} of both answers are left out"
    return Covariates(
        names=((SIDE, *names) if side else tuple(names)),
        values=np.stack(columns, axis=1) if columns else np.zeros((chosen.height, 0)),
        kept=kept if missing else None,
        mean=tuple(means),
        sd=tuple(spreads),
        notes=(Note(kind="left_out", text=lost),) if missing else (),
    )


def _relative(a: pl.Series, b: pl.Series) -> FloatArray:
    first, second = a.cast(pl.Float64).to_numpy(), b.cast(pl.Float64).to_numpy()
    if first.min(initial=0.0) < 0.0 or second.min(initial=0.0) < 0.0:
        return first - second  # a relative difference has no meaning where amounts may be negative
    total = first + second
    return np.divide(first - second, total, out=np.zeros_like(total), where=total > 0.0)


def _sides(votes: pl.DataFrame) -> FloatArray:
    shown = votes["order"] if "order" in votes.columns else pl.Series([None] * votes.height, dtype=pl.String)
    return np.where((shown == "b_first").fill_null(value=False).to_numpy(), -1.0, 1.0)


def _is_style(name: str) -> bool:
    return any(word in name.lower() for word in _STYLE_WORDS) and "context" not in name and "user" not in name


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
