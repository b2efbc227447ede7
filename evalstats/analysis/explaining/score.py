"""One system's score explained to somebody who is no statistician."""

from evalstats.analysis.explaining.words import (
    described,
    percent,
    section,
    sources_of,
    with_unit,
)
from evalstats.analysis.method_rows import MethodRow
from evalstats.analysis.score.result import Score
from evalstats.document.blocks import Block, Heading, Paragraph
from evalstats.document.numbers import interval, number, plural


def explain_score(score: Score) -> list[Block]:
    """Return the explanation of a score: question, method, assumptions, numbers, and the other rows."""
    methods = (score.method, *(row.method for row in score.rows))
    return [
        Heading(text=f"{score.name} on {score.benchmark}: what this score says", level=1),
        Heading(text="What was asked", level=2),
        Paragraph(text=_question(score)),
        Heading(text="How it was answered", level=2),
        Paragraph(text=" ".join([f"The method is {score.method}.", *(text.how for text in described(score.method))])),
        *section("What this takes for granted, and how it could fail here", _assumptions(score)),
        *section("What the numbers mean", _numbers(score)),
        *section("What the other rows say", [_row(row, score) for row in score.rows if row.role != "headline"]),
        *sources_of(methods),
    ]


def _question(score: Score) -> str:
    n = plural(score.n_items, "item")
    what = f"What is the mean {score.metric} of {score.name} on {score.benchmark}"
    if score.clusters:
        groups = " and ".join(score.clusters)
        return (
            f"{what}, over new levels of {groups} like the {score.n_clusters} that are here? The {n} count by the "
            f"{groups} they belong to, since what they share makes them go the same way."
        )
    return (
        f"{what}, over new items like these {n}? The interval says how far the score might move had others of the "
        "kind been drawn; it says nothing of items of another kind."
    )


def _assumptions(score: Score) -> list[str]:
    found = [text.takes for text in described(score.method) if text.takes]
    if score.clusters:
        found.append(f"The {score.n_clusters} groups are taken as independent of each other")
    else:
        found.append(
            f"The {score.n_items} items are taken as independent of each other: if they share passages, templates "
            "or authors, the interval is too short"
        )
    lost = score.n_error + score.n_unscored
    if lost:
        found.append(
            f"{plural(lost, 'row')} without a score ({score.n_error} harness errors, {score.n_unscored} unscored) "
            f"{'is' if lost == 1 else 'are'} left out, as if the rest were like {'it' if lost == 1 else 'them'}"
        )
    if score.n_trials > score.n_items:
        found.append(
            f"{score.n_trials:,} trials are averaged within the {score.n_items} items first: they make each "
            "item's mean surer and add no items"
        )
    if len(score.runs) == 1:
        found.append("There is one run, so how far a rerun would move is not in the interval")
    return found


def _numbers(score: Score) -> list[str]:
    shown = with_unit(score.estimate, score.scale, score.unit)
    level = percent(score.conf_level)
    if score.conf_low is None or score.conf_high is None:
        return [f"The observed score is {shown}. It has no interval: {score.reason or 'the data give none'}"]
    ends = [with_unit(end, score.scale, score.unit) for end in (score.conf_low, score.conf_high)]
    found = [
        (
            f"The observed score is {shown}. The {level} interval runs from {ends[0]} to {ends[1]}: the true "
            "scores that these data do not contradict. It is about the mean score, not about the chance of a "
            "right answer to one item"
        )
    ]
    low, high = (score.estimate == end for end in (score.conf_low, score.conf_high))
    if (low or high) and score.unit == "%":
        found.append(
            f"That every item came out {'right' if high else 'wrong'} does not make the true score {shown}: so "
            f"few items cannot rule out {ends[0] if high else ends[1]}"
        )
    if score.pass_hat:
        k, estimate, *_ = score.pass_hat[-1]
        found.append(
            f"Of {k} trials of one item all succeed in {number(100 * estimate, 1)}% of cases on average: "
            "consistency is another quantity than the mean, and always lower"
        )
    return found


def _row(row: MethodRow, score: Score) -> str:
    what = "; ".join(text.what for text in described(row.method))
    if row.conf_low is None or row.conf_high is None:
        return f"{row.method} ({what}): no interval here, since {row.note or 'it does not apply'}"
    ends = interval(row.conf_low, row.conf_high, score.scale)
    if score.conf_low is None or score.conf_high is None:
        return f"{row.method} ({what}): {ends}"
    own, other = row.conf_high - row.conf_low, score.conf_high - score.conf_low
    ratio = own / other if other > 0 else 1.0
    width = (
        "about as wide"
        if abs(ratio - 1) <= 0.05
        else f"{100 * abs(ratio - 1):.0f}% {'wider' if ratio > 1 else 'narrower'}"
    )
    return f"{row.method} ({what}): {ends}, {width}"
