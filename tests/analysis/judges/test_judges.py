"""Judges against people: the numbers behind each part, what is refused, and the answer in every form."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.judges.judges import judges
from evalstats.errors import CannotAnswerError, InputError
from evalstats.report.examples import example
from evalstats.stats.raters.agreement import intraclass_correlations, krippendorff_alpha, rating_table
from evalstats.stats.raters.correction import powered_mean


def ratings(
    seed: int = 0, *, n: int = 300, labelled: int = 100, kind: tuple[float, ...] = (0.1, 0.1), people: int = 2
) -> pl.DataFrame:
    """Answers of several models: people rate the first ones; the judge says yes to bad answers with a chance by model."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, object]] = []
    for place, lenient in enumerate(kind):
        truth = rng.random(n) < 0.5
        for i in range(n):
            for person in range(people if i < labelled else 0):
                rows.append({"rater": f"person-{person}", "value": int(truth[i] != (rng.random() < 0.05))})
                rows[-1] |= {"item": i, "model": f"m{place}"}
            rows.append({"rater": "judge", "value": int(rng.random() < (0.9 if truth[i] else lenient))})
            rows[-1] |= {"item": i, "model": f"m{place}"}
    return pl.DataFrame(rows)


def data_of(frame: pl.DataFrame) -> es.EvalData:
    people = sorted(name for name in frame["rater"].unique() if name.startswith("person"))
    return es.from_ratings(frame, humans=people, model="model")


def test_one_person_and_a_judge_are_two_raters():
    frame = ratings(people=1, labelled=300)
    found = judges(data_of(frame)).row("judge")
    units = frame.select(pl.struct("model", "item").rank("dense").cast(pl.Int64) - 1).to_series()
    expected = krippendorff_alpha(rating_table(units.to_numpy(), frame["value"].to_numpy()))
    assert found.estimate == pytest.approx(expected.estimate)
    assert (found.conf_low, found.conf_high) == pytest.approx((expected.conf_low, expected.conf_high), abs=0.02)
    both = frame.pivot("rater", index=("model", "item"), values="value")
    same = (both["judge"] == both["person-0"]).mean()
    assert found.raw.estimate == pytest.approx(same)
    assert found.bias is not None
    assert found.bias.estimate == pytest.approx((both["judge"] - both["person-0"]).mean())
    said_yes = both.filter(pl.col("person-0") == 1)["judge"].mean()
    assert found.sensitivity is not None
    assert found.sensitivity.estimate == pytest.approx(said_yes)
    assert np.array(found.confusion).sum() == 600
    assert found.standing == "no second person"


def test_a_judge_that_rates_higher_than_people_says_so_in_the_answer():
    """Steps of one more on most answers leave the agreement high, and a score that nobody corrects too high."""
    truth = np.tile([1, 2, 3, 4], 20)
    lean = (np.arange(80) % 5 > 0).astype(int)  # four in five
    rows = {"item": [*range(80)] * 2, "rater": ["ann"] * 80 + ["judge"] * 80, "value": [*truth, *(truth + lean)]}
    low, high = stats.t.interval(0.95, 79, lean.mean(), stats.sem(lean))
    leans = judges(es.from_ratings(rows, humans="ann")).summary()
    assert f"judge rates 0.80 higher than people on average (95% CI {low:.2f} to {high:.2f})" in leans
    even = {**rows, "value": [*truth, *(truth + np.tile([1, -1], 40))]}
    assert "on average" not in judges(es.from_ratings(even, humans="ann")).summary()


def test_people_among_themselves_stand_beside_the_judge():
    report = judges(data_of(ratings(1)))
    found = report.row("judge")
    assert report.people is not None
    assert found.difference is not None
    assert found.difference.estimate == pytest.approx(found.estimate - report.people.estimate)
    # People err in 5% each, the judge in 10%: it agrees less with a person than they with each other.
    assert report.people.estimate > found.estimate
    assert found.standing in ("open", "below people")


def double_coded(same: float, *, agreed: bool = True, seed: int = 0) -> pl.DataFrame:
    """200 answers: one person rates all, a second the first 24, where the judge and people agree; elsewhere in `same`."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 200)
    if not agreed:
        truth[:24] = 1
    judge = np.where(rng.random(200) < same, truth, 1 - truth)
    judge[:24] = truth[:24]
    second = truth[:24].copy()
    second[0] = 1 - second[0] if agreed else 1
    return pl.DataFrame(
        {
            "item": [*range(200), *range(200), *range(24)],
            "rater": ["judge"] * 200 + ["person-0"] * 200 + ["person-1"] * 24,
            "value": [*judge, *truth, *second],
        }
    )


def test_double_coding_of_a_part_leaves_the_judge_measured_on_all_answers():
    frame = double_coded(0.5)
    report = judges(es.from_ratings(frame, humans=["person-0", "person-1"]))
    row = report.row("judge")
    alone = judges(es.from_ratings(frame.filter(pl.col("rater") != "person-1"), humans="person-0")).row("judge")
    assert row.estimate == pytest.approx(alone.estimate, abs=0.02)
    assert row.estimate < 0.4
    assert (row.n_units, row.n_double, report.people.n_units) == (200, 24, 24)
    # The judge is as good as people on these 24, and far from it on the others: nothing is claimed of it for all.
    assert row.standing == "open"
    (note,) = [note for note in report.notes if note.kind == "selection"]
    assert "24 answers that two people rated" in note.text
    document = report.document()
    assert "24 answers that two people rated" in document.number_words
    assert "200 answers" in document.scope


def test_a_random_part_that_two_people_rated_says_how_the_judge_stands():
    report = judges(es.from_ratings(double_coded(0.99), humans=["person-0", "person-1"]))
    assert "selection" not in {note.kind for note in report.notes}
    assert report.row("judge").standing in ("as people", "above people")


def test_a_part_on_which_all_agree_refuses_its_own_cells_only():
    report = judges(es.from_ratings(double_coded(0.9, agreed=False), humans=["person-0", "person-1"]))
    row = report.row("judge")
    assert row.estimate == pytest.approx(0.8, abs=0.1)
    assert row.conf_low is not None
    assert (row.difference.estimate, report.people.estimate, row.standing) == (None, None, "open")
    assert "all ratings are the same" in row.difference.reason
    assert report.people.raw.estimate == 1.0
    assert "all ratings are the same" in report.explain()
    assert type(report).from_dict(report.to_dict()) == report


def test_people_tied_on_every_answer_agree_with_a_judge_on_half_of_the_pairs():
    rng = np.random.default_rng(0)
    rows = {"item": [*range(20)] * 3, "rater": ["g"] * 20 + ["a"] * 20 + ["b"] * 20}
    rows["value"] = [*rng.integers(0, 2, 20), *[0] * 20, *[1] * 20]
    row = judges(es.from_ratings(rows, humans=["a", "b"])).row("g")
    assert row.estimate is not None
    assert (row.raw.estimate, row.sensitivity, np.array(row.confusion).sum()) == (0.5, None, 40)


def test_a_judge_is_held_against_single_people_as_they_are_against_one_another():
    # One rater of three differs on each answer, each of them on 20: all three agree alike.
    given = np.tile([0, 1], 90)
    for rater in range(3):
        given[60 * rater + 20 * rater : 60 * rater + 20 * (rater + 1)] ^= 1
    rows = {"item": [*range(60)] * 3, "rater": np.repeat(["g", "a", "b"], 60), "value": given}
    report = judges(es.from_ratings(rows, humans=["a", "b"]))
    row, people = report.row("g"), report.people
    assert (row.raw.estimate, row.ac1.estimate) == pytest.approx((people.raw.estimate, people.ac1.estimate))
    assert row.raw.estimate == pytest.approx(20 / 60)


def test_where_one_rating_is_common_the_share_of_the_same_is_that_of_pairs():
    given = np.ones((3, 100), dtype=int)
    given[0, :6] = given[1, 3:9] = given[2, 3:12] = 0  # the judge equals one person on 94 answers, the other on 91
    rows = {"item": [*range(100)] * 3, "rater": np.repeat(["g", "a", "b"], 100), "value": given.ravel()}
    document = judges(es.from_ratings(rows, humans=["a", "b"])).document()
    (text,) = next(each for each in document.evidence if each.id == "prevalence").blocks
    assert "and people give the same rating 92.5% of the time" in text.text


def test_people_alone_are_answered():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 150)
    given = [np.where(rng.random(150) < 0.9, truth, 1 - truth) for _ in range(3)]
    frame = pl.DataFrame(
        {"item": [*range(150)] * 3, "rater": np.repeat(["a", "b", "c"], 150), "value": np.concatenate(given)}
    )
    report = judges(es.from_ratings(frame, humans=["a", "b", "c"]))
    expected = krippendorff_alpha(rating_table(np.tile(np.arange(150), 3), np.concatenate(given).astype(float)))
    assert report.people.estimate == pytest.approx(expected.estimate)
    assert (report.rows, report.people.n_units, len(report.people.persons)) == ((), 150, 3)
    document = report.document()
    assert "Two ratings by people are the same on" in document.headline
    assert "Alpha" in document.number
    assert report.to_frame().height == 1
    assert type(report).from_dict(report.to_dict()) == report
    with pytest.raises(CannotAnswerError, match="no answer was rated by two of them"):
        judges(es.from_ratings(frame.filter(pl.col("rater") == "a"), humans="a"))


@pytest.mark.parametrize("humans", [["a"], ["a", "b"], ["a", "b", "c"]])
def test_ratings_that_are_all_the_same_cannot_answer(humans):
    frame = pl.DataFrame({"item": [*range(30)] * 3, "rater": np.repeat(["a", "b", "c"], 30), "value": [1] * 90})
    with pytest.raises(CannotAnswerError, match="all ratings are the same"):
        judges(es.from_ratings(frame, humans=humans))


def test_a_judge_that_favours_a_model_is_found_and_corrected():
    report = judges(data_of(ratings(2, kind=(0.05, 0.5))))
    row = report.row("judge")
    assert row.favours_p is not None
    assert row.favours_p < 0.005
    assert [note.kind for note in report.notes if note.caution] == ["trust"]
    by_model = {each.name: each for each in report.by_model}
    assert by_model["m1"].estimate > 0.1 > abs(by_model["m0"].estimate)
    fixed = {each.name: each for each in report.corrected}
    assert fixed["m1"].judge_mean > 0.65
    for each in fixed.values():
        assert each.conf_low < 0.5 < each.conf_high
        assert each.label_worth > each.n_labels
        assert each.by_errors is not None
        assert each.by_errors.conf_low < 0.5 < each.by_errors.conf_high
    document = report.document()
    assert "favours m1" in document.headline
    assert document.tone == "bad"


def test_a_corrected_score_is_the_prediction_powered_mean():
    frame = ratings(3, people=1)
    row = next(each for each in judges(data_of(frame)).corrected if each.name == "m0")
    wide = frame.filter(model="m0").pivot("rater", index="item", values="value").sort("item")
    judge, label = wide["judge"].to_numpy(), wide["person-0"].to_numpy()
    known = ~np.isnan(label.astype(float))
    direct = powered_mean(judge[~known], judge[known], label[known].astype(float), bounds=(0, 1))
    assert (row.estimate, row.conf_low, row.conf_high) == pytest.approx(
        (direct.estimate.estimate, direct.estimate.conf_low, direct.estimate.conf_high)
    )
    assert row.judge_mean == pytest.approx(judge.mean())


def test_labels_that_are_no_random_part_are_said():
    frame = ratings(4)
    judged = frame.filter(rater="judge").rename({"value": "said"}).select("model", "item", "said")
    easy = (
        frame.join(judged, on=("model", "item"))
        .filter((pl.col("rater") == "judge") | (pl.col("said") == 1))
        .drop("said")
    )
    notes = judges(data_of(easy)).notes
    assert "selection" in {note.kind for note in notes if note.caution}
    # With the probability of each known there is nothing to warn of.
    told = es.from_ratings(
        easy.with_columns(pl.when(pl.col("rater") == "judge").then(None).otherwise(0.5).alias("label_prob")),
        humans=("person-0", "person-1"),
        model="model",
    )
    assert "selection" not in {note.kind for note in judges(told).notes}


def test_labels_steps_and_numbers_are_told_apart():
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 6, 200)
    frame = pl.DataFrame(
        {
            "item": [*range(200)] * 2,
            "rater": ["ann"] * 200 + ["judge"] * 200,
            "value": [*truth, *np.clip(truth + rng.integers(-1, 2, 200), 1, 5)],
        }
    )
    steps = judges(es.from_ratings(frame, humans="ann"))
    assert steps.scale == "ordinal"
    assert "quadratic" in steps.rows[0].kappa.method
    pairs = frame.pivot("rater", index="item", values="value").select("judge", "ann").to_numpy().astype(float)
    expected = intraclass_correlations(pairs).estimates["ICC2"]
    assert steps.rows[0].icc is not None
    assert (steps.rows[0].icc.estimate, steps.rows[0].icc.conf_low) == (expected.estimate, expected.conf_low)
    fine = judges(es.from_ratings(frame.with_columns(pl.col("value") + 0.5 * pl.col("item") / 200), humans="ann"))
    assert fine.scale == "interval"
    labels = judges(es.from_ratings(frame.with_columns(pl.format("level {}", "value").alias("value")), humans="ann"))
    assert (labels.scale, labels.rows[0].bias, labels.corrected) == ("nominal", None, ())
    assert judges(es.from_ratings(frame, humans="ann"), scale="nominal").rows[0].estimate == pytest.approx(
        labels.rows[0].estimate
    )


def test_rows_in_any_order_and_wide_tables_give_the_same():
    frame = ratings(6, kind=(0.1,))
    report = judges(data_of(frame))
    assert judges(data_of(frame.sample(fraction=1.0, shuffle=True, seed=1))).rows == report.rows
    wide = frame.pivot("rater", index=("item", "model"), values="value")
    other = es.from_ratings(
        wide, raters=("person-0", "person-1", "judge"), humans=("person-0", "person-1"), model="model"
    )
    assert judges(other).rows == report.rows


def test_clusters_widen_and_are_named():
    frame = ratings(7, kind=(0.1, 0.1), labelled=120)
    alone, grouped = judges(data_of(frame)), judges(data_of(frame), cluster="item")
    assert grouped.clusters == ("item",)
    assert grouped.rows[0].estimate == alone.rows[0].estimate
    assert "clusters" in grouped.rows[0].method


def test_what_cannot_be_answered_is_refused_in_words():
    frame = ratings(8)
    with pytest.raises(CannotAnswerError, match="name no judge"):
        judges(es.datasets.tenacious_held_out())
    with pytest.raises(InputError, match="closest: judge"):
        judges(data_of(frame), humans="judges")
    with pytest.raises(InputError, match="2 criteria: a, b"):
        judges(data_of(frame.with_columns((pl.col("item") % 2).replace_strict({0: "a", 1: "b"}).alias("criterion"))))
    with pytest.raises(InputError, match="no column 'answer'"):
        es.from_ratings(frame, item="answer", humans="person-0")
    apart = frame.filter((pl.col("rater") == "judge") != (pl.col("item") < 100))
    with pytest.raises(CannotAnswerError, match="no answer in common"):
        judges(data_of(apart))
    with pytest.raises(InputError, match="share their key"):
        data_of(pl.concat((frame, frame.head(1))))


def test_few_labels_correct_nothing_and_say_so():
    report = judges(data_of(ratings(9, labelled=12)))
    assert report.corrected == ()
    assert any(note.kind == "few" and "too few to correct" in note.text for note in report.notes)


@pytest.mark.parametrize(("share", "empty"), [(1.0, True), (0.5, False)])
def test_a_correction_that_leaves_the_scale_is_said_to_say_nothing(share: float, *, empty: bool) -> None:
    said = [1.0] * 12 + [0.0] * 13  # of answers that people find right but for one
    alone = [1.0] * round(300 * share) + [0.0] * (300 - round(300 * share))
    people = [1.0] * 24 + [0.0]
    frame = pl.DataFrame(
        {
            "item": [*range(325), *range(25)],
            "model": ["m"] * 350,
            "rater": ["judge"] * 325 + ["person"] * 25,
            "value": [*said, *alone, *people],
        }
    )
    report = judges(es.from_ratings(frame, model="model", humans=("person",)))
    (row,) = report.corrected
    assert row.conf_low is not None
    assert row.conf_high is not None
    assert (row.conf_high - row.conf_low > 0.8) == empty
    assert any("corrected score of m says nothing" in note.text for note in report.notes) == empty


def test_the_answer_in_every_form(tmp_path):
    report = example("judges")
    report.save(tmp_path / "judges.json")
    assert es.load_result(tmp_path / "judges.json") == report
    text = report.summary()
    assert text.startswith("These data are simulated")
    assert len(report.document().headline.split()) <= 20
    assert "\\toprule" in report.to_latex("corrected")
    assert {"judges", "errors", "by-model", "corrected", "confusion"} <= set(report.document().tables)
    for name in report.document().figures:
        assert report.figure(name).axes


@pytest.mark.slow
def test_an_even_judge_is_seldom_said_to_favour_a_model():
    repeats, hits = 400, 0
    for seed in range(repeats):
        p = judges(data_of(ratings(100 + seed, n=60, labelled=60, people=1)), n_resamples=200).row("judge").favours_p
        hits += p is not None and p < 0.05
    assert hits / repeats < 0.05 + 4 * math.sqrt(0.05 * 0.95 / repeats)
