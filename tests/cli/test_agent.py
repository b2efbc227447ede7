"""From raw files of an unknown layout to a gate in five steps, by what commands say and nothing else (`AGENTS.md`)."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from evalstats.cli.main import app
from evalstats.errors import EvalStatsError
from tests.loaders.trees import offered


class Agent:
    """Runs commands and reads what they say: JSON, or an error."""

    def __init__(self) -> None:
        self.steps: list[str] = []

    def run(self, words: list[str]) -> tuple[dict[str, Any], str, int]:
        self.steps.append(shlex.join(["evalstats", *words]))
        done = CliRunner().invoke(app, words)
        if isinstance(done.exception, EvalStatsError):
            return {}, str(done.exception), done.exception.exit_status
        return json.loads(done.stdout), "", done.exit_code


def raw_file(folder: Path) -> None:
    """Write results as some script dumped them: rows somewhere inside, columns of other names, three systems."""
    draw = np.random.default_rng(5)
    gain = {"prompt-v1": np.zeros(10), "prompt-v2": draw.normal(0.9, 1.4, 10), "draft": np.full(10, -1.0)}
    rows = [
        {
            "qkey": f"Q{i:03d}",
            "agent": name,
            "is_ok": bool(draw.normal() + own[i // 8] > 0),
            "document": f"doc-{i // 8}",
            "secs": round(float(draw.gamma(3)), 2),
        }
        for name, own in gain.items()
        for i in range(80)
    ]
    (folder / "dump.json").write_text(json.dumps({"meta": {"host": "a"}, "payload": {"rows": rows}}), encoding="utf-8")


def test_five_steps_from_raw_files_to_a_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    agent = Agent()

    ask = ["compare", "dump.json", "--format", "brief"]
    _, error, status = agent.run(ask)
    assert status == 2
    ask += shlex.split(offered(error)[0])

    _, error, status = agent.run(ask)
    assert status == 2
    systems = re.findall(r"prompt-v\d|draft", error)
    assert {"prompt-v1", "prompt-v2", "draft"} <= set(systems)
    ask += ["--baseline", "prompt-v1", "--candidate", "prompt-v2"]

    brief, _, status = agent.run(ask)
    assert status == 0
    assert brief["n"]["items"] == 80
    advised = [caution for caution in brief["cautions"] if caution.get("do")]
    assert advised

    # What the caution says is the agent's to judge: here the ten documents are all that is asked about.
    brief, _, status = agent.run(shlex.split(brief["next"][0])[1:])
    assert status == 0
    assert brief["verdict"] == "better"

    (gate,) = [command for command in brief["next"] if "--fail-on" in command]
    brief, _, status = agent.run(shlex.split(gate)[1:])
    assert (status, brief["gate"]["passed"]) == (0, True)
    assert len(agent.steps) == 5
    assert agent.steps[-1] == (
        "evalstats compare dump.json --map rows=payload.rows --map item=qkey --map score=is_ok --map model=agent "
        "--fail-on worse --baseline prompt-v1 --candidate prompt-v2 --cluster none --format brief"
    )
