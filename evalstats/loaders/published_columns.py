"""What a table of published scores is told by: which column names the systems, which are scores, what stands beside these.

A row is a system, or a part of a benchmark for a system. So no column names items, seeds, raters or answers, and every column of
texts that tells rows of a system apart is called like a part or like a system itself: what is called otherwise may be the items.
"""

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec

from evalstats.loaders.blocks import MAX_FACTOR_CHARS
from evalstats.loaders.column_map import ColumnMap
from evalstats.loaders.published_numbers import is_certainty
from evalstats.loaders.roles import ASKED, OF_MANY_ROWS, ROLES, SURE, is_called_score, names_a_model, plain
from evalstats.loaders.sampled_column import Record
from evalstats.loaders.values import ABSENT, as_number, as_text

_CELL = re.compile(r"([-+−]?[\d.]+(?:e[-+]?\d+)?)\s*(%?)\s*(\S.*)?", re.IGNORECASE)
# A header that names a score and how certain its cells say that it is: `score ± (95% CI)`, `Accuracy (SE)`.
_WITH_CERTAINTY = re.compile(r"(.*?\S)\s*(?:±|\+/-|[(\[](?=[^()\[\]]*\b(?:ci|se|stderr|±)\b))(.*)", re.IGNORECASE)
_THOUSANDS = re.compile(r"\d{1,3}(?:[, ]\d{3})+")
# Where a system has more rows than this on average, they are of something that is not told.
_ROWS_A_MODEL: Final = 1.45
# More items than this stand behind a summary's rows; so many parts may have a name that items have, too.
MANY_ITEMS, _MANY_PARTS = 4, 50
# A share of fewer may be that of an item's own trials.
_MORE_THAN_TRIALS: Final = 16
# How far a share of a count may lie from a whole number, with what rounding to four digits leaves of a thousand.
_NEAR: Final = 0.05
# What a summary has a row for, beside systems; where a part of a benchmark is told in a table that has no other place for it.
SUMMARISED: Final = frozenset({"label", "judge"})
_FOR_PARTS: Final = ("task", "scenario", "variant")
# These may differ between rows of a system; a task may be an item.
_NO_KEY: Final = frozenset({"method", "unit", "date", "task"})
# A table with a column of one of these has a row for each item, vote, answer or repetition.
_ITEMS: Final = ASKED.union(
    *({name for name, weight in ROLES[role].names.items() if weight >= SURE} for role in ("item", "rater", "judge")),
    OF_MANY_ROWS,
)
LABELS: Final = ("benchmark", "task", "scenario", "variant", "setting", "method", "unit", "date", "metric")
# What a map may name as the certainty of a score.
CERTAINTY: Final = ("std_error", "conf_low", "conf_high", "n")
COUNT_NAMES: Final = (
    "n", "votes", "n_items", "n_votes", "num_votes", "n_samples", "samples", "n_total", "battles", "num_battles", "items",
    "questions", "n_questions", "n_examples", "n_tasks", "n_used", "num_samples", "num_questions", "sample_size", "responses",
    "total_questions", "n_battles", "n_games", "n_users", "num_items", "num_examples",
)  # fmt: skip
# More rows of a name and a number are no metrics of one run.
_MOST_METRICS: Final = 200
# Words in the names of columns that hold averages, shares or totals of many rows.
_AGGREGATED: Final = frozenset(
    ["avg", "average", "mean", "median", "rate", "pct", "percent", "std", "ci", "p50", "p90", "p95", "p99", "winrate"]
)
# What stands beside a score, by its whole name or by the start or end of it.
_ENDS: Final = (
    ("conf_low", "conf_high"), ("ci_low", "ci_high"), ("ci_lo", "ci_hi"), ("ci_lower", "ci_upper"), ("q025", "q975"),
    ("p2_5", "p97_5"),
    ("rating_q025", "rating_q975"), ("lower", "upper"), ("low", "high"),
)  # fmt: skip
_BESIDE: Final = {
    **dict.fromkeys(("std_error", "stderr", "se", "standard_error", "sem", "std_err", "±"), "error"),
    **dict.fromkeys(("ci", "interval", "conf_int", "confidence_interval", "moe", "margin_of_error"), "interval"),
    **dict.fromkeys(
        (form for n in (80, 90, 95, 99) for form in (f"ci{n}", f"ci_{n}", f"{n}_ci", f"{n}ci")), "interval"
    ),
    **dict.fromkeys(COUNT_NAMES, "n"),
    **{word: word for pair in _ENDS for word in pair},
}
_LEVEL_NAMES: Final = ("conf_level", "level", "confidence_level")
# Numbers that say something of a model and are no score of it.
_FACTS: Final = re.compile(
    r"(?:.*_)?(?:rank|position|place|params|parameters|param_count|size|size_b|params_b|year|avg_length|avg_tokens|"
    r"output_length|context|context_length|context_window|max_tokens|max_output_tokens|max_input_tokens|rpm|tpm|cutoff)|#params|#|"
    r"(?:n|num)_.*"
)
# What a model costs to use is no score of it: a price, what so many tokens cost, or what goes in or out by the million.
_PRICE: Final = frozenset(["price", "prices", "pricing"])
_COST: Final = frozenset(["cost", "costs", "usd", "dollar", "dollars"])
_SIDES_OF_CALLS: Final = frozenset(["in", "out", "input", "output", "prompt", "completion"])
_MANY_TOKENS: Final = frozenset(["1k", "1m", "mtok", "million"])
_AMOUNTS: Final = _MANY_TOKENS | {"per", "cached", "token", "tokens"}
# The mean, the SD and the number of scores that a summary of groups has: `mean, std, count`, `f1_mean, f1_std, count`.
_MEAN, _SD = (re.compile(rf"(?:(.+)_)?(?:{words})") for words in ("mean|avg", "std|sd|stdev"))
_COUNT: Final = "count"
_SPREADS: Final = re.compile(r"(?:.*_)?(?:std|sd|stdev|std_dev|stddev|variance|var)|(?:std|stdev|stddev)_(?!err).+")


class ScoreColumns(msgspec.Struct, frozen=True, kw_only=True):
    """A column of scores with the columns that say how certain they are (None where there is none).

    `interval` is a column with both ends, or half of an interval, in one cell; `sd` the standard deviation of the `n` scores
    whose mean it is.
    """

    column: str
    error: str | None = None
    ends: tuple[str, str] | None = None
    interval: str | None = None
    n: str | None = None
    sd: str | None = None


class PublishedColumns(msgspec.Struct, kw_only=True):
    """What every column of a table is for, and how surely it holds published scores; `parts` tell rows of a system apart.

    `further` are those of them that name systems too: a system is a pair (a pipeline, and the model in it).
    """

    model: str
    weight: float = 1.0
    metrics: list[ScoreColumns] = msgspec.field(default_factory=list[ScoreColumns])
    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    level: str | None = None
    facts: list[str] = msgspec.field(default_factory=list[str])
    spreads: list[str] = msgspec.field(default_factory=list[str])
    homeless: list[str] = msgspec.field(default_factory=list[str])
    parts: tuple[str, ...] = ()
    further: tuple[str, ...] = ()

    def system_of(self, record: Record) -> str | None:
        """Return the system of a row."""
        names = [as_text(record.get(name)) for name in (self.model, *self.further)]
        return ", ".join(filter(None, names)) if names[0] else None


def parted(columns: Sequence[str], records: Sequence[Record]) -> tuple[Sequence[str], Sequence[Record]]:
    """Make two columns of one whose header names a score and its certainty, and whose cells hold both.

    A row for each metric, and nothing but its name and its number, is one row of columns.

    >>> parted(["metric", "score"], [{"metric": "f1", "score": 0.5}, {"metric": "recall", "score": 0.7}])
    (['f1', 'recall'], [{'f1': 0.5, 'recall': 0.7}])
    >>> parted(["model", "F1 ± (95% CI)"], [{"model": "m", "F1 ± (95% CI)": "71% ± 2"}])[1]
    [{'model': 'm', 'F1': '71%', 'F1 95% CI': '± 2'}]
    """
    if len(columns) == 2 and len(records) <= _MOST_METRICS and ROLES["metric"].weight(plain(columns[0])) >= SURE:
        row = {as_text(record.get(columns[0])) or "": record.get(columns[1]) for record in records}
        if len(row) == len(records) and "" not in row and all(cell_of(cell) for cell in row.values()):
            return [*row], [row]
    for column in columns:
        header = _WITH_CERTAINTY.fullmatch(column)
        cells = [_CELL.fullmatch((as_text(row.get(column)) or "").strip()) for row in records] if header else []
        # What holds no more than the certainty is not parted: `+4/-4` below `95% CI (±)`.
        alone = any(is_certainty(row.get(column)) for row in records)
        if header is None or alone or header[1] in columns or not any(cell and cell[3] for cell in cells):
            continue
        names = header[1], f"{header[1]} {re.sub(r'[^%.a-zA-Z0-9]+', ' ', header[2]).strip() or '±'}"
        records = [
            {**row, names[0]: row.get(column) if cell is None else cell[1] + cell[2], names[1]: cell and cell[3]}
            for row, cell in zip(records, cells, strict=True)
        ]
        columns = [name for each in columns for name in (names if each == column else (each,))]
        records = [{name: row[name] for name in columns if name in row} for row in records]
    return columns, records


def is_absent(cell: object) -> bool:
    """Whether a cell says that there is no number: empty, NaN, a dash, none.

    >>> is_absent(" - "), is_absent(float("nan")), is_absent("0")
    (True, True, False)
    """
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or (isinstance(cell, str) and cell.strip().lower() in ABSENT)


class ScoreCell(msgspec.Struct, frozen=True, kw_only=True):
    """A number as a cell holds it; whether a percent sign follows, and what it says of its certainty (`± 1.2`)."""

    number: float
    percent: bool = False
    certainty: str | None = None


def cell_of(value: object) -> ScoreCell | None:
    """Read a cell with one number; None where it holds something else.

    >>> cell_of("54.0% ± 1.2"), cell_of("3.1x"), cell_of("1,234")
    (ScoreCell(number=54.0, percent=True, certainty='± 1.2'), None, None)
    """
    if isinstance(value, bool):
        return None
    if not isinstance(value, str):
        number = as_number(value)
        return None if number is None else ScoreCell(number=number)
    found = _CELL.fullmatch(value.strip())
    number = as_number(found[1].replace("−", "-")) if found else None
    if found is None or number is None or not (found[3] is None or is_certainty(found[3])):
        return None
    return ScoreCell(number=number, percent=bool(found[2]), certainty=found[3])


def count_of(value: object) -> object:
    """Return a count without what separates its thousands; anything else as it is.

    In a score a comma may be a decimal point; a count has none.

    >>> count_of("26,019"), count_of("12"), count_of("many")
    ('26019', '12', 'many')
    """
    text = value.strip() if isinstance(value, str) else ""
    return re.sub(r"[, ]", "", text) if _THOUSANDS.fullmatch(text) else value


def model_column(columns: Iterable[str]) -> str | None:
    """Return the column that names the model; None where none does.

    >>> model_column(["rank", "Model", "score"]), model_column(["x", "y"])
    ('Model', None)
    """
    named = [name for name in columns if _weight_of_system(name) == 1]
    return min(named, key=lambda name: plain(name) == "name", default=None)


def item_column(columns: Iterable[str]) -> str | None:
    """Return a column that only a table with several rows a model has; None where there is none."""
    return next((column for column in columns if plain(column) in _ITEMS), None)


def is_count(name: str) -> bool:
    """Whether a column says by the last part of its name how much stands behind a score."""
    return plain(name.rpartition(".")[2]) in COUNT_NAMES


def are_averages(records: Sequence[Record]) -> bool:
    """Whether rows sum up many answers each: a score is the share of a whole number in a count that stands beside it.

    >>> are_averages([{"accuracy": 0.45, "total": 100}, {"accuracy": 0.58, "total": 100}])
    True
    >>> are_averages([{"accuracy": 0.5, "total": 2}]), are_averages([{"rougeL": 0.4531, "n": 30}])
    (False, False)
    """
    names = dict.fromkeys(name for row in records for name in row)
    counts = [name for name in names if is_count(name) or plain(name.rpartition(".")[2]) == "total"]
    scores = [name for name in names if is_called_score(name.rpartition(".")[2])] if counts else []
    for count, score in product(counts, scores):
        cells = [(as_number(row.get(count)) or 0.0, cell_of(row.get(score))) for row in records]
        shares = [(n, cell.number * n / (100 if cell.percent else 1)) for n, cell in cells if cell is not None]
        many = len(shares) == len(cells) and all(n > _MORE_THAN_TRIALS and n % 1 == 0 for n, _ in shares)
        if (
            many
            and all(0 <= k <= n and abs(k - round(k)) < _NEAR for n, k in shares)
            and any(0 < k < n for n, k in shares)
        ):
            return True
    return False


def _weight_of_system(name: str) -> float:
    words = plain(name)
    if "prompt" in words:
        return 0.0
    return 1.0 if words == "name" else max(ROLES["model"].weight(words), 0.5 * (words in SUMMARISED))


def _systems(columns: Sequence[str], named: str | None) -> Sequence[tuple[str, float]]:
    """Return the columns that may name systems, the surest first; with `named`, the user says that one does."""
    weighed = [(name, weight) for name in columns if (weight := _weight_of_system(name)) > 0]
    found = sorted(weighed, key=lambda pair: (-pair[1], plain(pair[0]) == "name"))
    if named is not None:
        sure = [pair for pair in found if pair[1] >= SURE]
        return [(named, 1.0)] if named else sure or [(name, 1.0) for name in columns[:1]]
    return found


def _may_be_part(name: str, levels: Sequence[str], *, told: bool) -> bool:
    """Whether the levels of a column may be parts of a benchmark, or systems; `told` says what stands behind each row."""
    words = plain(name)
    if words in ROLES["item"].names:
        return told and len({*levels}) <= _MANY_PARTS
    return words in {*ROLES["task"].names, "difficulty"} or _weight_of_system(name) > 0


def _filled(columns: Iterable[str], records: Sequence[Record]) -> dict[str, list[object]]:
    """Return the cells of each column that has a name but for those without a number."""
    return {name: [cell for row in records if not is_absent(cell := row.get(name))] for name in filter(None, columns)}


def _numeric(filled: Mapping[str, Sequence[object]]) -> list[str]:
    """Columns at least half of whose filled cells hold numbers."""
    found: list[str] = []
    for column, cells in filled.items():
        counts = map(count_of, cells) if is_count(column) else cells
        n_numbers = sum(cell_of(cell) is not None for cell in counts)
        found += [column] * (n_numbers > 0 and 2 * n_numbers >= len(cells))
    return found


def _total_of_items(numeric: Iterable[str], records: Sequence[Record]) -> str | None:
    """Return a column called total, or count beside mean and SD, that counts items: whole numbers beside rates; else None.

    >>> rows = [{"acc": 0.5, "total": 200}, {"acc": 0.75, "total": 200}]
    >>> _total_of_items(["acc", "total"], rows), _total_of_items(["math", "total"], [{"math": 40, "total": 70}])
    ('total', None)
    """
    cells = {name: [cell for row in records if (cell := cell_of(row.get(name)))] for name in numeric}
    names = [*map(plain, cells)]
    called = {"total", *([_COUNT] if any(map(_MEAN.fullmatch, names)) and any(map(_SD.fullmatch, names)) else [])}
    total = next((name for name in cells if plain(name) in called), None)
    others = [cell for name, own in cells.items() if name != total for cell in own]
    rates = any(cell.percent or 0 < cell.number < 1 for cell in others)
    is_count = total is not None and all(cell.number.is_integer() and cell.number > 1 for cell in cells[total])
    return total if rates and is_count else None


def items_across(columns: Sequence[str], records: Sequence[Record]) -> tuple[str, str] | None:
    """Return the map of a table whose rows are models and most of whose columns are items, which hold rights and wrongs alone.

    >>> items_across(["model", "size", *"abcde"], [{"model": "m", "size": 7, **dict.fromkeys("abcde", 1)}])
    ('model=model', 'items=a,b,c,d,e')
    >>> items_across(["model", *(f"q{n}" for n in range(9))], [{"model": "m", **{f"q{n}": n % 2 for n in range(9)}}])
    ('model=model', 'items=q*')
    """
    of_models = (c for c in columns if all(names_a_model(as_text(record.get(c)) or "") for record in records))
    model = model_column(columns) or next(of_models, None)
    names = [as_text(record.get(model)) for record in records] if model is not None else []
    cells = {name: [each for record in records if not is_absent(each := record.get(name))] for name in columns}
    items = [name for name, own in cells.items() if own and {as_number(each) for each in own} <= {0.0, 1.0}]
    if not names or len({*names}) < len(names) or len(items) <= max(MANY_ITEMS, len(columns) // 2):
        return None
    stem = items[0].rstrip("0123456789")
    numbered = all(name.startswith(stem) and name[len(stem) :].isdigit() for name in items)
    alike = [name for name in columns if name.startswith(stem) and name != stem]
    return f"model={model}", f"items={stem}*" if numbered and stem and alike == items else f"items={','.join(items)}"


def are_items(option: str) -> bool:
    """Whether the columns that a map names as items are numbered and called so.

    >>> are_items("items=q*"), are_items("items=trial_*"), are_items("items=a,b,c,d,e")
    (True, False, False)
    """
    stem = plain(option.partition("=")[2].removesuffix("*"))
    return option.endswith("*") and (
        stem == "q" or (ROLES["item"].weight(stem) > 0 and ROLES["trial"].weight(stem) == 0)
    )


def is_one_model(columns: Sequence[str], records: Sequence[Record]) -> bool:
    """Whether a table is one row of shares or percentages, a column for each part of a benchmark: one model's results."""
    if len(records) != 1 or model_column(columns) is not None:
        return False
    cells = [cell.number for name in _numeric(_filled(columns, records)) if (cell := cell_of(records[0].get(name)))]
    others = [value for value in records[0].values() if not is_absent(value) and cell_of(value) is None]
    return len(cells) > max(2, len(others)) and all(0 <= number <= 100 for number in cells)


def published_in(
    columns: Sequence[str], records: Sequence[Record], map_: ColumnMap | None = None
) -> PublishedColumns | str:
    """Return what the columns of published scores are; or why a table holds none.

    With a map, or an empty one, the user says that the table holds some: then its first column names the systems where no other
    does, and names speak against nothing.

    >>> rows = [{"variant": v, "n_used": 50, "f1": f1, "avg_missed": 1} for v, f1 in (("no_rag", 0.25), ("rag", 0.5))]
    >>> found = published_in(["variant", "n_used", "f1", "avg_missed"], rows)
    >>> found.model, [(metric.column, metric.n) for metric in found.metrics]
    ('variant', [('f1', 'n_used'), ('avg_missed', 'n_used')])
    >>> rows = [{"experiment": e, "retriever": r, "f1": 0.5} for e in ("base", "tuned") for r in ("bm25", "dense")]
    >>> published_in(["experiment", "retriever", "f1"], rows).labels
    {'task': 'retriever'}
    >>> published_in(["model", "acc"], [{"model": "a", "acc": 1}, {"model": "a", "acc": 2}, {"model": "a", "acc": 2}])
    'holds 3.0 rows for each model; a table of scores has one'
    """
    if not records:
        return "holds no rows"
    named_so = [name for name in columns if plain(name) in _ITEMS and not _weight_of_system(name)]
    if map_ is None and any(len({(as_text(row.get(name)) or "").strip() for row in records}) > 1 for name in named_so):
        return "its rows are items"  # most tables are told by these few columns
    said = {} if map_ is None else {name: sources[0] for name, sources in map_.columns.items() if name != "score"}
    long = any(len(cell) > MAX_FACTOR_CHARS for row in records for cell in row.values() if isinstance(cell, str))
    if map_ is None and (long or items_across(columns, records) is not None):
        return "its rows are items"
    why = "no column names the model; call it model"
    numeric = _numeric(filled := _filled(columns, records))
    levels = {name: [(as_text(row.get(name)) or "").strip() for row in records] for name in columns}
    # Their cells all say how certain a number is: `±2`, `[0.1, 0.3]`.
    uncertain = [name for name, cells in filled.items() if cells and all(map(is_certainty, cells))]
    total = _total_of_items(numeric, records)
    for model, weight in _systems(columns, None if map_ is None else said.get("model", "")):
        # A model may be called 7 where its column is called model, or is said to be it.
        called = model == said.get("model") or (_weight_of_system(model) == 1 and plain(model) != "name")
        if model not in columns or (model in numeric and not called):
            continue
        found = columns_of(columns, [name for name in numeric if name not in said.values()], model, uncertain, total)
        found.weight = weight
        found.labels |= {name: source for name, source in said.items() if name != "model"}
        if not found.metrics:
            why = f"no column but {model!r} holds scores, one number in each row"
            continue
        key = (model, *(column for name, column in found.labels.items() if name not in _NO_KEY or name in said))
        n_rows = len(records) / len({*zip(*(levels[name] for name in key), strict=True)})
        if n_rows > _ROWS_A_MODEL:
            why = f"holds {n_rows:.1f} rows for each {model}; a table of scores has one"
        if map_ is not None and n_rows <= _ROWS_A_MODEL:
            return found
        if map_ is None:
            # A text that is the same in all rows (`prompt`) may say how they were made; an item may have hundreds of models.
            same = [name for name in columns if name not in numeric and len({*levels[name]}) == 1 < len(records)]
            texts = [name for name in same if plain(name) != "item"]
            trials = (name for name in numeric if ROLES["trial"].names.get(plain(name), 0.0) >= SURE)
            counted = any(len({*levels[name]}) > 1 for name in trials)
            if counted or item_column(name for name in columns if name != model and name not in texts) is not None:
                return "its rows are items"
            if _is_published(found, records, levels, key, numeric):
                return found
    return why


def _is_published(
    found: PublishedColumns,
    records: Sequence[Record],
    levels: Mapping[str, Sequence[str]],
    key: Sequence[str],
    numeric: Collection[str],
) -> bool:
    """Whether names and cells say that a table holds published scores; the parts of its benchmark are then among the labels."""
    model, weight = found.model, found.weight
    scores = [[cell.number for row in records if (cell := cell_of(row.get(each.column)))] for each in found.metrics]
    behind = [as_number(row.get(name)) or 0 for name in numeric if is_count(name) for row in records]
    # Only what was averaged has an error, an interval or a spread.
    certain = bool(found.spreads) or any(metric.error or metric.interval or metric.ends for metric in found.metrics)
    told = certain or sum(behind) > MANY_ITEMS * len(behind) > 0
    summed = told or any(not _AGGREGATED.isdisjoint(plain(name).split("_")) for name in numeric)
    whole = all(number.is_integer() for numbers in scores for number in numbers) and not certain
    named = [plain(each.column) for each in found.metrics]
    rights = [{*ns} <= {0, 1} for name, ns in zip(named, scores, strict=True) if not ROLES["score"].bars(name)]
    # What is called name may be that of a test, and a row of few whole numbers that of an item.
    tests = plain(model) == "name" and (all(rights) or 2 * sum(map(names_a_model, levels[model])) < len(records))
    if tests or (weight < SURE and (whole or "" in levels[model] or len(scores) < 2 - told)):
        return False
    found.weight = min(weight + 0.3 * summed, 1.0)
    keys = [*zip(*(levels[name] for name in key), strict=True)]
    if len(records) <= (_ROWS_A_MODEL if weight == 1 else 1) * len({*keys}):
        return True
    n_systems = len({*levels[model]})
    others = [found.labels.get(name) for name in ("method", "task")]
    others = [name for name in (*others, *found.facts) if name is not None and name not in numeric]
    # What is the same for all rows of a system says something of it.
    parts = [name for name in others if len({*zip(levels[model], levels[name], strict=True)}) > n_systems]
    # What differs in each row (a time) is no part that systems share.
    parts = [name for name in parts if n_systems == 1 or len({*levels[name]}) < len(records)]
    apart = {*zip(keys, *(levels[name] for name in parts), strict=True)}
    # What is called otherwise, and a column of rights and wrongs, are more likely those of items.
    known = all(_may_be_part(name, levels[name], told=told) for name in parts) and (told or not any(rights))
    in_tasks = all(plain(name) in ROLES["task"].names for name in parts)
    found.weight = min(weight + 0.3 * (summed or in_tasks), 1.0) if known else 0.3
    labels = {name: column for name, column in found.labels.items() if column not in parts}
    free = [name for name in _FOR_PARTS if name not in labels]
    found.further = tuple(name for name in parts if ROLES["model"].weight(plain(name)) >= SURE)
    rest = [name for name in parts if name not in found.further]
    if whole or not parts or len(rest) > len(free) or len(apart) < len(records):
        return False
    found.labels = {**labels, **dict(zip(free, rest, strict=False))}
    found.facts = [name for name in found.facts if name not in parts]
    found.parts = tuple(parts)
    return True


def is_price(column: str) -> bool:
    """Whether a column's name says that it holds the price of tokens.

    >>> [is_price(name) for name in ("input_cost_per_token", "Output ($/1M)", "in / 1M tokens")]
    [True, True, True]
    >>> [is_price(name) for name in ("cost", "total_cost", "needle_in_haystack_1m")]
    [False, False, False]
    """
    words = {*plain(column).split("_")}
    rate = words & _COST and words & (_SIDES_OF_CALLS | _AMOUNTS)
    by_many = words & _SIDES_OF_CALLS and words & _MANY_TOKENS and words <= _SIDES_OF_CALLS | _AMOUNTS
    return "$" in column or bool(words & _PRICE or rate or by_many)


def columns_of(
    columns: Sequence[str], numeric: Iterable[str], model: str, uncertain: Iterable[str] = (), total: str | None = None
) -> PublishedColumns:
    """Say what every column of a table is for.

    `numeric` are those that hold numbers, `uncertain` those that by their cells say how certain a number is (`±2`), `model` the
    one that names the model, `total` one that counts the items though it is called like a sum.

    >>> found = columns_of(["model", "acc", "acc_se", "votes"], ["acc", "acc_se", "votes"], "model")
    >>> found.metrics
    [ScoreColumns(column='acc', error='acc_se', ends=None, interval=None, n='votes', sd=None)]
    """
    roles = PublishedColumns(model=model)
    numbers, uncertain = set(numeric), set(uncertain)
    by_name = {
        "n" if column == total else plain(column.replace("±", " ± ")): column for column in columns if column != model
    }
    # An interval is one with and without its sign: `95% CI (±)`.
    by_name = {name if (bare := name.removesuffix("_±")) not in _BESIDE else bare: c for name, c in by_name.items()}
    roles.labels = {
        name: by_name.pop(name) for name in LABELS if name in by_name and by_name[name] not in numbers | uncertain
    }
    roles.level = next((by_name.pop(name) for name in _LEVEL_NAMES if by_name.get(name) in numbers), None)
    kept = {name: column for name, column in by_name.items() if column in numbers and not _FACTS.fullmatch(name)}
    kept = {name: column for name, column in kept.items() if not (is_price(column) or column.endswith("(n)"))}
    roles.spreads = [
        by_name[name] for name in by_name if _SPREADS.fullmatch(name) and by_name[name] in numbers | uncertain
    ]
    # What columns say of which score: "" for any.
    places: dict[tuple[str, str], str] = {}
    beside = {column for column in by_name.values() if column in uncertain} - {*roles.spreads}
    for word, kind in _BESIDE.items():
        for name, column in ((name, column) for name, column in by_name.items() if word in name):
            scores = {name.removeprefix(f"{word}_"), name.removesuffix(f"_{word}")} - {name}
            # What is left of the name must be a column: low_resource is no end of anything, score_low beside score is.
            bases = [each for each in scores if each in kept or f"{each}_mean" in kept] + [""] * (name == word)
            can_be = column in numbers | uncertain or kind == "interval"
            if can_be and (bases or (scores and kind == "error")) and column not in roles.spreads:
                beside.add(column)
                places = {**dict.fromkeys(((base, kind) for base in bases), column), **places}
    alone = {name: column for name, column in kept.items() if column not in {*roles.spreads, *beside}}
    used: set[str] = set()
    for name, column in alone.items():
        own = [name, name.removesuffix("_mean"), *([""] if len(alone) == 1 else [])]
        error, interval, n = (
            next((places[each, kind] for each in own if (each, kind) in places), None)
            for kind in ("error", "interval", "n")
        )
        pairs = [(places.get((each, low)), places.get((each, high))) for low, high in _ENDS for each in own]
        ends = next(((low, high) for low, high in pairs if low is not None and high is not None), None)
        if len(alone) == 1 and error is None and interval is None:
            error = next((each for each in by_name.values() if each in beside & uncertain), None)
        n = n or places.get(("", "n"))  # one count may stand for all columns
        used.update(each for each in (error, interval, n, *(ends or ())) if each)
        sd = None
        if (mean := _MEAN.fullmatch(name)) and n and plain(n) == _COUNT and not (error or interval or ends):
            alike = (c for c in roles.spreads if (of := _SD.fullmatch(plain(c))) and of[1] == mean[1])
            sd = next(alike, None)
        roles.metrics.append(ScoreColumns(column=column, error=error, ends=ends, interval=interval, n=n, sd=sd))
    roles.homeless = [column for column in by_name.values() if column in beside - used]
    told = {*alone.values(), *beside, *roles.spreads}
    roles.facts = [column for column in by_name.values() if column not in told]
    return roles
