"""SWE-bench's results by issue: maps of ids to a verdict, for one system or several, and the reports of single issues.

Formats: `eval_results.json` of scaleapi/SWE-bench_Pro-os at ca10a60 (`{id: bool}`); `per_instance_details.json` and
`info_for_leaderboard.json` of SWE-bench's site (`{id: {resolved, cost, api_calls}}`, the latter by model), and its
`leaderboards.json`; `report.json` of an issue, of SWE-bench (`swebench/harness/grading.py`) and of Multi-SWE-bench
(`multi_swe_bench/harness/report.py: Report`).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Frame, Head, Match, Rows, Source, in_batches, in_frames, plain_name
from evalstats.loaders.files import JsonItem, iter_json
from evalstats.loaders.rows import Row, held, metric_row, scored, told, unscored
from evalstats.loaders.swe_bench import METRIC, benchmark_of, repo_of, system_of, unnamed
from evalstats.loaders.values import (
    as_amount,
    as_count,
    as_dict,
    as_number,
    as_text,
    day_of,
    dicts,
    first_line,
    json_text,
)
from evalstats.schema.data import Problem

_REPORT: Final = "report.json"
_BOARDS: Final = "leaderboards"
_SHARE: Final = "resolved_percent"
# What a task of Multi-SWE-bench's report says: valid is no verdict on the issue, which needs the tests of the dataset.
_VALID: Final = "valid"
_MULTI: Final = frozenset({"org", "repo", "number", _VALID, "error_msg"})
_ISSUE: Final = r'"(?:[^"\\]|\\.)*"\s*:\s*'
_FLAT = re.compile(r"\{\s*" + _ISSUE + r'\{[^{}\[\]]*"resolved"\s*:')
_NESTED = re.compile(r"\{\s*" + _ISSUE + r"\{\s*" + _ISSUE + r'\{[^{}\[\]]*"resolved"\s*:')
_ID = re.compile(r"(?:instance_)?[\w.-]+__[\w.-]+|[\w.-]+/[\w.-]+:pr-\d+")
_NO_VERDICT: Final = "{n} issues have no verdict (true or false) and are unscored"
_VALID_IS: Final = (
    "a report of Multi-SWE-bench says whether the run of the tests was valid, not whether the issue is resolved, which also "
    "needs the tests of the dataset: metric valid; read final_report.json for the verdict"
)


class SWEBenchIssuesLoader:
    """Loader of verdicts by issue: metric `resolved`, one run for each system.

    An issue without a verdict is unscored, one whose infrastructure failed an error; an issue that is not in the file is
    missing. SWE-bench Pro's script writes false also where its own evaluation failed, which its file cannot tell apart.
    Reports of single issues in one run's folder (`<run>/<model>/<id>/report.json`) are one run, named by the folder.
    """

    name = "swe-bench-issues"
    title = "SWE-bench, SWE-bench Pro and Multi-SWE-bench results by issue"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise ids with verdicts, or the report of an issue."""
        if head.shape != "object":
            return None
        if head.keys >= _MULTI:
            return Match(confidence=0.9, reason="org, repo, number, valid and error_msg")
        if _BOARDS in head.keys and '"resolved"' in head.text:
            return Match(confidence=0.9, reason="leaderboards with resolved")
        start = head.text.lstrip()
        if _FLAT.match(start) or _NESTED.match(start):
            return Match(confidence=0.85, reason="ids with resolved")
        values = head.members
        if (
            values
            and all(isinstance(verdict, bool | None) for verdict in values.values())
            and all(map(_ID.match, values))
        ):
            return Match(confidence=0.8, reason="ids of issues with true or false")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every file a source, and the reports of a run's single issues one."""
        runs: dict[Path, list[Path]] = {}
        for path in files:
            runs.setdefault(_run_folder(path), []).append(path)
        for paths in runs.values():
            yield Source(path=paths[0], companions=tuple(paths[1:]))

    def read(self, source: Source) -> Iterator[Rows | Frame | Problem]:
        """Yield outcomes, published shares, metrics, runs, and notes."""
        file = _Reading(source)
        yield from in_frames(file.outcomes(), "outcomes", {})
        if not file.runs:
            raise UnreadableFileError(
                f"{source.path}: holds no issue with a verdict; ids with true or false, or with resolved, were expected"
            )
        yield from in_batches(file.published, "aggregates")
        yield Rows(table="metrics", rows=list(file.metrics.values()))
        yield Rows(table="runs", rows=list(file.runs.values()))
        yield from file.problems()


def _run_folder(path: Path) -> Path:
    """Return what stands for a run: the folder above the issues' folders for their reports, the file for all else."""
    parents = path.absolute().parents
    if plain_name(path) != _REPORT or len(parents) < 2:
        return path
    # <workdir>/<org>/<repo>/evals/pr-<number>/report.json
    pulls = path.parent.name.startswith("pr-") and len(parents) > 4
    return parents[4 if pulls else 1]


class _Reading:
    """One source being read: its runs and metrics, and what is worth telling."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.runs: dict[str, Row] = {}
        self.metrics: dict[tuple[str, str], Row] = {}
        self.published: list[Row] = []
        self._counts: Counter[str] = Counter()
        self._notes: dict[str, None] = {}
        self._faults: list[tuple[Path, str]] = []
        self._seen: set[tuple[str, str]] = set()
        self._names: dict[str, str] = {}

    def outcomes(self) -> Iterator[Row]:
        """Yield the outcomes of all files of the source; a report that cannot be read is left out and named."""
        for path in (self.source.path, *self.source.companions):
            try:
                yield from self._file(path)
            except UnreadableFileError as error:
                if not self.source.companions:
                    raise
                self._faults.append((path, str(error).removeprefix(f"{path}: ")))

    def problems(self) -> Iterator[Problem]:
        """Yield what was left out and what is worth knowing."""
        for path, message in self._faults:
            yield Problem(path=str(path), message=f"{message} It is left out of its run.", severity="error")
        yield from self.source.notes([*self._notes, *told(self._counts)])

    def _file(self, path: Path) -> Iterator[Row]:
        folder = _run_folder(path)
        model, run_id, named = system_of(path)
        if folder != path:
            model, run_id, named = (as_text(folder.name) or "").replace("__", "/"), as_text(folder.parent.name), True
        pull: Row = {}
        for part in iter_json(path, arrays=(_BOARDS,)):
            if isinstance(part, JsonItem):
                yield from self._board(as_dict(part.value))
            elif pull or part.member in _MULTI:
                pull[part.member] = part.value
            elif _is_system(part.value):
                for item, verdict in as_dict(part.value).items():
                    yield from self._issue(as_text(part.member) or "", item, verdict)
            else:
                yield from self._issue(model, part.member, part.value, config={"run_id": run_id})
                if not named:
                    self._notes[unnamed(model)] = None
        if pull:
            yield from self._pull(model, pull, path)

    def _issue(
        self, model: str, item: str, value: object, *, run: str | None = None, config: Row | None = None
    ) -> Iterator[Row]:
        """Yield the outcome of an issue, from its verdict or from what stands beside it."""
        name = as_text(item) or ""
        about: Row = {"model": model, "benchmark": benchmark_of(name), "item": name, "metric": METRIC}
        if isinstance(value, bool):
            yield from self._row(about | scored(float(value)), run=run, config=config)
            return
        found = as_dict(value)
        verdict = found.get(METRIC) if found else value
        if found.get("infra_failure") is True:
            reason = first_line(found.get("infra_failure_reason"))
            outcome = unscored(f"an infrastructure failure{f': {reason}' if reason else ''}", held(verdict), error=True)
        elif isinstance(verdict, bool):
            outcome = scored(float(verdict), value_raw="no patch" if found.get("patch_exists") is False else None)
        else:
            self._counts[_NO_VERDICT] += 1
            outcome = unscored("no verdict", held(verdict if found else value))
        more: Row = {
            "cost_usd": as_amount(found.get("cost")),
            "api_calls": as_count(found.get("api_calls")),
            "patch_applied": applied if isinstance(applied := found.get("patch_successfully_applied"), bool) else None,
        }
        yield from self._row({**about, **more, **outcome}, run=run, config=config)

    def _pull(self, model: str, report: Row, path: Path) -> Iterator[Row]:
        """Yield the outcome of a report of Multi-SWE-bench."""
        org, repo, number = (as_text(report.get(name)) for name in ("org", "repo", "number"))
        if not (org and repo and number):
            raise UnreadableFileError(f"{path}: names no org, repo and number; without them its issue is not known.")
        valid = report.get(_VALID)
        reason = first_line(report.get("error_msg")) or None
        self._notes[_VALID_IS] = None
        self._counts[_NO_VERDICT] += not isinstance(valid, bool)
        outcome = scored(float(valid)) if isinstance(valid, bool) else unscored("no verdict", held(valid))
        about: Row = {"model": model, "benchmark": "Multi-SWE-bench", "item": f"{org}/{repo}:pr-{number}"}
        yield from self._row({**about, "metric": _VALID, "failure_reason": reason, **outcome})

    def _board(self, board: Row) -> Iterator[Row]:
        """Yield the outcomes of a leaderboard's systems that give them, and take note of its published shares."""
        task = as_text(board.get("name")) or ""
        for entry in dicts(board.get("results")):
            model, share = as_text(entry.get("name")), entry.get(METRIC)
            estimate = None if isinstance(share, bool) else as_number(share)
            if not model:
                self._counts["{n} entries of leaderboards name no system and are left out"] += 1
                continue
            run = self.source.run_id(task, as_text(entry.get("folder")) or model)
            if estimate is not None:
                about: Row = {"run": run, "model": model, "benchmark": "SWE-bench"}
                self._take({**about, "system": model}, _SHARE, {"split": task})
                known: Row = {**about, "task": task, "metric": _SHARE, "estimate": estimate, "unit": "percent"}
                self.published.append({**known, "method": "published", "date": day_of(entry.get("date"))})
            for item, value in as_dict(entry.get("per_instance_details")).items():
                yield from self._issue(model, item, value, run=run, config={"split": task})

    def _row(self, row: Row, *, run: str | None = None, config: Row | None = None) -> Iterator[Row]:
        """Yield an outcome with its run, unless its issue had one before."""
        model, item = str(row["model"]), str(row["item"])
        run = run or self._names.get(model) or self._names.setdefault(model, self.source.run_id(model))
        if (run, item) in self._seen:
            self._counts["{n} verdicts stand a second time for their issue and are left out"] += 1
            return
        self._seen.add((run, item))
        if run not in self.runs or (row["benchmark"], row["metric"]) not in self.metrics:
            about: Row = {"run": run, "model": model, "system": model, "benchmark": row["benchmark"]}
            self._take(about, str(row["metric"]), config or {})
        yield {**row, "run": run, "system": model, "repo": repo_of(item)}

    def _take(self, about: Row, metric: str, config: Row) -> None:
        """Take note of a run and of a metric."""
        run, benchmark = str(about["run"]), str(about["benchmark"])
        if run not in self.runs:
            known = {name: value for name, value in config.items() if value}
            self.runs[run] = {**about, "harness": benchmark, "config": json_text(known) if known else None}
        if (benchmark, metric) not in self.metrics:
            percent: Row = {"high": 100.0, "unit": "percent"}
            row = metric_row(benchmark, metric, "bounded" if metric == _SHARE else "binary", primary=metric == METRIC)
            self.metrics[benchmark, metric] = row | percent if metric == _SHARE else row


def _is_system(value: object) -> bool:
    """Whether a member is a system with its issues: objects, each with a verdict."""
    found = as_dict(value)
    first = [as_dict(part) for part in islice(found.values(), 3)]
    return METRIC not in found and bool(first) and all(METRIC in part for part in first)


LOADER = SWEBenchIssuesLoader()
