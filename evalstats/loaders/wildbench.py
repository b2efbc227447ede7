"""WildBench: a judge's score of every answer, or its choice between a model's answer and a reference's.

Format: `eval_results/<version>/{score.v2,pairwise.v2}/eval=<judge>/...json` of allenai/WildBench at d6b8dca, as
`src/openai_batch_eval/batch_results_format.py` writes it; and the scores flattened into one table.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.loaders.arena_cells import VoteOutcome
from evalstats.loaders.arena_records import Judgements, columns_of
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source
from evalstats.loaders.rows import Row, metric_row, scored, unscored
from evalstats.loaders.values import as_dict, as_number, as_text, as_whole, get
from evalstats.schema.data import Problem

_ABOUT: Final = {"benchmark": "WildBench", "harness": "WildBench"}
_SHAPES: Final = frozenset({"array", "lines", "text", "parquet"})
_PAIR: Final = frozenset({"session_id", "model_A", "model_B", "winner", "extent"})
_SCORE: Final = frozenset({"session_id", "model_test", "score"})
# The judge's own choice, which the file repeats as winner and extent.
_CHOICES: Final = {"A++": ("a", 2), "A+": ("a", 1), "A=B": ("tie", 0), "B+": ("b", 1), "B++": ("b", 2)}
_STRENGTHS: Final = {1: "slight", 2: "strong"}
_LOW, _HIGH = 1.0, 10.0
_JUDGE = re.compile(r"eval=([^/]+)")
_VERSION = re.compile(r"v\d+\.\d+")


_CONTRADICTION: Final = "in {n} judgements winner and extent contradict the judge's own choice; unscored"
_CONTRADICTS: Final = "winner and extent contradict the judge's choice"
_UNNAMED: Final = "judgements name no session or model"


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
        file = Judgements(source)
        if file.columns >= _PAIR:
            yield from file.parts(_pairs(file), unnamed=_UNNAMED)
        else:
            yield from file.parts(_scores(file), unnamed=_UNNAMED, table="outcomes")
            metric = metric_row("WildBench", "score", "bounded", low=_LOW, high=_HIGH, unit="points", primary=True)
            yield Rows(table="metrics", rows=[metric])
        if any(run["judge"] is None for run in file.runs.values()):
            yield from source.notes(["the judge is not known: the benchmark names it by a folder eval=<judge>"])


def _pairs(file: Judgements) -> Iterator[Row]:
    judge, version = _from_folders(file.source)
    run = file.source.run_id()
    for record, (item, model_a, model_b), place in file.records("session_id", "model_A", "model_B"):
        battle = f"{item}.{model_a}.{model_b}"
        file.once(battle, place)
        file.run(run, judge, task_version=version, **_ABOUT)
        outputs = as_dict(record.get("model_outputs"))
        lengths = [len(text) if isinstance(text := outputs.get(name), str) else None for name in (model_a, model_b)]
        winner = _verdict(record, model_a, model_b)
        file.counts[_CONTRADICTION] += winner.reason == _CONTRADICTS
        yield file.comparison(
            winner,
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


def _verdict(record: Mapping[str, object], model_a: str, model_b: str) -> VoteOutcome:
    winner = as_text(record.get("winner"))
    extent = as_whole(record.get("extent"))
    choice = as_text(get(record, "parsed_result", "choice"))
    said = {model_a: "a", model_b: "b", "tie": "tie"}.get(winner or "") if model_a != model_b else None
    if said is None:
        return VoteOutcome(raw=choice or winner, reason="the winner is neither model, nor a tie")
    if choice is not None and _CHOICES.get(choice) != (said, extent):
        return VoteOutcome(raw=choice, reason=_CONTRADICTS)
    return VoteOutcome(raw=choice or winner, outcome=said, strength=_STRENGTHS.get(extent or 0))


def _scores(file: Judgements) -> Iterator[Row]:
    source, folders = file.source, _from_folders(file.source)
    for record, (item, tested), place in file.records("session_id", "model_test"):
        model = tested.rpartition("/")[2]
        named = as_text(record.get("file_model")) or source.called
        system = named if named.startswith(model) else model
        judge = as_text(record.get("judge")) or folders[0]
        version = as_text(record.get("version")) or folders[1]
        parts = (version, judge, system) if "file_model" in record else ()
        run = source.run_id(*(part for part in parts if part))
        file.once(f"{run} {item}", place)
        file.run(run, judge, task_version=version, model=model, system=system, **_ABOUT)
        yield {
            "run": run,
            "model": model,
            "system": system,
            "benchmark": "WildBench",
            "item": item,
            "metric": "score",
            "judge": judge,
            "output_chars": _chars(record),
            **_score(record.get("score")),
        }


def _score(value: object) -> Row:
    """Read a score; what is none from 1 to 10 leaves the row unscored."""
    number = None if isinstance(value, bool) else as_number(value)
    raw = None if isinstance(value, int | float) else as_text(value)
    if number is None:
        return unscored("the judge gave no score", raw)
    if not _LOW <= number <= _HIGH:
        return unscored("the score lies outside 1 to 10", as_text(value))
    return scored(number, value_raw=raw)


def _chars(record: Mapping[str, object]) -> int | None:
    output = record.get("model_output")
    return len(output) if isinstance(output, str) else as_whole(record.get("output_chars"))


def _from_folders(source: Source) -> tuple[str | None, str | None]:
    """Return the judge and the benchmark's version, which only the folders name."""
    judge = next((found[1] for part in reversed(source.path.parts) if (found := _JUDGE.fullmatch(part))), None)
    version = next((part for part in reversed(source.path.parts) if _VERSION.fullmatch(part)), None)
    return judge, version


LOADER = WildBenchLoader()
