"""Benchmarks of judges: does a judge prefer the answer that is known to be better, in both orders?

What is tested is the judge, so it is the model. Its verdict on each order is a row of metric `correct`, with the order as the
variant, and its verdict on the pair as a whole another. Verdicts are told in the frame of the pair, not of the order shown.

Formats: `outputs/dataset=...,judge_name=...,judge_model=....jsonl` of ScalerLab/JudgeBench at 12a499c (`run_judge.py`,
`utils/metrics.py`), whose second verdict speaks of the answers as they were shown, swapped; and
`Dataset/.../evaluators/<judge>/<prompt>/result.json` of princeton-nlp/LLMBar at caa7bee (`LLMEvaluator/evaluate.py`), whose
second verdict is swapped back already.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evalstats.loaders.base import Frame, Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.records import RECORD_SHAPES, Records, Repeats
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.values import as_dict, as_list, as_text, as_whole, get
from evalstats.schema.data import Problem

_ALIKE: Final = {"trial": 0, "n_trials": 1}
_ORDERS: Final = ("A first", "B first")
_FLIPPED: Final = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B"}
_SPELLINGS: Final = {"A<B": "B>A", "B<A": "A>B", "B=A": "A=B"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Game:
    """A judge's verdict on one order, in the frame of the pair; None with the reason why there is none."""

    verdict: str | None = None
    raw: str | None = None
    reason: str | None = None
    failed: bool = False

    def outcome(self, label: str) -> Row:
        """Score the verdict; a tie is no preference for the better answer."""
        if self.verdict is None:
            return unscored(self.reason, self.raw, error=self.failed)
        return scored(float(self.verdict == label), value_raw=self.raw)


def _together(games: Sequence[_Game], score: float) -> Row:
    """Return the score of a pair as a whole, where every order has a verdict."""
    lost = [game for game in games if game.verdict is None]
    if not lost:
        return scored(score)
    failed = next((game for game in lost if game.failed), None)
    return unscored((failed or lost[0]).reason, error=failed is not None)


_WITHOUT: Final = (
    "{n} of {all} pairs have an order without a verdict: the judge failed, or its answer could not be read"
)
_JUDGEBENCH: Final = "JudgeBench"
_PAIR_KEYS: Final = frozenset({"pair_id", "response_A", "response_B", "label"})
_NAMED: Final = re.compile(r"judge_model=([^,]+)")
_NO_SECOND: Final = "{n} of {all} pairs were judged in one order only"
_NO_JUDGE: Final = "neither the judgements nor the file's name (judge_model=...) name the judge; it is called {name!r}"


class JudgeBenchLoader(SingleFileLoader):
    """Loader of JudgeBench's outputs; one run for every judge of the file.

    `pair_correct` is the benchmark's own score: right in more orders than wrong, a tie being neither. `correct` is each order
    by itself. The system is the judge's model with its method (`arena_hard`), the scenario where the question is from.
    """

    name = "judgebench"
    title = "JudgeBench outputs (dataset=judgebench,...,judge_model=*.jsonl)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a pair with its label and judgements; the pairs alone are no results."""
        if head.shape not in RECORD_SHAPES or not head.keys >= _PAIR_KEYS - {"label"}:
            return None
        if "judgments" in head.keys:
            return Match(confidence=0.95, reason="pair_id, response_A, response_B and judgments")
        if "label" in head.keys and "\n" in head.text:
            return Match(confidence=0.8, reason="pairs of JudgeBench that nobody judged", skip=True)
        return Match(confidence=0.5, reason="pair_id, response_A and response_B")

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the runs, the metrics and notes."""
        records, runs, counts = Records(source, called="pairs"), dict[str, Row](), Counter[str]()
        known = next((judge for _, record in Records(source, called="pairs") if (judge := _judge_of(record))), None)
        named = _NAMED.search(source.stem)
        judge = known or (named[1] if named else source.stem)
        yield from records.parts(_bench_rows(records, judge, runs, counts), runs, _ALIKE)
        metrics = [
            metric_row(_JUDGEBENCH, name, primary=name == "pair_correct") for name in ("pair_correct", "correct")
        ]
        yield Rows(table="metrics", rows=metrics)
        yield from source.notes(told(counts, all=records.n_read - records.n_left_out))
        if not known and not named:
            yield from source.notes([_NO_JUDGE.format(name=judge)])


def _judge_of(record: Mapping[str, object]) -> str | None:
    judges = (as_text(get(judgment, "judgment", "judge_model")) for judgment in as_list(record.get("judgments")))
    return next(filter(None, judges), None)


def _bench_rows(records: Records, usual: str, runs: dict[str, Row], counts: Counter[str]) -> Iterator[Row]:
    again = Repeats()
    for locator, record in records:
        item, label = as_text(record.get("pair_id")), as_text(record.get("label"))
        games = [_bench_game(value, flip=bool(k)) for k, value in enumerate(as_list(record.get("judgments"))[:2])]
        if not item or label not in _FLIPPED or not games:
            records.leave_out(locator, "no pair_id" if not item else "no judgments" if not games else "no label")
            continue
        model, method = _judge_of(record) or usual, as_text(record.get("judge_name"))
        system = f"{model} ({method})" if method else model
        if again.next((item, system)):
            records.leave_out(locator, "copies of earlier ones")
            continue
        run = records.source.run_id(system)
        about = {"run": run, "model": model, "system": system, "benchmark": _JUDGEBENCH}
        runs.setdefault(run, {**about, "harness": _JUDGEBENCH})
        counts[_WITHOUT] += any(game.verdict is None for game in games)
        counts[_NO_SECOND] += len(games) < len(_ORDERS)
        common: Row = {
            **about,
            "item": item,
            "scenario": as_text(record.get("source")),
            "response_model": as_text(record.get("response_model")),
            "label": label,
            "locator": locator,
        }
        for order, game in zip(_ORDERS, games, strict=False):
            yield {**common, "variant": order, "metric": "correct", "verdict": game.verdict, **game.outcome(label)}
        ahead = sum((game.verdict == label) - (game.verdict == _FLIPPED[label]) for game in games)
        yield {**common, "metric": "pair_correct", **_together(games, float(ahead > 0))}


def _bench_game(value: object, *, flip: bool) -> _Game:
    if value is None:
        return _Game(reason="the judge failed on this order", failed=True)
    raw = get(value, "decision")
    said = as_text(raw)
    said = _SPELLINGS.get(said or "", said)
    if said not in _FLIPPED:
        return _Game(raw=held(raw), reason="no verdict could be read out of the judge's answer")
    return _Game(verdict=_FLIPPED[said] if flip else said, raw=as_text(raw))


_LLMBAR: Final = "LLMBar"
_BAR_KEYS: Final = frozenset({"input", "output_1", "output_2", "label"})
_SWAPS: Final = ("swap = False", "swap = True")
_BAR_VERDICTS: Final = {"1": "A>B", "2": "B>A"}
# Why the API gave nothing (LLMEvaluator/evaluate.py: openai_completion).
_REFUSED: Final = frozenset({"content management policy", "0 is less than the minimum of"})
_HASH_CHARS: Final = 12
_NO_FOLDERS: Final = (
    "the judge stands in LLMBar's folders only (Dataset/<part>/evaluators/<judge>/<prompt>/result.json), and this file lies "
    "elsewhere; the judge is called {name!r}"
)


class LLMBarLoader(SingleFileLoader):
    """Loader of LLMBar's results; one run per file, judge, prompt and part of the benchmark being named by its folders.

    `correct` is the benchmark's accuracy (the mean over both orders), `correct_both` right in both, `consistent` the same
    verdict in both. The item is a hash of the instruction and both outputs. Where ratings could not be read the file names
    output 1 for one order and output 2 for the other: such verdicts are unscored.
    """

    name = "llmbar"
    title = "LLMBar results (evaluators/*/*/result.json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise an instruction, two outputs and the results; the pairs alone and the statistics are no results."""
        if head.shape == "object" and head.keys >= {"correct_False", "correct_True", "kappa_agreement"}:
            return Match(confidence=0.9, reason="statistics that LLMBar made of its results", skip=True)
        if head.shape not in RECORD_SHAPES or not head.keys >= _BAR_KEYS:
            return None
        if "results" in head.keys:
            return Match(confidence=0.95, reason="input, output_1, output_2, label and results")
        known = head.path.name.startswith("dataset.")
        return Match(confidence=0.8, reason="pairs of LLMBar that nobody judged", skip=True) if known else None

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes in batches, the run, the metrics and notes."""
        records, runs, counts = Records(source, called="pairs"), dict[str, Row](), Counter[str]()
        parts = source.path.parts
        here = max((place for place, part in enumerate(parts) if part == "evaluators"), default=-1)
        model, *prompt = parts[here + 1 : -1] if here >= 0 else (source.stem,)
        start = max(
            (place + 1 for place, part in enumerate(parts[: max(here, 0)]) if part == "Dataset"), default=here - 1
        )
        about: Row = {
            "run": source.run_id("/".join([model, *prompt])),
            "model": model,
            "system": f"{model} ({'/'.join(prompt)})" if prompt else model,
            "benchmark": _LLMBAR,
        }
        task = "/".join(parts[start:here]).removeprefix("LLMBar/") if here > 0 else ""
        runs[str(about["run"])] = {**about, "harness": _LLMBAR}
        yield from records.parts(_bar_rows(records, counts), runs, {**about, "task": task, **_ALIKE})
        metrics = [
            metric_row(_LLMBAR, name, primary=name == "correct") for name in ("correct", "correct_both", "consistent")
        ]
        yield Rows(table="metrics", rows=metrics)
        yield from source.notes(told(counts, all=records.n_read - records.n_left_out))
        if here < 0:
            yield from source.notes([_NO_FOLDERS.format(name=model)])


def _bar_rows(records: Records, counts: Counter[str]) -> Iterator[Row]:
    repeats = Repeats()
    for locator, record in records:
        texts = [as_text(record.get(name)) for name in ("input", "output_1", "output_2")]
        label = _BAR_VERDICTS.get(as_text(record.get("label")) or "")
        last = as_dict(next(reversed(as_list(record.get("results"))), None))
        if None in texts or label is None or not any(swap in last for swap in _SWAPS):
            why = "no label 1 or 2" if label is None else "no input or output" if None in texts else "no results"
            records.leave_out(locator, why)
            continue
        games = [_bar_game(last, swap) for swap in _SWAPS]
        counts[_WITHOUT] += any(game.verdict is None for game in games)
        digest = hashlib.sha1("\0".join(map(str, texts)).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
        number = repeats.next(digest)
        common: Row = {
            "item": digest[:_HASH_CHARS] + (f"#{number + 1}" if number else ""),
            "label": as_whole(record.get("label")),
            "locator": locator,
        }
        for order, game in zip(_ORDERS, games, strict=True):
            yield {**common, "variant": order, "metric": "correct", "verdict": game.verdict, **game.outcome(label)}
        both, same = all(game.verdict == label for game in games), games[0].verdict == games[1].verdict
        yield {**common, "metric": "correct_both", **_together(games, float(both))}
        yield {**common, "metric": "consistent", **_together(games, float(same))}


def _bar_game(result: Row, swap: str) -> _Game:
    ratings = [next(iter(as_list(result[name])), result[name]) for name in ("score_1", "score_2") if name in result]
    if any(as_whole(rating) is None for rating in ratings):
        return _Game(raw=held(ratings), reason="a rating could not be read out of the judge's answer")
    winner = get(result, swap, "winner")
    verdict = _BAR_VERDICTS.get(as_text(winner) or "")
    if verdict is not None:
        return _Game(verdict=verdict, raw=as_text(winner))
    finish = as_text(next(iter(as_list(get(result, swap, "completion"))[1:]), None))
    if finish in _REFUSED:
        return _Game(raw=held(winner), reason=f"the API gave no answer: {finish}", failed=True)
    return _Game(raw=held(winner), reason="no verdict could be read out of the judge's answer")


JUDGEBENCH: Final = JudgeBenchLoader()
LLMBAR: Final = LLMBarLoader()
