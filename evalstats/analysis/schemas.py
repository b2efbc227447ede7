"""JSON Schemas of what machines read: of a result in brief, and of every whole result. Both are made from the types."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, get_args

import msgspec

from evalstats.analysis.brief import Brief
from evalstats.analysis.provenance import toolkit_version
from evalstats.analysis.result import Result
from evalstats.analysis.saved import RESULTS

_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def brief_schema() -> dict[str, Any]:
    """Return the schema of `--format brief` and of `Result.brief()`; its version is that of the form.

    >>> brief_schema()["$id"]
    'urn:evalstats:brief:1'
    """
    (form,), parts = msgspec.json.schema_components([Brief])
    (version,) = get_args(get_args(Brief.__annotations__["brief"])[0])
    return {"$schema": _DRAFT, "$id": f"urn:evalstats:brief:{version}", **form, "$defs": _described(parts)}


def result_schema() -> dict[str, Any]:
    """Return the schema of `--format json` and of `Result.save()`; its version is that of evalstats."""
    types = [getattr(import_module(place), name) for name, place in RESULTS.items()]

    def saved_otherwise(kind: Any) -> dict[str, Any]:
        # A result within another, or rows that are saved by columns.
        return {"$ref": "#"} if kind is Result else kind.saved_schema()

    _, parts = msgspec.json.schema_components(types, schema_hook=saved_otherwise)
    kinds = [
        {"required": ["result"], "properties": {"result": {"const": name}}, "$ref": f"#/$defs/{name}"}
        for name in RESULTS
    ]
    version = f"urn:evalstats:result:{toolkit_version()}"
    return {"$schema": _DRAFT, "$id": version, "anyOf": kinds, "$defs": _described(parts)}


def _described(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return definitions, each described in a line."""
    return {
        name: {**part, "description": part["description"].partition("\n")[0]} if "description" in part else part
        for name, part in parts.items()
    }
