"""One column of a table that nobody declared: how surely it is the item, the score or the model by its name and its cells."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Final

import msgspec

from evalstats.loaders.column_map import source_of_column
from evalstats.loaders.roles import (
    ANSWERS,
    DAYS,
    ENDING,
    EXPECTED,
    IN_PARENTHESES,
    JUDGES,
    ROLES,
    SIDES,
    SURE,
    has_role_by_name,
    is_called_score,
    names_a_model,
    names_a_repetition,
    words_of,
)
from evalstats.loaders.values import (
    ABSENT,
    as_number,
    as_text,
    as_time,
    is_written_number,
    letter_grade,
    word_score,
)
from evalstats.schema.columns import is_answer

Record = Mapping[str, object]

_TRUTH: Final = frozenset({"true", "false", "yes", "no", "y", "n"})
MOST_OF_ONE: Final = 8
NAME_CHARS: Final = 120
# Texts of more characters than this on average are sentences, not ids.
ID_CHARS: Final = 40
# What the question names itself is that.
ASKED_FOR: Final = 1.5
# The most that cells count for whose column is not called like it.
GUESS: Final = 0.35
MOST_SIDES = 20
# Of a column of scores so many cells are scores at least.
MOSTLY: Final = 0.9
# What an arm of a test is called, where its column is called so too.
_SIDE: Final = re.compile(r"(?i)(?:control|treatment|variant|group|arm|v)?[-_ ]?[a-z0-9]")
_COUNTED: Final = re.compile(r"([a-z_]*[a-z])_?([0-9]{1,4})")
COUNTED: Final = "#"
# A word with its number in a column's name, and what belongs to the part in which names differ.
_NUMBERED: Final = re.compile(r"(?<![a-z])[a-z]+(?:_?\d+|_[a-z])(?![a-z\d])")


class AskedNames(msgspec.Struct, frozen=True, kw_only=True):
    """Names that the question itself uses: of the sides it compares, of its metric, of factors and clusters; and its own."""

    sides: frozenset[str] = frozenset()
    metrics: frozenset[str] = frozenset()
    factors: frozenset[str] = frozenset()
    question: str = ""


NOTHING_ASKED: Final = AskedNames()


class SampledColumn:
    """One column of the rows that are looked at: its name in plain words, and what its cells have in common."""

    def __init__(self, name: str, records: Sequence[Record]) -> None:
        self.name = name
        about = IN_PARENTHESES.search(name)
        self.said = about[1] if about else ""
        self.words = words_of(name)
        self.tokens = frozenset(self.words.split("_"))
        # What it is one of, where it is merely numbered (`vote_1`).
        self.kind = self.words.rstrip("0123456789").rstrip("_")
        self.values = [None if (text := as_text(row.get(name))) is None else text.strip() for row in records]
        self.cells = [text for text in self.values if text]
        self.is_complete = len(self.cells) == len(records)
        self.levels = frozenset(self.cells)

    @property
    def source(self) -> str:
        """Its name as a map writes it."""
        return source_of_column(self.name)

    @cached_property
    def scored(self) -> float:
        """Share of the cells with a value that are scores; 0 where there is none, or where half of the rows have none."""
        counts = Counter({cell: n for cell, n in Counter(self.cells).items() if cell.lower() not in ABSENT})
        if 2 * len(self.cells) < len(self.values) or not counts:
            return 0.0
        # A y alone is a name as x is; beside n it is a yes, and a score where it is called so.
        yes = {"y", "Y"} if {"n", "N"} & self.levels and ROLES["score"].weight(self.words) else set[str]()
        return sum(n for cell, n in counts.items() if is_score(cell) or cell in yes) / counts.total()

    @cached_property
    def numbers(self) -> list[float]:
        """Its cells that are plain numbers."""
        known = {cell: as_number(cell) for cell in self.levels}
        return [number for cell in self.cells if (number := known[cell]) is not None]

    @cached_property
    def chars(self) -> float:
        """Length of its cells on average."""
        return sum(map(len, self.cells)) / max(len(self.cells), 1)

    @cached_property
    def holds_models(self) -> bool:
        """Whether most of its cells look like names of models."""
        if self.scored == 1 or max(map(len, self.levels), default=NAME_CHARS) >= NAME_CHARS:
            return False
        n_others = 0
        for cell, n in Counter(self.cells).items():
            n_others += n * (not names_a_model(cell))
            if 2 * n_others >= len(self.cells):
                return False
        return True

    @cached_property
    def partition(self) -> tuple[int, ...]:
        """Which rows have the same value, whatever it is."""
        codes: dict[str | None, int] = {}
        return tuple(codes.setdefault(value, len(codes)) for value in self.values)

    @property
    def is_blank(self) -> bool:
        """Whether no cell says anything."""
        return all(cell.lower() in ABSENT for cell in self.levels)

    @property
    def is_measured(self) -> bool:
        """Whether it holds scores, and not counts, sizes, places or times by its name."""
        return self.scored == 1 and not self.is_barred

    @property
    def is_barred(self) -> bool:
        """Whether a word of its name, or of what it is one of, says that it holds no scores."""
        role = ROLES["score"]
        return role.bars(self.words) or (not role.ending(self.words) and role.bars(self.kind))

    @property
    def is_text(self) -> bool:
        """Whether it holds sentences, or what was answered by its name."""
        return self.chars > ID_CHARS or not (ANSWERS.isdisjoint(self.tokens) or self.words.endswith("_id"))

    @property
    def is_told(self) -> bool:
        """Whether it holds answers by its name, or what is right."""
        return is_answer(self.name) or not EXPECTED.isdisjoint(self.tokens)

    @property
    def is_rater(self) -> bool:
        """Whether it names who rated, person or judge."""
        return not JUDGES.isdisjoint(self.tokens) or max(self.named("rater"), self.named("judge")) > 0

    @property
    def repetition(self) -> str:
        """Of what its scores are a repetition: by its name (`seed_1`, `try_2_ok`), or its place in a list (`ok.0`); else ""."""
        listed, _, place = self.name.rpartition(".")
        if place.isdecimal() and is_called_score(listed):
            return listed
        kind = _NUMBERED.sub(lambda part: "*" if names_a_repetition(part[0]) else part[0], self.words)
        of_what = kind.replace("*", "").strip("_")
        is_one = "*" in kind and self.words not in ROLES["trial"].names
        if is_one:
            return "" if of_what and ROLES["score"].bars(of_what) else kind
        # Scores that are merely numbered may be repetitions: `correct_1`, `pass2`.
        counted = _COUNTED.fullmatch(self.words) if self.words not in ROLES["score"].names else None
        return COUNTED if counted and is_called_score(counted[1]) else ""

    def named(self, role: str) -> float:
        """How surely it has a role by its name; what stands among `scores` or `metrics` is a score, unless it is a count."""
        # A list of scores is called so: `recall_scores`.
        listed = role == "score" and self.words.endswith("scores") and bool(self.numbers)
        weight = ROLES[role].weight(self.words.removesuffix("s") if listed else self.words)
        holder, _, own = self.name.rpartition(".")
        if role != "score" or weight or words_of(holder.rpartition(".")[2]).split("_")[-1] not in {"scores", "metrics"}:
            return weight
        # How many were looked at stands among metrics, too: `metrics.k`.
        barred = (
            not ROLES["score"].never.isdisjoint(words_of(own).split("_")) or ROLES["trial"].weight(words_of(own)) > 0
        )
        return ENDING * (not barred)

    @cached_property
    def as_item(self) -> float:
        """How surely it is the item."""
        named = self.named("item")
        if not named and not ROLES["item"].bars(self.words) and self.words.endswith(("_id", "_idx", "_uid", "_key")):
            named = 0.85
        if (self.holds_models and named < 1) or self.named("metric") >= SURE:
            return 0.0
        # One item may have a row a system; the same text in many rows names none of them.
        idle = len(self.levels) < 2 and (len(self.values) > MOST_OF_ONE or (len(self.values) > 1 and named < 0.7))
        # A few prompts of a few words are what is compared, or how it was asked.
        arms = (
            self.words in ROLES["model"].names and named < SURE and len(self.levels) <= MOST_OF_ONE < len(self.values)
        )
        if not self.is_complete or idle or (arms and self.chars < ID_CHARS):
            return 0.0
        # Numbers that count from somewhere on are ids; those of any other kind measure something.
        spread = max(self.numbers, default=0) - min(self.numbers, default=0)
        counts = all(number.is_integer() for number in self.numbers) and spread < 2 * len(self.levels)
        if self.numbers and not counts and named < (SURE if any(not n.is_integer() for n in self.numbers) else 0.4):
            return 0.0
        if named or ROLES["item"].bars(self.words):
            return named
        sides = self.named("model") > 0 or self.named("trial") >= SURE or self.holds_models
        bare = not ROLES["score"].bars(self.words) and not is_answer(self.name) and not sides
        # Nothing but its cells may tell: most rows, or the rows of each system, differ in it.
        return (
            0.3
            if bare and 4 * len(self.levels) >= len(self.values) and not (self.is_text and ANSWERS & self.tokens)
            else 0.0
        )

    def as_score(self, asked: AskedNames) -> float:
        """How surely it is the score."""
        named = self.named("score")
        if self.name in asked.metrics and self.scored >= 0.5:
            return ASKED_FOR
        # Texts and letters among which some are scores are answers, whatever they are called.
        if self.scored < MOSTLY:
            return GUESS * (self.scored >= 0.5 and named > 0)
        barred = self.is_barred
        # A column that numbers the rows, or is the same in all, measures nothing: each call of a judge was a success.
        same = len(self.values) > 2 and len(self.levels) == 1
        if same and "." in self.name and self.words.endswith(("_success", "_ok")):
            return 0.3
        if not self.numbers:  # words for right and wrong, yes and no, percentages
            told = any(
                word_score(cell) is not None and letter_grade(cell) is None and cell.lower() not in _TRUTH
                for cell in self.levels
            )
            if same and not named:
                return 0.3 * (told and {cell.lower() for cell in self.levels}.isdisjoint(_TRUTH))
            # What people labelled may be whether an answer is right.
            if told and self.words == "label":
                return 0.5
            # Yes and no may answer anything; passed and failed is a score whatever it is called.
            truth = {cell.lower() for cell in self.levels} <= {*_TRUTH, *ABSENT}
            wanted = not ROLES["score"].unless_named.isdisjoint(self.tokens)
            weight = max(named, 0.0 if barred and (truth or wanted or not told) else 0.5 if told else 0.35)
            # Not surer than what is called a score and no more.
            plain = (told or named > 0) and 0.35 < weight < SURE and self.scored == 1 and len(self.levels) > 1
            return min(weight + 0.3, SURE) if plain else weight
        idle = same or (len(self.values) > 2 and self.numbers == sorted({*self.numbers}))
        if barred or self.scored < 1 or idle:
            return named
        # What is called like another role is no score, whatever it holds.
        called = any(self.named(role) for role in ROLES if role not in {"score", "winner"})
        called = called or self.is_told
        return named or (0.0 if called else GUESS if len(self.levels) <= 2 else 0.3)

    def as_model(self, asked: AskedNames) -> float:
        """How surely it is the model, or whatever else names the sides."""
        if self.chars > NAME_CHARS or 2 * len(self.cells) < len(self.values):
            return 0.0
        sides, levels = ({as_text(as_number(name)) or name for name in names} for names in (asked.sides, self.levels))
        if sides & levels:  # a name that is not there is missed in that column
            return ASKED_FOR if sides <= levels else SURE
        # Numbers, yes and no name nothing unless the name is all that it says (`model`, and not `illegal_llm`).
        if ROLES["model"].bars(self.words) or (self.scored == 1 and self.words not in ROLES["model"].names):
            return 0.0
        named = self.named("model")
        if named < SURE and self.words in ROLES["model"].names and len(self.levels) > max(3, len(self.cells) // 4):
            named = 0.0  # every item with a prompt of its own
        # The arms of a test: A and B, v1 and v2, or whatever stands beside a control.
        if named and (all(map(_SIDE.fullmatch, self.levels)) or not SIDES.isdisjoint(map(str.lower, self.levels))):
            named = max(named, SURE)
        # What is called like nothing and has a few names may be what is compared.
        few = 1 < len(self.levels) <= min(MOST_SIDES, len(self.cells) // 4) and self.is_complete and not self.is_text
        nameless = few and self.scored < 1 and not (self.is_told or has_role_by_name(self.words))
        named = max(named, 0.35 * nameless)
        told = self.holds_models and ANSWERS.isdisjoint(self.tokens) and not (self.is_told or self.is_rater)
        return max(named, 0.7 * told)


def is_called_like_nothing(name: str) -> bool:
    """Whether a column has no role by its name, nor says that it holds no scores: its cells must tell what it is."""
    words = words_of(name)
    return len(words) > 1 and "," not in name and not (has_role_by_name(words) or ROLES["score"].bars(words))


def is_rated(column: SampledColumn, item: SampledColumn) -> bool:
    """Whether a column that is called like nothing holds numbers in which the rows of one item differ.

    >>> rows = [{"id": k // 2, "tone": k % 4, "hops": k // 2} for k in range(8)]
    >>> [is_rated(SampledColumn(name, rows), SampledColumn("id", rows)) for name in ("tone", "hops", "id")]
    [True, False, False]
    """
    if (
        not is_called_like_nothing(column.name)
        or not (column.numbers and column.is_measured and len(column.levels) > 2)
        or column.numbers == sorted({*column.numbers})  # it counts the rows
    ):
        return False
    return len({*zip(item.values, column.values, strict=True)}) > len(item.levels) < len(item.values)


def repeats_told_apart(
    columns: Sequence[SampledColumn],
    keys: Sequence[tuple[object, ...]],
    surest: float = 0.0,
    factors: Collection[str] = (),
) -> list[str]:
    """Say what tells rows with the same key apart: a column of trials, another column, or both; [] if none does.

    An answer's text tells nothing: two answers to a question are two trials of it. What may be compared beside models (prompts,
    agents) is a system where it is called so as surely as `surest`, else a variant of the items. So are `factors`, persons too:
    clusters are levels of what is paired, and no draws of it. Each key begins with its item.

    >>> rows = [{"dataset": d, "trial": t} for d in "xy" for t in "01"]
    >>> repeats_told_apart([SampledColumn("dataset", rows), SampledColumn("trial", rows)], [("q1",)] * 4)
    ['trial=trial', 'task=dataset']
    >>> repeats_told_apart([SampledColumn("day", [{"day": "2025-10-01"}, {"day": "2025-10-02"}])], [("q1", "gpt")] * 2)
    ['run=day', 'timestamp=day']
    """

    def tells(*others: SampledColumn) -> bool:
        with_it = {(*key, *values) for key, *values in zip(keys, *(column.values for column in others), strict=True)}
        return len(with_it) == len(keys)

    def option(column: SampledColumn) -> str:
        if column.is_rater or column.named("trial"):
            role = "variant" if column.name in factors else "judge" if column.is_rater else "trial"
        elif column.named("model") >= max(surest, 0.01):
            role = "system"
        else:
            role = "task" if column.named("task") > column.named("variant") and not same_items(column) else "variant"
        return f"{role}={column.source}"

    def same_items(column: SampledColumn) -> bool:
        """Whether what is said of the items in words is the same in all levels: a task counts items of its own."""
        items = [key[0] for key in keys]
        facts = [c for c in columns if c is not column and not c.numbers and len({*c.values}) > 1]
        return any(
            len({*zip(items, c.values, strict=True)}) == len({*items})
            and len({*zip(column.values, c.values, strict=True)}) > len(column.levels)
            for c in facts
        )

    few = [
        column
        for column in columns
        if len(column.levels) <= max(2, len(keys) // 2) and not is_answer(column.name) and column.chars < NAME_CHARS
        if "count" not in column.tokens
    ]
    named = sorted((c for c in columns if c.named("trial")), key=lambda c: -c.named("trial"))
    named += [column for column in few if column.is_rater and (column.named("rater") or not column.scored)]
    # A date may tell rows apart by chance, where a column is called like what does.
    called = sorted(few, key=lambda column: -max(column.named("variant"), column.named("model")))
    # Yes and no that each of many repeated rows has once were asked for (`is_expert`), and no scores.
    many = len(keys) - len({*keys}) > MOST_OF_ONE
    others = [column for column in called if not column.is_measured or (many and len(column.levels) == 2)]
    alone = next((column for column in (*named, *others) if tells(column)), None)
    if alone is not None:
        # One system's items of several days are runs of it.
        is_day = alone.words in DAYS and len({key[1:] for key in keys}) == 1 and all(map(as_time, alone.levels))
        return [f"run={alone.source}", f"timestamp={alone.source}"] if is_day else [option(alone)]
    others.sort(key=lambda column: -column.named("task"))
    pairs = (pair for pair in product(named, others) if pair[0] is not pair[1] and tells(*pair))
    return [option(column) for column in next(pairs, ())]


def is_score(cell: str) -> bool:
    """Whether a cell holds a number, also as people write it, or a word for right or wrong."""
    is_word = word_score(cell) is not None and cell not in {"y", "Y"}
    return is_word or as_number(cell) is not None or is_written_number(cell)
