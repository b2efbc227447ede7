"""Answers that give away which model wrote them: a vote on them is not blind."""

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.loaders.values import as_list, dicts

SIDES: Final = ("a", "b")
# What is left of the answers in a Parquet file, under names that no column has: only texts in which a name stands.
SAID: Final = {side: f"\x00said_{side}" for side in SIDES}
WITH_ANSWERS: Final = frozenset(
    {*(f"{name}_{side}" for name in ("conversation", "response") for side in SIDES), *SAID.values()}
)
# Parsing a cell that Python printed takes long; a longer one is not parsed.
_MAX_CELL_CHARS: Final = 2_000_000

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
# Without look-around, so that Polars can search for it as well.
NAMING: Final = "|".join(f"(?:{part})" for part in _FIRST_PERSON)
_NAMING = re.compile(NAMING)
# Where such a sentence may begin: searching for this first is many times faster.
_BEGINNING = re.compile(r"I(?:'m | am | was |’m |\\'m |\\u2019m )|[Mm]y name is |As (?:an? |the |[A-Z])|我是")
# Claude Monet is someone else.
_SURNAME = re.compile(r" [A-Z][a-z]")
_REMOVED = re.compile(r"\s*\[(?:\d+ chars removed|redacted)\]\s*", re.IGNORECASE)


def tells_its_name(text: str) -> bool:
    """Say whether a text names its own model or maker in the first person, rightly or not.

    Examples
    --------
    >>> tells_its_name("I am a large language model, trained by Google."), tells_its_name("GPT-4 was made by OpenAI.")
    (True, False)
    """
    for beginning in _BEGINNING.finditer(text):
        start = beginning.start()
        found = (
            None if start and text[start - 1].isascii() and text[start - 1].isalnum() else _NAMING.match(text, start)
        )
        if found is not None and not ((found["i"] or found["my"]) and _SURNAME.match(text, found.end())):
            return True
    return False


def names_itself(record: Mapping[str, object], side: str) -> bool | None:
    """Say whether an answer on one side names its model or maker; None where no answer was kept.

    Examples
    --------
    >>> names_itself({"conversation_a": [{"role": "assistant", "content": "I'm ChatGPT."}]}, "a")
    True
    >>> names_itself({"conversation_a": [{"role": "user", "content": "I'm ChatGPT."}]}, "a") is None
    True
    """
    if SAID[side] in record:
        said = record[SAID[side]]
        return tells_its_name(said) if isinstance(said, str) else None
    for name in (f"conversation_{side}", f"response_{side}"):
        value = record.get(name)
        plain = name.startswith("response")
        found = _of_cell(value, plain=plain) if isinstance(value, str) else _of_messages(value)
        if found is not None:
            return found
    return None


def _of_messages(value: object) -> bool | None:
    texts = [text for text in _answers(value) if not _REMOVED.fullmatch(text)]
    return any(map(tells_its_name, texts)) if texts else None


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
    if not cell.strip():
        return None
    if not tells_its_name(cell):
        # Whatever it is, no one names themselves in it; but what holds no answer tells nothing.
        has_answer = plain or "assistant" in cell
        return False if has_answer and "chars removed]" not in cell else None
    messages = parsed_list(cell)
    if messages is None:
        return True if plain else None
    return _of_messages(messages)


def parsed_list(cell: str) -> list[object] | None:
    """Return a list that stands as text: JSON, or Python's way of writing it. None for anything else.

    Examples
    --------
    >>> parsed_list("['a', None]"), parsed_list("a")
    (['a', None], None)
    """
    if len(cell) > _MAX_CELL_CHARS or not cell.lstrip().startswith("["):
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value: object = read(cell)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        found = as_list(value)
        if found or value == []:
            return found
    return None
