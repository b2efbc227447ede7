"""Every notebook runs from top to bottom, and its results show themselves."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import KernelManager

from dev.website.notebooks import normal, run, shown

# The longest simulate or resample again and again: with every run of the tests the first cells of code are run, which ask the
# question once; the long run takes all. Of one even these take six seconds.
FIRST = {"where-models-break": 0, "lab-versus-live": 4, "live-arena": 4, "plan-an-eval": 4}
MOST_CELLS = 25
NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


def runs() -> Iterator[Any]:
    for path in NOTEBOOKS:
        first = FIRST.get(path.stem)
        if first:
            yield pytest.param(path, first, id=f"{path.stem}, the first {first} cells")
        yield pytest.param(path, None, id=path.stem, marks=[] if first is None else [pytest.mark.slow])


@pytest.fixture(scope="module")
def kernel() -> Iterator[KernelManager]:
    """A kernel for all notebooks: to start one and to load what they need takes longer than most of them do."""
    manager = KernelManager(kernel_name="python3")
    yield manager
    if manager.has_kernel:
        manager.shutdown_kernel(now=True)


@pytest.mark.filterwarnings("default")  # the kernel's own machinery, not ours, warns on some platforms
@pytest.mark.parametrize(("path", "most"), list(runs()))
def test_notebook_runs_and_says_what_it_is_stored_with(path: Path, most: int | None, kernel: KernelManager) -> None:
    notebook = run(path, kernel, most=most)
    rich = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if {"text/html", "text/markdown", "image/png"} & output.get("data", {}).keys()
    ]
    assert len(rich) >= 3
    stored = nbformat.read(path, as_version=4)
    assert shown(notebook) == shown(stored)[:most], f"outputs are stale; run: make notebooks ({path.stem})"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_in_normal_form(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert normal(nbformat.read(path, as_version=4)) == stored
    numbers = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1)), "a fresh run numbers its cells in order"
    text = path.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert "Traceback" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_uses_the_public_api_alone_and_tells_one_story(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    trees = [ast.parse(cell.source) for cell in cells if cell.cell_type == "code"]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imports = [ast.unparse(node) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [line for line in imports if re.search(r"evalstats|IPython", line)] == ["import evalstats as es"]
    assert [node.attr for node in nodes if isinstance(node, ast.Attribute) and node.attr.startswith("_")] == []
    assert len(cells) <= MOST_CELLS
    assert re.match(r"# [^\n]+\?\n", cells[0].source), "one question"
    assert "**Next step.**" in cells[-1].source


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
    assert set(FIRST) < {path.stem for path in NOTEBOOKS}
