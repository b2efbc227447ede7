"""Pages are found in the project and inside an installed package."""

from pathlib import Path

import pytest

from evalstats.errors import InputError
from evalstats.report import engine as pages


def test_in_the_project() -> None:
    page = pages.find_page("compare")
    assert page.source.is_file()
    assert (page.extension / "_extension.yml").is_file()


def test_inside_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel carries reports/, the extension inside it, below evalstats/report/pages (pyproject's force-include)."""
    inside = tmp_path / "evalstats" / "report" / "pages"
    inside.mkdir(parents=True)
    (inside / "weather.qmd").write_text("x")
    monkeypatch.setattr(pages, "_HERE", inside.parent)
    page = pages.find_page("weather")
    assert page.source == inside / "weather.qmd"
    assert page.extension == inside / "_extensions" / "evalstats"
    with pytest.raises(InputError, match="there are weather"):
        pages.find_page("compare")


def test_the_wheel_is_told_to_carry_them() -> None:
    import tomllib

    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert "reports" in wheel["only-include"]
    assert wheel["sources"] == {"reports": "evalstats/report/pages"}


@pytest.mark.parametrize("kind", ["../compare", "compare.qmd", "", "*"])
def test_a_kind_is_a_name_and_not_a_path(kind: str) -> None:
    with pytest.raises(InputError, match="there is no report"):
        pages.find_page(kind)
