"""Files as strangers bring them: what is clear is read, what is not is asked about by lines that work."""

import json
import re
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import evalstats as es
from evalstats.errors import CannotAnswerError, InputError
from evalstats.loaders.binder import AskedNames, assigned
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.frames import found_columns
from evalstats.loaders.ratings import from_ratings
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData, as_data
from tests.loaders.test_fuzz import alarm
from tests.loaders.trees import everything_said as told
from tests.loaders.trees import offered, to_copy

SIDES = ("gpt-4o", "claude-3")
ROWS = [{"id": f"q{k}", "model": side, "correct": k % 2} for k in range(3) for side in SIDES]


def table(path: Path, columns: str, n: int = 12) -> Path:
    """Write rows of two models: a rating and two more that differ within items, and a fact of each item."""
    rows = [
        f"q{k},{side},{k % 5 + 1},{(k + len(side)) % 5 + 1},{(2 * k + len(side)) % 5 + 1},{k % 4 + 1}"
        for k in range(n)
        for side in SIDES
    ]
    path.write_text("\n".join([columns, *rows]) + "\n")
    return path


def test_ratings_on_the_scale_of_a_score_are_metrics(tmp_path: Path) -> None:
    data = read(table(tmp_path / "t.csv", "id,model,helpfulness,tone,depth,hops"))
    assert set(data.outcomes["metric"]) == {"helpfulness", "tone", "depth"}
    assert "hops" in data.outcomes.columns


def test_numbers_beside_scores_of_another_scale_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{side},{k % 2},0.{k % 7},{(k + len(side)) % 5 + 1},{k % 3}" for k in range(12) for side in SIDES]
    path.write_text("\n".join(["id,model,correct,accuracy,tone,hops", *rows]))
    data = read(path)
    assert set(data.outcomes["metric"]) == {"correct", "accuracy"}
    assert "tone is kept as no metric; to make one of each: --map score=correct,accuracy,tone" in told(data)
    more = read(path, column_map=ColumnMap.from_options(["score=correct,accuracy,tone"]))
    assert set(more.outcomes["metric"]) == {"correct", "accuracy", "tone"}


def test_several_metrics_that_are_asked_for_are_the_scores(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "id,model,alpha,beta,gamma,hops")
    data = read(path, metrics=["alpha,gamma", "alpha", "gamma"])
    assert set(data.outcomes["metric"]) == {"alpha", "gamma"}


def test_an_unknown_role_is_an_error_that_names_the_roles(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "id,model,score,tone,depth,hops")
    for option in ("banana=tone", "banana=@x"):
        with pytest.raises(InputError, match=r"no standard column 'banana' to map to; there are run, model"):
            read(path, column_map=ColumnMap.from_options([option]))
    assert "tone" in read(path, column_map=ColumnMap.from_options(["tone=tone"])).outcomes.columns


def test_columns_of_people_and_of_judges_are_raters() -> None:
    frame = pl.DataFrame({"id": ["1", "2"], "human_score": [1, 0], "llm_score": [1, 1], "llm_latency_ms": [3, 4]})
    kinds = dict(from_ratings(frame).ratings.select("rater", "rater_kind").unique().iter_rows())
    assert kinds == {"human_score": "human", "llm_score": "judge"}


VOTES = [(a, b, won) for a in "xyz" for b in "xyz" for won in ("left", "right", "tie") if a != b]


def test_votes_between_systems_that_meet_again_open_whatever_they_are_called(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("left,right,preference\n" + "".join(f"{a},{b},{won}\n" for a, b, won in VOTES))
    data = read(path)
    assert data.comparisons.select("model_a", "model_b", "outcome").row(1) == ("x", "y", "b")
    assert "read with --map model_a=left --map model_b=right --map winner=preference" in told(data)
    framed, said = found_columns(pl.read_csv(path), {})
    assert framed.comparisons["outcome"].to_list() == data.comparisons["outcome"].to_list()
    assert "from_votes(table, model_a='left', model_b='right', winner='preference')" in said


def test_the_two_whom_a_document_names_are_the_sides_of_its_votes(tmp_path: Path) -> None:
    rows = [{"id": f"q{k}", "winner": ("A", "B", "TIE")[k % 3]} for k in range(12)]
    fighters = {f"fighter_{side}": {"model": name} for side, name in zip("ab", SIDES, strict=True)}
    (path := tmp_path / "v.json").write_text(json.dumps({**fighters, "results": rows}))
    votes = read(path, question="arena").comparisons
    assert votes.select("model_a", "model_b", "outcome").row(1) == (*SIDES, "b")


def test_two_whom_only_the_winner_names_are_the_sides(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    won = ("tuned", "base", "tie")
    path.write_text("prompt,base_vs_tuned\n" + "".join(f"why {k}?,{won[k % 3]}\n" for k in range(12)))
    votes = read(path, question="arena").comparisons
    assert votes.select("model_a", "model_b", "outcome").rows()[:3] == [
        ("base", "tuned", outcome) for outcome in ("b", "a", "tie")
    ]
    with pytest.raises(InputError):
        read(path, question="compare")
    path.write_text("prompt,verdict\n" + "".join(f"why {k}?,{'keep' if k % 2 else 'drop'}\n" for k in range(12)))
    with pytest.raises(InputError):
        read(path, question="arena")


@pytest.mark.parametrize(
    ("columns", "row", "said"),
    [
        (
            "id,Base Answer,DPO Answer,Winner (Judge)",
            "{0},x,y,Tie",
            "model_a=@Base --map model_b=@DPO --map 'winner=Winner",
        ),
        ("id,response_ru,response_en,quality_score,Winner", "{0},x,y,,", "Winner has no value in any row"),
        (
            "battle_id,D1",
            "{0},{1}",
            (
                "D1, but no column names the two sides; one name for all votes is --map model_a=@NAME. Name the columns:\n"
                "    --map model_a=COLUMN --map model_b=COLUMN --map winner=D1\n"
            ),
        ),
        (
            "id,model_a,model_b,rating",
            "{0},x,y,2",
            (
                "rating, but none is plainly the winner. Name the columns:\n"
                "    --map model_a=model_a --map model_b=model_b --map winner=COLUMN\n"
            ),
        ),
        (
            "id,champion,rival,who",
            "{0},x,y,{2}",
            "This may fit:\n    --map model_a=champion --map model_b=rival --map winner=who\n",
        ),
    ],
    ids=["sides of answers", "blank", "no sides", "no winner", "names"],
)
def test_who_asks_about_votes_is_told_of_sides_and_winner(tmp_path: Path, columns: str, row: str, said: str) -> None:
    rows = [row.format(k, "AB"[k % 2], "xy"[k % 2]).split(",") for k in range(12)]
    assert said in f"{refused(tmp_path / 'v.csv', columns, rows, 'arena')}\n"


def test_the_names_of_the_roles_come_before_what_is_like_them(tmp_path: Path) -> None:
    columns = "a_ok,b_ok,part.case.winner,winner,model_a,model_b"
    rows = [f"{k}f,{k}g,tie,{'AB'[k % 2]},old,new" for k in range(12)]
    names = columns.split(",")
    best = assigned(
        names, [dict(zip(names, row.split(","), strict=True)) for row in rows], AskedNames(question="arena")
    )
    assert best[0].options == ("model_a=model_a", "model_b=model_b", "winner=winner")


def test_sides_that_no_column_names_are_offered_in_memory_as_they_are_called(tmp_path: Path) -> None:
    frame = {"id": [1, 2, 3], "Old answer": ["x"] * 3, "New answer": ["y"] * 3, "winner": ["A", "B", "tie"]}
    with pytest.raises(InputError, match=r"model_a, model_b and winner.*\n    .*model_a='@Old', model_b='@New'"):
        es.arena(frame)
    votes = es.from_votes(frame, model_a="@Old", model_b="@New").comparisons
    assert votes.select("model_a", "model_b", "outcome").row(1) == ("Old", "New", "b")


def test_more_and_less_are_who_won(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("text.1.by,text.2.by,rating\n" + "".join(f"x,y,{'<>='[k % 3]}\n" for k in range(12)))
    # Who asks about votes is told of them by the cells alone.
    votes = read(path, question="arena").comparisons
    assert votes["outcome"].to_list()[:3] == ["b", "a", "tie"]


@pytest.mark.parametrize(
    "row",
    ["option {k},choice {k},A", "yes,no,A", "one,two,A"],
    ids=["answers that differ", "yes and no", "two answers"],
)
def test_the_right_one_of_two_answers_is_no_vote(tmp_path: Path, row: str) -> None:
    path = tmp_path / "v.csv"
    path.write_text("option_a,option_b,answer\n" + "".join(row.format(k=k) + "\n" for k in range(12)))
    with pytest.raises(InputError):
        read(path)


@pytest.mark.parametrize("column", ["prompt", "question", "instruction"])
def test_what_was_asked_is_the_item_of_a_vote(tmp_path: Path, column: str) -> None:
    path, long = tmp_path / "v.csv", "why " * 100
    path.write_text(f"{column},model_a,model_b,winner\nshort,m,n,model_a\n{long},m,n,tie\n{long},n,m,model_b\n")
    items = read(path).comparisons["item"].to_list()
    assert items[0] == "short"
    assert items[1] == items[2]
    assert len(items[1]) == 16


def test_a_percent_sign_in_a_header_is_the_unit(tmp_path: Path) -> None:
    path = tmp_path / "b.csv"
    path.write_text("Model,Accuracy (%),Rating\ngpt-4o,71.2,4.2\nclaude-3,0.8,4.1\n")
    data = read(path)
    assert set(data.aggregates.filter(metric="Accuracy (%)")["unit"]) == {"percent"}
    assert "no unit (share, percent, rating) is given for Rating" in told(data)


def test_several_raters_of_a_wide_table_are_judges(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{rater},{k % 5 + 1},{(k + 2) % 5 + 1}" for k in range(8) for rater in ("ann", "bob")]
    path.write_text("\n".join(["item,rater,gpt-4o,claude-3", *rows]))
    data = read(path)
    assert data.outcomes.select("system", "judge").n_unique() == 4
    assert "models=gpt-4o,claude-3" in told(data)


@pytest.mark.parametrize("stem", ["q", "item_", "question"])
def test_rights_and_wrongs_by_model_and_item_are_those_of_items(tmp_path: Path, stem: str) -> None:
    """A row for each model, a column for each item, as item response theory has its tables; and the same as JSON."""
    cells = {side: {f"{stem}{k}": (k + i) % 2 for k in range(30)} for i, side in enumerate(SIDES)}
    (tmp_path / "t.json").write_text(json.dumps(cells))
    rows = [",".join(map(str, (side, 7, *own.values()))) for side, own in cells.items()]
    (tmp_path / "t.csv").write_text("\n".join([",".join(["model", "size", *cells[SIDES[0]]]), *rows]))
    for name in ("t.json", "t.csv"):
        data = read(tmp_path / name)
        found = {(row["model"], row["item"]): row["score"] for row in data.outcomes.iter_rows(named=True)}
        assert found == {(side, item): score for side, own in cells.items() for item, score in own.items()}
        assert f"items={stem}*" in told(data)


def test_published_shares_of_tasks_are_compared_by_the_line_that_is_shown(tmp_path: Path) -> None:
    """Nothing said that tasks may be the items: the way of a comparison ended there."""
    path = tmp_path / "t.csv"
    rows = [f"t{k},{side},{(k + 3 * i) / 20},40" for k in range(12) for i, side in enumerate(SIDES)]
    path.write_text("\n".join(["task,model,accuracy,n", *rows]))
    with pytest.raises(CannotAnswerError, match=r"name the columns: .*item=COLUMN.*score=COLUMN.*model=COLUMN"):
        es.compare(read(path), *SIDES)
    data = read(path, column_map=ColumnMap.from_options(["item=task", "score=accuracy", "model=model"]))
    assert es.compare(data, *SIDES).estimate == pytest.approx(3 / 20)


def test_columns_that_nothing_calls_items_are_asked_about(tmp_path: Path) -> None:
    for stem in ("trial_", "seed", "x"):
        path = tmp_path / "t.csv"
        path.write_text(
            ",".join(["model", *(f"{stem}{k}" for k in range(9))]) + "\ngpt-4o" + ",1" * 9 + "\nclaude-3" + ",0" * 9
        )
        with pytest.raises(InputError, match=f"model=model.*items={re.escape(stem)}"):
            read(path)


def test_of_a_wide_table_no_model_is_left_out(tmp_path: Path) -> None:
    """Of 300 models side by side 198 were ranked, as if there were no others."""
    path = tmp_path / "t.csv"
    models = [f"model-{k}" for k in range(300)]
    path.write_text("\n".join([",".join(["item", *models]), *(f"q{k}" + f",{k % 2}" * 300 for k in range(6))]))
    data = read(path)
    assert {*data.models()} == {*models}
    assert "models=model-0,model-1,model-2,..." in told(data)


def test_very_long_and_very_many_names_are_told_in_bounded_time(tmp_path: Path) -> None:
    """Each word of a name was looked at with all behind it, each column with all others: minutes for 100,000 characters."""
    for header in ("id," + "1." * 50_000, ",".join(["a"] * 50_000)):
        path = tmp_path / "t.csv"
        path.write_text(f"{header}\n1,2\n3,4\n")
        with alarm(20), pytest.raises(InputError):
            read(path)


def test_parts_of_one_run_are_no_tasks(tmp_path: Path) -> None:
    for side in SIDES:
        for part in range(3):
            rows = "".join(f"q{part}{k},{k % 2}\n" for k in range(9))
            (tmp_path / f"{side}-shard-{part}.csv").write_text(f"id,correct\n{rows}")
    data = read(tmp_path)
    assert set(data.outcomes["system"]) == {*SIDES}
    assert set(data.outcomes["benchmark"]) == {"table"}


def crossed(path: Path, columns: str, *levels: Sequence[object], n: int = 12) -> Path:
    """Write a row for each item and each level of each column, with rights and wrongs in the last one."""
    rows = [
        f"q{k},{','.join(map(str, each))},{(k + i) % 2}" for k in range(n) for i, each in enumerate(product(*levels))
    ]
    path.write_text("\n".join([columns, *rows]) + "\n")
    return path


@pytest.mark.parametrize("other", ["prompt_template", "agent", "strategy"])
def test_what_stands_beside_the_models_that_a_question_names_is_no_side(tmp_path: Path, other: str) -> None:
    path = crossed(tmp_path / "t.csv", f"item,model,{other},score", SIDES, ("v1", "v2"))
    rows = read(path, sides=SIDES).outcomes
    assert set(rows["system"]) == {*SIDES}
    assert set(rows["variant"]) == {"v1", "v2"}
    assert set(read(path).outcomes["system"]) == {"v1", "v2"}


def test_a_column_of_scores_beside_the_two_sides_is_one_more_side(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{k % 2},{k // 2 % 2},{k // 3 % 2},{k % 4 + 1},{k % 3 % 2}" for k in range(30)]
    path.write_text("\n".join(["item,b0,b1,ours,level,has_image", *rows]))
    outcomes = read(path, sides=["b0", "ours"]).outcomes
    assert set(outcomes["system"]) == {"b0", "b1", "ours"}
    assert {"level", "has_image"} <= {*outcomes.columns}


def framed(path: Path) -> EvalData:
    """Read a table as questions read one that is given them."""
    assert es.compare  # with which comes what finds columns
    return as_data(pl.read_csv(path))


def states(path: Path, done: str, failed: str, score: Sequence[object] = (1, 0, "")) -> Path:
    """Write three rows of each model, the last of which failed."""
    rows = [f"q{k},{side},{score[k]},{failed if k == 2 else done}" for side in SIDES for k in range(3)]
    path.write_text("\n".join(["item,model,score,status", *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("done", "failed", "status"),
    [("ok", "failed", "error"), ("Success", "Timed out", "error"), ("completed", "skipped", "unscored")],
)
@pytest.mark.parametrize("given", [(), ("status=status",)], ids=["found", "given"])
def test_the_words_of_programs_say_why_there_is_no_score(
    tmp_path: Path, done: str, failed: str, status: str, given: Sequence[str]
) -> None:
    path = states(tmp_path / "t.csv", done, failed)
    column_map = ColumnMap.from_options(given) if given else None
    for rows in (read(path, column_map=column_map).outcomes, framed(path).outcomes):
        assert rows["status"].to_list() == ["scored", "scored", status] * 2
        assert rows["status_reason"].to_list()[2] == f"its status is {failed.lower().replace(' ', '_')}"


def test_what_failed_with_a_score_is_scored(tmp_path: Path) -> None:
    path = states(tmp_path / "t.csv", "success", "failed", score=(1, 1, 0))
    for rows in (read(path).outcomes, framed(path).outcomes):
        assert rows["score"].to_list() == [1, 1, 0] * 2
        assert set(rows["status"]) == {"scored"}


def test_a_status_of_other_words_is_a_factor(tmp_path: Path) -> None:
    outcomes = read(states(tmp_path / "t.csv", "ok", "deferred")).outcomes
    assert set(outcomes["source_status"]) == {"ok", "deferred"}


def test_percent_signs_say_the_scale(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{side},{50 + k}%,{k}.5 %" for k in range(8) for side in SIDES]
    path.write_text("\n".join(["item,model,score,other", *rows, "q9,gpt-4o,n/a,3%"]) + "\n")
    for data in (read(path), framed(path)):
        assert data.outcomes["score"].to_list()[:2] == [50, 50]
        assert data.metrics.select("low", "high", "unit").row(0) == (0, 100, "percent")
    path.write_text(path.read_text().replace("50%", "0.5"))
    with pytest.raises(InputError, match="14 of 17 rows have no known score"):
        read(path)


def test_copies_of_whole_rows_are_dropped_at_the_first_advice(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{side},{'AB'[k % 2]},{k % 3 % 2}" for k in range(12) for side in SIDES]
    path.write_text("\n".join(["Question,llm,note,grade", *rows, *rows[:3]]))
    with pytest.raises(InputError, match="these are copies of whole rows; to drop them: --map repeats=drop"):
        read(path)
    assert read(path, column_map=ColumnMap.from_options(["repeats=drop"])).outcomes.height == len(rows)
    path.write_text("\n".join(["Question,llm,note,grade", *rows, *[f"{row[:-1]}7" for row in rows[:3]]]))
    with pytest.raises(InputError, match="if they are different questions, give each its own id"):
        read(path)


@pytest.mark.parametrize("column", ["latency_s", "cost_usd", "duration", "response_time_ms"])
def test_a_table_of_costs_or_times_alone_offers_them_as_metrics(tmp_path: Path, column: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "\n".join([f"id,model,{column}", *(f"q{k},{side},{k / 7:.3f}" for k in range(9) for side in SIDES)])
    )
    with pytest.raises(InputError, match=f"compare {column} itself: --metric {column} --lower-is-better"):
        read(path)
    assert set(read(path, metrics=[column]).outcomes["metric"]) == {column}
    with pytest.raises(InputError, match=f"compare {column} itself: --metric {column} --lower-is-better"):
        es.compare(pl.read_csv(path), *SIDES)
    with pytest.warns(es.EvalStatsWarning, match=f"score='{column}'"):
        found = es.compare(pl.read_csv(path), *SIDES, metric=column, higher_is_better=False)
    assert found.metric == column


def test_one_message_of_each_user_of_an_a_b_test_opens(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"u{k},{'AB'[k % 2]},hello {k * 7919} again,{k // 2 % 2}" for k in range(40)]
    path.write_text("\n".join(["user_id,variant,message,thumbs_up", *rows]))
    found = es.compare(read(path, sides=["A", "B"]), "A", "B")
    assert "on different users" in found.document().headline


@pytest.mark.parametrize("columns", ["model,seed,accuracy", "experiment_id,seed,top1", "method,fold,seed,f1"])
def test_systems_of_an_experiment_share_its_seeds(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "t.csv"
    middle = "," if columns.count(",") == 2 else ",1,"
    rows = [f"{k}{middle}{seed},{1.5 + k / seed:.3f}" for k in range(3) for seed in (13, 42, 7)]
    path.write_text("\n".join([columns, *rows]))
    outcomes = read(path).outcomes
    assert (set(outcomes["item"]), set(outcomes["model"])) == ({"7", "13", "42"}, {"0", "1", "2"})


def test_persons_who_rated_the_same_items_are_their_judges(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"p{p},q{k},{side},{(p + k + len(side)) % 5 + 1}" for p in range(3) for k in range(9) for side in SIDES]
    path.write_text("\n".join(["participant_id,item,model,rating", *rows]))
    assert set(read(path).outcomes["judge"]) == {"p0", "p1", "p2"}


def test_published_numbers_of_parts_have_no_sides_and_a_line_says_how_they_would(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{side},{part},.{k + 5}1" for k, side in enumerate(SIDES) for part in ("arc", "mmlu", "gsm8k")]
    path.write_text("\n".join(["model,dataset,accuracy", *rows]))
    assert set(read(path).aggregates["task"]) == {"arc", "mmlu", "gsm8k"}
    assert read(path, column_map=ColumnMap.from_options(["score=accuracy"])).aggregates.height == len(rows)
    with pytest.raises(InputError, match=r"no scores of single items, .*say which column names these: .*item=COLUMN"):
        es.compare(pl.read_csv(path))
    assert read(path, column_map=ColumnMap.from_options(["item=dataset"])).outcomes.height == len(rows)


def refused(path: Path, columns: str, rows: Sequence[Sequence[object]], question: str = "") -> str:
    """Write a table and return why it is not read."""
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in rows)]))
    with pytest.raises(InputError) as error:
        read(path, question=question)
    return str(error.value)


@pytest.mark.parametrize(
    ("columns", "row", "missing"),
    [
        ("qid,gold,pred", "1{0}7,yes,no", "but none looks like a score"),
        ("id,model,similarity,rating", "{0},{1},.{0},", "rating has no value in any row"),
        ("model,phase,time_sec,memory_gb", "{1},ttft,{0}.5,{0}.25", "but none is plainly the item"),
        ("question,answer,vote1,vote2", "q{0},x,{2},{3}", "but none looks like a score"),
        ("id,model,similarity,rating", "{0},{1},,", "similarity and rating have no value in any row"),
        # A number of few steps is no text of an answer.
        ("design,material,response", "cup,wood,{3}", "but none is plainly the item"),
    ],
)
def test_ids_amounts_and_counts_are_offered_as_no_score(columns: str, row: str, missing: str, tmp_path: Path) -> None:
    rows = [row.format(k, SIDES[k % 2], k % 5, k % 3).split(",") for k in range(12)]
    said = refused(tmp_path / "t.csv", columns, rows)
    assert "may fit" not in said
    assert missing in said
    assert ("=COLUMN --map score=response" if "response" in columns else "=COLUMN") in to_copy(said)[0]


def test_votes_are_offered_to_who_asks_about_votes(tmp_path: Path) -> None:
    rows = [("xyz"[k % 3], "xyz"[k % 4 % 3], "xyz"[k % 2]) for k in range(24)]
    columns = "left_venue,right_venue,label"
    assert "winner=label" in refused(tmp_path / "t.csv", columns, rows, "arena")
    assert "winner" not in refused(tmp_path / "t.csv", columns, rows, "leaderboard")


def test_a_question_that_compares_takes_what_names_several_systems(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"question {k},{side},{k % 3 / 2}" for k in range(12) for side in ("bm25", "dense")]
    path.write_text("\n".join(["question,retriever,score", *rows]))
    assert set(read(path, question="compare").outcomes["model"]) == {"bm25", "dense"}
    with pytest.raises(InputError, match=r"fit:\n    --map item=question --map score=score --map model=retriever$"):
        read(path)
    # Each of several files may be of one system.
    path.with_name("u.csv").write_text(path.read_text())
    with pytest.raises(InputError, match=r"fit:\n    --map item=question --map score=score --map model=retriever$"):
        read(path, path.with_name("u.csv"), question="compare")
    # Where a reading of one system is as sure, it is not offered to a question that compares.
    offers = [(f"c{k}", "AB"[k % 2], 9.5 + k % 7, k % 3 // 2) for k in range(60)]
    said = refused(path, "customer_id,offer,price,bought", offers, "compare")
    assert offered(said) == ["--map item=customer_id --map score=bought --map model=offer"]
    shots = [(f"q{k}", k % 2, k % 3 // 2, 1) for k in range(12)]
    said = refused(path, "question_id,0-shot,1-shot,5-shot", shots, "leaderboard")
    assert offered(said) == ["--map item=question_id --map models=0-shot,1-shot,5-shot"]


@pytest.mark.parametrize("item", ["id", "ticket"])
@pytest.mark.parametrize("question", ["", "compare"])
def test_ids_that_no_two_systems_share_are_offered_as_items(item: str, question: str, tmp_path: Path) -> None:
    rows = [(f"c{k}", f"t{k % 5}", SIDES[k % 2], k % 5 + 1) for k in range(40)]
    said = refused(tmp_path / "t.csv", f"{item},task,model,score", rows, question)
    assert f"--map item={item} --map score=score --map model=model" in said


@pytest.mark.parametrize("configs", [("easy",), ("easy", "hard")])
def test_a_file_that_goes_model_by_model_names_its_models(configs: Sequence[str]) -> None:
    kinds = product(SIDES, ("sums", "sorts"), configs, range(120))
    rows = [
        {"item_idx": k, "config": config, "dataset": dataset, "model": side, "score": k % 7 / 7}
        for side, dataset, config, k in kinds
    ]
    best = assigned([*rows[0]], rows, AskedNames(question="leaderboard"))[0]
    assert [option for option in best.options if option.startswith("model=")] == ["model=model"]


def test_a_person_and_a_judge_are_no_systems(tmp_path: Path) -> None:
    rows = [(f"q{k}", side, k % 2, (k + len(side)) % 2) for k in range(20) for side in SIDES]
    said = refused(tmp_path / "t.csv", "id,model,human,gpt4_judge", rows, "compare")
    assert "models=" not in said
    assert offered(said)[0].startswith("--map item=id --map score=human --map model=model")
    marked = [(f"q{k}", k % 5, k % 4) for k in range(20)]
    assert "models=" not in refused(tmp_path / "t.csv", "id,judge1_primary,judge2_secondary", marked)


@pytest.mark.parametrize("within", [True, False])
def test_criteria_that_each_item_has_are_metrics(within: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    kinds = ("safety", "tone")
    rows = [
        (f"q{k}" if within else f"q{k}{kind}", side, kind, k % 2, (k + len(side + kind)) % 5 + 1)
        for k in range(12)
        for side in SIDES
        for kind in kinds
    ]
    path.write_text(
        "\n".join(["question_id,model_name,dimension,is_correct,score", *(",".join(map(str, row)) for row in rows)])
    )
    data = read(path)
    assert set(data.outcomes["metric"]) == ({*kinds} if within else {"score"})
    assert data.outcomes.height == len(rows)


def test_persons_who_are_called_like_models_are_no_systems(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    players = ("gpt", "claude", "gemini", "anna")
    rows = [f"{who},{'person' if who == 'anna' else 'machine'},{k},{k % 2}" for who in players for k in range(12)]
    path.write_text("\n".join(["participant_id,kind,level_index,won", *rows]))
    with pytest.raises(InputError, match=r"fit:\n    --map item=level_index --map score=won --map model=kind"):
        read(path, question="compare")
    assert {*read(path, sides=["person", "machine"]).outcomes["model"]} == {"person", "machine"}
    # One of the two is there.
    assert {*read(path, sides=["person", "human"]).outcomes["model"]} == {"person", "machine"}


def test_models_that_were_given_a_few_of_the_items_are_models(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"t{k},{k % 2},{k % 3},{k % 2 if k > 7 else ''},{k % 4}" for k in range(12)]
    path.write_text("\n".join(["task_id,gpt-5,claude-4,gpt-qwen,mistralai/devstral", *rows]))
    assert read(path, question="leaderboard").outcomes["model"].n_unique() == 4


def test_yes_and_no_that_each_item_has_once_were_asked_for(tmp_path: Path) -> None:
    asked = product([f"why {k}?" for k in range(12)], (True, False), ("v1", "v2"))
    rows = [(*row, ("pass", "fail")[k % 5 % 2]) for k, row in enumerate(asked)]
    said = refused(tmp_path / "t.csv", "question,is_expert,prompt,result", rows, "compare")
    assert "--map item=question --map score=result --map model=prompt --map variant=is_expert" in said


def test_times_of_rows_are_no_parts_of_published_scores(tmp_path: Path) -> None:
    rows = [(f"m{k % 3}", "news", 100 + k, 1, k // 3, f"2026-01-01T10:{k:02d}") for k in range(30)]
    said = refused(tmp_path / "t.csv", "config,task,ms,ok,rotation,ts", rows, "leaderboard")
    assert "--map 'item=#row' --map score=ok --map model=config" in said
    assert "score-table" not in said


def test_a_row_a_system_is_none_of_its_items(tmp_path: Path) -> None:
    rows = [(f"m-{k}b", k % 3 == 0, k % 2 == 0, "a long word " * 30) for k in range(4)]
    assert "#row" not in refused(tmp_path / "t.csv", "model,passed,solved,log", rows, "leaderboard")
    counts = [("control", 1000, 120), ("treatment", 1010, 150)]
    said = refused(tmp_path / "t.csv", "variant,users,conversions", counts, "compare")
    assert offered(said) == ["--map 'item=#row' --map score=conversions/users --map model=variant"]


def test_the_ends_of_an_interval_are_no_scores(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("model,rate,ci_lo,ci_hi\n" + "".join(f"m-{k}b,0.{k},0.{k - 1},0.{k + 1}\n" for k in range(3, 7)))
    found = read(path).aggregates
    assert {*found["metric"]} == {"rate"}
    assert found.select("conf_low", "conf_high").row(0) == (0.2, 0.4)


# What a question says of its data


@pytest.mark.filterwarnings("ignore")
def test_a_table_in_memory_is_read_as_its_file_for_a_question(tmp_path: Path) -> None:
    rows = [(f"q{k}", side, (k + len(side)) % 3 % 2) for k in range(20) for side in ("bm25", "dense")]
    frame = pl.DataFrame(rows, schema=["question_id", "retriever", "correct"], orient="row")
    frame.write_csv(path := tmp_path / "t.csv")
    boards = [es.leaderboard(data) for data in (str(path), frame, frame.to_pandas())]
    assert boards[0].summary() == boards[1].summary() == boards[2].summary()
    with pytest.raises(InputError, match="model='retriever'"):  # what has one system may be asked of either
        es.score(frame)


@pytest.mark.parametrize(
    ("header", "raters"),
    [
        ("id,human,gpt-4o", ("human", "gpt-4o")),
        ("id,human_score,llm_score", ("human_score", "llm_score")),
        ("id,rater1,rater2", ("rater1", "rater2")),
        ("id,judge1_primary,judge2_secondary", ("judge1_primary", "judge2_secondary")),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_ratings_side_by_side_are_those_of_raters(tmp_path: Path, header: str, raters: tuple[str, str]) -> None:
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n" + "".join(f"q{k},{k % 2},{k % 4 % 3 % 2}\n" for k in range(40)))
    for data in (str(path), tmp_path, pl.read_csv(path)):
        report = es.judges(data)
        assert report.n_ratings == 80
        assert {*report.reference} | {row.name for row in report.rows} == {*raters}
    told = es.judges(path, humans=[raters[1]])
    assert told.reference == (raters[1],)


@pytest.mark.parametrize("columns", ["id,bm25_recall,dense_recall", "id,BM25 Acc,Dense Acc"])
def test_scores_of_one_kind_are_those_of_systems_where_a_question_names_them(tmp_path: Path, columns: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join([columns, *(f"q{k},{k % 2},{k % 3 % 2}" for k in range(20))]))
    sides = [name.split("_")[0].split(" ")[0] for name in columns.split(",")[1:]]
    assert {*read(path, sides=sides, question="compare").outcomes["model"]} == {*sides}
    assert read(path, question="score").outcomes["metric"].n_unique() == 2


def test_scores_of_one_kind_are_offered_as_systems_where_a_question_needs_several(tmp_path: Path) -> None:
    rows = [(f"set {k}", f"{50 * (k % 3)}%", f"{25 * (k % 4)}%", "x->y") for k in range(9)]
    columns = "Dataset,LLM (raw) Acc,LLM (cut) Acc,LLM (raw) Low"
    said = refused(tmp_path / "t.csv", columns, rows, "leaderboard")
    assert offered(said)[0] == "--map item=Dataset --map 'models=LLM (*) Acc'"


def test_an_answer_beside_the_right_one_rivals_what_is_merely_called_a_score(tmp_path: Path) -> None:
    rows = [(f"text {k} of them", k % 2, k % 3 % 2, k % 5) for k in range(30)]
    said = refused(tmp_path / "t.csv", "text,label,pred,suspect_score", rows)
    assert offered(said) == ["--map item=text --map score=pred==label", "--map item=text --map score=suspect_score"]


def test_counts_by_system_are_no_judges_and_cutoffs_are_metrics_each(tmp_path: Path) -> None:
    tokens = [(f"q{k}", "m", k % 2, 20 + k, 30 + k, 40 + k, 50 + k) for k in range(20)]
    columns = "id,kind,refused,full_in_tokens,mini_in_tokens,full_out_tokens,mini_out_tokens"
    path = tmp_path / "t.csv"
    path.write_text("\n".join([columns, *(",".join(map(str, row)) for row in tokens)]))
    assert {*read(path).outcomes["metric"]} == {"refused"}
    rows = [{"id": f"q{k}", "metrics": {"ndcg@5": k / 20, "ndcg@10": k / 25, "mrr": k / 30}} for k in range(20)]
    (tmp_path / "r.json").write_text(json.dumps(rows))
    assert {*read(tmp_path / "r.json").outcomes["metric"]} == {"metrics.ndcg@5", "metrics.ndcg@10", "metrics.mrr"}


def test_perplexity_is_compared_where_it_is_asked_for(tmp_path: Path) -> None:
    rows = [(f"q{k}", side, 3.5 + k % 7 + len(side)) for k in range(20) for side in SIDES]
    path = tmp_path / "t.csv"
    assert "to compare perplexity itself: --metric perplexity" in refused(path, "id,model,perplexity", rows, "compare")
    assert set(read(path, metrics=["perplexity"]).outcomes["metric"]) == {"perplexity"}


# Maps that say a part


def refused_of(path: Path, *options: str) -> str:
    """Return why a table is not read whose map, if there is one, leaves something open."""
    with pytest.raises(InputError) as refusal:
        read(path, column_map=ColumnMap.from_options(options) if options else None, question="compare")
    return str(refusal.value)


def test_what_completes_a_map_is_offered_and_works_when_it_is_added(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{side},{mode},{k % 3 % 2}" for k in range(20) for side in SIDES for mode in ("fast", "slow")]
    path.write_text("\n".join(["case_id,llm,mode,correct", *rows]))
    said = refused_of(path, "score=correct")
    offer = "--map item=case_id --map model=llm --map variant=mode"
    assert said.endswith(f"This may fit:\n    {offer}")
    added = ["score=correct", *(word for word in offer.split() if word != "--map")]
    assert read(path, column_map=ColumnMap.from_options(added)).outcomes.height == len(rows)


def test_nothing_is_offered_of_columns_that_are_not_there(tmp_path: Path) -> None:
    path = table(tmp_path / "t.csv", "id,model,alpha,beta,gamma,hops")
    assert refused_of(path, "item=key").endswith(
        "there is no column 'key' for item; the table has id, model, alpha, beta, gamma, hops"
    )
    assert "each hold the scores" not in refused_of(path, "item=id")


def test_a_label_that_is_no_score_may_be_all_that_a_map_says(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    words = ("pass", "fail", "parse_failure")
    rows = [
        f"q{k},{a},{b},{words[(k + len(a + b)) % 3]}" for k in range(18) for a in ("v1", "v02") for b in ("x", "yyy")
    ]
    path.write_text("\n".join(["question,prompt,method,result", *rows]))
    said = refused_of(path)
    assert "By its names the line below fits, but 24 of 72 rows have no known score" in said
    assert "if they mean no score: --map unscored=parse_failure" in said
    offer = "--map item=question --map score=result --map model=prompt"
    assert offered(refused_of(path, "unscored=parse_failure"))[0].startswith(offer)


def test_what_repeats_is_shown_by_the_beginning_of_its_text_and_told_apart_by_a_part(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{'why is that so? ' * 9}{k},m,{part},{k % 2}" for k in range(9) for part in ("arc", "law")]
    path.write_text("\n".join(["question,model,dataset,ok", *rows]))
    said = refused_of(path, "item=question", "score=ok", "trial=model", "model=@m")
    assert "'dataset' tells them apart: --map task=dataset" in said
    assert f"item '{('why is that so? ' * 9)[:80]}'" in said


@pytest.mark.parametrize(
    ("fact", "role"), [("kind", "variant"), ("question", "variant"), ("asked", "task"), ("idx", "task")]
)
def test_a_task_counts_items_of_its_own_and_a_version_of_an_item_says_what_it_says(
    tmp_path: Path, fact: str, role: str
) -> None:
    """The same id is the same item in all levels of a column where what else is said of it is the same there."""
    path = tmp_path / "t.csv"
    facts = {"kind": "kind {0}", "question": "What is {0}?", "asked": "What is {0} of {1}?", "idx": "{0}"}
    rows = [
        f"{k},{model},{tone},{facts[fact].format(k % 5, tone)},{(k + len(model + tone)) % 3 % 2}"
        for k in range(12)
        for model in SIDES
        for tone in ("calm", "angry")
    ]
    path.write_text("\n".join([f"id,model,category,{fact},correct", *rows]))
    assert f"--map {role}=category" in refused_of(path)


def test_what_makes_a_key_with_the_models_may_be_the_item(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{k * 2654435761 % 2**32:08x},{model},{k % 2}" for k in range(20) for model in SIDES]
    path.write_text("\n".join(["digest,model,correct", *rows]))
    assert offered(refused_of(path))[0] == "--map item=digest --map score=correct --map model=model"


def test_rows_of_persons_who_return_are_numbered_and_what_names_rows_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"e{k},u{k % 31},c{k % 7},{'AB'[k % 2]},{k % 3 % 2}" for k in range(40)]
    path.write_text("\n".join(["experiment_id,user_id,campaign_id,variant,converted", *rows]))
    line = "--map item=#row --map score=converted --map model=variant --map dependence=user_id"
    assert offered(refused_of(path).replace("'", ""))[0] == line
    data = read(path, column_map=ColumnMap.from_options(line.replace("--map ", "").split()))
    assert es.compare(data, "A", "B").n_items is not None


def test_the_right_answer_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{k},{'yes' if k % 3 else 'no'},{k % 2}" for k in range(30)]
    path.write_text("\n".join(["id,ground_truth,correct", *rows]))
    assert "model=ground_truth" not in told(read(path, question="compare"))


def test_a_share_of_a_count_beside_it_is_an_average_and_no_item(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    techniques = {"plain": 45, "few-shot": 58, "steps": 65}
    results = {
        name: {"technique": name, "accuracy": k / 100, "correct": k, "total": 100} for name, k in techniques.items()
    }
    path.write_text(json.dumps({"about": {"model": "gpt-4o"}, "results": results}))
    found = es.score(read(path, question="score"), metric="accuracy").to_frame()
    assert {*found["system"]} == {*techniques}
    assert [*found["n_items"]] == [100] * 3


def test_scores_of_what_may_be_a_part_of_a_benchmark_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"{side},part {k},{50 + 3.1 * k:.1f},{20 + 2.7 * k:.1f}" for side in SIDES for k in range(5)]
    path.write_text("\n".join(["Model,Task,F1 Score,Exact Match", *rows]))
    said = refused_of(path)
    assert "--map item=Task" in said
    published = "--input-format score-table --map model=Model --map task=Task"
    assert to_copy(said)[-1] == f"{published}  # if it holds published scores"


def test_what_is_right_is_neither_a_system_nor_are_answers_scores(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{side},{k}.5,{k + len(side)}.5" for k in range(20) for side in ("calm", "angry")]
    path.write_text("\n".join(["question_id,tone,true_value,parsed_value", *rows]))
    assert "true_value" not in refused_of(path).partition(". It has")[0]
    answers = ["C", "because of its inertia", "B", "A"]
    rows = [f"q{k},{side},{answers[k % 4]},{k % 3 % 2}" for k in range(20) for side in SIDES]
    path.write_text("\n".join(["question_id,config,correct,score_choice", *rows]))
    assert "--map score=score_choice --map model=config" in told(read(path, question="compare"))


def test_what_no_item_has_twice_is_a_fact_of_it_where_nothing_calls_it_a_model(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{k},{('planner', 'coder', 'tester')[k % 3]},0.{k * 7 % 10}" for k in range(40)]
    path.write_text("\n".join(["id,slowest_agent,hallucination_rate", *rows]))
    assert "--map item=id --map score=hallucination_rate, and the file's name as the model" in told(
        read(path, question="score")
    )


def test_a_row_of_scores_of_several_systems_is_an_item_of_all(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("old,new\n" + "".join(f"{k % 2},{k % 3 % 2}\n" for k in range(30)))
    assert es.compare(read(path, question="compare"), "old", "new").n_items == 30
    # Beside other columns it may be a part of a benchmark.
    parts = [f"{part},{split},0.{k + 51},0.{k + 62}" for k, (part, split) in enumerate(product("abc", ("dev", "test")))]
    said = refused(path, "benchmark,split,old,new", [row.split(",") for row in parts], "compare")
    assert offered(said)[-1] == "--map 'item=#row' --map models=old,new"


@pytest.mark.parametrize(
    ("columns", "row", "best", "is_sure"),
    [
        # What is counted beside a score need not be what the score is a share of.
        ("id,model,total_tokens,score", "q{0},{1},1000,0.{2}", "item=id score=score model=model", True),
        ("id,model,n,accuracy", "q{0},{1},1000,0.{2}", "item=id score=accuracy model=model", False),
        ("id,model,all_tests_passed,lint_pass", "q{0},{1},{3},{4}", "item=id score=all_tests_passed,lint_pass model=model", True),
        ("id,model,tests_total,tests_passed,resolved", "q{0},{1},6,{5},{3}", "item=id score=resolved model=model", True),
        ("doc,system,f1,recall", "d{0},{1},0.{2},0.{5}", "item=doc score=f1,recall model=system", True),
        ("name,model,score", "n{0},{1},0.{2}", "item=name score=score model=model", False),
        # A score that says what it measures is no label's certainty.
        ("id,model,target,answer,rating", "q{0},{1},{3},{4},{5}", "item=id score=rating model=model", True),
        ("id,model,target,answer,score", "q{0},{1},{3},{4},{5}", "item=id score=answer==target model=model", False),
    ],
)  # fmt: skip
def test_ordinary_tables_are_read_as_they_are_meant(columns: str, row: str, best: str, is_sure: bool) -> None:
    rows = [
        row.format(k, side, 10 + k * 7 % 80, k % 2, (k + len(side)) // 2 % 2, (3 * k + len(side)) % 5 + 1)
        for k in range(24)
        for side in SIDES
    ]
    names = columns.split(",")
    found = assigned(names, [dict(zip(names, each.split(","), strict=True)) for each in rows])
    assert (found[0].options, found[0].is_sure) == (tuple(best.split()), is_sure)


def test_what_is_right_is_not_lost_beside_how_sure_a_classifier_was(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        f"q{k},{side},{'ab'[k % 2]},{'ab'[k % 3 % 2]},{k % 2 == k % 3 % 2},0.{k + 50}"
        for k in range(40)
        for side in SIDES
    ]
    path.write_text("\n".join(["id,model,label,pred,correct,score", *rows]))
    assert {*read(path).outcomes["metric"]} == {"correct", "score"}


def test_what_two_systems_have_right_are_scores_of_each(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for columns, sides in (
        ("id,base_correct,tuned_correct", "base tuned"),
        ("id,o3_correct,gpt-4o_correct", "gpt-4o o3"),
    ):
        path.write_text("\n".join([columns, *(f"q{k},{k % 2},{k % 3 % 2}" for k in range(20))]))
        assert sorted({*read(path).outcomes["model"]}) == sides.split()


def test_what_may_be_a_score_is_asked_about_where_nothing_is_called_one(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [
        f"r{k},{version},{k % 3 % 2},{(k + len(version)) % 2},{k % 2}" for k in range(20) for version in ("v1", "v02")
    ]
    path.write_text("\n".join(["request_id,api_version,wrong_part,escalated,true_part", *rows]))
    said = refused_of(path)
    for name in ("wrong_part", "escalated"):
        assert f"--map item=request_id --map score={name} --map model=api_version" in said
    assert "score=true_part" not in said


def test_labels_beside_the_right_ones_are_an_answer_whatever_they_are_called(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    labels = ("red", "green", "blue")
    rows = [f"sentence {k},{labels[k % 3]},{labels[k * 7 % 5 % 3]},{labels[k % 2]} wing" for k in range(30)]
    path.write_text("\n".join(["sentence,label,classification,about_true_or_not_true", *rows]))
    said = refused_of(path)
    assert "--map item=sentence --map score=classification==label" in said
    assert "not_true" not in said.partition(". It has")[0]


def test_rows_that_ask_several_things_under_one_id_are_no_repeats(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"t{k // 2},Which of these {k} items is larger than the others?,{k % 2},{k % 3 % 2}" for k in range(40)]
    path.write_text("\n".join(["Task ID,Question,gpt-4o_correctness,claude-3_correctness", *rows]))
    said = refused_of(path)
    assert "--map item=Question --map 'models=*_correctness'" in said
    assert "#order" not in said
    # With one question to an id they are repeats, and asked about.
    same = [
        f"t{k // 2},Which of these {k // 2} items is larger than the others?,{k % 2},{k % 3 % 2}" for k in range(40)
    ]
    path.write_text("\n".join(["Task ID,Question,gpt-4o_correctness,claude-3_correctness", *same]))
    assert "trial=#order" in refused_of(path)


def test_a_word_in_a_column_of_ratings_leaves_out_no_system(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"s{k},{k % 5 + 1},{'no rating' if k == 7 else k % 4 + 1},{k % 3 + 1}" for k in range(40)]
    path.write_text("\n".join(["id,rating of llama,rating of groq,rating by mistral", *rows]))
    said = refused_of(path)
    assert "1 of 40 rows have no known score in 'rating of groq' (line 9: 'no rating')" in said
    assert "if they mean no score: --map 'unscored=no rating'" in said
    data = read(path, column_map=ColumnMap.from_options(["item=id", "models=rating *", "unscored=no rating"]))
    assert sorted(data.models()) == ["by mistral", "of groq", "of llama"]


def test_a_counter_is_offered_as_no_score(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["run,step,tool,duration_sec", *(f"{k // 4},{k % 4},edit,{k % 7}.5" for k in range(40))]))
    assert "score=run" not in refused_of(path)


def test_a_score_belongs_to_the_row_in_which_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    parts = [f"part {k}" for k in range(8)]
    models = [
        {
            "display": side,
            "overall": {"passed": 40 + 8 * n, "total": 80},
            "per_category": {part: {"passed": k + n, "total": 10} for k, part in enumerate(parts)},
        }
        for n, side in enumerate(SIDES)
    ]
    path.write_text(json.dumps({"models": models}))
    line = "--map 'rows=models.per_category.*' --map item=key --map score=passed/total --map model=models.display"
    assert line in refused_of(path)


def test_of_two_lists_that_may_be_meant_either_is_offered(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    queries = [
        {
            "query_id": f"q{k}",
            "metrics": {"k": 5, "recall_at_k": k % 3 / 2, "ndcg_at_k": k % 5 / 4},
            "chunks": [{"chunk_id": f"c{k}{j}", "score": 0.9 - j / 10} for j in range(5)],
        }
        for k in range(30)
    ]
    path.write_text(json.dumps({"config": "bm25", "queries": queries}))
    said = refused_of(path)
    assert "--map rows=queries --map item=query_id --map score=metrics.recall_at_k,metrics.ndcg_at_k" in said
    assert "--map rows=queries.chunks --map item=chunk_id --map score=score" in said


def test_a_list_of_models_holds_systems_and_no_items(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    models = [{"id": f"m-{k}", "type": "chat", "scores": {"sql": {"score": 60.5 + k}}} for k in range(5)]
    path.write_text(json.dumps({"models": models}))
    data = read(path)
    assert data.outcomes.is_empty()
    assert data.aggregates.sort("model").select("model", "estimate").row(0) == ("m-0", 60.5)


def test_sisters_of_scores_are_named_where_each_item_has_one_row(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "\n".join(
            [
                "record_id,label_accuracy,label_relevance,label_bias_discrimination,label_count",
                *(f"r{k},{k % 5 + 1},{k % 3 + 2},{k % 4 + 1},{k}" for k in range(30)),
            ]
        )
    )
    data = read(path)
    assert {*data.outcomes["metric"]} == {"label_accuracy", "label_relevance"}
    assert "label_bias_discrimination is kept as no metric" in told(data)
    path.write_text(
        "\n".join(
            [
                "id,answer_correctness,citation_accuracy,retrieval_sufficiency,hops",
                *(f"q{k},{k % 3 / 2},{(k + 1) % 3 / 2},{k % 2 / 2 + 0.5},{k % 4}" for k in range(30)),
            ]
        )
    )
    assert "retrieval_sufficiency is kept as no metric" in told(read(path))


def test_lists_side_by_side_in_an_object_are_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    ndcg = [k % 5 / 4 for k in range(40)]
    path.write_text(json.dumps({"avg_nDCG": 0.5, "query_times": [k / 7 for k in range(40)], "nDCG_at_10_scores": ndcg}))
    assert read(path).outcomes.select("metric", "score").rows()[1] == ("nDCG_at_10_scores", 0.25)
    labels = ["ab"[k % 3 % 2] for k in range(40)]
    answers = {"model": "m1", "accuracy": 0.5, "predictions": ["ab"[k % 2] for k in range(40)], "labels": labels}
    path.write_text(json.dumps(answers))
    line = "--map 'item=#row' --map score=predictions==labels --map model=model"
    assert line in refused_of(path)
    data = read(path, column_map=ColumnMap.from_options(["item=#row", "score=predictions==labels", "model=model"]))
    assert data.outcomes["score"].mean() == sum("ab"[k % 2] == labels[k] for k in range(40)) / 40
    # Short lists say what was run, and its numbers are published.
    path.write_text(json.dumps({"accuracy": 0.5, "f1": 0.4, "languages": ["en", "de"], "seeds": [1, 2]}))
    assert read(path).aggregates.height == 2


def test_a_column_that_says_where_answers_were_shown_turns_no_vote_without_a_word(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    rows = [f"{a},{b},{won},{k % 2}" for k, (a, b, won) in enumerate(VOTES)]
    path.write_text("\n".join(["left,right,preference,Swapped", *rows]))
    said = told(read(path, question="arena"))
    assert "Swapped turns no vote round: if the winner is the place at which an answer was shown, exchange it" in said


def test_what_several_files_share_is_said_once_and_lines_stand_below_their_own_file(tmp_path: Path) -> None:
    rows = [f"s{k},{k % 3},{'ab'[k % 2]},{'ab'[k % 3 % 2]}" for k in range(20)]
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv").write_text("\n".join(["sentence,hops,pred,gold", *rows]))
    said = refused_of(tmp_path)
    assert said.count("no known format") == 1
    assert "a.csv, " in said
    assert "b.csv and 1 more: no known format" in said
    (tmp_path / "z.csv").write_text("\n".join(["question,answer,comment", *(f"q{k},x {k},fine" for k in range(20))]))
    other, rest = refused_of(tmp_path).split("; ", 1)
    assert "z.csv: no known format" in other
    assert "\n" not in other
    assert "may fit:\n    --map item=sentence --map score=pred==gold\n" in rest


def test_a_blank_group_of_scores_leaves_out_none(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [
        json.dumps(
            {
                "case_id": f"c{k}",
                "judge_decision": ["fail", "pass"][k % 2],
                "judge_scores": {"relevance": k % 3 + 3, "correctness": k % 2 + 3},
                "human_scores": None,
            }
        )
        for k in range(30)
    ]
    path.write_text("\n".join(lines))
    assert "judge_decision" in set(read(path).outcomes["metric"])


@pytest.mark.parametrize(
    ("document", "n_items"),
    [
        # A summary of models beside the rows that it sums up, or of systems with items of their own, is no board.
        ({"models": [{"name": m, "score": 0.5} for m in SIDES], "results": ROWS}, 6),
        ({"experiments": [{"id": f"q{k}", "model": "gpt-4o", "score": k / 4} for k in range(4)]}, 4),
        ({"run": {"results": ROWS}, "tags": ["a", "b"], "datasets": ["x", "y"]}, 6),
        ({"models": [{"name": m, "score": 0.5 + k / 10, "stderr": 0.02} for k, m in enumerate(SIDES)]}, 0),
        # Points of a curve are no items.
        ({"accuracy": 0.8, "auc": 0.7, "precision": [0.4, 0.5, 0.6, 0.7, 0.9], "recall": [0.9, 0.8, 0.7, 0.6, 0.4]}, 0),
    ],
)  # fmt: skip
def test_summaries_and_settings_beside_rows_hide_none(
    document: dict[str, object], n_items: int, tmp_path: Path
) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    data = read(path)
    assert data.outcomes.height == n_items
    assert data.aggregates.is_empty() is bool(n_items)
    if "stderr" in path.read_text():
        assert data.aggregates["std_error"].to_list() == [0.02, 0.02]


@pytest.mark.parametrize(
    ("columns", "row", "metrics", "systems"),
    [
        ("id,gpt4_score,claude_score,max_score", "{0},{1},{2},5", "score", "claude_score gpt4_score"),
        ("id,old_score,new_score,max_score", "{0},{1},{2},10", "score", "new_score old_score"),
        ("id,answer_relevance,answer_correctness,answer_category", "{0},{1},{2},{3}", "answer_correctness answer_relevance", "t"),
        ("pID,model,correct", "{0},m,{4}", "correct", "m"),
        ("id,relevance_score,clarity_score", "{0},0.{1},0.{2}", "clarity_score relevance_score", "t"),
    ],
)  # fmt: skip
def test_limits_and_facts_beside_scores_are_neither_systems_nor_metrics(
    columns: str, row: str, metrics: str, systems: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    rows = [row.format(k, k % 5 + 1, (k + 2) % 5 + 1, k % 3 + 1, k % 2) for k in range(20)]
    path.write_text("\n".join([columns, *rows]))
    for question in ("", "overview"):
        outcomes = read(path, question=question).outcomes
        assert sorted({*outcomes["metric"]}) == metrics.split()
        assert sorted({*outcomes["system"]}) == systems.split()


@pytest.mark.parametrize(
    ("cells", "said"),
    [(("$802", "$4,672"), "a comma may part thousands"), (("$162", "€142"), "no known score")],
)
def test_amounts_that_may_be_read_two_ways_are_asked_about(tmp_path: Path, cells: tuple[str, str], said: str) -> None:
    rows = [{"id": f"q{i}", "model": m, "score": cells[(i + k) % 2]} for i in range(20) for k, m in enumerate("ab")]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=said):
        read(path, column_map=ColumnMap.from_options(["item=id", "score=score", "model=model"]))


@pytest.mark.parametrize("sides", ["mpt7b,orca13b", "base7b,sft7b", "8x7b,30b_a3b"])
def test_sizes_behind_letters_name_models(tmp_path: Path, sides: str) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(f"id,{sides},premium\n" + "".join(f"q{i},0.{i % 7},0.{i % 5},{'ny'[i % 2]}\n" for i in range(30)))
    assert read(path).outcomes["model"].unique().sort().to_list() == sorted(sides.split(","))


@pytest.mark.parametrize("column", ["eval_model", "eval"])
def test_the_model_of_an_eval_is_its_judge(column: str) -> None:
    levels = [("q" + str(i), m, j) for i in range(30) for m in ("a", "b") for j in ("gpt-4", "claude-3")]
    rows = [{"id": i, "model": m, column: j, "score": (k * 7) % 5 / 4} for k, (i, m, j) in enumerate(levels)]
    data, _ = found_columns(pl.DataFrame(rows), {}) or (None, "")
    assert data is not None
    assert data.outcomes["judge"].unique().sort().to_list() == ["claude-3", "gpt-4"]
    ratings = from_ratings(pl.DataFrame(rows).filter(model="a")).ratings
    assert ratings["rater"].unique().sort().to_list() == ["claude-3", "gpt-4"]
