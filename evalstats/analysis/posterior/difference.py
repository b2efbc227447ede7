"""From what a result holds to the posterior of its differences: the likelihood that fits, and four priors."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal

from evalstats.analysis.posterior.result import Posterior, PosteriorRow, PriorRow
from evalstats.analysis.result import Origin
from evalstats.document.model import Note
from evalstats.document.numbers import declared, with_unit
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.stats.posterior import (
    ClustersLikelihood,
    GroupsLikelihood,
    Likelihood,
    PairsLikelihood,
    Prior,
    posteriors,
)
from evalstats.table.metric import MetricFacts

# Of the score's range; without one, of the standard deviation of its items.
RANGE_SHARE, SPREAD_SHARE = 0.1, 0.2
# Of the usual prior's scale. A sceptic, too, can be persuaded: one of normal law stays in doubt whatever the data.
USUAL = "usual"
FACTORS = {USUAL: 1.0, "half as wide": 0.5, "twice as wide": 2.0, "sceptical": 0.25}
_MODELS: dict[type, str] = {
    PairsLikelihood: "multinomial posterior of pairs",
    GroupsLikelihood: "binomial posterior of two groups",
    ClustersLikelihood: "hierarchical posterior of clusters",
}
_T = "posterior of a t estimate"


def prior_scale(about: MetricFacts, scale: float | None, spread: float | None) -> float:
    """Return the usual prior's scale, in the metric's own unit; `spread` is the standard deviation of item scores."""
    if scale is not None:
        if not 0.0 < scale < float("inf"):
            raise InputError(f"prior_scale is {scale:g}; give a positive number, in the metric's own unit")
        return scale
    if about.span is not None:
        return RANGE_SHARE * about.span
    if not spread:
        raise CannotAnswerError(
            f"{about.name} has no bounds, and the spread of its scores is not known, so no prior fits by itself; in Python "
            "posterior(prior_scale=...) sets one"
        )
    return SPREAD_SHARE * spread


_BANNERS = ("simulated", "withheld")
_CAUTIONS = ("missing", "comparability", "dependence", "trust")


def notes_of_data(notes: Iterable[Note]) -> tuple[Note, ...]:
    """Return what holds for whatever is made of the same data: what these are, and what is amiss with them."""
    return tuple(note for note in notes if note.kind in _BANNERS or (note.caution and note.kind in _CAUTIONS))


def need_direction(about: MetricFacts) -> None:
    """Refuse where it is not known which way is better."""
    if about.direction == "asked":
        raise InputError(
            f"which way {about.name} is better is not known, so nothing is better with a probability; add "
            f"{Option('higher_is_better', value=True)} or {Option('higher_is_better', value=False)}"
        )


def size_words(value: float, about: MetricFacts) -> str:
    """Write an amount in the unit that is shown, with four digits at most."""
    return with_unit(declared(float(f"{value:.4g}"), about.scale), about.shown_unit)


def difference_posterior(
    likelihoods: Mapping[str, Likelihood | str],
    about: MetricFacts,
    *,
    of: Literal["compare", "scenarios"],
    baseline: str,
    candidate: str,
    scale: float,
    margin: float | None,
    conf_level: float,
    beside: str,
    origin: Origin,
    notes: tuple[Note, ...] = (),
) -> Posterior:
    """Return the posterior of each difference by its name; a text in the place of a likelihood says why there is none."""
    if margin is not None and not 0.0 < margin < (about.span or float("inf")):
        raise InputError(
            f"margin is {margin:g}; give a positive number within the score's range, in the metric's own unit"
        )
    laws = {name: Prior(scale=factor * scale) for name, factor in FACTORS.items()}
    rows: list[PosteriorRow] = []
    for name, likelihood in likelihoods.items():
        if isinstance(likelihood, str):
            rows.extend(
                PosteriorRow(name=name, prior=prior, estimate=None, conf_level=conf_level, reason=likelihood)
                for prior in laws
            )
            continue
        found = posteriors(likelihood, list(laws.values()), bound=about.span, margin=margin, conf_level=conf_level)
        for prior, each in zip(laws, found, strict=True):
            row = PosteriorRow(
                name=name,
                prior=prior,
                estimate=each.mean,
                std_error=each.std_dev,
                conf_low=each.low,
                conf_high=each.high,
                conf_level=conf_level,
                p_better=each.p_above,
                p_better_by_margin=each.p_above_margin,
                p_worse_by_margin=each.p_below_margin,
                loss_if_chosen=each.loss_if_above,
                loss_if_kept=each.loss_if_below,
                method=_MODELS.get(type(likelihood), _T),
            )
            rows.append(row if about.higher_is_better else _turned(row))
    known = [row for row in rows if row.reason is None]
    if not known:
        raise CannotAnswerError(f"there is no posterior: {rows[0].reason}")
    return Posterior(
        about=about,
        of=of,
        baseline=baseline,
        candidate=candidate,
        rows=tuple(rows),
        priors=tuple(
            PriorRow(
                name=name,
                scale=law.scale,
                words=f"t with {law.df:g} df, scale {size_words(law.scale, about)}, centred at no difference",
            )
            for name, law in laws.items()
        ),
        conf_level=conf_level,
        method=known[0].method,
        beside=beside,
        margin=margin,
        notes=notes,
        origin=origin,
    )


def _turned(row: PosteriorRow) -> PosteriorRow:
    """Return the row of a metric of which less is better: probabilities and losses change sides, numbers stay."""
    return replace(
        row,
        p_better=1.0 - (row.p_better or 0.0),
        p_better_by_margin=row.p_worse_by_margin,
        p_worse_by_margin=row.p_better_by_margin,
        loss_if_chosen=row.loss_if_kept,
        loss_if_kept=row.loss_if_chosen,
    )
