"""What of the gap is the mix of scenarios and what is behaviour within them; the lab standardised to the live mix."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from evalstats.analysis.gap.material import Cells, CellSums, Material
from evalstats.analysis.gap.result import CellPart, Decomposition, DecompositionRow, Weighting
from evalstats.analysis.result import Estimate
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note, NoteKind
from evalstats.document.numbers import several
from evalstats.errors import CannotAnswerError, Option
from evalstats.stats.checks import FloatArray, IntArray, too_few_clusters
from evalstats.stats.estimate import t_quantile
from evalstats.stats.standardisation import (
    CellTable,
    GapStatistic,
    Linearised,
    cell_table,
    cell_weights,
    linearised,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """What is decomposed: sums of the models that have a common cell, whose places in `Material.models` are `kept`.

    `comparable`: live rates are known and mean the same as the lab's. `counted`: live outcomes are known; else `live`
    holds one made row a cell, so that shares can be told and nothing else. `outside` are shares given from outside.
    `common` has the shape (n_kept, n_cells), `n_lab` and `n_live` (n_models, n_cells).
    """

    factors: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    lab: CellTable
    live: CellTable
    kept: IntArray
    comparable: bool
    counted: bool
    outside: FloatArray | None
    common: npt.NDArray[np.bool_]
    n_lab: FloatArray
    n_live: FloatArray

    def codes(self) -> tuple[IntArray, ...]:
        """For each factor the code of its level in each cell; none where there is a single factor."""
        if len(self.factors) < 2:
            return ()
        columns = [[level[place] for level in self.levels] for place in range(len(self.factors))]
        return tuple(np.unique(column, return_inverse=True)[1].astype(np.int64) for column in columns)

    def label(self, cell: int) -> str:
        """Name a cell for a reader."""
        return " / ".join(self.levels[cell])


def tables_of(material: Material) -> Tables:
    """Make the cells of both sides ready."""
    cells, options = material.cells, material.options
    if cells is None or (cells.live is None and not options.mix):
        raise CannotAnswerError(material.no_cells_reason or f"the live mix is unknown; give it with {Option('mix')}")
    outside: FloatArray | None = None
    if options.mix and options.mix_factor is not None:
        cells, outside = _onto_mix(cells, options.mix_factor, options.mix)
    n_lab = _counts(cells.lab)
    counted = cells.live is not None
    n_live = np.zeros_like(n_lab) if cells.live is None else _counts(cells.live)
    wanted = n_live > 0 if outside is None else np.broadcast_to(outside > 0, n_lab.shape)
    comparable = counted and material.same_scale
    common = (n_lab > 0) & wanted & ((n_live > 0) | (not comparable))
    kept = np.flatnonzero(common.any(1)).astype(np.int64)
    if kept.size == 0:
        raise CannotAnswerError(
            f"no model has a combination of {' and '.join(cells.factors)} on both sides; "
            f"the lab has {_named(cells, n_lab > 0)}, live {_named(cells, wanted)}"
        )
    return Tables(
        factors=cells.factors,
        levels=cells.levels,
        lab=_table(cells.lab, kept),
        live=_made(n_lab[kept].shape) if cells.live is None else _table(cells.live, kept),
        kept=kept,
        comparable=comparable,
        counted=counted,
        outside=outside,
        common=common[kept],
        n_lab=n_lab,
        n_live=n_live,
    )


def _onto_mix(cells: Cells, factor: str, mix: Mapping[str, float]) -> tuple[Cells, FloatArray]:
    """Collapse cells to the factor that the mix is of; levels that no side has become cells of their own."""
    place = cells.factors.index(factor)
    own = [level[place] for level in cells.levels]
    names = sorted({*own, *mix})
    code = np.array([names.index(name) for name in own], dtype=np.int64)

    lab, live = (
        None if side is None else replace(side, cell=code[side.cell], n_cells=len(names))
        for side in (cells.lab, cells.live)
    )
    shares = np.array([mix.get(name, 0.0) for name in names], dtype=np.float64)
    levels = tuple((name,) for name in names)
    return Cells(factors=(factor,), levels=levels, lab=lab or cells.lab, live=live), shares / shares.sum()


def _counts(side: CellSums) -> FloatArray:
    place = side.model * side.n_cells + side.cell
    counts = np.bincount(place, weights=side.n, minlength=side.n_models * side.n_cells)
    return counts.astype(np.float64).reshape(side.n_models, side.n_cells)


def _table(side: CellSums, kept: IntArray) -> CellTable:
    """Cut a side to the models kept, coded in their order."""
    code = np.full(side.n_models, -1, dtype=np.int64)
    code[kept] = np.arange(kept.size)
    at = np.flatnonzero(code[side.model] >= 0)
    return cell_table(
        side.cluster[at],
        code[side.model[at]],
        side.cell[at],
        side.n[at],
        side.total[at],
        n_models=kept.size,
        n_cells=side.n_cells,
    )


def _made(shape: tuple[int, int]) -> CellTable:
    model, cell = np.divmod(np.arange(shape[0] * shape[1]), shape[1])
    ones = np.ones(model.size)
    return cell_table(np.zeros_like(model), model, cell, ones, ones * 0.0, n_models=shape[0], n_cells=shape[1])


def _named(cells: Cells, has: npt.NDArray[np.bool_]) -> str:
    return several([cells.label(int(cell)) for cell in np.flatnonzero(has.any(0))], _MOST_NAMES)


_THIN = 10
_MOST_NAMES = 5


def cell_parts(
    tables: Tables,
    fit: Linearised,
    names: tuple[str, ...],
    part: Callable[[int, str], Estimate],
    conf_level: float,
) -> tuple[CellPart, ...]:
    """Return every cell with its shares, rates, status and contributions, means over the models decomposed."""
    lab_share, live_share = mean_shares(tables)
    lab_rate, live_rate = _mean_rates(tables)
    last = tables.kept.size
    out: list[CellPart] = []
    for cell in range(len(tables.levels)):
        covered = bool(tables.common[:, cell].any())
        share = (None, None)
        if tables.outside is None:
            share = _share_ends(fit, names.index(f"live share {cell}"), float(live_share[cell]), conf_level, tables)
        out.append(
            CellPart(
                cell=tables.label(cell),
                lab_share=float(lab_share[cell]),
                live_share=float(live_share[cell]),
                live_share_low=share[0],
                live_share_high=share[1],
                lab_rate=lab_rate[cell],
                live_rate=live_rate[cell] if tables.counted else None,
                mix=part(last, f"mix {cell}") if covered and tables.comparable else None,
                behaviour=part(last, f"behaviour {cell}") if covered and tables.comparable else None,
                n_lab=round(float(tables.n_lab[tables.kept, cell].max())),
                n_live=round(float(tables.n_live[tables.kept, cell].sum())),
                status=_status(tables, cell, float(live_share[cell])),
            )
        )
    return tuple(out)


def mean_shares(tables: Tables) -> tuple[FloatArray, FloatArray]:
    """Return the mean over models of the share of each cell, in the lab and live."""
    lab = tables.n_lab[tables.kept]
    lab_share = (lab / lab.sum(1, keepdims=True)).mean(0)
    if tables.outside is not None:
        return lab_share, tables.outside
    live = tables.n_live[tables.kept]
    return lab_share, (live / live.sum(1, keepdims=True)).mean(0)


def post_weighting(tables: Tables) -> Weighting:
    """Account for the weights of lab items by joint cells."""
    items, wanted = tables.n_lab[tables.kept].max(0), mean_shares(tables)[1]
    weights = cell_weights(items, wanted)
    return Weighting(
        method="post-stratified",
        n=round(float(items.sum())),
        effective_n=weights.effective_n,
        ratio=weights.ratio,
        uncovered=weights.uncovered,
    )


def notes_of(material: Material, tables: Tables, fit: Linearised) -> tuple[Note, ...]:
    """Return what limits the parts."""
    names = [material.models[int(place)] for place in tables.kept]
    lost = [name for name in material.models if name not in names]
    live_share = mean_shares(tables)[1]
    sides = (("lab", tables.lab, tables.n_lab), ("live", tables.live, tables.n_live))
    missing: list[str] = []
    for side, _, counts in sides if tables.counted else sides[:1]:
        has = counts[tables.kept] > 0
        gaps = [f"{names[m]} in {tables.label(s)}" for m, s in np.argwhere(~has & has.any(0)).tolist()]
        if gaps:
            missing.append(
                f"{side}: no outcome where other models have some: {several(gaps, _MOST_NAMES)}; "
                "what the other side has there counts as unexplained for them and is not filled in"
            )
    few: list[str] = []
    if tables.comparable:
        alone = [f"{names[m]} in {tables.label(s)} ({side})" for side, m, s in fit.lonely if tables.common[m, s]]
        if alone:
            few.append(
                "a single cluster holds a whole cell, so that its spread is guessed on the wide side: "
                f"{several(alone, _MOST_NAMES)}"
            )
        few += [
            f"{side}: all outcomes are equal for {several(same, _MOST_NAMES)}; intervals hold the other side's noise alone"
            for side, table, _ in sides
            if (same := [names[m] for m in _constant(table)])
        ]
    cells = [tables.label(s) for s, share in enumerate(live_share) if _status(tables, s, float(share)) == "thin"]
    if cells:
        few.append(
            f"fewer than {_THIN} lab items in {several(cells, _MOST_NAMES)}: intervals that lean on them can be too short"
        )
    uncovered = float(live_share[(tables.n_lab[tables.kept] == 0).all(0)].sum())
    if uncovered > 0:
        few.append(
            f"the lab never covers {_share(uncovered)} of the live mix: nothing is known of the lab's rate there"
        )
    out = (
        [f"without a cell that both sides have, and left out of the mean: {several(lost, _MOST_NAMES)}"] if lost else []
    )
    told: tuple[tuple[NoteKind, list[str]], ...] = (("left_out", out), ("missing", missing), ("few", few))
    return tuple(note for kind, texts in told for note in as_notes(kind, texts, caution=False))


def _constant(table: CellTable) -> list[int]:
    """Return the models whose outcomes are all equal."""
    mean = table.total / table.n
    low, high = np.full(table.n_models, np.inf), np.full(table.n_models, -np.inf)
    np.minimum.at(low, table.model, mean)
    np.maximum.at(high, table.model, mean)
    return np.flatnonzero(high - low <= 1e-12 * np.maximum(np.abs(high), 1e-300)).tolist()


def _status(
    tables: Tables, cell: int, live_share: float
) -> Literal["covered", "lab never covers", "live never brings", "thin"]:
    items = float(tables.n_lab[tables.kept, cell].max())
    if items <= 0:
        return "lab never covers"
    if live_share <= 0:
        return "live never brings"
    return "thin" if items < _THIN else "covered"


def _mean_rates(tables: Tables) -> tuple[list[float | None], list[float | None]]:
    out: list[list[float | None]] = []
    for table in (tables.lab, tables.live):
        n, total = table.sums()
        some = n > 0
        rates = np.divide(total, n, out=np.zeros_like(n), where=some)
        out.append([float(rates[some[:, s], s].mean()) if some[:, s].any() else None for s in range(n.shape[1])])
    return out[0], out[1]


def _share_ends(
    fit: Linearised, column: int, share: float, conf_level: float, tables: Tables
) -> tuple[float | None, float | None]:
    """Interval of a live share on the logit scale, so that it stays between 0 and 1."""
    variance = float(fit.live_variance[-1, column])
    if not 0.0 < share < 1.0 or variance <= 0.0 or too_few_clusters(tables.live.n_clusters) is not None:
        return None, None
    reach = t_quantile(conf_level, float(fit.live_df[-1, column])) * math.sqrt(variance) / (share * (1.0 - share))
    middle = math.log(share / (1.0 - share))
    return _expit(middle - reach), _expit(middle + reach)


def _expit(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x)) if x > -700.0 else 0.0


def _share(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


_METHOD = (
    "Kitagawa's decomposition, symmetric in the two sides, by cells of {factors}; intervals by linearisation over clusters "
    "of either side, the lab's shares taken as chosen and the live ones as estimated, Student's t with Satterthwaite df"
)
_POST = (
    "The lab's rates in live shares of {factors} (post-stratified); intervals by linearisation over clusters, Student's t "
    "with Satterthwaite df"
)
# A variance below this share of the square of what is estimated is rounding.
_ROUNDING = 1e-24


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """Statistics with their errors, and what decides whether an interval can be had."""

    fit: Linearised
    names: tuple[str, ...]
    lab_clusters: IntArray
    live_clusters: IntArray
    conf_level: float
    bounds: tuple[float | None, float | None]
    live_known: bool
    shares_known: bool

    def part(self, row: int, name: str) -> Estimate:
        """Return one statistic of one model (the last row is the mean over models) with its interval."""
        at = (row, self.names.index(name))
        estimate, variance = float(self.fit.estimate[at]), float(self.fit.variance[at])
        reason = self._reason(row, name, variance, estimate)
        if reason is not None:
            return Estimate(estimate=estimate, reason=reason)
        std_error = variance**0.5
        reach = t_quantile(self.conf_level, float(self.fit.df[at])) * std_error
        low, high = estimate - reach, estimate + reach
        if name in ("lab", "live", "poststratified"):
            least, most = self.bounds
            low, high = low if least is None else max(low, least), high if most is None else min(high, most)
        return Estimate(
            estimate=estimate, std_error=std_error, conf_low=low, conf_high=high, conf_level=self.conf_level
        )

    def _reason(self, row: int, name: str, variance: float, estimate: float) -> str | None:
        needs_lab = name != "live" and not name.startswith("live share")
        needs_live = name != "lab" and (self.live_known or not self.shares_known)
        if name == "poststratified" and self.shares_known:
            needs_live = False
        for needed, side, clusters in (
            (needs_lab, "lab", self.lab_clusters),
            (needs_live, "live", self.live_clusters),
        ):
            few = too_few_clusters(int(clusters[row])) if needed else None
            if few is not None:
                return f"{side}: {few}"
        if variance <= _ROUNDING * max(estimate**2, 1e-12):
            return "it rests on a single cell or on outcomes that are all equal, so its error is unknown"
        return None


def decomposition_of(material: Material) -> Decomposition:
    """Decompose live minus lab into mix of cells, behaviour within cells, and what the design leaves unexplained.

    Each model is decomposed by its own shares; `overall` is the mean over models. A model that has no outcome in a cell
    on one side is compared on the cells it has on both; the rest is `unexplained`: a rate that was not seen is never
    filled in. Where live outcomes are missing or on another scale, only the lab's score for the live mix is told.

    The lab's shares are what its authors chose and have no error; drawn as if at random they made the interval of the
    mix up to four times too wide. By simulation with 60 to 200 lab clusters and 300 users of unequal activity
    linearised intervals hold the truth 92% to 97% of the time, as a joint bootstrap does; with six items in the
    thinnest cell and rates near 0.9 90%.
    """
    tables = tables_of(material)
    statistic = GapStatistic(common=tables.common, factors=tables.codes(), outside=tables.outside)
    average = np.arange(tables.kept.size)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = linearised(statistic, tables.lab, tables.live, average, fixed_lab_shares=True)
    fit = _Fit(
        fit=found,
        names=statistic.names,
        lab_clusters=np.append(tables.lab.clusters_of_models(), tables.lab.n_clusters),
        live_clusters=np.append(tables.live.clusters_of_models(), tables.live.n_clusters),
        conf_level=material.options.conf_level,
        bounds=(material.lab.low, material.lab.high),
        live_known=tables.comparable,
        shares_known=tables.outside is not None,
    )
    places = {int(model): row for row, model in enumerate(tables.kept)}
    rows = tuple(_row(name, places.get(place), place, fit, tables) for place, name in enumerate(material.models))
    words = _METHOD if tables.comparable else _POST
    items, sessions = tables.n_lab[tables.kept].max(0).sum(), tables.n_live[tables.kept].sum()
    return Decomposition(
        factors=tables.factors,
        overall=_decomposed("", tables.kept.size, fit, tables, (round(float(items)), round(float(sessions)))),
        rows=rows,
        cells=cell_parts(tables, found, statistic.names, fit.part, material.options.conf_level),
        weighting=post_weighting(tables),
        mix_source="counted in the live data"
        if tables.outside is None
        else material.options.mix_source or "given from outside",
        conf_level=material.options.conf_level,
        method=words.format(factors=" x ".join(tables.factors)),
        notes=notes_of(material, tables, found),
    )


def _row(name: str, place: int | None, model: int, fit: _Fit, tables: Tables) -> DecompositionRow:
    counts = round(float(tables.n_lab[model].sum())), round(float(tables.n_live[model].sum()))
    if place is not None:
        return _decomposed(name, place, fit, tables, counts)
    why = f"{name} has no cell with outcomes on both sides"
    bare = dict.fromkeys(("lab", "live", "total", "mix", "behaviour"), Estimate(estimate=None, reason=why))
    return DecompositionRow(model=name, **bare, n_lab=counts[0], n_live=counts[1], reason=why)


def _decomposed(name: str, row: int, fit: _Fit, tables: Tables, counts: tuple[int, int]) -> DecompositionRow:
    why = None if tables.comparable else _no_live_rate(tables)

    def part(which: str) -> Estimate:
        return fit.part(row, which) if why is None else Estimate(estimate=None, reason=why)

    factors = tables.factors if len(tables.factors) > 1 and why is None else ()
    return DecompositionRow(
        model=name,
        lab=fit.part(row, "lab"),
        live=part("live"),
        total=part("total"),
        mix=part("mix"),
        behaviour=part("behaviour"),
        poststratified=fit.part(row, "poststratified"),
        unexplained=fit.part(row, "unexplained") if why is None and _uncovered(tables, row) else None,
        factors=tuple((factor, fit.part(row, f"factor {place}")) for place, factor in enumerate(factors)),
        n_lab=counts[0],
        n_live=counts[1],
        reason=why,
    )


def _uncovered(tables: Tables, row: int) -> bool:
    """Whether a model (any of them, for the mean) has a cell on one side alone."""
    live = (
        tables.n_live[tables.kept] if tables.outside is None else np.broadcast_to(tables.outside, tables.common.shape)
    )
    alone = ((tables.n_lab[tables.kept] > 0) | (live > 0)) & ~tables.common
    return bool(alone.any() if row == tables.kept.size else alone[row].any())


def _no_live_rate(tables: Tables) -> str:
    if tables.counted:
        return "live outcomes are on another scale than the lab's, so that only the lab's score for the live mix can be told"
    return "live has no outcomes by scenario, so that only the lab's score for the mix given can be told"
