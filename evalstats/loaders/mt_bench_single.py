"""MT-bench, single answers: a judge's rating of every turn of every answer, from 1 to 10.

Format: `model_judgment/<judge>_single.jsonl` of lm-sys/FastChat at 0e6d3e4 (`fastchat/llm_judge/common.py`), one file for all
models. A rating of -1 is a judgement out of which no rating could be read.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.records import RECORD_SHAPES, Records, Repeats
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_list, as_number, as_text, as_time, as_whole
from evalstats.schema.data import Problem

_BENCHMARK: Final = "MT-bench"
_ALIKE: Final = {"benchmark": _BENCHMARK, "n_trials": 1, "metric": "score"}
_LOW, _HIGH = 1.0, 10.0
_UNREAD: Final = -1.0
# What FastChat keeps as the judge's answer when its requests failed.
_API_ERROR: Final = "$ERROR$"
_KEYS: Final = frozenset({"question_id", "model", "judge", "turn"})
_UNRATED: Final = (
    "{n} of {all} judgements hold no rating; they are unscored here, and the benchmark's own average drops them too"
)
_FAILED: Final = "in {n} of {all} judgements the request to the judge failed; they are harness errors"
_AGAIN: Final = "{n} of {all} judgements judge an answer again; they are kept as further trials"


class MTBenchSingleLoader(SingleFileLoader):
    """Loader of MT-bench's ratings of single answers; one run for every model of the file.

    The question is the item and the turn its variant, so that both turns of a question stay one cluster. The judge is named
    without its template, which is the factor `judge_template`. A judgement that is there twice, letter for letter, counts once;
    one that was made again is a further trial.
    """

    name = "mt-bench-single"
    title = "MT-bench ratings of single answers (gpt-4_single.jsonl)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a question, a model, a judge, a turn and a score."""
        if head.shape not in RECORD_SHAPES or not head.keys >= _KEYS:
            return None
        if head.keys >= {"judgment", "score"}:
            return Match(confidence=0.95, reason="question_id, model, judge, judgment, score and turn")
        # Without the texts, the judge with its template is what tells it from any table.
        if "score" in head.keys and isinstance(head.members.get("judge"), list):
            return Match(confidence=0.6, reason="question_id, model, turn, score and a judge with its template")
        return None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the runs, the metric and notes."""
        records, runs, counts = Records(source, called="judgements"), dict[str, Row](), Counter[str]()
        yield from records.parts(_rows(records, runs, counts), runs, _ALIKE)
        metric = metric_row(_BENCHMARK, "score", "bounded", low=_LOW, high=_HIGH, unit="points", primary=True)
        yield Rows(table="metrics", rows=[metric])
        yield from source.notes(told(counts, all=records.n_read))


def _rows(records: Records, runs: dict[str, Row], counts: Counter[str]) -> Iterator[Row]:
    trials, copies = Repeats(), Repeats()
    for locator, record in records:
        item, model = as_text(record.get("question_id")), as_text(record.get("model"))
        if not item or not model:
            records.leave_out(locator, "no question_id" if not item else "no model")
            continue
        judge, template = _judge(record.get("judge"))
        turn, time = as_whole(record.get("turn")), as_time(record.get("tstamp"))
        key = (item, model, judge, turn)
        judgment = record.get("judgment")
        if copies.next((*key, held(record.get("score")), judgment if isinstance(judgment, str) else None, time)):
            records.leave_out(locator, "copies of earlier ones")
            continue
        trial = trials.next(key)
        outcome = _rated(record)
        counts[_AGAIN] += trial > 0
        counts[_FAILED] += outcome["status"] == "error"
        counts[_UNRATED] += outcome["status"] == "unscored"
        run = records.source.run_id(model)
        known = runs.setdefault(
            run, {"run": run, "model": model, "benchmark": _BENCHMARK, "harness": "FastChat", "judge": judge}
        )
        if known["judge"] != judge:
            known["judge"] = None
        yield {
            "run": run,
            "model": model,
            "system": model,
            "item": item,
            "variant": "" if turn is None else f"turn {turn}",
            "trial": trial,
            "judge": judge,
            "judge_template": template,
            "timestamp": time,
            "locator": locator,
            **outcome,
        }


def _judge(value: object) -> tuple[str | None, str | None]:
    """Return the judge's model and its template, which the file holds as a list of the two."""
    parts = [as_text(part) for part in as_list(value)] or [as_text(value)]
    return parts[0], parts[1] if len(parts) > 1 else None


def _rated(record: Mapping[str, object]) -> Row:
    value = record.get("score")
    number = None if isinstance(value, bool) else as_number(value)
    raw = None if isinstance(value, int | float) and number != _UNREAD else held(value)
    if record.get("judgment") == _API_ERROR:
        return unscored("the request to the judge failed", held(value), error=True)
    if number is None or number == _UNREAD:
        return unscored("no rating could be read out of the judgement", held(value))
    if not _LOW <= number <= _HIGH:
        return unscored("the rating lies outside 1 to 10", held(value))
    return scored(number, value_raw=raw)


LOADER: Final = MTBenchSingleLoader()
