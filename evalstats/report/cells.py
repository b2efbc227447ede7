"""Run a page's cells in a kernel of their own: papermill puts the parameters in, nbclient runs them."""

import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evalstats.errors import RenderError
from evalstats.report.document import Document

_START_LIMIT = 60
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_TRACE_LINES = 12
_LONGEST_SOCKET = 90  # the system's limit is about 100 bytes, and a number is put behind


def run_cells(
    document: Document, parameters: Mapping[str, object], folder: Path, *, time_limit: int
) -> list[list[dict[str, Any]]]:
    """Run every cell in order and return the outputs of each, as Jupyter describes them.

    Parameters
    ----------
    document
        The page. Parameters go in behind its cell tagged `parameters`.
    parameters
        Values that papermill can write as Python: text, numbers, booleans, None, lists.
    folder
        Working folder of the kernel.
    time_limit
        Seconds that one cell may take.

    Raises
    ------
    RenderError
        If a parameter is unknown, or a cell fails or takes too long.
    """
    tagged = [cell for cell in document.cells if "parameters" in cell.tags]
    if parameters and len(tagged) != 1:
        message = f"{document.path}: needs exactly one cell tagged 'parameters'; it has {len(tagged)}"
        raise RenderError(message)
    notebook = _with_parameters(document, parameters)
    _execute(notebook, document.path, folder, time_limit)
    code = [cell for cell in notebook["cells"] if "injected-parameters" not in cell["metadata"]["tags"]]
    return [list(cell["outputs"]) for cell in code]


def _with_parameters(document: Document, parameters: Mapping[str, object]) -> Any:
    from nbformat import v4
    from papermill import parameterize

    made: Any = v4
    cells = [made.new_code_cell(cell.code, metadata={"tags": list(cell.tags)}) for cell in document.cells]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = made.new_notebook(
        cells=cells,
        metadata={"kernelspec": kernel, "language_info": {"name": "python"}, "papermill": {"parameters": {}}},
    )
    untyped: Any = parameterize
    return untyped.parameterize_notebook(notebook, dict(parameters)) if parameters else notebook


def _execute(notebook: Any, path: Path, folder: Path, time_limit: int) -> None:
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client: Any = NotebookClient(
        notebook,
        km=_kernel_manager(),
        timeout=time_limit,
        startup_timeout=_START_LIMIT,
        resources={"metadata": {"path": str(folder)}},
        record_timing=False,
    )
    with tempfile.TemporaryDirectory(prefix="evalstats-kernel-") as private:
        _connect_privately(client.km, private)
        try:
            client.execute(env=_environment(private))
        except CellExecutionError as error:
            raise RenderError(f"{path}: a cell failed: {_failure(error)}") from error
        except CellTimeoutError as error:
            message = f"{path}: a cell took longer than {time_limit} s; give more with time_limit, or less data"
            raise RenderError(message) from error
        except (DeadKernelError, RuntimeError) as error:
            raise RenderError(f"{path}: the Python process that runs the cells ended ({error})") from error


def _kernel_manager() -> Any:
    """Return a manager whose kernel is this interpreter, whatever kernels the machine has installed under the name."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager

    class OwnInterpreter(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002 - the manager's signature
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    manager: Any = AsyncKernelManager
    return manager(kernel_name="python3", kernel_spec_manager=OwnInterpreter())


def _connect_privately(manager: Any, private: str) -> None:
    """Talk to the kernel through sockets in a folder that only this user can open, where the system has such."""
    manager.connection_file = str(Path(private, "kernel.json"))
    address = str(Path(private, "kernel"))
    if os.name == "posix" and len(address) < _LONGEST_SOCKET:
        manager.transport, manager.ip = "ipc", address


def _environment(private: str) -> dict[str, str]:
    # A profile of one's own: nobody's start-up files run inside a report.
    return {**os.environ, "IPYTHONDIR": private, "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def _failure(error: Any) -> str:
    """Return the exception's own words; our errors are sentences, others need their last lines."""
    name, value = str(error.ename), str(error.evalue)
    if name.endswith(("InputError", "CannotAnswerError", "StoreError", "RenderError")):
        return value
    lines = [line for line in _COLORS.sub("", str(error.traceback)).splitlines() if line.strip()]
    return "\n".join([f"{name}: {value}", *lines[-_TRACE_LINES:]])
