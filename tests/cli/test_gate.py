"""`compare --fail-on`: the exit status and what is printed with it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import InputError
from evalstats.stats.paired.binary import PairedCounts
from evalstats.stats.paired.effect_sizes import tango_margin_test

RUN = CliRunner()


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    sides = {"old": [1, 0] * 40, "good": [1] * 78 + [0, 0], "bad": [0, 0, 0, 1] * 20}
    for name, scores in sides.items():
        rows = [{"model": name, "item": f"q{i}", "score": score} for i, score in enumerate(scores)]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def compare(runs: Path, candidate: str, *options: str):
    return RUN.invoke(app, ["compare", str(runs / "old.jsonl"), str(runs / f"{candidate}.jsonl"), *options])


@pytest.mark.parametrize(
    ("candidate", "options", "status"),
    [
        ("good", ["--fail-on", "worse"], 0),
        ("bad", ["--fail-on", "worse"], 1),
        ("good", ["--fail-on", "not-noninferior", "--margin", "2pp"], 0),
        ("bad", ["--fail-on", "not-noninferior", "--margin", "2pp"], 1),
        ("bad", ["--fail-on", "inconclusive"], 1),
        ("bad", [], 0),
    ],
)
def test_exit_status(runs, candidate, options, status):
    assert compare(runs, candidate, *options).exit_code == status


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fail-on", "bad"], "worse, worse-overall, not-noninferior"),
        (["--fail-on", "not-noninferior"], "needs a margin"),
    ],
)
def test_a_rule_that_cannot_be_applied_is_bad_usage(runs, options, words):
    found = compare(runs, "good", *options)
    assert found.exception is not None
    assert words in str(found.exception)


def test_a_gate_does_not_guess_which_side_is_the_baseline(runs, tmp_path):
    both, plan = tmp_path / "both.jsonl", tmp_path / "evalstats.toml"
    both.write_text("\n".join((runs / f"{name}.jsonl").read_text() for name in ("good", "bad")))
    found = RUN.invoke(app, ["compare", str(both), "--fail-on", "worse"])
    assert isinstance(found.exception, InputError)
    assert found.exception.exit_status == 2
    assert RUN.invoke(app, ["compare", str(both)]).exit_code == 0
    plan.write_text('[plan]\nbaseline = "good"\n')
    assert RUN.invoke(app, ["compare", str(both), "--fail-on", "worse", "--plan", str(plan)]).exit_code == 1


def test_junit_is_written_whether_or_not_the_gate_passes(runs, tmp_path):
    file = tmp_path / "junit.xml"
    assert compare(runs, "bad", "--fail-on", "worse", "--junit", str(file)).exit_code == 1
    assert "<failure" in file.read_text()


def test_a_copy_of_a_run_is_no_second_run(runs, tmp_path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((runs / "old.jsonl").read_bytes())
    found = RUN.invoke(app, ["compare", str(runs / "old.jsonl"), str(copy), "--margin", "5pp", "--fail-on", "worse"])
    assert "one run twice" in str(found.exception)


def test_junit_is_written_where_there_is_no_answer(runs, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(json.dumps({"model": "x", "item": f"z{i}", "score": 1}) for i in range(20)))
    file = tmp_path / "junit.xml"
    RUN.invoke(app, ["compare", str(runs / "old.jsonl"), str(other), "--fail-on", "worse", "--junit", str(file)])
    assert 'errors="1"' in file.read_text()


@pytest.mark.parametrize(
    ("style", "more"),
    [("text", []), *((style, ["--quiet"]) for style in ("text", "json", "markdown", "html", "latex"))],
)
def test_a_failed_gate_says_why_on_stderr_wherever_the_result_goes(runs, tmp_path, style, more):
    gate = ["--fail-on", "not-noninferior", "--margin", "2pp", "--format", style, *more]
    limit = 100 * tango_margin_test(PairedCounts(0, 20, 40, 20), margin=0.02).low_one_sided
    why = f"non-inferiority within 2 pp is not established (lower limit −{-limit:.1f} pp)."
    done = compare(runs, "bad", *gate)
    assert (done.exit_code, " ".join(done.stderr.split())) == (1, f"gate failed: {why}")
    output = tmp_path / "c.out"
    done = compare(runs, "bad", *gate, "--output", str(output))
    assert done.exit_code == 1
    assert done.stdout == ""
    told = "".join(done.stderr.split())
    assert told.startswith(f"gatefailed:{''.join(why.split())}Written:")
    assert told.endswith(str(output))
    assert output.read_text()


def test_a_gate_that_passed_says_why_unless_it_is_to_be_quiet(runs, tmp_path):
    file = tmp_path / "junit.xml"
    done = compare(runs, "good", "--fail-on", "not-noninferior", "--margin", "5pp", "--junit", str(file))
    assert "gate passed: the one-sided 95% lower limit of the difference is" in " ".join(done.stderr.split())
    assert "gate passed: the one-sided 95%" in file.read_text()
    assert compare(runs, "good", "--fail-on", "worse", "--quiet").stderr == ""


def test_a_gate_goes_by_the_chapters_until_they_are_ruled_out(tmp_path):
    gained = [6, 6, 5, 6, 0, 0, 0, 0, 0, 0, 0, 0]
    for name in ("old", "new"):
        rows = [
            {"item": f"{g}.{i}", "chapter": f"c{g}", "model": name, "score": int(name == "new" and i < k)}
            for g, k in enumerate(gained)
            for i in range(6)
        ]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    sides = [str(tmp_path / f"{name}.jsonl") for name in ("old", "new")]
    undeclared = RUN.invoke(app, ["compare", *sides, "--fail-on", "inconclusive"])
    assert undeclared.exit_code == 1
    assert "the verdict is inconclusive" in undeclared.stderr
    plan = tmp_path / "evalstats.toml"
    plan.write_text('[plan]\nclusters = ["none"]\n')
    for more in (["--cluster", "none"], ["--plan", str(plan)]):
        done = RUN.invoke(app, ["compare", *sides, "--fail-on", "inconclusive", *more])
        assert (done.exit_code, "gate passed" in done.stderr) == (0, True), done.stderr


def test_junit_has_an_error_where_the_gate_has_no_answer(tmp_path):
    for name, score in (("old", 0), ("new", 1)):
        lines = [json.dumps({"model": name, "item": f"q{i}", "score": score}) for i in range(3)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    file = tmp_path / "junit.xml"
    sides = [str(tmp_path / f"{name}.jsonl") for name in ("old", "new")]
    done = RUN.invoke(app, ["compare", *sides, "--fail-on", "worse", "--junit", str(file)])
    assert done.exit_code == 3
    assert "gate: no answer" in done.stderr
    assert 'errors="1"' in file.read_text()
    assert 'failures="0"' in file.read_text()
