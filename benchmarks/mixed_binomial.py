"""Binomial mixed models beside lme4, where Rscript with lme4 is on the path: about ten minutes, nearly all of them lme4's.

Both fit the same cells. lme4 keeps its defaults, whose likelihood is a little lower than the optimum; the note gives by how much.
"""

import csv
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.stats.mixed.binomial import fit_binomial, refit_binomial
from evalstats.stats.mixed.design import MixedDesign, RandomTerm

SCENARIOS = 5
LME4 = """
suppressPackageStartupMessages(library(lme4))
a <- commandArgs(TRUE); d <- read.csv(a[1])
for (name in c("item", "model", "scenario")) d[[name]] <- factor(d[[name]])
time <- system.time(m <- suppressMessages(suppressWarnings(glmer(as.formula(a[2]), d, binomial, nAGQ = as.integer(a[3])))))
cat(time[["user.self"]] + time[["sys.self"]], sprintf("%.6f", as.numeric(logLik(m))))
"""


def run() -> list[Row]:
    """Items crossed with models, items nested in scenarios."""
    small = _design(10, 500, 3)
    rows = [
        _row("nAGQ=0, 10 models x 500 items x 3 trials", small, "model * scenario + (1|item) + (1|item:model)", 0, 5),
        _row("Laplace, the same", small, "model * scenario + (1|item) + (1|item:model)", 1, 30),
    ]
    fit = fit_binomial(small)
    seconds = cpu_seconds(lambda: refit_binomial(fit, small.response), repeats=3)
    rows.append(against("  one refit of a parametric bootstrap", seconds, None, "no Hessian"))
    many = _design(19, 1638, 1, pairs=False)
    rows.append(_row("nAGQ=0, 19 models x 1,638 items", many, "model * scenario + (1|item)", 0, 5))
    seconds = cpu_seconds(lambda: fit_binomial(many), repeats=1)
    rows.append(against("Laplace, the same", seconds, None, "95 fixed effects; lme4 is not run for it"))
    large = _design(100, 5000, 2, interaction=False)
    rows.append(
        _row("nAGQ=0, 100 models x 5,000 items x 2", large, "model + scenario + (1|item) + (1|item:model)", 0, 20)
    )
    return rows


def _row(name: str, design: MixedDesign, formula: str, n_quadrature: int, target: float) -> Row:
    call = partial(fit_binomial, design, n_quadrature=n_quadrature)
    ours = cpu_seconds(call, repeats=3 if design.n_cells < 100_000 else 1)
    other = _lme4(design, formula, n_quadrature)
    note = f"target {target:g}x"
    if other is None:
        return against(name, ours, None, f"{note}; no Rscript with lme4 here")
    gain = call().log_likelihood - other[1]
    return against(name, ours, other[0], f"other: lme4; {note}; our log-likelihood is higher by {gain:.2g}")


def _lme4(design: MixedDesign, formula: str, n_quadrature: int) -> tuple[float, float] | None:
    """CPU seconds and log-likelihood without the binomial coefficients, None where there is no lme4."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    n_models = int((design.terms[0].level == 0).sum())
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder, "cells.csv"), Path(folder, "fit.R")
        script.write_text(LME4, encoding="utf-8")
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["item", "model", "scenario", "y", "n"])
            item = design.terms[0].level
            model, scenario = np.arange(item.size) % n_models, item * SCENARIOS // design.terms[0].n_levels
            successes = np.rint(design.response * design.count).astype(int)
            writer.writerows(zip(item, model, scenario, successes, design.count.astype(int), strict=True))
        done = subprocess.run(
            [program, str(script), str(data), f"cbind(y, n - y) ~ {formula}", str(n_quadrature)],
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        return None
    seconds, log_likelihood = done.stdout.split()
    return float(seconds), float(log_likelihood)


def _design(n_models: int, n_items: int, n_trials: int, *, pairs: bool = True, interaction: bool = True) -> MixedDesign:
    rng = np.random.default_rng(0)
    item, model = np.repeat(np.arange(n_items), n_models), np.tile(np.arange(n_models), n_items)
    scenario = item * SCENARIOS // n_items
    eta = np.linspace(-0.5, 1.0, n_models)[model] + np.linspace(0.0, 1.0, SCENARIOS)[scenario]
    eta += 0.3 * rng.normal(size=(n_models, SCENARIOS))[model, scenario]
    eta += rng.normal(size=n_items)[item] + 0.5 * rng.normal(size=item.size) * pairs
    successes = rng.binomial(n_trials, 1.0 / (1.0 + np.exp(-eta)))
    of_model = (model[:, None] == np.arange(1, n_models)).astype(float)
    of_scenario = (scenario[:, None] == np.arange(1, SCENARIOS)).astype(float)
    parts = [np.ones((item.size, 1)), of_model, of_scenario]
    if interaction:
        parts.append((of_scenario[:, :, None] * of_model[:, None, :]).reshape(item.size, -1))
    fixed = np.hstack(parts)
    terms = [_intercept("item", item)] + ([_intercept("item:model", np.arange(item.size))] if pairs else [])
    # lme4 reports the log-likelihood with the coefficients of the cells as they stand in the file.
    ways = np.array([1.0, n_trials, 3.0 if n_trials == 3 else 1.0, 1.0])[successes]
    return MixedDesign(
        fixed=fixed,
        fixed_names=tuple(f"b{j}" for j in range(fixed.shape[1])),
        terms=tuple(terms),
        count=np.full(item.size, float(n_trials)),
        response=successes / n_trials,
        log_constant=float(np.log(ways).sum()),
    )


def _intercept(group: str, level: np.ndarray) -> RandomTerm:
    return RandomTerm(
        group=group,
        columns=("(Intercept)",),
        levels=tuple(map(str, range(int(level.max()) + 1))),
        level=level.astype(np.int64),
        values=np.ones((level.size, 1)),
    )
