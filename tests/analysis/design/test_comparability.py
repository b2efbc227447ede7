"""What two sides' runs say of how they were made: from made-up runs, and from files as the harnesses write them."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.analysis.design import run_settings
from evalstats.analysis.design.comparability import (
    RunDifference,
    difference_notes,
    identical_runs,
    refusal,
    run_comparability,
)
from evalstats.analysis.design.run_settings import RULES, Rule
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.columns import column_names
from evalstats.schema.data import EvalData, combine
from evalstats.schema.plan import SETTINGS, check_settings
from evalstats.schema.tables import frame_from_rows
from evalstats.table.systems import System
from tests.analysis.builders import rows_of

Row = dict[str, object]


def data_with(
    first: Mapping[str, object],
    second: Mapping[str, object],
    *,
    same_model: bool = False,
    scores: tuple[Sequence[float], Sequence[float]] = ([1.0, 0.0] * 6, [1.0, 1.0] * 6),
    factors: tuple[Mapping[str, Sequence[object]] | None, Mapping[str, Sequence[object]] | None] = (None, None),
    rows: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {}),
    trials: tuple[int, int] = (1, 1),
) -> EvalData:
    """Two runs, `a-run` and `b-run`, with what `runs` holds of either; `rows` changes all outcome rows of a side."""
    outcomes: list[Row] = []
    for name, of_side, factor, change, k in zip("ab", scores, factors, rows, trials, strict=True):
        made = rows_of(name, of_side, factors=factor, trials=k)
        outcomes.extend({**row, **({"model": "m", "system": "m"} if same_model else {}), **change} for row in made)
    runs = [
        {"run": f"{name}-run", "benchmark": "bench", **said} for name, said in zip("ab", (first, second), strict=True)
    ]
    for run in runs:
        if isinstance(run.get("config"), Mapping):
            run["config"] = json.dumps(run["config"])
    return EvalData(outcomes=frame_from_rows(outcomes, "outcomes"), runs=frame_from_rows(runs, "runs"))


def arm(rows: pl.DataFrame) -> System:
    return System(name="x", rows=rows, runs=tuple(rows["run"].unique().sort().to_list()))


def sides(data: EvalData, first: str = "a-run", second: str = "b-run") -> tuple[System, System]:
    one, other = (arm(data.outcomes.filter(pl.col("run") == run)) for run in (first, second))
    return one, other


def found(data: EvalData, **options: Any) -> dict[str, RunDifference]:
    differences = run_comparability(data, *sides(data), **options)
    assert len({each.setting for each in differences}) == len(differences)
    return {each.setting: each for each in differences}


def severities(data: EvalData, **options: Any) -> dict[str, str]:
    return {name: each.severity for name, each in found(data, **options).items() if name != "unrecorded"}


# --- every setting has a rule, and every rule a name ---


def test_names_are_one_list() -> None:
    assert {rule.name for rule in RULES} <= set(SETTINGS)
    for rule in RULES:
        assert rule.place.column is None or rule.place.column in column_names("runs")


def told_on_the_page(name: str) -> list[str]:
    page = Path(__file__).resolve().parents[3] / "design" / "comparability.md"
    row = next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith(f"| `{name}` |"))
    return [part.strip() for part in row.split("|")[2:4]]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_words_and_stands_on_the_page(name: str) -> None:
    assert name in run_settings.ENTRIES
    assert all(told_on_the_page(name))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_the_page_says_what_the_rules_do(rule: Rule) -> None:
    other, same = told_on_the_page(rule.name)
    assert other.startswith(rule.other or "–")
    assert same.startswith((rule.same or "–", "the same"))


# --- the table: models differ, same model, one side only ---

# (runs columns or config of the baseline, of the candidate, severity where models differ, where they do not)
CASES: dict[str, tuple[Row, Row, str | None, str | None]] = {
    "task_version": ({"task_version": "1"}, {"task_version": "2"}, "invalid", "invalid"),
    "harness": ({"harness": "lm-eval"}, {"harness": "lighteval"}, "invalid", "invalid"),
    "n_shots": ({"n_shots": 0}, {"n_shots": 5}, "invalid", "note"),
    "prompt": ({"prompt_hash": "a" * 64}, {"prompt_hash": "b" * 64}, "invalid", "note"),
    "temperature": ({"temperature": 0.0}, {"temperature": 0.7}, "weakens", "note"),
    "judge": ({"judge": "j1"}, {"judge": "j2"}, "invalid", "invalid"),
}
CONFIGS: dict[str, tuple[Row, Row, str | None, str | None]] = {
    "dataset": ({"dataset": {"samples": 100}}, {"dataset": {"samples": 120}}, "weakens", "weakens"),
    "task_setup": ({"speech_complexity": "regular"}, {"speech_complexity": "hard"}, "weakens", "weakens"),
    "judge_settings": ({"judge_temperature": 0.0}, {"judge_temperature": 1.0}, "weakens", "weakens"),
    "user_simulator": ({"user_info": {"llm": "gpt-4.1"}}, {"user_info": {"llm": "gpt-5.2"}}, "invalid", "invalid"),
    "system_prompt": ({"system_instruction_sha": "1" * 64}, {"system_instruction_sha": "2" * 64}, "weakens", "note"),
    "chat_template": ({"chat_template_sha": "1" * 64}, {"chat_template_sha": "2" * 64}, "note", "note"),
    "fewshot_seed": ({"fewshot_seed": 1}, {"fewshot_seed": 2}, "weakens", "weakens"),
    "task_args": ({"task_args": {"subset": "a"}}, {"task_args": {"subset": "b"}}, "weakens", "note"),
    "sampling": ({"generate_config": {"top_p": 1}}, {"generate_config": {"top_p": 0.9}}, "note", "note"),
    "reasoning_effort": (
        {"generate_config": {"reasoning_effort": "low"}}, {"generate_config": {"reasoning_effort": "high"}}, "weakens", "note",
    ),
    "max_tokens": ({"gen_kwargs": "max_gen_toks=64"}, {"gen_kwargs": {"max_gen_toks": 256}}, "weakens", "note"),
    "limits": ({"message_limit": 20}, {"message_limit": 50}, "weakens", "note"),
    "model_revision": ({"model_sha": "1" * 40}, {"model_sha": "2" * 40}, None, "note"),
    "model_dtype": ({"model_dtype": "bf16"}, {"model_dtype": "fp8"}, "note", "note"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("same_model", [False, True])
def test_settings_of_runs(name: str, same_model: bool) -> None:
    first, second, other, same = CASES[name]
    data = data_with(first, second, same_model=same_model)
    expected = same if same_model else other
    assert severities(data) == {name: expected}
    back = data_with(second, first, same_model=same_model)
    assert severities(back) == {name: expected}
    # Nothing differs where both sides have the same.
    assert severities(data_with(first, first, same_model=same_model)) == {}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("same_model", [False, True])
def test_settings_in_configurations(name: str, same_model: bool) -> None:
    first, second, other, same = CONFIGS[name]
    harness = {"harness": "inspect_ai"}
    data = data_with({**harness, "config": first}, {**harness, "config": second}, same_model=same_model)
    expected = same if same_model else other
    assert severities(data) == ({} if expected is None else {name: expected})
    equal = data_with({**harness, "config": first}, {**harness, "config": first}, same_model=same_model)
    assert severities(equal) == {}


def test_what_one_side_alone_records_is_never_invalid() -> None:
    for first, second, *_ in CASES.values():
        for said in (data_with(first, {}), data_with({}, second)):
            assert "invalid" not in [each.severity for each in found(said).values()]
    for first, *_ in CONFIGS.values():
        said = data_with({"harness": "h", "config": first}, {"harness": "h", "config": {}})
        assert "invalid" not in [each.severity for each in found(said).values()]


def test_what_was_set_once_weakens_where_the_harness_would_have_said_so() -> None:
    config = {"system_instruction_sha": "1" * 64}
    one = found(data_with({"harness": "lm-eval", "config": config}, {"harness": "lm-eval", "config": {}}))
    assert one["system_prompt"].severity == "weakens"
    assert "is set for the baseline only (1111111111)" in one["system_prompt"].explanation
    unknown = found(data_with({"harness": "lm-eval", "config": config}, {}))
    assert unknown["unrecorded"].severity == "note"
    assert "the harness (baseline), the system prompt (baseline)" in unknown["unrecorded"].explanation


def test_words_say_what_differs_and_why() -> None:
    shots = found(data_with({"n_shots": 0}, {"n_shots": 5}))["n_shots"]
    assert (shots.baseline, shots.candidate) == ("0", "5")
    assert shots.explanation == (
        "the number of worked examples differs between the two sides (0 against 5): the models differ too, so the difference "
        "is one of model and worked examples together"
    )
    studied = found(data_with({"n_shots": 0}, {"n_shots": 5}, same_model=True))["n_shots"]
    assert studied.explanation.endswith("both sides are m, so this is what is compared")


# --- single settings that take thought ---


def test_one_and_1_point_0_are_one_version() -> None:
    assert severities(data_with({"task_version": "1.0"}, {"task_version": "1"})) == {}
    assert severities(data_with({"task_version": "1.10"}, {"task_version": "1.1"})) == {"task_version": "invalid"}


def test_a_prompt_may_be_part_of_systems_that_are_named_apart() -> None:
    prompts = {"prompt_hash": "p1"}, {"prompt_hash": "p2"}
    named = data_with(*prompts, rows=({"system": "a (react)"}, {"system": "b (plan)"}))
    assert severities(named) == {"prompt": "weakens"}
    assert severities(data_with(*prompts)) == {"prompt": "invalid"}


def test_the_digest_of_lm_eval_takes_the_shots_in() -> None:
    first = {"harness": "lm-eval", "n_shots": 0, "prompt_hash": "p1"}
    second = {"harness": "lm-eval", "n_shots": 5, "prompt_hash": "p2"}
    assert severities(data_with(first, second)) == {"n_shots": "invalid", "prompt": "note"}
    # With one model that is one setting, not two.
    assert severities(data_with(first, second, same_model=True)) == {"n_shots": "note", "prompt": "note"}


def test_one_model_in_several_settings_at_once_is_confounded() -> None:
    data = data_with({"n_shots": 0, "temperature": 0.0}, {"n_shots": 5, "temperature": 1.0}, same_model=True)
    told = found(data)
    assert {name: each.severity for name, each in told.items() if name != "unrecorded"} == {
        "n_shots": "note", "temperature": "note", "several": "weakens",
    }  # fmt: skip
    assert told["several"].explanation == (
        "the number of worked examples and the temperature differ at once, so the difference cannot be attributed to one of them"
    )


def test_tasks_are_compared_with_themselves() -> None:
    """The same two temperatures on both sides, but on the other task: a comparison of sets would see nothing."""
    outcomes: list[Row] = []
    runs: list[Row] = []
    for model, warm in (("a", "t1"), ("b", "t2")):
        for task in ("t1", "t2"):
            run = f"{model}-{task}"
            runs.append({"run": run, "benchmark": "bench", "temperature": 1.0 if task == warm else 0.0})
            outcomes.extend({**row, "run": run, "task": task} for row in rows_of(model, [1.0, 0.0]))
    data = EvalData(outcomes=frame_from_rows(outcomes, "outcomes"), runs=frame_from_rows(runs, "runs"))
    told = run_comparability(data, *(arm(data.outcomes.filter(pl.col("model") == name)) for name in "ab"))
    assert [each.setting for each in told if each.severity == "weakens"] == ["temperature"]


def test_shots_task_by_task_are_read_from_the_configuration() -> None:
    def side(shots: Mapping[str, int]) -> Row:
        return {"harness": "lm-eval", "config": {"shots": shots}}

    data = data_with(side({"t1": 0, "t2": 5}), side({"t1": 0, "t2": 3}))
    of_task = [data.outcomes.with_columns(task=pl.lit(task)) for task in ("t1", "t2")]
    data = EvalData(outcomes=pl.concat(of_task), runs=data.runs)
    told = found(data)["n_shots"]
    assert (told.baseline, told.candidate, told.severity) == ("5", "3", "invalid")
    assert "on 1 of 2 tasks" in told.explanation


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"harness_version": "0.4.2"}, {"harness_version": "0.4.9"}, "note"),
        ({"harness_version": "0.4.2"}, {"harness_version": "0.5.0"}, "weakens"),
        ({"harness_version": "c0dd2331a751"}, {"harness_version": "a1dd2331a751"}, "weakens"),
        ({"harness_version": "0.4.2", "task_version": "3"}, {"harness_version": "0.5.0", "task_version": "3"}, "note"),
    ],
)
def test_versions_of_the_harness(first: Row, second: Row, expected: str) -> None:
    data = data_with({"harness": "lm-eval", **first}, {"harness": "lm-eval", **second})
    assert severities(data) == {"harness_version": expected}


def test_version_0_of_inspect_is_no_version() -> None:
    first, second = ({"harness": "inspect_ai", "task_version": "0", "harness_version": v} for v in ("0.3.1", "0.4.1"))
    assert severities(data_with(first, second)) == {"harness_version": "weakens"}


def test_examples_that_were_not_shown_have_no_seed() -> None:
    def side(seed: int, shots: int) -> Row:
        return {"harness": "lm-eval", "n_shots": shots, "config": {"fewshot_seed": seed}}

    assert severities(data_with(side(1, 0), side(2, 0))) == {}
    assert severities(data_with(side(1, 5), side(2, 5))) == {"fewshot_seed": "weakens"}


def test_a_limit_that_one_side_did_not_set_is_named() -> None:
    told = found(data_with({"harness": "h", "config": {"message_limit": 20}}, {"harness": "h", "config": {}}))["limits"]
    assert (told.baseline, told.candidate) == ("message_limit=20", "message_limit not set")


def test_what_was_not_written_down_is_not_taken_for_not_set() -> None:
    """Only one and the same program is known to leave out of its log what was not set."""
    for first, second in (({}, {}), ({"harness": "h"}, {}), ({"harness": "h"}, {"harness": "other"})):
        told = found(data_with({**first, "config": {"message_limit": 20}}, {**second, "config": {}}))
        assert "limits" not in told


# --- items, prompts of items, judges, trials ---


def test_other_items_are_counted() -> None:
    def data(n: int) -> EvalData:
        return data_with({}, {}, scores=([1.0, 0.0] * 50, [1.0] * n))

    assert severities(data(100)) == {}
    nearly, half = found(data(95))["items"], found(data(50))["items"]
    assert (nearly.severity, half.severity) == ("note", "weakens")
    assert "50 are shared (50%), 50 only in the baseline;" in half.explanation


def test_a_task_that_one_side_skipped_is_named() -> None:
    outcomes = [{**row, "task": task} for task in ("x", "y") for row in rows_of("a", [1.0] * 4)]
    outcomes += [{**row, "task": "x"} for row in rows_of("b", [1.0] * 4)]
    data = EvalData(outcomes=frame_from_rows(outcomes, "outcomes"))
    assert "the baseline alone has y" in found(data)["items"].explanation


@pytest.mark.parametrize(
    ("n_other", "same_model", "expected"), [(1, False, "weakens"), (3, False, "invalid"), (3, True, "weakens")]
)
def test_items_with_other_prompts(n_other: int, same_model: bool, expected: str) -> None:
    hashes = [f"h{i}" for i in range(12)]
    other = [*(f"new{i}" for i in range(n_other)), *hashes[n_other:]]
    data = data_with({}, {}, same_model=same_model, factors=({"prompt_hash": hashes}, {"prompt_hash": other}))
    told = found(data)["prompt"]
    assert told.severity == expected
    assert told.explanation.startswith(f"{n_other} of 12 items were asked with different prompts: ")


def test_prompts_that_moved_to_other_ids_make_items_that_cannot_be_paired() -> None:
    hashes = [f"h{i}" for i in range(12)]
    shuffled = ({"prompt_hash": hashes}, {"prompt_hash": hashes[::-1]})
    for same_model in (False, True):
        told = found(data_with({}, {}, same_model=same_model, factors=shuffled))
        assert told["item_ids"].severity == "invalid"
        assert "12 of 12 items" in told["item_ids"].explanation


def test_rows_numbered_as_items_pair_up_only_where_both_sides_have_as_many() -> None:
    """An A/B test of different users gave "better on the 540 items that both answered", of pairs that mean nothing."""
    table = pl.DataFrame({"model": ["a"] * 12 + ["b"] * 11, "score": [1, 0] * 6 + ([1, 1, 0] * 4)[:11]})
    data = es.from_frame(table, item="#row", model="model", score="score")
    result = es.compare(data, "a", "b", paired=True)
    told = {each.setting: each for each in result.run_differences}
    assert told["item_ids"].severity == result.verdict == "invalid"
    assert "the sides have 12 and 11 of them" in told["item_ids"].explanation
    assert "items" not in told
    with pytest.raises(CannotAnswerError, match="name the column that says which item a row is"):
        es.leaderboard(data, paired=True)
    assert es.leaderboard(data).different == "items"
    assert es.compare(data, "a", "b", accept=["item_ids"], paired=True).verdict != "invalid"


def test_prompts_that_must_differ_are_no_news() -> None:
    factors = {"prompt_hash": [f"h{i}" for i in range(12)]}, {"prompt_hash": [f"g{i}" for i in range(12)]}
    shots = {"harness": "lm-eval", "n_shots": 0}, {"harness": "lm-eval", "n_shots": 5}
    assert severities(data_with(*shots, factors=factors)) == {"n_shots": "invalid", "prompt": "note"}
    templates = tuple({"harness": "lm-eval", "config": {"chat_template_sha": sha * 64}} for sha in "12")
    assert severities(data_with(*templates, factors=factors)) == {"chat_template": "note", "prompt": "note"}
    rendered = {"harness": "lm-eval", "prompt_hash": "same"}
    assert severities(data_with(rendered, rendered, factors=factors)) == {"prompt": "weakens"}


def test_levels_of_another_column_may_be_asked_in_their_own_ways() -> None:
    rows = [
        {**row, "run": "r", "variant": variant, "prompt_hash": f"{variant}-{row['item']}"}
        for variant in ("kind", "rude") for row in rows_of("m", [1.0, 0.0] * 5)
    ]  # fmt: skip
    data = EvalData(outcomes=frame_from_rows(rows, "outcomes"))
    first, second = (arm(data.outcomes.filter(pl.col("variant") == variant)) for variant in ("kind", "rude"))
    told = run_comparability(data, first, second, contrast="variant")
    assert [(each.setting, each.severity) for each in told] == [("prompt", "note")]


def test_the_judge_of_another_metric_is_no_judge_of_this_one() -> None:
    """A log names the judges of all its scorers; a metric that needs none is not touched by them."""
    data = data_with({"judge": "j1"}, {"judge": "j2"})
    graded = [
        {**row, "metric": "graded", "judge": judge}
        for name, judge in (("a", "j1"), ("b", "j2")) for row in rows_of(name, [1.0] * 3)
    ]  # fmt: skip
    both = combine([data, EvalData(outcomes=frame_from_rows(graded, "outcomes"))])
    plain = both.outcomes.filter(pl.col("metric") == "correct")
    judged = both.outcomes.filter(pl.col("metric") == "graded")
    expected = ((plain, None), (judged, "invalid"))
    for rows, severity in expected:
        told = run_comparability(both, *(arm(rows.filter(pl.col("run") == run)) for run in ("a-run", "b-run")))
        assert next((each.severity for each in told if each.setting == "judge"), None) == severity


def test_a_judge_reached_in_another_way_is_the_same_judge() -> None:
    assert severities(data_with({"judge": "openai/gpt-4o"}, {"judge": "azure/GPT-4o"})) == {"judge": "note"}


def test_models_that_grade_themselves_are_told_of() -> None:
    told = found(data_with({"judge": "a"}, {"judge": "b"}))["judge"]
    assert "each model graded itself" in told.explanation


def test_the_judge_may_be_what_is_compared() -> None:
    data = data_with({"judge": "j1"}, {"judge": "j2"}, same_model=True)
    assert severities(data, contrast="judge") == {"judge": "note"}


def test_lab_and_live_are_not_one() -> None:
    data = data_with({}, {}, rows=({"setting": "lab"}, {"setting": "live"}))
    assert severities(data) == {"lab_or_live": "invalid"}
    assert severities(data, contrast="setting") == {"lab_or_live": "note"}


def test_a_run_that_did_not_end_weakens() -> None:
    told = found(data_with({"status": "success"}, {"status": "started"}))["status"]
    assert told.severity == "weakens"
    assert told.explanation.startswith("a run of the candidate did not end")
    assert severities(data_with({"status": "cancelled"}, {"status": "cancelled"})) == {"status": "weakens"}


def test_runs_of_different_seasons_are_noted() -> None:
    def at(month: int, day: int) -> Row:
        return {"timestamp": datetime(2026, month, day, tzinfo=UTC)}

    assert severities(data_with(at(1, 1), at(3, 1))) == {}
    assert severities(data_with(at(1, 1), at(4, 2))) == {"date": "note"}
    assert "91 days apart (2026-01-01 and 2026-04-02)" in found(data_with(at(1, 1), at(4, 2)))["date"].explanation


def test_files_that_say_nothing_are_said_to_say_nothing() -> None:
    assert "are not checked" in found(data_with({}, {}))["unrecorded"].explanation
    assert found(data_with({"n_shots": 5}, {"n_shots": 5})) == {}


@pytest.mark.parametrize("text", ["", "[1, 2]", "{broken", '{"n":' * 5000, "null", '"text"'])
def test_a_configuration_that_cannot_be_read_says_nothing(text: str) -> None:
    data = data_with({"harness": "h", "config": text}, {"harness": "h", "config": text})
    assert severities(data) == {}


# --- what the user declares, and what a result is given ---


def test_what_is_declared_as_intended_is_a_note() -> None:
    data = data_with({"n_shots": 0, "judge": "j1"}, {"n_shots": 5, "judge": "j2"})
    assert severities(data, accept=["n_shots"]) == {"n_shots": "note", "judge": "invalid"}
    told = found(data, accept=["n_shots", "judge"])
    assert told["judge"].explanation.endswith("; declared as intended")
    with pytest.raises(InputError, match="'shots' is no setting of a run; did you mean 'n_shots'"):
        found(data, accept=["shots"])
    with pytest.raises(InputError, match="'judje' is no setting"):
        check_settings(["judje"])


def test_a_result_gets_the_gravest_first_and_each_in_its_place() -> None:
    data = data_with(
        {"n_shots": 0, "judge": "j1", "temperature": 0.0}, {"n_shots": 5, "judge": "j2", "temperature": 1.0},
        scores=([1.0] * 20, [1.0] * 19),
    )  # fmt: skip
    told = run_comparability(data, *sides(data))
    order = [each.severity for each in told]
    assert order == sorted(order, key=["invalid", "weakens", "note"].index)
    reason = refusal(told)
    assert reason is not None
    assert "the judge differs" in reason
    assert reason.endswith('accept = ["n_shots", "judge"] in evalstats.toml')
    notes = difference_notes(told)
    assert [note.text.partition(" differs")[0] for note in notes if note.caution] == ["the temperature"]
    assert any("The sides hold different items" in note.text for note in notes if not note.caution)
    assert refusal(run_comparability(data, *sides(data), accept=["n_shots", "judge"])) is None


def test_order_of_rows_and_names_of_runs_change_nothing() -> None:
    data = data_with({"n_shots": 0, "harness": "h"}, {"n_shots": 5, "harness": "h"}, scores=([1.0] * 30, [1.0] * 20))
    shuffled = EvalData(outcomes=data.outcomes.sample(fraction=1.0, shuffle=True, seed=1), runs=data.runs.reverse())
    assert run_comparability(data, *sides(data)) == run_comparability(shuffled, *sides(shuffled))


# --- one run under two names ---


def same(data: EvalData) -> str | None:
    return identical_runs(data, *sides(data))


def test_two_files_with_the_same_bytes_are_one_run() -> None:
    scores = [1.0, 0.0] * 6
    sources = {"source": "x.json", "source_digest": "d1"}, {"source": "copy.json", "source_digest": "d1"}
    told = same(data_with(*sources, same_model=True, scores=(scores, scores)))
    assert told is not None
    assert told.startswith("the two sides are the same file under two names")
    assert "no evidence that two systems are equivalent" in told


def test_one_file_may_hold_two_runs() -> None:
    sources = {"source": "x.json", "source_digest": "d1"}, {"source": "x.json", "source_digest": "d1"}
    assert same(data_with(*sources)) is None
    tenacious = datasets.tenacious_held_out()
    first, second = (arm(tenacious.outcomes.filter(pl.col("model") == name)) for name in ("baseline", "trained"))
    assert identical_runs(tenacious, first, second) is None


def test_the_same_scores_of_one_system_are_one_run_unless_it_was_run_otherwise() -> None:
    scores = ([1.0, 0.0] * 6, [1.0, 0.0] * 6)
    assert "the two runs of m have the same score" in str(same(data_with({}, {}, same_model=True, scores=scores)))
    # With another prompt the same scores are a finding.
    assert same(data_with({"prompt_hash": "p"}, {"prompt_hash": "q"}, same_model=True, scores=scores)) is None
    # Two models may both be right on twelve items.
    assert same(data_with({}, {}, scores=scores)) is None
    # Nor do three rows prove much.
    assert same(data_with({}, {}, same_model=True, scores=([1.0] * 3, [1.0] * 3))) is None
    # One row more or less is a difference.
    assert same(data_with({}, {}, same_model=True, scores=(scores[0], scores[0][:-1]))) is None


def test_varied_scores_do_not_agree_by_chance() -> None:
    scores = [i / 12 for i in range(12)]
    assert "too varied for chance" in str(same(data_with({}, {}, scores=(scores, scores))))
    assert same(data_with({}, {}, scores=(scores, [*scores[:-1], 0.5]))) is None


def test_nothing_scored_is_not_the_same() -> None:
    data = data_with(
        {}, {}, same_model=True, rows=({"score": None, "status": "error"}, {"score": None, "status": "error"})
    )
    assert same(data) is None


# --- files as harnesses write them ---


def test_real_log_against_itself_with_another_task_version(shared_data: Path, tmp_path: Path) -> None:
    folder = next((shared_data / "lm_eval").glob("genuine*"))
    results = next(folder.rglob("results_*.json"))
    samples = list(results.parent.glob("samples_*.jsonl"))
    content = json.loads(results.read_text())
    for name, version, shots in (("one", None, 0), ("two", 9, 2)):
        target = tmp_path / name / f"model-{name}"
        target.mkdir(parents=True)
        changed = {**content, "config": {**content["config"], "model_args": f"pretrained=model-{name}"}}
        changed["model_name"] = f"model-{name}"
        if version is not None:
            changed["versions"] = dict.fromkeys(content["versions"], version)
            changed["n-shot"] = dict.fromkeys(content["n-shot"], shots)
        (target / results.name).write_text(json.dumps(changed))
        for file in samples:
            (target / file.name).write_bytes(file.read_bytes())
    data = es.read(str(tmp_path / "one"), str(tmp_path / "two"))
    benchmark = data.outcomes["benchmark"].unique().sort()[0]
    rows = data.outcomes.filter(pl.col("benchmark") == benchmark)
    rows = rows.filter(pl.col("metric") == rows["metric"].sort()[0])
    first, second = (rows.filter(pl.col("model") == f"model-{name}") for name in ("one", "two"))
    assert first.height
    told = run_comparability(data, arm(first), arm(second))
    assert {each.setting for each in told if each.severity == "invalid"} == {"task_version", "n_shots"}


def test_real_inspect_logs_that_stopped_weaken(shared_data: Path) -> None:
    data = es.read(str(shared_data / "inspect_logs" / "scorer"))
    runs = data.outcomes["run"].unique().sort().to_list()
    metric = data.outcomes["metric"].sort()[0]
    rows = data.outcomes.filter(pl.col("metric") == metric)
    first, second = (arm(rows.filter(pl.col("run") == run)) for run in runs[:2])
    told = run_comparability(data, first, second)
    # The same model, the same settings, a minute apart.
    assert not [each for each in told if each.severity != "note"], told
