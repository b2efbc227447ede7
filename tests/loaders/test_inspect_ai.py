"""Inspect AI: real logs, and every shape the format notes list."""

import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import BATCH_ROWS, Frame, Source, read_head, with_digest
from evalstats.loaders.files import zstd
from evalstats.loaders.inspect_ai import LOADER
from evalstats.loaders.registry import read_source
from evalstats.schema.data import EvalData, Problem

REAL = ("inspect_logs", "every_eval_ever/inspect")
NAN = float("nan")


def sample(identity: object = 1, epoch: object = 1, *, scores: object = None, **changes: object) -> dict[str, object]:
    """One sample as Inspect 0.3.285 writes it, with plain scores given by scorer."""
    held = (
        {name: {"value": value, "history": []} for name, value in scores.items()}
        if isinstance(scores, dict)
        else scores
    )
    return {
        "id": identity,
        "epoch": epoch,
        "input": f"question {identity}",
        "target": "4",
        "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "4"}],
        "output": {"model": "m", "choices": [], "completion": "4"},
        "scores": held,
        "metadata": {},
        "store": {},
        "events": [],
        "model_usage": {},
        "total_time": 1.5,
        "uuid": f"{identity}-{epoch}",
        "attachments": {},
        **changes,
    }


def failed(
    identity: object, epoch: int = 1, *, scores: object = None, message: str = "RuntimeError('boom')"
) -> dict[str, object]:
    """A sample that ended with an error."""
    return sample(identity, epoch, scores=scores, error={"message": message, "traceback": "..", "traceback_ansi": ".."})


def published(name: str, scorer: str | None = None, value: float = 1.0, **changes: object) -> dict[str, object]:
    """One entry of `results.scores`."""
    metrics = {
        "accuracy": {"name": "accuracy", "value": value, "params": {}},
        "stderr": {"name": "stderr", "value": 0.25},
    }
    return {"name": name, "scorer": scorer or name, "params": {}, "metrics": metrics, "scored_samples": 4, **changes}


def header(*results: dict[str, object], status: str = "success", **spec: object) -> dict[str, object]:
    """A log without its samples."""
    return {
        "version": 2,
        "status": status,
        "eval": {
            "eval_id": "e1",
            "run_id": "r1",
            "created": "2026-02-03T04:05:06+00:00",
            "task": "demo",
            "task_id": "t1",
            "task_version": 3,
            "dataset": {"name": "d", "samples": 4, "sample_ids": [1, 2, 3, 4], "shuffled": False},
            "model": "openai/gpt-x",
            "config": {"epochs": 1},
            "packages": {"inspect_ai": "0.3.285"},
            **spec,
        },
        "plan": {"name": "plan", "steps": [{"solver": "generate", "params": {}}], "config": {}},
        "results": {"total_samples": 0, "completed_samples": 0, "scores": list(results)},
        "stats": {"started_at": "2026-02-03T04:05:07+00:00", "completed_at": "2026-02-03T04:06:07+00:00"},
    }


def json_log(path: Path, head: dict[str, object], samples: object) -> Path:
    """Write a JSON log: the header's members, then the samples."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(head | {"samples": samples, "reductions": []}), encoding="utf-8")
    return path


def start_of(head: dict[str, object]) -> dict[str, object]:
    return {name: head[name] for name in ("version", "eval", "plan")}


def members_of(head: dict[str, object], samples: list[dict[str, object]]) -> list[tuple[str, object]]:
    """The members of a whole archive, in the order in which Inspect writes them."""
    named = [(f"samples/{one['id']}_epoch_{one['epoch']}.json", one) for one in samples]
    return [("_journal/start.json", start_of(head)), *named, ("summaries.json", []), ("header.json", head)]


def archive(path: Path, members: list[tuple[str, object]], *, packed: int = zipfile.ZIP_DEFLATED) -> Path:
    """Write an archive with Deflate, or without compression."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", packed) as directory:
        for name, content in members:
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            directory.writestr(zipfile.ZipInfo(name), data, packed)
    return path


def load(path: Path) -> EvalData:
    return read_source(LOADER, with_digest(Source(path=path)))


def load_json(tmp_path: Path, *samples: dict[str, object], head: dict[str, object] | None = None) -> EvalData:
    return load(json_log(tmp_path / "log.json", head or header(), list(samples)))


def messages(data: EvalData) -> str:
    assert {problem.severity for problem in data.problems} <= {"note"}
    return "\n".join(problem.message for problem in data.problems)


def cells(data: EvalData) -> list[tuple[object, ...]]:
    return sorted(data.outcomes.select("item", "trial", "metric", "status", "score").rows(), key=str)


def only(frame: pl.DataFrame, **levels: object) -> dict[str, object]:
    found = frame.filter(**levels)
    assert found.height == 1, found
    return found.row(0, named=True)


def members_read(path: Path) -> dict[str, object]:
    """Header and samples of a real log, read without the loader."""
    if path.suffix == ".json":
        return json.loads(path.read_text(encoding="utf-8"))
    found: dict[str, object] = {}
    with zipfile.ZipFile(path) as directory, path.open("rb") as raw:
        for info in directory.infolist():
            raw.seek(info.header_offset + 26)
            name_size, extra_size = (int.from_bytes(raw.read(2), "little") for _ in range(2))
            raw.seek(name_size + extra_size, 1)
            data = raw.read(info.compress_size)
            packed = info.compress_type == 93
            text = zstd.decompress(data) if packed else directory.read(info)
            found[info.filename] = json.loads(text)
    header = found["header.json"]
    assert isinstance(header, dict)
    return header | {"samples": [one for name, one in found.items() if name.startswith("samples/")]}


def real_logs(shared_data: Path) -> list[Path]:
    return sorted(path for part in REAL for path in (shared_data / part).rglob("*") if path.is_file())


def test_real_logs_agree_with_their_published_accuracy(shared_data: Path) -> None:
    """Mean over epochs, then over items, of the scores that were read equals what Inspect computed."""
    compared = expected = 0
    for path in real_logs(shared_data):
        held = members_read(path)
        data = load(path)
        if "the log counts" in messages(data):
            continue  # a shortened file, whose numbers speak of more samples
        expected += len(held["results"]["scores"]) if held.get("samples") else 0
        scored = data.outcomes.filter(status="scored")
        for row in data.aggregates.iter_rows(named=True):
            items = scored.filter(metric=row["metric"]).group_by("item").agg(pl.col("score").mean())
            if items.height:
                assert items["score"].mean() == pytest.approx(row["estimate"]), path
                compared += 1
    assert compared == expected > 20


def test_real_zstandard_archive_and_its_failed_sample(shared_data: Path) -> None:
    folder = shared_data / "inspect_logs" / "generated_mockllm_0.3.285"
    packed, plain = sorted(folder.iterdir())
    with zipfile.ZipFile(packed) as directory:
        assert {info.compress_type for info in directory.infolist()} == {93}
    data = load(packed)
    run = only(data.runs)
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (33, 3, 0)  # 12 samples x 3 metrics, 1 sample failed
    error = data.outcomes.filter(status="error")
    assert error.select("item", "trial", "status_reason").unique().rows() == [("3", 1, "RuntimeError('boom')")]
    assert sorted(error["metric"]) == ["includes", "multi/quality", "multi/tone"]
    assert sorted(data.outcomes["scenario"].unique()) == ["a", "b"]
    assert run["factor_names"] == ["category=scenario"]
    assert data.factor("category") == "scenario"
    same = load(plain).outcomes
    key = ["item", "trial", "metric", "score", "status", "scenario", "prompt_hash"]
    assert same.select(key).sort(key).equals(data.outcomes.select(key).sort(key))
    quality = only(data.aggregates, metric="multi/quality")
    assert (quality["estimate"], quality["std_error"], quality["n"]) == (3.5, 0.0, 4)


def test_real_runs_of_two_models_pair_by_id_and_by_input(shared_data: Path) -> None:
    folder = shared_data / "every_eval_ever" / "inspect"
    qwen, sonnet = (load(folder / name).outcomes for name in ("data_arc_qwen.json", "data_arc_sonnet.json"))
    joined = qwen.join(sonnet, on=["benchmark", "item", "metric", "prompt_hash"])
    assert joined.height == 3
    assert (joined["score"].sum(), joined["score_right"].sum()) == (1.0, 3.0)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1.0), ("P", 0.5), ("I", 0.0), ("N", 0.0), ("yes", 1.0), ("No", 0.0), ("TRUE", 1.0), ("false", 0.0),
        ("0.25", 0.25), (True, 1.0), (False, 0.0), (3, 3.0), (0.75, 0.75), (-2.5, -2.5),
    ],
)  # fmt: skip
def test_values_that_are_scores(tmp_path: Path, value: object, score: float) -> None:
    """Inspect's `value_to_float`: letters, words, numbers and numbers as text."""
    row = only(load_json(tmp_path, sample(scores={"s": value})).outcomes)
    assert (row["status"], row["score"], row["status_reason"]) == ("scored", score, None)
    raw = value if isinstance(value, str) else json.dumps(value) if isinstance(value, bool) else None
    assert row["value_raw"] == raw


@pytest.mark.parametrize(
    ("value", "raw", "reason"),
    [
        ("refused", "refused", "no grade"),
        ("c", "c", "no grade"),
        ("B", "B", "no grade"),
        ("", "", "no grade"),
        (NAN, "NaN", "Inspect's mark for not scored"),
        (float("inf"), "inf", "infinite"),
        ("nan", "nan", "no grade"),
        (None, None, "no value"),
        ({}, None, "no value"),
        ([], None, "no value"),
    ],
)
def test_values_that_are_no_scores_are_unscored_and_never_zero(
    tmp_path: Path, value: object, raw: str | None, reason: str
) -> None:
    """Inspect itself counts unknown words, lists and objects as 0 with a warning in its own log."""
    row = only(load_json(tmp_path, sample(scores={"s": value})).outcomes)
    assert (row["metric"], row["status"], row["score"], row["value_raw"]) == ("s", "unscored", None, raw)
    assert reason in str(row["status_reason"])


def test_objects_and_lists_of_values_are_several_metrics(tmp_path: Path) -> None:
    value = {"quality": 3.5, "tone": "C", "gone": None, "mark": NAN, "deep": {"x": 1}}
    data = load_json(tmp_path, sample(scores={"judge": value, "pair": [1, 0.5]}))
    assert cells(data) == [
        ("1", 0, "judge/deep", "unscored", None),
        ("1", 0, "judge/gone", "unscored", None),
        ("1", 0, "judge/mark", "unscored", None),
        ("1", 0, "judge/quality", "scored", 3.5),
        ("1", 0, "judge/tone", "scored", 1.0),
        ("1", 0, "pair/0", "scored", 1.0),
        ("1", 0, "pair/1", "scored", 0.5),
    ]
    assert only(data.outcomes, metric="judge/deep")["value_raw"] == '{"x": 1}'


def test_letters_that_may_be_categories_are_reported(tmp_path: Path) -> None:
    data = load_json(tmp_path, *(sample(n, scores={"choice": letter}) for n, letter in enumerate("ABCD")))
    assert [row[3:] for row in cells(data)] == [
        ("unscored", None),
        ("unscored", None),
        ("scored", 1.0),
        ("unscored", None),
    ]
    assert "values of choice such as 'A', 'B', 'D' are not grades" in messages(data)


def test_epochs_are_trials_from_zero_and_ids_are_text(tmp_path: Path) -> None:
    samples = [sample(one, epoch, scores={"s": "C"}) for one in (7, "7a", "ü/ß") for epoch in (1, 2)]
    samples.append(sample("none", None, scores={"s": "C"}))  # epochs null = 1
    assert [row[:2] for row in cells(load_json(tmp_path, *samples))] == [
        ("7", 0), ("7", 1), ("7a", 0), ("7a", 1), ("none", 0), ("ü/ß", 0), ("ü/ß", 1),
    ]  # fmt: skip


def test_failed_samples_have_a_row_for_every_metric_of_the_run(tmp_path: Path) -> None:
    """Even when they come first, and whatever Inspect wrote for their scores."""
    head = header(published("match"), published("tone", "judge"), published("quality", "judge"))
    samples = [
        failed(1, scores={}),
        failed(2, scores=None, message="\x1b[31mTimeout\x1b[0m"),
        sample(3, scores={"match": "C", "judge": {"quality": 1, "tone": 2, "extra": 3}}),
    ]
    del samples[1]["scores"]
    data = load_json(tmp_path, *samples, head=head)
    metrics = ["judge/extra", "judge/quality", "judge/tone", "match"]
    assert [row[:4] for row in cells(data)] == [
        *(("1", 0, metric, "error") for metric in metrics),
        *(("2", 0, metric, "error") for metric in metrics),
        *(("3", 0, metric, "scored") for metric in metrics),
    ]
    reasons = dict(data.outcomes.filter(status="error").select("item", "status_reason").unique().rows())
    assert reasons == {"1": "RuntimeError('boom')", "2": "Timeout"}
    run = only(data.runs)
    assert (run["n_scored"], run["n_error"], run["n_unscored"]) == (4, 8, 0)


@pytest.mark.parametrize(
    ("head", "metrics"),
    [
        (header(scorers=[{"name": "match", "metrics": [{"name": "accuracy"}]}]), ["match"]),
        (header(scorers=[{"name": "match"}, {"name": "match"}]), ["match", "match1"]),
        (header(published("old")), ["old"]),
        (header(), ["score"]),
    ],
    ids=["scorer", "two alike", "published only", "nothing known"],
)
def test_run_of_which_all_samples_failed_names_its_metrics_by_the_scorers(
    tmp_path: Path, head: dict[str, object], metrics: list[str]
) -> None:
    assert cells(load_json(tmp_path, failed(1), head=head)) == [("1", 0, metric, "error", None) for metric in metrics]


@pytest.mark.parametrize("scores", [None, {}], ids=["null", "empty"])
def test_samples_without_scores_and_without_error_are_unscored(tmp_path: Path, scores: object) -> None:
    data = load_json(tmp_path, sample(1, scores=scores), sample(2, scores={"match": "I"}))
    assert cells(data) == [("1", 0, "match", "unscored", None), ("2", 0, "match", "scored", 0.0)]


def test_sample_without_a_score_of_one_scorer_is_unscored_there(tmp_path: Path) -> None:
    head = header(published("match"), published("judge"))
    data = load_json(tmp_path, sample(1, scores={"match": "C"}), head=head)
    assert cells(data) == [("1", 0, "judge", "unscored", None), ("1", 0, "match", "scored", 1.0)]


def test_score_of_null_says_which_scorer_gave_none(tmp_path: Path) -> None:
    samples = [sample(1, scores={"match": None}), sample(2, scores={"match": "C"}), failed(3)]
    samples[0]["scores"] = {"match": None}
    samples[2]["scores"] = {"match": None}
    data = load_json(tmp_path, *samples)
    assert data.outcomes.sort("item").select("metric", "status", "status_reason").rows() == [
        ("match", "unscored", "the scorer gave no value"),
        ("match", "scored", None),
        ("match", "error", "RuntimeError('boom')"),
    ]


def test_scorer_with_several_values_has_no_row_under_its_own_name(tmp_path: Path) -> None:
    """Inspect publishes a number for the scorer as a whole where its metrics are a plain list."""
    samples = [sample(1, scores={"judge": {"tone": 1}}), failed(2)]
    data = load_json(tmp_path, *samples, head=header(published("judge")))
    assert cells(data) == [("1", 0, "judge/tone", "scored", 1.0), ("2", 0, "judge/tone", "error", None)]


def test_failed_samples_that_were_scored_keep_their_scores(tmp_path: Path) -> None:
    """With score_on_error, or when one scorer failed after another, Inspect's metrics count the score."""
    head = header(published("match"), published("judge"))
    data = load_json(tmp_path, failed(1, scores={"match": "I"}), head=head)
    assert cells(data) == [("1", 0, "judge", "error", None), ("1", 0, "match", "scored", 0.0)]
    assert "1 samples failed and were scored all the same" in messages(data)


def test_invalidated_samples_are_unscored_and_keep_their_value(tmp_path: Path) -> None:
    data = load_json(
        tmp_path, sample(1, scores={"match": "C", "n": 0.5}, invalidation={"reason": "wrong file", "author": "x"})
    )
    assert data.outcomes.select("metric", "status", "value_raw").rows() == [
        ("match", "unscored", "C"),
        ("n", "unscored", "0.5"),
    ]
    assert set(data.outcomes["status_reason"]) == {"invalidated after the run: wrong file"}


def test_metadata_become_factors_and_never_standard_columns(tmp_path: Path) -> None:
    metadata = {
        "difficulty": "hard", "level": 3, "hidden": True, "weight": 0.5, "item": "x", "nested": {"a": 1}, "tags": ["a"],
        "none": None, "category": "law", "text": "y" * 5_000, "ratio": NAN, "big": 10**30, "metadata_item": "z",
    }  # fmt: skip
    data = load_json(tmp_path, sample("s1", scores={"match": "C"}, metadata=metadata))
    row = only(data.outcomes)
    assert {name: row[name] for name in ("difficulty", "level", "hidden", "metadata_weight", "metadata_item", "scenario")} == {
        "difficulty": "hard", "level": 3, "hidden": True, "metadata_weight": 0.5, "metadata_item": "x", "scenario": "law",
    }  # fmt: skip
    assert (row["item"], row["weight"], row["ratio"], row["big"]) == ("s1", None, None, str(10**30))
    assert row["metadata_metadata_item"] == "z"
    assert not {"nested", "none", "text", "category"} & set(data.outcomes.columns)
    assert "too long or too many to be factors: text" in messages(data)
    assert only(data.runs)["factor_names"] == ["category=scenario"]


def test_metadata_called_scenario_goes_before_category(tmp_path: Path) -> None:
    data = load_json(tmp_path, sample(scores={"match": "C"}, metadata={"category": "law", "scenario": "dispute"}))
    row = only(data.outcomes)
    assert (row["scenario"], row["category"]) == ("dispute", "law")
    assert only(data.runs)["factor_names"] is None


def test_names_without_end_do_not_become_columns_without_end(tmp_path: Path) -> None:
    samples = [sample(n, scores={"match": "C"}, metadata={f"key_{n}": 1}) for n in range(300)]
    data = load_json(tmp_path, *samples)
    assert sum(name.startswith("key_") for name in data.outcomes.columns) == 200
    assert "and 92 more" in messages(data)  # 100 left out, 8 named


def test_cost_time_turns_and_limits(tmp_path: Path) -> None:
    usage = {"a": {"total_tokens": 5, "total_cost": 0.25}, "b": {"total_cost": 0.5}}
    limit = {"type": "message", "limit": 30.0}
    data = load_json(
        tmp_path,
        sample(
            1, scores={"s": 1}, model_usage=usage, turn_count=7, limit=limit, completed_at="2026-02-03T04:05:06+00:00"
        ),
        sample(2, scores={"s": 1}, model_usage={"a": {"total_cost": 0.25}, "b": {}}, total_time=-1),
    )
    first, second = data.outcomes.iter_rows(named=True)
    assert (first["cost_usd"], first["n_turns"], first["latency_s"], first["limit_reached"]) == (
        0.75,
        7,
        1.5,
        "message",
    )
    assert first["timestamp"].isoformat() == "2026-02-03T04:05:06+00:00"
    # the price of one model is unknown; turns are the assistant's messages; a negative time is none
    assert (second["cost_usd"], second["n_turns"], second["latency_s"], second["limit_reached"]) == (
        None,
        1,
        None,
        None,
    )


def test_tokens_count_cached_input_and_reasoning_once(tmp_path: Path) -> None:
    """Today's convention, that of older providers, and what is not known; `total_tokens` tells the first two apart."""
    usages = [
        {"input_tokens": 90, "output_tokens": 8, "total_tokens": 98},
        {"input_tokens": 10, "input_tokens_cache_read": 50, "input_tokens_cache_write": 30, "output_tokens": 8},
        {"input_tokens": 10, "input_tokens_cache_read": 80, "output_tokens": 8, "total_tokens": 98},
        {"input_tokens": 90, "input_tokens_cache_read": 80, "output_tokens": 8, "total_tokens": 98},
        {"input_tokens": 90, "output_tokens": 8, "reasoning_tokens": 6, "total_tokens": 98},
        {"input_tokens": 90, "output_tokens": 2, "reasoning_tokens": 6, "total_tokens": 98},
        {"input_tokens": 90, "total_tokens": 98},
        {"input_tokens": -1, "output_tokens": 8.0},
        {"input_tokens": "many", "output_tokens": 0.5},
    ]
    samples = [sample(n, scores={"s": 1}, model_usage={"m": usage}) for n, usage in enumerate(usages)]
    found = load_json(tmp_path, *samples, sample("none", scores={"s": 1})).outcomes
    assert found["input_tokens"].to_list() == [90] * 7 + [None] * 3
    assert found["output_tokens"].to_list() == [8] * 6 + [None, 8, None, None]


def test_tokens_and_cost_are_those_of_the_models_that_answered(tmp_path: Path) -> None:
    def usage(n: int) -> dict[str, object]:
        return {"input_tokens": n, "output_tokens": n, "total_tokens": 2 * n, "total_cost": n / 8}

    mixed = {"openai/gpt-x": usage(8), "helper": usage(4), "openai/judge": usage(64)}
    grading = {"grader": usage(3), "helper": usage(4)}
    graded_apart = json_log(
        tmp_path / "apart.json",
        header(scorers=[{"name": "s", "options": {"model": "openai/judge"}}]),
        [
            sample(1, scores={"s": 1}, model_usage=mixed),
            sample(2, scores={"s": 1}, model_usage={"openai/judge": usage(2)}),
        ],
    )
    by_role = json_log(
        tmp_path / "role.json",
        header(model_roles={"grader": {"model": "openai/judge"}}),
        [sample(1, scores={"s": 1}, model_usage=mixed, role_usage={"grader": usage(64)})],
    )
    by_itself = json_log(
        tmp_path / "itself.json",
        header(model_roles={"grader": {"model": "openai/gpt-x"}}),
        [
            sample(1, scores={"s": 1}, model_usage={"openai/gpt-x": usage(8)}, role_usage=grading),
            sample(2, scores={"s": 1}, model_usage={"openai/gpt-x": usage(2)}, role_usage=grading),
        ],
    )
    spent = ("input_tokens", "output_tokens", "cost_usd")
    nothing = (None, None, None)
    assert load(graded_apart).outcomes.select(spent).rows() == [(12, 12, 1.5), nothing]
    assert load(by_role).outcomes.select(spent).rows() == [(12, 12, 1.5)]
    # the second says that more was graded than used in all, which cannot be
    assert load(by_itself).outcomes.select(spent).rows() == [(5, 5, 0.625), nothing]


def test_real_logs_have_the_tokens_that_their_samples_name(shared_data: Path) -> None:
    path = shared_data / "inspect_logs" / "analysis" / "test_logs" / "2025-05-12T20-28-13-04-00_popularity.json"
    held = {one["id"]: one["model_usage"] for one in json.loads(path.read_text())["samples"]}
    rows = load(path).outcomes
    assert rows.height == len(held) == 3
    for row in rows.iter_rows(named=True):
        [(model, usage)] = held[int(row["item"])].items()
        assert model == row["model"]
        assert row["input_tokens"] + row["output_tokens"] == usage["total_tokens"]
        assert row["output_tokens"] == usage["output_tokens"] > 0


def test_prompt_hash_tells_inputs_apart_and_not_their_form(tmp_path: Path) -> None:
    chat = [{"role": "user", "content": [{"type": "text", "text": "2+2?"}], "id": "random"}]
    samples = [
        sample(1, scores={"s": 1}, input="2+2?"),
        sample(2, scores={"s": 1}, input=chat),
        sample(3, scores={"s": 1}, input=[{"role": "user", "content": "attachment://h1"}], attachments={"h1": "2+2?"}),
        sample(4, scores={"s": 1}, input="2+3?"),
        sample(5, scores={"s": 1}, input=[{"role": "user", "content": "attachment://gone"}]),
    ]
    hashes = load_json(tmp_path, *samples).outcomes["prompt_hash"].to_list()
    assert hashes[0] == hashes[1] == hashes[2] is not None
    assert hashes[3] not in (hashes[0], None)
    assert hashes[4] is None


def test_run_carries_the_settings_that_make_runs_incomparable(tmp_path: Path) -> None:
    head = header(
        solver="react_agent",
        task_args={"fewshot": 5, "subject": "law"},
        config={
            "epochs": 4,
            "epochs_reducer": ["pass_at_2"],
            "limit": [10, 30],
            "message_limit": 50,
            "fail_on_error": False,
        },
        model_generate_config={"temperature": 0.7},
        tags=["nightly"],
    )
    head["plan"] = {
        "steps": [{"solver": "system_message", "params": {"template": "Be brief."}}],
        "config": {"temperature": 0.2},
    }
    run = only(load_json(tmp_path / "a", sample(scores={"s": 1}), head=head).runs)
    assert (run["harness"], run["harness_version"], run["task_version"], run["status"]) == (
        "inspect_ai",
        "0.3.285",
        "3",
        "success",
    )
    assert (run["model"], run["system"]) == ("openai/gpt-x", "openai/gpt-x (react_agent)")
    assert (run["n_shots"], run["item_limit"], run["temperature"]) == (5, 20, 0.2)
    kept = json.loads(str(run["config"]))
    assert kept["epochs"] == 4
    assert kept["epochs_reducer"] == ["pass_at_2"]
    assert kept["message_limit"] == 50
    assert kept["task_args"] == {"fewshot": 5, "subject": "law"}
    assert kept["packages"] == {"inspect_ai": "0.3.285"}
    head["plan"] = {"steps": [{"solver": "system_message", "params": {"template": "Be long."}}], "config": {}}
    other = only(load_json(tmp_path / "b", sample(scores={"s": 1}), head=head).runs)
    assert run["prompt_hash"] != other["prompt_hash"]
    assert other["temperature"] == 0.7


@pytest.mark.parametrize(
    ("spec", "judge"),
    [
        ({"scorers": [{"name": "model_graded_qa", "options": {"model": "openai/judge"}}]}, "openai/judge"),
        ({"scorers": [{"name": "model_graded_qa", "options": {"model": ["a", "b"]}}]}, "a, b"),
        ({"scorers": [{"name": "mine", "options": {"grader_model": {"model": "google/g"}}}]}, "google/g"),
        ({"scorers": [{"name": "model_graded_qa"}], "model_roles": {"grader": {"model": "role/g"}}}, "role/g"),
        (
            {"scorers": [{"name": "mine", "options": {"model_role": "critic"}}], "model_roles": {"critic": "role/c"}},
            "role/c",
        ),
        ({"scorers": [{"name": "model_graded_fact"}]}, "openai/gpt-x"),
        ({"scorers": [{"name": "match"}], "model_roles": {"grader": "role/g"}}, None),
    ],
    ids=["option", "several", "object", "role", "named role", "judges itself", "no judge"],
)
def test_judge_of_a_scorer(tmp_path: Path, spec: dict[str, object], judge: str | None) -> None:
    """Inspect: `model`, then `model_role`, then the model under evaluation (scorer/_model.py)."""
    name = spec["scorers"][0]["name"]
    data = load_json(tmp_path, sample(scores={name: "C"}), head=header(**spec))
    assert only(data.outcomes)["judge"] == judge
    if judge is not None:
        assert only(data.runs)["judge"] == judge


def test_published_numbers_with_reducers_and_several_metrics(tmp_path: Path) -> None:
    std = {"std": {"name": "std", "value": 0.4}, "pkg/mean": {"name": "mean", "value": 0.5}, "stderr": {"value": 0.1}}
    head = header(
        published("match", value=0.75),
        published("match", value=0.9, reducer="pass_at_2"),
        published("tone", "judge", metrics=std, reducer="mean"),
    )
    data = load_json(tmp_path, sample(scores={"match": "C", "judge": {"tone": 1}}), head=head)
    assert sorted(data.aggregates.select("metric", "estimate", "std_error").rows()) == [
        ("judge/tone", 0.5, 0.1),
        ("judge/tone[std]", 0.4, None),
        ("match", 0.75, 0.25),
        ("match[pass_at_2,accuracy]", 0.9, 0.25),
    ]
    assert only(data.aggregates, metric="match")["n"] == 4  # after the epochs were reduced
    assert only(data.metrics, primary=True)["metric"] == "match"
    assert only(data.aggregates, metric="match")["date"].isoformat() == "2026-02-03"


def test_headline_is_the_primary_metric(tmp_path: Path) -> None:
    head = header(published("match"), published("tone", "judge"))
    head["results"] = {
        "scores": [published("match"), published("tone", "judge")],
        "headline": {"scorer": "judge", "score": "tone"},
    }
    data = load_json(tmp_path, sample(scores={"match": "C", "judge": {"tone": 3}}), head=head)
    assert only(data.metrics, primary=True)["metric"] == "judge/tone"


def test_second_of_two_like_scorers_is_no_key_of_the_first(tmp_path: Path) -> None:
    """Older logs: name `match1`, scorer `match`."""
    head = header(published("match"), published("match1", "match", value=0.0))
    data = load_json(tmp_path, sample(1, scores={"match": "C", "match1": "I"}), failed(2), head=head)
    assert sorted(set(data.outcomes["metric"])) == ["match", "match1"]
    assert sorted(data.aggregates.select("metric", "estimate").rows()) == [("match", 1.0), ("match1", 0.0)]


def test_older_logs_with_one_score_and_one_scorer(tmp_path: Path) -> None:
    head = header()
    head["results"] = {
        "scorer": {"name": "includes", "params": {}},
        "metrics": {
            "accuracy": {"name": "accuracy", "value": 0.5},
            "bootstrap_std": {"name": "bootstrap_std", "value": 0.3},
        },
    }
    samples = [sample(1), sample(2), sample(3)]
    for one, value in zip(samples, ("C", "I"), strict=False):
        del one["scores"]
        one |= {"score": {"value": value, "answer": "4"}, "transcript": {"events": [], "content": {}}}
    data = load_json(tmp_path, *samples, head=head)
    assert cells(data) == [
        ("1", 0, "includes", "scored", 1.0),
        ("2", 0, "includes", "scored", 0.0),
        ("3", 0, "includes", "unscored", None),
    ]
    row = only(data.aggregates)
    assert (row["metric"], row["estimate"], row["std_error"]) == ("includes", 0.5, 0.3)


@pytest.mark.parametrize("samples", [None, []], ids=["null", "empty"])
@pytest.mark.parametrize("status", ["cancelled", "error"])
def test_cancelled_logs_without_samples(tmp_path: Path, samples: object, status: str) -> None:
    head = header(published("match", value=0.5), status=status) | {"error": {"message": "KeyboardInterrupt()"}}
    data = load(json_log(tmp_path / "log.json", head, samples))
    assert data.outcomes.is_empty()
    run = only(data.runs)
    assert (run["status"], run["n_scored"]) == (status, 0)
    assert "KeyboardInterrupt" in str(run["note"])
    assert only(data.aggregates)["estimate"] == 0.5
    assert only(data.metrics)["kind"] == "bounded"
    assert "holds no samples" in messages(data)
    assert f"ended with status {status}" in messages(data)


def test_count_of_samples_that_differs_from_the_logs_own_is_reported(tmp_path: Path) -> None:
    head = header()
    head["results"] = {"total_samples": 12, "completed_samples": 11, "scores": []}
    assert "the log counts 12 samples and holds 1" in messages(load_json(tmp_path, sample(scores={"s": 1}), head=head))


def test_members_in_another_order_make_the_same_log(tmp_path: Path) -> None:
    """The samples stand before the header: two passes."""
    head = header(published("match"))
    samples = [failed(1), sample(2, scores={"match": "C"})]
    odd = tmp_path / "odd.json"
    odd.write_text(json.dumps({"status": "success", "samples": samples, **head}), encoding="utf-8")
    assert cells(load(odd)) == cells(load(json_log(tmp_path / "log.json", head, samples)))


def test_reductions_are_not_read_as_samples(tmp_path: Path) -> None:
    head = header(published("match")) | {
        "reductions": [{"scorer": "match", "samples": [{"value": 1.0, "sample_id": 9}]}]
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps(head | {"samples": [sample(1, scores={"match": "I"})]}), encoding="utf-8")
    assert cells(load(path)) == [("1", 0, "match", "scored", 0.0)]


def test_kind_of_a_metric_follows_from_the_scores_seen(tmp_path: Path) -> None:
    samples = [sample(n, scores={"letter": grade, "part": n / 4, "points": 10 * n}) for n, grade in enumerate("CI")]
    data = load_json(tmp_path, *samples, sample(9, scores={"letter": "C", "part": 0, "points": 0}))
    kinds = {row["metric"]: (row["kind"], row["low"], row["high"]) for row in data.metrics.iter_rows(named=True)}
    assert kinds == {
        "letter": ("binary", 0.0, 1.0),
        "part": ("bounded", 0.0, 1.0),
        "points": ("continuous", None, None),
    }


def plan(*paths: Path) -> tuple[list[str], list[Problem]]:
    parts = list(LOADER.plan(paths))
    kept = [part.path.name for part in parts if isinstance(part, Source)]
    return kept, [part for part in parts if isinstance(part, Problem)]


def test_of_retries_the_latest_success_is_kept(tmp_path: Path) -> None:
    def log(name: str, status: str, completed: str, **spec: object) -> Path:
        head = header(status=status, **spec) | {"stats": {"completed_at": completed}}
        return json_log(tmp_path / name, head, [])

    paths = [
        log("1.json", "error", "2026-02-03T01:00:00+00:00"),
        log("2.json", "success", "2026-02-03T02:00:00+00:00"),
        log("3.json", "success", "2026-02-03T05:00:00+02:00"),  # 03:00 UTC
        log("4.json", "cancelled", "2026-02-03T04:00:00+00:00"),
        log("5.json", "error", "2026-02-03T01:00:00+00:00", model="openai/other"),
        log("6.json", "started", "", task_id="t2"),
        log("7.json", "success", "", task_id=""),
        log("8.json", "success", "", task_id=""),
    ]
    kept, problems = plan(*paths)
    assert kept == ["3.json", "5.json", "6.json", "7.json", "8.json"]
    assert [(Path(problem.path).name, problem.severity) for problem in problems] == [
        (f"{n}.json", "note") for n in (1, 2, 4)
    ]
    assert "3.json (success), which is kept" in problems[0].message


def test_unreadable_file_is_planned_and_reported_when_read(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04 and no more")
    assert plan(path) == (["log.eval"], [])


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("logs.json", {"a.eval": header()}),
        ("listing.json", {"a.eval": {"eval_id": "e", "task": "t", "task_id": "t1", "status": "success"}}),
        ("eval-set.json", {"eval_set_id": "s", "tasks": [{"task_id": "t1"}]}),
    ],
)
def test_manifests_are_passed_over(tmp_path: Path, name: str, content: object) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(content), encoding="utf-8")
    match = LOADER.sniff(read_head(path))
    assert match is not None
    assert match.skip


def test_other_archives_are_not_claimed(tmp_path: Path) -> None:
    assert LOADER.sniff(read_head(archive(tmp_path / "x.zip", [("data.csv", b"a,b\n")]))) is None
    renamed = archive(tmp_path / "renamed.zip", members_of(header(), [sample(scores={"s": 1})]))
    assert LOADER.sniff(read_head(renamed)) is not None
    assert load(renamed).outcomes.height == 1


WHOLE = json.dumps(header(published("match")) | {"samples": [sample(1, scores={"match": "C"})]})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (WHOLE[:-30].encode(), "is not valid JSON"),
        (WHOLE[:200].encode(), "is not valid JSON"),
        (b"", "empty"),
        (WHOLE.replace("question", "fr\xe4ge").encode("latin-1"), "not utf-8 text"),
        (b'{"version": 2, "status": "success", "plan": {}}', "names no task and model"),
        (b'[{"status": "success"}]', "is a list"),
        (WHOLE.replace('"id": 1,', "").encode(), "has no id"),
        (WHOLE.replace('"epoch": 1,', '"epoch": 0,').encode(), "no epoch from 1"),
        (WHOLE.replace('"epoch": 1,', '"epoch": "x",').encode(), "no epoch from 1"),
        (json.dumps(header() | {"samples": [sample(1), sample("1")]}).encode(), "id and epoch that appear twice"),
    ],
    ids=["tail", "header", "empty", "encoding", "no eval", "list", "no id", "epoch 0", "epoch x", "twice"],
)
def test_damaged_json_logs_are_refused_by_name(tmp_path: Path, content: bytes, expected: str) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=expected) as error:
        load(path)
    assert "bad.json" in str(error.value)


def test_what_is_no_sample_is_left_out_and_named(tmp_path: Path) -> None:
    data = load(json_log(tmp_path / "log.json", header(), ["x", sample(1, scores={"s": 1})]))
    assert data.outcomes.height == 1
    assert "1 of 2 samples are dropped (a bare text): samples[0]" in str(data.problems)


def test_bare_nan_and_infinity_anywhere_are_read(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    entry = published("match", value=NAN)
    text = json.dumps(header(entry) | {"samples": [sample(1, scores={"match": NAN}, total_time=float("inf"))]})
    assert "NaN" in text
    assert "Infinity" in text
    path.write_text(text, encoding="utf-8")
    data = load(path)
    assert only(data.outcomes)["status"] == "unscored"
    row = only(data.aggregates)
    assert (row["estimate"], row["std_error"], row["value_raw"]) == (None, None, "nan")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", "a|b", "a\nb", "=cmd()", "../../etc/passwd", "ü\u202e"])
def test_hostile_names_are_data(tmp_path: Path, name: str) -> None:
    head = header(model=name, task=name)
    data = load_json(tmp_path, sample(name, scores={name: "C"}, metadata={"category": name, "key": name}), head=head)
    row = only(data.outcomes)
    assert {row[column] for column in ("model", "benchmark", "item", "metric", "scenario", "key")} == {name}


def test_halves_of_surrogate_pairs_in_messages_do_not_cost_the_log(tmp_path: Path) -> None:
    data = load_json(
        tmp_path, failed(1, message="cut \ud83d"), sample(2, scores={"s": "\ud83d"}, metadata={"note": "\ud83d"})
    )
    assert data.outcomes.filter(status="error")["status_reason"].to_list() == ["cut \ufffd"]


def test_rows_are_handed_on_while_the_log_is_read(tmp_path: Path) -> None:
    """Memory is bounded by a batch: the first rows come before a fault further on is met."""
    head = json.dumps(header(published("s")))[:-1]
    many = ", ".join(json.dumps(sample(n, scores={"s": 1})) for n in range(BATCH_ROWS + 1))
    path = tmp_path / "log.json"
    path.write_text(f'{head}, "samples": [{many}, {{"cut', encoding="utf-8")
    parts = LOADER.read(Source(path=path))
    first = next(part for part in parts if isinstance(part, Frame))
    assert 0 < first.frame.height <= BATCH_ROWS
    with pytest.raises(UnreadableFileError):
        list(parts)
