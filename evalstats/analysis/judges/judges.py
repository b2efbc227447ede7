"""Judges against people: agreement beside that of people among themselves, errors by model, and corrected scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from evalstats.analysis.judges.options import Scale
from evalstats.analysis.judges.result import BiasRow, CorrectedRow, JudgeReport, JudgeRow, Standing
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Estimate, unknown_name
from evalstats.document.model import Note
from evalstats.document.numbers import number, plural, several
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData, as_data
from evalstats.stats import estimate as numbers
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_level
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.one_sample import mean_t, wilson
from evalstats.stats.raters.agreement import (
    MOST_LEVELS,
    Metric,
    Over,
    RatingTable,
    cohen_kappa,
    confusion,
    gwet_ac1,
    judge_alpha,
    raw_agreement,
)
from evalstats.stats.raters.correction import FEWEST_LABELS, equal_means_p, judge_errors, powered_mean, rogan_gladen
from evalstats.stats.raters.intraclass import intraclass_correlations

_UNIT = ("item", "variant", "run", "model")
# Alpha this much below that of people is worth no worry: their own alpha is seldom known more closely.
_MARGIN = 0.1
_MOST_ORDERED = 20
_FEWEST_OF_A_MODEL = 10
_SURE = 0.05


def judges(
    data: EvalData | object,
    *,
    reference: str | Sequence[str] = "human",
    criterion: str | None = None,
    scale: Scale = "auto",
    cluster: str | Sequence[str] | None = None,
    conf_level: float = 0.95,
    n_resamples: int = 4000,
    seed: int = 0,
) -> JudgeReport:
    """Say whether judges can stand in for people, how they err, and what scores become when their errors are corrected.

    Parameters
    ----------
    data
        Ratings: what `evalstats.from_ratings` or `read` gave, or a table of ratings with the glossary's columns.
    reference
        Whose ratings are the truth: "human" for all raters of that kind, or raters by name.
    criterion
        What was rated, where there is more than one.
    scale
        "nominal" for labels, "ordinal" for steps, "interval" and "ratio" for numbers; "auto" takes two values or labels for
        nominal, up to 20 whole numbers for ordinal, and other numbers for interval.
    cluster
        Column of the ratings whose levels share something ("item" where several models answered each); none: units share
        nothing.
    n_resamples, seed
        Of the bootstrap of units.

    Returns
    -------
    JudgeReport
        Agreement is Krippendorff's alpha of the judge with single people, beside that of people among themselves. Scores are
        corrected where at least 20 answers of a model have labels and others only the judge.

    Raises
    ------
    InputError
        If a name is unknown, or ratings hold several criteria.
    CannotAnswerError
        If no unit was rated by a judge and by people, or all ratings are the same.

    Examples
    --------
    >>> import evalstats as es
    >>> rows = {"item": [*range(40)] * 2, "rater": ["ann"] * 40 + ["gpt"] * 40}
    >>> rows["value"] = [i % 2 for i in range(40)] + [(i + (i % 7 == 0)) % 2 for i in range(40)]
    >>> found = judges(es.from_ratings(rows, humans="ann"))
    >>> found.row("gpt").raw.estimate, round(found.row("gpt").estimate, 2)
    (0.85, 0.7)
    """
    check_level(conf_level)
    given = as_data(data)
    panel = _panel(given, (reference,) if isinstance(reference, str) else tuple(reference), criterion, scale, cluster)
    over = Over(conf_level=conf_level, n_resamples=n_resamples, seed=seed)
    if panel.codes is not None:
        over["clusters"] = panel.codes
    rows = [_judge_row(panel, name, over) for name in panel.judges]
    rows.sort(key=lambda row: -(row.estimate if row.estimate is not None else -2.0))
    names = [row.name for row in rows]
    by_model = [each for name in names for each in _by_model(panel, name, conf_level)]
    corrected, notes = _corrected(panel, names, conf_level)
    return JudgeReport(
        benchmark=panel.benchmark,
        criterion=panel.criterion,
        reference=panel.people,
        scale=panel.scale,
        rows=tuple(rows),
        by_model=tuple(by_model),
        corrected=tuple(corrected),
        conf_level=conf_level,
        n_ratings=panel.frame.height,
        n_units=panel.n_units,
        clusters=panel.clusters,
        n_resamples=n_resamples,
        seed=seed,
        version=toolkit_version(),
        sources=sources_of(given, panel.runs),
        notes=(*run_notes(given, panel.runs), *_cautions(rows, by_model), *notes, *panel.notes),
    )


# --- ratings ---


@dataclass(frozen=True, kw_only=True)
class _Panel:
    """Ratings of one criterion: units, raters, and values as numbers or codes of labels."""

    frame: pl.DataFrame
    benchmark: str
    criterion: str
    people: tuple[str, ...]
    judges: tuple[str, ...]
    levels: tuple[str, ...]
    numbers: FloatArray
    scale: Metric
    clusters: tuple[str, ...]
    codes: IntArray | None
    notes: tuple[Note, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        """Runs whose answers were rated."""
        return tuple(self.frame["run"].drop_nulls().unique().sort().to_list())

    @property
    def n_units(self) -> int:
        """Things rated."""
        return self.models.size

    @cached_property
    def models(self) -> "np.ndarray[Any, Any]":
        """The model of every unit; "" where none is named."""
        return self.frame.unique("unit", keep="first").sort("unit")["model"].fill_null("").to_numpy()

    @property
    def is_number(self) -> bool:
        """Whether ratings can be averaged: numbers, or yes and no."""
        return self.frame["value"].null_count() == 0

    @property
    def is_binary(self) -> bool:
        """Whether ratings are 0 and 1."""
        return self.is_number and set(self.numbers.tolist()) <= {0.0, 1.0}

    def counts(self, raters: Sequence[str]) -> IntArray:
        """Count ratings of these raters by unit and level."""
        own = self.frame.filter(pl.col("rater").is_in(list(raters)))
        q = len(self.numbers)
        flat = np.bincount(
            own["unit"].to_numpy().astype(np.int64) * q + own["level"].to_numpy(), minlength=self.n_units * q
        )
        return flat.reshape(self.n_units, q).astype(np.int64)

    @cached_property
    def truth(self) -> FloatArray:
        """The people's rating of every unit as a number: their mean; NaN where there is none."""
        counts = self.counts(self.people).astype(np.float64)
        n = counts.sum(axis=1)
        return np.where(n > 0, counts @ self.numbers / np.maximum(n, 1.0), np.nan)

    @cached_property
    def settled(self) -> FloatArray:
        """The rating that most people gave each unit; NaN where there is none, or two are tied."""
        counts = self.counts(self.people)
        top = counts.max(axis=1)
        alone = (counts == top[:, None]).sum(axis=1) == 1
        return np.where((top > 0) & alone, self.numbers[counts.argmax(axis=1)], np.nan)

    def codes_of(self, units: BoolArray) -> IntArray | None:
        """Return the clusters of some units; None where units share nothing."""
        return None if self.codes is None else self.codes[units]

    def given_by(self, judge: str) -> FloatArray:
        """Return one judge's rating of every unit; NaN where there is none."""
        counts = self.counts([judge])
        return np.where(counts.sum(axis=1) > 0, self.numbers[counts.argmax(axis=1)], np.nan)


def _panel(
    data: EvalData, reference: tuple[str, ...], criterion: str | None, scale: Scale, cluster: str | Sequence[str] | None
) -> _Panel:
    frame = data.ratings
    if not frame.height:
        raise CannotAnswerError("these data hold no ratings; evalstats.from_ratings makes them of a table")
    frame, named = _one_criterion(frame, criterion)
    people, others = _sides(frame, reference)
    known = pl.col("value").is_not_null() & pl.col("value").is_not_nan() | pl.col("label").is_not_null()
    empty = frame.height - frame.filter(known).height
    frame = frame.filter(known)
    frame, levels, values, metric = _levels(frame, scale)
    frame = frame.with_columns(pl.struct(_UNIT).rank("dense").sub(1).cast(pl.Int64).alias("unit")).sort("unit", "rater")
    clusters = () if cluster is None else (cluster,) if isinstance(cluster, str) else tuple(cluster)
    notes: list[Note] = []
    if empty:
        notes.append(Note(kind="missing", text=f"{plural(empty, 'rating')} without a value left out", caution=False))
    doubles = (
        frame.filter(pl.col("rater").is_in(others)).select(pl.struct("unit", "rater").is_duplicated().sum()).item()
    )
    if doubles:
        raise InputError(
            f"{doubles} ratings of a judge stand twice for one answer; give each rating its own rater or criterion"
        )
    return _Panel(
        frame=frame,
        benchmark=_benchmark(data, frame),
        criterion=named,
        people=people,
        judges=others,
        levels=levels,
        numbers=values,
        scale=metric,
        clusters=clusters,
        codes=_codes(frame, clusters),
        notes=tuple(notes),
    )


def _benchmark(data: EvalData, frame: pl.DataFrame) -> str:
    runs = data.runs.filter(pl.col("run").is_in(frame["run"].drop_nulls().unique().to_list()))
    names = runs["benchmark"].unique().sort().to_list()
    return several(names) if names else ""


def _one_criterion(frame: pl.DataFrame, criterion: str | None) -> tuple[pl.DataFrame, str]:
    there = frame["criterion"].unique().sort().to_list()
    if criterion is None and len(there) > 1:
        raise InputError(f"ratings are of {len(there)} criteria: {', '.join(there)}; choose one with criterion")
    if criterion is not None and criterion not in there:
        raise InputError(unknown_name(criterion, there, what="criterion"))
    name = there[0] if criterion is None else criterion
    return frame.filter(pl.col("criterion") == name), name


def _sides(frame: pl.DataFrame, reference: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    raters = frame["rater"].unique().sort().to_list()
    if reference == ("human",):
        people = frame.filter(pl.col("rater_kind") == "human")["rater"].unique().sort().to_list()
        if not people:
            raise InputError(
                f"no rater is marked as human; say whose ratings are the truth with reference; raters: {', '.join(raters[:10])}"
            )
    else:
        people = sorted(set(reference))
        for name in people:
            if name not in raters:
                raise InputError(unknown_name(name, raters, what="rater"))
    others = [name for name in raters if name not in people]
    if not others:
        raise CannotAnswerError("all raters are people; a judge is needed beside them")
    return tuple(people), tuple(others)


def _levels(frame: pl.DataFrame, scale: Scale) -> tuple[pl.DataFrame, tuple[str, ...], FloatArray, Metric]:
    """Return the ratings with a code for each level, the levels in order as words and numbers, and the scale."""
    if scale not in get_args(Scale):
        raise InputError(f"scale {scale!r} is unknown; choose one of {', '.join(get_args(Scale))}")
    is_number = frame["value"].null_count() == 0
    column = "value" if is_number else "label"
    if not is_number and frame["label"].null_count():
        raise InputError("some ratings are numbers and some are labels; give all of one kind")
    there = frame[column].unique().sort()
    if there.len() > MOST_LEVELS:
        # Numbers too fine for a table are read to a two-hundredth of their range.
        if not is_number:
            raise InputError(f"{there.len()} different labels are no categories; at most {MOST_LEVELS} are")
        low, high = float(frame["value"].min()), float(frame["value"].max())  # pyright: ignore[reportArgumentType] - numbers
        step = (high - low) / (MOST_LEVELS - 1)
        frame = frame.with_columns(((pl.col("value") - low) / step).round() * step + low)
        there = frame[column].unique().sort()
    words = [str(each) for each in there.to_list()]
    code = pl.col(column).replace_strict(there, pl.Series(range(there.len()), dtype=pl.Int64), return_dtype=pl.Int64)
    frame = frame.with_columns(code.alias("level"))
    values = there.to_numpy().astype(np.float64) if is_number else np.arange(there.len(), dtype=np.float64)
    if is_number:
        words = [f"{value:g}" for value in values]
    chosen: Metric = "nominal" if scale == "auto" else scale
    if scale == "auto" and is_number and there.len() > 2:
        whole = bool((values == np.round(values)).all())
        chosen = "ordinal" if whole and there.len() <= _MOST_ORDERED else "interval"
    if chosen != "nominal" and not is_number:
        raise InputError(f"labels have no {chosen} order; give them as numbers")
    return frame, tuple(words), values, chosen


def _codes(frame: pl.DataFrame, clusters: tuple[str, ...]) -> IntArray | None:
    if not clusters:
        return None
    name, *others = clusters
    if others:
        raise InputError("judges takes one cluster; name the coarsest")
    if name not in frame.columns:
        raise InputError(
            unknown_name(name, [each for each in frame.columns if each not in ("unit", "level")], what="column")
        )
    units = frame.unique("unit", keep="first").sort("unit")
    return (
        units.select(pl.col(name).cast(pl.String).fill_null("").rank("dense").sub(1).cast(pl.Int64))
        .to_series()
        .to_numpy()
    )


# --- agreement ---


def _judge_row(panel: _Panel, name: str, over: Over) -> JudgeRow:
    own, people = panel.counts([name]), panel.counts(panel.people)
    both = (own.sum(axis=1) > 0) & (people.sum(axis=1) > 0)
    if not both.any():
        raise CannotAnswerError(f"{name!r} and people rated no answer in common")
    alpha = judge_alpha(own, people, panel.numbers, panel.scale, **over)
    truth, given = panel.settled, panel.given_by(name)
    known: BoolArray = np.isfinite(truth) & np.isfinite(given)
    if not known.any():
        raise CannotAnswerError(
            f"people disagree on every answer that {name!r} rated, so there is nothing to hold it against"
        )
    first, second = _nearest(panel, truth[known]), _nearest(panel, given[known])
    within = Over(**over)
    if panel.codes is not None:
        within["clusters"] = panel.codes[known]
    q = len(panel.numbers)
    pairs = RatingTable(
        counts=np.eye(q, dtype=np.int64)[first] + np.eye(q, dtype=np.int64)[second], levels=panel.numbers
    )
    weights: Literal["none", "quadratic"] = "none" if panel.scale == "nominal" else "quadratic"
    table = confusion(first, second, q)
    yes = judge_errors(given[known], truth[known]) if panel.is_binary else None
    level = over.get("conf_level", 0.95)
    return JudgeRow(
        **_fields(alpha.with_people),
        name=name,
        n_units=int(both.sum()),
        n_people=len(panel.people),
        people=_estimate(alpha.among_people),
        difference=_estimate(alpha.difference),
        standing=_standing(alpha.difference),
        raw=_known_estimate(raw_agreement(pairs, **within)),
        kappa=_known_estimate(cohen_kappa(first, second, q, weights, **within)),
        ac1=_known_estimate(gwet_ac1(pairs, **within)),
        icc=_icc(np.column_stack((given, panel.truth))[both], panel, level),
        bias=_estimate(_mean((given - panel.truth)[both], panel.codes_of(both), level)) if panel.is_number else None,
        sensitivity=_share(yes.yes_yes, yes.yes_yes + yes.no_yes, level) if yes else None,
        specificity=_share(yes.no_no, yes.no_no + yes.yes_no, level) if yes else None,
        favours_p=_favours(panel, name),
        levels=panel.levels,
        confusion=tuple(tuple(int(n) for n in row) for row in table) if q <= _MOST_ORDERED else (),
    )


def _standing(difference: numbers.Estimate | None) -> Standing:
    if difference is None:
        return "no second person"
    if difference.conf_low is None or difference.conf_high is None:
        return "open"
    if difference.conf_high < 0:
        return "below people"
    if difference.conf_low > 0:
        return "above people"
    return "as people" if difference.conf_low > -_MARGIN else "open"


def _nearest(panel: _Panel, values: FloatArray) -> IntArray:
    """Return the level nearest to each value: a mean of several people may lie between two."""
    return np.abs(values[:, None] - panel.numbers[None, :]).argmin(axis=1).astype(np.int64)


def _mean(values: FloatArray, codes: object, level: float) -> numbers.Estimate:
    if codes is None or values.size < 2:
        return mean_t(values, conf_level=level)
    return cluster_mean(values, np.asarray(codes), conf_level=level).estimate


def _icc(pairs: FloatArray, panel: _Panel, level: float) -> Estimate | None:
    if panel.scale == "nominal" or len(pairs) < 2:
        return None
    try:
        return _estimate(intraclass_correlations(pairs, conf_level=level).estimates["ICC2"])
    except InputError as error:
        return Estimate(estimate=None, method="ICC2", conf_level=level, reason=str(error))


def _share(x: int, n: int, level: float) -> Estimate | None:
    return _estimate(wilson(x, n, conf_level=level)) if n else None


def _fields(found: numbers.Estimate) -> dict[str, Any]:
    names = ("estimate", "std_error", "conf_low", "conf_high", "conf_level", "df", "p_value", "method", "reason")
    return {name: getattr(found, name) for name in names}


def _known_estimate(found: numbers.Estimate) -> Estimate:
    return Estimate(**_fields(found))


def _estimate(found: numbers.Estimate | None) -> Estimate | None:
    return None if found is None else _known_estimate(found)


# --- by model ---


def _errors_by_model(panel: _Panel, judge: str) -> dict[str, BoolArray]:
    known = np.isfinite(panel.truth) & np.isfinite(panel.given_by(judge))
    return {str(name): known & (panel.models == name) for name in np.unique(panel.models[known]) if name}


def _by_model(panel: _Panel, judge: str, level: float) -> list[BiasRow]:
    if not panel.is_number:
        return []
    truth, given = panel.truth, panel.given_by(judge)
    rows: list[BiasRow] = []
    for name, of in _errors_by_model(panel, judge).items():
        clear = of & np.isfinite(panel.settled)
        yes = judge_errors(given[clear], panel.settled[clear]) if panel.is_binary and clear.any() else None
        rows.append(
            BiasRow(
                **_fields(_mean(given[of] - truth[of], panel.codes_of(of), level)),
                judge=judge,
                name=name,
                n_units=int(of.sum()),
                sensitivity=_share(yes.yes_yes, yes.yes_yes + yes.no_yes, level) if yes else None,
                specificity=_share(yes.no_no, yes.no_no + yes.yes_no, level) if yes else None,
            )
        )
    return rows


def _favours(panel: _Panel, judge: str) -> float | None:
    """Test that the judge errs alike for all models, by Welch's analysis of variance; None with fewer than two models."""
    if not panel.is_number:
        return None
    off = panel.given_by(judge) - panel.truth
    groups = [off[of] for of in _errors_by_model(panel, judge).values() if of.sum() >= _FEWEST_OF_A_MODEL]
    if len(groups) < 2 or any(each.var() <= 0 for each in groups):
        return None
    return equal_means_p(groups)


# --- corrected scores ---


def _corrected(panel: _Panel, names: Sequence[str], level: float) -> tuple[list[CorrectedRow], list[Note]]:
    """Return scores corrected for each judge, where a part of a model's answers has labels and the rest a judge alone."""
    if not panel.is_number:
        return [], []
    rows: list[CorrectedRow] = []
    biased: list[str] = []
    short: list[str] = []
    chance = _chances(panel)
    bounds = (0.0, 1.0) if panel.numbers[0] >= 0 and panel.numbers[-1] <= 1 else None
    for judge in names:
        given = panel.given_by(judge)
        for model in dict.fromkeys(str(each) for each in panel.models):
            of = (panel.models == model) & np.isfinite(given)
            labelled, alone = of & np.isfinite(panel.truth), of & ~np.isfinite(panel.truth)
            if not alone.any():
                continue
            if labelled.sum() < FEWEST_LABELS:
                short.append(model)
                continue
            rows.append(_corrected_row(panel, judge, model, labelled, alone, chance=chance, bounds=bounds, level=level))
            if chance is None and _not_random(given[labelled], given[alone]):
                biased.append(model)
    notes: list[Note] = []
    if biased:
        whose = several(list(dict.fromkeys(biased)))
        notes.append(
            Note(
                kind="selection",
                text=f"labelled answers of {whose} are no random part: the judge rates the rest otherwise",
                remedy="label answers drawn at random, or give the probability with which each was drawn (label_prob)",
            )
        )
    if short:
        unique = list(dict.fromkeys(short))
        text = f"fewer than {FEWEST_LABELS} labels of {several(unique)}, too few to correct a score"
        notes.append(Note(kind="few", text=text, remedy=f"label {FEWEST_LABELS} or more answers of each model"))
    return rows, notes


def _chances(panel: _Panel) -> FloatArray | None:
    """Return the probability with which each unit was chosen for labelling, where that is known of all labelled ones."""
    labelled = panel.frame.filter(pl.col("rater").is_in(list(panel.people)))
    if labelled["label_prob"].null_count():
        return None
    found = np.full(panel.n_units, np.nan)
    found[labelled["unit"].to_numpy()] = labelled["label_prob"].to_numpy()
    return found


def _not_random(labelled: FloatArray, alone: FloatArray) -> bool:
    """Whether the judge's scores of labelled answers differ from those of the rest by more than chance gives (1 in 1,000)."""
    error = float(np.sqrt(labelled.var(ddof=1) / labelled.size + alone.var() / alone.size))
    return error > 0 and abs(float(labelled.mean() - alone.mean())) > numbers.normal_quantile(0.999) * error


def _corrected_row(
    panel: _Panel,
    judge: str,
    model: str,
    labelled: BoolArray,
    alone: BoolArray,
    *,
    chance: FloatArray | None,
    bounds: tuple[float, float] | None,
    level: float,
) -> CorrectedRow:
    given, truth = panel.given_by(judge), panel.truth
    found = powered_mean(
        given[alone],
        given[labelled],
        truth[labelled],
        probabilities=None if chance is None else chance[labelled],
        clusters=None if panel.codes is None else (panel.codes[alone], panel.codes[labelled]),
        bounds=bounds,
        conf_level=level,
    )
    by_errors: Estimate | None = None
    if panel.is_binary and chance is None and panel.codes is None:
        clear = labelled & np.isfinite(panel.settled)
        errors = judge_errors(given[clear], panel.settled[clear])
        try:
            by_errors = _estimate(rogan_gladen(int(given[alone].sum()), int(alone.sum()), errors, conf_level=level))
        except CannotAnswerError as error:
            by_errors = Estimate(estimate=None, method="Rogan-Gladen", conf_level=level, reason=str(error))
    return CorrectedRow(
        **_fields(found.estimate),
        judge=judge,
        name=model or "all answers",
        judge_mean=found.judge_mean,
        n_labels=found.n_labels,
        n_judged=found.n_judged,
        tuning=found.tuning,
        label_worth=found.label_worth,
        by_labels=_known_estimate(found.labels_only),
        by_errors=by_errors,
    )


def _cautions(rows: Sequence[JudgeRow], by_model: Sequence[BiasRow]) -> list[Note]:
    notes: list[Note] = []
    for row in rows:
        own = [each for each in by_model if each.judge == row.name and each.estimate is not None]
        if row.favours_p is not None and row.favours_p < _SURE and len(own) > 1:
            most, least = (pick(own, key=lambda each: each.estimate or 0.0) for pick in (max, min))
            gap = (most.estimate or 0.0) - (least.estimate or 0.0)
            text = f"{row.name} favours {most.name}: by {number(gap, 2)} against {least.name}, measured by people's ratings"
            notes.append(
                Note(
                    kind="trust", text=text, remedy="do not compare models by this judge without correcting its scores"
                )
            )
    few = [row for row in rows if row.n_units < 2 * _FEWEST_OF_A_MODEL]
    if few:
        fewest = min(row.n_units for row in few)
        notes.append(
            Note(kind="few", text=f"only {fewest} answers have a judge's and people's rating", remedy="label more")
        )
    return notes
