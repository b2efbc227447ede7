"""Run the notebooks and store their outputs in them, so that a host that shows notebooks shows results: `make notebooks`."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"


def run(path: Path, kernel: KernelManager | None = None, *, most: int | None = None) -> Any:
    """Return a notebook with the outputs of a fresh run, in the form in which they are stored.

    A kernel that is given is used and stays: no name of the notebook before and no setting of its tables is left in it, but
    modules stay loaded. Without one a notebook has its own. Of the cells of code the first `most` are run and returned.
    """
    notebook: Any = nbformat.read(path, as_version=4)
    code = [place for place, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    if most is not None and most < len(code):
        del notebook.cells[code[most] :]
    # What is printed in two parts is one stream, however the kernel happens to flush it.
    options: dict[str, Any] = {"timeout": 300, "kernel_name": "python3", "coalesce_streams": True}
    if kernel is None:
        NotebookClient(notebook, **options).execute()
    else:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(_FORGET))
        client: Any = NotebookClient(notebook, km=kernel, **options)
        try:
            client.execute()
        finally:
            if client.kc is not None:
                client.kc.stop_channels()
        del notebook.cells[0]
    return normal(notebook)


_FORGET = "%reset -f\n__import__('polars').Config.restore_defaults()"


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
