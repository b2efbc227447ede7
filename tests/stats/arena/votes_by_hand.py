"""Likelihoods of votes in their slowest, most obvious form, and the votes that many tests share."""

import csv
from pathlib import Path

import numpy as np
from scipy import optimize

from evalstats.stats.arena.votes import VoteRows, vote_rows


def probabilities(ties: str, eta: float, tie: float) -> tuple[float, float, float]:
    """Chance that the first model wins, that the second does, and of a tie, as the definitions have it."""
    worth = np.exp(eta)
    if ties == "half":
        return worth / (1 + worth), 1 / (1 + worth), 0.0
    if ties == "davidson":
        total = worth + 1 + tie * np.sqrt(worth)
        return worth / total, 1 / total, tie * np.sqrt(worth) / total
    win, lose = worth / (worth + tie), 1 / (1 + tie * worth)
    return win, lose, 1 - win - lose


def log_likelihood(ties: str, rows: VoteRows, strengths, coefficients=(), tie: float = 1.0) -> float:
    """Sum over rows, one by one."""
    total = 0.0
    for row in range(rows.n_rows):
        eta = strengths[rows.first[row]] - strengths[rows.second[row]]
        eta += float(np.dot(rows.covariates[row], coefficients)) if rows.n_covariates else 0.0
        win, lose, even = probabilities(ties, eta, tie)
        share = rows.share[row]
        if ties != "half" and share == 0.5:
            total += rows.weight[row] * np.log(even)
        else:
            total += rows.weight[row] * (share * np.log(win) + (1 - share) * np.log(lose))
    return total


def best_by_search(ties: str, rows: VoteRows, prior: float = 0.0) -> tuple[np.ndarray, np.ndarray, float]:
    """Strengths, coefficients and tie parameter by a search that knows no derivatives of ours."""
    n, k = rows.n_models, rows.n_covariates

    def split(free):
        strengths = np.append(free[: n - 1], -free[: n - 1].sum())
        above = 1.0 if ties == "half" else (np.exp(free[-1]) if ties == "davidson" else 1.0 + np.exp(free[-1]))
        return strengths, free[n - 1 : n - 1 + k], above

    def loss(free):
        strengths, coefficients, tie = split(free)
        against_average = np.log(1 / (1 + np.exp(-strengths))) + np.log(1 / (1 + np.exp(strengths)))
        return -log_likelihood(ties, rows, strengths, coefficients, tie) - prior * against_average.sum()

    start = np.zeros(n - 1 + k + (ties != "half"))
    found = optimize.minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    return split(optimize.minimize(loss, found.x, method="Nelder-Mead", options=TIGHT).x)


TIGHT = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 4000, "maxfev": 4000}


def some_votes(
    seed: int, *, n_models: int = 4, n_votes: int = 200, n_covariates: int = 0, ties: float = 0.3
) -> VoteRows:
    """Votes with wins, losses and ties between all models."""
    rng = np.random.default_rng(seed)
    strengths = rng.normal(size=n_models)
    first = rng.integers(n_models, size=n_votes)
    second = (first + rng.integers(1, n_models, size=n_votes)) % n_models
    covariates = rng.integers(-1, 2, size=(n_votes, n_covariates)).astype(float)
    eta = strengths[first] - strengths[second] + 0.4 * covariates.sum(axis=1)
    outcome = np.where(rng.random(n_votes) < 1 / (1 + np.exp(-eta)), 0, 1)
    outcome[rng.random(n_votes) < ties] = 2
    return vote_rows(first, second, outcome, n_models=n_models, covariates=covariates)


def llmfao(folder: Path) -> tuple[VoteRows, list[str]]:
    """The crowd's votes of the LLMFAO arena, and the names of its models."""
    with (folder / "llmfao" / "crowd-comparisons.csv").open(encoding="utf-8") as file:
        votes = list(csv.DictReader(file))
    names = sorted({vote[side] for vote in votes for side in ("left", "right")})
    at = {name: place for place, name in enumerate(names)}
    rows = vote_rows(
        [at[vote["left"]] for vote in votes],
        [at[vote["right"]] for vote in votes],
        [("left", "right", "tie").index(vote["winner"]) for vote in votes],
        n_models=len(names),
        clusters=([int(vote["worker"]) for vote in votes], [int(vote["prompt"]) for vote in votes]),
    )
    return rows, names
