"""The glossary: every column of the tidy tables, once, with its dtype, unit and meaning.

Checks (`evalstats.schema.tables`) and the documentation are made from these declarations.
A column that is not listed here is a *factor*: it survives loading, storing and analysis under its own name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Literal

import polars as pl

TableName = Literal["outcomes", "comparisons", "ratings", "aggregates", "runs", "metrics"]

STATUSES = ("scored", "error", "unscored")
# Sums over rows that stand for so many trials stay far within whole numbers of 64 bits.
MAX_TRIALS = 1 << 31
METRIC_KINDS = ("binary", "proportion", "bounded", "continuous", "ordinal")


@dataclass(frozen=True, slots=True)
class GlossaryColumn:
    """One column: its name, dtype, unit and meaning.

    `required` columns may hold no null. `fill` replaces a null (or an absent column) before that check.
    `levels`, where given, are the only values allowed. `low` and `high` bound a number, both inclusive.
    """

    name: str
    meaning: str
    unit: str = ""
    dtype: pl.DataType = field(default_factory=pl.String)
    required: bool = False
    fill: str | int | float | bool | None = None
    levels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


_text = GlossaryColumn
_flag = partial(GlossaryColumn, dtype=pl.Boolean())
_time = partial(GlossaryColumn, dtype=pl.Datetime("us", "UTC"))
_labels = partial(GlossaryColumn, dtype=pl.List(pl.String()))
_number = partial(GlossaryColumn, dtype=pl.Float64())
_count = partial(GlossaryColumn, dtype=pl.Int64(), low=0)

_TIMESTAMP = _time("timestamp", "When the row was recorded", "UTC")
_SETTING = _text("setting", "Setting of the outcome", fill="lab", levels=("lab", "live"))

# Helper columns begin with this, which no column of a result file does: a factor may be called anything else.
HELPER = "evalstats: "
# Where trials have names (a judge, a seed) and not mere numbers, a factor of this name holds them.
TRIAL_LABEL = "trial_label"
# A column called so names what stands behind a trial, be it a text or a number; any other number only counts.
NAMED_TRIALS = re.compile(r"judge|rater|grader|annotator|evaluator|assessor|scorer|seed|simulator|persona")

OUTCOMES: tuple[GlossaryColumn, ...] = (
    _text("run", "One execution of one system on one benchmark; key into `runs`", required=True),
    _text("model", "Name of the language model", required=True),
    _text(
        "system",
        "What is compared, if not the model alone (prompt, scaffold, defence); defaults to `model`",
        required=True,
    ),
    _text("benchmark", "Name of the benchmark", required=True),
    _text("task", "Part of the benchmark with its own items", required=True, fill=""),
    _text("item", "Pairing key within (benchmark, task); the same string for every model", required=True),
    _text("variant", "Version of the item: a user behaviour, a language, a perturbation", required=True, fill=""),
    _count(
        "trial", "Repetition of the same item by the same run; null when only an average of trials is known", "from 0"
    ),
    _count("n_trials", "Number of trials behind this row", "trials", low=1, high=MAX_TRIALS),
    _text("metric", "Name of the metric", required=True),
    _number("score", "The score in the metric's own unit; null when there is none"),
    _text("value_raw", "The original value, if it differs from `score`"),
    _text(
        "status",
        "scored: has a score; error: the harness failed; unscored: ran, but has no score",
        required=True,
        levels=STATUSES,
    ),
    _text("status_reason", "Why the row is not scored"),
    _number("weight", "Sampling weight of the row", low=0),
    _SETTING,
    _text("scenario", "Scenario type: judgment dimension, user behaviour, category"),
    _text("user_kind", "Whether the user cooperates", levels=("ideal", "non_ideal")),
    _labels("tags", "Labels; a row may have several"),
    _text("judge", "Model or person that gave the score"),
    _text("user", "Live or simulated user"),
    _text("session", "Conversation or session of the row"),
    _count("n_turns", "Number of turns in the conversation", "turns"),
    _number("cost_usd", "Cost of producing the answer", "US dollars", low=0),
    _number("latency_s", "Time to produce the answer", "seconds", low=0),
    _count("input_tokens", "Tokens given to the model, including cached ones", "tokens"),
    _count("output_tokens", "Tokens written by the model, including reasoning", "tokens"),
    _TIMESTAMP,
    _text(
        "locator",
        "Position of the row in its source: a line (from 1), a list index or row (from 0), a file in an archive",
    ),
    _text("link", "Address of the sample in the harness's viewer, if any"),
)

COMPARISONS: tuple[GlossaryColumn, ...] = (
    _text("run", "The file or arena the vote came from; key into `runs`", required=True),
    _text("battle", "Id of the judged pair", required=True),
    _text("event", "Id of the event that several battles share (one user turn with K answers)"),
    _count("event_size", "Number of models shown in the event", "models", low=2),
    _count("rank_a", "The rater's rank of a within the event", low=1),
    _count("rank_b", "The rater's rank of b within the event", low=1),
    _text("item", "Prompt or question"),
    _text("model_a", "Model on side a", required=True),
    _text("model_b", "Model on side b", required=True),
    _text("outcome", "Who won; null if the label could not be read", levels=("a", "b", "tie", "both_bad")),
    _number("preference", "Preference for a, as a proportion", "proportion", low=0, high=1),
    _text("strength", "Strength of the preference", levels=("slight", "normal", "strong")),
    _text("order", "Which side was shown first", levels=("a_first", "b_first")),
    _number("weight", "Weight of the vote", low=0),
    _text("rater", "Person who voted"),
    _text("session", "Session of the rater"),
    _text("judge", "Judge model, if the rater is not a person"),
    _text("app", "Application in which the vote was cast"),
    _text("scenario", "Scenario type or category"),
    _labels("tags", "Labels; a vote may have several"),
    _text("language", "Language of the conversation"),
    _count("turn", "Turn of the conversation at which the vote was cast", "turns"),
    _text("phase", "Phase of the arena's sampling (placement, proximity, random)"),
    _TIMESTAMP,
    _text("setting", "Setting of the vote", fill="live", levels=("lab", "live")),
    _text(
        "status", "scored: has an outcome; unscored: the label is missing or unknown", required=True, levels=STATUSES
    ),
    _text("status_reason", "Why the vote has no outcome"),
    _text("value_raw", "The winner's original label"),
)

RATINGS: tuple[GlossaryColumn, ...] = (
    _text("item", "What was rated", required=True),
    _text("variant", "Version of the item", required=True, fill=""),
    _text("run", "The run whose answer was rated"),
    _text("model", "The model whose answer was rated"),
    _text("rater", "Who rated", required=True),
    _text("rater_kind", "A person or a model", levels=("human", "judge")),
    _text("criterion", "Criterion of the rating", required=True, fill=""),
    _number("value", "The rating as a number"),
    _text("label", "The rating as a category"),
    _number("label_prob", "Known probability of selecting the item for labelling", "proportion", low=0, high=1),
    _TIMESTAMP,
)

AGGREGATES: tuple[GlossaryColumn, ...] = (
    _text("model", "Name of the model", required=True),
    _text("benchmark", "Name of the benchmark", required=True),
    _text("task", "Part of the benchmark", required=True, fill=""),
    _text("scenario", "Scenario type"),
    _text("variant", "Version of the items", required=True, fill=""),
    _text("metric", "Name of the metric", required=True),
    _number("estimate", "The published number"),
    _number("std_error", "Its standard error", low=0),
    _number("conf_low", "Lower end of its interval"),
    _number("conf_high", "Upper end of its interval"),
    _number("conf_level", "Confidence level of the interval", "proportion", low=0, high=1),
    _text("method", "Method for the estimate and interval"),
    _count("n", "Number of units behind the estimate"),
    _text("unit", "Unit of the number: proportion, percent, points, rating, US dollars"),
    _SETTING,
    GlossaryColumn("date", "Date of publication or evaluation", dtype=pl.Date()),
    _text("run", "Run behind the number; key into `runs`"),
    _text("value_raw", "The original number"),
)

# A factor that `evalstats run` writes: when rows were looked at while the run went on, and how many items were planned.
LOOKS = "evalstats_looks"

RUNS: tuple[GlossaryColumn, ...] = (
    _text("run", "Key", required=True),
    _text("model", "Name of the model; null for a file of votes"),
    _text("system", "What is compared, if not the model alone"),
    _text("benchmark", "Name of the benchmark or arena", required=True),
    _text("source", "Source file of the run, as given by the user"),
    _text("source_digest", "SHA-256 of the source's bytes"),
    _text("loader", "Loader that read it"),
    _text("loader_version", "Version of that loader"),
    _text("harness", "Program that wrote the file"),
    _text("harness_version", "Version of that program"),
    _text("task_version", "Version of the task"),
    _count("n_shots", "Worked examples in the prompt", "examples"),
    _text("prompt_hash", "Digest of the prompt template or of all prompts"),
    _number("temperature", "Sampling temperature", low=0),
    _text("judge", "Judge model"),
    _count("item_limit", "Limit on the number of items, if any", "items"),
    _text("status", "The harness's status of the run: success, error, cancelled, started"),
    _labels("factor_names", "Names of standard columns in the source, as `own=standard`"),
    _labels("dependence", "Columns whose levels make rows dependent (passage, template, user, session)"),
    _text("config", "Remaining configuration as a JSON object"),
    _text("note", "Notes on the run"),
    _text("simulated", "Name of the simulator, if the run is simulated"),
    _count("n_scored", "Rows with a score", "rows"),
    _count("n_error", "Rows with a harness failure", "rows"),
    _count("n_unscored", "Rows that ran but have no score", "rows"),
    _TIMESTAMP,
)

METRICS: tuple[GlossaryColumn, ...] = (
    _text("benchmark", "Name of the benchmark", required=True),
    _text("metric", "Name of the metric; `scorer/key` for a scorer that returns several", required=True),
    _text("kind", "Kind of values", required=True, levels=METRIC_KINDS),
    _number("low", "Lowest possible value"),
    _number("high", "Highest possible value"),
    _flag("higher_is_better", "Whether higher is better; null if not declared"),
    _text("unit", "Unit: proportion, points, seconds, US dollars, ..."),
    _flag("primary", "The headline metric of its benchmark", required=True, fill=False),
)

TABLES: Mapping[TableName, tuple[GlossaryColumn, ...]] = MappingProxyType(
    {
        "outcomes": OUTCOMES,
        "comparisons": COMPARISONS,
        "ratings": RATINGS,
        "aggregates": AGGREGATES,
        "runs": RUNS,
        "metrics": METRICS,
    }
)

# A row is named by these columns; two rows with the same key are a fault.
KEYS: Mapping[TableName, tuple[str, ...]] = MappingProxyType(
    {
        "outcomes": ("run", "benchmark", "task", "item", "variant", "trial", "metric", "judge"),
        "comparisons": ("run", "battle"),
        "ratings": ("item", "variant", "run", "model", "rater", "criterion"),
        "aggregates": (),
        "runs": ("run",),
        "metrics": ("benchmark", "metric"),
    }
)


def column_names(table: TableName) -> tuple[str, ...]:
    """Names of the standard columns of a table, in order."""
    return tuple(column.name for column in TABLES[table])


def schema_of(table: TableName) -> dict[str, pl.DataType]:
    """Name and dtype of every standard column of a table."""
    return {column.name: column.dtype for column in TABLES[table]}


def glossary() -> pl.DataFrame:
    """Return the whole glossary as a frame: table, column, dtype, unit, required, levels, meaning.

    Examples
    --------
    >>> glossary().filter(column="cost_usd").select("table", "unit", "meaning").row(0)
    ('outcomes', 'US dollars', 'Cost of producing the answer')
    """
    rows = [
        {
            "table": table,
            "column": column.name,
            "dtype": str(column.dtype),
            "unit": column.unit,
            "required": column.required,
            "levels": " | ".join(column.levels),
            "meaning": column.meaning,
        }
        for table, columns in TABLES.items()
        for column in columns
    ]
    return pl.DataFrame(rows)
