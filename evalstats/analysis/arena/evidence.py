"""The evidence for a ranking of votes: who was compared, who is separated, other choices, style, categories, suspect checks."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import polars as pl

from evalstats.analysis.arena import figures
from evalstats.analysis.arena.checks import side_words, weak_links_of
from evalstats.analysis.arena.figures import apart, compared, digits_of, percent, rough, unit_of, whole
from evalstats.analysis.arena.labels import is_misrated
from evalstats.analysis.arena.result import (
    Alternative,
    ArenaRanking,
    CheckLine,
    CheckStatus,
    PairContrast,
)
from evalstats.analysis.result import level
from evalstats.document.model import Block, Column, LateColumns, Section, Table, Text, Tone, Value, sentence
from evalstats.document.numbers import interval_words, number, p_words
from evalstats.grammar import and_list, conjugate, is_are, plural

_SHOWN = 12
_IN_MATRIX = 12  # a heat map of more models is no longer read
_WORDS: Mapping[CheckStatus, str] = {"ok": "passed", "warning": "suspect", "limit": "limited", "not run": "not run"}
_TONES: Mapping[str, Tone] = {"suspect": "bad", "limited": "caution", "not run": "neutral"}
_ORDER: Mapping[CheckStatus, int] = {"warning": 0, "limit": 1, "ok": 2, "not run": 3}
_OF_STYLE = ("without covariates", "with style")
_PATTERNS = {"side": "one side", "disagreement": "against the ratings", "loyalty": "one model"}
# What a check that warns found; its sentence below has the numbers.
_HEADINGS: Mapping[str, str] = {
    "pairing": "Models were paired by similar ratings",
    "sides": "One side wins between equal models",
    "raters": "Some raters vote unlike the others",
    "duplicates": "Some votes repeat an earlier one",
    "bursts": "Votes came in bursts",
    "identity": "Some answers name their model",
    "one rater": "Without one rater another model leads",
    "few votes": "Without a few votes another model leads",
    "deviance": "Some pairs contradict their ratings",
    "calibration": "Predicted shares miss the outcomes",
    "prediction": "Ratings do not predict new votes",
    "transitivity": "Majorities are cyclic",
    "cycles": "Much of the preference is cyclic",
    "drift": "Ratings change over time",
}


def evidence(result: ArenaRanking) -> tuple[Section, ...]:
    """Return the parts in the order in which a sceptic asks."""
    found = [
        _connections(result),
        _labels(result),
        _pairs(result),
        _choices(result),
        _style(result),
        _categories(result),
        *(
            Section(
                id=f"check-{line.check.replace(' ', '-')}",
                heading=_HEADINGS[line.check],
                blocks=(Text(text=sentence(line.finding)), *_details(result, line.check)),
            )
            for line in flagged(result)
        ),
        _checks(result),
    ]
    return tuple(section for section in found if section is not None)


def flagged(result: ArenaRanking) -> list[CheckLine]:
    """Return the checks of which honest votes hardly show the like."""
    return [line for line in result.checks if line.status == "warning"]


def turned_choices(result: ArenaRanking) -> list[Alternative]:
    """Return the other choices under which another model leads."""
    return [each for each in result.alternatives if each.reason is None and each.new_first is not None]


def nearest_open(result: ArenaRanking) -> PairContrast | None:
    """Return the pair of the leader that further votes would separate first; else any such pair."""
    open_ = [pair for pair in result.pairs if pair.verdict == "not separated" and pair.p_adjusted is not None]
    first = [pair for pair in open_ if pair.more_votes and result.rows[0].name in (pair.first, pair.second)]
    return min(first or open_, key=lambda pair: (pair.more_votes is None, pair.more_votes or 0), default=None)


def _labels(result: ArenaRanking) -> Section | None:
    """Show what the judge, people's votes and both together say of each rating, and how the judge errs."""
    if result.labels is None:
        return None
    rows, digits = [(row, row.labels) for row in result.rows if row.labels is not None], digits_of(result)
    wrong = sum(is_misrated(account) for _, account in rows)
    head = (
        f"The judge misrates {wrong} of {plural(len(rows), 'model')}"
        if wrong
        else "The judge is not shown to misrate any model"
    )
    table = Table(
        id="labels",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Corrected", kind="number", digits=digits),
            Column(title="Judge alone", kind="number", digits=digits),
            Column(title="Judge too high by", kind="number", digits=digits, sign=True),
            Column(title=f"{level(result)} CI", kind="interval", digits=digits, sign=True),
            Column(title="Labels alone", kind="number", digits=digits),
            Column(title="Labels", kind="count"),
        ),
        rows=tuple(
            (
                row.name,
                row.estimate,
                each.judged.estimate,
                each.estimate,
                each.ends,
                each.labels_only.estimate,
                each.n_labels,
            )
            for row, each in rows
        ),
        caption="Ratings by the judge's votes, by people's, and by both; each interval is for its model alone",
        most=_SHOWN,
    )
    return Section(id="labels", heading=head, blocks=(table,))


# --- who was compared ---


def _connections(result: ArenaRanking) -> Section | None:
    graph = result.graph
    if graph is None or (graph.one_list and not graph.connected):
        return None
    if not graph.connected:
        table = Table(
            id="parts",
            columns=(
                Column(title="Part", kind="count"),
                Column(title="Size", kind="count"),
                Column(title="Models", kind="name"),
            ),
            rows=tuple((k, len(part), and_list(part, 3)) for k, part in enumerate(graph.components, 1)),
            caption="Parts within which every model beat every other, directly or by a chain",
            most=_SHOWN,
        )
        prior = (
            f" Only the prior of {result.prior:g} wins and losses puts them on one scale." if result.prior > 0 else ""
        )
        text = f"Ratings hold within a part only: between parts one side never won, or nobody voted.{prior}"
        heading = f"The votes leave {plural(len(graph.components), 'part')}"
        if graph.unbeaten:
            text += f" {and_list(graph.unbeaten)} never lost, so no rating is high enough."
        if graph.winless:
            text += f" {and_list(graph.winless)} never won, so no rating is low enough."
        return Section(id="parts", heading=heading, blocks=(Text(text=text), table))
    weak = weak_links_of(graph)
    if not weak:
        return None
    table = Table(
        id="links",
        columns=(
            Column(title="Group", kind="name"),
            Column(title="Models", kind="count"),
            Column(title="Fewer are its"),
            Column(title="Votes", kind="number"),
        ),
        rows=tuple((and_list(link.group, 3), link.n_models, link.side, link.n_wins) for link in graph.links),
        caption="Groups by the votes that tie them to the rest (a tie is half of one)",
        most=_SHOWN,
    )
    heading = f"{plural(len(weak), 'group')} {conjugate(len(weak), 'rest')} on fewer than 10 votes"
    text = "Without these votes the group could not be compared with the others."
    return Section(id="links", heading=heading, blocks=(Text(text=text), table))


# --- who is separated ---


def _pairs(result: ArenaRanking) -> Section | None:
    judged = compared(result)
    if not judged or not result.has_ranks:
        return None
    table, neighbours = _neighbours(result), _neighbouring(result)
    shown = sum(pair.verdict != "not separated" for pair in neighbours)
    heading = f"{shown or 'None'} of {plural(len(neighbours), 'pair')} of neighbours {is_are(shown)} separated"
    if len(judged) == 1:
        heading = "The two models are separated" if apart(judged) else "The two models are not separated"
    matrix = figures.wins(result, table) if whole(result) and 2 < len(result.rows) <= _IN_MATRIX else None
    return Section(id="pairs", heading=heading, blocks=(matrix or table,))


def _neighbouring(result: ArenaRanking) -> list[PairContrast]:
    """Return each model against the next line of its part."""
    of = {(pair.first, pair.second): pair for pair in result.pairs}
    lines = [(one.name, two.name) for rows in result.parts for one, two in pairwise(rows)]
    return [of[names] for names in lines if names in of]


def _neighbours(result: ArenaRanking) -> Table:
    pairs = _neighbouring(result)
    return Table(
        id="pairs",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Lead", kind="number", digits=digits_of(result), sign=True),
            Column(title="Wins", kind="amount"),
            Column(title=f"{level(result)} CI (%)", kind="interval", digits=0, scale=100, spare=True),
            Column(title="p adjusted", kind="p"),
            Column(title="More votes", kind="amount", spare=True),
            Column(title="Over the next", kind="name", spare=True),
        ),
        rows=tuple(
            (
                pair.first,
                pair.estimate,
                percent(pair.win_probability),
                None if pair.win_low is None else (pair.win_low, pair.win_high),
                pair.p_adjusted,
                "0"
                if pair.verdict in ("better", "worse")
                else "–"
                if pair.more_votes is None
                else rough(pair.more_votes),
                pair.second,
            )
            for pair in pairs
        ),
        caption=(
            f"Each model against the next: the lead in {unit_of(result)}, how often it wins decided votes"
            + ("" if result.labels else ", and how many more votes would separate the two with 80% power")
        ),
        most=_SHOWN,
        frame=LateColumns(lambda: result.pairs_frame().to_dict(as_series=False)),
    )


# --- what the ratings hang on ---


def _choices(result: ArenaRanking) -> Section | None:
    known = [each for each in result.alternatives if each.reason is None and any(v is not None for v in each.ratings)]
    if not known:
        return None
    turned = turned_choices(result)
    heading = "No other choice changes who leads"
    if turned:
        heading = f"{turned[0].new_first} leads under another choice"
    digits, swaps = digits_of(result), any(each.n_swaps for each in known)
    table = Table(
        id="choices",
        columns=(
            Column(title="Other choice", kind="text"),
            Column(title="Largest move", kind="number", digits=digits, sign=True),
            Column(title="Of", kind="name"),
            *([Column(title="Pairs turned", kind="count")] if swaps else []),
            Column(title="Leads", kind="name", spare=True),
        ),
        rows=tuple(
            (
                each.title,
                each.largest_move,
                each.moved or "–",
                *([each.n_swaps] if swaps else []),
                each.new_first or ("the same" if turned else None),
            )
            for each in known
        ),
        caption=f"The same votes under other choices; moves in {unit_of(result)}",
        frame=pl.DataFrame(
            [
                {"choice": each.title, "model": row.name, "estimate": value}
                for each in known
                for row, value in zip(result.rows, each.ratings, strict=True)
            ],
            infer_schema_length=None,
        ).to_dict(as_series=False),
    )
    return Section(id="choices", heading=heading, blocks=(table,), news=bool(turned))


def _style(result: ArenaRanking) -> Section | None:
    # The check of the sides tells of the side, where it was made.
    told = any(line.check == "sides" for line in result.checks)
    rows = [row for row in result.covariates if row.name != "side" or not told]
    clear = [row for row in rows if row.excludes_zero]
    if not clear:
        return None
    of_side, of_style = "the side between equals", "one SD of (a - b)/(a + b)"
    what = dict.fromkeys(of_side if row.name == "side" else of_style for row in rows)
    # The side that is named is the first one, whichever is preferred.
    titles = [side_words(replace(row, estimate=1.0)) if row.name == "side" else row.name for row in rows]
    table = Table(
        id="style",
        columns=(
            Column(title="What", kind="name"),
            Column(title="Log-odds", kind="number", digits=3, sign=True),
            Column(title=f"{level(result)} CI", kind="interval", digits=3),
            Column(title="p", kind="p"),
            Column(title="Points", kind="number", digits=digits_of(result), sign=True),
            Column(title="Held equal"),
        ),
        rows=tuple(
            (title, row.estimate, row.ends, row.p_value, row.points, "yes" if row.held else "no")
            for title, row in zip(titles, rows, strict=True)
        ),
        caption=f"Effects on a vote besides the model: {'; '.join(what)}",
        frame=_frame(rows),
    )
    text = "An association, not necessarily the cause."
    styled = [row for row in clear if row.name != "side"]
    first = side_words(clear[0])
    heading = f"{first[:1].upper()}{first[1:]} is preferred"
    if styled:
        heading = f"Answers with {'more' if styled[0].estimate > 0 else 'less'} {styled[0].name} are preferred"
    other = next((each for each in result.alternatives if each.key in _OF_STYLE and each.reason is None), None)
    arrows = figures.choice(result, other, table) if styled and other else None
    return Section(id="style", heading=heading, blocks=(Text(text=text), arrows or table))


def _categories(result: ArenaRanking) -> Section | None:
    found = result.categories
    if found is None:
        return None
    if found.reason is not None:
        heading = f"No ratings by {found.by}"
        return Section(id="categories", heading=heading, blocks=(Text(text=sentence(found.reason)),))
    shown = found.p_value is not None and found.p_value <= 1 - result.conf_level
    heading = f"Ratings differ by {found.by}" if shown else f"No difference by {found.by} is established"
    digits, unit = digits_of(result), unit_of(result)
    test = "" if found.p_value is None else f"Test of any difference: {p_words(found.p_value)}. "
    said = [f"{test}Departures from the overall rating are shrunk towards 0"]
    if found.tau is not None:
        said[0] += f"; their SD is {number(found.tau, digits)} {unit}"
        if found.tau_low is not None:
            said[0] += f" ({level(result)} CI {interval_words(found.tau_low, found.tau_high, 1.0, digits)})"
    ends = [(row.conf_low, row.conf_high) for row in found.rows]
    known = sum(low is not None for low, _ in ends)
    clear = sum(low is not None and high is not None and not low <= 0 <= high for low, high in ends)
    by_chance = (1 - result.conf_level) * known
    said.append(f"{clear} of {plural(known, 'cell')} exclude 0; chance alone gives about {by_chance:.0f}")
    if found.left_out:
        said.append(f"Dropped: {and_list([name for name, _ in found.left_out])} ({found.left_out[0][1]})")
    # Of two levels a model's departures are each other's mirror image: rounding must not order them.
    rows = sorted(found.rows, key=lambda row: -round(abs(row.deviation or 0.0) / (row.std_error or float("inf")), 9))
    intervals = [None if row.conf_low is None else (row.conf_low, row.conf_high) for row in rows]
    table = Table(
        id="categories",
        columns=(
            Column(title=found.by, kind="name"),
            Column(title="Model", kind="name"),
            Column(title="Departure", kind="number", digits=digits, sign=True),
            Column(title=f"{level(result)} CI", kind="interval", digits=digits),
            Column(title="Votes", kind="count", spare=True),
        ),
        rows=tuple(
            (row.category, row.model, row.deviation, interval, row.n_votes)
            for row, interval in zip(rows, intervals, strict=True)
        ),
        caption=f"Departure of a model from its overall rating ({unit}), the clearest first",
        most=_SHOWN,
        frame=_frame(rows),
    )
    text = Text(text=" ".join(map(sentence, said)))
    return Section(id="categories", heading=heading, blocks=(text, figures.categories(result, table) or table))


# --- whether to trust the votes, and the model ---


def _checks(result: ArenaRanking) -> Section | None:
    looked = [line for line in result.checks if line.check != "connected"]
    if not looked:
        return None
    passed = sum(line.status == "ok" for line in looked)
    run = sum(line.status != "not run" for line in looked)
    left = f", {len(looked) - run} not run" if run < len(looked) else ""
    heading = (
        f"{passed} of {plural(run, 'check')} passed{left}" if run else f"None of {len(looked)} checks could be run"
    )
    lines = sorted(looked, key=lambda line: _ORDER[line.status])
    table = Table(
        id="checks",
        columns=(Column(title="Check"), Column(title="p", kind="p"), Column(title="Result", kind="verdict")),
        rows=tuple((line.title, line.p_value, _WORDS[line.status]) for line in lines),
        caption="Checks of the votes and of the model; the CSV has each result",
        tones=_TONES,
        frame=_frame(lines),
    )
    return Section(id="checks", heading=heading, blocks=(table,), news=passed < run)


def _raters_table(result: ArenaRanking) -> Table | None:
    flags = () if result.trust is None else result.trust.raters
    return _listed(
        "raters",
        (
            Column(title="Rater", kind="name"),
            Column(title="Votes", kind="count"),
            Column(title="Pattern"),
            Column(title="Evidence", kind="amount"),
            Column(title="What", spare=True),
        ),
        [
            (flag.rater, flag.n_votes, _PATTERNS.get(flag.check, flag.check), _e_words(flag.e_value), flag.detail)
            for flag in flags
        ],
        "Raters flagged at a false discovery rate of 5%; evidence is at most 1 on average for an honest one",
        flags,
    )


def _e_words(value: float) -> str:
    """Write an e-value: whole numbers up to a million, then powers of ten."""
    return f"{value:,.0f}" if value < 1e6 else f"{value:.1e}"


def _worst_pairs(result: ArenaRanking) -> Table | None:
    pairs = () if result.fit is None else result.fit.worst_pairs
    return _listed(
        "worst-pairs",
        (
            Column(title="Model", kind="name"),
            Column(title="Against", kind="name"),
            Column(title="Votes", kind="count"),
            Column(title="Won", kind="amount"),
            Column(title="Predicted", kind="amount"),
            Column(title="Residual (SE)", kind="number", sign=True),
        ),
        [(p.first, p.second, p.n_votes, percent(p.observed), percent(p.expected), p.residual) for p in pairs],
        "Pairs that go least as the ratings predict (a tie is half a win)",
        pairs,
    )


def _drift_figure(result: ArenaRanking) -> Block | None:
    found = result.drift
    if found is None:
        return None
    rows = sorted((row for row in found.models if row.flagged), key=lambda row: row.p_adjusted)
    table = _listed(
        "drift",
        (
            Column(title="Model", kind="name"),
            Column(title=f"Change a {found.period}", kind="number", digits=digits_of(result), sign=True),
            Column(title="SE", kind="number", digits=digits_of(result)),
            Column(title="p adjusted", kind="p"),
        ),
        [(row.model, row.slope, row.std_error, row.p_adjusted) for row in rows],
        f"Models whose rating changes against those that are there all the time ({unit_of(result)}; Holm over all models)",
        found.ratings,
    )
    return figures.drift(result, table) or table


def _details(result: ArenaRanking, check: str) -> tuple[Block, ...]:
    block = _DETAILS[check](result) if check in _DETAILS else None
    return (block,) if block else ()


_DETAILS: Mapping[str, Callable[[ArenaRanking], Block | None]] = {
    "raters": _raters_table,
    "deviance": _worst_pairs,
    "drift": _drift_figure,
}


def _listed(
    name: str, columns: tuple[Column, ...], rows: Sequence[tuple[Value, ...]], caption: str, behind: Sequence[Any]
) -> Table | None:
    """Return a table of what a check found, all of it in the CSV; None where it found nothing."""
    if not rows:
        return None
    return Table(id=name, columns=columns, rows=tuple(rows), caption=caption, most=_SHOWN, frame=_frame(behind))


def _frame(rows: Sequence[Any]) -> dict[str, list[object]]:
    values = [asdict(row) for row in rows]
    return pl.DataFrame(values, infer_schema_length=None).to_dict(as_series=False) if values else {}
