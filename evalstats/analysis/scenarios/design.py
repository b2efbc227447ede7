"""Which mixed model fits the design of the data, and that model laid out over cells of models and scenarios."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.scenarios.table import COUNT, WITHIN, ScenarioTable
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural
from evalstats.options import As
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.mixed.design import MixedDesign, RandomTerm
from evalstats.stats.mixed.distinct_rows import distinct_rows

if TYPE_CHECKING:
    from evalstats.analysis.mixed.frame import ModelFrame


# Up to so many scenario types are named and shown one by one; beyond, they are a sample of types.
MOST_FIXED = 8
# Random effects of fewer clusters than this say nothing of the spread of clusters.
MIN_LEVELS = 5
_THIN = 5
# Sampled scenarios of more rows than this are fitted by a linear model: a binomial one takes minutes, and may run off.
MOST_SAMPLED = 50_000


@record
class ModelChoice:
    """The model to fit.

    `fixed`: Right-hand side in lme4's notation, with the frame's column names. `item_terms`, `scenario_terms`: groupings that
    belong to items, which a mean over items is averaged over; those by scenario, where scenarios are random. `given`: the
    formula of the user, where there is one.
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


def chosen_model(table: ScenarioTable, as_: As | None) -> ModelChoice:
    """Choose by the rule: scenarios are fixed where at most eight named types are shown one by one, else random.

    Items are random. An item's effect may differ between its versions (where several models answer a version) and between
    models (where a model answers an item more than once); both are part of the model where the design shows them. Fewer than five
    random scenarios are an `InputError`; `CannotAnswerError` where no item of several models has a second score, so that what
    items do cannot be told from what models do. One model alone needs no effect of items that it answers once.
    """
    n = len(table.scenarios)
    if table.different and as_ == "random":
        raise InputError(
            f"{Option('as_', 'random')} needs models on the same items, and each has {table.different} of its own; leave it out"
        )
    scenario_as: As = as_ or ("fixed" if table.different or n <= MOST_FIXED else "random")
    if scenario_as == "random" and n < MIN_LEVELS:
        raise InputError(
            f"{plural(n, 'scenario')} cannot be random: the spread of scenario types cannot be told from fewer than "
            f"{MIN_LEVELS}; leave them fixed"
        )
    if as_ is not None:
        reason = "it was asked for"
    elif table.different:
        reason = f"each model has {table.different} of its own"
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
    item_terms = () if table.different else _item_terms(table)
    if several and not item_terms and not scenario_terms and not table.different:
        raise CannotAnswerError(
            f"no item has a second score ({plural(len(table.models), 'model')}, one trial each, every item in one scenario), so "
            "what items share cannot be told from what models and scenarios do; more models on the same items or more trials are "
            f"needed; if each model has different users or items, add {Option('paired', value=False)}"
        )
    large = scenario_as == "random" and table.frame.height > MOST_SAMPLED
    return ModelChoice(
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
    seen: list[IntArray] = [np.arange(len(item))] if (trials <= 1).all() else []
    version = (
        "item:scenario" if _same(table.codes("item", "scenario"), table.codes("item", "version")) else "item:version"
    )
    # The clustering, where it is coarser than items and has levels enough for a variance.
    outer: list[tuple[str, IntArray]] = []
    if len(table.cluster_columns) == 1 and table.cluster_columns[0] in table.frame.columns:
        name = table.cluster_columns[0]
        if name != "scenario" and not table.frame[name].null_count() and table.n_clusters >= MIN_LEVELS:
            outer.append((name if name.isidentifier() else f"`{name}`", table.cluster))
    of_version = table.codes(*version.split(":"))
    candidates = [*outer, ("item", item), (version, of_version)]
    # Each model's own luck with an item is left to the covariance, which is clustered by item and needs no term for it, where
    # scores are single; in a binomial model of items that are crossed with scenarios the term costs minutes and moves the means
    # by nothing.
    if not table.is_single or ((trials > 1).any() and _same(item, of_version)):
        luck = ("item:model", f"{version}:model")
        candidates += [(name, table.codes(*name.split(":"))) for name in luck]
    for name, codes in candidates:
        # A grouping that is another one over again, or has one answer a level, cannot be told from it or from noise.
        if any(_same(codes, other) for other in seen) or not codes.any():
            continue
        per_level = np.bincount(codes, weights=trials)
        if (per_level > 1).sum() < max(MIN_LEVELS, 0.1 * len(per_level)):
            continue
        seen.append(codes)
        terms.append(name)
    return tuple(terms)


def _same(one: IntArray, other: IntArray) -> bool:
    """Whether two groupings, numbered from 0, put the same rows together."""
    n = int(one.max()) + 1
    return n == int(other.max()) + 1 == len(np.unique(one * n + other))


def weight_shares(
    weights: str | dict[str, float], scenarios: Sequence[str], counts: Sequence[float]
) -> tuple[tuple[float, ...], str, tuple[str, ...]]:
    """Return the share of every scenario in the means of models, how they were set in words, and notes.

    `weights` is "equal", "observed" (each scenario by its number of items), or a share for every scenario: a live mix. Shares
    that do not sum to 1 are normalised, and the note says so.

    >>> weight_shares({"a": 3, "b": 1}, ["a", "b"], [1, 1])
    ((0.75, 0.25), 'as given: a 75%, b 25%', ('the weights given sum to 4; they are divided by it',))
    """
    if weights == "equal":
        return tuple(1 / len(scenarios) for _ in scenarios), "all scenarios are weighted equally", ()
    if weights == "observed":
        shares = tuple(float(count / sum(counts)) for count in counts)
        return shares, "scenarios are weighted by their items in these data", ()
    if not isinstance(weights, dict):
        raise InputError(f"weights is {weights!r}; give 'equal', 'observed', or a share for every scenario")
    unknown = [name for name in weights if name not in scenarios]
    absent = [name for name in scenarios if name not in weights]
    if unknown or absent:
        problem = f"{unknown[0]!r} is no scenario" if unknown else f"{absent[0]!r} has no weight (0 leaves it out)"
        raise InputError(f"weights: {problem}; the scenarios are {', '.join(scenarios)}")
    texts = [name for name, share in weights.items() if isinstance(share, bool) or not isinstance(share, int | float)]  # pyright: ignore[reportUnnecessaryIsInstance] - a user's value
    if texts:
        raise InputError(f"weights: the weight of {texts[0]!r} is {weights[texts[0]]!r}; shares are numbers from 0")
    bad = [name for name, share in weights.items() if not (np.isfinite(share) and share >= 0)]
    total = float(sum(weights.values()))
    if bad or not total > 0:
        problem = f"the weight of {bad[0]!r} is {weights[bad[0]]}" if bad else "all weights are 0"
        raise InputError(f"weights: {problem}; shares are numbers from 0, and not all are 0")
    shares = tuple(weights[name] / total for name in scenarios)
    words = ", ".join(f"{name} {100 * share:.3g}%" for name, share in zip(scenarios, shares, strict=True))
    off = abs(total - 1) > 1e-9
    notes = (f"the weights given sum to {total:g}; they are divided by it",) if off else ()
    return shares, f"as given: {words}", notes


@record
class CellDesign:
    """What is fitted, and how its fixed effects give the cells.

    Attributes
    ----------
    cells
        int64, shape (n_cells, 2): model and scenario of every cell that has a score, in the order of the table.
    rows
        float64, shape (n_cells, n_fixed): what the fixed effects are multiplied by in each cell.
    of_row, of_frame
        The cell of every row of the design, and of every row of the table; the two differ in order and number with a formula.
    cluster
        The independent unit of every row of the design.
    averaged
        Places of the random terms that a mean over items is averaged over.
    """

    design: MixedDesign
    cells: IntArray
    rows: FloatArray
    of_row: IntArray
    of_frame: IntArray
    cluster: IntArray
    averaged: tuple[int, ...]

    @property
    def sampled(self) -> tuple[int, ...]:
        """Places of the random terms of sampled scenarios: all others."""
        return tuple(k for k in range(len(self.design.terms)) if k not in self.averaged)

    def thin(self) -> npt.NDArray[np.bool_]:
        """Return the cells in which fewer than five scores differ from the most common one."""
        out = np.zeros(len(self.cells), dtype=np.bool_)
        scores = np.round(self.design.response, 12)
        for place in range(len(self.cells)):
            own = self.of_row == place
            values, at = np.unique(scores[own], return_inverse=True)
            trials = np.bincount(at, weights=self.design.count[own])
            # A share of successes between 0 and 1 holds both outcomes.
            out[place] = trials.sum() - trials.max() < _THIN and bool(
                np.isin(values, (0.0, 1.0)).all() or len(values) < _THIN
            )
        return out

    def spread(self, theta: FloatArray) -> FloatArray:
        """Return the standard deviation (in units of sigma) of what a mean over items is averaged over, for each cell."""
        variance = np.zeros(len(self.cells))
        factors = self.design.factors(theta)
        weights = np.bincount(self.of_row, weights=self.design.count, minlength=len(self.cells))
        for k in self.averaged:
            each = ((self.design.terms[k].values @ factors[k]) ** 2).sum(axis=1)
            variance += np.bincount(self.of_row, weights=each * self.design.count, minlength=len(self.cells)) / weights
        return np.sqrt(variance)

    def spread_slope(self, theta: FloatArray) -> FloatArray:
        """Return the derivative of `spread` in theta, shape (n_cells, n_theta).

        The variance is a quadratic of theta, for which central differences are exact up to rounding.
        """
        base = self.spread(theta)
        out = np.zeros((len(base), len(theta)))
        for k in range(len(theta)):
            step = np.zeros(len(theta))
            step[k] = 1e-3
            high, low = self.spread(theta + step) ** 2, self.spread(theta - step) ** 2
            out[:, k] = np.divide((high - low) / 2e-3, 2 * base, out=np.zeros(len(base)), where=base > 0)
        return out


def cell_design(table: ScenarioTable, choice: ModelChoice) -> CellDesign:
    """Lay the table out for the model chosen.

    With fixed scenarios every cell has its own fixed effect, which is the model with main effects and interaction in other
    coordinates: nothing is of deficient rank where a cell is empty. With random scenarios every model has one.
    """
    frame = table.frame
    model = places(frame["model"], table.models)
    scenario = places(frame["scenario"], table.scenarios)
    n_scenarios = len(table.scenarios)
    present, of_row = np.unique(model * n_scenarios + scenario, return_inverse=True)
    cells, of_row = np.stack([present // n_scenarios, present % n_scenarios], axis=1), of_row.astype(np.int64)
    fixed_codes = of_row if choice.scenario_as == "fixed" else model
    named: list[tuple[int, int]] = [(int(i), int(j)) for i, j in cells]
    names = [f"{table.models[i]}: {table.scenarios[j]}" for i, j in named]
    if choice.scenario_as == "random":
        names = list(table.models)
    n_fixed, score = len(names), frame["score"].to_numpy().astype(np.float64)
    design = MixedDesign(
        fixed=distinct_rows(np.eye(n_fixed), fixed_codes),
        fixed_names=tuple(names),
        terms=tuple(random_intercept(table, group) for group in choice.random),
        count=frame[COUNT].to_numpy().astype(np.float64),
        # Rounding of sums may leave a share of successes just outside 0 and 1.
        response=np.clip(score, 0.0, 1.0) if table.is_single else score,
        within=0.0 if choice.family == "binomial" else float(frame[WITHIN].sum()),
    )
    rows = np.eye(len(cells)) if choice.scenario_as == "fixed" else np.eye(n_fixed)[cells[:, 0]]
    return CellDesign(
        design=design,
        cells=cells.astype(np.int64),
        rows=rows,
        of_row=of_row,
        of_frame=of_row,
        cluster=table.cluster,
        averaged=tuple(range(len(choice.item_terms))),
    )


def formula_design(table: ScenarioTable, formula: str) -> tuple[CellDesign, ModelChoice]:
    """Lay the table out for a formula in lme4's notation; factors besides model and scenario are averaged over equally."""
    from evalstats.analysis.mixed.frame import model_frame

    filled = [name for name in table.frame.columns if table.frame[name].null_count() < table.frame.height]
    orders = {"model": list(table.models), "scenario": list(table.scenarios)}
    read = model_frame(
        table.frame.select(pl.col(filled)),
        formula,
        family="binomial" if table.is_single else "gaussian",
        count=COUNT,
        within=None if table.is_single else WITHIN,
        levels={name: order for name, order in orders.items() if re.search(rf"\b{name}\b", formula)},
    )
    several = len(table.models) > 1
    absent = [name for name in ("model", "scenario") if name not in read.cells.columns and (several or name != "model")]
    if absent:
        raise InputError(
            f"the formula {formula!r} has no {absent[0]}; where models break needs both, such as "
            "score ~ model * scenario + (1 | item)"
        )
    groups = [term.group for term in read.design.terms]
    units = {"item", *table.cluster_columns}
    if not any(units & set(group.split(":")) for group in groups):
        raise InputError(f"the formula {formula!r} takes all scores of an item as independent; add (1 | item)")
    fixed = "scenario" in read.factors
    sampled = [k for k, group in enumerate(groups) if not fixed and set(group.split(":")) <= {"model", "scenario"}]
    sloped = [read.design.terms[k].group for k in sampled if not read.design.terms[k].is_intercept]
    if sloped:
        raise InputError(
            f"a random slope by {sloped[0]} is not supported here: give intercepts, such as "
            "(1 | scenario) + (1 | model:scenario)"
        )
    n = read.cells.height
    model = places(read.cells["model"], table.models) if several else np.zeros(n, dtype=np.int64)
    scenario = places(read.cells["scenario"], table.scenarios)
    cells, of_row = np.unique(np.stack([model, scenario], axis=1), axis=0, return_inverse=True)
    of_frame = places(table.frame["model"], table.models) * len(table.scenarios)
    of_frame += places(table.frame["scenario"], table.scenarios)
    choice = ModelChoice(
        scenario_as="fixed" if fixed else "random",
        reason="the formula says so",
        family="binomial" if table.is_single else "gaussian",
        fixed=formula.partition("~")[2].strip(),
        item_terms=tuple(group for k, group in enumerate(groups) if k not in sampled),
        scenario_terms=tuple(groups[k] for k in sampled),
        given=formula,
        notes=(*read.warnings, *read.notes),
    )
    # The independent unit of every row of the design; where a row mixes units, all rows are one.
    own = table.frame.with_columns(pl.Series("_cluster", table.cluster))
    key = [name for name in read.cells.columns if name in own.columns and name != "score"]
    per_cell = own.group_by(key).agg(pl.col("_cluster").min(), pl.col("_cluster").max().alias("_last"))
    units_of = read.cells.select(key).join(per_cell, on=key, how="left", maintain_order="left", nulls_equal=True)
    mixed = bool((units_of["_cluster"] != units_of["_last"]).any()) or units_of["_cluster"].null_count() > 0
    laid = CellDesign(
        design=read.design,
        cells=cells.astype(np.int64),
        rows=_grid_rows(table, read, cells),
        of_row=of_row.ravel().astype(np.int64),
        of_frame=np.searchsorted(cells[:, 0] * len(table.scenarios) + cells[:, 1], of_frame).astype(np.int64),
        cluster=np.zeros(n, dtype=np.int64) if mixed else units_of["_cluster"].to_numpy().astype(np.int64),
        averaged=tuple(k for k in range(len(groups)) if k not in sampled),
    )
    return laid, choice


def _grid_rows(table: ScenarioTable, read: "ModelFrame", cells: IntArray) -> FloatArray:
    """Return what the fixed effects are multiplied by in each cell, a mean over the levels of all other factors."""
    others = {name: levels for name, levels in read.factors.items() if name not in ("model", "scenario")}
    grid = pl.DataFrame(
        {
            "model": [table.models[int(i)] for i in cells[:, 0]],
            "scenario": [table.scenarios[int(j)] for j in cells[:, 1]],
            "_cell": range(len(cells)),
        }
    )
    for name, levels in others.items():
        grid = grid.join(pl.DataFrame({name: list(levels)}), how="cross")
    rows = read.all_rows(grid)
    place = grid["_cell"].to_numpy()
    mean = np.zeros((len(cells), rows.shape[1]))
    np.add.at(mean, place, rows)
    mean /= np.bincount(place)[:, None]
    lost = np.flatnonzero(~read.kept.estimable(mean))
    if len(lost):
        i, j = cells[lost[0]]
        raise InputError(
            f"the formula leaves {len(lost)} of {len(cells)} cells unknown, first {table.models[int(i)]!r} in "
            f"{table.scenarios[int(j)]!r}: some combination of factors has no rows; leave the interaction out"
        )
    return read.kept_rows(mean)


def random_intercept(table: ScenarioTable, group: str) -> RandomTerm:
    """Return the random intercept of a grouping such as "item:model"."""
    columns = [part.strip("`") for part in group.split(":")]
    text = pl.concat_str([pl.col(name).cast(pl.String).fill_null("None") for name in columns], separator=":")
    labels = table.frame.select(text.alias("label")).to_series()
    codes = (labels.rank("dense") - 1).to_numpy().astype(np.int64)
    return RandomTerm(
        group=group,
        columns=("(Intercept)",),
        levels=tuple(labels.unique().sort().to_list()),
        level=codes,
        values=np.ones((len(codes), 1)),
    )


def places(values: pl.Series, order: Sequence[str]) -> IntArray:
    """Return the place of each value in an order."""
    return values.replace_strict(list(order), range(len(order)), return_dtype=pl.Int64).to_numpy().astype(np.int64)
