"""The same pages by real Quarto, where it is on the machine."""

from pathlib import Path

import pytest

from evalstats import compare, datasets
from evalstats.report.engine import find_quarto, loads
from evalstats.report.render import render_results

pytestmark = pytest.mark.quarto


@pytest.fixture(scope="module", autouse=True)
def _quarto() -> None:
    if find_quarto(required=False) is None:
        pytest.skip("Quarto is not on this machine: set QUARTO_PATH or put it on the path")


@pytest.mark.parametrize("to", ["html", "pdf"])
def test_quarto_renders_the_shipped_page(to: str, tmp_path: Path) -> None:
    result = compare(datasets.tenacious_held_out(), "baseline", "trained")
    path = render_results([result], [tmp_path / f"page.{to}"], engine="quarto")[0].path
    assert path.stat().st_size > 10_000
    if to == "html":
        html = path.read_text(encoding="utf-8")
        assert loads(html) == []
        for phrase in (
            "Is trained better than baseline on Tenacious-Bench?",
            "es-verdict",
            "Figure",
            "fig-difference",
            "Quarto ",
        ):
            assert phrase in html
    else:
        assert path.read_bytes().startswith(b"%PDF")
