"""Published figures found again from the published rows, through the public functions.

Each test names the source of the figure, and its tolerance: the rounding of what was published, or that of floating point where
nothing was rounded. Further ones stand elsewhere: pass@5 of CRUXEval (loaders/test_code_trials), the agreement of leaderboards
with the arena (analysis/gap/test_gap_real), the ratings of LLMFAO (analysis/arena/test_arena), the headline of Tenacious-Bench
with its interval (report/test_tenacious_page).

Not found again, since what is needed is not here: AlpacaEval's length-controlled win rates (they rest on how hard each
instruction is, estimated from all models), the winner totals of the whole arena sample (100 of its 135,634 rows are here), and
the aggregates of Every Eval Ever (no file has the samples behind them).
"""

import gzip
import json
import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl
import pytest

import evalstats as es
from evalstats.schema.data import EvalData

EXACT = 1e-9


@pytest.fixture(scope="session")
def real(shared_data: Path) -> Callable[[str], EvalData]:
    """Read a file once, however many tests look at it."""

    @cache
    def of(name: str) -> EvalData:
        return es.read(shared_data / name)

    return of


Real = Callable[[str], EvalData]


def mean_score(data: EvalData, model: str, metric: str | None = None) -> float:
    return es.score(data, model, metric=metric).estimate


# --- AlpacaEval ---


def alpaca_win_rates(data: EvalData, real: Real) -> list[tuple[str, str, float, float]]:
    """Return judge, model, win rate of the votes and win rate of the leaderboard, for every run that a leaderboard has."""
    found: list[tuple[str, str, float, float]] = []
    for (run, judge), votes in data.comparisons.group_by("run", "judge", maintain_order=True):
        if judge not in LEADERBOARDS:
            continue
        board = real(f"alpaca_eval/{judge}_leaderboard.csv").aggregates.filter(metric="win_rate")
        # A folder of results is called after the model; in two of them the answers bear another name.
        folder = str(run).removeprefix("annotations_long.").partition("/")[0]
        published = board.filter(model=folder)
        counted = votes.filter(pl.col("preference").is_not_null())
        if published.height and counted.height:
            mine = 100 * (1 - counted["preference"].mean())
            found.append((str(judge), folder, mine, published["estimate"].item()))
    return found


LEADERBOARDS = (
    "weighted_alpaca_eval_gpt4_turbo",
    "alpaca_eval_gpt4",
    "alpaca_eval_gpt4_turbo_fn",
    "alpaca_eval_cot_gpt4_turbo_fn",
)


@pytest.mark.parametrize(
    ("every", "n_rates"), [pytest.param(1, (58, 52, 3, 11), marks=pytest.mark.slow), (5, (11, 11, 1, 3))]
)
def test_alpaca_eval_win_rates(
    real: Real, shared_data: Path, tmp_path: Path, every: int, n_rates: tuple[int, ...]
) -> None:
    """Win rates in percent by four judges: their leaderboard tables, unrounded; of all folders of results, or some."""
    raw = pl.read_parquet(shared_data / "alpaca_eval" / "annotations_long.parquet")
    some = raw["result_dir"].unique().sort().gather_every(every)
    raw.filter(pl.col("result_dir").is_in(some.to_list())).write_parquet(tmp_path / "annotations_long.parquet")
    data = es.read(tmp_path / "annotations_long.parquet")
    assert every > 1 or data.runs["run"].n_unique() == 135
    rates = alpaca_win_rates(data, real)
    # Three models have two files of one judge, a folder nested in itself; other files have no line in their judge's table.
    assert Counter(judge for judge, *_ in rates) == dict(zip(LEADERBOARDS, n_rates, strict=True))
    for judge, model, mine, published in rates:
        assert mine == pytest.approx(published, abs=EXACT * 100), (judge, model)


def test_the_arena_of_one_pair_is_its_win_rate(real: Real) -> None:
    """With two models and a draw as half a win, Bradley-Terry gives back the share: 400 log10 of its odds."""
    data = real("alpaca_eval/raw_head/results__claude-2.1__weighted_alpaca_eval_gpt4_turbo__annotations.json")
    share = 1 - data.comparisons["preference"].mean()
    found = {row["model"]: row["estimate"] for row in es.arena(data).to_frame().iter_rows(named=True)}
    apart = found["claude-2.1"] - found["gpt4_1106_preview"]
    assert apart == pytest.approx(400 * math.log10(share / (1 - share)), abs=1e-4)


# --- right or wrong, and graded ---


def test_wildbench_scores_of_seven_models(real: Real) -> None:
    """WB-Score, v2.0625 judged by gpt-4o-2024-05-13: leaderboard/score.json of the same repository, unrounded."""
    data = real("wildbench/scores_long.parquet")
    board = real("wildbench/leaderboard/score.json").aggregates.filter(metric="mean_score", task="")
    published = dict(board.select("model", "estimate").iter_rows())
    newest = data.runs.filter(pl.col("run").str.contains("v2.0625", literal=True))["run"].to_list()
    found: dict[str, float] = {}
    for run in newest:
        name = run.partition("gpt-4o-2024-05-13.")[2].partition("~")[0]
        rows = EvalData(outcomes=data.outcomes.filter(run=run), runs=data.runs.filter(run=run), metrics=data.metrics)
        found[name] = mean_score(rows, rows.models()[0])
    shared = sorted(found.keys() & published.keys())
    assert len(shared) == 7, (sorted(found), [name for name in published if "Phi" in name or "Qwen" in name])
    for name in shared:
        assert found[name] == pytest.approx(published[name], abs=EXACT), name


def test_mmlu_pro_of_llama(real: Real) -> None:
    """Accuracy of Llama-3.1-70B, to four digits: BenchBench's copy of the MMLU-Pro leaderboard (240829)."""
    found = mean_score(real("mmlu_pro/predictions_long.parquet"), "Meta-Llama-3_1-70B")
    board = real("benchbench/benchmarks/mmlu_pro_240829_knowledge.csv").aggregates
    assert board.filter(model="Llama-3.1-70B")["estimate"].item() == 0.5247
    assert found == pytest.approx(0.5247, abs=5e-5)
    assert found == pytest.approx(6313 / 12_032)


@pytest.mark.parametrize("task", ["input", pytest.param("output", marks=pytest.mark.slow)])
def test_cruxeval_pass_at_1(real: Real, shared_data: Path, task: str) -> None:
    """pass@1 of CodeLlama 7B in percent: pass_at_1 of the file itself, unrounded; and from the flat table of all trials."""
    name = f"cruxeval/sample_scored_codellama-7b_temp0.2_{task}.json.gz"
    published = json.loads(gzip.decompress((shared_data / name).read_bytes()))["pass_at_1"]
    data = real(name)
    assert 100 * mean_score(data, data.models()[0]) == pytest.approx(published, abs=1e-6)
    flat = real("cruxeval/trials_long.parquet").where(task=f"cruxeval-{task}")
    assert 100 * mean_score(flat, "codellama-7b") == pytest.approx(published, abs=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "easy__anthropic_claude-3.5-sonnet_20250315_163713__complex_arithmetic.json.gz",
        "easy__meta-llama_llama-3.3-70b-instruct_20250315_165756__knights_knaves.json.gz",
    ],
)
def test_reasoning_gym_means(real: Real, shared_data: Path, name: str) -> None:
    """The mean score of a task over three completions an item: average_mean_score of the file itself, unrounded."""
    path = shared_data / "reasoning_gym" / "raw" / name
    published = json.loads(gzip.decompress(path.read_bytes()))["average_mean_score"]
    data = real(f"reasoning_gym/raw/{name}")
    assert mean_score(data, data.models()[0]) == pytest.approx(published, abs=EXACT)


def test_swe_bench_resolved(real: Real, shared_data: Path) -> None:
    """Issues resolved of 500 in SWE-bench Verified with mini-SWE-agent: the file holds no figure of its own, so its counts."""
    name = "swebench_verified_mini/info_for_leaderboard.json"
    raw = json.loads((shared_data / name).read_text())
    counted = {model: sum(issue["resolved"] for issue in issues.values()) for model, issues in raw.items()}
    data = real(name)
    resolved = {model: round(500 * mean_score(data, model), 6) for model in data.models()}
    assert resolved == counted == {"gpt-5": 325, "gpt-5-mini": 299, "sonnet-4": 324, "sonnet-4-5": 353}


def test_pass_hat_of_tau_bench(real: Real) -> None:
    """pass^1 to pass^4 of gpt-4o on the airline tasks: the README of tau-bench, three digits."""
    data = real("tau_bench/gpt-4o-airline.json.gz")
    curve = es.score(data, "gpt-4o").reliability
    assert curve is not None
    found = [row.estimate for row in curve.of("hat") if row.k <= 4]
    assert found == pytest.approx([0.420, 0.273, 0.220, 0.200], abs=5e-4)


@pytest.mark.parametrize("run", ["ablations/", "history_5503748/ablations_", "history_b81785b/ablations_"])
def test_accuracies_of_tenacious_bench(real: Real, run: str) -> None:
    """Accuracy of both critics to four digits, their difference to hundredths of a point: results of three held-out sets."""
    data = real(f"tenacious/{run}held_out_traces.jsonl")
    board = real(f"tenacious/{run}ablation_results.json").aggregates.filter(task="held_out")
    published = dict(board.filter(metric="accuracy").select("model", "estimate").iter_rows())
    scores = {critic: mean_score(data, critic, "correct") for critic in ("baseline", "trained")}
    assert scores == pytest.approx(published, abs=5e-5)
    difference = es.compare(data, "baseline", "trained", metric="correct").estimate
    assert difference is not None
    theirs = board.filter(metric="delta_accuracy").row(0, named=True)
    assert 100 * difference == pytest.approx(
        theirs["estimate"] * (1 if abs(theirs["estimate"]) > 1 else 100), abs=0.006
    )


# --- harnesses: what a log publishes beside its samples ---


LOGS = (
    "every_eval_ever/inspect/data_arc_qwen.json",
    "every_eval_ever/inspect/data_arc_sonnet.json",
    "inspect_logs/analysis/test_logs/2025-05-12T20-28-13-04-00_popularity.json",
    "inspect_logs/generated_mockllm_0.3.285/2026-11-21T20-47-09-00-00_demo_U5eSAr7uygaYXbf63esKAH.json",
    "inspect_logs/generated_mockllm_0.3.285/2026-11-21T20-47-08-00-00_demo_3Y3vCGWR9ByZMKwScuEudt.eval",
    "inspect_logs/log/test_eval_log/log_streaming.eval",
    "inspect_logs/scorer/logs/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval",
)


@pytest.mark.parametrize("name", LOGS)
def test_accuracies_of_inspect_logs(real: Real, name: str) -> None:
    """Each metric that a log publishes is the mean of its samples, unrounded."""
    data = real(name)
    assert data.aggregates.height
    for metric, published in data.aggregates.select("metric", "estimate").iter_rows():
        found = es.score(data, data.models()[0], metric=metric).estimate
        assert found == pytest.approx(published, abs=EXACT), metric


def test_accuracies_of_lm_eval(real: Real, shared_data: Path) -> None:
    """acc, acc_norm and both filters of exact_match of four toy tasks: results_*.json, unrounded."""
    folder = shared_data / "lm_eval" / "genuine_lm_eval_0.4.13_dummy_model"
    results = json.loads(next(folder.glob("results_*.json")).read_text())["results"]
    data = es.read(folder)
    checked = 0
    for (task, metric), rows in data.outcomes.group_by("task", "metric"):
        key = str(metric) if "," in str(metric) else f"{metric},none"
        assert rows["score"].mean() == pytest.approx(results[str(task)][key], abs=EXACT), (task, metric)
        checked += 1
    assert checked == 6


@pytest.mark.parametrize(
    "run",
    [
        "commonsense-dataset=hellaswag,method=multiple_choice_joint,model=eleutherai_pythia-1b-v0",
        "mmlu-subject=philosophy,method=multiple_choice_joint,model=openai_gpt2",
    ],
)
def test_means_of_helm(shared_data: Path, run: str) -> None:
    """Eight metrics by split: stats.json of the run, unrounded."""
    data = es.read(shared_data / "every_eval_ever" / "helm" / run)
    splits = data.outcomes.group_by("metric", "split").agg(pl.col("score").mean().alias("found"))
    both = splits.join(data.aggregates, on=["metric", "split"])
    assert both.height == splits.height == data.aggregates.height
    assert both["found"].to_list() == pytest.approx(both["estimate"].to_list(), abs=EXACT)


# --- arenas ---


def test_llmfao(shared_data: Path) -> None:
    """8,931 votes, 38.9% ties, 13 prompts, 124 raters, 59 models."""
    data = es.read(shared_data / "llmfao" / "crowd-comparisons.csv")
    votes = data.comparisons
    assert (votes.height, votes["item"].n_unique(), votes["rater"].n_unique()) == (8931, 13, 124)
    assert votes.filter(outcome="tie").height / votes.height == pytest.approx(0.389, abs=5e-4)
    assert len({*votes["model_a"], *votes["model_b"]}) == 59


@pytest.mark.parametrize(
    "name", ["sample_100.text_removed.jsonl", "arena_human_preference_sample_100.text_removed.csv"]
)
def test_winners_of_the_arena_sample(real: Real, shared_data: Path, name: str) -> None:
    """Winners of the sample's 100 votes, counted in its JSON Lines."""
    raw = (shared_data / "lmarena_140k_sample" / "sample_100.text_removed.jsonl").read_text().splitlines()
    winners = Counter(json.loads(line)["winner"] for line in raw)
    found = Counter(real(f"lmarena_140k_sample/{name}").comparisons["outcome"].to_list())
    names = {"model_a": "a", "model_b": "b", "tie": "tie", "both_bad": "both_bad", "tie (bothbad)": "both_bad"}
    assert found == {names[winner]: count for winner, count in winners.items()}
