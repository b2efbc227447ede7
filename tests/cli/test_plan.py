"""`evalstats.toml` in the working folder holds for `compare`."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app

RUN = CliRunner()
PLAN = """
[plan]
conf_level = 0.9
[[margins]]
value = "5pp"
reason = "nobody notices less"
[gate]
fail_on = ["not-noninferior", "worse"]
[map.columns]
item = "question"
score = "right"
model = "who"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    for name, scores in {"old": [1, 0] * 40, "good": [1] * 78 + [0, 0], "bad": [0, 0, 0, 1] * 20}.items():
        rows = [{"who": name, "question": f"q{i}", "right": score} for i, score in enumerate(scores)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "evalstats.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(*options: str) -> dict[str, object]:
    found = RUN.invoke(app, ["compare", "old.jsonl", "good.jsonl", "--format", "json", *options])
    assert found.exit_code == 0, found.output
    return json.loads(found.stdout)


def test_the_plan_of_the_folder_holds(folder):
    found = values()
    assert (found["conf_level"], found["margin"]) == (0.9, 0.05)
    assert found["origin"]["plan"]["source"] == "evalstats.toml"
    assert found["gate"]["rule"] == "not-noninferior and worse"
    assert RUN.invoke(app, ["compare", "old.jsonl", "bad.jsonl"]).exit_code == 1


def test_options_go_before_the_plan_and_say_so(folder):
    found = values("--margin", "8pp", "--conf-level", "0.95")
    assert found["margin"] == 0.08
    assert "Departs from the plan: margin 8pp given, 5pp declared" in [note["text"] for note in found["notes"]]
    assert len(found["origin"]["plan"]["departures"]) == 2


def test_without_the_plan_nothing_is_declared(folder):
    mapped = ["--map", "item=question", "--map", "score=right", "--map", "model=who"]
    found = values("--no-plan", *mapped)
    assert (found["conf_level"], found["margin"], found["origin"]["plan"]) == (0.95, None, None)
    assert "gate" not in found


def test_the_plans_column_map_leaves_known_formats_alone(folder, shared_data):
    files = sorted((shared_data / "tau_bench").glob("gpt-4o-airline.json.gz"))
    found = RUN.invoke(app, ["score", str(files[0])])
    assert found.exit_code == 0
    both = RUN.invoke(app, ["compare", str(files[0]), "--baseline", "gpt-4o", "--candidate", "none"])
    assert "no model, system or run 'none'" in str(both.exception)


def test_a_misspelt_plan_is_an_error(folder):
    (folder / "evalstats.toml").write_text("[plan]\nconf_levle = 0.9\n")
    found = RUN.invoke(app, ["compare", "old.jsonl", "good.jsonl"])
    assert "did you mean 'conf_level'" in str(found.exception)


def test_a_plan_of_one_benchmark_is_that_of_tables_that_name_none(folder):
    text = '[primary]\n"support" = "right"\n[[margins]]\nbenchmark = "support"\nmetric = "right"\nvalue = "5pp"\nreason = "x"\n'
    (folder / "evalstats.toml").write_text(text + PLAN.split('nobody notices less"\n')[1])
    found = values()
    assert found["margin"] == 0.05


def test_what_a_plan_declares_of_no_benchmark_of_the_data_is_said(folder):
    text = '[primary]\na = "right"\nb = "right"\n[[margins]]\nmetric = "wrong"\nvalue = "5pp"\nreason = "x"\n[map.columns]\n'
    (folder / "evalstats.toml").write_text(text + PLAN.split("[map.columns]\n")[1])
    said = [note["text"] for note in values()["notes"] if note["kind"] == "plan"]
    assert said == [
        "The plan declares the primary metric of a, b; the data name no benchmark",
        "The plan declares a margin for wrong, which the data do not hold",
    ]


def test_a_gate_that_is_not_the_plans_is_a_departure(folder):
    said = [note["text"] for note in values("--fail-on", "worse")["notes"]]
    assert "Departs from the plan: fail_on worse given, not-noninferior, worse declared" in said
