"""Which mixed model fits the design of the data: what is fixed, what is random, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.document.numbers import plural
from evalstats.errors import CannotAnswerError, InputError

Ints = npt.NDArray[np.int64]
As = Literal["fixed", "random"]
# Up to so many scenario types are named and shown one by one; beyond, they are a sample of types.
MOST_FIXED = 8
# Random effects of fewer clusters than this say nothing of the spread of clusters.
MIN_LEVELS = 5
# Sampled scenarios of more rows than this are fitted by a linear model: a binomial one takes minutes, and may run off.
MOST_SAMPLED = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The model to fit.

    Attributes
    ----------
    fixed, random
        Right-hand sides in lme4's notation, with the frame's column names.
    item_terms
        Groupings that belong to items: what a mean over items is averaged over.
    scenario_terms
        Groupings by scenario, where scenarios are random.
    given
        The formula of the user, where there is one.
    """

    scenario_as: As
    reason: str
    family: Literal["gaussian", "binomial"]
    fixed: str
    item_terms: tuple[str, ...]
    scenario_terms: tuple[str, ...]
    given: str = ""
    notes: tuple[str, ...] = ()

    @property
    def random(self) -> tuple[str, ...]:
        """All groupings with a random intercept."""
        return (*self.item_terms, *self.scenario_terms)

    @property
    def formula(self) -> str:
        """The model in lme4's notation."""
        if self.given:
            return self.given
        return " + ".join([f"score ~ {self.fixed}", *(f"(1 | {group})" for group in self.random)])


def chosen_model(table: ScenarioTable, as_: As | None) -> Choice:
    """Choose by the rule: scenarios are fixed where at most eight named types are shown one by one, else random.

    Items are random. An item's effect may differ between its versions (where several models answer a version) and between
    models (where a model answers an item more than once); both are part of the model where the design shows them.

    Raises
    ------
    InputError
        If scenarios are to be random and there are fewer than five.
    CannotAnswerError
        If no item has a second score, so that no random effect of items can be told from noise.
    """
    n = len(table.scenarios)
    scenario_as: As = as_ or ("fixed" if n <= MOST_FIXED else "random")
    if scenario_as == "random" and n < MIN_LEVELS:
        message = (
            f"{plural(n, 'scenario')} cannot be random: the spread of scenario types cannot be told from fewer than "
            f"{MIN_LEVELS}; leave them fixed"
        )
        raise InputError(message)
    if as_ is not None:
        reason = "it was asked for"
    elif scenario_as == "fixed":
        reason = f"{plural(n, 'named type')}, few enough to be shown one by one: conclusions are about these types"
    else:
        reason = f"{n} types, more than {MOST_FIXED}: they are taken as a sample of the types that could come"
    several = len(table.models) > 1
    if scenario_as == "fixed":
        fixed, scenario_terms = ("model * scenario" if several else "scenario"), ()
    else:
        fixed = "model" if several else "1"
        scenario_terms = ("scenario", "model:scenario") if several else ("scenario",)
    item_terms = _item_terms(table)
    if not item_terms and not scenario_terms:
        message = (
            f"no item has a second score ({plural(len(table.models), 'model')}, one trial each, every item in one scenario), so "
            "what items share cannot be told from what models and scenarios do; more models on the same items or more trials are "
            "needed, or `score` and `compare --by` for each scenario alone"
        )
        raise CannotAnswerError(message)
    large = scenario_as == "random" and table.frame.height > MOST_SAMPLED
    return Choice(
        scenario_as=scenario_as,
        reason=reason,
        family="binomial" if table.is_single and not large else "gaussian",
        notes=(f"a linear model of right and wrong: beyond {MOST_SAMPLED:,} scores a binomial one takes too long",)
        if table.is_single and large
        else (),
        fixed=fixed,
        item_terms=item_terms,
        scenario_terms=scenario_terms,
    )


def _item_terms(table: ScenarioTable) -> tuple[str, ...]:
    """Return the groupings by items that the design can tell from one another and from noise, the widest first."""
    trials = table.frame[COUNT].to_numpy()
    item = table.codes("item")
    terms: list[str] = []
    seen: list[Ints] = [np.arange(len(item))] if (trials <= 1).all() else []
    version = (
        "item:scenario" if _same(table.codes("item", "scenario"), table.codes("item", "version")) else "item:version"
    )
    candidates = [
        *_outer(table),
        ("item", item),
        (version, table.codes(*version.split(":"))),
        ("item:model", table.codes("item", "model")),
        (f"{version}:model", table.codes(*version.split(":"), "model")),
    ]
    if table.is_single and ((trials <= 1).all() or not _same(item, candidates[-3][1])):
        # Each model's own luck with an item is left to the covariance, which is clustered by item and needs no term for it; in
        # a binomial model of items that are crossed with scenarios the term costs minutes and moves the means by nothing.
        candidates = candidates[:-2]
    for name, codes in candidates:
        # A grouping that is another one over again, or has one answer a level, cannot be told from it or from noise.
        if any(_same(codes, other) for other in seen) or len(np.unique(codes)) < 2:
            continue
        per_level = np.bincount(codes, weights=trials)
        if (per_level > 1).sum() < max(MIN_LEVELS, 0.1 * len(per_level)):
            continue
        seen.append(codes)
        terms.append(name)
    return tuple(terms)


def _outer(table: ScenarioTable) -> list[tuple[str, Ints]]:
    """Return the clustering, where it is coarser than items and has levels enough for a variance."""
    if len(table.cluster_columns) != 1 or table.cluster_columns[0] not in table.frame.columns:
        return []
    name = table.cluster_columns[0]
    if name == "scenario" or table.frame[name].null_count() or table.n_clusters < MIN_LEVELS:
        return []
    return [(_quoted(name), table.cluster)]


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _same(one: Ints, other: Ints) -> bool:
    """Whether two groupings put the same rows together."""
    pairs = len(np.unique(one * (int(other.max()) + 1) + other))
    return pairs == len(np.unique(one)) == len(np.unique(other))


def weight_shares(
    weights: str | dict[str, float], scenarios: Sequence[str], counts: Sequence[float]
) -> tuple[tuple[float, ...], str, tuple[str, ...]]:
    """Return the share of every scenario in the means of models, how they were set in words, and notes.

    Parameters
    ----------
    weights
        "equal", "observed" (each scenario by its number of items), or a share for every scenario: a live mix. Shares that do
        not sum to 1 are normalised, and the note says so.

    Raises
    ------
    InputError
        If a scenario is unknown or has no share, or a share is negative or not a number.

    Examples
    --------
    >>> weight_shares({"a": 3, "b": 1}, ["a", "b"], [1, 1])
    ((0.75, 0.25), 'as given: a 75%, b 25%', ('the weights given sum to 4; they are divided by it',))
    """
    if weights == "equal":
        return tuple(1 / len(scenarios) for _ in scenarios), "every scenario counts the same", ()
    if weights == "observed":
        shares = tuple(float(count / sum(counts)) for count in counts)
        return shares, "each scenario counts by its number of items in these data", ()
    if not isinstance(weights, dict):
        message = f"weights is {weights!r}; give 'equal', 'observed', or a share for every scenario"
        raise InputError(message)
    unknown = [name for name in weights if name not in scenarios]
    absent = [name for name in scenarios if name not in weights]
    if unknown or absent:
        problem = f"{unknown[0]!r} is no scenario" if unknown else f"{absent[0]!r} has no weight (0 leaves it out)"
        message = f"weights: {problem}; the scenarios are {', '.join(scenarios)}"
        raise InputError(message)
    texts = [name for name, share in weights.items() if isinstance(share, bool) or not isinstance(share, int | float)]  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
    if texts:
        message = f"weights: the weight of {texts[0]!r} is {weights[texts[0]]!r}; shares are numbers from 0"
        raise InputError(message)
    bad = [name for name, share in weights.items() if not (np.isfinite(share) and share >= 0)]
    total = float(sum(weights.values()))
    if bad or not total > 0:
        problem = f"the weight of {bad[0]!r} is {weights[bad[0]]}" if bad else "all weights are 0"
        message = f"weights: {problem}; shares are numbers from 0, and not all are 0"
        raise InputError(message)
    shares = tuple(weights[name] / total for name in scenarios)
    words = ", ".join(f"{name} {100 * share:.3g}%" for name, share in zip(scenarios, shares, strict=True))
    off = abs(total - 1) > 1e-9
    notes = (f"the weights given sum to {total:g}; they are divided by it",) if off else ()
    return shares, f"as given: {words}", notes
