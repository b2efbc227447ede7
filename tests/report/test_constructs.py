"""The shipped pages keep to what both engines render; everything else is refused with its line."""

from pathlib import Path

import pytest

from evalstats.errors import RenderError
from evalstats.report.qmd import check_constructs, parse_document, problems, read_document

REPORTS = Path(__file__).resolve().parents[2] / "reports"


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.qmd")), ids=lambda path: path.name)
def test_shipped_pages_use_nothing_else(path: Path) -> None:
    assert list(problems(read_document(path))) == []


@pytest.mark.parametrize(
    "text",
    [
        "{{< include x.qmd >}}",
        "The value is `{python} x`.",
        "The value is `r x`.",
        "```{ojs}\nx\n```",
        "```{mermaid}\nx\n```",
        "![a](https://example.org/x.png)",
        "![a](/etc/x.png)",
        '<script src="x"></script>',
        "<div>x</div>",
        "::: {.column-margin}\nx\n:::",
        "::: {layout-ncol=2}\nx\n:::",
        "::: column-page\nx\n:::",
        "## Heading {.smaller}",
        "## Heading {#methods}",
        "[words]{.aside}",
        "+---+---+\n| a | b |\n+---+---+",
        "---\nformat: html\n---\n",
        "---\nformat:\n  evalstats-html:\n    theme: cosmo\n---\n",
        "---\nfilters: [x]\n---\n",
        "---\nexecute:\n  cache: true\n---\n",
        "```{python}\n#| layout-ncol: 2\nx\n```",
        "```{python}\n#| label: figure\nx\n```",
        "```{python}\n#| label: fig-a\n#| fig-cap: a\nx\n```",
        "```{python}\n#| output: tex\nx\n```",
    ],
)
def test_other_constructs_are_refused(text: str) -> None:
    with pytest.raises(RenderError):
        check_constructs(parse_document(text, Path("a.qmd")))


@pytest.mark.parametrize(
    "text",
    [
        "## Heading {#sec-a .unnumbered}",
        '::: {.callout-note title="A" collapse="true"}\nx\n:::',
        "::: {.panel-tabset}\n## a\nx\n:::",
        '::: {.content-visible when-format="html"}\nx\n:::',
        "::: {#fig-a}\nx\n\ncaption\n:::",
        "See @fig-a and `code` and a {brace}.",
        "```{=html}\n<b>x</b>\n```",
        "```python\n{{< not run >}}\n```",
        '![a](x.svg){#fig-a fig-alt="a" width="50%"}',
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "```{python}\n#| label: fig-a\n#| fig-cap: a\n#| fig-alt: b\n#| code-fold: true\nx\n```",
    ],
)
def test_allowed_constructs_pass(text: str) -> None:
    assert list(problems(parse_document(text, Path("a.qmd")))) == []


def test_the_line_is_named() -> None:
    document = parse_document("---\nlang: en\n---\n\nfine\n\n{{< x >}}\n", Path("a.qmd"))
    with pytest.raises(RenderError, match=r"a\.qmd: line 7: shortcodes"):
        check_constructs(document)
