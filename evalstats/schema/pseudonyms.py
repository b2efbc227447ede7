"""Keyed pseudonyms: HMAC-SHA256 (RFC 2104) under a secret key, one domain for each column, cut to 64 bits.

Without the key nobody can test a guess, as one can with a plain hash of an e-mail address. Whoever has the key can.
"""

import hmac
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

import polars as pl

from evalstats.errors import InputError
from evalstats.schema.identifying import names_somebody

KEY_BYTES: Final = 32
# 64 bits: among a hundred million people two share a pseudonym with a chance of 1 in 3700.
_HEX: Final = 16


class Pseudonyms:
    """Makes pseudonyms under one key.

    Parameters
    ----------
    key
        32 secret bytes.

    Raises
    ------
    InputError
        If the key has another length.

    Examples
    --------
    >>> names = Pseudonyms(bytes(32))
    >>> names.of("rater", "ann") == names.of("rater", "ann"), names.of("rater", "ann") == names.of("session", "ann")
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            message = (
                f"the key has {len(key)} bytes; {KEY_BYTES} random ones are needed (secrets.token_bytes({KEY_BYTES}))"
            )
            raise InputError(message)
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

    Examples
    --------
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

    Examples
    --------
    >>> matching(pl.Series("a", ["x", None, "1"]), str.isdigit).to_list()
    [False, False, True]
    """
    levels = series.drop_nulls().unique()
    found = levels.filter(pl.Series([test(level) for level in levels], dtype=pl.Boolean))
    return series.is_in(found.implode()).fill_null(value=False)
