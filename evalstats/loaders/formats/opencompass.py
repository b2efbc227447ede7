"""OpenCompass: results of a model on a dataset (`results/<model>/<dataset>.json`) and the summary of a run (`summary_*.csv`).

Where the evaluator keeps details, each is an item (its `example_abbr`, else its place), and the verdicts of several runs of it
are trials. What the file or the summary reports is published. The results of a model are one run, a dataset is a task.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.loaders.base import Source
from evalstats.loaders.format import HEADLINE, OBJECT, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.record_columns import verdicts
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text, first_line

_VERDICTS: Final = ("correct", "is_correct", "cascade_correct")
# Counts and lengths that upstream's own summary leaves out.
_NO_METRICS: Final = frozenset({"bp", "sys_len", "ref_len", "type"})
_SUMMARY: Final = frozenset({"dataset", "version", "metric", "mode"})
# How the folder of a model is called whose answers another model judged, before that one's name.
_JUDGED: Final = "_judged-by--"
_WITHOUT: Final = "{n} details hold no verdict and give no outcome"
_FAILED: Final = "{n} results are an error in place of scores ({first})"

File = FormatFile[dict[str, Any]]


def _columns(records: list[dict[str, Any]], file: File) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for record, locator in zip(records, file.locators, strict=True):
        if record.keys() >= _SUMMARY:
            _row_of_summary(record, file)
        else:
            frames.append(_details(record, locator, file))
    return pl.concat(frames) if frames else pl.DataFrame()


def _details(record: Row, locator: str, file: File) -> pl.DataFrame:
    """Publish what the results of a dataset report, and return their details."""
    dataset = file.path.name.partition(".json")[0]
    model, _, judge = file.path.absolute().parent.name.partition(_JUDGED)
    run = file.run(model, judge=judge or None)
    if "error" in record:
        file.count(_FAILED.replace("{first}", first_line(record["error"]).replace("{", "(").replace("}", ")")))
    for metric, value in record.items():
        if metric not in _NO_METRICS and isinstance(value, int | float) and not isinstance(value, bool):
            file.publish(value, run, metric, task=dataset)
    listed = record.get("details")
    details = as_dict(listed) or dict(enumerate(as_list(listed)))
    rows: list[tuple[str, int, str]] = []
    found: list[object] = []
    for place, detail in details.items():
        known = as_dict(detail)
        said = next((known[name] for name in _VERDICTS if known.get(name) is not None), None)
        if said is not None:
            tries = as_list(said) or [said]
            item, where = as_text(known.get("example_abbr")) or str(place), f"{locator} details[{place}]".strip()
            rows += [(item, trial, where) for trial in range(len(tries))]
            found += tries
        elif known or isinstance(listed, list):
            file.count(_WITHOUT)
    frame = pl.DataFrame(rows, {"item": pl.String, "trial": pl.Int64, "locator": pl.String}, orient="row")
    return frame.with_columns(run=pl.lit(run), task=pl.lit(dataset), metric=pl.lit("correct")).hstack(verdicts(found))


def _row_of_summary(record: Row, file: File) -> None:
    task, metric = as_text(record.get("dataset")), as_text(record.get("metric"))
    if not task or metric in {None, "", "-"}:
        file.count("{n} rows of the summary have no score")
        return
    for model, value in record.items():
        if model not in _SUMMARY and model:
            file.publish(value, file.run(model), str(metric), task=task)


def _grouped(files: Sequence[Path]) -> Iterator[Source]:
    """Put the results of a model together; a summary stands alone."""
    models: dict[Path, list[Path]] = {}
    for path in sorted(files):
        models.setdefault(path if path.name.endswith(".csv") else path.parent, []).append(path)
    for first, *others in models.values():
        yield Source(path=first, companions=(*others,))


_RESULTS: Final = r"/results/[^/]+/[^/]+\.json$"
FORMAT: Final = Format(
    name="opencompass",
    title="OpenCompass results (results/<model>/<dataset>.json) and summaries (summary_*.csv)",
    version="1",
    upstream="open-compass/opencompass at a5acc4b, opencompass/tasks/openicl_eval.py, summarizers/default.py",
    benchmark="OpenCompass",
    harness="OpenCompass",
    signs=(
        Sign("dataset version metric mode", shapes=("text",)),
        Sign("details", text=('"example_abbr"',), shapes=OBJECT),
        Sign("details", 0.8, path=_RESULTS, shapes=OBJECT),
        Sign(confidence=0.7, path=r"/\d{8}_\d{6}" + _RESULTS, shapes=OBJECT),
        Sign(
            text=('"origin_prompt"', '"prediction"'),
            path=r"/predictions/[^/]+/[^/]+\.json$",
            shapes=OBJECT,
            skip="predictions, whose verdicts stand in results/",
        ),
        Sign(
            text=("tabulate format", "THIS IS A DIVIDER"),
            shapes=("text",),
            skip="the same numbers as the CSV file beside it",
        ),
    ),
    record=dict[str, Any],
    columns=_columns,
    at=(".",),
    called="results",
    metrics={"correct": HEADLINE},
    counts={"{n} verdicts are neither true nor false; they are unscored": UNSCORED},
    grouped=_grouped,
    texts={"question": "origin_prompt prompt", "expected": "references gold"},
)
