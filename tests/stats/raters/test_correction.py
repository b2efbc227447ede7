"""A judge corrected by labels: published and computed values, limits that are known, and coverage by simulation."""

import json
import math

import numpy as np
import pytest
from scipy import optimize, stats
from statsmodels.stats.oneway import anova_oneway

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.raters.correction import (
    JudgeErrors,
    _leverage,
    _profile,
    _tuning,
    equal_means_p,
    judge_errors,
    powered_mean,
    rogan_gladen,
    rogan_gladen_smoothed,
)


def golden_case(golden):
    stored = json.loads((golden / "py_golden.json").read_text())["ppi"]
    c = stored["counts"]
    cells = [c["y1f1"], c["y1f0"], c["y0f1"], c["y0f0"]]
    judged, labels = np.repeat([1, 0, 1, 0], cells), np.repeat([1, 1, 0, 0], cells)
    return stored, np.repeat([1, 0], [c["unlab_f1"], 2000 - c["unlab_f1"]]), judged, labels


def test_prediction_powered_means_of_the_golden_case(golden):
    stored, unlabelled, judged, labels = golden_case(golden)
    plain = powered_mean(unlabelled, judged, labels, tuning=1.0)
    assert plain.estimate.estimate == pytest.approx(stored["ppi"][0], abs=1e-12)
    # Theirs divides by n, ours by n - 1; the part of the 2,000 without label is so small that the ratio is that of 150 and 149.
    assert plain.estimate.std_error == pytest.approx(stored["ppi"][1], rel=4e-3)
    tuned = powered_mean(unlabelled, judged, labels)
    assert tuned.tuning == pytest.approx(stored["lambda"], rel=1e-9)
    assert tuned.estimate.estimate == pytest.approx(stored["ppi++"][0], abs=1e-12)
    assert tuned.estimate.std_error == pytest.approx(stored["ppi++"][1], rel=0.02)
    assert tuned.labels_only.estimate == pytest.approx(stored["labeled_mean"], abs=1e-12)
    assert tuned.labels_only.std_error == pytest.approx(stored["labeled_se"], rel=4e-3)
    assert tuned.label_worth > 150


def test_a_judge_without_errors_is_all_items_and_a_useless_one_is_the_labels():
    rng = np.random.default_rng(1)
    truth = (rng.random(1200) < 0.4).astype(float)
    perfect = powered_mean(truth[200:], truth[:200], truth[:200], tuning=1.0)
    assert perfect.estimate.estimate == pytest.approx(truth[200:].mean())
    useless = powered_mean(rng.random(1000), rng.random(200), truth[:200])
    assert useless.tuning < 0.2
    assert useless.estimate.estimate == pytest.approx(truth[:200].mean(), abs=0.02)
    constant = powered_mean(np.ones(1000), np.ones(200), truth[:200])
    assert (constant.tuning, constant.estimate.estimate) == (0.0, pytest.approx(truth[:200].mean()))


def test_shifting_and_scaling_the_judge_changes_nothing_but_the_weight():
    rng = np.random.default_rng(2)
    truth = rng.normal(size=500)
    judge = truth + rng.normal(size=500)
    one = powered_mean(judge[60:], judge[:60], truth[:60]).estimate
    shifted = powered_mean(judge[60:] + 3, judge[:60] + 3, truth[:60]).estimate
    assert (shifted.estimate, shifted.conf_low) == pytest.approx((one.estimate, one.conf_low))
    mirrored = powered_mean(-judge[60:], -judge[:60], -truth[:60]).estimate
    assert (-mirrored.estimate, -mirrored.conf_high) == pytest.approx((one.estimate, one.conf_low))


def test_known_probabilities_undo_a_choice_of_the_hard_items():
    rng = np.random.default_rng(3)
    n, estimates, corrected = 3000, [], []
    for _ in range(40):
        truth = (rng.random(n) < 0.5).astype(float)
        judge = np.where(rng.random(n) < 0.85, truth, 1 - truth)
        chance = np.where(judge == 1, 0.05, 0.15)
        chosen = rng.random(n) < chance
        found = powered_mean(judge[~chosen], judge[chosen], truth[chosen], probabilities=chance[chosen])
        estimates.append(found.labels_only.estimate)
        corrected.append(found.estimate.estimate)
        assert found.labels_only.estimate != pytest.approx(truth[chosen].mean(), abs=1e-6)
    # The mean of 40 runs: its own error is about 0.006.
    assert np.mean(estimates) == pytest.approx(0.5, abs=0.025)
    # The items left over lack what was chosen more often; a judge's mean over them alone would be .025 too high.
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.012)


def test_known_probabilities_give_the_mean_and_error_of_the_formula():
    """Hajek's estimator beside the judge's mean over all items, item by item."""
    rng = np.random.default_rng(9)
    judge, n = rng.random(400), 400
    people = judge + rng.normal(0, 0.2, n)
    chance = np.where(judge > 0.5, 0.3, 0.1)
    chosen = rng.random(n) < chance
    found = powered_mean(judge[~chosen], judge[chosen], people[chosen], probabilities=chance[chosen], tuning=1.0)
    w = sum(1 / p for p in chance[chosen])
    rest = sum((people[i] - judge[i]) / chance[i] for i in range(n) if chosen[i]) / w
    assert found.estimate.estimate == pytest.approx(judge.mean() + rest)
    squares = sum(
        ((judge[i] - judge.mean()) / n + (chosen[i] and (people[i] - judge[i] - rest) / chance[i] / w)) ** 2
        for i in range(n)
    )
    labels = int(chosen.sum())
    assert found.estimate.std_error == pytest.approx((squares * labels / (labels - 1)) ** 0.5)


def test_clusters_of_labels_widen():
    rng = np.random.default_rng(4)
    group = np.arange(1000) % 50
    truth = (rng.random(50)[group] < 0.5).astype(float)
    judge = np.where(rng.random(1000) < 0.7, truth, 1 - truth)
    alone = powered_mean(judge[200:], judge[:200], truth[:200])
    grouped = powered_mean(judge[200:], judge[:200], truth[:200], clusters=(group[200:], group[:200]))
    assert grouped.estimate.n_clusters == 50
    assert grouped.estimate.std_error > 1.3 * alone.estimate.std_error


def test_rogan_gladen_by_its_formula_and_its_limits():
    errors = judge_errors(np.repeat([1, 0, 1, 0], [90, 10, 20, 80]), np.repeat([1, 1, 0, 0], [90, 10, 20, 80]))
    assert errors == JudgeErrors(yes_yes=90, no_yes=10, yes_no=20, no_no=80)
    found = rogan_gladen(124, 200, errors)
    # The formula's estimate and delta error, worked by hand: (.62 + .8 - 1)/(.9 + .8 - 1).
    assert found.estimate == pytest.approx(0.6)
    variance = (0.62 * 0.38 / 200 + 0.36 * 0.9 * 0.1 / 100 + 0.16 * 0.8 * 0.2 / 100) / 0.7**2
    assert found.std_error == pytest.approx(math.sqrt(variance))
    assert found.conf_low == pytest.approx(0.6 - 1.96 * math.sqrt(variance), abs=0.01)
    assert rogan_gladen(1, 200, errors).estimate == 0.0
    assert rogan_gladen(200, 200, errors).estimate == 1.0
    mirrored = rogan_gladen(76, 200, JudgeErrors(yes_yes=80, no_yes=20, yes_no=10, no_no=90))
    assert (1 - mirrored.conf_high, 1 - mirrored.conf_low) == pytest.approx((found.conf_low, found.conf_high), abs=1e-5)
    exact = rogan_gladen(120, 200, JudgeErrors(yes_yes=100_000, no_yes=0, yes_no=0, no_no=100_000))
    assert (exact.conf_low, exact.conf_high) == pytest.approx(
        (0.531, 0.666), abs=0.002
    )  # likelihood ends of 120 of 200


def test_what_cannot_be_corrected_says_why():
    with pytest.raises(CannotAnswerError, match="tell nothing"):
        rogan_gladen(10, 20, JudgeErrors(yes_yes=5, no_yes=5, yes_no=5, no_no=5))
    with pytest.raises(CannotAnswerError, match="only one of yes and no"):
        rogan_gladen(10, 20, JudgeErrors(yes_yes=5, no_yes=5, yes_no=0, no_no=0))
    sure = JudgeErrors(yes_yes=9, no_yes=1, yes_no=1, no_no=9)
    with pytest.raises(InputError, match="n_yes is 21 of n = 20"):
        rogan_gladen(21, 20, sure)
    with pytest.raises(InputError, match="n "):
        rogan_gladen(0, 0, sure)
    assert (rogan_gladen(1, 1, sure).estimate, rogan_gladen(0, 1, sure).estimate) == (1.0, 0.0)
    assert rogan_gladen(20, 20, sure).estimate == 1.0
    for verdicts, labels in (([0.5], [1]), ([1], [0.5]), ([1, 0], [1])):
        with pytest.raises(InputError, match="0 or 1"):
            judge_errors(verdicts, labels)
    with pytest.raises(InputError, match="20 labels and 21 scores"):
        powered_mean(np.ones(50), np.arange(21.0), np.arange(20.0))
    with pytest.raises(CannotAnswerError, match="19 labels are too few"):
        powered_mean(np.ones(50), np.ones(19), np.ones(19))
    with pytest.raises(InputError, match="probability"):
        powered_mean(np.ones(50), np.arange(20) % 2, np.arange(20) % 2, probabilities=np.zeros(20))
    same = powered_mean(np.ones(50), np.ones(20), np.ones(20)).estimate
    assert same.conf_low is None
    assert "no width" in str(same.reason)
    weak = rogan_gladen(50, 100, JudgeErrors(yes_yes=60, no_yes=40, yes_no=45, no_no=55))
    assert "weak" in weak.warnings[0]


def test_welchs_analysis_of_variance_is_that_of_statsmodels():
    rng = np.random.default_rng(8)
    for sizes in ((12, 30), (10, 15, 60), (20, 20, 20, 20)):
        groups = [rng.normal(0.3 * place, 1 + place, size) for place, size in enumerate(sizes)]
        expected = anova_oneway(groups, use_var="unequal").pvalue
        assert equal_means_p(groups) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [(300, 100), (350, 50)])
def test_labels_drawn_from_strata_have_the_error_of_a_stratified_mean(sizes):
    """Cochran: the spread within each stratum by its share of the items, and the items' own spread, with Satterthwaite's df."""
    rng = np.random.default_rng(12)
    stratum = np.repeat([0, 1], sizes)
    judge = rng.random(400) + stratum
    people = judge + rng.normal(0, 0.2 + stratum, 400)
    counts = (30, 25)
    chosen = np.r_[np.arange(30), sizes[0] + np.arange(25)]
    rest = np.setdiff1d(np.arange(400), chosen)
    chance = np.array(counts)[stratum] / np.array(sizes)[stratum]
    found = powered_mean(judge[rest], judge[chosen], people[chosen], probabilities=chance[chosen], tuning=1.0)
    shares, off = np.array(sizes) / 400, (people - judge)[chosen]
    parts = [off[:30], off[30:]]
    assert found.estimate.estimate == pytest.approx(
        judge.mean() + sum(w * x.mean() for w, x in zip(shares, parts, strict=True))
    )
    within = [w**2 * x.var(ddof=1) / len(x) * (1 - len(x) / n) for w, x, n in zip(shares, parts, sizes, strict=True)]
    weight = 1 / chance[chosen] / (1 / chance[chosen]).sum()
    centre = weight @ people[chosen]
    among = weight @ (people[chosen] - centre) ** 2 / 400
    assert found.estimate.std_error**2 == pytest.approx(sum(within) + among)
    df = (sum(within) + among) ** 2 / (within[0] ** 2 / 29 + within[1] ** 2 / 24 + among**2 / 54)
    assert found.estimate.df == pytest.approx(df)


def test_two_residuals_more_are_counted_half_a_scale_off():
    """By the formula; and a judge who agrees with all labels is not taken for one who never errs."""
    rng = np.random.default_rng(13)
    y = (rng.random(40) < 0.6).astype(float)
    f = np.where(np.arange(40) < 5, 1 - y, y)
    rest = (rng.random(400) < 0.6).astype(float)
    plain, found = (powered_mean(rest, f, y, tuning=1.0, pseudo=pseudo).estimate for pseudo in (0.0, 0.5))
    of_judge = rest.var() / 400 * 40 / 39
    squares = np.square(y - f - (y - f).mean()).sum()
    assert plain.std_error**2 == pytest.approx(of_judge + squares / 39 / 40)
    assert found.std_error**2 == pytest.approx(of_judge + (squares * 40 / 39 + 2 * 0.5**2) / 42 / 40)
    assert found.estimate == plain.estimate
    same = powered_mean(rest, y, y, tuning=1.0, pseudo=0.5).estimate
    assert same.std_error**2 == pytest.approx(of_judge + 0.5 / 42 / 40)
    # Where all are right the interval begins where Wilson's of some 40 items does, not near 0.
    right = powered_mean(np.repeat([1.0, 0.0], [380, 20]), np.ones(40), np.ones(40), bounds=(0, 1), pseudo=0.5).estimate
    assert 0.85 < right.conf_low < 0.96
    chance = np.repeat([0.1, 0.2], [25, 15])
    drawn = [powered_mean(rest[:285], f, y, probabilities=chance, pseudo=pseudo).estimate for pseudo in (0.0, 0.5)]
    assert drawn[1].std_error > drawn[0].std_error


def test_smoothed_rates_are_those_of_lee_and_others():
    """Their program's formula, arXiv:2511.21140, written out; the example of Rogan and Gladen is .62 -> .600."""
    errors = JudgeErrors(yes_yes=81, no_yes=9, no_no=80, yes_no=20)
    plain, found = rogan_gladen(1240, 2000, errors), rogan_gladen_smoothed(1240, 2000, errors)
    assert found.estimate == pytest.approx(0.6)
    assert plain.estimate - 1.96 * plain.std_error == pytest.approx(0.524, abs=1e-3)
    assert plain.estimate + 1.96 * plain.std_error == pytest.approx(0.676, abs=1e-3)
    z = stats.norm.ppf(0.975)
    n, m0, m1 = 2000 + z**2, 102, 92
    p, q0, q1 = (1240 + z**2 / 2) / n, 81 / m0, 82 / m1
    th = (p + q0 - 1) / (q0 + q1 - 1)
    dth = 2 * z**2 * (-(1 - th) * q0 * (1 - q0) / m0 + th * q1 * (1 - q1) / m1)
    variance = p * (1 - p) / n + (1 - th) ** 2 * q0 * (1 - q0) / m0 + th**2 * q1 * (1 - q1) / m1
    se = math.sqrt(variance) / (q0 + q1 - 1)
    assert (found.conf_low, found.conf_high) == pytest.approx((th + dth - z * se, th + dth + z * se))
    assert rogan_gladen_smoothed(2000, 2000, errors).conf_high == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("n_labels", [20, 50, 150])
@pytest.mark.parametrize(("share", "sensitivity", "false_yes"), [(0.6, 0.88, 0.25), (0.9, 0.9, 0.2)])
def test_prediction_powered_intervals_hold_the_truth(n_labels, share, sensitivity, false_yes):
    rng, repeats, held, made = np.random.default_rng(5), 2000, 0, 0
    for _ in range(repeats):
        truth = (rng.random(n_labels + 2000) < share).astype(float)
        judge = (rng.random(truth.size) < np.where(truth == 1, sensitivity, false_yes)).astype(float)
        found = powered_mean(judge[n_labels:], judge[:n_labels], truth[:n_labels], bounds=(0, 1)).estimate
        if found.conf_low is not None and found.conf_high is not None:
            made += 1
            held += found.conf_low <= share <= found.conf_high
    # Wilson's interval of a share holds it in 94 to 97%.
    assert 0.93 < held / made < 0.985


@pytest.mark.slow
def test_corrected_differences_hold_the_truth_where_the_judge_favours_one_side():
    """The judge says yes more often to the candidate: the naive interval misses, the corrected one does not."""
    rng, repeats, held, naive = np.random.default_rng(6), 1000, 0, 0
    for _ in range(repeats):
        truth = (rng.random((2, 1000)) < [[0.5], [0.5]]).astype(float)
        judge = (rng.random((2, 1000)) < np.where(truth == 1, [[0.85], [0.95]], [[0.15], [0.25]])).astype(float)
        d, f = truth[1] - truth[0], judge[1] - judge[0]
        found = powered_mean(f[150:], f[:150], d[:150]).estimate
        held += found.conf_low <= 0.0 <= found.conf_high
        naive += abs(f.mean()) <= 1.96 * f.std() / math.sqrt(f.size)
    assert abs(held / repeats - 0.95) < 4 * math.sqrt(0.95 * 0.05 / repeats)
    assert naive / repeats < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_pos", "n_neg", "share", "sensitivity", "specificity"),
    [(50, 50, 0.6, 0.9, 0.8), (30, 30, 0.95, 0.9, 0.8), (30, 30, 0.6, 0.7, 0.6)],
)
def test_profile_intervals_hold_the_truth(n_pos, n_neg, share, sensitivity, specificity):
    rng, repeats, held, made = np.random.default_rng(7), 1000, 0, 0
    for _ in range(repeats):
        said = rng.binomial(500, share * sensitivity + (1 - share) * (1 - specificity))
        hits, rejections = rng.binomial(n_pos, sensitivity), rng.binomial(n_neg, specificity)
        errors = JudgeErrors(yes_yes=hits, no_yes=n_pos - hits, no_no=rejections, yes_no=n_neg - rejections)
        try:
            found = rogan_gladen(said, 500, errors)
        except CannotAnswerError:
            continue
        made += 1
        held += found.conf_low - 1e-9 <= share <= found.conf_high + 1e-9
    assert abs(held / made - 0.95) < 0.02 + 4 * math.sqrt(0.95 * 0.05 / made)


@pytest.mark.parametrize("bounds", [None, (1.0, 5.0)])
def test_the_error_of_a_weighted_judge_by_its_formula(bounds):
    """Residuals are longer by 1/(1 - leverage), since the judge's weight was fitted to them; t, or Wilson's ends on the scale."""
    rng = np.random.default_rng(8)
    f_u, f = rng.integers(1, 6, 200).astype(float), rng.integers(1, 6, 40).astype(float)
    y = np.clip(f + rng.integers(-1, 2, 40), 1, 5)
    found = powered_mean(f_u, f, y, bounds=bounds)
    weight = found.tuning
    assert 0.3 < weight < 1.0
    squares = np.square(f - f.mean())
    rest = y - weight * f
    parts = np.concatenate(
        (weight * (f_u - f_u.mean()) / 200, (rest - rest.mean()) / 40 / (1 - np.minimum(squares / squares.sum(), 0.5)))
    )
    value = weight * f_u.mean() + rest.mean()
    error = math.sqrt(np.square(parts).sum() * 40 / 39)
    estimate = found.estimate
    assert (estimate.estimate, estimate.std_error) == pytest.approx((value, error), rel=1e-12)
    law = stats.t(39)
    q = law.ppf(0.975)
    if bounds is None:
        assert (estimate.conf_low, estimate.conf_high) == pytest.approx(
            (value - q * error, value + q * error), rel=1e-9
        )
        assert estimate.statistic == pytest.approx(value / error)
        assert estimate.p_value == pytest.approx(2 * law.sf(value / error), rel=1e-6, abs=0)
    else:
        assert (estimate.statistic, estimate.p_value) == (None, None)
        p = (value - 1) / 4
        n = p * (1 - p) / (error / 4) ** 2
        for end in (estimate.conf_low, estimate.conf_high):  # Wilson: (p - end)^2 = q^2 end (1 - end)/n
            share = (end - 1) / 4
            assert (p - share) ** 2 == pytest.approx(q**2 * share * (1 - share) / n, rel=1e-9)
        assert 1 < estimate.conf_low < value < estimate.conf_high < 5


def test_a_corrected_mean_beyond_the_scale_has_ends_on_it():
    """A judge that is too generous with labelled items takes the mean below 0."""
    rng = np.random.default_rng(0)
    judged = np.zeros(300)
    labels, of_labels = np.zeros(40), (rng.random(40) < 0.3).astype(float)
    found = powered_mean(judged, of_labels, labels, tuning=1.0, bounds=(0.0, 1.0)).estimate
    assert found.estimate < 0
    assert found.conf_low == pytest.approx(0.0, abs=1e-12)
    assert 0 < found.conf_high < 1


def test_labels_are_worth_as_many_as_would_have_the_error_alone():
    rng = np.random.default_rng(11)
    truth = rng.random(400)
    judge = truth + rng.normal(0, 0.2, 400)
    found = powered_mean(judge[60:], judge[:60], truth[:60])
    worth = 60 * found.labels_only.std_error**2 / found.estimate.std_error**2
    assert found.label_worth == pytest.approx(worth, rel=1e-12)
    assert worth > 70
    assert found.labels_only.std_error == pytest.approx(truth[:60].std(ddof=1) / math.sqrt(60), rel=1e-12)
    same = powered_mean(np.ones(50), np.ones(20), np.ones(20))
    assert same.label_worth == 20.0


def test_the_judge_s_weight_has_the_least_variance_and_lies_from_0_to_1():
    """cov(f, y) / (var f (1 + n/N)) with n labels and N other items; of weighted labels n is 1 over their squares."""
    rng = np.random.default_rng(12)
    f_u, f = rng.normal(size=90), rng.normal(size=30)
    y, equal = 0.6 * f + rng.normal(size=30), np.full(30, 1 / 30)
    chances = rng.uniform(0.1, 1.0, 30)
    for weights in (equal, chances / chances.sum()):
        n = 1 / np.square(weights).sum()
        together = weights @ (f * y) - (weights @ f) * (weights @ y)
        wanted = together / (np.concatenate((f_u, f)).var() * (1 + n / 90))
        assert 0 < wanted < 1
        assert _tuning(f_u, f, y, weights) == pytest.approx(wanted, rel=1e-12)
    assert _tuning(f_u, f, 5 * f, equal) == 1.0
    assert _tuning(f_u, f, -f, equal) == 0.0
    assert _tuning(np.ones(90), np.ones(30), y, equal) == 0.0


def test_no_label_counts_for_more_than_half_of_the_weight():
    f = np.r_[np.zeros(9), 1.0]
    away = np.square(f - 0.1)
    assert _leverage(f, np.full(10, 0.1)) == pytest.approx(np.minimum(away / away.sum(), 0.5))
    assert _leverage(f, np.full(10, 0.1)).max() == 0.5
    assert _leverage(np.ones(4), np.full(4, 0.25)).tolist() == [0.0] * 4


@pytest.mark.parametrize(
    ("judged", "errors"),
    [((124, 200), (90, 10, 20, 80)), ((15, 300), (12, 3, 1, 30)), ((0, 50), (9, 1, 2, 20)), ((70, 90), (5, 1, 0, 7))],
)
@pytest.mark.parametrize("share", [0.0, 0.02, 0.4, 1.0])
def test_the_profile_is_the_highest_likelihood_of_a_share(judged, errors, share):
    """All three binomials, maximised over sensitivity and false yes by another way, from several starts."""
    yes_yes, no_yes, yes_no, no_no = errors
    n_yes, n = judged

    def negative(logits):
        se, fp = 1 / (1 + np.exp(-np.clip(logits, -30, 30)))
        p = np.clip(share * se + (1 - share) * fp, 1e-300, 1 - 1e-16)
        logs = [
            k * math.log(max(q, 1e-300))
            for k, q in ((n_yes, p), (n - n_yes, 1 - p), (yes_yes, se), (no_yes, 1 - se), (yes_no, fp), (no_no, 1 - fp))
            if k
        ]
        return -sum(logs)

    starts = ([2.0, -2.0], [-1.0, -4.0])
    best = min(
        optimize.minimize(negative, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-10}).fun
        for start in starts
    )
    counts = JudgeErrors(yes_yes=yes_yes, no_yes=no_yes, yes_no=yes_no, no_no=no_no)
    assert _profile(share, judged, counts) == pytest.approx(-best, abs=2e-4)


@pytest.mark.parametrize(("n_labels", "few"), [(49, True), (50, False)])
def test_few_labels_are_told(n_labels, few):
    rng = np.random.default_rng(8)
    judged = rng.random(200)
    labelled = judged[:n_labels]
    found = powered_mean(judged[n_labels:], labelled, labelled + 0.1 * rng.normal(size=n_labels))
    for each in (found.estimate, found.labels_only):
        assert any("labels are few" in word for word in each.warnings) == few
