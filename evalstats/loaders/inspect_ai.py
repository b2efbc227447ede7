"""Inspect AI logs: `.eval` archives and JSON logs, whole, crashed or cancelled.

One run per log. The benchmark is the task's name, the item the sample's id, the trial its epoch from 0. Ids that are
whole numbers are often positions in the dataset; `prompt_hash`, a digest of the sample's input, tells whether two runs
mean the same by one id. Of several logs with the same task id and model (retries) only the latest that succeeded is
read. Header, published numbers: `inspect_log`; grades and failures: `inspect_samples`; ZIP: `inspect_archive`.

Format: UKGovernmentBEIS/inspect_ai at 499e615 (about 0.3.260, and 0.3.285), older logs back to 2024.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.base import Head, Match, Rows, Source, in_batches
from evalstats.loaders.files import JsonItem, iter_json
from evalstats.loaders.inspect_archive import START, SUMMARIES, EvalArchive, open_archive
from evalstats.loaders.inspect_log import STATUSES, EvalLog, is_archive, read_log
from evalstats.loaders.inspect_samples import SampleReader
from evalstats.loaders.tallies import Ranges
from evalstats.loaders.values import as_number, as_text, as_whole, dicts
from evalstats.schema.data import Problem

_MANIFESTS: Final = ("logs.json", "listing.json", "eval-set.json")
_MANIFEST_WORDS: Final = ('"task_id"', '"eval_set_id"')
_FIRST_MEMBER: Final = START.encode()
_LISTED: Final = 8


class InspectLoader:
    """Loader of Inspect AI logs."""

    name = "inspect"
    title = "Inspect AI logs (.eval, .json)"
    version = "2"

    def sniff(self, head: Head) -> Match | None:
        """Recognise archives by their first member or their name, JSON logs by `eval` and a status of Inspect's."""
        if head.name.endswith(".eval"):
            return Match(confidence=0.95, reason="the name ends in .eval")
        if head.shape == "zip":
            if _FIRST_MEMBER in head.data:
                return Match(confidence=0.9, reason="an archive with Inspect's journal")
            return None
        if head.shape != "object":
            return None
        if head.name in _MANIFESTS and any(word in head.text for word in _MANIFEST_WORDS):
            return Match(confidence=0.95, reason="a manifest of a folder of logs", skip=True)
        if "eval" in head.keys and head.members.get("status") in STATUSES:
            return Match(confidence=0.9, reason="has 'eval' and a status of Inspect's")
        return None

    def plan(self, files: Sequence[Path]) -> Iterable[Source | Problem]:
        """Make every log a source, save those that a retry took the place of, which are named in notes."""
        best: dict[tuple[str, str], EvalLog] = {}
        logs: list[tuple[Path, EvalLog | None]] = []
        for path in sorted(files):
            try:
                log = read_log(path)
            except UnreadableFileError:  # it is reported when it is read
                logs.append((path, None))
                continue
            logs.append((path, log))
            if log.task_id is not None:
                key = (log.task_id, log.model)
                if key not in best or _rank(log) > _rank(best[key]):
                    best[key] = log
        for path, log in logs:
            kept = None if log is None or log.task_id is None else best[log.task_id, log.model]
            if kept is None or log is kept or log is None:
                yield Source(path=path)
            else:
                text = (
                    f"this log ({log.status}) has the task id and model of {kept.path.name} ({kept.status}), which is "
                    "kept as the latest that succeeded, or the latest of all; read this one by giving it alone"
                )
                yield Problem(path=str(path), message=text, severity="note")

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes sample by sample, those without scores last, then metrics, published numbers and the run."""
        log = read_log(source.path)
        run = source.run_id()
        reader = SampleReader(log, run, Ranges())
        if is_archive(source.path):
            with open_archive(source.path) as archive:
                yield from _archive_notes(source, archive)
                yield from in_batches(_rows(reader, _archive_samples(source.path, archive)), "outcomes")
        else:
            yield from in_batches(_rows(reader, _json_samples(source.path)), "outcomes")
        yield from in_batches(reader.late_rows(), "outcomes")
        yield from _notes(source, log, reader)
        published = list(log.aggregate_rows(run, reader.seen))
        described = reader.metric_rows()
        yield Rows(table="metrics", rows=described + _published_metrics(log, published, described))
        yield Rows(table="aggregates", rows=published)
        yield Rows(table="runs", rows=[log.run_row(run, reader.factors.own_names)])


def _rank(log: EvalLog) -> tuple[bool, str, bool]:
    """Order the logs of one task: success before anything else, then the later, then the one that has ended."""
    return log.status == "success", log.completed, not log.crashed


# A sample with the place to name in a message and the place within its log.
_Placed = tuple[str, str, object]


def _rows(reader: SampleReader, samples: Iterable[_Placed]) -> Iterator[dict[str, object]]:
    for where, locator, sample in samples:
        yield from reader.rows(sample, where, locator)


def _json_samples(path: Path) -> Iterator[_Placed]:
    for part in iter_json(path, arrays=("samples", "reductions")):
        if isinstance(part, JsonItem) and part.member == "samples":
            yield f"{path}: sample {part.index}", f"samples[{part.index}]", part.value


def _archive_samples(path: Path, archive: EvalArchive) -> Iterator[_Placed]:
    """Yield the samples, or where none were kept their summaries; of a repeated summary the last."""
    names = list(archive.sample_names())
    if names:
        for name in names:
            yield f"{path}: {name}", as_text(name) or "", archive.sample(name)
        return
    by_key: dict[tuple[str | None, str | None], _Placed] = {}
    for name in [SUMMARIES] if SUMMARIES in archive else archive.journal_names():
        for at, summary in enumerate(dicts(archive.json(name))):
            key = (as_text(summary.get("id")), as_text(summary.get("epoch")))
            # A summary's input is cut short, so that its digest would be another.
            thin = {member: value for member, value in summary.items() if member != "input"}
            by_key[key] = (f"{path}: {name}: summary {at}", f"{name}[{at}]", thin)
    yield from by_key.values()


def _archive_notes(source: Source, archive: EvalArchive) -> Iterator[Problem]:
    if archive.n_repeated:
        text = f"{archive.n_repeated} members of the archive stand again further on; the last of each was read"
        yield _note(source, text)


def _notes(source: Source, log: EvalLog, reader: SampleReader) -> Iterator[Problem]:
    """Report what a reader of the numbers should know."""
    if log.status != "success":
        ended = "did not end" if log.status == "started" else f"ended with status {log.status}"
        text = f"the run {ended}: the samples it holds may not be a fair part of all"
        yield _note(source, text)
    expected = as_whole(log.part("results").get("total_samples"))
    if not reader.n_samples:
        yield _note(source, "holds no samples: no two models can be compared item by item")
    elif expected is not None and expected != reader.n_samples:
        text = f"the log counts {expected:,} samples and holds {reader.n_samples:,}; its published numbers speak of its own"
        yield _note(source, text)
    if reader.n_failed_and_scored:
        text = (
            f"{reader.n_failed_and_scored:,} samples failed and were scored all the same (score_on_error, or a later "
            "scorer failed): their scores are kept, as Inspect keeps them"
        )
        yield _note(source, text)
    if log.shuffled and reader.n_samples and reader.positional:
        text = (
            "the samples were shuffled and have numbers for ids: one id may be another question in another run; compare "
            "runs only where prompt_hash agrees"
        )
        yield _note(source, text)
    for text in reader.unknown_values():
        yield _note(source, text)
    if left_out := reader.factors.left_out:
        more = f" and {len(left_out) - _LISTED} more" if len(left_out) > _LISTED else ""
        yield _note(source, f"metadata too long or too many to be factors: {', '.join(left_out[:_LISTED])}{more}")


def _published_metrics(
    log: EvalLog, published: Sequence[dict[str, object]], described: Sequence[dict[str, object]]
) -> list[dict[str, object]]:
    """Describe metrics that no sample has, by the range of their published numbers."""
    known = {row["metric"] for row in described}
    ranges = Ranges()
    for number in published:
        if number["metric"] not in known:
            ranges.add(log.benchmark, str(number["metric"]), as_number(number["estimate"]))
    headline = log.headline() if not known else None
    return [ranges.row(*key, primary=key[1] == headline) for key in ranges]


def _note(source: Source, text: str) -> Problem:
    return Problem(path=str(source.path), message=text, severity="note")


LOADER: Final = InspectLoader()
