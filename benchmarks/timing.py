"""Time a call: the median of several runs, in seconds of CPU."""

import statistics
import time
from collections.abc import Callable

Row = dict[str, object]


def cpu_seconds(call: Callable[[], object], *, repeats: int = 5) -> float:
    """Median CPU seconds of `call` over `repeats` runs, after one run to warm up."""
    call()
    times: list[float] = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        times.append(time.process_time() - began)
    return statistics.median(times)


def against(name: str, ours: float, other: float | None, note: str) -> Row:
    """One row of the table; the ratio says how many times faster we are."""
    return {"name": name, "ours": ours, "other": other, "ratio": None if other is None else other / ours, "note": note}
