"""BigCodeBench: every try of every task that passed its tests or did not; pass@k of a run; the board of all models.

`<model>--<revision>--bigcodebench[-hard]-<split>--<backend>-<temperature>-<n>-..._eval_results.json`, whose name says what the
file does not; the `pass_at_k.json` beside it; and the board, one object with a member a model. A try that ran out of time counts
as failed, as upstream counts it. The split (complete or instruct) is the task, full and hard are two benchmarks.
"""

from collections.abc import Iterable
from typing import Any, Final

import polars as pl
from msgspec import Struct, field

from evalstats.loaders.format import OBJECT, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import of_words
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_number, as_text, as_time, day_of, json_text

_UPSTREAM: Final = (
    "bigcode-project/bigcodebench at 47eff25, bigcodebench/evaluate.py, generate.py and analysis/get_results.py"
)
_NAME: Final = (
    r"(?P<model>[^/]+?)(?:--(?P<revision>[^/-]+|[^/-]+-[^/-]+))?--bigcodebench-(?P<hard>hard-)?(?P<task>complete|instruct)"
    r"(?:--(?P<backend>[^/-]+)-(?P<temperature>\d+(?:\.\d+)?)-\d+)?[^/]*"
)
_TIMEOUTS: Final = "{n} tries ran out of time and count as failed, as upstream counts them"
_NO_PROMPT: Final = "--skip_prefill"


class _PassRates(Struct):
    model: Any
    split: Any = None
    subset: Any = None
    calibrated: Any = None
    gt_pass_rate: Any = None
    pass_1: Any = field(default=None, name="pass@1")
    pass_5: Any = field(default=None, name="pass@5")
    pass_10: Any = field(default=None, name="pass@10")


class _About(Struct):
    rates: dict[str, Any] = field(name="pass@1")
    date: Any = None
    size: Any = None


class _Model(Struct):
    key: str
    value: _About


def _about(file: FormatFile[Any]) -> Row:
    """Return what the file's name says of its run."""
    named = file.path_says(_NAME)
    return {
        "model": named.get("model", "").removesuffix(_NO_PROMPT).replace("--", "/") or None,
        "task": named.get("task"),
        "benchmark": _benchmark("hard" in named),
        "temperature": as_number(named.get("temperature")),
        "timestamp": as_time(file.members.get("date")),
        "config": {"backend": named.get("backend"), "revision": named.get("revision")},
    }


def _benchmark(hard: object) -> str:
    return "BigCodeBench-Hard" if hard else "BigCodeBench"


def _rates(rates: _PassRates, file: FormatFile[_PassRates]) -> Iterable[Sample]:
    hard = as_text(rates.subset) == "hard"
    config = {"calibrated": rates.calibrated, "gt_pass_rate": rates.gt_pass_rate}
    model = as_text(rates.model)
    run = file.run(model and model.replace("--", "/"), benchmark=_benchmark(hard), config=json_text(config))
    for k, value in ((1, rates.pass_1), (5, rates.pass_5), (10, rates.pass_10)):
        file.publish(value, run, f"pass@{k}", task=as_text(rates.split) or "", unit="proportion")
    return ()


def _board(model: _Model, file: FormatFile[_Model]) -> Iterable[Sample]:
    about = model.value
    run = file.run(as_text(model.key), benchmark=_benchmark("hard" in file.source.stem.lower()))
    known: Row = {"unit": "percent", "date": day_of(about.date), "size_b": as_number(about.size)}
    for split, rate in about.rates.items():
        file.publish(rate, run, "pass@1", ends=None, task=as_text(split) or "", **known)
    return ()


FORMAT: Final[Format[Any]] = Format(
    name="bigcodebench",
    title="BigCodeBench results (*_eval_results.json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="BigCodeBench",
    harness="BigCodeBench",
    signs=(Sign("date eval", 0.95, text=('"BigCodeBench/', '"status"'), shapes=OBJECT),),
    about=_about,
    fields={"item": "key"},
    scores={"pass": "value[].status"},
    reads=of_words({"pass": 1.0, "fail": 0.0, "timeout": 0.0}),
    counts={_TIMEOUTS: pl.col("value_raw") == "timeout"},
    at=("eval.*",),
    keep=("date",),
    called="tasks",
    metrics={"pass": {"kind": "binary", "primary": True}},
)

RATES: Final = Format(
    name="bigcodebench-pass-at-k",
    title="BigCodeBench pass rates (pass_at_k.json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="BigCodeBench",
    harness="BigCodeBench",
    signs=(Sign("model split subset gt_pass_rate", 0.95, some="pass@1 pass@5 pass@10", shapes=OBJECT),),
    record=_PassRates,
    rows=_rates,
    at=(".",),
    called="results",
)

BOARD: Final = Format(
    name="bigcodebench-board",
    title="BigCodeBench leaderboard (results.json)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="BigCodeBench",
    harness="BigCodeBench",
    signs=(Sign("", 0.9, text=('"pass@1"', '"instruct"', '"complete"', '"open-data"'), shapes=OBJECT),),
    record=_Model,
    rows=_board,
    at=("*",),
    called="models",
)
