"""EvalPlus (HumanEval+, MBPP+): tries of every task on the original tests and on the further ones.

Metric `base` is the original tests, `plus` these and the further ones; a try is a trial. What fails the base tests fails all
tests, whatever the further ones say, and a timeout is a failure, as upstream counts it. Where only the original tests were run
there is no `plus`. Model and temperature are taken from the name of the file, or of a folder.
"""

import re
from itertools import zip_longest
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.base import Source
from evalstats.loaders.format import HEADLINE, SHARE, Format, FormatFile, Scalar, Sign
from evalstats.loaders.format_columns import texts
from evalstats.loaders.rows import held
from evalstats.loaders.values import as_list, as_number, as_text, json_text

_STATUSES: Final = ("pass", "fail", "timeout")
# Old results say "success" and "failed".
_KNOWN: Final = {**{name: name for name in _STATUSES}, "success": "pass", "failed": "fail", "timed out": "timeout"}
_NAME: Final = re.compile(r"(?P<model>.+?)(?:_temp_(?P<temperature>\d+(?:\.\d+)?))?(?:[-_.]sanitized)?")
_ENDING: Final = re.compile(r"(?:^|[-_.])(?:samples?[-_.])?eval_results$")
_GENERIC: Final = frozenset(
    {"", "sample", "samples", "humaneval", "mbpp", "results", "evalplus_results", "tmp", "output"}
)
_BACKENDS: Final = re.compile(r"_(?:vllm|hf|openai|anthropic|google|bedrock|ollama|gptqmodel|mistral|deepseek)$")
_TASKS: Final = {"HumanEval": "humaneval", "Mbpp": "mbpp"}
_UNNAMED: Final = "the file names no model, so that {}, from its own name, stands for it"
_TIMEOUTS: Final = "{n} tries ran out of time and count as failed, as in EvalPlus"
_NO_STATUS: Final = "{n} tries have no status of pass, fail or timeout and are unscored"


class _Try(Struct):
    base_status: Any = None
    plus_status: Any = None


class _Old(Struct):
    """Tries of a task as the first versions write them: statuses with details, by kind of tests."""

    base: Any = None
    plus: Any = None


class _Task(Struct):
    key: str
    value: list[_Try | Scalar] | _Old | Scalar


def _model_of(source: Source) -> tuple[str | None, float | None]:
    """Return the model and its temperature, as the file's name or a folder's says them."""
    for name in (source.stem, *(folder.name for folder in source.path.absolute().parents[:2])):
        found = _NAME.fullmatch(_ENDING.sub("", as_text(name) or ""))
        if found is not None and found["model"].lower() not in _GENERIC:
            return _BACKENDS.sub("", found["model"]).replace("--", "/"), as_number(found["temperature"])
    return None, None


def _tries(value: list[_Try | Scalar] | _Old | Scalar) -> list[tuple[object, object]] | None:
    """Return the statuses of every try on the base tests and on the further ones; None where there is no list."""
    if isinstance(value, _Old):
        listed = as_list(value.base), as_list(value.plus)
        base, plus = ([next(iter(as_list(part)), part) for part in each] for each in listed)
        return list(zip_longest(base, plus[: len(base)])) or None
    if not isinstance(value, list):
        return None
    return [(part.base_status, part.plus_status) if isinstance(part, _Try) else (None, None) for part in value]


def _columns(records: list[_Task], file: FormatFile[_Task]) -> pl.DataFrame:
    model, temperature = _model_of(file.source)
    name = model or file.source.called
    if model is None:
        file.note(_UNNAMED.format(name))
    config = {key: file.members[key] for key in ("date", "hash", "pass_at_k") if key in file.members}
    version = as_text(file.members.get("hash"))
    run = file.run(name, "", temperature=temperature, task_version=version, config=json_text(config))
    rows: list[tuple[str, int, object, object, str]] = []
    for record, locator in zip(records, file.locators, strict=True):
        tries = _tries(record.value)
        if tries is None:
            file.leave_out("no list of tries", locator)
        item = as_text(record.key) or ""
        rows += [(item, trial, base, plus, f"{locator}[{trial}]") for trial, (base, plus) in enumerate(tries or ())]
    raw = {name: [row[place] for row in rows] for place, name in ((2, "base"), (3, "plus"))}
    frame = pl.DataFrame(
        {
            "item": [row[0] for row in rows],
            "trial": pl.Series([row[1] for row in rows], dtype=pl.Int64),
            "locator": [row[4] for row in rows],
            **{
                name: texts(values).replace_strict(_KNOWN, default=None, return_dtype=pl.String)
                for name, values in raw.items()
            },
        },
        schema_overrides={"item": pl.String, "locator": pl.String},
    )
    further = any(value is not None for value in raw["plus"])
    if not further:
        file.metric("base", primary=True)
    lost = pl.col("base").is_null() | (pl.col("plus").is_null() & further)
    file.count(_TIMEOUTS, frame.select(pl.any_horizontal(pl.col("base", "plus") == "timeout").sum()).item() or 0)
    file.count(_NO_STATUS, frame.select(lost.sum()).item() or 0)
    # What the further tests say counts only of what passes the base tests.
    through = [status == "pass" for status in frame["base"]]
    last = [plus if ok else base for ok, base, plus in zip(through, raw["base"], raw["plus"], strict=True)]
    worst = pl.when(pl.col("base") == "pass").then("plus").otherwise("base")
    parts = [("base", pl.col("base"), raw["base"]), *([("plus", worst, last)] if further else [])]
    outcomes = [
        frame.select("item", "trial", "locator", metric=pl.lit(name), status=status).with_columns(
            value_raw=pl.Series(
                [None if isinstance(value, str) and value in _KNOWN else held(value) for value in values],
                dtype=pl.String,
            )
        )
        for name, status, values in parts
    ]
    order = pl.Series(range(frame.height), dtype=pl.UInt32)
    at = pl.concat([order + k * frame.height for k in range(len(parts))]).to_frame("at")
    at = at.with_columns(row=pl.col("at") % max(frame.height, 1)).sort("row", maintain_order=True)["at"]
    scored = pl.col("status").is_not_null()
    return pl.concat(outcomes)[at].with_columns(
        run=pl.lit(run),
        task=pl.col("item").str.split("/").list.first().replace_strict(_TASKS, default=""),
        score=(pl.col("status") == "pass").cast(pl.Float64),
        value_raw=pl.coalesce("status", "value_raw"),
        status=pl.when(scored).then(pl.lit("scored")).otherwise(pl.lit("unscored")),
        status_reason=pl.when(~scored).then(pl.lit("no status of the tests")),
    )


FORMAT: Final = Format(
    name="evalplus",
    title="EvalPlus results (HumanEval+, MBPP+: *_eval_results.json)",
    version="2",
    upstream="evalplus/evalplus at 26d6d00, evalplus/evaluate.py",
    benchmark="EvalPlus",
    harness="EvalPlus",
    signs=(
        Sign("eval", 0.95, text=('"base_status"',), shapes=("object", "lines")),
        Sign("eval", 0.95, text=('"nfiles"', '"base"'), shapes=("object", "lines")),
    ),
    record=_Task,
    columns=_columns,
    lists=("eval",),
    keyed=True,
    keep=("date", "hash", "pass_at_k"),
    called="items",
    metrics={"base": SHARE, "plus": HEADLINE},
)
