"""The page of watched scores by the embedded engine: an ordinary page that names what it is not."""

from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.report.dashboard import show_dashboard
from evalstats.report.engine import DASHBOARD, find_page, page_script, with_own_script
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
    assert page.count("::: {.card}") == 5
    assert "needs Quarto" not in page


def test_another_result_is_refused(tmp_path: Path) -> None:
    example("frontier").save(tmp_path / "r.json")
    with pytest.raises(InputError, match="is a saved Frontier; this page shows a dashboard"):
        show_dashboard(str(tmp_path / "r.json"))


def test_the_page_names_the_format_and_foreign_scripts_go() -> None:
    assert DASHBOARD in read_document(find_page("dashboard").source).front["format"]
    html = '<body><p>a</p><SCRIPT src="x">1</SCRIPT><script>\n2</script ></body></html>'
    assert with_own_script(html, "ours()") == "<body><p>a</p><script>ours()</script></body></html>"
    assert page_script()
