"""What people's labels give a judge's scores: the corrected score of each model, and how many labels to buy."""

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl

from evalstats.analysis.judges.ratings import Ratings
from evalstats.analysis.judges.result import CorrectedRow, LabelPlan
from evalstats.analysis.result import Estimate, estimated
from evalstats.document.model import Note
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.raters.correction import (
    FEWEST_LABELS,
    judge_errors,
    labels_needed,
    powered_mean,
    rogan_gladen,
    std_error_for_power,
)
from evalstats.stats.raters.label_sample import chosen_part

_OPEN = 0.8  # of the scale: an interval that covers so much leaves the score open
_USUAL = 0.05  # of the scale: the half width that is asked for where nobody says another


def corrected_scores(ratings: Ratings, names: Sequence[str], level: float) -> tuple[list[CorrectedRow], list[Note]]:
    """Return scores corrected for each judge, where a part of a model's answers has labels and the rest a judge alone."""
    if not ratings.has_labels:
        # Another judge's ratings, or a benchmark's key, are no labels of these models; and the mean preference for whichever
        # model is first by name is nobody's score.
        return [], []
    rows: list[CorrectedRow] = []
    biased: list[str] = []
    short: list[str] = []
    chance = _chances(ratings)
    bounds = (0.0, 1.0) if ratings.numbers[0] >= 0 and ratings.numbers[-1] <= 1 else None
    for judge in names:
        given = ratings.given_by(judge)
        for place, model in enumerate(ratings.model_names):
            of = (ratings.model_codes == place) & np.isfinite(given)
            labelled, alone = of & np.isfinite(ratings.truth), of & ~np.isfinite(ratings.truth)
            if not alone.any():
                continue
            if labelled.sum() < FEWEST_LABELS:
                short.append(model)
                continue
            rows.append(
                _corrected_row(ratings, judge, model, labelled, alone, chance=chance, bounds=bounds, level=level)
            )
            if chance is None and chosen_part(given[of][:, None], labelled[of]) is not None:
                biased.append(model)
    notes: list[Note] = []
    if biased:
        whose = and_list(list(dict.fromkeys(biased)))
        notes.append(
            Note(
                kind="selection",
                text=f"Labelled answers of {whose} are not a random sample: the judge rates the rest differently",
                remedy="Label answers drawn at random, or give the probability with which each was drawn (label_prob)",
            )
        )
    widest = np.inf if bounds is None else _OPEN * (bounds[1] - bounds[0])
    ends = [(row.name, row.conf_low, row.conf_high) for row in rows]
    empty = [name for name, low, high in ends if low is not None and high is not None and high - low >= widest]
    if empty:
        notes.append(
            Note(
                kind="few",
                text=f"The corrected score of {and_list(list(dict.fromkeys(empty)))} says nothing: its interval is nearly as "
                "wide as the scale",
                remedy="Read the score by labels alone, or label more answers",
            )
        )
    if short:
        unique = list(dict.fromkeys(short))
        text = f"Fewer than {FEWEST_LABELS} labels of {and_list(unique)}, too few to correct a score"
        notes.append(Note(kind="few", text=text, remedy=f"Label {FEWEST_LABELS} or more answers of each model"))
    return rows, notes


def _chances(ratings: Ratings) -> FloatArray | None:
    """Return the probability with which each unit was chosen for labelling, where that is known of all labelled ones."""
    labelled = ratings.frame.filter(pl.col("rater").is_in(list(ratings.people)))
    if labelled["label_prob"].null_count():
        return None
    found = np.full(ratings.n_units, np.nan)
    found[labelled["unit"].to_numpy()] = labelled["label_prob"].to_numpy()
    return found


def _corrected_row(
    ratings: Ratings,
    judge: str,
    model: str,
    labelled: BoolArray,
    alone: BoolArray,
    *,
    chance: FloatArray | None,
    bounds: tuple[float, float] | None,
    level: float,
) -> CorrectedRow:
    given, truth = ratings.given_by(judge), ratings.truth
    found = powered_mean(
        given[alone],
        given[labelled],
        truth[labelled],
        probabilities=None if chance is None else chance[labelled],
        clusters=None if ratings.codes is None else (ratings.codes[alone], ratings.codes[labelled]),
        bounds=bounds,
        conf_level=level,
    )
    by_errors: Estimate | None = None
    if ratings.is_binary and chance is None and ratings.codes is None:
        clear = labelled & np.isfinite(ratings.majority)
        errors = judge_errors(given[clear], ratings.majority[clear])
        try:
            by_errors = Estimate(
                **estimated(rogan_gladen(int(given[alone].sum()), int(alone.sum()), errors, conf_level=level))
            )
        except CannotAnswerError as error:
            by_errors = Estimate(estimate=None, method="Rogan-Gladen", conf_level=level, reason=str(error))
    return CorrectedRow(
        **estimated(found.estimate),
        judge=judge,
        name=model or "all answers",
        judge_mean=found.judge_mean,
        n_labels=found.n_labels,
        n_judged=found.n_judged,
        tuning=found.tuning,
        label_worth=found.label_worth,
        by_labels=Estimate(**estimated(found.labels_only)),
        by_errors=by_errors,
    )


def in_points(value: float | str | None, what: str) -> float | None:
    """Return an amount on the scale of the ratings: a number, or points of 100 such as 5pp.

    >>> in_points("5pp", "margin"), in_points("0.5", "half_width")
    (0.05, 0.5)
    """
    if value is None:
        return None
    text = str(value).strip()
    try:
        number = float(text.removesuffix("pp")) / (100 if text.endswith("pp") else 1)
    except ValueError:
        number = -1.0
    if not 0 < number < np.inf:
        raise InputError(
            f"{what} is {value!r}; give an amount above 0 on the scale of the ratings, such as 0.05 or 5pp"
        )
    return number


def label_plan(
    ratings: Ratings, judge: str, *, half_width: float | None, margin: float | None, conf_level: float
) -> LabelPlan | None:
    """Return how many labels a model are needed; None where labels are too few to plan by, or correct nothing."""
    if not ratings.has_labels:
        return None
    given, truth = ratings.given_by(judge), ratings.truth
    try:
        if margin is not None:
            return _for_margin(ratings, given, truth, margin, conf_level)
        wanted = half_width if half_width is not None else _USUAL * float(ratings.numbers[-1] - ratings.numbers[0])
        plan = _for_half_width(ratings, given, truth, wanted, conf_level)
    except CannotAnswerError:
        return None
    if plan is None or half_width is not None or plan.n is None:
        return plan
    # Nobody asked, and there are as many labels already.
    labelled = np.bincount(ratings.model_codes[np.isfinite(given) & np.isfinite(truth)])
    return plan if np.median(labelled[labelled > 0]) < plan.n else None


def _for_half_width(
    ratings: Ratings, given: FloatArray, truth: FloatArray, wanted: float, conf_level: float
) -> LabelPlan | None:
    known = np.isfinite(given) & np.isfinite(truth)
    if known.sum() < FEWEST_LABELS:
        return None
    codes = ratings.model_codes
    judged = np.bincount(codes[np.isfinite(given)])
    # What lies between models does not scatter within one.
    f, y = (_within(each[known], codes[known]) for each in (given, truth))
    needed = labels_needed(
        f,
        y,
        wanted / normal_quantile(conf_level),
        n_items=int(np.median(judged[judged > 0])),
        inflation=_inflation(y, None if ratings.codes is None else ratings.codes[known]),
        conf_level=conf_level,
    )
    return LabelPlan.of(needed, half_width=wanted)


def _for_margin(
    ratings: Ratings, given: FloatArray, truth: FloatArray, margin: float, conf_level: float
) -> LabelPlan | None:
    """Plan by the two models that share the most labelled items."""
    names = [name for name in ratings.model_names if name]
    best: tuple[int, FloatArray, FloatArray, int, IntArray | None] | None = None
    units = {name: _by_prompt(ratings, name) for name in names}
    for first, second in itertools.combinations(units.values(), 2):
        shared = sorted(first.keys() & second.keys())
        a, b = (
            np.array([first[key] for key in shared], dtype=np.int64),
            np.array([second[key] for key in shared], dtype=np.int64),
        )
        f, d = given[b] - given[a], truth[b] - truth[a]
        known = np.isfinite(f) & np.isfinite(d)
        if best is None or known.sum() > best[0]:
            clusters = None if ratings.codes is None else ratings.codes[a][known]
            best = (int(known.sum()), f[known], d[known], int(np.isfinite(f).sum()), clusters)
    if best is None or best[0] < FEWEST_LABELS:
        return None
    _, f, d, n_items, clusters = best
    needed = labels_needed(
        f,
        d,
        std_error_for_power(margin, conf_level=conf_level),
        n_items=n_items,
        inflation=_inflation(d, clusters),
        conf_level=conf_level,
    )
    return LabelPlan.of(needed, margin=margin)


def _within(values: FloatArray, codes: IntArray) -> FloatArray:
    means = np.bincount(codes, weights=values) / np.maximum(np.bincount(codes), 1)
    return values - means[codes]


def _by_prompt(ratings: Ratings, model: str) -> dict[int, int]:
    """Return the unit of each item that a model answered."""
    units = np.flatnonzero(ratings.model_codes == ratings.model_names.index(model))
    return {int(ratings.prompts[unit]): int(unit) for unit in units}


def _inflation(values: FloatArray, clusters: IntArray | None) -> float:
    """Return how much larger clusters make the variance of the mean, at least 1."""
    if clusters is None or values.var() <= 0:
        return 1.0
    sums = np.bincount(clusters, weights=values - values.mean())
    return max(1.0, float(np.square(sums).sum() / (values.size * values.var())))
