"""The mix of the live world by level of one factor, given from outside (a survey, a log) instead of counted in live rows."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evalstats.errors import InputError

# Rounding takes less than this from a sum; several labels a conversation can add more.
_LEAST, _MOST = 0.98, 1.25
_EXACT = 5e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveMix:
    """Shares of the live world by level of one `factor`, a column of the outcomes such as "scenario"; they sum to 1.

    `source` and `licence` say where the numbers are from, and on what terms, `note` what was done to them (whether they were
    divided by their sum, and why); `raw` holds them as printed.
    """

    factor: str
    shares: Mapping[str, float]
    source: str = ""
    licence: str = ""
    note: str = ""
    raw: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        _check(self.shares, self.factor)
        total = math.fsum(self.shares.values())
        if abs(total - 1.0) > _EXACT:
            raise InputError(f"the shares of {self.factor!r} sum to {total:g}, not 1; make them with live_mix_of")


def live_mix_of(
    raw: Mapping[str, float], *, factor: str = "scenario", source: str = "", licence: str = "", note: str = ""
) -> LiveMix:
    """Make a mix of printed shares, in percent or as proportions, and divide them by their sum.

    A sum from 98 to 125 means percent, one from 0.98 to 1.25 proportions. More than 100% arises where a conversation may
    have several labels; less than 98% means that levels are left out, which is refused: their share would go to the others.

    >>> mix = live_mix_of({"ideal": 80.0, "hasty": 24.0})
    >>> round(mix.shares["hasty"], 4), mix.note
    (0.2308, 'the shares sum to 104%, so labels overlap or are rounded; each was divided by that sum')
    """
    _check(raw, factor)
    total = math.fsum(raw.values())
    unit = next((unit for unit in (1.0, 100.0) if _LEAST <= total / unit <= _MOST), None)
    if unit is None:
        raise InputError(
            f"the shares of {factor!r} sum to {total:g}; give percentages that sum to 100 or proportions that sum to 1 "
            f"(up to {100 * _MOST:g}% where labels overlap), with every level in it"
        )
    percent = f"{100 * total / unit:.4g}%"
    exact = abs(total / unit - 1.0) <= _EXACT
    said = (
        "" if exact else f"the shares sum to {percent}, so labels overlap or are rounded; each was divided by that sum"
    )
    return LiveMix(
        factor=factor,
        shares=MappingProxyType({level: share / total for level, share in raw.items()}),
        source=source,
        licence=licence,
        note="; ".join(each for each in (note, said) if each),
        raw=MappingProxyType(dict(raw)),
    )


def _check(shares: Mapping[str, float], factor: str) -> None:
    if not shares:
        raise InputError(f"the mix of {factor!r} names no level; give the share of each")
    for level, share in shares.items():
        if not level.strip():
            raise InputError(f"a level of {factor!r} has no name; give one to every share")
        if not (math.isfinite(share) and share >= 0.0):
            raise InputError(f"the share of {level!r} is {share:g}; give a number from 0")
