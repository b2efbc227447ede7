"""Arena-Hard-Auto and WildVision-Bench: a judge's verdicts on a model's answer and a baseline's, in both orders.

Model a is the answer that the judge saw first: the baseline in the first game, the model in the second. Both games of a
question share `event`, and each is a row; a game that is missing or whose verdict could not be read is unscored and never a
tie. A verdict with `>>` has the strength "strong", one with `>` "slight". The shape before April 2025 has `question_id` and no
baseline; WildVision-Bench still has it, with one game.
"""

from functools import lru_cache
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.arena_cells import labelled
from evalstats.loaders.format import JSON, Format, FormatFile, Sign
from evalstats.loaders.record_columns import texts
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_text

UNNAMED_BASELINE: Final = "baseline (not named)"
_GAMES: Final = 2
_BENCHMARK: Final = "Arena-Hard"
_VISION: Final = ("wildvision", "vision_bench", "wvbench")
_MAX_LABEL_CHARS: Final = 60
# The questions of the two versions differ, and so do their baselines; only the categories tell which a file is of.
_VERSIONS: Final = {
    "arena-hard-v0.1": f"{_BENCHMARK} v0.1",
    **dict.fromkeys(("hard_prompt", "creative_writing"), f"{_BENCHMARK} v2.0"),
}
_INCOMPLETE: Final = (
    "{n} of {all} items have a game without a verdict; the benchmark's own score drops such "
    "items, here the other game is kept"
)
_STRONG: Final = (
    "{n} items have a verdict >>, which the benchmark's own score counts three times; here every game is one row, and "
    "`strength` says which are strong"
)
_NO_BASELINE: Final = (
    f"{{n}} judgements do not name the baseline, which is called {UNNAMED_BASELINE!r} (by default gpt-4-0314 in Arena-Hard "
    "v0.1); do not put files of different baselines together"
)
_NONE: Final = "the judge gave no verdict"
_EXTRA: Final = "{n} games beyond the second of an item are dropped, since their order is unknown"


class _Game(Struct):
    score: Any = None


class _Judgement(Struct):
    uid: Any = None
    question_id: Any = None
    model: Any = None
    judge: Any = None
    category: Any = None
    subcategory: Any = None
    baseline: Any = None
    games: list[_Game | Plain] | Plain = None


def _columns(records: list[_Judgement], file: FormatFile[_Judgement]) -> pl.DataFrame:
    games = [(record.games if isinstance(record.games, list) else []) or [None] for record in records]
    verdicts = [[_verdict(game) for game in some[:_GAMES]] for some in games]
    frame = pl.DataFrame(
        {
            "item": texts([as_text(record.uid) or as_text(record.question_id) for record in records]),
            "model": texts([record.model for record in records]),
            "judge": texts([as_text(record.judge) or None for record in records]),
            "baseline": texts([record.baseline for record in records]),
            "scenario": texts([record.category for record in records]),
            "subcategory": texts([record.subcategory for record in records]),
            "n_games": [len(some) for some in games],
            "lost": [any(outcome is None for _, outcome, _, _ in some) for some in verdicts],
            "strong": [any(strength == "strong" for _, _, strength, _ in some) for some in verdicts],
            "row": range(len(records)),
            "locator": file.locators,
        }
    )
    frame = file.named(frame, item="uid or question_id", model="model")
    frame = frame.with_columns(event=pl.concat_str("item", "model", "judge", separator=".", ignore_nulls=True))
    frame = file.without(frame, file.copies(frame.select("event")), "judged before")
    file.count(_INCOMPLETE, int(frame["lost"].sum()))
    file.count(_STRONG, int(frame["strong"].sum()))
    file.count(_NO_BASELINE, frame["baseline"].null_count())
    file.count(_EXTRA, int((frame["n_games"] - _GAMES).clip(0).sum()))
    flat = [(row, game, *parts) for row, some in enumerate(verdicts) for game, parts in enumerate(some)]
    schema = {"row": pl.Int64, "game": pl.Int64, **dict.fromkeys(_PARTS, pl.String)}
    frame = frame.join(pl.DataFrame(flat, schema, orient="row"), on="row", maintain_order="left")
    vision = any(word in "/".join(file.source.path.parts[-5:]).lower() for word in _VISION)
    benchmark = pl.col("scenario").replace_strict(_VERSIONS, default=_BENCHMARK).fill_null(_BENCHMARK)
    baseline, first = pl.col("baseline").fill_null(UNNAMED_BASELINE), pl.col("game") == 0
    return frame.with_columns(
        benchmark=pl.lit("WildVision-Bench") if vision else benchmark,
        battle=pl.format("{}.{}", "event", "game"),
        event_size=pl.lit(_GAMES),
        model_a=pl.when(first).then(baseline).otherwise("model"),
        model_b=pl.when(first).then("model").otherwise(baseline),
        order=pl.lit("a_first"),
    ).drop("model", "baseline", "n_games", "lost", "strong", "row")


_PARTS: Final = ("value_raw", "outcome", "strength", "status_reason")
_Parts = tuple[str | None, str | None, str | None, str | None]


def _verdict(game: object) -> _Parts:
    score = game.score if isinstance(game, _Game) else None
    return _verdict_of(score) if isinstance(score, str) else (as_text(score), None, None, _NONE)


@lru_cache(maxsize=1024)
def _verdict_of(score: str) -> _Parts:
    """Read a verdict; the prose of a judge that gave none is cut short."""
    if not score.strip():
        return score, None, None, _NONE
    found = labelled(score, "", "")
    if found.outcome is None or found.words != "A>B":
        return as_text(score[:_MAX_LABEL_CHARS]), None, None, "the verdict is none of A>>B, A>B, A=B, B>A, B>>A"
    return score, found.outcome, found.strength, None


def _finish(file: FormatFile[_Judgement]) -> None:
    for run in file.runs.values():
        run["benchmark"] = run["benchmark"] or _BENCHMARK


FORMAT: Final = Format(
    name="arena-hard",
    title="Arena-Hard and WildVision judgements (model_judgment/*.jsonl)",
    version="2",
    upstream="lmarena/arena-hard-auto at 196f6b8, model_judgment/<judge>/<model>.jsonl",
    benchmark=_BENCHMARK,
    harness="arena-hard-auto",
    signs=(
        Sign("model games judge", some="uid question_id", without="g1_winner", shapes=JSON),
        Sign("model games", 0.6, some="uid question_id", without="g1_winner", shapes=JSON),
    ),
    table="comparisons",
    record=_Judgement,
    columns=_columns,
    at=(".",),
    of_run=("judge", "benchmark"),
    called="judgements",
    finish=_finish,
)
