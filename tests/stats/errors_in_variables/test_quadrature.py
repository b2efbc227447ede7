"""Integration on a lattice and mixtures of normal laws, against laws whose answers are known."""

import numpy as np
import pytest
from scipy import optimize, stats

from evalstats.errors import CannotAnswerError
from evalstats.stats.errors_in_variables.quadrature import Mixture, first_quantiles, last_quantiles, lattice_of

ROOT = np.array([[0.4, 0.0, 0.0], [0.9, 1.0, 0.0], [-0.5, 0.8, 0.3]])
P = (0.025, 0.5, 0.975)
# The density is followed until it has fallen by e^-9: a thousandth of the mass of a normal law of three dimensions is left out.
CLOSE = 3e-3


def normal(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Log density of a normal law that is even in the first coordinate, as the sum of two."""
    inverse = np.linalg.inv(ROOT @ ROOT.T)

    def height(away: np.ndarray) -> np.ndarray:
        return -0.5 * np.einsum("pi,ij,pj->p", away, inverse, away)

    turned = points * np.array([-1.0, 1.0, 1.0])
    return np.logaddexp(height(points - centre), height(turned - centre))


@pytest.mark.parametrize("first", [3.0, 0.3, 0.0])
def test_quantiles_of_a_folded_normal_law(first: float):
    centre = np.array([first, 1.0, -2.0])
    lattice = lattice_of(lambda points: normal(points, centre), np.array([1.0, 0.0, 0.0]))
    law = stats.foldnorm(first / 0.4, scale=0.4)
    assert law.cdf(first_quantiles(lattice, P)) == pytest.approx(P, abs=CLOSE)
    sd = np.sqrt((ROOT @ ROOT.T)[2, 2])
    last = stats.norm(-2.0, sd).cdf(last_quantiles(lattice, lambda points: points[:, 2], P))
    # Rows differ by more than the width of the law along a row, so that their sum is a little uneven.
    assert last == pytest.approx(P, abs=2 * CLOSE)
    weight = lattice.weights()[:, 0]
    assert weight @ lattice.points[:, 2] == pytest.approx(-2.0, abs=CLOSE * sd)
    assert len(weight) < 2000


def test_a_lattice_knows_what_it_does_not_reach():
    lattice = lattice_of(lambda points: normal(points, np.array([3.0, 0.0, 0.0])), np.array([3.0, 0.0, 0.0]))
    mild, far = 0.5 * lattice.points[:, 2], 8.0 * lattice.points[:, 2]
    assert lattice.holds(lattice.weights(np.column_stack([mild, far]))).tolist() == [True, False]


def test_a_density_that_nothing_holds_together_is_refused():
    with pytest.raises(CannotAnswerError, match="cannot be integrated"):
        lattice_of(lambda points: np.zeros(len(points)), np.array([1.0, 1.0, 1.0]))


def test_mixtures_of_normal_laws():
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(5), size=3).T
    mean, sd = 3 * rng.normal(size=(5, 3)), rng.uniform(0.1, 2.0, size=(5, 3))
    mixture = Mixture(weight=weight, mean=mean, sd=sd)
    for j in range(3):

        def below(value: float, j: int = j) -> float:
            return float(weight[:, j] @ stats.norm.cdf(value, mean[:, j], sd[:, j]))

        for p in P:
            root = optimize.brentq(lambda value, p=p, below=below: below(value) - p, -60, 60, xtol=1e-12)
            assert mixture.quantile(p)[j] == pytest.approx(root, abs=1e-9)
        assert mixture.below(0.3)[j] == pytest.approx(below(0.3), abs=1e-12)
        second = weight[:, j] @ (sd[:, j] ** 2 + mean[:, j] ** 2)
        assert mixture.spread()[j] == pytest.approx(np.sqrt(second - (weight[:, j] @ mean[:, j]) ** 2), rel=1e-12)


@pytest.mark.parametrize("p", [0.89, 0.95, 0.91])
def test_a_quantile_far_from_the_mean_is_held_by_cantellis_inequality(p: float):
    """Nearly all of the law on one side of its mean: at -1 with weight .9, at 9 with .1."""
    mixture = Mixture(
        weight=np.array([[0.9, 0.1], [0.1, 0.9]]), mean=np.array([[-1.0, -9.0], [9.0, 1.0]]), sd=np.full((2, 2), 0.01)
    )
    wanted = -1 + 0.01 * stats.norm.ppf(p / 0.9) if p < 0.9 else 9 + 0.01 * stats.norm.ppf((p - 0.9) / 0.1)
    assert mixture.quantile(p)[0] == pytest.approx(wanted, abs=1e-9)
    assert mixture.quantile(1 - p)[1] == pytest.approx(-wanted, abs=1e-9)
