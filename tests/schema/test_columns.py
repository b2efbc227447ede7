"""The glossary says every column once, and says it in full."""

import polars as pl
import pytest

from evalstats.schema.columns import KEYS, TABLES, TableName, column_names, glossary, schema_of

ALL_TABLES: tuple[TableName, ...] = tuple(TABLES)


@pytest.mark.parametrize("table", ALL_TABLES)
def test_a_name_stands_once_in_a_table(table: TableName) -> None:
    names = column_names(table)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("table", ALL_TABLES)
def test_keys_are_columns(table: TableName) -> None:
    assert set(KEYS[table]) <= set(column_names(table))


@pytest.mark.parametrize("table", ALL_TABLES)
def test_every_column_says_what_it_means(table: TableName) -> None:
    assert all(column.meaning for column in TABLES[table])


def test_a_name_has_one_dtype_in_all_tables() -> None:
    """`model` in the outcomes joins `model` in the runs; a join on two dtypes fails."""
    dtypes: dict[str, set[pl.DataType]] = {}
    for table in ALL_TABLES:
        for name, dtype in schema_of(table).items():
            dtypes.setdefault(name, set()).add(dtype)
    assert {name: found for name, found in dtypes.items() if len(found) > 1} == {}


def test_a_fill_is_one_of_the_levels() -> None:
    for columns in TABLES.values():
        for column in columns:
            if column.levels and column.fill is not None:
                assert column.fill in column.levels


def test_the_glossary_lists_every_column() -> None:
    assert glossary().height == sum(len(columns) for columns in TABLES.values())
    row = glossary().filter(table="outcomes", column="status").row(0, named=True)
    assert row["required"]
    assert row["levels"] == "scored | error | unscored"
