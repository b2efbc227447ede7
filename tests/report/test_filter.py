"""The Lua filter: what Quarto adds to Pandoc."""

from pathlib import Path

import pytest

from evalstats.errors import RenderError
from evalstats.report.engine import find_page, html_arguments, run_pandoc, typst_arguments

PAGE = """---
title: "T"
lang: en
---

## One {#sec-one}

See @fig-a, [@tbl-b; @fig-c] and @sec-one.

::: {#fig-a}

```{=html}
<b>drawing</b>
```

```{=typst}
#rect()
```

A *caption*.

:::

::: {#tbl-b}

| x | y |
|---|--:|
| 1 | 2 |

Numbers.

:::

![Third](c.svg){#fig-c fig-alt="alt of c"}

::: {.callout-warning}

## Careful

Body.

:::

::: {.callout-note title="Folded" collapse="true"}

More.

:::

::: {.panel-tabset}

## First

a

## Second

b

:::

::: {.content-visible when-format="html"}
only html
:::

::: {.content-visible when-format="typst"}
only typst
:::

::: {.content-hidden when-format="html"}
not html
:::

```{.python .cell-code code-fold="true"}
x = 1
```
"""


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("filter")
    return {name: convert(PAGE, folder, name) for name in ("html", "typst")}


def convert(text: str, folder: Path, name: str) -> str:
    extension = find_page("compare").extension
    (folder / "c.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')
    source, target = folder / "a.md", folder / f"a.{name}"
    source.write_text(text, encoding="utf-8")
    arguments = html_arguments(extension) if name == "html" else typst_arguments(extension)
    run_pandoc(source, target, arguments, extension=extension, time_limit=60)
    return target.read_text(encoding="utf-8")


def test_a_short_name_in_code_is_one_piece_and_stays_in_the_title(tmp_path: Path) -> None:
    html = convert(PAGE.replace('"T"', '"Is `a<b` better?"') + "\n`c<d` and `e`{.python}\n", tmp_path, "html")
    assert "<title>Is a&lt;b better?</title>" in html
    assert '<code class="es-whole">a&lt;b</code>' in html
    assert '<p><code class="es-whole">c&lt;d</code> and <code class="sourceCode python">' in html


def test_figures_and_tables_are_numbered_in_order_and_captioned(rendered: dict[str, str]) -> None:
    html = rendered["html"]
    assert '<figure class="quarto-float quarto-float-fig" id="fig-a">' in html
    assert '<span class="es-caption-number">Figure\u00a01:</span> A <em>caption</em>.' in html
    assert '<span class="es-caption-number">Table\u00a01:</span> Numbers.' in html
    assert '<span class="es-caption-number">Figure\u00a02:</span> Third' in html


def test_a_table_is_named_before_it_and_a_figure_below(rendered: dict[str, str]) -> None:
    html = rendered["html"]
    assert html.index("Table\u00a01:</span>") < html.index("<table")
    assert html.index("<b>drawing</b>") < html.index("Figure\u00a01:</span>")


def test_references_are_links(rendered: dict[str, str]) -> None:
    html = rendered["html"]
    assert '<a href="#fig-a">Figure\u00a01</a>' in html
    assert '<a href="#tbl-b">Table\u00a01</a>, <a href="#fig-c">Figure\u00a02</a>' in html
    assert '<a href="#sec-one">One</a>' in html


def test_sections_are_referred_to_by_number_where_they_have_one(tmp_path: Path) -> None:
    text = "---\nnumber-sections: true\n---\n\n## A\n\n## B {#sec-b}\n\n### C {#sec-c}\n\n@sec-b @sec-c\n"
    html = convert(text, tmp_path, "html")
    assert '<a href="#sec-b">Section\u00a02</a> <a href="#sec-c">Section\u00a02.1</a>' in html


def test_alternative_text_reaches_the_image(rendered: dict[str, str]) -> None:
    assert 'alt="alt of c"' in rendered["html"] or 'aria-label="alt of c"' in rendered["html"]
    assert '#image("c.svg", alt: "alt of c", width: 100%)' in rendered["typst"]


def test_callouts(rendered: dict[str, str]) -> None:
    html = rendered["html"]
    assert '<div class="callout callout-warning"><div class="callout-header">' in html.replace("\n", "")
    assert '<details class="callout callout-note"><summary class="callout-header">Folded</summary>' in html.replace(
        "\n", ""
    )
    assert '#es-callout(kind: "warning", title: [' in rendered["typst"]


def test_tabs_need_no_script_and_print_every_panel(rendered: dict[str, str]) -> None:
    html = rendered["html"]
    assert html.count('<input type="radio" name="tabset-1"') == 2
    assert html.count('class="tab-panel"') == 2
    assert '<label for="tabset-1-1">' in html
    assert "*First*" in rendered["typst"] or "#strong[First]" in rendered["typst"]


def test_conditional_content(rendered: dict[str, str]) -> None:
    assert "only html" in rendered["html"]
    assert "only typst" not in rendered["html"]
    assert "not html" not in rendered["html"]
    assert "only typst" in rendered["typst"]
    assert "not html" in rendered["typst"]
    assert "only html" not in rendered["typst"]


def test_folded_code(rendered: dict[str, str]) -> None:
    assert '<details class="code-fold"><summary>Code</summary>' in rendered["html"].replace("\n", "")


def test_typst_floats_are_labelled_as_quarto_labels_them(rendered: dict[str, str]) -> None:
    assert 'kind: "quarto-float-fig", supplement: "Figure")<fig-a>' in rendered["typst"]
    assert 'kind: "quarto-float-tbl", supplement: "Table")<tbl-b>' in rendered["typst"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@fig-none", "@fig-none points to nothing"),
        ("@someone", "@someone points to nothing"),
        ("::: {#fig-a}\n\nx\n\nc\n\n:::\n\n::: {#fig-a}\n\nx\n\nc\n\n:::", "fig-a stands twice"),
        ("::: {#fig-a}\n\n```\nx\n```\n\n:::", "fig-a has no caption"),
        ("![a](https://example.org/x.png)", "does not lie beside the page"),
        ("![a](file:///etc/passwd)", "does not lie beside the page"),
        ("![a](/etc/passwd)", "does not lie beside the page"),
        ("![a](../../etc/passwd)", "does not lie beside the page"),
        ("![a](drawings/..\\..\\passwd)", "does not lie beside the page"),
    ],
)
def test_faults_stop_the_rendering(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(RenderError, match=message):
        convert(f"---\ntitle: T\n---\n\n{text}\n", tmp_path, "html")


def test_deep_nesting_ends(tmp_path: Path) -> None:
    """Bottom-up walking visits every block once, however deep the callouts are."""
    depth = 40
    text = "".join(f"{':' * (depth + 3 - n)} {{.callout-note}}\n\n" for n in range(depth)) + "deep\n\n"
    text += "".join(f"{':' * (4 + n)}\n\n" for n in range(depth))
    html = convert(f"---\ntitle: T\n---\n\n{text}", tmp_path, "html")
    assert html.count('class="callout callout-note"') == depth


def test_a_pandoc_that_takes_too_long_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 30\n")
    slow.chmod(0o755)
    monkeypatch.setattr("evalstats.report.engine.pandoc_program", lambda: (str(slow), "0"))
    source = tmp_path / "a.md"
    source.write_text("x")
    with pytest.raises(RenderError, match="longer than 1 s"):
        run_pandoc(source, tmp_path / "a.html", [], extension=tmp_path, time_limit=1)
