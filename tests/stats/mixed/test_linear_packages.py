"""Linear mixed models against other Python packages on random unbalanced designs: glmm and mixedlm, both written in Rust.

Neither is always at the optimum, so the likelihood must be at least theirs; where they reach ours, the estimates agree.
"""

import warnings

import numpy as np
import pandas as pd
import pytest

from evalstats.stats.mixed.linear import fit_linear
from tests.stats.mixed.dense import rows_design, term

pytestmark = pytest.mark.slow

SEEDS = range(12)
SAME = 2e-4  # of log-likelihoods, within which another search counts as having arrived
ESTIMATE = 5e-3  # of a standard error of beta: the deviance is flat at its minimum


def draw(seed, shape):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(150, 400))
    frame = pd.DataFrame(
        {
            "a": [f"a{k:02d}" for k in rng.integers(0, rng.integers(12, 40), n)],
            "b": [f"b{k:02d}" for k in rng.integers(0, rng.integers(6, 15), n)],
            "x": rng.normal(size=n),
        }
    )
    frame["ab"] = frame["a"] + frame["b"]
    y = 1.0 + 0.5 * frame["x"] + rng.normal(size=n)
    for name, sd in (("a", 0.8), ("b", 0.5), ("ab", 0.4)):
        code = frame[name].astype("category").cat.codes.to_numpy()
        y = y + sd * rng.normal(size=code.max() + 1)[code]
        if shape == "slopes" and name == "a":
            y = y + 0.5 * rng.normal(size=code.max() + 1)[code] * frame["x"]
    frame["y"] = y
    ones, x = ("(Intercept)", np.ones(n)), ("x", frame["x"].to_numpy())
    terms = {
        "crossed": [term("a", frame["a"]), term("b", frame["b"])],
        "nested": [term("a", frame["a"]), term("ab", frame["ab"])],
        "slopes": [term("a", frame["a"], ones, x), term("b", frame["b"])],
    }[shape]
    formula = {
        "crossed": "y ~ x + (1 | a) + (1 | b)",
        "nested": "y ~ x + (1 | a) + (1 | ab)",
        "slopes": "y ~ x + (1 + x | a) + (1 | b)",
    }[shape]
    return frame, formula, rows_design([ones, x], terms, frame["y"])


def agree(fit, log_likelihood, beta, sigma):
    """Return whether the other search arrived where ours did."""
    assert fit.convergence.converged
    assert fit.log_likelihood >= log_likelihood - 1e-6
    if fit.log_likelihood > log_likelihood + SAME:
        return False
    assert np.abs(fit.beta - beta).max() <= ESTIMATE * fit.std_errors.max()
    assert fit.sigma == pytest.approx(sigma, rel=5e-3)
    return True


@pytest.mark.parametrize("shape", ["crossed", "nested", "slopes"])
@pytest.mark.parametrize("reml", [True, False])
def test_glmm(shape, reml):
    glmm = pytest.importorskip("glmm")
    arrived = 0
    for seed in SEEDS:
        frame, formula, design = draw(seed, shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = glmm.fit(frame, formula, reml=reml, satterthwaite=False)
        arrived += agree(fit_linear(design, reml=reml), other.loglik, np.asarray(other.beta), np.sqrt(other.dispersion))
    assert arrived >= len(SEEDS) * 0.7


@pytest.mark.parametrize("shape", ["crossed", "nested", "slopes"])
@pytest.mark.parametrize("reml", [True, False])
def test_mixedlm(shape, reml):
    mixedlm = pytest.importorskip("mixedlm")
    arrived = 0
    for seed in SEEDS:
        frame, formula, design = draw(seed, shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other = mixedlm.lmer(formula, frame, REML=reml)
        arrived += agree(
            fit_linear(design, reml=reml), other.logLik().value, np.array(list(other.fixef().values())), other.sigma
        )
    assert arrived >= len(SEEDS) * 0.7
