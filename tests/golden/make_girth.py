"""Item curves of random answers by girth, in an environment of its own.

Run as `python -m venv girth && girth/bin/pip install girth==0.8.0 && girth/bin/python tests/golden/make_girth.py`.
"""

import json
from pathlib import Path

import numpy as np

# Nodes close enough that girth's sums are the integrals.
OPTIONS = {"quadrature_n": 121, "quadrature_bounds": (-7, 7), "max_iteration": 400}


def case(seed: int, n_items: int, n_models: int) -> dict:
    from girth import onepl_mml, twopl_mml  # not in our environment, where tests import this file too

    rng = np.random.default_rng(seed)
    slope, intercept = rng.lognormal(0, 0.3, n_items), rng.normal(0.3, 1.0, n_items)
    logit = np.outer(slope, rng.normal(size=n_models)) + intercept[:, None]
    answers = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int)
    found = {"seed": seed, "answers": ["".join(map(str, row)) for row in answers.tolist()]}
    for name, fit in (("one", onepl_mml), ("two", twopl_mml)):
        told = fit(answers, options=OPTIONS)
        found[name] = {
            "slope": np.broadcast_to(told["Discrimination"], n_items).tolist(),
            "difficulty": told["Difficulty"].tolist(),
        }
    return found


if __name__ == "__main__":
    path = Path(__file__).with_name("girth.json")
    made = {"made_by": "girth 0.8.0", "cases": [case(1, 12, 300), case(2, 25, 500)]}
    path.write_text(json.dumps(made, separators=(",", ":")) + "\n")
