"""Marginal means in words and tables."""

from evalstats.analysis.mixing.mean_results import ContrastRow, MeanRow, Means
from evalstats.analysis.mixing.wording import digits_for
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import interval, number, p_value, plural

_ADJUST = {
    "holm": "Holm within each family; intervals are Bonferroni's, which hold together",
    "tukey": "Tukey-Kramer within each family; intervals hold together",
    "max-t": "the largest |t| within each family; intervals hold together",
    "none": "not adjusted: each holds on its own",
}


def means_sentences(result: Means) -> list[str]:
    """Say what was averaged, how many contrasts are shown, and what to beware of."""
    said = [
        f"Means of {result.response} by {', '.join([*result.by, *result.specs])} ({result.scale}), {result.averaging}."
    ]
    tested = [row for row in result.contrasts if row.p_adjusted is not None]
    shown = [row for row in tested if (row.p_adjusted or 0.0) <= 1.0 - result.conf_level]
    if tested:
        said.append(f"{len(shown)} of {plural(len(tested), 'contrast')} differ from 0 (p adjusted by {result.adjust}).")
    lost = sum(row.reason is not None for row in result.rows)
    if lost:
        said.append(f"{plural(lost, 'mean')} cannot be given.")
    return said + [f"Warning: {text}." for text in result.warnings]


def means_blocks(result: Means) -> list[Block]:
    """Return the means, the contrasts, and how they were made."""
    names = [*result.by, *result.specs]
    blocks: list[Block] = [
        Heading(text=f"Marginal means by {', '.join(names)}", level=1),
        Paragraph(text=f"{result.scale}; {result.averaging}."),
    ]
    if result.warnings:
        blocks.append(Bullets(title="Warnings", items=result.warnings, tone="caution"))
    blocks.append(_means_table(result, names))
    if result.contrasts:
        blocks.append(_contrasts_table(result))
        blocks.append(Bullets(title="Method", items=(f"contrasts: {_ADJUST[result.adjust]}",)))
    return blocks


def _means_table(result: Means, names: list[str]) -> Table:
    level = f"{100.0 * result.conf_level:g}%"
    return Table(
        columns=(*names, "Mean", f"{level} interval", "SE", "df", "Note"),
        rows=tuple(_mean_cells(row) for row in result.rows),
        align="l" * len(names) + "rrrrl",
        caption="Each interval on its own",
        wide=("Note", "df"),
    )


def _mean_cells(row: MeanRow) -> tuple[str, ...]:
    digits = digits_for(row.std_error)
    free = "–" if row.estimate is None else "∞" if row.df is None else number(row.df, 1)
    return (
        *(level for _, level in row.levels),
        number(row.estimate, digits),
        interval(row.conf_low, row.conf_high, digits=digits),
        number(row.std_error, digits),
        free,
        row.reason or "",
    )


def _contrasts_table(result: Means) -> Table:
    level = f"{100.0 * result.conf_level:g}%"
    adjusted = "p" if result.adjust == "none" else f"p ({result.adjust})"
    return Table(
        columns=("Contrast", "Difference", f"{level} interval", "SE", "df", adjusted, "p alone", "Note"),
        rows=tuple(_contrast_cells(row) for row in result.contrasts),
        align="lrrrrrrl",
        caption="Contrasts; interval and adjusted p for each family together",
        wide=("Note", "df", "SE"),
    )


def _contrast_cells(row: ContrastRow) -> tuple[str, ...]:
    digits = digits_for(row.std_error)
    free = "–" if row.estimate is None else "∞" if row.df is None else number(row.df, 1)
    return (
        row.name,
        number(row.estimate, digits, sign=True),
        interval(row.conf_low, row.conf_high, digits=digits, sign=True),
        number(row.std_error, digits),
        free,
        p_value(row.p_adjusted),
        p_value(row.p_value),
        row.reason or "",
    )
