"""What an engine is given, and what it gives back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, Protocol

from evalstats.report.pages import Page

Target = Literal["html", "pdf"]


def no_one_listens(_step: str) -> None:
    """Take the name of a step and do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One page to be rendered: `folder` is empty and belongs to this rendering alone.

    `time_limit` is in seconds and holds for every step: a cell, Pandoc, Typst; for Quarto it holds for the whole.
    `on_step` is told what is being done, in a few words, before each step.
    """

    page: Page
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    to: Target
    folder: Path
    day: date
    time_limit: int = 600
    on_step: Callable[[str], None] = no_one_listens


class Engine(Protocol):
    """What renders a page."""

    @property
    def description(self) -> str:
        """Name and versions, as the report prints them."""
        ...

    @property
    def name(self) -> str:
        """Short name: "quarto" or "embedded"."""
        ...

    def render(self, job: Job) -> Path:
        """Render the page and return the finished file, inside the job's folder.

        Raises
        ------
        RenderError
            With what went wrong, in the words of the program that failed.
        """
        ...
