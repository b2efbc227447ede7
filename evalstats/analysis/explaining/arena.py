"""A ranking of votes explained to somebody who is no statistician, with the ratings and pairs of this very one."""

from collections.abc import Sequence

from evalstats.analysis.arenas.results import ArenaRanking, PairContrast, RatingRow, VoteCovariate
from evalstats.analysis.arenas.wording_answer import connection_sentences, headline, in_a_sentence
from evalstats.analysis.arenas.wording_tables import more_votes, percent
from evalstats.analysis.arenas.words import (
    apart,
    compared,
    has_ranks,
    level,
    points,
    ranked,
    some,
    unit_of,
    whole,
)
from evalstats.analysis.explaining.method_text import MethodText
from evalstats.analysis.explaining.method_texts import texts_for
from evalstats.analysis.explaining.words import described, section, sentence, sources_of
from evalstats.analysis.explaining.words import percent as level_of
from evalstats.display.blocks import Block, Heading, Paragraph
from evalstats.display.numbers import number, p_value, plural

_CHECKS = 4
_LARGE = 0.05


def explain_arena(result: ArenaRanking) -> list[Block]:
    """Return the explanation: question, method, assumptions, what ratings, ranks and style mean, what would change it."""
    blocks: list[Block] = [
        Heading(
            text=f"{plural(result.n_models, 'model')} by the votes of {result.arena}: what this ranking says", level=1
        ),
        Heading(text="What was asked", level=2),
        *(Paragraph(text=text) for text in _question(result)),
        Heading(text="How it was answered", level=2),
        *(Paragraph(text=text) for text in _method(result)),
        *section("What this takes for granted, and how it could fail here", _assumptions(result)),
    ]
    if result.converged:
        blocks += [
            *section("What a rating means", _ratings(result)),
            *section("What the ranks mean", _ranks(result)),
            *section("What side and style mean", _style(result)),
            *section("What would change the conclusion", _changes(result)),
        ]
    return [*blocks, *sources_of(_methods(result))]


def _methods(result: ArenaRanking) -> list[str]:
    by = [result.categories.method] if result.categories is not None else []
    over = [result.drift.method] if result.drift is not None else []
    arena_ranks = ["arena upper bound"] if any(row.rank_arena is not None for row in result.rows) else []
    online = ["online Elo"] if any(row.online_elo is not None for row in result.rows) else []
    names = [result.method, error_method(result), result.rank_method, *by, *over, *arena_ranks, *online]
    return [name for name in names if name]


def error_method(result: ArenaRanking) -> str:
    """Return what standard errors rest on, as the methods are named; "" where there are none."""
    if result.covariance is None and not any(row.std_error for row in result.rows):
        return ""
    names = " and ".join(each.name for each in result.clusters)
    return f"sandwich clustered by {names}" if names else "sandwich of single votes"


def _question(result: ArenaRanking) -> list[str]:
    return [
        (
            f"Which of {plural(result.n_models, 'model')} do the users of {result.arena} prefer, and which of the ranks are "
            f"certain? The answer rests on {plural(result.n_votes, 'vote')} in which somebody saw two answers and said which is "
            "better, or that they are alike."
        ),
        f"What is estimated: {result.estimand.rstrip('.')}.",
    ]


def _method(result: ArenaRanking) -> list[str]:
    told = [f"Ratings: {result.method}, because {result.method_reason}. {_how(described(result.method))}"]
    if not result.converged:
        return [*told, sentence(headline(result))]
    errors = error_method(result)
    if errors:
        told.append(f"Standard errors: {errors}. {_how(described(errors))}")
    else:
        reason = result.rank_reason or next(
            (row.reason for row in result.rows if row.reason), "the votes allow for none"
        )
        told.append(f"There are no standard errors: {reason.rstrip('.')}.")
    if has_ranks(result):
        told.append(f"Ranks: {result.rank_method}. {_how(texts_for(result.rank_method))}".strip())
    return told


def _how(texts: Sequence[MethodText]) -> str:
    return " ".join(text.how for text in texts)


# --- what is taken for granted ---


def _assumptions(result: ArenaRanking) -> list[str]:
    texts = [text for name in (result.method, error_method(result)) if name for text in described(name)]
    takes = list(dict.fromkeys(text.takes for text in texts if text.takes))
    found = [_independence(result), *takes, *_connections(result), *_left_out(result), *_prior(result)]
    found.append(
        "Those who vote are whoever came, with what they asked: other users, with other wishes, could prefer otherwise, and no "
        "interval here covers that"
    )
    return [*found, *_warned(result)]


def _independence(result: ArenaRanking) -> str:
    if not result.clusters:
        return "Every vote is taken as independent of every other, though one person may have given many"
    told = "; ".join(
        f"{each.n_levels:,} of {each.name}, worth {number(each.effective, 0)} equal ones" for each in result.clusters
    )
    large = [each for each in result.clusters if each.largest > _LARGE]
    one = f". One {large[0].name} alone gave {number(100 * large[0].largest, 0)}% of the votes" if large else ""
    return f"Votes that share nothing of these are taken as independent: {told}{one}"


def _connections(result: ArenaRanking) -> list[str]:
    graph = result.graph
    if graph is None or (graph.connected and len(graph.islands) <= 1):
        return []
    return connection_sentences(result)


def _left_out(result: ArenaRanking) -> list[str]:
    if not result.n_unscored:
        return []
    why = "; ".join(f"{reason} ({n:,})" for reason, n in result.unscored_reasons[:_CHECKS])
    told = f", {why}" if why else ""
    return [f"{plural(result.n_unscored, 'vote')} without an outcome are left out, as if they were like the rest{told}"]


def _prior(result: ArenaRanking) -> list[str]:
    if result.prior <= 0:
        return []
    wins = number(result.prior, 1)
    return [
        f"Every model was given {wins} wins and {wins} losses that nobody voted for; with few votes the rating leans on them"
    ]


def _warned(result: ArenaRanking) -> list[str]:
    """Repeat the findings of the checks that warn: each is a way in which this ranking could be wrong."""
    warned = [line for line in result.checks if line.status == "warning" and line.check != "connected"]
    told = [f"{line.title}: {line.finding}" for line in warned[:_CHECKS]]
    more = len(warned) - len(told)
    return [*told, f"{plural(more, 'further check')} {'warns' if more == 1 else 'warn'} too"] if more > 0 else told


# --- what the numbers mean ---


def _ratings(result: ArenaRanking) -> list[str]:
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
            "The interval of a rating is for that one against the mean. Whether two models differ cannot be read off whether "
            "their intervals overlap; the pairs say it"
        )
    if any(row.online_elo is not None for row in result.rows):
        found.append(f"Online Elo stands beside: {_how(described('online Elo'))}")
    return found


def _telling_pair(result: ArenaRanking) -> PairContrast | None:
    """Return the first pair of the table with a lead."""
    return next(
        (pair for pair in result.pairs if pair.win_probability is not None and (pair.estimate or 0.0) > 0), None
    )


def _ranks(result: ArenaRanking) -> list[str]:
    rows = ranked(result)
    if not has_ranks(result):
        return [result.rank_reason or "The votes leave every rank open"]
    certain = sum(row.rank_low == row.rank_high for row in rows)
    found = [
        (
            f"{certain} of {plural(len(rows), 'rank')} {'is' if certain == 1 else 'are'} certain. All sets together hold the "
            f"true ranks with {level(result)} confidence, so any one of them may be quoted, and so may the one that looks best"
        ),
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
    text = f"The rank that live arenas print stands beside. {_how(described('arena upper bound'))}"
    widest = max(known, key=lambda row: (row.rank_high or 0) - (row.rank_arena or 0))
    if (widest.rank_high or 0) > (widest.rank_arena or 0):
        text += f" {widest.name} has {widest.rank_arena} there, and the votes leave {widest.ranks} open"
    return [text]


def _style(result: ArenaRanking) -> list[str]:
    shown = [row for row in result.covariates if row.conf_low is not None and row.conf_high is not None]
    if not shown:
        return []
    found = [_covariate(row, result) for row in shown]
    if any(row.name != "side" for row in shown):
        found.append(
            "None of this is a cause: models that write longer may be better in ways that length only goes along with. Held "
            "equal, style asks another question, not a truer one"
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


def _changes(result: ArenaRanking) -> list[str]:
    """Name what would turn first: the weakest claim, the nearest miss, another choice, a few votes."""
    pairs = [pair for pair in compared(result) if pair.p_adjusted is not None]
    shown = apart(pairs)
    open_ = [pair for pair in pairs if pair.verdict == "not separated"]
    found: list[str] = []
    if pairs:
        found.append(
            f"{len(shown):,} of {plural(len(pairs), 'pair')} can be told apart. The chance that even one of them is a false "
            f"alarm is at most {level_of(1 - result.conf_level)}, as far as the assumptions hold"
        )
    if shown:
        weakest = max(shown, key=lambda pair: pair.p_adjusted or 0.0)
        found.append(
            f"The weakest claim is {_named(weakest, result)}: adjusted p {p_value(weakest.p_adjusted)}. It would be the first to "
            "fall with other votes"
        )
    if open_:
        nearest = min(open_, key=lambda pair: pair.p_adjusted or 1.0)
        votes = (
            f" About {more_votes(nearest)} more votes between the two would show it, if it is so"
            if nearest.more_votes
            else ""
        )
        found.append(f"The nearest miss is {_named(nearest, result)}: adjusted p {p_value(nearest.p_adjusted)}.{votes}")
    return [*found, *_other_choices(result), *_few_votes(result)]


def _votes_for(pair: PairContrast) -> str:
    """Say what it would take to separate an open pair."""
    if not pair.more_votes:
        return ""
    return (
        f" If the difference is as estimated, about {more_votes(pair)} more votes between the two would show it with 80% "
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
