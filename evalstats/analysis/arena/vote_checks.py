"""Can the votes be trusted? Raters, sides, repeats, bursts, named answers, few votes, private testing; and suspect votes."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy import special
from scipy.special import expit

from evalstats.analysis.arena.checks import MERGED, TEST_LEVEL, check_line, guarded, side_words
from evalstats.analysis.arena.ratings import RatedPart
from evalstats.analysis.arena.result import (
    ArenaRanking,
    Burst,
    CheckLine,
    CheckStatus,
    FewVotesFlip,
    RaterFlag,
    RaterInfluence,
    TrustChecks,
    VoteCovariate,
)
from evalstats.document.numbers import interval_words, number, p_value, p_words
from evalstats.errors import CannotAnswerError
from evalstats.grammar import and_list, comma_list, plural
from evalstats.record import record
from evalstats.stats.arena.bradley_terry import fit_strengths, selection_bias
from evalstats.stats.arena.drift import FEWEST_TIMES, BurstFound, model_bursts, rater_bursts
from evalstats.stats.arena.goodness_of_fit import clustered_mean
from evalstats.stats.arena.influence import largest_influences, smallest_flip, without_each
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.raters import CHECKS, FEWEST_VOTES, RaterEvidence, rater_evidence
from evalstats.stats.arena.tastes import decided_line, decided_votes
from evalstats.stats.arena.votes import A_WINS, TIE, VoteRows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray, counted_order
from evalstats.stats.estimate import two_sided_normal_p, two_sided_t_p
from evalstats.table.items import level_codes
from evalstats.table.votes import VoteTable

_SHOWN = 5
_FEWEST_RATERS = 3
_LARGEST_E = 1e300
_MANY = 0.01  # of the votes
_MANY_REPEATS = 20.0  # above, their number is near a normal one
_FEW_PAIRS = 400
_NAMED = 3
_FEW = 10  # votes that should not decide who is first

# The fields of `TrustChecks` that a check fills, and its line.
Checked = tuple[dict[str, Any], CheckLine]


@record
class Voters:
    """Raters of votes: the column "rater", or "session" where votes have no rater; `reason` says why there are none.

    `codes`: int64, shape (n_votes,): the place in `names`; the number of raters where nobody is known. `seconds`: float64,
    shape (n_votes,): times, NaN where none is known; None where no vote has one. `rows`: the votes, one row each, in the order
    of the table, with `codes` as clusters; None without raters.
    """

    column: str = ""
    names: tuple[str, ...] = ()
    codes: IntArray
    seconds: FloatArray | None = None
    rows: VoteRows | None = None
    reason: str = ""

    @property
    def n_raters(self) -> int:
        """Raters who are known."""
        return len(self.names)


def voters_of(table: VoteTable) -> Voters:
    """Return who voted: the column rater, else session."""
    nobody = np.zeros(table.first.size, dtype=np.int64)
    if table.votes is None:
        return Voters(codes=nobody, reason=MERGED)
    seconds, columns = None, table.votes.columns
    if "timestamp" in columns and table.votes["timestamp"].null_count() < table.votes.height:
        micros = table.votes["timestamp"].dt.epoch("us").cast(pl.Float64)
        seconds = micros.fill_null(float("nan")).to_numpy() / 1e6
    for column in ("rater", "session"):
        if column not in columns or table.votes[column].null_count() == table.votes.height:
            continue
        known, places = level_codes(table.votes[column])
        coded = np.where(places < 0, len(known), places).astype(np.int64)
        rows = VoteRows(
            n_models=table.n_models,
            first=table.first,
            second=table.second,
            outcome=table.outcome,
            share=table.share,
            weight=table.weight,
            weight_squares=table.weight**2,
            count=np.ones(table.first.size, dtype=np.int64),
            covariates=table.covariates,
            clusters=(coded,),
        )
        return Voters(column=column, names=tuple(known.to_list()), codes=coded, seconds=seconds, rows=rows)
    return Voters(codes=nobody, seconds=seconds, reason="votes have neither a rater nor a session")


def trust_checks(part: RatedPart, side: VoteCovariate | str) -> tuple[TrustChecks, tuple[CheckLine, ...]]:
    """Check raters, sides, duplicates, bursts, identity leaks, single raters, few votes and private testing.

    `side` is its effect, or why there is none. Raters are flagged at a false discovery rate of 1 - conf_level; each other test
    warns of honest votes in at most .5% (`TEST_LEVEL`). A warning says where to look; it proves nobody a cheat, and silence
    proves nobody honest.
    """
    voters = voters_of(part.table)
    checks: dict[str, Callable[[], Checked]] = {
        "sides": partial(_sides, side),
        "raters": partial(_raters, part, voters),
        "duplicates": partial(_duplicates, part.table),
        "bursts": partial(_bursts, part, voters),
        "identity": partial(_identity, part.table, part.fit),
        "one rater": partial(_one_rater, part, voters),
        "few votes": partial(_few_votes, part),
        "selection": partial(_selection, part.std_errors),
    }
    nothing: dict[str, Any] = {}
    found = [guarded(check, run, nothing) for check, run in checks.items()]
    return TrustChecks(**{name: value for fields, _ in found for name, value in fields.items()}), tuple(
        line for _, line in found
    )


def _status(p: float) -> CheckStatus:
    return "warning" if p <= TEST_LEVEL else "ok"


# --- sides and raters ---


def _sides(side: VoteCovariate | str) -> Checked:
    if isinstance(side, str):
        raise CannotAnswerError(side)
    way = 1.0 if side.estimate >= 0.0 else -1.0
    ends = sorted(way * end for end in (side.conf_low, side.conf_high) if end is not None)
    # How often the preferred side wins between equal models.
    share = float(expit(way * side.estimate))
    low, high = (float(expit(end)) for end in ends) if len(ends) == 2 else (None, None)
    found = {"side_share": share, "side_low": low, "side_high": high, "side_p": side.p_value}
    said = f"between equal models {side_words(side)} wins {number(100 * share, 1)}% of votes"
    if np.isinf(side.estimate):
        said = f"{side_words(side)} won every decided vote"
    if side.p_value is None:
        return found, check_line("sides", "not run", f"{said}; whether that is chance cannot be said: {side.reason}")
    interval = "" if low is None else f"{100 * side.conf_level:g}% CI {interval_words(low, high, 100)}, "
    finding = f"{said} ({interval}{p_words(side.p_value)})"
    if side.held:
        finding += "; the ratings hold the side equal"
    return found, check_line("sides", _status(side.p_value), finding, side.p_value)


def _raters(part: RatedPart, voters: Voters) -> Checked:
    """Flag raters by e-values: always one side, against the ratings, loyal to one model; and rings behind a model."""
    table = part.table
    if voters.rows is None:
        raise CannotAnswerError(voters.reason)
    choices = np.ones(table.first.size, dtype=np.bool_)
    if table.votes is not None and "event" in table.votes.columns:
        # The K - 1 votes of an event of K answers are one choice.
        event = table.votes["event"]
        choices = (event.is_first_distinct() | event.is_null()).to_numpy()
    evidence = _evidence(part.fit, voters, voters.rows, choices, part.options.seed)
    if evidence is None:
        raise CannotAnswerError(f"none of {plural(voters.n_raters, voters.column)} has {FEWEST_VOTES} decided votes")
    tested = f"{plural(evidence.rater.size, voters.column)} with {FEWEST_VOTES} or more decided votes"
    if evidence.rater.size < _FEWEST_RATERS:
        raise CannotAnswerError(f"{tested}: nobody to compare with")
    fdr = 1.0 - part.options.conf_level
    behind = np.flatnonzero(evidence.ring_adjusted <= fdr).tolist()
    flags: dict[tuple[str, str], RaterFlag] = {}
    for flag in (*_alone(evidence, table, voters, fdr), *_together(evidence, table, voters, behind, fdr)):
        # A rater who is loyal alone is not named once more as a member of a ring.
        flags.setdefault((flag.rater, flag.check), flag)
    found = {"n_raters": voters.n_raters, "raters": tuple(flags.values())}
    rings = [f"a group of them pushes {table.models[m]}" for m in behind]
    if not flags and not rings:
        taste = number(evidence.taste, 2)
        finding = f"none of {tested} stands out against honest tastes (standard deviation {taste} log-odds)"
        return found, check_line("raters", "ok", finding)
    who = and_list(list(dict.fromkeys(f"{flag.rater} ({flag.detail})" for flag in flags.values())), _NAMED)
    count = len({flag.rater for flag in flags.values()})
    named = f"votes of {count} stand out: {who}" if flags else "no single one stands out for certain"
    return found, check_line("raters", "warning", "; ".join([f"of {tested}, {named}", *rings]))


def _evidence(fit: PairFit, voters: Voters, rows: VoteRows, choices: BoolArray, seed: int) -> RaterEvidence | None:
    """Return evidence from decided choices of known raters, in the order of time, against ratings without each rater."""
    used = np.flatnonzero((rows.outcome < TIE) & (voters.codes < voters.n_raters) & choices)
    if not used.size:
        return None
    if voters.seconds is not None:
        used = used[np.argsort(np.nan_to_num(voters.seconds[used], nan=np.inf), kind="stable")]
    used = used[counted_order(voters.codes[used])]

    def rated(with_fit: PairFit, votes: VoteRows) -> tuple[FloatArray, FloatArray]:
        steps = without_each(with_fit, votes, votes.clusters[0])
        eta = steps.eta(voters.codes[used], rows.first[used], rows.second[used], rows.covariates[used])
        return eta, np.diag(with_fit.bread)[: rows.n_models].copy()

    def rate(believed: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        # Votes of nobody known stay.
        kept = rows.take(np.pad(believed, (0, voters.n_raters + 1 - believed.size), constant_values=True)[voters.codes])
        try:
            return rated(fit_strengths(kept, ties=fit.ties, prior=fit.prior, start=fit), kept)
        except CannotAnswerError:
            return None

    eta, uncertainty = rated(fit, rows)
    votes = decided_votes(
        voters.codes[used], (rows.first[used], rows.second[used]), rows.outcome[used] == 0, eta, uncertainty
    )
    return rater_evidence(votes, rate=rate, seed=seed)


def _alone(evidence: RaterEvidence, table: VoteTable, voters: Voters, fdr: float) -> list[RaterFlag]:
    flags: list[RaterFlag] = []
    for i, k in np.argwhere(evidence.adjusted <= fdr).tolist():
        n, check = int(evidence.n_votes[i]), CHECKS[k]
        if check == "side":
            on_a = int(evidence.n_first_side[i])
            side, count = ("a", on_a) if 2 * on_a >= n else ("b", n - on_a)
            detail = f"{count} of {n} decided votes for side {side}"
        elif check == "disagreement":
            expected = number(float(evidence.expected_agree[i]), 1)
            detail = f"{int(evidence.n_agree[i])} of {n} for the model rated higher, {expected} expected"
        else:
            met, won = int(evidence.loyal_met[i]), int(evidence.loyal_won[i])
            detail = f"{won} of {met} votes on {table.models[int(evidence.loyal_to[i])]} for it"
        rater, e_value = voters.names[int(evidence.rater[i])], _e(float(evidence.log_e[i, k]))
        flags.append(RaterFlag(rater=rater, check=check, n_votes=n, e_value=e_value, detail=detail))
    return sorted(flags, key=lambda flag: (-flag.e_value, flag.rater))


def _together(
    evidence: RaterEvidence, table: VoteTable, voters: Voters, behind: list[int], fdr: float
) -> list[RaterFlag]:
    """Return members of rings; the e-value is that of the ring."""
    n_votes: dict[int, int] = dict(zip(evidence.rater.tolist(), evidence.n_votes.tolist(), strict=True))
    flags: list[RaterFlag] = []
    for model in behind:
        members: list[int] = evidence.rings.members(model, fdr).tolist()
        detail = f"one of {plural(len(members), voters.column)} who together push {table.models[model]}"
        e_value = _e(float(evidence.rings.log_e[model]))
        flags.extend(
            RaterFlag(rater=voters.names[code], check="loyalty", n_votes=n_votes[code], e_value=e_value, detail=detail)
            for code in members
        )
    return flags


def _e(log_e: float) -> float:
    return min(math.exp(min(log_e, 690.0)), _LARGEST_E)


# --- the same vote again, many at once, answers that name their model ---


def _duplicates(table: VoteTable) -> Checked:
    """Compare votes by one rater on the same prompt and pair with what random pairs would repeat."""
    if table.votes is None:
        raise CannotAnswerError(MERGED)
    if not {"rater", "item"} <= set(table.votes.columns):
        raise CannotAnswerError("needs the rater and the prompt of each vote")
    turned = table.first > table.second
    known = (
        table.votes.select("rater", "item")
        .with_columns(
            low=pl.Series(np.minimum(table.first, table.second)),
            high=pl.Series(np.maximum(table.first, table.second)),
            share=pl.Series(np.where(turned, 1.0 - table.share, table.share)),
        )
        .drop_nulls()
    )
    if not known.height:
        raise CannotAnswerError("no vote names both its rater and its prompt")
    key = ["rater", "item", "low", "high"]
    again = known.with_columns(
        place=pl.int_range(pl.len()).over(key), same=pl.col("share") == pl.col("share").first().over(key)
    ).filter(pl.col("place") > 0)
    n, (expected, variance) = again.height, _expected_repeats(known)
    p = float(special.gammainc(n, max(expected, 1e-300))) if n else 1.0  # Poisson: repeats are rare
    if expected > _MANY_REPEATS:
        p = float(special.ndtr((expected + 0.5 - n) / math.sqrt(variance)))
    agree, finding = (
        None,
        f"none among {plural(known.height, 'vote')}: no rater judged a pair of answers to a prompt twice",
    )
    if n:
        agree = float(again["same"].cast(pl.Float64).sum()) / n
        finding = (
            f"{plural(n, 'vote')} of {known.height:,} repeat a pair of models that the rater had judged on the prompt before, "
            f"where random pairs repeat {number(expected, 1)} (p {p_value(p)}); {number(100 * agree, 0)}% say the same as the "
            "first"
        )
    status = _status(p) if n >= _MANY * known.height else "ok"
    found = {"n_duplicates": n, "duplicates_expected": expected, "duplicates_agree": agree}
    return found, check_line("duplicates", status, finding, p)


def _expected_repeats(votes: pl.DataFrame) -> tuple[float, float]:
    """Return how many votes would repeat an earlier one if every vote drew its pair anew, as often as all votes have it.

    Of k votes by one rater on one prompt, k less the number of different pairs: its mean, and its variance (of many pairs
    that of Poisson's law, which is too large).
    """
    share = votes.group_by("low", "high").len()["len"].to_numpy() / votes.height
    sizes = votes.group_by("rater", "item").len()["len"].value_counts()
    mean = variance = 0.0
    for k, many in sizes.iter_rows():
        absent = (1.0 - share) ** k
        repeats = max(k - float((1.0 - absent).sum()), 0.0)
        mean += many * repeats
        if share.size > _FEW_PAIRS:
            variance += many * repeats
            continue
        both = np.maximum(1.0 - share[:, None] - share, 0.0) ** k
        np.fill_diagonal(both, absent)
        variance += many * max(float(both.sum()) - float(absent.sum()) ** 2, 0.0)
    return mean, max(variance, 1e-12)


def _bursts(part: RatedPart, voters: Voters) -> Checked:
    """Look for more votes for a model, or by a rater, in a short time than the usual pace explains."""
    table, seconds = part.table, voters.seconds
    timed = np.zeros(0, dtype=np.int64) if seconds is None else np.flatnonzero(np.isfinite(seconds))
    if seconds is None or np.unique(seconds[timed]).size < FEWEST_TIMES:
        few = f"votes have fewer than {FEWEST_TIMES} different times"
        raise CannotAnswerError(MERGED if table.votes is None else few)
    level = TEST_LEVEL / 2.0
    by_model, by_rater = (), ()
    at = timed[table.outcome[timed] < TIE]
    if at.size:
        won, likely = table.outcome[at] == A_WINS, decided_forecast(table, part.fit)[at]
        by_model = model_bursts(
            np.concatenate([table.first[at], table.second[at]]),
            np.tile(seconds[at], 2),
            np.concatenate([won, ~won]),
            np.concatenate([likely, 1.0 - likely]),
            np.tile(voters.codes[at], 2) if voters.n_raters else None,
            level=level,
        )
    if voters.n_raters:
        known = timed[voters.codes[timed] < voters.n_raters]
        by_rater = rater_bursts(voters.codes[known], seconds[known], level=level)
    kinds: list[tuple[Literal["model", "rater"], tuple[BurstFound, ...]]] = [("model", by_model), ("rater", by_rater)]
    bursts = tuple(
        Burst(
            name=table.models[one.code] if kind == "model" else voters.names[one.code],
            kind=kind,
            start=datetime.fromtimestamp(one.start, tz=UTC),
            end=datetime.fromtimestamp(one.end, tz=UTC),
            n_votes=one.n_votes,
            expected=one.expected,
            p_adjusted=one.p_adjusted,
        )
        for kind, found in kinds
        for one in found
    )
    if not bursts:
        who = "for a model or by a rater" if voters.n_raters else "for a model"
        return {}, check_line("bursts", "ok", f"none {who} beyond what its usual pace explains")
    said = (
        f"{burst.n_votes:,} votes {'for' if burst.kind == 'model' else 'by'} {burst.name} from {burst.start:%Y-%m-%d %H:%M} "
        f"to {burst.end:%Y-%m-%d %H:%M} UTC, {number(burst.expected, 1)} expected"
        for burst in bursts
    )
    p = min(1.0, 2.0 * min(burst.p_adjusted for burst in bursts))
    return {"bursts": bursts}, check_line("bursts", "warning", comma_list(said, _NAMED, "; "), p)


def _identity(table: VoteTable, fit: PairFit) -> Checked:
    """Compare votes in which just one answer names its model with what the ratings expect."""
    names = ("names_itself_a", "names_itself_b")
    if table.votes is None:
        raise CannotAnswerError(MERGED)
    texts = table.votes.select(pl.col(name).cast(pl.Boolean) for name in names if name in table.votes.columns)
    known = 0 if texts.width < 2 else texts.select(pl.any_horizontal(pl.all().is_not_null()).sum()).item()
    if not known:
        raise CannotAnswerError("the answers' texts are not known")
    on_a, on_b = (np.asarray(side.fill_null(value=False).to_numpy(), dtype=np.bool_) for side in texts.get_columns())
    n = int(np.count_nonzero(on_a | on_b))
    said = f"in {plural(n, 'vote')} of {known:,} an answer names its own model"
    status: CheckStatus = "warning" if n >= _MANY * known else "ok"
    p = None
    one = np.flatnonzero((on_a != on_b) & (table.outcome < TIE))
    if one.size:
        likely = decided_forecast(table, fit)[one]
        # Who won is side a just where the one that names itself is side a.
        won = ((table.outcome[one] == A_WINS) == on_a[one]).astype(np.float64)
        likely = np.where(on_a[one], likely, 1.0 - likely)
        p = _excess_p(won - likely, likely * (1.0 - likely), [codes[one] for codes in table.codes])
        said += (
            f"; of the {plural(one.size, 'decided vote')} where just one does, its side won {number(100 * won.mean(), 1)}%, "
            f"where the ratings expect {number(100 * likely.mean(), 1)}% (p {p_value(p)})"
        )
        status = "warning" if p <= TEST_LEVEL else status
    return {"identity_votes": n, "identity_share": n / known}, check_line("identity", status, said, p)


def _excess_p(rest: FloatArray, variance: FloatArray, clusters: Sequence[IntArray]) -> float:
    """Test that residuals are 0 on average: by single votes, or by the clusters that say least, whichever is less sure."""
    total, p = float(rest.sum()), two_sided_normal_p(float(rest.sum()) / math.sqrt(float(variance.sum())))
    for codes in clusters:
        _, error, df = clustered_mean(rest, np.ones(rest.size), codes)
        if df < 1.0 or error <= 0.0:
            return 1.0
        p = max(p, two_sided_t_p(total / rest.size / error, df))
    return p


def decided_forecast(table: VoteTable, fit: PairFit) -> FloatArray:
    """Return the probability that a decided vote goes to side a, by the ratings, shape (n_votes,)."""
    eta = fit.strengths[table.first] - fit.strengths[table.second] + table.covariates @ fit.coefficients
    decided = table.outcome < TIE
    line = decided_line(eta[decided], table.outcome[decided] == A_WINS)
    return np.asarray(expit(line[0] + line[1] * eta), dtype=np.float64)


# --- what hangs on one rater, on few votes, on private testing ---


def _one_rater(part: RatedPart, voters: Voters) -> Checked:
    """Leave out single raters and look who is first."""
    models = part.table.models
    if voters.rows is None or voters.n_raters < 2:
        raise CannotAnswerError(voters.reason or f"all votes are of one {voters.column}")
    steps = without_each(part.fit, voters.rows, voters.codes)
    found = tuple(
        RaterInfluence(
            rater=voters.names[one.rater],
            n_votes=one.n_votes,
            model=models[one.model],
            move=one.move * part.options.points,
            new_first=None if one.new_first is None else models[one.new_first],
        )
        for one in largest_influences(steps, n_clusters=voters.n_raters)[:_SHOWN]
    )
    if not found:
        raise CannotAnswerError(f"without the {voters.column}s who matter most, models are no longer connected")
    turning = [one for one in found if one.new_first is not None]
    if turning:
        first = turning[0]
        finding = (
            f"without {first.rater} ({plural(first.n_votes, 'vote')}) {first.new_first} would be rated first; "
            f"{plural(len(turning), voters.column)} of those tried would change who is first"
        )
        return {"influences": found}, check_line("one rater", "warning", finding)
    most = max(found, key=lambda one: abs(one.move))
    finding = (
        f"no single {voters.column} changes who is rated first; the largest move is that of {most.model} by "
        f"{number(most.move, 1, sign=True)} points without {most.rater} ({plural(most.n_votes, 'vote')})"
    )
    return {"influences": found}, check_line("one rater", "ok", finding)


def _few_votes(part: RatedPart) -> Checked:
    """Look for few votes without which the second model would be first."""
    flip, points = smallest_flip(part.fit, part.table.rows), part.options.points
    first, second = part.table.models[flip.first], part.table.models[flip.second]
    found = FewVotesFlip(
        first=first,
        second=second,
        n_votes=flip.n_votes,
        share=None if flip.n_votes is None else flip.n_votes / part.table.n_votes,
        gap=flip.gap * points,
        gap_after=None if flip.gap_after is None else flip.gap_after * points,
        confirmed=flip.confirmed,
        reason=flip.reason,
    )
    if found.n_votes is None or found.share is None:
        return {"flip": found}, check_line("few votes", "not run", f"{found.reason} between {first} and {second}")
    finding = (
        f"without {plural(found.n_votes, 'vote')} ({number(100 * found.share, 2)}% of all) {second} would be rated above "
        f"{first}: the smallest set found, confirmed by a new fit; a smaller one may exist"
    )
    # Not by their share: what turns a clear order of honest votes is a share that falls with the root of their number.
    return {"flip": found}, check_line("few votes", "warning" if found.n_votes <= _FEW else "ok", finding)


def _selection(std_errors: FloatArray) -> Checked:
    """Say what private testing of several variants would add by luck."""
    known = std_errors[np.isfinite(std_errors) & (std_errors > 0.0)]
    if not known.size:
        raise CannotAnswerError(
            "what the best of several variants gains by luck needs standard errors, and there are none"
        )
    gains = selection_bias(float(np.median(known)))
    digits = 0 if gains[0][1] >= 1.0 else 2
    by_luck = ", ".join(f"{number(gain, digits)} of {n}" for n, gain in gains)
    finding = (
        "votes cannot show how many variants of a model were tried before one was published; by luck alone the best of several "
        f"equally strong ones looks better than it is, on average by this many points: {by_luck}"
    )
    return {"selection": gains}, check_line("selection", "not run", finding)


# --- the votes that checks suspect, to be rated without ---

# Checks that point at votes; those of sides, of one rater and of few votes point at none that is suspect.
OF_SUSPECTS: Mapping[str, str] = {
    "raters": "by raters unlike the others",
    "duplicates": "repeats",
    "bursts": "in bursts",
    "identity": "in which an answer names its model",
}


def suspects_of(votes: pl.DataFrame, result: ArenaRanking) -> tuple[pl.Series, list[tuple[str, int]]]:
    """Return which votes the checks of a result suspect, and how many for what reason.

    Of a rater unlike the others: all votes. Of repeats: those after the first. Of a burst for a model: all votes on it in that
    time, won or lost, since to leave out those it won would be a bias against it. Of answers that name their model: those votes.
    """
    found = pl.Series([False] * votes.height, dtype=pl.Boolean)
    reasons: list[tuple[str, int]] = []
    if result.trust is None:
        return found, reasons
    warned = {line.check for line in result.checks if line.status == "warning"}
    scored = pl.col("outcome").is_not_null() & (pl.col("model_a") != pl.col("model_b"))
    for check in OF_SUSPECTS:
        if check in warned:
            at = votes.select(_suspect(check, votes, result.trust).fill_null(value=False) & scored)[:, 0]
            if n := int((at & ~found).sum()):
                reasons.append((OF_SUSPECTS[check], n))
            found |= at
    return found, reasons


def _suspect(check: str, votes: pl.DataFrame, trust: TrustChecks) -> pl.Expr:
    by = next((name for name in ("rater", "session") if name in votes.columns and votes[name].drop_nulls().len()), "")
    if check == "raters":
        return pl.col(by).cast(pl.String).is_in([flag.rater for flag in trust.raters])
    if check == "identity":
        return pl.any_horizontal(
            pl.col(f"names_itself_{side}").cast(pl.Boolean).fill_null(value=False) for side in "ab"
        )
    if check == "duplicates":
        known = pl.col("item").is_not_null() & pl.col(by).is_not_null() & pl.col("outcome").is_not_null()
        pair = pl.concat_list("model_a", "model_b").list.sort()
        return known & (pl.int_range(pl.len()).over(known, "item", by, pair) > 0)
    found = pl.lit(value=False)
    for burst in trust.bursts:
        # Times that a file writes without a zone are UTC, as in the check.
        start, end = (pl.lit(int(time.timestamp() * 1e6) + more) for time, more in ((burst.start, -1), (burst.end, 1)))
        within = pl.col("timestamp").dt.epoch("us").is_between(start, end)
        on_model = (pl.col("model_a") == burst.name) | (pl.col("model_b") == burst.name)
        found |= within & (pl.col(by).cast(pl.String) == burst.name if burst.kind == "rater" else on_model)
    return found
