"""What varies, in words: tests of terms, sources of variation, and how well the benchmark tells its models apart."""

from evalstats.analysis.scenarios.result import DesignPoint, Needed, Reliability, ScenarioModel, TermTest, VarianceRow
from evalstats.analysis.scenarios.words import capital, level_text, p_text, stopped
from evalstats.document.blocks import Block, Bullets, Heading, Paragraph, Table
from evalstats.document.numbers import interval, number, p_value, plural

_POINTS = 12
# An upper end of so many times the estimate says only that the data give none.
_OPEN = 50


def is_interaction(test: TermTest) -> bool:
    """Whether a test asks if models differ in where they break, and not only whether scenarios differ."""
    return ":" in test.term


def interaction_sentence(result: ScenarioModel) -> str | None:
    """Say whether the change between scenarios is shown to differ between models; None where the question was not asked."""
    test = result.interaction
    if test is None or not is_interaction(test) or test.p_value is None:
        return None
    if test.p_value <= 1 - result.conf_level:
        return f"Models differ in where they break ({p_text(test.p_value)})."
    return f"Models are not shown to differ in where they break ({p_text(test.p_value)})."


def tests_table(result: ScenarioModel) -> Table | None:
    """Every test of a term, the one that decides first."""
    if not result.tests:
        return None
    return Table(
        columns=("Term", "Test", "Statistic", "df", "p", "Role"),
        rows=tuple(
            (test.term, test.method, number(test.statistic, 1), _df(test), p_value(test.p_value), test.role)
            for test in result.tests
        ),
        align="llrrrl",
        caption="Tests of whole terms; the first row decides whether the change from scenario to scenario differs between models"
        if result.interaction is not None and is_interaction(result.interaction)
        else "Tests of whole terms",
        wide=("Statistic", "df", "Role"),
    )


def tests_blocks(result: ScenarioModel) -> list[Block]:
    """Return the tests of terms with their notes."""
    table = tests_table(result)
    if table is None:
        return []
    notes = tuple(
        stopped(f"{test.term}, {test.method}: {test.note}") for test in result.tests if _worth_saying(test.note)
    )
    return [table, *([Bullets(items=notes)] if notes else [])]


def _worth_saying(note: str) -> bool:
    """Whether a note says more than the seed, which stands with the method."""
    return bool(note) and not note.startswith("seed ")


def _df(test: TermTest) -> str:
    if test.df is None:
        return "–"
    first = f"{test.df:g}" if test.df == round(test.df) else number(test.df, 1)
    return first if test.df_denominator is None else f"{first}, {number(test.df_denominator, 1)}"


# --- sources of variation ---


def scale_words(result: ScenarioModel) -> str:
    """Name the scale that variances are on."""
    if result.family == "binomial":
        return "log-odds"
    return result.score_unit if result.score_unit not in ("", "%") else "the metric's own unit"


def variance_blocks(result: ScenarioModel) -> list[Block]:
    """Return where the variation comes from, what share of it, and what was estimated as nothing."""
    if not result.variances:
        return []
    shares = any(row.share is not None for row in result.variances)
    table = Table(
        columns=("Source", "Share", "SD", f"{level_text(result)} interval", "Levels", "p", "Variance"),
        rows=tuple(
            (
                row.label or row.term,
                _share(row.share),
                "0 (bound)" if row.singular and row.std_dev == 0 else number(row.std_dev),
                spread_ends(row),
                "–" if row.n_levels is None else f"{row.n_levels:,}",
                p_value(row.p_value),
                number(row.variance, 3),
            )
            for row in result.variances
        ),
        align="lrrrrrr",
        caption=(
            f"Where the variation comes from, on the scale of {scale_words(result)}"
            + ("; shares are of all of it" if shares else "")
            + "; SD is the standard deviation, with its interval"
        ),
        wide=("Variance", "p", "Levels"),
    )
    notes = tuple(dict.fromkeys(_variance_note(row) for row in result.variances if row.note or row.singular))
    return [table, *([Bullets(items=notes)] if notes else [])]


def _share(share: float | None) -> str:
    return "–" if share is None else "<0.1%" if 0 < share < 0.0005 else f"{number(100 * share, 1)}%"


def spread_ends(row: VarianceRow) -> str:
    """Write the interval of a standard deviation; an upper end beyond all that the data could mean is left open."""
    if row.conf_low is None or row.conf_high is None:
        return "–"
    if row.std_dev > 0 and row.conf_high > _OPEN * row.std_dev:
        return f"[{number(row.conf_low)}, open]"
    return interval(row.conf_low, row.conf_high)


def _variance_note(row: VarianceRow) -> str:
    if not row.singular:
        return stopped(f"{row.term}: {row.note}")
    bound = "" if row.conf_high is None else f"; an SD of up to {number(row.conf_high)} would fit the data as well"
    return (
        f"{row.term}: the variance is estimated as 0, the lowest value there is (a singular fit). The data show none of it, "
        f"which is no proof that there is none{bound}."
    )


# --- reliability ---


def reliability_sentence(found: Reliability) -> str:
    """Say how reliable the scores are, and what that rests on; or why it is not known."""
    if found.relative is None and found.absolute is None:
        return stopped(f"How reliable the scores are cannot be said: {found.reason or 'the data do not show it'}")
    order = f"{_coefficient(found.relative)}{_ends(found.relative_low, found.relative_high)}"
    level = f"{_coefficient(found.absolute)}{_ends(found.absolute_low, found.absolute_high)}"
    design = f" with {found.design}" if found.design else ""
    parts = [
        *([f"{order} for the order of the models (Eρ²)"] if found.relative is not None else []),
        *([f"{level} for the scores themselves (Φ)"] if found.absolute is not None else []),
    ]
    return f"Reliability{design}: {' and '.join(parts)}, where 1 is a benchmark without noise."


def reliability_blocks(result: ScenarioModel) -> list[Block]:
    """Return how reliable the scores are, how many items it takes, and the D-study as a table."""
    found = result.reliability
    if found is None:
        return []
    blocks: list[Block] = [
        Heading(text="How well this benchmark tells these models apart", level=2),
        Paragraph(text=reliability_sentence(found)),
    ]
    needed = tuple(_needed_words(each, found) for each in found.needed)
    if needed:
        blocks.append(Bullets(items=needed))
    if found.curve:
        points = _thinned(found)
        ends = any(point.relative_low is not None for point in points)
        columns = (
            "Facet",
            "Number",
            "Order (Eρ²)",
            *([f"{level_text(result)} interval"] if ends else []),
            "Scores (Φ)",
        )
        rows = tuple(
            (
                _facet(point.facet, found),
                f"{point.n:,}",
                _coefficient(point.relative),
                *([_ends(point.relative_low, point.relative_high).strip() or "–"] if ends else []),
                _coefficient(point.absolute),
            )
            for point in points
        )
        blocks.append(
            Table(
                columns=columns,
                rows=rows,
                align="lrrrr" if ends else "lrrr",
                caption="D-study: reliability by the number of one facet, all else as it is",
            )
        )
    notes = tuple(stopped(capital(note)) for note in found.notes)
    return [*blocks, *([Bullets(items=notes)] if notes else [])]


def _facet(name: str, found: Reliability) -> str:
    """Return what a number of a facet counts: items may be nested in scenarios."""
    return "item in each scenario" if name == "item" and "in each scenario" in found.design else name


def _needed_words(each: Needed, found: Reliability) -> str:
    what = "the order of the models" if each.kind == "relative" else "the scores themselves"
    goal = f"For a reliability of {number(each.target, 1 if each.target * 10 % 1 == 0 else 2)} of {what}"
    if each.n is None:
        return stopped(
            f"{goal}, by more {each.facet}s alone: no answer, since {each.reason or 'the data do not show it'}"
        )
    what, _, where = _facet(each.facet, found).partition(" ")
    counted = f"{plural(each.n, what)} {where}".rstrip()
    return f"{goal}: {counted}{f' ({each.reason})' if each.reason else ''}."


def _thinned(found: Reliability) -> list[DesignPoint]:
    """Return some points of every facet, the ends among them."""
    kept: list[DesignPoint] = []
    for facet in dict.fromkeys(point.facet for point in found.curve):
        points = [point for point in found.curve if point.facet == facet]
        step = max(1, -(-(len(points) - 1) // (_POINTS - 1))) if len(points) > _POINTS else 1
        kept += [point for i, point in enumerate(points) if i % step == 0 or i == len(points) - 1]
    return kept


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" [{_coefficient(low)}, {_coefficient(high)}]"


def _coefficient(value: float | None) -> str:
    """Write a reliability; one below 1 is not rounded to 1, which would say that there is no noise."""
    text = number(value)
    return ">0.99" if text == "1.00" and value is not None and value < 1 else text
