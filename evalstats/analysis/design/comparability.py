"""Can two systems be compared at all? What their runs record of how they were made, and in what that differs.

A difference between two scores can be laid to the two systems only if nothing else differs. What differs falls into three
kinds. The *ruler* (version of the task, judge, harness, simulated user): a score by another ruler is another quantity, and
no statistics makes up for it. The *treatment* (prompt, worked examples, temperature): where both sides are one model it is
what is being compared; where the models differ too, it is confounded with them. The *circumstances* (limits, missing items,
broken runs, dates): they weaken a conclusion without voiding it. What the user declares as intended (`accept`) is a note.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

import polars as pl

from evalstats.analysis.design.run_settings import (
    RULES,
    Place,
    RecordedRuns,
    RecordedValues,
    Rule,
    Severity,
    recorded_values,
    setting_words,
    shown,
)
from evalstats.document.model import Note
from evalstats.grammar import and_list, comma_list, conjugate, plural
from evalstats.record import record
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings
from evalstats.schema.tables import levels_of
from evalstats.table.items import HELPER, ITEM_KEY, row_counts, trial_sets
from evalstats.table.score_table import ScoreTable, ids_nearly_alike
from evalstats.table.systems import System

# Prompts of real files differ on a question or two that was patched, or on nearly all: any line between serves.
_FEW_PROMPTS = 0.1
_MOST_ITEMS = 0.9
_DAYS = 90
_RELEASE = re.compile(r"v?(\d+)\.(\d+)")
_OWN, _OTHER = f"{HELPER}own", f"{HELPER}other"
# What changes the text that is sent, so that other prompts of items are no news.
_CHANGES_PROMPTS = ("n_shots", "prompt", "system_prompt", "chat_template", "fewshot_seed")
_SEVERITIES: tuple[Severity, ...] = ("invalid", "weakens", "note")
# So many rows (of one system), or so many different scores (of any two), do not agree by chance.
_ENOUGH = 10
_SHOWN = 3
_TREATMENTS = frozenset(rule.name for rule in RULES if rule.treatment)
_BASIC = ("harness", "task_version", "n_shots", "prompt_hash", "temperature")
_SHOTS = Place(column="n_shots", by_task="shots")


@dataclass(frozen=True, slots=True)
class RunDifference:
    """One thing in which the runs of the two sides differ: one of `evalstats.schema.plan.SETTINGS`.

    `baseline` and `candidate` are what either side has, in words. A severity of "invalid" means that the difference cannot be
    laid to the systems, "weakens" that it should be read with care. The explanation is a clause without a full stop.

    Attributes
    ----------
    setting
        The setting that differs.
    severity
        "invalid" where the difference cannot be laid to the systems, "weakens" where it is to be read with care, else "note".
    explanation
        Why, as a clause.
    baseline, candidate
        What either side has.
    """

    setting: str
    severity: Severity
    explanation: str
    baseline: str | None = None
    candidate: str | None = None


@record
class _Sides:
    """The recorded runs of both systems, and what names them apart."""

    data: EvalData
    first: RecordedRuns
    second: RecordedRuns
    contrast: str

    @property
    def key(self) -> list[str]:
        """What names an item."""
        return [name for name in ITEM_KEY if name != self.contrast]

    @property
    def same_model(self) -> bool:
        """Whether both are the same model (or models)."""
        return self.first.models == self.second.models

    @property
    def are_compared(self) -> str:
        """Why a treatment of one model is no fault."""
        return f"both sides are {comma_list(sorted(self.first.models), _SHOWN)}, so this is what is compared"

    @property
    def harness(self) -> str | None:
        """The harness of both; None where it is not the same or not known."""
        first, second = self.first.values("harness"), self.second.values("harness")
        return first[0] if len(first) == 1 and first == second else None

    def recorded(self, place: Place) -> RecordedValues:
        """Compare one setting."""
        return recorded_values(place, self.first, self.second)


def run_comparability(
    data: EvalData,
    first: System,
    second: System,
    *,
    contrast: str = "model",
    accept: Collection[str] = (),
) -> tuple[RunDifference, ...]:
    """Return everything in which the runs of two systems differ, gravest first; empty where nothing is known to differ.

    `contrast` names the two; a setting of that name is what is compared. In the settings of `accept` they differ on
    purpose; a name that is no setting is an InputError.
    """
    sides = (RecordedRuns.of(data, system.runs, system.rows) for system in (first, second))
    return recorded_differences(data, *sides, contrast=contrast, accept=accept, leave_out=())


def recorded_differences(
    data: EvalData,
    first: RecordedRuns,
    second: RecordedRuns,
    *,
    contrast: str,
    accept: Collection[str],
    leave_out: Collection[str],
) -> tuple[RunDifference, ...]:
    """Return what `run_comparability` does, of runs whose records are at hand; `leave_out` names settings not to look at."""
    accepted = {*check_settings(accept)}
    sides = _Sides(data=data, first=first, second=second, contrast=contrast)
    known = [(rule, sides.recorded(rule.place)) for rule in (() if first.settings == second.settings else RULES)]
    found = [each for rule, values in known if (each := _by_rule(rule, values, sides))]
    found += [each for each in (_judges(sides), _prompts(sides, {each.setting for each in found})) if each]
    found += [each for name, look in _LOOKS.items() if name not in leave_out and (each := look(sides))]
    found += [each for each in (_several(found, sides), _one_sided(known, sides), _unrecorded(sides)) if each]
    compared = {contrast, *(["lab_or_live"] if contrast == "setting" else [])}
    for place, each in enumerate(found):
        if each.severity != "note" and each.setting in accepted | compared:
            why = "it is what is compared" if each.setting in compared else "declared as intended"
            found[place] = replace(each, severity="note", explanation=f"{each.explanation}; {why}")
    return tuple(sorted(found, key=lambda each: _SEVERITIES.index(each.severity)))


def invalidating(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return the settings that make a comparison invalid, each once, as `accept` takes them."""
    return tuple(dict.fromkeys(each.setting for each in differences if each.severity == "invalid"))


def graver(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return the settings that make a comparison invalid, each once, in words."""
    return tuple(dict.fromkeys(map(setting_words, invalidating(differences))))


def refusal(differences: Sequence[RunDifference]) -> str | None:
    """Return why the two sides cannot be compared, and how to say that it is intended; None where they can.

    >>> shots = RunDifference("n_shots", "invalid", "shots differ")
    >>> print(refusal([shots]))
    shots differ; if that is intended, declare it: accept = ["n_shots"] in evalstats.toml
    """
    reasons = "; ".join(each.explanation for each in differences if each.severity == "invalid")
    settings = ", ".join(f'"{name}"' for name in invalidating(differences))
    return f"{reasons}; if that is intended, declare it: accept = [{settings}] in evalstats.toml" if settings else None


def difference_notes(differences: Sequence[RunDifference]) -> tuple[Note, ...]:
    """Return what weakens a conclusion as cautions, then what a reader should know as remarks."""
    return tuple(
        Note(kind="comparability", text=each.explanation, caution=severity == "weakens")
        for severity in ("weakens", "note")
        for each in differences
        if each.severity == severity
    )


def identical_runs(data: EvalData, first: System, second: System, *, contrast: str = "model") -> str | None:
    """Return a sentence where the two sides are one run twice; None where they are two.

    Two sides with the same score on every row of every trial are called identical if they are the same system, have ten rows
    or more and nothing recorded differs, or if the scores take so many values that agreement cannot be chance. Equal digests
    alone prove nothing: one file may hold two runs.
    """
    if contrast != "model" or not _same_scores(first.rows, second.rows):
        return None
    nothing = "the difference is 0 by construction, which is no evidence that two systems are equivalent"
    own, other = (tuple(levels_of(rows["system"])) for rows in (first.rows, second.rows))
    if own == other and _same_files(data, first.runs, second.runs):
        return f"the two sides are the same file under two names: {nothing}"
    settings = {each.setting for each in run_comparability(data, first, second)}
    if own == other and row_counts(first.rows).sum() >= _ENOUGH and not settings & _TREATMENTS:
        return (
            f"the two runs of {', '.join(own)} have the same score on every row of every trial: they are one run "
            "twice, or of a system that always answers the same, and a difference of 0 is then no evidence that two systems are "
            "equivalent"
        )
    if first.rows["score"].n_unique() >= _ENOUGH:
        return (
            "the two sides have the same score on every row of every trial, and the scores are too varied for "
            f"chance: they seem to be one run under two names. Then {nothing}"
        )
    return None


def ran_to_its_limit(data: EvalData, system: System, n_seen: int) -> bool:
    """Whether the runs of a system have a limit of items and hold as many: what it lacks was then never asked of it.

    What a run of fewer items than its limit lacks may have been lost, and is missing.
    """
    limits = data.runs.filter(pl.col("run").is_in(system.runs))["item_limit"].cast(pl.Int64)
    return limits.len() > 0 and not limits.null_count() and n_seen >= min(limits)


def of_asked_items(data: EvalData, table: ScoreTable) -> tuple[ScoreTable, tuple[str, ...]]:
    """Keep the items that were asked of every system whose run has a limit of items, and say how many others there are."""
    told: list[str] = []
    for place, system in enumerate(table.systems):
        asked = table.seen[:, place]
        if not asked.all() and ran_to_its_limit(data, system, int(asked.sum())):
            n, table = int((~asked).sum()), table.take(asked)
            told.append(
                f"{plural(n, 'item')} not asked of {system.name}, whose run has a limit, {conjugate(n, 'count')} as not run, "
                "not as missing"
            )
    return table, tuple(told)


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
    shared = set(own["source"].to_list()) & set(other["source"].to_list())
    if not own.height or own["source_digest"].null_count() or shared:
        return False
    return set(own["source_digest"].to_list()) == set(other["source_digest"].to_list())


# --- what differs: the settings with a rule ---


def _by_rule(rule: Rule, found: RecordedValues, sides: _Sides) -> RunDifference | None:
    """Return what a setting's rule says of the two sides; None where they agree or nothing is recorded."""
    if rule.place.together and sides.harness is None:
        return None  # only one and the same program leaves out of its log what was not set
    if rule.name == "fewshot_seed":
        shots = sides.recorded(_SHOTS)
        if {*shots.baseline, *shots.candidate} == {"0"}:
            return None
    first, second = shown(found.baseline), shown(found.candidate)
    compared = rule.treatment and sides.same_model
    if found.one_sided:
        if rule.alone != "weakens" or sides.harness is None:  # then it is merely not recorded
            return None
        which, why = "baseline" if first else "candidate", sides.are_compared if compared else rule.why
        text = f"{rule.words} is set for the {which} only ({first or second}): {why}"
        return RunDifference(rule.name, "note" if compared else "weakens", text, first, second)
    severity, why = rule.same if sides.same_model else rule.other, rule.why
    if not found.n_differ or severity is None:
        return None
    if compared:
        why = sides.are_compared
    elif rule.name == "prompt" and _are_named_apart(sides):
        severity = "weakens"
        why = "the systems are more than their models, so the difference is one of system and prompt together"
    elif rule.name == "prompt" and sides.harness == "lm-eval" and sides.recorded(_SHOTS).n_differ:
        # lm-eval's digest takes the number of worked examples in.
        severity = "note"
        why = "as it must with other worked examples; whether the template differs too is not recorded"
    where = f" on {found.n_differ} of {found.n_tasks} tasks" if found.n_differ < found.n_tasks else ""
    text = f"{rule.words} differs between the two sides ({first} against {second}){where}: {why}"
    return RunDifference(rule.name, severity, text, first, second)


def _are_named_apart(sides: _Sides) -> bool:
    """Whether the sides are systems that are more than their models: a prompt may then be part of them."""
    first, second = (
        levels_of(side.rows.filter(pl.col("system") != pl.col("model"))["system"])
        for side in (sides.first, sides.second)
    )
    return first != second


def _several(found: Sequence[RunDifference], sides: _Sides) -> RunDifference | None:
    """Warn when one model differs in several settings at once: none of them can be given the credit."""
    words = {rule.name: rule.words for rule in RULES}
    names = list(dict.fromkeys(each.setting for each in found if each.setting in _TREATMENTS))
    if {"n_shots", "prompt"} <= set(names) and sides.harness == "lm-eval":
        names.remove("prompt")  # its digest takes the number of worked examples in
    if not sides.same_model or len(names) < 2:
        return None
    settings = and_list([words[name] for name in names], len(names))
    text = f"{settings} differ at once, so the difference cannot be attributed to one of them"
    return RunDifference("several", "weakens", text)


def _one_sided(known: Sequence[tuple[Rule, RecordedValues]], sides: _Sides) -> RunDifference | None:
    """Name the settings that one side alone records, where that does not say that the other did not set them."""
    gaps: list[str] = []
    for rule, values in known:
        told = rule.alone == "weakens" and sides.harness is not None
        if values.one_sided and rule.alone and not rule.place.together and not told:
            gaps.append(f"{rule.words} ({'baseline' if values.baseline else 'candidate'})")
    text = f"recorded on one side only, so not compared: {comma_list(gaps, 4)}"
    return RunDifference("unrecorded", "note", text) if gaps else None


def _unrecorded(sides: _Sides) -> RunDifference | None:
    """Say when nothing is known of either side: that no difference was found is then no finding."""
    if sides.first.runs == sides.second.runs:
        return None
    basic = [sides.recorded(Place(column=column)) for column in _BASIC]
    if any(found.baseline or found.candidate for found in basic):
        return None
    if any(_judges_of(side, sides.data) for side in (sides.first, sides.second)):
        return None
    text = (
        "The files do not say how the runs were made (harness, version of the task, prompt, worked examples, temperature, "
        "judge), so these settings are not checked"
    )
    return RunDifference("unrecorded", "note", text)


# --- what differs: items, trials, circumstances ---


def _harness_version(sides: _Sides) -> RunDifference | None:
    """Compare the versions of the harness; how grave it is depends on whether the task has a version of its own."""
    found = sides.recorded(Place(column="harness_version"))
    if not found.n_differ or sides.harness is None:
        return None
    versions = sides.recorded(Place(column="task_version", by_task="versions"))
    # Inspect writes version 0 where the task's author set none.
    unset = sides.harness == "inspect_ai" and {*versions.baseline, *versions.candidate} == {"0"}
    # The first two numbers of a release; a commit has none.
    series = [
        {(match[1], match[2]) if (match := _RELEASE.match(version)) else None for version in side}
        for side in (found.baseline, found.candidate)
    ]
    severity: Severity = "note"
    if versions.baseline and versions.candidate and not versions.n_differ and not unset:
        why = "the version of the task is the same, so what it asks and how it scores should be too"
    elif None not in series[0] and series[0] == series[1]:
        why = "releases of one series seldom change what is asked or scored"
    else:
        severity, why = "weakens", "nothing recorded says that both ask and score the same way"
    first, second = shown(found.baseline), shown(found.candidate)
    text = f"the version of {sides.harness} differs between the two sides ({first} against {second}): {why}"
    return RunDifference("harness_version", severity, text, first, second)


def _lab_or_live(sides: _Sides) -> RunDifference | None:
    """Say when one side was seen in the lab and the other in live use."""
    first, second = (levels_of(side.rows["setting"]) for side in (sides.first, sides.second))
    if not (first and second) or first == second:
        return None
    text = (
        f"the two sides were not seen in the same setting ({shown(first)} against {shown(second)}): neither the users nor "
        "what they ask are the same"
    )
    return RunDifference("lab_or_live", "invalid", text, shown(first), shown(second))


def _item_sets(sides: _Sides) -> RunDifference | None:
    """Say when the sides hold different items, whatever became of them."""
    if sides.first.rows.select(sides.key).equals(sides.second.rows.select(sides.key)):
        return None
    first, second = (side.rows.select(sides.key).unique() for side in (sides.first, sides.second))
    shared = first.join(second, on=sides.key, how="semi").height
    alone = first.height - shared, second.height - shared
    if not any(alone) or _numbered_items(sides):
        return None
    share = shared / (shared + sum(alone))
    parts = [f"The sides hold different items: {shared:,} are shared ({100 * share:.0f}%)"]
    parts[0] += "".join(f", {n:,} only in the {side}" for n, side in zip(alone, _NAMES, strict=True) if n)
    for own, other, side in ((first, second, "baseline"), (second, first, "candidate")):
        tasks = sorted({*own["task"].unique().to_list()} - {*other["task"].unique().to_list()} - {""})
        parts += [f"the {side} alone has {comma_list(tasks, _SHOWN)}"] if tasks else []
    parts.append("the comparison covers the shared ones")
    if near := ids_nearly_alike(first, second):
        parts.append(near)
    text = "; ".join(parts)
    severity = "note" if share >= _MOST_ITEMS else "weakens"
    return RunDifference("items", severity, text, plural(first.height, "item"), plural(second.height, "item"))


def _numbered_items(sides: _Sides) -> RunDifference | None:
    """Say that rows numbered as items are not the same items: where a row is missing, all later ones stand for others."""
    # What the map of a table has for items that it numbers (`evalstats/loaders/column_map.py`).
    columns = [config.get("columns") for side in (sides.first, sides.second) for config in side.configs.values()]
    maps = [cast("Mapping[str, object]", named) for named in columns if isinstance(named, Mapping)]
    if not any(named.get("item") == ["#row"] for named in maps):
        return None
    first, second = (side.rows.select(sides.key).unique().height for side in (sides.first, sides.second))
    if first == second:
        return None
    text = (
        f"items are numbered by their place (item=#row), and the sides have {first:,} and {second:,} of them: they were "
        "not given the same items in the same order, so that pairs mean nothing; name the column that says which item "
        "a row is"
    )
    return RunDifference("item_ids", "invalid", text, plural(first, "row"), plural(second, "row"))


def _status(sides: _Sides) -> RunDifference | None:
    """Say when the harness did not call a run a success."""
    statuses = [side.values("status") for side in (sides.first, sides.second)]
    broken: list[str] = []
    for which, values in zip(_NAMES, statuses, strict=True):
        failed = [value for value in values if value != "success"]
        if failed:
            what = "did not end" if failed == ["started"] else f"has the status {comma_list(failed, _SHOWN)}"
            broken.append(f"a run of the {which} {what}")
    if not broken:
        return None
    text = f"{' and '.join(broken)}: the items that were reached may not be a fair sample"
    return RunDifference("status", "weakens", text, shown(statuses[0]), shown(statuses[1]))


def _dates(sides: _Sides) -> RunDifference | None:
    """Say when the runs lie months apart."""
    first, second = (
        sorted(time for row in side.columns.values() if isinstance(time := row.get("timestamp"), datetime))
        for side in (sides.first, sides.second)
    )
    if not first or not second:
        return None
    days = (max(first[0], second[0]) - min(first[-1], second[-1])).days
    if days < _DAYS:
        return None
    starts = f"{first[0]:%Y-%m-%d}", f"{second[0]:%Y-%m-%d}"
    text = (
        f"the runs are {days} days apart ({starts[0]} and {starts[1]}): a hosted model, a judge or a dataset may have "
        "changed behind its name"
    )
    return RunDifference("date", "note", text, starts[0], starts[1])


def _judges(sides: _Sides) -> RunDifference | None:
    """Say when the scores of the metric were given by other judges."""
    first, second = _judges_of(sides.first, sides.data), _judges_of(sides.second, sides.data)
    if first == second:
        return None
    severity: Severity = "weakens"
    if not (first and second):
        which, judge = ("baseline", first) if first else ("candidate", second)
        text = f"a judge ({shown(judge)}) is recorded for the {which} only: the other side may have been scored without one"
    else:
        severity, why = "invalid", "a score given by another judge is another quantity"
        # Without the provider that a model was reached through.
        bare, other = ({name.rpartition("/")[2].lower() for name in names} for names in (first, second))
        if bare == other:
            severity, why = "note", "the names seem to be one model, reached in two ways"
        elif [first, second] == [tuple(levels_of(side.rows["model"])) for side in (sides.first, sides.second)]:
            why = "each model graded itself, and a score given by another judge is another quantity"
        text = f"the judge differs between the two sides ({shown(first)} against {shown(second)}): {why}"
    return RunDifference("judge", severity, text, shown(first), shown(second))


def _judges_of(side: RecordedRuns, data: EvalData) -> tuple[str, ...]:
    """Judges of the metric: those its rows name; what the run says counts only where no row of the run names one.

    A run names the judges of all its scorers, and the metric may come from a scorer that uses none.
    """
    own = tuple(levels_of(side.rows["judge"]))
    if own or not side.rows.height:
        return own
    if data.outcomes["judge"].null_count() == data.outcomes.height:
        return side.values("judge")
    of_runs = data.outcomes.filter(pl.col("run").is_in(list(side.runs)) & pl.col("judge").is_not_null())
    if not of_runs.height:
        return side.values("judge")
    about = side.rows.select("benchmark", "metric").unique()
    return tuple(levels_of(of_runs.join(about, on=["benchmark", "metric"], how="semi")["judge"]))


def _prompts(sides: _Sides, differing: Collection[str]) -> RunDifference | None:
    """Compare the prompts that the items themselves record; `differing` are settings known to differ already."""
    if not all("prompt_hash" in side.rows.columns for side in (sides.first, sides.second)):
        return None
    joined = pl.col("prompt_hash").cast(pl.String).unique().sort().str.join("\x1f")
    own, other = (
        side.rows.filter(pl.col("prompt_hash").is_not_null()).group_by(sides.key).agg(joined.alias(name))
        for side, name in ((sides.first, _OWN), (sides.second, _OTHER))
    )
    both = own.join(other, on=sides.key, how="inner")
    changed = both.filter(pl.col(_OWN) != pl.col(_OTHER))
    if not changed.height:
        return None
    n = changed.height
    # Prompts that stand under another id on the other side, in either direction.
    there, back = changed[_OWN].is_in(other[_OTHER].to_list()), changed[_OTHER].is_in(own[_OWN].to_list())
    moved = max(int(there.sum()), int(back.sum()))
    if moved > _FEW_PROMPTS * n and moved > 1:
        text = (
            f"{moved:,} of {both.height:,} items have a prompt that the other side has under another id: the ids do not mean "
            "the same questions (numbers after a shuffle do not), so the items cannot be paired by them"
        )
        return RunDifference("item_ids", "invalid", text)
    severity, why = _grave(n / both.height, sides, differing)
    text = f"{n:,} of {both.height:,} items were asked with different prompts: {why}"
    return RunDifference("prompt", severity, text)


def _grave(share: float, sides: _Sides, differing: Collection[str]) -> tuple[Severity, str]:
    explained = [name for name in _CHANGES_PROMPTS if name in differing]
    if sides.contrast != "model":
        return "note", f"the levels of {sides.contrast} seem to be prompted differently"
    if explained:
        return "note", f"as they must be where {explained[0].replace('_', ' ')} differs"
    if share <= _FEW_PROMPTS:
        return "weakens", "on these the difference is one of model and prompt together"
    if sides.harness == "lm-eval":
        what = "a chat template, an instruction, drawn examples"
        return "weakens", f"the templates agree, so what was put around them differs ({what})"
    if sides.same_model:
        models = comma_list(sorted(sides.first.models), _SHOWN)
        why = (
            f"both sides are {models}, so the prompt may be what is compared; see that the ids mean the same questions"
        )
        return "weakens", why
    return "invalid", "the models differ too, so the difference is one of model and prompt together"


# In these, sides on different users or items differ by design.
OF_ITEMS = ("items", "item_ids")
_NAMES = ("baseline", "candidate")
_LOOKS: dict[str, Callable[[_Sides], RunDifference | None]] = {
    "harness_version": _harness_version,
    "lab_or_live": _lab_or_live,
    "item_ids": _numbered_items,
    "items": _item_sets,
    "status": _status,
    "date": _dates,
}
