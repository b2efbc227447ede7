"""WildBench's published tables, as rows of `aggregates`: Elo, rewards, mean scores, and its table of everything."""

import re
from collections.abc import Iterator
from typing import Final

from evalstats.loaders.base import Head, Source
from evalstats.loaders.files import load_json
from evalstats.loaders.format import OBJECT, Sign
from evalstats.loaders.published_numbers import PublishedRows
from evalstats.loaders.rows import Row
from evalstats.loaders.values import as_dict, as_number, day_of, get

MAX_CHARS: Final = 64 << 20
DOCUMENT: Final = (*OBJECT, "lines")
_LAB: Final[Row] = {"benchmark": "WildBench", "unit": "points", "setting": "lab"}
_REFERENCE: Final = re.compile(r"pairwise-([\w.\-]+?)-(K=-?\d+)")
_SPREAD: Final = (
    "std and ci of WildBench's Elo are its spread over orders of the same judgements, not over other judgements: std is "
    "kept as order_sd, and neither is taken for an interval. Ratings of models with started_from_arena lean on the arena's"
)


def models_of(models: object, common: Row) -> Iterator[tuple[Row, Row]]:
    """Yield what stands beside the numbers of each model, and its record."""
    return (({**common, "model": model}, as_dict(record)) for model, record in as_dict(models).items())


def _elo(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read WildBench's Elo; leaderboard/wb_elo.py shuffles the same judgements in every round."""
    content = as_dict(load_json(head.path, max_chars=MAX_CHARS))
    common = {**_LAB, "metric": "elo", "unit": "rating", "date": day_of(get(content, "config", "time"))}
    common["method"] = "published; mean of online Elo over orders of the judgements"
    for known, record in models_of(content.get("elo_stat"), common):
        places = {"median": "median", "order_sd": "std", "started_from_arena": "init_elo"}
        numbers.add(record.get("avg"), known | {name: as_number(record.get(key)) for name, key in places.items()})
    numbers.notes.append(_SPREAD)
    return "WildBench"


def _rewards(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read rewards against one reference model, which the file's name tells."""
    found = _REFERENCE.match(source.stem)
    metric, variant = (f"reward/{found[1]}", found[2]) if found else ("reward", "")
    common = {**_LAB, "variant": variant, "method": "published; mean of 1, 0.5, 0, -0.5, -1 over the judgements"}
    for known, record in models_of(load_json(head.path, max_chars=MAX_CHARS), common):
        counts = {name: record.get(name) for name in ("win_much", "win", "tie", "lose", "lose_much")}
        numbers.add(record.get("reward"), {**known, "metric": metric, "n": record.get("total"), **counts})
        numbers.add(record.get("task_macro_reward"), {**known, "metric": f"task_macro_{metric}"})
        for task, reward in as_dict(record.get("task_categorized_rewards")).items():
            counts = as_dict(get(record, "task_categorized_results", task))
            numbers.add(reward, {**counts, **known, "metric": metric, "task": task})
    return "WildBench"


def _scores(head: Head, _: Source, numbers: PublishedRows) -> str:
    for common, record in models_of(load_json(head.path, max_chars=MAX_CHARS), _LAB):
        known = {**common, "method": "published", "avg_length": as_number(record.get("avg_len"))}
        for metric in ("score", "adjusted_score", "task_macro_score", "adjusted_task_macro_score"):
            n = None if "macro" in metric else record.get("total")
            numbers.add(record.get(metric), {**known, "metric": f"mean_{metric}", "n": n})
        for task, score in as_dict(record.get("task_categorized_scores")).items():
            numbers.add(score, {**known, "metric": "mean_adjusted_score", "task": task})
    return "WildBench"


_ELO: Final = re.compile(r"Arena Elo \((.+?)\) - (.+)")
_REWARD: Final = re.compile(r"(haiku|llama|gpt4t)_reward(?:\..+?)?\.K=-?\d+")
# Made of the rewards, so that they mean nothing where no reward was measured.
_OF_REWARDS: Final = ("mixture_of_rewards", "task_macro_reward", "RewardScore_Avg")
_ARENA: Final[Row] = {"benchmark": "Chatbot Arena", "metric": "rating", "unit": "rating", "setting": "live"}
_BORROWED: Final[dict[str, Row]] = {
    "Arena-Hard v0.1": {"benchmark": "Arena-Hard", "variant": "v0.1", "metric": "score", "unit": "percent"},
    "AE2.0": {"benchmark": "AlpacaEval", "task": "2.0", "metric": "win_rate", "unit": "percent"},
    "AE2.0 LC": {"benchmark": "AlpacaEval", "task": "2.0", "metric": "length_controlled_winrate", "unit": "percent"},
    "WB_Elo": {"metric": "elo", "unit": "rating"},
}


def _everything(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read WildBench's table of everything. It holds 0 for rewards that were never measured, which are left out."""
    n_unmeasured = 0
    for common, record in models_of(load_json(head.path, max_chars=MAX_CHARS), _LAB):
        rewards: dict[str, set[float | None]] = {}
        for column, value in record.items():
            if found := _REWARD.fullmatch(column):
                rewards.setdefault(found[1], set()).add(as_number(value))
        unmeasured = {name for name, values in rewards.items() if values == {0}}
        n_unmeasured += bool(unmeasured)
        for column, number in record.items():
            found, elo = _REWARD.fullmatch(column), _ELO.fullmatch(column)
            empty = found[1] in unmeasured if found else column.startswith(_OF_REWARDS) and len(unmeasured) == 3
            if empty or column.startswith(("Rank_", "Length")):
                continue
            known = {**common, "metric": column, **_BORROWED.get(column, {})}
            if elo:
                known |= {
                    **_ARENA,
                    "task": elo[1],
                    **({"date": day} if (day := day_of(elo[2])) else {"variant": elo[2]}),
                }
            numbers.add(number, known)
    if n_unmeasured:
        numbers.notes.append(
            f"{n_unmeasured} models have rewards of exactly 0 in every task against a reference: the table writes 0 for what was "
            "not measured (and of the reference itself), so these, and means of nothing but these, are left out"
        )
    return "WildBench"


TABLES: Final = (
    (Sign("config elo_stat", shapes=DOCUMENT), _elo),
    (Sign(text=('"win_much"', '"lose_much"'), shapes=DOCUMENT), _rewards),
    (Sign(text=('"task_categorized_scores"', '"task_macro_score"'), shapes=DOCUMENT), _scores),
    (Sign(text=('"Arena Elo (', '"AE2.0'), shapes=DOCUMENT), _everything),
    (Sign(text=('"Arena Elo (', '"WB_score'), shapes=DOCUMENT), _everything),
)
