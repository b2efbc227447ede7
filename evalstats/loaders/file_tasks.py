"""Which files are the tasks of a system: tables that say nothing of tasks, several of each system, with items of their own."""

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

import polars as pl

from evalstats.errors import Option
from evalstats.grammar import comma_list
from evalstats.loaders.base import Source
from evalstats.loaders.binder import words_of
from evalstats.loaders.roles import ROLES
from evalstats.loaders.table import LOADER as TABLE
from evalstats.loaders.tidy import DEFAULT_BENCHMARK
from evalstats.schema.data import EvalData, Problem

# Tasks share no more than a tenth of their items.
_APART = 0.9
# Two files with as many items each may be two gradings of the same answers (strict and lenient); so many hardly are.
_HARDLY_GRADINGS = 3


def tasks_by_file(parts: Sequence[EvalData]) -> tuple[list[EvalData], list[Problem]]:
    """Make each file a benchmark of its systems, where it is a task of a suite, and say so; `parts` are what single files hold.

    Files of a system with items in common may be its runs, and so may those whose names differ in a number alone (1, 2), or say
    so (seed-a). Items that each task counts anew are not the same.
    """
    names = [_name_without_task(part) for part in parts]
    files: dict[str, list[int]] = {}
    for place, part in enumerate(parts):
        for system in part.outcomes["system"].unique() if names[place] else ():
            files.setdefault(system, []).append(place)
    tasks: set[str] = set()
    for places in files.values():
        called = {names[place] for place in places}
        if len(called) < len(places) or len(called) == 1:
            continue
        items = {frozenset(parts[place].outcomes["item"].unique()) for place in places}
        tasks |= called if _are_tasks(called, items) else set()
    if not tasks:
        return [*parts], [*_doubt(parts, names)]
    path = next(str(part.runs["source"][0]) for part, name in zip(parts, names, strict=True) if name in tasks)
    message = f"is one of {len(tasks)} files of a system, each of which is a task: {comma_list(sorted(tasks))}"
    made = [_as_task(part, name) if name in tasks else part for part, name in zip(parts, names, strict=True)]
    return made, [Problem(path=path, message=message, severity="note")]


def _are_tasks(names: AbstractSet[str], items: AbstractSet[frozenset[str]]) -> bool:
    """Whether files are tasks, by their names and the items of each.

    >>> [
    ...     _are_tasks({*names}, {frozenset("01"), frozenset("0")})
    ...     for names in (["arc", "law"], ["1", "2"], ["run-a", "run-b"])
    ... ]
    [True, False, False]
    >>> [_are_tasks({"task1", "task2"}, {frozenset(ids)}) for ids in ("01", "xy")]
    [True, False]
    >>> _are_tasks({"monday", "tuesday"}, {frozenset("xyz"), frozenset("xy")})
    False
    >>> [_are_tasks({*names}, {frozenset("01")}) for names in (["strict", "lenient"], ["arc", "law", "math"])]
    [False, True]
    """
    kinds = {re.sub(r"\d+", "", name) for name in names}
    words = {word for kind in kinds for word in words_of(kind).split("_")}
    say_so = bool(words & ROLES["task"].names.keys())
    if words & ROLES["trial"].names.keys() or not (say_so or len(kinds) == len(names)):
        return False
    sizes = [len(own) for own in items]
    counted = all(own == frozenset(str(k + ("0" not in own)) for k in range(len(own))) for own in items)
    if counted and max(sizes) > 1:
        return say_so or len(items) > 1 or len(names) >= _HARDLY_GRADINGS
    return len(items) == len(names) and len(frozenset[str]().union(*items)) >= _APART * sum(sizes)


def _doubt(parts: Sequence[EvalData], names: Sequence[str]) -> Iterator[Problem]:
    """Say that files which are models here, each with items of its own, may be tasks of one model."""
    own = [
        part for part, name in zip(parts, names, strict=True) if name and {*part.outcomes["system"].unique()} == {name}
    ]
    if len(own) > 1 and len({frozenset(part.outcomes["item"].unique()) for part in own}) == len(own):
        message = (
            f"this file and {len(own) - 1:,} more name no model, and each has other items: each is a model here, where equal "
            f"ids are the same item; if they are tasks of one model: {Option('map', '@NAME', of='model')}"
        )
        yield Problem(path=str(own[0].runs["source"][0]), message=message, severity="note")


def _name_without_task(part: EvalData) -> str:
    """Return what a table is called that names no task and no benchmark; "" for any other file."""
    runs, outcomes = part.runs, part.outcomes
    is_plain = set(runs["loader"]) == {TABLE.name} and set(runs["benchmark"]) == {DEFAULT_BENCHMARK} and outcomes.height
    return Source(path=Path(runs["source"][0])).stem if is_plain and set(outcomes["task"].unique()) == {""} else ""


def _as_task(part: EvalData, name: str) -> EvalData:
    """Return the outcomes of a file as a benchmark of the suite.

    Another system's file may be the same byte by byte, so its run is named anew.
    """
    systems = part.runs["system"].unique()
    run = pl.format("{}/{}", pl.lit(systems[0]), pl.col("run")) if len(systems) == 1 else pl.col("run")
    return replace(
        part,
        outcomes=part.outcomes.with_columns(run.alias("run"), benchmark=pl.lit(name)),
        metrics=part.metrics.with_columns(benchmark=pl.lit(name)),
        runs=part.runs.with_columns(run.alias("run"), benchmark=pl.lit(name)),
    )
