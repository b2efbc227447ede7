"""One arena vote as a row of `comparisons`, with a tally of what could not be read."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from evalstats.loaders.arena_cells import as_truth, covariates_of, structured, tags_of, winner_of
from evalstats.loaders.arena_records import NESTED, TEXTS
from evalstats.loaders.values import as_list, as_number, as_text, as_time, as_whole, dicts
from evalstats.schema.columns import COMPARISONS, column_names

# Longer texts are prompts or answers, and more columns than this are no table.
MAX_FACTOR_CHARS = 500
MAX_FACTORS = 200
_MAX_LABELS = 50
_SHOWN_LABELS = 8
_LABEL_CHARS = 60

# Judges by these names are people.
_PEOPLE = ("arena_user", "expert", "author", "human", "user", "worker", "annotator")
_USED = frozenset(
    {
        *("battle_id", "battle", "id", "question_id", "event_id", "event_size", "rank_a", "rank_b", "prompt", "item"),
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


@dataclass(slots=True)
class Tally:
    """What was met while reading, to be told at the end."""

    n_votes: int = 0
    labels: Counter[str] = field(default_factory=Counter[str])
    without_model: list[int] = field(default_factory=list[int])
    n_without_model: int = 0
    n_self: int = 0
    n_known_names: int = 0
    n_not_sampled: int = 0
    unread: Counter[str] = field(default_factory=Counter[str])
    left_out: dict[str, None] = field(default_factory=dict[str, None])
    factors: dict[str, None] = field(default_factory=dict[str, None])

    def notes(self, word: str) -> Iterator[tuple[str, str]]:
        """Yield (severity, message)."""
        n_unknown = self.labels.total()
        if n_unknown:
            shown = ", ".join(f"{label}: {n}" for label, n in self.labels.most_common(_SHOWN_LABELS))
            yield (
                "note",
                f"{n_unknown} of {self.n_votes} votes have no outcome and are kept as unscored, not as ties ({shown})",
            )
        if self.n_self:
            yield "note", f"{self.n_self} votes set a model against itself; they are kept as unscored"
        if self.n_without_model:
            shown = ", ".join(str(place) for place in self.without_model)
            yield "error", f"{self.n_without_model} votes name no model_a or model_b and are left out ({word} {shown})"
        if self.n_known_names:
            yield (
                "note",
                (
                    f"{self.n_known_names} votes were given with the models' names in sight (anony is false); "
                    "the arena's own leaderboard leaves them out"
                ),
            )
        if self.n_not_sampled:
            yield (
                "note",
                (
                    f"{self.n_not_sampled} votes repeat a prompt too often (dedup_sampled is false); "
                    "the arena's own leaderboard leaves them out"
                ),
            )
        for name, n in self.unread.items():
            yield "note", f"{name} could not be read in {n} votes; what it holds is null there"
        if self.left_out:
            yield "note", f"columns with long texts or nested values are left out: {', '.join(self.left_out)}"


def comparison(record: Mapping[str, object], number: int, arena: Arena, tally: Tally) -> dict[str, object] | None:
    """Make the row of one vote (without its run); None where a model is not named."""
    model_a = as_text(record.get("model_a", record.get("left")))
    model_b = as_text(record.get("model_b", record.get("right")))
    if not model_a or not model_b:
        return None
    winner = winner_of(record, model_a, model_b)
    tally.n_votes += 1
    if model_a == model_b:
        tally.n_self += 1
    elif winner.outcome is None:
        _count_label(tally, winner.raw)
    row: dict[str, object] = {
        "battle": _battle(record, arena) or str(number),
        "event": as_text(record.get("event_id")),
        "event_size": as_whole(record.get("event_size")),
        "rank_a": as_whole(record.get("rank_a")),
        "rank_b": as_whole(record.get("rank_b")),
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
        **_factors(record, tally),
    }
    if row.get("turn") is None:
        row["turn"] = as_whole(record.get("turn"))
    return row


def _battle(record: Mapping[str, object], arena: Arena) -> str | None:
    parts = [as_text(record.get(name)) for name in arena.id_names]
    present = [part for part in parts if part]
    return ".".join(present) if present and len(present) == len(parts) else None


def _count_label(tally: Tally, raw: str | None) -> None:
    label = "no label" if raw is None or not raw.strip() else repr(raw[:_LABEL_CHARS])
    if label not in tally.labels and len(tally.labels) >= _MAX_LABELS:
        label = "other labels"
    tally.labels[label] += 1


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
    return read


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
    if record.get("conv_metadata") is not None:
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
