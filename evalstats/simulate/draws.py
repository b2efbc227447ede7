"""Parts that simulators share: random streams told apart by what they are for, intercepts, shares, checks, files."""

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import expit

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, IntArray

Calibrate = Literal["count", "rate"]
# Names of the four outcomes of a vote in public arena data.
VOTE_LABELS = ("model_a", "model_b", "tie", "tie (bothbad)")


def generator(seed: int, purpose: str, *labels: str) -> np.random.Generator:
    """Return the stream that belongs to a seed, a purpose and further labels.

    The labels become the spawn key of numpy's `SeedSequence`, so streams with different labels are independent.

    Raises
    ------
    InputError
        If the seed is negative.

    Examples
    --------
    >>> first, again, other = generator(0, "noise", "a"), generator(0, "noise", "a"), generator(0, "noise", "b")
    >>> draws = [float(stream.random()) for stream in (first, again, other)]
    >>> draws[0] == draws[1], draws[0] == draws[2]
    (True, False)
    """
    if seed < 0:
        raise InputError(f"seed is {seed}; use a whole number from 0")
    digest = hashlib.blake2b("\x1f".join((purpose, *labels)).encode(), digest_size=16).digest()
    key = tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def intercept_for_rate(eta: FloatArray, rate: float) -> float:
    """Return a such that the mean of expit(a + eta) is `rate`.

    Examples
    --------
    >>> round(intercept_for_rate(np.zeros(3), 0.5), 6)
    0.0
    """
    low, high = -float(eta.max()) - 40.0, -float(eta.min()) + 40.0
    return float(brentq(lambda intercept: float(expit(intercept + eta).mean()) - rate, low, high, xtol=1e-12))


def intercept_for_count(latent: FloatArray, wanted: int) -> float:
    """Return a such that a + latent is above 0 `wanted` times: half-way between the last that must be and the first not."""
    ordered = np.sort(latent)[::-1]
    padded = np.concatenate([[ordered[0] + 2.0], ordered, [ordered[-1] - 2.0]])
    place = min(max(wanted, 0), latent.size)
    return -float(padded[place] + padded[place + 1]) / 2


def apportion(counts: Sequence[int], total: int) -> list[int]:
    """Scale counts to a new total by largest remainders; the first of equal remainders wins.

    Examples
    --------
    >>> apportion([59, 118, 58], 234)
    [59, 117, 58]
    """
    exact = [count * total / sum(counts) for count in counts]
    whole = [int(share) for share in exact]
    by_remainder = sorted(range(len(counts)), key=lambda level: whole[level] - exact[level])
    for level in by_remainder[: total - sum(whole)]:
        whole[level] += 1
    return whole


def check_spread(**sds: float) -> None:
    """Refuse a standard deviation below 0."""
    for name, value in sds.items():
        if not value >= 0:
            raise InputError(f"{name} is {value:g}; a standard deviation is at least 0")


def check_share(name: str, value: float, *, high: float = 0.5) -> None:
    """Refuse a share that is not from 0 to `high`."""
    if not 0 <= value <= high:
        raise InputError(f"{name} is {value:g}; give a proportion from 0 to {high:g}")


def named(names: Sequence[str], codes: IntArray | pl.Series) -> pl.Series:
    """Return the names of codes."""
    return pl.Series(list(names), dtype=pl.String).gather(pl.Series(codes))


def numbered(prefix: str, numbers: IntArray) -> pl.Series:
    """Return ids of one width: `u001`, `u002`, ..."""
    width = len(str(int(numbers.max(initial=1))))
    return pl.select(pl.lit(prefix) + pl.Series(numbers).cast(pl.String).str.zfill(width)).to_series()


def times_after(start: datetime, milliseconds: pl.Series) -> pl.Series:
    """Return times, to the millisecond: a file's seconds then say the same."""
    whole = milliseconds.cast(pl.Int64) + int(start.timestamp() * 1000)
    return whole.cast(pl.Datetime("ms", "UTC")).cast(pl.Datetime("us", "UTC"))


def model_paths(folder: str | Path, models: Sequence[str], ending: str) -> list[Path]:
    """Return a file for each model, `<model><ending>`, in a folder that is made where it is missing.

    Raises
    ------
    InputError
        If two models would share a file.
    """
    names = [re.sub(r"[^A-Za-z0-9.-]+", "_", model) + ending for model in models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two models would be written to {twice}; give them names that differ in letters or digits")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return [folder / name for name in names]
