"""Who gave each vote and when; raters unlike the others, and what hangs on one of them."""

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalstats.analysis.arena.check_result import CheckLine, RaterFlag, RaterInfluence, TrustChecks, check_line
from evalstats.analysis.arena.votes import VoteTable
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.influence import largest_influences, without_each
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.rater_effects import BoolArray, decided_votes
from evalstats.stats.arena.raters import CHECKS, FEWEST_VOTES, RaterEvidence, rater_evidence
from evalstats.stats.arena.votes import TIE, VoteRows
from evalstats.stats.checks import FloatArray, IntArray

MERGED = "votes came merged, without single votes to look at"


@dataclass(frozen=True, slots=True, kw_only=True)
class Voters:
    """Raters of votes.

    Attributes
    ----------
    column
        "rater", or "session" where votes have no rater; "" where they have neither.
    names
        Names of the raters, by code.
    codes
        int64, shape (n_votes,): raters; the number of raters where nobody is known.
    seconds
        float64, shape (n_votes,): times, NaN where none is known; None where no vote has one.
    rows
        The votes, one row each, in the order of the table, with `codes` as clusters; None without raters.
    reason
        Why there are none.
    """

    column: str = ""
    names: tuple[str, ...] = ()
    codes: IntArray
    seconds: FloatArray | None = None
    rows: VoteRows | None = None
    reason: str | None = None

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
            rows=_single(table, coded),
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


def _single(table: VoteTable, codes: IntArray) -> VoteRows:
    return VoteRows(
        n_models=table.n_models,
        first=table.first,
        second=table.second,
        outcome=table.outcome,
        share=table.share,
        weight=table.weight,
        weight_squares=table.weight**2,
        count=np.ones(table.first.size, dtype=np.int64),
        covariates=table.covariates,
        clusters=(codes,),
    )


_SHOWN = 5
_NAMED = 3
_FEWEST_RATERS = 3
_LARGEST_E = 1e300


def rater_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters, *, conf_level: float, seed: int
) -> tuple[TrustChecks, CheckLine]:
    """Flag raters by e-values: always one side, against the ratings, loyal to one model; and rings behind a model."""
    if voters.rows is None:
        reason = voters.reason or "nobody is known"
        return replace(found, raters_reason=reason), check_line("raters", "not run", reason)
    evidence = _evidence(fit, voters, voters.rows, first_of_event(table), seed)
    if evidence is None:
        reason = f"none of {plural(voters.n_raters, voters.column)} has {FEWEST_VOTES} decided votes"
        return replace(found, n_raters=voters.n_raters, raters_reason=reason), check_line("raters", "not run", reason)
    if evidence.rater.size < _FEWEST_RATERS:
        reason = f"{plural(evidence.rater.size, voters.column)} with {FEWEST_VOTES} or more decided votes: nobody to be unlike"
        return replace(found, n_raters=voters.n_raters, raters_reason=reason), check_line("raters", "not run", reason)
    fdr = 1.0 - conf_level
    behind = np.flatnonzero(evidence.ring_adjusted <= fdr).tolist()
    flags = [*_alone(evidence, table, voters, fdr), *_together(evidence, table, voters, behind, fdr)]
    flags = _once(flags)
    tested = f"{plural(evidence.rater.size, voters.column)} with {FEWEST_VOTES} or more decided votes"
    rings = [f"a group of them pushes {table.models[m]}" for m in behind]
    if not flags and not rings:
        finding = f"none of {tested} stands out against honest tastes (standard deviation {number(evidence.taste, 2)} log-odds)"
        line = check_line("raters", "ok", finding)
    else:
        who = ", ".join(dict.fromkeys(f"{flag.rater} ({flag.detail})" for flag in flags[:_NAMED]))
        more = f" and {len(flags) - _NAMED} more" if len(flags) > _NAMED else ""
        count = len({flag.rater for flag in flags})
        named = f"votes of {count} stand out: {who}{more}" if flags else "no single one stands out for certain"
        finding = "; ".join([f"of {tested}, {named}", *rings])
        line = check_line("raters", "warning", finding)
    return replace(found, n_raters=voters.n_raters, raters=tuple(flags)), line


def influence_check(
    found: TrustChecks, table: VoteTable, fit: PairFit, voters: Voters, *, points: float
) -> tuple[TrustChecks, CheckLine]:
    """Leave out single raters and look who is first."""
    if voters.rows is None or voters.n_raters < 2:
        reason = voters.reason or f"all votes are of one {voters.column}"
        return replace(found, influences_reason=reason), check_line("one rater", "not run", reason)
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
        reason = f"without the {voters.column}s who matter most, models are no longer connected"
        return replace(found, influences_reason=reason), check_line("one rater", "not run", reason)
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


def _once(flags: list[RaterFlag]) -> list[RaterFlag]:
    """Leave out a ring's flag of loyalty for a rater who has one already."""
    seen: dict[tuple[str, str], RaterFlag] = {}
    for flag in flags:
        seen.setdefault((flag.rater, flag.check), flag)
    return list(seen.values())


def _e(log_e: float) -> float:
    return min(math.exp(min(log_e, 690.0)), _LARGEST_E)
