"""The one shape in which every estimate with its interval is returned."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimate, its interval, and how both were reached.

    What cannot be estimated is None, and `reason` says why; it is never zero, NaN or an interval of width zero.

    Attributes
    ----------
    estimate
        The statistic on the observed data, in the unit of the data.
    method
        What was computed, in words fit for print.
    conf_level
        Level of the interval, for example 0.95.
    n
        Independent units when there are no clusters (items, not rows); rows of the input otherwise.
    std_error
        Standard error, in the unit of the data.
    conf_low, conf_high
        Ends of the two-sided interval.
    statistic, df
        Test statistic, signed, and its degrees of freedom.
    p_value
        Two-sided p of the hypothesis "the difference is 0"; None for the score of one model. Never 0.
    n_clusters
        Clusters, where there are any.
    n_resamples
        Monte Carlo draws; None where the law was computed exactly.
    reason
        Why there is no interval.
    warnings
        What a reader must know before using the numbers.

    Examples
    --------
    >>> Estimate(estimate=0.5, method="mean", conf_level=0.95, n=1, reason="one value has no spread").conf_low is None
    True
    """

    estimate: float
    method: str
    conf_level: float
    n: int
    std_error: float | None = None
    conf_low: float | None = None
    conf_high: float | None = None
    statistic: float | None = None
    df: float | None = None
    p_value: float | None = None
    n_clusters: int | None = None
    n_resamples: int | None = None
    reason: str | None = None
    warnings: tuple[str, ...] = ()
