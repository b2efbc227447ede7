"""MMLU as its authors write it: `results_<model>/<subject>.csv`, the questions of a subject with whether they were right.

The first six columns, named 0 to 5, are the question, its choices and the answer; `<model>_correct` is the score, beside the
probabilities of the choices. The item is a digest of the question and its choices, the task the subject, after the file.
"""

from collections.abc import Iterator
from typing import Any, Final

from evalstats.loaders.base import plain_name
from evalstats.loaders.format import HEADLINE, Format, FormatFile, Sample, Sign, by_folder
from evalstats.loaders.rows import Row, hashed, held, unscored
from evalstats.loaders.values import as_text, letter_grade

_CORRECT: Final = "_correct"
_ASKED: Final = ("0", "1", "2", "3", "4")


def _rows(row: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterator[Sample]:
    subject = plain_name(file.path).removesuffix(".csv").removesuffix("_test")
    item = hashed(*(row.get(name) for name in _ASKED))
    shared: Row = {"task": subject, "item": item}
    for name in (name for name in row if name.endswith(_CORRECT) and name != _CORRECT):
        run = file.run(as_text(name.removesuffix(_CORRECT)))
        score = letter_grade(row[name])
        outcome = unscored("it is neither right nor wrong", held(row[name])) if score not in {0.0, 1.0} else score
        yield {**shared, "run": run}, [("correct", outcome)]


FORMAT: Final = Format(
    name="mmlu",
    title="MMLU results of its authors' scripts (results_<model>/<subject>.csv)",
    version="1",
    upstream="hendrycks/test at 4450500, evaluate.py and evaluate_flan.py",
    benchmark="MMLU",
    harness=None,
    signs=(Sign("0 1 2 3 4 5", 0.95, like=(r".+_correct", r".+_choiceA_probs"), shapes=("text", "parquet")),),
    record=dict[str, Any],
    rows=_rows,
    repeated=True,
    called="questions",
    grouped=by_folder(),
    metrics={"correct": HEADLINE},
)
