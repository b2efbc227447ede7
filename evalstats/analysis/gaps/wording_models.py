"""Tables of single models: what the lab leads to expect of each, what live users say, and the verdict."""

from collections.abc import Sequence

from evalstats.analysis.arenas.wording_tables import table_of
from evalstats.analysis.gap.result import Deviation, GapRow, LabLiveGap
from evalstats.analysis.gaps.words import (
    capital,
    difference_words,
    ends,
    flagged,
    gap_ends,
    gap_text,
    gap_unit,
    gap_words,
    grouped,
    level,
    of,
    ranks,
    score_text,
    score_unit,
    size_text,
    some,
)
from evalstats.document.blocks import Block, Bullets, Table
from evalstats.document.numbers import p_value

# Lines of a long list: those beyond it are in the frames and in the JSON.
LINES = 20
_NAMED = 6
_BEYOND = "Beyond the mean"


def models_blocks(found: LabLiveGap) -> list[Block]:
    """Return the table of models, what it alone would suggest wrongly, and on one scale the plain differences."""
    blocks: list[Block] = [models_table(found)]
    beside = beside_models(found)
    if beside:
        blocks.append(Bullets(items=tuple(beside)))
    table = differences_table(found)
    if table is not None:
        blocks.append(table)
    return blocks


def shown_rows(found: LabLiveGap) -> list[GapRow]:
    """Return all rows where they are few; of many those that stand out most, in the order of the rows."""
    if len(found.rows) <= LINES:
        return list(found.rows)
    if found.line is None:
        return list(found.rows[:LINES])
    order = sorted(
        found.rows, key=lambda row: (row.verdict != "gap", row.p_outlier if row.p_outlier is not None else 1.0)
    )
    kept = {row.name for row in order[:LINES]}
    return [row for row in found.rows if row.name in kept]


def models_table(found: LabLiveGap) -> Table:
    """One line for each model: both scores, what the lab leads to expect live, the gap and its verdict."""
    rows, lab, live = shown_rows(found), found.lab, found.live
    columns: dict[str, list[str]] = {
        "Model": [row.name for row in rows],
        "Lab": [score_text(row.lab, found, lab, unit=False) for row in rows],
        "Live": [score_text(row.live, found, live, unit=False) for row in rows],
    }
    if any(row.gap is not None for row in rows):
        columns |= {
            "Expected": [score_text(row.expected, found, live, unit=False) for row in rows],
            "Gap": [gap_text(row.gap, found, unit=False) for row in rows],
            f"{level(found)} interval": [gap_interval(row, found) for row in rows],
            "Verdict": [verdict(row) for row in rows],
            "p (adjusted)": [p_value(row.p_adjusted) for row in rows],
            "Shrunken": [gap_text(row.shrunken, found, unit=False) for row in rows],
        }
    if any(row.lab_rank_low for row in rows):
        columns["Lab rank"] = [ranks(row.lab_rank_low, row.lab_rank_high) for row in rows]
    if any(row.live_rank_low for row in rows):
        columns["Live rank"] = [ranks(row.live_rank_low, row.live_rank_high) for row in rows]
    if all(row.gap is None for row in rows):
        columns |= _own_intervals(found, rows)
    return table_of(
        columns,
        caption=_caption(found, len(rows)),
        left=("Model", "Verdict"),
        wide=("Expected", "p (adjusted)", "Shrunken", "Lab rank", "Live rank", "Lab interval", "Live interval"),
    )


def _own_intervals(found: LabLiveGap, rows: Sequence[GapRow]) -> dict[str, list[str]]:
    """Return the intervals of either side's scores, where there are any."""
    told = {
        "Lab interval": [ends(row.lab_low, row.lab_high, found, found.lab) for row in rows],
        "Live interval": [ends(row.live_low, row.live_high, found, found.live) for row in rows],
    }
    return {name: values for name, values in told.items() if any(value != "none" for value in values)}


def _caption(found: LabLiveGap, n_shown: int) -> str:
    order = f"Models, the best live first{units_of(found)}{_of_many(found, n_shown)}"
    if found.line is None:
        return order
    return (
        f"{order}. Expected: the live score that a model's lab score leads to expect, by a line through the other models. Gap: "
        f"{gap_words(found)}"
    )


def units_of(found: LabLiveGap) -> str:
    """Say in which unit either side's numbers are, where they have one."""
    lab, live = score_unit(found.lab), score_unit(found.live)
    if lab == live:
        return f" (in {lab})" if lab else ""
    told = [f"{name} in {unit}" for name, unit in (("lab", lab), ("live", live)) if unit]
    return f" ({', '.join(told)})"


def _of_many(found: LabLiveGap, n_shown: int) -> str:
    if n_shown == len(found.rows):
        return ""
    which = "the first" if found.line is None else "the"
    stand = "" if found.line is None else " that stand out most"
    return f"; {which} {n_shown} of {len(found.rows)}{stand} (all are in to_frame() and the JSON)"


def gap_interval(row: GapRow, found: LabLiveGap) -> str:
    """Write the interval that decides: at the level of false-coverage control where the model is flagged."""
    if row.adjusted_low is not None and row.adjusted_high is not None:
        return gap_ends(row.adjusted_low, row.adjusted_high, found)
    return "–" if row.conf_low is None else gap_ends(row.conf_low, row.conf_high, found)


def verdict(row: GapRow) -> str:
    """Write the verdict of a model, and whether its gap lies beyond the declared margin."""
    return f"{row.verdict}, material" if row.verdict == "gap" and row.material else row.verdict


# --- beside the table ---


def beside_models(found: LabLiveGap) -> list[str]:
    """Explain every verdict that stands in the table, and name the models whose lines need a word."""
    said = verdict_lines(found)
    extrapolated = [row.name for row in found.rows if row.extrapolated]
    if extrapolated and found.line is not None:
        said.append(
            f"{some(extrapolated, _NAMED)}: the lab score lies outside those of the others, so what to expect is extrapolated."
        )
    own = [row for row in found.rows if row.reason and (row.gap is None or row.verdict == "invalid")]
    reasons = grouped((row.reason, row.name) for row in own)
    for reason, names in reasons:
        if any(reason == why.rstrip(".") for _, why in found.left_out):
            continue  # said once, of all
        whom = "All models" if len(names) == len(found.rows) else some(names, _NAMED)
        said.append(f"{whom}: {reason}.")
    return said


def verdict_lines(found: LabLiveGap) -> list[str]:
    """Say of each verdict that occurs what it rests on."""
    if found.line is None:
        return []
    have = {row.verdict for row in found.rows}
    margin = "" if found.margin is None else size_text(found.margin, found)
    few = found.n_models < 10
    beyond = (
        f" and lies beyond the margin of {margin}, which is asked for with fewer than 10 models"
        if few and margin
        else ""
    )
    said: list[str] = []
    if "gap" in have:
        material = "; material: beyond the declared margin too" if margin and not few else ""
        n = len(flagged(found))
        said.append(
            f"gap: the model stands out among the gaps of the others (Benjamini-Hochberg over {found.n_models} models), "
            f"and its interval, widened for {'it' if n == 1 else 'them'} being picked, excludes 0{beyond}{material}."
        )
    if "aligned" in have:
        narrow = f"{100 * (1 - 2 * (1 - found.conf_level)):g}%"
        said.append(
            f"aligned: the gap is shown to be smaller than the declared margin of {margin}: its {narrow} interval, which two "
            f"one-sided tests at {100 * (1 - found.conf_level):g}% ask for, lies inside."
        )
    if "inconclusive" in have:
        why = "" if margin else " No margin was declared, so no model can be called aligned; --margin declares one."
        said.append(f"inconclusive: neither is shown; it does not say that there is no gap.{why}")
        if any(_more_than_noise(row) for row in found.rows):
            said.append(
                "inconclusive beside an interval that excludes 0: more than noise, but not shown to be more than what the true "
                "gaps of the other models spread by, so the model is not shown to stand out."
            )
        if few and not margin:
            said.append(
                "With fewer than 10 models a gap is called only beyond a declared margin, and none was declared."
            )
    return said


def _more_than_noise(row: GapRow) -> bool:
    low, high = row.conf_low, row.conf_high
    return row.verdict == "inconclusive" and low is not None and high is not None and (low > 0 or high < 0)


# --- on one scale ---


def differences_table(found: LabLiveGap) -> Table | None:
    """Live less lab of each model, where both are on one scale."""
    rows = [row for row in found.rows if row.difference is not None]
    if not rows:
        return None
    order = sorted(rows, key=lambda row: (row.difference_verdict != "gap", -abs(row.difference or 0.0)))
    kept = {row.name for row in order[:LINES]}
    shown = [row for row in rows if row.name in kept]
    more = f"; {len(shown)} of {len(rows)}, the largest" if len(shown) < len(rows) else ""
    taken = difference_words(found)
    columns = {
        "Model": [row.name for row in shown],
        of(capital(taken), gap_unit(found.live)): [gap_text(row.difference, found, unit=False) for row in shown],
        f"{level(found)} interval": [gap_ends(row.difference_low, row.difference_high, found) for row in shown],
        "Verdict": [row.difference_verdict or "–" for row in shown],
        "p (adjusted)": [p_value(row.difference_adjusted) for row in shown],
        **_deviations(found, shown),
    }
    beyond = (
        "; beyond the mean: less what all models lose or gain on average, with its own interval and p"
        if _BEYOND in columns
        else ""
    )
    return table_of(
        columns,
        caption=(
            f"Plain differences: {taken}. What moves all models alike, such as harder questions, is in each of them{beyond}{more}"
        ),
        left=("Model", "Verdict"),
        wide=("p (adjusted)", _BEYOND, "Its p"),
    )


def _deviations(found: LabLiveGap, shown: Sequence[GapRow]) -> dict[str, list[str]]:
    """Return what each model adds to the overall difference, where that was estimated."""
    if found.level is None or not found.level.deviations:
        return {}
    by = {each.name: each for each in found.level.deviations}
    mine = [by.get(row.name) for row in shown]
    return {
        _BEYOND: ["–" if each is None else _beyond(each, found) for each in mine],
        "Its p": [p_value(each and each.p_adjusted) for each in mine],
    }


def _beyond(each: Deviation, found: LabLiveGap) -> str:
    """Write a deviation and its interval in one cell, so that no narrow page shows the estimate alone."""
    return f"{gap_text(each.estimate, found, unit=False)} {gap_ends(each.conf_low, each.conf_high, found)}"
