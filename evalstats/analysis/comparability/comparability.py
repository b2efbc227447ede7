"""Can the two sides be compared at all? What their runs say of how they were made, looked at before any test.

A difference between two scores can be laid to the two systems only if nothing else differs. What differs falls into three
kinds. The *ruler* (version of the task, judge, harness, simulated user): a score by another ruler is another quantity, and
no statistics makes up for it. The *treatment* (prompt, worked examples, temperature): where both sides are one model it is
what is being compared; where the models differ too, it is confounded with them. The *circumstances* (limits, missing items,
broken runs, dates): they weaken a conclusion without voiding it. `settings.toml` lists the settings, `design/comparability.md`
gives the reason for each. What the user declares as intended (`accept`) is a note.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import cast

import polars as pl

from evalstats.analysis.comparability.rules import (
    LISTED,
    RULES,
    Place,
    RunDifference,
    Severity,
    SideRuns,
    Sides,
    by_rule,
    gaps,
    invalidating,
    recorded,
    shown,
    side_runs,
)
from evalstats.analysis.pairs import ids_nearly_alike
from evalstats.document.model import Note
from evalstats.document.numbers import plural
from evalstats.errors import some_of
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings
from evalstats.schema.tables import levels_of
from evalstats.table.items import HELPER, ITEM_KEY
from evalstats.table.systems import System
from evalstats.table.trial_sets import row_counts, trial_sets

# Prompts of real files differ on a question or two that was patched, or on nearly all: any line between serves.
_FEW_PROMPTS = 0.1
_MOST_ITEMS = 0.9
_BY_PLACE = ["#row"]  # what the map of a table has for items that it numbers (`evalstats/loaders/column_map.py`)
_DAYS = 90
_RELEASE = re.compile(r"v?(\d+)\.(\d+)")
_OWN, _OTHER = f"{HELPER}own", f"{HELPER}other"
# What changes the text that is sent, so that other prompts of items are no news.
_CHANGES_PROMPTS = ("n_shots", "prompt", "system_prompt", "chat_template", "fewshot_seed")
_SEVERITIES: tuple[Severity, ...] = ("invalid", "weakens", "note")
# So many rows (of one system), or so many different scores (of any two), do not agree by chance.
_ENOUGH = 10
_GAPS = 4
_TREATMENTS = frozenset(rule.name for rule in RULES if rule.treatment)
_BASIC = ("harness", "task_version", "n_shots", "prompt_hash", "temperature")


def run_comparability(
    data: EvalData,
    first: System,
    second: System,
    *,
    contrast: str = "model",
    accept: Collection[str] = (),
    leave_out: Collection[str] = (),
) -> tuple[RunDifference, ...]:
    """Return everything in which the runs of the two sides differ, gravest first; empty where nothing is known to differ.

    `contrast` names the two sides; a setting of that name is what is compared. In the settings of `accept` the sides differ on
    purpose; a name that is no setting is an InputError. `leave_out` may name "items" and "n_trials", which look at all rows.

    >>> from evalstats.schema.tables import frame_from_rows
    >>> rows = [
    ...     {"run": r, "model": r, "system": r, "benchmark": "b", "item": "q", "metric": "m", "score": 1.0}
    ...     for r in "ab"
    ... ]
    >>> rows = frame_from_rows([{**row, "status": "scored"} for row in rows], "outcomes")
    >>> runs = [{"run": r, "benchmark": "b", "n_shots": n} for r, n in (("a", 0), ("b", 5))]
    >>> data = EvalData(outcomes=rows, runs=frame_from_rows(runs, "runs"))
    >>> a, b = (System(name=r, rows=rows.filter(pl.col("run") == r), runs=(r,)) for r in "ab")
    >>> [(each.setting, each.severity) for each in run_comparability(data, a, b)]
    [('n_shots', 'invalid')]
    >>> [each.severity for each in run_comparability(data, a, b, accept=["n_shots"])]
    ['note']
    """
    accepted = check_settings(accept)
    sides = Sides(
        first=side_runs(data, first.runs, first.rows),
        second=side_runs(data, second.runs, second.rows),
        first_rows=first.rows,
        second_rows=second.rows,
        contrast=contrast,
    )
    found = [each for rule in RULES if (each := by_rule(rule, sides))]
    found.extend(_present(_judges(sides, data), _prompts(sides, {each.setting for each in found})))
    found.extend(_present(*(look(sides) for setting, look in _LOOKS.items() if setting not in leave_out)))
    found.extend(_present(_several(found, sides), _one_sided(sides), _unrecorded(sides, data)))
    told = [_intended(each, accepted, contrast) for each in found]
    return tuple(sorted(told, key=lambda each: _SEVERITIES.index(each.severity)))


def refusal(differences: Sequence[RunDifference]) -> str | None:
    """Return why the two sides cannot be compared, and how to say that it is intended; None where they can.

    >>> shots = RunDifference(
    ...     setting="n_shots", baseline="0", candidate="5", severity="invalid", explanation="shots differ"
    ... )
    >>> print(refusal([shots]))
    shots differ; if that is intended, declare it: accept = ["n_shots"] in evalstats.toml
    """
    grave = [each for each in differences if each.severity == "invalid"]
    if not grave:
        return None
    listed = ", ".join(f'"{name}"' for name in invalidating(differences))
    reasons = "; ".join(each.explanation for each in grave)
    return f"{reasons}; if that is intended, declare it: accept = [{listed}] in evalstats.toml"


def difference_notes(differences: Sequence[RunDifference]) -> tuple[Note, ...]:
    """Return what weakens a conclusion as cautions, then what a reader should know as remarks."""
    told = [each for each in differences if each.severity != "invalid"]
    made = [Note(kind="comparability", text=each.explanation, caution=each.severity == "weakens") for each in told]
    return tuple(sorted(made, key=lambda note: not note.caution))


def identical_runs(data: EvalData, first: System, second: System, *, contrast: str = "model") -> str | None:
    """Return a sentence where the two sides are one run twice; None where they are two.

    Two sides with the same score on every row of every trial are called identical if they are the same system, have ten rows
    or more and nothing recorded differs, or if the scores take so many values that agreement cannot be chance. Equal digests
    alone prove nothing: one file may hold two runs.

    >>> from evalstats.schema.tables import frame_from_rows
    >>> row = {"model": "m", "system": "m", "benchmark": "b", "metric": "acc", "score": 1.0, "status": "scored"}
    >>> rows = frame_from_rows([{**row, "run": run, "item": item} for run in "ab" for item in range(10)], "outcomes")
    >>> a, b = (System(name=r, rows=rows.filter(pl.col("run") == r), runs=(r,)) for r in "ab")
    >>> identical_runs(EvalData(outcomes=rows), a, b).partition(":")[0]
    'the two runs of m have the same score on every row of every trial'
    """
    if contrast != "model" or not _same_scores(first.rows, second.rows):
        return None
    nothing = "the difference is 0 by construction, which is no evidence that two systems are equivalent"
    systems = [tuple(rows["system"].unique().sort().to_list()) for rows in (first.rows, second.rows)]
    one_system = systems[0] == systems[1]
    if one_system and _same_files(data, first.runs, second.runs):
        return f"the two sides are the same file under two names: {nothing}"
    found = run_comparability(data, first, second)
    if one_system and row_counts(first.rows).sum() >= _ENOUGH and not {each.setting for each in found} & _TREATMENTS:
        return (
            f"the two runs of {', '.join(systems[0])} have the same score on every row of every trial: they are one run twice, "
            f"or of a system that answers alike every time, and a difference of 0 is then no evidence that two systems are "
            "equivalent"
        )
    if first.rows["score"].n_unique() >= _ENOUGH:
        return (
            "the two sides have the same score on every row of every trial, and the scores are too varied for chance: they are "
            f"one run under two names, it seems. Then {nothing}"
        )
    return None


def _same_scores(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    own, other = (trial_sets(rows) for rows in (first, second))
    if own is not None and other is not None:
        # Of merged rows the number and the set say which trials had the score.
        if own.dtype != other.dtype:
            return False
        first, second = (
            rows.with_columns(sets.struct.unnest().hash_rows().alias("trial"))
            for rows, sets in ((first, own), (second, other))
        )
    key = [*ITEM_KEY, "trial", "judge"]
    if first.height != second.height or not first["score"].count():
        return False
    if not first["score"].sort().equals(second["score"].sort(), null_equal=True):  # soon said of most
        return False
    own, other = (rows.select(*key, "score").sort(*key, "score") for rows in (first, second))
    return own.equals(other, null_equal=True)


def _same_files(data: EvalData, first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the sides come from files with the same bytes, which are not one file that holds both."""
    own, other = (data.rows_of_runs(runs) for runs in (first, second))
    if (
        not own.height
        or own["source_digest"].null_count()
        or set(own["source"].to_list()) & set(other["source"].to_list())
    ):
        return False
    return set(own["source_digest"].to_list()) == set(other["source_digest"].to_list())


def _present(*found: RunDifference | None) -> list[RunDifference]:
    return [each for each in found if each is not None]


def _several(found: Sequence[RunDifference], sides: Sides) -> RunDifference | None:
    """Warn when one model differs in several settings at once: none of them can be given the credit."""
    words = {rule.name: rule.words for rule in RULES}
    names = list(dict.fromkeys(each.setting for each in found if each.setting in _TREATMENTS))
    if {"n_shots", "prompt"} <= set(names) and sides.harness == "lm-eval":
        names.remove("prompt")  # its digest takes the number of worked examples in
    if not sides.same_model or len(names) < 2:
        return None
    *most, last = [words[name] for name in names]
    return RunDifference(
        setting="several",
        severity="weakens",
        explanation=f"{', '.join(most)} and {last} differ at once, so the difference cannot be laid to one of them",
    )


def _one_sided(sides: Sides) -> RunDifference | None:
    found = gaps(sides)
    if not found:
        return None
    told = some_of((f"{words} ({which})" for words, which in found), _GAPS)
    return RunDifference(
        setting="unrecorded",
        severity="note",
        explanation=f"recorded on one side only, so not compared: {told}",
    )


def _unrecorded(sides: Sides, data: EvalData) -> RunDifference | None:
    """Say when nothing is known of either side: that no difference was found is then no finding."""
    if sides.first.runs == sides.second.runs:
        return None
    basics = [recorded(Place(column=column), sides.first, sides.second) for column in _BASIC]
    known = [
        *(each.baseline or each.candidate for each in basics),
        _judges_of(sides.first_rows, sides.first, data),
        _judges_of(sides.second_rows, sides.second, data),
    ]
    if any(known):
        return None
    return RunDifference(
        setting="unrecorded",
        severity="note",
        explanation=(
            "The files do not say how the runs were made (harness, version of the task, prompt, worked examples, temperature, "
            "judge), so whether they differ in that is not checked"
        ),
    )


def _intended(difference: RunDifference, accepted: Sequence[str], contrast: str) -> RunDifference:
    """Turn what is compared, or declared as intended, into a note."""
    if difference.severity == "note":
        return difference
    if contrast == difference.setting or (contrast == "setting" and difference.setting == "lab_or_live"):
        return replace(difference, severity="note", explanation=f"{difference.explanation}; it is what is compared")
    if difference.setting in accepted:
        return replace(difference, severity="note", explanation=f"{difference.explanation}; declared as intended")
    return difference


def _harness_version(sides: Sides) -> RunDifference | None:
    """Compare the versions of the harness; how grave it is depends on whether the task has a version of its own."""
    found = recorded(Place(column="harness_version"), sides.first, sides.second)
    if not found.n_differ or sides.harness is None:
        return None
    first, second = shown(found.baseline), shown(found.candidate)
    severity: Severity = "note"
    if _same_task_version(sides):
        why = "the version of the task is the same, so what it asks and how it scores should be too"
    elif None not in (series := _series(found.baseline)) and series == _series(found.candidate):
        why = "releases of one series seldom change what is asked or scored"
    else:
        severity, why = "weakens", "nothing recorded says that both ask and score alike"
    return RunDifference(
        setting="harness_version",
        baseline=first,
        candidate=second,
        severity=severity,
        explanation=f"the version of {sides.harness} differs between the two sides ({first} against {second}): {why}",
    )


def _same_task_version(sides: Sides) -> bool:
    versions = recorded(Place(column="task_version", by_task="versions"), sides.first, sides.second)
    # Inspect writes version 0 where the task's author set none.
    unset = sides.harness == "inspect_ai" and {*versions.baseline, *versions.candidate} == {"0"}
    return bool(versions.baseline and versions.candidate) and not versions.n_differ and not unset


def _series(versions: Sequence[str]) -> set[tuple[str, str] | None]:
    """Return the series of each version, its first two numbers; None for a commit."""
    found = [_RELEASE.match(version) for version in versions]
    return {(match[1], match[2]) if match else None for match in found}


def _lab_or_live(sides: Sides) -> RunDifference | None:
    """Say when one side was seen in the lab and the other in live use."""
    first, second = (_sorted(rows["setting"]) for rows in (sides.first_rows, sides.second_rows))
    if not (first and second) or first == second:
        return None
    return RunDifference(
        setting="lab_or_live",
        baseline=shown(first),
        candidate=shown(second),
        severity="invalid",
        explanation=(
            f"the two sides were not seen in the same setting ({shown(first)} against {shown(second)}): neither the users nor "
            "what they ask are the same"
        ),
    )


def _item_sets(sides: Sides) -> RunDifference | None:
    """Say when the sides hold different items, whatever became of them."""
    key = _key(sides)
    if sides.first_rows.select(key).equals(sides.second_rows.select(key)):
        return None
    first, second = (rows.select(key).unique() for rows in (sides.first_rows, sides.second_rows))
    shared = first.join(second, on=key, how="semi").height
    alone = first.height - shared, second.height - shared
    if not any(alone) or _numbered_items(sides):
        return None
    share = shared / (shared + sum(alone))
    only = [f"{n:,} only in the {side}" for n, side in zip(alone, ("baseline", "candidate"), strict=True) if n]
    counts = ", ".join([f"{shared:,} are shared ({100 * share:.0f}%)", *only])
    parts = [
        f"The sides hold different items: {counts}",
        *_tasks_alone(first, second, "baseline"),
        *_tasks_alone(second, first, "candidate"),
        "the comparison speaks of the shared ones",
        *([alike] if (alike := ids_nearly_alike(first, second)) else []),
    ]
    return RunDifference(
        setting="items",
        baseline=plural(first.height, "item"),
        candidate=plural(second.height, "item"),
        severity="note" if share >= _MOST_ITEMS else "weakens",
        explanation="; ".join(parts),
    )


def _numbered_items(sides: Sides) -> RunDifference | None:
    """Say that rows numbered as items are not the same items: where a row is missing, all later ones stand for others."""
    key = _key(sides)
    if not (_numbered(sides.first) or _numbered(sides.second)):
        return None
    first, second = (rows.select(key).unique().height for rows in (sides.first_rows, sides.second_rows))
    if first == second:
        return None
    return RunDifference(
        setting="item_ids",
        baseline=plural(first, "row"),
        candidate=plural(second, "row"),
        severity="invalid",
        explanation=(
            f"items are numbered by their place (item=#row), and the sides have {first:,} and {second:,} of them: they were "
            "not given the same items in the same order, so that pairs mean nothing; name the column that says which item "
            "a row is"
        ),
    )


def _numbered(side: SideRuns) -> bool:
    """Whether a table without ids had its rows numbered as items."""
    columns = [config.get("columns") for config in side.configs.values()]
    return any(
        isinstance(named, Mapping) and cast("Mapping[str, object]", named).get("item") == _BY_PLACE for named in columns
    )


def _tasks_alone(own: pl.DataFrame, other: pl.DataFrame, which: str) -> list[str]:
    names = sorted({*own["task"].unique().to_list()} - {*other["task"].unique().to_list()} - {""})
    return [f"the {which} alone has {some_of(names, LISTED)}"] if names else []


def _item_limit(sides: Sides) -> RunDifference | None:
    """Say when the runs were cut at different numbers of items; what was cut shows in the items themselves."""
    found = recorded(Place(column="item_limit"), sides.first, sides.second)
    if not found.n_differ and not (found.one_sided and sides.harness is not None):
        return None
    first, second = (shown(values) or "none" for values in (found.baseline, found.candidate))
    cut = _item_sets(sides) is not None
    why = (
        "the shared items are those of the shorter run, often the first of the file, and need not be like the rest"
        if cut
        else "all items are on both sides, so it changes nothing"
    )
    return RunDifference(
        setting="item_limit",
        baseline=first,
        candidate=second,
        severity="weakens" if cut else "note",
        explanation=f"the limit on items differs between the two sides ({first} against {second}): {why}",
    )


def _trials(sides: Sides) -> RunDifference | None:
    """Say when an item usually has other numbers of trials on the two sides."""
    counted = [*_key(sides), "n_trials"]
    if sides.first_rows.select(counted).equals(sides.second_rows.select(counted)):
        return None
    first, second = (_usual_trials(rows, _key(sides)) for rows in (sides.first_rows, sides.second_rows))
    if first == second:
        return None
    return RunDifference(
        setting="n_trials",
        baseline=plural(first, "trial"),
        candidate=plural(second, "trial"),
        severity="note",
        explanation=(
            f"an item has {plural(first, 'trial')} on the baseline's side and {second} on the candidate's: a mean of fewer is "
            "noisier, which the interval takes in, and no less right on average"
        ),
    )


def _usual_trials(rows: pl.DataFrame, key: list[str]) -> int:
    counted = rows.group_by(key).agg(pl.col("n_trials").fill_null(1).sum().alias(_OWN))[_OWN].sort()
    return int(counted[len(counted) // 2]) if len(counted) else 0


def _status(sides: Sides) -> RunDifference | None:
    """Say when the harness did not call a run a success."""
    said = {
        "baseline": [value for value in sides.first.values("status") if value != "success"],
        "candidate": [value for value in sides.second.values("status") if value != "success"],
    }
    broken = [
        f"a run of the {which} {'did not end' if values == ['started'] else 'has the status ' + some_of(values, LISTED)}"
        for which, values in said.items()
        if values
    ]
    if not broken:
        return None
    return RunDifference(
        setting="status",
        baseline=shown(sides.first.values("status")),
        candidate=shown(sides.second.values("status")),
        severity="weakens",
        explanation=f"{' and '.join(broken)}: the items that were reached may not be a fair part of all",
    )


def _dates(sides: Sides) -> RunDifference | None:
    """Say when the runs lie months apart."""
    first, second = _times(sides.first), _times(sides.second)
    if not first or not second:
        return None
    days = (max(first[0], second[0]) - min(first[-1], second[-1])).days
    if days < _DAYS:
        return None
    days_of = f"{first[0]:%Y-%m-%d}", f"{second[0]:%Y-%m-%d}"
    return RunDifference(
        setting="date",
        baseline=days_of[0],
        candidate=days_of[1],
        severity="note",
        explanation=(
            f"the runs are {days} days apart ({days_of[0]} and {days_of[1]}): a hosted model, a judge or a dataset may have "
            "changed behind its name"
        ),
    )


def _times(side: SideRuns) -> list[datetime]:
    return sorted(time for row in side.columns.values() if isinstance(time := row.get("timestamp"), datetime))


def _judges(sides: Sides, data: EvalData) -> RunDifference | None:
    """Say when the scores of the metric were given by other judges."""
    first, second = _judges_of(sides.first_rows, sides.first, data), _judges_of(sides.second_rows, sides.second, data)
    if first == second:
        return None
    severity: Severity = "weakens"
    if not (first and second):
        which, judge = ("baseline", first) if first else ("candidate", second)
        told = f"a judge ({shown(judge)}) is recorded for the {which} only: the other side may have been scored without one"
    else:
        severity, why = "invalid", "a score given by another judge is another quantity"
        if {_bare(name) for name in first} == {_bare(name) for name in second}:
            severity, why = "note", "the names seem to be one model, reached in two ways"
        elif first == _sorted(sides.first_rows["model"]) and second == _sorted(sides.second_rows["model"]):
            why = "each model graded itself, and a score given by another judge is another quantity"
        told = f"the judge differs between the two sides ({shown(first)} against {shown(second)}): {why}"
    return RunDifference(
        setting="judge", baseline=shown(first), candidate=shown(second), severity=severity, explanation=told
    )


def _judges_of(rows: pl.DataFrame, side: SideRuns, data: EvalData) -> tuple[str, ...]:
    """Judges of the metric: those its rows name; what the run says counts only where no row of the run names one.

    A run names the judges of all its scorers, and the metric may come from a scorer that uses none.
    """
    own = _sorted(rows["judge"])
    if own or not rows.height:
        return own
    if data.outcomes["judge"].null_count() == data.outcomes.height:
        return side.values("judge")
    of_runs = data.outcomes.filter(pl.col("run").is_in(list(side.runs)) & pl.col("judge").is_not_null())
    if not of_runs.height:
        return side.values("judge")
    about = rows.select("benchmark", "metric").unique()
    return _sorted(of_runs.join(about, on=["benchmark", "metric"], how="semi")["judge"])


def _bare(name: str) -> str:
    """Return a model's name without the provider it was reached through."""
    return name.rpartition("/")[2].lower()


def _prompts(sides: Sides, differing: Collection[str]) -> RunDifference | None:
    """Compare the prompts that the items themselves record; `differing` are settings known to differ already."""
    if not all("prompt_hash" in rows.columns for rows in (sides.first_rows, sides.second_rows)):
        return None
    key = _key(sides)
    own, other = (_hashes(rows, key, name) for rows, name in ((sides.first_rows, _OWN), (sides.second_rows, _OTHER)))
    both = own.join(other, on=key, how="inner")
    changed = both.filter(pl.col(_OWN) != pl.col(_OTHER))
    if not changed.height:
        return None
    n, moved = changed.height, _moved(changed, own, other)
    if moved > _FEW_PROMPTS * n and moved > 1:
        return RunDifference(
            setting="item_ids",
            severity="invalid",
            explanation=(
                f"{moved:,} of {both.height:,} items have a prompt that the other side has under another id: the ids do not mean "
                "the same questions (numbers after a shuffle do not), so the items cannot be paired by them"
            ),
        )
    severity, why = _grave(n / both.height, sides, differing)
    return RunDifference(
        setting="prompt",
        severity=severity,
        explanation=f"{n:,} of {both.height:,} items were asked with different prompts: {why}",
    )


def _grave(share: float, sides: Sides, differing: Collection[str]) -> tuple[Severity, str]:
    explained = [name for name in _CHANGES_PROMPTS if name in differing]
    if sides.contrast != "model":
        return "note", f"the levels of {sides.contrast} are asked in their own ways, it seems"
    if explained:
        return "note", f"as they must be where {explained[0].replace('_', ' ')} differs"
    if share <= _FEW_PROMPTS:
        return "weakens", "on these the difference is one of model and prompt together"
    if sides.harness == "lm-eval":
        why = (
            "the templates agree, so what was put around them differs (a chat template, an instruction, drawn examples)"
        )
        return "weakens", why
    if sides.same_model:
        why = f"both sides are {sides.models}, so the prompt may be what is compared; see that the ids mean the same questions"
        return "weakens", why
    return "invalid", "the models differ too, so the difference is one of model and prompt together"


def _hashes(rows: pl.DataFrame, key: list[str], name: str) -> pl.DataFrame:
    """Return the prompts of every item as one text; items without a recorded one are left out."""
    known = rows.filter(pl.col("prompt_hash").is_not_null())
    joined = pl.col("prompt_hash").cast(pl.String).unique().sort().str.join("\x1f")
    return known.group_by(key).agg(joined.alias(name))


def _moved(changed: pl.DataFrame, own: pl.DataFrame, other: pl.DataFrame) -> int:
    """Count the items whose prompt stands under another id on the other side, in either direction; the larger."""
    there = int(changed[_OWN].is_in(other[_OTHER].to_list()).sum())
    back = int(changed[_OTHER].is_in(own[_OWN].to_list()).sum())
    return max(there, back)


def _key(sides: Sides) -> list[str]:
    return [name for name in ITEM_KEY if name != sides.contrast]


def _sorted(column: pl.Series) -> tuple[str, ...]:
    return tuple(levels_of(column))


_LOOKS: dict[str, Callable[[Sides], RunDifference | None]] = {
    "harness_version": _harness_version,
    "lab_or_live": _lab_or_live,
    "item_ids": _numbered_items,
    "items": _item_sets,
    "item_limit": _item_limit,
    "n_trials": _trials,
    "status": _status,
    "date": _dates,
}
