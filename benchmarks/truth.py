"""How far each answer is from the exact one: `truth.py KIND FOLDER`, answers of all sides on standard input as JSON.

Each function shares no code with the package: it follows the definition, and may be slow.
"""

import json
import math
import sys
from decimal import Decimal, localcontext
from pathlib import Path
from statistics import NormalDist

import numpy as np

Arrays = dict[str, np.ndarray]
Answers = dict[str, list[float]]
Misses = dict[str, float]


def main(kind: str, folder: str) -> None:
    """Print the miss of every side that gave an answer."""
    with np.load(Path(folder, "data.npz")) as stored:
        data = {name: stored[name] for name in stored.files}
    answers = {side: answer for side, answer in json.load(sys.stdin).items() if answer}
    print(json.dumps(globals()[kind](data, answers)))


def bootstrap(data: Arrays, answers: Answers) -> Misses:
    """Farther of the two limits, in standard errors, from the type 1 quantiles of the exact law of the resampled mean."""
    difference = data["b"] - data["a"]
    n = difference.size
    share = np.array([(difference == value).mean() for value in (-1.0, 0.0, 1.0)])
    low, law = _power(share, n)
    below = np.cumsum(law)
    # A c.d.f. within rounding of the level counts as having reached it.
    limits = np.array([(low + np.searchsorted(below, level - 1e-9)) / n for level in (0.025, 0.975)])
    error = difference.std() / math.sqrt(n)
    return {side: float(np.abs(np.array(answer) - limits).max() / error) for side, answer in answers.items()}


def _power(share: np.ndarray, n: int) -> tuple[int, np.ndarray]:
    """Return the n-fold convolution of a law on -1, 0, 1 by squaring and multiplying, with the value of its first atom."""
    low, law = 0, np.ones(1)
    for bit in f"{n:b}":
        low, law = _trim(2 * low, np.convolve(law, law))
        if bit == "1":
            low, law = _trim(low - 1, np.convolve(law, share))
    return low, law


def _trim(low: int, law: np.ndarray) -> tuple[int, np.ndarray]:
    """Drop both ends that hold less than anything could notice: all terms are positive, so nothing cancels."""
    kept = np.flatnonzero(law > 1e-30)
    return low + int(kept[0]), law[kept[0] : kept[-1] + 1]


def tau(data: Arrays, answers: Answers) -> Misses:
    """Distance from Kendall's tau-b by counting all pairs."""
    x, y = data["difference"], data["other"]
    together, x_apart, y_apart = 0, 0, 0
    for k in range(1, x.size):
        dx, dy = np.sign(x[k:] - x[:-k]), np.sign(y[k:] - y[:-k])
        together, x_apart, y_apart = together + dx @ dy, x_apart + dx @ dx, y_apart + dy @ dy
    return {side: abs(answer[0] - together / math.sqrt(x_apart * y_apart)) for side, answer in answers.items()}


def alpha(data: Arrays, answers: Answers) -> Misses:
    """Distance from Krippendorff's alpha of ordinal ratings by his table of coincidences."""
    levels = np.arange(1.0, 6.0)
    counts = (data["ratings"][:, :, None] == levels).sum(axis=0).astype(float)
    counts = counts[counts.sum(axis=1) > 1]
    weight = 1.0 / (counts.sum(axis=1) - 1.0)
    seen = np.einsum("ui,uj,u->ij", counts, counts, weight) - np.diag(weight @ counts)
    margin = seen.sum(axis=0)
    upto = np.cumsum(margin) - margin / 2.0
    apart = np.square(upto[:, None] - upto)
    expected = (margin @ apart @ margin) / (margin.sum() - 1.0)
    exact = 1.0 - (seen * apart).sum() / expected
    return {side: abs(answer[0] - exact) for side, answer in answers.items()}


def tango(data: Arrays, answers: Answers) -> Misses:
    """Farther of the two limits from the roots of the score equation, by bisection in 40 digits."""
    n = data["a"].size
    b, c = int(((data["b"] == 1) & (data["a"] == 0)).sum()), int(((data["b"] == 0) & (data["a"] == 1)).sum())
    with localcontext() as context:
        context.prec = 40
        upper, lower = _tango_upper(n, b, c), -_tango_upper(n, c, b)
        exact = (lower, upper)
        return {
            side: float(max(abs(Decimal(found) - limit) for found, limit in zip(answer, exact, strict=True)))
            for side, answer in answers.items()
        }


def _tango_upper(n: int, b: int, c: int) -> Decimal:
    z = Decimal(NormalDist().inv_cdf(0.975))
    inside, outside = Decimal(b - c) / n, Decimal(1)
    for _ in range(120):
        middle = (inside + outside) / 2
        # q, the probability behind c at this difference, is the larger root of 2n q^2 + B q - c d (1 - d) = 0
        first = (2 * n - b + c) * middle - b - c
        q = ((first * first + 8 * n * c * middle * (1 - middle)).sqrt() - first) / (4 * n)
        spread = (n * (2 * q + middle * (1 - middle))).sqrt()
        inside, outside = (middle, outside) if b - c - n * middle >= -z * spread else (inside, middle)
    return inside


def likelihood(_: Arrays, answers: Answers) -> Misses:
    """How far the log-likelihood is below the best that any side found."""
    best = max(answer[0] for answer in answers.values())
    return {side: best - answer[0] for side, answer in answers.items()}


def ratings(data: Arrays, answers: Answers) -> Misses:
    """Farthest log-strength from the optimum: one Newton step from the answer, its gradient in long doubles."""
    n = data["names"].size
    share = np.array([1.0, 0.0, 0.5, 0.5])[data["outcome"]]
    place = data["first"] * n + data["second"]
    wins = np.bincount(place, weights=share, minlength=n * n).reshape(n, n)
    wins = wins + np.bincount(place, weights=1.0 - share, minlength=n * n).reshape(n, n).T
    met = (wins + wins.T).astype(np.longdouble)

    def miss(strengths: np.ndarray) -> float:
        at = (strengths - strengths.mean()).astype(np.longdouble)
        p = 1.0 / (1.0 + np.exp(at[None, :] - at[:, None]))
        gradient = (wins - met * p).sum(axis=1)
        curve = (met * p * (1.0 - p)).astype(float)
        information = np.diag(curve.sum(axis=1)) - curve
        # All strengths may move together: held where they sum to 0. A pseudo-inverse takes rounding for information there.
        held = information + np.trace(information) / n**2
        return float(np.abs(np.linalg.solve(held, (gradient - gradient.mean()).astype(float))).max())

    return {side: miss(np.array(answer)) for side, answer in answers.items()}


if __name__ == "__main__":
    main(*sys.argv[1:])
