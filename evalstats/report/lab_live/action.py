"""One thing that whoever decides can do."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Action:
    """What to do (or not to do), and why."""

    do: str
    why: str
