"""Whether the curves of a benchmark's items fit, and whether families of models share them, as rows of a result."""

from collections.abc import Mapping, Sequence

import numpy as np

from evalstats.analysis.items.result import AbilityGroup, FamilyItem, FamilyRow
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.stats.checks import BoolArray, FloatArray
from evalstats.stats.item_fit import FALSE_DISCOVERIES, FEWEST_OF_FAMILY, curvature_tests, family_tests
from evalstats.stats.item_response import ItemCurves
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.table.systems import System

_MOST_GROUPS, _OF_GROUP = 8, 5

Key = tuple[str | None, str, str | None]


@record
class CurveFit:
    """Of every item the score of its curvature, its p-values, and whether it is found to misfit; NaN where it is not tested.

    `reason` says why none is tested.
    """

    z: FloatArray
    p_value: FloatArray
    p_adjusted: FloatArray
    misfit: BoolArray
    reason: str | None = None


def curve_fit(answers: FloatArray, curves: ItemCurves, *, seed: int) -> CurveFit:
    """Test whether the curves fit, with a false discovery rate of 5%."""
    z, p_value, p_adjusted = (np.full(len(answers), np.nan) for _ in range(3))
    reason = None
    try:
        found = curvature_tests(answers, curves, seed=seed)
        z, p_value = found.z[:, 0], found.p_value[:, 0]
        if found.tested.any():
            p_adjusted[found.tested] = benjamini_hochberg(p_value[found.tested])
    except CannotAnswerError as error:
        reason = str(error)
    misfit = np.asarray(p_adjusted <= FALSE_DISCOVERIES, dtype=np.bool_)
    return CurveFit(z=z, p_value=p_value, p_adjusted=p_adjusted, misfit=misfit, reason=reason)


def ability_groups(curves: ItemCurves, answers: FloatArray) -> tuple[tuple[AbilityGroup, ...], FloatArray]:
    """Deal models of similar ability into groups, and return these and the share of each that solves each item.

    Groups have at least five models; the shares have shape (n_items, n_groups), with none where models are fewer than ten.
    """
    n_groups = min(_MOST_GROUPS, len(curves.ability) // _OF_GROUP)
    if n_groups < 2:
        return (), np.empty((len(answers), 0))
    parts = np.array_split(np.argsort(curves.ability, kind="stable"), n_groups)
    groups = tuple(AbilityGroup(ability=float(curves.ability[part].mean()), n_models=len(part)) for part in parts)
    return groups, np.stack([answers[:, part].mean(axis=1) for part in parts], axis=1)


def families_of(
    family: str | Mapping[str, str], systems: Sequence[System], data: EvalData
) -> tuple[tuple[str, ...], tuple[str | None, ...]]:
    """Return the families that have enough models to be tested, and that of every system; None for any other.

    Raises
    ------
    InputError
        If a mapping names a model that is not there, or one system is of several families.
    CannotAnswerError
        If no family has enough models, with as many beside it.
    """
    names = [system.name for system in systems]
    if isinstance(family, Mapping):
        strange = [name for name in family if name not in names]
        if strange:
            raise InputError(
                f"family names {quoted_list(strange)}, which is no system here; there are {quoted_list(names)}"
            )
        of_system = [family.get(name) for name in names]
    else:
        column = data.factor(family)
        of_system = [_only_level(system, column) for system in systems]
    counts = {name: of_system.count(name) for name in sorted({each for each in of_system if each is not None})}
    large = tuple(name for name, n in counts.items() if FEWEST_OF_FAMILY <= n <= len(names) - FEWEST_OF_FAMILY)
    if not large:
        told = and_list([f"{name} has {n}" for name, n in counts.items()], 6) or "no model has one"
        raise CannotAnswerError(
            f"a family is set against all other models, and either side needs at least {FEWEST_OF_FAMILY} models; {told} of "
            f"{len(names)}. Leave out {Option('family')}, or name larger families"
        )
    return large, tuple(each if each in large else None for each in of_system)


def _only_level(system: System, column: str) -> str | None:
    levels = system.rows[column].drop_nulls().unique().to_list()
    if len(levels) > 1:
        raise InputError(
            f"{system.name!r} has {plural(len(levels), 'level')} of {column!r} ({quoted_list(levels, 3)}); a model has one "
            "family"
        )
    return str(levels[0]) if levels else None


def family_rows(
    answers: FloatArray,
    curves: ItemCurves,
    keys: Sequence[Key],
    families: tuple[tuple[str, ...], tuple[str | None, ...]],
    *,
    seed: int,
) -> tuple[tuple[FamilyRow, ...], tuple[FamilyItem, ...], tuple[str, ...]]:
    """Return a row for each family, one for each item on which it differs from others as able, and what is amiss."""
    names, of_system = families
    codes = np.array([-1 if each is None else names.index(each) for each in of_system])
    found = family_tests(answers, curves, codes, seed=seed)
    # What one family knows makes the others look as if they lagged: an item counts for the family that stands out most.
    away = np.abs(np.nan_to_num(found.z))
    shown = (found.p_adjusted <= FALSE_DISCOVERIES) & (away == away.max(axis=1, keepdims=True))
    items = [
        FamilyItem(
            task=keys[at][0],
            item=keys[at][1],
            variant=keys[at][2],
            family=names[place],
            share=float(answers[at, codes == place].mean()),
            expected=float(answers[at, codes == place].mean() - found.excess[at, place]),
            p_value=float(found.p_value[at, place]),
            p_adjusted=float(found.p_adjusted[at, place]),
        )
        for at, place in np.argwhere(shown).tolist()
    ]
    rows = tuple(
        FamilyRow(
            name=name,
            models=int((codes == place).sum()),
            n_more=int((shown[:, place] & (found.z[:, place] > 0)).sum()),
            n_fewer=int((shown[:, place] & (found.z[:, place] < 0)).sum()),
            n_tested=int((~np.isnan(found.p_value[:, place])).sum()),
        )
        for place, name in enumerate(names)
    )
    lacking = sum(each is None for each in of_system)
    amiss = (
        *(() if found.settled else ("The items that families are compared on did not settle; findings may be off",)),
        *((f"{plural(lacking, 'model')} belong to no family of {FEWEST_OF_FAMILY} or more",) if lacking else ()),
    )
    return rows, tuple(sorted(items, key=lambda each: (each.p_value, -abs(each.share - each.expected)))), amiss
