"""`compare --metric A,B`: several metrics as one family, on the shell."""

import json
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import evalstats as es
from evalstats.cli.main import app
from evalstats.document.model import Code

RUN = CliRunner()


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The candidate is right more often and costs more; a third metric has a comma in its name."""
    path = tmp_path_factory.mktemp("metrics") / "runs.csv"
    lines = ['item,model,correct,cost,"acc,none"']
    lines += [f"q{i},old,{i % 2},{1 + i % 7 / 10},{i % 3 // 2}" for i in range(80)]
    lines += [f"q{i},new,{int(i % 8 > 0)},{2 + i % 5 / 10},{i % 3 // 2}" for i in range(80)]
    path.write_text("\n".join(lines), encoding="utf-8")
    (path.parent / "map.toml").write_text('[columns]\nscore = ["correct", "cost", "acc,none"]\n', encoding="utf-8")
    (path.parent / "evalstats.toml").write_text("[metrics.cost]\nhigher_is_better = false\n", encoding="utf-8")
    return path


def compare(file: Path, *options: str):
    data = ["--baseline", "old", "--candidate", "new", "--map", str(file.parent / "map.toml")]
    plan = ["--plan", str(file.parent / "evalstats.toml")]
    return RUN.invoke(app, ["compare", str(file), *data, *plan, *options])


def test_one_answer_names_every_metric(file: Path) -> None:
    found = compare(file, "--metric", "correct,cost")
    assert found.exit_code == 0, found.output
    assert found.stdout.startswith("TRADE-OFF: new is better than old in correct and worse in cost.")
    assert max(map(len, found.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("rules", "status"), [(["worse"], 1), (["inconclusive"], 1), (["worse", "inconclusive"], 1), ([], 0)]
)
def test_a_rule_holds_for_every_metric(file: Path, tmp_path: Path, rules: list[str], status: int) -> None:
    options = [each for rule in rules for each in ("--fail-on", rule)]
    found = compare(file, "--metric", "correct,cost", *options, "--junit", str(tmp_path / "j.xml"))
    assert found.exit_code == status
    assert (tmp_path / "j.xml").read_text().count("<testcase") == 2
    if rules:
        assert "gate failed: cost: " in " ".join(found.stderr.split())


def test_json_is_what_was_computed_and_show_reads_it(file: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    assert compare(file, "--metric", "correct,cost", "--format", "json", "-o", str(path)).exit_code == 0
    found = es.load_result(path)
    assert isinstance(found, es.Comparisons)
    assert found.metrics == ("correct", "cost")
    assert RUN.invoke(app, ["show", str(path)]).stdout.startswith("TRADE-OFF")
    values = json.loads(compare(file, "--metric", "correct,cost", "--fail-on", "worse", "--format", "json").stdout)
    assert values["gate"]["exit_status"] == 1
    assert [row["about"]["name"] for row in values["rows"]] == ["correct", "cost"]


def test_the_command_that_is_told_gives_the_same(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    words = ["--baseline", "old", "--candidate", "new", "--map", "map.toml", "--metric", "acc,none,cost"]
    first = RUN.invoke(app, ["compare", "runs.csv", *words, "--format", "json"])
    told = es.Comparisons.from_dict({k: v for k, v in json.loads(first.stdout).items() if k != "gate"})
    (shell,) = [
        block.code
        for section in told.document().method
        if section.id == "code"
        for block in section.blocks
        if isinstance(block, Code) and block.language == "sh"
    ]
    again = RUN.invoke(app, [*shlex.split(shell.replace("\\\n", " "))[1:], "--format", "json"])
    assert json.loads(again.stdout)["rows"] == json.loads(first.stdout)["rows"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "correct,costs"], "no metric 'costs'"),
        (["--metric", "correct,cost", "--by", "model"], "leave out --by"),
        (
            ["--metric", "correct,cost", "--higher-is-better"],
            '[metrics."cost"] with higher_is_better in evalstats.toml',
        ),
        (["--higher-is-better"], "--map lower=cost"),
    ],
)
def test_what_cannot_be_asked_is_said_with_options(file: Path, options: list[str], words: str) -> None:
    found = compare(file, *options)
    assert found.exit_code == 2 or found.exception is not None
    assert words in " ".join(f"{found.stderr} {found.exception}".split())
