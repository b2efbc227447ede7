"""A saved result of another version: an older one says so wherever it is shown, a newer one is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evalstats import datasets
from evalstats.analysis.overview.overview import overview
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Result
from evalstats.analysis.saved import load_result
from evalstats.cli.main import app
from evalstats.document import terminal
from evalstats.errors import InputError
from evalstats.report.examples import example
from evalstats.report.page import open_result

KINDS = ("compare", "score", "frontier")


def made_by(values: dict[str, Any], version: str) -> None:
    values.get("origin", values)["version"] = version


def saved(kind: str, folder: Path, version: str, **changes: Any) -> Path:
    path = folder / f"{kind}.json"
    values = {**example(kind).to_dict(), **changes}
    made_by(values, version)
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_an_older_result_is_read_and_says_so(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = saved(kind, tmp_path, "0.0.9")
    result: Any = load_result(path)
    said = terminal.to_text(result.document(), width=80)
    assert f"computed by evalstats 0.0.9, and {toolkit_version()} only shows it" in " ".join(said.split())
    open_result(str(path), kind=kind).show("answer")
    assert "computed by evalstats 0.0.9" in capsys.readouterr().out
    result.save(path)
    again: Any = load_result(path)
    assert again.notes == result.notes, "once, however often it is saved and read"


@pytest.mark.parametrize("version", ["0.1.1", "0.2", "10.0.0", "0.2.0rc1"])
def test_a_newer_result_is_refused(version: str, tmp_path: Path) -> None:
    path = saved("score", tmp_path, version)
    with pytest.raises(
        InputError, match=rf"score.json: was saved by evalstats {version}, and this is .* update evalstats"
    ):
        load_result(path)
    done = CliRunner().invoke(app, ["show", str(path)])
    assert isinstance(done.exception, InputError)


def test_this_version_and_an_unknown_one_are_read_as_they_are(tmp_path: Path) -> None:
    for version in (toolkit_version(), "", "unknown", f"{toolkit_version()}+local"):
        result: Any = load_result(saved("score", tmp_path, version))
        assert result.notes == example("score").notes  # type: ignore[attr-defined]  # a Score, which has them


def test_an_older_result_in_another_form_is_refused_with_its_version(tmp_path: Path) -> None:
    path = saved("score", tmp_path, "0.0.9", n_items="many")
    with pytest.raises(
        InputError, match=r"saved by evalstats 0\.0\.9, in a form that .* does not read \(.*n_items.*compute it again"
    ):
        load_result(path)
    with pytest.raises(InputError, match=r"score\.json: not a Score of this version"):
        load_result(saved("score", tmp_path, toolkit_version(), n_items="many"))


def test_each_answer_of_an_older_overview_says_so(tmp_path: Path) -> None:
    values = overview(datasets.tenacious_held_out()).to_dict()
    for answer in values["answers"]:
        made_by(answer["result"], "0.0.9")
    path = tmp_path / "overview.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    result: Any = load_result(path)
    assert all("evalstats 0.0.9" in each.result.notes[0].text for each in result.answers)


def test_rows_that_are_results_carry_the_note(tmp_path: Path) -> None:
    from evalstats.analysis.score.result import Scores

    row: Any = example("score")
    values = Scores(rows=(row, row)).to_dict()
    for each in values["rows"]:
        made_by(each, "0.0.9")
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(values), encoding="utf-8")
    result: Result = load_result(path)
    assert "evalstats 0.0.9" in terminal.to_text(result.document(), width=80, full=True)
