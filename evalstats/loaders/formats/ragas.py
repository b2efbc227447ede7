"""Ragas: a table of questions and answers with one column for each metric.

Read are `EvaluationResult.to_pandas()` written to CSV, JSON Lines or a JSON list, the column names before 0.2 (`question`,
`contexts`, `answer`), and results of experiments, whose values are written as `MetricResult(value=...)`. The item is a hash of
the question (of a conversation, what the user said) and the reference; a repeated question is a trial. The file names no model
unless it has a column `model`, or one of several levels that tells rows of a question apart and is called as what is compared
(`retriever`); any other such column (`chunk_size`) makes versions of the questions. A column after the dataset's own that holds
only numbers is a metric, unless its name says that it is none, as in a table of one's own. What the judge could not score is
NaN, and unscored here.
"""

import re
from collections.abc import Sequence
from math import isnan
from typing import Any, Final, cast

import polars as pl

from evalstats.errors import InputError, Option
from evalstats.grammar import comma_list
from evalstats.loaders.column_map import column_named
from evalstats.loaders.format import HIGHER, LOWER, RECORDS, Format, FormatFile, Sign
from evalstats.loaders.roles import ROLES, words_of
from evalstats.loaders.rows import Row, Said, hashed, held, scored, unscored
from evalstats.loaders.sampled_column import SampledColumn, repeats_told_apart
from evalstats.loaders.values import as_dict, as_list, as_number, as_text, dicts, word_score

_QUESTIONS: Final = ("user_input", "question")
_REFERENCES: Final = ("reference", "ground_truth", "ground_truths")
_MODELS: Final = ("model", "model_name", "llm")
_LEVELS: Final = ("synthesizer_name", "evolution_type", "persona_name", "query_style", "query_length")
# Columns of a dataset; whatever else is text is a factor.
_DATA: Final = frozenset(
    {
        *(*_QUESTIONS, *_REFERENCES, *_LEVELS, "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
        *("reference_context_ids", "response", "multi_responses", "rubrics", "rubric", "reference_topics"),
        *("reference_tool_calls", "contexts", "answer", "episode_done", "metadata", "", "Unnamed: 0"),
    }
)
_KNOWN: Final = (
    r"(?:faithfulness|faithful_rate|relevance_rate|answer_(?:relevanc[ey]|correctness|similarity|accuracy)"
    r"|response_relevancy|response_groundedness|context_(?:precision|recall|relevanc[ey]|utilization|entity_recall|entities_recall)"
    r"|(?:non_)?llm_\w+|nv_\w+|id_based_context_\w+|factual_correctness|noise_sensitivity|semantic_similarity"
    r"|agent_goal_accuracy|tool_call_(?:accuracy|f1)|topic_adherence|summary_score|domain_specific_rubrics|instance_rubrics"
    r"|aspect_critic|harmfulness|maliciousness|coherence|conciseness|bleu_score|rouge_score|chrf_score)(?:_with\w+)?(?:\(.*\))?"
)
_OWN: Final = r"(?:faithfulness|answer_relevanc|context_(?:precision|recall)).*"
_LOW_IS_GOOD: Final = ("noise_sensitivity*", "harmfulness*", "maliciousness*", "hallucination*", "toxicity*", "bias*")
_RESULT: Final = re.compile(r"MetricResult\(value=(?P<value>.*?)(?:, reason=.*)?\)", re.DOTALL)
_COMMA: Final = re.compile(r"-?\d,\d+")
_LOOKED_AT: Final = 1_000
_NO_SCORE: Final = "{n} scores are empty or NaN: Ragas drops from its averages what its judge could not score; unscored"
_CHAT: Final = "{n} conversations are text with the answers in it, so that no two models pair; write JSON Lines"
_WRITTEN: Final = ("[{'content'", '[{"content"', "[HumanMessage(")
_NOTHING: Final = frozenset({"", "nan", "none", "null"})
_LONGEST_EMPTY: Final = max(map(len, _NOTHING))
_EMPTY: Final = "Ragas gave no score (NaN)"
_SHAPES: Final = (*RECORDS, "text")


def _rows(rows: list[Row], file: FormatFile[Row]) -> tuple[list[Row], pl.Series]:
    """Return rows with their factors; the first thousand tell which columns are metrics."""
    if "metrics" not in file.kept:
        metrics, levels = _split(rows[:_LOOKED_AT])
        role, setting = _setting(rows[:_LOOKED_AT], levels, file)
        levels = [name for name in levels if name != setting]
        file.kept |= {"metrics": metrics, "levels": levels, "role": role, "setting": setting}
    levels, setting = cast("list[str]", file.kept["levels"]), cast("str", file.kept["setting"])
    for row in rows if setting else ():
        row[f"_{file.kept['role']}"] = row.get(setting)
    for row in rows if levels else ():
        row["_factors"] = {name: row[name] for name in levels if not _is_empty(row.get(name))}
    file.count(_CHAT, sum(str(_first(row, _QUESTIONS)).startswith(_WRITTEN) for row in rows))
    return rows, file.locators


def _metrics(_: Sequence[Row], file: FormatFile[Row]) -> dict[str, str]:
    metrics = cast("list[str]", file.kept["metrics"])
    return {name: name for name in metrics}


def _item(row: Row) -> str | None:
    question = _first(row, _QUESTIONS)
    return None if question is None else hashed(_said(question), _first(row, _REFERENCES))


def _split(first: list[Row]) -> tuple[list[str], list[str]]:
    """Find out which columns are metrics, and which are factors."""
    order = list(dict.fromkeys(name for record in first for name in record))
    behind = max((order.index(name) for name in order if name in _DATA), default=-1)
    metrics: list[str] = []
    for name in order:
        values = [value for record in first if not _is_empty(value := record.get(name))]
        numbers = bool(values) and all(_value(value) is not None for value in values)
        numbers = numbers or any(isinstance(value, str) and _RESULT.fullmatch(value) for value in values)
        words = words_of(name)
        barred = ROLES["score"].bars(words) or ROLES["trial"].weight(words) > 0
        own = order.index(name) > behind and name not in _MODELS and not barred
        if name not in _DATA and (re.fullmatch(_KNOWN, name) or (own and numbers)):
            metrics.append(name)
    if not metrics:
        raise InputError(
            f"has no column of a metric; found {comma_list(order, 12)}, expected one such as faithfulness. "
            "Write EvaluationResult.to_pandas(), not the dataset"
        )
    return metrics, [name for name in order if name in _LEVELS or (name not in _DATA and name not in metrics)]


def _setting(rows: list[Row], levels: list[str], file: FormatFile[Row]) -> tuple[str, str]:
    """Return which column tells rows of a question apart, behind what its levels are: models, or versions of the question."""
    keys = [(_item(row), as_text(_first(row, _MODELS))) for row in rows]
    if len({*keys}) == len(keys):
        return "", ""
    columns = [SampledColumn(name, rows) for name in levels]
    found = repeats_told_apart(columns, keys)
    role, _, source = (found or [""])[0].partition("=")
    name = column_named(source)
    if name is None or role not in {"system", "variant"}:
        few = [column for column in columns if 1 < len(column.levels) <= len(keys) // 2]
        apart = [c.name for c in few if len({*zip(keys, c.values, strict=True)}) > len({*keys})]
        way = (
            f", though they differ in {comma_list(apart)}; to compare two: {Option('contrast', apart[0])}"
            if apart
            else ""
        )
        file.note(f"questions that stand several times are taken for repetitions{way}")
        return "", ""
    role = "model" if role == "system" and not any(model for _, model in keys) else "variant"
    file.factors.own_names.append(f"{name}={role}")
    taken = "the model" if role == "model" else "versions of the question"
    file.note(
        f"questions stand once for each {name}, which is taken for {taken}; to compare two: {Option('contrast', name)}"
    )
    return role, name


def _first(record: Row, names: tuple[str, ...]) -> object:
    for name in names:
        if not _is_empty(value := record.get(name)):
            return value
    return None


def _said(question: object) -> object:
    """Return what the user said: the question, or the human messages of a conversation."""
    if isinstance(question, str):
        return question.strip()
    said = [part.get("content") for part in dicts(question) if {part.get("type"), part.get("role")} & {"human", "user"}]
    return said or as_list(question) or as_dict(question) or as_text(question)


def _score(value: object) -> Said:
    if _is_empty(value):
        return unscored(_EMPTY, as_text(value) or None)
    number = _value(value)
    if number is None:
        return unscored("the score is no number", held(value))
    return number if as_number(value) is not None else scored(number, value_raw=held(value))


def _is_empty(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= _LONGEST_EMPTY and value.strip().lower() in _NOTHING
    return value is None or (isinstance(value, float) and isnan(value))


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


FORMAT: Final = Format(
    name="ragas",
    title="Ragas results (.csv, .jsonl)",
    version="2",
    upstream="explodinggradients/ragas at 3e28e9d, src/ragas/dataset_schema.py and src/ragas/metrics/result.py",
    benchmark="Ragas",
    harness="Ragas",
    signs=(
        Sign("user_input", 0.95, like=(_KNOWN,), shapes=_SHAPES),
        Sign("question retrieved_contexts", 0.95, like=(_KNOWN,), shapes=_SHAPES),
        Sign("question", 0.85, some="answer contexts ground_truth", like=(_KNOWN,), shapes=_SHAPES),
        Sign("question", 0.8, like=(_OWN,), shapes=_SHAPES),
        Sign("user_input", 0.8, text=("MetricResult(value=",), shapes=_SHAPES),
    ),
    record=dict[str, Any],
    inner=_rows,
    fields={"item": _item, "model": " ".join((*_MODELS, "_model")), "variant": "_variant", "*": "_factors"},
    scores=_metrics,
    reads=_score,
    about=lambda file: {"dependence": [], "config": {"metrics": file.kept["metrics"]}},
    counts={_NO_SCORE: pl.col("status_reason") == _EMPTY},
    repeated=True,
    called="rows",
    metrics={**dict.fromkeys(_LOW_IS_GOOD, LOWER), "*": HIGHER},
    expected="A question with scores was expected; Ragas writes one row for each",
)
