"""The account beside a decomposition: each cell with its status, how lab items were weighted, and what to beware of."""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from evalstats.analysis.gaps.decomposing_tables import Tables
from evalstats.analysis.gaps.material import Material
from evalstats.analysis.gaps.mix_results import CellPart, Part, Weighting
from evalstats.stats.checks import FloatArray, too_few_clusters
from evalstats.stats.estimate import t_quantile
from evalstats.stats.gap.cell_linear import Linearised
from evalstats.stats.gap.poststratify import TRIM, cell_weights, raked_cells

_THIN = 10
_MOST_NAMES = 5


def cell_parts(
    tables: Tables,
    fit: Linearised,
    names: tuple[str, ...],
    part: Callable[[int, str], Part],
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


def raked_weighting(tables: Tables) -> Weighting | None:
    """Account for the weights of lab items by margins; None with a single factor."""
    codes = tables.codes()
    if not codes:
        return None
    items, wanted = tables.n_lab[tables.kept].max(0), mean_shares(tables)[1]
    masses, rounds, met = raked_cells(items, wanted, codes, trim=TRIM)
    used = masses > 0
    weight = np.where(used, masses / np.where(used, items, 1.0), 0.0)
    weight /= (weight * items).sum() / items[used].sum()
    margins: list[tuple[str, str, float, float]] = []
    missed: list[float] = []
    for place, (factor, code) in enumerate(zip(tables.factors, codes, strict=True)):
        has, want, got = (np.bincount(code, weights=mass) for mass in (items, wanted, masses / masses.sum()))
        missed.append(float(want[has == 0].sum()))
        names = sorted({level[place] for level in tables.levels})
        target = np.where(has > 0, want, 0.0) / want[has > 0].sum()
        margins.extend((factor, names[k], float(target[k]), float(got[k])) for k in np.flatnonzero(has > 0))
    return Weighting(
        method="raked",
        n=round(float(items.sum())),
        effective_n=float((weight * items).sum() ** 2 / (weight**2 * items).sum()),
        ratio=float(weight[used].max() / weight[used].min()),
        trim=TRIM,
        trimmed=float(items[weight >= TRIM * (1 - 1e-9)].sum() / items.sum()),
        converged=met,
        n_rounds=rounds,
        uncovered=max(missed),
        margins=tuple(margins),
    )


def warnings_of(material: Material, tables: Tables, fit: Linearised) -> tuple[str, ...]:
    """Return what a reader must know before using the parts."""
    out: list[str] = []
    lost = [name for place, name in enumerate(material.models) if place not in set(tables.kept.tolist())]
    if lost:
        out.append(f"without a cell that both sides have, and left out of the mean: {_list(lost)}")
    names = [material.models[int(place)] for place in tables.kept]
    for side, counts in (("lab", tables.n_lab), ("live", tables.n_live)):
        if side == "live" and not tables.counted:
            continue
        has = counts[tables.kept] > 0
        gaps = [f"{names[m]} in {tables.label(s)}" for m, s in np.argwhere(~has & has.any(0)).tolist()]
        if gaps:
            out.append(
                f"{side}: no outcome where other models have some: {_list(gaps)}; "
                "what the other side has there counts as unexplained for them and is not filled in"
            )
    if tables.comparable:
        alone = [f"{names[m]} in {tables.label(s)} ({side})" for side, m, s in fit.lonely if tables.common[m, s]]
        if alone:
            out.append(
                f"a single cluster holds a whole cell, so that its spread is guessed on the wide side: {_list(alone)}"
            )
        out.extend(_constant(tables, names))
    thin = [
        cell
        for cell in range(len(tables.levels))
        if _status(tables, cell, float(mean_shares(tables)[1][cell])) == "thin"
    ]
    if thin:
        out.append(
            f"fewer than {_THIN} lab items in {_list([tables.label(cell) for cell in thin])}: "
            "intervals that lean on them can be too short"
        )
    uncovered = mean_shares(tables)[1][(tables.n_lab[tables.kept] == 0).all(0)].sum()
    if uncovered > 0:
        out.append(
            f"the lab never covers {_share(float(uncovered))} of the live mix: nothing is known of the lab's rate there"
        )
    return tuple(out)


def _constant(tables: Tables, names: list[str]) -> list[str]:
    out: list[str] = []
    for side, table in (("lab", tables.lab), ("live", tables.live)):
        mean = table.total / table.n
        low, high = np.full(table.n_models, np.inf), np.full(table.n_models, -np.inf)
        np.minimum.at(low, table.model, mean)
        np.maximum.at(high, table.model, mean)
        same = [names[m] for m in np.flatnonzero(high - low <= 1e-12 * np.maximum(np.abs(high), 1e-300))]
        if same:
            out.append(f"{side}: all outcomes are equal for {_list(same)}; intervals hold the other side's noise alone")
    return out


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


def _list(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
