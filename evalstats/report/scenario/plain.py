"""The answer in plain words: folded away on the page, an appendix of the PDF."""

from collections.abc import Sequence

from evalstats.analysis.explaining.explain import explain
from evalstats.document.blocks import Block
from evalstats.report.plain_words import told_in_appendix, told_on_page, without_title_and_works
from evalstats.report.scenario.page import ScenarioPage


def on_page(page: ScenarioPage) -> str:
    """Return the explanation for the page alone, behind a line that can be opened."""
    return told_on_page(_said(page))


def appendix(page: ScenarioPage) -> str:
    """Return the explanation for the PDF alone."""
    return told_in_appendix(_said(page))


def _said(page: ScenarioPage) -> Sequence[Block]:
    return without_title_and_works(explain(page.model))
