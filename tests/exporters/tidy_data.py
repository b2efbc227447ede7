"""Tidy data with everything that files can do to text, for tests that write and read back."""

from datetime import UTC, date, datetime
from typing import Any

import polars as pl
from hypothesis import strategies as st

from evalstats.schema.columns import TABLES, TableName
from evalstats.schema.data import EvalData, with_distinct_names
from evalstats.schema.tables import frame_from_rows

HOSTILE = [
    "", " ", "nan", "null", "None", "NULL", "NaN", "inf", "true", "0", "01", "1e5", "-", "=1+1", "+1", "-1", "@x", "\tx", "\rx",
    "'", "''", "'=1", '"', '""', ",", ";", "a,b", "a\nb", "a\r\nb", "\n", "\r", "\\", "\\N", "\x00", "a\x00b", "\ud800", "\ufeff",
    "\u2028", "\u202e", "＝1", "é", "日本", "😀", "#", "{}", "[]", "../x", "a/b", "x" * 300,
]  # fmt: skip
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=8))
# Tables refuse what is beyond 1e70, and a column of nothing but numbers below its inverse.
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, 0.1, 1e-70, 1e70, -1e70, 1 / 3]), st.floats(1e-69, 1e69), st.floats(-1e69, -1e-69)
)
INTS = st.integers(-(1 << 63), (1 << 63) - 1)
COUNTS = st.integers(0, 1 << 31)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - zones are given beside
DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values)


def rows_equal(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    """Whether two tables hold the same rows in any order; a column without a value may be absent."""

    def written(frame: pl.DataFrame) -> list[str]:
        names = sorted(name for name in frame.columns if frame[name].null_count() < frame.height)
        return sorted(repr([(name, row[name]) for name in names]) for row in frame.to_dicts())

    return written(first) == written(second)


@st.composite
def outcomes(draw: st.DrawFn, run: str, model: str, system: str, benchmark: str) -> list[dict[str, Any]]:
    keys = draw(
        st.lists(
            st.tuples(TEXT, st.sampled_from(["", "=v", "b"]), st.integers(0, 2)), min_size=1, max_size=3, unique=True
        )
    )
    keys = list(
        {
            (item.encode("utf-8", "replace"), variant, trial): (item, variant, trial) for item, variant, trial in keys
        }.values()
    )
    rows: list[dict[str, Any]] = []
    for item, variant, trial in keys:
        status = draw(st.sampled_from(["scored", "scored", "error", "unscored"]))
        row = {
            "run": run,
            "model": model,
            "system": system,
            "benchmark": benchmark,
            "item": item,
            "variant": variant,
            "trial": trial,
            "status": status,
            "task": draw(st.sampled_from(["", "law", "-1"])),
            "metric": draw(st.sampled_from(["acc", "@loss"])),
            "score": draw(FLOATS) if status == "scored" else None,
            "tags": draw(maybe(st.lists(TEXT, max_size=3))),
            "timestamp": draw(maybe(TIMES)),
            "setting": draw(st.sampled_from(["lab", "live"])),
            "judge": draw(maybe(st.sampled_from(["j", ""]))),
            "latency_s": draw(maybe(st.sampled_from([0.0]) | st.floats(1e-9, 1e9))),
            "epoch": draw(maybe(INTS)),
            "size": draw(maybe(FLOATS)),
            "is_new": draw(maybe(st.booleans())),
            **{name: draw(maybe(TEXT)) for name in ("status_reason", "value_raw", "scenario", "=factor")},
            **{name: draw(maybe(COUNTS)) for name in ("n_turns", "input_tokens", "output_tokens")},
        }
        rows.append(row)
    return rows


@st.composite
def tidy_data(draw: st.DrawFn) -> EvalData:
    """Runs of one model each, with outcomes in every state, published numbers, and what is declared of the metrics."""
    n_runs = draw(st.integers(1, 2))
    tables: dict[TableName, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for k in range(n_runs):
        names = {
            "run": f"run-{k}",
            "model": f"m{k}" + draw(TEXT),
            "system": f"s{k}" + draw(TEXT),
            "benchmark": "b" + draw(TEXT),
        }
        names = {name: text.encode("utf-8", "replace").decode() for name, text in names.items()}
        of_run = draw(outcomes(**names))
        tables["outcomes"] += of_run
        counts = {
            f"n_{status}": sum(row["status"] == status for row in of_run) for status in ("scored", "error", "unscored")
        }
        more = {
            "n_shots": draw(maybe(COUNTS)),
            "timestamp": draw(maybe(TIMES)),
            "note": draw(maybe(TEXT)),
            "config": draw(maybe(TEXT)),
        }
        tables["runs"].append({**names, **more, "dependence": draw(maybe(st.lists(TEXT, max_size=2))), **counts})
        low = draw(st.floats(1e-9, 1))
        number = {
            "estimate": draw(FLOATS),
            "std_error": draw(maybe(st.floats(1e-9, 9))),
            "conf_low": low,
            "conf_high": 1 + low,
            "conf_level": 0.9,
            "metric": "acc",
            **{name: draw(maybe(TEXT)) for name in ("method", "value_raw", "scenario")},
            "n": draw(maybe(COUNTS)),
            "date": draw(maybe(DAYS)),
            "votes": draw(maybe(INTS)),
        }
        if draw(st.booleans()):
            tables["aggregates"].append({name: names[name] for name in ("run", "model", "benchmark")} | number)
        tables["metrics"].append(
            {"benchmark": names["benchmark"], "metric": "acc", "kind": "continuous", "unit": draw(maybe(TEXT))}
        )
    unique = {row["benchmark"]: row for row in tables["metrics"]}
    tables["metrics"] = list(unique.values())
    return with_distinct_names(EvalData(**{name: frame_from_rows(rows, name) for name, rows in tables.items() if rows}))
