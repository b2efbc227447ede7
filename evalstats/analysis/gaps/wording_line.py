"""The line by which lab scores are read as live ones, what other lines would say, and what either side is."""

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.result import CalibrationLine, LabLiveGap, SideAccount
from evalstats.analysis.gaps.words import (
    digits_of,
    gap_ends,
    gap_unit,
    level,
    p_text,
    share,
    size_text,
    some,
    stopped,
)
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import interval, number, plural, scaled

_NAMED = 6
_KINDS = {"outcomes": "outcomes", "comparisons": "votes", "aggregates": "published numbers"}


def line_blocks(found: LabLiveGap) -> list[Block]:
    """Return the line in a paragraph, and other lines in a table."""
    line = found.line
    if line is None:
        return []
    blocks: list[Block] = [
        Heading(text="From lab scores to live ones", level=2),
        Paragraph(text=" ".join(stopped(text) for text in line_sentences(found, line))),
    ]
    table = others_table(found, line)
    if table is not None:
        blocks.append(table)
        why = tuple(f"{each.title}: {stopped(each.why)}" for each in line.others if each.why)
        blocks.extend([Bullets(items=why)] if why else [])
    return blocks


def line_sentences(found: LabLiveGap, line: CalibrationLine) -> list[str]:
    """Say what the line is, whether it is one to one, whether noise explains the gaps, and which models pull it."""
    ratio, per = _ratio(found)
    said = [
        (
            f"Live changes by {number(line.slope * ratio)} {interval(line.slope_low * ratio, line.slope_high * ratio)} {per}"
            f"{_one_to_one(found, line)}"
        )
    ]
    noise = (
        "noise alone could make such gaps"
        if line.p_value > 1 - found.conf_level
        else "noise alone does not make such gaps"
    )
    said.append(
        f"Is there any gap at all: {noise} (chi-squared {number(line.statistic, 1)}, {line.df} df, {p_text(line.p_value)})"
    )
    high = "open above" if line.tau_high is None else f"at most {size_text(line.tau_high, found)}"
    least = "" if line.tau_low <= 0 else f"at least {size_text(line.tau_low, found)} and "
    said.append(
        f"True gaps spread by {size_text(line.tau, found) if line.tau else 'nothing that shows'} ({least}{high}) beyond noise"
    )
    if line.influential:
        said.append(f"Without {some(line.influential, _NAMED)} the slope would move by more than its standard error")
    if not line.converged:
        said.append("The fit did not converge")
    return [*said, *line.warnings]


def _ratio(found: LabLiveGap) -> tuple[float, str]:
    """Return what to multiply a slope with to be in shown units, and the words for one step in the lab."""
    live, lab = found.live, found.lab
    unit = gap_unit(live) or "points"
    if found.same_scale:
        return 1.0, f"{unit} for each {gap_unit(lab) or 'point'} in the lab"
    return live.scale / lab.scale, f"{unit} for each {gap_unit(lab) or 'point of ' + lab.metric} in the lab"


def _one_to_one(found: LabLiveGap, line: CalibrationLine) -> str:
    if line.slope_low <= 0 <= line.slope_high:
        return ": that live goes with the lab at all is not shown by it"
    if not found.same_scale:
        return ""
    if line.slope_high < 1:
        return ": less than one to one, so the lab exaggerates differences between models"
    if line.slope_low > 1:
        return ": more than one to one, so the lab understates differences between models"
    return ": one to one is not ruled out"


def others_table(found: LabLiveGap, line: CalibrationLine) -> Table | None:
    """Set the line beside those of other methods: slope, and how many models each would call beyond its errors."""
    if not line.others:
        return None
    ratio, _ = _ratio(found)
    names = ["York, which is used", *(each.title for each in line.others)]
    slopes = [line.slope, *(each.slope for each in line.others)]
    n_york = sum(row.p_value is not None and row.p_value <= 1 - found.conf_level for row in found.rows)
    beyond = [str(n_york), *("–" if each.n_beyond is None else str(each.n_beyond) for each in line.others)]
    intercepts = [line.intercept, *(each.intercept for each in line.others)]
    digits = digits_of(found, found.live)
    columns = {
        "Line": names,
        "Slope": [number(slope * ratio) for slope in slopes],
        "Intercept": [scaled(value, found.live.scale, digits) for value in intercepts],
        "Models beyond": beyond,
    }
    if all(value == "–" for value in beyond[1:]):
        del columns["Models beyond"]
    return table_of(
        columns,
        caption=(
            f"The same line by other methods; models beyond: residuals that each would call significant at {level(found)}, one "
            "by one, without adjustment for many"
        ),
        left=("Line",),
    )


# --- the two sides ---


def side_lines(found: LabLiveGap) -> list[str]:
    """Say of each side what it is, what it rests on, and how much of its spread is noise."""
    return [_side(side, name) for side, name in ((found.lab, "Lab"), (found.live, "Live"))]


def _side(side: SideAccount, name: str) -> str:
    count = "" if side.n_units is None else f", {_units(side.n_units, side.unit_word)}"
    clusters = ""
    if side.clusters:
        n = "" if side.n_clusters is None else f" ({side.n_clusters:,})"
        clusters = f", errors clustered by {' and '.join(side.clusters)}{n}"
    days = _days(side)
    less = "" if side.higher_is_better else ", less is better"
    text = f"{name}: {_KINDS[side.kind]} of {side.name}, {side.metric}{less}"
    text += f"; {plural(side.n_models, 'model')}{count}{clusters}{days}"
    text += f". {side.method[:1].upper()}{side.method[1:]}" if side.method else ""
    text = text.rstrip(".") + f". {_errors(side)}"
    if side.only_here:
        text += f" {plural(len(side.only_here), 'model')} only here: {some(side.only_here)}."
    return text


def _units(n: int, word: str) -> str:
    """Count what a side rests on; published tables count whatever they count."""
    return f"{n:,} {word}" if word and word != "units" else f"{n:,} in all behind them"


def _days(side: SideAccount) -> str:
    if side.first_day is None or side.last_day is None:
        return ", undated"
    return f", {side.first_day}" if side.first_day == side.last_day else f", {side.first_day} to {side.last_day}"


def _errors(side: SideAccount) -> str:
    if side.errors == "none":
        return "No standard errors."
    told = (
        "" if side.reliability is None else f"{share(side.reliability)} of the variance between models is not noise. "
    )
    marginal = (
        "Published standard errors alone: what models share is unknown, so noise is taken at its most."
        if side.errors == "marginal"
        else ""
    )
    return f"{told}{marginal}".rstrip() or "Errors are known."


def level_line(found: LabLiveGap) -> list[str]:
    """Say how the level was judged, where it was."""
    row = found.level
    if row is None:
        return []
    return [
        f"Level: {row.method.rstrip('.')}; interval for equivalence {gap_ends(row.equivalence_low, row.equivalence_high, found)}"
    ]
