"""Figures of a leaderboard: scores and ranks, every model against the baseline, who saw the same items."""

import math
import re
from collections.abc import Sequence
from string import ascii_letters
from typing import Any

from evalstats.analysis.design.entries import ComparabilityGraph
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow, NewTask, PairRow
from evalstats.analysis.result import shown_numbers
from evalstats.document.model import Column, Figure, Table
from evalstats.document.numbers import interval, scaled
from evalstats.grammar import comma_list, plural, plural_of

MOST_MODELS = 60
MOST_PAIRS = 30
MOST_GROUPS = 16
_LETTERS = 3
_THIN = 0.5  # two groups that share less than this of the smaller one's items are worth a drawing
_TONES: dict[str, str] = {"better": "good", "worse": "bad", "not separated": "neutral", "not compared": "caution"}


def ranks(result: Leaderboard) -> Figure:
    """Return the figure of every model's score with its interval, and the ranks that the data leave open.

    At most 60 models are drawn; those that may be the best stand out, unless all of their part may.
    """
    shown = result.rows[:MOST_MODELS]
    unit = f" ({result.score_unit})" if result.score_unit else ""
    rest = len(result.rows) - len(shown)
    options: dict[str, Any] = {"title": f"{result.metric}{unit}, {100 * result.conf_level:g}% interval"}
    if any(row.tier for row in shown):
        options["columns"] = {"tier": "Tier"}
    if result.metric_kind in ("binary", "proportion"):
        options["bounds"] = (0.0, result.scale)
    if rest:
        options["note"] = f"The other {plural(rest, 'model')}: in the table."
    n_best = sum(bool(row.may_be_best) for row in result.rows)
    return Figure(
        id="ranks",
        plot="ranks",
        rows={
            "model": [row.name for row in shown],
            **shown_numbers(shown, result.scale),
            "words": [score_words(row, result) for row in shown],
            "rank_low": [row.rank_low for row in shown],
            "rank_high": [row.rank_high for row in shown],
            "rank_low_marginal": [row.rank_low_marginal for row in shown],
            "rank_high_marginal": [row.rank_high_marginal for row in shown],
            "tier": [short_letters(row.tier) for row in shown],
            "best": _best(shown, result),
            "group": _parts(shown, result),
        },
        options=options,
        alt=f"{result.metric} of {plural(len(result.rows), 'model')} on {result.benchmark} with intervals and the ranks left "
        f"open; {n_best} may be the best.",
        caption=(
            "Scores with intervals; the pale bar shows possible ranks for all models jointly, the dark one "
            "for that model alone."
        ),
    )


def new_task(result: Leaderboard, found: NewTask) -> Figure:
    """Return the figure of the ranks left open on a new task, beside those on the tasks at hand; at most 60 models."""
    rows = found.rows[:MOST_MODELS]
    at_hand = [result.row(row.name) for row in rows]
    columns = (
        Column(title="Model", kind="name"),
        Column(title="Ranks here", kind="amount"),
        Column(title=f"On a new {found.factor}", kind="amount"),
        Column(title="Median", kind="number", digits=1, plain=True),
        Column(title=f"{plural_of(found.factor).capitalize()} inside (%)", kind="number", scale=100, digits=0),
    )
    cells = tuple(
        (row.name, own.ranks.replace("-", "–"), row.ranks.replace("-", "–"), row.rank_median, row.share_inside)
        for row, own in zip(rows, at_hand, strict=True)
    )
    level = f"{100 * found.conf_level:g}%"
    here = f"these {found.n_tasks} together (dark, all models jointly)"
    caption = f"Ranks left open on a new {found.factor} (pale, {level} for each model) and on {here}"
    return Figure(
        id="new-task",
        plot="ranks",
        rows={
            "model": [row.name for row in rows],
            "rank_low": [row.rank_low for row in rows],
            "rank_high": [row.rank_high for row in rows],
            "rank_low_marginal": [own.rank_low for own in at_hand],
            "rank_high_marginal": [own.rank_high for own in at_hand],
        },
        options={"title": f"Ranks on a new {found.factor}"},
        alt=f"Ranks left open for {plural(len(rows), 'model')} on a {found.factor} not yet seen, from {found.n_tasks} at hand.",
        caption=caption,
        table=Table(id="new-task", columns=columns, rows=cells, caption=caption, most=MOST_MODELS),
    )


def against_baseline(result: Leaderboard) -> Figure:
    """Return the figure of every model's difference to the baseline: at most 30, those nearest to it."""
    pairs = shown_pairs(result)
    unit = {"pp": "percentage points"}.get(result.unit, result.unit)
    better, worse = f"better than {result.baseline}", f"worse than {result.baseline}"
    up, down = (better, worse) if result.higher_is_better else (worse, better)
    separated = sum(pair.separated for pair in pairs)
    options: dict[str, Any] = {
        "title": f"Difference in {result.metric}" + (f" ({unit})" if unit else ""),
        "sides": (f"← {down}", f"{up} →"),
        "side_tones": ("bad", "good") if result.higher_is_better else ("good", "bad"),
    }
    if result.metric_kind in ("binary", "proportion"):
        options["bounds"] = (-result.scale, result.scale)
    return Figure(
        id="against-baseline",
        plot="forest",
        rows={
            "model": [pair.first for pair in pairs],
            **shown_numbers(pairs, result.scale),
            "words": [difference_words(pair, result) for pair in pairs],
            "tone": [_TONES[pair.verdict] for pair in pairs],
            "settled": [pair.separated for pair in pairs],
        },
        options=options,
        alt=f"Difference in {result.metric} of {plural(len(pairs), 'model')} to {result.baseline}; {separated} are separated.",
        caption=f"The difference of each model to {result.baseline}; filled points are separated.",
    )


def comparability(graph: ComparabilityGraph) -> Figure:
    """Return the figure of who saw the same items: at most 16 groups of models, those with the most."""
    most = sorted(graph.groups, key=lambda group: -len(group.models))[:MOST_GROUPS]
    kept = {group.models[0] for group in most}
    groups = [
        group
        for names in map(set, graph.components)
        for group in graph.groups
        if group.models[0] in kept and group.models[0] in names
    ]
    names = {group.models[0]: comma_list(group.models, 1) for group in groups}
    shared = [edge for edge in graph.edges if edge.n_items and edge.first in names and edge.second in names]
    pairs = [(edge.first, edge.second, edge.n_items, edge.compared) for edge in shared]
    pairs += [(second, first, n, compared) for first, second, n, compared in pairs]
    pairs += [(group.models[0], group.models[0], group.n_items, True) for group in groups]
    order = list(names)
    pairs.sort(key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    rest = len(graph.groups) - len(groups)
    return Figure(
        id="comparability",
        plot="heatmap",
        rows={
            "first": [names[first] for first, *_ in pairs],
            "second": [names[second] for _, second, *_ in pairs],
            "estimate": [n for _, _, n, _ in pairs],
            "words": [f"{n:,}" for _, _, n, _ in pairs],
            "tone": ["neutral"] * len(pairs),
            "settled": [compared for *_, compared in pairs],
            "base": [first == second for first, second, *_ in pairs],
        },
        options={
            "row": "first",
            "column": "second",
            "note": f"{plural(rest, 'further group')} not drawn." if rest else "",
        },
        alt=f"Who saw the same items: {plural(len(graph.groups), 'group')} of models in {plural(len(graph.components), 'part')}.",
        caption="Items that groups of models share, on the diagonal their own; hollow where these are too few to compare.",
    )


def is_worth_drawing(graph: ComparabilityGraph | None) -> bool:
    """Whether the graph says more than a sentence does: some are not compared, or rest on few shared items.

    >>> is_worth_drawing(None)
    False
    """
    if graph is None or len(graph.groups) < 2:
        return False
    size = {group.models[0]: group.n_items for group in graph.groups}
    return any(
        not edge.compared or edge.n_items < _THIN * min(size[edge.first], size[edge.second]) for edge in graph.edges
    )


def shown_pairs(result: Leaderboard) -> list[PairRow]:
    """Return the pairs that are drawn, those with the smallest difference, in the order of the result."""

    def distance(pair: PairRow) -> float:
        return math.inf if pair.estimate is None else abs(pair.estimate)

    nearest = sorted(result.pairs, key=distance)[:MOST_PAIRS]
    return [pair for pair in result.pairs if any(pair is each for each in nearest)]


def score_digits(result: Leaderboard) -> int:
    """Return how many decimals are shown: those that show the first digit of a usual standard error, at least one."""
    errors = sorted(row.std_error * result.scale for row in result.rows if row.std_error)
    return 1 if not errors else min(max(1, -math.floor(math.log10(errors[len(errors) // 2]))), 6)


def score_words(row: LeaderboardRow, result: Leaderboard) -> str:
    """Write a model's score and its interval, or what of them is missing."""
    digits = score_digits(result)
    if row.estimate is None:
        return "no score"
    shown = scaled(row.estimate, result.scale, digits)
    if row.conf_low is None or row.conf_high is None:
        return f"{shown}, no interval"
    return f"{shown} {interval(row.conf_low, row.conf_high, result.scale, digits)}"


def difference_words(pair: PairRow, result: Leaderboard) -> str:
    """Write a difference and its interval, or why one of them is missing."""
    digits = score_digits(result)
    if pair.estimate is None:
        return f"not compared: {pair.reason}"
    if pair.conf_low is None or pair.conf_high is None:
        return f"no interval: {pair.reason}"
    shown = scaled(pair.estimate, result.scale, digits, sign=True)
    return f"{shown} {interval(pair.conf_low, pair.conf_high, result.scale, digits, sign=True)}"


def short_letters(tier: str) -> str:
    """Write runs of more than three letters as their ends; tables have all of them.

    >>> short_letters("abc"), short_letters("cdefgj"), short_letters("2abcd"), short_letters("Za4b4c4d4")
    ('abc', 'c-gj', '2a-d', 'Za4-d4')
    """
    part, letters = re.findall(r"^\d*", tier)[0], re.findall(r"[a-zA-Z]\d*", tier)
    runs: list[list[str]] = []
    for letter in letters:
        follows = bool(runs) and _letter_place(letter) == _letter_place(runs[-1][-1]) + 1
        runs = [*runs[:-1], [*runs[-1], letter]] if follows else [*runs, [letter]]
    return part + "".join(f"{run[0]}-{run[-1]}" if len(run) > _LETTERS else "".join(run) for run in runs)


def _letter_place(letter: str) -> int:
    """Return how many letters go before: a to z, A to Z, then a1 and so on."""
    return ascii_letters.index(letter[0]) + len(ascii_letters) * int(letter[1:] or 0)


def _best(rows: Sequence[LeaderboardRow], result: Leaderboard) -> list[bool]:
    open_parts = {row.component for row in result.rows if row.rank_low is not None and not row.may_be_best}
    return [bool(row.may_be_best) and row.component in open_parts for row in rows]


def _parts(rows: Sequence[LeaderboardRow], result: Leaderboard) -> list[str]:
    """Return the heading above each model where there are several parts, between which nothing is ranked."""
    if len({row.component for row in result.rows if row.component is not None}) < 2:
        return [""] * len(rows)
    headings: dict[int | None, str] = {None: ""}
    for part in {row.component for row in rows} - {None}:
        own = [row for row in result.rows if row.component == part]
        ranked = "ranks among them" if any(row.rank_low is not None for row in own) else "no ranks"
        headings[part] = f"Part {part}: {plural(len(own), 'model')}, {ranked}"
    return [headings[row.component] for row in rows]
