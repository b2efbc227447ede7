"""Which fixed effects can be told apart, and which combinations of them the data can say something about."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.linalg import qr

from evalstats.stats.mixed.design import Floats, Ints

Bools = npt.NDArray[np.bool_]

# R's tolerance (qr.default, lme4): a column is dropped where less than this share of its length is not explained by others.
TOLERANCE = 1e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Columns of a design that are kept, and what the others are made of.

    `columns` and `dropped` are int64 places; a dropped column is the kept ones times its column of `alias`, float64, shape
    (n_kept, n_dropped).
    """

    columns: Ints
    dropped: Ints
    alias: Floats

    def estimable(self, rows: Floats) -> Bools:
        """Whether the data determine each linear combination; `rows` has all columns, shape (n, n_columns).

        A combination is estimable where it gives the same value for every solution: it must treat a dropped column as it
        treats the columns this one is made of.
        """
        expected = rows[:, self.columns] @ self.alias
        size = np.abs(rows[:, self.columns]) @ np.abs(self.alias) + np.abs(rows[:, self.dropped]) + 1.0
        off = np.abs(rows[:, self.dropped] - expected) > 1e-6 * size
        return np.logical_not(off.any(axis=1))


def independent_columns(matrix: Floats) -> Kept:
    """Keep columns from left to right that are no combination of those before, as R does.

    Examples
    --------
    >>> kept = independent_columns(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]))
    >>> kept.columns, kept.dropped
    (array([0, 2]), array([1]))
    """
    n, p = matrix.shape
    length = np.sqrt((matrix**2).sum(axis=0))
    scaled = matrix / np.where(length > 0.0, length, 1.0)
    if n >= p and bool(np.all(length > 0.0)):
        (triangle,) = qr(scaled, mode="r")
        if bool(np.all(np.abs(np.diag(triangle)) > TOLERANCE)):
            return Kept(
                columns=np.arange(p, dtype=np.int64), dropped=np.empty(0, dtype=np.int64), alias=np.empty((p, 0))
            )
    basis = np.empty((n, min(n, p)))
    kept: list[int] = []
    for column in range(p):
        rest = scaled[:, column].copy()
        for _ in range(2):  # once more, since one pass loses digits where columns nearly agree
            rest -= basis[:, : len(kept)] @ (basis[:, : len(kept)].T @ rest)
        size = float(np.sqrt(rest @ rest))
        if size > TOLERANCE and len(kept) < n:
            basis[:, len(kept)] = rest / size
            kept.append(column)
    columns = np.array(kept, dtype=np.int64)
    dropped = np.setdiff1d(np.arange(p, dtype=np.int64), columns)
    alias = np.linalg.lstsq(scaled[:, columns], matrix[:, dropped])[0] / length[columns, None]
    return Kept(columns=columns, dropped=dropped, alias=alias)
