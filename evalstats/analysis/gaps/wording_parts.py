"""Sentences on the parts of the gap: overall level, mix and behaviour, scenarios, forecasts."""

from evalstats.analysis.gap.layers import Part, ScenarioGap
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_headline import about, level_number, level_told
from evalstats.analysis.gaps.words import (
    capital,
    gap_ends,
    gap_text,
    gap_unit,
    level,
    metric_side,
    part_ends,
    part_text,
    score_unit,
    share,
)
from evalstats.document.numbers import plural

_NAMED = 3


def level_sentences(found: LabLiveGap) -> list[str]:
    """Say how far live scores lie from lab scores on average, where both are on one scale."""
    if found.level is None or about(found) == "level":
        return []
    words = {
        "gap": "that is a gap",
        "aligned": "that is within the margin",
        "inconclusive": "that is open",
        "invalid": "that cannot be judged",
    }[found.level.verdict]
    return [f"{capital(level_told(found))}: {words}."]


def mix_sentences(found: LabLiveGap) -> list[str]:
    """Say what of the overall difference is mix, what is behaviour, and what no lab item stands for."""
    parts = found.decomposition
    if parts is None:
        return []
    uncovered = sum(cell.live_share for cell in parts.cells if cell.status == "lab never covers")
    row, unit = parts.overall, gap_unit(metric_side(found))
    named = [
        (row.mix, "because live users bring other scenarios"),
        (row.behaviour, "because models do otherwise within the same scenarios"),
        (row.unexplained, "in scenarios that the lab never covers, so that nothing explains it"),
    ]
    told = [
        f"{part_text(part, found)}{f' {unit}' if unit else ''} {part_ends(part, found)} {words}"
        for part, words in named
        if part is not None and part.conf_low is not None and (part is not row.unexplained or uncovered)
    ]
    said = [f"{_split(found, row.total)}: {'; '.join(told)}."] if told else []
    if row.poststratified is not None:
        percent = score_unit(metric_side(found))
        weighted = part_text(row.poststratified, found, sign=False)
        ends = part_ends(row.poststratified, found, sign=False)
        plainly = "" if told else f", mean over models; as it is, {part_text(row.lab, found, sign=False)}{percent}"
        said.append(f"Weighted to the live mix the lab says {weighted}{'%' if percent == '%' else ''} {ends}{plainly}.")
    if uncovered > 0:
        said.append(f"{share(uncovered)} of live use falls where the lab has no item.")
    return said


def _split(found: LabLiveGap, total: Part) -> str:
    """Name the difference that the parts add up to; in a mix that was given it is another than the one of the live data."""
    unit = gap_unit(metric_side(found))
    amount = f"{part_text(total, found)}{f' {unit}' if unit else ''}"
    if found.level is None or level_number(found)[0] in {"", amount}:
        return f"Of the mean of live less lab, {amount}"
    return f"Were live use mixed as the weights say, live less lab would be {amount} {part_ends(total, found)}; of that"


def scenario_sentences(found: LabLiveGap) -> list[str]:
    """Name the scenarios in which the lab does not predict, over all models."""
    scenarios = found.scenario_gaps
    if scenarios is None:
        return []
    rows = [row for row in scenarios.means if row.verdict == "gap" and row.estimate is not None]
    n = sum(row.verdict != "invalid" for row in scenarios.means)
    if not rows:
        return (
            [f"In none of {n} levels of {scenarios.factor} is live shown to differ from the lab." if n else ""]
            if n
            else []
        )
    worst = sorted(rows, key=lambda row: -abs(row.estimate or 0.0))
    told = "; ".join(
        f"{row.scenario} {gap_text(row.estimate, found)} {scenario_ends(row, found)}" for row in worst[:_NAMED]
    )
    more = f"; {len(worst) - _NAMED} more in the table" if len(worst) > _NAMED else ""
    return [f"Live differs from the lab in {len(rows)} of {plural(n, 'level')} of {scenarios.factor}: {told}{more}."]


def scenario_ends(row: ScenarioGap, found: LabLiveGap) -> str:
    """Write the interval that decides of a scenario: widened for being picked where it is flagged."""
    if row.adjusted_low is not None and row.adjusted_high is not None:
        return gap_ends(row.adjusted_low, row.adjusted_high, found)
    return "–" if row.conf_low is None else gap_ends(row.conf_low, row.conf_high, found)


def forecast_sentences(found: LabLiveGap) -> list[str]:
    """Say how good the lab is as a forecast for a model that has no live score yet."""
    fitted = found.hierarchy
    if fitted is None or fitted.coverage is None:
        return []
    low, high = fitted.coverage_low, fitted.coverage_high
    ends = "" if low is None or high is None else f" (from {share(low)} to {share(high)})"
    n = len([row for row in fitted.forecasts if row.expected is not None])
    models = f" {plural(n, 'model')} with a lab score alone {'is' if n == 1 else 'are'} forecast below." if n else ""
    inside = (
        f"Predicted by the others, {share(fitted.coverage)} of the models fall inside their {level(found)} prediction "
        f"interval{ends}.{models}"
    )
    return [inside]
