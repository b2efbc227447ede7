"""What names of metrics say: words of real benchmarks, either way."""

import pytest

from evalstats.schema.metrics import direction_in_name, is_amount, says_percent, suggests_lower

LOWER = [
    "jailbroken",
    "hallucination_rate",
    "error_rate",
    "latency",
    "loss",
    "perplexity",
    "toxicity",
    "wer",
    "CER",
    "val_loss",
    "neg_log_likelihood",
    "NLL",
    "asr",
    "attack_success_rate",
    "unsafe",
    "refusal_rate",
    "false_positive_rate",
    "false_negative_rate",
    "harmful_rate",
    "cost_usd",
    "response_time",
    "time_to_first_token",
    "mean_absolute_error",
    "rmse",
    "brier_score",
    "ece",
    "bits_per_byte",
    "num_errors",
    "failures",
    "crashed",
    "timeouts",
    "bias_score",
    "edit_distance",
    "policyViolations",
    "misinformation",
    "incorrect",
    "hate_speech",
    "cross_entropy",
    "jailbreak_success",
    "secret_leaked",
    "p95_latency",
    "test/loss",
    "wordErrorRate",
    "MAE",
    "FID",
    "runtime_s",
]
HIGHER = [
    "score",
    "accuracy",
    "correct",
    "pass",
    "success",
    "resolved",
    "f1",
    "exact_match",
    "reward",
    "safe",
    "safety",
    "harmless",
    "helpfulness",
    "win_rate",
    "elo",
    "error_free",
    "no_error",
    "non_toxic",
    "toxicity_detection_f1",
    "hallucination_detection_accuracy",
    "error_recovery",
    "jailbreak_resistance",
    "neg_mse",
    "negative_rmse",
    "auc",
    "bleu",
    "rouge",
    "pass@1",
    "truthful",
    "faithfulness",
    "timeliness",
    "log_likelihood",
    "quality",
    "refusal_accuracy",
    "robustness",
    "defense_rate",
    "acc_norm",
    "coherence",
    "unbiased",
    "lossless",
]


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
