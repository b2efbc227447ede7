"""MT-bench, single answers: a judge's rating of every turn of every answer, from 1 to 10.

The question is the item and the turn its variant, so that both turns of a question stay one cluster. The judge is named
without its template, which is the factor `judge_template`. A judgement that is there twice, letter for letter, counts once;
one that was made again is a further trial. A rating of -1 is a judgement out of which no rating could be read.
"""

from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import RECORDS, Format, FormatFile, Sign
from evalstats.loaders.format_columns import counts, numbers, series
from evalstats.loaders.values import as_list, as_text, text_of, times_of

_UNREAD: Final = "-1"
# What FastChat keeps as the judge's answer when its requests failed.
_API_ERROR: Final = "$ERROR$"
_AGAIN: Final = "{n} of {all} judgements judge an answer again; they are kept as further trials"


class _Judgement(Struct):
    question_id: Any = None
    model: Any = None
    judge: Any = None
    turn: Any = None
    score: Any = None
    judgment: Any = None
    tstamp: Any = None


def _columns(records: list[_Judgement], file: FormatFile[_Judgement]) -> pl.DataFrame:
    judges = [[as_text(part) for part in as_list(record.judge)] or [as_text(record.judge)] for record in records]
    frame = pl.DataFrame(
        {
            "item": text_of(series([record.question_id for record in records])),
            "model": text_of(series([record.model for record in records])),
            "turn": counts([record.turn for record in records]),
            "judge": [judge[0] for judge in judges],
            "judge_template": [judge[1] if len(judge) > 1 else None for judge in judges],
            "timestamp": times_of(series([record.tstamp for record in records]))[0],
            "judgment": series([record.judgment for record in records]),
            "locator": file.locators,
        },
        schema_overrides={"judge": pl.String, "judge_template": pl.String},
    ).hstack(numbers([record.score for record in records], 1.0, 10.0))
    unread = (pl.col("value_raw").str.strip_suffix(".0") == _UNREAD) | pl.col("value_raw").is_null()
    failed = pl.col("judgment") == _API_ERROR
    frame = frame.with_columns(
        metric=pl.lit("score"),
        variant=pl.format("turn {}", pl.col("turn")).fill_null(""),
        status=pl.when(failed).then(pl.lit("error")).otherwise("status"),
        status_reason=pl.when(failed)
        .then(pl.lit("the request to the judge failed"))
        .when((pl.col("status") == "unscored") & unread)
        .then(pl.lit("no rating could be read out of the judgement"))
        .otherwise("status_reason"),
    )
    for name in ("question_id", "model"):
        column = "item" if name == "question_id" else name
        frame = file.without(frame, pl.col(column).is_null() | (pl.col(column) == ""), f"no {name}")
    key = ["item", "model", "judge", "variant"]
    told = frame.select(*key, "judgment", "timestamp", pl.coalesce("value_raw", pl.col("score").cast(pl.String)))
    frame = file.without(frame, file.copies(told), "copies of earlier ones")
    frame = frame.with_columns(trial=file.trials(frame.select(key)))
    file.count(_AGAIN, int((frame["trial"] > 0).sum()))
    return frame.drop("judgment", "turn")


FORMAT: Final = Format(
    name="mt-bench-single",
    title="MT-bench ratings of single answers (gpt-4_single.jsonl)",
    version="3",
    upstream="lm-sys/FastChat at 0e6d3e4, fastchat/llm_judge/common.py",
    benchmark="MT-bench",
    harness="FastChat",
    signs=(
        Sign("question_id model judge turn judgment score", 0.95, shapes=RECORDS),
        # Without the texts, the judge with its template is what tells it from any table.
        Sign("question_id model judge turn score", 0.6, text=('"judge": [',), shapes=RECORDS),
    ),
    record=_Judgement,
    columns=_columns,
    of_run=("judge",),
    called="judgements",
    metrics={"score": {"kind": "bounded", "low": 1.0, "high": 10.0, "unit": "points", "primary": True}},
    failed="in {n} of {all} judgements the request to the judge failed; they are harness errors",
    unscored="{n} of {all} judgements hold no rating; they are unscored here, and the benchmark's own average drops them too",
    texts={"question": "user_prompt", "answer": "judgment"},
)
