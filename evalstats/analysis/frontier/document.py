"""What is said of a frontier, and its figure."""

from dataclasses import replace

from evalstats.analysis.costs import WORDS, amount, cost_word
from evalstats.analysis.design.metric import asked_direction
from evalstats.analysis.frontier.result import Frontier, FrontierRow, Standing
from evalstats.analysis.provenance import placed
from evalstats.analysis.result import level, shown_numbers
from evalstats.document.model import (
    Column,
    Document,
    Figure,
    Interval,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    interval_column,
    number_column,
)
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number, share_in_percent, with_unit
from evalstats.grammar import and_list, first_lines, is_are, plural

_WORDS: dict[Standing, str] = {"on the frontier": "on the frontier", "open": "not settled", "dominated": "dominated"}
_TONES: dict[str, Tone] = {"on the frontier": "good", "not settled": "caution", "dominated": "bad"}
_NAMED, _SHOWN = 4, 20


def _figure(result: Frontier) -> Figure:
    """Return the figure of every system's score against its cost, with the frontier as observed."""
    rows = result.rows
    unit = f" ({result.score_unit})" if result.score_unit else ""
    best = [row.name for row in rows if row.on_frontier]
    less = "" if result.higher_is_better else ", less is better"
    return Figure(
        id="frontier",
        plot="frontier",
        rows={
            "model": [row.name for row in rows],
            "cost": [row.cost for row in rows],
            "cost_low": [row.cost_low for row in rows],
            "cost_high": [row.cost_high for row in rows],
            **shown_numbers(rows, result.scale),
            "on_frontier": [row.on_frontier for row in rows],
            "kind": [row.standing for row in rows],
            "tone": ["good" if row.standing == "on the frontier" else "neutral" for row in rows],
            "settled": [row.standing != "open" for row in rows],
            "weak": [row.standing == "dominated" for row in rows],
        },
        options={
            "x_title": f"{WORDS[result.cost]}, mean of an item",
            "y_title": f"{result.metric}{unit}{less}, {100 * result.conf_level:g}% intervals both ways",
            "reverse_y": not result.higher_is_better,
            "keys": dict(_WORDS),
        },
        alt=f"{result.metric} against cost of {plural(len(rows), 'system')}; on the frontier: {', '.join(best)}.",
        caption="Score against cost; shaded: beaten by another system; a filled point stands in nearly all resamples, a hollow "
        "one is not settled.",
    )


def document(result: Frontier) -> Document:
    """Return what is said of a frontier."""
    what = cost_word(result.cost)
    settled = all(row.standing != "open" for row in result.rows)
    within = f" in {plural(result.n_clusters, 'cluster')}" if result.n_clusters else ""
    asked = asked_direction(result.direction)
    users = f", on different {result.different}" if result.different else ""
    items = f"{result.n_items:,} rows" if users else f"the {plural(result.n_items, 'item')}"
    whose = f", different {result.different} for each system" if users else " that every system has"
    value, words, drawn = _number(result)
    return Document(
        kind="frontier",
        title=f"Which systems score most for their {what}{placed(result.benchmark)}?",
        label="settled" if settled else "partly open",
        tone="good" if settled else "caution",
        headline="; ".join((f"{_headline(result, what)}{users}", *asked)),
        number=value,
        number_words=words,
        interval=drawn,
        scope=f"Scores are means of {result.metric} on {items}{within}{whose}",
        answer=(replace(_figure(result), table=_table(result)),),
        notes=result.notes,
        actions=tuple(_actions(result, what)),
        evidence=_evidence(result),
        method=(
            _method(result, what),
            result.origin.section(),
        ),
    )


def _headline(result: Frontier, what: str) -> str:
    names = [named(row.name) for row in result.rows if row.standing == "on the frontier"]
    open_ = [named(row.name) for row in result.rows if row.standing == "open"]
    if not names:
        return f"Which systems are beaten in both score and {what} is not settled"
    rest = f"; {and_list(open_)} {is_are(len(open_))} not settled" if open_ else ""
    if len(names) == 1 and not open_:
        return f"{names[0]} scores most for the least {what}"
    return f"No system beats {and_list(names)} in both score and {what}{rest}"


def _number(result: Frontier) -> tuple[str, str, Interval | None]:
    """Return the best score on the frontier with its interval, drawn among the other scores."""
    rows = [row for row in result.rows if row.standing == "on the frontier"]
    if not rows or asked_direction(result.direction):
        return "", "", None
    best = (max if result.higher_is_better else min)(rows, key=lambda row: row.estimate)
    others = tuple(row.estimate for row in result.rows if row is not best)
    scale, digits, key = result.scale, 1 if result.scale > 1 else 2, f"dots: the other {len(others)}"
    drawn = drawn_interval(best.estimate, best.ends, scale=scale, digits=digits, others=others, others_words=key)
    ends = f"{level(result)} CI {interval_words(*best.ends, scale, digits)}" if best.ends else "no interval"
    value = with_unit(number(best.estimate * scale, digits), result.score_unit)
    return value, f"{named(best.name)}, {ends}", drawn


def _table(result: Frontier) -> Table:
    return Table(
        id="systems",
        columns=(
            Column(title="System", kind="name"),
            Column(title=WORDS[result.cost], kind="amount"),
            number_column(result, "Score", result.score_unit),
            interval_column(result, spare=True),
            Column(title="In resamples", kind="amount"),
            Column(title="Place", kind="verdict"),
        ),
        rows=tuple(
            (row.name, amount(row.cost), row.estimate, row.ends, share_words(row), _WORDS[row.standing])
            for row in result.rows
        ),
        caption=("Systems by cost; in how many resamples each is on the frontier, and what is settled"),
        tones=_TONES,
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )


def _actions(result: Frontier, what: str) -> list[str]:
    beaten = [row for row in result.rows if row.dominated_by]
    dropped = [f"Drop {named(row.name)}: {and_list(row.dominated_by)} scored more for less {what}." for row in beaten]
    found = list(first_lines(dropped, _NAMED))
    unsettled = [named(row.name) for row in result.rows if row.standing == "open"]
    if unsettled:
        found.append(f"More items would settle the place of {and_list(unsettled)}.")
    return found


def _evidence(result: Frontier) -> tuple[Section, ...]:
    if not result.share_reason:
        return ()
    text = Text(text=result.share_reason)
    return (Section(id="open", heading="How certain the rest is cannot be estimated", blocks=(text,)),)


def _method(result: Frontier, what: str) -> Section:
    clusters = f"; clusters: {' and '.join(result.clusters)}" if result.clusters else ""
    error = max((row.share_error for row in result.rows if row.share_error is not None), default=None)
    drawn = "" if error is None else f"; Monte Carlo error of a share at most {number(100 * error, 1)} pp"
    whose = f"as different {result.different}" if result.different else "only on items that all of them have"
    shares = (
        f"Shares: {result.method}, {result.n_resamples:,} resamples{drawn}. A share is not a probability: for a dearer system "
        "that truly scores no more it is as likely to be high as low."
    )
    return Section(
        id="method",
        heading="How the frontier was estimated",
        blocks=(
            Text(
                text=(
                    "A system is on the frontier when no other scores as much for as little. Systems are compared "
                    f"{whose}. What is estimated: {result.estimand}{clusters}."
                )
            ),
            Items(
                items=(
                    shares,
                    f"Dominated: {result.dominance_method}.",
                    f"A lead in {what} that rare extreme items could undo does not count, unless the evidence is very strong.",
                    "Cost: mean over items, trials averaged; its interval is t on the logarithm, since costs are skewed.",
                )
            ),
        ),
    )


def share_words(row: FrontierRow) -> str:
    """Write the share of resamples as a percentage that never claims more than was drawn.

    >>> row = FrontierRow(name="a", estimate=1.0, cost=1.0, on_frontier=True, standing="open", share=0.999)
    >>> share_words(row)
    '>99%'
    """
    if row.share is None:
        return "–"
    return ">99%" if row.share > 0.99 else "<1%" if row.share < 0.01 else share_in_percent(row.share)
