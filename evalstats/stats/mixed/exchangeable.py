"""Errors of predictions where models are exchangeable, as where all of them answered the same items: in closed form."""

from collections.abc import Sequence
from itertools import starmap

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array, hstack, kron

from evalstats.stats.mixed.design import Floats, Ints
from evalstats.stats.mixed.prediction import CombinationErrors, PredictiveLaw, reduced_system

_EXCHANGEABLE = 1e-12  # of the information of a model in a scenario, what is rounding


def exchangeable_errors(
    law: PredictiveLaw, terms: Sequence[int], levels: Sequence[Ints], values: Floats
) -> tuple[CombinationErrors, Floats] | None:
    """Return the errors of all cells, and the variances of all effects at each point; None where models are not exchangeable.

    A cell is beta_m + s_j + p_mj, with the scenario's effect s, the pair's p and a fixed effect of each of M models. If the
    information of scenario j on its cells is own I + off (J - I), the mean over models and what differs from it are independent:
    of a direction of either, the information is own + (M - 1) off or own - off, and the prior variance v_p + M v_s or v_p. With
    t = 1 / (1 + prior information), errors have covariance diag(t prior) + t t' / sum(t information), over sigma^2.

    `terms` are the places of s and p, `levels` the level of both in every cell, model by model, and `values`, shape
    (n_points, n_cells), what is predicted for each.
    """
    if law.fits[0].family == "binomial" or len(terms) != 2:
        return None
    n_models, n_scenarios = len(law.fits[0].beta), law.fits[0].design.terms[terms[0]].n_levels
    n_cells = law.fits[0].design.terms[terms[1]].n_levels
    if n_models < 2 or n_models * n_scenarios != n_cells or len(levels[0]) != n_cells:
        return None
    information: Floats = reduced_system(law.fits[0], terms, only_fixed=True).toarray()
    information = information[:, n_models + n_scenarios + levels[1]].reshape(n_models, n_models, n_scenarios)
    own, off = information[0, 0], information[0, 1]
    expected: Floats = off + np.eye(n_models)[..., np.newaxis] * (own - off)
    if np.abs(information - expected).max() > _EXCHANGEABLE * own.max():
        return None
    variances = [(fit.sigma**2, *(fit.design.factors(fit.theta)[k][0, 0] ** 2 for k in terms)) for fit in law.fits]
    sigma2, of_scenario, of_pair = np.array(variances, dtype=np.float64).T[..., np.newaxis]
    total = of_pair + n_models * of_scenario

    def direction(information: Floats, prior: Floats) -> tuple[Floats, Floats, Floats]:
        """Return diag(t prior), t / sqrt(sum(t information)), and the variances without the fixed effect; a row each point."""
        t = 1 / (1 + prior * information)
        known = np.sqrt((t * information).sum(axis=1, keepdims=True))
        return sigma2 * prior * t, np.sqrt(sigma2) * t / known, sigma2 * (prior * t + ((1 - t) / known) ** 2)

    (given, root, differing), (mean_given, mean_root, mean) = starmap(
        direction, ((own - off, of_pair), (own + (n_models - 1) * off, total))
    )
    shares = np.sqrt(law.weights)[:, np.newaxis]
    ones = np.full((n_models, 1), n_models**-0.5)
    more = np.sqrt(np.maximum(law.mean(mean_given - given), 0.0))
    errors = CombinationErrors(
        given=csr_array(kron(eye_array(n_models), diags_array(law.mean(given)))),
        root=csr_array(
            hstack(
                [
                    csr_array((shares * (values - law.mean(values))).T),
                    kron(eye_array(n_models), csr_array((shares * root).T)),
                    kron(ones, diags_array(more)),
                    kron(ones, (shares * mean_root).T),
                    kron(ones, (shares * root).T),
                ]
            )
        ),
        sign=np.repeat([1.0, -1.0], [(2 + n_models) * len(shares) + n_scenarios, len(shares)]),
    )
    # Given the sum of s and p, s has the mean v_s / (v_p + M v_s) times its sum over models.
    share = np.divide(of_scenario, total, out=np.zeros_like(total), where=total > 0)
    rest = sigma2 * share * of_pair
    out = np.empty((len(law.fits), n_scenarios + n_cells))
    out[:, levels[0][:n_scenarios]] = rest + n_models * share**2 * mean
    pairs = (1 - 1 / n_models) * differing + ((1 - n_models * share) ** 2 * mean + n_models * rest) / n_models
    out[:, n_scenarios + levels[1]] = np.tile(pairs, n_models)
    return errors, out
