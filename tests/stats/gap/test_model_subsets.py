"""Agreement over subsets of the models, and one benchmark against others."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.gap.model_subsets import subset_agreement
from evalstats.stats.gap.relative_agreement import relative_agreement
from tests.stats.gap.lablive import published, rows_of
from tests.stats.gap.test_agreement_draws import scores

COLUMNS = ("arena_hard", "mmlu_pro", "alphacaeval_v2lc")  # the three that share the most models: five


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
    with pytest.raises(InputError, match="at least 3 models"):
        subset_agreement(s, sizes=[2])


def test_published_benchmarks_against_each_other(golden: Path) -> None:
    tables = [{row["model"]: row for row in rows_of(golden, column)} for column in COLUMNS]
    models = sorted(set.intersection(*(set(table) for table in tables)))
    marks = np.array(
        [[float(table[model][column]) for table, column in zip(tables, COLUMNS, strict=True)] for model in models]
    )
    live = np.array([float(tables[0][model]["arena_elo"]) for model in models])
    found = relative_agreement(marks, live)
    taus = np.array([stats.kendalltau(column, live).statistic for column in marks.T])
    np.testing.assert_allclose(found.agreement, taus, atol=1e-12)
    np.testing.assert_allclose(found.z, (taus - taus.mean()) / taus.std(ddof=1), atol=1e-9)
    np.testing.assert_allclose(found.difference[0], taus[0] - taus[1:].mean(), atol=1e-12)
    assert (found.low < found.difference).all()
    assert (found.difference < found.high).all()
    assert found.n_models == live.size


def test_order_of_benchmarks_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    live = rng.normal(size=20)
    marks = live[:, None] + rng.normal(size=(20, 4)) * [0.2, 0.5, 1.0, 2.0]
    one, other = relative_agreement(marks, live), relative_agreement(marks[:, ::-1], live)
    np.testing.assert_allclose(one.z, other.z[::-1])
    np.testing.assert_allclose(one.low, other.low[::-1])
    assert one.low[0] > 0 > one.high[3]


def test_what_cannot_be_compared_is_refused() -> None:
    x = np.arange(6.0)
    with pytest.raises(InputError, match="a score is missing"):
        relative_agreement(np.column_stack([x, x, np.where(x > 2, x, np.nan)]), x)
    with pytest.raises(InputError, match="rows of both"):
        relative_agreement(np.ones((5, 3)), x)
    with pytest.raises(CannotAnswerError, match="at least 5 and 3"):
        relative_agreement(np.column_stack([x, x]), x)
    with pytest.raises(CannotAnswerError, match="constant"):
        relative_agreement(np.column_stack([x, x, np.ones(6)]), x)
    with pytest.raises(CannotAnswerError, match="alike"):
        relative_agreement(np.column_stack([x, x, x]), x)
