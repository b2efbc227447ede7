"""A frontier in words: what score is to be had for what cost, what is settled and what is open."""

from collections.abc import Mapping, Sequence

from evalstats.analysis.costs import WORDS, amount
from evalstats.analysis.frontiers.results import Frontier, FrontierRow, Standing
from evalstats.analysis.results import qualified
from evalstats.analysis.scales import direction_phrases
from evalstats.document.blocks import Banner, Block, Bullets, Heading, Paragraph, Table, Tone
from evalstats.document.numbers import interval, number, plural, scaled

_LISTED = 6
_TONES: Mapping[Standing, Tone] = {"on the frontier": "good", "open": "caution", "dominated": "bad"}


def frontier_sentences(result: Frontier) -> list[str]:
    """Who is on the frontier, who is dominated for certain, what it rests on; then the warnings."""
    return [
        f"{_headline(result)}.",
        *_standing_sentences(result),
        *[f"Warning: {text}." for text in result.warnings],
    ]


def frontier_blocks(result: Frontier) -> list[Block]:
    """Return the whole frontier: the answer, the systems by cost, and the method."""
    settled = all(row.standing != "open" for row in result.rows)
    blocks: list[Block] = [
        Heading(text=f"Score and cost of {plural(len(result.rows), 'system')} on {result.benchmark}", level=1),
        Banner(
            label="settled" if settled else "open", text=f"{_headline(result)}.", tone="good" if settled else "caution"
        ),
        Paragraph(text=" ".join(_standing_sentences(result))),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(frontier_table(result))
    blocks.append(Bullets(title="Method", items=tuple(_method_items(result))))
    if result.notes:
        blocks.append(Bullets(title="Notes", items=result.notes))
    return blocks


def frontier_table(result: Frontier) -> Table:
    """Every system, the cheapest first, with both intervals and what is known of its place."""
    unit = f" ({result.score_unit})" if result.score_unit else ""
    level = f"{100 * result.conf_level:g}% interval"
    return Table(
        columns=(
            "System",
            WORDS[result.cost],
            level,
            f"Score{unit}",
            f"{level} of the score",
            "In resamples",
            "Frontier",
        ),
        rows=tuple(
            (
                row.name,
                amount(row.cost),
                amounts(row.cost_low, row.cost_high),
                scaled(row.estimate, result.scale, 1),
                interval(row.conf_low, row.conf_high, result.scale, 1),
                share_words(row),
                _place(row),
            )
            for row in result.rows
        ),
        align="lrrrrrl",
        caption=(
            f"Score ({result.metric}) and mean cost of an item, the cheapest first; in how many resamples a system is on the "
            "frontier, and what is settled"
        ),
        wide=(f"{level}", f"{level} of the score"),
    )


def amounts(low: float | None, high: float | None) -> str:
    """Write an interval of amounts; "none" where there is none."""
    return "none" if low is None or high is None else f"[{amount(low)}, {amount(high)}]"


def share_words(row: FrontierRow) -> str:
    """Write the share of resamples as a percentage that never claims more than was drawn.

    Examples
    --------
    >>> row = FrontierRow(
    ...     name="a", estimate=1.0, cost=1.0, on_frontier=True, standing="open", share=0.999, share_error=1e-4
    ... )
    >>> share_words(row)
    '>99%'
    """
    if row.share is None:
        return "–"
    percent = 100 * row.share
    if percent > 99:
        return ">99%"
    return "<1%" if percent < 1 else f"{percent:.0f}%"


def standing_tone(standing: Standing) -> Tone:
    """Return the tone in which a standing is shown."""
    return _TONES[standing]


def _place(row: FrontierRow) -> str:
    if row.dominated_by:
        return f"dominated by {_some(row.dominated_by)}"
    seen = "on it" if row.on_frontier else f"behind {_some(row.beaten_by)}"
    return seen if row.standing == "on the frontier" else f"{seen}, not settled"


def _headline(result: Frontier) -> str:
    return qualified(_answer(result), direction_phrases(result.direction))


def _answer(result: Frontier) -> str:
    names = [row.name for row in result.rows if row.on_frontier]
    what = WORDS[result.cost].partition(" (")[0].lower()
    if len(names) == 1:
        return f"{names[0]} scores the most for the least {what}: no other system is on the frontier as observed"
    return f"{len(names)} of {len(result.rows)} systems are on the frontier of score and {what} as observed: {_some(names)}"


def _standing_sentences(result: Frontier) -> list[str]:
    sentences: list[str] = []
    dominated = [row for row in result.rows if row.dominated_by]
    if dominated:
        told = "; ".join(f"{row.name} by {_some(row.dominated_by)}" for row in dominated[:_LISTED])
        more = f"; and {len(dominated) - _LISTED} more" if len(dominated) > _LISTED else ""
        level = f"{100 * result.conf_level:g}%"
        sentences.append(f"Shown to score less for more, at {level} over all pairs: {told}{more}.")
    unsettled = [row for row in result.rows if row.standing == "open"]
    if result.share_reason:
        sentences.append(f"How sure the rest is cannot be told: {result.share_reason}.")
    elif unsettled:
        told = "; ".join(f"{row.name} in {share_words(row)} of resamples" for row in unsettled[:_LISTED])
        more = f"; and {len(unsettled) - _LISTED} more" if len(unsettled) > _LISTED else ""
        sentences.append(f"Not settled, on the frontier {told}{more}.")
    within = f" in {plural(result.n_clusters, 'cluster')}" if result.n_clusters else ""
    sentences.append(f"All of it rests on the {plural(result.n_items, 'item')}{within} that every system has.")
    return sentences


def _method_items(result: Frontier) -> list[str]:
    clusters = f"; clusters: {' and '.join(result.clusters)}" if result.clusters else ""
    error = max((row.share_error for row in result.rows if row.share_error is not None), default=None)
    drawn = "" if error is None else f"; Monte Carlo error of a share at most {number(100 * error, 1)} pp"
    digests = ", ".join(f"{run} ({digest[:12]})" if digest else run for run, digest in result.sources)
    shares = f"{result.method}, {result.n_resamples:,} resamples, seed {result.seed}{drawn}"
    return [
        f"Frontier: a system is on it when no other scores as much for as little. Estimand: {result.estimand}{clusters}.",
        f"Shares: {shares}.",
        "A share is no probability: for a dearer system that truly scores no more it is as likely to be high as low.",
        f"Dominated: {result.dominance_method}.",
        "Cost: mean over items, trials averaged; its interval is t on the logarithm, since costs are skewed.",
        f"Runs: {digests}. evalstats {result.version}.",
    ]


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_LISTED])
    return shown + (f" and {len(names) - _LISTED} more" if len(names) > _LISTED else "")
