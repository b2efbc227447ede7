"""Where each model breaks: map, drops, ways from the reference; whether models differ in it; whether ranks change."""

from collections.abc import Sequence

from evalstats.analysis.scenarios import figures
from evalstats.analysis.scenarios.figures import MOST_DROPS, MOST_PANELS, base_name, drawn_names
from evalstats.analysis.scenarios.result import DropRow, ScenarioModel
from evalstats.analysis.scenarios.wording import missing_blocks
from evalstats.analysis.scenarios.wording_answer import ranking_sentence, standing_sentences
from evalstats.analysis.scenarios.wording_spread import interaction_sentence, tests_blocks
from evalstats.analysis.scenarios.wording_tables import models_table, scenarios_table, weights_words
from evalstats.analysis.scenarios.words import AVERAGE, some, stopped
from evalstats.document.blocks import Tone
from evalstats.document.escape import for_html
from evalstats.document.numbers import plural
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, csv_link, folded, prose, raw, section
from evalstats.report.scenario.blocks import shown, without_column
from evalstats.report.scenario.page import ScenarioPage
from evalstats.report.scenario.tables import TONES, crossings_table, drops_table, every_change, largest_drops
from evalstats.report.tables import html_table, table_float, without_empty_columns

_MANY = 24
_LARGEST = 12


def map_of_drops(page: ScenarioPage) -> str:
    """Return the map of models and scenarios, with every number behind it."""
    found = page.model
    if not found.drops:
        return prose("There is one scenario, and nothing to set it against.")
    return figure_float(
        figures.drop_map(found),
        "fig-map",
        caption=prose(map_caption(found)),
        after=csv_link(found.drops_frame(), "drops.csv", "Data of this figure (CSV)"),
    )


def map_caption(found: ScenarioModel) -> str:
    """Say what the map shows and how it is read."""
    unit = {"pp": "percentage points"}.get(found.unit, found.unit)
    base = "each model's mean over the other scenarios" if found.reference == AVERAGE else base_name(found)
    first = "mean over all scenarios" if found.reference == AVERAGE else f"score in {base_name(found)}"
    text = (
        f"The change in {found.metric} from {base}{f', in {unit}' if unit else ''}, with half the width of its "
        f"{100 * found.conf_level:g}% interval. Filled cells are changes that the data show: vermillion to the worse, blue to "
        "the better, the deeper the larger; hollow ones are not shown. The line in a cell is its interval, its tick no change. "
        f"Beside the map stands the {first}. A dash is a cell without an estimate."
    )
    models, scenarios, _ = drawn_names(found)
    rows = len(found.model_names) - len(models)
    columns = sum(name != found.reference for name in found.scenario_names) - len(scenarios)
    if rows or columns:
        text += f" Not drawn: {plural(rows, 'model')} and {plural(columns, 'scenario')}; the data have all."
    return text


def by_scenario(page: ScenarioPage) -> str:
    """Return scenarios and models in a table each."""
    found = page.model
    table = table_float(without_empty_columns(without_column(scenarios_table(found), "Code")), "tbl-scenarios")
    link = raw("html", csv_link(found.means_frame(), "means.csv", "Means of models and scenarios (CSV)"))
    if found.n_models < 2:
        return f"{table}\n\n{link}"
    models = table_float(without_empty_columns(models_table(found)), "tbl-models")
    if len(found.models) > _MANY:
        models = folded("Each model over all scenarios", models)
    return f"{table}\n\n{models}\n\n{link}"


def in_words(page: ScenarioPage) -> str:
    """Return what the command says beside its headline, less what has a section of its own."""
    found = page.model
    elsewhere = {interaction_sentence(found), ranking_sentence(found)}
    return prose(" ".join(text for text in standing_sentences(found)[1:] if text not in elsewhere))


def missing(page: ScenarioPage) -> str:
    """Return which cells lack items, what was left out, and what cannot be judged; nothing where all is there."""
    said = shown(missing_blocks(page.model), "tbl-missing")
    return section("Missing data", said, bullets([prose(text) for text in _unjudged(page.model)]))


def _unjudged(found: ScenarioModel) -> list[str]:
    """Say which cells and changes have no answer, and why: each reason once."""
    cells = [(row.reason or "no estimate", row) for row in found.cells if row.estimate is None]
    changes = [(row.verdict_reason or "not judged", row) for row in found.drops if row.verdict == "invalid"]
    names: dict[str, list[str]] = {}
    for reason, row in (*cells, *changes):
        names.setdefault(reason, []).append(f"{row.model} in {row.scenario}")
    return [stopped(f"{some(list(dict.fromkeys(each)))}: {reason}") for reason, each in names.items()]


def drops(page: ScenarioPage) -> str:
    """Return every drop: as a forest where they are few, the largest open and all folded away where they are many."""
    found = page.model
    if not found.drops:
        return ""
    how = prose(
        "Each change as the model has it, with the interval that decides; beside it the mean of the differences within items, "
        "which takes no model, and the change drawn towards those of the other models by as much as its noise makes likely."
    )
    every = list(found.drops)
    if len(every) <= MOST_DROPS:
        figure = figure_float(
            figures.drops(found),
            "fig-drops",
            caption=prose(_forest_caption(found)),
        )
        return f"{how}\n\n{figure}\n\n{_drops_float(found, every, 'tbl-drops', every_change(found))}"
    largest = largest_drops(found, _LARGEST)
    caption = f"The {plural(len(largest), 'largest drop')} that the data show"
    first = _drops_float(found, largest, "tbl-largest", caption) if largest else ""
    # In print they would fill pages; the page itself holds them all.
    table = drops_table(found, every, every_change(found), full=True)
    html = html_table(without_empty_columns(table), "all-drops", tones=TONES)
    name = for_html(every_change(found))
    region = f'<div class="es-table" role="region" aria-label="{name}" tabindex="0">{html}</div>'
    fold = f'<details class="es-fold"><summary>All {plural(len(every), "change")}</summary>{region}</details>'
    return "\n\n".join(part for part in (how, first, raw("html", fold)) if part)


def _drops_float(found: ScenarioModel, rows: Sequence[DropRow], label: str, caption: str) -> str:
    return table_float(without_empty_columns(drops_table(found, rows, caption)), label, tones=TONES)


def _forest_caption(found: ScenarioModel) -> str:
    return (
        f"Every change in {found.metric} from {base_name(found)}, with {100 * found.conf_level:g}% intervals that "
        f"are adjusted for all changes. A filled point is shown, a hollow one is not."
    )


def scores(page: ScenarioPage) -> str:
    """Return the map of scores, folded away."""
    found = page.model
    unit = f" in {found.score_unit}" if found.score_unit else ""
    averaged = ", averaged over the population of items" if found.family == "binomial" else ""
    figure = figure_float(
        figures.score_map(found),
        "fig-scores",
        caption=prose(
            f"Scores: {found.metric}{unit} of each {found.contrast} in each scenario by the model{averaged}, with half the width "
            f"of the {100 * found.conf_level:g}% interval, each cell's own. The deeper the higher."
        ),
        after=csv_link(found.to_frame(), "cells.csv", "Data of this figure (CSV)"),
    )
    return folded("The score in every cell", figure)


def slopes(page: ScenarioPage) -> str:
    """Return the ways from the reference to every scenario."""
    found = page.model
    panels, ways = figures.slope_panels(found), figures.slopes(found)
    if ways is None:
        return prose(f"No {found.contrast} has a score both in {base_name(found)} and in another scenario.")
    total = len({row.scenario for row in found.drops})
    if total > MOST_PANELS and not any(row.verdict in ("drop", "gain") for row in found.drops):
        return prose(
            "No change is shown, so none of the many scenarios is singled out here; the map above has all of them."
        )
    unit = f" in {found.score_unit}" if found.score_unit else ""
    start = "its mean over all scenarios" if found.reference == AVERAGE else base_name(found)
    caption = (
        f"From {start} (left) to each scenario (right): {found.metric}{unit}, a line for each {found.contrast}, with "
        f"{100 * found.conf_level:g}% intervals, each score's own. Coloured lines are changes that the data show."
    )
    if total > len(panels) and len(panels) == MOST_PANELS:
        caption += f" Drawn are the {MOST_PANELS} scenarios with the largest changes, of {total}."
    lead = prose(
        "Whether two scores differ is told by the change and its interval, not by whether the intervals of the scores overlap."
    )
    figure = figure_float(ways, "fig-slopes", caption=prose(caption))
    return f"{lead}\n\n{figure}"


def interaction(page: ScenarioPage) -> str:
    """Return whether models differ in where they break: the test that decides, and checks beside it."""
    found = page.model
    if not found.tests:
        return prose(f"Not tested: {_why_no_test(found)}.")
    lead = interaction_sentence(found)
    said = ""
    if lead is not None:
        said = prose(
            f"{lead} That one {found.contrast} is shown to drop in a scenario and another is not says nothing about this; the "
            "test does."
        )
    table = shown(tests_blocks(found), "tbl-tests", lead=lead is not None)
    return "\n\n".join(part for part in (said, table) if part)


def _why_no_test(found: ScenarioModel) -> str:
    if found.n_models < 2:
        return f"there is one {found.contrast}"
    return "there is one scenario" if found.n_scenarios < 2 else "the model has no such term"


def ranking(page: ScenarioPage) -> str:
    """Return whether the ranking changes from scenario to scenario."""
    found = page.model
    change = found.ranking
    if change is None:
        return prose("Not asked: that takes two models and two scenarios.")
    lead = prose(ranking_sentence(found))
    if not change.crossings or not change.shown:
        return lead
    crossed = prose(
        f"The estimates of {plural(change.n_crossed, 'pair')} of models cross somewhere. Noise alone makes estimates cross, so "
        "the order of the estimates within a scenario is no ranking."
    )
    tones: dict[str, Tone] = {"shown": "good"}
    table = table_float(without_empty_columns(crossings_table(found)), "tbl-crossings", tones=tones)
    return f"{lead}\n\n{crossed}\n\n{table}"


def pairs(page: ScenarioPage) -> str:
    """Return how many pairs of models are separated on the whole, with the data of all."""
    found = page.model
    rows = [row for row in found.pairs if not row.scenario]
    if not rows:
        return ""
    separated = sum(row.separated for row in rows)
    words = (
        f"Averaged over scenarios ({weights_words(found)}), {separated} of {plural(len(rows), 'pair')} of models "
        f"{'is' if separated == 1 else 'are'} separated."
    )
    return f"{prose(words)}\n\n{raw('html', csv_link(found.pairs_frame(), 'pairs.csv', 'All pairs (CSV)'))}"
