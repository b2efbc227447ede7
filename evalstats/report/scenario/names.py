"""Names that the page of scenarios can carry: long ones are shortened alike everywhere, and stay different."""

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from evalstats.analysis.scenarios.results import ScenarioModel
from evalstats.display.escape import one_line
from evalstats.report.names import LONGEST, shortened

_SHORT = 34
# Columns of the rows of a result that hold names of models or scenarios.
_NAMED = frozenset({"model", "scenario", "reference", "name", "first", "second", "ahead_in", "behind_in"})


def scenario_page_names(*results: ScenarioModel) -> dict[str, str]:
    """Return what the page calls each name that is too long for it; two names that would become one get a number."""
    every = [name for found in results for name in (*found.model_names, *found.scenario_names, found.benchmark)]
    long = [name for name in dict.fromkeys(every) if len(one_line(name)) > LONGEST]
    taken = set(every) - set(long)
    short: dict[str, str] = {}
    for name in long:
        cut = shortened(name, _SHORT)
        number, chosen = 1, cut
        while chosen in taken:
            number += 1
            chosen = f"{cut} ({number})"
        taken.add(chosen)
        short[name] = chosen
    return short


def with_scenario_names(result: ScenarioModel, names: Mapping[str, str]) -> ScenarioModel:
    """Return the result with names replaced, in its sentences as well."""
    if not names:
        return result
    said = partial(_said, names)
    ranking, found = result.ranking, result.reliability
    if ranking is not None:
        ranking = replace(ranking, words=said(ranking.words), crossings=_rows(ranking.crossings, names))
    if found is not None:
        found = replace(found, reason=None if found.reason is None else said(found.reason))
    return replace(
        result,
        benchmark=said(result.benchmark),
        reference=names.get(result.reference, result.reference),
        weights=said(result.weights),
        weight_shares=tuple((names.get(name, name), share) for name, share in result.weight_shares),
        cells=_rows(result.cells, names),
        models=_rows(result.models, names),
        scenarios=_rows(result.scenarios, names),
        drops=_rows(result.drops, names),
        pairs=_rows(result.pairs, names),
        # A level may be put together of several names.
        effects=tuple(replace(row, level=said(row.level)) for row in result.effects),
        ranking=ranking,
        reliability=found,
        warnings=tuple(map(said, result.warnings)),
        notes=tuple(map(said, result.notes)),
    )


def _said(names: Mapping[str, str], text: str) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def _rows(rows: tuple[Any, ...], names: Mapping[str, str]) -> tuple[Any, ...]:
    """Replace names in rows: whole cells in the columns that hold names, and wherever they stand in reasons."""
    return tuple(_row(row, names) for row in rows)


def _row(row: Any, names: Mapping[str, str]) -> Any:
    changed: dict[str, str] = {}
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if not isinstance(value, str):
            continue
        new = names.get(value, value) if field.name in _NAMED else _said(names, value)
        if new != value:
            changed[field.name] = new
    return replace(row, **changed) if changed else row
