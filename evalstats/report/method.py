"""How the answer was reached: whether it hangs on the method, the method in words, its sources, and where it all came from."""

import platform
from importlib.metadata import PackageNotFoundError, version

import polars as pl

from evalstats.analysis.methods import methods_paragraph, references
from evalstats.analysis.wording import methods_table
from evalstats.display.blocks import Table
from evalstats.plots.alt import methods_alt
from evalstats.plots.methods import methods
from evalstats.report.comparison import ComparisonPage
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, code_block, csv_link, linked, prose, sentence
from evalstats.report.opening import says_simulated
from evalstats.report.tables import table_float, without_empty_columns

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")


def methods_figure(page: ComparisonPage) -> str:
    """Return the figure of the same difference by every method and under every assumption that was tried."""
    result = page.comparison
    words = "The same difference by every method. The first row decides"
    if page.alternatives:
        factors = ", ".join(name for name, _ in page.alternatives)
        words += f"; rows with {factors} as clusters ask whether the answer would hold for other groups of that kind"
    return figure_float(
        lambda medium: methods(result, others=page.alternatives, medium=medium),
        "fig-methods",
        caption=prose(f"{words}."),
        alt=methods_alt(result, others=page.alternatives),
        after=csv_link(methods_frame(page), "methods.csv", "Data of this figure (CSV)"),
    )


def methods_rows(page: ComparisonPage) -> str:
    """Return every method's row as a table, and what is to be said of each."""
    result = page.comparison
    table = table_float(without_empty_columns(methods_table(result)), "tbl-methods", lead=True)
    remarks = [prose(f"{row.method}: {row.note}.") for row in result.rows if row.note]
    return f"{table}\n\n{bullets(remarks)}"


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
    return bullets([prose(sentence(note)) for note in page.comparison.notes if not says_simulated(note)])


def reference_list(page: ComparisonPage) -> str:
    """Return the references of the methods that were used."""
    return bullets([linked(text) for text in references(page.comparison)])


def provenance(page: ComparisonPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date."""
    result = page.comparison
    files = dict(page.files)
    rows = [("Name in full", f"{short} is {name}") for short, name in page.full_names]
    rows += [("Run", _run_words(run, files.get(run, ""), digest)) for run, digest in result.sources]
    rows += [
        ("evalstats", result.version),
        ("Python and packages", ", ".join([f"Python {platform.python_version()}", *_versions()])),
        ("Seed", f"{result.seed} (for permutations; intervals do not depend on it)"),
        ("Rendered by", page.engine or "Quarto"),
        ("Date", f"{page.rendered.day} {page.rendered:%B %Y}"),
    ]
    table = Table(columns=("What", "Value"), rows=tuple(rows), align="ll", caption="Where this report comes from")
    return table_float(table, "tbl-provenance")


def reproduce(page: ComparisonPage) -> str:
    """Return code that gives the same comparison; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)


def _run_words(run: str, file: str, digest: str) -> str:
    parts = [run, *([file] if file and not run.startswith(file.partition(".")[0]) else [])]
    return ", ".join([*parts, f"SHA-256 {digest}" if digest else "no digest"])


def _versions() -> list[str]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found
