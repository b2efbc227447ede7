"""Votes of a judge corrected by people's votes on a part of the same battles, and what the judge gets wrong."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import numpy as np
import polars as pl
from scipy.special import expit

from evalstats.analysis.arena.ratings import RatedPart, rate
from evalstats.analysis.arena.result import PairContrast, RatingRow
from evalstats.analysis.design.labels import LabelAccount, Labels, label_chances
from evalstats.analysis.result import Estimate
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, number, share_in_percent
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import and_list, plural
from evalstats.options import GivenOptions
from evalstats.stats.arena.labelled import corrected_shares
from evalstats.stats.arena.likelihood import linear_predictor
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import two_sided_t_p
from evalstats.stats.raters.correction import FEW_LABELS, FEWEST_LABELS
from evalstats.stats.raters.label_sample import chosen_part
from evalstats.table.votes import VoteTable, comparisons_of

_SIDES = ("low_model", "high_model")
_SHOWN = 3
_FAR = 10.0  # log-odds between two models


def refuse_with_labels(asked: GivenOptions) -> None:
    """Refuse options under which a rating is no sum of shares, or a label would have to be of something else."""
    unlike = {
        "ties": asked.ties != "half", "both_bad": asked.both_bad != "tie", "prior": asked.prior is not None,
        "n_resamples": asked.n_resamples is not None, "by": asked.by is not None, "without_suspects": asked.without_suspects,
    }  # fmt: skip
    for name, wanted in unlike.items():
        if wanted:
            raise InputError(f"labels correct one rating a model, with ties as half wins; leave out {Option(name)}")


def vote_labels(labels: object, table: VoteTable) -> Labels:
    """Find people's votes on the battles of a table: the share of side a, NaN where nobody voted; several people's are averaged.

    A label is of the vote with its battle and item, else of the votes with its item (and turn), between the same two models,
    whichever of them stood first. Row numbers name no battle: numbered labels go by the item, and numbered votes need it.
    InputError where labels name none of the votes; CannotAnswerError where they are too few, or no random part.
    """
    if table.votes is None:
        raise InputError("labels correct single votes; collect the lazy frame first")
    all_given = comparisons_of(labels)
    people = all_given.filter(pl.col("judge").is_null())
    if not people.height:
        raise InputError("all votes of the labels are a judge's; people's votes are needed")
    if table.votes["judge"].null_count() not in (0, table.votes.height):
        raise InputError(
            "some of the votes to correct are people's own; rate those of the judge alone: "
            f"{Option('where', blank='NAME', of='judge')}"
        )
    people = _sided(people.filter(pl.col("outcome").is_not_null()))
    votes = _sided(table.votes)
    same = [name for name in ("item", "turn") if not people[name].null_count() and not votes[name].null_count()]
    by_item = [*dict.fromkeys(("item", *same)), *_SIDES]
    no_battles = _is_numbered(all_given, all_given.height) or (
        "item" not in same and _is_numbered(votes, table.counts.n_rows)
    )
    keys = [by_item] if no_battles else [["battle", *same, *_SIDES], by_item]
    matched = ((people.join(votes.select(key).unique(), on=key, how="semi"), key) for key in keys)
    found, key = max(matched, key=lambda each: each[0].height)
    if not found.height:
        raise InputError(
            "no label matches a battle that has a vote: labels need a column battle or item with the ids of the votes (row "
            "numbers name no battle), and the names of the two models"
        )
    full = pl.when(pl.col("outcome") == "a").then(1.0).when(pl.col("outcome") == "b").then(0.0).otherwise(0.5)
    share = pl.coalesce("preference", full)
    found = found.with_columns(value=pl.when("turned").then(1.0 - share).otherwise(share))
    wanted = [pl.col("value").mean()]
    if "label_prob" in found.columns:
        given, chance = found["label_prob"], pl.col("label_prob")
        found = found.with_columns(given.cast(pl.Float64, strict=False))
        if found["label_prob"].null_count() > given.null_count():
            raise InputError("label_prob holds words; give the probability that each battle was chosen, such as 0.1")
        wanted += [chance.min().alias("low"), chance.max().alias("high"), chance.null_count().alias("unknown")]
    means = found.group_by(key).agg(wanted)
    values = votes.join(means, on=key, how="left", maintain_order="left")["value"].to_numpy().astype(np.float64)
    values = np.where(votes["turned"].to_numpy(), 1.0 - values, values)
    values[table.weight == 0.0] = np.nan
    known = np.isfinite(values)
    if known.all():
        raise CannotAnswerError("every vote has a label: rate the labels themselves, no judge is needed")
    chances = label_chances(means, votes.select(key), key, known)
    _refuse_few(table, known)
    if chances is None:
        _refuse_chosen(table, known)
    names = set(table.models)
    lost = int((people["model_a"].is_in(names) & people["model_b"].is_in(names)).sum()) - found.height
    text = f"{plural(lost, 'label')} {'is' if lost == 1 else 'are'} for no battle that has a vote, and dropped"
    return Labels(
        values=values,
        chances=chances,
        people=tuple(found["rater"].drop_nulls().unique().sort().to_list()),
        notes=(Note(kind="left_out", text=text),) if lost else (),
    )


def _is_numbered(votes: pl.DataFrame, n_rows: int) -> bool:
    """Tell whether battles are called by their places among so many rows, whether or not all of these are still there."""
    places = votes["battle"].cast(pl.Int64, strict=False)
    return not places.null_count() and places.is_sorted() and 0 <= places[0] <= places[-1] <= n_rows


def _sided(votes: pl.DataFrame) -> pl.DataFrame:
    """Name the two models of each vote in the order of their names, and say whether side a is the second of these."""
    a, b = pl.col("model_a"), pl.col("model_b")
    return votes.with_columns(
        pl.min_horizontal(a, b).alias(_SIDES[0]), pl.max_horizontal(a, b).alias(_SIDES[1]), (a > b).alias("turned")
    )


def _refuse_few(table: VoteTable, known: np.ndarray) -> None:
    counts = np.bincount(np.concatenate((table.first[known], table.second[known])), minlength=table.n_models)
    fewest = int(np.argmin(counts))
    if counts[fewest] < FEWEST_LABELS or known.sum() < FEW_LABELS:
        raise CannotAnswerError(
            f"people voted on {plural(int(known.sum()), 'battle')}, {counts[fewest]:,} of them with {table.models[fewest]}: too "
            f"few to correct a judge; label at least {FEW_LABELS} battles, {FEWEST_LABELS} of them with each model"
        )


def _refuse_chosen(table: VoteTable, known: np.ndarray) -> None:
    """Refuse labels of which a random draw would hardly come: of some models rather than others, or of some verdicts."""
    n, places = table.first.size, np.arange(table.first.size)
    met, won = np.zeros((n, table.n_models)), np.full((n, table.n_models), np.nan)
    met[places, table.first] = met[places, table.second] = 1.0
    won[places, table.first], won[places, table.second] = table.share, 1.0 - table.share
    for shares, words in (
        (met, "a model takes part in {own} of them, and in {rest} of the others"),
        (won, "the judge's verdict is of one kind in {own} of them, and in {rest} of the others"),
    ):
        found = chosen_part(shares, known, table.codes[0] if len(table.codes) == 1 else None)
        if found is not None:
            told = words.format(own=share_in_percent(found[1]), rest=share_in_percent(found[2]))
            raise CannotAnswerError(
                f"labelled battles are not a random sample: {told}, so the judge's errors on them differ from "
                "those on all. Label battles "
                "drawn at random, or give the chance with which each was chosen in a column label_prob"
            )


def corrected_parts(
    judged: Sequence[RatedPart], table: VoteTable, labels: object
) -> tuple[list[RatedPart], Labels, float]:
    """Return the models rated by votes corrected by labels, the labels, and the judge's weight."""
    if judged[0].table.n_models < table.n_models:
        raise CannotAnswerError("labels correct models on one scale, and the judge's votes do not connect some of them")
    found, own = vote_labels(labels, table), judged[0]
    share, label_weight, tuning = corrected_shares(
        table.share,
        found.values,
        _expected(own),
        table.weight,
        probabilities=None if found.chances is None else found.chances[np.isfinite(found.values)],
    )
    with suppress(CannotAnswerError):
        part = rate(table.with_labels(share, label_weight), own.models, own.options)
        if np.ptp(part.fit.strengths) < _FAR:
            return [part], found, tuning
    raise CannotAnswerError(
        "the labels are too few for these models: corrected by them, some model wins or loses all its votes, or more; label more "
        "battles of the models that nearly always win or lose"
    )


def _expected(part: RatedPart) -> FloatArray:
    """Return the share of side a in each vote by the strengths of a part."""
    table, fit = part.table, part.fit
    votes = replace(table.rows, first=table.first, second=table.second, covariates=table.covariates, clusters=())
    return np.asarray(expit(linear_predictor(fit, votes)), dtype=np.float64)


def with_accounts(
    rows: Sequence[RatingRow],
    pairs: Sequence[PairContrast],
    part: RatedPart,
    *,
    judged: VoteTable,
    labels: Labels,
    tuning: float,
) -> tuple[tuple[RatingRow, ...], tuple[PairContrast, ...]]:
    """Return the lines with what the judge and people's votes say of each rating; more votes of the judge settle no pair.

    `part`: rated by corrected votes; `judged`: the votes as the judge gave them. Both ratings are pulled by the same votes, and
    the error of their difference is that of the difference of these pulls.
    """
    accounts = _accounts(part, judged, labels, tuning)
    more = "votes of people, not of the judge, would separate them"
    return (
        tuple(replace(row, labels=accounts[row.name]) for row in rows),
        tuple(replace(pair, more_votes=None, more_votes_reason=more) for pair in pairs),
    )


def _accounts(part: RatedPart, judged: VoteTable, labels: Labels, tuning: float) -> dict[str, LabelAccount]:
    options, table, known = part.options, part.table, np.isfinite(labels.values)
    none = np.zeros(table.share.size)
    alone = rate(table.with_labels(judged.share, none), part.models, options, bare=True)
    # Rated anew, these have the ratings of the corrected votes, with the pulls of both.
    both = rate(
        table.with_labels(table.share - judged.share + _expected(alone), table.label_weight),
        part.models,
        options,
        bare=True,
    )
    own = table.with_labels(np.where(known, labels.values, 0.5), none)
    weight = np.where(known, table.label_weight, 0.0)
    try:
        by_people = rate(replace(own, rows=replace(own, weight=weight).rows_at(known)), part.models, options, bare=True)
    except CannotAnswerError:
        by_people = None
    n_labels = np.bincount(np.concatenate((table.first[known], table.second[known])), minlength=table.n_models)
    n_votes = np.bincount(np.concatenate((table.first, table.second)), minlength=table.n_models)
    found: dict[str, LabelAccount] = {}
    for k, name in enumerate(table.models):
        error, people = both.estimate(k), Estimate(estimate=None, reason="labels alone leave some models apart")
        moved, worth = float(alone.ratings[k] - part.ratings[k]), float(n_labels[k])
        p = two_sided_t_p(moved / error.std_error, error.df) if error.std_error and error.df else None
        if by_people is not None:
            people = by_people.estimate(k)
            worth *= ((people.std_error or 1.0) / (part.estimate(k).std_error or 1.0)) ** 2
        reach = None if error.conf_high is None else error.conf_high - float(both.ratings[k])
        found[name] = LabelAccount(
            estimate=moved,
            std_error=error.std_error,
            conf_low=None if reach is None else moved - reach,
            conf_high=None if reach is None else moved + reach,
            conf_level=error.conf_level,
            df=error.df,
            p_value=p,
            p_adjusted=None if p is None else min(1.0, p * table.n_models),
            method="rating by the judge's votes minus rating by the corrected ones",
            reason=error.reason,
            judged=alone.estimate(k),
            labels_only=people,
            n_labels=int(n_labels[k]),
            n_judged=int(n_votes[k]),
            tuning=tuning,
            label_worth=worth,
            people=labels.people,
        )
    return found


def is_misrated(account: LabelAccount) -> bool:
    """Tell whether the judge is shown to rate a model too high or too low, all models taken together."""
    return account.p_adjusted is not None and account.p_adjusted <= 1.0 - account.conf_level


def judge_notes(rows: Sequence[RatingRow], labels: Labels | None, unit: str) -> tuple[Note, ...]:
    """Name the models that the judge rates higher or lower than people do, all of them taken together."""
    told, digits = list[str](), 2 if unit == "log-odds" else 0
    for row in sorted(rows, key=lambda row: -abs(row.labels.estimate or 0.0) if row.labels else 0.0):
        account = row.labels
        if account is not None and account.estimate and is_misrated(account):
            where = "high" if account.estimate > 0.0 else "low"
            ends = interval_words(account.conf_low, account.conf_high, 1.0, digits, sign=True)
            told.append(f"{row.name} {number(abs(account.estimate), digits)} {unit} too {where} (CI {ends})")
    if labels is None or not told:
        return () if labels is None else labels.notes
    more = f", and {plural(len(told) - _SHOWN, 'other model')}" if len(told) > _SHOWN else ""
    text = f"The judge rates {and_list(told[:_SHOWN])}{more}; the ratings shown are corrected for it"
    return (Note(kind="trust", text=text), *labels.notes)
