"""UpTrain: the results of `evaluate`, the rows of the data with `score_<check>` and `explanation_<check>`.

The item is a digest of the question and what it is measured against; context and answer are the system's. A check is a metric of
its name. Where a check failed UpTrain leaves null, which is unscored.
"""

from collections.abc import Sequence
from typing import Any, Final

from evalstats.loaders.format import HIGHER, RECORDS, TABLE, Format, Sign
from evalstats.loaders.record_columns import members_of
from evalstats.loaders.rows import Row, item_of
from evalstats.loaders.values import as_text

_SCORE: Final = "score_"
_ASKED: Final = ("question", "query", "prompt", "ground_truth", "conversation")


def _scores(rows: Sequence[Row], _: object) -> dict[str, str]:
    return {name.removeprefix(_SCORE): name for name in members_of(rows) if name.startswith(_SCORE)}


def _item(row: Row) -> str | None:
    return as_text(row.get("id")) or item_of({name: row[name] for name in _ASKED if name in row})


FORMAT: Final[Format[Any]] = Format(
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
    fields={"item": _item, "model": "model"},
    scores=_scores,
    metrics={"*": HIGHER},
    repeated=True,
    called="rows",
)
