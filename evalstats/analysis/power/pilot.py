"""What a plan takes from a pilot: the spread of its differences and where that comes from, never the difference itself."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from evalstats.aggregate.items import HELPER, ITEM_KEY, item_sums
from evalstats.analysis.arms import Arm, Metric, choose_metric, make_arm, rows_named, shared_benchmarks
from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.grouping import chosen_clusters, group_columns, named_clusters, with_item_column
from evalstats.analysis.pairs import Pairs, pair_items
from evalstats.analysis.power.basis import Basis, Floats, Units
from evalstats.analysis.provenance import dependence_warnings, run_notes
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import number, plural
from evalstats.errors import CannotAnswerError, InputError
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.planning.clusters import shares_with_df
from evalstats.stats.planning.variance_components import DifferenceParts, difference_parts

_ROUNDING = 1e-12
_SIDE, _AVERAGED = f"{HELPER}side", f"{HELPER}averaged"


def from_pilot(
    pilot: EvalData | Comparison | object,
    baseline: str | None,
    candidate: str | None,
    *,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    contrast: str,
    conf_level: float,
) -> Basis:
    """Take the spread of the differences from a pilot; its own difference is never used.

    Raises
    ------
    InputError
        If the two systems are not named, or what `compare` refuses.
    CannotAnswerError
        If the pilot's differences have no spread.
    """
    if isinstance(pilot, Comparison):
        if baseline is not None or candidate is not None or metric is not None or cluster is not None:
            raise InputError("a Comparison has its systems, metric and clusters already; give none of them again")
        return _checked(_from_comparison(pilot))
    if baseline is None or candidate is None:
        raise InputError("a pilot needs its two systems: name them with baseline and candidate")
    data = as_data(pilot)
    result = compare(
        data, baseline, candidate, metric=metric, cluster=cluster, contrast=contrast, conf_level=conf_level
    )
    return _checked(_from_data(data, result, cluster, contrast))


def _checked(basis: Basis) -> Basis:
    if len(basis.parts.sizes) == 1:
        raise CannotAnswerError(
            "the pilot has 1 cluster, so it cannot tell how much clusters differ; use a pilot with several, or plan without "
            "cluster"
        )
    if basis.discordance is None and basis.parts.variance() <= 0.0:
        raise CannotAnswerError(
            "the two systems differ by the same amount on every item of the pilot, so its spread tells nothing; use another "
            "pilot, or say how much they differ (discordance, accuracy or variance)"
        )
    return basis


def _units_of(metric: Metric) -> Units:
    return Units(
        share=metric.is_share,
        unit=metric.shown_unit,
        percent=metric.is_percent,
        span=metric.span,
        metric=metric.name,
        benchmark=metric.benchmark,
    )


def _from_data(data: EvalData, result: Comparison, cluster: str | Sequence[str] | None, contrast: str) -> Basis:
    column = contrast if contrast == "model" else data.factor(contrast)
    names = (result.baseline.name, result.candidate.name)
    sides = [
        rows_named(data.outcomes, name, contrast=column, role=role)
        for name, role in zip(names, ("baseline", "candidate"), strict=True)
    ]
    shared = shared_benchmarks(sides[0], sides[1], names)
    both = pl.concat(sides).filter(pl.col("benchmark").is_in(shared))
    chosen = choose_metric(data, both, result.metric)
    arms = [
        make_arm(rows, name, chosen, role=role)
        for rows, name, role in zip(sides, names, ("baseline", "candidate"), strict=True)
    ]
    named = named_clusters(data, cluster)
    groups = [name for name in group_columns(data.outcomes) if name != column]
    pairs = with_item_column(pair_items(arms[0], arms[1], factors=sorted({*named, *groups}), contrast=column))
    runs = tuple(sorted({*arms[0].runs, *arms[1].runs}))
    columns, _ = chosen_clusters(data, pairs, cluster, runs, contrast=column)
    paired = pairs.subset(pairs.paired)
    codes = [paired.codes(name) for name in columns]
    coarsest = min(codes, key=lambda each: len(np.unique(each))) if codes else None
    differences = paired.candidate.means() - paired.baseline.means()
    parts = difference_parts(
        differences,
        clusters=coarsest,
        trial_variances=(_trial_variances(arms[0], paired), _trial_variances(arms[1], paired)),
        n_trials=(paired.baseline.n_scored.astype(np.float64), paired.candidate.n_scored.astype(np.float64)),
    )
    several = len(columns) > 1
    single = bool(np.isin(differences, (-1.0, 0.0, 1.0)).all()) and chosen.kind == "binary"
    discordant = int(np.count_nonzero(differences)) if single and parts.n_trials == (1.0, 1.0) else None
    told = [*parts.notes, *(["of several cluster columns the plan goes by the one with the fewest"] if several else [])]
    shell = _shell(result, _units_of(chosen), parts, discordant)
    return replace(
        shell,
        pool=differences if np.ptp(differences) > _ROUNDING else None,
        notes=(*run_notes(data, runs), *shell.notes, *as_notes("choice", told, caution=False)),
    )


def _trial_variances(arm: Arm, paired: Pairs) -> Floats:
    """Return the sample variance of each item's trials; NaN below two trials, or where only averages are known."""
    key = [name for name in ITEM_KEY if name in paired.items.columns]
    rows = arm.rows.with_columns(
        (pl.col("trial").is_null() & (pl.col("n_trials").fill_null(1) > 1)).alias(_AVERAGED),
        pl.lit("").alias(_SIDE),
    )
    known = rows.group_by(key).agg(pl.col(_AVERAGED).any())
    sums = item_sums(rows, arm=_SIDE, key=key).join(known, on=key, how="left")
    own = paired.items.select(key).join(sums, on=key, how="left", maintain_order="left")
    n, total, squares = (own[name].to_numpy().astype(np.float64) for name in ("n_scored", "total", "total_sq"))
    usable = (n >= 2) & ~own[_AVERAGED].fill_null(value=True).to_numpy()
    variance = np.full(n.size, np.nan)
    variance[usable] = np.maximum(squares[usable] - total[usable] ** 2 / n[usable], 0.0) / (n[usable] - 1)
    return variance


def _from_comparison(result: Comparison) -> Basis:
    units = Units(
        share=result.scale != 1.0,
        unit=result.unit,
        percent=result.scale == 1.0 and result.unit == "pp",
        span=1.0 if result.scale != 1.0 else None,
        metric=result.metric,
        benchmark=result.benchmark,
    )
    parts = _parts_of(result)
    text = "a Comparison holds no single trials, so trial noise is counted among the items'"
    note = Note(kind="choice", text=text, remedy="Give the data to split it", caution=False)
    table = result.table
    discordant = None if table is None else table.only_candidate + table.only_baseline
    shell = _shell(result, units, parts, discordant)
    return replace(shell, notes=(*shell.notes, note)) if parts.n_trials != (1.0, 1.0) else shell


def _parts_of(result: Comparison) -> DifferenceParts:
    """Read the parts of the variance back from a standard error, its degrees of freedom and the design effect."""
    n, k = result.n_items, max(1.0, result.n_trials / (2.0 * max(1, result.n_items)))
    plain = DifferenceParts(
        cluster=None,
        item=0.0,
        trials=(None, None),
        cluster_raw=None,
        item_raw=0.0,
        sizes=(),
        n_items=n,
        n_trials=(k, k),
    )
    if result.table is not None and result.n_clusters is None:
        counts = result.table
        shares = (counts.only_candidate + counts.only_baseline) / n, (counts.only_candidate - counts.only_baseline) / n
        return replace(plain, item=max(0.0, shares[0] - shares[1] ** 2))
    if result.std_error is None or n < 2:
        raise CannotAnswerError(f"the pilot has no standard error to plan by: {result.verdict_reason}")
    if result.n_clusters is None:
        # The standard error of the augmented t is that of a mean over two items more.
        grown = (n + 2) / n if result.method.startswith("augmented") else 1.0
        return replace(plain, item=n * (grown * result.std_error) ** 2)
    if result.df is None or result.design_effect is None:
        raise CannotAnswerError(f"the pilot's clusters give no standard error to plan by: {result.verdict_reason}")
    shares = shares_with_df(result.n_clusters, result.df)
    total = n * result.std_error**2 / result.design_effect
    room = n * float((shares**2).sum()) - 1.0
    icc = min(1.0, max(0.0, (result.design_effect - 1.0) / room)) if room > 0.0 else 0.0
    within = total * (1.0 - icc)
    sizes = tuple(max(1, round(share * n)) for share in shares.tolist())
    return replace(
        plain, cluster=icc * total, cluster_raw=icc * total, item=within, item_raw=within, n_items=n, sizes=sizes
    )


def _shell(result: Comparison, units: Units, parts: DifferenceParts, discordant: int | None) -> Basis:
    """Return what a comparison tells whichever way its parts were found."""
    what = f"{result.candidate.name} against {result.baseline.name} on {result.benchmark} ({result.metric})"
    counted = [plural(result.n_items, "item")]
    if parts.sizes:
        counted.append(f"{plural(len(parts.sizes), 'cluster')} ({' and '.join(result.clusters)})")
    if max(parts.n_trials) > 1:
        told = " and ".join(number(k, 1).removesuffix(".0") for k in dict.fromkeys(parts.n_trials))
        counted.append(f"{told} trials an item")
    return Basis(
        units=units,
        parts=parts,
        rule="cr2" if parts.sizes else "augmented-t" if result.method.startswith("augmented") else "t",
        discordance=None if discordant is None else discordant / result.n_items,
        is_pilot=True,
        lattice=result.metric_kind in ("binary", "proportion"),
        discordant=discordant,
        df=parts.df(),
        std_error=result.std_error,
        seen=result.estimate,
        clusters=result.clusters,
        words=f"{what}: {', '.join(counted)}",
        notes=as_notes("dependence", dependence_warnings(result.dependence)),
    )
