"""Simulated outcomes of two sides by cluster, model and cell, whose true parts are known."""

from dataclasses import dataclass

import numpy as np

from evalstats.stats.standardisation import CellTable, GapParts, GapStatistic, cell_table, gap_parts

N_CELLS, N_MODELS = 5, 3
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_EASE = np.array([1.5, 1.0, 0.4, 0.0, -0.6])
LAB_MIX = np.array([0.3, 0.25, 0.2, 0.15, 0.1])
OTHER_MIX = LAB_MIX[::-1].copy()
ABILITY = np.array([0.0, 0.4, -0.4])


def kitagawa(lab_share, lab_rate, live_share, live_rate) -> GapParts:
    """The parts of one table from shares and rates; a rate is NaN where its side has no share."""
    w_lab, w_live = np.asarray(lab_share), np.asarray(live_share)
    lab, live = (np.where(w > 0, w * np.asarray(r), 0.0) for w, r in ((w_lab, lab_rate), (w_live, live_rate)))
    return gap_parts(w_lab, lab, w_live, live, common=(w_lab > 0) & (w_live > 0))


def expit(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


@dataclass(frozen=True, slots=True, kw_only=True)
class CellWorld:
    """Clusters (of items; users) have a random effect on the logit, shared by models; items one of their own."""

    n_lab: int = 60
    items: int = 3
    n_users: int = 300
    live_mix: tuple[float, ...] = tuple(OTHER_MIX)
    shift: float = -0.3
    sd: float = 0.8
    activity: float = 1.2

    def logits(self) -> tuple[np.ndarray, np.ndarray]:
        lab = _EASE + ABILITY[:, None]
        return lab, lab + self.shift

    def rates(self) -> tuple[np.ndarray, np.ndarray]:
        """True rates by model and cell, averaged over the random effects."""
        lab, live = self.logits()
        return _mean(lab, np.hypot(self.sd, self.sd)), _mean(live, self.sd)

    def truth(self) -> np.ndarray:
        """True parts in the order of PARTS, for each model and their mean."""
        return self.truth_given(LAB_MIX)

    def truth_given(self, lab_mix: np.ndarray) -> np.ndarray:
        """The same for a lab whose authors chose these shares."""
        lab, live = self.rates()
        mix = np.array(self.live_mix)
        everything = GapStatistic(common=np.ones((N_MODELS, N_CELLS), dtype=np.bool_))
        shares = np.broadcast_to(lab_mix, lab.shape), np.broadcast_to(mix, lab.shape)
        parts = everything(shares[0], shares[0] * lab, shares[1], shares[1] * live)
        return np.vstack([parts, parts.mean(0)])[:, :7]

    def draw(self, seed: int) -> tuple[CellTable, CellTable]:
        rng = np.random.default_rng([seed, 77])
        return self._lab(rng), self._live(rng)

    def _lab(self, rng: np.random.Generator) -> CellTable:
        of_cluster = rng.choice(N_CELLS, self.n_lab, p=LAB_MIX)
        sizes = rng.integers(1, 2 * self.items, self.n_lab)
        cluster = np.repeat(np.arange(self.n_lab), sizes)
        effect = self.sd * (rng.standard_normal(self.n_lab)[cluster] + rng.standard_normal(cluster.size))
        cell = of_cluster[cluster]
        chance = expit(self.logits()[0][:, cell] + effect)
        return _table(cluster, cell, rng.random(chance.shape) < chance)

    def _live(self, rng: np.random.Generator) -> CellTable:
        times = np.maximum(1, np.round(rng.lognormal(self.activity, 1.0, self.n_users))).astype(np.int64)
        user = np.repeat(np.arange(self.n_users), times)
        taste = rng.dirichlet(4.0 * np.array(self.live_mix), self.n_users).cumsum(1)[user]
        cell = np.minimum((rng.random(user.size)[:, None] > taste).sum(1), N_CELLS - 1)
        model = rng.integers(0, N_MODELS, user.size)
        effect = self.sd * rng.standard_normal(self.n_users)[user]
        won = rng.random(user.size) < expit(self.logits()[1][model, cell] + effect)
        ones = np.ones(user.size)
        return cell_table(user, model, cell, ones, won.astype(np.float64), n_models=N_MODELS, n_cells=N_CELLS)


def _mean(logits: np.ndarray, sd: float) -> np.ndarray:
    return (expit(logits[..., None] + sd * _NODES) * _WEIGHTS).sum(-1) / _WEIGHTS.sum()


def _table(cluster: np.ndarray, cell: np.ndarray, won: np.ndarray) -> CellTable:
    models = np.repeat(np.arange(N_MODELS), cluster.size)
    return cell_table(
        np.tile(cluster, N_MODELS),
        models,
        np.tile(cell, N_MODELS),
        np.ones(models.size),
        won.reshape(-1).astype(np.float64),
        n_models=N_MODELS,
        n_cells=N_CELLS,
    )
