"""The pytest plugin, in test suites of other people."""

import json
import runpy
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest

import evalstats as es
from evalstats import pytest_plugin
from evalstats.testing import assert_not_worse

pytest_plugins = ["pytester"]

SUITE = """
import pytest

@pytest.mark.parametrize("question", ["q1", "q2", "a-b"])
@pytest.mark.parametrize("lang", ["de", "en"])
@pytest.mark.evalstats_trials(3)
def test_answer(question, lang, evalstats_trial):
    assert (question, lang, evalstats_trial) != ("q1", "de", 1)
"""
EVERY_END = """
import unittest
import pytest

def test_passes(): pass
def test_is_wrong(): assert 0
def test_says_so(): pytest.fail("wrong")
def test_times_out(): raise TimeoutError("no answer\\nfrom the model")
def test_is_skipped(): pytest.skip("no key")
@pytest.mark.xfail
def test_is_expected_to_fail(): assert 0
@pytest.mark.xfail(strict=True)
def test_passes_against_expectation(): pass
@pytest.fixture
def broken(): raise ValueError("no server")
def test_never_begins(broken): pass
@pytest.fixture
def breaks_later():
    yield
    raise ValueError("no end")
def test_ends_badly(breaks_later): pass
class TestOld(unittest.TestCase):
    def test_old(self): self.fail("wrong")
"""
GATE = """
def test_candidate(evalstats_compare):
    assert evalstats_compare("{}", cluster="none").n_items == 40
"""


@pytest.fixture(scope="module", autouse=True)
def _loaded():
    """What a comparison imports: suites within this process forget their own imports, and numpy loads once."""
    data = es.datasets.tenacious_held_out()
    assert_not_worse(data, "baseline", "trained", cluster="none").document()
    es.score(data, name="trained").document()


@pytest.fixture
def _ours_alone(monkeypatch):
    """No plugin but this one and those that are asked for: workers start twice as fast."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "evalstats.pytest_plugin")


def rows_of(path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path, shares: int, model: str = "") -> None:
    """40 items, of which one in `shares` is wrong."""
    path.parent.mkdir(exist_ok=True)
    lines = [
        json.dumps({"item": f"q{i}", "score": int(i % shares > 0), **({"model": model} if model else {})})
        for i in range(40)
    ]
    path.write_text("\n".join(lines))


def test_cases_run_several_times_are_trials_of_items(pytester):
    pytester.makepyfile(SUITE)
    done = pytester.runpytest("--evalstats-out", "new.jsonl")
    done.assert_outcomes(passed=17, failed=1)
    done.stdout.fnmatch_lines(
        ["*= evalstats =*", "Written: new.jsonl", "SCORE: new scores 94.4% (95% CI *) in passed."]
    )
    rows = rows_of(pytester.path / "new.jsonl")
    name = "test_cases_run_several_times_are_trials_of_items.py::test_answer"
    assert len(rows) == 18
    assert [(row["item"], row["trial"], row["score"]) for row in rows if row["score"] == 0] == [
        (f"{name}[de-q1]", 1, 0)
    ]
    assert {row["item"] for row in rows} == {f"{name}[{x}-{y}]" for x in ("de", "en") for y in ("q1", "q2", "a-b")}
    assert rows[0] | {"latency_s": 0} == {
        "lang": "de", "question": "a-b", "item": f"{name}[de-a-b]", "trial": 0, "metric": "passed", "test": name,
        "case": "de-a-b", "score": 1, "status": "scored", "status_reason": None, "latency_s": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("_ours_alone")
def test_workers_write_the_same_file(pytester):
    pytester.makepyfile(SUITE)
    for name, more in (("alone.jsonl", []), ("workers.jsonl", ["-p", "xdist", "-n", "2"])):
        pytester.runpytest("--evalstats-out", name, *more).assert_outcomes(passed=17, failed=1)
    alone, workers = (
        [{**row, "latency_s": 0} for row in rows_of(pytester.path / f"{name}.jsonl")] for name in ("alone", "workers")
    )
    assert alone == workers


def test_only_an_assertion_says_that_a_case_is_wrong(pytester):
    pytester.makepyfile(EVERY_END)
    pytester.runpytest("--evalstats-out", "all.jsonl")
    rows = {str(row["item"]).rpartition("::")[2]: row for row in rows_of(pytester.path / "all.jsonl")}
    assert {name: row["score"] if row["status"] == "scored" else row["status"] for name, row in rows.items()} == {
        "test_passes": 1,
        "test_is_wrong": 0,
        "test_says_so": 0,
        "test_times_out": "error",
        "test_is_skipped": "unscored",
        "test_is_expected_to_fail": 0,
        "test_passes_against_expectation": 1,
        "test_never_begins": "error",
        "test_ends_badly": 1,
        "test_old": 0,
    }
    assert rows["test_times_out"]["status_reason"] == "TimeoutError: no answer"
    assert rows["test_is_skipped"]["status_reason"] == "Skipped: no key"


def test_a_model_among_the_parameters_is_no_part_of_the_item(pytester):
    pytester.makepyfile("""
        import pytest
        @pytest.mark.parametrize("model", ["gpt-4.1", "o3"])
        @pytest.mark.parametrize("case", range(12))
        def test_it(case, model): assert model == "o3" or case % 2
    """)
    done = pytester.runpytest("--evalstats-out", "both.jsonl")
    rows = rows_of(pytester.path / "both.jsonl")
    assert len({row["item"] for row in rows}) == 12
    assert {(row["model"], row["trial"]) for row in rows} == {("gpt-4.1", 0), ("o3", 0)}
    done.stdout.fnmatch_lines(["*o3*"])


@pytest.mark.parametrize("name", ["model", "benchmark"])
def test_a_test_without_the_name_that_others_have_is_the_files(pytester, name):
    pytester.makepyfile(f"""
        import pytest
        @pytest.mark.parametrize("{name}", ["o3", "o4"])
        def test_it({name}): pass
        def test_plain(): pass
    """)
    done = pytester.runpytest("--evalstats-out", "new.jsonl")
    done.stdout.no_fnmatch_line("*error:*")
    assert sorted(row[name] for row in rows_of(pytester.path / "new.jsonl")) == ["new", "o3", "o4"]


@pytest.mark.usefixtures("_ours_alone")
def test_only_plain_short_parameters_are_factors(pytester):
    pytester.makepyfile("""
        import enum, numpy, pytest
        class Lang(enum.StrEnum):
            DE = "de"
        ODD = [Lang.DE, numpy.float64(1), float("nan"), float("inf"), 10**400, "x" * 61, "a\\nb", "\\ud800", None, {}, b"x"]
        @pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
        @pytest.mark.parametrize("plain", [True, 3, 0.5, "de"])
        def test_it(odd, plain):
            assert plain != 3
            if plain == 0.5: raise ValueError("\\x07" + "y" * 299)
    """)
    done = pytester.runpytest("--evalstats-out", "out.jsonl", "-p", "xdist", "-n", "1")
    done.assert_outcomes(passed=22, failed=22)
    rows = rows_of(pytester.path / "out.jsonl")
    assert not any("odd" in row for row in rows)
    assert [*dict.fromkeys(repr(row["plain"]) for row in rows)] == ["0.5", "3", "True", "'de'"]
    assert {len(str(row["status_reason"])) for row in rows if row["status"] == "error"} == {199}
    assert es.read(pytester.path / "out.jsonl").outcomes.height == 44


def test_repeats_and_reruns_of_other_plugins(pytester):
    """As pytest-repeat and pytest-rerunfailures run a test."""
    pytester.makeconftest("""
        import pytest
        @pytest.fixture
        def __pytest_repeat_step_number(request): return request.param
        @pytest.hookimpl(trylast=True)
        def pytest_generate_tests(metafunc):
            metafunc.fixturenames.append("__pytest_repeat_step_number")
            metafunc.parametrize("__pytest_repeat_step_number", range(3), indirect=True, ids=[f"{n}-3" for n in (1, 2, 3)])
        def pytest_runtest_protocol(item, nextitem):
            from _pytest.runner import runtestprotocol
            for n in range(2):
                item._initrequest()
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    if n == 0 and report.failed:
                        report.outcome = "rerun"
                    item.ihook.pytest_runtest_logreport(report=report)
            return True
    """)
    pytester.makepyfile("""
        import pytest
        seen = set()
        @pytest.mark.parametrize("case", ["2-3", "x"])
        def test_it(request, case):
            first = request.node.nodeid not in seen
            seen.add(request.node.nodeid)
            assert not first or "[x-1-3]" not in request.node.nodeid
    """)
    pytester.runpytest("--evalstats-out", "out.jsonl")
    rows = [
        (str(row["item"]).rpartition("::")[2], row["trial"], row["score"])
        for row in rows_of(pytester.path / "out.jsonl")
    ]
    assert rows == [
        ("test_it[2-3]", 0, 1), ("test_it[2-3]", 1, 1), ("test_it[2-3]", 2, 1),
        ("test_it[x]", 0, 0), ("test_it[x]", 1, 1), ("test_it[x]", 2, 1),
    ]  # fmt: skip


def test_a_run_is_compared_with_an_earlier_one(pytester):
    pytester.makepyfile("""
        import os, pytest
        @pytest.mark.parametrize("case", range(40))
        def test_it(case): assert case % int(os.environ["SHARE"])
    """)
    for name, share, more in (("old", "2", []), ("new", "20", ["--evalstats-baseline", "old.jsonl"])):
        pytester._monkeypatch.setenv("SHARE", share)
        done = pytester.runpytest("--evalstats-out", f"{name}.jsonl", *more)
    done.stdout.fnmatch_lines(["BETTER: new is better than old. +45.0 pp; 95% CI *"])


@pytest.mark.usefixtures("_ours_alone")
@pytest.mark.parametrize("workers", [[], ["-p", "xdist", "-n", "1"]])
def test_a_test_fails_where_the_candidate_is_worse(pytester, workers):
    for folder, share in (("main", 5), ("change", 3), ("bad", 1)):
        write(pytester.path / folder / "qa.jsonl", share)
    pytester.makepyfile(test_fine=GATE.format("change/qa.jsonl"), test_bad=GATE.format("bad"))
    done = pytester.runpytest("--evalstats-baseline", "main", "--junit-xml", "junit.xml", *workers)
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError: bad is worse*",
            "*= evalstats =*",
            "test_bad.py::test_candidate: WORSE: bad is worse than main*",
        ]
    )
    assert "evalstats/testing.py" not in done.stdout.str()
    cases = {case.get("classname"): case for case in ET.parse(pytester.path / "junit.xml").iter("testcase")}  # noqa: S314 - our own
    told = {each.get("name"): each.get("value") for each in cases["test_bad"].iter("property")}
    assert told["evalstats.verdict"] == "worse"
    assert float(told["evalstats.estimate"] or "") == -0.8
    assert {*told} == {
        "evalstats",
        *(f"evalstats.{x}" for x in ("verdict", "estimate", "conf_low", "conf_high", "p_value", "n_items")),
    }


def test_a_mark_gives_options_and_a_call_goes_before_it(pytester):
    write(pytester.path / "main" / "qa.jsonl", 5, model="m")
    write(pytester.path / "change" / "qa.jsonl", 4, model="m")
    pytester.makepyfile("""
        import pytest
        from evalstats import CannotAnswerError, InputError
        pytestmark = pytest.mark.evalstats(margin="1pp")
        def test_strict(evalstats_compare):
            with pytest.raises(AssertionError, match="within 1 pp is not established"):
                evalstats_compare("change", "main")
        @pytest.mark.evalstats(margin="40pp")
        def test_nearer(evalstats_compare): assert evalstats_compare("change", "main").margin == 0.4
        def test_call(evalstats_compare): assert evalstats_compare("change", "main", margin="50pp").margin == 0.5
        def test_same(evalstats_compare):
            with pytest.raises(CannotAnswerError, match="same bytes"):
                evalstats_compare("change", "change")
        def test_typo(evalstats_compare):
            with pytest.raises(InputError, match="no such file"):
                evalstats_compare("chance", "main")
        def test_nothing_to_compare_with(evalstats_compare): evalstats_compare("change")
    """)
    done = pytester.runpytest("--strict-markers")
    done.assert_outcomes(passed=5, failed=1)
    done.stdout.fnmatch_lines(["*nothing to compare with: give --evalstats-baseline PATH, or baseline=PATH"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--evalstats-out", "rows.csv"], "*--evalstats-out rows.csv: name a .jsonl file in a folder that exists"),
        (
            ["--evalstats-out", "no/rows.jsonl"],
            "*--evalstats-out no/rows.jsonl: name a .jsonl file in a folder that exists",
        ),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_any_test_runs(pytester, arguments, told):
    pytester.makepyfile("def test_it(): raise SystemExit('this cost money')")
    done = pytester.runpytest(*arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([told])


def test_an_earlier_file_outlives_a_run_without_cases(pytester):
    (pytester.path / "rows.jsonl").write_text("kept")
    pytester.makepyfile("def not_a_test(): pass")
    pytester.runpytest("--evalstats-out", "rows.jsonl").stdout.fnmatch_lines(
        ["No case ran, so rows.jsonl was not written."]
    )
    assert (pytester.path / "rows.jsonl").read_text() == "kept"


def test_a_number_of_trials_that_is_none(pytester):
    test = "import pytest\n@pytest.mark.evalstats_trials({})\ndef test_it(): pass"
    pytester.makepyfile(**{f"test_{k}": test.format(given) for k, given in enumerate(("", "0", "True", "2, 3"))})
    done = pytester.runpytest()
    done.assert_outcomes(errors=4)
    # The lines of the errors alone: where CI is set, the summary repeats each message whole.
    said = [line for line in done.outlines if line.startswith("E ")]
    assert [line.endswith("evalstats_trials takes one number of runs, such as 5") for line in said] == [True] * 4


def test_what_every_pytest_loads_imports_nothing_of_evalstats(pytester):
    pytester.makepyfile(
        "import sys\ndef test_it(): print([name for name in sys.modules if name.startswith(('evalstats', 'numpy', 'polars'))])"
    )
    done = pytester.runpytest_subprocess("-s", "-q")
    done.stdout.fnmatch_lines(["[[]'evalstats', 'evalstats.pytest_plugin']"])


def test_a_pytest_without_newer_names_loads_it(monkeypatch):
    # Whoever installs evalstats gets the plugin into every suite there; pytest 7.4 has no such name.
    monkeypatch.delattr(pytest, "TerminalReporter")
    assert runpy.run_path(pytest_plugin.__file__)["pytest_terminal_summary"]


def test_the_plugin_is_an_entry_point():
    code = (
        "from importlib.metadata import entry_points; print(*(each.value for each in entry_points(group='pytest11')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "evalstats.pytest_plugin" in found.stdout.split()
