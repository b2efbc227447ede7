"""Sections of the comparison page that depend on how much there is to show."""

import html
import re
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from evalstats.analysis.compare.figures import difference
from evalstats.analysis.compare.flips import Flip, RowSource
from evalstats.report import evidence, flips, markup, method, opening, verdicts
from evalstats.report.comparison import ComparisonPage, open_page


@pytest.fixture(scope="module")
def page() -> ComparisonPage:
    return open_page(rendered="2025-11-21", engine="an engine")


def with_flips(page: ComparisonPage, count: int, **changes: object) -> ComparisonPage:
    flips = tuple(
        Flip(
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


def listed(text: str) -> list[str]:
    """Names of the items in the table of items, in its order."""
    return re.findall(r">(i\d{4})<", text)


@pytest.mark.parametrize(("count", "shown"), [(20, 20), (25, 25), (26, 20), (1000, 20)])
def test_at_most_twenty_flips_are_shown_unless_few_more_are_all(page: ComparisonPage, count: int, shown: int) -> None:
    text = flips.flipped(with_flips(page, count))
    assert len(listed(text)) == shown
    assert ("the other" in text) == (shown < count)
    assert f"All {count:,} flipped items (CSV)" in text


def test_flips_are_in_the_order_of_their_scenarios(page: ComparisonPage) -> None:
    assert listed(flips.flipped(with_flips(page, 6))) == ["i0000", "i0002", "i0004", "i0001", "i0003", "i0005"]


def test_shown_flips_are_of_every_scenario(page: ComparisonPage) -> None:
    """30 of scenario a and 3 of b: all of b are shown, and the first 17 of a."""
    several = with_flips(page, 33)
    changed = tuple(
        replace(item, scenario="b" if place >= 30 else "a") for place, item in enumerate(several.comparison.flipped)
    )
    text = flips.flipped(replace(several, comparison=replace(several.comparison, flipped=changed)))
    assert listed(text) == [f"i{n:04d}" for n in (*range(17), 30, 31, 32)]


def test_flips_are_counted_by_scenario_under_its_own_name(page: ComparisonPage) -> None:
    """The shipped data: 21 gained, none lost, in the three dimensions that the baseline fails."""
    text = flips.flipped(page)
    counted = text[: text.index("{#tbl-flipped}")]
    assert "Flipped items by dimension" in counted.replace("\\", "")
    rows = page.comparison.flipped_by
    assert sum(row.gained for row in rows) == 21
    assert sum(row.gained > 0 for row in rows) == 3
    assert all(str(row.scenario).replace("_", "") in re.sub(r"[^a-z]", "", counted) for row in rows)


def test_a_flip_says_where_its_rows_stand(page: ComparisonPage) -> None:
    item = replace(page.comparison.flipped[0], baseline_source=RowSource(run="r", file="a.jsonl", locator="line 7"))
    found = replace(page, comparison=replace(page.comparison, flipped=(item,)))
    assert "a.jsonl, line 7" in flips.flipped(found).replace("\\", "")
    assert flips.flips_frame([item])["baseline_source"].to_list() == ["a.jsonl, line 7"]


def test_no_scenario_no_column_and_no_counts(page: ComparisonPage) -> None:
    several = with_flips(page, 30, flipped_by=())
    bare = tuple(replace(item, scenario=None) for item in several.comparison.flipped)
    text = flips.flipped(replace(several, comparison=replace(several.comparison, flipped=bare)))
    assert "dimension" not in text
    assert "tbl-flips-counted" not in text
    assert "20 are shown, the first" in text.replace("\\", "")


def test_the_appendix_is_for_the_pdf_and_has_a_limit(page: ComparisonPage) -> None:
    assert flips.appendix(with_flips(page, 25)) == ""
    whole = flips.appendix(with_flips(page, 26))
    assert whole.startswith("```{=typst}\n= Appendix: all 26 flipped items")
    assert whole.count('"i00') == 26
    long = flips.appendix(with_flips(page, 1000))
    assert "the first 200 of 1,000 flipped items" in long


def test_flips_say_who_gained_only_where_higher_is_better(page: ComparisonPage) -> None:
    assert "that only trained gets mostly right" in flips.flipped(with_flips(page, 3))
    assert "mostly right" not in flips.flipped(with_flips(page, 3, higher_is_better=False))


def test_nothing_flipped_is_said(page: ComparisonPage) -> None:
    assert flips.flipped(with_flips(page, 0)).startswith("No item flipped")


def test_nothing_to_check_is_said(page: ComparisonPage) -> None:
    bare = replace(page, comparison=replace(page.comparison, dependence=()))
    assert evidence.dependence(bare).startswith("### Hidden groups\n\nNothing could be checked")


def test_no_groups_no_table(page: ComparisonPage) -> None:
    assert evidence.group_table(replace(page, comparison=replace(page.comparison, groups=()))) == ""


def test_no_warnings_no_callout(page: ComparisonPage) -> None:
    bare = replace(page, alternatives=(), comparison=replace(page.comparison, warnings=()))
    assert opening.warnings(bare) == ""


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
    assert opening.headline_number(bare) == ("+48.84 pp", "no interval can be given")


def test_facts_of_a_margin_clusters_and_several_trials(page: ComparisonPage) -> None:
    changed = replace(
        page.comparison, margin=0.05, n_clusters=7, clusters=("dimension",), n_trials=129, higher_is_better=False
    )
    facts = {label: (value, note) for label, value, note in opening.key_facts(changed)}
    assert facts["Margin"] == ("±5.00 pp", "declared before looking")
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


def test_every_verdict_is_called_by_its_own_word_and_explained(page: ComparisonPage) -> None:
    for verdict, meaning in verdicts.MEANINGS.items():
        text = opening.verdict(replace(page, comparison=replace(page.comparison, verdict=verdict)))
        assert f"</span> {verdict.capitalize()}</p>" in text
        assert f"{verdict.capitalize()}: {html.escape(meaning)}." in text


def test_the_words_of_the_group_table_are_explained(page: ComparisonPage) -> None:
    text = evidence.group_table(page).replace("\\", "")
    seen = {group.verdict for group in page.comparison.groups}
    assert {
        verdict for verdict in verdicts.MEANINGS if f"{verdict.capitalize()}: {verdicts.MEANINGS[verdict]}." in text
    } == seen


def test_points_are_counted_as_they_are_shown(page: ComparisonPage) -> None:
    text = opening.warnings(page)
    assert len(page.comparison.warnings) == 1
    assert text.count("\n- ") == 2
    assert "2 points" in text.replace("\\", "")


def test_figure_table_and_headline_have_the_same_decimals(page: ComparisonPage) -> None:
    """3.95 and 3.85 are neither one number nor a half that two places round differently."""
    first, second, *_ = page.comparison.groups
    groups = (replace(first, estimate=0.0395), replace(second, estimate=0.0385))
    changed = replace(page.comparison, estimate=0.0395, conf_low=-0.1, conf_high=0.2, groups=groups)
    text = evidence.group_table(replace(page, comparison=changed))
    assert re.findall(r">(\+3[^<]*)<", text) == ["+3.95", "+3.85"]
    assert opening.headline_number(changed)[0] == "+3.95 pp"
    words = difference(changed).rows["words"]
    assert [str(word).partition(" [")[0] for word in words[:1]] == ["+3.95"]
    assert any(str(word).startswith("+3.85 [") for word in words)
    assert "+3.95 pp" in evidence.headline_sentence(replace(page, comparison=changed)).replace("\\", "")


def test_numbers_of_sides_have_them_too(page: ComparisonPage) -> None:
    assert ">51.16<" in evidence.scores(page)


def test_the_automatic_split_says_so(page: ComparisonPage) -> None:
    assert "The split by dimension is automatic" in evidence.group_table(page).replace("\\", "")
    assert "automatic" not in evidence.group_table(open_page(by="dimension"))


def test_code_keeps_its_spaces_and_is_text() -> None:
    text = markup.code_block("if x:\n    name = 'a  <b>\u202e'")
    assert "    name = &#x27;a  &lt;b&gt;&#x27;\n" in text
    assert "\"    name = 'a  <b>'\"" in text


def test_provenance_of_a_plain_quarto_rendering(page: ComparisonPage) -> None:
    text = method.provenance(replace(page, engine="", rendered=date(2026, 1, 1)))
    assert ">Quarto<" in text
    assert "1 January 2026" in text
