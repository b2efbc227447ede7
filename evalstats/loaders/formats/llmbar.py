"""LLMBar: does a judge prefer the output that follows the instruction, in both orders?

What is tested is the judge, so it is the model; judge, prompt and part of the benchmark stand in names of folders only. Its
verdict on each order is a row of metric `correct` (the benchmark's accuracy is the mean over both), with the order as the
variant; `correct_both` is right in both, `consistent` the same verdict in both. The second verdict is swapped back in the file
already. The item is a hash of the instruction and both outputs. Where ratings could not be read the file names output 1 for one
order and output 2 for the other: such verdicts are unscored.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import HEADLINE, OBJECT, RECORDS, SHARE, Format, FormatFile, Sample, Sign
from evalstats.loaders.rows import Row, Said, held, scored, unscored
from evalstats.loaders.values import as_dict, as_list, as_text, as_whole, get

ORDERS: Final = ("A first", "B first")
WITHOUT: Final = "{n} of {all} pairs have an order without a verdict: the judge failed, or its answer could not be read"
_UNREAD: Final = "no verdict could be read out of the judge's answer"


class JudgedOrder(Struct, frozen=True, kw_only=True):
    """A judge's verdict on one order, in the frame of the pair; None with the reason why there is none."""

    verdict: str | None = None
    raw: str | None = None
    reason: str = _UNREAD
    failed: bool = False

    def outcome(self, order: str, label: str) -> tuple[str, Row]:
        """Score the verdict; a tie is no preference for the better answer."""
        said: Row = {"variant": order, "verdict": self.verdict}
        if self.verdict is None:
            return "correct", {**said, **unscored(self.reason, self.raw, error=self.failed)}
        return "correct", {**said, **scored(float(self.verdict == label), value_raw=self.raw)}


def together(games: Sequence[JudgedOrder], score: float) -> Said:
    """Return the score of a pair as a whole, where every order has a verdict."""
    if all(game.verdict for game in games):
        return score
    lost = sorted((game for game in games if game.verdict is None), key=lambda game: not game.failed)
    return unscored(lost[0].reason, error=lost[0].failed)


_BENCHMARK: Final = "LLMBar"
_SWAPS: Final = ("swap = False", "swap = True")
_VERDICTS: Final[Mapping[str, str]] = {"1": "A>B", "2": "B>A"}
# Why the API gave nothing (LLMEvaluator/evaluate.py: openai_completion).
_REFUSED: Final = frozenset({"content management policy", "0 is less than the minimum of"})
_HASH_CHARS: Final = 12
_NO_FOLDERS: Final = (
    "the judge is named only by LLMBar's folders (Dataset/<part>/evaluators/<judge>/<prompt>/result.json), and this file lies "
    "elsewhere; the judge is called {!r}"
)


class _Pair(Struct):
    input: Any = None
    output_1: Any = None
    output_2: Any = None
    label: Any = None
    results: Any = None


def _about(file: FormatFile[_Pair]) -> Row:
    """Return run and task, from the folders that name the judge, its prompt and the part of the benchmark."""
    parts = file.source.path.parts
    here = max((place for place, part in enumerate(parts) if part == "evaluators"), default=-1)
    if here < 0:
        file.note(_NO_FOLDERS.format(file.source.stem))
        return {"run": file.run(file.source.stem, system=file.source.stem), "task": ""}
    model, *folders = parts[here + 1 : -1] or (file.source.stem,)
    prompt = "/".join(folders)
    start = max((place + 1 for place, part in enumerate(parts[:here]) if part == "Dataset"), default=here - 1)
    run = file.run(model, "/".join(filter(None, (model, prompt))), system=f"{model} ({prompt})" if prompt else model)
    return {"run": run, "task": "/".join(parts[start:here]).removeprefix("LLMBar/")}


def _rows(record: _Pair, file: FormatFile[_Pair]) -> Iterator[Sample]:
    asked = [as_text(text) for text in (record.input, record.output_1, record.output_2)]
    label = _VERDICTS.get(as_text(record.label) or "")
    last = as_dict(next(reversed(as_list(record.results)), None))
    if None in asked or label is None or not any(swap in last for swap in _SWAPS):
        file.leave_out("no label 1 or 2" if label is None else "no input or output" if None in asked else "no results")
        return
    file.kept = file.kept or _about(file)
    games = [_game(last, swap) for swap in _SWAPS]
    file.count(WITHOUT, any(game.verdict is None for game in games))
    digest = hashlib.sha1("\0".join(map(str, asked)).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    number = file.trial(digest)
    item = digest[:_HASH_CHARS] + (f"#{number + 1}" if number else "")
    both, same = all(game.verdict == label for game in games), games[0].verdict == games[1].verdict
    yield (
        {**file.kept, "item": item, "label": as_whole(record.label)},
        [
            *(game.outcome(order, label) for order, game in zip(ORDERS, games, strict=True)),
            ("correct_both", together(games, float(both))),
            ("consistent", together(games, float(same))),
        ],
    )


def _game(result: Row, swap: str) -> JudgedOrder:
    ratings = [next(iter(as_list(result[name])), result[name]) for name in ("score_1", "score_2") if name in result]
    if any(as_whole(rating) is None for rating in ratings):
        return JudgedOrder(raw=held(ratings), reason="a rating could not be read out of the judge's answer")
    winner = get(result, swap, "winner")
    verdict = _VERDICTS.get(as_text(winner) or "")
    if verdict is not None:
        return JudgedOrder(verdict=verdict, raw=as_text(winner))
    finish = as_text(next(iter(as_list(get(result, swap, "completion"))[1:]), None))
    if finish in _REFUSED:
        return JudgedOrder(raw=held(winner), reason=f"the API gave no answer: {finish}", failed=True)
    return JudgedOrder(raw=held(winner))


FORMAT: Final = Format(
    name="llmbar",
    title="LLMBar results (evaluators/*/*/result.json)",
    version="3",
    upstream="princeton-nlp/LLMBar at caa7bee, LLMEvaluator/evaluate.py",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign("input output_1 output_2 label results", 0.95, shapes=RECORDS),
        Sign(
            "input output_1 output_2 label",
            0.8,
            without="results",
            name="dataset.json",
            shapes=RECORDS,
            skip="pairs of LLMBar that nobody judged",
        ),
        Sign(
            "correct_False correct_True kappa_agreement",
            shapes=OBJECT,
            skip="statistics that LLMBar made of its results",
        ),
    ),
    record=_Pair,
    rows=_rows,
    called="pairs",
    metrics={"correct": HEADLINE, "correct_both": SHARE, "consistent": SHARE},
)
