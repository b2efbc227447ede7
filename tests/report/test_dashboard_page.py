"""The page of watched scores by the embedded engine: an ordinary page that names what it is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from evalstats import Dashboard
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.report.dashboard import show_dashboard
from evalstats.report.engine import DASHBOARD, cleaned_dashboard, find_page, page_script
from evalstats.report.examples import example
from evalstats.report.qmd import read_document


def test_the_page_says_that_the_layout_needs_quarto(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    example("dashboard").save(tmp_path / "r.json")
    show_dashboard(str(tmp_path / "r.json"), engine="embedded", rendered="2026-01-31")
    page = capsys.readouterr().out
    assert "The dashboard layout needs Quarto" in page
    assert "valuebox" not in page
    assert page.index("simulated") < page.index("es-verdict")


def test_under_quartos_dashboard_it_prints_boxes_and_cards(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "info.json"
    told.write_text('{"format": {"identifier": {"base-format": "dashboard"}}}')
    monkeypatch.setenv("QUARTO_EXECUTE_INFO", str(told))
    show_dashboard()
    page = capsys.readouterr().out
    assert page.count("::: {.valuebox}") == 2
    assert page.count("::: {.card}") == 7
    assert "needs Quarto" not in page


def test_another_result_is_refused(tmp_path: Path) -> None:
    example("frontier").save(tmp_path / "r.json")
    with pytest.raises(InputError, match="is a saved Frontier; this page shows a dashboard"):
        show_dashboard(str(tmp_path / "r.json"))


def cards(result: Dashboard, folder: Path, monkeypatch: pytest.MonkeyPatch, told: pytest.CaptureFixture[str]) -> str:
    """What the page prints where Quarto makes its dashboard of it."""
    info = folder / "info.json"
    info.write_text('{"format": {"identifier": {"base-format": "dashboard"}}}')
    monkeypatch.setenv("QUARTO_EXECUTE_INFO", str(info))
    result.save(folder / "r.json")
    show_dashboard(str(folder / "r.json"))
    return told.readouterr().out


def made_dashboard() -> Dashboard:
    found = example("dashboard")
    assert isinstance(found, Dashboard)
    return found


def of_copies(found: Dashboard, name: str, n: int) -> Dashboard:
    """A dashboard of the first model, and of n that fared as one of them did."""
    (row,) = [row for row in found.rows if row.name == name]
    names = [f"m{k}" for k in range(n)]
    days = [replace(day, name=each) for each in names for day in found.days if day.name == name]
    kept = tuple(day for day in found.days if day.name == found.rows[0].name)
    rows = (found.rows[0], *(replace(row, name=each) for each in names))
    return replace(found, rows=rows, days=(*kept, *days))


def test_boxes_that_leave_a_change_out_say_how_many_there_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made_dashboard()
    page = cards(of_copies(found, "model-b", 5), tmp_path, monkeypatch, capsys)
    assert page.count("::: {.valuebox}") == 5
    assert "6 of 6 scores changed" in page
    assert "scores changed" not in cards(found, tmp_path, monkeypatch, capsys)


def test_a_table_that_is_cut_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made_dashboard()
    many = of_copies(found, "model-a", 24)
    assert "The first 20 of 25 are shown; the CSV has all." in cards(many, tmp_path, monkeypatch, capsys)
    assert "The first 20" not in cards(found, tmp_path, monkeypatch, capsys)


def test_where_the_numbers_come_from_is_on_it_and_an_address_in_a_note_is_no_link(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made_dashboard()
    digest = found.sources[0][1]
    text = "Days differ for https://hostile.example/x"
    noted = replace(found, notes=(*found.notes, Note(kind="dependence", text=text, caution=True)))
    page = cards(noted, tmp_path, monkeypatch, capsys)
    assert digest in page
    assert f"evalstats {found.version}" in page.replace("\\", "")
    assert "](<https://hostile" not in page
    assert "hostile" in page


def test_the_page_names_the_format_and_foreign_scripts_go() -> None:
    assert DASHBOARD in read_document(find_page("dashboard").source).front["format"]
    html = '<body><p>a</p><SCRIPT src="x">1</SCRIPT><script>\n2</script ></body></html>'
    assert cleaned_dashboard(html, "ours()") == "<body><p>a</p><script>ours()</script></body></html>"
    assert page_script()


def test_of_quartos_styles_one_is_kept_and_the_page_has_its_landmarks() -> None:
    styles = (
        '<link href="data:a" class="quarto-color-scheme" id="b">\n'
        '<link href="data:b" class="quarto-color-scheme quarto-color-alternate" id="b">\n'
        '<link href="data:c" class="quarto-color-scheme-extra" id="b">\n'
        "<style>p { color: red }</style>\n"
        '<style type="text/css">@font-face { font-family: "bootstrap-icons"; }</style>\n'
    )
    name = '&lt;link class="quarto-color-scheme-extra">'
    body = f'<div class="navbar-title-text">a</div><div class="page-layout-custom x">{name}</div>'
    clean = cleaned_dashboard(f"<head>{styles}</head><body>{body}</body>", "")
    assert [each in clean for each in ("data:a", "data:b", "data:c", "color: red", "bootstrap-icons")] == [
        True, False, False, True, False,
    ]  # fmt: skip
    assert f'<div role="main" class="page-layout-custom x">{name}</div>' in clean
    assert '<div role="heading" aria-level="1" class="navbar-title-text">a</div>' in clean
