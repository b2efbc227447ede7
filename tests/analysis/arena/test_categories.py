"""Ratings by category: what is said, what is left out, and lists of tags."""

from dataclasses import replace

import numpy as np
import pytest

from evalstats.analysis.arena.alternatives import categories_of
from evalstats.analysis.arena.ratings import RatingOptions, rate
from evalstats.errors import InputError
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths
from tests.analysis.arena.vote_tables import some_votes

NAMES = ("code", "essay", "maths")


def by_topic(seed=0, *, n=6000, tau=0.4, **more):
    """Votes in three topics, in which models are better or worse; and their true deviations in points."""
    rng = np.random.default_rng(2000 + seed)
    topic, deviations = rng.integers(0, 3, n), rng.normal(0, tau, (3, 5))

    def extra(first, second):
        return deviations[topic, first] - deviations[topic, second]

    table = some_votes(seed, n=n, extra=extra, ties=0.0, scenario=[NAMES[k] for k in topic], **more)
    return table, ELO_PER_LOG_ODDS * (deviations - deviations.mean(axis=1, keepdims=True))


def by_category(table, by, *, scale="elo"):
    part = rate(table, range(table.n_models), RatingOptions(prior=1e-9, scale=scale), bare=True)
    return categories_of(part, by)


def test_deviations_are_found():
    table, true = by_topic(1)
    found = by_category(table, "scenario")
    assert (found.by, found.levels, found.reason) == ("scenario", NAMES, None)
    assert sum(found.n_votes) == 6000
    assert found.tau_low < 0.4 * ELO_PER_LOG_ODDS < found.tau_high
    assert found.p_value == 1 / 500
    inside = [row.conf_low <= true[NAMES.index(row.category), int(row.model[1])] <= row.conf_high for row in found.rows]
    assert len(inside) == 15
    assert sum(inside) >= 12
    strengths = fit_strengths(table.rows).strengths
    for row in found.rows:
        assert row.estimate == pytest.approx(
            1000 + ELO_PER_LOG_ODDS * strengths[int(row.model[1])] + row.deviation, abs=15
        )
        assert abs(row.unpooled - row.deviation) < 3 * row.std_error
        assert row.reason is None


def test_no_deviations_no_claim():
    table, _ = by_topic(2, tau=0.0)
    found = by_category(table, "scenario")
    assert found.tau_low == 0.0
    assert found.p_value > 0.05
    assert all(row.conf_low < 0 < row.conf_high for row in found.rows)


def test_deviations_are_on_the_scale_of_the_ratings():
    table, _ = by_topic(3)
    found, plain = by_category(table, "scenario"), by_category(table, "scenario", scale="log-odds")
    assert plain.tau == pytest.approx(found.tau / ELO_PER_LOG_ODDS)
    for one, other in zip(found.rows, plain.rows, strict=True):
        assert one.estimate - 1000 == pytest.approx(ELO_PER_LOG_ODDS * other.estimate)


def test_a_vote_counts_in_each_of_its_tags():
    table, _ = by_topic(4)
    tags = [["all", topic] for topic in table.votes["scenario"]]
    tagged = replace(table, votes=table.votes.with_columns(tags=np.array(tags)))
    found = by_category(tagged, "tags")
    assert found.levels == ("all", *NAMES)
    assert found.n_votes[0] == 6000
    assert sum(found.n_votes[1:]) == 6000
    # What all votes say is no deviation.
    of_all = [abs(row.deviation) for row in found.rows if row.category == "all"]
    others = [abs(row.deviation) for row in found.rows if row.category != "all"]
    assert np.mean(of_all) < np.mean(others) / 2


def test_the_same_tag_twice_counts_once():
    table, _ = by_topic(5, n=600)
    twice = [[topic, topic] for topic in table.votes["scenario"]]
    tagged = replace(table, votes=table.votes.with_columns(tags=np.array(twice)))
    one, two = by_category(table, "scenario"), by_category(tagged, "tags")
    assert replace(two, by="scenario") == one


def test_small_categories_are_left_out_by_name():
    table, _ = by_topic(6, n=600)
    topics = table.votes["scenario"].to_list()
    topics[:5] = ["rare"] * 5
    topics[5:10] = [None] * 5
    found = by_category(replace(table, votes=table.votes.with_columns(scenario=np.array(topics))), "scenario")
    assert found.levels == NAMES
    assert found.left_out == (("rare", "only 5 votes; at least 20 are needed"),)
    assert sum(found.n_votes) == 590


def test_models_that_a_category_does_not_connect_say_so():
    table, _ = by_topic(7, n=3000)
    topics = table.votes["scenario"].to_numpy().astype(object)
    # In "pair" m0 meets m1, and m0 always wins against m2; m3 and m4 are not there.
    first, second, won = table.first, table.second, table.outcome
    pair = ((first == 0) & (second == 1)) | ((first == 0) & (second == 2) & (won == 0))
    topics[pair] = "pair"
    found = by_category(
        replace(table, votes=table.votes.with_columns(scenario=np.array(topics, dtype=str))), "scenario"
    )
    rows = {row.model: row for row in found.rows if row.category == "pair"}
    assert rows["m0"].reason is None
    assert rows["m0"].unpooled is not None
    assert "do not connect it" in rows["m2"].reason
    assert rows["m2"].unpooled is None
    assert rows["m2"].estimate is not None
    assert rows["m2"].deviation < 0
    assert (rows["m3"].estimate, rows["m3"].reason) == (None, "no votes in this category")


def test_clusters_widen():
    rng = np.random.default_rng(8)
    n = 4000
    prompt = rng.integers(0, 30, n)
    liking = rng.normal(0, 0.8, (30, 5))
    table = some_votes(
        8,
        n=n,
        ties=0.0,
        extra=lambda a, b: liking[prompt, a] - liking[prompt, b],
        clusters={"prompt": prompt},
        scenario=[NAMES[k % 3] for k in prompt],
    )
    found = by_category(table, "scenario")
    bare = by_category(table.without_cluster("prompt"), "scenario")
    assert found.p_value > bare.p_value


def test_what_cannot_be_answered_says_why():
    table, _ = by_topic(9, n=300)
    assert "were merged" in by_category(replace(table, votes=None), "scenario").reason
    with pytest.raises(InputError, match="no column 'topic'; they have model_a"):
        by_category(table, "topic")
    one = replace(table, votes=table.votes.with_columns(scenario=np.array(["code"] * 300)))
    assert "2 are needed" in by_category(one, "scenario").reason
    few, _ = by_topic(9, n=300, clusters={"rater": np.arange(300) % 4})
    assert "come from 4 clusters" in by_category(few, "scenario").reason
