"""Raters spell one rating in many ways; what counts is what they mean."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.loaders.ratings import from_ratings, read_ratings

TRUTH = np.random.default_rng(4).integers(0, 2, 60).tolist()
OFTEN = [1 - each if i % 9 == 0 else each for i, each in enumerate(TRUTH)]


def agreement(people: list[object], judge: list[object]) -> tuple[float, float]:
    """Return the judge's alpha, and the share of answers on which it says what people say."""
    data = from_ratings({"item": list(range(60)), "ann": people, "j": judge}, raters=["ann", "j"], humans="ann")
    (found,) = es.judges(data).rows
    return found.estimate, found.raw.estimate


@pytest.mark.parametrize(
    ("people", "judge"),
    [
        ((False, True), (0, 1)),
        (("False", "True"), ("0", "1")),
        (("no", "yes"), ("No", "YES ")),
        (("no", "yes"), (0, 1)),
        (("fail", "pass"), ("FAILED", "correct")),
        (("0", "1"), ("0.0", "1.0")),
        (("bad", "good"), ("Bad", " good")),
    ],
)
def test_one_rating_in_two_spellings_is_one(people: tuple[object, object], judge: tuple[object, object]) -> None:
    plain = agreement(list(TRUTH), list(OFTEN))
    assert agreement([people[each] for each in TRUTH], [str(judge[each]) for each in OFTEN]) == pytest.approx(plain)


def test_categories_stay_what_they_are() -> None:
    data = from_ratings(
        {"item": [1, 2, 3, 4], "ann": ["A", "B", "C", "N"], "j": ["a", "B", "C", "n"]},
        raters=["ann", "j"],
        humans="ann",
    )
    assert set(data.ratings["label"]) == {"A", "B", "C", "N"}
    assert data.ratings["value"].null_count() == 8


def test_what_is_no_value_is_no_rating(tmp_path: Path) -> None:
    rows = [f"{i},{a},{'N/A' if i == 3 else b}" for i, (a, b) in enumerate(zip(TRUTH, OFTEN, strict=True))]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["item,ann,j", *rows]) + "\n")
    result = es.judges(read_ratings([path], raters=["ann", "j"], humans=["ann"]))
    assert result.rows[0].n_units == 59
    assert any("1 rating without a value dropped" in note.text for note in result.notes)


def test_labels_that_have_nothing_in_common_are_no_disagreement() -> None:
    with pytest.raises(InputError, match="people say bad, good, and j says cold, hot: they have no rating in common"):
        agreement([("bad", "good")[each] for each in TRUTH], [("cold", "hot")[each] for each in OFTEN])
    # Of somebody who only ever said one word it cannot be known.
    assert agreement([("bad", "good")[each] for each in TRUTH], ["other"] * 60)[1] == 0.0


def test_words_for_the_steps_of_a_scale_are_numbered_by_their_places() -> None:
    words = {"item": [1, 2, 3, 4], "rater": ["ann"] * 4, "Quality": ["Good", "poor", "excellent", "fair"]}
    assert from_ratings(words, value="Quality", humans="ann").ratings["value"].to_list() == [4, 2, 6, 3]
    # Categories are no steps, and two words may be anything.
    for labels in (["good", "poor", "spam", "fair"], ["good", "poor", "good", "poor"]):
        assert (
            from_ratings({**words, "Quality": labels}, value="Quality", humans="ann").ratings["label"].to_list()
            == labels
        )


def test_what_is_said_of_a_scale_in_a_header_is_no_part_of_its_name() -> None:
    table = {"Item": [1, 2], "Rater": ["ann", "ann"], "Stars (1-5)": [4, 5]}
    assert from_ratings(table, humans="ann").ratings["value"].to_list() == [4, 5]


def test_a_column_judge_names_who_rated_unless_another_does() -> None:
    rows = {"item": [1, 1, 2, 2], "judge": ["ann", "gpt-4o"] * 2, "score": [1, 0, 1, 1]}
    assert from_ratings(rows, humans="ann").ratings["rater"].to_list() == rows["judge"]
    raters = ["ann", "bob", "ann", "bob"]
    assert from_ratings(rows | {"annotator": raters}, humans=["ann"]).ratings["rater"].to_list() == raters


def test_columns_of_labels_are_raters_by_their_names() -> None:
    labels = {"human_label": ["pass", "fail", "pass", "pass"], "judge_label": ["pass", "fail", "fail", "pass"]}
    comments = {"human_comment": ["good one", "wrong", "right", "ok"], "model": ["m", "m", "n", "n"]}
    data = from_ratings({"id": [1, 2, 3, 4], **labels, **comments})
    kinds = data.ratings.select("rater", "rater_kind").unique().sort("rater").rows()
    assert kinds == [("human_label", "human"), ("judge_label", "judge")]
    assert data.ratings.height == 8


@pytest.mark.parametrize(
    ("rated", "kind"), [(("gpt", "claude"), "model"), (("tone", "depth"), "criterion")], ids=["systems", "criteria"]
)
@pytest.mark.parametrize("form", ["rater{k}_{what}", "{what}_rater{k}"])
def test_what_each_of_several_raters_rated_in_a_row_is_told_apart(rated: Sequence[str], kind: str, form: str) -> None:
    names = [form.format(k=k, what=what) for what in rated for k in (1, 2)]
    wide = {"id": [*range(12)], **{name: [place, 2, 1] * 4 for place, name in enumerate(names)}}
    data = from_ratings(wide)
    assert data.ratings.select(kind, "rater").n_unique() == 4
    assert data.ratings.filter(pl.col(kind) == rated[0], rater="rater2")["value"].to_list()[:3] == [1, 2, 1]
    assert {*from_ratings(wide, raters=names[:2]).ratings["rater"]} == {*names[:2]}
    if kind == "criterion":
        with pytest.raises(InputError, match="ratings are of 2 criteria: depth, tone"):
            es.judges(data)


def test_several_scores_of_those_who_rated_an_item_are_criteria() -> None:
    rows = {
        "response_id": [1, 1, 2, 2],
        "reviewer": ["ann", "bob"] * 2,
        "accuracy": [1, 2, 3, 3],
        "clarity": [2, 1, 1, 3],
    }
    found = from_ratings(rows | {"mean_score": [1.5, 1.5, 3.0, 3.0]}, humans="ann").ratings
    assert {*found["criterion"]} == {"accuracy", "clarity"}
    assert found.filter(criterion="clarity")["value"].to_list() == [2, 1, 1, 3]
    # Who rated may be named by a code, and one of two names of the same item is enough.
    named = {
        "llm_case_id": list("xxyy"),
        "llm_answer_id": [7, 7, 8, 8],
        "reviewer_code": ["ann", "bob"] * 2,
        "score": [1, 2, 3, 3],
    }
    assert from_ratings(named).ratings.select("item", "rater", "value").row(1) == ("x", "bob", 2)


def test_people_who_are_named_are_raters_whatever_their_columns_are_called() -> None:
    wide = {"answer_id": [*range(12)], "ann": [1, 0, 1] * 4, "bob": [1, 1, 1] * 4, "gpt4": [0, 1] * 6}
    kinds = from_ratings(wide, humans=["ann", "bob"]).ratings.select("rater", "rater_kind").unique()
    assert dict(kinds.iter_rows()) == {"ann": "human", "bob": "human", "gpt4": "judge"}


def test_a_rater_called_human_is_a_person_in_long_and_wide_tables_alike() -> None:
    wide = {"answer_id": [*range(12)], "human": [1, 2, 3] * 4, "judge": [2, 2, 3] * 4}
    kinds = [("human", "human"), ("judge", "judge")]
    long = pl.DataFrame(wide).unpivot(["human", "judge"], index="answer_id", variable_name="who", value_name="rating")
    for table in (wide, long.rename({"who": "judge"})):
        for humans in ("", "human"):
            ratings = from_ratings(table, humans=humans or ()).ratings
            assert ratings.select("rater", "rater_kind").unique().sort("rater").rows() == kinds
    # A column of a rater who is named makes the table wide, whatever else is called like a rater or a rating.
    beside = wide | {"judge": ["gpt-4o"] * 12, "judge_score": [1, 3, 3] * 4}
    assert {*from_ratings(beside, humans="human").ratings["rater"]} == {"human", "judge_score"}


def test_labels_are_no_raters_beside_a_column_called_label_or_a_persons_numbers() -> None:
    words = ["yes", "no", "yes", "yes"]
    wide = {"id": [1, 2, 3, 4], "human_reviewed": words, "llm_answer": words}
    with pytest.raises(InputError, match="no column is called rater"):
        from_ratings(wide | {"label": ["good", "bad", "bad", "good"]})
    # Two judges do not agree in the place of the person beside them.
    with pytest.raises(InputError, match="with one column for each rater"):
        from_ratings({"id": [1, 2, 3, 4], "human_score": [1, 0, 1, 1], "gpt_label": words, "claude_label": words})


@pytest.mark.parametrize("name", ["label", "rater"])
def test_a_column_called_like_what_raters_make_is_kept_beside_them(name: str) -> None:
    wide = {"id": [1, 2], "ann": ["good", "bad"], "bob": ["good", "good"], name: ["x", "y"]}
    data = from_ratings(wide, raters=["ann", "bob"], humans=["ann", "bob"])
    assert data.ratings["rater"].unique().sort().to_list() == ["ann", "bob"]
    assert data.ratings[f"source_{name}"].to_list() == ["x", "y"] * 2


@pytest.mark.parametrize(
    ("columns", "raters", "offer"),
    [
        (
            "art_id,ann,criteriaID,annotation",
            {},
            "item=art_id rater=ann criterion=criteriaID",
        ),
        ("art_id,rater,style,score", [], "variant=style"),
        ("art_id,human_score,style,judge_score", ["human_score", "judge_score"], "variant=style"),
    ],
    ids=["by shape", "a version of what is rated", "beside columns of raters"],
)
def test_what_a_table_of_ratings_lacks_is_offered_and_works(columns: str, raters: Sequence[str], offer: str) -> None:
    keys = [(art, rater, style) for art in range(20) for rater in ("Ann. 1", "Ann. 2") for style in ("short", "plain")]
    rows = [
        (
            art,
            1 + art % 3 if raters else rater,
            style,
            1 + (art + len(style) + (art % 5 == 0 and rater == "Ann. 2")) % 4,
        )
        for art, rater, style in keys
    ]
    rows = rows if not raters else [row for row, key in zip(rows, keys, strict=True) if key[1] == "Ann. 1"]
    table = pl.DataFrame(rows, columns.split(","), orient="row")
    with pytest.raises(InputError) as error:
        from_ratings(table, raters=raters)
    options = offer.split()
    assert str(error.value).endswith(f". This may fit:\n    {' '.join(f'--map {option}' for option in options)}")
    named = dict(option.split("=") for option in options)
    item, rater, value = (named.pop(role, None) for role in ("item", "rater", "value"))
    read = from_ratings(table, item=item, rater=rater, value=value, raters=raters, **named)
    assert read.ratings.height == 80


def test_ratings_that_nothing_tells_apart_are_offered_no_map() -> None:
    rows = {"id": [1, 1, 2, 2], "rater": ["ann"] * 4, "score": [1, 2, 1, 1]}
    with pytest.raises(InputError, match=r"share their key .*drop the copies or tell them apart$"):
        from_ratings(rows)
    # Rows side by side may each be one thing.
    wide = {"question": ["q", "q", "p"], "human": [1, 0, 1], "judge": [1, 1, 1]}
    with pytest.raises(InputError, match="This may fit:\n    --map 'item=#row'"):
        from_ratings(wide, raters=["human", "judge"])
    assert from_ratings(wide, item="#row", raters=["human", "judge"]).ratings["item"].to_list() == [*"123123"]


def test_what_all_agree_on_is_no_rating_and_an_item_may_be_called_row() -> None:
    rows = [
        (k, ("de", "en")[k % 2], who, "yn"[(k + (who == "bob") * k) % 2]) for k in range(12) for who in ("ann", "bob")
    ]
    table = pl.DataFrame(rows, ["row", "condition", "annotator", "verdict"], orient="row")
    with pytest.raises(InputError, match=r"--map value=verdict$"):
        from_ratings(table)


@pytest.mark.parametrize("words", [("model_a", "model_b"), ("A", "B"), ("gpt-4o", "claude-3")])
def test_judges_of_votes_agree_on_the_side_whatever_they_call_it(words: tuple[str, str]) -> None:
    rows = [
        {
            "id": f"q{k}",
            "model_a": "gpt-4o",
            "model_b": "claude-3",
            "human_winner": words[k % 2],
            "judge_pick": "AB"[k % 3 % 2],
        }
        for k in range(30)
    ]
    (found,) = es.judges(from_ratings(pl.DataFrame(rows))).rows
    assert found.raw.estimate == pytest.approx(sum(k % 2 == k % 3 % 2 for k in range(30)) / 30)


def test_the_column_that_humans_names_is_rated_beside_that_of_a_judge(tmp_path: Path) -> None:
    (tmp_path / "judge.csv").write_text("id,judge_pass\n" + "".join(f"q{k},{k % 2}\n" for k in range(6)))
    words = ("incorrect", "correct")
    (tmp_path / "gold.csv").write_text("id,gold\n" + "".join(f"q{k},{words[k % 2]}\n" for k in range(4)))
    found = read_ratings([tmp_path / "judge.csv", tmp_path / "gold.csv"], humans=["gold"]).ratings
    assert found.group_by("rater", "rater_kind").agg(pl.len(), pl.col("value").sum()).sort("rater").rows() == [
        ("gold", "human", 4, 2.0),
        ("judge_pass", "judge", 6, 3.0),
    ]


@pytest.mark.parametrize(
    ("column", "people"), [("annotator", {"alice", "bob"}), ("judge", set[str]())], ids=["of people", "of judges"]
)
def test_among_annotators_a_model_is_the_judge(column: str, people: set[str]) -> None:
    rows = [{"id": f"q{k}", column: who, "rating": k % 3} for k in range(4) for who in ("alice", "bob", "gpt-4o-judge")]
    found = from_ratings(pl.DataFrame(rows)).ratings
    assert {*found.filter(rater_kind="human")["rater"]} == people
