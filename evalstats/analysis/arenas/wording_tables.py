"""Tables of a ranking of votes: ratings with rank sets, each model against the next."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from evalstats.analysis.arena.result import ArenaRanking, PairContrast, RatingRow
from evalstats.analysis.arenas.wording_answer import rating_words
from evalstats.analysis.arenas.words import (
    apart,
    compared,
    digits_of,
    ends,
    level,
    parts,
    points,
    rating,
    rough,
    shared_word,
    some,
    unit_of,
    whole,
)
from evalstats.document.blocks import Table
from evalstats.document.numbers import interval, number, p_value, plural

# Lines of a long list: those beyond it are in the frames and in the JSON.
LINES = 20
_NAMED = 6


def table_of(
    columns: Mapping[str, Sequence[str]], *, caption: str, left: Sequence[str], wide: Sequence[str] = ()
) -> Table:
    """Return a table; numbers stand to the right, the columns named in `left` to the left."""
    names = tuple(columns)
    return Table(
        columns=names,
        rows=tuple(zip(*columns.values(), strict=True)),
        align="".join("l" if name in left else "r" for name in names),
        caption=caption,
        wide=tuple(name for name in wide if name in columns),
    )


def ratings_table(result: ArenaRanking) -> Table:
    """One line for each model: its rating, its rank set, and beside it the rank that live arenas print."""
    rows = result.rows
    columns: dict[str, list[str]] = {
        "Model": [row.name for row in rows],
        "Rating": [rating(row.estimate, result) for row in rows],
        f"{level(result)} interval": [ends(row.conf_low, row.conf_high, result) for row in rows],
    }
    if any(row.boot_low is not None or row.boot_high is not None for row in rows):
        columns["Bootstrap"] = [ends(row.boot_low, row.boot_high, result) for row in rows]
    if not whole(result):
        columns["Part"] = ["" if row.component is None else str(row.component) for row in rows]
    columns["Ranks"] = [row.ranks for row in rows]
    columns["Arena"] = ["–" if row.rank_arena is None else str(row.rank_arena) for row in rows]
    columns["Votes"] = [f"{row.n_votes:,}" for row in rows]
    columns["Alone"] = [row.ranks_marginal for row in rows]
    columns["Won"] = ["–" if row.win_share is None else f"{number(100 * row.win_share, 1)}%" for row in rows]
    columns["Tied"] = [f"{row.n_ties:,}" for row in rows]
    columns["Both bad"] = [f"{row.n_both_bad:,}" for row in rows]
    columns["Met"] = [f"{row.n_opponents:,}" for row in rows]
    columns["Online Elo"] = [number(row.online_elo, digits_of(result)) for row in rows]
    for name, kept in (
        ("Online Elo", any(row.online_elo is not None for row in rows)),
        ("Both bad", result.n_both_bad > 0),
        ("Arena", any(row.rank_arena is not None for row in rows)),
        ("Alone", any(row.rank_low_marginal is not None for row in rows)),
    ):
        if not kept:
            del columns[name]
    return table_of(
        columns,
        caption=f"Models: {rating_words(result)}. {_rank_words(result)}",
        left=("Model",),
        wide=("Alone", "Won", "Tied", "Both bad", "Met", "Online Elo"),
    )


def _rank_words(result: ArenaRanking) -> str:
    """Say what the two ranks are, and what a bootstrap says beside."""
    boot = any(row.boot_low is not None or row.boot_high is not None for row in result.rows)
    return f"{_ranks_told(result)}{'. Bootstrap: percentile interval over drawn clusters or votes' if boot else ''}"


def _ranks_told(result: ArenaRanking) -> str:
    if not any(row.rank_low for row in result.rows):
        return "There are no ranks; the order of the lines is none either"
    part = "" if whole(result) else ", each inside its part"
    alone = any(row.rank_low_marginal is not None for row in result.rows)
    each = "; alone, each may be narrower" if alone else ""
    words = f"Ranks: the places that the votes leave open ({level(result)}, all sets together{part}{each})"
    if any(row.rank_arena is not None for row in result.rows):
        words += ". Arena: the rank that live arenas print, 1 + the models whose whole interval lies higher"
    return words


def beside_ratings(result: ArenaRanking) -> list[str]:
    """Say what the lines alone would suggest wrongly: missing ratings and ranks, warnings of single models."""
    said: list[str] = []
    missing = [(row.reason, row.name) for row in result.rows if row.reason and row.reason != result.rank_reason]
    said.extend(f"{_whom(names, result, each=True)}: {reason}" for reason, names in _by_reason(missing))
    without = [(row.rank_reason, row.name) for row in result.rows if _own_rank_reason(row, result)]
    said.extend(f"No rank for {_whom(names, result, 'any model')}: {reason}" for reason, names in _by_reason(without))
    own = [(text, row.name) for row in result.rows for text in row.warnings]
    said.extend(f"{_whom(names, result, each=True)}: {text}" for text, names in _by_reason(own))
    if any(row.rank_arena is not None for row in result.rows) and any(row.rank_low for row in result.rows):
        outside = [row for row in result.rows if _claims_more(row)]
        if outside:
            said.append(
                f"The arena's rank is one number; for {plural(len(outside), 'model')} of {len(result.rows)} the votes leave more "
                "places open"
            )
    if whole(result):
        said.extend(_top_lines(result))
    return said


def _own_rank_reason(row: RatingRow, result: ArenaRanking) -> bool:
    """Whether there is a reason for no rank that is not said elsewhere."""
    return bool(row.rank_reason) and row.rank_reason not in (row.reason, result.rank_reason)


def _claims_more(row: RatingRow) -> bool:
    return row.rank_arena is not None and row.rank_low != row.rank_high and row.rank_low is not None


def _top_lines(result: ArenaRanking) -> list[str]:
    """Say who may be among the k best: of many by their place in the table, where they are its first lines."""
    said: list[str] = []
    with_sets = [row for row in result.rows if row.top]
    for k in sorted({k for row in with_sets for k, _ in row.top if k > 1}):
        inside = [row.name for row in with_sets if dict(row.top).get(k)]
        if len(inside) <= _NAMED:
            names = some(inside, _NAMED)
        elif inside == [row.name for row in result.rows[: len(inside)]]:
            names = f"the first {len(inside)} lines, down to {inside[-1]}"
        else:
            names = some(inside)
        if k < len(with_sets) and len(inside) < len(with_sets):
            said.append(f"May be among the {k} best: {names}")
    return said


def _whom(names: Sequence[str], result: ArenaRanking, everybody: str = "All models", *, each: bool = False) -> str:
    """Name models, or all of them; with `each` what follows is said of one ("its rating")."""
    if len(names) == len(result.rows) and len(names) > 1:
        return everybody
    return f"{'Each of ' if each and len(names) > 1 else ''}{some(names)}"


def _by_reason(found: Sequence[tuple[str | None, str]]) -> list[tuple[str, list[str]]]:
    grouped: dict[str, list[str]] = {}
    for reason, name in found:
        grouped.setdefault(str(reason).rstrip("."), []).append(name)
    return list(grouped.items())


# --- pairs ---


def neighbours_table(result: ArenaRanking) -> Table | None:
    """Each model against the next line of its part: who wins how often, whether that is certain, what it would take."""
    found = neighbours(result)
    if not any(pair.verdict != "not compared" for _, _, pair in found):
        return None
    shown = found[:LINES]
    pairs = [pair for _, _, pair in shown]
    columns = {
        "Model, over the next line": [first for first, _, _ in shown],
        "Ahead by": [points(pair.estimate, result, unit=False) for pair in pairs],
        "Wins": [percent(pair.win_probability) for pair in pairs],
        "Interval": [interval(pair.win_low, pair.win_high, 100, 0) for pair in pairs],
        "Shown": [_shown(pair) for pair in pairs],
        "More votes": [more_votes(pair) for pair in pairs],
        "p (adjusted)": [p_value(pair.p_adjusted) for pair in pairs],
        "Over": [second for _, second, _ in shown],
        "Met": [f"{pair.n_votes:,}" for pair in pairs],
        "Stronger": [percent(pair.order_probability) for pair in pairs],
    }
    for name, values in (("Stronger", columns["Stronger"]), ("Interval", columns["Interval"])):
        if all(value in ("–", "none") for value in values):
            del columns[name]
    more = f"; the first {len(shown)} of {len(found)}, all are in pairs_frame()" if len(shown) < len(found) else ""
    family = len(compared(result))
    return table_of(
        columns,
        caption=(
            f"Each model against the next line of the table: the lead in {unit_of(result)}, its share of the votes that decide "
            f"(%, {level(result)} interval of this pair alone), whether that is shown among all {plural(family, 'pair')}, and "
            f"how many more votes between the two{own_clusters(result)} would show it with 80% probability if the lead is as "
            f"estimated{more}"
        ),
        left=("Model, over the next line", "Shown", "Over"),
        wide=("p (adjusted)", "Over", "Met", "Stronger"),
    )


def neighbours(result: ArenaRanking) -> list[tuple[str, str, PairContrast]]:
    """Return each model, the next line of its part, and their contrast."""
    of = {(pair.first, pair.second): pair for pair in result.pairs}
    found: list[tuple[str, str, PairContrast]] = []
    for rows in parts(result):
        for one, two in pairwise(rows):
            pair = of.get((one.name, two.name))
            if pair is not None:
                found.append((one.name, two.name, pair))
    return found


def pair_lines(result: ArenaRanking) -> list[str]:
    """Say which pair is the nearest to being told apart, and which that is told apart is the least certain."""
    shown = apart(compared(result))
    judged = [pair for pair in shown if pair.p_adjusted is not None]
    open_ = [pair for pair in result.pairs if pair.verdict == "not separated" and pair.p_adjusted is not None]
    said: list[str] = []
    beside = {(pair.first, pair.second) for _, _, pair in neighbours(result)[:LINES]}
    if 0 < len(shown) <= _NAMED and any((pair.first, pair.second) not in beside for pair in shown):
        said.append(f"The separated pairs: {'; '.join(_ordered(pair, result) for pair in shown)}")
    if judged:
        weakest = max(judged, key=lambda pair: pair.p_adjusted or 0.0)
        said.append(f"The least certain of the separated pairs: {_told(weakest, result)}")
    if open_:
        nearest = min(open_, key=lambda pair: pair.p_adjusted or 1.0)
        noun = "vote" if nearest.more_votes == 1 else "votes"
        needed = f"{more_votes(nearest)} more {noun} between the two{own_clusters(result)}"
        votes = f"; {needed} would do with 80% probability" if nearest.more_votes else ""
        said.append(f"The nearest to being separated: {_told(nearest, result)}{votes}")
    without = [
        pair for _, _, pair in neighbours(result)[:LINES] if pair.verdict == "not separated" and not pair.more_votes
    ]
    reasons = list(dict.fromkeys(pair.more_votes_reason for pair in without if pair.more_votes_reason))
    if reasons:
        said.append(f"A dash under More votes: {'; '.join(reasons)}")
    return said


def own_clusters(result: ArenaRanking) -> str:
    """Say that further votes have to be as unlike each other as those there are."""
    names = " and ".join(shared_word(each.name) for each in result.clusters)
    return f" (each with a {names} of its own)" if names else ""


def _told(pair: PairContrast, result: ArenaRanking) -> str:
    return f"{_ordered(pair, result)}, adjusted p {p_value(pair.p_adjusted)}"


def _ordered(pair: PairContrast, result: ArenaRanking) -> str:
    ahead, behind = (pair.first, pair.second) if (pair.estimate or 0.0) >= 0 else (pair.second, pair.first)
    return f"{ahead} over {behind} by {points(abs(pair.estimate or 0.0), result).lstrip('+')}"


def more_votes(pair: PairContrast) -> str:
    """Write the further votes that would separate a pair: none where it is separated, a dash where it cannot be said."""
    if pair.verdict in ("better", "worse"):
        return "0"
    return "–" if pair.more_votes is None else rough(pair.more_votes)


def percent(share: float | None) -> str:
    """Write a share in whole percent that is neither 0 nor 100 by rounding."""
    if share is None:
        return "–"
    shown = f"{number(100 * share, 0)}%"
    return "<1%" if shown == "0%" or share < 0.005 else ">99%" if share > 0.995 else shown


def _shown(pair: PairContrast) -> str:
    return {"better": "yes", "worse": "yes, behind", "not separated": "no"}.get(pair.verdict, "–")
