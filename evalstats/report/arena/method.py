"""How the ranking was reached: the method in words, its sources, and where it all came from."""

import platform
from importlib.metadata import PackageNotFoundError, version

from evalstats.analysis.arenas.results import ArenaRanking
from evalstats.analysis.arenas.wording import method_items
from evalstats.analysis.explaining.explain import explain
from evalstats.display.blocks import Bullets, Table
from evalstats.display.numbers import plural
from evalstats.report.arena.page import ArenaPage
from evalstats.report.markup import bullets, code_block, folded, linked, prose, sentence
from evalstats.report.opening import says_simulated
from evalstats.report.tables import table_float

_PACKAGES = ("polars", "numpy", "scipy", "matplotlib")
_MOST_NOTES = 12
_MANY_RUNS = 8
_MOST_RUNS = 200
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
    texts = [prose(sentence(note)) for note in page.found.notes if not says_simulated(note)]
    if len(texts) <= _MOST_NOTES:
        return bullets(texts)
    return folded(plural(len(texts), "note"), bullets(texts))


def reproduce(page: ArenaPage) -> str:
    """Return code that gives the same result; in the PDF it stays with the table that follows it."""
    return code_block(page.reproduce)


def provenance(page: ArenaPage) -> str:
    """Return the runs with their digests, versions, seed, engine and date; many runs are folded away."""
    found = page.found
    rows = [("Name in full", f"{short} is {name}") for short, name in page.full_names]
    runs = _run_rows(page)
    many = len(runs) > _MANY_RUNS
    rows += [("Runs", f"{len(found.sources):,}, with the digests of their files below")] if many else runs
    rows += _plan_rows(found)
    resamples = f" (for {found.n_resamples:,} resamples)" if found.n_resamples else ""
    rows += [
        ("evalstats", found.version),
        ("Packages", ", ".join([f"Python {platform.python_version()}", *_versions()])),
        ("Seed", f"{found.seed}{resamples}"),
        ("Rendered by", page.engine or "Quarto"),
        ("Date", f"{page.rendered.day} {page.rendered:%B %Y}"),
    ]
    table = Table(columns=("What", "Value"), rows=tuple(rows), align="ll", caption="Where this report comes from")
    shown = table_float(table, "tbl-provenance")
    if not many:
        return shown
    told = Table(
        columns=("What", "Value"), rows=tuple(runs), align="ll", caption="The runs and the digests of their files"
    )
    return f"{shown}\n\n{folded(plural(len(found.sources), 'run'), table_float(told, 'tbl-runs'))}"


def _run_rows(page: ArenaPage) -> list[tuple[str, str]]:
    sources, files = page.found.sources, dict(page.files)
    rows = [("Votes", _run_words(run, files.get(run, ""), digest)) for run, digest in sources[:_MOST_RUNS]]
    rest = len(sources) - len(rows)
    return [*rows, ("Votes", f"and {rest:,} more")] if rest > 0 else rows


def _run_words(run: str, file: str, digest: str) -> str:
    parts = [run, *([file] if file and not run.startswith(file.partition(".")[0]) else [])]
    return ", ".join([*parts, f"SHA-256 {digest}" if digest else "no digest"])


def _plan_rows(found: ArenaRanking) -> list[tuple[str, str]]:
    """Return what was declared before looking, with the digest that holds it, and where the result departs from it."""
    plan = found.plan
    if plan is None:
        return []
    declared = "; ".join(f"{name} {value}" for name, value in plan.declared)
    return [
        ("Declared plan", f"{plan.source or 'given in code'}, SHA-256 {plan.digest}"),
        ("It declares", declared or "nothing that concerns this question"),
        ("Departures", "; ".join(plan.departures) or "none"),
    ]


def _versions() -> list[str]:
    found: list[str] = []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found
