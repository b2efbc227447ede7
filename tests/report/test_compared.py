"""What the comparison page says of runs that differ, costs, margins, plans and looks on the way."""

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import evalstats as es
from evalstats.analysis.comparability.rules import RunDifference
from evalstats.analysis.compare.flips import Flip
from evalstats.report import alike, costs, evidence, flips, method, opening, plain_words, watched
from evalstats.report.comparison import ComparisonPage, open_page
from evalstats.report.handover import write_tables
from evalstats.report.provenance import plan_rows
from evalstats.schema.data import EvalData

INTERVAL = re.compile(r"\[[−+\d.]+, [−+\d.]+\]|\d% interval|\d% at every look")


def plain(text: str) -> str:
    """Text without the escapes of Markdown."""
    return re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", text)


def stored(data: EvalData, folder: Path) -> str:
    write_tables(data, folder)
    return str(folder)


@pytest.fixture(scope="module")
def folder(hostile: EvalData, tmp_path_factory: pytest.TempPathFactory) -> str:
    return stored(hostile, tmp_path_factory.mktemp("hostile-tables") / "t")


@pytest.fixture(scope="module")
def page(folder: str, hostile_models: tuple[str, str]) -> ComparisonPage:
    """Costs, a setting that differs and weakens, notes, and a margin."""
    first, second = hostile_models
    return open_page(store=folder, baseline=first, candidate=second, margin="5pp", rendered="2025-11-21")


@pytest.fixture(scope="module")
def refused(
    hostile: EvalData, hostile_models: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> ComparisonPage:
    """The same with another judge on either side."""
    runs = hostile.runs.with_columns(judge=pl.Series(["judge <one>", "judge $two$"]))
    folder = stored(replace(hostile, runs=runs), tmp_path_factory.mktemp("judged") / "t")
    first, second = hostile_models
    return open_page(store=folder, baseline=first, candidate=second, margin="5pp", by="scenario")


@pytest.fixture(scope="module")
def looked(folder: str, hostile_models: tuple[str, str]) -> ComparisonPage:
    first, second = hostile_models
    return open_page(store=folder, baseline=first, candidate=second, margin="30pp", sequential=True, planned_n=80)


def whole(page: ComparisonPage) -> str:
    """Everything that the page prints, in its order."""
    parts = (
        opening.title, opening.departures, opening.verdict, opening.standing, alike.why_refused, opening.facts, opening.warnings,
        plain_words.plain_words, evidence.headline_sentence, evidence.difference_figure, evidence.group_table, evidence.scores,
        costs.costs, evidence.effects, flips.flipped, alike.alike, evidence.missing, evidence.dependence, method.paragraph,
        method.by_method, method.reference_list, method.notes, method.provenance, flips.appendix,
        plain_words.plain_words_appendix,
    )  # fmt: skip
    return "\n\n".join(part(page) for part in parts)


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures for the PDF are written to the working folder."""
    monkeypatch.chdir(tmp_path)


# --- runs that cannot be compared ---


def test_a_refused_comparison_shows_why_and_no_interval_anywhere(refused: ComparisonPage) -> None:
    assert refused.refused
    text = plain(whole(refused))
    assert INTERVAL.findall(text) == []
    assert "es-figure" not in text
    assert "es-number" not in text
    assert 'amount: ""' in text


def test_the_check_for_intervals_would_find_one(page: ComparisonPage) -> None:
    text = plain(whole(page))
    assert len(INTERVAL.findall(text)) > 20
    assert text.count("es-figure es-wide") == 3


def test_what_differs_stands_at_the_top_with_its_severity_and_the_way_out(refused: ComparisonPage) -> None:
    text = plain(alike.why_refused(refused))
    table = text[: text.index("{=typst}")]
    pills = re.findall(r'es-pill es-(\w+)">(\w+)<', table)
    assert pills == [("bad", "invalid"), ("caution", "weakens"), ("caution", "weakens")]
    assert "judge &lt;one&gt;" in table
    assert "A score given by another judge is another quantity." in table
    assert "--accept judge, or accept in evalstats.toml" in text
    assert alike.alike(refused) == ""
    assert "the judge, so a difference in scores cannot be laid to the systems" in opening.verdict(refused)


def test_it_warns_of_nothing_that_the_table_says(refused: ComparisonPage, page: ComparisonPage) -> None:
    assert "temperature" in opening.warnings(page)
    assert "temperature" not in opening.warnings(refused)


def test_what_was_observed_stays(refused: ComparisonPage, page: ComparisonPage) -> None:
    assert len(refused.comparison.flipped) == len(page.comparison.flipped) > 0
    assert "must not be held against each other" in evidence.scores(refused)
    difference = f"{100 * (refused.comparison.estimate or 0):+.2f}".replace("-", "−")
    assert f"differ by {difference} pp" in plain(evidence.headline_sentence(refused))


# --- were the two run alike? ---


def test_what_weakens_is_a_table_and_notes_are_folded(page: ComparisonPage) -> None:
    text = plain(alike.alike(page))
    assert text.startswith("### Were the two run alike?")
    table, notes = text.split('<details class="es-fold">')
    assert "Temperature" in table
    assert ">weakens<" in table
    assert "Version of the harness" in table
    assert ">Date<" in notes
    assert ">note<" in notes
    assert "<summary>2 notes on the runs, which weaken nothing</summary>" in notes


def with_differences(page: ComparisonPage, *found: RunDifference) -> str:
    return plain(alike.alike(replace(page, comparison=replace(page.comparison, run_differences=found))))


def test_one_note_is_a_sentence_and_none_is_said(page: ComparisonPage) -> None:
    assert "The files record nothing in which the runs of the two sides differ." in with_differences(page)
    note = RunDifference(setting="date", baseline="a", candidate="b", severity="note", explanation="days apart")
    one = with_differences(page, note)
    assert "Nothing that the files record speaks against comparing the two.\n\nDays apart." in one
    assert "<table" not in one


def test_nothing_recorded_is_no_good_news(page: ComparisonPage) -> None:
    silent = RunDifference(
        setting="unrecorded", baseline=None, candidate=None, severity="note", explanation="the files do not say"
    )
    assert with_differences(page, silent) == "### Were the two run alike?\n\nThe files do not say."


def test_a_reason_keeps_where_and_drops_what_stands_beside_it() -> None:
    told = "the temperature differs between the two sides (0 against 1) on 2 of 5 tasks: it is part of the system"
    found = RunDifference(setting="temperature", baseline="0", candidate="1", severity="weakens", explanation=told)
    assert alike.why(found) == "on 2 of 5 tasks: it is part of the system"
    other = replace(found, explanation="something without both values: why")
    assert alike.why(other) == "something without both values: why"


def test_notes_on_runs_stand_once(page: ComparisonPage) -> None:
    explanations = {each.explanation for each in page.comparison.run_differences if each.severity == "note"}
    assert explanations
    assert explanations <= set(page.comparison.notes)
    assert not any(text in plain(method.notes(page)).lower() for text in map(str.lower, explanations))


# --- costs and effect sizes ---


def test_costs_are_a_sentence_a_figure_and_a_table(page: ComparisonPage) -> None:
    text = plain(costs.costs(page))
    rows = {row.quantity: row for row in page.comparison.costs}
    ratio = rows["cost_usd"].ratio or 0.0
    assert text.startswith("### Cost and time\n\nOn the same items")
    assert f"costs {ratio:.2f} times what" in text
    assert "a success costs" in text
    assert "{#fig-costs}" in text
    assert ">Time (seconds)<" in text
    assert "Time (seconds): time also depends on the machine" in text
    assert set(costs.costs_frame(page.comparison)["quantity"]) == set(rows)


def test_no_costs_no_section(page: ComparisonPage) -> None:
    bare = replace(page, comparison=replace(page.comparison, costs=(), effects=()))
    assert costs.costs(bare) == ""
    assert evidence.effects(bare) == ""


def test_one_side_alone_has_a_cost(page: ComparisonPage) -> None:
    first = replace(
        page.comparison.costs[0], ratio=None, conf_low=None, conf_high=None, reason="only the baseline has it"
    )
    text = plain(costs.costs(replace(page, comparison=replace(page.comparison, costs=(first,)))))
    assert "On the same items" not in text
    assert "fig-costs" not in text
    assert "Cost (US dollars): only the baseline has it." in text


def test_what_holds_for_every_row_is_said_once(page: ComparisonPage) -> None:
    rows = tuple(replace(row, reason="too few clusters", note="") for row in page.comparison.costs)
    text = plain(costs.costs(replace(page, comparison=replace(page.comparison, costs=rows))))
    assert text.count("oo few clusters") == 1
    assert "- Too few clusters." in text


def test_effect_sizes_say_what_they_are(page: ComparisonPage) -> None:
    text = plain(evidence.effects(page))
    assert ">superiority<" in text
    assert "Chance that the candidate does better on an item, ties counted half." in text


# --- margins and plans ---


def test_how_it_stands_at_the_margin_is_one_line_at_the_top(page: ComparisonPage, looked: ComparisonPage) -> None:
    text = opening.standing(page)
    assert 'class="es-standing es-caution"><strong>Not shown to be within the declared margin.</strong>' in text
    inferior = page.comparison.at_margin
    assert inferior is not None
    fine = replace(page.comparison, at_margin=replace(inferior, noninferior=True))
    assert "es-good" in opening.standing(replace(page, comparison=fine))
    assert "holds at every look" in opening.standing(looked)
    for nothing in (None, replace(inferior, limit=None)):
        assert opening.standing(replace(page, comparison=replace(page.comparison, at_margin=nothing))) == ""


PLAN = """
[plan]
families = ["scenario"]
conf_level = 0.9

[[margins]]
value = "4pp"
reason = "less is not noticed"
"""


def test_a_plan_decides_and_is_in_the_provenance(folder: str, hostile_models: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "evalstats.toml"
    path.write_text(PLAN, encoding="utf-8")
    sides = {"baseline": hostile_models[0], "candidate": hostile_models[1]}
    planned = open_page(store=folder, plan=str(path), **sides)
    result = planned.comparison
    assert (result.by, result.conf_level, result.margin) == ("scenario", 0.9, 0.04)
    assert not planned.split_by_itself
    assert opening.departures(planned) == ""
    rows = dict(plan_rows(result.plan, "comparison"))
    assert rows["Declared plan"] == f"evalstats.toml, SHA-256 {es.read_plan(path).digest}"
    assert rows["Departures"] == "none"
    assert "reason for the margin less is not noticed" in rows["It declares"]
    assert planned.reproduce.endswith(", plan=es.read_plan('evalstats.toml'))")
    assert str(tmp_path) not in planned.reproduce
    unsplit = open_page(store=folder, plan=path, by="none", **sides)
    assert unsplit.comparison.groups == ()


def test_a_departure_is_said_first_and_not_twice(folder: str, hostile_models: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "evalstats.toml"
    path.write_text(PLAN.replace('families = ["scenario"]\n', ""), encoding="utf-8")
    left = open_page(
        store=folder, baseline=hostile_models[0], candidate=hostile_models[1], plan=path, margin="9pp",
        accept="temperature",
    )  # fmt: skip
    assert left.comparison.by is None  # what is split is the plan's to say
    text = plain(opening.departures(left))
    assert "Departs from the plan: margin 9pp given, 4pp declared." in text
    assert "accept temperature given, none declared" in text
    assert "plan" not in plain(opening.warnings(left))
    facts = {label: note for label, _, note in opening.key_facts(left.comparison)}
    assert facts["Margin"] == "given now, not as planned"
    assert "margin='9pp', accept=['temperature'], plan=es.read_plan('evalstats.toml')" in left.reproduce


# --- looks on the way, and trials ---


def test_a_watched_run_shows_how_it_narrowed_in_place_of_one_look(looked: ComparisonPage) -> None:
    text = plain(evidence.difference_figure(looked))
    assert "{#fig-narrowing}" in text
    assert "fig-difference" not in text
    assert "that holds at every look" in text
    sentence = plain(evidence.headline_sentence(looked))
    assert "hold at every look, however often one looks and whenever one stops" in sentence
    assert looked.comparison.by is None  # a watched run is not split
    assert "at every look" in opening.verdict(looked)
    assert "are for a single look" in evidence.scores(looked)
    notes = {label: note for label, _, note in opening.key_facts(looked.comparison)}
    assert notes["Items"] == "finished on both sides so far, of 80 items planned"
    assert "sequential=True, planned_n=80" in looked.reproduce


def test_the_looks_are_data(looked: ComparisonPage) -> None:
    account = looked.comparison.sequential
    assert account is not None
    frame = watched.path_frame(account)
    assert frame.columns == ["n", "estimate", "conf_low", "conf_high"]
    assert frame["n"].to_list() == [point[0] for point in account.path]
    bare = replace(looked.comparison, sequential=replace(account, path=()))
    assert watched.narrowing_figure(replace(looked, comparison=bare)) == ""


def test_rows_for_one_look_say_so_in_the_table(looked: ComparisonPage, page: ComparisonPage) -> None:
    assert "sensitivity, for one look" in method.methods_rows(looked)
    assert "for one look" not in method.methods_rows(page)


def test_pass_of_k_trials(tmp_path: Path) -> None:
    data = es.datasets.tau_airline()
    other = data.outcomes.with_columns(pl.lit("b").alias(name) for name in ("model", "system", "run"))
    runs = data.runs.with_columns(pl.lit("b").alias(name) for name in ("model", "system", "run"))
    both = replace(data, outcomes=pl.concat([data.outcomes, other]), runs=pl.concat([data.runs, runs]))
    found = open_page(store=stored(both, tmp_path / "t"), baseline="gpt-4o", candidate="b", pass_hat=4)
    assert found.comparison.metric == "reward pass^4"
    assert found.comparison.estimate == 0
    assert "its pass^4: the share of all ways to pick 4 of its trials" in plain(method.paragraph(found))
    assert "pass_hat=4" in found.reproduce
    item = Flip(task="", item="i", variant="", scenario=None, baseline=0.2, candidate=0.6)
    flipped = replace(found, comparison=replace(found.comparison, flipped=(item,)))
    assert "1 whose pass^4 is at least one half for b alone, 0 for gpt-4o alone" in plain(flips.flipped(flipped))


# --- no interval, methods, plain words ---


def test_no_interval_no_figure(page: ComparisonPage) -> None:
    result = page.comparison
    bare = replace(
        result,
        conf_low=None,
        conf_high=None,
        groups=(),
        rows=tuple(replace(row, conf_low=None, conf_high=None) for row in result.rows),
        baseline=replace(result.baseline, conf_low=None, conf_high=None, reason="2 clusters"),
        candidate=replace(result.candidate, conf_low=None, conf_high=None),
    )
    found = replace(page, comparison=bare, alternatives=())
    assert evidence.difference_figure(found) == ""
    assert method.methods_figure(found) == ""
    assert "tbl-methods" in method.by_method(found)
    assert "Neither has an interval: 2 clusters." in plain(evidence.scores(found))


def test_agreement_counts_the_same_question_alone(page: ComparisonPage) -> None:
    result = page.comparison
    first, *rest = result.rows
    ends = {"conf_low": 0.1, "conf_high": 0.3}
    headline = replace(first, **ends)
    apart = replace(headline, role="second interval", method="apart", conf_low=-0.1)
    test = replace(headline, role="check", method="test", conf_low=None, conf_high=None, p_value=0.01)
    other = replace(apart, role="other estimand", method="another question")
    made = replace(result, rows=(headline, apart, test, other), **ends)
    assert method.agreement(made) == (
        "Asked whether 0 is excluded, 1 of 2 other methods for the same question answers as the first row does; apart does not."
    )
    assert method.agreement(replace(made, rows=(headline, test))).startswith(
        "Asked whether 0 is excluded, the one other"
    )
    assert method.agreement(replace(made, rows=(headline, other))) == ""
    assert method.agreement(replace(made, conf_low=None, conf_high=None)) == ""
    assert rest


def test_every_method_is_told_below_the_table(page: ComparisonPage) -> None:
    text = plain(method.methods_rows(page))
    listed = text[text.index("What each of these methods is") :]
    for row in page.comparison.rows:
        assert f"- {row.method}: " in listed


def test_plain_words_are_folded_on_the_page_and_an_appendix_of_the_pdf(page: ComparisonPage) -> None:
    on_page, in_pdf = plain_words.plain_words(page), plain_words.plain_words_appendix(page)
    assert '::: {.content-visible when-format="html"}\n\n## In plain words' in on_page
    assert "```{=html}\n<details" in on_page
    assert in_pdf.startswith("```{=typst}\n#heading(level: 1, ")
    for text in (on_page, in_pdf):
        assert "What was asked" in text
        assert "What would change the conclusion" in text
        assert "Where the methods come from" not in text  # the references are on the page
    assert "<script>" not in on_page
    assert "&lt;script&gt;" in on_page
