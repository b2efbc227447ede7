"""Mutants are faults, are left out by the stated rules, and kill and spare as they should."""

import gc
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from dev.mutation.chapters import STATS, modules, questions, suite_of
from dev.mutation.fault import live_functions, put
from dev.mutation.mutants import compiled, mutants, sample, source_of
from evalstats.errors import InputError

SOURCE = '''
"""A module."""

from typing import TypeAlias

LIMIT = 3
_TOLERANCE = 0.5
Maybe: TypeAlias = int | None

def f(a: int, b: int = 2) -> int:
    """Words with 1 and 2."""
    if a < 1e-9:
        raise ValueError("no " + str(1))
    for _ in range(50):
        a = max(a, b)
    return a + b * LIMIT
'''


@pytest.fixture
def module(tmp_path) -> Path:
    file = tmp_path / "module.py"
    file.write_text(SOURCE)
    return file


def changes(file: Path) -> set[tuple[str, str]]:
    return {(mutant.before, mutant.after) for mutant in mutants(file)}


def test_the_mutants_of_a_module_are_these(module):
    assert changes(module) == {
        ("3", "4"),  # LIMIT
        ("2", "3"),  # the default of b
        ("if a < 1e-09:", "if False:"),
        ("a < 1e-09", "a >= 1e-09"),
        ("max(a, b)", "min(a, b)"),
        ("a + b * LIMIT", "a - b * LIMIT"),
        ("b * LIMIT", "b / LIMIT"),
    }


@pytest.mark.parametrize(
    ("line", "left_out"),
    [
        ("x = np.sum(a, axis=1)", set()),
        ("x = fsolve(f, tol=0.5)", {"0.5"}),
        ("x = zip(a, b, strict=True)", {"True"}),
        ("x = cast('list[int]', a)", {"True"}),
        ("reason = 'only ' + 'words'", {"+"}),
        ("raise InputError(f'{1 + 1} items')", {"1 + 1"}),
        ("x = -1e-8 * b", {"*"}),
        ("rows_are_cheaper = a < 3 * b", {"3"}),
        ("first_guess = 3 * b", {"3"}),
        ("n_steps += 1", {"1"}),
        ("x = np.empty((0, b))", {"0"}),
        ("x = np.zeros(b)", set()),
        ("x = a.reshape(b, -1)", {"-1"}),
    ],
)
def test_rules_leave_out(tmp_path, line, left_out):
    file = tmp_path / "module.py"
    file.write_text(f"def f(a, b):\n    {line}\n")
    found = changes(file)
    assert bool(found) is not bool(left_out), found


def test_branches_that_only_choose_the_cheaper_way_or_leave_a_loop_later_are_left_out(tmp_path):
    file = tmp_path / "module.py"
    file.write_text(
        "def f(a, b, dense_is_cheaper):\n"
        "    if dense_is_cheaper:\n        return a * b\n"
        "    while b:\n"
        "        if a < 1e-9:\n            break\n"
        "        if a < b:\n            break\n\n"
        "def one_is_cheaper(a):\n    return a > 3\n"
    )
    assert changes(file) == {
        ("a * b", "a / b"),
        ("a < 1e-09", "a >= 1e-09"),
        ("if a < b:", "if False:"),
        ("a < b", "a <= b"),
        ("a < b", "a >= b"),
        ("break", "continue"),
    }
    assert [mutant.before for mutant in mutants(file)].count("break") == 1


def test_a_mutant_runs_as_its_change_says(module):
    (swapped,) = (mutant for mutant in mutants(module) if mutant.after == "a - b * LIMIT")
    assert (swapped.function, list(swapped.lines), swapped.operator) == ("f", [16], "arithmetic")
    space: dict[str, Any] = {}
    exec(compiled(swapped), space)  # noqa: S102 - made above
    assert space["f"](5) == 5 - 2 * 3
    with pytest.raises(ValueError, match="no 1"):
        space["f"](0)


def test_the_sample_is_the_same_twice_and_holds_no_program_twice(module):
    first, possible = sample([module], 5, seed=3)
    again, _ = sample([module], 5, seed=3)
    assert [mutant.key for mutant in first] == [mutant.key for mutant in again]
    assert possible == len(mutants(module))
    assert len({mutant.key for mutant in first}) == 5
    everything, _ = sample([module], 99, seed=3)
    assert first == everything[:5]
    assert {m.key for m in first} != {m.key for m in sample([module], 5, seed=4)[0]}


def test_an_edit_of_one_function_leaves_the_mutants_of_others(module):
    before = {mutant.key for mutant in mutants(module)}
    module.write_text(
        SOURCE
        + textwrap.dedent("""
        def g(x):
            return x + 1
    """)
    )
    source_of.cache_clear()
    after = {mutant.key for mutant in mutants(module)}
    assert before < after


def test_every_module_belongs_to_one_chapter():
    found = [file for files in modules().values() for file in files]
    assert len(found) == len(set(found))
    assert {file for file in STATS.rglob("*.py") if file.name != "__init__.py"} == set(found)
    assert all(modules().values())


def test_questions_of_the_analysis_have_files_that_compute():
    found = questions()
    assert {"analysis/compare", "analysis/arena", "analysis/design"} <= set(found)
    names = [file.stem for files in found.values() for file in files]
    assert "compare" in names
    assert not {"document", "options", "__init__"} & set(names)
    assert suite_of("analysis/compare").tests[0] == "tests/analysis/compare"
    assert suite_of("judges").name == "stats"


def test_live_code_changes_and_constants_and_defaults_too():
    from evalstats.analysis.contamination import twins
    from evalstats.stats import checks

    file = Path(checks.__file__)
    every = {(mutant.function, mutant.before, mutant.after): mutant for mutant in mutants(file)}
    functions = live_functions()
    gc.freeze()  # as the session left it
    old = checks.few_items.__code__
    try:
        assert checks.few_items(10) == ()
        assert put(every["few_items", "n >= FEW_ITEMS", "n > FEW_ITEMS"], functions)
        assert checks.few_items(10) != ()
        assert checks.few_items(11) == ()
    finally:
        checks.few_items.__code__ = old
    # The name is changed wherever it was imported, and put back there for the tests that follow in this process.
    holders = [module for module in list(sys.modules.values()) if module.__dict__.get("FEW_ITEMS") is checks.FEW_ITEMS]
    assert len(holders) > 1
    try:
        assert put(every["", "10", "11"], functions)
        assert checks.few_items(10) != ()
        assert {module.__dict__["FEW_ITEMS"] for module in holders} == {11}
    finally:
        for module in holders:
            module.__dict__["FEW_ITEMS"] = 10
    defaults = checks.check_count.__kwdefaults__
    try:
        assert put(every["check_count", "0", "1"], functions)
        with pytest.raises(InputError, match="at least 1"):
            checks.check_count(0, "n")
    finally:
        checks.check_count.__kwdefaults__ = defaults
    assert checks.check_count(0, "n") == 0
    assert twins.FEW_ITEMS == checks.FEW_ITEMS == 10
