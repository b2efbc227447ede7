"""Each model's place and its set of ranks in the lab and live, and on which pairs the two sides contradict each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.analysis.gaps.words import ranks
from evalstats.document.blocks import Tone
from evalstats.plots.style import Medium

MOST: dict[Medium, int] = {"screen": 60, "phone": 40, "print": 60}


@dataclass(frozen=True, slots=True, kw_only=True)
class Climb:
    """One model: its place by estimate on either side, counted from 1, with the set of ranks that the data leave open.

    `contradicted` counts pairs with other models in which both sides are sure of opposite orders, those that it wins live
    less those that it loses live.
    """

    row: GapRow
    lab: int
    live: int
    lab_set: tuple[int, int] | None
    live_set: tuple[int, int] | None
    won: int = 0
    lost: int = 0

    @property
    def contradicted(self) -> bool:
        """Whether both sides contradict each other on some pair of this model."""
        return self.won + self.lost > 0

    @property
    def tone(self) -> Tone:
        """Blue for a model that wins pairs live which it loses in the lab, vermillion for the reverse."""
        return "good" if self.won > self.lost else "bad" if self.lost > self.won else "neutral"


def climbs(result: LabLiveGap, medium: Medium = "screen") -> list[Climb]:
    """Return what `gap_bump` draws, by the order live: all, or of many the models of contradictions and the first live."""
    pairs = result.agreement.pairs
    told = () if pairs is None else pairs.contradictions
    lab, live = _places(result, "lab"), _places(result, "live")
    found = [
        Climb(
            row=row,
            lab=lab[row.name],
            live=live[row.name],
            lab_set=_set(row.lab_rank_low, row.lab_rank_high),
            live_set=_set(row.live_rank_low, row.live_rank_high),
            won=sum(each.better_live == row.name for each in told),
            lost=sum(each.better_lab == row.name for each in told),
        )
        for row in result.rows
    ]
    kept = sorted(found, key=lambda climb: (-(climb.won + climb.lost), climb.live))[: MOST[medium]]
    return sorted(kept, key=lambda climb: climb.live)


def _places(result: LabLiveGap, side: str) -> dict[str, int]:
    """Return each model's place by estimate; equal ones stand in the order of the result."""
    better = (result.lab if side == "lab" else result.live).higher_is_better
    order = sorted(result.rows, key=lambda row: (-1 if better else 1) * (row.lab if side == "lab" else row.live))
    return {row.name: place for place, row in enumerate(order, 1)}


def _set(low: int | None, high: int | None) -> tuple[int, int] | None:
    return None if low is None or high is None else (low, high)


def set_words(climb: Climb, side: str) -> str:
    """Write the set of ranks beside a name; a dash where none can be told."""
    low, high = (climb.lab_set if side == "lab" else climb.live_set) or (None, None)
    return ranks(low, high)


def last_place(found: Sequence[Climb]) -> int:
    """Return the last place that any of the models stands at or may stand at."""
    ends = [end for climb in found for ends in (climb.lab_set, climb.live_set) if ends is not None for end in ends]
    return max([*ends, *(climb.lab for climb in found), *(climb.live for climb in found)])
