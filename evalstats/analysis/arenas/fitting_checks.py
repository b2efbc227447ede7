"""Does one rating a model describe the votes? Deviance, calibration, held-out prediction, transitivity and circles."""

from dataclasses import replace

import numpy as np
from scipy import special

from evalstats.analysis.arenas.check_results import (
    CalibrationBin,
    CheckLine,
    CheckStatus,
    Expected,
    FitChecks,
    PairResidual,
)
from evalstats.analysis.arenas.table import VoteTable
from evalstats.analysis.scenarios.words import p_text
from evalstats.display.numbers import number, plural
from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.goodness import AgainstDrawn, Deviance, PairResiduals, pair_deviance, pair_residuals
from evalstats.stats.arena.hodge import HodgeParts, hodge_parts
from evalstats.stats.arena.prediction import HeldOut, held_out
from evalstats.stats.arena.simulated import Simulated, simulated
from evalstats.stats.arena.transitivity import Transitivity, transitivity

LEVEL = 0.05
_SHOWN = 10
_ENOUGH_VOTES = 30  # a model; at 12 true ratings fail the checks of circles in 13% of tables, at a nominal 5%
_FEW_TRIPLES = 10  # below, hardly any share would stand out
_MOST_DRAWS = 1_000_000  # cells times resamples
_FEWEST_DRAWS = 99
_BIN_LEVEL = 0.95
_TITLES = {
    "deviance": "Pairs against ratings",
    "calibration": "Calibration",
    "prediction": "Prediction",
    "transitivity": "Transitivity",
    "cycles": "Circles",
}


def fit_checks(
    table: VoteTable, fit: PairFit, *, seed: int, n_resamples: int = 200
) -> tuple[FitChecks, tuple[CheckLine, ...]]:
    """Check whether strengths describe the votes, each statistic beside what chance alone would make of it.

    Parameters
    ----------
    table
        The votes that were fitted.
    n_resamples
        Tables of votes drawn under the fit; fewer (at least 99) where pairs are so many that it would take long.

    Notes
    -----
    Draws take votes for independent: what exceeds them is misfit, or votes that depend on each other. Both make ratings less
    certain than they look.
    """
    drawn = simulated(fit, table.rows, n_resamples=_draws(fit, table, n_resamples), seed=seed)
    deviance, line_1 = _deviance(drawn, table)
    predicted, lines_2 = _prediction(fit, table, seed)
    circular, line_3 = _transitivity(drawn)
    hodge, line_4 = _circles(drawn)
    lines = _of_few_votes((line_1, *lines_2, line_3, line_4), table)
    missing = tuple(f"{line.title.lower()}: {line.finding}" for line in lines if line.status == "not run")
    checks = FitChecks(
        deviance=None if deviance is None else _expected(deviance.deviance),
        worst_pairs=() if deviance is None else _worst(pair_residuals(drawn), table.models),
        calibration=() if predicted is None else _bins(predicted),
        brier=None if predicted is None else predicted.brier,
        brier_constant=None if predicted is None else predicted.brier_constant,
        log_loss=None if predicted is None else predicted.log_loss,
        log_loss_constant=None if predicted is None else predicted.log_loss_constant,
        n_folds=0 if predicted is None else predicted.n_folds,
        folds_by="" if predicted is None else _folds_by(predicted, table),
        triples=0 if circular is None else circular.triples,
        violations=0 if circular is None else circular.violations,
        transitivity=None if circular is None else _expected(circular.share),
        curl=None if hodge is None else _expected(hodge.share),
        reason="; ".join(missing) or None,
    )
    return checks, lines


def _of_few_votes(lines: tuple[CheckLine, ...], table: VoteTable) -> tuple[CheckLine, ...]:
    """Say of models with few votes what the checks cannot: simulated laws of circles are too low there."""
    each = 2.0 * table.n_votes / table.n_models
    if each >= _ENOUGH_VOTES:
        return lines
    few = f"{each:.0f} votes a model are too few to tell circles from noise"
    bold = "ratings of few votes predict more boldly than they should, whether or not votes follow them"
    told: list[CheckLine] = []
    for line in lines:
        if line.check in {"transitivity", "cycles"} and line.status == "warning":
            told.append(replace(line, status="not run", finding=f"{few}: {line.finding.partition(': ')[0]}"))
        elif line.check == "calibration" and line.status == "warning":
            told.append(replace(line, finding=f"{line.finding}; {bold}"))
        else:
            told.append(line)
    return tuple(told)


def percent(share: float, digits: int = 0) -> str:
    """Write a share in percent."""
    return f"{number(100.0 * share, digits)}%"


def _draws(fit: PairFit, table: VoteTable, asked: int) -> int:
    pairs = fit.n_models * (fit.n_models - 1) // 2
    cells = min(pairs, table.rows.n_rows) if not table.rows.n_covariates else max(pairs, min(8_000, 20 * pairs))
    return min(asked, max(_FEWEST_DRAWS, _MOST_DRAWS // max(cells, 1)))


def _line(check: str, status: CheckStatus, finding: str) -> CheckLine:
    return CheckLine(check=check, title=_TITLES[check], status=status, finding=finding)


def _deviance(drawn: Simulated, table: VoteTable) -> tuple[Deviance | None, CheckLine]:
    try:
        found = pair_deviance(drawn)
    except CannotAnswerError as error:
        return None, _line("deviance", "not run", str(error))
    law = found.deviance
    said = (
        f"the deviance of {plural(drawn.cells.n_pairs, 'pair')} is {law.observed:,.0f}, where {law.expected:,.0f} "
        f"[{law.low:,.0f}, {law.high:,.0f}] is expected if ratings say all and votes are independent ({p_text(law.p_value)})"
    )
    if law.p_value > LEVEL:
        return found, _line("deviance", "ok", said)
    worst = _worst(pair_residuals(drawn), table.models)[:1]
    far = "".join(
        f"; farthest off is {pair.first} against {pair.second}: {percent(pair.observed)} of {plural(pair.n_votes, 'vote')}, "
        f"{percent(pair.expected)} by their ratings"
        for pair in worst
    )
    return found, _line(
        "deviance", "warning", f"{said}: some pairs go otherwise than ratings say, or votes depend on each other{far}"
    )


def _prediction(fit: PairFit, table: VoteTable, seed: int) -> tuple[HeldOut | None, tuple[CheckLine, CheckLine]]:
    try:
        found = held_out(fit, table.rows, conf_level=_BIN_LEVEL, seed=seed)
    except CannotAnswerError as error:
        return None, (_line("calibration", "not run", str(error)), _line("prediction", "not run", str(error)))
    return found, (_calibration_line(found), _prediction_line(found, table))


def _calibration_line(found: HeldOut) -> CheckLine:
    bins = [each for each in found.bins if each.conf_low is not None and each.conf_high is not None]
    if not bins:
        return _line("calibration", "not run", "too few clusters to say how far shares may be from predicted ones")
    outside = [each for each in bins if not (each.conf_low or 0.0) <= each.predicted <= (each.conf_high or 1.0)]
    # How likely as many or more are outside when all predictions are right.
    chance = float(special.bdtrc(len(outside) - 1, len(bins), 1.0 - _BIN_LEVEL)) if outside else 1.0
    said = (
        f"in {len(bins) - len(outside)} of {plural(len(bins), 'bin')} the predicted share of held-out votes lies in the "
        f"{percent(_BIN_LEVEL)} interval of the observed one; Brier score {number(found.brier, 4)}, of a constant "
        f"{number(found.brier_constant, 4)}"
    )
    if chance > LEVEL:
        return _line("calibration", "ok", said)
    far = max(outside, key=lambda each: abs(each.predicted - each.observed))
    return _line(
        "calibration",
        "warning",
        f"{said}; farthest off: {percent(far.predicted)} predicted, {percent(far.observed)} observed",
    )


def _prediction_line(found: HeldOut, table: VoteTable) -> CheckLine:
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
    if table.n_models == 2:
        return _line(
            "prediction", "not run", "of two models the share of wins is the rating: there is nothing more to predict"
        )
    if found.gain_low is None or found.gain_high is None:
        return _line("prediction", "warning", f"{said}; too few clusters to say whether that is more than chance")
    gain = f"a gain of {number(found.gain, 4)} [{number(found.gain_low, 4)}, {number(found.gain_high, 4)}]"
    if found.gain_low > 0.0:
        return _line("prediction", "ok", f"{said}: {gain}")
    return _line("prediction", "warning", f"{said}: {gain}, so ratings are not shown to predict new votes")


def _transitivity(drawn: Simulated) -> tuple[Transitivity | None, CheckLine]:
    try:
        found = transitivity(drawn)
    except CannotAnswerError as error:
        return None, _line("transitivity", "not run", str(error))
    if found.triples < _FEW_TRIPLES and found.share.p_value > LEVEL:
        few = f"{plural(found.triples, 'triple')} of models with a majority each say little; {_FEW_TRIPLES} are needed"
        return found, _line("transitivity", "not run", few)
    said = (
        f"{found.violations:,} of {plural(found.triples, 'triple')} contradict the order of their majorities "
        f"({percent(found.share.observed, 1)}), {_law(found.share)}"
    )
    return found, _excess(
        "transitivity", found.share, said, "majorities go round in circles more than chance makes them"
    )


def _circles(drawn: Simulated) -> tuple[HodgeParts | None, CheckLine]:
    try:
        found = hodge_parts(drawn)
    except CannotAnswerError as error:
        return None, _line("cycles", "not run", str(error))
    said = (
        f"{percent(found.share.observed, 1)} of the energy of log-odds between pairs is in circles that no rating can "
        f"describe (HodgeRank), {_law(found.share)}"
    )
    return found, _excess("cycles", found.share, said, "that is more than noise")


def _law(share: AgainstDrawn) -> str:
    return (
        f"where {percent(share.expected, 1)} [{percent(share.low, 1)}, {percent(share.high, 1)}] is expected of true ratings "
        f"with as many votes ({p_text(share.p_value)})"
    )


def _excess(check: str, share: AgainstDrawn, said: str, more: str) -> CheckLine:
    if share.p_value > LEVEL:
        return _line(check, "ok", said)
    return _line(check, "warning", f"{said}: {more}; a rating is then an average over opponents, not a law")


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
