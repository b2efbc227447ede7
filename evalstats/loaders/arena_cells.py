"""Cells of arena votes: nested values that a CSV file holds as text, the winner's label, covariates and tags."""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Final

import msgspec
import polars as pl

from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_whole, dicts

# ast.literal_eval refuses deep nesting by itself; a cell longer than this is no cell of metadata, or no conversation.
MAX_CELL_CHARS, _MAX_TALK_CHARS = 100_000, 2_000_000

_PYTHON_TOKEN = re.compile(r"'[^']*'|\b(?:True|False|None)\b")
_JSON_WORD = {"True": "true", "False": "false", "None": "null"}
_ARRAY = re.compile(r"\barray\(|, *dtype=\w+(?=\))")
_SIDED = re.compile(r"(?:sum_)?(.+?)_([ab])(_.+)?")

# What labels of one file have in common. A file that mixes them was put together from several.
_SIDES, _LETTERS, _PLACES, _VERDICTS, _NAMES = "model_a", "a", "left", "A>B", "names of models"
_SAID = "a is better"
UNKNOWN = "the winner's label is not known"
_LABELS = {
    "a": ("a", _LETTERS),
    "b": ("b", _LETTERS),
    "left": ("a", _PLACES),
    "right": ("b", _PLACES),
    ">": ("a", _VERDICTS),
    "<": ("b", _VERDICTS),
    "a=b": ("tie", _VERDICTS),
    "b=a": ("tie", _VERDICTS),
    **{
        f"{noun}{side} {word}": (side, _SAID)
        for side in "ab"
        for noun in ("", "model ", "assistant ", "response ")
        for word in ("is better", "wins", "won")
    },
    **{
        f"{noun}{gap}{side}": (side, noun)
        for side in "ab"
        for noun in ("model", "assistant", "response")
        for gap in " _"
    },
    "model_a": ("a", _SIDES),
    "model_b": ("b", _SIDES),
    "tie": ("tie", None),
    "draw": ("tie", None),
    **dict.fromkeys(
        ("both", "both good", "both are good", "both_good", "equally good", "equal", "same", "="), ("tie", None)
    ),
    **dict.fromkeys(("no preference", "no difference", "about the same", "a = b"), ("tie", None)),
    "tie (bothbad)": ("both_bad", None),
    "tie (both bad)": ("both_bad", None),
    "both_bad": ("both_bad", None),
    "bothbad": ("both_bad", None),
    "both bad": ("both_bad", None),
    "both are bad": ("both_bad", None),
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
_HARD_PROMPT_FROM = 6


class VoteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a vote says: an outcome, or the reason why there is none.

    `raw` is the label as the file holds it, `words` the vocabulary that it belongs to (None for one that all share).
    """

    raw: str | None
    outcome: str | None = None
    strength: str | None = None
    reason: str | None = None
    words: str | None = None


def structured(value: object) -> dict[str, object] | None:
    """Return an object that may stand as text. None where it cannot be read."""
    return as_dict(parsed(value, MAX_CELL_CHARS) if isinstance(value, str) else value) or None


def parsed_list(cell: str) -> list[object] | None:
    """Return a list that stands as text. None for anything else."""
    value = parsed(cell, _MAX_TALK_CHARS) if cell.lstrip().startswith("[") else None
    found = as_list(value)
    return found if found or value == [] else None


def parsed(cell: str, most_chars: int) -> object:
    """Return what stands as text: JSON, or what Python prints. None where it cannot be read, or is longer.

    Pandas writes nested cells of a CSV file as Python would print them: single quotes, None, True, `array([...])`.
    """
    if len(cell) > most_chars:
        return None
    # Without double quotes and backslashes what Python prints differs from JSON in three words only; that is the fast way.
    plain = '"' not in cell and "\\" not in cell
    with suppress(ValueError, RecursionError):
        return json.loads(_PYTHON_TOKEN.sub(_json_token, cell) if plain else cell)
    with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ast.literal_eval(_ARRAY.sub(lambda match: "(" if "array" in match[0] else "", cell))
    return None


def _json_token(match: re.Match[str]) -> str:
    token = match.group()
    return _JSON_WORD.get(token) or f'"{token[1:-1]}"'


def labelled(value: object, model_a: str, model_b: str) -> VoteOutcome:
    """Read a label: of a side, of a draw, a verdict, or the winner's name.

    A name that is also the label of the other side (model a is called "B") could mean either, and gives no outcome.

    >>> labelled("B>>A", "m", "n").strength, labelled("n", "m", "n").outcome, labelled("b", "b", "a").outcome
    ('strong', 'b', None)
    """
    label = as_text(value)
    if label is None or not label.strip() or label.strip().lower() in {"nan", "none", "null"}:
        return VoteOutcome(raw=label, reason="the winner's label is missing")
    key = label.strip().lower()
    named = {model_a: "a", model_b: "b"}.get(label) if model_a != model_b else None
    outcome, words = _LABELS.get(key, (None, None))
    if outcome is not None and not (key == "both" and named is not None):  # a system of two parts may be called both
        if named is not None and outcome in {"a", "b"} and outcome != named:
            return VoteOutcome(raw=label, reason="the winner's label names one side and the model on the other")
        return VoteOutcome(raw=label, outcome=outcome, words=words)
    if key in _GRADED:
        outcome, strength = _GRADED[key]
        return VoteOutcome(raw=label, outcome=outcome, strength=strength, words=_VERDICTS)
    if named is not None:
        return VoteOutcome(raw=label, outcome=named, words=_NAMES)
    return VoteOutcome(raw=label, reason=UNKNOWN)


def sides_of(winner: pl.Series, loser: pl.Series) -> dict[str, pl.Series]:
    """Return two sides of votes that say who won and who lost: in the order of their names, which tells nothing."""
    both = pl.DataFrame({"winner": winner.cast(pl.String), "loser": loser.cast(pl.String)})
    sided = both.select(model_a=pl.min_horizontal(pl.all()), model_b=pl.max_horizontal(pl.all()))
    return {name: sided[name] for name in sided.columns}


def accepted(label: str | None, _: str | None = None) -> VoteOutcome:
    """Read which completion a programmer accepted: 0 is the first (a), 1 the second (b)."""
    index = as_whole(label)
    if index in (0, 1):
        return VoteOutcome(raw=label, outcome="ab"[index])
    missing = label is None or label.strip().lower() in {"", "nan"}
    return VoteOutcome(
        raw=label, reason="neither completion was accepted" if missing else "the accepted index is not 0 or 1"
    )


def one_hot(label: str | None, _: str | None = None) -> VoteOutcome:
    """Read three cells (a won, b won, a tie), with commas between them, of which exactly one must be 1.

    >>> one_hot("0,1.0,0").outcome, one_hot("1,1,0").outcome
    ('b', None)
    """
    marks = [as_truth(cell) for cell in (label or "").split(",")]
    if marks.count(True) == 1 and None not in marks:
        return VoteOutcome(raw=label, outcome=("a", "b", "tie")[marks.index(True)])
    reason = "the columns winner_model_a, winner_model_b and winner_tie do not mark exactly one"
    return VoteOutcome(raw=label, reason=reason)


def as_truth(value: object) -> bool | None:
    """Return a boolean from true, "True", 1, "0", ...; None for anything else."""
    if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
        return value.strip().lower() == "true"
    number = as_number(value)
    return bool(number) if number in (0.0, 1.0) else None


def side_last(name: str) -> str:
    """Return a name of what is known of both answers with the side at its end.

    >>> side_last("sum_assistant_a_tokens"), side_last("header_count_a"), side_last("sum_user_tokens")
    ('assistant_tokens_a', 'header_count_a', 'user_tokens')
    """
    sided = _SIDED.fullmatch(name)
    return f"{sided[1]}{sided[3] or ''}_{sided[2]}" if sided else name.removeprefix("sum_")


def tags_of(categories: Mapping[str, object]) -> tuple[list[str], dict[str, int]]:
    """Return the categories that hold for a prompt, and the scores among them (`if_score`).

    A prompt that meets 6 or more of the 7 criteria is also tagged `hard_prompt`, as the arena does.
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


SIDES: Final = ("a", "b")
ANSWERS: Final = frozenset(f"{name}_{side}" for name in ("conversation", "response") for side in SIDES)

# Names that are also words, people or stars (Nova, Phi, Yi, Solar) are left out. Gemini and Claude are kept by their context.
_MODELS = (
    r"Chat ?GPT|GPT-?[2345][\w.\-]*|Claude|Gemini|Google Bard|Bard|LLaMA|Llama|Vicuna|Koala|Alpaca|Mistral|Mixtral|Qwen|"
    r"Tongyi Qianwen|DeepSeek|Deepseek|Grok|Command[ -]R|ChatGLM|GLM-?\d[\w.\-]*|PaLM|LaMDA|Kimi|MiniMax|Hunyuan|ERNIE Bot|"
    r"Doubao|Gemma|StableLM|Dolly|FastChat|WizardLM|Guanaco|Open ?Assistant|Baichuan|InternLM|Nemotron|DBRX|OLMo|"
    r"T[uü]lu|Zephyr|Bing Chat|Copilot|Phind"
)
_MAKERS = (
    r"OpenAI|Anthropic|Google(?: DeepMind| AI)?|DeepMind|Meta(?: AI)?|Mistral AI|Alibaba(?: Cloud| Group)?|xAI|DeepSeek|Cohere|"
    r"Amazon|Microsoft|Zhipu(?: ?AI)?|01\.AI|Baidu|Tencent|Moonshot(?: AI)?|MiniMax|LMSYS|NVIDIA|"
    r"Large Model Systems Organization|"
    r"Databricks|Reka(?: AI)?|AI21(?: Labs)?|Inflection(?: AI)?|Stability AI|Perplexity|Nous Research|Together(?: AI)?|LAION"
)
_KIND = (
    r"(?:an? |the )?(?:(?:helpful|large|new|friendly|virtual) )*"
    r"(?:AI|artificial intelligence|language model|chat ?bot|assistant)"
)
_MADE = r"(?:developed|created|trained|made|built|designed|fine-tuned|produced)"
# "I'm" as it stands in a text, or escaped in a cell.
_I_AM = r"I(?:\\?['’]m| am|\\u2019m)"
_FIRST_PERSON = (
    # "I am Claude", "I'm an AI assistant called ChatGPT".
    rf"{_I_AM} (?:actually |just |simply )?(?:{_KIND}[^.!?\n]{{0,40}}?,? (?:called|named|known as) )?(?P<i>{_MODELS})\b",
    rf"[Mm]y name is (?P<my>{_MODELS})\b",
    # "I am a large language model, trained by Google"; "I was developed by OpenAI".
    rf"{_I_AM} {_KIND}[^.!?\n]{{0,80}}?\b{_MADE} (?:and \w+ )?by (?:researchers (?:at|from) )?(?:{_MAKERS})\b",
    rf"I was (?:\w+ )?{_MADE} (?:and \w+ )?by (?:{_MAKERS})\b",
    rf"As {_KIND}[^.!?\n]{{0,60}}?\b{_MADE} (?:and \w+ )?by (?:{_MAKERS})\b",
    r"As (?:Chat ?GPT|Claude|Gemini|Bard|Vicuna|Koala|Llama|Qwen|Grok|DeepSeek|Mistral), (?:I|my)\b",
    r"我是(?:通义千问|文心一言|豆包|混元|智谱清言|ChatGPT|Claude|GPT|Qwen|DeepSeek|ChatGLM|百川)",
)
_SELF_NAMING: Final = "|".join(f"(?:{part})" for part in _FIRST_PERSON)
# Where such a sentence may begin: searching for this first is many times faster.
_BEGINNING = re.compile(r"I(?:'m | am | was |’m |\\'m |\\u2019m )|[Mm]y name is |As (?:an? |the |[A-Z])|我是")
# Claude Monet is someone else.
_SURNAME = re.compile(r" [A-Z][a-z]")
_REMOVED = re.compile(r"\s*\[(?:\d+ chars removed|redacted)\]\s*", re.IGNORECASE)


@cache
def _naming() -> re.Pattern[str]:
    """Compile the long pattern once it is asked: most files that are looked at hold no votes."""
    return re.compile(_SELF_NAMING)


def tells_its_name(text: str) -> bool:
    """Say whether a text names its own model or maker in the first person, rightly or not."""
    for beginning in _BEGINNING.finditer(text):
        start = beginning.start()
        found = (
            None if start and text[start - 1].isascii() and text[start - 1].isalnum() else _naming().match(text, start)
        )
        if found is not None and not ((found["i"] or found["my"]) and _SURNAME.match(text, found.end())):
            return True
    return False


def names_itself(answers: pl.Series, *, plain: bool) -> pl.Series:
    """Say of each answer whether it names its model or maker; null where none was kept.

    An answer is a list of messages (of dtype Object), or a cell of text: with `plain` the answer itself or a list of answers,
    else messages as JSON or as Python prints them. A cell is parsed only if it holds a name, which a whole column is searched
    for at once.

    >>> names_itself(pl.Series(["I am ChatGPT.", "Hi", None]), plain=True).to_list()
    [True, False, None]
    """
    if answers.dtype == pl.Object:
        cells = answers.to_list()
        talks = pl.Series([None if isinstance(each, str) else _said(each) for each in cells], dtype=pl.String)
        alone = pl.Series([each if isinstance(each, str) else None for each in cells], dtype=pl.String)
        return _marked(talks, talks.is_not_null(), tells_its_name).fill_null(names_itself(alone, plain=plain))
    text = answers if answers.dtype == pl.String else answers.clear(len(answers)).cast(pl.String)
    text = text.set(~text.str.contains(r"\S").fill_null(value=True), None)
    is_known = ~text.str.contains("chars removed]", literal=True)
    if not plain:
        is_known &= text.str.contains("assistant", literal=True)
    return _marked(text, is_known, lambda cell: _of_cell(cell, plain=plain))


def _marked(texts: pl.Series, is_known: pl.Series, look: Callable[[str], bool | None]) -> pl.Series:
    """Return what `look` says of each text in which a name may stand; of the others that none does, where they are known."""
    found = pl.select(pl.when(is_known).then(pl.lit(value=False))).to_series()
    places = texts.str.contains(_BEGINNING.pattern).fill_null(value=False).arg_true()
    return found.scatter(places, [look(text) for text in texts.gather(places)]) if len(places) else found


def _said(talk: object) -> str | None:
    texts = [text for text in _answers(talk) if not _REMOVED.fullmatch(text)]
    return "\n".join(texts) if texts else None


def _answers(value: object) -> Iterator[str]:
    """Yield the texts of the assistant's messages; a content may be text or a list of parts."""
    for message in dicts(value):
        if message.get("role") == "assistant":
            content = message.get("content")
            if isinstance(content, str):
                yield content
            for part in dicts(content):
                text = part.get("text")
                if isinstance(text, str):
                    yield text
    for text in as_list(value):
        if isinstance(text, str):
            yield text


def _of_cell(cell: str, *, plain: bool) -> bool | None:
    """Read a cell of text: an answer, or messages as JSON or as Python prints them. It is parsed only if it holds a name."""
    if not tells_its_name(cell):
        # Whatever it is, no one names themselves in it; but what holds no answer tells nothing.
        has_answer = plain or "assistant" in cell
        return False if has_answer and "chars removed]" not in cell else None
    messages = parsed_list(cell)
    if messages is None:
        return True if plain else None
    said = _said(messages)
    return None if said is None else tells_its_name(said)
