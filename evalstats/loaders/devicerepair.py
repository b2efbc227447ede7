"""Consumer device repair: questions about broken phones, computers and lost data, answered in English and in Bangla.

The benchmark (arXiv 2606.03331) has 991 questions in three domains, each with a Bangla translation, and judges answers by
four criteria: correctness, completeness, practicality, safety. It publishes neither results nor their format, nor the
scale of the criteria: the columns below are ours.

Each criterion is a metric of its own; no mean over criteria is made, since none is defined. The headline is correctness:
an answer that is complete, practical and harmless helps nobody if it is wrong.
"""

from collections.abc import Iterator
from typing import Final

import polars as pl

from evalstats.loaders.assumed import SHAPES, SHARED, AssumedLoader, AssumedRows, Criterion, Field
from evalstats.loaders.format import Sign

CRITERIA: Final = ("correctness", "completeness", "practicality", "safety")


def _arranged(frame: pl.DataFrame, _: AssumedRows) -> pl.DataFrame:
    """Keep every row: item is the question, variant the language, so that the languages of a question are one cluster."""
    return frame


def _doubts(rows: AssumedRows) -> Iterator[str]:
    if absent := [name for name in CRITERIA if not rows.has(name)]:
        yield f"there is no column for {', '.join(absent)}: these criteria are missing, not 0"


LOADER: Final = AssumedLoader(
    name="devicerepair",
    title="device-repair results (tables; columns assumed, none published)",
    version="2",
    benchmark="device-repair",
    sign=Sign("question_id domain language model", some=" ".join(CRITERIA), confidence=0.7, shapes=SHAPES),
    fields=(
        Field(
            name="question_id",
            meaning="name of the question, the same for all models and languages",
            also=("item",),
            needed=True,
        ),
        Field(name="domain", meaning="phone_repair, computer_repair, data_recovery", also=("scenario",), constant=True),
        Field(name="language", meaning="language of question and answer", also=("variant",), constant=True),
        Field(name="model", meaning="model that answered", needed=True, constant=True),
        *(Field(name=name, meaning=f"score for {name}; higher is better") for name in CRITERIA),
        *SHARED,
    ),
    criteria=tuple(Criterion(metric=name, column=name) for name in CRITERIA),
    arranged=_arranged,
    doubts=_doubts,
    described=("domain",),
    choice="correctness is the headline, since no mean over the criteria is defined",
)
