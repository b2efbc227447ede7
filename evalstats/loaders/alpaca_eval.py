"""AlpacaEval: a judge's preference between a baseline's answer and a model's, item by item.

Format: `results/<model>/<annotator>/annotations.json` of tatsu-lab/alpaca_eval at cd543a1, and the same flattened into
one table (JSON Lines, CSV, Parquet) with `path`, `instruction_sha`, `len_1` and `len_2` in place of the texts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_records import Tally, columns_of, iter_records, judged, place_word, some_of
from evalstats.loaders.base import BATCH_ROWS, Head, Match, Rows, SingleFileLoader, Source, read_head
from evalstats.loaders.values import as_count, as_number, as_text
from evalstats.schema.data import Problem

_BENCHMARK: Final = "AlpacaEval"
_SHAPES: Final = frozenset({"text", "lines", "array", "parquet"})
_KEYS: Final = frozenset({"generator_1", "generator_2"})
_HASH_CHARS: Final = 12
# The annotators' parser writes either number for a draw.
_DRAWS: Final = (0.0, 1.5)


@dataclass(slots=True)
class _Found:
    """What was met in one file: its runs, with their annotators, and what is worth telling."""

    annotators: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    counts: dict[str, int] = field(default_factory=dict[str, int])
    tally: Tally = field(default_factory=Tally)
    unnamed: list[int] = field(default_factory=list[int])
    judged: set[int] = field(default_factory=set[int])
    n_again: int = 0
    n_without_item: int = 0


class AlpacaEvalLoader(SingleFileLoader):
    """Loader of AlpacaEval's annotations.

    One run per annotations file, one row of `comparisons` per instruction: model a is the baseline (`generator_1`), model b
    the model under test (`generator_2`). `preference` is the share of preference for a: 2 minus the file's number, which is
    1 for the baseline and 2 for the model; 0 and 1.5 are draws. A preference that is missing or out of range leaves the
    row unscored. The item is a hash of the instruction, with the part of the benchmark that it comes from. Which answer
    the annotator saw first is not in the file. Texts are dropped; `length_a` and `length_b` are their characters.
    """

    name = "alpaca-eval"
    title = "AlpacaEval annotations (annotations.json, or flattened)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise two generators and a preference."""
        if head.shape not in _SHAPES:
            return None
        names = columns_of(head)
        if names >= _KEYS and names & {"preference", "annotator"}:
            return Match(confidence=0.9, reason="generator_1, generator_2 and a preference")
        if names >= {"instruction", "output_1", "generator_1"}:
            return Match(confidence=0.8, reason="instruction, output_1 and generator_1")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the runs, and notes."""
        head = read_head(source.path)
        found = _Found()
        rows: list[dict[str, object]] = []
        for place, record in iter_records(head):
            row = _row(record, source, found)
            if row is None:
                found.unnamed.append(place)
                continue
            rows.append(row)
            if len(rows) >= BATCH_ROWS:
                yield Rows(table="comparisons", rows=rows)
                rows = []
        if rows:
            yield Rows(table="comparisons", rows=rows)
        if not found.counts:
            raise UnreadableFileError(f"{source.path}: holds no annotations of two generators")
        yield Rows(table="runs", rows=[_run(run, judges) for run, judges in found.annotators.items()])
        for severity, message in _notes(found, place_word(head)):
            yield Problem(path=str(source.path), message=message, severity="error" if severity == "error" else "note")


def share_of_baseline(value: object) -> tuple[float | None, str | None]:
    """Return the share of preference for the baseline, or the reason why there is none."""
    text = (as_text(value) or "").strip().lower()
    number = as_number(value)
    if number is None:
        missing = text in {"", "nan", "none", "null"}
        return None, "the annotator's answer could not be read" if missing else "the preference is no number"
    if number in _DRAWS:
        return 0.5, None
    return (2.0 - number, None) if 1 <= number <= 2 else (None, "the preference lies outside 1 to 2")


def item_of(record: Mapping[str, object]) -> str | None:
    """Name an instruction: by its part of the benchmark and the SHA-1 of its text, of which a flat table holds the hash."""
    instruction = record.get("instruction")
    digest = as_text(record.get("instruction_sha"))
    if isinstance(instruction, str) and instruction:
        digest = hashlib.sha1(instruction.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    if not digest:
        return None
    dataset = as_text(record.get("dataset"))
    return f"{dataset}.{digest[:_HASH_CHARS]}" if dataset else digest[:_HASH_CHARS]


def _row(record: Mapping[str, object], source: Source, found: _Found) -> dict[str, object] | None:
    model_a, model_b = (as_text(record.get(name)) for name in ("generator_1", "generator_2"))
    if not model_a or not model_b:
        return None
    run = _run_name(record, source)
    annotator = as_text(record.get("annotator"))
    found.annotators.setdefault(run, set()).update([annotator] if annotator else [])
    number = found.counts.get(run, 0)
    found.counts[run] = number + 1
    item = item_of(record)
    found.n_without_item += item is None
    if item is not None:
        key = hash((model_a, model_b, annotator, item))
        found.n_again += key in found.judged
        found.judged.add(key)
    share, reason = share_of_baseline(record.get("preference"))
    outcome = None if share is None else "tie" if share == 0.5 else "a" if share > 0.5 else "b"
    winner = Winner(raw=as_text(record.get("preference")), outcome=outcome, reason=reason)
    return judged(
        winner,
        found.tally,
        run=run,
        battle=str(number),
        model_a=model_a,
        model_b=model_b,
        preference=None if model_a == model_b else share,
        item=item,
        judge=annotator,
        scenario=as_text(record.get("dataset")),
        length_a=_length(record, "1"),
        length_b=_length(record, "2"),
        price_per_example=as_number(record.get("price_per_example")),
        time_per_example=as_number(record.get("time_per_example")),
    )


def _length(record: Mapping[str, object], side: str) -> int | None:
    output = record.get(f"output_{side}")
    return len(output) if isinstance(output, str) else as_count(record.get(f"len_{side}"))


def _run_name(record: Mapping[str, object], source: Source) -> str:
    """Name the run: the file, or in a flat table the file that a row came from."""
    return _named(source, as_text(record.get("path")) or "")


@lru_cache(maxsize=1024)
def _named(source: Source, path: str) -> str:
    part = path.removeprefix("results/").removesuffix("/annotations.json")
    return source.run_id(part) if part else source.run_id()


def _run(run: str, judges: set[str]) -> dict[str, object]:
    judge = next(iter(judges)) if len(judges) == 1 else None
    return {"run": run, "benchmark": _BENCHMARK, "judge": judge, "harness": "alpaca_eval"}


def _notes(found: _Found, word: str) -> Iterator[tuple[str, str]]:
    yield from found.tally.notes(word)
    if found.unnamed:
        n = len(found.unnamed)
        yield (
            "error",
            f"{n} annotations name no generator_1 or generator_2 and are left out ({word} {some_of(found.unnamed)})",
        )
    if found.n_without_item:
        yield "note", f"{found.n_without_item} annotations have no instruction, so their item is not known"
    if found.n_again:
        yield (
            "note",
            (
                f"{found.n_again} annotations repeat an instruction, both generators and the annotator of an earlier one; "
                "they are all kept, and are no independent votes"
            ),
        )


LOADER = AlpacaEvalLoader()
