"""What the ratings, ranks and pairs of a ranking of votes mean, and what would change them."""

from collections.abc import Sequence

from evalstats.analysis.arena.result import ArenaRanking, PairContrast, RatingRow, VoteCovariate
from evalstats.analysis.arenas.wording_answer import in_a_sentence
from evalstats.analysis.arenas.wording_tables import more_votes, own_clusters, percent
from evalstats.analysis.arenas.words import apart, compared, has_ranks, level, points, ranked, some, unit_of, whole
from evalstats.analysis.explaining.words import described
from evalstats.analysis.explaining.words import percent as level_of
from evalstats.analysis.method_texts import MethodText, texts_for
from evalstats.document.numbers import p_value, plural


def how_of(texts: Sequence[MethodText]) -> str:
    """Say how some methods work, one after the other."""
    return " ".join(text.how for text in texts)


def ratings_mean(result: ArenaRanking) -> list[str]:
    """Say what a rating and a lead mean, with a pair of this ranking."""
    pair = _telling_pair(result)
    against = "the mean of all models" if result.anchor is None else result.anchor
    inside = "" if whole(result) else " inside its part"
    found = [f"A rating counts from {against}{inside}, in {unit_of(result)}. Only differences of ratings say anything"]
    if result.scale == "elo":
        found.append("A lead of 100 Elo points means about 64 wins in 100 decided votes, 200 about 76, 400 about 91")
    if pair is not None:
        ends = f" (from {percent(pair.win_low)} to {percent(pair.win_high)})" if pair.win_low is not None else ""
        found.append(
            f"The lead of {pair.first} over {pair.second} is {points(abs(pair.estimate or 0.0), result).lstrip('+')}: of users "
            f"who decide between the two, about {percent(pair.win_probability)} would take {pair.first}{ends}"
        )
    if any(row.conf_low is not None for row in result.rows):
        found.append(
            f"The interval of a rating is for that one against {result.anchor or 'the mean'}. Whether two models differ cannot "
            "be read off whether their intervals overlap; the pairs say it"
        )
    if any(row.online_elo is not None for row in result.rows):
        found.append(f"Online Elo stands beside: {how_of(described('online Elo'))}")
    return found


def _telling_pair(result: ArenaRanking) -> PairContrast | None:
    """Return the first pair of the table with a lead."""
    return next(
        (pair for pair in result.pairs if pair.win_probability is not None and (pair.estimate or 0.0) > 0), None
    )


def ranks_mean(result: ArenaRanking) -> list[str]:
    """Say what a rank set is, with models of this ranking, and what the arena's own rank is."""
    rows = ranked(result)
    if not has_ranks(result):
        return [result.rank_reason or "The votes leave every rank open"]
    certain = sum(row.rank_low == row.rank_high for row in rows)
    are = "are" if certain > 1 else "is"
    held = f"All sets together hold the true ranks with {level(result)} confidence"
    found = [
        f"{certain or 'None'} of {plural(len(rows), 'rank')} {are} certain. {held}, so any one of them may be quoted",
        _set_of(rows[0], rows),
    ]
    widest = max(rows, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0))
    if widest is not rows[0] and widest.rank_low != widest.rank_high:
        found.append(_set_of(widest, rows))
    best = result.best()
    if whole(result) and 1 < len(best) < len(rows):
        found.append(
            f"{len(best)} models may be the best ({some(best)}). That the first of them stands on top of the list says nothing: "
            "with other votes another would"
        )
    return [*found, *_arena_rank(rows)]


def _set_of(row: RatingRow, rows: Sequence[RatingRow]) -> str:
    """Say what a rank set is made of."""
    n = sum(each.component == row.component for each in rows)
    above, below = (row.rank_low or 1) - 1, n - (row.rank_high or n)
    left = n - 1 - above - below
    rest = f", and {left} left open" if left else ", and none is left open"
    return (
        f"The rank of {row.name} is {row.ranks}: of the other {plural(n - 1, 'model')}, {_count(above)} shown to be better and "
        f"{_count(below)} shown to be weaker{rest}"
    )


def _count(n: int) -> str:
    return "none is" if n == 0 else "one is" if n == 1 else f"{n} are"


def _arena_rank(rows: Sequence[RatingRow]) -> list[str]:
    """Say how the arena's own rank is made, with a model for which it says more than the votes do."""
    known = [row for row in rows if row.rank_arena is not None]
    if not known:
        return []
    text = f"The rank that live arenas print stands beside. {how_of(described('arena upper bound'))}"
    widest = max(known, key=lambda row: (row.rank_high or 0) - (row.rank_arena or 0))
    if (widest.rank_high or 0) > (widest.rank_arena or 0):
        text += f" {widest.name} has {widest.rank_arena} there, and the votes leave {widest.ranks} open"
    return [text]


def style_mean(result: ArenaRanking) -> list[str]:
    """Say what goes with being preferred beside the model, where it has an interval."""
    shown = [row for row in result.covariates if row.conf_low is not None and row.conf_high is not None]
    if not shown:
        return []
    found = [_covariate(row, result) for row in shown]
    if any(row.name != "side" for row in shown):
        found.append(
            "Nothing of this is a cause: models that write longer may be better in ways that length only goes along with. Held "
            "equal, style asks another question, not a truer one"
        )
    return found


def slices_mean(result: ArenaRanking) -> list[str]:
    """Say how ratings by category and over time were told apart from noise."""
    found: list[str] = []
    by, over = result.categories, result.drift
    if by is not None and by.reason is None:
        found.append(
            f"The rating of a model in one level of {by.by} is drawn towards its overall one, by as much as noise makes likely: "
            "where few votes say that it departs, it hardly does here. How far that goes is estimated from all levels together"
        )
        if by.p_value is not None:
            found.append(
                f"Whether models stand differently at all (p {p_value(by.p_value)}): {how_of(texts_for(by.method)[:1])}"
            )
    if over is not None and over.p_value is not None:
        found.append(
            f"Whether ratings change over time (p {p_value(over.p_value)}): {how_of(texts_for(over.method)[:1])}"
        )
    return found


def _covariate(row: VoteCovariate, result: ArenaRanking) -> str:
    clear = (row.conf_low or 0.0) > 0 or (row.conf_high or 0.0) < 0
    worth = f", worth {points(abs(row.points), result).lstrip('+')}" if row.points is not None else ""
    if row.name == "side":
        if not clear:
            return f"That answers on one side are preferred for their place is not shown (p {p_value(row.p_value)})"
        which = "first" if row.estimate > 0 else "second"
        return f"Between equal models the {which} side is preferred (p {p_value(row.p_value)}{worth})"
    if not clear:
        return f"That {row.name} goes with being preferred is not shown (p {p_value(row.p_value)})"
    more = "more" if row.estimate > 0 else "less"
    return f"Answers with {more} of {row.name} are preferred (p {p_value(row.p_value)}{worth} for a usual difference)"


# --- what would change it ---


def what_would_change(result: ArenaRanking) -> list[str]:
    """Name what would turn first: the weakest claim, the nearest miss, another choice, a few votes."""
    pairs = compared(result)
    shown = apart(pairs)
    judged = [pair for pair in shown if pair.p_adjusted is not None]
    open_ = [pair for pair in pairs if pair.verdict == "not separated" and pair.p_adjusted is not None]
    found: list[str] = []
    if pairs:
        n = f"{len(shown):,}" if shown else "None"
        found.append(
            f"{n} of {plural(len(pairs), 'pair')} can be told apart. The chance that even one of them is a false alarm is at "
            f"most {level_of(1 - result.conf_level)}, as far as the assumptions hold"
        )
    if judged:
        weakest = max(judged, key=lambda pair: pair.p_adjusted or 0.0)
        found.append(
            f"The weakest claim is {_named(weakest, result)}: adjusted p {p_value(weakest.p_adjusted)}. It would be the first to "
            "fall with other votes"
        )
    if open_:
        nearest = min(open_, key=lambda pair: pair.p_adjusted or 1.0)
        votes = _votes_for(nearest, result)
        found.append(f"The nearest miss is {_named(nearest, result)}: adjusted p {p_value(nearest.p_adjusted)}.{votes}")
    return [*found, *_other_choices(result), *_few_votes(result)]


def _votes_for(pair: PairContrast, result: ArenaRanking) -> str:
    """Say what it would take to separate an open pair."""
    if not pair.more_votes:
        return ""
    needed = f"{more_votes(pair)} more {'vote' if pair.more_votes == 1 else 'votes'}"
    return (
        f" If the difference is as estimated, about {needed} between the two{own_clusters(result)} would show it with 80% "
        "probability"
    )


def _named(pair: PairContrast, result: ArenaRanking) -> str:
    ahead, behind = (pair.first, pair.second) if (pair.estimate or 0.0) >= 0 else (pair.second, pair.first)
    return f"{ahead} over {behind} ({points(abs(pair.estimate or 0.0), result)})"


def _other_choices(result: ArenaRanking) -> list[str]:
    turned = [each for each in result.alternatives if each.reason is None and each.new_first is not None]
    return [
        f"Another choice: {in_a_sentence(each.title)} ({each.why}). Then {each.new_first} would be rated first, which is no "
        "verdict by itself"
        for each in turned
    ]


def _few_votes(result: ArenaRanking) -> list[str]:
    flip = None if result.trust is None else result.trust.flip
    if flip is None or flip.n_votes is None or not flip.confirmed:
        return []
    share = f" ({percent(flip.share)} of all)" if flip.share is not None else ""
    chosen = (
        f"Without {plural(flip.n_votes, 'vote')}{share}, chosen for it, {flip.second} would be rated above {flip.first}"
    )
    return [f"{chosen}. That is how few it takes, not how likely it is"]
