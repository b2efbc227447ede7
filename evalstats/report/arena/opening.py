"""What a reader of the page of an arena sees first: who may be the best, what is certain, what not to conclude."""

from evalstats.analysis.arena.result import ArenaRanking, ClusterCount
from evalstats.analysis.arenas.wording_answer import answer_label, answer_tone, headline, in_a_sentence
from evalstats.analysis.arenas.words import (
    apart,
    compared,
    has_ranks,
    level,
    ranked,
    shared_word,
    some,
    stopped,
    whole,
)
from evalstats.document.blocks import Tone
from evalstats.document.numbers import number, plural
from evalstats.report.arena.page import ArenaPage
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.callouts import departures_callout, simulated_callout, undeparted, warnings_callout
from evalstats.report.markup import linked, metadata, prose, sentence

_SIGNS: dict[Tone, str] = {"good": "✓", "caution": "?", "bad": "×", "neutral": "?"}
_NAMED_CHECKS = 3


def title(page: ArenaPage) -> str:
    """Return the question as the document's title."""
    found = page.found
    return metadata(
        title=prose(f"Whom do the votes of {found.arena} prefer?"),
        subtitle=prose(f"{plural(found.n_models, 'model')}, {plural(found.n_votes, 'vote')} between two of them"),
    )


def simulated(page: ArenaPage) -> str:
    """Return a callout where the votes are simulated; nothing where they are not."""
    return simulated_callout(page.found.notes, "votes")


def departures(page: ArenaPage) -> str:
    """Return a callout where the result departs from the plan that was declared; nothing where it does not."""
    return departures_callout(page.found.plan)


def verdict(page: ArenaPage) -> str:
    """Return the banner: the answer in three sentences, and what not to conclude from it."""
    found = page.found
    tone, label = answer_tone(found), answer_label(found)
    sign = _SIGNS.get(tone, "?")
    amount, range_words = headline_number(found)
    return verdict_banner(
        label=f"{label[:1].upper()}{label[1:]}",
        sign=sign,
        tone=tone,
        answer=stopped(headline(found)),
        why=" ".join(text for text in (certain_sentence(found), reliance_sentence(found)) if text),
        meaning=not_to_conclude(found),
        amount=amount,
        range_words=range_words,
    )


def headline_number(found: ArenaRanking) -> tuple[str, str]:
    """Return how many models may be the best, as it is shown large, and its words; nothing where that cannot be told."""
    if not has_ranks(found) or not whole(found):
        return "", ""
    n, among = len(found.best()), len(ranked(found))
    return f"{n} of {among}", "models is the best" if n == 1 else "models may be the best"


def certain_sentence(found: ArenaRanking) -> str:
    """Say how many ranks are certain and how many pairs are separated."""
    rows, pairs = ranked(found), compared(found)
    if not has_ranks(found) or not pairs:
        return ""
    certain = sum(row.rank_low == row.rank_high for row in rows)
    n = f"{certain:,}" if certain else "None"
    apart_ = len(apart(pairs))
    return (
        f"{n} of {plural(len(rows), 'rank')} {'are' if certain > 1 else 'is'} certain, and {apart_:,} of "
        f"{plural(len(pairs), 'pair')} of models {'is' if apart_ == 1 else 'are'} separated ({level(found)}, all together)."
    )


def reliance_sentence(found: ArenaRanking) -> str:
    """Say whether another choice puts another model first, and how many checks of the votes warn."""
    if not found.converged:
        return ""
    parts = [part for part in (_choices(found), _checks(found)) if part]
    return sentence(", and ".join(parts))


def _choices(found: ArenaRanking) -> str:
    known = [each for each in found.alternatives if each.reason is None and any(v is not None for v in each.ratings)]
    turned = [each for each in known if each.new_first is not None]
    if turned:
        first, rest = turned[0], len(turned) - 1
        more = f", as do {plural(rest, 'further choice')} another" if rest else ""
        return f"another choice ({in_a_sentence(first.title)}) rates {first.new_first} first{more}"
    return f"the same model is rated first under {plural(len(known), 'other choice')}" if known else ""


def _checks(found: ArenaRanking) -> str:
    if not were_checked(found):
        return "whether the votes can be trusted was not looked at"
    run = [line for line in found.checks if line.status not in {"limit", "not run"}]
    warned = [in_a_sentence(line.title) for line in run if line.status == "warning"]
    if not warned:
        return f"none of the {plural(len(run), 'check')} that could be run warns" if run else "no check could be run"
    names = some(warned, _NAMED_CHECKS)
    return f"{len(warned)} of {plural(len(run), 'check')} {'warns' if len(warned) == 1 else 'warn'}: {names}"


def were_checked(found: ArenaRanking) -> bool:
    """Whether more was looked at than how the votes connect the models, which always is."""
    return any(line.check != "connected" for line in found.checks)


def not_to_conclude(found: ArenaRanking) -> str:
    """Say what the answer must not be taken for."""
    rows = ranked(found)
    first = "that a model rated higher is the better one"
    if has_ranks(found):
        settled = all(row.rank_low == row.rank_high for row in rows)
        first = "that a certain difference is a large one" if settled else "that the order of the lines is a ranking"
    said = [
        first,
        "that a model which is preferred is right more often",
        "or that other users, on other prompts, prefer the same",
    ]
    if not whole(found):
        said.insert(1, "that ratings of different parts can be compared")
    return f"Not to conclude: {', '.join(said)}. What is estimated: {found.estimand.rstrip('.')}."


def facts(page: ArenaPage) -> str:
    """Return the strip of key facts: what the answer rests on."""
    return fact_strip(key_facts(page.found))


def key_facts(found: ArenaRanking) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    met = "" if found.graph is None else f"{found.graph.n_pairs_met:,} of {plural(found.graph.n_pairs, 'pair')} met"
    facts = [
        ("Models", f"{found.n_models:,}", met),
        ("Votes", f"{found.n_votes:,}", f"{found.n_decided:,} for one of the two"),
    ]
    if found.n_ties or found.n_both_bad:
        bad = f"{found.n_both_bad:,} of them both bad" if found.n_both_bad else ""
        facts.append(("Ties", f"{found.n_ties + found.n_both_bad:,}", bad or "no both-bad votes"))
    for each in found.clusters[:2]:
        name = shared_word(each.name)
        facts.append((f"{name[:1].upper()}{name[1:]}s", f"{each.n_levels:,}", _worth(each)))
    if not found.clusters:
        facts.append(("Clusters", "none", "every vote taken as independent"))
    if were_checked(found):
        warn = sum(line.status == "warning" for line in found.checks)
        missed = sum(line.status == "not run" for line in found.checks)
        run = len(found.checks) - missed - sum(line.status == "limit" for line in found.checks)
        words = "none warns" if not warn else f"{warn} warn{'s' if warn == 1 else ''}"
        facts.append(("Checks", words, f"of {run} run, {missed} not run"))
    if found.n_unscored:
        facts.append(("No outcome", f"{found.n_unscored:,}", "further votes, left out"))
    return facts


def _worth(each: ClusterCount) -> str:
    if each.effective > 0.9 * each.n_levels:
        return "of about one size"
    return f"worth {number(each.effective, 0)} equal ones"


def warnings(page: ArenaPage) -> str:
    """Return what must be known before a number is used; nothing where there is nothing."""
    found = page.found
    return warnings_callout([linked(sentence(text)) for text in undeparted(found.warnings, found.plan)])
