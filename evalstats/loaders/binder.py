"""Columns of a table to roles: which column is the item, the score, the model, the trial, the judge; whose votes these are.

Every column gets a weight for every role, by its name and by what it holds. The roles are given out together, so that the key
they make fits the rows: systems share items, and nothing stands twice without a column that says why. An assignment is used
where nothing rivals it, and is otherwise shown as the map that would use it.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Final

from evalstats.errors import Option, together
from evalstats.loaders.bound_columns import ALIASES
from evalstats.loaders.column_map import ORDER, ROW
from evalstats.loaders.published_numbers import plain
from evalstats.loaders.values import NO_VALUE, as_number, as_text, has_decimal_comma, percent_score, word_score
from evalstats.schema.column_names import is_answer
from evalstats.schema.columns import KEYS

Record = Mapping[str, object]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _weights(*groups: tuple[float, str]) -> dict[str, float]:
    return {name: weight for weight, names in groups for name in names.split()}


# What a column is called, and how surely it is then that. From `_SURE` on a name is enough by itself.
_SURE: Final = 0.9
_ITEMS: Final = _weights(
    (1.0, " ".join(("item", *ALIASES["item"], "uid uuid id idx index sample_idx seg_id segment_id scenario_id"))),
    (0.95, "example instance sample key"),
    (0.7, "question query prompt problem input instruction test test_name test_case case task"),
    (0.4, "name title description number no"),
)
# Texts that were asked: an item where each stands once for a system.
_ASKED_ONCE: Final = 0.25
_ASKED: Final = frozenset({"question", "query", "prompt", "problem", "input", "instruction"})
_SCORES: Final = _weights(
    (1.0, " ".join(("score", *ALIASES["score"], "is_resolved pass solved accuracy acc exact_match em grade ok is_ok"))),
    (0.95, "hit right rating reward f1 final_score judgement_score"),
    (0.4, "judgement judgment result outcome verdict overall value points label"),
)
# Qualities that are rated: where several stand side by side each is a metric.
_QUALITIES: Final = frozenset(
    _words(
        "helpfulness harmlessness honesty toxicity relevance relevancy faithfulness coherence fluency conciseness groundedness "
        "correctness completeness safety quality precision recall bleu rouge bertscore similarity clarity accuracy f1"
    )
)
_MODELS: Final = _weights(
    (1.0, " ".join(("model", *ALIASES["model"], "llm llm_name llm_model engine deployment system model_version"))),
    (0.95, "agent provider provider_id bot assistant submission run_name experiment generator"),
    # Factors whose levels are compared where the model is one and the same.
    (
        0.55,
        "prompt prompt_name prompt_version prompt_id system_prompt arm group condition treatment method approach config",
    ),
)
_TRIALS: Final = _words(
    "trial epoch seed attempt repeat repetition replicate rep run run_id iteration try sample_idx sample_index "
    "generation completion_index draw"
)
# Inside such a part of a benchmark items are counted anew.
_PARTS: Final = _words("task subtask dataset subset subject category domain benchmark split config language")
_PAIRS: Final = tuple(
    tuple(pair.split("/"))
    for pair in _words(
        "model_a/model_b model_1/model_2 model1/model2 modela/modelb left/right left_model/right_model "
        "model_left/model_right system_a/system_b system_1/system_2 assistant_a/assistant_b player_a/player_b "
        "player_1/player_2 a/b first_model/second_model model_x/model_y candidate_a/candidate_b option_a/option_b"
    )
)
_WINNERS: Final = _words(
    "winner choice preferred preference vote chosen outcome result label verdict judgement judgment selection "
    "selected win decision answer"
)
_RATERS: Final = _words("rater user_id user rater_id annotator annotator_id worker worker_id voter")
# Names with such a word hold counts, sizes, places and times, which are no scores.
_NO_SCORES: Final = frozenset(
    _words(
        "id idx index no number token tokens cost price usd latency time duration ms seconds sec len length count "
        "n num year seq status code seed trial epoch temperature penalty config configs setting settings "
        "parameters weight probability prob logprob confidence entropy turn turns timestamp date rank size max "
        "total step steps level line generations nones fails"
    )
)
# Who scores, rates or asks is not what is scored.
_JUDGES: Final = frozenset(_words("judge grader evaluator scorer eval critic reviewer referee annotator rater"))
_NO_MODELS: Final = _JUDGES | {"embedding", "reward", "tokenizer", "user"}
_NO_ITEMS: Final = _NO_MODELS | {
    "session",
    "run",
    "model",
    "worker",
    "account",
    "experiment",
    "system",
    "batch",
    "trial",
}
_FAMILIES: Final = re.compile(
    r"(?i)\b(?:gpt|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|ministral|codestral|qwen|qwq|deepseek|grok|phi|command|"
    r"o[134](?:-mini|-pro|-preview)?|yi|glm|kimi|falcon|vicuna|nova|olmo|sonnet|opus|haiku|minimax|ernie|hunyuan|nemotron|"
    r"palm|bard|koala|alpaca|dbrx|jamba|solar|granite|smollm|pythia|internlm|starcoder|wizardlm|zephyr|tulu|doubao)"
    r"(?![a-z])|[\d.]+b(?:-|\b)|\bmodel[-_ ]?(?:\d+|[a-z])(?![a-z])"
)
_ABSENT: Final = NO_VALUE | {"-", "–", "—"}
_LOOKED_AT: Final = 200
_NAME_CHARS: Final = 120
_MOST: Final = 6


def names_a_model(text: str) -> bool:
    """Whether a text looks like the name of a language model.

    >>> names_a_model("gpt-4o"), names_a_model("Llama-3-8B"), names_a_model("test_login")
    (True, True, False)
    """
    return _FAMILIES.search(text) is not None


def as_options(pairs: Iterable[str]) -> str:
    """Write a map as it is given.

    >>> print(as_options(["item=question id", "score=ok"]))
    item='question id', score='ok'
    """
    return together(*(Option("map", column, of=name) for name, _, column in (pair.partition("=") for pair in pairs)))


class SampledColumn:
    """One column of the rows that are looked at: its name in plain words, and what its cells have in common."""

    def __init__(self, name: str, records: Sequence[Record]) -> None:
        self.name = name
        # Also a name in camel case has words.
        self.words = plain(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))
        self.tokens = frozenset(self.words.split("_"))
        self.values = [as_text(row.get(name)) for row in records]
        self.cells = [text for text in self.values if text is not None and text.strip()]
        self.is_complete = len(self.cells) == len(records)
        self.levels = frozenset(self.cells)

    @cached_property
    def scored(self) -> float:
        """Share of the cells with a value that are scores; 0 where there is none, or where half of the rows have none."""
        cells = [cell for cell in self.cells if cell.strip().lower() not in _ABSENT]
        if 2 * len(self.cells) < len(self.values) or not cells:
            return 0.0
        return sum(_is_score(cell) for cell in cells) / len(cells)

    @cached_property
    def chars(self) -> float:
        """Length of its cells on average."""
        return sum(map(len, self.cells)) / max(len(self.cells), 1)

    @cached_property
    def holds_models(self) -> bool:
        """Whether most of its cells look like names of models."""
        named = sum(map(names_a_model, self.cells))
        return 2 * named > len(self.cells) and max(map(len, self.cells), default=0) < _NAME_CHARS

    @property
    def is_measured(self) -> bool:
        """Whether it holds scores, and not counts, sizes, places or times by its name."""
        return self.scored == 1 and not _NO_SCORES & self.tokens

    def weight(self, names: Mapping[str, float]) -> float:
        """How surely it has a role by its name: as it stands, or as the ending of a longer one."""
        exact = names.get(self.words, 0.0)
        endings = (weight for name, weight in names.items() if self.words.endswith(f"_{name}"))
        return exact or 0.8 * max(endings, default=0.0)

    def as_item(self) -> float:
        """How surely it is the item."""
        if not self.is_complete:
            return 0.0
        exact = _ITEMS.get(self.words, 0.0)
        if exact or _NO_ITEMS & self.tokens:
            return exact
        return 0.85 if self.words.endswith(("_id", "_idx")) else self.weight(_ITEMS)

    def as_score(self) -> float:
        """How surely it is the score."""
        if self.scored < 0.5:
            return 0.0
        # Several labels among scores are said when the table is read.
        named = self.weight(_SCORES) or (0.8 if _QUALITIES & self.tokens else 0.0)
        if all(as_number(cell) is None for cell in self.cells):
            return named or 0.5  # words for right and wrong
        if _NO_SCORES & (self.tokens - {"no"}) and self.words not in _SCORES:
            return 0.0
        return named or ((0.35 if len(self.levels) <= 2 else 0.3) if self.scored == 1 else 0.0)

    def as_model(self, asked: Collection[str]) -> float:
        """How surely it is the model, or whatever else names the sides; `asked` are sides by their names."""
        if _NO_MODELS & self.tokens or self.chars > _NAME_CHARS or 2 * len(self.cells) < len(self.values):
            return 0.0
        if asked and set(asked) <= self.levels:
            return 1.5
        named = self.weight(_MODELS)
        if named < _SURE and self.words in _MODELS and len(self.levels) > max(2, len(self.cells) // 4):
            named = 0.0  # every item with a prompt of its own
        return max(named, 0.6 if self.holds_models else 0.0)


def _is_score(cell: str) -> bool:
    return (
        as_number(cell) is not None
        or word_score(cell) is not None
        or percent_score(cell) is not None
        or has_decimal_comma(cell)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Options of a column map that fit a table, and whether nothing rivals them.

    `also` are columns of numbers that may be models too, `metrics` those that may be metrics in their place; `repeated` is
    an item that stands several times for a model without a column that says why, "" where none does.
    """

    options: tuple[str, ...]
    is_sure: bool = False
    also: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    repeated: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether columns were found for the item, the score and the model."""
        roles = dict(option.split("=", 1) for option in self.options)
        if {"models", "winner"} & {*roles}:
            return True
        return "model" in roles and {"COLUMN", ROW}.isdisjoint(roles.values())


def assigned(columns: Sequence[str], records: Sequence[Record], asked: Collection[str] = ()) -> Assignment:
    """Give the roles out to the columns of a table, by its names and some of its rows; `asked` are sides by their names.

    >>> rows = [{"qid": "q1", "llm": llm, "ok": True} for llm in ("gpt-4o", "claude")]
    >>> assigned(["qid", "llm", "ok"], rows)
    Assignment(options=('item=qid', 'score=ok', 'model=llm'), is_sure=True, also=(), metrics=(), repeated='')
    >>> assigned(["qid", "old", "new"], [{"qid": "q1", "old": 1, "new": 0}], asked=("old", "new")).options
    ('item=qid', 'models=old,new')
    >>> assigned(["left", "right", "choice"], [{"left": "x", "right": "y", "choice": "left"}]).options
    ('model_a=left', 'model_b=right', 'winner=choice')
    """
    records = list(records)[:_LOOKED_AT]
    found = [
        SampledColumn(name, records)
        for name in columns
        if name and not any(isinstance(row.get(name), dict | list) for row in records)
    ]
    if not found:
        return Assignment(options=("item=COLUMN", "score=COLUMN"))
    votes = _votes(found)
    return Assignment(options=votes) if votes else _wide(found, asked) or _long(found, asked)


def _called(names: Sequence[str], columns: Sequence[SampledColumn]) -> SampledColumn | None:
    """Return the first column that is called so, else the first whose name ends so."""
    exact = (column for name in names for column in columns if column.words == name)
    ending = (column for name in names for column in columns if column.words.endswith(f"_{name}"))
    return next(chain(exact, ending), None)


def _votes(columns: Sequence[SampledColumn]) -> tuple[str, ...]:
    by_words = {column.words: column for column in columns}
    for first, second in _PAIRS:
        if first in by_words and second in by_words:
            sides = [by_words[first], by_words[second]]
            rest = [column for column in columns if column not in sides]
            named = (f"model_a={sides[0].name}", f"model_b={sides[1].name}")
            ends = [each.rpartition("_")[2] for each in (first, second)]
            scores = [[c for c in rest if c.is_measured and c.words.endswith(f"score_{end}")] for end in ends]
            winner = _called(_WINNERS, [column for column in rest if column not in scores[0] + scores[1]])
            if winner is None and not all(scores):
                return ()
            won = winner.name if winner is not None else f"{scores[0][0].name}>{scores[1][0].name}"
            rater = next((by_words[name] for name in _RATERS if name in by_words), None)
            return (*named, f"winner={won}", *([] if rater is None else [f"rater={rater.name}"]))
    return ()


def _best(columns: Sequence[SampledColumn], weights: Sequence[float]) -> list[tuple[float, SampledColumn]]:
    ranked = [(weight, column) for weight, column in zip(weights, columns, strict=True) if weight > 0]
    return sorted(ranked, key=lambda pair: -pair[0])[:_MOST]


def _wide(columns: Sequence[SampledColumn], asked: Collection[str]) -> Assignment | None:
    """Fit a table with a column of scores for each model: those asked for by name, those called like models, or all."""
    numbers = [column for column in columns if column.is_measured and "," not in column.name]
    if sum(bool(_QUALITIES & column.tokens) for column in numbers) > 1:
        return None
    wanted = [column for column in numbers if column.name in asked]
    by_model = [column for column in numbers if names_a_model(column.name)]
    if len(wanted) < 2 and any(column.as_model(asked) >= 0.6 for column in columns):
        return None
    items = _best(columns, [0.0 if column in numbers else column.as_item() for column in columns])
    # An index of numbers is an item all the same.
    items = items or _best(columns, [column.as_item() for column in columns])
    numbers = [column for column in numbers if not items or column is not items[0][1]]
    scores = wanted if len(wanted) > 1 else by_model if len(by_model) > 1 else numbers
    if scores is numbers and (len(numbers) < 2 or not items or any(c.weight(_SCORES) for c in columns if c.scored)):
        return None
    weight, item = items[0] if items else (0.0, None)
    texts = [column for column in columns if column.is_complete and not column.scored and column not in scores]
    if item is None and texts:  # whatever tells the most rows apart names them
        item = max(texts, key=lambda column: len(column.levels))
    single = item is not None and len(item.levels) == len(item.values)
    if item is not None and not single and not items:
        item = None
    rest = [column for column in columns if column not in scores and column is not item]
    sure = (
        single
        and (wanted == scores or (scores is by_model and not rest))
        and weight >= _SURE - (0.2 if not rest else 0)
    )
    dashes = sorted({cell.strip() for column in scores for cell in column.cells if not _is_score(cell)})
    absent = [f"unscored={dashes[0]}"] if len(dashes) == 1 and dashes[0] in _ABSENT - NO_VALUE else []
    return Assignment(
        options=(f"item={item.name if item else ROW}", f"models={','.join(column.name for column in scores)}", *absent),
        is_sure=sure,
        also=tuple(column.name for column in rest if column in numbers) if scores is not numbers else (),
        metrics=tuple(column.name for column in scores) if scores is numbers else (),
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """Item, score and model, how well they fit the rows, and what tells rows of one item and model apart."""

    weight: float
    chosen: tuple[SampledColumn | None, SampledColumn | None, SampledColumn | None]
    apart: tuple[str, ...]
    is_key: bool


def _fit(
    chosen: tuple[SampledColumn | None, SampledColumn | None, SampledColumn | None],
    columns: Sequence[SampledColumn],
    weight: float,
) -> _Fit:
    """Take from the weight of the names what speaks against the key that they make."""
    item, _, model = chosen
    n_rows = len(columns[0].values)
    if item is None:
        return _Fit(weight, chosen, (), n_rows == 0)
    rest = [column for column in columns if column not in chosen]
    # A column called run may number repetitions; the others are taken for what they are called.
    known = [column.values for column in rest if column.name in KEYS["outcomes"] and column.name != "run"]
    keys = list(zip(item.values, model.values if model else [None] * n_rows, *known, strict=True))
    is_key = len({*keys}) == len(keys)
    apart: tuple[str, ...] = ()
    if item.words in _ASKED and is_key:
        weight += _ASKED_ONCE
    if n_rows > 1:
        n_models = len(model.levels) if model else 1
        if n_models > 1 and len(item.levels) == len({*zip(item.values, model.values if model else [], strict=True)}):
            weight -= 0.5  # no two of them share an item
        if len(item.levels) < min(2, n_rows) or len(item.levels) < n_models // 2:
            weight -= 0.5
        if not is_key:
            apart = tuple(repeats_told_apart(rest, keys)) or _in_order(rest)
            weight -= 0.05 if apart and apart[0].startswith("trial=") else 0.2 if apart else 0.3
            # What has more levels than the items is the item.
            levels = {f"variant={column.name}": len(column.levels) for column in rest}
            weight -= 0.5 * any(levels.get(option, 0) > len(item.levels) for option in apart)
    return _Fit(weight, chosen, apart, is_key)


def _long(columns: Sequence[SampledColumn], asked: Collection[str]) -> Assignment:
    """Fit a table with a row for each item and model."""
    models = _best(columns, [column.as_model(asked) for column in columns])
    scores = _best(columns, [column.as_score() for column in columns])
    items = _best(columns, [column.as_item() for column in columns])
    n_rows = len(columns[0].values)
    alone = 0.5 if not models or models[0][0] < 0.6 else 0.0
    best: _Fit | None = None
    for (of_item, item), (of_score, score), (of_model, model) in product(
        items or [(0.0, None)], scores or [(0.0, None)], [*models, (alone, None)]
    ):
        taken = [column.name for column in (item, score, model) if column is not None]
        if len({*taken}) == len(taken):
            fit = _fit((item, score, model), columns, of_item + of_score + of_model)
            best = fit if best is None or fit.weight > best.weight + 1e-9 else best
    if best is None:  # one column fits more than one role
        return Assignment(options=("item=COLUMN", "score=COLUMN"))
    item, score, model = best.chosen
    apart, is_key = best.apart, best.is_key
    if item is None and score is not None:  # whatever tells most rows apart names them
        texts = [
            c for c in columns if c.is_complete and c not in (score, model) and not (_NO_ITEMS | _NO_SCORES) & c.tokens
        ]
        telling = max(texts, key=lambda column: len(column.levels), default=None)
        item = telling if telling is not None and 2 * len(telling.levels) > n_rows > 1 else None
    options = _options(columns, item, score, model)
    several = [column for weight, column in scores if weight >= 0.8 and column.is_measured]
    are_metrics = all(_QUALITIES & column.tokens or column.weight(_SCORES) >= _SURE for column in several)
    if len(several) > 1 and score in several and are_metrics:
        options[1] = f"score={','.join(column.name for column in several)}"
        scores = [pair for pair in scores if pair[1] not in several]
    is_sure = n_rows > 0 and _nothing_rivals(best.chosen, (items, scores, models))
    repeated = item.name if item is not None and not is_key and not apart and score is not None else ""
    if is_sure and apart[:1] == (f"trial={ORDER}",):
        apart = ()  # whether these are repeats at all is asked when they are read
    return Assignment(
        options=(*options, *apart),
        is_sure=is_sure and not repeated and (not apart or apart[0].startswith("trial=")),
        repeated=repeated,
    )


def _options(
    columns: Sequence[SampledColumn],
    item: SampledColumn | None,
    score: SampledColumn | None,
    model: SampledColumn | None,
) -> list[str]:
    """Write the roles as options, with whoever judged, and whom rows without an item of their own depend on."""
    options = [
        f"item={item.name if item else (ROW if score else 'COLUMN')}",
        f"score={score.name if score else 'COLUMN'}",
    ]
    options += [f"model={model.name}"] if model else []
    rest = [column for column in columns if column.is_complete and column not in (item, score, model)]
    judges = [column for column in rest if _JUDGES & column.tokens and not column.scored and column.chars < _NAME_CHARS]
    options += [f"judge={column.name}" for column in judges if column.words.endswith(("name", "model", "id", "judge"))][
        :1
    ]
    if item is None:  # rows of one user or session are no independent ones
        options += [f"dependence={column.name}" for column in rest if {"user", "session"} & column.tokens][:1]
    return options


def _nothing_rivals(
    chosen: tuple[SampledColumn | None, SampledColumn | None, SampledColumn | None],
    candidates: tuple[Sequence[tuple[float, SampledColumn]], ...],
) -> bool:
    """Whether the names of item, score and model are enough, and no other column has as good a claim to them."""
    item, score, model = chosen
    items, scores, models = candidates
    if item is None or score is None or score.weight(_SCORES) < _SURE:
        return False
    keys = list(zip(item.values, model.values if model else [None] * len(item.values), strict=True))
    of_item = next((weight for weight, column in items if column is item), 0.0)
    if item.words in _ASKED and len({*keys}) == len(keys):
        of_item += _ASKED_ONCE
    if model is not None:
        of_model = next((weight for weight, column in models if column is model), 0.0)
        # Names that differ in case or blanks alone are likely one model, which is said when the table is read.
        alone = len({level.casefold().strip() for level in model.levels}) == 1
        if of_model < _SURE or not model.is_complete or not (alone or len(item.levels) < len({*keys})):
            return False
    rivals = [
        column
        for weight, column in items
        # Another name of the same items pairs the same rows.
        if column is not item
        and weight >= _SURE
        and len({*zip(column.values, item.values, strict=True)}) > len(item.levels)
    ]
    rivals += [column for weight, column in scores if weight >= _SURE and column is not score]
    rivals += [column for weight, column in models if weight >= 0.6 and column is not model and len(column.levels) > 1]
    return of_item >= _SURE and not rivals and (model is not None or not models)


def _in_order(columns: Sequence[SampledColumn]) -> tuple[str, ...]:
    """Return the option that numbers repeats as they come, where other columns are answers, measures or constant."""
    silent = all(
        is_answer(column.name) or column.is_measured or column.chars > _NAME_CHARS or len(column.levels) < 2
        for column in columns
    )
    return (f"trial={ORDER}",) if silent else ()


def repeats_told_apart(columns: Sequence[SampledColumn], keys: Sequence[tuple[object, ...]]) -> list[str]:
    """Say what tells rows with the same key apart: a column of trials, another column, or both; [] if none does.

    An answer's text tells nothing: two answers to a question are two trials of it.

    >>> rows = [{"dataset": d, "trial": t} for d in "xy" for t in "01"]
    >>> repeats_told_apart([SampledColumn("dataset", rows), SampledColumn("trial", rows)], [("q1",)] * 4)
    ['trial=trial', 'task=dataset']
    """

    def tells(*others: SampledColumn) -> bool:
        with_it = {
            (*key, *values)
            for key, values in zip(keys, zip(*(column.values for column in others), strict=True), strict=True)
        }
        return len(with_it) == len(keys)

    def option(column: SampledColumn) -> str:
        if _JUDGES & column.tokens:
            return f"judge={column.name}"
        return f"trial={column.name}"

    named = [column for name in _TRIALS for column in columns if column.words == name]
    named += [column for name in _TRIALS for column in columns if column.words.endswith(f"_{name}")]
    for trial in named:
        if tells(trial):
            return [option(trial)]
    few = [
        column
        for column in columns
        if len(column.levels) <= max(2, len(keys) // 2) and not is_answer(column.name) and column.chars < _NAME_CHARS
    ]
    other = next((column for column in few if not column.is_measured and tells(column)), None)
    other = other or next((column for column in few if tells(column)), None)
    if other is not None:
        return [f"judge={other.name}" if _JUDGES & other.tokens else f"variant={other.name}"]
    parts = [column for name in _PARTS for column in few if column.words == name or column.words.endswith(f"_{name}")]
    for trial, part in product(named, parts):
        if trial is not part and tells(trial, part):
            return [option(trial), f"task={part.name}"]
    return []
