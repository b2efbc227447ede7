"""Arena-Hard-Auto and WildVision-Bench: a judge's verdicts on a baseline and a model, in both orders of the answers.

Format: `model_judgment/<judge>/<model>.jsonl` of lmarena/arena-hard-auto at 196f6b8 (`uid`, `baseline`), and the shape
before April 2025 (`question_id`, no baseline), which WildVision-Bench still has, with one game.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import Winner, labelled
from evalstats.loaders.arena_records import Once, Tally, columns_of, iter_records, judged, place_word, some_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.values import as_dict, as_list, as_text
from evalstats.schema.data import Problem

UNNAMED_BASELINE: Final = "baseline (not named)"
_GAMES: Final = 2
_VISION: Final = ("wildvision", "vision_bench", "wvbench")
_MAX_LABEL_CHARS: Final = 60
# The questions of the two versions differ, and so do their baselines; only the categories tell which a file is of.
_VERSIONS: Final = (("v0.1", frozenset({"arena-hard-v0.1"})), ("v2.0", frozenset({"hard_prompt", "creative_writing"})))


@dataclass(slots=True)
class _Found:
    tally: Tally = field(default_factory=Tally)
    judges: Counter[str] = field(default_factory=Counter[str])
    categories: set[str] = field(default_factory=set[str])
    unnamed: list[int] = field(default_factory=list[int])
    n_items: int = 0
    n_without_baseline: int = 0
    n_extra: int = 0
    n_incomplete: int = 0
    n_strong: int = 0


class ArenaHardLoader(SingleFileLoader):
    """Loader of Arena-Hard-Auto's judgements, new and old, and of WildVision-Bench's.

    One run per file, one row of `comparisons` per game: model a is the answer that the judge saw first, as assistant A,
    which is the baseline in the first game and the model in the second. Both games of an item share `item` and `event`. A
    verdict with `>>` has the strength "strong", one with `>` "slight". A game that is missing, or whose verdict could not
    be read, is unscored and never a tie.
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
        head = read_head(source.path)
        found = _Found()
        run = source.run_id()
        yield from in_batches(_rows(head, run, found), "comparisons")
        if not found.n_items:
            raise UnreadableFileError(f"{source.path}: holds no judgements of a model")
        judge = next(iter(found.judges)) if len(found.judges) == 1 else None
        row: dict[str, object] = {
            "run": run,
            "benchmark": _benchmark(source, found.categories),
            "judge": judge,
            "harness": "arena-hard-auto",
        }
        yield Rows(table="runs", rows=[row])
        for severity, message in _notes(found, place_word(head)):
            yield Problem(path=str(source.path), message=message, severity="error" if severity == "error" else "note")


def _rows(head: Head, run: str, found: _Found) -> Iterator[dict[str, object]]:
    once = Once(place_word(head))
    for place, record in iter_records(head):
        item = as_text(record.get("uid")) or as_text(record.get("question_id"))
        model = as_text(record.get("model"))
        if not item or not model:
            found.unnamed.append(place)
            continue
        judge = as_text(record.get("judge"))
        event = ".".join(part for part in (item, model, judge) if part)
        once.add(event, place)
        found.n_items += 1
        found.judges.update([judge] if judge else [])
        found.categories.add(as_text(record.get("category")) or "")
        yield from _games(record, {"run": run, "item": item, "event": event, "judge": judge}, model, found)


def _games(
    record: Mapping[str, object], common: dict[str, object], model: str, found: _Found
) -> Iterator[dict[str, object]]:
    baseline = as_text(record.get("baseline"))
    found.n_without_baseline += baseline is None
    baseline = baseline or UNNAMED_BASELINE
    games = as_list(record.get("games")) or [None]
    found.n_extra += max(len(games) - _GAMES, 0)
    verdicts = [_verdict(game) for game in games[:_GAMES]]
    found.n_incomplete += any(verdict.outcome is None for verdict in verdicts)
    found.n_strong += any(verdict.strength == "strong" for verdict in verdicts)
    for number, verdict in enumerate(verdicts):
        sides = (baseline, model) if number == 0 else (model, baseline)
        yield judged(
            verdict,
            found.tally,
            battle=f"{common['event']}.{number}",
            model_a=sides[0],
            model_b=sides[1],
            event_size=2,
            order="a_first",
            scenario=as_text(record.get("category")),
            subcategory=as_text(record.get("subcategory")),
            game=number,
            **{name: value for name, value in common.items() if name != "run"},
            run=str(common["run"]),
        )


def _verdict(game: object) -> Winner:
    """Read the verdict of one game; prose of a judge that gave none is cut short."""
    score = as_dict(game).get("score")
    if not isinstance(score, str) or not score.strip():
        return Winner(raw=as_text(score), reason="the judge gave no verdict")
    found = labelled(score, "", "")
    if found.outcome is None or found.words != "A>B":
        return Winner(raw=score[:_MAX_LABEL_CHARS], reason="the verdict is none of A>>B, A>B, A=B, B>A, B>>A")
    return found


def _benchmark(source: Source, categories: set[str]) -> str:
    names = "/".join(source.path.parts[-5:]).lower()
    if any(word in names for word in _VISION):
        return "WildVision-Bench"
    version = next((name for name, own in _VERSIONS if categories and categories <= own), None)
    return f"Arena-Hard {version}" if version else "Arena-Hard"


def _notes(found: _Found, word: str) -> Iterator[tuple[str, str]]:
    yield from found.tally.notes(word)
    if found.unnamed:
        n = len(found.unnamed)
        yield "error", f"{n} judgements name no question or model and are left out ({word} {some_of(found.unnamed)})"
    if found.n_incomplete:
        yield (
            "note",
            (
                f"{found.n_incomplete} of {found.n_items} items have a game without a verdict; the benchmark's own score drops "
                "such items whole, here the other game stays"
            ),
        )
    if found.n_strong:
        yield (
            "note",
            (
                f"{found.n_strong} items have a verdict >>, which the benchmark's own score counts three times; here every "
                "game is one row, and `strength` says which are strong"
            ),
        )
    if found.n_without_baseline:
        yield (
            "note",
            (
                f"{found.n_without_baseline} judgements do not name the baseline, which is called {UNNAMED_BASELINE!r} (by "
                "default gpt-4-0314 in Arena-Hard v0.1); do not put files of different baselines together"
            ),
        )
    if found.n_extra:
        yield "note", f"{found.n_extra} games beyond the second of an item are left out, since their order is not known"


LOADER = ArenaHardLoader()
