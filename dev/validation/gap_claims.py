"""Lab and live scores of the same models: how often a gap is claimed that is not there, and an interval misses the truth."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from dev.validation.study import Case, Promise, Question, Tallies, Tally, Task, of_claims, simulated
from evalstats.analysis.gap import calibration as lines
from evalstats.analysis.gap.calibration import BENT, Calibration, calibrated
from evalstats.analysis.gap.gap import gap, overall_verdict
from evalstats.analysis.gap.score_scale import on_scale
from evalstats.analysis.gap.shared_models import SharedModels
from evalstats.analysis.gap.side_scores import SideScores
from evalstats.errors import CannotAnswerError
from evalstats.options import GapScale as Scale
from evalstats.simulate.lab_live import LabLiveDraw, draw_lab_live, simulate_lab_live
from evalstats.simulate.lab_live_world import LabLiveDesign, LabLiveTruth, lab_live_truth, make_lab_live_world
from evalstats.stats.agreement.attenuation import true_agreement
from evalstats.stats.agreement.intervals import canonical_order
from evalstats.stats.arena.bradley_terry import fit_strengths
from evalstats.stats.arena.covariance import covariance_of
from evalstats.stats.arena.votes import vote_rows
from evalstats.stats.checks import BoolArray, FloatArray
from evalstats.stats.errors_in_variables.scores import ClusterMeans, LabLiveScores, cluster_means
from evalstats.table.metric import MetricFacts

NAME = "gap-claims"
REPLICATES, FEW_REPLICATES, PART = 2_000, 400, 100
COMPARED = 1  # of every part, so many data sets go through `gap` itself
RESAMPLES = 200
TRUE = 1e-9  # nearer to 0 there is no gap

MODEL, VERDICT = "evalstats: any model called a gap that is none", "evalstats: verdict gap over all"
INTERVAL = "evalstats: interval of a model's gap"
SHARE, LEVEL, NOISE = "share of models called gaps that are none", "the level differs", "more than noise"
ANY_DIFFERENCE = "any model differs that does not"
SHRUNKEN, MEAN, SLOPE, TAU = "gap, shrunken", "interval of the level", "interval of the slope", "interval of the spread"
AGREEMENT = "interval of the correlation of true scores"
REGRESSION = "least squares: any residual beyond its live error"
AS_THEY_ARE = "shares as they are, a bend left alone: any model called a gap"
MISSED, MISSED_AS_THEY_ARE = "one model with a gap not found", "shares as they are: one model with a gap not found"
AGREED = "gap agrees"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Options of a simulated design; every data set has a truth of its own."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    models: int = 15
    n_items: int = 280
    n_users: int = 200

    @property
    def design(self) -> LabLiveDesign:
        """What is simulated."""
        return LabLiveDesign(n_models=self.models, n_items=self.n_items, n_users=self.n_users, **self.options)

    @property
    def numbers(self) -> dict[str, float]:
        """Numbers that describe it."""
        return {"n_models": self.models, "n_items": self.n_items, "n_users": self.n_users}


WORLDS = (
    World(name="no gap, 15 models"),
    World(name="no gap, 8 models", models=8),
    World(name="no gap, all live scores lower by 5 points", options={"behaviour_shift": -0.05}),
    World(name="no gap, votes", options={"live": "comparisons"}),
    World(name="one model 20 points lower live", options={"gaps": {"model-03": -0.2}}),
)


def _votes(words: str, models: int, **options: Any) -> World:
    return World(name=f"{words}, {models} models", options={"live": "comparisons", **options}, models=models)


# Votes whose ratings lie on a line with the logits of the lab's shares, as far as the ceiling and in the middle.
CURVED = (
    *(
        _votes(f"no gap, votes, lab mean {words}", models, mean=mean, spread=0.8)
        for words, mean, models in ((".84", 2.6, 20), (".90", 3.2, 12))
    ),
    _votes("one model apart in votes, lab mean .57", 15, gaps={"model-08": -0.6}),
    _votes("one model apart in votes, lab mean .90", 15, gaps={"model-08": -0.6}, mean=3.2, spread=0.8),
)


class Sides(NamedTuple):
    """Lab and live scores with their errors, and the clusters that these rest on."""

    scores: LabLiveScores
    lab: ClusterMeans
    live: ClusterMeans


def sides_of(draw: LabLiveDraw) -> Sides:
    """Score every model on both sides as `gap` does: errors clustered by item in the lab, and live by user."""
    n = draw.world.n_models
    rows, model = np.indices((draw.lab_item.size, n)).reshape(2, -1)
    right = draw.lab_success[:, :n].astype(np.float64).ravel()
    n_items = draw.world.design.n_items
    lab = cluster_means(draw.lab_item[rows], model, np.ones(rows.size), right, n_clusters=n_items, n_models=n)
    live = _voted(draw) if draw.world.strengths is not None else _tried(draw)
    scores = LabLiveScores(
        lab=lab.estimate, live=live.estimate, lab_covariance=lab.covariance, live_covariance=live.covariance
    )
    return Sides(scores, lab, live)


def _tried(draw: LabLiveDraw) -> ClusterMeans:
    users, cluster = np.unique(draw.user, return_inverse=True)
    ones, success = np.ones(cluster.size), draw.success.astype(np.float64)
    return cluster_means(cluster, draw.model, ones, success, n_clusters=users.size, n_models=draw.world.n_models)


def _voted(draw: LabLiveDraw) -> ClusterMeans:
    n = draw.world.n_models
    votes = vote_rows(draw.first, draw.second, draw.outcome, n_models=n, clusters=(draw.user,))
    fit = fit_strengths(votes)
    users = [np.unique(draw.user[(draw.first == m) | (draw.second == m)]).size for m in range(n)]
    found = covariance_of(fit, votes, names=("user",))
    return ClusterMeans(estimate=fit.strengths, covariance=found.joint, n_clusters=np.array(users), df=None)


def shared_of(sides: Sides, *, votes: bool, scale: Scale = "auto", seed: int = 0) -> SharedModels:
    """Return what `gap` works on, its scores on their scale."""
    names = tuple(f"m{m}" for m in range(sides.scores.n_models))

    def side(found: ClusterMeans, *, votes: bool = False) -> SideScores:
        return SideScores(
            kind="comparisons" if votes else "outcomes",
            about=MetricFacts(
                benchmark="", name="success", kind="rating" if votes else "binary", low=None if votes else 0.0,
                high=None if votes else 1.0, higher_is_better=True, unit="",
            ),
            models=names, estimate=found.estimate, covariance=found.covariance, df=found.df,
            n=found.n_clusters, n_clusters=found.n_clusters,
        )  # fmt: skip

    lab, live, scores, reason = on_scale(
        side(sides.lab), side(sides.live, votes=votes), sides.scores, scale, conf_level=0.95
    )
    return SharedModels(
        models=names,
        lab=lab,
        live=live,
        same_scale=not votes,
        scores=scores,
        plain=None if scores is sides.scores else sides.scores,
        scale_reason=reason,
        n_resamples=RESAMPLES,
        seed=seed,
    )


class Found(NamedTuple):
    """What is said of one data set."""

    calibration: Calibration
    verdict: str
    scores: LabLiveScores
    link: str = "identity"


def decided(draw: LabLiveDraw, scale: Scale = "auto") -> Found:
    """Decide as `gap` does, without its tables."""
    sides = sides_of(draw)
    made = shared_of(sides, votes=draw.world.strengths is not None, scale=scale)
    # Lines by other methods are shown beside and decide nothing.
    with patch.object(lines, "other_lines", return_value=()):
        found = calibrated(made)
    return Found(found, overall_verdict(found.rows, found, made)[0], made.scores, made.live.link)


def errors(found: Found, truth: LabLiveTruth) -> Iterator[tuple[str, float]]:
    """Yield every measure with the share of its claims or intervals that are wrong."""
    rows, line = found.calibration.rows, found.calibration.line
    n = len(rows)
    right = np.abs(truth.calibrated[:n]) < TRUE
    flagged = np.array([row.verdict == "gap" for row in rows])
    if right.any():
        yield MODEL, float((flagged & right).any())
        yield SHARE, float((flagged & right).sum() / max(flagged.sum(), 1))
        yield REGRESSION, float((_beyond(found.scores) & right).any())
    yield from _missed(INTERVAL, [(row.conf_low, row.conf_high) for row in rows], truth.deleted[:n])
    yield from _missed(SHRUNKEN, [(row.shrunken_low, row.shrunken_high) for row in rows], truth.calibrated[:n])
    level = found.calibration.level
    if level is not None and truth.total is not None:
        mean = float(truth.total[:n].mean())
        yield from _missed(MEAN, [(level.conf_low, level.conf_high)], [mean])
        if abs(mean) < TRUE:
            yield LEVEL, float(level.verdict == "gap")
            if right.all():
                yield VERDICT, float(found.verdict == "gap")
        same = np.abs(truth.total[:n]) < TRUE
        if same.any():
            yield (
                ANY_DIFFERENCE,
                float(any(row.difference_verdict == "gap" for row, is_0 in zip(rows, same, strict=True) if is_0)),
            )
    elif right.all():
        yield VERDICT, float(found.verdict == "gap")
    if line is not None:
        if right.all():
            yield NOISE, float(line.p_value < 0.05)
        yield from _missed(SLOPE, [(line.slope_low, line.slope_high)], [truth.slope])
        # With a gap of one model alone there is no one spread of gaps.
        if truth.tau is not None and (right.all() or not right.any()):
            yield from _missed(TAU, [(line.tau_low, np.inf if line.tau_high is None else line.tau_high)], [truth.tau])
    yield from _agreement(found.scores, truth)


def _missed(name: str, ends: list[tuple[float | None, float | None]], truth: Any) -> Iterator[tuple[str, float]]:
    """Yield the share of the intervals given that miss; nothing where none is."""
    given = [
        not low - TRUE <= float(value) <= high + TRUE
        for (low, high), value in zip(ends, truth, strict=True)
        if low is not None and high is not None
    ]
    if given:
        yield name, float(np.mean(given))


def _agreement(scores: LabLiveScores, truth: LabLiveTruth) -> Iterator[tuple[str, float]]:
    n = scores.n_models
    true = float(np.corrcoef(truth.across[:n], truth.live[:n])[0, 1])
    try:
        found = true_agreement(scores.subset(canonical_order(scores)), n_resamples=RESAMPLES)
    except CannotAnswerError:
        return
    # "These models" are what is asked here: another data set has the same models and other items and users.
    yield from _missed(AGREEMENT, [(found.these_low, found.these_high)], [true])


def _beyond(scores: LabLiveScores) -> BoolArray:
    """Tell which models lie off the least-squares line of live on lab by more than 1.96 of their live standard errors."""
    slope, intercept = np.polyfit(scores.lab, scores.live, 1)
    residual: FloatArray = scores.live - intercept - slope * scores.lab
    if scores.live_covariance is None:
        return np.zeros(residual.size, dtype=np.bool_)
    return np.abs(residual) > 1.96 * np.sqrt(np.diag(scores.live_covariance))


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the errors on `count` data sets, each of a truth of its own."""
    shares: dict[str, list[float]] = defaultdict(list)
    same: list[bool] = []
    for number in range(count):
        seed = int(rng.integers(2**31))
        made = make_lab_live_world(world.design, seed=seed)
        found = decided(draw_lab_live(made))
        for name, share in errors(found, lab_live_truth(made)):
            shares[name].append(share)
        if number < COMPARED:
            same.append(_same(found, world, seed))
    tallies = {name: Tally(float(np.sum(each)), float(len(each))) for name, each in shares.items()}
    return tallies | {AGREED: Tally(float(sum(same)), float(len(same)))}


def _same(found: Found, world: World, seed: int) -> bool:
    """Whether `gap` on the tables of the same data set says the same of every model and over all."""
    both = simulate_lab_live(world.models, seed=seed, n_items=world.n_items, n_users=world.n_users, **world.options)
    whole = gap(both.lab, both.live, n_resamples=100, min_cell=1)
    place = {name: m for m, name in enumerate(both.truth.live_names)}
    unit = 400.0 / np.log(10.0) if whole.live.about.unit == "points" else 1.0
    own = [found.calibration.rows[place[row.name]] for row in whole.rows]

    def near(a: float | None, b: float | None) -> bool:
        return a is b or (a is not None and b is not None and abs(a * unit - b) < 1e-6 * unit)

    alike = all(
        mine.verdict == row.verdict and near(mine.conf_low, row.conf_low) and near(mine.conf_high, row.conf_high)
        for mine, row in zip(own, whole.rows, strict=True)
    )
    return alike and found.verdict == whole.verdict


_EACH = 5  # of the tables without a gap every fifth is also decided with shares as they are
_BY_SCALE: tuple[tuple[Scale, str, str], ...] = (
    ("auto", MODEL, MISSED),
    ("identity", AS_THEY_ARE, MISSED_AS_THEY_ARE),
)


def on_both_scales(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally who is called a gap, with shares as `gap` takes them and as they are."""
    claims: dict[str, list[bool]] = defaultdict(list)
    planted = set(world.options.get("gaps", ()))
    for number in range(count):
        made = make_lab_live_world(world.design, seed=int(rng.integers(2**31)))
        draw = draw_lab_live(made)
        own = made.names.index(next(iter(planted))) if planted else None
        for scale, false, missed in _BY_SCALE[: 1 if own is None and number % _EACH else 2]:
            rows = decided(draw, scale).calibration.rows
            # As they are: what is called where no bend is heeded.
            called = [row.verdict == "gap" or (scale == "identity" and row.reason.startswith(BENT)) for row in rows]
            if own is None:
                claims[false].append(any(called))
            else:
                claims[missed].append(not called[own])
    return {method: of_claims(each) for method, each in claims.items()}


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    work = [(world, replicate, REPLICATES) for world in WORLDS]
    # A power is promised of none.
    work += [(each, on_both_scales, FEW_REPLICATES if each.options.get("gaps") else REPLICATES) for each in CURVED]
    return [
        task
        for world, of, count in work
        for task in simulated(NAME, world.name, partial(of, world=world), replicates=count, part=PART, share=share)
    ]


def notes(tallies: Tallies) -> list[str]:
    """Say on how many data sets `gap` itself was run, and whether it said the same."""
    agreed = [tally for (_, method), tally in tallies.items() if method == AGREED]
    same, total = round(sum(t.errors for t in agreed)), round(sum(t.total for t in agreed))
    words = "On {:,} of the data sets gap() itself was run on tables of the same scores; every verdict and interval was the same"
    return [f"{words.format(total)} on {same:,}."]


QUESTION = Question(
    name=NAME,
    question="How often is a gap between lab and live claimed that is not there, or its interval wrong?",
    design=(
        "15 models (once 8) of different skill in six scenarios, 280 lab items, and 200 live users who differ in ease, in what "
        "they like and in how much they do. No model has a gap, but for one in the last case: the true live scores lie on a "
        "straight line over the true lab scores. A claim counts where any model without a gap is called one, or the verdict "
        "over all is gap where the mean does not change either; of intervals the share of models is counted whose true gap is "
        "missed. In further cases votes follow the logits of the lab's shares, in the middle and near the ceiling, without a gap "
        "or with one model 0.6 log-odds lower; counted is whether any model without a gap, or the one with it, is called."
    ),
    measure="errors",
    nominal=0.05,
    methods={
        MODEL: "ours",
        VERDICT: "ours",
        INTERVAL: "ours",
        SHARE: "beside",
        SHRUNKEN: "beside",
        LEVEL: "beside",
        ANY_DIFFERENCE: "beside",
        NOISE: "beside",
        MEAN: "beside",
        SLOPE: "beside",
        TAU: "beside",
        AGREEMENT: "beside",
        MISSED: "beside",
        AS_THEY_ARE: "elsewhere",
        MISSED_AS_THEY_ARE: "elsewhere",
        REGRESSION: "elsewhere",
    },
    cases=[
        Case(name=world.name, group="a gap" if world.options.get("gaps") else "no gap", design=world.numbers)
        for world in (*WORLDS, *CURVED)
    ],
    tasks=tasks,
    promises=[
        Promise(text="gap, any model called a gap where none is", method=MODEL, high=0.06),
        Promise(text="gap, verdict over all where nothing differs", method=VERDICT, high=0.06),
        Promise(text="gap, interval of a model's gap", method=INTERVAL, high=0.065),
        Promise(text="gap, interval of the mean difference", method=MEAN, high=0.065),
        Promise(text="gap, interval of the correlation of true scores", method=AGREEMENT, high=0.08),
    ],
    notes=notes,
)
