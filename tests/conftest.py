"""Fixtures shared by all tests."""

import atexit
import gc
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

from tests.tally import pytest_terminal_summary, tally

__all__ = ["pytest_terminal_summary", "tally"]

# A deadline says how busy the machine is, not whether the code is right. The suite tries the same examples everywhere,
# so that it passes or fails by what was changed; `make test-all` searches for new ones, and three times as many.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("search", deadline=None)
settings.load_profile("same")


# What these look at is computed once in a process, so they go to one together.
_TOGETHER = frozenset({
    "tests/frozen/test_frozen.py", "tests/golden_texts/test_golden_texts.py", "tests/analysis/test_every_result.py",
    "tests/analysis/test_shown_frame.py", "tests/document/test_own_documents.py", "tests/report/test_question_pages.py",
})  # fmt: skip
_LONGEST = frozenset({
    *(Path(name).name for name in _TOGETHER), "test_every_page.py", "test_browser.py", "test_pictures.py", "test_gallery.py",
    "test_any_format.py", "test_names_as_they_are.py", "test_merged_store.py", "test_notebooks.py",
    "test_readme.py", "test_fuzz.py", "test_family.py", "test_score_changes.py", "test_many_models_simulated.py",
})  # fmt: skip

_HERE = Path(__file__).resolve().parent
_PYTHONS = gc.get_threshold()
_SEARCHES = (20_000, 20, 50)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep what collecting made, 600,000 objects that stay to the end, out of every later search for garbage.

    Drawing makes so much garbage that a quarter of the processor time of tests of figures went into these searches. What
    is searched for comes up rarely, so that a search for each 700 new objects, as Python has it, finds next to nothing.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*_SEARCHES)
        gc.enable()


class _WhereExamplesAre:
    """Examples are looked for in modules that show some: not in tests, nor in half of the package."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        found = yield
        if any(isinstance(each, DoctestModule) for each in found) and (
            _HERE in file_path.parents or b">>>" not in file_path.read_bytes()
        ):
            return [each for each in found if not isinstance(each, DoctestModule)]
        return found


def pytest_configure(config: pytest.Config) -> None:
    """What this file says of collecting is asked for this folder alone; a plugin is asked for the package, too."""
    config.pluginmanager.register(_WhereExamplesAre())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that take longest, so that no process is left with one of them at the end."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """A process for each file, as `--dist loadfile` says, and one for those that share what they compute."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler.loadfile import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return "together" if file in _TOGETHER else file

    return Scheduling(config, log)


def pytest_unconfigure() -> None:
    """Give it back, so that bindings find their objects gone at the end and report no leak.

    Not before pytest has searched five times for what its last tests left: what was collected is none of that.
    """
    gc.set_threshold(*_PYTHONS)
    atexit.register(gc.unfreeze)


def _shared_folder() -> Path | None:
    """The folder of real result files: EVALSTATS_SHARED, else `shared` beside the project."""
    named = os.environ.get("EVALSTATS_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared"
    return folder if (folder / "data").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder; the test is skipped where there is none."""
    folder = _shared_folder()
    if folder is None:
        pytest.skip("real result files are not here: set EVALSTATS_SHARED or put `shared` beside the project")
    return folder


@pytest.fixture(scope="session")
def shared_data(shared: Path) -> Path:
    """Real result files."""
    return shared / "data"


@pytest.fixture(scope="session")
def golden(shared: Path) -> Path:
    """Reference values with their sources."""
    return shared / "golden"
