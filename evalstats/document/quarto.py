"""What Quarto says of the document that it is rendering to the cells that run in it."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

# Names the file in which Quarto says it.
EXECUTED: Final = "QUARTO_EXECUTE_INFO"
_SLIDES = frozenset({"revealjs", "beamer"})


@dataclass(frozen=True, slots=True)
class Rendering:
    """The format that is made: `base`, such as "html" or "docx", "" outside of Quarto; the extension that it comes from.

    `both_themes` says whether its readers may turn from light to dark.
    """

    base: str = ""
    extension: str = ""
    both_themes: bool = False

    @property
    def slides(self) -> bool:
        """Whether a picture has to leave room for the words of its slide: PowerPoint's are fitted by Pandoc."""
        return self.base in _SLIDES


def rendering() -> Rendering:
    """Return what is being rendered."""
    told = os.environ.get(EXECUTED, "")
    return _read(Path(told)) if told else Rendering()


@cache
def _read(told: Path) -> Rendering:
    if not told.is_file():  # a kernel that is kept for the next rendering
        return Rendering()
    known: Mapping[str, Any] = json.loads(told.read_text(encoding="utf-8"))["format"]
    theme = known.get("metadata", {}).get("theme")
    base = known["identifier"]["base-format"]
    both = base == "html" and isinstance(theme, dict) and {"light", "dark"} <= theme.keys()
    return Rendering(base, known["identifier"].get("extension-name", ""), both)
