"""Run pages' cells: papermill puts the parameters in, nbclient runs them.

This happens in a process of its own, so that sockets and event loops of Jupyter never meet those of the caller (who may
sit in a notebook), and a kernel that hangs can be given up. To start it and to load what pages need takes most of the time
that a page takes, so pages that are rendered together share it; see `one_kernel`.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

from evalstats import errors
from evalstats.errors import EvalStatsError, RenderError
from evalstats.report.qmd import PageSource
from evalstats.report.workspace import UNGUARDED, Guard, end_program, guarded, private_folder

# Whether a PDF will be made of what the cells give, where that is known.
PRINTED = "EVALSTATS_PRINTED"
_START_LIMIT = 60
_END_LIMIT = 10
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_MOST_CHARS = 600
_OURS = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, EvalStatsError)}
_LONGEST_SOCKET = 90  # the system's limit is about 100 bytes, and a number is put behind


def run_cells(
    document: PageSource,
    parameters: Mapping[str, object],
    folder: Path,
    *,
    time_limit: int,
    guard: Guard = UNGUARDED,
    alone: bool = True,
    printed: bool = True,
) -> list[list[dict[str, Any]]]:
    """Run every cell in order and return the outputs of each, as Jupyter describes them.

    Parameters (values that papermill can write as Python) go in behind the cell tagged `parameters`; the kernel works in
    `folder`, and a cell may take `time_limit` seconds. A page that does not run `alone` takes the kernel of `one_kernel`, where
    there is one. Figures are drawn for paper only where a PDF is `printed`. RenderError if a parameter is
    unknown, or a cell fails or takes too long.
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
    shared = None if alone else _SHARED.get()
    kernel = shared or Kernel(guard)
    try:
        answer = kernel.ask(order, limit=limit)
    finally:
        if shared is None:
            kernel.close()
    if "error" in answer:
        raise RenderError(f"{document.path}: {answer['error']}")
    outputs: list[list[dict[str, Any]]] = answer["outputs"]
    return outputs


@contextmanager
def one_kernel() -> Generator[None]:
    """Let the pages that are rendered inside share one kernel, which starts with the first of them.

    Each page begins with no names defined and in its own folder; modules stay loaded. After a failure the next page gets a new
    kernel.
    """
    if _SHARED.get() is not None:
        yield
        return
    kernel = Kernel()
    token = _SHARED.set(kernel)
    try:
        yield
    finally:
        _SHARED.reset(token)
        kernel.close()


class Kernel:
    """A process that runs the cells of one page after another; it starts when it is first asked, and ends with us.

    Without a guard of its caller's it has one of its own, for as long as it lives.
    """

    __slots__ = ("_guard", "_held", "_private", "_process")

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard
        self._process: subprocess.Popen[str] | None = None
        self._private = Path()
        self._held = ExitStack()

    def ask(self, order: Mapping[str, object], *, limit: float) -> dict[str, Any]:
        """Return the outputs of the cells, or the error that ended them; `limit` is in seconds and holds for all together."""
        process = self._process or self._start()
        said: list[str] = []
        reader = threading.Thread(target=_exchange, args=(process, json.dumps(order), said), daemon=True)
        reader.start()
        try:
            reader.join(limit)
        except BaseException:  # the user has had enough
            self.close(now=True)
            raise
        if reader.is_alive():
            self.close(now=True)
            return {"error": f"its cells did not end within {limit:g} s"}
        if not said:
            _let_end(process)
            why = _last_line((self._private / "stderr").read_text(encoding="utf-8", errors="replace"))
            self.close()
            return {"error": f"its cells could not be run ({why}); install evalstats-toolkit[report]"}
        answer: dict[str, Any] = json.loads(said[0])
        if "error" in answer:  # what it left behind is not for the next page
            self.close()
        return answer

    def close(self, *, now: bool = False) -> None:
        """Let the process end by itself, or end it now with all that it started; nothing of it stays."""
        if self._process is not None:
            if now:
                end_program(self._process)
            else:
                _let_end(self._process)
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
        self._process = None
        self._held.close()

    def _start(self) -> subprocess.Popen[str]:
        guard = self._guard or self._held.enter_context(guarded())
        self._private = self._held.enter_context(private_folder("evalstats-cells-", guard))
        with (self._private / "stderr").open("w", encoding="utf-8") as errors_of_it:
            process = subprocess.Popen(  # noqa: S603 - this module
                [sys.executable, "-P", "-m", "evalstats.report.kernel", str(self._private)],
                env=_environment(str(self._private)),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors_of_it,
                encoding="utf-8",
                start_new_session=True,
            )
        guard.runs(process.pid)
        self._held.callback(guard.ended, process.pid)
        self._process = process
        return process


_SHARED: ContextVar[Kernel | None] = ContextVar("shared kernel", default=None)


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
    return {**os.environ, "IPYTHONDIR": private, "MPLBACKEND": "agg", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}


def main(private: str) -> None:
    """Answer one order after another, in the process that `Kernel` started, until there are no more."""
    # Whatever else prints here must not be taken for an answer.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        asyncio.run(_serve(private, answers))


async def _serve(private: str, answers: TextIO) -> None:
    manager: Any = None
    try:
        for line in sys.stdin:
            order = json.loads(line)
            used = manager is not None
            manager = manager or _kernel_manager(private)
            first = _folder_cell(order["folder"], forget=used, printed=order.get("printed", True))
            cells = [first, *order["cells"], _folder_cell(private)]
            notebook = _with_parameters(cells, order["parameters"])
            error = await _execute(notebook, manager, private, order["time_limit"])
            code = [cell for cell in notebook["cells"][1:-1] if "injected-parameters" not in cell["metadata"]["tags"]]
            answer = {"error": error} if error else {"outputs": [cell["outputs"] for cell in code]}
            answers.write(f"{json.dumps(answer)}\n")
            answers.flush()
    finally:
        if manager is not None and manager.has_kernel:
            await manager.shutdown_kernel(now=True)


def _folder_cell(folder: str, *, forget: bool = False, printed: bool = True) -> dict[str, Any]:
    """Return a cell that goes to a folder, says whether a PDF is made, and forgets all names but those of a new kernel."""
    code = f"__import__('os').chdir({folder!r})\n__import__('os').environ[{PRINTED!r}] = '{printed:d}'"
    return {"code": f"{code}\n%reset -f" if forget else code, "tags": [], "line": 0}


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
