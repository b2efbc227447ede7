"""Published leaderboards of arenas and of judged benchmarks, as rows of `aggregates`."""

from collections.abc import Callable, Iterator

from evalstats.errors import UnreadableFileError
from evalstats.loaders import leaderboard_csv, leaderboard_json
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.leaderboard_numbers import Numbers
from evalstats.schema.data import Problem


class LeaderboardLoader(SingleFileLoader):
    """Loader of leaderboard dumps: Chatbot Arena and LMArena, ComparIA, Arena-Hard, AlpacaEval, WildBench.

    Every number is a row with its interval or standard error where the source gives one; nothing is derived, and
    asymmetric intervals stay so. The level of an interval is 95 % where the source's names say so (95_pct_ci, q025 and
    q975, p2.5 and p97.5). An interval without width belongs to a baseline that is fixed by definition, and is left out.
    """

    name = "leaderboard"
    title = "leaderboards (arenas, Arena-Hard, AlpacaEval, WildBench)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a leaderboard by its columns or its members."""
        found = _kind_of(head)
        return None if found is None else Match(confidence=0.9, reason=found[0])

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield aggregates, their metrics, the run, and notes.

        Raises
        ------
        UnreadableFileError
            If the file is damaged, is no leaderboard, or holds no number.
        """
        head = read_head(source.path)
        found = _kind_of(head)
        if found is None:
            message = f"{source.path}: is no leaderboard that this loader knows"
            raise UnreadableFileError(message)
        numbers = Numbers(higher_is_better=True)
        benchmark = found[1](head, source, numbers)
        if not numbers.rows:
            message = f"{source.path}: holds no published number of any model"
            raise UnreadableFileError(message)
        run = source.run_id()
        yield from in_batches(({**row, "run": run} for row in numbers.rows), "aggregates")
        yield Rows(table="metrics", rows=list(numbers.metrics.values()))
        yield Rows(table="runs", rows=[{"run": run, "benchmark": benchmark}])
        for note in numbers.doubts():
            yield Problem(path=str(source.path), message=note, severity="note")


def _kind_of(head: Head) -> tuple[str, Callable[[Head, Source, Numbers], str]] | None:
    return leaderboard_csv.kind_of(head) if head.shape == "text" else leaderboard_json.kind_of(head)


LOADER = LeaderboardLoader()
