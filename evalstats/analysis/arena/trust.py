"""Can the votes be trusted? Raters, sides, repeated votes, bursts, named answers, few votes, private testing."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special
from scipy.special import expit

from evalstats.analysis.arena.checks import (
    TEST_LEVEL,
    Burst,
    CheckLine,
    CheckStatus,
    Drift,
    FewVotesFlip,
    FitChecks,
    RaterFlag,
    RaterInfluence,
    TrustChecks,
    VoteGraph,
    check_line,
    connection_line,
    guarded,
)
from evalstats.analysis.arena.goodness_of_fit import drift_of, fit_checks
from evalstats.analysis.arena.ratings import Options, Part
from evalstats.analysis.arena.result import VoteCovariate
from evalstats.analysis.arena.sides import side_share, side_words
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, number, p_value, p_words, plural, several
from evalstats.errors import CannotAnswerError, some_of
from evalstats.stats.arena.bradley_terry import ELO_PER_LOG_ODDS, fit_strengths, selection_bias
from evalstats.stats.arena.drift import FEWEST_TIMES, BurstFound, model_bursts, rater_bursts
from evalstats.stats.arena.goodness_of_fit import clustered_mean
from evalstats.stats.arena.influence import largest_influences, smallest_flip, without_each
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.rater_effects import decided_line, decided_votes
from evalstats.stats.arena.raters import CHECKS, FEWEST_VOTES, RaterEvidence, rater_evidence
from evalstats.stats.arena.votes import A_WINS, TIE, VoteRows
from evalstats.stats.checks import BoolArray, FloatArray, IntArray
from evalstats.stats.estimate import two_sided_normal_p, two_sided_t_p

MERGED = "votes came merged, without single votes to look at"
_SHOWN = 5
_FEWEST_RATERS = 3
_LARGEST_E = 1e300
_MANY = 0.01  # of the votes
_MANY_REPEATS = 20.0  # above, their number is near a normal one
_FEW_PAIRS = 400
_NAMED = 3
_FEW = 10  # votes that should not decide who is first
_UNCHECKED = ("Votes, fit and drift were not checked, as asked",)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    seconds = _seconds(table.votes)
    for column in ("rater", "session"):
        if column not in table.votes.columns:
            continue
        values = table.votes[column]
        known = values.drop_nulls().unique().sort()
        if not len(known):
            continue
        codes = values.cast(pl.String).replace_strict(
            known.cast(pl.String), pl.Series(range(len(known)), dtype=pl.Int64), default=len(known)
        )
        coded = codes.to_numpy().astype(np.int64)
        return Voters(
            column=column,
            names=tuple(str(name) for name in known.to_list()),
            codes=coded,
            seconds=seconds,
            rows=VoteRows(
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
            ),
        )
    return Voters(codes=nobody, seconds=seconds, reason="votes have neither a rater nor a session")


def _seconds(votes: pl.DataFrame) -> FloatArray | None:
    if "timestamp" not in votes.columns or votes["timestamp"].null_count() == votes.height:
        return None
    return votes["timestamp"].dt.epoch("us").cast(pl.Float64).fill_null(float("nan")).to_numpy() / 1e6


def first_of_event(table: VoteTable) -> NDArray[np.bool_]:
    """Tell the votes that are the first of their event: the K - 1 votes of an event of K answers are one choice."""
    if table.votes is None or "event" not in table.votes.columns:
        return np.ones(table.first.size, dtype=np.bool_)
    event = table.votes["event"]
    return (event.is_first_distinct() | event.is_null()).to_numpy()


def rater_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters, *, conf_level: float, seed: int
) -> tuple[TrustChecks, CheckLine]:
    """Flag raters by e-values: always one side, against the ratings, loyal to one model; and rings behind a model."""
    if voters.rows is None:
        raise CannotAnswerError(voters.reason)
    evidence = _evidence(fit, voters, voters.rows, first_of_event(table), seed)
    if evidence is None:
        raise CannotAnswerError(f"none of {plural(voters.n_raters, voters.column)} has {FEWEST_VOTES} decided votes")
    tested = f"{plural(evidence.rater.size, voters.column)} with {FEWEST_VOTES} or more decided votes"
    if evidence.rater.size < _FEWEST_RATERS:
        raise CannotAnswerError(f"{tested}: nobody to be unlike")
    fdr = 1.0 - conf_level
    behind = np.flatnonzero(evidence.ring_adjusted <= fdr).tolist()
    flags: dict[tuple[str, str], RaterFlag] = {}
    for flag in (*_alone(evidence, table, voters, fdr), *_together(evidence, table, voters, behind, fdr)):
        # A rater who is loyal alone is not named once more as a member of a ring.
        flags.setdefault((flag.rater, flag.check), flag)
    rings = [f"a group of them pushes {table.models[m]}" for m in behind]
    if not flags and not rings:
        finding = f"none of {tested} stands out against honest tastes (standard deviation {number(evidence.taste, 2)} log-odds)"
        line = check_line("raters", "ok", finding)
    else:
        who = several(list(dict.fromkeys(f"{flag.rater} ({flag.detail})" for flag in flags.values())), _NAMED)
        count = len({flag.rater for flag in flags.values()})
        named = f"votes of {count} stand out: {who}" if flags else "no single one stands out for certain"
        finding = "; ".join([f"of {tested}, {named}", *rings])
        line = check_line("raters", "warning", finding)
    return replace(found, n_raters=voters.n_raters, raters=tuple(flags.values())), line


def influence_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters, *, points: float
) -> tuple[TrustChecks, CheckLine]:
    """Leave out single raters and look who is first."""
    if voters.rows is None or voters.n_raters < 2:
        raise CannotAnswerError(voters.reason or f"all votes are of one {voters.column}")
    steps = without_each(fit, voters.rows, voters.codes)
    largest = largest_influences(steps, n_clusters=voters.n_raters)
    told = tuple(
        RaterInfluence(
            rater=voters.names[one.rater],
            n_votes=one.n_votes,
            model=table.models[one.model],
            move=one.move * points,
            new_first=None if one.new_first is None else table.models[one.new_first],
        )
        for one in largest[:_SHOWN]
    )
    if not told:
        raise CannotAnswerError(f"without the {voters.column}s who matter most, models are no longer connected")
    turning = [one for one in told if one.new_first is not None]
    if turning:
        first = turning[0]
        finding = (
            f"without {first.rater} ({plural(first.n_votes, 'vote')}) {first.new_first} would be rated first; "
            f"{plural(len(turning), voters.column)} of those tried would change who is first"
        )
        line = check_line("one rater", "warning", finding)
    else:
        most = max(told, key=lambda one: abs(one.move))
        finding = (
            f"no single {voters.column} changes who is rated first; the largest move is that of {most.model} by "
            f"{number(most.move, 1, sign=True)} points without {most.rater} ({plural(most.n_votes, 'vote')})"
        )
        line = check_line("one rater", "ok", finding)
    return replace(found, influences=told), line


def _evidence(fit: PairFit, voters: Voters, rows: VoteRows, choices: BoolArray, seed: int) -> RaterEvidence | None:
    """Return evidence from decided choices of known raters, in the order of time, against ratings without each rater."""
    used = np.flatnonzero((rows.outcome < TIE) & (voters.codes < voters.n_raters) & choices)
    when = np.zeros(rows.n_rows) if voters.seconds is None else np.nan_to_num(voters.seconds, nan=np.inf)
    used = used[np.lexsort((when[used], voters.codes[used]))]

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

    if not used.size:
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
            agreed = int(evidence.n_agree[i])
            detail = (
                f"{agreed} of {n} for the model rated higher, {number(float(evidence.expected_agree[i]), 1)} expected"
            )
        else:
            met, won = int(evidence.loyal_met[i]), int(evidence.loyal_won[i])
            detail = f"{won} of {met} votes on {table.models[int(evidence.loyal_to[i])]} for it"
        flags.append(
            RaterFlag(
                rater=voters.names[int(evidence.rater[i])],
                check=check,
                n_votes=n,
                e_value=_e(float(evidence.log_e[i, k])),
                detail=detail,
            )
        )
    return sorted(flags, key=lambda flag: (-flag.e_value, flag.rater))


def _together(
    evidence: RaterEvidence, table: VoteTable, voters: Voters, behind: list[int], fdr: float
) -> list[RaterFlag]:
    """Return members of rings; the e-value is that of the ring."""
    n_votes: dict[int, int] = dict(zip(evidence.rater.tolist(), evidence.n_votes.tolist(), strict=True))
    flags: list[RaterFlag] = []
    for model in behind:
        members: list[int] = evidence.rings.members(model, fdr).tolist()
        together = f"one of {plural(len(members), voters.column)} who together push {table.models[model]}"
        e_value = _e(float(evidence.rings.log_e[model]))
        flags.extend(
            RaterFlag(
                rater=voters.names[code], check="loyalty", n_votes=n_votes[code], e_value=e_value, detail=together
            )
            for code in members
        )
    return flags


def _e(log_e: float) -> float:
    return min(math.exp(min(log_e, 690.0)), _LARGEST_E)


def side_check(found: TrustChecks, side: VoteCovariate | str) -> tuple[TrustChecks, CheckLine]:
    """Say whether one side is preferred between equal models; `side` is the effect, or why there is none."""
    if isinstance(side, str):
        raise CannotAnswerError(side)
    share, low, high = side_share(side)
    kept = replace(found, side_share=share, side_low=low, side_high=high, side_p=side.p_value)
    told = f"between equal models {side_words(side)} wins {number(100 * share, 1)}% of votes"
    if np.isinf(side.estimate):
        told = f"{side_words(side)} won every decided vote"
    if side.p_value is None:
        return kept, check_line("sides", "not run", f"{told}; whether that is chance cannot be said: {side.reason}")
    ends = "" if low is None else f"{100 * side.conf_level:g}% CI {interval_words(low, high, 100)}, "
    finding = f"{told} ({ends}{p_words(side.p_value)})"
    if side.held:
        finding += "; the ratings hold the side equal"
    return kept, check_line("sides", _status(side.p_value), finding, side.p_value)


def _status(p: float) -> CheckStatus:
    return "warning" if p <= TEST_LEVEL else "ok"


def duplicate_check(found: TrustChecks, table: VoteTable) -> tuple[TrustChecks, CheckLine]:
    """Count votes beyond the first by one rater on the same prompt and pair, and how often they agree with the first."""
    names = {name for name in ("rater", "item") if table.votes is not None and name in table.votes.columns}
    if table.votes is None or len(names) < 2:
        raise CannotAnswerError(MERGED if table.votes is None else "needs the rater and the prompt of each vote")
    turned = table.first > table.second
    share = np.where(turned, 1.0 - table.share, table.share)
    frame = table.votes.select("rater", "item").with_columns(
        low=pl.Series(np.minimum(table.first, table.second)),
        high=pl.Series(np.maximum(table.first, table.second)),
        share=pl.Series(share),
    )
    known = frame.drop_nulls()
    if not known.height:
        raise CannotAnswerError("no vote names both its rater and its prompt")
    key = ["rater", "item", "low", "high"]
    again = known.with_columns(
        place=pl.int_range(pl.len()).over(key), same=pl.col("share") == pl.col("share").first().over(key)
    ).filter(pl.col("place") > 0)
    n, (expected, variance) = again.height, _expected_repeats(known)
    agree = float(again["same"].cast(pl.Float64).sum()) / n if n else None
    p = float(special.gammainc(n, max(expected, 1e-300))) if n else 1.0  # Poisson: repeats are rare
    if expected > _MANY_REPEATS:
        p = float(special.ndtr((expected + 0.5 - n) / math.sqrt(variance)))
    if agree is None:
        finding = f"none among {plural(known.height, 'vote')}: no rater judged a pair of answers to a prompt twice"
    else:
        finding = (
            f"{plural(n, 'vote')} of {known.height:,} repeat a pair of models that the rater had judged on the prompt before, "
            f"where random pairs repeat {number(expected, 1)} (p {p_value(p)}); {number(100 * agree, 0)}% say the same as the "
            "first"
        )
    status = _status(p) if n >= _MANY * known.height else "ok"
    found = replace(found, n_duplicates=n, duplicates_expected=expected, duplicates_agree=agree)
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


def burst_check(found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters) -> tuple[TrustChecks, CheckLine]:
    """Look for more votes for a model, or by a rater, in a short time than the usual pace explains."""
    seconds = voters.seconds
    timed = np.zeros(0, dtype=np.int64) if seconds is None else np.flatnonzero(np.isfinite(seconds))
    if seconds is None or np.unique(seconds[timed]).size < FEWEST_TIMES:
        few = f"votes have fewer than {FEWEST_TIMES} different times"
        raise CannotAnswerError(MERGED if table.votes is None else few)
    level = TEST_LEVEL / 2.0
    bursts = [_burst(one, "model", table.models[one.code]) for one in _of_models(table, fit, voters, timed, level)]
    if voters.n_raters:
        known = timed[voters.codes[timed] < voters.n_raters]
        by_rater = rater_bursts(voters.codes[known], seconds[known], level=level)
        bursts += [_burst(one, "rater", voters.names[one.code]) for one in by_rater]
    if not bursts:
        who = "for a model or by a rater" if voters.n_raters else "for a model"
        line = check_line("bursts", "ok", f"none {who} beyond what its usual pace explains")
        return found, line
    told = (
        f"{burst.n_votes:,} votes {'for' if burst.kind == 'model' else 'by'} {burst.name} from {burst.start:%Y-%m-%d %H:%M} "
        f"to {burst.end:%Y-%m-%d %H:%M} UTC, {number(burst.expected, 1)} expected"
        for burst in bursts
    )
    p = min(1.0, 2.0 * min(burst.p_adjusted for burst in bursts))
    line = check_line("bursts", "warning", some_of(told, _NAMED, "; "), p)
    return replace(found, bursts=tuple(bursts)), line


def identity_check(found: TrustChecks, table: VoteTable, fit: PairFit) -> tuple[TrustChecks, CheckLine]:
    """Compare votes in which just one answer names its model with what the ratings expect."""
    names = ("names_itself_a", "names_itself_b")
    if table.votes is None:
        raise CannotAnswerError(MERGED)
    texts = table.votes.select(pl.col(name).cast(pl.Boolean) for name in names if name in table.votes.columns)
    known = 0 if texts.width < 2 else texts.select(pl.any_horizontal(pl.all().is_not_null()).sum()).item()
    if not known:
        raise CannotAnswerError("the answers' texts are not known")
    a, b = texts.get_columns()
    on_a = np.asarray(a.fill_null(value=False).to_numpy(), dtype=np.bool_)
    on_b = np.asarray(b.fill_null(value=False).to_numpy(), dtype=np.bool_)
    n = int(np.count_nonzero(on_a | on_b))
    told = f"in {plural(n, 'vote')} of {known:,} an answer names its own model"
    status: CheckStatus = "warning" if n >= _MANY * known else "ok"
    p = None
    one = np.flatnonzero((on_a != on_b) & (table.outcome < TIE))
    if one.size:
        likely = decided_forecast(table, fit)[one]
        # Who won is side a just where the one that names itself is side a.
        won = ((table.outcome[one] == A_WINS) == on_a[one]).astype(np.float64)
        likely = np.where(on_a[one], likely, 1.0 - likely)
        p = _excess_p(won - likely, likely * (1.0 - likely), [codes[one] for codes in table.codes])
        told += (
            f"; of the {plural(one.size, 'decided vote')} where just one does, its side won {number(100 * won.mean(), 1)}%, "
            f"where the ratings expect {number(100 * likely.mean(), 1)}% (p {p_value(p)})"
        )
        status = "warning" if p <= TEST_LEVEL else status
    line = check_line("identity", status, told, p)
    return replace(found, identity_votes=n, identity_share=n / known), line


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


def _of_models(
    table: VoteTable, fit: PairFit, voters: Voters, timed: np.ndarray, level: float
) -> tuple[BurstFound, ...]:
    at = timed[table.outcome[timed] < TIE]
    if voters.seconds is None or not at.size:
        return ()
    won, likely = table.outcome[at] == A_WINS, decided_forecast(table, fit)[at]
    return model_bursts(
        np.concatenate([table.first[at], table.second[at]]),
        np.tile(voters.seconds[at], 2),
        np.concatenate([won, ~won]),
        np.concatenate([likely, 1.0 - likely]),
        np.tile(voters.codes[at], 2) if voters.n_raters else None,
        level=level,
    )


def _burst(one: BurstFound, kind: str, name: str) -> Burst:
    return Burst(
        name=name,
        kind="model" if kind == "model" else "rater",
        start=datetime.fromtimestamp(one.start, tz=UTC),
        end=datetime.fromtimestamp(one.end, tz=UTC),
        n_votes=one.n_votes,
        expected=one.expected,
        p_adjusted=one.p_adjusted,
    )


def trust_checks(
    table: VoteTable,
    fit: PairFit,
    *,
    std_errors: FloatArray | None,
    side: VoteCovariate | str,
    conf_level: float = 0.95,
    seed: int = 0,
    points: float = ELO_PER_LOG_ODDS,
) -> tuple[TrustChecks, tuple[CheckLine, ...]]:
    """Check raters, sides, duplicates, bursts, identity leaks, single raters, few votes and private testing.

    `table` and `fit` are of models on one scale. `std_errors` of the ratings, shape (n_models,), are in points, of which
    `points` make a log-unit; NaN where there is none, None for none at all. `side` is its effect, or why there is none.
    Raters are flagged at a false discovery rate of 1 - conf_level; each other test warns of honest votes in at most .5%
    (`TEST_LEVEL`). A warning says where to look; it proves nobody a cheat, and silence proves nobody honest
    (`validation.arena_manipulators` measures what is found).
    """
    voters = voters_of(table)
    checks: dict[str, Callable[[TrustChecks], tuple[TrustChecks, CheckLine]]] = {
        "sides": lambda found: side_check(found, side),
        "raters": lambda found: rater_check(found, table, fit, voters, conf_level=conf_level, seed=seed),
        "duplicates": lambda found: duplicate_check(found, table),
        "bursts": lambda found: burst_check(found, table, fit, voters),
        "identity": lambda found: identity_check(found, table, fit),
        "one rater": lambda found: influence_check(found, table, fit, voters, points=points),
        "few votes": lambda found: flip_check(found, table, fit, points=points),
        "selection": lambda found: selection_check(found, std_errors),
    }
    found, lines = TrustChecks(), list[CheckLine]()
    for check, run in checks.items():
        found, line = guarded(check, partial(run, found), found)
        lines.append(line)
    return found, tuple(lines)


def flip_check(found: TrustChecks, table: VoteTable, fit: PairFit, *, points: float) -> tuple[TrustChecks, CheckLine]:
    """Look for few votes without which the second model would be first."""
    flip = smallest_flip(fit, table.rows)
    first, second = table.models[flip.first], table.models[flip.second]
    told = FewVotesFlip(
        first=first,
        second=second,
        n_votes=flip.n_votes,
        share=None if flip.n_votes is None else flip.n_votes / table.n_votes,
        gap=flip.gap * points,
        gap_after=None if flip.gap_after is None else flip.gap_after * points,
        confirmed=flip.confirmed,
        reason=flip.reason,
    )
    if told.n_votes is None or told.share is None:
        finding = f"{told.reason} between {first} and {second}"
        return replace(found, flip=told), check_line("few votes", "not run", finding)
    finding = (
        f"without {plural(told.n_votes, 'vote')} ({number(100 * told.share, 2)}% of all) {second} would be rated above "
        f"{first}: the smallest set found, confirmed by a new fit; a smaller one may exist"
    )
    # Not by their share: what turns a clear order of honest votes is a share that falls with the root of their number.
    status = "warning" if told.n_votes <= _FEW else "ok"
    return replace(found, flip=told), check_line("few votes", status, finding)


def selection_check(found: TrustChecks, std_errors: FloatArray | None) -> tuple[TrustChecks, CheckLine]:
    """Say what private testing of several variants would add by luck."""
    known = np.zeros(0) if std_errors is None else std_errors[np.isfinite(std_errors) & (std_errors > 0.0)]
    if not known.size:
        raise CannotAnswerError(
            "what the best of several variants gains by luck needs standard errors, and there are none"
        )
    gains = selection_bias(float(np.median(known)))
    digits = 0 if gains[0][1] >= 1.0 else 2
    told = ", ".join(f"{number(gain, digits)} of {n}" for n, gain in gains)
    finding = (
        "votes cannot show how many variants of a model were tried before one was published; by luck alone the best of several "
        f"equally strong ones looks better than it is, on average by this many points: {told}"
    )
    return replace(found, selection=gains), check_line("selection", "not run", finding)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the checks found, with a line for each."""

    lines: tuple[CheckLine, ...]
    fit: FitChecks | None = None
    trust: TrustChecks | None = None
    drift: Drift | None = None
    notes: tuple[Note, ...] = ()


def check_votes(
    table: VoteTable, part: Part, graph: VoteGraph, options: Options, *, side: VoteCovariate | str, wanted: bool
) -> Checked:
    """Check the votes of one part (the largest) of the graph, where `wanted`; the connection is that of all models."""
    first = connection_line(graph)
    if not wanted:
        return Checked(lines=(first,), notes=as_notes("choice", _UNCHECKED, caution=False))
    notes: list[Note] = []
    if part.table.n_models < table.n_models:
        text = f"Fit, trust and drift are checked on the largest part of the votes, of {part.table.n_models} models"
        notes.append(Note(kind="choice", text=text, caution=False))
    trust, trust_lines = trust_checks(
        part.table,
        part.fit,
        std_errors=part.std_errors,
        side=side,
        conf_level=options.conf_level,
        seed=options.seed,
        points=options.points,
    )
    told_apart = part.claims is None or bool(part.claims.separated.any())
    fit, fit_lines = fit_checks(part.table, part.fit, seed=options.seed, told_apart=told_apart)
    drift, drift_line = guarded(
        "drift",
        lambda: drift_of(part.table, part.fit, period="auto", conf_level=options.conf_level, points=options.points),
        None,
    )
    weighed = [_weighed(line, part, trust) for line in trust_lines]
    return Checked(
        lines=(first, *weighed, *fit_lines, drift_line), fit=fit, trust=trust, drift=drift, notes=tuple(notes)
    )


def _weighed(line: CheckLine, part: Part, trust: TrustChecks) -> CheckLine:
    """Call it no warning that one rater or few votes turn an order which nothing showed."""
    if line.status != "warning" or line.check not in {"few votes", "one rater"}:
        return line
    first, second = np.argsort(-part.ratings, kind="stable")[:2].tolist()
    after = {second}
    if line.check == "one rater":
        after = {part.table.models.index(one.new_first) for one in trust.influences if one.new_first is not None}
    if part.claims is not None and any(part.claims.separated[first, new] for new in after):
        return line
    return replace(line, status="ok", finding=f"the models it is about are not told apart anyway: {line.finding}")
