"""Run the cells of a page of one's own: papermill puts the parameters in, nbclient runs them.

This happens in a process of its own, so that sockets and event loops of Jupyter never meet those of the caller (who may
sit in a notebook), and a kernel that hangs can be given up. The pages that ship with evalstats need none of it.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalstats import errors
from evalstats.document.quarto import EXECUTED
from evalstats.errors import EvalStatsError, RenderError
from evalstats.report.workspace import UNGUARDED, Guard, end_program, private_folder

if TYPE_CHECKING:  # the process that runs cells reads no page, and starts faster without polars
    from evalstats.report.qmd import PageSource

# Whether a PDF will be made of what the cells give, where that is known.
PRINTED = "EVALSTATS_PRINTED"
_START_LIMIT = 60
_END_LIMIT = 10
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_MOST_CHARS = 600
_OURS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, EvalStatsError)}
_LONGEST_SOCKET = 90  # the system's limit is about 100 bytes, and a number is put behind


def run_cells(
    document: "PageSource",
    parameters: Mapping[str, object],
    folder: Path,
    *,
    time_limit: int,
    guard: Guard = UNGUARDED,
    printed: bool = True,
) -> list[list[dict[str, Any]]]:
    """Run every cell in order and return the outputs of each, as Jupyter describes them.

    Parameters (values that papermill can write as Python) go in behind the cell tagged `parameters`; the kernel works in
    `folder`, and a cell may take `time_limit` seconds. Figures are drawn for paper only where a PDF is `printed`. RenderError if
    a parameter is unknown, or a cell fails or takes too long.
    """
    tagged = [cell for cell in document.cells if "parameters" in cell.tags]
    if parameters and len(tagged) != 1:
        raise RenderError(f"{document.path}: needs exactly one cell tagged 'parameters'; it has {len(tagged)}")
    cells = [{"code": cell.code, "tags": list(cell.tags), "line": cell.line} for cell in document.cells]
    order = {
        "cells": cells,
        "parameters": dict(parameters),
        "folder": str(folder),
        "time_limit": time_limit,
        "printed": printed,
    }
    limit = time_limit * max(len(cells), 1) + _START_LIMIT
    answer = _answer(order, limit=limit, guard=guard)
    if "error" in answer:
        raise RenderError(f"{document.path}: {answer['error']}")
    outputs: list[list[dict[str, Any]]] = answer["outputs"]
    return outputs


def _answer(order: Mapping[str, object], *, limit: float, guard: Guard = UNGUARDED) -> dict[str, Any]:
    """Return the outputs of the cells, or the error that ended them; `limit` is in seconds and holds for all together."""
    said: list[str] = []
    with private_folder("evalstats-cells-", guard) as private:
        with (private / "stderr").open("w", encoding="utf-8") as errors_of_it:
            process = subprocess.Popen(  # noqa: S603 - this module
                [sys.executable, "-P", "-m", "evalstats.report.kernel", str(private)],
                env=_environment(str(private)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors_of_it,
                encoding="utf-8",
                start_new_session=True,
            )
        guard.runs(process.pid)
        reader = threading.Thread(target=_exchange, args=(process, json.dumps(order), said), daemon=True)
        try:
            reader.start()
            reader.join(limit)
            if reader.is_alive():
                end_program(process)
                return {"error": f"its cells did not end within {limit:g} s"}
            _let_end(process)
        except BaseException:  # the user has had enough
            end_program(process)
            raise
        finally:
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
            guard.ended(process.pid)
        if said:
            answer: dict[str, Any] = json.loads(said[0])
            return answer
        why = _last_line((private / "stderr").read_text(encoding="utf-8", errors="replace"))
    return {"error": f"its cells could not be run ({why}); pip install 'evalstats-toolkit[report]'"}


def _exchange(process: subprocess.Popen[str], order: str, said: list[str]) -> None:
    """Send an order, and put the answer into `said`; nothing is there if the process ends before it."""
    if process.stdin is None or process.stdout is None:
        return
    try:
        process.stdin.write(f"{order}\n")
        process.stdin.flush()
        answer = process.stdout.readline()
    except (OSError, ValueError):  # it has ended
        return
    if answer.endswith("\n"):
        said.append(answer)


def _let_end(process: subprocess.Popen[str]) -> None:
    """Let the process end by itself, its kernel with it, and end it where it does not."""
    with suppress(OSError, ValueError):
        if process.stdin is not None:
            process.stdin.close()
    try:
        process.wait(_END_LIMIT)
    except BaseException as error:
        end_program(process)
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def _environment(private: str) -> dict[str, str]:
    # A profile of one's own: nobody's start-up files run inside a report.
    return {
        **os.environ,
        EXECUTED: "",
        "IPYTHONDIR": private,
        "MPLBACKEND": "agg",
        "PYTHONHASHSEED": "0",
        "NO_COLOR": "1",
    }


def main(private: str) -> None:
    """Answer an order, in the process that was started for it."""
    # Whatever else prints here must not be taken for an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        answers.write(f"{json.dumps(asyncio.run(_run(json.loads(sys.stdin.readline()), private)))}\n")


async def _run(order: Mapping[str, Any], private: str) -> dict[str, Any]:
    manager = _kernel_manager(private)
    go = f"__import__('os').chdir({order['folder']!r})\n__import__('os').environ[{PRINTED!r}] = '{order['printed']:d}'"
    # It goes back in the end: no process stands in a folder that is removed.
    back = f"__import__('os').chdir({private!r})"
    first, last = ({"code": code, "tags": list[str](), "line": 0} for code in (go, back))
    try:
        notebook = _with_parameters([first, *order["cells"], last], order["parameters"])
        error = await _execute(notebook, manager, private, order["time_limit"])
    finally:
        if manager.has_kernel:
            await manager.shutdown_kernel(now=True)
    code = [cell for cell in notebook["cells"][1:-1] if "injected-parameters" not in cell["metadata"]["tags"]]
    return {"error": error} if error else {"outputs": [cell["outputs"] for cell in code]}


def _with_parameters(cells: list[dict[str, Any]], parameters: dict[str, object]) -> Any:
    from nbformat import v4

    made: Any = v4
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = made.new_notebook(
        cells=[
            made.new_code_cell(each["code"], metadata={"tags": each["tags"], "line": each["line"]}) for each in cells
        ],
        metadata={"kernelspec": kernel, "language_info": {"name": "python"}, "papermill": {"parameters": {}}},
    )
    if not parameters:
        return notebook
    from papermill import parameterize  # slow to load

    untyped: Any = parameterize
    return untyped.parameterize_notebook(notebook, parameters)


async def _execute(notebook: Any, manager: Any, private: str, time_limit: int) -> str:
    """Run the notebook in place; return what went wrong, or nothing."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    begun: list[int] = []

    def on_cell_start(cell: Any, cell_index: int) -> None:  # noqa: ARG001 - nbclient names its arguments
        begun.append(cell["metadata"].get("line", 0))

    client: Any = NotebookClient(
        notebook,
        km=manager,
        timeout=time_limit,
        startup_timeout=_START_LIMIT,
        resources={"metadata": {"path": private}},
        record_timing=False,
        on_cell_start=on_cell_start,
    )
    try:
        await client.async_execute()
    except CellExecutionError as error:
        return failed_cell(begun[-1], str(error.ename), str(error.evalue))
    except CellTimeoutError:
        return f"{_cell_at(begun[-1])} took longer than {time_limit} s; give more with time_limit, or less data"
    except (DeadKernelError, RuntimeError) as error:
        where = f", in {_cell_at(begun[-1])}" if begun else ""
        return f"the Python process that runs the cells ended{where} ({in_one_line(str(error))})"
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
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
