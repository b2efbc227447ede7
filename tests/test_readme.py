"""What the README and the guides tell a reader to type works as it stands."""

import re
import shlex
import shutil
from contextlib import chdir
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evalstats
from evalstats.cli.ingest_run import ingest
from evalstats.exporters.label_sheet import key_path
from evalstats.simulate.arena import write_arena
from evalstats.simulate.arena_world import ArenaDesign
from evalstats.simulate.benchmark_files import write_tau_airline, write_tenacious_traces
from evalstats.simulate.lab_live import write_lab_live
from evalstats.simulate.rutbench import write_rutbench
from tests.exporters.test_label_sheet import fill, scores
from tests.suites import write_suite
from tests.typed import typed

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
OWN_TABLES = (ROOT / "docs" / "own-tables.md").read_text(encoding="utf-8")
GUIDES = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "guides").glob("*.md")))
PYTHON = {"README": README, "in-python": (ROOT / "docs" / "in-python.md").read_text(encoding="utf-8")}
# These lines speak of the reader's own files.
OWN_FILES = ("old_run/", "logs/", "results.csv", "build/changes.json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which `build/demo` is what `make demo` leaves there, without the reports; with fewer simulated tasks."""
    root = tmp_path_factory.mktemp("clone")
    results = root / "build" / "demo" / "results"
    paths = [write_tenacious_traces(results / "tenacious"), write_tau_airline(results / "tau-bench")]
    paths += write_rutbench(results / "rutbench-simulated", models=["GLM-5.1", "GPT-5.4"], seed=0, n_tasks=40)
    ingest(paths, root / "build" / "demo" / "store")
    _simulated(root)
    _watched(root / "evals")
    write_suite(root / "runs", {"base": 0.0, "tuned": 0.3}, share=0.2)
    rng = np.random.default_rng(0)
    visits = [
        {
            "model": version,
            "user": f"{version}-{user}",
            "country": ("de", "fr", "pl")[user % 3],
            "solved": int(rng.random() < rate),
        }
        for version, rate in (("v1", 0.5), ("v2", 0.52), ("v3", 0.6))
        for user in range(200)
        for _ in range(3)
    ]
    pl.DataFrame(visits).write_csv(root / "visits.csv")
    _labelled(root)
    return root


def _simulated(folder: Path) -> None:
    """Simulate an arena and a lab with its live world as the README does, smaller."""
    write_arena(folder / "build" / "arena", 300, seed=0, design=ArenaDesign(models=4))
    write_lab_live(folder / "build" / "lab-live", n_models=6, seed=0)


def _labelled(folder: Path) -> None:
    """Put a judge's scores, a sheet that a person filled in, and its labels into a folder, as the guide on labelling does."""
    scores().write_csv(folder / "judged.csv")
    sheet = folder / "sheet.csv"
    for each in (sheet, key_path(sheet)):
        each.unlink(missing_ok=True)
    evalstats.draw_labels(evalstats.read(folder / "judged.csv"), n=80).write(sheet)
    fill(sheet)
    done = typed("label", "read", "sheet.csv", "-o", "labels.csv", folder=folder)
    assert done.returncode == 0, done.stderr


def _watched(store: Path) -> None:
    """Put two days of one model on 40 items into a store, as the guide on watching does."""
    rows = [
        {
            "item": f"q{i}",
            "model": "m",
            "score": (i + 3 * day) % 4 > 0,
            "run": f"day {day}",
            "at": f"2026-06-0{day}T08:00:00Z",
        }
        for day in (1, 2)
        for i in range(40)
    ]
    table = store.parent / "watched.csv"
    pl.DataFrame(rows).write_csv(table)
    done = typed(
        "ingest", "watched.csv", "--map", "run=run", "--map", "timestamp=at", "--store", store.name, folder=store.parent
    )
    assert done.returncode == 0, done.stderr


def shell_lines() -> list[str]:
    joined = f"{README}\n{GUIDES}".replace("\\\n", " ")
    found = [line.split(" #")[0].strip("$ \n") for line in joined.splitlines() if line.startswith("$ evalstats")]
    return [line for line in dict.fromkeys(found) if not any(own in line for own in OWN_FILES)]


@pytest.mark.parametrize("line", shell_lines())
def test_shell_line(line: str, folder: Path) -> None:
    if "--engine quarto" in line and shutil.which("quarto") is None:
        pytest.skip("Quarto is not on the path")
    if "label draw" in line:
        # A sheet with labels is never written over.
        (folder / "sheet.csv").unlink()
        key_path(folder / "sheet.csv").unlink()
    done = typed(*shlex.split(line)[1:], folder=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr  # what was written is said on stderr
    if "label draw" in line:
        fill(folder / "sheet.csv")
    if "simulate" in line:
        _simulated(folder)


@pytest.mark.parametrize("page", PYTHON)
def test_python_block(page: str, folder: Path) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PYTHON[page], flags=re.DOTALL)
    made = folder / "build" / "demo" / "page.html"
    made.unlink(missing_ok=True)
    # In this process modules are loaded already, and `es.` would reach one that is no public name.
    assert set(re.findall(r"\bes\.(\w+)", block)) <= set(evalstats.__all__)
    with chdir(folder):
        exec(compile(block, page, "exec"), {"__name__": "__main__"})  # noqa: S102 - the reader's own code
    assert made.is_file()


def test_quoted_answers_are_what_is_printed(folder: Path) -> None:
    quotes = re.findall(r"^\$ evalstats (compare .*)\n([A-Z]+: .*\n.*\n)\.\.\.", README, flags=re.MULTILINE)
    assert quotes
    for quoted in quotes:
        done = typed(*shlex.split(quoted[0]), folder=folder)
        assert done.returncode == 0, done.stderr
        assert quoted[1].strip() in done.stdout


def test_every_format_of_the_map_table_is_known() -> None:
    from evalstats.loaders.column_map import ColumnMap

    rows = re.findall(r"^\| `([^|`]+=[^|`]*)`(?:, `([^|`]+)`)? \|", OWN_TABLES, flags=re.MULTILINE)
    options = [option for row in rows for option in row if option and "=" in option]
    assert len(options) >= 7
    for option in options:
        ColumnMap.from_options([option])


def test_links_of_the_readme_and_the_docs_lead_somewhere() -> None:
    names = ("tables.md", "formats/index.md", "methods/index.md", "reference/index.md")
    made = {ROOT / "docs" / name for name in names}
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for address in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
            target = (path.parent / address).resolve()
            assert target.exists() or target in made, f"{path.name}: {address}"
