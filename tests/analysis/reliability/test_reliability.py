"""Reliability over facets: tables of every shape to components, what is refused, and real boards."""

from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats.errors import InputError
from evalstats.stats.variance_components import object_scores, variance_components

N_MODELS, N_SCAFFOLDS, N_ITEMS = 9, 4, 15


@cache
def scores() -> np.ndarray:
    rng = np.random.default_rng(31)
    logit = (
        rng.normal(0, 1, (N_MODELS, 1, 1))
        + rng.normal(0, 1, (1, 1, N_ITEMS))
        + rng.normal(0, 0.7, (N_MODELS, N_SCAFFOLDS, 1))
        + rng.normal(0, 0.4, (1, N_SCAFFOLDS, 1))
    )
    return (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(float)


def rows(values: np.ndarray | None = None) -> list[dict[str, Any]]:
    values = scores() if values is None else values
    return [
        {"item": f"t{i:02d}", "model": f"m{m}", "scaffold": f"s{s}", "score": values[m, s, i]}
        for m in range(len(values))
        for s in range(values.shape[1])
        for i in range(values.shape[2])
    ]


def table(listed: list[dict[str, Any]], **names: str) -> es.EvalData:
    roles = {"item": "item", "model": "model", "system": "scaffold", "score": "score"} | names
    return es.from_frame(pl.DataFrame(listed), **roles)  # pyright: ignore[reportArgumentType] - roles by name


@cache
def report() -> es.ReliabilityReport:
    return es.reliability(table(rows()), object="model", facets=["scaffold", "item"])


def test_components_are_those_of_the_table() -> None:
    model, scaffold, item = (each.ravel() for each in np.indices(scores().shape))
    factors = {"model": model, "scaffold": scaffold, "item": item}
    known = variance_components(factors, scores().ravel())
    found = report()
    assert [row.factors for row in found.components] == list(known.effects)
    assert [row.variance for row in found.components] == pytest.approx(known.variances.tolist())
    assert sum(row.share for row in found.components) == pytest.approx(1.0)
    assert found.balanced
    means = dict(zip((f"m{m}" for m in range(N_MODELS)), object_scores(factors, scores().ravel()), strict=True))
    assert {row.name: row.score for row in found.objects} == pytest.approx(means)
    assert [row.score for row in found.objects] == sorted((row.score for row in found.objects), reverse=True)
    for row in (*found.components, found.relative, found.absolute):
        if row.reason is not None:
            assert row.ends is None
            continue
        assert row.conf_low is not None
        assert row.conf_high is not None
        assert row.conf_low < row.conf_high
        assert row.estimate is not None
        assert row.conf_low <= row.estimate + 1e-9


@pytest.mark.parametrize("role", ["system", "judge"])
def test_a_facet_may_stand_in_any_column(role: str) -> None:
    names = {"system": "model"} if role != "system" else {}
    listed = rows() if role == "system" else [{**row, "system": row["model"]} for row in rows()]
    data = table(listed, **({"system": "system", role: "scaffold"} if names else {}))
    for name in ("scaffold", role):
        found = es.reliability(data, facets=[name, "item"])
        assert [row.variance for row in found.components] == pytest.approx(
            [row.variance for row in report().components]
        )
        assert found.components[1].factors == (name,)


def test_versions_of_items_are_a_facet_by_default() -> None:
    """As many answers to one item as it has versions are no items of their own."""
    frame = pl.DataFrame(rows())
    data = es.from_frame(frame, item="item", model="model", variant="scaffold", score="score")
    found = es.reliability(data)
    assert [row.name for row in found.facets] == ["variant", "item"]
    assert [row.variance for row in found.components] == pytest.approx([row.variance for row in report().components])


def test_items_may_be_named_by_their_own_column() -> None:
    listed = [{"Task ID" if name == "item" else name: value for name, value in row.items()} for row in rows()]
    data = table(listed, item="Task ID")
    found = es.reliability(data, facets=["scaffold", "Task ID"])
    assert found.components == report().components
    assert found.first_places == report().first_places
    assert es.reliability(data, facets=["scaffold", "Task ID"], fixed="Task ID").facet("item").fixed


def test_a_facet_that_is_no_column_is_answered_in_the_names_of_the_file() -> None:
    data = table([{**row, "system": row["model"]} for row in rows()], system="system", variant="scaffold")
    with pytest.raises(es.EvalStatsError, match=r"columns with more than one level: item, variant \(scaffold\)"):
        es.reliability(data, facets=["scaffolds", "item"])


def test_a_probability_that_rounds_like_its_interval_stands_alone() -> None:
    apart = np.arange(2.0)[:, None, None] + np.random.default_rng(1).normal(0, 0.1, (2, 1, 40))
    data = table([{**row, "scaffold": row["model"]} for row in rows(apart)])
    (text, *_) = es.reliability(data, facets="item").document().answer
    assert "another model would with probability <1%." in text.text  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_the_order_of_rows_and_facets_changes_nothing() -> None:
    ordered = rows()
    listed = [ordered[place] for place in np.random.default_rng(0).permutation(len(ordered))]
    found = es.reliability(table(listed), facets=["item", "scaffold"])
    expected = {frozenset(row.factors): row.variance for row in report().components}
    assert {frozenset(row.factors): row.variance for row in found.components} == pytest.approx(expected)
    for one, other in ((found.relative, report().relative), (found.absolute, report().absolute)):
        assert (one.estimate, one.conf_low, one.conf_high) == pytest.approx(
            (other.estimate, other.conf_low, other.conf_high)
        )
    changes = {(frozenset(row.renewed), row.n): row.estimate for row in report().first_places}
    assert {(frozenset(row.renewed), row.n): row.estimate for row in found.first_places} == pytest.approx(changes)


def test_lower_is_better_puts_another_first() -> None:
    found = es.reliability(table(rows()), facets=["scaffold", "item"], higher_is_better=False)
    assert found.objects[0].name == report().objects[-1].name
    assert found.relative.estimate == pytest.approx(report().relative.estimate)


def test_trials_are_a_facet_by_themselves_where_items_have_several() -> None:
    rng = np.random.default_rng(5)
    chance = 1 / (1 + np.exp(-rng.normal(0, 1, (8, 1)) - rng.normal(0, 1, (1, 30))))
    listed = [
        {"item": f"q{i}", "model": f"m{m}", "trial": t, "score": int(rng.random() < chance[m, i])}
        for m in range(8)
        for i in range(30)
        for t in range(3)
    ]
    data = es.from_frame(pl.DataFrame(listed), item="item", model="model", trial="trial", score="score")
    found = es.reliability(data)
    assert [(row.name, row.n_each) for row in found.facets] == [("item", 30), ("trial", 3)]
    without = es.reliability(data, facets="item")
    assert [row.name for row in without.facets] == ["item"]
    # By trials, a negative component of model and item is set to 0.
    assert without.relative.estimate == pytest.approx(found.relative.estimate, abs=0.01)


def test_items_of_several_benchmarks_are_nested_in_them() -> None:
    rng = np.random.default_rng(6)
    ability = rng.normal(0, 0.8, (8, 1)) + rng.normal(0, 0.6, (8, 4))
    listed = [
        {"bench": f"b{b}", "item": f"q{i}", "model": f"m{m}", "score": int(rng.logistic() < ability[m, b])}
        for m in range(8)
        for b in range(4)
        for i in range(20)
    ]
    data = es.from_frame(pl.DataFrame(listed), benchmark="bench", item="item", model="model", score="score")
    found = es.reliability(data, facets=["benchmark", "item"])
    assert found.facet("item").within == ("benchmark",)
    assert (found.facet("item").n_levels, found.facet("item").n_each) == (80, 20)
    assert found.benchmark == "b0, b1, b2 and b3"
    held = es.reliability(data, facets=["benchmark", "item"], fixed="benchmark")
    assert held.relative.estimate is not None
    assert found.relative.estimate is not None
    assert held.relative.estimate > found.relative.estimate
    assert {row.facet for row in held.targets} == {"item"}
    assert [row.role for row in held.components if row.factors == ("model", "benchmark")] == ["universe"]


def test_a_partial_board_is_fitted_and_adjusted() -> None:
    listed = [row for row in rows() if (int(row["model"][1]) + int(row["scaffold"][1])) % 4]
    found = es.reliability(table(listed), facets=["scaffold", "item"])
    assert not found.balanced
    assert found.facet("scaffold").n_each == 3
    assert found.n_cells == len(listed)
    assert "REML" in found.method


ALL = [(m, s) for m in range(N_MODELS) for s in range(N_SCAFFOLDS)]


@pytest.mark.parametrize(
    ("keep", "options", "error", "said"),
    [
        ([(m, m % N_SCAFFOLDS) for m in range(N_MODELS)], {}, es.CannotAnswerError, "every model occurs with one scaffold"),
        ([(m, m) for m in range(N_SCAFFOLDS)], {}, es.CannotAnswerError, "every model has its own scaffold"),
        ([(m, 0) for m in range(N_MODELS)], {}, es.CannotAnswerError, "scaffold has one level"),
        (ALL, {"facets": ["item"]}, es.InputError, r"m0 stands for 4 systems .*facets='system'"),
        (ALL, {"facets": ["scaffold", "judges"]}, es.InputError, "no column 'judges'"),
        (ALL, {"facets": ["scaffold", "judge"]}, es.CannotAnswerError, "no row has a level of judge"),
        (ALL, {"facets": ["model", "item"]}, es.InputError, "model is the object of measurement"),
        (ALL, {"fixed": ["judge"]}, es.InputError, "judge is fixed and no facet"),
        (ALL, {"models": ["m0", "m77"]}, es.InputError, "no model 'm77'"),
        (ALL, {"facets": ["scaffold", "trial"]}, es.InputError, "trials repeat an item"),
        (ALL, {"facets": ["scaffold", "item", "trial"]}, es.CannotAnswerError, "more than one trial"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_is_refused(
    keep: list[tuple[int, int]], options: dict[str, Any], error: type, said: str
) -> None:
    listed = [row for row in rows() if (int(row["model"][1]), int(row["scaffold"][1])) in keep]
    with pytest.raises(error, match=said):
        es.reliability(table(listed), **{"facets": ["scaffold", "item"], **options})


def test_scaffolds_of_each_model_alone_are_nested_and_said_to_be() -> None:
    listed = [{**row, "scaffold": f"{row['model']}-{row['scaffold']}"} for row in rows()]
    found = es.reliability(table(listed), facets=["scaffold", "item"])
    assert found.facet("scaffold").within == ("model",)
    (note,) = (note for note in found.notes if note.kind == "dependence")
    assert note.text.startswith("Each model has scaffolds of its own")
    assert "cannot be separated" in note.text


def test_models_that_do_not_differ_are_not_told_apart() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 3, 12))
    values -= values.mean(axis=(1, 2), keepdims=True)
    found = es.reliability(table(rows(values)), facets=["scaffold", "item"])
    assert found.relative.estimate is None
    assert found.components[0].zero
    assert found.verdict != "reliable"
    assert "do not tell the models apart" in found.summary()


def test_few_levels_are_said_to_be_few() -> None:
    (note,) = (note for note in report().notes if note.kind == "few")
    assert note.text.startswith("Only 9 models and 4 scaffolds:")


def test_rows_without_a_level_are_dropped_and_said_to_be() -> None:
    listed = [{**row, "family": None if row["item"] == "t00" else f"f{int(row['item'][1:]) % 3}"} for row in rows()]
    found = es.reliability(table(listed), facets=["scaffold", "family", "item"])
    assert found.n_cells == N_MODELS * N_SCAFFOLDS * (N_ITEMS - 1)
    assert found.facet("item").within == ("family",)
    (note,) = (note for note in found.notes if note.kind == "left_out" and note.caution)
    assert note.text == f"36 of {len(listed)} rows have no level of family and are dropped"


def test_it_is_saved_and_read_back(tmp_path: Path) -> None:
    report().save(tmp_path / "r.json")
    again = es.load_result(tmp_path / "r.json")
    assert again == report()
    assert again.summary() == report().summary()


def test_a_page_shows_the_chances_and_the_curve() -> None:
    document = report().document()
    assert list(document.tables) == ["levels", "first-places", "components", "objects", "runs"]
    assert list(document.figures) == ["curve"]
    assert report().figure("curve").axes


def test_swebench_over_repositories_and_issues(shared_data: Path) -> None:
    """Four models with one agent on 500 issues, half of them of one repository."""
    found = es.reliability(es.read(shared_data / "swebench_verified_mini"), facets=["repo", "item"])
    assert [row.name for row in found.facets] == ["repo", "item"]
    assert found.facet("item").within == ("repo",)
    assert (found.facet("repo").n_levels, found.facet("item").n_levels) == (12, 500)
    assert found.facet("repo").n_each < 6
    assert found.objects[0].name == "sonnet-4-5"
    assert found.verdict == "inconclusive"
    assert any("count as" in note.text for note in found.notes)


def test_reasoning_gym_over_tasks_questions_and_trials(shared_data: Path) -> None:
    """Ten models on 101 tasks of 50 questions, three answers each: the tasks matter, the answers hardly."""
    rows = pl.read_parquet(shared_data / "reasoning_gym" / "completions_long.parquet").filter(
        pl.col("config") == "easy"
    )
    rows = rows.filter(pl.col("item_idx") < 10).with_columns(pl.col(pl.Categorical).cast(pl.String))
    data = es.from_frame(
        rows, model="model", item="item_idx", task="dataset", trial="trial", score="score", benchmark="@reasoning gym"
    )
    found = es.reliability(data, facets=["task", "item", "trial"])
    assert found.verdict == "reliable"
    alone = {
        row.renewed[0]: row.estimate or 0.0 for row in found.first_places if row.n is None and len(row.renewed) == 1
    }
    assert max(alone, key=lambda name: alone[name]) == "task"


def test_models_of_llmfao_over_its_prompts(shared_data: Path) -> None:
    """Where every model has every prompt, E rho² and Phi are those of the two-way mean squares (Brennan 2001, 2.3)."""
    votes = pl.read_csv(shared_data / "llmfao" / "crowd-comparisons.csv")
    won = pl.when(winner="left").then(1.0).when(winner="right").then(0.0).otherwise(0.5)
    sides = (votes.select("prompt", model=side, score=score) for side, score in (("left", won), ("right", 1 - won)))
    shares = pl.concat(sides).group_by("model", "prompt").agg(pl.col("score").mean())
    named = partial(es.from_frame, item="prompt", model="model", score="score")
    found = es.reliability(named(shares))
    assert (len(found.objects), found.facet("item").n_levels, found.n_cells) == (59, 13, 750)

    whole = shares.filter(pl.len().over("model") == 13)
    table = whole.pivot("prompt", index="model", values="score").drop("model").to_numpy()
    n, k = table.shape
    rows, columns, mean = table.mean(axis=1, keepdims=True), table.mean(axis=0, keepdims=True), table.mean()
    of_models = k * ((rows - mean) ** 2).sum() / (n - 1)
    of_prompts = n * ((columns - mean) ** 2).sum() / (k - 1)
    rest = ((table - rows - columns + mean) ** 2).sum() / ((n - 1) * (k - 1))
    model, prompt = (of_models - rest) / k, (of_prompts - rest) / n
    balanced = es.reliability(named(whole))
    assert balanced.relative.estimate == pytest.approx(model / (model + rest / k), abs=1e-9)
    assert balanced.absolute.estimate == pytest.approx(model / (model + (rest + prompt) / k), abs=1e-9)
    # 17 of 767 cells are empty in the whole table; leaving out their models moves little.
    assert found.relative.estimate == pytest.approx(balanced.relative.estimate, abs=0.03)


def test_a_table_whose_rows_a_facet_tells_apart_needs_no_from_frame() -> None:
    draw = np.random.default_rng(0)
    rows = [
        {"item": f"q{k}", "model": model, "Scaffold": side, "score": float(draw.random() < at)}
        for k in range(60)
        for model, at in (("gpt-4o", 0.8), ("llama", 0.5), ("qwen", 0.3))
        for side in ("agentless", "codex")
    ]
    with pytest.warns(UserWarning, match="variant='Scaffold'"):
        report = es.reliability(pl.DataFrame(rows), facets=["item", "Scaffold"])
    named = es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model", variant="Scaffold")
    assert report.summary() == es.reliability(named, facets=["item", "Scaffold"]).summary()
    with pytest.raises(InputError, match="did you mean 'Scaffold'"):
        es.reliability(named, facets=["item", "scaffold"])
