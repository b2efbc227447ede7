"""Does one side win more often than the other? The share of side a with the clusters that votes come in."""

import math
from dataclasses import replace

import numpy as np

from evalstats.errors import InputError
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows
from evalstats.stats.checks import FloatArray, IntArray, check_level, too_few_clusters
from evalstats.stats.estimate import Estimate, normal_quantile, t_quantile, two_sided_normal_p, two_sided_t_p
from evalstats.stats.one_sample import satterthwaite_df, wilson


def side_preference(rows: VoteRows, *, conf_level: float = 0.95) -> Estimate:
    """Share of decided votes that side a won, and the test that it is 1/2.

    Sides are given at random in an arena, so that the share is 1/2 where raters do not look at the side, whatever the
    models. Votes count once each, whatever their weights; ties are left out.

    Parameters
    ----------
    rows
        Merged votes. Without clusters every vote stands on its own: Wilson's interval and score test. With clusters the CR2
        variance of each way, the largest of them and of that of single votes, with Satterthwaite's t.

    Returns
    -------
    Estimate
        `statistic`, `df` and `p_value` are of the share 1/2; `n` is decided votes. Fewer than five clusters in any way: no
        interval and no p, with the reason.

    Raises
    ------
    InputError
        If no vote is decided.

    References
    ----------
    Bell & McCaffrey 2002; Wilson 1927, JASA 22:209.

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> found = side_preference(vote_rows([0, 0], [1, 1], [A_WINS, B_WINS], count=[60, 40]))
    >>> found.estimate, round(found.p_value, 4)
    (0.6, 0.0455)
    """
    level = check_level(conf_level)
    decided = (rows.outcome == A_WINS) | (rows.outcome == B_WINS)
    count, won = rows.count[decided], (rows.outcome == A_WINS)[decided]
    n, wins = int(count.sum()), int(count[won].sum())
    if n == 0:
        raise InputError("no vote is decided for either side, so no side can be preferred")
    share = wins / n
    alone = wilson(wins, n, conf_level=level)
    if not rows.clusters:
        return _independent(alone)
    residual = count * (won - share)
    ways = [_one_way(residual, count, codes[decided]) for codes in rows.clusters]
    fewest = min(n_clusters for _, _, n_clusters in ways)
    reason = too_few_clusters(fewest)
    if reason is not None:
        return Estimate(estimate=share, method="share", conf_level=level, n=n, n_clusters=fewest, reason=reason)
    # Single votes have the variance of 1/2 at least here: a share of 0 or 1 has none of its own.
    variance = max(share * (1.0 - share) / n, 0.25 / (n + normal_quantile(level) ** 2) if wins in {0, n} else 0.0)
    df = math.inf
    for way_variance, way_df, _ in ways:
        variance, df = max(variance, way_variance), min(df, way_df)
    std_error, reach = math.sqrt(variance), t_quantile(level, df) * math.sqrt(variance)
    return Estimate(
        estimate=share,
        method=f"CR2 by {len(ways)} cluster column{'s' if len(ways) > 1 else ''}, the largest variance",
        conf_level=level,
        n=n,
        std_error=std_error,
        conf_low=max(0.0, share - reach),
        conf_high=min(1.0, share + reach),
        statistic=(share - 0.5) / std_error,
        df=df,
        p_value=two_sided_t_p((share - 0.5) / std_error, df),
        n_clusters=fewest,
    )


def _one_way(residual: FloatArray, count: IntArray, codes: IntArray) -> tuple[float, float, int]:
    """Return CR2 variance, df and number of clusters, from merged votes."""
    _, place = np.unique(codes, return_inverse=True)
    share = np.bincount(place, weights=count) / count.sum()
    if share.size < 2:
        return math.nan, math.nan, share.size
    sums = np.bincount(place, weights=residual)
    return float((sums**2 / (1.0 - share)).sum()) / float(count.sum()) ** 2, satterthwaite_df(share), share.size


def _independent(alone: Estimate) -> Estimate:
    z = (alone.estimate - 0.5) / math.sqrt(0.25 / alone.n)
    return replace(
        alone,
        method="Wilson, score test of 1/2",
        std_error=0.5 / math.sqrt(alone.n),
        statistic=z,
        p_value=two_sided_normal_p(z),
    )
