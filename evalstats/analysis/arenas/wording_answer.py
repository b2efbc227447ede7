"""The answer to "whom do live users prefer?" in sentences: who may be the best, what is certain, what it hangs on."""

from collections.abc import Sequence

from evalstats.analysis.arena.check_result import VoteGraph
from evalstats.analysis.arena.result import Alternative, ArenaRanking, ClusterCount, RatingRow
from evalstats.analysis.arenas.words import (
    apart,
    compared,
    has_ranks,
    level,
    parts,
    points,
    ranked,
    shared_word,
    some,
    stopped,
    unit_of,
    whole,
)
from evalstats.document.blocks import Tone
from evalstats.document.numbers import number, plural

_NO_RANKS, _NOT_CONVERGED, _IN_PARTS, _ONE, _OPEN = (
    "no ranks",
    "not converged",
    "no rank over all",
    "one best",
    "best open",
)
_TIES = {
    "half": "A tie counts as half a win for either",
    "davidson": "Ties are an outcome of their own (Davidson)",
    "rao-kupper": "Ties are votes in which no model is ahead by a threshold (Rao and Kupper)",
}
# Below this share of their number, unequal clusters are said to be worth fewer.
_UNEQUAL = 0.9
# From this ratio on, errors that ignore what votes share are called too small.
_HIDES = 1.1
_PARTS = 5
_CHOICES = 8
_WARNINGS = 6
_NAMES = ("Davidson", "Rao", "Elo")


def answer_label(result: ArenaRanking) -> str:
    """Return the answer in two or three words."""
    if not result.converged:
        return _NOT_CONVERGED
    if not has_ranks(result):
        return _NO_RANKS
    if not whole(result):
        return _IN_PARTS
    return _ONE if len(result.best()) == 1 and len(ranked(result)) == len(result.rows) else _OPEN


def answer_tone(result: ArenaRanking) -> Tone:
    """Return the tone of the answer."""
    label = answer_label(result)
    return "good" if label == _ONE else "caution" if label == _OPEN else "bad"


def headline(result: ArenaRanking) -> str:
    """Return the answer in one sentence without its full stop."""
    label = answer_label(result)
    if label == _NOT_CONVERGED:
        return "The fit of ratings did not converge, so nothing follows from its numbers"
    if label == _NO_RANKS:
        reason = result.rank_reason or next((row.rank_reason for row in result.rows if row.rank_reason), None)
        return f"No rank can be told: {(reason or 'the votes leave every rank open').rstrip('.')}"
    if label == _IN_PARTS:
        return _in_parts(result)
    best, among = result.best(), ranked(result)
    if len(among) < len(result.rows):
        left = len(result.rows) - len(among)
        return f"{_best_of(among)}; {plural(left, 'model')} {'has' if left == 1 else 'have'} no rank, so the best of all is open"
    if len(best) == 1:
        return f"{best[0]} is the best of {len(among)}: every other model is shown to be weaker"
    return _best_of(among)


def _best_of(rows: Sequence[RatingRow]) -> str:
    """Say who may be the best of some models."""
    best = [row.name for row in rows if row.may_be_best]
    if len(best) == 1:
        return f"{best[0]} is the best of the {len(rows)} that have a rank"
    if len(best) == len(rows):
        return f"Any of the {len(rows)} models may be the best: the votes do not tell"
    return f"{len(best)} of {len(rows)} models may be the best, the votes do not tell which: {some(best)}"


def _in_parts(result: ArenaRanking) -> str:
    """Say that there is no ranking over all, and why."""
    found = parts(result)
    return (
        f"There is no ranking over all {len(result.rows)} models: the votes leave them in {plural(len(found), 'part')}, and how "
        "far one part lies above another cannot be told"
    )


def standing_sentences(result: ArenaRanking) -> list[str]:
    """Say what the answer rests on, how much of it is certain, and what it hangs on."""
    said = [votes_sentence(result)]
    if not result.converged:
        return said
    said.extend(_certain(result))
    said.extend(best_of_parts(result))
    said.append(sharing_sentence(result))
    said.extend(choices_sentences(result))
    said.extend(checks_sentence(result))
    return said


def checks_sentence(result: ArenaRanking) -> list[str]:
    """Name the checks that warn, out of those that could be run."""
    looked = [line for line in result.checks if line.status != "not run"]
    lines = [line for line in looked if line.status != "limit"]
    warned = [in_a_sentence(line.title) for line in lines if line.status == "warning"]
    if not warned:
        return []
    if len(lines) == 1:
        return [f"The one check that was run warns: {warned[0]}."]
    warn = "warns" if len(warned) == 1 else "warn"
    return [f"{len(warned)} of {plural(len(lines), 'check')} {warn}: {some(warned, _WARNINGS)}."]


def votes_sentence(result: ArenaRanking) -> str:
    """Count the votes by what they say."""
    kinds = [plural(result.n_ties, "tie"), f"{result.n_both_bad:,} in which both were bad"]
    shown = [text for text, n in zip(kinds, (result.n_ties, result.n_both_bad), strict=True) if n]
    of = f": {result.n_decided:,} for one model, {' and '.join(shown)}" if shown else ", each for one of two models"
    left = f" {plural(result.n_unscored, 'further vote')} had no outcome." if result.n_unscored else ""
    events = f" in {plural(result.n_events or 0, 'event')}" if result.n_events not in (None, result.n_votes) else ""
    return f"{plural(result.n_votes, 'vote')}{events} between {plural(result.n_models, 'model')}{of}.{left}"


def _certain(result: ArenaRanking) -> list[str]:
    rows, pairs = ranked(result), compared(result)
    if not has_ranks(result):
        return []
    certain = sum(row.rank_low == row.rank_high for row in rows)
    are, part = "are" if certain > 1 else "is", "" if whole(result) else "of a part "
    held = f"all rank sets {part}together hold the true ranks with {level(result)} confidence"
    n = f"{certain:,}" if certain else "None"
    said = [f"{n} of {plural(len(rows), 'rank')} {are} certain; {held}."]
    if pairs:
        shown = len(apart(pairs))
        n = f"{shown:,}" if shown else "None"
        said.append(f"{n} of {plural(len(pairs), 'pair')} {'are' if shown > 1 else 'is'} separated.")
    return said


def best_of_parts(result: ArenaRanking) -> list[str]:
    """Say of each part of several who may be the best of it."""
    if whole(result) or not has_ranks(result):
        return []
    said: list[str] = []
    for number_, rows in enumerate(parts(result), start=1):
        best = [row.name for row in rows if row.may_be_best]
        if len(rows) > 1 and best:
            open_ = "is the best" if len(best) == 1 else "may be the best"
            said.append(f"In part {rows[0].component or number_} ({plural(len(rows), 'model')}) {some(best)} {open_}.")
    return said if len(said) <= _PARTS else [*said[:_PARTS], f"{len(said) - _PARTS} further parts are in the table."]


def sharing_sentence(result: ArenaRanking) -> str:
    """Say what votes share, and how much less that makes them worth."""
    if not result.clusters:
        return (
            "Every vote counts as independent of all others: where one person votes often, or many vote on one prompt, the "
            "intervals are too short."
        )
    told = "; ".join(_cluster(each) for each in result.clusters)
    names = " or ".join(shared_word(each.name) for each in result.clusters)
    return f"Votes with the same {names} are not taken as independent ({told}).{_ratio(result)}"


def _ratio(result: ArenaRanking) -> str:
    """Say how far errors would be off that count every vote by itself."""
    ratio = result.vote_level_ratio
    if ratio is None:
        return ""
    if ratio < _HIDES:
        return f" The standard error of a difference is {number(ratio)} times that which counts every vote by itself (median)."
    return (
        f" Counting every vote by itself, as live arenas do, would make the standard error of a difference {number(ratio)} times "
        "too small (median)."
    )


def _cluster(each: ClusterCount) -> str:
    worth = f", worth {number(each.effective, 0)} equal ones" if each.effective < _UNEQUAL * each.n_levels else ""
    return f"{shared_word(each.name)}: {each.n_levels:,}{worth}"


# --- what the answer hangs on ---


def choices_sentences(result: ArenaRanking) -> list[str]:
    """Say how the answer depends on ties, both-bad votes, style and weights: what changes, or that nothing does."""
    known = [each for each in result.alternatives if each.reason is None and any(each.ratings)]
    turned = [each for each in known if each.new_first is not None]
    rest = [each for each in known if each.new_first is None]
    said = [f"Under another choice ({in_a_sentence(each.title)}) {each.new_first} is rated first." for each in turned]
    return [*said, _same_first(rest, result, others=bool(turned))] if rest else said


def _same_first(rest: Sequence[Alternative], result: ArenaRanking, *, others: bool) -> str:
    """Say of choices that leave the first model where it is how much they move."""
    names = some([in_a_sentence(each.title) for each in rest], _CHOICES)
    who = ("The other choices" if others else "Other choices") if len(rest) > 1 else "Another choice"
    said = [f"{who} ({names}) {_verb('leave', rest)} the same model rated first"]
    moves = [abs(each.largest_move) for each in rest if each.largest_move is not None]
    if moves:
        said.append(f"{_verb('move', rest)} ratings by at most {points(max(moves), result).lstrip('+')}")
    swaps = max(each.n_swaps for each in rest)
    told = f"at most {plural(swaps, 'pair')}" if swaps else "no pair"
    said.append(f"{_verb('turn', rest)} {told} round")
    return f"{', '.join(said[:-1])}{',' if len(said) > 2 else ''} and {said[-1]}."


def _verb(verb: str, subjects: Sequence[object]) -> str:
    return f"{verb}s" if len(subjects) == 1 else verb


def in_a_sentence(title: str) -> str:
    """Write a title inside a sentence: small, unless it begins with somebody's name.

    Examples
    --------
    >>> in_a_sentence("Ties as half wins"), in_a_sentence("Davidson's ties")
    ('ties as half wins', "Davidson's ties")
    """
    return title if title.startswith(_NAMES) else title[:1].lower() + title[1:]


def ties_sentence(result: ArenaRanking) -> str:
    """Say what is done with ties."""
    tie = f", parameter {number(result.tie_parameter)}" if result.tie_parameter is not None else ""
    return f"{_TIES[result.ties]}{tie}"


# --- existence ---


def connection_sentences(result: ArenaRanking) -> list[str]:
    """Say how the votes tie the models together, and why some ratings do not exist."""
    graph = result.graph
    if graph is None:
        return []
    said: list[str] = []
    if not graph.connected:
        said.append(
            f"Ratings exist only inside a part in which every model beat every other, directly or by a chain; the "
            f"{graph.n_models} models fall into {plural(len(graph.components), 'part')}"
        )
        if result.prior > 0 and whole(result):
            said.append(
                f"That all models are on one scale all the same is due to the prior ({number(result.prior, 1)} added wins and "
                "losses each), not to votes"
            )
    if len(graph.islands) > 1:
        said.append(f"Between {len(graph.islands)} groups there is no vote at all")
    said.extend(_extremes(graph))
    met = graph.n_pairs_met
    if met < graph.n_pairs:
        share = number(100 * met / graph.n_pairs, 0)
        said.append(
            f"{met:,} of {plural(graph.n_pairs, 'pair')} ({share}%) met directly; others are compared by chains"
        )
    return [stopped(text) for text in said]


def _extremes(graph: VoteGraph) -> list[str]:
    said: list[str] = []
    if graph.unbeaten:
        said.append(f"Without any loss or tie, so that no finite rating is high enough: {some(graph.unbeaten)}")
    if graph.winless:
        said.append(f"Without any win or tie, so that no finite rating is low enough: {some(graph.winless)}")
    if graph.few_votes:
        few = sorted(graph.few_votes, key=lambda pair: pair[1])
        said.append(f"Fewer than 10 votes: {some([f'{name} ({n})' for name, n in few])}")
    return said


def rating_words(result: ArenaRanking) -> str:
    """Say what a rating is counted from, and in what."""
    mean = "the mean of all models" if whole(result) else "the mean of each part"
    against = mean if result.anchor is None else result.anchor
    if result.scale == "elo":
        return f"ratings in {unit_of(result)}, against {against}; a lead of 400 means 10 wins to 1"
    return f"ratings in {unit_of(result)}, against {against}"
