"""Figures of the validation page: for each question its rates, our methods in colour and the others hollow."""

from collections.abc import Sequence
from dataclasses import dataclass

from evalstats.datasets.validation import Rate, Study
from evalstats.plots.validation import RatePoint, RateRow, RateScale, rates, rates_alt
from evalstats.report.figures import figure_float
from evalstats.report.markup import csv_link, prose


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Cases that share a heading; all groups whose name begins so."""

    heading: str
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """One row a method, one dot a case, in blocks."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """One row a case: ours filled, a method of other tools hollow."""

    ours: str
    other: str = ""
    said: str = ""


# How each question is drawn.
SHAPES: dict[str, Strips | Pairs] = {
    "one-score": Strips(
        blocks=(
            Block(heading="p = .5, .9, .95, .99; 20 to 1000 items", groups=("p = ",)),
            Block(heading="Average over p from .5 to 1", groups=("average",)),
            Block(heading="The worst p from .5 to 1", groups=("worst",)),
        )
    ),
    "pairs": Strips(
        blocks=(
            Block(heading="Ten worlds; 20 to 300 items", groups=(".",)),
            Block(heading="The worst of 76 worlds", groups=("worst",)),
        )
    ),
    "mean-score": Strips(
        blocks=(
            Block(heading="Three trials of 20 to 300 items", groups=("3 trials",)),
            Block(heading="Graded, 90% at the top; 20 to 300 items", groups=("graded",)),
            Block(heading="5, 12 or 40 uneven clusters (7:1)", groups=("uneven",)),
        )
    ),
    "mean-pairs": Strips(blocks=(Block(heading="Five worlds; 20 to 300 items", groups=(".",)),)),
    "full-runs": Strips(
        blocks=(
            Block(
                heading="Runs of their own; 200 to 3000 items", groups=tuple(f"{k} runs a side" for k in (2, 3, 5, 10))
            ),
            Block(heading="Judges that both sides share", groups=("shared trials",)),
        )
    ),
    "clusters": Strips(
        blocks=(
            Block(
                heading="5 to 50 even clusters",
                groups=tuple(f"even clusters, latent ICC {icc}" for icc in ("0", "0.3", "0.8")),
            ),
            Block(
                heading="5 to 50 uneven clusters (7:1)",
                groups=tuple(f"uneven (7:1) clusters, latent ICC {icc}" for icc in ("0", "0.3", "0.8")),
            ),
            Block(
                heading="Near the ceiling, even and uneven",
                groups=tuple(f"{kind} clusters, latent ICC 0.3, near the ceiling" for kind in ("even", "uneven (7:1)")),
            ),
        )
    ),
    "graded-pairs": Pairs(
        ours="evalstats: verdict without caution",
        other="t",
        said="claims of evalstats without a caution on their first line, and hollow those of a t-test",
    ),
    "false-claims": Pairs(
        ours="evalstats: verdict", other="t on items", said="the verdict of evalstats, and hollow a t-test on items"
    ),
    "undeclared-clusters": Pairs(
        ours="evalstats: first line, unqualified",
        other="verdict on items alone",
        said="claims on the first line without a qualifier, and hollow the verdict on items alone",
    ),
    "suspected-groups": Pairs(
        ours="evalstats: columns that describe items",
        other="every column, where it differs a level of its own",
        said="tables in which evalstats suspects the column, and hollow those in which every column counts",
    ),
    "missing-failures": Pairs(
        ours="evalstats: verdict, unqualified",
        other="items that both have",
        said="claims without a qualifier, and hollow those from the items that both have",
    ),
    "ranks": Pairs(
        ours="evalstats: rank sets",
        other="rank sets by a normal law",
        said="the rank sets of evalstats, and hollow those by a normal law with the clusters' covariance",
    ),
    "peeking": Pairs(
        ours="betting confidence sequence",
        other="t after every item",
        said="the betting confidence sequence, and hollow a t-test after every item",
    ),
    "scenarios": Pairs(
        ours="evalstats: models differ in where",
        other="random signs on cell means",
        said="the test that models differ in where they break, and hollow random signs on cell means",
    ),
    "arena-checks": Pairs(ours="any check", said="arenas of honest votes in which any check warns"),
    "power": Pairs(ours="the detectable difference is found", said="the share of new data sets in which it is found"),
}
_WORDS = {
    "misses": "Intervals that miss the truth",
    "false claims": "Data sets with a false claim",
    "power": "Data sets in which the difference is found",
}
# Where no limits are promised, this much is as good as the promised rate.
_BAND = {"misses": (0.04, 0.06), "false claims": (0.04, 0.06), "power": (0.75, 0.85)}


def figure(study: Study) -> str:
    """Return the figure of a question, with its data behind a link."""
    rows, scale = figure_rows(study), _scale(study)
    caption = _caption(study)
    return figure_float(
        lambda medium: rates(rows, scale, medium=medium),
        f"fig-{study.name}",
        caption=prose(caption),
        alt=rates_alt(f"{scale.title}. {caption}", rows),
        after=csv_link(study.to_frame(), f"{study.name}.csv", "All rates of this question (CSV)"),
    )


def figure_rows(study: Study) -> list[RateRow]:
    """Return what is drawn, from top to bottom."""
    shape = SHAPES[study.name]
    return _strips(study, shape) if isinstance(shape, Strips) else _pairs(study, shape)


def _scale(study: Study) -> RateScale:
    power = study.measure == "power"
    return RateScale(
        title=_WORDS[study.measure],
        nominal=study.nominal,
        band=_BAND[study.measure],
        logarithmic=not power,
        limits=(0.5, 1.0),
    )


def _caption(study: Study) -> str:
    shape = SHAPES[study.name]
    if isinstance(shape, Strips):
        said = (
            "Each dot is a situation; at the end of a row stand the least and the most. In colour is the method that "
            "evalstats decides by"
        )
    elif shape.other:
        said = f"Filled, and first in numbers: {shape.said}, in brackets. Bars are 95% Monte Carlo intervals"
    else:
        said = f"Dots are {shape.said}. Bars are 95% Monte Carlo intervals"
    low, high = _BAND[study.measure]
    left = "" if study.measure == "power" else " Rates below 0.5% are drawn at 0.5%."
    return f"{_WORDS[study.measure]}. {said}. The band is {100 * low:g}% to {100 * high:g}%.{left}"


def _strips(study: Study, shape: Strips) -> list[RateRow]:
    rows: list[RateRow] = []
    for block in shape.blocks:
        own = [row for row in study.rows if any(_is_in(row.group, group) for group in block.groups)]
        rows.append(RateRow(label=block.heading))
        for method in dict.fromkeys(row.method for row in study.rows):
            found = [row for row in own if row.method == method]
            if found:
                rows.append(_strip(method, found))
    return rows


def _is_in(group: str, named: str) -> bool:
    """Whether a group is the one named, or begins so where only a beginning is named.

    Examples
    --------
    >>> _is_in("p = .5", "p = "), _is_in("even clusters, latent ICC 0.3", "even clusters, latent ICC 0")
    (True, False)
    """
    return group == named or ("clusters," not in named and group.startswith(named))


def _strip(method: str, found: Sequence[Rate]) -> RateRow:
    ours = found[0].role == "ours"
    least, most = (100 * end(row.rate for row in found) for end in (min, max))
    words = f"{least:.1f}%" if len(found) == 1 else f"{least:.1f} to {most:.1f}%"
    points = tuple(RatePoint(rate=row.rate, low=row.low, high=row.high, ours=ours) for row in found)
    return RateRow(label=method, points=points, words=words, ours=ours)


def _pairs(study: Study, shape: Pairs) -> list[RateRow]:
    rows: list[RateRow] = []
    by_key = {(row.case, row.method): row for row in study.rows}
    group = None
    several = len({row.group for row in study.rows}) > 1
    for row in study.rows:
        if row.method != shape.ours:
            continue
        if several and row.group != group:
            group = row.group
            rows.append(RateRow(label=group[0].upper() + group[1:]))
        other = by_key.get((row.case, shape.other))
        points = [RatePoint(rate=row.rate, low=row.low, high=row.high)]
        words = f"{100 * row.rate:.1f}%"
        if other is not None:
            points.append(RatePoint(rate=other.rate, low=other.low, high=other.high, ours=False))
            words += f" ({100 * other.rate:.1f}%)"
        label = row.case.removesuffix(f", {group}")
        rows.append(RateRow(label=label, points=tuple(points), words=words, ours=False))
    return rows
