"""One Markdown document from prose and outputs, written as Quarto writes it."""

import base64
from pathlib import Path

import pytest

from evalstats.errors import RenderError
from evalstats.report.qmd import assemble, parse_document

STREAM = {"output_type": "stream", "name": "stdout", "text": "**words**\n"}
SVG = {"output_type": "display_data", "data": {"image/svg+xml": ["<svg/>"], "text/plain": "<Figure>"}}


def made(text: str, outputs: list[list[dict[str, object]]], folder: Path) -> str:
    return assemble(parse_document(text, Path("a.qmd")), outputs, folder)


def test_output_as_it_is_and_as_text(tmp_path: Path) -> None:
    text = "---\nexecute:\n  echo: false\n---\n```{python}\n#| output: asis\n1\n```\n\n```{python}\n2\n```\n"
    found = made(text, [[STREAM], [STREAM]], tmp_path)
    assert "\n\n**words**\n\n" in found
    assert "```{.cell-output}\n**words**\n```" in found


def test_output_cannot_close_its_fence(tmp_path: Path) -> None:
    stream = {"output_type": "stream", "name": "stdout", "text": "```\n<b>x</b>\n"}
    found = made("```{python}\n#| echo: false\n1\n```\n", [[stream]], tmp_path)
    assert "````{.cell-output}\n```\n<b>x</b>\n````" in found


def test_code_is_shown_folded_or_not_at_all(tmp_path: Path) -> None:
    assert "```{.python .cell-code}\nx = 1\n```" in made("```{python}\nx = 1\n```", [[]], tmp_path)
    folded = made("```{python}\n#| code-fold: true\nx = 1\n```", [[]], tmp_path)
    assert '```{.python .cell-code code-fold="true"}' in folded
    assert "x = 1" not in made("```{python}\n#| echo: false\nx = 1\n```", [[]], tmp_path)
    assert "x = 1" not in made("```{python}\n#| include: false\nx = 1\n```", [[STREAM]], tmp_path)


def test_a_figure_with_label_caption_and_alternative_text(tmp_path: Path) -> None:
    text = '```{python}\n#| echo: false\n#| label: fig-a\n#| fig-cap: "A cap"\n#| fig-alt: \'An "alt"\'\n1\n```\n'
    found = made(text, [[SVG]], tmp_path)
    assert '::: {#fig-a}\n\n![](fig-a-0.svg){fig-alt="An \\"alt\\""}\n\nA cap\n\n:::' in found
    assert (tmp_path / "fig-a-0.svg").read_text() == "<svg/>"


def test_a_png_is_decoded(tmp_path: Path) -> None:
    png = {"output_type": "display_data", "data": {"image/png": base64.b64encode(b"PNG").decode()}}
    made("```{python}\n#| echo: false\n1\n```\n", [[png]], tmp_path)
    assert (tmp_path / "cell-0-0.png").read_bytes() == b"PNG"


def test_markdown_is_preferred_to_plain_text(tmp_path: Path) -> None:
    display = {"output_type": "execute_result", "data": {"text/markdown": ["*m*"], "text/plain": "p"}}
    assert "*m*" in made("```{python}\n#| echo: false\n1\n```\n", [[display]], tmp_path)


def test_html_output_is_refused(tmp_path: Path) -> None:
    display = {"output_type": "execute_result", "data": {"text/html": "<b>x</b>", "text/plain": "x"}}
    with pytest.raises(RenderError, match=r"line 1 displays HTML.*asis"):
        made("```{python}\n1\n```\n", [[display]], tmp_path)


def test_a_label_needs_a_caption(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="tbl-a has no tbl-cap"):
        made("```{python}\n#| label: tbl-a\n1\n```\n", [[STREAM]], tmp_path)


def test_standard_error_is_not_for_readers(tmp_path: Path) -> None:
    stream = {"output_type": "stream", "name": "stderr", "text": "a warning"}
    assert "a warning" not in made("```{python}\n1\n```\n", [[stream]], tmp_path)
