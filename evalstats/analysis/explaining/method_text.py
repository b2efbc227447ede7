"""What is said of a method: a form that every module of texts fills."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodText:
    """A method in words.

    Attributes
    ----------
    what
        What it is, after its name: a clause without a full stop.
    how
        How it works, in about three sentences.
    takes
        What it takes for granted beyond what every method here does, and how that could fail; "" where nothing.
    sources
        Author, year, and where.
    """

    what: str
    how: str
    takes: str = ""
    sources: tuple[str, ...] = ()
