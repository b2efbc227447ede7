"""What a reader of a leaderboard sees first: the question, who may be the best, what it rests on, what to beware of."""

from evalstats.analysis.leaderboard.figures import score_digits
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow
from evalstats.analysis.leaderboard.wording import leaderboard_sentences
from evalstats.document.numbers import plural, scaled
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.board.page import LeaderboardPage
from evalstats.report.board.words import leaderboard_words, statement
from evalstats.report.callouts import departures_callout, simulated_callout, undeparted, warnings_callout
from evalstats.report.markup import linked, metadata, prose

_SIGNS = {"good": "✓", "caution": "?", "bad": "×"}
ADJUSTMENTS = {
    "max-t": "max-T step-down",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}


def title(page: LeaderboardPage) -> str:
    """Return the question as the document's title."""
    board = page.board
    what = board.contrast
    alike = board.graph is None or board.graph.same_items
    subtitle = f"Leaderboard of {plural(board.n_models, what)}" + (
        " on the same items" if alike and board.graph else ""
    )
    return metadata(title=prose(f"Which {what} is best on {board.benchmark}?"), subtitle=prose(subtitle))


def simulated(page: LeaderboardPage) -> str:
    """Return a callout where the data are simulated; nothing where they are not."""
    return simulated_callout(page.board.notes)


def departures(page: LeaderboardPage) -> str:
    """Return a callout where the result departs from the plan that was declared; nothing where it does not."""
    return departures_callout(page.board.plan)


def verdict(page: LeaderboardPage) -> str:
    """Return the banner: who may be the best, what is certain, what a rank means here, and the set's size in large type."""
    board = page.board
    banner = leaderboard_words(board).banner
    sign, tone = _SIGNS.get(banner.tone, "?"), banner.tone
    amount, range_words = headline_number(board)
    return verdict_banner(
        label=banner.label[:1].upper() + banner.label[1:],
        sign=sign,
        tone=tone,
        answer=banner.text,
        why=certain_words(board),
        meaning=_meaning(board),
        amount=amount,
        range_words=range_words,
    )


def headline_number(board: Leaderboard) -> tuple[str, str]:
    """Return how many models may be the best as it is shown large, and its words; nothing where no rank is known.

    Where models fall into parts there is no best of all, and so no such number.
    """
    ranked = [row for row in board.rows if row.rank_low is not None]
    if not ranked or n_parts(board) > 1:
        return "", ""
    n_best = len(board.best())
    return f"{n_best} of {len(ranked)}", "may be the best"


def n_parts(board: Leaderboard) -> int:
    """Return the number of parts that cannot be compared with one another."""
    return 1 if board.graph is None else len(board.graph.components)


def certain_words(board: Leaderboard) -> str:
    """Say how many ranks are certain, how many tiers there are, and by how much the one best leads."""
    ranked = [row for row in board.rows if row.rank_low is not None]
    if not ranked:
        return "Scores and their intervals stand below, in the order of the scores, which is no ranking."
    certain = [row for row in ranked if row.rank_low == row.rank_high]
    n = n_tiers(board)
    some = f"{len(certain)} of {len(ranked)} ranks {_are(certain)} certain" if certain else "No rank is certain"
    tiers = f"{some}; there {'is' if n == 1 else 'are'} {plural(n, 'tier')}."
    best = [row for row in ranked if row.may_be_best]
    lead = _lead(best[0], board) if len(best) == 1 and n_parts(board) == 1 else ""
    return f"{lead} {tiers}".strip()


def _are(rows: list[LeaderboardRow]) -> str:
    return "is" if len(rows) == 1 else "are"


def n_tiers(board: Leaderboard) -> int:
    """Return how many different tiers there are: the letters that are given out, in every part."""
    return len({(row.component, letter) for row in board.rows for letter in tier_letters(row)})


def tier_letters(row: LeaderboardRow) -> list[str]:
    """Return the tiers of a model one by one; a number before them is that of its part.

    Examples
    --------
    >>> tier_letters(LeaderboardRow(name="x", estimate=None, tier="2ab"))
    ['a', 'b']
    """
    letters: list[str] = []
    for char in row.tier.lstrip("0123456789"):
        if char.isdigit():
            letters[-1] += char
        else:
            letters.append(char)
    return letters


def _lead(best: LeaderboardRow, board: Leaderboard) -> str:
    """Say by how much the one best is ahead of every other model at least, by intervals that hold together."""
    sign = 1 if board.higher_is_better else -1
    least: list[float] = []
    for pair in board.pairs:
        if best.name not in (pair.first, pair.second) or pair.conf_low is None or pair.conf_high is None:
            continue
        turned = sign * (1 if pair.first == best.name else -1)
        least.append(pair.conf_low if turned > 0 else -pair.conf_high)
    ranked = sum(row.rank_low is not None for row in board.rows)
    if len(least) < ranked - 1 or min(least) <= 0 or board.adjust not in ("max-t", "holm"):
        return ""
    unit = f" {board.unit}" if board.unit else ""
    return f"It is ahead of every other model by at least {scaled(min(least), board.scale, score_digits(board))}{unit}."


def _meaning(board: Leaderboard) -> str:
    """Say what a rank, a tier and a part are, as far as there are any."""
    if not any(row.rank_low for row in board.rows):
        return ""
    level = f"{100 * board.conf_level:g}%"
    within = " of a part" if n_parts(board) > 1 else ""
    return (
        f"A rank is given as the set of all places that the data leave open; all sets{within} together hold the true ranks with "
        f"{level} confidence. Models that share a tier are not separated, which does not make them equal."
    )


def facts(page: LeaderboardPage) -> str:
    """Return the strip of key facts: what the ranks rest on."""
    return fact_strip(key_facts(page.board))


def key_facts(board: Leaderboard) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    ranked = sum(row.rank_low is not None for row in board.rows)
    without = board.n_models - ranked
    direction = "higher is better" if board.higher_is_better else "lower is better"
    found = [("Models", f"{board.n_models:,}", "all with a rank" if not without else f"{without:,} without a rank")]
    if board.n_items is not None:
        found.append(("Items", f"{board.n_items:,}", _items_words(board)))
    if board.clusters:
        found.append(("Clusters", f"{board.n_clusters or 0:,}", " and ".join(board.clusters)))
    elif board.n_items is not None:
        found.append(("Clusters", "none", "items taken as independent"))
    found.append(("Metric", board.metric, f"{board.metric_kind}, {direction}"))
    found.append(_pairs_fact(board))
    if ranked:
        found.append(("Tiers", f"{n_tiers(board):,}", "models that share one are not separated"))
    return found


def _items_words(board: Leaderboard) -> str:
    graph = board.graph
    if graph is None or graph.same_items:
        return "the same for all"
    shared = [pair.n_items for pair in board.pairs if pair.n_items is not None]
    low, high = min(shared, default=0), max(shared, default=0)
    return f"{low:,} to {high:,} shared by two" if low < high else f"{low:,} shared by two"


def _pairs_fact(board: Leaderboard) -> tuple[str, str, str]:
    separated = sum(pair.separated for pair in board.pairs)
    what = "separated" if board.baseline is None else "separated from the baseline"
    return (
        "Pairs",
        f"{separated:,} of {len(board.pairs):,}",
        f"{what} ({ADJUSTMENTS.get(board.adjust, board.adjust)})",
    )


def warnings(page: LeaderboardPage) -> str:
    """Return what must be known before a rank is used; nothing where there is nothing."""
    board = page.board
    texts = [linked(statement(text, board)) for text in undeparted(board.warnings, board.plan)]
    texts += [prose(_otherwise(name, other)) for name, other in page.alternatives]
    return warnings_callout(texts)


def _otherwise(name: str, other: Leaderboard) -> str:
    """Say what the answer is when the levels of a factor are taken for clusters."""
    answer = leaderboard_sentences(other)[0]
    return f"For new levels of {name}, rather than new items of these: {answer} {certain_words(other)}"
