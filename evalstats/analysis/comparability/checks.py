"""What the rows themselves tell of two sides' runs: other items, other prompts, other judges, other trials, other times."""

import re
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY
from evalstats.analysis.comparability.rules import RunDifference, Severity, Sides, listed
from evalstats.analysis.comparability.settings import Place, SideRuns, recorded, shown
from evalstats.document.numbers import plural
from evalstats.schema.data import EvalData

# Prompts of real files differ on a question or two that was patched, or on nearly all: any line between serves.
_FEW_PROMPTS = 0.1
_MOST_ITEMS = 0.9
_DAYS = 90
_RELEASE = re.compile(r"v?(\d+)\.(\d+)")
_OWN, _OTHER = f"{HELPER}own", f"{HELPER}other"
# What changes the text that is sent, so that other prompts of items are no news.
_CHANGES_PROMPTS = ("n_shots", "prompt", "system_prompt", "chat_template", "fewshot_seed")


def harness_version(sides: Sides) -> RunDifference | None:
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


def lab_or_live(sides: Sides) -> RunDifference | None:
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


def item_sets(sides: Sides) -> RunDifference | None:
    """Say when the sides hold different items, whatever became of them."""
    key = _key(sides)
    first, second = (rows.select(key).unique() for rows in (sides.first_rows, sides.second_rows))
    shared = first.join(second, on=key, how="semi").height
    alone = first.height - shared, second.height - shared
    if not any(alone):
        return None
    share = shared / (shared + sum(alone))
    counts = f"{shared:,} are shared ({100 * share:.0f}%), {alone[0]:,} are the baseline's alone and {alone[1]:,} the candidate's"
    parts = [
        f"the sides hold different items: {counts}",
        *_tasks_alone(first, second, "baseline"),
        *_tasks_alone(second, first, "candidate"),
        "the comparison speaks of the shared ones",
    ]
    return RunDifference(
        setting="items",
        baseline=plural(first.height, "item"),
        candidate=plural(second.height, "item"),
        severity="note" if share >= _MOST_ITEMS else "weakens",
        explanation="; ".join(parts),
    )


def _tasks_alone(own: pl.DataFrame, other: pl.DataFrame, which: str) -> list[str]:
    names = sorted({*own["task"].to_list()} - {*other["task"].to_list()} - {""})
    return [f"the {which} alone has {listed(names)}"] if names else []


def item_limit(sides: Sides) -> RunDifference | None:
    """Say when the runs were cut at different numbers of items; what was cut shows in the items themselves."""
    found = recorded(Place(column="item_limit"), sides.first, sides.second)
    if not found.n_differ and not (found.one_sided and sides.harness is not None):
        return None
    first, second = (shown(values) or "none" for values in (found.baseline, found.candidate))
    cut = item_sets(sides) is not None
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


def trials(sides: Sides) -> RunDifference | None:
    """Say when an item usually has other numbers of trials on the two sides."""
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


def status(sides: Sides) -> RunDifference | None:
    """Say when the harness did not call a run a success."""
    said = {
        "baseline": [value for value in sides.first.values("status") if value != "success"],
        "candidate": [value for value in sides.second.values("status") if value != "success"],
    }
    broken = [
        f"a run of the {which} {'did not end' if values == ['started'] else 'has the status ' + listed(values)}"
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


def dates(sides: Sides) -> RunDifference | None:
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


def judges(sides: Sides, data: EvalData) -> RunDifference | None:
    """Say when the scores of the metric were given by other judges."""
    first, second = judges_of(sides.first_rows, sides.first, data), judges_of(sides.second_rows, sides.second, data)
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


def judges_of(rows: pl.DataFrame, side: SideRuns, data: EvalData) -> tuple[str, ...]:
    """Judges of the metric: those its rows name; what the run says counts only where no row of the run names one.

    A run names the judges of all its scorers, and the metric may come from a scorer that uses none.
    """
    own = _sorted(rows["judge"])
    if own or not rows.height:
        return own
    of_runs = data.outcomes.filter(pl.col("run").is_in(list(side.runs)) & pl.col("judge").is_not_null())
    if not of_runs.height:
        return side.values("judge")
    about = rows.select("benchmark", "metric").unique()
    return _sorted(of_runs.join(about, on=["benchmark", "metric"], how="semi")["judge"])


def _bare(name: str) -> str:
    """Return a model's name without the provider it was reached through."""
    return name.rpartition("/")[2].lower()


def prompts(sides: Sides, differing: Collection[str]) -> RunDifference | None:
    """Compare the prompts that the items themselves record.

    Parameters
    ----------
    sides
        Both sides.
    differing
        Settings that are known to differ already.
    """
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
            baseline=None,
            candidate=None,
            severity="invalid",
            explanation=(
                f"{moved} of {both.height} items have a prompt that the other side has under another id: the ids do not mean "
                "the same questions (numbers after a shuffle do not), so the items cannot be paired by them"
            ),
        )
    severity, why = _grave(n / both.height, sides, differing)
    return RunDifference(
        setting="prompt",
        baseline=None,
        candidate=None,
        severity=severity,
        explanation=f"{n} of {both.height} items were asked with different prompts: {why}",
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
    return tuple(column.drop_nulls().unique().sort().to_list())


LOOKS: tuple[Callable[[Sides], RunDifference | None], ...] = (
    harness_version,
    lab_or_live,
    item_sets,
    item_limit,
    trials,
    status,
    dates,
)
