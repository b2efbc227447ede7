"""Sections of the comparison page that depend on how much there is to show."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from evalstats.analysis.results import FlippedItem
from evalstats.report import evidence, method, opening
from evalstats.report.comparison import ComparisonPage, open_page


@pytest.fixture(scope="module")
def page() -> ComparisonPage:
    return open_page(rendered="2025-11-21", engine="an engine")


def with_flips(page: ComparisonPage, count: int, **changes: object) -> ComparisonPage:
    flips = tuple(
        FlippedItem(
            task="",
            item=f"i{n:04d}",
            variant="",
            scenario="ab"[n % 2],
            baseline=float(n % 3 == 0),
            candidate=float(n % 3 > 0),
        )
        for n in range(count)
    )
    return replace(page, comparison=replace(page.comparison, flipped=flips, **changes))


@pytest.mark.parametrize(("count", "shown"), [(20, 20), (25, 25), (26, 20), (1000, 20)])
def test_the_first_twenty_flips_are_shown(page: ComparisonPage, count: int, shown: int) -> None:
    text = evidence.flipped(with_flips(page, count))
    assert text.count("</tr>") == shown + 1
    assert ("the other" in text) == (shown < count)
    assert f"All {count:,} flipped items (CSV)" in text


def test_flips_are_in_the_order_of_their_scenarios(page: ComparisonPage) -> None:
    text = evidence.flipped(with_flips(page, 10))
    assert text.index("i0008") < text.index("i0001")


def test_the_appendix_is_for_the_pdf_and_has_a_limit(page: ComparisonPage) -> None:
    assert evidence.appendix(with_flips(page, 25)) == ""
    whole = evidence.appendix(with_flips(page, 26))
    assert whole.startswith("```{=typst}\n= Appendix: all 26 flipped items")
    assert whole.count('"i00') == 26
    long = evidence.appendix(with_flips(page, 1000))
    assert "the first 200 of 1,000 flipped items" in long


def test_flips_say_who_gained_only_where_higher_is_better(page: ComparisonPage) -> None:
    assert "that only trained gets mostly right" in evidence.flipped(with_flips(page, 3))
    assert "mostly right" not in evidence.flipped(with_flips(page, 3, higher_is_better=False))


def test_nothing_flipped_is_said(page: ComparisonPage) -> None:
    assert evidence.flipped(with_flips(page, 0)).startswith("No item flipped")


def test_nothing_to_check_is_said(page: ComparisonPage) -> None:
    bare = replace(page, comparison=replace(page.comparison, dependence=()))
    assert evidence.dependence(bare).startswith("Nothing could be checked")


def test_no_groups_no_table(page: ComparisonPage) -> None:
    assert evidence.group_table(replace(page, comparison=replace(page.comparison, groups=()))) == ""


def test_no_warnings_no_callout(page: ComparisonPage) -> None:
    assert opening.warnings(replace(page, comparison=replace(page.comparison, warnings=()))) == ""


def test_not_simulated_no_callout(page: ComparisonPage) -> None:
    assert opening.simulated(page) == ""


@pytest.mark.parametrize("verdict", ["invalid", "powerless", "equivalent", "better", "worse", "inconclusive"])
def test_every_verdict_has_a_word_a_sign_and_a_sentence(page: ComparisonPage, verdict: str) -> None:
    text = opening.verdict(replace(page, comparison=replace(page.comparison, verdict=verdict)))
    assert text.count('class="es-label"') == 1
    assert 'aria-hidden="true">' in text
    assert "trained" in text


def test_a_difference_without_an_interval(page: ComparisonPage) -> None:
    bare = replace(page.comparison, conf_low=None, conf_high=None)
    assert opening.headline_number(bare) == ("+48.8 pp", "no interval can be given")


def test_facts_of_a_margin_clusters_and_several_trials(page: ComparisonPage) -> None:
    changed = replace(
        page.comparison, margin=0.05, n_clusters=7, clusters=("dimension",), n_trials=129, higher_is_better=False
    )
    facts = {label: (value, note) for label, value, note in opening.key_facts(changed)}
    assert facts["Margin"] == ("±5.0 pp", "declared before looking")
    assert facts["Clusters"] == ("7", "dimension")
    assert facts["Trials"] == ("129", "1.5 per item and side on average")
    assert facts["Metric"] == ("correct", "binary, lower is better")


def test_figures_are_written_for_the_pdf(page: ComparisonPage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = method.methods_figure(page)
    written = (tmp_path / "comparison_files" / "fig-methods.svg").read_text(encoding="utf-8")
    assert '#image("comparison_files/fig-methods.svg", alt: "' in text
    assert "var(" not in written
    assert "Libertinus Serif" in written


def test_the_call_that_reproduces_gives_the_same_result(page: ComparisonPage) -> None:
    import evalstats as es

    assert page.reproduce == "es.compare(data, 'baseline', 'trained', by='scenario')"
    again = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained", by="scenario")
    assert again == page.comparison


def test_provenance_of_a_plain_quarto_rendering(page: ComparisonPage) -> None:
    text = method.provenance(replace(page, engine="", rendered=date(2026, 1, 1)))
    assert ">Quarto<" in text
    assert "1 January 2026" in text
