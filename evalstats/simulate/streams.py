"""Random streams told apart by what they are for, so that one more model, or one more draw, moves nothing else."""

import hashlib

import numpy as np

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
        message = f"seed is {seed}; use a whole number from 0"
        raise InputError(message)
    digest = hashlib.blake2b("\x1f".join((purpose, *labels)).encode(), digest_size=16).digest()
    key = tuple(int(word) for word in np.frombuffer(digest, dtype="<u4"))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
