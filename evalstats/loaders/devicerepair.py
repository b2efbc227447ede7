"""Consumer device repair: questions about broken phones, computers and lost data, answered in English and in Bangla.

The benchmark (arXiv 2606.03331) has 991 questions in three domains, each with a Bangla translation, and judges answers by
four criteria: correctness, completeness, practicality, safety. It publishes neither results nor their format, nor the
scale of the criteria: the columns below are ours.

Each criterion is a metric of its own; no mean over criteria is made, since none is defined. The headline is correctness:
an answer that is complete, practical and harmless helps nobody if it is wrong. Item is the question, variant the language, so
that the languages of a question are one cluster.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.assumed import (
    FIELDS,
    OF_RUN,
    SHAPES,
    Record,
    noted,
    on_scale,
    read,
    standard,
    with_others,
)
from evalstats.loaders.format import HIGHER, Format, FormatFile, Sign

CRITERIA: Final = ("correctness", "completeness", "practicality", "safety")
_NOTE: Final = noted("device-repair", "; correctness is the headline, since no mean over the criteria is defined")
_FIELDS: Final = {**FIELDS, "item": "question_id", "model": "model", "variant": "language", "scenario": "domain"}


def _arranged(frame: pl.DataFrame, file: FormatFile[Record]) -> pl.DataFrame:
    file.note(_NOTE)
    frame = file.named(frame, item="question_id", model="model")
    frame = standard(frame, file, {"domain": "scenario", "language": "variant"})
    return frame.with_columns(part=pl.coalesce("part", "model"))


def _after(frame: pl.DataFrame, file: FormatFile[Record]) -> pl.DataFrame:
    held = frame["metric"].unique(maintain_order=True)
    for name in CRITERIA:
        if name not in held:
            file.note(f"there is no column for {name}: this criterion is missing, not 0")
    return on_scale(frame, file, [name for name in CRITERIA if name in held], {})


LOADER: Final[Format[Any]] = Format(
    name="devicerepair",
    title="device-repair results (tables; columns assumed, none published)",
    version="4",
    upstream="assumed: none is published",
    benchmark="device-repair",
    harness=None,
    signs=(Sign("question_id domain language model", some=" ".join(CRITERIA), confidence=0.7, shapes=SHAPES),),
    record=Record,
    inner=with_others(_FIELDS.values(), CRITERIA),
    fields=_FIELDS,
    scores={name: f"{name}?" for name in CRITERIA},
    reads=read,
    about=lambda _: {"note": _NOTE},
    arranged=_arranged,
    after=_after,
    of_run=OF_RUN,
    metrics={"correctness": {"primary": True}, "*": HIGHER},
    called="rows",
)
