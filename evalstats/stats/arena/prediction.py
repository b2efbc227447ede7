"""How well strengths predict votes that they were not fitted to: held-out log loss and Brier score, by folds."""

from dataclasses import dataclass, replace

import numpy as np

from evalstats.errors import CannotAnswerError
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.calibration import ShareBin, clustered_mean, share_bins
from evalstats.stats.arena.fit import PairFit
from evalstats.stats.arena.vote_law import linear_predictor, tie_of_half, vote_law
from evalstats.stats.arena.votes import A_WINS, B_WINS, VoteRows
from evalstats.stats.checks import FloatArray, IntArray, as_codes, check_count, check_level
from evalstats.stats.estimate import t_quantile, two_sided_t_p

WEAK_PRIOR = 0.5  # votes won and lost against an average model, where training votes do not connect all models
_FLOOR = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Predictions of held-out votes.

    Attributes
    ----------
    log_loss, log_loss_constant
        Mean of -log(probability) of win, tie or loss of side a under the fit, and under the training votes' shares of
        these.
    gain, gain_low, gain_high
        Their difference with its interval, in which votes of one cluster count together; None where clusters are too few.
    loss_p
        One-sided p that the fit predicts no worse than those shares; None likewise.
    brier, brier_constant
        Mean squared difference of the predicted from the observed share of side a, and that of the training votes' mean.
    bins
        Calibration: up to 10 bins of equally many votes by predicted share.
    way
        Place in `rows.clusters` of what was held out together; None where single votes were.
    n_predicted, n_left_out
        Votes predicted, and votes about a model that the training votes do not know.
    n_weak
        Folds whose training votes did not connect all models, so that a weak prior was added.
    """

    log_loss: float
    log_loss_constant: float
    gain: float
    gain_low: float | None
    gain_high: float | None
    loss_p: float | None
    brier: float
    brier_constant: float
    bins: tuple[ShareBin, ...]
    n_folds: int
    way: int | None
    n_predicted: int
    n_left_out: int
    n_weak: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Predicted:
    """Held-out rows with what was predicted of each."""

    rows: VoteRows
    codes: IntArray | None
    chances: FloatArray
    constant: FloatArray


def held_out(fit: PairFit, rows: VoteRows, *, n_folds: int = 5, conf_level: float = 0.95, seed: int = 0) -> HeldOut:
    """Predict votes from strengths that were fitted without them, by folds.

    Parameters
    ----------
    fit
        Says how ties are treated and which prior was added; its strengths are not used.
    rows
        Votes. Where they have clusters, whole clusters are held out together: by the way with the fewest clusters that is
        still at least `n_folds`, the hardest to predict.

    Raises
    ------
    CannotAnswerError
        If nothing is left to predict, or a fold's training votes allow no fit.

    Notes
    -----
    Every vote counts once. Probabilities of a win, a tie and a loss come from the fitted law; "half" has none for ties, and
    takes Davidson's ties beside its expected shares (`evalstats.stats.arena.vote_law`). The baseline has half a vote added to
    each outcome, so that an outcome new to it is not impossible.

    References
    ----------
    Gneiting & Raftery 2007, doi:10.1198/016214506000001437 (proper scores).

    Examples
    --------
    >>> from evalstats.stats.arena.votes import vote_rows
    >>> rows = vote_rows([0, 0, 1, 1, 0, 0], [1, 1, 2, 2, 2, 2], [0, 1, 0, 1, 0, 1], count=[60, 40, 70, 30, 80, 20])
    >>> found = held_out(fit_strengths(rows), rows)
    >>> found.log_loss < 0.62 < found.log_loss_constant + 0.02, found.n_predicted
    (True, 300)
    """
    n_folds = check_count(n_folds, "n_folds", least=2)
    level = check_level(conf_level)
    if rows.n_votes < 2 * n_folds:
        raise CannotAnswerError(f"{rows.n_votes} votes are too few to hold out parts of them")
    way = _way(rows, n_folds)
    parts, fold = _folds(rows, way, n_folds, np.random.default_rng(seed))
    found: list[_Predicted] = []
    n_weak = 0
    for k in range(n_folds):
        predicted, weak = _predict(fit, parts.take(fold != k), parts.take(fold == k), way)
        found.append(predicted)
        n_weak += weak
    whole = _together(found)
    if not whole.rows.n_votes:
        raise CannotAnswerError("no held-out vote is between models that other votes know")
    return _scored(whole, level, n_folds=n_folds, way=way, n_votes=rows.n_votes, n_weak=n_weak)


def _way(rows: VoteRows, n_folds: int) -> int | None:
    counts = [(int(np.unique(codes).size), w) for w, codes in enumerate(rows.clusters)]
    enough = [(count, w) for count, w in counts if count >= n_folds]
    return min(enough)[1] if enough else None


def _folds(rows: VoteRows, way: int | None, n_folds: int, rng: np.random.Generator) -> tuple[VoteRows, IntArray]:
    """Return rows, split where votes of one row fall to several folds, and the fold of each."""
    if way is not None:
        codes, n = as_codes(rows.clusters[way], rows.n_rows)
        order = rng.permutation(n)
        size = np.bincount(codes, weights=rows.count, minlength=n)[order]
        fold = np.empty(n, dtype=np.int64)
        # By votes passed, so that folds are as equal as whole clusters allow.
        fold[order] = np.minimum((np.cumsum(size) - size / 2.0) / size.sum() * n_folds, n_folds - 1).astype(np.int64)
        return rows, fold[codes]
    shares = rng.multinomial(rows.count, np.full(n_folds, 1.0 / n_folds))
    at, fold = np.nonzero(shares)
    part = shares[at, fold]
    of = part / rows.count[at]
    split = rows.take(at)
    split = replace(
        split, count=part.astype(np.int64), weight=split.weight * of, weight_squares=split.weight_squares * of
    )
    return split, fold.astype(np.int64)


def _predict(fit: PairFit, known: VoteRows, new: VoteRows, way: int | None) -> tuple[_Predicted, bool]:
    """Fit to the known votes and predict the new ones; say whether a weak prior was needed."""
    heavy = known.weight > 0.0
    present = np.zeros(known.n_models, dtype=np.bool_)
    present[known.first[heavy]] = present[known.second[heavy]] = True
    place = np.cumsum(present) - 1

    def numbered(rows: VoteRows) -> VoteRows:
        return replace(rows, n_models=int(present.sum()), first=place[rows.first], second=place[rows.second])

    known, new = numbered(known.take(heavy)), numbered(new.take(present[new.first] & present[new.second]))
    weak = False
    try:
        trained = fit_strengths(known, ties=fit.ties, prior=fit.prior)
    except CannotAnswerError:
        weak = True
        trained = fit_strengths(known, ties=fit.ties, prior=max(WEAK_PRIOR, fit.prior))
    outcome, count = _outcomes(known), known.count.astype(np.float64)
    seen = np.bincount(outcome, weights=count, minlength=3)
    tie = trained.tie
    if tie is None:
        tie = tie_of_half(linear_predictor(trained, known), count, float(seen[1]) + 0.5)
    law = vote_law(fit.ties, linear_predictor(trained, new), tie)
    return (
        _Predicted(
            rows=new,
            codes=None if way is None else new.clusters[way],
            chances=np.column_stack([law.win, law.tie, law.loss]),
            constant=np.broadcast_to((seen + 0.5) / (seen.sum() + 1.5), (new.n_rows, 3)),
        ),
        weak,
    )


def _outcomes(rows: VoteRows) -> IntArray:
    """Return 0 for a win of side a, 1 for a tie (both bad too), 2 for a loss."""
    return np.where(rows.outcome == A_WINS, 0, np.where(rows.outcome == B_WINS, 2, 1))


def _together(parts: list[_Predicted]) -> _Predicted:
    first = parts[0].rows

    def joined(name: str) -> FloatArray:
        return np.concatenate([getattr(part.rows, name) for part in parts])

    names = ("first", "second", "outcome", "share", "weight", "weight_squares", "count", "covariates")
    codes = [part.codes for part in parts if part.codes is not None]
    return _Predicted(
        rows=replace(first, clusters=(), **{name: joined(name) for name in names}),
        codes=np.concatenate(codes) if codes else None,
        chances=np.concatenate([part.chances for part in parts]),
        constant=np.concatenate([part.constant for part in parts]),
    )


def _scored(votes: _Predicted, level: float, *, n_folds: int, way: int | None, n_votes: int, n_weak: int) -> HeldOut:
    outcome, count = _outcomes(votes.rows), votes.rows.count.astype(np.float64)
    at, total = np.arange(outcome.size), float(count.sum())
    share = np.array([1.0, 0.5, 0.0])[outcome]
    predicted, middle = (table[:, 0] + table[:, 1] / 2.0 for table in (votes.chances, votes.constant))
    loss = -np.log(np.maximum(votes.chances[at, outcome], _FLOOR))
    plain = -np.log(votes.constant[at, outcome])
    gain, error, df = clustered_mean(plain - loss, count, votes.codes)
    reach = t_quantile(level, df) * error if error > 0.0 and df >= 1.0 else None
    both = 1.0 if reach is None else two_sided_t_p(gain / error, df)
    return HeldOut(
        log_loss=float(count @ loss) / total,
        log_loss_constant=float(count @ plain) / total,
        gain=gain,
        gain_low=None if reach is None else gain - reach,
        gain_high=None if reach is None else gain + reach,
        loss_p=None if reach is None else both / 2.0 if gain < 0.0 else 1.0 - both / 2.0,
        brier=float(count @ (predicted - share) ** 2) / total,
        brier_constant=float(count @ (middle - share) ** 2) / total,
        bins=share_bins(predicted, share, count, votes.codes, conf_level=level),
        n_folds=n_folds,
        way=way,
        n_predicted=int(count.sum()),
        n_left_out=n_votes - int(count.sum()),
        n_weak=n_weak,
    )
