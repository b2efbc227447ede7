"""Reference values carried with the tests."""

import json
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def reference() -> dict[str, Any]:
    """Sections of tests/golden/stats.json, without their sources."""
    file = Path(__file__).resolve().parents[1] / "golden" / "stats.json"
    return {name: section["values"] for name, section in json.loads(file.read_text()).items()}
