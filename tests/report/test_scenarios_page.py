"""The page of scenarios: its answer, its parts on hand-made results, and names as text."""

import ast
import base64
import io
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import polars as pl
import pytest

from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.errors import InputError
from evalstats.report.engine import find_page
from evalstats.report.names import LONGEST
from evalstats.report.qmd import check_constructs, read_document
from evalstats.report.rutbench import code_to_repeat
from evalstats.report.scenario import benchmark, breaks, further, method, opening, plain, variation
from evalstats.report.scenario import page as page_of
from evalstats.report.scenario.names import scenario_page_names, with_scenario_names
from evalstats.report.scenario.page import Further, ScenarioPage
from evalstats.schema.plan import PlanAccount
from tests.analysis.builders import data_of, rows_of
from tests.analysis.scenarios import example
from tests.report.test_leaderboard_page import words

PARTS: tuple[Callable[[ScenarioPage], str], ...] = (
    opening.title, opening.simulated, opening.departures, opening.verdict, opening.facts, opening.warnings,
    breaks.map_of_drops, breaks.in_words, breaks.by_scenario, breaks.scores, breaks.drops, breaks.slopes, breaks.missing,
    breaks.interaction, breaks.ranking, breaks.pairs, variation.variances, variation.effects, variation.reliability,
    further.sections, benchmark.about, plain.on_page, plain.appendix, method.paragraph, method.reference_list, method.notes,
    method.reproduce, method.provenance,
)  # fmt: skip


def few_levels() -> ScenarioModel:
    return example.random_scenarios(9)


EXAMPLES = (
    example.small, example.medium, few_levels, example.with_missing_cells, example.singular, example.separated,
    example.without_answer, example.costs, example.hostile,
)  # fmt: skip


def shown(found: ScenarioModel, *others: Further) -> ScenarioPage:
    """The page of a result, as `open_page` makes it."""
    names = scenario_page_names(found)
    return ScenarioPage(
        model=with_scenario_names(found, names),
        further=others,
        engine="an engine",
        rendered=date(2025, 11, 21),
        reproduce="import evalstats as es",
        full_names=tuple((short, name) for name, short in names.items()),
    )


@pytest.fixture(scope="module", autouse=True)
def working_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Figures for the PDF are written into the working folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        yield


@pytest.fixture(scope="module")
def rut() -> ScenarioPage:
    return shown(example.rut())


@pytest.fixture(scope="module")
def hostile() -> ScenarioPage:
    return shown(
        example.hostile(),
        Further(metric="<b>$m$</b>", reason="no `x` {{< y >}}"),
        Further(metric="a|b", model=example.hostile()),
    )


# --- the opening ---------------------------------------------------------------------------------------------------


def test_the_title_is_the_question(rut: ScenarioPage) -> None:
    text = words(opening.title(rut))
    assert r"Where do models break on RUT\-Bench\?" in text  # as metadata, escapes and all
    assert "19 models in 7 scenarios" in text
    other = replace(rut, model=replace(rut.model, contrast="prompt"))
    assert "Where do prompts break on" in words(opening.title(other))


def test_the_answer_counts_what_the_data_show(rut: ScenarioPage) -> None:
    text = words(opening.verdict(rut))
    n = sum(row.verdict == "drop" for row in rut.model.drops)
    assert "Breaks shown" in text
    assert opening.headline_number(rut.model) == (f"{n} of 114", "changes from ideal shown to be worse")
    worst = min(rut.model.drops, key=lambda row: row.estimate or 0)
    assert f"The largest change is that of {worst.model} in {worst.scenario}" in text
    assert "es-bad" in opening.verdict(rut)


def test_a_fit_that_did_not_converge_has_no_number() -> None:
    page = shown(example.without_answer())
    text = words(opening.verdict(page))
    assert opening.headline_number(page.model) == ("", "")
    assert 'class="es-number"' not in opening.verdict(page)
    assert "did not converge" in text
    assert "largest change" not in text
    assert "use none of these numbers" in words(opening.warnings(page))


def test_drops_that_are_not_shown_are_not_called_none() -> None:
    found = example.small()
    quiet = replace(found, drops=tuple(replace(row, verdict="not shown") for row in found.drops))
    text = words(opening.verdict(shown(quiet)))
    assert "None shown" in text
    assert "Not shown is not the same as none" in text
    assert opening.headline_number(quiet)[0] == "0 of 2"


def test_facts_say_what_it_rests_on() -> None:
    found = {label: (value, note) for label, value, note in opening.key_facts(example.with_missing_cells())}
    assert found["Cells"] == ("18", "of 20 with an estimate")
    assert found["Missing"] == ("19", "7 failed, 12 without a score")
    assert found["Clusters"] == ("none", "items taken as independent")
    clustered = replace(example.small(), clusters=("env_id",), n_clusters=59)
    assert ("Clusters", "59", "env_id") in opening.key_facts(clustered)
    assert ("Metric", "latency", "continuous, lower is better") in opening.key_facts(example.costs())


def test_what_departs_from_the_plan_is_said_once() -> None:
    plan = PlanAccount(
        source="evalstats.toml", digest="1" * 64, departures=("departs from the plan: metric a given, b declared",)
    )
    found = replace(example.small(), plan=plan, warnings=plan.departures)
    page = shown(found)
    assert "not what was planned" in words(opening.departures(page))
    assert opening.warnings(page) == ""
    assert "1" * 64 in method.provenance(page)


def test_simulated_data_are_called_so() -> None:
    found = replace(example.small(), notes=("simulated: no model was run",))
    assert "These data are simulated" in opening.simulated(shown(found))
    assert "simulated" not in method.notes(shown(found))


# --- where models break --------------------------------------------------------------------------------------------


def csv_of(text: str) -> pl.DataFrame:
    data = re.findall(r"base64,([A-Za-z0-9+/=]*)", text)
    return pl.read_csv(io.BytesIO(base64.b64decode(data[-1])), infer_schema_length=None)


def test_the_map_has_its_data_behind_it(rut: ScenarioPage) -> None:
    found = csv_of(breaks.map_of_drops(rut))
    assert found.height == 114
    assert found["estimate"].to_list() == pytest.approx([row.estimate for row in rut.model.drops])
    assert csv_of(breaks.scores(rut)).height == 133


def test_many_drops_are_folded_away_and_not_printed(rut: ScenarioPage) -> None:
    text = breaks.drops(rut)
    typst = "\n".join(re.findall(r"(?ms)^`{3,}\{=typst\}\n(.*?)\n`{3,}$", text))
    html_only = text.partition("All 114 changes")[2]
    assert "fig-drops" not in text
    assert html_only.count("<tr>") == 114
    assert typst.count("drop") <= 30  # the twelve largest alone
    largest = [row for row in rut.model.drops if row.verdict == "drop"]
    largest.sort(key=lambda row: row.estimate or 0)
    table = words(text.partition("All 114 changes")[0])
    assert table.index(largest[0].model) < table.index(largest[3].model)


def test_few_drops_are_drawn_and_all_listed() -> None:
    text = breaks.drops(shown(example.medium()))
    assert "#fig-drops" in text
    assert "#tbl-drops" in text
    said = words(text)
    assert all(row.scenario in said for row in example.medium().drops)
    assert "Paired" in said
    assert "Pooled" in said


def test_where_there_is_nothing_to_compare_with_the_page_says_so() -> None:
    found = example.small()
    one = replace(found, drops=(), tests=(), ranking=None, pairs=(), n_scenarios=1)
    page = shown(one)
    assert "nothing to set it against" in words(breaks.map_of_drops(page))
    assert breaks.drops(page) == ""
    assert "there is one scenario" in words(breaks.interaction(page))
    assert "two models and two scenarios" in words(breaks.ranking(page))
    alone = shown(replace(one, n_models=1))
    assert "there is one model" in words(breaks.interaction(alone))


def test_a_drop_here_and_none_there_is_not_called_a_difference(rut: ScenarioPage) -> None:
    text = words(breaks.interaction(rut))
    assert "Models differ in where they break" in text
    assert "is shown to drop in a scenario and another is not says nothing about this" in text
    tests = tuple(replace(test, p_value=0.4) for test in rut.model.tests)
    calm = words(breaks.interaction(replace(rut, model=replace(rut.model, tests=tests))))
    assert "are not shown to differ" in calm


def test_crossing_estimates_are_not_called_a_ranking(rut: ScenarioPage) -> None:
    text = words(breaks.ranking(rut))
    assert rut.model.ranking is not None
    assert f"The estimates of {rut.model.ranking.n_crossed} pairs of models cross somewhere. Noise alone" in text
    quiet = replace(rut.model.ranking, shown=False, words="no two models are shown to change places")
    calm = breaks.ranking(replace(rut, model=replace(rut.model, ranking=quiet)))
    assert "which noise alone can do" in words(calm)
    assert "tbl-crossings" not in calm


def test_no_scenario_of_many_is_singled_out_where_nothing_is_shown(rut: ScenarioPage) -> None:
    many = shown(example.random_scenarios())
    assert "none of the many scenarios is singled out" in words(breaks.slopes(many))
    assert "#fig-slopes" in breaks.slopes(rut)


def test_what_is_missing_has_a_section_where_something_is() -> None:
    text = words(breaks.missing(shown(example.with_missing_cells())))
    assert "7 harness errors" in text
    assert text.count("east in telecom: no score: no item of telecom was run.") == 1
    assert breaks.missing(shown(example.small())) == ""


def test_the_words_of_the_command_are_not_said_twice(rut: ScenarioPage) -> None:
    text = words(breaks.in_words(rut))
    assert "Of 114 changes" in text
    assert "is not the same for all models" not in text


# --- variation -----------------------------------------------------------------------------------------------------


def test_a_variance_of_zero_is_explained() -> None:
    assert "singular fit" in words(variation.variances(shown(example.singular())))
    assert "singular" not in words(variation.variances(shown(example.small())))


def test_levels_are_drawn_where_there_are_any() -> None:
    assert "#fig-effects" in variation.effects(shown(example.random_scenarios()))
    assert variation.effects(shown(example.small())) == ""


def test_reliability_says_what_is_needed_or_why_it_is_not_known(rut: ScenarioPage) -> None:
    text = words(variation.reliability(rut))
    assert "27 items" in text
    assert "there is one trial" in text
    assert "2 models are too few" in words(variation.reliability(shown(example.without_answer())))
    none = replace(example.small(), reliability=None)
    assert "Not estimated" in words(variation.reliability(shown(none)))


# --- further metrics, the benchmark --------------------------------------------------------------------------------


def test_each_further_metric_has_its_answer_or_its_reason() -> None:
    page = shown(
        example.small(),
        Further(metric="honesty", model=example.medium()),
        Further(metric="tools", reason="no scored row"),
    )
    text = further.sections(page)
    assert "### honesty" in text
    assert "#fig-map-1" in text
    assert "east does worse in banking" in words(text)
    assert "Not answered: No scored row." in words(text)
    assert further.sections(shown(example.small())) == ""


def two_metrics(name: str) -> Any:
    names = ("success", "faithfulness", "tool_discipline", "efficiency", "reliability")
    rows = [rows_of("m", [1.0, 0.0], metric=metric, benchmark=name) for metric in names]
    return data_of(*rows)


def test_the_benchmark_s_own_metrics_come_first() -> None:
    found = replace(example.small(), benchmark="RUT-Bench", metric="success")
    data = two_metrics("RUT-Bench")
    assert page_of.further_metrics(data, found, None) == ["faithfulness", "tool_discipline"]
    assert page_of.further_metrics(data, found, ("none",)) == []
    assert page_of.further_metrics(data, found, ("efficiency", "success")) == ["efficiency"]
    with pytest.raises(InputError, match="has no metric 'magic' beside success; it has faithfulness"):
        page_of.further_metrics(data, found, ("magic",))
    other = replace(found, benchmark="bench")
    assert page_of.further_metrics(two_metrics("bench"), other, None) == ["efficiency", "faithfulness", "reliability"]


def test_known_benchmarks_are_described(rut: ScenarioPage) -> None:
    text = words(benchmark.about(rut))
    assert "missing here, where the benchmark's own summary counts it as 0" in text
    assert "buries the request" in text
    assert "stable the cooperative" not in text  # a level that these data do not have
    for name, said in (("HarmAmp", "seeds are the clusters"), ("device-repair", "two languages of a question")):
        page = shown(replace(example.medium(), benchmark=name))
        assert said in words(benchmark.about(page))
        assert "a column map puts others in their place" in words(benchmark.about(page))
    assert benchmark.about(shown(replace(example.medium(), benchmark="mine"))) == ""


def test_the_names_of_known_benchmarks_are_those_of_their_loaders() -> None:
    from evalstats.loaders import devicerepair, harmamp, rutbench

    loaded = {devicerepair.BENCHMARK, harmamp.BENCHMARK, rutbench.BENCHMARK}
    assert set(benchmark._ABOUT) == set(page_of._FURTHER) == loaded


# --- method --------------------------------------------------------------------------------------------------------


def test_works_are_those_of_what_was_done() -> None:
    binary, plain = method.references(example.small()), method.references(example.costs())
    assert any("Zeger" in work for work in binary)
    assert not any("Zeger" in work for work in plain)
    assert not any("Gelman" in work for work in binary)
    assert any("Gelman" in work for work in method.references(example.separated()))
    assert binary == sorted(set(binary))


def test_plain_words_are_folded_away_and_an_appendix_in_print(rut: ScenarioPage) -> None:
    folded = plain.on_page(rut)
    assert 'when-format="html"' in folded
    assert "How it was answered" in words(folded)
    assert "{=html}" not in plain.appendix(rut)
    assert "How it was answered" in plain.appendix(rut)


def test_code_repeats_the_question() -> None:
    options = {
        "scenario": None, "reference": "ideal", "weights": {"ideal": 0.6, "rest": 0.4}, "models": ("a", "b"), "cluster": None,
        "formula": None, "as_": None, "n_resamples": None, "conf_level": None, "contrast": "model", "accept": (),
        "plan": None, "seed": 3,
    }  # fmt: skip
    arguments = page_of._arguments("success", options, "some/folder/evalstats.toml")
    code = code_to_repeat("scenarios", arguments, "es.read('x.csv')")
    call = ast.parse(code).body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.value.keywords}
    assert given == {
        "metric": "'success'", "reference": "'ideal'", "weights": "{'ideal': 0.6, 'rest': 0.4}", "models": "['a', 'b']",
        "seed": "3", "plan": "es.read_plan('evalstats.toml')",
    }  # fmt: skip
    assert "write_rutbench" in code_to_repeat("scenarios", (), "")


# --- every part ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", EXAMPLES, ids=lambda make: make.__name__)
def test_every_part_can_be_made_of_every_result(make: Callable[[], ScenarioModel]) -> None:
    page = shown(make())
    text = "\n\n".join(part(page) for part in PARTS)
    labels = re.findall(r"^::: \{#([a-z0-9-]+)\}$", text, re.MULTILINE)
    assert len(labels) == len(set(labels))
    for raw in ("nan", "None", "inf"):
        assert not re.search(rf"(?<![\w-]){raw}(?![\w-])", words(text).replace("None shown", "")), raw


def test_long_names_are_short_everywhere_different_and_in_full_once(hostile: ScenarioPage) -> None:
    names = hostile.model.model_names
    assert len(set(names)) == 5
    assert max(map(len, names)) <= LONGEST
    full = dict(hostile.full_names)
    assert sorted(full.values()) == sorted(example.HOSTILE_MODELS[-2:])
    text = "\n".join(part(hostile) for part in PARTS if part is not further.sections)
    for name in full.values():
        assert name in words(method.provenance(hostile))
        rest = words(text.replace(method.provenance(hostile), ""))
        assert name not in rest.replace(f"{name}-run", "")


def test_shortened_names_stand_in_every_row(hostile: ScenarioPage) -> None:
    found, long = hostile.model, example.HOSTILE_MODELS[-1]
    for rows in (found.cells, found.models, found.drops, found.pairs):
        assert long not in {
            value for row in rows for value in (getattr(row, name, "") for name in ("model", "name", "first", "second"))
        }
    assert found.cell(found.model_names[0], found.scenario_names[0]).estimate is not None


@pytest.mark.parametrize("part", PARTS, ids=lambda part: f"{part.__module__.rpartition('.')[2]}.{part.__name__}")
def test_no_name_is_markup(part: Callable[[ScenarioPage], str], hostile: ScenarioPage) -> None:
    """Outside raw blocks every mark is escaped; inside them names are HTML text or Typst strings."""
    text = part(hostile)
    outside = re.sub(r"(?ms)^(`{3,})\{=(html|typst)\}\n.*?\n\1$", "", text)
    assert not re.search(r"(?<!\\)\$|(?<![\\(])<|(?<!\\)\{\{|(?<!\\)`", outside)
    for block in re.findall(r"(?ms)^`{3,}\{=html\}\n(.*?)\n`{3,}$", text):
        assert "<script" not in block
        assert "<b>" not in block
        assert "<img" not in block
        assert not re.search(r"<i>", block)
    for block in re.findall(r"(?ms)^`{3,}\{=typst\}\n(.*?)\n`{3,}$", text):
        assert "{{" not in block
        strings = re.sub(r'"(?:\\.|[^"\\])*"', "", block)
        assert "$" not in strings
        assert "script" not in strings


def test_the_page_uses_only_what_both_engines_know() -> None:
    check_constructs(read_document(find_page("scenarios").source))


def test_every_option_of_the_page_is_handed_on() -> None:
    """The first cell sets what `open_page` takes, and the second hands all of it on."""
    import inspect

    cells = read_document(find_page("scenarios").source).cells
    assert isinstance(cells[0].code, str)
    set_ = {target.id for statement in ast.parse(cells[0].code).body for target in getattr(statement, "targets", [])}
    call = next(
        node
        for node in ast.walk(ast.parse(cells[1].code))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "open_page"
    )
    assert set_ == {keyword.arg for keyword in call.keywords} == set(inspect.signature(page_of.open_page).parameters)


def test_every_part_stands_on_the_page() -> None:
    source = find_page("scenarios").source.read_text(encoding="utf-8")
    for part in PARTS:
        module = part.__module__.rpartition(".")[2].replace("further", "further_metrics")
        assert f"{module}.{part.__name__}(page)" in source
