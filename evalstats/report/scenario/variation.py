"""What scores vary by, which levels stand out, and how reliable the benchmark is."""

from evalstats.analysis.scenarios import figures
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.wording_spread import reliability_blocks, variance_blocks
from evalstats.document.blocks import Heading, Paragraph, Table
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, folded, prose
from evalstats.report.scenario.blocks import shown
from evalstats.report.scenario.page import ScenarioPage


def variances(page: ScenarioPage) -> str:
    """Return the sources of variation: shares as bars, everything else in the table."""
    found = page.model
    if not found.variances:
        return prose("The model has no random effects, so nothing can be told apart.")
    figure = ""
    if any(row.share is not None for row in found.variances):
        figure = figure_float(
            figures.variance_shares(found),
            "fig-shares",
            caption=prose(_shares_caption(found)),
        )
    return "\n\n".join(part for part in (figure, shown(variance_blocks(found), "tbl-variances")) if part)


def _shares_caption(found: ScenarioModel) -> str:
    scale = (
        "on the scale of log-odds, where chance has the variance π²/3" if found.family == "binomial" else "of the whole"
    )
    return f"What scores vary by: shares of the variance, {scale}. SD is the standard deviation."


def effects(page: ScenarioPage) -> str:
    """Return the caterpillar plot of the random effects; nothing where the result lists none."""
    found = page.model
    levels = figures.caterpillar(found)
    if levels is None:
        return ""
    caption = (
        "Levels of the random effects in the order of their estimates (conditional modes), each with its interval. They are "
        "drawn towards 0 by as much as their noise makes likely. Dark: the interval leaves out 0, which of 100 levels that are "
        "all alike about 5 do."
    )
    return figure_float(
        levels,
        "fig-effects",
        caption=prose(caption),
        after=csv_link(found.effects_frame(), "effects.csv", "Data of this figure (CSV)"),
    )


def reliability(page: ScenarioPage) -> str:
    """Return how well the benchmark tells these models apart, and what more items or trials would bring."""
    found = page.model.reliability
    if found is None:
        return prose("Not estimated: that takes two models or more and more than one item.")
    blocks = [block for block in reliability_blocks(page.model) if not isinstance(block, Heading)]
    tables = [block for block in blocks if isinstance(block, Table)]
    first = shown([block for block in blocks[:1] if isinstance(block, Paragraph)], "")
    rest = shown([block for block in blocks[1:] if not isinstance(block, Table)], "")
    figure = ""
    curve = figures.reliability(page.model)
    if curve is not None:
        figure = figure_float(
            curve,
            "fig-dstudy",
            caption=prose(
                "How reliable the scores of these models would be with other numbers, all else as it is: relative reliability is "
                "about their order, absolute reliability about the scores themselves. Points: what the target takes. The band is "
                "the interval of the relative one, where there is one."
            ),
        )
    table = folded("The curve in numbers", shown(tables, "tbl-dstudy")) if tables else ""
    return "\n\n".join(part for part in (first, figure, rest, table) if part)
