"""What the trials of an item are: draws of one run, chosen judges or seeds, or whole runs that stand for more; what runs add."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from evalstats.analysis.design.metric import difference_in_unit
from evalstats.analysis.result import MethodRow, method_row, notes
from evalstats.document.model import Note
from evalstats.document.numbers import number, p_words, scaled
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural, quoted_list
from evalstats.options import RunsAre
from evalstats.record import record
from evalstats.schema.columns import NAMED_TRIALS, TRIAL_LABEL
from evalstats.schema.tables import levels_of
from evalstats.stats.runs import (
    SHARE_OF_RANGE,
    SHARE_OF_SD,
    RunEffects,
    RunSd,
    RunSpread,
    ScoreBlocks,
    equal_runs_p,
    run_effects,
    run_spread,
)
from evalstats.stats.trials import same_items_difference
from evalstats.table.items import (
    HELPER,
    ITEM_KEY,
    TRIAL_LABELS,
    Floats,
    in_both,
    scores_by_trial,
    seen_trials,
    trial_sets,
)
from evalstats.table.metric import MetricFacts, PassKind
from evalstats.table.score_table import ScoreTable
from evalstats.table.systems import SeveralRunsError, System

# So many named judges or seeds that both sides share were chosen; more are a crowd.
MOST_CHOSEN = 5
# Labels are those of whole runs where there are few of them, or not many more than an item has trials.
_FEW_LABELS = 10
# A p so small says that the trials of one run differ as a whole; an interval that runs widen so much is worth a line.
_SMALL, _WIDER = 0.01, 1.25
# Scores of so many items are held at once; those of 1,024 trials take 80 MB.
_ITEMS_AT_ONCE = 10_000
_NAMED = 3
_UNIT, _PLACE = f"{HELPER}unit", f"{HELPER}place"
# A side of one run, which tells nothing of how runs differ.
ALONE = RunEffects(n_runs=1, reach=1.0, squares=np.zeros(0), information=np.zeros(0), noise=0.0, df_noise=0, spread=0.0)


@record
class TrialDesign:
    """What the trials of some systems are.

    Attributes
    ----------
    role
        "draws": repetitions of one run, which have nothing in common but the run; "fixed": the runs, judges or seeds that are
        asked about; "sample": some of more runs, whose variation belongs into the interval.
    shared
        Whether trial k is the same judge, seed or run on all sides, so that what it adds to all cancels.
    called
        What the source calls a trial.
    by_run
        Whether a run of its own, and not a trial within it, is the unit.
    declared
        Whether the user said what they are.
    run_sd
        What the user says of the standard deviation from run to run.
    """

    role: RunsAre
    shared: bool = False
    called: str = "trial"
    by_run: bool = False
    declared: bool = False
    run_sd: RunSd | None = None

    def spread(self, table: ScoreTable, *, weights: Floats | None = None) -> RunSpread | None:
        """Return the run standard deviation, weighed by what the runs show; None where no interval counts it."""
        sides = self.effects(table.items, table.systems, weights=weights) if self.role == "sample" else []
        if self.run_sd is not None and self.run_sd.known:
            return run_spread(*(sides or [ALONE] * len(table.systems)), prior=self.run_sd)
        prior = usual_prior(table.metric, sides) if self.run_sd is None and sides else self.run_sd
        return run_spread(*sides, prior=prior) if sides and prior is not None else None

    def effects(
        self, items: pl.DataFrame, arms: Sequence[System], *, weights: Floats | None = None
    ) -> list[RunEffects]:
        """Reduce every side's cells (or the differences of two, trial by trial) to what they tell of its runs."""
        found = self.scores(items, arms)
        if found and self.shared and len(found) == 2:
            return [run_effects(_difference(*found), weights=weights, difference=True)]
        return [run_effects(each.scores, weights=weights) for each in found]

    def matrix(self, items: pl.DataFrame, arms: Sequence[System]) -> Floats | None:
        """Return the scores of trials that all systems share, shape (n_arms, n_items, n_trials)."""
        found = self.scores(items, arms)
        if not found or any(each.names != found[0].names for each in found):
            return None
        return np.stack([np.concatenate(list(each.scores)) for each in found])

    def scores(self, items: pl.DataFrame, arms: Sequence[System]) -> list["RunScores"]:
        """Return the scores of every system by item and trial; nothing where those of any are not known, or it has none."""
        if not items.height or not any(arm.several_trials for arm in arms):
            return []
        found = [each for arm in arms if (each := run_scores(items, arm, by_run=self.by_run)) and each.names]
        return found if len(found) == len(arms) else []


def usual_prior(metric: MetricFacts, sides: Sequence[RunEffects]) -> RunSd | None:
    """Return the prior where none is declared: its scale is 1% of the score's range, or 2% of the spread of scores."""
    scale = SHARE_OF_RANGE * metric.span if metric.span is not None else 0.0
    if metric.span is None:
        scale = SHARE_OF_SD * max((side.spread for side in sides), default=0.0)
    return RunSd(value=scale) if scale > 0.0 else None


def trial_design(
    arms: Sequence[System],
    metric: MetricFacts,
    *,
    called: str,
    runs: str | None = None,
    run_sd: float | str | None = None,
    shared: bool | None = None,
) -> TrialDesign:
    """Decide what the trials of some systems are: by what is declared, else by what names them.

    Trials that are merely counted repeat one run, whatever their column is called unless it names runs or seeds. Runs in files of
    their own and labels of runs or seeds are whole runs, and a sample. Judges, seeds and other names that all sides share are
    paired; up to five of them were chosen, and are fixed. `design/trials.md` says why.
    """
    by_run = any(arm.by_run for arm in arms)
    names = [set(_units(arm)) for arm in arms]
    same = len(arms) > 1 and len(names[0]) > 1 and all(each == names[0] for each in names)
    kind = _kind_of(arms, called, names)
    paired = shared if shared is not None else same and kind in ("seed", "judge", "name")
    few = max(map(len, names)) <= MOST_CHOSEN
    role: RunsAre = "draws"
    if runs == "sample" and not by_run and max(map(len, names)) < 2 and (run_sd is None or "prior" in str(run_sd)):
        # Scores of several judges are averaged, unless they are trials: then nothing is left that could be a sample.
        raise InputError(
            f"{Option('runs', runs)} needs runs, or trials that could be runs, and no side has several; leave it out, or name "
            f"the column that tells runs (or judges) apart: {Option('map', blank='COLUMN', of='trial')}"
        )
    if runs is not None:
        role = runs  # pyright: ignore[reportAssignmentType] - it is one of them
    elif kind in ("run", "seed", "judge") or paired:
        # Items that were tried once each, under one of several seeds or judges, tell nothing of these.
        nested = max(map(_most_trials, arms)) < 2 <= max(map(len, names))
        chosen = few and not nested and kind != "run" and (paired or (kind == "judge" and len(arms) == 1))
        role = "fixed" if chosen else "sample"
    known = run_sd_in_unit(run_sd, metric)
    if known is not None and role != "sample" and not (known.known and role == "draws"):
        what = (
            "these runs alone are asked about"
            if role == "fixed"
            else "there are no whole runs that it could be held to"
        )
        raise InputError(
            f"{Option('run_sd', run_sd)} has nothing to act on: {what}; leave it out, or say {Option('runs', 'sample')}"
        )
    word = "run" if by_run else called
    return TrialDesign(role=role, shared=paired, called=word, by_run=by_run, declared=runs is not None, run_sd=known)


def run_sd_in_unit(run_sd: float | str | None, metric: MetricFacts) -> RunSd | None:
    """Return a declared run standard deviation in the metric's own unit: "1.4pp" is known, "prior:2pp" the scale of its prior."""
    if run_sd is None:
        return None
    text = str(run_sd).strip()
    known = not text.startswith("prior:")
    if known and text.strip("0.") == "" and text.strip("."):
        return RunSd(value=0.0, known=True)
    value = difference_in_unit(text.removeprefix("prior:").strip(), metric, name="run_sd")
    return RunSd(value=value, known=known)


_Kind = Literal["run", "seed", "judge", "name", "count"]


def _kind_of(arms: Sequence[System], called: str, names: Sequence[set[str]]) -> _Kind:
    """Tell what trials are named after; those of one run that are only counted have no names."""
    if any(arm.by_run for arm in arms):
        return "run"
    words = re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", called).lower())
    of_runs = any(word in ("run", "runs", "runid", "rerun", "reruns") for word in words)
    of_seeds = any(word.startswith("seed") for word in words)
    if of_runs or of_seeds:
        whole = all(len(own) <= max(_FEW_LABELS, 2 * _most_trials(arm)) for arm, own in zip(arms, names, strict=True))
        return "count" if not whole else "run" if of_runs else "seed"
    if not all(map(_labelled, arms)):
        return "count"
    return "judge" if NAMED_TRIALS.search(called.lower()) else "name"


def _most_trials(arm: System) -> int:
    """Return the most trials that any item has."""
    if trial_sets(arm.rows) is not None:
        return len(seen_trials(arm.rows))
    key = [name for name in ITEM_KEY if name in arm.rows.columns]
    return int(arm.rows.group_by(key).len()["len"].max() or 0)  # pyright: ignore[reportArgumentType]


def unit_of(arm: System, *, by_run: bool) -> pl.Expr:
    """Return what names the whole run that a row belongs to, as text: its run, the label of its trial, or its number."""
    if by_run:
        # Runs are numbered, so that no run's name can be that of a key, and in the order of their trials.
        return pl.struct(pl.col("trial").min().over("run"), "run").rank("dense").cast(pl.String).alias(_UNIT)
    return pl.col(TRIAL_LABEL if _labelled(arm) else "trial").cast(pl.String).alias(_UNIT)


def paired_trials(
    baseline: System, candidate: System, design: TrialDesign, *, declared: bool | None, contrast: str
) -> tuple[System, System, tuple[str, ...]]:
    """Keep, item by item, only scores of trials that both sides have (all where trials are not shared), and say so.

    `declared` tells whether the user says that they are.
    """
    if not design.shared:
        return baseline, candidate, ()
    names = [_units(arm) for arm in (baseline, candidate)]
    _refuse_strangers(baseline, candidate, names)
    key = [*(name for name in ITEM_KEY if name != contrast), _UNIT]
    if design.by_run:
        key.append("trial")
    both = (baseline.rows, candidate.rows)
    if any(trial_sets(own) is None for own in both):
        both = tuple(arm.rows.with_columns(unit_of(arm, by_run=design.by_run)) for arm in (baseline, candidate))
        first, second = (_kept(own, other, key).drop(_UNIT) for own, other in (both, both[::-1]))
        lost = sum(own.height for own in both) - first.height - second.height
    else:
        items = [name for name in key if name in ITEM_KEY]
        first, second = (in_both(own, other, items) for own, other in (both, both[::-1]))
        before, after = (sum(int(own["n_trials"].sum()) for own in sides) for sides in (both, (first, second)))
        lost = before - after
    common = sorted(set(names[0]) & set(names[1]))
    named = quoted_list(common) if _labelled(baseline) and not design.by_run else str(len(common))
    way_out = "" if declared else f"; if they have nothing in common, add {Option('shared_trials', value=False)}"
    told = [f"Trials are paired by {design.called} ({named} on both sides): what one adds to both cancels{way_out}"]
    if design.by_run:
        named_runs = [own.select("run", _UNIT).unique().sort(pl.col(_UNIT).cast(pl.Int64))["run"] for own in both]
        pairs = ", ".join(f"{a} with {b}" for a, b in zip(*named_runs, strict=True))
        told.append(f"Runs are paired in the order of their files: {pairs}")
    if lost:
        told.append(f"{plural(lost, 'score')} dropped: the other side has no score of that item in that trial")
    return replace(baseline, rows=first), replace(candidate, rows=second), tuple(told)


def _labelled(arm: System) -> bool:
    name = TRIAL_LABEL if trial_sets(arm.rows) is None else TRIAL_LABELS
    return name in arm.rows.columns and not arm.rows[name].null_count()


def _units(arm: System) -> list[str]:
    if trial_sets(arm.rows) is not None:
        return seen_trials(arm.rows)
    if arm.by_run:
        return levels_of(arm.rows.select(unit_of(arm, by_run=True))[_UNIT])
    named = arm.rows[TRIAL_LABEL if _labelled(arm) else "trial"]
    return [str(level) for level in levels_of(named)]


def _refuse_strangers(baseline: System, candidate: System, names: Sequence[Sequence[str]]) -> None:
    """Refuse trials that are declared to be shared and cannot be."""
    if baseline.by_run != candidate.by_run or (baseline.by_run and len(names[0]) != len(names[1])):
        raise InputError(
            f"shared trials need as many runs on both sides, and {baseline.name!r} has {len(baseline.runs)} and "
            f"{candidate.name!r} {len(candidate.runs)}; leave out {Option('shared_trials', value=True)}"
        )
    if not set(names[0]) & set(names[1]):
        raise InputError(
            f"no trial is on both sides, so none can be shared: {baseline.name!r} has {quoted_list(names[0])}, "
            f"{candidate.name!r} has {quoted_list(names[1])}; leave out {Option('shared_trials', value=True)}"
        )


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


class RunScores(NamedTuple):
    """Names of whole runs, and the scores of items in them."""

    names: list[str]
    scores: ScoreBlocks


def run_scores(items: pl.DataFrame, arm: System, *, by_run: bool) -> RunScores | None:
    """Return the scores by item (in the order of `items`) and run or trial; None where only averages of trials are known."""
    key = [name for name in ITEM_KEY if name in items.columns]
    rows = arm.rows.filter(pl.col("status") == "scored")
    if not by_run and trial_sets(rows) is not None:
        names, blocks = scores_by_trial(rows, items.select(key), at_once=_ITEMS_AT_ONCE)
        return RunScores(names, ScoreBlocks(items.height, len(names), blocks))
    if not by_run and (rows["trial"].null_count() or (rows["n_trials"].fill_null(1) > 1).any()):
        return None
    unit = unit_of(arm, by_run=by_run)
    wide = rows.select(*key, unit, "score").pivot(_UNIT, index=key, values="score", aggregate_function="mean")
    found = items.select(key).join(wide, on=key, how="left", maintain_order="left").drop(key).cast(pl.Float64)
    table = found.select(sorted(found.columns))

    def cut() -> Iterator[Floats]:
        return (part.to_numpy() for part in table.iter_slices(_ITEMS_AT_ONCE))

    return RunScores(table.columns, ScoreBlocks(items.height, table.width, cut))


def _difference(first: RunScores, second: RunScores) -> ScoreBlocks:
    """Return the second side minus the first, in the runs that both have."""
    common = [name for name in first.names if name in second.names]
    own, other = ([each.names.index(name) for name in common] for each in (first, second))

    def blocks() -> Iterator[Floats]:
        return (after[:, other] - before[:, own] for before, after in zip(first.scores, second.scores, strict=True))

    return ScoreBlocks(first.scores.n_items, len(common), blocks)


def same_items_row(table: ScoreTable, design: TrialDesign, *, conf_level: float) -> MethodRow | None:
    """Return the difference on these very items for new trials, where every item has the same trials."""
    found = design.scores(table.items, table.systems)
    scores = [each.scores for each in found]
    if found and design.shared:
        # What trials add to both cancels in the difference of each.
        apart = _difference(*found)
        scores = [replace(apart, blocks=lambda: (np.zeros_like(block) for block in apart)), apart]
    if not found or any(side.n_runs < 2 or any(np.isnan(block).any() for block in side) for side in scores):
        return None
    row = same_items_difference(*scores, conf_level=conf_level)
    return method_row(row, "other estimand", "for these very items, and new trials")


def run_notes(
    table: ScoreTable, design: TrialDesign, spread: RunSpread | None, *, wider: float = 1.0
) -> tuple[Note, ...]:
    """Say what whole runs add to the interval, which is `wider` times as wide for it, or that they are not counted."""
    if spread is None:
        untold = design.role == "sample" and any(arm.several_trials for arm in table.systems)
        text = "The trials do not show how scores vary from run to run: no interval includes it"
        return notes("choice", [text] if untold else [], caution=False)
    size = size_words(spread.median, table.metric)
    counts = (
        f"{and_list([str(n) for n in dict.fromkeys(spread.n_runs)], 3)} {'runs' if max(spread.n_runs) > 1 else 'run'}"
    )
    each = " of each" if len(set(spread.n_runs)) == 1 and len(table.systems) > 1 and not design.shared else ""
    what = "Run to run, in the difference" if design.shared else "Run to run"
    size = f"{size}, as declared" if spread.known else f"about {size} ({counts}{each})"
    times = (
        f"; the interval is {number(wider, 1)} times as wide for it"
        if wider >= _WIDER
        else "; the interval includes it"
    )
    return (Note(kind="choice", text=f"{what}: {size}{times}", caution=wider >= _WIDER),)


def size_words(run_sd: float, metric: MetricFacts) -> str:
    """Write a standard deviation from run to run: known badly, so that a tenth of a point is enough."""
    return f"{scaled(run_sd, metric.scale, 1 if metric.shown_unit == 'pp' else 2)} {metric.shown_unit}".rstrip()


def trials_note(table: ScoreTable, design: TrialDesign) -> tuple[Note, ...]:
    """Say what trials that are no sample of runs are taken for: a caution where they differ as a whole by more than chance.

    By the F test of equal means (p <= .01); of trials that sides share, those of the difference, in which the rest cancels.
    """
    arms = table.systems
    if design.role == "sample" or not any(arm.several_trials for arm in arms):
        return ()
    groups = [arms[k : k + 2] for k in range(0, len(arms) - 1, 2)] if design.shared else [[arm] for arm in arms]
    p = equal_runs_p([each for group in groups for each in design.effects(table.items, group)])
    differ = p is not None and p <= _SMALL
    remedy = ("If each ", design.called, " is a run of its own, add ", Option("runs", "sample"))
    if design.role == "draws":
        text = f"Means of the {design.called}s differ by more than chance explains ({p_words(p)}), and the interval ignores that"
        return (Note(kind="dependence", text=text, remedy=remedy),) if differ else ()
    each = plural(max(len(set(_units(arm))) for arm in arms), design.called)
    text = f"The {each} {'are' if not each.startswith('1 ') else 'is'} treated as fixed: the answer holds for these"
    caution = differ and design.shared and not design.declared
    if caution:
        text += f", and the difference varies between them by more than chance explains ({p_words(p)})"
    general = "" if design.declared else ("To generalise to others, add ", Option("runs", "sample"))
    return (Note(kind="choice", text=text, remedy=general, caution=caution),)


def left_out_of_several_runs(found: Mapping[str, SeveralRunsError], *, remedy: Option) -> tuple[Note, ...]:
    """Say which systems are left out since their runs answered the same items, and what would keep them."""
    if not found:
        return ()
    first = next(iter(found.values()))
    alone = f"is dropped: {first.n_runs} runs answered the same {plural(first.n_items, 'item')}"
    why = alone if len(found) == 1 else "are dropped: of each, several runs answered the same items"
    repeated = ("Add ", remedy, " for each by itself, or, if they are repetitions, ", Option("trials_from_runs"))
    return (Note(kind="left_out", text=f"{and_list([*found], 3)} {why}", remedy=repeated),)


def wanted_pass(pass_hat: int | None, pass_at: int | None) -> tuple[PassKind, int] | None:
    """Return which of the two is asked for, with its k; None where neither is."""
    if pass_hat is not None and pass_at is not None:
        raise InputError(
            "pass_hat (all of k trials succeed) and pass_at (any of k succeeds) are two questions; ask one"
        )
    k = pass_hat if pass_hat is not None else pass_at
    if k is None:
        return None
    name = "pass_hat" if pass_hat is not None else "pass_at"
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
        raise InputError(f"{name} is {k!r}; it is a number of trials, a whole number from 1")
    return ("hat" if pass_hat is not None else "at"), k


def passing(table: ScoreTable, wanted: tuple[PassKind, int] | None) -> tuple[ScoreTable, tuple[str, ...]]:
    """Make pass^k or pass@k the value of every item, where that is asked for, and note which items are left out.

    An item with fewer than k scored trials of a system has no value there and counts as missing.
    """
    if wanted is None:
        return table, ()
    found, k = table.passing(*wanted), wanted[1]
    both, one = (" on both sides", " on a side") if len(table.systems) > 1 else ("", "")
    if not found.paired().any():
        most = int(table.n_scored.max(initial=0))
        raise CannotAnswerError(
            f"no item has {plural(k, 'scored trial')}{both}; the most that any has is {most}; to extrapolate, use score"
        )
    short = table.paired() & ~found.paired()
    if not short.any():
        return found, ()
    names = ", ".join(table.labels(short, _NAMED))
    more = f" and {short.sum() - _NAMED:,} more" if short.sum() > _NAMED else ""
    items = plural(int(short.sum()), "item")
    return found, (f"{items} with fewer than {k} scored trials{one} are dropped: {names}{more}",)
