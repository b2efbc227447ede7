"""SWE-bench's reports of one run: lists of the issues that a system resolved, did not resolve, or could not be tested on.

An issue is an error where the harness failed on it, 0 where it is unresolved or has no patch, and unscored where the lists
contradict each other or none says what became of it. Issues without a prediction (`incomplete_ids`) are missing and have no row.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl

from evalstats.grammar import comma_list
from evalstats.loaders.format import HEADLINE, OBJECT, Format, FormatFile, Sign
from evalstats.loaders.record_columns import texts
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_list, as_text, as_time, first_line

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
# Lists of issues that went so far, and the list without which those have failed, or which say no more.
_REACHED: Final = {
    "completed_ids": "unresolved_ids",
    "applied": "",
    "with_logs": "no_apply",
    "generated": None,
    "submitted_ids": None,
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
_REPO: Final = r"^(?:instance_)?([\w.-]+?)(?:__|/)([\w.-]+?)(?:-(?:\d+|[0-9a-f]{40})(?:-v\w+)?|:pr-\d+)$"
# The repository of an issue, by which runs may be clustered.
REPO: Final = pl.concat_str(*(pl.col("item").str.extract(_REPO, group) for group in (1, 2)), separator="/")
_NONE: Final = pl.Series("item", [], dtype=pl.String)
_ONLY: Final = (
    "names the {n} issues that were resolved and not those that were tried in vain: its mean says nothing. "
    "Read the report of the run (<model>.<run id>.json) or the report of every issue instead"
)


def system_of(path: Path) -> tuple[str, str | None, bool]:
    """Return the model, the run's id, and whether the harness named them so; from the file's name, or a folder's.

    >>> system_of(Path("my__model-4.1.dev-run.json")), system_of(Path("20240825_agent_gpt/results/results.json"))
    (('my/model-4.1', 'dev-run', True), ('agent_gpt', '20240825_agent_gpt', True))
    """
    stem = as_text(path.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".json")) or ""
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
    return "Multi-SWE-bench" if ":pr-" in item else "SWE-bench"


def _ids(name: str, value: object, file: FormatFile[Any]) -> pl.Series:
    """Return the ids of a list, each once; what is none is counted."""
    listed = as_list(value) or ([None] if value else [])
    found = [part for part in listed if isinstance(part, str) and part]
    ids = texts([*dict.fromkeys(found)])
    if len(found) < len(listed):
        file.note(f"{len(listed) - len(found)} entries of {name} are not ids and are dropped")
    if len(ids) < len(found):
        file.note(f"{len(found) - len(ids)} entries of {name} repeat an id and count once")
    return ids


def _outcomes(lists: Mapping[str, pl.Series], reasons: Row) -> pl.DataFrame:
    """Say of every issue that any list names what became of it, by the surest list."""
    fates: dict[str, tuple[str, str | None, float | None]] = {
        **{name: ("error", reason, None) for name, reason in _ERRORS.items()},
        **dict.fromkeys(_FAILURES, ("scored", None, 0.0)),
        **dict.fromkeys(_RESOLVED, ("scored", None, 1.0)),
        **dict.fromkeys(_REACHED, ("unscored", "no list says what became of it", None)),
    }
    if "with_logs" in lists:
        fates["generated"] = ("error", _ERRORS["no_logs"], None)
    fates |= {name: ("scored", None, 0.0) for name, sure in _REACHED.items() if sure is not None and sure not in lists}
    schema = {"_list": pl.String, "status": pl.String, "status_reason": pl.String, "score": pl.Float64}
    known = pl.DataFrame([(name, *fate) for name, fate in fates.items()], schema, orient="row")
    frame = pl.concat([lists.get(name, _NONE).to_frame("item").with_columns(_list=pl.lit(name)) for name in fates])
    frame = frame.join(known, on="_list", how="left", maintain_order="left")
    resolved = frame.filter(pl.col("_list").is_in(_RESOLVED))["item"].implode()
    absent = pl.col("_list").is_in([*_REACHED]) & pl.col("item").is_in(lists.get("incomplete_ids", _NONE).implode())
    frame = frame.filter(~absent).unique("item", keep="first", maintain_order=True)
    both = pl.col("item").is_in(resolved) & pl.col("_list").is_in([*_ERRORS, *_FAILURES])
    ambiguous = pl.col("item").is_in(lists.get("ambiguous_failure_ids", _NONE).implode())
    more = {item: line for item, why in reasons.items() if (line := first_line(why))}
    said = pl.col("item").replace_strict(more, default=None, return_dtype=pl.String)
    reason = pl.concat_str("status_reason", pl.when(status="error").then(said), separator=": ", ignore_nulls=True)
    return frame.select(
        "item",
        status=pl.when(both).then(pl.lit("unscored")).otherwise("status"),
        status_reason=pl.when(both)
        .then(pl.lit("is among the resolved and elsewhere"))
        .otherwise(reason.replace("", None)),
        score=pl.when(~both).then("score"),
        value_raw=pl.when(~pl.col("_list").is_in(_RESOLVED)).then("_list"),
        failure_reason=pl.when(ambiguous & pl.col("_list").is_in(_FAILURES)).then(said),
    )


def _columns(records: list[dict[str, Any]], file: FormatFile[dict[str, Any]]) -> pl.DataFrame:
    (content,) = records
    lists = {name: _ids(name, content[name], file) for name in sorted(_LISTS & content.keys())}
    frame = _outcomes(lists, as_dict(content.get("failure_reasons")))
    if not frame.height:
        return frame
    model, run_id, named = system_of(file.source.path)
    dated = _DATED.fullmatch(run_id or "")
    benchmark = benchmark_of(frame["item"][0])
    only = None if _WHOLE & lists.keys() else _ONLY.format(n=int((frame["score"] == 1).sum()))
    counts = {name: value for name, value in content.items() if name.endswith("_instances") and isinstance(value, int)}
    run = file.run(
        model,
        "",
        benchmark=benchmark,
        harness=benchmark,
        timestamp=as_time(dated.expand(r"\g<year>-\g<month>-\g<day>")) if dated else None,
        config={"run_id": run_id, **counts},
        note=f"It {only}" if only else None,
    )
    for reason, n in frame.filter(status="unscored")["status_reason"].value_counts(sort=True).iter_rows():
        file.note(f"{n} issues are unscored: each {reason}")
    absent = lists.get("incomplete_ids", _NONE)
    if absent := absent.filter(~absent.is_in(frame["item"].implode())).to_list():
        file.note(f"{len(absent)} issues have no prediction; they are missing, not failed ({comma_list(absent, 3)})")
    for name in ("resolved", "unresolved", "error"):
        listed, told = lists.get(f"{name}_ids"), counts.get(f"{name}_instances")
        if listed is not None and told not in {None, len(listed)}:
            file.note(f"{name}_ids holds {len(listed)} ids where the report counts {told}")
    if not named:
        file.note(unnamed(model))
    if only:
        file.note(only)
    return frame.with_columns(repo=REPO, run=pl.lit(run), metric=pl.lit(METRIC))


_OTHERS: Final = " ".join(sorted(_LISTS - {*_RESOLVED}))
FORMAT: Final = Format(
    name="swe-bench",
    title="SWE-bench and Multi-SWE-bench reports of a run (lists of ids)",
    version="2",
    upstream="SWE-bench/SWE-bench at 7a21e05, swebench/harness/reporting.py; multi-swe-bench, multi_swe_bench/harness/report.py",
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
    at=(".",),
    called="lists of ids",
    metrics={METRIC: HEADLINE},
    expected="The report of a run that was evaluated was expected",
)
