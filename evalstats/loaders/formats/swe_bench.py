"""SWE-bench's reports of one run: lists of the issues that a system resolved, did not resolve, or could not be tested on.

Read are `<model>.<run id>.json` of the harness and of its older versions, `final_report.json` of Multi-SWE-bench, and
`results/results.json` of the published submissions, which names resolved issues and few others. An issue is an error where the
harness failed on it (`error_ids`, `infra_failure_ids`, no log, tests that did not run), 0 where it is unresolved or has no patch,
and unscored where the lists contradict each other or none says what became of it. Issues without a prediction (`incomplete_ids`)
are missing and have no row.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.grammar import comma_list
from evalstats.loaders.format import HEADLINE, OBJECT, Format, FormatFile, Sign
from evalstats.loaders.format_columns import states
from evalstats.loaders.rows import Row, held, scored, unscored
from evalstats.loaders.values import as_dict, as_list, as_text, as_time, first_line, json_text

METRIC: Final = "resolved"
# Lists of issues that the harness failed on, the surest reason first, and why they have no score.
_ERRORS: Final = {
    "infra_failure_ids": "an infrastructure failure, as the harness found",
    "error_ids": "the evaluation failed, or left no report",
    "install_fail": "the environment could not be installed",
    "reset_failed": "the repository could not be reset",
    "test_errored": "the command of the tests failed",
    "test_timeout": "the tests ran out of time",
    "no_logs": "the evaluation left no log",
}
# Lists of issues that were tried and not resolved. A system that gives no patch has failed, as upstream counts it.
_FAILURES: Final = ("empty_patch_ids", "no_generation", "none", "no_apply", "unresolved_ids")
_RESOLVED: Final = ("resolved_ids", "resolved")
# Lists of issues that went so far; what became of them is in other lists, or they were not resolved.
_REACHED: Final = {
    "completed_ids": "unresolved_ids",
    "applied": "",
    "with_logs": "no_apply",
    "generated": "with_logs",
    "submitted_ids": "completed_ids",
}
_WHOLE: Final = frozenset({"unresolved_ids", "completed_ids", "applied", "generated", "submitted_ids"})
_LISTS: Final = frozenset((*_ERRORS, *_FAILURES, *_RESOLVED, *_REACHED, "incomplete_ids", "ambiguous_failure_ids"))
# Names of files and folders that say nothing of the system.
_GENERIC: Final = frozenset({
    "results", "result", "report", "reports", "final_report", "eval_results", "evaluation", "output", "outputs", "logs",
    "per_instance_details", "eval", "data", "summary", "tmp",
})  # fmt: skip
# A run id has a letter before any digit, or is a date: the end of gpt-4.1 and of claude-3.5-sonnet is none.
_RUN_ID = re.compile(r"(?P<model>.+)\.(?P<run>[A-Za-z_][\w-]*|\d{6,}[\w-]*)")
_DATED = re.compile(r"(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)_(?P<model>.+)")
_REPO = re.compile(r"(?:instance_)?(?P<owner>[\w.-]+?)__(?P<name>[\w.-]+?)-(?:\d+|[0-9a-f]{40})(?:-v\w+)?")
_PULL = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+):pr-\d+")
_SPLITS: Final = ("lite", "verified", "test", "multimodal", "multilingual", "bash-only")


_ONLY: Final = (
    "names the {n} issues that were resolved and not those that were tried in vain: its mean says nothing. "
    "Read the report of the run (<model>.<run id>.json) or the report of every issue instead"
)


def system_of(path: Path) -> tuple[str, str | None, bool]:
    """Return the model, the run's id, and whether the harness named them so; from the file's name, or a folder's.

    >>> system_of(Path("my__model-4.1.dev-run.json")), system_of(Path("20240825_agent_gpt/results/results.json"))
    (('my/model-4.1', 'dev-run', True), ('agent_gpt', '20240825_agent_gpt', True))
    """
    stem = path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json")
    stem = as_text(stem) or ""
    if stem.lower() not in _GENERIC:
        found = _RUN_ID.fullmatch(stem)
        name = stem if found is None else found["model"]
        return name.replace("__", "/"), None if found is None else found["run"], found is not None
    for folder in path.absolute().parents[:3]:
        if folder.name and folder.name.lower() not in _GENERIC:
            name = as_text(folder.name) or ""
            dated = _DATED.fullmatch(name)
            return (dated["model"] if dated else name.replace("__", "/")), name, True
    return stem, None, False


def unnamed(model: str) -> str:
    """Say that a run is named by its file."""
    return f"the file names no model, so that {model}, from its own name, stands for it"


def benchmark_of(item: str) -> str:
    """Return the member of the family that an issue's id belongs to.

    >>> benchmark_of("django__django-11099"), benchmark_of("instance_a__b-1"), benchmark_of("a/b:pr-7")
    ('SWE-bench', 'SWE-bench Pro', 'Multi-SWE-bench')
    """
    if item.startswith("instance_"):
        return "SWE-bench Pro"
    return "Multi-SWE-bench" if _PULL.fullmatch(item) else "SWE-bench"


def repo_of(item: str) -> str | None:
    """Return the repository of an issue, by whose issues runs may be clustered; None where the id does not tell.

    >>> repo_of("django__django-11099"), repo_of("a/b:pr-7"), repo_of("task 7")
    ('django/django', 'a/b', None)
    """
    found = _PULL.fullmatch(item) if ":" in item else _REPO.fullmatch(item)
    return None if found is None else f"{found['owner']}/{found['name']}"


def repos_of(items: Sequence[str]) -> list[str | None]:
    """Return the repositories of many issues; what stands before the number is looked at once."""
    parted = [item.rpartition("-") for item in items]
    known = {stem: repo_of(f"{stem}-1") for stem in dict.fromkeys(stem for stem, _, _ in parted)}
    return [
        known[stem] if number.isdecimal() and ":" not in item else repo_of(item)
        for item, (stem, _, number) in zip(items, parted, strict=True)
    ]


def _ids(name: str, value: object, notes: list[str]) -> dict[str, None]:
    """Return the ids of a list, each once; what is none is counted."""
    listed = as_list(value)
    texts = [part for part in listed if isinstance(part, str) and part]
    found = dict.fromkeys(part if part.isascii() else as_text(part) or "" for part in texts)
    if not isinstance(value, list) and value is not None:
        notes.append(f"{name} is {held(value)}, not a list of ids, and is dropped")
    if len(texts) < len(listed):
        notes.append(f"{len(listed) - len(texts)} entries of {name} are not ids and are dropped")
    if len(found) < len(texts):
        notes.append(f"{len(texts) - len(found)} entries of {name} repeat an id and count once")
    return found


def _columns(records: list[dict[str, Any]], file: FormatFile[dict[str, Any]]) -> pl.DataFrame:
    (content,), notes = records, list[str]()
    lists = {name: _ids(name, content[name], notes) for name in sorted(_LISTS & content.keys())}
    outcomes = _outcomes(lists, as_dict(content.get("failure_reasons")))
    if not outcomes:
        return pl.DataFrame()
    model, run_id, named = system_of(file.source.path)
    dated = _DATED.fullmatch(run_id or "")
    benchmark = benchmark_of(next(iter(outcomes)))
    only = None if _WHOLE & lists.keys() else _ONLY.format(n=sum(row.get("score") == 1 for row in outcomes.values()))
    run = file.run(
        model,
        "",
        benchmark=benchmark,
        harness=benchmark,
        harness_version=as_text(content.get("schema_version")),
        timestamp=as_time(dated.expand(r"\g<year>-\g<month>-\g<day>")) if dated else None,
        config=json_text(_config(content, file.source.path, run_id)),
        note=f"It {only}" if only else None,
    )
    unknown = [] if named else [unnamed(model)]
    for sentence in (*notes, *_doubts(lists, outcomes, content), *unknown, *([only] if only else [])):
        file.note(sentence)
    items = list(outcomes)
    frame = states(list(outcomes.values()))
    beside = {"item": pl.Series(items), "repo": pl.Series(repos_of(items), dtype=pl.String)}
    return frame.with_columns(**beside, run=pl.lit(run), metric=pl.lit(METRIC))


def _outcomes(lists: dict[str, dict[str, None]], reasons: dict[str, object]) -> dict[str, Row]:
    """Say of every issue that any list names what became of it."""
    outcomes: dict[str, Row] = {}
    for name, reason in _ERRORS.items():
        for item in lists.get(name, ()):
            more = first_line(reasons.get(item))
            outcomes.setdefault(item, unscored(f"{reason}: {more}" if more else reason, name, error=True))
    ambiguous = lists.get("ambiguous_failure_ids", {})
    for name in _FAILURES:
        failed = scored(0.0, value_raw=name, failure_reason=None)
        for item in lists.get(name, ()):
            more = first_line(reasons.get(item)) if item in ambiguous else ""
            outcomes.setdefault(item, {**failed, "failure_reason": more} if more else failed)
    resolved = scored(1.0)
    for item in {name: None for listed in _RESOLVED for name in lists.get(listed, ())}:
        other = outcomes.setdefault(item, resolved)
        if other is not resolved:
            outcomes[item] = unscored("is among the resolved and elsewhere", as_text(other["value_raw"]))
    incomplete = lists.get("incomplete_ids", {})
    for name, sure in _REACHED.items():
        if name == "generated" and sure in lists:
            row = unscored(_ERRORS["no_logs"], name, error=True)
        elif name in {"completed_ids", "applied", "with_logs"} and sure not in lists:
            row = scored(0.0, value_raw=name)
        else:
            row = unscored("no list says what became of it", name)
        outcomes |= {item: row for item in lists.get(name, ()) if item not in outcomes and item not in incomplete}
    return outcomes


def _doubts(lists: dict[str, dict[str, None]], outcomes: dict[str, Row], content: Row) -> list[str]:
    """Return what a reader should know: issues left out, odd ones, and counts that differ from their lists."""
    reasons = Counter(
        as_text(row.get("status_reason")) or "" for row in outcomes.values() if row["status"] == "unscored"
    )
    found = [f"{n} issues are unscored: each {reason}" for reason, n in reasons.items()]
    if absent := [item for item in lists.get("incomplete_ids", ()) if item not in outcomes]:
        found.append(f"{len(absent)} issues have no prediction; they are missing, not failed ({comma_list(absent, 3)})")
    if n_empty := sum(
        row.get("value_raw") in {"empty_patch_ids", "no_generation", "none"} for row in outcomes.values()
    ):
        found.append(f"{n_empty} issues got no patch and count as not resolved, as in the harness")
    if n := len(lists.get("ambiguous_failure_ids", ())):
        found.append(f"{n} failures may be the infrastructure's (ambiguous_failure_ids); they stay not resolved")
    for name, ids in lists.items():
        told = content.get(f"{name.removesuffix('_ids')}_instances")
        if isinstance(told, int) and name.startswith(("resolved", "unresolved", "error")) and told != len(ids):
            found.append(f"{name} holds {len(ids)} ids where the report counts {told}")
    return found


def _config(content: Row, path: Path, run_id: str | None) -> Row:
    """Return the counts of the report, the run's id, and the split that a folder names."""
    counts = {name: value for name, value in content.items() if name.endswith("_instances") and isinstance(value, int)}
    split = next((part for part in reversed(path.parts[:-1]) if part.lower() in _SPLITS), None)
    known: Row = {"run_id": run_id, "split": split, **counts}
    return {name: value for name, value in known.items() if value is not None}


_OTHERS: Final = " ".join(sorted(_LISTS - {*_RESOLVED}))
FORMAT: Final = Format(
    name="swe-bench",
    title="SWE-bench and Multi-SWE-bench reports of a run (lists of ids)",
    version="2",
    upstream=(
        "SWE-bench/SWE-bench at 7a21e05, swebench/harness/reporting.py; multi-swe-bench/multi-swe-bench, "
        "multi_swe_bench/harness/report.py"
    ),
    benchmark="SWE-bench",
    harness=None,
    signs=(
        *(Sign(name, 0.95, some=_OTHERS, shapes=OBJECT) for name in _RESOLVED),
        Sign("completed_ids submitted_ids", 0.95, some="error_ids unresolved_ids empty_patch_ids", shapes=OBJECT),
        Sign("generated with_logs applied", 0.95, shapes=OBJECT),
        Sign("resolved", 0.6, opening=r'(?s:.*?)"resolved"\s*:\s*\[\s*"', shapes=OBJECT),
    ),
    record=dict[str, Any],
    columns=_columns,
    alone=True,
    called="lists of ids",
    metrics={METRIC: HEADLINE},
    expected="The report of a run that was evaluated was expected",
)
