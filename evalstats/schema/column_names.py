"""What a column is by its name: shared by items, a partition of them, an answer, a measure, a text, or about somebody."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl

from evalstats.errors import Option
from evalstats.schema.columns import TABLES


def plain(name: str) -> str:
    """Return a column's name in lower case, its words joined by underscores.

    >>> plain("userId"), plain("IP-Address"), plain("user.name")
    ('user_id', 'ip_address', 'user_name')
    """
    return re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


# --- what items share, and what parts them ---

# Names that make rows dependent as soon as a column is mapped to them.
DEPENDENT = ("passage", "template", "user", "session")
# Further names by which a column is presumed to do so; each also ends in "id" (conversation_id, threadId).
CONVERSATIONS = ("conversation", "dialogue", "dialog", "session", "thread")
# Last words of names whose levels say what they hold. They are all that is asked about; of anything else, levels are a sample.
_PARTITIONS = frozenset(
    {
        "ability", "area", "aspect", "behavior", "behaviour", "benchmark", "capability", "category", "channel", "class",
        "country", "dataset", "difficulty", "dimension", "discipline", "domain", "field", "format", "genre", "intent", "kind",
        "lang", "language", "level", "locale", "modality", "mode", "phase", "platform", "region", "scenario",
        "severity", "skill", "split", "stage", "style", "subcategory", "subdomain", "subfield", "subject", "subset", "subtask",
        "subtopic", "suite", "task", "theme", "tier", "topic", "type",
    }
)  # fmt: skip
_YES_OR_NO = ({"true", "false"}, {"yes", "no"}, {"0", "1"})
_ITEM = ("benchmark", "task", "item", "variant")
_SHARED = {*DEPENDENT, *CONVERSATIONS}


def is_shared_by_name(name: str) -> bool:
    """Whether a column is called like something that items share, with "id" behind it or without.

    >>> [
    ...     name
    ...     for name in ("conversation", "threadId", "Session ID", "thread_count", "item_id")
    ...     if is_shared_by_name(name)
    ... ]
    ['conversation', 'threadId', 'Session ID']
    """
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
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
    """Columns called passage, template, user, session, conversation or thread that the user has not said anything about.

    One of them makes items dependent if every item has one level of it, and some items share one. A session that
    each row has for itself, or a user that differs from one answer to the same item to the next, groups no items.

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
        return self._pairs[name]["level"].n_unique() < self._pairs[name]["item"].n_unique()


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
# What a system did with something: a `detected_category` is its output, where a `category` describes the item.
_DONE = re.compile(r"predicted|detected|inferred|chosen|picked")
# What may stand around either without changing what it is.
_BESIDE = re.compile(
    r"option|letter|key|idx|index|text|value|string|num|raw|parsed|extracted|final|true|ground|human|model|system|judge|ref"
)
# Where a test of several options keeps the one that was picked, and the right one; an audit looks at the first of each.
CHOSEN = ("value_raw", "pred", "prediction", "predicted", "choice", "model_answer", "response", "output")
ANSWER_KEYS = ("answer", "target", "key", "gold", "label", "correct_answer", "answer_key", "reference")


def is_answer(name: str) -> bool:
    """Whether a column holds an answer, an answer key or a judgement by its name, as text or as a number.

    >>> [
    ...     is_answer(name)
    ...     for name in ("gold", "correctAnswer", "answer_idx", "label", "system_choice", "detected_category")
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
