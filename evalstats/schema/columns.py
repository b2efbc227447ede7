"""The glossary: every column of the tidy tables, once, with its dtype, unit and meaning.

Checks (`evalstats.schema.tables`) and the documentation are made from these declarations.
A column that is not listed here is a *factor*: it survives loading, storing and analysis under its own name. What such a column
is by its name stands below: shared by items, a partition of them, an answer, a measure, a text, or about somebody.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, Literal

import polars as pl

from evalstats.errors import Option

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


def plain(name: str) -> str:
    """Return a column's name in lower case, its words joined by underscores.

    >>> plain("userId"), plain("IP-Address"), plain("user.name")
    ('user_id', 'ip_address', 'user_name')
    """
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


# --- what items share, and what parts them ---

# Names that make rows dependent as soon as a column is mapped to them.
DEPENDENT = ("passage", "template", "user", "session")
# Further names by which a column is presumed to do so; each also ends in "id" (conversation_id, customerId). A person has
# several conversations, and may meet several systems.
CONVERSATIONS = ("conversation", "dialogue", "dialog", "session", "thread")
PERSONS = ("user", "customer", "account", "visitor", "player", "member", "participant", "respondent")
# Last words of names whose levels say what they hold. They are all that is asked about; of anything else, levels are a sample.
_PARTITIONS = frozenset(
    {
        "ability", "area", "aspect", "behavior", "behaviour", "benchmark", "capability", "category", "channel", "class",
        "country", "dataset", "difficulty", "dimension", "discipline", "domain", "field", "format", "genre", "intent", "kind",
        "lang", "language", "level", "locale", "modality", "mode", "phase", "phenomenon", "platform", "region", "scenario",
        "severity", "skill", "split", "stage", "style", "subcategory", "subdomain", "subfield", "subject", "subset", "subtask",
        "subtopic", "suite", "task", "theme", "tier", "topic", "type",
    }
)  # fmt: skip
_YES_OR_NO = ({"true", "false"}, {"yes", "no"}, {"0", "1"})
_ITEM = ("benchmark", "task", "item", "variant")
_SHARED = {*DEPENDENT, *CONVERSATIONS, *PERSONS}


def is_shared_by_name(name: str) -> bool:
    """Whether a column is called like something that items share, with "id" behind it or without.

    >>> [
    ...     name
    ...     for name in ("conversation", "customerId", "Session ID", "thread_count", "item_id")
    ...     if is_shared_by_name(name)
    ... ]
    ['conversation', 'customerId', 'Session ID']
    """
    plain = re.sub(r"[\W_]+", "", name.lower())
    return plain in _SHARED or (plain.removesuffix("id") in _SHARED)


def is_partition(name: str, levels: pl.Series) -> bool:
    """Whether a column's levels are all that there can be: by its name, or because they are yes and no.

    >>> is_partition("has_image", pl.Series([True, False])), is_partition("chapter", pl.Series(["1", "2"]))
    (True, False)
    """
    if is_partition_by_name(name) or levels.dtype == pl.Boolean:
        return True
    few = levels.drop_nulls().unique().cast(pl.String).head(3).str.to_lowercase().to_list()
    return any(set(few) <= pair for pair in _YES_OR_NO)


def is_partition_by_name(name: str) -> bool:
    """Whether a column is called for what its levels hold; "id" behind it makes them ids, which hold nothing.

    >>> [name for name in ("category", "task_type", "Subjects", "topic_id", "chapter") if is_partition_by_name(name)]
    ['category', 'task_type', 'Subjects']
    """
    words = re.findall("[a-z]+", re.sub("(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().removesuffix("_name"))
    last = words[-1] if words else ""
    return last in _PARTITIONS or last.removesuffix("s") in _PARTITIONS or last.removesuffix("ies") + "y" in _PARTITIONS


class Presumed:
    """Columns called passage, template, user, customer, session or conversation that the user has not said anything about.

    One of them makes items dependent if every item has one level of it, and some items share one of several. A session that
    each row has for itself, a user that differs from one answer to the same item to the next, or an account that all rows are
    of groups no items.

    >>> rows = {"benchmark": ["b"] * 3, "task": [""] * 3, "item": ["1", "2", "3"], "variant": [""] * 3}
    >>> presumed = Presumed(["passage", "session"])
    >>> presumed.add(pl.DataFrame({**rows, "passage": ["x", "x", "y"], "session": ["s", "t", "u"]}))
    >>> presumed.held()
    ['passage']
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._pairs = {name: pl.DataFrame(schema={"item": pl.UInt64, "level": pl.UInt64}) for name in names}
        self._empty: set[str] = set()

    def add(self, frame: pl.DataFrame) -> None:
        """Take note of the levels of some outcomes."""
        for name, known in self._pairs.items():
            level = frame[name].cast(pl.String)
            if level.null_count():
                self._empty.add(name)
            items = frame.select(_ITEM).hash_rows(seed=0).alias("item")
            new = pl.DataFrame([items, level.hash(seed=0).alias("level")]).filter(level.is_not_null())
            self._pairs[name] = pl.concat([known, new]).unique()

    def held(self) -> list[str]:
        """Names of the columns by which items are dependent."""
        return [name for name in self._pairs if not self._differs(name) and self._is_shared(name)]

    def notes(self) -> Iterator[str]:
        """Say what was made of each."""
        held = self.held()
        for name in self._pairs:
            if name in held:
                yield (
                    f"items that share a {name} count as dependent, since a column is called {name}; "
                    f"{Option('cluster', 'none')} takes every item as independent"
                )
            elif self._differs(name) and self._is_shared(name):
                yield (
                    f"column {name} is empty in places or differs within an item, so items are not clustered by it; "
                    f"to insist: {Option('map', name, of='dependence')}"
                )

    def _differs(self, name: str) -> bool:
        return name in self._empty or self._pairs[name]["item"].n_unique() < self._pairs[name].height

    def _is_shared(self, name: str) -> bool:
        return 1 < self._pairs[name]["level"].n_unique() < self._pairs[name]["item"].n_unique()


# --- answers, keys and judgements; counts and measures ---

_SIDE: Final = re.compile(r"_(?:a|b|left|right)$")
# What a name ends in when the column holds an answer, a key or a judgement; what stands before it does not matter.
_RESULT = re.compile(
    r"answers?|gold(?:en)?|groundtruth|predictions?|predicted|preds?|responses?|completion|generation|scores?|ratings?|grades?|"
    r"rewards?|accuracy|acc|(?:in)?correct|correctness|verdicts?|judge?ments?|pass|passed|failed|solved|resolved|success|"
    r"outcomes?|winner"
)
# These are so only alone or beside one another: a `topic_label` or an `attack_target` describes items.
_ALONE = re.compile(
    r"labels?|targets?|references?|expected|truth|outputs?|solution|result|decision|choice|preference|y"
)
# What was done with something: a `detected_category` is a system's output, where a `category` describes the item, and a
# `better_system` is a judgement.
_DONE = re.compile(r"predicted|detected|inferred|chosen|picked|preferred|better")
# What may stand around either without changing what it is.
_BESIDE = re.compile(
    r"option|letter|key|idx|index|text|value|string|num|raw|parsed|extracted|final|true|actual|ground|human|model|system|judge|ref"
)
# Where a test of several options keeps the one that was picked, and the right one; an audit looks at the first of each.
CHOSEN = ("value_raw", "pred", "prediction", "predicted", "choice", "model_answer", "response", "output")
ANSWER_KEYS = ("answer", "target", "key", "gold", "label", "correct_answer", "answer_key", "reference")


def is_answer(name: str) -> bool:
    """Whether a column holds an answer, an answer key or a judgement by its name, as text or as a number.

    >>> [
    ...     is_answer(name)
    ...     for name in (
    ...         "gold",
    ...         "answer_idx",
    ...         "actual_label",
    ...         "system_choice",
    ...         "detected_category",
    ...         "better_than_other",
    ...     )
    ... ]
    [True, True, True, True, True, True]
    >>> [is_answer(name) for name in ("passage", "answer_type", "target_language", "topic_label", "judge_model")]
    [False, False, False, False, False]
    """
    words = _SIDE.sub("", plain(name)).split("_")
    about = [word for word in words if not _BESIDE.fullmatch(word)]
    if not about:
        return False
    if _DONE.fullmatch(words[0]):
        return True
    if all(_RESULT.fullmatch(word) or _ALONE.fullmatch(word) for word in about):
        return True
    while _BESIDE.fullmatch(words[-1]):
        words.pop()
    return _RESULT.fullmatch(words[-1]) is not None


# The last word of the name, so that `badge_no` and `usernum` are none. Short on purpose: what is missing is made a pseudonym,
# which loses less than an id that stays. No "number", "order", "weight", "height", "price of", "time": they number or describe
# people as often as runs.
_MEASURE = re.compile(
    r"(?:n|num)_\w+|(?:is|has)_\w+|\w+_per_\w+|(?:evaluation|display)_order"
    r"|(?:.*_)?(?:counts?|tokens|length|len|turns?|rounds?|steps?|trials?|attempts|retries|errors|words|chars|characters|lines|"
    r"bytes|cost|usd|price|s|ms|sec|seconds|latency|duration|scores?|points|rank|rating|reward|accuracy|precision|recall|f1|"
    r"headers?|bold|emojis?|loss|rate|ratio|share|fraction|percent|pct|prob|probability|confidence|p_value|threshold|temperature|top_p|seed)"
)
_NUMBERS: Final = frozenset(
    column.name for columns in TABLES.values() for column in columns if column.dtype.is_numeric()
)


def is_measure(name: str) -> bool:
    """Whether a column of numbers counts or measures by its name, or has a name of the glossary."""
    found = plain(name)
    return found in _NUMBERS or _MEASURE.fullmatch(_SIDE.sub("", found)) is not None


# --- texts, people and labels ---

# What was asked and answered, as tables call it. The answer first: of `output` and `answer` the latter is what was expected.
USUAL_TEXTS: Final[Mapping[str, str]] = {
    "answer": "response output prediction completion generation model_answer model_output model_response actual_output "
    "generated_text predicted_answer pred outputs answer",
    "question": "question prompt input query instruction problem user_input inputs goal utterance messages",
    "expected": "expected target reference gold expected_output expected_outputs expected_answer reference_answer "
    "reference_output reference_outputs ground_truth correct_answer gold_answer answer_key ideal label answer",
}

# Patterns are compiled when they are first asked: together they are a hundredth of a short answer.
# Written by somebody, or about somebody.
_TEXT: Final = (
    r"(?!n_|num_)(?:.*_)?(?:prompts?|conversations?|messages?|contents?|text|transcript|dialog|dialogue|history|instructions?|question|"
    r"query|input|output|responses?|answer|completion|generation|comments?|feedback|explanation|rationale|remarks?|title|"
    r"body|description|summary|subject_line|url|uri|link|referrer|referer|user_agent|payload|raw|notes?)"
    r"(?:_(?:a|b|text|raw|full|json|left|right|\d+))?"
)
_PERSONAL: Final = (
    r"(?:.*_)?(?:e_?mails?|mail|ip|ips|ip_?addr(?:ess)?|phone|phone_number|telephone|mobile|fax|address|street|lat|lon|lng|"
    r"latitude|longitude|geo|geolocation|location|gps|zip|zip_?code|postcode|postal_code|dob|birth\w*|age|ssn|iban|passport|"
    r"mac_address|imei|first_?name|last_?name|full_?name|given_?name|family_?name|surname|nickname|display_name|real_name)"
    r"|name|names"
)
# Stands for somebody or for something of theirs: a pseudonym keeps which rows belong together.
_SUFFIX: Final = r"_?(?:id|ids|uid|uuid|key|hash|no|nr|number|token|ref)"
_ID: Final = (
    r"(?!n_|num_)(?:.*_)?(?:"
    r"(?:user|username|user_?name|customer|client|account|member|person|participant|respondent|annotator|rater|voter|worker|"
    r"evaluator|reviewer|author|owner|employee|session|conversation|visitor|cookie|fingerprint|uid|uuid|guid|patient|student|"
    rf"tenant|workspace|login|handle)(?:{_SUFFIX})?"
    rf"|(?:conv|chat|thread|message|msg|request|trace|span|device|ticket|order|invoice|contract|case|event|battle|vote){_SUFFIX}"
    r")"
)
# Columns of labels that people choose from a list. Whatever else holds words is made a pseudonym unless the user says not.
_LABELS: Final = frozenset(
    {
        "category", "subcategory", "difficulty", "subject", "domain", "topic", "dimension", "behaviour", "behavior",
        "user_behaviour", "user_behavior", "level", "split", "subset", "kind", "type", "mode", "tier", "platform", "channel",
        "region", "country", "locale", "lang", "reasoning_effort", "strategy", "scaffold", "defence", "defense", "attack",
        "organization", "license", "harness", "filter", "group", "arm", "language", "scenario", "app", "phase", "status",
    }
)  # fmt: skip


def is_usual_text(name: str, kind: str = "") -> bool:
    """Whether a column of that name holds what was asked or answered, which is read from the file when somebody asks for it.

    >>> is_usual_text("question"), is_usual_text("inputs.question", "question"), is_usual_text("answer", "question")
    (True, True, False)
    """
    usual = USUAL_TEXTS[kind] if kind else " ".join(USUAL_TEXTS.values())
    return plain(name.rpartition(".")[2]).removesuffix("_text") in usual.split()


def holds_text(name: str) -> bool:
    """Whether a column of that name holds what somebody wrote."""
    return re.fullmatch(_TEXT, plain(name)) is not None


def is_personal(name: str) -> bool:
    """Whether a column of that name describes a person directly, so that no pseudonym of it is of use."""
    return re.fullmatch(_PERSONAL, plain(name)) is not None


def holds_ids(name: str) -> bool:
    """Whether a column of that name says to whom, or to which conversation, a row belongs."""
    return re.fullmatch(_ID, plain(name)) is not None


def holds_labels(name: str) -> bool:
    """Whether a column of that name holds labels from a short list, which may be read."""
    return plain(name) in _LABELS
