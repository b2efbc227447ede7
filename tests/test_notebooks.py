"""Every notebook runs from top to bottom, and its results show themselves."""

from pathlib import Path

import nbformat
import pytest

from website.notebooks import normal, run, shown

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.filterwarnings("default")  # the kernel's own machinery, not ours, warns on some platforms
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_runs_and_says_what_it_is_stored_with(path: Path) -> None:
    notebook = run(path)
    rich = [
        output
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if "text/html" in output.get("data", {}) or "image/png" in output.get("data", {})
    ]
    assert len(rich) >= 3
    stored = nbformat.read(path, as_version=4)
    assert shown(notebook) == shown(stored), f"outputs are stale; run: make notebooks ({path.stem})"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_in_normal_form(path: Path) -> None:
    stored = nbformat.read(path, as_version=4)
    assert normal(nbformat.read(path, as_version=4)) == stored
    numbers = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1)), "a fresh run numbers its cells in order"
    text = path.read_text(encoding="utf-8")
    assert str(Path.home()) not in text
    assert "Traceback" not in text


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS
