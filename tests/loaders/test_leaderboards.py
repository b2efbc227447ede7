"""Published leaderboards: every number, its interval where one is given, and nothing that is not."""

import csv
import json
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, with_digest
from evalstats.loaders.formats.leaderboards import FORMAT
from evalstats.loaders.published_numbers import PublishedRows, certainty_in
from evalstats.loaders.registry import read, read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import everything_said as told

ARENA = "rank,rank_stylectrl,model,arena_score,95_pct_ci,votes,organization,license,knowledge_cutoff,url\n"
HARD = "model,score,rating_q025,rating_q975,CI,avg_tokens,date\n"
ALPACA = (
    ",win_rate,standard_error,n_wins,n_wins_base,n_draws,n_total,discrete_win_rate,mode,avg_length,"
    "length_controlled_winrate,lc_standard_error\n"
)
INTERVAL = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "n", "unit", "setting")


@pytest.fixture
def dump(tmp_path: Path) -> Any:
    def write(content: str | dict[str, Any], name: str) -> EvalData:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return read_source(FORMAT, with_digest(Source(path=path)))

    return write


def test_chatbot_arena_upper_distance_first(dump: Any) -> None:
    text = ARENA + '1,2,m,1470,"+5/-3",26019,Org,MIT,,http://x\n3,3,n,1400,+4/-4,,Org,,2024,http://x\n'
    data = dump(text, "lmarena_text.csv")
    assert data.aggregates.select(INTERVAL).rows() == [
        (1470.0, None, 1467.0, 1475.0, 0.95, 26019, "rating", "live"),
        (1400.0, None, 1396.0, 1404.0, 0.95, None, "rating", "live"),
    ]
    assert data.aggregates.select("benchmark", "task", "metric", "rank", "value_raw").row(0) == (
        "LMArena",
        "text",
        "rating",
        1,
        "1470",
    )
    assert "upper distance first" in data.aggregates["method"][0]


@pytest.mark.parametrize("cell", ["+5/+3", "+5/-", "5-3", "x", "5/3"])
def test_an_interval_that_cannot_be_read_is_not_made_up(dump: Any, cell: str) -> None:
    data = dump(f"{ARENA}1,1,m,1470,{cell},10,,,,\n", "x.csv")
    assert data.aggregates.select("estimate", "conf_low", "conf_level").row(0) == (1470.0, None, None)
    assert "95_pct_ci of 1 models could not be read" in told(data)


def test_arena_hard(dump: Any) -> None:
    text = HARD + (
        'm,79.3,77.4,81.3,"(-1.88, +1.97)",700,2024-08-29\n'
        'base,50.0,50.0,50.0,"(0.0, 0.0)",423,2024-04-20\n'
        'n,33.0,,,"(-1.5, 2.0)",600,2024-04-20\n'
        'o,33.0,30.0,36.0,"(-1.0, 1.0)",600,2024-04-20\n'
    )
    data = dump(text, "arena_hard_leaderboard.csv")
    assert data.aggregates.select(INTERVAL).rows() == [
        (79.3, None, 77.4, 81.3, 0.95, None, "percent", "lab"),
        (50.0, None, None, None, None, None, "percent", "lab"),
        (33.0, None, 31.5, 35.0, 0.95, None, "percent", "lab"),
        (33.0, None, 30.0, 36.0, 0.95, None, "percent", "lab"),
    ]
    assert data.aggregates["date"][0] == date(2024, 8, 29)
    assert "1 intervals or standard errors have no width" in told(data)


def test_alpaca_eval(dump: Any) -> None:
    text = ALPACA + "m,76.9,0.91,676,129,0,805,83.9,community,872,86.5,0.14\nbase,50,0,0,0,805,805,50,minimal,1,50,\n"
    data = dump(text, "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")
    assert data.aggregates.select("model", "metric", "estimate", "std_error", "n").rows() == [
        ("m", "win_rate", 76.9, 0.91, 805),
        ("m", "length_controlled_winrate", 86.5, 0.14, 805),
        ("m", "discrete_win_rate", 83.9, None, 805),
        ("base", "win_rate", 50.0, None, 805),
        ("base", "length_controlled_winrate", 50.0, None, 805),
        ("base", "discrete_win_rate", 50.0, None, 805),
    ]
    assert set(data.aggregates["task"]) == {"weighted_alpaca_eval_gpt4_turbo"}
    assert data.aggregates["conf_low"].null_count() == 6


CATALOG = {"full": {"m": {"rating": 1400.5, "rating_q975": 1410.0, "rating_q025": 1390.0}}, "math": {}}


@pytest.mark.parametrize(("content", "task"), [(CATALOG, "full"), (CATALOG["full"], "")])
def test_arena_catalog(dump: Any, content: dict[str, Any], task: str) -> None:
    data = dump(content, "leaderboard-text.json")
    assert data.aggregates.select(INTERVAL).row(0) == (1400.5, None, 1390.0, 1410.0, 0.95, None, "rating", "live")
    assert data.aggregates["task"].item() == task


@pytest.mark.parametrize(
    ("record", "n_rows", "said"),
    [
        ({"rating": None, "rating_q975": 1, "rating_q025": 0}, 1, ""),
        ({"rating": "high", "rating_q975": 1, "rating_q025": 0}, 1, "rating of 1 models could not be read"),
        ({"rating": 5, "rating_q975": 1, "rating_q025": 0}, 2, "1 numbers lie outside their own interval"),
        ({"rating": True, "rating_q975": 1, "rating_q025": 0}, 1, "rating of 1 models could not be read"),
        ({"rating": 5}, 2, ""),
        ([], 1, ""),
    ],
)
def test_strange_records(dump: Any, record: object, n_rows: int, said: str) -> None:
    good = {"rating": 1.0, "rating_q975": 2.0, "rating_q025": 0.0}
    data = dump({"full": {"good": good, "strange": record}}, "x.json")
    assert data.aggregates.height == n_rows
    assert said in told(data)
    assert data.aggregates.filter(model="strange")["conf_low"].null_count() == n_rows - 1


@pytest.mark.parametrize(("rate", "said"), [("0.76", "may be proportions"), ("760", "check their unit"), ("76", "")])
def test_percentages_that_are_none_are_told(dump: Any, rate: str, said: str) -> None:
    data = dump(f"{ALPACA}m,{rate},0.1,1,1,0,2,{rate},community,9,{rate},0.1\n", "x_leaderboard.csv")
    assert said in told(data)
    assert bool(said) == bool(data.problems)


def test_a_number_of_votes_that_cannot_be_read_is_told(dump: Any) -> None:
    data = dump(f'{ARENA}1,1,m,1470,+5/-5,"26,019",,,,\n', "x.csv")
    assert data.aggregates["n"].item() is None
    assert "number of votes or items behind rating of 1 models could not be read" in told(data)


def test_a_model_that_stands_twice_is_told(dump: Any) -> None:
    data = dump(f"{ARENA}1,1,m,1470,+5/-5,1,,,,\n2,2,m,1471,+5/-5,1,,,,\n3,3, ,1471,+5/-5,1,,,,\n", "x.csv")
    assert data.aggregates.height == 2
    assert "1 number stands more than once under one name (m)" in told(data)
    assert "1 numbers have no model" in told(data)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (ARENA, "x.csv"),
        (ARENA + "1,1,m,-,,1,,,,\n", "x.csv"),
        (ARENA + "1,1,m\n", "x.csv"),
        ('{"full": {"m": {"rating_q975": 1, "rating_q025": 2}}}', "x.json"),
        ('{"full": {"m": {"rating": 1, "rating_q975": 1, "rating_q025": 2', "x.json"),
        ("model,score\nm,1\n", "x.csv"),
    ],
)
def test_dumps_without_numbers_are_refused(dump: Any, content: str, name: str) -> None:
    with pytest.raises(UnreadableFileError):
        dump(content, name)


@given(st.floats(0, 9), st.floats(0, 9), st.integers(-2000, 2000))
def test_distances_become_ends(up: float, down: float, centre: int) -> None:
    high, low = f"{up:.3f}", f"{down:.3f}"
    expected = pytest.approx((centre - float(low), centre + float(high)))
    assert certainty_in(f"+{high}/-{low}", centre) == (None, expected)
    assert certainty_in(f"(-{low}, +{high})", centre) == (None, expected)
    assert certainty_in(f"±{low}", centre) == (float(low), None)


@given(st.none() | st.text() | st.floats() | st.integers() | st.lists(st.integers()), st.floats() | st.none())
def test_whatever_a_number_is_nothing_is_made_up(value: object, error: object) -> None:
    numbers = PublishedRows()
    numbers.add(value, {"model": "m", "benchmark": "b", "metric": "x"}, ends=(0.0, 0.0), error=error)
    for row in numbers.rows:
        assert row["conf_low"] is None
        assert row["std_error"] is None or float(str(row["std_error"])) > 0
    assert numbers.doubts() is not None


# Real files


@pytest.mark.parametrize(("name", "n"), [("text", 266), ("vision", 86), ("image", 19)])
def test_real_arena_dumps(shared_data: Path, name: str, n: int) -> None:
    path = shared_data / "arena_scores" / "fboulnois-csv" / f"lmarena_{name}.csv"
    with path.open(newline="") as stream:
        records = list(csv.DictReader(stream))
    table = read(path).aggregates
    assert table.height == len(records) == n
    assert table["estimate"].to_list() == [float(record["arena_score"]) for record in records]
    assert table["n"].to_list() == [int(record["votes"]) for record in records]
    widths = [sum(int(part) for part in record["95_pct_ci"].replace("+", "").split("/-")) for record in records]
    assert (table["conf_high"] - table["conf_low"]).to_list() == widths
    assert set(table["task"]) == {name}


def test_real_comparia(shared_data: Path) -> None:
    path = shared_data / "arena_scores" / "comparia" / "generated-models-extra-data.json"
    records = json.loads(path.read_text())["models"]
    table = read(path).aggregates.filter(metric="rating")
    assert table["estimate"].to_list() == [record["median"] for record in records]
    assert table["conf_low"].to_list() == [record["p2.5"] for record in records]
    assert table["conf_high"].to_list() == [record["p97.5"] for record in records]
    assert table["n"].to_list() == [record["n_match"] for record in records]
    assert table["date"].unique().to_list() == [date(2026, 2, 11)]
    # Percentiles of ratings are not symmetric, and stay so.
    assert any(abs(r["conf_high"] + r["conf_low"] - 2 * r["estimate"]) > 1 for r in table.iter_rows(named=True))


def test_real_alpaca_eval_leaderboards(shared_data: Path) -> None:
    """All 17 leaderboards: as many win rates and standard errors as the files hold."""
    paths = sorted((shared_data / "alpaca_eval").glob("*_leaderboard.csv"))
    assert len(paths) == 17
    for path in paths:
        with path.open(newline="") as stream:
            records = list(csv.DictReader(stream))
        table = read(path).aggregates
        rates = table.filter(metric="win_rate")
        assert rates["estimate"].to_list() == [float(record["win_rate"]) for record in records]
        errors = [float(record.get("standard_error") or 0) or None for record in records]
        assert rates["std_error"].to_list() == errors
        controlled = [record.get("length_controlled_winrate") or "" for record in records]
        assert table.filter(metric="length_controlled_winrate").height == sum(map(bool, controlled))


@pytest.mark.parametrize("reference", ["gpt4t", "haiku", "llama"])
def test_real_wildbench_rewards(shared_data: Path, reference: str) -> None:
    """The reward is the mean of 1, .5, 0, -.5, -1 over all judgements, as the counts beside it give it."""
    table = read(shared_data / "wildbench" / "leaderboard" / f"pairwise-{reference}-K=-1.json").aggregates
    whole = table.filter(metric=f"reward/{reference}", task="")
    made = (whole["win_much"] - whole["lose_much"] + (whole["win"] - whole["lose"]) / 2) / whole["n"]
    assert whole["estimate"].to_list() == pytest.approx(made.to_list())
    assert Counter(table["task"]).total() == 7 * whole.height


def test_real_wildbench_elo_has_no_interval(shared_data: Path) -> None:
    """Its ci is the spread over orders of the same judgements."""
    path = shared_data / "wildbench" / "leaderboard" / "wb_elo_results.json"
    records = json.loads(path.read_text())["elo_stat"]
    data = read(path)
    assert data.aggregates["estimate"].to_list() == [record["avg"] for record in records.values()]
    assert data.aggregates["conf_low"].null_count() == data.aggregates["std_error"].null_count() == 67
    assert data.aggregates["order_sd"].to_list() == [record["std"] for record in records.values()]
    assert "neither is taken for an interval" in told(data)


def test_real_wildbench_scores(shared_data: Path) -> None:
    path = shared_data / "wildbench" / "leaderboard" / "score.json"
    records = json.loads(path.read_text())
    table = read(path).aggregates
    means = table.filter(metric="mean_score")
    assert means["estimate"].to_list() == [record["score"] for record in records.values()]
    assert means["n"].to_list() == [record["total"] for record in records.values()]
    tasks = sum(len(record["task_categorized_scores"]) for record in records.values())
    assert table.height == 4 * len(records) + tasks


def test_evalplus_leaderboard(tmp_path: Path) -> None:
    scores = {"humaneval": 67.7, "humaneval+": 61.6, "mbpp": None, "mbpp+": 51.1}
    board = {
        "lab/m (2024)": {"link": "x", "open-data": "NONE", "pass@1": scores, "prompted": True, "size": 8.25},
        "n": {"link": "y", "open-data": "NONE", "pass@1": {"humaneval": 90.0}, "prompted": False, "size": None},
    }
    path = tmp_path / "results.json"
    path.write_text(json.dumps(board))
    data = read(path)
    assert data.aggregates.select("model", "benchmark", "task", "metric", "estimate", "unit").rows() == [
        ("lab/m (2024)", "EvalPlus", "humaneval", "pass@1", 67.7, "percent"),
        ("lab/m (2024)", "EvalPlus", "humaneval+", "pass@1", 61.6, "percent"),
        ("lab/m (2024)", "EvalPlus", "mbpp+", "pass@1", 51.1, "percent"),
        ("n", "EvalPlus", "humaneval", "pass@1", 90.0, "percent"),
    ]
