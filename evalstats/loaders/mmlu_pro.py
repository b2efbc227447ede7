"""MMLU-Pro: the letter that a model chose for every question, beside the key.

Format: `eval_results/model_outputs_<model>_<k>shots.json`, alone or in a zip, and `<subject>_result.json` of
TIGER-AI-Lab/MMLU-Pro at f418b11, as `evaluate_from_local.py` and `evaluate_from_api.py` write them. The benchmark draws an
option at random where no letter could be read; here such a question is unscored.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.files import partial_object
from evalstats.loaders.records import RECORD_SHAPES, Records
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_dict, as_list, as_text, first_line
from evalstats.schema.data import Problem

_BENCHMARK: Final = "MMLU-Pro"
_KEYS: Final = frozenset({"question_id", "options", "answer", "answer_index", "category", "pred"})
_ALIKE: Final = {"trial": 0, "n_trials": 1, "metric": "correct"}
_LETTERS: Final = "ABCDEFGHIJ"
_NAME: Final = re.compile(r"model_outputs_(?P<model>.+?)_(?P<shots>\d+)-?shots?(?:_[\d_]+)?(?:\.json)?")
_SUBJECT: Final = re.compile(r".+_result")
_METHOD: Final = "CoT"
_HASH_CHARS: Final = 6
# What evaluate_from_apiX.py keeps in place of an answer.
_KILLED: Final = "Killed by user"
_UNREAD: Final = (
    "in {n} of {all} questions no letter could be read; they are unscored here, and the benchmark's own accuracy draws an "
    "option at random for them"
)
_OTHER_KEY: Final = "in {n} of {all} questions answer and answer_index contradict each other; the letter counts"
_NO_MODEL: Final = (
    "the model stands in the name of a file (model_outputs_<model>_5shots.json) or of its folder only, and this name follows "
    "neither pattern; it is called {name!r}"
)


class MMLUProLoader(SingleFileLoader):
    """Loader of MMLU-Pro's outputs; one run for every file.

    The item is the question's number with a hash of question and options, since a few questions were mended after the first
    models had answered them; the key was mended too, so `answer` is kept as a factor. Bare texts among the questions
    (traces of a summary) are left out. The scenario is the category.
    """

    name = "mmlu-pro"
    title = "MMLU-Pro outputs (model_outputs_*.json, *_result.json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a question with its key, its category and the letter that was chosen."""
        text = head.text
        if head.shape == "object" and {"corr", "wrong", "acc"} <= frozenset(as_dict(head.members.get("total"))):
            return Match(confidence=0.8, reason="a summary that MMLU-Pro made of its results", skip=True)
        if head.shape not in RECORD_SHAPES:
            return None
        # A bare text may come first.
        keys = head.keys or frozenset(partial_object(text[max(text.find("{"), 0) :])[1])
        if keys >= _KEYS:
            return Match(confidence=0.95, reason="question_id, options, answer, answer_index, category and pred")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the run, the metric and notes."""
        model, shots = _model_of(source)
        name = model or source.stem
        about: Row = {"run": source.run_id(), "model": name, "system": name, "benchmark": _BENCHMARK}
        run: Row = {**about, "harness": _BENCHMARK, "n_shots": shots}
        records, counts = Records(source, called="questions"), Counter[str]()
        yield from records.parts(_rows(records, counts), {name: run}, {**about, **_ALIKE})
        yield Rows(table="metrics", rows=[metric_row(_BENCHMARK, "correct", primary=True)])
        yield from source.notes(told(counts, all=records.n_read - records.n_left_out))
        if model is None:
            yield from source.notes([_NO_MODEL.format(name=name)])


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


def _rows(records: Records, counts: Counter[str]) -> Iterator[Row]:
    seen: set[str] = set()
    for locator, record in records:
        number, question, options = as_text(record.get("question_id")), record.get("question"), record.get("options")
        key = as_text(record.get("answer"))
        if not number or not key:
            records.leave_out(locator, "no answer that is right" if number else "no question_id")
            continue
        shown = f"{question}{options}".encode("utf-8", "replace")
        item = f"{number}.{hashlib.sha1(shown, usedforsecurity=False).hexdigest()[:_HASH_CHARS]}"
        if item in seen:
            records.leave_out(locator, "copies of earlier ones")
            continue
        seen.add(item)
        index = record.get("answer_index")
        if isinstance(index, int) and _LETTERS[index : index + 1] != key:
            counts[_OTHER_KEY] += 1
        outcome = _chosen(record, key)
        if outcome["status"] == "unscored":
            counts[_UNREAD] += 1
        yield {
            **outcome,
            "item": item,
            "scenario": as_text(record.get("category")),
            "src": as_text(record.get("src")),
            "answer": key,
            "n_options": len(as_list(options)) or None,
            "locator": locator,
        }


def _chosen(record: Row, key: str) -> Row:
    chosen = as_text(record.get("pred"))
    if chosen is not None and len(chosen) == 1 and chosen in _LETTERS:
        return scored(float(chosen == key), value_raw=chosen)
    said = record.get("model_outputs", record.get("generated_text"))
    if said == _KILLED or said is None:
        return unscored("the model gave no output" if said is None else _KILLED, held(record.get("pred")), error=True)
    reason = "no letter could be read out of the answer"
    return unscored(
        f"{reason}: {first_line(said)}" if said == "MaxTokensExceeded" else reason, held(record.get("pred"))
    )


LOADER: Final = MMLUProLoader()
