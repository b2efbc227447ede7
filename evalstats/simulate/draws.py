"""Draws whose truth is known (a logistic model, a cumulative one), and random streams told apart by what they are for."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from evalstats.errors import InputError


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


Calibrate = Literal["count", "rate"]
Floats = NDArray[np.float64]

# Nodes and weights for the mean over a standard normal variable; 15 nodes integrate polynomials of degree 29 exactly.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
_NORMAL_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Events:
    """Probabilities and what came of them, arrays of the same shape."""

    intercept: float
    probability: Floats
    happened: NDArray[np.bool_]


def draw_events(eta: Floats, rate: float, noise: Floats, *, calibrate: Calibrate, counted: NDArray[np.bool_]) -> Events:
    """Draw yes or no by logit P = intercept + eta.

    Parameters
    ----------
    eta : float64 array, shape (n,)
        Logits without the intercept.
    rate
        Share of events: with "rate" the mean probability, with "count" the share among the counted elements that happens.
    noise : float64 array, shape (n,)
        Standard logistic draws; an event happens where intercept + eta + noise > 0.
    counted : bool array, shape (n,)
        Elements that somebody will see.

    Examples
    --------
    >>> noise = np.random.default_rng(0).logistic(size=8)
    >>> drawn = draw_events(np.zeros(8), 0.25, noise, calibrate="count", counted=np.ones(8, dtype=np.bool_))
    >>> int(drawn.happened.sum())
    2
    """
    latent = eta + noise
    if calibrate == "rate" or not counted.any():
        intercept = intercept_for_rate(eta, rate)
    else:
        ordered = np.sort(latent[counted])[::-1]
        padded = np.concatenate([[ordered[0] + 2.0], ordered, [ordered[-1] - 2.0]])
        place = round(rate * ordered.size)
        intercept = -float(padded[place] + padded[place + 1]) / 2
    return Events(intercept=intercept, probability=expit(intercept + eta), happened=intercept + latent > 0)


def intercept_for_rate(eta: NDArray[np.float64], rate: float) -> float:
    """Return a such that the mean of expit(a + eta) is `rate`.

    Examples
    --------
    >>> round(intercept_for_rate(np.zeros(3), 0.5), 6)
    0.0
    """
    low, high = -float(eta.max()) - 40.0, -float(eta.min()) + 40.0
    return float(brentq(lambda intercept: float(expit(intercept + eta).mean()) - rate, low, high, xtol=1e-12))


def draw_points(latent: Floats, cuts: Sequence[float], *, lowest: int = 1) -> NDArray[np.int64]:
    """Return points: `lowest` and one more for each cut that the latent value (noise included) exceeds.

    Examples
    --------
    >>> draw_points(np.array([-3.0, 0.0, 9.0]), (-1.0, 1.0)).tolist()
    [1, 2, 3]
    """
    return lowest + np.searchsorted(np.asarray(cuts), latent, side="left").astype(np.int64)


def expected_points(eta: Floats, cuts: Sequence[float], *, sd: float = 0.0, lowest: int = 1) -> Floats:
    """Mean of the points that `draw_points` gives to eta + normal noise (standard deviation `sd`) + logistic noise.

    The mean over the normal part is a Gauss-Hermite sum.

    Examples
    --------
    >>> expected_points(np.zeros(1), (-1.0, 1.0)).round(6).tolist()
    [2.0]
    """
    total = np.full(eta.shape, float(lowest))
    for node, weight in zip(_NODES, _NORMAL_WEIGHTS, strict=True):
        for cut in cuts:
            total += weight * expit(eta + sd * node - cut)
    return total


def check_known(name: str, given: Mapping[str, float], known: Iterable[str]) -> None:
    """Refuse effects that are not given for exactly the known levels.

    Raises
    ------
    InputError
        Naming the levels that are meant.
    """
    known = tuple(known)
    if set(given) != set(known):
        raise InputError(f"{name} effects are given for {', '.join(given)}; give exactly {', '.join(known)}")


def check_spread(**sds: float) -> None:
    """Refuse a standard deviation below 0.

    Raises
    ------
    InputError
        Naming it.
    """
    for name, value in sds.items():
        if not value >= 0:
            raise InputError(f"{name} is {value:g}; a standard deviation is at least 0")


def check_share(name: str, value: float, *, high: float = 0.5) -> None:
    """Refuse a share that is not from 0 to `high`.

    Raises
    ------
    InputError
        Naming it.
    """
    if not 0 <= value <= high:
        raise InputError(f"{name} is {value:g}; give a proportion from 0 to {high:g}")


def write_rows(
    folder: str | Path, files: Sequence[tuple[str, Sequence[Mapping[str, object]]]], *, ending: str
) -> list[Path]:
    """Write each model's rows (model, rows) as JSON Lines to `<model>_<ending>.jsonl`; same rows, same bytes.

    Raises
    ------
    InputError
        If two models would share a file.
    """
    names = [f"{re.sub(r'[^A-Za-z0-9.-]+', '_', model)}_{ending}.jsonl" for model, _ in files]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two models would be written to {twice}; give them names that differ in letters or digits")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in names]
    for path, (_, rows) in zip(paths, files, strict=True):
        lines = (json.dumps(row, ensure_ascii=False, separators=(",", ":"), allow_nan=False) for row in rows)
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")
    return paths
