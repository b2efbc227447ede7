"""Votes between two models: Chatbot Arena, LMArena's public data sets, LLMFAO, Copilot Arena, Inclusion Arena.

Events of K answers have a form that is assumed (docs/assumed-formats.md): no arena has published votes of this shape.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import msgspec
import polars as pl
from msgspec.structs import replace

from evalstats.errors import InputError, Option, UnreadableFileError
from evalstats.loaders.arena_cells import ANSWERS, MAX_CELL_CHARS, VoteOutcome, labelled, parsed, sides_of
from evalstats.loaders.arena_records import (
    NUMBER,
    OF_BLOCKS,
    PLACE,
    TEXTS,
    WINNER,
    Tally,
    column,
    column_blocks,
    frame_of,
    of_table,
    place_word,
    texts,
)
from evalstats.loaders.arena_rows import Arena, comparisons, nothing
from evalstats.loaders.base import BATCH_ROWS, Frame, Head, Match, Rows, Shape, SingleFileLoader, Source, read_head
from evalstats.loaders.blocks import SkippedRows, open_table, own_name
from evalstats.loaders.bound_columns import surveyed
from evalstats.loaders.column_map import ColumnMap, column_named
from evalstats.loaders.expressions import MORE, Expression, expression_in
from evalstats.loaders.format import RECORDS, TABLE, Sign, surest
from evalstats.loaders.roles import words_of
from evalstats.loaders.rows import MOST_KEYS, GroupCounter
from evalstats.loaders.values import as_dict, as_list, as_number, as_text
from evalstats.schema.data import Problem

# More answers side by side than this are no turn of a conversation, and K models make K*(K-1)/2 pairs.
MAX_MODELS: Final = 64
EVENT_KEYS: Final = frozenset({"models", "winner", "ranking"})
_DRAWS: Final = {
    **dict.fromkeys(("tie", "all_equal"), "tie"),
    **dict.fromkeys(("both_bad", "bothbad", "tie (bothbad)", "all_bad", "none_good"), "both_bad"),
}


def is_event(names: frozenset[str]) -> bool:
    """Whether a file with these columns holds events instead of pairs."""
    return "models" in names and bool(names & {"winner", "ranking"}) and "model_a" not in names


def pairs_of(record: Mapping[str, object], number: int) -> Iterator[tuple[dict[str, object], VoteOutcome]]:
    """Yield the pairs of one event, each with what the user said of it; nothing where fewer than two models are named.

    The model that was shown first is model a, so that which side won tells nothing of who won. A ranking gives all pairs,
    with ranks from 1; a choice gives the winner against each other model, and says nothing of the others among each other.
    """
    models = models_of(record)
    if len(models) < 2:
        return
    event = as_text(record.get("event_id")) or as_text(record.get("battle_id", record.get("id"))) or str(number)
    common = {name: value for name, value in record.items() if name not in EVENT_KEYS}
    common |= {"event_id": event, "event_size": len(models)}
    ranking, raw = record.get("ranking"), as_text(record.get("winner"))
    label = (raw or "").strip().lower()
    n, draw = len(models), _DRAWS.get(label)
    best, ranks, reason, places = -1, None, None, [*combinations(range(n), 2)]
    if ranking not in (None, "", [], {}):
        raw, ranks = (as_text(ranking) or str(ranking))[:200], _ranks(ranking, models)
        reason = "the ranking does not rank the event's models, each once" if ranks is None else None
    elif raw is not None and models.count(raw) == 1:
        best = models.index(raw)
        places = [place for place in places if best in place]
    elif draw is None:
        places = [(0, other) for other in range(1, n)]
        missing = label in {"", "nan", "none", "null"}
        reason = "the winner's label is missing" if missing else "the winner is not one of the event's models"
        reason = "the winner stands more than once among the event's models" if raw in models else reason
    for i, j in places:
        outcome = None if reason else draw
        if ranks is not None:
            outcome = "tie" if ranks[i] == ranks[j] else "a" if ranks[i] < ranks[j] else "b"
        elif best >= 0:
            outcome = "a" if i == best else "b"
        sides = {"model_a": models[i], "model_b": models[j]}
        ranked = {"rank_a": None, "rank_b": None} if ranks is None else {"rank_a": ranks[i], "rank_b": ranks[j]}
        pair = {**common, "battle_id": f"{event}.{i}-{j}", **sides, **ranked}
        yield pair, VoteOutcome(raw=raw, outcome=outcome, reason=reason)


def models_of(record: Mapping[str, object]) -> list[str]:
    """Return the models of an event in the order in which they were shown; none where the list cannot be read."""
    models = [as_text(name) for name in _listed(record.get("models"))]
    named = [name for name in models if name and name.strip()]
    return named if len(named) == len(models) <= MAX_MODELS else []


def _ranks(ranking: object, models: list[str]) -> list[int] | None:
    """Return each model's rank from 1: of names best first (a list inside is a tie), name to rank, or ranks in order."""
    if len(set(models)) < len(models):
        return None
    by_name = as_dict(ranking)
    if by_name:
        listed: list[object] = [by_name.get(name) for name in models] if set(by_name) == set(models) else []
    else:
        listed = _listed(ranking)
    numbers = [as_number(value) for value in listed if not isinstance(value, bool)]
    if len(listed) == len(numbers) == len(models) and not set(map(as_text, listed)) & set(models):
        whole = [int(number) for number in numbers if number is not None and number.is_integer() and number >= 1]
        return whole if len(whole) == len(models) else None
    ranks: dict[str, int] = {}
    for group in listed:
        names = [as_text(name) or "" for name in (as_list(group) or [group])]
        rank = len(ranks) + 1
        for name in names:
            if name in ranks or name not in models:
                return None
            ranks[name] = rank
    return [ranks[name] for name in models] if len(ranks) == len(models) else None


def _listed(value: object) -> list[object]:
    """Return a list, which a cell of a CSV file holds as text."""
    return as_list(parsed(value, MAX_CELL_CHARS) if isinstance(value, str) else value)


_SHAPES: Final[tuple[Shape, ...]] = (*RECORDS, *TABLE)
_WON: Final = "winner win acceptedIndex winner_model_a"
_OTHERS: Final = "LLMFAO's list of models or prompts"
_SIGNS: Final = (
    Sign("winner loser", 0.7, without="model_a", shapes=_SHAPES),
    Sign("model_a model_b", 0.85, some=_WON, shapes=_SHAPES),
    Sign("left right prompt", 0.8, some=_WON, shapes=_SHAPES),
    Sign("models", 0.7, some="winner ranking", without="model_a", shapes=_SHAPES),
    Sign("id api_id api name org", 0.6, skip=_OTHERS, shapes=_SHAPES),
    Sign("id text type slug stop", 0.6, skip=_OTHERS, shapes=_SHAPES),
)
# What some standard columns are called in files of votes, and what else in a file would be read in a mapped one's place.
_CALLED = {"event": "event_id", "user": "rater"}
_RIVALS = {"winner": ("win", "acceptedIndex"), "timestamp": ("tstamp",), "model_a": ("left",), "model_b": ("right",)}
# What a map may say of all votes that is no column of theirs.
_OF_THE_RUN = frozenset({"benchmark", "setting", "judge"})
# LLMFAO names the judging model in the file's name only.
_EVENT_NOTE = (
    "the shape of events with several models (models, winner, ranking) is our assumption, see docs/assumed-formats.md; each is "
    "reduced to pairs, which share an event and are not independent votes"
)
_LLMFAO_JUDGES = {"gpt3": "gpt-3", "gpt4": "gpt-4"}


@dataclass(frozen=True, slots=True)
class ArenaVotesLoader(SingleFileLoader):
    """Loader of votes: JSON lists, JSON Lines, CSV (also with Python-repr cells, as pandas writes them) and Parquet.

    One run per file, one row of `comparisons` per vote. The winner may be given as a label (model_a, left, tie,
    "tie (bothbad)", both_bad, A>>B, ...), as three one-hot columns, or as the accepted index. A label that is missing or
    unknown leaves the vote unscored; so does a model against itself. Nothing is filtered: `anony` and `dedup_sampled`,
    by which the arena's own leaderboard filters, are factors. Languages stay as the file writes them. Texts are not kept;
    `names_itself_a` and `names_itself_b` say whether an answer gives away whose it is.

    A record with `models` and a `winner` or `ranking` is one event: it becomes a row for each pair, and `event` is what
    they share. A vote is named by its id where the file gives one, else by its number from 0; an id that stands twice is an
    error. `[values.winner]` of a column map says what further labels of the winner stand for.
    """

    column_map: ColumnMap = field(default_factory=ColumnMap)

    name = "arena-votes"
    title = "arena votes: pairs, or K answers (.json, .jsonl, .csv, .parquet)"
    version = "4"

    @property
    def n_keyed(self) -> int:
        """Return how many votes of a source it has told apart itself."""
        return MOST_KEYS

    def with_columns(self, column_map: ColumnMap) -> "ArenaVotesLoader":
        """Return a loader that finds the columns by the map."""
        return ArenaVotesLoader(column_map)

    def sniff(self, head: Head) -> Match | None:
        """Recognise two models and a winner among the columns."""
        return surest(_SIGNS, head)

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield comparisons block by block, the run, and notes on votes without an outcome."""
        head = read_head(source.path)
        map_ = self.column_map.placed(source.stem, source.path.absolute().parent.name)
        votes = open_votes(head, map_)
        arena = mapped_arena(arena_of(votes.names, source.stem), map_)
        counted = "event_id" in votes.names and "event_size" not in votes.names and not is_event(votes.names)
        sizes = _event_sizes(votes) if counted else None
        run = source.run_id()
        tally = Tally()
        seen = GroupCounter()
        word = place_word(head)
        for block in votes.blocks():
            frame, places = comparisons(block, arena, tally)
            if not frame.height:
                continue
            if sizes is not None and "event" in frame.columns:
                of_event = frame.select("event").join(sizes, on="event", how="left", maintain_order="left")["size"]
                given = frame["event_size"].fill_null(of_event) if "event_size" in frame.columns else of_event
                frame = frame.with_columns(event_size=given)
            if arena.id_names and (again := seen.again(frame.select("battle"))).any():
                first = again.arg_true()[0]
                raise InputError(
                    f"vote {frame['battle'][first]!r} appears twice ({word} {places[first]} is the second); "
                    "every vote needs an id of its own: drop the copies, or rename the column if it names what was voted on"
                )
            yield Frame(table="comparisons", frame=frame.with_columns(pl.lit(run).alias("run")))
        votes.left_out.check(source.path, tally.n_votes)
        if not tally.n_votes:
            raise UnreadableFileError(f"{source.path}: holds no votes between two models")
        about: dict[str, object] = {"run": run, "benchmark": arena.benchmark, "judge": arena.judge}
        config = map_.as_config()
        if config:
            about["config"] = json.dumps(config, ensure_ascii=False)
        yield Rows(table="runs", rows=[about])
        yield from source.notes(votes.left_out.told(tally.n_votes), "error")
        yield from tally.problems(source, word)
        if is_event(votes.names):
            yield from source.notes([_EVENT_NOTE])
        yield from source.notes(
            f"{name} turns no vote round: if the winner is the place at which an answer was shown, exchange it in the rows that "
            f"{name} marks"
            for name in sorted(votes.names)
            if "swapped" in words_of(name).split("_")
        )
        if arena.judge and "judge" not in map_.constants:
            yield from source.notes([f"the judge, {arena.judge}, is taken from the file's name"])


class VoteFile(msgspec.Struct, frozen=True, kw_only=True):
    """The votes of a file: their columns by standard names, and the blocks, read from the beginning each time.

    `left_out` holds the lines that the last reading left out.
    """

    names: frozenset[str]
    blocks: Callable[[], Iterator[pl.DataFrame]]
    left_out: SkippedRows = msgspec.field(default_factory=SkippedRows)


def open_votes(head: Head, map_: ColumnMap) -> VoteFile:
    """Open a file of votes and give its columns the names of the map."""
    names = head.names
    table = None
    if map_.rows is not None or not names.issuperset(map_.paths):
        table = open_table(head, map_.rows, deep=map_.paths)
        names = frozenset(map(own_name, surveyed(table)[0].columns)) - (TEXTS - ANSWERS)
    rename: dict[str, str] = {}
    # The winner may be the side with more (`winner=score_a>score_b`).
    scores = expression_in(map_.columns.get("winner", ("",))[0], names, (MORE,))
    for name, sources in map_.columns.items():
        if name == "winner" and scores:
            continue
        source = column_named(sources[0])
        if len(sources) != 1 or source is None:
            raise InputError(f"{name}={','.join(sources)} has no meaning for votes; name one column")
        if source not in names:
            parts = [part.strip() for part in source.split(MORE)] if name == "winner" else [source]
            missing = next((part for part in parts if part not in names), source)
            raise InputError(f"there is no column {missing!r} for {name}; the votes have {', '.join(sorted(names))}")
        if source in rename:
            raise InputError(f"column {source!r} is mapped to {rename[source]} and to {name}; give each its own")
        rename[source] = _CALLED.get(name, name)
    foreign = [name for name in map_.values if name != "winner"]
    if foreign or map_.metrics or map_.scale is not None:
        what = f"[values.{foreign[0]}]" if foreign else "a scale or metrics"
        raise InputError(f"{what} has no meaning for votes; leave it out")
    taken = {*rename.values(), *map_.constants, *(("winner",) if scores else ())}
    taken |= {rival for name in taken for rival in _RIVALS.get(name, ())}
    rename |= {name: f"source_{name}" for name in (names & taken) | OF_BLOCKS if name not in rename}
    constants = {name: value for name, value in map_.constants.items() if name not in _OF_THE_RUN}
    found = frozenset((*(rename.get(name, name) for name in names), *constants, *(("winner",) if scores else ())))
    found |= frozenset({"model_a", "model_b"} if "loser" in found else ())
    if map_.columns.keys() | constants.keys() and not found >= {"model_a", "model_b"} and not is_event(found):
        missing = next(name for name in ("model_a", "model_b") if name not in found)
        one = f"or for all votes {Option('map', '@NAME', of=missing)}"
        raise InputError(f"no column names {missing}; name it: {Option('map', blank='COLUMN', of=missing)}, {one}")

    left_out = SkippedRows()

    def blocks() -> Iterator[pl.DataFrame]:
        number = 0
        # What lies inside a JSON document, or in columns that hold JSON, is read as a table.
        found_in = column_blocks(head, left_out.anew()) if table is None else map(of_table, table.blocks())
        for columns, places in found_in:
            # A column that only later rows have may be called as one that the map names.
            named = [(rename.get(name, name), name) for name in columns.columns if name in rename or name not in taken]
            block = columns.select(pl.col(name).alias(as_) for as_, name in named)
            numbers = pl.int_range(number, number + block.height, eager=True)
            block = block.with_columns(places.alias(PLACE), numbers.alias(NUMBER))
            number += block.height
            made = _made(block, scores, rename)
            block = block.with_columns(*(pl.lit(value).alias(name) for name, value in constants.items()), **made)
            yield from _pairs(block) if is_event(found) else [block]

    return VoteFile(names=found, blocks=blocks, left_out=left_out)


def _made(block: pl.DataFrame, scores: Expression | None, rename: Mapping[str, str]) -> dict[str, pl.Series]:
    """Return the winner where the side with the higher score won, and the sides where a vote says who won and who lost."""
    of_sides = () if scores is None else (scores.first, scores.second)
    names = [rename.get(name, name) for name in of_sides] or ["winner", "loser"]
    columns = (column(block, name) for name in names)
    first, second = (nothing(block) if cells is None else texts(cells) for cells in columns)
    if scores is not None:
        return {"winner": scores.cells(first, second)}
    return sides_of(first, second) if "loser" in block.columns and "model_a" not in block.columns else {}


def mapped_arena(arena: Arena, map_: ColumnMap) -> Arena:
    """Return what is known of an arena with what the user says of it in place of what its columns tell."""
    said = {**map_.constants}
    named = {*map_.columns, *said}
    # A side may be called as its column.
    labels = {map_.columns[side][0].strip().lower(): side for side in ("model_a", "model_b") if side in map_.columns}
    labels |= {label.strip().lower(): str(meaning) for label, meaning in map_.values.get("winner", {}).items()}
    wrong = [meaning for meaning in labels.values() if labelled(meaning, "\x00", "\x01").outcome is None]
    if wrong:
        raise InputError(f"[values.winner] {wrong[0]!r} is no outcome; use model_a, model_b, tie or both_bad")
    return replace(
        arena,
        benchmark=said.get("benchmark", arena.benchmark),
        setting=said.get("setting", arena.setting),
        judge=said.get("judge", arena.judge),
        id_names=("battle",) if "battle" in map_.columns else arena.id_names,
        item_name="item" if "item" in named else arena.item_name,
        session_name="session" if "session" in named else arena.session_name,
        rater_names=("rater",) if "rater" in named else arena.rater_names,
        labels=labels,
    )


def arena_of(names: frozenset[str], stem: str) -> Arena:
    """Tell from the columns (and of LLMFAO from the file's name) which arena the votes come from.

    >>> arena_of(frozenset({"left", "right", "winner", "prompt", "id", "worker"}), "crowd-comparisons").id_names
    ('id', 'worker')
    """
    given = next(((name,) for name in ("battle_id", "battle", "id") if name in names), ())
    session = next((name for name in ("evaluation_session_id", "session_id", "session") if name in names), None)
    arena = Arena(benchmark="arena", id_names=given, session_name=session)
    if is_event(names):
        known = names & {"event_id", "phase", "app"}
        return replace(arena, benchmark="Inclusion Arena" if known else "arena", id_names=("battle_id",))
    if "model_a" not in names:
        judge = None if "worker" in names else _LLMFAO_JUDGES.get(stem.partition("-")[0])
        ids = (*given, "worker") if given and "worker" in names else given
        return Arena(benchmark="LLMFAO", setting="lab", id_names=ids, item_name="prompt", judge=judge)
    if "acceptedIndex" in names:
        return replace(arena, benchmark="Copilot Arena")
    if names & {"event_id", "phase"}:
        prompt = next((name for name in ("item", "prompt_id") if name in names), None)
        return replace(arena, benchmark="Inclusion Arena", item_name=prompt)
    if names & {"evaluation_session_id", "occupational_tags"}:
        return replace(arena, benchmark="LMArena")
    if names & {"tstamp", "anony", "winner_model_a"}:
        # question_id names the conversation here, in which several turns may be voted on.
        conversation = "question_id" if "question_id" in names else session
        return replace(arena, benchmark="Chatbot Arena", session_name=conversation)
    if names >= {"question_id", "judge", "turn"}:
        return replace(arena, benchmark="MT-bench", setting="lab", item_name="question_id")
    items = ("item", "prompt_id", "question_id", "question", "prompt", "instruction")
    return replace(arena, item_name=next((name for name in items if name in names), None))


def _pairs(block: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the pairs of events, and for one that names no two models a pair without models."""
    records: list[dict[str, object]] = []
    for record in block.iter_rows(named=True):
        known = {name: value for name, value in record.items() if value is not None}
        where = {name: record[name] for name in (PLACE, NUMBER)}
        pairs = [{**where, **pair, WINNER: winner} for pair, winner in pairs_of(known, record[NUMBER])]
        records += pairs or [{**where, WINNER: VoteOutcome(raw=None)}]
        if len(records) >= BATCH_ROWS:
            yield frame_of(records)
            records = []
    if records:
        yield frame_of(records)


def _event_sizes(votes: VoteFile) -> pl.DataFrame:
    """Count the models of every event, in a first pass over the file; an event is one turn with K answers."""
    known = pl.DataFrame(schema={"event": pl.String, "model": pl.String})
    for block in votes.blocks():
        event = column(block, "event_id")
        both = [column(block, side) for side in ("model_a", "model_b")]
        sides = [
            {"event": texts(event), "model": texts(side)} for side in both if side is not None and event is not None
        ]
        known = pl.concat([known, *map(pl.DataFrame, sides)]).drop_nulls().unique()
    return known.group_by("event").agg(pl.len().cast(pl.Int64).alias("size")).filter(pl.col("size") > 1)


LOADER = ArenaVotesLoader()
