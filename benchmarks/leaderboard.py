"""Many models on the same items, at the size of MMLU-Pro (29 models, 12,000 items): pairs, rank sets and the best.

Beside a plain numpy loop over the same sign flips (a few draws, scaled to all of them), and beside what people do instead:
a t test for every pair and statsmodels' correction, which needs no draws and knows nothing of the dependence between pairs.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

from benchmarks.timing import Row, against, cpu_seconds
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.many.ranks import rank_sets, with_the_best

ITEMS, MODELS, DRAWS, LOOPED = 12_000, 29, 9999, 20


def run() -> list[Row]:
    """Complete and incomplete tables, clusters, and few models."""
    scores = _scores(MODELS)
    holes = scores.copy()
    holes[np.random.default_rng(1).random(scores.shape) < 0.1] = np.nan
    clusters = np.arange(ITEMS) // 30
    size = f"{MODELS} models x {ITEMS:,} items"
    looped = f"other: numpy, one draw at a time, {LOOPED} of {DRAWS:,}"
    rows = [
        _row(f"max-T, {size}", lambda: pairwise_differences(scores, binary=True), _loop(scores), looped),
        _row("  10% of the scores missing", lambda: pairwise_differences(holes, binary=True), _loop(holes), looped),
        _row(
            "  400 clusters",
            lambda: pairwise_differences(scores, clusters=clusters),
            _loop(scores, clusters),
            looped + "; ours draws twice, for p and for intervals",
        ),
        _row(
            "  5 of the models", lambda: pairwise_differences(scores[:, :5], binary=True), _loop(scores[:, :5]), looped
        ),
    ]
    once = cpu_seconds(lambda: pairwise_differences(scores, binary=True), repeats=3)
    return [
        *rows,
        against(
            "  against McNemar and Holm",
            once,
            cpu_seconds(partial(_mcnemar_and_holm, scores), repeats=1),
            "other: statsmodels, pair by pair",
        ),
        against(
            "  against t tests and Holm",
            once,
            cpu_seconds(partial(_t_and_holm, scores), repeats=1),
            "other: scipy and statsmodels; no joint law, so no draws and no simultaneous intervals",
        ),
        _row(f"rank sets, {size}", lambda: rank_sets(scores), None, "joint, marginal and top-k; target with max-T 4 s"),
        _row("  10% of the scores missing", lambda: rank_sets(holes), None, ""),
        _row("  400 clusters", lambda: rank_sets(scores, clusters=clusters), None, ""),
        _row(f"with the best, {size}", lambda: with_the_best(scores, binary=True), None, ""),
    ]


def _row(name: str, call: Callable[[], object], other: float | None, note: str) -> Row:
    return against(name, cpu_seconds(call, repeats=3), other, note)


def _scores(n_models: int) -> np.ndarray:
    """Right-or-wrong answers of models from a third to nine tenths right, on items of unequal difficulty."""
    rng = np.random.default_rng(0)
    skill = np.linspace(-0.8, 1.5, n_models)
    return (rng.normal(size=(ITEMS, 1)) + rng.normal(size=(ITEMS, n_models)) + skill > 0).astype(float)


def _loop(scores: np.ndarray, clusters: np.ndarray | None = None) -> float:
    """CPU seconds of all draws by the plain loop: signs, sums of every pair, studentised maximum."""
    i, j = np.triu_indices(scores.shape[1], 1)
    differences = np.nan_to_num(scores[:, i] - scores[:, j])
    n = np.isfinite(scores[:, i] - scores[:, j]).sum(axis=0)
    squares = (differences**2).sum(axis=0)
    codes = np.arange(len(scores)) if clusters is None else clusters
    sums = np.stack([np.bincount(codes, weights=d) for d in differences.T], axis=1)
    share = np.bincount(codes)[:, None] / len(scores)
    rng = np.random.default_rng(0)

    def largest() -> float:
        signs = rng.choice([-1.0, 1.0], len(sums))
        mean = signs @ sums / n
        if clusters is None:  # flips do not change the sum of squares
            spread = (squares - n * mean**2) / (n - 1) / n
        else:
            spread = ((signs[:, None] * sums - share * n * mean) ** 2 / (1 - share)).sum(axis=0) / n**2
        return float((np.abs(mean) / np.sqrt(spread)).max())

    return cpu_seconds(lambda: [largest() for _ in range(LOOPED)], repeats=1) * DRAWS / LOOPED


def _t_and_holm(scores: np.ndarray) -> object:
    pairs = zip(*np.triu_indices(scores.shape[1], 1), strict=True)
    return multipletests([stats.ttest_rel(scores[:, i], scores[:, j]).pvalue for i, j in pairs], method="holm")


def _mcnemar_and_holm(scores: np.ndarray) -> object:
    p = []
    for i, j in zip(*np.triu_indices(scores.shape[1], 1), strict=True):
        cells = np.bincount((2 * scores[:, i] + scores[:, j]).astype(np.int64), minlength=4)
        p.append(mcnemar(cells.reshape(2, 2), exact=False, correction=False).pvalue)
    return multipletests(p, method="holm")
