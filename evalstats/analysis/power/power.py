"""How many items, trials, clusters do I need? And what can a number of them show?"""

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.power.basis import Assumed, Basis, from_numbers, in_points, plain_amount
from evalstats.analysis.power.pilot import from_pilot
from evalstats.analysis.power.plan import assemble
from evalstats.analysis.power.resources import read_costs
from evalstats.analysis.power.result import PowerPlan, PowerTest
from evalstats.analysis.power.sample_size import Request
from evalstats.errors import InputError
from evalstats.schema.data import EvalData

TESTS: tuple[PowerTest, ...] = ("difference", "noninferiority", "equivalence", "precision")
# A longer call is broken into lines.
_CALL_WIDTH = 66
METHODS = ("auto", "exact", "miller", "t", "clusters", "simulation")


def power(
    *,
    delta: float | str | None = None,
    pilot: EvalData | Comparison | object | None = None,
    baseline: str | None = None,
    candidate: str | None = None,
    metric: str | None = None,
    cluster: str | Sequence[str] | None = None,
    n_items: int | None = None,
    n_clusters: int | None = None,
    n_trials: float | tuple[float, float] | None = None,
    discordance: float | None = None,
    accuracy: float | None = None,
    variance: float | Mapping[str, float] | None = None,
    icc: float | None = None,
    cluster_size: float | None = None,
    cluster_cv: float = 0.0,
    margin: float | str | None = None,
    test: str = "difference",
    half_width: float | str | None = None,
    power: float = 0.8,
    conf_level: float = 0.95,
    contrast: str = "model",
    costs: Mapping[str, float] | None = None,
    method: str = "auto",
    n_resamples: int = 4000,
    seed: int = 0,
) -> PowerPlan:
    """Plan a comparison of two systems on the same items: how many items or clusters, or what a number of them shows.

    One number is solved for. With `delta` (or a margin, or a half width) and no size: the size. With a size and no `delta`:
    the smallest difference found. With both: the power. With a pilot and neither: what the pilot's own size can find.

    Parameters
    ----------
    delta
        True difference that matters, named beforehand: "3pp", or a number in the metric's own unit. For tests at a margin
        the true difference in favour of the candidate, 0 unless given. Never the difference that a pilot showed.
    pilot
        Results of two systems on the same items (`baseline`, `candidate`, with `metric`, `cluster`, `contrast` as in
        `compare`), or a `Comparison`. Their spread is used, their difference is not.
    n_items, n_clusters, n_trials
        Size of the evaluation; trials of every item by each system, or (baseline, candidate). With clusters, `n_clusters`
        alone and `delta` asks for the items within them.
    discordance
        Without a pilot: share of items that exactly one of the two gets right.
    accuracy
        Without a pilot: accuracy of the baseline; the two are then taken to err independently, which asks for more items
        than two systems on shared items mostly need.
    variance
        Without a pilot: variance of the item differences, squared score units; or its parts {"item", "trial" (or
        "trial_baseline", "trial_candidate"), "cluster"}, for one trial.
    icc, cluster_size, cluster_cv
        Correlation of the differences of two items of a cluster, mean number of items of a cluster, and coefficient of
        variation of that number.
    margin
        Largest difference that does not matter, for the tests "noninferiority" and "equivalence".
    test
        "difference" (default), "noninferiority", "equivalence", or "precision" (implied by `half_width`).
    half_width
        Half the width that the interval of the difference is to have.
    power
        Power asked for.
    conf_level
        Level of the interval: two-sided tests at 1 - conf_level, margins by the interval at 2 conf_level - 1.
    costs
        {"item", "trial", "cluster"}: what an item, one answer of one system, and a cluster cost, for "what to buy next".
    method
        "auto", "exact" (right/wrong items), "miller" (normal formula), "t", "clusters" or "simulation".
    n_resamples, seed
        For simulations.

    Returns
    -------
    PowerPlan
        The answer, its assumptions, other methods beside it, a curve, and what to buy next where there is a pilot.

    Raises
    ------
    InputError
        If an option is unknown, contradicts another, or too little is known.
    CannotAnswerError
        If the pilot tells nothing about the spread of the differences.

    Examples
    --------
    >>> plan = power(delta="5pp", discordance=0.2)
    >>> plan.n_items, plan.method
    (622, 'exact')
    >>> round(power(n_items=43, delta=0.1, discordance=0.3).power, 3)
    0.206
    >>> power(delta=0.03, variance=1 / 9).n_items
    969
    """
    call = _call(locals())
    question = _test(test, margin, half_width)
    _check_options(method, power, conf_level, question, (n_items, n_clusters, n_resamples, seed))
    trials = _trials(n_trials)
    assumed = Assumed(
        discordance=discordance,
        accuracy=accuracy,
        variance=variance,
        icc=icc,
        cluster_size=cluster_size,
        cluster_cv=cluster_cv,
        n_trials=trials or (1.0, 1.0),
    )
    if pilot is None:
        if baseline or candidate or metric or cluster:
            raise InputError(
                "baseline, candidate, metric and cluster name things in a pilot; give one, or leave them out"
            )
        points = any(in_points(value) for value in (delta, margin, half_width))
        basis = from_numbers(assumed, delta=None if delta is None else plain_amount(delta), points=points)
    else:
        _refuse_assumed(assumed)
        basis = from_pilot(
            pilot, baseline, candidate, metric=metric, cluster=cluster, contrast=contrast, conf_level=conf_level
        )
    request = Request(
        test=question,
        goal=power,
        conf_level=conf_level,
        method=method,
        n_trials=_planned_trials(trials, basis),
        delta=basis.units.read(delta, "delta"),
        margin=basis.units.read(margin, "margin"),
        half_width=basis.units.read(half_width, "half_width"),
        n_items=n_items,
        n_clusters=n_clusters,
        cluster_size=cluster_size,
        n_resamples=n_resamples,
        seed=seed,
    )
    return replace(assemble(request, basis, read_costs(costs)), call=call)


def _call(given: Mapping[str, object]) -> str:
    """Write the call with all that was given."""
    defaults = inspect.signature(power).parameters
    named = {name: value for name, value in given.items() if value != defaults[name].default and name != "pilot"}
    pilot = ["pilot=es.read(...)"] if given["pilot"] is not None else []
    parts = [*pilot, *(f"{name}={value!r}" for name, value in named.items())]
    line = f"es.power({', '.join(parts)})"
    return line if len(line) <= _CALL_WIDTH else "\n".join(["es.power(", *(f"    {part}," for part in parts), ")"])


def _test(test: str, margin: float | str | None, half_width: float | str | None) -> PowerTest:
    """Return what is to be shown; a half width asks for precision by itself."""
    chosen = "precision" if half_width is not None and test == "difference" else test
    for known in TESTS:
        if chosen != known:
            continue
        if half_width is not None and known != "precision":
            raise InputError(f"half_width is for test 'precision', and test is {test!r}; leave one of them out")
        if margin is not None and known not in ("noninferiority", "equivalence"):
            raise InputError(
                f"margin is for test 'noninferiority' or 'equivalence', and test is {known!r}; say which is meant"
            )
        return known
    raise InputError(f"test {test!r} is unknown; choose one of {', '.join(TESTS)}")


def _check_options(
    method: str, power: float, conf_level: float, test: PowerTest, counts: tuple[int | None, int | None, int, int]
) -> None:
    if method not in METHODS:
        raise InputError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}")
    lowest = 0.5 if test in ("difference", "precision") else 0.8
    if not lowest < conf_level < 1.0:
        raise InputError(f"conf_level is {conf_level:g}; it must lie above {lowest} and below 1, such as 0.95")
    if not 0.5 <= power < 1.0:
        raise InputError(f"power is {power:g}; give a number from 0.5 and below 1 (0.8)")
    for name, count, least in zip(
        ("n_items", "n_clusters", "n_resamples", "seed"), counts, (2, 1, 100, 0), strict=True
    ):
        if count is not None and (not math.isfinite(count) or count != int(count) or count < least):
            raise InputError(f"{name} is {count}; give a whole number from {least}")


def _trials(n_trials: float | tuple[float, float] | None) -> tuple[float, float] | None:
    if n_trials is None:
        return None
    pair = n_trials if isinstance(n_trials, tuple) else (n_trials, n_trials)
    if not all(math.isfinite(k) and k >= 1.0 for k in pair):
        raise InputError(f"n_trials is {n_trials}; give a number from 1, or one for baseline and one for candidate")
    return float(pair[0]), float(pair[1])


def _planned_trials(trials: tuple[float, float] | None, basis: Basis) -> tuple[float, float]:
    """Return the trials of the plan; those of the pilot where none are named."""
    if trials is None or not basis.is_pilot or trials == basis.parts.n_trials:
        return trials or basis.parts.n_trials
    if None in basis.parts.trials:
        raise InputError(
            f"n_trials is {trials[0]:g} and {trials[1]:g}, and the pilot does not tell how much trials of one item differ: "
            "it needs several trials of some items on both sides"
        )
    return trials


def _refuse_assumed(assumed: Assumed) -> None:
    given = {
        "discordance": assumed.discordance,
        "accuracy": assumed.accuracy,
        "variance": assumed.variance,
        "icc": assumed.icc,
    }
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise InputError(
            f"{' and '.join(named)} and a pilot were both given; the pilot tells these itself: leave them out"
        )
