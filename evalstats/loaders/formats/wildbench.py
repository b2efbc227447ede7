"""WildBench: a judge's score of every answer, or its choice between a model's answer and a reference's.

The item is the session. Scores run from 1 to 10; the system is the file's name where it says more than the model does. Of pairs,
model a is the answer that the judge saw as A, `strength` is "strong" for A++ and B++, and where winner and extent contradict the
judge's own choice the row is unscored. Judge and version stand in names of folders only (`v2.0625`, `eval=<judge>`), or in
columns where the scores were flattened into one table.
"""

import re
from typing import Any, Final

import polars as pl
from msgspec import defstruct

from evalstats.loaders.base import Source
from evalstats.loaders.format import RECORDS, TABLE, Format, FormatFile, Sign
from evalstats.loaders.values import as_dict, as_text

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
    if any(run.get("judge") is None for run in file.runs.values()):
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
    frame = frame.with_columns(
        system=pl.when(name.str.starts_with(pl.col("model"))).then(name).otherwise("model")
    ).with_columns(part=pl.when(pl.col("_file").is_not_null()).then(parts).otherwise(pl.lit("")))
    return file.once(frame, "part", "item")


_MEMBERS: Final = ("session_id", "model_A", "model_B", "winner", "extent", "parsed_result", "model_outputs")
# A judged pair with the answers of both models, which the file has by the models' names.
_PAIR: Final = defstruct("_Pair", [(name, Any, None) for name in (*_MEMBERS, "output_A", "output_B")])


def _outputs(records: list[Any], file: FormatFile[Any]) -> tuple[list[Any], pl.Series]:
    for record in records:
        outputs = as_dict(record.model_outputs)
        for side in "AB":
            setattr(record, f"output_{side}", outputs.get(as_text(getattr(record, f"model_{side}")) or ""))
    return records, file.locators


def _verdicts(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return judged pairs; where winner and extent contradict the judge's choice there is no outcome."""
    judge, version = _from_folders(file.source)
    frame = file.named(frame, item="session_id", model_a="model_A", model_b="model_B")
    winner, extent, choice = pl.col("_winner"), pl.col("_n_extent"), pl.col("_choice")
    said = pl.when(winner == pl.col("model_a")).then(pl.lit("a")).when(winner == pl.col("model_b")).then(pl.lit("b"))
    said = said.when(winner == "tie").then(pl.lit("tie"))
    chosen, far = (
        choice.replace_strict({name: each[k] for name, each in _CHOICES.items()}, default=None) for k in (0, 1)
    )
    agrees = choice.is_null() | ((chosen == said) & (far == extent)).fill_null(value=False)
    reason = pl.when(said.is_null()).then(pl.lit("the winner is neither model, nor a tie"))
    frame = frame.with_columns(
        judge=pl.lit(judge, pl.String),
        task_version=pl.lit(version, pl.String),
        battle=pl.format("{}.{}.{}", "item", "model_a", "model_b"),
        order=pl.lit("a_first"),
        value_raw=pl.coalesce(choice, winner),
        outcome=pl.when(agrees).then(said),
        strength=pl.when(agrees & said.is_not_null()).then(extent.replace_strict(_STRENGTHS, default=None)),
        status_reason=reason.when(~agrees).then(pl.lit(_CONTRADICTS)),
    )
    frame = file.once(frame, "battle")
    file.count(_CONTRADICTION, int((frame["status_reason"] == _CONTRADICTS).sum()))
    return frame


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
    of_run=("system", "judge", "task_version"),
    called="judgements",
    metrics={"score": {"kind": "bounded", "low": 1.0, "high": 10.0, "unit": "points", "primary": True}},
    finish=_finish,
)
PAIRS: Final[Format[Any]] = Format(
    name="wildbench-pairs",
    title="WildBench judged pairs (eval_results/*/pairwise.v2/*.json)",
    version="2",
    upstream="allenai/WildBench at d6b8dca, src/openai_batch_eval/batch_results_format.py",
    benchmark=_WILDBENCH,
    harness=_WILDBENCH,
    signs=(Sign("session_id model_A model_B winner extent", shapes=(*RECORDS, *TABLE)),),
    table="comparisons",
    record=_PAIR,
    inner=_outputs,
    fields={
        "item": "session_id",
        "model_a": "model_A",
        "model_b": "model_B",
        "length_a": "output_A.#",
        "length_b": "output_B.#",
        "_winner": "winner",
        "_n_extent": "extent",
        "_choice": "parsed_result.choice",
    },
    arranged=_verdicts,
    of_run=("judge", "task_version"),
    called="judgements",
    finish=_finish,
)
