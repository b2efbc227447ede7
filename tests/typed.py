"""The whole command line in this process: what a shell would see of it, without starting Python again.

Starting `evalstats` costs over a second of imports. What this cannot stand for is a process of its own: pipes that close, a
terminal or its encoding, the status the shell gets. Each of these keeps a test with a real one.
"""

import contextlib
import io
import subprocess
from pathlib import Path
from unittest import mock

from evalstats.cli.main import main


def typed(*arguments: str | Path, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Return status, stdout and stderr of `evalstats` with these arguments, typed in `folder`."""
    command = ["evalstats", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    status = 0
    with contextlib.ExitStack() as around:
        if folder is not None:
            around.enter_context(contextlib.chdir(folder))
        around.enter_context(mock.patch("sys.argv", command))
        around.enter_context(contextlib.redirect_stdout(out))
        around.enter_context(contextlib.redirect_stderr(err))
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
    written = [stream.buffer.getvalue().decode("utf-8") for stream in (out, err)]
    return subprocess.CompletedProcess(command, status, *written)
