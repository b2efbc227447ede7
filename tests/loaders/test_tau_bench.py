"""tau-bench v1: the real airline file, and every shape the format notes list."""

import gzip
import json
from collections import Counter
from math import comb
from pathlib import Path

import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Source, read_head, with_digest
from evalstats.loaders.formats.tau_bench import FORMAT, OUT_OF_TURNS
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData
from tests.loaders.trees import write

POLICY = {
    "airline": "# Airline Agent Policy\n\nAs an airline agent, you can help.",
    "retail": "# Retail agent policy\n\nAs a retail agent, you can help.",
}


def row(task_id: object, reward: object = 1.0, trial: object = 0, **changes: object) -> dict[str, object]:
    """One row as the harness writes it: a finished conversation with two turns of the user."""
    traj = [
        {"role": "system", "content": POLICY["retail"]},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]},
        {"role": "tool", "tool_call_id": "1", "name": "f", "content": "{}"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "###STOP###"},
    ]
    info = {
        "task": {"user_id": "u", "actions": [], "instruction": "..", "outputs": []},
        "source": "user",
        "user_cost": 0.0035,
        "reward_info": {"reward": reward, "info": {"r_actions": reward, "gt_data_hash": "ea"}, "actions": []},
    }
    return {"task_id": task_id, "reward": reward, "info": info, "traj": traj, "trial": trial, **changes}


def crash(task_id: int, trial: int, error: str = "litellm.APIError: 500\nmore") -> dict[str, object]:
    """A row as the harness writes it after an exception."""
    info = {"error": error, "traceback": "Traceback ..."}
    return {"task_id": task_id, "reward": 0.0, "info": info, "traj": [], "trial": trial}


def load(path: Path) -> EvalData:
    return read_source(FORMAT, with_digest(Source(path=path)))


def test_real_airline_file_is_read_whole_and_gives_the_published_pass_hat_k(shared_data: Path) -> None:
    path = shared_data / "tau_bench" / "gpt-4o-airline.json.gz"
    with gzip.open(path) as stream:
        held = json.load(stream)
    match = FORMAT.sniff(read_head(path))
    assert match is not None
    assert match.confidence > 0.9
    data = load(path)

    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (len(held), 0, 0) == (200, 0, 0)
    assert (run["model"], run["system"], run["benchmark"]) == ("gpt-4o", "gpt-4o", "tau-bench")
    assert data.outcomes["task"].unique().to_list() == ["airline"]
    assert data.outcomes["score"].sum() == sum(one["reward"] for one in held)
    assert data.problems == ()
    # 5 conversations ran out of turns (counted in the file by a null reward_info): failures, not gaps
    out_of_turns = data.outcomes.filter(status_reason=OUT_OF_TURNS)
    assert out_of_turns["score"].to_list() == [0.0] * 5
    assert sum(one["info"]["reward_info"] is None for one in held) == 5

    # pass^k = mean over tasks of C(c, k) / C(n, k); .420 .273 .220 .200 in the project's README, airline, TC (gpt-4o)
    right = Counter(data.outcomes.filter(score=1.0)["item"].to_list())
    items = data.outcomes["item"].unique().to_list()
    assert len(items) == 50
    assert set(data.outcomes["trial"].to_list()) == {0, 1, 2, 3}
    pass_hat = [sum(comb(right[item], k) / comb(4, k) for item in items) / 50 for k in (1, 2, 3, 4)]
    assert pass_hat == pytest.approx([0.42, 0.2733, 0.22, 0.20], abs=5e-5)


@pytest.mark.parametrize("packed", [False, True])
def test_rows_of_a_published_file(tmp_path: Path, packed: bool) -> None:
    rows = [row(0, 1.0, 0), row(0, 0.0, 1)]
    path = tmp_path / ("sonnet-35-new-retail.json" + (".gz" if packed else ""))
    path.write_bytes(gzip.compress(json.dumps(rows).encode()) if packed else json.dumps(rows).encode())
    assert FORMAT.sniff(read_head(path)) is not None
    data = load(path)
    first, second = data.outcomes.to_dicts()
    assert (first["model"], first["task"], first["item"]) == ("sonnet-35-new", "retail", "0")
    assert [(one["trial"], one["score"], one["status"]) for one in (first, second)] == [
        (0, 1.0, "scored"),
        (1, 0.0, "scored"),
    ]
    # two messages of the user; the price is the user simulator's, so it is not the answer's cost
    assert (first["n_turns"], first["user_cost_usd"], first["cost_usd"]) == (2, 0.0035, None)
    (metric,) = data.metrics.to_dicts()
    assert (metric["kind"], metric["low"], metric["high"], metric["primary"]) == ("binary", 0.0, 1.0, True)


def test_settings_come_from_the_harness_name_and_the_domain_from_the_policy(tmp_path: Path) -> None:
    name = "react-gpt-4o-2024-08-06-0.7_range_5-25_user-gpt-4o-llm_0102030405.json"
    rows = [crash(5, 0), row(6, traj=[{"role": "system", "content": POLICY["airline"]}])]
    data = load(write(tmp_path / name, rows))
    (run,) = data.runs.to_dicts()
    assert (run["model"], run["system"]) == ("gpt-4o-2024-08-06", "gpt-4o-2024-08-06 (react)")
    assert (run["temperature"], run["item_limit"], run["harness"]) == (0.7, 20, "tau-bench")
    assert json.loads(run["config"])["user_model"] == "gpt-4o"
    assert data.outcomes["task"].unique().to_list() == ["airline"]
    assert data.problems == ()


def test_an_open_range_is_no_limit_and_tool_calling_is_the_model_itself(tmp_path: Path) -> None:
    name = "tool-calling-gpt-4o-0.0_range_0--1_user-gpt-4o-llm_0102030405.json"
    (run,) = load(write(tmp_path / name, [row(1)])).runs.to_dicts()
    assert (run["item_limit"], run["system"]) == (None, "gpt-4o")


def test_a_name_of_no_pattern_is_the_model_and_two_notes_say_so(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>".replace("/", "_")
    path = write(tmp_path / f"{hostile}.json", [row(3, traj=[{"role": "system", "content": "Hello"}])])
    data = load(path)
    assert data.models() == (hostile,)
    assert data.outcomes["task"].to_list() == ["unknown"]
    assert [problem.severity for problem in data.problems] == ["note", "note"]
    told = " ".join(problem.message for problem in data.problems)
    assert "does not name its model" in told
    assert "shows the domain" in told


def test_an_exception_is_an_error_and_a_null_reward_info_a_failure(tmp_path: Path) -> None:
    unfinished = row(1, 0.0)
    unfinished["info"] = {"task": {}, "source": "user", "user_cost": None, "reward_info": None}
    rows = [row(0), unfinished, crash(2, 0), crash(3, 0, error="")]
    data = load(write(tmp_path / "m-retail.json", rows))
    by_item = {one["item"]: one for one in data.outcomes.to_dicts()}
    assert (by_item["1"]["status"], by_item["1"]["score"]) == ("scored", 0.0)
    assert by_item["1"]["status_reason"] == OUT_OF_TURNS
    assert (by_item["2"]["status"], by_item["2"]["score"], by_item["2"]["value_raw"]) == ("error", None, "0")
    assert by_item["2"]["status_reason"] == "litellm.APIError: 500"
    assert by_item["2"]["n_turns"] is None
    assert by_item["3"]["status"] == "error"  # str(exception) may be empty
    (run,) = data.runs.to_dicts()
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (2, 2, 0)


def test_rewards_near_one_are_one_and_a_fraction_makes_the_metric_bounded(tmp_path: Path) -> None:
    data = load(write(tmp_path / "m-retail.json", [row(0, 0.9999999), row(1, 1e-9), row(2, 0.5)]))
    assert data.outcomes["score"].to_list() == [1.0, 0.0, 0.5]
    assert data.metrics["kind"].to_list() == ["bounded"]
    data = load(write(tmp_path / "n-retail.json", [row(0, 0.9999999), row(1, 1e-9)]))
    assert data.metrics["kind"].to_list() == ["binary"]


@pytest.mark.parametrize(("text", "held"), [("NaN", "NaN"), ("null", None), ('"x"', '"x"')])
def test_a_reward_that_is_no_number_is_unscored(tmp_path: Path, text: str, held: str | None) -> None:
    content = json.dumps([row(0), row(1, "REWARD")]).replace('"reward": "REWARD"', f'"reward": {text}')
    data = load(write(tmp_path / "m-retail.json", content))
    second = data.outcomes.to_dicts()[1]
    assert (second["status"], second["score"], second["value_raw"]) == ("unscored", None, held)


def test_ids_are_text_whatever_they_were(tmp_path: Path) -> None:
    data = load(write(tmp_path / "m-retail.json", [row(7), row("8"), row(9.0)]))
    assert data.outcomes["item"].to_list() == ["7", "8", "9"]


def test_a_row_without_a_trial_is_the_first(tmp_path: Path) -> None:
    single = row(7)
    del single["trial"]
    assert load(write(tmp_path / "m-retail.json", [single])).outcomes["trial"].to_list() == [0]


def test_bad_rows_are_left_out_and_named_and_a_reward_beyond_its_range_is_unscored(tmp_path: Path) -> None:
    bad = [row("4", trial=1), row(None), row(5, trial="first"), row(5, trial=1e308), 3]
    data = load(write(tmp_path / "m-retail.json", [row(4, trial=1), row(5, reward=7.0), *bad]))
    assert data.outcomes.select("item", "trial", "status").rows() == [("4", 1, "scored"), ("5", 0, "unscored")]
    assert sorted(problem.message for problem in data.problems) == [
        "1 of 7 rows are dropped (no JSON object): [6]",
        "1 of 7 rows are dropped (no task_id): [3]",
        "1 of 7 rows are dropped (of a task and trial before): [2]",
        "2 of 7 rows are dropped (no whole-number trial): [4], [5]",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([row(None)], "none of its rows could be read"),
        ([], "it holds none at all"),
        ({"task_id": 4}, "is one JSON object"),
        (json.dumps([row(4), row(5)])[:-30], "cut off"),
        ("", "is empty"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path: Path, content: object, said: str) -> None:
    path = write(tmp_path / "m-retail.json", content)
    with pytest.raises(UnreadableFileError) as caught:
        load(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_wrong_encoding_and_a_cut_off_archive_are_named(tmp_path: Path) -> None:
    text = json.dumps([row("h\u00e9")], ensure_ascii=False)
    latin = tmp_path / "m-retail.json"
    latin.write_bytes(text.encode("latin-1"))
    with pytest.raises(UnreadableFileError, match="utf-8"):
        load(latin)
    packed = tmp_path / "n-retail.json.gz"
    packed.write_bytes(gzip.compress(text.encode())[:-20])
    with pytest.raises(UnreadableFileError, match="damaged or cut off"):
        load(packed)
    marked = tmp_path / "o-retail.json"
    marked.write_bytes(text.encode("utf-8-sig"))
    assert load(marked).outcomes.height == 1


def test_other_files_are_left_to_others(tmp_path: Path) -> None:
    assert FORMAT.sniff(read_head(write(tmp_path / "a.json", [{"task_id": 1, "passed": True}]))) is None
    assert (
        FORMAT.sniff(read_head(write(tmp_path / "b.json", {"task_id": 1, "reward": 1, "info": {}, "traj": []}))) is None
    )
    bare = FORMAT.sniff(read_head(write(tmp_path / "c.json", [{"task_id": 1, "reward": 1, "info": {}}])))
    assert bare is not None
    assert bare.confidence == 0.5


def test_every_file_is_a_source_of_its_own(tmp_path: Path) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    assert [part.path for part in FORMAT.plan(files) if isinstance(part, Source)] == files
