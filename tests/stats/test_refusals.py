"""What the paired, resampling, sequential and planning chapters refuse, and what their words name."""

import math
from collections.abc import Callable

import numpy as np
import pytest

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.betting import betting_log_e, betting_margin_p, e_mcnemar
from evalstats.stats.bootstrap import augmented_percentile, bca_law, bootstrap_t
from evalstats.stats.one_sample import mean_t, unseen_failures
from evalstats.stats.paired.binary import PairedCounts, tango, tango_margin_p
from evalstats.stats.paired.effect_sizes import t_margin_test, tango_margin_test
from evalstats.stats.paired.means import augmented_t, paired_t, sign_flip, signed_rank
from evalstats.stats.planning.clusters import simulated_power
from evalstats.stats.planning.mean import cheapest_trials, difference_parts
from evalstats.stats.planning.power import (
    connor_n,
    discordant_shares,
    mde_from_std_error,
    mde_paired_binary,
    paired_binary_margin_power,
    paired_binary_power,
    precision_n,
)
from evalstats.stats.sequential import asymptotic_cs

NAN, INF = math.nan, math.inf
TABLE = PairedCounts(5, 2, 1, 3)
SKEWED = [0.1, 0.2, 0.4]

Refusal = tuple[Callable[[], object], str]
PAIRED: list[Refusal] = [
    (lambda: PairedCounts(0, 0, 0, 0), "empty"),
    (lambda: PairedCounts(3, -1, 0, 0), "only_candidate"),
    *((lambda m=m: tango_margin_p(TABLE, m), "between -1 and 1") for m in (-1.5, -1.0, 1.0, 1.5, 5.0, NAN)),
    *((lambda m=m: tango_margin_test(TABLE, margin=m), "margin") for m in (0.0, -0.02, NAN, INF)),
    *((lambda m=m: t_margin_test(paired_t(SKEWED), margin=m), "margin") for m in (0.0, -0.02, NAN, INF)),
    *((lambda m=m: tango_margin_test(TABLE, margin=m), "a proportion between 0 and 1 ") for m in (1.0, 1.5, 2.5)),
    (lambda: t_margin_test(augmented_t(SKEWED), margin=2, bound=1.0), "no difference can exceed 1"),
    *((lambda c=c: tango_margin_test(TABLE, margin=0.1, conf_level=c), r"above 0\.5") for c in (0.05, 0.5)),
    (lambda: t_margin_test(tango(TABLE), margin=0.1), "t type"),
    (lambda: t_margin_test(tango(PairedCounts(5, 0, 0, 3)), margin=0.1), "t type"),
    (lambda: t_margin_test(mean_t(SKEWED), margin=0.1), "t type"),
    (lambda: augmented_t([0.2, 5.0]), "above the highest possible 1"),
    (lambda: augmented_t([0.0], bound=0.0), "bound is 0"),
    (lambda: sign_flip([0.1, NAN]), "NaN"),
    (lambda: sign_flip([]), "empty"),
    (lambda: signed_rank([0.1, NAN]), "NaN"),
    (lambda: signed_rank([]), "empty"),
    (lambda: unseen_failures([-1.0, 2.0], [0.0, 1.0]), "below the lowest possible 0"),
    (lambda: unseen_failures([1.0, 2.0], [0.0]), "same items"),
]
RESAMPLED: list[Refusal] = [
    (lambda: bca_law([0.1, NAN]), "NaN"),
    (lambda: bca_law([0.1, 0.4], conf_level=95), "conf_level"),
    (lambda: augmented_percentile([-3.0, 0.0]), "below the lowest possible"),
    (lambda: augmented_percentile([0.0], bound=-1.0), "bound is -1"),
    (lambda: bootstrap_t([1.0, 2.0, 3.0], n_resamples=50), "n_resamples is 50"),
    (lambda: bootstrap_t([1.0, 2.0, 3.0], n_resamples=999, conf_level=0.999), "draw at least 2000"),
    (lambda: bootstrap_t([1.0, NAN]), "NaN"),
]
WATCHED: list[Refusal] = [
    (lambda: betting_log_e([0.0], 1.0), "mean is 1"),
    *((lambda m=m: betting_margin_p([0.0], m), f"margin is {m:g}") for m in (-1.0, 1.0, 1.5)),
    (lambda: e_mcnemar([0.0, 0.5]), r"hold 0\.5"),
]
PLANNED: list[Refusal] = [
    (lambda: paired_binary_power(10, 0.7, 0.7), "two discordant cells"),
    (lambda: paired_binary_power(30, 0.7, 0.3 + 1e-9), "two discordant cells"),
    *((lambda d=d: mde_paired_binary(10, d), f"discordance is {d}") for d in (-0.01, 1.01)),
    (lambda: mde_paired_binary(10, 0.2, power=80), "power is 80"),
    (lambda: mde_from_std_error(0.0), "std_error is 0"),
    (lambda: mde_from_std_error(1.0, 0.0), "df is 0"),
    *((lambda d=d: discordant_shares(d, 0.0), "between 0 and 1") for d in (-0.1, 1.5, NAN)),
    *((lambda d=d: discordant_shares(0.1, d), "needs at least as large a share") for d in (-0.2, 0.2)),
    (lambda: connor_n(0.1, 20), "discordance is 20"),
    (lambda: connor_n(0.0, 0.2), "delta is 0"),
    (lambda: precision_n(0.0, 0.2), "half_width is 0"),
    *((lambda m=m: paired_binary_margin_power(10, 0.1, 0.1, m), f"margin is {m:g}") for m in (0.0, 1.0, 2.0)),
    (lambda: paired_binary_margin_power(10, 0.1, 0.1, 0.1, conf_level=0.5), r"above 0\.5"),
    (lambda: paired_binary_margin_power(10, 0.7, 0.7, 0.1), "two discordant cells"),
    (lambda: simulated_power(0.1, n_items=10, variance=1.0, rule="cr2", shares=np.ones(12)), "cannot fill 12 clusters"),
    (lambda: simulated_power(0.1, n_items=10, variance=1.0, pool=[0.1, 0.1]), "differences of the pool are equal"),
    (lambda: difference_parts([1.0]), "at least 2 items"),
    (lambda: difference_parts([1.0, 2.0], trial_variances=([1.0], [1.0])), "one for each of 2 items"),
    (lambda: difference_parts([1.0, 2.0], n_trials=([0, 1], [1, 1])), "at least 1 for each of 2 items"),
    (lambda: cheapest_trials(0.1, 0.1, cost_item=1.0, cost_trial=0.0), "cost of a trial above 0"),
]


@pytest.mark.parametrize(("call", "words"), [*PAIRED, *RESAMPLED, *WATCHED, *PLANNED])
def test_bad_arguments_are_refused(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize(
    ("scores", "words"), [(np.arange(99.0), "99 units of a score without"), (np.ones(200), "equal")]
)
def test_an_asymptotic_sequence_needs_a_hundred_units_that_differ(scores: np.ndarray, words: str) -> None:
    with pytest.raises(CannotAnswerError, match=words):
        asymptotic_cs(scores)
