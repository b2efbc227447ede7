"""What `evalstats export --to eee` writes beside the fields of Every Eval Ever, so that its records are read back exactly.

Scores, intervals and errors stand in the schema's own fields and are read from them; the annex holds what the schema has no
field for: the run's row, the metrics, the dtypes of factors. It stands in maps of text that the schema leaves free, and may be
anybody's: what does not fit is refused.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from math import isfinite
from typing import Any, Final, cast

import msgspec
import polars as pl
from msgspec import UNSET

from evalstats.loaders.rows import Row
from evalstats.loaders.typed_records import Other
from evalstats.loaders.values import as_dict, as_list, dicts, get
from evalstats.schema.columns import TableName, schema_of

# The key of the annex in every map that holds one.
ANNEX: Final = "evalstats"
VERSION: Final = 1
SHARED: Final = ("run", "model", "system", "benchmark")
# What a published number may be given on export; `filled` names those that were.
NUMBERS: Final = ("std_error", "conf_low", "conf_high", "conf_level", "n")
UNSCORED: Final = "unscored"
# What reading a damaged annex may raise.
FAULTS: Final = (ValueError, KeyError, TypeError, OverflowError, RecursionError)
_FROM_THE_RECORD: Final = frozenset({*SHARED, "item", "score"})


class _Evaluation(msgspec.Struct):
    score: Any = UNSET
    num_turns: Any = None


class ExportedSample(msgspec.Struct):
    """What a sample holds that an exported row is restored from."""

    sample_id: Any = None
    metadata: Any = None
    evaluation: _Evaluation | Other = None
    token_usage: Any = None
    error: Any = None

    @property
    def n_turns(self) -> object:
        """The number of turns, as it stands there."""
        return self.evaluation.num_turns if isinstance(self.evaluation, _Evaluation) else None

    def judged(self, otherwise: object = UNSET) -> object:
        """Return the score, as it stands there; None where there is none."""
        score = self.evaluation.score if isinstance(self.evaluation, _Evaluation) else UNSET
        score = otherwise if score is UNSET else score
        return None if score is UNSET else score


class NotExportedError(Exception):
    """A result that evalstats did not write."""


def to_text(value: object) -> str:
    """Return a cell as text that `from_text` restores.

    >>> to_text(0.1), to_text(["a"]), to_text(True)
    ('0.1', '["a"]', 'true')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool | list):
        return json.dumps(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    return repr(value)


def from_text(text: object, dtype: pl.DataType) -> object:
    """Return a cell of a dtype; ValueError if the text is none."""
    if not isinstance(text, str):
        raise ValueError(f"{text!r} is no text")  # noqa: TRY004 - whoever calls counts one kind of fault
    if dtype == pl.String:
        return text
    if isinstance(dtype, pl.List):
        found = json.loads(text)
        if not (isinstance(found, list) and all(isinstance(each, str | None) for each in cast("list[object]", found))):
            raise ValueError(f"{text!r} is no list of labels")
        return cast("list[object]", found)
    if dtype == pl.Boolean:
        return {"true": True, "false": False}[text]
    if isinstance(dtype, pl.Datetime):
        return datetime.fromisoformat(text).astimezone(UTC)
    if dtype == pl.Date:
        return date.fromisoformat(text)
    return int(text) if dtype == pl.Int64 else float(text)


def packed(row: Mapping[str, object]) -> Row:
    """Return a row as JSON holds it, without what is null."""
    return {
        name: value.isoformat() if isinstance(value, datetime | date) else value
        for name, value in row.items()
        if value is not None
    }


def unpacked(row: Mapping[str, object], table: TableName) -> Row:
    """Return a row as it was before `packed`."""
    schema = schema_of(table)
    return {
        name: from_text(value, schema[name]) if name in schema and schema[name].is_temporal() else value
        for name, value in row.items()
        if not isinstance(value, dict)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Annex:
    """What one log says beyond the schema: its run, the dtypes of its samples' factors, and its metrics."""

    run: Row
    shared: dict[str, str]
    factors: dict[str, pl.DataType]
    metrics: list[Row]

    def outcome(self, sample: ExportedSample) -> Row:
        """Restore a row of outcomes; ValueError, KeyError or OverflowError where the sample holds anything else."""
        metadata, usage = as_dict(sample.metadata), as_dict(sample.token_usage)
        schema = schema_of("outcomes")
        row: Row = {**self.shared, "item": metadata.get("item", sample.sample_id)}
        for name, text in metadata.items():
            if name in self.factors:
                row[name] = from_text(text, self.factors[name])
            elif name in schema and name not in _FROM_THE_RECORD:
                row[name] = from_text(text, schema[name])
        row.setdefault("n_turns", sample.n_turns)
        for name in ("input_tokens", "output_tokens"):
            row.setdefault(name, usage.get(name))
        score = sample.judged()
        if sample.error:
            row["status"] = UNSCORED if metadata.get("status") == UNSCORED else "error"
        elif isinstance(score, int | float) and not isinstance(score, bool) and isfinite(score):
            row.update(score=float(score), status="scored")
        else:
            raise ValueError(f"{score!r} is no score")
        return row

    def aggregate(self, result: Row, *, has_samples: bool) -> Row | None:
        """Restore a published number; None for a score that export computed from the samples beside the log.

        Without these samples it is all there is, and is taken as published. NotExportedError if the result has no annex.
        """
        details = as_dict(result.get("score_details"))
        said = as_dict(json.loads(str(get(details, "details", ANNEX) or "null")))
        if not said:
            raise NotExportedError
        if said.get("computed") and has_samples:
            return None
        uncertainty = as_dict(details.get("uncertainty"))
        interval = as_dict(uncertainty.get("confidence_interval"))
        numbers: Row = {
            "std_error": get(uncertainty, "standard_error", "value"),
            "conf_low": interval.get("lower"),
            "conf_high": interval.get("upper"),
            "conf_level": interval.get("confidence_level"),
            "n": uncertainty.get("num_samples"),
        }
        filled = [] if said.get("computed") else as_list(said.get("filled"))
        kept = {name: value for name, value in numbers.items() if name not in filled}
        row = unpacked(as_dict(said.get("row")), "aggregates")
        named = {name: self.shared[name] for name in ("run", "model", "benchmark")}
        return {"unit": None, "date": None, **row, **named, **kept, "estimate": details.get("score")}


def annex_of(record: Row) -> Annex | None:
    """Return the annex of a log; None where it has none. ValueError, KeyError or TypeError where it is damaged."""
    text = get(record, "source_metadata", "additional_details", ANNEX)
    if text is None:
        return None
    said = as_dict(json.loads(str(text)))
    if said.get("version") != VERSION:
        raise ValueError(f"version {said.get('version')!r} of the annex is not known")
    dtypes: dict[str, pl.DataType] = {
        str(dtype): dtype for dtype in (pl.String(), pl.Boolean(), pl.Int64(), pl.Float64())
    }
    shared = as_dict(said["shared"])
    if set(shared) != set(SHARED) or not all(isinstance(name, str) for name in shared.values()):
        raise ValueError("the annex names no run")
    return Annex(
        run=unpacked(as_dict(said["run"]), "runs"),
        shared=cast("dict[str, str]", shared),
        factors={name: dtypes[str(dtype)] for name, dtype in as_dict(said["factors"]).items()},
        metrics=[cast("dict[str, Any]", each) for each in dicts(said.get("metrics"))],
    )
