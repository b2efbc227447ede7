"""Consumer device repair: questions about broken phones, computers and lost data, answered in English and in Bangla.

The benchmark (arXiv 2606.03331) has 991 questions in three domains, each with a Bangla translation, and judges answers by
four criteria: correctness, completeness, practicality, safety. It publishes neither results nor their format, nor the
scale of the criteria: the columns below are ours.

Each criterion is a metric of its own; no mean over criteria is made, since none is defined. The headline is correctness:
an answer that is complete, practical and harmless helps nobody if it is wrong. Item is the question, variant the language, so
that the languages of a question are one cluster.
"""

from typing import Final

from evalstats.loaders.assumed import SHAPES, AssumedForm, Criterion, FormReader, Record
from evalstats.loaders.format import Format, FormatFile, Sign
from evalstats.loaders.rows import Row

CRITERIA: Final = ("correctness", "completeness", "practicality", "safety")
_FORM: Final = AssumedForm(
    benchmark="device-repair",
    item="question_id",
    model="model",
    standard={"domain": "scenario", "language": "variant"},
    criteria=tuple(Criterion(metric=name, column=name) for name in CRITERIA),
    described=("domain",),
    choice="correctness is the headline, since no mean over the criteria is defined",
)


class _Answers(FormReader):
    def shared(self, row: Record) -> Row | None:
        if absent := [name for name in CRITERIA if name not in row]:
            self.file.note(f"there is no column for {', '.join(absent)}: these criteria are missing, not 0")
        return {}


def _reader(file: FormatFile[Record]) -> FormReader:
    return _Answers(file, _FORM)


LOADER: Final = Format(
    name="devicerepair",
    title="device-repair results (tables; columns assumed, none published)",
    version="3",
    upstream="assumed: none is published",
    benchmark="device-repair",
    harness=None,
    signs=(Sign("question_id domain language model", some=" ".join(CRITERIA), confidence=0.7, shapes=SHAPES),),
    record=Record,
    reader=_reader,
    called="rows",
)
