"""Other packages on the same votes: run by the Python of their own environment, never by ours. Prints JSON.

Every package goes its own way, from a table of votes to ratings: `point` is reading the table and one fit, `rounds` a few
bootstrap rounds, per round. CPU seconds of the process, all its threads included.
"""

import json
import logging
import sys
import time

import numpy as np
import pandas as pd

ROUNDS = 3
Votes = tuple[list[str], np.ndarray, np.ndarray, np.ndarray]


def main(path: str) -> None:
    """Time every package on the votes stored at `path`."""
    logging.disable(logging.CRITICAL)
    stored = np.load(path)
    votes = [str(name) for name in stored["names"]], stored["first"], stored["second"], stored["outcome"]
    found = {}
    for run in (evalica, arena_rank, choix):
        point, each, strengths = run(votes)
        found[run.__name__] = {"point": point, "round": each, "strengths": [float(x) for x in strengths]}
        print(f"{run.__name__}: {point:.2f} s, {each:.2f} s a round", file=sys.stderr, flush=True)
    print(json.dumps(found))


def evalica(votes: Votes) -> tuple[float, float, np.ndarray]:
    """Scores are worths; its bootstrap draws votes through scipy."""
    import evalica

    names, first, second, outcome = votes
    kinds = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.Draw]
    called = np.array(names, dtype=object)
    xs, ys, winners = list(called[first]), list(called[second]), [kinds[code] for code in outcome]
    began = time.process_time()
    found = evalica.bradley_terry(xs, ys, winners)
    point = time.process_time() - began
    began = time.process_time()
    evalica.bootstrap(
        evalica.bradley_terry, xs, ys, winners, n_resamples=ROUNDS, bootstrap_method="percentile", random_state=0
    )
    spent = time.process_time() - began - point
    return point, spent / ROUNDS, np.log(found.scores.reindex(names).to_numpy())


def arena_rank(votes: Votes) -> tuple[float, float, np.ndarray]:
    """L-BFGS in JAX; rounds one after another in this process, by the function that its pool of processes calls."""
    import jax
    from arena_rank.models.bradley_terry import BradleyTerry, fit_single_bootstrap_sample
    from arena_rank.utils.data_utils import PairDataset

    names, first, second, outcome = votes
    called, labels = np.array(names, dtype=object), np.array(["model_a", "model_b", "tie", "both_bad"], dtype=object)
    frame = pd.DataFrame({"model_a": called[first], "model_b": called[second], "winner": labels[outcome]})

    def fit() -> tuple[PairDataset, BradleyTerry]:
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=len(data.competitors))
        model.compute_ratings_and_cis(data)
        return data, model

    fit()  # compiles
    began = time.process_time()
    data, model = fit()
    point = time.process_time() - began
    ratings = dict(zip(data.competitors, np.asarray(model.params["ratings"]), strict=True))
    fit_single_bootstrap_sample(data.counts, model, data)
    began = time.process_time()
    total = data.counts.sum()
    key = jax.random.PRNGKey(0)
    shape = (ROUNDS, data.counts.shape[0])
    draws = jax.random.multinomial(key, int(total), data.counts / total, shape=shape, dtype=model.dtype)
    for drawn in draws:
        jax.block_until_ready(fit_single_bootstrap_sample(drawn, model, data))
    return point, (time.process_time() - began) / ROUNDS, np.array([ratings[name] for name in names])


def choix(votes: Votes) -> tuple[float, float, np.ndarray]:
    """Spectral ranking of the table of wins (ties half), which it leaves to its user to make and to draw again."""
    import choix

    names, first, second, outcome = votes
    n = len(names)

    def table(weight: np.ndarray) -> np.ndarray:
        share = np.array([1.0, 0.0, 0.5, 0.5])[outcome]
        wins = np.bincount(first * n + second, weights=weight * share, minlength=n * n)
        losses = np.bincount(second * n + first, weights=weight * (1.0 - share), minlength=n * n)
        return (wins + losses).reshape(n, n)

    wins = table(np.ones(first.size))
    began = time.process_time()
    found = choix.ilsr_pairwise_dense(wins)
    point = time.process_time() - began
    rng = np.random.default_rng(0)
    began = time.process_time()
    for _ in range(ROUNDS):
        drawn = np.bincount(rng.integers(0, first.size, first.size), minlength=first.size)
        choix.ilsr_pairwise_dense(table(drawn.astype(float)))
    return point, (time.process_time() - began) / ROUNDS, found


if __name__ == "__main__":
    main(sys.argv[1])
