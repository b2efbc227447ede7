"""Columns of a table nobody declared, bound to roles: item, score, model, and what tells repeated rows apart; or votes.

Every column gets a weight for every role, by its name (`roles.py`), by what it holds, and by the names that the question
itself uses. The roles are given out together, so that the key they make fits the rows: systems share items, and nothing
stands twice without a column that says why. The best assignment is used where nothing rivals it; otherwise the best ones are
shown as the maps that would use them.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, product, takewhile
from math import ceil, floor
from typing import Final, TypeVar

import msgspec
from msgspec.structs import replace

from evalstats.errors import Option, together
from evalstats.loaders.column_map import OF_LEVELS, ORDER, ROW, ColumnMap, column_named, side_in
from evalstats.loaders.expressions import forecast_among, made_of_two, rival_of_scores, with_expressions
from evalstats.loaders.published_columns import (
    PublishedColumns,
    are_averages,
    are_items,
    items_across,
    parted,
    published_in,
)
from evalstats.loaders.roles import (
    ANSWERED,
    ASKED,
    CALLED,
    ENDING,
    EXPECTED,
    JUDGES,
    RATES,
    REASONS,
    RIGHTS,
    ROLES,
    SCORERS,
    SIDES,
    SURE,
    crossed_names,
    has_role_by_name,
    is_called_score,
    names_a_judge,
    names_a_model,
    plain,
    words_of,
)
from evalstats.loaders.sampled_column import (
    ASKED_FOR,
    COUNTED,
    GUESS,
    MOST_OF_ONE,
    MOSTLY,
    NAME_CHARS,
    NOTHING_ASKED,
    AskedNames,
    Record,
    SampledColumn,
    is_rated,
    is_score,
    repeats_told_apart,
)
from evalstats.loaders.values import ABSENT, NO_VALUE
from evalstats.loaders.voted_columns import votes_in
from evalstats.schema.columns import CONVERSATIONS, KEYS, PERSONS, is_answer, is_partition_by_name

# Of the rows that are looked at the first ones stand together in the file.
LOOKED_AT: Final = 300
TOGETHER: Final = 200
_MOST: Final = 6
# A role of less weight than this is asked about, and so is an assignment that another comes this near to.
_ENOUGH, _MARGIN, _ARM = 0.65, 0.15, 0.55
_VERBS: Final = frozenset({"has", "is", "was", "contains", "includes", "uses", "needs", "requires"})
_SOMEBODY: Final = frozenset({*PERSONS, *CONVERSATIONS, "anon", "chat"})
# These questions need two systems at least.
_COMPARE: Final = frozenset({"compare", "leaderboard"})
_Row = TypeVar("_Row")
_CORE: Final = frozenset({"item", "score", "model"})
_KEY: Final = frozenset(KEYS["outcomes"])
# How surely a column of criteria names metrics by its name.
_CRITERION: Final = 0.7
# What speaks against an item that no two systems share, and the like.
_APART: Final = 0.5
# Of a wider table those columns are looked at that are called like something, and the first of the others.
_MOST_COLUMNS: Final = 3000
_SCALE: Final = re.compile(r"(-?\d+)\s*(?:-|–|to|\.\.)\s*(\d+)")
_POINT: Final = re.compile(r"(?<=\d)\.(?=\d)")
_PARTED: Final = re.compile(r"[^_ /.()\[\]]*$")


def as_options(pairs: Iterable[str]) -> str:
    """Write a map as it is given.

    >>> print(as_options(["item=question id", "score=ok"]))
    item='question id', score='ok'
    """
    return together(*(Option("map", column, of=name) for name, _, column in (pair.partition("=") for pair in pairs)))


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """Options of a column map that fit a table, and how well they do.

    `is_sure` says that each role is clear by its name, too, and of the best that nothing rivals it; `published` are the columns
    of published scores, of whose rows none is an item. `n_systems` is how many systems are seen. Two that read the same rows
    alike have the same in `reads`.
    """

    options: tuple[str, ...]
    weight: float = 0.0
    is_sure: bool = False
    published: PublishedColumns | None = None
    n_systems: int = 1
    reads: tuple[object, ...] = ()

    @property
    def lacks(self) -> list[str]:
        """The roles that no column was found for; what lacks none may be offered."""
        return [option.removesuffix("=COLUMN") for option in self.options if option.endswith("=COLUMN")]


NOTHING_FITS: Final = Assignment(options=("item=COLUMN", "score=COLUMN"))


def thinned(rows: Sequence[_Row]) -> list[_Row]:
    """Return the first rows, and so many from all over the rest that they are as many as are looked at.

    >>> found = thinned(range(1000))
    >>> len(found), found[199:203], found[-1]
    (300, [199, 200, 208, 216], 992)
    """
    n_more, n_rest = LOOKED_AT - TOGETHER, len(rows) - TOGETHER
    return (
        [*rows[:TOGETHER], *(rows[TOGETHER + k * n_rest // n_more] for k in range(n_more))]
        if n_rest > n_more
        else [*rows]
    )


def assigned(
    columns: Sequence[str],
    records: Sequence[Record],
    asked: AskedNames = NOTHING_ASKED,
    given: ColumnMap | None = None,
    together: int = TOGETHER,
) -> list[Assignment]:
    """Give the roles out to the columns of a table, by its names and some of its rows; the best assignment comes first.

    What `given` says of columns is kept to. The first rows, `together`, stand together in the table.

    >>> rows = [{"qid": "q1", "llm": llm, "ok": True} for llm in ("gpt-4o", "claude")]
    >>> best = assigned(["qid", "llm", "ok"], rows)[0]
    >>> best.options, best.weight, best.is_sure
    (('item=qid', 'score=ok', 'model=llm'), 3.0, True)
    >>> sides = AskedNames(sides=frozenset({"old", "new"}))
    >>> assigned(["qid", "old", "new"], [{"qid": "q1", "old": 1, "new": 0}], sides)[0].options
    ('item=qid', 'models=old,new')
    >>> assigned(["left", "right", "choice"], [{"left": "x", "right": "y", "choice": "left"}])[0].options
    ('model_a=left', 'model_b=right', 'winner=choice')
    """
    columns, records = with_expressions(columns, thinned(records), given or ColumnMap())
    across = items_across(columns, records)
    if across is not None and given in (None, ColumnMap(), ColumnMap.from_options(across[:1])):
        return [Assignment(options=across, is_sure=are_items(across[1]), n_systems=len(records))]
    columns = [*dict.fromkeys(columns)]
    cut = len(columns) > _MOST_COLUMNS
    if cut:  # those with names of roles come first
        mapped = [source for found in (given or ColumnMap()).columns.values() for source in found]
        names = {*asked.sides, *asked.metrics, *mapped}
        likely = [name for name in columns if name in names or has_role_by_name(words_of(name))]
        kept = {*[*likely, *columns][:_MOST_COLUMNS]}
        columns = [name for name in columns if name in kept]
    found = [
        SampledColumn(name, records)
        for name in columns
        if name and {dict, list}.isdisjoint(type(row.get(name)) for row in records)
    ]
    if not found:
        return [NOTHING_FITS]
    if given is None and (votes := votes_in(found, of_votes=asked.question == "arena")):
        return [Assignment(options=tuple(votes[0]), is_sure=votes[1])]
    board = published_in(*parted(columns, records)) if "item" not in (given or ColumnMap()).columns else ""
    fits = _Table(found, asked, given or ColumnMap(), together).fits()
    # Nothing being an item and numbers in each row count as an item and a score by name.
    if not isinstance(board, str):
        options = (f"model={board.model}", *(f"{name}={c}" for name, c in board.labels.items() if c != name))
        is_sure, reads = board.weight >= _ENOUGH, ("published",)
        fits.append(Assignment(options=options, weight=board.weight + 2, is_sure=is_sure, published=board, reads=reads))
    if "item" not in (given or ColumnMap()).columns and are_averages(records):
        fits = [fit for fit in fits if fit.published] or [replace(fit, is_sure=False) for fit in fits]
    if not fits:
        return [NOTHING_FITS]
    best, *others = sorted(fits, key=lambda fit: -fit.weight)
    rivals = [fit for fit in others if fit.reads != best.reads]
    alone = not rivals or best.weight - rivals[0].weight >= _MARGIN
    # A task may be an item or a part of a benchmark: rows of it that are more than right or wrong may be published scores.
    roles = {role: {cells, *cells.split(",")} for role, _, cells in (each.partition("=") for each in best.options)}
    is_part = any(c.source in roles.get("item", ()) and c.named("task") for c in found)
    graded = any(c.source in roles.get("score", ()) and len({*c.numbers}) > 2 for c in found)
    alone &= isinstance(board, str) or not (is_part and graded)
    # Of columns side by side that were left out, a system or a repetition would be lost.
    is_sure = alone and best.is_sure and not (cut and {*OF_LEVELS} & {*roles})
    # Whether rows that nothing tells apart are repeats is asked when they are read.
    sure = tuple(option for option in best.options if not is_sure or option != f"trial={ORDER}")
    most = max((fit.weight for fit in fits if not fit.published), default=0.0)
    near = {fit.options: replace(fit, is_sure=False) for fit in reversed(rivals) if fit.weight > most - 1}
    return [replace(best, options=sure, is_sure=is_sure), *reversed(near.values())]


Weighed = tuple[float, SampledColumn | None]
# Columns of a model each: how likely, which, as a map writes them, whether that is sure, and which others would make it doubtful.
_Models = tuple[float, Sequence[SampledColumn], str, bool, Sequence[SampledColumn]]


class _Table:
    """The columns that are looked at, with what may be said of each."""

    def __init__(self, columns: Sequence[SampledColumn], asked: AskedNames, given: ColumnMap, together: int) -> None:
        self.asked, self.given, self.together = asked, given, together
        self.n_rows = len(columns[0].values)
        self.compares = asked.question in _COMPARE
        taken = {column_named(each) for name, found in given.columns.items() for each in found if name not in _CORE}
        self.columns = [column for column in columns if column.name not in taken]
        # Neither how probable something was held to be nor what came of it is a score.
        apart = forecast_among(self.columns) or ()
        self.free = [column for column in self.columns if column.name not in asked.factors and column not in apart]
        self.like_items = {column for column in self.free if column.named("item") or column.as_item}
        self.metric = self._metric()
        named = [c for c in self.columns if c.is_complete and not c.scored and c.chars < NAME_CHARS]
        ends = ("name", "model", "id", *JUDGES)
        self.judges = [c for c in named if c.named("judge") or (JUDGES & c.tokens and c.words.endswith(ends))]
        self.judge = next((c for c in self.judges if len(c.levels) > 1), None)
        self.persons = [c for c in self.columns if c.is_complete and _SOMEBODY & c.tokens]
        self.made = made_of_two(self.free)
        # What alone stands beside a reason was judged, whatever it is called: `is_closed_value`, `is_closed_rationale`.
        ends = {c: c.words.rpartition("_")[::2] for c in self.columns}
        stems = {stem for stem, end in ends.values() if stem and end in REASONS}
        beside = Counter(stem for stem, end in ends.values() if end not in REASONS)
        self.judged = {
            c
            for c in self.free
            if c.scored == 1 and ends[c][0] in stems and beside[ends[c][0]] == 1 and not (c.numbers and c.is_barred)
        }
        self.crossed = crossed_names((column.name for column in self.free), asked.sides)
        self.pairs = {pattern.replace("*", side) for side, pattern in product(*self.crossed)}

    def _metric(self) -> SampledColumn | None:
        """Return the column that names metrics: called so, with the same few levels again and again, and beside scores."""
        if "metric" in {*self.given.columns, *self.given.constants}:
            return None
        for column in self.columns:
            weight = column.named("metric")
            few = len(column.levels) <= max(2, self.n_rows // 3) and column.is_complete and not column.scored
            plainly = weight >= SURE and not (JUDGES & column.tokens and column.holds_models)
            # What is called name names metrics where something else names the items.
            by_chance = column.words == "name" and self.n_rows > 2
            # Criteria are metrics where each item has several.
            items = [c for c in self.like_items if c is not column]
            criteria = weight == _CRITERION and any(_vary_in(column, [c]) for c in items)
            if few and (plainly or criteria or (by_chance and any(c.as_item >= 0.85 for c in items))):
                return column
        return None

    def fits(self) -> list[Assignment]:
        """Return every assignment of the likeliest columns."""
        items = self._items()
        scores = [*((weight, columns, "score") for weight, columns in self._scores()), *self._levels()]
        found = [
            fit
            for item, group, model in product(items, scores, self.models)
            if (fit := self._long(item, group, model)) is not None
        ]
        found += self._wide(items)
        # Of readings with one system and with several, those that can answer the question.
        several = [fit for fit in found if fit.n_systems > 1 and not fit.lacks]
        best = max(found, key=lambda fit: fit.weight, default=NOTHING_FITS)
        rival = any(best.weight - fit.weight < _MARGIN for fit in several if fit.reads != best.reads)
        return several or found if self.compares and (rival or not best.is_sure) else found

    def _fixed(self, role: str) -> SampledColumn | None:
        wanted = [column_named(each) for each in self.given.columns.get(role, ())]
        return next((column for column in self.columns if column.name in wanted), None)

    def _items(self) -> Sequence[Weighed]:
        if "item" in self.given.columns:
            return [(ASKED_FOR, self._fixed("item"))]
        # A factor may be the item too, as its clusters are.
        pool = [c for c in self.columns if c.name not in self.asked.factors or c.named("item") >= SURE]
        if not any(c.as_item >= _ENOUGH for c in pool):
            pool += [c for c in self.columns if c not in pool and c.named("item") and self._is_crossed(c)]
        # The column of the sides asked for is none; one with each level once on each side is, however they are called.
        sides = next((c for c in self.free if len(self.asked.sides) > 1 and c.as_model(self.asked) == ASKED_FOR), None)
        names = [c for c in pool if c.scored < 0.5 and not c.is_text]
        paired = {c for c in names if sides is not None and self._pairs(c, sides)}
        weighed = _ranked(pool, lambda c: max(c.as_item, 0.7 * (c in paired)) * (c is not sides or not paired))
        # What is called like a trial numbers those of what has more levels: `problem`, `sample`.
        most = max((len(c.levels) for _, c in weighed if c.named("trial") < SURE and not c.is_text), default=0)
        weighed = [pair for pair in weighed if pair[1].named("trial") < SURE or len(pair[1].levels) >= most]
        ids = [column for weight, column in weighed if weight >= 0.85 and not column.is_text]
        # Texts are no items where there is an id; where each stands once for a system they are.
        texts = [column for _, column in weighed if ids and (column.is_text or column.words in ASKED)]
        weighed = [(min(weight, 0.3) if column in texts else weight, column) for weight, column in weighed]
        # Users who each answered once are items, if nothing else is.
        users = [(0.7, c) for c in pool if c in self.persons and len(c.levels) == self.n_rows > 1]
        users.sort(key=lambda pair: "user" not in pair[1].tokens)
        weighed = [*users[:1], *weighed] if not weighed or weighed[0][0] < 0.4 else weighed
        # What makes a key with the model may be the item whatever it is called.
        if not weighed:
            kinds = [c for c in self.columns if c.is_complete and c.scored < 0.5 and not ROLES["item"].bars(c.words)]
            kinds = [c for c in kinds if len(c.levels) > MOST_OF_ONE and not c.is_text and self._is_crossed(c)]
            weighed = [(0.5, c) for c in kinds][:1]
        # Seeds and folds are what the rows of systems share, if nothing else is; runs may merely be counted for each.
        if not weighed:
            shared = [c for c in self.columns if c.named("trial") >= SURE and c.is_complete]
            signs = [(bool({"seed", "fold"} & c.tokens) + self._is_crossed(c), c) for c in shared if len(c.levels) > 1]
            weighed = [(0.3 + 0.2 * n, c) for n, c in sorted(signs, key=lambda pair: -pair[0]) if n]
        # Rows are numbered only where nothing is called as items are, or where they are visits of persons.
        return weighed if weighed and weighed[0][0] >= 0.7 and not self.persons else [*weighed, (0.0, None)]

    def _pairs(self, item: SampledColumn, sides: SampledColumn) -> bool:
        """Whether each level of a column stands once with each of the sides, which are fewer, in rows that stand together."""
        rows = [*zip(item.values, sides.values, strict=True)][: self.together]
        n_items, n_sides = (len({*levels}) for levels in zip(*rows, strict=True))
        return n_sides < n_items and len({*rows}) == len(rows) == n_items * n_sides

    def _is_crossed(self, column: SampledColumn) -> bool:
        """Whether a column tells rows apart together with the other factors that were asked for and one of models."""
        factors = [c for c in self.columns if c.name in self.asked.factors or c is column]
        return any(
            model not in factors and len({*zip(*(c.values for c in (*factors, model)), strict=True)}) == self.n_rows
            for _, model in self.models
            if model is not None and len(model.levels) > 1
        )

    def _levels(self) -> list[tuple[float, tuple[SampledColumn, ...], str]]:
        """Return the columns of scores that are repetitions or judges: seeds side by side, raters side by side."""
        found: list[tuple[float, tuple[SampledColumn, ...], str]] = []
        judges = ["judge" if names_a_judge(column.words) else "" for column in self.free]
        for option, kinds in (("trials", [column.repetition for column in self.free]), ("judges", judges)):
            columns = tuple(c for c, kind in zip(self.free, kinds, strict=True) if kind and c.scored == 1)
            alike = {(kind, bool(c.numbers)) for c, kind in zip(self.free, kinds, strict=True) if c in columns}
            numbers = sorted(int(re.sub(r"\D", "", c.words)) for c in columns if c.repetition == COUNTED)
            apart = bool(numbers) and numbers != [*range(numbers[0], numbers[0] + len(columns))]
            if len(columns) > 1 == len(alike) and not apart and not {"score", option[:-1]} & {*self.given.columns}:
                # The epochs of a training are no repetitions, and what is merely numbered may be something else.
                is_sure = "epoch" not in columns[0].tokens and (option == "judges" or not numbers)
                found.append((1.0 if is_sure else 0.6, columns, option))
        crossed = tuple(column for column in self.free if column.name in self.pairs)
        if crossed and all(column.is_measured for column in crossed) and "judge" not in self.given.columns:
            found.append((0.6, crossed, "judges"))  # criteria by judge
        return found

    def _scores(self) -> list[tuple[float, tuple[SampledColumn, ...]]]:
        if "score" in self.given.columns or "score" in self.given.constants:
            sources = self.given.columns.get("score", ())
            several = {part.strip() for source in sources for part in (source, *source.split(","))}
            fixed = self._fixed("score")
            return [(ASKED_FOR, (fixed,) if fixed else tuple(c for c in self.columns if c.name in several))]
        # How many of a total were right is no score: their share is one.
        counts = {first for made, (first, _) in self.made.items() if made.name.startswith(f"{first.name}/")}
        counts = {column for column in counts if column.name not in self.asked.metrics}
        pool = [column for column in self.free if column is not self.metric and column not in counts]
        asked = tuple(c for c in pool if c.name in self.asked.metrics and c.as_score(self.asked) and "," not in c.name)
        if len(asked) > 1:
            return [(ASKED_FOR, asked)]
        # Where the score itself is blank, nothing that is less surely called one stands in its place.
        blank = max((c.named("score") for c in pool if c.is_blank), default=0.0)
        pool = [c for c in pool if max(c.named("score"), ASKED_FOR * (c.name in self.asked.metrics)) >= blank]
        # One of several that are merely numbered is no score by itself.
        alike = {(c.kind, c.words) for c in pool if c.scored == 1 and c.words not in ROLES["score"].names}
        n_alike = Counter(kind for kind, _ in alike)
        alone = [c for c in pool if n_alike[c.kind] < 2 or c.name in self.asked.metrics]
        # What another column follows from is a setting, and so is that one.
        n_same = Counter(c.partition for c in alone if c.numbers and len(c.levels) > 2)
        alone = [c for c in alone if n_same[c.partition] < 2 or c.named("score") or c.name in self.asked.metrics]
        weighed = _ranked(alone, lambda c: max(c.as_score(self.asked), ENDING * (c in self.judged)), most=len(pool))
        # Where nothing is called a score, the one column that can hold scores may be asked about, whatever else it is called.
        left = [c for c in alone if c.scored == 1 and len(c.levels) > 1 and not (c.is_barred or c.as_item)]
        left = [c for c in left if not c.named("trial")]
        weighed = weighed or [(0.3, c) for c in left if len(left) == 1]
        sure = {
            c.name
            for weight, c in weighed
            if (c in self.judged or (min(weight, c.named("score")) >= CALLED and c.is_measured)) and "," not in c.name
        }
        # What somebody scored beside such scores are scores as well, whatever they are called.
        first = Counter(c.words.split("_")[0] for c in self.columns if c.name in sure)
        scored = {word for word in SCORERS if first[word] > 1}
        sure |= {c.name for _, c in weighed if c.words.split("_")[0] in scored and c.is_measured and "," not in c.name}
        only = len(weighed) == 1 and weighed[0][1].named("score") > 0 and not self.made
        # What nothing calls a score is a guess, which is made where nothing is surer.
        weighed = [pair for pair in weighed if pair[0] > GUESS or pair[1].name in sure] or weighed
        named = [column for column in self.columns if column.name in sure]
        named = [] if self.metric is not None else named
        # What is rated on the scale of a score, or called as two of them begin, is rated as well; what says something of the
        # items is the same for all systems.
        item = next((column for _, column in self._items() if column is not None and column not in named), None)
        scales = [(floor(min(c.numbers)), ceil(max(c.numbers))) for c in named if len(c.levels) > 2 and c.numbers]
        rated = [c for c in pool if c not in named and item is not None and is_rated(c, item)] if named else []
        inside = [c for c in rated if any(low <= min(c.numbers) and max(c.numbers) <= high for low, high in scales)]
        named += [c for c in rated if c in inside or first[c.words.split("_")[0]] > 1]
        if not any(self.asked.metrics & {column.name} and column not in named for column in pool) and len(named) > 1:
            # Several scores side by side are metrics.
            rest = [pair for pair in weighed if pair[1] not in named]
            top = max(weight for weight, column in weighed if column in named)
            return [(top, tuple(named)), *((weight, (column,)) for weight, column in rest[:_MOST]), (0.0, ())]
        weighed = [(weight + 0.3 * (only and weight < SURE), column) for weight, column in weighed[:_MOST]]
        # A label beside the right one says what is right: a score of something else is asked about.
        if (rival := rival_of_scores(self.made, (c for _, c in weighed))) is not None:
            weighed = [(weighed[0][0], rival), *weighed]
        # What two columns make is a score that is asked about, as one that is merely called like one is beside it.
        if not any(weight > ENDING for weight, _ in weighed):
            used = {*chain.from_iterable(self.made.values())}
            weighed = [*((ENDING, c) for c in self.made), *(pair for pair in weighed if pair[1] not in used)]
        return [*((weight, (column,)) for weight, column in weighed), (0.0, ())]

    @cached_property
    def models(self) -> Sequence[Weighed]:
        """The columns that may name the models, the likeliest first, and None for none."""
        if {"model"} & {*self.given.columns, *self.given.constants}:
            return [(ASKED_FOR, self._fixed("model"))]
        pool = [column for column in self.free if column is not self.metric]
        if self.judge is not None:  # a model for each judge is the judge's
            pool = [column for column in pool if column.partition != self.judge.partition]
        weighed = _ranked(pool, lambda column: column.as_model(self.asked))
        # What has a level of its own in each row names rows, unless it is called so and no more.
        if any(1 < len(column.levels) < self.n_rows for _, column in weighed):
            weighed = [pair for pair in weighed if pair[0] == 1 or len(pair[1].levels) < self.n_rows]
        # What is called like nothing is no model beside several that are called so, and without these nothing is compared.
        if any(weight >= SURE and len(column.levels) > 1 for weight, column in weighed):
            return [pair for pair in weighed if pair[0] > GUESS]
        alone = 0.5 if not weighed or weighed[0][0] < 0.6 else 0.0
        return [*weighed, (alone, None)]

    def _long(
        self, of_item: Weighed, of_score: tuple[float, tuple[SampledColumn, ...], str], of_model: Weighed
    ) -> Assignment | None:
        """Fit a table with a row for each item and model, whose columns of scores are metrics, repetitions or judges."""
        (item_weight, item), (score_weight, scores, called), (model_weight, model) = of_item, of_score, of_model
        chosen = [column for column in (item, *scores, model) if column is not None]
        used = [column for score in scores for column in self.made.get(score, ())]
        if len({column.name for column in (*chosen, *used)}) < len(chosen) + len(used):
            return None
        taken = {*chosen}
        rest = [column for column in self.columns if column not in taken]
        apart, is_key, against = ((), True, 0.0) if item is None else self._apart(item, model, rest)
        # What may be the model is that where nothing else is, and neither a version of an item nor lost among its repeats.
        if model is None and item is not None:
            others = [c for _, c in self.models if c is not None and c is not item]
            repeated = "trial" in self.given.columns or self.given.repeats is not None
            if (repeated and any(_vary_in(c, [item]) for c in others)) or (
                apart and apart[0].partition("=")[2] in {c.source for c in others}
            ):
                return None
        if item is not None and item.words in ASKED and is_key and item_weight > 0.3:
            item_weight += 0.25
        given = {*self.given.columns, *self.given.constants}
        # What is called like an arm is one where systems are compared and nothing else names them.
        told = model is None or model_weight >= (_ARM if self.compares else _ENOUGH)
        # Rows are numbered where nothing could be the item, nor was rated by several persons, and they hold no averages: shares,
        # or what has a spread or a row a system; counts are those of items.
        spreads = {f"{c.words}_{word}" for c in scores for word in ("sd", "std", "stdev", "se", "stderr", "std_err")}
        of_items = (
            not self.persons
            and any((c.named("item") or c.as_item) >= 0.4 and len(c.levels) > 1 for c in self.like_items - {*scores})
        ) or any((c.named("rater") and JUDGES & c.tokens) or c.words in spreads for c in rest)
        counted = any(all("/" in cell for cell in c.cells) for c in scores)
        averaged = any(RATES & c.tokens and len(c.levels) > 2 for c in scores)
        averaged |= model is not None and len(model.levels) == self.n_rows > 1 and not counted
        plain = told and bool(scores) and (model is not None or score_weight > GUESS)
        countable = "item" in given or (plain and not (of_items or averaged))
        # What is called as items are may be those of different users: a question then says that none is shared.
        is_shared = against < _APART
        is_found = countable if item is None else is_shared or item_weight >= _ENOUGH
        options = [f"item={'COLUMN' if not is_found else item.source if item else ROW}"]
        options += [f"{called}={self._listed(scores, called) or 'COLUMN'}"]
        options += [f"model={model.source}"] if model is not None else []
        options += apart
        options = [option for option in options if option.partition("=")[0] not in given]
        options += self._beside(item, scores, rest, options)
        # Those of one system are numbered without a question, and those of users who each met one.
        unpaired = model is None or any(column in self.persons for column in rest)
        unpaired |= "score" in given and counted
        numbered = item is None and ("item" in given or (unpaired and score_weight >= SURE))
        repeated = apart[:1] == (f"trial={ORDER}",)
        is_clear = (
            is_found
            and is_shared
            and (item_weight >= _ENOUGH or numbered)
            and (score_weight >= _ENOUGH and bool(scores) and not used)
            and (told and (model is None or model.is_complete))
            and (not apart or repeated or self._tell_plainly(apart))
            and (is_key or repeated)
            and self.n_rows > 0
        )
        # A column of models and one of systems of the same model read alike.
        sides = model or next((c for c in rest if f"system={c.source}" in apart), None)
        reads = (
            None if item is None else item.partition,
            called,
            tuple(column.name for column in scores),
            None if sides is None or len(sides.levels) == 1 else sides.partition,
        )
        weight = item_weight + score_weight + model_weight - against
        return Assignment(
            options=tuple(options),
            weight=weight,
            is_sure=is_clear,
            n_systems=1 if sides is None else len(sides.levels),
            reads=reads,
        )

    def _apart(
        self, item: SampledColumn, model: SampledColumn | None, rest: Sequence[SampledColumn]
    ) -> tuple[tuple[str, ...], bool, float]:
        """Return what tells rows of one item and model apart, whether the key is then one, and what speaks against the item."""
        against = 0.0
        if self.n_rows > 1:
            # Rows from elsewhere in the file share no items by chance; what is called like nothing is no model without any.
            unnamed = [c for weight, c in self.models if c is not None and weight <= GUESS]
            others = [
                c.values[: None if c in unnamed else self.together] for c in (model, self.metric, self.judge) if c
            ]
            several = [values for values in others if len({value.casefold() for value in values if value}) > 1]
            alone = [v for v in several if len({*zip(item.values, v, strict=False)}) == len({*item.values[: len(v)]})]
            # No two systems, metrics or judges share an item; users may have met one system each. What is no model by its name
            # is then a fact of the item.
            facts = model is not None and model.values[: self.together] in alone and model.as_model(self.asked) < SURE
            against += 0.0 if _SOMEBODY & item.tokens else _APART * (len(alone) + facts)
            # Rows sorted by item show few of them: what is called as items are is not doubted for that.
            few = len(item.levels) < (len(model.levels) if model else 1) // 2
            against += _APART * (few and item.named("item") < SURE)
        mapped = {column_named(each) for name, found in self.given.columns.items() if name in _KEY for each in found}
        # A column called run may number repetitions; the others are taken for what they are called.
        known = [
            c for c in rest if c.name in mapped or (c.name in _KEY and not self._repeats(c, model)) or c is self.metric
        ]
        metric = (
            (f"metric={self.metric.source}",)
            if self.metric in rest and self.metric and self.metric.name != "metric"
            else ()
        )
        keys = [*zip(*(c.values for c in (item, *([model] if model else []), *known)), strict=True)]
        given = {*self.given.columns, *self.given.constants}
        if len({*keys}) == len(keys) or "trial" in given or self.given.repeats is not None:
            # Beside numbered repetitions what is new in each row is the id of a run of an item.
            each = len(item.levels) == self.n_rows and any(c.named("trial") == 1 and len(c.levels) > 1 for c in rest)
            return metric, True, against + _MARGIN * each
        others = [column for column in rest if column not in known]
        # Where the question names the sides, nothing beside them is compared.
        surest = ASKED_FOR if self.asked.sides else 0.0
        apart = tuple(repeats_told_apart(others, keys, surest, self.asked.factors))
        if apart:
            levels = {f"variant={column.source}": len(column.levels) for column in others}
            # What has more levels than the items is the item.
            odd = any(levels.get(option, 0) > len(item.levels) for option in apart)
            return (*apart, *metric), True, against + (0.05 if self._tell_plainly(apart) else 0.2) + _APART * odd
        silent = all(is_answer(c.name) or c.is_text or c.is_measured or len(c.levels) < 2 for c in others)
        against += _APART * (silent and self._ask_more_than(item))
        return ((f"trial={ORDER}", *metric), False, against + 0.1) if silent else (metric, False, against + 0.4)

    def _ask_more_than(self, item: SampledColumn) -> bool:
        """Whether rows with one id ask several things: then they are no repeats of one item."""
        return any(c is not item and c.words in ASKED and c.is_text and _vary_in(c, [item]) for c in self.columns)

    def _tell_plainly(self, apart: Sequence[str]) -> bool:
        """Whether what tells rows apart is called for it (repetitions, judges, metrics, versions of an item) or asked for.

        A task may stand behind another of these; alone it may be one of several to which an item belongs.
        """
        names = ("variant", "model") if self.asked.sides else ("variant",)
        roles = {"trial", "judge", "metric", "system", "run", "timestamp"}
        for role, _, column in (option.partition("=") for option in apart):
            called = role in roles or any(ROLES[name].weight(plain(column)) for name in names)
            if not (called or column_named(column) in self.asked.factors):
                return False
            roles.add("task")
        return True

    def _repeats(self, column: SampledColumn, model: SampledColumn | None) -> bool:
        """Whether a column called run numbers repetitions: where nobody says otherwise, and where several models have one."""
        if column.name != "run":
            return False
        named = {"item", "score"} <= {*self.given.columns}
        several = model is not None and len({*zip(column.values, model.values, strict=True)}) > len(column.levels)
        return several or not named

    def _beside(
        self,
        item: SampledColumn | None,
        scores: Sequence[SampledColumn],
        rest: Sequence[SampledColumn],
        others: Sequence[str],
    ) -> list[str]:
        """Write who judged, whom rows without an item depend on, and the scale that the cells or the header tell."""
        used = {option.partition("=")[2] for option in others}
        told = {option.partition("=")[0] for option in others} | {*self.given.columns}
        whole = [
            column for column in rest if column.is_complete and column.source not in used and column is not self.metric
        ]
        judges = [c for c in self.judges if c in whole and c.name != "judge"]
        options = [f"judge={column.source}" for column in judges[:1] if not {"judge", "judges"} & told]
        if item is None:  # rows of one user or session are no independent ones
            options += [f"dependence={column.name}" for column in whole if column in self.persons][:1]
        if scores and self.given.scale is None and "score" not in self.given.columns:
            # What all headers say: `Tone (1-5)`, `Clarity (1-5)`.
            ends = {found and found.groups() for found in (_SCALE.fullmatch(score.said.strip()) for score in scores)}
            low, high = map(float, (len(ends) == 1 and ends.pop()) or (0, 0))
            cells = [cell for score in scores for cell in score.cells if cell.lower() not in ABSENT]
            numbers = [number for score in scores for number in score.numbers]
            inside = low < high and len(numbers) == len(cells) and all(low <= number <= high for number in numbers)
            options += [f"scale={low:g}..{high:g}"] if inside and numbers else []
        return options

    def _wide(self, items: Sequence[Weighed]) -> list[Assignment]:
        """Fit a table with columns of scores for each model."""
        if {"score", "model", "metric"} & {*self.given.columns, *self.given.constants} or self.metric is not None:
            return []
        if any(column.named("metric") >= SURE for column in self.columns):  # its rows are metrics
            return []
        found: list[Assignment] = []
        for (weight, columns, text, sure, rivals), (of_item, item) in product(
            [*self._side_by_side(), *self._crossed()], items
        ):
            # Numbers side by side are no models where nothing says so, and nothing is like an item.
            if item in columns or (item is None and weight < 1):
                continue
            rest = [column for column in self.columns if column not in columns and column is not item]
            # Each of several raters may have a row of an item.
            repeated = item is not None and len(item.levels) < self.n_rows
            apart = self._apart(item, None, rest)[0] if repeated and item is not None else ()
            told = not repeated or (bool(apart) and self._tell_plainly(apart) and apart[0] != f"trial={ORDER}")
            if not told and rivals:
                continue
            dashes = sorted({cell for column in columns for cell in column.cells if not is_score(cell)})
            absent = [f"unscored={dashes[0]}"] if len(dashes) == 1 and dashes[0] in ABSENT - NO_VALUE else []
            options = (
                f"item={item.source if item else ROW}",
                f"models={text}",
                *(apart if told else [f"trial={ORDER}"]),
                *absent,
            )
            doubt = absent or any(column in rivals for column in rest)
            # Of a table of nothing but scores of systems a row is an item; beside other columns it may be a part or a day.
            alone = len(columns) == len(self.columns)
            clear = (of_item >= _ENOUGH or alone) and sure and told and not doubt and self.n_rows > 0
            reads = (None if item is None else item.partition, "models", text)
            against = _APART * (not told and item is not None and self._ask_more_than(item))
            fits = weight + of_item - against
            found.append(Assignment(options=options, weight=fits, is_sure=clear, n_systems=len(columns), reads=reads))
        return found

    def _side_by_side(self) -> Iterator[_Models]:
        """Yield columns of a model each: those asked for by name, called like models or sides, or all numbers."""
        # A model may have been given a few of the items.
        named = {c for c in self.free if c.name in self.asked.sides or names_a_model(c.name)}
        named = {c for c in named if c.scored >= 0.5 or (c.cells and all(map(is_score, c.cells)))}
        numbers = [c for c in self.free if (c.is_measured or c in named) and "," not in c.name]
        # What is called as all of these are is one more, where a few of its cells hold something else.
        head, tail = _shared_ends([c.name for c in numbers if c not in self.like_items])
        alike = [f"{head}*{tail}"] if is_called_score(f"{head} {tail}") else []
        odd = [c for c in self.free if MOSTLY <= c.scored < 1 and side_in(c.name, alike)]
        numbers = [c for c in self.free if c in numbers or c in odd]
        # Neither a judge nor what is right is a system, unless the question says that it is.
        no_system = JUDGES | (EXPECTED - SIDES - RIGHTS)
        numbers = [
            c
            for c in numbers
            if c.name in self.asked.sides or no_system.isdisjoint(re.sub(r"\d", "", c.words).split("_"))
        ]
        wanted = [column for column in numbers if column.name in self.asked.sides]
        wanted = [column for column in numbers if column in wanted or _is_another_side(column, wanted)]
        by_model = [column for column in numbers if names_a_model(column.name)]
        by_model = [c for c in numbers if by_model and (c in by_model or c in odd)]
        by_side = [column for column in numbers if SIDES & column.tokens]
        by_side = by_side if len({SIDES & column.tokens for column in by_side}) == len(by_side) else []
        # Scores of one kind may be of a system each beside that of a side, or where the question needs several systems:
        # `rag_score`, `baseline_score`.
        called = [c for c in numbers if c.named("score")]
        ends = {c.words.rpartition("_")[2] for c in called}
        of_a_kind = len(ends) == 1 and ends.isdisjoint(c.words for c in called)
        by_kind = called if of_a_kind and (by_side or self.compares) else []
        by_side = by_side if not by_kind else by_kind if by_side else []
        by_row = any(weight >= SURE for weight, _ in self.models)
        others = any(column is not None and column not in numbers for _, column in self.models)
        long = bool(called) or by_row
        head, tail = _shared_ends([c.words for c in by_side])
        named_so = len(by_side) == 2 and {c.words.removeprefix(head).removesuffix(tail) for c in by_side} <= SIDES
        named_so = named_so and not (by_row if head or tail else long)
        for weight, columns in (
            (ASKED_FOR + 1, wanted),
            (2.0, by_model),
            (2.0 if named_so else 1.7 if by_kind else 1.4, by_side),
            (1.2, by_kind),
            (1.6 if by_model else 0.95, numbers),
        ):
            several = columns not in (wanted, by_kind) and not self.pairs.isdisjoint(column.name for column in columns)
            # Words in one and numbers in another are not of one metric, and columns of several metrics are not one model each.
            alike = len(columns) > 1 and len({bool(column.numbers) for column in columns}) == 1 and not several
            if alike and not (columns is numbers and (long or others) and not by_model):
                rivals = [] if columns is wanted else numbers
                yield weight, columns, self._listed(columns, "models"), weight >= 2, rivals

    def _listed(self, columns: Sequence[SampledColumn], called: str) -> str:
        """Write columns as a map does; with a star what is no metric, and all of an object or list or called alike as scores."""
        names = [column.name for column in columns]
        if called == "judges" and {*names} == self.pairs:
            return ",".join(self.crossed[1])
        if called != "score" and self.asked.sides.isdisjoint(names):
            head, tail = _shared_ends(names)
            alike = [c.name for c in self.columns if side_in(c.name, [f"{head}*{tail}"])]
            inside = head.endswith(".") and not tail and not names_a_model(head)
            if alike == names and (inside or (called == "models" and is_called_score(f"{head} {tail}"))):
                return f"{head}*{tail}"
        return ",".join(column.source for column in columns)

    def _crossed(self) -> Iterator[_Models]:
        """Yield columns that are named by system and metric: `old_f1`, `new_f1`, `old_answer`, `new_answer`."""
        if any(weight >= SURE and len(column.levels) > 1 for weight, column in self.models if column is not None):
            return
        by_name = {column.name: column for column in self.free}
        sides, patterns = self.crossed
        of = {pattern: [by_name[pattern.replace("*", side)] for side in sides] for pattern in patterns}
        metrics = {pattern: words_of(pattern.replace("*", "").strip("_-./ ")) for pattern in patterns}
        scores = [
            pattern
            for pattern, columns in of.items()
            if any(c.is_measured for c in columns)
            and all(is_score(cell) for c in columns for cell in c.cells)
            and not ROLES["score"].bars(metrics[pattern])
            and "," not in pattern
        ]
        named = [pattern for pattern in scores if ROLES["score"].weight(metrics[pattern]) >= CALLED]
        # Criteria, raters, turns and parts stand so too: criteria have one score each, and what a judge said of it.
        known = any(names_a_model(side) or {*words_of(side).split("_")} & SIDES for side in sides)
        answers = [p for p in patterns if ANSWERED & {*metrics[p].split("_")} and not JUDGES & {*metrics[p].split("_")}]
        meant = bool(self.asked.sides) and self.asked.sides <= {*sides}
        if scores and (known or answers or meant or {*sides} <= {*by_name} or len(scores) > 1):
            sure = (bool(named) and known) or meant
            weight = 2.3 if sure else 1.9 if len(scores) > 1 else 1.5
            yield weight, [by_name[name] for name in self.pairs], ",".join(named or scores), sure, []


def _is_another_side(column: SampledColumn, sides: Sequence[SampledColumn]) -> bool:
    """Whether a column that is called like nothing holds scores as those of the sides do, and so a further side's."""
    named = has_role_by_name(column.words) or is_partition_by_name(column.name)
    named = named or column.words.split("_")[0] in _VERBS  # a fact about the item: `has_image`
    scores = [number for side in sides for number in side.numbers]
    levels = {level for side in sides for level in side.levels}
    if named or not scores or not column.numbers:
        return False
    return (
        column.levels <= levels
        if len(levels) <= 2
        else min(scores) <= min(column.numbers) <= max(column.numbers) <= max(scores)
    )


def _shared_ends(names: Sequence[str]) -> tuple[str, str]:
    """Return what all names begin and end with, up to where a part of them ends; a point between digits ends none.

    >>> (
    ...     _shared_ends(["score_gpt-4", "score_gpt-4o"]),
    ...     _shared_ends(["old_f1", "new_f1"]),
    ...     _shared_ends(["v1.8", "v1.9"]),
    ... )
    (('score_', ''), ('', '_f1'), ('', ''))
    """
    names = [_POINT.sub("\0", name) for name in names]

    def start(texts: Sequence[str]) -> str:
        same = takewhile(lambda letters: len({*letters}) == 1, zip(*texts, strict=False))
        return _PARTED.sub("", "".join(letters[0] for letters in same))

    ends = start(names), start([name[::-1] for name in names])[::-1]
    return ends[0].replace("\0", "."), ends[1].replace("\0", ".")


def _vary_in(column: SampledColumn, groups: Sequence[SampledColumn]) -> bool:
    """Whether a column has several values within some rows that are alike in all of `groups`."""
    keys = [*zip(*(group.values for group in groups), strict=True)]
    return len({*zip(keys, column.values, strict=True)}) > len({*keys})


def _ranked(
    columns: Sequence[SampledColumn], weight: Callable[[SampledColumn], float], most: int = _MOST
) -> list[tuple[float, SampledColumn]]:
    weighed = [(weight(column), column) for column in columns]
    return sorted((pair for pair in weighed if pair[0] > 0), key=lambda pair: -pair[0])[:most]
