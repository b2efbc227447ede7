"""What several questions about a board share is what each would have made for itself."""

from collections.abc import Callable

import numpy as np
import pytest

from evalstats.analysis.design.metric import Metric
from evalstats.analysis.leaderboard.ranks import (
    BoardScores,
    RankingOptions,
    claims,
    pair_differences,
    ranking,
    separated,
    shown_better,
)
from evalstats.stats.many.pair_table import pair_table
from evalstats.stats.many.ranks import rank_sets, with_the_best
from evalstats.stats.many.reference_laws import flip_clusters, flip_items, normal_items


def board(
    *, clusters: int = 0, higher: bool = True, adjust: str = "max-t", gaps: bool = True
) -> tuple[BoardScores, RankingOptions]:
    """Six models on 240 items, some of them close, with holes."""
    rng = np.random.default_rng(clusters + higher)
    ease = np.repeat(rng.normal(size=24), 10)[:, np.newaxis]
    values = (rng.normal(size=(240, 6)) + ease + [0.9, 0.8, 0.4, 0.1, -0.1, -0.9] > 0).astype(np.float64)
    if gaps:
        values[rng.random(values.shape) < 0.04] = np.nan
    codes = (np.arange(240) // 10 % clusters,) if clusters else ()
    metric = Metric(benchmark="b", name="m", kind="binary", low=0.0, high=1.0, higher_is_better=higher, unit="")
    asked = RankingOptions(metric=metric, conf_level=0.95, adjust=adjust, baseline=None, top=(1, 3), seed=3)
    everyone = np.ones((6, 6), dtype=np.bool_)
    return BoardScores(values=values, clusters=codes, single=not clusters, comparable=everyone), asked


# Every two of what differs are met together.
@pytest.mark.parametrize(
    ("clusters", "adjust", "higher"),
    [
        *((0, "max-t", True), (0, "holm", False), (0, "bh", True), (4, "max-t", False), (4, "holm", True)),
        *((4, "bh", False), (12, "max-t", True), (12, "holm", False), (12, "bh", False)),
    ],
)
def test_claims_are_those_of_the_ranking(clusters: int, adjust: str, *, higher: bool) -> None:
    scores, asked = board(clusters=clusters, higher=higher, adjust=adjust)
    whole = ranking(scores, asked)
    apart, ranks = claims(scores, asked)
    assert apart.tolist() == separated(whole.every, asked.conf_level).tolist()
    assert [(each.low, each.high, each.top) for each in ranks.models] == [
        (each.low, each.high, each.top) for each in whole.ranks.models
    ]
    if clusters != 4:  # too few to separate anything
        assert apart.any()
        assert not apart.all()


@pytest.mark.parametrize(
    ("clusters", "gaps", "higher"), [(0, True, True), (0, False, False), (12, True, False), (12, False, True)]
)
def test_a_table_that_is_shared_changes_no_answer(clusters: int, *, gaps: bool, higher: bool) -> None:
    scores, asked = board(clusters=clusters, higher=higher, gaps=gaps)
    found, turned = ranking(scores, asked), asked.turned(scores.values)
    pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
    apart = pair_differences(scores, asked, pairs)
    for name in ("estimate", "std_error", "p_value", "p_adjusted", "conf_low", "conf_high", "n_items"):
        np.testing.assert_array_equal(getattr(found.every, name), getattr(apart, name), err_msg=name)
    above = shown_better(apart, asked, 6)
    barred = ~(above | above.T)
    own = rank_sets(turned, clusters=scores.codes, top=(1, 3), seed=3, barred=barred)
    assert [each.marginal_low for each in found.ranks.models] == own.marginal_low.tolist()
    best = with_the_best(turned, clusters=scores.codes, bounds=(0.0, 1.0), binary=not clusters, shares=True, seed=3)
    kept = [k for k, (low, _) in enumerate(found.to_best) if low is not None]
    assert len(kept) >= 4
    assert [found.to_best[k][0] for k in kept] == best.low[kept].tolist()


@pytest.mark.parametrize("law_of", [flip_clusters, flip_items, normal_items])
def test_a_law_that_is_asked_for_again_gives_the_same_draws(law_of: Callable) -> None:
    scores, _ = board(clusters=24 if law_of is flip_clusters else 0)
    table = pair_table(scores.values, None, scores.codes)
    pairs = np.arange(table.first.size)
    law = law_of(table, pairs, seed=1, n_resamples=2_000)
    first = [(t.copy(), weight.copy()) for t, weight in law.chunks()]
    again = law_of(table, pairs, seed=1, n_resamples=2_000)
    assert again is law
    assert law_of(table, pairs, seed=2, n_resamples=2_000) is not law
    assert law_of(table, pairs[:-1], seed=1, n_resamples=2_000) is not law
    for (t, weight), (then, as_heavy) in zip(first, again.chunks(), strict=True):
        np.testing.assert_array_equal(t, then)
        np.testing.assert_array_equal(weight, as_heavy)
    assert sum(len(t) for t, _ in first) == 2_001
    # A pass that is broken off keeps nothing half.
    other = law_of(table, pairs, seed=5, n_resamples=2_000)
    next(iter(other.chunks()))
    assert sum(len(t) for t, _ in other.chunks()) == 2_001
