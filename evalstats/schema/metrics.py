"""One definition of each metric: what its name says of it, and what files declare.

A name declares nothing; it is a reason to ask. Only an arrow, the words "lower is better" and a cost or a latency do.
"""

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

import polars as pl

from evalstats.schema.columns import KEYS, schema_of

_ARROWS = {"↓": False, "⬇": False, "▼": False, "↑": True, "⬆": True, "▲": True}
_IN_WORDS = re.compile(r"(?:(lower|smaller|less)|higher|larger|greater|more)[\s_-]+(?:is[\s_-]+)?better", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SPLIT = re.compile(r"[^a-z\d]+")

# Beginnings of words for what is bad: to have less of it is better.
_BAD = re.compile(
    r"jailbr|halluc|toxic|harm(?!less|on)|unsafe|unfaith|unground|unsupport|unfair|insecur|malici|offens|profan|hateful|slur|"
    r"stereotyp|bias|deceiv|decept|sycophan|misinfo|disinfo|fabricat|confabul|error|erron|incorrect|inaccura|wrong|mistake|fault|"
    r"fail|crash|bugg?s?$|defect|timeout|timedout|invalid|malform|violat|breach|leak|attack|exploit|vulnerab|inject|bypass|abus|scam|"
    r"fraud|refus|overrefus|complain|escalat|churn|perplex|surprisal|miscalib|diverg|regret|penalt|latenc|delay|runtim|"
    r"duration|elapsed|expens|overhead|risk|danger|repetit|redundan|contradict|omission|plagiar|memori[sz]|contaminat|"
    r"disagree|inconsist|unsolved|missed|untruth|nonsens|gibberish|poison|sabotag|cheat|misalign|undesir|loss(?:es)?$|carbon|emission|dislik|downvot|thumbsdown"
)
# Whole words and abbreviations of errors, times and amounts.
_BAD_WORDS = frozenset(
    {
        "err", "errs", "wer", "cer", "ter", "mer", "der", "eer", "mae", "mse", "rmse", "msle", "rmsle", "mape", "smape",
        "brier", "ece", "mce", "crps", "fpr", "fnr", "fdr", "frr", "asr", "bpb", "bpc", "fid", "kid", "fad", "fvd", "lpips",
        "kl", "nll", "ppl", "xent", "hate", "lie", "lies", "lying", "losses", "cost", "costs", "price", "fee", "fees",
        "time", "times", "seconds", "secs", "sec", "ms", "milliseconds", "minutes", "ttft", "tpot", "usd", "dollars", "eur",
        "distance", "dist", "drift", "vram", "energy", "kwh", "joules", "flops", "dishonesty", "dishonest", "slow", "stuck",
        "logloss",
    }
)  # fmt: skip
_BAD_PAIRS = frozenset(
    {("false", "positive"), ("false", "positives"), ("false", "negative"), ("false", "negatives"), ("false", "alarm"),
     ("false", "alarms"), ("bits", "per"), ("cross", "entropy"), ("not", "safe"), ("neg", "log"), ("negative", "log"),
     ("thumbs", "down"), ("thumb", "down"), ("negative", "feedback"), ("negative", "votes"), ("negative", "vote")}
)  # fmt: skip
# Words that turn a bad one round: to detect, to avoid or to be free of it is good.
_TURNS = re.compile(
    r"no$|non$|not$|without$|free$|anti|avoid|resist|robust|defen[cds]|prevent|protect|detect|identif|recogni|recover|"
    r"correct|fix|repair|resolved$|solved$|handl|reduc|mitigat|surviv|safety$|safe$|neg$|negative$|inverse$|inverted$|accura|acc$|f1$|auc|auroc|"
    r"auprc|precision|recall|corr$|correlation|saved$|saving|bounded$|withstand|reject|revenue|profit|sales$"
)
# Times, amounts and counts: they have no top, and a system whose values all lie below 1 may be fast, not on a scale to 1.
_AMOUNT = re.compile(
    r"latenc|delay|runtim|duration|elapsed|cost|price|spend|perplex|surprisal|logprob|loglik|likelihood|reward|return|speed|throughput|"
    r"second|minute|hour|count|number|token|word|char|length|turn|step|call|retr(?:y|ies)|iteration|edits?$|rating|elo$|"
    r"distance|loss|errors$|mistakes$|bugs$|violations$|ratio|points?$|bits$"
)
_AMOUNT_WORDS = frozenset(
    {"n", "num", "nr", "time", "times", "ms", "sec", "secs", "usd", "eur", "dollars", "log", "tps", "rps", "fps", "ttft", "tpot",
     "ppl", "nll", "mse", "mae", "rmse", "mape", "kl", "fid", "kid", "bpb", "bpc", "kwh", "energy", "flops", "vram", "memory"}
)  # fmt: skip
# Money and time: of these even a file whose values all lie below 1 says nothing of a top, unless the name speaks of a share.
_MONEY_OR_TIME = re.compile(
    r"(?:cost|price|spend|latenc|runtim|duration|elapsed|second)|(?:time|ms|sec|secs|usd|eur|dollars|ttft|tpot)$"
)
# Less of these is better whoever measures them; more time on a page, or a longer horizon, may be better.
_COST = re.compile(r"costs?$|latenc|ttft$|tpot$|runtime")
_COST_PAIRS = frozenset((word, "time") for word in ("response", "inference", "generation", "execution", "wall", "run"))
_SHARES = re.compile(r"rate|ratio|share|fraction|score|accura|percent|norm|efficien|relative|index")
_PERCENT = re.compile(r"%|(?<![a-z])(?:percent|percents|percentage|percentages|pct|perc)(?![a-z])", re.IGNORECASE)


def direction_in_name(name: str) -> bool | None:
    """Return whether more is better, where an arrow, "lower is better", or a cost or latency in the name says so; else None.

    >>> [direction_in_name(name) for name in ("wer ↓", "cost_usd", "latencyMs", "cost_savings", "cost_score", "time")]
    [False, False, False, None, None, None]
    """
    said = {up for arrow, up in _ARROWS.items() if arrow in name}
    said |= {found[1] is None for found in _IN_WORDS.finditer(name)}
    if said:
        return next(iter(said)) if len(said) == 1 else None
    words = _words(name)
    costs = any(map(_COST.match, words)) or not _COST_PAIRS.isdisjoint(pairwise(words))
    return False if costs and is_money_or_time(name) and suggests_lower(name) else None


def suggests_lower(name: str) -> bool:
    """Whether a metric's name suggests that lower is better: an error, a time, a cost, a harm."""
    words = _words(name)
    pairs = set(pairwise(words))
    if not pairs.isdisjoint(_BAD_PAIRS):
        return True
    bad = any(word in _BAD_WORDS or _BAD.match(word) for word in words)
    return bad and not any(_TURNS.match(word) for word in words)


def is_amount(name: str) -> bool:
    """Whether a metric's name says that it is a time, an amount or a count, which has no highest value."""
    return any(word in _AMOUNT_WORDS or _AMOUNT.match(word) for word in _words(name))


def is_money_or_time(name: str) -> bool:
    """Whether a metric's name says that it is dollars or seconds, and no share or score of them.

    >>> [
    ...     is_money_or_time(name)
    ...     for name in ("cost", "latency_s", "responseTime", "on_time_rate", "cost_score", "timely")
    ... ]
    [True, True, True, False, False, False]
    """
    words = _words(name)
    return any(map(_MONEY_OR_TIME.match, words)) and not any(map(_SHARES.match, words))


def says_percent(name: str) -> bool:
    """Whether a metric's name says that its numbers are percentages."""
    return _PERCENT.search(name.replace("_", " ")) is not None


def _words(name: str) -> list[str]:
    return [word for word in _SPLIT.split(_CAMEL.sub(" ", name).lower()) if word]


# Loaders tell a metric's kind from the scores they see, so one file of a pair may look narrower than the other.
_WIDTH = ("binary", "proportion", "bounded", "continuous")


def one_definition(metrics: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Merge rows of `metrics` that describe the same metric, and say where they contradict each other, a sentence a metric.

    What was seen in one file may be narrower than what was seen in another: the widest kind counts (binary, proportion,
    bounded, continuous), with bounds that hold for all. Direction and unit come from the first row that names them. Rows
    that give the metric two directions, or two different ranges, cannot both be true: they stay apart, and the metric
    is not analysed until one is declared.
    """
    key = list(KEYS["metrics"])
    if len({*metrics[key].iter_rows()}) == metrics.height:
        return metrics, []
    contradictions: list[str] = []
    merged: list[dict[str, Any]] = []
    for _, group in metrics.group_by(key, maintain_order=True):
        rows = group.unique(maintain_order=True).to_dicts()
        disputes = [*contradicted(rows), *_other_words(rows)]
        merged.extend(rows if contradicted(rows) else [_merged(rows)])
        what = f"metric {rows[0]['metric']!r} of {rows[0]['benchmark']!r}"
        contradictions.extend(f"sources describe {what} differently: {text}" for text in disputes)
    return pl.DataFrame(merged, schema={**metrics.schema, **schema_of("metrics")}), contradictions


def contradicted(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say in what the descriptions of one metric cannot all be true: its direction, its range.

    >>> sides = [{"higher_is_better": None, "low": 0.0, "high": high} for high in (1.0, 100.0)]
    >>> contradicted(sides)
    ['it runs from 0 to 1, and from 0 to 100']
    """
    rows = list(rows)
    found: list[str] = []
    if len({row["higher_is_better"] for row in rows} - {None}) > 1:
        found.append("more is better, and less is better")
    ranges = {(row["low"], row["high"]): None for row in rows if row["low"] is not None and row["high"] is not None}
    if len(ranges) > 1:
        found.append(f"it runs {', and '.join(f'from {low:g} to {high:g}' for low, high in ranges)}")
    return found


def _other_words(rows: list[dict[str, Any]]) -> list[str]:
    """Say where descriptions differ that hold beside each other: the first counts."""
    units = list(dict.fromkeys(row["unit"] for row in rows if row["unit"] is not None))
    kinds = list(dict.fromkeys(row["kind"] for row in rows if row["kind"] is not None))
    told = [("unit", units)] + ([("kind", kinds)] if "ordinal" in kinds else [])
    return [f"{name} is {said[0]!r} and {said[1]!r}" for name, said in told if len(said) > 1]


def _merged(rows: list[dict[str, Any]]) -> dict[str, Any]:
    first = rows[0]
    if len(rows) == 1:
        return first
    kinds = [row["kind"] for row in rows]
    kind = first["kind"] if "ordinal" in kinds else max(kinds, key=_WIDTH.index)
    lows = [row["low"] for row in rows]
    highs = [row["high"] for row in rows]
    units = [row["unit"] for row in rows if row["unit"] is not None and row["kind"] == kind]
    directions = [row["higher_is_better"] for row in rows if row["higher_is_better"] is not None]
    return {
        **first,
        "kind": kind,
        "low": None if None in lows else min(lows),
        "high": None if None in highs else max(highs),
        "higher_is_better": directions[0] if directions else None,
        "unit": units[0] if units else None,
        "primary": any(row["primary"] for row in rows),
    }


def with_facts(metrics: pl.DataFrame, key: tuple[str, str], facts: Mapping[str, object]) -> pl.DataFrame:
    """Return `metrics` with what the user declares of one metric in place of what the sources say."""
    schema = {**metrics.schema, **schema_of("metrics")}
    own = (metrics["benchmark"] == key[0]) & (metrics["metric"] == key[1])
    rows = metrics.filter(own).to_dicts() or [{"benchmark": key[0], "metric": key[1], "primary": False}]
    told = pl.DataFrame([{**row, **facts} for row in rows], schema=schema)
    # It keeps its place, since families stand in the order of this table.
    place = own.arg_max() if own.any() else metrics.height
    parts = [metrics[:place], told, metrics[place:].filter(~own[place:])]
    # Sources that contradicted each other in nothing but what is now declared are one again.
    return one_definition(pl.concat(parts, how="diagonal_relaxed"))[0]
