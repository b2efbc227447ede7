"""Where the lab does not predict, what non-ideal users take, and what the lab forecasts for models that live users lack."""

import dataclasses

import polars as pl

from evalstats.analysis.gap import figures
from evalstats.analysis.gap.figures import why_not
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording_forecasts import forecast_blocks
from evalstats.analysis.gaps.wording_parts import scenario_sentences
from evalstats.analysis.gaps.wording_slices import drop_blocks, scenario_blocks
from evalstats.document.blocks import Block, Paragraph, Table
from evalstats.report.arena.blocks import compact
from evalstats.report.lab_live.blocks import drawn, listed, long_table, notes_of
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import csv_link, prose, raw, section


def scenarios(page: LabLivePage) -> str:
    """Return live less lab in each scenario, and the single models in single scenarios that differ."""
    found = page.found
    gaps = found.scenario_gaps
    if gaps is None:
        return ""
    frame = pl.DataFrame([dataclasses.asdict(row) for row in (*gaps.means, *gaps.rows)], infer_schema_length=None)
    link = raw("html", csv_link(compact(frame), "scenario-gaps.csv", "Every model in every scenario (CSV)"))
    blocks = scenario_blocks(found)
    return section(
        f"Where the lab does not predict, by {gaps.factor}",
        prose(" ".join(scenario_sentences(found))),
        *_tables(blocks, ("tbl-scenarios", "tbl-scenario-cells")),
        link,
        notes_of(blocks, "How this was estimated, and what is thin"),
        level=2,
    )


def drops(page: LabLivePage) -> str:
    """Return the drop from ideal to non-ideal users in the lab, and whether it forecasts the gap."""
    blocks = drop_blocks(page.found)
    if not blocks:
        return ""
    return section(
        "From ideal to non-ideal users", *_words(blocks), *_tables(blocks, ("tbl-drops",)), listed(blocks), level=2
    )


def forecasts(page: LabLivePage) -> str:
    """Return what live users are expected to say of models that only the lab has, and whether such forecasts held."""
    found = page.found
    blocks = forecast_blocks(found)
    if not blocks:
        return ""
    figure = drawn(
        figures.forecasts(found),
        "fig-forecast",
        reason=why_not(found, "forecasts"),
        caption=(
            "Expected live scores with prediction intervals, which hold a model's own gap. Above, models that only the lab has; "
            "below, the check: every shared model predicted by the others, with the live score it has."
        ),
        after=csv_link(compact(_forecast_frame(found)), "forecasts.csv", "Data of this figure (CSV)"),
    )
    return section(
        "Forecasts from the lab alone",
        *_words(blocks),
        figure,
        *_tables(blocks, ("tbl-forecasts",)),
        listed(blocks),
        level=2,
    )


def _forecast_frame(found: LabLiveGap) -> pl.DataFrame:
    if found.hierarchy is None:
        return pl.DataFrame()
    rows = [{"check": False, **dataclasses.asdict(each)} for each in found.hierarchy.forecasts]
    rows += [{"check": True, **dataclasses.asdict(each)} for each in found.hierarchy.left_out]
    return pl.DataFrame(rows, infer_schema_length=None)


def _words(blocks: list[Block]) -> list[str]:
    return [prose(block.text) for block in blocks if isinstance(block, Paragraph)]


def _tables(blocks: list[Block], labels: tuple[str, ...]) -> list[str]:
    tables = [block for block in blocks if isinstance(block, Table)]
    return [long_table(table, label, "All of them as a table") for table, label in zip(tables, labels, strict=False)]
