"""MMLU-Pro: the letter that a model chose for every question, beside the key.

The item is the question's number with a hash of question and options, since a few questions were mended after the first models
had answered them; the key was mended too, so `answer` is a factor. The scenario is the category. The benchmark draws an option at
random where no letter could be read; here such a question is unscored, and one without any output a harness error. Bare texts
among the questions (traces of a summary) are left out. Only the file's name, or a folder's, names the model.
"""

import hashlib
import re
from typing import Any, Final

import polars as pl
from msgspec import UNSET, Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import HEADLINE, OBJECT, RECORDS, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import texts
from evalstats.loaders.rows import held
from evalstats.loaders.values import as_list, first_line

_BENCHMARK: Final = "MMLU-Pro"
_LETTERS: Final = "ABCDEFGHIJ"
_NAME: Final = re.compile(r"model_outputs_(?P<model>.+?)_(?P<shots>\d+)-?shots?(?:_[\d_]+)?(?:\.json)?")
_SUBJECT: Final = re.compile(r".+_result")
_METHOD: Final = "CoT"
_HASH_CHARS: Final = 6
# What evaluate_from_apiX.py keeps in place of an answer.
_KILLED: Final = "Killed by user"
_UNREAD: Final = "no letter could be read out of the answer"
_GUESSED: Final = (
    "in {n} of {all} questions no letter could be read; they are unscored here, and the benchmark's own accuracy draws an "
    "option at random for them"
)
_OTHER_KEY: Final = "in {n} of {all} questions answer and answer_index contradict each other; the letter counts"
_NO_MODEL: Final = (
    "the model is named by the file (model_outputs_<model>_5shots.json) or of its folder only, and this name follows "
    "neither pattern; it is called {!r}"
)


class _Question(Struct):
    question_id: Any = None
    question: Any = None
    options: Any = None
    answer: Any = None
    answer_index: Any = None
    category: Any = None
    src: Any = None
    pred: Any = None
    model_outputs: Any = UNSET
    generated_text: Any = None


def _model_of(source: Source) -> tuple[str | None, int | None]:
    """Return the model and the number of examples, from the name of the file or of its folders."""
    found = _NAME.fullmatch(source.stem)
    if found:
        return found["model"], int(found["shots"])
    folders = [part.name for part in source.path.absolute().parents]
    if _SUBJECT.fullmatch(source.stem):
        return folders[0] or None, None
    # <model>/CoT/<subjects>/<subject>.json
    return (folders[2] if len(folders) > 2 and folders[1] == _METHOD else None), None


def _asked(record: _Question) -> str:
    shown = f"{record.question}{record.options}".encode("utf-8", "replace")
    return hashlib.sha1(shown, usedforsecurity=False).hexdigest()[:_HASH_CHARS]


def _lost(record: _Question) -> tuple[str, str, str | None]:
    """Return status, reason and raw value of a question without a letter."""
    said, raw = record.generated_text if record.model_outputs is UNSET else record.model_outputs, held(record.pred)
    if said == _KILLED or said is None:
        return "error", "the model gave no output" if said is None else _KILLED, raw
    return "unscored", f"{_UNREAD}: {first_line(said)}" if said == "MaxTokensExceeded" else _UNREAD, raw


def _columns(records: list[_Question], file: FormatFile[_Question]) -> pl.DataFrame:
    model, shots = _model_of(file.source)
    if model is None:
        file.note(_NO_MODEL.format(file.source.stem))
    index = [at if isinstance(at := record.answer_index, int) else -1 for record in records]
    key, chosen = texts([record.answer for record in records]), texts([record.pred for record in records])
    is_letter = chosen.is_in([*_LETTERS]).fill_null(value=False)
    scored = ("scored", None, None)
    states = [scored if ok else _lost(record) for ok, record in zip(is_letter, records, strict=True)]
    frame = pl.DataFrame(
        {
            "number": texts([record.question_id for record in records]),
            "hash": [_asked(record) for record in records],
            "answer": key,
            "other": [at >= 0 and _LETTERS[at : at + 1] != letter for at, letter in zip(index, key, strict=True)],
            "chosen": chosen,
            "scenario": texts([record.category for record in records]),
            "src": texts([record.src for record in records]),
            "n_options": pl.Series([len(as_list(record.options)) or None for record in records], dtype=pl.Int64),
            "status": [status for status, _, _ in states],
            "status_reason": pl.Series([reason for _, reason, _ in states], dtype=pl.String),
            "value_raw": pl.Series([raw for _, _, raw in states], dtype=pl.String),
            "locator": file.locators,
        }
    )
    frame = file.without(frame, pl.col("number").is_null() | (pl.col("number") == ""), "no question_id")
    frame = file.without(frame, pl.col("answer").is_null() | (pl.col("answer") == ""), "no answer that is right")
    frame = frame.with_columns(item=pl.format("{}.{}", "number", "hash"))
    frame = file.once(frame, "item")
    file.count(_OTHER_KEY, int(frame["other"].sum()))
    ok = pl.col("status") == "scored"
    return frame.with_columns(
        run=pl.lit(file.run(model or file.source.stem, "", n_shots=shots)),
        metric=pl.lit("correct"),
        score=pl.when(ok).then((pl.col("chosen") == pl.col("answer")).cast(pl.Float64)),
        value_raw=pl.when(ok).then("chosen").otherwise("value_raw"),
    ).drop("number", "hash", "other", "chosen")


FORMAT: Final = Format(
    name="mmlu-pro",
    title="MMLU-Pro outputs (model_outputs_*.json, *_result.json)",
    version="3",
    upstream="TIGER-AI-Lab/MMLU-Pro at f418b11, evaluate_from_local.py and evaluate_from_api.py",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign("question_id options answer answer_index category pred", 0.95, shapes=RECORDS),
        # A bare text may come first.
        Sign(without="question_id", text=('"question_id"', '"answer_index"', '"category"', '"pred"'), shapes=RECORDS),
        Sign(
            "total",
            0.8,
            text=('"corr"', '"wrong"', '"acc"'),
            shapes=OBJECT,
            skip="a summary that MMLU-Pro made of its results",
        ),
    ),
    record=_Question,
    columns=_columns,
    called="questions",
    metrics={"correct": HEADLINE},
    counts={_GUESSED: UNSCORED},
    texts={"expected": "answer", "answer": "model_outputs pred"},
)
