"""The cheat sheet as one page to print: Pandoc makes Typst of it, set in small type."""

import subprocess
import tempfile
from pathlib import Path

import typst

from evalstats.report.engine import pandoc_program

ROOT = Path(__file__).resolve().parents[2]
_SHEET = """#set page(paper: "{paper}", margin: (x: 12mm, y: 11mm))
#set text(font: ("DejaVu Sans", "Liberation Sans", "Libertinus Serif"), size: 8.4pt, fill: rgb("#1b2129"), lang: "en")
#set par(leading: 0.45em, spacing: 1em)
#set table(stroke: (x, y) => (bottom: 0.4pt + rgb("#d6dce3")), inset: (x: 3pt, y: 3.4pt))
#show raw: set text(font: "DejaVu Sans Mono", size: 7.6pt, fill: rgb("#0069a8"))
#show heading: set block(above: 1.4em, below: 0.6em)
#show heading: set text(size: 10.5pt)
#show figure: set align(left)
#let horizontalrule = none
#text(size: 15pt, weight: "bold")[evalstats: cheat sheet]

"""


def typeset(paper: str = "a4") -> bytes:
    """Return the sheet as a PDF on this paper ("a4" or "us-letter")."""
    program, _ = pandoc_program()
    source = ROOT / "docs" / "cheat-sheet.md"
    done = subprocess.run(  # noqa: S603 - our own arguments
        [program, str(source), "--from=markdown-citations", "--to=typst", "--shift-heading-level-by=-1"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "sheet.typ")
        page.write_text(_SHEET.replace("{paper}", paper) + done.stdout, encoding="utf-8")
        return typst.compile(page)
