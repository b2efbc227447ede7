"""Simulated HarmAmp results: rows in the format that evalstats assumes, whose truth is known.

Published are the numbers of plans and two rates of one model. Everything else is made up from `HarmEffects`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evalstats.datasets.tables import harmamp_known
from evalstats.errors import InputError
from evalstats.simulate.draws import (
    Calibrate,
    Events,
    check_known,
    check_share,
    check_spread,
    draw_events,
    generator,
    write_rows,
)
from evalstats.simulate.rutbench_truth import apportion

# Published: rows of the data set by label.
N_MALICIOUS, N_BENIGN = 132, 147
# Published is that there are twelve, among them the first three; the others are invented.
CATEGORIES = (
    "cyber_intrusion", "malware", "chemical_biological", "fraud", "disinformation", "harassment",
    "privacy", "weapons", "drugs", "extremism", "infrastructure", "self_harm",
)  # fmt: skip
AXES = ("expertise", "scaling")
DEFENSES = ("none", "prompt_guardrail", "external_safeguard", "trajsafe")
# Invented: how many plans a seed has.
SEED_SIZES: Mapping[int, float] = MappingProxyType({1: 0.6, 2: 0.3, 3: 0.1})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HarmDesign:
    """Plans, one element of each array a plan, malicious ones first; every array has shape (n_plans,).

    `malicious` marks them; `category` and `axis` are indices into `CATEGORIES` and `AXES`; `seed` numbers the seeds from 0
    and `version` the plans within a seed from 1. All plans of a seed have its label, category and axis.
    """

    malicious: NDArray[np.bool_]
    category: NDArray[np.int64]
    axis: NDArray[np.int64]
    seed: NDArray[np.int64]
    version: NDArray[np.int64]

    @property
    def n_plans(self) -> int:
        """Plans with either label."""
        return self.malicious.size

    def category_of(self, plan: int) -> str:
        """Name of a plan's category."""
        return CATEGORIES[int(self.category[plan])]

    def seed_id(self, plan: int) -> str:
        """Name of a plan's seed.

        Examples
        --------
        >>> make_harm_design().seed_id(0)
        'cyber_intrusion_001'
        """
        return f"{self.category_of(plan)}_{self.seed[plan] + 1:03d}"

    def plan_id(self, plan: int) -> str:
        """Name of a plan."""
        return f"{self.seed_id(plan)}_v{self.version[plan]}"


def make_harm_design(*, seed: int = 0, n_malicious: int = N_MALICIOUS, n_benign: int = N_BENIGN) -> HarmDesign:
    """Draw the plans: as many as published by label, spread evenly over twelve categories; seeds of one to three plans.

    Raises
    ------
    InputError
        If there are no malicious or no benign plans, or the seed is negative.
    """
    if n_malicious < 1 or n_benign < 1:
        raise InputError(
            f"there are {n_malicious} malicious and {n_benign} benign plans; a benchmark needs one of each"
        )
    rng = generator(seed, "harmamp", "design")
    sizes, shares = np.array(list(SEED_SIZES)), np.array(list(SEED_SIZES.values()))
    malicious: list[bool] = []
    category: list[int] = []
    axis: list[int] = []
    seeds: list[int] = []
    version: list[int] = []
    n_seeds = 0
    for label, total in ((True, n_malicious), (False, n_benign)):
        for place, wanted in enumerate(apportion([1] * len(CATEGORIES), total)):
            left = wanted
            while left:
                size = min(int(rng.choice(sizes, p=shares)), left)
                own_axis = int(rng.integers(len(AXES)))
                malicious += [label] * size
                category += [place] * size
                axis += [own_axis] * size
                seeds += [n_seeds] * size
                version += range(1, size + 1)
                n_seeds += 1
                left -= size
    return HarmDesign(
        malicious=np.array(malicious, dtype=np.bool_),
        category=np.array(category, dtype=np.int64),
        axis=np.array(axis, dtype=np.int64),
        seed=np.array(seeds, dtype=np.int64),
        version=np.array(version, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmModel:
    """A model that is made up: its rate of harm on malicious plans and of refusal on benign ones, behind each defence.

    All are proportions strictly between 0 and 1. `exact` names the defences whose harmful plans are a known count: no
    judgment fails there.

    Examples
    --------
    >>> rates = dict.fromkeys(DEFENSES, 0.2)
    >>> HarmModel(name="mine", harmfulness=rates, over_refusal=rates).exact
    ()
    """

    name: str
    harmfulness: Mapping[str, float]
    over_refusal: Mapping[str, float]
    exact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name.strip():
            raise InputError("the model's name is empty; give it one")
        for rate in ("harmfulness", "over_refusal"):
            rates: Mapping[str, float] = getattr(self, rate)
            if tuple(rates) != DEFENSES:
                raise InputError(f"{rate} of {self.name!r} is given for {', '.join(rates)}; give {', '.join(DEFENSES)}")
            for defense, value in rates.items():
                if not 0 < value < 1:
                    raise InputError(
                        f"{rate} of {self.name!r} behind {defense!r} is {value:g}; give a proportion strictly between 0 "
                        "and 1"
                    )


def _rates(*values: float) -> dict[str, float]:
    return dict(zip(DEFENSES, values, strict=True))


def simulated_harm_models() -> tuple[HarmModel, ...]:
    """Return the three simulated models.

    The first has the two published rates (114 and 13 of 132 malicious plans); every other number is invented.

    Examples
    --------
    >>> [model.name for model in simulated_harm_models()]
    ['sim-Llama-3.1-8B', 'sim-open-70B', 'sim-frontier']
    """
    published = {known.defense: known.n_harmful / known.n_malicious for known in harmamp_known()}
    return (
        HarmModel(
            name="sim-Llama-3.1-8B",
            harmfulness=_rates(0.86, 0.70, 0.45, 0.10) | published,
            over_refusal=_rates(0.03, 0.11, 0.20, 0.07),
            exact=tuple(published),
        ),
        HarmModel(
            name="sim-open-70B",
            harmfulness=_rates(0.74, 0.55, 0.36, 0.09),
            over_refusal=_rates(0.02, 0.13, 0.18, 0.06),
        ),
        HarmModel(
            name="sim-frontier",
            harmfulness=_rates(0.48, 0.30, 0.22, 0.06),
            over_refusal=_rates(0.05, 0.08, 0.16, 0.08),
        ),
    )


def harm_model_named(model: str | HarmModel) -> HarmModel:
    """Return the simulated model of that name, or the model itself.

    Raises
    ------
    InputError
        If there is none of that name; the message lists all.
    """
    if isinstance(model, HarmModel):
        return model
    found = next((known for known in simulated_harm_models() if known.name == model), None)
    if found is None:
        names = ", ".join(known.name for known in simulated_harm_models())
        raise InputError(f"no simulated model is called {model!r}; known are {names}; or pass HarmModel(name=..., ...)")
    return found


JUDGE = "simulated-judge"
# Invented, as a share of all rows.
JUDGE_ERROR_RATE = 0.01

# Invented, in logits: of harm on malicious plans and of refusal on benign ones.
CATEGORY_EFFECTS: Mapping[str, float] = MappingProxyType(
    dict(
        zip(CATEGORIES, (0.5, 0.2, -1.0, 0.6, 0.8, 0.3, 0.4, -0.7, -0.2, -0.4, -0.1, -0.4), strict=True),
    )
)
AXIS_EFFECTS: Mapping[str, float] = MappingProxyType({"expertise": -0.2, "scaling": 0.2})
_INTERVENES = {"none": 0.0, "prompt_guardrail": 0.0, "external_safeguard": 0.5, "trajsafe": 0.8}
_TOP_SCORE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class HarmEffects:
    """Effects on the logit of harm (malicious plans) or refusal (benign plans). All are invented.

    logit P = intercept of model and defence + category + axis + seed + plan + plan x model + category x system.

    `category` and `axis` are fixed. The `sd_` fields are standard deviations of normal effects: seed and plan are drawn
    once for a seed of the simulation and shared by all models, plan x model for each model, and category x system for each
    model behind each defence.
    """

    category: Mapping[str, float] = field(default_factory=lambda: CATEGORY_EFFECTS)
    axis: Mapping[str, float] = field(default_factory=lambda: AXIS_EFFECTS)
    sd_seed: float = 0.9
    sd_plan: float = 0.5
    sd_plan_model: float = 0.5
    sd_category_system: float = 0.2

    def __post_init__(self) -> None:
        check_known("category", self.category, CATEGORIES)
        check_known("axis", self.axis, AXES)
        check_spread(
            sd_seed=self.sd_seed,
            sd_plan=self.sd_plan,
            sd_plan_model=self.sd_plan_model,
            sd_category_system=self.sd_category_system,
        )


class HarmOptions(TypedDict, total=False):
    """Further options of `simulate_harmamp`, `write_harmamp` and `harmamp_truth`.

    `n_malicious`, `n_benign`: plans by label, 132 and 147 if not given. `run`: which repetition on the same plans (default
    0). `calibrate`: "count" (default) makes the observed shares those of the model, to the nearest plan; "rate" fixes the
    truth instead and lets the counts vary, as coverage studies need. `effects`: the model of the truth.
    `judge_error_rate`: share of rows without a judgment.
    """

    n_malicious: int
    n_benign: int
    run: int
    calibrate: Calibrate
    effects: HarmEffects
    judge_error_rate: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Draw:
    """One system on all plans: what was drawn for malicious and benign plans, and which rows the judge failed on."""

    design: HarmDesign
    harm: Events
    refusal: Events
    unjudged: NDArray[np.bool_]


def simulate_harmamp(
    model: str | HarmModel, *, seed: int = 0, **options: Unpack[HarmOptions]
) -> list[dict[str, object]]:
    """Simulate one model's HarmAmp results behind four defences.

    Parameters
    ----------
    model
        Name of a simulated model (`simulated_harm_models`), or a `HarmModel` of your own.
    seed
        Seed of the plans and of everything drawn. The plans, and how dangerous each is for all models, depend on the seed
        alone, so that files of several models pair up.
    **options
        See `HarmOptions`.

    Returns
    -------
    list of dict
        One row for each defence and plan, in the columns that the harmamp loader assumes; each says that it is simulated.

    Raises
    ------
    InputError
        If no simulated model has the name, or a number is out of range.

    Examples
    --------
    >>> rows = simulate_harmamp("sim-Llama-3.1-8B")
    >>> len(rows) == 4 * (132 + 147)
    True
    >>> sum(row["harmful"] for row in rows if row["label"] == "malicious" and row["defense"] == "none")
    114
    """
    known = harm_model_named(model)
    return [
        row
        for place, draw in enumerate(_draws(known, seed, options))
        for row in _rows(known, place, draw, seed, options)
    ]


def write_harmamp(
    folder: str | Path,
    models: Iterable[str | HarmModel] | None = None,
    *,
    seed: int = 0,
    **options: Unpack[HarmOptions],
) -> list[Path]:
    """Write one file of simulated results for each model (by default all three): `<model>_harmamp.jsonl`.

    Same models, seed and options: same bytes.

    Raises
    ------
    InputError
        As `simulate_harmamp`; or if two models would share a file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_harmamp(folder, ["sim-frontier"], n_malicious=2, n_benign=2)]
    ['sim-frontier_harmamp.jsonl']
    """
    chosen = [harm_model_named(model) for model in (simulated_harm_models() if models is None else models)]
    files = [(model.name, simulate_harmamp(model, seed=seed, **options)) for model in chosen]
    return write_rows(folder, files, ending="harmamp")


def harmamp_truth(
    models: Iterable[str | HarmModel] | None = None, *, seed: int = 0, **options: Unpack[HarmOptions]
) -> pl.DataFrame:
    """Return what the simulated rows are drawn from: each system's probability of harm and of refusal, by category.

    Returns
    -------
    polars.DataFrame
        One row per model, defence, metric and category with plans: `model`, `system`, `defense`, `metric` (harmfulness or
        over_refusal), `scenario`, `probability` (mean over this seed's plans), `events` (harmful or refused plans among
        those judged), `n_items` (plans judged), `n_plans` (all plans).

    Examples
    --------
    >>> truth = harmamp_truth(["sim-frontier"], calibrate="rate").filter(metric="harmfulness", defense="none")
    >>> round(float((truth["probability"] * truth["n_plans"]).sum() / truth["n_plans"].sum()), 6)
    0.48
    """
    chosen = [harm_model_named(model) for model in (simulated_harm_models() if models is None else models)]
    return pl.concat(
        [
            _truth_frame(model, defense, draw)
            for model in chosen
            for defense, draw in zip(DEFENSES, _draws(model, seed, options), strict=True)
        ]
    )


def _draws(model: HarmModel, seed: int, options: HarmOptions) -> Iterator[_Draw]:
    """Draw what each defence comes to, in the order of `DEFENSES`."""
    error_rate = options.get("judge_error_rate", JUDGE_ERROR_RATE)
    check_share("judge_error_rate", error_rate)
    design = make_harm_design(
        seed=seed, n_malicious=options.get("n_malicious", N_MALICIOUS), n_benign=options.get("n_benign", N_BENIGN)
    )
    effects = options.get("effects", HarmEffects())
    calibrate = options.get("calibrate", "count")
    run = str(options.get("run", 0))
    base = _linear_predictor(model, design, effects, seed)
    for defense in DEFENSES:
        own = generator(seed, "harmamp", "effects", model.name, defense)
        eta = base + (effects.sd_category_system * own.standard_normal(len(CATEGORIES)))[design.category]
        noise = generator(seed, "harmamp", "noise", model.name, defense, run).logistic(size=design.n_plans)
        failed = generator(seed, "harmamp", "judge", model.name, defense, run).random(design.n_plans) < error_rate
        unjudged = failed & (defense not in model.exact)
        parts = [
            draw_events(eta[which], rate, noise[which], calibrate=calibrate, counted=~unjudged[which])
            for which, rate in (
                (design.malicious, model.harmfulness[defense]),
                (~design.malicious, model.over_refusal[defense]),
            )
        ]
        yield _Draw(design=design, harm=parts[0], refusal=parts[1], unjudged=unjudged)


def _linear_predictor(model: HarmModel, design: HarmDesign, effects: HarmEffects, seed: int) -> NDArray[np.float64]:
    """Logit without what the defence adds, shape (n_plans,)."""
    shared = generator(seed, "harmamp", "effects")
    eta = effects.sd_seed * shared.standard_normal(int(design.seed.max()) + 1)[design.seed]
    eta += effects.sd_plan * shared.standard_normal(design.n_plans)
    eta += np.array([effects.category[name] for name in CATEGORIES])[design.category]
    eta += np.array([effects.axis[name] for name in AXES])[design.axis]
    own = generator(seed, "harmamp", "effects", model.name)
    return eta + effects.sd_plan_model * own.standard_normal(design.n_plans)


def _truth_frame(model: HarmModel, defense: str, draw: _Draw) -> pl.DataFrame:
    parts: list[pl.DataFrame] = []
    malicious = draw.design.malicious
    for metric, which, events in (("harmfulness", malicious, draw.harm), ("over_refusal", ~malicious, draw.refusal)):
        judged = ~draw.unjudged[which]
        plans = pl.DataFrame(
            {
                "scenario": [draw.design.category_of(plan) for plan in map(int, np.flatnonzero(which))],
                "probability": events.probability,
                "events": (events.happened & judged).astype(np.int64),
                "n_items": judged.astype(np.int64),
            }
        )
        parts.append(
            plans.group_by("scenario", maintain_order=True)
            .agg(
                pl.col("probability").mean(),
                pl.col("events", "n_items").sum(),
                pl.len().cast(pl.Int64).alias("n_plans"),
            )
            .select(
                pl.lit(model.name).alias("model"),
                pl.lit(f"{model.name} + {defense}").alias("system"),
                pl.lit(defense).alias("defense"),
                pl.lit(metric).alias("metric"),
                pl.all(),
            )
        )
    return pl.concat(parts)


def _rows(model: HarmModel, place: int, draw: _Draw, seed: int, options: HarmOptions) -> Iterator[dict[str, object]]:
    """Make the rows of one defence: what was drawn, and turns, scores and interventions that go with it."""
    defense, design = DEFENSES[place], draw.design
    rng = generator(seed, "harmamp", "details", model.name, defense, str(options.get("run", 0)))
    n_turns = 2 + rng.binomial(6, 0.5, size=design.n_plans)
    steps = rng.random((design.n_plans, 4))
    happened = np.empty(design.n_plans, dtype=np.bool_)
    happened[design.malicious], happened[~design.malicious] = draw.harm.happened, draw.refusal.happened
    rates = (
        f"the rates of harm with defense {' and '.join(model.exact)} are published, all else is"
        if model.exact
        else "all is"
    )
    said = f"by evalstats, seed {seed}; {rates} invented"
    for plan in range(design.n_plans):
        malicious, event, lost = bool(design.malicious[plan]), bool(happened[plan]), bool(draw.unjudged[plan])
        # What does no harm on a malicious plan was refused more often than not.
        refused = event if not malicious else not event and bool(steps[plan, 0] < 0.6)
        score = int(2 + steps[plan, 1] * (_TOP_SCORE - 1)) if event else int(steps[plan, 1] * 2)
        stops = _INTERVENES[defense] * (1.0 if malicious else 0.15)
        intervened = bool(steps[plan, 2] < stops)
        yield {
            "plan_id": design.plan_id(plan),
            "seed_id": design.seed_id(plan),
            "category": CATEGORIES[design.category[plan]],
            "axis": AXES[design.axis[plan]],
            "label": "malicious" if malicious else "benign",
            "target_model": model.name,
            "defense": defense,
            "mode": "multi_turn",
            "n_turns": int(n_turns[plan]),
            "harmful": None if lost else int(malicious and event),
            "refused": None if lost else int(refused),
            "harm_score": None if lost or not malicious else score,
            "score_min": 0,
            "score_max": _TOP_SCORE,
            "intervened": int(intervened),
            "first_intervention_turn": 1 + int(steps[plan, 3] * n_turns[plan]) if intervened else None,
            "judge": JUDGE,
            "judge_error": "simulated failure of the judge" if lost else None,
            "simulated": said,
        }
