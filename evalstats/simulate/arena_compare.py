"""From numbers of single arenas to rows of a study: means, paired differences, verdicts by intervals that hold at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evalstats.datasets.arena_sampling import SamplingMeasure, SamplingRow
from evalstats.stats.checks import FloatArray
from evalstats.stats.estimate import t_quantile

BASELINE = "random"
LEVEL = 0.95
NOMINAL = 0.95
_DIGITS = 6

Key = tuple[str, str, str, str]  # world, measure, condition, sampling


@dataclass(slots=True)
class Found:
    """One number for every arena, part after part, by world, measure, condition and way of sampling."""

    parts: dict[Key, list[FloatArray]] = field(default_factory=dict[Key, list[FloatArray]])

    def add(self, world: str, sampling: str, measured: Mapping[tuple[str, str], FloatArray]) -> None:
        """Keep what was measured in further arenas of a world."""
        for (measure, condition), values in measured.items():
            self.parts.setdefault((world, measure, condition, sampling), []).append(values)

    def add_new(self, world: str, by_way: Mapping[str, Mapping[tuple[str, str], FloatArray]]) -> None:
        """Keep what was measured under several ways."""
        for sampling, measured in by_way.items():
            self.add(world, sampling, measured)

    def values(self) -> dict[Key, FloatArray]:
        """Return the numbers of all arenas."""
        return {key: np.concatenate(parts) for key, parts in self.parts.items()}


def rows_of(found: Found, measures: Sequence[SamplingMeasure], targets: Mapping[str, float]) -> list[SamplingRow]:
    """Return all rows, measure by measure; differences have intervals that hold at once (Bonferroni, t law)."""
    values = found.values()
    known = {measure.key: measure for measure in measures}
    rows: list[tuple[SamplingRow, float | None]] = []
    for measure in measures:
        if measure.key == "needed":
            rows += _needed(values, targets)
        rows += [_row(key, each, values, measure) for key, each in values.items() if key[1] == measure.key]
    compared = sum(spread is not None for _, spread in rows)
    level = 1.0 - (1.0 - LEVEL) / max(compared, 1)
    reach = {world: t_quantile(level, n - 1) for world, n in _arenas(values).items()}
    return [_judged(row, spread, reach[row.world], known[row.measure]) for row, spread in rows]


def _row(
    key: Key, values: FloatArray, every: Mapping[Key, FloatArray], measure: SamplingMeasure
) -> tuple[SamplingRow, float | None]:
    """Return a row without its interval, and the standard error of its difference."""
    world, name, condition, sampling = key
    fixed = {"95%": NOMINAL, "0": 0.0}.get(measure.against)
    if fixed is not None:
        apart = values - fixed
    elif sampling == BASELINE:
        apart = None
    else:
        apart = values - every[world, name, condition, BASELINE]
    mean, error = _mean(values)
    row = SamplingRow(world=world, measure=name, condition=condition, sampling=sampling, estimate=mean, std_error=error)
    if mean is None:
        return replace(row, reason="no arena has such a number"), None
    if apart is None:
        return row, None
    difference, spread = _mean(apart)
    return replace(row, difference=difference), spread


def _judged(row: SamplingRow, spread: float | None, reach: float, measure: SamplingMeasure) -> SamplingRow:
    if spread is None or row.difference is None:
        return row
    if spread == 0.0:
        # All arenas agree, so their number says nothing of chance: no interval, rather than one without width.
        return replace(row, verdict="not separated", reason="every arena has the same number")
    low, high = row.difference - reach * spread, row.difference + reach * spread
    verdict = "not separated"
    if measure.higher_is_better is None:
        verdict = "worse" if low > 0 or high < 0 else verdict
    elif low > 0 or high < 0:
        verdict = "better" if (low > 0) == measure.higher_is_better else "worse"
    return replace(row, conf_low=round(low, _DIGITS), conf_high=round(high, _DIGITS), verdict=verdict)


def _arenas(values: Mapping[Key, FloatArray]) -> dict[str, int]:
    """Return the number of arenas of each world."""
    return {world: each.size for (world, *_), each in values.items()}


def _mean(values: FloatArray) -> tuple[float | None, float | None]:
    """Return the mean over arenas that have a number, and its standard error."""
    known = values[np.isfinite(values)]
    if known.size < 2:
        return None, None
    return round(float(known.mean()), _DIGITS), round(float(known.std(ddof=1) / np.sqrt(known.size)), _DIGITS)


def _needed(
    values: Mapping[Key, FloatArray], targets: Mapping[str, float]
) -> Iterator[tuple[SamplingRow, float | None]]:
    """Yield how many votes the mean share of pairs in order takes to reach a world's target.

    The mean is interpolated on the logarithm of the votes; its standard error, and that of the difference, come from leaving
    out one arena after another (jackknife).
    """
    for world, target in targets.items():
        curves = _curves(values, world)
        base = None
        for sampling, (votes, shares) in curves.items():
            kept = (shares.sum(axis=0) - shares) / (len(shares) - 1)
            each = np.array([_crossing(votes, mean, target) for mean in (shares.mean(axis=0), *kept)])
            base = each if sampling == BASELINE else base
            yield _needed_row(world, sampling, target, each, None if sampling == BASELINE else base)


def _needed_row(
    world: str, sampling: str, target: float, each: FloatArray, base: FloatArray | None
) -> tuple[SamplingRow, float | None]:
    """Return a row from the votes needed by all arenas (first) and without each of them."""
    row = SamplingRow(
        world=world, measure="needed", condition=f"{100 * target:g}% of pairs in order", sampling=sampling,
        estimate=None, std_error=None,
    )  # fmt: skip
    if not np.isfinite(each).all():
        return replace(row, reason="the target is not reached within the votes of the study"), None
    row = replace(row, estimate=round(float(each[0]), 1), std_error=round(_jackknife(each[1:]), 2))
    if base is None or not np.isfinite(base).all():
        return row, None
    return replace(row, difference=round(float(each[0] - base[0]), 1)), _jackknife(each[1:] - base[1:])


def _jackknife(without: FloatArray) -> float:
    n = without.size
    return float(np.sqrt((n - 1) / n * np.square(without - without.mean()).sum()))


def _curves(values: Mapping[Key, FloatArray], world: str) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return, by way of sampling, the numbers of votes and the shares in order, shape (n_arenas, n_checkpoints)."""
    by_sampling: dict[str, list[tuple[float, FloatArray]]] = {}
    for (of, measure, condition, sampling), shares in values.items():
        if of == world and measure == "order":
            votes = float(condition.removesuffix(" votes").replace(",", ""))
            by_sampling.setdefault(sampling, []).append((votes, shares))
    return {
        sampling: (np.array([votes for votes, _ in each]), np.column_stack([shares for _, shares in each]))
        for sampling, each in by_sampling.items()
    }


def _crossing(votes: FloatArray, means: FloatArray, target: float) -> float:
    """Return at how many votes a rising curve reaches the target, NaN where it does not."""
    above = np.flatnonzero(means >= target)
    if not above.size or above[0] == 0:
        return float("nan")
    at = int(above[0])
    part = (target - means[at - 1]) / (means[at] - means[at - 1])
    return float(np.exp(np.log(votes[at - 1]) + part * np.log(votes[at] / votes[at - 1])))
