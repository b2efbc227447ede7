"""`evalstats leaderboard` as a user types it: what is printed where, and the exit status."""

import json
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evalstats.errors import CannotAnswerError, InputError
from tests.cli.once import answered_once
from tests.cli.running import run as typed_command

run = partial(typed_command, "leaderboard")


@pytest.fixture(scope="module", autouse=True)
def _answered_once() -> Iterator[None]:
    from evalstats.analysis.leaderboard import leaderboard as module

    yield from answered_once(module, "leaderboard")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models on 120 items in 5 topics; the scores of one of them are partly missing."""
    rng = np.random.default_rng(2)
    rows = [
        {
            "item": f"q{i}",
            "model": model,
            "score": int(rng.random() < share),
            "topic": f"t{i // 24}",
            "half": f"h{i % 2}",
        }
        for model, share in (("big", 0.9), ("middle", 0.7), ("comma,name", 0.65), ("small", 0.3))
        for i in range(120)
        if not (model == "small" and i % 10 == 0)
    ]
    path = tmp_path_factory.mktemp("tables") / "scores.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def test_twenty_models_are_shown_and_the_rest_on_demand(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    name = "a-rather-long-name-of-a-provider/model-{:02d}-with-its-version-and-a-date"
    rows = [
        {"item": f"q{i}", "model": name.format(j), "score": int(rng.random() < 0.3 + j / 50)}
        for j in range(25)
        for i in range(60)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "many.csv")
    lines = run(tmp_path / "many.csv").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert "5 more with --full" in lines
    shown = [line.split()[0] for line in lines if "model-" in line and "–" in line]
    assert len(shown) == len(set(shown)) == 20
    assert len([line for line in lines if line]) <= 2 + 21 + 8


def test_json_is_the_result(table: Path) -> None:
    result = run(table, "--format", "json", "--top", "1,2", "--seed", "3")
    values = json.loads(result.stdout)
    assert values["rows"][0]["name"] == "big"
    assert values["rows"][0]["top"] == [[1, True], [2, True]]
    assert values["origin"]["seed"] == 3
    assert len(values["pairs"]) == 6
    assert values["graph"]["n_common"] == 108


def test_models_baseline_and_adjustment(table: Path) -> None:
    asked = shlex.split("--models big,middle --models comma,name --baseline middle --adjust holm -f json")
    result = run(table, *asked)
    values = json.loads(result.stdout)
    assert {row["name"] for row in values["rows"]} == {"big", "middle", "comma,name"}
    assert {pair["second"] for pair in values["pairs"]} == {"middle"}
    assert values["adjust"] == "holm"
    for pair in values["pairs"]:
        assert pair["p_adjusted"] == pair["p_holm"]


def test_too_few_clusters_leave_no_rank_and_the_status_says_so(table: Path) -> None:
    result = run(table, "--cluster", "topic")
    assert result.exit_code == 3
    assert "NO RANKS" in result.stdout
    assert "at least 6 are needed" in " ".join(result.stdout.split())


def test_bad_usage(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="whole numbers from 1"):
        run(table, "--top", "1,two")
    assert run(table, "--adjust", "bonferroni").exit_code == 2
    one = tmp_path / "one.csv"
    one.write_text("item,model,score\n" + "\n".join(f"q{i},m,1" for i in range(20)) + "\n", encoding="utf-8")
    with pytest.raises(CannotAnswerError, match="needs two systems"):
        run(one)


def test_published_numbers_are_filtered_and_refused_without_standard_errors(shared_data: Path) -> None:
    folder = shared_data / "tau_bench" / "tau2_submissions"
    with pytest.raises(CannotAnswerError, match="none of them with a standard error"):
        run(folder, "--metric", "pass^1", "--where", "task=retail", "-q")
    with pytest.raises(InputError, match="not COLUMN=LEVEL"):
        run(folder, "--where", "retail", "-q")


@pytest.mark.parametrize(
    ("more", "last"),
    [
        pytest.param((), 29, id="twelve thousand items", marks=pytest.mark.slow),
        pytest.param(("--where", "category=law"), 17, id="law"),
    ],
)
def test_twenty_nine_models(shared_data: Path, more: tuple[str, ...], last: int) -> None:
    """MMLU-Pro: rank sets that fit what is known of these models; of fewer items the last ones are not told apart."""
    arguments = [
        shared_data / "mmlu_pro" / "predictions_long.parquet",
        *shlex.split("--map item=question_id --map score=correct --map model=model --map benchmark=@MMLU-Pro"),
        *("--cluster", "none"),  # the sources that questions were taken from are all there are
    ]
    result = run(*arguments, *more, "--format", "json", "--quiet")
    values = json.loads(result.stdout)
    rows = {row["name"]: row for row in values["rows"]}
    assert len(rows) == 29
    assert (rows["gemini-1.5-pro-002"]["rank_low"], rows["gemini-1.5-pro-002"]["rank_high"]) == (1, 1)
    assert (rows["Llama-2-7b-hf"]["rank_low"], rows["Llama-2-7b-hf"]["rank_high"]) == (last, 29)
    assert len(values["pairs"]) == 406
    for row in rows.values():
        assert row["rank_low"] <= row["rank_low_marginal"] <= row["rank_high_marginal"] <= row["rank_high"]
