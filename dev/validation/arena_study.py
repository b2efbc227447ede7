"""Does it matter which models an arena lets meet? Ways of sampling against random pairs, in arenas whose truth is known.

The claims of the paper on Inclusion Arena (proximity sampling gives more accurate and steadier rankings, more transitive
votes, and is harder to manipulate) are taken as questions. Its threshold and its simulation could not be read.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version

import numpy as np

from dev.validation.arena_rules import SamplingRule
from dev.validation.arena_trials import (
    POINTS,
    Arenas,
    Ring,
    Trial,
    TrialWorld,
    covered,
    error_points,
    make_arenas,
    newcomer_errors,
    pairs_in_order,
    places_moved,
    places_moved_by_other_raters,
    ranks,
    run_arenas,
    table,
    violations,
)
from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow, SamplingStudy
from evalstats.errors import InputError
from evalstats.simulate.draws import generator
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import t_quantile

BASELINE = "random"
LEVEL = 0.95
NOMINAL = 0.95
_DIGITS = 6

Key = tuple[str, str, str, str]  # world, measure, condition, sampling


@dataclass(slots=True)
class Found:
    """One number for every arena, part after part, by world, measure, condition and way of sampling."""

    parts: dict[Key, list[FloatArray]] = field(default_factory=dict[Key, list[FloatArray]])

    def add(self, world: str, sampling: str, measured: Mapping[tuple[str, str], FloatArray]) -> None:
        """Keep what was measured in further arenas of a world."""
        for (measure, condition), values in measured.items():
            self.parts.setdefault((world, measure, condition, sampling), []).append(values)

    def add_new(self, world: str, by_way: Mapping[str, Mapping[tuple[str, str], FloatArray]]) -> None:
        """Keep what was measured under several ways."""
        for sampling, measured in by_way.items():
            self.add(world, sampling, measured)

    def values(self) -> dict[Key, FloatArray]:
        """Return the numbers of all arenas."""
        return {key: np.concatenate(parts) for key, parts in self.parts.items()}


def rows_of(found: Found, measures: Sequence[SamplingMeasure], targets: Mapping[str, float]) -> list[SamplingRow]:
    """Return all rows, measure by measure; differences have intervals that hold at once (Bonferroni, t law)."""
    values = found.values()
    known = {measure.key: measure for measure in measures}
    rows: list[tuple[SamplingRow, float | None]] = []
    for measure in measures:
        if measure.key == "needed":
            rows += _needed(values, targets)
        rows += [_row(key, each, values, measure) for key, each in values.items() if key[1] == measure.key]
    compared = sum(spread is not None for _, spread in rows)
    level = 1.0 - (1.0 - LEVEL) / max(compared, 1)
    reach = {world: t_quantile(level, n - 1) for world, n in _arenas(values).items()}
    return [_judged(row, spread, reach[row.world], known[row.measure]) for row, spread in rows]


def _row(
    key: Key, values: FloatArray, every: Mapping[Key, FloatArray], measure: SamplingMeasure
) -> tuple[SamplingRow, float | None]:
    """Return a row without its interval, and the standard error of its difference."""
    world, name, condition, sampling = key
    fixed = {"95%": NOMINAL, "0": 0.0}.get(measure.against)
    if fixed is not None:
        apart = values - fixed
    elif sampling == BASELINE:
        apart = None
    else:
        apart = values - every[world, name, condition, BASELINE]
    mean, error = _mean(values)
    row = SamplingRow(world=world, measure=name, condition=condition, sampling=sampling, estimate=mean, std_error=error)
    if mean is None:
        return replace(row, reason="no arena has such a number"), None
    if apart is None:
        return row, None
    difference, spread = _mean(apart)
    return replace(row, difference=difference), spread


def _judged(row: SamplingRow, spread: float | None, reach: float, measure: SamplingMeasure) -> SamplingRow:
    if spread is None or row.difference is None:
        return row
    if spread == 0.0:
        # All arenas agree, so their number says nothing of chance: no interval, rather than one without width.
        return replace(row, verdict="not separated", reason="every arena has the same number")
    low, high = row.difference - reach * spread, row.difference + reach * spread
    verdict = "not separated"
    if measure.higher_is_better is None:
        verdict = "worse" if low > 0 or high < 0 else verdict
    elif low > 0 or high < 0:
        verdict = "better" if (low > 0) == measure.higher_is_better else "worse"
    return replace(row, conf_low=round(low, _DIGITS), conf_high=round(high, _DIGITS), verdict=verdict)


def _arenas(values: Mapping[Key, FloatArray]) -> dict[str, int]:
    """Return the number of arenas of each world."""
    return {world: each.size for (world, *_), each in values.items()}


def _mean(values: FloatArray) -> tuple[float | None, float | None]:
    """Return the mean over arenas that have a number, and its standard error."""
    known = values[np.isfinite(values)]
    if known.size < 2:
        return None, None
    return round(float(known.mean()), _DIGITS), round(float(known.std(ddof=1) / np.sqrt(known.size)), _DIGITS)


def _needed(
    values: Mapping[Key, FloatArray], targets: Mapping[str, float]
) -> Iterator[tuple[SamplingRow, float | None]]:
    """Yield how many votes the mean share of pairs in order takes to reach a world's target.

    The mean is interpolated on the logarithm of the votes; its standard error, and that of the difference, come from leaving
    out one arena after another (jackknife).
    """
    for world, target in targets.items():
        curves = _curves(values, world)
        base = None
        for sampling, (votes, shares) in curves.items():
            kept = (shares.sum(axis=0) - shares) / (len(shares) - 1)
            each = np.array([_crossing(votes, mean, target) for mean in (shares.mean(axis=0), *kept)])
            base = each if sampling == BASELINE else base
            yield _needed_row(world, sampling, target, each, None if sampling == BASELINE else base)


def _needed_row(
    world: str, sampling: str, target: float, each: FloatArray, base: FloatArray | None
) -> tuple[SamplingRow, float | None]:
    """Return a row from the votes needed by all arenas (first) and without each of them."""
    row = SamplingRow(
        world=world, measure="needed", condition=f"{100 * target:g}% of pairs in order", sampling=sampling,
        estimate=None, std_error=None,
    )  # fmt: skip
    if not np.isfinite(each).all():
        return replace(row, reason="the target is not reached within the votes of the study"), None
    row = replace(row, estimate=round(float(each[0]), 1), std_error=round(_jackknife(each[1:]), 2))
    if base is None or not np.isfinite(base).all():
        return row, None
    return replace(row, difference=round(float(each[0] - base[0]), 1)), _jackknife(each[1:] - base[1:])


def _jackknife(without: FloatArray) -> float:
    n = without.size
    return float(np.sqrt((n - 1) / n * np.square(without - without.mean()).sum()))


def _curves(values: Mapping[Key, FloatArray], world: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return, by way of sampling, the numbers of votes and the shares in order, shape (n_arenas, n_checkpoints)."""
    by_sampling: dict[str, list[tuple[float, FloatArray]]] = {}
    for (of, measure, condition, sampling), shares in values.items():
        if of == world and measure == "order":
            votes = float(condition.removesuffix(" votes").replace(",", ""))
            by_sampling.setdefault(sampling, []).append((votes, shares))
    return {
        sampling: (np.array([votes for votes, _ in each]), np.column_stack([shares for _, shares in each]))
        for sampling, each in by_sampling.items()
    }


def _crossing(votes: FloatArray, means: FloatArray, target: float) -> float:
    """Return at how many votes a rising curve reaches the target, NaN where it does not."""
    above = np.flatnonzero(means >= target)
    if not above.size or above[0] == 0:
        return float("nan")
    at = int(above[0])
    part = (target - means[at - 1]) / (means[at] - means[at - 1])
    return float(np.exp(np.log(votes[at - 1]) + part * np.log(votes[at] / votes[at - 1])))


SEED = 1_618_033_988
PART = 100
CHECKPOINTS = (0.1, 0.2, 0.4, 0.8, 1.0)  # shares of all votes
BUDGETS = (50, 100, 200)
WARM_UP = 25  # votes per model at random before any rule begins: 300 of all

WORLDS = (
    TrialWorld(name="spread out", spread=0.6),
    TrialWorld(name="crowded", spread=0.2),
    TrialWorld(name="many votes", spread=0.6, n_votes=60_000, batch=1_000, n_raters=3_000),
)
WORLD_WORDS = {
    "spread out": "6,000 votes of 300 raters; strengths with a standard deviation of 0.6 log-odds (104 rating points)",
    "crowded": "6,000 votes of 300 raters; strengths with a standard deviation of 0.2 log-odds (35 rating points)",
    "many votes": "60,000 votes of 3,000 raters; strengths as in the spread out arenas",
}
# Arenas in each world: one of many votes costs ten times as much.
N_ARENAS = {"spread out": 400, "crowded": 400, "many votes": 100}
RULES: Mapping[str, SamplingRule] = {
    "random": SamplingRule(),
    "proximity, wide": SamplingRule(sampling="proximity", threshold=0.5, warm_up=WARM_UP),
    "proximity, narrow": SamplingRule(sampling="proximity", threshold=0.2, warm_up=WARM_UP),
    "narrow + random": SamplingRule(sampling="proximity", threshold=0.2, warm_up=WARM_UP, explore=0.2),
    "active": SamplingRule(sampling="active", warm_up=WARM_UP),
    "largest variance": SamplingRule(sampling="variance", warm_up=WARM_UP),
}
RULE_WORDS = {
    "random": "every pair alike",
    "proximity, wide": "only pairs whose ratings differ by at most 0.5 log-odds (87 points), seldom-met pairs first",
    "proximity, narrow": "the same with 0.2 log-odds (35 points)",
    "narrow + random": "narrow proximity, but a fifth of the votes between random pairs",
    "active": "the tenth of all pairs whose next vote tells most about all ratings together",
    "largest variance": "the tenth of all pairs whose difference is known worst",
    "placement": "a new model: binary search by series of 10 votes, then proximity (wide)",
}
RINGS = {
    "2% of votes, ring waits for its model": (0.02, True),
    "5% of votes, ring waits for its model": (0.05, True),
    "5% of votes, ring takes what it is shown": (0.05, False),
}
MEASURES = (
    SamplingMeasure(key="order", title="Pairs in the right order", unit="share", higher_is_better=True),
    SamplingMeasure(key="needed", title="Votes needed for the target", unit="votes", higher_is_better=False),
    SamplingMeasure(key="near", title="Error between neighbours", unit="points", higher_is_better=False),
    SamplingMeasure(key="far", title="Error between first and last", unit="points", higher_is_better=False),
    SamplingMeasure(
        key="far_bias", title="Bias between first and last", unit="points", higher_is_better=None, against="0"
    ),
    SamplingMeasure(key="growth", title="Places moved by a quarter more votes", unit="places", higher_is_better=False),
    SamplingMeasure(key="resample", title="Places moved by other raters", unit="places", higher_is_better=False),
    SamplingMeasure(
        key="covered_near", title="Coverage, neighbours", unit="share", higher_is_better=True, against="95%"
    ),
    SamplingMeasure(
        key="covered_far", title="Coverage, first and last", unit="share", higher_is_better=True, against="95%"
    ),
    SamplingMeasure(key="violations", title="Majorities that contradict transitivity", unit="share", higher_is_better=False),
    SamplingMeasure(key="ring", title="Places won by a ring", unit="places", higher_is_better=False),
    SamplingMeasure(key="new_rank", title="Rank of a new model is off by", unit="places", higher_is_better=False),
    SamplingMeasure(key="new_rating", title="Rating of a new model is off by", unit="points", higher_is_better=False),
)  # fmt: skip
# Share of pairs in order that "votes needed" asks for: what random pairs reach with a third of the votes or so.
TARGETS = {"spread out": 0.90, "crowded": 0.75, "many votes": 0.965}


def arena_study(
    *,
    share: float = 1.0,
    seed: int = SEED,
    on_step: Callable[[str], None] | None = None,
) -> SamplingStudy:
    """Run the study.

    Parameters
    ----------
    share
        Of the arenas: 1 is the stored study. The truths, raters and tastes are the same for every way of sampling.
    on_step
        Called with what is being done.

    Returns
    -------
    SamplingStudy
        Every measure with its Monte Carlo standard error, and its paired difference from random pairs.

    Notes
    -----
    Arenas are run in parts of 100; a part's numbers depend on the seed and its place alone, so a smaller study is the
    beginning of a larger one.

    Examples
    --------
    >>> study = arena_study(share=0.05)  # doctest: +SKIP
    >>> study.to_frame()  # doctest: +SKIP
    """
    if not 0 < share <= 1:
        raise InputError(f"share is {share:g}; give a part of the study, up to 1")
    found = Found()
    n_arenas = {name: max(4, round(share * n)) for name, n in N_ARENAS.items()}
    for world in WORLDS:
        for part, begin in enumerate(range(0, n_arenas[world.name], PART)):
            arenas = make_arenas(world, min(PART, n_arenas[world.name] - begin), seed=seed, part=part)
            for name, rule in RULES.items():
                if on_step:
                    on_step(f"{world.name}, part {part + 1}: {name}")
                stream = partial(_stream, seed, world.name, name, part)
                found.add(world.name, name, _measured(arenas, replace(rule, batch=world.batch), stream))
            found.add_new(world.name, _newcomers(arenas, partial(_stream, seed, world.name, "newcomers", part)))
    return SamplingStudy(
        seed=seed,
        version=version("evalstats-toolkit"),
        n_arenas=n_arenas,
        settings=_settings(),
        worlds=WORLD_WORDS,
        samplings=RULE_WORDS,
        measures=MEASURES,
        rows=tuple(rows_of(found, MEASURES, TARGETS)),
    )


def _measured(
    arenas: Arenas, rule: SamplingRule, stream: Callable[[str], np.random.Generator]
) -> dict[tuple[str, str], FloatArray]:
    """Return a number for every arena, by measure and condition."""
    trial = run_arenas(arenas, rule, _checkpoints(arenas.world), stream("votes"))
    last = trial.ratings[-1]
    measured = {
        ("order", f"{votes:,} votes"): pairs_in_order(ratings, arenas.truth)
        for votes, ratings in zip(trial.checkpoints, trial.ratings, strict=True)
    }
    n = arenas.world.n_models
    best, worst = np.array([0]), np.array([n - 1])
    far = error_points(last, arenas.truth, best, worst)[:, 0]
    measured |= {
        ("near", ""): np.abs(error_points(last, arenas.truth, np.arange(n - 1), np.arange(1, n))).mean(axis=1),
        ("far", ""): np.abs(far),
        ("far_bias", ""): far,
        ("growth", ""): places_moved(trial.ratings[-2], last),
        ("resample", ""): places_moved_by_other_raters(arenas, trial, stream("raters")),
        ("violations", ""): violations(table(trial.first, trial.second, trial.share, n)),
    }
    return measured | _coverage(arenas, trial) | _pushed(arenas, rule, last, stream)


def _coverage(arenas: Arenas, trial: Trial) -> dict[tuple[str, str], FloatArray]:
    n = arenas.world.n_models
    first, second = np.append(np.arange(n - 1), 0), np.append(np.arange(1, n), n - 1)
    held = covered(arenas, trial, first, second)
    return {("covered_near", ""): held[:, :-1].mean(axis=1), ("covered_far", ""): held[:, -1]}


def _pushed(
    arenas: Arenas, rule: SamplingRule, honest: FloatArray, stream: Callable[[str], np.random.Generator]
) -> dict[tuple[str, str], FloatArray]:
    """Return the places that a ring wins for the model in the middle, against the arena without a ring."""
    target = arenas.world.n_models // 2
    won: dict[tuple[str, str], FloatArray] = {}
    for words, (share, waits) in RINGS.items():
        ring = Ring(share=share, target=target, waits=waits)
        pushed = run_arenas(arenas, rule, [arenas.world.n_votes], stream("votes"), ring=ring).ratings[-1]
        won["ring", words] = (ranks(honest)[:, target] - ranks(pushed)[:, target]).astype(np.float64)
    return won


def _newcomers(
    arenas: Arenas, stream: Callable[[str], np.random.Generator]
) -> dict[str, dict[tuple[str, str], FloatArray]]:
    """Return the errors of a new model's rank and rating by way."""
    trial = run_arenas(arenas, RULES["random"], [arenas.world.n_votes], stream("established"))
    rule = SamplingRule(sampling="proximity", threshold=RULES["proximity, wide"].threshold, series=10)
    found: dict[str, dict[tuple[str, str], FloatArray]] = {}
    for way in ("random", "placement"):
        errors = newcomer_errors(arenas, trial, way, BUDGETS, stream("new"), rule=rule)
        found[way] = {("new_rank", f"{budget} votes"): rank for budget, (rank, _) in errors.items()}
        found[way] |= {("new_rating", f"{budget} votes"): points for budget, (_, points) in errors.items()}
    return found


def _checkpoints(world: TrialWorld) -> list[int]:
    return [round(share * world.n_votes) for share in CHECKPOINTS]


def _stream(seed: int, world: str, rule: str, part: int, purpose: str) -> np.random.Generator:
    return generator(seed, "arena study", world, rule, str(part), purpose)


def _settings() -> dict[str, float]:
    world = WORLDS[0]
    return {
        "models": world.n_models,
        "random votes before a rule begins": WARM_UP * world.n_models // 2,
        "refits while votes come in": world.n_votes // world.batch,
        "spread of a rater's own taste, points": round(POINTS * world.sd_rater),
        "spread of a prompt's own taste, points": round(POINTS * world.sd_prompt),
        "Davidson's tie parameter": world.tie,
        "exponent of Zipf's law of activity": world.activity,
    }
