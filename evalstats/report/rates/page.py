"""What the validation page is about: the stored error rates, what they promise, and where they came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from evalstats.datasets.validation import Claim, Rate, Study, load_validation
from evalstats.document.blocks import Table, Tone
from evalstats.document.numbers import plural
from evalstats.report.banner import fact_strip, verdict_banner
from evalstats.report.markup import bullets, callout, code_block, metadata, prose
from evalstats.report.opened import shown_day
from evalstats.report.provenance import provenance_float, rendering_rows
from evalstats.report.rates.figures import figure
from evalstats.report.rates.tables import table, table_remark
from evalstats.report.rates.weak import weaknesses
from evalstats.report.tables import table_float

# In the order of the page.
QUESTIONS = (
    "one-score",
    "mean-score",
    "pairs",
    "mean-pairs",
    "graded-pairs",
    "full-runs",
    "clusters",
    "false-claims",
    "undeclared-clusters",
    "suspected-groups",
    "missing-failures",
    "ranks",
    "peeking",
    "power",
    "scenarios",
    "arena-checks",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidationPage:
    """All stored questions by name, and how the page was rendered."""

    studies: dict[str, Study]
    engine: str = ""
    rendered: date

    @property
    def claims(self) -> list[Claim]:
        """All promises, in the order of the page."""
        return [claim for study in self.studies.values() for claim in study.claims]

    @property
    def rows(self) -> list[Rate]:
        """All rates."""
        return [row for study in self.studies.values() for row in study.rows]


def open_page(*, engine: str = "", rendered: str = "") -> ValidationPage:
    """Read the stored results; nothing is simulated.

    Parameters
    ----------
    rendered
        The date the page shows, as 2026-01-31; by itself SOURCE_DATE_EPOCH, else today in UTC.
    """
    return ValidationPage(
        studies={name: load_validation(name) for name in QUESTIONS},
        engine=engine,
        rendered=shown_day(rendered),
    )


def title(page: ValidationPage) -> str:  # noqa: ARG001 - parts of a page are all called alike
    """Return the question as the document's title."""
    return metadata(
        title=prose("How often is evalstats wrong?"), subtitle="Error rates of its own answers, by simulation"
    )


def verdict(page: ValidationPage) -> str:
    """Return the banner: how many promises are kept."""
    claims = page.claims
    kept = sum(claim.holds for claim in claims)
    whole = kept == len(claims)
    tone: Tone = "good" if whole else "bad"
    return verdict_banner(
        label="Kept" if whole else "Broken",
        sign="✓" if whole else "✗",
        tone=tone,
        answer="Every promise about error rates is kept." if whole else _broken(claims),
        why="A 95% interval may miss the truth once in 20 times, and a test at 5% may call equal models different as "
        "often. Here is how often they do, in worlds where the truth is known.",
        meaning="A promise is a limit on an error rate; the table below has all of them, with what was found.",
        amount=f"{kept} of {len(claims)}",
        range_words="promises kept",
    )


def _broken(claims: Sequence[Claim]) -> str:
    return f"{plural(sum(not claim.holds for claim in claims), 'promise')} about error rates did not hold."


def facts(page: ValidationPage) -> str:
    """Return the strip of key facts."""
    return fact_strip(key_facts(page))


def key_facts(page: ValidationPage) -> list[tuple[str, str, str]]:
    """Return (label, value, remark) of everything that belongs in the strip."""
    rows = page.rows
    exact = sum(row.replicates is None for row in rows)
    # A case is drawn once and every method is tried on it, some on fewer data sets.
    cases: dict[tuple[str, str], int] = {}
    for study in page.studies.values():
        for row in study.rows:
            cases[study.name, row.case] = max(cases.get((study.name, row.case), 0), row.replicates or 0)
    return [
        ("Questions", f"{len(page.studies)}", "from one score to ten models"),
        ("Error rates", f"{len(rows):,}", "a situation and a method each"),
        ("Exact", f"{exact:,}", "every outcome enumerated"),
        ("Simulated", f"{len(rows) - exact:,}", f"on {sum(cases.values()):,} data sets"),
        ("Version", page.studies["one-score"].version, "of evalstats"),
    ]


def weak(page: ValidationPage) -> str:
    """Return where the methods are weak, in plain sentences with their numbers."""
    points = [f"**{prose(lead)}.** {prose(text)}" for lead, text in weaknesses(page.studies)]
    return callout("warning", f"Where evalstats is weak: {plural(len(points), 'point')}", bullets(points))


def promises(page: ValidationPage) -> str:
    """Return every promise with what was found."""
    rows = tuple(
        (claim.text, limit_words(claim), found_words(claim), "kept" if claim.holds else "broken")
        for claim in page.claims
    )
    table = Table(
        columns=("Error rate of", "Limit", "Found", "Result"),
        rows=rows,
        align="lrrl",
        caption="What is promised of error rates, and the rate that came closest to its limit",
    )
    remark = (
        "The rate found is the one closest to a limit, of all cases that the promise is about. Where a limit is proved, or "
        "fewer than 2,000 data sets were drawn, a rate may exceed it as far as its Monte Carlo interval reaches back."
    )
    tones: dict[str, Tone] = {"kept": "good", "broken": "bad"}
    return f"{table_float(table, 'tbl-promises', tones=tones)}\n\n{prose(remark)}"


def limit_words(claim: Claim) -> str:
    """Write a limit in percent.

    Examples
    --------
    >>> claim = Claim(
    ...     text="",
    ...     method="",
    ...     cases=(),
    ...     low=None,
    ...     high=0.065,
    ...     found=0.05,
    ...     replicates=None,
    ...     up_to_chance=False,
    ...     holds=True,
    ... )
    >>> limit_words(claim)
    'at most 6.5%'
    """
    if claim.low is not None and claim.high is not None:
        return f"{100 * claim.low:g}% to {100 * claim.high:g}%"
    if claim.high is not None:
        return f"at most {100 * claim.high:g}%"
    return f"at least {100 * (claim.low or 0.0):g}%"


def found_words(claim: Claim) -> str:
    """Write the rate found, with half the width of its Monte Carlo interval where it was simulated."""
    if claim.replicates is None:
        return f"{100 * claim.found:.2f}%"
    half = 1.96 * np.sqrt(claim.found * (1 - claim.found) / claim.replicates)
    return f"{100 * claim.found:.2f}% ± {100 * half:.2f}"


def section(page: ValidationPage, name: str) -> list[str]:
    """Return everything about one question: how data were made, the figure, the table, what else was checked."""
    study = page.studies[name]
    where = f"@fig-{name} shows the rates, @tbl-{name} has them in numbers."
    notes = [prose(note) for note in (table_remark(study), *study.notes) if note]
    return [prose(study.question), f"{prose(study.design)} {where}", figure(study), table(study), *notes]


def rerun(page: ValidationPage) -> str:  # noqa: ARG001 - parts of a page are all called alike
    """Return how the simulations are run again."""
    words = (
        "The simulations are part of the project. Every cell has a seed of its own, derived from one root and the cell's "
        "name, so a cell run alone gives the numbers it gives among the others, on any number of processors. Data are drawn "
        "by numpy's default generator; rates of right/wrong tables are enumerated and need no seed."
    )
    code = (
        "make validate                                # all, about 20 minutes on two processors\n"
        "python -m validation --quick                 # a tenth of the replicates, stored nowhere\n"
        'python -m validation ranks --cell "40 clusters"  # some cells of one question\n'
    )
    return f"{prose(words)}\n\n{code_block(code)}"


def provenance(page: ValidationPage) -> str:
    """Return where the numbers and the page come from."""
    seeds = sorted({study.seed for study in page.studies.values() if study.seed is not None})
    versions = sorted({study.version for study in page.studies.values()})
    rows = (
        ("Stored results", ", ".join(f"{name}.json" for name in page.studies)),
        ("Simulated with", f"evalstats {', '.join(versions)}"),
        ("Root of all seeds", ", ".join(str(seed) for seed in seeds)),
        ("Chance", "95% Wilson intervals of simulated rates"),
        *rendering_rows(page),
    )
    return provenance_float(rows)
