"""How many items, trials or clusters do I need, and what can a given number show?"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evalstats import options as opt
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.design.entries import entries_of, entry_table, measured_alike
from evalstats.analysis.power.alternatives import (
    ANSWERS,
    Costs,
    answer_range,
    beside,
    next_steps,
    read_costs,
    recommendation,
    row_of,
    simulated_check,
    simulated_row,
    trials_table,
    variance_parts,
)
from evalstats.analysis.power.basis import (
    Basis,
    from_numbers,
    from_pilot,
    in_points,
    plain_amount,
    with_run_sd,
)
from evalstats.analysis.power.document import count_words, percent, power_words, question_of, shown, trial_words
from evalstats.analysis.power.result import PlanRow, PowerMethod, PowerPlan, PowerTest, ShortFormPlan
from evalstats.analysis.power.sample_size import (
    MOST_SIMULATED,
    Aim,
    BinaryDesign,
    PartsDesign,
    Request,
    SimulatedDesign,
    Size,
    Solution,
    Task,
    curve,
    detectable,
    final_aim,
    parts_of,
    solution,
    solved_by,
    task_of,
)
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Origin
from evalstats.analysis.settings import recorded
from evalstats.document.model import Note
from evalstats.document.numbers import interval_words, number
from evalstats.errors import CannotAnswerError, InputError, Option
from evalstats.grammar import plural
from evalstats.schema.data import EvalData, as_data
from evalstats.stats.checks import FEW_CLUSTERS, FEW_ITEMS
from evalstats.stats.item_response import two_parameter
from evalstats.stats.short_form import FEWEST_MODELS, form_errors, worth_of_form

_BEYOND = 4.0  # times the pilot
_FEW_PILOT_CLUSTERS = 20
_APART = 0.03  # of power, between formula and simulation
_SAME = 0.005  # as shown
_DISAGREE = 1.25  # of the standard error, between parts and CR2
_ENDLESS = 10**15  # items in clusters at which only the clusters count

_HEADLINES: Mapping[PowerMethod, str] = {
    "exact": "score test, exact sum",
    "formula": "formula",
    "miller": "Miller's formula",
    "t": "Student's t",
    "clusters": "CR2 t and sign-flip",
    "simulation": "simulation",
    "independent": "two independent groups",
}


def assemble(request: Request, basis: Basis, costs: Costs) -> PowerPlan:
    """Solve, and tell everything about the answer."""
    if request.method in ("exact", "miller", "t") and basis.clustered:
        told = f"Items are clustered, and method '{request.method}' takes them as independent"
        note = Note(kind="dependence", text=told)
        basis = replace(basis.independent(), notes=(*basis.notes, note))
    task = task_of(request, basis)
    found, checked = _checked(request, basis, task, solution(request, basis, task))
    design, answer, size = found.design, found.answer, found.size or task.size
    aim = final_aim(task, answer)
    simulation = design if isinstance(design, SimulatedDesign) else None
    rows = [_headline(task, found, aim), *beside(design, basis, task, found.size)]
    if checked is not None:
        rows.append(checked)
    if simulation is not None and found.size is not None:
        rows.append(row_of(simulation.base, task, found.size, method="formula", role="formula"))
    whole = parts_of(design)
    parts = None if whole is None else whole.at(aim.delta)
    total = None if parts is None else parts.total(task.axis.n_trials)
    # The curve is drawn around the plan's size, or the pilot's.
    around = size or Size(n_items=max(basis.parts.n_items, 100), n_clusters=max(len(basis.parts.sizes), 10))
    middle = max(task.axis.least, (around.n_clusters or 10) if task.axis.over_clusters else around.n_items)
    known_delta = task.solved != "delta" or answer is not None
    span = answer_range(design, basis, task)
    if span is None or span[:2] == (None, None):
        span = (None, None, "")
    low, high = (value if value is not None and math.isfinite(value) else None for value in span[:2])
    plan = PowerPlan(
        question="",
        test=request.test,
        solved=task.solved,
        conf_level=request.conf_level,
        power_goal=request.goal,
        method=found.method,
        method_reason=found.reason,
        n_items=None if size is None else size.n_items,
        n_clusters=task.axis.n_clusters if size is None else size.n_clusters,
        n_trials=task.axis.n_trials,
        delta=aim.delta if known_delta and (request.test != "precision" or request.delta is not None) else None,
        margin=aim.margin if request.test in ("noninferiority", "equivalence") else None,
        half_width=answer if task.solved == "half_width" else request.half_width,
        power=rows[0].power,
        reason=None if answer is not None else _why_none(task, basis, simulated=simulation is not None),
        answer_low=low,
        answer_high=high,
        answer_range=span[2],
        smallest_delta=None if whole is None else _smallest_delta(whole, task),
        conf_low=rows[0].conf_low,
        conf_high=rows[0].conf_high,
        n_resamples=rows[0].n_resamples,
        discordance=design.discordance if isinstance(design, BinaryDesign) else None,
        variance=total,
        icc=(parts.parts.cluster or 0.0) / total
        if parts is not None and total is not None and basis.clustered
        else None,
        cluster_size=None if not basis.clustered else request.cluster_size or basis.cluster_size,
        beside=tuple(rows),
        curve=curve(design, task, middle, answer=answer),
        curve_unit="clusters" if task.axis.over_clusters else "items",
        by_trials=trials_table(design, task, basis),
        n_tasks=basis.n_tasks,
        different=basis.different,
        pilot=basis.pilot,
        benchmark=basis.benchmark,
        metric=basis.metric,
        scale=basis.scale,
        unit=basis.unit,
        origin=Origin(version=toolkit_version(), seed=request.seed),
    )
    buys = basis.is_pilot and not basis.different
    if costs.given and not buys:
        raise InputError(
            "costs say what to buy next after a pilot of two systems on the same items; give one, or leave them out"
        )
    if buys:
        look = aim if task.solved != "delta" else replace(aim, delta=0.0)
        steps = next_steps(basis, look, request.goal, costs, plan=simulation)
        plan = replace(
            plan,
            parts=variance_parts(basis),
            next_steps=steps,
            cost_unit="cost" if costs.given else ANSWERS,
            recommendation=recommendation(basis, steps, costs),
        )
    plan = replace(plan, question=question_of(plan), assumptions=_assumptions(plan, basis))
    return replace(plan, notes=(*basis.notes, *_cautions(plan, basis)))


def _smallest_delta(design: PartsDesign, task: Task) -> float | None:
    """Return what no number of items in the clusters that are given can bring the detectable difference below."""
    n_clusters = task.axis.n_clusters or (None if task.size is None else task.size.n_clusters)
    by_clusters = n_clusters is not None and design.parts.cluster
    if not (by_clusters or design.parts.run) or task.aim.test != "difference":
        return None
    return detectable(design, task, Size(n_items=_ENDLESS, n_clusters=n_clusters, n_trials=task.axis.n_trials))


def _checked(request: Request, basis: Basis, task: Task, found: Solution) -> tuple[Solution, PlanRow | None]:
    """Check a formula's answer by simulation; where no method was asked for and it promises too much, simulate the plan."""
    base = found.design
    if not isinstance(base, PartsDesign) or found.size is None:
        return found, None
    aim = final_aim(task, found.answer)
    design = simulated_check(base, basis, aim, found.size, n_resamples=request.n_resamples, seed=request.seed)
    if design is None:
        return found, None
    power, row = base.power(found.size, aim), simulated_row(design, aim, found.size)
    if request.method != "auto" or not _promises_too_much(power, row):
        return found, row
    reason = f"the formula promises a power of {power_words(power)} where simulation gives {power_words(row.power)}"
    better = solved_by(design, task, "simulation", reason)
    return (found, row) if better.answer is None else (better, None)


def _promises_too_much(power: float, simulated: PlanRow) -> bool:
    """Whether a power lies above the interval of the simulated one, and by enough to matter."""
    if simulated.power is None or simulated.conf_high is None:
        return False
    return power > simulated.conf_high and power > simulated.power + _APART


def _headline(task: Task, found: Solution, aim: Aim) -> PlanRow:
    size, design = found.size, found.design
    by_margin = found.method == "exact" and aim.test != "difference"
    values: dict[str, Any] = {}
    if task.solved in ("delta", "margin"):
        values[task.solved] = found.answer
    if size is not None:
        if task.counts:
            values |= {"n_items": size.n_items, "n_clusters": size.n_clusters}
        if aim.test == "precision":
            values["half_width"] = design.half_width(size, aim)
        elif isinstance(design, SimulatedDesign):
            run = design.simulate(size, aim)
            values |= {name: getattr(run, name) for name in ("power", "conf_low", "conf_high", "n_resamples")}
        else:
            values["power"] = design.power(size, aim)
    name = "Tango's test at the margin, exact sum" if by_margin else _HEADLINES[found.method]
    return PlanRow(method=name, role="headline", **values)


def _assumptions(plan: PowerPlan, basis: Basis) -> tuple[str, ...]:
    """Return what the answer rests on."""
    told = [*basis.assumptions]
    if basis.pilot:
        told.append(f"The spread of the differences is that of the pilot: {basis.pilot}")
    if plan.discordance is not None and basis.is_pilot:
        told.append(f"Exactly one of the two gets an item right on {percent(plan.discordance, 1)} of the items")
    told += _of_units(plan, basis)
    answers = "once"
    if max(plan.n_trials) > 1.0:
        answers = f"{trial_words(plan).strip()}{', each a run' if basis.parts.run else ''}"
    level, narrower = percent(plan.conf_level), percent(2 * plan.conf_level - 1)
    if plan.test == "precision":
        shown_means = "the width is an expectation: half of all evaluations give a wider interval"
    elif plan.test == "noninferiority":
        shown_means = f"Shown means that the {narrower} interval lies above minus the margin"
    elif plan.test == "equivalence":
        shown_means = f"Shown means that the {narrower} interval lies within the margin on both sides"
    else:
        shown_means = f"Detected means that the {level} interval excludes 0"
        if plan.cluster_size is not None and not basis.different:
            shown_means += " and that a sign-flip test of the clusters agrees"
        elif plan.method == "exact":
            shown_means += " with at least 6 discordant items"
    return (*told, *([] if basis.different else [f"Both systems answer the same items, {answers}"]), shown_means)


def _of_units(plan: PowerPlan, basis: Basis) -> list[str]:
    """Say what is independent of what."""
    size, correlation = count_words(plan.cluster_size or 0.0), number(plan.icc)
    if basis.different:
        alike = f"New {basis.different} have {size} rows each on average, two of which correlate by {correlation}"
        sides = f"Nobody meets both systems, and as many {basis.different} meet each"
        return [alike, sides] if basis.clustered else [sides]
    if not basis.clustered:
        return ["Items are independent of each other"]
    alike = f"New clusters are like these, with {size} items on average"
    return [f"{alike}; two items of one cluster have differences that correlate by {correlation}"]


def _why_none(task: Task, basis: Basis, *, simulated: bool) -> str:
    """Say why there is no answer; it stands behind "no number of items" and the like."""
    axis = task.axis
    if task.counts and axis.n_clusters is not None:
        if axis.n_clusters < FEW_CLUSTERS:
            return f"nothing can be claimed from {axis.n_clusters} clusters; at least {FEW_CLUSTERS} are needed"
        return f"what differs between the {axis.n_clusters} clusters stays however many items each has"
    if task.counts and basis.parts.run and not task.axis.over_clusters:
        return "what differs from run to run stays however many items there are; only more runs lower it"
    if task.counts:
        most = MOST_SIMULATED if simulated and not axis.over_clusters else axis.most
        limit = f"{most:,} {'clusters' if axis.over_clusters else 'items'}{' of a simulation' if simulated else ''}"
        return f"not even {limit} are enough"
    clusters = None if task.size is None else task.size.n_clusters
    if clusters is not None and basis.clustered:
        return (
            f"{plural(clusters, 'cluster')} give no interval within the score's range; at least {FEW_CLUSTERS} of equal weight "
            "are needed, and a sign-flip of them must be able to agree"
        )
    return "none within the score's range can be shown with that power"


def _cautions(plan: PowerPlan, basis: Basis) -> list[Note]:
    """Return what must be known before the plan is used."""
    found: list[Note] = []
    if plan.discordance is not None and plan.delta is not None and abs(plan.delta) > plan.discordance:
        text = (
            f"The two differ on {percent(plan.discordance, 1)} of the items, less than {shown(plan, plan.delta)} needs"
        )
        found.append(Note(kind="fit", text=text, remedy="They are taken to differ on no more items than it needs"))
    if basis.is_pilot:
        found.extend(_pilot_cautions(plan, basis))
    simulated = next((row for row in plan.beside if row.role == "simulation"), None)
    power = plan.beside[0].power
    if simulated is not None and power is not None and _promises_too_much(power, simulated):
        text = f"Simulation gives a power of {power_words(simulated.power)}, the formula {power_words(power)}"
        found.append(Note(kind="fit", text=text, remedy="Use method 'simulation'"))
    if plan.answer is not None and plan.n_items is not None and plan.n_items < FEW_ITEMS:
        found.append(Note(kind="few", text=f"No method is reliable below {FEW_ITEMS} items"))
    return found


def _pilot_cautions(plan: PowerPlan, basis: Basis) -> list[Note]:
    found: list[Note] = []
    seen, clusters = basis.parts.n_items, len(basis.parts.sizes)
    if plan.answer is not None and plan.n_items is not None and plan.n_items > _BEYOND * seen:
        text = f"The plan has {plan.n_items / seen:.1f} times the {seen:,} items of the pilot"
        found.append(Note(kind="few", text=text, remedy="It holds only if new items are like those of the pilot"))
    apart = math.inf if plan.delta is None or not basis.seen else abs(abs(plan.delta) - abs(basis.seen))
    if plan.test == "difference" and plan.solved != "delta" and apart < _SAME / plan.scale:
        text = "Delta is the difference that the pilot showed, and power for an observed difference only repeats its p-value"
        found.append(Note(kind="selection", text=text, remedy="Name the smallest difference that would matter"))
    at_margin = plan.test in ("noninferiority", "equivalence")
    if at_margin and basis.ends and plan.delta is not None and not basis.ends[0] <= plan.delta <= basis.ends[1]:
        ends, assumed = interval_words(*basis.ends, plan.scale), shown(plan, plan.delta)
        text = f"The pilot's own interval, {ends} {plan.unit}, excludes the assumed true difference of {assumed}"
        remedy = ("Assume one that the pilot allows: ", Option("delta", blank="DIFFERENCE"))
        found.append(Note(kind="fit", text=text, remedy=remedy))
    if clusters and clusters < _FEW_PILOT_CLUSTERS:
        text = f"The pilot has {plural(clusters, 'cluster')}, which show little of how much clusters differ"
        found.append(Note(kind="few", text=text, remedy="Rely on the range of the answer"))
    if basis.discordant == 0:
        text = "The two never differ in the pilot, so this is the best case"
        found.append(Note(kind="few", text=text))
    if clusters and basis.std_error is not None:
        ratio = basis.parts.variance() ** 0.5 / basis.std_error
        if not 1.0 / _DISAGREE <= ratio <= _DISAGREE:
            text = f"The parts of the variance give {ratio:.2f} times the standard error of the comparison"
            found.append(Note(kind="fit", text=text, remedy="Clusters are uneven, so the parts are rough"))
    return found


@recorded
def power(
    *,
    delta: opt.Delta = None,
    pilot: EvalData | Comparison | object | None = None,
    baseline: opt.PilotBaseline = None,
    candidate: opt.PilotCandidate = None,
    metric: opt.Metric = None,
    cluster: opt.Cluster = None,
    n_items: opt.NItems = None,
    n_clusters: opt.NClusters = None,
    n_trials: opt.NTrials = None,
    run_sd: opt.PlannedRunSd = None,
    discordance: opt.Discordance = None,
    accuracy: opt.Accuracy = None,
    variance: opt.Variance = None,
    icc: opt.Icc = None,
    cluster_size: opt.ClusterSize = None,
    cluster_cv: opt.ClusterCv = 0.0,
    margin: opt.Margin = None,
    test: opt.Test = "difference",
    half_width: opt.HalfWidth = None,
    power: opt.Power = 0.8,
    conf_level: opt.ConfLevel = 0.95,
    contrast: opt.Contrast = "model",
    paired: opt.PlannedPaired = None,
    costs: opt.Costs = None,
    method: opt.PowerMethod = "auto",
    n_resamples: opt.Simulations = 4000,
    seed: opt.SimulationSeed = 0,
) -> PowerPlan:
    """Plan a comparison of two systems: the items or clusters needed, or what a given number can show.

    One number is solved for. With `delta` (or a margin, or a half width) and no size: the size. With a size and no `delta`:
    the smallest difference found. With both: the power. With a pilot and neither: what the pilot's own size can find.

    Parameters
    ----------
    delta
        True difference that matters, named beforehand: "3pp", or a number in the metric's own unit. For tests at a margin
        the true difference in favour of the candidate, 0 unless given. Never the difference that a pilot showed.
    pilot
        Results of two systems (`baseline`, `candidate`, with `metric`, `cluster`, `contrast` as in `compare`), or a
        `Comparison`. Their spread is used, their difference is not. Several benchmarks are a suite: the plan is of the macro
        average, with as many items for each task.
    n_items, n_clusters, n_trials
        Size of the evaluation; trials of every item by each system, or (baseline, candidate). With clusters, `n_clusters`
        alone and `delta` asks for the items within them.
    discordance
        Without a pilot: share of items that exactly one of the two gets right.
    accuracy
        Without a pilot: accuracy of the baseline; the two are then taken to err independently, which asks for more items
        than two systems on shared items mostly need.
    paired
        False: the two sides have different users or items, as in an A/B test, and sizes are those of a side; `accuracy` is then
        the baseline's success rate, `variance` that of the scores of either side, and clusters are users with several rows.
    variance
        Without a pilot: variance of the item differences, squared score units; or its parts {"item", "trial" (or
        "trial_baseline", "trial_candidate"), "cluster"}, for one trial.
    run_sd
        Plan by whole runs, as if their spread were known: the standard deviation of a system's score from run to run, such as
        "1.4pp". `n_trials` are then runs, and what they differ by stays however many items there are. A pilot with whole runs
        tells it by itself.
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
    question = "precision" if half_width is not None and test == "difference" else test
    if half_width is not None and question != "precision":
        raise InputError(f"half_width is for test 'precision', and test is {test!r}; leave one of them out")
    if margin is not None and question not in ("noninferiority", "equivalence"):
        raise InputError(
            f"margin is for test 'noninferiority' or 'equivalence', and test is {question!r}; say which is meant"
        )
    _check_options(power, conf_level, question, (n_items, n_clusters, n_resamples))
    trials = None
    if n_trials is not None:
        each = n_trials if isinstance(n_trials, tuple) else (n_trials, n_trials)
        trials = float(each[0]), float(each[1])
    if trials is not None and not all(math.isfinite(k) and k >= 1.0 for k in trials):
        raise InputError(f"n_trials is {n_trials}; give a number from 1, or one for baseline and one for candidate")
    if pilot is None:
        if baseline or candidate or metric or cluster:
            raise InputError(
                "baseline, candidate, metric and cluster name things in a pilot; give one, or leave them out"
            )
        points = any(in_points(value) for value in (delta, margin, half_width, run_sd))
        basis = from_numbers(
            discordance=discordance,
            accuracy=accuracy,
            variance=variance,
            icc=icc,
            cluster_size=cluster_size,
            cluster_cv=cluster_cv,
            n_trials=trials or (1.0, 1.0),
            delta=None if delta is None else plain_amount(delta),
            points=points,
            paired=paired is not False,
        )
    else:
        assumed = {"discordance": discordance, "accuracy": accuracy, "variance": variance, "icc": icc}
        if named := [name for name, value in assumed.items() if value is not None]:
            raise InputError(
                f"{' and '.join(named)} and a pilot were both given; the pilot tells these itself: leave them out"
            )
        basis = from_pilot(
            pilot, baseline, candidate, metric=metric, cluster=cluster, contrast=contrast, conf_level=conf_level, paired=paired,
        )  # fmt: skip
        if trials not in (None, basis.parts.n_trials) and None in basis.parts.trials:
            raise InputError(
                f"n_trials is {trials[0]:g} and {trials[1]:g}, and the pilot does not tell how much trials of one item "
                "differ: it needs several trials of some items on both sides"
            )
    basis = with_run_sd(basis, run_sd)
    request = Request(
        test=question,
        goal=power,
        conf_level=conf_level,
        method=method,
        n_trials=trials or basis.parts.n_trials,
        delta=basis.read(delta, "delta"),
        margin=basis.read(margin, "margin"),
        half_width=basis.read(half_width, "half_width"),
        n_items=n_items,
        n_clusters=n_clusters,
        cluster_size=cluster_size,
        n_resamples=n_resamples,
        seed=seed,
    )
    plan = assemble(request, basis, read_costs(costs))
    if pilot is None or isinstance(pilot, Comparison):
        return plan
    return replace(plan, short_form=short_form_plan(as_data(pilot), plan, contrast=contrast, seed=seed))


def _check_options(
    power: float, conf_level: float, test: PowerTest, counts: tuple[int | None, int | None, int]
) -> None:
    if test in ("noninferiority", "equivalence") and conf_level <= 0.8:
        given = Option("conf_level", conf_level)
        raise InputError(
            f"{given} is too low for a margin, which takes the interval at 2 x level - 1; give more than 0.8"
        )
    if not 0.5 <= power < 1.0:
        raise InputError(f"power is {power:g}; give a number from 0.5 and below 1 (0.8)")
    for name, count, least in zip(("n_items", "n_clusters", "n_resamples"), counts, (2, 1, 100), strict=True):
        if count is not None and (not math.isfinite(count) or count != int(count) or count < least):
            raise InputError(f"{name} is {count}; give a whole number from {least}")


# --- short forms of the pilot's items ---


_SIZES = (20, 50, 100, 150, 200, 300, 500)
# Curves of more answers than this take longer than the whole plan; `items` is there for them.
_MOST_CELLS = 30_000


def short_form_plan(data: EvalData, plan: PowerPlan, *, contrast: str, seed: int) -> ShortFormPlan | None:
    """Return the smallest short form of the pilot's items that tells a score as well as the plan's random items.

    None where the plan has no number of independent right-or-wrong items below the pilot's, fewer than ten models answered
    alike, the pilot is large, or no form is smaller.
    """
    wanted = plan.n_items
    if plan.solved != "n_items" or wanted is None or plan.n_clusters or plan.n_tasks or plan.discordance is None:
        return None
    column = data.factor(contrast)
    try:
        metric, systems, _ = entries_of(
            data, metric=plan.metric, models=None, contrast=column, least=FEWEST_MODELS, ambiguous={}
        )
        board, _ = measured_alike(entry_table(data, metric, systems, contrast=column), "no short form can be tried")
    except (CannotAnswerError, InputError):  # an offer beside the plan, which stands without it
        return None
    table = board.table.take(board.table.paired())
    n_items, n_models = table.total.shape
    sizes = [size for size in _SIZES if size < wanted and 2 * size <= n_items]
    if n_models < FEWEST_MODELS or not sizes or wanted >= n_items or n_items * n_models > _MOST_CELLS:
        return None
    # Which items are picked may hang on the last digit of a sum, and so on the order of the cells in memory.
    trials, total = (np.array(cells, dtype=np.float64, order="C") for cells in (table.n_scored, table.total))
    right = total if metric.higher_is_better else trials - total
    tried = form_errors(right, sizes, trials=trials, curves=two_parameter(right, trials), seed=seed)
    for form in tried:
        worth = worth_of_form(form.score_error, form.random_error, form.size, n_items)
        if worth >= wanted:
            return ShortFormPlan(
                size=form.size,
                n_items=n_items,
                n_models=n_models,
                score_error=form.score_error,
                random_size=worth,
                difference_error=form.difference_error,
                difference_size=worth_of_form(form.difference_error, form.random_difference_error, form.size, n_items),
            )
    return None
