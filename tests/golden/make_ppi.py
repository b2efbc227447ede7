"""Prediction-powered means of random data by ppi-python, in an environment of its own (numba, scikit-learn and gdown with it).

Run as `python -m venv ppi && ppi/bin/pip install ppi-python==0.2.3 && ppi/bin/python tests/golden/make_ppi.py`.
"""

import json
from pathlib import Path

import numpy as np
from scipy.stats import norm

N_LABELS, N_JUDGED = 80, 400
Z = norm.ppf(0.975)


def case(seed: int) -> dict:
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate  # not in our environment, where tests import this file too

    rng = np.random.default_rng(seed)
    n = N_LABELS + N_JUDGED
    binary = seed % 2 == 0
    truth = (rng.random(n) < rng.uniform(0.2, 0.8)).astype(float) if binary else rng.normal(rng.uniform(-1, 1), 1, n)
    wrong = rng.uniform(0.05, 0.6)
    judge = np.where(rng.random(n) < wrong, 1 - truth, truth) if binary else truth * wrong + rng.normal(0.3, 0.5, n)
    truth, judge = np.round(truth, 3), np.round(judge, 3)
    y, f, rest = truth[:N_LABELS], judge[:N_LABELS], judge[N_LABELS:]
    found = {"seed": seed, "labels": y.tolist(), "judged_labelled": f.tolist(), "judged": rest.tolist()}
    for name, lam in (("ppi", 1), ("ppi++", None)):
        low, high = ppi_mean_ci(y, f, rest, alpha=0.05, lam=lam)
        found[name] = {
            "estimate": float(np.ravel(ppi_mean_pointestimate(y, f, rest, lam=lam))[0]),
            "std_error": float(np.ravel(high - low)[0] / (2 * Z)),
        }
    return found


if __name__ == "__main__":
    path = Path(__file__).with_name("ppi.json")
    made = {"made_by": "ppi-python 0.2.3", "cases": [case(seed) for seed in range(8)]}
    path.write_text(json.dumps(made, separators=(",", ":")) + "\n")
