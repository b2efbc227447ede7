"""MT-bench's judged pairs: both orders of two models' answers to one question and turn.

Format: `model_judgment/<judge>_pair.jsonl` of lm-sys/FastChat at 0e6d3e4 (`fastchat/llm_judge/common.py`).
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_records import Once, Tally, columns_of, iter_records, judged, place_word, some_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.values import as_list, as_text, as_time, as_whole
from evalstats.schema.data import Problem

_BENCHMARK: Final = "MT-bench"
_KEYS: Final = frozenset({"question_id", "model_1", "model_2", "g1_winner", "g2_winner"})
_WINS: Final = {"model_1": "1", "model_2": "2", "tie": "tie"}


@dataclass(slots=True)
class _Found:
    tally: Tally = field(default_factory=Tally)
    judges: Counter[str] = field(default_factory=Counter[str])
    unnamed: list[int] = field(default_factory=list[int])
    n_pairs: int = 0
    n_against: int = 0


class MTBenchPairsLoader(SingleFileLoader):
    """Loader of MT-bench's pairs: two rows of `comparisons` for each, one for each order of the answers.

    Model a is the one that the judge saw first: `model_1` in the first game, `model_2` in the second. Both rows share
    `event`. A game whose winner is "error" (the judge gave no verdict) is unscored and never a tie. The question is the
    item, the turn is kept, and the judge is named without its template.
    """

    name = "mt-bench"
    title = "MT-bench judged pairs (gpt-4_pair.jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise two models and the winners of both games."""
        if head.shape not in {"lines", "array", "text", "parquet"} or not columns_of(head) >= _KEYS:
            return None
        return Match(confidence=0.95, reason="model_1, model_2, g1_winner and g2_winner")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the run, and notes."""
        head = read_head(source.path)
        found = _Found()
        run = source.run_id()
        yield from in_batches(_rows(head, run, found), "comparisons")
        if not found.n_pairs:
            raise UnreadableFileError(f"{source.path}: holds no judged pairs")
        judge = next(iter(found.judges)) if len(found.judges) == 1 else None
        yield Rows(table="runs", rows=[{"run": run, "benchmark": _BENCHMARK, "judge": judge, "harness": "FastChat"}])
        for severity, message in _notes(found, place_word(head)):
            yield Problem(path=str(source.path), message=message, severity="error" if severity == "error" else "note")


def _rows(head: Head, run: str, found: _Found) -> Iterator[dict[str, object]]:
    once = Once(place_word(head))
    for place, record in iter_records(head):
        names = [as_text(record.get(name)) for name in ("question_id", "model_1", "model_2")]
        present = [name for name in names if name]
        if len(present) < len(names):
            found.unnamed.append(place)
            continue
        judge = _judge(record)
        turn = as_whole(record.get("turn"))
        event = ".".join([*present, *([judge] if judge else []), *([] if turn is None else [f"turn {turn}"])])
        once.add(event, place)
        found.n_pairs += 1
        found.judges.update([judge] if judge else [])
        winners = [as_text(record.get(name)) for name in ("g1_winner", "g2_winner")]
        found.n_against += len(set(winners)) == 2 and set(winners) <= set(_WINS)
        for number, label in enumerate(winners):
            first, second = ("1", "2") if number == 0 else ("2", "1")
            yield judged(
                _verdict(label, first),
                found.tally,
                run=run,
                battle=f"{event}.g{number + 1}",
                event=event,
                event_size=2,
                item=present[0],
                model_a=present[int(first)],
                model_b=present[int(second)],
                order="a_first",
                judge=judge,
                turn=turn,
                timestamp=as_time(record.get("tstamp")),
                game=number + 1,
            )


def _verdict(label: str | None, first: str) -> Winner:
    won = _WINS.get((label or "").strip().lower())
    if won is None:
        named = (label or "").strip().lower()
        reason = "the judge gave no verdict" if named in {"", "error", "nan"} else "the winner's label is not known"
        return Winner(raw=label, reason=reason)
    return Winner(raw=label, outcome=won if won == "tie" else "a" if won == first else "b")


def _judge(record: Mapping[str, object]) -> str | None:
    named = record.get("judge")
    listed = as_list(named)
    return as_text(listed[0]) if listed else as_text(named)


def _notes(found: _Found, word: str) -> Iterator[tuple[str, str]]:
    yield from found.tally.notes(word)
    if found.unnamed:
        n = len(found.unnamed)
        yield "error", f"{n} pairs name no question or model and are left out ({word} {some_of(found.unnamed)})"
    if found.n_against:
        yield (
            "note",
            (
                f"in {found.n_against} of {found.n_pairs} pairs the judge's verdict changes with the order of the answers; the "
                "benchmark's own score calls such pairs ties, here both games are kept"
            ),
        )


LOADER = MTBenchPairsLoader()
