"""A judge's verdicts on two answers in both orders: Arena-Hard-Auto, WildVision-Bench, and MT-bench's pairs.

Model a is the answer that the judge saw first. Both games of a question share `event`, and each is a row of `comparisons`; a
game that is missing or whose verdict could not be read is unscored and never a tie.

Formats: `model_judgment/<judge>/<model>.jsonl` of lmarena/arena-hard-auto at 196f6b8 (`uid`, `baseline`), and the shape before
April 2025 (`question_id`, no baseline), which WildVision-Bench still has, with one game;
`model_judgment/<judge>_pair.jsonl` of lm-sys/FastChat at 0e6d3e4 (`fastchat/llm_judge/common.py`).
"""

from collections.abc import Iterator
from typing import Final

from evalstats.loaders.arena_cells import VoteOutcome, labelled
from evalstats.loaders.arena_records import Judgements, columns_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text, as_time, as_whole
from evalstats.schema.data import Problem

UNNAMED_BASELINE: Final = "baseline (not named)"
_GAMES: Final = 2
_VISION: Final = ("wildvision", "vision_bench", "wvbench")
_MAX_LABEL_CHARS: Final = 60
# The questions of the two versions differ, and so do their baselines; only the categories tell which a file is of.
_VERSIONS: Final = (("v0.1", frozenset({"arena-hard-v0.1"})), ("v2.0", frozenset({"hard_prompt", "creative_writing"})))

_INCOMPLETE: Final = (
    "{n} of {all} items have a game without a verdict; the benchmark's own score drops such items whole, "
    "here the other game stays"
)
_STRONG: Final = (
    "{n} items have a verdict >>, which the benchmark's own score counts three times; here every game is one row, and "
    "`strength` says which are strong"
)
_NO_BASELINE: Final = (
    f"{{n}} judgements do not name the baseline, which is called {UNNAMED_BASELINE!r} (by default gpt-4-0314 in Arena-Hard "
    "v0.1); do not put files of different baselines together"
)
_EXTRA: Final = "{n} games beyond the second of an item are left out, since their order is not known"
_AGAINST: Final = (
    "in {n} of {all} pairs the judge's verdict changes with the order of the answers; the benchmark's own score calls such pairs "
    "ties, here both games are kept"
)


class ArenaHardLoader(SingleFileLoader):
    """Loader of Arena-Hard-Auto's judgements, new and old, and of WildVision-Bench's; one run per file.

    The baseline is seen first in the first game, the model in the second. A verdict with `>>` has the strength "strong", one
    with `>` "slight".
    """

    name = "arena-hard"
    title = "Arena-Hard and WildVision judgements (model_judgment/*.jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a model, its judge and games."""
        if head.shape not in {"lines", "array", "object"}:
            return None
        names = columns_of(head)
        if names >= {"model", "games"} and names & {"uid", "question_id"} and "g1_winner" not in names:
            sure = 0.9 if "judge" in names else 0.6
            return Match(confidence=sure, reason="a question, a model and the games that were judged")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the run, and notes."""
        file = Judgements(source)
        yield from file.parts(_hard_rows(file), unnamed="judgements name no question or model")


def _hard_rows(file: Judgements) -> Iterator[Row]:
    run, categories = file.source.run_id(), set[str]()
    for record, (item, model), place in file.records(("uid", "question_id"), "model"):
        judge, category = as_text(record.get("judge")), as_text(record.get("category"))
        event = ".".join(part for part in (item, model, judge) if part)
        file.once(event, place)
        categories.add(category or "")
        file.run(run, judge, harness="arena-hard-auto")
        baseline = as_text(record.get("baseline"))
        games = as_list(record.get("games")) or [None]
        verdicts = [_hard_verdict(game) for game in games[:_GAMES]]
        file.counts[_INCOMPLETE] += any(verdict.outcome is None for verdict in verdicts)
        file.counts[_STRONG] += any(verdict.strength == "strong" for verdict in verdicts)
        file.counts[_NO_BASELINE] += baseline is None
        file.counts[_EXTRA] += max(len(games) - _GAMES, 0)
        sides = (baseline or UNNAMED_BASELINE, model)
        for number, verdict in enumerate(verdicts):
            yield file.comparison(
                verdict,
                run=run,
                battle=f"{event}.{number}",
                event=event,
                event_size=2,
                item=item,
                model_a=sides[number],
                model_b=sides[1 - number],
                order="a_first",
                judge=judge,
                scenario=category,
                subcategory=as_text(record.get("subcategory")),
                game=number,
            )
    for row in file.runs.values():
        row["benchmark"] = _benchmark(file.source, categories)


def _hard_verdict(game: object) -> VoteOutcome:
    """Read the verdict of one game; prose of a judge that gave none is cut short."""
    score = as_dict(game).get("score")
    if not isinstance(score, str) or not score.strip():
        return VoteOutcome(raw=as_text(score), reason="the judge gave no verdict")
    found = labelled(score, "", "")
    if found.outcome is None or found.words != "A>B":
        return VoteOutcome(raw=score[:_MAX_LABEL_CHARS], reason="the verdict is none of A>>B, A>B, A=B, B>A, B>>A")
    return found


def _benchmark(source: Source, categories: set[str]) -> str:
    names = "/".join(source.path.parts[-5:]).lower()
    if any(word in names for word in _VISION):
        return "WildVision-Bench"
    version = next((name for name, own in _VERSIONS if categories <= own), None)
    return f"Arena-Hard {version}" if version else "Arena-Hard"


_PAIR_KEYS: Final = frozenset({"question_id", "model_1", "model_2", "g1_winner", "g2_winner"})
_WINS: Final = {"model_1": 1, "model_2": 2, "tie": 0}


class MTBenchPairsLoader(SingleFileLoader):
    """Loader of MT-bench's pairs: `model_1` is seen first in the first game, `model_2` in the second.

    The question is the item, the turn is kept, and the judge is named without its template.
    """

    name = "mt-bench"
    title = "MT-bench judged pairs (gpt-4_pair.jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise two models and the winners of both games."""
        if head.shape not in {"lines", "array", "text", "parquet"} or not columns_of(head) >= _PAIR_KEYS:
            return None
        return Match(confidence=0.95, reason="model_1, model_2, g1_winner and g2_winner")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the run, and notes."""
        file = Judgements(source)
        yield from file.parts(_pair_rows(file), unnamed="judged pairs name no question or model")


def _pair_rows(file: Judgements) -> Iterator[Row]:
    run = file.source.run_id()
    for record, names, place in file.records("question_id", "model_1", "model_2"):
        named = record.get("judge")
        judge, turn = as_text(next(iter(as_list(named)), named)), as_whole(record.get("turn"))
        event = ".".join([*names, *([judge] if judge else []), *([] if turn is None else [f"turn {turn}"])])
        file.once(event, place)
        file.run(run, judge, benchmark="MT-bench", harness="FastChat")
        winners = [as_text(record.get(name)) for name in ("g1_winner", "g2_winner")]
        file.counts[_AGAINST] += len(set(winners)) == 2 and set(winners) <= set(_WINS)
        for number, (first, second) in enumerate(((1, 2), (2, 1)), start=1):
            yield file.comparison(
                _pair_verdict(winners[number - 1], first),
                run=run,
                battle=f"{event}.g{number}",
                event=event,
                event_size=2,
                item=names[0],
                model_a=names[first],
                model_b=names[second],
                order="a_first",
                judge=judge,
                turn=turn,
                timestamp=as_time(record.get("tstamp")),
                game=number,
            )


def _pair_verdict(label: str | None, first: int) -> VoteOutcome:
    said = (label or "").strip().lower()
    won = _WINS.get(said)
    if won is None:
        lost = said in {"", "error", "nan"}
        return VoteOutcome(raw=label, reason="the judge gave no verdict" if lost else "the winner's label is not known")
    return VoteOutcome(raw=label, outcome="tie" if not won else "a" if won == first else "b")


ARENA_HARD: Final = ArenaHardLoader()
MT_BENCH: Final = MTBenchPairsLoader()
