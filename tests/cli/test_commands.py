"""The commands as a user types them: what is printed where, and the exit status."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from evalstats.cli.main import COMMANDS, app
from evalstats.errors import CannotAnswerError, InputError
from evalstats.simulate.benchmark_files import write_tau_airline, write_tenacious_traces
from tests.cli.running import run
from tests.typed import typed

_SECTIONS = ("Arguments", "Question", "Data", "Design", "Gate")


def shell(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a whole process: for what `typed` cannot show."""
    return subprocess.run(
        [sys.executable, "-m", "evalstats.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    write_tenacious_traces(folder / "tenacious")
    write_tau_airline(folder / "tau")
    return folder


@pytest.fixture(scope="module")
def store(results: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stores") / "store"
    assert run("ingest", results, "--store", folder).exit_code == 0
    return folder


def write_table(path: Path, scores: list[int], model: str = "m") -> Path:
    rows = [f"q{i},{model},{score},p{i // 4}" for i, score in enumerate(scores)]
    path.write_text("\n".join(["item,model,score,passage", *rows]) + "\n", encoding="utf-8")
    return path


def test_ingest_says_what_it_counted_and_store_lists_it(results: Path, store: Path) -> None:
    again = typed("ingest", results, "--store", store)
    assert again.returncode == 0
    assert again.stdout == ""
    assert "already in the store" in again.stderr
    listed = run("store", store)
    assert "200" in listed.output
    rows = json.loads(run("store", store, "--format", "json").output)
    assert {row["benchmark"] for row in rows} == {"Tenacious-Bench", "tau-bench"}
    assert run("store", store, "check").exit_code == 0


def test_compare_by_names_in_a_store(store: Path) -> None:
    result = run("compare", "baseline", "trained", "--store", store, "--where", "benchmark=Tenacious-Bench")
    assert result.exit_code == 0
    assert "INCONCLUSIVE: trained scores higher on these 43 items" in result.output
    assert "95% CI −5.6 to 100.0" in result.output
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_json_is_all_there_is_on_stdout(results: Path) -> None:
    done = typed(
        "compare", results / "tenacious", "--baseline", "baseline", "--candidate", "trained", "--format", "json"
    )
    assert done.returncode == 0
    values = json.loads(done.stdout)
    assert values["verdict"] == "inconclusive"
    assert (values["these_items"]["verdict"], values["clusters"]) == ("better", ["dimension"])


def test_output_goes_to_a_file_whole(results: Path, tmp_path: Path) -> None:
    target = tmp_path / "result.json"
    done = typed(
        "compare", results / "tenacious", "--baseline", "baseline", "--candidate", "trained", "-f", "json", "-o", target
    )
    assert done.stdout == ""
    assert json.loads(target.read_text(encoding="utf-8"))["n_items"] == 43
    assert list(tmp_path.iterdir()) == [target]


def test_two_files_of_the_same_model_are_told_apart_by_their_names(tmp_path: Path) -> None:
    first = write_table(tmp_path / "monday.csv", [0, 1] * 20)
    second = write_table(tmp_path / "friday.csv", [1, 1] * 20)
    values = json.loads(run("compare", first, second, "--format", "json", "--quiet").stdout)
    assert (values["baseline"]["name"], values["candidate"]["name"]) == ("monday.csv", "friday.csv")


def test_two_plain_tables_of_item_and_score_pair_up_without_a_map(tmp_path: Path) -> None:
    """They name neither model nor benchmark: the files' names are the models, and both are of the one benchmark."""
    for name, share in (("old", 2), ("new", 3)):
        rows = [f"q{i},{'wrong' if i % share == 0 else 'correct'}" for i in range(60)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,score", *rows]), encoding="utf-8")
    done = typed("compare", tmp_path / "old.csv", tmp_path / "new.csv", "--format", "json")
    values = json.loads(done.stdout)
    assert (values["baseline"]["name"], values["candidate"]["name"], values["n_items"]) == ("old", "new", 60)
    assert values["estimate"] == pytest.approx(2 / 3 - 1 / 2)
    assert "benchmark" not in done.stderr
    assert "the file's name is used" not in done.stderr  # a detail, which --full tells


def test_ingest_ends_with_what_was_not_read_and_exits_0(tmp_path: Path) -> None:
    write_table(tmp_path / "good.csv", [0, 1])
    (tmp_path / "bad.csv").write_text("x,y\n1,2\n", encoding="utf-8")
    done = typed("ingest", tmp_path, "--store", tmp_path / "store")
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1] == "1 of 2 sources not read; --strict stops at the first such source"
    assert typed("ingest", tmp_path, "--store", tmp_path / "other", "--strict").returncode == 2


def test_a_column_map_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    lines = [
        f"{i},{system},{'pass' if (i + k) % 3 else 'fail'}" for k, system in enumerate(("x", "y")) for i in range(30)
    ]
    path.write_text("question_id,system,grade\n" + "\n".join(lines), encoding="utf-8")
    mapping = tmp_path / "map.toml"
    mapping.write_text("[values.score]\npass = 1\nfail = 0\n", encoding="utf-8")
    options = ["--map", mapping, "--map", "item=question_id", "--map", "model=system", "--map", "score=grade"]
    result = run("compare", path, *options, "--baseline", "x", "--candidate", "y", "--format", "json", "--quiet")
    assert json.loads(result.stdout)["n_items"] == 30


def test_formats_lists_and_tells(results: Path) -> None:
    listed = run("formats")
    for name in ("lm-eval", "inspect", "tau-bench", "rutbench", "tenacious"):
        assert name in listed.output
    told = run("formats", results)
    assert "tenacious" in told.output
    assert "tau-bench" in told.output


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["compare", "no-such-file", "nor-this"], 2, "no such file"),
        (["compare", "one"], 2, "no such file"),
        (["compare", "a", "b", "--nonsense"], 2, "nonsense"),
        (["store", "nowhere"], 2, "nowhere"),
        (["score"], 2, "nothing to read"),
    ],
)
def test_bad_usage_is_status_2_in_one_sentence(arguments: list[str], status: int, words: str, tmp_path: Path) -> None:
    done = typed(*arguments, folder=tmp_path)
    assert done.returncode == status
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_data_that_cannot_answer_is_status_3(tmp_path: Path) -> None:
    first = write_table(tmp_path / "old.csv", [0, 1] * 6, model="old")
    second = tmp_path / "new.csv"
    second.write_text("item,model,score\nz1,new,1\nz2,new,0\n", encoding="utf-8")
    done = typed("compare", first, second)
    assert done.returncode == 3
    assert "no item that both sides scored" in done.stderr
    third = write_table(tmp_path / "third.csv", [1, 1] * 6, model="third")
    few = typed("compare", first, third, "--cluster", "passage")
    assert few.returncode == 3
    assert "INVALID" in few.stdout


def test_an_ambiguous_name_lists_what_it_could_be(tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_table(tmp_path / f"{name}.csv", [1, 0] * 5, model="same")
    write_table(tmp_path / "c.csv", [1, 1] * 5, model="other")
    with pytest.raises(InputError, match=r"ambiguous: 2 runs .*a.*b"):
        run("compare", tmp_path, "--baseline", "same", "--candidate", "other")


def test_no_shared_items_between_benchmarks_is_refused(store: Path) -> None:
    with pytest.raises(CannotAnswerError, match="no benchmark in common"):
        run("compare", "baseline", "gpt-4o", "--store", store)


def test_a_bad_file_is_named_and_the_rest_is_compared(results: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    write_tenacious_traces(folder)
    (folder / "cut.json").write_text('{"metadata": {"model": "x', encoding="utf-8")
    done = typed("compare", folder, "--baseline", "baseline", "--candidate", "trained")
    assert done.returncode == 0
    assert "cut.json" in done.stderr
    assert "INCONCLUSIVE" in done.stdout


def test_colour_only_on_a_terminal(results: Path) -> None:
    command = ("compare", results / "tenacious", "--baseline", "baseline", "--candidate", "trained")
    done = shell(*command)
    assert "\x1b" not in done.stdout + done.stderr
    # So what `typed` shows in other tests is what a process prints, and nothing besides.
    assert (done.returncode, done.stdout) == (0, typed(*command).stdout)


def test_words_of_the_parser_stay_out_of_sight() -> None:
    wrong = typed("compare", "a", "b", "--format", "xml")
    assert wrong.returncode == 2
    assert "'xml' is not one of" in wrong.stderr
    assert "Value error" not in wrong.stderr
    for command in ("compare", "ingest", "store", "export"):
        assert not re.search(r"<(list\[|path|str)", typed(command, "-h").stdout), command
    assert "ACTION <list|check|repair|remove>" in typed("store", "-h").stdout


def test_help_of_every_command_fits_80_columns() -> None:
    for name in (
        "ingest", "store", "formats", "compare", "leaderboard", "frontier", "overview", "power", "score", "report",
        "simulate", "label", "demo", "doctor",
    ):  # fmt: skip
        result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"})
        assert result.exit_code == 0
        assert max(len(line) for line in result.output.splitlines()) <= 80


def test_help_lists_every_option_once_under_its_section() -> None:
    command: Any = get_command(app)
    for name in ("compare", "arena", "power", "show"):
        text = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"}).output
        sections = re.findall(r"^([A-Z]\w+):(?= *$)", text, re.MULTILINE)
        assert sections == [each for each in (*_SECTIONS, "Output") if f"\n{each}:\n" in text]
        for option in command.commands[name].params:
            flag = option.opts[-1]
            if flag.startswith("--") and not option.hidden:
                assert len(re.findall(rf"^  (?:-\w, )?(?:--\w, )?{flag}\b(?!-)", text, re.MULTILINE)) == 1, (name, flag)
    question = CliRunner().invoke(app, ["compare", "--help"]).output.partition("Data:")[0]
    assert "--by" in question
    assert "--run-sd" not in question


@pytest.mark.parametrize(
    ("command", "twice"),
    [
        ("compare", ("--metric", "correct", "-m", "brevity")),
        ("compare", ("--baseline", "a", "--baseline=b")),
        ("compare", ("--candidate", "a", "--candidate", "a", "--candidate", "a")),
        ("leaderboard", ("-m", "correct", "-mbrevity")),
    ],
)
def test_what_is_asked_twice_is_refused(tmp_path: Path, command: str, twice: tuple[str, ...]) -> None:
    """The last one would be answered, and the first dropped without a word."""
    asked = typed(command, write_table(tmp_path / "a.csv", [1, 0] * 20), *twice)
    assert asked.returncode == 2
    assert asked.stdout == ""
    times = 3 if twice[0] == "--candidate" else 2
    told = " ".join(asked.stderr.split())
    assert f"given {times} times, and it takes one; run the command once for each" in told
    assert ("or name several with commas: A,B" in told) == (twice[0] in {"--metric", "-m"})


def test_what_may_be_repeated_still_is(tmp_path: Path) -> None:
    both = [write_table(tmp_path / f"{name}.csv", [1, 0, 1, 1] * 10, name) for name in "ab"]
    asked = typed(
        "compare", *both, "--cluster", "passage", "--fail-on", "inconclusive", "--fail-on", "worse", "-q", "-q"
    )
    assert asked.returncode == 1
    assert "gate failed: the verdict is inconclusive" in asked.stderr


def test_doctor_reports_versions() -> None:
    done = typed("doctor")
    assert "polars" in done.stdout
    assert "quarto" in done.stdout


def test_simulate_writes_files_that_say_what_they_are(tmp_path: Path) -> None:
    done = typed("simulate", "rutbench", "--output", tmp_path, "--model", "GPT-5.4")
    assert done.returncode == 0
    assert "simulated" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["GPT-5.4_eval_results.json"]


@pytest.mark.parametrize(
    "options", [["--seed", "-1"], ["--where", "self=x"], ["--by", "tags"], ["--cluster", "tags"], ["--conf-level", "2"]]
)
def test_odd_options_are_status_2(options: list[str], results: Path) -> None:
    done = typed("compare", results / "tenacious", "--baseline", "baseline", "--candidate", "trained", *options)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_narrow_encoding_shows_what_it_can(results: Path) -> None:
    sides = ["--baseline", "baseline", "--candidate", "trained", "--cluster", "dimension"]
    done = shell("compare", results / "tenacious", *sides, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 0, done.stderr
    assert "\\u2212" in done.stdout


def test_a_reader_who_leaves_is_no_failure() -> None:
    command = f"set -o pipefail; {sys.executable} -m evalstats.cli.main formats | head -0"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_output_follows_links_keeps_modes_and_leaves_devices(results: Path, tmp_path: Path) -> None:
    sides = ["--baseline", "baseline", "--candidate", "trained", "-f", "json"]
    target, link, pipe = tmp_path / "real.json", tmp_path / "link.json", tmp_path / "pipe"
    target.write_text("old")
    target.chmod(0o664)
    link.symlink_to(target)
    assert typed("compare", results / "tenacious", *sides, "-o", link).returncode == 0
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o664
    assert json.loads(target.read_text())["n_items"] == 43
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True)
    assert typed("compare", results / "tenacious", *sides, "-o", pipe).returncode == 0
    assert json.loads(reader.communicate(timeout=30)[0])["n_items"] == 43
    assert pipe.is_fifo()


def test_a_closed_output_is_status_2_or_quiet() -> None:
    command = f"{sys.executable} -m evalstats.cli.main formats >/dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_json_writes_control_and_direction_characters_as_escapes(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    rows = "\n".join(f"q{i},{model},{i % 2}" for model in ("a", "b\x9b31mRED\u202e") for i in range(12))
    path.write_text(f"item,model,score\n{rows}\n", encoding="utf-8")
    done = typed("compare", path, "--baseline", "a", "--candidate", "b\x9b31mRED\u202e", "--format", "json")
    assert json.loads(done.stdout)["candidate"]["name"] == "b\x9b31mRED\u202e"
    assert not {"\x9b", "\u202e"} & set(done.stdout)


@pytest.mark.parametrize(
    ("shell", "asked", "offered"),
    [
        ("bash", {"COMP_WORDS": "evalstats lea", "COMP_CWORD": "1"}, "leaderboard"),
        ("bash", {"COMP_WORDS": "evalstats compare --format m", "COMP_CWORD": "3"}, "markdown"),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "evalstats lea"}, "leaderboard"),
        ("fish", {"_TYPER_COMPLETE_ARGS": "evalstats lea", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}, "leaderboard"),
    ],
)
def test_a_shell_completes_commands_and_values(shell: str, asked: dict[str, str], offered: str) -> None:
    environment = {**os.environ, "_EVALSTATS_COMPLETE": f"complete_{shell}", **asked}
    done = subprocess.run(
        [Path(sys.executable).with_name("evalstats")], env=environment, capture_output=True, text=True, check=False
    )
    assert offered in done.stdout
    assert "contamination" not in done.stdout


def test_the_questions_stand_first_and_in_whole_lines() -> None:
    listed = CliRunner().invoke(app, []).output.partition("Questions:")[2].partition("Exit status")[0]
    names = [line.split()[0] for line in listed.splitlines() if line.strip() and line.startswith("  ")]
    assert sorted(names) == sorted(COMMANDS)
    assert names[:2] == ["compare", "leaderboard"]
    assert names.index("ingest") > names.index("contamination")
    assert "..." not in listed


def test_two_folders_of_files_of_the_same_names_are_tasks(tmp_path: Path) -> None:
    """Numbers of rows mean another item in every file; files with the same items may be seeds of one system."""
    for side in ("nova-1", "nova-2"):
        for task, n in (("math", 40), ("code", 30), ("law", 20)):
            path = tmp_path / side / f"{task}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("id,is_correct\n" + "".join(f"{k},{(k * n + int(side[-1])) % 3 > 0:d}\n" for k in range(n)))
    done = typed("compare", "nova-1", "nova-2", folder=tmp_path)
    assert "files={model}/{benchmark}" in done.stderr
    said = " ".join(done.stdout.split())
    assert "on the 90 items of 3 tasks that both answered" in said
    assert "macro average over 3 tasks of 20 to 40 items" in said
    for side in ("nova-3", "nova-4"):
        for seed in ("seed-a", "seed-b", "seed-c"):
            path = tmp_path / side / f"{seed}.csv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("id,is_correct\n" + "".join(f"{k},{(k + int(side[-1])) % 2}\n" for k in range(20)))
    done = typed("compare", "nova-3", "nova-4", folder=tmp_path)
    assert done.returncode == 0
    assert "files={model}/{trial}" in done.stderr
    # A seed that lacks an item is no task either.
    for side in ("a", "b"):
        (tmp_path / side).mkdir()
        for seed in (1, 2, 3):
            rows = [f"{k},{(k * seed + len(side) + (side == 'b')) % 2}\n" for k in range(20 - (seed == 2))]
            (tmp_path / side / f"seed-{seed}.csv").write_text("id,is_correct\n" + "".join(rows))
    assert "files={model}/{trial}" in typed("compare", "a", "b", folder=tmp_path).stderr
