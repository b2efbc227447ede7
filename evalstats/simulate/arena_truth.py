"""What ratings of simulated votes aim at: strengths over endless raters, prompts, lengths and both sides."""

from typing import Any

import numpy as np
import polars as pl

from evalstats.simulate.arena_refit import refit
from evalstats.simulate.arena_world import APP_SHARES, APPS, SCENARIOS, ArenaEffects, ArenaWorld
from evalstats.stats.checks import FloatArray

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
