"""Columns of votes in a table that nobody declared: two sides and who won, by their names and by what their cells say."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, combinations, permutations
from typing import Final

from evalstats.loaders.arena_cells import labelled
from evalstats.loaders.roles import ANSWERED, ANSWERS, ASKED, JUDGES, ROLES, are_sides
from evalstats.loaders.sampled_column import ID_CHARS, MOSTLY, SampledColumn, is_score

# What who won and who lost are called.
_WON_LOST: Final = (
    ("winner", "loser"),
    ("won", "lost"),
    ("chosen", "rejected"),
    ("better", "worse"),
    ("preferred", "other"),
)
_SIDES: Final = frozenset({"model_a", "model_b"})
# A column that is not called like a winner says who won where either side did.
_EITHER_WINS: Final = frozenset({"a", "b"})
# So many columns of names are looked at three by three.
_FEW: Final = 8
# What may be answered is no side of a vote.
_OPTIONS: Final = frozenset({"choice", "choices", "option", "options"})


# Options of a column map that read votes, and whether nothing else may be meant.
_Voted = tuple[Sequence[str], bool]


def votes_in(columns: Sequence[SampledColumn], *, of_votes: bool) -> _Voted | None:
    """Return how a table of votes is read, by the names of its two sides and who won, or by what the cells say; None for none.

    It is sure where systems meet again and again, and each cell of a column that is called like it says who won. Where
    that is not sure, and no column has the usual name of a winner, only a question about votes takes one for it (`of_votes`),
    and is told what is lacking (`model_a=COLUMN`).

    >>> rows = [{"prompt": f"q{k}", "old_vs_new": ("old", "new", "tie")[k % 3]} for k in range(9)]
    >>> votes_in([SampledColumn(name, rows) for name in rows[0]], of_votes=True)
    (['model_a=@new', 'model_b=@old', 'winner=old_vs_new', 'item=prompt'], True)
    """
    by_words = {column.words: column for column in columns}
    told = next((c for name in ROLES["rater"].names if (c := by_words.get(name))), None)
    item = next((column for column in columns if column.is_complete and column.words in ASKED), None)
    beside = [f"{role}={column.source}" for role, column in (("rater", told), ("item", item)) if column is not None]
    pairs = [
        (c, by_words.get(c.words.replace(won, lost))) for won, lost in _WON_LOST for c in columns if won in c.tokens
    ]
    for won, lost in pairs:
        # Answers, one of which was preferred, are no systems.
        if lost is not None and lost is not won and won.levels & lost.levels and max(won.chars, lost.chars) < ID_CHARS:
            return [f"winner={won.source}", f"loser={lost.source}", *beside], _meet_often(won, lost)
    names = [
        c
        for c in columns
        if c.cells and c.scored < 1 and c.chars < ID_CHARS and _OPTIONS.isdisjoint(c.tokens)
        if (ANSWERS | JUDGES).isdisjoint(c.tokens) or (c.holds_models and JUDGES.isdisjoint(c.tokens))
    ]
    # What bears the names of the roles comes before what is like them.
    for pair in sorted(combinations(names, 2), key=lambda pair: frozenset(c.words for c in pair) != _SIDES):
        if not are_sides(*(column.words for column in pair)):
            continue
        ends = [column.words.rpartition("_")[2] for column in pair]
        scores = [[c for c in columns if c.is_measured and c.words.endswith(f"score_{end}")] for end in ends]
        others = [column for column in columns if column not in (*pair, *scores[0], *scores[1])]
        # Which answer is right is no vote.
        others = [column for column in others if {"correct", "gold", "expected", "truth"}.isdisjoint(column.tokens)]
        # Two answers to choose from differ from row to row, and which of them is right is no vote.
        systems = _meet_often(*pair)
        said = {column: _outcomes(column, pair) for column in others}
        meet = systems or bool(pair[0].levels & pair[1].levels)
        by_name = [column for column in others if column.named("winner")]
        called = [c for c in others if c in by_name or (meet and said[c] >= _EITHER_WINS)]
        # What the cells say goes before what the column is called: a `vote` may be a number.
        ranks = [(not said[c], -c.named("winner"), len(c.tokens)) for c in called]
        winner = called[ranks.index(min(ranks))] if called else None
        if winner is not None or all(scores):
            won = winner.source if winner is not None else f"{scores[0][0].source}>{scores[1][0].source}"
            options = [f"model_a={pair[0].source}", f"model_b={pair[1].source}", f"winner={won}", *beside]
            plainly = winner is not None and ANSWERS.isdisjoint(winner.tokens) and bool(said[winner])
            plainly = plainly and (of_votes or winner in by_name) and ranks.count(min(ranks)) == 1
            is_sure = systems and plainly and all(c.is_complete for c in pair)
            if of_votes or is_sure or winner is None or winner.named("winner") == 1:
                return options, is_sure
    # Of three columns of names one may say which of the others won, whatever they are called.
    few = [column for column in names if 4 * len(column.levels) <= len(column.values)][:_FEW]
    for three in permutations(few, 3) if of_votes else ():
        rows = [(a, b, won) for a, b, won in zip(*(c.values for c in three), strict=True) if won]
        rows = [row for row in rows if not labelled(row[2] or "", "", "").outcome]
        if {won == a for a, _, won in rows} == {True, False} and all(a != b and won in {a, b} for a, b, won in rows):
            roles = zip(("model_a", "model_b", "winner"), three, strict=True)
            return [*(f"{role}={column.source}" for role, column in roles), *beside], False
    # The only two names that a column of winners has are the sides that no column names.
    called = [column for column in names if column.named("winner") == 1 or "vs" in column.tokens]
    answered = _answered(columns)
    for winner in called if of_votes else ():
        won = sorted(level for level in winner.levels if not (is_score(level) or labelled(level, "", "").outcome))
        sides = won if len(won) == 2 else answered if {*won} <= {*answered} else []
        if sides:
            options = [f"model_a=@{sides[0]}", f"model_b=@{sides[1]}", f"winner={winner.source}", *beside]
            return options, winner.is_complete and sides == won
    called += [column for column in names if _outcomes(column, (column, column)) >= _EITHER_WINS]
    told = called[0].source if called else "COLUMN"
    sides = [f"{name}={by_words[name].source if {*by_words} >= _SIDES else 'COLUMN'}" for name in sorted(_SIDES)]
    return ([*sides, f"winner={told}", *beside], False) if of_votes else None


def _meet_often(first: SampledColumn, second: SampledColumn) -> bool:
    """Whether two columns name systems that meet again and again."""
    levels = first.levels | second.levels
    return 3 * len(levels) <= len(first.values) and not any(map(is_score, levels))


def _answered(columns: Sequence[SampledColumn]) -> list[str]:
    """Return the two words in which the names of the only two columns of answers differ; nothing where they are A and B."""
    answers = [c for c in columns if not ANSWERED.isdisjoint(c.tokens)]
    words = [{*re.findall(r"[^\W_]+", c.name)} for c in answers]
    apart = [one - other for one, other in permutations(words, 2)]
    are_named = [*map(len, apart)] == [1, 1] and not are_sides(*(c.words for c in answers))
    return [*chain.from_iterable(apart)] if are_named else []


def _outcomes(column: SampledColumn, sides: tuple[SampledColumn, SampledColumn]) -> set[str]:
    """Return who won by a column's cells: labels of sides, names of their columns, or what stands there; none if many differ."""
    called = {sides[0].name: "a", sides[1].name: "b"}
    rows = Counter(zip(column.values, sides[0].values, sides[1].values, strict=True))
    found = Counter[str | None]()
    for (won, a, b), n in rows.items():
        found[called.get(won or "") or labelled(won, a or "", b or "").outcome] += n * bool(won)
    unknown = found.pop(None, 0)
    return {outcome for outcome in found if outcome} if unknown <= (1 - MOSTLY) * found.total() else set()
