"""A difference on items that come in clusters: how often its interval misses. Clusters even and uneven, few and many."""

import math
from functools import partial

import numpy as np
from scipy import special

from dev.validation.deciding import metric
from dev.validation.study import Case, Promise, Question, Tally, Task, of_ends, of_intervals, simulated
from evalstats.analysis.compare.difference import PairedScores, headline_interval
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.one_sample import cr2_of_mean
from evalstats.stats.paired.means import augmented_t, paired_t

NAME = "clusters"
REPLICATES, PART = 10_000, 250
CLUSTERS = (5, 10, 20, 50)
DEPENDENCE = (0.0, 0.3, 0.8)
# The exact law of the cluster bootstrap is slow where clusters differ in size: it gets this many of every part.
BOOTSTRAPPED = 50
BINARY = metric("binary")
MIDDLE = (0.2, 0.1)  # shares of items that only the candidate, or only the baseline, gets right
CEILING = (0.04, 0.01)


def sizes(n_clusters: int, *, even: bool) -> np.ndarray:
    """Return 6 items a cluster, or 14 items in one cluster of four and 2 in the others.

    Examples
    --------
    >>> sizes(5, even=False).tolist()
    [14, 2, 2, 2, 14]
    """
    return np.where(np.arange(n_clusters) % 4 == 0, 14, 2) if not even else np.full(n_clusters, 6)


def latent(rng: np.random.Generator, clusters: np.ndarray, icc: float, shares: tuple[float, float]) -> np.ndarray:
    """Draw differences 1, 0, -1 by cutting a normal variable whose share `icc` of variance belongs to the cluster."""
    shared = rng.normal(size=int(clusters[-1]) + 1)[clusters]
    z = math.sqrt(icc) * shared + math.sqrt(1 - icc) * rng.normal(size=clusters.size)
    gained, lost = shares
    return (z > -special.ndtri(gained)) * 1.0 - (z < special.ndtri(lost)) * 1.0


def replicate(
    rng: np.random.Generator, count: int, *, n_clusters: int, even: bool, icc: float, shares: tuple[float, float]
) -> dict[str, Tally]:
    """Tally every method on `count` data sets."""
    clusters = np.repeat(np.arange(n_clusters), sizes(n_clusters, even=even))
    drawn = [latent(rng, clusters, icc, shares) for _ in range(count)]
    truth = shares[0] - shares[1]
    resampled = drawn if even else drawn[:BOOTSTRAPPED]
    return {
        "CR2, Satterthwaite t": of_intervals([_headline(d, clusters) for d in drawn], truth),
        "augmented t on cluster means": of_intervals([_on_means(d, clusters) for d in drawn], truth),
        "cluster bootstrap": of_intervals([percentile_law(d, clusters=clusters) for d in resampled], truth),
        "CR1, t with G − 1 df": of_ends(*_robust(drawn, clusters, corrected=True), truth),
        "CR0, ± 1.96 standard errors": of_ends(*_robust(drawn, clusters, corrected=False), truth),
        "t on items": of_intervals([paired_t(d) for d in drawn], truth),
        "bootstrap of items": of_intervals([percentile_law(d) for d in drawn], truth),
    }


def _headline(d: np.ndarray, clusters: np.ndarray) -> IntervalEstimate:
    """Return what `compare` would print: CR2, or augmented t on cluster means where all clusters agree."""
    scores = PairedScores(
        metric=BINARY, baseline=(d < 0) * 1.0, candidate=(d > 0) * 1.0, n_trials=1, clusters=(clusters,)
    )
    return headline_interval(scores, conf_level=0.95, method="auto")


def _on_means(d: np.ndarray, clusters: np.ndarray):
    means = np.bincount(clusters, weights=d) / np.bincount(clusters)
    return augmented_t(means)


def _robust(drawn: list[np.ndarray], clusters: np.ndarray, *, corrected: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the usual cluster-robust interval of each mean."""
    n_clusters = int(clusters[-1]) + 1
    means = np.array([d.mean() for d in drawn])
    sums = np.array([np.bincount(clusters, weights=d - d.mean()) for d in drawn])
    std_error = np.sqrt(np.square(sums).sum(axis=1)) / clusters.size
    quantile = 1.959963984540054
    if corrected:
        std_error = std_error * math.sqrt(n_clusters / (n_clusters - 1))
        quantile = float(special.stdtrit(n_clusters - 1, 0.975))
    return means - quantile * std_error, means + quantile * std_error


def group_name(*, even: bool, icc: float, shares: tuple[float, float]) -> str:
    """Name the cases that differ only in the number of clusters."""
    where = ", near the ceiling" if shares == CEILING else ""
    return f"{'even' if even else 'uneven (7:1)'} clusters, latent ICC {icc:g}{where}"


def _worlds() -> list[tuple[Case, dict]]:
    groups = [(even, icc, MIDDLE) for even in (True, False) for icc in DEPENDENCE]
    groups += [(even, 0.3, CEILING) for even in (True, False)]
    found: list[tuple[Case, dict]] = []
    for even, icc, shares in groups:
        group = group_name(even=even, icc=icc, shares=shares)
        for n_clusters in CLUSTERS:
            size = sizes(n_clusters, even=even)
            df = cr2_of_mean(np.arange(size.sum()) * 1.0, np.repeat(np.arange(n_clusters), size), n_clusters).df
            design = {
                "n_clusters": n_clusters,
                "n_items": int(size.sum()),
                "icc_latent": icc,
                "gained": shares[0],
                "lost": shares[1],
                "df": round(df, 3),
            }
            case = Case(name=f"{n_clusters} {group}", group=group, design=design)
            found.append((case, {"n_clusters": n_clusters, "even": even, "icc": icc, "shares": shares}))
    return found


WORLDS = _worlds()


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for case, world in WORLDS
        for task in simulated(
            NAME, case.name, partial(replicate, **world), replicates=REPLICATES, part=PART, share=share
        )
    ]


def _cases(*, even: bool, least: int = 0, ceiling: bool = False) -> tuple[str, ...]:
    return tuple(
        case.name
        for case, world in WORLDS
        if world["even"] == even and (world["shares"] == CEILING) == ceiling and world["n_clusters"] >= least
    )


QUESTION = Question(
    name=NAME,
    question="How often does the interval of a difference miss the truth when items come in clusters?",
    design=(
        "Two models answer items that come in clusters (passages, templates, users), 5 to 50 of them: 6 items each, or 14 "
        "in one cluster of four and 2 in the others. 20% of the items are gained and 10% lost, or near the ceiling 4% and "
        "1%. Gains and losses come from cutting a normal variable, of whose variance the cluster has the share named "
        "(latent ICC). Where all clusters agree and CR2 has no spread to go by, compare takes "
        "augmented t on cluster means, and so does the row of CR2."
    ),
    measure="misses",
    nominal=0.05,
    methods={
        "CR2, Satterthwaite t": "ours",
        "augmented t on cluster means": "beside",
        "cluster bootstrap": "elsewhere",
        "CR1, t with G − 1 df": "elsewhere",
        "CR0, ± 1.96 standard errors": "elsewhere",
        "t on items": "elsewhere",
        "bootstrap of items": "elsewhere",
    },
    cases=[case for case, _ in WORLDS],
    tasks=tasks,
    promises=[
        Promise(text="CR2, even clusters", method="CR2, Satterthwaite t", cases=_cases(even=True), high=0.06),
        Promise(
            text="CR2, uneven clusters (7:1)",
            method="CR2, Satterthwaite t",
            cases=_cases(even=False),
            high=0.075,
        ),
    ],
)
