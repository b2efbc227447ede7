"""Posteriors: how often credible intervals miss, effects fixed or from the prior, and how often P(better) is right.

A table of right-or-wrong pairs has three counts: with 60 items all 1,891 tables are listed, and rates are exact. Of clusters
an interval with equal tails holds the truth where 2.5 to 97.5% of the posterior lie below it, which takes no ends.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Self

import numpy as np
from scipy import stats

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.stats.many.rank_probabilities import rank_posterior
from evalstats.stats.posterior import (
    ClusterMoments,
    ClustersLikelihood,
    DifferencePosterior,
    PairsLikelihood,
    Prior,
    posteriors,
)

NAME = "posterior-claims"
REPLICATES, PART = 2_000, 250
ITEMS, MODELS, SCALE = 60, 8, 0.1
SD, ICC = 0.3, 0.3
OURS, SURE, RANKS = "credible interval", "P(better) above 95% of equal systems", "credible rank interval"
ALIKE, MADE = "made and alike", 5  # tables of a part whose posterior is made itself as well
BANDS = (0.5, 0.7, 0.85, 0.95, 1.0)
PRIOR = Prior(scale=SCALE)


def _claims(p_above: float, delta: float) -> dict[str, Tally]:
    """Return, by band of the P of the likelier side, how often it is right and what P says: a tally of (right, n, sum of P)."""
    p = max(p_above, 1.0 - p_above)
    return {_band(p): Tally(float((delta > 0) == (p_above > 0.5)), 1.0, p)}


def _band(p: float) -> str:
    return f"band {next((k for k, end in enumerate(BANDS) if p <= end), len(BANDS) - 1)}"


def _sum(tallies: list[Tally]) -> Tally:
    return Tally(sum(each.errors for each in tallies), sum(each.total for each in tallies))


def _together(parts: list[dict[str, Tally]]) -> dict[str, Tally]:
    total: dict[str, Tally] = {}
    for part in parts:
        for name, tally in part.items():
            total[name] = total[name].plus(tally) if name in total else tally
    return total


@cache
def of_pairs(wins: int, losses: int) -> DifferencePosterior:
    """Return the posterior of a table of 60 pairs under the usual prior."""
    return posteriors(PairsLikelihood(wins=wins, losses=losses, agreeing=ITEMS - wins - losses), [PRIOR], bound=1.0)[0]


def of_clusters(rng: np.random.Generator, n: int, *, delta: float, icc: float) -> ClustersLikelihood:
    """Return the likelihood of a table of clusters of 1 to some 40 items."""
    size = np.maximum(1, rng.lognormal(2.0, 0.8, n).astype(int))
    codes = np.repeat(np.arange(n), size)
    sd = SD * np.sqrt([icc, 1.0 - icc])
    d = delta + sd[0] * rng.normal(size=n)[codes] + sd[1] * rng.normal(size=codes.size)
    return ClustersLikelihood(moments=ClusterMoments.of(d, codes))


# In spreads of the likelihood about its centre; the intraclass correlation from 5e-9 to 1 - 5e-9.
ENDS = np.array([-80, -25, -12, -8, -6, -4.5, -3.5, -2.5, -1.5, -0.7, 0, 0.7, 1.5, 2.5, 3.5, 4.5, 6, 8, 12, 25, 80])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
RATIO = np.arange(-19.0, 19.1, 0.5)


def below(seen: ClustersLikelihood, *places: float) -> list[float]:
    """Return how much of the posterior of clusters lies below each place: the plain double sum, over few nodes."""
    m = seen.moments
    size, count, mean, squares = (np.array(each, dtype=float) for each in (m.sizes, m.counts, m.means, m.squares))
    rest = 1.0 / (1.0 + np.exp(RATIO))
    precision = 1.0 / (1.0 - rest[:, None] * (1.0 - 1.0 / size))
    log_r = 0.5 * count.sum() * np.log(rest) + 0.5 * np.log(precision) @ count + 0.5 * (RATIO + 2.0 * np.log(rest))
    cuts = np.unique(np.concatenate([seen.centre + seen.spread * ENDS, places]))
    half = 0.5 * np.diff(cuts)[:, None]
    delta = (cuts[:-1, None] + half * (1.0 + NODES)).ravel()
    weight = precision @ count
    middle = precision @ (count * mean) / weight
    about = precision @ (count * mean**2) - weight * middle**2 + precision @ squares
    reach = m.within + rest[:, None] * (weight[:, None] * (delta - middle[:, None]) ** 2 + about[:, None])
    logs = log_r[:, None] - 0.5 * float(count @ size) * np.log(reach)
    mass = (np.exp(logs - logs.max()).sum(axis=0) / (1.0 + (delta / SCALE) ** 2 / 3.0) ** 2).reshape(
        half.size, -1
    ) @ WEIGHTS
    done = np.concatenate([[0.0], np.cumsum(mass * half[:, 0])])
    return [float(done[np.searchsorted(cuts, place)] / done[-1]) for place in places]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is counted of one posterior."""

    missed: bool
    p_above: float

    @classmethod
    def of_table(cls, seen: ClustersLikelihood, delta: float) -> Self:
        """Judge clusters by what lies below the truth and below 0."""
        under, negative = below(seen, delta, 0.0)
        return cls(missed=not 0.025 <= under <= 0.975, p_above=1.0 - negative)

    @classmethod
    def of_posterior(cls, found: DifferencePosterior, delta: float) -> Self:
        """Judge a posterior by its ends."""
        return cls(missed=not found.low <= delta <= found.high, p_above=found.p_above)


def made_alike(seen: ClustersLikelihood, delta: float) -> Tally:
    """Compare the sum with the posterior itself: the interval, and P(better) to .001."""
    judged = Judged.of_table(seen, delta)
    made = Judged.of_posterior(posteriors(seen, [PRIOR])[0], delta)
    return Tally(float(judged.missed == made.missed and abs(judged.p_above - made.p_above) < 1e-3), 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Pairs of two systems with a share of right answers, and a fixed effect in standard errors."""

    rate: float
    effect: float

    @property
    def name(self) -> str:
        """How the case is called."""
        return f"{ITEMS} items, {100 * self.rate:g}% right, effect {self.effect:g}"

    def tallies(self) -> Tallies:
        """Add up all tables, each with its probability."""
        split = self.rate * (1 - self.rate) * 0.7  # of the answers of either side, .3 of the variance is shared
        delta = self.effect * math.sqrt(2 * split / ITEMS)
        lost = max(split - delta / 2, 0.0)
        law = stats.multinomial(ITEMS, [lost + delta, lost, 1 - 2 * lost - delta])
        missed = sure = width = 0.0
        for wins in range(ITEMS + 1):
            for losses in range(ITEMS + 1 - wins):
                chance = float(law.pmf([wins, losses, ITEMS - wins - losses]))
                if chance < 1e-9:
                    continue
                found = of_pairs(wins, losses)
                missed += chance * (not found.low <= delta <= found.high)
                sure += chance * (found.p_above > 0.95)
                width += chance * (found.high - found.low)
        tallies = {(self.name, OURS): Tally(missed, 1.0, width)}
        return tallies | ({(self.name, SURE): Tally(sure, 1.0)} if self.effect == 0.0 else {})


def fixed(rng: np.random.Generator, count: int, *, n_clusters: int, effect: float) -> dict[str, Tally]:
    """Tally credible intervals of one effect, in standard errors of the mean of as many clusters of 10 items."""
    delta = effect * SD * math.sqrt((ICC + (1 - ICC) / 10) / n_clusters)
    tables = [of_clusters(rng, n_clusters, delta=delta, icc=ICC) for _ in range(count)]
    judged = [Judged.of_table(seen, delta) for seen in tables]
    alike = {ALIKE: _sum([made_alike(seen, delta) for seen in tables[:MADE]])}
    sure = {SURE: of_claims([each.p_above > 0.95 for each in judged])} if effect == 0.0 else {}
    return {OURS: of_claims([each.missed for each in judged])} | alike | sure


def drawn(rng: np.random.Generator, count: int, *, n_clusters: int) -> dict[str, Tally]:
    """Tally credible intervals and claims where effects and nuisance parameters are from their priors; 0 clusters: pairs."""
    parts: list[dict[str, Tally]] = []
    for k in range(count):
        delta = 1.0
        while abs(delta) > 0.95:
            delta = SCALE * float(rng.standard_t(3))
        alike = {}
        if n_clusters:
            seen = of_clusters(rng, n_clusters, delta=delta, icc=float(rng.beta(0.5, 0.5)))
            judged = Judged.of_table(seen, delta)
            alike = {ALIKE: made_alike(seen, delta)} if k < MADE else {}
        else:
            q = abs(delta) + (1 - abs(delta)) * float(rng.beta(0.5, 1.0))
            wins, losses, _ = rng.multinomial(ITEMS, [(q + delta) / 2, (q - delta) / 2, 1 - q]).tolist()
            judged = Judged.of_posterior(of_pairs(wins, losses), delta)
        parts.append({OURS: Tally(float(judged.missed), 1.0)} | _claims(judged.p_above, delta) | alike)
    return _together(parts)


def ranked(rng: np.random.Generator, count: int, *, error: float, df: int) -> dict[str, Tally]:
    """Tally the models whose true rank is outside its credible interval, and claims about P(first)."""
    parts: list[dict[str, Tally]] = []
    for _ in range(count):
        tau = abs(SCALE * float(rng.standard_cauchy()))
        theta = tau * rng.normal(size=MODELS)
        # What is known of the errors of pairs is a variance on df degrees of freedom.
        seen = math.sqrt(float(rng.chisquare(df)) / df)
        x = theta + error / math.sqrt(2.0) * rng.normal(size=MODELS)
        errors = np.full((MODELS, MODELS), error * seen) * (1.0 - np.eye(MODELS))
        found = rank_posterior(x, errors, df=df, scale=SCALE, n_draws=4_000, seed=int(rng.integers(2**31)))
        rank = stats.rankdata(-theta)
        missed = float(((rank < found.rank_low) | (rank > found.rank_high)).mean())
        best = int(np.argmax(found.p_rank[:, 0]))
        p = float(found.p_rank[best, 0])
        claim = {_band(p): Tally(float(rank[best] == 1), 1.0, p)}
        parts.append({RANKS: Tally(missed, 1.0, float((found.rank_high - found.rank_low).mean()))} | claim)
    return _together(parts)


CLUSTERS, EFFECTS = (8, 20, 60), (0.0, 0.3, 2.0)
LISTED = tuple(Listed(rate=rate, effect=effect) for rate in (0.7, 0.97) for effect in EFFECTS)
FIXED = {
    f"{n} clusters, effect {effect:g}": partial(fixed, n_clusters=n, effect=effect)
    for n in CLUSTERS
    for effect in EFFECTS
}
DRAWN = {
    f"{f'{n} clusters' if n else f'{ITEMS} items'}, effects from the prior": partial(drawn, n_clusters=n)
    for n in (0, *CLUSTERS)
}
RANKED = {
    f"{MODELS} models, errors of {100 * error:g} points": partial(ranked, error=error, df=60) for error in (0.02, 0.06)
}


def notes(tallies: Tallies) -> list[str]:
    """Say by bands of P how often the likelier side is right."""
    made = [tally for (_, method), tally in tallies.items() if method == ALIKE]
    total, alike = sum(tally.total for tally in made), sum(tally.errors for tally in made)
    rule = (
        f"Of clusters the posterior is summed over fewer nodes here; on {total:,.0f} of the tables it was made as users get it, "
        f"with the same coverage and P(better) to .001 on {alike:,.0f}."
    )
    out = [rule] if made else []
    for case in (*DRAWN, *RANKED):
        bands = [(k, tallies[case, f"band {k}"]) for k in range(len(BANDS)) if (case, f"band {k}") in tallies]
        said = "; ".join(
            f"P of {100 * (BANDS[k - 1] if k else 0):g} to {100 * BANDS[k]:g}%: {100 * (t.width or 0) / t.total:.0f} said, "
            f"{100 * t.errors / t.total:.0f} right (n = {t.total:,.0f})"
            for k, t in bands
        )
        if said:
            out.append(f"{case}, {'P(first) of the leader' if case in RANKED else 'P of the likelier side'}: {said}.")
    return out


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every simulated case into parts; a listed one is one part."""
    simulations: Mapping[str, partial[dict[str, Tally]]] = {**FIXED, **DRAWN, **RANKED}
    return [
        *(Task(study=NAME, cell=each.name, part=0, work=each.tallies) for each in LISTED),
        *(
            task
            for name, work in simulations.items()
            for task in simulated(NAME, name, work, replicates=REPLICATES, part=PART, share=share)
        ),
    ]


QUESTION = Question(
    name=NAME,
    question="How often do posteriors mislead?",
    design=(
        "The usual prior (t with 3 degrees of freedom, scale 10 points). 60 right-or-wrong items, every table listed, or "
        "clusters of 1 to some 40 items with an intraclass correlation of .3; effects of 0, .3 and 2 standard errors, or from "
        "the prior. Ranks of 8 models whose standard deviation is from its prior, with errors of pairs on 60 degrees of "
        "freedom; a rate is the mean over models."
    ),
    measure="misses",
    nominal=0.05,
    methods={OURS: "ours", SURE: "beside", RANKS: "ours"},
    cases=[
        *(
            Case(
                name=each.name,
                group="right or wrong",
                design={"n_items": ITEMS, "p_right": each.rate, "effect": each.effect},
            )
            for each in LISTED
        ),
        *(
            Case(name=f"{n} clusters, effect {effect:g}", group="clusters", design={"n_clusters": n, "effect": effect})
            for n in CLUSTERS
            for effect in EFFECTS
        ),
        *(Case(name=name, group="effects from the prior", design={}) for name in DRAWN),
        *(Case(name=name, group="ranks", design={"n_models": MODELS}) for name in RANKED),
    ],
    tasks=tasks,
    promises=[
        Promise(
            text="A credible interval, effects from the prior",
            method=OURS,
            cases=tuple(DRAWN),
            high=0.05,
            up_to_chance=True,
        ),
        Promise(
            text="A credible interval, effects of 0 and .3 standard errors",
            method=OURS,
            cases=(
                *(each.name for each in LISTED if each.effect < 1),
                *(name for name in FIXED if not name.endswith("effect 2")),
            ),
            high=0.065,
        ),
        Promise(
            text="A credible interval, effects of 2 standard errors",
            method=OURS,
            cases=(
                *(each.name for each in LISTED if each.effect > 1),
                *(name for name in FIXED if name.endswith("effect 2")),
            ),
            high=0.1,
        ),
        Promise(text="A credible rank interval", method=RANKS, cases=tuple(RANKED), high=0.05, up_to_chance=True),
    ],
    notes=notes,
)
