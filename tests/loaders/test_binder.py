"""Roles of columns: whatever headers people write, a table is read as it is meant or asked about, and never read otherwise."""

import random
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders.base import Source, paths_apart
from evalstats.loaders.binder import assigned
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.registry import read

# What people call the columns, in their own spellings, and what stands beside them.
ITEMS = (
    "question_id item_id Sample ID id exampleId instance_id task_id doc_id case_id qid uid prompt_id scenario_id seg_id idx "
    "question prompt test_case Problem example sample"
).replace("Sample ID", "Sample_ID").split()  # fmt: skip
SCORES = [
    "correct",
    "is_correct",
    "isCorrect",
    "passed",
    "success",
    "resolved",
    "score",
    "acc",
    "accuracy",
    "em",
    "exact_match",
    "judge_score",
    "f1",
    "reward",
    "rating",
]
MODELS = [
    "model",
    "model_name",
    "modelName",
    "llm",
    "LLM",
    "model_id",
    "system",
    "agent",
    "engine",
    "submission",
    "provider",
    "model_version",
]
TRIALS = ["trial", "epoch", "seed", "attempt", "run", "sample_idx", "repeat"]
BESIDE: dict[str, Any] = {
    "judge_model": lambda _r, _q: "gpt-4o-judge",
    "grader": lambda r, _q: r.choice(["gpt-4.1", "claude-3"]),
    "annotator_id": lambda r, _q: r.randrange(3),
    "eval_model_name": lambda _r, _q: "claude-3-opus",
    "response": lambda r, _q: f"answer {r.random()} " * 3,
    "completion": lambda r, _q: f"    return {r.randrange(9)}",
    "output_tokens": lambda r, _q: r.randrange(1, 900),
    "n_tokens": lambda r, _q: r.randrange(2),
    "latency_ms": lambda r, _q: r.random() * 1000,
    "cost_usd": lambda r, _q: r.random() / 100,
    "category": lambda _r, q: "abc"[q % 3],
    "difficulty": lambda _r, q: ["easy", "hard"][q % 2],
    "rank": lambda r, _q: r.randrange(1, 3),
    "timestamp": lambda _r, q: f"2025-01-01T00:00:{q:02d}",
    "image_width": lambda r, _q: r.choice([512, 1024]),
    "expected": lambda _r, q: "ABCD"[q % 4],
    "max_tokens": lambda _r, _q: 512,
    "session_id": lambda r, _q: f"s{r.randrange(10**6)}",
}
NAMES = ("gpt-4o", "claude-3-5-sonnet", "ours-v2")


def table(seed: int) -> tuple[pl.DataFrame, dict[str, str]]:
    """One table as somebody may have it, and what its columns are."""
    draw = random.Random(seed)  # noqa: S311 - a table, no secret
    item, score, model = draw.choice(ITEMS), draw.choice(SCORES), draw.choice(MODELS)
    trial = draw.choice(TRIALS) if draw.random() < 0.3 else None
    beside = draw.sample(list(BESIDE), draw.randrange(6))
    graded = draw.random() < 0.3
    rows: list[dict[str, Any]] = []
    for q in range(draw.randrange(6, 20)):
        for name in NAMES[: draw.choice([2, 3])] if draw.random() < 0.1 else NAMES[:2]:
            for k in range(3 if trial else 1):
                asked = f"What is {q} + {q}?" if item.lower() in {"question", "prompt", "problem"} else f"q{q}"
                row = {item: asked, model: name, score: round(draw.random(), 2) if graded else draw.randrange(2)}
                row |= {trial: k} if trial else {}
                rows.append(row | {each: BESIDE[each](draw, q) for each in beside})
    columns = list(rows[0])
    draw.shuffle(columns)
    roles = {"item": item, "score": score, "model": model, **({"trial": trial} if trial else {})}
    return pl.DataFrame(rows).select(columns), roles


def check(path: Path, seed: int) -> str:
    frame, roles = table(seed)
    frame.write_csv(path)
    try:
        data = read(path, strict=True)
        how = "open"
    except InputError as error:
        said = str(error)
        line = "--map " + said.rpartition("These may fit: --map ")[2] if "These may fit" in said else ""
        options = [part for part in shlex.split(line) if part != "--map"]
        if not options:
            return "asked"
        found = dict(option.split("=", 1) for option in options)
        assert {name: found.get(name) for name in ("item", "score", "model")} == {
            name: roles[name] for name in ("item", "score", "model")
        }, (seed, frame.columns, said)
        data = read(path, column_map=ColumnMap.from_options(options), strict=True)
        how = "one line"
    outcomes = data.outcomes
    assert outcomes.height == frame.height, (seed, frame.columns)
    assert set(data.models()) == set(frame[roles["model"]]), (seed, frame.columns)
    assert outcomes["item"].n_unique() == frame[roles["item"]].n_unique(), (seed, frame.columns)
    assert sorted(outcomes["score"]) == pytest.approx(sorted(frame[roles["score"]])), (seed, frame.columns)
    return how


def test_what_tables_hold_is_found_or_asked_about(tmp_path: Path) -> None:
    found = [check(tmp_path / "t.csv", seed) for seed in range(150)]
    assert found.count("open") > 75
    assert found.count("asked") < 15


@pytest.mark.slow
def test_what_5000_tables_hold_is_found_or_asked_about(tmp_path: Path) -> None:
    found = [check(tmp_path / "t.csv", seed) for seed in range(5_000)]
    assert found.count("asked") < 500


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("question_id,prompt,correct\n1,a b c,1\n2,d e f,0\n", ["item=question_id", "score=correct"]),
        ("prompt,response,score\nab,x,1\ncd,y,0\n", ["item=prompt", "score=score"]),
        ("id,category,difficulty,is_correct\n1,a,x,1\n2,b,y,0\n", ["item=id", "score=is_correct"]),
        ("idx,accuracy,seconds\n1,.5,3\n2,.7,4\n", ["item=idx", "score=accuracy"]),
        ("sample_id,reward,num_steps\n1,.5,3\n2,.7,4\n", ["item=sample_id", "score=reward"]),
        (
            "example,model_version,is_correct,latency_ms\ne1,v1,1,3\ne1,v2,0,4\ne2,v1,1,3\ne2,v2,0,4\n",
            ["item=example", "score=is_correct", "model=model_version"],
        ),
        ("correct\n1\n0\n1\n", ["item=#row", "score=correct"]),
        ("idx,accuracy,f1\n1,1,.5\n2,0,.7\n", ["item=idx", "score=accuracy,f1"]),
        ("id,helpfulness,honesty\n1,3,5\n2,4,4\n", ["item=id", "score=helpfulness,honesty"]),
        ("metric,name,value\nacc,q1,1\nf1,q1,.5\nacc,q2,1\nf1,q2,.5\n", ["item=name", "score=value"]),
        ("test,status,duration\nt1,passed,.3\nt2,failed,.4\n", ["item=test", "score=status"]),
        ("item,rater,score\na,x,1\na,y,2\nb,x,3\nb,y,4\n", ["item=item", "score=score", "judge=rater"]),
        ("id,label,prediction,probability\n1,A,A,.9\n2,B,A,.8\n", ["item=id", "score=COLUMN"]),
    ],
)
def test_headers_that_people_use(text: str, options: list[str]) -> None:
    header, *rows = (line.split(",") for line in text.splitlines())
    found = assigned(header, [dict(zip(header, row, strict=True)) for row in rows])
    assert list(found.options) == options


def test_the_sides_that_are_compared_tell_which_columns_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question_id,old,new,length\n1,1,0,7\n2,0,1,8\n")
    with pytest.raises(InputError, match="no known format"):
        read(path)
    assert read(path, sides=("old", "new"), strict=True).models() == ("new", "old")
    path.write_text("scenario_id,k,wording,passed\n1,0,old,1\n1,0,new,0\n2,0,old,1\n2,0,new,0\n")
    assert read(path, sides=("old", "new"), strict=True).models() == ("new", "old")


def test_what_scores_is_not_what_is_scored() -> None:
    rows = [
        {"id": f"q{i}", "response_model_name": m, "eval_model_name": "judge-7b", "score": i}
        for i in range(3)
        for m in ("a", "b")
    ]
    assert assigned(list(rows[0]), rows).options[2:] == ("model=response_model_name", "judge=eval_model_name")


def test_rows_of_several_kinds_are_asked_about() -> None:
    """A column that most rows lack is no score of them."""
    rows = [{"kind": "setup", "target_name": "gpt-4o"}, *[{"kind": "try", "id": k} for k in range(5)], {"passed": 3}]
    assert assigned(["kind", "target_name", "id", "passed"], rows).options[1] == "score=COLUMN"


# Names of files


def test_files_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    for folder in ("alpha", "beta", "gamma"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "grading.csv").write_text(f"question_id,correct\n{folder},1\nq2,{int(folder == 'beta')}\n")
    data = read(tmp_path)
    assert data.models() == ("alpha", "beta", "gamma")
    assert set(data.outcomes["system"]) == {"alpha", "beta", "gamma"}
    # A model's name stays in the name.
    for folder in ("run-1", "run-2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gpt-4o.csv").write_text(f"question_id,correct\nq1,1\nq2,{int(folder == 'run-1')}\n")
    assert read(tmp_path / "run-1", tmp_path / "run-2").models() == ("run-1/gpt-4o", "run-2/gpt-4o")
    assert read(tmp_path / "run-1").models() == ("gpt-4o",)


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (("a/x.csv", "b/x.csv"), ["a", "b"]),
        (("r/a/1/x.csv", "r/b/1/x.csv"), ["a", "b"]),
        (("x.csv", "sub/x.csv", "sub/sub/x.csv"), ["x", "sub", "sub/sub"]),
        (("a/x.csv", "a/x.jsonl"), ["x.csv", "x.jsonl"]),
        (("a/x.csv", "a/x.jsonl", "b/x.csv"), ["a/x.csv", "a/x.jsonl", "b/x.csv"]),
    ],
)
def test_names_are_as_short_as_tells_them_apart(paths: tuple[str, ...], names: list[str]) -> None:
    assert paths_apart([Path(path) for path in paths]) == names


def test_a_source_alone_is_called_after_its_file() -> None:
    assert Source(path=Path("a/x.csv")).called == "x"
    assert Source(path=Path("a/x.csv"), apart="a").called == "a"


# Blanks


@pytest.mark.parametrize(
    "text",
    ["id, model, correct\nq1, gpt-x, 1\nq2 ,gpt-x , 0\n", 'id, model, correct\nq1, "gpt-x", 1\nq2, "gpt-x", 0\n'],
)
def test_blanks_around_cells_are_no_part_of_them(tmp_path: Path, text: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    data = read(path, strict=True)
    assert data.outcomes.select("item", "model", "score").rows() == [("q1", "gpt-x", 1.0), ("q2", "gpt-x", 0.0)]


def test_blanks_may_part_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    path.write_text("system  correct  seg_id\none 1 0\none 0   1\ntwo 1 0\ntwo 1 1\n")
    assert read(path, strict=True).outcomes.height == 4
    path.write_text("This is a text of some words\nand here it goes on\n")
    with pytest.raises(InputError, match="text without columns"):
        read(path)


# Votes by two scores


def test_the_higher_score_of_a_row_may_win(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question_id,model_a,model_b,score_a,score_b\n1,x,y,9,7\n2,x,y,5,5\n3,x,y,1,10\n4,x,y,,3\n")
    with pytest.raises(InputError, match=r"--map 'winner=score_a>score_b'"):
        read(path)
    map_ = ColumnMap.from_options(["model_a=model_a", "model_b=model_b", "winner=score_a>score_b"])
    assert read(path, column_map=map_, strict=True).comparisons["outcome"].to_list() == ["a", "tie", "b", None]
    with pytest.raises(InputError, match="there is no column 'score_c' for winner"):
        read(path, column_map=ColumnMap.from_options(["model_a=model_a", "model_b=model_b", "winner=score_a>score_c"]))


def test_one_row_of_shares_is_published(tmp_path: Path) -> None:
    path = tmp_path / "m_8b.csv"
    path.write_text('"split","Overall","math","code"\n"none","0.41","0.44","0.27"\n')
    found = read(path, strict=True).aggregates
    assert found.select("model", "metric", "estimate").rows() == [
        ("m_8b", "Overall", 0.41), ("m_8b", "math", 0.44), ("m_8b", "code", 0.27)
    ]  # fmt: skip
