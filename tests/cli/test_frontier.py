"""`evalstats frontier` on rows with costs."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    systems = {"cheap": (0.5, 0.01), "dear": (0.9, 0.10), "waste": (0.4, 0.30)}
    lines = [
        json.dumps({
            "model": name, "item": f"q{i}", "score": int(rng.random() < rate), "cost_usd": cost * rng.uniform(0.8, 1.2),
        })
        for name, (rate, cost) in systems.items()
        for i in range(150)
    ]  # fmt: skip
    file = tmp_path_factory.mktemp("frontier") / "rows.jsonl"
    file.write_text("\n".join(lines))
    return file


def test_the_dominated_system_is_named(rows):
    found = CliRunner().invoke(app, ["frontier", str(rows), "--format", "json", "-q"])
    assert found.exit_code == 0, found.output
    systems = {row["name"]: row for row in json.loads(found.stdout)["rows"]}
    assert systems["cheap"]["on_frontier"]
    assert systems["dear"]["on_frontier"]
    assert not systems["waste"]["on_frontier"]
    assert set(systems["waste"]["dominated_by"]) == {"dear"} | ({"cheap"} & set(systems["waste"]["dominated_by"]))


def test_models_can_be_named_with_commas(rows):
    found = CliRunner().invoke(app, ["frontier", str(rows), "--models", "cheap,dear"])
    assert found.exit_code == 0
    assert "waste" not in found.stdout
    assert max(len(line) for line in found.stdout.splitlines()) <= 80


def test_a_cost_of_ones_own_is_told_how_it_is_mapped(rows):
    refused = CliRunner().invoke(app, ["frontier", str(rows), "--cost", "price"])
    assert "--map cost_usd=price" in str(refused.exception)
