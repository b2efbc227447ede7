"""The score of a new model on all items, from a short form or from a random part of them and an archive of earlier models."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from dev.validation.study import Case, Promise, Question, Tally, Task, of_intervals, of_worlds
from evalstats.analysis.items.new_scores import Archive, NewScore, by_form, by_sample
from evalstats.stats.item_response import two_parameter
from evalstats.stats.one_sample import wilson
from evalstats.stats.short_form import chosen_items, form_errors

NAME = "short-forms"
REPLICATES, PART = 2_000, 125
SMALL = 100
FORM, ITEMS, DOMAIN = "short form", "archive-assisted mean of these items", "archive-assisted mean of a domain"
ALONE = "Wilson on the items answered"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """An archive of models, items, how many of them the new model answers, and how far it is ahead of the archive."""

    n_models: int
    n_items: int
    size: int
    ahead: float

    @property
    def name(self) -> str:
        """How the case is called."""
        return f"{self.size} of {self.n_items} items, {self.n_models} models{', the new one far ahead' if self.ahead else ''}"


WORLDS = tuple(
    World(n_models=20, n_items=items, size=size, ahead=ahead)
    for items, size in ((60, 20), (200, 50))
    for ahead in (0.0, 2.0)
)


def replicate(rng: np.random.Generator, count: int, *, world: World) -> dict[str, Tally]:
    """Tally the intervals of one new model on each of `count` archives."""
    n = world.n_items
    missed: dict[str, list[Tally]] = {FORM: [], ITEMS: [], DOMAIN: [], ALONE: []}
    for _ in range(count):
        slope, easy = rng.lognormal(0.0, 0.4, n), rng.normal(0.0, 1.5, n)
        ability = np.append(rng.normal(size=world.n_models), rng.normal() if not world.ahead else world.ahead)
        chance = special.expit(np.outer(slope, ability) + easy[:, None])
        right = (rng.random(chance.shape) < chance) * 1.0
        old, new = right[:, :-1], right[:, -1]
        curves = two_parameter(old)
        form = chosen_items(curves, world.size)
        # The error of a form takes five fits: only of the smaller archives.
        error = form_errors(old, [world.size], curves=curves)[0].score_error if n <= SMALL and not world.ahead else None
        archive = Archive(
            curves=curves,
            scores=old.mean(axis=1),
            chosen=np.isin(np.arange(n), form),
            error=error,
            worth=None,
            conf_level=0.95,
            higher_is_better=True,
        )
        part = np.zeros(n)
        part[rng.choice(n, world.size, replace=False)] = 1.0
        truth = float(new.mean())
        domain = float(special.expit(rng.lognormal(0.0, 0.4, 4_000) * ability[-1] + rng.normal(0.0, 1.5, 4_000)).mean())
        if error is not None:
            missed[FORM].append(_of(by_form(archive, "new", new * archive.chosen, archive.chosen * 1.0), truth))
        missed[ITEMS].append(_of(by_sample(archive, "new", new * part, part), truth))
        missed[DOMAIN].append(_of(by_sample(archive, "new", new * part, part, of="domain"), domain))
        missed[ALONE].append(of_intervals([wilson(int((new * part).sum()), world.size)], truth))
    return {name: _sum(tallies) for name, tallies in missed.items() if tallies}


def _of(score: NewScore, truth: float) -> Tally:
    if score.conf_low is None or score.conf_high is None:
        return Tally(0.0, 0.0, 0.0)
    missed = not score.conf_low - 1e-9 <= truth <= score.conf_high + 1e-9
    return Tally(float(missed), 1.0, score.conf_high - score.conf_low)


def _sum(tallies: list[Tally]) -> Tally:
    total = tallies[0]
    for each in tallies[1:]:
        total = total.plus(each)
    return total


def tasks(share: float = 1.0) -> list[Task]:
    """Cut every case into parts."""
    return of_worlds(NAME, WORLDS, replicate, replicates=REPLICATES, part=PART, share=share)


def _design(world: World) -> Mapping[str, float]:
    return {"n_models": world.n_models, "n_items": world.n_items, "n_answered": world.size, "ahead": world.ahead}


ALIKE = tuple(world.name for world in WORLDS if not world.ahead)
QUESTION = Question(
    name=NAME,
    question="How often does the score of a new model miss that on all items, told from some of them and an archive?",
    design=(
        "Two-parameter items that 20 earlier models answered, and a new model that answers the short form, or as many at "
        "random: of the law of the earlier ones, or two standard deviations ahead. The score of a domain is that on items "
        "without number of the same law."
    ),
    measure="misses",
    nominal=0.05,
    methods={FORM: "ours", ITEMS: "ours", DOMAIN: "ours", ALONE: "elsewhere"},
    cases=[
        Case(name=world.name, group="far ahead" if world.ahead else "alike", design=_design(world)) for world in WORLDS
    ],
    tasks=tasks,
    promises=[
        Promise(
            text="A score from a short form, models alike",
            method=FORM,
            cases=tuple(world.name for world in WORLDS if not world.ahead and world.n_items <= SMALL),
            high=0.075,
        ),
        Promise(text="An archive-assisted score of the items", method=ITEMS, high=0.065),
        Promise(text="An archive-assisted score of a domain", method=DOMAIN, high=0.065),
    ],
)
