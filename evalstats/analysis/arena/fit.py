"""Does one rating a model describe the votes? Deviance, calibration, held-out prediction, transitivity and circles."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.arena.check_result import (
    TEST_LEVEL,
    CalibrationBin,
    CheckLine,
    Expected,
    FitChecks,
    PairResidual,
    check_line,
    guarded,
)
from evalstats.analysis.arena.votes import VoteTable
from evalstats.analysis.scenarios.words import p_text
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.goodness_of_fit import AgainstDrawn, Deviance, PairResiduals, pair_deviance, pair_residuals
from evalstats.stats.arena.likelihood import PairFit
from evalstats.stats.arena.parametric_bootstrap import Simulated, simulated
from evalstats.stats.arena.predictive_accuracy import HeldOut, calibration_error, held_out
from evalstats.stats.arena.transitivity import HodgeParts, Transitivity, hodge_parts, transitivity

_SHOWN = 10
_ENOUGH_VOTES = 30  # a model; at 12 true ratings fail the checks of circles in 13% of tables, at a nominal 5%
_FEW_TRIPLES = 10  # below, hardly any share would stand out
_MOST_DRAWS = 1_000_000  # cells times resamples
_MOST_ROWS = 20_000_000  # rows of votes, whose tastes are drawn, times resamples
_FEWEST_DRAWS = 199  # with fewer no p-value is as small as `TEST_LEVEL`
_BIN_LEVEL = 0.95
_AVERAGE = "a rating is then an average over opponents, not a law"
_READY = check_line("deviance", "ok", "votes are drawn")


def fit_checks(
    table: VoteTable, fit: PairFit, *, seed: int, n_resamples: int = 399, told_apart: bool = True
) -> tuple[FitChecks, tuple[CheckLine, ...]]:
    """Check whether strengths describe the votes, each statistic beside what chance alone would make of it.

    Parameters
    ----------
    table
        The votes that were fitted.
    n_resamples
        Tables of votes drawn under the fit; fewer (at least 199) where pairs are so many that it would take long.
    told_apart
        Whether any two models are: where none are, ratings need not predict a vote.

    Notes
    -----
    Draws give raters (prompts, sessions, whatever votes are clustered by) tastes of their own, as large as the votes show
    them: what exceeds the draws is misfit. A test warns at p <= .005 (`TEST_LEVEL`).
    """
    drawn, failed = guarded(
        "deviance",
        lambda: (simulated(fit, table.rows, n_resamples=_draws(fit, table, n_resamples), seed=seed), _READY),
        None,
    )
    found = _Found()
    checks: dict[str, Callable[[_Found], tuple[_Found, CheckLine]]] = {
        "deviance": lambda found: _deviance(found, drawn, table),
        "calibration": lambda found: _calibration(found, drawn),
        "prediction": lambda found: _prediction(found, fit, table, seed, told_apart=told_apart),
        "transitivity": lambda found: _transitivity(found, drawn),
        "cycles": lambda found: _circles(found, drawn),
    }
    lines: list[CheckLine] = []
    for check, run in checks.items():
        if drawn is None and check != "prediction":
            lines.append(check_line(check, "not run", failed.finding))
            continue
        found, line = guarded(check, lambda run=run, found=found: run(found), found)
        lines.append(line)
    told = _of_few_votes(tuple(lines), table)
    missing = tuple(f"{line.title.lower()}: {line.finding}" for line in told if line.status == "not run")
    return _as_checks(found, table, "; ".join(missing) or None), told


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    deviance: Deviance | None = None
    worst: PairResiduals | None = None
    calibration: AgainstDrawn | None = None
    predicted: HeldOut | None = None
    circular: Transitivity | None = None
    hodge: HodgeParts | None = None


def _as_checks(found: _Found, table: VoteTable, reason: str | None) -> FitChecks:
    predicted, circular = found.predicted, found.circular
    return FitChecks(
        deviance=None if found.deviance is None else _expected(found.deviance.deviance),
        worst_pairs=() if found.worst is None else _worst(found.worst, table.models),
        calibration=() if predicted is None else _bins(predicted),
        calibration_error=None if found.calibration is None else _expected(found.calibration),
        brier=None if predicted is None else predicted.brier,
        brier_constant=None if predicted is None else predicted.brier_constant,
        log_loss=None if predicted is None else predicted.log_loss,
        log_loss_constant=None if predicted is None else predicted.log_loss_constant,
        n_folds=0 if predicted is None else predicted.n_folds,
        folds_by="" if predicted is None else _folds_by(predicted, table),
        triples=0 if circular is None else circular.triples,
        violations=0 if circular is None else circular.violations,
        transitivity=None if circular is None else _expected(circular.share),
        curl=None if found.hodge is None else _expected(found.hodge.share),
        reason=reason,
    )


def _of_few_votes(lines: tuple[CheckLine, ...], table: VoteTable) -> tuple[CheckLine, ...]:
    """Say of models with few votes what the checks cannot: simulated laws of circles are too low there."""
    each = 2.0 * table.n_votes / table.n_models
    if each >= _ENOUGH_VOTES:
        return lines
    few = f"{each:.0f} votes a model are too few to tell circles from noise"
    return tuple(
        check_line(line.check, "not run", f"{few}: {line.finding.partition(': ')[0]}")
        if line.check in {"transitivity", "cycles"} and line.status == "warning"
        else line
        for line in lines
    )


def percent(share: float, digits: int = 0) -> str:
    """Write a share in percent."""
    return f"{number(100.0 * share, digits)}%"


def _draws(fit: PairFit, table: VoteTable, asked: int) -> int:
    pairs = fit.n_models * (fit.n_models - 1) // 2
    cells = min(pairs, table.rows.n_rows) if not table.rows.n_covariates else max(pairs, min(8_000, 20 * pairs))
    most = min(_MOST_DRAWS // max(cells, 1), _MOST_ROWS // max(table.rows.n_rows, 1))
    return min(asked, max(_FEWEST_DRAWS, most))


def _deviance(found: _Found, drawn: Simulated | None, table: VoteTable) -> tuple[_Found, CheckLine]:
    votes = _of(drawn)
    tested, residuals = pair_deviance(votes), pair_residuals(votes)
    law = tested.deviance
    said = (
        f"the deviance of {plural(votes.cells.n_pairs, 'pair')} is {law.observed:,.0f}, where {law.expected:,.0f} "
        f"[{law.low:,.0f}, {law.high:,.0f}] is expected if ratings say all{_with_tastes(votes, table)} ({p_text(law.p_value)})"
    )
    worst = _worst(residuals, table.models)[:1]
    far = "".join(
        f"; farthest off is {pair.first} against {pair.second}: {percent(pair.observed)} of {plural(pair.n_votes, 'vote')}, "
        f"{percent(pair.expected)} by their ratings"
        for pair in worst
    )
    return (
        replace(found, deviance=tested, worst=residuals),
        _tested("deviance", law.p_value, said, f"some pairs go otherwise than ratings say{far}"),
    )


def _with_tastes(votes: Simulated, table: VoteTable) -> str:
    """Say what draws allow for."""
    if votes.tastes.sd:
        return ", tastes allowed for"
    return "" if table.rows.clusters else " and votes are independent"


def _of(drawn: Simulated | None) -> Simulated:
    if drawn is None:
        raise CannotAnswerError("no votes could be drawn under the fit")
    return drawn


def _tested(check: str, p_value: float, said: str, alarm: str) -> CheckLine:
    """Return the line of a test: a warning at `TEST_LEVEL` and below."""
    if p_value > TEST_LEVEL:
        return check_line(check, "ok", said, p_value)
    return check_line(check, "warning", f"{said}: {alarm}", p_value)


def _calibration(found: _Found, drawn: Simulated | None) -> tuple[_Found, CheckLine]:
    law = calibration_error(_of(drawn))
    said = (
        f"shares of votes differ from predicted ones by {percent(law.observed, 1)} in the root mean square, where "
        f"{percent(law.low, 1)} to {percent(law.high, 1)} is expected of true ratings ({p_text(law.p_value)})"
    )
    alarm = "ratings further apart do not win as much more as they promise"
    return replace(found, calibration=law), _tested("calibration", law.p_value, said, alarm)


def _prediction(
    found: _Found, fit: PairFit, table: VoteTable, seed: int, *, told_apart: bool
) -> tuple[_Found, CheckLine]:
    tried = held_out(fit, table.rows, conf_level=_BIN_LEVEL, seed=seed)
    return replace(found, predicted=tried), _prediction_line(tried, table, told_apart=told_apart)


def _prediction_line(found: HeldOut, table: VoteTable, *, told_apart: bool) -> CheckLine:
    if table.n_models == 2:
        reason = "of two models the share of wins is the rating: there is nothing more to predict"
        return check_line("prediction", "not run", reason)
    said = (
        f"log loss of held-out votes ({found.n_folds} folds by {_folds_by(found, table)}) is {number(found.log_loss, 4)}, "
        f"{number(found.log_loss_constant, 4)} without ratings"
    )
    if found.n_left_out:
        said += f"; {plural(found.n_left_out, 'vote')} could not be predicted, since no other vote knew the model"
    if found.n_weak:
        said += (
            f"; in {plural(found.n_weak, 'fold')} the other votes did not connect all models, and half a win and half a loss "
            "was added to each"
        )
    if found.gain_low is None or found.gain_high is None or found.loss_p is None:
        return check_line("prediction", "not run", f"{said}; too few clusters to say whether that is more than chance")
    gain = f"a gain of {number(found.gain, 4)} [{number(found.gain_low, 4)}, {number(found.gain_high, 4)}]"
    if found.gain_low > 0.0:
        return check_line("prediction", "ok", f"{said}: {gain}", found.loss_p)
    unshown = f"{said}: {gain}, so ratings are not shown to predict new votes"
    if not told_apart:
        return check_line("prediction", "ok", f"{unshown}; nor are any models told apart", found.loss_p)
    return _tested(
        "prediction", found.loss_p, unshown, "they predict worse than no ratings, though models are told apart"
    )


def _transitivity(found: _Found, drawn: Simulated | None) -> tuple[_Found, CheckLine]:
    tested = transitivity(_of(drawn))
    found = replace(found, circular=tested)
    if tested.triples < _FEW_TRIPLES and tested.share.p_value > TEST_LEVEL:
        few = f"{plural(tested.triples, 'triple')} of models with a majority each say little; {_FEW_TRIPLES} are needed"
        return found, check_line("transitivity", "not run", few)
    said = (
        f"{tested.violations:,} of {plural(tested.triples, 'triple')} contradict the order of their majorities "
        f"({percent(tested.share.observed, 1)}), {_law(tested.share)}"
    )
    alarm = f"majorities go round in circles more than chance makes them; {_AVERAGE}"
    return found, _tested("transitivity", tested.share.p_value, said, alarm)


def _circles(found: _Found, drawn: Simulated | None) -> tuple[_Found, CheckLine]:
    tested = hodge_parts(_of(drawn))
    said = (
        f"{percent(tested.share.observed, 1)} of the energy of log-odds between pairs is in circles that no rating can "
        f"describe (HodgeRank), {_law(tested.share)}"
    )
    return replace(found, hodge=tested), _tested(
        "cycles", tested.share.p_value, said, f"that is more than noise; {_AVERAGE}"
    )


def _law(share: AgainstDrawn) -> str:
    return (
        f"where {percent(share.expected, 1)} [{percent(share.low, 1)}, {percent(share.high, 1)}] is expected of true ratings "
        f"with as many votes ({p_text(share.p_value)})"
    )


def _expected(found: AgainstDrawn) -> Expected:
    return Expected(
        observed=found.observed,
        expected=found.expected,
        low=found.low,
        high=found.high,
        p_value=found.p_value,
        n_resamples=found.n_resamples,
    )


def _worst(pairs: PairResiduals, models: tuple[str, ...]) -> tuple[PairResidual, ...]:
    size = np.where(np.isnan(pairs.residual), -1.0, np.abs(pairs.residual))
    order = [k for k in np.argsort(-size, kind="stable")[:_SHOWN].tolist() if size[k] >= 0.0]
    return tuple(
        PairResidual(
            first=models[int(pairs.first[k])],
            second=models[int(pairs.second[k])],
            n_votes=int(pairs.count[k]),
            observed=float(pairs.observed[k]),
            expected=float(pairs.expected[k]),
            residual=float(pairs.residual[k]),
        )
        for k in order
    )


def _bins(found: HeldOut) -> tuple[CalibrationBin, ...]:
    return tuple(
        CalibrationBin(
            low=each.low,
            high=each.high,
            n_votes=each.n_votes,
            predicted=each.predicted,
            observed=each.observed,
            conf_low=each.conf_low,
            conf_high=each.conf_high,
        )
        for each in found.bins
    )


def _folds_by(found: HeldOut, table: VoteTable) -> str:
    if found.way is None:
        return "vote"
    name = table.cluster_names[found.way] if found.way < len(table.cluster_names) else "cluster"
    return "prompt" if name == "item" else name
