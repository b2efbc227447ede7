"""EvalPlus (HumanEval+, MBPP+): tries of every task on the original tests and on the further ones.

Metric `base` is the original tests, `plus` these and the further ones; a try is a trial. What fails the base tests fails all
tests, whatever the further ones say, and a timeout is a failure, as upstream counts it. Where only the original tests were run
there is no `plus`. Model and temperature are taken from the name of the file, or of a folder.
"""

import re
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import HEADLINE, SHARE, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import of_words
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_number, as_text

_NAME: Final = re.compile(r"(?P<model>.+?)(?:_temp_(?P<temperature>\d+(?:\.\d+)?))?(?:[-_.]sanitized)?")
_ENDING: Final = re.compile(r"(?:^|[-_.])(?:samples?[-_.])?eval_results$")
_GENERIC: Final = frozenset(
    {"", "sample", "samples", "humaneval", "mbpp", "results", "evalplus_results", "tmp", "output"}
)
_BACKENDS: Final = re.compile(r"_(?:vllm|hf|openai|anthropic|google|bedrock|ollama|gptqmodel|mistral|deepseek)$")
_TASKS: Final = {"HumanEval": "humaneval", "Mbpp": "mbpp"}


def _about(file: FormatFile[Any]) -> Row:
    """Return the model and its temperature, as the file's name or a folder's says them."""
    model, temperature, source = None, None, file.source
    for name in (source.stem, *(folder.name for folder in source.path.absolute().parents[:2])):
        found = _NAME.fullmatch(_ENDING.sub("", as_text(name) or ""))
        if found is not None and found["model"].lower() not in _GENERIC:
            model, temperature = _BACKENDS.sub("", found["model"]).replace("--", "/"), as_number(found["temperature"])
            break
    version = as_text(file.members.get("hash"))
    return {"model": model, "temperature": temperature, "task_version": version, "config": dict(file.members)}


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    """Return tries with what all tests say of them: the further ones count only where the base tests pass."""
    passed = pl.col("_base") == "pass"
    frame = frame.with_columns(
        task=pl.col("item").str.split("/").list.first().replace_strict(_TASKS, default=""),
        _all=pl.when(passed).then("_plus").otherwise("_base"),
    )
    if frame["_plus"].null_count() < frame.height:
        return frame
    file.metric("base", primary=True)
    return frame.drop("_all")


FORMAT: Final[Format[Any]] = Format(
    name="evalplus",
    title="EvalPlus results (HumanEval+, MBPP+: *_eval_results.json)",
    version="2",
    upstream="evalplus/evalplus at 26d6d00, evalplus/evaluate.py",
    benchmark="EvalPlus",
    harness="EvalPlus",
    signs=(Sign("eval", 0.95, text=('"base_status"',), shapes=("object", "lines")),),
    fields={"item": "key", "_base": "value[].base_status", "_plus": "value[].plus_status"},
    scores={"base": "_base", "plus": "_all"},
    reads=of_words({"pass": 1.0, "fail": 0.0, "timeout": 0.0}),
    arranged=_arranged,
    about=_about,
    at=("eval.*",),
    keep=("date", "hash", "pass_at_k"),
    called="items",
    metrics={"base": SHARE, "plus": HEADLINE},
    counts={"{n} outcomes have no status of pass, fail or timeout and are unscored": UNSCORED},
)
