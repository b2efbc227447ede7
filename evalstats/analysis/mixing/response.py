"""The response of every row of a table: a number, or successes out of trials."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.special import gammaln

from evalstats.analysis.mixing.terms import Response
from evalstats.errors import InputError
from evalstats.stats.mixed.design import Family, Floats, Ints

# Shares are often stored rounded to a few digits: share x trials may miss a whole number by this much.
_WHOLE = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What is known of each row: `value` is its mean, `count` the rows (binomial: trials) behind it, `within` their spread.

    All are float64, shape (n_rows,); `within` is the sum of squared deviations of a row's own rows from its mean.
    """

    value: Floats
    count: Floats
    within: Floats

    def single(self) -> bool:
        """Whether every row is one trial."""
        return bool(np.all(self.count == 1.0))

    def where(self, some: npt.NDArray[np.bool_]) -> "Rows":
        """Return some of the rows."""
        return Rows(value=self.value[some], count=self.count[some], within=self.within[some])

    def log_binomials(self) -> float:
        """Sum of the logarithms of the binomial coefficients of the rows."""
        if self.single():
            return 0.0
        n, k = self.count, np.rint(self.value * self.count)
        return float((gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseColumns:
    """Which columns hold the response, as the user named them."""

    response: Response
    family: Family
    count: str | None = None
    within: str | None = None
    successes: str | None = None

    def __post_init__(self) -> None:
        """Check that the columns named go together."""
        response, given = self.response, self.response.failures or self.response.total
        if self.family not in ("gaussian", "binomial"):
            raise InputError(f"family is {self.family!r}; it is 'gaussian' (a linear model) or 'binomial' (successes)")
        if self.family == "gaussian":
            if given is not None or self.successes is not None:
                raise InputError("successes are given to a linear model; pass family='binomial'")
            if (self.count is None) != (self.within is None):
                raise InputError(
                    "a linear model of means needs both count= (rows behind each mean) and within= (their sum of squared "
                    "deviations from it); for unaggregated rows give neither"
                )
            return
        if self.within is not None:
            raise InputError("within= is for linear models; a binomial one needs count= only")
        if given is not None and (self.count is not None or self.successes is not None):
            raise InputError(f"{response} already names successes and trials; leave out count= and successes=")
        if self.successes is not None and self.count is None:
            raise InputError(f"successes={self.successes!r} needs count=, the column of trials")

    def named(self) -> dict[str, str]:
        """Columns that are read, each with its part."""
        first = {self.response.column: "the response"} if self.successes is None else {}
        more = {
            self.response.failures: "failures",
            self.response.total: "the total",
            self.count: "count=",
            self.within: "within=",
            self.successes: "successes=",
        }
        return first | {name: part for name, part in more.items() if name is not None}

    def read(self, frame: pl.DataFrame) -> Rows:
        """Return the response of rows without nulls.

        Raises
        ------
        InputError
            If a column holds no numbers, or numbers that cannot be a response of this family.
        """
        if self.family == "gaussian":
            return self._means(frame)
        if self.response.failures is not None:
            good, bad = _numbers(frame, self.response.column), _numbers(frame, self.response.failures)
            return _shares(good, good + bad, str(self.response))
        if self.response.total is not None:
            return _shares(
                _numbers(frame, self.response.column), _numbers(frame, self.response.total), str(self.response)
            )
        if self.successes is not None and self.count is not None:
            return _shares(_numbers(frame, self.successes), _numbers(frame, self.count), self.successes)
        share = _numbers(frame, self.response.column)
        _check_share(share, self.response.column, counted=self.count is not None)
        trials = np.ones(len(share)) if self.count is None else _numbers(frame, self.count)
        return _shares(share * trials, trials, self.response.column)

    def _means(self, frame: pl.DataFrame) -> Rows:
        value = _numbers(frame, self.response.column)
        if self.count is None or self.within is None:
            return Rows(value=value, count=np.ones(len(value)), within=np.zeros(len(value)))
        count, within = _numbers(frame, self.count), _numbers(frame, self.within)
        _check_whole(count, self.count)
        if bool(np.any(within < 0.0)):
            raise InputError(f"{self.within!r} holds negative numbers; a sum of squared deviations is 0 or more")
        alone = int(np.count_nonzero((count == 1.0) & (within > 0.0)))
        if alone:
            raise InputError(f"{self.within!r} is above 0 in {alone} rows with a count of 1; one value has no spread")
        return Rows(value=value, count=count, within=within)


def _shares(successes: Floats, trials: Floats, what: str) -> Rows:
    _check_whole(trials, "the trials")
    whole = np.rint(successes)
    off = np.abs(successes - whole) > _WHOLE * np.maximum(trials, 1.0)
    if bool(np.any(off)):
        at = int(np.argmax(off))
        raise InputError(
            f"{what!r} gives {successes[at]:g} successes in {trials[at]:g} trials in {int(off.sum())} rows; successes are whole "
            "numbers: name the column of trials in count=, or fit a linear model where the score is a grade"
        )
    outside = (whole < 0.0) | (whole > trials)
    if bool(np.any(outside)):
        at = int(np.argmax(outside))
        raise InputError(
            f"{what!r} gives {whole[at]:g} successes in {trials[at]:g} trials; there can be 0 to {trials[at]:g}"
        )
    share = np.divide(whole, trials, out=np.zeros_like(whole), where=trials > 0.0)
    return Rows(value=share, count=trials, within=np.zeros(len(whole)))


def _check_share(share: Floats, column: str, *, counted: bool) -> None:
    outside = (share < 0.0) | (share > 1.0)
    if not bool(np.any(outside)):
        return
    hint = (
        f"for counts of successes write cbind({column}, total - {column}) or successes={column!r}"
        if bool(np.all(share >= 0.0))
        else "a binomial model explains shares of successes"
    )
    needed = "a share" if counted else "0 or 1 (or a share, with its trials in count=)"
    raise InputError(
        f"{column!r} holds {share[int(np.argmax(outside))]:g} ({int(outside.sum())} values outside [0, 1]), and {needed} is "
        f"needed; {hint}"
    )


def _check_whole(count: Floats, what: str) -> None:
    wrong = (count < 0.0) | (count != np.rint(count))
    if bool(np.any(wrong)):
        raise InputError(f"{what!r} holds {count[int(np.argmax(wrong))]:g}; counts are whole numbers of 0 or more")


def _numbers(frame: pl.DataFrame, name: str) -> Floats:
    series = frame[name]
    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        shown = ", ".join(repr(value) for value in series.unique(maintain_order=True).head(3).to_list())
        raise InputError(f"column {name!r} holds {series.dtype} ({shown}), and numbers are needed; convert it first")
    values = series.cast(pl.Float64).to_numpy().astype(np.float64)
    if bool(np.any(np.isinf(values))):
        raise InputError(f"column {name!r} holds infinite values; leave those rows out or make them null")
    return values


def merged(rows: Rows, cells: Ints, n_cells: int) -> tuple[Floats, Floats, float]:
    """Merge rows to cells: counts and means of the cells, and the sum of squares inside them.

    Rows are added up in the order of their values, so that the order of the table leaves no trace, not even in rounding.
    """
    order = np.lexsort((rows.within, rows.count, rows.value, cells))
    start = np.searchsorted(cells[order], np.arange(n_cells))
    value, weight = rows.value[order], rows.count[order]
    count = np.add.reduceat(weight, start)
    mean = np.add.reduceat(weight * value, start) / count
    spread = weight * (value - np.repeat(mean, np.diff([*start, len(order)]))) ** 2 + rows.within[order]
    return count, mean, float(np.add.reduceat(spread, start).sum())
