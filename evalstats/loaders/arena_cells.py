"""Cells of arena votes: nested values that a CSV file holds as text, the winner's label, covariates and tags."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from evalstats.loaders.values import as_dict, as_number, as_text, as_whole

# ast.literal_eval refuses deep nesting by itself; a cell longer than this is no cell of metadata.
MAX_CELL_CHARS = 100_000

_PYTHON_TOKEN = re.compile(r"'[^']*'|\b(?:True|False|None)\b")
_JSON_WORD = {"True": "true", "False": "false", "None": "null"}
_ARRAY = re.compile(r"\barray\(|, *dtype=\w+(?=\))")
_SIDED = re.compile(r"(?:sum_)?(.+?)_([ab])(_.+)?")

# What labels of one file have in common. A file that mixes them was put together from several.
_SIDES, _LETTERS, _PLACES, _VERDICTS, _NAMES = "model_a", "a", "left", "A>B", "names of models"
_LABELS = {
    "model_a": ("a", _SIDES),
    "model_b": ("b", _SIDES),
    "a": ("a", _LETTERS),
    "b": ("b", _LETTERS),
    "left": ("a", _PLACES),
    "right": ("b", _PLACES),
    "a=b": ("tie", _VERDICTS),
    "b=a": ("tie", _VERDICTS),
    "tie": ("tie", None),
    "tie (bothbad)": ("both_bad", None),
    "tie (both bad)": ("both_bad", None),
    "both_bad": ("both_bad", None),
    "bothbad": ("both_bad", None),
    "both bad": ("both_bad", None),
}
# Labels with a strength behind them, as Arena-Hard's judges give, written either way round.
_GRADED = {
    "a>>b": ("a", "strong"),
    "b<<a": ("a", "strong"),
    "a>b": ("a", "slight"),
    "b<a": ("a", "slight"),
    "b>a": ("b", "slight"),
    "a<b": ("b", "slight"),
    "b>>a": ("b", "strong"),
    "a<<b": ("b", "strong"),
}
_ONE_HOT = (("winner_model_a", "a"), ("winner_model_b", "b"), ("winner_tie", "tie"))
_HARD_PROMPT_FROM = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """What a vote says: an outcome, or the reason why there is none.

    `raw` is the label as the file holds it, `words` the vocabulary that it belongs to (None for one that all share).
    """

    raw: str | None
    outcome: str | None = None
    strength: str | None = None
    reason: str | None = None
    words: str | None = None


def structured(value: object) -> dict[str, object] | None:
    """Return an object that may stand as text: JSON, or Python's way of writing a dict. None where it cannot be read.

    Pandas writes nested cells of a CSV file as Python would print them: single quotes, None, True, `array([...])`.

    Examples
    --------
    >>> structured("{'turns': 1, 'ok': True, 'n': array([1, 2], dtype=int64)}")
    {'turns': 1, 'ok': True, 'n': [1, 2]}
    """
    if not isinstance(value, str):
        return as_dict(value) or None
    if len(value) > MAX_CELL_CHARS:
        return None
    # Without double quotes and backslashes a Python dict differs from JSON in three words only; that is the fast way.
    plain = '"' not in value and "\\" not in value
    as_json = _PYTHON_TOKEN.sub(_json_token, value) if plain else value
    try:
        return as_dict(json.loads(as_json)) or None
    except (ValueError, RecursionError):
        pass
    try:
        return as_dict(ast.literal_eval(_ARRAY.sub(lambda match: "(" if "array" in match[0] else "", value))) or None
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _json_token(match: re.Match[str]) -> str:
    token = match.group()
    return _JSON_WORD.get(token) or f'"{token[1:-1]}"'


def winner_of(record: Mapping[str, object], model_a: str, model_b: str) -> Winner:
    """Read who won. A label that is missing or not known gives no outcome; it is never taken for a tie.

    Examples
    --------
    >>> winner_of({"winner": "tie (bothbad)"}, "m", "n").outcome, winner_of({"winner": "B+"}, "m", "n").reason
    ('both_bad', "the winner's label is not known")
    """
    found = _labelled(record, model_a, model_b)
    if model_a == model_b:
        return Winner(raw=found.raw, reason="a model against itself")
    return found


def _labelled(record: Mapping[str, object], model_a: str, model_b: str) -> Winner:
    if "acceptedIndex" in record:
        return _accepted(record["acceptedIndex"])
    if "winner" not in record and "win" not in record and "winner_model_a" in record:
        return _one_hot(record)
    return labelled(record.get("winner", record.get("win")), model_a, model_b)


def labelled(value: object, model_a: str, model_b: str) -> Winner:
    """Read a label: of a side, of a draw, a verdict, or the winner's name.

    A name that is also the label of the other side (model a is called "B") could mean either, and gives no outcome.

    Examples
    --------
    >>> labelled("B>>A", "m", "n").strength, labelled("n", "m", "n").outcome, labelled("b", "b", "a").outcome
    ('strong', 'b', None)
    """
    label = as_text(value)
    if label is None or not label.strip() or label.strip().lower() in {"nan", "none", "null"}:
        return Winner(raw=label, reason="there is no winner's label")
    key = label.strip().lower()
    named = {model_a: "a", model_b: "b"}.get(label) if model_a != model_b else None
    outcome, words = _LABELS.get(key, (None, None))
    if outcome is not None:
        if named is not None and outcome in {"a", "b"} and outcome != named:
            return Winner(raw=label, reason="the winner's label names one side and the model on the other")
        return Winner(raw=label, outcome=outcome, words=words)
    if key in _GRADED:
        outcome, strength = _GRADED[key]
        return Winner(raw=label, outcome=outcome, strength=strength, words=_VERDICTS)
    if named is not None:
        return Winner(raw=label, outcome=named, words=_NAMES)
    return Winner(raw=label, reason="the winner's label is not known")


def _accepted(value: object) -> Winner:
    """Read which completion a programmer accepted: 0 is the first (a), 1 the second (b)."""
    raw = as_text(value)
    index = as_whole(value)
    if index in (0, 1):
        return Winner(raw=raw, outcome="ab"[index])
    missing = raw is None or raw.strip().lower() in {"", "nan"}
    return Winner(raw=raw, reason="neither completion was accepted" if missing else "the accepted index is not 0 or 1")


def _one_hot(record: Mapping[str, object]) -> Winner:
    """Read three columns of which exactly one must be 1."""
    marks = {name: as_truth(record.get(name)) for name, _ in _ONE_HOT}
    raw = ",".join(as_text(record.get(name)) or "" for name, _ in _ONE_HOT)
    marked = [outcome for name, outcome in _ONE_HOT if marks[name]]
    if len(marked) == 1 and None not in marks.values():
        return Winner(raw=raw, outcome=marked[0])
    return Winner(raw=raw, reason="the columns winner_model_a, winner_model_b and winner_tie do not mark exactly one")


def as_truth(value: object) -> bool | None:
    """Return a boolean from true, "True", 1, "0", ...; None for anything else.

    Examples
    --------
    >>> as_truth("True"), as_truth(0), as_truth("0.0"), as_truth("maybe"), as_truth(None)
    (True, False, False, None, None)
    """
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    number = as_number(value)
    return bool(number) if number in (0.0, 1.0) else None


def covariates_of(metadata: Mapping[str, object]) -> Iterator[tuple[str, float]]:
    """Yield (name, number) of what is known of both answers; a count split up by kind is added up.

    The side comes last in the name: `sum_assistant_a_tokens` is `assistant_tokens_a`, `header_count_a` stays so.

    Examples
    --------
    >>> list(covariates_of({"sum_assistant_a_tokens": 7, "header_count_b": {"h1": 1, "h2": 2}, "sum_user_tokens": 3}))
    [('assistant_tokens_a', 7.0), ('header_count_b', 3.0), ('user_tokens', 3.0)]
    """
    for name, value in metadata.items():
        parts = as_dict(value).values() or [value]
        numbers = [number for part in parts if (number := as_number(part)) is not None]
        if numbers:
            yield _side_last(name), sum(numbers)


@lru_cache(maxsize=1024)
def _side_last(name: str) -> str:
    sided = _SIDED.fullmatch(name)
    return f"{sided[1]}{sided[3] or ''}_{sided[2]}" if sided else name.removeprefix("sum_")


def tags_of(categories: Mapping[str, object]) -> tuple[list[str], dict[str, int]]:
    """Return the categories that hold for a prompt, and the scores among them (`if_score`).

    A prompt that meets 6 or more of the 7 criteria is also tagged `hard_prompt`, as the arena does.

    Examples
    --------
    >>> tags_of({"math_v0.1": {"math": True}, "if_v0.1": {"if": False, "score": 4}})
    (['math'], {'if_score': 4})
    """
    tags: list[str] = []
    scores: dict[str, int] = {}
    for group, value in categories.items():
        name = group.partition("_v")[0]
        flags = as_dict(value)
        met = [flag for flag, holds in flags.items() if holds is True]
        tags.extend(met if flags else [name] if value is True else [])
        score = None if isinstance(flags.get("score"), str) else as_whole(flags.get("score"))
        if score is not None:
            scores[f"{name}_score"] = score
        if name == "criteria" and len(met) >= _HARD_PROMPT_FROM:
            tags.append("hard_prompt")
    return tags, scores
