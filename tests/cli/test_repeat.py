"""The command and the Python that a result shows give the same result again, whatever was asked and whatever names hold."""

import ast
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evalstats as es
from evalstats.analysis.saved import result_of
from evalstats.analysis.settings import Settings, from_here, python_code, shell_command, with_repeat
from evalstats.document.formats import to_markdown
from evalstats.document.model import Document
from evalstats.document.terminal import to_text
from tests.typed import typed

MODELS = ("base", "new model", "it's; $(touch hit) `x`", "::error::a  b##[c]\t{{< d >}}é\u202e")
SIDES = ("--baseline", MODELS[0], "--candidate", MODELS[3])


def scores(setting: str = "lab", seed: int = 0) -> pl.DataFrame:
    """Four models, one with a name that every shell and page would trip over, on 60 items of 12 passages."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(size=60)
    rows = [
        {
            "item": f"q{i}",
            "model": model,
            "score": int(ease[i] + 0.5 * place + rng.logistic() > 0),
            "other": float(round(rng.random(), 3)),
            "scenario": ("ideal", "hasty, rude", "=odd")[i % 3],
            "passage": f"p{i // 5}",
            "split": "old" if i % 2 else "new",
            "cost_usd": float(0.01 * (place + 1) * np.exp(rng.normal(0, 0.2))),
            "setting": setting,
            "user": f"u{i % 20}",
        }
        for place, model in enumerate(MODELS)
        for i in range(60)
    ]
    return pl.DataFrame(rows)


def votes() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    pairs = [rng.choice(4, 2, replace=False) for _ in range(300)]
    return pl.DataFrame(
        {
            "model_a": [MODELS[a] for a, _ in pairs],
            "model_b": [MODELS[b] for _, b in pairs],
            "winner": [("a", "b", "tie")[rng.choice(3)] for _ in pairs],
            "rater": [f"r{k % 30}" for k in range(300)],
            "language": [("en", "de")[k % 2] for k in range(300)],
        }
    )


def ratings() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    truth = rng.choice(5, 120) + 1
    off = {"ann": 0, "bob": rng.choice([-1, 0, 0, 1], 120), "gpt": rng.choice([-1, 0, 1], 120)}
    return pl.DataFrame(
        {"item": [f"q{i}" for i in range(120)], **{k: np.clip(truth + v, 1, 5) for k, v in off.items()}}
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in a folder whose name is nobody's business."""
    found = tmp_path_factory.mktemp("home") / "alice smith"
    found.mkdir()
    rng = np.random.default_rng(4)
    table = scores()
    table.write_csv(found / "results -1.csv")
    for place, name in ((0, "one.csv"), (3, "two.csv")):
        table.filter(pl.col("model") == MODELS[place]).write_csv(found / name)
        table.filter(pl.col("model") == MODELS[place]).drop("model").write_csv(found / f"nameless {name}")
    scores("live", 5).write_csv(found / "live.csv")
    votes().write_csv(found / "votes.csv")
    ratings().write_csv(found / "ratings.csv")
    (found / "weights.csv").write_text('level,share\nideal,0.5\n"hasty, rude",0.3\n=odd,0.2\n')
    (found / "plan.toml").write_text('[plan]\nclusters = ["passage"]\n')
    (found / "aliases.toml").write_text('[aliases]\n"base" = "new model"\n')
    own = [(m, s, i, int(rng.random() < 0.6)) for i in range(20) for m in ("x", "y") for s in ("react", "plan")]
    pl.DataFrame(own, ["model", "scaffold", "item", "success"], orient="row").write_csv(found / "scaffolds.csv")
    pl.DataFrame({"item": range(30), **{k: rng.choice(2, 30) for k in ("b0", "b1", "ours")}}).write_csv(
        found / "wide.csv"
    )
    typed("ingest", found / "results -1.csv", "--store", found / "store", *MAP)
    return found


MAP = ("--map", "score=score")
TABLE = ("results -1.csv", *MAP)
JUDGES = (
    *("ratings.csv", "--map", "item=item", "--raters", "ann", "--raters", "bob", "--raters", "gpt"),
    *("--humans", "ann", "--humans", "bob"),
)
ASKED: Mapping[str, Sequence[str]] = {
    "compare": ("compare", *TABLE, *SIDES),
    "compare clusters": ("compare", *TABLE, *SIDES, "--cluster", "passage", "--margin", "-0.02"[1:], "--seed", "3"),
    "compare none": (
        *("compare", *TABLE, *SIDES, "--cluster", "none", "--conf-level", "0.9", "--method", "t"),
        *("--where", "split=old", "--where", "scenario==odd"),
    ),
    "compare by": ("compare", *TABLE, *SIDES, "--by", "scenario", "--accept", "temperature"),
    "compare weights": ("compare", *TABLE, *SIDES, "--weights", "weights.csv", "--average-over", "scenario"),
    "compare plan": ("compare", *TABLE, *SIDES, "--plan", "plan.toml"),
    "compare files": ("compare", "one.csv", "two.csv", *MAP, "--lower-is-better"),
    "compare nameless": ("compare", "nameless one.csv", "nameless two.csv", *MAP),
    "compare store": ("compare", MODELS[0], MODELS[1], "--store", "store"),
    "compare a store": ("compare", "store", *SIDES),
    "compare gate": ("compare", *TABLE, *SIDES, "--fail-on", "worse"),
    "score": ("score", *TABLE),
    "score one": ("score", *TABLE, "--system", MODELS[3], "--against", "50%", "--against-n", "100"),
    "leaderboard": ("leaderboard", *TABLE),
    "leaderboard options": (
        *("leaderboard", *TABLE, "--adjust", "holm", "--models", f"{MODELS[0]},{MODELS[1]}", "--top", "1,2"),
        *("--baseline", MODELS[0], "--higher-is-better", "--average", "macro", "--missing", "ignorable"),
    ),
    "scenarios": (
        *("scenarios", *TABLE, "--bootstrap", "0", "--weights", "ideal=1,=odd=2", "--weights", "hasty, rude=1"),
        *("--as", "fixed", "--reference", "ideal", "--seed", "2"),
    ),
    "arena": ("arena", "votes.csv", "--map", "rater=rater", "--top", "1", "--no-checks", "--anchor", MODELS[2]),
    "arena where": ("arena", "votes.csv", "--where", "language=en", "--cluster", "none", "--no-checks"),
    "gap": ("gap", "--lab", "results -1.csv", "--live", "live.csv", *MAP, "--resamples", "200", "--margin", "9pp"),
    "gap aliases": (
        *("gap", "--lab", "results -1.csv", "--live", "live.csv", *MAP, "--resamples", "200", "--top", "3"),
        *("--lab-where", "split=old", "--cluster", "none", "--min-cell", "3"),
    ),
    "judges": ("judges", *JUDGES, "--resamples", "200", "--family", "gpt=OpenAI", "--scale", "ordinal"),
    "power": ("power", "--delta", "3pp", "--discordance", "0.3", "--trials", "2,3", "--variance", "item=0.2")[:5],
    "power trials": (
        "power",
        "--delta",
        "0.05",
        "--variance",
        "item=0.1",
        "--variance",
        "trial=0.2",
        "--trials",
        "3,5",
    ),
    "power pilot": (
        *("power", "--from", "results -1.csv", *MAP, *SIDES, "--delta", "5pp", "--items", "300"),
        *("--cost", "item=2", "--cost", "trial=0.5"),
    ),
    "contamination": ("contamination", *TABLE, "--split", "split", "--old", "old", "--suspect", MODELS[3]),
    "audit": ("audit", *TABLE, "--models", f"{MODELS[0]},{MODELS[1]}", "--all-metrics"),
    "frontier": ("frontier", *TABLE, "--resamples", "200", "--conf-level", "0.9"),
    "reliability facet": ("reliability", "scaffolds.csv", "--facet", "scaffold"),
    "compare wide": ("compare", "wide.csv", "--baseline", "b0", "--candidate", "ours"),
    "overview": ("overview", *TABLE, "--seed", "1"),
}


def words(command: str) -> list[str]:
    """Return a command's words as a shell reads them; nothing of them is run."""
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@cache
def asked_as_json(name: str, folder: Path) -> str:
    paths = [str(folder / each) if (folder / each).exists() else each for each in ASKED[name]]
    done = typed(*paths, "--format", "json", "--quiet")
    assert done.stdout, done.stderr
    return done.stdout.replace(f"{folder}/", "")


def asked(name: str, folder: Path) -> dict[str, Any]:
    """Run a command with its files named by their whole paths, and return its JSON."""
    return json.loads(asked_as_json(name, folder))


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in {"score", "leaderboard"} else name for name in ASKED]
)
def test_the_command_gives_the_same_result(name: str, folder: Path, tmp_path: Path) -> None:
    first = asked(name, folder)
    (tmp_path / "first.json").write_text(json.dumps(first))
    result = es.load_result(tmp_path / "first.json")
    command = shell_command(result.settings)
    assert command.startswith(f"evalstats {ASKED[name][0]}")
    assert "alice" not in json.dumps(first.get("origin", first)["settings"])
    here = shutil.copytree(folder, tmp_path / "elsewhere")
    with chdir(here):
        done = typed(*words(command)[1:], "--format", "json", "--quiet")
        assert done.stdout, done.stderr
        assert json.loads(done.stdout) == first
        assert not (here / "hit").exists()


@pytest.mark.parametrize(
    "name", ["compare", "compare files", "compare nameless", "compare store", "gap", "power pilot"]
)
def test_the_command_works_where_it_was_typed(name: str, folder: Path) -> None:
    """From the folder above, as the files were named there."""
    below = [f"{folder.name}/{each}" if (folder / each).exists() else each for each in ASKED[name]]
    with chdir(folder.parent):
        first = typed(*below, "--format", "json", "--quiet").stdout
        again = words(shell_command(result_of(json.loads(first), name).settings))
        assert typed(*again[1:], "--format", "json", "--quiet").stdout == first


def test_a_path_is_noted_from_the_working_folder_and_no_folder_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert from_here([tmp_path / "runs" / "a.csv", "runs/a.csv", "../b.csv"]) == (
        "runs/a.csv",
        "runs/a.csv",
        "../b.csv",
    )
    assert from_here(["/home/alice/a.csv", "s3://alice:secret@bucket/b"]) == ("a.csv", "b")
    assert from_here(["../../alice/secret/a.csv", "~/x.csv"]) == ("a.csv", "x.csv")
    assert from_here(["a.csv", "/home/alice/a.csv"]) == ("a.csv", "alice/a.csv")


# Names of files that stand for both sides, and votes that are left out, are for the shell alone.
IN_PYTHON = [name for name in ASKED if name not in ("compare nameless", "arena where")]
# One of each question; the others where there is time.
QUICK = {
    "compare clusters",
    "score one",
    "leaderboard options",
    "arena",
    "judges",
    "power trials",
    "contamination",
    "audit",
    "reliability facet",
    "compare wide",
}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in IN_PYTHON]
)
def test_the_python_gives_the_same_numbers(name: str, folder: Path, tmp_path: Path) -> None:
    first = asked(name, folder)
    (tmp_path / "first.json").write_text(json.dumps(first))
    told = es.load_result(tmp_path / "first.json").settings
    made: dict[str, Any] = {}
    with chdir(folder):
        exec(python_code(told), made)  # what the page shows  # noqa: S102
    found = made["result"]
    same = [each.to_dict() for each in found] if isinstance(found, tuple) else found.to_dict()
    second = json.loads(json.dumps(same))
    expected = first["rows"] if isinstance(second, list) else first
    for tree in (second, expected):
        without(tree)
    assert second == expected


def test_a_table_in_memory_has_no_command() -> None:
    found = es.audit(es.from_frame(scores(), item="item", model="model", score="score"))
    assert shell_command(found.settings) == ""
    assert "# data: the table that was given" in python_code(found.settings)


def test_a_call_in_python_names_its_files_and_says_what_it_cannot_know(folder: Path) -> None:
    data = es.read(folder / "results -1.csv", column_map=es.ColumnMap.from_options(MAP[1:])).where(split="old")
    found = es.leaderboard(data, cluster="none", models=[MODELS[0], MODELS[1]])
    text = to_text(found.document(), full=True)
    assert "add --where" in text
    assert "evalstats leaderboard 'results -1.csv' --cluster none --models base --models 'new model'" in text
    assert "and filtered, if it was" in text
    assert str(folder) not in text


def test_a_call_in_python_reads_the_columns_that_it_names(folder: Path) -> None:
    """Without them one item of a model stands in two rows, and is refused."""
    with chdir(folder):
        data = es.read("scaffolds.csv", factors=["scaffold"])
        found, made = es.reliability(data, facets=["scaffold", "item"]), dict[str, Any]()
        exec(python_code(found.settings), made)  # noqa: S102
    assert made["result"].facets == found.facets


def test_an_argument_that_no_option_has_leaves_the_command_out() -> None:
    told = Settings(question="score", options={"weights": {"a": 1.0}}, files={"data": ("x.csv",)})
    assert shell_command(told) == ""
    assert "weights={'a': 1.0}" in python_code(told)


@given(st.text(st.characters(blacklist_categories=("Cs",), blacklist_characters="\0"), min_size=1))
@settings(max_examples=30, deadline=None)
def test_any_name_is_one_word_for_a_shell_and_one_string_for_python(name: str) -> None:
    told = Settings(question="score", options={"name": name}, files={"data": (name,)})
    command, code = shell_command(told), python_code(told)
    read_back = words(command)
    assert {name, f"--system={name}"} & set(read_back)
    assert read_back.count(name) in (1, 2)
    found = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert found == [name, name]
    # Every view shows it as it is.
    document = with_repeat(Document(kind="score", title="", label="", tone="neutral", headline=""), told)
    for shown in (to_text(document, full=True), to_markdown(document)):
        assert all(line.strip() in shown for line in command.splitlines())


def without(tree: Any) -> None:
    """Leave out how a result was asked for: on the shell or in Python, and the gate that only a command has."""
    for branch in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        without(branch)
    if isinstance(tree, dict):
        for name in ("settings", "gate", "result"):
            tree.pop(name, None)
        if "notes" in tree:
            tree["notes"] = [
                note for note in tree["notes"] if not (isinstance(note, dict) and note.get("kind") == "gate")
            ]
