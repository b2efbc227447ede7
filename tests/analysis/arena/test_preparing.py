"""From comparisons to votes: what is left out, what votes share, what moves them."""

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.arena.adjustments import numeric_pairs, relative_differences, style_pairs
from evalstats.analysis.arena.votes import comparisons_of, restricted, shared_sources, vote_table
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from tests.analysis.gap.notes import lines_of


def _table(frame: dict[str, object], **options: object):
    asked = {
        "cluster": "auto",
        "covariates": None,
        "side": False,
        "models": None,
        "keep_both_bad": True,
        "graded": True,
        **options,
    }
    return vote_table(comparisons_of(frame), **asked)


VOTES = {
    "model_a": ["x", "y", "x", "z", "z", "x"],
    "model_b": ["y", "x", "z", "y", "z", "y"],
    "outcome": ["a", "b", "tie", "both_bad", "a", None],
}


def test_votes_without_an_outcome_are_counted_and_never_ties():
    table, counts, _ = _table(VOTES)
    assert (counts.n_votes, counts.n_decided, counts.n_ties, counts.n_both_bad, counts.n_unscored) == (4, 2, 1, 1, 2)
    assert dict(counts.reasons) == {"a model against itself": 1, "no outcome": 1}
    assert "2 of 6 votes have no outcome and are left out, not taken for ties" in lines_of(table.notes, "missing")
    assert table.rows.n_votes == 4


def test_both_bad_may_be_dropped():
    table, counts, _ = _table(VOTES, keep_both_bad=False)
    assert table.rows.n_votes == 3
    assert counts.n_both_bad == 0


def test_codes_are_places_among_sorted_names():
    table, _, _ = _table(VOTES)
    assert table.models == ("x", "y", "z")
    assert table.first.tolist() == [0, 1, 0, 2]
    assert table.second.tolist() == [1, 0, 2, 1]
    assert table.share.tolist() == [1.0, 0.0, 0.5, 0.5]


def test_graded_preferences_count_as_given_or_as_who_won():
    frame = {**VOTES, "preference": [0.8, None, None, None, None, None]}
    graded, _, _ = _table(frame)
    plain, _, _ = _table(frame, graded=False)
    assert graded.share[0] == 0.8
    assert plain.share[0] == 1.0
    assert "graded preference count as who won" in lines_of(plain.notes, "choice", caution=False)


def test_models_may_be_chosen_and_unknown_ones_are_named():
    table, _, _ = _table(VOTES, models=["x", "y"])
    assert table.models == ("x", "y")
    with pytest.raises(InputError, match="no vote is of a model 'w'"):
        _table(VOTES, models=["x", "w"])


def test_nothing_to_rate_is_refused_with_the_reasons():
    with pytest.raises(CannotAnswerError, match=r"no vote has an outcome .*1 vote: a model against itself"):
        _table({"model_a": ["x"], "model_b": ["x"], "outcome": ["a"]})


def test_raw_labels_are_sent_to_from_votes():
    with pytest.raises(InputError, match=r"evalstats\.from_votes"):
        comparisons_of({"model_a": ["x"], "model_b": ["y"], "winner": ["model_a"]})
    with pytest.raises(InputError, match="the data hold nothing"):
        comparisons_of(EvalData())


def test_a_part_of_the_models_keeps_their_votes_only():
    table, _, _ = _table({**VOTES, "rater": ["u", "u", "v", "w", "w", "w"]}, cluster="rater")
    part = restricted(table, (0, 2))
    assert part.models == ("x", "z")
    assert part.rows.n_votes == 1
    assert part.votes is not None
    assert part.votes.height == 1
    assert part.codes[0].tolist() == [0]


def _shared(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame(columns)


def test_auto_takes_what_votes_share():
    n = 24
    votes = _shared(
        rater=[f"r{i % 8}" for i in range(n)],
        item=[f"p{i % 3}" for i in range(n)],
        event=[f"e{i}" for i in range(n)],
        session=[None] * n,
    )
    found = shared_sources(votes, "auto")
    assert found.names == ("rater",)
    assert "3 prompts, so intervals say nothing of another prompt. Collect votes from at least 6" in lines_of(
        found.notes, "few"
    )


def test_many_judges_are_raters_and_few_are_instruments():
    judged = shared_sources(_shared(judge=[f"j{i % 25}" for i in range(75)]), "auto")
    assert judged.names == ("judge",)
    mixed = shared_sources(
        _shared(rater=[f"r{i % 10}" if i < 20 else None for i in range(90)], judge=[f"j{i % 22}" for i in range(90)]),
        "auto",
    )
    assert mixed.names == ("rater",)
    assert len(set(mixed.codes[0].tolist())) == 10 + 22
    few = shared_sources(_shared(judge=["gpt", "claude", "gpt"] * 9, item=[f"p{i % 9}" for i in range(27)]), "auto")
    assert few.names == ("item",)


def test_models_that_one_of_several_judges_judged_alone_are_told():
    table, _, _ = _table({**VOTES, "judge": ["p", "q", "p", "p", "p", "p"]})
    assert "2 judges are rated together, and 1 of 3 models were judged by one" in lines_of(table.notes, "comparability")


def test_two_files_with_the_same_votes_are_told():
    frame = {name: values * 60 for name, values in VOTES.items()}
    frame["battle"] = [str(i % 180) for i in range(360)]
    frame["run"] = ["csv"] * 180 + ["json"] * 180
    table, _, _ = _table(frame)
    assert "count twice" in lines_of(table.notes, "trust")


def test_auto_without_anything_shared_says_so():
    found = shared_sources(_shared(item=["a", "b", "c"]), "auto")
    assert found.names == ()
    assert "intervals are too short" in lines_of(found.notes, "dependence")


def test_a_vote_without_a_level_is_a_cluster_of_its_own():
    found = shared_sources(_shared(rater=["a", None, "b", None, "a"]), "rater")
    codes = found.codes[0]
    assert codes[0] == codes[4]
    assert len(set(codes.tolist())) == 4
    assert "2 votes without rater" in lines_of(found.notes, "choice")


@pytest.mark.parametrize(
    ("name", "said"), [("nobody", "no column 'nobody'"), ("tags", "several labels"), ("empty", "is empty")]
)
def test_columns_that_name_no_clusters_are_refused(name, said):
    votes = _shared(rater=["a", "a"], tags=[["x"], ["y"]], empty=pl.Series([None, None], dtype=pl.String))
    with pytest.raises(InputError, match=said):
        shared_sources(votes, name)


def test_a_relative_difference_is_the_difference_over_the_sum():
    votes = _shared(length_a=[10, 0, 30, 5], length_b=[30, 0, 10, 5])
    found = relative_differences(votes, ["length"], side=False)
    raw = np.array([-0.5, 0.0, 0.5, 0.0])
    assert np.allclose(found.values[:, 0], raw / raw.std())
    assert found.sd == pytest.approx((raw.std(),))


def test_votes_without_a_covariate_are_left_out_and_counted():
    found = relative_differences(_shared(length_a=[1, None, 3], length_b=[2, 2, 1]), ["length"], side=False)
    assert found.kept is not None
    assert found.kept.to_list() == [True, False, True]
    assert "1 vote without length" in lines_of(found.notes, "left_out")


def test_style_and_pairs_are_found_by_name():
    votes = _shared(
        header_count_a=[1], header_count_b=[2], context_tokens_a=[1], context_tokens_b=[2], note_a=["p"], note_b=["q"]
    )
    assert numeric_pairs(votes) == ("header_count", "context_tokens")
    assert style_pairs(votes) == ("header_count",)


def test_a_pair_that_is_not_there_or_never_differs_is_refused():
    with pytest.raises(InputError, match="no numeric columns size_a and size_b"):
        relative_differences(_shared(length_a=[1], length_b=[2]), ["size"], side=False)
    with pytest.raises(InputError, match="differ by the same in every vote"):
        relative_differences(_shared(length_a=[1, 2], length_b=[1, 2]), ["length"], side=False)


def test_the_side_is_the_one_shown_first_where_that_is_known():
    votes = _shared(order=["a_first", "b_first", None])
    assert relative_differences(votes, None, side=True).values[:, 0].tolist() == [1.0, -1.0, 1.0]


def test_simulated_votes_are_told():
    table, _, _ = _table({**VOTES, "simulated": ["by evalstats, seed 0"] * 6})
    assert "The votes are simulated (by evalstats, seed 0)" in lines_of(table.notes[:1], "simulated")
    real, _, _ = _table({**VOTES, "simulated": [False] * 6})
    assert not lines_of(real.notes, "simulated")


def test_voters_who_vote_once_each_are_named_voters() -> None:
    lines = [("a", "b", "a" if i < 26 else "b", f"u{i}", f"q{i}") for i in range(40)]
    votes = pl.DataFrame(lines, schema=["model_a", "model_b", "outcome", "rater", "item"], orient="row")
    assert shared_sources(votes, "auto").names == ()
    assert shared_sources(votes, "auto").notes == ()
    (nobody,) = shared_sources(votes.drop("rater"), "auto").notes
    assert "do not say who voted" in nobody.text
    (two,) = shared_sources(votes.with_columns(rater=pl.Series(["u", "v"] * 20)), "auto").notes
    assert "All votes come from 2 raters" in two.text


def test_a_judge_among_people_is_told() -> None:
    people = {"rater": [f"u{i % 8}" for i in range(24)] + [None] * 16, "judge": [None] * 24 + ["gpt-4"] * 16}
    votes = pl.DataFrame({"model_a": ["a"] * 40, "model_b": ["b"] * 40, "outcome": ["a", "b"] * 20, **people})
    (note,) = shared_sources(votes, "auto").notes
    assert note.text.startswith("16 of 40 votes are by 1 judge (gpt-4) and not by people")
    assert shared_sources(votes.head(24), "auto").notes == ()


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
