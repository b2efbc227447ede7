"""A run of pdflatex where there is one, and the commands that our LaTeX may hold."""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from evalstats.document import latex

_KNOWN = re.compile(
    "|".join(
        [
            *(re.escape(command) for command in sorted(latex._CHARACTERS.values(), key=len, reverse=True)),
            r"\\evalstatschar\{[0-9A-F]+\}",
            rf"\\[{re.escape(''.join(latex._ACCENTS.values()))}]\{{\\?[A-Za-z]\}}",
            r"\{\}",
        ]
    )
)


def without_known_commands(text: str) -> str:
    """Return text for LaTeX with a blank in the place of every command that a text of ours may hold."""
    return _KNOWN.sub(" ", text)


def compiled(body: str, *, packages: str = "\\usepackage{booktabs}") -> None:
    """Fail where pdflatex, with booktabs alone or what is given, does not set these lines; skip where it is not here."""
    if shutil.which("pdflatex") is None:
        pytest.skip("pdflatex is not here")
    source = f"\\documentclass{{article}}\n{packages}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.tex").write_text(source, encoding="ascii")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "x.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
        said = done.stdout.decode("utf-8", "replace")
        if "File `booktabs.sty' not found" in said:
            pytest.skip("this pdflatex has no booktabs")
        assert done.returncode == 0, said[said.find("\n!") :][:600]
