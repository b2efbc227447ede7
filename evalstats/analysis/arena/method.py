"""How ratings and ranks are computed, what they mean and assume, and where the methods come from."""

from evalstats.analysis.arena.check_result import BUDGET
from evalstats.analysis.arena.figures import level, percent, points, ranked, unit_of, whole
from evalstats.analysis.arena.result import ArenaRanking, PairContrast, RatingRow
from evalstats.analysis.method_texts import texts_for
from evalstats.document.model import Items, Section, Text, sentence
from evalstats.document.numbers import number, plural

_TIES = {
    "half": "a tie counts as half a win for either",
    "davidson": "ties are an outcome of their own (Davidson)",
    "rao-kupper": "ties are votes in which no model is ahead by a threshold (Rao and Kupper)",
}
_UNEQUAL = 0.9  # below this share of their number, unequal clusters are said to be worth fewer
_LARGE = 0.05


def method_sections(result: ArenaRanking) -> tuple[Section, ...]:
    """Return how it was computed, what ratings and ranks mean, what is assumed, the checks, the references."""
    told = [
        Section(
            id="method",
            heading="How ratings are computed",
            blocks=(Text(text=_how(result)), Items(items=_facts(result))),
        )
    ]
    if result.converged:
        told.append(
            Section(id="meaning", heading="What a rating and a rank mean", blocks=(Items(items=_meaning(result)),))
        )
    told.append(Section(id="assumptions", heading="What this assumes", blocks=(Items(items=_assumptions(result)),)))
    if len(result.checks) > 1:
        told.append(
            Section(id="checking", heading="How the votes are checked", blocks=(Items(items=_checking(result)),))
        )
    sources = sorted({source for name in methods_of(result) for text in texts_for(name) for source in text.sources})
    if sources:
        told.append(Section(id="references", heading="References", blocks=(Items(items=tuple(sources)),)))
    return tuple(told)


def methods_of(result: ArenaRanking) -> list[str]:
    """Return the methods that were used, as their texts are named."""
    arena_ranks = ["arena upper bound"] if any(row.rank_arena is not None for row in result.rows) else []
    online = ["online Elo"] if any(row.online_elo is not None for row in result.rows) else []
    by = [] if result.categories is None else [result.categories.method]
    over = [] if result.drift is None else [result.drift.method]
    ranks = [result.rank_method] if result.has_ranks else []
    names = [result.method, error_method(result), *ranks, *by, *over, *arena_ranks, *online]
    return [name for name in names if name]


def error_method(result: ArenaRanking) -> str:
    """Return what standard errors rest on, as its text is named; "" where there are none."""
    if result.covariance is None and not any(row.std_error for row in result.rows):
        return ""
    names = " and ".join("prompt" if each.name == "item" else each.name for each in result.clusters)
    return f"sandwich clustered by {names}" if names else "sandwich of single votes"


def _how(result: ArenaRanking) -> str:
    return " ".join(text.how for name in (result.method, error_method(result)) if name for text in texts_for(name))


def _facts(result: ArenaRanking) -> tuple[str, ...]:
    tie = "" if result.tie_parameter is None else f", parameter {number(result.tie_parameter)}"
    found = [f"Ratings: {result.method}; {_TIES[result.ties]}{tie}.", f"What is estimated: {result.estimand}."]
    if error_method(result):
        df = "" if result.df is None else f", {number(result.df, 0)} degrees of freedom"
        found.append(f"Standard errors: {error_method(result)}{df}.")
    if result.has_ranks:
        found.append(f"Ranks: {result.rank_method}, {level(result)} for all models together.")
    if result.vote_level_ratio is not None:
        ratio = number(result.vote_level_ratio)
        found.append(f"Counting every vote as independent would make standard errors {ratio} times too small (median).")
    kinds = [plural(result.n_decided, "decided vote"), plural(result.n_ties, "tie")]
    if result.n_both_bad:
        kinds.append(f"{result.n_both_bad:,} in which both were bad")
    found.append(f"Votes: {', '.join(kinds)}.")
    if result.n_resamples:
        found.append(f"Bootstrap: {result.n_resamples:,} rounds of clusters or votes, percentile intervals.")
    for name in ("online Elo",) if any(row.online_elo is not None for row in result.rows) else ():
        found.extend(text.how for text in texts_for(name))
    found.extend(f"{each.title}: not fitted, {each.reason}." for each in result.alternatives if each.reason)
    return tuple(found)


def _meaning(result: ArenaRanking) -> tuple[str, ...]:
    against = "the mean of all models" if result.anchor is None else result.anchor
    found = [f"A rating counts from {against}{'' if whole(result) else ' of its part'}, in {unit_of(result)}."]
    if result.scale == "elo":
        found.append("A lead of 100 Elo points means about 64 wins in 100 decided votes, 200 about 76, 400 about 91.")
    pair = next((each for each in result.pairs if each.win_probability is not None and (each.estimate or 0) > 0), None)
    if pair is not None:
        found.append(_lead(pair, result))
    if result.has_ranks:
        found.append(
            "Two models must not be compared by whether their intervals overlap: pairs are tested with the covariance of both."
        )
        rows = ranked(result)
        found.append(_rank_set(max(rows, key=lambda row: (row.rank_high or 0) - (row.rank_low or 0)), rows))
        if any(row.rank_arena is not None for row in rows):
            found.extend(text.how for text in texts_for("arena upper bound"))
    if result.trust is not None and result.trust.selection:
        gains = ", ".join(f"{number(gain, 0 if gain >= 1 else 2)} of {n}" for n, gain in result.trust.selection)
        luck = f"By luck alone the best of several equal variants gains, in {unit_of(result)}: {gains}."
        found.append(f"Votes cannot show private testing. {luck}")
    return tuple(found)


def _lead(pair: PairContrast, result: ArenaRanking) -> str:
    ends = f" ({percent(pair.win_low)} to {percent(pair.win_high)})" if pair.win_low is not None else ""
    lead = points(abs(pair.estimate or 0.0), result).lstrip("+")
    return (
        f"The lead of {pair.first} over {pair.second} is {lead}: of users who decide between the two, about "
        f"{percent(pair.win_probability)} would take {pair.first}{ends}."
    )


def _rank_set(row: RatingRow, rows: list[RatingRow]) -> str:
    n = sum(each.component == row.component for each in rows)
    above, below = (row.rank_low or 1) - 1, n - (row.rank_high or n)
    return (
        f"The rank of {row.name} is {row.ranks}: of {plural(n - 1, 'other')}, {above} shown to be better, {below} shown to be "
        f"weaker, {n - 1 - above - below} left open."
    )


def _assumptions(result: ArenaRanking) -> tuple[str, ...]:
    texts = [text for name in (result.method, error_method(result)) if name for text in texts_for(name)]
    found = [_independence(result), *dict.fromkeys(text.takes for text in texts if text.takes)]
    found.append("Those who voted are whoever came; other users, with other wishes, could prefer otherwise.")
    if result.n_unscored:
        why = "; ".join(f"{reason} ({n:,})" for reason, n in result.unscored_reasons[:4])
        found.append(
            f"{plural(result.n_unscored, 'vote')} without an outcome are like the rest{f' ({why})' if why else ''}."
        )
    if result.prior > 0:
        found.append(f"Every model was given {result.prior:g} wins and {result.prior:g} losses that nobody voted for.")
    return tuple(map(sentence, found))


def _independence(result: ArenaRanking) -> str:
    if not result.clusters:
        return "Every vote is independent of every other, though one person may have given many"
    told: list[str] = []
    for each in result.clusters:
        worth = f" (worth {number(each.effective, 0)} equal ones)" if each.effective < _UNEQUAL * each.n_levels else ""
        large = f", the largest with {100 * each.largest:.0f}% of the votes" if each.largest > _LARGE else ""
        told.append(f"{each.n_levels:,} of {'prompt' if each.name == 'item' else each.name}{worth}{large}")
    return f"Votes that share none of these are independent: {'; '.join(told)}"


def _checking(result: ArenaRanking) -> tuple[str, ...]:
    not_run = [f"{line.title}: not run, {line.finding}" for line in result.checks if line.status == "not run"]
    silence = "A check that passed is no proof: votes bought to look like others cannot be told from them"
    return tuple(map(sentence, (BUDGET, silence, *not_run)))
