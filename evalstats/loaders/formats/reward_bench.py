"""RewardBench, first and second: whether a reward model or judge preferred the chosen answer of each prompt, and its averages.

`eval-set-scores/<model>.json` holds lists of a dataset's columns, `<model>_outputs.jsonl` a row a prompt. The item is the id of
the prompt, the task its subset, and `correct` the result: 0 or 1, or a share where answers tie. `eval-set/<model>.json` and
`<model>.json` hold the share of each subset as published numbers. The scores that a reward model gave have no common scale and
are not read.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct

from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sample, Sign, number
from evalstats.loaders.records import hashed
from evalstats.loaders.rows import Row
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


def _results(columns: _Columns, file: FormatFile[_Columns]) -> Iterator[Sample]:
    listed = isinstance(columns.results, list)
    about = {"config": _config(columns.model_type, columns.chat_template)} if columns.model_type else {}
    run = file.run(as_text(columns.model), **about)
    results = as_list(columns.results) if listed else [columns.results]
    subsets, ids, prompts = (
        _column(value, len(results)) for value in (columns.subset or columns.subsets, columns.id, columns.prompt)
    )
    file.records.n_read += len(results) - 1
    for place, (result, subset, identity, prompt) in enumerate(zip(results, subsets, ids, prompts, strict=True)):
        item = as_text(identity) or (hashed(prompt) if prompt is not None else None)
        locator = f"results[{place}]" if listed else file.locator
        if item is None:
            file.records.leave_out("no id and no prompt", locator)
            continue
        shared: Row = {"run": run, "task": as_text(subset) or "", "item": item, "locator": locator}
        shared["trial"] = file.trial(run, shared["task"], item)
        yield shared, [{"metric": "correct", **number(result, 0.0, 1.0)}]


def _column(value: object, n: int) -> list[object]:
    """Return the cells of a column, or the one value of a row."""
    cells = as_list(value) or [value]
    return [*cells, *[None] * n][:n]


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
    rows=_results,
    alone=True,
    ending="_outputs",
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
    alone=True,
    called="summaries",
)
