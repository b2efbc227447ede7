"""Pseudonyms of identifiers (HMAC-SHA256, RFC 2104, a secret key, 64 bits), and classes for words that people type freely."""

import builtins
import hmac
import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.identifiers import is_telling, names_somebody

KEY_BYTES: Final = 32
# 64 bits: among a hundred million people two share a pseudonym with a chance of 1 in 3700.
_HEX: Final = 16


class Pseudonyms:
    """Makes pseudonyms under one key.

    Parameters
    ----------
    key
        32 secret bytes.

    >>> names = Pseudonyms(bytes(32))
    >>> names.of("rater", "ann") == names.of("rater", "ann"), names.of("rater", "ann") == names.of("session", "ann")
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InputError(
                f"the key has {len(key)} bytes; {KEY_BYTES} random ones are needed (secrets.token_bytes({KEY_BYTES}))"
            )
        self._key = key

    @property
    def fingerprint(self) -> str:
        """What tells one key from another and gives nothing of it away."""
        return self.of("fingerprint of the key", "")

    def of(self, domain: str, value: str) -> str:
        """Return the pseudonym of a value in a column: 16 hexadecimal digits."""
        text = f"evalstats\0{domain}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, text, "sha256").hex()[:_HEX]

    def of_series(self, series: pl.Series) -> pl.Series:
        """Return a column with a pseudonym for each value; nulls stay. The ids 12, "12" and 12.0 are one."""
        domain = series.name
        text = series.cast(pl.String)
        if series.dtype == pl.Float64():  # a reader widens whole numbers where one is missing
            text = text.str.strip_suffix(".0")
        return mapped(text, lambda value: self.of(domain, value))

    def of_run(self, run: str) -> str:
        """Return the name of a run or a file; where it looks like an id, a pseudonym with the digest or ending behind it."""
        stem, mark, digest = run.rpartition("~")
        stem, rest = (stem, mark + digest) if mark else (run, PurePath(run).suffix)
        return f"{self.of('name', stem)}{rest}" if names_somebody(stem) else run

    def of_path(self, path: str) -> str:
        """Return the last two parts of a path: the folders above name machines and the people who work there."""
        return str(PurePath(*(self.of_run(part) for part in PurePath(path).parts[-2:])))


def mapped(series: pl.Series, new: Callable[[str], str | None]) -> pl.Series:
    """Replace every value of a column of text; each distinct one is worked out once.

    >>> mapped(pl.Series("a", ["x", None, "x"]), str.upper).to_list()
    ['X', None, 'X']
    """
    levels = series.drop_nulls().unique()
    if not len(levels):
        return series
    made = pl.Series([new(level) for level in levels], dtype=pl.String)
    return series.replace_strict(levels, made, default=None, return_dtype=pl.String).alias(series.name)


def matching(series: pl.Series, test: Callable[[str], bool]) -> pl.Series:
    """Say which values of a column of text pass a test; nulls do not.

    >>> matching(pl.Series("a", ["x", None, "1"]), str.isdigit).to_list()
    [False, False, True]
    """
    levels = series.drop_nulls().unique()
    found = levels.filter(pl.Series([test(level) for level in levels], dtype=pl.Boolean))
    return series.is_in(found.implode()).fill_null(value=False)


_MAX_WORDED_CHARS: Final = 50  # with a space in it; names of tasks in one word may be longer
OTHER_REASON: Final = "other"

# Words with which people speak of themselves or to somebody; a label of a list has none.
_SPEAKING = re.compile(
    r"\b(?:i'\w+|my|me|mine|myself|we|our|you|your|he|she|his|her|him|name is|please|thanks?|hello|hey|dear|mr|mrs|dr|"
    r"ich|mein\w*|mir|mich|bitte|hallo|herrn?|frau|je|yo)\b|^i\s",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[.!?](?:\s|$)|[\"“”„«»]|://|www\.")
# A number beside words that is no year; and a long one anywhere that is no date written as 20260131 or 260131.
_NUMBER_BESIDE_WORDS = re.compile(
    r"\s\D*(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3,}|(?<!\d)(?!(?:19|20)\d\d(?!\d))\d{3,}\D*\s"
)
_LONG_NUMBER = re.compile(r"(?<!\d)(?!(?:(?:19|20)\d\d|2\d)[01]\d[0-3]\d(?!\d))\d{6,}")
_ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}")

# Reasons that are made of these words alone are ours or as good as ours: they name nobody.
_OUR_TEXT: Final = (
    "a an the no not none neither nor one more than once each exactly is was are were does do did be has have had gave given "
    "give could can for to of in on at by with and or but there it its that which what against itself only other "
    "winner winners label labels vote votes verdict outcome ranking rank extent choice tie model models side sides event "
    "events judge judges judgment annotator annotators answer answers completion completions response accepted index "
    "columns column mark marks score scores value values number numbers null nan missing absent empty unknown known read "
    "scorer scored evaluated evaluation sample harness told predict stands among names contradict contradicts lies outside "
    "within"
)
_OUR_WORDS: Final = frozenset(_OUR_TEXT.split())
_CLASSES: Final = (
    ("timeout", r"time[- _]?d?[- _]?out|deadline"),
    ("rate limit", r"rate[- _]?limit|too many requests|\b429\b|quota"),
    ("content filter", r"content[- _]?(?:filter|policy)|moderation|safety"),
    ("refusal", r"refus"),
    ("context length", r"context[- _]?(?:length|window)|too long|max(?:imum)?[- _]?tokens"),
    ("out of turns", r"max(?:imum)?[- _]?(?:steps|turns)|out of turns"),
    ("out of memory", r"out of memory|\boom\b"),
    ("cancelled", r"cancel|abort|interrupt"),
    ("connection", r"connection|network|unreachable|\bdns\b|\bssl\b"),
    ("server error", r"overload|unavailable|server[- _]?error|\b50[0234]\b"),
    ("not allowed", r"unauthori[sz]ed|forbidden|permission|authentication|\b40[13]\b"),
    ("not found", r"not[- _]found|\b404\b"),
    ("not readable", r"pars(?:e|ing)|json|decod|malformed|invalid"),
    ("judge failed", r"judge"),
    ("crash", r"crash|exception|traceback"),
)
_FOUND: Final = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _CLASSES)
_ERROR_TYPES: Final = frozenset(
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
)


def is_no_label(value: str) -> bool:
    """Whether a short value was written by somebody, or holds a number of somebody, and is no label from a list."""
    text = value.strip()
    if is_telling(value) or names_somebody(text) or _LONG_NUMBER.search(text):
        return True
    if not re.search(r"\s", text):
        return "://" in text
    return len(text) > _MAX_WORDED_CHARS or any(
        found.search(text) for found in (_SPEAKING, _SENTENCE, _NUMBER_BESIDE_WORDS, _ADDRESS)
    )


def reason_class(reason: str) -> str:
    """Return the class of a reason for a missing score: a type of error, a known kind of failure, or "other".

    A reason made of the words that the loaders use themselves stays whole.
    """
    words = re.findall(r"[^\W\d_]+", reason.lower().replace("'s", ""))
    if words and _OUR_WORDS.issuperset(words) and not re.search(r"\d", reason):
        return reason
    for word in re.findall(r"\w+", reason):
        if word in _ERROR_TYPES:
            return word
    return next((name for name, pattern in _FOUND if pattern.search(reason)), OTHER_REASON)
