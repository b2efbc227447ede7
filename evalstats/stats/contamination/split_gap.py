"""Old items against new ones, and originals against rephrased twins, as contrasts of item scores."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evalstats.errors import InputError
from evalstats.stats.checks import IntArray
from evalstats.stats.contamination.item_contrast import ItemContrast, item_contrast


def split_contrast(old: ArrayLike, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean of old items less that of new ones.

    Parameters
    ----------
    old
        bool, shape (n_items,): items that the model may have seen.
    clusters
        Integer codes, one array of shape (n_items,) for each way of clustering; a cluster may hold items of both kinds.

    Raises
    ------
    InputError
        If one kind has no item.

    Examples
    --------
    >>> found = split_contrast([True, True, False, False])
    >>> found.estimate(np.array([[1.0], [0.5], [0.0], [0.5]])).tolist()
    [0.5]
    """
    is_old = np.asarray(old, dtype=np.bool_)
    if is_old.ndim != 1 or is_old.all() or not is_old.any():
        raise InputError("old and new items are both needed, one flag for every item")
    codes: list[IntArray] = [np.asarray(each, dtype=np.int64) for each in clusters]
    return item_contrast(np.column_stack([is_old, ~is_old]), [1.0, -1.0], clusters=codes)


def twin_contrast(n_pairs: int, clusters: Sequence[ArrayLike] = ()) -> ItemContrast:
    """Prepare the mean over pairs, for scores that are already original less rephrased.

    Parameters
    ----------
    n_pairs
        Pairs of an original and its rephrased twin, at least 2.
    clusters
        Integer codes, one array of shape (n_pairs,) for each way of clustering.

    Raises
    ------
    InputError
        If there are fewer than two pairs.

    Examples
    --------
    >>> twin_contrast(4).estimate(np.array([[1.0], [0.0], [0.0], [1.0]])).tolist()
    [0.5]
    """
    if n_pairs < 2:
        raise InputError(f"{n_pairs} pairs of an original and a twin; at least 2 are needed")
    codes: list[IntArray] = [np.asarray(each, dtype=np.int64) for each in clusters]
    return item_contrast(np.ones((n_pairs, 1)), [1.0], clusters=codes)
