"""tau2-bench and its successor tau3: results in one file, results in a folder, and leaderboard submissions.

A results file holds `info` (who played against whom, in which domain), `tasks` and `simulations`. In the folder layout
the simulations lie beside it, one a file, in `simulations/`.

Format: sierra-research/tau2-bench at a2c0247, `src/tau2/data_model/simulation.py`; metrics in
`src/tau2/metrics/agent_metrics.py`.

Submissions: `src/tau2/scripts/leaderboard/submission.py` of sierra-research/tau2-bench at a2c0247.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, Source, read_head
from evalstats.loaders.files import load_json
from evalstats.loaders.tau2_results import read_results
from evalstats.loaders.values import as_dict, as_number, as_text, as_time, day_of, get
from evalstats.schema.data import Problem

TEMPLATE_MARK: Final = "A_EXAMPLE_"

_BENCHMARK = "tau2-bench"
_MAX_CHARS = 4 << 20  # a submission is a few kB
_PASS = re.compile(r"pass_([1-9]\d*)")
_FIRST_VERSION = "original tau-bench"


def is_template(head: Head) -> bool:
    """Whether a submission is one of the invented examples that lie among the real ones."""
    named = head.path.name.startswith(TEMPLATE_MARK) or head.path.parent.name.startswith(TEMPLATE_MARK)
    return named or head.members.get("model_organization") == "Example Organization"


def read_submission(source: Source) -> Iterator[Rows | Problem]:
    """Yield one row of `aggregates` for every number of a submission, their metrics, and the run.

    A null is a number that was not published: it gives no row. Factors say what makes two submissions incomparable:
    `user_simulator`, `reasoning_effort`, `submission_type`, `modality`, `retrieval_config` and `harness_version`.
    """
    content = as_dict(load_json(source.path, max_chars=_MAX_CHARS))
    model = as_text(content.get("model_name"))
    if not model:
        raise UnreadableFileError(f"{source.path}: has no model_name; a submission names its model")
    run = source.run_id(model) if source.stem == "submission" else source.run_id()
    common = _common(content, model, run)
    rows = [{**common, **row} for row in _numbers(content, str(source.path))]
    yield Rows(table="aggregates", rows=rows)
    yield Rows(table="metrics", rows=list({str(row["metric"]): _metric(row) for row in rows}.values()))
    yield Rows(table="runs", rows=[_run_row(content, common)])
    yield from _doubts(source, content, rows)


def _common(content: dict[str, object], model: str, run: str) -> dict[str, object]:
    methodology = as_dict(content.get("methodology"))
    return {
        "model": model,
        "benchmark": _BENCHMARK,
        "method": "published",
        "date": day_of(methodology.get("evaluation_date")) or day_of(content.get("submission_date")),
        "run": run,
        "submission_type": as_text(content.get("submission_type")),
        "modality": as_text(content.get("modality")) or "text",
        "reasoning_effort": as_text(content.get("reasoning_effort")),
        "user_simulator": as_text(methodology.get("user_simulator")),
        "harness_version": as_text(methodology.get("tau2_bench_version")),
    }


def _numbers(content: dict[str, object], where: str) -> Iterator[dict[str, object]]:
    for domain, results in as_dict(content.get("results")).items():
        for key, value in as_dict(results).items():
            known = _known(key, f"{where}: results.{domain}.{key}", value)
            if known is not None:
                retrieval = as_text(get(results, "retrieval_config"))
                yield {"task": domain, **known, "value_raw": json.dumps(value), "retrieval_config": retrieval}
    for domain, measured in as_dict(get(content, "interaction_metrics", "domains")).items():
        n = as_number(get(measured, "counts", "n_simulations"))
        for key, value in as_dict(measured).items():
            number = as_number(value)
            if number is not None:
                unit = "seconds" if "latency" in key else "proportion"
                yield {
                    "task": domain,
                    "metric": f"interaction/{key}",
                    "estimate": number,
                    "unit": unit,
                    "n": None if n is None else int(n),
                    "value_raw": json.dumps(value),
                }


def _known(key: str, where: str, value: object) -> dict[str, object] | None:
    """Return metric, estimate and unit of a domain's number; None where the key is none or the number was not given."""
    found = _PASS.fullmatch(key)
    if value is None or (found is None and key != "cost"):
        return None
    number = None if isinstance(value, bool | str) else as_number(value)
    if number is None or number < 0 or (found and number > 100):
        held = json.dumps(value)[:40]
        expected = "a percentage between 0 and 100" if found else "a price in US dollars"
        raise UnreadableFileError(f"{where}: is {held}; expected {expected}, or null where there is none")
    if found:
        return {"metric": f"pass^{found[1]}", "estimate": number, "unit": "percent"}
    return {"metric": "cost_usd", "estimate": number, "unit": "US dollars"}


def _metric(row: dict[str, object]) -> dict[str, object]:
    metric, unit = str(row["metric"]), row["unit"]
    high = {"percent": 100.0, "proportion": 1.0}.get(str(unit))
    lower_is_better = "latency" in metric or "interruption" in metric or metric == "cost_usd"
    return {
        "benchmark": _BENCHMARK,
        "metric": metric,
        "kind": "continuous" if high is None else "bounded",
        "low": 0.0,
        "high": high,
        "higher_is_better": not lower_is_better,
        "unit": unit,
        "primary": metric == "pass^1",
    }


def _run_row(content: dict[str, object], common: dict[str, object]) -> dict[str, object]:
    effort = common["reasoning_effort"]
    kept = ("submitting_organization", "model_organization", "submission_type", "modality", "reasoning_effort")
    config = {name: content.get(name) for name in kept} | {
        "user_simulator": common["user_simulator"],
        "verification": get(content, "methodology", "verification"),
        "voice_config": content.get("voice_config"),
    }
    notes = [as_text(content.get("notes")), as_text(get(content, "methodology", "notes"))]
    return {
        "run": common["run"],
        "model": common["model"],
        "system": f"{common['model']} ({effort})" if effort else common["model"],
        "benchmark": _BENCHMARK,
        "harness": "tau2-bench",
        "harness_version": common["harness_version"],
        "factor_names": [],
        "dependence": [],
        "config": json.dumps(config),
        "note": " ".join(note for note in notes if note) or None,
        "timestamp": as_time(content.get("submission_date")),
    }


def _doubts(source: Source, content: dict[str, object], rows: list[dict[str, object]]) -> Iterator[Problem]:
    path = str(source.path)
    rates = [float(str(row["estimate"])) for row in rows if row["unit"] == "percent"]
    if not rates:
        yield Problem(path=path, message="holds no pass^k for any domain", severity="note")
    elif 0 < max(rates) <= 1:
        message = (
            f"all its rates lie between 0 and {max(rates):g}; submissions are in percent, and these may be proportions"
        )
        yield Problem(path=path, message=message, severity="note")
    if as_text(content.get("submission_type")) == "custom":
        message = "is a custom submission: prompts or scaffold differ from the benchmark's own, see the run's note"
        yield Problem(path=path, message=message, severity="note")
    if get(content, "methodology", "tau2_bench_version") == _FIRST_VERSION:
        message = "its numbers were made on the first tau-bench, whose tasks differ from those of tau2-bench"
        yield Problem(path=path, message=message, severity="note")


Kind = Literal["results", "simulation", "submission", "template", "tasks", "manifest"]

_SIMULATIONS = "simulations"
_ENDINGS = (".json", ".json.gz", ".json.zst")
_RESULTS_NAMES = tuple(f"results{ending}" for ending in _ENDINGS)
_NO_RESULTS: tuple[Kind, ...] = ("tasks", "manifest")
_REASONS: dict[Kind, str] = {
    "results": "info with agent_info and user_info, and simulations",
    "simulation": "one simulation with task_id and termination_reason",
    "submission": "a leaderboard submission: model_name, model_organization and results",
    "template": "the template of a leaderboard submission",
    "tasks": "task definitions",
    "manifest": "a list of submissions, or their schema",
}


def kind_of(head: Head) -> Kind | None:
    """Say which file of the format this is, from its head; None where it is none.

    Names matter only for templates and for the file of task splits: everything else is told by its keys.
    """
    keys = head.keys
    if head.shape == "array":
        return "tasks" if {"id", "user_scenario"} <= keys else None
    if head.shape != "object":
        return None
    if "info" in keys and '"agent_info"' in head.text and '"user_info"' in head.text:
        return "results"
    if {"id", "task_id", "termination_reason"} <= keys:
        return "simulation"
    if {"model_name", "model_organization", "results"} <= keys or {"model_name", "submitting_organization"} <= keys:
        return "template" if is_template(head) else "submission"
    if head.name.endswith("split_tasks.json") and all(isinstance(part, list) for part in head.members.values()):
        return "tasks"
    if {"submissions", "voice_submissions"} <= keys or head.members.get("title") == "Tau2-Bench Leaderboard Submission":
        return "manifest"
    return None


class Tau2BenchLoader:
    """Loader of tau2-bench results and leaderboard submissions.

    Outcomes have metric `reward`, and `reward/<part>` for each part of its breakdown (`reward/DB`); the domain is the
    task, the simulation's id the session. Status follows the harness where it has spoken (see `tau2_results`).
    Submissions become `aggregates`: `pass^k` in percent.
    """

    name = "tau2-bench"
    title = "tau2-bench results, or a leaderboard submission (.json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise any file of the format; task definitions and manifests are passed over."""
        kind = kind_of(head)
        if kind is None:
            return None
        return Match(confidence=0.95, reason=_REASONS[kind], skip=kind in _NO_RESULTS)

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Put each results file of the folder layout together with the simulations that lie beside it."""
        claimed: set[Path] = set()
        simulations: list[Path] = []
        for path in files:
            try:
                kind = kind_of(read_head(path))
            except UnreadableFileError as error:
                yield Problem(path=str(path), message=str(error).removeprefix(f"{path}: "))
                continue
            if kind == "simulation":
                simulations.append(path)
            elif kind == "template":
                message = f"is a template ({TEMPLATE_MARK}...), not a result; it is passed over"
                yield Problem(path=str(path), message=message, severity="note")
            else:
                companions = _beside(path) if kind == "results" else ()
                claimed.update(companion.resolve() for companion in companions)
                yield Source(path=path, companions=companions)
        for path in simulations:
            if path.resolve() not in claimed:
                message = (
                    "is one simulation of a tau2-bench run; its model and domain stand in results.json, "
                    "one folder up, which is not among the files: give the folder that holds both"
                )
                yield Problem(path=str(path), message=message)

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield the outcomes of a results file, or the aggregates of a submission."""
        kind = kind_of(read_head(source.path))
        if kind == "results":
            yield from read_results(source)
        elif kind in ("submission", "template"):
            yield from read_submission(source)
        else:
            found = _REASONS[kind] if kind else "of no kind that tau2-bench writes"
            raise UnreadableFileError(
                f"{source.path}: is {found}; expected a results file (info, tasks, simulations) or a submission"
            )


def _beside(path: Path) -> tuple[Path, ...]:
    """List the simulation files of the folder layout: the folder tells which they are, never a file's content."""
    folder = path.parent / _SIMULATIONS
    if path.name not in _RESULTS_NAMES or not folder.is_dir() or folder.is_symlink():
        return ()
    found = (file for file in sorted(folder.iterdir()) if file.name.endswith(_ENDINGS))
    plain = (file for file in found if file.is_file() and not file.is_symlink() and not file.name.startswith("."))
    return tuple(file for file in plain if not _holds_results(file))


def _holds_results(path: Path) -> bool:
    """Whether a file in a folder of that name is a run of its own, as older versions saved them."""
    try:
        return kind_of(read_head(path)) == "results"
    except UnreadableFileError:
        return False  # it counts as a simulation, and reading it will say what is wrong


LOADER: Final = Tau2BenchLoader()
