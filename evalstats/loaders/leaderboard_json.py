"""Leaderboards as JSON: the arena catalog, ComparIA, and WildBench's tables."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from evalstats.loaders.base import Head, Source
from evalstats.loaders.files import load_json
from evalstats.loaders.leaderboard_numbers import Numbers, between, day_of
from evalstats.loaders.values import as_dict, as_number, as_text, dicts, get

_MAX_CHARS: Final = 64 << 20
_WILDBENCH: Final = "WildBench"
_REFERENCE = re.compile(r"pairwise-([\w.\-]+?)-K=(-?\d+)")
_DATED_ELO = re.compile(r"Arena Elo \((.+?)\) - (.+)")
_REWARD = re.compile(r"(haiku|llama|gpt4t)_reward(?:\.(.+?))?\.K=(-?\d+)")
# Made of the rewards, so that they mean nothing where no reward was measured.
_OF_REWARDS: Final = ("mixture_of_rewards", "task_macro_reward", "RewardScore_Avg")
_NO_SCORES: Final = ("Rank_", "Length")


def kind_of(head: Head) -> tuple[str, Callable[[Head, Source, Numbers], str]] | None:
    """Say what a JSON object holds, and by what it is read."""
    if head.shape not in {"object", "lines"}:
        return None
    text = head.text
    if '"rating_q975"' in text and '"rating_q025"' in text:
        return "rating, rating_q975 and rating_q025", _catalog
    if {"timestamp", "models"} <= head.keys and '"p2.5"' in text and '"median"' in text:
        return "timestamp, and models with median, p2.5 and p97.5", _comparia
    if {"config", "elo_stat"} <= head.keys:
        return "config and elo_stat", _wildbench_elo
    if '"win_much"' in text and '"lose_much"' in text:
        return "win_much, win, tie, lose and lose_much", _wildbench_rewards
    if '"task_categorized_scores"' in text and '"task_macro_score"' in text:
        return "task_categorized_scores and task_macro_score", _wildbench_scores
    if '"Arena Elo (' in text and ('"AE2.0' in text or '"WB_score' in text):
        return "Arena Elo beside other benchmarks", _wildbench_all
    return None


def _content(head: Head) -> dict[str, object]:
    return as_dict(load_json(head.path, max_chars=_MAX_CHARS))


def _catalog(head: Head, _: Source, numbers: Numbers) -> str:
    """Read the arena catalog: category to model to rating; or model to rating, without categories."""
    content = _content(head)
    flat = any("rating" in as_dict(value) for value in content.values())
    method = "published; interval from rating_q025 and rating_q975"
    for category, models in ({"": content} if flat else content).items():
        for model, value in as_dict(models).items():
            record = as_dict(value)
            numbers.add(
                record.get("rating"),
                model=model,
                benchmark="LMArena",
                metric="rating",
                unit="rating",
                ends=between(record, "rating_q025", "rating_q975"),
                n=record.get("votes"),
                more={"task": category, "setting": "live", "method": method},
            )
    return "LMArena"


def _comparia(head: Head, _: Source, numbers: Numbers) -> str:
    """Read ComparIA's dump: medians and percentiles of resampled ratings, and win rates."""
    content = _content(head)
    day = day_of(content.get("timestamp"))
    for record in dicts(content.get("models")):
        common: dict[str, object] = {"setting": "live", "date": day, "rank": record.get("rank")}
        model, n = as_text(record.get("model_name")), record.get("n_match")
        numbers.add(
            record.get("median"),
            model=model,
            benchmark="ComparIA",
            metric="rating",
            unit="rating",
            ends=between(record, "p2.5", "p97.5"),
            n=n,
            more={**common, "method": "published; median, interval from p2.5 and p97.5"},
        )
        for metric in ("win_rate", "mean_win_prob"):
            more = {**common, "method": "published"}
            value = record.get(metric)
            numbers.add(value, model=model, benchmark="ComparIA", metric=metric, unit="proportion", n=n, more=more)
    return "ComparIA"


def _wildbench_elo(head: Head, _: Source, numbers: Numbers) -> str:
    """Read WildBench's Elo. Its `ci` and `std` are over orders of the same judgements, so they are no sampling error.

    So `leaderboard/wb_elo.py` of allenai/WildBench makes them: every round shuffles the same list.
    """
    content = _content(head)
    day = day_of(get(content, "config", "time"))
    for model, value in as_dict(content.get("elo_stat")).items():
        record = as_dict(value)
        more = {
            "setting": "lab",
            "date": day,
            "method": "published; mean of online Elo over orders of the judgements",
            "median": as_number(record.get("median")),
            "order_sd": as_number(record.get("std")),
            "started_from_arena": as_number(record.get("init_elo")),
        }
        numbers.add(record.get("avg"), model=model, benchmark=_WILDBENCH, metric="elo", unit="rating", more=more)
    numbers.notes.append(
        "std and ci of WildBench's Elo are its spread over orders of the same judgements, not over other judgements: std is "
        "kept as order_sd, and neither is taken for an interval. Ratings of models with started_from_arena lean on the arena's"
    )
    return _WILDBENCH


def _wildbench_rewards(head: Head, source: Source, numbers: Numbers) -> str:
    """Read WildBench's rewards against one reference model, which the file's name tells."""
    found = _REFERENCE.match(source.stem)
    metric = f"reward/{found[1]}" if found else "reward"
    variant = f"K={found[2]}" if found else ""
    for model, value in _content(head).items():
        record = as_dict(value)
        common: dict[str, object] = {"model": model, "benchmark": _WILDBENCH, "unit": "points", "setting": "lab"}
        common |= {"variant": variant, "method": "published; mean of 1, 0.5, 0, -0.5, -1 over the judgements"}
        counts = {name: record.get(name) for name in ("win_much", "win", "tie", "lose", "lose_much")}
        _add(numbers, record.get("reward"), metric=metric, n=record.get("total"), **common, **counts)
        _add(numbers, record.get("task_macro_reward"), metric=f"task_macro_{metric}", **common)
        for task, reward in as_dict(record.get("task_categorized_rewards")).items():
            counts = as_dict(as_dict(record.get("task_categorized_results")).get(task))
            _add(numbers, reward, metric=metric, task=task, **common, **counts)
    return _WILDBENCH


def _wildbench_scores(head: Head, _: Source, numbers: Numbers) -> str:
    """Read WildBench's mean scores."""
    for model, value in _content(head).items():
        record = as_dict(value)
        common: dict[str, object] = {"model": model, "benchmark": _WILDBENCH, "unit": "points", "setting": "lab"}
        common |= {"method": "published", "avg_length": as_number(record.get("avg_len"))}
        for metric in ("score", "adjusted_score", "task_macro_score", "adjusted_task_macro_score"):
            macro = "macro" in metric
            _add(
                numbers, record.get(metric), metric=f"mean_{metric}", n=None if macro else record.get("total"), **common
            )
        for task, score in as_dict(record.get("task_categorized_scores")).items():
            _add(numbers, score, metric="mean_adjusted_score", task=task, **common)
    return _WILDBENCH


def _wildbench_all(head: Head, _: Source, numbers: Numbers) -> str:
    """Read WildBench's table of everything. It holds 0 for rewards that were never measured, which are left out."""
    n_unmeasured = 0
    for model, value in _content(head).items():
        record = as_dict(value)
        unmeasured = _unmeasured(record)
        n_unmeasured += bool(unmeasured)
        for column, number in record.items():
            reward = _REWARD.fullmatch(column)
            if column.startswith(_NO_SCORES) or (reward and reward[1] in unmeasured):
                continue
            if column.startswith(_OF_REWARDS) and len(unmeasured) == 3:
                continue
            _add(numbers, number, model=model, **_column(column))
    if n_unmeasured:
        numbers.notes.append(
            f"{n_unmeasured} models have rewards of exactly 0 in every task against a reference: the table writes 0 for what was "
            "not measured (and of the reference itself), so these, and means of nothing but these, are left out"
        )
    return _WILDBENCH


def _unmeasured(record: Mapping[str, object]) -> set[str]:
    rewards: dict[str, list[float | None]] = {}
    for column, value in record.items():
        found = _REWARD.fullmatch(column)
        if found:
            rewards.setdefault(found[1], []).append(as_number(value))
    return {name for name, values in rewards.items() if all(value == 0 for value in values)}


def _column(column: str) -> dict[str, object]:
    """Return what is known of a column of WildBench's table of everything."""
    elo = _DATED_ELO.fullmatch(column)
    if elo:
        day = day_of(elo[2])
        return {
            "benchmark": "Chatbot Arena",
            "task": elo[1],
            "variant": "" if day else elo[2],
            "metric": "rating",
            "unit": "rating",
            "setting": "live",
            "date": day,
        }
    known: dict[str, dict[str, object]] = {
        "Arena-Hard v0.1": {"benchmark": "Arena-Hard", "variant": "v0.1", "metric": "score", "unit": "percent"},
        "AE2.0": {"benchmark": "AlpacaEval", "task": "2.0", "metric": "win_rate", "unit": "percent"},
        "AE2.0 LC": {
            "benchmark": "AlpacaEval",
            "task": "2.0",
            "metric": "length_controlled_winrate",
            "unit": "percent",
        },
        "WB_Elo": {"benchmark": _WILDBENCH, "metric": "elo", "unit": "rating"},
    }
    return {"setting": "lab", **known.get(column, {"benchmark": _WILDBENCH, "metric": column, "unit": "points"})}


def _add(numbers: Numbers, value: object, **known: object) -> None:
    """Add a number, with what is known of it under names that `Numbers.add` has."""
    text = {name: as_text(known.pop(name, None)) for name in ("model", "benchmark", "metric", "unit")}
    numbers.add(
        value,
        model=text["model"],
        benchmark=text["benchmark"] or _WILDBENCH,
        metric=text["metric"] or "score",
        unit=text["unit"],
        n=known.pop("n", None),
        more={"method": "published", **known},
    )
