"""Ratings from arena votes: 100 models and a million votes against evalica, arena-rank and choix, and 50 million of our own.

The other packages need versions of libraries that ours does not: they are installed by uv from `requirements-arena.txt` into
an environment that is thrown away afterwards, and run there in a process of their own. Both sides get the same votes, and are
timed in CPU seconds on one thread of linear algebra. A thousand rounds of theirs would take an hour: they are timed on a few
and scaled. Accuracy is the largest distance of a log-strength from the optimum, as one Newton step in long doubles measures it.

Votes by the million are written to a Parquet file with dictionary-encoded names; a process of its own reads and rates them.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.aggregate.votes import VoteCells, cluster_chunks, vote_cells
from evalstats.stats.arena.bootstrap import bootstrap_strengths
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import (
    StrengthCovariance,
    clustered_meat,
    covariance_of,
    covariance_of_meat,
    vote_meat,
)
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.votes import VoteRows

MODELS, VOTES, RATERS, ROUNDS = 100, 1_000_000, 20_000, 1_000
LARGE = 50_000_000
PEERS = ("evalica", "arena_rank", "choix")
_HERE = Path(__file__).parent
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "2"}


@dataclass(frozen=True)
class Votes:
    """Simulated votes, as codes: shape (n_votes,) each."""

    names: np.ndarray
    first: np.ndarray
    second: np.ndarray
    outcome: np.ndarray
    rater: np.ndarray

    def frame(self) -> pl.DataFrame:
        """As a table of comparisons."""
        outcomes = np.array(["a", "b", "tie", "both_bad"])
        return pl.DataFrame(
            {
                "model_a": self.names[self.first],
                "model_b": self.names[self.second],
                "outcome": outcomes[self.outcome],
                "rater": self.rater,
            }
        ).with_columns(pl.col("model_a", "model_b", "outcome").cast(pl.Categorical))


def run() -> Iterator[Row]:
    """Rate a million votes against the others, and 50 million alone."""
    votes = simulated(VOTES)
    frame = votes.frame()
    rows = rows_of(vote_cells(frame))
    fit = fit_strengths(rows)
    point = cpu_seconds(lambda: rated(frame), repeats=3)
    rounds = cpu_seconds(lambda: bootstrap_strengths(fit, rows, n_resamples=ROUNDS), repeats=3)
    others, missing = in_peers(votes)
    size = f"{MODELS} models, {VOTES:,} votes"
    yield against(f"arena, {size}", point, None, f"table to vote-level errors; optimum {_short(votes, fit.strengths)}")
    merged = cpu_seconds(lambda: fit_strengths(rows), repeats=3)
    for name in PEERS:
        found = others.get(name)
        note = missing if found is None else f"other: {name}, optimum {_short(votes, np.array(found['strengths']))}"
        # choix leaves it to its user to make a table of wins: only the fits are compared.
        ours = merged if name == "choix" else point
        yield against(f"  against {name}", ours, None if found is None else float(found["point"]), note)
    whole = cpu_seconds(lambda: clustered(frame), repeats=3)
    yield against("  clustered by rater", whole, None, f"{RATERS:,} raters; no other package does it")
    for name in PEERS:
        found = others.get(name)
        spent = None if found is None else float(found["round"]) * ROUNDS
        note = missing if found is None else f"other: {name}, scaled from a few rounds"
        yield against(f"{ROUNDS:,} rounds against {name}", rounds, spent, note)
    both = cpu_seconds(lambda: everything(frame), repeats=3)
    yield against("table, fit, errors by rater, rounds", both, None, "target 2 s")
    yield from _large()


def rows_of(cells: VoteCells) -> VoteRows:
    """Hand the cells over to the statistics."""
    return VoteRows(
        n_models=len(cells.models),
        first=cells.first,
        second=cells.second,
        outcome=cells.outcome,
        share=cells.share,
        weight=cells.weight,
        weight_squares=cells.weight_squares,
        count=cells.count,
        covariates=cells.covariates,
        clusters=cells.clusters,
    )


def rated(votes: object) -> tuple[VoteCells, VoteRows, PairFit, StrengthCovariance]:
    """From the table to strengths and their vote-level covariance."""
    cells = vote_cells(votes)
    rows = rows_of(cells)
    fit = fit_strengths(rows)
    return cells, rows, fit, covariance_of(fit, rows)


def by_rater(votes: object, cells: VoteCells, rows: VoteRows) -> Iterator[VoteRows]:
    """Yield the votes of some raters at a time: nearly every vote is a cell of its own rater."""
    for chunk in cluster_chunks(votes, cells, "rater"):
        yield replace(
            rows.take(chunk.cell),
            weight=chunk.weight,
            weight_squares=chunk.weight_squares,
            count=chunk.count,
            clusters=(chunk.cluster,),
        )


def clustered(votes: object) -> tuple[VoteCells, VoteRows, PairFit, StrengthCovariance]:
    """From the table to strengths and their covariance clustered by rater."""
    cells = vote_cells(votes)
    rows = rows_of(cells)
    fit = fit_strengths(rows)
    meat = clustered_meat(fit, by_rater(votes, cells, rows))
    return cells, rows, fit, covariance_of_meat(fit, meat, vote_meat(fit, rows), name="rater")


def everything(frame: pl.DataFrame) -> None:
    """Do all that a rating table needs."""
    _, rows, fit, _ = clustered(frame)
    bootstrap_strengths(fit, rows, n_resamples=ROUNDS).intervals()


def simulated(n_votes: int, *, seed: int = 0) -> Votes:
    """Models of unlike strength, three in ten votes tied, raters of unlike zeal."""
    rng = np.random.default_rng(seed)
    strength = 0.6 * rng.normal(size=MODELS)
    first = rng.integers(0, MODELS, n_votes)
    second = (first + rng.integers(1, MODELS, n_votes)) % MODELS
    a_wins = rng.random(n_votes) < 1.0 / (1.0 + np.exp(strength[second] - strength[first]))
    tied = rng.random(n_votes)
    outcome = np.where(tied < 0.15, 2, np.where(tied < 0.3, 3, np.where(a_wins, 0, 1)))
    rater = np.minimum((RATERS * rng.random(n_votes) ** 2).astype(np.int64), RATERS - 1)
    names = np.array([f"organisation/model-{k:03d}-instruct" for k in range(MODELS)])
    return Votes(names=names, first=first, second=second, outcome=outcome, rater=rater)


def distance(votes: Votes, strengths: np.ndarray) -> float:
    """Return how far the farthest log-strength is from the optimum: a Newton step, its gradient in long doubles."""
    share = np.array([1.0, 0.0, 0.5, 0.5])[votes.outcome]
    place = votes.first * MODELS + votes.second
    wins = np.bincount(place, weights=share, minlength=MODELS**2).reshape(MODELS, MODELS)
    wins = wins + np.bincount(place, weights=1.0 - share, minlength=MODELS**2).reshape(MODELS, MODELS).T
    met, at = (wins + wins.T).astype(np.longdouble), (strengths - strengths.mean()).astype(np.longdouble)
    p = 1.0 / (1.0 + np.exp(at[None, :] - at[:, None]))
    gradient = (wins - met * p).sum(axis=1)
    curve = (met * p * (1.0 - p)).astype(float)
    information = np.diag(curve.sum(axis=1)) - curve
    return float(np.abs(np.linalg.pinv(information) @ gradient.astype(float)).max())


def _short(votes: Votes, strengths: np.ndarray) -> str:
    return f"missed by {distance(votes, strengths):.0e}"


def in_peers(votes: Votes) -> tuple[dict[str, dict[str, object]], str]:
    """Time the other packages in an environment of their own; else say what is missing."""
    uv = _HERE.parent / ".uv" / "bin" / "uv"
    program = str(uv) if uv.exists() else shutil.which("uv")
    if program is None:
        return {}, "other: not installed, since uv is missing (make .uv/stamp)"
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "peers", "bin", "python")
        asked = [
            "pip",
            "sync",
            "-q",
            "--require-hashes",
            "--python",
            str(python),
            str(_HERE / "requirements-arena.txt"),
        ]
        for command in (["venv", "-q", "--python", sys.executable, str(python.parents[1])], asked):
            made = subprocess.run([program, *command], capture_output=True, text=True, check=False)
            if made.returncode:
                return {}, f"other: not installed ({(made.stderr.strip() or 'uv failed').splitlines()[0][:80]})"
        stored = Path(folder, "votes.npz")
        np.savez(stored, names=votes.names, first=votes.first, second=votes.second, outcome=votes.outcome)
        command = [str(python), str(_HERE / "arena_peers.py"), str(stored)]
        # One thread of theirs too: XLA takes what it is told by this flag.
        threads = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
        ended = subprocess.run(
            command, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **_ONE_THREAD, **threads}
        )
    if ended.returncode:
        return {}, "other: failed, see above"
    return json.loads(ended.stdout.splitlines()[-1]), ""


def _large() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "votes.parquet")
        for what, name, seconds, peak in (("votes", "votes on their own", 5, 500), ("raters", "by rater", 30, 2000)):
            if not path.exists():
                _child("write", path)
            found = _child(what, path)
            size = f"{LARGE // 1_000_000} million votes, {name}"
            yield against(
                size, found["seconds"], None, f"CPU s from Parquet to ratings; target {seconds}; {found['note']}"
            )
            yield against("  peak MB", found["peak"], None, f"target {peak}")


def _child(what: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.arena_large", what, str(path), str(LARGE)]
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **_ONE_THREAD}, cwd=_HERE.parent
    )
    return json.loads(ended.stdout.splitlines()[-1]) if what != "write" else {}
