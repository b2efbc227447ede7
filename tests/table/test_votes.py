"""From rows to a table of votes: what is left out, what votes share, what moves them, and what is said of it."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.arena.notes import vote_notes
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.table.votes import SIDE, VoteTable, numeric_pairs, style_pairs
from tests.analysis.gap.notes import lines_of

VOTES = {
    "model_a": ["x", "y", "x", "z", "z", "x"],
    "model_b": ["y", "x", "z", "y", "z", "y"],
    "outcome": ["a", "b", "tie", "both_bad", "a", None],
}


def _said(
    table: VoteTable, kind: str, asked: tuple[str, ...] | None = None, *, graded: bool = True, **which: Any
) -> str:
    return lines_of(vote_notes(table, asked, graded=graded), kind, **which)


def _votes(**columns: list[object]) -> pl.DataFrame:
    """Votes between two models, in turn won by either, with further columns."""
    n = len(next(iter(columns.values())))
    outcome = [("a", "b")[k % 2] for k in range(n)]
    return pl.DataFrame({"model_a": ["x"] * n, "model_b": ["y"] * n, "outcome": outcome, **columns}, strict=False)


def test_votes_without_an_outcome_are_counted_and_never_ties() -> None:
    table = VoteTable.of(VOTES)
    counts = table.counts
    assert (counts.n_votes, counts.n_decided, counts.n_ties, counts.n_both_bad, counts.n_unscored) == (4, 2, 1, 1, 2)
    assert dict(counts.reasons) == {"a model against itself": 1, "no outcome": 1}
    assert "2 of 6 votes have no outcome and are dropped, not counted as ties" in _said(table, "missing")
    assert table.rows.n_votes == 4
    assert table.models == ("x", "y", "z")
    assert (table.first.tolist(), table.second.tolist()) == ([0, 1, 0, 2], [1, 0, 2, 1])
    assert table.share.tolist() == [1.0, 0.0, 0.5, 0.5]
    dropped = VoteTable.of(VOTES, both_bad="drop")
    assert (dropped.rows.n_votes, dropped.counts.n_both_bad) == (3, 0)


def test_graded_preferences_count_as_given_or_as_who_won() -> None:
    frame = {**VOTES, "preference": [0.8, None, None, None, None, None]}
    graded, plain = VoteTable.of(frame), VoteTable.of(frame, graded=False)
    assert (graded.share[0], plain.share[0]) == (0.8, 1.0)
    assert "graded preference count as who won" in _said(plain, "choice", graded=False, caution=False)


def test_weights_have_a_mean_of_one() -> None:
    table = VoteTable.of({**VOTES, "weight": [2.0, 4.0, None, 1.0, 1.0, 1.0]})
    assert table.weight.tolist() == [1.0, 2.0, 0.5, 0.5]
    assert "from 1 to 4" in _said(table, "choice", caution=False)


@pytest.mark.parametrize(
    ("frame", "asked", "error", "said"),
    [
        (VOTES, {"models": ["x", "w"]}, InputError, "no vote is of a model 'w'"),
        (VOTES, {"models": ["x"]}, InputError, "1 model to keep"),
        (
            {"model_a": ["x"], "model_b": ["x"], "outcome": ["a"]},
            {},
            CannotAnswerError,
            r"no vote has an outcome .*1 vote: a model against itself",
        ),
        (EvalData(), {}, InputError, "the data hold nothing"),
        ({**VOTES, "preference": [0.1] * 6}, {}, InputError, "contradicts their outcome"),
        ({**VOTES, "weight": [0.0] * 6}, {}, CannotAnswerError, "weight of 0"),
        (VOTES, {"cluster": "nobody"}, InputError, "no column 'nobody'"),
        ({**VOTES, "tags": [["u"]] * 6}, {"cluster": "tags"}, InputError, "several labels"),
        ({**VOTES, "rater": [None] * 6}, {"cluster": "rater"}, InputError, "is empty"),
        ({**VOTES, "size_a": [1] * 6, "size_b": [2] * 6}, {"covariates": ["length"]}, InputError, "no numeric columns"),
        ({**VOTES, "size_a": [1] * 6, "size_b": [2] * 6}, {"covariates": ["size"]}, InputError, "differ by the same"),
        (VOTES, {"covariates": ["auto"]}, InputError, "name a pair of numeric columns"),
        (pl.DataFrame(VOTES).lazy(), {"side": True}, InputError, "need single votes"),
        (pl.DataFrame(VOTES).lazy(), {"models": ["x", "y"]}, InputError, "filter the frame first"),
        (pl.DataFrame(VOTES).lazy(), {"cluster": ["rater", "item"]}, InputError, "one column"),
    ],
)
def test_what_is_no_table_of_votes_is_refused(frame: object, asked: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        VoteTable.of(frame, **asked)


def test_votes_whose_columns_have_other_names_are_read_with_a_word() -> None:
    assert es.arena  # with which comes what finds columns
    with pytest.warns(
        es.EvalStatsWarning, match=r"from_votes\(table, model_a='left', model_b='right', winner='choice'\)"
    ):
        table = VoteTable.of({"left": ["x"] * 30, "right": ["y"] * 30, "choice": ["left", "right"] * 15})
    assert table.models == ("x", "y")
    assert table.counts.n_decided == 30


def test_a_part_of_the_models_keeps_their_votes_only() -> None:
    assert VoteTable.of(VOTES, models=["x", "y"]).models == ("x", "y")
    table = VoteTable.of({**VOTES, "rater": ["u", "u", "v", "w", "w", "w"]}, cluster="rater")
    part = table.among((0, 2))
    assert part.models == ("x", "z")
    assert part.rows.n_votes == 1
    assert part.votes is not None
    assert part.votes.height == 1
    assert part.codes[0].tolist() == [0]


# --- what votes share ---


def test_auto_takes_what_votes_share() -> None:
    n = 24
    table = VoteTable.of(
        _votes(
            rater=[f"r{i % 8}" for i in range(n)],
            item=[f"p{i % 3}" for i in range(n)],
            event=[f"e{i}" for i in range(n)],
            session=[None] * n,
        )
    )
    assert table.cluster_names == ("rater",)
    assert "3 prompts, so intervals do not cover another prompt. Collect votes from at least 6" in _said(table, "few")
    assert VoteTable.of(table.votes, cluster=["prompt", "rater"]).cluster_names == ("item", "rater")
    assert VoteTable.of(table.votes, cluster="none").cluster_names == ()


def test_many_judges_are_raters_and_few_are_instruments() -> None:
    assert VoteTable.of(_votes(judge=[f"j{i % 25}" for i in range(75)])).cluster_names == ("judge",)
    mixed = VoteTable.of(
        _votes(rater=[f"r{i % 10}" if i < 20 else None for i in range(90)], judge=[f"j{i % 22}" for i in range(90)])
    )
    assert mixed.cluster_names == ("rater",)
    assert len(set(mixed.codes[0].tolist())) == 10 + 22
    few = VoteTable.of(_votes(judge=["gpt", "claude", "gpt"] * 9, item=[f"p{i % 9}" for i in range(27)]))
    assert few.cluster_names == ("item",)


def test_a_vote_without_a_level_is_a_cluster_of_its_own() -> None:
    table = VoteTable.of(_votes(rater=["a", None, "b", None, "a"]), cluster="rater")
    codes = table.codes[0]
    assert codes[0] == codes[4]
    assert len(set(codes.tolist())) == 4
    assert table.nameless == (2,)


@pytest.mark.parametrize(
    ("columns", "kind", "said"),
    [
        ({"item": [f"q{i}" for i in range(40)]}, "dependence", "do not say who voted"),
        ({"item": [f"q{i}" for i in range(40)], "rater": [f"u{i}" for i in range(40)]}, "dependence", ""),
        ({"item": [f"q{i}" for i in range(40)], "rater": ["u", "v"] * 20}, "few", "All votes come from 2 raters"),
        (
            {"rater": [f"u{i % 8}" for i in range(24)] + [None] * 16, "judge": [None] * 24 + ["gpt-4"] * 16},
            "dependence",
            "16 of 40 votes are by 1 judge (gpt-4) and not by people",
        ),
        ({"judge": ["p", "q"] * 20}, "comparability", "Votes of 2 judges are rated together"),
        ({"simulated": ["by evalstats, seed 0"] * 40}, "simulated", "The votes are simulated (by evalstats, seed 0)"),
        ({"simulated": [False] * 40}, "simulated", ""),
    ],
)
def test_what_votes_lack_or_mix_is_told(columns: dict[str, list[object]], kind: str, said: str) -> None:
    found = _said(VoteTable.of(_votes(**columns)), kind)
    assert said in found
    assert bool(found) == bool(said)


def test_models_that_one_of_several_judges_judged_alone_are_told() -> None:
    table = VoteTable.of({**VOTES, "judge": ["p", "q", "p", "p", "p", "p"]})
    assert "2 judges are rated together, and 1 of 3 models were judged by one" in _said(table, "comparability")


def test_two_files_with_the_same_votes_are_told() -> None:
    frame = {name: values * 60 for name, values in VOTES.items()}
    frame["battle"] = [str(i % 180) for i in range(360)]
    frame["run"] = ["csv"] * 180 + ["json"] * 180
    assert "count twice" in _said(VoteTable.of(frame), "trust")


# --- what else moves them ---


def test_a_relative_difference_is_the_difference_over_the_sum() -> None:
    table = VoteTable.of(_votes(length_a=[10, 0, 30, 5], length_b=[30, 0, 10, 5]), covariates=["length"])
    raw = np.array([-0.5, 0.0, 0.5, 0.0])
    np.testing.assert_allclose(table.covariates[:, 0], raw / raw.std())
    assert table.covariate_sd == pytest.approx((raw.std(),))


def test_votes_without_a_covariate_are_left_out_and_counted() -> None:
    table = VoteTable.of(_votes(length_a=[1, None, 3], length_b=[2, 2, 1]), covariates=["length"])
    assert table.counts.n_votes == 2
    assert "1 vote without length" in _said(table, "left_out")
    every = VoteTable.of(_votes(length_a=[1, None, 3], length_b=[2, 2, 1]))
    beside = every.with_covariates(["length"])
    assert beside is not None
    np.testing.assert_array_equal(beside.covariates, table.covariates)
    assert (every.n_votes, beside.n_votes) == (3, 2)


def test_style_and_pairs_are_found_by_name() -> None:
    pairs = ("header_count_a", "header_count_b", "context_tokens_a", "context_tokens_b")
    votes = pl.DataFrame({**{name: [1] for name in pairs}, "note_a": ["p"], "note_b": ["q"]})
    assert numeric_pairs(votes) == ("header_count", "context_tokens")
    assert style_pairs(votes) == ("header_count",)


def test_the_side_is_the_one_shown_first_where_that_is_known() -> None:
    table = VoteTable.of(_votes(order=["a_first", "b_first", None]), side=True)
    assert (table.covariate_names, table.covariates[:, 0].tolist()) == ((SIDE,), [1.0, -1.0, 1.0])
    beside = VoteTable.of(table.votes).with_side()
    assert beside.covariates.tolist() == table.covariates.tolist()
    assert beside.covariate_mean == table.covariate_mean


# --- votes that nobody signed ---


def _unsigned(n_unsigned: int, *, seed: int = 0) -> pl.DataFrame:
    """Return 240 votes by 30 raters between three models, of which some are by nobody known."""
    rng = np.random.default_rng(seed)
    pairs = np.array([("x", "y"), ("y", "z"), ("z", "x")])[np.arange(240) % 3]
    return pl.DataFrame(
        {
            "model_a": pairs[:, 0],
            "model_b": pairs[:, 1],
            "outcome": rng.choice(["a", "b"], 240),
            "rater": [None if k < n_unsigned else f"u{k % 30}" for k in range(240)],
        }
    )


@pytest.mark.parametrize("n_unsigned", [0, 1, 90])
def test_votes_without_a_rater_are_no_raters(n_unsigned: int):
    result = es.arena(_unsigned(n_unsigned), checks=False)
    (cluster,) = result.clusters
    assert (cluster.name, cluster.n_levels, cluster.n_nameless) == ("rater", 30, n_unsigned)
    without = {0: "", 1: " (1 vote without one)", 90: " (90 votes without one)"}[n_unsigned]
    assert result.document().scope == f"240 votes, 30 raters{without}"
    shuffled = es.arena(_unsigned(n_unsigned).sample(fraction=1.0, shuffle=True, seed=4), checks=False)
    assert shuffled.document().scope == result.document().scope


def test_votes_without_a_rater_are_counted_in_their_part():
    """Of a part of the models only its own votes count, signed and unsigned."""
    votes = _unsigned(90)
    apart = votes.head(50).with_columns(
        pl.col("model_a") + "2", pl.col("model_b") + "2", rater=pl.lit(None, dtype=pl.String)
    )
    (cluster,) = es.arena(pl.concat([votes, apart]), checks=False).clusters
    assert (cluster.n_levels, cluster.n_nameless) == (30, 90)
