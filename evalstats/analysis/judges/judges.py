"""Judges against people: agreement compared with that among people, errors by model, and corrected scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from evalstats import options as opt
from evalstats.analysis.judges.biases import bias_notes, biases_of_scores, biases_of_votes
from evalstats.analysis.judges.labels import corrected_scores, in_points, label_plan
from evalstats.analysis.judges.ratings import (
    MOST_ORDERED,
    Ratings,
    Verdicts,
    benchmark_of,
    ratings_data,
    verdicts_of_judges,
)
from evalstats.analysis.judges.result import BiasRow, JudgeReport, JudgeRow, PeopleAgreement, PersonRow, Standing
from evalstats.analysis.provenance import run_notes, sources_of, toolkit_version
from evalstats.analysis.result import Estimate, Origin, estimated
from evalstats.analysis.result import notes as as_notes
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import number
from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import and_list
from evalstats.schema.data import EvalData
from evalstats.stats import estimate as numbers
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.clusters import cluster_mean
from evalstats.stats.estimate import two_sided_t_p
from evalstats.stats.one_sample import mean_t, wilson
from evalstats.stats.raters.agreement import (
    Over,
    RatingTable,
    alpha_where_two_rated,
    gwet_ac1,
    intraclass_correlations,
    judge_alpha,
    judge_equality,
    judge_minus_people,
    krippendorff_alpha,
    raw_agreement,
)
from evalstats.stats.raters.correction import equal_means_p, judge_errors

# Alpha this much below that of people is worth no worry: their own alpha is seldom known more closely.
_MARGIN = 0.1
_FEWEST_OF_A_MODEL = 10
_SURE = 0.05


@recorded
def judges(
    data: EvalData | object,
    *,
    humans: opt.Humans = "human",
    criterion: opt.Criterion = None,
    scale: opt.RatingsAre = "auto",
    cluster: opt.Cluster = None,
    half_width: opt.LabelWidth = None,
    margin: opt.LabelMargin = None,
    families: opt.Families = None,
    conf_level: opt.ConfLevel = 0.95,
    n_resamples: opt.Resamples = 4000,
    seed: opt.Seed = 0,
) -> JudgeReport:
    """Assess whether judges can stand in for people, estimate their errors, and correct scores for them.

    Parameters
    ----------
    data
        Ratings: what `evalstats.from_ratings` or `read` gave, or a table of ratings with the glossary's columns.
    humans
        Whose ratings are the truth: "human" for all raters of that kind, or raters by name. Where no rater is of that kind, the
        agreement of all raters is the answer.
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
    given = ratings_data(data, humans)
    known = dict(families or {})
    width, least = in_points(half_width, "half_width"), in_points(margin, "margin")
    if humans in ("human", ("human",)) and (alone := verdicts_of_judges(given)) is not None:
        return _without_people(given, alone, known, conf_level)
    asked = (humans,) if isinstance(humans, str) else tuple(humans)
    ratings = Ratings.of(given, asked, criterion, scale, cluster)
    over = Over(conf_level=conf_level, n_resamples=n_resamples, seed=seed)
    if ratings.codes is not None:
        over["clusters"] = ratings.codes
    among = _among_people(ratings, over)
    if not ratings.judges:
        return _report(given, ratings, over, (), people=_people_alone(ratings, among, over))
    rated = ratings.counts(ratings.people).sum(axis=1) > 0
    met = [name for name in ratings.judges if bool((rated & (ratings.counts([name]).sum(axis=1) > 0)).any())]
    others = [name for name in ratings.judges if name not in met]
    if not met:
        raise CannotAnswerError(f"{and_list(others)} and {ratings.truth_name} rated no {ratings.unit} in common")
    apart = (
        [f"{and_list(others)} rated nothing that {ratings.truth_name} rated, and cannot be measured"] if others else []
    )
    checked = [_judge_row(ratings, name, over) for name in met]
    rows = [row for row, _ in checked]
    if all(row.estimate is None for row in rows):
        raise CannotAnswerError(f"{and_list([*met, ratings.truth_name])}: {rows[0].reason}")
    rows.sort(key=_by_agreement)
    names = [row.name for row in rows]
    by_model = [each for name in names for each in _by_model(ratings, name, conf_level)]
    corrected, notes = corrected_scores(ratings, names, conf_level)
    checks = (
        biases_of_scores(ratings, names, known, conf_level)
        if ratings.games is None
        else biases_of_votes(ratings.games, names, ratings.people, known, conf_level)
    )
    return _report(
        given,
        ratings,
        over,
        (
            *_cautions(rows, by_model, ratings.truth_name),
            *bias_notes(checks.rows, names[0]),
            *as_notes("left_out", apart, caution=False),
            *(note for _, note in checked if note is not None),
            *notes,
        ),
        rows=tuple(rows),
        people=among,
        by_model=tuple(by_model),
        corrected=tuple(corrected),
        label_plan=label_plan(ratings, names[0], half_width=width, margin=least, conf_level=conf_level),
        biases=tuple(checks.rows),
        by_place=tuple(checks.places),
        not_checked=tuple(checks.not_checked),
    )


def _report(data: EvalData, ratings: Ratings, over: Over, notes: Sequence[Note], **found: Any) -> JudgeReport:
    return JudgeReport(
        benchmark=ratings.benchmark,
        criterion=ratings.criterion,
        reference=ratings.people,
        truth=ratings.truth_name,
        unit=ratings.unit,
        scale=ratings.scale,
        conf_level=over.get("conf_level", 0.95),
        n_ratings=ratings.frame.height,
        n_units=ratings.n_units,
        clusters=ratings.clusters,
        n_resamples=over.get("n_resamples", 0),
        origin=Origin(sources=sources_of(data, ratings.runs), version=toolkit_version(), seed=over.get("seed", 0)),
        notes=(*run_notes(data, ratings.runs), *notes, *ratings.notes),
        **found,
    )


def _without_people(data: EvalData, read: Verdicts, families: Mapping[str, str], level: float) -> JudgeReport:
    """Return what can be said of judges of pairs whom nobody is there to agree with."""
    games, runs, notes = read
    names = games["who"].unique().sort().to_list()
    checks = biases_of_votes(games, names, (), families, level)
    return JudgeReport(
        benchmark=benchmark_of(data, runs),
        criterion="",
        reference=(),
        unit="pair",
        scale="ordinal",
        biases=tuple(checks.rows),
        by_place=tuple(checks.places),
        not_checked=tuple(checks.not_checked),
        conf_level=level,
        n_ratings=games.height,
        n_units=games.select("question", "first", "second").n_unique(),
        clusters=("prompt",),
        origin=Origin(sources=sources_of(data, runs), version=toolkit_version()),
        notes=(*run_notes(data, runs), *bias_notes(checks.rows, names[0]), *notes),
    )


# --- agreement ---


def _estimate(found: numbers.IntervalEstimate) -> Estimate:
    return Estimate(**estimated(found))


def _cell(statistic: Callable[[], numbers.IntervalEstimate], level: float) -> Estimate:
    """Return an estimate; one without a number, and the reason, where it cannot be had: the other cells stand."""
    try:
        return _estimate(statistic())
    except InputError as error:
        return Estimate(estimate=None, conf_level=level, reason=str(error))


def _by_agreement(row: Estimate) -> float:
    return -(row.estimate if row.estimate is not None else -2.0)


def _of_units(ratings: Ratings, units: BoolArray, over: Over) -> Over:
    return Over(**over) if ratings.codes is None else Over({**over, "clusters": ratings.codes[units]})


def _among_people(ratings: Ratings, over: Over) -> PeopleAgreement | None:
    """Return how far people agree with one another, on all units that two of them rated; None where there are none."""
    counts = ratings.counts(ratings.people)
    double = counts.sum(axis=1) > 1
    if not double.any():
        return None
    table, within = RatingTable(counts=counts[double], levels=ratings.numbers), _of_units(ratings, double, over)
    level = over.get("conf_level", 0.95)
    return PeopleAgreement(
        **estimated(_cell(lambda: krippendorff_alpha(table, ratings.scale, **within), level)),
        n_units=int(double.sum()),
        n_people=len(ratings.people),
        raw=_cell(lambda: raw_agreement(table, **within), level),
        ac1=_cell(lambda: gwet_ac1(table, **within), level),
    )


def _people_alone(ratings: Ratings, among: PeopleAgreement | None, over: Over) -> PeopleAgreement:
    """Return the agreement of people whom no judge is held against, with each of three or more against the others."""
    if among is None:
        who = (
            "one person"
            if len(ratings.people) == 1
            else f"{len(ratings.people)} {'people' if ratings.truth_name == 'people' else 'judges'}"
        )
        raise CannotAnswerError(
            f"{who} rated, no {ratings.unit} was rated by two of them and none by a judge, so there is nothing to compare"
        )
    if among.estimate is None:
        raise CannotAnswerError(f"{ratings.truth_name} among themselves: {among.reason}")
    persons: list[PersonRow] = []
    for name in ratings.people if len(ratings.people) > 2 else ():
        own, others = ratings.counts([name]), ratings.counts([each for each in ratings.people if each != name])
        both = (own.sum(axis=1) > 0) & (others.sum(axis=1) > 0)
        found = _cell(
            lambda one=own, rest=others: judge_alpha(one, rest, ratings.numbers, ratings.scale, **over),
            over.get("conf_level", 0.95),
        )
        persons.append(PersonRow(**estimated(found), name=name, n_units=int(both.sum())))
    return replace(among, persons=tuple(sorted(persons, key=_by_agreement)))


def _judge_row(ratings: Ratings, name: str, over: Over) -> tuple[JudgeRow, Note | None]:
    """Return a judge's line, and a note where units that two people rated do not stand for the others."""
    own, people = ratings.counts([name]), ratings.counts(ratings.people)
    both = (own.sum(axis=1) > 0) & (people.sum(axis=1) > 0)
    double = both & (people.sum(axis=1) > 1)
    level = over.get("conf_level", 0.95)
    alpha = _cell(lambda: judge_alpha(own, people, ratings.numbers, ratings.scale, **over), level)
    difference, note = None, None
    if double.any():
        difference = _cell(lambda: judge_minus_people(own, people, ratings.numbers, ratings.scale, **over), level)
        apart = _cell(lambda: alpha_where_two_rated(own, people, ratings.numbers, ratings.scale, **over), level)
        if apart.excludes_zero and apart.estimate is not None:
            unit, rest = f"{ratings.unit}s", int((both & ~double).sum())
            text = (
                f"on the {int(double.sum()):,} {unit} that two people rated, {name} agrees with them "
                f"{'more' if apart.estimate > 0 else 'less'} than on the other {rest:,} (alpha "
                f"{number(apart.estimate, 2, sign=True)}): its comparison with people holds for the former only"
            )
            note = Note(kind="selection", text=text, remedy=f"have a second person rate a random part of the {unit}")
    given = ratings.given_by(name)
    icc = bias = None
    answers = np.column_stack((given, ratings.truth))[both]
    if ratings.scale != "nominal" and len(answers) > 1:
        try:
            icc = _estimate(intraclass_correlations(answers, conf_level=level).estimates["ICC2"])
        except InputError as error:
            icc = Estimate(estimate=None, method="ICC2", conf_level=level, reason=str(error))
    if ratings.is_number:
        bias = _estimate(_mean((given - ratings.truth)[both], ratings.codes_of(both), level))
    counts = people[both].T @ own[both] if len(ratings.numbers) <= MOST_ORDERED else ()
    weights: Literal["none", "quadratic"] = "none" if ratings.scale == "nominal" else "quadratic"
    row = JudgeRow(
        **estimated(alpha),
        name=name,
        n_units=int(both.sum()),
        n_people=len(ratings.people),
        n_double=int(double.sum()),
        difference=difference,
        standing="open" if note is not None else _standing(difference, alpha),
        raw=_cell(lambda: judge_equality(own, people, **over), level),
        kappa=_cell(lambda: judge_equality(own, people, "kappa", weights, **over), level),
        ac1=_cell(lambda: judge_equality(own, people, "AC1", **over), level),
        icc=icc,
        bias=bias,
        favours_p=_favours(ratings, name),
        levels=ratings.levels,
        confusion=tuple(tuple(int(n) for n in line) for line in counts),
        **_yes_and_no(ratings, given, both, level),
    )
    return row, note


def _standing(difference: Estimate | None, alpha: Estimate) -> Standing:
    """Return how a judge stands beside people; none stands as they do whose own agreement could be that of chance."""
    if difference is None:
        return "no second person"
    if difference.conf_low is None or difference.conf_high is None:
        return "open"
    if difference.conf_high < 0:
        return "below people"
    if alpha.conf_low is None or alpha.conf_low <= 0:
        return "open"
    if difference.conf_low > 0:
        return "above people"
    return "as people" if difference.conf_low > -_MARGIN else "open"


def _mean(values: FloatArray, codes: IntArray | None, level: float) -> numbers.IntervalEstimate:
    if codes is None or values.size < 2:
        return mean_t(values, conf_level=level)
    return cluster_mean(values, codes, conf_level=level).estimate


def _yes_and_no(ratings: Ratings, given: FloatArray, units: BoolArray, level: float) -> dict[str, Any]:
    """Return how often the judge says yes where most people do, and no where they do; nothing where ratings are not these."""
    clear = units & np.isfinite(ratings.majority)
    if not ratings.is_binary or not clear.any():
        return {}
    errors = judge_errors(given[clear], ratings.majority[clear])
    shares = {
        "sensitivity": (errors.yes_yes, errors.yes_yes + errors.no_yes),
        "specificity": (errors.no_no, errors.no_no + errors.yes_no),
    }
    return {name: _estimate(wilson(x, n, conf_level=level)) if n else None for name, (x, n) in shares.items()}


# --- by model ---


def _units_by_model(ratings: Ratings, judge: str) -> dict[str, BoolArray]:
    """Return the units of each named model that the judge and people rated."""
    known = np.isfinite(ratings.truth) & np.isfinite(ratings.given_by(judge))
    members = {name: known & (ratings.model_codes == place) for place, name in enumerate(ratings.model_names) if name}
    return {name: of for name, of in members.items() if of.any()}


def _by_model(ratings: Ratings, judge: str, level: float) -> list[BiasRow]:
    if not ratings.is_number:
        return []
    truth, given = ratings.truth, ratings.given_by(judge)
    rows = [
        BiasRow(**estimated(_mean(off, codes, level)), judge=judge, name=name, n_units=off.size)
        for name, off, codes in _errors_in_pairs(ratings, judge)
    ]
    rows += [
        BiasRow(
            **estimated(_mean(given[of] - truth[of], ratings.codes_of(of), level)),
            judge=judge,
            name=name,
            n_units=int(of.sum()),
            **_yes_and_no(ratings, given, of, level),
        )
        for name, of in _units_by_model(ratings, judge).items()
    ]
    return rows


def _errors_in_pairs(ratings: Ratings, judge: str) -> list[tuple[str, FloatArray, IntArray | None]]:
    """Return by how much the judge prefers each model more than people do, one number for each of its pairs, with clusters."""
    if ratings.sides is None or ratings.has_models:
        return []
    off = ratings.given_by(judge) - ratings.truth
    known = np.isfinite(off)
    first, second = ratings.sides
    found: list[tuple[str, FloatArray, IntArray | None]] = []
    for name in np.unique(np.concatenate((first[known], second[known]))):
        of = known & ((first == name) | (second == name))
        if of.sum() >= _FEWEST_OF_A_MODEL:
            found.append((str(name), np.where(first == name, off, -off)[of], ratings.codes_of(of)))
    return found


def _favours(ratings: Ratings, judge: str) -> float | None:
    """Test that the judge errs alike for all models; None with fewer than two of them.

    By Welch's analysis of variance; of pairs, the smallest p that it prefers a model more than people do, by Bonferroni.
    """
    if not ratings.is_number:
        return None
    if ratings.sides is not None and not ratings.has_models:
        tested = [_mean(off, codes, 0.95) for _, off, codes in _errors_in_pairs(ratings, judge)]
        known = [two_sided_t_p(e.estimate / e.std_error, e.df) for e in tested if e.std_error and e.df]
        return min(1.0, len(known) * min(known)) if len(known) > 1 else None
    off = ratings.given_by(judge) - ratings.truth
    groups = [off[of] for of in _units_by_model(ratings, judge).values() if of.sum() >= _FEWEST_OF_A_MODEL]
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
