"""A leaderboard explained to somebody who is no statistician, with the ranks and pairs of this very one."""

from collections.abc import Sequence

from evalstats.analysis.explaining.words import described, percent, section, sentence, sources_of, with_unit
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow, PairRow
from evalstats.analysis.leaderboard.wording import nil_correction
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import interval, number, p_value, plural

_LISTED = 3


def explain_leaderboard(result: Leaderboard) -> list[Block]:
    """Return the explanation of a leaderboard: question, method, assumptions, ranks, pairs, what would change it."""
    blocks: list[Block] = [
        Heading(text=f"{plural(result.n_models, 'model')} on {result.benchmark}: what this leaderboard says", level=1),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(result)),
        *section("What this takes for granted, and how it could fail here", _assumptions(result)),
        *section("What the ranks mean", _ranks(result)),
        *section("What the pairs mean", _pairs(result)),
        *section("What the top score means", _winner(result)),
        *section("What would change the conclusion", _changes(result)),
    ]
    return [*blocks, *sources_of(_methods(result))]


def _methods(result: Leaderboard) -> list[str]:
    winner = [result.winner.method] if result.winner is not None else []
    omnibus = [result.omnibus.method] if result.omnibus is not None else []
    own = [row.method for row in result.rows]
    return [name for name in (result.method, result.pairs_method, result.rank_method, *winner, *omnibus, *own) if name]


def _question(result: Leaderboard) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    against = f"each against {result.baseline}" if result.baseline else "every two against each other"
    return [
        (
            f"How do {result.n_models} models stand in {result.metric} on {result.benchmark}, where {better} is "
            f"better, and which of their ranks are certain? They are compared {against}, item by item; "
            f"{result.basis}."
        ),
        f"What is estimated is the {result.estimand}.",
    ]


def _method(result: Leaderboard) -> list[str]:
    pairs = " ".join(text.how for text in described(result.method))
    told = [f"Pairs: {result.method}, because {result.method_reason}. {_in_a_family(pairs, result)}"]
    ranked = any(row.rank_low is not None for row in result.rows)
    if not ranked:
        return [*told, sentence(result.rank_reason or "there are no ranks")]
    known = {text.how for text in described(result.method)}
    ranks = [text.how for text in described(result.rank_method) if text.how not in known]
    return [*told, f"Ranks: {result.rank_method}. {' '.join(ranks)}"]


def _in_a_family(text: str, result: Leaderboard) -> str:
    """Correct what is true of one pair's own p and interval only: p of a family need not agree with the interval beside it."""
    alone = text.replace("so p and interval never contradict each other", "so for a pair alone p and interval agree")
    if result.adjust in ("bh", "by"):
        return f"{alone} The intervals are unadjusted, each for its own pair, so an adjusted p can leave open what one excludes."
    return (
        f"{alone} After adjustment the two can part: p is adjusted step by step, which is sharper, so a pair can be separated "
        "though its simultaneous interval includes 0."
    )


def _assumptions(result: Leaderboard) -> list[str]:
    takes = {text.takes: None for name in (result.method, result.rank_method) for text in described(name) if text.takes}
    return [_independence(result), *takes, *_missing(result), *_graph(result)]


def _independence(result: Leaderboard) -> str:
    flagged = [row for row in result.dependence if row.flag == "warn"]
    unit = "groups" if result.clusters else "items"
    if flagged:
        suspects = ", ".join(f"{row.factor} ({number(row.design_effect, 1)} times the variance)" for row in flagged)
        return (
            f"The {unit} are taken as independent of each other, and that looks wrong: differences run in groups "
            f"along {suspects}. If those groups are a sample of more, the ranks are less certain than they look"
        )
    n = result.n_clusters if result.clusters else result.n_items
    tested = ", ".join(row.factor for row in result.dependence)
    what = (
        f"; {tested} could have spoken against it and do not" if tested else ", and no column could be tested for that"
    )
    return f"The {n if n is not None else ''} {unit} are taken as independent of each other{what}".replace("  ", " ")


def _missing(result: Leaderboard) -> list[str]:
    lacking = [row for row in result.rows if row.n_missing]
    if not lacking:
        return []
    worst = max(lacking, key=lambda row: row.n_missing)
    return [
        (
            f"{plural(len(lacking), 'model')} {'lacks' if len(lacking) == 1 else 'lack'} scores that another has, "
            f"most of all {worst.name} ({plural(worst.n_missing, 'item')}). They are left out, as if they were "
            "like the rest; the leaderboard itself says what the worst case does"
        ),
    ]


def _graph(result: Leaderboard) -> list[str]:
    if result.graph is None or result.graph.connected:
        return []
    return [
        (
            "Not all models saw items in common, so the leaderboard falls into parts. A rank counts within its "
            "part; between parts nothing is known"
        ),
    ]


# --- ranks ---


def _ranks(result: Leaderboard) -> list[str]:
    ranked = [row for row in result.rows if row.rank_low is not None and row.rank_high is not None]
    if not ranked:
        return [result.rank_reason or "The data leave every rank open"]
    certain = [row for row in ranked if row.rank_low == row.rank_high]
    widest = max(ranked, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0))
    found = [
        (
            f"{len(certain)} of {plural(len(ranked), 'rank')} {'is' if len(certain) == 1 else 'are'} certain. All "
            f"sets together hold the true ranks with {percent(result.conf_level)} confidence, so any one of them "
            "may be quoted, and so may the one that looks best"
        ),
        _set_of(ranked[0], ranked),
    ]
    if widest is not ranked[0] and widest.rank_low != widest.rank_high:
        found.append(_set_of(widest, ranked))
    best = result.best()
    if 1 < len(best) < len(ranked):
        found.append(
            f"{len(best)} models may be the best ({_some(best)}). That the first of them stands on top of the "
            "list says nothing: with other items another would"
        )
    return found


def _set_of(row: LeaderboardRow, ranked: Sequence[LeaderboardRow]) -> str:
    """Say what a rank set is made of."""
    n = len([each for each in ranked if each.component == row.component])
    above, below = (row.rank_low or 1) - 1, n - (row.rank_high or n)
    level = n - 1 - above - below
    parts = [
        f"{_count(above)} shown to be better",
        f"{_count(below)} shown to be worse",
    ]
    rest = f", and {_count(level)} left open" if level else ", and none is left open"
    return f"The rank of {row.name} is {row.ranks}: of the other {plural(n - 1, 'model')}, {' and '.join(parts)}{rest}"


def _count(n: int) -> str:
    return "none is" if n == 0 else "one is" if n == 1 else f"{n} are"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


# --- pairs ---


def _pairs(result: Leaderboard) -> list[str]:
    compared = [pair for pair in result.pairs if pair.p_adjusted is not None]
    if not compared:
        return []
    apart = [pair for pair in compared if pair.separated]
    rate = percent(1 - result.conf_level)
    promise = (
        f"Of the pairs called separated, about {rate} are expected not to be; that is a weaker promise than none false"
        if result.adjust in ("bh", "by")
        else f"The chance that even one of the separated pairs is a false alarm is at most {rate}"
        if result.adjust in ("max-t", "holm", "bonferroni")
        else f"Nothing is adjusted for: of {len(compared)} pairs with no difference, about {rate} would be separated by luck"
    )
    found = [f"{len(apart)} of {plural(len(compared), 'pair')} can be told apart. {promise}"]
    hidden = next((pair for pair in apart if _overlap(pair, result)), None)
    if hidden is not None:
        ends = [_own(result.row(name), result) for name in (hidden.first, hidden.second)]
        found.append(
            f"The pair {hidden.first} and {hidden.second} is told apart though their own intervals, {ends[0]} and "
            f"{ends[1]}, overlap: both answered the same items, and only the difference on these counts"
        )
    return found


def _overlap(pair: PairRow, result: Leaderboard) -> bool:
    first, second = result.row(pair.first), result.row(pair.second)
    ends = (first.conf_low, first.conf_high, second.conf_low, second.conf_high)
    if any(end is None for end in ends):
        return False
    return max(first.conf_low or 0.0, second.conf_low or 0.0) <= min(first.conf_high or 0.0, second.conf_high or 0.0)


def _own(row: LeaderboardRow, result: Leaderboard) -> str:
    return interval(row.conf_low, row.conf_high, result.scale, 1)


def _winner(result: Leaderboard) -> list[str]:
    winner = result.winner
    if winner is None:
        return []
    shown = with_unit(winner.estimate, result.scale, result.score_unit)
    if winner.corrected is None:
        return [
            (
                f"The score of {winner.name}, {shown}, is the top one and was picked for it, so the score is too "
                f"high on average; it could not be corrected ({winner.reason})"
            ),
        ]
    corrected = with_unit(winner.corrected, result.scale, result.score_unit)
    ends = interval(winner.conf_low, winner.conf_high, result.scale)
    if corrected == shown:
        return [
            (
                f"The score of {winner.name}, {shown}, is the top one and was picked for it. Whoever is on top is there by "
                f"merit and by luck; here {nil_correction(winner)}, interval {ends}"
            ),
        ]
    return [
        (
            f"The score of {winner.name}, {shown}, is the top one and was picked for it. Whoever is on top is "
            "there by merit and by luck, so a rerun would be expected to show less; corrected for that the score "
            f"is {corrected}, interval {ends}"
        ),
    ]


def _changes(result: Leaderboard) -> list[str]:
    """Name the separated pair that is nearest to chance, and the open pair that is nearest to separation."""
    compared = [pair for pair in result.pairs if pair.p_adjusted is not None]
    apart = [pair for pair in compared if pair.separated]
    open_ = [pair for pair in compared if not pair.separated]
    found: list[str] = []
    if apart:
        weakest = max(apart, key=lambda pair: pair.p_adjusted or 0.0)
        found.append(
            f"The weakest claim is {_pair(weakest, result)}: adjusted p {p_value(weakest.p_adjusted)}. It would "
            "be the first to fall with other items"
        )
    if open_:
        nearest = min(open_, key=lambda pair: pair.p_adjusted or 1.0)
        found.append(
            f"The nearest miss is {_pair(nearest, result)}: adjusted p {p_value(nearest.p_adjusted)}. With more "
            "items it would be the first to show, if it is there"
        )
    return found


def _pair(pair: PairRow, result: Leaderboard) -> str:
    shown = with_unit(pair.estimate, result.scale, result.unit, sign=True)
    return f"{pair.first} against {pair.second} ({shown})"
