"""SWE-bench's results by issue: maps of ids to a verdict, for one system or several, and the reports of single issues.

An issue without a verdict is unscored, one whose infrastructure failed an error. SWE-bench Pro's script also writes false where
its own evaluation failed. Reports of single issues in one run's folder (`<run>/<model>/<id>/report.json`) are one run.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import UNSET, Struct

from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.format import HEADLINE, OBJECT, UNSCORED, Format, FormatFile, Sign
from evalstats.loaders.formats.swe_bench import METRIC, REPO, benchmark_of, system_of, unnamed
from evalstats.loaders.rows import Row
from evalstats.loaders.typed_records import Plain
from evalstats.loaders.values import as_number, as_text, day_of

_VALID: Final = "a pull request's report, which says whether its tests ran and not whether it is resolved"
_ISSUE: Final = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_ID: Final = r'"(?:(?:instance_)?[\w.-]+__[\w.-]+|[\w.-]+/[\w.-]+:pr-\d+)"\s*:\s*(?:true|false|null)\s*'
_UPSTREAM: Final = "SWE-bench/SWE-bench at 7a21e05, swebench/harness/grading.py, and its site's files"


class _Verdict(Struct):
    resolved: Any = UNSET
    infra_failure: Any = None
    infra_failure_reason: Any = None
    patch_successfully_applied: Any = None
    cost: Any = None
    api_calls: Any = None


_Said = _Verdict | Plain


class _Issue(Struct):
    key: str
    value: _Said | list[Any]
    model: str = ""
    part: str = ""


def _run_folder(path: Path) -> Path:
    """Return what stands for a run: the folder above the issues' folders for their reports, the file for all else."""
    parents = path.absolute().parents
    return path if plain_name(path) != "report.json" or len(parents) < 2 else parents[1]


def _grouped(files: Sequence[Path]) -> Iterable[Source]:
    runs: dict[Path, list[Path]] = {}
    for path in files:
        runs.setdefault(_run_folder(path), []).append(path)
    return [Source(path=path, companions=tuple(others)) for path, *others in runs.values()]


def _about(file: FormatFile[Any]) -> Row:
    model, run_id, named = system_of(file.source.path)
    folder = _run_folder(file.source.path)
    if folder != file.source.path:
        model, run_id = (as_text(folder.name) or "").replace("__", "/"), as_text(folder.parent.name)
    elif not named:
        file.note(unnamed(model))
    return {"model": model, "parts": (model,), "config": {"run_id": run_id}}


def _arranged(frame: pl.DataFrame, _: FormatFile[Any]) -> pl.DataFrame:
    reason = pl.concat_str(pl.lit("an infrastructure failure"), "_reason", separator=": ", ignore_nulls=True)
    benchmark = pl.lit(benchmark_of(next(iter(frame["item"]), "")))
    return frame.with_columns(
        repo=REPO,
        error=pl.when(pl.col("_infra") == "true").then(reason),
        benchmark=benchmark,
        harness=benchmark,
    )


def _inside(system: dict[str, str], issues: Mapping[str, _Said]) -> list[_Issue]:
    return [_Issue(item, said, **system) for item, said in issues.items()]


FORMAT: Final[Format[Any]] = Format(
    name="swe-bench-issues",
    title="SWE-bench and SWE-bench Pro results by issue (eval_results.json, report.json)",
    version="2",
    upstream=f"{_UPSTREAM}; scaleapi/SWE-bench_Pro-os at ca10a60",
    benchmark="SWE-bench",
    harness=None,
    signs=(
        Sign(confidence=0.85, opening=rf'\{{\s*{_ISSUE}\{{[^{{}}\[\]]*"resolved"\s*:', shapes=("object", "lines")),
        Sign(confidence=0.8, opening=rf"\{{\s*{_ID}(?:\}}|,\s*{_ID}[,}}])", shapes=("object", "lines")),
        # Of Multi-SWE-bench: whether an issue is resolved takes the tests of the dataset, too.
        Sign("org repo number valid error_msg", shapes=("object", "lines"), skip=_VALID),
    ),
    record=_Issue,
    fields={
        "item": "key",
        "cost_usd": "value.cost",
        "api_calls": "value.api_calls",
        "patch_applied": "value.patch_successfully_applied",
        "_infra": "value.infra_failure",
        "_reason": "value.infra_failure_reason",
    },
    scores={METRIC: "value.resolved value"},
    about=_about,
    arranged=_arranged,
    of_run=("benchmark", "harness"),
    at=("*",),
    called="issues",
    metrics={METRIC: HEADLINE},
    counts={"{n} issues have no verdict (true or false) and are unscored": UNSCORED},
    grouped=_grouped,
    expected="Ids with true or false, or with resolved, were expected",
)


class _System(Struct):
    key: str
    value: dict[str, _Said] | Plain


def _of_several(records: list[_System], file: FormatFile[Any]) -> tuple[list[_Issue], list[str]]:
    found: list[_Issue] = []
    for record in records:
        if isinstance(record.value, dict) and record.value:
            found += _inside({"model": record.key, "part": record.key}, record.value)
        else:
            file.leave_out("no issues", record.key)
    return found, [f"{issue.model}.{issue.key}" for issue in found]


SYSTEMS: Final[Format[Any]] = replace(
    FORMAT,
    name="swe-bench-systems",
    title="SWE-bench results by system and issue (info_for_leaderboard.json)",
    upstream=_UPSTREAM,
    signs=(
        Sign(
            "", 0.85, opening=rf'\{{\s*{_ISSUE}\{{\s*{_ISSUE}\{{[^{{}}\[\]]*"resolved"\s*:', shapes=("object", "lines")
        ),
    ),
    record=_System,
    fields={**FORMAT.fields, "model": "model", "part": "part"},
    inner=_of_several,
    about=None,
    called="systems",
    grouped=None,
    expected="",
)


class _Entry(Struct):
    name: Any = None
    folder: Any = None
    resolved: Any = None
    date: Any = None
    per_instance_details: dict[str, _Said] | Plain = None


class _Board(Struct):
    name: Any = None
    results: list[_Entry | Plain] | Plain = None


def _boards(records: list[_Board], file: FormatFile[Any]) -> tuple[list[_Issue], list[str]]:
    found: list[_Issue] = []
    places: list[str] = []
    for record, place in zip(records, file.locators, strict=True):
        task = as_text(record.name) or ""
        for at, entry in enumerate(record.results if isinstance(record.results, list) else ()):
            if not isinstance(entry, _Entry) or not (model := as_text(entry.name)):
                file.count("{n} entries of leaderboards name no system and are dropped")
                continue
            part = f"{task}.{as_text(entry.folder) or model}"
            if not isinstance(entry.resolved, bool) and as_number(entry.resolved) is not None:
                run = file.run(model, part, harness="SWE-bench", config={"split": task})
                known: dict[str, Any] = {"task": task, "unit": "percent", "date": day_of(entry.date)}
                file.publish(entry.resolved, run, "resolved_percent", **known)
            if isinstance(said := entry.per_instance_details, dict):
                found += _inside({"model": model, "part": part}, said)
                places += [f"{place}.results[{at}].per_instance_details.{item}" for item in said]
    return found, places


BOARD: Final[Format[Any]] = replace(
    SYSTEMS,
    name="swe-bench-board",
    title="SWE-bench's leaderboards (leaderboards.json)",
    signs=(Sign("leaderboards", text=('"resolved"',), shapes=OBJECT),),
    record=_Board,
    inner=_boards,
    at=("leaderboards",),
    called="leaderboards",
    expected="Entries with resolved were expected",
)
