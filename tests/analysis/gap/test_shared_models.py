"""Models are joined by name, never by likeness; everything is cut to what both sides have."""

import numpy as np
import polars as pl
import pytest

from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.shared_models import SharedModels, shared_models
from evalstats.analysis.gap.side_scores import side_scores
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from evalstats.simulate.lab_live import simulate_lab_live
from tests.analysis.gap.notes import lines_of


def published(names: list[str], *, live: bool) -> EvalData:
    rows = [
        {
            "model": name,
            "benchmark": "arena" if live else "bench",
            "metric": "rating" if live else "score",
            "estimate": (1000.0 if live else 0.0) + j,
            "std_error": 0.5,
            "setting": "live" if live else "lab",
        }
        for j, name in enumerate(names)
    ]
    return EvalData(aggregates=frame_from_rows(rows, "aggregates"))


def joined(lab: EvalData, live: EvalData, *, factors=(), **options: object) -> SharedModels:
    sides = [
        side_scores(data, live=is_live, metric=None, cluster=None, factors=factors, conf_level=0.95)
        for data, is_live in ((lab, False), (live, True))
    ]
    return shared_models(*sides, **options)


def test_the_same_names_are_joined_in_one_order() -> None:
    found = joined(published(list("dcba"), live=False), published(list("abcx"), live=True))
    assert found.models == ("a", "b", "c")
    # a is last in the lab's list and first live.
    assert found.scores.lab.tolist() == [3.0, 2.0, 1.0]
    assert found.scores.live.tolist() == [1000.0, 1001.0, 1002.0]
    assert [name for name, _, _ in found.lab.only_here] == ["d"]
    assert [name for name, _, _ in found.live.only_here] == ["x"]


def test_an_alias_joins_and_is_named() -> None:
    lab, live = published(["a", "b", "GPT"], live=False), published(["a", "b", "gpt-x"], live=True)
    found = joined(lab, live, aliases={"GPT": "gpt-x"})
    assert found.models == ("a", "b", "gpt-x")
    assert found.lab.models == ("a", "b", "GPT")
    assert found.names.by_alias == (("GPT", "gpt-x"),)


def test_no_shared_model_is_refused_with_proposals() -> None:
    lab = published(["Claude-3-Opus", "x1"], live=False)
    live = published(["claude-3-opus", "y2"], live=True)
    with pytest.raises(CannotAnswerError, match=r"share no model.*'Claude-3-Opus' and 'claude-3-opus'.*aliases="):
        joined(lab, live)


def without_errors(data: EvalData, models: list[str]) -> EvalData:
    error = pl.when(pl.col("model").is_in(models)).then(None).otherwise(pl.col("std_error"))
    return EvalData(aggregates=data.aggregates.with_columns(std_error=error))


def test_models_without_an_error_are_left_out_where_most_have_one() -> None:
    lab, live = published(list("abcdefgh"), live=False), published(list("abcdefgh"), live=True)
    found = joined(without_errors(lab, ["a"]), without_errors(live, ["b"]))
    assert found.models == tuple("cdefgh")
    assert "2 shared models are dropped" in lines_of(found.notes, "left_out", caution=True)
    few = joined(without_errors(lab, list("abc")), live)
    assert few.n_models == 8
    assert few.lab.covariance is None
    assert few.live.covariance is not None
    assert "5 of 8 shared models have standard errors" in lines_of(few.notes, "few", caution=True)


def test_the_same_scores_on_both_sides_are_refused() -> None:
    lab = published(list("abcdef"), live=False)
    with pytest.raises(InputError, match="both sides hold the same scores"):
        joined(lab, lab)


def test_what_is_wrong_with_a_side_names_the_side_and_its_option() -> None:
    lab, live = published(list("abcdef"), live=False), published(list("abcdef"), live=True)
    second = EvalData(aggregates=pl.concat([lab.aggregates, lab.aggregates.with_columns(metric=pl.lit("other"))]))
    with pytest.raises(InputError, match=r"the lab side: .* choose one, such as lab_metric="):
        gap(second, live)
    with pytest.raises(InputError, match="the live side: there is no metric 'score'"):
        gap(lab, live, metric="score")


def test_models_can_be_kept_by_either_name_and_unknown_ones_are_refused() -> None:
    lab, live = published(list("abcde"), live=False), published(list("abcde"), live=True)
    assert joined(lab, live, models=["a", "c", "e"]).models == ("a", "c", "e")
    with pytest.raises(InputError, match="'z' is none of the models that both sides have"):
        joined(lab, live, models=["a", "z"])


def test_votes_are_never_on_the_labs_scale() -> None:
    both = simulate_lab_live(6, live="comparisons", n_items=40, seed=1)
    with pytest.raises(InputError, match="votes give ratings"):
        joined(both.lab, both.live, same_scale=True)
    assert not joined(both.lab, both.live).same_scale


def test_cells_hold_every_outcome_of_the_shared_models() -> None:
    both = simulate_lab_live(6, n_items=40, n_users=60, seed=2)
    found = joined(both.lab, both.live, factors=("scenario",))
    assert found.cells is not None
    assert found.cells.live is not None
    assert found.cells.live.n.sum() == both.live.outcomes.height
    assert found.cells.live.total.sum() == both.live.outcomes["score"].sum()
    np.testing.assert_allclose(
        np.bincount(found.cells.lab.model, found.cells.lab.total)
        / np.bincount(found.cells.lab.model, found.cells.lab.n),
        found.lab.estimate,
    )
    assert found.cells.lab.n_clusters <= both.lab.outcomes["item"].n_unique()


def test_a_mix_that_is_none_is_refused() -> None:
    both = simulate_lab_live(6, live="comparisons", n_items=40, seed=1)
    with pytest.raises(InputError, match=r"sum to 0\.9"):
        gap(both.lab, both.live, mix={"ideal": 0.5, "impatience": 0.4})
    with pytest.raises(InputError, match="name one"):
        gap(both.lab, both.live, by=["scenario", "user_kind"], mix={"ideal": 1.0})
