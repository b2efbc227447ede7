"""Run a page's cells: papermill puts the parameters in, nbclient runs them.

This happens in a process of its own, so that sockets and event loops of Jupyter never meet those of the caller (who may
sit in a notebook), and a kernel that hangs can be given up.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats import errors
from evalstats.errors import EvalStatsError, RenderError
from evalstats.report.qmd import Document
from evalstats.report.workspace import UNGUARDED, Guard, private_folder, run_program

_START_LIMIT = 60
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_MOST_CHARS = 600
_OURS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, EvalStatsError)}
_LONGEST_SOCKET = 90  # the system's limit is about 100 bytes, and a number is put behind


def run_cells(
    document: Document, parameters: Mapping[str, object], folder: Path, *, time_limit: int, guard: Guard = UNGUARDED
) -> list[list[dict[str, Any]]]:
    """Run every cell in order and return the outputs of each, as Jupyter describes them.

    Parameters (values that papermill can write as Python) go in behind the cell tagged `parameters`; the kernel works in
    `folder`, and a cell may take `time_limit` seconds. RenderError if a parameter is unknown, or a cell fails or takes too long.
    """
    tagged = [cell for cell in document.cells if "parameters" in cell.tags]
    if parameters and len(tagged) != 1:
        raise RenderError(f"{document.path}: needs exactly one cell tagged 'parameters'; it has {len(tagged)}")
    cells = [{"code": cell.code, "tags": list(cell.tags), "line": cell.line} for cell in document.cells]
    order = {"cells": cells, "parameters": dict(parameters), "folder": str(folder), "time_limit": time_limit}
    answer = _asked(order, limit=time_limit * max(len(cells), 1) + _START_LIMIT, guard=guard)
    if "error" in answer:
        raise RenderError(f"{document.path}: {answer['error']}")
    outputs: list[list[dict[str, Any]]] = answer["outputs"]
    return outputs


def _asked(order: Mapping[str, object], *, limit: int, guard: Guard) -> dict[str, Any]:
    with private_folder("evalstats-cells-", guard) as private:
        request, response = private / "order.json", private / "answer.json"
        request.write_text(json.dumps(order), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "evalstats.report.cells", str(request), str(response)]
        try:
            done = run_program(command, guard=guard, time_limit=limit, environment=_environment(str(private)))
        except subprocess.TimeoutExpired:
            return {"error": f"its cells did not end within {limit} s"}
        if done.returncode or not response.is_file():
            return {
                "error": f"its cells could not be run ({_last_line(done.stderr)}); install evalstats-toolkit[report]"
            }
        answer: dict[str, Any] = json.loads(response.read_text(encoding="utf-8"))
        return answer


def _environment(private: str) -> dict[str, str]:
    # A profile of one's own: nobody's start-up files run inside a report.
    return {**os.environ, "IPYTHONDIR": private, "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def main(request: str, response: str) -> None:
    """Run the cells, in the process that `run_cells` started."""
    order = json.loads(Path(request).read_text(encoding="utf-8"))
    notebook = _with_parameters(order["cells"], order["parameters"])
    error = _execute(notebook, order["folder"], order["time_limit"], private=str(Path(request).parent))
    code = [cell for cell in notebook["cells"] if "injected-parameters" not in cell["metadata"]["tags"]]
    answer = {"error": error} if error else {"outputs": [cell["outputs"] for cell in code]}
    Path(response).write_text(json.dumps(answer), encoding="utf-8")


def _with_parameters(cells: list[dict[str, Any]], parameters: dict[str, object]) -> Any:
    from nbformat import v4
    from papermill import parameterize

    made: Any = v4
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = made.new_notebook(
        cells=[
            made.new_code_cell(each["code"], metadata={"tags": each["tags"], "line": each["line"]}) for each in cells
        ],
        metadata={"kernelspec": kernel, "language_info": {"name": "python"}, "papermill": {"parameters": {}}},
    )
    untyped: Any = parameterize
    return untyped.parameterize_notebook(notebook, parameters) if parameters else notebook


def _execute(notebook: Any, folder: str, time_limit: int, *, private: str) -> str:
    """Run the notebook in place; return what went wrong, or nothing."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    begun: list[int] = []

    def on_cell_start(cell: Any, cell_index: int) -> None:  # noqa: ARG001 - nbclient names its arguments
        begun.append(cell["metadata"].get("line", 0))

    client: Any = NotebookClient(
        notebook,
        km=_kernel_manager(private),
        timeout=time_limit,
        startup_timeout=_START_LIMIT,
        resources={"metadata": {"path": folder}},
        record_timing=False,
        on_cell_start=on_cell_start,
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return failed_cell(begun[-1], str(error.ename), str(error.evalue))
    except CellTimeoutError:
        return f"{_cell_at(begun[-1])} took longer than {time_limit} s; give more with time_limit, or less data"
    except (DeadKernelError, RuntimeError) as error:
        where = f", in {_cell_at(begun[-1])}" if begun else ""
        return f"the Python process that runs the cells ended{where} ({in_one_line(str(error))})"
    return ""


def failed_cell(line: int, name: str, value: str) -> str:
    """Say in one line which cell failed and why; our own errors are sentences, others are named.

    >>> failed_cell(30, "KeyError", "'weather'")
    "the cell at line 30 failed: KeyError: 'weather'"
    """
    named = name.rpartition(".")[2]
    return f"{_cell_at(line)} failed: {in_one_line(value if named in _OURS else f'{named}: {value}')}"


def _cell_at(line: int) -> str:
    return f"the cell at line {line}" if line else "the cell of parameters"


def in_one_line(text: str) -> str:
    """Return a message of a program without its line breaks, and no longer than anyone reads."""
    line = " ".join(_COLORS.sub("", text).split())
    return line if len(line) <= _MOST_CHARS else f"{line[: _MOST_CHARS - 1]}…"


def _last_line(text: str) -> str:
    return in_one_line(next((line for line in reversed(text.splitlines()) if line.strip()), "no reason given"))


def _kernel_manager(private: str) -> Any:
    """Return a manager whose kernel is this interpreter, whatever kernels the machine has installed under the name.

    It talks through sockets in a folder that only this user can open, where the system has such.
    """
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class OwnInterpreter(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - the manager's signature
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    untyped: Any = AsyncKernelManager
    manager = untyped(kernel_name="python3", kernel_spec_manager=OwnInterpreter())
    manager.connection_file = str(Path(private, "kernel.json"))
    address = str(Path(private, "kernel"))
    if os.name == "posix" and len(address) < _LONGEST_SOCKET:
        manager.transport, manager.ip = "ipc", address
    return manager


if __name__ == "__main__":
    main(*sys.argv[1:])
