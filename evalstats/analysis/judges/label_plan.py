"""How many labels to buy: for a score to within so much, or to find a difference of two models."""

import itertools

import numpy as np

from evalstats.analysis.judges.panel import Panel
from evalstats.analysis.judges.result import LabelPlan
from evalstats.errors import CannotAnswerError, InputError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import normal_quantile
from evalstats.stats.raters.correction import FEWEST_LABELS
from evalstats.stats.raters.label_counts import labels_needed, std_error_for_power

# The half width that is asked for where nobody says another: so much of the scale.
_USUAL = 0.05


def in_points(value: float | str | None, what: str) -> float | None:
    """Return an amount on the scale of the ratings: a number, or points of 100 such as 5pp.

    >>> in_points("5pp", "--margin"), in_points("0.5", "--half-width")
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
    panel: Panel, judge: str, *, half_width: float | None, margin: float | None, conf_level: float
) -> LabelPlan | None:
    """Return how many labels a model are needed; None where labels are too few to plan by, or correct nothing."""
    if panel.truth_name != "people" or not panel.is_number:
        return None
    if panel.source.unit == "pair" and not panel.has_models:
        return None
    given, truth = panel.given_by(judge), panel.truth
    try:
        if margin is not None:
            return _for_margin(panel, given, truth, margin, conf_level)
        wanted = half_width if half_width is not None else _USUAL * float(panel.numbers[-1] - panel.numbers[0])
        plan = _for_half_width(panel, given, truth, wanted, conf_level)
    except CannotAnswerError:
        return None
    if plan is None or half_width is not None or plan.n is None:
        return plan
    # Nobody asked, and there are as many labels already.
    labelled = np.bincount(panel.model_codes[np.isfinite(given) & np.isfinite(truth)])
    return plan if np.median(labelled[labelled > 0]) < plan.n else None


def _for_half_width(
    panel: Panel, given: FloatArray, truth: FloatArray, wanted: float, conf_level: float
) -> LabelPlan | None:
    known = np.isfinite(given) & np.isfinite(truth)
    if known.sum() < FEWEST_LABELS:
        return None
    codes = panel.model_codes
    judged = np.bincount(codes[np.isfinite(given)])
    # What lies between models does not scatter within one.
    f, y = (_within(each[known], codes[known]) for each in (given, truth))
    needed = labels_needed(
        f,
        y,
        wanted / normal_quantile(conf_level),
        n_items=int(np.median(judged[judged > 0])),
        inflation=_inflation(y, None if panel.codes is None else panel.codes[known]),
        conf_level=conf_level,
    )
    return LabelPlan.of(needed, half_width=wanted)


def _for_margin(
    panel: Panel, given: FloatArray, truth: FloatArray, margin: float, conf_level: float
) -> LabelPlan | None:
    """Plan by the two models that share the most labelled items."""
    names = [name for name in panel.model_names if name]
    best: tuple[int, FloatArray, FloatArray, int, IntArray | None] | None = None
    units = {name: _by_prompt(panel, name) for name in names}
    for first, second in itertools.combinations(units.values(), 2):
        shared = sorted(first.keys() & second.keys())
        a, b = (
            np.array([first[key] for key in shared], dtype=np.int64),
            np.array([second[key] for key in shared], dtype=np.int64),
        )
        f, d = given[b] - given[a], truth[b] - truth[a]
        known = np.isfinite(f) & np.isfinite(d)
        if best is None or known.sum() > best[0]:
            clusters = None if panel.codes is None else panel.codes[a][known]
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


def _by_prompt(panel: Panel, model: str) -> dict[int, int]:
    """Return the unit of each item that a model answered."""
    units = np.flatnonzero(panel.model_codes == panel.model_names.index(model))
    return {int(panel.prompts[unit]): int(unit) for unit in units}


def _inflation(values: FloatArray, clusters: IntArray | None) -> float:
    """Return how much larger clusters make the variance of the mean, at least 1."""
    if clusters is None or values.var() <= 0:
        return 1.0
    sums = np.bincount(clusters, weights=values - values.mean())
    return max(1.0, float(np.square(sums).sum() / (values.size * values.var())))
