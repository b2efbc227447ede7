"""What is met while votes are read, to be told at the end: labels, units, models and times that cannot be right."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from evalstats.loaders.arena_cells import Winner

_MAX_LABELS = 50
_SHOWN_LABELS = 8
_SHOWN_PLACES = 5
_LABEL_CHARS = 60
# No arena of language models is older; a time outside is one in another unit, or a clock that was never set.
_FIRST_YEAR, _LAST_YEAR = 2015, 2100


@dataclass(slots=True)
class Tally:
    """What was met while reading, to be told at the end."""

    n_votes: int = 0
    labels: Counter[str] = field(default_factory=Counter[str])
    without_model: list[int] = field(default_factory=list[int])
    n_without_model: int = 0
    n_self: int = 0
    n_known_names: int = 0
    n_not_sampled: int = 0
    n_naming: int = 0
    n_strange_times: int = 0
    words: Counter[str] = field(default_factory=Counter[str])
    units: Counter[str] = field(default_factory=Counter[str])
    unread: Counter[str] = field(default_factory=Counter[str])
    left_out: dict[str, None] = field(default_factory=dict[str, None])
    factors: dict[str, None] = field(default_factory=dict[str, None])

    def notes(self, word: str) -> Iterator[tuple[str, str]]:
        """Yield (severity, message)."""
        n_unknown = self.labels.total()
        if n_unknown:
            shown = ", ".join(f"{label}: {n}" for label, n in self.labels.most_common(_SHOWN_LABELS))
            yield (
                "note",
                f"{n_unknown} of {self.n_votes} votes have no outcome and are kept as unscored, not as ties ({shown})",
            )
        yield from self._mixtures()
        if self.n_self:
            yield "note", f"{self.n_self} votes set a model against itself; they are kept as unscored"
        if self.n_without_model:
            shown = ", ".join(str(place) for place in self.without_model)
            yield "error", f"{self.n_without_model} votes name no model_a or model_b and are left out ({word} {shown})"
        if self.n_known_names:
            yield (
                "note",
                (
                    f"{self.n_known_names} votes were given with the models' names in sight (anony is false); "
                    "the arena's own leaderboard leaves them out"
                ),
            )
        if self.n_not_sampled:
            yield (
                "note",
                (
                    f"{self.n_not_sampled} votes repeat a prompt too often (dedup_sampled is false); "
                    "the arena's own leaderboard leaves them out"
                ),
            )
        if self.n_naming:
            yield (
                "note",
                (
                    f"in {self.n_naming} votes an answer says which model or maker it is from (names_itself_a, "
                    "names_itself_b); such votes are not blind"
                ),
            )
        for name, n in self.unread.items():
            yield "note", f"{name} could not be read in {n} votes; what it holds is null there"
        if self.left_out:
            yield "note", f"columns with long texts or nested values are left out: {', '.join(self.left_out)}"

    def _mixtures(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together in one file."""
        if len(self.words) > 1:
            shown = ", ".join(f"{name}: {n}" for name, n in self.words.most_common())
            yield (
                "note",
                (
                    f"winners are named in {len(self.words)} different ways ({shown}); "
                    "check that the file was not put together from sources whose sides differ"
                ),
            )
        if len(self.units) > 1:
            shown = ", ".join(f"{name}: {n}" for name, n in self.units.most_common())
            yield (
                "note",
                (
                    f"times are given in {len(self.units)} different units ({shown}), told apart by their size; "
                    "check that they belong together"
                ),
            )
        if self.n_strange_times:
            yield (
                "note",
                (
                    f"{self.n_strange_times} votes were given before {_FIRST_YEAR} or after {_LAST_YEAR} by the file's times; "
                    "check their unit"
                ),
            )

    def count_winner(self, winner: Winner, *, against_itself: bool, n: int = 1) -> None:
        """Take note of the label of one vote, or of `n` that have it."""
        self.n_votes += n
        if winner.words is not None:
            self.words[winner.words] += n
        if against_itself:
            self.n_self += n
        elif winner.outcome is None:
            raw = winner.raw
            label = "no label" if raw is None or not raw.strip() else repr(raw[:_LABEL_CHARS])
            if label not in self.labels and len(self.labels) >= _MAX_LABELS:
                label = "other labels"
            self.labels[label] += n

    def count_times(self, times: pl.Series, units: pl.Series) -> None:
        """Take note of when votes were given, and of the units that the file says it in."""
        self.units.update(dict(units.drop_nulls().value_counts().iter_rows()))
        self.n_strange_times += int((~times.dt.year().is_between(_FIRST_YEAR, _LAST_YEAR)).sum())

    def add_without_model(self, places: Sequence[int]) -> None:
        """Take note of votes that name no model."""
        self.n_without_model += len(places)
        self.without_model += places[: _SHOWN_PLACES - len(self.without_model)]
