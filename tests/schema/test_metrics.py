"""One definition of each metric, whatever the files at hand happened to show of it."""

import polars as pl
import pytest

from evalstats.schema.metrics import (
    direction_in_name,
    is_amount,
    one_definition,
    says_percent,
    suggests_lower,
    with_facts,
)
from evalstats.schema.tables import check_table


def table(*rows: dict[str, object]) -> pl.DataFrame:
    base = {"benchmark": "b", "metric": "m", "kind": "binary", "low": 0.0, "high": 1.0}
    return pl.concat([check_table(pl.DataFrame([{**base, **row}]), "metrics") for row in rows])


@pytest.mark.parametrize("turned", [False, True])
def test_the_widest_kind_counts_whichever_file_comes_first(turned: bool) -> None:
    rows = [{"kind": "binary", "unit": "proportion"}, {"kind": "continuous", "low": None, "high": None}]
    merged, contradictions = one_definition(table(*(reversed(rows) if turned else rows)))
    assert merged.select("kind", "low", "high", "unit").rows() == [("continuous", None, None, None)]
    assert contradictions == []


def test_two_ranges_of_one_metric_stay_apart_and_are_said() -> None:
    merged, contradictions = one_definition(
        table({"kind": "bounded", "low": 1.0, "high": 5.0}, {"kind": "bounded", "low": 1.0, "high": 10.0})
    )
    assert merged.select("low", "high").rows() == [(1.0, 5.0), (1.0, 10.0)]
    assert "it runs from 1 to 5, and from 1 to 10" in contradictions[0]


def test_what_is_declared_makes_one_of_descriptions_that_contradict_each_other() -> None:
    apart, _ = one_definition(table({"higher_is_better": True}, {"higher_is_better": False}, {"metric": "z"}))
    told = with_facts(apart, ("b", "m"), {"higher_is_better": False})
    assert told.filter(metric="m").select("higher_is_better", "kind").rows() == [(False, "binary")]
    assert told.filter(metric="z").height == 1


def test_a_direction_that_one_source_names_holds_for_all() -> None:
    merged, contradictions = one_definition(table({}, {"higher_is_better": False}))
    assert merged["higher_is_better"].to_list() == [False]
    assert contradictions == []


def test_equal_units_are_kept() -> None:
    seconds = {"kind": "continuous", "low": None, "high": None, "unit": "seconds"}
    merged, contradictions = one_definition(table({**seconds, "primary": True}, seconds))
    assert merged.select("unit", "primary").rows() == [("seconds", True)]
    assert contradictions == []


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ({"higher_is_better": True}, {"higher_is_better": False}, "more is better, and less is better"),
        ({"unit": "proportion"}, {"unit": "percent"}, "unit is 'proportion' and 'percent'"),
        ({"kind": "ordinal"}, {"kind": "continuous"}, "kind is 'ordinal' and 'continuous'"),
    ],
)
def test_what_cannot_both_be_true_is_said(first: dict[str, object], second: dict[str, object], said: str) -> None:
    merged, contradictions = one_definition(table(first, second))
    assert merged.height == (2 if "higher_is_better" in first else 1)
    assert len(contradictions) == 1
    assert said in contradictions[0]


def test_other_metrics_keep_their_rows_and_order() -> None:
    merged, _ = one_definition(table({"metric": "z"}, {"metric": "a"}, {"metric": "z", "kind": "bounded"}))
    assert merged.select("metric", "kind").rows() == [("z", "bounded"), ("a", "binary")]


LOWER = [
    "jailbroken", "hallucination_rate", "error_rate", "latency", "loss", "perplexity", "toxicity", "wer", "CER",
    "val_loss", "neg_log_likelihood", "NLL", "asr", "attack_success_rate", "unsafe", "refusal_rate",
    "false_positive_rate", "false_negative_rate", "harmful_rate", "cost_usd", "response_time", "time_to_first_token",
    "mean_absolute_error", "rmse", "brier_score", "ece", "bits_per_byte", "num_errors", "failures", "crashed",
    "timeouts", "bias_score", "edit_distance", "policyViolations", "misinformation", "incorrect", "hate_speech",
    "cross_entropy", "jailbreak_success", "secret_leaked", "p95_latency", "test/loss", "wordErrorRate", "MAE", "FID",
    "runtime_s", "attack_passed", "solve_time", "time_to_resolve", "pass_time", "thumbs_down", "dislikes", "negative_feedback",
]  # fmt: skip
HIGHER = [
    "score", "accuracy", "correct", "pass", "success", "resolved", "f1", "exact_match", "reward", "safe", "safety",
    "harmless", "helpfulness", "win_rate", "elo", "error_free", "no_error", "non_toxic", "toxicity_detection_f1",
    "hallucination_detection_accuracy", "error_recovery", "jailbreak_resistance", "neg_mse", "negative_rmse", "auc",
    "bleu", "rouge", "pass@1", "truthful", "faithfulness", "timeliness", "log_likelihood", "quality",
    "refusal_accuracy", "robustness", "defense_rate", "acc_norm", "coherence", "unbiased", "lossless",
    "bug_resolved", "revenue_eur", "thumbs_up", "feedback",
]  # fmt: skip


@pytest.mark.parametrize("name", LOWER)
def test_what_is_bad_or_costs_suggests_lower(name: str) -> None:
    assert suggests_lower(name)


@pytest.mark.parametrize("name", HIGHER)
def test_what_is_good_or_avoids_the_bad_does_not(name: str) -> None:
    assert not suggests_lower(name)


def test_arrows_and_words_declare() -> None:
    assert [direction_in_name(name) for name in ("WER ↓", "acc↑", "Loss (lower is better)", "↑↓", "loss")] == [
        False, True, False, None, None,
    ]  # fmt: skip


def test_amounts_and_percentages() -> None:
    assert [is_amount(name) for name in ("latency_ms", "n_tokens", "score", "acc")] == [True, True, False, False]
    assert [says_percent(name) for name in ("acc %", "pct_right", "percentile", "acc")] == [True, True, False, False]
