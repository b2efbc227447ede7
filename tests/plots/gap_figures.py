"""What the tests of the figures of lab against live share: made-up answers with odd sides, and how drawings are measured."""

from dataclasses import replace
from functools import cache

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.plots.style import house_style
from tests.analysis.gap import example_gap as example


@cache
def made(name: str) -> LabLiveGap:
    """An example answer, made once."""
    return getattr(example, name)()


EXAMPLES = ("one_scale", "votes", "without_errors", "four", "invalid", "aligned", "hostile")


def turned(found: LabLiveGap) -> LabLiveGap:
    """The same numbers of metrics of which less is better."""
    return replace(
        found,
        lab=replace(found.lab, higher_is_better=False),
        live=replace(found.live, higher_is_better=False),
    )


def three(found: LabLiveGap) -> LabLiveGap:
    """The best, a middle one and the worst model alone, without a line."""
    rows = (found.rows[0], found.rows[5], found.rows[-1])
    return replace(found, rows=rows, line=None, left_out=(("line", "3 models are too few for a line"),))


def many(n: int = 60) -> LabLiveGap:
    """Sixty models and more, with every tenth one flagged."""
    base = made("votes").rows
    rows: list[GapRow] = []
    for k in range(n):
        lab = 0.1 + 0.7 * k / n + 0.05 * float(np.sin(9.0 * k))
        flagged = k % 10 == 0
        gap = (-1.0) ** (k // 10) * 80.0 if flagged else 12.0 * float(np.cos(5.0 * k))
        live = 1000.0 + 430.0 * lab + gap
        rows.append(
            replace(
                base[k % len(base)],
                name=f"provider/model-{k:02d}-instruct",
                lab=lab,
                lab_low=lab - 0.03,
                lab_high=lab + 0.03,
                live=live,
                live_low=live - 9.0,
                live_high=live + 9.0,
                lab_rank_low=max(1, n - k - 4),
                lab_rank_high=min(n, n - k + 4),
                live_rank_low=max(1, n - k - 3),
                live_rank_high=min(n, n - k + 3),
                gap=gap,
                conf_low=gap - 30.0,
                conf_high=gap + 30.0,
                adjusted_low=gap - 35.0,
                adjusted_high=gap + 35.0,
                verdict="gap" if flagged else "inconclusive",
                p_outlier=0.001 if flagged else 0.5,
            )
        )
    line = made("votes").line
    assert line is not None
    line = replace(line, slope=430.0, intercept=1000.0, slope_std_error=20.0)
    return replace(made("votes"), line=line, rows=tuple(sorted(rows, key=lambda row: -row.live)), n_models=n)


def boxes(figure: Figure) -> dict[str, np.ndarray]:
    """Where words of the axes stand as they are drawn, by their text: x0, y0, x1, y1."""
    with house_style():
        renderer = FigureCanvasAgg(figure).get_renderer()
        return {
            text.get_text(): text.get_window_extent(renderer).extents
            for axes in figure.axes
            for text in axes.texts
            if text.get_text()
        }
