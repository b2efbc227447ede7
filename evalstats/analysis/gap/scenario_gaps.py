"""For which scenario types the lab does not predict, and which cells rest on too few users to be told of."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evalstats.analysis.gap.material import NO_LEVEL, Cells, CellSums, Material, Options, Side
from evalstats.analysis.gap.result import LabLiveGap, ScenarioGap, ScenarioGaps
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note, NoteKind
from evalstats.document.numbers import several
from evalstats.errors import CannotAnswerError
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.computation import one_thread
from evalstats.stats.estimate import t_quantile
from evalstats.stats.gap import CellRates, Gaps, PooledGaps, cell_rates, combined, gaps, pooled_gaps
from evalstats.stats.many.multiplicity import benjamini_hochberg


def too_small(n: int, least: int) -> bool:
    """Whether so few people stand behind a cell that it is not shown; an empty cell has nobody to protect, and is."""
    return 0 < n < least


def suppressed(n: Sequence[int], least: int) -> tuple[bool, ...]:
    """Return which cells of a table, by the people in each, are not shown where their total is.

    One cell alone could be had by subtraction, so the smallest of the others is held back with it, and more while those held
    back do not make `least` together (Hundepool et al. 2012, Statistical Disclosure Control, ch. 4).

    >>> suppressed([40, 3, 25], 10), suppressed([2, 3, 11, 40], 10)
    ((False, True, True), (True, True, True, False))
    """
    hidden = [too_small(size, least) for size in n]
    if any(hidden):
        for place in sorted(range(len(n)), key=lambda place: (n[place], place)):
            held = [size for size, is_hidden in zip(n, hidden, strict=True) if is_hidden]
            if len(held) > 1 and sum(held) >= least:
                break
            if n[place]:
                hidden[place] = True
    return tuple(hidden)


def suppression_note(n_hidden: int, n_cells: int, least: int, people: str) -> str:
    """Say how many cells are held back, and why."""
    is_, rests, gives, them = (
        ("is", "it rests", "give", "it is") if n_hidden == 1 else ("are", "they rest", "give", "they are")
    )
    return (
        f"{n_hidden} of {n_cells} cells {is_} not shown since {rests} on fewer than {least} {people}, "
        f"or would {gives} away one that does; {them} in all totals (min_cell)"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hidden:
    """Which cells are withheld: of the table of cells, of scenarios over all models, of model x scenario."""

    cells: frozenset[str]
    scenarios: frozenset[str]
    single: frozenset[tuple[str, str]]
    reason: str

    def holds(self, row: ScenarioGap) -> bool:
        """Whether a row with a number is withheld."""
        small = (row.model, row.scenario) in self.single if row.model else row.scenario in self.scenarios
        return small and row.estimate is not None

    def without(self, row: ScenarioGap) -> ScenarioGap:
        """Return the row, or nothing but its name and the reason."""
        if not self.holds(row):
            return row
        return ScenarioGap(scenario=row.scenario, model=row.model, estimate=None, n_live=None, reason=self.reason)


def without_small_cells(found: LabLiveGap, made: Material, least: int) -> LabLiveGap:
    """Withhold the live rates and gaps of cells with fewer than `least` live clusters (users), and say how many.

    Sums over cells stay, since they hold everyone; so a second cell is withheld wherever a sum would give the first away.
    """
    cells = made.cells
    if cells is None or cells.live is None or least < 2:
        return found
    people = f"{made.live.clusters[0] if made.live.clusters else 'row'}s"
    hidden = _hidden(made, cells, cells.live, least, people)
    decomposition, gaps = found.decomposition, found.scenario_gaps
    n_hidden = n_shown = 0
    if decomposition is not None:
        small = [part.cell in hidden.cells for part in decomposition.cells]
        kept = tuple(
            replace(part, live_rate=None, behaviour=None, mix=None) if out else part
            for part, out in zip(decomposition.cells, small, strict=True)
        )
        decomposition, n_hidden, n_shown = replace(decomposition, cells=kept), sum(small), len(small)
    if gaps is not None:
        rows = (*gaps.means, *gaps.rows)
        n_hidden, n_shown = n_hidden + sum(hidden.holds(row) for row in rows), n_shown + len(rows)
        means, single = (tuple(map(hidden.without, each)) for each in (gaps.means, gaps.rows))
        gaps = replace(gaps, means=means, rows=single)
    if not n_hidden:
        return found
    told = Note(
        kind="left_out", text=suppression_note(n_hidden, n_shown, least, people=f"live {people}"), caution=False
    )
    return replace(found, decomposition=decomposition, scenario_gaps=gaps, notes=(*found.notes, told))


def _hidden(made: Material, cells: Cells, live: CellSums, least: int, people: str) -> _Hidden:
    levels = cells.levels
    scenarios = sorted({level[0] for level in levels})
    of_scenario = np.array([scenarios.index(level[0]) for level in levels], dtype=np.int64)
    by_cell = _people(live.cell, live.cluster, live.n_cells)
    by_scenario = _people(of_scenario[live.cell], live.cluster, len(scenarios))
    place = live.model * len(scenarios) + of_scenario[live.cell]
    single = _people(place, live.cluster, live.n_models * len(scenarios)).reshape(live.n_models, -1)

    def mask(n: IntArray) -> tuple[bool, ...]:
        return suppressed(n.tolist(), least)

    return _Hidden(
        cells=frozenset(cells.label(j) for j, out in enumerate(mask(by_cell)) if out),
        scenarios=frozenset(scenarios[j] for j, out in enumerate(mask(by_scenario)) if out),
        single=frozenset(
            (made.models[m], scenarios[j]) for m in range(live.n_models) for j, out in enumerate(mask(single[m])) if out
        ),
        reason=f"withheld: fewer than {least} live {people}, or it would give away such a cell",
    )


def _people(codes: IntArray, cluster: IntArray, n: int) -> IntArray:
    """Return how many clusters stand behind each code."""
    pairs = np.unique(np.stack([codes, cluster]), axis=1)
    return np.bincount(pairs[0], minlength=n).astype(np.int64)


_CLUSTERS_FOR_INTERACTION = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSides:
    """Both sides by model and level of the first factor."""

    levels: tuple[str, ...]
    lab: CellRates
    live: CellRates


def two_sides(cells: Cells, live: CellSums, material: Material) -> tuple[TwoSides, tuple[str, ...]]:
    """Sum the cells over all factors but the first, and keep the levels that both sides have."""
    every = list(dict.fromkeys(levels[0] for levels in cells.levels))
    to_level = np.array([every.index(levels[0]) for levels in cells.levels], dtype=np.int64)
    in_lab, in_live = (_names(every, to_level[side.cell[side.n > 0.0]]) for side in (cells.lab, live))
    kept = [at for at, name in enumerate(every) if name in in_lab and name in in_live]
    if not kept:
        raise CannotAnswerError(
            f"lab and live share no level of {cells.factors[0]}: the lab has {several(in_lab)}, live users {several(in_live)}; "
            "map the names onto each other"
        )
    place = np.full(len(every), -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    lab_rates = _rates(cells.lab, place[to_level], len(kept), material.lab)
    live_rates = _rates(live, place[to_level], len(kept), material.live)
    names = tuple(every[k] for k in kept)
    told = [
        f"{several(own)}: only {where} has it, so there is no gap to measure"
        for own, where in (
            ([name for name in in_lab if name not in names], "the lab"),
            ([name for name in in_live if name not in names], "the live side"),
        )
        if own
    ]
    return TwoSides(levels=names, lab=lab_rates, live=live_rates), tuple(told)


def _names(every: Sequence[str], codes: IntArray) -> list[str]:
    """Name the levels that some score has, without the one that stands for none."""
    return [every[int(code)] for code in np.unique(codes) if every[int(code)] != NO_LEVEL]


def _rates(sums: CellSums, level: IntArray, n_levels: int, side: Side) -> CellRates:
    own = level[sums.cell]
    keep = own >= 0
    return cell_rates(
        sums.cluster[keep],
        sums.model[keep],
        own[keep],
        sums.n[keep],
        sums.total[keep],
        n_clusters=sums.n_clusters,
        n_models=sums.n_models,
        n_cells=n_levels,
        low=side.low,
        high=side.high,
    )


def _notes(table: TwoSides, cells: Cells, used: np.ndarray, few: str, why_not: str) -> list[Note]:
    """Return what limits the gaps: other factors, lost models, too few clusters, scores that are all alike."""
    others = ", ".join(cells.factors[1:])
    short = [name for name, column in zip(table.levels, used.T, strict=True) if column.any() and not column.all()]
    n_flat = int(np.count_nonzero((table.lab.floor > 0.0) | (table.live.floor > 0.0)))
    alike = "all scores of a side are alike; their error is that of one success and one failure more"
    told: tuple[tuple[NoteKind, object, str], ...] = (
        (
            "choice",
            others,
            f"gaps are by {cells.factors[0]} alone: within a level the mix of {others} may differ between lab and live",
        ),
        (
            "missing",
            short,
            f"{several(short)}: the mean is over some of the models only, since others have too few scores there",
        ),
        ("fit", why_not, f"gaps are not pooled over models and scenarios: {why_not}"),
        ("few", few, few),
        ("few", n_flat, f"in {n_flat} of {table.lab.rate.size} cells {alike}"),
    )
    return [Note(kind=kind, text=text, caution=False) for kind, holds, text in told if holds]


def _few_clusters(table: TwoSides, found: Gaps) -> str:
    """Say why there is no test of interaction: at 8 clusters it rejected 12% of true hypotheses, at 30 3%."""
    fewest = np.minimum(table.lab.n_clusters, table.live.n_clusters).ravel()[np.isfinite(found.std_error)]
    typical = float(np.median(fewest)) if fewest.size else 0.0
    if not fewest.size or typical >= _CLUSTERS_FOR_INTERACTION:
        return ""
    what = f"whether models differ by scenario beyond noise is tested from {_CLUSTERS_FOR_INTERACTION} on"
    return f"a typical cell has {typical:.0f} clusters; {what}, and pooled gaps take errors as known that are not"


_METHOD = (
    "live minus lab by model and scenario, CR2 errors clustered on both sides, Welch t; Benjamini-Hochberg over the table; "
    "partially pooled by REML"
)


@one_thread
def scenario_gaps_of(material: Material) -> ScenarioGaps:
    """Set live scores against lab scores within each scenario: means over models, and each model.

    Where a cell combines several factors, the first counts and the others are summed over: a gap within a level may
    then come from another mix of the others. Lab errors are clustered and shared by models that were given the same
    items; live errors are clustered by user; the two sides are independent. Pooled gaps are shown beside raw ones and
    decide nothing; verdicts rest on false-coverage control (Benjamini & Yekutieli 2005,
    doi:10.1198/016214504000001907).
    """
    cells = material.cells
    if cells is None or cells.live is None:
        raise CannotAnswerError("there are no outcomes by scenario on both sides")
    table, dropped = two_sides(cells, cells.live, material)
    alone = np.eye(table.lab.rate.size)
    found = gaps(combined(table.lab, alone), combined(table.live, alone))
    own = _rows(material, table, found, several=False)
    used = _models_for_means(table)
    means_found = gaps(*(combined(side, _mean_weights(used)) for side in (table.lab, table.live)))
    means = _rows(material, table, means_found, several=True)
    pooled, why_not = _pooled(table, found)
    few = _few_clusters(table, found)
    return ScenarioGaps(
        factor=cells.factors[0],
        means=tuple(means),
        rows=tuple(_with_pooled(own, pooled, means, material.options)),
        tau_interaction=None if pooled is None else pooled.tau,
        p_interaction=None if pooled is None or few else pooled.p_value,
        conf_level=material.options.conf_level,
        method=_METHOD,
        notes=(*as_notes("left_out", dropped, caution=False), *_notes(table, cells, used, few, why_not)),
    )


def _models_for_means(table: TwoSides) -> np.ndarray:
    """Which models count in the mean of each scenario: those whose variance can be told on both sides."""
    return (table.lab.n_clusters > 1) & (table.live.n_clusters > 1)


def _mean_weights(used: np.ndarray) -> FloatArray:
    """Weights of the mean over models for each scenario, shape (n_levels, n_models * n_levels)."""
    n_models, n_levels = used.shape
    weights = np.zeros((n_levels, n_models, n_levels))
    for level in range(n_levels):
        weights[level, :, level] = used[:, level] / max(int(used[:, level].sum()), 1)
    return weights.reshape(n_levels, -1)


def _rows(material: Material, table: TwoSides, found: Gaps, *, several: bool) -> list[ScenarioGap]:
    """Turn the differences into rows with verdicts; `several`: each is a mean over models."""
    options = material.options
    tested = np.flatnonzero(np.isfinite(found.p_value))
    adjusted = np.full(found.p_value.size, np.nan)
    if tested.size:
        adjusted[tested] = benjamini_hochberg(found.p_value[tested])
    flagged = int((adjusted <= 1.0 - options.conf_level).sum())
    n_levels = len(table.levels)
    rows: list[ScenarioGap] = []
    for at in range(found.estimate.size):
        model, level = (None, at) if several else divmod(at, n_levels)
        base = _base(material, table, model, level)
        if base.estimate is None or found.reasons[at] is not None:
            rows.append(replace(base, verdict="invalid", reason=base.reason or found.reasons[at]))
            continue
        judged = _with_interval(base, found, at, options)
        rows.append(_with_verdict(judged, float(adjusted[at]), flagged / tested.size, options))
    return rows


def _base(material: Material, table: TwoSides, model: int | None, level: int) -> ScenarioGap:
    """Rates and counts of one row, without errors."""
    pick = slice(None) if model is None else slice(model, model + 1)
    used = _models_for_means(table)[:, level] if model is None else np.ones(1, dtype=np.bool_)
    lab, live = table.lab.rate[pick, level][used], table.live.rate[pick, level][used]
    known = lab.size > 0 and bool(np.isfinite(lab).all() and np.isfinite(live).all())
    return ScenarioGap(
        scenario=table.levels[level],
        model="" if model is None else material.models[model],
        estimate=float(live.mean() - lab.mean()) if known else None,
        lab=float(lab.mean()) if known or (lab.size and np.isfinite(lab).all()) else None,
        live=float(live.mean()) if known or (live.size and np.isfinite(live).all()) else None,
        n_lab=round(float(table.lab.n[pick, level].sum())),
        n_live=round(float(table.live.n[pick, level].sum())),
        reason=None if lab.size else "no model has two clusters of scores on both sides",
    )


def _with_interval(base: ScenarioGap, found: Gaps, at: int, options: Options) -> ScenarioGap:
    """Give one row its error and its interval."""
    estimate, error, df = (float(each[at]) for each in (found.estimate, found.std_error, found.df))
    half = t_quantile(options.conf_level, df) * error
    return replace(
        base,
        estimate=estimate,
        std_error=error,
        df=df,
        conf_low=estimate - half,
        conf_high=estimate + half,
        conf_level=options.conf_level,
        p_value=float(found.p_value[at]),
    )


def _with_verdict(row: ScenarioGap, p_adjusted: float, share_flagged: float, options: Options) -> ScenarioGap:
    """Decide one row: aligned by the narrower interval, gap by the adjusted p-value and interval."""
    level = options.conf_level
    flagged = p_adjusted <= 1.0 - level
    # Of m intervals, R of which are looked at because they are flagged, each is given at level 1 - R q / m.
    low, high = _ends(row, 1.0 - (share_flagged if flagged else 1.0) * (1.0 - level))
    narrow = _ends(row, 1.0 - 2.0 * (1.0 - level)) if level > 0.5 else None
    aligned = options.margin is not None and narrow is not None and max(-narrow[0], narrow[1]) < options.margin
    beyond = flagged and (low > 0.0 or high < 0.0)
    return replace(
        row,
        p_adjusted=p_adjusted,
        adjusted_low=low,
        adjusted_high=high,
        equivalence_low=None if narrow is None else narrow[0],
        equivalence_high=None if narrow is None else narrow[1],
        verdict="aligned" if aligned else "gap" if beyond else "inconclusive",
    )


def _ends(row: ScenarioGap, conf_level: float) -> tuple[float, float]:
    if row.estimate is None or row.std_error is None or row.df is None:
        return -np.inf, np.inf
    half = t_quantile(conf_level, row.df) * row.std_error
    return row.estimate - half, row.estimate + half


def _pooled(table: TwoSides, found: Gaps) -> tuple[PooledGaps | None, str]:
    """Pool the gaps that have an error; None and why where there is nothing to pool."""
    known = np.isfinite(found.std_error)
    grid = np.where(known, found.estimate, np.nan).reshape(table.lab.rate.shape)
    weights = np.eye(table.lab.rate.size)[known]
    try:
        sides = [combined(side, weights).covariance for side in (table.lab, table.live)]
        return pooled_gaps(grid, *sides), ""
    except (CannotAnswerError, np.linalg.LinAlgError) as error:
        return None, str(error)


def _with_pooled(
    rows: Sequence[ScenarioGap], pooled: PooledGaps | None, means: Sequence[ScenarioGap], options: Options
) -> list[ScenarioGap]:
    """Set the pooled gaps beside the raw ones, with the df of the mean of their scenario."""
    if pooled is None:
        return list(rows)
    df_of = {row.scenario: row.df for row in means}
    out: list[ScenarioGap] = []
    for row, value, error in zip(rows, pooled.value.ravel(), pooled.std_error.ravel(), strict=True):
        df = df_of[row.scenario]
        if not np.isfinite(value) or df is None:
            out.append(row)
            continue
        half = t_quantile(options.conf_level, df) * float(error)
        out.append(replace(row, pooled=float(value), pooled_low=float(value) - half, pooled_high=float(value) + half))
    return out
