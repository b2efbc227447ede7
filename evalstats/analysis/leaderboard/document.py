"""What is said of a leaderboard: who could be the best, which ranks are certain, who is told from whom."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from evalstats.analysis.design.averages import weighted_words
from evalstats.analysis.design.clusters import dependence_table, partitions_named
from evalstats.analysis.design.metric import ASSUMED, asked_direction
from evalstats.analysis.leaderboard import figures
from evalstats.analysis.leaderboard.figures import score_digits, short_letters
from evalstats.analysis.leaderboard.new_task import new_task
from evalstats.analysis.leaderboard.result import TIED, Leaderboard, OtherLeader, PairRow
from evalstats.analysis.method_texts import texts_for
from evalstats.analysis.posterior.document import beside_sections
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Interval,
    Items,
    LateColumns,
    Note,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    interval_column,
    listed,
    number_column,
    works_section,
)
from evalstats.document.names import named
from evalstats.document.numbers import (
    digits_of_interval,
    interval_words,
    number,
    p_words,
    rounded_up,
    scaled,
    share_in_percent,
    titled,
    with_unit,
)
from evalstats.errors import Option
from evalstats.grammar import and_list, conjugate, is_are, plural, plural_of
from evalstats.table.score_table import too_much_missing

_ADJUSTMENTS = {
    "max-t": "max-T step-down",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg",
    "by": "Benjamini-Yekutieli",
}
_HSU = "Hsu 1996, Multiple Comparisons: Theory and Methods (the lead over the best of the others)"
_SHOWN = 20
_FEW_PAIRS = 10
_FEW_NAMES = 3
_LISTED = 10
_NAMED = 5
_FEW_TIES = 2
_FEW_RECORDS = 3
_TOLD_APART = {"better": "yes", "not separated": "no", "not compared": "not compared"}
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad", "not compared": "caution"}
_ANSWERS: dict[str, Tone] = {
    "one best": "good",
    "no clear winner": "caution",
    "best open": "caution",
    "which way?": "caution",
}


def document(result: Leaderboard) -> Document:
    """Return what is said of a leaderboard."""
    label = _label(result)
    value, words, drawn = _number(result)
    users = f", on different {result.different}" if result.different and result.whole else ""
    limits = [] if label in ("no ranks", "no overall rank") else _limits(result)
    beside = None if result.posterior_beside is None else beside_sections(result.posterior_beside)
    whole = Document(
        kind="leaderboard",
        title=f"Which {result.contrast} is best{placed(result.benchmark)}?",
        label=label,
        tone="caution" if result.best_if_missing else _ANSWERS.get(label, "bad"),
        headline="; ".join((f"{_headline(result, label)}{users}", *limits)),
        number=value,
        number_words=words,
        interval=drawn,
        scope=_scope(result),
        answer=(replace(figures.ranks(result), table=_models(result)), *([] if beside is None else [beside[0]])),
        notes=(*_by_other_averages(result), *result.notes),
        actions=tuple(_actions(result)),
        evidence=(
            *(section for each in _EVIDENCE if (section := each(result)) is not None),
            *([] if beside is None else [beside[1]]),
        ),
        method=_method_sections(result),
    )
    # Of two models the answer is the same either way.
    asked = result.baseline is not None and result.direction != "asked" and len(result.pairs) > 1
    return _against_baseline(result, whole) if asked else whole


# --- the answer ---


def _against_baseline(result: Leaderboard, whole: Document) -> Document:
    """Answer who is better than the baseline; how all stand is the first evidence then."""
    names = {how: [named(pair.first) for pair in result.pairs if pair.verdict == how] for how in ("better", "worse")}
    said = [f"{and_list(own, _FEW_NAMES)} {is_are(len(own))} {how}" for how, own in names.items() if own]
    if not names["better"]:
        said.insert(0, f"No {result.contrast} is shown to be better than {named(result.baseline)}")
    else:
        said[0] += f" than {named(result.baseline)}"
    score = scaled(result.row(result.baseline or "").estimate, result.scale, score_digits(result))
    by_id = {section.id: section for section in whole.evidence}
    pairs, ranks = by_id.pop("pairs"), by_id.pop("ranks", Section(id="ranks", heading="The scores of all", blocks=()))
    return replace(
        whole,
        title=f"Which {plural_of(result.contrast)} are better than {named(result.baseline)}{placed(result.benchmark)}?",
        label=f"{len(names['better']) or 'none'} of {len(result.pairs)} better",
        tone="good" if names["better"] else "neutral",
        headline="; ".join((*said, *result.qualifiers)),
        number="",
        number_words="",
        interval=None,
        scope=f"{whole.scope}; {result.baseline} scores {with_unit(score, result.score_unit)}",
        answer=pairs.blocks,
        actions=(),
        evidence=(replace(ranks, blocks=(*whole.answer, *ranks.blocks)), *by_id.values()),
    )


def _label(result: Leaderboard) -> str:
    if not any(row.rank_low for row in result.rows):
        return "no ranks"
    if not result.whole:
        return "no overall rank"
    if result.direction == "asked":
        return "which way?"
    if len(result.best()) > 1:
        return "no clear winner"
    return "best open" if result.above_the_ranked() or too_much_missing(result.missing_share) else "one best"


def _headline(result: Leaderboard, label: str) -> str:
    best, above = result.best(), result.above_the_ranked()
    these = result.these_items
    if these is not None and these.clear and len(these.best) == 1 and best != these.best:
        on, others = f"on these {plural(result.n_items or 0, 'item')}", f"on other {plural_of(these.factor)}"
        return f"{these.best[0]} scores best {on}; whether it does {others} is open"
    ranked = [row for row in result.rows if row.rank_low is not None]
    if label == "no ranks":
        return f"No rank can be given ({result.rank_reason or 'the data leave every rank open'})"
    if label == "no overall rank":
        parts = 1 if result.graph is None else len(result.graph.components)
        return f"The models fall into {parts} parts that cannot be compared, each with ranks of its own"
    if above:
        who = f"{best[0]} is best" if len(best) == 1 else f"{len(best)} could be best"
        score = "higher" if result.higher_is_better else "lower"
        has = conjugate(len(above), "score")
        return f"{who} of the {len(ranked)} that can be ranked; {and_list(above, 2)} {has} {score} without a standard error"
    if label == "which way?":
        who = f"{best[0]} has" if len(best) == 1 else f"{len(best)} of {len(ranked)} models could have"
        return f"{who} the highest {result.metric}"
    if len(best) == 1:
        return _one_best(result, best[0], [row.name for row in ranked])
    n = len(ranked)
    could = "Either" if n == len(best) == 2 else f"{'Any' if len(best) == n else len(best)} of {n} models"
    return f"{could} could be best; {_leads(result)}"


def _one_best(result: Leaderboard, best: str, ranked: Sequence[str]) -> str:
    if too_much_missing(result.missing_share):
        share = share_in_percent(result.missing_share)
        ahead = and_list(result.best_if_missing, 2)
        return f"{best} scores best, but {share} of a model's scores are missing: {ahead} could be ahead"
    turn = ", on the scores there are" if result.best_if_missing else ""
    if len(ranked) == 2:
        return f"{named(best)} is better than {named(next(name for name in ranked if name != best))}{turn}"
    return f"{named(best)} is better than each of the other {len(ranked) - 1} {plural_of(result.contrast)}{turn}"


def _limits(result: Leaderboard) -> list[str]:
    """Return what the first line must say besides; a direction taken for granted stands with the scope."""
    others: list[str] = []
    for row in result.other_leaders[:1]:
        who = f"{row.leader} leads" if row.leader != result.rows[0].name or not row.best else _could_be_best(row)
        others.append(f"{who} {weighted_words(row.kind, row.factor)}")
    return [*others, *asked_direction(result.direction), *result.qualifiers]


def _could_be_best(row: OtherLeader) -> str:
    return f"{'only ' if len(row.best) == 1 else ''}{and_list(row.best, 3)} could be best"


def _by_other_averages(result: Leaderboard) -> list[Note]:
    """Say who leads by other averages."""
    return [
        Note(
            kind="average",
            text=f"Leader {weighted_words(row.kind, row.factor)} ({row.kind} average): {row.leader}, at "
            + with_unit(number(row.estimate * result.scale, score_digits(result)), result.score_unit)
            + (f"; {_could_be_best(row)}" if row.best else ""),
        )
        for row in result.other_leaders
    ]


def _leads(result: Leaderboard) -> str:
    top = result.rows[0]
    if len(result.rows) == 2 and top.estimate is not None and not top.tied_with and _own_items(result):
        return f"{top.name} is ahead on the {plural(result.pairs[0].n_items or 0, 'item')} that they share"
    if ahead := _ahead_of(top.name, result):
        name, shared = ahead[0]
        return f"{top.name} scores highest, but {name} is ahead of it on the {plural(shared, 'item')} that they share"
    if not top.tied_with:
        return f"{named(top.name)} leads"
    return f"{and_list([*map(named, (top.name, *top.tied_with))], 2)} share the lead"


def _ahead_of(name: str, result: Leaderboard) -> list[tuple[str, int]]:
    """Return who is ahead of a model on the items that the two share, the most items first, and how many these are."""
    found: list[tuple[str, int]] = []
    for pair in result.pairs:
        if pair.estimate is not None and name in (pair.first, pair.second):
            lead = pair.estimate if pair.second == name else -pair.estimate
            if (lead if result.higher_is_better else -lead) > TIED:
                found.append((pair.first if pair.second == name else pair.second, pair.n_items or 0))
    return sorted(found, key=lambda each: (-each[1], each[0]))


def _number(result: Leaderboard) -> tuple[str, str, Interval | None]:
    """Return the score of the model at the top, of two their difference, with its interval; nothing without ranks."""
    top = result.rows[0]
    if not result.whole or top.rank_low is None or top.estimate is None or result.above_the_ranked():
        return "", "", None
    pair = result.pairs[0] if len(result.rows) == 2 and len(result.pairs) == 1 else None
    if pair is not None and pair.estimate is not None and pair.conf_low is not None and pair.conf_high is not None:
        lead, ends = pair.estimate, (pair.conf_low, pair.conf_high)
        if pair.first != top.name:
            lead, ends = -lead, (-ends[1], -ends[0])
        digits = digits_of_interval(*ends, result.scale)
        value = with_unit(number(lead * result.scale, digits, sign=True), result.unit)
        drawn = drawn_interval(
            lead,
            ends,
            scale=result.scale,
            digits=digits,
            unit=result.unit,
            origin=0.0,
            conf_level=result.conf_level,
            p_value=pair.p_value,
        )
        words = f"{level(result)} CI {interval_words(*ends, result.scale, digits)}, {p_words(pair.p_value)}"
        return value, words, drawn
    digits = score_digits(result)
    value = with_unit(number(top.estimate * result.scale, digits), result.score_unit)
    if top.conf_low is None or top.conf_high is None:
        return value, f"score of {top.name}, no interval", None
    others = tuple(row.estimate for row in result.rows[1:] if row.estimate is not None)
    of_top = drawn_interval(
        top.estimate,
        top.ends,
        scale=result.scale,
        digits=digits,
        unit=result.score_unit,
        others=others,
        others_words=f"dots: the other {len(others)}",
        conf_level=result.conf_level,
    )
    ends = interval_words(top.conf_low, top.conf_high, result.scale, digits)
    return value, f"{named(top.name)}, {level(result)} CI {ends}", of_top


def _scope(result: Leaderboard) -> str:
    clusters = f" ({plural(result.n_clusters, 'cluster')})" if result.n_clusters is not None and result.clusters else ""
    better = ASSUMED if result.direction == "assumed" else "" if result.higher_is_better else "lower is better"
    levels = partitions_named(result.dependence) if not result.clusters and not result.average else ""
    parts = [result.metric, better, result.average, levels]
    basis = f"{result.basis[:1].upper()}{result.basis[1:]}{clusters}"
    return f"{basis}; {', '.join(part for part in parts if part)}"


def _own_items(result: Leaderboard) -> bool:
    """Whether some score is set on items that its model lacks, so that the mean of its own stands beside it."""
    return any(row.own_mean is not None for row in result.rows)


def _models(result: Leaderboard) -> Table:
    """Return one line for each model: its score and interval, its rank set, its tier."""
    digits = score_digits(result)
    own = ", adjusted" if result.different else ", all items"
    same_items = len({row.n_items for row in result.rows}) == 1
    columns = (
        Column(title="Model" if result.contrast == "model" else result.contrast, kind="name"),
        number_column(result, f"Score{own if _own_items(result) else ''}", result.score_unit, digits=digits),
        interval_column(result, digits=digits),
        Column(title="Part", kind="amount"),
        Column(title="Ranks", kind="amount"),
        Column(title="Tier", spare=True),
        Column(title="Rows" if result.different else "Own items", kind="count", spare=True),
        number_column(result, "Own mean", result.score_unit, digits=digits, spare=True),
    )
    rows = tuple(
        (
            row.name,
            row.estimate,
            row.ends,
            "" if result.whole or row.component is None else str(row.component),
            row.ranks.replace("-", "–"),
            short_letters(row.tier),
            None if same_items else row.n_items,
            row.own_mean,
        )
        for row in result.rows
    )
    edges = () if result.graph is None else result.graph.edges
    apart = any(not edge.compared for edge in edges) or any(pair.verdict == "not compared" for pair in result.pairs)
    tiers = f"Models that share a tier letter are not separated{', or not compared' if apart else ''}"
    return Table(
        id="models",
        columns=columns,
        rows=rows,
        caption=f"Scores and possible ranks ({level(result)}, all sets jointly). {tiers}",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )


def _actions(result: Leaderboard) -> list[str]:
    best, actions = result.best(), list[str]()
    if result.direction == "asked":
        actions.append(
            "Declare the direction with "
            + " or ".join(named(Option("higher_is_better", value=value)) for value in (True, False))
        )
    if result.best_if_missing:
        actions.append(
            f"Score what is missing for {and_list((*best, *result.best_if_missing), 3)}; or, if the reason is "
            f"unrelated to the answers, add {named(Option('missing', 'ignorable'))}"
        )
    if not result.whole:
        actions.append("Have the models of different parts answer at least 10 common items")
    elif len(best) > 1 and result.n_items is not None:
        more = "collect more items: evalstats power says how many"
        if result.labels:
            more = "label more of their answers: evalstats label status says how many"
        actions.append(f"Treat those that could be best as tied, or {more}")
    return actions


# --- the evidence ---


def _ranks(result: Leaderboard) -> Section | None:
    ranked = [row for row in result.rows if row.rank_low is not None]
    if not ranked:
        return None
    certain = sum(row.rank_low == row.rank_high for row in ranked)
    count = "No rank is" if not certain else f"{certain} of {len(ranked)} ranks {is_are(certain)}"
    together = "" if result.whole else " of a part"
    promise = f"All rank sets{together} together hold the true ranks with {level(result)} confidence."
    items = _beside_the_lines(result)
    if len(result.rows) == 2 and not items:
        return None
    more = (Items(items=tuple(items)),) if items else ()
    return Section(id="ranks", heading=f"{count} certain", blocks=(Text(text=promise), *more))


def _beside_the_lines(result: Leaderboard) -> list[str]:
    """Say what the lines alone would hide: who may be among the best few, ties, models without an interval or a rank."""
    said: list[str] = []
    for k in sorted({k for row in result.rows for k, _ in row.top if k > 1}) if result.whole else ():
        inside = [row.name for row in result.rows if dict(row.top).get(k)]
        ranked = [row for row in result.rows if row.top]
        if k < len(inside) < len(ranked):
            names = f": {and_list(inside, _NAMED)}" if len(inside) <= _NAMED + 1 else ""
            said.append(f"{len(inside)} models could be among the {k} best{names}.")
    ties = {tuple(sorted((row.name, *row.tied_with))) for row in result.rows if row.tied_with}
    if len(ties) > _FEW_TIES:
        said.append(f"{len(ties)} groups of models share a score; within a group they are sorted by name.")
    else:
        said += [f"The same score: {and_list(names)}; they are sorted by name." for names in sorted(ties)]
    said += [f"{and_list(names)}: {why}." for why, names in _by_reason([(row.reason, row.name) for row in result.rows])]
    without = [(row.rank_reason, row.name) for row in result.rows if row.rank_reason != row.reason]
    said += [f"No rank for {and_list(names)}: {why}." for why, names in _by_reason(without)]
    return said


def _by_reason(reasons: Sequence[tuple[str | None, str]]) -> list[tuple[str, list[str]]]:
    grouped: dict[str, list[str]] = {}
    for reason, name in reasons:
        if reason:
            grouped.setdefault(reason, []).append(name)
    return list(grouped.items())


def _pairs(result: Leaderboard) -> Section | None:
    if not result.pairs:
        return None
    apart = [pair for pair in result.pairs if pair.separated]
    blocks: list[Block] = [Text(text=_separation_words(result))] if len(result.pairs) > 1 else []
    if result.baseline is not None:
        blocks.insert(0, replace(figures.against_baseline(result), table=_pairs_table(result)))
        heading = f"{len(apart)} of {plural(len(result.pairs), 'model')} {is_are(len(apart))} separated from {result.baseline}"
    else:
        are = is_are(len(apart))
        heading = f"{len(apart):,} of {plural(len(result.pairs), 'pair')} {are} separated"
        if len(result.pairs) == 1:
            heading = f"The two models are {'' if apart else 'not '}separated"
        if len(result.pairs) <= _FEW_PAIRS:
            blocks.insert(0, _pairs_table(result))
        elif nearest := _nearest(result):
            blocks.append(Items(items=tuple(nearest)))
    return Section(id="pairs", heading=heading, blocks=tuple(blocks))


def _separation_words(result: Leaderboard) -> str:
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


def _pairs_table(result: Leaderboard) -> Table:
    """Return all pairs of a few models, of many each model against the next line; every pair is in its CSV."""
    every = result.baseline is not None or len(result.pairs) <= _FEW_PAIRS
    pairs = result.pairs
    if not every:
        of = {(pair.first, pair.second): pair for pair in result.pairs}
        names = [row.name for row in result.rows if row.component is not None]
        pairs = tuple(of[each] for each in pairwise(names) if each in of)
    digits = score_digits(result)
    columns = (
        Column(title="Model", kind="name"),
        number_column(result, "Score", result.score_unit, digits=digits)
        if result.baseline
        else Column(title="Against", kind="name"),
        number_column(result, "Difference", digits=digits, sign=True),
        interval_column(result, digits=digits, sign=True),
        Column(title="p (adjusted)", kind="p", spare=True),
        Column(title="Rows" if result.different else "Items", kind="count", spare=True),
        Column(title="Verdict", kind="verdict"),
    )
    same_items = len({pair.n_items for pair in result.pairs}) == 1
    scores = {row.name: row.estimate for row in result.rows}
    rows = tuple(
        (
            pair.first,
            scores[pair.first] if result.baseline else pair.second,
            pair.estimate,
            pair.ends,
            pair.p_adjusted,
            None if same_items else pair.n_items,
            pair.verdict,
        )
        for pair in pairs
    )
    what = (
        f"Each model minus {result.baseline}"
        if result.baseline
        else "All pairs"
        if every
        else "Neighbours in the table"
    )
    return Table(
        id="pairs",
        columns=columns,
        rows=rows,
        caption=what
        if len(result.pairs) == 1
        else f"{what}; adjusted for {len(result.pairs):,} ({_ADJUSTMENTS[result.adjust]})",
        tones=_TONES,
        frame=LateColumns(lambda: result.pairs_frame().to_dict(as_series=False)),
    )


def _nearest(result: Leaderboard) -> list[str]:
    """Name the separated pair that is nearest to chance, and the open pair that is nearest to separation."""

    def words(pair: PairRow) -> str:
        shown = number(None if pair.estimate is None else pair.estimate * result.scale, score_digits(result), sign=True)
        size = with_unit(shown, result.unit)
        return f"{pair.first} against {pair.second}, {size}, adjusted {p_words(pair.p_adjusted)}."

    compared = sorted(
        (pair for pair in result.pairs if pair.p_adjusted is not None), key=lambda pair: pair.p_adjusted or 0.0
    )
    apart, still = ([pair for pair in compared if pair.separated == separated] for separated in (True, False))
    weakest = next((pair for pair in apart if pair.p_adjusted == apart[-1].p_adjusted), None)
    return [
        *([f"The weakest of them: {words(weakest)}"] if weakest is not None else []),
        *([f"The nearest miss: {words(still[0])}"] if still else []),
    ]


def _comparability(result: Leaderboard) -> Section | None:
    graph = result.graph
    drawn = figures.is_worth_drawing(graph)
    # Models that share nearly all items are no news; how many they share stands with the scope.
    if graph is None or (graph.connected and not drawn):
        return None
    counts = [edge.n_items for edge in graph.edges]
    if graph.same_items:
        heading = f"The models saw the same {plural(graph.n_items, 'item')} but were measured differently"
        text = f"Ranks hold within {len(graph.components)} parts; between parts nothing is known."
    else:
        heading = f"The models form {plural(len(graph.groups), 'group')} by the items they saw"
        share = f"{min(counts):,}" + (f" to {max(counts):,}" if len(set(counts)) > 1 else "") if counts else "no"
        text = (
            f"{graph.n_common:,} of {plural(graph.n_items, 'item')} are common to all, and two groups share {share}. Models with "
            f"fewer than {graph.min_shared} in common are not compared."
        )
    blocks: list[Block] = [Text(text=text)]
    if not graph.connected:
        blocks.append(
            Items(items=tuple(f"Part {i}: {and_list(names, _LISTED)}" for i, names in enumerate(graph.components, 1)))
        )
    if drawn:
        blocks.insert(0, figures.comparability(graph))
    return Section(id="comparability", heading=heading, blocks=tuple(blocks))


def _dependence(result: Leaderboard) -> Section | None:
    these, flagged = result.these_items, [row for row in result.dependence if row.flag == "warn"]
    if not flagged and these is None:
        return None
    caption = f"Are item differences clustered? {result.dependence_of}".replace("? ", "? Looked at: ", 1)
    blocks: list[Block] = [dependence_table(result.dependence, caption)]
    if these is not None and these.n_separated:
        best = f"; {and_list(these.best, 3)} could then be best" if these.best else ""
        pairs = plural(these.n_separated, "pair")
        kept = f", {these.n_kept:,} of them still {is_are(these.n_kept)}" if these.n_kept < these.n_separated else ""
        blocks.append(Text(text=f"{pairs} would be separated if items were independent{kept}{best}."))
    main = flagged[0] if these is None else next(row for row in result.dependence if row.factor == these.factor)
    fixed = main.kind == "partition" and not main.copies
    heading = f"The lead varies by {main.factor}" if fixed else f"Items of one {main.factor} behave alike"
    return Section(id="dependence", heading=heading, blocks=tuple(blocks))


def _missing(result: Leaderboard) -> Section | None:
    short = sorted(
        (row for row in result.rows if row.n_missing or row.n_error or row.n_unscored), key=lambda row: -row.n_missing
    )
    if not short:
        return None
    digits, alone = score_digits(result), all(row.n_missing in (row.n_error, row.n_unscored) for row in short)
    columns = (
        Column(title="Model", kind="name"),
        Column(title="Missing", kind="count"),
        Column(title="Errors", kind="count", spare=not alone),
        Column(title="Unscored", kind="count", spare=not alone),
        number_column(result, "Score", result.score_unit, digits=digits),
        interval_column(result, "Worst to best case", digits=digits),
    )
    rows = tuple(
        (
            row.name,
            None if alone else row.n_missing,
            row.n_error or None,
            row.n_unscored or None,
            row.estimate,
            None if row.missing_low is None else (row.missing_low, row.missing_high),
        )
        for row in short[:_LISTED]
    )
    most = f" (the {_LISTED} models with the most)" if len(short) > _LISTED else ""
    caption = (
        f"A model is assumed to compare on items it lacks as on those it has{most}; the last column covers all cases"
    )
    widest = max(((row.missing_high or 0.0) - (row.missing_low or 0.0)) * result.scale for row in short)
    unit = {"pp": " points"}.get(result.unit, f" {result.unit}".rstrip())
    lacking = f"{plural(len(short), 'model')} {conjugate(len(short), 'lack')} scores"
    worst = f", which could move one by {number(widest, digits)}{unit}" if widest else ""
    return Section(
        id="missing",
        heading=f"{lacking}{worst}",
        blocks=(Table(id="missing", columns=columns, rows=rows, caption=caption),),
        news=bool(result.best_if_missing),
    )


def _winner(result: Leaderboard) -> Section | None:
    """Say what the top score is once it is corrected for having been picked; nothing where that changes nothing."""
    winner, digits = result.winner, score_digits(result)
    if winner is None or winner.corrected is None:
        return None
    shown, corrected = (number(value * result.scale, digits) for value in (winner.estimate, winner.corrected))
    if shown == corrected:
        return None
    percent = "%" if result.score_unit == "%" else ""
    ends = interval_words(winner.conf_low, winner.conf_high, result.scale, digits)
    text = (
        f"The top of many scores is inflated by selection. Corrected for that, {winner.name} scores {corrected}{percent} "
        f"({level(result)} CI {ends}) instead of {shown}{percent}."
    )
    return Section(
        id="winner",
        heading=f"Corrected for selection, the leader scores {corrected}{percent}",
        blocks=(Text(text=text),),
    )


def _omnibus(result: Leaderboard) -> Section | None:
    test = result.omnibus
    if test is None or test.p_value <= 1 - result.conf_level:
        return None
    text = f"{test.method} over all models: {p_words(test.p_value)} on {plural(test.n_items, 'item')}."
    fewer = any(pair.verdict in ("better", "worse") for pair in result.pairs)
    heading = (
        "On the items of all, models are not shown to differ" if fewer else "The models are not shown to differ at all"
    )
    return Section(id="omnibus", heading=heading, blocks=(Text(text=text),))


def _resolution(result: Leaderboard) -> Section | None:
    """Say which differences a board of this size can show at all, and how many items a difference of one point needs."""
    detects, n = result.detects, result.n_units
    if detects is None or n is None or len(result.pairs) < 2:
        return None
    size = with_unit(number(detects * result.scale, score_digits(result)), result.unit)
    what = plural_of(" and ".join(result.clusters)) if result.clusters else "items"
    what = f"{result.different} of both" if result.different else what
    text = f"With {n:,} {what} a pair has an 80% chance of detecting a difference of {size} (median of all pairs, not adjusted)."
    point = 0.01
    if (
        result.labels is None
        and result.scale == 1 / point
        and detects > point
        and (more := result.needs(point)) is not None
    ):
        text += f" Detecting 1 {result.unit} would need about {rounded_up(more):,} {what}."
    return Section(id="resolution", heading=f"Differences of {size} or more can be detected", blocks=(Text(text=text),))


def _records(result: Leaderboard) -> Section | None:
    """Say which of the records that followed one another were separated from the one before."""
    rows = result.records()
    if len(rows) < _FEW_RECORDS:
        return None
    apart = sum(row.verdict == "better" for row in rows[1:])
    digits = score_digits(result)
    table = Table(
        id="records",
        columns=(
            Column(title="Day"),
            Column(title=result.contrast.capitalize(), kind="name"),
            number_column(result, "Score", result.score_unit, digits=digits),
            number_column(result, "Minus the one before", digits=digits, sign=True),
            interval_column(result, digits=digits, sign=True),
            Column(title="Told apart", kind="verdict"),
        ),
        rows=tuple(
            (
                f"{row.day:%Y-%m-%d}",
                row.name,
                row.score,
                row.estimate,
                row.ends,
                _TOLD_APART.get(row.verdict or "", "–"),
            )
            for row in rows
        ),
        caption="Models that scored above all before them; intervals and verdicts are adjusted for all pairs of the board",
        most=_SHOWN,
    )
    heading = f"{apart} of {plural(len(rows) - 1, 'record')} {is_are(apart)} separated from the one before"
    return Section(id="records", heading=heading, blocks=(table,))


_EVIDENCE = (_ranks, _pairs, new_task, _records, _resolution, _comparability, _dependence, _missing, _winner, _omnibus)


# --- the method ---


def _method_sections(result: Leaderboard) -> tuple[Section, ...]:
    """Return how it was computed, what it assumes, further numbers, references and provenance."""
    takes = dict.fromkeys(
        text.takes for name in (result.method, result.rank_method) for text in texts_for(name) if text.takes
    )
    lacking = "A model compares with the others on items it lacks as on those it has"
    worst = f"{lacking}; the worst case is in the evidence" if any(row.n_missing for row in result.rows) else ""
    independent = (
        "Published scores are independent of one another; on shared items, differences are usually more precise"
    )
    if result.n_items is not None:
        tested = and_list([row.factor for row in result.dependence])
        how = f"tested by permutation for groups along {tested}, of which a sample would be the clusters"
        how = how if result.dependence else "no column could test it"
        independent = f"The {'clusters' if result.clusters else 'items'} are independent of one another: {how}"
    others = (result.winner, result.omnibus, result.new_task, *result.rows)
    beside = [each.method for each in others if each is not None]
    works = {
        work
        for name in (result.method, result.rank_method, *beside)
        for text in texts_for(name)
        for work in text.sources
    }
    works |= {_HSU} if any(row.best_low is not None for row in result.rows) else set()
    return (
        Section(
            id="method",
            heading="How pairs and ranks are computed",
            blocks=(*(Text(text=text) for text in _paragraphs(result)), *listed("", "", _facts(result)).blocks),
        ),
        listed("assumptions", "What this assumes", (independent, *takes, worst)),
        Section(id="further", heading="Each model and its neighbour in more detail", blocks=_further(result)),
        works_section(works),
        result.origin.section(),
    )


def _paragraphs(result: Leaderboard) -> list[str]:
    """Say how pairs, ranks and the score at the top are computed, each method once."""
    said: set[str] = set()
    paragraphs = [_described(f"Pairs: {result.method}, because {result.method_reason}.", result.method, said)]
    if any(row.rank_low is not None for row in result.rows):
        paragraphs.append(_described(f"Ranks: {result.rank_method}.", result.rank_method, said))
    if (new := result.new_task) is not None:
        paragraphs.append(_described(f"Ranks on a new {new.factor}: {new.reason or new.method}.", new.method, said))
    winner = result.winner
    if winner is not None and winner.method:
        paragraphs.append(_described(f"The score at the top: {winner.method}.", winner.method, said))
    elif winner is not None and winner.reason:
        paragraphs.append(f"The top score is not corrected for selection: {winner.reason}.")
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


def _further(result: Leaderboard) -> tuple[Table, ...]:
    """Return the tables that are not for the first look: what else is known of each model, and neighbours among many."""
    digits = score_digits(result)
    columns = (
        Column(title="Model", kind="name"),
        interval_column(result, titled("To the best", result.unit), digits=digits, sign=True),
        Column(title="Rank alone", kind="amount"),
        number_column(result, "Shrunken", "", digits=digits),
    )
    rows = tuple((row.name, row.to_best, row.ranks_marginal.replace("-", "–"), row.shrunken) for row in result.rows)
    caption = (
        "To the best: interval of the lead over the best of the others; an end at 0 means not the best. Rank "
        "alone: the set of one model alone"
    )
    if any(row.shrunken is not None for row in result.rows):
        caption += ". Shrunken: the score drawn towards the mean of all"
    each = Table(id="further", columns=columns, rows=rows, caption=caption)
    many_pairs = result.baseline is None and len(result.pairs) > _FEW_PAIRS
    return (each, _pairs_table(result)) if many_pairs else (each,)
