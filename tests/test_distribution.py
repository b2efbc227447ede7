"""What is published is what is ours, whole, and works where there is no checkout."""

import email
import email.message
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PAGES = "evalstats/report/pages/"
# Loads all that ships beside the code, as its readers do, and says which copy of the package did so.
READ_ALL = """
import evalstats
from evalstats import datasets
from evalstats.analysis.design.run_settings import RULES
from evalstats.analysis.method_texts import groups
from evalstats.datasets import tables
from evalstats.datasets.arena_sampling import load_arena_sampling
from evalstats.datasets.validation import load_validation, validation_names
from evalstats.report.engine import find_page
from evalstats.simulate.rutbench_world import __file__ as truth
assert RULES and groups() and load_arena_sampling() and datasets.rutbench_live_mix()
assert [datasets.load(name) for name in datasets.names()]
assert [load_validation(name) for name in validation_names()]
page = find_page("compare")
assert (page.extension / "fonts" / "boxes.ttf").read_bytes()
print(evalstats.__file__, truth, page.source, page.extension, sep="\\n")
"""


def build(folder: Path, *targets: str, source: Path = ROOT) -> list[Path]:
    """Return the archive and the wheel, or those of them that are asked for."""
    asked = [word for target in targets for word in ("-t", target)]
    command = [sys.executable, "-m", "hatchling", "build", *asked, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    return sorted(folder.iterdir(), key=lambda path: path.suffix == ".whl")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(tmp_path_factory.mktemp("built"), "sdist", "wheel")


@pytest.fixture(scope="module")
def archive(built: list[Path]) -> Path:
    return built[0]


@pytest.fixture(scope="module")
def wheel(built: list[Path]) -> Path:
    return built[1]


@pytest.fixture(scope="module")
def tracked() -> set[str]:
    """The files that the project's history holds; a checkout may have others lying about."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout, so nothing says which files are ours")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def content(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if ".dist-info/" not in name}


MAN_PAGE = f"evalstats_toolkit-{PROJECT['version']}.data/data/share/man/man1/evalstats.1"


def in_archive(archive: Path) -> set[str]:
    with tarfile.open(archive) as opened:
        return {"/".join(PurePosixPath(each.name).parts[1:]) for each in opened.getmembers() if each.isfile()}


def test_the_wheel_is_the_package_its_pages_and_the_man_page_and_nothing_else(wheel: Path, tracked: set[str]) -> None:
    ours = {name for name in tracked if name.startswith("evalstats/")}
    pages = {PAGES + name.removeprefix("reports/") for name in tracked if name.startswith("reports/")}
    assert {"evalstats/py.typed", PAGES + "_extensions/evalstats/fonts/boxes.ttf", PAGES + "compare.qmd"} < ours | pages
    assert content(wheel) == ours | pages | {MAN_PAGE}


def test_the_archive_holds_what_its_tests_need_and_nothing_untracked(archive: Path, tracked: set[str]) -> None:
    found = in_archive(archive) - {"PKG-INFO"}
    assert found <= tracked
    assert {name for name in tracked if name.startswith(("evalstats/", "reports/", "tests/", "docs/"))} <= found
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "dev/locks/requirements.lock"} <= found


def unpack(archive: Path, folder: Path) -> None:
    """Unpack an archive of our own; its filter came with Python 3.11.4."""
    with tarfile.open(archive) as opened:
        opened.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # noqa: S202 - ours


def test_what_lies_in_the_checkout_is_not_published(tmp_path: Path, archive: Path, wheel: Path) -> None:
    unpack(archive, tmp_path)
    (source,) = tmp_path.iterdir()
    for stray in ("results.jsonl", "reports/compare.html", "shared/data/rows.jsonl", "evalstats-demo/x.json"):
        (source / stray).parent.mkdir(parents=True, exist_ok=True)
        (source / stray).write_text("somebody's results")
    (again,) = build(tmp_path / "dist", "wheel", source=source)
    assert again.read_bytes() == wheel.read_bytes()
    # To pack the archive once more would take longer than all else here.
    listed = {each.distribution_path for each in SdistBuilder(str(source)).recurse_included_files()}
    assert listed | {"PKG-INFO", "LICENSE", "pyproject.toml", ".gitignore"} == in_archive(archive)


def test_what_ships_beside_the_code_is_read_out_of_the_wheel(wheel: Path, tmp_path: Path) -> None:
    inside = tmp_path / "unpacked"
    with zipfile.ZipFile(wheel) as opened:
        opened.extractall(inside)  # noqa: S202 - we built it just now
    environment = {**os.environ, "PYTHONPATH": str(inside)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", READ_ALL],
        check=False,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(inside) for line in done.stdout.splitlines())


def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as opened:
        (name,) = [each for each in opened.namelist() if each.endswith("/METADATA")]
        return email.message_from_string(opened.read(name).decode())


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    said = metadata(wheel)
    assert (said["Name"], said["Version"]) == ("evalstats-toolkit", PROJECT["version"])
    assert said["License-Expression"] == "MIT"
    assert set(said.get_all("Provides-Extra", [])) == {"report", "notebooks", "duckdb", "excel", "mcp", "spark", "dev"}
    assert said["Description-Content-Type"] == "text/markdown"


def test_the_version_is_the_same_everywhere() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == PROJECT["version"]
    assert cited["license"] == PROJECT["license"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    done = subprocess.run([sys.executable, "-m", "evalstats", "--version"], check=True, capture_output=True, text=True)
    assert done.stdout == f"evalstats {PROJECT['version']}\n"


def test_the_conda_recipe_needs_what_pip_installs() -> None:
    recipe = yaml.safe_load((ROOT / "dev" / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    assert recipe["package"] == {"name": PROJECT["name"], "version": PROJECT["version"]}
    needs = {each.partition(";")[0].replace(">=", " >=") for each in PROJECT["dependencies"]}
    found = {each.replace("matplotlib-base", "matplotlib") for each in recipe["requirements"]["run"]}
    assert found == needs | {f"python {PROJECT['requires-python']}"}


def test_an_index_shows_whole_addresses_where_the_project_says_its_own(tmp_path: Path, wheel: Path) -> None:
    address = "https://example.org/owner/name"
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("EVALSTATS_REPOSITORY", address)
        told = metadata(*build(tmp_path, "wheel"))
    urls = dict(each.split(", ") for each in told.get_all("Project-URL", []))
    assert urls["Source"] == address
    assert f"({address}/blob/v{PROJECT['version']}/docs/install.md)" in told.get_payload()
    assert re.findall(r"\]\((?!https:|#)", str(told.get_payload())) == []
    assert "Project-URL" not in metadata(wheel)
    assert metadata(wheel).get_payload().strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def pins(name: str) -> set[str]:
    """The packages of a lock, with version and the systems that need it."""
    return set(re.findall(r"^([a-z0-9][^ ]*==[^\\\n]*?) *\\$", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE))


def test_the_runtime_lock_is_a_part_of_the_whole_one() -> None:
    runtime = {pin.partition(" ;")[0] for pin in pins("dev/locks/requirements-runtime.lock")}
    everything = {pin.partition(" ;")[0] for pin in pins("dev/locks/requirements.lock")}
    assert runtime < everything
    named = {pin.partition("==")[0] for pin in runtime}
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["report"]]
    assert {re.split(r"[>\[]", each)[0].replace(".", "-") for each in asked} <= named
    assert not named & {"pytest", "ruff", "pyright", "hypothesis", "glmm", "jupyterlab"}


@pytest.mark.slow
def test_an_installed_wheel_does_the_whole_path_with_the_locked_packages(archive: Path, tmp_path: Path) -> None:
    """The wheel is made of the unpacked archive, as an installer without wheels would make it."""
    uv = ROOT / ".uv" / "bin" / "uv"
    if not uv.is_file():
        pytest.skip("no .uv: `make test` sets it up")
    unpack(archive, tmp_path / "source")
    (source,) = (tmp_path / "source").iterdir()
    (wheel,) = build(tmp_path / "dist", "wheel", source=source)
    home, bin_folder = tmp_path / "venv", tmp_path / "venv" / "bin"
    install = [uv, "pip", "install", "-q", "--python", bin_folder / "python", "--no-deps"]
    for command in (
        [uv, "venv", "-q", "--python", sys.executable, home],
        [*install, "--require-hashes", "-r", ROOT / "dev" / "locks" / "requirements-runtime.lock"],
        [*install, wheel],
        [uv, "pip", "check", "-q", "--python", bin_folder / "python"],
    ):
        subprocess.run(command, check=True, capture_output=True, text=True)
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}

    def said(*command: str | Path) -> str:
        return subprocess.run(command, cwd=tmp_path, env=plain, check=True, capture_output=True, text=True).stdout

    assert Path(
        said(bin_folder / "python", "-c", "import evalstats; print(evalstats.__file__)").strip()
    ).is_relative_to(home)
    version = f"evalstats {PROJECT['version']}\n"
    assert said(bin_folder / "evalstats", "--version") == version
    assert said(bin_folder / "python", "-m", "evalstats", "--version") == version
    assert (home / "share" / "man" / "man1" / "evalstats.1").is_file()
    said(bin_folder / "evalstats", "demo", "--output", "demo", "--to", "html", "--to", "pdf")
    made = {path.name: path for path in (tmp_path / "demo").glob("*.*")}
    assert {path.suffix for path in made.values()} == {".html", ".pdf"}
    for path in made.values():
        assert path.read_bytes().startswith(b"%PDF" if path.suffix == ".pdf" else b"<!DOCTYPE html>"), path
        assert str(ROOT).encode() not in path.read_bytes()
