"""One arena vote as a row of `comparisons`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from evalstats.loaders.arena_cells import Winner, as_truth, covariates_of, structured, tags_of, winner_of
from evalstats.loaders.arena_naming import WITH_ANSWERS, names_itself
from evalstats.loaders.arena_records import NESTED, TEXTS
from evalstats.loaders.arena_tally import Tally
from evalstats.loaders.values import as_count, as_list, as_number, as_text, as_time, as_whole, dicts, unit_of_count
from evalstats.schema.columns import COMPARISONS, column_names

# Longer texts are prompts or answers, and more columns than this are no table.
MAX_FACTOR_CHARS = 500
MAX_FACTORS = 200
_LABEL_CHARS = 60

# Judges by these names are people.
_PEOPLE = ("arena_user", "expert", "author", "human", "user", "worker", "annotator")
_USED = frozenset(
    {
        *(
            "battle_id",
            "battle",
            "id",
            "question_id",
            "event_id",
            "event_size",
            "rank_a",
            "rank_b",
            "prompt",
            "prompt_id",
            "item",
        ),
        *("model_a", "model_b", "left", "right", "model_x", "model_y"),
        *("winner", "win", "winner_model_a", "winner_model_b", "winner_tie", "acceptedIndex"),
        *("judge", "user_id", "worker", "rater", "session", "session_id", "evaluation_session_id", "app", "scenario"),
        *("weight", "language", "turn", "phase", "tstamp", "timestamp", "is_code", "anony", "is_refusal"),
        "evaluation_order",
    }
)
_STANDARD = frozenset(column_names("comparisons"))
_LEVELS = {column.name: column.levels for column in COMPARISONS if column.name in {"strength", "order"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """What a file's columns tell of where its votes come from.

    `id_names` are the fields that together name a vote; without them its number does. `item_name` and `session_name`
    are the fields that hold the question's id and the session's; `judge` is the model behind all votes, if there is one.
    """

    benchmark: str
    setting: str = "live"
    id_names: tuple[str, ...] = ()
    item_name: str | None = None
    session_name: str | None = None
    judge: str | None = None


def comparison(
    record: Mapping[str, object], number: int, arena: Arena, tally: Tally, winner: Winner | None = None
) -> dict[str, object] | None:
    """Make the row of one vote (without its run); None where a model is not named.

    `winner` is what the vote says, where the record does not say it in one of the ways that `winner_of` reads.
    """
    model_a = as_text(record.get("model_a", record.get("left")))
    model_b = as_text(record.get("model_b", record.get("right")))
    if not model_a or not model_b or not model_a.strip() or not model_b.strip():
        return None
    winner = winner or winner_of(record, model_a, model_b)
    tally.count_winner(winner, against_itself=model_a == model_b)
    row: dict[str, object] = {
        "battle": _battle(record, arena) or str(number),
        "event": as_text(record.get("event_id")),
        "event_size": as_count(record.get("event_size")),
        "rank_a": as_count(record.get("rank_a")),
        "rank_b": as_count(record.get("rank_b")),
        "item": as_text(record.get(arena.item_name)) if arena.item_name else None,
        "model_a": model_a,
        "model_b": model_b,
        "outcome": winner.outcome,
        "strength": winner.strength,
        "weight": as_number(record.get("weight")),
        "session": as_text(record.get(arena.session_name)) if arena.session_name else None,
        "app": as_text(record.get("app")),
        "scenario": as_text(record.get("scenario")),
        "language": as_text(record.get("language")),
        "phase": as_text(record.get("phase")),
        "timestamp": _time(record, tally),
        "setting": arena.setting,
        "status": "scored" if winner.outcome else "unscored",
        "status_reason": winner.reason,
        "value_raw": winner.raw,
        **_who_judged(record, arena),
        **_nested(record, tally),
        **_naming(record, tally),
        **_factors(record, tally),
    }
    if row.get("turn") is None:
        row["turn"] = as_whole(record.get("turn"))
    return row


def _battle(record: Mapping[str, object], arena: Arena) -> str | None:
    parts = [as_text(record.get(name)) for name in arena.id_names]
    present = [part for part in parts if part]
    return ".".join(present) if present and len(present) == len(parts) else None


def _who_judged(record: Mapping[str, object], arena: Arena) -> dict[str, object]:
    """Tell people from models that judge: arena users, experts and workers are people."""
    rater = as_text(record.get("user_id", record.get("worker", record.get("rater"))))
    named = record.get("judge")
    judge = as_text(as_list(named)[0] if as_list(named) else named)
    if judge is not None and judge.lower().startswith(_PEOPLE):
        return {"rater": rater or judge, "judge": arena.judge}
    return {"rater": rater, "judge": judge or arena.judge}


def _time(record: Mapping[str, object], tally: Tally) -> datetime | None:
    name = "tstamp" if "tstamp" in record else "timestamp"
    value = record.get(name)
    read = as_time(value)
    if read is None and value is not None and as_text(value) != "nan":
        tally.unread[name] += 1
    if read is not None:
        tally.count_time(read, unit_of_count(value))
    return read


def _naming(record: Mapping[str, object], tally: Tally) -> dict[str, object]:
    """Mark answers that say whose they are; nothing is said where no answer was kept."""
    found: dict[str, object] = {}
    if record.keys().isdisjoint(WITH_ANSWERS):
        return found
    for side in ("a", "b"):
        names = names_itself(record, side)
        if names is not None:
            found[f"names_itself_{side}"] = names
    tally.n_naming += True in found.values()
    return found


def _nested(record: Mapping[str, object], tally: Tally) -> dict[str, object]:
    """Read covariates, tags and the marks of deduplication."""
    found: dict[str, object] = {}
    parts: dict[str, dict[str, object]] = {}
    for name in ("conv_metadata", "category_tag", "dedup_tag", "occupational_tags"):
        value = record.get(name)
        read = structured(value)
        if read is None and value not in (None, {}, "", "{}"):
            tally.unread[name] += 1
        parts[name] = read or {}
    for name, number in (*_tokens(record), *covariates_of(parts["conv_metadata"])):
        if name == "turns":
            found["turn"] = as_whole(number)
        elif _may_keep(name, tally):
            found[name] = number
    tags, scores = tags_of(parts["category_tag"])
    tags += [name for name, holds in parts["occupational_tags"].items() if holds is True]
    tags += [text for tag in as_list(record.get("tags")) if (text := as_text(tag)) is not None]
    for name in ("anony", "is_code", "is_refusal"):
        if name in record:
            found[name] = as_truth(record[name])
    tags += ["code"] if found.get("is_code") is True else []
    for name, mark in parts["dedup_tag"].items():
        if as_truth(mark) is not None and _may_keep(f"dedup_{name}", tally):
            found[f"dedup_{name}"] = as_truth(mark)
    tally.n_known_names += found.get("anony") is False
    tally.n_not_sampled += found.get("dedup_sampled") is False
    known = bool(parts["category_tag"] or parts["occupational_tags"] or tags)
    return {**found, **scores, "tags": list(dict.fromkeys(tags)) if known else None}


def _tokens(record: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Add up the tokens of the answers where conversations count them and no metadata do."""
    if record.get("conv_metadata") is not None or record.keys().isdisjoint(WITH_ANSWERS):
        return
    for side in ("a", "b"):
        messages = [
            message for message in dicts(record.get(f"conversation_{side}")) if message.get("role") == "assistant"
        ]
        counts = [as_number(message.get("num_tokens")) for message in messages]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            yield f"assistant_tokens_{side}", sum(known)


def _factors(record: Mapping[str, object], tally: Tally) -> dict[str, object]:
    """Keep every further plain column under its own name."""
    kept: dict[str, object] = {}
    if "evaluation_order" in record:
        kept["evaluation_order"] = as_whole(record["evaluation_order"])
    for name, value in record.items():
        if name in _USED or name in NESTED or name in TEXTS or value is None:
            continue
        if isinstance(value, dict | list) or (isinstance(value, str) and len(value) > MAX_FACTOR_CHARS):
            if len(tally.left_out) < MAX_FACTORS:
                tally.left_out[name[:_LABEL_CHARS]] = None
        elif name == "preference" and 0 <= (as_number(value) or 0.0) <= 1:
            kept[name] = as_number(value)
        elif as_text(value) in _LEVELS.get(name, ()):
            kept[name] = value
        elif _may_keep(own := f"source_{name}" if name in _STANDARD else name, tally):
            kept[own] = _plain(value)
    return kept


def _may_keep(name: str, tally: Tally) -> bool:
    if name not in tally.factors and len(tally.factors) < MAX_FACTORS:
        tally.factors[name] = None
    return name in tally.factors


def _plain(value: object) -> object:
    """Return what text of a CSV file stands for, if writing that out again gives the same text."""
    if not isinstance(value, str):
        return value
    if value in {"True", "False"}:
        return value == "True"
    number = as_number(value)
    if number is None:
        return value
    for read in (as_whole(value), number):
        if str(read) == value:
            return read
    return value
