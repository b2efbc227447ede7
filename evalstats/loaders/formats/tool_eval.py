"""ToolBench's ToolEval: for every query, how often a judge called the answer passed or failed, `<test set>_<model>.json`.

The item is the query, the test set its task. The judge looks at one answer several times, so that the score is the share of
passes and `n_trials` says of how many. Upstream rounds it: a query passes where at least half of the judgements do.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, scored, unscored
from evalstats.loaders.values import as_count, as_text

_NAME: Final = re.compile(r"(?P<set>G\d_(?:instruction|category|tool))_(?P<model>.+)")


class _Judged(Struct):
    passed: Any = None
    failed: Any = None
    task_solvable: Any = None


class _Query(Struct):
    key: str
    value: _Judged


def _rows(query: _Query, file: FormatFile[_Query]) -> Iterator[Sample]:
    found = _NAME.fullmatch(file.source.stem)
    run = file.run(found["model"] if found else None)
    passed, failed = as_count(query.value.passed) or 0, as_count(query.value.failed) or 0
    n = passed + failed
    shared: Row = {
        "run": run,
        "task": found["set"] if found else "",
        "item": as_text(query.key),
    }
    shared |= {"n_trials": n or None, "task_solvable": as_text(query.value.task_solvable)}
    yield shared, [("passed", scored(passed / n) if n else unscored("there is no judgement"))]


FORMAT: Final = Format(
    name="tool-eval",
    title="ToolBench pass rates of queries (<test set>_<model>.json)",
    version="1",
    upstream="OpenBMB/ToolBench at d56fdd8, toolbench/tooleval/eval_pass_rate.py",
    benchmark="ToolBench",
    harness="ToolEval",
    signs=(Sign("", 0.9, text=('"passed"', '"failed"', '"task_solvable"', '"answer_steps"'), shapes=OBJECT),),
    record=_Query,
    rows=_rows,
    at=("*",),
    called="queries",
    metrics={"passed": {"kind": "proportion", "low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
)
