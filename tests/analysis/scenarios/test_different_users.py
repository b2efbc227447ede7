"""Where models break that different users met: cells, differences within scenarios, whether these differ, and what is said."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.unpaired import clustered_difference
from tests.analysis.builders import printed, told

# Sums in another order.
ROUNDING = 1e-9
COUNTRIES = ("de", "fr", "it")


def visits(
    *, users: tuple[int, int] = (80, 70), gain: tuple[float, ...] = (0.3, 0.0, 0.0), rate: float = 0.45, seed: int = 0
) -> pl.DataFrame:
    """Users of either model with one to four visits in one country, right or wrong; `gain` is what model b adds there."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for model, n in zip("ab", users, strict=True):
        for u in range(n):
            country = int(rng.integers(len(gain)))
            share = np.clip(rng.normal(rate + gain[country] * (model == "b"), 0.15), 0.0, 1.0)
            rows += [
                {
                    "model": model, "user": f"{model}{u}", "country": COUNTRIES[country],
                    "solved": int(rng.random() < share), "spent": float(rng.normal(share, 1.0)),
                }
                for _ in range(int(rng.integers(1, 5)))
            ]  # fmt: skip
    return pl.DataFrame(rows)


def read(table: pl.DataFrame, score: str = "solved", **more: Any) -> es.EvalData:
    return es.from_frame(
        table, **{"item": "#row", "model": "model", "score": score, "dependence": "user", "country": "country", **more}
    )


def asked(data: es.EvalData, **options: Any) -> es.ScenarioModel:
    return es.scenarios(data, scenario="country", **options)


def sides(table: pl.DataFrame, score: str, country: str) -> list[tuple[np.ndarray, np.ndarray]]:
    own = [table.filter(model=model, country=country) for model in "ab"]
    codes = table["user"].unique().sort().to_list()
    return [(part[score].to_numpy().astype(float), np.array([codes.index(u) for u in part["user"]])) for part in own]


@pytest.mark.parametrize("score", ["solved", "spent"])
def test_a_difference_within_a_scenario_is_that_of_two_samples_of_users(score: str) -> None:
    table = visits()
    found = asked(read(table, score))
    rows = [pair for pair in found.pairs if pair.scenario]
    assert [(row.scenario, {row.first, row.second}) for row in rows] == [(name, {"a", "b"}) for name in COUNTRIES]
    for row in rows:
        (a, of_a), (b, of_b) = sides(table, score, row.scenario)
        expected = clustered_difference(a, b, of_a, of_b)
        sign = 1.0 if row.first == "b" else -1.0
        assert row.estimate == pytest.approx(sign * expected.estimate, abs=ROUNDING)
        assert (row.std_error, row.df) == pytest.approx((expected.std_error, expected.df), rel=ROUNDING)
        if score == "spent":
            assert row.p_value == pytest.approx(expected.p_value, rel=1e-6)
            assert row.p_adjusted == pytest.approx(min(1.0, 3 * (expected.p_value or 0)), rel=1e-6)
    assert "differences between models within country" in printed(found)
    assert "pairs of models" not in printed(found)  # of two models there is one pair over all scenarios
    assert found.pairs_frame()["scenario"].drop_nulls().to_list() == list(COUNTRIES)


def test_whether_differences_differ_between_two_scenarios_is_the_t_of_their_difference() -> None:
    table = visits(gain=(0.3, 0.0))
    found = asked(read(table, "spent"))
    parts = [sides(table, "spent", name) for name in COUNTRIES[:2]]
    each = [clustered_difference(a[0], b[0], a[1], b[1]) for a, b in parts]
    error = np.hypot(each[0].std_error or 0, each[1].std_error or 0)
    test = found.interaction
    assert test is not None
    assert test.method == "approximate Hotelling test (HTZ)"
    t = (each[0].estimate - each[1].estimate) / error
    assert test.statistic == pytest.approx(t**2, rel=1e-9)
    assert test.p_value == pytest.approx(2 * stats.t.sf(abs(t), test.df_denominator), rel=1e-9)
    assert 40 < (test.df_denominator or 0) < 150


def test_what_is_said_and_what_is_not() -> None:
    found = asked(read(visits()))
    assert found.different == "users"
    assert found.summary().split(".")[0].endswith("on different users")
    assert (found.variances, found.reliability) == ((), None)
    assert all(cell.n_missing == 0 for cell in found.cells)
    assert any("Rows are numbered by their place and not paired" in text for text in told(found)) == (
        len({*visits().group_by("model").len()["len"]}) == 1
    )
    assert not any("missing" in text for text in told(found))
    assert "each model has users of its own" in printed(found)
    assert "more models on the same items" not in printed(found)
    again = asked(read(visits().sample(fraction=1.0, shuffle=True, seed=3)))
    assert [row.p_adjusted for row in again.pairs] == pytest.approx([row.p_adjusted for row in found.pairs])


def test_a_cell_of_other_users_misses_its_own_rows_without_a_score() -> None:
    table = visits().with_row_index()
    lost = (pl.col("model") == "b") & (pl.col("country") == "fr") & (pl.col("index") % 2 == 0)
    found = asked(read(table.with_columns(solved=pl.when(~lost).then("solved")).drop("index")))
    expected = {("b", "fr"): table.filter(lost).height}
    assert {(row.model, row.scenario): row.n_missing for row in found.cells if row.n_missing} == expected
    assert "1 of 6 cells lacks scores" in printed(found)


def test_ids_that_nobody_shares_are_asked_about_but_those_of_users() -> None:
    table = visits().unique("user", maintain_order=True)
    found = asked(read(table, item="user", dependence=[]))
    assert (found.different, found.n_clusters) == ("users", table.height)
    questions = read(table.rename({"user": "question"}), item="question", dependence=[])
    with pytest.raises(CannotAnswerError, match="if each model has different users or items, add paired=False"):
        asked(questions)
    assert asked(questions, paired=False).different == "items"


def test_sampled_scenarios_are_refused() -> None:
    with pytest.raises(InputError, match="as_='random' needs models on the same items"):
        asked(read(visits()), as_="random")


def test_users_of_both_models_are_one_cluster_each() -> None:
    """As with pairs: what a user adds to both models cancels."""
    rng = np.random.default_rng(5)
    rows = [
        {"model": model, "user": f"u{u}", "country": COUNTRIES[u % 2], "spent": level + rng.normal(0, 0.3)}
        for u, level in enumerate(rng.normal(0, 2, 90))
        for model in "ab"
    ]
    table = pl.DataFrame(rows)
    apart = asked(read(table, "spent", item="user", dependence=[]), paired=False)
    errors = [pair.std_error for pair in apart.pairs if pair.scenario]
    assert max(error or 9 for error in errors) < 0.1
    assert apart.n_clusters == 90


@pytest.mark.parametrize("score", ["solved", "spent"])
def test_one_user_of_a_model_in_a_scenario_shows_nothing_there(score: str) -> None:
    table = visits(gain=(0.0, 0.0))
    kept = (pl.col("model") == "a") & (pl.col("country") == "fr")
    alone = table.filter(~kept | (pl.col("user") == table.filter(kept)["user"][0]))
    found = asked(read(alone.with_columns(spent=pl.col("spent") + 5.0 * (pl.col("model") == "b")), score))
    [row] = [pair for pair in found.pairs if pair.scenario == "fr"]
    assert not row.separated
    assert "degrees of freedom" in (row.reason or "")
    assert found.interaction is None or found.interaction.term == "scenario"
    assert any("a cell lies in one cluster" in note.text for note in found.notes)


# .05 and three Monte Carlo standard errors of 2,000 tables.
LIMIT = 0.05 + 3 * 0.0049


@pytest.mark.slow
@pytest.mark.parametrize(("users", "rate"), [((60, 60), 0.5), ((40, 150), 0.85), ((150, 150), 0.95), ((20, 24), 0.5)])
def test_error_rates_of_equal_models(users: tuple[int, int], rate: float) -> None:
    """Any difference within a scenario, whether differences differ, and any change: each at most 5% of 2,000 tables."""
    hits, tables = np.zeros(3), 2_000
    for seed in range(tables):
        found = asked(read(visits(users=users, gain=(0.0, 0.0, 0.0), rate=rate, seed=seed)))
        p = None if found.interaction is None else found.interaction.p_value
        hits += (
            any(pair.separated for pair in found.pairs if pair.scenario),
            p is not None and p <= 0.05,
            any(row.verdict in ("drop", "gain") for row in found.drops),
        )
    assert (hits / tables <= LIMIT).all(), hits / tables
