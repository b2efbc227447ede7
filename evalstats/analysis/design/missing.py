"""How much may be missing before a claim must hold with all of it at its worst, and whether the user declares it harmless."""

from evalstats.errors import InputError

BOUNDED, IGNORABLE = "bounded", "ignorable"
MOST_MISSING, _ROUNDING = 0.05, 1e-9


def too_much_missing(*shares: float) -> bool:
    """Whether so much of some side's scores is missing that a claim has to hold with all of it at its worst: above 5%.

    >>> too_much_missing(0.0, 1 / 3 * 0.15), too_much_missing(0.0, 0.051)
    (False, True)
    """
    return max(shares) > MOST_MISSING + _ROUNDING


def is_ignorable(missing: str | None) -> bool:
    """Return whether the user declares missing scores ignorable."""
    if missing not in (None, BOUNDED, IGNORABLE):
        raise InputError(
            f"missing is {missing!r}; it must be {BOUNDED} (what is missing could be anything) or {IGNORABLE} (it is missing for "
            "a reason that has nothing to do with the answers)"
        )
    return missing == IGNORABLE
