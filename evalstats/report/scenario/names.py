"""Names that the page of scenarios can carry: long ones are shortened alike everywhere, and stay different."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.report.names import different_short_names, replacing

# Columns of the rows of a result that hold names of models or scenarios.
_NAMED = frozenset({"model", "scenario", "reference", "name", "first", "second", "ahead_in", "behind_in"})


def scenario_page_names(*results: ScenarioModel) -> dict[str, str]:
    """Return what the page calls each name that is too long for it; two names that would become one get a number."""
    every = [name for found in results for name in (*found.model_names, *found.scenario_names, found.benchmark)]
    return different_short_names(every)


def with_scenario_names(result: ScenarioModel, names: Mapping[str, str]) -> ScenarioModel:
    """Return the result with names replaced, in its sentences as well."""
    if not names:
        return result
    said = replacing(names)
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


def _rows(rows: tuple[Any, ...], names: Mapping[str, str]) -> tuple[Any, ...]:
    """Replace names in rows: whole cells in the columns that hold names, and wherever they stand in reasons."""
    said = replacing(names)
    return tuple(_row(row, names, said) for row in rows)


def _row(row: Any, names: Mapping[str, str], said: Callable[[str], str]) -> Any:
    changed: dict[str, str] = {}
    for field in dataclasses.fields(row):
        value = getattr(row, field.name)
        if not isinstance(value, str):
            continue
        new = names.get(value, value) if field.name in _NAMED else said(value)
        if new != value:
            changed[field.name] = new
    return replace(row, **changed) if changed else row
