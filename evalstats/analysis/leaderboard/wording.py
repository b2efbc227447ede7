"""A leaderboard in words: what is certain, what is open, and what to beware of. Only what is in the result is said."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from evalstats.analysis.compare.result import qualified
from evalstats.analysis.compare.verdict import MOST_MISSING
from evalstats.analysis.leaderboard.comparability import ComparabilityGraph
from evalstats.analysis.leaderboard.result import Leaderboard, LeaderboardRow, PairRow, Winner
from evalstats.analysis.notes import average_sentence, plan_items
from evalstats.analysis.scales import ASSUMED
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table, Tone
from evalstats.document.numbers import interval, number, p_value, plural, scaled, share_in_percent
from evalstats.stats.clusters import Dependence

_LISTED = 4
_LINES = 20
_EDGES = 6
_FEW_GROUPS = 6
_ADJUST: Mapping[str, str] = {
    "max-t": "max-T step-down",
    "holm": "Holm",
    "bh": "Benjamini-Hochberg, a false discovery rate",
    "by": "Benjamini-Yekutieli, a false discovery rate",
}


def leaderboard_sentences(result: Leaderboard) -> list[str]:
    """Who may be the best, how many ranks are certain, what it rests on; then the warnings."""
    return [
        f"{_headline(result)}.",
        *_standing_sentences(result),
        *[f"Warning: {text}." for text in result.warnings],
    ]


def leaderboard_blocks(result: Leaderboard) -> list[Block]:
    """Return the whole leaderboard, the answer first, then the table, the pairs, what is missing, and the method."""
    blocks: list[Block] = [
        Heading(text=f"{plural(result.n_models, 'model')} on {result.benchmark}", level=1),
        Banner(label=_label(result), text=f"{_headline(result)}.", tone=_tone(result)),
        Paragraph(text=" ".join(_standing_sentences(result))),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(models_table(result))
    beside = beside_the_table(result)
    if beside:
        blocks.append(Bullets(items=tuple(beside)))
    blocks.append(pairs_table(result))
    blocks.extend(missing_blocks(result))
    blocks.extend(graph_blocks(result))
    if result.dependence:
        blocks.append(dependence_table(result.dependence, result.dependence_of))
    blocks.append(Bullets(title="Method", items=tuple(_method_items(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=result.notes))
    return blocks


def _label(result: Leaderboard) -> str:
    if not any(row.rank_low for row in result.rows):
        return "no ranks"
    if not _whole(result):
        return "no rank over all"
    if result.direction == "asked":
        return "which way?"
    certain = len(result.best()) == 1 and not result.above_the_ranked() and result.missing_share <= MOST_MISSING
    return "one best" if certain else "best open"


def _whole(result: Leaderboard) -> bool:
    """Whether every model is connected to every other, so that there are ranks over all."""
    return result.graph is None or result.graph.connected


def _tone(result: Leaderboard) -> Tone:
    if result.best_if_missing:
        return "caution"
    tones: Mapping[str, Tone] = {"one best": "good", "best open": "caution"}
    return tones.get(_label(result), "bad")


def _headline(result: Leaderboard) -> str:
    return qualified(_answer(result), result.qualifiers)


def _answer(result: Leaderboard) -> str:
    best, label = result.best(), _label(result)
    if label in ("no ranks", "no rank over all"):
        return _capital(result.rank_reason or "the data leave every rank open")
    ranked = sum(row.rank_low is not None for row in result.rows)
    above = result.above_the_ranked()
    if above:
        score = "higher" if result.higher_is_better else "lower"
        has = f"{_some(above)} {'has' if len(above) == 1 else 'have'} a {score} score and no usable standard error"
        who = f"{best[0]} is the best" if len(best) == 1 else f"{len(best)} ({_some(best)}) may be the best"
        return f"{who} of the {ranked} models that can be ranked; {has}, so which is the best of all is open"
    if result.direction == "asked":
        return _highest(result, best, ranked)
    if len(best) == 1 and result.missing_share > MOST_MISSING:
        return (
            f"{best[0]} is the best of {ranked} on the scores there are, but up to {share_in_percent(result.missing_share)} of a "
            f"model's scores are missing, and {_some(result.best_if_missing)} could overtake it; where the reason has nothing to "
            "do with the answers, --missing ignorable says so"
        )
    if len(best) == 1:
        proven = f"{best[0]} is the best of {ranked}: every other model is shown to be worse"
        return (
            f"{proven}, on the scores there are; missing ones could turn it round" if result.best_if_missing else proven
        )
    if len(best) == ranked:
        return f"Any of the {ranked} models may be the best: the data do not tell"
    return f"{len(best)} of {ranked} models may be the best, the data do not tell which: {_some(best)}"


def _highest(result: Leaderboard, best: Sequence[str], ranked: int) -> str:
    """Say who has the highest score, where it is not known whether that is the best."""
    if len(best) == 1:
        return f"{best[0]} has the highest {result.metric} of {ranked}: every other model is shown to be lower"
    if len(best) == ranked:
        return f"Any of the {ranked} models may have the highest {result.metric}: the data do not tell"
    return f"{len(best)} of {ranked} models may have the highest {result.metric}, the data do not tell which: {_some(best)}"


def _standing_sentences(result: Leaderboard) -> list[str]:
    unit = "" if result.score_unit in ("", "%") else f" in {result.score_unit}"
    better = f"{'higher' if result.higher_is_better else 'lower'} is better"
    if result.direction != "declared":
        better = ASSUMED
    clusters = f" in {result.n_clusters} clusters" if result.n_clusters is not None else ""
    basis = f"{_capital(result.basis)}{clusters}; {result.metric}{unit}, {better}."
    said = [f"{basis}{average_sentence(result.average)}"]
    ranked = [row for row in result.rows if row.rank_low is not None]
    if ranked:
        certain = sum(row.rank_low == row.rank_high for row in ranked)
        said.append(
            f"{certain} of {plural(len(ranked), 'rank')} {'is' if certain == 1 else 'are'} certain; all rank sets "
            f"{'' if _whole(result) else 'of a part '}together hold the true ranks with {_level(result)} confidence."
        )
    if result.winner is not None:
        said.append(_winner_sentence(result.winner, result))
    omnibus = result.omnibus
    if omnibus is not None:
        said.append(
            f"{omnibus.method} over all models: p {_p(omnibus.p_value)} (whether they differ at all; it names no pair)."
        )
    beyond = sum(pair.separated and _includes_0(pair) for pair in result.pairs)
    if beyond:
        said.append(
            f"{plural(beyond, 'pair')} {'is' if beyond == 1 else 'are'} separated by the step-down p though the simultaneous "
            "interval, which is less sharp, includes 0."
        )
    return said


def _includes_0(pair: PairRow) -> bool:
    return pair.conf_low is not None and pair.conf_high is not None and pair.conf_low <= 0 <= pair.conf_high


def _winner_sentence(winner: Winner, result: Leaderboard) -> str:
    if winner.corrected is None:
        return f"The top score ({winner.name}) is not corrected for having been picked as the top: {winner.reason}."
    shown = _score(winner.corrected, result)
    ends = interval(winner.conf_low, winner.conf_high, result.scale, _digits(result))
    picked = f"The top score was picked for being the top: {winner.name} shows {_score(winner.estimate, result)}"
    drawn = (
        f"; drawn towards the mean of all it is {_score(winner.shrunken, result)}"
        if winner.shrunken is not None
        else ""
    )
    if shown == _score(winner.estimate, result):
        return f"{picked}, and {nil_correction(winner)}; {_level(result)} interval {ends}{drawn}."
    return f"{picked}, and corrected for that {shown}, {_level(result)} interval {ends}{drawn}."


def nil_correction(winner: Winner) -> str:
    """Say why a correction for having won leaves the score as it is."""
    if winner.method.startswith("simultaneous"):
        return "the score stands as it is, with an interval that holds for all scores at once"
    return "its lead is large enough that the correction for that is nil"


def models_table(result: Leaderboard) -> Table:
    """One line for each model: its score and interval, its rank set, its tier."""
    digits = _digits(result)
    missing = any(row.n_missing for row in result.rows)
    columns: dict[str, list[str]] = {
        "Model": [row.name for row in result.rows],
        _of("Score", result.score_unit): [scaled(row.estimate, result.scale, digits) for row in result.rows],
        f"{_level(result)} interval": [_own_interval(row, result) for row in result.rows],
    }
    if not _whole(result):
        columns["Part"] = ["" if row.component is None else str(row.component) for row in result.rows]
    columns["Ranks"] = [row.ranks for row in result.rows]
    columns["Tier"] = [row.tier for row in result.rows]
    columns[_of("To the best", result.unit)] = [
        interval(row.best_low, row.best_high, result.scale, digits, sign=True) for row in result.rows
    ]
    columns["Alone"] = [row.ranks_marginal for row in result.rows]
    columns["Shrunken"] = [scaled(row.shrunken, result.scale, digits) for row in result.rows]
    columns["Items"] = ["" if row.n_items is None else f"{row.n_items:,}" for row in result.rows]
    if missing:
        columns["Missing"] = [f"{row.n_missing:,}" for row in result.rows]
    names = tuple(columns)
    after = names.index("Tier") + 1
    return Table(
        columns=names,
        rows=tuple(zip(*columns.values(), strict=True)),
        align="".join("l" if name in ("Model", "Tier") else "r" for name in names),
        caption=(
            f"Scores with their own intervals, and the ranks that the data leave open ({_level(result)}, all sets together). "
            f"{_tier_words(result)}"
        ),
        wide=names[after:],
    )


def _tier_words(result: Leaderboard) -> str:
    """Say what a shared tier letter means here."""
    edges = () if result.graph is None else result.graph.edges
    apart = any(not edge.compared for edge in edges) or any(pair.verdict == "not compared" for pair in result.pairs)
    shared = f"Models that share a tier letter are not separated{', or not compared' if apart else ''}"
    if result.baseline is None:
        return shared
    return f"{shared}; tiers and ranks rest on all pairs, not only on those with {result.baseline}"


def pairs_table(result: Leaderboard) -> Table:
    """Every model against the baseline; without one, each against the next line of the table."""
    tested = sum(pair.verdict != "not compared" for pair in result.pairs)
    family, digits = plural(tested, "pair"), _digits(result)
    if result.baseline is None:
        pairs, caption = _neighbours(result), "Each model against the next line of the table"
    else:
        pairs, caption = list(result.pairs), f"Each model minus {result.baseline}"
    columns = {
        "Model": [pair.first for pair in pairs],
        "Next": [pair.second for pair in pairs],
        _of("Difference", result.unit): [scaled(pair.estimate, result.scale, digits, sign=True) for pair in pairs],
        "Interval": [interval(pair.conf_low, pair.conf_high, result.scale, digits, sign=True) for pair in pairs],
        "p (adjusted)": [p_value(pair.p_adjusted) for pair in pairs],
        "Verdict": [pair.verdict for pair in pairs],
        "Items": ["" if pair.n_items is None else f"{pair.n_items:,}" for pair in pairs],
    }
    if result.baseline is not None:
        del columns["Next"]
    strict = result.adjust in ("max-t", "holm")
    holds = f"{'intervals and p hold' if strict else 'p holds'} for the family of {family}"
    left = len(result.pairs) - tested
    beside = "" if strict else "; the intervals beside are unadjusted, each for its own pair"
    more = f"; {plural(left, 'further pair')} {'was' if left == 1 else 'were'} not compared" if left else ""
    return Table(
        columns=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        align="".join("l" if name in ("Model", "Next", "Verdict") else "r" for name in columns),
        caption=f"{caption}; {holds} ({_ADJUST[result.adjust]}){more}{beside}",
        wide=("Items",),
    )


def _neighbours(result: Leaderboard) -> list[PairRow]:
    of = {(pair.first, pair.second): pair for pair in result.pairs}
    lines = [row for row in result.rows if row.component is not None]
    return [of[one.name, two.name] for one, two in pairwise(lines) if one.component == two.component]


def _own_interval(row: LeaderboardRow, result: Leaderboard) -> str:
    return interval(row.conf_low, row.conf_high, result.scale, _digits(result))


def beside_the_table(result: Leaderboard) -> list[str]:
    """Say what the lines alone would hide: ties, models without an interval or a rank, sets of fewer places."""
    said: list[str] = []
    ties = {tuple(sorted((row.name, *row.tied_with))) for row in result.rows if row.tied_with}
    said.extend(f"The same score: {_some(names)} (listed by name)" for names in sorted(ties))
    for reason, names in _by_reason([(row.reason, row.name) for row in result.rows if row.reason]):
        said.append(f"{_some(names)}: {reason}")
    without = [(row.rank_reason, row.name) for row in result.rows if row.rank_reason and row.rank_reason != row.reason]
    everywhere = len(without) == len(result.rows)
    said.extend(
        f"No rank for {'any model' if everywhere else _some(names)}: {reason}" for reason, names in _by_reason(without)
    )
    for k in sorted({k for row in result.rows for k, _ in row.top if k > 1}) if _whole(result) else ():
        inside = [row.name for row in result.rows if dict(row.top).get(k)]
        ranked = [row for row in result.rows if row.top]
        if k < len(ranked) and len(inside) < len(ranked):
            said.append(f"May be among the {k} best: {_some(inside, _LINES)}")
    return said


def _by_reason(found: Sequence[tuple[str | None, str]]) -> list[tuple[str, list[str]]]:
    grouped: dict[str, list[str]] = {}
    for reason, name in found:
        grouped.setdefault(str(reason), []).append(name)
    return list(grouped.items())


def missing_blocks(result: Leaderboard) -> list[Block]:
    """Say which models miss items, and how far these could move their scores."""
    short = [row for row in result.rows if row.n_missing or row.n_error or row.n_unscored]
    if not short:
        return []
    shown = sorted(short, key=lambda row: -row.n_missing)[:_LINES]
    more = f"; the {len(shown)} with the most are shown" if len(shown) < len(short) else ""
    bounded = any(row.missing_low is not None for row in short)
    digits = _digits(result)
    ends = [interval(row.missing_low, row.missing_high, result.scale, digits) for row in shown]
    columns = {
        "Model": [row.name for row in shown],
        "Items": [f"{row.n_items or 0:,}" for row in shown],
        "Missing": [f"{row.n_missing:,}" for row in shown],
        "Errors": [f"{row.n_error:,}" for row in shown],
        "Unscored": [f"{row.n_unscored:,}" for row in shown],
        _of("Score", result.score_unit): [scaled(row.estimate, result.scale, digits) for row in shown],
        "Lowest and highest": ["–" if end == "none" else end for end in ends],
    }
    if not bounded:
        del columns["Lowest and highest"]
    what = (
        "the score if all that is missing had the lowest or the highest value"
        if bounded
        else "the metric has no declared bounds"
    )
    table = Table(
        columns=tuple(columns),
        rows=tuple(zip(*columns.values(), strict=True)),
        align="l" + "r" * (len(columns) - 1),
        caption=f"{plural(len(short), 'model')} of {result.n_models} with missing scores{more}; {what}",
        wide=("Unscored", "Errors"),
    )
    return [Heading(text="Missing data", level=2), table]


def graph_blocks(result: Leaderboard) -> list[Block]:
    """Show who saw the same items and was measured alike, where that is not so of all."""
    graph = result.graph
    if graph is None or (graph.same_items and graph.connected):
        return []
    blocks: list[Block] = [Heading(text="Who can be compared", level=2), Paragraph(text=_graph_words(graph))]
    if not graph.connected:
        parts = [f"Part {i}: {_some(names, _LINES)}" for i, names in enumerate(graph.components, start=1)]
        blocks.append(Bullets(items=tuple(parts)))
    if len(graph.groups) <= _FEW_GROUPS:
        same = [group for group in graph.groups if len(group.models) > 1]
        blocks.extend(
            Paragraph(text=f"On the same {plural(group.n_items, 'item')}: {_some(group.models, _LINES)}.")
            for group in same
        )
    if len(graph.groups) < 3:
        return blocks
    most = _LINES if any(not edge.compared for edge in graph.edges) else _EDGES
    edges = sorted(graph.edges, key=lambda edge: (edge.compared, edge.n_items))[:most]
    more = (
        f"; {len(edges)} of {len(graph.edges)} are shown, those with the fewest"
        if len(edges) < len(graph.edges)
        else ""
    )
    blocks.append(
        Table(
            columns=("Model", "Other model", "Shared items", "Compared"),
            rows=tuple(
                (edge.first, edge.second, f"{edge.n_items:,}", "yes" if edge.compared else "no") for edge in edges
            ),
            align="llrl",
            caption=f"Items that two models share (one model stands for its group){more}",
        )
    )
    return blocks


def _graph_words(graph: ComparabilityGraph) -> str:
    counts = [edge.n_items for edge in graph.edges]
    share = f"{min(counts):,}" + (f" to {max(counts):,}" if len(set(counts)) > 1 else "")
    few = sum(not edge.compared for edge in graph.edges)
    told = f" {plural(few, 'pair')} of them {'is' if few == 1 else 'are'} not compared." if few else ""
    if graph.same_items:
        return f"The models saw the same {plural(graph.n_items, 'item')} and were measured differently.{told}"
    apart = "" if graph.measured_alike else ", or that were measured differently,"
    return (
        f"The models form {plural(len(graph.groups), 'group')} by the items they saw, out of {graph.n_items:,}; "
        f"{graph.n_common:,} are common to all. Two groups share {share} items. Models that share fewer than "
        f"{graph.min_shared}{apart} are not compared with each other.{told}"
    )


def dependence_table(rows: Sequence[Dependence], of: str) -> Table:
    """List the groups that were not declared as clusters, with what speaks for a dependence within them."""
    return Table(
        columns=("Factor", "Levels", "Design effect", "Band if unrelated", "p (adjusted)", "Flag"),
        rows=tuple(
            (
                row.factor,
                str(row.n_levels),
                number(row.design_effect),
                interval(row.band_low, row.band_high),
                p_value(row.p_adjusted),
                "" if row.flag == "none" else row.flag,
            )
            for row in rows
        ),
        align="lrrrrl",
        caption=f"Do differences run in groups that were not declared as clusters? Looked at: {of}",
        wide=("Band if unrelated",),
    )


def _method_items(result: Leaderboard) -> list[str]:
    """Return short statements on how the answer was reached."""
    kind = result.metric_kind + ("" if result.higher_is_better else ", lower is better")
    items = [
        f"Pairs: {result.method}, because {result.method_reason}.",
        f"Ranks: {result.rank_method}. {_rank_set_words(result)}",
        (
            "In the full table (Markdown, HTML and wide terminals): To the best is the interval of the lead over the best of the "
            "other models (Hsu 1996), and a model whose interval ends at 0 from below is not the best. Alone is the rank set of "
            "one model looked at by itself."
        ),
        f"Estimand: {result.estimand}.",
        f"Metric: {result.metric} ({kind}) on {result.benchmark}.",
    ]
    return [*items, *plan_items(result.plan), _sources(result)]


def _rank_set_words(result: Leaderboard) -> str:
    made = (
        "A rank set runs from 1 + the models shown to be better to the number of models less those shown to be worse (Mogstad et "
        "al. 2024)"
    )
    if result.rank_method.startswith("counted from"):
        return f"{made}."
    return f"{made}; the direction is protected too, so a set may leave open what the two-sided p of a pair separates."


def _sources(result: Leaderboard) -> str:
    digests = [f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources]
    shown = ", ".join(digests[:_LISTED])
    more = f" and {len(digests) - _LISTED} more" if len(digests) > _LISTED else ""
    drawn = "no random draws" if result.exact else f"{result.n_resamples or 0:,} draws"
    return f"Runs: {shown}{more}. evalstats {result.version}, {drawn}, seed {result.seed}."


def _of(name: str, unit: str) -> str:
    return f"{name} ({unit})" if unit else name


def _score(value: float | None, result: Leaderboard) -> str:
    percent = "%" if result.score_unit == "%" else ""
    return f"{scaled(value, result.scale, _digits(result))}{percent}"


def _digits(result: Leaderboard) -> int:
    """Return the digits that show the first one of a usual standard error; at least one, as everywhere."""
    errors = sorted(row.std_error * result.scale for row in result.rows if row.std_error)
    return 1 if not errors else min(max(1, -math.floor(math.log10(errors[len(errors) // 2]))), 6)


def _level(result: Leaderboard) -> str:
    return f"{100 * result.conf_level:g}%"


def _p(p: float) -> str:
    shown = p_value(p)
    return shown if shown.startswith(("<", ">")) else f"= {shown}"


def _some(names: Sequence[str], most: int = _LISTED) -> str:
    """Write some names; of many the first ones and how many more there are."""
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
