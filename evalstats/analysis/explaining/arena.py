"""A ranking of votes explained to somebody who is no statistician, with the ratings and pairs of this very one."""

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arenas.wording_answer import connection_sentences, headline
from evalstats.analysis.arenas.words import has_ranks, shared_word
from evalstats.analysis.explaining.arena_meaning import (
    how_of,
    ranks_mean,
    ratings_mean,
    slices_mean,
    style_mean,
    what_would_change,
)
from evalstats.analysis.explaining.words import described, section, sentence, sources_of
from evalstats.analysis.method_texts import texts_for
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import number, plural

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
            *section("What a rating means", ratings_mean(result)),
            *section("What the ranks mean", ranks_mean(result)),
            *section("What side and style mean", style_mean(result)),
            *section("By category and over time", slices_mean(result)),
            *section("What would change the conclusion", what_would_change(result)),
        ]
    return [*blocks, *sources_of(_methods(result))]


def _methods(result: ArenaRanking) -> list[str]:
    by = [result.categories.method] if result.categories is not None else []
    over = [result.drift.method] if result.drift is not None else []
    arena_ranks = ["arena upper bound"] if any(row.rank_arena is not None for row in result.rows) else []
    online = ["online Elo"] if any(row.online_elo is not None for row in result.rows) else []
    ranks = [result.rank_method] if has_ranks(result) else []
    names = [result.method, error_method(result), *ranks, *by, *over, *arena_ranks, *online]
    return [name for name in names if name]


def error_method(result: ArenaRanking) -> str:
    """Return what standard errors rest on, as the methods are named; "" where there are none."""
    if result.covariance is None and not any(row.std_error for row in result.rows):
        return ""
    names = " and ".join(shared_word(each.name) for each in result.clusters)
    return f"sandwich clustered by {names}" if names else "sandwich of single votes"


def _question(result: ArenaRanking) -> list[str]:
    return [
        (
            f"Which of {plural(result.n_models, 'model')} do the votes of {result.arena} prefer, and which of the ranks are "
            f"certain? The answer rests on {plural(result.n_votes, 'vote')} in which somebody saw two answers and said which is "
            "better, or that they are alike."
        ),
        f"What is estimated: {result.estimand.rstrip('.')}.",
    ]


def _method(result: ArenaRanking) -> list[str]:
    told = [f"Ratings: {result.method}, because {result.method_reason}. {how_of(described(result.method))}"]
    if not result.converged:
        return [*told, sentence(headline(result))]
    errors = error_method(result)
    if errors:
        told.append(f"Standard errors: {errors}. {how_of(described(errors))}")
    else:
        reason = result.rank_reason or next(
            (row.reason for row in result.rows if row.reason), "the votes allow for none"
        )
        told.append(f"There are no standard errors: {reason.rstrip('.')}.")
    if has_ranks(result):
        told.append(f"Ranks: {result.rank_method}. {how_of(texts_for(result.rank_method))}".strip())
    return told


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
        f"{each.n_levels:,} of {shared_word(each.name)}, worth {number(each.effective, 0)} equal ones"
        for each in result.clusters
    )
    large = [each for each in result.clusters if each.largest > _LARGE]
    one = (
        f". One {shared_word(large[0].name)} alone gave {number(100 * large[0].largest, 0)}% of the votes"
        if large
        else ""
    )
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
    warned = [line for line in result.checks if line.status == "warning"]
    told = [f"{line.title}: {line.finding}" for line in warned[:_CHECKS]]
    more = len(warned) - len(told)
    return [*told, f"{plural(more, 'further check')} {'warns' if more == 1 else 'warn'} too"] if more > 0 else told
