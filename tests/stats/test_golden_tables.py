"""Reference values that no other test reads: R's tables of pairs, cluster-robust regression, the whole published audit."""

import csv
import json
import math

import numpy as np
import pytest

from evalstats.stats.bootstrap import bca_law, percentile_law
from evalstats.stats.clusters import cluster_mean, cluster_sign_flip
from evalstats.stats.many.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from evalstats.stats.one_sample import beta_posterior, clopper_pearson, failure_rate_limit, jeffreys, wilson
from evalstats.stats.paired.binary import (
    PairedCounts,
    bonett_price,
    mcnemar_exact,
    mcnemar_midp,
    newcombe,
    score_test_p,
    tango,
)
from evalstats.stats.paired.means import paired_t, sign_flip
from evalstats.stats.trials import pass_at_k, pass_hat_k

CLOSED_FORM = 1e-8


@pytest.fixture(scope="module")
def misc(golden):
    return json.loads((golden / "r_misc.json").read_text())


def ends(estimate):
    return [estimate.conf_low, estimate.conf_high]


def test_mcnemar_of_base_r(misc):
    """Approval ratings of Agresti: R's chi-squared without correction is the square of the score statistic."""
    table = [k for row in misc["paired_2x2"]["agresti_pm"]["table"] for k in row]
    counts = PairedCounts(*table)
    assert tango(counts).statistic ** 2 == pytest.approx(misc["mcnemar_base"]["agresti_chisq"], abs=1e-8)
    # Its p is that of the corrected statistic, which is larger than that of the score test.
    assert score_test_p(counts) < misc["mcnemar_base"]["p"]


def test_every_table_of_pairs(misc):
    assert len(misc["paired_2x2"]) == 4
    for name, case in misc["paired_2x2"].items():
        counts = PairedCounts(*(k for row in case["table"] for k in row))
        for method in (tango, newcombe, bonett_price):
            expected = case[method.__name__]
            found = method(counts)
            assert ends(found) == pytest.approx([expected["lower"], expected["upper"]], abs=CLOSED_FORM), name
            assert found.estimate == pytest.approx(expected["estimate"], abs=CLOSED_FORM)
        assert tango(counts).statistic == pytest.approx(case["mcnemar"]["Z"], abs=CLOSED_FORM)
        assert score_test_p(counts) == pytest.approx(case["mcnemar"]["Pvalue"], rel=1e-9)
        assert mcnemar_exact(counts) == pytest.approx(case["mcnemar_exact"]["Pvalue"], rel=1e-9)
        assert mcnemar_midp(counts) == pytest.approx(case["mcnemar_midp"]["midP"], rel=1e-9)


def test_published_intervals_of_pairs(golden):
    cases = json.loads((golden / "paired_published_checks.json").read_text())
    assert len(cases) == 4
    for case in cases:
        counts = PairedCounts(*case["table"])
        found = tango(counts, conf_level=case["level"])
        assert ends(found) == pytest.approx(case["tango"], abs=5e-4), case["src"]
        assert ends(found) == pytest.approx(case["computed_tango"], abs=CLOSED_FORM)
        assert ends(newcombe(counts, conf_level=case["level"])) == pytest.approx(
            case["computed_newcombe10"], abs=CLOSED_FORM
        )


def test_every_proportion(misc):
    assert len(misc["binom"]) == 8
    for case in misc["binom"]:
        x, n = case["x"], case["n"]
        assert ends(wilson(x, n)) == pytest.approx(case["wilson"], abs=CLOSED_FORM)
        assert ends(clopper_pearson(x, n)) == pytest.approx(case["cp"], abs=CLOSED_FORM)
        assert ends(beta_posterior(x, n, a=1, b=1)) == pytest.approx(case["uniform"], abs=CLOSED_FORM)
        if 0 < x < n:
            assert ends(jeffreys(x, n)) == pytest.approx(case["jeffreys"], abs=CLOSED_FORM)


def test_adjusted_p_values(misc):
    for case in (misc["p_adjust"], misc["BH1995"]):
        for method, name in ((holm, "holm"), (benjamini_hochberg, "BH"), (benjamini_yekutieli, "BY")):
            if name in case:
                assert method(case["p"]) == pytest.approx(case[name], abs=CLOSED_FORM)
    published = misc["BH1995"]
    assert int((benjamini_hochberg(published["p"]) <= 0.05).sum()) == published["n_reject_BH"]
    assert sum(p * len(published["p"]) <= 0.05 for p in published["p"]) == published["n_reject_bonf"]


def test_pass_at_k_and_hat_k(golden):
    cases = json.loads((golden / "py_golden.json").read_text())["pass_k"]["single"]
    assert len(cases) == 11
    for case in cases:
        n, c, k = case["n"], case["c"], case["k"]
        assert pass_at_k(n, c, k)[0] == pytest.approx(case["pass_at_k"], abs=CLOSED_FORM)
        assert pass_hat_k(n, c, k)[0] == pytest.approx(case["pass_hat_k"], rel=1e-8, abs=0)


@pytest.mark.parametrize("term", ["Days", "(Intercept)"])
def test_cluster_robust_regression_of_r(golden, term):
    """Every subject has the same ten days, so either coefficient is a mean over rows, and its CR2 is that of the mean.

    The slope is the mean of n (x - mean x) y/Sxx, the intercept that of y less mean x times the same; clubSandwich gives
    standard error, t and Satterthwaite df of the regression.
    """
    with (golden / "sleepstudy.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    y, x = (np.array([float(row[name]) for row in rows]) for name in ("Reaction", "Days"))
    subject = np.unique([row["Subject"] for row in rows], return_inverse=True)[1]
    slope_terms = y.size * (x - x.mean()) * y / np.square(x - x.mean()).sum()
    terms = slope_terms if term == "Days" else y - x.mean() * slope_terms
    reference = json.loads((golden / "r_mixed_models.json").read_text())["cluster_robust_sleepstudy"]
    (expected,) = [row for row in reference["CR2"] if row["Coef"] == term]
    found = cluster_mean(terms, subject).estimate
    assert found.estimate == pytest.approx(expected["beta"], abs=1e-8)
    assert found.std_error == pytest.approx(expected["SE"], rel=1e-9)
    assert found.statistic == pytest.approx(expected["tstat"], rel=1e-9)
    assert found.df == pytest.approx(expected["df_Satt"], rel=1e-9)
    assert found.p_value == pytest.approx(expected["p_Satt"], rel=1e-7, abs=0)
    # CR0 is the same without the correction for the share of each cluster.
    assert found.std_error * math.sqrt(17 / 18) == pytest.approx(reference["CR0"][term], rel=1e-9)


def test_the_published_audit(golden):
    """The headline of github nebiyuephrata/SignalForge, 22 items right by both and 21 by the trained model only."""
    audit = json.loads((golden / "py_golden.json").read_text())["tenacious"]
    counts = PairedCounts(22, 21, 0, 0)
    d = np.repeat([1.0, 0.0], [21, 22])

    def points(estimate):
        return [100 * end for end in ends(estimate)]

    assert 100 * counts.estimate == pytest.approx(audit["diff_pp"], abs=1e-9)
    for method, name in ((tango, "tango"), (newcombe, "newcombe10"), (bonett_price, "bonett_price")):
        assert points(method(counts)) == pytest.approx(audit[name], abs=1e-6)
    for method, name in ((paired_t, "t_ddof1"), (percentile_law, "percentile_exact"), (bca_law, "BCa_exact")):
        assert points(method(d)) == pytest.approx(audit[name], abs=1e-6)
    assert 100 * paired_t(d).std_error == pytest.approx(audit["se_ddof1_pp"], abs=1e-9)
    assert points(wilson(22, 43)) == pytest.approx(audit["wilson_baseline"], abs=1e-6)
    assert points(wilson(43, 43)) == pytest.approx(audit["wilson_trained"], abs=1e-6)
    assert points(wilson(21, 43)) == pytest.approx(audit["wilson_of_21_43_(equals d when c=0)"], abs=1e-6)
    assert points(clopper_pearson(21, 43)) == pytest.approx(audit["CP_of_21_43"], abs=1e-6)
    assert points(clopper_pearson(43, 43))[0] == pytest.approx(audit["cp_trained_lower"], abs=1e-6)
    # The rule of three there is 3/n; the exact limit of the failure rate lies .3 points below it.
    rule_of_three = audit["rule_of_three_trained_lower95_one_sided"]
    assert rule_of_three < 100 * (1 - failure_rate_limit(43)) < rule_of_three + 0.3
    assert mcnemar_exact(counts) == pytest.approx(audit["mcnemar_exact_p"], rel=1e-12)
    assert mcnemar_midp(counts) == pytest.approx(audit["mcnemar_midp"], rel=1e-12)
    assert tango(counts).statistic ** 2 == pytest.approx(audit["mcnemar_chi2"], rel=1e-12)
    assert sign_flip(d).p_value == pytest.approx(audit["signflip_exact_p_two_sided"], rel=1e-9)
    items, gained = np.array(list(audit["clusters"].values())).T
    clusters = np.repeat(np.arange(7), items)
    grouped = np.concatenate([np.repeat([1.0, 0.0], [g, k - g]) for k, g in zip(items, gained, strict=True)])
    assert points(percentile_law(grouped, clusters=clusters)) == pytest.approx(
        audit["cluster_bootstrap_exact_7dims"], abs=1e-6
    )
    assert cluster_sign_flip(grouped, clusters).p_value == audit["cluster_signflip_exact_p"]
    share = items / 43
    residual = gained - items * grouped.mean()
    assert math.sqrt((residual**2).sum()) / 43 == pytest.approx(audit["CR0_se_pp"] / 100, rel=1e-9)
    cr2 = math.sqrt((residual**2 / (1 - share)).sum()) / 43
    assert cluster_mean(grouped, clusters).estimate.std_error == pytest.approx(cr2, rel=1e-12)
