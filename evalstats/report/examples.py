"""What a page shows when it is rendered as it stands, without a result: an answer on shipped or simulated data."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from evalstats.analysis.result import Result
from evalstats.document.model import Note
from evalstats.errors import InputError
from evalstats.questions import QUESTIONS

if TYPE_CHECKING:
    from evalstats.schema.data import EvalData


_SEED = 0
_MADE_UP = Note(kind="simulated", text=f"These data are simulated by evalstats (seed {_SEED})")


@cache
def example(kind: str) -> Result:
    """Return the example of a page.

    InputError if there is none.
    """
    if kind not in EXAMPLES:
        raise InputError(f"the page {kind!r} needs a saved result: render it with result=FILE.json")
    return EXAMPLES[kind]()


def _simulated(found: Any) -> Result:
    """Return a result that says where its data come from."""
    return replace(found, notes=(_MADE_UP, *found.notes))


def _scores(rows: Sequence[Mapping[str, object]] | pl.DataFrame, benchmark: str, **names: Any) -> "EvalData":
    from evalstats.loaders.frames import from_frame

    return from_frame(pl.DataFrame(rows), item="item", model="model", score="score", benchmark=benchmark, **names)


def _compare() -> Result:
    from evalstats import datasets
    from evalstats.analysis.compare.compare import compare

    return compare(datasets.tenacious_held_out(), "baseline", "trained")


def _score() -> Result:
    from evalstats import datasets
    from evalstats.analysis.score.score import score

    return score(datasets.tenacious_held_out(), "trained")


def _frontier() -> Result:
    from evalstats.analysis.frontier.frontier import frontier

    draw = np.random.default_rng(_SEED)
    ease = draw.normal(size=200)
    made = (("small", 0.2, 0.002), ("medium", 0.9, 0.011), ("large", 1.5, 0.060), ("slow", 0.7, 0.055))
    rows = [
        {
            "item": i,
            "model": name,
            "score": int(of + ease[i] + draw.logistic() > 0),
            "cost_usd": price * draw.lognormal(0, 0.4),
        }
        for name, of, price in made
        for i in range(len(ease))
    ]
    return _simulated(frontier(_scores(rows, "@maths problems")))


def _items() -> Result:
    """Thirty-six models of three makers on 300 items: some have a wrong key, two defeat the strongest, one maker knows twelve."""
    from evalstats.analysis.items.items import items

    draw = np.random.default_rng(_SEED)
    slope, intercept = draw.lognormal(0.0, 0.4, size=300), draw.normal(0.3, 1.5, size=300)
    slope[::50] *= -1.0
    ability, makers = draw.normal(size=36), np.repeat(["Alder", "Birch", "Cedar"], 12)
    logit = np.outer(ability, slope) + intercept
    logit[:, 120:122] = (3.0 - 3.0 * ability**2)[:, np.newaxis]
    logit[:, 200:212] += np.where(makers == "Alder", 5.0, -2.0)[:, np.newaxis]
    right = draw.random(logit.shape) < 1.0 / (1.0 + np.exp(-logit))
    rows = [
        {"item": f"q{i:03d}", "model": f"model-{m:02d}", "maker": str(makers[m]), "score": int(right[m, i])}
        for m in range(36)
        for i in range(300)
    ]
    return _simulated(items(_scores(rows, "@general knowledge"), size=40, family="maker"))


def _reliability() -> Result:
    """Ten models under five scaffolds on 40 tasks: a scaffold suits some models better than others."""
    from evalstats.analysis.reliability.reliability import reliability

    draw = np.random.default_rng(_SEED)
    logit = (
        draw.normal(0.0, 0.7, (10, 1, 1))
        + draw.normal(0.0, 0.4, (1, 5, 1))
        + draw.normal(0.0, 1.2, (1, 1, 40))
        + draw.normal(0.0, 0.45, (10, 5, 1))
        + draw.normal(0.0, 0.6, (10, 1, 40))
    )
    right = draw.random(logit.shape) < 1.0 / (1.0 + np.exp(-logit))
    rows = [
        {"item": f"task-{i:02d}", "model": f"model-{m:02d}", "scaffold": f"scaffold-{s}", "score": int(right[m, s, i])}
        for m in range(10)
        for s in range(5)
        for i in range(40)
    ]
    data = _scores(rows, "@agent tasks", system="scaffold")
    return _simulated(reliability(data, facets=["scaffold", "item"]))


def _contamination() -> Result:
    """Nine models on 400 items, of which half are public; one of them scores 25 points more on these."""
    from evalstats.analysis.contamination.contamination import contamination

    draw = np.random.default_rng(_SEED)
    references = [f"reference-{i}" for i in range(1, 9)]
    rows = [
        {
            "item": i,
            "model": name,
            "source": "public" if i < 200 else "fresh",
            "score": int(draw.random() < 0.5 + (i < 200) * (0.08 + 0.25 * (name == "new-model"))),
        }
        for name in ("new-model", *references)
        for i in range(400)
    ]
    data = _scores(rows, "@maths problems")
    return _simulated(contamination(data, split="source", suspects="new-model", references=references))


def _audit() -> Result:
    """Five models on 400 items: one had timeouts on hard items, one was run on fewer items."""
    from evalstats.analysis.audit.audit import audit

    draw = np.random.default_rng(_SEED)
    ease = draw.normal(size=400)
    made = (("model-a", 0.0), ("model-b", 0.25), ("model-c", 0.45), ("model-d", 0.6), ("model-e", 1.3))
    parts: list[pl.DataFrame] = []
    for name, strength in made:
        right = ease + strength + draw.logistic(size=400) > 0
        timeout = (ease < 0) & (draw.random(400) < 0.35) if name == "model-b" else np.zeros(400, dtype=bool)
        part = pl.DataFrame({"item": range(400), "model": name, "score": right.astype(np.float64)})
        part = part.with_columns(pl.when(~pl.Series(timeout)).then("score"))
        parts.append(part.filter(pl.col("item") % 5 > 0) if name == "model-d" else part)
    return _simulated(audit(_scores(pl.concat(parts), "@maths problems")))


def _judges() -> Result:
    """Two people and two judges on 400 answers of two models; people rated 120 answers of each, one judge favours a model."""
    from evalstats.analysis.judges.judges import judges
    from evalstats.loaders.ratings import from_ratings

    draw = np.random.default_rng(_SEED)
    rows: list[dict[str, int | str]] = []
    for name, share, kind in (("model-a", 0.55, 0.05), ("model-b", 0.60, 0.40)):
        for i in range(400):
            good = draw.random() < share
            said = {"ann": draw.random() < (0.92 if good else 0.08), "ben": draw.random() < (0.92 if good else 0.08)}
            said = {who: yes for who, yes in said.items() if i < 120}
            said["judge-even"] = draw.random() < (0.90 if good else 0.12)
            said["judge-kind"] = draw.random() < (0.93 if good else 0.07 + kind)
            rows += [{"item": i, "model": name, "rater": who, "value": int(yes)} for who, yes in said.items()]
    data = from_ratings(pl.DataFrame(rows), humans=("ann", "ben"), model="model", benchmark="answers to customers")
    return _simulated(judges(data, seed=_SEED))


def _power() -> Result:
    from evalstats.analysis.power.power import power
    from evalstats.simulate.draws import simulate_pairs

    drawn = simulate_pairs(
        120, p_baseline=0.55, p_candidate=0.6, discordance=0.3, n_trials=3, clusters=24, icc=0.1, seed=_SEED
    )
    rows = [
        {"item": i, "model": name, "trial": k, "passage": f"p{drawn.cluster[i]}", "score": int(scores[i, k])}
        for name, scores in (("old", drawn.baseline), ("new", drawn.candidate))
        for i in range(120)
        for k in range(3)
    ]
    pilot = _scores(rows, "@pilot", trial="trial")
    return _simulated(power(pilot=pilot, baseline="old", candidate="new", cluster="passage", delta="5pp", seed=_SEED))


def _gap() -> Result:
    """One planted gap, another mix than the lab's, and a scenario that the lab never covers."""
    from evalstats.analysis.gap.gap import gap
    from evalstats.datasets.tables import rutbench_live_mix
    from evalstats.simulate.lab_live import simulate_lab_live

    mix = rutbench_live_mix().shares
    covered = [level for level in mix if level != "information_overload"]
    both = simulate_lab_live(
        14,
        gaps={"model-05": -0.18},
        live_mix=mix,
        lab_mix=dict.fromkeys(covered, 1 / len(covered)),
        behaviour_shift=-0.04,
        n_lab_only=3,
        n_items=600,
        n_users=700,
        seed=1,
    )
    return gap(both.lab, both.live)


def _scenarios() -> Result:
    """Every sixth published model."""
    from evalstats.analysis.scenarios.scenarios import scenarios

    return scenarios(_rutbench(every=6))


def _leaderboard() -> Result:
    """Every second published model."""
    from evalstats.analysis.leaderboard.leaderboard import leaderboard

    return leaderboard(_rutbench(every=2))


def _rutbench(*, every: int) -> "EvalData":
    """Simulate every so many of the published models on RUT-Bench in its own format, and read them as any files are read."""
    import tempfile
    from pathlib import Path

    from evalstats.loaders.registry import read
    from evalstats.simulate.rutbench import write_rutbench
    from evalstats.simulate.rutbench_world import published_models

    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder, "rutbench-simulated")
        write_rutbench(inside, published_models()[::every])
        return read(inside)


def _arena() -> Result:
    """Ten models in an arena whose votes are simulated, and say so."""
    from evalstats.analysis.arena.arena import arena
    from evalstats.simulate.arena import simulate_arena
    from evalstats.simulate.arena_world import ArenaDesign

    return arena(simulate_arena(6000, seed=1, design=ArenaDesign(models=10)))


_MADE = (
    _arena,
    _audit,
    _compare,
    _contamination,
    _frontier,
    _items,
    _judges,
    _gap,
    _leaderboard,
    _power,
    _reliability,
    _scenarios,
    _score,
)
EXAMPLES: Mapping[str, Callable[[], Result]] = {QUESTIONS[made.__name__.strip("_")].page: made for made in _MADE}
