"""What the numbers of lab against live mean: agreement, one model's gap, mix, the verdict, and what would change it."""

from evalstats.analysis.gap.layers import Part
from evalstats.analysis.gap.result import GapRow, LabLiveGap
from evalstats.analysis.gaps.wording_answer import models_like_these, these_models
from evalstats.analysis.gaps.wording_models import gap_interval
from evalstats.analysis.gaps.words import (
    apart,
    direction,
    flagged,
    gap_ends,
    gap_text,
    gap_unit,
    gap_words,
    level,
    metric_side,
    part_ends,
    part_text,
    score_text,
    score_unit,
    share,
    size_text,
    some,
)
from evalstats.document.numbers import interval, number, plural

_NAMED = 4


def agreement_means(found: LabLiveGap) -> list[str]:
    """Say what the coefficients mean, with those of this result."""
    rank, pairs = found.agreement.of("spearman"), found.agreement.pairs
    if rank.estimate is None:
        return [f"How far the orders agree cannot be told: {rank.reason or 'the data do not say'}"]
    said: list[str] = []
    if pairs is not None:
        said.append(
            f"Of two models picked at random the lab and live users put the same one ahead in {share(pairs.agreement)} of "
            f"{plural(pairs.n_pairs, 'pair')}; 50% would be a coin"
        )
    these, like = these_models(rank), models_like_these(rank)
    if these is not None:
        said.append(
            f"Spearman's {number(rank.estimate)} would move within {interval(these.conf_low, these.conf_high)} with other noise "
            "and the same models: that is how well it is known for these"
        )
    if like is not None:
        said.append(
            f"With other models of their kind it would move within {interval(like.conf_low, like.conf_high)}: that is what to "
            "quote when the lab is recommended for models that come next"
        )
    if rank.ceiling is not None:
        said.append(
            f"The ceiling of {number(rank.ceiling)} is no bound but what to expect of two perfect measures with this noise; a "
            f"coefficient of {number(rank.estimate)} is to be read against it and not against 1"
        )
    return [*said, *_narrow_range(found, rank.estimate)]


def _narrow_range(found: LabLiveGap, overall: float) -> list[str]:
    """Say where agreement within the best is lower than over all, both intervals apart: the range of models made it."""
    whole = these_models(found.agreement.of("spearman"))
    if whole is None or whole.conf_low is None:
        return []
    tops = [row for row in found.agreement.parts if row.kind == "top" and row.spearman is not None]
    low = [row for row in tops if row.conf_high is not None and row.conf_high < whole.conf_low]
    if not low:
        return []
    told = " and ".join(f"{number(row.spearman)} within the {row.label}" for row in low)
    return [
        (
            f"Over all models it is {number(overall)}, but {told}: a good part of the agreement is that weak models are weak on "
            "both "
            "sides, and who chooses among the best gets less from the lab"
        )
    ]


# --- gaps ---


def gaps_mean(found: LabLiveGap) -> list[str]:
    """Say what the gap of a model means, with the largest of this result."""
    line = found.line
    if line is None:
        return _differences_mean(found)
    rows = flagged(found) or sorted(found.rows, key=lambda row: -abs(row.gap or 0.0))
    row = rows[0]
    said = [
        (
            f"Take {row.name}: it has {_score(row.lab, found, lab=True)} in the lab. By the line through the others "
            f"that leads to expect {_score(row.expected, found)} live; it has {_score(row.live, found)}. Its gap is the "
            f"difference, {gap_words(found)}: {gap_text(row.gap, found)}, and may be anything in {gap_interval(row, found)}"
        ),
        (
            "Two questions are asked of every model. Is its gap more than noise? The interval says it. Does it stand out "
            "among the true gaps of the others? Only then is it called a gap, since some spread of true gaps is what every "
            "benchmark has"
        ),
    ]
    if line.tau:
        said.append(
            f"True gaps of these models spread by about {size_text(line.tau, found)}: a model whose lab score is known without "
            "error would still be forecast no better than that"
        )
    if row.shrunken is not None and line.tau:
        said.append(
            f"Drawn towards 0 by what noise makes likely, the gap of {row.name} is {gap_text(row.shrunken, found)}: the better "
            "guess where one number has to be acted upon"
        )
    return said


def _score(value: float | None, found: LabLiveGap, *, lab: bool = False) -> str:
    side = found.lab if lab else found.live
    unit = score_unit(side)
    return f"{score_text(value, found, side)}{'' if unit in ('', '%') else f' {unit}'}"


def _differences_mean(found: LabLiveGap) -> list[str]:
    rows = apart(found) or sorted(
        (row for row in found.rows if row.difference is not None), key=lambda row: -abs(row.difference or 0.0)
    )
    if not rows:
        return []
    row = rows[0]
    return [
        (
            f"Take {row.name}: it has {_score(row.lab, found, lab=True)} in the lab and {_score(row.live, found)} live. The "
            "difference is "
            f"{gap_text(row.difference, found)} and may be anything in "
            f"{gap_ends(row.difference_low, row.difference_high, found)}; what all models share is in it"
        )
    ]


def parts_mean(found: LabLiveGap) -> list[str]:
    """Say what mix and behaviour are here, and which of them the model can be blamed for."""
    parts = found.decomposition
    if parts is None:
        return []
    row = parts.overall
    said: list[str] = []
    if row.mix.conf_low is not None and row.behaviour.conf_low is not None:
        said.append(
            f"Had live users brought what the lab brings, live less lab would have been about {_part(row.behaviour, found)}: the "
            "part that models answer for"
        )
        said.append(
            f"The mix moves the score by {_part(row.mix, found)} although no model does anything otherwise; another mix of lab "
            "items would take that away"
        )
    if row.poststratified is not None:
        said.append(
            f"Weighted to the live mix the lab says {part_text(row.poststratified, found, sign=False)} "
            f"{part_ends(row.poststratified, found, sign=False)} where plainly it says {part_text(row.lab, found, sign=False)}"
        )
    missing = [cell.cell for cell in parts.cells if cell.status == "lab never covers"]
    if missing:
        said.append(
            f"The lab has no item of {some(missing)}: for that part of live use nothing in the lab says anything"
        )
    return said


def _part(part: Part, found: LabLiveGap) -> str:
    unit = gap_unit(metric_side(found))
    return f"{part_text(part, found)}{f' {unit}' if unit else ''} {part_ends(part, found)}"


# --- verdict ---


def verdict_means(found: LabLiveGap) -> list[str]:
    """Say what the verdict says and what it does not."""
    rows = flagged(found)
    if found.verdict == "invalid":
        return [
            f"No statement about any gap follows from these data: {found.verdict_reason}",
            "What is said of agreement stands by itself",
        ]
    if found.verdict == "aligned":
        return [
            (
                f"Every model is shown to do live what the lab leads to expect, to within {_margin(found)}. This is shown, not "
                "merely not disproved"
            ),
            "It speaks of these models and of a margin that was declared; a smaller margin may not have been shown",
        ]
    if found.verdict == "gap":
        said = [_gap_verdict(found, rows)]
        others = [row for row in found.rows if row.verdict == "inconclusive"]
        if rows and others:
            said.append(
                f"Of the other models {len(others)} are inconclusive: not finding a gap in them is not finding that there is none"
            )
        said.append(
            "Why a model does otherwise live is not said by this; the threats to validity are the list to go through"
        )
        return said
    why = "" if found.margin is not None else ". Without a declared margin nothing can be called aligned"
    return [
        "No gap is shown, and that there is none is not shown either: not finding a gap is not finding that there is none"
        + why
    ]


def _gap_verdict(found: LabLiveGap, rows: list[GapRow]) -> str:
    if rows:
        names = some([row.name for row in rows], _NAMED)
        lie = "it lies" if len(rows) == 1 else "they lie"
        return (
            f"A gap is shown for {names}: {lie} off what the lab leads to expect by more than chance, and more than the others "
            "do. "
            f"If no model had a gap, such a list would be empty in {level(found)} of studies or more"
        )
    if found.level is not None and found.level.verdict == "gap":
        where = direction(found.level.estimate, found)
        return (
            f"Live scores lie {where} the lab's on average over models by more than chance; no single model is shown to stand "
            "out from the line through the others"
        )
    return f"{plural(len(apart(found)), 'model')} differ live from the lab by more than chance"


def _margin(found: LabLiveGap) -> str:
    return "the margin" if found.margin is None else size_text(found.margin, found)


# --- what would change it ---


def would_change(found: LabLiveGap) -> list[str]:
    """Say which finding is the weakest, which is the nearest miss, and which other choice would say otherwise."""
    said = [*_weakest(found), *_nearest(found), *_other_lines(found)]
    if found.line is not None and found.line.influential:
        said.append(
            f"Without {some(found.line.influential, _NAMED)} the line would turn by more than its standard error, and with it "
            "what to expect of all others"
        )
    if found.near_names:
        one, two = found.near_names[0]
        more = f" and {plural(len(found.near_names) - 1, 'further pair')}" if len(found.near_names) > 1 else ""
        said.append(
            f"Names that look alike were not joined ({one} and {two}{more}); more shared models narrow everything"
        )
    if found.margin is None and found.line is not None:
        said.append("With a margin declared before looking, models could be shown to be aligned")
    return said


def _weakest(found: LabLiveGap) -> list[str]:
    rows = [row for row in flagged(found) if row.adjusted_low is not None and row.adjusted_high is not None]
    if not rows:
        return []
    row = min(rows, key=lambda row: min(abs(row.adjusted_low or 0.0), abs(row.adjusted_high or 0.0)))
    least = min(abs(row.adjusted_low or 0.0), abs(row.adjusted_high or 0.0))
    return [
        f"The least certain of the gaps called is that of {row.name}: it may be as small as {size_text(least, found)}"
        if len(rows) > 1
        else f"The gap of {row.name} may be as small as {size_text(least, found)}"
    ]


def _nearest(found: LabLiveGap) -> list[str]:
    rows = [row for row in found.rows if row.verdict == "inconclusive" and row.p_adjusted is not None]
    if not rows:
        return []
    row = min(rows, key=lambda row: (row.p_adjusted or 1.0, row.p_outlier or 1.0))
    least = (
        ""
        if row.detectable is None
        else f"; one of {size_text(row.detectable, found)} would have been found 4 times in 5"
    )
    return [f"The nearest to being called is {row.name} ({gap_text(row.gap, found)}){least}"]


def _other_lines(found: LabLiveGap) -> list[str]:
    """Say what ordinary regression would have called, one by one."""
    if found.line is None:
        return []
    ols = next((each for each in found.line.others if each.key == "ols" and each.n_beyond is not None), None)
    if ols is None:
        return []
    n = len(flagged(found))
    return [
        (
            f"Ordinary regression of live on lab would call {plural(ols.n_beyond or 0, 'model')} significant one by one, since "
            "it "
            f"takes lab scores as exact; here {n or 'none'} {'is' if n == 1 else 'are'} called"
        )
    ]
