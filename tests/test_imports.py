"""Imports go one way, and nothing heavy is imported before it is used."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.module_graph import circle_message, import_graph, in_circles, names_in, unreachable

PACKAGE = Path(__file__).resolve().parents[1] / "evalstats"

# Who may import whom. A part may always import itself, the grammar and records.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "grammar": set(),
    "record": set(),
    "options": {"errors", "schema"},
    "questions": {"options"},
    "regular": set(),
    "atomic": {"errors", "regular"},
    "schema": {"errors"},
    "document": {"errors"},
    "stats": {"errors"},
    "loaders": {"errors", "regular", "schema", "table", "store"},
    "store": {"errors", "regular", "schema", "table"},
    "datasets": {"errors", "schema"},
    "table": {"errors", "schema", "stats"},
    "simulate": {"errors", "schema", "stats", "datasets"},
    "analysis": {"errors", "options", "questions", "regular", "atomic", "schema", "document", "stats", "table", "simulate"},
    "testing": {"errors", "schema", "loaders", "store", "table", "analysis"},
    "pytest_plugin": {"errors", "atomic", "document", "loaders", "analysis", "testing"},
    "plots": {"errors", "document"},
    "report": {
        "errors", "questions", "regular", "atomic", "schema", "document", "analysis", "plots", "loaders", "store", "simulate",
        "datasets",
    },
    "exporters": {
        "errors", "regular", "atomic", "schema", "document", "stats", "table", "loaders", "analysis", "report",
    },
    "cli": {
        "errors", "options", "questions", "regular", "atomic", "schema", "document", "analysis", "plots", "report", "loaders",
        "store", "simulate", "datasets", "stats", "exporters", "table",
    },
}  # fmt: skip


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


def imported_parts(path: Path) -> set[tuple[str, int]]:
    """Parts of evalstats that a module imports, anywhere in it, with the line."""
    return {
        (name.split(".")[1], line)
        for name, line, imported in names_in(path)
        if imported and name.startswith("evalstats.")
    }


MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.parent != PACKAGE
    or path.stem
    in ("errors", "grammar", "record", "options", "questions", "regular", "atomic", "testing", "pytest_plugin")
)


def test_every_part_has_a_place_in_the_order() -> None:
    assert {part_of(path) for path in MODULES} == set(ALLOWED)


def test_imports_go_one_way() -> None:
    turned_round = [
        f"{path.relative_to(PACKAGE)}, line {line}: {part_of(path)} imports {other}"
        for path in MODULES
        for other, line in imported_parts(path)
        if other not in ALLOWED[part_of(path)] | {part_of(path), "grammar", "record"}
    ]
    assert turned_round == []


def test_the_order_has_no_circle() -> None:
    done: set[str] = set()
    while len(done) < len(ALLOWED):
        ready = {part for part, needs in ALLOWED.items() if part not in done and needs <= done}
        assert ready, f"circle among {set(ALLOWED) - done}"
        done |= ready


# Both may only fall: whoever takes a module out of a circle, or wires or deletes one, lowers the number.
MOST_IN_CIRCLES = 0
MOST_UNREACHABLE = 0


def test_modules_import_one_another_in_no_circle() -> None:
    graph = import_graph()
    found = in_circles(graph)
    assert found <= MOST_IN_CIRCLES, (
        f"{found} modules stand in circles, of at most {MOST_IN_CIRCLES}:\n{circle_message(graph)}"
    )


def test_every_module_is_reached_from_a_public_name_a_command_or_a_page() -> None:
    found = unreachable()
    assert len(found) <= MOST_UNREACHABLE, f"{len(found)} modules that nobody reaches: {', '.join(found)}"


HEAVY = (
    "polars",
    "numpy",
    "scipy",
    "matplotlib",
    "pandas",
    "great_tables",
    "statsmodels",
    "rich",
    "typer",
    "papermill",
)


# What a process may be asked, one after the other, and what nothing so far has loaded.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("import evalstats", HEAVY),
    ("typed('--help')", HEAVY[:8]),
    # pydantic, which typer asks for every option, and scipy.fft are a tenth of the time that a short answer takes.
    ("typed('compare a.csv b.csv --quiet')", ("pydantic", "scipy.fft", "scipy.stats")),
    (
        "evalstats.compare(evalstats.datasets.tenacious_held_out(), 'baseline', 'trained').summary()",
        (
            *("scipy.stats", "scipy.optimize", "scipy.sparse", "evalstats.stats.betting"),
            *("evalstats.analysis.posterior.difference", "evalstats.analysis.posterior.ranks"),
            "evalstats.analysis.compare.unpaired",
        ),
    ),
    # scipy.stats, and what it brings along, takes as long to load as all the rest of a short board.
    *(
        (f"typed('{question} scores.csv --quiet')", ("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.linalg"))
        for question in ("score", "leaderboard", "audit")
    ),
    # scipy.optimize is a tenth of a large arena's time and a quarter of a small one's.
    ("typed('arena votes.csv --quiet')", ("scipy.stats", "scipy.optimize")),
)
TYPED = """
import contextlib, io, sys
def typed(words):
    sys.argv = ['evalstats', *words.split()]
    from evalstats.cli.main import main
    with contextlib.redirect_stdout(io.StringIO()) as told:
        try:
            main()
        except SystemExit as done:
            assert not done.code
    assert told.getvalue(), words
"""


def test_nothing_heavy_is_loaded_before_it_is_used(tmp_path: Path) -> None:
    for side, scores in {"a": "1,0,1,0,1,1,0,1", "b": "1,1,1,0,1,1,1,0"}.items():
        rows = "".join(f"q{i},{side},{score}\n" for i, score in enumerate(scores.split(",")))
        (tmp_path / f"{side}.csv").write_text("item_id,model,score\n" + rows)
    rows = "".join(f"q{i},m{j},{(i + j) % (j + 2) % 2}\n" for i in range(30) for j in range(3))
    (tmp_path / "scores.csv").write_text("item,model,score\n" + rows)
    rows = "".join(
        f"{a},{b},{'model_a' if (i + j) % 3 else 'tie'}\n"
        for i in range(20)
        for j, (a, b) in enumerate(("xy", "yz", "zx"))
    )
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner\n" + rows)
    asked = "\n".join(
        f"{step}\nprint([name for name in {names!r} if name in sys.modules], {step!r})" for step, names in STEPS
    )
    done = subprocess.run(
        [sys.executable, "-c", TYPED + asked], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [f"[] {step}" for step, _ in STEPS]


def test_the_report_can_be_called_whatever_was_imported_before() -> None:
    code = (
        "import evalstats as es\n"
        "first = es.report\n"
        "import evalstats.report.render as render\n"
        "assert callable(first) and callable(es.report) and callable(render.report)\n"
        "from evalstats.errors import InputError\n"
        "for _ in range(2):\n"
        "    try:\n        es.report('nonsense', es.EvalData())\n"
        "    except InputError as error:\n        print('InputError')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["InputError", "InputError"], done.stderr


def test_every_public_name_can_be_had() -> None:
    import evalstats

    for name in evalstats.__all__:
        assert getattr(evalstats, name) is not None


def test_the_version_is_that_of_the_installed_package() -> None:
    import evalstats

    assert evalstats.__version__ == version("evalstats-toolkit")


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    import evalstats

    assert dir(evalstats) == sorted(evalstats.__all__)
