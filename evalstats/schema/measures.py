"""Which columns of numbers are counts or measures by their name; any other number may be the number of somebody."""

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
