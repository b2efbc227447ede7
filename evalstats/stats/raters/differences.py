"""The difference of two models by a judge, corrected by people's labels of a part of the items for both models."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, as_codes, as_values, check_level, too_few_clusters
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import Estimate, normal_quantile, t_quantile, two_sided_t_p
from evalstats.stats.paired.means import paired_t
from evalstats.stats.raters.correction import FEWEST_LABELS, PoweredMean, judge_errors, powered_mean

_SURE = 0.999
# Of drawn data sets.
_SHARED = 0.5  # share of the variance of success that an item gives to both models
_OF_CLUSTERS = 0.3  # of which clusters hold so much
_LOWEST, _HIGHEST = 1.0, 10.0
_MEAN, _SPREAD, _NOISE = 6.0, 1.6, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """Two models on the same items: what the judge says of all, and people of some.

    Attributes
    ----------
    judged
        float64, shape (n_items, 2): the judge's scores of the baseline and the candidate.
    labels
        float64, shape (n_items, 2): people's scores; NaN where there is none. Items with a label of one side alone count as
        unlabelled.
    probabilities
        float64, shape (n_items,): the known chance with which each labelled item was chosen; None where all had the same.
    clusters
        int64, shape (n_items,); None where items share nothing.
    """

    judged: FloatArray
    labels: FloatArray
    probabilities: FloatArray | None = None
    clusters: IntArray | None = None

    @property
    def both(self) -> BoolArray:
        """Items whose answers of both sides have a label."""
        return np.asarray(np.isfinite(self.labels).all(axis=1))


def judged_pair(
    judged: ArrayLike, labels: ArrayLike, *, probabilities: ArrayLike | None = None, clusters: ArrayLike | None = None
) -> JudgedPair:
    """Check and hold the scores of two models."""
    f, y = np.asarray(judged, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if f.ndim != 2 or f.shape[1] != 2 or f.shape != y.shape:
        raise InputError(f"scores have shape {f.shape} and labels {y.shape}; give two columns of each, one row an item")
    if not np.isfinite(f).all():
        raise InputError("the judge lacks a score of some items; give items that it scored for both sides")
    chance = None if probabilities is None else np.asarray(probabilities, dtype=np.float64)
    if chance is not None and chance.shape != (len(f),):
        raise InputError(f"{chance.size} probabilities of {len(f)} items; give one for each")
    codes = None if clusters is None else as_codes(np.asarray(clusters), len(f))[0]
    return JudgedPair(judged=f, labels=y, probabilities=chance, clusters=codes)


def powered_difference(pair: JudgedPair, *, conf_level: float = 0.95) -> PoweredMean:
    """Estimate candidate minus baseline as people would have it: the prediction-powered mean of the items' differences.

    Its `bias` is what the judge adds to the difference: its leaning to the candidate.
    """
    both = pair.both
    d, f = pair.labels[:, 1] - pair.labels[:, 0], pair.judged[:, 1] - pair.judged[:, 0]
    n = int(both.sum())
    if n < FEWEST_LABELS:
        raise CannotAnswerError(
            f"{n} items have labels for both sides, too few to correct a judge: at least {FEWEST_LABELS} are needed"
        )
    if both.all():
        raise CannotAnswerError(
            "every item has labels for both sides: compare the labels themselves, no judge is needed"
        )
    return powered_mean(
        f[~both],
        f[both],
        d[both],
        probabilities=None if pair.probabilities is None else pair.probabilities[both],
        clusters=None if pair.clusters is None else (pair.clusters[~both], pair.clusters[both]),
        conf_level=conf_level,
    )


def rogan_gladen_difference(pair: JudgedPair, *, conf_level: float = 0.95) -> Estimate:
    """Estimate candidate minus baseline from the judge's yes-or-no, each side corrected by the judge's error rates on it.

    Each side's share is Rogan and Gladen's, with the sensitivity and specificity of that side's own labelled items. The error is
    that of the linearised difference, item by item, so that what both sides share cancels.
    """
    level, n_items = check_level(conf_level), len(pair.judged)
    if pair.probabilities is not None:
        raise CannotAnswerError("labels were drawn with unequal chances, for which error rates are not corrected here")
    (baseline, of_baseline), (candidate, of_candidate) = (
        _corrected_share(pair.judged[:, side], pair.labels[:, side]) for side in (0, 1)
    )
    estimate, influence = candidate - baseline, of_candidate - of_baseline
    sums = influence if pair.clusters is None else np.bincount(pair.clusters, weights=influence)
    labelled = np.isfinite(pair.labels).any(axis=1)
    n_units = int(labelled.sum() if pair.clusters is None else np.unique(pair.clusters[labelled]).size)
    reason = None if pair.clusters is None else too_few_clusters(n_units)
    error = float(np.sqrt(np.square(sums).sum() * n_units / max(n_units - 1, 1)))
    method = "Rogan-Gladen on each side, t"
    if reason is not None or error <= 0:
        return Estimate(
            estimate=estimate,
            method=method,
            conf_level=level,
            n=n_items,
            reason=reason or "the judge never errs on labels",
        )
    df = n_units - 1.0
    reach, statistic = t_quantile(level, df) * error, estimate / error
    return Estimate(
        estimate=estimate,
        method=method,
        conf_level=level,
        n=n_items,
        std_error=error,
        conf_low=estimate - reach,
        conf_high=estimate + reach,
        statistic=statistic,
        df=df,
        p_value=two_sided_t_p(statistic, df),
        n_clusters=None if pair.clusters is None else n_units,
    )


def _corrected_share(judged: FloatArray, labels: FloatArray) -> tuple[float, FloatArray]:
    """Return Rogan and Gladen's share, not cut at 0 and 1, and what every item adds to its error."""
    known = np.isfinite(labels)
    if not known.any():
        raise CannotAnswerError("one side has no labels of yes or no")
    errors = judge_errors(judged[known], labels[known])
    n_pos, n_neg = errors.yes_yes + errors.no_yes, errors.no_no + errors.yes_no
    if not n_pos or not n_neg:
        raise CannotAnswerError("the labels of one side hold only one of yes and no")
    power = errors.sensitivity + errors.specificity - 1.0
    if power <= 0:
        raise CannotAnswerError("on one side the judge's sensitivity and specificity together do not exceed 1")
    p = float(judged.mean())
    share = (p + errors.specificity - 1.0) / power
    influence = (judged - p) / judged.size
    yes, no = known & (labels == 1), known & (labels == 0)
    influence[yes] -= share * (judged[yes] - errors.sensitivity) / n_pos
    influence[no] += (1.0 - share) * (1.0 - judged[no] - errors.specificity) / n_neg
    return share, influence / power


def not_random(labelled: ArrayLike, others: ArrayLike) -> bool:
    """Whether the judge's scores of labelled items differ from those of the rest by more than chance gives (1 in 1,000)."""
    own, rest = as_values(labelled, "scores"), as_values(others, "scores")
    error = float(np.sqrt(own.var(ddof=1) / own.size + rest.var() / rest.size))
    one, other = float(own.mean()), float(rest.mean())
    # Means of equal numbers may differ by rounding.
    return abs(one - other) > normal_quantile(_SURE) * error + 1e-12 * max(abs(one), abs(other))


# --- data sets with a judge that favours a side, for the simulations of coverage ---


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeWorld:
    """Two models on the same items, a judge of all, people's labels of a random part.

    Attributes
    ----------
    rates
        The models' true shares of success, where scores are yes or no.
    sensitivity, false_yes
        The judge's, on the baseline and on the candidate.
    graded
        Scores of 1 to 10 instead, of models that are equal; the judge adds noise, and `leaning` to the candidate's.
    n_clusters
        Items come in so many clusters that share difficulty and the judge's errors; 0: none.
    """

    n_items: int
    n_labels: int
    rates: tuple[float, float] = (0.6, 0.6)
    sensitivity: tuple[float, float] = (0.9, 0.9)
    false_yes: tuple[float, float] = (0.15, 0.15)
    graded: bool = False
    leaning: float = 0.0
    n_clusters: int = 0

    @property
    def truth(self) -> float:
        """Candidate minus baseline as people have it."""
        return 0.0 if self.graded else self.rates[1] - self.rates[0]

    def draw(self, rng: np.random.Generator) -> JudgedPair:
        """Draw one data set."""
        n = self.n_items
        codes = np.arange(n) % self.n_clusters if self.n_clusters else None
        success, errs = (_standard(rng, n, codes) for _ in range(2))
        if self.graded:
            people = np.clip(np.round(_MEAN + _SPREAD * success), _LOWEST, _HIGHEST)
            judged = np.clip(np.round(people + np.array([0.0, self.leaning]) + _NOISE * errs), _LOWEST, _HIGHEST)
        else:
            people = (success < ndtri(np.array(self.rates))).astype(np.float64)
            yes = np.where(people == 1.0, np.array(self.sensitivity), np.array(self.false_yes))
            judged = (ndtr(errs) < yes).astype(np.float64)
        chosen = np.zeros(n, dtype=np.bool_)
        chosen[rng.choice(n, self.n_labels, replace=False)] = True
        return judged_pair(judged, np.where(chosen[:, None], people, np.nan), clusters=codes)


def _standard(rng: np.random.Generator, n: int, codes: IntArray | None) -> FloatArray:
    """Return normal numbers of variance 1, shape (n, 2), of which both models share a part, and clusters a part of that."""
    item = rng.normal(size=n)
    if codes is not None:
        item = np.sqrt(1 - _OF_CLUSTERS) * item + np.sqrt(_OF_CLUSTERS) * rng.normal(size=int(codes.max()) + 1)[codes]
    own = rng.normal(size=(n, 2))
    if codes is not None:
        own = (
            np.sqrt(1 - _OF_CLUSTERS) * own + np.sqrt(_OF_CLUSTERS) * rng.normal(size=(int(codes.max()) + 1, 2))[codes]
        )
    return np.sqrt(_SHARED) * item[:, None] + np.sqrt(1 - _SHARED) * own


def corrected_intervals(world: JudgeWorld, rng: np.random.Generator) -> dict[str, Estimate]:
    """Return each method's interval of the difference on one data set of a world."""
    pair = world.draw(rng)
    powered = powered_difference(pair)
    d = pair.judged[:, 1] - pair.judged[:, 0]
    found = {"corrected": powered.estimate, "labels alone": powered.labels_only}
    if not world.graded:
        try:
            found["error rates"] = rogan_gladen_difference(pair)
        except CannotAnswerError as error:
            found["error rates"] = Estimate(
                estimate=powered.judge_mean, method="", conf_level=0.95, n=0, reason=str(error)
            )
    found["judge alone"] = paired_t(d) if pair.clusters is None else cluster_mean(d, pair.clusters).estimate
    return found
