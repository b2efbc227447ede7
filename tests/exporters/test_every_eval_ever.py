"""Records of Every Eval Ever: valid by the coalition's schemas and validator, filled, honest, and read back as they were."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastjsonschema
import jsonschema
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

import evalstats as es
from evalstats.errors import InputError
from evalstats.exporters.datastore import folder_name
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table, frame_from_rows
from tests.exporters.tidy_data import rows_equal, tidy_data

SCHEMAS = Path(__file__).with_name("every_eval_ever_schemas")
# What whoever reads a file says of it.
OF_THE_READER = ("source", "source_digest", "loader", "loader_version")


def validator(name: str) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


LOG = validator("eval")
# Of samples there are thousands: this one is compiled.
valid_sample = fastjsonschema.compile(json.loads((SCHEMAS / "instance_level_eval.schema.json").read_text()))


def logs_in(folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("data/*/*/*/*.json")):
        yield path, json.loads(path.read_text())


def samples_of(path: Path) -> list[dict[str, Any]]:
    beside = path.with_name(f"{path.stem}_samples.jsonl")
    return [json.loads(line) for line in beside.read_text().splitlines()] if beside.exists() else []


def assert_valid(folder: Path) -> int:
    """Check every file by its schema, and what the coalition's validator checks besides; return the number of logs."""
    n = 0
    for path, log in logs_in(folder):
        n += 1
        LOG.validate(log)
        where = path.relative_to(folder).as_posix()
        samples = samples_of(path)
        said = log.get("detailed_evaluation_results")
        assert (said is not None) == bool(samples)
        if said is not None:
            assert said["file_path"] == where.removesuffix(".json") + "_samples.jsonl"
            assert said["total_rows"] == len(samples)
        ids = {result["evaluation_result_id"] for result in log["evaluation_results"]}
        assert len(ids) == len(log["evaluation_results"])
        for result in log["evaluation_results"]:
            config, score = result["metric_config"], result["score_details"]["score"]
            assert config.get("min_score", score) <= score <= config.get("max_score", score)
        for sample in samples:
            valid_sample(sample)
            assert (sample["evaluation_id"], sample["model_id"]) == (log["evaluation_id"], log["model_info"]["id"])
            assert sample.get("evaluation_result_id") in {None, *ids}
    everything = {path for path in folder.rglob("*") if path.is_file()}
    assert everything == {path for path in folder.glob("data/*/*/*/*") if path.suffix in (".json", ".jsonl")}
    return n


def assert_read_back(data: EvalData, folder: Path) -> None:
    back = es.read(folder)
    for name in ("outcomes", "aggregates", "metrics"):
        assert rows_equal(data.table(name), back.table(name)), name
    assert rows_equal(data.runs.drop(OF_THE_READER), back.runs.drop(OF_THE_READER))


def without_wild_numbers(data: EvalData) -> EvalData:
    """Leave out scores whose squares overflow or vanish: they come back, and have no standard error."""
    size = pl.col("score").abs()
    tame = data.outcomes.filter(pl.col("score").is_null() | (size == 0) | size.is_between(1e-100, 1e150))
    return replace(data, outcomes=tame)


@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(
    data=tidy_data().map(without_wild_numbers).filter(lambda data: data.outcomes["run"].n_unique() == data.runs.height)
)
def test_whatever_the_tables_hold_the_records_are_valid_and_read_back(data: EvalData) -> None:
    counts = {f"n_{status}": (pl.col("status") == status).sum() for status in ("scored", "error", "unscored")}
    counted = data.outcomes.group_by("run").agg(**counts)
    runs = data.runs.drop(list(counts)).join(counted, on="run").select(data.runs.columns)
    data = replace(data, runs=runs.with_columns(pl.col(list(counts)).cast(pl.Int64)))
    with tempfile.TemporaryDirectory() as folder:
        es.export(data, folder, to="eee")
        assert assert_valid(Path(folder)) == data.runs.height
        assert_read_back(data, Path(folder))


@pytest.mark.parametrize("name", ["every_eval_ever", "lm_eval", pytest.param("tau_bench", marks=pytest.mark.slow)])
def test_real_files_of_any_format_become_valid_records(shared_data: Path, tmp_path: Path, name: str) -> None:
    data = es.read(shared_data / name)
    es.export(data, tmp_path, to="eee")
    assert assert_valid(tmp_path) == data.runs.height
    assert_read_back(data, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json*")}
    again = es.export(es.read(shared_data / name), tmp_path, to="eee")
    assert "were there already" in again.wrote
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json*")} == before


def test_records_that_were_read_from_records_are_the_same_again(shared_data: Path, tmp_path: Path) -> None:
    es.export(es.read(shared_data / "every_eval_ever"), tmp_path / "one", to="eee")
    es.export(es.read(tmp_path / "one"), tmp_path / "two", to="eee")
    names = [
        sorted(path.relative_to(where).parts[:4] for path, _ in logs_in(where))
        for where in (tmp_path / "one", tmp_path / "two")
    ]
    assert names[0] == names[1]
    scores = [
        sorted(
            json.dumps(
                [
                    log["evaluation_id"],
                    [(r["metric_config"], r["score_details"]["score"]) for r in log["evaluation_results"]],
                ]
            )
            for _, log in logs_in(where)
        )
        for where in (tmp_path / "one", tmp_path / "two")
    ]
    assert scores[0] == scores[1]


def test_a_large_benchmark_of_many_models_is_written_and_read_back(shared_data: Path, tmp_path: Path) -> None:
    data = es.read(shared_data / "mmlu_pro", where={"category": "law"})
    runs = data.outcomes["run"].unique().sort().head(3)
    part = EvalData(
        outcomes=data.outcomes.filter(pl.col("run").is_in(runs.to_list())),
        runs=data.runs.filter(pl.col("run").is_in(runs.to_list())),
        metrics=data.metrics,
    )
    es.export(part, tmp_path, to="eee", developer="someone")
    assert assert_valid(tmp_path) == 3
    back = es.read(tmp_path)
    assert rows_equal(part.outcomes, back.outcomes)
    own = {run: sorted(frame["score"].drop_nulls().to_list()) for (run,), frame in part.outcomes.group_by("run")}
    for _, log in logs_in(tmp_path):
        (result,) = log["evaluation_results"]
        scores = own[json.loads(log["source_metadata"]["additional_details"]["evalstats"])["shared"]["run"]]
        assert result["score_details"]["score"] == pytest.approx(sum(scores) / len(scores))


def test_wildbench_is_valid_though_its_runs_hold_many_models(shared_data: Path, tmp_path: Path) -> None:
    data = es.read(shared_data / "wildbench")
    # A fortieth of its 1,024 tasks and a third of its models will do; published figures become a file for each run.
    kept = [data.outcomes[name].unique().sort().gather_every(n).implode() for name, n in (("item", 40), ("model", 3))]
    outcomes = data.outcomes.filter(pl.col("item").is_in(kept[0]), pl.col("model").is_in(kept[1]))
    figures = data.aggregates.head(12)
    runs = data.runs.filter(pl.col("run").is_in([*outcomes["run"], *figures["run"]]))
    data = replace(data, outcomes=outcomes, aggregates=figures, runs=runs)
    done = es.export(data, tmp_path, to="eee")
    assert_valid(tmp_path)
    assert any("becomes a run for each of them" in note for note in done.notes)
    assert rows_equal(data.outcomes, es.read(tmp_path).outcomes)


def rows(*rows: dict[str, Any]) -> pl.DataFrame:
    fixed = {"run": "r", "model": "org/m", "system": "org/m", "benchmark": "b", "metric": "acc", "status": "scored"}
    return frame_from_rows([{**fixed, **row} for row in rows], "outcomes")


RUNS = frame_from_rows(
    [{"run": "r", "model": "org/m", "system": "org/m", "benchmark": "b", "harness": "h", "temperature": 0.5}], "runs"
)
ACCURACY = frame_from_rows(
    [
        {
            "benchmark": "b",
            "metric": "acc",
            "kind": "binary",
            "low": 0.0,
            "high": 1.0,
            "higher_is_better": True,
            "primary": True,
        }
    ],
    "metrics",
)


def twenty(**more: Any) -> EvalData:
    return EvalData(
        outcomes=rows(*({"item": str(k), "score": float(k % 4 > 0), **more} for k in range(20))),
        runs=RUNS,
        metrics=ACCURACY,
    )


def only_log(folder: Path) -> dict[str, Any]:
    ((_, log),) = logs_in(folder)
    return log


def test_a_score_carries_its_interval_and_says_how_it_was_made(tmp_path: Path) -> None:
    es.export(twenty(), tmp_path, to="eee", organization="We", relationship="third_party")
    log = only_log(tmp_path)
    (result,) = log["evaluation_results"]
    details = result["score_details"]
    # Wilson's interval and p(1 - p)/n from their formulas.
    n, p, z = 20, 0.75, 1.959963984540054
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    interval = details["uncertainty"]["confidence_interval"]
    assert details["score"] == p
    assert (interval["lower"], interval["upper"]) == pytest.approx((middle - reach, middle + reach))
    assert interval["confidence_level"] == 0.95
    assert interval["method"].startswith("Wilson (evalstats ")
    assert details["uncertainty"]["num_samples"] == 20
    scores = [1.0] * 15 + [0.0] * 5
    assert details["uncertainty"]["standard_deviation"] == pytest.approx(
        (sum((x - p) ** 2 for x in scores) / 19) ** 0.5
    )
    assert details["uncertainty"]["standard_error"]["method"].startswith("analytic (evalstats ")
    assert result["metric_config"] | {"additional_details": {}} == {
        "metric_id": "acc", "metric_name": "acc", "lower_is_better": False, "min_score": 0.0, "max_score": 1.0,
        "score_type": "binary",
        "additional_details": {},
    }  # fmt: skip
    assert result["generation_config"]["generation_args"] == {"temperature": 0.5}
    assert log["source_metadata"]["source_organization_name"] == "We"
    assert log["source_metadata"]["evaluator_relationship"] == "third_party"
    assert log["eval_library"] == {"name": "h", "version": "unknown"}


def test_clusters_that_the_run_declares_widen_the_interval_and_are_named(tmp_path: Path) -> None:
    outcomes = rows(*({"item": str(k), "score": float(k // 4 % 2), "passage": f"p{k // 4}"} for k in range(40)))
    runs = RUNS.with_columns(dependence=pl.Series([["passage"]]))
    es.export(EvalData(outcomes=outcomes, runs=runs, metrics=ACCURACY), tmp_path, to="eee")
    (result,) = only_log(tmp_path)["evaluation_results"]
    assert "clustered by passage" in result["score_details"]["uncertainty"]["confidence_interval"]["method"]
    expected = es.score(EvalData(outcomes=outcomes, runs=runs, metrics=ACCURACY), "r")
    assert result["score_details"]["uncertainty"]["confidence_interval"]["lower"] == expected.conf_low


def test_the_four_states_stay_apart(tmp_path: Path) -> None:
    outcomes = rows(
        {"item": "a", "score": 1.0},
        {"item": "b", "score": 0.0},
        {"item": "c", "status": "error", "status_reason": "timeout"},
        {"item": "d", "status": "unscored", "status_reason": "no answer found"},
        {"run": "other", "model": "org/n", "system": "org/n", "item": "e", "score": 1.0},
    )
    more = RUNS.with_columns(run=pl.lit("other"), model=pl.lit("org/n"), system=pl.lit("org/n"))
    done = es.export(EvalData(outcomes=outcomes, runs=pl.concat([RUNS, more]), metrics=ACCURACY), tmp_path, to="eee")
    ((path, log),) = [(path, log) for path, log in logs_in(tmp_path) if log["model_info"]["id"] == "org/m"]
    (result,) = log["evaluation_results"]
    details = result["score_details"]["details"]
    named = {name: details[name] for name in ("n_scored", "n_error", "n_unscored", "n_missing", "n_items")}
    assert named == {"n_scored": "2", "n_error": "1", "n_unscored": "1", "n_missing": "1", "n_items": "2"}
    assert result["score_details"]["score"] == 0.5
    samples = {sample["sample_id"]: sample for sample in samples_of(path)}
    assert {item: sample.get("error") for item, sample in samples.items()} == {
        "a": None, "b": None, "c": "timeout", "d": "unscored: no answer found",
    }  # fmt: skip
    assert [samples[item]["evaluation"]["is_correct"] for item in "abcd"] == [True, False, False, False]
    assert done.notes == ()


def test_a_published_number_keeps_its_own_uncertainty_and_is_filled_in_only_where_the_samples_give_it(
    tmp_path: Path,
) -> None:
    def number(estimate: float, **more: Any) -> pl.DataFrame:
        row = {
            "run": "r",
            "model": "org/m",
            "benchmark": "b",
            "metric": "acc",
            "estimate": estimate,
            "setting": "lab",
            **more,
        }
        return frame_from_rows([row], "aggregates")

    def results(aggregates: pl.DataFrame, name: str) -> list[dict[str, Any]]:
        data = EvalData(outcomes=twenty().outcomes, runs=RUNS, metrics=ACCURACY, aggregates=aggregates)
        es.export(data, tmp_path / name, to="eee")
        back = es.read(tmp_path / name)
        assert rows_equal(aggregates, back.aggregates)
        assert {
            sample["evaluation_result_id"] for path, _ in logs_in(tmp_path / name) for sample in samples_of(path)
        } <= {each["evaluation_result_id"] for each in only_log(tmp_path / name)["evaluation_results"]}
        return only_log(tmp_path / name)["evaluation_results"]

    (rounded,) = results(number(0.7501), "rounded")
    assert rounded["score_details"]["score"] == 0.7501
    assert rounded["score_details"]["uncertainty"]["confidence_interval"]["method"].startswith("Wilson")
    (own,) = results(number(0.75, std_error=0.2, method="published; standard error: bootstrap", n=7), "own")
    assert own["score_details"]["uncertainty"] == {
        "num_samples": 7,
        "standard_error": {"value": 0.2, "method": "bootstrap"},
    }
    (part,) = results(number(0.75, std_error=0.2, method="published; standard error: bootstrap", n=20), "part")
    assert part["score_details"]["uncertainty"]["standard_error"] == {"value": 0.2, "method": "bootstrap"}
    assert part["score_details"]["uncertainty"]["confidence_interval"]["method"].startswith("Wilson (evalstats ")
    other, mine = results(number(0.6), "other")
    assert "uncertainty" not in other["score_details"]
    assert mine["score_details"]["score"] == 0.75


def test_a_direction_nobody_declared_is_said_to_be_assumed(tmp_path: Path) -> None:
    metrics = ACCURACY.with_columns(higher_is_better=pl.lit(None, dtype=pl.Boolean))
    es.export(EvalData(outcomes=twenty().outcomes, runs=RUNS, metrics=metrics), tmp_path, to="eee")
    config = only_log(tmp_path)["evaluation_results"][0]["metric_config"]
    assert config["lower_is_better"] is False
    assert config["additional_details"]["direction"] == "assumed, not declared"
    assert es.read(tmp_path).metrics["higher_is_better"].to_list() == [None]


def test_variants_judges_and_tasks_are_never_mixed(tmp_path: Path) -> None:
    places = [("law", "", None), ("law", "robust", None), ("math", "", "j1"), ("math", "", "j2")]
    outcomes = rows(
        *(
            {"item": str(k), "task": task, "variant": variant, "judge": judge, "score": float(k < 5 + n)}
            for n, (task, variant, judge) in enumerate(places)
            for k in range(10)
        )
    )
    es.export(EvalData(outcomes=outcomes, runs=RUNS, metrics=ACCURACY), tmp_path, to="eee")
    results = only_log(tmp_path)["evaluation_results"]
    assert [(each["evaluation_result_id"], each["score_details"]["score"]) for each in results] == [
        ("law/acc", 0.5), ("law/robust/acc", 0.6), ("math/acc/j1", 0.7), ("math/acc/j2", 0.8),
    ]  # fmt: skip


def test_the_order_of_rows_changes_no_score(tmp_path: Path) -> None:
    data = twenty()
    shuffled = EvalData(outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=1), runs=RUNS, metrics=ACCURACY)
    es.export(data, tmp_path / "one", to="eee")
    es.export(shuffled, tmp_path / "two", to="eee")
    first, second = (only_log(tmp_path / name)["evaluation_results"] for name in ("one", "two"))
    assert first == second


def test_files_are_named_after_their_content_and_not_after_the_clock(tmp_path: Path) -> None:
    es.export(twenty(), tmp_path / "one", to="eee")
    es.export(twenty(), tmp_path / "two", to="eee")
    names = [[path.relative_to(where) for path, _ in logs_in(where)] for where in (tmp_path / "one", tmp_path / "two")]
    assert names[0] == names[1]
    es.export(twenty(latency_s=1.0), tmp_path / "two", to="eee")
    assert len(list(logs_in(tmp_path / "two"))) == 2


@pytest.mark.parametrize(
    "name",
    [
        "../../up",
        "..",
        ".",
        "/etc/passwd",
        "a\\..\\b",
        "CON",
        "nul.txt",
        "data",
        " x. ",
        "\x00",
        "a\nb",
        "C:x",
        "x" * 400,
        "日" * 99,
        "~",
        "-rf",
    ],
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    folder = folder_name(name)
    assert folder
    assert not set('<>:"/\\|?*\x00\n') & set(folder)
    assert folder not in {".", "..", "data"}
    assert not folder.endswith((".", " "))
    assert not folder.startswith(".")
    assert len(folder.encode()) < 140
    outcomes = rows({"item": "a", "score": 1.0, "model": name, "system": name, "benchmark": name})
    es.export(EvalData(outcomes=outcomes), tmp_path / "in" / "store", to="eee")
    assert assert_valid(tmp_path / "in" / "store") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["store"]


def test_a_link_out_of_the_datastore_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "store" / "data").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="leads out of"):
        es.export(twenty(), tmp_path / "store", to="eee")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_record_that_somebody_changed_is_neither_overwritten_nor_misread(tmp_path: Path) -> None:
    es.export(twenty(), tmp_path, to="eee")
    ((path, log),) = logs_in(tmp_path)
    log["evaluation_results"][0]["score_details"]["score"] = 0.9
    path.write_text(json.dumps(log))
    with pytest.raises(InputError, match="was changed after it was exported"):
        es.export(twenty(), tmp_path, to="eee")
    beside = path.with_name(f"{path.stem}_samples.jsonl")
    lines = beside.read_text().splitlines()
    lines[0] = lines[0].replace('"score": 0.0', '"score": "lots"').replace('"score": 1.0', '"score": "lots"')
    lines[1] = lines[1].replace('"score": 1.0', '"score": 0.25')
    beside.write_text("\n".join(lines) + "\n")
    back = es.read(tmp_path)
    assert back.outcomes.height == 19
    assert 0.25 in back.outcomes["score"].to_list()
    told = " ".join(map(str, back.problems))
    assert "1 records that evalstats exported were changed since" in told
    assert "checksum differs" in told


def test_without_its_samples_a_computed_score_is_what_was_published(tmp_path: Path) -> None:
    es.export(twenty(), tmp_path, to="eee")
    next(iter(tmp_path.rglob("*_samples.jsonl"))).unlink()
    (row,) = es.read(tmp_path).aggregates.to_dicts()
    assert (row["estimate"], row["n"], row["run"]) == (0.75, 20, "r")
    assert row["conf_low"] < 0.75 < row["conf_high"]


def test_what_has_no_place_is_counted_and_named(tmp_path: Path) -> None:
    votes = check_table(
        {"run": ["v"], "battle": ["1"], "model_a": ["m"], "model_b": ["n"], "outcome": ["a"], "status": ["scored"]},
        "comparisons",
    )
    done = es.export(
        EvalData(outcomes=twenty().outcomes, runs=RUNS, metrics=ACCURACY, comparisons=votes), tmp_path / "a", to="eee"
    )
    assert any(note.startswith("1 votes have no place") and "to='parquet'" in note for note in done.notes)
    with pytest.raises(InputError, match="nothing to write as Every Eval Ever"):
        es.export(EvalData(comparisons=votes), tmp_path / "b", to="eee")
    assert not (tmp_path / "b").exists()
    with pytest.raises(InputError, match="one of first_party"):
        es.export(twenty(), tmp_path / "b", to="eee", relationship="enemy")
    plain = twenty(model="m", system="m")
    assert any(
        "filed under the developer 'unknown'" in note for note in es.export(plain, tmp_path / "c", to="eee").notes
    )
    assert es.export(plain, tmp_path / "d", to="eee", developer={"m": "Org"}).notes == ()
    assert only_log(tmp_path / "d")["model_info"]["developer"] == "Org"


def test_the_coalitions_own_validator_accepts_them(shared_data: Path, tmp_path: Path) -> None:
    program = os.environ.get("EVALSTATS_EEE_PYTHON")
    if program is None:
        pytest.skip(
            "every-eval-ever 0.3.0 needs Python 3.12 and rich below 15: set EVALSTATS_EEE_PYTHON to a python that has it"
        )
    for name in ("every_eval_ever", "lm_eval", "tau_bench"):
        es.export(es.read(shared_data / name), tmp_path / name, to="eee", developer="someone")
        files = sorted(str(path.relative_to(tmp_path / name)) for path in (tmp_path / name).glob("data/*/*/*/*"))
        command = [program, "-m", "every_eval_ever", "validate", "--format", "json", *files]
        done = subprocess.run(command, cwd=tmp_path / name, capture_output=True, text=True, check=False)
        assert [
            (each["file"], each["errors"], each["warnings"])
            for each in json.loads(done.stdout)
            if each["errors"] or each["warnings"]
        ] == []
        assert done.returncode == 0
