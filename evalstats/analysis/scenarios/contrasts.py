"""Contrasts of cells: drops from the reference, means, pairs of models, and differences within items beside them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse, special

from evalstats.analysis.compare.difference import PairedScores, headline_interval
from evalstats.analysis.design.metric import Metric
from evalstats.analysis.result import finite
from evalstats.analysis.scenarios.cells import CellContrasts, CellEstimates, FittedScenarios, PooledCells
from evalstats.analysis.scenarios.design import CellDesign
from evalstats.analysis.scenarios.result import CellRow, ChangeRow, DropVerdict, ModelPairRow, ScenarioMean
from evalstats.analysis.scenarios.table import COUNT, ScenarioTable
from evalstats.errors import CannotAnswerError
from evalstats.record import record
from evalstats.stats.checks import FloatArray, IntArray
from evalstats.stats.estimate import IntervalEstimate
from evalstats.stats.many.multiplicity import benjamini_hochberg, holm
from evalstats.stats.one_sample import wilson_ends
from evalstats.stats.proportion_contrasts import ProportionContrasts, condensed, proportion_contrasts

MIN_DF = 4
MIN_DIFFERENT = 6
_OUTSIDE = 1e-9
_FEW_LEVELS = 50  # of scores; of more each is nearly alone
# CellEstimates of one contrast beyond which those of one coefficient are condensed.
_MANY = 200
# How many times the largest cell the rarer answers of all must be for that.
_HEAVY = 4.0


class PairedDrop(NamedTuple):
    """The paired difference of one model between a scenario and the reference; `n_differ` items have two values that differ.

    `found` is None where no interval can be given.
    """

    n_items: int
    n_differ: int
    estimate: float
    found: IntervalEstimate | None


@record
class ItemMeans:
    """Mean score of every item for each cell, shape (n_items, n_cells): NaN where there is none.

    `cluster` is None where items are independent; `fewest` is the smallest number of trials behind a value.
    """

    values: FloatArray
    cluster: IntArray | None
    fewest: int

    def drop(self, table: ScenarioTable, cell: int, reference: int, conf_level: float) -> PairedDrop | None:
        """Return the difference of two cells on the items of both; None where they share none."""
        both = ~np.isnan(self.values[:, cell]) & ~np.isnan(self.values[:, reference])
        n = int(both.sum())
        if not n:
            return None
        candidate, baseline = self.values[both, cell], self.values[both, reference]
        differ = int((np.abs(candidate - baseline) > 1e-12).sum())
        clusters = () if self.cluster is None else (self.cluster[both],)
        scores = PairedScores(
            metric=table.metric, baseline=baseline, candidate=candidate, n_trials=self.fewest, clusters=clusters
        )
        try:
            found = headline_interval(scores, conf_level=conf_level, method="auto")
        except CannotAnswerError:
            found = None
        return PairedDrop(n, differ, float((candidate - baseline).mean()), found)


def item_means(table: ScenarioTable, laid: CellDesign) -> ItemMeans:
    """Average the versions of every item within each cell."""
    item = table.codes("item")
    n_items, n_cells = int(item.max()) + 1, len(laid.cells)
    place = item * n_cells + laid.of_frame
    score = table.frame["score"].to_numpy().astype(np.float64)
    n = np.bincount(place, minlength=n_items * n_cells)
    total = np.bincount(place, weights=score, minlength=n_items * n_cells)
    values = np.divide(total, n, out=np.full(len(total), np.nan), where=n > 0).reshape(n_items, n_cells)
    own = np.zeros(n_items, dtype=np.int64)
    own[item] = table.cluster
    single = len(np.unique(own)) == n_items
    trials = np.bincount(place, weights=table.frame[COUNT].to_numpy(), minlength=n_items * n_cells)
    return ItemMeans(values=values, cluster=None if single else own, fewest=int(trials[n > 0].min()))


def level_interval(
    found: CellContrasts, metric: Metric, conf_level: float, *, sizes: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return ends of intervals of scores: on the log-odds scale of the metric's range, so that they stay inside it.

    With `sizes`, the answers behind shares of right or wrong ones: Wilson's, matched to the variance, which there is for a
    share of 0 or 1 as well.
    """
    if sizes is not None:
        share, variance = found.estimate, np.square(found.std_error)
        varied = (variance > 0) & (share * (1 - share) > _OUTSIDE)
        n = np.where(varied, share * (1 - share) / np.where(varied, variance, 1.0), sizes)
        q = -special.stdtrit(np.where(varied, found.df, np.inf), (1 - conf_level) / 2)
        ends = np.array(
            [wilson_ends(float(p), float(size), float(t)) for p, size, t in np.stack([share, n, q], axis=1)]
        )
        return ends[:, 0], ends[:, 1]
    low, high = found.interval(conf_level)
    if metric.low is None or metric.high is None:
        return low, high
    span = metric.high - metric.low
    share = (found.estimate - metric.low) / span
    inside = (share > 0) & (share < 1) & found.has_spread
    safe = np.where(inside, share, 0.5)
    center, error = np.log(safe / (1 - safe)), found.std_error / span / (safe * (1 - safe))
    half = -special.stdtrit(found.df, (1 - conf_level) / 2) * error
    ends = [metric.low + span / (1 + np.exp(-(center + sign * half))) for sign in (-1, 1)]
    return np.where(inside, ends[0], np.nan), np.where(inside, ends[1], np.nan)


def cell_rows(
    table: ScenarioTable, fitted: FittedScenarios, pooled: PooledCells | None, conf_level: float
) -> tuple[CellRow, ...]:
    """Return every model in every scenario."""
    cells = fitted.cells
    each = sparse.csr_array(sparse.eye_array(len(cells.value)))
    found, on_link = cells.contrast(each), cells.contrast(each, link=True)
    low, high = level_interval(found, table.metric, conf_level, sizes=cells.sizes if cells.binary else None)
    frame = table.frame
    score, trials = frame["score"].to_numpy(), frame[COUNT].to_numpy()
    in_scenario = _questions(table, "scenario", table.scenarios)
    place_of = fitted.laid.of_frame
    counted = np.bincount(place_of, minlength=len(cells.value))
    observed = np.bincount(place_of, weights=score, minlength=len(cells.value)) / np.maximum(counted, 1)
    answers = np.bincount(place_of, weights=trials, minlength=len(cells.value))
    out: list[CellRow] = []
    for i, model in enumerate(table.models):
        for j, scenario in enumerate(table.scenarios):
            place = cells.place(i, j)
            n = 0 if place is None else int(cells.sizes[place])
            missing = table.without_score(model, scenario) if table.different else in_scenario[j] - n
            bare = CellRow(model=model, scenario=scenario, n_missing=missing, conf_level=conf_level)
            if place is None:
                out.append(replace(bare, reason="the model was not scored in this scenario"))
                continue
            spread = bool(found.has_spread[place])
            out.append(
                replace(
                    bare,
                    **found.fields(place, (low, high)),
                    n_items=n,
                    n_trials=round(float(answers[place])),
                    observed=float(observed[place]),
                    link=float(on_link.estimate[place]),
                    link_std_error=float(on_link.std_error[place]) if spread else None,
                    pooled=None if pooled is None else finite(pooled.value[place]),
                    pooled_low=None if pooled is None or not spread else finite(pooled.low[place]),
                    pooled_high=None if pooled is None or not spread else finite(pooled.high[place]),
                    reason=None if finite(low[place]) is not None else fitted.without_spread,
                )
            )
    return tuple(out)


def drop_weights(
    cells: CellEstimates, model: int, scenario: int, reference: str
) -> tuple[tuple[IntArray, FloatArray] | None, str]:
    """Return which cells a drop is made of and their coefficients, or why there is none."""
    at = cells.place(model, scenario)
    if at is None:
        return None, "the model was not scored in this scenario"
    if reference != "average":
        base = cells.place(model, 0)
        if base is None:
            return None, "the model was not scored in the reference"
        return (np.array([base, at]), np.array([-1.0, 1.0])), ""
    own = cells.places[model][cells.places[model] >= 0]
    if len(own) < 2:
        return None, "the model was scored in no other scenario"
    return (own, np.where(own == at, 1.0, -1.0 / (len(own) - 1))), ""


def drop_rows(
    table: ScenarioTable,
    fitted: FittedScenarios,
    pooled: PooledCells | None,
    items: ItemMeans | None,
    *,
    reference: str,
    conf_level: float,
) -> tuple[ChangeRow, ...]:
    """Return every model in every scenario but the reference, all of them one family (Benjamini & Hochberg).

    Those that are shown, R of m, get intervals at the level 1 - R alpha / m, as all others do: so an interval excludes 0 exactly
    where the adjusted p is at most alpha, and of the intervals of changes that are shown a share of alpha at most is
    expected to miss (Benjamini & Yekutieli 2005, doi:10.1198/016214504000001907).
    """
    cells = fitted.cells
    first = 0 if reference == "average" else 1
    out: list[ChangeRow] = []
    pairs: list[tuple[int, int]] = []
    made: list[tuple[IntArray, FloatArray]] = []
    for i, model in enumerate(table.models):
        for j in range(first, len(table.scenarios)):
            cells_of, why = drop_weights(cells, i, j, reference)
            if cells_of is None:
                bare = ChangeRow(model=model, scenario=table.scenarios[j], reference=reference, conf_level=conf_level)
                out.append(replace(bare, verdict="invalid", verdict_reason=why))
                continue
            pairs.append((i, j))
            made.append(cells_of)
    if made:
        starts = np.cumsum([0, *(len(where) for where, _ in made)])
        where, values = (np.concatenate([row[k] for row in made]) for k in (0, 1))
        weights = sparse.csr_array((values, where, starts), shape=(len(made), len(cells.value)))
        out += _tested(
            table, fitted, pooled, items, pairs=pairs, weights=weights, reference=reference, conf_level=conf_level
        )
    order = {name: k for k, name in enumerate((*table.models, *table.scenarios))}
    return tuple(sorted(out, key=lambda row: (order[row.model], order[row.scenario])))


def _tested(
    table: ScenarioTable,
    fitted: FittedScenarios,
    pooled: PooledCells | None,
    items: ItemMeans | None,
    *,
    pairs: Sequence[tuple[int, int]],
    weights: sparse.csr_array,
    reference: str,
    conf_level: float,
) -> list[ChangeRow]:
    cells = fitted.cells
    tests = _change_tests(table, fitted, weights)
    found, p = tests.found, tests.p
    known = ~np.isnan(p)
    adjusted, stepped = np.full(len(p), np.nan), np.full(len(p), np.nan)
    adjusted[known], stepped[known] = benjamini_hochberg(p[known]), holm(p[known])
    n_shown = max(1, int((adjusted[known] <= 1 - conf_level).sum()))
    level = 1 - (1 - conf_level) * n_shown / max(1, int(known.sum()))
    low, high = _clipped(tests.interval(level), table.metric)
    shrunk = None if pooled is None else pooled.contrast(weights, conf_level)
    logits = _log_odds(fitted, weights, tests, level)
    differ = _departures(table, fitted, weights)
    rows: list[ChangeRow] = []
    for k, (i, j) in enumerate(pairs):
        place, base = cells.place(i, j), None if reference == "average" else cells.place(i, 0)
        paired = None if place is None or base is None or items is None else items.drop(table, place, base, conf_level)
        row = ChangeRow(
            model=table.models[i],
            scenario=table.scenarios[j],
            reference=reference,
            **found.fields(k, (low, high), with_df=bool(known[k])),
            conf_level=conf_level,
            statistic=finite(tests.t[k]),
            p_value=finite(p[k]),
            p_adjusted=finite(adjusted[k]),
            p_holm=finite(stepped[k]),
            log_odds=None if logits is None else float(logits[0][k]),
            log_odds_low=None if logits is None else finite(logits[1][k]),
            log_odds_high=None if logits is None else finite(logits[2][k]),
            model_std_error=float(found.model_std_error[k]),
            paired=None if paired is None else paired.estimate,
            paired_low=None if paired is None or paired.found is None else paired.found.conf_low,
            paired_high=None if paired is None or paired.found is None else paired.found.conf_high,
            pooled=None if shrunk is None else finite(shrunk[0][k]),
            pooled_low=None if shrunk is None else finite(shrunk[1][k]),
            pooled_high=None if shrunk is None else finite(shrunk[2][k]),
            n_items=paired.n_items if paired is not None else 0 if place is None else int(cells.sizes[place]),
        )
        doubt = _doubt(row, paired, differ[k], without_spread=fitted.without_spread)
        verdict: DropVerdict = "invalid" if row.conf_low is None else "not shown"
        if not doubt:
            lower = row.conf_low is not None and row.conf_low <= 0
            verdict = "drop" if lower == table.metric.higher_is_better else "gain"
            doubt = f"the interval lies wholly on the side of a {'loss' if verdict == 'drop' else 'gain'}"
        rows.append(replace(row, verdict=verdict, verdict_reason=doubt))
    return rows


@record
class _ChangeTests:
    """Changes with their statistics: likelihood ratio and score where scores have bounds, else Wald's t; NaN without spread."""

    found: CellContrasts
    proportions: ProportionContrasts | None
    span: float
    known: npt.NDArray[np.bool_]

    @property
    def t(self) -> FloatArray:
        t = (
            self.found.estimate / np.where(self.found.std_error > 0, self.found.std_error, 1.0)
            if self.proportions is None
            else self.proportions.t
        )
        return np.where(self.known, t, np.nan)

    @property
    def p(self) -> FloatArray:
        p = self.found.p_values() if self.proportions is None else self.proportions.p_values()
        return np.where(self.known, p, np.nan)

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        if self.proportions is None:
            return self.found.interval(level)
        low, high = (self.span * ends for ends in self.proportions.interval(level))
        return np.where(self.known, low, np.nan), np.where(self.known, high, np.nan)


def _change_tests(table: ScenarioTable, fitted: FittedScenarios, weights: sparse.csr_array) -> _ChangeTests:
    cells, metric = fitted.cells, table.metric
    found = cells.contrast(weights)
    if metric.low is None or metric.high is None:
        return _ChangeTests(found=found, proportions=None, span=1.0, known=found.has_spread)
    span = metric.high - metric.low
    shares = (cells.value - metric.low) / span
    known = found.has_spread | cells.binary
    if (shares < -_OUTSIDE).any() or (shares > 1 + _OUTSIDE).any():
        # A linear model may predict beyond the range.
        return _ChangeTests(found=found, proportions=None, span=1.0, known=found.has_spread)
    *made, counts = _proportions(np.clip(shares, 0.0, 1.0), cells.sizes, weights)
    proportions = proportion_contrasts(
        *made, variance=(found.std_error / span) ** 2, df=np.maximum(found.df, 1.0), counts=counts
    )
    return _ChangeTests(found=found, proportions=proportions, span=span, known=known)


def _proportions(
    shares: FloatArray, sizes: FloatArray, weights: sparse.csr_array
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return shares, sizes, coefficients and counts of the cells of every contrast, shape (n_contrasts, most cells of one).

    Of many cells the common ones with the first coefficient below 0 are condensed: those of the average of all others.
    """
    rows: list[tuple[FloatArray, ...]] = []
    stands: dict[bytes, tuple[FloatArray, ...]] = {}
    for start, stop in pairwise(weights.indptr.tolist()):
        at, own = weights.indices[start:stop], weights.data[start:stop]
        split = np.minimum(shares[at], 1 - shares[at])
        if stop - start <= _MANY or sizes[at] @ split < _HEAVY * sizes[at].max():
            rows.append((shares[at], sizes[at], own, np.ones(stop - start)))
            continue
        # The cell itself is not one of the others: it is taken out of those that all cells of the model stand for.
        key = at.tobytes()
        if key not in stands:
            stands[key] = condensed(shares[at], sizes[at])
        share, size, count = stands[key]
        single, common = int(np.argmax(own)), float(own.min())
        rows.append(
            (
                np.append(share, [shares[at[single]]] * 2),
                np.append(size, [sizes[at[single]]] * 2),
                np.append(np.full(len(share), common), [common, own[single]]),
                np.append(count, [-1.0, 1.0]),
            )
        )
    shape = (len(rows), max(len(row[0]) for row in rows))
    out = np.full(shape, 0.5), np.ones(shape), np.zeros(shape), np.ones(shape)
    for k, row in enumerate(rows):
        for whole, part in zip(out, row, strict=True):
            whole[k, : len(part)] = part
    return out


def _log_odds(
    fitted: FittedScenarios, weights: sparse.csr_array, tests: _ChangeTests, level: float
) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Return changes of log-odds, with intervals that belong to the same test (Miettinen's); None where scores are graded."""
    if fitted.family != "binomial":
        return None
    value = fitted.cells.contrast(weights, link=True)
    width = -special.stdtrit(tests.found.df, (1 - level) / 2)
    # A change of 0 has no test to take the spread from.
    apart = tests.known & (np.abs(tests.t) > _OUTSIDE) & (np.sign(value.estimate) == np.sign(tests.t))
    error = np.where(apart, value.estimate / np.where(apart, tests.t, 1.0), value.std_error)
    error = np.where(tests.known, error, np.nan)
    return value.estimate, value.estimate - width * error, value.estimate + width * error


def _departures(table: ScenarioTable, fitted: FittedScenarios, weights: sparse.csr_array) -> list[float]:
    """Count for each contrast the scores of its cells that are not the commonest one; infinite where scores hardly repeat."""
    levels, code = np.unique(np.round(table.frame["score"].to_numpy(), 9), return_inverse=True)
    if levels.size > _FEW_LEVELS:
        return [np.inf] * weights.shape[0]
    counts = np.zeros((len(fitted.cells.value), levels.size))
    np.add.at(counts, (fitted.laid.of_frame, code), 1.0)
    used = sparse.csr_array((np.ones_like(weights.data), weights.indices, weights.indptr), shape=weights.shape)
    every: FloatArray = np.asarray(used @ counts, dtype=np.float64)
    rest: list[float] = (every.sum(axis=1) - every.max(axis=1)).tolist()
    return rest


def _doubt(row: ChangeRow, paired: PairedDrop | None, n_differ: float, *, without_spread: str) -> str:
    """Return the first thing that forbids a direction: only an interval that excludes 0 gives one, and nothing against it."""
    if row.conf_low is None or row.conf_high is None:
        return without_spread
    if (row.p_adjusted if row.p_adjusted is not None else 1.0) > 1 - row.conf_level:
        return "the interval includes 0"
    if (row.df or 0.0) < MIN_DF:
        return _too_few_df(row.df or 0.0)
    if n_differ < MIN_DIFFERENT:
        return f"only {n_differ:g} scores differ from all others; {MIN_DIFFERENT} are needed"
    if paired is None:
        return ""
    if paired.n_differ < MIN_DIFFERENT:
        return f"only {paired.n_differ} items differ between the two; {MIN_DIFFERENT} are needed"
    ends = (row.paired_low, row.paired_high) if row.conf_low > 0 else (row.paired_high, row.paired_low)
    near = ends[0]
    agrees = near is None or (near > 0) == (row.conf_low > 0)
    return "" if agrees else "the differences within items alone do not show it"


def mean_rows(
    table: ScenarioTable, fitted: FittedScenarios, shares: Sequence[float], conf_level: float
) -> tuple[tuple[ScenarioMean, ...], tuple[ScenarioMean, ...]]:
    """Return the models averaged over scenarios by their shares, and the scenarios averaged over models.

    Where scenarios are a sample, models are averaged over those that could come.
    """
    cells, n_models = fitted.cells, len(table.models)
    of_models = [mean_weights(cells, places, shares) for places in cells.places]
    of_scenarios = [mean_weights(cells, places, [1 / n_models] * n_models) for places in cells.places.T]
    models = _means(table, fitted, "model", of_models, conf_level, over_new=fitted.model_means)
    return models, _means(table, fitted, "scenario", of_scenarios, conf_level)


def _means(
    table: ScenarioTable,
    fitted: FittedScenarios,
    kind: Literal["model", "scenario"],
    weights: Sequence[FloatArray | None],
    level: float,
    *,
    over_new: CellContrasts | None = None,
) -> tuple[ScenarioMean, ...]:
    cells, rows = fitted.cells, list[ScenarioMean]()
    names = table.models if kind == "model" else table.scenarios
    given = [own for own in weights if own is not None]
    found, sizes = over_new, None
    if found is None and given:
        made = sparse.csr_array(np.stack(given))
        found = cells.contrast(made)
        sizes = np.stack([own != 0 for own in given]).astype(np.float64) @ cells.sizes if cells.binary else None
    low, high = (np.empty(0), np.empty(0)) if found is None else level_interval(found, table.metric, level, sizes=sizes)
    place = np.cumsum([over_new is not None or own is not None for own in weights]) - 1
    for i, (name, n) in enumerate(zip(names, _questions(table, kind, names), strict=True)):
        k = int(place[i])
        if found is None or (over_new is None and weights[i] is None):
            reason = f"a mean over all {'scenario' if kind == 'model' else 'model'}s needs a score in each, and one is missing"
            rows.append(ScenarioMean(kind=kind, name=name, n_items=n, conf_level=level, reason=reason))
            continue
        rows.append(
            ScenarioMean(
                kind=kind,
                name=name,
                **found.fields(k, (low, high)),
                conf_level=level,
                n_items=n,
                reason=None if finite(low[k]) is not None else fitted.without_spread,
            )
        )
    return tuple(rows)


def mean_weights(cells: CellEstimates, places: IntArray, shares: Sequence[float]) -> FloatArray | None:
    """Coefficients of the cells of a model, or of a scenario, in its mean; None where one with a share is empty."""
    weights, counts = np.zeros(len(cells.value)), np.array(shares)
    if (counts[places < 0] > 0).any():
        return None
    weights[places[places >= 0]] = counts[places >= 0]
    return weights


def pair_rows(
    table: ScenarioTable, fitted: FittedScenarios, shares: Sequence[float], conf_level: float
) -> tuple[ModelPairRow, ...]:
    """Return every two models averaged over scenarios, as one family."""
    cells = fitted.cells
    weights = [mean_weights(cells, places, shares) for places in cells.places]
    allowed = table.kinds.comparable()
    pairs = [(i, j) for i, j in combinations(range(len(table.models)), 2) if allowed[i, j]]
    made = [(i, j, wi - wj) for i, j in pairs if (wi := weights[i]) is not None and (wj := weights[j]) is not None]
    if not made:
        return ()
    found = cells.contrast(sparse.csr_array(np.stack([each for _, _, each in made])))
    low, high = _clipped(found.interval(conf_level, family=len(made)), table.metric)
    p = found.p_values()
    adjusted, stepped = np.minimum(len(p) * p, 1.0), np.full(len(p), np.nan)
    stepped[~np.isnan(p)] = holm(p[~np.isnan(p)])
    differ: list[int] = []
    for i, j, _ in made:
        two = table.frame.filter(pl.col("model").is_in([table.models[i], table.models[j]]))
        of_question = two.group_by("item", "version", "scenario").agg(
            (pl.col("score").max() - pl.col("score").min()).alias("apart"), pl.len().alias("n")
        )
        # Scores that one of the two lacks count as well.
        differ.append(of_question.filter((pl.col("apart") > _OUTSIDE) | (pl.col("n") < 2))["item"].n_unique())

    def reason(k: int) -> str | None:
        if not found.has_spread[k]:
            return fitted.without_spread
        if found.df[k] < MIN_DF:
            return _too_few_df(found.df[k])
        return (
            None if differ[k] >= MIN_DIFFERENT else f"the two differ on {differ[k]} items; {MIN_DIFFERENT} are needed"
        )

    return tuple(
        ModelPairRow(
            first=table.models[i],
            second=table.models[j],
            **found.fields(k, (low, high), with_df=True),
            conf_level=conf_level,
            p_value=finite(p[k]),
            p_adjusted=finite(adjusted[k]),
            p_holm=finite(stepped[k]),
            separated=bool((low[k] > 0 or high[k] < 0) and found.df[k] >= MIN_DF and differ[k] >= MIN_DIFFERENT),
            reason=reason(k),
        )
        for k, (i, j, _) in enumerate(made)
    )


def within_rows(table: ScenarioTable, fitted: FittedScenarios, conf_level: float) -> tuple[ModelPairRow, ...]:
    """Return every two models of different users within each scenario, as one family; none where they share items."""
    cells, allowed = fitted.cells, table.kinds.comparable()
    pairs = [(i, k) for i, k in combinations(range(len(table.models)), 2) if allowed[i, k]] if table.different else []
    named = [
        (i, k, j, (one, other))
        for j in range(len(table.scenarios))
        for i, k in pairs
        if (one := cells.place(i, j)) is not None and (other := cells.place(k, j)) is not None
    ]
    if not named:
        return ()
    weights = np.zeros((len(named), len(cells.value)))
    for row, (*_, at) in zip(weights, named, strict=True):
        row[list(at)] = 1.0, -1.0
    tests = _change_tests(table, fitted, made := sparse.csr_array(weights))
    found, p, n = tests.found, tests.p, len(named)
    low, high = _clipped(tests.interval(1 - (1 - conf_level) / n), table.metric)
    differ, stepped = _departures(table, fitted, made), np.full(n, np.nan)
    stepped[~np.isnan(p)] = holm(p[~np.isnan(p)])

    def reason(k: int) -> str | None:
        if np.isnan(p[k]):
            return fitted.without_spread
        if found.df[k] < MIN_DF:
            return _too_few_df(found.df[k])
        return None if differ[k] >= MIN_DIFFERENT else f"{differ[k]:g} scores differ from all others"

    return tuple(
        ModelPairRow(
            first=table.models[i],
            second=table.models[k],
            scenario=table.scenarios[j],
            **found.fields(place, (low, high), with_df=True),
            conf_level=conf_level,
            p_value=finite(p[place]),
            p_adjusted=finite(min(1.0, n * p[place])),
            p_holm=finite(stepped[place]),
            separated=bool(low[place] > 0 or high[place] < 0) and reason(place) is None,
            reason=reason(place),
        )
        for place, (i, k, j, _) in enumerate(named)
    )


def _too_few_df(df: float) -> str:
    return f"the estimate rests on {df:.1f} degrees of freedom; {MIN_DF} are needed"


def _clipped(ends: tuple[FloatArray, FloatArray], metric: Metric) -> tuple[FloatArray, FloatArray]:
    """No difference is wider than the metric."""
    if metric.span is None:
        return ends
    return np.maximum(ends[0], -metric.span), np.minimum(ends[1], metric.span)


def _questions(table: ScenarioTable, column: str, names: Sequence[str]) -> list[int]:
    """Count the questions of every model, or of every scenario."""
    counts = table.frame.group_by(column).agg(pl.struct("item", "version").n_unique().alias("n"))
    of_name = dict(counts.iter_rows())
    return [int(of_name.get(name, 0)) for name in names]
