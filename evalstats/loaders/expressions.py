"""Scores that two columns make: whether an answer is the one expected (`pred==gold`), a count of another (`passed/total`).

Such a score stands in a column of its own, called as it is written. A share is written as a cell that holds one (`3/5`), and its
second column says how many trials stand behind each row: those of the item, or, where no column names items, an item each.
Which of two scores is higher (`score_a>score_b`) says who won a vote.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec
import numpy as np
import polars as pl
from msgspec.structs import replace

from evalstats.errors import InputError
from evalstats.loaders.blocks import TableBlock
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.roles import ANSWERED, EXPECTED, FORECASTS, OUTCOMES, PREDICTED, RIGHTS, TOTALS
from evalstats.loaders.sampled_column import ID_CHARS, SampledColumn
from evalstats.loaders.values import as_count, as_number, as_text
from evalstats.schema.tables import coded

# Of two scores the higher one wins a vote.
MORE: Final = ">"
_EQUAL, _OF = "==", "/"
# Labels are so few at most; other answers are texts, of which a score may say how near they come.
_LABELS: Final = 12
# More items than this are no counts that somebody wrote down.
_MOST_ITEMS: Final = 1_000_000
# Rows from all over a file show most items once: so many that come again tell what is the same for all who were asked.
_AGAIN: Final = 20


class Expression(msgspec.Struct, frozen=True):
    """Two columns and the sign between them."""

    first: str
    sign: str
    second: str

    def value(self, first: object, second: object) -> str | None:
        """Return what the score's cell holds where the columns' cells hold these; None where one of them is empty.

        >>> equal, share = Expression("pred", "==", "gold"), Expression("passed", "/", "total")
        >>> Expression("score_a", ">", "score_b").value(0.2, "0.5")
        'model_b'
        >>> equal.value(" yes", "yes"), equal.value("1.0", "1"), equal.value("Yes", "no"), equal.value("", "no")
        ('1', '1', '0', None)
        >>> share.value(3, 5), share.value("3", None)
        ('3/5', None)
        """
        texts = [(as_text(cell) or "").strip() for cell in (first, second)]
        if not all(texts):
            return None
        if self.sign == _OF:
            return _OF.join(texts)
        one, other = map(as_number, texts)
        if self.sign == MORE:
            return None if one is None or other is None else "tie" if one == other else f"model_{'ab'[one < other]}"
        return str(int(texts[0] == texts[1] or (one is not None and one == other)))

    def cells(self, first: pl.Series, second: pl.Series) -> pl.Series:
        """Return the score's column from those of the two."""
        pairs = pl.DataFrame([first.alias("first"), second.alias("second")])
        places, codes = coded(pairs)
        return pl.Series([self.value(*pair) for pair in pairs[places].iter_rows()], dtype=pl.String).gather(codes)


def expression_in(source: str, columns: Collection[str], signs: Iterable[str] = (_EQUAL, _OF)) -> Expression | None:
    """Return the expression over columns that a source is; None for a column's own name, and where one is not there.

    >>> expression_in("a/b", ["a", "b"]), expression_in("a/b", ["a", "b", "a/b"])
    (Expression(first='a', sign='/', second='b'), None)
    """
    for sign in signs if source not in columns else ():
        first, _, second = (part.strip() for part in source.partition(sign))
        if first in columns and second in columns:
            return Expression(first, sign, second)
    return None


def may_compute(map_: ColumnMap) -> bool:
    """Whether a score of a map is written as an expression, or a column's name has such a sign in it."""
    return any(sign in source for source in map_.columns.get("score", ()) for sign in (_EQUAL, _OF))


def expressions(map_: ColumnMap, columns: Collection[str]) -> Mapping[str, Expression]:
    """Return the scores of a map that are expressions, by how they are written."""
    sources = [source for source in map_.columns.get("score", ()) if source not in columns]
    parts = [part.strip() for source in sources for part in source.split(",")]
    return {part: found for part in parts if (found := expression_in(part, columns)) is not None}


def with_expressions(
    columns: Sequence[str], records: Sequence[Mapping[str, object]], map_: ColumnMap
) -> tuple[Sequence[str], Sequence[Mapping[str, object]]]:
    """Add the scores of a map that are expressions to the first rows of a table."""
    if not (found := expressions(map_, columns)):
        return columns, records
    rows = [
        {**row, **{name: each.value(row.get(each.first), row.get(each.second)) for name, each in found.items()}}
        for row in records
    ]
    return [*columns, *found], rows


def made_of_two(columns: Sequence[SampledColumn]) -> dict[SampledColumn, tuple[SampledColumn, SampledColumn]]:
    """Return the scores that two columns make by their names: an answer beside the one expected, a count beside its total."""
    short = [column for column in columns if column.cells and column.chars <= ID_CHARS]
    known = [c for c in short if _is_answer(c, expected=True)]
    answers = [pair for pair in product(short, known) if _is_answer(pair[0]) or _has_labels_of(*pair)]
    # A row that is right or wrong itself holds no count.
    rights = [column for column in short if column.tokens & RIGHTS and not {*column.numbers} <= {0.0, 1.0}]
    counts = product(rights, (column for column in short if column.tokens & TOTALS and column not in rights))
    pairs = [(*pair, "==") for pair in answers if pair[0].levels & pair[1].levels and pair[0] is not pair[1]]
    pairs += [(*pair, "/") for pair in counts if all(map(_is_share, *(column.values for column in pair)))]
    found: dict[SampledColumn, tuple[SampledColumn, SampledColumn]] = {}
    for first, second, sign in pairs:
        made = Expression(first.name, sign, second.name)
        name = f"{first.name}{sign}{second.name}"
        rows = zip(first.values, second.values, strict=True)
        found[SampledColumn(name, [{name: made.value(*row)} for row in rows])] = first, second
    return found


def rival_of_scores(
    made: Mapping[SampledColumn, tuple[SampledColumn, SampledColumn]], columns: Iterable[SampledColumn]
) -> SampledColumn | None:
    """Return whether a label is the right one as a score, where a graded `score` stands beside it.

    Beside two columns with the same few labels, one given and one right, such a score may be how sure a classifier was.

    >>> rows = [{"pred": p, "truth": "a", "ok": p == "a", "score": s} for p, s in zip("abab", (0.9, 0.2, 0.7, 0.4))]
    >>> columns = {name: SampledColumn(name, rows) for name in rows[0]}
    >>> made = made_of_two([columns["pred"], columns["truth"]])
    >>> rival_of_scores(made, [columns["score"]]).name, rival_of_scores(made, [columns["ok"]])
    ('pred==truth', None)
    """
    labels = [m for m, (one, other) in made.items() if _EQUAL in m.name and len(one.levels | other.levels) <= _LABELS]
    graded = any(column.words == "score" and len(column.levels) > 2 for column in columns)
    return next(iter(labels), None) if graded else None


def forecast_among(columns: Sequence[SampledColumn]) -> tuple[SampledColumn, SampledColumn] | None:
    """Return a column of probabilities and that of what came of it, which is the same for all who forecast; None for none.

    >>> rows = [{"q": f"q{k // 2}", "forecast": 0.1 + k / 10, "outcome": "no" if k < 4 else "yes"} for k in range(8)]
    >>> [column.name for column in forecast_among([SampledColumn(name, rows) for name in rows[0]]) or ()]
    ['forecast', 'outcome']
    """
    called = [c for c in columns if c.tokens & (FORECASTS | OUTCOMES) and c.scored == 1]
    given = [c for c in called if c.tokens & FORECASTS and len(c.levels) > 2 and all(0 <= n <= 1 for n in c.numbers)]
    known = [c for c in called if c.tokens & OUTCOMES and len(c.levels) == 2 and c not in given]
    if not (given and known):
        return None
    asked = [c for c in columns if c.as_item and len(c.cells) - len(c.levels) >= min(len(c.levels), _AGAIN)]
    found = (
        (forecast, outcome)
        for forecast, outcome, item in product(given, known, asked)
        if len({*zip(item.values, outcome.values, strict=True)}) == len(item.levels)
        and len({*zip(item.values, forecast.values, strict=True)}) > len(item.levels)
    )
    return next(found, None)


def _is_answer(column: SampledColumn, *, expected: bool = False) -> bool:
    """Whether a column holds answers by its name, given or expected, and nothing that is said of them (`pred_sum`)."""
    given = ANSWERED | PREDICTED
    *_, last = words = column.words.split("_")
    words += [word.removesuffix("s") for word in words]  # a list of them is called `predictions`
    known = EXPECTED.intersection(words) and PREDICTED.isdisjoint(words) if expected else given.intersection(words)
    return bool(known) and not {last, last.removesuffix("s")}.isdisjoint(given | EXPECTED)


def _has_labels_of(given: SampledColumn, known: SampledColumn) -> bool:
    """Whether a column has the few labels of one that is called the right one, which are no scores."""
    labels = known.levels & given.levels
    few = 2 <= len(labels) == min(len(known.levels), len(given.levels)) and len(given.levels | known.levels) <= _LABELS
    return few and given is not known and not (given.scored or known.scored)


def _is_share(first: object, second: object) -> bool:
    part, whole = as_count(first), as_count(second)
    return part is not None and whole is not None and part <= whole > 0


def computed(
    map_: ColumnMap, columns: Collection[str], called: str
) -> tuple[ColumnMap, Callable[[Iterable[TableBlock]], Iterator[TableBlock]]]:
    """Return what adds the scores of a map that are expressions to the blocks of a table, and the map that the table has then.

    A share says how many trials stand behind its row. Of rows that are no items these are items, each right or wrong; `called`
    stands before their numbers.
    """
    found = expressions(map_, columns)
    shares = [name for name, each in found.items() if each.sign == _OF]
    known = {"trial", "n_trials"} & {*columns, *map_.columns} - {found[name].second for name in shares}
    alone = shares[0] if len(shares) == 1 and not known else ""
    by_item = bool(alone) and map_.makes("item")

    def add(blocks: Iterable[TableBlock]) -> Iterator[TableBlock]:
        room = _MOST_ITEMS
        for block in blocks:
            frame = block.frame
            for name, each in found.items():
                cells = each.cells(block.cells(each.first), block.cells(each.second))
                frame = frame.with_columns(cells.alias(name))
            if alone and not by_item:
                frame = frame.with_columns(block.cells(found[alone].second).alias("n_trials"))
            made = replace(block, frame=frame, texts=block.texts.union(found))
            made = _of_items(made, alone, called, room) if by_item else made
            room -= made.frame.height
            yield made

    return map_.overlaid(ColumnMap.from_pairs([("item", "item")] if by_item else [])), add


def _of_items(block: TableBlock, share: str, called: str, room: int) -> TableBlock:
    """Return a row for each of the trials that a block counts, `room` at most, with the score 1 for as many as it says."""
    pairs = [(cell or "").partition(_OF) for cell in block.frame[share]]
    counts = [(as_count(first), as_count(second)) for first, _, second in pairs]
    n_right, n_all = ([each[k] or 0 for each in counts] for k in (0, 1))
    for place, (first, second) in zip(block.places, counts, strict=True):
        if first is None or not second or first > second:
            raise InputError(
                f"{share} is no count of another at {place}; for a share of an item's trials name the item"
            )
    if sum(n_all) > room:
        raise InputError(f"{share} counts more than {_MOST_ITEMS:,} items; give a row for each")
    rows = np.repeat(np.arange(len(n_all)), n_all)
    number = np.concatenate([np.arange(n) for n in n_all])
    right = number < np.repeat(n_right, n_all)
    places = block.places.gather(rows)
    item = pl.select(pl.format("{}:{}.{}", pl.lit(called), places, pl.Series(number))).to_series()
    frame = block.frame[rows].with_columns(item.alias("item"), pl.Series(share, right).cast(pl.Int64).cast(pl.String))
    return replace(block, frame=frame, places=places)
