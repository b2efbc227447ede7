"""How ratings and ranks are computed, what they mean and assume, and where the methods come from."""

from collections.abc import Sequence

from evalstats.analysis.arena import figures
from evalstats.analysis.arena.checks import BUDGET, side_words, weak_links_of
from evalstats.analysis.arena.evidence import evidence, flagged, nearest_open, turned_choices
from evalstats.analysis.arena.figures import digits_of, percent, rating, rough, unit_of, whole
from evalstats.analysis.arena.notes import clusters_in_words, source_levels, source_word
from evalstats.analysis.arena.result import ArenaRanking, RatingRow
from evalstats.analysis.arena.vote_checks import OF_SUSPECTS
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.result import level
from evalstats.document.formats import capital
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Interval,
    Items,
    Note,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    sentence,
)
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number
from evalstats.errors import Option
from evalstats.grammar import and_list, comma_list, has_have, is_are, plural

_TIES = {
    "half": "a tie counts as half a win for either",
    "davidson": "ties are an outcome of their own (Davidson)",
    "rao-kupper": "ties are votes in which no model is ahead by a threshold (Rao and Kupper)",
}
_UNEQUAL = 0.9  # below this share of their number, unequal clusters are said to be worth fewer
_LARGE = 0.05
_SHOWN = 20
_PARTS = 4
_LEADS: tuple[str, Tone] = ("clear winner", "good")
_OPEN: tuple[str, Tone] = ("no clear winner", "caution")
_IN_PARTS: tuple[str, Tone] = ("no single ranking", "bad")
_NO_RANKS: tuple[str, Tone] = ("no ranks", "bad")
_NOT_CONVERGED: tuple[str, Tone] = ("not converged", "bad")
# What follows where a check warns differs: of votes that are suspect, of a lead that hangs on a few, of the model, and of time.
_TOLD_APART = ("sides", "drift", "pairing")
_FRAGILE = {"one rater": "one rater", "few votes": "a few votes"}


def method_sections(result: ArenaRanking) -> tuple[Section, ...]:
    """Return how it was computed, what ratings and ranks mean, what is assumed, the checks, the references."""
    sources = sorted({source for name in methods_of(result) for text in texts_for(name) for source in text.sources})
    of_labels = "" if result.labels is None else "votes corrected by labels"
    texts = [text for name in (result.method, of_labels, error_method(result)) if name for text in texts_for(name)]
    not_run = [f"{line.title}: not run, {line.finding}" for line in result.checks if line.status == "not run"]
    silence = "Passing a check is no proof: votes bought to look genuine cannot be detected"
    checking = tuple(map(sentence, (BUDGET, silence, *not_run)))
    parts = [
        ("meaning", "What a rating and a rank mean", _meaning(result) if result.converged else ()),
        ("assumptions", "What this assumes", _assumptions(result, [text.takes for text in texts])),
        ("checking", "How the votes are checked", checking if len(result.checks) > 1 else ()),
        ("references", "References", tuple(sources)),
    ]
    how = (Text(text=" ".join(text.how for text in texts)), Items(items=_facts(result)))
    return (
        Section(id="method", heading="How ratings are computed", blocks=how),
        *(Section(id=name, heading=heading, blocks=(Items(items=items),)) for name, heading, items in parts if items),
    )


def methods_of(result: ArenaRanking) -> list[str]:
    """Return the methods that were used, as their texts are named."""
    arena_ranks = ["arena upper bound"] if any(row.rank_arena is not None for row in result.rows) else []
    by = [] if result.categories is None else [result.categories.method]
    over = [] if result.drift is None else [result.drift.method]
    ranks = [result.rank_method] if result.has_ranks else []
    of_labels = "" if result.labels is None else "votes corrected by labels"
    names = [result.method, of_labels, error_method(result), *ranks, *by, *over, *arena_ranks]
    return [name for name in names if name]


def error_method(result: ArenaRanking) -> str:
    """Return what standard errors rest on, as its text is named; "" where there are none."""
    if result.covariance is None and not any(row.std_error for row in result.rows):
        return ""
    names = " and ".join(source_word(each.name) for each in result.clusters)
    return f"sandwich clustered by {names}" if names else "sandwich of single votes"


def _facts(result: ArenaRanking) -> tuple[str, ...]:
    tie = "" if result.tie_parameter is None else f", parameter {number(result.tie_parameter)}"
    found = [f"Ratings: {result.method}; {_TIES[result.ties]}{tie}.", f"What is estimated: {result.estimand}."]
    if error_method(result):
        df = "" if result.df is None else f", {number(result.df, 0)} degrees of freedom"
        found.append(f"Standard errors: {error_method(result)}{df}.")
    if result.has_ranks:
        found.append(f"Ranks: {result.rank_method}, {level(result)} for all models together.")
    if result.vote_level_ratio is not None:
        small = result.vote_level_ratio >= 1.0
        ratio = number(result.vote_level_ratio if small else 1.0 / result.vote_level_ratio)
        off = (
            f"{ratio} times too {'small' if small else 'large'}" if float(ratio) != 1.0 else "hardly larger or smaller"
        )
        found.append(f"Counting every vote as independent would make standard errors {off} (median).")
    if result.pairing is not None and result.pairing.factor is not None:
        found.append(
            "Pairs were chosen by past votes. 200 replays of the rule that fits them best, with tastes of those who vote, "
            f"multiply standard errors by {number(result.pairing.factor, 2)}: then the largest contrast errs in 5% of replays."
        )
    kinds = [plural(result.n_decided, "decided vote"), plural(result.n_ties, "tie")]
    if result.n_both_bad:
        kinds.append(f"{result.n_both_bad:,} in which both were bad")
    found.append(f"Votes: {', '.join(kinds)}.")
    if result.n_resamples:
        found.append(f"Bootstrap: {result.n_resamples:,} rounds of clusters or votes, percentile intervals.")
    found.extend(f"{each.title}: not fitted, {each.reason}." for each in result.alternatives if each.reason)
    return tuple(found)


def _meaning(result: ArenaRanking) -> tuple[str, ...]:
    some = " with a finite one" if any(row.estimate is None for row in result.rows) and whole(result) else ""
    against = f"the mean of all models{some}" if result.anchor is None else result.anchor
    found = [f"A rating is relative to {against}{'' if whole(result) else ' of its part'}, in {unit_of(result)}."]
    if result.scale == "elo":
        found.append("A lead of 100 Elo points means about 64 wins in 100 decided votes, 200 about 76, 400 about 91.")
    if some:
        found.append(
            "A model that won every vote has no finite rating. Its limit is the rating under which it would have won them all "
            f"with a chance of {100 * (1 - result.conf_level) / 2:g}%, with the votes of one rater or prompt taken as one, and "
            "the error of the others allowed for. A tenth of the error rate of the ranks is kept for its pairs. "
            "The same holds, reversed, for a model that lost every vote."
        )
    if result.has_ranks:
        found.append(
            "Do not compare two models by whether their intervals overlap: pairs are tested with their covariance."
        )
        rows = [row for row in result.rows if row.rank_low is not None]
        row = max(rows, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0))
        n = sum(each.component == row.component for each in rows)
        above, below = (row.rank_low or 1) - 1, n - (row.rank_high or n)
        found.append(
            f"The rank of {row.name} is {row.ranks}: of {plural(n - 1, 'other')}, {above} shown to be better, {below} shown to "
            f"be weaker, {n - 1 - above - below} left open."
        )
        if any(row.rank_arena is not None for row in rows):
            found.extend(text.how for text in texts_for("arena upper bound"))
    return tuple(found)


def _assumptions(result: ArenaRanking, of_methods: Sequence[str]) -> tuple[str, ...]:
    found = [_independence(result), *dict.fromkeys(filter(None, of_methods))]
    found.append("Voters are self-selected; other users, with other wishes, could prefer other models.")
    if result.n_unscored:
        why = comma_list((f"{reason} ({n:,})" for reason, n in result.unscored_reasons), 4, "; ")
        because = f" ({why})" if result.unscored_reasons else ""
        found.append(f"{plural(result.n_unscored, 'vote')} without an outcome are like the rest{because}.")
    if result.prior > 0:
        found.append(f"Every model was given {result.prior:g} wins and {result.prior:g} losses that nobody voted for.")
    return tuple(map(sentence, found))


def _independence(result: ArenaRanking) -> str:
    if not result.clusters:
        return "Every vote is independent of every other, though one person may have given many"
    told: list[str] = []
    for each in result.clusters:
        n = each.n_levels + each.n_nameless
        worth = f" (worth {number(each.effective, 0)} equal ones)" if each.effective < _UNEQUAL * n else ""
        large = f", the largest with {100 * each.largest:.0f}% of the votes" if each.largest > _LARGE else ""
        levels = source_levels(each.name, each.n_levels)
        alone = f" and {plural(each.n_nameless, 'vote')} without one, each by itself" if each.n_nameless else ""
        told.append(f"{levels}{alone}{worth}{large}")
    return f"Votes that share none of these are independent: {'; '.join(told)}"


def document(result: ArenaRanking) -> Document:
    """Return what is said of a ranking of votes."""
    label, tone = answer_of(result)
    value, words, drawn = _number(result)
    by = clusters_in_words(result.clusters)
    ties = result.n_ties + result.n_both_bad
    kind = "ties" if result.n_ties else "both bad"
    tied = f", {100 * ties / result.n_votes:.0f}% {kind}" if ties and result.n_votes else ""
    graph = result.graph
    met = ""
    if graph is not None and graph.n_pairs_met < graph.n_pairs:
        met = f"; {graph.n_pairs_met:,} of {plural(graph.n_pairs, 'pair')} met"
    who = "" if result.labels is None else f" of a judge, corrected by {result.labels}"
    scope = f"{plural(result.n_votes, 'vote')}{who}{tied}{f', {by}' if by else ''}{met}"
    return Document(
        kind="arena",
        title=f"Whom do users prefer{'' if result.arena == 'votes' else f' on {result.arena}'}?",
        label=label,
        tone=tone,
        headline=_headline(result),
        number=value,
        number_words=words,
        interval=drawn,
        scope=scope,
        answer=_answer(result),
        notes=(*result.notes, *_suspicions(result)),
        actions=tuple(_actions(result)),
        evidence=evidence(result) if result.converged else (),
        method=(
            *method_sections(result),
            result.origin.section(),
        ),
    )


def answer_of(result: ArenaRanking) -> tuple[str, Tone]:
    """Return the answer in a word or two, and its tone."""
    if not result.converged:
        return _NOT_CONVERGED
    if not result.has_ranks:
        return _NO_RANKS
    if not whole(result):
        return _IN_PARTS
    return _LEADS if len(result.best()) == 1 and not _unranked(result) else _OPEN


def _unranked(result: ArenaRanking) -> list[RatingRow]:
    return [row for row in result.rows if row.rank_low is None]


def _headline(result: ArenaRanking) -> str:
    label, n = answer_of(result)[0], len(result.rows)
    if label == _NOT_CONVERGED[0]:
        return "The ratings did not converge, so none is shown"
    if label == _NO_RANKS[0]:
        return f"These votes cannot rank the {n} models"
    if label == _IN_PARTS[0]:
        return f"The votes leave {n} models in {len(result.parts)} parts that cannot be compared"
    best, first = result.best(), named(result.rows[0].name)
    without = len(_unranked(result))
    if without:
        some = f"{len(best)} of {n} models could be best" if len(best) > 1 else f"{first} leads"
        return f"{some}, and {plural(without, 'model')} {has_have(without)} no rank"
    if len(best) == 1:
        others = {2: "the other", 3: "both others"}.get(n, f"all {n - 1} others")
        return f"{first} is ahead of {others}{_on_these(result)}"
    could = "Either could be best" if n == 2 else "Any" if len(best) == n else str(len(best))
    could = (could if n == 2 else f"{could} of {n} models could be best") + _on_these(result)
    # Who won a vote or two and lost none does not lead by that.
    perfect = [named(row.name) for row in result.rows if row.estimate is None and row.conf_high is None and row.n_wins]
    if result.rows[0].estimate is None and perfect:
        who = perfect[0] if len(perfect) == 1 else str(len(perfect))
        return f"{could}; {who} won every vote"
    return f"{could}; {first} leads"


def _number(result: ArenaRanking) -> tuple[str, str, Interval | None]:
    """Return the rating of the model that leads, with its interval."""
    first = result.rows[0]
    if answer_of(result)[0] not in (_LEADS[0], _OPEN[0]) or first.conf_low is None:
        return "", "", None
    rated = sum(row.estimate is not None for row in result.rows)
    if first.conf_high is None:
        base = (
            f"the mean of the other {rated} is"
            if len(result.rows) == rated + 1
            else f"the mean of the {rated} rated models is"
        )
        return (
            f"at least {rating(first.conf_low, result)}",
            f"{level(result)} CI without an upper end; {_base(result, base)}",
            None,
        )
    ends = interval_words(first.conf_low, first.conf_high, 1.0, digits_of(result))
    mean = "the mean of all models is" if rated == len(result.rows) else f"the mean of the {rated} rated models is"
    drawn = drawn_interval(
        first.estimate,
        first.ends,
        digits=digits_of(result),
        origin=_zero(result),
        conf_level=result.conf_level,
    )
    words = f"{named(first.name)}, {level(result)} CI {ends}; {_base(result, mean)}"
    return rating(first.estimate, result), words, drawn


def _zero(result: ArenaRanking) -> float:
    return 1000.0 if result.scale == "elo" else 0.0


def _base(result: ArenaRanking, mean: str) -> str:
    """Say what the ratings count from."""
    base = number(_zero(result), 0)
    return f"{mean} {base}" if result.anchor is None else f"{named(result.anchor)} is set to {base}"


def _answer(result: ArenaRanking) -> tuple[Block, ...]:
    if not result.converged:
        return ()
    reason = result.rank_reason or next(
        (row.rank_reason for row in result.rows if row.rank_reason), "the votes leave every rank open"
    )
    if any(note.text.rstrip(".") == reason.rstrip(".") for note in result.notes):
        reason = ""
    said = _ranks_settled(result) if result.has_ranks else sentence(reason)
    return (figures.ranks(result, _table(result)), *([Text(text=said)] if said else []))


def _ranks_settled(result: ArenaRanking) -> str:
    """Say how many ranks are certain, or who could be best of each part."""
    if not whole(result):
        told: list[str] = []
        for rows in result.parts:
            best = [named(row.name) for row in rows if row.may_be_best]
            if len(rows) > 1 and best:
                could = f"any of {len(rows)}" if len(best) == len(rows) else and_list(best, 2)
                told.append(f"in part {rows[0].component} {could} could be best")
        more = f"; {len(told) - _PARTS} further parts are in the table" if len(told) > _PARTS else ""
        return sentence(capital("; ".join(told[:_PARTS])) + more)
    rows = [row for row in result.rows if row.rank_low is not None]
    certain = sum(row.rank_low == row.rank_high for row in rows)
    pairs = figures.compared(result)
    shown = len(figures.apart(pairs))
    ranks = f"{certain} of {plural(len(rows), 'rank')} {is_are(certain)} certain" if certain else "No rank is certain"
    apart = f"{shown:,} of {plural(len(pairs), 'pair')} {is_are(shown)}" if shown else "no pair is"
    return f"{ranks}; {apart} separated{_on_these(result)}.{_other_level(result)}"


def _on_these(result: ArenaRanking) -> str:
    """Say that an answer is for these prompts, where it is."""
    levels = result.levels
    return f" on these {plural(levels.n_prompts, 'prompt')}" if levels and levels.shown == "these" else ""


def _other_level(result: ArenaRanking) -> str:
    """Say in a sentence what is separated for other prompts, or for these alone; "" where there is one level."""
    levels = result.levels
    if levels is None or not levels.n_separated_these:
        return ""
    if levels.shown == "these":
        return f" For other prompts too, none is: {plural(levels.n_prompts, 'prompt')} cannot tell."
    these = f"{levels.n_separated_these:,} {is_are(levels.n_separated_these)}"
    return f" On these {plural(levels.n_prompts, 'prompt')} alone, {these}."


def _table(result: ArenaRanking) -> Table:
    digits, rows = digits_of(result), figures.ordered(result)
    frame = result.to_frame().drop("n_clusters")
    booted = any(row.boot_low is not None for row in rows)
    arena = len({row.rank_arena for row in rows} - {None}) > 1
    columns = [
        Column(title="Model", kind="name"),
        Column(title="Rating", kind="number", digits=digits),
        Column(title=f"{level(result)} CI", kind="interval", digits=digits),
        Column(title="Ranks", kind="amount"),
        *([Column(title="Arena", kind="amount")] if arena else []),
        *([Column(title="By the judge", kind="number", digits=digits)] if result.labels else []),
        Column(title="Votes", kind="count"),
        *([] if whole(result) else [Column(title="Part", kind="count")]),
        *([Column(title="Bootstrap", kind="interval", digits=digits, spare=True)] if booted else []),
    ]
    cells = [
        (
            row.name,
            row.estimate,
            row.ends,
            row.ranks.replace("-", "–"),
            *(["–" if row.rank_arena is None else str(row.rank_arena)] if arena else []),
            *([row.labels and row.labels.judged.estimate] if result.labels else []),
            row.n_votes,
            *([] if whole(result) else [row.component]),
            *([(row.boot_low, row.boot_high) if row.boot_low is not None else None] if booted else []),
        )
        for row in rows
    ]
    return Table(
        id="ratings",
        columns=tuple(columns),
        rows=tuple(cells),
        caption="Ratings; Ranks: possible ranks, all models jointly"
        + ("; Arena: the rank that live arenas print" if arena else ""),
        most=_SHOWN,
        frame=frame.to_dict(as_series=False),
    )


# --- what limits it ---


def _suspicions(result: ArenaRanking) -> list[Note]:
    """Return the cautions that follow from checks, one for each kind of consequence, and from other choices."""
    lines = flagged(result)
    found: list[Note] = []
    turned = turned_choices(result)
    if turned and answer_of(result)[0] in (_LEADS[0], _OPEN[0]):
        found.append(Note(kind="choice", text=f"{turned[0].title}: {turned[0].new_first} leads"))
    found += _weak_links(result)
    votes = [_lower(line.title) for line in lines if line.check in OF_SUSPECTS]
    fragile = [_FRAGILE[line.check] for line in lines if line.check in _FRAGILE]
    trust, side = result.trust, next((row for row in result.covariates if row.name == "side"), None)
    # A side that is preferred, unless ratings hold it equal.
    if trust is not None and any(line.check == "sides" for line in lines) and not (side and side.held):
        who = "one side" if side is None else side_words(side)
        text = f"Between equal models {who} wins {percent(trust.side_share)} of votes"
        found.append(Note(kind="trust", text=text, remedy=("Hold the side equal: ", Option("side", value=True))))
    fit = [_lower(line.title) for line in lines if line.check not in {*OF_SUSPECTS, *_FRAGILE, *_TOLD_APART}]
    if votes:
        further = result.without_suspects
        text = f"{'Further suspect' if further else 'Suspect'} votes ({and_list(votes, 7)}) may carry the ratings"
        remedy = "" if further else ("Rate without them: ", Option("without_suspects", value=True))
        found.append(Note(kind="trust", text=text, remedy=remedy))
    if fragile:
        text = f"The leader depends on {' and on '.join(fragile)}"
        found.append(Note(kind="trust", text=text, remedy="Collect more votes"))
    if fit:
        text = f"One rating per model does not fit ({and_list(fit, 4)})"
        found.append(Note(kind="fit", text=text, remedy=("Rate by category: ", Option("by"))))
    if any(line.check == "drift" for line in lines):
        text = "Ratings change over time, so each is an average"
        found.append(Note(kind="fit", text=text, remedy="Rate recent votes separately"))
    return found


def _weak_links(result: ArenaRanking) -> list[Note]:
    weak = [] if result.graph is None else weak_links_of(result.graph)
    if not weak:
        return []
    first = weak[0]
    links = f"{'win' if first.side == 'wins' else 'loss'} ties" if first.n_wins == 1 else f"{first.side} tie"
    text = f"Only {first.n_wins:g} {links} {and_list(first.group, 2)} to the rest"
    more = f", and {plural(len(weak) - 1, 'other group')} rest on as few" if len(weak) > 1 else ""
    return [Note(kind="few", text=text + more, remedy="Collect votes between them")]


def _lower(title: str) -> str:
    """Write a title inside a sentence: small, unless it begins with somebody's name.

    >>> _lower("Ties as half wins"), _lower("Davidson's ties")
    ('ties as half wins', "Davidson's ties")
    """
    return title if title.startswith(("Davidson", "Rao", "Elo")) else title[:1].lower() + title[1:]


# --- what to do ---


def _actions(result: ArenaRanking) -> list[str]:
    label = answer_of(result)[0]
    if label == _NOT_CONVERGED[0]:
        return ["State a prior (prior=0.5), or drop models with few votes."]
    if label == _IN_PARTS[0]:
        return [
            "Collect votes between the parts in which both sides win; or state a prior, which ratings then rest on."
        ]
    found: list[str] = []
    best = result.best()
    if label == _OPEN[0] and len(best) > 1:
        found.append(f"Choose among these {len(best)} by cost or by a test of your own; their order says nothing.")
    if label == _OPEN[0] and result.labels:
        found.append("Have people vote on more random battles between models that could be best.")
    pair = nearest_open(result)
    if label == _OPEN[0] and pair is not None and pair.more_votes:
        names = [
            source_word(each.name) for each in result.clusters if not source_levels(each.name).startswith("levels")
        ]
        own = f", each from a different {' and '.join(names)}," if names else ""
        two = f"{named(pair.first)} and {named(pair.second)}"
        found.append(f"About {rough(pair.more_votes)} more votes between {two}{own} would separate them.")
    raters = [] if result.trust is None else list(dict.fromkeys(flag.rater for flag in result.trust.raters))
    if raters:
        found.append(f"Read the votes of {and_list([*map(named, raters)], 3)}; unusual taste is not fraud.")
    return found
