"""CRUXEval: generations for every item, each of which was right or wrong.

A generation is a trial of metric `correct`. The task is what was predicted, input or output; it, the model and the temperature
stand in the file's name alone (`sample_scored_<model>_temp<T>_<task>.json`).
"""

import re
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import HEADLINE, Format, FormatFile, Scalar, Sign
from evalstats.loaders.format_columns import texts, verdicts
from evalstats.loaders.values import as_number, json_text

_SCORED: Final = "raw_scored_generations"
_PUBLISHED: Final = ("pass_at_1", "pass_at_5", "pass_at_10")
_NAME: Final = re.compile(
    r"(?:sample_scored_)?(?P<model>.+?)(?:_temp(?P<temperature>\d+(?:\.\d+)?))?_(?P<task>input|output)(?P<cot>_cot)?"
)
_UNNAMED: Final = "the file names no model, so that {}, from its own name, stands for it"
_NO_TASK: Final = "its name does not say whether input or output was predicted"


class _Item(Struct):
    key: str
    value: list[Any] | Scalar


def _columns(records: list[_Item], file: FormatFile[_Item]) -> pl.DataFrame:
    found = _NAME.fullmatch(file.source.stem)
    model = found["model"] if found else file.source.called
    if not found:
        file.note(_UNNAMED.format(file.source.stem))
        file.note(_NO_TASK)
    run = file.run(
        model,
        "",
        system=f"{model} (CoT)" if found and found["cot"] else model,
        temperature=as_number(found["temperature"]) if found else None,
        config=json_text({name: as_number(file.members[name]) for name in _PUBLISHED if name in file.members}),
    )
    tries: list[list[object]] = []
    for record, locator in zip(records, file.locators, strict=True):
        if not isinstance(record.value, list):
            file.leave_out("no list of tries", locator)
        tries.append(record.value if isinstance(record.value, list) else [])
    sizes = pl.Series([len(some) for some in tries], dtype=pl.UInt32)
    frame = (
        pl.DataFrame({"item": texts([record.key for record in records]), "locator": file.locators, "n": sizes})
        .filter(pl.col("n") > 0)
        .with_columns(trial=pl.int_ranges("n"))
        .explode("trial")
        .with_columns(pl.format("{}[{}]", "locator", "trial").alias("locator"))
        .drop("n")
    ).hstack(verdicts([verdict for some in tries for verdict in some]))
    return frame.with_columns(run=pl.lit(run), task=pl.lit(found["task"] if found else ""), metric=pl.lit("correct"))


FORMAT: Final = Format(
    name="cruxeval",
    title="CRUXEval scored generations (sample_scored_*.json)",
    version="2",
    upstream="facebookresearch/cruxeval at 190faf1, evaluation/evaluate_generations.py",
    benchmark="CRUXEval",
    harness="CRUXEval",
    signs=(Sign(some=f"{_SCORED} raw_generations", confidence=0.95, shapes=("object", "lines")),),
    record=_Item,
    columns=_columns,
    lists=(_SCORED,),
    keyed=True,
    keep=_PUBLISHED,
    called="items",
    metrics={"correct": HEADLINE},
    unscored="{n} tries have no verdict (true or false) and are unscored",
)
