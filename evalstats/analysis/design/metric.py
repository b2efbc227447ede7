"""Which metric is studied, and on which scale; and a suite, several benchmarks that are one question.

Which way the metric is better, what a declared margin is on its scale. The benchmarks of a suite, such as a harness's folder with
twenty tasks, become tasks of one benchmark, each with its own headline metric, so that all that is asked of levels of a factor is
asked of tasks: macro and micro averages, a row for each, one family. Scores of another scale stay out of it, by name.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evalstats.document.model import Note
from evalstats.errors import Advice, InputError, Option, written
from evalstats.grammar import and_list, comma_list, quoted_list
from evalstats.options import GivenOptions
from evalstats.record import record
from evalstats.schema.columns import METRIC_KINDS, plain
from evalstats.schema.data import EvalData
from evalstats.schema.metrics import contradicted, direction_in_name, is_amount, says_percent, suggests_lower
from evalstats.schema.plan import Plan
from evalstats.schema.tables import levels_of
from evalstats.stats.score_scales import Spread, lone_code, single_numbers_conflict, spread_of, two_scales
from evalstats.table.items import row_counts, trial_sets
from evalstats.table.metric import Direction, MetricFacts
from evalstats.table.systems import System, refuse_same_rows, rows_among, rows_named, shared_benchmarks, system_of

Bounds = tuple[float | None, float | None]

ASSUMED = "higher assumed better"
HOW_TO_DIRECT: Advice = (
    Option("higher_is_better", value=False),
    " or ",
    Option("higher_is_better", value=True),
    " says so",
)
_VALUES_SHOWN = 12


@record
class Metric(MetricFacts):
    """The metric under study, with cautions about the scale of its scores."""

    cautions: tuple[Note, ...] = ()


def direction_of(name: str, *, declared: bool | None, of: Sequence[str] = ()) -> tuple[bool, Direction]:
    """Return whether more is better, and how that is known; `of` is what else names what was scored.

    >>> [direction_of(name, declared=None) for name in ("wer ↓", "wer", "score")]
    [(False, 'declared'), (True, 'asked'), (True, 'assumed')]
    >>> [direction_of(name, declared=None, of=["attacks", "attack_id"]) for name in ("success", "detected")]
    [(True, 'asked'), (True, 'assumed')]
    """
    said = direction_in_name(name) if declared is None else declared
    if said is not None:
        return bool(said), "declared"
    return True, "asked" if suggests_lower(" ".join((*of, name))) else "assumed"


def direction_notes(direction: str) -> tuple[Note, ...]:
    """Return what is said of a direction that nobody declared: a caution, where it has to be asked for."""
    match direction:
        case "assumed":
            return (Note(kind="direction", text="Higher is assumed better", caution=False),)
        case "asked":
            return (Note(kind="direction", text="Is lower better?", remedy=HOW_TO_DIRECT),)
        case _:
            return ()


def asked_direction(*directions: str) -> list[str]:
    """Return what the headline asks where the direction of a metric has to be asked for."""
    return [f"is lower better? {written(HOW_TO_DIRECT)}"] if "asked" in directions else []


def open_direction(name: str) -> str:
    """Say why nothing can be called better or worse yet.

    >>> print(open_direction("jailbroken"))
    the name 'jailbroken' suggests that lower is better, and nothing declares it
    >>> print(open_direction("success"))
    the names of the items suggest that lower is better in 'success', and nothing declares it
    """
    own = f"the name {name!r} suggests that lower is better"
    theirs = f"the names of the items suggest that lower is better in {name!r}"
    return f"{own if suggests_lower(name) else theirs}, and nothing declares it"


def how_to_declare(name: str, scale: str) -> str:
    """Say how a scale is declared: for a table of one's own, and for files of any format.

    >>> print(how_to_declare("score", "0..100"))
    scale='0..100', for files of any format [metrics.score] in evalstats.toml
    """
    return f"{Option('map', scale, of='scale')}, for files of any format [metrics.{name}] in evalstats.toml"


def how_to_direct(metrics: Sequence[str]) -> Advice:
    """Say how the directions of metrics are declared, in the two ways of `how_to_declare`.

    >>> print(written(how_to_direct(["wer"])))
    lower='wer' (or higher), for files of any format [metrics."wer"] with higher_is_better in evalstats.toml
    """
    table = f'[metrics."{metrics[0]}"] with higher_is_better in evalstats.toml'
    return (Option("map", ",".join(metrics), of="lower"), f" (or higher), for files of any format {table}")


def check_family(metrics: tuple[str, ...], asked: Mapping[str, Any]) -> None:
    """Refuse a list of metrics without one, with one twice, and beside what speaks of a single metric."""
    if not metrics:
        raise InputError(f"the list of metrics is empty; name one or several with {Option('metric')}")
    if twice := [name for name in dict.fromkeys(metrics) if metrics.count(name) > 1]:
        raise InputError(f"metric {twice[0]!r} is named twice; name each once with {Option('metric')}")
    for name in ("by", "sequential", "labels", "pass_hat", "pass_at"):
        if asked.get(name) not in (None, False):
            raise InputError(
                f"several metrics are compared over all items; leave out {Option(name)}, or choose one of "
                f"{quoted_list(metrics)} with {Option('metric')}"
            )
    if asked["higher_is_better"] is not None:
        lower = [name for name in metrics if suggests_lower(name)] or metrics[-1:]
        raise InputError(
            f"each of several metrics has a direction of its own: {written(how_to_direct(lower))}; or choose one of "
            f"{quoted_list(metrics)} with {Option('metric')}"
        )


def refuse_contradictions(found: pl.DataFrame, benchmark: str, name: str) -> None:
    """Refuse a metric that sources describe in ways that cannot all be true."""
    disputes = contradicted(found.to_dicts()) if found.height > 1 else []
    if disputes:
        raise InputError(
            f"sources describe {name!r} of {benchmark} in ways that cannot all be true: {'; '.join(disputes)}. If one holds "
            f"for all, declare it: [metrics.{name}] in evalstats.toml with low, high and higher_is_better (in Python: "
            f"data.with_metric({name!r}, low=..., high=..., higher_is_better=...))"
        )


def check_scale(
    rows: pl.DataFrame, benchmark: str, name: str, bounds: Bounds, *, contrast: str = "model"
) -> tuple[Note, ...]:
    """Return cautions about the scores of a metric, whose scale is declared where it has a bound other than 0 to 1."""
    if bounds not in {(None, None), (0.0, 1.0)}:
        return _told_of_declared(rows, name, bounds, contrast)
    if "estimate" in rows.columns:
        _refuse_mixed_numbers(rows, benchmark, name)
        return ()
    n = pl.len() if trial_sets(rows) is None else pl.col("n_trials").fill_null(1).sum()
    counted = rows.lazy().drop_nulls("score").group_by("score").agg(n.alias("len")).sort("score").collect()
    code = lone_code(counted["score"].to_numpy(), counted["len"].to_numpy())
    low, high = counted["score"].min(), counted["score"].max()
    if not isinstance(low, float) or not isinstance(high, float):
        return ()
    if bounds == (None, None) and says_percent(name) and low >= 0 and 0 < high <= 1:
        raise InputError(
            f"{name!r} is called a percentage, and its scores all lie between {low:g} and {high:g}. Declare which it is: "
            f"{how_to_declare(name, 'percent')}, or proportion"
        )
    cautions = () if code is None else (_of_code(counted, name, code),)
    if low >= 0 and high <= 1:  # one scale for all, whatever it is
        return cautions
    groups = _groups(rows, contrast)
    found = two_scales(groups, has_top=not is_amount(name))
    if found is None:
        return cautions
    first, second, sureness = found
    seen = f"{_seen(first, groups[first])}; {_seen(second, groups[second])}"
    if sureness == "certain":
        raise InputError(
            f"the scores of {name!r} on {benchmark} cannot be of one scale: {seen}. Bring them to one scale; or, if they are on "
            f"one, declare it: {how_to_declare(name, _scale_meant(groups[second]))} (0.. for a metric without a top)"
        )
    doubt = (
        f"The scores of {name!r} may be of two scales: {seen}. If they are on one, declare it: "
        f"{how_to_declare(name, _scale_meant(groups[second]))}"
    )
    return (*cautions, Note(kind="scale", text=doubt))


def _told_of_declared(rows: pl.DataFrame, name: str, bounds: Bounds, contrast: str) -> tuple[Note, ...]:
    """Warn of scores that look like another scale than the declared one, which holds all the same."""
    if "estimate" in rows.columns or None in bounds or is_amount(name):
        return ()
    groups = _groups(rows, contrast)
    found = two_scales(groups)
    if found is None or found[2] != "certain":
        return ()
    said = (
        f"The scale declared for {name!r} is taken for all, though the scores look like two: "
        f"{_seen(found[0], groups[found[0]])}; {_seen(found[1], groups[found[1]])}"
    )
    return (Note(kind="scale", text=said),)


def _refuse_mixed_numbers(rows: pl.DataFrame, benchmark: str, name: str) -> None:
    """Refuse published numbers that are shares for some models and percentages for others."""
    known = rows.filter(pl.col("estimate").is_not_null() & pl.col("estimate").is_finite())
    if is_amount(name) or not single_numbers_conflict(known["estimate"].to_numpy()):
        return
    small = known.filter(pl.col("estimate") <= 1).sort("estimate")
    large = known.filter(pl.col("estimate") > 1).sort("estimate")
    raise InputError(
        f"the published numbers of {name!r} on {benchmark} cannot be of one scale: {small['model'][-1]!r} has "
        f"{small['estimate'][-1]:g}, {large['model'][0]!r} has {large['estimate'][0]:g}. Write all as shares or all as "
        f"percentages; or, if they are on one scale, declare it: [metrics.{name}] in evalstats.toml with low = 0 and high = 100"
    )


def _groups(rows: pl.DataFrame, contrast: str) -> dict[str, Spread]:
    """Return the scores of every run (and judge, and level of the contrast), under the shortest name that tells them apart."""
    keys = [name for name in ("run", "system", "judge") if rows[name].n_unique() > 1]
    if contrast not in {"model", *keys} and contrast in rows.columns:
        keys.append(contrast)
    if not keys:
        return {}
    parts = rows.filter(pl.col("score").is_not_null()).partition_by(keys, as_dict=True)
    spreads = {key: spread_of(part["score"].to_numpy(), row_counts(part)) for key, part in parts.items()}
    place = keys.index("system") if "system" in keys else -1
    by_system = place >= 0 and len({key[place] for key in spreads}) == len(spreads)
    return {
        str(key[place]) if by_system else ", ".join(str(value) for value in key if value is not None): spread
        for key, spread in spreads.items()
    }


def _seen(name: str, group: Spread) -> str:
    values = group.values
    few = ", ".join(f"{value:g}" for value in values) if len(values) <= _VALUES_SHOWN / 2 else None
    span = f"{group.low:g}" if len(values) == 1 else few or f"{group.low:g} to {group.high:g}"
    return f"{name!r} has {span} ({group.n:,.0f} scores)"


def _scale_meant(beyond: Spread) -> str:
    tops = [top for top in (5, 10, 100, 1000) if beyond.high <= top]
    low = 1 if beyond.low >= 1 and beyond.high <= 10 else 0
    return f"{low}..{tops[0] if tops else math.ceil(beyond.high)}"


def _of_code(counted: pl.DataFrame, name: str, code: float) -> Note:
    n = counted.filter(pl.col("score") == code)["len"].item()
    others = counted.filter(pl.col("score") != code)["score"]
    few = f"{n:,} score of {name!r} is" if n == 1 else f"{n:,} scores of {name!r} are"
    text = f"{few} {code:g}, far from all others ({others[0]:g} to {others[-1]:g}), and counted in the mean"
    return Note(kind="scale", text=text, remedy=is_no_score(code))


def is_no_score(code: float) -> Advice:
    """Return how to say that a code stands for no score."""
    return (f"If {code:g} means no score, say ", Option("map", code, of="unscored"))


_WHOLE = 1e-6  # shares are written with some six digits
_MARGIN = re.compile(r"\s*((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))\s*(?:(pp|%|percent)\s*)?")


def choose_metric(data: EvalData, outcomes: pl.DataFrame, metric: str | None, *, contrast: str = "model") -> Metric:
    """Return the metric to study in `outcomes`; a choice that the data leave open is an error, never a guess.

    `contrast` is what names the sides, whose scores must be of one scale.
    """
    if metric is not None:
        with_metric = outcomes.filter(pl.col("metric") == metric)
        if not with_metric.height:
            cure = ""
            if metric in data.outcomes.columns and data.outcomes[metric].dtype.is_numeric():
                scores = Option("map", (*levels_of(data.outcomes["metric"]), metric), of="score")
                cure = f"; column {metric!r} is a metric too if the map says so: {scores}"
            raise InputError(f"there is no metric {metric!r}; the data have {quoted_list(outcomes['metric'])}{cure}")
        outcomes = with_metric
    benchmarks: list[str] = levels_of(outcomes["benchmark"])
    if len(benchmarks) > 1:
        raise InputError(
            f"the data hold {len(benchmarks)} benchmarks ({quoted_list(benchmarks)}); scores of different benchmarks "
            f"are not one quantity: choose one with {Option('where', blank='NAME', of='benchmark')}"
        )
    name = metric if metric is not None else _headline(data, outcomes, benchmarks[0], contrast)
    return _described(data, rows_among(outcomes, outcomes["metric"] == name), benchmarks[0], name, contrast)


def both_systems(
    data: EvalData, baseline: str, candidate: str, *, metric: str | None, contrast: str, plan: Plan | None = None
) -> tuple[Metric, System, System]:
    """Return the metric of two named systems, on the benchmarks that they share, and both with their rows of it.

    A plan may declare the metric of the one benchmark that they share.
    """
    names = (baseline, candidate)
    first = rows_named(data.outcomes, baseline, contrast=contrast, role="baseline")
    second = rows_named(data.outcomes, candidate, contrast=contrast, role="candidate")
    refuse_same_rows(first, second, names)
    shared = shared_benchmarks(first, second, names)
    if metric is None and plan is not None and len(shared) == 1:
        metric = plan.primary_for(shared[0])
    both = pl.concat([first, second])
    rows = rows_among(both, both["benchmark"].is_in(shared))
    if metric is None:
        sides = {
            name: side["metric"].filter(side["benchmark"].is_in(shared))
            for name, side in zip(names, (first, second), strict=True)
        }
        _refuse_none_shared({name: levels_of(held) for name, held in sides.items()})
    chosen = choose_metric(data, rows, metric, contrast=contrast)
    return (
        chosen,
        system_of(first, baseline, chosen, role="baseline"),
        system_of(second, candidate, chosen, role="candidate"),
    )


def metrics_to_show(data: EvalData, rows: pl.DataFrame, benchmark: str, metric: str | None) -> list[str]:
    """Metrics to list when nothing is compared: the named one, else the headline, else all."""
    names: list[str] = levels_of(rows["metric"])
    if metric is not None:
        return [metric] if metric in names else []
    return _primary(data, benchmark, names) or names


def _primary(data: EvalData, benchmark: str, names: Sequence[str]) -> list[str]:
    declared = (pl.col("benchmark") == benchmark) & pl.col("primary") & pl.col("metric").is_in(list(names))
    return data.metrics.filter(declared)["metric"].unique(maintain_order=True).to_list()


def _headline(data: EvalData, rows: pl.DataFrame, benchmark: str, contrast: str) -> str:
    names: list[str] = levels_of(rows["metric"])
    if len(names) == 1:
        return names[0]
    primary = _primary(data, benchmark, names)
    if len(primary) == 1:
        return primary[0]
    sides = levels_of(rows[contrast]) if contrast in rows.columns else []
    _refuse_none_shared({str(side): levels_of(rows["metric"].filter(rows[contrast] == side)) for side in sides})
    raise InputError(
        f"{benchmark} has {len(names)} metrics and none is declared its headline: {quoted_list(names)}; "
        f"choose one, such as {Option('metric', _overall(names))}, before looking at the results"
    )


def _overall(names: Sequence[str]) -> str:
    """Return the metric that is called like a summary of the others, else the first.

    >>> _overall(["Archaeology", "Overall"]), _overall(["f1", "em"])
    ('Overall', 'f1')
    """
    return next((name for name in names if plain(name) in {"overall", "overall_score", "average", "avg"}), names[0])


def _refuse_none_shared(sides: Mapping[str, Sequence[str]]) -> None:
    """Refuse sides of which no two have a metric in common, by name and with the metrics of each."""
    held = [name for names in sides.values() for name in names]
    if len(sides) < 2 or len({*held}) < len(held):
        return
    each = comma_list((f"{side} has only {and_list([*map(repr, names)])}" for side, names in sides.items()), most=4)
    cure = (
        f"if these are the same, give them one name: {Option('map', '@NAME', of='metric')}"
        if all(len(names) == 1 for names in sides.values())
        else "where two are the same, give them one name in the files"
    )
    raise InputError(f"no metric is shared: {each}; {cure}")


def _described(data: EvalData, rows: pl.DataFrame, benchmark: str, name: str, contrast: str) -> Metric:
    found = data.metrics.filter((pl.col("benchmark") == benchmark) & (pl.col("metric") == name))
    refuse_contradictions(found, benchmark, name)
    declared = found.row(0, named=True) if found.height else {}
    scores = rows["score"].drop_nulls()
    kind = declared.get("kind")
    low, high = declared.get("low"), declared.get("high")
    cautions = check_scale(rows, benchmark, name, (low, high), contrast=contrast)
    if kind not in METRIC_KINDS:
        kind = _kind_seen(scores)
        if (low, high) == (None, None):
            low, high = (0.0, 1.0) if kind in ("binary", "bounded") else (None, None)
        else:
            kind = "continuous" if low is None or high is None else "bounded"
    if kind in ("binary", "proportion"):
        low, high = 0.0, 1.0
    _check_range(rows, benchmark, name, low, high)
    if (low, high) == (0.0, 1.0):
        # What is seen decides: a mean of several trials arrives under the name of a binary metric, and a file of
        # nothing but 0 and 1 under the name of a bounded one.
        seen = _kind_seen(scores)
        counted = kind in ("binary", "proportion") or _counts_successes(rows)
        kind = "proportion" if seen == "bounded" and counted else seen
    # What rows and items are called says whose success a success is.
    maps = data.column_maps(levels_of(rows["run"])) if "succe" in name.lower() else []
    of = [name for map_ in maps for name in (map_.get("rows") or "", *map_["columns"].get("item", ()))]
    better, direction = direction_of(name, declared=declared.get("higher_is_better"), of=of)
    return Metric(
        benchmark=benchmark,
        name=name,
        kind=str(kind),
        low=low,
        high=high,
        higher_is_better=better,
        unit=str(declared.get("unit") or ""),
        direction=direction,
        cautions=cautions,
    )


def _kind_seen(scores: pl.Series) -> str:
    if scores.is_in([0.0, 1.0]).all():
        return "binary"
    return "bounded" if scores.is_between(0.0, 1.0).all() else "continuous"


def _counts_successes(rows: pl.DataFrame) -> bool:
    """Whether every row that is no 0 or 1 names its trials and holds a whole number of successes in them."""
    if "n_trials" not in rows.columns:
        return False
    between = rows["score"].is_not_null() & ~rows["score"].is_in([0.0, 1.0])
    scores, n_trials = rows["score"].filter(between), rows["n_trials"].filter(between).fill_null(1)
    if not (n_trials > 1).all():
        return False
    if scores.len() and trial_sets(rows.filter(between)) is not None:  # trials that were merged, and no averages
        return False
    successes = scores * n_trials
    return bool(((successes - successes.round()).abs() < _WHOLE).all())


def _check_range(rows: pl.DataFrame, benchmark: str, name: str, low: float | None, high: float | None) -> None:
    inside = rows["score"].is_between(-math.inf if low is None else low, math.inf if high is None else high)
    beyond = rows.filter(~inside)  # a row without a score is neither
    if not beyond.height:
        return
    outside, n = beyond["score"], int(row_counts(beyond).sum())
    values = outside.unique().sort().to_list()
    lie = "score lies" if n == 1 else "scores lie"
    ends = f"{'any number' if low is None else f'{low:g}'} to {'any' if high is None else f'{high:g}'}"
    percent = "is the file in percent? " if (low, high) == (0.0, 1.0) and values[0] >= 0 and values[-1] <= 100 else ""
    cure = (
        f", or, if {values[0]:g} means no score, say {Option('map', values[0], of='unscored')}"
        if len(values) == 1
        else ""
    )
    raise InputError(
        f"{benchmark}: {n} {lie} outside the range of {name!r}, {ends}: "
        f"{', '.join(f'{value:g}' for value in values[:3])}{' ...' if len(values) > 3 else ''}; {percent}declare the range that "
        f"is meant ({how_to_declare(name, 'LOW..HIGH')}){cure}"
    )


def margin_in_unit(margin: float | str | None, metric: MetricFacts) -> float | None:
    """Return a declared margin in the metric's own unit; "2pp" is two percentage points."""
    return None if margin is None else difference_in_unit(margin, metric, name="margin")


def difference_in_unit(margin: float | str, metric: MetricFacts, *, name: str) -> float:
    """Return a declared difference in the metric's own unit; `name` is the option's."""
    match = _MARGIN.fullmatch(margin) if isinstance(margin, str) else None
    if isinstance(margin, str) and match is None:
        raise InputError(
            f"{name} {margin!r} is not a difference; write 2pp for two percentage points, or a number in the metric's unit"
        )
    value = float(match[1]) if match else float(margin)
    if match and match[2]:
        if not (metric.is_share or metric.is_percent):
            runs = "" if metric.bounds is None else f" (it runs from {metric.low:g} to {metric.high:g})"
            raise InputError(
                f"{name} {margin!r} is in percentage points, and {metric.name!r} is not a share{runs}; "
                "give a number in its own unit"
            )
        value = value / 100 if metric.is_share else value
    if not (value > 0 and math.isfinite(value)):
        raise InputError(
            f"{name} is {margin}; it must be a positive difference, such as 2pp or a number in the metric's own unit"
        )
    if metric.span is not None and value >= metric.span:
        raise InputError(
            f"{name} is {margin}, and {metric.name!r} runs from {metric.low:g} to {metric.high:g}: no difference lies outside "
            f"such a {name}. Percentage points are written 2pp; a bare number is in the metric's own unit"
        )
    return value


# --- suites ---


# What scores have in common that may be averaged.
_SCALE = ("low", "high", "higher_is_better", "unit")
_SHOWN = 5
_MERGED_METRIC = "score"


@record
class Suite:
    """Data whose one benchmark has the benchmarks of a suite as its tasks; what was left out, in words."""

    data: EvalData
    tasks: tuple[str, ...]
    metric: str
    notes: tuple[Note, ...] = ()


def as_one(
    data: EvalData, asked: GivenOptions, names: Sequence[str] | None, *, contrast: str, split: bool = False
) -> tuple[EvalData, GivenOptions, tuple[Note, ...]]:
    """Return data whose benchmarks are tasks of one, what is then asked of them, and what was left out; else all as it was.

    Where nothing else is said, the macro average over tasks is asked for, and with `split` each task. Labels correct the mean
    over all items, the micro average, which is said.
    """
    suite = suite_between(data, names, metric=asked.metric, contrast=contrast)
    if suite is None:
        return data, asked, ()
    changes: dict[str, object] = {"metric": suite.metric}
    if asked.values.get("labels") is not None:
        text = f"Labels correct the mean over all items: the micro average over {len(suite.tasks)} tasks"
        return suite.data, asked.but(**changes), (*suite.notes, Note(kind="choice", text=text, caution=False))
    if not asked.values.get("sequential"):
        if not asked.average and not asked.weights:
            changes |= {"average": "macro", "over": asked.over or "task"}
        if split and asked.by is None:
            changes["by"] = "task"
    return suite.data, asked.but(**changes), suite.notes


def suite_between(data: EvalData, names: Sequence[str] | None, *, metric: str | None, contrast: str) -> Suite | None:
    """Return the benchmarks that all named systems (None: all that there are) share, as one; None where they share one."""
    if data.outcomes["benchmark"].n_unique() < 2:
        return None
    if names is None:
        column = "system" if contrast == "model" else contrast
        sides = data.outcomes.select(column, "benchmark").drop_nulls().unique().partition_by(column)
    else:
        sides = [rows_named(data.outcomes, name, contrast=contrast, role="system") for name in names]
    shared = [
        name for name in levels_of(data.outcomes["benchmark"]) if all(name in side["benchmark"] for side in sides)
    ]
    suite = suite_of(data, shared, metric) if len(shared) > 1 else None
    alone = sorted({name for side in sides for name in levels_of(side["benchmark"])} - {*shared})
    if suite is None or not alone:
        return suite
    lacking = (
        f"{comma_list(alone, _SHOWN)} dropped from the average: not all have run {'it' if len(alone) == 1 else 'them'}"
    )
    return replace(suite, notes=(Note(kind="left_out", text=lacking), *suite.notes))


def metrics_of_both(data: EvalData, names: Sequence[str], *, contrast: str) -> tuple[tuple[str, ...], tuple[Note, ...]]:
    """Return what is asked of named systems where no metric is named and no headline declared: every metric that all have.

    There are none where each of the benchmarks that they share has one metric or one headline; what only some have is noted.
    """
    outcomes = data.outcomes
    if outcomes["metric"].n_unique() < 2:
        return (), ()
    columns = {"run", "system", "model", "benchmark", "metric", contrast}
    held = outcomes.select(sorted(columns)).unique(maintain_order=True)
    sides = [rows_named(held, name, contrast=contrast, role="system") for name in names]
    shared = [name for name in levels_of(held["benchmark"]) if all(name in side["benchmark"] for side in sides)]
    rows = {name: [side.filter(benchmark=name) for side in sides] for name in shared}
    asked = {name: metrics_to_show(data, pl.concat(own), name, None) for name, own in rows.items()}
    if all(len(own) == 1 for own in asked.values()):
        return (), ()
    # In the order of the table of metrics, which is that of the columns where these are columns, and never that of the rows.
    every = dict.fromkeys([*data.metrics["metric"], *levels_of(held["metric"])])
    wanted = [name for name in every if any(name in own for own in asked.values())]
    common = [name for name in wanted if all(name in side["metric"] for own in rows.values() for side in own)]
    alone = [name for name in wanted if name not in common]
    text = f"Not compared in {and_list(alone, _SHOWN)}: {'these are' if len(alone) > 1 else 'it is'} not on every side and task"
    return tuple(common), (Note(kind="left_out", text=text),) if common and alone else ()


def suite_of(data: EvalData, benchmarks: Sequence[str], metric: str | None) -> Suite | None:
    """Return several benchmarks as one; None where there is one alone, or one alone has the metric that is asked for.

    Each has its declared headline, else its only metric, else the one that all of them have. Those on the scale of most are
    kept. InputError where the metric of a benchmark is open.
    """
    text = pl.col("benchmark", "metric", "task").cast(pl.String)  # a store has them as codes
    rows = data.outcomes.filter(pl.col("benchmark").is_in(benchmarks)).with_columns(text)
    if metric is not None:
        rows = rows.filter(pl.col("metric") == metric)
    chosen = _chosen(data, rows, metric)
    if len(chosen) < 2:
        return None
    facts = {
        name: next(iter(data.metrics.filter(benchmark=name, metric=own).select(_SCALE).rows()), None)
        for name, own in chosen.items()
    }
    # A benchmark that declares no direction has the one that the others of its scale declare.
    said = {scale[:2] + scale[3:]: scale for scale in facts.values() if scale is not None and scale[2] is not None}
    scales = {
        name: None if scale is None else said.get(scale[:2] + scale[3:], scale) if scale[2] is None else scale
        for name, scale in facts.items()
    }
    usual = Counter(scales.values()).most_common(1)[0][0]
    tasks = [name for name, scale in scales.items() if scale == usual]
    others = [f"{name} ({chosen[name]})" for name in chosen if name not in tasks]
    if len(tasks) < 2:
        raise InputError(
            f"the data hold {len(chosen)} benchmarks, each with a scale of its own ({comma_list(others, _SHOWN)}): scores of "
            f"different scales have no average; choose one with {Option('where', blank='NAME', of='benchmark')}"
        )
    names = {chosen[name] for name in tasks}
    called, title = names.pop() if len(names) == 1 else _MERGED_METRIC, f"{len(tasks)} tasks"
    wanted = pl.DataFrame({"benchmark": tasks, "metric": [chosen[name] for name in tasks]})
    inner = (
        pl.when(~pl.col("task").is_in(["", *tasks])).then(pl.concat_str("task", pl.lit("/"), "item")).otherwise("item")
    )
    kept = rows.join(wanted, on=["benchmark", "metric"], how="semi", maintain_order="left").with_columns(
        task=pl.col("benchmark"), item=inner, metric=pl.lit(called), benchmark=pl.lit(title)
    )
    own = data.metrics.join(wanted, on=["benchmark", "metric"], how="semi", maintain_order="left")
    kinds = own["kind"].unique().to_list()
    kind = kinds[0] if len(kinds) == 1 else "bounded" if own["high"].is_not_null().all() else "continuous"
    known = own["higher_is_better"].drop_nulls().unique().to_list()
    row = own.head(1).with_columns(
        benchmark=pl.lit(title), metric=pl.lit(called), kind=pl.lit(kind), primary=pl.lit(value=True),
        higher_is_better=pl.lit(known[0] if len(known) == 1 else None, dtype=pl.Boolean),
    )  # fmt: skip
    whose = "its scores are" if len(others) == 1 else "their scores are"
    unlike = f"{comma_list(others, _SHOWN)} dropped from the average: {whose} on another scale"
    return Suite(
        data=replace(data, outcomes=kept, metrics=row.select(data.metrics.columns)),
        tasks=tuple(tasks),
        metric=called,
        notes=(Note(kind="left_out", text=unlike),) if others else (),
    )


def _chosen(data: EvalData, rows: pl.DataFrame, metric: str | None) -> dict[str, str]:
    """Return the metric of each benchmark."""
    found = {
        str(name): metrics_to_show(data, part, str(name), metric)
        for (name,), part in rows.select("benchmark", "metric")
        .unique()
        .sort("benchmark", "metric")
        .group_by("benchmark", maintain_order=True)
    }
    several = {name: own for name, own in found.items() if len(own) > 1}
    if several:
        common = [name for name in next(iter(found.values())) if all(name in own for own in found.values())]
        if len(common) != 1:
            name, own = next(iter(several.items()))
            shared = f"; all of them have {quoted_list(common)}" if common else ""
            raise InputError(
                f"{name} has {len(own)} metrics and none is declared its headline: {quoted_list(own)}{shared}; choose one, "
                f"such as {Option('metric', _overall(common or own))}, before looking at the results"
            )
        return dict.fromkeys(found, common[0])
    return {name: own[0] for name, own in found.items()}
