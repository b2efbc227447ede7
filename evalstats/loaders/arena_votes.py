"""Votes between two models: Chatbot Arena, LMArena's public data sets, LLMFAO, Copilot Arena, Inclusion Arena."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from evalstats.errors import InputError, UnreadableFileError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_events import is_event, models_of, pairs_of
from evalstats.loaders.arena_records import columns_of, iter_records, place_word
from evalstats.loaders.arena_rows import Arena, comparison
from evalstats.loaders.arena_tally import Tally
from evalstats.loaders.base import BATCH_ROWS, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.keys import SeenKeys
from evalstats.loaders.values import as_text
from evalstats.schema.data import Problem

_SHAPES = frozenset({"text", "lines", "array", "parquet"})
_SHOWN = 5
# LLMFAO names the judging model in the file's name only.
_EVENT_NOTE = (
    "the shape of events with several models (models, winner, ranking) is our assumption, see docs/assumed-formats.md; each is "
    "reduced to pairs, which share an event and are no independent votes"
)
_LLMFAO_JUDGES = {"gpt3": "gpt-3", "gpt4": "gpt-4"}


class ArenaVotesLoader(SingleFileLoader):
    """Loader of votes: JSON lists, JSON Lines, CSV (also with Python-repr cells, as pandas writes them) and Parquet.

    One run per file, one row of `comparisons` per vote. The winner may be given as a label (model_a, left, tie,
    "tie (bothbad)", both_bad, A>>B, ...), as three one-hot columns, or as the accepted index. A label that is missing or
    unknown leaves the vote unscored; so does a model against itself. Nothing is filtered: `anony` and `dedup_sampled`,
    by which the arena's own leaderboard filters, are factors. Languages stay as the file writes them. Texts are not kept;
    `names_itself_a` and `names_itself_b` say whether an answer gives away whose it is.

    A record with `models` and a `winner` or `ranking` is one event: it becomes a row for each pair, and `event` is what
    they share.

    A vote is named by its id where the file gives one, else by its number from 0; an id that stands twice is an error.
    """

    name = "arena-votes"
    title = "arena votes: pairs, or K answers (.json, .jsonl, .csv, .parquet)"
    version = "3"

    def sniff(self, head: Head) -> Match | None:
        """Recognise two models and a winner among the columns."""
        if head.shape not in _SHAPES:
            return None
        names = columns_of(head)
        won = names & {"winner", "win", "acceptedIndex"} or names >= {"winner_model_a", "winner_model_b"}
        if won and names >= {"model_a", "model_b"}:
            return Match(confidence=0.85, reason="columns model_a, model_b and a winner")
        if won and names >= {"left", "right", "prompt"}:
            return Match(confidence=0.8, reason="columns left, right, prompt and a winner")
        if is_event(names):
            return Match(confidence=0.7, reason="columns models and a winner or ranking")
        if names >= {"id", "api_id", "api", "name", "org"} or names >= {"id", "text", "type", "slug", "stop"}:
            return Match(confidence=0.6, reason="LLMFAO's list of models or prompts", skip=True)
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the run, and notes on votes without an outcome.

        Raises
        ------
        InputError
            If the id of a vote stands twice.
        UnreadableFileError
            If the file is damaged, or holds no votes.
        """
        head = read_head(source.path)
        names = columns_of(head)
        arena = arena_of(names, source.stem)
        counted = "event_id" in names and "event_size" not in names and not is_event(names)
        sizes = _event_sizes(head) if counted else {}
        run = source.run_id()
        tally = Tally()
        seen = SeenKeys()
        word = place_word(head)
        for places, rows in _batches(head, arena, tally):
            for row in rows:
                row["run"] = run
                row["event_size"] = row["event_size"] or sizes.get(str(row["event"]))
            if arena.id_names:
                _check_ids(rows, places, seen, word)
            yield Rows(table="comparisons", rows=rows)
        if not tally.n_votes:
            message = f"{source.path}: holds no votes between two models"
            raise UnreadableFileError(message)
        yield Rows(table="runs", rows=[{"run": run, "benchmark": arena.benchmark, "judge": arena.judge}])
        for severity, message in tally.notes(word):
            yield Problem(path=str(source.path), message=message, severity="error" if severity == "error" else "note")
        if is_event(names):
            yield Problem(path=str(source.path), message=_EVENT_NOTE, severity="note")
        if arena.judge:
            note = f"the judge, {arena.judge}, is taken from the file's name"
            yield Problem(path=str(source.path), message=note, severity="note")


def arena_of(names: frozenset[str], stem: str) -> Arena:
    """Tell from the columns (and of LLMFAO from the file's name) which arena the votes come from.

    Examples
    --------
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
    return replace(
        arena, item_name=next((name for name in ("item", "prompt_id", "question_id") if name in names), None)
    )


def _batches(head: Head, arena: Arena, tally: Tally) -> Iterator[tuple[list[int], list[dict[str, object]]]]:
    places: list[int] = []
    rows: list[dict[str, object]] = []
    for number, place, record, winner in _votes(head):
        row = comparison(record, number, arena, tally, winner)
        if row is None:
            tally.n_without_model += 1
            if len(tally.without_model) < _SHOWN:
                tally.without_model.append(place)
            continue
        places.append(place)
        rows.append(row)
        if len(rows) >= BATCH_ROWS:
            yield places, rows
            places, rows = [], []
    if rows:
        yield places, rows


def _votes(head: Head) -> Iterator[tuple[int, int, Mapping[str, object], Winner | None]]:
    """Yield (number, place, vote, what it says if the vote alone does not say it); an event gives one for every pair."""
    events = is_event(columns_of(head))
    for number, (place, record) in enumerate(iter_records(head)):
        if not events:
            yield number, place, record, None
        elif len(models_of(record)) < 2:
            yield number, place, {}, None
        else:
            for pair, winner in pairs_of(record, number):
                yield number, place, pair, winner


def _check_ids(rows: list[dict[str, object]], places: list[int], seen: SeenKeys, word: str) -> None:
    again = seen.again(pl.DataFrame({"battle": [str(row["battle"]) for row in rows]}))
    if again.any():
        first = again.arg_true()[0]
        message = (
            f"vote {rows[first]['battle']!r} stands twice ({word} {places[first]} is the second); "
            "every vote needs an id of its own: drop the copies"
        )
        raise InputError(message)


def _event_sizes(head: Head) -> dict[str, int]:
    """Count the models of every event, in a first pass over the file; an event is one turn with K answers."""
    parts: list[pl.DataFrame] = []
    rows: list[tuple[str | None, str | None]] = []

    def pack() -> None:
        parts.append(pl.DataFrame(rows, schema={"event": pl.String, "model": pl.String}, orient="row").unique())
        rows.clear()

    for _, record in iter_records(head):
        event = as_text(record.get("event_id"))
        if event is not None:
            rows.extend((event, as_text(record.get(side))) for side in ("model_a", "model_b"))
        if len(rows) >= 2 * BATCH_ROWS:
            pack()
    pack()
    sizes = pl.concat(parts).drop_nulls().group_by("event").agg(pl.col("model").n_unique())
    return dict(sizes.filter(pl.col("model") > 1).iter_rows())


LOADER = ArenaVotesLoader()
