"""Can the two sides be compared at all? What their runs say of how they were made, looked at before any test.

A difference between two scores can be laid to the two systems only if nothing else differs. What differs falls into three
kinds. The *ruler* (version of the task, judge, harness, simulated user): a score by another ruler is another quantity, and
no statistics makes up for it. The *treatment* (prompt, worked examples, temperature): where both sides are one model it is
what is being compared; where the models differ too, it is confounded with them. The *circumstances* (limits, missing items,
broken runs, dates): they weaken a conclusion without voiding it.

==================  =====================  =====================  =================  =================================
setting             models differ          same model             on one side only   read from
==================  =====================  =====================  =================  =================================
task_version        invalid                invalid                note               runs.task_version, config.versions
harness             invalid                invalid                note               runs.harness
harness_version     weakens, or note       weakens, or note       note               runs.harness_version
dataset             weakens                weakens                note               config: dataset name, size, file
task_setup          weakens                weakens                weakens            config: speech, retrieval, variants
judge               invalid                invalid                weakens            outcomes.judge, else runs.judge
judge_settings      weakens                weakens                note               config: judge_temperature
user_simulator      invalid                invalid                note               config: user model and its kind
lab_or_live         invalid                invalid                cannot be          outcomes.setting
item_ids            invalid                invalid                cannot be          same prompts under other ids
items               weakens, or note       weakens, or note       cannot be          the items themselves
item_limit          weakens, or note       weakens, or note       weakens, or note   runs.item_limit
prompt              invalid, or weakens    note                   note               runs.prompt_hash and that of items
system_prompt       weakens                note                   weakens            config: system_instruction, ...
chat_template       note                   note                   weakens            config: chat_template_sha
n_shots             invalid                note                   note               runs.n_shots, config.shots
fewshot_seed        weakens                weakens                note               config: fewshot_seed
task_args           weakens                note                   weakens            config: task_args
temperature         weakens                note                   note               runs.temperature
sampling            note                   note                   note               config: top_p, top_k, ...
reasoning_effort    weakens                note                   note               config: reasoning_effort, ...
max_tokens          weakens                note                   note               config: max_tokens, ...
limits              weakens                note                   weakens            config: message_limit, max_steps, ...
model_revision      nothing                note                   nothing            config: model_sha, model_revision
model_dtype         note                   note                   nothing            config: model_dtype, dtype
n_trials            note                   note                   cannot be          the items themselves
status              weakens                weakens                weakens            runs.status
date                note                   note                   nothing            runs.timestamp, 90 days apart
several             nothing                weakens                cannot be          treatments that differ at once
unrecorded          note                   note                   note               all of the above, where it is empty
==================  =====================  =====================  =================  =================================

`design/comparability.md` gives the reason for each. What the user declares as intended (`accept`) is a note.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace

import polars as pl

from evalstats.aggregate.items import ITEM_KEY
from evalstats.analysis.comparability.checks import LOOKS, judges, judges_of, prompts
from evalstats.analysis.comparability.rules import RULES, RunDifference, Severity, Sides, by_rule, gaps
from evalstats.analysis.comparability.settings import Place, recorded, side_runs
from evalstats.schema.data import EvalData
from evalstats.schema.plan import check_settings

__all__ = [
    "RunDifference", "Severity", "cautions", "identical_runs", "refusal", "remarks", "run_comparability",
]  # fmt: skip

_ORDER: tuple[Severity, ...] = ("invalid", "weakens", "note")
# So many rows (of one system), or so many different scores (of any two), do not agree by chance.
_ENOUGH = 10
_GAPS = 4
_TREATMENTS = frozenset(rule.name for rule in RULES if rule.treatment)
_BASIC = ("harness", "task_version", "n_shots", "prompt_hash", "temperature")


def run_comparability(
    data: EvalData,
    first_runs: Sequence[str],
    second_runs: Sequence[str],
    *,
    first_rows: pl.DataFrame,
    second_rows: pl.DataFrame,
    contrast: str = "model",
    accept: Collection[str] = (),
) -> tuple[RunDifference, ...]:
    """Return everything in which the runs of the two sides differ, gravest first.

    Parameters
    ----------
    data
        For its runs, and for the judges of rows whose judges were averaged.
    first_runs, second_runs
        Runs of the baseline and of the candidate.
    first_rows, second_rows
        Outcome rows of the metric, one side each.
    contrast
        What names the two sides: "model", or another column; a setting of that name is what is compared.
    accept
        Settings in which the sides differ on purpose.

    Returns
    -------
    tuple of RunDifference
        Empty where nothing is known to differ. `refusal`, `cautions` and `remarks` sort them for a result.

    Raises
    ------
    InputError
        If `accept` names no setting.

    Examples
    --------
    >>> from evalstats.schema.tables import frame_from_rows
    >>> rows = [
    ...     {"run": r, "model": r, "system": r, "benchmark": "b", "item": "q", "metric": "m", "score": 1.0}
    ...     for r in "ab"
    ... ]
    >>> rows = frame_from_rows([{**row, "status": "scored"} for row in rows], "outcomes")
    >>> runs = [{"run": r, "benchmark": "b", "n_shots": n} for r, n in (("a", 0), ("b", 5))]
    >>> data = EvalData(outcomes=rows, runs=frame_from_rows(runs, "runs"))
    >>> sides = {"first_rows": rows.filter(pl.col("run") == "a"), "second_rows": rows.filter(pl.col("run") == "b")}
    >>> [(each.setting, each.severity) for each in run_comparability(data, ["a"], ["b"], **sides)]
    [('n_shots', 'invalid')]
    >>> [each.severity for each in run_comparability(data, ["a"], ["b"], accept=["n_shots"], **sides)]
    ['note']
    """
    accepted = check_settings(accept)
    sides = Sides(
        first=side_runs(data, first_runs, first_rows),
        second=side_runs(data, second_runs, second_rows),
        first_rows=first_rows,
        second_rows=second_rows,
        contrast=contrast,
    )
    found = [each for rule in RULES if (each := by_rule(rule, sides))]
    found.extend(_present(judges(sides, data), prompts(sides, {each.setting for each in found})))
    found.extend(_present(*(look(sides) for look in LOOKS)))
    found.extend(_present(_several(found, sides), _one_sided(sides), _unrecorded(sides, data)))
    told = [_intended(each, accepted, contrast) for each in found]
    return tuple(sorted(told, key=lambda each: _ORDER.index(each.severity)))


def refusal(differences: Sequence[RunDifference]) -> str | None:
    """Return why the two sides cannot be compared, and how to say that it is intended; None where they can.

    Examples
    --------
    >>> shots = RunDifference(
    ...     setting="n_shots", baseline="0", candidate="5", severity="invalid", explanation="shots differ"
    ... )
    >>> refusal([shots])
    'shots differ; if that is intended, declare it: --accept n_shots (in evalstats.toml: accept = ["n_shots"])'
    """
    grave = [each for each in differences if each.severity == "invalid"]
    if not grave:
        return None
    names = list(dict.fromkeys(each.setting for each in grave))
    options = " ".join(f"--accept {name}" for name in names)
    listed = ", ".join(f'"{name}"' for name in names)
    reasons = "; ".join(each.explanation for each in grave)
    return f"{reasons}; if that is intended, declare it: {options} (in evalstats.toml: accept = [{listed}])"


def cautions(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return what weakens a conclusion, for a result's warnings."""
    return tuple(each.explanation for each in differences if each.severity == "weakens")


def remarks(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return what a reader should know, for a result's notes."""
    return tuple(each.explanation for each in differences if each.severity == "note")


def identical_runs(
    data: EvalData,
    first_runs: Sequence[str],
    second_runs: Sequence[str],
    *,
    first_rows: pl.DataFrame,
    second_rows: pl.DataFrame,
    contrast: str = "model",
) -> str | None:
    """Return a sentence where the two sides are one run twice; None where they are two.

    Two sides with the same score on every row of every trial are called identical if they are the same system, have ten rows
    or more and nothing recorded differs, or if the scores take so many values that agreement cannot be chance. Equal digests
    alone prove nothing: one file may hold two runs.

    Parameters
    ----------
    data, first_runs, second_runs, first_rows, second_rows, contrast
        As in `run_comparability`.

    Examples
    --------
    >>> from evalstats.schema.tables import frame_from_rows
    >>> row = {"model": "m", "system": "m", "benchmark": "b", "metric": "acc", "score": 1.0, "status": "scored"}
    >>> rows = frame_from_rows([{**row, "run": run, "item": item} for run in "ab" for item in range(10)], "outcomes")
    >>> first, second = (rows.filter(pl.col("run") == run) for run in "ab")
    >>> identical_runs(EvalData(outcomes=rows), ["a"], ["b"], first_rows=first, second_rows=second).partition(":")[0]
    'the two runs of m have the same score on every row of every trial'
    """
    if contrast != "model" or not _same_scores(first_rows, second_rows):
        return None
    nothing = "the difference is 0 by construction, which is no evidence that two systems are equivalent"
    systems = [tuple(rows["system"].unique().sort().to_list()) for rows in (first_rows, second_rows)]
    one_system = systems[0] == systems[1]
    if one_system and _same_files(data, first_runs, second_runs):
        return f"the two sides are the same file under two names: {nothing}"
    found = run_comparability(data, first_runs, second_runs, first_rows=first_rows, second_rows=second_rows)
    if one_system and first_rows.height >= _ENOUGH and not {each.setting for each in found} & _TREATMENTS:
        return (
            f"the two runs of {', '.join(systems[0])} have the same score on every row of every trial: they are one run twice, "
            f"or of a system that answers alike every time, and a difference of 0 is then no evidence that two systems are "
            "equivalent"
        )
    if first_rows["score"].n_unique() >= _ENOUGH:
        return (
            "the two sides have the same score on every row of every trial, and the scores are too varied for chance: they are "
            f"one run under two names, it seems. Then {nothing}"
        )
    return None


def _same_scores(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    key = [*ITEM_KEY, "trial", "judge"]
    if first.height != second.height or not first["score"].count():
        return False
    own, other = (rows.select(*key, "score").sort(*key, "score") for rows in (first, second))
    return own.equals(other, null_equal=True)


def _same_files(data: EvalData, first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether the sides come from files with the same bytes, which are not one file that holds both."""
    own, other = (data.runs.filter(pl.col("run").is_in(list(runs))) for runs in (first, second))
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
        baseline=None,
        candidate=None,
        severity="weakens",
        explanation=f"{', '.join(most)} and {last} differ at once, so the difference cannot be laid to one of them",
    )


def _one_sided(sides: Sides) -> RunDifference | None:
    found = gaps(sides)
    if not found:
        return None
    more = f" and {len(found) - _GAPS} more" if len(found) > _GAPS else ""
    told = ", ".join(f"{words} ({which})" for words, which in found[:_GAPS])
    return RunDifference(
        setting="unrecorded",
        baseline=None,
        candidate=None,
        severity="note",
        explanation=f"recorded on one side only, so not compared: {told}{more}",
    )


def _unrecorded(sides: Sides, data: EvalData) -> RunDifference | None:
    """Say when nothing is known of either side: that no difference was found is then no finding."""
    if sides.first.runs == sides.second.runs:
        return None
    basics = [recorded(Place(column=column), sides.first, sides.second) for column in _BASIC]
    known = [
        *(each.baseline or each.candidate for each in basics),
        judges_of(sides.first_rows, sides.first, data),
        judges_of(sides.second_rows, sides.second, data),
    ]
    if any(known):
        return None
    return RunDifference(
        setting="unrecorded",
        baseline=None,
        candidate=None,
        severity="note",
        explanation=(
            "the files do not say how the runs were made (harness, version of the task, prompt, worked examples, temperature, "
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
