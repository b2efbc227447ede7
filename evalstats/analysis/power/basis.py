"""What a plan starts from: numbers that somebody assumes, or a pilot of two systems on the same items."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.stats.planning.clusters import Rule, gamma_shares
from evalstats.stats.planning.power import discordant_shares
from evalstats.stats.planning.variance_components import DifferenceParts, Pair

Floats = npt.NDArray[np.float64]

_AMOUNT = re.compile(r"\s*([-+\N{MINUS SIGN}]?[0-9]*\.?[0-9]+)\s*(pp|%|percent)?\s*")
_PATTERN = 60  # clusters in the pattern of sizes that stands for a coefficient of variation
_WHOLE = 1000
_LEAST = 1e-9


def in_points(value: float | str | None) -> bool:
    """Whether an amount is written in percentage points.

    Examples
    --------
    >>> in_points("3pp"), in_points("0.03"), in_points(3)
    (True, False, False)
    """
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    return bool(match and match[2])


def plain_amount(value: float | str, what: str = "delta") -> float:
    """Return an amount as a number, percentage points as a share of 1.

    Examples
    --------
    >>> plain_amount("3pp"), plain_amount("0.2")
    (0.03, 0.2)
    """
    if not isinstance(value, str):
        return float(value)
    match = _AMOUNT.fullmatch(value)
    if match is None:
        raise InputError(f"{what} {value!r} is no amount; write 3pp for three percentage points, or a number")
    amount = float(match[1].replace("\N{MINUS SIGN}", "-"))
    return amount / 100 if match[2] else amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """How differences are written: `share` of 1 in percentage points, or in the metric's own unit."""

    share: bool
    unit: str = ""
    percent: bool = False
    span: float | None = None
    metric: str = ""
    benchmark: str = ""

    @property
    def scale(self) -> float:
        """What to multiply by when showing a number."""
        return 100.0 if self.share else 1.0

    def read(self, value: float | str | None, what: str) -> float | None:
        """Return an amount in the metric's own unit; "3pp" is three percentage points.

        Raises
        ------
        InputError
            If it is no number, or in percentage points where these mean nothing.
        """
        if value is None:
            return None
        amount = plain_amount(value, what)
        if in_points(value) and not (self.share or self.percent):
            raise InputError(f"{what} {value!r} is in percentage points, and the metric is no share of 1")
        if in_points(value) and not self.share:
            amount *= 100
        if not math.isfinite(amount):
            raise InputError(f"{what} is {value}; give a finite number")
        if self.span is not None and abs(amount) > self.span:
            raise InputError(
                f"{what} is {value}, and no difference is larger than {self.span:g}; percentage points are written 3pp"
            )
        return amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """What is known, or assumed, about the differences of single items.

    Attributes
    ----------
    discordance
        Share of items that only one of the two gets right; None unless scores are right or wrong with one trial each.
    parts
        The variance of a difference in its parts.
    pool
        The differences of a pilot, whose shape simulated noise takes.
    rule
        The method that `compare` uses on such data.
    lattice
        Whether every trial is right or wrong.
    discordant, df, std_error, seen
        Of a pilot: the number of discordant items, the degrees of freedom of its variance, the standard error that `compare`
        gives, and its difference (which is only held against a `delta` that somebody took from it).
    words, assumptions, notes
        What it is, what it takes for granted, and what to beware of.
    """

    units: Units
    parts: DifferenceParts
    rule: Rule
    discordance: float | None = None
    pool: Floats | None = None
    is_pilot: bool = False
    lattice: bool = False
    discordant: int | None = None
    df: float | None = None
    std_error: float | None = None
    seen: float | None = None
    clusters: tuple[str, ...] = ()
    words: str = ""
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def clustered(self) -> bool:
        """Whether items come in clusters."""
        return bool(self.parts.sizes)

    @property
    def single(self) -> bool:
        """Whether every cluster holds one item, so that clusters and items cannot be told apart."""
        return self.clustered and self.parts.cluster is None

    @property
    def cluster_size(self) -> float:
        """Mean number of items of a cluster."""
        return self.parts.n_items / len(self.parts.sizes) if self.parts.sizes else 1.0

    def independent(self) -> "Basis":
        """Take the items as independent, whatever the clusters."""
        parts = self.parts
        item = parts.item + (parts.cluster or 0.0)
        return replace(self, parts=replace(parts, cluster=None, cluster_raw=None, item=item, sizes=()), clusters=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """The numbers that a user gives in place of a pilot."""

    discordance: float | None
    accuracy: float | None
    variance: float | Mapping[str, float] | None
    icc: float | None
    cluster_size: float | None
    cluster_cv: float
    n_trials: Pair


def from_numbers(given: Assumed, *, delta: float | None, points: bool) -> Basis:
    """Take the spread of the differences from numbers that the user gives.

    Parameters
    ----------
    delta
        The true difference, where it is known: it bounds the discordance.
    points
        Whether amounts were given in percentage points, so that the score is a share.

    Raises
    ------
    InputError
        If nothing says how much two systems differ from item to item, or too much does.
    """
    sources = {"discordance": given.discordance, "accuracy": given.accuracy, "variance": given.variance}
    named = [name for name, value in sources.items() if value is not None]
    if len(named) != 1:
        found = (
            f"both {' and '.join(named)} were given"
            if named
            else "nothing says how much the two differ on single items"
        )
        raise InputError(
            f"{found}; give one of discordance (share of items that only one of them gets right), accuracy (of the "
            "baseline), variance (of the item differences), or a pilot"
        )
    if given.variance is not None:
        return _from_variance(given, points=points)
    if max(given.n_trials) > 1:
        raise InputError(
            "discordance and accuracy are for one trial an item; with several trials give variance as item and trial "
            "parts, or a pilot"
        )
    discordance, assumption = _discordance(given, delta or 0.0)
    # The variance follows the difference: discordance - delta^2. Only its split counts here.
    parts = _assumed_parts(given, {"item": max(discordance, _LEAST)})
    return Basis(
        units=Units(share=True, unit="pp", span=1.0),
        parts=parts,
        rule="cr2" if parts.sizes else "t",
        discordance=discordance,
        lattice=True,
        assumptions=(assumption,),
    )


def _discordance(given: Assumed, delta: float) -> tuple[float, str]:
    if given.discordance is not None:
        discordant_shares(given.discordance, delta)
        return given.discordance, (
            f"exactly one of the two gets an item right on {100 * given.discordance:g}% of the items (assumed)"
        )
    accuracy = given.accuracy or 0.0
    other = accuracy + delta
    if not (0.0 < accuracy < 1.0 and 0.0 <= other <= 1.0):
        raise InputError(
            f"accuracy is {accuracy:g}, with a difference of {delta:g}; both systems need one between 0 and 1"
        )
    discordance = accuracy + other - 2.0 * accuracy * other
    return discordance, (
        f"exactly one of the two gets an item right on {100 * discordance:.3g}% of the items, as if errors of the two had "
        "nothing to do with each other; on shared items systems usually differ less, and fewer items do"
    )


def _from_variance(given: Assumed, *, points: bool) -> Basis:
    parts_given = given.variance if isinstance(given.variance, Mapping) else {"item": float(given.variance or 0.0)}
    parts = _assumed_parts(given, parts_given)
    units = Units(share=points, unit="pp" if points else "", span=1.0 if points else None)
    told = ", ".join(f"{name} {value:g}" for name, value in parts_given.items())
    return Basis(
        units=units,
        parts=parts,
        rule="cr2" if parts.sizes else "t",
        assumptions=(f"variance of the item differences (assumed): {told}",),
    )


def _assumed_parts(given: Assumed, variances: Mapping[str, float]) -> DifferenceParts:
    known = {"item", "trial", "trial_baseline", "trial_candidate", "cluster"}
    unknown = set(variances) - known
    if unknown:
        raise InputError(
            f"variance has no part {min(unknown)!r}; its parts are item, trial (or trial_baseline and "
            "trial_candidate) and cluster"
        )
    if not all(math.isfinite(value) and value >= 0.0 for value in variances.values()) or sum(variances.values()) <= 0.0:
        raise InputError("every part of the variance must be a number from 0, and one of them above 0")
    both = variances.get("trial")
    trials = [variances.get(name, both) for name in ("trial_baseline", "trial_candidate")]
    item, cluster = variances.get("item", 0.0), variances.get("cluster")
    if given.icc is not None:
        if cluster is not None:
            raise InputError("both icc and the cluster part of the variance were given; give one of them")
        if not 0.0 <= given.icc < 1.0:
            raise InputError(f"icc is {given.icc:g}; give a number from 0 and below 1")
        noise = sum(part / k for part, k in zip(trials, given.n_trials, strict=True) if part is not None)
        cluster = given.icc * (item + noise)
        item = (item + noise) * (1.0 - given.icc) - noise
        if item < 0.0:
            raise InputError(f"icc {given.icc:g} leaves nothing for the items beside the trials; lower it")
    sizes, n_items = _sizes(given, clustered=cluster is not None)
    return DifferenceParts(
        cluster=cluster,
        item=item,
        trials=(trials[0], trials[1]),
        cluster_raw=cluster,
        item_raw=item,
        sizes=sizes,
        n_items=n_items,
        n_trials=given.n_trials,
    )


def _sizes(given: Assumed, *, clustered: bool) -> tuple[tuple[int, ...], int]:
    """Return a pattern of cluster sizes and how many items it has; only its proportions and its mean are used."""
    if not clustered:
        if given.cluster_size is not None:
            raise InputError("cluster_size was given, and nothing says how alike the items of a cluster are: give icc")
        return (), 1
    if given.cluster_size is None or not 1.0 <= given.cluster_size < math.inf:
        raise InputError("with clusters, give cluster_size: the mean number of items of a cluster, at least 1")
    shares = gamma_shares(_PATTERN, given.cluster_cv)
    sizes = tuple(max(1, round(_WHOLE * _PATTERN * share)) for share in shares.tolist())
    return sizes, round(given.cluster_size * _PATTERN)
