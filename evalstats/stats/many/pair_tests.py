"""Every pair of models on its own: which test and interval fit, and the interval's ends at any critical value."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FEW_CLUSTERS, FloatArray, IntArray, check_bounds
from evalstats.stats.many.max_t import TIE
from evalstats.stats.many.pair_table import PairTable, difference_blocks
from evalstats.stats.many.tango_limits import tango_limits
from evalstats.stats.tails import SMALLEST_P

Kind: TypeAlias = Literal["score", "augmented t", "t", "CR2"]

LABELS: dict[Kind, str] = {
    "score": "Tango score",
    "augmented t": "augmented t",
    "t": "paired t",
    "CR2": "CR2 with Satterthwaite df",
}
_ENOUGH_NONZERO = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTests:
    """The test of every pair of a table on its own.

    Attributes
    ----------
    centre, std_error, df
        Where the interval is centred, its standard error and degrees of freedom; NaN where there is none. The score
        interval has no df, and its `std_error` is shown, not used.
    p_value
        Two-sided p of the pair on its own.
    wins, losses
        For the score test: items that only the first, and only the second, got right.
    n_differing
        Items on which the two differ, where few of them forbid a claim (the score test and t); None elsewhere.
    span
        Largest possible difference, infinite where there is none.
    """

    kind: Kind
    table: PairTable
    centre: FloatArray
    std_error: FloatArray
    df: FloatArray
    p_value: FloatArray
    wins: FloatArray
    losses: FloatArray
    span: float
    n_differing: IntArray | None = None

    @property
    def testable(self) -> NDArray[np.bool_]:
        """Pairs with a standard error and, where there are clusters, enough of them."""
        few = self.table.n_clusters is not None and self.table.n_clusters < FEW_CLUSTERS
        return self.table.testable & ~np.asarray(few)

    def own_ends(self, conf_level: float) -> tuple[FloatArray, FloatArray]:
        """Return the ends of each pair's own interval."""
        return self._ends(self._own_quantile(conf_level))

    def joint_ends(self, critical: FloatArray, conf_level: float) -> tuple[FloatArray, FloatArray]:
        """Return ends at critical values of |t|, one for each pair; never inside the own interval at `conf_level`."""
        if self.kind == "score":
            # |t| > critical exactly when the score statistic exceeds this.
            n = self.table.n_items
            with np.errstate(invalid="ignore", divide="ignore"):
                critical = np.where(np.isfinite(critical), critical * np.sqrt(n / (n - 1.0 + critical**2)), np.sqrt(n))
        # A t that ties with its critical value does not exceed it, whatever rounding says.
        return self._ends(np.fmax(critical * (1.0 + TIE), self._own_quantile(conf_level)))

    def _own_quantile(self, conf_level: float) -> FloatArray:
        tail = (1.0 - conf_level) / 2.0
        if self.kind == "score":
            return np.full(self.p_value.size, -float(special.ndtri(tail)))
        return -_floats(special.stdtrit(self.df, tail))

    def _ends(self, critical: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self.kind == "score":
            n = self.table.n_items
            empty = n == 0
            ends = tango_limits(np.maximum(n, 1), self.wins, self.losses, critical)
            low, high = (np.where(empty, np.nan, end) for end in ends)
            return low, high
        with np.errstate(invalid="ignore"):
            reach = critical * self.std_error
        low = np.maximum(self.centre - reach, -self.span)
        high = np.minimum(self.centre + reach, self.span)
        none = ~(np.isfinite(low) & np.isfinite(high))
        return np.where(none, np.nan, low), np.where(none, np.nan, high)


def pair_tests(
    table: PairTable, *, binary: bool, bounds: tuple[float, float] | None, shares: bool = False
) -> PairTests:
    """Choose the test and run it for every pair.

    Clusters: CR2 with Satterthwaite df, from 5 clusters on. Else right-or-wrong scores: the score test, which Tango's
    interval inverts. Else bounded `shares` of right-or-wrong answers: augmented t. Else t.
    """
    span = np.inf
    if bounds is not None:
        low, high = bounds
        scored = table.scores[~np.isnan(table.scores)]
        if scored.size:
            check_bounds(scored, low, high, "scores")
        span = float(high) - float(low)
    if binary:
        wrong = ~np.isin(table.scores, (0.0, 1.0)) & ~np.isnan(table.scores)
        if wrong.any():
            raise InputError(f"scores hold {table.scores[wrong][0]:g}; right-or-wrong scores are 0 or 1")
        span = 1.0
    if table.codes is not None:
        return _clustered(table, span)
    if binary:
        return _score(table)
    return _augmented(table, span) if shares and np.isfinite(span) else _plain(table, span)


def _score(table: PairTable) -> PairTests:
    squares, sums = table.squares, table.n_items * np.nan_to_num(table.estimate)
    wins, losses = np.rint(0.5 * (squares + sums)), np.rint(0.5 * (squares - sums))
    z = (wins - losses) / np.sqrt(np.maximum(wins + losses, 1.0))
    p = (2.0 * _floats(special.ndtr(-np.abs(z)))).clip(SMALLEST_P, 1.0)
    return PairTests(
        kind="score",
        table=table,
        centre=table.estimate,
        std_error=table.std_error,
        df=np.full(z.size, np.nan),
        p_value=np.where(table.n_items > 0, p, np.nan),
        wins=wins,
        losses=losses,
        span=1.0,
        n_differing=np.asarray(wins + losses, dtype=np.int64),
    )


def _augmented(table: PairTable, span: float) -> PairTests:
    centre, std_error, df, p_value, _ = _with_pseudo_items(table, span)
    return PairTests(
        kind="augmented t",
        table=table,
        centre=centre,
        std_error=std_error,
        df=df,
        p_value=p_value,
        wins=np.zeros(0),
        losses=np.zeros(0),
        span=span,
    )


def _with_pseudo_items(
    table: PairTable, span: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Add one pseudo-item at +c and one at -c to every pair: see `evalstats.stats.paired_means.augmented_t`.

    c^2 = sum(d^2) / sum(|d|) on the unit scale, which is at least 1 / K for means of K trials. Returns centre, standard
    error, df, p and the number of items that differ.
    """
    nonzero, sizes = _differing(table)
    n = table.n_items.astype(np.float64)
    squares = table.squares / span**2
    pseudo = np.where(nonzero >= _ENOUGH_NONZERO, squares / np.maximum(sizes / span, 1e-300), 1.0)
    centre = n * np.nan_to_num(table.estimate) / span / (n + 2.0)
    std_error = np.sqrt(((squares + 2.0 * pseudo) / (n + 2.0) - centre**2) / (n + 1.0))
    none = n == 0
    df = np.where(none, np.nan, n + 1.0)
    p_value = _two_sided(centre / std_error, df)
    return (
        np.where(none, np.nan, span * centre), np.where(none, np.nan, span * std_error), df, p_value, nonzero,
    )  # fmt: skip


def _differing(table: PairTable) -> tuple[IntArray, FloatArray]:
    """Return on how many items each pair differs, and the sum of the sizes of its differences."""
    nonzero, sizes = np.zeros(table.first.size, dtype=np.int64), np.zeros(table.first.size)
    for part, d in difference_blocks(table.scores, table.first, table.second):
        d[np.isnan(d)] = 0.0
        nonzero[part], sizes[part] = np.count_nonzero(d, axis=0), np.abs(d).sum(axis=0)
    return nonzero, sizes


def _plain(table: PairTable, span: float) -> PairTests:
    """Student's t; of bounded scores augmented t for the pairs whose differences are all equal and give t no spread."""
    centre, std_error, df = table.estimate, table.std_error, table.df
    p_value = _t_p(table, std_error, df)
    nonzero = _differing(table)[0]
    flat = ~table.testable & (table.n_items > 0)
    if np.isfinite(span) and flat.any():
        other = _with_pseudo_items(table, span)
        centre, std_error, df, p_value = (
            np.where(flat, mine, own) for mine, own in zip(other[:4], (centre, std_error, df, p_value), strict=True)
        )
    return PairTests(
        kind="t",
        table=table,
        centre=centre,
        std_error=std_error,
        df=df,
        p_value=p_value,
        wins=np.zeros(0),
        losses=np.zeros(0),
        span=span,
        n_differing=nonzero,
    )


def _clustered(table: PairTable, span: float) -> PairTests:
    enough = np.asarray(table.n_clusters) >= FEW_CLUSTERS
    std_error, df = (np.where(enough, values, np.nan) for values in (table.std_error, table.df))
    return PairTests(
        kind="CR2",
        table=table,
        centre=table.estimate,
        std_error=std_error,
        df=df,
        p_value=np.where(enough, _t_p(table, std_error, df), np.nan),
        wins=np.zeros(0),
        losses=np.zeros(0),
        span=span,
    )


def _t_p(table: PairTable, std_error: FloatArray, df: FloatArray) -> FloatArray:
    """Return p of t; 1 where the models do not differ at all, NaN where there is no spread otherwise."""
    equal = ~table.testable & (table.estimate == 0.0) & (table.n_items > 1)
    own = np.where(equal, 1.0, _two_sided(table.estimate / std_error, df))
    # All items point one way by the same amount: two of the 2^n patterns of signs are as extreme.
    return np.where(table.one_way, np.exp2(1.0 - table.n_items).clip(SMALLEST_P, 1.0), own)


def _two_sided(t: FloatArray, df: FloatArray) -> FloatArray:
    return (2.0 * _floats(special.stdtr(df, -np.abs(t)))).clip(SMALLEST_P, 1.0)


def _floats(values: object) -> FloatArray:
    """Return what a special function gave; its type is not declared."""
    return np.asarray(values, dtype=np.float64)
