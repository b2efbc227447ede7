"""Agreement over subsets of the models."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.agreement.correlation import subset_agreement
from tests.stats.agreement.lablive import published
from tests.stats.agreement.test_draws import scores


def test_neighbours_are_counted_out() -> None:
    s = scores(n=24)
    order = np.argsort(-s.live)
    taus = [stats.kendalltau(s.lab[order[at : at + 10]], s.live[order[at : at + 10]]).statistic for at in range(15)]
    row = next(row for row in subset_agreement(s) if row.kind == "adjacent" and row.size == 10)
    assert row.n_subsets == 15
    assert (row.mean, row.sd) == (pytest.approx(np.mean(taus)), pytest.approx(np.std(taus, ddof=1)))
    assert (row.low, row.high) == (pytest.approx(np.quantile(taus, 0.05)), pytest.approx(np.quantile(taus, 0.95)))


def test_random_subsets_have_the_mean_of_all() -> None:
    s = scores(n=40)
    whole = stats.kendalltau(s.lab, s.live).statistic
    rows = {row.size: row for row in subset_agreement(s, n_subsets=2000) if row.kind == "random"}
    for row in rows.values():
        # Without ties tau of a random subset is unbiased for tau of all.
        assert row.mean == pytest.approx(whole, abs=4 * row.sd / np.sqrt(2000))
    assert rows[5].sd > rows[10].sd > rows[20].sd


def test_close_models_agree_less(golden: Path) -> None:
    s, _ = published(golden)["arena_hard_240829_holistic"]
    rows = {(row.kind, row.size): row.mean for row in subset_agreement(s)}
    assert rows["random", 10] > rows["top", 10] > rows["adjacent", 10]


def test_sizes_are_what_the_models_allow() -> None:
    s = scores(n=12)
    rows = subset_agreement(s)
    assert {(row.kind, row.size) for row in rows} == {
        ("random", 5), ("random", 10), ("top", 5), ("adjacent", 5), ("adjacent", 10)
    }  # fmt: skip
    assert subset_agreement(s, sizes=[10])[0] == next(row for row in rows if (row.kind, row.size) == ("random", 10))
    assert subset_agreement(s.subset(np.arange(4))) == ()
