"""The truth behind a simulated live arena: who is strong, who votes how, what else moves a vote.

Published of Inclusion Arena (arXiv 2508.11452, and digests of it) are 501,003 comparisons, 49 models, 46,611 users, two apps
and the order of the first five models. They shape the defaults. Every other number here is invented.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from evalstats.errors import InputError
from evalstats.simulate.arena_sampling import refit
from evalstats.simulate.draws import check_share, check_spread, generator
from evalstats.stats.checks import FloatArray, IntArray, check_count

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaEffects:
    """What moves a vote. All is invented.

    Of the K models of an event, model m has the utility

    u_m = strength + drift x months + app x model + scenario x model + rater x model + prompt x model + side (shown first)
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
    drift
        Log-odds per 30 days that the models named gain; strengths are those of the middle of the time.
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
    drift: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def __post_init__(self) -> None:
        names = ("sd_rater", "sd_prompt", "tau_app", "tau_scenario", "sd_length", "sd_verbosity")
        check_spread(**{name: getattr(self, name) for name in names})
        check_share("both_bad", self.both_bad, high=1.0)
        if not 0 <= self.tie < np.inf:
            raise InputError(f"tie is {self.tie:g}; Davidson's parameter is a number from 0")


@dataclass(frozen=True, slots=True, kw_only=True)
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
    n_days
        Length of the time in which votes are given.
    n_islands
        Groups of models that never meet: 2 or more leave the votes disconnected.
    """

    models: int | Sequence[str] = N_MODELS
    strengths: Sequence[float] | None = None
    n_raters: int | None = None
    activity: float = 0.8
    n_prompts: int | None = None
    event_size: int = 2
    n_days: float = 90.0
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
        if not (self.activity >= 0 and self.n_days > 0):
            raise InputError(
                f"activity is {self.activity:g} and n_days {self.n_days:g}; give 0 or more, and more than 0"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        if isinstance(self.models, int):
            further = (f"sim-model-{number:02d}" for number in range(6, self.models + 1))
            return (*TOP_FIVE[: self.models], *further)
        return tuple(self.models)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ArenaWorld:
    """One draw of the truth; all effects in log-odds.

    Attributes
    ----------
    strengths
        Shape (n_models,), sum 0; at the middle of the time.
    apps, scenarios
        Shapes (n_apps, n_models) and (n_scenarios, n_models): deviations.
    tastes
        float32, shape (n_raters, n_models).
    prompts
        Shape (n_prompts, n_models), or None where every event has a prompt of its own.
    drift
        Shape (n_models,): log-odds per 30 days.
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
    drift: FloatArray
    log_length: FloatArray
    activity: FloatArray
    rater_app: IntArray
    rater_language: IntArray

    @property
    def n_models(self) -> int:
        """Number of models."""
        return len(self.names)


def make_world(design: ArenaDesign, effects: ArenaEffects, *, n_votes: int, seed: int) -> ArenaWorld:
    """Draw the truth of a seed. Each part has its own stream: one rater more moves no strength.

    Raises
    ------
    InputError
        If the drift names a model that is not there.

    Examples
    --------
    >>> world = make_world(ArenaDesign(models=8), ArenaEffects(), n_votes=1000, seed=0)
    >>> world.names[0], world.tastes.shape, round(abs(float(world.strengths.sum())), 9)
    ('Claude 3.7 Sonnet', (93, 8), 0.0)
    """
    names = design.names
    n_models = len(names)
    unknown = set(effects.drift) - set(names)
    if unknown:
        raise InputError(f"drift is given for {min(unknown)!r}, which is no model of this arena")
    n_raters = max(1, round(n_votes * N_USERS / N_COMPARISONS)) if design.n_raters is None else design.n_raters
    check_count(n_raters, "n_raters", least=1)
    tastes = generator(seed, "arena", "raters").standard_normal((n_raters, n_models), dtype=np.float32)
    apps = effects.tau_app * generator(seed, "arena", "apps").standard_normal((len(APPS), n_models))
    scenarios = effects.tau_scenario * generator(seed, "arena", "scenarios").standard_normal((len(SCENARIOS), n_models))
    lengths = effects.sd_verbosity * generator(seed, "arena", "verbosity").standard_normal(n_models)
    return ArenaWorld(
        names=names,
        strengths=_strengths(design, effects.style, lengths),
        apps=apps - np.asarray(APP_SHARES) @ apps,
        scenarios=scenarios - scenarios.mean(axis=0),
        tastes=np.float32(effects.sd_rater) * tastes,
        prompts=_prompts(design, effects, seed),
        drift=np.array([effects.drift.get(name, 0.0) for name in names]),
        log_length=MEAN_LOG_LENGTH + lengths,
        activity=zipf(n_raters, design.activity),
        rater_app=generator(seed, "arena", "homes").choice(len(APPS), size=n_raters, p=APP_SHARES),
        rater_language=generator(seed, "arena", "languages").choice(len(LANGUAGES), size=n_raters, p=LANGUAGE_SHARES),
    )


def zipf(n: int, exponent: float) -> FloatArray:
    """Return shares proportional to 1, 2^-exponent, 3^-exponent, ..., shape (n,).

    Examples
    --------
    >>> zipf(3, 1.0).round(3).tolist(), zipf(2, 0.0).tolist()
    ([0.545, 0.273, 0.182], [0.5, 0.5])
    """
    shares = np.arange(1, n + 1, dtype=np.float64) ** -exponent
    return shares / shares.sum()


def _strengths(design: ArenaDesign, style: float, log_length: FloatArray) -> FloatArray:
    n = len(design.names)
    if design.strengths is None:
        gained = style * np.tanh((log_length[:, None] - log_length[None, :]) / 2.0).mean(axis=1)
        places = SPREAD * np.asarray(ndtri((n - np.arange(n) - 0.5) / n), dtype=np.float64) - gained
    else:
        places = np.asarray(design.strengths, dtype=np.float64)
    return places - places.mean()


def _prompts(design: ArenaDesign, effects: ArenaEffects, seed: int) -> FloatArray | None:
    if design.n_prompts is None:
        return None
    n = check_count(design.n_prompts, "n_prompts", least=1)
    return effects.sd_prompt * generator(seed, "arena", "prompts").standard_normal((n, len(design.names)))


# Enough nodes that the shares do not change by 1e-6 with more; they integrate polynomials of degree 29 and 13.
_TASTE_NODES, _LENGTH_NODES = 15, 7


def truth_frame(world: ArenaWorld, effects: ArenaEffects) -> pl.DataFrame:
    """Return one row per model, best first by its strength over all raters: see `evalstats.simulate.arena.arena_truth`."""
    marginal = marginal_strengths(world, effects)
    columns: dict[str, Any] = {
        "model": list(world.names),
        "strength": world.strengths,
        "marginal": marginal,
        "drift": world.drift,
        "mean_log_length": world.log_length,
    }
    columns |= {f"app_{name}": row for name, row in zip(APPS, world.apps, strict=True)}
    columns |= {f"scenario_{name}": row for name, row in zip(SCENARIOS, world.scenarios, strict=True)}
    frame = pl.DataFrame(columns).sort("marginal", descending=True, maintain_order=True)
    return frame.select("model", pl.int_range(1, pl.len() + 1).alias("rank"), pl.exclude("model"))


def marginal_strengths(world: ArenaWorld, effects: ArenaEffects, weights: FloatArray | None = None) -> FloatArray:
    """Return strengths of a Bradley-Terry fit, ties as half, to the expected shares of all pairs.

    Parameters
    ----------
    weights
        float64, shape (n_models, n_models), symmetric: how often each pair meets; None: all alike. Where the model does not
        hold exactly (ties, tastes) the strengths depend on it a little.

    Returns
    -------
    float64 array, shape (n_models,)
        Log-odds, sum 0.
    """
    n_models = world.n_models
    if weights is None:
        weights = 1.0 - np.eye(n_models)
    return refit(expected_shares(world, effects) * weights, prior=0.0)


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

    Parameters
    ----------
    eta
        float64, any shape: difference of the strengths, log-odds.

    Examples
    --------
    >>> mean_share(np.array([0.0, 1.0]), 0.0, 0.0).round(4).tolist()
    [0.5, 0.7311]
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
