"""What a plan starts from: numbers that somebody assumes, or a pilot of two systems on the same items."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import polars as pl

from evalstats.analysis.compare.compare import compare
from evalstats.analysis.compare.result import Comparison, Comparisons
from evalstats.analysis.design.clusters import chosen_clusters, group_columns, label_of, named_clusters
from evalstats.analysis.design.metric import both_systems, metrics_of_both, suite_between
from evalstats.analysis.provenance import run_notes
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import number, scaled
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import comma_list, plural, quoted_list
from evalstats.record import record
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.planning.clusters import Rule, gamma_shares, shares_with_df
from evalstats.stats.planning.mean import DifferenceParts, Pair, difference_parts, harmonic_mean
from evalstats.stats.planning.power import discordant_shares
from evalstats.table.items import HELPER, ITEM_KEY
from evalstats.table.score_table import ScoreTable, refuse_unpaired
from evalstats.table.systems import only_two

Floats = npt.NDArray[np.float64]

_AMOUNT = re.compile(r"\s*([-+\N{MINUS SIGN}]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))\s*(?:(pp|%|percent)\s*)?")
_PATTERN = 60  # clusters in the pattern of sizes that stands for a coefficient of variation
_WHOLE = 1000
_LEAST = 1e-9


def in_points(value: float | str | None) -> bool:
    """Whether an amount is written in percentage points."""
    match = _AMOUNT.fullmatch(value) if isinstance(value, str) else None
    return bool(match and match[2])


def plain_amount(value: float | str, what: str = "delta") -> float:
    """Return an amount as a number, percentage points as a share of 1.

    >>> plain_amount("3pp"), plain_amount("0.2")
    (0.03, 0.2)
    """
    if not isinstance(value, str):
        return float(value)
    match = _AMOUNT.fullmatch(value)
    if match is None:
        option = what.replace("_", "-")
        like = "20% or 0.2" if what in {"discordance", "accuracy"} else "3pp for three percentage points, or a number"
        raise InputError(f"--{option} {value!r} is no amount; write {like}")
    amount = float(match[1].replace("\N{MINUS SIGN}", "-"))
    return amount / 100 if match[2] else amount


@record
class Basis:
    """What is known, or assumed, about the differences of single items.

    Differences are shares of 1, shown in percentage points, where `share` is true, else in the metric's own unit, of which
    `percent` tells that it is percentage points already; none is larger than `span`.

    `discordance` is None unless scores are right or wrong with one trial each; `lattice`: every trial is right or
    wrong. `pool` are the differences of a pilot, whose shape simulated noise takes, and `rule` is what `compare` uses
    on such data. `different` names what the sides do not share, where nothing is paired: parts are then those of both sides, and
    an `accuracy` of the baseline stands for right-or-wrong scores. `n_tasks` are those of a suite. `seen`, the difference of the
    pilot, is only held against a `delta` that somebody took from it, and `ends`, its interval in the candidate's favour, against
    one that is assumed.
    """

    share: bool
    unit: str = ""
    percent: bool = False
    span: float | None = None
    parts: DifferenceParts
    rule: Rule
    discordance: float | None = None
    pool: Floats | None = None
    is_pilot: bool = False
    lattice: bool = False
    different: str = ""
    accuracy: float | None = None
    n_tasks: int | None = None
    discordant: int | None = None
    df: float | None = None
    std_error: float | None = None
    seen: float | None = None
    ends: tuple[float, float] | None = None
    pilot: str = ""
    benchmark: str = ""
    metric: str = ""
    assumptions: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def scale(self) -> float:
        """What to multiply by when showing a difference."""
        return 100.0 if self.share else 1.0

    def read(self, value: float | str | None, what: str) -> float | None:
        """Return an amount in the metric's own unit; "3pp" is three percentage points."""
        if value is None:
            return None
        amount = plain_amount(value, what)
        if in_points(value) and not self.share:
            if not self.percent:
                raise InputError(f"{what} {value!r} is in percentage points, and the metric is no share of 1")
            amount *= 100
        if not math.isfinite(amount):
            raise InputError(f"{what} is {value}; give a finite number")
        if self.span is not None and abs(amount) > self.span:
            raise InputError(
                f"{what} is {value}, and no difference is larger than {self.span:g}; percentage points are written 3pp"
            )
        return amount

    def words(self, value: float | None, digits: int = 2) -> str:
        """Write a difference with its unit."""
        return f"{scaled(value, self.scale, digits)} {self.unit}".rstrip()

    @property
    def clustered(self) -> bool:
        """Whether items come in clusters."""
        return bool(self.parts.sizes)

    @property
    def single(self) -> bool:
        """Whether every cluster holds one item, so that clusters and items cannot be told apart."""
        return self.clustered and self.parts.cluster is None

    @property
    def cluster_size(self) -> float:
        """Mean number of items of a cluster."""
        return self.parts.n_items / len(self.parts.sizes) if self.parts.sizes else 1.0

    def independent(self) -> "Basis":
        """Take the items as independent, whatever the clusters."""
        parts = self.parts
        item = parts.item + (parts.cluster or 0.0)
        return replace(self, parts=replace(parts, cluster=None, item=item, sizes=()))


def from_numbers(
    *,
    discordance: float | None,
    accuracy: float | None,
    variance: float | Mapping[str, float] | None,
    icc: float | None,
    cluster_size: float | None,
    cluster_cv: float,
    n_trials: Pair,
    delta: float | None,
    points: bool,
    paired: bool = True,
) -> Basis:
    """Take the spread of the differences from numbers that the user gives, `delta` being the true difference.

    Of two sides that are not paired the variance is that of either side's scores, and `accuracy` the baseline's.
    """
    if discordance is not None and not paired:
        raise InputError(
            f"{Option('discordance')} is of items that both systems answer; of different users give {Option('accuracy')} (of the "
            f"baseline) or {Option('variance')} (of the scores of either side)"
        )
    given = {"discordance": discordance, "accuracy": accuracy, "variance": variance}
    named = [name for name, value in given.items() if value is not None]
    if len(named) != 1:
        found = (
            f"both {' and '.join(named)} were given"
            if named
            else "nothing says how much the two differ on single items"
        )
        raise InputError(
            f"{found}; give one of {Option('discordance')} (share of items that only one of them gets right), "
            f"{Option('accuracy')} (of the baseline), {Option('variance')} (of the item differences), or a pilot with "
            f"{Option('pilot', blank='FILE')}"
        )
    if variance is not None:
        variances = variance if isinstance(variance, Mapping) else {"item": float(variance)}
        told = ", ".join(f"{name} {value:g}" for name, value in variances.items())
        assumption = f"variance of the {'item differences' if paired else 'scores of either side'} (assumed): {told}"
        share = points
        if not paired:
            variances = {name: value * (1.0 if name.startswith("trial") else 2.0) for name, value in variances.items()}
    else:
        if max(n_trials) > 1:
            raise InputError(
                "discordance and accuracy are for one trial an item; with several trials give variance as item and trial "
                "parts, or a pilot"
            )
        if discordance is None:
            # The variance of two that err independently, delta^2 more, is also that of two groups.
            discordance, assumption = _discordance_of(accuracy or 0.0, delta or 0.0)
            if not paired:
                assumption = f"The baseline succeeds on {100 * (accuracy or 0.0):g}% of its rows (assumed)"
        else:
            discordant_shares(discordance, delta or 0.0)
            assumption = f"Exactly one of the two gets an item right on {100 * discordance:g}% of the items (assumed)"
        # The variance follows the difference: discordance - delta^2. Only its split counts here.
        variances, share = {"item": max(discordance, _LEAST)}, True
    parts = _assumed_parts(variances, icc=icc, cluster_size=cluster_size, cluster_cv=cluster_cv, n_trials=n_trials)
    return Basis(
        share=share,
        unit="pp" if share else "",
        span=1.0 if share else None,
        parts=parts,
        rule="cr2" if parts.sizes else "t",
        discordance=discordance if paired else None,
        lattice=paired and discordance is not None,
        different="" if paired else "users",
        accuracy=None if paired else accuracy,
        assumptions=(assumption,),
    )


def _discordance_of(accuracy: float, delta: float) -> tuple[float, str]:
    """Return the share of items that one alone gets right if errors of the two are independent, and that this is assumed."""
    other = accuracy + delta
    if not 0.0 < accuracy < 1.0:
        raise InputError(f"accuracy is {accuracy:g}; give one between 0 and 1, such as 0.8 or 80%")
    if not 0.0 <= other <= 1.0:
        said = (
            f"a system at {100 * accuracy:g}% cannot be {100 * abs(delta):g} pp {'better' if delta > 0 else 'worse'}: "
            f"{100 * other:g}% lies outside 0 to 100%; give a smaller difference"
        )
        if 0.0 <= accuracy - delta <= 1.0:
            which = "a drop" if delta > 0 else "a gain"
            said += f", or plan for {which} with {Option('delta', f'{-100 * delta:g}pp')}"
        raise InputError(said)
    discordance = accuracy + other - 2.0 * accuracy * other
    return discordance, (
        f"Exactly one of the two gets an item right on {100 * discordance:.3g}% of the items, as if errors of the two had "
        "nothing to do with each other; on shared items systems usually differ less, and fewer items do"
    )


def _assumed_parts(
    variances: Mapping[str, float], *, icc: float | None, cluster_size: float | None, cluster_cv: float, n_trials: Pair
) -> DifferenceParts:
    known = {"item", "trial", "trial_baseline", "trial_candidate", "cluster"}
    unknown = set(variances) - known
    if unknown:
        raise InputError(
            f"variance has no part {min(unknown)!r}; its parts are item, trial (or trial_baseline and "
            "trial_candidate) and cluster"
        )
    if not all(math.isfinite(value) and value >= 0.0 for value in variances.values()) or sum(variances.values()) <= 0.0:
        raise InputError("every part of the variance must be a number from 0, and one of them above 0")
    both = variances.get("trial")
    trials = [variances.get(name, both) for name in ("trial_baseline", "trial_candidate")]
    item, cluster = variances.get("item", 0.0), variances.get("cluster")
    if icc is not None:
        if cluster is not None:
            raise InputError("both icc and the cluster part of the variance were given; give one of them")
        if not 0.0 <= icc < 1.0:
            raise InputError(f"icc is {icc:g}; give a number from 0 and below 1")
        noise = sum(part / k for part, k in zip(trials, n_trials, strict=True) if part is not None)
        cluster = icc * (item + noise)
        item = (item + noise) * (1.0 - icc) - noise
        if item < 0.0:
            raise InputError(f"icc {icc:g} leaves nothing for the items beside the trials; lower it")
    sizes: tuple[int, ...] = ()
    n_items = 1
    if cluster is not None:
        if cluster_size is None or not 1.0 <= cluster_size < math.inf:
            raise InputError("with clusters, give cluster_size: the mean number of items of a cluster, at least 1")
        # A pattern of sizes, of which only the proportions and the mean are used.
        sizes = tuple(max(1, round(_WHOLE * _PATTERN * share)) for share in gamma_shares(_PATTERN, cluster_cv).tolist())
        n_items = round(cluster_size * _PATTERN)
    elif cluster_size is not None:
        raise InputError("cluster_size was given, and nothing says how alike the items of a cluster are: give icc")
    return DifferenceParts(
        cluster=cluster,
        item=item,
        trials=(trials[0], trials[1]),
        sizes=sizes,
        n_items=n_items,
        n_trials=n_trials,
    )


_ROUNDING = 1e-12
_AVERAGED = f"{HELPER}averaged"


def with_run_sd(basis: Basis, run_sd: float | str | None) -> Basis:
    """Plan by whole runs: each trial is one, and a side's score varies from run to run with a standard deviation."""
    sd, source = basis.read(run_sd, "run_sd"), " (assumed), and every trial is a run"
    if sd is None:
        if not basis.parts.run:
            return basis
        sd, source = basis.parts.run**0.5, ", as in the pilot"
    elif sd < 0.0:
        raise InputError(f"run_sd is {run_sd}; give a number from 0, such as 1.4pp")
    else:
        basis = replace(basis, parts=replace(basis.parts, run=sd**2))
    told = f"From run to run a score varies with an sd of {basis.words(sd, 1 if basis.unit == 'pp' else 2)}{source}"
    return replace(basis, assumptions=(*basis.assumptions, told))


def from_pilot(
    pilot: EvalData | Comparison | object,
    baseline: str | None,
    candidate: str | None,
    *,
    metric: str | None,
    cluster: str | Sequence[str] | None,
    contrast: str,
    conf_level: float,
    paired: bool | None = None,
) -> Basis:
    """Take the spread of the differences from a pilot; its own difference is never used."""
    if isinstance(pilot, Comparisons):
        raise InputError(
            f"the pilot compares {len(pilot.rows)} metrics, and a plan is for one; give that one, such as "
            f"pilot.row({pilot.metrics[0]!r})"
        )
    if isinstance(pilot, Comparison):
        if any(each is not None for each in (baseline, candidate, metric, cluster, paired)):
            raise InputError("a Comparison has its systems, metric and clusters already; give none of them again")
        if pilot.different:
            return _checked(_of_different(pilot), pilot)
        parts, table = _parts_of(pilot), pilot.table
        basis = _shell(pilot, parts, None if table is None else table.only_candidate + table.only_baseline)
        if pilot.average.startswith(("macro", "weighted")):
            spread = f"Items are spread as in the pilot ({pilot.average})"
            basis = replace(basis, assumptions=(spread,))
        if parts.n_trials != (1.0, 1.0):
            text = "A Comparison holds no single trials, so trial noise is counted among the items'"
            note = Note(kind="choice", text=text, remedy="Give the data to split it", caution=False)
            basis = replace(basis, notes=(*basis.notes, note))
        return _checked(basis, pilot)
    data = as_data(pilot)
    data.need_rows("a plan from a pilot")
    baseline, candidate = only_two(data, (baseline, candidate), contrast=contrast, where="the pilot")
    column = data.factor(contrast)
    suite = suite_between(data, (baseline, candidate), metric=metric, contrast=column)
    if suite is not None:
        data, metric = suite.data, suite.metric
    elif metric is None:
        several, _ = metrics_of_both(data, (baseline, candidate), contrast=column)
        if len(several) > 1:
            raise InputError(f"a plan is for one metric; choose one of {quoted_list(several)} with {Option('metric')}")
    average, over = ("macro", "task") if suite is not None else (None, None)
    result = compare(
        data, baseline, candidate, metric=metric, cluster=cluster, contrast=contrast, conf_level=conf_level, paired=paired,
        average=average, over=over,
    )  # fmt: skip
    if result.different:
        return _checked(_of_different(result), result)
    return _checked(_from_data(data, result, cluster, contrast, suite=suite is not None), result)


def _checked(basis: Basis, result: Comparison) -> Basis:
    if len(basis.parts.sizes) == 1:
        raise CannotAnswerError(
            "the pilot has 1 cluster, so it cannot tell how much clusters differ; use a pilot with several, or plan without "
            "cluster"
        )
    # Differences that are all alike leave a variance of rounding errors; of independent items that are right or wrong, it is
    # the discordance that counts.
    scale = max(abs(result.baseline.estimate or 0.0), abs(result.candidate.estimate or 0.0))
    if (basis.discordance is None or basis.clustered) and basis.parts.variance() <= (_ROUNDING * scale) ** 2:
        raise CannotAnswerError(
            "the two systems differ by the same amount on every item of the pilot, so its spread tells nothing; use another "
            "pilot, or say how much they differ (discordance, accuracy or variance)"
        )
    return basis


def _of_different(result: Comparison) -> Basis:
    """Take the spread from two groups: that of the difference, for the harmonic mean of the rows of both sides."""
    if result.std_error is None:
        raise CannotAnswerError(f"the pilot has no standard error to plan by: {result.verdict_reason}")
    n, variance = 2.0 / sum(1.0 / side.n_items for side in (result.baseline, result.candidate)), result.std_error**2
    parts = DifferenceParts(item=n * variance, n_items=max(2, round(n)))
    plain = next((row.std_error for row in result.rows if row.role == "sensitivity"), None)
    if result.clusters and result.n_clusters and result.df and plain:
        users = 2.0 / sum(1.0 / (side.n_clusters or 1) for side in (result.baseline, result.candidate))
        shares = shares_with_df(max(2, round(users)), min(result.df / 2.0, users - 1.0))
        weight = parts.n_items * float((shares**2).sum())
        item, between = _parts_of_variances(parts.n_items, variance, variance / plain**2, weight)
        sizes = tuple(max(1, round(share * parts.n_items)) for share in shares.tolist())
        parts = replace(parts, cluster=between, item=item, sizes=sizes)
    rate = result.baseline.estimate or 0.0
    right_or_wrong = result.method.startswith("Miettinen") and 0.0 < rate < 1.0
    counted = f"{result.n_items:,} {result.counted_as}"
    if result.clusters and result.n_clusters:
        counted += f", clustered by {' and '.join(result.clusters)} ({result.n_clusters:,})"
    who = f"{result.candidate.name} against {result.baseline.name} on {result.benchmark} ({result.metric})"
    return replace(
        _shell(result, parts, None),
        pilot=f"{who}: {counted}",
        different=result.different,
        accuracy=rate if right_or_wrong else None,
        df=2.0 * parts.df(),
    )


def _parts_over_tasks(
    differences: Floats, names: pl.Series, trial_variances: tuple[Floats, Floats], n_trials: tuple[Floats, Floats]
) -> DifferenceParts:
    """Return the mean over tasks of what their items differ by, and how many items, spread evenly, the pilot's are worth.

    With n/S items for each of S tasks, the variance of the macro average is the mean variance within tasks over n.
    """
    levels, tasks, counts = np.unique(names.to_numpy(), return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise CannotAnswerError(
            f"both answered a single item of {comma_list(levels[counts < 2].tolist(), 3)}, and a spread needs two; keep the "
            f"other tasks, each by {Option('where', blank='NAME', of='benchmark')}"
        )
    each = [
        difference_parts(
            differences[own],
            trial_variances=(trial_variances[0][own], trial_variances[1][own]),
            n_trials=(n_trials[0][own], n_trials[1][own]),
        )
        for own in (tasks == task for task in range(counts.size))
    ]
    within = np.array([parts.per_item() for parts in each])
    noise = [[parts.trials[side] for parts in each] for side in range(2)]
    known = all(None not in side for side in noise)
    spread = float(np.mean([parts.item for parts in each])) if known else float(within.mean())
    worth = float(within.mean()) * counts.size**2 / float((within / counts).sum()) if within.any() else differences.size
    trials = tuple(float(np.mean([value or 0.0 for value in side])) if known else None for side in noise)
    return DifferenceParts(
        item=spread,
        trials=(trials[0], trials[1]),
        n_items=counts.size * max(1, round(worth / counts.size)),
        n_trials=(harmonic_mean(n_trials[0]), harmonic_mean(n_trials[1])),
        notes=tuple(dict.fromkeys(text for parts in each for text in parts.notes)),
    )


def _from_data(
    data: EvalData, result: Comparison, cluster: str | Sequence[str] | None, contrast: str, *, suite: bool = False
) -> Basis:
    column = data.factor(contrast)
    names = (result.baseline.name, result.candidate.name)
    chosen, *arms = both_systems(data, *names, metric=result.metric, contrast=column)
    named = named_clusters(data, cluster)
    groups = [name for name in group_columns(data.outcomes) if name != column]
    table = ScoreTable.of(arms, chosen, factors=sorted({*named, *groups}), contrast=column)
    refuse_unpaired(table)
    columns, _ = chosen_clusters(data, table, cluster, table.runs, contrast=column)
    if cluster is None and not suite:
        # What decides the pilot's own interval decides the plan: a factor that nobody declared, too.
        labels = {label_of(name, data.factor_names()): name for name in (*groups, *columns)}
        columns = tuple(labels[label] for label in result.clusters if label in labels)
    paired = table.take(table.paired())
    codes = [paired.codes(name) for name in columns]
    coarsest = min(codes, key=lambda each: len(np.unique(each))) if codes else None
    differences = paired.column(1) - paired.column(0)
    n_trials = paired.n_scored.astype(np.float64)
    of_trials = _trial_variances(paired, 0), _trial_variances(paired, 1)
    counts = n_trials[:, 0].copy(), n_trials[:, 1].copy()
    several, n_tasks = len(columns) > 1, None
    if suite and coarsest is not None:
        raise InputError(
            f"a suite is planned by its items, and these come in clusters of {columns[0]}; add {Option('cluster', 'none')}, or "
            f"plan one task with {Option('where', blank='NAME', of='benchmark')}"
        )
    evenly: tuple[str, ...] = ()
    if suite:
        parts = _parts_over_tasks(differences, paired.items["task"], of_trials, counts)
        n_tasks = paired.items["task"].n_unique()
        worth = f"the pilot's {differences.size:,} items are worth {parts.n_items:,} that are spread evenly"
        evenly = (f"All tasks are weighted equally and have equally many items; {worth}",)
    else:
        parts = difference_parts(differences, clusters=coarsest, trial_variances=of_trials, n_trials=counts)
    single = not suite and bool(np.isin(differences, (-1.0, 0.0, 1.0)).all()) and chosen.kind == "binary"
    discordant = int(np.count_nonzero(differences)) if single and parts.n_trials == (1.0, 1.0) else None
    told = [*parts.notes, *(["of several cluster columns the plan goes by the one with the fewest"] if several else [])]
    shell = _shell(result, parts, discordant)
    return replace(
        shell,
        share=chosen.is_share,
        unit=chosen.shown_unit,
        percent=chosen.is_percent,
        span=chosen.span,
        pool=differences if np.ptp(differences) > _ROUNDING and not suite else None,
        n_tasks=n_tasks,
        assumptions=evenly,
        notes=(*run_notes(data, table.runs), *shell.notes, *as_notes("choice", told, caution=False)),
    )


def _trial_variances(paired: ScoreTable, place: int) -> Floats:
    """Return the sample variance of each item's trials; NaN below two trials, or where only averages are known."""
    key = [name for name in ITEM_KEY if name in paired.items.columns]
    rows = paired.systems[place].rows
    averaged = rows.filter(pl.col("trial").is_null(), pl.col("n_trials").fill_null(1) > 1).select(key).unique()
    averaged = averaged.with_columns(pl.lit(value=True).alias(_AVERAGED))
    known = paired.items.select(key).join(averaged, on=key, how="left", maintain_order="left")
    n, total, squares = (each[:, place].astype(np.float64) for each in (paired.n_scored, paired.total, paired.total_sq))
    usable = (n >= 2) & known[_AVERAGED].is_null().to_numpy()
    variance = np.full(n.size, np.nan)
    variance[usable] = np.maximum(squares[usable] - total[usable] ** 2 / n[usable], 0.0) / (n[usable] - 1)
    return variance


def _parts_of(result: Comparison) -> DifferenceParts:
    """Read the parts of the variance back from a standard error, its degrees of freedom and the design effect."""
    n, k = result.n_items, max(1.0, result.n_trials / (2.0 * max(1, result.n_items)))
    plain = DifferenceParts(item=0.0, n_items=n, n_trials=(k, k))
    if result.table is not None and result.n_clusters is None:
        counts = result.table
        shares = (counts.only_candidate + counts.only_baseline) / n, (counts.only_candidate - counts.only_baseline) / n
        return replace(plain, item=max(0.0, shares[0] - shares[1] ** 2))
    without = result.rows[1].std_error if result.runs_counted and len(result.rows) > 1 else result.std_error
    if without is None or n < 2:
        raise CannotAnswerError(f"the pilot has no standard error to plan by: {result.verdict_reason}")
    if result.n_clusters is None:
        # The augmented t's standard error is that of two items more, which few items or small differences make large.
        if result.method.startswith("augmented"):
            without = next((row.std_error for row in result.rows if row.method == "paired t"), None) or without
        return replace(plain, item=n * without**2)
    if result.df is None or result.design_effect is None:
        raise CannotAnswerError(f"the pilot's clusters give no standard error to plan by: {result.verdict_reason}")
    shares = shares_with_df(result.n_clusters, result.df)
    item, between = _parts_of_variances(n, without**2, result.design_effect, n * float((shares**2).sum()))
    sizes = tuple(max(1, round(share * n)) for share in shares.tolist())
    return replace(plain, cluster=between, item=item, sizes=sizes)


def _parts_of_variances(n: int, variance: float, effect: float, weight: float) -> tuple[float, float]:
    """Return the variances of items and of clusters behind a clustered variance of a mean and its design effect.

    `weight` is the sum of squared cluster sizes over n. Expected are, of n times the variance, item + weight x cluster, and of
    the sample variance of the items, which knows no clusters, item + (n - weight) / (n - 1) x cluster: less than both together,
    as items of one cluster differ less.
    """
    clustered, plain = n * variance, n * variance / effect
    seen = (n - weight) / (n - 1)
    between = max(0.0, (clustered - plain) / (weight - seen)) if weight > seen else 0.0
    item = plain - seen * between
    return (item, between) if item > 0.0 else (0.0, clustered / weight)


def _shell(result: Comparison, parts: DifferenceParts, discordant: int | None) -> Basis:
    """Return what a comparison tells whichever way its parts were found."""
    if result.run_std_error is not None:
        parts = replace(parts, run=result.run_std_error**2 / sum(1.0 / k for k in parts.n_trials))
    what = f"{result.candidate.name} against {result.baseline.name} on {result.benchmark} ({result.metric})"
    counted = [plural(result.n_items, "item")]
    if parts.sizes:
        counted.append(f"{plural(len(parts.sizes), 'cluster')} ({' and '.join(result.clusters)})")
    if max(parts.n_trials) > 1:
        told = " and ".join(number(k, 1).removesuffix(".0") for k in dict.fromkeys(parts.n_trials))
        counted.append(f"{told} {'runs of each' if parts.run else 'trials an item'}")
    low, high = (result.conf_low, result.conf_high) if result.higher_is_better else (result.conf_high, result.conf_low)
    sign = 1.0 if result.higher_is_better else -1.0
    return Basis(
        share=result.scale != 1.0,
        unit=result.unit,
        percent=result.scale == 1.0 and result.unit == "pp",
        span=1.0 if result.scale != 1.0 else None,
        parts=parts,
        rule="cr2" if parts.sizes else "augmented-t" if result.method.startswith("augmented") else "t",
        discordance=None if discordant is None else discordant / result.n_items,
        is_pilot=True,
        lattice=result.metric_kind in ("binary", "proportion"),
        discordant=discordant,
        df=parts.df(),
        std_error=result.std_error,
        seen=result.estimate,
        ends=None if low is None or high is None else (sign * low, sign * high),
        benchmark=result.benchmark,
        metric=result.metric,
        pilot=f"{what}: {', '.join(counted)}",
        notes=tuple(note for note in result.notes if note.kind == "dependence" and note.caution),
    )
