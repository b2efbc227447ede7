"""What the answer means for whoever decides: at most five things to do, each with the number that it rests on."""

from collections.abc import Callable

from evalstats.analysis.gaps.agreement_results import PartRow
from evalstats.analysis.gaps.mix_results import CellPart, Part
from evalstats.analysis.gaps.results import GapRow, LabLiveGap
from evalstats.analysis.gaps.wording_headline import level_told
from evalstats.analysis.gaps.wording_models import gap_interval
from evalstats.analysis.gaps.wording_parts import scenario_ends
from evalstats.analysis.gaps.words import (
    apart,
    coefficient,
    direction,
    flagged,
    gap_ends,
    gap_text,
    gap_unit,
    is_share,
    metric_side,
    part_ends,
    part_text,
    share,
    size_text,
    some,
    stopped,
)
from evalstats.display.numbers import number, plural
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import bullets, prose, section

MOST = 5
_NAMED = 3


def what_this_means(page: LabLivePage) -> str:
    """Return the section of what can be acted on."""
    said = actions(page.found)
    return section("What this means", bullets([prose(text) for text in said]), level=2) if said else ""


def actions(found: LabLiveGap) -> list[str]:
    """Return at most five sentences or two that a lead can act on."""
    makers: tuple[Callable[[LabLiveGap], str], ...] = (
        whom_to_distrust,
        what_weights_repair,
        use_of_ranks,
        what_to_add,
        what_data,
    )
    return [text for text in (make(found) for make in makers) if text][:MOST]


# --- models ---


def whom_to_distrust(found: LabLiveGap) -> str:
    """Name the models whose lab score must not be read as it stands; else say how large a gap would have shown."""
    rows = flagged(found)
    if rows:
        told = "; ".join(_lies(row, found) for row in rows[:_NAMED])
        rest = f"; {len(rows) - _NAMED} more are in the table" if len(rows) > _NAMED else ""
        names, scores = some([row.name for row in rows], _NAMED), "score" if len(rows) == 1 else "scores"
        said = f"Distrust the lab {scores} of {names}: against what the lab leads to expect, {told}{rest}."
        return f"{said} For the others the lab is not shown to mislead."
    others = apart(found)
    if found.line is None and others:
        row = others[0]
        return (
            f"Do not read lab scores as live ones: {len(others)} of {plural(found.n_models, 'model')} differ, most of all "
            f"{row.name} ({gap_text(row.difference, found)} {gap_ends(row.difference_low, row.difference_high, found)})."
        )
    if found.line is None or found.line.detectable is None:
        return ""
    return (
        "No single model is shown to be misjudged by the lab; a gap would mostly have been found from about "
        f"{size_text(found.line.detectable, found)} on, smaller ones not."
    )


def _lies(row: GapRow, found: LabLiveGap) -> str:
    gap = row.gap or 0.0
    return f"{row.name} lies {size_text(gap, found)} {direction(gap, found)} live {gap_interval(row, found)}"


# --- mix and level ---


def what_weights_repair(found: LabLiveGap) -> str:
    """Say what part of the overall difference goes away when the lab is weighted to the live mix, and what stays."""
    parts = found.decomposition
    if parts is None:
        return _level(found)
    row = parts.overall
    weighted = "" if row.poststratified is None else _score(row.poststratified, found)
    if not _known(row.mix):
        plain = _score(row.lab, found)
        return (
            f"Weight the lab to the live mix: it then says {weighted} on average over models, instead of {plain}."
            if weighted
            else ""
        )
    mix, stays = _difference(row.mix, found), _difference(row.behaviour, found)
    if _without_zero(row.mix):
        to = (
            f", and brings the lab from {part_text(row.lab, found, sign=False)}{_percent(found)} to {weighted}"
            if weighted
            else ""
        )
        said = (
            f"Weight the lab to the live mix before you compare levels: that accounts for {mix} of live less lab{to}."
        )
    else:
        said = f"Weighting the lab to the live mix is not shown to change the level ({mix})."
    if not _known(row.behaviour):
        return said
    if _without_zero(row.behaviour):
        return f"{said} No weighting repairs the other part, {stays}: models do otherwise within the same scenarios."
    return f"{said} That anything remains within the same scenarios is not shown ({stays})."


def _level(found: LabLiveGap) -> str:
    row = found.level
    if row is None or row.verdict != "gap":
        return ""
    how = "optimistic" if row.estimate < 0 else "pessimistic"
    return f"Read lab scores as too {how} for all: {stopped(level_told(found))}"


def _score(part: Part, found: LabLiveGap) -> str:
    return f"{part_text(part, found, sign=False)}{_percent(found)} {part_ends(part, found, sign=False)}".removesuffix(
        " –"
    )


def _difference(part: Part, found: LabLiveGap) -> str:
    unit = gap_unit(metric_side(found))
    return f"{part_text(part, found)}{f' {unit}' if unit else ''} {part_ends(part, found)}"


def _percent(found: LabLiveGap) -> str:
    return "%" if is_share(metric_side(found)) else ""


def _known(part: Part) -> bool:
    return part.conf_low is not None and part.conf_high is not None


def _without_zero(part: Part) -> bool:
    return part.conf_low is not None and part.conf_high is not None and (part.conf_low > 0 or part.conf_high < 0)


# --- ranks ---


def use_of_ranks(found: LabLiveGap) -> str:
    """Say whether lab ranks can be used among the best models live, and the surest pair of which they cannot."""
    rows = [row for row in found.agreement.parts if row.kind == "top" and row.conf_low is not None]
    said = _within_top(rows)
    pairs = found.agreement.pairs
    if pairs is None or not pairs.n_contradicted or not pairs.contradictions:
        return said
    first = min(pairs.contradictions, key=lambda each: max(each.lab_p_adjusted, each.live_p_adjusted))
    one = pairs.n_contradicted == 1
    told = (
        f"{plural(pairs.n_contradicted, 'pair')} of models {'is' if one else 'are'} ordered the other way round with "
        f"confidence on both sides: {'' if one else 'most surely '}live {first.better_live} is ahead of {first.better_lab}, in "
        "the lab behind."
    )
    return f"{said} {told}".strip()


def _within_top(rows: list[PartRow]) -> str:
    weak = [row for row in rows if row.conf_low is not None and row.conf_low <= 0]
    if weak:
        row = weak[0]
        shared = (
            ""
            if row.n_shared is None
            else f"; {row.n_shared} of these {row.n_models} are among as many best in the lab "
            f"({number(row.n_shared_by_chance, 1)} by chance)"
        )
        return (
            f"Do not choose among the {row.label} by lab rank: Spearman within them is "
            f"{coefficient(row.spearman, row.conf_low, row.conf_high)}{shared}."
        )
    if not rows:
        return ""
    row = min(rows, key=lambda each: each.n_models)
    told = coefficient(row.spearman, row.conf_low, row.conf_high)
    return f"Lab ranks can be used among the {row.label}: Spearman within them is {told}."


# --- scenarios ---


def what_to_add(found: LabLiveGap) -> str:
    """Say which scenarios the lab needs items of, and where it predicts worst."""
    said: list[str] = []
    cells = [] if found.decomposition is None else sorted(found.decomposition.cells, key=lambda cell: -cell.live_share)
    none = [cell for cell in cells if cell.status == "lab never covers" and cell.live_share > 0]
    thin = [cell for cell in cells if cell.status == "thin" and cell.live_share > 0]
    if none:
        total = share(sum(cell.live_share for cell in none), 1)
        said.append(f"Add lab items of {_cells(none)}: the lab has none, and {total} of live use falls there.")
    if thin:
        said.append(f"Add more of {_cells(thin)}: fewer than ten lab items tell its rate.")
    worst = [] if found.scenario_gaps is None else [row for row in found.scenario_gaps.means if row.verdict == "gap"]
    if worst:
        row = max(worst, key=lambda each: abs(each.estimate or 0.0))
        said.append(
            f"The lab predicts worst in {row.scenario}: live lies {size_text(row.estimate or 0.0, found)} "
            f"{direction(row.estimate or 0.0, found)} it {scenario_ends(row, found)}."
        )
    return " ".join(said)


def _cells(cells: list[CellPart]) -> str:
    return some([cell.cell for cell in cells], _NAMED)


# --- data ---


def what_data(found: LabLiveGap) -> str:
    """Say what more data would show: which side is noisier, or that only models help."""
    without = [name for name, side in (("lab", found.lab), ("live", found.live)) if side.errors == "none"]
    if without:
        return (
            f"Get standard errors of the {' and '.join(without)} scores (results by item, or votes): without them no gap can be "
            "told from noise."
        )
    line = found.line
    if line is None or line.detectable is None:
        least = 6 if found.n_models < 6 else None
        return f"Score {least - found.n_models} more models on both sides: a line needs {least}." if least else ""
    if flagged(found):
        said = f"Gaps smaller than about {size_text(line.detectable, found)} would mostly have been missed."
    else:
        said = "To see smaller gaps:"
    return f"{said} {_which_data(found)}" if flagged(found) else f"{said} {_uncapital(_which_data(found))}"


def _which_data(found: LabLiveGap) -> str:
    """Compare the noise of both sides, in live units, with the spread of true gaps."""
    line = found.line
    if line is None or found.lab.noise is None or found.live.noise is None:
        return "More lab items and live users would lower that."
    lab, live = abs(line.slope) * found.lab.noise, found.live.noise
    noises = f"noise of the lab {size_text(lab, found)}, live {size_text(live, found)}"
    if line.tau_low > 0 and line.tau**2 > lab**2 + live**2:
        return (
            f"More items or users hardly lower that, since true gaps spread by {size_text(line.tau, found)} between models "
            f"({noises}); more models would."
        )
    first = "lab items" if lab > live else "live data"
    return f"More {first} would lower that first ({noises}, standard deviations)."


def _uncapital(text: str) -> str:
    return text[:1].lower() + text[1:]
