"""Figures of an arena (ratings, wins, drift, categories, other choices), and its numbers in words."""

import math
from collections.abc import Sequence
from dataclasses import replace

from evalstats.analysis.arena.result import Alternative, ArenaRanking, PairContrast, RatingRow, turned
from evalstats.analysis.result import columns, level
from evalstats.document.model import Figure, Table
from evalstats.document.numbers import interval, interval_words, number
from evalstats.grammar import plural

MOST_MODELS = 60
MOST_IN_MATRIX = 20
MOST_MOVES = 12
_ENDS = {"without covariates": ("without", "held equal"), "with style": ("without", "with style")}
# Ratings on the chess scale are read in whole points; log-odds need two decimals even where errors are not known.
_LEAST_DIGITS = {"elo": 0, "log-odds": 2}
_MOST_DIGITS = 6


def ranks(result: ArenaRanking, table: Table) -> Figure:
    """Return every model's rating with its interval, the ranks left open, and the arena's own rank; at most 60 models."""
    shown = ordered(result)[:MOST_MODELS]
    rows: dict[str, list[object]] = {
        "model": [row.name for row in shown],
        "group": [*_headings(shown, result)],
        **columns(
            [replace(row, conf_low=None, conf_high=None) if row.estimate is None else row for row in shown],
            "estimate",
            "conf_low",
            "conf_high",
        ),
        "words": [_rating_words(row, result) for row in shown],
    }
    rest = len(result.rows) - len(shown)
    options = {
        "title": f"Rating ({unit_of(result)}), {level(result)} interval",
        "note": f"The other {plural(rest, 'model')}: in the table." if rest else "",
    }
    best = [row.name for row in result.rows if row.may_be_best]
    alt = f"Ratings of {plural(len(result.rows), 'model')} on {result.arena}"
    if not result.has_ranks:
        return Figure(
            id="ratings",
            plot="forest",
            rows=rows,
            options={**options, "reference": None},
            alt=f"{alt}; no rank can be given.",
            caption="Ratings, without ranks.",
            table=table,
        )
    rows |= {
        **columns(shown, "rank_low", "rank_high", "rank_low_marginal", "rank_high_marginal"),
        "rank": [row.rank_arena for row in shown],
        "best": [_stands_out(row, result) for row in shown],
    }
    return Figure(
        id="ratings",
        plot="ranks",
        rows=rows,
        options=options,
        alt=f"{alt} with intervals and the ranks left open; {len(best)} could be best.",
        caption=(
            "Ratings with intervals, and possible ranks: pale for all models jointly, dark for one alone; "
            "the dot is the rank that live arenas print."
        ),
        table=table,
    )


def wins(result: ArenaRanking, table: Table) -> Figure | None:
    """Return how often users would prefer the model of the row to that of the column; None where no pair is known.

    At most 20 models are drawn, the first of those of which some pair is known.
    """
    known = [pair for pair in result.pairs if pair.win_probability is not None]
    named = {name for pair in known for name in (pair.first, pair.second)}
    names = [row.name for row in result.rows if row.name in named][:MOST_IN_MATRIX]
    pairs = [pair for pair in [*known, *map(turned, known)] if pair.first in names and pair.second in names]
    if not pairs:
        return None
    pairs.sort(key=lambda pair: (names.index(pair.first), names.index(pair.second)))
    separated, tested = apart(compared(result)), compared(result)
    return Figure(
        id="wins",
        plot="heatmap",
        rows={
            "model_a": [pair.first for pair in pairs],
            "model_b": [pair.second for pair in pairs],
            "estimate": [pair.win_probability for pair in pairs],
            "words": [percent(pair.win_probability).rstrip("%") for pair in pairs],
            "settled": [pair.verdict in ("better", "worse") for pair in pairs],
            "tone": [{"better": "good", "worse": "bad"}.get(pair.verdict, "neutral") for pair in pairs],
        },
        options={"row": "model_a", "column": "model_b", "centre": 0.5, "reach": 0.4},
        alt=f"How often those who decide prefer one of {plural(len(names), 'model')} to each other; {len(separated)} of "
        f"{plural(len(tested), 'pair')} separated.",
        caption="Probability (%) that the row's model wins a decided vote; filled pairs are separated.",
        table=table,
    )


def drift(result: ArenaRanking, table: Table | None) -> Figure | None:
    """Return the ratings of every model by period; None where no model has two."""
    if result.drift is None:
        return None
    known = [row for row in result.drift.ratings if row.estimate is not None]
    counts = {row.model: sum(each.model == row.model for each in known) for row in known}
    rows = sorted((row for row in known if counts[row.model] > 1), key=lambda row: row.period)
    if not rows:
        return None
    flagged = {row.model: row.slope for row in result.drift.models if row.flagged}
    return Figure(
        id="drift",
        plot="timeline",
        rows={
            **columns(rows, "model", "period", "estimate", "conf_low", "conf_high"),
            "strong": [row.model in flagged for row in rows],
            "tone": [
                "neutral" if row.model not in flagged else "good" if flagged[row.model] > 0 else "bad" for row in rows
            ],
        },
        options={"title": f"{unit_of(result)}, by {result.drift.period}"},
        alt=f"Ratings of {plural(len({row.model for row in rows}), 'model')} by {result.drift.period}; shown to change: "
        f"{', '.join(flagged) or 'none'}.",
        caption="Ratings over time against the models that stay; blue models are shown to rise, vermillion ones to fall.",
        table=table,
    )


def choice(result: ArenaRanking, other: Alternative, table: Table) -> Figure | None:
    """Return each model's rating under one choice and under another; None where there is none.

    Of more than 12 models those that move most are drawn.
    """
    # Where the other choice takes away what the headline has, it ends at the headline.
    back = other.key == "without covariates"
    moves = [
        (row.name, value if back else row.estimate, row.estimate if back else value)
        for row, value in zip(result.rows, other.ratings, strict=True)
        if row.estimate is not None and value is not None
    ]
    longest = sorted(moves, key=lambda move: -abs(move[2] - move[1]))
    shown = [move for move in moves if move in longest[:MOST_MOVES]]
    if not shown:
        return None
    rest = len(moves) - len(shown)
    return Figure(
        id="choice",
        plot="dumbbell",
        rows={
            "model": [name for name, _, _ in shown],
            "start": [start for _, start, _ in shown],
            "estimate": [end for _, _, end in shown],
            "move": [_move(end - start, result) for _, start, end in shown],
        },
        options={
            "title": "Rating ({}): □ {}, ● {}".format(unit_of(result), *_ENDS[other.key]),
            "columns": {"move": "Move"},
            "note": f"The other {plural(rest, 'model')} move less." if rest else "",
        },
        alt=f"{other.title}: ratings of {plural(len(moves), 'model')} move by up to "
        f"{_move(longest[0][2] - longest[0][1], result)} ({longest[0][0]}).",
        caption=f"{other.title}: from the rating without to the rating with it.",
        table=table,
    )


# --- what is drawn ---


def ordered(result: ArenaRanking) -> list[RatingRow]:
    """Return parts with several models first, then models that are on no scale."""
    found = result.parts
    together = [row for part in found if len(part) > 1 for row in part]
    alone = [row for part in found if len(part) == 1 for row in part]
    return [*together, *alone]


def _stands_out(row: RatingRow, result: ArenaRanking) -> bool:
    """Whether a model is one of the few that may be the best of its part: where most may, nobody stands out."""
    ranked = [each for each in result.rows if each.component == row.component and each.rank_low is not None]
    best = sum(bool(each.may_be_best) for each in ranked)
    return bool(row.may_be_best) and 2 * best <= len(ranked)


def _rating_words(row: RatingRow, result: ArenaRanking) -> str:
    """Write a rating and its interval, or what of them is missing."""
    if row.estimate is None:
        return "no rating" if row.ends is None else interval_words(*row.ends, 1.0, digits_of(result))
    shown = rating(row.estimate, result)
    if row.name == result.anchor:
        return f"{shown}, fixed"
    if row.conf_low is None or row.conf_high is None:
        return f"{shown}, no interval"
    return f"{shown} {interval(row.conf_low, row.conf_high, 1.0, digits_of(result))}"


def _headings(rows: Sequence[RatingRow], result: ArenaRanking) -> list[str]:
    """Return the heading above each model where the votes leave several parts."""
    if whole(result):
        return [""] * len(rows)
    sizes = {part[0].component: len(part) for part in result.parts}
    alone = f"On no scale: {plural(sum(size == 1 for size in sizes.values()), 'model')}"
    together = {part: f"Part {part}: {plural(size, 'model')}" for part, size in sizes.items() if size > 1}
    return [together.get(row.component, alone) for row in rows]


def _move(change: float, result: ArenaRanking) -> str:
    # Digits of a move that no rating shows would only look precise.
    return "0" if abs(change) < 0.5 * 10.0 ** -digits_of(result) else points(change, result, unit=False)


def categories(result: ArenaRanking, table: Table) -> Figure | None:
    """Return how far each model departs from its overall rating in each category; at most 20 models, those that depart most."""
    found = result.categories
    known = [row for row in (found.rows if found else ()) if row.deviation is not None]
    if not known:
        return None
    farthest: dict[str, float] = {}
    for row in known:
        size = abs(row.deviation or 0.0) / (row.std_error or math.inf)
        farthest[row.model] = max(size, farthest.get(row.model, 0.0))
    kept = set(sorted(farthest, key=lambda name: -farthest[name])[:MOST_IN_MATRIX])
    order = {row.name: place for place, row in enumerate(result.rows)}
    rows = sorted((row for row in known if row.model in kept), key=lambda row: order[row.model])
    settled = [not (row.conf_low or 0.0) <= 0.0 <= (row.conf_high or 0.0) for row in rows]
    return Figure(
        id="categories",
        plot="heatmap",
        rows={**columns(rows, "model", "category"), "estimate": [row.deviation for row in rows], "settled": settled},
        options={"row": "model", "column": "category", "digits": digits_of(result), "sign": True},
        alt=f"How far {plural(len(kept), 'model')} depart from their overall rating by {found.by if found else ''}; "
        f"{sum(settled)} of {len(rows)} cells exclude 0.",
        caption="Departure from the model's overall rating; filled cells exclude 0.",
        table=table,
    )


# --- numbers in words ---


def digits_of(result: ArenaRanking) -> int:
    """Return how many decimals ratings get: those that show the first digit of a usual standard error."""
    least = _LEAST_DIGITS[result.scale]
    errors = sorted(row.std_error for row in result.rows if row.std_error)
    if not errors:
        return least
    return min(max(least, -math.floor(math.log10(errors[len(errors) // 2]))), _MOST_DIGITS)


def rating(value: float | None, result: ArenaRanking) -> str:
    """Write a rating."""
    return number(value, digits_of(result))


def points(value: float | None, result: ArenaRanking, *, unit: bool = True) -> str:
    """Write a difference of ratings with its sign."""
    shown = number(value, digits_of(result), sign=True)
    return f"{shown} {unit_of(result)}".rstrip() if unit and value is not None else shown


def unit_of(result: ArenaRanking) -> str:
    """Return the unit of a difference of ratings."""
    return result.unit or ("points" if result.scale == "elo" else "log-odds")


def rough(value: float) -> str:
    """Write a needed number of votes, rounded up to two digits since it is not known better.

    >>> rough(1234), rough(99), rough(7)
    ('1,300', '99', '7')
    """
    if value < 100:
        return f"{math.ceil(value):,}"
    step = 10 ** (math.floor(math.log10(value)) - 1)
    return f"{math.ceil(value / step) * step:,}"


def whole(result: ArenaRanking) -> bool:
    """Whether all models are rated on one scale."""
    return len(result.parts) <= 1


def compared(result: ArenaRanking) -> list[PairContrast]:
    """Return the pairs that were compared."""
    return [pair for pair in result.pairs if pair.verdict != "not compared"]


def apart(pairs: Sequence[PairContrast]) -> list[PairContrast]:
    """Return the pairs of which one is shown to be better."""
    return [pair for pair in pairs if pair.verdict in ("better", "worse")]


def percent(share: float | None) -> str:
    """Write a share in whole percent that is neither 0 nor 100 by rounding.

    >>> percent(0.642), percent(0.001), percent(0.999), percent(None)
    ('64%', '<1%', '>99%', '–')
    """
    if share is None:
        return "–"
    return "<1%" if share < 0.005 else ">99%" if share > 0.995 else f"{number(100 * share, 0)}%"
