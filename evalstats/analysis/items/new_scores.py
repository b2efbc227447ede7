"""The score of a new model on all items of an archive, from the few that it answered."""

import math
from typing import Literal

import numpy as np

from evalstats.analysis.result import Estimate
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import plural
from evalstats.record import record
from evalstats.stats.checks import BoolArray, FloatArray
from evalstats.stats.estimate import normal_quantile, t_quantile
from evalstats.stats.item_response import ItemCurves
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.raters.correction import FEWEST_LABELS, powered_mean
from evalstats.stats.short_form import predicted_scores, probable_abilities

BY_FORM = "prediction from a short form"
BY_SAMPLE = "archive-assisted mean"
BY_SAMPLE_OF_DOMAIN = "archive-assisted mean of a domain"
# Random parts are so far off in 1 of 2,000.
FAR_FROM_RANDOM = 3.5


@record
class NewScore(Estimate):
    """The score of a model on all items, told from those that it answered and from the archive of earlier models.

    Attributes
    ----------
    n_items
        How many of the items it answered.
    effective_items
        So many random items would tell the score as well without an archive; None where that is not known.
    off_random
        How many standard errors the archive scores higher on the items answered than on a random part; None where they are the
        short form, or all.
    """

    name: str
    n_items: int
    effective_items: float | None = None
    off_random: float | None = None

    @property
    def suspect(self) -> bool:
        """Whether the items answered are no random part, by how hard they were for the archive's models."""
        return self.off_random is not None and abs(self.off_random) > FAR_FROM_RANDOM


@record
class Archive:
    """What earlier models say of the items: their curves, mean scores, and which are the short form (`chosen`).

    `error` is that of the form for models left out, `worth` the random items that would err as little; None where not known.
    """

    curves: ItemCurves
    scores: FloatArray
    chosen: BoolArray
    error: float | None
    worth: int | None
    conf_level: float
    higher_is_better: bool

    def own_scale(self, solved: FloatArray) -> FloatArray:
        """Return shares of items solved as scores of the metric."""
        return solved if self.higher_is_better else 1.0 - solved


def by_form(archive: Archive, name: str, right: FloatArray, trials: FloatArray) -> NewScore:
    """Predict a score from the answers to the short form.

    `right`, `trials`: float64, shape (n_items,): solved trials and trials, 0 where there is no answer.
    """
    if archive.error is None:
        raise InputError("the error of a short form is not known")
    form, n_models = np.flatnonzero(archive.chosen), len(archive.curves.ability)
    value = float(archive.own_scale(predicted_scores(archive.curves, form, right[form, None], trials[form, None]))[0])
    reach = t_quantile(archive.conf_level, n_models) * archive.error
    return NewScore(
        name=name,
        n_items=len(form),
        effective_items=None if archive.worth is None else float(archive.worth),
        estimate=value,
        std_error=archive.error,
        conf_low=max(0.0, value - reach),
        conf_high=min(1.0, value + reach),
        conf_level=archive.conf_level,
        df=float(n_models),
        method=BY_FORM,
    )


def by_sample(
    archive: Archive, name: str, right: FloatArray, trials: FloatArray, *, of: Literal["items", "domain"] = "items"
) -> NewScore:
    """Estimate a score from the answers to a random part of the items; arguments as of `by_form`.

    `of`: whether the score is that on these very items, or on a domain of which they are a sample.

    Raises
    ------
    CannotAnswerError
        If fewer than 20 items were answered.
    """
    if of not in ("items", "domain"):
        raise InputError(f"of is {of!r}; give 'items' or 'domain'")
    known, level = trials > 0, archive.conf_level
    at, n_items = np.flatnonzero(known), len(known)
    if at.size < FEWEST_LABELS:
        raise CannotAnswerError(
            f"{name!r} answered {at.size} of {plural(n_items, 'item')}; at least {FEWEST_LABELS} are needed"
        )
    shares = archive.own_scale(right[at] / trials[at])
    if known.all():
        mean = float(shares.mean())
        if of == "items":
            reason = "all items were answered, so their score is known and not estimated"
            return NewScore(
                name=name, n_items=n_items, estimate=mean, conf_level=level, method="mean of all items", reason=reason
            )
        low, high = wilson_ends(mean, n_items, normal_quantile(level))
        return NewScore(
            name=name,
            n_items=n_items,
            effective_items=float(n_items),
            estimate=mean,
            conf_low=low,
            conf_high=high,
            conf_level=level,
            method="Wilson",
        )
    ability = probable_abilities(archive.curves, at, right[at, None], trials[at, None])
    expected = archive.own_scale(archive.curves.chances(ability)[:, 0])
    told = powered_mean(
        expected[~known],
        expected[known],
        shares,
        bounds=(0.0, 1.0),
        pseudo=0.5,
        finite=of == "items",
        conf_level=level,
    ).estimate
    effective, spread = None, float(shares.var(ddof=1))
    if told.std_error and spread:
        # So many random items alone have the same error, by the formula of their mean.
        effective = 1.0 / (told.std_error**2 / spread + (1.0 / n_items if of == "items" else 0.0))
    # Whether the items answered are like the rest: the archive knows its own mean over a part and over all.
    error = float(archive.scores.std(ddof=1)) * math.sqrt(1.0 / at.size - 1.0 / n_items)
    return NewScore(
        name=name,
        n_items=int(at.size),
        effective_items=effective,
        off_random=float(archive.scores[at].mean() - archive.scores.mean()) / error if error > 0 else 0.0,
        estimate=told.estimate,
        std_error=told.std_error,
        conf_low=told.conf_low,
        conf_high=told.conf_high,
        conf_level=level,
        df=told.df,
        method=BY_SAMPLE if of == "items" else BY_SAMPLE_OF_DOMAIN,
        reason=told.reason,
    )
