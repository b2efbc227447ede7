"""HumanEval: whether each sampled completion passes the tests of its problem, as `evaluate_functional_correctness` writes it.

The problem is the item and its samples are trials, in the order of the file, so that pass@k can be estimated. A completion that
raised, was wrong or ran out of time failed; the harness keeps nothing of failures of its own.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.format import HEADLINE, RECORDS, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.rows import Row


def _about(file: FormatFile[Any]) -> Row:
    model = file.source.called.removesuffix(".jsonl_results")
    file.unnamed(model)
    return {"model": model}


FORMAT: Final[Format[Any]] = Format(
    name="human-eval",
    title="HumanEval results (samples.jsonl_results.jsonl)",
    version="1",
    upstream="openai/human-eval at 6d43fb9, human_eval/evaluation.py",
    benchmark="HumanEval",
    harness="human-eval",
    signs=(Sign("task_id completion result passed", shapes=RECORDS),),
    fields={"item": "task_id", "status_reason": "result"},
    scores={"passed": "passed"},
    # Of a completion that passed the result is "passed".
    arranged=lambda frame, _: frame.with_columns(pl.col("status_reason").replace("passed", None)),
    repeated=True,
    called="samples",
    about=_about,
    metrics={"passed": HEADLINE},
    counts={"{n} of {all} samples have no verdict; they are unscored": UNSCORED},
)
