"""What the benchmarks compare with is right, and what they run is there. Nothing here is timed."""

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

import evalstats as es
from benchmarks import commands, ours, peers, problems, truth
from benchmarks.cases import CASES, NAMESAKE, OURS, Case, Peer
from benchmarks.commands import COMMANDS
from benchmarks.runner import HERE, _repeat, measure
from evalstats.options import offered
from evalstats.questions import signature_of

FUNCTIONS = [case for case in CASES if isinstance(case.run, str)]
ROUNDING = 1e-12  # of limits and shares between 0 and 1
OPTIMUM = 1e-8  # of a log-strength: what the fit promises


def data_of(case: Case, size: int, folder) -> dict[str, np.ndarray]:
    getattr(problems, case.problem)(folder, size)
    with np.load(folder / "data.npz") as stored:
        return {name: stored[name] for name in stored.files}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_all_that_a_case_names_is_there(case):
    assert hasattr(problems, case.problem)
    assert not case.truth or hasattr(truth, case.truth)
    assert bool(case.truth) == bool(case.miss)
    assert isinstance(case.run, tuple) or hasattr(ours, case.run)
    script = (HERE / "lme4.R").read_text(encoding="utf-8")
    for peer in case.peers:
        if isinstance(peer.run, str):
            assert f"  {peer.run} = function()" in script if peer.environment == "R" else hasattr(peers, peer.run)
        assert (peer.environment == "namesake") == (peer.package == NAMESAKE)
    if case.quick is not None:
        size, packages = case.quick
        assert size in case.sizes
        assert set(packages) <= {peer.package for peer in case.peers if size <= peer.most}


def test_every_package_that_is_measured_is_locked():
    for name, file in (("namesake", "namesake"), ("science", "peers")):
        locked = (HERE.parent / "dev" / "locks" / f"requirements-{file}.txt").read_text(encoding="utf-8")
        packages = {peer.package for case in CASES for peer in case.peers if peer.environment == name}
        assert packages
        for package in packages:
            assert re.search(rf"^{re.escape(package)}==\S+.*\\\n\s+--hash=sha256:", locked, re.MULTILINE), package


@pytest.mark.parametrize("case", FUNCTIONS, ids=lambda case: case.name)
def test_our_side_runs_and_is_exact(case, tmp_path):
    data = data_of(case, case.sizes[0], tmp_path)
    answer = np.asarray(getattr(ours, case.run)(data)(), dtype=float).ravel().tolist()
    assert np.isfinite(answer).all()
    if case.truth:
        assert getattr(truth, case.truth)(data, {OURS: answer})[OURS] <= (
            OPTIMUM if case.truth == "ratings" else ROUNDING
        )


def test_both_fits_of_a_mixed_model_are_of_the_rows_that_the_others_see(tmp_path):
    """Trials are merged to cells on our side alone; glmm, where it is installed, sees the rows."""
    pytest.importorskip("glmm")
    problems.SHAPES[36] = (3, 6, 2)
    try:
        for name in ("linear", "binomial"):
            case = next(case for case in CASES if case.name == name)
            data = data_of(case, 36, tmp_path)
            if name == "linear":
                other = peers.glmm_linear(data)()
                assert getattr(ours, name)(data)() == pytest.approx(other, abs=1e-5)
            rows = np.fromfile(tmp_path / "data.bin").reshape(4, -1)
            np.testing.assert_array_equal(rows, np.stack([data[key] for key in ("item", "model", "both", "y")]))
    finally:
        del problems.SHAPES[36]


def test_the_exact_bootstrap_law_is_that_of_all_resamples():
    a, b = np.array([0.0, 1.0, 0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0, 0.0, 1.0])
    difference = b - a
    means = np.sort([np.mean(drawn) for drawn in itertools.product(difference, repeat=5)])
    exact = [means[int(np.ceil(level * means.size)) - 1] for level in (0.025, 0.975)]
    found = truth.bootstrap({"a": a, "b": b}, {"right": exact, "wrong": [exact[0], exact[1] + 0.1]})
    assert found["right"] < ROUNDING
    assert found["wrong"] == pytest.approx(0.1 / (difference.std() / np.sqrt(5)))


def test_the_exact_tango_limits_have_the_score_statistic_of_the_level(tmp_path):
    """R's PropCIs::scoreci.mp(0, 21, 43) and the worked example of the docstring of `tango` are the same limits."""
    a = np.repeat([0.0, 1.0], [21, 22])
    limits = [0.3462, 0.6325]
    found = truth.tango({"a": a, "b": np.ones(43)}, {"right": limits, "wrong": [limits[0], limits[1] + 0.01]})
    assert found["right"] < 6e-5
    assert found["wrong"] == pytest.approx(0.01, abs=1e-4)


def test_a_strength_that_is_off_is_found_off(tmp_path):
    case = next(case for case in CASES if case.name == "ratings")
    data = data_of(case, 10_000, tmp_path)
    best = np.asarray(ours.ratings(data)())
    off = best + np.eye(best.size)[3] * 0.01
    found = truth.ratings(data, {"best": best.tolist(), "off": off.tolist()})
    assert found["best"] < OPTIMUM
    assert found["off"] == pytest.approx(0.01, rel=0.05)


def test_the_likelihoods_are_measured_from_the_best():
    assert truth.likelihood({}, {"a": [-10.0], "b": [-10.5]}) == {"a": 0.0, "b": 0.5}


class Scripted:
    """A side whose seconds are given: those told at first, then one call after the other."""

    def __init__(self, name, seconds, calls, rounds=1):
        self.name, self.seconds, self.calls, self.rounds = name, iter(seconds), calls, rounds
        self.told = {"seconds": 0.01}

    def time(self):
        self.calls.append(self.name)
        return next(self.seconds)


def test_repetitions_take_turns_and_a_ratio_is_to_our_call_just_before():
    calls: list[str] = []
    slower_and_slower = [1.0, 2.0, 4.0, 8.0, 16.0]
    sides = {
        OURS: Scripted("ours", slower_and_slower, calls),
        "other": Scripted("other", [3.0 * x for x in slower_and_slower], calls),
    }
    seconds, ratios = _repeat(sides, 1)
    assert calls == ["ours", "other"] * 5
    assert seconds[OURS] == slower_and_slower
    assert ratios["other"] == [3.0] * 5


def test_a_case_is_measured_in_processes_of_its_own_and_what_is_not_installed_is_said():
    case = Case(
        name="x",
        title="",
        unit="items",
        sizes=(100,),
        problem="pairs",
        run="tango_interval",
        peers=(Peer(package="absent", run="absent", most=100, environment="absent"),),
        truth="tango",
        miss="of the limit",
    )
    own, absent = measure(case, 100)
    assert own["package"] == OURS
    assert own["seconds"] > 0
    assert own["miss"] < ROUNDING
    assert absent["seconds"] is None
    assert "absent" in absent["why"]
    json.dumps([own, absent])


@pytest.mark.parametrize("question", sorted({words[0] for *_, words in COMMANDS.values()} - {"-c", "ingest"}))
def test_whole_commands_are_of_questions_with_their_options(question: str) -> None:
    flags = {flag for each in offered(signature_of(question)) for flag in each.flags}
    for _, files, words in COMMANDS.values():
        if words[0] == question:
            assert {*files} <= {*words}
            beside = {"--report", "--lab", "--live", "--engine", "--format", "--map"}  # of the reader and the writer
            assert {word for word in words if word.startswith("--")} <= flags | beside


def test_the_data_of_whole_commands_answer_their_questions(tmp_path: Path) -> None:
    commands.scores(tmp_path, 3, 40, kind="graded", by=4)
    found = es.compare(es.read(tmp_path / "data.csv"), "model-0000", "model-0002", by="scenario")
    assert [row.n_items for row in found.groups] == [10] * 4
    commands.lab_and_live(tmp_path, 6)
    lab, live = (es.read(tmp_path / f"{side}.csv") for side in ("lab", "live"))
    assert es.gap(lab=lab, live=live).n_models == 6
