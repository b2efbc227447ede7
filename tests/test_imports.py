"""Imports go one way, and nothing heavy is imported before it is used."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

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
    "testing": {"errors", "schema", "loaders", "store", "analysis"},
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


def loaded_by(code: str, names: tuple[str, ...], folder: Path | None = None) -> tuple[str, str]:
    """What code prints in a process of its own, and which of these modules are loaded when it is done."""
    told = f"{code}\nimport sys\nprint([name for name in {names!r} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout, done.stderr.splitlines()[-1]


def loaded_by_command(words: str, names: tuple[str, ...], folder: Path | None = None) -> tuple[str, str]:
    code = (
        f"import sys; sys.argv = ['evalstats', *{words.split()!r}]\n"
        "from evalstats.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code\n"
    )
    return loaded_by(code, names, folder)


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded_by("import evalstats", HEAVY)[1] == "[]"


def test_the_help_imports_no_numbers() -> None:
    assert loaded_by_command("--help", HEAVY[:8])[1] == "[]"


def test_a_comparison_loads_no_solver_and_nothing_that_nobody_asked_for() -> None:
    """scipy.stats and scipy.optimize are half of the time that a short answer takes."""
    late = ("stats.betting", "analysis.posterior.difference", "analysis.posterior.ranks", "analysis.compare.unpaired")
    code = "import evalstats as es\nes.compare(es.datasets.tenacious_held_out(), 'baseline', 'trained').summary()"
    names = ("scipy.stats", "scipy.optimize", "scipy.sparse", *(f"evalstats.{name}" for name in late))
    assert loaded_by(code, names)[1] == "[]"


@pytest.mark.parametrize("question", ["score", "leaderboard", "audit"])
def test_a_short_answer_on_several_models_loads_no_solver(question: str, tmp_path: Path) -> None:
    """scipy.stats, and what it brings along, takes as long to load as all the rest of a short board."""
    rows = "".join(f"q{i},m{j},{(i + j) % (j + 2) % 2}\n" for i in range(30) for j in range(3))
    (tmp_path / "scores.csv").write_text("item,model,score\n" + rows)
    names = ("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.linalg")
    said, loaded = loaded_by_command(f"{question} scores.csv --quiet", names, tmp_path)
    assert said
    assert loaded == "[]"


def test_ratings_load_no_solver(tmp_path: Path) -> None:
    """scipy.optimize is a tenth of a large arena's time and a quarter of a small one's."""
    rows = "".join(
        f"{a},{b},{'model_a' if (i + j) % 3 else 'tie'}\n"
        for i in range(20)
        for j, (a, b) in enumerate(("xy", "yz", "zx"))
    )
    (tmp_path / "votes.csv").write_text("model_a,model_b,winner\n" + rows)
    said, loaded = loaded_by_command("arena votes.csv --quiet", ("scipy.stats", "scipy.optimize"), tmp_path)
    assert said
    assert loaded == "[]"


def test_a_command_on_two_tables_loads_no_reader_of_options_and_no_transforms(tmp_path: Path) -> None:
    """pydantic, which typer asks for every option, and scipy.fft are a tenth of the time that a short answer takes."""
    for side, scores in {"a": "1,0,1,0,1,1,0,1", "b": "1,1,1,0,1,1,1,0"}.items():
        rows = "".join(f"q{i},{side},{score}\n" for i, score in enumerate(scores.split(",")))
        (tmp_path / f"{side}.csv").write_text("item_id,model,score\n" + rows)
    names = ("pydantic", "scipy.fft", "scipy.stats")
    said, loaded = loaded_by_command("compare a.csv b.csv --quiet", names, tmp_path)
    assert "95% CI" in said
    assert loaded == "[]"


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
