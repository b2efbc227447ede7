"""Running cells: parameters, failures, time limits, whose start-up files run."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evalstats.errors import RenderError
from evalstats.report.kernel import run_cells
from evalstats.report.qmd import PageSource, parse_document

PAGE = """```{python}
#| tags: [parameters]
name = "default"
number = None
```

```{python}
print(repr((name, number)))
```

```{python}
import os, sys
print(sys.executable, os.getcwd(), os.environ["MPLBACKEND"], "started" in globals())
```
"""


def page(text: str) -> PageSource:
    return parse_document(text, Path("a.qmd"))


def ran(text: str, parameters: Mapping[str, object], folder: Path, *, time_limit: int = 60) -> list[list[Any]]:
    return run_cells(page(text), parameters, folder, time_limit=time_limit)


def test_cells_run_with_parameters_in_this_interpreter_and_folder_and_not_in_the_users_profile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    startup = tmp_path / "home" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "00.py").write_text("print('from the start-up file')\nstarted = 1\n")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "home"))
    hostile = "'\"\\ {x} \n#end"
    declared, told, place = ran(PAGE, {"name": hostile, "number": 0.5}, tmp_path)
    assert declared == []
    assert told[0]["text"] == f"{(hostile, 0.5)!r}\n"
    assert place[0]["text"].split() == [sys.executable, str(tmp_path.resolve()), "agg", "False"]


def test_our_errors_come_through_as_the_sentence_they_are(tmp_path: Path) -> None:
    text = "```{python}\nfrom evalstats.errors import InputError\nraise InputError('there is no model x')\n```"
    with pytest.raises(RenderError) as caught:
        ran(text, {}, tmp_path)
    assert str(caught.value) == "a.qmd: the cell at line 1 failed: there is no model x"


def test_other_errors_are_one_line_that_names_the_cell(tmp_path: Path) -> None:
    text = PAGE + "\nWords.\n\n```{python}\nraise KeyError('a\\nb')\n```\n"
    with pytest.raises(RenderError) as caught:
        ran(text, {"name": "given"}, tmp_path)
    assert str(caught.value) == r"a.qmd: the cell at line 18 failed: KeyError: 'a\nb'"


def test_a_cell_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="the cell at line 1 took longer than 1 s"):
        ran("```{python}\nimport time\ntime.sleep(60)\n```", {}, tmp_path, time_limit=1)


def test_a_kernel_that_dies_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="process that runs the cells ended, in the cell at line 1"):
        ran("```{python}\nimport os\nos._exit(1)\n```", {}, tmp_path)


def test_parameters_need_a_tagged_cell(tmp_path: Path) -> None:
    with pytest.raises(RenderError, match="exactly one cell tagged 'parameters'; it has 0"):
        run_cells(page("```{python}\n1\n```"), {"name": 1}, tmp_path, time_limit=60)


def test_a_process_that_cannot_run_cells_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nbclient.py").write_text("raise ImportError('no nbclient here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RenderError, match=r"no nbclient here\); pip install 'evalstats-toolkit\[report\]'"):
        run_cells(page("```{python}\n1\n```"), {}, tmp_path, time_limit=60)


def test_what_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalstats.report.kernel._START_LIMIT", -0.5)
    with pytest.raises(RenderError, match="its cells did not end within 0"):
        ran("```{python}\nimport time\ntime.sleep(600)\n```", {}, tmp_path, time_limit=1)
