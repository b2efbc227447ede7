"""How the answer was reached: whether it hangs on the method, the method in words, its sources, and where it all came from."""

from dataclasses import replace

import polars as pl

from evalstats.analysis.compare.figures import grouped_methods, methods
from evalstats.analysis.compare.result import Comparison
from evalstats.analysis.method_rows import MethodRow
from evalstats.analysis.methods import method_lines, methods_paragraph, references
from evalstats.analysis.notes import methods_table
from evalstats.report.callouts import says_simulated
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, code_block, csv_link, folded, linked, prose, section, sentence
from evalstats.report.provenance import package_versions, plan_rows, provenance_float, rendering_rows, run_words
from evalstats.report.tables import table_float, with_cells, without_empty_columns

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")


def by_method(page: ComparisonPage) -> str:
    """Return the section on whether the answer hangs on the method; nothing where there is no answer."""
    if not page.comparison.rows:
        return ""
    words = agreement(page.comparison)
    return section("Does the answer hang on the method?", prose(words), methods_figure(page), methods_rows(page))


def agreement(result: Comparison) -> str:
    """Say how many other methods for the same question answer as the headline does, and which do not.

    Examples
    --------
    >>> from evalstats import compare, datasets
    >>> agreement(compare(datasets.tenacious_held_out(), "baseline", "trained"))
    'Asked whether 0 is excluded, all 7 other methods for the same question answer as the first row does.'
    """
    first = _excludes_zero(result.conf_low, result.conf_high)
    answers = [(row.method, _answer(row)) for row in grouped_methods(result).same]
    given = [(name, answer) for name, answer in answers if answer is not None]
    if first is None or not given:
        return ""
    others = [name for name, answer in given if answer != first]
    agree, n = len(given) - len(others), len(given)
    count = f"{agree} of {n}" if others else f"all {n}" if n > 1 else "the one"
    told = (
        f"Asked whether 0 is excluded, {count} other {'method' if n == 1 else 'methods'} for the same question "
        f"{'answers' if agree == 1 else 'answer'} as the first row does"
    )
    return f"{told}; {' and '.join(others)} {'does' if len(others) == 1 else 'do'} not." if others else f"{told}."


def _answer(row: MethodRow) -> bool | None:
    """Return whether a row excludes 0, by its interval or else its p."""
    found = _excludes_zero(row.conf_low, row.conf_high)
    if found is None and row.p_value is not None:
        return row.p_value <= 1 - row.conf_level
    return found


def _excludes_zero(low: float | None, high: float | None) -> bool | None:
    return None if low is None or high is None else not low <= 0 <= high


def methods_figure(page: ComparisonPage) -> str:
    """Return the figure of the same difference by every method and under every assumption; nothing without an interval."""
    result = page.comparison
    drawn = (*(other for _, other in page.alternatives), *grouped_methods(result).all)
    if all(each.conf_low is None for each in drawn):
        return ""
    words = "The same difference by every method. The first row decides"
    if page.alternatives:
        factors = ", ".join(name for name, _ in page.alternatives)
        words += f"; rows with {factors} as clusters ask whether the answer would hold for other groups of that kind"
    return figure_float(
        methods(result, page.alternatives),
        "fig-methods",
        caption=prose(f"{words}. A filled point belongs to an interval that excludes 0."),
        after=csv_link(methods_frame(page), "methods.csv", "Data of this figure (CSV)"),
    )


def methods_rows(page: ComparisonPage) -> str:
    """Return every method's row as a table in the order of the figure, and below it what each method is and whose."""
    result = page.comparison
    ordered = replace(result, rows=grouped_methods(result).all)
    once = set(map(id, grouped_methods(result).once))
    roles = [f"{row.role}, for one look" if id(row) in once else row.role for row in ordered.rows]
    cells = with_cells(methods_table(ordered), {"Role": roles})
    table = table_float(without_empty_columns(cells), "tbl-methods", lead=True)
    lines = [prose(f"{name}: {sentence(line)}") for name, line in method_lines(ordered)]
    return f"{table}\n\n{folded('What each of these methods is', bullets(lines))}"


def methods_frame(page: ComparisonPage) -> pl.DataFrame:
    """Return the rows of the figure: every method, then the headline with each suspected factor as clusters."""
    frames = [page.comparison.to_frame().filter(pl.col("term") == "difference").with_columns(clusters=pl.lit(""))]
    frames += [other.to_frame().head(1).with_columns(clusters=pl.lit(name)) for name, other in page.alternatives]
    return pl.concat(frames, how="diagonal_relaxed")


def paragraph(page: ComparisonPage) -> str:
    """Return the paragraph for a paper's methods section."""
    return "\n\n".join(linked(part) for part in methods_paragraph(page.comparison).split("\n\n"))


def notes(page: ComparisonPage) -> str:
    """Return what else is to be said of the data, and what runs say of themselves; what the opening says stands there."""
    result = page.comparison
    elsewhere = {each.explanation for each in result.run_differences}
    return bullets(
        [prose(sentence(note)) for note in result.notes if note not in elsewhere and not says_simulated(note)]
    )


def reference_list(page: ComparisonPage) -> str:
    """Return the references of the methods that were used."""
    return bullets([linked(text) for text in references(page.comparison)])


def provenance(page: ComparisonPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date."""
    result = page.comparison
    files = dict(page.files)
    rows = [("Name in full", f"{short} is {name}") for short, name in page.full_names]
    rows += [("Run", run_words(run, files.get(run, ""), digest)) for run, digest in result.sources]
    rows += plan_rows(result.plan, "comparison")
    rows += [
        ("evalstats", result.version),
        ("Python and packages", package_versions(_PACKAGES)),
        ("Seed", f"{result.seed} (for permutations and random draws; the interval that decides does not depend on it)"),
        *rendering_rows(page),
    ]
    return provenance_float(rows)


def reproduce(page: ComparisonPage) -> str:
    """Return code that gives the same comparison; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)
