"""The truth behind a simulated lab and live world: what every model would do in every scenario on either side."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri

from evalstats.errors import InputError
from evalstats.simulate.lab_live_design import LabLiveDesign
from evalstats.simulate.rut_design import apportion
from evalstats.simulate.streams import generator
from evalstats.stats.checks import FloatArray, IntArray

# With 61 nodes the mean of a logistic curve over a normal law of standard deviation up to 3 is right to 1e-7.
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_NORMAL_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_FURTHEST = 60.0  # logits; the search starts that far out
_ROUNDS = 70  # halvings of 120 logits: beyond the precision of a float
_PARTS = 10_000_000  # shares are apportioned as whole parts


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabLiveWorld:
    """One draw of the truth. Models are `names`: those of both sides, then those that only the lab has.

    Attributes
    ----------
    lab_mix, live_mix
        float64, shape (n_scenarios,), each of sum 1: of lab items as they are, and of live sessions.
    item_scenario
        int64, shape (n_items,): scenario of each lab item; with crossed items unused.
    lab_cells, live_cells
        float64, shape (n_names, n_scenarios): probability of success of a model in a scenario, over endless items and users.
        `live_cells` is None for votes.
    strengths
        float64, shape (n_names,), for votes: Bradley-Terry strengths, in log-odds, sum 0 over the models of both sides, of the
        shares of wins (ties as half) over endless users. None otherwise.
    gaps
        float64, shape (n_names,): planted gap, and the random one where `tau` is above 0.
    lab_logits, live_logits
        float64, shape (n_names, n_scenarios): logits for an item, or user, of effect 0 that give those probabilities.
    pair_logits
        float64, shape (n_models, n_models): the same for votes.
    """

    design: LabLiveDesign
    seed: int
    names: tuple[str, ...]
    lab_mix: FloatArray
    live_mix: FloatArray
    item_scenario: IntArray
    lab_cells: FloatArray
    live_cells: FloatArray | None
    strengths: FloatArray | None
    gaps: FloatArray
    lab_logits: FloatArray
    live_logits: FloatArray | None
    pair_logits: FloatArray | None

    @property
    def n_models(self) -> int:
        """Models that both sides have."""
        return len(self.design.names)


def make_lab_live_world(design: LabLiveDesign, *, seed: int = 0) -> LabLiveWorld:
    """Draw the truth of a seed. Probabilities are exact: logits are solved for them by quadrature.

    Raises
    ------
    InputError
        If a planted gap makes a probability leave 0 to 1; the message names model and scenario.

    Examples
    --------
    >>> world = make_lab_live_world(LabLiveDesign(n_models=8, gaps={"model-03": -0.15}))
    >>> (world.live_cells - world.lab_cells).round(9)[2].tolist()
    [-0.15, -0.15, -0.15, -0.15, -0.15, -0.15, -0.15]
    """
    names = (*design.names, *design.lab_only)
    counts = _item_counts(design)
    lab_mix = counts / counts.sum()
    live_mix = lab_mix if design.live_mix is None else _shares(design, design.live_mix)
    lab_cells = _lab_cells(design, seed)
    random = design.tau * generator(seed, "lab-live", "tau").standard_normal(len(names))
    gaps = np.array([design.gaps.get(name, 0.0) for name in names]) + random
    votes = design.live == "comparisons"
    live_cells = None if votes else _live_cells(design, names, lab_cells, gaps)
    strengths = _strengths(design, lab_cells @ lab_mix, gaps) if votes else None
    sd_user = float(np.hypot(design.sd_user, design.sd_user_model))
    return LabLiveWorld(
        design=design,
        seed=seed,
        names=names,
        lab_mix=lab_mix,
        live_mix=live_mix,
        item_scenario=np.repeat(np.arange(counts.size), counts),
        lab_cells=lab_cells,
        live_cells=live_cells,
        strengths=strengths,
        gaps=gaps,
        lab_logits=logit_for_mean(lab_cells, design.sd_item),
        live_logits=None if live_cells is None else logit_for_mean(live_cells, sd_user),
        pair_logits=None if strengths is None else _pair_logits(strengths[: len(design.names)], design.sd_user_model),
    )


def mean_of_logits(logits: FloatArray, sd: float) -> FloatArray:
    """Return the mean of expit(logit + sd x standard normal), by Gauss-Hermite quadrature.

    Examples
    --------
    >>> mean_of_logits(np.array([0.0, 1.0]), 0.0).round(4).tolist()
    [0.5, 0.7311]
    """
    return expit(logits[..., None] + sd * _NODES) @ _NORMAL_WEIGHTS


def logit_for_mean(probability: FloatArray, sd: float) -> FloatArray:
    """Return the logits at which `mean_of_logits` is `probability`, by halving.

    Examples
    --------
    >>> logits = logit_for_mean(np.array([0.2, 0.9]), 1.5)
    >>> mean_of_logits(logits, 1.5).round(9).tolist()
    [0.2, 0.9]
    """
    if sd == 0.0:
        return logit(probability)
    low, high = np.full(probability.shape, -_FURTHEST), np.full(probability.shape, _FURTHEST)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2.0
        below = mean_of_logits(middle, sd) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2.0


def _shares(design: LabLiveDesign, mix: Mapping[str, float]) -> FloatArray:
    shares = np.array([mix.get(name, 0.0) for name in design.scenarios])
    return shares / shares.sum()


def _item_counts(design: LabLiveDesign) -> IntArray:
    n = len(design.scenarios)
    if design.crossed:
        return np.full(n, design.n_items, dtype=np.int64)
    shares = np.full(n, 1.0 / n) if design.lab_mix is None else _shares(design, design.lab_mix)
    return np.array(apportion([round(_PARTS * share) for share in shares], design.n_items), dtype=np.int64)


def _lab_cells(design: LabLiveDesign, seed: int) -> FloatArray:
    """Return the probabilities of success in the lab; a model more moves no other."""
    n, n_more, n_scenarios = len(design.names), design.n_lab_only, len(design.scenarios)
    ability = design.mean + design.spread * np.asarray(ndtri((n - np.arange(n) - 0.5) / n), dtype=np.float64)
    more = design.mean + design.spread * generator(seed, "lab-live", "lab-only").standard_normal(n_more)
    own = [generator(seed, "lab-live", "model", name) for name in (*design.names, *design.lab_only)]
    deviation = np.array(
        [
            design.sd_drop * stream.standard_normal() + design.sd_cell * stream.standard_normal(n_scenarios)
            for stream in own
        ]
    )
    deviation[:, 0] = 0.0  # the ideal user is what abilities are about
    return expit(np.concatenate([ability, more])[:, None] + design.effects() + deviation)


def _live_cells(design: LabLiveDesign, names: tuple[str, ...], lab_cells: FloatArray, gaps: FloatArray) -> FloatArray:
    cells = lab_cells + design.behaviour_shift + gaps[:, None]
    for (model, scenario), gap in design.scenario_gaps.items():
        cells[names.index(model), list(design.scenarios).index(scenario)] += gap
    outside = np.argwhere((cells <= 0.0) | (cells >= 1.0))
    if outside.size:
        m, s = outside[0]
        raise InputError(
            f"the gaps of {names[m]} in {design.scenarios[s]} take its success from {lab_cells[m, s]:.3f} in the lab to "
            f"{cells[m, s]:.3f} live; plant smaller ones, or raise or lower mean"
        )
    return cells


def _strengths(design: LabLiveDesign, lab: FloatArray, gaps: FloatArray) -> FloatArray:
    strengths = design.slope * lab + gaps
    return strengths - strengths[: len(design.names)].mean()


def _pair_logits(strengths: FloatArray, sd: float) -> FloatArray:
    shares = expit(strengths[:, None] - strengths[None, :])
    # Two likings, one of each model.
    return logit_for_mean(shares, float(np.sqrt(2.0)) * sd)
