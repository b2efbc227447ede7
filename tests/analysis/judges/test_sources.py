"""Ratings out of what loaders give: votes, scores by judges, verdicts beside a key."""

import json

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.judges.judges import judges
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table


def votes(rows: list[dict[str, object]]) -> EvalData:
    """Return votes with the columns that comparisons need."""
    full = [{"run": "r", "battle": str(place), "status": "scored", **row} for place, row in enumerate(rows)]
    schema = {"rater": pl.String, "judge": pl.String, "order": pl.String}
    frame = pl.DataFrame(full, infer_schema_length=None)
    frame = frame.with_columns(
        pl.lit(None, dtype).alias(name) for name, dtype in schema.items() if name not in frame.columns
    )
    return EvalData(comparisons=check_table(frame, "comparisons", source="test"))


def vote(item: int, a: str, b: str, outcome: str, **more: object) -> dict[str, object]:
    return {"item": f"q{item}", "model_a": a, "model_b": b, "outcome": outcome, **more}


def crowd(n: int = 120, seed: int = 1) -> list[dict[str, object]]:
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        better = rng.random() < 0.6
        for person in ("ann", "ben"):
            right = better if rng.random() < 0.9 else not better
            # The sides are swapped for one person: the pair is the same.
            sides = ("m1", "m2") if person == "ann" else ("m2", "m1")
            rows.append(vote(i, *sides, "a" if right == (person == "ann") else "b", rater=person))
        said = better if rng.random() < 0.85 else not better
        rows.append(vote(i, "m1", "m2", "a" if said else "b", judge="gpt"))
    return rows


def test_votes_are_ratings_of_pairs_whichever_side_was_first():
    report = judges(votes(crowd()))
    row = report.row("gpt")
    assert (report.unit, report.truth, row.n_units, row.n_people) == ("pair", "people", 120, 2)
    assert report.people.estimate == pytest.approx(0.64, abs=0.15)  # 2(.9*.9 + .1*.1) - 1
    by_hand = {}
    for each in crowd():
        who = each.get("rater") or each["judge"]
        for_m1 = (each["outcome"] == "a") == (each["model_a"] == "m1")
        by_hand.setdefault(each["item"], {})[who] = for_m1
    same = [ratings["gpt"] == ratings[person] for ratings in by_hand.values() for person in ("ann", "ben")]
    assert row.raw.estimate == pytest.approx(np.mean(same))
    shuffled = judges(votes(crowd()[::-1]))
    assert shuffled.row("gpt").estimate == pytest.approx(row.estimate)


def test_a_pair_judged_both_ways_counts_as_a_tie_where_the_judge_goes_by_the_place():
    rows = [each for each in crowd() if "rater" in each]
    for i in range(120):
        rows += [vote(i, *sides, "a", judge="first", order="a_first") for sides in (("m1", "m2"), ("m2", "m1"))]
    report = judges(votes(rows))
    levels = report.rows[0].levels
    told = np.array(report.rows[0].confusion).sum(axis=0)
    assert told[levels.index("tie")] == told.sum()


def test_a_judge_that_prefers_one_model_of_many_is_named():
    rng = np.random.default_rng(3)
    models, rows = ["m0", "m1", "m2", "m3"], []
    for i in range(300):
        a, b = rng.choice(models, 2, replace=False)
        better = rng.random() < 0.5
        rows.append(vote(i, a, b, "a" if better else "b", rater="ann"))
        said = better
        if "m3" in (a, b) and rng.random() < 0.4:
            said = a == "m3"
        rows.append(vote(i, a, b, "a" if said else "b", judge="gpt"))
    report = judges(votes(rows))
    most = max(report.by_model, key=lambda each: each.estimate)
    assert most.name == "m3"
    assert report.row("gpt").favours_p < 0.01
    assert "favours m3" in report.document().headline
    fair = [each | ({"judge": "gpt"} if "judge" in each else {}) for each in rows]
    for person, judge in zip(fair[::2], fair[1::2], strict=True):
        judge["outcome"] = person["outcome"] if rng.random() < 0.8 else {"a": "b", "b": "a"}[person["outcome"]]
    assert judges(votes(fair)).row("gpt").favours_p > 0.01


def outcomes(judge_names: tuple[str, ...], **more: object) -> EvalData:
    rng = np.random.default_rng(5)
    truth = rng.integers(1, 6, 80)
    rows = [
        {
            "item": f"q{i}",
            "model": "m",
            "score": float(np.clip(truth[i] + rng.integers(-1, 2), 1, 5)),
            "judge": name,
            "trial": place,
            **{key: values[place] for key, values in more.items()},
        }
        for place, name in enumerate(judge_names)
        for i in range(80)
    ]
    return es.from_frame(pl.DataFrame(rows).drop("trial"), item="item", score="score", model="model")


def test_scores_by_several_judges_one_of_them_a_person():
    report = judges(outcomes(("human", "gpt", "claude")))
    assert report.reference == ("human",)
    assert {row.name for row in report.rows} == {"gpt", "claude"}
    assert report.truth == "people"
    kinds = judges(outcomes(("ann", "gpt"), judge_kind=("human", "judge")))
    assert kinds.reference == ("ann",)
    by_name = judges(outcomes(("gpt", "claude")), humans="claude")
    assert by_name.truth == "claude"
    assert "people" not in by_name.document().headline
    assert by_name.corrected == ()


def test_what_is_missing_is_said_in_one_sentence():
    with pytest.raises(CannotAnswerError, match="name no item"):
        judges(votes([{**vote(1, "a", "b", "a", rater="x"), "item": None}]))
    with pytest.raises(CannotAnswerError, match="name no judge"):
        judges(es.datasets.tenacious_held_out())
    people = judges(votes([each for each in crowd() if "rater" in each]))
    assert (people.rows, people.people.n_units) == ((), 120)
    with pytest.raises(CannotAnswerError, match="only gpt"):
        judges(outcomes(("gpt",)))


def test_a_judge_that_met_nobody_is_left_out_by_name():
    rows = crowd()
    rows += [vote(900 + i, "m1", "m2", "a", judge="stranger") for i in range(30)]
    report = judges(votes(rows))
    assert [row.name for row in report.rows] == ["gpt"]
    assert any("stranger" in note.text for note in report.notes)


def test_verdicts_of_a_benchmark_of_judges_are_held_against_its_key(tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "dataset=judgebench,response_model=x,judge_name=arena_hard,judge_model=j.jsonl"
    right = 0
    with path.open("w") as file:
        for i in range(90):
            label = "A>B" if i % 2 else "B>A"
            first = label if rng.random() < 0.8 else "B>A" if label == "A>B" else "A>B"
            # The second verdict speaks of the answers swapped; this judge says the same place again in a fifth.
            swapped = {"A>B": "B>A", "B>A": "A>B"}[first] if rng.random() < 0.8 else first
            right += (first == label) + ({"A>B": "B>A", "B>A": "A>B"}[swapped] == label)
            judged = [{"judgment": {"judge_model": "lab/j"}, "decision": each} for each in (first, swapped)]
            record = {"pair_id": f"p{i}", "response_A": "x", "response_B": "y", "label": label, "source": "s"}
            file.write(json.dumps({**record, "judge_name": "arena_hard", "judgments": judged}) + "\n")
    report = judges(es.read(path))
    assert report.truth == "the key"
    assert report.rows[0].raw.estimate == pytest.approx(right / 180)
    assert report.clusters == ("prompt",)
    assert "the key's verdict" in report.document().headline


def test_crowd_and_judge_of_llmfao(shared_data):
    files = [shared_data / "llmfao" / f"{name}-comparisons.csv" for name in ("crowd", "gpt4-crowd", "gpt3-crowd")]
    report = judges(es.read(*files))
    assert [row.name for row in report.rows] == ["gpt-4", "gpt-3"]
    assert report.rows[0].n_units == 2139
    assert report.people.estimate > report.rows[0].estimate
    # The counts of the files themselves: votes of people, and verdicts of both judges.
    assert report.n_ratings <= 8931 + 2 * 2139


def test_people_named_in_one_text_are_told_apart():
    rows = {"item": [1, 1, 1], "rater": ["ann", "bob", "Fox, Dr"], "value": [1, 0, 1]}
    kinds = es.from_ratings(rows, humans=["ann,bob", "Fox, Dr"]).ratings["rater_kind"]
    assert kinds.to_list() == ["human"] * 3
    wide = {"item": [1, 2], "ann": [1, 0], "bob": [0, 1]}
    assert {*es.from_ratings(wide, raters="ann,bob").ratings["rater"]} == {"ann", "bob"}


@pytest.mark.parametrize("made", ["wide", "long", "scores"])
def test_without_a_person_the_agreement_of_all_raters_is_the_answer(made: str) -> None:
    """The same figures as with both named: nobody has to be called a person for that."""
    first, second = [i % 2 for i in range(40)], [(i + (i % 7 == 0)) % 2 for i in range(40)]
    match made:
        case "wide":
            table = {"answer_id": range(40), "gpt4_judge": first, "claude_judge": second}
            data = es.from_ratings(table)
        case "long":
            table = {
                "item": [*range(40)] * 2,
                "rater": ["gpt4_judge"] * 40 + ["claude_judge"] * 40,
                "value": first + second,
            }
            data = es.from_ratings(table)
        case _:
            data = outcomes(("gpt4_judge", "claude_judge"))
    report, named = judges(data), judges(data, humans=["gpt4_judge", "claude_judge"])
    assert report.people == named.people
    assert report.rows == ()
    assert report.truth == "claude_judge and gpt4_judge"
    document = report.document()
    assert document.headline.startswith("Two ratings by claude_judge and gpt4_judge are the same on ")
    assert document.actions == ("If one of them is the truth, hold the others against it: humans=NAME.",)


def test_raters_who_share_no_word_do_not_disagree_by_spelling() -> None:
    rows = {"item": [1, 2, 1, 2], "rater": ["a", "a", "b", "b"], "value": ["MET", "NOT MET", "good", "poor"]}
    with pytest.raises(InputError, match="b say good, poor, and a says MET, NOT MET: they have no rating in common"):
        judges(es.from_ratings(rows))


def test_people_who_share_no_word_are_refused_beside_a_judge_too() -> None:
    said = {"j": ("1", "2"), "ann": ("0", "1"), "ben": ("bad", "good")}
    rows = [(f"q{i}", who, words[(i + k) % 2]) for i in range(40) for k, (who, words) in enumerate(said.items())]
    table = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")
    with pytest.raises(InputError, match="ben say bad, good, and ann says 0, 1: they have no rating in common"):
        judges(es.from_ratings(table, humans=["ann", "ben"]))


def test_a_judge_no_better_than_chance_stands_as_nobody() -> None:
    """People who contradict each other are no measure that a judge passes by guessing."""
    rng = np.random.default_rng(0)
    rows: list[tuple[str, str, int]] = []
    for i in range(200):
        one = int(rng.integers(2))
        rows += [(f"q{i}", "j", int(rng.integers(2))), (f"q{i}", "ann", one), (f"q{i}", "ben", 1 - one)]
    table = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")
    found = judges(es.from_ratings(table, humans=["ann", "ben"]))
    row = found.rows[0]
    assert row.difference is not None
    assert (row.difference.conf_low or 0.0) > 0
    assert row.standing == "open"
    assert found.document().headline == "j is not shown to agree with people beyond chance"


def test_a_table_without_ratings_says_what_would_hold_them() -> None:
    with pytest.raises(
        InputError, match=r"no column is called value or label; .*value=COLUMN.*\. The table has id, x$"
    ):
        es.from_ratings({"id": [1], "x": [2]}, item="id")


@pytest.mark.parametrize(
    "other", [["1.0", "0.0"], [" 1", "0"], [1.0, 0.0], ["1e0", "0"]], ids=["points", "blanks", "numbers", "powers"]
)
def test_a_number_written_otherwise_is_the_same_rating(other: list[object]) -> None:
    wide = pl.DataFrame({"id": range(40), "ann": ["1", "0"] * 20, "bot": other * 20})
    long = pl.DataFrame(
        {
            "id": [*range(40)] * 2,
            "rater": ["ann"] * 40 + ["bot"] * 40,
            "value": ["1", "0"] * 20 + [str(each) for each in other] * 20,
        }
    )
    for ratings in (
        es.from_ratings(wide, item="id", raters=["ann", "bot"], humans="ann").ratings,
        es.from_ratings(long, item="id", humans="ann").ratings,
    ):
        assert ratings["value"].to_list() == [1.0, 0.0] * 40
        assert ratings["label"].null_count() == 80
    found = es.judges(es.from_ratings(wide, item="id", raters=["ann", "bot"], humans="ann"), n_resamples=200)
    assert "on 100.0% of answers" in found.summary()


def test_among_labels_a_number_is_written_in_one_way() -> None:
    wide = pl.DataFrame({"id": range(4), "ann": ["1", "0", "unsure", "02"], "bot": ["1.0", "0.0", "NA", "2"]})
    ratings = es.from_ratings(wide, item="id", raters=["ann", "bot"], humans="ann").ratings
    assert ratings["label"].to_list() == ["1", "0", "unsure", "2", "1", "0", None, "2"]


def test_columns_of_ratings_are_found_by_their_usual_names() -> None:
    rows = {"question_id": [1, 1, 2, 2], "annotator": ["ann", "gpt"] * 2, "score": [1, 2, 3, 3]}
    found = es.from_ratings(rows, humans="ann")
    named = es.from_ratings(rows, item="question_id", rater="annotator", value="score", humans="ann")
    assert found.ratings.drop("run").equals(named.ratings.drop("run"))
    with pytest.raises(InputError, match="ratings are of 2 criteria: rating, score"):
        es.judges(es.from_ratings({**rows, "rating": [1, 2, 3, 3]}, humans="ann"))


def test_agreement_on_everything_is_called_that() -> None:
    rows = [(f"q{i}", who, i % 2) for i in range(60) for who in ("j", "ann", "ben")]
    table = pl.DataFrame(rows, schema=["item", "rater", "value"], orient="row")
    document = judges(es.from_ratings(table, humans=["ann", "ben"])).document()
    assert document.headline == "j and people agree on every answer, and no interval follows from that"
    assert document.actions == ()
