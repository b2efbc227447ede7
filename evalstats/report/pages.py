"""Find the pages and their extension: in the project where there is one, else inside the installed package."""

from dataclasses import dataclass
from pathlib import Path

from evalstats.errors import InputError

_HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A .qmd file and the folder of the Quarto extension that it is styled by."""

    source: Path
    extension: Path


def find_page(kind: str) -> Page:
    """Return the page of that kind.

    Raises
    ------
    InputError
        If there is none; the message lists all.

    Examples
    --------
    >>> find_page("comparison").source.name
    'comparison.qmd'
    """
    pages, extensions = _folders()
    kinds = sorted(path.stem for path in pages.glob("*.qmd"))
    if kind not in kinds:
        raise InputError(f"there is no report {kind!r}; there are {', '.join(kinds)}")
    return Page(source=pages / f"{kind}.qmd", extension=extensions / "evalstats")


def _folders() -> tuple[Path, Path]:
    """Return the folders of pages and extensions. A wheel carries both below `evalstats/report/pages`."""
    inside = _HERE / "pages"
    if inside.is_dir():
        return inside, inside / "_extensions"
    root = _HERE.parents[1]
    return root / "reports", root / "_extensions"
