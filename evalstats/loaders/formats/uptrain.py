"""UpTrain: the results of `evaluate`, the rows of the data with `score_<check>` and `explanation_<check>`.

The item is a digest of the question and what it is measured against; context and answer are the system's. A check is a metric of
its name. Where a check failed UpTrain leaves null, which is unscored.
"""

from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.format import RECORDS, TABLE, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import number
from evalstats.loaders.records import item_of
from evalstats.loaders.values import as_text

_SCORE: Final = "score_"
_ASKED: Final = ("question", "query", "prompt", "ground_truth", "conversation")


def _rows(row: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterator[Sample]:
    item = as_text(row.get("id")) or item_of({name: row[name] for name in _ASKED if name in row})
    checks = [name for name in row if name.startswith(_SCORE) and not isinstance(row[name], list | dict)]
    if item is None or not checks:
        file.leave_out("no question" if item is None else "no score")
        return
    run = file.run(as_text(row.get("model")))
    yield (
        {"run": run, "item": item},
        [(as_text(name.removeprefix(_SCORE)) or "", number(row[name])) for name in checks],
    )


FORMAT: Final = Format(
    name="uptrain",
    title="UpTrain results (score_<check>, explanation_<check>)",
    version="1",
    upstream="uptrain-ai/uptrain at 625d371, uptrain/framework/evalllm.py and uptrain/operators/language/response_quality.py",
    benchmark="UpTrain",
    harness="UpTrain",
    signs=(
        Sign(
            "",
            0.85,
            some="question query prompt response",
            like=(r"score_.+", r"explanation_.+"),
            shapes=(*RECORDS, *TABLE),
        ),
    ),
    record=dict[str, Any],
    rows=_rows,
    better=lambda _: True,
    repeated=True,
    called="rows",
)
