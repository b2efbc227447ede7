"""Our side of the benchmarks: each function takes the arrays of a problem and returns the call that is timed."""

from collections.abc import Callable

import numpy as np
import polars as pl

from evalstats.analysis.compare.compare import compare
from evalstats.schema.data import EvalData
from evalstats.schema.tables import check_table
from evalstats.stats.agreement.correlation import kendall
from evalstats.stats.arena.bootstrap import bootstrap_strengths
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.beta_binomial import BetaBinomial
from evalstats.stats.bootstrap import percentile_law
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.item_response import two_parameter
from evalstats.stats.many.pairwise import pairwise_differences
from evalstats.stats.many.task_ranks import new_task_ranks
from evalstats.stats.mixed.binomial import fit_binomial
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows
from evalstats.stats.mixed.linear import fit_linear
from evalstats.stats.paired.binary import PairedCounts, tango
from evalstats.stats.paired.means import signed_rank
from evalstats.stats.posterior import ClusterMoments, ClustersLikelihood, Prior, posteriors
from evalstats.stats.raters.agreement import krippendorff_alpha, rating_table
from evalstats.stats.raters.correction import powered_mean
from evalstats.stats.unpaired import welch
from evalstats.stats.variance_components import variance_components
from evalstats.table.vote_cells import vote_cells

Arrays = dict[str, np.ndarray]
Call = Callable[[], object]
ROUNDS = 1000


def bootstrap(data: Arrays) -> Call:
    """Percentile interval of the mean difference, as from infinitely many resamples."""
    difference = data["b"] - data["a"]

    def run() -> list[float | None]:
        found = percentile_law(difference)
        return [found.conf_low, found.conf_high]

    return run


def tango_interval(data: Arrays) -> Call:
    """Tango's interval from the two vectors of scores."""
    a, b = data["a"], data["b"]

    def run() -> list[float | None]:
        cells = np.bincount((2 * b + a).astype(np.int64), minlength=4)
        found = tango(PairedCounts(int(cells[3]), int(cells[2]), int(cells[1]), int(cells[0])))
        return [found.conf_low, found.conf_high]

    return run


def comparison(data: Arrays) -> Call:
    """All that `compare` reports, from tidy rows."""
    n = data["a"].size
    rows = pl.DataFrame(
        {
            "run": np.repeat(["a", "b"], n),
            "model": np.repeat(["a", "b"], n),
            "system": np.repeat(["a", "b"], n),
            "benchmark": "b",
            "item": [f"q{i}" for i in range(n)] * 2,
            "trial": 0,
            "metric": "correct",
            "score": np.concatenate([data["a"], data["b"]]),
            "status": "scored",
        }
    )
    outcomes = EvalData(outcomes=check_table(rows, "outcomes"))

    def run() -> list[float | None]:
        found = compare(outcomes, "a", "b")
        return [found.conf_low, found.conf_high]

    return run


def cluster_interval(data: Arrays) -> Call:
    """Mean of items in clusters, with the CR2 error and its degrees of freedom."""
    return lambda: [cluster_mean(data["difference"], data["cluster"]).estimate.std_error]


def signed_rank_interval(data: Arrays) -> Call:
    """Signed rank test, exact where that can be, with the Hodges-Lehmann interval."""

    def run() -> list[float | None]:
        found = signed_rank(data["difference"])
        return [found.p_value, found.conf_low, found.conf_high]

    return run


def tau(data: Arrays) -> Call:
    """Kendall's tau-b."""
    return lambda: kendall(data["difference"], data["other"])


def alpha(data: Arrays) -> Call:
    """Krippendorff's alpha of ordinal ratings with its interval, from one row a rating."""
    rater, unit = np.nonzero(np.isfinite(data["ratings"]))
    values = data["ratings"][rater, unit]
    return lambda: [krippendorff_alpha(rating_table(unit, values), "ordinal").estimate]


def corrected_mean(data: Arrays) -> Call:
    """Mean that people would give, from a judge's verdicts and some labels."""
    parts = [data[name] for name in ("judged", "judged_labelled", "labels")]
    return lambda: [powered_mean(*parts).estimate.estimate]


def two_samples(data: Arrays) -> Call:
    """Difference of the means of different users, by Welch."""

    def run() -> list[float | None]:
        found = welch(data["a"], data["b"])
        return [found.estimate, found.conf_low, found.conf_high]

    return run


def all_pairs(data: Arrays) -> Call:
    """Every pair of models, max-T over sign flips; p-values and simultaneous intervals."""
    scores = data["scores"]
    return lambda: pairwise_differences(scores, binary=True).estimate


def linear(data: Arrays) -> Call:
    """Fit y ~ 1 + (1 | item) + (1 | model) + (1 | model:scenario), from cells, REML."""
    design = _design(data, ("item", "model", "both"), np.ones((data["y"].size, 1)))
    return lambda: fit_linear(design).log_likelihood


def binomial(data: Arrays) -> Call:
    """Fit y ~ model + (1 | item) + (1 | model:scenario), Laplace."""
    model = data["model"]
    fixed = np.hstack([np.ones((model.size, 1)), (model[:, None] == np.arange(1, model.max() + 1)).astype(float)])
    design = _design(data, ("item", "both"), fixed)
    return lambda: fit_binomial(design).log_likelihood


def components(data: Arrays) -> Call:
    """Components of every combination of model, scaffold and item, by REML."""
    factors = {name: data[name] for name in ("model", "scaffold", "item")}
    return lambda: variance_components(factors, data["y"]).variances


def item_response(data: Arrays) -> Call:
    """Slopes and intercepts of all items without a prior, with their errors, and abilities."""
    return lambda: two_parameter(data["right"], prior=False).slope


def beyond_trials(data: Arrays) -> Call:
    """Fit the law, and make the profile-likelihood interval of pass^8."""
    n = np.full(data["right"].size, 4)

    def run() -> list[float | None]:
        found = BetaBinomial.of(n, data["right"]).interval(8, "hat")
        return [found.estimate, found.conf_low, found.conf_high]

    return run


def posterior(data: Arrays) -> Call:
    """From items in clusters to what four priors make of their mean."""
    priors = [Prior(scale=scale) for scale in (0.1, 0.05, 0.2, 0.025)]

    def run() -> list[float]:
        seen = ClustersLikelihood(moments=ClusterMoments.of(data["difference"], data["cluster"]))
        return [each.p_above for each in posteriors(seen, priors, bound=1.0, margin=0.02)]

    return run


def new_task(data: Arrays) -> Call:
    """Conformal intervals of all ranks, and how they do on each task from the others."""
    return lambda: new_task_ranks(data["scores"]).low


def ratings(data: Arrays) -> Call:
    """From a table of votes to strengths with standard errors."""
    table = _table(data)

    def run() -> np.ndarray:
        cells = vote_cells(table)
        rows = cells.rows
        fit = fit_strengths(rows)
        covariance_of(fit, rows)
        return fit.strengths[np.argsort(cells.models)]

    return run


def rounds(data: Arrays) -> Call:
    """Bootstrap rounds from votes that are merged once."""
    table = _table(data)

    def run() -> list[float]:
        rows = vote_cells(table).rows
        bootstrap_strengths(fit_strengths(rows), rows, n_resamples=ROUNDS).intervals()
        return []

    return run


def _table(data: Arrays) -> pl.DataFrame:
    outcomes = np.array(["a", "b", "tie", "both_bad"])
    columns = {
        "model_a": data["names"][data["first"]],
        "model_b": data["names"][data["second"]],
        "outcome": outcomes[data["outcome"]],
    }
    return pl.DataFrame(columns).with_columns(pl.all().cast(pl.Categorical))


def _design(data: Arrays, groups: tuple[str, ...], fixed: np.ndarray) -> MixedDesign:
    """Merge trials of an item by a model to one cell, as the analyses do; rows of a problem are sorted by cell."""
    first = np.flatnonzero(np.diff(data["item"] * (data["model"].max() + 1) + data["model"], prepend=-1))
    count = np.diff(np.append(first, data["y"].size)).astype(float)
    mean = np.add.reduceat(data["y"], first) / count
    terms = tuple(
        RandomTerm(
            group=name,
            columns=("(Intercept)",),
            levels=tuple(map(str, range(int(data[name].max()) + 1))),
            level=data[name][first].astype(np.int64),
            values=np.ones((first.size, 1)),
        )
        for name in groups
    )
    return MixedDesign(
        fixed=distinct_rows(fixed[first]),
        fixed_names=tuple(f"b{j}" for j in range(fixed.shape[1])),
        terms=terms,
        count=count,
        response=mean,
        within=float(((data["y"] - np.repeat(mean, count.astype(int))) ** 2).sum()),
    )
