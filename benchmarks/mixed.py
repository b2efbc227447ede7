"""Mixed models of models x items x trials, items nested in scenarios, against lme4 (where R is found) and statsmodels.

Both sides get the same responses. lme4 is timed inside R, in CPU seconds of the fit alone, on a data frame with factors; ours
from cells (counts and means), as the analyses hand them over. Memory is the peak of a process of its own, in MB.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.stats.mixed.design import MixedDesign, MixedFit, RandomTerm
from evalstats.stats.mixed.linear import fit_linear

SCENARIOS = 7
LINEAR = ((10, 500, 3), (19, 1638, 1), (100, 5000, 2))
MISSING = (19, 1638, 3)
STATSMODELS = (10, 60, 1)

READ = """
arguments <- commandArgs(trailingOnly = TRUE); size <- as.integer(arguments[2:5])
suppressMessages(library(lme4))
data <- expand.grid(trial = seq_len(size[3]), model = seq_len(size[1]), item = seq_len(size[2]))
data$both <- factor(data$model * 1000L + data$item %% size[4]); data$model <- factor(data$model); data$item <- factor(data$item)
data$y <- readBin(arguments[1], "double", nrow(data)); data <- data[is.finite(data$y), ]
"""
WRITE = """
lines <- readLines("/proc/self/status")
peak <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", lines, value = TRUE))) / 1024
cat(sprintf('{"seconds": %.6f, "log_likelihood": %.9f, "peak": %.1f}', sum(spent[1:2]), as.numeric(logLik(fit)), peak))
"""
LMER = "spent <- system.time(fit <- suppressWarnings(lmer(y ~ 1 + (1 | item) + (1 | model) + (1 | both), data)))"


@dataclass(frozen=True)
class Size:
    """A table of simulated rows, shape (n_items, n_models, n_trials); NaN where a trial is missing."""

    n_models: int
    n_items: int
    n_trials: int
    rows: np.ndarray

    @property
    def name(self) -> str:
        """In words."""
        return f"{self.n_models} models x {self.n_items:,} items x {self.n_trials}"


def run() -> Iterator[Row]:
    """Linear models; each size against lme4, one small size against statsmodels."""
    for n_models, n_items, n_trials in LINEAR:
        yield compare("LMM", simulate(n_models, n_items, n_trials), cells, fit_linear, LMER)
    holes = simulate(*MISSING)
    holes.rows[np.random.default_rng(1).random(holes.rows.shape) < 0.2] = np.nan
    yield compare("  20% of the trials missing", holes, cells, fit_linear, LMER)
    yield _against_statsmodels(simulate(*STATSMODELS))


def compare(
    what: str, size: Size, prepare: Callable[[Size], MixedDesign], fit: Callable[[MixedDesign], MixedFit], r_code: str
) -> Row:
    """Time our fit, and that of the R code, which sees the rows as `data` and leaves `fit` and `spent`."""
    design = prepare(size)
    fitted = fit(design)
    ours = cpu_seconds(lambda: fit(design), repeats=3 if size.rows.size > 500_000 else 7)
    peak = _peak(size, prepare.__name__, fit.__name__)
    note = f"peak {peak:.0f} MB"
    other = in_r(r_code, size)
    name = f"{what}, {size.name}" if not what.startswith(" ") else what
    if other is None:
        return against(name, ours, None, f"{note}; other: lme4, not found here")
    lower = fitted.log_likelihood - other["log_likelihood"]
    return against(
        name, ours, other["seconds"], f"{note}; other: lme4, {other['peak']:.0f} MB, logLik lower by {lower:.0e}"
    )


def simulate(n_models: int, n_items: int, n_trials: int) -> Size:
    """Effects of items, models, and models in scenarios, and noise."""
    rng = np.random.default_rng(1)
    scenario = np.arange(1, n_items + 1) % SCENARIOS
    mean = (
        rng.normal(size=(n_items, 1))
        + 0.5 * rng.normal(size=n_models)
        + 0.3 * rng.normal(size=(SCENARIOS, n_models))[scenario]
    )
    return Size(n_models, n_items, n_trials, mean[:, :, None] + rng.normal(size=(n_items, n_models, n_trials)))


def cells(size: Size) -> MixedDesign:
    """One cell for each item and model that has a trial."""
    item, model = np.divmod(np.arange(size.n_items * size.n_models), size.n_models)
    rows = size.rows.reshape(len(item), -1)
    count = np.isfinite(rows).sum(axis=1).astype(float)
    seen = count > 0
    mean = np.nansum(rows[seen], axis=1) / count[seen]
    both = model * SCENARIOS + (item + 1) % SCENARIOS
    ones = np.ones((int(seen.sum()), 1))
    terms = tuple(
        RandomTerm(
            group=name,
            columns=("(Intercept)",),
            levels=tuple(map(str, range(n))),
            level=code[seen].astype(np.int64),
            values=ones,
        )
        for name, code, n in (
            ("item", item, size.n_items),
            ("model", model, size.n_models),
            ("model:scenario", both, size.n_models * SCENARIOS),
        )
    )
    return MixedDesign(
        fixed=ones,
        fixed_names=("(Intercept)",),
        terms=terms,
        count=count[seen],
        response=mean,
        within=float(np.nansum((rows[seen] - mean[:, None]) ** 2)),
    )


def in_r(code: str, size: Size) -> dict[str, float] | None:
    """Run R code between reading the rows and reporting; None where R or lme4 is not found."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "rows.bin", Path(folder) / "fit.R"
        data.write_bytes(size.rows.tobytes())
        script.write_text(READ + code + WRITE)
        shape = [str(n) for n in (size.n_models, size.n_items, size.n_trials, SCENARIOS)]
        ended = subprocess.run([program, str(script), str(data), *shape], capture_output=True, text=True, check=False)
    return json.loads(ended.stdout) if ended.returncode == 0 else None


def _peak(size: Size, prepare: str, fit: str) -> float:
    """Peak memory of a process that makes the cells and fits (Linux; without missing trials)."""
    arguments = [str(n) for n in (size.n_models, size.n_items, size.n_trials)]
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.mixed", prepare, fit, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    return float(ended.stdout)


def _against_statsmodels(size: Size) -> Row:
    import pandas as pd
    from statsmodels.regression.mixed_linear_model import MixedLM

    design = cells(size)
    frame = pd.DataFrame({"y": design.response, "all": 1} | {f"g{k}": t.level for k, t in enumerate(design.terms)})
    components = {f"g{k}": f"0 + C(g{k})" for k in range(len(design.terms))}

    def theirs() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return MixedLM.from_formula("y ~ 1", frame, groups="all", vc_formula=components).fit()

    return against(
        f"  against statsmodels, {size.name}",
        cpu_seconds(lambda: fit_linear(design)),
        cpu_seconds(theirs, repeats=1),
        "other: MixedLM, dense; 15,000 rows are too many for it",
    )


if __name__ == "__main__":
    made, fitter = globals()[sys.argv[1]], globals()[sys.argv[2]]
    fitter(made(simulate(*map(int, sys.argv[3:]))))
    status = Path("/proc/self/status").read_text()  # what getrusage tells includes the parent's
    print(int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024)
