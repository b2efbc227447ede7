"""How the ranking was reached: the method in words, its sources, and where it all came from."""

from evalstats.analysis.arena.result import ArenaRanking
from evalstats.analysis.arenas.wording import method_items
from evalstats.analysis.explaining.explain import explain
from evalstats.document.blocks import Bullets
from evalstats.report.arena.page import ArenaPage
from evalstats.report.callouts import notes_list, says_simulated
from evalstats.report.markup import bullets, code_block, linked, prose, sentence
from evalstats.report.provenance import traced_tables

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")
_POOLED = "Robinson 1991, doi:10.1214/ss/1177011926"
_BRADLEY = "Bradley & Terry 1952, doi:10.2307/2334029"


def paragraph(page: ArenaPage) -> str:
    """Return the method: what was fitted, how errors and ranks were reached, what is estimated."""
    items = [text for text in method_items(page.found) if not text.startswith(("Votes from: ", "evalstats "))]
    return bullets([prose(text) for text in items])


def reference_list(page: ArenaPage) -> str:
    """Return the works behind every method in the result."""
    return bullets([linked(text) for text in references(page.found)])


def references(found: ArenaRanking) -> list[str]:
    """List the works by author: those that the explanation names, which has every method of the result."""
    blocks = explain(found)
    works = {_BRADLEY}
    last = blocks[-1]
    if isinstance(last, Bullets):
        works |= {item.rstrip(".") for item in last.items}
    if found.categories is not None and found.categories.rows:
        works.add(_POOLED)
    return sorted(works)


def notes(page: ArenaPage) -> str:
    """Return what else is to be said of the votes; many notes are folded away."""
    return notes_list([prose(sentence(note)) for note in page.found.notes if not says_simulated(note)])


def reproduce(page: ArenaPage) -> str:
    """Return code that gives the same result; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)


def provenance(page: ArenaPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date; many runs are folded away."""
    found = page.found
    resamples = f" (for {found.n_resamples:,} resamples)" if found.n_resamples else ""
    return traced_tables(page, found, kind="Votes", seed=f"{found.seed}{resamples}", packages=_PACKAGES)
