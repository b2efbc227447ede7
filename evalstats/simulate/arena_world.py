"""The truth behind a simulated live arena: who is strong, who votes how, and what else moves a vote.

Published of Inclusion Arena (arXiv 2508.11452, and digests of it) are 501,003 comparisons, 49 models, 46,611 users, two apps
and the order of the first five models. They shape the defaults. Every other number here is invented.
`evalstats.stats.arena.bradley_terry.fit_strengths` is the estimator for results; `refit` is one for tables of expected shares,
and for hundreds of simulated arenas at a time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import ndtri

from evalstats.errors import CannotAnswerError, InputError
from evalstats.record import record
from evalstats.simulate.draws import check_models, check_share, check_spread, generator
from evalstats.stats.checks import FloatArray, IntArray, check_count

PRIOR = 0.5  # votes won, and as many lost, of every model against an average one
_MAX_STEPS = 50
_GRADIENT = 1e-8  # per vote of the busiest model


def refit(wins: FloatArray, *, prior: float = PRIOR, start: FloatArray | None = None) -> FloatArray:
    """Return strengths by Bradley-Terry's model, ties as half a win of either: log-odds, sum 0, shape (..., n_models).

    `wins`, of shape (..., n_models, n_models), holds what [i] won against [j]; leading axes are arenas of their own. `prior`
    votes are won and lost by every model against one of strength 0. Newton's method, from the strengths of the batch before.

    Raises
    ------
    CannotAnswerError
        If there is no prior and wins do not connect all models, or Newton's method does not settle.

    Examples
    --------
    >>> refit(np.array([[0.0, 3.0], [1.0, 0.0]]), prior=0.0).round(4).tolist()
    [0.5493, -0.5493]
    """
    n_models = int(wins.shape[-1])
    if prior == 0 and not _connected(wins):
        raise CannotAnswerError("wins do not connect all models, so strengths need a prior")
    met = wins + np.swapaxes(wins, -1, -2)
    strengths = np.zeros_like(wins[..., 0]) if start is None else start.copy()
    scale = np.maximum(met.sum(axis=-1).max(axis=-1), 1.0)
    for _ in range(_MAX_STEPS):
        gradient, hessian = derivatives(wins, met, strengths, prior)
        if np.all(np.abs(gradient).max(axis=-1) <= _GRADIENT * scale):
            return strengths - strengths.mean(axis=-1, keepdims=True)
        # Without a prior the location is free; the added matrix fixes it and changes no contrast.
        step = _as_floats(np.linalg.solve(hessian + (prior == 0) / n_models, gradient[..., None])[..., 0])
        # A long step is cut: from far away Newton's method may overshoot.
        largest = np.abs(step).max(axis=-1, keepdims=True)
        strengths = strengths + step * np.minimum(1.0, 2.0 / np.maximum(largest, 1e-300))
    raise CannotAnswerError(f"strengths did not settle in {_MAX_STEPS} steps; are there numbers that are not finite?")


def _connected(wins: FloatArray) -> bool:
    """Whether in every arena each model can be reached from each other by wins (Ford's condition)."""
    n_models = int(wins.shape[-1])
    reach = ((wins > 0) | np.eye(n_models, dtype=np.bool_)).astype(np.float64)
    # Squaring doubles the length of the chains.
    for _ in range(n_models.bit_length()):
        reach = np.minimum(reach @ reach, 1.0)
    return bool((reach > 0).all())


def derivatives(
    wins: FloatArray, met: FloatArray, strengths: FloatArray, prior: float
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient and the negative second derivative."""
    # expit, written so that the whole batch is one exponential.
    p = 1.0 / (1.0 + np.exp(strengths[..., None, :] - strengths[..., :, None]))
    own = 1.0 / (1.0 + np.exp(-strengths))
    gradient = wins.sum(axis=-1) - (met * p).sum(axis=-1) + prior * (1.0 - 2.0 * own)
    hessian = -met * p * (1.0 - p)
    place = np.arange(int(strengths.shape[-1]))
    hessian[..., place, place] = -hessian.sum(axis=-1) + 2.0 * prior * own * (1.0 - own)
    return gradient, hessian


def _as_floats(values: NDArray[np.floating[Any]]) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def draw_pairs(rng: np.random.Generator, weights: FloatArray, n: int) -> IntArray:
    """Draw pairs by their symmetric weights, with a coin for the sides: models on sides a and b, shape (..., n, 2)."""
    n_models = weights.shape[-1]
    flat = weights.reshape(-1, n_models * n_models)
    ends = np.cumsum(flat, axis=1)
    if not np.all(ends[:, -1] > 0):
        raise InputError("no pair has a weight above 0, so nobody can meet; give at least one")
    ends /= ends[:, -1:]
    # One sorted search over all arenas: the k-th is moved to [k, k + 1).
    lift = np.arange(flat.shape[0])[:, None]
    # Kept so far below 1 that the sum cannot round up to the next arena's beginning.
    level = rng.random((flat.shape[0], n)) * (1.0 - 2.0**-32)
    drawn = np.searchsorted((ends + lift).ravel(), (level + lift).ravel(), side="right")
    cell = (drawn.reshape(-1, n) - lift * flat.shape[1]).clip(0, flat.shape[1] - 1)
    # Both orders of a pair are cells of their own with equal weights: the side is a coin already.
    return np.stack(np.divmod(cell, n_models), axis=-1).reshape(*weights.shape[:-2], n, 2)


# Published.
N_COMPARISONS, N_MODELS, N_USERS = 501_003, 49, 46_611
APPS = ("joyland", "t-box")
TOP_FIVE = ("Claude 3.7 Sonnet", "DeepSeek V3-0324", "Claude 3.5 Sonnet", "DeepSeek V3", "Qwen Max-0125")
# Invented.
SPREAD = 0.5  # standard deviation of the strengths, in log-odds
APP_SHARES = (0.7, 0.3)
SCENARIOS = ("chat", "roleplay", "writing", "knowledge")
LANGUAGES = ("zh", "en")
LANGUAGE_SHARES = (0.8, 0.2)
MEAN_LOG_LENGTH = 5.0  # about 150 tokens


@record
class ArenaEffects:
    """What moves a vote. All is invented.

    Of the K models of an event, model m has the utility

    u_m = strength + app x model + scenario x model + rater x model + prompt x model + side (shown first)
    + style x (length / mean length of the event - 1) / 2,

    and P(m is chosen) : P(no choice) = exp(u_m) : tie x exp(mean of u). For two models this is Davidson's model of ties, and
    the terms of style add up to style x (length_a - length_b)/(length_a + length_b).

    Attributes
    ----------
    sd_rater, sd_prompt
        Standard deviations of a rater's and of a prompt's own liking of each model, log-odds.
    tau_app, tau_scenario
        Of a model's deviation in an app and in a scenario, drawn once for a seed; they sum to 0 over the apps by share.
    tie, both_bad
        Davidson's nu, and the share of ties that are called both bad.
    side, style
        Log-odds for the model shown first; for a whole unit of the relative difference in length.
    sd_length, sd_verbosity
        Of the logarithm of an answer's length around its model's, and among models.
    """

    sd_rater: float = 0.5
    sd_prompt: float = 0.3
    tau_app: float = 0.15
    tau_scenario: float = 0.1
    tie: float = 0.4
    both_bad: float = 0.3
    side: float = 0.05
    style: float = 0.5
    sd_length: float = 0.4
    sd_verbosity: float = 0.25

    def __post_init__(self) -> None:
        names = ("sd_rater", "sd_prompt", "tau_app", "tau_scenario", "sd_length", "sd_verbosity")
        check_spread(**{name: getattr(self, name) for name in names})
        check_share("both_bad", self.both_bad, high=1.0)
        if not 0 <= self.tie < np.inf:
            raise InputError(f"tie is {self.tie:g}; Davidson's parameter is a number from 0")


@record
class ArenaDesign:
    """Who meets whom, and before whom.

    Attributes
    ----------
    models
        Names, or a number of models; the first five are then the published ones, best first, the others "sim-model-06", ...
    strengths
        Log-odds at equal lengths, one per model. None: evenly spaced quantiles of a normal law with standard deviation 0.5,
        best first, less what a model gains by the length of its answers: so the published order, in which lengths were not
        taken out, is that of all votes.
    n_raters
        None: as many for each vote as the published arena has.
    activity
        Exponent of Zipf's law of votes per rater; 0: all alike.
    n_prompts
        Prompts that raters share; None: every event has a prompt of its own, as in an app.
    event_size
        Models shown in one event.
    n_islands
        Groups of models that never meet: 2 or more leave the votes disconnected.
    """

    models: int | Sequence[str] = N_MODELS
    strengths: Sequence[float] | None = None
    n_raters: int | None = None
    activity: float = 0.8
    n_prompts: int | None = None
    event_size: int = 2
    n_islands: int = 1

    def __post_init__(self) -> None:
        names = self.names
        if len(names) < 2 or len(set(names)) < len(names):
            raise InputError(
                f"the arena has {len(names)} models, some perhaps twice; give two or more names, all different"
            )
        check_count(self.event_size, "event_size", least=2)
        check_count(self.n_islands, "n_islands", least=1)
        if self.event_size * self.n_islands > len(names):
            raise InputError(
                f"events of {self.event_size} models in {self.n_islands} islands need as many models; "
                f"there are {len(names)}"
            )
        if self.strengths is not None and len(self.strengths) != len(names):
            raise InputError(f"{len(self.strengths)} strengths are given for {len(names)} models; give one each")
        if not np.isfinite(np.asarray(self.strengths or 0.0, dtype=np.float64)).all():
            raise InputError("a strength is not a finite number; give log-odds")
        if not self.activity >= 0:
            raise InputError(f"activity is {self.activity:g}; give 0 or more")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        if isinstance(self.models, int):
            further = (f"sim-model-{number:02d}" for number in range(6, check_models(self.models) + 1))
            return (*TOP_FIVE[: self.models], *further)
        return tuple(self.models)


@record(eq=False)
class ArenaWorld:
    """One draw of the truth; all effects in log-odds.

    Attributes
    ----------
    strengths
        Shape (n_models,), sum 0.
    apps, scenarios
        Shapes (n_apps, n_models) and (n_scenarios, n_models): deviations.
    tastes
        float32, shape (n_raters, n_models).
    prompts
        Shape (n_prompts, n_models), or None where every event has a prompt of its own.
    log_length
        Shape (n_models,): mean of the logarithm of an answer's length in tokens.
    activity
        Shape (n_raters,): share of the votes.
    rater_app, rater_language
        Shape (n_raters,): the app that each rater uses, and the language.
    """

    names: tuple[str, ...]
    strengths: FloatArray
    apps: FloatArray
    scenarios: FloatArray
    tastes: np.ndarray[tuple[int, ...], np.dtype[np.float32]]
    prompts: FloatArray | None
    log_length: FloatArray
    activity: FloatArray
    rater_app: IntArray
    rater_language: IntArray

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.names)


def make_world(design: ArenaDesign, effects: ArenaEffects, *, n_votes: int, seed: int) -> ArenaWorld:
    """Draw the truth of a seed. Each part has its own stream: one rater more moves no strength."""
    names = design.names
    n_models = len(names)
    n_raters = max(1, round(n_votes * N_USERS / N_COMPARISONS)) if design.n_raters is None else design.n_raters
    check_count(n_raters, "n_raters", least=1)
    tastes = generator(seed, "arena", "raters").standard_normal((n_raters, n_models), dtype=np.float32)
    apps = effects.tau_app * generator(seed, "arena", "apps").standard_normal((len(APPS), n_models))
    scenarios = effects.tau_scenario * generator(seed, "arena", "scenarios").standard_normal((len(SCENARIOS), n_models))
    lengths = effects.sd_verbosity * generator(seed, "arena", "verbosity").standard_normal(n_models)
    n = len(design.names)
    if design.strengths is None:
        gained = effects.style * np.tanh((lengths[:, None] - lengths[None, :]) / 2.0).mean(axis=1)
        places = SPREAD * np.asarray(ndtri((n - np.arange(n) - 0.5) / n), dtype=np.float64) - gained
    else:
        places = np.asarray(design.strengths, dtype=np.float64)
    strengths = places - places.mean()
    return ArenaWorld(
        names=names,
        strengths=strengths,
        apps=apps - np.asarray(APP_SHARES) @ apps,
        scenarios=scenarios - scenarios.mean(axis=0),
        tastes=np.float32(effects.sd_rater) * tastes,
        prompts=_prompts(design, effects, seed),
        log_length=MEAN_LOG_LENGTH + lengths,
        activity=zipf(n_raters, design.activity),
        rater_app=generator(seed, "arena", "homes").choice(len(APPS), size=n_raters, p=APP_SHARES),
        rater_language=generator(seed, "arena", "languages").choice(len(LANGUAGES), size=n_raters, p=LANGUAGE_SHARES),
    )


def zipf(n: int, exponent: float) -> FloatArray:
    """Return shares proportional to 1, 2^-exponent, 3^-exponent, ..., shape (n,)."""
    shares = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return shares / shares.sum()


def _prompts(design: ArenaDesign, effects: ArenaEffects, seed: int) -> FloatArray | None:
    if design.n_prompts is None:
        return None
    n = check_count(design.n_prompts, "n_prompts", least=1)
    return effects.sd_prompt * generator(seed, "arena", "prompts").standard_normal((n, len(design.names)))


# Enough nodes that the shares do not change by 1e-6 with more; they integrate polynomials of degree 29 and 13.
_TASTE_NODES, _LENGTH_NODES = 15, 7


def truth_frame(world: ArenaWorld, effects: ArenaEffects) -> pl.DataFrame:
    """Return one row per model, best first by its strength over all raters: see `evalstats.simulate.arena.arena_truth`."""
    all_pairs = 1.0 - np.eye(world.n_models)
    marginal = refit(expected_shares(world, effects) * all_pairs, prior=0.0)
    columns: dict[str, Any] = {
        "model": list(world.names),
        "strength": world.strengths,
        "marginal": marginal,
        "mean_log_length": world.log_length,
    }
    columns |= {f"app_{name}": row for name, row in zip(APPS, world.apps, strict=True)}
    columns |= {f"scenario_{name}": row for name, row in zip(SCENARIOS, world.scenarios, strict=True)}
    frame = pl.DataFrame(columns).sort("marginal", descending=True, maintain_order=True)
    return frame.select("model", pl.int_range(1, pl.len() + 1).alias("rank"), pl.exclude("model"))


def expected_shares(world: ArenaWorld, effects: ArenaEffects) -> FloatArray:
    """Return the share of its votes that each model gets against each other, a tie as half; shape (n_models, n_models).

    The mean over raters and prompts and over lengths is a Gauss-Hermite sum; over sides, apps and scenarios it is exact.
    """
    taste, taste_share = _normal_nodes(_TASTE_NODES, np.sqrt(2.0) * np.hypot(effects.sd_rater, effects.sd_prompt))
    length, length_share = _normal_nodes(_LENGTH_NODES, np.sqrt(2.0) * effects.sd_length)
    # (length_a - length_b)/(length_a + length_b) of two log-normal lengths.
    longer = world.log_length[:, None] - world.log_length[None, :]
    style = effects.style * np.tanh((longer[..., None] + length) / 2.0)
    total = np.zeros((world.n_models, world.n_models))
    for app, app_share in zip(world.apps, APP_SHARES, strict=True):
        for scenario in world.scenarios:
            own = world.strengths + app + scenario
            eta = (own[:, None] - own[None, :])[..., None, None] + style[..., :, None] + taste
            for side in (effects.side, -effects.side):
                shares = _share(eta + side, effects.tie) @ taste_share @ length_share
                total += app_share / (2.0 * len(world.scenarios)) * shares
    return total


def mean_share(eta: FloatArray, sd: float, tie: float) -> FloatArray:
    """Return the mean of P(a) + P(tie) / 2 where each of two models is liked with standard deviation `sd` by the rater.

    `eta`, of any shape, is the difference of the strengths in log-odds.
    """
    taste, taste_share = _normal_nodes(_TASTE_NODES, np.sqrt(2.0) * sd)
    return _share(eta[..., None] + taste, tie) @ taste_share


def _share(eta: FloatArray, tie: float) -> FloatArray:
    """Return P(a) + P(tie) / 2 by Davidson's model."""
    half = np.exp(-np.abs(eta) / 2.0)
    # Divided by exp(|eta|/2), so that nothing overflows.
    better = (1.0 + tie * half / 2.0) / (1.0 + tie * half + half**2)
    return np.where(eta >= 0, better, 1.0 - better)


def _normal_nodes(n: int, sd: float) -> tuple[FloatArray, FloatArray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return sd * nodes, weights / weights.sum()
