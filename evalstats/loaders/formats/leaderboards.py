"""Published leaderboards of arenas and of judged benchmarks, as rows of `aggregates`.

Read are dumps of Chatbot Arena and LMArena, ComparIA, Arena-Hard, AlpacaEval, WildBench and EvalPlus. Every number is a row with
its interval or standard error where the source gives one; nothing is derived, and asymmetric intervals stay so. The level of an
interval is 95 % where the source's names say so (95_pct_ci, q025 and q975, p2.5 and p97.5). An interval without width belongs to
a baseline that is fixed by definition, and is left out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from evalstats.loaders.base import Head, Source
from evalstats.loaders.delimited import header_of, iter_rows
from evalstats.loaders.files import load_json
from evalstats.loaders.format import OBJECT, Sign
from evalstats.loaders.published_format import PublishedFormat
from evalstats.loaders.published_numbers import PublishedRows, between, certainty_in
from evalstats.loaders.values import as_count, as_dict, as_number, day_of, dicts, get

Record = Mapping[str, str]

_ALPACA_METRICS: Final = (
    ("win_rate", "standard_error"),
    ("length_controlled_winrate", "lc_standard_error"),
    ("discrete_win_rate", ""),
)
# Both ways of writing Arena-Hard's interval are rounded, to a tenth in its first tables.
_ROUNDING: Final = 0.11


def _records(head: Head) -> Iterator[Record]:
    header = header_of(head.path, head.delimiter)
    for _, cells in iter_rows(head.path, head.delimiter, n_columns=len(header)):
        yield dict(zip(header, cells, strict=True))


def _arena(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read a dump of Chatbot Arena's table; its part of the arena is named by the file (lmarena_text)."""
    task = source.stem.removeprefix("lmarena_") if source.stem.startswith("lmarena_") else ""
    for record in _records(head):
        score = as_number(record["arena_score"])
        ends = certainty_in(record["95_pct_ci"], score or 0.0, half=True)[1]
        if ends is None and record["95_pct_ci"].strip():
            numbers.unread["95_pct_ci"] += 1
        known = {
            "model": record["model"],
            "benchmark": "LMArena",
            "metric": "rating",
            "unit": "rating",
            "n": record.get("votes"),
            "task": task,
            "setting": "live",
            "method": "published; rounded, interval from 95_pct_ci (upper distance first)",
            "rank": as_count(record.get("rank")),
            "rank_stylectrl": as_count(record.get("rank_stylectrl")),
            "organization": record.get("organization") or None,
            "license": record.get("license") or None,
        }
        numbers.add(record["arena_score"], known, ends=ends)
    return "LMArena"


def _arena_hard(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read Arena-Hard-Auto's leaderboard; its interval stands as ends and as distances, which must agree."""
    n_apart = 0
    for record in _records(head):
        ends = between(record, "rating_q025", "rating_q975")
        beside = certainty_in(record.get("CI"), as_number(record["score"]) or 0.0)[1]
        if ends is not None and beside is not None:
            n_apart += max(abs(ends[0] - beside[0]), abs(ends[1] - beside[1])) > _ROUNDING
        known = {
            "model": record["model"],
            "benchmark": "Arena-Hard",
            "metric": "score",
            "unit": "percent",
            "setting": "lab",
            "method": f"published; interval from {'rating_q025 and rating_q975' if ends else 'CI'}",
            "date": day_of(record.get("date")),
            "avg_tokens": as_number(record.get("avg_tokens")),
        }
        numbers.add(record["score"], known, ends=ends or beside)
    if n_apart:
        numbers.notes.append(f"of {n_apart} models CI and rating_q025, rating_q975 differ; the latter are taken")
    return "Arena-Hard"


def _alpaca_eval(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read AlpacaEval's leaderboards, also those of its site; the annotator, which the file names, is the task."""
    annotator = source.stem.removeprefix("docs_").removesuffix("_leaderboard")
    for record in _records(head):
        common = {
            "model": record.get("") or record.get("name"),
            "benchmark": "AlpacaEval",
            "unit": "percent",
            "n": record.get("n_total"),
            "task": annotator,
            "setting": "lab",
            "judge": annotator,
            "avg_length": as_number(record.get("avg_length")),
            "mode": record.get("mode") or record.get("filter") or None,
        }
        counts = {name: as_count(record.get(name)) for name in ("n_wins", "n_wins_base", "n_draws")}
        for metric, error in _ALPACA_METRICS:
            told = f"published, with {error}" if as_number(record.get(error)) else "published"
            known = {**common, "metric": metric, "method": told, **(counts if metric == "win_rate" else {})}
            numbers.add(record.get(metric), known, error=record.get(error))
    return "AlpacaEval"


_MAX_CHARS: Final = 64 << 20
_WILDBENCH: Final = "WildBench"
_REFERENCE = re.compile(r"pairwise-([\w.\-]+?)-K=(-?\d+)")


def _content(head: Head) -> dict[str, object]:
    return as_dict(load_json(head.path, max_chars=_MAX_CHARS))


def _models(models: object) -> Iterator[tuple[str, dict[str, object]]]:
    return ((model, as_dict(value)) for model, value in as_dict(models).items())


def _catalog(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read the arena catalog: category to model to rating; or model to rating, without categories."""
    content = _content(head)
    flat = any("rating" in as_dict(value) for value in content.values())
    common = {"benchmark": "LMArena", "metric": "rating", "unit": "rating", "setting": "live"}
    common |= {"method": "published; interval from rating_q025 and rating_q975"}
    for category, models in ({"": content} if flat else content).items():
        for model, record in _models(models):
            known = {**common, "model": model, "n": record.get("votes"), "task": category}
            numbers.add(record.get("rating"), known, ends=between(record, "rating_q025", "rating_q975"))
    return "LMArena"


def _comparia(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read ComparIA's dump: medians and percentiles of resampled ratings, and win rates."""
    content = _content(head)
    day = day_of(content.get("timestamp"))
    for record in dicts(content.get("models")):
        common = {"model": record.get("model_name"), "benchmark": "ComparIA", "n": record.get("n_match")}
        common |= {"setting": "live", "date": day, "rank": record.get("rank")}
        rating = {"metric": "rating", "unit": "rating", "method": "published; median, interval from p2.5 and p97.5"}
        numbers.add(record.get("median"), common | rating, ends=between(record, "p2.5", "p97.5"))
        for metric in ("win_rate", "mean_win_prob"):
            numbers.add(record.get(metric), {**common, "metric": metric, "unit": "proportion"})
    return "ComparIA"


def _evalplus(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read EvalPlus' leaderboard: model to its share of solved tasks, with and without the added tests."""
    for model, record in _models(_content(head)):
        common = {"model": model, "benchmark": "EvalPlus", "metric": "pass@1", "unit": "percent", "setting": "lab"}
        facts = {"params_b": as_number(record.get("size")), "prompted": record.get("prompted") is True}
        for task, score in as_dict(record.get("pass@1")).items():
            numbers.add(score, {**common, **facts, "task": task})
    return "EvalPlus"


def _wildbench_elo(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read WildBench's Elo. Its `ci` and `std` are over orders of the same judgements, so they are no sampling error.

    So `leaderboard/wb_elo.py` of allenai/WildBench makes them: every round shuffles the same list.
    """
    content = _content(head)
    day = day_of(get(content, "config", "time"))
    for model, record in _models(content.get("elo_stat")):
        known = {
            "model": model,
            "benchmark": _WILDBENCH,
            "metric": "elo",
            "unit": "rating",
            "setting": "lab",
            "date": day,
            "method": "published; mean of online Elo over orders of the judgements",
            "median": as_number(record.get("median")),
            "order_sd": as_number(record.get("std")),
            "started_from_arena": as_number(record.get("init_elo")),
        }
        numbers.add(record.get("avg"), known)
    numbers.notes.append(
        "std and ci of WildBench's Elo are its spread over orders of the same judgements, not over other judgements: std is "
        "kept as order_sd, and neither is taken for an interval. Ratings of models with started_from_arena lean on the arena's"
    )
    return _WILDBENCH


def _wildbench_rewards(head: Head, source: Source, numbers: PublishedRows) -> str:
    """Read WildBench's rewards against one reference model, which the file's name tells."""
    found = _REFERENCE.match(source.stem)
    metric = f"reward/{found[1]}" if found else "reward"
    variant = f"K={found[2]}" if found else ""
    for model, record in _models(_content(head)):
        common: dict[str, object] = {"model": model, "benchmark": _WILDBENCH, "unit": "points", "setting": "lab"}
        common |= {"variant": variant, "method": "published; mean of 1, 0.5, 0, -0.5, -1 over the judgements"}
        counts = {name: record.get(name) for name in ("win_much", "win", "tie", "lose", "lose_much")}
        numbers.add(record.get("reward"), {**common, "metric": metric, "n": record.get("total"), **counts})
        numbers.add(record.get("task_macro_reward"), {**common, "metric": f"task_macro_{metric}"})
        for task, reward in as_dict(record.get("task_categorized_rewards")).items():
            counts = as_dict(as_dict(record.get("task_categorized_results")).get(task))
            numbers.add(reward, {**counts, **common, "metric": metric, "task": task})
    return _WILDBENCH


def _wildbench_scores(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read WildBench's mean scores."""
    for model, record in _models(_content(head)):
        common: dict[str, object] = {"model": model, "benchmark": _WILDBENCH, "unit": "points", "setting": "lab"}
        common |= {"method": "published", "avg_length": as_number(record.get("avg_len"))}
        for metric in ("score", "adjusted_score", "task_macro_score", "adjusted_task_macro_score"):
            n = None if "macro" in metric else record.get("total")
            numbers.add(record.get(metric), {**common, "metric": f"mean_{metric}", "n": n})
        for task, score in as_dict(record.get("task_categorized_scores")).items():
            numbers.add(score, {**common, "metric": "mean_adjusted_score", "task": task})
    return _WILDBENCH


_ELO: Final = re.compile(r"Arena Elo \((.+?)\) - (.+)")
_REWARD: Final = re.compile(r"(haiku|llama|gpt4t)_reward(?:\..+?)?\.K=-?\d+")
# Made of the rewards, so that they mean nothing where no reward was measured.
_OF_REWARDS: Final = ("mixture_of_rewards", "task_macro_reward", "RewardScore_Avg")
_BORROWED: Final[dict[str, dict[str, object]]] = {
    "Arena-Hard v0.1": {"benchmark": "Arena-Hard", "variant": "v0.1", "metric": "score", "unit": "percent"},
    "AE2.0": {"benchmark": "AlpacaEval", "task": "2.0", "metric": "win_rate", "unit": "percent"},
    "AE2.0 LC": {"benchmark": "AlpacaEval", "task": "2.0", "metric": "length_controlled_winrate", "unit": "percent"},
    "WB_Elo": {"benchmark": _WILDBENCH, "metric": "elo", "unit": "rating"},
}


def _wildbench_all(head: Head, _: Source, numbers: PublishedRows) -> str:
    """Read WildBench's table of everything. It holds 0 for rewards that were never measured, which are left out."""
    n_unmeasured = 0
    for model, record in _models(_content(head)):
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
            known: dict[str, object] = {"benchmark": _WILDBENCH, "metric": column, "unit": "points", "setting": "lab"}
            if elo:
                known = {
                    "benchmark": "Chatbot Arena",
                    "metric": "rating",
                    "unit": "rating",
                    "setting": "live",
                    "task": elo[1],
                }
                known |= {"date": day} if (day := day_of(elo[2])) else {"variant": elo[2]}
            numbers.add(number, {"model": model, **known, **_BORROWED.get(column, {})})
    if n_unmeasured:
        numbers.notes.append(
            f"{n_unmeasured} models have rewards of exactly 0 in every task against a reference: the table writes 0 for what was "
            "not measured (and of the reference itself), so these, and means of nothing but these, are left out"
        )
    return _WILDBENCH


_DOCUMENT: Final = (*OBJECT, "lines")
_TEXT: Final = ("text",)
FORMAT: Final = PublishedFormat(
    name="leaderboard",
    title="leaderboards (arenas, Arena-Hard, AlpacaEval, WildBench, EvalPlus)",
    version="2",
    upstream=(
        "lmarena's dumps; lmarena/arena-hard-auto at 196f6b8; tatsu-lab/alpaca_eval at cd543a1; allenai/WildBench at d6b8dca, "
        "leaderboard/; evalplus/evalplus.github.io"
    ),
    harness=None,
    tables=(
        (Sign("model arena_score 95_pct_ci", shapes=_TEXT), _arena),
        (Sign("model score rating_q025 rating_q975", shapes=_TEXT), _arena_hard),
        (Sign("win_rate standard_error n_total", shapes=_TEXT), _alpaca_eval),
        (Sign("name win_rate avg_length samples filter", shapes=_TEXT), _alpaca_eval),
        (Sign(text=('"rating_q975"', '"rating_q025"'), shapes=_DOCUMENT), _catalog),
        (Sign("timestamp models", text=('"p2.5"', '"median"'), shapes=_DOCUMENT), _comparia),
        (Sign("config elo_stat", shapes=_DOCUMENT), _wildbench_elo),
        (Sign(text=('"win_much"', '"lose_much"'), shapes=_DOCUMENT), _wildbench_rewards),
        (Sign(text=('"task_categorized_scores"', '"task_macro_score"'), shapes=_DOCUMENT), _wildbench_scores),
        (Sign(text=('"Arena Elo (', '"AE2.0'), shapes=_DOCUMENT), _wildbench_all),
        (Sign(text=('"Arena Elo (', '"WB_score'), shapes=_DOCUMENT), _wildbench_all),
        (Sign(text=('"humaneval+"', '"pass@1"', '"open-data"'), shapes=_DOCUMENT), _evalplus),
    ),
)
