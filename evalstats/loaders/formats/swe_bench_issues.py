"""SWE-bench's results by issue: maps of ids to a verdict, for one system or several, and the reports of single issues.

Metric `resolved`, one run for each system. An issue without a verdict is unscored, one whose infrastructure failed an error; an
issue that is not in the file is missing. SWE-bench Pro's script writes false also where its own evaluation failed, which its file
cannot tell apart. Reports of single issues in one run's folder (`<run>/<model>/<id>/report.json`) are one run, named by the
folder. The site's leaderboards give published shares, and outcomes where they list them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl
from msgspec import UNSET, Struct

from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.format import HEADLINE, OBJECT, SHARE, Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.format_columns import states
from evalstats.loaders.formats.swe_bench import METRIC, benchmark_of, repo_of, repos_of, system_of, unnamed
from evalstats.loaders.rows import Row, held, scored, unscored
from evalstats.loaders.values import as_amount, as_count, as_number, as_text, day_of, first_line, json_text
from evalstats.schema.data import Problem

_REPORT: Final = "report.json"
_SHARE: Final = "resolved_percent"
# What a task of Multi-SWE-bench's report says: valid is no verdict on the issue, which needs the tests of the dataset.
_VALID: Final = "valid"
_ISSUE: Final = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_ID: Final = r'"(?:(?:instance_)?[\w.-]+__[\w.-]+|[\w.-]+/[\w.-]+:pr-\d+)"\s*:\s*(?:true|false|null)\s*'
_NO_VERDICT: Final = "{n} issues have no verdict (true or false) and are unscored"
_VALID_IS: Final = (
    "a report of Multi-SWE-bench says whether the run of the tests was valid, not whether the issue is resolved, which also "
    "needs the tests of the dataset: metric valid; read final_report.json for the verdict"
)
_UPSTREAM: Final = "SWE-bench/SWE-bench at 7a21e05, swebench/harness/grading.py, and its site's files"


class _Verdict(Struct):
    resolved: Any = UNSET
    infra_failure: Any = None
    infra_failure_reason: Any = None
    patch_exists: Any = None
    patch_successfully_applied: Any = None
    cost: Any = None
    api_calls: Any = None


_Said = _Verdict | Scalar


def _run_folder(path: Path) -> Path:
    """Return what stands for a run: the folder above the issues' folders for their reports, the file for all else."""
    parents = path.absolute().parents
    if plain_name(path) != _REPORT or len(parents) < 2:
        return path
    # <workdir>/<org>/<repo>/evals/pr-<number>/report.json
    pulls = path.parent.name.startswith("pr-") and len(parents) > 4
    return parents[4 if pulls else 1]


def _grouped(files: Sequence[Path]) -> Iterable[Source | Problem]:
    """Make every file a source, and the reports of a run's single issues one."""
    runs: dict[Path, list[Path]] = {}
    for path in files:
        runs.setdefault(_run_folder(path), []).append(path)
    return [Source(path=path, companions=tuple(others)) for path, *others in runs.values()]


def _system(file: FormatFile[Any]) -> tuple[str, str | None]:
    """Return the model of a file of one system, and its run's id, and say where only the file's name tells."""
    model, run_id, named = system_of(file.source.path)
    folder = _run_folder(file.source.path)
    if folder != file.source.path:
        return (as_text(folder.name) or "").replace("__", "/"), as_text(folder.parent.name)
    if not named:
        file.note(unnamed(model))
    return model, run_id


_RIGHT, _WRONG = 1.0, 0.0


def _outcome(said: _Said) -> float | Row:
    """Return what became of an issue, from its verdict or from what stands beside it."""
    found = said if isinstance(said, _Verdict) else _Verdict(resolved=said)
    verdict = None if found.resolved is UNSET else found.resolved
    if found.infra_failure is True:
        reason = first_line(found.infra_failure_reason)
        return unscored(f"an infrastructure failure{f': {reason}' if reason else ''}", held(verdict), error=True)
    if not isinstance(verdict, bool):
        return unscored("no verdict", held(verdict))
    if found.patch_exists is False:
        return scored(float(verdict), value_raw="no patch")
    return _RIGHT if verdict else _WRONG


def _issues(
    named: tuple[str, str], said: Mapping[str, _Said], locators: pl.Series, file: FormatFile[Any], config: Row
) -> pl.DataFrame:
    """Return the outcomes of the issues of one system; `named` are its model and its run."""
    items = [as_text(item) or "" for item in said]
    benchmark = benchmark_of(next(iter(items), ""))
    known = {name: value for name, value in config.items() if value}
    about: Row = {"benchmark": benchmark, "harness": benchmark, "config": json_text(known) if known else None}
    beside = [each if isinstance(each, _Verdict) else None for each in said.values()]
    applied = [each and each.patch_successfully_applied for each in beside]
    outcomes = [_RIGHT if each is True else _WRONG if each is False else _outcome(each) for each in said.values()]
    return states(outcomes).with_columns(
        item=pl.Series(items),
        repo=pl.Series(repos_of(items), dtype=pl.String),
        cost_usd=pl.Series([each and as_amount(each.cost) for each in beside], dtype=pl.Float64),
        api_calls=pl.Series([each and as_count(each.api_calls) for each in beside]),
        patch_applied=pl.Series([value if isinstance(value, bool) else None for value in applied]),
        locator=locators,
        run=pl.lit(file.run(*named, **about)),
        metric=pl.lit(METRIC),
    )


class _Issue(Struct):
    key: str
    value: _Said | list[Any]


def _of_one(records: list[_Issue], file: FormatFile[_Issue]) -> pl.DataFrame:
    model, run_id = _system(file)
    said = {record.key: None if isinstance(record.value, list) else record.value for record in records}
    return _issues((model, model), said, file.locators, file, {"run_id": run_id})


FORMAT: Final = Format(
    name="swe-bench-issues",
    title="SWE-bench and SWE-bench Pro results by issue (eval_results.json, report.json)",
    version="2",
    upstream=f"{_UPSTREAM}; scaleapi/SWE-bench_Pro-os at ca10a60",
    benchmark="SWE-bench",
    harness=None,
    signs=(
        Sign(confidence=0.85, opening=rf'\{{\s*{_ISSUE}\{{[^{{}}\[\]]*"resolved"\s*:', shapes=("object", "lines")),
        Sign(confidence=0.8, opening=rf"\{{\s*{_ID}(?:\}}|,\s*{_ID}[,}}])", shapes=("object", "lines")),
    ),
    record=_Issue,
    columns=_of_one,
    keyed=True,
    called="issues",
    metrics={METRIC: HEADLINE},
    unscored=_NO_VERDICT,
    grouped=_grouped,
    expected="Ids with true or false, or with resolved, were expected",
)


class _System(Struct):
    key: str
    value: dict[str, _Said] | Scalar


def _of_several(records: list[_System], file: FormatFile[_System]) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for record in records:
        if isinstance(record.value, dict) and record.value:
            places = pl.Series([f"{record.key}.{item}" for item in record.value])
            frames.append(_issues((record.key, record.key), record.value, places, file, {}))
        else:
            file.leave_out("no issues", record.key)
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


SYSTEMS: Final = Format(
    name="swe-bench-systems",
    title="SWE-bench results by system and issue (info_for_leaderboard.json)",
    version="2",
    upstream=_UPSTREAM,
    benchmark="SWE-bench",
    harness=None,
    signs=(
        Sign(
            confidence=0.85,
            opening=rf'\{{\s*{_ISSUE}\{{\s*{_ISSUE}\{{[^{{}}\[\]]*"resolved"\s*:',
            shapes=("object", "lines"),
        ),
    ),
    record=_System,
    columns=_of_several,
    keyed=True,
    called="systems",
    metrics={METRIC: HEADLINE},
    unscored=_NO_VERDICT,
)


class _Entry(Struct):
    name: Any = None
    folder: Any = None
    resolved: Any = None
    date: Any = None
    per_instance_details: dict[str, _Said] | Scalar = None


class _Board(Struct):
    name: Any = None
    results: list[_Entry | Scalar] | Scalar = None


def _boards(records: list[_Board], file: FormatFile[_Board]) -> pl.DataFrame:
    frames: list[pl.DataFrame] = []
    for record, place in zip(records, file.locators, strict=True):
        task = as_text(record.name) or ""
        for at, entry in enumerate(record.results if isinstance(record.results, list) else ()):
            if not isinstance(entry, _Entry) or not (model := as_text(entry.name)):
                file.count("{n} entries of leaderboards name no system and are dropped")
                continue
            part = f"{task}.{as_text(entry.folder) or model}"
            if not isinstance(entry.resolved, bool) and as_number(entry.resolved) is not None:
                run = file.run(model, part, harness="SWE-bench", config=json_text({"split": task}))
                file.publish(entry.resolved, run, _SHARE, task=task, unit="percent", date=day_of(entry.date))
            if isinstance(said := entry.per_instance_details, dict) and said:
                places = pl.Series([f"{place}.results[{at}].per_instance_details.{item}" for item in said])
                frames.append(_issues((model, part), said, places, file, {"split": task}))
    return pl.concat(frames, how="diagonal") if frames else pl.DataFrame()


BOARD: Final = Format(
    name="swe-bench-board",
    title="SWE-bench's leaderboards (leaderboards.json)",
    version="2",
    upstream=_UPSTREAM,
    benchmark="SWE-bench",
    harness=None,
    signs=(Sign("leaderboards", text=('"resolved"',), shapes=OBJECT),),
    record=_Board,
    columns=_boards,
    lists=("leaderboards",),
    called="leaderboards",
    metrics={METRIC: HEADLINE},
    unscored=_NO_VERDICT,
    expected="Entries with resolved were expected",
)


class _Pull(Struct):
    org: Any = None
    repo: Any = None
    number: Any = None
    valid: Any = None
    error_msg: Any = None


def _pull(record: _Pull, file: FormatFile[_Pull]) -> Iterator[Sample]:
    org, repo, number = (as_text(value) for value in (record.org, record.repo, record.number))
    if not (org and repo and number):
        file.leave_out("no org, repo and number")
        return
    file.note(_VALID_IS)
    item, valid = f"{org}/{repo}:pr-{number}", record.valid
    outcome = scored(float(valid)) if isinstance(valid, bool) else unscored("no verdict", held(valid))
    shared: Row = {
        "run": file.run(_system(file)[0]),
        "item": item,
        "repo": repo_of(item),
        "failure_reason": first_line(record.error_msg) or None,
        "locator": file.locator or None,
    }
    yield shared, [(_VALID, outcome)]


PULLS: Final = Format(
    name="multi-swe-bench-issues",
    title="Multi-SWE-bench reports of single issues (report.json)",
    version="2",
    upstream="multi-swe-bench/multi-swe-bench, multi_swe_bench/harness/report.py: Report",
    benchmark="Multi-SWE-bench",
    harness="Multi-SWE-bench",
    signs=(Sign("org repo number valid error_msg", shapes=("object", "lines")),),
    record=_Pull,
    rows=_pull,
    alone=True,
    called="reports",
    metrics={_VALID: SHARE},
    unscored=_NO_VERDICT,
    grouped=_grouped,
)
