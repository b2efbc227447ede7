"""Some sixty results of every kind, small and with fixed seeds, made through the public functions alone.

Of every question some declare clusters, have several trials or runs, lack scores, average otherwise than plainly, or lie in a
lazy table or a database.
"""

import json
import tempfile
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import evalstats as es
from evalstats import datasets
from evalstats.analysis.overview.changes import changes
from evalstats.schema.tables import check_table

Case = Callable[[], Any]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Register what the function returns as a frozen result, under the function's name; it is computed once."""
    CASES[function.__name__] = cache(function)
    return function


# Comparisons


@cache
def _trials() -> pl.DataFrame:
    """Three models on 150 questions in 30 passages, three trials each."""
    rng = np.random.default_rng(7)
    n, per_passage, trials = 150, 5, 3
    passage, item = np.repeat(rng.normal(0, 0.6, n // per_passage), per_passage), rng.normal(0, 1, n)
    rows = [
        {
            "question": f"q{i:03d}",
            "passage": f"p{i // per_passage:02d}",
            "domain": ("law", "maths", "physics")[i % 3 if i % 7 else 0],
            "model": model,
            "trial": k,
            "correct": int(rng.random() < 1 / (1 + np.exp(-gain - item[i] - passage[i]))),
            "cost_usd": price * float(np.exp(rng.normal(0, 0.3))),
        }
        for model, gain, price in (("alpha", 0.0, 0.01), ("beta", 0.5, 0.03), ("gamma", -0.4, 0.004))
        for i in range(n)
        for k in range(trials)
    ]
    return pl.DataFrame(rows)


_COLUMNS: dict[str, Any] = {"item": "question", "score": "correct", "model": "model", "trial": "trial"}


@cache
def _right_or_wrong() -> es.EvalData:
    return es.from_frame(_trials(), **_COLUMNS)


def _scanned() -> es.EvalData:
    """The same trials, of which a lazy table is merged where it lies."""
    return es.scan(_trials().lazy(), domain="domain", passage="passage", **_COLUMNS)


def _in_a_database() -> es.EvalData:
    """The same trials, merged by DuckDB."""
    relation = pytest.importorskip("duckdb").connect().from_arrow(_trials().to_arrow())
    return es.scan(relation, domain="domain", passage="passage", **_COLUMNS)


@cache
def _seeds() -> es.EvalData:
    """Two recipes, each trained with four seeds, on 60 questions in 12 passages."""
    rng = np.random.default_rng(18)
    hard = rng.normal(0, 1, 60)
    rows = [
        {
            "item": f"q{i:02d}",
            "passage": f"p{i // 5:02d}",
            "model": model,
            "seed": f"{model}-{seed}",
            "score": int(right),
        }
        for model, gain in (("old", 0.0), ("new", 0.7))
        for seed in range(4)
        for i, right in enumerate(rng.random(60) < 1 / (1 + np.exp(hard - gain - rng.normal(0, 0.25))))
    ]
    return es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model", run="seed").trials_from_runs()


@cache
def _thinned() -> es.EvalData:
    """One trial, of which beta lacks a tenth of the questions."""
    return _kept(_one_trial(), ~((pl.col("model") == "beta") & pl.col("item").str.ends_with("4")))


@cache
def _one_trial() -> es.EvalData:
    return _kept(_right_or_wrong(), pl.col("trial") == 0)


def _kept(data: es.EvalData, condition: pl.Expr) -> es.EvalData:
    return es.EvalData(outcomes=data.outcomes.filter(condition), runs=data.runs, metrics=data.metrics)


@cache
def _graded() -> es.EvalData:
    """Scores from 0 to 1 of two models on 80 texts by 16 authors, a few of them missing on one side."""
    rng = np.random.default_rng(8)
    base = rng.beta(3, 2, 80)
    rows = [
        {"text": f"t{i:02d}", "author": f"a{i // 5:02d}", "model": model, "quality": float(score)}
        for model, shift in (("old", 0.0), ("new", 0.04))
        for i, score in enumerate(np.clip(base + shift + rng.normal(0, 0.08, 80), 0, 1))
        if not (model == "new" and i % 17 == 3)
    ]
    return es.from_frame(pl.DataFrame(rows), item="text", score="quality", model="model")


@cache
def _timed() -> es.EvalData:
    rng = np.random.default_rng(9)
    rows = [
        {
            "item": f"q{i:03d}",
            "model": model,
            "score": int(rng.random() < p),
            "timestamp": f"2026-01-05T{9 + i // 60:02d}:{i % 60:02d}:00+00:00",
        }
        for i in range(120)
        for model, p in (("old", 0.5), ("new", 0.7))
    ]
    frame = pl.DataFrame(rows).with_columns(pl.col("timestamp").str.to_datetime(time_zone="UTC"))
    return es.from_frame(frame, item="item", score="score", model="model", timestamp="timestamp")


@case
def comparison_shipped() -> es.Comparison:
    return es.compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="none")


@case
def comparison_shipped_clusters() -> es.Comparison:
    return es.compare(datasets.tenacious_held_out(), "baseline", "trained", cluster="dimension")


@case
def comparison_of_three_by_domain() -> es.Comparison:
    return es.compare(_one_trial(), "alpha", "beta", by="domain")


@case
def comparison_trials() -> es.Comparison:
    return es.compare(_right_or_wrong(), "alpha", "beta")


@case
def comparison_trials_clusters() -> es.Comparison:
    return es.compare(_right_or_wrong(), "alpha", "beta", cluster="passage", conf_level=0.9)


@case
def comparison_pass_hat() -> es.Comparison:
    return es.compare(_right_or_wrong(), "alpha", "beta", pass_hat=2)


@case
def comparison_margin() -> es.Comparison:
    return es.compare(_one_trial(), "alpha", "beta", margin="5pp", cluster="passage")


@case
def comparison_macro() -> es.Comparison:
    return es.compare(_one_trial(), "alpha", "gamma", average="macro", over="domain")


@case
def comparison_weights() -> es.Comparison:
    return es.compare(_one_trial(), "alpha", "beta", weights={"law": 2, "maths": 1, "physics": 1}, over="domain")


@case
def comparison_graded() -> es.Comparison:
    return es.compare(_graded(), "old", "new", margin=0.05)


@case
def comparison_graded_clusters() -> es.Comparison:
    return es.compare(_graded(), "old", "new", cluster="author", seed=3)


@case
def comparison_with_missing() -> es.Comparison:
    return es.compare(_thinned(), "alpha", "beta", missing="bounded")


@case
def comparison_sequential() -> es.Comparison:
    return es.compare(_timed(), "old", "new", sequential=True, planned_n=200)


def _visits() -> es.EvalData:
    """A/B test: 300 users against 320, right or wrong, with what they spent before."""
    rng = np.random.default_rng(21)
    rows = [
        {"user": f"{side}{i}", "model": side, "bought": int(rng.random() < rate), "before": round(float(rng.normal()), 6)}
        for side, n, rate in (("control", 300, 0.3), ("treatment", 320, 0.4)) for i in range(n)
    ]  # fmt: skip
    return es.from_frame(pl.DataFrame(rows), item="user", model="model", score="bought", before="before")


@case
def comparison_of_different_users() -> es.Comparison:
    return es.compare(_visits(), "control", "treatment", paired=False, margin="5pp")


@case
def comparison_adjusted_for_a_covariate() -> es.Comparison:
    return es.compare(_visits(), "control", "treatment", paired=False, covariate="before")


@case
def comparison_of_few() -> es.Comparison:
    return es.compare(_kept(_one_trial(), pl.col("item") < "q012"), "alpha", "beta")


@case
def comparison_of_seeds() -> es.Comparison:
    return es.compare(_seeds(), "old", "new", runs="sample")


@case
def comparison_of_one_run_each() -> es.Comparison:
    return es.compare(_one_trial(), "alpha", "beta", run_sd="1pp", margin="5pp", by="domain")


@case
def comparison_pass_at() -> es.Comparison:
    return es.compare(_right_or_wrong(), "alpha", "beta", pass_at=2, cluster="passage")


@case
def comparison_scanned() -> es.Comparison:
    return es.compare(_scanned(), "alpha", "beta", cluster="passage", by="domain")


@case
def comparison_in_a_database() -> es.Comparison:
    return es.compare(_in_a_database(), "alpha", "beta", average="macro", over="domain")


@case
def comparison_of_two_clusters() -> es.Comparison:
    rng = np.random.default_rng(19)
    topic, author = rng.normal(0, 0.5, (2, 10)), rng.normal(0, 0.4, (2, 12))
    rows = [
        {"item": f"t{t}-a{a:02d}", "topic": f"t{t}", "author": f"a{a:02d}", "model": model, "score": float(score)}
        for side, model in enumerate(("old", "new"))
        for t in range(10)
        for a, score in enumerate(5 + 0.4 * side + topic[side, t] + author[side] + rng.normal(0, 0.6, 12))
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model", scale="0..10")
    return es.compare(data, "old", "new", cluster=["topic", "author"])


@case
def comparison_of_labels() -> es.Comparison:
    rng = np.random.default_rng(20)
    truth = rng.random((200, 2)) < (0.5, 0.6)
    passed = rng.random((200, 2)) < np.where(truth, (0.9, 0.95), (0.1, 0.35))
    rows = [
        {"item": f"q{i:03d}", "model": model, "score": int(passed[i, k])}
        for k, model in enumerate(("old", "new"))
        for i in range(200)
    ]
    labels = [
        {"item": f"q{i:03d}", "model": model, "value": int(truth[i, k])}
        for k, model in enumerate(("old", "new"))
        for i in range(0, 200, 3)
    ]
    return es.compare(_items(rows), "old", "new", labels=pl.DataFrame(labels))


@case
def comparisons_by_three_metrics() -> es.Comparisons:
    rng = np.random.default_rng(17)
    rows = [
        {
            "item": f"q{i:02d}",
            "model": model,
            "correct": int(rng.random() < p),
            "cost": float(price * rng.lognormal(0, 0.3)),
            "latency_s": float(3 * rng.lognormal(0, 0.5)),
        }
        for model, p, price in (("old", 0.5, 0.02), ("new", 0.75, 0.04))
        for i in range(90)
    ]
    scores = ["correct", "cost:lower", "latency_s:lower"]
    data = es.from_frame(pl.DataFrame(rows), item="item", score=scores, model="model")
    return es.compare(data, "old", "new", metric=["correct", "cost", "latency_s"])


# Scores


@case
def score_shipped_trials() -> Any:
    return es.score(datasets.tau_airline(), "gpt-4o", pass_hat=4)


@case
def score_clusters() -> Any:
    return es.score(_one_trial(), "alpha", cluster="passage")


@case
def score_against_published() -> Any:
    return es.score(_graded(), "old", against=0.62, against_se=0.02)


@case
def scores_by_macro_average() -> Any:
    return es.score(_one_trial(), average="macro", over="domain").rows


@case
def score_of_seeds() -> Any:
    return es.score(_seeds(), "new", runs="sample", cluster="passage")


# Leaderboards


@case
def leaderboard_of_trials() -> es.Leaderboard:
    return es.leaderboard(_right_or_wrong())


@case
def leaderboard_baseline_clusters() -> es.Leaderboard:
    return es.leaderboard(_one_trial(), baseline="alpha", cluster="passage")


@case
def leaderboard_macro() -> es.Leaderboard:
    return es.leaderboard(_one_trial(), average="macro", over="domain", adjust="holm")


@case
def leaderboard_with_missing() -> es.Leaderboard:
    return es.leaderboard(_thinned(), missing="bounded", baseline="alpha")


@case
def leaderboard_of_seeds() -> es.Leaderboard:
    return es.leaderboard(_seeds(), runs="sample", cluster="passage")


@case
def leaderboard_in_a_database() -> es.Leaderboard:
    return es.leaderboard(_in_a_database(), cluster="passage", pass_hat=2)


@case
def leaderboard_weights() -> es.Leaderboard:
    return es.leaderboard(
        _scanned(), weights={"law": 2, "maths": 1, "physics": 1}, over="domain", models=["alpha", "beta"]
    )


@case
def leaderboards_by_two_metrics() -> es.Leaderboards:
    rng = np.random.default_rng(18)
    rows = [
        {
            "item": f"q{i:02d}",
            "model": model,
            "correct": int(rng.random() < p),
            "cost": float(price * rng.lognormal(0, 0.3)),
        }
        for model, p, price in (("alpha", 0.8, 0.02), ("beta", 0.5, 0.01), ("gamma", 0.75, 0.04))
        for i in range(90)
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", score=["correct", "cost:lower"], model="model")
    return es.leaderboard(data)


@case
def leaderboard_of_eight() -> es.Leaderboard:
    rng = np.random.default_rng(10)
    hard = rng.random(200)
    rows = [
        {"item": f"q{i:03d}", "model": f"m{j}", "score": int(rng.beta(2, 2) * 0.3 + 0.7 * hard[i] < 0.35 + 0.05 * j)}
        for j in range(8)
        for i in range(200)
    ]
    return es.leaderboard(es.from_frame(pl.DataFrame(rows), item="item", score="score", model="model"))


@case
def leaderboard_published() -> es.Leaderboard:
    table = {
        "model": list("abcdef"),
        "estimate": [1300.0, 1290, 1270, 1200, 1195, 1100],
        "std_error": [5.0, 6, 7, 8, 9, 9],
    }
    frame = pl.DataFrame(table).with_columns(benchmark=pl.lit("board"), metric=pl.lit("rating"))
    return es.leaderboard(es.EvalData(aggregates=check_table(frame, "aggregates")))


# Scenarios and mixed models


@cache
def _rut() -> es.EvalData:
    """Simulated RUT-Bench of three models, read from its own files."""
    with tempfile.TemporaryDirectory() as folder:
        for model in ("GLM-5.1", "GPT-5.4", "Deepseek-V3.2"):
            text = json.dumps(es.simulate_rutbench(model, seed=1, n_tasks=25))
            (Path(folder) / f"{model}.json").write_text(text, encoding="utf-8")
        return es.read(folder)


@cache
def _repeated() -> pl.DataFrame:
    """Reaction times: 20 persons, 4 conditions, 3 repeats; unbalanced."""
    rng = np.random.default_rng(12)
    person = rng.normal(0, 2, 20)
    slope = rng.normal(0, 0.7, 20)
    return pl.DataFrame(
        [
            {
                "person": f"s{i:02d}",
                "condition": f"c{c}",
                "x": float(x := rng.normal()),
                "y": 10 + 0.8 * c + person[i] + (0.5 + slope[i]) * x + rng.normal(),
                "right": int(rng.random() < 1 / (1 + np.exp(-0.4 * c - person[i] / 2))),
            }
            for i in range(20)
            for c in range(4)
            for k in range(3)
            if (i + c + k) % 7
        ]
    )


@case
def scenarios_rut() -> es.ScenarioModel:
    return es.scenarios(_rut(), n_resamples=0)


@case
def scenarios_graded() -> es.ScenarioModel:
    rng = np.random.default_rng(13)
    item = rng.normal(0, 1, 30)
    rows = [
        {
            "item": f"i{i:02d}",
            "model": f"m{m}",
            "scenario": f"s{s}",
            "score": float(m * 0.3 - s * 0.4 * m + item[i] + e),
        }
        for m in range(3)
        for s in range(3)
        for i, e in enumerate(rng.normal(0, 0.7, 30))
    ]
    data = es.from_frame(
        pl.DataFrame(rows), item="item", score="score", model="model", variant="scenario", scenario="scenario"
    )
    return es.scenarios(data, reference="s0", n_resamples=0)


@case
def scenarios_trials() -> es.ScenarioModel:
    return es.scenarios(_right_or_wrong(), scenario="domain", cluster="passage", weights="observed", n_resamples=0)


@case
def scenarios_mix() -> es.ScenarioModel:
    mix = {"law": 0.5, "maths": 0.3, "physics": 0.2}
    return es.scenarios(
        _thinned(), scenario="domain", weights=mix, reference="law", models=["alpha", "beta"], n_resamples=19
    )


@case
def mixed_gaussian() -> es.MixedModel:
    return es.mixed("y ~ condition + x + (1 + x | person)", _repeated())


@case
def mixed_binomial() -> es.MixedModel:
    return es.mixed("right ~ condition + (1 | person)", _repeated(), family="binomial")


@case
def means_of_mixed() -> es.Means:
    return es.mixed("y ~ condition + x + (1 | person)", _repeated()).means("condition")


# Arenas


@case
def arena_simulated() -> es.ArenaRanking:
    return es.arena(_votes(), n_resamples=100)


@case
def arena_davidson_by_language() -> es.ArenaRanking:
    return es.arena(_votes(), ties="davidson", by="language", side=True, n_resamples=100, checks=False)


@case
def arena_covariates() -> es.ArenaRanking:
    return es.arena(_votes(), covariates="assistant_tokens", n_resamples=100, checks=False, cluster="rater")


@case
def arena_anchored() -> es.ArenaRanking:
    return es.arena(_votes(), anchor="DeepSeek V3", cluster="none", both_bad="drop", n_resamples=100)


@case
def arena_of_labels() -> es.ArenaRanking:
    """A judge that prefers one of three models, corrected by people's votes on a third of 300 battles."""
    rng = np.random.default_rng(23)
    names, a = ("high", "mid", "liked"), rng.integers(0, 3, 300)
    b, strength = (a + rng.integers(1, 3, 300)) % 3, np.array([0.5, 0.0, -0.5])
    lead = strength[a] - strength[b]
    people = rng.random(300) < 1 / (1 + np.exp(-lead))
    judged = np.where(
        rng.random(300) < 0.5, people, rng.random(300) < 1 / (1 + np.exp(-lead - 2 * ((a == 2) * 1.0 - (b == 2))))
    )
    votes = pl.DataFrame(
        {
            "battle": [f"v{k}" for k in range(300)],
            "model_a": [names[k] for k in a],
            "model_b": [names[k] for k in b],
            "outcome": np.where(judged, "a", "b"),
        }
    )
    labels = votes.with_columns(outcome=pl.Series(np.where(people, "a", "b")))
    return es.arena(votes, labels=labels[rng.choice(300, 100, replace=False).tolist()], checks=False)


@case
def arena_of_judges() -> es.ArenaRanking:
    """Four judges on 60 prompts; one model wins every game."""
    rng = np.random.default_rng(21)
    names, strength = ("ace", "mid", "low", "last"), np.array([9.0, 0.4, 0.0, -0.8])
    games = [(i, j) for i in range(4) for j in range(i)]
    rows = [
        {
            "model_a": names[i],
            "model_b": names[j],
            "winner": "model_a" if rng.random() < 1 / (1 + np.exp(strength[j] - strength[i])) else "model_b",
            "judge": f"judge-{judge}",
            "prompt": f"q{q:02d}",
        }
        for q in range(60)
        for judge in range(4)
        for i, j in [games[int(rng.integers(6))]]
    ]
    return es.arena(es.from_votes(pl.DataFrame(rows), judge="judge", item="prompt"), cluster="item", n_resamples=100)


@cache
def _votes() -> es.EvalData:
    from evalstats.simulate.arena_world import ArenaDesign

    return es.simulate_arena(1500, seed=4, design=ArenaDesign(models=8, n_raters=200))


# Lab and live


def _lab_live(n_models: int = 8, seed: int = 5, **options: Any) -> Any:
    from evalstats.simulate.lab_live import simulate_lab_live

    return simulate_lab_live(n_models, seed=seed, n_items=140, n_users=120, **options)


@case
def gap_of_outcomes() -> es.LabLiveGap:
    both = _lab_live(gaps={"model-03": -0.25}, live_mix={"stable": 0.7, "goal_switching": 0.3}, n_lab_only=2)
    return es.gap(both.lab, both.live, by="scenario", n_resamples=200, margin="10pp")


@case
def gap_of_votes() -> es.LabLiveGap:
    both = _lab_live(live="comparisons", n_live=1500)
    return es.gap(both.lab, both.live, n_resamples=200)


@case
def gap_of_published_numbers() -> es.LabLiveGap:
    both = _lab_live(12, live="aggregates")
    return es.gap(both.lab, both.live, n_resamples=200)


@case
def gap_of_four() -> es.LabLiveGap:
    both = _lab_live(4)
    return es.gap(both.lab, both.live, n_resamples=200)


@case
def gap_of_clusters() -> es.LabLiveGap:
    both = _lab_live(live_mix={"stable": 0.6, "goal_switching": 0.4})
    return es.gap(both.lab, both.live, lab_cluster="item", live_cluster="user", conf_level=0.9, n_resamples=200)


@case
def gap_of_a_mix() -> es.LabLiveGap:
    both, mix = _lab_live(12, live="aggregates"), {"stable": 0.5, "goal_switching": 0.5}
    return es.gap(both.lab, both.live, by="scenario", mix=mix, scale="logit", n_resamples=200)


# Contamination, frontier, plans


def _items(rows: Iterable[dict[str, object]], **named: str) -> es.EvalData:
    return es.from_frame(pl.DataFrame(list(rows)), item="item", score="score", model="model", **named)


_MODELS = ("suspect", "r1", "r2", "r3", "r4", "r5")


@case
def contamination_split() -> es.ContaminationCheck:
    rng = np.random.default_rng(14)
    rows = (
        {
            "item": f"q{i:03d}",
            "model": model,
            "source": "public" if i < 80 else "fresh",
            "score": int(rng.random() < 0.4 + (i < 80) * (0.1 + 0.4 * (model == "suspect"))),
        }
        for model in _MODELS
        for i in range(160)
    )
    return es.contamination(_items(rows), split="source", suspects="suspect", references=_MODELS[1:])


@case
def contamination_clusters() -> es.ContaminationCheck:
    rng = np.random.default_rng(22)
    hard = rng.normal(0, 0.8, 40)
    rows = (
        {
            "item": f"q{i:03d}",
            "model": model,
            "passage": f"p{i // 4:02d}",
            "source": "public" if i < 80 else "fresh",
            "score": int(rng.random() < 1 / (1 + np.exp(hard[i // 4] - (i < 80) * (0.2 + (model == "suspect"))))),
        }
        for model in _MODELS
        for i in range(160)
    )
    return es.contamination(
        _items(rows), split="source", suspects="suspect", references=_MODELS[1:], cluster="passage", scale="latent",
    )  # fmt: skip


@case
def contamination_twins() -> es.ContaminationCheck:
    rng = np.random.default_rng(15)
    rows = (
        {
            "item": f"q{i:03d}",
            "model": model,
            "variant": kind,
            "score": int(rng.random() < 0.5 + 0.3 * (model == "suspect") * (kind == "asked")),
        }
        for model in _MODELS
        for i in range(80)
        for kind in ("asked", "reworded")
    )
    found = _items(rows, variant="variant")
    return es.contamination(
        found, twin="variant", old="asked", new="reworded", suspects=["suspect"], references=_MODELS[1:], margin="10pp"
    )


@case
def contamination_dates() -> es.ContaminationCheck:
    rng = np.random.default_rng(16)
    days = rng.integers(0, 1000, 300)
    start = np.datetime64("2022-01-01")
    rows = (
        {
            "item": f"q{i:03d}",
            "model": model,
            "released": str(start + np.timedelta64(int(days[i]), "D")),
            "score": int(rng.random() < 0.55 - 0.0002 * days[i] + 0.4 * (model == "suspect" and days[i] <= 500)),
        }
        for model in _MODELS
        for i in range(300)
    )
    return es.contamination(_items(rows), date="released", cutoffs={"suspect": "2023-05-16"}, references=_MODELS[1:])


@case
def frontier_of_cost() -> es.Frontier:
    return es.frontier(_right_or_wrong(), n_resamples=1000)


@case
def frontier_of_clusters() -> es.Frontier:
    return es.frontier(_thinned(), cluster="passage", conf_level=0.9, n_resamples=1000)


def _item_pool(n_models: int, n_items: int = 60) -> es.EvalData:
    rng = np.random.default_rng(21)
    logit = np.outer(rng.normal(size=n_models), rng.lognormal(0, 0.4, n_items)) + rng.normal(0, 1.5, n_items)
    right = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))
    return _items(
        {"item": f"q{i:02d}", "model": f"m{m:02d}", "score": int(right[m, i])}
        for m in range(n_models)
        for i in range(n_items)
    )


@case
def posterior_of_clusters() -> es.Posterior:
    return comparison_margin().posterior()


@case
def posterior_of_changes() -> es.Posterior:
    return scenarios_graded().posterior(prior_scale=0.5)


@case
def posterior_of_ranks() -> es.RankPosterior:
    return leaderboard_of_eight().posterior()


@case
def items_short_form() -> es.ItemReport:
    return es.items(_item_pool(14))


@case
def items_of_few_models() -> es.ItemReport:
    return es.items(_item_pool(7), size=8)


def _board_of_scaffolds(n_trials: int = 1, *, missing: bool = False) -> es.EvalData:
    rng = np.random.default_rng(22)
    chance = rng.normal(0, 0.8, (8, 1, 1)) + rng.normal(0, 1, (1, 1, 20)) + rng.normal(0, 0.6, (8, 4, 1))
    return es.from_frame(
        pl.DataFrame(
            [
                {
                    "item": f"t{i:02d}",
                    "model": f"m{m}",
                    "scaffold": f"s{s}",
                    "trial": trial,
                    "score": int(rng.random() < 1 / (1 + np.exp(-chance[m, s, i]))),
                }
                for m in range(8)
                for s in range(4)
                if not (missing and (m + s) % 4 == 0)
                for i in range(20)
                for trial in range(n_trials)
            ]
        ),
        item="item", model="model", system="scaffold", trial="trial", score="score",
    )  # fmt: skip


@case
def reliability_of_scaffolds() -> es.ReliabilityReport:
    return es.reliability(_board_of_scaffolds(2), facets=["scaffold", "item", "trial"])


@case
def reliability_of_a_partial_board() -> es.ReliabilityReport:
    return es.reliability(_board_of_scaffolds(missing=True), facets=["scaffold", "item"])


@case
def items_of_families() -> es.ItemReport:
    """One maker of three knows six items by heart, the strongest models fail one, and a new model answered 40 items."""
    rng = np.random.default_rng(31)
    ability, makers = rng.normal(size=37), np.repeat(["Alder", "Birch", "Cedar", "new"], [12, 12, 12, 1])
    logit = np.outer(rng.lognormal(0, 0.3, 80), ability) + rng.normal(0.3, 1.2, 80)[:, None]
    logit[3] = 3 - 3 * ability**2
    logit[10:16] += np.where(makers == "Alder", 5, -2)
    right = rng.random(logit.shape) < 1 / (1 + np.exp(-logit))
    rows = [
        {"item": f"q{i:02d}", "model": f"m{m:02d}", "maker": str(makers[m]), "score": int(right[i, m])}
        for m in range(37)
        for i in range(80)
    ]
    new = _items(row for row in rows[36 * 80 :] if row["item"] < "q40")
    return es.items(_items(rows[: 36 * 80]), size=20, family="maker", new=new)


@case
def power_of_a_difference() -> es.PowerPlan:
    return es.power(delta="5pp", discordance=0.3)


@case
def power_of_clusters() -> es.PowerPlan:
    return es.power(delta="5pp", discordance=0.3, icc=0.1, cluster_size=5, n_items=400)


@case
def power_from_a_pilot() -> es.PowerPlan:
    return es.power(
        pilot=_right_or_wrong(), baseline="alpha", candidate="beta", cluster="passage", delta="5pp", n_resamples=200
    )


@case
def power_of_equivalence() -> es.PowerPlan:
    return es.power(margin="5pp", delta=0, discordance=0.2, test="equivalence", n_items=600)


# Judges, checks of the data, and what a store holds


def _rated(rng: np.random.Generator, *, graded: bool) -> es.EvalData:
    """A judge of 150 answers to 75 questions by two models, of which two persons rated some."""
    rows: list[dict[str, object]] = []
    for i in range(150):
        truth = float(np.clip(round(rng.normal(6, 1.6)), 1, 10)) if graded else float(rng.random() < 0.55)
        lenient = 0.35 if i % 2 else 0.1
        for rater in ("ann", "bob", "judge") if i < 60 else ("judge",):
            if graded:
                value = float(np.clip(round(truth + rng.normal(0.5 * (rater == "judge"), 0.8)), 1, 10))
            else:
                value = float(rng.random() < ((0.9 if truth else lenient) if rater == "judge" else 0.05 + 0.9 * truth))
            rows.append({"item": f"q{i // 2:03d}", "model": f"m{i % 2}", "rater": rater, "value": value})
    return es.from_ratings(pl.DataFrame(rows), humans=["ann", "bob"], model="model")


@case
def judges_of_labels() -> es.JudgeReport:
    return es.judges(_rated(np.random.default_rng(23), graded=False), cluster="item", half_width="5pp", n_resamples=200)


@case
def judges_of_grades() -> es.JudgeReport:
    return es.judges(_rated(np.random.default_rng(24), graded=True), scale="interval", n_resamples=200)


@case
def audit_of_scores() -> es.Audit:
    return es.audit(_thinned(), cluster="passage")


@case
def audit_of_trials() -> es.Audit:
    same_in_every_trial = _trials().with_columns(correct=pl.col("correct").first().over("model", "question"))
    return es.audit(es.from_frame(same_in_every_trial, **_COLUMNS), models=["beta", "gamma"])


@case
def overview_of_trials() -> es.Overview:
    return es.overview(_right_or_wrong())


@case
def changes_of_weeks() -> es.Changes:
    day = pl.lit("2026-01-05T09:00:00").str.to_datetime(time_zone="UTC") + pl.duration(days=7 * pl.col("trial"))
    rows = _trials().with_columns(timestamp=day, run=pl.format("{}-{}", "model", "trial")).drop("trial")
    named = {"item": "question", "score": "correct", "model": "model", "run": "run", "timestamp": "timestamp"}
    return changes(es.from_frame(rows, **named), cluster="passage")
