"""Who made a model, told by its name: a judge and a model of one family may share tastes."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from evalstats.errors import InputError

# The first that is found in a name decides; fine-tuned models go by the maker of the judge that is likely meant.
_FAMILIES: Final = (
    ("OpenAI", r"gpt-?\d|gpt-?oss|chatgpt|davinci|(?<![a-z])o[134](-|$|_)|openai"),
    ("Anthropic", r"claude|anthropic"),
    ("Google", r"gemini|gemma|palm|(?<![a-z])bard|google"),
    ("Mistral", r"mistral|mixtral|ministral|codestral|magistral"),
    ("DeepSeek", r"deepseek"),
    ("Alibaba", r"qwen|qwq"),
    ("xAI", r"grok"),
    ("Cohere", r"cohere|command-?[ar]\b|command-?[ar]-|(?<![a-z])aya-"),
    ("Microsoft", r"(?<![a-z])phi-?\d|wizardlm"),
    ("01.AI", r"(?<![a-z])yi-\d"),
    ("Reka", r"(?<![a-z])reka"),
    ("Meta", r"llama|meta-"),
)


def family_of(name: str, known: Mapping[str, str]) -> str | None:
    """Return the family of a model or judge: as the user says, else by its name; None where neither tells.

    >>> (
    ...     family_of("gpt-4-turbo-2024-04-09", {}),
    ...     family_of("alpaca_eval_gpt4", {}),
    ...     family_of("our-judge", {"our-judge": "Us"}),
    ... )
    ('OpenAI', 'OpenAI', 'Us')
    """
    if name in known:
        return known[name]
    low = name.lower()
    return next((family for family, pattern in _FAMILIES if re.search(pattern, low)), None)


def families_said(pairs: Sequence[str]) -> dict[str, str]:
    """Return what NAME=FAMILY says.

    >>> families_said(["our-judge=OpenAI"])
    {'our-judge': 'OpenAI'}
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, family = pair.rpartition("=")
        if not equals or not name or not family:
            raise InputError(f"--family {pair!r} is not NAME=FAMILY")
        found[name] = family
    return found
