"""Ragas: a table of questions and answers with one column for each metric.

Format: `EvaluationResult.to_pandas()` written to CSV, JSON Lines or a JSON list, explodinggradients/ragas at 3e28e9d,
`src/ragas/dataset_schema.py`; the column names before 0.2 (`question`, `contexts`, `answer`); and results of experiments, whose
values are written as `MetricResult(value=...)` (`src/ragas/metrics/result.py`).
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from math import isnan
from typing import Final

from evalstats.errors import InputError
from evalstats.grammar import comma_list
from evalstats.loaders.base import Head, Match, Rows, SingleFileLoader, Source, in_batches
from evalstats.loaders.records import Records, hashed, how_to_name
from evalstats.loaders.rows import Factors, Ranges, Row, held, scored, told, unscored
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, dicts, json_text, shortened, word_score
from evalstats.schema.data import Problem

BENCHMARK: Final = "Ragas"
_QUESTIONS: Final = ("user_input", "question")
_REFERENCES: Final = ("reference", "ground_truth", "ground_truths")
_MODELS: Final = ("model", "model_name", "llm")
# Columns of a dataset; whatever else is text is a factor.
_DATA: Final = frozenset(
    {
        *(*_QUESTIONS, *_REFERENCES, "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
        *("reference_context_ids", "response", "multi_responses", "rubrics", "rubric", "reference_topics"),
        *("reference_tool_calls", "contexts", "answer", "episode_done", "metadata", "persona_name", "query_style"),
        *("query_length", "synthesizer_name", "evolution_type", "", "Unnamed: 0"),
    }
)
_LEVELS: Final = ("synthesizer_name", "evolution_type", "persona_name", "query_style", "query_length")
_KNOWN = re.compile(
    r"(?:faithfulness|faithful_rate|relevance_rate|answer_(?:relevanc[ey]|correctness|similarity|accuracy)"
    r"|response_relevancy|response_groundedness|context_(?:precision|recall|relevanc[ey]|utilization|entity_recall|entities_recall)"
    r"|(?:non_)?llm_\w+|nv_\w+|id_based_context_\w+|factual_correctness|noise_sensitivity|semantic_similarity"
    r"|agent_goal_accuracy|tool_call_(?:accuracy|f1)|topic_adherence|summary_score|domain_specific_rubrics|instance_rubrics"
    r"|aspect_critic|harmfulness|maliciousness|coherence|conciseness|bleu_score|rouge_score|chrf_score)(?:_with\w+)?(?:\(.*\))?"
)
_OWN = re.compile(r"faithfulness|answer_relevanc|context_(?:precision|recall)")
_LOW_IS_GOOD = re.compile(r"noise_sensitivity|harmfulness|maliciousness|hallucination|toxicity|bias")
# Numbers that people add to the table and that score nothing.
_NO_METRIC = re.compile(
    r"(?:^|_)(?:id|idx|index|latency|time|seconds|duration|cost|price|tokens?|count|length|len|chars|k|n|seed|run|trial|rank)"
    r"(?:_|$)",
    re.IGNORECASE,
)
_RESULT = re.compile(r"MetricResult\(value=(?P<value>.*?)(?:, reason=.*)?\)", re.DOTALL)
_COMMA = re.compile(r"-?\d,\d+")
_LOOKED_AT = 1_000
_NO_SCORE: Final = (
    "{n} scores are empty or NaN: Ragas leaves out of its averages what its judge could not score; unscored"
)
_NOTHING: Final = "holds no question with scores; Ragas writes one row for each"
_CHAT: Final = "{n} conversations are written as text, with the answers in them; they pair only where all is equal"


class RagasLoader(SingleFileLoader):
    """Loader of Ragas' tables.

    Every metric column gives a row. The item is a hash of the question (of a conversation, what the user said) and the
    reference; a repeated question is a trial. The file names no model unless it has a column `model`. A column after the
    dataset's own that holds only numbers is a metric, unless its name says that it is a count, a time, a cost or an id.
    """

    name = "ragas"
    title = "Ragas results (.csv, .jsonl)"
    version = "1"

    def sniff(self, head: Head) -> Match | None:
        """Recognise questions with a metric of Ragas."""
        if head.shape not in {"text", "lines", "array"}:
            return None
        names = frozenset(head.columns) or head.keys
        metrics = [name for name in names if _KNOWN.fullmatch(name)]
        if names & {"user_input", "retrieved_contexts"} and metrics and names & {"user_input", "question"}:
            return Match(confidence=0.95, reason=f"user_input and {min(metrics)}")
        if "question" in names and names & {"answer", "contexts", "ground_truth"} and metrics:
            return Match(confidence=0.85, reason=f"question, answer and {min(metrics)}")
        if "question" in names and len(metrics) > 1 and any(_OWN.match(name) for name in metrics):
            return Match(confidence=0.8, reason=f"question and {' and '.join(sorted(metrics)[:2])}")
        if "user_input" in names and "MetricResult(value=" in head.text:
            return Match(confidence=0.8, reason="user_input and a MetricResult")
        return None

    def read(self, source: Source) -> Iterator[Rows | Problem]:
        """Yield outcomes, metrics, the runs, and notes."""
        yield from _File(source).parts()


class _File:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.records = Records(source, called="rows")
        self.runs: dict[str, str] = {}
        self.counts: Counter[str] = Counter()
        self.trials: Counter[tuple[str, str]] = Counter()
        self.ranges = Ranges()
        self.factors = Factors()
        self.metrics: tuple[str, ...] = ()
        self.levels: tuple[str, ...] = ()
        self.unnamed = False
        self.called = source.called

    def parts(self) -> Iterator[Rows | Problem]:
        rows = iter(self.records)
        first = list(islice(rows, _LOOKED_AT))
        self.columns(first)
        yield from in_batches(self.rows(chain(first, rows)), "outcomes")
        if not self.runs:
            raise InputError(_NOTHING)
        metrics = [
            self.ranges.row(
                benchmark, name, higher_is_better=not _LOW_IS_GOOD.match(name), primary=name == self.metrics[0]
            )
            for benchmark, name in self.ranges
        ]
        yield Rows(table="metrics", rows=metrics)
        yield Rows(table="runs", rows=[self.run_row(run, model) for model, run in self.runs.items()])
        yield from self.records.problems()
        yield from self.source.notes(told(self.counts))
        if self.unnamed:
            yield from self.source.notes([how_to_name(self.called)])

    def columns(self, first: list[tuple[str, Row]]) -> None:
        """Find out which columns are metrics, and which are factors."""
        if not first:
            raise InputError(_NOTHING)
        names = dict.fromkeys(name for _, record in first for name in record)
        order = list(names)
        behind = max((order.index(name) for name in order if name in _DATA), default=-1)
        metrics: list[str] = []
        for name in order:
            held_here = [value for _, record in first if not _is_empty(value := record.get(name))]
            known = _KNOWN.fullmatch(name) is not None
            numbers = bool(held_here) and all(_value(value) is not None for value in held_here)
            numbers = numbers or any(isinstance(value, str) and _RESULT.fullmatch(value) for value in held_here)
            own = order.index(name) > behind and name not in _MODELS and not _NO_METRIC.search(name)
            if name not in _DATA and (known or (own and numbers)):
                metrics.append(name)
        if not metrics:
            raise InputError(
                f"has no column of a metric; found {comma_list(order, 12)}, expected one such as faithfulness. "
                "Write EvaluationResult.to_pandas(), not the dataset"
            )
        self.metrics = tuple(metrics)
        self.levels = tuple(name for name in order if name in _LEVELS or (name not in _DATA and name not in metrics))

    def rows(self, records: Iterator[tuple[str, Row]]) -> Iterator[Row]:
        for locator, record in records:
            question = next((value for name in _QUESTIONS if not _is_empty(value := record.get(name))), None)
            if question is None:
                self.records.leave_out(locator, "no question")
                continue
            reference = next((value for name in _REFERENCES if not _is_empty(value := record.get(name))), None)
            item = hashed(self.asked(question), reference)
            run, model = self.run_of(record)
            trial = self.trials[run, item]
            self.trials[run, item] += 1
            base: Row = {
                **self.factors.of({name: record[name] for name in self.levels if not _is_empty(record.get(name))}),
                "run": run,
                "model": model,
                "system": model,
                "benchmark": BENCHMARK,
                "item": item,
                "trial": trial,
                "locator": locator,
            }
            for name in self.metrics:
                outcome = self.score(record.get(name))
                self.ranges.add(BENCHMARK, name, as_number(outcome.get("score")))
                yield {**base, "metric": name, **outcome}

    def asked(self, question: object) -> object:
        """Return what the user said: the question, or the human messages of a conversation."""
        if isinstance(question, str):
            self.counts[_CHAT] += question.startswith(("[{'content'", '[{"content"', "[HumanMessage("))
            return question.strip()
        said = [
            part.get("content") for part in dicts(question) if {part.get("type"), part.get("role")} & {"human", "user"}
        ]
        return said or as_list(question) or as_dict(question) or as_text(question)

    def run_of(self, record: Row) -> tuple[str, str]:
        named = next((text for name in _MODELS if (text := as_text(record.get(name))) and text.strip()), None)
        if named is None:
            self.unnamed = True
        model = named or self.called
        if model not in self.runs:
            self.runs[model] = self.source.run_id(model) if named else self.source.run_id()
        return self.runs[model], model

    def score(self, value: object) -> Row:
        plain = None if isinstance(value, bool) else as_number(value)
        if plain is not None:
            return scored(plain)
        if _is_empty(value):
            self.counts[_NO_SCORE] += 1
            return unscored("Ragas gave no score (NaN)", as_text(value) or None)
        number = _value(value)
        raw = shortened(value) if isinstance(value, str) else held(value)
        if number is None:
            return unscored("the score is no number", raw)
        return scored(number, value_raw=raw if raw is not None and as_number(raw) is None else None)

    def run_row(self, run: str, model: str) -> Row:
        return {
            "run": run,
            "model": model,
            "system": model,
            "benchmark": BENCHMARK,
            "harness": "Ragas",
            "factor_names": self.factors.own_names,
            "dependence": [],
            "config": json_text({"metrics": list(self.metrics)}),
        }


def _is_empty(value: object) -> bool:
    return (
        value is None
        or (isinstance(value, float) and isnan(value))
        or (isinstance(value, str) and value.strip().lower() in {"", "nan", "none", "null"})
    )


def _value(value: object) -> float | None:
    """Return a score: a number (also with a decimal comma), or the number or word that a MetricResult holds."""
    value = as_dict(value).get("value", value)
    if not isinstance(value, str):
        return as_number(value)
    text = value.strip()
    found = _RESULT.fullmatch(text)
    text = found["value"].strip("'\"") if found else text
    number = as_number(text.replace(",", ".") if _COMMA.fullmatch(text) else text)
    return word_score(text) if number is None and found else number


LOADER: Final = RagasLoader()
