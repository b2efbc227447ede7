"""From the pairs of a leaderboard to the posterior of its ranks, under four priors of how far models differ."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from evalstats.analysis.posterior.difference import FACTORS, USUAL, size_words
from evalstats.analysis.posterior.result import PriorRow, RankPosterior, RankProbabilityRow
from evalstats.analysis.result import Estimate, Origin
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, Option
from evalstats.stats.many.rank_probabilities import rank_posterior
from evalstats.table.metric import MetricFacts

METHOD = "exchangeable posterior of ranks"


def ranks_posterior(
    scores: Mapping[str, float],
    pairs: Mapping[tuple[str, str], Estimate],
    about: MetricFacts,
    *,
    contrast: str,
    scale: float,
    conf_level: float,
    beside: str,
    origin: Origin,
    notes: Sequence[Note] = (),
) -> RankPosterior:
    """Return the posterior of the ranks of models from their scores and the standard errors of all pairs."""
    names = list(scores)
    place = {name: k for k, name in enumerate(names)}
    errors, dfs = np.zeros((len(names), len(names))), [math.inf]
    for (first, second), pair in pairs.items():
        if pair.std_error is None:
            why = f" ({pair.reason})" if pair.reason else ""
            raise CannotAnswerError(
                f"{first} and {second} have no standard error of their difference{why}; leave one out with {Option('models')}"
            )
        if pair.std_error == 0.0:
            raise CannotAnswerError(
                f"{first} and {second} score alike on every item, so nothing tells them apart; leave one out with "
                f"{Option('models')}"
            )
        errors[place[first], place[second]] = errors[place[second], place[first]] = pair.std_error
        dfs.append(math.inf if pair.df is None else pair.df)
    sign = 1.0 if about.higher_is_better else -1.0
    x = sign * np.array([scores[name] for name in names])
    rows: list[RankProbabilityRow] = []
    priors: list[PriorRow] = []
    order, usual = np.arange(len(names)), None
    for prior, factor in FACTORS.items():
        found = rank_posterior(x, errors, df=min(dfs), scale=factor * scale, conf_level=conf_level, seed=origin.seed)
        if usual is None:
            usual, order = found, np.lexsort((np.array(names), found.expected_rank))
        told = prior == USUAL
        for i in order.tolist():
            row = RankProbabilityRow(
                model=names[i],
                prior=prior,
                estimate=sign * float(found.mean[i]),
                std_error=float(found.std_dev[i]),
                conf_level=conf_level,
                method=METHOD,
                p_first=float(found.p_rank[i, 0]),
                expected_rank=float(found.expected_rank[i]),
                rank_low=int(found.rank_low[i]),
                rank_high=int(found.rank_high[i]),
                loss=float(found.loss[i]),
                p_rank=tuple(found.p_rank[i].tolist()) if told else (),
                p_above=tuple(found.p_above[i, order].tolist()) if told else (),
            )
            rows.append(row)
        words = f"half-Cauchy, scale {size_words(factor * scale, about)}, of the SD between models"
        priors.append(PriorRow(name=prior, scale=factor * scale, words=words))
    if usual is None:
        raise CannotAnswerError("no prior was given")
    return RankPosterior(
        about=about,
        contrast=contrast,
        rows=tuple(rows),
        priors=tuple(priors),
        conf_level=conf_level,
        method=METHOD,
        beside=beside,
        between_sd=usual.between_sd,
        n_resamples=usual.n_draws,
        error=usual.error,
        notes=tuple(notes),
        origin=origin,
    )
