"""SWE-bench's results by issue: maps of ids to a verdict, for one system or several, and the reports of single issues.

Metric `resolved`, one run for each system. An issue without a verdict is unscored, one whose infrastructure failed an error; an
issue that is not in the file is missing. SWE-bench Pro's script writes false also where its own evaluation failed, which its file
cannot tell apart. Reports of single issues in one run's folder (`<run>/<model>/<id>/report.json`) are one run, named by the
folder. The site's leaderboards give published shares, and outcomes where they list them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from msgspec import UNSET, Struct

from evalstats.loaders.base import Source, plain_name
from evalstats.loaders.format import HEADLINE, OBJECT, SHARE, Format, FormatFile, Sample, Scalar, Sign
from evalstats.loaders.formats.swe_bench import METRIC, benchmark_of, repo_of, system_of, unnamed
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


def _issue(named: tuple[str, str], item: str, said: _Said, file: FormatFile[Any], config: Row) -> Iterator[Sample]:
    """Return the outcome of an issue, from its verdict or from what stands beside it; `named` are its model and its run."""
    benchmark, found = benchmark_of(item), said if isinstance(said, _Verdict) else _Verdict(resolved=said)
    known = {name: value for name, value in config.items() if value}
    about: Row = {"benchmark": benchmark, "harness": benchmark, "config": json_text(known) if known else None}
    run = file.run(*named, **about)
    verdict = None if found.resolved is UNSET else found.resolved
    if found.infra_failure is True:
        reason = first_line(found.infra_failure_reason)
        outcome = unscored(f"an infrastructure failure{f': {reason}' if reason else ''}", held(verdict), error=True)
    elif isinstance(verdict, bool):
        outcome = scored(float(verdict), value_raw="no patch" if found.patch_exists is False else None)
    else:
        outcome = unscored("no verdict", held(verdict))
    applied = found.patch_successfully_applied
    shared: Row = {
        "run": run,
        "item": item,
        "repo": repo_of(item),
        "cost_usd": as_amount(found.cost),
        "api_calls": as_count(found.api_calls),
        "patch_applied": applied if isinstance(applied, bool) else None,
        "locator": file.locator,
    }
    yield shared, [{"metric": METRIC, **outcome}]


class _Issue(Struct):
    key: str
    value: _Said | list[Any]


def _of_one(record: _Issue, file: FormatFile[_Issue]) -> Iterator[Sample]:
    model, run_id = _system(file)
    said = None if isinstance(record.value, list) else record.value
    yield from _issue((model, model), as_text(record.key) or "", said, file, {"run_id": run_id})


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
    rows=_of_one,
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


def _of_several(record: _System, file: FormatFile[_System]) -> Iterator[Sample]:
    if not isinstance(record.value, dict):
        file.leave_out("no issues")
        return
    for item, said in record.value.items():
        yield from _issue((record.key, record.key), as_text(item) or "", said, file, {})


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
    rows=_of_several,
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


def _board(record: _Board, file: FormatFile[_Board]) -> Iterator[Sample]:
    task = as_text(record.name) or ""
    for entry in record.results if isinstance(record.results, list) else ():
        if not isinstance(entry, _Entry) or not (model := as_text(entry.name)):
            file.count("{n} entries of leaderboards name no system and are left out")
            continue
        part = f"{task}.{as_text(entry.folder) or model}"
        if not isinstance(entry.resolved, bool) and as_number(entry.resolved) is not None:
            run = file.run(model, part, harness="SWE-bench", config=json_text({"split": task}))
            date = day_of(entry.date)
            file.publish(entry.resolved, run, _SHARE, task=task, unit="percent", date=date)
        issues: Mapping[str, _Said] = entry.per_instance_details if isinstance(entry.per_instance_details, dict) else {}
        for item, said in issues.items():
            yield from _issue((model, part), as_text(item) or "", said, file, {"split": task})


BOARD: Final = Format(
    name="swe-bench-board",
    title="SWE-bench's leaderboards (leaderboards.json)",
    version="2",
    upstream=_UPSTREAM,
    benchmark="SWE-bench",
    harness=None,
    signs=(Sign("leaderboards", text=('"resolved"',), shapes=OBJECT),),
    record=_Board,
    rows=_board,
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
    yield shared, [{"metric": _VALID, **outcome}]


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
