"""Tables opened where they lie: Parquet files through Polars, DuckDB or Spark, a database's table, a lazy frame."""

import re
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import narwhals as nw

from evalstats.errors import InputError, UnreadableFileError
from evalstats.schema.in_memory import as_polars
from evalstats.table.merged import RemoteTable, remote_table

ENGINES = ("polars", "duckdb", "spark")
_DATABASES = (".duckdb", ".ddb", ".db")
_TABLE = "::"


def open_table(source: object, engine: str | None = None) -> RemoteTable:
    """Open a table without reading it, as `lazy_table` does, under names of our own."""
    frame = lazy_table(source, engine)
    try:
        return remote_table(frame)
    except Exception as error:
        raise _unreadable(source, error) from error


def lazy_table(source: object, engine: str | None = None) -> Any:
    """Return a lazy frame of the engine's own library.

    `source` is a Parquet file or a folder of them; with DuckDB also a database, `FILE.duckdb::TABLE`; with Spark also the name of
    a table; or a frame, lazy or not, whose own library does the work.
    """
    if engine is not None and engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; use one of {', '.join(ENGINES)}")
    if not isinstance(source, str | Path):
        return _of_frame(source, engine)
    try:
        if engine == "duckdb":
            return _duckdb(str(source))
        if engine == "spark":
            return _spark(str(source))
        import polars as pl

        return pl.scan_parquet(parquet_files(str(source)), glob=False)
    except InputError:
        raise
    except Exception as error:  # each library raises errors of its own
        raise _unreadable(source, error) from error


def _unreadable(source: object, error: Exception) -> UnreadableFileError:
    name = str(source) if isinstance(source, str | Path) else f"the {type(source).__name__}"
    why = str(error).strip().partition("\n")[0][:300]
    return UnreadableFileError(
        f"{name} cannot be opened as a table ({why}); give a Parquet file, a table or a lazy frame"
    )


def _of_frame(frame: object, engine: str | None) -> object:
    wrapped = nw.from_native(cast("Any", frame), pass_through=True)
    if not isinstance(wrapped, nw.LazyFrame):
        if engine not in (None, "polars"):
            raise InputError(f"the frame is in memory already, and {engine} would not need less; leave the engine out")
        return as_polars(frame).lazy()
    own = {"pyspark": "spark", "pyspark_connect": "spark"}.get(
        str(wrapped.implementation.value), str(wrapped.implementation.value)
    )
    if engine not in (None, own):
        raise InputError(f"the frame is one of {own}, which does the work; leave the engine {engine!r} out")
    return frame


def parquet_files(source: str) -> list[str]:
    """Return the Parquet files that a path stands for: itself, or those in it."""
    path = Path(source)
    if path.is_dir():
        files = sorted(str(file) for file in path.rglob("*.parquet") if file.is_file())
        if not files:
            raise UnreadableFileError(
                f"{source} holds no file that ends in .parquet; an engine reads Parquet files and tables"
            )
        return files
    if not path.is_file():
        raise UnreadableFileError(f"there is no file {source!r}; give a Parquet file or a folder of them")
    if path.suffix.lower() not in {".parquet", ".pq"}:
        raise UnreadableFileError(
            f"{source} is no Parquet file, which is what an engine reads; leave the engine out, and the file is read in full"
        )
    return [source]


def _duckdb(source: str) -> object:
    try:
        import duckdb
    except ImportError:
        raise InputError("the engine duckdb is not installed; pip install 'evalstats-toolkit[duckdb]'") from None
    name, _, table = source.partition(_TABLE)
    if not name.lower().endswith(_DATABASES):
        # A letter in brackets is no pattern.
        literal = ["".join(f"[{c}]" if c in "*?[" else c for c in file) for file in parquet_files(source)]
        return duckdb.connect().from_parquet(literal)
    if not Path(name).is_file():
        raise UnreadableFileError(f"there is no file {name!r}; give a DuckDB database, FILE.duckdb{_TABLE}TABLE")
    connection = duckdb.connect(name, read_only=True)
    found = connection.execute(
        "select table_name from duckdb_tables() union select view_name from duckdb_views() where not internal"
    )
    tables: list[str] = sorted(row[0] for row in found.fetchall())
    if not table and len(tables) == 1:
        table = tables[0]
    if table not in tables:
        said = f"has no table {table!r}" if table else f"holds {len(tables)} tables"
        raise InputError(f"{name} {said}; name one as {name}{_TABLE}TABLE: {', '.join(tables) or 'it has none'}")
    return connection.table('"' + table.replace('"', '""') + '"')


def _escaped(path: str) -> str:
    """Return a path of this machine in which Spark sees no pattern."""
    return "file:" + re.sub(r"([*?\[\]{}\\])", r"\\\1", str(Path(path).absolute()))


def _spark(source: str) -> object:
    try:
        sessions: Any = import_module("pyspark.sql").SparkSession
    except ImportError:
        raise InputError(
            "the engine spark is not installed; pip install 'evalstats-toolkit[spark]'; it needs Java"
        ) from None
    session = sessions.getActiveSession()
    if session is None:
        try:
            session = sessions.builder.appName("evalstats").config("spark.ui.enabled", "false").getOrCreate()
        except Exception as error:  # what is raised depends on what Java said
            why = str(error).partition("\n")[0][:200]
            raise InputError(
                f"no Spark session could be started ({why}); Spark needs Java 17 or newer on the PATH"
            ) from error
    if Path(source).exists():
        return session.read.parquet(*map(_escaped, parquet_files(source)))
    if source.lower().endswith((".parquet", ".pq")) and "://" not in source:
        raise UnreadableFileError(
            f"there is no file {source!r}; give a Parquet file, a folder of them, or a table's name"
        )
    return session.read.parquet(source) if "://" in source else session.table(source)
