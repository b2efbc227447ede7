"""Scores as records of Every Eval Ever 0.3.0, the common schema of the EvalEval coalition: one log for each run.

Every field that the tables hold is filled and none is made up; what the schema has no field for goes along as an annex
(`evalstats.loaders.every_eval_ever_annex`), so that reading the records gives the same tables.

Schema: evaleval/every_eval_ever at 9bce413 (`schemas/eval.schema.json`, `schemas/instance_level_eval.schema.json`).
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal, get_args

import polars as pl

from evalstats.analysis.score.result import Score
from evalstats.atomic import drafts
from evalstats.errors import InputError, Option
from evalstats.exporters.datastore import UNKNOWN, Draft, folder_name, model_folders, publish
from evalstats.exporters.scored_results import (
    COMPUTED,
    GROUP,
    Key,
    ScoredMetrics,
    agrees,
    computed_score,
    evaluation_name,
    published_details,
    result_id,
    score_details,
    write_samples,
)
from evalstats.grammar import comma_list
from evalstats.loaders.every_eval_ever_annex import ANNEX, SHARED, VERSION, packed
from evalstats.loaders.values import as_dict, as_text
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.tables import factor_dtypes

SCHEMA_VERSION: Final = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
# What whoever reads a log fills in again.
_FILLED_IN: Final = ("source", "source_digest", "loader", "loader_version", "n_scored", "n_error", "n_unscored")
LogKey = tuple[str | None, str, str, str]
_SETTINGS: Final = ("n_shots", "prompt_hash", "task_version", "item_limit")


@record
class ExportedLogs:
    """What became of an export: logs that are new, logs that were there, samples in all, and what a reader should know."""

    n_new: int
    n_there: int
    n_samples: int
    notes: tuple[str, ...]


@record
class _By:
    """What the user says of who evaluated, and of who made the models."""

    organization: str | None
    relationship: str | None
    developers: Mapping[str, str]

    def model_info(self, run: "_Run", model: str) -> dict[str, Any]:
        """Return what is known of a model: what its run came with, and its developer."""
        about = as_dict(run.config.get("model_info"))
        named = self.developers.get(model) or ("" if "/" in model else self.developers.get("", ""))
        return {**about, "developer": named} if named else about


@record
class _Run:
    """What one log is made of: who and on what, the run's row, its outcomes and its published numbers."""

    run: str
    model: str
    system: str
    benchmark: str
    row: dict[str, Any]
    outcomes: pl.DataFrame
    aggregates: pl.DataFrame

    @property
    def shared(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in SHARED}

    @property
    def config(self) -> dict[str, Any]:
        try:
            return as_dict(json.loads(self.row.get("config") or "null"))
        except (ValueError, RecursionError):
            return {}


def write_records(
    data: EvalData,
    folder: Path,
    *,
    organization: str | None = None,
    relationship: str | None = None,
    developers: Mapping[str, str] | None = None,
) -> ExportedLogs:
    """Write every run with outcomes or published numbers into a datastore.

    `developers` names who made a model whose own name does not say it ("" stands for every such model).

    Raises
    ------
    InputError
        If there is nothing to write, or a record that is there already was changed by someone.
    """
    if relationship is not None and relationship not in get_args(Relationship):
        raise InputError(f"relationship is {relationship!r}; it is one of {', '.join(get_args(Relationship))}")
    by = _By(organization=organization, relationship=relationship, developers=developers or {})
    logs = _Logs(data, by)
    runs = list(_runs_of(data, logs.notes))
    if not runs:
        raise InputError(
            "there is nothing to write as Every Eval Ever: the data have no outcomes and no published numbers; votes and "
            f"ratings have no place there, so write them with {Option('to', 'parquet')}"
        )
    with drafts(folder) as place:
        made = [logs.draft(run, place / f"{k}.jsonl") for k, run in enumerate(runs)]
        n_new, n_there = publish(folder, made)
    n_samples = sum(draft.n_samples for draft in made)
    return ExportedLogs(n_new=n_new, n_there=n_there, n_samples=n_samples, notes=tuple(_told(logs)))


def _told(logs: "_Logs") -> Iterator[str]:
    data = logs.data
    yield from dict.fromkeys(logs.notes)
    models = sorted(logs.nameless)
    if models:
        yield (
            f"{comma_list(models, 1)}: filed under the developer 'unknown', which the datastore does not accept; name it with "
            f"{Option('developer', blank='NAME')} or {Option('developer', 'NAME', of='MODEL')}"
        )
    for n, what in ((data.comparisons.height, "votes"), (data.ratings.height, "ratings")):
        if n:
            yield f"{n:,} {what} have no place in Every Eval Ever and are left out; {Option('to', 'parquet')} writes them"
    n = data.aggregates["estimate"].null_count()
    if n:
        yield f"{n:,} published numbers are no numbers and are left out; {Option('to', 'parquet')} writes them"


def _grouped(frame: pl.DataFrame, *names: str) -> dict[Any, pl.DataFrame]:
    return dict(frame.group_by(*names, maintain_order=True))


def _runs_of(data: EvalData, notes: list[str]) -> Iterator[_Run]:
    """Yield what each log is made of, in the order of the names."""
    rows = {row["run"]: row for row in data.runs.to_dicts()}
    outcomes = _grouped(data.outcomes, *SHARED)
    published = _grouped(data.aggregates.filter(pl.col("estimate").is_not_null()), "run", "model", "benchmark")
    keys = _log_keys(data, list(outcomes), list(published), rows)
    n_logs = Counter(run for run, *_ in keys)
    for key in sorted(keys, key=lambda each: tuple(name or "" for name in each)):
        run, model, system, benchmark = key
        alone = run in rows and n_logs[run] == 1
        name = run or f"{benchmark}.{model}"
        if run and n_logs[run] > 1:
            name = f"{run} ({system}, {benchmark})"
            notes.append("a run of several models or benchmarks becomes a run for each of them, since a log holds one")
        row = {**rows.get(run or "", {}), "run": name, "benchmark": benchmark}
        yield _Run(
            run=name,
            model=model,
            system=system,
            benchmark=benchmark,
            row=row if alone else {**row, "model": model, "system": system},
            outcomes=outcomes.get(key, data.outcomes.clear()),
            # Of several systems of one model, the first in order takes the numbers that name the model alone.
            aggregates=published.pop((run, model, benchmark), data.aggregates.clear()),
        )


def _log_keys(
    data: EvalData,
    of_outcomes: Sequence[LogKey],
    of_numbers: Sequence[tuple[str | None, str, str]],
    rows: Mapping[str, Mapping[str, Any]],
) -> list[LogKey]:
    """Name every log by run, model, system and benchmark: those of outcomes, of numbers alone, and of empty runs."""
    keys: dict[LogKey, None] = dict.fromkeys(of_outcomes)
    named = {(run, model, benchmark) for run, model, _, benchmark in keys}
    for run, model, benchmark in of_numbers:
        if (run, model, benchmark) not in named:
            row = rows.get(run or "", {})
            system = row.get("system") if row.get("model") == model else None
            keys.setdefault((run, model, system or model, benchmark))
    voted = {*data.comparisons["run"].unique().to_list(), *data.ratings["run"].unique().to_list()}
    met = {run for run, *_ in keys} | voted
    for run, row in rows.items():
        if run not in met and row["model"]:
            keys.setdefault((run, row["model"], row["system"] or row["model"], row["benchmark"]))
    return list(keys)


def _items_known(outcomes: pl.DataFrame) -> dict[tuple[str | None, ...], int]:
    """Count the items of each benchmark, task, variant and metric, over all runs."""
    place = ("benchmark", "task", "variant", "metric")
    counted = outcomes.group_by(place).agg(pl.col("item").n_unique())
    return {tuple(row[:-1]): row[-1] for row in counted.iter_rows()}


class _Logs:
    """Makes the logs of one export, and remembers what must be said of them."""

    def __init__(self, data: EvalData, by: _By) -> None:
        self.data, self._by = data, by
        self.notes: list[str] = []
        self.nameless: set[str] = set()
        self._items = _items_known(data.outcomes)
        self._taken: set[tuple[str, str]] = set()

    def draft(self, run: _Run, place: Path) -> Draft:
        """Make the log of a run, and write its samples to `place`."""
        facts = ScoredMetrics(self.data, run.benchmark)
        model = run.model if run.model.strip() else UNKNOWN
        about = self._by.model_info(run, model)
        developer = as_text(about.get("developer"))
        if developer is None and "/" not in model:
            self.nameless.add(model)
        folder = (folder_name(run.benchmark or UNKNOWN), *model_folders(model, developer))
        evaluation_id = _evaluation_id(run, model, self._taken)
        results = self._results(run, facts)
        time = run.row.get("timestamp")
        log: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": evaluation_id,
            **({"evaluation_timestamp": str(int(time.timestamp()))} if time else {}),
            "retrieved_timestamp": str(int((time or datetime.now(UTC)).timestamp())),
            "source_metadata": _source(run, facts, self._by),
            "eval_library": {
                "name": run.row.get("harness") or UNKNOWN,
                "version": run.row.get("harness_version") or UNKNOWN,
            },
            "model_info": _model_info(run, model, about),
            "evaluation_results": results.records,
        }
        if not run.outcomes.height:
            return Draft(folder=folder, log=log)
        fixed = {"schema_version": SCHEMA_VERSION, "evaluation_id": evaluation_id, "model_id": model}
        digest, n = write_samples(run.outcomes, place, fixed, results.linked, facts)
        return Draft(folder=folder, log=log, samples=place, digest=digest, n_samples=n)

    def _results(self, run: _Run, facts: ScoredMetrics) -> "_Results":
        groups: dict[Key, pl.DataFrame] = _grouped(run.outcomes, *GROUP)
        computed = {key: computed_score(self.data, part, key) for key, part in groups.items()}
        results = _Results(run, facts)
        for row in run.aggregates.to_dicts():
            results.add_published(row, computed)
        for key, part in sorted(groups.items(), key=lambda each: tuple(name or "" for name in each[0])):
            found = computed[key]
            if found is None:
                self.notes.append("samples of which none has a score are written without a result")
            elif key not in results.linked:
                results.add_computed(key, found, part, self._items.get((run.benchmark, *key[:3]), 0))
        return results


def _evaluation_id(run: _Run, model: str, taken: set[tuple[str, str]]) -> str:
    """Return the id that the run came with, else one made of what names it: never of when it is written."""
    digest = hashlib.sha256(run.run.encode()).hexdigest()[:10]
    name = as_text(run.config.get("evaluation_id"))
    if not name or (name, model) in taken:
        own = run.system.replace("/", "_") if run.system != run.model else ""
        name = "/".join(part for part in (run.benchmark or UNKNOWN, model.replace("/", "_"), own, digest) if part)
    taken.add((name, model))
    return name


def _source(run: _Run, facts: ScoredMetrics, by: _By) -> dict[str, Any]:
    before = as_dict(run.config.get("source_metadata"))
    row = {name: value for name, value in run.row.items() if name not in _FILLED_IN}
    annex = {
        "version": VERSION,
        "shared": run.shared,
        "run": packed(row),
        "factors": {
            name: str(dtype) for name, dtype in factor_dtypes(run.outcomes, "outcomes").items() if dtype != pl.Null()
        },
        "metrics": [packed(row) for row in facts.rows],
    }
    kept = {name: value for name, value in before.items() if isinstance(value, str)}
    return {
        "source_name": run.benchmark,
        "source_type": "evaluation_run" if run.outcomes.height else "documentation",
        **kept,
        "source_organization_name": by.organization or kept.get("source_organization_name") or UNKNOWN,
        "evaluator_relationship": by.relationship or kept.get("evaluator_relationship") or "other",
        "additional_details": {ANNEX: json.dumps(annex)},
    }


def _model_info(run: _Run, model: str, about: Mapping[str, object]) -> dict[str, Any]:
    maker, slash, _ = model.partition("/")
    kept = {name: value for name, value in about.items() if value is not None and name != "additional_details"}
    details = {
        name: value for name, value in as_dict(about.get("additional_details")).items() if isinstance(value, str)
    }
    system = {} if run.system == run.model else {"system": run.system}
    return {
        "name": model,
        **({"developer": maker} if slash and maker else {}),
        **kept,
        "id": model,
        "additional_details": {
            "deployment_type": UNKNOWN,
            "model_availability": UNKNOWN,
            **{name: str(value) for name, value in details.items()},
            **system,
        },
    }


class _Results:
    """The results of one log, and by which id the samples of each group name theirs."""

    def __init__(self, run: _Run, facts: ScoredMetrics) -> None:
        self.records: list[dict[str, Any]] = []
        self.linked: dict[Key, str] = {}
        self._run, self._facts = run, facts
        self._taken: set[str] = set()
        self._generation = _generation(run)

    def add_published(self, row: Mapping[str, Any], computed: Mapping[Key, Score | str | None]) -> None:
        """Add a published number; samples that give the same are its own."""
        key = (row["task"], row["variant"], row["metric"], row.get("judge"), row["setting"])
        found = computed.get(key) if row["scenario"] is None else None
        facts = self._facts.declared(row["metric"])
        span = None if facts.get("low") is None or facts.get("high") is None else facts["high"] - facts["low"]
        name = "/".join(part for part in (result_id(key, self._run.benchmark), row["scenario"]) if part)
        made = self._add(name, key, published_details(row, found, span), row.get("dataset"), row["date"])
        if isinstance(found, Score) and agrees(row["estimate"], found, span):
            self.linked.setdefault(key, made)

    def add_computed(self, key: Key, found: Score | str, part: pl.DataFrame, n_known: int) -> None:
        """Add a score that was computed from the samples."""
        named = dict(zip(GROUP, key, strict=True))
        row = {**{name: named[name] for name in ("task", "variant", "metric", "setting")}, "method": COMPUTED}
        details = score_details(found, part, max(0, n_known - part["item"].n_unique()), row)
        self.linked[key] = self._add(result_id(key, self._run.benchmark), key, details)

    def _add(
        self, name: str, key: Key, details: dict[str, Any], dataset: str | None = None, day: date | None = None
    ) -> str:
        task, variant, metric, judge, _ = key
        name = (
            name
            if name not in self._taken
            else next(f"{name}#{k}" for k in range(2, len(self._taken) + 3) if f"{name}#{k}" not in self._taken)
        )
        self._taken.add(name)
        self.records.append(
            {
                "evaluation_result_id": name,
                "evaluation_name": evaluation_name(task, variant, self._run.benchmark),
                "source_data": {"dataset_name": dataset or task or self._run.benchmark, "source_type": "other"},
                **({"evaluation_timestamp": day.isoformat()} if day else {}),
                "metric_config": self._facts.config(metric or "", judge, details["score"]),
                "score_details": details,
                **self._generation,
            }
        )
        return name


def _generation(run: _Run) -> dict[str, Any]:
    before = as_dict(run.config.get("generation_config"))
    settings = {name: str(run.row[name]) for name in _SETTINGS if run.row.get(name) is not None}
    arguments = as_dict(before.get("generation_args"))
    if run.row.get("temperature") is not None:
        arguments = {"temperature": run.row["temperature"], **arguments}
    details = {**{name: str(text) for name, text in as_dict(before.get("additional_details")).items()}, **settings}
    found = {"generation_args": arguments, "additional_details": details}
    kept = {name: value for name, value in found.items() if value}
    return {"generation_config": kept} if kept else {}
