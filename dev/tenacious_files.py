"""The files of Tenacious-Bench as published, and the two shipped files of figures that are made of them.

Their texts are compared here and never carried on: what comes out are counts.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Final

from evalstats.datasets.tenacious import (
    FACTS,
    PUBLISHED,
    RUNS,
    SOURCE,
    Outcome,
    ScoredPair,
    TenaciousFiles,
    TenaciousRun,
    TenaciousStudy,
    load_tenacious,
)
from evalstats.errors import InputError
from evalstats.grammar import and_list
from evalstats.loaders.files import load_json, small_text
from evalstats.loaders.typed_records import PlainRecords
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, as_whole, dicts, get

SPLITS: Final = ("train", "dev", "held_out")
_NGRAM = 8
_BOILERPLATE = 3  # the check spares what occurs in more tasks than this
_EQUAL = 1e-9  # cosines are published with 4 digits
_ROUNDED = 0.51e-4  # and so are accuracies
_MAX_CHARS = 8 << 20

Task = Mapping[str, object]


def read_tenacious(path: Path) -> TenaciousStudy:
    """Return the study with what the original files give in place of the shipped figures.

    `path` is a file of traces (`held_out_traces.jsonl`), or a folder with the repository's files; earlier runs are looked for
    in its folders `history_<commit>`. What is not there is taken from the shipped figures, and `origin` says so.
    InputError if there are no traces, or if they are not those of the published numbers.
    """
    shipped = load_tenacious()
    if path.is_file():
        runs = (*shipped.runs[:-1], _as_published(replace(shipped.last, pairs=_pairs(_traces(path))), path))
        return replace(shipped, runs=runs, origin=f"the pairs of {path.name} and, beside them, {shipped.origin}")
    traces = path / "ablations" / "held_out_traces.jsonl"
    if not traces.is_file():
        raise InputError(
            f"{path}: holds no ablations/held_out_traces.jsonl; give that file, or the folder of the repository"
        )
    scored = _traces(traces)
    ids = {task for task, _ in scored}
    results = path / "ablations" / "ablation_results.json"
    if results.is_file():
        last = _run(shipped.last.commit, traces, results, ids)
    else:
        last = _as_published(replace(shipped.last, pairs=_pairs(scored)), traces)
    earlier = [_earlier(path, run, ids) for run in shipped.runs[:-1]]
    files = _files(path, ids)
    shown = "the published files"
    lacking = [
        word
        for word, found in (
            ("published numbers", results.is_file()),
            ("earlier runs", all(earlier)),
            ("checks of the files", files is not None),
        )
        if not found
    ]
    if lacking:
        shown += f"; {and_list(lacking)} from {shipped.origin}"
    return TenaciousStudy(
        runs=(*(new or old for new, old in zip(earlier, shipped.runs[:-1], strict=True)), last),
        files=files or shipped.files,
        origin=shown,
    )


def _earlier(folder: Path, run: TenaciousRun, last: set[str]) -> TenaciousRun | None:
    inside = folder / f"history_{run.commit}"
    traces, results = inside / "ablations_held_out_traces.jsonl", inside / "ablations_ablation_results.json"
    return _run(run.commit, traces, results, last) if traces.is_file() and results.is_file() else None


def _run(commit: str, traces: Path, results: Path, last: set[str]) -> TenaciousRun:
    scored = _traces(traces)
    numbers = get(load_json(results, max_chars=_MAX_CHARS), "splits", "held_out")
    names = (
        "baseline_accuracy",
        "trained_accuracy",
        "delta_accuracy_pp",
        "delta_accuracy_pp_ci_lower",
        "delta_accuracy_pp_ci_upper",
        "paired_bootstrap_p_value",
    )
    values = {name: as_number(get(numbers, key)) for name, key in zip(PUBLISHED, names, strict=True)}
    held = {name: value for name, value in values.items() if value is not None}
    if len(held) < len(values):
        raise InputError(f"{results}: splits.held_out lacks {', '.join(values.keys() - held.keys())}")
    run = TenaciousRun(commit=commit, pairs=_pairs(scored), shared_ids=len({task for task, _ in scored} & last), **held)
    return _as_published(run, traces)


def _as_published(run: TenaciousRun, traces: Path) -> TenaciousRun:
    """Return the run; InputError if its pairs do not give the accuracies that were published for it."""
    for critic, published in (("baseline", run.baseline_accuracy), ("trained", run.trained_accuracy)):
        right = sum(getattr(pair, critic) == "right" for pair in run.pairs)
        if abs(right / len(run.pairs) - published) > _ROUNDED:
            raise InputError(
                f"{traces}: {critic} is right on {right} of {len(run.pairs)} pairs, where {published:g} is published; expected "
                "all pairs of the published run. For other pairs: `evalstats compare`"
            )
    return run


def _pairs(scored: Iterable[tuple[str, ScoredPair]]) -> tuple[ScoredPair, ...]:
    return tuple(pair for _, pair in scored)


def _traces(path: Path) -> list[tuple[str, ScoredPair]]:
    """Return (task id, pair) of every line; equal rows are numbered alike."""
    found: list[tuple[str, ScoredPair]] = []
    numbers: dict[tuple[object, ...], int] = {}
    for line, row in PlainRecords(path).numbered():
        task, dimension = as_text(row.get("task_id")), as_text(row.get("dimension"))
        if task is None or dimension is None:
            raise InputError(f"{path}: line {line} has no task_id and dimension; expected one scored pair a line")
        where = f"{path}: line {line}"
        baseline, trained = _outcome(row, "baseline", where), _outcome(row, "trained", where)
        key = tuple(value for name, value in sorted(row.items()) if name != "task_id")
        scores = numbers.setdefault(key, len(numbers) + 1)
        pair = ScoredPair(dimension=dimension, scores=scores, baseline=baseline, trained=trained)
        found.append((task, pair))
    if not found:
        raise InputError(f"{path}: is empty; expected one scored pair a line")
    return found


def _outcome(row: Task, critic: str, where: str) -> Outcome:
    chosen, rejected = (as_number(row.get(f"{critic}_{side}_score")) for side in ("chosen", "rejected"))
    if chosen is None or rejected is None:
        raise InputError(f"{where} lacks a score of {critic}; expected {critic}_chosen_score, {critic}_rejected_score")
    outcome: Outcome = "right" if chosen > rejected else "tie" if chosen == rejected else "wrong"
    if row.get(f"{critic}_correct") is not (outcome == "right"):
        raise InputError(f"{where}: {critic}_correct is not what its two scores say ({outcome}); fetch the file again")
    return outcome


def _first(folder: Path, *names: str) -> Path | None:
    return next((folder / name for name in names if (folder / name).exists()), None)


def _files(folder: Path, scored: set[str]) -> TenaciousFiles | None:
    """Return the counts, or None where a file that they need is not there."""
    bench = _first(folder, "tenacious_bench_v0.1", "bench_head")
    if bench is None:
        return None
    needed = [
        *(bench / split / "tasks.jsonl" for split in SPLITS),
        *(folder / "outputs" / f"bench_{split}_eval.json" for split in SPLITS),
        *(folder / "outputs" / f"inter_rater_pass{number}.json" for number in (1, 2)),
        folder / "contamination_check.json",
        bench / "README.md",
    ]
    if not all(path.is_file() for path in needed):
        return None
    tasks = {split: _tasks(bench / split / "tasks.jsonl") for split in SPLITS}
    evaluated = {split: _rated(folder / "outputs" / f"bench_{split}_eval.json") for split in SPLITS}
    stated = re.findall(r"`(train|dev|held_out)`: (\d+)$", small_text(bench / "README.md", "1 MiB"), re.MULTILINE)
    readme = {split: int(count) for split, count in stated}
    if set(readme) != set(SPLITS):
        raise InputError(f"{bench / 'README.md'}: states no counts of train, dev and held_out; found {readme}")
    known = {name: task for own in tasks.values() for name, task in own.items()}
    unknown = sorted((scored | evaluated["train"].keys()) - known.keys())
    if unknown:
        raise InputError(f"{bench}: {len(unknown)} scored tasks are in no split ({unknown[0]!r}); expected all of them")
    return TenaciousFiles(
        **{f"tasks_{split}": len(tasks[split]) for split in SPLITS},
        **{f"readme_{split}": readme[split] for split in SPLITS},
        **{f"run_{split}": len(evaluated[split]) for split in SPLITS},
        **{f"pairs_in_{split}": len(scored & tasks[split].keys()) for split in SPLITS},
        other_split=sum(task.get("split") != split for split in SPLITS for task in tasks[split].values()),
        held_out_trained_on=len(tasks["held_out"].keys() & evaluated["train"].keys()),
        **_raters(folder, {task: own for split in SPLITS for task, own in evaluated[split].items()}),
        **_contamination(folder, tasks),
        **_overlap([known[name] for name in sorted(scored)], [known[name] for name in evaluated["train"]]),
    )


def _tasks(path: Path) -> dict[str, Task]:
    rows = [row for _, row in PlainRecords(path).numbered()]
    return {as_text(row.get("task_id")) or "": row for row in rows}


def _rated(path: Path) -> dict[str, list[object]]:
    content = load_json(path, max_chars=_MAX_CHARS)
    results = dicts(as_list(content) or get(content, "results"))
    return {as_text(row.get("task_id")) or "": as_list(row.get("dimension_results")) for row in results}


def _raters(folder: Path, evaluated: Mapping[str, list[object]]) -> dict[str, int]:
    first, second = (_rated(folder / "outputs" / f"inter_rater_pass{number}.json") for number in (1, 2))
    given = [(task, score) for task, scores in first.items() for score in scores]
    return {
        "rated_tasks": len(first),
        "rated_scores": len(given),
        "rated_alike": sum(score in second.get(task, []) for task, score in given),
        "rated_as_evaluated": sum(score in evaluated.get(task, []) for task, score in given),
    }


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a task that the check looks at, and its 8-word sequences."""

    counts: Counter[str]
    ngrams: set[tuple[str, ...]]


def _words(task: Task) -> _Words:
    told = as_dict(task.get("input"))
    parts = (
        task.get("dimension"),
        told.get("company_name"),
        told.get("hiring_signal_brief_excerpt"),
        told.get("competitor_gap_brief_excerpt"),
        told.get("prior_thread"),
    )
    words = re.findall(r"[a-z0-9]+", " ".join(as_text(part) or "" for part in parts).lower())
    return _Words(Counter(words), {tuple(words[i : i + _NGRAM]) for i in range(len(words) - _NGRAM + 1)})


def _sharing(tasks: Sequence[Task], others: Sequence[Task], *, spare: bool) -> int:
    """Count tasks that share an 8-word sequence with another; `spare` those that occur in more than three tasks."""
    here, there = [_words(task).ngrams for task in tasks], [_words(task).ngrams for task in others]
    often = Counter(ngram for own in (*here, *there) for ngram in own)
    found = {ngram for own in there for ngram in own if not spare or often[ngram] <= _BOILERPLATE}
    return sum(bool(own & found) for own in here)


def _overlap(tasks: Sequence[Task], trained_on: Sequence[Task]) -> dict[str, int]:
    return {
        "pairs_shared_ngrams": _sharing(tasks, trained_on, spare=True),
        "pairs_shared_any": _sharing(tasks, trained_on, spare=False),
    }


def _contamination(folder: Path, tasks: Mapping[str, Mapping[str, Task]]) -> dict[str, int]:
    """Do the published check again: shared sequences against training, word-count cosines against both other splits."""
    check = load_json(folder / "contamination_check.json", max_chars=_MAX_CHARS)
    total = again = 0
    for split in ("train", "dev"):
        others = [_words(task).counts for task in tasks[split].values()]
        for row in dicts(get(check, f"held_out_vs_{split}", "findings")):
            own = _words(tasks["held_out"].get(as_text(row.get("held_out_task_id")) or "", {})).counts
            nearest = round(max(_cosine(own, other) for other in others), 4)
            total += 1
            again += abs(nearest - (as_number(row.get("lexical_cosine_similarity")) or 0.0)) < _EQUAL
    held_out, train = list(tasks["held_out"].values()), list(tasks["train"].values())
    return {
        "checked": len(list(dicts(get(check, "held_out_vs_train", "findings")))),
        "check_violations": as_whole(get(check, "held_out_vs_train", "violations")) or 0,
        "shared_ngrams": _sharing(held_out, train, spare=True),
        "cosines": total,
        "cosines_again": again,
    }


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    def length(counts: Iterable[int]) -> float:
        return math.sqrt(sum(count * count for count in counts))

    lengths = length(one.values()) * length(other.values())
    return sum(count * other[word] for word, count in one.items()) / lengths if lengths else 0.0


def to_csv(study: TenaciousStudy) -> dict[str, str]:
    """Return the text of the two shipped files by name: pairs as counts of equal neighbours, and facts one a row."""
    head = (
        f"# Source: {SOURCE} @ {study.last.commit} and two earlier commits; no licence was found there, so these are\n"
    )
    rows = ["run,dimension,baseline,trained,scores,pairs"]
    for run in study.runs:
        for pair, same in groupby(run.pairs):
            told = (run.commit, pair.dimension, pair.baseline, pair.trained, pair.scores, len(list(same)))
            rows.append(",".join(map(str, told)))
    facts = ["run,fact,value"]
    for run in study.runs:
        facts += [f"{run.commit},{name},{getattr(run, name):g}" for name in (*PUBLISHED, "shared_ids")]
    counts = [(field.name, getattr(study.files, field.name)) for field in fields(study.files)]
    facts += [f"{study.last.commit},{name},{count}" for name, count in counts]
    return {
        RUNS: "# Tenacious-Bench: pairs of the held-out split in three published runs, in file order.\n"
        + head
        + "# figures alone. Pairs with one number in `scores` have the same dimension and the same scores.\n"
        + "".join(f"{row}\n" for row in rows),
        FACTS: "# Tenacious-Bench: what three runs published, and counts of what the files of the last one hold.\n"
        + head
        + "# figures alone. Each is explained in evalstats/datasets/tenacious.py.\n"
        + "".join(f"{row}\n" for row in facts),
    }
