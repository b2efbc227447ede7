"""From questions to lines: estimates, p adjusted for all suspects together, and verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from evalstats.analysis.contaminations.asking import Asked
from evalstats.analysis.contaminations.results import Alternative, ContaminationRow, Verdict
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
