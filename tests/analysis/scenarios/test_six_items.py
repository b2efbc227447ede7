"""Six items that differ are the least that a claim about scenarios rests on."""

import polars as pl
import pytest

import evalstats as es


def _table(
    n_failed: int, *, shared: bool = False, crossed: bool = False, models: tuple[str, ...] = ("x", "y")
) -> es.EvalData:
    """The last model fails some items of the last of three scenarios, and where `crossed` the first model some of the first."""
    rows = [
        {
            "item": f"{'' if shared else scenario}{i}",
            "scenario": scenario,
            "model": model,
            "score": int(
                i >= n_failed or (model, scenario) not in {(models[-1], "c"), *([(models[0], "a")] if crossed else [])}
            ),
        }
        for scenario in "abc"
        for i in range(20)
        for model in models
    ]
    return es.from_frame(
        pl.DataFrame(rows),
        item="item",
        scenario="scenario",
        model="model",
        score="score",
        benchmark="@b",
        **({"variant": "scenario"} if shared else {}),
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("n_failed", [5, pytest.param(2, marks=pytest.mark.slow)])
def test_fewer_than_six_items_claim_nothing(n_failed: int, *, shared: bool) -> None:
    result = es.scenarios(_table(n_failed, shared=shared), n_resamples=0)
    assert result.interaction is not None
    assert result.interaction.p_value is None
    assert result.interaction.note == f"models differ on {n_failed} items, and a claim needs 6"
    assert "inconclusive: models differ on" in result.summary()
    assert {row.verdict for row in result.drops} <= {"not shown", "invalid"}
    assert not any(row.separated for row in result.pairs)
    assert result.ranking is None or not result.ranking.shown


def test_nine_items_are_judged() -> None:
    assert es.scenarios(_table(9), n_resamples=0).drop("y", "c").verdict == "drop"
    result = es.scenarios(_table(9, crossed=True), n_resamples=0)
    assert result.interaction is not None
    assert (result.interaction.p_value or 1.0) < 0.01
    assert "Models differ in where they break" in result.summary()
    assert result.ranking is not None
    assert result.ranking.shown


def test_changes_of_one_model_need_six_scores_too() -> None:
    few, many = (es.scenarios(_table(n, shared=True, models=("y",)), n_resamples=0) for n in (5, 12))
    assert few.interaction is not None
    assert few.interaction.p_value is None
    assert "drop" not in {row.verdict for row in few.drops}
    assert many.drop("y", "c").verdict == "drop"
