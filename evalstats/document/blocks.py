"""Neutral blocks of a document: what is said, not how it looks."""

from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["plain", "good", "bad", "caution", "neutral"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading of level 1 to 3."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Banner:
    """The answer: a short label, one line beside it, and the tone of both."""

    label: str
    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A list of short statements; `title` stands before it (Warnings, Notes)."""

    items: tuple[str, ...]
    title: str = ""
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells that are already text. `align` has one of l, r, c for each column.

    `wide` names columns that may be left out where there is little room (the terminal).
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    align: str
    caption: str = ""
    wide: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Detail that a page or a comment may fold away behind its title; text and LaTeX show it in full."""

    title: str
    blocks: "tuple[Block, ...]"


Block = Heading | Banner | Paragraph | Bullets | Table | Fold
