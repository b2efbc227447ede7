"""RewardBench, first and second: whether a reward model or judge preferred the chosen answer of each prompt, and its averages.

`eval-set-scores/<model>.json` holds lists of a dataset's columns, `<model>_outputs.jsonl` a row a prompt. The item is the id of
the prompt, the task its subset, and `correct` the result: 0 or 1, or a share where answers tie. `eval-set/<model>.json` and
`<model>.json` hold the share of each subset as published numbers. The scores that a reward model gave have no common scale and
are not read.
"""

from collections.abc import Iterable
from typing import Any, Final

import polars as pl
from msgspec import Struct

from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.record_columns import numbers, texts
from evalstats.loaders.rows import hashed
from evalstats.loaders.values import as_count, as_dict, as_list, as_text, json_text

_UPSTREAM: Final = (
    "allenai/reward-bench at 05a9005, scripts/run_rm.py, run_v2.py, run_generative.py and rewardbench/rewardbench.py"
)
_NO_SUBSETS: Final = frozenset({"accuracy", "num_prompts"})


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
    model, config = as_text(first.model), _config(first.model_type, first.chat_template) if first.model_type else None
    frame = pl.DataFrame({"item": texts(ids), "task": texts(subsets).fill_null(""), "locator": places})
    frame = frame.with_columns(
        model=pl.lit(model, pl.String), config=pl.lit(config, pl.String), metric=pl.lit("correct")
    ).hstack(numbers(results, 0.0, 1.0))
    if model is None:  # only the name of the file says it
        model = file.source.called.removesuffix("_outputs")
        file.unnamed(model)
        frame = frame.with_columns(model=pl.lit(model), part=pl.lit(""))
    if frame["item"].null_count():
        asked = [None if prompt is None else hashed(prompt) for prompt in prompts]
        frame = frame.with_columns(pl.col("item").fill_null(pl.Series(asked, dtype=pl.String)))
    frame = file.without(frame, pl.col("item").is_null(), "no id and no prompt")
    return frame.with_columns(trial=file.trials(frame.select("task", "item"))).drop("config" if config is None else [])


def _config(model_type: object, chat_template: object) -> str:
    return json_text({"model_type": as_text(model_type), "chat_template": as_text(chat_template)})


def _summary(summary: dict[str, Any], file: FormatFile[dict[str, Any]]) -> Iterable[Sample]:
    config = _config(summary.get("model_type"), summary.get("chat_template"))
    run = file.run(as_text(summary.get("model")), config=config)
    file.publish(summary.get("accuracy"), run, "correct", n=as_count(summary.get("num_prompts")), unit="proportion")
    shares = {**summary, **as_dict(summary.get("extra_results"))}
    for subset, share in shares.items():
        if subset not in _NO_SUBSETS and isinstance(share, int | float) and not isinstance(share, bool):
            file.publish(share, run, "correct", task=as_text(subset) or "", unit="proportion")
    return ()


FORMAT: Final = Format(
    name="reward-bench",
    title="RewardBench results of prompts (eval-set-scores, *_outputs.jsonl)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="RewardBench",
    harness="rewardbench",
    signs=(
        Sign("id model model_type results", 0.95, some="subset chat_template", shapes=OBJECT),
        Sign("results scores_chosen scores_rejected", 0.95, shapes=(*RECORDS, "object")),
    ),
    record=_Columns,
    columns=_results,
    of_run=("config",),
    at=(".",),
    called="results",
    metrics={"correct": {"low": 0.0, "high": 1.0, "unit": "proportion", "primary": True}},
)

SUMMARY: Final = Format(
    name="reward-bench-summary",
    title="RewardBench averages of subsets (eval-set)",
    version="1",
    upstream=_UPSTREAM,
    benchmark="RewardBench",
    harness="rewardbench",
    signs=(
        Sign(
            "chat_template model model_type",
            0.9,
            some="alpacaeval-easy mt-bench-easy Factuality Focus Safety",
            without="results",
            shapes=OBJECT,
        ),
        Sign(
            "chat_template model model_type",
            0.85,
            some="anthropic_harmless anthropic_helpful mtbench_gpt4 shp",
            without="results",
            shapes=OBJECT,
        ),
        Sign("accuracy num_prompts model ref_model extra_results", 0.95, shapes=OBJECT),
    ),
    record=dict[str, Any],
    rows=_summary,
    at=(".",),
    called="summaries",
)
