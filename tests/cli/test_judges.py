"""`evalstats judges` on tables of ratings."""

import json

import polars as pl
from typer.testing import CliRunner

from evalstats.cli.main import app


def wide(n: int = 80) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "id": range(n),
            "ann": [i % 2 for i in range(n)],
            "ben": [(i + (i % 11 == 0)) % 2 for i in range(n)],
            "gpt": [(i + (i % 7 == 0)) % 2 for i in range(n)],
        }
    )


def run(*arguments: object):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_a_wide_table_of_ratings(tmp_path):
    wide().write_csv(tmp_path / "ratings.csv")
    given = ["judges", tmp_path / "ratings.csv", "--map", "item=id", "--humans", "ann", "--humans", "ben"]
    for rater in ("ann", "ben", "gpt"):
        given += ["--raters", rater]
    done = run(*given)
    assert done.exit_code == 0, done.output
    assert "people among themselves" in done.output
    assert len(done.output.splitlines()) <= 20
    assert len(run(*given, "-q").output.splitlines()) <= 2
    values = json.loads(run(*given, "--format", "json").output)
    assert values["result"] == "JudgeReport"


def test_a_long_table_says_who_is_human(tmp_path):
    long = wide().unpivot(["ann", "gpt"], index="id", variable_name="who", value_name="score")
    long.write_csv(tmp_path / "long.csv")
    named = ["--map", "item=id", "--map", "rater=who", "--map", "value=score"]
    done = run("judges", tmp_path / "long.csv", *named, "--humans", "ann")
    assert done.exit_code == 0, done.output
    alone = run("judges", tmp_path / "long.csv", *named)
    assert alone.stdout.startswith("MEASURED: Two ratings by ann and gpt are the same on ")
    assert run("judges", tmp_path, *named, "--humans", "ann").stdout == done.stdout


def test_files_of_votes_need_no_map(shared_data):
    crowd, judge = (shared_data / "llmfao" / f"{name}-comparisons.csv" for name in ("crowd", "gpt4-crowd"))
    done = run("judges", crowd, judge)
    assert done.exit_code == 0, done.output
    assert "gpt-4 agrees with people less than people agree among themselves" in done.output.replace("\n", " ")
    assert len(done.stdout.splitlines()) <= 15
    alone = run("judges", judge)
    assert alone.exit_code == 0, alone.output
    assert "NOT MEASURED" in alone.output
    assert "order" in run("judges", judge, "--full").output


def test_of_judges_alone_the_agreement_of_all_is_the_answer(shared_data, tmp_path):
    scores = run("judges", shared_data / "wildbench" / "scores_long.parquet")
    assert scores.exit_code == 0, scores.output
    assert "all among themselves" in scores.output
    (tmp_path / "r.csv").write_text("answer_id,gpt4_judge,claude_judge\n" + "a,1,1\nb,0,0\nc,1,0\nd,1,1\ne,0,1\n")
    found = run("judges", tmp_path / "r.csv")
    assert found.exit_code == 0, found.output
    assert "the same on 60.0% of answers" in " ".join(found.output.split())
    assert "--humans NAME" in run("judges", tmp_path / "r.csv", "--full").output


def test_raters_without_an_item_column_are_told_to_name_it(tmp_path):
    wide(20).rename({"id": "thing"}).write_csv(tmp_path / "r.csv")
    refused = run("judges", tmp_path / "r.csv", "--humans", "ann", "--raters", "ann", "--raters", "gpt")
    assert str(refused.exception) == "no column is called item. This may fit:\n    --map item=thing"


def test_labels_to_buy_are_asked_for(tmp_path):
    wide(200).with_columns(pl.when(pl.col("id") < 60).then("ann").alias("ann")).write_csv(tmp_path / "r.csv")
    given = ["judges", tmp_path / "r.csv", "--map", "item=id", "--humans", "ann", "--raters", "ann", "--raters", "gpt"]
    done = run(*given, "--half-width", "8pp")
    assert done.exit_code == 0, done.output
    assert "to ±8.0 pp" in done.output.replace("\n", " ")
    assert "labels alone would need" in done.output.replace("\n", " ")
    refused = run(*given, "--half-width", "a lot")
    assert refused.exit_code != 0
    assert "half" in str(refused.exception)
