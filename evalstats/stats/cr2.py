"""Cluster-robust variance of a mean: CR2 with Satterthwaite degrees of freedom, in closed form."""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.checks import FloatArray, IntArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Cr2:
    """Variance of a mean under clustering, 0.0 where every cluster's residuals add up to 0, and its df."""

    mean: float
    variance: float
    df: float
    n_clusters: int


def cr2_of_mean(values: FloatArray, codes: IntArray, n_clusters: int) -> Cr2:
    """Return the CR2 variance of the mean of `values` for at least two clusters coded 0..n_clusters-1.

    The general CR2 adjusts the residuals of cluster g by the inverse root of its block of I - H. For a mean that
    block is I - 11'/n, the adjusted residuals add up to R_g / sqrt(1 - f_g), and nothing need be inverted:
    V = sum_g R_g^2 / (1 - f_g) / n^2, with R_g the sum of residuals and f_g the share of items of cluster g.

    The degrees of freedom are Satterthwaite's under independent items of equal variance:
    1 / df = sum_g f_g^2 + sum_{g != h} f_g^2 f_h^2 / ((1 - f_g)(1 - f_h)).

    References
    ----------
    Bell & McCaffrey 2002, Survey Methodology 28:169; Pustejovsky & Tipton 2018, doi:10.1080/07350015.2016.1247004.
    """
    n = values.size
    mean = float(values.mean())
    residual_sums = np.bincount(codes, weights=values - mean, minlength=n_clusters)
    share = np.bincount(codes, minlength=n_clusters) / n
    variance = float((residual_sums**2 / (1.0 - share)).sum()) / n**2
    rounding = 16.0 * np.finfo(np.float64).eps * float(np.abs(values).max())
    return Cr2(
        mean=mean,
        variance=variance if variance > rounding**2 else 0.0,
        df=satterthwaite_df(share),
        n_clusters=n_clusters,
    )


def satterthwaite_df(share: FloatArray) -> float:
    """Return the Satterthwaite df of the CR2 variance of a mean, from the clusters' shares of the items.

    Equal clusters give G - 1.

    Examples
    --------
    >>> round(satterthwaite_df(np.full(8, 1 / 8)), 9)
    7.0
    """
    cross = share**2 / (1.0 - share)
    return 1.0 / float((share**2).sum() + cross.sum() ** 2 - (cross**2).sum())
