"""WildBench: a judge's score of every answer, or its choice between a model's answer and a reference's.

Format: `eval_results/<version>/{score.v2,pairwise.v2}/eval=<judge>/...json` of allenai/WildBench at d6b8dca, as
`src/openai_batch_eval/batch_results_format.py` writes it; and the scores flattened into one table.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from evalstats.errors import UnreadableFileError
from evalstats.loaders.arena_cells import Winner
from evalstats.loaders.arena_records import Once, Tally, columns_of, iter_records, judged, place_word, some_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches, read_head
from evalstats.loaders.values import as_dict, as_number, as_text, as_whole, get
from evalstats.schema.data import Problem

_BENCHMARK: Final = "WildBench"
_SHAPES: Final = frozenset({"array", "lines", "text", "parquet"})
_PAIR: Final = frozenset({"session_id", "model_A", "model_B", "winner", "extent"})
_SCORE: Final = frozenset({"session_id", "model_test", "score"})
# The judge's own choice, which the file repeats as winner and extent.
_CHOICES: Final = {"A++": ("a", 2), "A+": ("a", 1), "A=B": ("tie", 0), "B+": ("b", 1), "B++": ("b", 2)}
_STRENGTHS: Final = {1: "slight", 2: "strong"}
_LOW, _HIGH = 1.0, 10.0
_JUDGE = re.compile(r"eval=([^/]+)")
_VERSION = re.compile(r"v\d+\.\d+")


@dataclass(slots=True)
class _Found:
    tally: Tally = field(default_factory=Tally)
    unnamed: list[int] = field(default_factory=list[int])
    runs: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    n_rows: int = 0
    n_contradictions: int = 0


class WildBenchLoader(SingleFileLoader):
    """Loader of WildBench's judged pairs (into `comparisons`) and scores (into `outcomes`).

    Pairs: model a is the answer that the judge saw as A, the item is the session, `strength` is "strong" for A++ and B++.
    Where winner and extent contradict the judge's own choice the row is unscored. Scores: metric `score`, from 1 to 10;
    the system is the file's name where it says more than the model does. The judge is taken from a folder `eval=<judge>`.
    """

    name = "wildbench"
    title = "WildBench scores and judged pairs (eval_results/*/*.json)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise a session with two models and a winner, or with a model and its score."""
        if head.shape not in _SHAPES:
            return None
        names = columns_of(head)
        if names >= _PAIR:
            return Match(confidence=0.9, reason="session_id, model_A, model_B, winner and extent")
        if names >= _SCORE and names & {"parsed_result", "model_output", "judge"}:
            return Match(confidence=0.9, reason="session_id, model_test and score")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield comparisons or outcomes in batches, the runs, and notes."""
        head = read_head(source.path)
        found = _Found()
        pairs = columns_of(head) >= _PAIR
        if pairs:
            yield from in_batches(_pairs(head, source, found), "comparisons")
        else:
            yield from in_batches(_scores(head, source, found), "outcomes")
        if not found.n_rows:
            raise UnreadableFileError(f"{source.path}: holds no judgements of WildBench")
        yield Rows(table="runs", rows=list(found.runs.values()))
        if not pairs:
            metric = {
                "metric": "score",
                "kind": "bounded",
                "low": _LOW,
                "high": _HIGH,
                "unit": "points",
                "higher_is_better": True,
            }
            yield Rows(table="metrics", rows=[{"benchmark": _BENCHMARK, "primary": True, **metric}])
        for severity, message in _notes(found, place_word(head)):
            yield Problem(path=str(source.path), message=message, severity="error" if severity == "error" else "note")


def _pairs(head: Head, source: Source, found: _Found) -> Iterator[dict[str, object]]:
    judge, version = _from_folders(source)
    run = source.run_id()
    once = Once(place_word(head))
    for place, record in iter_records(head):
        item, model_a, model_b = (as_text(record.get(name)) for name in ("session_id", "model_A", "model_B"))
        if not item or not model_a or not model_b:
            found.unnamed.append(place)
            continue
        battle = f"{item}.{model_a}.{model_b}"
        once.add(battle, place)
        found.n_rows += 1
        found.runs.setdefault(run, _run(run, judge, version))
        outputs = as_dict(record.get("model_outputs"))
        lengths = [len(text) if isinstance(text := outputs.get(name), str) else None for name in (model_a, model_b)]
        yield judged(
            _verdict(record, model_a, model_b, found),
            found.tally,
            run=run,
            battle=battle,
            item=item,
            model_a=model_a,
            model_b=model_b,
            order="a_first",
            judge=judge,
            length_a=lengths[0],
            length_b=lengths[1],
        )


def _verdict(record: Mapping[str, object], model_a: str, model_b: str, found: _Found) -> Winner:
    winner = as_text(record.get("winner"))
    extent = as_whole(record.get("extent"))
    choice = as_text(get(record, "parsed_result", "choice"))
    said = {model_a: "a", model_b: "b", "tie": "tie"}.get(winner or "") if model_a != model_b else None
    if said is None:
        return Winner(raw=choice or winner, reason="the winner is neither model, nor a tie")
    if choice is not None and _CHOICES.get(choice) != (said, extent):
        found.n_contradictions += 1
        return Winner(raw=choice, reason="winner and extent contradict the judge's choice")
    return Winner(raw=choice or winner, outcome=said, strength=_STRENGTHS.get(extent or 0))


def _scores(head: Head, source: Source, found: _Found) -> Iterator[dict[str, object]]:
    folders = _from_folders(source)
    once = Once(place_word(head))
    for place, record in iter_records(head):
        item, tested = as_text(record.get("session_id")), as_text(record.get("model_test"))
        if not item or not tested:
            found.unnamed.append(place)
            continue
        model = tested.rpartition("/")[2]
        named = as_text(record.get("file_model")) or source.stem
        system = named if named.startswith(model) else model
        judge = as_text(record.get("judge")) or folders[0]
        version = as_text(record.get("version")) or folders[1]
        flat = "file_model" in record
        run = source.run_id(*(part for part in (version, judge, system) if part)) if flat else source.run_id()
        once.add(f"{run} {item}", place)
        found.n_rows += 1
        found.runs.setdefault(run, {**_run(run, judge, version), "model": model, "system": system})
        yield {
            "run": run,
            "model": model,
            "system": system,
            "benchmark": _BENCHMARK,
            "item": item,
            "metric": "score",
            "judge": judge,
            "output_chars": _chars(record),
            **_score(record.get("score")),
        }


def _score(value: object) -> dict[str, object]:
    """Return score, status and the value as it stood; what is no score from 1 to 10 leaves the row unscored."""
    number = None if isinstance(value, bool) else as_number(value)
    raw = None if isinstance(value, int | float) else as_text(value)
    if number is None:
        return {"status": "unscored", "status_reason": "the judge gave no score", "value_raw": raw}
    if not _LOW <= number <= _HIGH:
        return {"status": "unscored", "status_reason": "the score lies outside 1 to 10", "value_raw": as_text(value)}
    return {"status": "scored", "score": number, "value_raw": raw}


def _chars(record: Mapping[str, object]) -> int | None:
    output = record.get("model_output")
    return len(output) if isinstance(output, str) else as_whole(record.get("output_chars"))


def _from_folders(source: Source) -> tuple[str | None, str | None]:
    """Return the judge and the benchmark's version, which only the folders name."""
    judge = next((found[1] for part in reversed(source.path.parts) if (found := _JUDGE.fullmatch(part))), None)
    version = next((part for part in reversed(source.path.parts) if _VERSION.fullmatch(part)), None)
    return judge, version


def _run(run: str, judge: str | None, version: str | None) -> dict[str, object]:
    return {"run": run, "benchmark": _BENCHMARK, "judge": judge, "task_version": version, "harness": "WildBench"}


def _notes(found: _Found, word: str) -> Iterator[tuple[str, str]]:
    yield from found.tally.notes(word)
    if found.unnamed:
        n = len(found.unnamed)
        yield "error", f"{n} judgements name no session or model and are left out ({word} {some_of(found.unnamed)})"
    if found.n_contradictions:
        yield (
            "note",
            f"in {found.n_contradictions} judgements winner and extent contradict the judge's own choice; unscored",
        )
    if any(run["judge"] is None for run in found.runs.values()):
        yield "note", "the judge is not known: the benchmark names it by a folder eval=<judge>"


LOADER = WildBenchLoader()
