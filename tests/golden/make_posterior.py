"""Posteriors of differences and of ranks by Hamiltonian Monte Carlo (PyMC), in an environment of its own.

Run as `python -m venv pymc && pymc/bin/pip install pymc==5.28.5 && pymc/bin/python tests/golden/make_posterior.py`. Each model is
written as it is stated, item by item where it has items, with nothing integrated out; every number has its Monte Carlo standard
error.
"""

import json
from pathlib import Path

import numpy as np

DRAWS, TUNE, CHAINS = 4000, 1000, 4
SCALE, MARGIN = 0.1, 0.02
CLUSTER_SIZES = (3, 14, 6, 9, 2, 11, 5, 8)
SCORES = (0.64, 0.62, 0.61, 0.55, 0.48)
DF = 11


def clustered() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(len(CLUSTER_SIZES)), CLUSTER_SIZES)
    d = 0.09 + 0.12 * rng.normal(size=len(CLUSTER_SIZES))[codes] + 0.25 * rng.normal(size=codes.size)
    return np.round(d, 3), codes


def pair_errors() -> np.ndarray:
    """Standard errors of all pairs, from a covariance in which models share what items do to them."""
    rng = np.random.default_rng(8)
    loads = rng.normal(size=(len(SCORES), 7)) + 1.0
    covariance = 0.012**2 * loads @ loads.T
    sd = np.diag(covariance)
    return np.sqrt(np.maximum(sd[:, None] + sd - 2 * covariance, 0))


def told(draws: np.ndarray) -> dict:
    """Return mean, deviation, quantiles and probabilities of draws, shape (chains, draws), each with its Monte Carlo error.

    The error is that of 40 batches, each a tenth of a chain.
    """
    what = {
        "mean": np.mean,
        "std_dev": np.std,
        "low": lambda x: np.quantile(x, 0.025),
        "high": lambda x: np.quantile(x, 0.975),
        "p_above": lambda x: np.mean(x > 0),
        "p_above_margin": lambda x: np.mean(x > MARGIN),
        "loss_if_above": lambda x: np.mean(np.maximum(-x, 0)),
        "loss_if_below": lambda x: np.mean(np.maximum(x, 0)),
    }
    batches = draws.reshape(40, -1)
    return {
        name: (float(each(draws)), float(np.std([each(batch) for batch in batches]) / 40**0.5))
        for name, each in what.items()
    }


def sampled(model) -> dict:
    import pymc as pm

    with model:
        trace = pm.sample(
            DRAWS,
            tune=TUNE,
            chains=CHAINS,
            cores=1,
            target_accept=0.97,
            random_seed=3,
            progressbar=False,
            compute_convergence_checks=False,
        )
    return {name: trace.posterior[name].to_numpy() for name in trace.posterior.data_vars}


def difference(pm, bound: float = 1.0):
    return pm.Truncated("delta", pm.StudentT.dist(nu=3, mu=0, sigma=SCALE), lower=-bound, upper=bound)


def pairs(wins: int, losses: int, agreeing: int) -> dict:
    import pymc as pm

    with pm.Model() as model:
        delta = difference(pm)
        u = pm.Beta("u", 0.5, 1)
        q = abs(delta) + (1 - abs(delta)) * u
        p = pm.math.stack([(q + delta) / 2, (q - delta) / 2, 1 - q])
        pm.Multinomial("table", n=wins + losses + agreeing, p=p, observed=[wins, losses, agreeing])
    return told(sampled(model)["delta"])


def groups(first_right: int, first_n: int, second_right: int, second_n: int) -> dict:
    import pymc as pm

    with pm.Model() as model:
        delta = difference(pm)
        share = pm.Uniform("share", 0, 1)
        low, high = pm.math.maximum(0, -delta), pm.math.minimum(1, 1 - delta)
        first = low + (high - low) * share
        pm.Binomial("first", n=first_n, p=first, observed=first_right)
        pm.Binomial("second", n=second_n, p=first + delta, observed=second_right)
    return told(sampled(model)["delta"])


def clusters() -> dict:
    import pymc as pm

    d, codes = clustered()
    with pm.Model() as model:
        delta = difference(pm)
        log_sigma = pm.Flat("log_sigma")  # 1/s^2 of the variance
        icc = pm.Beta("icc", 0.5, 0.5)
        sigma = pm.math.exp(log_sigma)
        z = pm.Normal("z", 0, 1, shape=len(CLUSTER_SIZES))
        effect = sigma * pm.math.sqrt(icc / (1 - icc)) * z
        pm.Normal("d", delta + effect[codes], sigma, observed=d)
    return told(sampled(model)["delta"])


def ranks() -> dict:
    import pymc as pm

    errors = pair_errors()
    m = len(SCORES)
    centred = np.eye(m) - 1 / m
    contrasts = np.linalg.svd(centred)[0][:, : m - 1].T
    covariance = contrasts @ (-0.5 * errors**2) @ contrasts.T
    with pm.Model() as model:
        tau = pm.HalfCauchy("tau", SCALE)
        w = pm.InverseGamma("w", alpha=DF / 2, beta=DF / 2)
        z = pm.Normal("z", 0, 1, shape=m)
        theta = pm.Deterministic("theta", tau * z)
        chol = np.linalg.cholesky(covariance)
        seen = contrasts @ np.array(SCORES)
        # w multiplies a known covariance: whitened, so that it is one scale.
        white = pm.math.dot(np.linalg.inv(chol), pm.math.dot(contrasts, theta))
        pm.Normal("y", white, pm.math.sqrt(w), observed=np.linalg.solve(chol, seen))
    theta = sampled(model)["theta"].reshape(-1, m)
    order = np.argsort(np.argsort(-theta, axis=1), axis=1)
    p_rank = np.array([[float((order[:, i] == k).mean()) for k in range(m)] for i in range(m)])
    p_above = (theta[:, :, None] > theta[:, None, :]).mean(axis=0)
    loss = (theta.max(axis=1, keepdims=True) - theta).mean(axis=0)
    return {"p_rank": p_rank.tolist(), "p_above": p_above.tolist(), "loss": loss.tolist()}


if __name__ == "__main__":
    made = {
        "made_by": "PyMC 5.28.5, 4 chains of 4000 draws; numbers with their Monte Carlo standard errors",
        "pairs": [{"counts": each, **pairs(*each)} for each in ((12, 5, 43), (4, 0, 26), (21, 0, 22))],
        "groups": [{"counts": each, **groups(*each)} for each in ((18, 20, 20, 20), (48, 80, 56, 70))],
        "clusters": clusters(),
        "ranks": ranks(),
    }
    Path(__file__).with_name("posterior.json").write_text(json.dumps(made, indent=1) + "\n")
