"""How often each scenario comes up in the lab and with live users, and which the lab never covers."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from evalstats.analysis.gap.layers import CellPart
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.words import level, metric_side, score_text, share
from evalstats.document.escape import one_line
from evalstats.document.numbers import plural
from evalstats.plots.gap_marks import draw_band, draw_interval, draw_point, in_table
from evalstats.plots.row_panel import PanelRow, RowPanel, row_figure
from evalstats.plots.style import LIGHT, Medium

MOST_CELLS = 40
_READ = 20
_UNCOVERED = "lab never covers"
# What stands in the last column: a sign first, so that it does not hang on colour.
_SIGNS = {"covered": "", _UNCOVERED: "× not in lab", "live never brings": "not live", "thin": "! thin in lab"}


def gap_positivity_reason(result: LabLiveGap) -> str | None:
    """Say why there is nothing to draw; None where there is."""
    if shown_cells(result):
        return None
    told = next((why for layer, why in result.left_out if layer == "decomposition"), "no shares by scenario are known")
    return f"what the lab covers of the live mix is not known: {told.rstrip('.')}"


def shown_cells(result: LabLiveGap) -> list[CellPart]:
    """Return the cells that are drawn: those that the lab never covers on top, then by live share; at most 40."""
    cells = () if result.decomposition is None else result.decomposition.cells
    return sorted(cells, key=lambda each: (each.status != _UNCOVERED, -each.live_share, -each.lab_share, each.cell))[
        :MOST_CELLS
    ]


def gap_positivity(result: LabLiveGap, *, medium: Medium = "screen") -> Figure:
    """Draw the share of every scenario in the lab (hollow square) and live (filled point with its interval), with both rates.

    A scenario that the lab never covers has an amber ground, a cross and bold words: nothing in the lab can stand for it. At
    most 40 scenarios are drawn.

    Parameters
    ----------
    result
        What `gap` returned.
    medium
        "screen", "phone" or "print".

    Raises
    ------
    ValueError
        If there is nothing to draw, with `gap_positivity_reason`.
    """
    reason = gap_positivity_reason(result)
    if reason is not None:
        raise ValueError(reason)
    cells = shown_cells(result)
    lines = [_line(cell, result) for cell in cells]
    rest = len(result.decomposition.cells if result.decomposition else ()) - len(cells)
    if rest > 0:
        lines.append(PanelRow(name=f"The other {plural(rest, 'scenario')}: in the table", heading=True))
    odd = any(cell.status != "covered" for cell in cells)
    most = max(max(cell.lab_share, cell.live_share, cell.live_share_high or 0.0) for cell in cells)

    def draw(panel: RowPanel) -> None:
        for place, cell in enumerate(cells):
            _draw_cell(panel, place, cell)

    return row_figure(
        lines,
        draw,
        title="Share, %: □ lab, ● live"
        if medium != "phone"
        else f"Share, %: □ lab, ● live with {level(result)} interval",
        columns=("Lab", "Live", "Lab rate", "Live rate", *(("",) if odd else ())),
        limits=(-2.0 * most, 104.0 * most),
        medium=medium,
    )


def _line(cell: CellPart, result: LabLiveGap) -> PanelRow:
    side = metric_side(result)
    shares = share(cell.lab_share), _live_share(cell)
    rates = [score_text(rate, result, side, unit=False) for rate in (cell.lab_rate, cell.live_rate)]
    sign = _SIGNS[cell.status]
    told = f"lab {shares[0]}, live {shares[1]}; rate {rates[0]} → {rates[1]}"
    if cell.status == _UNCOVERED:
        told = f"× not in lab; live {shares[1]}, rate {rates[1]}"
    elif sign:
        told = f"{sign}; {told}"
    return PanelRow(
        name=cell.cell,
        words=(*shares, *rates, sign),
        line=told,
        strong=cell.status == _UNCOVERED,
        faint=cell.status == "live never brings",
    )


def _live_share(cell: CellPart) -> str:
    if cell.live_share_low is None or cell.live_share_high is None:
        return share(cell.live_share)
    low, high = (share(end).rstrip("%") for end in (cell.live_share_low, cell.live_share_high))
    return f"{share(cell.live_share)} [{low}, {high}]"


def _draw_cell(panel: RowPanel, place: int, cell: CellPart) -> None:
    font, row = panel.size.font, panel.level(place)
    loud = cell.status == _UNCOVERED
    if loud:
        low, high = panel.axes.get_xlim()
        draw_band(panel, [place], low, high, color=LIGHT.caution, alpha=0.22)
    color = LIGHT.caution if loud else LIGHT.ink
    if not loud and cell.live_share > 0:
        ends: Sequence[float] = (100 * cell.lab_share, 100 * cell.live_share)
        panel.axes.plot(ends, [row, row], color=LIGHT.line, linewidth=0.22 * font, solid_capstyle="butt", zorder=1)
    if cell.live_share_low is not None and cell.live_share_high is not None:
        draw_interval(panel, row, 100 * cell.live_share_low, 100 * cell.live_share_high, color=color)
    draw_point(panel, (100 * cell.live_share, row), "o", face=color, edge=color)
    marker, edge = ("X", LIGHT.caution) if loud else ("s", LIGHT.neutral)
    draw_point(panel, (100 * cell.lab_share, row), marker, face=edge if loud else LIGHT.surface, edge=edge, letters=0.5)


def gap_positivity_alt(result: LabLiveGap) -> str:
    """Describe `gap_positivity` in words: what the lab never covers, then the shares and rates of every scenario."""
    cells = shown_cells(result)
    if not cells or result.decomposition is None:
        return one_line(gap_positivity_reason(result) or "")
    missing = [cell for cell in result.decomposition.cells if cell.status == _UNCOVERED]
    first = "The lab covers every scenario that live users bring."
    if missing:
        of_live = share(sum(cell.live_share for cell in missing))
        of_all = f"{len(missing)} of {plural(len(result.decomposition.cells), 'scenario')}"
        first = f"{of_all} ({of_live} of the live mix) never {'occurs' if len(missing) == 1 else 'occur'} in the lab."
    side = metric_side(result)
    told: list[str] = []
    for cell in cells[:_READ]:
        rates = [score_text(rate, result, side) for rate in (cell.lab_rate, cell.live_rate)]
        sign = "" if cell.status == "covered" else f", {cell.status}"
        told.append(
            f"{cell.cell}: lab {share(cell.lab_share)}, live {_live_share(cell)}, rates {rates[0]} and {rates[1]}{sign}"
        )
    more = in_table(len(result.decomposition.cells) - len(told), "scenario")
    shares = f"Shares of scenarios in the lab and live, with {level(result)} intervals of live shares."
    return one_line(f"{shares} {first} {'; '.join(told)}.{more}")
