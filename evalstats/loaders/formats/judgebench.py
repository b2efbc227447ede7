"""JudgeBench: does a judge prefer the answer that is known to be better, in both orders?

What is tested is the judge, so it is the model; the system is the judge with its method (`arena_hard`). Its verdict on each
order is a row of metric `correct`, with the order as the variant; `pair_correct` is the benchmark's own score: right in more
orders than wrong, a tie being neither. The second verdict speaks of the answers as they were shown, swapped; here it is told in
the frame of the pair. An order that the judge failed on (null) is a harness error, one without a verdict is unscored.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import HEADLINE, RECORDS, SHARE, Format, FormatFile, Sign
from evalstats.loaders.formats.llmbar import ORDERS, WITHOUT, JudgedOrder, together
from evalstats.loaders.record_columns import Scores, sample_columns
from evalstats.loaders.rows import Row, held
from evalstats.loaders.values import as_list, as_text, get

_BENCHMARK: Final = "JudgeBench"
_FLIPPED: Final[Mapping[str, str]] = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B"}
_SPELLINGS: Final[Mapping[str, str]] = {"A<B": "B>A", "B<A": "A>B", "B=A": "A=B"}
_NAMED: Final = re.compile(r"judge_model=([^,]+)")
_NO_SECOND: Final = "{n} of {all} pairs were judged in one order only"
_NO_JUDGE: Final = "neither the judgements nor the file's name (judge_model=...) name the judge; it is called {!r}"


class _Pair(Struct):
    pair_id: Any = None
    label: Any = None
    judgments: Any = None
    judge_name: Any = None
    source: Any = None
    response_model: Any = None


def _judge_of(record: _Pair) -> str | None:
    judges = (as_text(get(judgment, "judgment", "judge_model")) for judgment in as_list(record.judgments))
    return next(filter(None, judges), None)


def _columns(records: list[_Pair], file: FormatFile[_Pair]) -> pl.DataFrame:
    """Return the outcomes of a block; a pair whose judgements do not name the judge is judged by the one of the others."""
    known = next(filter(None, map(_judge_of, records)), None)
    named = _NAMED.search(file.source.stem)
    usual = known or (named[1] if named else file.source.stem)
    if not known and not named:
        file.note(_NO_JUDGE.format(usual))
    rows = zip(records, file.locators, strict=True)
    return sample_columns(sample for record, place in rows for sample in _rows(record, place, usual, file))


def _rows(record: _Pair, locator: str, usual: str, file: FormatFile[_Pair]) -> Sequence[Scores]:
    item, label = as_text(record.pair_id), as_text(record.label)
    games = [_game(value, flip=bool(k)) for k, value in enumerate(as_list(record.judgments)[:2])]
    model, method = _judge_of(record) or usual, as_text(record.judge_name)
    system = f"{model} ({method})" if method else model
    if not item or label not in _FLIPPED or not games or file.again(item, system):
        why = "no judgments" if not games else "no label" if label not in _FLIPPED else "copies of earlier ones"
        file.leave_out(why if item else "no pair_id", locator)
        return []
    file.count(WITHOUT, any(game.verdict is None for game in games))
    file.count(_NO_SECOND, len(games) < len(ORDERS))
    ahead = sum((game.verdict == label) - (game.verdict == _FLIPPED[label]) for game in games)
    shared: Row = {
        "run": file.run(model, system, system=system),
        "item": item,
        "scenario": as_text(record.source),
        "response_model": as_text(record.response_model),
        "label": label,
        "locator": locator,
    }
    orders = [game.outcome(order, label) for order, game in zip(ORDERS, games, strict=False)]
    return [(shared, [*orders, ("pair_correct", together(games, float(ahead > 0)))])]


def _game(value: object, *, flip: bool) -> JudgedOrder:
    if value is None:
        return JudgedOrder(reason="the judge failed on this order", failed=True)
    raw = get(value, "decision")
    said = as_text(raw)
    said = _SPELLINGS.get(said or "", said)
    if said not in _FLIPPED:
        return JudgedOrder(raw=held(raw))
    return JudgedOrder(verdict=_FLIPPED[said] if flip else said, raw=as_text(raw))


FORMAT: Final = Format(
    name="judgebench",
    title="JudgeBench outputs (dataset=judgebench,...,judge_model=*.jsonl)",
    version="3",
    upstream="ScalerLab/JudgeBench at 12a499c, run_judge.py and utils/metrics.py",
    benchmark=_BENCHMARK,
    harness=_BENCHMARK,
    signs=(
        Sign("pair_id response_A response_B judgments", 0.95, shapes=RECORDS),
        Sign(
            "pair_id response_A response_B label",
            0.8,
            without="judgments",
            text=("\n",),
            shapes=RECORDS,
            skip="pairs of JudgeBench that nobody judged",
        ),
        Sign("pair_id response_A response_B", 0.5, shapes=RECORDS),
    ),
    record=_Pair,
    columns=_columns,
    called="pairs",
    metrics={"pair_correct": HEADLINE, "correct": SHARE},
)
