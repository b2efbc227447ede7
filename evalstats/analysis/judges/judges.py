"""Judges against people: agreement beside that of people among themselves, errors by model, and corrected scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl

from evalstats.analysis.judges.biases import bias_notes, biases_of_scores, biases_of_votes, families_said
from evalstats.analysis.judges.labels import corrected_scores, in_points, label_plan
from evalstats.analysis.judges.options import Scale
from evalstats.analysis.judges.panel import MOST_ORDERED, Panel, benchmark_of, panel_of
from evalstats.analysis.judges.result import BiasRow, JudgeReport, JudgeRow, PeopleAgreement, PersonRow, Standing
from evalstats.analysis.judges.sources import Rated, ratings_data, votes_of_judges
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Estimate, estimated
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import number
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list
from evalstats.schema.data import EvalData
from evalstats.stats import estimate as numbers
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, check_level
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import two_sided_t_p
from evalstats.stats.one_sample import mean_t, wilson
from evalstats.stats.raters.agreement import (
    Over,
    RatingTable,
    alpha_where_two_rated,
    cohen_kappa,
    confusion,
    gwet_ac1,
    judge_alpha,
    judge_minus_people,
    krippendorff_alpha,
    raw_agreement,
)
from evalstats.stats.raters.correction import equal_means_p, judge_errors
from evalstats.stats.raters.intraclass import intraclass_correlations

# Alpha this much below that of people is worth no worry: their own alpha is seldom known more closely.
_MARGIN = 0.1
_FEWEST_OF_A_MODEL = 10
_SURE = 0.05


@recorded
def judges(
    data: EvalData | object,
    *,
    reference: str | Sequence[str] = "human",
    criterion: str | None = None,
    scale: Scale = "auto",
    cluster: str | Sequence[str] | None = None,
    half_width: float | str | None = None,
    margin: float | str | None = None,
    families: Mapping[str, str] | Sequence[str] = (),
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
    half_width, margin
        What labels to buy are for: a model's score to within so much, or a difference of two models to be found with 80% power,
        on the scale of the ratings ("5pp" is 0.05). By default a half width of a twentieth of the scale.
    families
        Who made a judge or a model, where its name does not tell: {"our-judge": "OpenAI"}.
    n_resamples, seed
        Of the bootstrap of units.

    Returns
    -------
    JudgeReport
        Agreement is Krippendorff's alpha of the judge with single people, over all units that both rated, beside that of people
        among themselves on the units that two of them rated; the difference of the two is on the units that it and two people
        rated. Where people alone rated, their agreement is the answer. Scores are corrected where at least 20 answers of a model
        have labels and others only the judge.

    Raises
    ------
    InputError
        If a name is unknown, or ratings hold several criteria.
    CannotAnswerError
        If no unit was rated by a judge and by people, or by two people, or all ratings are the same.

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
    given = ratings_data(data)
    known = dict(families) if isinstance(families, Mapping) else families_said(families)
    width, least = in_points(half_width, "half_width"), in_points(margin, "margin")
    if reference in ("human", ("human",)) and (alone := votes_of_judges(given)) is not None and alone.games is not None:
        return _without_people(given, alone, alone.games, known, conf_level)
    panel = panel_of(given, (reference,) if isinstance(reference, str) else tuple(reference), criterion, scale, cluster)
    over = Over(conf_level=conf_level, n_resamples=n_resamples, seed=seed)
    if panel.codes is not None:
        over["clusters"] = panel.codes
    among = _among_people(panel, over)
    if not panel.judges:
        return _people_alone(given, panel, among, over)
    met, apart = _met(panel)
    checked = [_judge_row(panel, name, over) for name in met]
    rows = [row for row, _ in checked]
    apart += [note for _, note in checked if note is not None]
    if all(row.estimate is None for row in rows):
        raise CannotAnswerError(f"{and_list([*met, panel.truth_name])}: {rows[0].reason}")
    rows.sort(key=lambda row: -(row.estimate if row.estimate is not None else -2.0))
    names = [row.name for row in rows]
    by_model = [each for name in names for each in _by_model(panel, name, conf_level)]
    corrected, notes = corrected_scores(panel, names, conf_level)
    if panel.source.games is not None:
        checks = biases_of_votes(panel.source.games, names, panel.people, known, conf_level)
    else:
        checks = biases_of_scores(panel, names, known, conf_level)
    return JudgeReport(
        benchmark=panel.benchmark,
        criterion=panel.criterion,
        reference=panel.people,
        truth=panel.truth_name,
        unit=panel.source.unit,
        scale=panel.scale,
        rows=tuple(rows),
        people=among,
        by_model=tuple(by_model),
        corrected=tuple(corrected),
        label_plan=label_plan(panel, names[0], half_width=width, margin=least, conf_level=conf_level),
        biases=tuple(checks.rows),
        by_place=tuple(checks.places),
        not_checked=tuple(checks.not_checked),
        conf_level=conf_level,
        n_ratings=panel.frame.height,
        n_units=panel.n_units,
        clusters=panel.clusters,
        n_resamples=n_resamples,
        seed=seed,
        version=toolkit_version(),
        sources=sources_of(given, panel.runs),
        notes=(
            *run_notes(given, panel.runs),
            *_cautions(rows, by_model, panel.truth_name),
            *bias_notes(checks.rows, names[0]),
            *apart,
            *notes,
            *panel.notes,
        ),
    )


def _without_people(
    data: EvalData, votes: Rated, games: pl.DataFrame, families: Mapping[str, str], conf_level: float
) -> JudgeReport:
    """Return what can be said of judges of pairs whom nobody is there to agree with."""
    names = games["who"].unique().sort().to_list()
    checks = biases_of_votes(games, names, (), families, conf_level)
    return JudgeReport(
        benchmark=benchmark_of(data, votes.runs),
        criterion="",
        reference=(),
        unit="pair",
        scale="ordinal",
        rows=(),
        biases=tuple(checks.rows),
        by_place=tuple(checks.places),
        not_checked=tuple(checks.not_checked),
        conf_level=conf_level,
        n_ratings=games.height,
        n_units=games.select("question", "first", "second").n_unique(),
        clusters=("prompt",),
        version=toolkit_version(),
        sources=sources_of(data, votes.runs),
        notes=(*run_notes(data, votes.runs), *bias_notes(checks.rows, names[0]), *votes.notes),
    )


# --- agreement ---


def _met(panel: Panel) -> tuple[list[str], list[Note]]:
    """Return the judges who rated anything that people rated, and a note on the others."""
    people = panel.counts(panel.people).sum(axis=1) > 0
    met = [name for name in panel.judges if bool((people & (panel.counts([name]).sum(axis=1) > 0)).any())]
    apart = [name for name in panel.judges if name not in met]
    if not met:
        raise CannotAnswerError(f"{and_list(apart)} and {panel.truth_name} rated no {panel.source.unit} in common")
    text = f"{and_list(apart)} rated nothing that {panel.truth_name} rated, and cannot be measured"
    return met, [Note(kind="left_out", text=text, caution=False)] if apart else []


def _cell(statistic: Callable[[], numbers.Estimate], level: float) -> Estimate:
    """Return an estimate; one without a number, and the reason, where it cannot be had: the other cells stand."""
    try:
        return _known_estimate(statistic())
    except InputError as error:
        return Estimate(estimate=None, conf_level=level, reason=str(error))


def _of_units(panel: Panel, units: BoolArray, over: Over) -> Over:
    return Over(**over) if panel.codes is None else Over({**over, "clusters": panel.codes[units]})


def _among_people(panel: Panel, over: Over) -> PeopleAgreement | None:
    """Return how far people agree with one another, on all units that two of them rated; None where there are none."""
    counts = panel.counts(panel.people)
    double = counts.sum(axis=1) > 1
    if not double.any():
        return None
    table, within = RatingTable(counts=counts[double], levels=panel.numbers), _of_units(panel, double, over)
    level = over.get("conf_level", 0.95)
    return PeopleAgreement(
        **estimated(_cell(lambda: krippendorff_alpha(table, panel.scale, **within), level)),
        n_units=int(double.sum()),
        n_people=len(panel.people),
        raw=_cell(lambda: raw_agreement(table, **within), level),
        ac1=_cell(lambda: gwet_ac1(table, **within), level),
    )


def _people_alone(data: EvalData, panel: Panel, among: PeopleAgreement | None, over: Over) -> JudgeReport:
    """Return what can be said of people whom no judge is held against."""
    if among is None:
        who = "one person" if len(panel.people) == 1 else f"{len(panel.people)} people"
        raise CannotAnswerError(
            f"{who} rated, no {panel.source.unit} was rated by two of them and none by a judge, so there is nothing to hold "
            "ratings against"
        )
    if among.estimate is None:
        raise CannotAnswerError(f"people among themselves: {among.reason}")
    level = over.get("conf_level", 0.95)
    persons: list[PersonRow] = []
    for name in panel.people if len(panel.people) > 2 else ():
        own, others = panel.counts([name]), panel.counts([each for each in panel.people if each != name])
        both = (own.sum(axis=1) > 0) & (others.sum(axis=1) > 0)
        found = _cell(lambda one=own, rest=others: judge_alpha(one, rest, panel.numbers, panel.scale, **over), level)
        persons.append(PersonRow(**estimated(found), name=name, n_units=int(both.sum())))
    persons.sort(key=lambda row: -(row.estimate if row.estimate is not None else -2.0))
    return JudgeReport(
        benchmark=panel.benchmark,
        criterion=panel.criterion,
        reference=panel.people,
        truth=panel.truth_name,
        unit=panel.source.unit,
        scale=panel.scale,
        rows=(),
        people=replace(among, persons=tuple(persons)),
        conf_level=level,
        n_ratings=panel.frame.height,
        n_units=panel.n_units,
        clusters=panel.clusters,
        n_resamples=over.get("n_resamples", 0),
        seed=over.get("seed", 0),
        version=toolkit_version(),
        sources=sources_of(data, panel.runs),
        notes=(*run_notes(data, panel.runs), *panel.notes),
    )


def _judge_row(panel: Panel, name: str, over: Over) -> tuple[JudgeRow, Note | None]:
    """Return a judge's line, and a note where units that two people rated do not stand for the others."""
    own, people = panel.counts([name]), panel.counts(panel.people)
    both = (own.sum(axis=1) > 0) & (people.sum(axis=1) > 0)
    double = both & (people.sum(axis=1) > 1)
    level = over.get("conf_level", 0.95)
    alpha = _cell(lambda: judge_alpha(own, people, panel.numbers, panel.scale, **over), level)
    difference, note = None, None
    if double.any():
        difference = _cell(lambda: judge_minus_people(own, people, panel.numbers, panel.scale, **over), level)
        apart = _cell(lambda: alpha_where_two_rated(own, people, panel.numbers, panel.scale, **over), level)
        if apart.excludes_zero and apart.estimate is not None:
            unit, rest = f"{panel.source.unit}s", int((both & ~double).sum())
            text = (
                f"on the {int(double.sum()):,} {unit} that two people rated, {name} agrees with them "
                f"{'more' if apart.estimate > 0 else 'less'} than on the other {rest:,} (alpha "
                f"{number(apart.estimate, 2, sign=True)}): how it stands beside people is known for the former only"
            )
            note = Note(kind="selection", text=text, remedy=f"have a second person rate a random part of the {unit}")
    truth, given = panel.settled, panel.given_by(name)
    known: BoolArray = np.isfinite(truth) & np.isfinite(given)
    first, second = _nearest(panel, truth[known]), _nearest(panel, given[known])
    within = _of_units(panel, known, over)
    q = len(panel.numbers)
    pairs = RatingTable(
        counts=np.eye(q, dtype=np.int64)[first] + np.eye(q, dtype=np.int64)[second], levels=panel.numbers
    )
    weights: Literal["none", "quadratic"] = "none" if panel.scale == "nominal" else "quadratic"
    table = confusion(first, second, q)
    yes = judge_errors(given[known], truth[known]) if panel.is_binary and known.any() else None

    def against_most(statistic: Callable[[], numbers.Estimate]) -> Estimate:
        tied = Estimate(estimate=None, conf_level=level, reason="people are tied on everything that the judge rated")
        return _cell(statistic, level) if known.any() else tied

    row = JudgeRow(
        **estimated(alpha),
        name=name,
        n_units=int(both.sum()),
        n_people=len(panel.people),
        n_double=int(double.sum()),
        difference=difference,
        standing="open" if note is not None else _standing(difference),
        raw=against_most(lambda: raw_agreement(pairs, **within)),
        kappa=against_most(lambda: cohen_kappa(first, second, q, weights, **within)),
        ac1=against_most(lambda: gwet_ac1(pairs, **within)),
        icc=_icc(np.column_stack((given, panel.truth))[both], panel, level),
        bias=_estimate(_mean((given - panel.truth)[both], panel.codes_of(both), level)) if panel.is_number else None,
        sensitivity=_share(yes.yes_yes, yes.yes_yes + yes.no_yes, level) if yes else None,
        specificity=_share(yes.no_no, yes.no_no + yes.yes_no, level) if yes else None,
        favours_p=_favours(panel, name),
        levels=panel.levels,
        confusion=tuple(tuple(int(n) for n in row) for row in table) if q <= MOST_ORDERED and known.any() else (),
    )
    return row, note


def _standing(difference: Estimate | None) -> Standing:
    if difference is None:
        return "no second person"
    if difference.conf_low is None or difference.conf_high is None:
        return "open"
    if difference.conf_high < 0:
        return "below people"
    if difference.conf_low > 0:
        return "above people"
    return "as people" if difference.conf_low > -_MARGIN else "open"


def _nearest(panel: Panel, values: FloatArray) -> IntArray:
    """Return the level nearest to each value: a mean of several people may lie between two."""
    return np.abs(values[:, None] - panel.numbers[None, :]).argmin(axis=1).astype(np.int64)


def _mean(values: FloatArray, codes: object, level: float) -> numbers.Estimate:
    if codes is None or values.size < 2:
        return mean_t(values, conf_level=level)
    return cluster_mean(values, np.asarray(codes), conf_level=level).estimate


def _icc(pairs: FloatArray, panel: Panel, level: float) -> Estimate | None:
    if panel.scale == "nominal" or len(pairs) < 2:
        return None
    try:
        return _estimate(intraclass_correlations(pairs, conf_level=level).estimates["ICC2"])
    except InputError as error:
        return Estimate(estimate=None, method="ICC2", conf_level=level, reason=str(error))


def _share(x: int, n: int, level: float) -> Estimate | None:
    return _estimate(wilson(x, n, conf_level=level)) if n else None


def _known_estimate(found: numbers.Estimate) -> Estimate:
    return Estimate(**estimated(found))


def _estimate(found: numbers.Estimate | None) -> Estimate | None:
    return None if found is None else _known_estimate(found)


# --- by model ---


def _errors_by_model(panel: Panel, judge: str) -> dict[str, BoolArray]:
    known = np.isfinite(panel.truth) & np.isfinite(panel.given_by(judge))
    members = {name: known & (panel.model_codes == place) for place, name in enumerate(panel.model_names) if name}
    return {name: of for name, of in members.items() if of.any()}


def _by_model(panel: Panel, judge: str, level: float) -> list[BiasRow]:
    if not panel.is_number:
        return []
    truth, given = panel.truth, panel.given_by(judge)
    rows: list[BiasRow] = []
    for name, off, codes in _errors_in_pairs(panel, judge):
        rows.append(BiasRow(**estimated(_mean(off, codes, level)), judge=judge, name=name, n_units=off.size))
    for name, of in _errors_by_model(panel, judge).items():
        clear = of & np.isfinite(panel.settled)
        yes = judge_errors(given[clear], panel.settled[clear]) if panel.is_binary and clear.any() else None
        rows.append(
            BiasRow(
                **estimated(_mean(given[of] - truth[of], panel.codes_of(of), level)),
                judge=judge,
                name=name,
                n_units=int(of.sum()),
                sensitivity=_share(yes.yes_yes, yes.yes_yes + yes.no_yes, level) if yes else None,
                specificity=_share(yes.no_no, yes.no_no + yes.yes_no, level) if yes else None,
            )
        )
    return rows


def _errors_in_pairs(panel: Panel, judge: str) -> list[tuple[str, FloatArray, IntArray | None]]:
    """Return by how much the judge prefers each model more than people do, one number for each of its pairs, with clusters."""
    if panel.sides is None or panel.has_models:
        return []
    off = panel.given_by(judge) - panel.truth
    known = np.isfinite(off)
    first, second = panel.sides
    found: list[tuple[str, FloatArray, IntArray | None]] = []
    for name in np.unique(np.concatenate((first[known], second[known]))):
        of = known & ((first == name) | (second == name))
        if of.sum() >= _FEWEST_OF_A_MODEL:
            found.append((str(name), np.where(first == name, off, -off)[of], panel.codes_of(of)))
    return found


def _favours_in_pairs(panel: Panel, judge: str) -> float | None:
    """Test that the judge prefers no model more than people do: the smallest p of all models, adjusted by Bonferroni."""
    tested = [_mean(off, codes, 0.95) for _, off, codes in _errors_in_pairs(panel, judge)]
    known = [two_sided_t_p(e.estimate / e.std_error, e.df) for e in tested if e.std_error and e.df]
    return min(1.0, len(known) * min(known)) if len(known) > 1 else None


def _favours(panel: Panel, judge: str) -> float | None:
    """Test that the judge errs alike for all models, by Welch's analysis of variance; None with fewer than two models."""
    if not panel.is_number:
        return None
    if panel.sides is not None and not panel.has_models:
        return _favours_in_pairs(panel, judge)
    off = panel.given_by(judge) - panel.truth
    groups = [off[of] for of in _errors_by_model(panel, judge).values() if of.sum() >= _FEWEST_OF_A_MODEL]
    if len(groups) < 2 or any(each.var() <= 0 for each in groups):
        return None
    return equal_means_p(groups)


def _cautions(rows: Sequence[JudgeRow], by_model: Sequence[BiasRow], truth: str) -> list[Note]:
    notes: list[Note] = []
    for row in rows:
        own = [each for each in by_model if each.judge == row.name and each.estimate is not None]
        if row.favours_p is not None and row.favours_p < _SURE and len(own) > 1:
            most, least = (pick(own, key=lambda each: each.estimate or 0.0) for pick in (max, min))
            gap = (most.estimate or 0.0) - (least.estimate or 0.0)
            text = f"{row.name} favours {most.name}: by {number(gap, 2)} against {least.name}, measured against {truth}"
            notes.append(
                Note(
                    kind="trust", text=text, remedy="Do not compare models by this judge without correcting its scores"
                )
            )
    few = [row for row in rows if row.n_units < 2 * _FEWEST_OF_A_MODEL]
    if few:
        fewest = min(row.n_units for row in few)
        notes.append(
            Note(kind="few", text=f"Only {fewest} answers have a judge's and people's rating", remedy="Label more")
        )
    return notes
