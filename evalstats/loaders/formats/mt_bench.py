"""MT-bench, pairs: a judge's choice between two answers in both orders, turn by turn.

`model_1` is seen first in the first game, `model_2` in the second; each game is a row, and both share `event`. The question is
the item, the turn is kept, and the judge is named without its template. A winner "error" is unscored.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.format import Format, FormatFile, Sign

_WINS: Final = {"model_1": "1", "model_2": "2", "tie": "tie"}
_AGAINST: Final = (
    "in {n} of {all} pairs the judge's verdict changes with the order of the answers; the benchmark's own score calls such pairs "
    "ties, here both games are kept"
)


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    frame = file.named(frame, item="question_id", _model_1="model_1", _model_2="model_2")
    turn, judge = pl.format("turn {}", "turn"), pl.col("judge").replace("", None)
    event = pl.concat_str("item", "_model_1", "_model_2", judge, turn, separator=".", ignore_nulls=True)
    frame = frame.with_columns(event=event)
    frame = file.without(frame, file.copies(frame.select("event")), "judged before")
    said = [pl.col(game).str.strip_chars().str.to_lowercase() for game in ("_g1", "_g2")]
    wins = [label.replace_strict(_WINS, default=None, return_dtype=pl.String) for label in said]
    file.count(_AGAINST, int((frame.select(wins[0] != wins[1]).to_series()).sum()))
    games = [
        frame.with_columns(
            battle=pl.format(f"{{}}.g{n}", "event"),
            model_a=pl.col(f"_model_{n}"),
            model_b=pl.col(f"_model_{3 - n}"),
            value_raw=pl.col(f"_g{n}"),
            outcome=wins[n - 1].replace({f"{n}": "a", f"{3 - n}": "b"}),
            status_reason=pl.when(said[n - 1].fill_null("").is_in(["", "error", "nan"]))
            .then(pl.lit("the judge gave no verdict"))
            .when(wins[n - 1].is_null())
            .then(pl.lit("the winner's label is not known")),
            game=pl.lit(n),
        )
        for n in (1, 2)
    ]
    order = pl.Series([row + game * frame.height for row in range(frame.height) for game in range(2)], dtype=pl.UInt32)
    both = pl.concat(games)[order]
    return both.with_columns(event_size=pl.lit(2), order=pl.lit("a_first"))


FORMAT: Final[Format[Any]] = Format(
    name="mt-bench",
    title="MT-bench judged pairs (gpt-4_pair.jsonl)",
    version="2",
    upstream="lm-sys/FastChat at 0e6d3e4, fastchat/llm_judge/common.py",
    benchmark="MT-bench",
    harness="FastChat",
    signs=(
        Sign("question_id model_1 model_2 g1_winner g2_winner", 0.95, shapes=("lines", "array", "text", "parquet")),
    ),
    table="comparisons",
    fields={
        "item": "question_id",
        "_model_1": "model_1",
        "_model_2": "model_2",
        "judge": "judge.0 judge",
        "turn": "turn",
        "timestamp": "tstamp",
        "_g1": "g1_winner",
        "_g2": "g2_winner",
    },
    arranged=_arranged,
    of_run=("judge",),
    called="judged pairs",
)
