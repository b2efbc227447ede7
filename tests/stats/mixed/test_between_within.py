"""Degrees of freedom between few groups: what differs between them, what within, and the size of the test."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.stats.mixed.degrees_of_freedom import between_within_df
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows


def _design(n_groups: int, *, slopes: bool = False, kept: np.ndarray | None = None) -> MixedDesign:
    """Groups of ten cells; columns: intercept, a factor between groups, one within, and their interaction."""
    group = np.repeat(np.arange(n_groups), 10)
    between, within = (group % 2).astype(float), np.tile([0.0, 1.0], 5 * n_groups)
    at = np.arange(group.size) if kept is None else kept
    ones = np.ones(group.size)
    fixed = np.column_stack([ones, between, within, between * within])[at]
    values = (np.column_stack([ones, within]) if slopes else ones[:, None])[at]
    columns = ("(Intercept)", "within") if slopes else ("(Intercept)",)
    term = RandomTerm(
        group="g", columns=columns, levels=tuple(f"g{k}" for k in range(n_groups)), level=group[at], values=values
    )
    names = ("(Intercept)", "between", "within", "between:within")
    return MixedDesign(
        fixed=distinct_rows(fixed),
        fixed_names=names,
        terms=(term,),
        count=np.ones(at.size),
        response=np.full(at.size, 0.5),
    )


def test_what_differs_between_groups_has_as_many_as_they_leave() -> None:
    df = between_within_df(_design(8), np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]]))
    assert df.tolist() == [6.0, np.inf, np.inf]


def test_an_effect_that_varies_over_groups_is_between_them() -> None:
    """A slope of its own in every group: what is within them is known from as many numbers as there are groups."""
    df = between_within_df(_design(8, slopes=True), np.array([[0.0, 0.0, 1.0, 0.5]]))
    assert df.tolist() == [6.0]


def test_unbalanced_effects_within_groups_stay_within() -> None:
    kept = np.flatnonzero(np.random.default_rng(1).random(80) < 0.85)
    df = between_within_df(_design(8, kept=kept), np.array([[0.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.5]]))
    assert 5.9 < df[0] < 7.0
    assert df[1] == np.inf


def test_thirty_groups_are_enough() -> None:
    assert between_within_df(_design(30), np.eye(4)).tolist() == [np.inf] * 4


def _table(seed: int, n_groups: int, effect: float = 0.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), 20)
    eta = -0.3 + effect * (group % 2) + 0.8 * rng.normal(size=n_groups)[group]
    return pl.DataFrame(
        {
            "right": (rng.random(group.size) < 1.0 / (1.0 + np.exp(-eta))).astype(int),
            "arm": np.array(["p", "q"])[group % 2],
            "half": np.array(["u", "v"])[np.arange(group.size) % 2],
            "site": [f"s{k}" for k in group.tolist()],
        }
    )


def test_a_fit_with_few_groups_says_by_which_law() -> None:
    result = es.mixed("right ~ arm + half + (1 | site)", _table(0, 8), family="binomial")
    assert result.df_method == "between-within"
    assert "site has 8 levels, fewer than 30" in result.df_reason
    assert [row.df for row in result.fixed[1:]] == [6.0, None]
    assert {row.method for row in result.fixed} == {"t (between-within)"}
    assert [test.df_denominator for test in result.tests] == [6.0, None]
    assert "between-within" in result.explain()
    means = result.means("arm")
    assert [row.df for row in (*means.rows, *means.contrasts)] == [6.0] * 3
    assert means.contrasts[0].p_value == pytest.approx(result.tests[0].p_value, rel=0.3)
    normal = es.mixed("right ~ arm + half + (1 | site)", _table(0, 8), family="binomial", df="z")
    assert normal.df_method == "z"
    assert normal.fixed[1].p_value < result.fixed[1].p_value
    assert normal.fixed[2] == result.fixed[2] or normal.fixed[2].p_value == result.fixed[2].p_value
    with pytest.raises(InputError, match="for binomial models"):
        es.mixed("right ~ arm + (1 | site)", _table(0, 8), df="between-within")


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "most"), [(8, 0.085), (16, 0.08)])
def test_size_with_few_groups(n_groups: int, most: float) -> None:
    """A factor between groups: Wald's z rejects in 13% and 9% at a nominal 5%."""
    p = [
        next(
            row.p_value
            for row in es.mixed("right ~ arm + (1 | site)", _table(k, n_groups), family="binomial").fixed[1:]
        )
        for k in range(400)
    ]
    assert np.mean(np.array(p) <= 0.05) <= most
