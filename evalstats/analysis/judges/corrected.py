"""Scores by a judge corrected by people's labels of a part of each model's answers."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from evalstats.analysis.judges.panel import Panel
from evalstats.analysis.judges.result import CorrectedRow
from evalstats.analysis.result import Estimate, estimated
from evalstats.document.model import Note
from evalstats.document.numbers import several
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import BoolArray, FloatArray
from evalstats.stats.raters.correction import FEWEST_LABELS, judge_errors, powered_mean, rogan_gladen
from evalstats.stats.raters.differences import not_random


def corrected_scores(panel: Panel, names: Sequence[str], level: float) -> tuple[list[CorrectedRow], list[Note]]:
    """Return scores corrected for each judge, where a part of a model's answers has labels and the rest a judge alone."""
    if panel.truth_name != "people" or not panel.is_number:
        return [], []  # another judge's ratings, or a benchmark's key, are no labels of these models
    if panel.source.unit == "pair" and not panel.has_models:
        return [], []  # the mean preference for whichever model is first by name is nobody's score
    rows: list[CorrectedRow] = []
    biased: list[str] = []
    short: list[str] = []
    chance = _chances(panel)
    bounds = (0.0, 1.0) if panel.numbers[0] >= 0 and panel.numbers[-1] <= 1 else None
    for judge in names:
        given = panel.given_by(judge)
        for place, model in enumerate(panel.model_names):
            of = (panel.model_codes == place) & np.isfinite(given)
            labelled, alone = of & np.isfinite(panel.truth), of & ~np.isfinite(panel.truth)
            if not alone.any():
                continue
            if labelled.sum() < FEWEST_LABELS:
                short.append(model)
                continue
            rows.append(_corrected_row(panel, judge, model, labelled, alone, chance=chance, bounds=bounds, level=level))
            if chance is None and not_random(given[labelled], given[alone]):
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


def _chances(panel: Panel) -> FloatArray | None:
    """Return the probability with which each unit was chosen for labelling, where that is known of all labelled ones."""
    labelled = panel.frame.filter(pl.col("rater").is_in(list(panel.people)))
    if labelled["label_prob"].null_count():
        return None
    found = np.full(panel.n_units, np.nan)
    found[labelled["unit"].to_numpy()] = labelled["label_prob"].to_numpy()
    return found


def _corrected_row(
    panel: Panel,
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
