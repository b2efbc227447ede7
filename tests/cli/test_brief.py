"""`--format brief` and `--format comment`: what a machine and a pull request read, and the commands that lead on."""

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator

import evalstats as es
from evalstats.analysis.brief import MOST_BYTES
from evalstats.analysis.schemas import brief_schema, result_schema
from evalstats.cli.options import OutputStyle
from evalstats.cli.output import json_text
from evalstats.document.comment import marker, to_comment
from evalstats.document.model import Column, Document, Note, Table
from evalstats.simulate.benchmark_files import write_tenacious_traces
from evalstats.testing import assert_not_worse
from tests.cli.running import run


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tenacious_traces(tmp_path_factory.mktemp("traces"))


def brief(*words: object) -> tuple[dict[str, Any], int]:
    done = run(*words, "--format", "brief")
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout), done.exit_code


def test_every_command_that_it_names_leads_on(traces: Path) -> None:
    first, _ = brief("compare", traces, "--baseline", "baseline", "--candidate", "trained")
    assert (first["verdict"], first["estimate"], first["unit"]) == ("inconclusive", 48.84, "pp")
    assert first["cautions"][0] == {
        "what": "dependence",
        "found": "Items of one dimension behave alike (design effect 6.7)",
        "do": "If these 7 dimensions are all you ask about, add --cluster none",
    }
    advised, gate = (shlex.split(command)[1:] for command in first["next"])
    assert advised[-4:] == ["--cluster", "none", "--format", "brief"]
    # The command of a file elsewhere names its last part alone; here it is where it was.
    place = {traces.name: str(traces)}
    second = json.loads(run(*(place.get(word, word) for word in advised)).stdout)
    assert second["verdict"] == "better"
    done = run(*(place.get(word, word) for word in gate))
    third = json.loads(done.stdout)
    assert done.exit_code == third["gate"]["exit_status"] == 0
    assert third["gate"]["passed"] is True
    assert not any("--fail-on" in command and command in first["next"] for command in third["next"])


@pytest.mark.parametrize(
    ("asked", "models"),
    [("function", "old new"), ("names", "old new"), ("assertion", "old new"), ("assertion", "o3 o3")],
)
def test_the_next_command_keeps_the_sides(tmp_path: Path, monkeypatch: Any, asked: str, models: str) -> None:
    monkeypatch.chdir(tmp_path)
    for name, share, model in zip(("old", "new"), (2, 5), models.split(), strict=True):
        rows = [{"item": f"q{i}", "model": model, "score": int(i % share > 0)} for i in range(60)]
        Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if asked == "assertion":  # whose first file is the baseline, whatever order the alphabet has
        found = assert_not_worse(["old.jsonl", "new.jsonl"]).brief()
    elif asked == "function":
        found = es.compare(es.read("new.jsonl", "old.jsonl"), "old", "new").brief()
    else:
        found, _ = brief("compare", "new.jsonl", "old.jsonl", "--baseline", "old", "--candidate", "new")
    assert found["estimate"] == 30
    (command,) = found["next"]
    assert json.loads(run(*shlex.split(command)[1:]).stdout)["estimate"] == 30


def test_a_gate_that_fails_says_why_once(traces: Path) -> None:
    found, status = brief(
        *("compare", traces, "--baseline", "baseline", "--candidate", "trained"),
        *("--margin", "2pp", "--fail-on", "not-noninferior"),
    )
    assert status == 1
    assert found["gate"]["passed"] is False
    assert "within 2 pp" in found["gate"]["reason"]
    assert "gate" not in [caution["what"] for caution in found["cautions"]]


@pytest.mark.parametrize("letter", ["模", '"', "##[", "\u202e"])
def test_names_of_any_length_leave_it_short(letter: str) -> None:
    draw = np.random.default_rng(0)
    names = [letter * 900 + end for end in ("a", "b")]
    rows = [
        {
            "item": f"{letter * 500}{i}",
            "model": name,
            "score": int(draw.random() < share),
            letter * 40: f"{letter * 300}{i % 6}",
        }
        for name, share in zip(names, (0.4, 0.6), strict=True)
        for i in range(60)
    ]
    data = es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score", benchmark="@" + letter * 700)
    for result in (es.compare(data, *names), es.leaderboard(data), es.score(data), es.audit(data)):
        text = json_text(result.brief(), indent=None)
        assert len(text.encode()) <= MOST_BYTES
        told = json.loads(text)
        assert "…" in told["asked"]
        assert told["headline"]
        comment = to_comment(result.document())
        assert len(comment.split()) < 400
        assert len(comment.encode()) < 65_536


def test_several_metrics_are_one_list(tmp_path: Path) -> None:
    draw = np.random.default_rng(1)
    rows = [
        {"item": i, "model": name, "right": int(draw.random() < share), "seconds": float(draw.gamma(3))}
        for name, share in (("old", 0.4), ("new", 0.7))
        for i in range(80)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "table.csv")
    told, _ = brief(
        *("compare", tmp_path / "table.csv", "--map", "item=item", "--map", "score=right,seconds:lower"),
        *("--metric", "right,seconds", "--baseline", "old", "--candidate", "new"),
    )
    assert [(each["metric"], each["verdict"]) for each in told["answers"]] == [
        ("right", "better"),
        ("seconds", "inconclusive"),
    ]
    assert "table" not in told


def test_what_does_not_fit_is_counted() -> None:
    draw = np.random.default_rng(2)
    rows = [
        {"item": i, "model": f"model-{k:02d}", "score": int(draw.random() < 0.3 + 0.02 * k)}
        for k in range(20)
        for i in range(60)
    ]
    told = es.leaderboard(es.from_frame(pl.DataFrame(rows), item="item", model="model", score="score")).brief()
    assert len(told["table"]["rows"]) + told["dropped"]["table"] == 20


@pytest.mark.parametrize("form", ["brief", "result"])
def test_schemas_are_printed(form: str) -> None:
    """That each is a schema is checked where every result is held against it."""
    schema = json.loads(run("schema", form).stdout)
    assert schema == json.loads(json_text({"brief": brief_schema, "result": result_schema}[form]()))
    refused = {"brief": 2, "question": "compare"} if form == "brief" else {"result": "Comparison"}
    assert not Draft202012Validator(schema).is_valid(refused)


# --- comments ---


def document(**more: Any) -> Document:
    return Document(kind="compare", title="?", label="better", tone="good", headline="B is better than A", **more)


def test_a_comment_has_the_gate_and_what_could_undo_the_answer() -> None:
    notes = (
        Note(kind="gate", text="Gate failed: non-inferiority within 2 pp is not established"),
        Note(kind="missing", text="5 items are missing", remedy="Recover them"),
    )
    lines = to_comment(document(number="+2.0 pp", number_words="95% CI −3.0 to 7.0", notes=notes)).split("\n\n")
    assert lines == [
        "<!-- evalstats: compare -->",
        "**Better.** B is better than A.",
        "+2.0 pp, 95% CI −3.0 to 7.0.",
        "**Gate failed: non-inferiority within 2 pp is not established.**",
        "- 5 items are missing. Recover them.",
    ]


def test_cautions_beyond_the_words_are_folded_and_none_is_lost() -> None:
    notes = tuple(Note(kind="few", text=f"Caution {k} {'is long ' * 12}") for k in range(6))
    shown, _, folded = to_comment(document(notes=notes)).partition("<details>")
    assert 0 < shown.count("- Caution") < 6
    assert shown.count("- Caution") + folded.count("- Caution") == 6


def test_long_texts_are_folded_before_the_verdict_and_its_gates() -> None:
    long = "and so it goes on " * 12
    notes = (
        *(Note(kind="simulated", text=f"Banner {k} {long}") for k in range(2)),
        *(Note(kind="gate", text=f"Gate {k} {long}") for k in range(3)),
    )
    given = replace(
        document(number="+2.0 pp", number_words="95% CI −3.0 to 7.0", notes=notes), headline=f"B wins {long}"
    )
    shown, _, folded = to_comment(given).partition("<details>")
    assert len(shown.partition("-->")[2].split()) <= 120
    assert "**Better.** B wins" in shown
    assert "Gate 0" in shown
    assert "+2.0 pp" in shown
    for text in ("Banner 0", "Banner 1", "Gate 1", "Gate 2"):
        assert (text in shown) + (text in folded) == 1


def test_worst_items_have_their_links_and_no_other_address_is_one() -> None:
    table = Table(
        id="worst",
        columns=(Column(title="Got worse", kind="name"), Column(title="Transcript of @b", kind="link")),
        rows=(
            ("https://evil.example @all", "https://logs.example/a?b=1"),
            ("<img src=x> #12", "javascript:alert(1)"),
            ("a|b\n\n# x", 'https://x.example/">'),
        ),
    )
    comment = to_comment(document(worst=table))
    assert "[open](<https://logs.example/a?b=1>)" in comment
    assert comment.count("](<") == 1
    assert "https\\://evil" in comment
    assert "@all" not in comment
    assert "#12" not in comment
    assert "\n# x" not in comment


@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("CI / nightly", "<!-- evalstats: CI / nightly -->"),
        ("--><script>", "<!-- evalstats: script -->"),
        ("a--b\nc", "<!-- evalstats: abc -->"),
        ("é", "<!-- evalstats:  -->"),
    ],
)
def test_a_key_cannot_end_its_marker(key: str, line: str) -> None:
    assert marker(key) == line


def test_a_comment_has_its_key_and_its_gate(traces: Path) -> None:
    words = ("compare", traces, "--baseline", "baseline", "--candidate", "trained", "--fail-on", "worse")
    comment = run(*words, "--format", OutputStyle.COMMENT, "--comment-key", "held out").stdout
    assert comment.startswith("<!-- evalstats: held out -->\n\n**Inconclusive.** ")
    assert "**Gate passed: " in comment
    assert "--fail-on worse" in comment.partition("<details>")[2]
