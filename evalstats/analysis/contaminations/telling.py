"""What stands beside the lines: methods by name, what is estimated, what to beware of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evalstats.analysis.contaminations.asking import Asked
from evalstats.analysis.contaminations.items import ItemTable
from evalstats.analysis.contaminations.judging import Options
from evalstats.analysis.contaminations.results import ContaminationRow, Design
from evalstats.analysis.grouping import label_of
from evalstats.analysis.notes import dependence_warnings
from evalstats.document.numbers import plural
from evalstats.stats.clusters import Dependence, undeclared_dependence

METHODS: Mapping[Design, str] = {
    "split": "difference in differences against reference models, t on their number",
    "date": "regression discontinuity against reference models, t on their number",
    "twins": "paired twins against reference models, t on their number",
}
_FEW_REFERENCES = 5
_MUCH_LOST = 0.05
_WORST_FEW_DF = 4.0


def estimand_of(design: Design, column: str, sides: tuple[str, str], clusters: Sequence[str]) -> str:
    """Say what is estimated.

    Examples
    --------
    >>> estimand_of("split", "source", ("public", "fresh"), ())[:52]
    'mean score on public less fresh items of source, bey'
    """
    what = {
        "split": f"mean score on {sides[0]} less {sides[1]} items of {column}",
        "date": f"jump of the mean score at the model's cut-off, before less after, by {column}",
        "twins": f"mean score on {sides[0]} items less their {sides[1]} twins",
    }[design]
    units = " and ".join(clusters) or "items"
    return f"{what}, beyond the mean of clean models, for new {units} and models like these"


def suspicions(asked: Sequence[Asked], table: ItemTable, seed: int) -> tuple[Dependence, ...]:
    """Test whether what is left of the first suspect's differences runs in groups that were not declared."""
    first = next((each for each in asked if each.contrast is not None), None)
    if first is None or table.clusters or not first.groups:
        return ()
    found = undeclared_dependence(first.residuals(), first.groups, seed=seed)
    names = table.table.data.factor_names()
    return tuple(_relabelled(row, names) for row in found)


def _relabelled(row: Dependence, names: Mapping[str, str]) -> Dependence:
    return replace(row, factor=label_of(row.factor, names))


def cautions(
    rows: Sequence[ContaminationRow],
    asked: Sequence[Asked],
    table: ItemTable,
    suspected: Sequence[Dependence],
    options: Options,
) -> tuple[str, ...]:
    """Return what a reader must know before using the numbers."""
    return (
        *_of_references(rows, table),
        *_of_missing(rows),
        *(f"{row.model}: {text}" for row in rows for text in _of_df(row)),
        *(f"{each.suspect}: {text}" for each in asked for text in each.warnings),
        *table.table.rulers.refusal(),
        *table.table.rulers.of("weakens"),
        *dependence_warnings(suspected),
        *(
            ["the test is one-sided: legitimate if that was declared before looking"]
            if options.alternative == "greater"
            else []
        ),
    )


def _of_references(rows: Sequence[ContaminationRow], table: ItemTable) -> list[str]:
    told: list[str] = []
    if table.references is None:
        told.append(
            "no model is named as clean, so each is held against all the others: what several of them have seen alike cannot "
            "show; name models trained before the items were public (--reference)"
        )
    counts = {len(row.references) for row in rows if row.p_value is not None}
    if counts and min(counts) < _FEW_REFERENCES:
        told.append(
            f"{min(counts)} references tell little of how far clean models differ, so the intervals are wide; each further one "
            "helps more than further items"
        )
    return told


def _of_missing(rows: Sequence[ContaminationRow]) -> list[str]:
    lost = [row for row in rows if row.n_left_out > _MUCH_LOST * (row.n_left_out + row.n_old + row.n_new)]
    if not lost:
        return []
    worst = max(lost, key=lambda row: row.n_left_out)
    told = (
        f"{plural(worst.n_left_out, 'item')} left out for {worst.model}, since it or a reference has no score there; if these "
        "are not like the rest, the answer is for the others"
    )
    return [told]


def _of_df(row: ContaminationRow) -> list[str]:
    if row.df is None or row.df >= min(_WORST_FEW_DF, len(row.references) - 1):
        return []
    return [f"clusters so few or unequal that they are worth {row.df:.1f} degrees of freedom: the interval is rough"]
