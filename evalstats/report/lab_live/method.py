"""How the answer was reached: the method in words, other lines, sources, and where it all came from."""

from evalstats.analysis.explaining.explain import explain
from evalstats.analysis.gap.result import LabLiveGap
from evalstats.analysis.gaps.wording import method_items
from evalstats.analysis.gaps.wording_line import others_table, side_lines
from evalstats.analysis.gaps.words import some, stopped
from evalstats.document.blocks import Bullets
from evalstats.report.callouts import notes_list, says_simulated
from evalstats.report.lab_live.blocks import sentences, table_of
from evalstats.report.lab_live.page import LabLivePage
from evalstats.report.markup import bullets, code_block, linked, prose, section, sentence
from evalstats.report.provenance import traced_tables

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")
_NAMED = 12
_YORK = (
    "Why not plain regression: the lab is measured with error too. Regression of live on lab takes that noise for a flatter "
    "line, and then calls good models gaps above it and weak ones gaps below. York's line counts the errors of both sides, and a "
    "spread of true gaps between models beside them; every model is held against the line of the others, so that it cannot pull "
    "the line towards itself."
)
_FAMILY = (
    "Many models at once: of those that are called gaps, at most 5% are expected to be none (Benjamini-Hochberg). Picking the "
    "largest gaps flatters them, so the intervals of the models that are picked are widened (false-coverage control)."
)


def paragraph(page: LabLivePage) -> str:
    """Return the two sides, why the line is drawn as it is, how many models at once are dealt with, and the methods."""
    found = page.found
    why = [] if found.line is None else [_YORK, _family(found)]
    own = [text for text in method_items(found) if not text.startswith("From: ") and not text.startswith("evalstats ")]
    return bullets([prose(text) for text in (*side_lines(found), *why, *own)])


def _family(found: LabLiveGap) -> str:
    return _FAMILY.replace("5%", f"{100 * (1 - found.conf_level):g}%")


def other_lines(page: LabLivePage) -> str:
    """Return the same line by other methods, and why they are not used."""
    found = page.found
    table = None if found.line is None else others_table(found, found.line)
    if found.line is None or table is None:
        return ""
    why = [f"{each.title}: {stopped(each.why)}" for each in found.line.others if each.why]
    return section("The line by other methods", table_of(table, "tbl-lines"), sentences(why))


def reference_list(page: LabLivePage) -> str:
    """Return the works behind the methods of the result: those that the explanation names."""
    last = explain(page.found)[-1]
    works = sorted({item.rstrip(".") for item in last.items}) if isinstance(last, Bullets) else []
    return section("References", bullets([linked(text) for text in works])) if works else ""


def notes(page: LabLivePage) -> str:
    """Return what else is to be said of the data: which names were joined, which only look alike."""
    found = page.found
    said = [note for note in found.notes if not says_simulated(note)]
    if found.joined_by_alias:
        said.append(f"joined by aliases, the lab's name first: {_pairs(found.joined_by_alias, ' is ')}")
    if found.near_names:
        said.append(
            f"alike and not joined, the lab's name first: {_pairs(found.near_names, ' and ')}; a file of aliases says which are "
            "one model"
        )
    return notes_list([prose(sentence(note)) for note in dict.fromkeys(said)])


def _pairs(pairs: tuple[tuple[str, str], ...], between: str) -> str:
    return some([f"{lab}{between}{live}" for lab, live in pairs], _NAMED)


def reproduce(page: LabLivePage) -> str:
    """Return code that gives the same result; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)


def provenance(page: LabLivePage) -> str:
    """Return the runs with their digests, versions, seed, engine and date; many runs are folded away."""
    found: LabLiveGap = page.found
    resamples = f" (for {found.n_resamples:,} draws)" if found.n_resamples else ""
    return traced_tables(page, found, kind="Run", seed=f"{found.seed}{resamples}", packages=_PACKAGES)
