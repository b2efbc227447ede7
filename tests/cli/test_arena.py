"""`evalstats arena` as a user types it: what is printed where, and the exit status."""

import json
import textwrap
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from evalstats.cli.load import load, with_votes_of
from evalstats.errors import InputError
from evalstats.schema.data import EvalData
from evalstats.simulate.arena import write_arena
from evalstats.simulate.arena_world import ArenaDesign
from tests.analysis.arena.test_labels import world
from tests.cli.once import answered_once
from tests.cli.running import run as typed_command

NAMES = ("a", "b", "c", "d", "comma,name")
STRENGTHS = (0.9, 0.5, 0.0, -0.2, -1.2)


run = partial(typed_command, "arena")


@pytest.fixture(scope="module", autouse=True)
def _answered_once() -> Iterator[None]:
    from evalstats.analysis.arena import arena as module

    yield from answered_once(module, "arena")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five models far apart, 2,400 votes."""
    path = tmp_path_factory.mktemp("arena")
    write_arena(path, 2400, design=ArenaDesign(models=NAMES, strengths=STRENGTHS), seed=3)
    return path


@pytest.fixture(scope="module")
def votes(folder: Path) -> EvalData:
    return load([folder], quiet=True)


# --- the whole command ---


def test_json_is_the_result_and_rank_sets_hold_the_truth(folder: Path) -> None:
    values = json.loads(run(folder, "--no-checks", "--format", "json", "--top", 1, "--top", 2, "--seed", 5).stdout)
    ranks = {row["name"]: (row["rank_low"], row["rank_high"]) for row in values["rows"]}
    assert set(ranks) == set(NAMES)
    assert [k for k, _ in values["rows"][0]["top"]] == [1, 2]
    assert values["origin"]["seed"] == 5
    assert len(values["pairs"]) == 10
    assert values["n_votes"] == 2400
    for place, name in enumerate(NAMES, start=1):
        assert ranks[name][0] <= place <= ranks[name][1]


def test_options_reach_the_result(folder: Path) -> None:
    arguments = ("--no-checks", "-f", "json", "-q")
    values = json.loads(
        run(
            folder,
            *arguments,
            *("--ties", "davidson", "--cluster", "rater", "--covariate", "assistant_tokens", "--side"),
            *("--both-bad", "drop", "--anchor", "b", "--scale", "log-odds", "--conf-level", "0.9"),
        ).stdout
    )
    assert values["method"] == "Bradley-Terry with Davidson ties"
    assert [each["name"] for each in values["clusters"]] == ["rater"]
    assert {"side", "assistant_tokens"} <= {each["name"] for each in values["covariates"]}
    assert values["n_both_bad"] == 0
    assert (values["anchor"], values["scale"], values["conf_level"]) == ("b", "log-odds", 0.9)
    assert {row["name"]: row["estimate"] for row in values["rows"]}["b"] == pytest.approx(0.0, abs=1e-9)


def test_no_clusters_and_models(folder: Path) -> None:
    arguments = (folder, "--no-checks", "-f", "json", "--models", "a,b", "--models", "comma,name", "--cluster", "none")
    values = json.loads(run(*arguments).stdout)
    assert values["clusters"] == []
    assert {row["name"] for row in values["rows"]} == {"a", "b", "comma,name"}
    assert "dependence" in {note["kind"] for note in values["notes"]}


def test_islands_are_refused_a_rank_over_all_and_a_prior_joins_them(tmp_path: Path) -> None:
    write_arena(tmp_path, 1500, design=ArenaDesign(models=6, n_islands=2), seed=1)
    result = run(tmp_path, "--no-checks")
    assert "NO SINGLE RANKING: The votes leave 6 models in 2 parts" in " ".join(result.stdout.split())
    joined = json.loads(run(tmp_path, "--no-checks", "--prior", "0.5", "-f", "json").stdout)
    assert {row["component"] for row in joined["rows"]} == {1}
    assert any("prior" in note["text"] for note in joined["notes"] if note["kind"] == "comparability")


def test_too_few_raters_leave_no_rank_and_the_status_says_so(tmp_path: Path) -> None:
    path = tmp_path / "votes.jsonl"
    lines = [
        {"model_a": "x", "model_b": "y", "winner": "model_a" if i % 3 else "model_b", "judge": f"user_{i % 3}"}
        for i in range(90)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    result = run(path, "--no-checks", "--cluster", "rater")
    assert result.exit_code == 3
    assert "NO RANKS" in result.stdout


def test_bad_usage(folder: Path) -> None:
    with pytest.raises(InputError, match="nobody"):
        run(folder, "--no-checks", "--models", "a,nobody")
    with pytest.raises(InputError, match="no column"):
        run(folder, "--no-checks", "--cluster", "continent")
    with pytest.raises(InputError, match="nothing to read"):
        run()
    assert run(folder, "--ties", "often").exit_code == 2
    with pytest.raises(InputError, match="prior is -1"):
        run(folder, "--no-checks", "--prior", "-1")


def test_scores_are_no_votes(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("item,model,score\n" + "\n".join(f"q{i},m,1" for i in range(20)) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no votes between two models; for outcomes"):
        run(path, "-q")


# --- its parts ---


def test_where_means_either_side_and_every_condition(votes: EvalData) -> None:
    frame = votes.comparisons
    either = with_votes_of(votes, ["model=a", "model=b"]).comparisons
    wanted = pl.col("model_a").is_in(["a", "b"]) | pl.col("model_b").is_in(["a", "b"])
    assert either.equals(frame.filter(wanted))
    both = with_votes_of(votes, ["model=a", "app=t-box"]).comparisons
    assert set(both["app"].unique()) == {"t-box"}
    assert ((both["model_a"] == "a") | (both["model_b"] == "a")).all()
    assert with_votes_of(votes, None) is votes


def test_where_looks_inside_lists_of_tags(votes: EvalData) -> None:
    tags = pl.Series("tags", [["maths", "hard"], ["code"], None, []] * 600, dtype=pl.List(pl.String))
    tagged = EvalData(comparisons=votes.comparisons.with_columns(tags))
    assert with_votes_of(tagged, ["tags=maths", "tags=code"]).comparisons.height == 1200
    assert with_votes_of(tagged, ["tags=hard"]).comparisons.height == 600
    with pytest.raises(InputError, match="no vote has tags 'poetry'; there is 'code', 'hard', 'maths'"):
        with_votes_of(tagged, ["tags=poetry"])


def test_where_that_means_nothing_is_an_error(votes: EvalData) -> None:
    with pytest.raises(InputError, match="not COLUMN=LEVEL"):
        with_votes_of(votes, ["app"])
    with pytest.raises(InputError, match="votes have no column 'continent'"):
        with_votes_of(votes, ["continent=Asia"])
    with pytest.raises(InputError, match=r"no vote has app 'chess'; there is .*'t-box'"):
        with_votes_of(votes, ["app=chess"])


def test_a_judge_is_corrected_by_a_file_of_people_s_votes_and_the_python_of_it_runs(tmp_path, monkeypatch) -> None:
    judged, people, drawn = world(2)
    judged.rename({"battle": "battle_id", "item": "question_id", "outcome": "winner"}).write_csv(tmp_path / "judge.csv")
    names = {"battle": "battle_id", "item": "question_id", "outcome": "winner"}
    people[drawn].rename(names).write_csv(tmp_path / "people.csv")
    monkeypatch.chdir(tmp_path)
    done = run("judge.csv", "--labels", "people.csv", "--no-checks", "--full")
    text = " ".join(done.stdout.split())
    assert "1,600 votes of a judge, corrected by people's votes on 300 of them" in text
    assert "The judge rates delta" in text
    assert "how many more votes would separate the two" not in text
    code = done.stdout.split("Repeat this")[1].split("import evalstats as es")[1].split("\n\nNotes")[0]
    scope: dict[str, Any] = {}
    exec("import evalstats as es\n" + textwrap.dedent(code), scope)  # noqa: S102 - the printed lines are ours
    values = json.loads(run("judge.csv", "--labels", "people.csv", "--no-checks", "--format", "json").stdout)
    assert [row.estimate for row in scope["result"].rows] == [row["estimate"] for row in values["rows"]]
    with pytest.raises(InputError, match="all votes of the labels are a judge's; people's votes are needed"):
        run("judge.csv", "--labels", "judge.csv", "--no-checks")
