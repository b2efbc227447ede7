"""The benchmark side of a simulated HarmAmp: seeds, plans, categories; and the models and defences that face them."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from evalstats.datasets.figures import harmamp_known
from evalstats.errors import InputError
from evalstats.simulate.rut_design import apportion
from evalstats.simulate.streams import generator

# Published: rows of the data set by label.
N_MALICIOUS, N_BENIGN = 132, 147
LABELS = ("malicious", "benign")
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
        for field in ("harmfulness", "over_refusal"):
            rates: Mapping[str, float] = getattr(self, field)
            if tuple(rates) != DEFENSES:
                raise InputError(
                    f"{field} of {self.name!r} is given for {', '.join(rates)}; give {', '.join(DEFENSES)}"
                )
            for defense, value in rates.items():
                if not 0 < value < 1:
                    raise InputError(
                        f"{field} of {self.name!r} behind {defense!r} is {value:g}; give a proportion strictly between 0 "
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
