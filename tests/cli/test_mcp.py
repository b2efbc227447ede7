"""The questions as tools of an agent, about one folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalstats.cli import mcp
from evalstats.questions import QUESTIONS, signature_of

pytest.importorskip("mcp", reason="needs the extra mcp")

import anyio
from mcp import Client

from evalstats.cli.mcp import arguments_of, inside, server_of
from evalstats.errors import InputError
from evalstats.options import offered
from tests.typed import typed

CLOSED = "the server answers on standard input and output, and {} closed; let the agent's client start it"


@pytest.fixture
def results(tmp_path) -> Path:
    """A folder of results, with a secret beside it."""
    folder = tmp_path / "results"
    (folder / "old").mkdir(parents=True)
    for name, share in (("old/rows.jsonl", 3), ("new.jsonl", 9)):
        model = Path(name).parts[0].removesuffix(".jsonl")
        rows = [
            {"item": f"q{i}", "model": model, "score": int(i % share > 0), "lang": "de" if i % 2 else "en"}
            for i in range(60)
        ]
        (folder / name).write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "rows.jsonl").write_text((folder / "new.jsonl").read_text().replace('"new"', '"secret"'))
    return folder


def asked(folder: Path, *calls: tuple[str, dict[str, Any]]) -> list[tuple[bool, str]]:
    """What the server of a folder says, each with whether it is an error."""

    async def main() -> list[tuple[bool, str]]:
        async with Client(server_of(folder)) as client:
            answers = [await client.call_tool(*call) for call in calls]
        return [(bool(each.is_error), each.content[0].text) for each in answers]

    return anyio.run(main)


def test_the_tools_are_the_questions_with_their_options(results):
    async def main():
        async with Client(server_of(results)) as client:
            return (await client.list_tools()).tools

    tools = anyio.run(main)
    assert [tool.name for tool in tools] == list(QUESTIONS)
    for tool in tools:
        assert tool.annotations.read_only_hint
        properties = tool.input_schema["properties"]
        for option in offered(signature_of(tool.name)):
            assert properties[option.name.strip("_")]["description"] == option.flag.help
        assert not {"store", "engine", "near_names", "output", "report", "junit"} & {*properties}
        assert tool.input_schema["additionalProperties"] is False
    assert sum(len(tool.model_dump_json(exclude_none=True)) for tool in tools) < 40_000


def test_an_agent_gets_a_brief_answer(results):
    ((failed, text),) = asked(
        results, ("compare", {"targets": ["old", "new.jsonl"], "by": "lang", "margin": "2pp", "cluster": None})
    )
    assert not failed
    assert json.loads(text)["verdict"] == "better"
    assert len(text) < 2_500


def test_what_to_ask_next_keeps_the_sides_that_were_named(results):
    targets = {"targets": ["new.jsonl", "old"], "baseline": "old", "candidate": "new"}
    ((_, text),) = asked(results, ("compare", targets))
    (command,) = json.loads(text)["next"]
    assert command.startswith("evalstats compare new.jsonl old --")
    assert "--baseline old --candidate new" in command


def test_a_plan_of_the_folder_holds(results):
    (results / "evalstats.toml").write_text("[plan]\nconf_level = 0.9\n")
    ((_, text),) = asked(results, ("compare", {"targets": ["old", "new.jsonl"]}))
    assert "90% CI" in text or '"level": 0.9' in text


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("rank", {}, "there is no tool 'rank'; there are compare, leaderboard"),
        ("compare", {"target": ["old"]}, "target: Extra inputs are not permitted. compare takes "),
        ("compare", {"targets": "old"}, "targets: Input should be a valid list"),
        ("compare", {"targets": ["old", "typo.jsonl"]}, "typo.jsonl: there is no such file in this folder; it holds new"),
        ("compare", {}, "name two files or folders"),
        ("compare", {"targets": ["old", "new.jsonl"], "metric": "speed"}, "speed"),
        ("score", {"paths": ["new.jsonl"], "conf_level": 95}, "--conf-level 95 is no level"),
        ("score", {"paths": ["new.jsonl"], "map": ["columns.toml"]}, "columns.toml: there is no such file"),
        ("contamination", {"paths": ["new.jsonl"]}, ""),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_what_to_do_and_the_server_goes_on(results, tool, arguments, told):
    (failed, text), (later, _) = asked(results, (tool, arguments), ("score", {"paths": ["new.jsonl"]}))
    assert (failed, later) == (True, False)
    assert told in text
    assert "a fault of evalstats" not in text


def hostile(folder: Path) -> list[str]:
    """Ways out of the folder, by text and by link."""
    secret = folder.parent / "secret"
    (folder / "file").symlink_to(secret / "rows.jsonl")
    (folder / "deep").mkdir()
    (folder / "deep" / "link").symlink_to(secret)
    (folder / "twice").symlink_to(folder / "deep")
    (folder / "loop").symlink_to(folder / "loop")
    return [
        "../secret/rows.jsonl", str(secret / "rows.jsonl"), "..", "old/../../secret", "file", "deep", "twice", "loop",
        ".", "deep/link/rows.jsonl", "/etc/passwd", "/proc/self/environ", "~/.bashrc", "a\0b", "", "x" * 5_000, "../results-2",
    ]  # fmt: skip


def test_no_path_leaves_the_folder(results):
    (results.parent / "results-2").mkdir()
    ways = hostile(results)
    for way in ways:
        with pytest.raises(InputError, match=r"there is no such file in this folder|leads out of the folder"):
            inside(results, way)
    for failed, text in asked(results, *(("score", {"paths": [way]}) for way in ways)):
        assert failed
        assert "there is no such file in this folder" in text or "leads out of the folder" in text


def test_no_option_takes_a_path_out_of_the_folder(results):
    hostile(results)
    calls: list[tuple[str, dict[str, Any]]] = []
    for name in QUESTIONS:
        schema = arguments_of(name).model_json_schema()
        needed = dict.fromkeys(schema.get("required", ()), "x")
        for option, each in schema["properties"].items():
            kinds = (each.get("format"), each.get("items", {}).get("format"))
            if option in ("map", "mix", "targets") or "path" in kinds:
                ways = ("../secret/rows.jsonl", "file")
                calls += [(name, {**needed, option: [way] if each["type"] == "array" else way}) for way in ways]
    assert len({option for _, given in calls for option in given}) >= 10
    for call, (failed, text) in zip(calls, asked(results, *calls), strict=True):
        assert failed, call
        assert "there is no such file in this folder" in text, (call, text)


def test_a_plan_and_a_key_that_are_links_are_not_followed(results):
    secret = results.parent / "secret"
    (secret / "plan.toml").write_text("[plan]\nconf_level = 0.9\n")
    (results / "evalstats.toml").symlink_to(secret / "plan.toml")
    (results / "sheet.csv").write_text("item,label\nq1,1\n")
    from evalstats.exporters.label_sheet import key_path

    key_path(results / "sheet.csv").symlink_to(secret / "rows.jsonl")
    told = asked(
        results,
        ("compare", {"targets": ["old", "new.jsonl"]}),
        ("score", {"paths": ["new.jsonl"], "labels": "sheet.csv"}),
    )
    assert all(failed and "there is no such file in this folder" in text for failed, text in told)


def test_where_the_folder_lies_is_not_told(results):
    (results / "broken.jsonl").write_text('{"item": 1\n')
    (results / "twice").mkdir()
    (results / "twice" / "readme.txt").write_text("nothing")
    told = asked(
        results,
        ("score", {"paths": ["broken.jsonl"]}),
        ("score", {"paths": ["twice"]}),
        ("score", {"paths": ["."]}),
        ("compare", {"targets": ["old", "broken.jsonl"]}),
        ("score", {"paths": ["new.jsonl"], "item": "nowhere"}),
    )
    assert sum(failed for failed, _ in told) >= 3
    assert "broken.jsonl" in told[0][1]
    for _, text in told:
        assert str(results.parent) not in text


def test_links_within_the_folder_are_followed(results):
    (results / "latest").symlink_to(results / "old")
    assert inside(results, "latest") == results / "old"
    assert not asked(results, ("compare", {"targets": ["latest", "new.jsonl"]}))[0][0]


def test_nothing_in_the_folder_changes(results):
    before = {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in results.rglob("*")}
    asked(results, *((name, {"paths": ["."]}) for name in ("overview", "audit", "leaderboard", "scenarios")))
    assert {path: (path.stat().st_mtime_ns, path.stat().st_size) for path in results.rglob("*")} == before


def test_the_command_speaks_over_its_pipes(results):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "score", "arguments": {"paths": ["new.jsonl"]}},
        },
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "evalstats", "mcp", str(results)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdin
    assert process.stdout
    process.stdin.write("".join(f"{json.dumps(line)}\n" for line in lines))
    process.stdin.flush()
    first, second = (json.loads(process.stdout.readline()) for _ in range(2))
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()
    assert "new.jsonl, old" in first["result"]["instructions"]
    assert "88.3%" in second["result"]["content"][0]["text"]


def test_a_folder_that_is_none_is_refused(tmp_path):
    done = typed("mcp", tmp_path / "no")
    assert done.returncode == 2
    assert "is no folder; name the one whose results may be read" in " ".join(done.stderr.split())


def test_streams_that_are_closed_or_full_are_told(results):
    def ends(how: str) -> tuple[int, str]:
        command = f'exec "{sys.executable}" -m evalstats mcp "{results}" {how}'
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
        done = subprocess.run(["sh", "-c", command], input=f"{line}\n", capture_output=True, text=True, check=False)
        return done.returncode, " ".join(done.stderr.split())

    assert ends(">&-") == (2, f"error: {CLOSED.format('stdout is')}")
    if Path("/dev/full").exists():
        assert ends(">/dev/full") == (2, "error: output: No space left on device")


def test_whoever_stops_the_server_stops_it(monkeypatch, tmp_path):
    def stopped(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(mcp, "_answer", stopped)
    with pytest.raises(KeyboardInterrupt):
        mcp._told(tmp_path, "score", {})
