"""Trials that both sides share: the same judge, seed or simulated user stands behind the k-th trial of either."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY
from evalstats.analysis.arms import Arm, listed
from evalstats.document.numbers import plural
from evalstats.errors import InputError
from evalstats.schema.columns import TRIAL_LABEL

# Of two shared trials nothing can be said of how the difference varies between them: pairing two is the user's to declare.
ENOUGH = 3
_UNIT, _PLACE = f"{HELPER}unit", f"{HELPER}place"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialsOfBoth:
    """Both sides' rows, whether their trials are shared, and what the reader must know of that."""

    baseline: Arm
    candidate: Arm
    shared: bool
    notes: tuple[str, ...] = ()


def unit_of(arm: Arm) -> pl.Expr:
    """Return what names the full run that a row belongs to, as text: its run, the label of its trial, or its number."""
    if arm.by_run:
        # Runs are numbered, so that no run's name can be that of a key, and in the order of their trials.
        return pl.struct(pl.col("trial").min().over("run"), "run").rank("dense").cast(pl.String).alias(_UNIT)
    return pl.col(TRIAL_LABEL if _labelled(arm) else "trial").cast(pl.String).alias(_UNIT)


def trials_of_both(
    baseline: Arm, candidate: Arm, *, declared: bool | None, contrast: str, called: str = "trial"
) -> TrialsOfBoth:
    """Decide whether the sides share their trials; where they do, keep only scores of trials that both have, item by item.

    Trials that carry labels (a judge's name, a seed) are shared where both sides have the same three labels or more; trials
    that are merely counted are not. Pairing trials that have nothing in common costs degrees of freedom and is valid; to
    leave shared ones unpaired counts as noise what cancels (`design/trials.md`).

    Parameters
    ----------
    declared
        What the user says; None leaves it to the labels.
    contrast
        The column that names the sides.
    called
        What the source calls its trials.

    Raises
    ------
    InputError
        If shared trials are declared and the sides have none in common.
    """
    names = [_units(arm) for arm in (baseline, candidate)]
    same = len(names[0]) >= ENOUGH and set(names[0]) == set(names[1])
    labelled = not (baseline.by_run or candidate.by_run) and _labelled(baseline) and _labelled(candidate)
    if declared is False or (declared is None and not (same and labelled)):
        return TrialsOfBoth(baseline=baseline, candidate=candidate, shared=False)
    _refuse_strangers(baseline, candidate, names)
    key = [*(name for name in ITEM_KEY if name != contrast), _UNIT]
    if baseline.by_run:
        key.append("trial")
    rows = [arm.rows.with_columns(unit_of(arm)) for arm in (baseline, candidate)]
    kept = [_kept(own, other, key) for own, other in (rows, rows[::-1])]
    lost = sum(old.height - new.height for old, new in zip(rows, kept, strict=True))
    common = len(set(names[0]) & set(names[1]))
    named = (
        listed(sorted(set(names[0]) & set(names[1]))) if _labelled(baseline) and not baseline.by_run else f"{common}"
    )
    notes = [_told(named, "run" if baseline.by_run else called, declared=declared)]
    if baseline.by_run:
        named_runs = [own.select("run", _UNIT).unique().sort(pl.col(_UNIT).cast(pl.Int64))["run"] for own in rows]
        pairs = ", ".join(f"{a} with {b}" for a, b in zip(*named_runs, strict=True))
        notes.append(f"runs are paired in the order of their files: {pairs}")
    if lost:
        notes.append(f"{plural(lost, 'score')} left out: the other side has no score of that item in that trial")
    first, second = (own.drop(_UNIT) for own in kept)
    return TrialsOfBoth(
        baseline=replace(baseline, rows=first),
        candidate=replace(candidate, rows=second),
        shared=common > 1,
        notes=tuple(notes),
    )


def labels_in_common(arms: Sequence[Arm]) -> bool:
    """Tell whether all systems have trials of the same labels, enough of them to be taken as shared."""
    if any(arm.by_run or not _labelled(arm) for arm in arms):
        return False
    first, *others = (set(_units(arm)) for arm in arms)
    return len(first) >= ENOUGH and all(each == first for each in others)


def _told(named: str, called: str, *, declared: bool | None) -> str:
    way_out = "" if declared else "; if they have nothing in common, add --independent-trials (shared_trials=False)"
    return f"trials are paired by {called} ({named} on both sides): what one adds to both cancels{way_out}"


def _labelled(arm: Arm) -> bool:
    return TRIAL_LABEL in arm.rows.columns and not arm.rows[TRIAL_LABEL].null_count()


def _units(arm: Arm) -> list[str]:
    return arm.rows.select(unit_of(arm))[_UNIT].drop_nulls().unique().to_list()


def _refuse_strangers(baseline: Arm, candidate: Arm, names: Sequence[Sequence[str]]) -> None:
    """Refuse trials that are declared to be shared and cannot be."""
    if baseline.by_run != candidate.by_run or (baseline.by_run and len(names[0]) != len(names[1])):
        message = (
            f"shared trials need as many runs on both sides, and {baseline.name!r} has {len(baseline.runs)} and "
            f"{candidate.name!r} {len(candidate.runs)}; leave out --shared-trials (shared_trials in Python)"
        )
        raise InputError(message)
    if not set(names[0]) & set(names[1]):
        message = (
            f"no trial is on both sides, so none can be shared: {baseline.name!r} has {listed(names[0])}, "
            f"{candidate.name!r} has {listed(names[1])}; leave out --shared-trials (shared_trials in Python)"
        )
        raise InputError(message)


def _kept(own: pl.DataFrame, other: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Drop scores of items that both sides have where the other side lacks a score of that very trial."""
    items = [name for name in key if name in ITEM_KEY]
    own = own.with_row_index(_PLACE)
    scored = other.filter(pl.col("status") == "scored")
    alone = own.join(other, on=items, how="anti")
    both = own.join(other, on=items, how="semi")
    paired = both.join(scored, on=list(key), how="semi", nulls_equal=True)
    failed = both.filter(pl.col("status") != "scored").join(paired, on=list(key), how="anti", nulls_equal=True)
    return pl.concat([paired, failed, alone]).sort(_PLACE).drop(_PLACE)
