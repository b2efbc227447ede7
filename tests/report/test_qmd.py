"""Reading .qmd files: front matter, cells with options, prose with its lines."""

from pathlib import Path

import pytest

from evalstats.errors import RenderError
from evalstats.report.qmd import Cell, Prose, parse_document, read_document

TEXT = """---
title: "A"
execute:
  echo: false
---

Words.

```{python}
#| label: fig-a
#| tags: [parameters]
#| fig-cap: "A: caption"
x = 1
#| not an option
```

````markdown
```{python}
shown, not run
```
````

```{python}
y = 2
```
"""


def test_parts_in_order() -> None:
    document = parse_document(TEXT, Path("a.qmd"))
    assert document.front == {"title": "A", "execute": {"echo": False}}
    assert [type(part) for part in document.parts] == [Prose, Cell, Prose, Cell]
    first, second = document.cells
    assert first.options == {"label": "fig-a", "tags": ["parameters"], "fig-cap": "A: caption"}
    assert first.tags == ("parameters",)
    assert first.code == "x = 1\n#| not an option"
    assert second.code == "y = 2"
    assert "shown, not run" in document.parts[2].text


def test_lines_count_from_the_top_of_the_file() -> None:
    document = parse_document(TEXT, Path("a.qmd"))
    lines = TEXT.splitlines()
    for part in document.parts:
        if isinstance(part, Cell):
            assert lines[part.line - 1] == "```{python}"
        else:
            assert lines[part.line - 1] == part.text.splitlines()[0]


def test_execute_options_have_defaults() -> None:
    document = parse_document(TEXT, Path("a.qmd"))
    assert document.execution("echo", default=True) is False
    assert document.execution("warning", default=True) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\ntitle: [\n---\n", "not YAML"),
        ("---\ntitle: a\n", "not closed"),
        ("```{python}\nx\n", "cell that begins at line 1 is not closed"),
        ("```{python}\n#| a: [\nx\n```\n", "not YAML"),
    ],
)
def test_faults_are_named(text: str, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        parse_document(text, Path("a.qmd"))


def test_front_matter_cannot_make_objects() -> None:
    with pytest.raises(RenderError, match="not YAML"):
        parse_document("---\na: !!python/object/apply:os.system ['true']\n---\n", Path("a.qmd"))


def test_a_missing_file_is_a_render_error(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="cannot be read"):
        read_document(tmp_path / "none.qmd")
