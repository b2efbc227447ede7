"""AlpacaEval: a judge's preference between a baseline's answer and a model's, item by item.

Format: `results/<model>/<annotator>/annotations.json` of tatsu-lab/alpaca_eval at cd543a1, and the same flattened into
one table (JSON Lines, CSV, Parquet) with `path`, `instruction_sha`, `len_1` and `len_2` in place of the texts.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from evalstats.loaders.arena_cells import VoteOutcome
from evalstats.loaders.arena_records import Judgements, columns_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_count, as_number, as_text
from evalstats.schema.data import Problem

_SHAPES: Final = frozenset({"text", "lines", "array", "parquet"})
_HASH_CHARS: Final = 12
# The annotators' parser writes either number for a draw.
_DRAWS: Final = (0.0, 1.5)
_NO_ITEM: Final = "{n} annotations have no instruction, so their item is not known"
_AGAIN: Final = (
    "{n} annotations repeat an instruction, both generators and the annotator of an earlier one; they are all kept, and are no "
    "independent votes"
)


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
        if names >= {"generator_1", "generator_2"} and names & {"preference", "annotator"}:
            return Match(confidence=0.9, reason="generator_1, generator_2 and a preference")
        if names >= {"instruction", "output_1", "generator_1"}:
            return Match(confidence=0.8, reason="instruction, output_1 and generator_1")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons in batches, the runs, and notes."""
        file = Judgements(source)
        yield from file.parts(_rows(file), unnamed="annotations name no generator_1 or generator_2")


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


def _rows(file: Judgements) -> Iterator[Row]:
    numbers: dict[str, int] = {}
    seen: set[int] = set()
    for record, (model_a, model_b), _ in file.records("generator_1", "generator_2"):
        # A flat table names the file that a row came from.
        run = _run_name(file.source, as_text(record.get("path")) or "")
        judge, item = as_text(record.get("annotator")), item_of(record)
        file.run(run, judge, benchmark="AlpacaEval", harness="alpaca_eval")
        number = numbers[run] = numbers.get(run, -1) + 1
        key = hash((model_a, model_b, judge, item))
        file.counts[_NO_ITEM] += item is None
        file.counts[_AGAIN] += item is not None and key in seen
        seen.add(key)
        share, reason = share_of_baseline(record.get("preference"))
        outcome = None if share is None else "tie" if share == 0.5 else "a" if share > 0.5 else "b"
        yield file.comparison(
            VoteOutcome(raw=as_text(record.get("preference")), outcome=outcome, reason=reason),
            run=run,
            battle=str(number),
            model_a=model_a,
            model_b=model_b,
            preference=None if model_a == model_b else share,
            item=item,
            judge=judge,
            scenario=as_text(record.get("dataset")),
            length_a=_length(record, "1"),
            length_b=_length(record, "2"),
            price_per_example=as_number(record.get("price_per_example")),
            time_per_example=as_number(record.get("time_per_example")),
        )


def _length(record: Mapping[str, object], side: str) -> int | None:
    output = record.get(f"output_{side}")
    return len(output) if isinstance(output, str) else as_count(record.get(f"len_{side}"))


@lru_cache(maxsize=1024)
def _run_name(source: Source, path: str) -> str:
    part = path.removeprefix("results/").removesuffix("/annotations.json")
    return source.run_id(part) if part else source.run_id()


LOADER = AlpacaEvalLoader()
