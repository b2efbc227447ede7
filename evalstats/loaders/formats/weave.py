"""W&B Weave: evaluations as the API answers, grouped by row (`eval_results/query`) or as calls (`predict_and_score`).

A row of the dataset is an item by its digest, the same in all evaluations; numbers and verdicts that a scorer returns, however
deep, are metrics `scorer/key`. A call that raised, or whose model did, is an error in all metrics. Texts of scorers are reasons.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from evalstats.loaders.format import OBJECT, RECORDS, Format, FormatFile, Sample, Sign
from evalstats.loaders.format_columns import Late, number, verdict
from evalstats.loaders.records import item_of
from evalstats.loaders.rows import Row, Said, unscored
from evalstats.loaders.values import as_dict, as_text, dicts, first_line, get

# weave:///entity/project/object/name:digest, and what a row of a dataset adds to it.
_REFERENCE: Final = re.compile(r"weave://.*?/object/(?P<name>[^:/]+):(?P<digest>[^/]+)(?:/.*)?")
_OPERATION: Final = re.compile(r"(?:.*/op/)?Evaluation\.predict_and_score(?::.*)?")
_DEEPEST: Final = 4
_TEXTS: Final = "{n} values of scorers are texts or lists and no scores"
_OTHER_CALLS: Final = "{n} calls are not predict_and_score and are skipped"


class _Evaluation:
    """One answer while it is read; what failed waits until all metrics are known."""

    def __init__(self, file: FormatFile[dict[str, Any]]) -> None:
        self._file, self._late = file, Late()

    def rows(self, record: dict[str, Any]) -> Iterator[Sample]:
        """Return the trials of a row, or of one call."""
        return self._call(record) if "op_name" in record else self._row(record)

    def finish(self) -> Iterator[Sample]:
        """Name the models and evaluations that the summary names."""
        for evaluation in dicts(get(self._file.members.get("summary"), "evaluations")):
            model, name = _name(evaluation.get("model_ref")), as_text(evaluation.get("display_name"))
            for run in self._file.runs.values():
                if run["model"] == evaluation.get("evaluation_call_id"):
                    run.update(model=model or name or run["model"], system=name or model or run["model"])
        return self._late.samples("score")

    def _row(self, record: Row) -> Iterator[Sample]:
        file, item = self._file, as_text(record.get("row_digest"))
        if not item:
            file.leave_out("no row_digest")
            return
        for evaluation in dicts(record.get("evaluations")):
            run = file.run(as_text(evaluation.get("evaluation_call_id")) or file.source.called)
            for trial in dicts(evaluation.get("trials")):
                common: Row = {
                    "run": run,
                    "item": item,
                    "trial": file.trial(run, item),
                    "latency_s": trial.get("model_latency_seconds"),
                    "cost_usd": trial.get("total_cost"),
                    "locator": file.locator,
                }
                failed = "the model's call failed" if trial.get("model_output") is None else None
                yield from self._scores(common, trial.get("scores"), failed)

    def _call(self, record: Row) -> Iterator[Sample]:
        file, given = self._file, as_dict(record.get("inputs"))
        if not _OPERATION.fullmatch(as_text(record.get("op_name")) or ""):
            file.count(_OTHER_CALLS)
            return
        example = given.get("example")
        item = example.rpartition("/")[2] if isinstance(example, str) else item_of(example)
        if not item:
            file.leave_out("no example")
            return
        output, project = as_dict(record.get("output")), as_text(record.get("project_id"))
        run = file.run(_name(given.get("model")), as_text(record.get("trace_id")) or "")
        call = as_text(record.get("id"))
        common: Row = {
            "run": run,
            "item": item,
            "trial": file.trial(run, item),
            "latency_s": output.get("model_latency"),
            "timestamp": record.get("started_at"),
            "link": f"https://wandb.ai/{project}/r/call/{call}" if project and call else None,
            "locator": file.locator,
        }
        raised = first_line(record.get("exception"))
        answer = output.get("output", output.get("model_output"))
        yield from self._scores(
            common, output.get("scores"), raised or ("the model's call failed" if answer is None else None)
        )

    def _scores(self, common: Row, scores: object, failed: str | None) -> Iterator[Sample]:
        outcomes = dict(self._leaves("", scores))
        for metric in outcomes:
            self._late.know(metric)
        if outcomes:
            yield common, [*outcomes.items()]
        elif failed:
            self._late.wait(common, unscored(failed, error=True))
        else:
            self._late.wait(common, unscored("the scorers gave no value"))

    def _leaves(self, name: str, value: object, deep: int = 0) -> Iterator[tuple[str, Said]]:
        if isinstance(value, dict) and deep < _DEEPEST:
            for key, part in as_dict(cast("object", value)).items():
                yield from self._leaves(f"{name}/{key}" if name else key, part, deep + 1)
        elif isinstance(value, bool):
            yield name, verdict(value)
        elif value is None and name:
            yield name, unscored("the scorer gave no value")
        elif isinstance(value, int | float):
            yield name, number(value)
        elif name and not name.rpartition("/")[2].startswith("_"):
            self._file.count(_TEXTS)


def _name(reference: object) -> str | None:
    """Return the name of an object and a few characters of its version: "MyModel:a1b2c3"."""
    text = as_text(reference) or as_text(get(reference, "name"))
    found = _REFERENCE.fullmatch(text or "")
    return f"{found['name']}:{found['digest'][:6]}" if found else text


FORMAT: Final = Format(
    name="weave",
    title="W&B Weave evaluations (answers of eval_results/query, calls)",
    version="1",
    upstream="wandb/weave at 017ff8b, weave/evaluation/eval.py; weave 0.54.0, v2_eval_result_query_response.py",
    benchmark="Weave",
    harness="Weave",
    signs=(
        Sign("rows total_rows", text=('"row_digest"', '"evaluations"'), shapes=OBJECT),
        Sign("op_name trace_id inputs", text=("Evaluation.predict_and_score",), shapes=RECORDS),
    ),
    record=dict[str, Any],
    reader=_Evaluation,
    lists=("rows",),
    keep=("summary",),
    called="rows",
    failed="{n} scores are of calls that failed; they are errors",
    unscored="{n} scores are missing; they are unscored",
    texts={"question": "inputs.example inputs", "answer": "output.output output.model_output output"},
)
