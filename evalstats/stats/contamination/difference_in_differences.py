"""One model's contrast against that of reference models known clean: difference in differences with their spread."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from evalstats.errors import InputError
from evalstats.stats.checks import FloatArray, check_level
from evalstats.stats.contamination.item_contrast import ItemContrast
from evalstats.stats.estimate import positive_p, t_quantile, two_sided_t_p

MIN_REFERENCES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceGap:
    """What a suspect model has beyond the references, and how sure that is.

    Attributes
    ----------
    estimate
        The suspect's contrast less the mean of the references' (without references: its own), in the score's unit.
    own, reference
        The suspect's contrast, and the mean of the references'; None without references.
    own_std_error
        Standard error of the suspect's own contrast, from items.
    std_error, df, conf_low, conf_high, p_value, p_greater
        From items and from the spread between references together; p two-sided and one-sided for more than 0. None where
        there are too few references to know that spread, and `reason` says so.
    item_std_error, item_df, item_p_value
        From items alone, as if references did not differ. Beside, never the answer: with three references it finds an
        inflation in up to 40% of the models that have none.
    between_sd
        Standard deviation of the contrast between references beyond item noise; 0.0 where noise explains their spread.
    n_references, n_items, n_clusters
        What it rests on.
    """

    estimate: float
    own: float
    own_std_error: float | None
    reference: float | None
    conf_level: float
    n_references: int
    n_items: int
    n_clusters: int
    std_error: float | None = None
    df: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    p_value: float | None = None
    p_greater: float | None = None
    item_std_error: float | None = None
    item_df: float | None = None
    item_p_value: float | None = None
    between_sd: float | None = None
    reason: str | None = None


def reference_gap(
    suspect: ArrayLike,
    references: ArrayLike,
    contrast: ItemContrast,
    *,
    conf_level: float = 0.95,
    bound: float | None = None,
) -> ReferenceGap:
    """Compare one model's contrast with the references' on the same items.

    Parameters
    ----------
    suspect
        float64, shape (n_items,): scores, more is better.
    references
        float64, shape (n_items, n_references), possibly without a column.
    contrast
        What is asked of the items, from `item_contrast`.
    bound
        The largest difference there can be; the interval is clipped to it.

    Raises
    ------
    InputError
        If shapes do not fit or a score is not finite.

    Notes
    -----
    Var = Var_items(D_m - mean D_ref) + s^2 (1 + 1/R), with R references and s^2 the variance between references beyond item
    noise: the sample variance of their D less the mean item variance of D_r - mean D_ref, not below 0. Student's t with
    R - 1 degrees of freedom (fewer where the items give fewer). Where the models have the same item noise this is the exact
    t test of one new model against R others; a variance cut at 0 makes it cautious. It assumes that a clean suspect is one
    more draw from the same law as the references.

    References
    ----------
    Crawford & Howell 1998, doi:10.1076/clin.12.4.482.7241 (one case against a small sample); Donald & Lang 2007,
    doi:10.1162/rest.89.2.221 (difference in differences with few groups).

    Examples
    --------
    >>> from evalstats.stats.contamination.item_contrast import item_contrast
    >>> rng = np.random.default_rng(0)
    >>> old = np.arange(200) < 100
    >>> scores = rng.random((200, 5)) + 0.5 * np.outer(old, [1, 0, 0, 0, 0])
    >>> asked = item_contrast(np.column_stack([old, ~old]), [1, -1])
    >>> found = reference_gap(scores[:, 0], scores[:, 1:], asked)
    >>> round(found.estimate, 2), found.df, found.p_value < 0.05
    (0.5, 3.0, True)
    """
    level = check_level(conf_level)
    y, others = np.asarray(suspect, dtype=np.float64), np.asarray(references, dtype=np.float64)
    n = len(contrast.weights)
    if y.shape != (n,) or others.ndim != 2 or len(others) != n:
        raise InputError(f"scores have shapes {y.shape} and {others.shape}; give ({n},) and ({n}, n_references)")
    if not (np.isfinite(y).all() and np.isfinite(others).all()):
        raise InputError("some scores are NaN or infinite; leave out items that not every model has")
    count = others.shape[1]
    less = y - others.mean(axis=1) if count else y
    own, estimate = (float(contrast.weights @ each) for each in (y, less))
    own_variance, items = (float(contrast.variance(each[:, np.newaxis])[0]) for each in (y, less))
    found = ReferenceGap(
        estimate=estimate,
        own=own,
        own_std_error=math.sqrt(own_variance) if own_variance > 0 else None,
        reference=own - estimate if count else None,
        conf_level=level,
        n_references=count,
        n_items=n,
        n_clusters=contrast.n_clusters,
        reason=_why_not(count, items),
    )
    if items > 0:
        alone = math.sqrt(items)
        p = two_sided_t_p(estimate / alone, contrast.df)
        found = replace(found, item_std_error=alone, item_df=contrast.df, item_p_value=p)
    if found.reason is not None:
        return found
    between = _between(others, contrast)
    error = math.sqrt(items + between * (1.0 + 1.0 / count))
    df: float = min(count - 1.0, contrast.df)
    reach = t_quantile(level, df) * error
    edge = math.inf if bound is None else bound
    return replace(
        found,
        std_error=error,
        df=df,
        conf_low=max(-edge, estimate - reach),
        conf_high=min(edge, estimate + reach),
        p_value=two_sided_t_p(estimate / error, df),
        p_greater=positive_p(float(special.stdtr(df, -(estimate / error)))),
        between_sd=math.sqrt(between),
    )


def _between(others: FloatArray, contrast: ItemContrast) -> float:
    """Return the variance of the references' contrasts beyond their item noise."""
    means: FloatArray = contrast.estimate(others)
    spread = float(np.var(means, ddof=1, dtype=np.float64))
    noise = float(contrast.variance(others - others.mean(axis=1)[:, np.newaxis]).sum()) / (others.shape[1] - 1)
    return max(0.0, spread - noise)


def _why_not(count: int, variance: float) -> str | None:
    if count < MIN_REFERENCES:
        have = "no reference model" if not count else f"only {count} reference model{'s' if count > 1 else ''}"
        return (
            f"{have}: at least {MIN_REFERENCES} known clean are needed to know how far clean models differ here, so this is "
            "described and not judged"
        )
    if variance <= 0:
        return "the model differs from the references by the same amount on every item, so the noise is unknown"
    return None
