"""The same question of further metrics: each in short, with its own map."""

from evalstats.analysis.scenarios.figures import drop_map
from evalstats.analysis.scenarios.result import ScenarioModel
from evalstats.analysis.scenarios.wording_answer import headline
from evalstats.analysis.scenarios.words import stopped
from evalstats.document.numbers import plural
from evalstats.report.callouts import says_simulated
from evalstats.report.figures import figure_float
from evalstats.report.markup import bullets, csv_link, linked, prose, section, sentence
from evalstats.report.scenario.breaks import map_caption
from evalstats.report.scenario.opening import why_words
from evalstats.report.scenario.page import Further, ScenarioPage

_MOST_WARNINGS = 3


def sections(page: ScenarioPage) -> str:
    """Return a section for each further metric, under one heading; nothing where there are none."""
    if not page.further:
        return ""
    told = [_metric(found, place) for place, found in enumerate(page.further, start=1)]
    lead = prose(
        f"The same question, asked in the same way of {plural(len(page.further), 'further metric')}. Each is a family of its "
        "own: nothing here is adjusted for the other metrics."
    )
    return section("Further metrics", lead, *told, level=2)


def _metric(found: Further, place: int) -> str:
    model = found.model
    if model is None:
        return section(found.metric, prose(f"Not answered: {sentence(found.reason)}"))
    said = [stopped(headline(model)), why_words(model)]
    figure = ""
    if model.drops:
        figure = figure_float(
            drop_map(model),
            f"fig-map-{place}",
            caption=prose(map_caption(model)),
            after=csv_link(model.drops_frame(), f"drops-{place}.csv", "Data of this figure (CSV)"),
        )
    return section(
        found.metric, prose(_facts(model)), prose(" ".join(text for text in said if text)), figure, _beware(model)
    )


def _facts(model: ScenarioModel) -> str:
    direction = "higher is better" if model.higher_is_better else "lower is better"
    lost = model.n_error + model.n_unscored
    missing = f", {lost:,} rows without a score" if lost else ""
    return (
        f"{model.metric} ({model.metric_kind}, {direction}): {plural(model.n_models, model.contrast)}, "
        f"{plural(model.n_scenarios, 'scenario')}, {plural(model.n_items, 'item')}{missing}; {model.method}."
    )


def _beware(model: ScenarioModel) -> str:
    texts = [text for text in model.warnings if not says_simulated(text)]
    shown = [linked(sentence(text)) for text in texts[:_MOST_WARNINGS]]
    if len(texts) > _MOST_WARNINGS:
        shown.append(prose(f"And {plural(len(texts) - _MOST_WARNINGS, 'more warning')}."))
    return bullets(shown)
