"""Exact coverage against the two coverage tables of the reference folder: every table of n items is weighed.

The suite takes a few rows here and more in test_exact_coverage.py; the slow tests take every row of every method that the
package has (not the Wald interval and the Bayesian bootstrap, which it does not).
"""

import csv
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from evalstats.stats.bootstrap import augmented_percentile, bca_law, percentile_law
from evalstats.stats.one_sample import beta_posterior, clopper_pearson, jeffreys, wilson
from evalstats.stats.paired.binary import PairedCounts, bonett_price, newcombe, tango
from evalstats.stats.paired.means import paired_t

TOUCHING = 1e-9  # an end that equals the truth covers it, whatever the rounding
NEGLIGIBLE = 1e-11  # tables of smaller probability are left out
SIZES = (20, 43, 100, 300, 1000)
DRAWN = 20_000


def of_differences(method):
    def estimate(counts):
        b, c = counts.only_candidate, counts.only_baseline
        return method(np.repeat([1.0, -1.0, 0.0], [b, c, counts.n - b - c]))

    return estimate


# Name in the table: the method, and how far the table's own ends may be off. Its posterior intervals were drawn.
PAIRED = {
    "Tango score": (tango, 0.0),
    "Bonett-Price": (bonett_price, 0.0),
    "t (n-1)": (of_differences(paired_t), 0.0),
    "boot percentile": (of_differences(percentile_law), 0.0),
    "boot pct +1/-1 augmented": (of_differences(augmented_percentile), 0.0),
    "boot BCa": (of_differences(bca_law), 0.0),
}
QUICK_PAIRED = {
    ("boot BCa", 20),
    ("boot BCa", 43),
    ("Tango score", 100),
    ("Bayes Dir(1/2 x4)", 20),
    ("Bayes Dir(1,1,1,1)", 20),
}


def cases(methods, sizes, quick):
    return [
        pytest.param(name, n, marks=() if (name, n) in quick else pytest.mark.slow, id=f"{name}-{n}")
        for name in methods
        for n in sizes
    ]


def rows_of(file, method, n):
    with file.open(newline="") as lines:
        found = [row for row in csv.DictReader(lines) if row["method"] == method and row["n"] == str(n)]
    assert found or (method, n) == ("boot pct +1/-1 augmented", 1000)
    return found


def tolerance(row):
    """The reference left out tables of tiny probability, 5e-5 in all at n = 1000, and rounds an odd rho to four decimals."""
    if int(row["n"]) > 43:
        return 6e-5
    return 1e-6 if float(row["rho"]) in {0.0, 0.5} else 2e-5


def discordant_rates(row):
    p_a, p_b, rho = float(row["pA"]), float(row["pB"]), float(row["rho"])
    both = p_a * p_b + rho * math.sqrt(p_a * (1 - p_a) * p_b * (1 - p_b))
    return p_b - both, p_a - both


def likely_tables(n, p10, p01):
    """Tables (b, c, rest) that matter, with their probabilities."""
    b, c = (part.ravel() for part in np.indices((n + 1, n + 1)))
    kept = b + c <= n
    cells = np.stack([b[kept], c[kept], n - b[kept] - c[kept]], axis=1)
    weight = stats.multinomial.pmf(cells, n, [p10, p01, 1 - p10 - p01])
    likely = weight > NEGLIGIBLE
    return cells[likely], weight[likely]


def interval_maker(method, n):
    """Intervals by (b, c), each computed once; swapping the models mirrors the interval."""

    @cache
    def interval(b, c):
        if b < c:
            low, high = interval(c, b)
            return -high, -low
        found = method(PairedCounts(n - b - c, b, c, 0))
        # Where a method rightly refuses constant data the table has its interval of width zero.
        return (found.estimate, found.estimate) if found.conf_low is None else (found.conf_low, found.conf_high)

    return interval


def weighed(interval, n, row):
    """Return truth, probabilities and ends of the likely tables in one row's setting."""
    p10, p01 = discordant_rates(row)
    cells, weight = likely_tables(n, p10, p01)
    low, high = np.array([interval(int(b), int(c)) for b, c, _ in cells]).T
    return p10 - p01, weight, low, high


@pytest.mark.parametrize(("name", "n"), cases(PAIRED, SIZES, QUICK_PAIRED))
def test_every_paired_row(golden, name, n):
    method, loose = PAIRED[name]
    interval = interval_maker(method, n)
    for row in rows_of(golden / "sim_paired_coverage.csv", name, n):
        truth, weight, low, high = weighed(interval, n, row)
        widest = weight @ ((low <= truth + loose + TOUCHING) & (high >= truth - loose - TOUCHING))
        narrowest = weight @ ((low <= truth - loose + TOUCHING) & (high >= truth + loose - TOUCHING))
        exact = tolerance(row)
        assert narrowest - exact <= float(row["coverage"]) <= widest + exact, row
        assert weight @ (high - low) == pytest.approx(float(row["width"]), abs=max(exact, loose)), row


@pytest.mark.parametrize(("name", "n"), cases(["Newcombe sq-and-add"], SIZES, {("Newcombe sq-and-add", 43)}))
def test_every_row_of_newcombe(golden, name, n):
    """The interval depends on all four cells, so the reference drew 200,000 tables for each row; so does this."""
    for row in rows_of(golden / "sim_paired_coverage.csv", name, n):
        p10, p01 = discordant_rates(row)
        both = float(row["pA"]) - p01
        cells = np.random.default_rng(n).multinomial(n, [both, p10, p01, max(0.0, 1 - both - p10 - p01)], size=DRAWN)
        kinds, counts = np.unique(cells, axis=0, return_counts=True)
        found = [newcombe(PairedCounts(*(int(k) for k in kind))) for kind in kinds]
        low, high = np.array([(each.conf_low, each.conf_high) for each in found]).T
        covered = counts @ ((low <= p10 - p01) & (high >= p10 - p01)) / DRAWN
        allowance = 4 * math.sqrt(0.05 * 0.95 * (1 / DRAWN + 1 / 200_000))
        assert covered == pytest.approx(float(row["coverage"]), abs=allowance), row
        assert counts @ (high - low) / DRAWN == pytest.approx(float(row["width"]), abs=0.003), row


SINGLE = {
    "Wilson": wilson,
    "Clopper-Pearson": clopper_pearson,
    "Jeffreys": jeffreys,
    "Bayes Beta(1,1)": lambda x, n: beta_posterior(x, n, a=1, b=1),
    "boot percentile": lambda x, n: percentile_law(np.repeat([1.0, 0.0], [x, n - x])),
}
QUICK_SINGLE = {(name, n) for name in SINGLE for n in (20, 43, 100, 300)}


@pytest.mark.parametrize(("name", "n"), cases(SINGLE, SIZES, QUICK_SINGLE))
def test_every_single_row(golden, name, n):
    found = [SINGLE[name](x, n) for x in range(n + 1)]
    low, high = np.array(
        [(e.estimate, e.estimate) if e.conf_low is None else (e.conf_low, e.conf_high) for e in found]
    ).T
    # The table leaves Jeffreys' interval as it is where nothing or everything succeeded.
    slack = 5e-4 if name == "Jeffreys" else 1e-6
    for row in rows_of(golden / "sim_single_coverage.csv", name, n):
        # The table's uniform p are 500 points: .5, .501 and so on to .999.
        rates = [float(row["p"].removeprefix("p="))] if row["p"].startswith("p=") else np.arange(500) / 1000 + 0.5
        p = np.array(rates)[:, np.newaxis]
        weight = stats.binom.pmf(np.arange(n + 1), n, p)
        covered = (weight * ((low <= p + TOUCHING) & (high >= p - TOUCHING))).sum(axis=1).mean()
        assert covered == pytest.approx(float(row["coverage"]), abs=1e-6), row
        assert (weight @ (high - low)).mean() == pytest.approx(float(row["width"]), abs=slack), row


@pytest.mark.parametrize("n", [1, 20, 43])
def test_uniform_prior_covers_exactly_on_average(n):
    """By the definition of a posterior: the coverage averaged over its own prior is the level."""
    found = [beta_posterior(x, n, a=1, b=1, conf_level=0.9) for x in range(n + 1)]
    p = (np.arange(20_000) + 0.5) / 20_000
    weight = stats.binom.pmf(np.arange(n + 1)[:, np.newaxis], n, p)
    inside = np.array([(e.conf_low <= p) & (p <= e.conf_high) for e in found])
    assert (weight * inside).sum() / p.size == pytest.approx(0.9, abs=1e-3)
