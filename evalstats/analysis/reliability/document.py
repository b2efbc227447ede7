"""What is said of reliability: whether other levels would give the same order, what the scores vary by, what more would buy."""

from evalstats.analysis.method_texts import known_methods
from evalstats.analysis.provenance import placed
from evalstats.analysis.reliability.result import TARGETS, ComponentRow, FirstPlaceRow, ReliabilityReport, TargetRow
from evalstats.analysis.result import columns, level
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Items,
    Section,
    Table,
    Text,
    Tone,
    drawn_interval,
    interval_column,
    listed,
    number_column,
    works_section,
)
from evalstats.document.numbers import declared, number, share_in_percent
from evalstats.grammar import and_list, plural, plural_of

_TONES: dict[str, Tone] = {"reliable": "good", "unreliable": "bad", "inconclusive": "caution"}
_LINES = {"relative": "order (E rho²)", "absolute": "scores (Phi)"}
_ROLES = {
    "universe": "true difference",
    "relative": "error in the order",
    "absolute": "error in the scores alone",
    "none": "no error",
}
_SHOWN = 10


def document(result: ReliabilityReport) -> Document:
    """Return what is said of the reliability of scores over facets."""
    found = result.relative
    return Document(
        kind="reliability",
        title=f"Would other {_facets(result)} give the same order{placed(result.benchmark)}?",
        label=result.verdict,
        tone=_TONES[result.verdict],
        headline=_headline(result),
        number="" if found.estimate is None else reliability_number(found.estimate),
        number_words=_number_words(result),
        interval=drawn_interval(found.estimate, found.ends, bounds=(0.0, 1.0), digits=2, sides=("0", "1")),
        scope=_scope(result),
        answer=_answer(result),
        notes=result.notes,
        actions=tuple(_actions(result)),
        evidence=_evidence(result),
        method=_method(result),
    )


def reliability_number(value: float | None) -> str:
    """Write a reliability; one below 1 is not rounded to 1, which would say that there is no error.

    >>> reliability_number(0.871), reliability_number(0.9987)
    ('0.87', '>0.99')
    """
    text = number(value)
    return ">0.99" if text == "1.00" and value is not None and value < 1 else text


def _facets(result: ReliabilityReport) -> str:
    return and_list([plural_of(row.name) for row in result.facets if not row.fixed])


def _headline(result: ReliabilityReport) -> str:
    if result.relative.estimate is None:
        return f"These scores do not tell the {plural_of(result.object)} apart"
    others = f"other {_facets(result)}"
    if result.verdict == "reliable":
        return f"With {others}, the order would stay much the same"
    return f"With {others}, the order {'would' if result.verdict == 'unreliable' else 'could'} change"


def _number_words(result: ReliabilityReport) -> str:
    relative = result.relative
    text = "reliability of the order (E rho²)"
    if relative.estimate is None:
        zero = f"Variance between {plural_of(result.object)} estimated as 0"
        text = zero if relative.ends is None else f"{zero}; {text}"
    if relative.ends is not None:
        text += f", {level(result)} CI {_between(relative.ends)}"
    return text


def _of_scores(result: ReliabilityReport) -> str:
    found = result.absolute
    if found.estimate is None:
        return ""
    ends = f" ({level(result)} CI {_between(found.ends)})" if found.ends is not None else ""
    return f" The scores themselves have a reliability (Phi) of {reliability_number(found.estimate)}{ends}."


def _between(ends: tuple[float | None, float | None]) -> str:
    return f"{reliability_number(ends[0])} to {reliability_number(ends[1])}"


def _scope(result: ReliabilityReport) -> str:
    return f"{plural(len(result.objects), result.object)}; {_design(result)}; {result.metric}"


def _design(result: ReliabilityReport) -> str:
    """Return the design that is judged: "5 scaffolds, 40 items in each benchmark"."""
    parts: list[str] = []
    for row in result.facets:
        within = f" in each {and_list(row.within)}" if row.within else ""
        counted = f"{row.n_each:,} {row.name if row.n_each == 1 else plural_of(row.name)}"
        parts.append(f"{counted}{within}{' (fixed)' if row.fixed else ''}")
    return ", ".join(parts)


def _answer(result: ReliabilityReport) -> tuple[Block, ...]:
    table = _targets_table(result)
    points = [row for row in result.curve if row.estimate is not None]
    if not points:
        return ()
    first = result.first_places[-1]
    other = f"with other {_facets(result)}, another {result.object} would with probability {chance(first.estimate)}"
    if first.ends is not None and len({chance(value) for value in (first.estimate, *first.ends)}) > 1:
        other += f" ({level(result)} CI {_chances(first)})"
    leads = Text(text=f"{result.objects[0].name} comes first; {other}.{_of_scores(result)}")
    titles = {row.facet: f"By {plural_of(row.facet)}" for row in points}
    reached = [row for row in result.targets if row.n is not None and row.kind == "relative"]
    within = [row for row in reached if row.n is not None and row.n <= max(p.n for p in points if p.facet == row.facet)]
    drawn = columns(points, "estimate", "conf_low", "conf_high")
    only_order = [row.kind == "relative" for row in points]
    figure = Figure(
        id="curve",
        plot="curves",
        rows={
            "panel": [titles[row.facet] for row in points],
            "line": [_LINES[row.kind] for row in points],
            "x": [row.n for row in points],
            "estimate": drawn["estimate"],
            # Two bands over each other would hide both.
            "conf_low": [low if own else None for low, own in zip(drawn["conf_low"], only_order, strict=True)],
            "conf_high": [high if own else None for high, own in zip(drawn["conf_high"], only_order, strict=True)],
        },
        options={
            "goals": {
                "panel": [title for title in titles.values() for _ in TARGETS],
                "estimate": [target for _ in titles for target in TARGETS],
                "words": [declared(target) for _ in titles for target in TARGETS],
            },
            "marks": {
                "panel": [titles[row.facet] for row in within],
                "x": [row.n for row in within],
                "estimate": [row.target for row in within],
                "words": [f"{row.n:,}" for row in within],
                "tone": ["good" for _ in within],
            },
            "x_title": {title: _counted(result, facet) for facet, title in titles.items()},
            "limits": (0.0, 1.02),
        },
        alt=f"Reliability by the number of {_facets(result)}: {_headline(result)}.",
        caption=f"Reliability with other numbers of one facet, all else equal; band: {level(result)} CI for the order",
        table=table,
    )
    return (leads, figure)


def _counted(result: ReliabilityReport, facet: str) -> str:
    row = result.facet(facet)
    words = plural_of(facet)
    return f"{words[:1].upper()}{words[1:]}" + (f" in each {and_list(row.within)}" if row.within else "")


def _targets_table(result: ReliabilityReport) -> Table:
    """Return how many levels of each facet reach the targets."""
    rows: list[tuple[str | int, ...]] = []
    for facet in dict.fromkeys(row.facet for row in result.targets):
        own = [row for row in result.targets if row.facet == facet]
        name = _counted(result, facet).removeprefix("Levels of ")
        rows.append((name, result.facet(facet).n_each, *(_levels_words(row) for row in own)))
    titles = [f"For {word} {declared(target)}" for word in ("order", "scores") for target in TARGETS]
    return Table(
        id="levels",
        columns=(
            Column(title="Facet", kind="name"),
            Column(title="Levels now", kind="count"),
            *(Column(title=title, kind="amount", spare="scores" in title) for title in titles),
        ),
        rows=tuple(rows),
        caption="Levels of each facet that reach a reliability of the order (E rho²) and of the scores (Phi), all else equal, "
        f"with {level(result)} CI; none: no number is enough",
        frame={name: [getattr(row, name) for row in result.targets] for name in _TARGET_COLUMNS},
    )


_TARGET_COLUMNS = ("facet", "kind", "target", "n", "n_low", "n_high", "limit", "reason")


def _levels_words(row: TargetRow) -> str:
    if row.n_low is None:
        return "out of reach"
    return f"{f'{row.n:,}' if row.n is not None else 'none'} ({_range_words(row)})"


def _actions(result: ReliabilityReport) -> list[str]:
    """Say what would raise the reliability of the order to the next target, facet by facet."""
    now = result.relative.estimate
    missed = [target for target in TARGETS if now is not None and now < target]
    if not missed:
        return []
    target = missed[0]
    rows = [row for row in result.targets if row.kind == "relative" and row.target == target]
    reach = [
        f"{row.n:,} {plural_of(row.facet)} ({level(result)} CI {_range_words(row)})"
        for row in rows
        if row.n is not None
    ]
    short = [row for row in rows if row.n is None and row.limit is not None]
    found: list[str] = []
    if reach:
        found.append(f"For an order reliability of {declared(target)}, use {' or '.join(reach)}, all else equal.")
    for verb, own in (
        ("would not", [row for row in short if row.n_low is None]),
        ("might not", [row for row in short if row.n_low is not None]),
    ):
        if own:
            found.append(
                f"More {' or '.join(plural_of(row.facet) for row in own)} alone {verb} reach {declared(target)}."
            )
    return found


def _range_words(row: TargetRow) -> str:
    """Write the interval of a number of levels, of which there may be no end."""
    low = "out of reach" if row.n_low is None else f"{row.n_low:,}"
    return low if row.n_low is None else f"{low} or more" if row.n_high is None else f"{low} to {row.n_high:,}"


def _evidence(result: ReliabilityReport) -> tuple[Section, ...]:
    sections: list[Section] = []
    if result.relative.estimate is not None:
        alone = [row for row in result.first_places if len(row.renewed) == 1 and row.n is None]
        most = max(alone, key=lambda row: row.estimate or 0.0)
        heading = f"First place depends most on which {plural_of(most.renewed[0])} were chosen"
        rows = tuple((_renewed(row, result), chance(row.estimate), _chances(row)) for row in result.first_places)
        table = Table(
            id="first-places",
            columns=(
                Column(title="Other levels", kind="name"),
                Column(title="Another comes first", kind="amount"),
                Column(title=f"{level(result)} CI", kind="amount"),
            ),
            rows=rows,
            caption=f"Probability that another {result.object} comes first, given these scores",
            frame=columns(result.first_places, "renewed", "n", "estimate", "conf_low", "conf_high"),
        )
        sections.append(Section(id="first-places", heading=heading, blocks=(table,)))
    largest = max(result.components, key=lambda row: row.share)
    sections.append(
        Section(
            id="components",
            heading=f"{share_in_percent(largest.share)} of the variance of a single score is {_source(largest, result)}",
            blocks=(_components_table(result), *_zeros(result)),
        )
    )
    unit = "%" if result.scale > 1 else ""
    sections.append(
        Section(
            id="objects",
            heading=f"Scores of the {plural_of(result.object)}",
            blocks=(
                Table(
                    id="objects",
                    columns=(
                        Column(title=result.object[:1].upper() + result.object[1:], kind="name"),
                        number_column(result, "Score", unit),
                    ),
                    rows=tuple((row.name, row.score) for row in result.objects),
                    caption="Mean scores, adjusted for the levels that each met"
                    if not result.balanced
                    else "Mean scores",
                    most=_SHOWN,
                ),
            ),
            news=False,
        )
    )
    return tuple(sections)


def chance(value: float | None) -> str:
    """Write a probability; neither 0 nor 1, which no simulation shows.

    >>> chance(0.0), chance(0.314), chance(0.9999)
    ('<1%', '31%', '>99%')
    """
    if value is None:
        return "–"
    return "<1%" if value < 0.01 else ">99%" if value > 0.99 else f"{100 * value:.0f}%"


def _chances(row: FirstPlaceRow) -> str:
    return "–" if row.ends is None else f"{chance(row.conf_low)} to {chance(row.conf_high)}"


def _renewed(row: FirstPlaceRow, result: ReliabilityReport) -> str:
    if len(row.renewed) > 1:
        return f"Other {and_list([plural_of(name) for name in row.renewed])}"
    name = next(iter(row.renewed))
    n = row.n or result.facet(name).n_each
    return f"{n:,} other {name if n == 1 else plural_of(name)}"


def _source(row: ComponentRow, result: ReliabilityReport) -> str:
    name = " × ".join(row.factors)
    return f"residual ({name})" if row is result.components[-1] else name


def _components_table(result: ReliabilityReport) -> Table:
    return Table(
        id="components",
        columns=(
            Column(title="Source", kind="name"),
            number_column(result, "SD"),
            interval_column(result),
            Column(title="Share (%)", kind="number", scale=100.0, digits=1, plain=True),
            interval_column(result, scale=100.0, title=f"{level(result)} CI of share"),
            Column(title="df", kind="count", spare=True),
            Column(title="In the mean", kind="text", spare=True),
        ),
        rows=tuple(
            (
                " × ".join(row.factors),
                row.estimate,
                row.ends,
                row.share,
                None if row.share_low is None else (row.share_low, row.share_high),
                row.df,
                _ROLES[row.role],
            )
            for row in result.components
        ),
        caption="Sources of the variance of a single score: standard deviations and shares",
        frame={
            "term": [":".join(row.factors) for row in result.components],
            **columns(
                result.components,
                *("estimate", "conf_low", "conf_high", "variance", "share"),
                *("share_low", "share_high", "df", "role", "zero"),
            ),
        },
    )


def _zeros(result: ReliabilityReport) -> tuple[Block, ...]:
    zero = [" × ".join(row.factors) for row in result.components if row.zero]
    if not zero:
        return ()
    return (Text(text=f"Estimated as 0: {and_list(zero)}. The intervals show how large they could be."),)


def _method(result: ReliabilityReport) -> tuple[Section, ...]:
    names = [result.method, result.relative.method]
    names.append(result.first_places[0].method)
    texts = [known_methods()[name] for name in names]
    balance = "balanced" if result.balanced else "not balanced"
    lines = [
        f"Design: {_design(result)}; {plural(result.n_cells, 'filled cell')}, {balance}.",
        f"Reliable: the interval of E rho² lies above {TARGETS[0]:g}; unreliable: below it; else inconclusive.",
        f"Intervals: percentiles of {result.n_resamples:,} draws of the components.",
    ]
    if not result.balanced:
        lines.append("Coefficients are those of a design with these numbers of levels and every cell filled.")
    if result.n_lost:
        lines.append(f"Missing: {result.n_lost:,} of {result.n_meant:,} scores.")
    return (
        Section(
            id="method",
            heading="How reliability is estimated",
            blocks=(*(Text(text=each.how) for each in texts), Items(items=tuple(lines))),
        ),
        listed("assumptions", "What this assumes", tuple(each.takes for each in texts)),
        works_section(source for each in texts for source in each.sources),
        result.origin.section(),
    )
