"""The check finds a made regression, and nothing where there is none; the page is made of what is stored."""

import json

import pytest

from benchmarks import __main__ as program
from benchmarks import check as checks
from benchmarks import commands
from benchmarks.cases import CASES, OURS, SLOWER
from benchmarks.check import check, regressions
from benchmarks.page import FIGURE, PAGE, drawing, text

STORED = json.loads(program.RESULTS.read_text(encoding="utf-8"))
QUICK = [case for case in CASES if case.quick is not None]


def quick_rows(ratio=1.0):
    """Return what `measure` would give if all were as stored, times `ratio`."""

    def measure(case, size, packages, *, often=1):
        for row in STORED["rows"]:
            if (row["case"], row["size"]) == (case.name, size) and row["package"] in {OURS, *packages}:
                yield row if row["package"] == OURS else row | {"ratio": row["ratio"] * ratio}

    return measure


def row(package="scipy", **more):
    return {"case": "bootstrap", "size": 1000, "package": package, "seconds": 1.0, "ratio": 100.0, "miss": None} | more


@pytest.mark.parametrize(("ratio", "found"), [(99.0, 0), (100 / SLOWER + 1, 0), (100 / SLOWER - 1, 1), (1000.0, 0)])
def test_a_ratio_that_is_worse_than_the_factor_is_a_regression(ratio, found):
    assert len(list(regressions([row()], [row(ratio=ratio)]))) == found


def test_the_sentence_names_the_case_what_was_found_and_what_was_expected():
    (said,) = regressions([row()], [row(ratio=20.0)])
    assert said == (
        "bootstrap at 1,000: slower. scipy takes 20 times our time, stored is 100; at least 66.7 is expected"
    )


def test_an_answer_that_is_less_exact_is_a_regression():
    before = row(OURS, ratio=None, miss=1e-5)
    assert list(regressions([before], [row(OURS, ratio=None, miss=1e-3)]))
    assert not list(regressions([before], [row(OURS, ratio=None, miss=5e-5)]))
    assert not list(regressions([row(OURS, ratio=None, miss=0.0)], [row(OURS, ratio=None, miss=1e-12)]))


def test_what_was_never_stored_is_no_regression():
    assert not list(regressions([], [row(ratio=0.1)]))
    assert not list(regressions([row(seconds=None)], [row(ratio=0.1)]))


def test_nothing_is_reported_where_all_is_as_stored(monkeypatch):
    monkeypatch.setattr(checks, "measure", quick_rows())
    assert list(check(STORED["rows"])) == []


def test_a_made_regression_fails_the_check(monkeypatch, capsys):
    monkeypatch.setattr(checks, "measure", quick_rows(ratio=0.5))
    monkeypatch.setattr(commands, "measure", lambda *_: {"seconds": 1000.0, "floor_seconds": 1.0})
    monkeypatch.setattr("sys.argv", ["benchmarks", "--check"])
    assert program.main() == 1
    said = capsys.readouterr().err
    assert all(f"{name}: slower" in said for name in commands.QUICK)
    assert all(f"{case.name} at" in said for case in QUICK)


def test_a_disturbed_measurement_is_taken_again(monkeypatch):
    calls = []

    def measure(case, size, packages, *, often=1):
        calls.append(often)
        yield from quick_rows(ratio=0.5 if often == 1 else 1.0)(case, size, packages)

    monkeypatch.setattr(checks, "measure", measure)
    assert list(check(STORED["rows"])) == []
    assert calls == [1, 3] * len(QUICK)


def test_every_quick_case_is_stored_with_its_packages():
    there = {(row["case"], row["size"], row["package"]) for row in STORED["rows"] if row["seconds"] is not None}
    asked = {(case.name, case.quick[0], package) for case in QUICK for package in (OURS, *case.quick[1])}
    assert asked <= there


@pytest.mark.parametrize(("factor", "found"), [(1.0, 0), (SLOWER - 0.1, 0), (SLOWER + 0.1, len(commands.QUICK))])
def test_a_command_that_is_slower_beside_reading_its_file_is_a_regression(monkeypatch, factor, found):
    stored = [{"command": name, "seconds": 1.0, "floor_seconds": 0.5} for name in commands.QUICK]
    monkeypatch.setattr(commands, "measure", lambda *_: {"seconds": 2.0 * factor, "floor_seconds": 1.0})
    worse = list(checks.check_commands(stored))
    assert len(worse) == found
    assert all("stored is 2" in sentence for sentence in worse)


def test_the_page_is_made_of_the_stored_figures():
    """Where this fails, run `python -m benchmarks --page`."""
    assert PAGE.read_text(encoding="utf-8") == text(STORED)


def test_the_figure_names_every_package_that_was_measured():
    drawn = drawing(STORED["rows"])
    assert FIGURE.is_file()
    for name in ("evalstats-toolkit", *(set(STORED["packages"]) - {OURS, "evalstats"})):
        assert name in drawn
        assert name in FIGURE.read_text(encoding="utf-8")
