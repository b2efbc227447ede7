"""Simulated results of RUT-Bench, for pages that are rendered without data."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from evalstats.loaders.registry import read
from evalstats.report.again import call_of
from evalstats.schema.data import EvalData
from evalstats.simulate.rutbench import write_rutbench
from evalstats.simulate.rutbench_truth import published_models

_FOLDER = "rutbench-simulated"


def simulated_rutbench() -> EvalData:
    """Simulate the result files of every second published model on RUT-Bench, and read them as any files are read."""
    with tempfile.TemporaryDirectory(prefix="evalstats-rutbench-") as folder:
        inside = Path(folder, _FOLDER)
        write_rutbench(inside, published_models()[::2])
        return read(inside)


def code_to_repeat(function: str, options: Sequence[tuple[str, object, object]], reading: str) -> str:
    """Return lines of Python that ask the same again; without a way of reading, of the data that are simulated here.

    Examples
    --------
    >>> print(code_to_repeat("leaderboard", [("seed", 3, 0)], "es.read('x.csv')"))
    import evalstats as es
    <BLANKLINE>
    data = es.read('x.csv')
    es.leaderboard(data, seed=3)
    """
    call = call_of(function, options)
    if reading:
        return "\n".join(["import evalstats as es", "", f"data = {reading}", call])
    first = ["import evalstats as es", "from evalstats.simulate import published_models, write_rutbench", ""]
    written = f'write_rutbench("{_FOLDER}", published_models()[::2])'
    return "\n".join([*first, written, f'data = es.read("{_FOLDER}")', call])
