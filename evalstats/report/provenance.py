"""Where the numbers of a page come from: the runs with their digests, the plan, versions, who rendered it and when."""

import platform
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from evalstats.document.blocks import Table
from evalstats.document.numbers import plural
from evalstats.report.markup import folded
from evalstats.report.tables import table_float
from evalstats.schema.plan import PlanAccount

_MANY_RUNS = 8
_MOST_RUNS = 200


class Rendered(Protocol):
    """A page that says who rendered it and when."""

    @property
    def engine(self) -> str:
        """What rendered it; empty for Quarto."""
        ...

    @property
    def rendered(self) -> date:
        """The date it shows."""
        ...


class Opened(Rendered, Protocol):
    """A page about data that were read: it knows names in full, and the file of every run."""

    @property
    def full_names(self) -> tuple[tuple[str, str], ...]:
        """Shortened names with what they stand for."""
        ...

    @property
    def files(self) -> tuple[tuple[str, str], ...]:
        """Name of the file of every run."""
        ...


class Traced(Protocol):
    """A result that says what it was made from."""

    @property
    def sources(self) -> tuple[tuple[str, str], ...]:
        """Runs with the digests of their files; an empty digest where there is none."""
        ...

    @property
    def plan(self) -> PlanAccount | None:
        """What was declared before looking."""
        ...

    @property
    def version(self) -> str:
        """The version of evalstats."""
        ...


def traced_tables(
    page: Opened,
    found: Traced,
    *,
    seed: str,
    packages: Sequence[str],
    runs: Sequence[tuple[str, str]] | None = None,
    kind: str = "Run",
    concern: str = "question",
) -> str:
    """Return where a page about many runs comes from; more than eight of them are folded away in a table of their own.

    Parameters
    ----------
    seed
        The seed, and what was drawn with it.
    packages
        Those whose versions the numbers may hang on.
    runs
        Rows on the runs; by themselves one for each, named `kind`.
    concern
        What the plan may say nothing about: "question", "leaderboard".
    """
    rows = [("Name in full", f"{short} is {name}") for short, name in page.full_names]
    told = run_rows(found.sources, dict(page.files), kind) if runs is None else list(runs)
    many = len(told) > _MANY_RUNS
    rows += [("Runs", f"{len(found.sources):,}, with the digests of their files below")] if many else told
    rows += plan_rows(found.plan, concern)
    rows += [
        ("evalstats", found.version),
        ("Packages", package_versions(packages)),
        ("Seed", seed),
        *rendering_rows(page),
    ]
    shown = provenance_float(rows)
    if not many:
        return shown
    table = Table(
        columns=("What", "Value"), rows=tuple(told), align="ll", caption="The runs and the digests of their files"
    )
    return f"{shown}\n\n{folded(plural(len(found.sources), 'run'), table_float(table, 'tbl-runs'))}"


def provenance_float(rows: Sequence[tuple[str, str]]) -> str:
    """Return rows of what and value as the table of where a page comes from."""
    table = Table(columns=("What", "Value"), rows=tuple(rows), align="ll", caption="Where this report comes from")
    return table_float(table, "tbl-provenance")


def run_rows(sources: Sequence[tuple[str, str]], files: Mapping[str, str], kind: str = "Run") -> list[tuple[str, str]]:
    """Return a row for each run; after 200 of them, how many more there are."""
    rows = [(kind, run_words(run, files.get(run, ""), digest)) for run, digest in sources[:_MOST_RUNS]]
    rest = len(sources) - len(rows)
    return [*rows, (kind, f"and {rest:,} more")] if rest > 0 else rows


def run_words(run: str, file: str, digest: str) -> str:
    """Name a run, its file where the name of the run does not say it, and the digest.

    Examples
    --------
    >>> run_words("a", "a.json", "12"), run_words("a", "b.json", "")
    ('a, SHA-256 12', 'a, b.json, no digest')
    """
    parts = [run, *([file] if file and not run.startswith(file.partition(".")[0]) else [])]
    return ", ".join([*parts, f"SHA-256 {digest}" if digest else "no digest"])


def plan_rows(plan: PlanAccount | None, concern: str) -> list[tuple[str, str]]:
    """Return what was declared before looking, with the digest that holds it, and where the result departs from it.

    Examples
    --------
    >>> plan_rows(PlanAccount(source="", digest="12"), "question")[1]
    ('It declares', 'nothing that concerns this question')
    """
    if plan is None:
        return []
    declared = "; ".join(f"{name} {value}" for name, value in plan.declared)
    return [
        ("Declared plan", f"{plan.source or 'given in code'}, SHA-256 {plan.digest}"),
        ("It declares", declared or f"nothing that concerns this {concern}"),
        ("Departures", "; ".join(plan.departures) or "none"),
    ]


def rendering_rows(page: Rendered) -> list[tuple[str, str]]:
    """Return who rendered the page and when."""
    return [
        ("Rendered by", page.engine or "Quarto"),
        ("Date", f"{page.rendered.day} {page.rendered:%B %Y}"),
    ]


def package_versions(packages: Sequence[str]) -> str:
    """Name the version of Python and of each package that is installed."""
    found = [f"Python {platform.python_version()}"]
    for name in packages:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
