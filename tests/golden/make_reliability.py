"""Variance components of unbalanced crossed and nested designs by statsmodels' MixedLM (REML), a dense solver of its own.

Run as `python -m venv sm && sm/bin/pip install statsmodels==0.15.0 pandas && sm/bin/python tests/golden/make_reliability.py`.
"""

import json
from pathlib import Path

import numpy as np

SHAPE = {"model": 8, "scaffold": 4, "item": 9}


def case(seed: int, *, nested: bool) -> dict:
    import pandas as pd  # not at the top: tests import this file too
    from statsmodels.regression.mixed_linear_model import MixedLM

    rng = np.random.default_rng(seed)
    model, scaffold, item = (each.ravel() for each in np.indices(tuple(SHAPE.values())))
    if nested:
        item = item + SHAPE["item"] * scaffold
    pairs = {"model": model, "scaffold": scaffold, "item": item}
    pairs["model:scaffold"] = model * 100 + scaffold
    pairs["model:item"] = model * 100 + item
    if not nested:
        pairs["scaffold:item"] = scaffold * 100 + item
    else:
        del pairs["model:item"]
    sds = {"model": 1.0, "scaffold": 0.7, "item": 1.2, "model:scaffold": 0.8, "model:item": 0.9, "scaffold:item": 0.8}
    score = rng.normal(size=len(model))
    for name, codes in pairs.items():
        score += sds[name] * rng.normal(size=int(codes.max()) + 1)[codes]
    keep = rng.random(len(model)) < 0.75
    frame = pd.DataFrame({name.replace(":", "_"): codes[keep] for name, codes in pairs.items()})
    frame["score"] = np.round(score[keep], 3)
    groups = {name: f"0 + C({name.replace(':', '_')})" for name in pairs}
    fit = MixedLM.from_formula("score ~ 1", groups=np.ones(len(frame)), vc_formula=groups, data=frame).fit(
        reml=True, method=["lbfgs", "powell"], maxiter=2000, gtol=1e-9
    )
    components = dict(zip(fit.model.exog_vc.names, map(float, fit.vcomp), strict=True))
    return {
        "nested": nested,
        "factors": {name: pairs[name][keep].tolist() for name in ("model", "scaffold", "item")},
        "score": frame["score"].tolist(),
        "components": components | {"residual": float(fit.scale)},
    }


if __name__ == "__main__":
    import statsmodels

    made = {
        "made_by": f"statsmodels {statsmodels.__version__}",
        "cases": [case(1, nested=False), case(2, nested=True)],
    }
    text = json.dumps(made, separators=(",", ":"))
    Path(__file__).with_name("reliability.json").write_text(text + "\n", encoding="utf-8")
