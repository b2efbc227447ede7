"""MT-bench, single answers: a judge's rating of every turn of every answer, from 1 to 10.

The question is the item and the turn its variant, so that both turns of a question stay one cluster. The judge is named
without its template, which is the factor `judge_template`. A judgement that is there twice, letter for letter, counts once;
one that was made again is a further trial. A rating of -1 is a judgement out of which no rating could be read.
"""

from typing import Any, Final

import polars as pl

from evalstats.loaders.format import FAILED, RECORDS, UNSCORED, Format, FormatFile, Sign

# What FastChat keeps as the judge's answer when its requests failed.
_API_ERROR: Final = "$ERROR$"
_AGAIN: Final = "{n} of {all} judgements judge an answer again; they are kept as further trials"
_KEY: Final = ("item", "model", "judge", "variant")


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    failed = pl.col("_judgment") == _API_ERROR
    frame = file.named(frame, item="question_id", model="model").with_columns(
        variant=pl.format("turn {}", "_n_turn").fill_null(""),
        error=pl.when(failed).then(pl.lit("the request to the judge failed")),
    )
    frame = file.once(frame, *_KEY, "_judgment", "timestamp", "_score")
    frame = frame.with_columns(trial=file.trials(frame.select(_KEY)))
    file.count(_AGAIN, int((frame["trial"] > 0).sum()))
    return frame


_NO_RATING: Final = (
    "{n} of {all} judgements hold no rating; they are unscored here, and the benchmark's own average drops them too"
)
FORMAT: Final[Format[Any]] = Format(
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
    fields={
        "item": "question_id",
        "model": "model",
        "judge": "judge.0 judge",
        "judge_template": "judge.1",
        "timestamp": "tstamp",
        "_n_turn": "turn",
        "_judgment": "judgment",
        "_score": "score",
    },
    scores={"score": "score"},
    arranged=_arranged,
    of_run=("judge",),
    called="judgements",
    metrics={"score": {"kind": "bounded", "low": 1.0, "high": 10.0, "unit": "points", "primary": True}},
    counts={
        "in {n} of {all} judgements the request to the judge failed; they are harness errors": FAILED,
        _NO_RATING: UNSCORED,
    },
    texts={"question": "user_prompt", "answer": "judgment"},
)
