"""Worlds of a judge that favours a side, with people's labels of a part: what the simulations of corrections draw from."""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.paired.means import paired_t
from evalstats.stats.raters.correction import JudgedPair, judged_pair, powered_difference, rogan_gladen_difference

_SHARED = 0.5  # share of the variance of success that an item gives to both models
_OF_CLUSTERS = 0.3  # of which clusters hold so much
_LOWEST, _HIGHEST = 1.0, 10.0
_MEAN, _SPREAD, _NOISE = 6.0, 1.6, 1.2


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


def corrected_intervals(world: JudgeWorld, rng: np.random.Generator) -> dict[str, IntervalEstimate]:
    """Return each method's interval of the difference on one data set of a world."""
    pair = world.draw(rng)
    powered = powered_difference(pair)
    d = pair.judged[:, 1] - pair.judged[:, 0]
    found = {"corrected": powered.estimate, "labels alone": powered.labels_only}
    if not world.graded:
        try:
            found["error rates"] = rogan_gladen_difference(pair)
        except CannotAnswerError as error:
            found["error rates"] = IntervalEstimate(
                estimate=powered.judge_mean, method="", conf_level=0.95, n=0, reason=str(error)
            )
    found["judge alone"] = paired_t(d) if pair.clusters is None else cluster_mean(d, pair.clusters).estimate
    return found
