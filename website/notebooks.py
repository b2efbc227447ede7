"""Run the notebooks and store their outputs in them, so that a host that shows notebooks shows results: `make notebooks`."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"


def run(path: Path) -> Any:
    """Return a notebook with the outputs of a fresh run, in the form in which they are stored."""
    notebook: Any = nbformat.read(path, as_version=4)
    # What is printed in two parts is one stream, however the kernel happens to flush it.
    NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True).execute()
    return normal(notebook)


def normal(notebook: Any) -> Any:
    """Leave out what differs from run to run: times, versions of the interpreter, widgets' state, warnings of libraries."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for cell in notebook.cells:
        cell.metadata = {name: value for name, value in cell.metadata.items() if name == "tags"}
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("name") != "stderr"]
            for output in cell.outputs:
                output.pop("metadata", None)
                if output.output_type != "stream":
                    output["metadata"] = {}
    return notebook


def shown(notebook: Any) -> list[list[str]]:
    """Return what every code cell says in words: what two runs must have in common. Pictures and HTML are views of it."""
    return [
        [_PSEUDONYM.sub("(pseudonym)", str(_text(each))) for each in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


# People are given other names with a key that is drawn anew.
_PSEUDONYM = re.compile(r"\b[0-9a-f]{16}\b")


def _text(output: Any) -> object:
    return output["text"] if output.output_type == "stream" else output.get("data", {}).get("text/plain", "")


def main(names: Sequence[str]) -> None:
    """Run the notebooks that are named, or all."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not names or path.stem in names:
            nbformat.write(run(path), path)


if __name__ == "__main__":
    main(sys.argv[1:])
