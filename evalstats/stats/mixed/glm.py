"""Linear and logistic models without random effects, and what to do where the fixed effects have no finite estimate."""

import math
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import linalg, optimize, sparse, special

from evalstats.errors import CannotAnswerError, InputError
from evalstats.grammar import comma_list, has_have, plural
from evalstats.record import record
from evalstats.stats.mixed.design import (
    Convergence,
    Floats,
    Ints,
    MixedDesign,
    MixedFit,
    check_levels,
    nested_in,
)
from evalstats.stats.mixed.distinct_rows import Distinct
from evalstats.stats.mixed.laplace import Pseudo

Bools = npt.NDArray[np.bool_]

RANK_TOLERANCE = 1e-9  # of the largest singular value, after columns are scaled to unit length
DEPENDENCE_TOLERANCE = 1e-7  # of its length: what is left of a column outside the span of those before it
NEWTON_STEPS = 30
LONGEST = 5.0  # logits: a Newton step is cut to that
MOVING = 0.1  # logits: what a separated row moves by at least in a late step
REST = 1e-5  # logits: what no other row does
ROUNDS = 4  # times that rows are taken away which turn out to move
SHOWN = 5
ROUNDING = 1e-6  # of a success: shares times counts are rounded by far less
_MOST_STEPS = 100
_FLAT = 1e-12  # a Newton step that gains less than this share of the log-likelihood is the last
_HALVINGS = 30
_EXACT = 1e-24  # of the sum of squares: what is left of an exact fit is rounding


@record
class Separation:
    """What is separated: distinct rows of X on which the likelihood has no maximum, each also in words (`labels`).

    `columns` names the coefficients that run to infinity, in a space of `n_directions` dimensions; `complete` says whether all
    cells are separated.
    """

    rows: Floats
    labels: tuple[str, ...]
    n_directions: int
    columns: tuple[str, ...]
    complete: bool

    def prior(self) -> Pseudo:
        """Return the pseudo-observations for what is separated."""
        n = len(self.rows)
        return Pseudo(rows=self.rows, trials=np.full(n, self.n_directions / n))


def find_separation(design: MixedDesign) -> Separation | None:
    """Return what is separated in the fixed part of a binomial design of full rank, or None if nothing is.

    Cells with the same fixed effects are merged. A separating direction is 0 on every mixed row, and on every set of rows
    that have a finite logistic regression by themselves; that leaves few dimensions, mostly none. In them a linear programme
    (Konis 2007, "Linear programming algorithms for detecting separated data in binary logistic regression models",
    University of Oxford) finds the largest separated set.
    """
    distinct = design.fixed
    trials = distinct.of_cell.sums(design.count)
    successes = np.rint(distinct.of_cell.sums(design.count * design.response))
    side = np.where(successes >= trials, 1.0, np.where(successes <= 0.0, -1.0, 0.0))
    rows = distinct.rows / np.sqrt((distinct.rows**2).mean(axis=0))
    free = _spaces(rows[side == 0.0])[1]
    if free.shape[1]:
        free = _spaces(rows[_bounded_rows(rows, trials, successes, side)])[1]
    if not free.shape[1]:
        return None
    moves = (side[:, None] * rows) @ free
    moves[np.abs(moves) < DEPENDENCE_TOLERANCE * np.abs(moves).max()] = 0.0
    candidates = np.flatnonzero(np.abs(moves).max(axis=1))
    which = candidates[_largest_separated(moves[candidates])]
    if which.size == 0:
        return None
    directions = _spaces(np.delete(rows, which, axis=0))[1]
    runs = np.abs(directions).max(axis=1) > DEPENDENCE_TOLERANCE
    return Separation(
        rows=distinct.rows[which],
        labels=tuple(_label(row, design.fixed_names) for row in distinct.rows[which]),
        n_directions=directions.shape[1],
        columns=tuple(name for name, r in zip(design.fixed_names, runs, strict=True) if r),
        complete=bool(np.isin(distinct.of_cell.level, which).all()),
    )


def dependent_columns(rows: Floats) -> Ints:
    """Return the columns of X that follow from those before them; `rows` are its distinct rows."""
    length = np.sqrt((rows**2).sum(axis=0))
    scaled = rows / np.where(length > 0.0, length, 1.0)
    if len(scaled) > 4 * scaled.shape[1]:
        scaled = np.asarray(linalg.qr(scaled, mode="r", check_finite=False)[0][: scaled.shape[1]], dtype=np.float64)
    values = np.linalg.svd(scaled, compute_uv=False)
    if values.size == rows.shape[1] and values.min() > RANK_TOLERANCE * values.max():
        return np.zeros(0, dtype=np.int64)
    out: list[int] = []
    basis = np.zeros((len(scaled), 0))
    for j in range(scaled.shape[1]):
        column = scaled[:, j]
        for _ in range(2):  # orthogonal to rounding after the second time
            column = column - basis @ (basis.T @ column)
        size = float(np.linalg.norm(column))
        if size > DEPENDENCE_TOLERANCE:
            basis = np.column_stack([basis, column / size])
        else:
            out.append(j)
    return np.array(out, dtype=np.int64)


def _spaces(rows: Floats) -> tuple[Floats, Floats]:
    """Orthonormal bases of the span of the rows and of its complement."""
    width = rows.shape[1]
    if len(rows) == 0:
        return np.zeros((width, 0)), np.eye(width)
    if len(rows) > 4 * width:
        rows = np.asarray(linalg.qr(rows, mode="r", check_finite=False)[0][:width], dtype=np.float64)
    _, values, turned = np.linalg.svd(rows, full_matrices=True)
    rank = int((values > RANK_TOLERANCE * values.max()).sum())
    return turned[:rank].T, turned[rank:].T


def _bounded_rows(rows: Floats, trials: Floats, successes: Floats, side: Floats) -> Bools:
    """Say on which rows a separating direction must be 0, as far as logistic regressions prove it.

    In Newton's iteration separated rows move on by about one logit a step, for ever, and the others come to rest. Those at
    rest are then fitted alone: a finite solution proves that no direction separates any of them.
    """
    mixed = side == 0.0
    at_rest = np.ones(len(rows), dtype=bool)
    for _ in range(ROUNDS):
        basis = _spaces(rows[at_rest])[0]
        last = _last_newton_step(rows[at_rest] @ basis, trials[at_rest], successes[at_rest])
        if last is None:
            return mixed
        moving = side[at_rest] * last > MOVING
        if not moving.any():
            return at_rest if np.abs(last).max() < REST else mixed
        at_rest[np.flatnonzero(at_rest)[moving]] = False
        if not at_rest.any():
            break
    return mixed


def _last_newton_step(rows: Floats, trials: Floats, successes: Floats) -> Floats | None:
    """Change of every row's predictor in the last step of Newton's iteration for a plain logistic regression.

    None where the weights vanish before it is clear what moves.
    """
    eta = step = np.zeros(len(rows))
    for _ in range(NEWTON_STEPS):
        mean = 1.0 / (1.0 + np.exp(-eta))
        weights = trials * mean * (1.0 - mean)
        information = rows.T @ (weights[:, None] * rows)
        try:
            factor = linalg.cho_factor(information)
        except linalg.LinAlgError:
            return None
        step = rows @ linalg.cho_solve(factor, rows.T @ (successes - trials * mean))
        step *= min(1.0, LONGEST / max(float(np.abs(step).max()), 1e-300))
        eta = eta + step
        if np.abs(step).max() < REST:
            break
    return step


def _largest_separated(moves: Floats) -> Bools:
    """Say on which rows some direction with moves @ d >= 0 everywhere is positive.

    Maximise sum z, 0 <= z <= min(1, moves @ d): a direction may be as long as it likes, so every row that can be positive
    together with the others reaches 1.
    """
    distinct, inverse = np.unique(np.round(moves, 9), axis=0, return_inverse=True)
    n, width = distinct.shape
    limits = sparse.csr_array(
        sparse.hstack([sparse.csr_array(-distinct), sparse.eye_array(n, format="csr")], format="csr")
    )
    result: Any = optimize.linprog(
        np.concatenate([np.zeros(width), -np.ones(n)]),
        A_ub=cast("Any", limits),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * width + [(0.0, 1.0)] * n,
        method="highs",
    )
    if result.x is None:
        raise CannotAnswerError(f"the search for separation failed: {result.message}; scale the covariates")
    reached = np.asarray(result.x[width:], dtype=np.float64) > 0.5
    return reached[inverse.ravel()]


def _label(row: Floats, names: tuple[str, ...]) -> str:
    """Name the columns that are not 0; an interaction of columns that are named says nothing more."""
    held = {name: value for name, value in zip(names, row.tolist(), strict=True) if value != 0.0}
    parts = [
        name if value == 1.0 else f"{name} = {value:.4g}"
        for name, value in held.items()
        if name not in ("(Intercept)", "Intercept")
        and not (":" in name and all(part in held for part in name.split(":")))
    ]
    return " and ".join(parts) if parts else "the baseline of every factor"


def answer_in_words(separation: Separation) -> tuple[str, str]:
    """Say which prior answers a separation, and as a warning what is separated."""
    n, columns = len(separation.rows), separation.columns
    kind = "complete" if separation.complete else "quasi-complete"
    shown = comma_list(separation.labels, SHOWN, "; ")
    names = comma_list(columns, SHOWN)
    each = separation.n_directions / n
    amount = (
        "half a success and half a failure" if each == 1.0 else f"{each / 2:.3g} successes and {each / 2:.3g} failures"
    )
    where = f"each of the {n} separated combinations" if n > 1 else "the separated combination"
    penalty = (
        f"{amount} added to {where} of the fixed effects (a log-F prior on the log-odds; Jeffreys' where a combination has a "
        "parameter of its own)"
    )
    return penalty, (
        f"{kind} separation: {plural(n, 'combination')} of the fixed effects {has_have(n)} only "
        f"successes or only failures ({shown}), so that the maximum-likelihood estimate of {names} is infinite; answered by "
        f"{penalty}: intervals of these rest on it"
    )


def check_binomial(design: MixedDesign) -> tuple[str, ...]:
    """Refuse a response or groupings that cannot be fitted; return warnings about what can but should not be trusted."""
    check_shares(design)
    if not design.terms:
        raise InputError("the model has no random effect; a mixed model needs one, such as (1|item)")
    warnings: list[str] = []
    for term in design.terms:
        warnings += check_levels(term, np.unique(term.level).size)
        if not term.is_intercept:
            continue
        trials = np.bincount(term.level, weights=design.count)
        if trials.max() <= 1.0 + ROUNDING:
            raise CannotAnswerError(
                f"every level of {term.group!r} has one trial: outcomes of 0 or 1 seen once say nothing about its "
                "variance; leave the term out, or give repeated trials"
            )
        share = np.bincount(term.level, weights=design.count * design.response) / trials
        if not ((share < ROUNDING) | (share > 1.0 - ROUNDING)).all():
            continue
        # No level holds both outcomes: harmless only where a fixed effect explains each already.
        rows = design.fixed.of_cell
        if not nested_in(term.level, rows.level) or rows.n_levels < np.unique(term.level).size:
            warnings.append(
                f"every level of {term.group} has only successes or only failures: the likelihood rises as its variance runs to "
                "infinity, so the estimate only says that it is large"
            )
    return tuple(warnings)


def check_rank(distinct: Distinct, names: tuple[str, ...]) -> None:
    """Refuse fixed effects that are not of full rank, and name what is too much."""
    dependent = [repr(names[int(j)]) for j in dependent_columns(distinct.rows)]
    if dependent:
        several = len(dependent) > 1
        raise InputError(
            f"{len(names)} fixed effects, but column{'s' if several else ''} {', '.join(dependent)} "
            f"follow{'' if several else 's'} from those before; leave out empty combinations or one of the factors"
        )


def check_shares(design: MixedDesign) -> None:
    """Refuse a response that is no share of whole successes, or that never varies."""
    share, count = design.response, design.count
    if not (np.isfinite(share).all() and np.isfinite(count).all() and np.isfinite(design.fixed.rows).all()):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if (count <= 0).any():
        raise InputError(f"{int((count <= 0).sum())} cells have no trial; leave them out")
    outside = int(((share < 0.0) | (share > 1.0)).sum())
    if outside:
        raise InputError(f"{outside} of {share.size} cells have a response outside 0 to 1; give shares of successes")
    successes = share * count
    broken = np.abs(successes - np.rint(successes)) > ROUNDING * np.maximum(1.0, count)
    broken |= np.abs(count - np.rint(count)) > ROUNDING
    if broken.any():
        at = int(np.argmax(broken))
        raise InputError(
            f"{int(broken.sum())} cells hold no whole number of successes (the first: {share[at]:.6g} of {count[at]:g} "
            "trials); a binomial model needs outcomes of 0 or 1, so fit bounded or averaged scores by a linear model"
        )
    if successes.sum() <= ROUNDING or (count - successes).sum() <= ROUNDING:
        what = "successes" if successes.sum() > ROUNDING else "failures"
        raise CannotAnswerError(f"all {design.n_rows} trials are {what}: there is nothing to tell effects from")


def fit_ordinary(design: MixedDesign) -> MixedFit:
    """Fit y = X beta + e with independent normal e by least squares to cells without random terms.

    `sigma` has n - p in its denominator; `log_likelihood` is the maximised one, as R's `logLik` of `lm` gives it. InputError for
    values that are not finite or no more rows than effects, CannotAnswerError where the effects fit exactly.
    """
    x, w = design.fixed.at(), design.count
    y = design.response if design.offset is None else design.response - design.offset
    n, p = design.n_rows, x.shape[1]
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError("the design holds NaN or infinite values; leave out rows that have no outcome")
    if n <= p:
        raise InputError(f"{n} rows for {p} fixed effects; a linear model needs more rows than fixed effects")
    root = np.sqrt(w)
    q, r = (np.asarray(part, dtype=np.float64) for part in np.linalg.qr(root[:, np.newaxis] * x))
    beta: Floats = _solved(r, q.T @ (root * y))
    rest = design.within + float(w @ np.square(y - x @ beta))
    if rest <= _EXACT * (design.within + float(w @ np.square(y))):
        raise CannotAnswerError("the effects fit every response exactly: there is no noise to judge them by")
    sigma = math.sqrt(rest / (n - p))
    inverse: Floats = _solved(r, np.eye(p))
    return MixedFit(
        family="gaussian",
        method="OLS",
        design=design,
        theta=np.zeros(0),
        effects=(),
        effect_covariances=(),
        beta=beta,
        covariance=sigma**2 * inverse @ inverse.T,
        sigma=sigma,
        log_likelihood=-0.5 * n * (math.log(2.0 * math.pi * rest / n) + 1.0),
        convergence=Convergence(converged=True, message="solved in one step", n_evaluations=1),
    )


def fit_logistic(design: MixedDesign) -> MixedFit:
    """Fit logit P(success) = X beta by maximum likelihood, with independent trials and no random terms.

    Where the likelihood has no maximum, half a success and half a failure are added to what is separated, as `fit_binomial`
    does, and the fit says so. InputError where the response is no share of whole successes, CannotAnswerError where all trials
    end alike. McCullagh & Nelder 1989, Generalized Linear Models, section 4.4.
    """
    check_shares(design)
    separation = find_separation(design)
    x, n = design.fixed.at(), design.count
    offset: Floats = np.zeros(design.n_cells) if design.offset is None else design.offset
    won = n * design.response
    penalty, warnings = "", tuple[str, ...]()
    if separation is not None:
        penalty, warning = answer_in_words(separation)
        warnings = (warning,)
        pseudo = separation.prior()
        x = np.vstack([x, pseudo.rows])
        n, won = np.concatenate([n, pseudo.trials]), np.concatenate([won, 0.5 * pseudo.trials])
        offset = np.concatenate([offset, np.zeros(len(pseudo.trials))])
    beta, steps, gradient = _newton(x, n, won, offset)
    at = special.expit(x @ beta + offset)
    eta = (x @ beta + offset)[: design.n_cells]
    own = float(design.count @ (design.response * eta - np.logaddexp(0.0, eta)))
    return MixedFit(
        family="binomial",
        method="GLM",
        design=design,
        theta=np.zeros(0),
        effects=(),
        effect_covariances=(),
        beta=beta,
        covariance=_solved((x * (n * at * (1.0 - at))[:, np.newaxis]).T @ x, np.eye(x.shape[1])),
        sigma=1.0,
        log_likelihood=own + design.log_constant,
        convergence=Convergence(
            converged=gradient <= 1e-6 * float(n.sum()),
            message=f"Newton's method ended after {steps} steps",
            n_evaluations=steps,
            gradient=gradient,
        ),
        penalty=penalty,
        warnings=warnings,
    )


def _newton(x: Floats, n: Floats, won: Floats, offset: Floats) -> tuple[Floats, int, float]:
    """Climb the concave log-likelihood; return its top, the steps taken and the largest slope there."""

    def height(beta: Floats) -> float:
        eta = x @ beta + offset
        return float(won @ eta - n @ np.logaddexp(0.0, eta))

    beta: Floats = np.zeros(int(x.shape[1]))
    now = height(beta)
    for taken in range(_MOST_STEPS):
        at = special.expit(x @ beta + offset)
        score: Floats = x.T @ (won - n * at)
        step = _solved((x * (n * at * (1.0 - at))[:, np.newaxis]).T @ x, score)
        for _ in range(_HALVINGS):
            if height(beta + step) >= now - _FLAT * abs(now):
                break
            step = 0.5 * step
        beta = np.asarray(beta + step, dtype=np.float64)
        before, now = now, height(beta)
        if now - before <= _FLAT * abs(now):
            return beta, taken + 1, float(np.abs(score).max())
    return beta, _MOST_STEPS, np.inf


def _solved(matrix: Floats, right: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
