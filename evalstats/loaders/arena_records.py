"""Arena votes one by one, from JSON lists, JSON Lines, delimited text and Parquet, in bounded memory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

import polars as pl

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_naming import NAMING, SAID, SIDES
from evalstats.loaders.base import PARQUET_FAULTS, Head
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import JsonItem, iter_json, iter_json_lines

# Conversations, prompts and answers: never kept. Answers are looked through for the names of models (arena_naming).
ANSWERS = frozenset({"conversation_a", "conversation_b", "response_a", "response_b"})
TEXTS = frozenset(
    {
        *(*ANSWERS, *SAID.values(), "full_conversation", "system_prompt"),
        *("completion_a", "completion_b", "prefix", "suffix", "openai_moderation", "toxic_chat_tag"),
    }
)
NESTED = frozenset({"conv_metadata", "category_tag", "dedup_tag", "occupational_tags", "tags", "models", "ranking"})
_PARQUET_ROWS = 5_000


def columns_of(head: Head) -> frozenset[str]:
    """Names of the columns of a file of votes (of a JSON file: of its first record)."""
    return frozenset(head.columns) or head.keys


def iter_records(head: Head) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Yield (place, record): the line of delimited text and JSON Lines, else the record's number from 0.

    Cells of delimited text are text, and null where they are empty.

    Raises
    ------
    UnreadableFileError
        If the file is damaged, or a record is not an object.
    """
    if head.shape == "parquet":
        yield from _parquet_records(head.path)
    elif head.shape == "text":
        header = header_of(head.path, head.delimiter)
        keep = [(place, name) for place, name in enumerate(header) if name and (name not in TEXTS or name in ANSWERS)]
        for line, cells in iter_rows(head.path, head.delimiter, n_columns=len(header)):
            yield line, {name: cells[place] or None for place, name in keep}
    else:
        for place, value in _json_values(head):
            if not isinstance(value, dict):
                message = f"{head.path}: {place_word(head)} {place} is not a JSON object; every vote must be one"
                raise UnreadableFileError(message)
            yield place, cast("dict[str, object]", value)


def place_word(head: Head) -> str:
    """Return what a record's place is called."""
    return "line" if head.shape in {"text", "lines", "object"} else "record"


def _json_values(head: Head) -> Iterator[tuple[int, object]]:
    if head.shape == "array":
        for item in iter_json(head.path):
            yield (item.index if isinstance(item, JsonItem) else 0), item.value
    else:
        yield from iter_json_lines(head.path)


def _parquet_records(path: Path) -> Iterator[tuple[int, Mapping[str, object]]]:
    try:
        # Brackets in the name are no pattern, and folders named a=b make no columns.
        whole = pl.scan_parquet(path, glob=False, hive_partitioning=False)
        schema = whole.collect_schema()
        scan = whole.select(_wanted(schema))
        height = scan.select(pl.len()).collect().item()
        # Texts are gone through once, in a stream, and only those in which a name may stand are held.
        said = whole.select(_said(schema)).collect(engine="streaming")
        place = 0
        for first in range(0, height, _PARQUET_ROWS):
            part = scan.slice(first, _PARQUET_ROWS).collect()
            beside = said.slice(first, _PARQUET_ROWS) if said.width else pl.DataFrame()
            for record in part.hstack(beside).iter_rows(named=True):
                yield place, record
                place += 1
    except PARQUET_FAULTS as error:
        message = f"{path}: is not a Parquet file that can be read ({error}); write it again"
        raise UnreadableFileError(message) from error


def _wanted(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Choose the plain columns, the nested ones that are used, and of conversations only the counts of tokens."""
    wanted = [
        pl.col(name)
        for name, dtype in schema.items()
        if name in NESTED
        or (name not in TEXTS and not dtype.is_nested() and not isinstance(dtype, pl.Binary | pl.Object))
    ]
    for name in ("conversation_a", "conversation_b"):
        dtype = schema.get(name)
        inner = dtype.inner if isinstance(dtype, pl.List) else None
        fields = {part.name for part in inner.fields} if isinstance(inner, pl.Struct) else set[str]()
        if "conv_metadata" not in schema and {"role", "num_tokens"} <= fields:
            counted = [pl.element().struct.field(part) for part in ("role", "num_tokens")]
            wanted.append(pl.col(name).list.eval(pl.struct(counted)))
    return wanted


def _said(schema: Mapping[str, pl.DataType]) -> list[pl.Expr]:
    """Choose what assistants said, where it may name a model; an empty text where it does not, null where nothing is."""
    found: list[pl.Expr] = []
    for side in SIDES:
        for name in (f"conversation_{side}", f"response_{side}"):
            text = _answers(name, schema.get(name))
            if text is not None:
                found.append(
                    pl.when(text.str.contains(NAMING))
                    .then(text)
                    .when(text.is_not_null())
                    .then(pl.lit(""))
                    .alias(SAID[side])
                )
                break
    return found


def _answers(name: str, dtype: pl.DataType | None) -> pl.Expr | None:
    """Return the assistant's messages as one text, from the shapes that conversations have; None for another shape."""
    if isinstance(dtype, pl.String):
        return pl.col(name) if name.startswith("response") else None
    if not isinstance(dtype, pl.List):
        return None
    if isinstance(dtype.inner, pl.String):
        return pl.col(name).list.join("\n")
    fields = {part.name: part.dtype for part in dtype.inner.fields} if isinstance(dtype.inner, pl.Struct) else {}
    content = fields.get("content")
    if "role" not in fields or content is None:
        return None
    said = pl.element().filter(pl.element().struct.field("role") == "assistant").struct.field("content")
    if isinstance(content, pl.String):
        text = said
    elif isinstance(content, pl.List) and isinstance(content.inner, pl.Struct):
        text = said.list.eval(pl.element().struct.field("text")).list.join("\n", ignore_nulls=True)
    else:
        return None
    answers = pl.col(name).list.eval(text)
    return pl.when(answers.list.len() > 0).then(answers.list.join("\n", ignore_nulls=True))
