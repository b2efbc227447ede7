"""How a leaderboard is computed, what it assumes, and where its methods come from."""

from evalstats.analysis.leaderboard.result import Leaderboard
from evalstats.analysis.method_texts import texts_for
from evalstats.document.model import Items, Section, Table, Text, sentence
from evalstats.document.numbers import p_words
from evalstats.grammar import and_list, is_are, plural

ADJUSTMENTS = {
    "max-t": "max-T step-down",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}
_HSU = "Hsu 1996, Multiple Comparisons: Theory and Methods (the lead over the best of the others)"


def method_sections(result: Leaderboard, *, tables: tuple[Table, ...] = ()) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, further numbers, references, provenance and the code."""
    return (
        Section(
            id="method",
            heading="How pairs and ranks are computed",
            blocks=(*(Text(text=text) for text in _paragraphs(result)), Items(items=tuple(_facts(result)))),
        ),
        Section(id="assumptions", heading="What this assumes", blocks=(Items(items=tuple(_assumptions(result))),)),
        Section(id="further", heading="Each model and its neighbour in more detail", blocks=tables),
        Section(id="references", heading="References", blocks=(Items(items=tuple(_references(result))),)),
        result.origin.section(),
    )


def separation_words(result: Leaderboard) -> str:
    """Say what being separated promises, and where p and interval part."""
    error = f"{100 * (1 - result.conf_level):.3g}%"
    strict = result.adjust in ("max-t", "holm")
    promise = (
        f"The chance that even one separation is false is at most {error}."
        if strict
        else f"Of the pairs that are separated, about {error} are expected not to differ; intervals are for each pair alone."
    )
    beyond = sum(pair.separated and pair.ends is not None and not pair.excludes_zero for pair in result.pairs)
    if not beyond:
        return promise
    return (
        f"{promise} {plural(beyond, 'pair')} {is_are(beyond)} separated though the simultaneous interval "
        "includes 0: the stepwise p is sharper."
    )


def _paragraphs(result: Leaderboard) -> list[str]:
    """Say how pairs, ranks and the score at the top are computed, each method once."""
    said: set[str] = set()
    paragraphs = [_described(f"Pairs: {result.method}, because {result.method_reason}.", result.method, said)]
    if any(row.rank_low is not None for row in result.rows):
        paragraphs.append(_described(f"Ranks: {result.rank_method}.", result.rank_method, said))
    winner = result.winner
    if winner is not None and winner.method:
        paragraphs.append(_described(f"The score at the top: {winner.method}.", winner.method, said))
    elif winner is not None and winner.reason:
        paragraphs.append(f"The top score is not corrected for having been picked: {winner.reason}.")
    return paragraphs


def _described(lead: str, method: str, said: set[str]) -> str:
    new = [text.how for text in texts_for(method) if text.how not in said]
    said.update(new)
    # In a family p is adjusted stepwise, so it need not agree with the simultaneous interval beside it.
    alone = [
        text.replace("so p and interval never contradict", "so for a pair alone p and interval never contradict")
        for text in new
    ]
    return " ".join([lead, *alone])


def _facts(result: Leaderboard) -> list[str]:
    better = "higher" if result.higher_is_better else "lower"
    facts = [
        f"Estimand: {result.estimand}.",
        f"Metric: {result.metric} ({result.metric_kind}, {better} is better) on {result.benchmark}.",
    ]
    if result.average:
        facts.append(f"A score is the {result.average}.")
    own = sorted({row.method for row in result.rows if row.method})
    if own:
        facts.append(f"Each score has its own interval: {'; '.join(own)}.")
    test = result.omnibus
    # Where it does not show a difference, the evidence says so.
    if test is not None and test.p_value <= 1 - result.conf_level:
        facts.append(
            f"{test.method} over all models: {p_words(test.p_value)}; it only asks whether they differ at all."
        )
    elif result.omnibus_reason:
        facts.append(f"No test over all models: {result.omnibus_reason}.")
    if not result.exact and result.n_resamples:
        facts.append(f"{result.n_resamples:,} random draws.")
    return facts


def _assumptions(result: Leaderboard) -> list[str]:
    takes = dict.fromkeys(
        text.takes for name in (result.method, result.rank_method) for text in texts_for(name) if text.takes
    )
    lacking = [row for row in result.rows if row.n_missing]
    missing = (
        [
            "On items that a model lacks it compares with the others as on those it has; the worst case stands with the evidence."
        ]
        if lacking
        else []
    )
    return [_independence(result), *map(sentence, takes), *missing]


def _independence(result: Leaderboard) -> str:
    if result.n_items is None:
        return "Published scores are independent of one another; on shared items differences are usually known better."
    unit = "clusters" if result.clusters else "items"
    tested = [row.factor for row in result.dependence]
    what = (
        f"tested by permutation for groups along {and_list(tested)}, of which a sample would be the clusters"
        if tested
        else "no column could test it"
    )
    return f"The {unit} are independent of one another: {what}."


def _references(result: Leaderboard) -> list[str]:
    winner = result.winner.method if result.winner is not None else ""
    omnibus = result.omnibus.method if result.omnibus is not None else ""
    hsu = {_HSU} if any(row.best_low is not None for row in result.rows) else set[str]()
    names = {result.method, result.rank_method, winner, omnibus, *(row.method for row in result.rows)}
    return sorted(hsu | {work for name in names if name for text in texts_for(name) for work in text.sources})
