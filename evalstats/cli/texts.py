"""What was asked and answered in flipped items, where the command asks for it: read from the files, shown, never stored."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evalstats.errors import InputError
from evalstats.options import Flag
from evalstats.record import record

if TYPE_CHECKING:
    from evalstats.analysis.compare.result import Comparison
    from evalstats.schema.data import EvalData

# Items whose texts are shown by default.
_ITEMS = 6
_MOST_CHARS = 20_000


@record
class Texts:
    """Whether texts are wanted, and where they are."""

    texts: Annotated[
        bool, Flag("Also show question, expected and both answers of flipped items, read from the files, never stored.")
    ] = False
    text_length: Annotated[int, Flag("With --texts: number of characters to show of each text.", metavar="N")] = 400
    source: Annotated[
        Sequence[Path],
        Flag("With --texts: the result files, if they have moved; may be repeated.", metavar="PATH"),
    ] = ()

    def __post_init__(self) -> None:
        """Refuse a length that no text has, before anything is computed."""
        if not 1 <= self.text_length <= _MOST_CHARS:
            raise InputError(f"--text-length is {self.text_length:,}; give 1 to {_MOST_CHARS:,} characters")
        if self.source and not self.texts:
            raise InputError("--source says where texts are read; add --texts")

    def of(
        self,
        result: Any,
        data: "Iterable[EvalData]" = (),
        *,
        paths: Iterable[str | Path] = (),
        every: bool = False,
        uncut: bool = False,
    ) -> Any:
        """Return a comparison with the texts of its flipped items, those of all with `every`; any result where none are wanted.

        `data` are what it was computed from, `paths` what was read for that; `uncut` texts are as long as they are.

        InputError if no place in a file is known of these items, or a file is not what it was when it was read.
        """
        if not self.texts:
            return result
        # A question that is no comparison need not load one.
        from evalstats.analysis.compare.flips import ItemTexts
        from evalstats.analysis.compare.result import Comparison
        from evalstats.loaders.item_texts import texts_of_rows

        if not isinstance(result, Comparison):
            raise InputError("texts are shown of the items of one comparison; name one metric, and one result")
        flips = result.flipped.worst_first(higher_is_better=result.higher_is_better)
        flips = flips[: None if every else _ITEMS]
        digests = dict(result.origin.sources)
        places = {
            (flip, side): (digests.get(source.run, ""), source.locator)
            for flip in flips
            for side, source in (("baseline", flip.baseline_source), ("candidate", flip.candidate_source))
            if source is not None and source.locator and digests.get(source.run)
        }
        if flips and not places:
            raise InputError(
                "no place in a file is known of these items: a pseudonymised store keeps none, and neither do counts of an "
                "engine or a table in memory; compare the files themselves to read their texts"
            )
        found = (
            texts_of_rows(
                {*places.values()},
                self._paths(result, data, paths),
                most_chars=_MOST_CHARS if uncut else self.text_length,
            )
            if places
            else {}
        )
        if flips and not any(found.values()):
            raise InputError(
                "the files hold no text of these items under a name that is known (question, prompt, input; expected, target; "
                "response, output, answer and the like); leave --texts out, or read the rows that the list names"
            )
        rows: list[ItemTexts] = []
        for flip in flips:
            first, second = (
                found.get(places[flip, side], {}) if (flip, side) in places else {}
                for side in ("baseline", "candidate")
            )
            shared = {name: first.get(name) or second.get(name) for name in ("question", "expected")}
            rows.append(
                ItemTexts(
                    task=flip.task,
                    item=flip.item,
                    variant=flip.variant,
                    **shared,
                    baseline=first.get("answer"),
                    candidate=second.get("answer"),
                )
            )
        return replace(result, texts=tuple(rows))

    def _paths(self, result: "Comparison", data: "Iterable[EvalData]", paths: Iterable[str | Path]) -> list[Path]:
        """Return the files that were read: those named, else those of the data; of a saved result those that it names."""
        if self.source:
            return list(self.source)
        runs = {run for run, _ in result.origin.sources}
        read = [
            source for held in data for run, source in held.runs["run", "source"].iter_rows() if run in runs and source
        ]
        settings = result.settings
        # What a saved result names was written by somebody: nothing above the working folder is looked at for it.
        named = [Path(file) for files in (settings.files.values() if settings else ()) for file in files]
        inside = [path for path in named if not path.is_absolute() and ".." not in path.parts and path.is_file()]
        return [Path(each) for each in (*read, *paths)] if read else inside
