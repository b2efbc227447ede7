"""RewardBench, first and second: whether a reward model or judge preferred the chosen answer of each prompt.

`eval-set-scores/<model>.json` holds lists of a dataset's columns, `<model>_outputs.jsonl` a row a prompt. The item is the id of
the prompt, the task its subset, and `correct` the result: 0 or 1, or a share where answers tie. The averages of subsets
(`eval-set/<model>.json`) follow from these. The scores that a reward model gave have no common scale and are not read.
"""

from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sign
from evalstats.loaders.format_columns import numbers, texts
from evalstats.loaders.records import hashed
from evalstats.loaders.values import as_list, as_text, json_text

_SUBSETS: Final = ("alpacaeval-easy mt-bench-easy Factuality Focus Safety", "anthropic_harmless mtbench_gpt4 shp")
_AVERAGES: Final = "averages of subsets, which follow from the results of prompts"


class _Columns(Struct):
    """The columns of a dataset, or one row of it."""

    results: Any
    subset: Any = None
    subsets: Any = None
    id: Any = None
    prompt: Any = None
    model: Any = None
    model_type: Any = None
    chat_template: Any = None


def _results(records: list[_Columns], file: FormatFile[_Columns]) -> pl.DataFrame:
    first, places = records[0], file.locators
    if n := len(as_list(first.results)):
        file.n_read += n - 1
        known = (first.results, first.subset or first.subsets, first.id, first.prompt)
        results, subsets, ids, prompts = ([*as_list(column), *[None] * n][:n] for column in known)
        places = pl.select(pl.format("results[{}]", pl.int_range(n))).to_series()
    else:
        rows = ((each.results, each.subset or each.subsets, each.id, each.prompt) for each in records)
        results, subsets, ids, prompts = map(list, zip(*rows, strict=True))
    about = {"model_type": as_text(first.model_type), "chat_template": as_text(first.chat_template)}
    model, config = as_text(first.model), json_text(about) if first.model_type else None
    frame = pl.DataFrame({"item": texts(ids), "task": texts(subsets).fill_null(""), "locator": places})
    frame = frame.with_columns(
        model=pl.lit(model, pl.String), config=pl.lit(config, pl.String), metric=pl.lit("correct")
    ).hstack(numbers(results, 0.0, 1.0))
    if frame["item"].null_count():
        asked = [None if prompt is None else hashed(prompt) for prompt in prompts]
        frame = frame.with_columns(pl.col("item").fill_null(pl.Series(asked, dtype=pl.String)))
    frame = file.without(frame, pl.col("item").is_null(), "no id and no prompt")
    return frame.with_columns(trial=file.trials(frame.select("task", "item"))).drop("config" if config is None else [])


FORMAT: Final = Format(
    name="reward-bench",
    title="RewardBench results of prompts (eval-set-scores, *_outputs.jsonl)",
    version="1",
    upstream="allenai/reward-bench at 05a9005, scripts/run_rm.py, run_v2.py, run_generative.py and rewardbench/rewardbench.py",
    benchmark="RewardBench",
    harness="rewardbench",
    signs=(
        Sign("id model model_type results", 0.95, some="subset chat_template", shapes=OBJECT),
        Sign("results scores_chosen scores_rejected", 0.95, shapes=(*RECORDS, "object")),
        *(
            Sign("chat_template model model_type", 0.85, some=some, without="results", shapes=OBJECT, skip=_AVERAGES)
            for some in _SUBSETS
        ),
        Sign("accuracy num_prompts model ref_model extra_results", 0.95, shapes=OBJECT, skip=_AVERAGES),
    ),
    record=_Columns,
    columns=_results,
    of_run=("config",),
    alone=True,
    ending="_outputs",
    called="results",
    metrics={"correct": {"low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
)
