"""What the columns of a table of published scores hold: scores, their errors, counts, labels, or nothing that is read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

# Names of the column of models; "name" alone may also be an item's.
MODEL_NAMES: Final = ("model", "model_name", "llm_model", "llm", "modelname", "models", "name")
# A table with one of these has a row for each item, vote or call, and is no table of scores by model.
ITEM_NAMES: Final = frozenset(
    {
        "item", "item_id", "id", "idx", "index", "question", "question_id", "prompt", "prompt_id", "doc_id", "sample",
        "sample_id", "instance", "instance_id", "example", "example_id", "case", "case_id", "uid", "uuid", "trial", "epoch",
        "seed", "turn", "user", "user_id", "rater", "judge", "session", "session_id", "conversation_id", "model_a", "model_b",
        "winner", "question_uid", "response", "answer", "output", "input", "text", "timestamp",
    }
)  # fmt: skip
LABELS: Final = ("benchmark", "task", "scenario", "variant", "setting", "method", "unit", "date", "metric")
COUNT_NAMES: Final = (
    "n",
    "votes",
    "n_items",
    "n_votes",
    "num_votes",
    "n_samples",
    "samples",
    "n_total",
    "battles",
    "num_battles",
)
_ERRORS: Final = ("std_error", "stderr", "se", "standard_error", "sem", "std_err")
_ENDS: Final = (
    ("conf_low", "conf_high"), ("ci_low", "ci_high"), ("ci_lower", "ci_upper"), ("q025", "q975"), ("p2_5", "p97_5"),
    ("rating_q025", "rating_q975"), ("lower", "upper"), ("low", "high"),
)  # fmt: skip
# Ends whose names say that 95 % lie between them.
_LEVEL_95: Final = ("q025", "p2_5", "rating_q025")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A column of scores with the columns that say how certain they are (None where there is none)."""

    column: str
    error: str | None = None
    ends: tuple[str, str] | None = None
    n: str | None = None
    level: float | None = None


@dataclass(slots=True, kw_only=True)
class Roles:
    """What every column of a table is for."""

    model: str
    metrics: list[Metric] = field(default_factory=list[Metric])
    labels: dict[str, str] = field(default_factory=dict[str, str])
    level: str | None = None
    facts: list[str] = field(default_factory=list[str])
    spreads: list[str] = field(default_factory=list[str])
    homeless: list[str] = field(default_factory=list[str])


def plain(name: str) -> str:
    """Return a column's name as these names are compared: lower case, words joined by underscores.

    Examples
    --------
    >>> plain("Std. Error"), plain(" CI-low "), plain("± Score")
    ('std_error', 'ci_low', '±_score')
    """
    return re.sub(r"[^\w±#]+", "_", name.strip().lower()).strip("_")


def is_price(column: str) -> bool:
    """Whether a column's name says that it holds the price of tokens.

    Examples
    --------
    >>> is_price("input_cost_per_token"), is_price("Output ($/1M)"), is_price("cost"), is_price("total_cost")
    (True, True, False, False)
    """
    return "$" in column or _PRICES.fullmatch(plain(column)) is not None


def is_capacity(column: str) -> bool:
    """Whether a column's name says what a model takes or costs in other ways, as lists of prices tell."""
    return _CAPACITIES.fullmatch(plain(column)) is not None or _FACTS.fullmatch(plain(column)) is not None


def model_column(columns: Iterable[str]) -> str | None:
    """Return the column that names the model; None where none does.

    Examples
    --------
    >>> model_column(["rank", "Model", "score"]), model_column(["x", "y"])
    ('Model', None)
    """
    by_name = {plain(column): column for column in columns}
    return next((by_name[name] for name in MODEL_NAMES if name in by_name), None)


def item_column(columns: Iterable[str]) -> str | None:
    """Return a column that only a table with several rows a model has; None where there is none."""
    return next((column for column in columns if plain(column) in ITEM_NAMES), None)


def roles_of(columns: Sequence[str], numeric: Iterable[str], model: str) -> Roles:
    """Say what every column is for.

    Parameters
    ----------
    columns
        All columns in order.
    numeric
        Those that hold numbers.
    model
        The column that names the model.

    Examples
    --------
    >>> found = roles_of(["model", "acc", "acc_se", "votes"], ["acc", "acc_se", "votes"], "model")
    >>> found.metrics
    [Metric(column='acc', error='acc_se', ends=None, n='votes', level=None)]
    """
    roles = Roles(model=model)
    numbers = set(numeric)
    by_name = {plain(column): column for column in columns if column != model}
    roles.labels = {name: by_name.pop(name) for name in LABELS if name in by_name and by_name[name] not in numbers}
    roles.level = next((by_name.pop(name) for name in _LEVEL_NAMES if by_name.get(name) in numbers), None)
    kept = {name: column for name, column in by_name.items() if column in numbers}
    roles.facts = [
        column
        for name, column in by_name.items()
        if column not in numbers or _FACTS.fullmatch(name) or is_price(column)
    ]
    roles.spreads = [column for name, column in kept.items() if _SPREADS.fullmatch(name)]
    kept = {name: column for name, column in kept.items() if column not in {*roles.facts, *roles.spreads}}
    beside = {name: column for name, column in kept.items() if _is_beside(name, kept)}
    bases = {name: column for name, column in kept.items() if name not in beside}
    used: set[str] = set()
    for name, column in bases.items():
        roles.metrics.append(_metric(name, column, beside, used, alone=len(bases) == 1))
    roles.homeless = [column for column in beside.values() if column not in used]
    return roles


def _metric(name: str, column: str, beside: Mapping[str, str], used: set[str], *, alone: bool) -> Metric:
    """Find what stands beside a column of scores: under its own name, or under a general one if it is the only one."""
    own = [beside[form] for form in _forms(name, _ERRORS) if form in beside]
    if alone:
        own += [beside[each] for each in (*_ERRORS, "±") if each in beside]
    counts = [beside[form] for form in _forms(name, COUNT_NAMES) if form in beside]
    counts += [beside[each] for each in COUNT_NAMES if each in beside]  # one count may stand for all columns
    ends, level = None, None
    for low, high in _ENDS:
        for first, second in ((f"{name}_{low}", f"{name}_{high}"), *([(low, high)] if alone else [])):
            if ends is None and first in beside and second in beside:
                ends = beside[first], beside[second]
                level = 0.95 if low in _LEVEL_95 else None
    found = Metric(column=column, error=next(iter(own), None), ends=ends, n=next(iter(counts), None), level=level)
    used.update(each for each in (found.error, found.n, *(ends or ())) if each)
    return found


def _forms(name: str, words: Iterable[str]) -> list[str]:
    return [form for word in words for form in (f"{name}_{word}", f"{word}_{name}")] + [f"±_{name}", f"{name}_±"]


def _is_beside(name: str, columns: Mapping[str, str]) -> bool:
    """Whether a column says how certain another one is, or how much stands behind it."""
    words = {*_ERRORS, *COUNT_NAMES, "±", *(end for pair in _ENDS for end in pair)}
    if name in words or name.startswith(("±", *(f"{word}_" for word in _ERRORS))):
        return True
    if name.endswith(("±", *(f"_{word}" for word in _ERRORS))):
        return True
    # What is left of the name must be a column: low_resource is no end of anything, score_low beside score is.
    bare = [name.removesuffix(f"_{word}") for word in words] + [name.removeprefix(f"{word}_") for word in words]
    return any(rest != name and rest in columns for rest in bare)
