"""Simulated lab and live worlds through the whole of `gap()`: how often its intervals miss the truth, how often it cries gap.

python -m dev.validation.lab_live            prints the table; about an hour of processor
python -m dev.validation.lab_live --quick    a tenth of the data sets
python -m dev.validation.lab_live votes 40   worlds whose name holds "votes", 40 data sets each
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from evalstats.analysis.gap.gap import gap
from evalstats.analysis.gap.result import DecompositionRow, LabLiveGap
from evalstats.analysis.result import Estimate
from evalstats.datasets import rutbench_live_mix
from evalstats.errors import EvalStatsError
from evalstats.simulate.lab_live import simulate_lab_live
from evalstats.simulate.lab_live_world import LabLiveTruth

REPLICATES = 300
RESAMPLES = 400
MIX = rutbench_live_mix().shares
GAPS = {"model-03": -0.15}
# Sizes of a modest study: what an interval must survive.
SMALL: Mapping[str, Any] = {"n_items": 280, "n_users": 200}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Options of `simulate_lab_live`; each data set has a seed of its own, so the truth varies too."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    models: int = 15
    margin: float | None = None


WORLDS = (
    World(name="no gap"),
    World(name="no gap, 8 models", models=8),
    World(name="no gap, crossed items", options={"crossed": True, "n_items": 60}),
    World(name="one gap", options={"gaps": GAPS}),
    World(name="mix shift, one gap", options={"gaps": GAPS, "live_mix": MIX, "behaviour_shift": -0.05}),
    World(name="random gaps", options={"tau": 0.04, "mean": 0.5, "n_lab_only": 3}),
    World(name="gap at the margin", options={"gaps": {"model-05": 0.05}, "n_users": 800, "n_items": 700}, margin=0.05),
    World(name="votes, no gap", options={"live": "comparisons"}),
    World(name="votes, one gap", options={"live": "comparisons", "gaps": {"model-03": -0.8}}),
    World(name="votes, random gaps", options={"live": "comparisons", "tau": 0.25, "n_lab_only": 3}),
    World(name="published, no gap", options={"live": "aggregates"}),
)


class Case(NamedTuple):
    """One thing that went wrong or did not: an interval that missed, a claim that is false, a gap not found."""

    measure: str
    happened: bool


def cases(found: LabLiveGap, truth: LabLiveTruth, margin: float | None) -> Iterator[Case]:
    """Yield everything that can be held against the truth. Names in the result are the live ones."""
    place = {name: m for m, name in enumerate(truth.live_names)}
    rows = [(place[row.name], row) for row in found.rows]
    level = truth.intercept if truth.total is not None else 0.0
    unit = _points(found)
    one_planted = np.count_nonzero(truth.planted[: len(place)]) == 1
    for m, row in rows:
        # With no line two of these are unknown; then nothing is claimed and nothing missed.
        yield from _missed("gap, from the others' line", row, "", unit * float(truth.deleted[m]))
        yield from _missed("gap, from the true line", row, "", unit * float(truth.calibrated[m]))
        yield from _missed("gap, shrunken", row, "shrunken_", unit * float(truth.calibrated[m]))
        if truth.total is not None:
            yield from _missed("difference of a model", row, "difference_", float(truth.total[m]))
            if abs(truth.total[m]) < 1e-9:
                yield Case("FALSE difference, a model", row.difference_verdict == "gap")
        if margin is not None and abs(truth.calibrated[m]) >= margin - 1e-9:
            yield Case("FALSE aligned, a model", row.verdict == "aligned")
        if one_planted and truth.planted[m] != 0.0:
            yield Case("found: a planted gap", row.verdict == "gap" and (row.estimate or 0.0) * truth.planted[m] > 0)
    right = np.abs(truth.calibrated[: len(place)]) < 1e-9
    if right.any():
        flagged = [row.verdict == "gap" for m, row in rows if right[m]]
        yield from (Case("FALSE gap, a model", each) for each in flagged)
        yield Case("FALSE gap, any model", any(flagged))
    if found.line is not None:
        yield from _ends("slope", found.line.slope_low, found.line.slope_high, unit * truth.slope)
        # With a planted gap there is no one spread of gaps.
        if truth.tau is not None and not one_planted:
            yield from _ends("tau", found.line.tau_low, found.line.tau_high or np.inf, unit * truth.tau)
            if right.all():
                yield Case("FALSE more than noise", found.line.p_value < 0.05)
    correlation = found.agreement.of("pearson")
    true = float(np.corrcoef(truth.lab[: len(place)], truth.live[: len(place)])[0, 1])
    yield from _ends("correlation of true scores", correlation.disattenuated_low, correlation.disattenuated_high, true)
    if right.all() and abs(level) < 1e-9:
        yield Case("FALSE verdict gap, overall", found.verdict == "gap")
    yield from _of_layers(found, truth, place)


def _points(found: LabLiveGap) -> float:
    """Return what the truth is multiplied by: ratings are in points, 400 for odds of ten to one, their truth in log-odds."""
    return 400.0 / float(np.log(10.0)) if found.live.about.unit == "points" else 1.0


def _of_layers(found: LabLiveGap, truth: LabLiveTruth, place: Mapping[str, int]) -> Iterator[Case]:
    n = len(place)
    if found.level is not None and truth.total is not None:
        mean = float(truth.total[:n].mean())
        yield from _ends("level", found.level.conf_low, found.level.conf_high, mean)
        if abs(mean) < 1e-9:
            yield Case("FALSE level", found.level.verdict == "gap")
    if found.decomposition is not None:
        yield from _of_parts("mean", found.decomposition.overall, truth, slice(0, n))
        for row in found.decomposition.rows:
            m = place[row.model]
            yield from _of_parts("a model", row, truth, slice(m, m + 1))
    if found.scenario_gaps is not None and truth.live_cells is not None:
        true = truth.live_cells[:n] - truth.lab_cells[:n]
        for each in (*found.scenario_gaps.means, *found.scenario_gaps.rows):
            whole = each.model == ""
            which = slice(0, n) if whole else slice(place[each.model], place[each.model] + 1)
            value = float(true[which, truth.scenarios.index(each.scenario)].mean())
            kind = "scenario, mean" if whole else "scenario, a model"
            yield from _ends(kind, each.conf_low, each.conf_high, value)
            if abs(value) < 1e-9:
                yield Case(f"FALSE gap, {kind}", each.verdict == "gap")
    yield from _of_forecasts(found, truth)


def _of_forecasts(found: LabLiveGap, truth: LabLiveTruth) -> Iterator[Case]:
    if found.hierarchy is None:
        return
    inside = round((found.hierarchy.coverage or 0.0) * found.n_models)
    yield from (Case("left out, predicted", happened=place >= inside) for place in range(found.n_models))
    # Strengths have sum 0, ratings whatever mean a board gives them.
    shift = 0.0 if truth.total is not None else float(np.mean([row.live for row in found.rows]))
    for each in found.hierarchy.forecasts:
        live = shift + _points(found) * float(truth.live[truth.lab_names.index(each.name)])
        yield from _ends("forecast, lab only", each.pred_low, each.pred_high, live)


def _of_parts(name: str, row: DecompositionRow, truth: LabLiveTruth, which: slice) -> Iterator[Case]:
    true = {
        "total": truth.total, "mix": truth.mix, "behaviour": truth.behaviour, "poststratified": truth.poststratified,
    }  # fmt: skip
    for key, values in true.items():
        part: Estimate | None = getattr(row, key)
        if values is not None and part is not None:
            yield from _part(f"{key}, {name}", part, float(values[which].mean()))


def _missed(name: str, row: Any, prefix: str, truth: float) -> Iterator[Case]:
    low, high = ("conf_low", "conf_high") if not prefix else (f"{prefix}low", f"{prefix}high")
    yield from _ends(name, getattr(row, low), getattr(row, high), truth)


def _part(name: str, part: Estimate, truth: float) -> Iterator[Case]:
    yield from _ends(name, part.conf_low, part.conf_high, truth)


def _ends(name: str, low: float | None, high: float | None, truth: float) -> Iterator[Case]:
    """Yield whether an interval missed; one that was not given claims nothing, and is counted as such."""
    if low is None or high is None:
        yield Case(f"{name}: not given", happened=True)
    else:
        yield Case(name, not low - 1e-9 <= truth <= high + 1e-9)


def measure(world: World, replicates: int) -> dict[str, tuple[float, int]]:
    """Return for each measure its rate over all data sets, and over how many cases."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for seed in range(replicates):
        made = simulate_lab_live(world.models, seed=seed, **{**SMALL, **world.options})
        try:
            found = gap(made.lab, made.live, margin=world.margin, n_resamples=RESAMPLES, seed=seed)
        except EvalStatsError as error:
            sys.stderr.write(f"{world.name}, seed {seed}: {error}\n")
            counts["no answer"][0] += 1
            counts["no answer"][1] += 1
            continue
        for case in cases(found, made.truth, world.margin):
            counts[case.measure][0] += case.happened
            counts[case.measure][1] += 1
    return {name: (happened / total, total) for name, (happened, total) in counts.items()}


def main(arguments: list[str]) -> int:
    """Print the table: of intervals the share that covers, of verdicts how often they were given."""
    numbers = [int(each) for each in arguments if each.isdigit()]
    words = [each for each in arguments if not each.isdigit() and not each.startswith("-")]
    replicates = numbers[0] if numbers else REPLICATES // 10 if "--quick" in arguments else REPLICATES
    out = sys.stdout
    out.write(
        f"Nominal 95% intervals of evalstats gap: share that covers; verdicts: how often. {replicates} data sets\n"
    )
    for world in WORLDS:
        if words and not any(word in world.name for word in words):
            continue
        out.write(f"\n{world.name}\n")
        for name, (rate, total) in sorted(measure(world, replicates).items()):
            is_verdict = name.startswith(("FALSE", "found", "no answer")) or name.endswith("not given")
            shown = rate if is_verdict else 1.0 - rate
            count = f"{round(rate * total)} times" if name.endswith("not given") else f"{shown:.3f}"
            out.write(f"  {name:42}{count:>12}   ({total})\n")
        out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
