"""The answer to "does the lab predict the live world?" in sentences: order, gaps, parts, and what falls away."""

from evalstats.analysis.gap.layers import CoefficientRow, PartRow, SourceInterval
from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.analysis.gaps.wording_parts import forecast_sentences, level_sentences, mix_sentences, scenario_sentences
from evalstats.analysis.gaps.words import (
    LINE_LAYER,
    capital,
    coefficient,
    flagged,
    found_size,
    gap_ends,
    gap_text,
    gap_words,
    grouped,
    level,
    p_text,
    part_interval,
    size_text,
    some,
)
from evalstats.document.numbers import interval, number, plural

_NAMED = 3
_NOISE = {
    "items": " by lab noise alone",
    "votes": " by live noise alone",
    "models": ", scores taken as exact",
}
LAYERS = {
    "agreement": "agreement",
    LINE_LAYER: "gaps by a line through the other models",
    "line": "gaps by a line through the other models",
    "level": "the overall level",
    "decomposition": "what is mix and what is behaviour",
    "scenario_gaps": "gaps by scenario",
    "drops": "the drop from ideal to non-ideal users",
    "drop from ideal to non-ideal users": "the drop from ideal to non-ideal users",
    "hierarchy": "forecasts for models that only the lab has",
}


def standing_sentences(found: LabLiveGap) -> list[str]:
    """Say how far the order agrees, which gaps there are and how large, what is level, what is mix, what falls away."""
    return [
        *order_sentences(found),
        *top_sentences(found),
        *pairs_sentences(found),
        *gap_sentences_of(found),
        *level_sentences(found),
        *mix_sentences(found),
        *scenario_sentences(found),
        *forecast_sentences(found),
        *left_out_sentences(found),
        *threats_sentence(found),
    ]


def order_sentences(found: LabLiveGap) -> list[str]:
    """Say how far the lab orders models as live users do, with intervals, against what noise leaves possible."""
    row = found.agreement.of("spearman")
    if row.estimate is None:
        return [
            f"How far the lab orders models as live users do cannot be told: {(row.reason or 'too few').rstrip('.')}."
        ]
    these, like = these_models(row), models_like_these(row)
    ends = [
        f"{interval(each.conf_low, each.conf_high)} {words}{_NOISE.get(each.source, '')}"
        for each, words in ((these, "for these models"), (like, "for models like these"))
        if each is not None
    ]
    told = f", {level(found)} interval {' and '.join(ends)}" if ends else ", without an interval"
    said = [f"Does the lab order models as live users do? Spearman {number(row.estimate)}{told}."]
    said.append(_meaning(row, these, like))
    if row.ceiling is not None:
        said.append(
            f"If true scores agreed perfectly, the noise of both sides would leave about {number(row.ceiling)}.{_true(found)}"
        )
    return said


def these_models(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval for these very models: by all noise there is."""
    return _first(row, "items and votes", "votes", "items")


def models_like_these(row: CoefficientRow) -> SourceInterval | None:
    """Return the interval for other models like these."""
    return _first(row, "all", "models")


def _first(row: CoefficientRow, *sources: str) -> SourceInterval | None:
    by = {each.source: each for each in row.intervals if each.conf_low is not None and each.conf_high is not None}
    return next((by[source] for source in sources if source in by), None)


def _meaning(row: CoefficientRow, these: SourceInterval | None, like: SourceInterval | None) -> str:
    """Say what the widest interval leaves open; without one the permutation p alone."""
    each = like or these
    if each is None:
        return "Without an interval nothing follows from that number." if row.p_value is None else _by_p(row)
    low, high, whom = each.conf_low or 0.0, each.conf_high or 0.0, "models" if like else "these models"
    if like is None and row.p_value is not None and row.p_value > 0.05:
        return _by_p(row)
    if low > 0:
        return f"So the lab's order of {whom} says something about the live one."
    if high < 0:
        return f"So the lab tends to order {whom} the other way round than live users."
    return f"That the lab's order of {whom} says anything about the live one is not shown."


def _by_p(row: CoefficientRow) -> str:
    return (
        f"An order that has nothing to do with the live one would agree as far or further with {p_text(row.p_value)}."
    )


def _true(found: LabLiveGap) -> str:
    row = found.agreement.of("pearson")
    if row.disattenuated is None or row.disattenuated_low is None or row.disattenuated_high is None:
        return ""
    if row.disattenuated_low <= -1 and row.disattenuated_high >= 1:
        return " Of the correlation of true scores these data say nothing."
    if row.disattenuated > row.disattenuated_high:
        least = coefficient(row.disattenuated_low)
        return f" The correlation of true scores is at least {least} (estimated above 1, which is noise): 1 is not ruled out."
    text = f" The correlation of true scores is {coefficient(row.disattenuated, row.disattenuated_low, row.disattenuated_high)}"
    return f"{text}: {'short of 1' if row.disattenuated_high < 1 else '1 is not ruled out'}."


def top_sentences(found: LabLiveGap) -> list[str]:
    """Say how far agreement holds within the best models, where it is most often wanted."""
    rows = [row for row in found.agreement.parts if row.kind == "top" and row.spearman is not None]
    if not rows:
        return []
    told = "; ".join(f"{row.label} {coefficient(row.spearman, *part_interval(row))}" for row in rows)
    return [f"Within the best models live (Spearman): {told}.{_top_meaning(rows)}"]


def _top_meaning(rows: list[PartRow]) -> str:
    ends = [part_interval(row) for row in rows]
    open_ = [row for row, (low, high) in zip(rows, ends, strict=True) if low is not None and low <= 0 <= (high or 0.0)]
    turned = [row for row, (_, high) in zip(rows, ends, strict=True) if high is not None and high < 0]
    said = ""
    for those, words in (
        (open_, "the lab's order is not shown to say anything"),
        (turned, "the lab orders these models the other way round"),
    ):
        if those:
            where = "there" if len(those) == len(rows) else f"within the {some([row.label for row in those])}"
            said += f" {capital(where)} {words}."
    return said


def pairs_sentences(found: LabLiveGap) -> list[str]:
    """Say how many pairs both sides separate, and in how many of these they contradict each other."""
    pairs = found.agreement.pairs
    if pairs is None or pairs.n_separated_both is None or pairs.n_contradicted is None:
        return []
    if not pairs.n_separated_both:
        return [f"No pair of models is separated on both sides, out of {plural(pairs.n_pairs, 'pair')}."]
    told = "none" if not pairs.n_contradicted else f"{pairs.n_contradicted:,}"
    separated = f"Both sides separate {pairs.n_separated_both:,} of {plural(pairs.n_pairs, 'pair')}"
    return [f"{separated}, and contradict each other in {told} of these."]


def gap_sentences_of(found: LabLiveGap) -> list[str]:
    """Say which gaps there are and how large, whether noise alone explains them, and what would have been found."""
    line = found.line
    if line is None:
        return []
    said: list[str] = []
    rows = flagged(found)
    if rows:
        told = "; ".join(f"{row.name} {gap_text(row.gap, found)} {_decides(row, found)}" for row in rows[:_NAMED])
        more = f"; {len(rows) - _NAMED} more in the table" if len(rows) > _NAMED else ""
        said.append(f"{capital(gap_words(found))}: {told}{more}.")
    noise = "could be noise alone" if line.p_value > 1 - found.conf_level else "are more than noise"
    tau = "" if not line.tau else f"; true gaps spread by about {size_text(line.tau, found)} (standard deviation)"
    said.append(f"Taken together the gaps {noise} ({p_text(line.p_value)}){tau}.")
    if line.detectable is not None:
        said.append(f"{capital(found_size(line.detectable, found))}.")
    return said


def _decides(row: GapRow, found: LabLiveGap) -> str:
    low, high = (row.adjusted_low, row.adjusted_high) if row.adjusted_low is not None else (row.conf_low, row.conf_high)
    return gap_ends(low, high, found)


def left_out_sentences(found: LabLiveGap) -> list[str]:
    """Say what falls away, and why."""
    reasons = grouped((reason, LAYERS.get(layer, layer)) for layer, reason in found.left_out)
    return [f"Not answered: {some(names, len(names))} ({reason})." for reason, names in reasons]


def threats_sentence(found: LabLiveGap) -> list[str]:
    """Name the threats to validity that these data show."""
    seen = [each.title[:1].lower() + each.title[1:] for each in found.threats if each.status == "seen"]
    return [f"Threats to validity seen in these data: {some(seen, len(seen))}."] if seen else []
