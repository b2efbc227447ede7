"""Which items tell models apart, and how far a short form is from all items: the frozen result of `items()`."""

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from scipy import special

from evalstats.analysis.drawn import Size, draw
from evalstats.analysis.items.new_scores import Archive, NewScore, by_form, by_sample
from evalstats.analysis.result import Estimate, OfMetric, Origin, Result
from evalstats.analysis.shown_frame import ShownFrame
from evalstats.document import model as document_model
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list, plural
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.item_response import ItemCurves
from evalstats.stats.one_sample import wilson_ends
from evalstats.table.metric import MetricFacts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GRID = 41


@record
class ItemRow:
    """One item and its curve: logit P(a model solves it) = slope * ability + intercept.

    Where lower is better, to solve an item is to score 0.

    Attributes
    ----------
    task, item, variant
        Its key.
    share
        Mean score over the models.
    slope, slope_error, intercept, intercept_error
        Of the curve, on abilities with a standard deviation of 1, with posterior standard deviations.
    reversed
        Whether weak models are shown to solve it more often than strong ones: the rank-sum test of `audit`, with a false
        discovery rate of 5%.
    chosen
        Whether it is part of the short form.
    bend, p_value, p_adjusted
        Whether its answers bend away from the curve: a standardised score, positive where the weakest and the strongest models
        solve it more often than the curve allows, its p-value, and that adjusted by Benjamini and Hochberg. None where the
        item is not tested.
    misfit
        Whether it is found that the curve does not fit, with a false discovery rate of 5%.
    group_shares
        Share of each group of `groups` that solves it, by one answer of each model.
    """

    item: str
    task: str | None = None
    variant: str | None = None
    share: float
    slope: float
    slope_error: float
    intercept: float
    intercept_error: float
    reversed: bool
    chosen: bool
    bend: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    misfit: bool = False
    group_shares: tuple[float, ...] = ()

    @property
    def label(self) -> str:
        """Task, item and variant as one name."""
        return "/".join(part for part in self.key if part)

    @property
    def key(self) -> tuple[str | None, str, str | None]:
        """Task, item and variant."""
        return self.task, self.item, self.variant


@record
class AbilityRow:
    """One model: its score on all items, and where it stands on the scale of the items' curves.

    Attributes
    ----------
    score
        Mean over all items.
    ability, ability_error
        Its ability given its answers and the curves, and what remains open.
    """

    name: str
    score: float
    ability: float
    ability_error: float


@record
class AbilityGroup:
    """Models of similar ability.

    Attributes
    ----------
    ability
        Their mean ability.
    n_models
        How many they are.
    """

    ability: float
    n_models: int


@record
class FamilyRow:
    """One family of models, and on how many items it differs from other models of the same ability.

    Attributes
    ----------
    models
        How many of the models are of this family.
    n_more, n_fewer
        Items that it is found to solve more often, or less often, with a false discovery rate of 5%.
    n_tested
        Items on which enough models differ.
    """

    name: str
    models: int
    n_more: int
    n_fewer: int
    n_tested: int


@record
class FamilyItem:
    """An item that a family solves more or less often than other models of the same ability, and more so than any other family.

    Attributes
    ----------
    task, item, variant
        Its key.
    family
        The family.
    share, expected
        Share of the family's models that solve it, and what one curve for all models expects of them.
    p_value, p_adjusted
        By simulation from that curve; adjusted by Benjamini and Hochberg over all items and families.
    """

    item: str
    task: str | None = None
    variant: str | None = None
    family: str
    share: float
    expected: float
    p_value: float
    p_adjusted: float

    @property
    def label(self) -> str:
        """Task, item and variant as one name."""
        return "/".join(part for part in (self.task, self.item, self.variant) if part)


@record
class SizeRow(Estimate):
    """How well a short form of one size tells the score of a model that had no part in its choice.

    Attributes
    ----------
    estimate, conf_low, conf_high
        Root mean square error of the predicted score, with the interval of a normal error's (chi-square on the models).
    size
        Items of the form.
    largest_error
        The largest error of any model.
    rank_error
        By how many places a model's rank among the others is off, on average.
    random_error
        Root mean square error of the mean of as many random items.
    random_size
        Random items that would err as little.
    difference_error
        Root mean square error of the difference of two models that answer the form; None in results of older versions.
    difference_size
        Random items on which a difference would err as little.
    """

    estimate: float
    size: int
    largest_error: float
    rank_error: float
    random_error: float
    random_size: int
    difference_error: float | None = None
    difference_size: int | None = None


@record(repr=False)
class ItemReport(OfMetric, Result):
    """Curves of all items, and short forms tried on models left out.

    Attributes
    ----------
    rows
        One for each item that all models answered.
    models
        The models that the curves rest on, the best first.
    sizes
        One for each size of a short form, with its error on models left out; empty where there are too few models.
    sizes_reason
        Why there are none; None where there are.
    size
        Items of the short form that is marked in `rows`.
    n_items_any
        Items that any model answered.
    groups
        Models of similar ability, the weakest first, whose shares `rows` give; empty with fewer than ten models.
    fit_reason
        Why no curve is tested for its fit; None where curves are.
    families
        Families of models that were set against all others; empty where none was asked for.
    family_items
        Items on which a family differs, the smallest p-value first.
    irt
        "2pl", or "1pl" where all items share a slope.
    new
        Scores of models that are no part of the archive and answered some of its items.
    folds
        Parts into which the models were dealt; each was left out in turn.
    log_likelihood
        Marginal log-likelihood of all answers.
    left_out
        Models that were measured otherwise than most, and are no part of this.
    """

    about: MetricFacts
    contrast: str
    conf_level: float = 0.95
    rows: tuple[ItemRow, ...]
    models: tuple[AbilityRow, ...]
    sizes: tuple[SizeRow, ...] = ()
    sizes_reason: str | None = None
    size: int
    groups: tuple[AbilityGroup, ...] = ()
    fit_reason: str | None = None
    families: tuple[FamilyRow, ...] = ()
    family_items: tuple[FamilyItem, ...] = ()
    irt: str = "2pl"
    new: tuple[NewScore, ...] = ()
    n_items_any: int
    folds: int
    log_likelihood: float
    converged: bool
    method: str
    left_out: tuple[str, ...] = ()
    origin: Origin = field(default_factory=Origin)
    notes: tuple[Note, ...] = ()

    @property
    def n_items(self) -> int:
        """Items that all models answered."""
        return len(self.rows)

    @property
    def n_models(self) -> int:
        """How many models the curves rest on."""
        return len(self.models)

    @property
    def form(self) -> SizeRow | None:
        """The row of `sizes` for the short form that is marked."""
        return next((row for row in self.sizes if row.size == self.size), None)

    def __repr__(self) -> str:
        """One line; `summary()` says more."""
        return (
            f"<ItemReport: {plural(self.n_items, 'item')} and {plural(self.n_models, 'model')} on {self.benchmark}, "
            f"{self.metric}; a short form of {self.size}>"
        )

    def curves(self) -> ItemCurves:
        """Return slopes, intercepts and abilities as arrays, in the order of `rows` and `models`."""
        names = ("slope", "intercept", "slope_error", "intercept_error")
        of_items = {name: np.array([getattr(row, name) for row in self.rows]) for name in names}
        return ItemCurves(
            **of_items,
            ability=np.array([row.ability for row in self.models]),
            ability_error=np.array([row.ability_error for row in self.models]),
            log_likelihood=self.log_likelihood,
            converged=self.converged,
        )

    def item_curves(
        self,
        *items: str,
        ax: "Axes | None" = None,
        size: Size = None,
        theme: Literal["light", "dark"] | None = None,
    ) -> "Figure":
        """Draw the curves of named items, with the share of models of similar ability that solve each.

        The band is where such shares lie 19 times in 20 if the curve holds. `ax`, `size`, `theme` as in `figure()`. InputError
        if an item is not known, or models are fewer than ten.
        """
        by_name = {name: row for row in self.rows for name in (row.label, row.item)}
        for name in items:
            if name not in by_name:
                raise InputError(f"no item {name!r}; they are those of to_frame()")
        return draw(self.curve_figure([by_name[name] for name in items]), ax=ax, size=size, theme=theme)

    def curve_figure(self, rows: Sequence[ItemRow]) -> document_model.Figure:
        """Return the figure of some items' curves, as a document refers to it."""
        if not self.groups or not rows:
            raise InputError("curves are drawn with the shares of ten or more models; name at least one item")
        reach = max(2.5, *(abs(group.ability) for group in self.groups))
        grid = np.linspace(-reach, reach, _GRID)
        # Of groups that differ in size by one at most.
        n = min(group.n_models for group in self.groups)
        lines: dict[str, list[object]] = {name: [] for name in ("panel", "x", "estimate", "conf_low", "conf_high")}
        points: dict[str, list[object]] = {name: [] for name in ("panel", "x", "estimate", "tone")}
        for row in rows:
            chance = special.expit(row.slope * grid + row.intercept)
            low, high = zip(*(wilson_ends(float(each), n, normal_quantile(0.95)) for each in chance), strict=True)
            lines["x"] += grid.tolist()
            for name, values in (("estimate", chance), ("conf_low", low), ("conf_high", high)):
                lines[name] += [100 * float(value) for value in values]
            lines["panel"] += [row.label] * _GRID
            points["panel"] += [row.label] * len(self.groups)
            points["x"] += [group.ability for group in self.groups]
            points["estimate"] += [100 * share for share in row.group_shares]
            points["tone"] += ["plain"] * len(self.groups)
        solved = "solve it" if self.higher_is_better else "score 0 on it"
        return document_model.Figure(
            id="item-curves",
            plot="curves",
            rows=lines,
            options={
                "marks": points,
                "x_title": "Ability",
                "limits": (-4.0, 104.0),
                "percent": True,
                "log": False,
                "note": f"Dots: the share of {n} models of similar ability that {solved}. Band: where such shares lie 19 times "
                "in 20 if the curve holds.",
            },
            alt=f"Curves of {and_list([row.label for row in rows])}, and the shares of models of similar ability that {solved}.",
            caption=f"Share of models that {solved}, by ability",
        )

    def predicted(self, answers: EvalData | object) -> dict[str, NewScore]:
        """Return the score on all items of each system that answered the short form.

        The interval is that of errors as models left out had them, Student's on their number. InputError if no system
        answered all of the form, or there are no sizes.

        Parameters
        ----------
        answers
            What `evalstats.read` gave, with the items called as here; other items are not used.
        """
        form, archive = self.form, self._archive()
        if form is None:
            raise InputError(f"the error of a short form is not known: {self.sizes_reason}")
        found = {
            name: by_form(archive, name, right, trials)
            for name, (right, trials) in self._answers(answers).items()
            if trials[archive.chosen].all()
        }
        if not found:
            raise InputError(f"no system answered all {self.size} items of the short form; its items are those chosen")
        return found

    def estimated(self, answers: EvalData | object, *, of: Literal["items", "domain"] = "items") -> dict[str, NewScore]:
        """Return the score of each system that answered a random part of the items, with help of the curves.

        The items must have been drawn at random, whatever the models did on them. What the curves expect of a model of its
        ability is corrected by its own answers (prediction-powered), so that wrong curves cost precision and no truth. Nothing
        is gained for the difference of two systems that answered the same items. CannotAnswerError if one answered fewer than
        20 of the items.

        Parameters
        ----------
        answers
            What `evalstats.read` gave, with the items called as here.
        of
            "items": the score on the items of this archive, which is known once all are answered; "domain": on questions of which
            these items are a sample themselves, so that the interval also carries what other items would have changed.
        """
        archive = self._archive()
        return {
            name: by_sample(archive, name, right, trials, of=of)
            for name, (right, trials) in self._answers(answers).items()
        }

    def new_scores(self, answers: EvalData | object) -> tuple[NewScore, ...]:
        """Return a score of each system among the answers, by `predicted` where it answered the short form and no other item.

        A system that answered other items is taken to have answered a random part, as `estimated` has it; one that answered too
        few has no score and a reason. InputError if a system is one of the models that the curves rest on.
        """
        archive, known, found = self._archive(), {model.name for model in self.models}, list[NewScore]()
        for name, (right, trials) in sorted(self._answers(answers).items()):
            if name in known:
                raise InputError(
                    f"{name!r} is one of the {self.n_models} models that the curves rest on, with a score of its own; give "
                    "answers of another model, or keep it out of the archive"
                )
            if self.form is not None and ((trials > 0) == archive.chosen).all():
                found.append(by_form(archive, name, right, trials))
                continue
            try:
                found.append(by_sample(archive, name, right, trials))
            except CannotAnswerError as error:
                n = int((trials > 0).sum())
                found.append(
                    NewScore(name=name, n_items=n, estimate=None, conf_level=self.conf_level, reason=str(error))
                )
        return tuple(found)

    def _archive(self) -> Archive:
        return Archive(
            curves=self.curves(),
            scores=np.array([row.share for row in self.rows]),
            chosen=np.array([row.chosen for row in self.rows]),
            error=None if self.form is None else self.form.estimate,
            worth=None if self.form is None else self.form.random_size,
            conf_level=self.conf_level,
            higher_is_better=self.higher_is_better,
        )

    def _answers(self, answers: EvalData | object) -> dict[str, FloatArray]:
        """Return each system's solved trials and trials of every item of `rows`, shape (2, n_items); 0 where it has none."""
        data = as_data(answers)
        place = {row.key: at for at, row in enumerate(self.rows)}
        of_metric = (pl.col("benchmark") == self.benchmark) & (pl.col("metric") == self.metric)
        scored = data.outcomes.filter(of_metric & (pl.col("status") == "scored"))
        counts = scored.group_by("system", "task", "item", "variant").agg(pl.col("score").sum(), pl.len().alias("n"))
        found: dict[str, FloatArray] = {}
        for system, task, item, variant, right, trials in counts.iter_rows():
            at = place.get((task, item, variant))
            if at is not None:
                solved = right if self.higher_is_better else trials - right
                found.setdefault(str(system), np.zeros((2, len(place))))[:, at] = solved, trials
        if not found:
            raise InputError(f"no item of {self.benchmark} with {self.metric!r} is among the answers")
        return found

    def to_frame(self) -> pl.DataFrame:
        """One row for each item, in glossary names."""
        names = (
            "task", "item", "variant", "share", "slope", "slope_error", "intercept", "intercept_error", "reversed", "chosen",
            "bend", "p_value", "p_adjusted", "misfit",
        )  # fmt: skip
        types: dict[str, type[pl.DataType]] = {
            **dict.fromkeys(("task", "item", "variant"), pl.String),
            **dict.fromkeys(("bend", "p_value", "p_adjusted"), pl.Float64),
        }
        return ShownFrame({name: [getattr(row, name) for row in self.rows] for name in names}, schema_overrides=types)
