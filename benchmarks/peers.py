"""The other side of the benchmarks: what the other packages do with the same arrays. Run by the Python of their environments.

Every package goes its own way from the arrays to the answer, by the call that its documentation gives first. Functions whose
names begin with `namesake` are of another project, which is called evalstats as we are.
"""

import contextlib
import io
from collections.abc import Callable

import numpy as np
import pandas as pd

Arrays = dict[str, np.ndarray]
Call = Callable[[], object]
RESAMPLES = 9999
ROUNDS = 3


def scipy_bootstrap(data: Arrays) -> Call:
    """Resamples in batches of a million values: all at once they would not fit."""
    from scipy import stats

    difference = data["b"] - data["a"]
    batch = max(1, 1_000_000 // difference.size)

    def run() -> tuple[float, float]:
        found = stats.bootstrap(
            (difference,),
            np.mean,
            method="percentile",
            n_resamples=RESAMPLES,
            batch=batch,
            rng=np.random.default_rng(0),
        )
        return found.confidence_interval

    return run


def arch_bootstrap(data: Arrays) -> Call:
    from arch.bootstrap import IIDBootstrap

    difference = data["b"] - data["a"]
    return lambda: IIDBootstrap(difference, seed=0).conf_int(np.mean, reps=RESAMPLES, method="percentile")


def namesake_bootstrap(data: Arrays) -> Call:
    import evalstats as es

    scores = np.stack([data["b"], data["a"]])

    def run() -> tuple[float, float]:
        found = es.pairwise_differences(
            scores, 0, 1, method="bootstrap", n_bootstrap=RESAMPLES, rng=np.random.default_rng(0)
        )
        return found.ci_low, found.ci_high

    return run


def namesake_tango(data: Arrays) -> Call:
    """Plain Tango: its interval with a correction of nought."""
    from evalstats.core.resampling import tango_scc_paired_ci

    return lambda: tango_scc_paired_ci(data["b"], data["a"], 0.05, c=0.0)


def namesake_comparison(data: Arrays) -> Call:
    import evalstats as es

    n = data["a"].size
    frame = pd.DataFrame(
        {
            "item": [f"q{i}" for i in range(n)] * 2,
            "model": np.repeat(["a", "b"], n),
            "score": np.concatenate([data["a"], data["b"]]),
        }
    )
    with contextlib.redirect_stdout(io.StringIO()):
        loaded = es.load_from(frame)

    def run() -> list[float]:
        with contextlib.redirect_stdout(io.StringIO()):
            es.compare(loaded, factors="model")
        return []

    return run


def errorbars_clusters(data: Arrays) -> Call:
    """CR1: no small-sample degrees of freedom."""
    import errorbars

    return lambda: [errorbars.cluster_robust_se(data["difference"], data["cluster"])]


def statsmodels_clusters(data: Arrays) -> Call:
    """CR1 by OLS on a constant."""
    import statsmodels.api as sm

    d, ones = data["difference"], np.ones((data["difference"].size, 1))
    return lambda: sm.OLS(d, ones).fit(cov_type="cluster", cov_kwds={"groups": data["cluster"]}).bse


def scipy_signed_rank(data: Arrays) -> Call:
    from scipy import stats

    return lambda: [stats.wilcoxon(data["difference"], zero_method="pratt").pvalue]


def pingouin_signed_rank(data: Arrays) -> Call:
    import pingouin

    return lambda: pingouin.wilcoxon(data["difference"]).iloc[0, 2:3].astype(float).to_numpy()


def scipy_tau(data: Arrays) -> Call:
    from scipy import stats

    return lambda: [stats.kendalltau(data["difference"], data["other"]).statistic]


def pingouin_tau(data: Arrays) -> Call:
    import pingouin

    def run() -> list[float]:
        return [float(pingouin.corr(data["difference"], data["other"], method="kendall")["r"].iloc[0])]

    return run


def krippendorff_alpha(data: Arrays) -> Call:
    """From a column a unit; no interval."""
    import krippendorff

    return lambda: [krippendorff.alpha(data["ratings"], level_of_measurement="ordinal")]


def ppi_mean(data: Arrays) -> Call:
    """PPI++ with its own choice of weight; an interval, and no estimate beside it."""
    import ppi_py

    labels, labelled, judged = (data[name] for name in ("labels", "judged_labelled", "judged"))
    return lambda: [float(np.ravel(end)[0]) for end in ppi_py.ppi_mean_ci(labels, labelled, judged, alpha=0.05)]


def tea_tasting_means(data: Arrays) -> Call:
    import tea_tasting

    variant = np.repeat([0, 1], [data["a"].size, data["b"].size])
    frame = pd.DataFrame({"variant": variant, "score": np.concatenate([data["a"], data["b"]])})
    experiment = tea_tasting.Experiment(score=tea_tasting.Mean("score", use_t=True, equal_var=False))

    def run() -> list[float]:
        found = experiment.analyze(frame)["score"]
        return [found.effect_size, found.effect_size_ci_lower, found.effect_size_ci_upper]

    return run


def pingouin_means(data: Arrays) -> Call:
    import pingouin

    def run() -> list[float]:
        pingouin.ttest(data["b"], data["a"], correction=True)
        return []

    return run


def statsmodels_pairs(data: Arrays) -> Call:
    """McNemar for every pair, then Holm: no joint law, and no intervals."""
    from statsmodels.stats.contingency_tables import mcnemar
    from statsmodels.stats.multitest import multipletests

    scores = data["scores"]

    def run() -> np.ndarray:
        p = []
        for i, j in zip(*np.triu_indices(scores.shape[1], 1), strict=True):
            cells = np.bincount((2 * scores[:, i] + scores[:, j]).astype(np.int64), minlength=4)
            p.append(mcnemar(cells.reshape(2, 2), exact=False, correction=False).pvalue)
        return multipletests(p, method="holm")[1]

    return run


def namesake_pairs(data: Arrays) -> Call:
    """Its own choice of interval and correction."""
    import evalstats as es

    scores = data["scores"].T
    names = [f"model-{k}" for k in range(len(scores))]

    def run() -> list[float]:
        es.all_pairwise(scores, names, rng=np.random.default_rng(0))
        return []

    return run


def _frame(data: Arrays) -> pd.DataFrame:
    words = {name: [f"{name[0]}{code}" for code in data[name]] for name in ("item", "model", "both")}
    return pd.DataFrame({"y": data["y"], **words})


def glmm_linear(data: Arrays) -> Call:
    import glmm

    frame, formula = _frame(data), "y ~ 1 + (1 | item) + (1 | model) + (1 | both)"
    return lambda: glmm.fit(frame, formula, reml=True, satterthwaite=False).loglik


def mixedlm_linear(data: Arrays) -> Call:
    import mixedlm

    frame = _frame(data)
    return lambda: mixedlm.lmer("y ~ 1 + (1 | item) + (1 | model) + (1 | both)", frame, REML=True).logLik().value


def statsmodels_linear(data: Arrays) -> Call:
    from statsmodels.regression.mixed_linear_model import MixedLM

    frame = _frame(data).assign(all=1)
    parts = {name: f"0 + C({name})" for name in ("item", "model", "both")}
    return lambda: MixedLM.from_formula("y ~ 1", frame, groups="all", vc_formula=parts).fit().llf


def statsmodels_components(data: Arrays) -> Call:
    from statsmodels.regression.mixed_linear_model import MixedLM

    frame = pd.DataFrame({name: data[name] for name in ("model", "scaffold", "item", "y")}).assign(all=1)
    names = ("model", "scaffold", "item", "model:scaffold", "model:item", "scaffold:item")
    parts = {name: "0 + " + ":".join(f"C({each})" for each in name.split(":")) for name in names}
    return lambda: MixedLM.from_formula("y ~ 1", frame, groups="all", vc_formula=parts).fit().vcomp


def girth_curves(data: Arrays) -> Call:
    from girth import twopl_mml

    right = data["right"].astype(int)
    return lambda: twopl_mml(right)["Discrimination"]


def scipy_betabinom(data: Arrays) -> Call:
    from scipy import optimize, stats

    right = data["right"]

    def lack(x: np.ndarray) -> float:
        return -float(stats.betabinom.logpmf(right, 4, *np.exp(x)).sum())

    return lambda: optimize.minimize(lack, [0.0, 0.0], method="Nelder-Mead").x


def glmm_binomial(data: Arrays) -> Call:
    import glmm

    frame, formula = _frame(data), "y ~ model + (1 | item) + (1 | both)"
    return lambda: glmm.fit(frame, formula, family="binomial").loglik


def mixedlm_binomial(data: Arrays) -> Call:
    import mixedlm

    frame, formula = _frame(data), "y ~ model + (1 | item) + (1 | both)"
    return lambda: mixedlm.glmer(formula, frame, family=mixedlm.families.Binomial()).logLik().value


def evalica_ratings(data: Arrays) -> Call:
    """Scores are worths."""
    import evalica

    xs, ys, winners = _evalica(data)

    def run() -> np.ndarray:
        return np.log(evalica.bradley_terry(xs, ys, winners).scores.reindex(list(data["names"])).to_numpy())

    return run


def evalica_rounds(data: Arrays) -> Call:
    """Its bootstrap draws votes through scipy."""
    import evalica

    xs, ys, winners = _evalica(data)

    def run() -> list[float]:
        evalica.bootstrap(
            evalica.bradley_terry, xs, ys, winners, n_resamples=ROUNDS, bootstrap_method="percentile", random_state=0
        )
        return []

    return run


def _evalica(data: Arrays) -> tuple[list[str], list[str], list[object]]:
    import evalica

    kinds = [evalica.Winner.X, evalica.Winner.Y, evalica.Winner.Draw, evalica.Winner.Draw]
    names = data["names"].astype(object)
    return list(names[data["first"]]), list(names[data["second"]]), [kinds[code] for code in data["outcome"]]


def arena_rank_ratings(data: Arrays) -> Call:
    """L-BFGS in JAX, compiled before it is timed; from a frame to ratings with intervals."""
    fit = _arena_rank(data)

    def run() -> np.ndarray:
        pairs, model = fit()
        found = dict(zip(pairs.competitors, np.asarray(model.params["ratings"]), strict=True))
        return np.array([found[name] for name in data["names"]])

    return run


def arena_rank_rounds(data: Arrays) -> Call:
    """Draw rounds one after another in this process, by the function that its pool of processes calls."""
    import jax
    from arena_rank.models.bradley_terry import fit_single_bootstrap_sample

    pairs, model = _arena_rank(data)()
    total = pairs.counts.sum()

    def run() -> list[float]:
        shape = (ROUNDS, pairs.counts.shape[0])
        key, share = jax.random.PRNGKey(0), pairs.counts / total
        for drawn in jax.random.multinomial(key, int(total), share, shape=shape, dtype=model.dtype):
            jax.block_until_ready(fit_single_bootstrap_sample(drawn, model, pairs))
        return []

    return run


def _arena_rank(data: Arrays) -> Callable[[], tuple[object, object]]:
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    names = data["names"].astype(object)
    labels = np.array(["model_a", "model_b", "tie", "both_bad"], dtype=object)
    columns = {"model_a": names[data["first"]], "model_b": names[data["second"]], "winner": labels[data["outcome"]]}
    frame = pd.DataFrame(columns)

    def fit() -> tuple[object, object]:
        pairs = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=len(pairs.competitors))
        model.compute_ratings_and_cis(pairs)
        return pairs, model

    return fit


def choix_ratings(data: Arrays) -> Call:
    """Spectral ranking of the table of wins (ties half), which it leaves to its user to make; no standard errors."""
    import choix

    return lambda: choix.ilsr_pairwise_dense(_wins(data, np.ones(data["first"].size)))


def choix_rounds(data: Arrays) -> Call:
    import choix

    n = data["first"].size

    def run() -> list[float]:
        rng = np.random.default_rng(0)
        for _ in range(ROUNDS):
            drawn = np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
            choix.ilsr_pairwise_dense(_wins(data, drawn))
        return []

    return run


def _wins(data: Arrays, weight: np.ndarray) -> np.ndarray:
    n = data["names"].size
    share = np.array([1.0, 0.0, 0.5, 0.5])[data["outcome"]]
    won = np.bincount(data["first"] * n + data["second"], weights=weight * share, minlength=n * n)
    lost = np.bincount(data["second"] * n + data["first"], weights=weight * (1.0 - share), minlength=n * n)
    return (won + lost).reshape(n, n)
