"""What of the difference is mix and what is behaviour, and where the lab has no item for what live users bring."""

import dataclasses

import polars as pl

from evalstats.analysis.gap import figures
from evalstats.analysis.gap.figures import why_not
from evalstats.analysis.gap.layers import Decomposition
from evalstats.analysis.gaps.wording_headline import level_told
from evalstats.analysis.gaps.wording_mix import by_model_table, cells_table, mix_blocks, overall_table
from evalstats.analysis.gaps.wording_parts import mix_sentences
from evalstats.analysis.gaps.words import capital, stopped
from evalstats.report.arena.blocks import compact
from evalstats.report.lab_live.blocks import drawn, indented, long_table, notes_of
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import csv_link, prose, section

_ALL = 100


def parts(page: LabLivePage) -> str:
    """Return the decomposition; nothing where there is none."""
    found = page.found
    split = found.decomposition
    if split is None:
        return ""
    known = split.overall.total.conf_low is not None
    steps = figures.waterfall(found)
    drawn_ = known and steps is not None
    waterfall = drawn(
        steps,
        "fig-parts",
        reason=why_not(found, "waterfall"),
        caption="From the lab to live in parts that add up, mean over models.",
    )
    return section(
        "Mix and behaviour" if known else "What the lab says for the live mix",
        prose(
            " ".join(
                [*([stopped(capital(level_told(found)))] if known and level_told(found) else []), *mix_sentences(found)]
            )
        ),
        waterfall if known else "",
        long_table(
            indented(overall_table(found, split)), "tbl-parts-of-gap", "The same as a table", few=0 if drawn_ else _ALL
        ),
        long_table(by_model_table(found, split), "tbl-mix-models", "By model"),
        section("Does the lab cover what live users bring?", *_coverage(page, split)),
        level=2,
    )


def _coverage(page: LabLivePage, split: Decomposition) -> list[str]:
    found = page.found
    figure = drawn(
        figures.mix(found),
        "fig-coverage",
        reason=why_not(found, "mix"),
        caption="How often each scenario occurs in the lab and live. Where the lab has nothing, no weighting can stand for it.",
        after=csv_link(compact(_cells(split)), "scenarios.csv", "Data of this figure (CSV)"),
    )
    few = 0 if figures.mix(found) else _ALL
    return [
        figure,
        long_table(cells_table(found, split), "tbl-cells", "What each adds to mix and behaviour", few=few),
        notes_of(mix_blocks(found), "How this was weighted, and what is thin"),
    ]


def _cells(split: Decomposition) -> pl.DataFrame:
    rows: list[dict[str, object]] = []
    for cell in split.cells:
        row = {field.name: getattr(cell, field.name) for field in dataclasses.fields(cell)}
        for name in ("mix", "behaviour"):
            part = row.pop(name)
            for end in ("estimate", "conf_low", "conf_high"):
                row[f"{name}_{end}"] = None if part is None else getattr(part, end)
        rows.append(row)
    return pl.DataFrame(rows, infer_schema_length=None)
