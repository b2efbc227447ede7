"""Run a page's cells: papermill puts the parameters in, nbclient runs them.

This happens in a process of its own, so that sockets and event loops of Jupyter never meet those of the caller (who may
sit in a notebook), and a kernel that hangs can be given up.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats.errors import RenderError
from evalstats.report.qmd import Document

_START_LIMIT = 60
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_TRACE_LINES = 12
_LONGEST_SOCKET = 90  # the system's limit is about 100 bytes, and a number is put behind


def run_cells(
    document: Document, parameters: Mapping[str, object], folder: Path, *, time_limit: int
) -> list[list[dict[str, Any]]]:
    """Run every cell in order and return the outputs of each, as Jupyter describes them.

    Parameters (values that papermill can write as Python) go in behind the cell tagged `parameters`; the kernel works in
    `folder`, and a cell may take `time_limit` seconds. RenderError if a parameter is unknown, or a cell fails or takes too long.
    """
    tagged = [cell for cell in document.cells if "parameters" in cell.tags]
    if parameters and len(tagged) != 1:
        raise RenderError(f"{document.path}: needs exactly one cell tagged 'parameters'; it has {len(tagged)}")
    cells = [{"code": cell.code, "tags": list(cell.tags)} for cell in document.cells]
    order = {"cells": cells, "parameters": dict(parameters), "folder": str(folder), "time_limit": time_limit}
    answer = _asked(order, limit=time_limit * max(len(cells), 1) + _START_LIMIT)
    if "error" in answer:
        raise RenderError(f"{document.path}: {answer['error']}")
    outputs: list[list[dict[str, Any]]] = answer["outputs"]
    return outputs


def _asked(order: Mapping[str, object], *, limit: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="evalstats-cells-") as private:
        request, response = Path(private, "order.json"), Path(private, "answer.json")
        request.write_text(json.dumps(order), encoding="utf-8")
        command = [sys.executable, "-P", "-m", "evalstats.report.cells", str(request), str(response)]
        try:
            done = subprocess.run(  # noqa: S603 - this module
                command, env=_environment(private), capture_output=True, text=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return {"error": f"its cells did not end within {limit} s"}
        if done.returncode or not response.is_file():
            tail = done.stderr.strip()[-1000:]
            return {"error": f"its cells could not be run ({tail}); install evalstats-toolkit[report]"}
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
        cells=[made.new_code_cell(cell["code"], metadata={"tags": cell["tags"]}) for cell in cells],
        metadata={"kernelspec": kernel, "language_info": {"name": "python"}, "papermill": {"parameters": {}}},
    )
    untyped: Any = parameterize
    return untyped.parameterize_notebook(notebook, parameters) if parameters else notebook


def _execute(notebook: Any, folder: str, time_limit: int, *, private: str) -> str:
    """Run the notebook in place; return what went wrong, or nothing."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client: Any = NotebookClient(
        notebook,
        km=_kernel_manager(private),
        timeout=time_limit,
        startup_timeout=_START_LIMIT,
        resources={"metadata": {"path": folder}},
        record_timing=False,
    )
    try:
        client.execute()
    except CellExecutionError as error:
        return f"a cell failed: {_failure(error)}"
    except CellTimeoutError:
        return f"a cell took longer than {time_limit} s; give more with time_limit, or less data"
    except (DeadKernelError, RuntimeError) as error:
        return f"the Python process that runs the cells ended ({error})"
    return ""


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


def _failure(error: Any) -> str:
    """Return the exception's own words; our errors are sentences, others need their last lines."""
    name, value = str(error.ename), str(error.evalue)
    if name.endswith(("InputError", "CannotAnswerError", "StoreError", "RenderError")):
        return value
    lines = [line for line in _COLORS.sub("", str(error.traceback)).splitlines() if line.strip()]
    return "\n".join([f"{name}: {value}", *lines[-_TRACE_LINES:]])


if __name__ == "__main__":
    main(*sys.argv[1:])
