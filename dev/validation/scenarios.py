"""Models in scenarios with no difference anywhere: how often a drop or gain is marked, or models are said to differ in where."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import optimize, special, stats

from dev.validation.sign_contrasts import max_contrast
from dev.validation.study import Case, Promise, Question, Tally, Task, of_claims, simulated
from evalstats.stats.many.multiplicity import benjamini_hochberg
from evalstats.stats.mixed.interaction import parallelism_test
from evalstats.stats.mixed.robust import CellMeans, cell_means
from evalstats.stats.proportion_contrasts import proportion_contrasts

NAME = "scenarios"
PART = 50
DRAWS = 399
LEVEL = 0.05

MARKS = "evalstats: any drop or gain"
APART = "evalstats: models differ in where"
WALD = "Wald, adjusted within each model"
SIGNS = "random signs on cell means"
_NODE, _WEIGHT = np.polynomial.hermite_e.hermegauss(60)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Models that succeed alike in all scenarios.

    Attributes
    ----------
    success
        Share of success over the population of items, and `item_sd` the spread of their difficulty in log-odds.
    crossed
        Whether all scenarios share their items; else each has `n_items` of its own.
    apart
        Half the range of models and of scenarios in log-odds: 0 where there is no difference anywhere. Otherwise changes are
        real, and only the interaction is judged.
    """

    n_models: int
    n_scenarios: int
    n_items: int
    success: float
    item_sd: float = 1.0
    crossed: bool = False
    apart: float = 0.0

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Return right/wrong scores, shape (n_models, n_scenarios, n_items)."""
        centre = optimize.brentq(
            lambda a: _WEIGHT @ special.expit(a + self.item_sd * _NODE) / _WEIGHT.sum() - self.success, -30, 30
        )
        logit = centre + self.item_sd * rng.normal(size=(1, 1 if self.crossed else self.n_scenarios, self.n_items))
        logit = logit + self.apart * np.linspace(-1, 1, self.n_models)[:, None, None]
        logit = logit + self.apart * np.linspace(-1, 1, self.n_scenarios)[None, :, None]
        shape = (self.n_models, self.n_scenarios, self.n_items)
        return (rng.random(shape) < special.expit(logit)).astype(np.float64)


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the tables in which anything is said to differ."""
    drawn = [world.draw(rng) for _ in range(count)]
    found = {
        APART: of_claims([_apart(scores, world, seed) for seed, scores in enumerate(drawn)]),
        SIGNS: of_claims([_by_signs(scores, world, seed) for seed, scores in enumerate(drawn)]),
    }
    if world.apart == 0:
        found[MARKS] = of_claims([marks(scores, crossed=world.crossed) for scores in drawn])
        found[WALD] = of_claims([_wald(scores, world) for scores in drawn])
    return found


def marks(scores: np.ndarray, *, crossed: bool) -> bool:
    """Whether any change against the mean of the other scenarios is marked, as `evalstats.scenarios` marks them."""
    return bool((changes(scores, crossed=crossed) <= LEVEL).any())


def changes(scores: np.ndarray, *, crossed: bool) -> np.ndarray:
    """Return adjusted p of every model in every scenario against its mean over the others, in the order of the table."""
    means, weights = _changes(scores, crossed=crossed)
    variance = np.einsum("kc,cd,kd->k", weights, means.covariance, weights)
    n_models, n_scenarios, n_items = scores.shape
    own = np.tile(weights[:n_scenarios, :n_scenarios], (n_models, 1))
    shares = np.repeat(scores.mean(axis=2), n_scenarios, axis=0)
    df = np.clip(means.df(weights), 1.0, means.n_clusters - 1.0)
    found = proportion_contrasts(shares, np.full(shares.shape, float(n_items)), own, variance=variance, df=df)
    return benjamini_hochberg(found.p_values())


def _changes(scores: np.ndarray, *, crossed: bool) -> tuple[CellMeans, np.ndarray]:
    """Return cell means, and the coefficients of each cell less the mean of the model's others."""
    n_models, n_scenarios, n_items = scores.shape
    cell = np.repeat(np.arange(n_models * n_scenarios, dtype=np.int64), n_items)
    every = np.arange(n_items if crossed else n_scenarios * n_items, dtype=np.int64)
    item = np.tile(every, n_models * n_scenarios if crossed else n_models)
    own = np.eye(n_scenarios) * n_scenarios / (n_scenarios - 1) - 1 / (n_scenarios - 1)
    weights = np.zeros((n_models, n_scenarios, n_models, n_scenarios))
    for model in range(n_models):
        weights[model, :, model] = own
    return cell_means(scores.ravel(), cell, item), weights.reshape(n_models * n_scenarios, -1)


def _wald(scores: np.ndarray, world: World) -> bool:
    means, weights = _changes(scores, crossed=world.crossed)
    variance = np.einsum("kc,cd,kd->k", weights, means.covariance, weights)
    known = variance > 1e-12
    t = np.where(known, weights @ means.mean / np.sqrt(np.where(known, variance, 1.0)), 0.0)
    p = 2 * stats.t.sf(np.abs(t), np.clip(means.df(weights), 1.0, means.n_clusters - 1.0))
    return bool(np.min(p) <= LEVEL / world.n_scenarios)


def _apart(scores: np.ndarray, world: World, seed: int) -> bool:
    of_questions = scores.transpose(1, 2, 0).reshape(-1, world.n_models)
    scenario = np.repeat(np.arange(world.n_scenarios), world.n_items)
    unit = np.tile(np.arange(world.n_items), world.n_scenarios) if world.crossed else np.arange(len(scenario))
    return parallelism_test(of_questions, scenario, unit, binary=True, n_resamples=DRAWS, seed=seed).p_value <= LEVEL


def _by_signs(scores: np.ndarray, world: World, seed: int) -> bool:
    means, _ = _changes(scores, crossed=world.crossed)
    n_models, n_scenarios = world.n_models, world.n_scenarios
    left = np.kron(np.eye(n_models) - 1 / n_models, np.eye(n_scenarios) - 1 / n_scenarios)
    n_clusters = means.n_clusters
    shares = np.full((n_clusters, len(left)), 1 / n_clusters)
    if not world.crossed:
        shares = np.tile(np.repeat(np.eye(n_scenarios), world.n_items, axis=0) / world.n_items, (1, n_models))
    toward = np.linalg.pinv(left) @ (left @ means.mean)
    found = max_contrast(
        left @ means.mean, means.influence @ left.T, imposed=(shares * toward) @ left.T, n_resamples=DRAWS, seed=seed
    )
    return found.p_value <= LEVEL


def _words(world: World) -> str:
    items = f"{world.n_items} items shared" if world.crossed else f"{world.n_items} items in each"
    size = f"{world.n_models} models, {world.n_scenarios} scenarios, {items}"
    return f"{size}, success {100 * world.success:g}%, item SD {world.item_sd:g}"


ALIKE, APART_EACH = "no difference anywhere", "models and scenarios apart, no interaction"
SIZES = (
    (5, 5, 40, 0.9, 1.0, False),
    (5, 5, 40, 0.95, 0.0, False),
    (8, 8, 40, 0.98, 1.0, False),
    (3, 3, 10, 0.5, 1.0, False),
    (3, 8, 20, 0.9, 1.0, False),
    (8, 3, 20, 0.1, 1.0, False),
    (3, 5, 100, 0.02, 1.0, False),
    (8, 8, 20, 0.5, 2.0, False),
    (5, 5, 40, 0.9, 1.0, True),
    (8, 3, 20, 0.95, 1.0, True),
    (3, 8, 10, 0.5, 2.0, True),
    (5, 5, 100, 0.98, 1.0, True),
)
REPLICATES, MANY = 2_000, 10_000
# Models, scenarios, items and success of those where fewer tables do not tell on which side of its limit the rate lies.
CLOSE = ((5, 5, 40, 0.9), (8, 8, 40, 0.98), (3, 8, 20, 0.9), (3, 5, 100, 0.02), (8, 8, 20, 0.5))
WORLDS = tuple(
    (
        ALIKE if apart == 0 else APART_EACH,
        World(n_models=m, n_scenarios=s, n_items=n, success=p, item_sd=sd, crossed=crossed, apart=apart),
    )
    for apart, sizes in ((0.0, SIZES), (1.0, SIZES[:2] + SIZES[4:6] + SIZES[8:10]))
    for m, s, n, p, sd, crossed in sizes
)


def _name(group: str, world: World) -> str:
    return _words(world) + ("" if group == ALIKE else ", apart")


def _replicates(world: World) -> int:
    return MANY if (world.n_models, world.n_scenarios, world.n_items, world.success) in CLOSE else REPLICATES


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return [
        task
        for group, world in WORLDS
        for task in simulated(
            NAME,
            _name(group, world),
            partial(replicate, world=world),
            replicates=_replicates(world),
            part=PART,
            share=share,
        )
    ]


QUESTION = Question(
    name=NAME,
    question="How often do models seem to break in a scenario where none does?",
    design=(
        "Models answer the questions of several scenarios once, right or wrong. Items differ in difficulty (normal log-odds). "
        "All models succeed alike in all scenarios; or models and scenarios are each spread over 2 units of log-odds and only "
        "the test of the interaction is judged. An error is a table with any false drop or gain, or a false "
        "interaction."
    ),
    measure="false claims",
    nominal=LEVEL,
    methods={MARKS: "ours", APART: "ours", WALD: "elsewhere", SIGNS: "elsewhere"},
    cases=[
        Case(
            name=_name(group, world),
            group=group,
            design={"n_models": world.n_models, "n_scenarios": world.n_scenarios, "n_items": world.n_items},
        )
        for group, world in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(text="Tables with any false drop or gain", method=MARKS, high=0.06),
        Promise(text="False interactions of models and scenarios", method=APART, high=0.065),
    ],
)
