"""The declared plan of an analysis: what was settled before anybody looked, as data."""

import difflib
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import cast

import polars as pl

from evalstats.errors import InputError
from evalstats.grammar import comma_list
from evalstats.record import record
from evalstats.schema.columns import TableName
from evalstats.schema.data import UNNAMED, EvalData
from evalstats.schema.names import renamed
from evalstats.schema.tables import levels_of

# Rounding takes less than this from a sum; several labels a conversation can add more.
_LEAST, _MOST = 0.98, 1.25
_EXACT = 5e-4


@record
class LiveMix:
    """Shares of the live world by level of one `factor`, a column of the outcomes such as "scenario"; they sum to 1.

    `source` and `licence` say where the numbers are from, and on what terms, `note` what was done to them (whether they were
    divided by their sum, and why); `raw` holds them as printed.
    """

    factor: str
    shares: Mapping[str, float]
    source: str = ""
    licence: str = ""
    note: str = ""
    raw: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        _check(self.shares, self.factor)
        total = math.fsum(self.shares.values())
        if abs(total - 1.0) > _EXACT:
            raise InputError(f"the shares of {self.factor!r} sum to {total:g}, not 1; make them with live_mix_of")


def live_mix_of(
    raw: Mapping[str, float], *, factor: str = "scenario", source: str = "", licence: str = "", note: str = ""
) -> LiveMix:
    """Make a mix of printed shares, in percent or as proportions, and divide them by their sum.

    A sum from 98 to 125 means percent, one from 0.98 to 1.25 proportions. More than 100% arises where a conversation may
    have several labels; less than 98% means that levels are left out, which is refused: their share would go to the others.

    >>> mix = live_mix_of({"ideal": 80.0, "hasty": 24.0})
    >>> round(mix.shares["hasty"], 4), mix.note
    (0.2308, 'the shares sum to 104%, so labels overlap or are rounded; each was divided by that sum')
    """
    _check(raw, factor)
    total = math.fsum(raw.values())
    unit = next((unit for unit in (1.0, 100.0) if _LEAST <= total / unit <= _MOST), None)
    if unit is None:
        raise InputError(
            f"the shares of {factor!r} sum to {total:g}; give percentages that sum to 100 or proportions that sum to 1 "
            f"(up to {100 * _MOST:g}% where labels overlap), with every level in it"
        )
    percent = f"{100 * total / unit:.4g}%"
    exact = abs(total / unit - 1.0) <= _EXACT
    said = (
        "" if exact else f"the shares sum to {percent}, so labels overlap or are rounded; each was divided by that sum"
    )
    return LiveMix(
        factor=factor,
        shares=MappingProxyType({level: share / total for level, share in raw.items()}),
        source=source,
        licence=licence,
        note="; ".join(each for each in (note, said) if each),
        raw=MappingProxyType(dict(raw)),
    )


def _check(shares: Mapping[str, float], factor: str) -> None:
    if not shares:
        raise InputError(f"the mix of {factor!r} names no level; give the share of each")
    for level, share in shares.items():
        if not level.strip():
            raise InputError(f"a level of {factor!r} has no name; give one to every share")
        if not (math.isfinite(share) and share >= 0.0):
            raise InputError(f"the share of {level!r} is {share:g}; give a number from 0")


SETTINGS = (
    "task_version", "harness", "harness_version", "dataset", "task_setup", "judge", "judge_settings", "user_simulator",
    "lab_or_live", "items", "item_ids", "prompt", "system_prompt", "chat_template", "n_shots", "fewshot_seed",
    "task_args", "temperature", "sampling", "reasoning_effort", "max_tokens", "limits", "model_revision", "model_dtype",
    "status", "date", "several", "unrecorded",
)  # fmt: skip


def check_settings(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names, each once; one that is no setting is refused."""
    found = tuple(dict.fromkeys(names))
    for name in found:
        if name not in SETTINGS:
            near = difflib.get_close_matches(name, SETTINGS, n=1, cutoff=0.4)
            meant = f"did you mean {near[0]!r}? " if near else ""
            raise InputError(f"{name!r} is no setting of a run; {meant}There are {', '.join(SETTINGS)}")
    return found


ADJUSTMENTS = ("max-t", "holm", "bh", "by", "bonferroni", "none")
MISSING = ("bounded", "ignorable")
RUNS = ("sample", "fixed", "draws")
FAIL_ON = ("worse", "worse-overall", "not-noninferior", "inconclusive")
SCALES = ("logit", "identity", "latent", "points")
_LEVELS: Mapping[str, tuple[str, ...]] = {
    "adjust": ADJUSTMENTS,
    "missing": MISSING,
    "runs": RUNS,
    "scale": SCALES,
    "fail_on": FAIL_ON,
}

_USUAL_LEVEL = 0.95
_POINTS = re.compile(r"((?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+))\s*(pp|%|percent)")
_RUN_SD = re.compile(r"(prior:)?\s*(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(pp|%|percent)?")
_MODEL_COLUMNS: Mapping[TableName, tuple[str, ...]] = {
    "outcomes": ("model", "system"),
    "comparisons": ("model_a", "model_b"),
    "ratings": ("model",),
    "aggregates": ("model",),
    "runs": ("model", "system"),
}


@record
class Margin:
    """The largest difference that does not matter, with the reason for it.

    Attributes
    ----------
    value
        A number in the metric's own unit, or text such as "2pp" for two percentage points.
    reason
        Why a smaller difference does not matter. A margin without a reason tends to be one found afterwards.
    metric, benchmark
        What it holds for; None for all of them.
    """

    value: float | str
    reason: str
    metric: str | None = None
    benchmark: str | None = None

    def __post_init__(self) -> None:
        _check_margin(self.value)
        if not self.reason.strip():
            raise InputError(
                f"the margin of {self.value} has no reason; say in a sentence why a smaller difference does not matter"
            )


@record
class Plan:
    """What was declared before looking. Everything may be left open: None or empty means that nothing is declared.

    Attributes
    ----------
    source
        Name of the file it was read from, without its folder.
    baseline
        Run, system or model that others are compared with.
    conf_level
        Level of intervals, between 0.5 and 1.
    adjust
        How the pairs of a leaderboard are adjusted for: max-t, holm, bh, by, bonferroni or none.
    clusters
        Columns whose levels share something.
    families
        Factors within whose levels comparisons are repeated; each is one family.
    accept
        Settings in which the runs differ on purpose; each one of `evalstats.schema.plan.SETTINGS`.
    missing
        What missing scores may be: "bounded" (anything that the metric allows) or "ignorable" (missing for a reason that has
        nothing to do with the answers).
    runs, run_sd
        What trials are: "draws" of one run, a "sample" of more runs, or "fixed"; and the standard deviation from run to run,
        "1.4pp" where it is known, "prior:2pp" for the scale of its prior.
    scale
        On what scores are compared: logit or identity for `gap`, latent or points for `contamination`; each heeds its own.
    fail_on
        What makes a gate fail: worse, worse-overall, not-noninferior, inconclusive.
    primary
        Benchmark to the metric that decides it.
    margins
        The margins.
    aliases
        Name of a model in the files to the name it shall have.
    column_map
        Tables of a column map, as `evalstats.loaders.column_map.ColumnMap.from_tables` reads them.
    metrics
        Metric to what is declared of it, whatever the format of the files: higher_is_better, low, high, kind, unit.

    Examples
    --------
    >>> plan = Plan(conf_level=0.95, margins=(Margin(value="2pp", reason="users do not notice less"),))
    >>> (
    ...     plan.margin_for("mmlu", "acc").value,
    ...     plan.digest == Plan(margins=plan.margins, conf_level=0.95, source="p").digest,
    ... )
    ('2pp', True)
    """

    source: str = ""
    baseline: str | None = None
    conf_level: float | None = None
    adjust: str | None = None
    clusters: tuple[str, ...] = ()
    families: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    missing: str | None = None
    runs: str | None = None
    run_sd: str | None = None
    scale: str | None = None
    fail_on: tuple[str, ...] = ()
    primary: Mapping[str, str] = field(default_factory=dict[str, str])
    margins: tuple[Margin, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    column_map: Mapping[str, object] = field(default_factory=dict[str, object])
    metrics: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])

    def __post_init__(self) -> None:
        if self.conf_level is not None and not 0.5 < self.conf_level < 1:
            raise InputError(f"conf_level is {self.conf_level}; it must lie above 0.5 and below 1, such as 0.95")
        if self.run_sd is not None and not _RUN_SD.fullmatch(self.run_sd.strip()):
            raise InputError(
                f'run_sd {self.run_sd!r} is no size; write "1.4pp" where it is known, "prior:2pp" for the scale of its prior'
            )
        for key, levels in _LEVELS.items():
            for value in _flat(getattr(self, key)):
                if value not in levels:
                    raise InputError(f"{key} is {value!r}; it must be one of {', '.join(levels)}")
        check_settings(self.accept)
        _check_margins(self.margins)
        _check_aliases(self.aliases)

    @property
    def digest(self) -> str:
        """SHA-256 of what is declared: comments, spacing, the order of keys and of lists do not change it."""
        text = json.dumps(_canonical(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def margin_for(self, benchmark: str, metric: str) -> Margin | None:
        """Return the margin that holds for a metric of a benchmark.

        The one that names both goes before the one that names the metric, that before the one that names the benchmark,
        and that before the one for everything.
        """
        fitting = [
            each for each in self.margins if each.metric in (None, metric) and each.benchmark in (None, benchmark)
        ]
        return max(fitting, key=lambda each: (each.metric is not None, each.benchmark is not None), default=None)

    def primary_for(self, benchmark: str) -> str | None:
        """Return the metric that decides a benchmark; None where none is declared."""
        return self.primary.get(benchmark)


@record
class PlanAccount:
    """The plan as it stands in a result: which one, what it declared, and where the result departs from it.

    Attributes
    ----------
    source, digest
        The file that declares the plan, and its SHA-256.
    declared
        (name, value) of what it declares that concerns the question.
    departures
        Where the result departs from it, in words.
    """

    source: str
    digest: str
    declared: tuple[tuple[str, str], ...] = ()
    departures: tuple[str, ...] = ()


def plan_account(
    plan: Plan, *, benchmark: str = "", metric: str = "", span: float | None = 1.0, **given: object
) -> PlanAccount:
    """Return what a result says of its plan; the options are as in `departures`."""
    declared = [(name, _in_words(value)) for name, value in _declared(plan, benchmark, metric).items() if _said(value)]
    margin = plan.margin_for(benchmark, metric)
    return PlanAccount(
        source=plan.source,
        digest=plan.digest,
        declared=(*declared, *([("reason for the margin", margin.reason)] if margin else [])),
        departures=departures(plan, benchmark=benchmark, metric=metric, span=span, **given),
    )


def departures(
    plan: Plan, *, benchmark: str = "", metric: str = "", span: float | None = 1.0, **given: object
) -> tuple[str, ...]:
    """Say where options that were given contradict the plan, or add to it what it does not declare, a sentence each.

    `benchmark` and `metric` are what the result is about. `span` is the distance between the metric's bounds, by which percentage
    points become its own unit (1 for a share); None for a metric without bounds. `given` are options as the user gave them, None
    for those left open: baseline, conf_level, adjust, clusters, families, accept, missing, runs, run_sd, fail_on, margin,
    primary.
    """
    declared = _declared(plan, benchmark, metric)
    found: list[str] = []
    for name, value in given.items():
        if value is None or _same(name, value, declared[name], span):
            continue
        said = declared[name]
        words = f"{_in_words(said)} declared" if _said(said) else "none declared"
        found.append(f"Departs from the plan: {_LABELS.get(name, name)} {_in_words(value)} given, {words}")
    return tuple(found)


def settled(plan: Plan | None, *, benchmark: str = "", metric: str = "", **given: object) -> dict[str, object]:
    """Return the options in force: what was given, else what the plan declares, else None."""
    declared = {} if plan is None else _declared(plan, benchmark, metric)
    return {
        name: value if value is not None else (said if _said(said := declared.get(name)) else None)
        for name, value in given.items()
    }


def scale_given(plan: Plan | None, asked: str, own: Sequence[str]) -> dict[str, object]:
    """Return the scale that was asked for, as an option of `settled`; a plan that declares another question's says nothing here.

    >>> scale_given(Plan(scale="points"), "auto", ("logit", "identity")), scale_given(None, "logit", ("logit",))
    ({}, {'scale': 'logit'})
    """
    if plan is not None and plan.scale is not None and plan.scale not in own:
        return {}
    return {"scale": None if asked == "auto" else asked}


def with_aliases(data: EvalData, aliases: Mapping[str, str]) -> EvalData:
    """Rename models and systems, in all tables."""
    if not aliases:
        return data
    _check_aliases(aliases)
    return replace(
        data, **{name: renamed(data.table(name), columns, aliases) for name, columns in _MODEL_COLUMNS.items()}
    )


def with_plan(data: EvalData, plan: Plan) -> EvalData:
    """Return the data as a plan declares them: models under their aliases, and metrics with what it says of them.

    Tables that name no benchmark are of the plan's, where it names a single one.
    """
    data = with_aliases(data, plan.aliases)
    named = {*plan.primary, *(each.benchmark for each in plan.margins if each.benchmark)}
    if len(named) == 1 and not named & {*_benchmarks(data)}:
        name = {UNNAMED: named.pop()}
        data = replace(
            data, **{each: renamed(data.table(each), ["benchmark"], name) for each in _MODEL_COLUMNS},
            metrics=renamed(data.metrics, ["benchmark"], name),
        )  # fmt: skip
    for metric, facts in plan.metrics.items():
        data = data.with_metric(metric, **facts)
    return data


def with_primary(data: EvalData, plan: Plan | None) -> EvalData:
    """Return data in which the metrics that a plan declares are the headlines of their benchmarks."""
    primary = {} if plan is None else dict(plan.primary)
    if not primary:
        return data
    declared = pl.col("benchmark").replace_strict(primary, default=None, return_dtype=pl.String)
    is_head = pl.when(declared.is_null()).then("primary").otherwise(pl.col("metric") == declared)
    return replace(data, metrics=data.metrics.with_columns(is_head.alias("primary")))


def _benchmarks(data: EvalData) -> list[str]:
    return levels_of(pl.concat([data.outcomes["benchmark"].cast(pl.String), data.aggregates["benchmark"]]))


def unmet(plan: Plan | None, data: EvalData) -> tuple[str, ...]:
    """Say what a plan declares of metrics and benchmarks, where nothing of it is in the data: a name may be misspelt."""
    if plan is None:
        return ()
    held, metrics = _benchmarks(data), {*data.metrics["metric"], *data.outcomes["metric"].unique()}
    found: list[str] = []
    if plan.primary and not plan.primary.keys() & {*held}:
        theirs = "name no benchmark" if held == [UNNAMED] else f"hold {comma_list(held, 3)}"
        found.append(f"The plan declares the primary metric of {comma_list(plan.primary, 3)}; the data {theirs}")
    if plan.margins and not any(
        each.benchmark in (None, *held) and each.metric in (None, *metrics) for each in plan.margins
    ):
        of = comma_list(dict.fromkeys(each.metric or each.benchmark for each in plan.margins), 3)
        found.append(f"The plan declares a margin for {of}, which the data do not hold")
    return tuple(found)


def _declared(plan: Plan, benchmark: str, metric: str) -> dict[str, object]:
    """Return what a plan says of every option; None or empty where it says nothing."""
    margin = plan.margin_for(benchmark, metric)
    found: dict[str, object] = {"baseline": plan.baseline, "primary": plan.primary_for(benchmark)}
    found["margin"] = None if margin is None else margin.value
    names = ("clusters", "families", "conf_level", "adjust", "accept", "missing", "runs", "run_sd", "scale", "fail_on")
    return found | {name: getattr(plan, name) for name in names}


# What an option is called where a user gives it.
_LABELS: Mapping[str, str] = {"primary": "metric", "clusters": "cluster", "families": "by"}
# A command has to be told these; where the plan is silent, saying them is no departure.
_LEFT_TO_THE_USER = ("baseline", "primary", "fail_on")
# Fewer of these than the plan declares is still within it.
_ONE_OF = ("families", "accept")


def _said(value: object) -> bool:
    return value is not None and value != ()


def _same(name: str, given: object, declared: object, span: float | None) -> bool:
    if not _said(declared):
        return name in _LEFT_TO_THE_USER or not _flat(given) or (name == "conf_level" and given == _USUAL_LEVEL)
    if name == "margin":
        return _in_unit(given, span) == _in_unit(declared, span)
    if isinstance(declared, tuple):
        own, allowed = set(_flat(given)), set(cast("tuple[object, ...]", declared))
        return own <= allowed if name in _ONE_OF else own == allowed
    if name == "run_sd":
        return str(given).replace(" ", "") == str(declared).replace(" ", "")
    return given == declared


def _flat(value: object) -> tuple[object, ...]:
    """Return one value or several as several."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(cast("Sequence[object]", value))
    return () if value is None else (value,)


def _in_unit(margin: object, span: float | None) -> object:
    """Return a margin in the metric's own unit as a number of 12 digits; as it is where it cannot be told."""
    if isinstance(margin, str):
        points = _POINTS.fullmatch(margin.strip())
        if points and span is not None:
            return float(f"{float(points[1]) / 100 * span:.12g}")
        return _spelled(margin)
    return float(f"{margin:.12g}") if isinstance(margin, int | float) else margin


def _in_words(value: object) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value)


def _canonical(plan: Plan) -> dict[str, object]:
    """Return what is declared, and nothing that is not, so that keys of later versions leave old digests as they are."""
    named = ("baseline", "conf_level", "adjust", "missing", "runs", "scale")
    parts: dict[str, object] = {
        **{name: getattr(plan, name) for name in named},
        **{name: sorted(getattr(plan, name)) for name in ("clusters", "families", "accept", "fail_on")},
        "run_sd": plan.run_sd and plan.run_sd.replace(" ", ""),
        "primary": dict(plan.primary),
        "margins": sorted(
            [each.benchmark or "", each.metric or "", _spelled(each.value), each.reason.strip()]
            for each in plan.margins
        ),
        "aliases": dict(plan.aliases),
        "map": dict(plan.column_map),
        "metrics": {name: dict(facts) for name, facts in plan.metrics.items()},
    }
    return {name: part for name, part in parts.items() if part not in (None, [], {})}


def _spelled(margin: float | str) -> str:
    """Write a margin in one way: 2 pp, 2.0pp and 2 percent are 2pp."""
    if not isinstance(margin, str):
        return f"{margin:.12g}"
    points = _POINTS.fullmatch(margin.strip())
    return f"{float(points[1]):.12g}pp" if points else f"{float(margin):.12g}"


def _check_margin(value: float | str) -> None:
    text = value.strip() if isinstance(value, str) else ""
    points = _POINTS.fullmatch(text)
    try:
        number = float(points[1]) if points else float(value)
    except ValueError:
        raise InputError(
            f'margin {value!r} is not a difference; write "2pp" for two percentage points, or a number'
        ) from None
    if not (number > 0 and math.isfinite(number)):
        raise InputError(f'margin is {value}; it must be a positive difference, such as "2pp" or 0.02')


def _check_margins(margins: Sequence[Margin]) -> None:
    seen: set[tuple[str | None, str | None]] = set()
    for each in margins:
        place = each.benchmark, each.metric
        if place in seen:
            about = ", ".join(
                f"{name} {part!r}" for name, part in zip(("benchmark", "metric"), place, strict=True) if part
            )
            raise InputError(f"two margins are declared for {about or 'everything'}; keep one")
        seen.add(place)


def _check_aliases(aliases: Mapping[str, str]) -> None:
    for name, alias in aliases.items():
        if alias in aliases and aliases[alias] != alias:
            raise InputError(
                f"the alias of {name!r} is {alias!r}, which has an alias itself ({aliases[alias]!r}); name the last one"
            )
