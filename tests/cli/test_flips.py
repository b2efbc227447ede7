"""`evalstats flips`: a view of a comparison, of a saved one too; texts come from the files and go nowhere else."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.analysis.saved import load_result
from evalstats.errors import CannotAnswerError, InputError
from tests.cli.running import run

PHRASE = "the answer in full"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of which the new one loses eight items of mathematics and gains two of law; answers are texts."""
    for name in ("old", "new"):
        rows: list[dict[str, Any]] = []
        for k in range(60):
            right = not (k < 8 and name == "new") and not (30 <= k < 32 and name == "old")
            text = f"{name} says {PHRASE}, {k}"
            shared = {"id": f"q{k}", "model": name, "category": "maths" if k < 30 else "law", "correct": int(right)}
            rows.append({**shared, "question": f"{k} + {k}?", "expected": str(2 * k), "response": text})
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_files_one_file_a_store_and_a_saved_comparison_show_the_same(files: Path) -> None:
    text = run("flips", "old.jsonl", "new.jsonl", "--no-color", "-q").stdout
    assert text.startswith("8 LOST, 2 GAINED: new changed 10 items of 60 against old.")
    both = files / "both.jsonl"
    both.write_text("\n".join((files / f"{name}.jsonl").read_text() for name in ("old", "new")))
    assert run("flips", both, "--baseline", "old", "--candidate", "new", "--no-color", "-q").stdout == text
    run("ingest", "old.jsonl", "new.jsonl", "--store", "store")
    assert run("flips", "old", "new", "--store", "store", "--no-color", "-q").stdout == text
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    assert run("flips", "r.json", "--no-color", "-q").stdout == text


def test_the_first_screen_fits_and_names_the_slice(files: Path) -> None:
    lines = run("flips", "old.jsonl", "new.jsonl", "--no-color").stdout.splitlines()
    assert len(lines) <= 18
    assert all(len(line) <= 80 for line in lines)
    text = " ".join(lines)
    assert "Losses concentrate in category=maths: 8 of 8, on 30 of 60 items (p" in text
    assert lines[-1] == "More: --full (all items), --texts (what was asked and answered), --report FILE."
    assert len([line for line in lines if line.startswith("q")]) == 6
    full = run("flips", "old.jsonl", "new.jsonl", "--no-color", "--full").stdout
    assert len([line for line in full.splitlines() if line.startswith("q")]) == 10


def test_every_form_and_the_table_of_python(files: Path) -> None:
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    values = json.loads(run("flips", "r.json", "--format", "json").stdout)
    assert (values["n_items"], len(values["flips"]), values["loss_slices"][0]["level"]) == (60, 10, "maths")
    csv = pl.read_csv(run("flips", "r.json", "--format", "csv").stdout.encode())
    saved: Any = load_result("r.json")
    assert csv["item"].to_list() == saved.flips()["item"].to_list() == [row["item"] for row in values["flips"]]
    for style in ("markdown", "html", "latex"):
        assert "q0" in run("flips", "r.json", "--format", style).stdout


def test_texts_are_read_from_the_files_and_stand_in_no_saved_result(files: Path) -> None:
    shown = run("flips", "old.jsonl", "new.jsonl", "--texts", "--no-color").stdout
    assert "Question: 0 + 0?" in shown
    assert "Expected: 0" in shown
    assert f"old says {PHRASE}, 0" in shown
    assert f"new says {PHRASE}, 0" in shown
    run("compare", "old.jsonl", "new.jsonl", "--texts", "--format", "json", "-o", "r.json")
    assert PHRASE not in (files / "r.json").read_text()
    run("ingest", "old.jsonl", "new.jsonl", "--store", "store")
    assert PHRASE in run("flips", "old", "new", "--store", "store", "--texts").stdout
    assert PHRASE in run("flips", "r.json", "--texts").stdout
    assert PHRASE in run("flips", "r.json", "--texts", "--format", "csv").stdout
    cut = run("flips", "r.json", "--texts", "--text-length", 8).stdout
    assert "old says…" in cut
    assert PHRASE not in cut


def test_a_saved_comparison_finds_its_files_where_they_are_said_to_be(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    (files / "elsewhere").mkdir()
    monkeypatch.chdir(files / "elsewhere")
    with pytest.raises(InputError, match="2 sources of these items cannot be found again"):
        run("flips", "../r.json", "--texts")
    assert PHRASE in run("flips", "../r.json", "--texts", "--source", "..").stdout
    with pytest.raises(InputError, match="add --texts"):
        run("flips", "../r.json", "--source", "..")


def test_a_saved_comparison_leads_nowhere_else(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever wrote it may name any path; only what lies in the working folder is opened, though its digest be right."""
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    values = json.loads((files / "r.json").read_text())
    (files / "below").mkdir()
    monkeypatch.chdir(files / "below")
    for where in ("..", str(files)):
        values["origin"]["settings"]["files"] = {"data": [f"{where}/old.jsonl", f"{where}/new.jsonl"]}
        Path("r.json").write_text(json.dumps(values))
        with pytest.raises(InputError, match="2 sources of these items cannot be found again in this folder"):
            run("flips", "r.json", "--texts")
    assert PHRASE in run("flips", "r.json", "--texts", "--source", "..").stdout


def test_a_file_that_changed_is_told(files: Path) -> None:
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    path = files / "new.jsonl"
    path.write_text(path.read_text().replace("says", "said"))
    with pytest.raises(
        InputError, match=r"1 source of these items cannot be found again in .*changed since it was read"
    ):
        run("flips", "r.json", "--texts")


def test_a_pseudonymised_store_and_merged_rows_refuse_in_words(files: Path) -> None:
    run("ingest", "old.jsonl", "new.jsonl", "--store", "store", "--anonymize")
    with pytest.raises(InputError, match="a pseudonymised store keeps none"):
        run("flips", "old", "new", "--store", "store", "--texts")
    assert run("flips", "old", "new", "--store", "store", "-q").stdout.startswith("8 LOST")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("r.json", "new.jsonl"), "is what compare saved; flips needs one saved comparison and nothing beside it"),
        (("board.json",), "is what leaderboard saved; flips needs one saved comparison"),
        (("old.jsonl", "new.jsonl", "--texts", "--text-length", "0"), "give 1 to 20,000 characters"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(files: Path, words: tuple[str, ...], said: str) -> None:
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    run("leaderboard", "old.jsonl", "new.jsonl", "--format", "json", "-o", "board.json")
    with pytest.raises(InputError, match=said):
        run("flips", *words)


def test_several_metrics_are_refused(files: Path) -> None:
    for name in ("old", "new"):
        rows = [json.loads(line) for line in (files / f"{name}.jsonl").read_text().splitlines()]
        (files / f"{name}.jsonl").write_text("\n".join(json.dumps({**row, "passed": row["correct"]}) for row in rows))
    sides = ("old.jsonl", "new.jsonl", "--map", "item=id", "--map", "score=correct,passed")
    with pytest.raises((InputError, CannotAnswerError), match="items flip by one metric"):
        run("flips", *sides, "--metric", "correct,passed")


def test_a_page_of_a_comparison_has_the_texts_and_links_side_by_side(files: Path) -> None:
    for name in ("old", "new"):
        rows = [json.loads(line) for line in (files / f"{name}.jsonl").read_text().splitlines()]
        link = "https://viewer.example/r?a=1&b=2" if name == "new" else "javascript:alert(1)"
        hostile = [{**row, "link": link, "response": f"{row['response']} <img src=x onerror=alert(1)>"} for row in rows]
        (files / f"{name}.jsonl").write_text("\n".join(map(json.dumps, hostile)))
    run("compare", "old.jsonl", "new.jsonl", "--format", "json", "-o", "r.json")
    run("report", "r.json", "--texts", "-o", "page.html", "-q")
    page = (files / "page.html").read_text()
    assert page.count('class="es-side"') == 6
    assert f"new says {PHRASE}, 0 &lt;img src=x onerror=alert(1)&gt;" in page
    assert "<img src=x" not in page
    assert '<a href="https://viewer.example/r?a=1&amp;b=2" rel="noopener noreferrer"' in page
    assert 'href="javascript' not in page


def test_a_saved_comparison_takes_no_options_of_the_question(tmp_path: Path) -> None:
    result = es.compare(datasets.tenacious_held_out(), "baseline", "trained")
    result.save(tmp_path / "r.json")
    assert run("flips", tmp_path / "r.json").exit_code == 0
    for options in (("--metric", "nonsense"), ("--baseline", "x"), ("--seed", "9")):
        with pytest.raises(InputError, match=f"was asked already; leave out {options[0]}"):
            run("flips", tmp_path / "r.json", *options)


def test_labels_which_correct_no_item_are_no_option() -> None:
    assert "--labels" not in run("flips", "--help").stdout
    assert run("flips", "a", "b", "--labels", "x.csv").exit_code == 2


def test_csv_and_json_hold_every_item_and_each_text_as_it_is(files: Path) -> None:
    long = "=1+1\n" + "word " * 200 + "\nlast line"
    path = files / "new.jsonl"
    rows = [{**json.loads(line), "response": long} for line in path.read_text().splitlines()]
    path.write_text("\n".join(map(json.dumps, rows)))
    table = pl.read_csv(run("flips", "old.jsonl", "new.jsonl", "--texts", "--format", "csv").stdout.encode())
    assert table["candidate_answer"].to_list() == [f"'{long}"] * 10  # no formula
    values = json.loads(run("flips", "old.jsonl", "new.jsonl", "--texts", "--format", "json").stdout)
    assert [row["candidate_answer"] for row in values["flips"]] == [long] * 10
    assert "last line" not in run("flips", "old.jsonl", "new.jsonl", "--texts").stdout
