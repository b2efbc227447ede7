"""WildBench: a judge's score of every answer, or its choice between a model's answer and a reference's.

The item is the session. Scores run from 1 to 10; the system is the file's name where it says more than the model does. Of pairs,
model a is the answer that the judge saw as A, `strength` is "strong" for A++ and B++, and where winner and extent contradict the
judge's own choice the row is unscored. Judge and version stand in names of folders only (`v2.0625`, `eval=<judge>`), or in
columns where the scores were flattened into one table.
"""

import re
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import RECORDS, TABLE, Format, FormatFile, Scalar, Sign
from evalstats.loaders.format_columns import texts
from evalstats.loaders.values import as_dict, as_text, as_whole

_WILDBENCH: Final = "WildBench"
# The judge's own choice, which the file repeats as winner and extent.
_CHOICES: Final = {"A++": ("a", 2), "A+": ("a", 1), "A=B": ("tie", 0), "B+": ("b", 1), "B++": ("b", 2)}
_STRENGTHS: Final = {1: "slight", 2: "strong"}
_JUDGE: Final = re.compile(r"eval=([^/]+)")
_VERSION: Final = re.compile(r"v\d+\.\d+")
_CONTRADICTION: Final = "in {n} judgements winner and extent contradict the judge's own choice; unscored"
_CONTRADICTS: Final = "winner and extent contradict the judge's choice"
_NO_JUDGE: Final = "the judge is not known: the benchmark names it by a folder eval=<judge>"


def _from_folders(source: Source) -> tuple[str | None, str | None]:
    """Return the judge and the benchmark's version, which only the folders name."""
    judge = next((found[1] for part in reversed(source.path.parts) if (found := _JUDGE.fullmatch(part))), None)
    version = next((part for part in reversed(source.path.parts) if _VERSION.fullmatch(part)), None)
    return as_text(judge), version


def _finish(file: FormatFile[Any]) -> None:
    if any(run["judge"] is None for run in file.runs.values()):
        file.count(_NO_JUDGE)


def _scored(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    judge, version = _from_folders(file.source)
    frame = frame.with_columns(
        model=pl.col("model").str.split("/").list.last(),
        judge=pl.coalesce(pl.col("judge").replace("", None), pl.lit(judge, pl.String)),
        task_version=pl.coalesce(pl.col("task_version").replace("", None), pl.lit(version, pl.String)),
    )
    name = pl.col("_file").replace("", None).fill_null(file.source.called)
    parts = pl.concat_str("task_version", "judge", "system", separator=".", ignore_nulls=True)
    frame = file.named(frame, item="session_id", model="model_test")
    return frame.with_columns(
        system=pl.when(name.str.starts_with(pl.col("model"))).then(name).otherwise("model")
    ).with_columns(part=pl.when(pl.col("_file").is_not_null()).then(parts).otherwise(pl.lit("")))


class _Output(Struct):
    choice: Any = None


class _Pair(Struct, rename={"model_a": "model_A", "model_b": "model_B"}):
    session_id: Any = None
    model_a: Any = None
    model_b: Any = None
    winner: Any = None
    extent: Any = None
    parsed_result: _Output | Scalar = None
    model_outputs: Any = None


def _pairs(records: list[_Pair], file: FormatFile[_Pair]) -> pl.DataFrame:
    judge, version = _from_folders(file.source)
    verdicts = [_verdict(record) for record in records]
    frame = pl.DataFrame(
        {
            "item": texts([record.session_id for record in records]),
            "model_a": texts([record.model_a for record in records]),
            "model_b": texts([record.model_b for record in records]),
            "judge": pl.Series([judge], dtype=pl.String).new_from_index(0, len(records)),
            "task_version": pl.Series([version], dtype=pl.String).new_from_index(0, len(records)),
            "length_a": pl.Series([_length(record, record.model_a) for record in records], dtype=pl.Int64),
            "length_b": pl.Series([_length(record, record.model_b) for record in records], dtype=pl.Int64),
            "locator": file.locators,
        }
    ).hstack(
        pl.DataFrame(
            verdicts,
            schema=dict.fromkeys(("value_raw", "outcome", "strength", "status_reason"), pl.String),
            orient="row",
        )
    )
    frame = file.named(frame, item="session_id", model_a="model_A", model_b="model_B")
    frame = frame.with_columns(battle=pl.format("{}.{}.{}", "item", "model_a", "model_b"), order=pl.lit("a_first"))
    frame = file.without(frame, file.copies(frame.select("battle")), "copies of earlier ones")
    file.count(_CONTRADICTION, int((frame["status_reason"] == _CONTRADICTS).sum()))
    return frame


def _length(record: _Pair, model: object) -> int | None:
    text = as_dict(record.model_outputs).get(as_text(model) or "")
    return len(text) if isinstance(text, str) else None


def _verdict(record: _Pair) -> tuple[str | None, str | None, str | None, str | None]:
    """Return the label, the outcome, its strength, and why there is none."""
    winner, extent = as_text(record.winner), as_whole(record.extent)
    choice = as_text(record.parsed_result.choice) if isinstance(record.parsed_result, _Output) else None
    sides = {as_text(record.model_a): "a", as_text(record.model_b): "b", "tie": "tie"}
    said = sides.get(winner) if winner else None
    if said is None:
        return choice or winner, None, None, "the winner is neither model, nor a tie"
    if choice is not None and _CHOICES.get(choice) != (said, extent):
        return choice, None, None, _CONTRADICTS
    return choice or winner, said, _STRENGTHS.get(extent or 0), None


SCORES: Final[Format[Any]] = Format(
    name="wildbench",
    title="WildBench scores (eval_results/*/score.v2/*.json)",
    version="2",
    upstream="allenai/WildBench at d6b8dca, src/openai_batch_eval/batch_results_format.py",
    benchmark=_WILDBENCH,
    harness=_WILDBENCH,
    signs=(Sign("session_id model_test score", some="parsed_result model_output judge", shapes=(*RECORDS, *TABLE)),),
    fields={
        "item": "session_id",
        "model": "model_test",
        "judge": "judge",
        "task_version": "version",
        "output_chars": "model_output.# output_chars",
        "_file": "file_model",
    },
    scores={"score": "score"},
    arranged=_scored,
    once=("part", "item"),
    of_run=("system", "judge", "task_version"),
    called="judgements",
    metrics={"score": {"kind": "bounded", "low": 1.0, "high": 10.0, "unit": "points", "primary": True}},
    finish=_finish,
)
PAIRS: Final = Format(
    name="wildbench-pairs",
    title="WildBench judged pairs (eval_results/*/pairwise.v2/*.json)",
    version="2",
    upstream="allenai/WildBench at d6b8dca, src/openai_batch_eval/batch_results_format.py",
    benchmark=_WILDBENCH,
    harness=_WILDBENCH,
    signs=(Sign("session_id model_A model_B winner extent", shapes=(*RECORDS, *TABLE)),),
    table="comparisons",
    record=_Pair,
    columns=_pairs,
    of_run=("judge", "task_version"),
    called="judgements",
    finish=_finish,
)
