"""Roles of columns: whatever headers people write, a table is read as it is meant or asked about, and never read otherwise."""

import csv
import json
import random
import re
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats.cli.advice import on_the_shell
from evalstats.errors import InputError
from evalstats.loaders.base import Head, Source, paths_apart, read_head
from evalstats.loaders.binder import assigned
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.files import HEAD_BYTES
from evalstats.loaders.look import _rows_within, looks_at, records_of_head
from evalstats.loaders.registry import read
from evalstats.loaders.sampled_column import AskedNames
from evalstats.loaders.values import word_score
from evalstats.schema.data import EvalData
from tests.cli.running import run
from tests.loaders.headers import CROSSED, HEADERS, KINDS, Header, rows_of
from tests.loaders.trees import offered

Rows = list[dict[str, Any]]
Roles = dict[str, str]
# What may stand beside any table, without a part in it.
BESIDE = tuple(
    """judge_model:judge grader:judge eval_model_name:judge response:answer completion:answer output_tokens:count n_tokens:few
    latency_ms:ms cost_usd:usd category:category difficulty:difficulty rank:few timestamp:time image_width:size
    expected:expected max_tokens:512 created:day feedback:answer session_id:user""".split()  # noqa: SIM905 - a column a line would be twenty lines
)


def written(path: Path, names: list[tuple[str, str]], rows: Rows) -> Path:
    """Write a table as its makers do: with semicolons where numbers have commas."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        comma = any(kind == "comma" for _, kind in names)
        table = csv.DictWriter(stream, [name for name, _ in names], delimiter=";" if comma else ",")
        table.writeheader()
        table.writerows(rows)
    return path


def words_of(asked: str) -> dict[str, Any]:
    """Return the names that a command uses, as `read` takes them."""
    words = shlex.split(asked)
    options = dict(pairwise(words))
    sides = [options[each] for each in ("--baseline", "--candidate") if each in options]
    return {"sides": sides, "metrics": [options["--metric"]] if "--metric" in options else []}


def roles_in(text: str) -> list[Roles]:
    """Return the roles that are right, each a name of a column."""
    pairs = ([pair.split("=", 1) for pair in each.split(" ")] for each in text.split(" or ")) if text else ()
    return [{name: column.replace("~", " ") for name, column in each} for each in pairs]


def number(cell: object) -> float:
    text = str(cell).removesuffix("%").replace(",", ".")
    known = word_score(text)
    assert known is not None
    return known


def keys_of(rows: Rows, roles: Roles) -> Counter[tuple[Any, ...]]:
    """Return item, model, metric and score of every outcome that a table stands for, if its columns have these roles."""
    found: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        model = row[roles["model"]] if "model" in roles else None
        item = row.get(roles["item"])
        item = "" if item is None else item  # rows that are items have any names
        across = next((name for name in ("models", "trials", "judges") if name in roles), "score")
        for column in roles.get(across, "").split(","):
            metric = row[roles["metric"]] if "metric" in roles else column if across == "score" else "score"
            who, what = (column if across == "models" else model), metric
            head, star, tail = column.partition("*")
            for name in row if star else ():
                side = name[len(head) : len(name) - len(tail)]
                if name == f"{head}{side}{tail}":
                    what = f"{head.rstrip('_')}{tail}" if head and tail else f"{head}{tail}".strip("_")
                    found[str(item), side, what, number(row[name])] += 1
            given, equal, expected = column.partition("==")
            if not star:
                score = number(row[given] == row[expected] if equal else row[column])
                found[str(item), None if who is None else str(who), what, score] += 1
    return found


def is_read_so(data: EvalData, rows: Rows, roles: Roles) -> bool:
    """Whether the outcomes are those that the roles make of the rows."""
    named = "model" in roles or "models" in roles
    found = Counter(
        ("" if roles["item"] == "#row" else item, model if named else None, metric, score)
        for item, model, metric, score in data.outcomes.select("item", "model", "metric", "score").iter_rows()
    )
    return found == keys_of(rows, roles)


def lines_of(said: str) -> list[list[str]]:
    """Return the maps that an error shows, each as its options; not how published scores are read."""
    shown = [line for line in offered(said) if line.startswith("--map ")]
    return [[part for part in shlex.split(line) if part != "--map"] for line in shown]


def check(path: Path, names: list[tuple[str, str]], rows: Rows, header: Header) -> str:
    """Read a table: what is read is right, and each line that is shown in its place works, one of them rightly."""
    written(path, names, rows)
    right = roles_in(header.roles)
    seen = header.columns, [name for name, _ in names]
    try:
        data = read(path, strict=True, **words_of(header.asked))
    except InputError as error:
        said = str(error)
    else:
        assert any(is_read_so(data, rows, roles) for roles in right), (*seen, [each.message for each in data.problems])
        return "open"
    lines = lines_of(said)
    found = [read(path, column_map=ColumnMap.from_options(options), strict=True) for options in lines]
    assert bool(lines) == bool(right), (*seen, said)
    assert not right or any(is_read_so(each, rows, roles) for each in found for roles in right), (*seen, said)
    return "asked"


# Headers that must open; the others are asked about.
ASKED = {
    "name:id metric:metric score:share success:bool threshold:zero reason:answer",
    "Frage:text Modell:model richtig:right",
    "问题:text 模型:model 是否正确:right",
    "pregunta:text modelo:side correcta:right",
    "identifiant:id modèle:model note:ten",
    "Frage-ID:id Modell:side Punktzahl:comma",
    "id:id seed_1_latency_ms:ms seed_2_latency_ms:ms",
    "id:id epoch_1:right epoch_2:right epoch_3:right",
    "id:id label:expected prediction:picked",
    "id:id model:model score:share predicted_label:picked actual_label:expected",
    "id:id model:model prompt_tokens:count completion_tokens:count latency_ms:ms",
    "text:text label:expected",
    "id:id dense:answer hybrid:answer dense_f1:share hybrid_f1:share dense_toxicity:points hybrid_toxicity:points",
    "image_id:id report_rag:answer report_plain:answer check_rag.is_correct:bool check_plain.is_correct:bool",
    "query:text r1_dense:share r1_bm25:share rL_dense:share rL_bm25:share ans_dense:answer ans_bm25:answer",
    "id:id ann_fluency:likert bob_fluency:likert ann_coherence:likert bob_coherence:likert",
    "topic_id:id model:model poem:answer label:verdict",
    "request_id:id task:text execute:true final_model_name:model latency_ms:ms",
    "test_id:id model:model prompt:text response:answer error:bool duration_ms:ms timestamp:time",
    "id:id question:text should_refuse:bool must_cite_context:bool",
    "id:id model:model judge:right",
    "image_index:index true_label:few model:model pred_sum:few revision:constant",
}


@pytest.mark.parametrize("header", HEADERS, ids=[header.columns for header in HEADERS])
def test_a_header_is_read_or_asked_about(header: Header, tmp_path: Path) -> None:
    names, rows = header.names(), rows_of(header.names(), 1)
    with on_the_shell():
        found = check(tmp_path / "table.csv", names, rows, header)
    assert found == ("asked" if header.columns in ASKED else "open")


@pytest.mark.parametrize(
    "header",
    [
        pytest.param(header, id=header.columns, marks=[pytest.mark.slow] if place % 6 != 4 else [])
        for place, header in enumerate(HEADERS)
    ],
)
def test_a_header_opens_by_the_command_line(header: Header, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)  # a long path is a long line
    path, names = Path("table.csv"), header.names()
    written(path, names, rows_of(names, 1))
    command, *options = shlex.split(header.asked)
    if header.columns in ASKED:
        with pytest.raises(InputError, match="no known format"):
            run(command, path, *options)
        return
    done = run(command, path, *options)
    assert done.exit_code == 0, done.output
    # An option that is to be pasted is never broken.
    assert all(len(line) <= 80 or "score=" in line for line in done.output.splitlines())


def shuffled(seed: int) -> tuple[list[tuple[str, str]], Rows, Header]:
    """One table as somebody may have it: its columns in any order, others beside them, any number of rows."""
    draw = random.Random(seed)  # noqa: S311 - a table, no secret
    header = draw.choice(HEADERS)
    names = header.names()
    have = {re.sub(r"\W", "", name).lower() for name, _ in names}
    beside = [
        (name, kind) for name, _, kind in (each.rpartition(":") for each in draw.sample(BESIDE, draw.randrange(5)))
    ]
    names += [
        (name, kind)
        for name, kind in beside
        if name.replace("_", "") not in {each.replace("_", "") for each in have}
        if not (kind == "expected" and kind in header.columns)  # of two right answers neither is the right one
    ]
    draw.shuffle(names)
    rows = rows_of(names, seed, draw.randrange(6, 40))
    if draw.random() < 0.3:
        draw.shuffle(rows)
    return names, rows, header


def test_what_tables_hold_is_found_or_asked_about(tmp_path: Path) -> None:
    with on_the_shell():
        found = [check(tmp_path / "t.csv", *shuffled(seed)) for seed in range(50)]
    assert found.count("open") > 33


@pytest.mark.slow
def test_what_5000_tables_hold_is_found_or_asked_about(tmp_path: Path) -> None:
    with on_the_shell():
        found = [check(tmp_path / "t.csv", *shuffled(seed)) for seed in range(5_000)]
    assert found.count("open") > 3_500


def test_the_vocabularies_are_many_and_differ() -> None:
    assert len({header.columns for header in HEADERS}) > 80
    assert {kind for header in HEADERS for _, kind in header.names()} <= {*KINDS, *CROSSED}


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("id,helpfulness,honesty\n1,3,5\n2,4,4\n", ["item=id", "score=helpfulness,honesty"]),
        ("metric,name,value\nacc,q1,1\nf1,q1,.5\nacc,q2,1\nf1,q2,.5\n", ["item=name", "score=value"]),
        ("test,status,duration\nt1,passed,.3\nt2,failed,.4\n", ["item=test", "score=status"]),
        ("item,rater,score\na,x,1\na,y,2\nb,x,3\nb,y,4\n", ["item=item", "score=score", "judge=rater"]),
        ("id,label,prediction,probability\n1,A,A,.9\n2,B,A,.8\n", ["item=id", "score=prediction==label"]),
        ("id,Rating (1-5)\n1,3\n2,5\n", ["item=id", "score=Rating (1-5)", "scale=1..5"]),
        (
            "id,Fluency (1-5),Clarity (1-5)\n1,3,4\n2,5,1\n",
            ["item=id", "score=Fluency (1-5),Clarity (1-5)", "scale=1..5"],
        ),
        ("id,Fluency (1-5),Safety (0-1)\n1,3,1\n2,5,0\n", ["item=id", "score=Fluency (1-5),Safety (0-1)"]),
        ("id,score\n1,85%\n2,5 %\n", ["item=id", "score=score"]),
        ("id,illegal_llm,score\n1,0,.5\n2,1,.25\n3,0,.75\n4,1,.5\n", ["item=id", "score=score"]),
        # One level called as a side makes arms of the others; y is a yes beside n, and elsewhere a name.
        (
            "anon_id,arm,country,signed_up\na1,control,IN,n\na2,short,US,y\na3,friendly,DE,y\na4,control,IN,n\n",
            ["item=anon_id", "score=signed_up", "model=arm"],
        ),
        # Two models with two metrics each are not four models.
        (
            "id,gpt-4o_f1,claude_f1,gpt-4o_em,claude_em\n1,.5,.25,1,0\n2,.25,.75,0,1\n3,.5,.5,1,1\n",
            ["item=id", "models=*_f1,*_em"],
        ),
        ("id,score_a,score_b\n1,.5,.25\n2,.25,.75\n3,.5,.5\n", ["item=id", "models=score_*"]),
        # Whether something could be parsed, or was cached, is no score; nor is what was aimed at, or a difference.
        ("id,quality,parse_ok,cache_hit\n1,3,True,False\n2,5,False,True\n", ["item=id", "score=quality"]),
        ("id,include_sources,grade\n1,True,.5\n2,False,.25\n3,True,.75\n", ["item=id", "score=grade"]),
        ("id,target_score,score\n1,.5,.25\n2,.5,.75\n3,.75,.5\n", ["item=id", "score=score"]),
        (
            "id,recall_at_k_dense,recall_at_k_bm25,delta\n1,.5,.25,.25\n2,.25,.75,-.5\n3,.5,.5,0\n",
            ["item=id", "models=recall_at_k_*"],
        ),
        # What is called a score is one though nothing happened.
        ("prompt_id,model,unsafe\n1,m,0\n2,m,0\n3,m,0\n", ["item=prompt_id", "score=unsafe", "model=model"]),
        # Means over raters or trials are scores of what they average.
        ("id,accuracy_mean,clarity_avg\n1,3.5,2\n2,4,5\n", ["item=id", "score=accuracy_mean,clarity_avg"]),
        # A model for each judge is the judge's, and what no two judges share is no item.
        (
            "call_id,answer_id,grader,model_used,score\nc1,x,a,m1,1\nc2,x,b,m2,2\nc3,y,a,m1,3\nc4,y,b,m2,4\n",
            ["item=answer_id", "score=score", "judge=grader"],
        ),
        # Models whose names end alike are not crossed with anything; a score tells no rows apart.
        (
            "id,claude-opus-4-5,claude-sonnet-4-5,x/claude-opus-4.5,x/claude-sonnet-4.5\n1,0,1,1,1\n2,1,0,0,1\n",
            ["item=id", "models=claude-opus-4-5,claude-sonnet-4-5,x/claude-opus-4.5,x/claude-sonnet-4.5"],
        ),
    ],
)
def test_what_fits_small_tables(text: str, options: list[str]) -> None:
    header, *rows = (line.split(",") for line in text.splitlines())
    found = assigned(header, [dict(zip(header, row, strict=True)) for row in rows])[0]
    assert list(found.options) == options


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({"gen_a": "mn", "gen_b": "nm", "better": ["gen_a", "gen_b"]}, "model_a=gen_a model_b=gen_b winner=better"),
        ({"winning": "mn"}, ""),
        ({"bot_winner": "mn", "bot_loser": "nm"}, "winner=bot_winner loser=bot_loser"),
        ({"chosen_bot": "mno" * 3, "rejected_bot": "nom" * 3}, "winner=chosen_bot loser=rejected_bot"),
        # Preferred answers are no systems.
        ({"chosen": ["so " * 30, "no " * 30], "rejected": ["no " * 30, "so " * 30]}, ""),
        # A vote may be a number.
        (
            {"vote": ["1", "2"], "left": "mn", "right": "nm", "best": ["left", "both"], "better": ["left", "right"]},
            "model_a=left model_b=right winner=better",
        ),
        # Names that stand once each.
        ({"option_a": "abcdefghi", "option_c": "jklmnopqr", "key": "abcdefghi"}, ""),
        # Two options and the letter of the right one, and a model beside what it was asked, twice.
        ({"A": ["x1", "x2", "x3"], "B": ["y1", "y2", "y3"], "GT": "ABA"}, ""),
        ({"model": "mno" * 4, "topic": "xyz" * 4, "output.model": "mno" * 4}, ""),
        ({"model": "aab" * 4, "topic": "xyz" * 4, "grade": "aba" * 4}, ""),
    ],
)
def test_votes_are_told_by_names_of_sides_or_by_who_won(columns: dict[str, Sequence[str]], options: str) -> None:
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    found = assigned([*columns], rows, AskedNames(question="arena"))[0].options
    # Whoever asks about scores is offered votes only where columns are called as those of votes are.
    offered = any(option.startswith("winner") for option in assigned([*columns], rows)[0].options)
    assert offered == any("_bot" in name or name.startswith("bot_") for name in columns)
    assert " ".join(found) == options if options else found[:2] == ("model_a=COLUMN", "model_b=COLUMN")


@pytest.mark.parametrize("names", [("model", "question_id"), ("qq", "mm")])
def test_the_names_asked_for_go_before_those_of_columns(names: tuple[str, str]) -> None:
    rows = [{names[0]: f"q{k}", names[1]: side, "score": k % 2} for k in range(30) for side in ("ctrl", "treat")]
    best = assigned([*rows[0]], rows, AskedNames(sides=frozenset({"ctrl", "treat"})))[0]
    assert best.is_sure
    assert best.options == (f"item={names[0]}", "score=score", f"model={names[1]}")


def test_a_prompt_read_as_model_or_as_system_is_one_reading() -> None:
    rows = [
        {"question": k, "prompt": side, "sample": n, "correct": (k + n) % 2}
        for k in range(20)
        for side in ("cot", "terse")
        for n in range(3)
    ]
    best, *others = assigned([*rows[0]], rows, AskedNames(question="compare"))
    assert best.is_sure
    assert "model=prompt" in best.options
    assert not any("system=prompt" in fit.options for fit in others)


def test_no_map_is_offered_without_a_column_called_system() -> None:
    # Without it two files of judges were compared as if they were the systems.
    rows = [{"answer_id": f"a{k}", "system": ("alpha", "beta")[k % 2], "rating": 1 + k % 7} for k in range(40)]
    offers = [fit.options for fit in assigned([*rows[0]], rows, AskedNames(question="compare")) if not fit.lacks]
    assert offers == [("item=answer_id", "score=rating", "model=system")]


def test_numbers_of_no_item_are_no_models() -> None:
    rows = [{"host": "h", "threads": 8 + k, "poll": 50, "avg_ts": 3.5 * k} for k in range(4)]
    assert not any("models=" in option for fit in assigned(list(rows[0]), rows) for option in fit.options)


def test_two_columns_of_one_side_are_no_two_models() -> None:
    rows = [{"text": f"t{k}", "control": k % 4, "a_control": k % 5, "fluency": k % 3} for k in range(12)]
    assert not any("models=" in option for fit in assigned(list(rows[0]), rows) for option in fit.options)


def test_answers_without_scores_are_not_asked_for_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("prompt_id,response\np1,Paris\np2,Rome\n")
    with pytest.raises(
        InputError, match=r"response, but none looks like a score \(a number, .*\): name it, or score the answers"
    ):
        read(path)
    path.write_text("prompt_id,response,answer.raw\np1,Paris,.5\np2,Rome,.25\n")
    with pytest.raises(InputError, match=r", but none looks like a score .*:\n    --map .*score=COLUMN$"):
        read(path)
    path.write_text("prompt_id,response,label\np1,Paris,true\np2,Rome,false\n")
    with pytest.raises(InputError, match=r", but none looks like a score .*:\n    --map .*score=COLUMN$"):
        read(path)
    path.write_text("problem_id,answer,is_correct\np1,4,\np2,5,\n")
    with pytest.raises(InputError, match="is_correct, but is_correct has no value in any row"):
        read(path)


@pytest.mark.parametrize("answers", [(0, 1), ("no", "yes")])
def test_forecasts_and_what_came_of_them_are_no_scores(tmp_path: Path, answers: tuple[object, object]) -> None:
    lines = ["question,model,forecast,outcome"]
    brier: list[str] = []
    for i in range(30):
        came = i * 7 % 3 % 2
        for k, model in enumerate("ab"):
            given = (i * 37 + k * 11) % 97 / 100
            lines.append(f"q{i},{model},{given},{answers[came]}")
            brier.append(f"{(given - came) ** 2:.4f}")
    path = tmp_path / "f.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    words = r"Column 'forecast' holds forecasts of 'outcome', .*: --map item=question --map score=brier:lower --map model=model$"
    with pytest.raises(InputError, match=words):
        read(path)
    scored = zip(lines, ["brier", *brier], strict=True)
    path.write_text("\n".join(",".join(line) for line in scored), encoding="utf-8")
    options = ["item=question", "model=model"]
    data = read(path, column_map=ColumnMap.from_options([*options, "score=brier:lower"]))
    assert data.metrics["higher_is_better"].to_list() == [False]
    # Said by the user, an outcome is a score all the same.
    assert read(path, column_map=ColumnMap.from_options([*options, "score=outcome"])).outcomes.height == 60


def test_numbers_in_the_first_line_are_no_names(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("0.75\n0.5\n0.25\n")
    with pytest.raises(InputError, match="text without columns; a table of your own needs a header"):
        read(path)
    path.write_text("0,1\nq1,0.5\nq2,0.25\n")  # as pandas writes columns without names
    with pytest.raises(InputError, match="--map item=0 --map score=1"):
        read(path)


def test_a_long_list_is_told_by_more_than_its_first_record(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    rows = [{"qid": f"q{k // 2}", "llm": "ab"[k % 2], "text": "x" * 900, "ok": k % 3 > 0} for k in range(200)]
    path.write_text(json.dumps(rows))
    assert len(records_of_head(read_head(path))) > 50
    assert read(path, strict=True).models() == ("a", "b")
    path.write_text(json.dumps([{"qid": "q", "text": "x" * 70_000}]))
    assert [[*row] for row in records_of_head(read_head(path))] == [["qid"]]


def test_the_sides_that_are_compared_tell_which_columns_they_are(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("question_id,red,blue,length\n1,1,0,7\n2,0,1,8\n")
    with pytest.raises(InputError, match="no known format"):
        read(path)
    assert read(path, sides=("red", "blue"), strict=True).models() == ("blue", "red")
    path.write_text("question_id,old,new,length\n1,1,0,7\n2,0,1,8\n")  # names of sides say it themselves
    assert read(path, strict=True).models() == ("new", "old")
    path.write_text("scenario_id,k,wording,passed\n1,0,old,1\n1,0,new,0\n2,0,old,1\n2,0,new,0\n")
    assert read(path, sides=("old", "new"), strict=True).models() == ("new", "old")


@pytest.mark.parametrize("sides", [("0", "1"), ("0.0", "1.0")])
def test_sides_that_are_numbers_are_those_of_the_data_however_they_are_written(
    tmp_path: Path, sides: tuple[str, str]
) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"{t},{q},{k},{(q + k) % 2}\n" for t in ("0.0", "0.7", "1.0") for q in range(20) for k in (1, 2))
    path.write_text(f"temperature,question,attempt,correct\n{rows}")
    found = es.compare(read(path, sides=sides, strict=True), *sides)
    assert found.n_items == 20


def test_a_column_that_the_question_names_tells_rows_apart() -> None:
    rows = [
        {"item": f"q{i}", "model": model, "scaffold": scaffold, "score": i % 2}
        for i, model, scaffold in product(range(9), "ab", ("agentless", "codex"))
    ]
    left, asked = (
        assigned(list(rows[0]), rows, AskedNames(factors=frozenset(names)))[0] for names in ((), ("scaffold",))
    )
    assert left.options == asked.options == ("item=item", "score=score", "model=model", "variant=scaffold")
    assert (left.is_sure, asked.is_sure) == (False, True)


def test_rows_sorted_by_item_show_few_of_many_models_items() -> None:
    rows = [
        {"question_id": f"q{i}", "model": f"m{k}", "maker": "xyz"[k % 3], "correct": (i * k) % 2}
        for i, k in product(range(20), range(24))
    ]
    found = assigned(list(rows[0]), rows)[0]
    assert (found.options[:2], found.is_sure) == (("item=question_id", "score=correct"), True)


@pytest.mark.parametrize("factors", [(), ("judge",), ("judge", "essay")])
def test_a_factor_that_tells_rows_apart_with_the_others_is_the_item(factors: tuple[str, ...]) -> None:
    rows = [
        {"essay": f"e{i}", "system": system, "judge": judge, "rating": 1 + (i + len(judge)) % 5}
        for i, system, judge in product(range(9), ("old", "new"), ("first-judge", "panel"))
    ]
    found = assigned(list(rows[0]), rows, AskedNames(factors=frozenset(factors)))[0]
    assert (found.options, found.is_sure) == (("item=essay", "score=rating", "model=system"), True)


def test_outcomes_of_users_are_scores_by_their_names_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for name, is_score in (("clicked", True), ("purchased", True), ("bounced", False), ("is_holdout", False)):
        path.write_text(f"user_id,arm,{name}\nu1,control,0\nu2,treatment,1\nu3,control,1\nu4,treatment,1\n")
        if is_score:
            assert read(path, strict=True).outcomes["score"].to_list() == [0, 1, 1, 1]
            continue
        with pytest.raises(InputError, match="no known format"):
            read(path)


def test_arms_and_a_measure_before_are_no_two_models(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("user_id,group,before,after\nu1,control,3,4\nu2,treatment,2,5\nu3,control,4,4\nu4,treatment,1,6\n")
    with pytest.raises(InputError, match="no known format"):
        read(path)


def test_a_wide_table_is_looked_at_by_its_names() -> None:
    rows = [{**{f"x{k}": "0.5" for k in range(3_000)}, "qid": q, "llm": m, "ok": "1"} for q in "abc" for m in "mn"]
    began = time.process_time()
    found = assigned(list(rows[0]), rows)[0]
    assert found.options == ("item=qid", "score=ok", "model=llm")
    assert found.is_sure
    assert time.process_time() - began < 5


def test_what_scores_is_not_what_is_scored() -> None:
    rows = [
        {"id": f"q{i}", "response_model_name": m, "eval_model_name": "judge-7b", "score": i}
        for i in range(3)
        for m in ("a", "b")
    ]
    assert assigned(list(rows[0]), rows)[0].options[2:] == ("model=response_model_name", "judge=eval_model_name")


def test_the_id_of_an_eval_judges_nothing_and_that_of_a_run_is_no_item() -> None:
    rows = [
        {"sample_id": f"{m}{i}{k}", "eval_id": f"e{m}", "id": i, "epoch": k, "score_match": "CI"[i % 2], "model": m}
        for m in ("gpt-4o", "gpt-4.1")
        for i in range(110)
        for k in (1, 2, 3)
    ]
    found = assigned(list(rows[0]), rows, AskedNames(question="compare"))[0]
    assert found.options == ("item=id", "score=score_match", "model=model", "trial=epoch")


def test_rows_of_several_kinds_are_asked_about() -> None:
    """A column that most rows lack is no score of them."""
    rows = [{"kind": "setup", "target_name": "gpt-4o"}, *[{"kind": "try", "id": k} for k in range(5)], {"passed": 3}]
    assert assigned(["kind", "target_name", "id", "passed"], rows)[0].options[1] == "score=COLUMN"


# Names of files


def test_files_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    for folder in ("alpha", "beta", "gamma"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "grading.csv").write_text(f"question_id,correct\n{folder},1\nq2,{int(folder == 'beta')}\n")
    data = read(tmp_path)
    assert data.models() == ("alpha", "beta", "gamma")
    assert set(data.outcomes["system"]) == {"alpha", "beta", "gamma"}
    # Runs are repetitions of the model that each names.
    for folder in ("run-1", "run-2"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gpt-4o.csv").write_text(f"question_id,correct\nq1,1\nq2,{int(folder == 'run-1')}\n")
    runs = read(tmp_path / "run-1", tmp_path / "run-2")
    assert runs.models() == ("gpt-4o",)
    assert set(runs.outcomes["trial"]) == {0, 1}
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


def _by_model(folder: Path, kind: str) -> Path:
    """Write a table that is sorted by model, and so long that the first bytes show one model and three grades."""
    rows = [
        {
            "model_id": model,
            "id": f"q{q}",
            "confidence": "lmh"[(q + p) % 3],
            "score": (q * p) % 3 % 2,
            "note": "x" * 900,
        }
        for p, model in enumerate(("claude", "gpt-4o"), 1)
        for q in range(150)
    ]
    path, frame = folder / f"t.{kind}", pl.DataFrame(rows)
    if kind == "csv":
        frame.write_csv(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    else:
        path.write_text(json.dumps(rows, indent=1))
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "parquet"])
def test_rows_from_the_whole_file_are_looked_at(tmp_path: Path, kind: str) -> None:
    path = _by_model(tmp_path, kind)
    data = read(path, question="leaderboard")
    assert data.outcomes.height == 300
    assert {*data.outcomes["model"]} == {"claude", "gpt-4o"}
    assert {*data.outcomes["item"]} == {f"q{q}" for q in range(150)}


@pytest.mark.parametrize("n", [400, 900])
def test_rows_of_a_short_file_of_parquet_are_looked_at_once(tmp_path: Path, n: int) -> None:
    rows = [{"qid": f"q{k // 2}", "arm": ("old", "new")[k % 2], "ok": k % 3 % 2} for k in range(n)]
    path = tmp_path / "t.parquet"
    pl.DataFrame(rows).write_parquet(path)
    look = looks_at(read_head(path))[0]
    assert len({(row["qid"], row["arm"]) for row in look.records}) == len(look.records) == 300
    assert {*read(path).outcomes["model"]} == {"old", "new"}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "json", "bom"])
def test_rows_from_all_over_the_head_and_behind_a_byte_order_mark_are_looked_at(tmp_path: Path, kind: str) -> None:
    note = "x" * 200 * (kind == "bom")
    rows = [{"id": f"q{k}", "arm": arm, "ok": k % 3 % 2, "note": note} for arm in ("old", "new") for k in range(400)]
    path = tmp_path / f"t.{'csv' if kind == 'bom' else kind}"
    if kind in {"csv", "bom"}:
        pl.DataFrame(rows).write_csv(path, include_bom=kind == "bom")
    else:
        path.write_text("\n".join(map(json.dumps, rows)) if kind == "jsonl" else json.dumps(rows))
    assert (path.stat().st_size > HEAD_BYTES) == (kind == "bom")
    look = looks_at(read_head(path))[0]
    assert {row["arm"] for row in look.records} == {"old", "new"}
    assert len({(row["id"], row["arm"]) for row in look.records}) == len(look.records)


def test_what_a_file_of_one_model_is_sorted_by_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "gpt-4o.csv"
    rows = "".join(f"d{k},{'abc'[k // 300]}-shape,{k % 3 % 2}\n" for k in range(900))
    path.write_text(f"diagram_id,outline,passed\n{rows}")
    assert {*read(path).outcomes["model"]} == {"gpt-4o"}
    # Where the same items come again, it may be.
    path.write_text(f"diagram_id,outline,passed\n{re.sub('d([0-9]+)', lambda m: f'd{int(m[1]) % 300}', rows)}")
    with pytest.raises(InputError, match="model=outline"):
        read(path)


def test_rows_of_a_piece_begin_after_a_cell_that_it_cuts() -> None:
    text = b'id,a\n1,"x\n2,3\n'
    head = Head(path=Path("t.csv"), size=len(text), data=text)
    plain = [{"id": str(k), "a": str(k + 1)} for k in range(5, 9)]
    rows = "".join(f"{row['id']},{row['a']}\n" for row in plain)
    assert [*_rows_within(head, f"x\n{rows}9,")] == plain
    # The first two lines belong to a cell, and the row that ends with it is lost.
    assert [*_rows_within(head, f'x\n2,3\n3,4\ny",4\n{rows}9,')] == plain
    assert [*_rows_within(head, 'x\n2,3\n3,4\n4,5\ny",4\n9,')] == []
    # However many lines of a cell look like rows.
    code = "".join(f"{k},{k}\n" for k in range(40))
    assert [*_rows_within(head, f'x\n{code}y",4\n{rows}6,"x\n{code}9,')] == plain
    assert [*_rows_within(head, f'x\n{code * 2}y",4\n{rows}9,')] == []


@pytest.mark.parametrize(
    "others",
    [
        "modality_correct",  # what is called a score is lost nowhere, whatever else it says
        "ok",  # nor where one system never fails
        "answer_rouge_l token_f1",
        "balanced_accuracy score_explanation",
    ],
)
def test_whatever_is_called_a_score_is_one(others: str) -> None:
    cells = {name: [0.3, 0.9, 0.2, 0.4] for name in others.split()} | {"ok": [True] * 4}
    columns = {"item": [*"aabb"], "model": [*"mnmn"], "correct": [True, False, False, True]}
    columns |= {name: cells[name] for name in others.split()}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    best = assigned([*columns], rows)[0]
    assert best.options[1].removeprefix("score=").split(",") == ["correct", *others.split()]
    assert best.is_sure


def test_what_is_rated_and_called_as_two_scores_are_is_one_of_them() -> None:
    rows = [
        {
            "id": k // 2,
            "model": "mn"[k % 2],
            "AI_Accuracy": 3 + k % 3,
            "AI_Naturalness": 2 + k % 4,
            "AI_Grounding": 1 + k % 4 / 2,
        }
        for k in range(20)
    ]
    assert "score=AI_Accuracy,AI_Naturalness,AI_Grounding" in assigned([*rows[0]], rows)[0].options


def test_a_date_tells_rows_apart_only_where_no_column_is_called_for_it() -> None:
    rows = [
        {"created": f"2025-03-{1 + (7 * k) % 9:02d}", "id": f"q{k // 4}", "model": "gpt-4o" if k % 4 < 2 else "claude",
         "prompt_template": ("old", "new")[k % 2], "correct": (k * 5) % 3 % 2}
        for k in range(32)
    ]  # fmt: skip
    sides = AskedNames(sides=frozenset({"gpt-4o", "claude"}), question="compare")
    assert assigned([*rows[0]], rows, sides)[0].options == (
        "item=id",
        "score=correct",
        "model=model",
        "variant=prompt_template",
    )


def test_sides_that_are_asked_for_are_crossed_with_metrics() -> None:
    names = [f"{side}_{metric}" for side in ("bm25", "dense", "hybrid") for metric in ("p@5", "r@5")]
    rows = [{"id": f"q{k}", **{name: (k * p) % 5 / 4 for p, name in enumerate(names, 1)}} for k in range(10)]
    sides = AskedNames(sides=frozenset({"bm25", "dense"}), question="compare")
    best = assigned([*rows[0]], rows, sides)[0]
    assert best.options == ("item=id", "models=*_p@5,*_r@5")
    assert best.is_sure


def test_the_scores_of_a_side_are_no_part_of_its_name(tmp_path: Path) -> None:
    scores = [
        {
            "id": f"q{k}",
            "base": "an answer",
            "tuned": "another",
            **{f"{side}_scores": {"accuracy": k % 5, "fluency": 1 + k % 3} for side in ("base", "tuned")},
        }
        for k in range(10)
    ]
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"n": 10, "rows": scores}))
    data = read(path, sides=["base", "tuned"], question="compare")
    assert {*data.outcomes["model"]} == {"base", "tuned"}
    assert data.outcomes.height == 40


@pytest.mark.parametrize("told", ["repeats=first", "trial=#order"])
def test_what_is_said_of_repeats_leaves_the_model_as_it_was(told: str) -> None:
    rows = [
        {"query_id": f"q{q}", "config_name": side, "accuracy": (q * p) % 4 / 4}
        for q in range(9)
        for p, side in enumerate(("naive", "hybrid", "rerank"), 1)
    ]
    asked = AskedNames(question="leaderboard")
    alone = assigned([*rows[0]], rows, asked)[0]
    assert alone.is_sure
    again = assigned([*rows[0]], [*rows, *rows[:2]], asked, ColumnMap.from_options([told]))[0]
    assert (again.options, again.is_sure) == (alone.options, True)


def test_what_stands_beside_a_reason_was_judged() -> None:
    rows = [
        {
            "diagram_id": f"d{k // 2}",
            "model": "mn"[k % 2],
            "is_closed_value": ("Yes", "No", "N/A")[k % 3],
            "is_closed_rationale": f"because of {k}",
            "readable_size_value": ("No", "Yes")[k % 5 > 1],
            "readable_size_rationale": f"as {k}",
            "thinking": k % 2 == 0,
            "size_value": k,
        }
        for k in range(20)
    ]
    best = assigned([*rows[0]], rows)[0]
    assert best.options == ("item=diagram_id", "score=is_closed_value,readable_size_value", "model=model")
    assert best.is_sure


def test_thinking_bars_no_score_that_is_called_one_nor_a_side_that_is_asked_for() -> None:
    rows = [
        {"id": k // 2, "model": "mn"[k % 2], "critical_thinking_score": k % 5, "clarity_score": k % 3}
        for k in range(40)
    ]
    options = assigned([*rows[0]], rows)[0].options
    assert "score=critical_thinking_score,clarity_score" in options
    rows = [{"id": k, "thinking": k % 2, "baseline": k % 3 % 2} for k in range(40)]
    best = assigned([*rows[0]], rows, AskedNames(sides=frozenset({"thinking", "baseline"})))[0]
    assert (best.options, best.is_sure) == (("item=id", "models=thinking,baseline"), True)
