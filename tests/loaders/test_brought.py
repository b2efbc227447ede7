"""What people bring beside plain tables: spreadsheets, indexes, objects of scores, JSON in cells, rows that stand twice."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

from evalstats.errors import InputError
from evalstats.loaders import sheets
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.frames import from_frame
from evalstats.loaders.registry import read
from evalstats.schema.data import EvalData
from tests.cli.running import run
from tests.loaders.trees import encoded


def mapped(path: Path, *options: str) -> EvalData:
    return read(path, column_map=ColumnMap.from_options(options), strict=True)


_ROWS = [
    ("id", "model", "ok", "note"),
    ("q1", "a", 1, "x, y"),
    ("q2", "a", 0, None),
    ("q1", "b", 0.5, "é"),
    ("q2", "b", 1, "z"),
]
_SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "urn:oasis:names:tc:opendocument:xmlns"


def excel(path: Path, **sheets: list[tuple[Any, ...]]) -> Path:
    """Write a book of Excel, as its format's standard (ECMA-376) has it."""

    def cell(value: object) -> str:
        text = "" if value is None else str(value)
        return (
            f"<c><v>{text}</v></c>"
            if isinstance(value, int | float)
            else f'<c t="inlineStr"><is><t>{text}</t></is></c>'
        )

    names = enumerate(sheets, start=1)
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("[Content_Types].xml", "<Types/>")
        listed = "".join(f'<sheet name="{name}" sheetId="{k}" r:id="r{k}"/>' for k, name in names)
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{_SHEET}" xmlns:r="{relations}"><sheets>{listed}</sheets></workbook>'
        )
        related = "".join(
            f'<Relationship Id="r{k}" Type="{relations}/worksheet" Target="worksheets/{k}.xml"/>'
            for k in range(1, len(sheets) + 1)
        )
        package = "http://schemas.openxmlformats.org/package/2006/relationships"
        whole = f'<Relationship Id="r1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/>'
        book.writestr("_rels/.rels", f'<Relationships xmlns="{package}">{whole}</Relationships>')
        book.writestr("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{package}">{related}</Relationships>')
        for k, rows in enumerate(sheets.values(), start=1):
            lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
            book.writestr(
                f"xl/worksheets/{k}.xml", f'<worksheet xmlns="{_SHEET}"><sheetData>{lines}</sheetData></worksheet>'
            )
    return path


def libre_office(path: Path) -> Path:
    """Write a book of LibreOffice, as OpenDocument has it."""

    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        return f'<table:table-cell office:value-type="string"><text:p>{value or ""}</text:p></table:table-cell>'

    names = " ".join(f'xmlns:{name}="{_OFFICE}:{name}:1.0"' for name in ("office", "table", "text"))
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in _ROWS)
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        book.writestr("META-INF/manifest.xml", f'<manifest:manifest xmlns:manifest="{_OFFICE}:manifest:1.0"/>')
        body = f'<office:spreadsheet><table:table table:name="T">{lines}</table:table></office:spreadsheet>'
        book.writestr(
            "content.xml",
            f"<office:document-content {names}><office:body>{body}</office:body></office:document-content>",
        )
    return path


@pytest.mark.parametrize("form", ["xlsx", "ods"])
def test_a_spreadsheet_is_the_table_that_it_shows(tmp_path: Path, form: str) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    path = tmp_path / f"t.{form}"
    data = read(excel(path, Results=_ROWS, Empty=[]) if form == "xlsx" else libre_office(path), strict=True)
    assert data.outcomes.select("item", "model", "score", "note").rows() == [
        ("q1", "a", 1.0, "x, y"),
        ("q2", "a", 0.0, None),
        ("q1", "b", 0.5, "é"),
        ("q2", "b", 1.0, "z"),
    ]
    assert [problem.message.partition(" --map")[0] for problem in data.problems] == ["read with"]


def test_a_sheet_is_named_behind_its_book_and_a_title_stands_above_its_header(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    titled = [("Results of March",), ("",), *_ROWS]
    book = excel(tmp_path / "b.xlsx", New=titled, Old=_ROWS, Notes=[("a note",)])
    sheets_of = [read(f"{book}::{name}") for name in ("New", "Old")]
    assert sheets_of[0].outcomes["score"].to_list() == sheets_of[1].outcomes["score"].to_list() == [1.0, 0.0, 0.5, 1.0]
    assert sheets_of[0].outcomes["locator"][0] == "line 4"
    assert len({data.runs["source_digest"][0] for data in sheets_of}) == 2
    with pytest.raises(InputError, match="no sheet 'Odd'; it has New, Old, Notes"):
        read(f"{book}::Odd")
    (tmp_path / "t.csv").write_text("item,score\n1,1\n")
    with pytest.raises(InputError, match="only sheets of a workbook"):
        read(f"{tmp_path / 't.csv'}::Odd")


ROWS = "id,model,ok\nq1,a,1\nq1,b,0\n"
MARKDOWN = "| id | model | ok |\n|---|---|---|\n| q1 | a | 1 |\n| q1 | b | 0 |\n"


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("t.csv", f"Results of March,,\n,,\n{ROWS}", 4),
        ("t.csv", f"Results of March\r\n\r\n{ROWS}", 4),
        ("t.csv", f"# by a tool, in May\n# run 5\n{ROWS}", 4),
        ("t.csv", f"sep=;\n{ROWS.replace(',', ';')}", 3),
        ("t.md", f"# Results\n\nOf a run, in short.\n\n{MARKDOWN}\nThe end.\n", 7),
        ("t.csv", f"Results\u2028of March\n{ROWS}", 3),
        ("t.csv", f"# of May, by Ann, final\n{ROWS}", 3),
        ("t.csv", f"Results of May, by Ann, final\n{ROWS}", 3),
        ("t.csv", f"Results, March 2025\nby Ann, Bob, Cem, Dora\n\n{ROWS}", 5),
        ("t.csv", "# id,model,ok\nq1,a,pass\nq1,b,fail\n", 2),
        ("t.csv", "question,model,verdict\nq1,a,pass\nq1,b,fail\n", 2),
        ("t.csv", "#,model,ok\nq1,a,pass\nq1,b,fail\n", 2),
        ("t.csv", ROWS, 2),
    ],
)
def test_what_stands_above_a_header_is_no_part_of_the_table(tmp_path: Path, name: str, text: str, line: int) -> None:
    path = tmp_path / name
    path.write_text(text, newline="")
    data = read(path, strict=True)
    assert data.outcomes.select("item", "model", "score").rows() == [("q1", "a", 1.0), ("q1", "b", 0.0)]
    assert data.outcomes["locator"][0] == f"line {line}"


RUNS = [{"id": f"q{k}", "ok": [k % 2, 1, 0], "by": {"a": {"ok": k % 2}, "b": {"ok": 1}}} for k in range(4)]


@pytest.mark.parametrize(
    ("name", "content", "option", "levels"),
    [
        ("t.csv", "id,s_1,s_2\nq1,1,0\nq2,0,0\n", "trials=s_1,s_2", ["s_1", "s_2"]),
        ("t.csv", "id,s_1,s_2\nq1,1,0\nq2,0,0\n", "judges=s_*", ["1", "2"]),
        ("t.csv", "id,s_1,s_2\nq1,1,0\nq2,0,0\n", "models=s_*", ["1", "2"]),
        ("t.json", RUNS, "trials=ok.*", ["0", "1", "2"]),
        ("t.jsonl", RUNS, "models=by.*.ok", ["a", "b"]),
    ],
)
def test_columns_of_scores_are_models_repetitions_or_judges(
    tmp_path: Path, name: str, content: object, option: str, levels: list[str]
) -> None:
    path = tmp_path / name
    path.write_bytes(encoded(name, content))
    data = mapped(path, "item=id", option)
    column = {"trials": "trial_label", "judges": "judge", "models": "model"}[option.partition("=")[0]]
    assert sorted(data.outcomes[column].unique()) == levels
    assert data.outcomes.height == len(levels) * data.outcomes["item"].n_unique()


def test_a_frame_has_them_as_arguments() -> None:
    frame = {"id": ["q1", "q2"], "seed_1": [1, 0], "seed_2": [0, 0]}
    given = from_frame(frame, item="id", trials=["seed_1", "seed_2"], model="@m")
    assert given.outcomes.select("trial", "score").rows() == [(0, 1.0), (0, 0.0), (1, 0.0), (1, 0.0)]
    with pytest.raises(InputError, match=r"trials=\[...\]"):
        from_frame(frame, item="id", trials=["seed_1"], trial="seed_2")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "t.csv",
            "id,grade\nq1,A\nq2,D+\n",
            r'grade holds letters; .* as "A" = 2, "D\+" = 1, and map it, too\.(.|\n)*--map score=grade',
        ),
        ("t.yaml", "- id: q1\n  ok: 1\n", "It is YAML, which is not read"),
        ("t.csv", "model,a,b,c,d,e\nx,1,0,1,1,0\ny,1,1,1,0,0\n", "--map model=model --map items=a,b,c,d,e"),
        # What is known of the models, and their means, stands beside.
        (
            "t.csv",
            "model,size,a,b,c,d,e,avg\nx,7,1,0,1,1,0,0.6\ny,70,1,1,1,0,0,0.6\n",
            "--map model=model --map items=a,b,c,d,e",
        ),
        ("t.csv", "id,name,note,a,b\nq,x,y\n", "rows of 3 cells below a header of 5"),
        ("README.md", "# hi\n", "no result files among README.md; they end in .csv"),
    ],
)
def test_what_no_map_makes_results_of_is_refused_in_words(
    tmp_path: Path, name: str, content: object, said: str
) -> None:
    (tmp_path / name).write_bytes(encoded(name, content))
    with pytest.raises(InputError, match=said):
        read(tmp_path if name == "README.md" else tmp_path / name)


def test_a_frame_of_models_by_items_is_read_as_the_one_turned_round() -> None:
    frame = pl.DataFrame({"model": ["gpt-4", "claude-3"], **{f"q{k}": [1, k % 2] for k in range(20)}})
    turned = frame.transpose(include_header=True, header_name="id", column_names="model")
    key = ["model", "item"]
    here, there = (from_frame(each).outcomes.select(*key, "score").sort(key) for each in (frame, turned))
    assert here.equals(there)
    named = from_frame(frame, model="model", items=[f"q{k}" for k in range(20)])
    assert named.outcomes.select(*key, "score").sort(key).equals(there)


def test_a_table_with_a_row_for_each_system_is_published(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("System,#Supp,Grammar,Response\nGold,3.6,38.3,Lab\nTempl,7.6,-61.7,Lab\n")
    assert set(read(path).aggregates["model"]) == {"Gold", "Templ"}


def test_a_title_above_two_sides_changes_nothing_below(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    sides = [("ID", "Old", "New"), *((k, 1, k % 2) for k in range(20))]
    titled = excel(tmp_path / "t.xlsx", T=[("Eval of January",), ("",), *sides])
    assert read(titled).outcomes["model"].unique().sort().to_list() == ["New", "Old"]


def test_a_cell_of_a_spreadsheet_is_read_whatever_stands_above_it(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    rows = [("id", "model", "ok"), *((f"q{k}", "m", 1 / 3 if k < 300 else "fail") for k in range(330))]
    data = read(excel(tmp_path / "t.xlsx", T=rows), column_map=ColumnMap.from_options(["item=id", "score=ok"]))
    assert data.outcomes["score"].to_list()[299:301] == [pytest.approx(1 / 3), 0.0]
    exact = [("id", "model", "ok"), *((f"q{k}", "m", 1e-10 / 7) for k in range(3))]
    assert read(excel(tmp_path / "e.xlsx", T=exact)).outcomes["score"].to_list() == [1e-10 / 7] * 3
    with pytest.raises(InputError, match="appears twice"):
        read(excel(tmp_path / "twice.xlsx", T=[("id", "ok", "ok"), ("q1", 1, 0)]))


def test_a_small_book_that_claims_a_vast_sheet_ends_no_more_than_its_reader(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    path = excel(tmp_path / "vast.xlsx", T=[("id", "ok"), ("q1", 1)])
    vast = tmp_path / "corners.xlsx"
    with zipfile.ZipFile(path) as book, zipfile.ZipFile(vast, "w") as made:
        for name in book.namelist():
            text = book.read(name).decode()
            corner = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
            made.writestr(name, text.replace("</sheetData>", corner))
    with pytest.raises(InputError, match="is not a readable spreadsheet"):
        read(vast)


def test_spreadsheets_that_cannot_be_read_are_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastexcel", reason="spreadsheets need fastexcel")
    several = excel(tmp_path / "several.xlsx", Old=_ROWS, New=_ROWS)
    empty = excel(tmp_path / "empty.xlsx", T=[])
    old = tmp_path / "old.xls"
    old.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    cut = tmp_path / "cut.xlsx"
    cut.write_bytes(several.read_bytes()[:400])
    large = tmp_path / "large.xlsx"
    with zipfile.ZipFile(large, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/workbook.xml", bytes((256 << 20) + 1), compresslevel=1)
    for path, said in (
        (several, r"several sheets with rows \(Old, New\)"),
        (empty, "no sheet with rows"),
        (old, "is not a readable spreadsheet"),
        (cut, "damaged spreadsheet"),
        (large, "unpacks to more than 256 MiB"),
    ):
        with pytest.raises(InputError, match=said):
            read(path)
    monkeypatch.setattr(sheets, "find_spec", lambda _: None)
    with pytest.raises(InputError, match="pip install fastexcel"):
        read(excel(tmp_path / "whole.xlsx", T=_ROWS))


@pytest.mark.parametrize("levels", [["q"], ["q", "llm"]])
def test_the_index_of_pandas_holds_columns_too(levels: list[str]) -> None:
    frame: Any = pd.DataFrame({"q": ["1", "2", "1", "2"], "llm": list("aabb"), "ok": [1, 0, 1, 1]})
    plain = from_frame(frame, item="q", model="llm", score="ok")
    indexed = from_frame(frame.set_index(levels), item="q", model="llm", score="ok")
    assert indexed.outcomes.equals(plain.outcomes.select(indexed.outcomes.columns))


def test_what_stands_in_the_document_beside_its_rows_is_named_by_a_slash(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    scores = [{"hf_subset": "en", "main_score": 0.7}, {"hf_subset": "de", "main_score": 0.6}]
    path.write_text(json.dumps({"task_name": "Banking77", "about": {"rev": 3}, "scores": {"test": scores}}))
    data = mapped(
        path, "rows=scores.test", "item=/task_name", "variant=hf_subset", "score=main_score", "rev=/about.rev"
    )
    assert data.outcomes.select("item", "variant", "score", "rev").rows() == [
        ("Banking77", "en", 0.7, 3),
        ("Banking77", "de", 0.6, 3),
    ]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_cell_may_hold_json(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    cells = ['{"rating": 4, "why": {"it is": "a, b"}}', '{"rating": 5}', "no JSON"]
    chosen = ['[{"choices": ["pass"]}]', '[{"choices": ["fail"]}]', None]
    frame = pl.DataFrame({"id": ["a", "b", "c"], "label": cells, "choice": chosen})
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    assert mapped(path, "item=id", "score=label.rating").outcomes["score"].to_list() == [4.0, 5.0, None]
    assert mapped(path, "item=id", "score=choice.0.choices.0").outcomes["score"].to_list() == [1.0, 0.0, None]
    with pytest.raises(InputError, match=r"there is no column 'other\.none' for score"):
        mapped(path, "item=id", "score=other.none")


def test_objects_in_cells_are_looked_into_for_what_fits(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pl.DataFrame({"id": ["a", "b"], "label": ['{"rating": 4}', '{"rating": 5}']}).write_csv(path)
    assert read(path, strict=True).outcomes["score"].to_list() == [4.0, 5.0]
    sides = [{"gpt-4.1": {"ok": k % 2}, "o3": {"ok": 1}} for k in range(3)]
    pl.DataFrame({"id": [*"abc"], "answers": list(map(json.dumps, sides))}).write_csv(path)
    found = read(path, strict=True).outcomes
    assert found.filter(model="gpt-4.1")["score"].to_list() == [0.0, 1.0, 0.0]
    assert found.filter(model="o3").height == 3


def test_attempts_that_one_system_alone_repeats_are_said_to_be_its(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,model,score\nq1,b,1\nq1,a,0\nq1,a,1\n")
    with pytest.raises(InputError, match=r"Only 'a' repeats items: .* to keep one of each: --map repeats=first\. If "):
        read(path, strict=True)


@pytest.fixture(params=[1, 2, 50_000])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read tables in blocks of so many rows."""
    monkeypatch.setattr("evalstats.loaders.blocks.BLOCK_ROWS", request.param)


@pytest.mark.parametrize(
    ("repeats", "rows", "n_dropped"),
    [("first", [("q1", 1.0), ("q2", 0.0)], 2), ("last", [("q1", 1.0), ("q2", 1.0)], 2), ("drop", None, 1)],
)
@pytest.mark.usefixtures("blocks")
def test_repeated_rows_are_chosen_among(tmp_path: Path, repeats: str, rows: Any, n_dropped: int) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,model,score\nq1,a,1\nq2,a,0\nq1,a,1\nq2,a,1\n")
    with pytest.raises(InputError, match=r"--map 'trial=#order'; to keep one of each: --map repeats=first"):
        read(path, strict=True)
    if rows is None:  # copies alone are dropped; q2 still stands twice
        with pytest.raises(InputError, match=r"1 id stands more than once .*item 'q2'"):
            mapped(path, f"repeats={repeats}")
        path.write_text("id,model,score\nq1,a,1\nq2,a,0\nq1,a,1\n")
        rows = [("q1", 1.0), ("q2", 0.0)]
    data = mapped(path, f"repeats={repeats}")
    assert sorted(data.outcomes.select("item", "score").rows()) == rows
    assert any(each.message.endswith(f"kept: {n_dropped}") for each in data.problems)
    framed = from_frame(pl.read_csv(path), item="id", score="score", repeats=repeats)
    assert sorted(framed.outcomes.select("item", "score").rows()) == rows
    with pytest.raises(InputError, match="repeats=some is not understood; write first or last or drop"):
        mapped(path, "repeats=some")


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        (
            {"chat": 0.9, "safety-refuse": 0.7, "math": 0.5, "model": "org/m", "model_type": "DPO"},
            [("org/m", "chat", 0.9), ("org/m", "safety-refuse", 0.7), ("org/m", "math", 0.5)],
        ),
        (
            {
                "GPT-4o": {"link": "x", "pass@1": {"instruct": 51.1, "complete": 61.1}},
                "Claude-3": {"link": "y", "pass@1": {"instruct": 45.5, "complete": 57.4}},
            },
            [
                ("GPT-4o", "pass@1.instruct", 51.1),
                ("GPT-4o", "pass@1.complete", 61.1),
                ("Claude-3", "pass@1.instruct", 45.5),
                ("Claude-3", "pass@1.complete", 57.4),
            ],
        ),
    ],
)
def test_an_object_of_scores_is_published(tmp_path: Path, document: Any, rows: list[tuple[str, str, float]]) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    assert read(path, strict=True).aggregates.select("model", "metric", "estimate").rows() == rows


@pytest.mark.parametrize(
    "document",
    [
        {"model": "m", "temperature": 0.7, "top_p": 1, "presence_penalty": 0, "max_tokens": 512},
        {"model": "m", "lr": 0.001, "epochs": 3},
        {"a": 0.5, "b": 0.7, "c": 0.9},
        {"gpt-4o": {"price": "x"}, "claude-3": {"price": "y"}},
    ],
)
def test_other_objects_are_no_scores(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps(document))
    with pytest.raises(InputError):
        read(path, strict=True)


def test_two_systems_in_one_file_need_no_names(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{i},{llm},{(i + k) % 2}" for i in range(12) for k, llm in enumerate(("old", "new"))]
    path.write_text("\n".join(["qid,llm,ok", *rows]))
    named = run("compare", path, "--baseline", "old", "--candidate", "new")
    unnamed, one = run("compare", path), run("compare", path, "--candidate", "new")
    assert unnamed.stdout == one.stdout == named.stdout
    assert "holds two systems; 'old' is the baseline and 'new' the candidate" in " ".join(unnamed.stderr.split())
    path.write_text("\n".join(["qid,llm,ok", *rows, "q1,third,1"]))
    with pytest.raises(InputError, match=r"two sides are needed, and .* holds 3 systems \(old, new, third\)"):
        run("compare", path)


def test_repetitions_and_amounts_are_nothing_to_compare(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = [f"q{i},run{k},{(7 * i + k) % 23},{(i + k) % 2}" for i in range(20) for k in range(3)]
    path.write_text("\n".join(["sample,run,n_messages,correct", *rows]))
    with pytest.raises(InputError, match=r"1 system \(t\); give the results of the other side too"):
        run("compare", path)


def test_weeks_are_no_models_and_can_be_compared(tmp_path: Path) -> None:
    """What names no system is not taken for one; each error holds what comes next: the map, then the contrast."""
    path = tmp_path / "t.csv"
    weeks = [f"2026-W0{week}" for week in range(1, 7)]
    path.write_text(
        "week,question_id,correct\n"
        + "".join(f"{w},q{i},{(i + k) % 2}\n" for k, w in enumerate(weeks) for i in range(30))
    )
    with pytest.raises(InputError, match=r"This may fit:\n    --map .* --map score=correct --map variant=week$"):
        run("compare", path)
    mapped = ["--map", "item=question_id", "--map", "score=correct", "--map", "variant=week"]
    told = r"1 system \(t\); compare levels of a column in which .* differ \(week\): --contrast week --baseline NAME"
    with pytest.raises(InputError, match=told):
        run("compare", path, *mapped)
    found = run("compare", path, "--contrast", "week", "--baseline", weeks[0], "--candidate", weeks[1])
    assert "2026-W02 50.0% against 2026-W01 50.0%" in " ".join(found.stdout.split())


def test_calls_that_all_succeeded_are_asked_about(tmp_path: Path) -> None:
    records = [{"id": k, "eval": {"response": f"so {k}", "success": True}} for k in range(9)]
    (tmp_path / "t.jsonl").write_bytes(encoded("t.jsonl", records))
    with pytest.raises(InputError, match=r"This may fit:\n    .*score='?eval.success"):
        read(tmp_path / "t.jsonl")
