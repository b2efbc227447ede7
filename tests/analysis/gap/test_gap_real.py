"""Lab versus live on published tables: Arena-Hard, WildBench and AlpacaEval against the arenas."""

import json
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evalstats as es
from evalstats.analysis.gap.model_names import normalised
from evalstats.schema.data import EvalData
from evalstats.schema.tables import frame_from_rows
from evalstats.stats.errors_in_variables.line import fit_line
from evalstats.stats.errors_in_variables.line_estimators import bend
from evalstats.stats.errors_in_variables.scores import LabLiveScores

ROUNDS = 200
# Between a bootstrap of 5,000 rounds (golden) and one of 2,000 here: a few hundredths at the ends.
MONTE_CARLO = 0.04


def joined_by_name(lab: EvalData, live: EvalData) -> dict[str, str]:
    """Aliases for names that are one after normalising, on either side alone; the tests' own join, said in each."""
    sides: list[defaultdict[str, set[str]]] = [defaultdict(set), defaultdict(set)]
    for side, data in zip(sides, (lab, live), strict=True):
        for name in data.aggregates["model"].to_list():
            side[normalised(name)].add(name)
    single = [{key: next(iter(names)) for key, names in side.items() if len(names) == 1} for side in sides]
    return {
        single[0][key]: single[1][key]
        for key in single[0].keys() & single[1].keys()
        if single[0][key] != single[1][key]
    }


def published(names: list[str], scores: list[float], *, live: bool) -> EvalData:
    rows = [
        {"model": name, "benchmark": "arena" if live else "lab", "metric": "score", "estimate": value,
         "setting": "live" if live else "lab"}
        for name, value in zip(names, scores, strict=True)
    ]  # fmt: skip
    return EvalData(aggregates=frame_from_rows(rows, "aggregates"))


@pytest.mark.parametrize(
    ("file", "column", "key"),
    [
        ("lablive_arena_hard.csv", "arena_hard", "arena_hard_240829_holistic"),
        ("lablive_mmlu_pro.csv", "mmlu_pro", "mmlu_pro_240829_knowledge"),
    ],
)
def test_agreement_with_the_arena_is_the_golden_one(golden: Path, file: str, column: str, key: str) -> None:
    table = pl.read_csv(golden / file)
    known = json.loads((golden / "lablive_benchbench.json").read_text())[key]
    names = table["model"].to_list()
    found = es.gap(
        published(names, table[column].to_list(), live=False),
        published(names, table["arena_elo"].to_list(), live=True),
        top=(10,),
    )
    assert found.n_models == known["n_models"]
    for place, (name, own) in enumerate((("spearman", "spearman"), ("kendall", "kendall_b"), ("pearson", "pearson"))):
        row = found.agreement.of(name)
        assert row.estimate == pytest.approx(known[own], abs=1e-12)
        models = row.interval("models")
        assert models is not None
        if models.conf_low is not None and found.n_models >= 40:
            low, high = known["boot_models_seed0_5000"][place]
            assert models.conf_low == pytest.approx(low, abs=MONTE_CARLO)
            assert models.conf_high == pytest.approx(high, abs=MONTE_CARLO)
    top = next(part for part in found.agreement.parts if part.label == "live top 10")
    assert top.spearman == pytest.approx(known["spearman_top10"], abs=1e-12)
    assert top.kendall == pytest.approx(known["kendall_top10_live"], abs=1e-12)
    # Published without errors: nothing is said of gaps.
    assert found.verdict == "invalid"


def test_arena_hard_files_are_read_and_joined_as_published(shared_data: Path) -> None:
    folder = shared_data / "benchbench" / "benchmarks"
    lab, live = (
        es.read(folder / "arena_hard_240829_holistic.csv"),
        es.read(folder / "chatbot_arena_241104_holistic.csv"),
    )
    found = es.gap(lab, live, aliases=joined_by_name(lab, live), n_resamples=ROUNDS)
    assert found.n_models >= 48
    by_hand = stats.spearmanr([row.lab for row in found.rows], [row.live for row in found.rows]).statistic
    assert found.agreement.of("spearman").estimate == pytest.approx(by_hand, abs=1e-12)


def test_wildbench_against_the_arena_beside_it(shared_data: Path) -> None:
    data = es.read(shared_data / "wildbench" / "leaderboard" / "all_stat_wildbench.-1.json")
    lab = replace(data, aggregates=data.aggregates.filter(pl.col("benchmark") == "WildBench"))
    arena = data.aggregates.filter((pl.col("benchmark") == "Chatbot Arena") & (pl.col("variant") == "latest"))
    found = es.gap(lab, replace(data, aggregates=arena), lab_metric="WB_score", n_resamples=ROUNDS)
    assert found.n_models == 35
    raw = json.loads((shared_data / "wildbench" / "leaderboard" / "all_stat_wildbench.-1.json").read_text())
    pairs = [
        (float(row["WB_score"]), float(row["Arena Elo (hard-en) - latest"]))
        for row in raw.values()
        if str(row.get("Arena Elo (hard-en) - latest", "-")) != "-" and str(row.get("WB_score", "-")) != "-"
    ]
    assert len(pairs) == 35
    assert found.agreement.of("spearman").estimate == pytest.approx(
        stats.spearmanr(*zip(*pairs, strict=True)).statistic
    )
    assert found.live.errors == "none"


@pytest.fixture(scope="module")
def alpaca(shared_data: Path):
    lab = es.read(shared_data / "alpaca_eval" / "weighted_alpaca_eval_gpt4_turbo_leaderboard.csv")
    live = es.read(shared_data / "arena_scores" / "fboulnois-csv" / "lmarena_text.csv")
    return es.gap(lab, live, lab_metric="win_rate", aliases=joined_by_name(lab, live), n_resamples=ROUNDS)


def test_alpaca_eval_has_a_calibrated_gap_on_published_errors(alpaca) -> None:
    assert 35 <= alpaca.n_models <= 40
    assert alpaca.line is not None
    assert alpaca.line.p_value < 1e-12  # the gaps are far beyond noise
    assert alpaca.line.tau > 20  # Elo points: what a win rate against one baseline does not tell
    assert {alpaca.lab.errors, alpaca.live.errors} == {"marginal"}
    assert alpaca.explain().count("upper bound") == 1


def test_win_rates_bend_and_their_log_odds_do_not(alpaca) -> None:
    """A win rate against one baseline bends against open ratings; its log-odds, which are taken, are straight."""
    assert (alpaca.lab.link, alpaca.live.link) == ("logit", "identity")
    assert alpaca.line.bend_p > 0.05
    rate, rate_error, live, live_error = np.array(
        [(row.lab, row.lab_std_error, row.live, row.live_std_error) for row in alpaca.rows]
    ).T
    share, error = rate / 100.0, rate_error / 100.0
    p = []
    for lab, own in ((share, error), (np.log(share / (1 - share)), error / (share * (1 - share)))):
        scores = LabLiveScores(
            lab=lab, live=live, lab_covariance=np.diag(own**2), live_covariance=np.diag(live_error**2)
        )
        p.append(bend(scores, fit_line(scores)).p_value)
    # Plain least squares (no errors) has t -7.3 for the square of the rate and -1.5 for that of its log-odds.
    assert p[0] < 1e-5
    assert p[1] > 0.05


def test_alpaca_evals_line_lies_between_the_two_regressions(alpaca) -> None:
    """Errors on both sides: the slope is between that of live on lab and the inverse of lab on live."""
    share = np.array([row.lab for row in alpaca.rows]) / 100.0
    lab = np.log(share / (1 - share))
    live = np.array([row.live for row in alpaca.rows])
    forward = stats.linregress(lab, live).slope
    backward = 1.0 / stats.linregress(live, lab).slope
    assert forward < alpaca.line.slope < backward


def test_alpaca_evals_models_are_judged_by_the_others(alpaca) -> None:
    for row in alpaca.rows:
        assert row.estimate == pytest.approx(row.live - row.expected, abs=1e-9)
        assert row.verdict in {"gap", "inconclusive"}
        assert (row.verdict == "gap") == (row.p_adjusted <= 0.05)
    # Tuned on the judge's taste: far better in the lab than live.
    assert alpaca.row("Gemma-2-9B-it-SimPO").estimate < 0


def test_alpaca_evals_left_out_models_are_mostly_where_they_are_predicted(alpaca) -> None:
    assert alpaca.hierarchy is not None
    # Three binomial standard errors below 95%.
    assert alpaca.hierarchy.coverage >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / alpaca.n_models)
