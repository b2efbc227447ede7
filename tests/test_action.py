"""The action's script, run as GitHub runs it, beside a `gh` that keeps comments in a file."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from evalstats.simulate.benchmark_files import write_tenacious_traces

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / ".github" / "action" / "compare.sh"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
JQ = shutil.which("jq")
pytestmark = [
    pytest.mark.skipif(shutil.which("bash") is None or sys.platform == "win32", reason="the script is for bash"),
    pytest.mark.skipif(JQ is None, reason="gh filters by jq, which is not here"),
]
# Answers the paths of `gh api` that the script asks for, and notes each call.
GH = f"""#!{sys.executable} -IS
import json, os, subprocess, sys
from pathlib import Path
words, store = sys.argv[1:], Path(os.environ["COMMENTS"])
comments = json.loads(store.read_text())
option = lambda name: words[words.index(name) + 1] if name in words else None
method, (path,) = option("--method") or "GET", [word for word in words if word.startswith("repos/")]
with open(store.with_suffix(".calls"), "a") as calls:
    print(method, path, file=calls)
if method in os.environ.get("DENIED", "").split():
    print("gh: Resource not accessible by integration (HTTP 403)", file=sys.stderr)
    sys.exit(1)
if method == "GET":
    sys.exit(subprocess.run(["{JQ}", "-r", option("--jq")], input=json.dumps(comments), text=True).returncode)
body = Path(option("-F").removeprefix("body=@")).read_text()
if method == "POST":
    comments.append({{"id": 100 + len(comments), "body": body, "user": {{"type": "Bot"}}, "author_association": "NONE"}})
else:
    (found,) = [each for each in comments if str(each["id"]) == path.rpartition("/")[2]]
    found["body"] = body
store.write_text(json.dumps(comments))
"""
# In the stead of evalstats where only the words matter that it is given.
STUB = f"""#!{sys.executable} -IS
import json, os, sys
with open(os.environ["ASKED"], "a") as asked:
    print(json.dumps(sys.argv[1:]), file=asked)
if sys.argv[1] == "compare" and not os.environ.get("REFUSES"):
    open(os.environ["OUT"] + "/result.json", "w").write("saved")
if sys.argv[1] == "show":
    form, *more = sys.argv[2:]
    brief = {{"verdict": os.environ.get("VERDICT", "better"), "estimate": 2.5, "low": 1.0, "high": 4.0, "p": 0.01}}
    key = more[0].partition("=")[2]
    print(json.dumps(brief) if form == "--format=brief" else f"<!-- evalstats: {{key}} -->\\n\\n**{{brief['verdict']}}**")
sys.exit(int(os.environ.get("STATUS", 0)) if sys.argv[1] == "compare" else 0)
"""
REAL = f"#!/bin/sh\nexec '{sys.executable}' -m evalstats \"$@\"\n"


class Job:
    """A job of a pull request: its folder, its environment, and what its steps left behind."""

    def __init__(self, folder: Path, command: str) -> None:
        self.folder, commands = folder, folder / "bin"
        commands.mkdir()
        python = f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n"
        for name, text in (("gh", GH), ("evalstats", command), ("python", python)):
            (commands / name).write_text(text, encoding="utf-8")
            (commands / name).chmod(0o755)
        self.comments_file = folder / "comments.json"
        self.seed()
        self.given = {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "COMMENTS": str(self.comments_file),
            "ASKED": str(folder / "asked"),
            "OUT": str(folder / "out"),
            "GITHUB_OUTPUT": str(folder / "outputs"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_REPOSITORY": "them/evals",
            "GITHUB_RUN_ID": "42",
            "PULL": "7",
            "PAGE": "false",
            "BASELINE": "old/",
            "CANDIDATE": "new/",
        }

    def run(self, **more: str) -> "subprocess.CompletedProcess[str]":
        env = {"HOME": str(self.folder), **self.given, **more}
        return subprocess.run(
            ["bash", str(SCRIPT)], env=env, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def seed(self, *comments: dict[str, Any]) -> None:
        self.comments_file.write_text(json.dumps(comments), encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self.read("outputs").splitlines())

    @property
    def comments(self) -> list[dict[str, Any]]:
        return json.loads(self.read("comments.json"))

    @property
    def methods(self) -> list[str]:
        return [line.split()[0] for line in self.read("comments.calls").splitlines()]

    @property
    def words(self) -> list[str]:
        """What evalstats was asked first, but for the files that it writes."""
        first, *rest = json.loads(self.read("asked").splitlines()[0])
        assert first == "compare"
        written = ["--format=json", f"--output={self.folder}/out/result.json", f"--junit={self.folder}/out/junit.xml"]
        start = rest.index(written[0])
        assert rest[start : start + 3] == written
        return rest[:start] + rest[start + 3 :]


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path, STUB)


@pytest.fixture
def real(tmp_path: Path) -> Job:
    return Job(tmp_path, REAL)


def comment(number: int, body: str, *, kind: str = "User", association: str = "NONE") -> dict[str, Any]:
    return {"id": number, "body": body, "user": {"type": kind}, "author_association": association}


def test_a_comparison_and_its_gate(real: Job) -> None:
    names = {"DATA": str(write_tenacious_traces(real.folder)), "BASELINE": "baseline", "CANDIDATE": "trained"}
    # The comment is made of the result, whatever else is asked for.
    done = real.run(**names, FAIL_ON="not-noninferior", MARGIN="2pp", ARGS="--format csv --output else.csv")
    assert done.returncode == 1, done.stderr
    assert "gate failed" in done.stderr
    (posted,) = real.comments
    assert posted["body"].startswith("<!-- evalstats: compare -->\n\n**Powerless.** ")
    assert "**Gate failed: non-inferiority within 2 pp" in posted["body"]
    assert posted["body"].endswith("\n[Page and log](https://github.com/them/evals/actions/runs/42)\n")
    assert posted["body"] == real.read("summary.md")
    assert real.outputs == {
        "verdict": "powerless",
        "estimate": "48.84",
        "low": "-5.556",
        "high": "100.0",
        "p": "",
        "comment": f"{real.folder}/out/comment.md",
    }
    assert 'failures="1"' in real.read("out/junit.xml")


def test_files_and_models_may_be_called_anything(real: Job) -> None:
    paths = ("it's a $(touch pwned)/`x`.jsonl", "-r <b>.jsonl")
    for place, path in enumerate(paths):
        (real.folder / path).parent.mkdir(exist_ok=True)
        rows = (
            {
                "item": f"[q](https://evil.example) @all {i}",
                "model": f"<img src=x>#{place}\n::error::x",
                "score": i % 5 > place,
            }
            for i in range(40)
        )
        (real.folder / path).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = real.run(BASELINE=paths[0], CANDIDATE=paths[1], KEY='"><script>')
    assert done.returncode == 0, done.stderr
    body = real.comments[0]["body"]
    assert body.startswith("<!-- evalstats: script -->\n\n**")
    assert "\\<img" in body
    shown = body.partition("````sh")[0]
    for active in ("](https://evil", "@all", "\n::error", "<script", " <img"):
        assert active not in shown
    assert not (real.folder / "pwned").exists()


def test_there_is_one_comment_however_often_it_runs(job: Job) -> None:
    others = (comment(0, "Please look"), comment(1, "<!-- evalstats: nightly -->\n\nAnother", kind="Bot"))
    job.seed(*others)
    assert job.run(VERDICT="worse", STATUS="1").returncode == 1
    assert job.run(VERDICT="better").returncode == 0
    assert job.comments[:2] == list(others)
    (own,) = job.comments[2:]
    assert "**better**" in own["body"]
    assert job.methods == ["GET", "POST", "GET", "PATCH"]


@pytest.mark.parametrize("denied", ["GET", "POST", "GET POST PATCH"])
def test_without_permission_the_summary_has_it(job: Job, denied: str) -> None:
    done = job.run(DENIED=denied)
    assert done.returncode == 0
    assert "::notice title=evalstats::No comment was posted" in done.stdout
    assert job.comments == []
    assert "**better**" in job.read("summary.md")
    assert job.outputs["verdict"] == "better"


@pytest.mark.parametrize(("association", "renewed"), [("CONTRIBUTOR", False), ("MEMBER", True)])
def test_a_marker_of_a_stranger_is_left_alone(job: Job, association: str, *, renewed: bool) -> None:
    job.seed(comment(5, "<!-- evalstats: compare -->\n\n**Merge it!**", association=association))
    job.run()
    assert ("Merge it" in job.comments[0]["body"]) is not renewed
    assert len(job.comments) == 2 - renewed


@pytest.mark.parametrize("more", [{"COMMENT": "false"}, {"PULL": ""}])
def test_no_comment_where_none_is_wanted_or_nothing_is_pulled(job: Job, more: dict[str, str]) -> None:
    assert job.run(**more).returncode == 0
    assert not job.comments_file.with_suffix(".calls").exists()


@pytest.mark.parametrize(
    "text", ["$(touch pwned) `touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "--fail-on=x"]
)
def test_an_input_is_one_word_whatever_stands_in_it(job: Job, text: str) -> None:
    inputs = ("METRIC", "MARGIN", "CLUSTER", "FAIL_ON", "BASELINE", "CANDIDATE", "KEY")
    assert job.run(**dict.fromkeys(inputs, text)).returncode == 0
    options = ("metric", "margin", "cluster", "fail-on")
    assert job.words == [*(f"--{name}={text}" for name in options), "--", text, text]
    assert not (job.folder / "pwned").exists()


def test_lines_are_words_of_their_own(job: Job) -> None:
    given = {"DATA": "a b/\n\nc.json\n", "BASELINE": "two\nlines", "CLUSTER": "user\npassage", "PAGE": "true"}
    job.run(**given, ARGS="--where 'task=a b' --conf-level=0.9 '' --seed \\\n 3")
    assert job.words == [
        *("--where", "task=a b", "--conf-level=0.9", "", "--seed", "\n", "3"),
        *("--cluster=user", "--cluster=passage", f"--report={job.folder}/out/page.html"),
        *("--baseline=two\nlines", "--candidate=new/", "--", "a b/", "c.json"),
    ]


def test_options_that_are_no_words_end_the_job(job: Job) -> None:
    done = job.run(ARGS="--where 'unclosed")
    assert done.returncode == 1
    assert "No closing quotation" in done.stderr
    assert not (job.folder / "asked").exists()


def test_no_old_answer_is_told_where_there_is_none(job: Job) -> None:
    job.run()
    done = job.run(REFUSES="1", STATUS="2")
    assert done.returncode == 2
    assert job.outputs["verdict"] == "no answer"
    (own,) = job.comments
    assert own["body"].startswith(
        "<!-- evalstats: compare -->\n\n**No answer.** The comparison ended with status 2; the log of the job says why.\n"
    )


def test_the_steps_give_the_script_all_that_it_reads() -> None:
    (step,) = [step for step in ACTION["runs"]["steps"] if step.get("id") == "compare"]
    script = SCRIPT.read_text(encoding="utf-8")
    for name in step["env"].keys() - {"GH_TOKEN"}:
        assert re.search(rf"\b{name}\b", script), name
    given = {value.split("inputs.")[1].split(" ")[0] for value in step["env"].values() if "inputs." in value}
    assert given | {"artifact", "python-version"} == set(ACTION["inputs"])
    assert {each["value"] for each in ACTION["outputs"].values()} == {
        f"${{{{ steps.compare.outputs.{name} }}}}" for name in ("verdict", "estimate", "low", "high", "p", "comment")
    }


@pytest.mark.slow
def test_the_steps_as_written_install_and_answer(real: Job) -> None:
    """What GitHub does with `action.yml` but for the steps of others: values filled in, each step in a shell of its own."""
    given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | {
        "data": str(write_tenacious_traces(real.folder)),
        "baseline": "baseline",
        "candidate": "trained",
        "fail-on": "worse",
    }
    known = {f"inputs.{name}": str(value) for name, value in given.items()}
    known |= {"github.event.pull_request.number": "7", "github.token": "secret"}
    (real.folder / "bin" / "evalstats").unlink()
    outside = {
        name: real.given[name] for name in ("COMMENTS", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_REPOSITORY")
    }
    outside |= {
        "PATH": real.given["PATH"],
        "HOME": str(real.folder),
        "RUNNER_TEMP": str(real.folder),
        "GITHUB_ACTION_PATH": str(ROOT),
    }
    for step in ACTION["runs"]["steps"]:
        if "run" not in step:
            continue
        assert "${{" not in step["run"], "a value in a script is a way in"
        env = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], value)
            for name, value in step.get("env", {}).items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env={**outside, **env},
            cwd=real.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    answered = {name: real.outputs[name] for name in ("verdict", "estimate", "low", "high")}
    assert answered == {"verdict": "inconclusive", "estimate": "48.84", "low": "-5.556", "high": "100.0"}
    (posted,) = real.comments
    assert posted["body"].startswith("<!-- evalstats: compare -->\n\n**Inconclusive.** ")
    written = {path.name for path in (real.folder / "evalstats").iterdir()}
    assert {"result.json", "comment.md", "junit.xml", "page.html"} <= written
