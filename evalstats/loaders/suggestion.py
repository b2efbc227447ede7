"""The column map that fits a table whose columns nobody named: a best guess, to be shown and never to be acted on."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from evalstats.errors import Option, together
from evalstats.loaders.bound_columns import ALIASES
from evalstats.loaders.column_map import ROW
from evalstats.loaders.published_numbers import plain
from evalstats.loaders.values import NO_VALUE, as_number, as_text, has_decimal_comma, percent_score, word_score

Record = Mapping[str, object]

# Names of columns, the likeliest first.
_MORE_ITEMS: Final = (
    "uid uuid id idx index key question query prompt problem input instruction test test_name test_case case example "
    "instance sample task name title description number no"
)
_MORE_SCORES: Final = (
    "is_resolved pass solved accuracy acc exact_match em grade ok is_ok hit right rating reward result outcome "
    "verdict judgement judgment judgement_score overall f1 final_score value points label"
)
_MORE_MODELS: Final = (
    "llm llm_name llm_model engine deployment generator agent system provider provider_id bot assistant submission "
    "run_name experiment"
)
_ITEMS: Final = ("item", *ALIASES["item"], *_MORE_ITEMS.split())
_SCORES: Final = ("score", *ALIASES["score"], *_MORE_SCORES.split())
_MODELS: Final = ("model", *ALIASES["model"], *_MORE_MODELS.split())
_TRIAL_WORDS: Final = (
    "trial epoch seed attempt repeat repetition replicate rep run run_id iteration try sample_idx sample_index "
    "generation completion_index draw"
)
_TRIALS: Final = tuple(_TRIAL_WORDS.split())
# Inside such a part of a benchmark items are counted anew.
_PART_WORDS: Final = "task subtask dataset subset subject category domain benchmark split config language"
_PARTS: Final = tuple(_PART_WORDS.split())
# What such a column holds is too often something else to be taken for it without being asked.
_VAGUE_WORDS: Final = (
    "name title description number no index idx key result outcome verdict value points label overall reward"
)
_VAGUE: Final = frozenset(_VAGUE_WORDS.split())
# Names of the two sides of a vote, of who won, and of who said so.
_PAIRS: Final = (
    "model_a/model_b model_1/model_2 model1/model2 modela/modelb left/right left_model/right_model "
    "model_left/model_right system_a/system_b system_1/system_2 assistant_a/assistant_b player_a/player_b "
    "player_1/player_2 a/b first_model/second_model model_x/model_y candidate_a/candidate_b option_a/option_b"
)
_SIDES: Final = tuple(tuple(pair.split("/")) for pair in _PAIRS.split())
_WINNERS: Final = (
    *("winner", "choice", "preferred", "preference", "vote", "chosen", "outcome", "result", "label", "verdict"),
    *("judgement", "judgment", "selection", "selected", "win", "decision", "answer"),
)
_RATERS: Final = ("rater", "user_id", "user", "rater_id", "annotator", "annotator_id", "worker", "worker_id", "voter")
# Numbers in a column with such a word in its name are no scores.
_NO_SCORE_WORDS: Final = (
    "id idx index no number token tokens cost price usd latency time duration ms seconds sec len length count n num "
    "year seed trial epoch temperature penalty config configs setting settings parameters weight turn turns timestamp "
    "date rank size max total step steps level line"
)
_NO_SCORES: Final = frozenset(_NO_SCORE_WORDS.split())
_NO_MODELS: Final = frozenset({"judge", "grader", "evaluator", "scorer", "embedding", "reward", "tokenizer", "user"})
_FAMILIES: Final = re.compile(
    r"(?i)\b(?:gpt|chatgpt|claude|gemini|gemma|llama|mistral|mixtral|ministral|codestral|qwen|qwq|deepseek|grok|phi|command|"
    r"o[134](?:-mini|-pro|-preview)?|yi|glm|kimi|falcon|vicuna|nova|olmo|sonnet|opus|haiku|minimax|ernie|hunyuan|nemotron|"
    r"palm|bard|koala|alpaca|dbrx|jamba|solar|granite|smollm|pythia|internlm|starcoder|wizardlm|zephyr|tulu|doubao)"
    r"(?![a-z])|[\d.]+b(?:-|\b)|\bmodel[-_ ]?(?:\d+|[a-z])(?![a-z])"
)
_ROUGH: Final = 200
_SHORT: Final = 120


def names_a_model(text: str) -> bool:
    """Whether a text looks like the name of a language model.

    >>> names_a_model("gpt-4o"), names_a_model("Llama-3-8B"), names_a_model("test_login")
    (True, True, False)
    """
    return _FAMILIES.search(text) is not None


def fitting_map(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Guess which `--map` options fit a table, from its columns and some of its rows.

    >>> rows = [{"qid": "q1", "llm": "gpt-4o", "ok": True}, {"qid": "q1", "llm": "claude", "ok": False}]
    >>> fitting_map(["qid", "llm", "ok"], rows)
    ['item=qid', 'score=ok', 'model=llm']
    >>> fitting_map(["left", "right", "choice"], [{"left": "x", "right": "y", "choice": "left"}])
    ['model_a=left', 'model_b=right', 'winner=choice']
    """
    records = list(records)[:_ROUGH]
    usable = [name for name in columns if name and not any(isinstance(row.get(name), dict | list) for row in records)]
    return _votes(usable) or _wide(usable, records) or _outcomes(usable, records)


def sure_map(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Return the map of a table where one column alone can be the item, one the score and at most one the model; else nothing.

    Without one the file holds a single model, or a column for each. Models that share no item could not be compared, and rows
    with the same item and model leave open what they are where another column tells them apart. What is then wrong with the
    table (ids that stand twice, labels among the scores) is said when it is read.

    >>> rows = [{"qid": "q1", "llm": llm, "ok": True} for llm in ("gpt-4o", "claude")]
    >>> sure_map(["qid", "llm", "ok"], rows)
    ['item=qid', 'score=ok', 'model=llm']
    >>> sure_map(["qid", "llm", "ok", "grade"], [{**row, "grade": 3} for row in rows])
    []
    >>> sure_map(["qid", "gpt-4o", "claude-3"], [{"qid": "q1", "gpt-4o": 1, "claude-3": 0}])
    ['item=qid', 'models=gpt-4o,claude-3']
    """
    records = list(records)[:_ROUGH]
    usable = [name for name in columns if name and not any(isinstance(row.get(name), dict | list) for row in records)]
    if not records or _votes(usable):
        return []
    complete = [name for name in usable if len(_cells(records, name)) == len(records)]
    items = [name for name in complete if _words(name) in _ITEMS and _words(name) not in _VAGUE]
    by_model = [name for name in usable if names_a_model(name) and "," not in name and _counts_as_score(records, name)]
    if len(items) == 1 < len(by_model) == len(usable) - 1 and len(set(_cells(records, items[0]))) == len(records):
        return [f"item={items[0]}", f"models={','.join(by_model)}"]
    named = [name for name in usable if _words(name) in _SCORES]
    scores = [name for name in named if _holds_scores(records, name)]
    scores = scores or [name for name in named if _holds_scores(records, name, most=True)]
    models = [name for name in complete if _words(name) in _MODELS and _model([name], records) == name]
    single = not models and _model(usable, records) is None
    if (len(items), len(scores), len(models)) != (1, 1, 0 if single else 1) or _words(scores[0]) in _VAGUE:
        return []
    rows = [(as_text(row.get(items[0])), None if single else as_text(row.get(models[0]))) for row in records]
    keys = set(rows)
    # Names that differ in case or blanks only are likely one model, which is said when the table is read.
    shared = len({(model or "").casefold().strip() for _, model in keys}) == 1 or len({item for item, _ in keys}) < len(
        keys
    )
    rest = [name for name in usable if name not in {items[0], scores[0], *models}]
    if not shared or (len(keys) < len(rows) and repeats_told_apart(rest, records, rows)):
        return []
    return [f"item={items[0]}", f"score={scores[0]}", *(f"model={name}" for name in models)]


def as_options(pairs: Iterable[str]) -> str:
    """Write a map as it is given.

    >>> print(as_options(["item=question id", "score=ok"]))
    item='question id', score='ok'
    """
    return together(*(Option("map", column, of=name) for name, _, column in (pair.partition("=") for pair in pairs)))


def _words(name: str) -> str:
    """Return a name in lower case with its words joined by underscores, also one in camel case."""
    return plain(re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name))


def _called(names: Sequence[str], columns: Sequence[str], fits: Callable[[str], bool] = bool) -> str | None:
    """Return the first column that is called so, else the first whose name ends so."""
    by_words = {_words(column): column for column in reversed(columns)}
    exact = (by_words[name] for name in names if name in by_words)
    # Inside a record there may be several of a name: the one that is nearest to the top is meant.
    ending = (
        column
        for name in names
        for words, column in sorted(by_words.items(), key=lambda pair: pair[0].count("_"))
        if words.endswith(f"_{name}")
    )
    return next((column for column in (*exact, *ending) if fits(column)), None)


def _cells(records: Sequence[Record], column: str) -> list[str]:
    return [text for row in records if (text := as_text(row.get(column))) is not None and text.strip()]


def _is_score(cell: str) -> bool:
    return as_number(cell) is not None or word_score(cell) is not None or percent_score(cell) is not None


def _holds_scores(records: Sequence[Record], column: str, *, most: bool = False) -> bool:
    """Whether all cells with a value are scores; with `most` half of them, or numbers with a decimal comma."""
    cells = [cell for cell in _cells(records, column) if cell.strip().lower() not in NO_VALUE]
    n_scores = sum(_is_score(cell) or (most and has_decimal_comma(cell)) for cell in cells)
    return not records or (bool(cells) and (2 * n_scores >= len(cells) if most else n_scores == len(cells)))


def _counts_as_score(records: Sequence[Record], column: str) -> bool:
    return not _NO_SCORES & set(_words(column).split("_")) and bool(records) and _holds_scores(records, column)


def _votes(columns: Sequence[str]) -> list[str]:
    by_words = {_words(column): column for column in columns}
    for first, second in _SIDES:
        if first in by_words and second in by_words:
            winner = _called(_WINNERS, [name for name in columns if _words(name) not in {first, second}])
            if winner is None:
                return []
            found = [f"model_a={by_words[first]}", f"model_b={by_words[second]}", f"winner={winner}"]
            rater = next((by_words[name] for name in _RATERS if name in by_words), None)
            return found if rater is None else [*found, f"rater={rater}"]
    return []


def _model(columns: Sequence[str], records: Sequence[Record]) -> str | None:
    def fits(column: str) -> bool:
        cells = _cells(records, column)
        return not _NO_MODELS & set(_words(column).split("_")) and (
            not cells or sum(map(len, cells)) / len(cells) < _SHORT
        )

    def looks(column: str) -> bool:
        cells = _cells(records, column)
        return bool(cells) and 2 * sum(map(names_a_model, cells)) > len(cells) and max(map(len, cells)) < _SHORT

    named = _called(_MODELS, columns, fits)
    return named or next((column for column in columns if fits(column) and looks(column)), None)


def _wide(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    """Fit a table with a column of scores for each model."""
    if _model(columns, records) is not None:
        return []
    numbers = [name for name in columns if _holds_scores(records, name)]
    scores = [name for name in numbers if _counts_as_score(records, name) and _words(name) not in _SCORES]
    by_model = [name for name in scores if names_a_model(name)]
    item = _item(columns, records, {*scores})
    if len(by_model) > 1:
        scores = by_model
    elif len(scores) < 2 or item is None or any(_called(_SCORES, [name]) for name in numbers):
        return []
    if any("," in name for name in scores):
        return []
    return [f"item={item or ROW}", f"models={','.join(scores)}"]


def further_models(columns: Sequence[str], records: Sequence[Record], fits: Sequence[str]) -> list[str]:
    """Return columns of numbers that may be models too, where `fits` takes those with a model's name.

    >>> rows = [
    ...     {"qid": "q1", "gpt-4o": 1, "claude-3": 0, "ours": 1},
    ...     {"qid": "q2", "gpt-4o": 0, "claude-3": 0, "ours": 1},
    ... ]
    >>> further_models(["qid", "gpt-4o", "claude-3", "ours"], rows, ["item=qid", "models=gpt-4o,claude-3"])
    ['ours']
    """
    proposed = dict(option.split("=", 1) for option in fits)
    if "models" not in proposed:
        return []
    taken = {proposed.get("item", ""), *proposed["models"].split(",")}
    return [name for name in columns if name not in taken and "," not in name and _counts_as_score(records, name)]


def _item(columns: Sequence[str], records: Sequence[Record], taken: set[str], model: str | None = None) -> str | None:
    left = [name for name in columns if name not in taken]

    def fits(column: str) -> bool:
        return len(_cells(records, column)) == len(records)

    def pairs(column: str) -> bool:
        """Whether models share the levels, each answering a level once: an id of its own for every row pairs nothing."""
        keys = {(as_text(row.get(column)), as_text(row.get(model or ""))) for row in records}
        return fits(column) and len(set(_cells(records, column))) < len(keys) == len(records)

    named = (_called(_ITEMS, left, pairs) if model else None) or _called(_ITEMS, left, fits)
    if named is not None:
        return named
    # Whatever tells most rows apart names them.
    telling = {name: len(set(_cells(records, name))) for name in left if fits(name)}
    best = max(telling, key=lambda name: telling[name], default=None)
    return best if best is not None and 2 * telling[best] > len(records) > 1 else None


def _outcomes(columns: Sequence[str], records: Sequence[Record]) -> list[str]:
    model = _model(columns, records)
    left = [name for name in columns if name != model]
    numbers = [name for name in left if _counts_as_score(records, name)]
    score = (
        _called(_SCORES, left, lambda name: _holds_scores(records, name))
        or next((name for name in numbers if len(set(_cells(records, name))) <= 2), None)
        or next(iter(numbers), None)
        or _called(_SCORES, left)
    )
    item = _item(columns, records, {*(name for name in (model, score) if name)}, model)
    found = [f"item={item or (ROW if score else 'COLUMN')}", f"score={score or 'COLUMN'}"]
    found += [f"model={model}"] if model else []
    if item is None or not records or score is None:
        return found
    keys = [(as_text(row.get(item)), as_text(row.get(model)) if model else None) for row in records]
    if len(set(keys)) == len(keys):
        return found
    return [*found, *repeats_told_apart([name for name in left if name not in {item, score}], records, keys)]


def repeats_told_apart(
    columns: Sequence[str], records: Sequence[Record], keys: Sequence[tuple[str | None, ...]]
) -> list[str]:
    """Say what tells rows with the same key apart: a column of trials, another column, or both; [] if none does.

    >>> rows = [{"dataset": d, "trial": t} for d in "xy" for t in "01"]
    >>> repeats_told_apart(["dataset", "trial"], rows, [("q1",)] * 4)
    ['trial=trial', 'task=dataset']
    """

    def tells(*names: str) -> bool:
        with_it = {(*key, *(as_text(row.get(name)) for name in names)) for key, row in zip(keys, records, strict=True)}
        return len(with_it) == len(keys)

    def option(column: str) -> str:
        whole = all(cell.isdigit() for cell in _cells(records, column))
        return f"trial={column}" if whole else f"variant={column}"

    trial = _called(_TRIALS, columns, tells)
    if trial is not None:
        return [option(trial)]
    few = [name for name in columns if len(set(_cells(records, name))) <= max(2, len(records) // 2)]
    other = next((name for name in few if tells(name)), None)
    if other is not None:
        return [f"variant={other}"]
    trial, part = _called(_TRIALS, columns), None
    if trial is not None:
        part = _called(_PARTS, few, lambda name: name != trial and tells(trial, name))
    if trial is not None and part is not None:
        return [option(trial), f"task={part}"]
    return []
