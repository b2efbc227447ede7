"""Which columns are counts, measures, answers or scores by their name; any other number may be the number of somebody."""

import re
from typing import Final

from evalstats.schema.columns import TABLES
from evalstats.schema.identifying import plain

# The last word of the name, so that `badge_no` and `usernum` are none. Short on purpose: what is missing is made a pseudonym,
# which loses less than an id that stays. No "number", "order", "weight", "height", "price of", "time": they number or describe
# people as often as runs.
_MEASURE = re.compile(
    r"(?:n|num)_\w+|(?:is|has)_\w+|\w+_per_\w+|(?:evaluation|display)_order"
    r"|(?:.*_)?(?:counts?|tokens|length|len|turns?|rounds?|steps?|trials?|attempts|retries|errors|words|chars|characters|lines|"
    r"bytes|cost|usd|price|s|ms|sec|seconds|latency|duration|scores?|points|rank|rating|reward|accuracy|precision|recall|f1|"
    r"headers?|bold|emojis?|loss|rate|ratio|share|fraction|percent|pct|prob|probability|confidence|p_value|threshold|temperature|top_p|seed)"
)
_SIDE: Final = re.compile(r"_(?:a|b|left|right)$")
_NUMBERS: Final = frozenset(
    column.name for columns in TABLES.values() for column in columns if column.dtype.is_numeric()
)


def is_measure(name: str) -> bool:
    """Whether a column of numbers counts or measures by its name, or has a name of the glossary.

    Examples
    --------
    >>> [is_measure(name) for name in ("prompt_tokens", "n_messages", "bold_count_a", "latencyMs", "cost_usd")]
    [True, True, True, True, True]
    >>> [is_measure(name) for name in ("badge", "usernum", "salary", "epoch_h", "account", "device_serial")]
    [False, False, False, False, False, False]
    """
    found = plain(name)
    return found in _NUMBERS or _MEASURE.fullmatch(_SIDE.sub("", found)) is not None


# What a name ends in when the column holds an answer, a key or a judgement; what stands before it does not matter.
_RESULT = re.compile(
    r"answers?|gold(?:en)?|groundtruth|predictions?|predicted|preds?|responses?|completion|generation|scores?|ratings?|grades?|"
    r"rewards?|accuracy|acc|(?:in)?correct|correctness|verdicts?|judge?ments?|pass|passed|failed|solved|resolved|success|"
    r"outcomes?|winner"
)
# These are so only alone or beside one another: a `topic_label` or an `attack_target` describes items.
_ALONE = re.compile(r"labels?|targets?|references?|expected|truth|outputs?|solution|result|decision|preference|y")
# What may stand around either without changing what it is.
_BESIDE = re.compile(
    r"option|choice|letter|key|idx|index|text|value|string|num|raw|parsed|extracted|final|true|ground|human|model|judge|ref"
)


def is_answer(name: str) -> bool:
    """Whether a column holds an answer, an answer key or a judgement by its name, as text or as a number.

    Examples
    --------
    >>> [is_answer(name) for name in ("gold", "correctAnswer", "answer_idx", "label", "true_label", "judge_score")]
    [True, True, True, True, True, True]
    >>> [is_answer(name) for name in ("passage", "answer_type", "target_language", "topic_label", "judge_model")]
    [False, False, False, False, False]
    """
    words = _SIDE.sub("", plain(name)).split("_")
    about = [word for word in words if not _BESIDE.fullmatch(word)]
    if not about:
        return False
    if all(_RESULT.fullmatch(word) or _ALONE.fullmatch(word) for word in about):
        return True
    while _BESIDE.fullmatch(words[-1]):
        words.pop()
    return _RESULT.fullmatch(words[-1]) is not None
