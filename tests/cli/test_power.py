"""`evalstats power` as a user types it."""

import json
import shlex
from functools import partial
from pathlib import Path

import pytest

from evalstats.analysis.power.power import power as plan
from evalstats.cli.ingest_run import ingest
from evalstats.errors import InputError
from evalstats.simulate.draws import simulate_pairs
from tests.cli.running import run as typed_command

run = partial(typed_command, "power")


def values(*arguments: str | Path) -> dict[str, object]:
    result = run(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Answers of two systems to 96 questions in 24 passages, two trials each, as one table."""
    drawn = simulate_pairs(
        96, p_baseline=0.5, p_candidate=0.6, discordance=0.3, n_trials=2, clusters=24, icc=0.1, repeatability=0.4
    )
    lines = ["item,model,trial,score,passage"]
    for name, scores in (("old", drawn.baseline), ("new", drawn.candidate)):
        for item, row in enumerate(scores):
            lines += [f"q{item},{name},{k},{int(y)},p{drawn.cluster[item]}" for k, y in enumerate(row)]
    path = tmp_path_factory.mktemp("pilot") / "pilot.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_the_answer_is_that_of_the_function() -> None:
    assert values("--delta", "3pp", "--discordance", ".2")["answer"] == plan(delta="3pp", discordance=0.2).n_items
    assert values("--delta", ".03", "--variance", "0.1111111111")["answer"] == 969
    assert values("--n", "43", "--delta", "10pp", "--discordance", ".3")["answer"] == pytest.approx(0.206, abs=5e-4)


def test_every_option_reaches_the_plan() -> None:
    found = values(
        *("--n", "300", "--trials", "2,3", "--variance", "item=.1", "--variance", "trial=.2", "--power", "0.9"),
        *("--conf-level", ".9"),
    )
    expected = plan(n_items=300, n_trials=(2, 3), variance={"item": 0.1, "trial": 0.2}, power=0.9, conf_level=0.9)
    assert found["answer"] == pytest.approx(expected.delta, rel=1e-12)
    clustered = values(
        *("--clusters", "20", "--discordance", ".3", "--icc", ".1", "--cluster-size", "6", "--cluster-cv", ".5")
    )
    wanted = plan(n_clusters=20, discordance=0.3, icc=0.1, cluster_size=6, cluster_cv=0.5)
    assert clustered["answer"] == pytest.approx(wanted.delta, rel=1e-12)
    margin = values("--margin", "2pp", "--test", "noninferiority", "--discordance", ".1")
    assert margin["answer"] == plan(margin="2pp", test="noninferiority", discordance=0.1).n_items
    assert values("--half-width", "2pp", "--discordance", ".1")["solved"] == "n_items"
    simulated = values(*shlex.split("--n 60 --delta .3 --variance .6 --method simulation --resamples 500 --seed 3"))
    assert simulated["n_resamples"] == 500
    assert simulated["origin"]["seed"] == 3


def test_a_pilot_from_files_and_from_a_store(files: Path, tmp_path: Path) -> None:
    sides = ["--baseline", "old", "--candidate", "new", "--cluster", "passage", "--delta", "10pp"]
    result = run("--from", files, *sides, "--cost", "item=3", "--cost", "trial=.5")
    assert result.exit_code == 0
    assert "PLAN: " in result.stdout
    assert " clusters (" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    store = tmp_path / "store"
    ingest([files], store)
    from_file, from_store = (values("--from", source, *sides) for source in (files, store))
    assert from_file["answer"] == from_store["answer"]
    assert from_file["cost_unit"] == "answers"


def test_no_number_that_is_enough_is_an_answer() -> None:
    result = run("--clusters", "12", "--delta", "5pp", "--discordance", ".2", "--icc", ".3", "--cluster-size", "5")
    assert result.exit_code == 0
    assert "OUT OF REACH: No number of items is enough" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing says how much"),
        (["--delta", "three", "--discordance", ".2"], "--delta 'three' is no amount"),
        (["--delta", "3pp", "--discordance", ".2", "--trials", "a"], "write 3, or 3,5"),
        (["--delta", "3pp", "--variance", "item:0.1"], "no number; give one, or NAME=NUMBER"),
        (["--delta", "3pp", "--variance", "item=.1", "--variance", "item=.2"], "names 'item' twice"),
        (["--delta", "3pp", "--discordance", ".2", "--cost", "2"], "such as item=2"),
        (["--delta", "3pp", "--discordance", ".2", "--where", "a=b"], "name its files with --from"),
        (["--delta", "3pp", "--discordance", ".2", "--baseline", "x"], "name things in a pilot"),
        (["--delta", "3pp", "--from", "no-such-file", "--baseline", "x", "--candidate", "y"], "no such file"),
    ],
)
def test_bad_usage_is_said_in_a_sentence(arguments: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        run(*arguments)


def test_shares_may_be_written_in_percent_and_a_missing_spread_names_the_pilot() -> None:
    for name, share in (("discordance", "20%"), ("accuracy", "70%")):
        number = str(float(share[:-1]) / 100)
        assert run("--delta", "3pp", f"--{name}", share).output == run("--delta", "3pp", f"--{name}", number).output
    for arguments, words in ((("--accuracy", "high"), "20% or 0.2"), ((), "--from FILE")):
        with pytest.raises(InputError, match=words):
            run("--delta", "3pp", *arguments)
