"""An arena judged by a model, with people's votes on a part of its battles."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS

STRENGTHS = np.array([0.6, 0.2, -0.2, -0.6])
NAMES = ("alpha", "beta", "gamma", "delta")


def world(seed=0, n=1600, n_labels=300, favour=1.2):
    """Votes of a judge that favours delta, people's on all battles, and the places of a random part of these."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    lead = STRENGTHS[a] - STRENGTHS[b]
    people = rng.random(n) < expit(lead)
    own = rng.random(n) < expit(lead + favour * ((a == 3).astype(float) - (b == 3)))
    judged = np.where(rng.random(n) < 0.5, people, own)
    frame = pl.DataFrame(
        {
            "battle": [f"v{k}" for k in range(n)],
            "item": [f"q{k}" for k in range(n)],
            "model_a": [NAMES[k] for k in a],
            "model_b": [NAMES[k] for k in b],
            "outcome": np.where(judged, "a", "b"),
        }
    )
    of_people = frame.with_columns(outcome=pl.Series(np.where(people, "a", "b")), rater=pl.lit("ann"))
    return frame.with_columns(judge=pl.lit("gpt-judge")), of_people, rng.choice(n, n_labels, replace=False).tolist()


JUDGED, PEOPLE, DRAWN = world()
LABELS = PEOPLE[DRAWN]


@pytest.fixture(scope="module")
def found():
    return es.arena(JUDGED, labels=LABELS)


def ratings(result):
    return {row.name: row.estimate for row in result.rows}


def test_ratings_are_nearer_to_people_than_the_judge(found):
    truth = {name: 1000 + ELO_PER_LOG_ODDS * k for name, k in zip(NAMES, STRENGTHS, strict=True)}
    judge = {row.name: row.labels.judged.estimate for row in found.rows}
    off = max(abs(each - truth[name]) for name, each in ratings(found).items())
    assert off < 60 < max(abs(each - truth[name]) for name, each in judge.items())
    assert judge == pytest.approx(ratings(es.arena(JUDGED, checks=False)))


def test_what_the_judge_does_is_told(found):
    delta = found.row("delta").labels
    assert delta.estimate == pytest.approx(delta.judged.estimate - found.row("delta").estimate)
    assert delta.conf_low > 0
    note = next(note for note in found.notes if "too high" in note.text)
    assert note.text.startswith(f"The judge rates delta {delta.estimate:.0f} Elo points too high (CI +")
    assert found.labels == "people's votes on 300 of them"
    text = found.document().scope
    assert text.startswith("1,600 votes of a judge, corrected by people's votes on 300 of them")
    section = next(each for each in found.document().evidence if each.id == "labels")
    assert section.heading.startswith("The judge misrates")
    assert {row[0]: row[6] for row in section.blocks[0].rows}["delta"] == delta.n_labels


def test_labels_alone_are_people_s_votes_alone(found):
    alone = es.arena(LABELS, checks=False)
    for row in found.rows:
        assert row.labels.labels_only.estimate == pytest.approx(ratings(alone)[row.name])
        assert row.labels.label_worth > 0.9 * row.labels.n_labels
    assert sum(row.labels.n_labels for row in found.rows) == 2 * 300


def test_a_result_is_read_back_as_it_was(found, tmp_path):
    found.save(tmp_path / "r.json")
    assert es.load_result(tmp_path / "r.json") == found
    assert "judged" in found.to_frame().columns


def test_whichever_model_stood_first_and_whatever_names_the_battle(found):
    a, b = pl.col("model_a"), pl.col("model_b")
    other = pl.col("outcome").replace({"a": "b", "b": "a"})
    turned = LABELS.with_columns(model_a=b, model_b=a, outcome=other)
    for labels in (turned, LABELS.drop("battle"), LABELS.drop("item")):
        assert ratings(es.arena(JUDGED, labels=labels, checks=False)) == pytest.approx(ratings(found))


@pytest.mark.parametrize("gap", ["a winner is missing", "a row is a judge's", "two rows stand in another order"])
def test_row_numbers_name_no_battle_though_some_are_gone(gap):
    """Once a gap in the numbers of labels made battles of them, and each label went to some other vote between two models."""
    judged, people, drawn = world()
    two = judged.with_columns(model_a=pl.lit("alpha"), model_b=pl.lit("beta")).drop("battle")
    own = people.with_columns(model_a=pl.lit("alpha"), model_b=pl.lit("beta"), judge=pl.lit(None, pl.String))
    labels = own.drop("battle")[sorted(drawn)]
    row = pl.int_range(pl.len())
    if gap == "a winner is missing":
        labels = labels.with_columns(outcome=pl.when(row == 7).then(None).otherwise("outcome"))
    elif gap == "a row is a judge's":
        labels = labels.with_columns(judge=pl.when(row == 7).then(pl.lit("gpt")))
    else:
        order = [1, 0, *range(2, labels.height)]
        labels = labels.with_columns(battle=row.cast(pl.String))[order]
    expected = es.arena(two, labels=labels.with_columns(battle=pl.format("x{}", row)), checks=False)
    assert ratings(es.arena(two, labels=labels, checks=False)) == pytest.approx(ratings(expected))


def test_numbered_votes_are_those_of_a_label_with_their_item_alone():
    """Of forty prompts, each with many votes: a label is of one of these; without prompts nothing says of which."""
    prompts = pl.Series([f"p{k * 7 % 40}" for k in range(1600)])
    named, people = JUDGED.with_columns(item=prompts), PEOPLE.with_columns(item=prompts)
    numbers = {"battle": pl.int_range(pl.len()).cast(pl.String)}
    numbered, labels = named.with_columns(**numbers), people.with_columns(**numbers)[DRAWN]
    expected = es.arena(named, labels=people[DRAWN], checks=False)
    assert ratings(es.arena(numbered, labels=labels, checks=False)) == pytest.approx(ratings(expected))
    with pytest.raises(InputError, match="row numbers name no battle"):
        es.arena(numbered.drop("item"), labels=labels.drop("item"), checks=False)


def test_several_people_of_one_battle_are_averaged(found):
    twice = pl.concat([LABELS, LABELS.with_columns(rater=pl.lit("bob"), battle=pl.format("{}.bob", "battle"))])
    assert ratings(es.arena(JUDGED, labels=twice, checks=False)) == pytest.approx(ratings(found))


def test_known_chances_weigh_the_labels():
    rng = np.random.default_rng(7)
    # Battles with delta are labelled three times as often, and a draw like that is refused where nobody says so.
    chance = np.where((JUDGED["model_a"] == "delta") | (JUDGED["model_b"] == "delta"), 0.45, 0.15)
    chosen = PEOPLE.with_columns(label_prob=pl.Series(chance)).filter(pl.Series(rng.random(1600) < chance))
    result = es.arena(JUDGED, labels=chosen, checks=False)
    assert result.row("delta").estimate == pytest.approx(1000 - 0.6 * ELO_PER_LOG_ODDS, abs=50)
    with pytest.raises(CannotAnswerError, match=r"a model takes part in .* of them"):
        es.arena(JUDGED, labels=chosen.drop("label_prob"), checks=False)


def test_battles_on_which_the_judge_errs_are_no_random_part():
    wrong = PEOPLE.filter(PEOPLE["outcome"] != JUDGED["outcome"])[:300]
    with pytest.raises(CannotAnswerError, match="the judge's verdict is of one kind"):
        es.arena(JUDGED, labels=wrong, checks=False)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (LABELS[:49], {}, r"people voted on 49 battles, \d+ of them with .*; label at least 50 battles, 20 of them"),
        (JUDGED, {}, "all votes of the labels are a judge's"),
        (PEOPLE, {}, "every vote has a label"),
        (
            LABELS.with_columns(battle=pl.format("x{}", "battle"), item=pl.lit("y")),
            {},
            "no label matches a battle that has a vote",
        ),
        (LABELS.drop("battle", "item"), {}, "no label matches a battle that has a vote"),
        (LABELS, {"ties": "davidson"}, "leave out ties"),
        (LABELS, {"by": "item"}, "leave out by"),
        (LABELS, {"prior": 0.5}, "leave out prior"),
        (LABELS, {"without_suspects": True}, "leave out without_suspects"),
        (LABELS.with_columns(label_prob=pl.lit(0.0)), {}, "label_prob must lie above 0"),
        (LABELS.with_columns(label_prob=pl.lit("some")), {}, "label_prob holds words"),
    ],
)
def test_what_cannot_be_corrected_is_refused(labels, options, message):
    with pytest.raises((InputError, CannotAnswerError), match=message):
        es.arena(JUDGED, labels=labels, **options)


def test_people_s_votes_among_those_to_correct_are_refused():
    mixed = pl.concat(
        [
            JUDGED.with_columns(rater=pl.lit(None, dtype=pl.String)),
            LABELS.with_columns(judge=None, battle=pl.format("x{}", "battle")).select(*JUDGED.columns, "rater"),
        ]
    )
    with pytest.raises(InputError, match="some of the votes to correct are people's own"):
        es.arena(mixed, labels=LABELS)


def test_a_lazy_frame_has_no_single_votes():
    with pytest.raises(InputError, match="labels correct single votes"):
        es.arena(JUDGED.lazy(), labels=LABELS)


@pytest.mark.parametrize("says", ["a", "b"])
def test_labels_by_which_a_model_always_wins_are_too_few(says):
    """A judge that passes x in 197 of 200 battles, and 60 labels all for one side: the corrected share is beyond any rating."""
    votes = pl.DataFrame(
        {"battle": [f"b{k}" for k in range(200)], "model_a": "x", "model_b": "y", "outcome": ["a"] * 197 + ["b"] * 3}
    )
    drawn = np.random.default_rng(1).choice(200, 60, replace=False).tolist()
    with pytest.raises(CannotAnswerError, match="some model wins or loses all its votes, or more"):
        es.arena(votes, labels=votes.with_columns(outcome=pl.lit(says))[drawn], checks=False)


def test_labels_of_few_prompts_give_no_interval():
    judged, people, _ = world(3)
    prompts = pl.Series([f"p{k % 40}" for k in range(1600)])
    some = people.with_columns(item=prompts).filter(prompts.is_in([f"p{k}" for k in range(5)]))
    result = es.arena(judged.with_columns(item=prompts), labels=some, checks=False)
    assert result.rows[0].conf_low is None
    assert "the labelled votes come from 5 prompts, too few for an interval" in (result.rank_reason or "")


def test_labels_of_no_battle_are_counted():
    stray = LABELS[:10].with_columns(battle=pl.format("x{}", "battle"), item=pl.format("x{}", "item"))
    result = es.arena(JUDGED, labels=pl.concat([LABELS, stray]), checks=False)
    assert any(note.text == "10 labels are for no battle that has a vote, and dropped" for note in result.notes)


def test_covariates_and_sides_are_those_of_people():
    """The judge favours side a, and people do not."""
    rng = np.random.default_rng(5)
    judged, people, drawn = world(5)
    lured = np.where(rng.random(1600) < 0.4, "a", judged["outcome"].to_numpy())
    result = es.arena(judged.with_columns(outcome=pl.Series(lured)), labels=people[drawn], side=True, checks=False)
    side = next(row for row in result.covariates if row.name == "side")
    assert side.conf_low < 0 < side.conf_high
    without = es.arena(judged.with_columns(outcome=pl.Series(lured)), side=True, checks=False)
    assert next(row for row in without.covariates if row.name == "side").conf_low > 0
