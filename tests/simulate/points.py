"""Expected points of simulated answers, by a Gauss-Hermite sum over the answer's own effect."""

import numpy as np
from scipy.special import expit

from evalstats.simulate.benchmark_files import CUTS, LOWEST, SD_ANSWER, RepairDraw


def expected_points(draw: RepairDraw) -> np.ndarray:
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    logits = draw.eta[..., None, None] + SD_ANSWER * nodes[:, None] - np.array(CUTS)
    return LOWEST + expit(logits).sum(axis=-1) @ (weights / weights.sum())
