"""What `EvalData` shows of itself: models, benchmarks, metrics, rows and factors in some ten lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from evalstats.schema.columns import TableName
from evalstats.schema.tables import factor_columns

_WIDTH = 80
_LABEL = 12
_MOST_FACTORS = 6


def overview(tables: Mapping[TableName, pl.DataFrame]) -> Iterator[str]:
    """Yield one line for each thing that the tables hold."""
    outcomes, votes = tables["outcomes"], tables["comparisons"]
    models = [outcomes["model"], tables["aggregates"]["model"], votes["model_a"], votes["model_b"]]
    yield from _names("models", models)
    yield from _names("benchmarks", [outcomes["benchmark"], tables["aggregates"]["benchmark"]])
    yield from _names("metrics", [outcomes["metric"], tables["aggregates"]["metric"]])
    if outcomes.height:
        yield _line("outcomes", f"{outcomes.height:,} rows: {', '.join(_counts(outcomes))}")
        factors = [name for name in factor_columns(outcomes, "outcomes") if not outcomes[name].dtype.is_nested()]
        levels = [f"{_clean(name)} ({outcomes[name].n_unique():,})" for name in factors]
        if levels:
            yield _line("factors", _cut(levels[:_MOST_FACTORS], len(levels)))
        if outcomes["scenario"].drop_nulls().len():
            yield _line("scenarios", f"{outcomes['scenario'].drop_nulls().n_unique():,}")
    for name in ("comparisons", "ratings", "aggregates"):
        if tables[name].height:
            yield _line(name, f"{tables[name].height:,} rows")


def problem_lines(problems: Sequence[str]) -> Iterator[str]:
    """Yield a line on what went wrong while files were read, with the first of it."""
    if problems:
        more = f"; {len(problems) - 1:,} more in .problems" if len(problems) > 1 else ""
        first = _clean(problems[0])
        room = _WIDTH - _LABEL - 2 - len(more)
        yield _line("problems", (first if len(first) <= room else first[: room - 3] + "...") + more)


def _counts(outcomes: pl.DataFrame) -> Iterator[str]:
    for column, one, several in (
        ("item", "item", "items"),
        ("variant", "variant", "variants"),
        ("trial", "trial", "trials"),
    ):
        n = outcomes[column].drop_nulls().n_unique()
        if n > 1 or column == "item":
            yield f"{n:,} {one if n == 1 else several}"
    n = outcomes["score"].null_count()
    if n:
        yield f"{n:,} without a score"


def _names(label: str, columns: Iterable[pl.Series]) -> Iterator[str]:
    names = sorted({_clean(name) for column in columns for name in column.drop_nulls().unique().to_list()})
    if names:
        yield _line(label, _cut(names, len(names)))


def _cut(words: Sequence[str], n: int) -> str:
    """Return as many words as fit on the line, and how many more there are."""
    shown, room = list(words[:1]), _WIDTH - _LABEL - 2 - len(" and 9,999 more")
    for word in words[1:]:
        if len(", ".join([*shown, word])) > room:
            break
        shown.append(word)
    return ", ".join(shown) + (f" and {n - len(shown):,} more" if n > len(shown) else "")


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _clean(text: str) -> str:
    """Text from a file without what a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text)
