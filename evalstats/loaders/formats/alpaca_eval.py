"""AlpacaEval: a judge's preference between a baseline's answer and a model's, item by item.

Model a is the baseline (`generator_1`), model b the model under test. `preference` is the share of preference for a: 2 minus
the file's number, which is 1 for the baseline and 2 for the model; 0 and 1.5 are draws. A preference that is missing or out of
range leaves the row unscored. The item is a hash of the instruction, with the part of the benchmark that it comes from. Which
answer the annotator saw first is not in the file. A flattened table has `path`, `instruction_sha`, `len_1` and `len_2` in place
of the texts; each path is a run. Texts are dropped; `length_a` and `length_b` are their characters.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from evalstats.loaders.format import Format, FormatFile, Sign
from evalstats.loaders.record_columns import series, texts
from evalstats.loaders.values import as_text, numbers_of

_SHAPES: Final = ("text", "lines", "array", "parquet")
_HASH_CHARS: Final = 12
# The annotators' parser writes either number for a draw.
_DRAWS: Final = (0.0, 1.5)
_NO_ITEM: Final = "{n} annotations have no instruction, so their item is not known"
_AGAIN: Final = (
    "{n} annotations repeat an instruction, both generators and the annotator of an earlier one; they are all "
    "kept, and are not independent votes"
)


def shares_of_baseline(values: Sequence[object]) -> pl.DataFrame:
    """Return the shares of preference for the baseline, or the reasons why there is none.

    >>> shares_of_baseline([1, 1.25, 0, 3, "x"])["preference"].to_list()
    [1.0, 0.75, 0.5, None, None]
    """
    number, unread = numbers_of(series(values))
    frame = pl.DataFrame({"number": number, "unread": unread, "value_raw": texts(values)})
    return frame.select(
        "value_raw",
        preference=pl.when(pl.col("number").is_in(_DRAWS))
        .then(0.5)
        .when(pl.col("number").is_between(1, 2))
        .then(2 - pl.col("number")),
        status_reason=pl.when("unread")
        .then(pl.lit("the preference is no number"))
        .when(pl.col("number").is_null())
        .then(pl.lit("the annotator's answer could not be read"))
        .when(~pl.col("number").is_between(1, 2) & (pl.col("number") != 0))
        .then(pl.lit("the preference lies outside 1 to 2")),
    )


def item_of(instruction: object, sha: object, dataset: object) -> str | None:
    """Name an instruction: by its part of the benchmark and the SHA-1 of its text, of which a flat table holds the hash."""
    digest = as_text(sha)
    if isinstance(instruction, str) and instruction:
        digest = hashlib.sha1(instruction.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return ".".join(filter(None, (as_text(dataset), digest[:_HASH_CHARS]))) if digest else None


def _arranged(frame: pl.DataFrame, file: FormatFile[Any]) -> pl.DataFrame:
    frame = frame.hstack(shares_of_baseline(frame["_preference"].to_list()))
    asked = frame.select("_instruction", "_sha", "scenario").iter_rows()
    items = pl.Series([item_of(*each) for each in asked], dtype=pl.String)
    frame = frame.with_columns(pl.col("part").fill_null(""), item=items)
    frame = file.named(frame, model_a="generator_1", model_b="generator_2")
    named = frame.filter(pl.col("item").is_not_null())
    file.count(_NO_ITEM, frame.height - named.height)
    file.count(_AGAIN, int(file.copies(named.select("model_a", "model_b", "judge", "item")).sum()))
    return frame.with_columns(
        # A flat table names the file that a row came from.
        part=pl.col("part").str.strip_prefix("results/").str.strip_suffix("/annotations.json"),
        battle=file.trials(frame.select("part")).cast(pl.String),
        outcome=pl.when(pl.col("preference") == 0.5)
        .then(pl.lit("tie"))
        .when(pl.col("preference") > 0.5)
        .then(pl.lit("a"))
        .when(pl.col("preference").is_not_null())
        .then(pl.lit("b")),
    )


FORMAT: Final[Format[Any]] = Format(
    name="alpaca-eval",
    title="AlpacaEval annotations (annotations.json, or flattened)",
    version="2",
    upstream="tatsu-lab/alpaca_eval at cd543a1, results/<model>/<annotator>/annotations.json",
    benchmark="AlpacaEval",
    harness="alpaca_eval",
    signs=(
        Sign("generator_1 generator_2", some="preference annotator", shapes=_SHAPES),
        Sign("instruction output_1 generator_1", 0.8, shapes=_SHAPES),
    ),
    table="comparisons",
    fields={
        "part": "path",
        "model_a": "generator_1",
        "model_b": "generator_2",
        "judge": "annotator",
        "scenario": "dataset",
        "length_a": "output_1.# len_1",
        "length_b": "output_2.# len_2",
        "price_per_example": "price_per_example",
        "time_per_example": "time_per_example",
        "_preference": "preference",
        "_instruction": "instruction",
        "_sha": "instruction_sha",
    },
    arranged=_arranged,
    of_run=("judge",),
    called="annotations",
)
