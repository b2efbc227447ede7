"""Which settings of a run matter to a comparison, how much, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from evalstats.analysis.comparability.settings import Place, SideRuns, recorded, shown

Severity = Literal["invalid", "weakens", "note"]
_LISTED = 3
_SHOTS = Place(column="n_shots", by_task="shots")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDifference:
    """One thing in which the runs of the two sides differ.

    Attributes
    ----------
    setting
        Its name, one of `evalstats.schema.plan.SETTINGS`.
    baseline, candidate
        What either side has, in words; None where nothing is recorded.
    severity
        "invalid": the difference cannot be laid to the systems; "weakens": it should be read with care; "note".
    explanation
        What differs and why it matters: a clause without a full stop.
    """

    setting: str
    baseline: str | None
    candidate: str | None
    severity: Severity
    explanation: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """Both sides: what is recorded of their runs, their outcome rows of the metric, and what names them apart."""

    first: SideRuns
    second: SideRuns
    first_rows: pl.DataFrame
    second_rows: pl.DataFrame
    contrast: str

    @property
    def models(self) -> str:
        """The models of both sides, for a sentence."""
        return listed(sorted(_levels(self.first_rows, "model") | _levels(self.second_rows, "model")))

    @property
    def same_model(self) -> bool:
        """Whether both sides are the same model (or models)."""
        return _levels(self.first_rows, "model") == _levels(self.second_rows, "model")

    @property
    def named_apart(self) -> bool:
        """Whether the sides are systems that are more than their models: a prompt may then be part of them."""
        first, second = (
            _levels(rows.filter(pl.col("system") != pl.col("model")), "system")
            for rows in (self.first_rows, self.second_rows)
        )
        return first != second

    @property
    def harness(self) -> str | None:
        """The harness of both sides; None where it is not the same or not known."""
        first, second = self.first.values("harness"), self.second.values("harness")
        return first[0] if len(first) == 1 and first == second else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One setting: where it is recorded, and how grave a difference in it is.

    Attributes
    ----------
    name, words, why
        Its name, what it is called in a sentence, and what a difference does.
    other, same, alone
        Severity where the models differ, where both sides are one model, and where one side alone has it; None: not told.
    treatment
        Whether it is part of how a model is run, and so what is compared where both sides are one model.
    """

    name: str
    words: str
    why: str
    place: Place
    other: Severity | None
    same: Severity | None
    alone: Severity | None
    treatment: bool = field(default=False)


def listed(names: list[str]) -> str:
    """Return the first few names, and how many more there are.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"])
    'a, b, c and 1 more'
    """
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def _levels(rows: pl.DataFrame, column: str) -> set[str]:
    return set(rows[column].drop_nulls().unique().to_list())


_TOGETHER = "so the difference is one of system and {} together"
RULES: tuple[Rule, ...] = (
    Rule(
        name="task_version",
        words="the version of the task",
        why="two versions ask or score differently, so a score of one is not a score of the other",
        place=Place(column="task_version", by_task="versions"),
        other="invalid",
        same="invalid",
        alone="note",
    ),
    Rule(
        name="harness",
        words="the harness",
        why="two programs build prompts and score answers differently, by as much as models differ",
        place=Place(column="harness"),
        other="invalid",
        same="invalid",
        alone="note",
    ),
    Rule(
        name="dataset",
        words="the dataset",
        why="another file or another number of samples is another version of the benchmark",
        place=Place(paths=("dataset.name", "dataset.samples", "benchmark_file"), together=True, ends=True),
        other="weakens",
        same="weakens",
        alone="note",
    ),
    Rule(
        name="task_setup",
        words="the setting of the task",
        why="the same items are harder or easier in another setting",
        place=Place(
            paths=("speech_complexity", "retrieval_config", "text_streaming_config", "variant_filter"), together=True
        ),
        other="weakens",
        same="weakens",
        alone="weakens",
    ),
    Rule(
        name="judge_settings",
        words="how the judge was run",
        why="a judge may grade otherwise under other settings",
        place=Place(paths=("judge_temperature",)),
        other="weakens",
        same="weakens",
        alone="note",
    ),
    Rule(
        name="user_simulator",
        words="the simulated user",
        why="another user makes another task of every item",
        place=Place(paths=("user_info.llm", "user_simulator", "user_model")),
        other="invalid",
        same="invalid",
        alone="note",
    ),
    Rule(
        name="n_shots",
        words="the number of worked examples",
        why="the models differ too, so the difference is one of model and worked examples together",
        place=Place(column="n_shots", by_task="shots"),
        other="invalid",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="prompt",
        words="the prompt",
        why="the models differ too, so the difference is one of model and prompt together",
        place=Place(column="prompt_hash"),
        other="invalid",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="system_prompt",
        words="the system prompt",
        why=_TOGETHER.format("system prompt"),
        place=Place(
            paths=("system_instruction_sha", "generate_config.system_message", "model_generate_config.system_message")
        ),
        other="weakens",
        same="note",
        alone="weakens",
        treatment=True,
    ),
    Rule(
        name="chat_template",
        words="the chat template",
        why="a model asked without its template, or with another's, may do worse than it can",
        place=Place(paths=("chat_template_sha",)),
        other="note",
        same="note",
        alone="weakens",
        treatment=True,
    ),
    Rule(
        name="fewshot_seed",
        words="the seed that draws the worked examples",
        why="so the two were shown different examples",
        place=Place(paths=("fewshot_seed",)),
        other="weakens",
        same="weakens",
        alone="note",
    ),
    Rule(
        name="task_args",
        words="the arguments of the task",
        why="they can change what is asked",
        place=Place(
            paths=("task_args",),
            together=True,
            without=("num_fewshot", "fewshot", "few_shot", "n_shots", "shots", "num_shots"),
        ),
        other="weakens",
        same="note",
        alone="weakens",
        treatment=True,
    ),
    Rule(
        name="temperature",
        words="the temperature",
        why=f"it is part of each system as it was run, {_TOGETHER.format('temperature')}",
        place=Place(column="temperature", by_task="temperatures"),
        other="weakens",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="sampling",
        words="how answers were sampled",
        why="it is part of each system as it was run",
        place=Place(
            paths=(
                *(
                    f"{part}.{name}"
                    for part in ("generate_config", "model_generate_config", "gen_kwargs")
                    for name in ("top_p", "top_k", "do_sample", "frequency_penalty", "presence_penalty", "num_choices")
                ),
            ),
            together=True,
        ),
        other="note",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="reasoning_effort",
        words="the reasoning effort",
        why=f"it is part of each system as it was run, {_TOGETHER.format('effort')}",
        place=Place(
            paths=(
                *(
                    f"{part}.{name}"
                    for part in ("generate_config", "model_generate_config", "agent_info.llm_args")
                    for name in ("reasoning_effort", "reasoning_tokens")
                ),
                *("audio_native_config.reasoning_effort", "reasoning_effort", "thinking_budget"),
            )
        ),
        other="weakens",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="max_tokens",
        words="the longest answer allowed",
        why="the shorter limit may have cut answers off",
        place=Place(
            paths=("generate_config.max_tokens", "model_generate_config.max_tokens", "gen_kwargs.max_gen_toks")
        ),
        other="weakens",
        same="note",
        alone="note",
        treatment=True,
    ),
    Rule(
        name="limits",
        words="the limit on an attempt",
        why="the side with the tighter one was stopped sooner",
        place=Place(
            paths=(
                *("message_limit", "token_limit", "turn_limit", "time_limit", "working_limit", "cost_limit"),
                *("max_steps", "max_errors"),
            ),
            together=True,
        ),
        other="weakens",
        same="note",
        alone="weakens",
        treatment=True,
    ),
    Rule(
        name="model_revision",
        words="the revision of the model",
        why="one name stands for two sets of weights",
        place=Place(paths=("model_sha", "model_revision", "model_args.revision")),
        other=None,
        same="note",
        alone=None,
        treatment=True,
    ),
    Rule(
        name="model_dtype",
        words="the precision of the weights",
        why="it can move single answers",
        place=Place(paths=("model_dtype", "dtype", "model_args.dtype")),
        other="note",
        same="note",
        alone=None,
        treatment=True,
    ),
)


def by_rule(rule: Rule, sides: Sides) -> RunDifference | None:
    """Return what a setting's rule says of the two sides; None where they agree or nothing is recorded."""
    if rule.place.together and sides.harness is None:
        return None  # only one and the same program leaves out of its log what was not set
    if rule.name == "fewshot_seed" and _no_examples(sides):
        return None
    found = recorded(rule.place, sides.first, sides.second)
    if found.one_sided:
        return _set_once(rule, found.baseline, found.candidate, sides)
    severity = rule.same if sides.same_model else rule.other
    if not found.n_differ or severity is None:
        return None
    first, second = shown(found.baseline), shown(found.candidate)
    why = rule.why
    if rule.treatment and sides.same_model:
        why = _compared(sides)
    elif rule.name == "prompt" and sides.named_apart:
        severity, why = "weakens", f"the systems are more than their models, {_TOGETHER.format('prompt')}"
    elif rule.name == "prompt" and sides.harness == "lm-eval" and _shots_differ(sides):
        # lm-eval's digest takes the number of worked examples in.
        severity, why = (
            "note",
            "as it must with other worked examples; whether the template differs too is not recorded",
        )
    where = f" on {found.n_differ} of {found.n_tasks} tasks" if found.n_differ < found.n_tasks else ""
    return RunDifference(
        setting=rule.name,
        baseline=first,
        candidate=second,
        severity=severity,
        explanation=f"{rule.words} differs between the two sides ({first} against {second}){where}: {why}",
    )


def gaps(sides: Sides) -> list[tuple[str, str]]:
    """Return the settings that one side alone records, in words, with the side; not those that `by_rule` tells of."""
    found: list[tuple[str, str]] = []
    for rule in RULES:
        values = recorded(rule.place, sides.first, sides.second)
        if values.one_sided and rule.alone and not rule.place.together and not _is_set_once(rule, sides):
            found.append((rule.words, "baseline" if values.baseline else "candidate"))
    return found


def _is_set_once(rule: Rule, sides: Sides) -> bool:
    """Whether a setting that one side lacks was not set there, instead of merely not recorded."""
    return rule.alone == "weakens" and sides.harness is not None


def _set_once(rule: Rule, first: tuple[str, ...], second: tuple[str, ...], sides: Sides) -> RunDifference | None:
    if not _is_set_once(rule, sides):
        return None
    which = "baseline" if first else "candidate"
    compared = rule.treatment and sides.same_model
    return RunDifference(
        setting=rule.name,
        baseline=shown(first),
        candidate=shown(second),
        severity="note" if compared else "weakens",
        explanation=(
            f"{rule.words} is set for the {which} only ({shown(first or second)}): {_compared(sides) if compared else rule.why}"
        ),
    )


def _compared(sides: Sides) -> str:
    return f"both sides are {sides.models}, so this is what is compared"


def _shots_differ(sides: Sides) -> bool:
    return bool(recorded(_SHOTS, sides.first, sides.second).n_differ)


def _no_examples(sides: Sides) -> bool:
    shots = recorded(_SHOTS, sides.first, sides.second)
    return {*shots.baseline, *shots.candidate} == {"0"}


# Those that no rule names: they are looked at one by one.
_OTHERS = {
    "judge": "judge",
    "harness_version": "version of the harness",
    "lab_or_live": "lab or live",
    "items": "items",
    "item_ids": "ids of the items",
    "item_limit": "limit on items",
    "n_trials": "trials of an item",
    "status": "state of the run",
    "date": "date",
    "several": "several at once",
    "unrecorded": "not recorded",
}
_WORDS = {**{rule.name: rule.words.removeprefix("the ") for rule in RULES}, **_OTHERS}


def setting_words(name: str) -> str:
    """Return what a setting is called, without an article.

    Examples
    --------
    >>> setting_words("task_version"), setting_words("judge")
    ('version of the task', 'judge')
    """
    return _WORDS.get(name, name.replace("_", " "))


def graver(differences: Sequence[RunDifference]) -> tuple[str, ...]:
    """Return the settings that make a comparison invalid, each once, in words.

    Examples
    --------
    >>> judge = RunDifference(
    ...     setting="judge", baseline="a", candidate="b", severity="invalid", explanation="the judge differs"
    ... )
    >>> graver([judge, judge])
    ('judge',)
    """
    return tuple(dict.fromkeys(setting_words(each.setting) for each in differences if each.severity == "invalid"))
