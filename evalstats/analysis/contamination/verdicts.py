"""From questions to lines: estimates, p adjusted for all suspects together, verdicts, and what to beware of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalstats.analysis.contamination.items import Asked, ItemTable
from evalstats.analysis.contamination.result import Alternative, ContaminationRow, Design, Verdict
from evalstats.analysis.grouping import label_of
from evalstats.analysis.provenance import dependence_warnings
from evalstats.analysis.result import notes as as_notes
from evalstats.document.model import Note
from evalstats.document.numbers import plural
from evalstats.stats.clusters import Dependence, undeclared_dependence
from evalstats.stats.contamination.difference_in_differences import ReferenceGap, reference_gap
from evalstats.stats.estimate import t_quantile
from evalstats.stats.many.multiplicity import holm

_OWN = "CR2 over items, Satterthwaite df"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What decides a verdict. `bound` is the largest difference of differences that there can be."""

    conf_level: float
    margin: float | None
    alternative: Alternative
    bound: float | None


def judged(asked: Sequence[Asked], options: Options) -> tuple[ContaminationRow, ...]:
    """Return a line for every suspect, p adjusted by Holm over those that have one."""
    lines = [_line(each, options) for each in asked]
    tested = [place for place, row in enumerate(lines) if row.p_value is not None]
    adjusted: list[float] = holm([lines[place].p_value or 1.0 for place in tested]).tolist() if tested else []
    for place, p in zip(tested, adjusted, strict=True):
        row = replace(lines[place], p_adjusted=p)
        verdict, reason = _verdict(row, options, len(tested))
        lines[place] = replace(row, verdict=verdict, reason=reason)
    return tuple(lines)


def overall(rows: Sequence[ContaminationRow]) -> tuple[Verdict, str]:
    """Return the verdict on all suspects together.

    Examples
    --------
    >>> overall(())
    ('invalid', 'there is no suspect to judge')
    """
    if not rows:
        return "invalid", "there is no suspect to judge"
    inflated = [row.model for row in rows if row.verdict == "inflated"]
    if inflated:
        return (
            "inflated",
            f"{len(inflated)} of {len(rows)} suspects score more on old items than clean models lead to expect",
        )
    if all(row.verdict == "invalid" for row in rows):
        return "invalid", rows[0].reason
    if all(row.verdict == "clean within the margin" for row in rows):
        return "clean within the margin", "the largest inflation that the data leave possible is below the margin"
    if len(rows) == 1:
        return rows[0].verdict, rows[0].reason
    return "inconclusive", "no inflation is shown, and not every suspect is shown to be clean"


def _line(asked: Asked, options: Options) -> ContaminationRow:
    row = ContaminationRow(
        model=asked.suspect,
        verdict="invalid",
        reason=asked.invalid or "",
        estimate=None,
        conf_level=options.conf_level,
        references=asked.references,
        n_old=asked.n_old,
        n_new=asked.n_new,
        n_left_out=asked.n_left_out,
        old_score=asked.old_score,
        new_score=asked.new_score,
    )
    if asked.contrast is None or asked.invalid:
        return row
    found = reference_gap(
        asked.suspect_scores,
        asked.reference_scores,
        asked.contrast,
        conf_level=options.conf_level,
        bound=options.bound,
    )
    low, high, method = _own(asked, found, options)
    dated = asked.dated
    return replace(
        row,
        verdict="inconclusive",
        reason=found.reason or "",
        estimate=found.estimate,
        n_clusters=found.n_clusters if asked.clustered else None,
        conf_low=found.conf_low,
        conf_high=found.conf_high,
        largest=found.conf_high,
        std_error=found.std_error,
        df=found.df,
        p_value=found.p_greater if options.alternative == "greater" else found.p_value,
        own=found.own,
        own_low=low,
        own_high=high,
        own_method=method,
        reference=found.reference,
        item_std_error=found.item_std_error,
        item_p_value=found.item_p_value,
        between_sd=found.between_sd,
        cutoff=None if dated is None else dated.cutoff,
        bandwidth=None if dated is None else dated.bandwidth,
        bandwidth_reason=None if dated is None else dated.reason,
        widths=() if dated is None else dated.widths,
        density=None if dated is None else dated.density,
    )


def _own(asked: Asked, found: ReferenceGap, options: Options) -> tuple[float | None, float | None, str]:
    """Return the interval of the suspect's own advantage, from items."""
    if asked.own_method:
        return asked.own_low, asked.own_high, asked.own_method
    if found.own_std_error is None or asked.contrast is None:
        return None, None, _OWN
    reach = t_quantile(options.conf_level, asked.contrast.df) * found.own_std_error
    edge = options.bound / 2 if options.bound is not None else float("inf")
    return max(-edge, found.own - reach), min(edge, found.own + reach), _OWN


def _verdict(row: ContaminationRow, options: Options, n_tests: int) -> tuple[Verdict, str]:
    """Judge one line; the margin goes first, since it says what does not matter."""
    if row.estimate is None or row.largest is None or row.p_adjusted is None or row.p_value is None:
        return row.verdict, row.reason
    alpha = 1.0 - options.conf_level
    shown = row.estimate > 0 and row.p_adjusted <= alpha
    if options.margin is not None and row.largest < options.margin:
        also = "; an inflation is shown, and it is smaller than the margin" if shown else ""
        return (
            "clean within the margin",
            f"the largest inflation that the data leave possible is below the margin{also}",
        )
    if shown:
        family = f", adjusted for {n_tests} suspects" if n_tests > 1 else ""
        return "inflated", f"its advantage on old items is larger than clean models lead to expect{family}"
    if row.estimate > 0 and row.p_value <= alpha:
        return "inconclusive", f"more than chance by itself, but not once {n_tests} suspects are counted as one family"
    if row.estimate < 0 and row.conf_high is not None and row.conf_high < 0:
        return (
            "inconclusive",
            "it scores less on old items than clean models lead to expect, which is no sign of contamination",
        )
    rest = "no margin is declared" if options.margin is None else "one beyond the margin is not excluded"
    return "inconclusive", f"no inflation is shown, and {rest}"


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
) -> tuple[Note, ...]:
    """Return what a reader must know before using the numbers."""
    return (
        *_of_references(rows, table),
        *_of_missing(rows),
        *(note for row in rows for note in _of_df(row)),
        *(note for each in asked for note in each.notes if note.caution),
        *as_notes("comparability", (*table.table.measured.refusal(), *table.table.measured.of("weakens"))),
        *as_notes("dependence", dependence_warnings(suspected)),
        *(
            [Note(kind="plan", text="the test is one-sided, which holds only if that was declared before looking")]
            if options.alternative == "greater"
            else []
        ),
    )


def _of_references(rows: Sequence[ContaminationRow], table: ItemTable) -> list[Note]:
    found: list[Note] = []
    if table.references is None:
        found.append(
            Note(
                kind="choice",
                text="no model is named as clean, so what several models have seen alike cannot show",
                remedy="Name models trained before the items were public: --reference MODEL",
            )
        )
    counts = {len(row.references) for row in rows if row.p_value is not None}
    if counts and min(counts) < _FEW_REFERENCES:
        found.append(
            Note(
                kind="few",
                text=f"{min(counts)} references show little of how clean models differ, so intervals are wide",
                remedy="A further reference helps more than further items",
            )
        )
    return found


def _of_missing(rows: Sequence[ContaminationRow]) -> list[Note]:
    lost = [row for row in rows if row.n_left_out > _MUCH_LOST * (row.n_left_out + row.n_old + row.n_new)]
    if not lost:
        return []
    worst = max(lost, key=lambda row: row.n_left_out)
    text = f"{plural(worst.n_left_out, 'item')} left out for {worst.model}, since it or a reference has no score there"
    return [Note(kind="missing", text=text, remedy="The answer is for the others, which may be easier or harder")]


def _of_df(row: ContaminationRow) -> list[Note]:
    if row.df is None or row.df >= min(_WORST_FEW_DF, len(row.references) - 1):
        return []
    text = f"the clusters are worth {row.df:.1f} degrees of freedom for {row.model}"
    return [Note(kind="few", text=f"{text}, so its interval is rough")]
