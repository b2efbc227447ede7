"""Published numbers: rows of `aggregates` in which nothing is made up, and what the columns of a table of scores hold."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from evalstats.grammar import comma_list
from evalstats.loaders.column_map import SCALES, Scale
from evalstats.loaders.roles import ROLES, plain
from evalstats.loaders.rows import metric_row, told
from evalstats.loaders.values import as_count, as_number, as_text

LEVEL: Final = 0.95
_WIDTH: Final = r"((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)\s*%?"
_SINGLE = re.compile(rf"(?:±|\+/-)?\s*{_WIDTH}")
_ENDS_IN_ONE = re.compile(
    rf"[(\[]?\s*{_WIDTH.replace('(', '([-+]?', 1)}\s*(?:,|;|–|-|/|to)\s*{_WIDTH.replace('(', '([-+]?', 1)}\s*[)\]]?"
)
Ends = tuple[float, float]
_ABSENT: Final = frozenset({"", "-", "–", "nan", "none", "null", "n/a"})


_NO_MODEL: Final = "{n} numbers have no model and are dropped"
_NO_WIDTH: Final = (
    "{n} intervals or standard errors have no width, as of a baseline whose number is fixed by definition; they "
    "are dropped, the number is kept"
)
_OUTSIDE: Final = "{n} numbers lie outside their own interval; the interval is dropped"


class PublishedRows(msgspec.Struct):
    """Rows read so far, what is worth telling of them, and what was left out.

    `higher_is_better` and `scale` are what is known of all its metrics whose unit it does not say; None where nothing is.
    """

    rows: list[dict[str, object]] = msgspec.field(default_factory=list[dict[str, object]])
    metrics: dict[tuple[str, str], dict[str, object]] = msgspec.field(
        default_factory=dict[tuple[str, str], dict[str, object]]
    )
    unread: Counter[str] = msgspec.field(default_factory=Counter[str])
    notes: list[str] = msgspec.field(default_factory=list[str])
    higher_is_better: bool | None = None
    scale: Scale | None = None
    counts: Counter[str] = msgspec.field(default_factory=Counter[str])
    left_out: list[str] = msgspec.field(default_factory=list[str])

    def add(
        self,
        value: object,
        known: Mapping[str, object],
        *,
        ends: tuple[float, float] | None = None,
        error: object = None,
    ) -> None:
        """Add one number with the interval or standard error that the source gives; an absent number gives no row.

        `known` is what stands beside it under glossary names: model, benchmark and metric, and unit, n, task, ...

        An interval without width, and a standard error of 0, stand for a number that is fixed by definition (a baseline
        against itself): they are left out and counted. So is an interval that the number lies outside of.
        """
        model, benchmark, metric = (as_text(known.get(name)) or "" for name in ("model", "benchmark", "metric"))
        text = (as_text(value) or "").strip()
        if text.lower() in _ABSENT:
            return
        number = None if isinstance(value, bool) else as_number(value)
        if number is None:
            self.unread[metric] += 1
            return
        if not model.strip():
            self.counts[_NO_MODEL] += 1
            return
        spread = as_number(error)
        if ends is not None and ends[0] == ends[1]:
            ends = None
            self.counts[_NO_WIDTH] += 1
        elif ends is not None and not ends[0] <= number <= ends[1]:
            ends = None
            self.counts[_OUTSIDE] += 1
        if spread == 0:
            spread = None
            self.counts[_NO_WIDTH] += 1
        elif spread is not None and spread < 0:
            spread = None
            self.unread[f"standard error of {metric}"] += 1
        count = as_count(known.get("n"))
        if count is None and (as_text(known.get("n")) or "").strip().lower() not in _ABSENT:
            self.unread[f"number of votes or items behind {metric}"] += 1
        unknown = Scale(low=None, high=None, unit=as_text(known.get("unit")))
        scale = SCALES.get(unknown.unit, unknown) if unknown.unit else self.scale or unknown
        unit = scale.unit
        self.rows.append(
            {
                "std_error": spread,
                "conf_low": None if ends is None else ends[0],
                "conf_high": None if ends is None else ends[1],
                "conf_level": None if ends is None else LEVEL,
                "method": "published",
                "value_raw": text,
                **known,
                "model": model.strip(),
                "estimate": number,
                "n": count,
                "unit": unit,
            }
        )
        kind, better = "continuous" if None in {scale.low, scale.high} else "bounded", self.higher_is_better
        row = metric_row(benchmark, metric, kind, low=scale.low, high=scale.high, unit=unit, higher_is_better=better)
        self.metrics.setdefault((benchmark, metric), row)

    def doubts(self) -> list[str]:
        """Return what a reader should know."""
        found = list(self.notes)
        found += [f"{name} of {n} models could not be read and is dropped" for name, n in self.unread.items()]
        found += told(self.counts)
        rates = [float(str(row["estimate"])) for row in self.rows if row["unit"] == "percent"]
        if rates and (min(rates) < 0 or max(rates) > 100):
            found.append(f"its percentages lie between {min(rates):g} and {max(rates):g}; check their unit")
        elif rates and 0 < max(rates) <= 1:
            found.append(f"its percentages all lie between 0 and {max(rates):g}; they may be proportions")
        keys = Counter(
            tuple(row.get(name) for name in ("model", "benchmark", "task", "scenario", "variant", "metric", "date"))
            for row in self.rows
        )
        twice = [key for key, n in keys.items() if n > 1]
        if twice:
            shown = comma_list(dict.fromkeys(str(key[0]) for key in twice))
            numbers = "1 number stands" if len(twice) == 1 else f"{len(twice):,} numbers stand"
            found.append(f"{numbers} more than once under one name ({shown}); all are kept")
        return found


def certainty_in(cell: object, number: float, *, half: bool = False) -> tuple[float | None, Ends | None]:
    """Read what a cell says of how certain a number is: a standard error, or the ends of an interval; None for neither.

    An interval may be written by its ends or by its distances from the number. A single number, with or without ±, is a
    standard error, or `half` of an interval.

    >>> (
    ...     certainty_in("±1.8", 70.1),
    ...     certainty_in("2", 60.0, half=True),
    ...     certainty_in("+5/-3", 9),
    ...     certainty_in("-3/+5", 9),
    ... )
    ((1.8, None), (None, (58.0, 62.0)), (None, (6.0, 14.0)), (None, (6.0, 14.0)))
    >>> certainty_in("[68.2, 71.9]", 70.1), certainty_in("-1 to 2", 70.0), certainty_in("about 2", 1.0)
    ((None, (68.2, 71.9)), (None, (69.0, 72.0)), (None, None))
    """
    text = (as_text(cell) or "").strip().replace("−", "-")
    if found := _SINGLE.fullmatch(text):
        width = float(found[1])
        return (None, (number - width, number + width)) if half else (width, None)
    if (found := _ENDS_IN_ONE.fullmatch(text)) is None:
        return None, None
    low, high = sorted(float(end) for end in found.groups())
    if low <= 0 <= high and ("+" in text or not low <= number <= high):
        return None, (number + low, number + high)
    return None, (None if "/" in text or low < float(found[1]) else (low, high))


def is_certainty(cell: object) -> bool:
    """Whether a cell says how certain a number is, and is no plain number itself.

    >>> is_certainty("±1.8"), is_certainty("[0.1, 0.2]"), is_certainty("1.8"), is_certainty("3-4 shots")
    (True, True, False, False)
    """
    text = (as_text(cell) or "").strip()
    return (
        (text.startswith(tuple("±+[(")) or "/+" in text)
        and as_number(cell) is None
        and certainty_in(cell, 0.0) != (None, None)
    )


def between(record: Mapping[str, object], low: str, high: str) -> tuple[float, float] | None:
    """Return both ends of an interval that a record holds under two names; None where one is missing.

    >>> between({"p2.5": 1, "p97.5": 3}, "p2.5", "p97.5"), between({"p2.5": 1}, "p2.5", "p97.5")
    ((1.0, 3.0), None)
    """
    ends = as_number(record.get(low)), as_number(record.get(high))
    return None if ends[0] is None or ends[1] is None else (ends[0], ends[1])


# Names of the column of models; "name" alone may also be an item's.
MODEL_NAMES: Final = ("model", "model_name", "model_key", "llm_model", "llm", "modelname", "models", "name")
# Other names of what a summary has a row for.
SUMMARISED: Final = (
    *(name for name, weight in ROLES["model"].names.items() if weight > 0 and "prompt" not in name),
    *("ablation", "profile", "label", "experiment", "judge"),
)  # fmt: skip
# Parts of a benchmark for each of which a summary may have a row a model.
PARTS: Final = (
    "category",
    "subject",
    "domain",
    "dataset",
    "subset",
    "split",
    "difficulty",
    "language",
    "method",
    "condition",
)
# A table with one of these has a row for each item, vote or call, and is no table of scores by model.
ITEM_NAMES: Final = frozenset(
    {
        "item", "item_id", "id", "idx", "index", "question", "question_id", "prompt", "prompt_id", "doc_id", "sample",
        "sample_id", "instance", "instance_id", "example", "example_id", "case", "case_id", "uid", "uuid", "trial", "epoch",
        "seed", "turn", "user", "user_id", "rater", "judge", "session", "session_id", "conversation_id", "model_a", "model_b",
        "winner", "question_uid", "response", "answer", "output", "input", "text", "query",
    }
)  # fmt: skip
LABELS: Final = ("benchmark", "task", "scenario", "variant", "setting", "method", "unit", "date", "metric")
COUNT_NAMES: Final = (
    "n", "votes", "n_items", "n_votes", "num_votes", "n_samples", "samples", "n_total", "battles", "num_battles", "items",
    "n_questions", "n_examples", "n_tasks", "n_used", "num_samples", "num_questions", "sample_size", "responses",
    "total_questions",
)  # fmt: skip
# Words in the names of columns that hold averages, shares or totals of many rows.
AGGREGATED: Final = frozenset(
    ["avg", "average", "mean", "median", "rate", "pct", "percent", "std", "ci", "p50", "p90", "p95", "p99", "winrate"]
)
_ERRORS: Final = ("std_error", "stderr", "se", "standard_error", "sem", "std_err", "±")
_ENDS: Final = (
    ("conf_low", "conf_high"), ("ci_low", "ci_high"), ("ci_lower", "ci_upper"), ("q025", "q975"), ("p2_5", "p97_5"),
    ("rating_q025", "rating_q975"), ("lower", "upper"), ("low", "high"),
)  # fmt: skip
_INTERVALS: Final = (
    "ci", *(name for n in (80, 90, 95, 99) for name in (f"ci{n}", f"ci_{n}", f"{n}_ci", f"{n}ci")),
    "interval", "conf_int", "confidence_interval", "moe", "margin_of_error",
)  # fmt: skip
_LEVEL_NAMES: Final = ("conf_level", "level", "confidence_level")
# Numbers that say something of a model and are no score of it.
_FACTS: Final = re.compile(
    r"(?:.*_)?(?:rank|position|place|params|parameters|param_count|size|size_b|params_b|year|avg_length|avg_tokens|"
    r"output_length|context|context_length|context_window)|#params|#"
)
# What a model costs to use is no score of it.
_PRICES: Final = re.compile(
    r"(?:.*_)?(?:price|prices|pricing)(?:_.*)?|"
    r"(?:.*_)?(?:costs?|usd|dollars?)(?:_.*)?_(?:per|in|out|input|output|prompt|completion|cached|tokens?|mtok|1k|1m)(?:_.*)?|"
    r"(?:.*_)?(?:per|in|input|output|prompt|completion|cached|tokens?|mtok|1k|1m)(?:_.*)?_(?:costs?|usd|dollars?)(?:_.*)?|"
    r"(?:.*_)?(?:input|output|prompt|completion)(?:_.*)?_(?:1k|1m|mtok|per_million|per_token)(?:_.*)?"
)
# What such a list may hold besides.
_CAPACITIES: Final = re.compile(
    r"costs?|usd|(?:.*_)?(?:max|context|window|limit|rpm|tpm|tokens?|throughput|cutoff|batch|cache|discount)(?:_.*)?"
)
_SPREADS: Final = re.compile(r"(?:.*_)?(?:std|sd|stdev|std_dev|stddev|variance|var)")


class ScoreColumns(msgspec.Struct, frozen=True, kw_only=True):
    """A column of scores with the columns that say how certain they are (None where there is none).

    `interval` is a column with both ends, or half of an interval, in one cell.
    """

    column: str
    error: str | None = None
    ends: tuple[str, str] | None = None
    interval: str | None = None
    n: str | None = None


class Roles(msgspec.Struct, kw_only=True):
    """What every column of a table is for."""

    model: str
    metrics: list[ScoreColumns] = msgspec.field(default_factory=list[ScoreColumns])
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    level: str | None = None
    facts: list[str] = msgspec.field(default_factory=list[str])
    spreads: list[str] = msgspec.field(default_factory=list[str])
    homeless: list[str] = msgspec.field(default_factory=list[str])


def is_price(column: str) -> bool:
    """Whether a column's name says that it holds the price of tokens.

    >>> is_price("input_cost_per_token"), is_price("Output ($/1M)"), is_price("cost"), is_price("total_cost")
    (True, True, False, False)
    """
    return "$" in column or _PRICES.fullmatch(plain(column)) is not None


def is_capacity(column: str) -> bool:
    """Whether a column's name says what a model takes or costs in other ways, as lists of prices tell."""
    return _CAPACITIES.fullmatch(plain(column)) is not None or _FACTS.fullmatch(plain(column)) is not None


def model_column(columns: Iterable[str]) -> str | None:
    """Return the column that names the model; None where none does.

    >>> model_column(["rank", "Model", "score"]), model_column(["x", "y"])
    ('Model', None)
    """
    by_name = {plain(column): column for column in columns}
    return next((by_name[name] for name in MODEL_NAMES if name in by_name), None)


def item_column(columns: Iterable[str]) -> str | None:
    """Return a column that only a table with several rows a model has; None where there is none."""
    return next((column for column in columns if plain(column) in ITEM_NAMES), None)


def roles_of(columns: Sequence[str], numeric: Iterable[str], model: str, uncertain: Iterable[str] = ()) -> Roles:
    """Say what every column of a table is for.

    `numeric` are those that hold numbers, `uncertain` those that by their cells say how certain a number is (`±2`), `model` the
    one that names the model.

    >>> found = roles_of(["model", "acc", "acc_se", "votes"], ["acc", "acc_se", "votes"], "model")
    >>> found.metrics
    [ScoreColumns(column='acc', error='acc_se', ends=None, interval=None, n='votes')]
    """
    roles = Roles(model=model)
    numbers, uncertain = set(numeric), set(uncertain)
    by_name = {plain(column.replace("±", " ± ")): column for column in columns if column != model}
    roles.labels = {
        name: by_name.pop(name) for name in LABELS if name in by_name and by_name[name] not in numbers | uncertain
    }
    roles.level = next((by_name.pop(name) for name in _LEVEL_NAMES if by_name.get(name) in numbers), None)
    kept = {name: column for name, column in by_name.items() if column in numbers and not _FACTS.fullmatch(name)}
    kept = {name: column for name, column in kept.items() if not is_price(column)}
    roles.spreads = [
        by_name[name] for name in by_name if _SPREADS.fullmatch(name) and by_name[name] in numbers | uncertain
    ]
    beside = {
        name: column
        for name, column in by_name.items()
        if column not in roles.spreads
        and (column in uncertain or (_is_beside(name, kept) and (column in numbers or _tells(name, _INTERVALS))))
    }
    bases = {name: column for name, column in kept.items() if column not in {*roles.spreads, *beside.values()}}
    used: set[str] = set()
    roles.metrics = [
        _metric(name, column, beside, uncertain, used, alone=len(bases) == 1) for name, column in bases.items()
    ]
    roles.homeless = [column for column in beside.values() if column not in used]
    told = {*bases.values(), *beside.values(), *roles.spreads}
    roles.facts = [column for column in by_name.values() if column not in told]
    return roles


def _metric(
    name: str, column: str, beside: Mapping[str, str], uncertain: Collection[str], used: set[str], *, alone: bool
) -> ScoreColumns:
    """Find what stands beside a column of scores: under its own name, or under any if it is the only one."""

    def first(words: Iterable[str], *, general: bool) -> str | None:
        own = [form for word in words for form in _forms(name, word)]
        return next((beside[each] for each in (*own, *(words if general else ())) if each in beside), None)

    ends = next(
        (
            (beside[low], beside[high])
            for pair in _ENDS
            for low, high in ((f"{name}_{pair[0]}", f"{name}_{pair[1]}"), *([pair] if alone else []))
            if low in beside and high in beside
        ),
        None,
    )
    error, interval = first(_ERRORS, general=alone), first(_INTERVALS, general=alone)
    if alone and error is None and interval is None:
        error = next((each for each in beside.values() if each in uncertain), None)
    n = first(COUNT_NAMES, general=True)  # one count may stand for all columns
    used.update(each for each in (error, interval, n, *(ends or ())) if each)
    return ScoreColumns(column=column, error=error, ends=ends, interval=interval, n=n)


def _forms(name: str, word: str) -> list[str]:
    return [form for base in (name, name.removesuffix("_mean")) for form in (f"{base}_{word}", f"{word}_{base}")]


def _tells(name: str, words: Iterable[str]) -> bool:
    return any(name == word or name.startswith(f"{word}_") or name.endswith(f"_{word}") for word in words)


def _is_beside(name: str, columns: Mapping[str, str]) -> bool:
    """Whether a column says how certain another one is, or how much stands behind it."""
    words = {*_ERRORS, *_INTERVALS, *COUNT_NAMES, *(end for pair in _ENDS for end in pair)}
    if name in words or _tells(name, _ERRORS):
        return True
    # What is left of the name must be a column: low_resource is no end of anything, score_low beside score is.
    bare = [name.removesuffix(f"_{word}") for word in words] + [name.removeprefix(f"{word}_") for word in words]
    return any(rest != name and not columns.keys().isdisjoint((rest, f"{rest}_mean")) for rest in bare)
